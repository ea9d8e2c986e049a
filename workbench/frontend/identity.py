"""`a is b` in converted code, as far as it can be known: a branch or loop decides what it gives, and each call what is
given."""

from __future__ import annotations

from typing import Any

from ..ir import REGISTRY
from .carried_objects import is_carried, is_one
from .choices import Choice
from .diagnostics import unsupported
from .number_types import flag, is_python, may_be_python
from .operators import weaken
from .recording import current_trace
from .tracer import Tracer, emit, lift


def same(a: Any, b: Any) -> Any:
    """`a is b`. Two arrays or lists from outside may be one at another call; a branch or loop decides what it gives."""
    if type(a) is Choice or type(b) is Choice:
        return a.is_same(b) if type(a) is Choice else b.is_same(a)
    if type(a) is Tracer and type(b) is Tracer and a is not b and (a.shape, a.dtype) == (b.shape, b.dtype):
        given = [x.parent is None and x.buffer.var_in is not None for x in (a, b)]
        if all(given) or any(x.buffer.aliases is not None or x.buffer.ambiguous for x in (a, b)):
            raise unsupported("whether two arrays are one", verb="asks")
    for x, other in ((a, b), (b, a)):
        if type(x) is Tracer and type(other) is bool and x.scalar and x.dtype == bool and may_be_python(x):
            return _is_that_bool(x, other)
    if is_carried(a):
        return is_one(a, b)
    trace = current_trace()
    if a is not b and trace is not None and trace.lifter is not None and trace.lifter.may_be_one(a, b):
        raise unsupported("whether two lists, tuples or dicts are one", verb="asks")
    return a is b


def _is_that_bool(x: Tracer, other: bool) -> Any:
    """`x is other`, where `x` is Python's bool, or may be."""
    python = is_python(x)
    if python is None:
        raise unsupported("whether a bool is Python's", verb="asks")
    equal = x if other else emit(REGISTRY["not"], x)
    return weaken(emit(REGISTRY["and"], lift(equal), flag(python)))
