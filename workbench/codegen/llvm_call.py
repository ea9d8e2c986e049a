"""The function that answers a call without Python: it looks whether the arguments are such as they were, allocates the
results, and runs all kernels of a plan.

It is one for all, a built-in function of the kind METH_FASTCALL | METH_KEYWORDS. Its `self` is a tuple (`HELD` names
the items), of which the first, `call_description`, says in 64-bit words what to do. Whatever is not as it was, is left
to the function that it holds for these cases.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from .llvm_chain import ALIGNMENT
from .llvm_entry import CONTENT, DATA, HEAD, ITEMS

SYMBOL = "workbench_call"

# What the function's `self` holds: the description; what is called otherwise; the `self` of the function `fits`; whose
# attribute, of this name, must be empty; what must be false; what to look up and what it must be (namespace and name,
# or cell and None; value); arrays to look up (the same without a value); what makes the results, dtypes or functions;
# the value of names that must not be there; what only has to live.
HELD = (
    "description", "otherwise", "fits", "stack", "attribute", "elsewhere", "guards", "captures", "makers", "absent",
    "kept",
)  # fmt: skip

_WORD = struct.Struct("=q")
# The first words of a description.
_HEAD_NAMES = (
    "array_type", "new", "unpacked", "called_fits", "n_inputs", "n_args", "n_outputs", "n_bytes", "n_words", "n_fills",
    "n_launches", "in_tuple", "waits", "n_lengths",
)  # fmt: skip
_N_HEAD = len(_HEAD_NAMES)


@dataclass(frozen=True, slots=True)
class NumpyFunctions:
    """Addresses in NumPy's C interface: the class of arrays, `PyArray_NewFromDescr` and `PyArray_Return`."""

    array_type: int
    new: int
    unpacked: int


def call_description(
    numpy: NumpyFunctions,
    fits: int,
    is_float: Sequence[bool],
    n_args: int,
    shapes: Sequence[Sequence[int] | None],
    n_bytes: int,
    table: Sequence[int],
    fills: Sequence[tuple[int, int, int]],
    launches: Sequence[tuple[int, int, int]],
    scalars: Sequence[bool],
    *,
    in_tuple: bool,
    waits: bool,
) -> bytes:
    """What the function is told. fits: the address of the function that compares arguments; is_float: of each input
    whether it is a Python float; n_args: inputs that are arguments, before those that are looked up; shapes: of the
    results, None where a function makes one; n_bytes: of memory for the time of the call; table: the words that kernels
    are given, of all launches; fills: (word, source, distance in bytes), sources being the inputs, the results and that
    memory; launches: (address, extent, first word); scalars: which results are given as NumPy scalars; in_tuple: or the
    only one by itself; waits: whether it takes so long that other threads of Python should run meanwhile."""
    records: list[int] = [int(is_it) for is_it in is_float]
    lengths = [word for shape in shapes for word in shape or ()]
    first = _N_HEAD + len(records) + 3 * len(shapes)
    for shape, is_scalar in zip(shapes, scalars, strict=True):
        records += [-1 if shape is None else len(shape), first, int(is_scalar)]
        first += len(shape or ())
    records += lengths
    words = [word for record in (*fills, *launches) for word in record]
    head = [
        numpy.array_type, numpy.new, numpy.unpacked, fits, len(is_float), n_args, len(shapes), n_bytes, len(table),
        len(fills), len(launches), int(in_tuple), int(waits), len(lengths),
    ]  # fmt: skip
    return b"".join(map(_WORD.pack, [*head, *records, *words, *table]))


def _item(name: str, k: int) -> str:
    return f"""\
  %at_{name} = getelementptr i8, ptr %self, i64 {ITEMS + 8 * k}
  %{name} = load ptr, ptr %at_{name}"""


def _head(names: Sequence[str]) -> str:
    lines = []
    for k, name in enumerate(names):
        kind = "ptr" if name in ("array_type", "new", "unpacked", "called_fits") else "i64"
        lines += [f"  %at_{name} = getelementptr i64, ptr %about, i64 {k}", f"  %{name} = load {kind}, ptr %at_{name}"]
    return "\n".join(lines)


def _each(name: str, count: str, before: str, body: str, after: str) -> str:
    """For each `%NAME` below `count`, which `before` jumps to: `body`, which goes on to `NAME_done`."""
    return f"""\
{name}_head:
  %{name} = phi i64 [ 0, %{before} ], [ %{name}_next, %{name}_done ]
  %{name}_more = icmp ult i64 %{name}, {count}
  br i1 %{name}_more, label %{name}_body, label %{after}
{name}_body:
{body}
{name}_done:
  %{name}_next = add i64 %{name}, 1
  br label %{name}_head"""


def _of_tuple(name: str, items: str, index: str) -> str:
    return f"""\
  %{name}_at = getelementptr i8, ptr {items}, i64 {ITEMS}
  %{name}_slot = getelementptr ptr, ptr %{name}_at, i64 {index}
  %{name} = load ptr, ptr %{name}_slot"""


def _n_items(name: str, items: str) -> str:
    return f"  %{name}_place = getelementptr i8, ptr {items}, i64 {HEAD}\n  %{name} = load i64, ptr %{name}_place"


_GUARDS = _each(
    "guard", "%n_guards", "not_elsewhere",
    f"""\
  %guard_first = mul i64 %guard, 3
  %guard_second = add i64 %guard_first, 1
  %guard_third = add i64 %guard_first, 2
{_of_tuple("names_of_guard", "%guards", "%guard_first")}
{_of_tuple("name_of_guard", "%guards", "%guard_second")}
{_of_tuple("value_of_guard", "%guards", "%guard_third")}
  %now = call ptr @look_up(ptr %names_of_guard, ptr %name_of_guard)
  %is_absent = icmp eq ptr %value_of_guard, %absent
  %wanted = select i1 %is_absent, ptr null, ptr %value_of_guard
  %as_before = icmp eq ptr %now, %wanted
  br i1 %as_before, label %guard_done, label %leave""",
    "arg_start",
)  # fmt: skip

_ARGS = _each(
    "arg", "%n_args", "arg_start",
    """\
  %arg_from = getelementptr ptr, ptr %args, i64 %arg
  %arg_object = load ptr, ptr %arg_from
  %arg_to = getelementptr ptr, ptr %inputs, i64 %arg
  store ptr %arg_object, ptr %arg_to
  br label %arg_done""",
    "capture_start",
)  # fmt: skip

_CAPTURES = _each(
    "capture", "%n_captures", "capture_start",
    f"""\
  %capture_first = shl i64 %capture, 1
  %capture_second = add i64 %capture_first, 1
{_of_tuple("names_of_capture", "%captures", "%capture_first")}
{_of_tuple("name_of_capture", "%captures", "%capture_second")}
  %captured = call ptr @look_up(ptr %names_of_capture, ptr %name_of_capture)
  %capture_place = add i64 %n_args, %capture
  %capture_to = getelementptr ptr, ptr %inputs, i64 %capture_place
  store ptr %captured, ptr %capture_to
  %is_gone = icmp eq ptr %captured, null
  br i1 %is_gone, label %leave, label %capture_done""",
    "compare",
)  # fmt: skip


def _each_capture(name: str, before: str, function: str, after: str) -> str:
    """Call a function of Python's for each array that was looked up."""
    body = f"""\
  %{name}_place = add i64 %n_args, %{name}
  %{name}_from = getelementptr ptr, ptr %inputs, i64 %{name}_place
  %{name}_object = load ptr, ptr %{name}_from
  call void @{function}(ptr %{name}_object)
  br label %{name}_done"""
    return _each(name, "%n_captures", before, body, after)


# Others may forget what was looked up, while the kernels run: it is held until they end.
_HOLD = _each_capture("hold", "hold_start", "Py_IncRef", "input_start")
_RELEASE = _each_capture("release", "release_start", "Py_DecRef", "judge")
_DROP_CAPTURES = _each_capture("drop_held", "drop_captures", "Py_DecRef", "drop_all")

_INPUTS = _each(
    "input", "%n_inputs", "input_start",
    f"""\
  %input_from = getelementptr ptr, ptr %inputs, i64 %input
  %object = load ptr, ptr %input_from
  %source = getelementptr ptr, ptr %sources, i64 %input
  %kind_place = add i64 %input, {_N_HEAD}
  %at_kind = getelementptr i64, ptr %about, i64 %kind_place
  %kind = load i64, ptr %at_kind
  %is_float = icmp ne i64 %kind, 0
  br i1 %is_float, label %number, label %array
array:
  %at_data = getelementptr i8, ptr %object, i64 {DATA}
  %data = load ptr, ptr %at_data
  store ptr %data, ptr %source
  br label %input_done
number:
  %value = call double @PyFloat_AsDouble(ptr %object)
  %slot = getelementptr double, ptr %numbers, i64 %input
  store double %value, ptr %slot
  store ptr %slot, ptr %source
  br label %input_done""",
    "output_start",
)  # fmt: skip

_OUTPUTS = _each(
    "output", "%n_outputs", "output_start",
    f"""\
  %output_words = mul i64 %output, 3
  %output_place = add i64 %outputs_first, %output_words
  %at_ndim = getelementptr i64, ptr %about, i64 %output_place
  %ndim64 = load i64, ptr %at_ndim
  %ndim = trunc i64 %ndim64 to i32
  %at_lengths_first = getelementptr i64, ptr %at_ndim, i64 1
  %lengths_first = load i64, ptr %at_lengths_first
  %lengths = getelementptr i64, ptr %about, i64 %lengths_first
{_of_tuple("maker", "%makers", "%output")}
  %is_small = icmp sge i32 %ndim, 0
  br i1 %is_small, label %small, label %large
small:
  call void @Py_IncRef(ptr %maker)
  %made_new = call ptr %new(ptr %array_type, ptr %maker, i32 %ndim, ptr %lengths, ptr null, ptr null, i32 0, ptr null)
  br label %made_one
large:
  %made_large = call ptr @PyObject_CallNoArgs(ptr %maker)
  br label %made_one
made_one:
  %made = phi ptr [ %made_new, %small ], [ %made_large, %large ]
  %output_to = getelementptr ptr, ptr %outputs, i64 %output
  store ptr %made, ptr %output_to
  %no_array = icmp eq ptr %made, null
  br i1 %no_array, label %drop_captures, label %there
there:
  %at_made_data = getelementptr i8, ptr %made, i64 {DATA}
  %made_data = load ptr, ptr %at_made_data
  %made_place = add i64 %n_inputs, %output
  %made_source = getelementptr ptr, ptr %sources, i64 %made_place
  store ptr %made_data, ptr %made_source
  br label %output_done""",
    "space",
)  # fmt: skip

_FILLS = _each(
    "fill", "%n_fills", "fill_start",
    """\
  %fill_words = mul i64 %fill, 3
  %fill_at = getelementptr i64, ptr %fills, i64 %fill_words
  %fill_word = load i64, ptr %fill_at
  %at_fill_source = getelementptr i64, ptr %fill_at, i64 1
  %fill_source = load i64, ptr %at_fill_source
  %at_fill_distance = getelementptr i64, ptr %fill_at, i64 2
  %fill_distance = load i64, ptr %at_fill_distance
  %fill_from = getelementptr ptr, ptr %sources, i64 %fill_source
  %fill_base = load ptr, ptr %fill_from
  %fill_address = getelementptr i8, ptr %fill_base, i64 %fill_distance
  %fill_to = getelementptr ptr, ptr %table, i64 %fill_word
  store ptr %fill_address, ptr %fill_to
  br label %fill_done""",
    "begin",
)  # fmt: skip

_LAUNCHES = _each(
    "launch", "%n_launches", "launch_start",
    """\
  %launch_words = mul i64 %launch, 3
  %launch_at = getelementptr i64, ptr %launches, i64 %launch_words
  %kernel = load ptr, ptr %launch_at
  %at_extent = getelementptr i64, ptr %launch_at, i64 1
  %extent = load i64, ptr %at_extent
  %at_first = getelementptr i64, ptr %launch_at, i64 2
  %first = load i64, ptr %at_first
  %its_table = getelementptr i64, ptr %table, i64 %first
  %status = call i32 %kernel(i64 0, i64 %extent, ptr %its_table)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %launch_done, label %ran""",
    "ran",
)  # fmt: skip

_UNPACKED = _each(
    "unpack", "%n_outputs", "unpack_start",
    """\
  %unpack_words = mul i64 %unpack, 3
  %unpack_place = add i64 %outputs_first, %unpack_words
  %unpack_flag_place = add i64 %unpack_place, 2
  %at_unpack_flag = getelementptr i64, ptr %about, i64 %unpack_flag_place
  %unpack_flag = load i64, ptr %at_unpack_flag
  %is_scalar = icmp ne i64 %unpack_flag, 0
  br i1 %is_scalar, label %to_scalar, label %unpack_done
to_scalar:
  %unpack_from = getelementptr ptr, ptr %outputs, i64 %unpack
  %as_array = load ptr, ptr %unpack_from
  %scalar = call ptr %unpacked(ptr %as_array)
  store ptr %scalar, ptr %unpack_from
  %no_scalar = icmp eq ptr %scalar, null
  br i1 %no_scalar, label %drop_all, label %unpack_done""",
    "results_of",
)  # fmt: skip

_RESULTS = _each(
    "result", "%n_outputs", "result_start",
    f"""\
  %result_from = getelementptr ptr, ptr %outputs, i64 %result
  %result_object = load ptr, ptr %result_from
  %results_at = getelementptr i8, ptr %results, i64 {ITEMS}
  %result_to = getelementptr ptr, ptr %results_at, i64 %result
  store ptr %result_object, ptr %result_to
  br label %result_done""",
    "give",
)  # fmt: skip

_DROP = _each(
    "drop", "%n_outputs", "drop_all",
    """\
  %drop_from = getelementptr ptr, ptr %outputs, i64 %drop
  %dropped = load ptr, ptr %drop_from
  call void @Py_DecRef(ptr %dropped)
  br label %drop_done""",
    "failed",
)  # fmt: skip

CALL = f"""\
declare i32 @PyObject_IsTrue(ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyDict_GetItem(ptr, ptr)
declare ptr @PyTuple_New(i64)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyErr_NoMemory()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
@_Py_TrueStruct = external global i8
@_Py_NoneStruct = external global i8

define internal ptr @look_up(ptr %place, ptr %name) nounwind {{
  %is_cell = icmp eq ptr %name, @_Py_NoneStruct
  br i1 %is_cell, label %cell, label %names
cell:
  %at_content = getelementptr i8, ptr %place, i64 {HEAD}
  %content = load ptr, ptr %at_content
  ret ptr %content
names:
  %found = call ptr @PyDict_GetItem(ptr %place, ptr %name)
  ret ptr %found
}}

define ptr @{SYMBOL}(ptr %self, ptr %args, i64 %n, ptr %keywords) nounwind {{
entry:
{chr(10).join(_item(name, k) for k, name in enumerate(HELD[:-1]))}
  %about = getelementptr i8, ptr %description, i64 {CONTENT}
{_head(_HEAD_NAMES)}
{_n_items("n_guard_items", "%guards")}
  %n_guards = udiv i64 %n_guard_items, 3
{_n_items("n_capture_items", "%captures")}
  %n_captures = lshr i64 %n_capture_items, 1
  %inputs = alloca ptr, i64 %n_inputs
  %numbers = alloca double, i64 %n_inputs
  %outputs = alloca ptr, i64 %n_outputs
  %n_known = add i64 %n_inputs, %n_outputs
  %n_sources = add i64 %n_known, 1
  %sources = alloca ptr, i64 %n_sources
  %table = alloca i64, i64 %n_words
  %state = alloca ptr
  %outputs_first = add i64 %n_inputs, {_N_HEAD}
  %outputs_words = mul i64 %n_outputs, 3
  %lengths_begin = add i64 %outputs_first, %outputs_words
  %fills_first = add i64 %lengths_begin, %n_lengths
  %fills = getelementptr i64, ptr %about, i64 %fills_first
  %fills_words = mul i64 %n_fills, 3
  %launches = getelementptr i64, ptr %fills, i64 %fills_words
  %launches_words = mul i64 %n_launches, 3
  %template = getelementptr i64, ptr %launches, i64 %launches_words
  %complete = icmp eq i64 %n, %n_args
  %plain = icmp eq ptr %keywords, null
  %usual = and i1 %complete, %plain
  br i1 %usual, label %traces, label %leave

traces:
  %open = call ptr @PyObject_GetAttr(ptr %stack, ptr %attribute)
  %unknown = icmp eq ptr %open, null
  br i1 %unknown, label %failed, label %known
known:
  %is_open = call i32 @PyObject_IsTrue(ptr %open)
  call void @Py_DecRef(ptr %open)
  %is_closed = icmp eq i32 %is_open, 0
  br i1 %is_closed, label %places, label %leave
places:
  %is_elsewhere = call i32 @PyObject_IsTrue(ptr %elsewhere)
  %is_here = icmp eq i32 %is_elsewhere, 0
  br i1 %is_here, label %not_elsewhere, label %leave
not_elsewhere:
  br label %guard_head
{_GUARDS}
arg_start:
  br label %arg_head
{_ARGS}
capture_start:
  br label %capture_head
{_CAPTURES}
compare:
  %answer = call ptr %called_fits(ptr %fits, ptr %inputs, i64 %n_inputs)
  %fitting = icmp eq ptr %answer, @_Py_TrueStruct
  call void @Py_DecRef(ptr %answer)
  br i1 %fitting, label %hold_start, label %leave

hold_start:
  br label %hold_head
{_HOLD}
input_start:
  br label %input_head
{_INPUTS}
output_start:
  %output_bytes = shl i64 %n_outputs, 3
  call void @llvm.memset.p0.i64(ptr %outputs, i8 0, i64 %output_bytes, i1 false)
  store ptr null, ptr %state
  br label %output_head
{_OUTPUTS}
space:
  %some = icmp ne i64 %n_bytes, 0
  br i1 %some, label %allocate, label %words
allocate:
  %asked = add i64 %n_bytes, {ALIGNMENT}
  %memory = call ptr @PyMem_RawMalloc(i64 %asked)
  %no_memory = icmp eq ptr %memory, null
  br i1 %no_memory, label %drop_start, label %allocated
allocated:
  %memory_address = ptrtoint ptr %memory to i64
  %memory_up = add i64 %memory_address, {ALIGNMENT - 1}
  %memory_begin = and i64 %memory_up, -{ALIGNMENT}
  %memory_source = getelementptr ptr, ptr %sources, i64 %n_known
  store i64 %memory_begin, ptr %memory_source
  br label %words
words:
  %block = phi ptr [ null, %space ], [ %memory, %allocated ]
  %table_bytes = shl i64 %n_words, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %table, ptr %template, i64 %table_bytes, i1 false)
  br label %fill_start
fill_start:
  br label %fill_head
{_FILLS}
begin:
  %long = icmp ne i64 %waits, 0
  br i1 %long, label %let_go, label %launch_start
let_go:
  %thread = call ptr @PyEval_SaveThread()
  store ptr %thread, ptr %state
  br label %launch_start
launch_start:
  br label %launch_head
{_LAUNCHES}
ran:
  %result_status = phi i32 [ 0, %launch_head ], [ %status, %launch_body ]
  br i1 %long, label %take_up, label %freed
take_up:
  %thread_again = load ptr, ptr %state
  call void @PyEval_RestoreThread(ptr %thread_again)
  br label %freed
freed:
  call void @PyMem_RawFree(ptr %block)
  br label %release_start
release_start:
  br label %release_head
{_RELEASE}
judge:
  %fine = icmp eq i32 %result_status, 0
  br i1 %fine, label %unpack_start, label %too_large

unpack_start:
  br label %unpack_head
{_UNPACKED}
results_of:
  %is_tuple = icmp ne i64 %in_tuple, 0
  br i1 %is_tuple, label %pack, label %single
single:
  %only = load ptr, ptr %outputs
  ret ptr %only
pack:
  %results = call ptr @PyTuple_New(i64 %n_outputs)
  %no_results = icmp eq ptr %results, null
  br i1 %no_results, label %drop_all, label %result_start
result_start:
  br label %result_head
{_RESULTS}
give:
  ret ptr %results

too_large:
  %told = call ptr @PyErr_NoMemory()
  br label %drop_all
drop_start:
  %told_of_memory = call ptr @PyErr_NoMemory()
  br label %drop_captures
drop_captures:
  br label %drop_held_head
{_DROP_CAPTURES}
drop_all:
  br label %drop_head
{_DROP}
failed:
  ret ptr null

leave:
  %left = call ptr @PyObject_Vectorcall(ptr %otherwise, ptr %args, i64 %n, ptr %keywords)
  ret ptr %left
}}
"""
