"""Loops that a plan hands whole to numba: compiled once for each text and types, run on copies of what they write.

A loop that raises, or whose Python integers leave 64 bits, has changed nothing outside: `LoopAbortedError` tells the
caller to run everything again in NumPy, which raises what Python raises and leaves what NumPy would have left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import LoopAbortedError
from ..primitives.loops import LoopProgram
from .control import in_order
from .log import logger

Loop = Callable[..., tuple[np.ndarray, ...]]
_compiled: dict[tuple, Callable[..., Any] | None] = {}
_lock = threading.Lock()
_MISSING: Any = object()


def compile_loop(program: LoopProgram, given: Collection[int] = ()) -> Loop:
    """`call(*operands)` runs the loop. given: the operands whose memory it may write into."""
    if _compiled_entry(program) is None:  # numba does not take it: it runs in Python, between the compiled parts

        def call(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
            owned, arguments = program.take(operands)
            return program.give(owned, arguments, program.python(*arguments))

        return call

    state = [program]

    def run(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
        owned, arguments = program.take([in_order(x) for x in operands], given)
        entry: Any = _compiled_entry(state[0])
        try:
            return program.give(owned, arguments, entry(*arguments) or ())
        except (ArithmeticError, LookupError, ValueError, TypeError, NameError, AssertionError, RuntimeError) as error:
            if type(error) is LookupError and state[0].careful:  # nothing is written yet
                logger.info("the loop `%r` runs with a check of each index", program)
                state[0] = replace(program, source=program.careful, careful="")
                if _compiled_entry(state[0]) is not None:
                    return run(*operands)
            message = f"WB350  the loop `{program!r}` raises {type(error).__name__}: it runs in NumPy"
            raise LoopAbortedError(message) from error

    return run


def _compiled_entry(program: LoopProgram) -> Callable[..., Any] | None:
    key = (program.source, tuple((a.dtype, a.ndim, bool(a.views)) for a in program.arguments))
    entry = _compiled.get(key, _MISSING)
    if entry is not _MISSING:
        return entry
    with _lock:
        if key not in _compiled:
            from .numba_loops import compile_with_numba  # here, since programs without such loops do without

            _compiled[key] = compile_with_numba(program)
        return _compiled[key]


__all__ = ["LoopAbortedError", "compile_loop"]
