"""Python's own functions of numbers in converted code: `float`, `int`, `bool`, `complex`, `round`, `len`, and folds
over what can be iterated, `sum`, `min` and `max`.

Python insists on plain numbers from them, so that a tracer cannot answer; where the function is the builtin and its
argument is traced, they become operations whose results are numbers of Python's (of weak type). What Python raises for
some numbers (`int(nan)`) is a condition of the call: NumPy runs it again, and raises.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir import REGISTRY, supported_dtype
from .checks import end_unless_later
from .operators import weaken
from .recording import Deferred
from .tracer import Tracer, as_scalar, emit, known_value, method

INT_BOUND = 2.0**63  # of what an int64 holds
LONG = 16  # elements from which a fold over an array is a reduction rather than a chain of operations
_BUILTINS = (type, types.BuiltinFunctionType)
_ITERABLE = (list, tuple, types.GeneratorType)


def number(function: Any, value: Any) -> Any:
    """`function(value)` for builtins and types of NumPy's that make numbers: `int(x)`, `len(x)`, `np.float32(x)`."""
    if type(value) is Tracer:
        converted = None
        if isinstance(function, type) and issubclass(function, np.generic):
            converted = _of_numpy(np.dtype(function), value)
        elif not value.shape and known_value(value) is None and isinstance(function, _BUILTINS):
            convert = _CONVERSIONS.get(function)
            converted = None if convert is None else convert(value)
        return function(value) if converted is None else converted
    if function is len and issubclass(type(value), Deferred):
        return value.shape[0]  # elements behind a mask: their number is traced
    return function(value)


def folded(function: Any, values: Any) -> Any:
    """`function(values)` for `sum`, `min` and `max` over one iterable."""
    if type(values) is Tracer and values.shape and function in (sum, min, max):
        reduced = _reduced(function, values)
        if reduced is not None:
            return reduced
    elements = type(values) is Tracer and len(values.shape) == 1 and values.shape[0] < LONG
    if function not in (min, max) or not (elements or isinstance(values, _ITERABLE)):
        return function(values)
    from .branching import extreme

    found = list(values)
    return extreme(function, *found) if len(found) > 1 else function(found)


def _reduced(function: Any, x: Tracer) -> Any:
    """Python's fold over the elements or rows of an array, if they are many."""
    n = x.shape[0]
    if n < LONG or x.dtype.kind not in "iuf":
        return None
    if function is sum:
        return np.add.reduce(x, axis=0, dtype=x.dtype)  # type: ignore[call-overload]  # a tracer
    if len(x.shape) > 1:
        return None
    if x.dtype.kind == "f":  # comparisons with NaN depend on the order
        end_unless_later(np.logical_not(np.isnan(x).any()))
    return x[np.argmax(x) if function is max else np.argmin(x)]  # type: ignore[call-overload]  # the first of equal ones


# ---- numbers ----


def _cast(x: Tracer, dtype: Any) -> Any:
    return weaken(emit(REGISTRY["convert_element_type"], x, new_dtype=np.dtype(dtype), weak_type=True))


def _float(x: Tracer) -> Any:
    return None if x.dtype.kind == "c" else _cast(x, np.float64)


def _complex(x: Tracer) -> Any:
    return _cast(x, np.complex128)


def _bool(x: Tracer) -> Any:
    return weaken(emit(REGISTRY["copy"], x)) if x.dtype.kind == "b" else weaken(x != 0)


def _int(x: Tracer) -> Any:
    kind = x.dtype.kind
    if kind == "c":
        return None
    if kind == "f":
        end_unless_later(np.abs(x) < x.dtype.type(INT_BOUND))  # not for NaN either
    elif x.dtype == np.uint64:
        end_unless_later(x < np.uint64(INT_BOUND))
    return growing(_cast(x, np.int64))


def _round(x: Tracer) -> Any:
    if not x.scalar:
        return None  # NumPy's arrays cannot be rounded so, of whatever shape
    return _int(np.rint(x)) if x.dtype.kind == "f" else _int(x) if x.dtype.kind in "iu" else None  # type: ignore[arg-type]


def _of_numpy(dtype: np.dtype, x: Tracer) -> Any:
    """`np.float32(x)`: a scalar of a 0-d `x`, `x` itself where an array has the type already."""
    if not supported_dtype(dtype) or x.dtype.kind == "c" and dtype.kind != "c" or x.buffer.mixed:
        return None
    if x.shape:
        return x if x.dtype == dtype else x.astype(dtype)
    if dtype.kind in "iu" and (x.dtype.kind == "f" or x.aval.weak_type and x.dtype.kind == "i"):
        # NumPy refuses Python's numbers outside, and what a cast makes of a float there is the machine's.
        info = np.iinfo(dtype)
        bound = min(float(info.max), INT_BOUND) if x.dtype.kind == "f" else min(info.max, 2**63 - 1)
        above = np.less if x.dtype.kind == "f" else np.less_equal
        end_unless_later(np.logical_and(x >= info.min, above(x, bound)))  # type: ignore[call-overload]  # a tracer
    return as_scalar(method(x, "astype", dtype))


_CONVERSIONS: dict[Any, Callable[[Tracer], Any]] = {
    float: _float, int: _int, bool: _bool, complex: _complex, round: _round,
}  # fmt: skip


def growing(x: Any) -> Any:
    """`x`, an int of Python's, with every later sum and product of it checked: Python's ints have no end."""
    x.buffer.grows = True
    return x
