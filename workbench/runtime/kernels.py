"""Compiled kernels: numba compiles each distinct source once a process, and once a machine if the disk cache holds it.

The key is the source, the argument types, the versions and the CPU: sizes are run-time arguments, so that a new shape
finds its kernel here.
"""

from __future__ import annotations

import hashlib
import linecache
import os
import pickle
import tempfile
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
import platformdirs
from llvmlite import binding
from numba import types
from numba.core import serialize
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys

from .. import __version__
from ..codegen.direct_bodies import with_direct_bodies
from ..codegen.kernel import Kernel
from ..codegen.scalar_math import definitions, names_in, namespace
from ..config import config
from ..errors import BackendError
from .background import checkpoint
from .log import logger

N_COMPILED = 0  # kernels that numba compiled in this process (not loaded from the disk)


@dataclass(eq=False, slots=True)
class CompiledKernel:
    """`entry(start, stop, *args)` runs the machine code; arguments must have exactly the kernel's types."""

    kernel: Kernel
    entry: Callable[..., None]
    result: CompileResult
    compile_ms: float
    from_disk: bool
    packed_llvm: bytes  # the disk cache keeps it too: what numba reads back can run, but not be looked at

    launch_text = ""  # kernels of the CPU have ranges, not grids

    @property
    def text_key(self) -> bytes:
        """The same for kernels with the same LLVM IR and assembly."""
        return self.packed_llvm

    def llvm(self) -> str:
        """The optimised LLVM IR."""
        return zlib.decompress(self.packed_llvm).decode()

    def asm(self) -> str:
        """The machine's assembly, made from the LLVM IR as numba makes its machine code from it."""
        codegen: Any = cpu_target.target_context.codegen()  # type: ignore[attr-defined]  # a cached property
        module = binding.parse_assembly(self.llvm())
        return codegen._tm.emit_assembly(module)


_memory: dict[str, CompiledKernel] = {}
_locks: dict[str, threading.Lock] = {}
_guard = threading.Lock()


def compile_kernel(kernel: Kernel) -> CompiledKernel:
    """The machine code of `kernel` for this CPU, compiled at most once."""
    key = _key(kernel)
    found = _memory.get(key)
    if found is not None:
        return found
    checkpoint()
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        if key not in _memory:
            _memory[key] = _load(kernel, key) or _compile(kernel, key)
        return _memory[key]


def is_compiled(kernel: Kernel) -> bool:
    return _key(kernel) in _memory


def forget_kernels() -> None:
    """Drop the compiled kernels of this process; those on disk stay."""
    with _guard:
        _memory.clear()


def numba_types(kernel: Kernel) -> tuple[types.Type, ...]:
    signature: list[types.Type] = [types.intp, types.intp]
    for arg in kernel.args:
        if arg.kind == "size":
            signature.append(types.intp)
        else:
            signature.append(types.Array(numba.from_dtype(np.dtype(arg.dtype)), arg.ndim, arg.layout))
    return tuple(signature)


@lru_cache(maxsize=1)
def _environment_key() -> str:
    codegen: Any = cpu_target.target_context.codegen()  # type: ignore[attr-defined]  # a cached property
    versions = (__version__, numba.__version__, llvmlite.__version__, np.__version__)
    return "|".join(map(str, (*versions, codegen.magic_tuple())))


def _key(kernel: Kernel) -> str:
    functions = definitions([f.name for f in kernel.functions], imports=False)
    text = f"{_environment_key()}\n{kernel.signature}\n{kernel.source}\n{functions}"
    return hashlib.sha256(text.encode()).hexdigest()


def _compile(kernel: Kernel, key: str) -> CompiledKernel:
    global N_COMPILED
    begin = time.perf_counter()
    filename = f"<workbench kernel {kernel.name}>"
    linecache.cache[filename] = (len(kernel.source), None, kernel.source.splitlines(True), filename)
    try:
        result = _through_numba(kernel, *with_direct_bodies(kernel, _scalar_function), filename)
    except NumbaError:
        try:
            result = _through_numba(kernel, kernel.source, {}, filename)
        except NumbaError as error:
            message = f"kernel {kernel.name} does not compile: a bug of ours, not of your code\n{error}"
            raise BackendError(message) from error
    N_COMPILED += 1
    packed_llvm = zlib.compress(result.library.get_llvm_str().encode(), 1)
    _save(key, result, packed_llvm)
    elapsed_ms = (time.perf_counter() - begin) * 1e3
    logger.info("compiled kernel %s in %.0f ms", kernel.name, elapsed_ms)
    return CompiledKernel(kernel, result.entry_point, result, elapsed_ms, False, packed_llvm)


def _scalar_function(name: str) -> Any:
    return namespace([name], direct=False)[name]


def _through_numba(kernel: Kernel, source: str, functions: dict[str, Any], filename: str) -> CompileResult:
    """Compile a source of `kernel` that calls `functions` besides the scalar functions of the library."""
    # numba writes the module's name into what it caches, and imports it when reading back.
    scope: dict[str, Any] = {"np": np, "__name__": __name__, **namespace(names_in(source)), **functions}
    exec(compile(source, filename, "exec"), scope)
    signature = types.none(*numba_types(kernel))
    dispatcher = numba.njit([signature], nogil=True, error_model="numpy", boundscheck=False)(scope[kernel.name])
    assert isinstance(dispatcher, Dispatcher)
    return dispatcher.overloads[signature.args]


# ---- the disk cache ----


def cache_folder() -> Path | None:
    """Where compiled kernels persist: `config.cache_dir` or `WORKBENCH_CACHE_DIR`, else the user's cache folder; None
    if it is "off"."""
    chosen = config.cache_dir or os.environ.get("WORKBENCH_CACHE_DIR", "")
    if chosen == "off":
        return None
    return Path(chosen or platformdirs.user_cache_dir("workbench")) / "kernels"


def _save(key: str, result: CompileResult, packed_llvm: bytes) -> None:
    """Write atomically; a checksum in front guards against torn files. Failing to write is not an error."""
    folder = cache_folder()
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        payload = serialize.dumps((result._reduce(), packed_llvm))
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(hashlib.sha256(payload).digest() + payload)
        os.replace(file.name, folder / key)
    except (OSError, pickle.PicklingError, TypeError, AttributeError) as error:
        logger.debug("kernel cache: not saved: %s", error)


def _load(kernel: Kernel, key: str) -> CompiledKernel | None:
    """Read a kernel back, if an intact file of this user holds it (unpickling runs code: nobody else's is read)."""
    folder = cache_folder()
    if folder is None:
        return None
    begin = time.perf_counter()
    path = folder / key
    try:
        if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():
            return None
        data = path.read_bytes()
        digest, payload = data[:32], data[32:]
        if hashlib.sha256(payload).digest() != digest:
            path.unlink(missing_ok=True)
            return None
        context = cpu_target.target_context
        # Not `context.refresh()`, which takes longer than compiling: machine code needs numba's runtime, but none of
        # the implementations that numba would register.
        rtsys.initialize(context)
        reduced, packed_llvm = pickle.loads(payload)
        result = CompileResult._rebuild(context, *reduced)
    except FileNotFoundError:
        return None
    except Exception as error:  # noqa: BLE001  # whatever an unreadable file raises, compiling again is the answer
        logger.debug("kernel cache: %s not loaded: %s", kernel.name, error)
        return None
    load_ms = (time.perf_counter() - begin) * 1e3
    return CompiledKernel(kernel, result.entry_point, result, load_ms, True, packed_llvm)
