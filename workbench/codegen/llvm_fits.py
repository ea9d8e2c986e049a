"""The function that tells whether the arguments of a call are such as they were: `fits(*args)`, a bool.

It is one for all, a built-in function of the kind METH_FASTCALL. Its `self` is a tuple whose second item, `expected`,
says what the arguments must be: objects of one type, and if they are arrays, with this dtype, these lengths, these
flags, and these strides where they are in another order than C's; and which of them must lie apart in memory. Python
takes ten times as long for the same questions.

Arrays that were pickled have dtype objects of their own, which are equal to NumPy's: their kinds, byte orders and
numbers are, which lie in one word.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

import numpy as np

from .llvm_entry import CONTENT, DATA, DTYPE, FLAGS, ITEMS, KIND, LENGTHS, N_DIM, STRIDES, TYPE

SYMBOL = "workbench_fits"
_ANY = -1  # in place of the number of axes: nothing but the type is asked for
_NO_KIND = -1  # in place of the word that tells a dtype: none has it
_LENGTHS = 6  # the words of an array before its lengths
C_CONTIGUOUS = 0x1  # in `ndarray.flags.num`
_WORD = struct.Struct("=q")


def expected(args: Sequence[object], flags: Sequence[int], apart: Sequence[tuple[int, int]] = ()) -> bytes:
    """What arguments must be that are like these. flags: bits of `ndarray.flags.num` that each must have if it is an
    array (one that need not be in C order must have the same strides); apart: pairs of arrays in C order that may not
    overlap."""
    words = [len(args), len(apart)]
    for i, j in apart:
        words += [i, _n_bytes(args[i]), j, _n_bytes(args[j])]
    for arg, its_flags in zip(args, flags, strict=True):
        if isinstance(arg, np.ndarray):
            in_order = its_flags & C_CONTIGUOUS
            words += [id(type(arg)), arg.ndim, id(arg.dtype), its_flags, not in_order, _kind(arg.dtype), *arg.shape]
            words += () if in_order else arg.strides
        else:
            words += [id(type(arg)), _ANY]
    return b"".join(map(_WORD.pack, words))


def _kind(dtype: np.dtype) -> int:
    """The word of a dtype object of numbers that is the same in all objects of that dtype, and in those alone."""
    return ctypes.c_int64.from_address(id(dtype) + KIND).value if dtype.kind in "biufc" else _NO_KIND


def _n_bytes(arg: object) -> int:
    assert isinstance(arg, np.ndarray)
    return arg.nbytes


FITS = f"""\
@_Py_TrueStruct = external global i8
@_Py_FalseStruct = external global i8
declare void @Py_IncRef(ptr)

define ptr @{SYMBOL}(ptr %self, ptr %args, i64 %n) nounwind {{
entry:
  %at_bytes = getelementptr i8, ptr %self, i64 {ITEMS + 8}
  %bytes = load ptr, ptr %at_bytes
  %about = getelementptr i8, ptr %bytes, i64 {CONTENT}
  %n_args = load i64, ptr %about
  %at_pairs = getelementptr i64, ptr %about, i64 1
  %n_pairs = load i64, ptr %at_pairs
  %pairs = getelementptr i64, ptr %about, i64 2
  %pair_words = shl i64 %n_pairs, 2
  %first_word = add i64 %pair_words, 2
  %complete = icmp eq i64 %n, %n_args
  br i1 %complete, label %next, label %no

next:
  %k = phi i64 [ 0, %entry ], [ %k_next, %scalar ], [ %k_next, %array_done ]
  %word = phi i64 [ %first_word, %entry ], [ %word_scalar, %scalar ], [ %word_array, %array_done ]
  %more = icmp ult i64 %k, %n_args
  br i1 %more, label %arg, label %pair

arg:
  %k_next = add i64 %k, 1
  %at_object = getelementptr ptr, ptr %args, i64 %k
  %object = load ptr, ptr %at_object
  %about_it = getelementptr i64, ptr %about, i64 %word
  %type = load ptr, ptr %about_it
  %at_type = getelementptr i8, ptr %object, i64 {TYPE}
  %its_type = load ptr, ptr %at_type
  %same_type = icmp eq ptr %type, %its_type
  br i1 %same_type, label %deep, label %no

deep:
  %at_depth = getelementptr i64, ptr %about_it, i64 1
  %depth = load i64, ptr %at_depth
  %no_array = icmp slt i64 %depth, 0
  br i1 %no_array, label %scalar, label %array

scalar:
  %word_scalar = add i64 %word, 2
  br label %next

array:
  %at_its_depth = getelementptr i8, ptr %object, i64 {N_DIM}
  %its_depth32 = load i32, ptr %at_its_depth
  %its_depth = sext i32 %its_depth32 to i64
  %as_deep = icmp eq i64 %its_depth, %depth
  %at_its_dtype = getelementptr i8, ptr %object, i64 {DTYPE}
  %its_dtype = load ptr, ptr %at_its_dtype
  %at_dtype = getelementptr i64, ptr %about_it, i64 2
  %dtype = load ptr, ptr %at_dtype
  %very_dtype = icmp eq ptr %its_dtype, %dtype
  %at_its_kind = getelementptr i8, ptr %its_dtype, i64 {KIND}
  %its_kind = load i64, ptr %at_its_kind
  %at_kind = getelementptr i64, ptr %about_it, i64 5
  %kind = load i64, ptr %at_kind
  %equal_dtype = icmp eq i64 %its_kind, %kind
  %same_dtype = or i1 %very_dtype, %equal_dtype
  %at_its_flags = getelementptr i8, ptr %object, i64 {FLAGS}
  %its_flags32 = load i32, ptr %at_its_flags
  %its_flags = sext i32 %its_flags32 to i64
  %at_flags = getelementptr i64, ptr %about_it, i64 3
  %flags = load i64, ptr %at_flags
  %common = and i64 %its_flags, %flags
  %same_flags = icmp eq i64 %common, %flags
  %both = and i1 %as_deep, %same_dtype
  %all = and i1 %both, %same_flags
  %at_its_lengths = getelementptr i8, ptr %object, i64 {LENGTHS}
  %its_lengths = load ptr, ptr %at_its_lengths
  br i1 %all, label %length, label %no

length:
  %d = phi i64 [ 0, %array ], [ %d_next, %compared ]
  %deeper = icmp slt i64 %d, %depth
  br i1 %deeper, label %compare, label %lengths_done

compare:
  %d_next = add i64 %d, 1
  %at_its_length = getelementptr i64, ptr %its_lengths, i64 %d
  %its_length = load i64, ptr %at_its_length
  %place = add i64 %d, {_LENGTHS}
  %at_length = getelementptr i64, ptr %about_it, i64 %place
  %length_word = load i64, ptr %at_length
  %same_length = icmp eq i64 %its_length, %length_word
  br i1 %same_length, label %compared, label %no

compared:
  br label %length

lengths_done:
  %at_compares = getelementptr i64, ptr %about_it, i64 4
  %compares = load i64, ptr %at_compares
  %n_strides = mul i64 %depth, %compares
  %at_its_strides = getelementptr i8, ptr %object, i64 {STRIDES}
  %its_strides = load ptr, ptr %at_its_strides
  %strides_first = add i64 %depth, {_LENGTHS}
  br label %stride

stride:
  %s = phi i64 [ 0, %lengths_done ], [ %s_next, %stepped ]
  %more_strides = icmp slt i64 %s, %n_strides
  br i1 %more_strides, label %step, label %array_done

step:
  %s_next = add i64 %s, 1
  %at_its_stride = getelementptr i64, ptr %its_strides, i64 %s
  %its_stride = load i64, ptr %at_its_stride
  %stride_place = add i64 %s, %strides_first
  %at_stride = getelementptr i64, ptr %about_it, i64 %stride_place
  %stride_word = load i64, ptr %at_stride
  %same_stride = icmp eq i64 %its_stride, %stride_word
  br i1 %same_stride, label %stepped, label %no

stepped:
  br label %stride

array_done:
  %word_lengths = add i64 %word, %strides_first
  %word_array = add i64 %word_lengths, %n_strides
  br label %next

pair:
  %p = phi i64 [ 0, %next ], [ %p_next, %looked ]
  %more_pairs = icmp ult i64 %p, %n_pairs
  br i1 %more_pairs, label %look, label %yes

look:
  %p_next = add i64 %p, 1
  %p_word = shl i64 %p, 2
  %one = getelementptr i64, ptr %pairs, i64 %p_word
  %one_k = load i64, ptr %one
  %at_one_bytes = getelementptr i64, ptr %one, i64 1
  %one_bytes = load i64, ptr %at_one_bytes
  %other = getelementptr i64, ptr %one, i64 2
  %other_k = load i64, ptr %other
  %at_other_bytes = getelementptr i64, ptr %one, i64 3
  %other_bytes = load i64, ptr %at_other_bytes
  %at_one_object = getelementptr ptr, ptr %args, i64 %one_k
  %one_object = load ptr, ptr %at_one_object
  %at_one_data = getelementptr i8, ptr %one_object, i64 {DATA}
  %one_begin = load i64, ptr %at_one_data
  %at_other_object = getelementptr ptr, ptr %args, i64 %other_k
  %other_object = load ptr, ptr %at_other_object
  %at_other_data = getelementptr i8, ptr %other_object, i64 {DATA}
  %other_begin = load i64, ptr %at_other_data
  %one_end = add i64 %one_begin, %one_bytes
  %other_end = add i64 %other_begin, %other_bytes
  %before = icmp ule i64 %one_end, %other_begin
  %after = icmp ule i64 %other_end, %one_begin
  %aside = or i1 %before, %after
  br i1 %aside, label %looked, label %no

looked:
  br label %pair

yes:
  call void @Py_IncRef(ptr @_Py_TrueStruct)
  ret ptr @_Py_TrueStruct

no:
  call void @Py_IncRef(ptr @_Py_FalseStruct)
  ret ptr @_Py_FalseStruct
}}
"""
