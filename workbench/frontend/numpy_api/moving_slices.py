"""Slices whose bounds are known only when the program runs, but not their length: `x[i : i + 8]`, `x[k * hop : k * hop
+ n]`. Both bounds are sums of the same traced integers and of known ones, which the equations that made them tell.

They are views as NumPy's are. NumPy cuts off what lies beyond an array: then the call ends, and NumPy runs it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...ir import Atom, Equation, Literal, Var
from .. import tracer as core
from .. import views
from ..checks import end_unless
from .indexing import as_entries, consumes, expand_ellipsis
from .operands import is_tracer

MOST_STEPS = 64  # equations that are looked at for one bound


def through_windows(x: Any, key: Any) -> tuple[Any, Any]:
    """`x` and an index, with views of `x` for such slices and full slices in the index."""
    items = key if isinstance(key, tuple) else (key,)
    if not any(type(item) is slice and _is_traced(item) for item in items):
        return x, key
    entries = expand_ellipsis(as_entries(key), x.ndim)
    axis = 0
    for place, item in enumerate(entries):
        if type(item) is slice and _is_traced(item):
            length = _length(item.start, item.stop)
            is_inside = length is not None and length <= x.shape[axis]  # others are cut off, wherever they begin
            if is_inside and (item.step is None or type(item.step) is int and item.step > 0):
                x = _window(x, axis, item.start, length)  # type: ignore[arg-type]  # a known one
                entries[place] = slice(None, None, item.step)
        axis += 0 if item is None else consumes(item)
    return x, tuple(entries)


def _is_traced(item: slice) -> bool:
    return is_tracer(item.start) and is_tracer(item.stop)


def _window(x: Any, axis: int, start: Any, length: int) -> Any:
    n = x.shape[axis]
    first = core.method(start, "astype", np.int64)
    if length <= 0:
        end_unless(first + length >= 0)  # others count from the end
        limits = [0 if k == axis else m for k, m in enumerate(x.shape)]
        return views.slice_view(x, [0] * x.ndim, limits, [1] * x.ndim)
    end_unless(np.logical_and(first >= 0, first <= n - length))
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    return views.make_view(x, views.WindowView((axis,), (first,), length), shape, x.strides)


def _length(start: Any, stop: Any) -> int | None:
    """`stop - start`, if it is known."""
    if any(x.shape or x.dtype.kind not in "iu" for x in (start, stop)):
        return None
    trace = core.require_trace()
    made_by = {var: eqn for eqn in trace.eqns for var in eqn.outvars}
    first, last = (_Sum.of(core.lift(x).current, made_by) for x in (start, stop))
    if first is None or last is None or first.terms != last.terms:
        return None
    return last.constant - first.constant


class _Sum:
    """A sum of variables, each so many times, and of a constant."""

    def __init__(self, terms: Mapping[Var, int], constant: int):
        self.terms = {var: k for var, k in terms.items() if k}
        self.constant = constant

    @classmethod
    def of(cls, atom: Atom, made_by: Mapping[Var, Equation]) -> _Sum | None:
        """Of integers of 64 bits alone: others wrap around earlier. None if it takes too many equations."""
        terms: Counter[Var] = Counter()
        constant, left = 0, [(atom, 1)]
        for _ in range(MOST_STEPS):
            if not left:
                return cls(terms, constant)
            each, factor = left.pop()
            if isinstance(each, Literal):
                constant += factor * int(each.val)
                continue
            eqn = made_by.get(each)
            if eqn is None or each.aval.dtype != np.int64:
                terms[each] += factor
                continue
            name, operands = eqn.primitive.name, eqn.invars
            numbers = [int(x.val) for x in operands if isinstance(x, Literal)]
            if name in ("add", "sub"):
                a, b = operands
                left += [(a, factor), (b, factor if name == "add" else -factor)]
            elif name == "neg":
                left.append((operands[0], -factor))
            elif name == "mul" and numbers:
                other = operands[1] if isinstance(operands[0], Literal) else operands[0]
                left.append((other, factor * numbers[0]))
            elif name in ("convert_element_type", "copy") and operands[0].aval.dtype == np.int64:
                left.append((operands[0], factor))
            else:
                terms[each] += factor
        return None
