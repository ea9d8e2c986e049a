"""Loops that Python runs while code is traced: what they may cost."""

from __future__ import annotations

import time
import types
from typing import Any

from ..errors import TracingError
from .diagnostics import build
from .held import UNDEFINED
from .recording import Trace

LONGEST_PLAIN_S = 0.1
LONGEST_UNROLLED_S = 1.0  # of a loop that is written out as many equations: these take longer still to compile
MANY_EQUATIONS = 512
MOST_ITEMS = 4096  # of a list that is looked at for one that is traced
_PLAIN = (bool, int, float, complex, str, bytes, type(None), range, type, types.ModuleType, types.BuiltinFunctionType)
_HOLDERS = (list, tuple, set, frozenset)


class Patience:
    """What a loop may cost that runs in Python while it is traced: equations, or time without a single one. As a part
    such a loop may be compiled, and Python is faster where nothing watches. `ask` raises TracingError if it is over.

    most: equations; kind: what is written out.
    """

    __slots__ = ("begin", "began_work", "kind", "most", "n_eqns", "trace")

    def __init__(self, trace: Trace | None, most: int, kind: str = "loop"):
        self.trace = trace
        self.most = most
        self.kind = kind
        self.n_eqns = len(trace.eqns) if trace is not None else 0
        self.begin = time.perf_counter()
        self.began_work = time.thread_time()

    def ask(self) -> None:
        trace = self.trace
        if trace is None:
            return
        n = len(trace.eqns) - self.n_eqns
        # What other programs do meanwhile does not decide what is compiled.
        is_slow = n > MANY_EQUATIONS and not trace.strict and time.thread_time() - self.began_work > LONGEST_UNROLLED_S
        if n > self.most or is_slow:
            raise build(
                TracingError, f"{{line}} holds a {self.kind} that would have to be written out, as many operations.",
                f"a {self.kind} of {n:,} equations", code="WB185",
                fixes=("compute with whole arrays instead",),
            )  # fmt: skip
        # A function is traced once, and then such loops take no time at all.
        is_cell = trace.lifter is not None and trace.lifter.of_cell
        is_long = not n and is_cell and time.perf_counter() - self.begin > LONGEST_PLAIN_S
        if is_long and not trace.strict:
            raise build(
                TracingError, "{line} is in a long loop over Python's own numbers, which is a part of its own.",
                f"a loop of more than {LONGEST_PLAIN_S} s without an operation on arrays", code="WB186",
            )  # fmt: skip


def is_plain(value: Any) -> bool:
    """Whether a value surely has nothing traced in it: a number of Python's, or a list of some."""
    if type(value) in _HOLDERS:
        return len(value) <= MOST_ITEMS and all(map(is_plain, value))
    if type(value) is dict:
        return len(value) <= MOST_ITEMS and all(map(is_plain, value.values()))
    return issubclass(type(value), _PLAIN) or value is UNDEFINED  # a traced number says that it is a float
