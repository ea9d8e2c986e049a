"""The function of a kernel's module that Python calls: it takes the arrays apart, and lets other threads run meanwhile.

It is a built-in function of the kind METH_FASTCALL, `entry(start, stop, *args)`, with ndarrays for arrays and integers
for sizes. Its `self` is a tuple whose first element is the class `ndarray`. What an array object looks like in memory
is the public part of NumPy's C interface; `runtime.machine_code` looks whether it is so before it believes it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from .kernel import Kernel

# Where things are in memory: in any object, in a tuple, in an array, in a dtype.
HEAD = object.__basicsize__
TYPE = HEAD - 8
ITEMS = tuple.__basicsize__
DATA, N_DIM, LENGTHS, STRIDES, DTYPE = HEAD, HEAD + 8, HEAD + 16, HEAD + 24, HEAD + 40
KIND, ITEMSIZE = HEAD + 8, HEAD + 24

_IS_ARRAY = f"""\
define internal i1 @is_array(ptr %object, ptr %class, i32 %ndim, i8 %kind, i64 %itemsize) alwaysinline nounwind {{
entry:
  %at_type = getelementptr i8, ptr %object, i64 {TYPE}
  %type = load ptr, ptr %at_type
  %same = icmp eq ptr %type, %class
  br i1 %same, label %array, label %other
other:
  %found = call i32 @PyType_IsSubtype(ptr %type, ptr %class)
  %derived = icmp ne i32 %found, 0
  br i1 %derived, label %array, label %no
array:
  %at_ndim = getelementptr i8, ptr %object, i64 {N_DIM}
  %its_ndim = load i32, ptr %at_ndim
  %as_deep = icmp eq i32 %its_ndim, %ndim
  %at_dtype = getelementptr i8, ptr %object, i64 {DTYPE}
  %dtype = load ptr, ptr %at_dtype
  %at_kind = getelementptr i8, ptr %dtype, i64 {KIND}
  %its_kind = load i8, ptr %at_kind
  %as_kind = icmp eq i8 %its_kind, %kind
  %at_size = getelementptr i8, ptr %dtype, i64 {ITEMSIZE}
  %its_size = load i64, ptr %at_size
  %as_wide = icmp eq i64 %its_size, %itemsize
  %both = and i1 %as_deep, %as_kind
  %all = and i1 %both, %as_wide
  ret i1 %all
no:
  ret i1 false
}}"""

_DECLARATIONS = {
    "PyType_IsSubtype": "declare i32 @PyType_IsSubtype(ptr, ptr)",
    "PyLong_AsSsize_t": "declare i64 @PyLong_AsSsize_t(ptr)",
    "PyErr_Occurred": "declare ptr @PyErr_Occurred()",
    "PyErr_BadArgument": "declare i32 @PyErr_BadArgument()",
    "PyErr_NoMemory": "declare ptr @PyErr_NoMemory()",
    "PyEval_SaveThread": "declare ptr @PyEval_SaveThread()",
    "PyEval_RestoreThread": "declare void @PyEval_RestoreThread(ptr)",
    "Py_IncRef": "declare void @Py_IncRef(ptr)",
    "_Py_NoneStruct": "@_Py_NoneStruct = external global i8",
}


def entry_text(
    kernel: Kernel, symbol: str, parameters: Sequence[tuple[str, str]], known: Collection[str]
) -> tuple[str, list[str]]:
    """The function `symbol`, and the declarations that it needs besides those `known`. parameters: of the kernel's own
    function."""
    lines = [
        f'define ptr @"{symbol}"(ptr %self, ptr %args, i64 %n) nounwind {{',
        "entry:",
        f"  %at_class = getelementptr i8, ptr %self, i64 {ITEMS}",
        "  %class = load ptr, ptr %at_class",
        f"  %complete = icmp eq i64 %n, {len(kernel.args) + 2}",
        "  br i1 %complete, label %first, label %bad",
    ]
    kinds = ["size", "size", *(a.kind for a in kernel.args)]
    names = ["%start", "%stop", *(f"%a{k}" for k in range(len(kernel.args)))]
    label = "first"
    numbers: list[str] = []
    for k, (kind, name) in enumerate(zip(kinds, names, strict=True)):
        following = f"arg{k}"
        lines += [f"{label}:", f"  %at{k} = getelementptr ptr, ptr %args, i64 {k}", f"  %o{k} = load ptr, ptr %at{k}"]
        if kind == "size":
            numbers.append(name)
            lines += [f"  {name} = call i64 @PyLong_AsSsize_t(ptr %o{k})", f"  br label %{following}"]
        else:
            arg = kernel.args[k - 2]
            dtype = np.dtype(arg.dtype)
            test = f"ptr %o{k}, ptr %class, i32 {arg.ndim}, i8 {ord(dtype.kind)}, i64 {dtype.itemsize}"
            lines += [f"  %ok{k} = call i1 @is_array({test})", f"  br i1 %ok{k}, label %{following}, label %bad"]
        label = following
    lines.append(f"{label}:")
    for k, arg in enumerate(kernel.args):
        if arg.kind != "size":
            lines += _taken_apart(f"%a{k}", f"%o{k + 2}", arg.ndim, arg.layout)
    lines += [f"  %minus{k} = icmp eq i64 {name}, -1" for k, name in enumerate(numbers)]
    odd = "%minus0"
    for k in range(1, len(numbers)):
        lines.append(f"  %odd{k} = or i1 {odd}, %minus{k}")
        odd = f"%odd{k}"
    operands = ", ".join(f"{kind} {name}" for kind, name in parameters)
    lines += [
        f"  br i1 {odd}, label %look, label %run",
        "look:",
        "  %error = call ptr @PyErr_Occurred()",
        "  %fine = icmp eq ptr %error, null",
        "  br i1 %fine, label %run, label %failed",
        "run:",
        "  %thread = call ptr @PyEval_SaveThread()",
        f'  %status = call i32 @"{kernel.name}"({operands})',
        "  call void @PyEval_RestoreThread(ptr %thread)",
        "  %done = icmp eq i32 %status, 0",
        "  br i1 %done, label %end, label %memory",
        "end:",
        "  call void @Py_IncRef(ptr @_Py_NoneStruct)",
        "  ret ptr @_Py_NoneStruct",
        "memory:",
        "  %nothing = call ptr @PyErr_NoMemory()",
        "  ret ptr null",
        "bad:",
        "  %told = call i32 @PyErr_BadArgument()",
        "  br label %failed",
        "failed:",
        "  ret ptr null",
        "}",
    ]
    text = "\n".join(lines)
    if any(kind != "size" for kind in kinds):
        text = f"{_IS_ARRAY}\n\n{text}"
    return text, [line for name, line in _DECLARATIONS.items() if name not in known]


def _taken_apart(name: str, source: str, ndim: int, layout: str) -> list[str]:
    """The address, the lengths and, unless it is in C order, the strides of an array."""
    lines = [f"  {name}.at = getelementptr i8, ptr {source}, i64 {DATA}", f"  {name} = load ptr, ptr {name}.at"]
    for title, short, offset in (("lengths", "n", LENGTHS), ("strides", "s", STRIDES)):
        if not ndim or (short == "s" and layout == "C"):
            continue
        where = f"{name}.{title}"
        lines += [
            f"  {where}.at = getelementptr i8, ptr {source}, i64 {offset}",
            f"  {where} = load ptr, ptr {where}.at",
        ]
        for axis in range(ndim):
            lines += [
                f"  {where}.{axis} = getelementptr i64, ptr {where}, i64 {axis}",
                f"  {name}.{short}{axis} = load i64, ptr {where}.{axis}",
            ]
    return lines
