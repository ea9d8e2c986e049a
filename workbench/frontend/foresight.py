"""Which way a branch goes with the values that the code is traced with.

In a library's code a branch may have sides that no equation joins: a result of another class for data with NaNs in it,
another list for data to be left out. The user cannot mend that, and no part of a library's function runs by itself. So
the program goes the way of the values at hand, and the call ends where another one's values go the other way: NumPy
makes that call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ..ir import Atom, Aval, Jaxpr, Var
from ..ir.evaluate import at_most, eval_jaxpr
from .positions import INSTALLED, code_kind
from .recording import Trace
from .tracer import Tracer, require_trace

MOST_FORESEEN = 8  # branches of a program that go one way
MOST_EQUATIONS = 10_000


def foreseen(test: Tracer, sides: Sequence[Callable[[], Any]]) -> int | None:
    """The index of the side of a library's branch that is taken now; None if that is not known, or not to be used."""
    if not any(type(side) is FunctionType and code_kind(side.__code__.co_filename) == INSTALLED for side in sides):
        return None
    root = require_trace()
    while root.region and root.parent is not None:
        root = root.parent
    if not root.leaves_messages or root.n_foreseen == MOST_FORESEEN:
        return None
    try:
        with np.errstate(all="ignore"), at_most(MOST_EQUATIONS):
            value = _value(require_trace(), test.current)
    except Exception:  # what goes wrong here does so again where the code runs
        return None
    if value is None:
        return None
    root.n_foreseen += 1
    root.has_left_message = True
    return int(bool(value))


def _value(trace: Trace, atom: Atom) -> np.ndarray | None:
    """What an atom is now; None where that is not known, as in the body of a loop."""
    made = {out: eqn for eqn in trace.eqns for out in eqn.outvars}
    needed: set[Var] = set()
    pending = [atom]
    while pending:
        each = pending.pop()
        if isinstance(each, Var) and each not in needed:
            needed.add(each)
            pending += made[each].invars if each in made else ()
    inputs = {var: _given(trace, var) for var in needed if var not in made and var not in trace.constants}
    if any(value is None for value in inputs.values()):
        return None
    constants = {var: value for var, value in trace.constants.items() if var in needed}
    eqns = tuple(eqn for eqn in trace.eqns if not needed.isdisjoint(eqn.outvars))
    jaxpr = Jaxpr(tuple(inputs), eqns, (atom,), tuple(constants), tuple(constants.values()))
    return eval_jaxpr(jaxpr, *inputs.values())[0]


def _given(trace: Trace, var: Var) -> Any:
    value = trace.given.get(var)
    if type(value) is not Tracer:
        return getattr(value, "value", None if isinstance(value, Aval) else value)
    if value.parent is not None or id(value.buffer) in trace.forget:  # a loop around the region changes it
        return None
    return _value(value.buffer.trace, value.buffer.value)
