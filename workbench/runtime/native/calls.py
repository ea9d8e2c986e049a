"""Calls without Python: the built-in function that answers calls of a compiled function whose plan is native."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import CellType
from typing import Any

import numpy as np

from ...codegen.llvm_call import CALL, HELD, SYMBOL, NumpyFunctions, call_description
from ...codegen.llvm_fits import FITS, expected
from ...codegen.llvm_fits import SYMBOL as FITS_SYMBOL
from .kernels import machine_address
from .machine_code import builtin_function
from .plans import NativePlan

# Places in the table of NumPy's C interface, which keeps them (`numpy/_core/code_generators/numpy_api.py`).
_ARRAY_TYPE, _RETURN, _NEW_FROM_DESCR = 2, 76, 94


ABSENT = object()  # the value of a name that must not be there


@dataclass(frozen=True, slots=True)
class Form:
    """What a call returns: all results of its plan, or the only one; scalars: which of them as NumPy scalars."""

    scalars: tuple[bool, ...]
    in_tuple: bool


@dataclass(frozen=True, eq=False, slots=True)
class Look:
    """What a call looks up before: captures, arrays that come after the arguments; guards, what must be the same
    object, or absent; each with its namespace and its name there, or its cell."""

    captures: Sequence[tuple[dict[str, Any] | CellType, str]] = ()
    guards: Sequence[tuple[dict[str, Any] | CellType, str, Any]] = ()


def _flat(places: Sequence[tuple]) -> tuple[Any, ...]:
    """All items of captures or guards, as `codegen.llvm_call` takes them: cells have no names."""
    return tuple(
        item for place, name, *value in places for item in (place, name if isinstance(place, dict) else None, *value)
    )


@cache
def numpy_functions() -> NumpyFunctions | None:
    """None where NumPy's interface is not where its headers say."""
    capsule = getattr(sys.modules.get("numpy._core._multiarray_umath"), "_ARRAY_API", None)
    pointer: Any = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    try:
        table = (ctypes.c_void_p * (_NEW_FROM_DESCR + 1)).from_address(pointer(capsule, None))
    except (TypeError, ValueError):
        return None
    array_type, new, unpacked = (table[k] for k in (_ARRAY_TYPE, _NEW_FROM_DESCR, _RETURN))
    if array_type != id(np.ndarray) or not new or not unpacked:
        return None
    return NumpyFunctions(array_type, new, unpacked)


def native_call(
    plan: NativePlan,
    form: Form,
    inputs: Sequence[Any],
    flags: Sequence[int],
    n_args: int,
    look: Look,
    stack: Any,
    elsewhere: Any,
    otherwise: Callable[..., Any],
) -> Callable[..., Any] | None:
    """`call(*args)`: the results of `plan`, or what `otherwise` gives for arguments that are not like these.

    inputs: arrays and Python floats, `n_args` arguments and then captures; flags: that arrays must have (one that need
    not be in C order must have the same strides); stack: has no open `traces`; elsewhere: must be empty.
    """
    numpy = numpy_functions()
    if numpy is None:
        return None
    fits = machine_address(FITS, FITS_SYMBOL)
    is_float = [not isinstance(x, np.ndarray) for x in inputs]
    description = call_description(
        numpy, fits, is_float, n_args, plan.shapes, plan.n_bytes, plan.table, plan.fills, plan.launches,
        form.scalars, in_tuple=form.in_tuple, waits=plan.waits,
    )  # fmt: skip
    types = tuple(x.dtype if isinstance(x, np.ndarray) else type(x) for x in inputs)
    held = {
        "description": description, "otherwise": otherwise, "fits": (types, expected(inputs, flags)), "stack": stack,
        "attribute": "traces", "elsewhere": elsewhere, "guards": _flat(look.guards),
        "captures": _flat(look.captures), "makers": tuple(plan.makers), "absent": ABSENT, "kept": plan.kept,
    }  # fmt: skip
    return builtin_function(machine_address(CALL, SYMBOL), *(held[name] for name in HELD), keywords=True)
