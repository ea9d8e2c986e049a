"""Compiled kernels: each distinct source is compiled once a process, and once a machine if the disk cache holds it.

The key is the source, the argument types, which axes have one element, the versions and the CPU: other sizes are
run-time arguments, so that a new shape finds its kernel here. LLVM compiles nearly all kernels straight from their text
(`codegen.llvm_kernels`); numba compiles what that leaves out, and is not imported before.
"""

from __future__ import annotations

import functools
import hashlib
import os
import struct
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ...codegen.kernel import Kernel, KernelArg
from ...codegen.scalar_math import definitions
from ...config import config
from ...errors import BackendError
from ..background import checkpoint
from ..log import logger

N_COMPILED = 0  # kernels that were compiled in this process (not loaded from the disk)
# What a file of the disk cache begins with, after its checksum: object code and the length of it, or what numba keeps.
_OBJECT, _NUMBA = b"object", b"numba\0"
_LENGTH = struct.Struct("<Q")


@dataclass(eq=False, slots=True)
class CompiledKernel:
    """`entry(start, stop, *args)` runs the machine code; arguments must have exactly the kernel's types."""

    kernel: Kernel
    entry: Callable[..., None]
    compile_ms: float
    from_disk: bool
    packed_llvm: bytes  # the disk cache keeps it too: machine code can run, but not be looked at
    payload: bytes = b""  # what the disk cache keeps
    held: Any = None  # what must live as long as `entry`
    address: int = 0  # of the function that takes a table of arguments; none where numba compiled it

    launch_text = ""  # kernels of the CPU have ranges, not grids

    @property
    def text_key(self) -> bytes:
        """The same for kernels with the same LLVM IR and assembly."""
        return self.packed_llvm

    def llvm(self) -> str:
        """The optimised LLVM IR."""
        return zlib.decompress(self.packed_llvm).decode()

    def asm(self) -> str:
        """The machine's assembly, made from the LLVM IR as the machine code was made from it."""
        from . import machine_code

        return machine_code.emit_assembly(self.llvm())


@dataclass(frozen=True, slots=True)
class Code:
    """What all drivers of a plan share: compiled kernels and their finishers, by step; the threads that kernels may
    have; and whether steps are timed."""

    compiled: Mapping[str, CompiledKernel]
    finishers: Mapping[str, CompiledKernel]
    n_threads: int
    timed: bool


class NotNativeError(Exception):
    """A loop that Python runs, and why."""


LARGE = "its arrays are large"  # a reason that costs nothing: each iteration takes much longer than Python does


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


@lru_cache(maxsize=1)
def _environment_key() -> str:
    from . import machine_code

    versions = (__version__, *_compiler_stamp(), np.__version__, object.__basicsize__, tuple.__basicsize__)
    return "|".join(map(str, (*versions, machine_code.identity())))


def _compiler_stamp() -> tuple[int, int]:
    """When the files that make machine code of a kernel's text were last written, and how long they are: what another
    state of them compiled is not to be found, though the version is the same. (numba looks at sources so, too.)"""
    here = Path(__file__).parent
    folders = (here, here.parents[1] / "codegen", here.parents[1] / "codegen" / "scalar_math")
    try:
        stats = [entry.stat() for folder in folders for entry in os.scandir(folder) if entry.name.endswith(".py")]
    except OSError:  # a package in a zip file
        return 0, 0
    return max(stat.st_mtime_ns for stat in stats), sum(stat.st_size for stat in stats)


def _key(kernel: Kernel) -> str:
    functions = definitions([f.name for f in kernel.functions], imports=False)
    # What machine code knows beside the types: whose memory is new, how long axes are.
    known = ([(arg.kind, arg.holds, arg.row) for arg in kernel.args], kernel.unit_axes, kernel.may_be_short,
             kernel.fast)  # fmt: skip
    text = f"{_environment_key()}\n{kernel.signature}\n{known}\n{kernel.source}\n{functions}"
    return hashlib.sha256(text.encode()).hexdigest()


def _compile(kernel: Kernel, key: str) -> CompiledKernel:
    global N_COMPILED
    begin = time.perf_counter()
    compiled = _through_llvm(kernel, key) or _through_numba(kernel)
    N_COMPILED += 1
    write_payload(key, compiled.payload)
    compiled.payload = b""
    compiled.compile_ms = (time.perf_counter() - begin) * 1e3
    logger.info("compiled kernel %s in %.0f ms", kernel.name, compiled.compile_ms)
    return compiled


def _through_llvm(kernel: Kernel, key: str) -> CompiledKernel | None:
    """None where only numba can compile the kernel."""
    from ...codegen.llvm_kernels import kernel_module
    from ...codegen.scalar_math.direct import UnsupportedSourceError
    from . import machine_code

    if not machine_code.is_possible():
        return None
    symbol = _symbol(kernel, key)
    try:
        text = kernel_module(
            kernel, symbol, masked=machine_code.masked_vectors(), wide=machine_code.computes_wide(),
            framed=machine_code.prefetches_no_frames(), inverts=machine_code.steps_to_invert(),
        )  # fmt: skip
        code, llvm = machine_code.compile_assembly(text)
        address = machine_code.address(code, symbol)
        entry = function_at(address, kernel.args)
    except UnsupportedSourceError as error:
        logger.debug("numba compiles %s: %s", kernel.name, error)
        return None
    except RuntimeError as error:
        logger.warning("numba compiles %s, because LLVM did not take its text: %s", kernel.name, error)
        return None
    packed = zlib.compress(llvm.encode(), 1)
    payload = _OBJECT + _LENGTH.pack(len(code)) + code + packed
    return CompiledKernel(kernel, entry, 0.0, False, packed, payload, address=address)


def _symbol(kernel: Kernel, key: str) -> str:
    return f"{kernel.name}_{key[:32]}"


@functools.cache
def machine_address(text: str, symbol: str, *, optimise: bool = False) -> int:
    """Where a function is whose text is the same for all programs. Most are written as they should run."""
    from . import machine_code

    with _guard:
        return machine_code.address(_own_code(text, optimise), symbol)


def _own_code(text: str, optimise: bool) -> bytes:
    from . import machine_code

    key = hashlib.sha256(f"{_environment_key()}\n{optimise}\n{text}".encode()).hexdigest()
    code = read_payload(key, "entry")
    if code is None:
        code = machine_code.compile_assembly(text, optimise=optimise)[0]
        write_payload(key, code, "entry")
    return code


def function_at(address: int, args: Sequence[KernelArg]) -> Callable[..., None]:
    """The machine code at an address as a function that takes `args`, as kernels do."""
    from ...codegen.llvm_entry import ENTRY, SYMBOL, descriptor
    from . import machine_code

    entry = machine_address(ENTRY, SYMBOL)
    return machine_code.builtin_function(entry, np.ndarray, descriptor(args, address))


def fits_function(
    args: Sequence[Any], flags: Sequence[int], apart: Sequence[tuple[int, int]] = ()
) -> Callable[..., bool]:
    """`fits(*others)`: whether they are of the types of `args`, and arrays of the same dtypes and lengths with these
    flags, of which those that must lie `apart` (pairs, in C order) do."""
    from ...codegen.llvm_fits import FITS, SYMBOL, expected
    from . import machine_code

    held = tuple(arg.dtype if isinstance(arg, np.ndarray) else type(arg) for arg in args)
    return machine_code.builtin_function(machine_address(FITS, SYMBOL), held, expected(args, flags, apart))


def tape_function(args: Sequence[KernelArg]) -> Callable[..., None]:
    """The machine of `codegen.llvm_tape` as a function that takes `args`, as kernels do. RuntimeError where machine
    code cannot be called."""
    from ...codegen.llvm_tape import SYMBOL, machine
    from . import machine_code

    if not machine_code.is_possible():
        raise RuntimeError("arrays are not laid out as object code reads them")
    return function_at(machine_address(machine(), SYMBOL, optimise=True), args)


def _through_numba(kernel: Kernel) -> CompiledKernel:
    from . import numba_kernels

    try:
        entry, held, llvm = numba_kernels.compile_with_numba(kernel)
    except numba_kernels.NumbaError as error:
        message = f"kernel {kernel.name} does not compile: a bug of ours, not of your code\n{error}"
        raise BackendError(message) from error
    packed = zlib.compress(llvm.encode(), 1)
    payload = numba_kernels.packed(held, packed)
    return CompiledKernel(kernel, entry, 0.0, False, packed, payload and _NUMBA + payload, held)


# ---- the disk cache ----


def cache_folder() -> Path | None:
    """Where compiled kernels persist: `config.cache_dir` or `WORKBENCH_CACHE_DIR`, else the user's cache folder; None
    if it is "off"."""
    chosen = config.cache_dir or os.environ.get("WORKBENCH_CACHE_DIR", "")
    if chosen == "off":
        return None
    return Path(chosen or _user_folder()) / "kernels"


def _user_folder() -> str:
    """The user's cache folder. Importing platformdirs takes 10 ms, so that the common case is spelled out."""
    if sys.platform == "linux" and "ANDROID_ROOT" not in os.environ:
        base = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")
        return os.path.join(base, "workbench")
    import platformdirs

    return platformdirs.user_cache_dir("workbench")


def write_payload(key: str, payload: bytes, kind: str = "kernels") -> None:
    """Write atomically; a checksum in front guards against torn files. Failing to write is not an error."""
    folder = cache_folder()
    if folder is None or not payload:
        return
    folder = folder.with_name(kind)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(hashlib.sha256(payload).digest() + payload)
        os.replace(file.name, folder / key)
    except OSError as error:
        logger.debug("kernel cache: not saved: %s", error)


def read_payload(key: str, kind: str = "kernels") -> bytes | None:
    """What an intact file of this user holds (it is code that runs: nobody else's is read)."""
    folder = cache_folder()
    if folder is None:
        return None
    path = folder.with_name(kind) / key
    try:
        if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():
            return None
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        logger.debug("kernel cache: not read: %s", error)
        return None
    digest, payload = data[:32], data[32:]
    if hashlib.sha256(payload).digest() != digest:
        path.unlink(missing_ok=True)
        return None
    return payload


def _load(kernel: Kernel, key: str) -> CompiledKernel | None:
    """Read a kernel back from the disk."""
    begin = time.perf_counter()
    payload = read_payload(key)
    if payload is None:
        return None
    try:
        compiled = _unpacked(kernel, key, payload)
    except Exception as error:  # noqa: BLE001  # whatever an unreadable file raises, compiling again is the answer
        logger.debug("kernel cache: %s not loaded: %s", kernel.name, error)
        return None
    compiled.compile_ms = (time.perf_counter() - begin) * 1e3
    return compiled


def _unpacked(kernel: Kernel, key: str, payload: bytes) -> CompiledKernel:
    if payload.startswith(_OBJECT):
        from . import machine_code

        if not machine_code.is_possible():
            raise RuntimeError("arrays are not laid out as object code reads them")
        begin = len(_OBJECT) + _LENGTH.size
        end = begin + _LENGTH.unpack(payload[len(_OBJECT) : begin])[0]
        address = machine_code.address(payload[begin:end], _symbol(kernel, key))
        entry = function_at(address, kernel.args)
        return CompiledKernel(kernel, entry, 0.0, True, payload[end:], address=address)
    if payload.startswith(_NUMBA):
        from . import numba_kernels

        entry, held, packed = numba_kernels.unpacked(payload[len(_NUMBA) :])
        return CompiledKernel(kernel, entry, 0.0, True, packed, held=held)
    raise ValueError("not a kernel")
