"""Kernels of a device: PTX, made once a process and once a machine, or Python under the simulator."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ...codegen.cuda.functions import device_functions, simulated_functions, simulated_numpy
from ...codegen.cuda.toolkit import compile_to_ptx, device_function, kernel_types, numba_cuda, simulated, with_functions
from ...codegen.cuda.vector_memory import vector_functions
from ...codegen.kernel import Kernel
from ...codegen.scalar_math import definitions
from ..log import logger
from ..native.kernels import cache_folder

Run = Callable[..., None]  # (grid, block, shared_bytes, *args)


@dataclass(eq=False, slots=True)
class DeviceKernel:
    """A kernel that can be launched: `run(grid, block, shared_bytes, *args)`. ptx: "" under the simulator; resources:
    registers, shared and local memory, as far as the driver told; how: how it is launched, where that was decided."""

    kernel: Kernel
    run: Run
    ptx: str
    compile_ms: float
    from_disk: bool
    capability: tuple[int, int] = (0, 0)
    resources: dict[str, int] = field(default_factory=dict)
    how: str = ""

    def launch(self, *args: Any) -> None:
        geometry = self.kernel.geometry
        self.run(geometry.grid, geometry.block, geometry.shared_bytes, *args)

    @property
    def launch_text(self) -> str:
        """How the kernel is launched, and what it takes: `grid 66 x 1, block 32 x 8, warp shuffles, 40 registers`."""
        geometry = self.kernel.geometry
        (gx, gy), (bx, by) = geometry.grid, geometry.block
        facts = [f"grid {gx} x {gy}", f"block {bx} x {by}", geometry.meets]
        if self.kernel.finish is not None:
            facts.append("in two passes")
        if geometry.shared_bytes:
            facts.append(f"{geometry.shared_bytes} B of shared memory for the row")
        facts += [f"{n} {name.replace('_', ' ')}" for name, n in self.resources.items()]
        return ", ".join(filter(None, [*facts, self.how]))

    @property
    def text_key(self) -> bytes:
        """The same for kernels with the same PTX."""
        return self.ptx.encode()

    def llvm(self) -> str:
        """The simulator and NVVM leave no optimised LLVM to show."""
        return ""

    def asm(self) -> str:
        """PTX, followed by the machine's own code where `ptxas` and `nvdisasm` are installed."""
        if not self.ptx:
            return ""
        machine = sass(self.ptx, self.capability)
        head = "".join(f"// {name.replace('_', ' ')}: {n}\n" for name, n in self.resources.items())
        return head + self.ptx + (f"\n// ---- SASS ----\n{machine}" if machine else "")


class Packer:
    """The arguments of a kernel's launches as numba's kernels take them.

    Of an array these are two null pointers (its owner, which kernels have none of), the numbers of its elements and of
    an element's bytes, its address, its shape and its strides; arrays in C order are passed as one axis. Between
    launches of one executable only addresses change.
    """

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self._packed: list[Any] = []
        self._addresses: list[tuple[int, int]] = []  # (argument, its address's place among what is packed)
        self._aligned: list[tuple[int, tuple[tuple[int, int], ...]]] = []  # (a size's place, (array, bytes))

    def __call__(self, args: Sequence[Any]) -> tuple[Any, ...]:
        if not self._packed:
            self._pack(args)
        packed = self._packed.copy()
        for i, place in self._addresses:
            packed[place] = np.uint64(args[i].data.ptr)
        for place, arrays in self._aligned:
            if any(args[i].data.ptr % n_bytes for i, n_bytes in arrays):
                packed[place] = packed[place] * 0
        return tuple(packed)

    def _pack(self, args: Sequence[Any]) -> None:
        packed: list[Any] = []
        addresses, aligned = [], []
        number = {arg.name: i for i, arg in enumerate(self.kernel.args)}
        for i, (arg, value) in enumerate(zip(self.kernel.args, args, strict=True)):
            if arg.kind == "size":
                if arg.aligned:
                    aligned.append((len(packed), tuple((number[name], n) for name, n in arg.aligned)))
                packed.append(np.dtype(arg.dtype).type(value))
                continue
            itemsize = value.dtype.itemsize
            shape, strides = ((value.size,), (itemsize,)) if arg.layout == "C" else (value.shape, value.strides)
            packed += [np.uint64(0), np.uint64(0), np.int64(value.size), np.int64(itemsize)]
            addresses.append((i, len(packed)))
            packed += [np.uint64(0), *map(np.int64, shape), *map(np.int64, strides)]
        self._addresses, self._aligned, self._packed = addresses, aligned, packed


_simulated: dict[str, DeviceKernel] = {}
_ptx: dict[tuple[str, tuple[int, int]], tuple[str, float, bool]] = {}
_lock = threading.Lock()


def is_written(kernel: Kernel) -> bool:
    """Whether this process has compiled the kernel already."""
    key = _key(kernel)
    return key in _simulated or any(known == key for known, _ in _ptx)


def simulated_kernel(kernel: Kernel) -> DeviceKernel:
    """`kernel` under numba's simulator."""
    key = _key(kernel)
    with _lock:
        if key not in _simulated:
            begin = time.perf_counter()
            functions = simulated_functions(f.name for f in kernel.functions)
            functions |= vector_functions(kernel.source, simulated=True)
            run = simulated(kernel.source, kernel.name, functions, simulated_numpy())
            _simulated[key] = DeviceKernel(kernel, run, "", (time.perf_counter() - begin) * 1e3, False)
        known = _simulated[key]

    def run(grid: tuple[int, int], block: tuple[int, int], shared_bytes: int, *args: Any) -> None:
        flat = (
            a.reshape(-1) if m.layout == "C" and m.kind != "size" else a for m, a in zip(kernel.args, args, strict=True)
        )
        known.run(grid, block, shared_bytes, *flat)

    # Another shape has the same text and another geometry.
    return DeviceKernel(kernel, run, "", known.compile_ms, known.from_disk)


def kernel_ptx(kernel: Kernel, capability: tuple[int, int]) -> tuple[str, float, bool]:
    """PTX of `kernel` for a compute capability, the time that took in ms, and whether the disk had it."""
    key = _key(kernel)
    with _lock:
        found = _ptx.get((key, capability))
        if found is None:
            found = _ptx[key, capability] = _load_or_compile(kernel, capability, key)
    return found


def _load_or_compile(kernel: Kernel, capability: tuple[int, int], key: str) -> tuple[str, float, bool]:
    begin = time.perf_counter()
    folder = cache_folder()
    path = None if folder is None else folder / f"{key}-sm{capability[0]}{capability[1]}.ptx"
    if path is not None:
        try:
            if not hasattr(os, "getuid") or path.stat().st_uid == os.getuid():
                text = path.read_text(encoding="utf-8")
                if text.rstrip("\0\n ").endswith("}"):  # whole
                    return text, (time.perf_counter() - begin) * 1e3, True
        except OSError:
            pass
    functions = device_functions((f.name for f in kernel.functions), capability, fast=kernel.fast)
    scope: dict[str, Any] = {**kernel_scope(), **functions}
    scope.update(vector_functions(kernel.source, simulated=False))
    scope["device_function"] = device_function
    source = with_functions(kernel.source, "@device_function\n")
    exec(compile(source, f"<workbench kernel {kernel.name}>", "exec"), scope)
    geometry = kernel.geometry
    bounds = (geometry.block[0] * geometry.block[1], geometry.resident) if geometry.resident else None
    ptx = compile_to_ptx(scope[kernel.name], kernel_types(kernel), capability, bounds, fast=kernel.fast)
    if path is not None:
        _save(path, ptx)
    elapsed_ms = (time.perf_counter() - begin) * 1e3
    logger.info("compiled kernel %s to PTX in %.0f ms", kernel.name, elapsed_ms)
    return ptx, elapsed_ms, False


def kernel_scope() -> dict[str, Any]:
    """The globals of a kernel's source, beside the scalar functions that it calls."""
    from numba import types

    return {"np": np, "cuda": numba_cuda(), "types": types}


def _save(path: Path, ptx: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
            file.write(ptx)
        os.replace(file.name, path)
    except OSError as error:
        logger.debug("kernel cache: not saved: %s", error)


@lru_cache(maxsize=1)
def _versions() -> str:
    found = [__version__]
    for name in ("numba", "numba-cuda", "nvidia-nvvm", "nvidia-cuda-nvcc-cu12"):
        try:
            found.append(version(name))
        except PackageNotFoundError:
            found.append("")
    return "|".join(found)


def _key(kernel: Kernel) -> str:
    functions = definitions([f.name for f in kernel.functions], imports=False)
    geometry = kernel.geometry
    compiled_for = (
        f"{kernel.target}|{_versions()}\n{kernel.signature}\n{geometry.index} {geometry.resident} {kernel.fast}"
    )
    text = f"{compiled_for}\n{kernel.source}\n{functions}"
    return hashlib.sha256(text.encode()).hexdigest()


# ---- the machine's code ----


def assembler() -> str | None:
    """The path of `ptxas`: on the path, or from the package nvidia-cuda-nvcc."""
    return shutil.which("ptxas") or _packaged("ptxas")


def _packaged(name: str) -> str | None:
    """A program of one of NVIDIA's packages, which share the namespace `nvidia`."""
    found = importlib.util.find_spec("nvidia")
    for folder in (found.submodule_search_locations or ()) if found else ():
        for path in sorted(Path(folder).glob(f"*/bin/{name}*")):
            if path.stem == name and os.access(path, os.X_OK):
                return str(path)
    return None


def assemble(ptx: str, capability: tuple[int, int], *, program: str | None = None) -> tuple[bytes, str]:
    """The machine's code (a cubin) for `ptx`, and what `ptxas` says of registers and spills.

    RuntimeError with its message if it refuses the text; FileNotFoundError where there is no `ptxas`.
    """
    program = program or assembler()
    if program is None:
        raise FileNotFoundError("ptxas is not installed: pip install nvidia-cuda-nvcc, or the CUDA toolkit")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(ptx.rstrip("\0"), encoding="utf-8")
        command = [program, f"-arch=sm_{capability[0]}{capability[1]}", "-v", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or done.stdout.strip())
        return target.read_bytes(), done.stderr + done.stdout


def sass(ptx: str, capability: tuple[int, int]) -> str:
    """The disassembled machine code, or "" where `ptxas` or `nvdisasm` is missing or refuses."""
    program = shutil.which("nvdisasm") or _packaged("nvdisasm")
    if program is None or assembler() is None:
        return ""
    try:
        cubin, _ = assemble(ptx, capability)
    except (RuntimeError, OSError):
        return ""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([program, "-c", file.name], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""
