"""Loops over Python's own numbers, which run while code is traced, and what happens when they take long."""

from __future__ import annotations

import time
import types
from typing import Any

from ..errors import TracingError
from .diagnostics import build
from .held import UNDEFINED
from .recording import Trace

LONGEST_PLAIN_S = 0.25
MOST_ITEMS = 4096  # of a list that is looked at for one that is traced
_PLAIN = (bool, int, float, complex, str, bytes, type(None), range, type, types.ModuleType, types.BuiltinFunctionType)
_HOLDERS = (list, tuple, set, frozenset)


class Patience:
    """How long a loop may run in Python, while it is traced, without a single equation: in parts it may be compiled,
    and Python is faster where nothing watches. `ask` raises TracingError WB186 when that is over."""

    __slots__ = ("begin", "n_eqns", "trace")

    def __init__(self, trace: Trace | None):
        self.trace = None if trace is None or trace.strict else trace
        self.n_eqns = len(trace.eqns) if trace is not None else 0
        self.begin = time.perf_counter()

    def ask(self) -> None:
        trace = self.trace
        if trace is None or time.perf_counter() - self.begin < LONGEST_PLAIN_S or len(trace.eqns) > self.n_eqns:
            return
        raise build(
            TracingError, "{line} is a long loop over numbers of Python's, without arrays: it is a part of its own.",
            f"a loop of more than {LONGEST_PLAIN_S} s without an operation on arrays", code="WB186",
        )  # fmt: skip


def is_plain(value: Any) -> bool:
    """Whether a value surely has nothing traced in it: a number of Python's, or a list of some."""
    if type(value) in _HOLDERS:
        return len(value) <= MOST_ITEMS and all(map(is_plain, value))
    if type(value) is dict:
        return len(value) <= MOST_ITEMS and all(map(is_plain, value.values()))
    return isinstance(value, _PLAIN) or value is UNDEFINED
