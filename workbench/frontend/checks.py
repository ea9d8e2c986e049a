"""Conditions that end a call: everything is then run again in NumPy, which raises, and leaves what it leaves.

Python's own numbers raise where NumPy's do not: `1 / x` for zero, `math.log(-1.0)`, a power that overflows. Those
conditions are gathered, and tested together before the program next writes into an argument, or in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import TracingError
from ..ir import REGISTRY
from .positions import current_spans
from .recording import Trace, current_trace
from .tracer import INT_BITS, Tracer, apply_ufunc, emit, known_value, method, require_trace


def end_unless(test: Tracer, place: tuple[str, int] | None = None) -> None:
    """Have the call end here unless `test`, one number, is true. place: file and line, if not those that run."""
    trace = require_trace()
    if place is None:
        spans = current_spans(2, trace.entry)
        place = (spans[0].filename, spans[0].line) if spans else ("", 0)
    if test.dtype.kind != "b":
        test = test != 0  # type: ignore[assignment]  # a traced bool
    trace.operation("assert", lambda: emit(REGISTRY["check"], test, filename=place[0], line=place[1]), (), {})


def end_unless_later(test: Any, python: Tracer | None = None) -> None:
    """The same, with the next ones. test: one bool; python: another one, where it does not matter unless that is
    true."""
    trace = current_trace()
    if trace is None or trace.strict:
        return
    if python is not None:
        test = _ufunc(np.logical_or, test, _ufunc(np.logical_not, python))
    known: Any = known_value(test)
    if known is None:
        trace.conditions.append((test, trace.origin()))
    elif not known:
        never = emit(REGISTRY["convert_element_type"], False, new_dtype=np.dtype(bool), weak_type=False)
        trace.conditions.append((never, trace.origin()))


def test_conditions(trace: Trace) -> None:
    """Record the conditions that are still to be tested."""
    found, trace.conditions = trace.conditions, []
    if not found:
        return
    test, origin = found[0]
    place = (origin.spans[0].filename, origin.spans[0].line) if origin.spans else ("", 0)
    with trace.at(origin):
        for other, _ in found[1:]:
            test = emit(REGISTRY["and"], test, other)
        emit(REGISTRY["check"], test, filename=place[0], line=place[1])


_NONZERO = (np.true_divide, np.floor_divide, np.remainder)
_ORDERED = {np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">="}
RAISING = frozenset((*_NONZERO, *_ORDERED, np.power))  # what Python's numbers refuse of what NumPy's do not


def like_python(ufunc: np.ufunc, operands: Sequence[Any], result: Any, python: Tracer | None = None) -> None:
    """Python's errors for an operator of Python's numbers, of which NumPy has computed `result`. python: whether they
    are Python's, if the path decides."""
    if ufunc in _ORDERED and any(isinstance(x, complex) for x in operands):
        names = [x.__class__.__name__ for x in operands]
        raise TypeError(f"'{_ORDERED[ufunc]}' not supported between instances of '{names[0]}' and '{names[1]}'")
    if ufunc in _NONZERO:
        divisor = operands[1]
        if type(divisor) is Tracer or not divisor:
            end_unless_later(_ufunc(np.not_equal, divisor, 0), python)
    elif ufunc is np.power:
        end_unless_finite(operands, result, python)


def end_unless_finite(operands: Sequence[Any], result: Any, python: Tracer | None = None) -> None:
    """Have the call end where finite numbers, or infinite ones that are no NaN, give what is not a number."""
    if type(result) is not Tracer or result.dtype.kind not in "fc":
        return
    fine = _ufunc(np.isfinite, result)
    for x in operands:
        if type(x) is Tracer and x.dtype.kind in "fc":
            fine = _ufunc(np.logical_or, fine, _ufunc(np.isnan, x))
            both = _ufunc(np.logical_and, _ufunc(np.isinf, x), _ufunc(np.isinf, result))
            fine = _ufunc(np.logical_or, fine, both)
    end_unless_later(fine, python)


INT64_BOUND = 9.2e18  # a little below 2**63, since floats decide
_SMALL_STEP = 2**31  # a counter takes centuries to overflow in steps like this
INDEX_BITS = 40  # more elements than memory has room for, and more iterations than a day has time for
_LARGER = (np.add, np.subtract, np.multiply, np.power, np.left_shift)
OF_INTS = frozenset(
    (*_LARGER, np.floor_divide, np.remainder, np.right_shift, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
)


def end_unless_int64(ufunc: np.ufunc, operands: Sequence[Any], result: Any, python: Tracer | None = None) -> None:
    """Have the call end where an operator of Python's ints, of which NumPy has computed `result`, leaves int64.
    Python's ints have no end. python: as for `like_python`."""
    if type(result) is not Tracer or result.dtype.kind != "i":
        return
    if not all(type(x) in (int, bool) or type(x) is Tracer and x.dtype.kind in "ib" for x in operands):
        return
    if len(operands) == 1:
        (x,) = operands
        result.buffer.bits = x.buffer.bits
        if x.buffer.bits == INT_BITS:
            end_unless_later(_ufunc(np.not_equal, x, np.iinfo(np.int64).min), python)
        return
    bits = _bits(ufunc, operands)
    result.buffer.bits = min(bits, INT_BITS)
    if bits < INT_BITS or ufunc not in _LARGER:
        return
    steps = [x for x in operands if type(x) is int]
    if ufunc in (np.add, np.subtract) and steps and abs(steps[0]) < _SMALL_STEP:
        return
    first, second = (method(x, "astype", np.float64) if type(x) is Tracer else float(x) for x in operands)
    if ufunc is np.left_shift:
        exact = _ufunc(np.multiply, first, _ufunc(np.exp2, second))
    else:
        exact = _ufunc(ufunc, first, second)
    end_unless_later(_ufunc(np.less, _ufunc(np.absolute, exact), INT64_BOUND), python)


def require_int64(x: int) -> None:
    """Refuse an int of Python's that int64 does not hold."""
    if not -(2**63) <= x < 2**63:
        from .diagnostics import build

        raise build(
            TracingError, f"{{line}} computes with {x}, an int of Python's that 64 bits do not hold.",
            "ints of Python's that are longer than 64 bits", code="WB120",
            fixes=("use np.uint64 arrays and numbers, or np.float64 ones",),
        )  # fmt: skip


def _bits(ufunc: np.ufunc, operands: Sequence[Any]) -> int:
    """How many bits the magnitude of a result may have."""
    x, y = map(_bits_of, operands)
    other = operands[1]
    if ufunc in (np.add, np.subtract):
        return max(x, y) + 1
    if ufunc is np.multiply:
        return x + y
    if ufunc is np.left_shift:
        return x + other if type(other) is int and 0 <= other < INT_BITS else INT_BITS + 1
    if ufunc is np.power:
        return x * other if type(other) is int and 0 <= other < INT_BITS else INT_BITS + 1
    if ufunc is np.remainder:
        return y
    if ufunc is np.bitwise_and and type(other) is int and other >= 0:
        return y
    return x if ufunc in (np.floor_divide, np.right_shift) else max(x, y)


def _bits_of(x: Any) -> int:
    if type(x) is Tracer:
        return x.buffer.bits if x.dtype.kind == "i" else 1
    return int(x).bit_length()


def _ufunc(ufunc: np.ufunc, *operands: Any) -> Any:
    return apply_ufunc(ufunc, "__call__", operands, {})
