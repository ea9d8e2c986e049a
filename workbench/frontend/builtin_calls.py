"""Python's own functions of numbers in converted code: `float`, `int`, `bool`, `complex`, `round`, `len`, and folds
over what can be iterated, `sum`, `min`, `max`, `any` and `all`.

Python insists on plain numbers from them, so that a tracer cannot answer; where the function is the builtin and its
argument is traced, they become operations whose results are numbers of Python's (of weak type). What Python raises for
some numbers (`int(nan)`) is a condition of the call: NumPy runs it again, and raises.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import TracingError
from ..ir import REGISTRY, supported_dtype
from .checks import INDEX_BITS, INT64_BOUND, end_unless_later
from .choices import Choice, settled, truth
from .counted_lists import is_counted
from .growing import rows_together
from .list_folds import fold_of_list
from .operators import weaken
from .recording import Deferred, current_trace
from .traced_ranges import TracedRange
from .tracer import Tracer, as_scalar, emit, known_value, lift, method

INT_BOUND = 2.0**63  # of what an int64 holds
FOLDS = (sum, min, max, any, all)
LONG = 16  # elements from which a fold over an array is a reduction rather than a chain of operations
_BUILTINS = (type, types.BuiltinFunctionType)
_ITERABLE = (list, tuple, types.GeneratorType)


def number(function: Any, value: Any) -> Any:
    """`function(value)` for builtins and types of NumPy's that make numbers: `int(x)`, `len(x)`, `np.float32(x)`."""
    if function is bool:  # whose class may say so by what is only known when the program runs
        value = truth(value)
    elif type(value) is Choice:
        value = value.settled() if function is len else value.operand("index")
    if type(value) is Tracer:
        converted = None
        if isinstance(function, type) and issubclass(function, np.generic):
            converted = _of_numpy(np.dtype(function), value)
        elif not value.shape and known_value(value) is None and isinstance(function, _BUILTINS):
            convert = _CONVERSIONS.get(function)
            converted = None if convert is None else convert(value)
        return function(value) if converted is None else converted
    if function is len and issubclass(type(value), Deferred):
        n = value.shape[0]  # elements behind a mask: their number is traced
        if type(n) is Tracer:
            n.buffer.bits = INDEX_BITS
        return n
    return function(value)


def of_type(function: Any, value: Any) -> Any:
    """`function(value)` of what may be a type of numbers that a variable or an attribute holds."""
    is_type = isinstance(function, type) and issubclass(function, np.generic | float | int | complex)
    return number(function, value) if is_type else function(value)


def folded(function: Any, values: Any) -> Any:
    """`function(values)` for `sum`, `min`, `max`, `any` and `all` over one iterable."""
    values = settled(values)
    if is_counted(values):
        fold = fold_of_list(function)
        return function(values) if fold is None else fold(values)
    if function in FOLDS:
        rows = values
        if type(values) in (list, tuple) and len(values) >= LONG:
            rows = rows_together(values)
        if type(rows) is Tracer and rows.shape and rows.shape[0] >= LONG:
            weak = rows is not values and all(x.weak_type for x in values)
            result = fold_of_rows(function, rows, weak=weak)
            if result is not None:
                return result
    elements = type(values) is Tracer and len(values.shape) == 1 and values.shape[0] < LONG
    if function in (any, all) and (elements or isinstance(values, list | tuple)):
        return any_or_all(function, values)[0]
    if function not in (min, max) or not (elements or isinstance(values, _ITERABLE)):
        return function(values)
    from .branching import extreme

    found = list(values)
    return extreme(function, *found) if len(found) > 1 else function(found)


def any_or_all(function: Any, values: Iterable[Any]) -> tuple[Any, bool]:
    """`function(values)` for `any` and `all` of a few values, and whether the run decides about some of them: all of
    these are computed then."""
    from .branching import as_bool
    from .merging import not_traceable

    decides = function is any
    tests: list[Tracer] = []
    remaining = iter(values)
    while True:
        try:
            test = as_bool(next(remaining))
        except StopIteration:
            break
        except TracingError:
            raise
        except Exception as error:
            if not tests:
                raise
            raise not_traceable(error) from None
        if type(test) is Tracer:
            tests.append(test)
        elif test is decides:
            return decides, bool(tests)
    if not tests:
        return not decides, False
    found = tests[0]
    for test in tests[1:]:
        found = emit(REGISTRY["or" if decides else "and"], found, test)
    return weaken(found), True


def fold_of_rows(function: Any, x: Tracer, chosen: Tracer | None = None, *, weak: bool = False) -> Any:
    """Python's fold over the elements or rows of an array; None if it is none of an array. chosen: which of them there
    are; weak: whether they are numbers of Python's."""
    if function is sum:
        return _sum(x, chosen, weak=weak)
    if len(x.shape) > 1:
        return None
    if function in (any, all):
        is_true: Any = x if x.dtype.kind == "b" else np.not_equal(x, 0)
        if function is any:
            return weaken(np.logical_or.reduce(is_true if chosen is None else np.logical_and(is_true, chosen)))
        fails = np.logical_not(is_true)
        fails = fails if chosen is None else np.logical_and(fails, chosen)
        return weaken(np.logical_not(np.logical_or.reduce(fails)))
    if x.dtype.kind not in "iuf":
        return None
    values: Any = x
    if chosen is not None:
        end_unless_later(np.logical_or.reduce(chosen))
        info: Any = np.finfo(x.dtype) if x.dtype.kind == "f" else np.iinfo(x.dtype)
        least, most = (-np.inf, np.inf) if x.dtype.kind == "f" else (info.min, info.max)
        values = np.where(chosen, x, x.dtype.type(least if function is max else most))
    if x.dtype.kind == "f":  # comparisons with NaN depend on the order
        end_unless_later(np.logical_not(np.isnan(values).any()))
    best = values[np.argmax(values) if function is max else np.argmin(values)]  # the first of equal ones
    return _cast(best, x.dtype) if weak else best


def _sum(x: Tracer, chosen: Tracer | None, *, weak: bool) -> Any:
    if x.dtype.kind not in "biufc":
        return None
    dtype = np.dtype(np.int64) if x.dtype.kind == "b" else x.dtype
    values: Any = x
    if chosen is not None:
        end_unless_later(np.logical_or.reduce(chosen))  # nothing sums to Python's 0
        flags: Any = chosen
        values = np.where(flags.reshape(flags.shape + (1,) * (len(x.shape) - 1)), x, dtype.type(0))
    total: Any = np.add.reduce(values, axis=0, dtype=dtype)
    total = total + dtype.type(0)  # Python begins with 0: no sum is -0.0
    if not weak:
        return total
    if dtype.kind == "i":
        end_unless_later(np.less(np.add.reduce(np.abs(values), dtype=np.float64), INT64_BOUND))
    return _cast(total, dtype)


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
    return _cast(x, np.int64)


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


def range_(function: Any, *bounds: Any) -> Any:
    """`range(*bounds)`, also of traced integers."""
    from .numba_functions import is_prange

    function = range if is_prange(function) else function
    bounds = tuple(map(settled, bounds))
    if function is range and any(type(b) is Tracer for b in bounds):
        known = [known_value(b) if type(b) is Tracer else b for b in bounds]
        if any(v is None for v in known) and all(type(b) is not Tracer or b.dtype.kind in "iu" for b in bounds):
            return TracedRange.of(bounds)
    return function(*bounds)


def reduced(method: Any, *args: Any, **kwargs: Any) -> Any:
    """`method(*args, **kwargs)`, where that may be `ufunc.reduce`, which asks no tracers in a list."""
    if isinstance(getattr(method, "__self__", None), np.ufunc) and args and isinstance(args[0], list | tuple):
        if current_trace() is not None and any(type(x) is Tracer for x in args[0]):
            args = (lift(args[0]), *args[1:])
    return method(*args, **kwargs)
