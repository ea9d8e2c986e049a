"""Conditions that end a call: everything is then run again in NumPy, which raises, and leaves what it leaves.

Python's own numbers raise where NumPy's do not: `1 / x` for zero, `math.log(-1.0)`, a power that overflows. Those
conditions are gathered, and tested together before the program next writes into an argument, or in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir import REGISTRY
from .positions import current_spans
from .recording import Trace, current_trace
from .tracer import Tracer, apply_ufunc, emit, known_value, method, require_trace


def end_unless(test: Tracer) -> None:
    """Have the call end here unless `test`, one number, is true."""
    trace = require_trace()
    spans = current_spans(2, trace.entry)
    place = (spans[0].filename, spans[0].line) if spans else ("", 0)
    if test.dtype.kind != "b":
        test = test != 0  # type: ignore[assignment]  # a traced bool
    trace.operation("assert", lambda: emit(REGISTRY["check"], test, filename=place[0], line=place[1]), (), {})


def end_unless_later(test: Any) -> None:
    """The same, with the next ones. test: one bool."""
    trace = current_trace()
    if trace is None or trace.strict:
        return
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


def like_python(ufunc: np.ufunc, operands: Sequence[Any], result: Any) -> None:
    """Python's errors for an operator of Python's numbers, of which NumPy has computed `result`."""
    if ufunc in _ORDERED and any(isinstance(x, complex) for x in operands):
        names = [x.__class__.__name__ for x in operands]
        raise TypeError(f"'{_ORDERED[ufunc]}' not supported between instances of '{names[0]}' and '{names[1]}'")
    if ufunc in _NONZERO:
        divisor = operands[1]
        if type(divisor) is Tracer or not divisor:
            end_unless_later(_ufunc(np.not_equal, divisor, 0))
    elif ufunc is np.power:
        end_unless_finite(operands, result)


def end_unless_finite(operands: Sequence[Any], result: Any) -> None:
    """Have the call end where finite numbers, or infinite ones that are no NaN, give what is not a number."""
    if type(result) is not Tracer or result.dtype.kind not in "fc":
        return
    fine = _ufunc(np.isfinite, result)
    for x in operands:
        if type(x) is Tracer and x.dtype.kind in "fc":
            fine = _ufunc(np.logical_or, fine, _ufunc(np.isnan, x))
            both = _ufunc(np.logical_and, _ufunc(np.isinf, x), _ufunc(np.isinf, result))
            fine = _ufunc(np.logical_or, fine, both)
    end_unless_later(fine)


INT64_BOUND = 9.2e18  # a little below 2**63, since floats decide
_SMALL_STEP = 2**31  # a counter takes centuries to overflow in steps like this
_GROWING = {np.add: np.add, np.subtract: np.subtract, np.multiply: np.multiply, np.power: np.power}


def end_unless_int64(ufunc: np.ufunc, operands: Sequence[Any], result: Any) -> None:
    """Have the call end where an operator of Python's ints, of which NumPy has computed `result`, leaves int64."""
    if type(result) is not Tracer or not result.aval.weak_type or result.dtype.kind != "i":
        return
    result.buffer.grows = True
    steps = [x for x in operands if type(x) is int]
    if ufunc in (np.add, np.subtract) and steps and abs(steps[0]) < _SMALL_STEP:
        return
    first, second = (method(x, "astype", np.float64) if type(x) is Tracer else float(x) for x in operands)
    if ufunc in _GROWING:
        exact = _ufunc(_GROWING[ufunc], first, second)
    elif ufunc is np.left_shift:
        exact = _ufunc(np.multiply, first, _ufunc(np.exp2, second))
    else:
        return
    end_unless_later(_ufunc(np.less, _ufunc(np.absolute, exact), INT64_BOUND))


def _ufunc(ufunc: np.ufunc, *operands: Any) -> Any:
    return apply_ufunc(ufunc, "__call__", operands, {})
