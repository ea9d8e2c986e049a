"""The function that Python calls to run a kernel: it takes the arrays apart, and lets other threads run meanwhile.

It is one for all kernels, a built-in function of the kind METH_FASTCALL, `entry(start, stop, *args)`, with ndarrays for
arrays and integers for sizes. Its `self` is a tuple: the class `ndarray` and `descriptor`, which says where the kernel
is and what it takes. A kernel gets `start`, `stop` and the address of a table of 64-bit words: of an array its address,
its lengths and, unless it is in C order, its strides.

What an array object looks like in memory is the public part of NumPy's C interface; `runtime.native.machine_code` looks
whether it is so before it believes it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from .kernel import KernelArg

# Where things are in memory: in any object, in a tuple, in bytes, in an array, in a dtype.
HEAD = object.__basicsize__
TYPE = HEAD - 8
ITEMS = tuple.__basicsize__
CONTENT = bytes.__basicsize__ - 1
DATA, N_DIM, LENGTHS, STRIDES, DTYPE, FLAGS = HEAD, HEAD + 8, HEAD + 16, HEAD + 24, HEAD + 40, HEAD + 48
KIND, ITEMSIZE = HEAD + 8, HEAD + 24

SYMBOL = "workbench_entry"
_SIZE = -1  # in place of the number of axes: not an array
# A descriptor is the kernel's address, the number of its arguments and that of its words; then, of each argument, the
# number of axes, the dtype's kind and size, and whether strides are passed.
_FIRST, _EACH = struct.Struct("=3q"), struct.Struct("=4q")


def n_words(arg: KernelArg) -> int:
    """How many words of the table an argument takes."""
    return 1 if arg.kind == "size" else 1 + arg.ndim * (2 if is_strided(arg) else 1)


def is_strided(arg: KernelArg) -> bool:
    return arg.kind != "size" and arg.layout != "C" and arg.ndim > 0


def descriptor(args: Sequence[KernelArg], address: int) -> bytes:
    """What the entry is told about a kernel at `address` that takes `args`."""
    parts = [_FIRST.pack(address, len(args), sum(map(n_words, args)))]
    for arg in args:
        if arg.kind == "size":
            parts.append(_EACH.pack(_SIZE, 0, 0, 0))
        else:
            dtype = np.dtype(arg.dtype)
            parts.append(_EACH.pack(arg.ndim, ord(dtype.kind), dtype.itemsize, is_strided(arg)))
    return b"".join(parts)


ENTRY = f"""\
declare i32 @PyType_IsSubtype(ptr, ptr)
declare i64 @PyLong_AsSsize_t(ptr)
declare ptr @PyErr_Occurred()
declare i32 @PyErr_BadArgument()
declare ptr @PyErr_NoMemory()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
@_Py_NoneStruct = external global i8

define ptr @{SYMBOL}(ptr %self, ptr %args, i64 %n) nounwind {{
entry:
  %at_class = getelementptr i8, ptr %self, i64 {ITEMS}
  %class = load ptr, ptr %at_class
  %at_bytes = getelementptr i8, ptr %self, i64 {ITEMS + 8}
  %bytes = load ptr, ptr %at_bytes
  %about = getelementptr i8, ptr %bytes, i64 {CONTENT}
  %kernel = load ptr, ptr %about
  %at_n = getelementptr i64, ptr %about, i64 1
  %n_args = load i64, ptr %at_n
  %n_all = add i64 %n_args, 2
  %complete = icmp eq i64 %n, %n_all
  br i1 %complete, label %bounds, label %bad

bounds:
  %at_words = getelementptr i64, ptr %about, i64 2
  %n_words = load i64, ptr %at_words
  %table = alloca i64, i64 %n_words
  %start_object = load ptr, ptr %args
  %start = call i64 @PyLong_AsSsize_t(ptr %start_object)
  %at_stop = getelementptr ptr, ptr %args, i64 1
  %stop_object = load ptr, ptr %at_stop
  %stop = call i64 @PyLong_AsSsize_t(ptr %stop_object)
  %start_odd = icmp eq i64 %start, -1
  %stop_odd = icmp eq i64 %stop, -1
  %bounds_odd = or i1 %start_odd, %stop_odd
  br label %next

next:
  %k = phi i64 [ 0, %bounds ], [ %k_next, %done ]
  %word = phi i64 [ 0, %bounds ], [ %word_next, %done ]
  %odd = phi i1 [ %bounds_odd, %bounds ], [ %odd_next, %done ]
  %more = icmp ult i64 %k, %n_args
  br i1 %more, label %arg, label %check

arg:
  %place = add i64 %k, 2
  %at_object = getelementptr ptr, ptr %args, i64 %place
  %object = load ptr, ptr %at_object
  %row = shl i64 %k, 2
  %row_place = add i64 %row, 3
  %each = getelementptr i64, ptr %about, i64 %row_place
  %ndim = load i64, ptr %each
  %to = getelementptr i64, ptr %table, i64 %word
  %word_after = add i64 %word, 1
  %is_size = icmp slt i64 %ndim, 0
  br i1 %is_size, label %size, label %array

size:
  %number = call i64 @PyLong_AsSsize_t(ptr %object)
  store i64 %number, ptr %to
  %number_odd = icmp eq i64 %number, -1
  %size_odd = or i1 %odd, %number_odd
  br label %done

array:
  %at_type = getelementptr i8, ptr %object, i64 {TYPE}
  %type = load ptr, ptr %at_type
  %same = icmp eq ptr %type, %class
  br i1 %same, label %its, label %derived

derived:
  %found = call i32 @PyType_IsSubtype(ptr %type, ptr %class)
  %is_derived = icmp ne i32 %found, 0
  br i1 %is_derived, label %its, label %bad

its:
  %at_ndim = getelementptr i8, ptr %object, i64 {N_DIM}
  %its_ndim = load i32, ptr %at_ndim
  %its_depth = zext i32 %its_ndim to i64
  %as_deep = icmp eq i64 %its_depth, %ndim
  %at_dtype = getelementptr i8, ptr %object, i64 {DTYPE}
  %dtype = load ptr, ptr %at_dtype
  %at_its_kind = getelementptr i8, ptr %dtype, i64 {KIND}
  %its_kind_8 = load i8, ptr %at_its_kind
  %its_kind = zext i8 %its_kind_8 to i64
  %at_kind = getelementptr i64, ptr %each, i64 1
  %kind = load i64, ptr %at_kind
  %as_kind = icmp eq i64 %its_kind, %kind
  %at_its_size = getelementptr i8, ptr %dtype, i64 {ITEMSIZE}
  %its_size = load i64, ptr %at_its_size
  %at_itemsize = getelementptr i64, ptr %each, i64 2
  %itemsize = load i64, ptr %at_itemsize
  %as_wide = icmp eq i64 %its_size, %itemsize
  %both = and i1 %as_deep, %as_kind
  %fits = and i1 %both, %as_wide
  br i1 %fits, label %take, label %bad

take:
  %at_data = getelementptr i8, ptr %object, i64 {DATA}
  %data = load i64, ptr %at_data
  store i64 %data, ptr %to
  %at_lengths = getelementptr i8, ptr %object, i64 {LENGTHS}
  %lengths = load ptr, ptr %at_lengths
  %at_strides = getelementptr i8, ptr %object, i64 {STRIDES}
  %strides = load ptr, ptr %at_strides
  %at_strided = getelementptr i64, ptr %each, i64 3
  %strided_word = load i64, ptr %at_strided
  %strided = icmp ne i64 %strided_word, 0
  br label %axis

axis:
  %d = phi i64 [ 0, %take ], [ %d_next, %axis_done ]
  %deeper = icmp ult i64 %d, %ndim
  br i1 %deeper, label %copy, label %array_done

copy:
  %at_length = getelementptr i64, ptr %lengths, i64 %d
  %length = load i64, ptr %at_length
  %length_place = add i64 %word_after, %d
  %to_length = getelementptr i64, ptr %table, i64 %length_place
  store i64 %length, ptr %to_length
  br i1 %strided, label %copy_stride, label %axis_done

copy_stride:
  %at_stride = getelementptr i64, ptr %strides, i64 %d
  %stride = load i64, ptr %at_stride
  %stride_place = add i64 %length_place, %ndim
  %to_stride = getelementptr i64, ptr %table, i64 %stride_place
  store i64 %stride, ptr %to_stride
  br label %axis_done

axis_done:
  %d_next = add i64 %d, 1
  br label %axis

array_done:
  %doubled = shl i64 %ndim, 1
  %words_of_axes = select i1 %strided, i64 %doubled, i64 %ndim
  %word_after_array = add i64 %word_after, %words_of_axes
  br label %done

done:
  %word_next = phi i64 [ %word_after, %size ], [ %word_after_array, %array_done ]
  %odd_next = phi i1 [ %size_odd, %size ], [ %odd, %array_done ]
  %k_next = add i64 %k, 1
  br label %next

check:
  br i1 %odd, label %look, label %run

look:
  %error = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %run, label %failed

run:
  %thread = call ptr @PyEval_SaveThread()
  %status = call i32 %kernel(i64 %start, i64 %stop, ptr %table)
  call void @PyEval_RestoreThread(ptr %thread)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %end, label %memory

end:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct

memory:
  %nothing = call ptr @PyErr_NoMemory()
  ret ptr null

bad:
  %told = call i32 @PyErr_BadArgument()
  br label %failed

failed:
  ret ptr null
}}
"""
