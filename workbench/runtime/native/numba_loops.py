"""Loops compiled by numba, kept on disk as kernels are: the key is the text, the types, the versions and the CPU."""

from __future__ import annotations

import functools
import hashlib
import linecache
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import types
from numba.core.compiler import CompileResult
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target

from ... import __version__
from ...codegen.loops.draws import PYTHONS
from ...codegen.loops.functions import FUNCTIONS, MODULES
from ...codegen.loops.linked import linked
from ...codegen.loops.single_numbers import with_libm
from ...codegen.scalar_math import definitions, names_in, namespace
from ...primitives.loops import LoopProgram
from ..log import logger
from .kernels import read_payload, write_payload
from .numba_kernels import packed, unpacked

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": True}
_held: list[CompileResult] = []  # whose machine code runs


def compile_with_numba(program: LoopProgram) -> Callable[..., Any] | None:
    """What runs the loop; None if numba does not take it."""
    signature = tuple(
        types.Array(numba.from_dtype(a.dtype), a.ndim, "C" if a.in_order and not a.views else "A")
        if a.is_array
        else numba.from_dtype(a.dtype)
        for a in program.arguments
    )
    key = _key(program, signature)
    result = _load(key)
    if result is None:
        begin = time.perf_counter()
        try:
            result = _compile(program, signature)
        except NumbaError as error:
            logger.warning("a loop runs in Python, numba does not take it: %s\n%s", error, program.source)
            return None
        logger.info("compiled a loop in %.0f ms", (time.perf_counter() - begin) * 1e3)
        write_payload(key, packed(result, b""))
    _held.append(result)
    return result.entry_point


def _compile(program: LoopProgram, signature: tuple[types.Type, ...]) -> CompileResult:
    digest = hashlib.sha256(program.source.encode()).hexdigest()[:16]
    filename = f"<workbench loop {digest}>"
    source = with_libm(program.source)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    # numba writes the module's name into what it caches, and imports it when reading back.
    scope: dict[str, Any] = {"np": np, "__name__": __name__, **FUNCTIONS, **namespace(names_in(source))}
    exec(compile(source, filename, "exec"), scope)
    for name, value in list(scope.items()):
        if getattr(getattr(value, "__code__", None), "co_filename", "") == filename:
            # numba names symbols after functions, and numbers those of one name: two loops that other processes have
            # compiled, each as its first one, would be taken for one another.
            value.__qualname__ = f"{name}_{digest}"
            if name != program.name:
                scope[name] = linked(**OPTIONS)(value)
    # Python's sources of random numbers are guarded by the interpreter's lock alone.
    options = {**OPTIONS, "nogil": not any(f"{name}(" in program.source for name in PYTHONS)}
    dispatcher: Any = numba.njit([signature], **options)(scope[program.name])
    return dispatcher.overloads[signature]


# ---- the disk cache ----


@functools.cache
def _versions() -> str:
    codegen: Any = cpu_target.target_context.codegen()  # type: ignore[attr-defined]  # a cached property
    texts = [Path(str(module.__file__)).read_bytes() for module in MODULES]
    helpers = hashlib.sha256(b"".join(texts)).hexdigest()
    versions = (__version__, numba.__version__, llvmlite.__version__, np.__version__, helpers)
    return "|".join(map(str, (*versions, codegen.magic_tuple())))


def _key(program: LoopProgram, signature: tuple[types.Type, ...]) -> str:
    functions = definitions(names_in(program.source), imports=False)
    return hashlib.sha256(f"loop\n{_versions()}\n{signature}\n{program.source}\n{functions}".encode()).hexdigest()


def _load(key: str) -> CompileResult | None:
    payload = read_payload(key)
    if payload is None:
        return None
    try:
        return unpacked(payload)[1]
    except Exception as error:  # noqa: BLE001  # whatever an unreadable file raises, compiling again is the answer
        logger.debug("kernel cache: a loop is not loaded: %s", error)
        return None
