"""Loops that a plan hands whole to numba: compiled once for each text and types, run on copies of what they write.

A loop that raises, or whose Python integers leave 64 bits, has changed nothing outside: `LoopAbortedError` tells the
caller to run everything again in NumPy, which raises what Python raises and leaves what NumPy would have left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import LoopAbortedError
from ..primitives.loops import LoopProgram
from .control import in_order

Loop = Callable[..., tuple[np.ndarray, ...]]
_compiled: dict[tuple, Callable[..., Any] | None] = {}
_lock = threading.Lock()


def compile_loop(program: LoopProgram) -> Loop:
    """`call(*operands)` runs the loop."""
    key = (program.source, tuple((a.dtype, a.ndim, bool(a.views)) for a in program.arguments))
    with _lock:
        if key not in _compiled:
            from .numba_loops import compile_with_numba  # here, since programs without such loops do without

            _compiled[key] = compile_with_numba(program)
        entry = _compiled[key]
    if entry is None:  # numba does not take it: it runs in Python, between the compiled parts

        def call(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
            owned, arguments = program.take(operands)
            return program.give(owned, arguments, program.python(*arguments))

        return call

    def run(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
        owned, arguments = program.take([in_order(x) for x in operands])
        try:
            return program.give(owned, arguments, entry(*arguments) or ())
        except (ArithmeticError, LookupError, ValueError, TypeError, NameError, AssertionError, RuntimeError) as error:
            message = f"WB350  the loop `{program!r}` raises {type(error).__name__}: it runs in NumPy"
            raise LoopAbortedError(message) from error

    return run


__all__ = ["LoopAbortedError", "compile_loop"]
