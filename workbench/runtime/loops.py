"""Loops that a plan hands whole to numba: compiled once for each text and types, run on copies of what they write.

A loop that raises, or whose Python integers leave 64 bits, has changed nothing outside: `LoopAbortedError` tells the
caller to run everything again in NumPy, which raises what Python raises and leaves what NumPy would have left.
"""

from __future__ import annotations

import hashlib
import linecache
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..codegen.scalar_math import names_in, namespace
from ..errors import TracingError
from ..primitives.loops import LoopProgram
from .control import in_order
from .log import logger


class LoopAbortedError(TracingError):
    """A loop came upon something that only Python can go on with."""

    code = "WB350"


Loop = Callable[..., tuple[np.ndarray, ...]]
_compiled: dict[tuple, Callable[..., Any] | None] = {}
_lock = threading.Lock()


def compile_loop(program: LoopProgram) -> Loop:
    """`call(*operands)` runs the loop."""
    key = (program.source, tuple((a.dtype, a.ndim, bool(a.views)) for a in program.arguments))
    with _lock:
        if key not in _compiled:
            _compiled[key] = _compile(program)
        entry = _compiled[key]
    if entry is None:  # numba does not take it: it runs in Python, between the compiled parts

        def call(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
            owned, arguments = program.take(operands)
            return program.give(owned, program.python(*arguments))

        return call

    def run(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
        owned, arguments = program.take([in_order(x) for x in operands])
        try:
            return program.give(owned, entry(*arguments) or ())
        except (ArithmeticError, LookupError, ValueError, TypeError, NameError, AssertionError, RuntimeError) as error:
            message = f"WB350  the loop `{program!r}` raises {type(error).__name__}: it runs in NumPy"
            raise LoopAbortedError(message) from error

    return run


def _compile(program: LoopProgram) -> Callable[..., Any] | None:
    import numba  # here, since programs without such loops do without
    from numba import types
    from numba.core.errors import NumbaError

    from ..codegen.loop_math import FUNCTIONS

    begin = time.perf_counter()
    digest = hashlib.sha256(program.source.encode()).hexdigest()[:8]
    filename = f"<workbench loop {digest}>"
    linecache.cache[filename] = (len(program.source), None, program.source.splitlines(True), filename)
    scope: dict[str, Any] = {"np": np, "__name__": __name__, **FUNCTIONS, **namespace(names_in(program.source))}
    exec(compile(program.source, filename, "exec"), scope)
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": True}
    signature = tuple(
        types.Array(numba.from_dtype(a.dtype), a.ndim, "A" if a.views else "C")
        if a.is_array
        else numba.from_dtype(a.dtype)
        for a in program.arguments
    )
    for name, value in list(scope.items()):
        if name != program.name and getattr(getattr(value, "__code__", None), "co_filename", "") == filename:
            scope[name] = numba.njit(**options)(value)
    try:
        dispatcher = numba.njit([signature], **options)(scope[program.name])
    except NumbaError as error:
        logger.warning("a loop runs in Python, numba does not take it: %s\n%s", error, program.source)
        return None
    entry = dispatcher.overloads[signature].entry_point
    logger.info("compiled a loop in %.0f ms", (time.perf_counter() - begin) * 1e3)
    return entry
