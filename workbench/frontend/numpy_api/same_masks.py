"""Whether two masks select the same elements, as far as the equations tell."""

from __future__ import annotations

from typing import Any

from ...ir import Atom, Literal
from .. import tracer as core


def same_mask(a: Any, b: Any) -> bool:
    """Whether two masks hold the same values: one variable, or the same operations on the same variables."""
    if a.shape != b.shape:
        return False
    return _same_value(core.require_trace(), core.lift(a).current, core.lift(b).current, {})


def _same_value(trace: Any, a: Atom, b: Atom, producers: dict) -> bool:
    if a is b:
        return True
    if isinstance(a, Literal) or isinstance(b, Literal):
        return isinstance(a, Literal) and isinstance(b, Literal) and a.aval == b.aval and repr(a.val) == repr(b.val)
    if not producers:
        producers.update((out, eqn) for eqn in trace.eqns for out in eqn.outvars)
    first, second = producers.get(a), producers.get(b)
    if first is None or second is None or first.primitive is not second.primitive or first is second:
        return False
    if len(first.invars) != len(second.invars) or dict(first.params) != dict(second.params):
        return False
    return all(_same_value(trace, x, y, producers) for x, y in zip(first.invars, second.invars, strict=True))
