"""A GPU through CuPy: its arrays are the device's arrays, its pool and current stream are used, its loader takes PTX.

numba only compiles. A launch passes the arguments as numba's kernels expect them (`kernels.Packer`).
This file needs a GPU to run; what can be checked without one is checked in tests/runtime/cuda.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np

from ...codegen.cuda.toolkit import entry_name
from ...codegen.kernel import Kernel
from ...errors import DeviceError
from ...ir import Equation
from ..devices import device_name
from .driver import why_not
from .kernels import DeviceKernel, Packer, assemble, kernel_ptx
from .library import library_call

COPY_BYTES = 1 << 30  # well past any cache
MATRIX = 8192
REPEATS = 7
# Dynamic shared memory that a kernel gets without asking: 48 KiB, less what its arrays of a fixed size take.
FREE_SHARED_BYTES = 32 << 10


class CupyMemory:
    """Memory and launches of one GPU. Work is queued on CuPy's current stream of that device."""

    def __init__(self, ordinal: int):
        error = why_not(ordinal)
        if error is not None:
            raise error
        import cupy  # pyright: ignore[reportMissingImports]  # of the extra `cuda`

        self.cupy: Any = cupy
        self._array: type = cupy.ndarray
        self.ordinal = ordinal
        self.device = f"cuda:{ordinal}"
        self.gpu = cupy.cuda.Device(ordinal)
        digits = str(self.gpu.compute_capability)
        self.capability = (int(digits[:-1]), int(digits[-1]))
        properties = cupy.cuda.runtime.getDeviceProperties(ordinal)
        self.title: str = properties["name"].decode()
        self.threads_per_sm: int = properties["maxThreadsPerMultiProcessor"]
        self.memory_errors: tuple[type[BaseException], ...] = (cupy.cuda.memory.OutOfMemoryError,)

    @staticmethod
    @cache
    def of(ordinal: int) -> CupyMemory:
        """The one object for a GPU."""
        return CupyMemory(ordinal)

    # ---- arrays ----

    def put(self, array: np.ndarray) -> Any:
        return self.cupy.asarray(array, order="C")

    def get(self, array: Any) -> np.ndarray:
        return self.cupy.asnumpy(array, order="C")

    def begin_get(self, array: Any) -> Callable[[], np.ndarray]:
        # A copy to memory that the system may move would be waited for at once.
        target = importlib.import_module("cupyx").empty_pinned(array.shape, array.dtype)
        array.get(out=target, blocking=False)
        done, _ = self.moment()

        def wait() -> np.ndarray:
            done.synchronize()
            return target

        return wait

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return self.cupy.empty(shape, dtype)

    def in_order(self, array: Any) -> Any:
        if type(array) is not self._array:
            array = self.cupy.asarray(array)
        return array if array.flags.c_contiguous else array.copy(order="C")

    def owns(self, value: Any) -> bool:
        return type(value) is self._array and value.data.device_id == self.ordinal

    def adopt(self, value: Any) -> Any | None:
        if self.owns(value):
            return value
        if isinstance(value, np.ndarray | np.generic) or not hasattr(value, "__cuda_array_interface__"):
            return None
        array = self.cupy.asarray(value)
        if array.device == self.gpu:
            return array
        with array.device:  # what is queued there comes first
            written = self.moment()
        return self.bring(array, written)

    def lies_elsewhere(self, value: Any) -> bool:
        return device_name(value) != self.device

    def moment(self) -> Any:
        """An event, and the stream that it is on."""
        stream = self.cupy.cuda.get_current_stream()
        event = self.cupy.cuda.Event(disable_timing=True)
        event.record(stream)
        return event, stream

    def wait_for(self, moment: Any) -> None:
        self.cupy.cuda.get_current_stream().wait_event(moment[0])

    def bring(self, array: Any, moment: Any) -> Any:
        _, stream = moment
        if array.device == self.gpu and self.cupy.cuda.get_current_stream().ptr == stream.ptr:
            return array
        # A copy: the pool gives freed memory to the next array of the same stream, whatever other streams do with it.
        self.wait_for(moment)
        copy = self.cupy.array(array)
        stream.wait_event(self.moment()[0])
        return copy

    def finish(self) -> None:
        self.cupy.cuda.get_current_stream().synchronize()

    def free_bytes(self) -> int:
        """Bytes that an array may take: what the driver has left, and what the pool keeps for the next one."""
        with self.working():
            return self.gpu.mem_info[0] + self.cupy.get_default_memory_pool().free_bytes()

    def measure_limits(self) -> tuple[float, float]:
        cupy = self.cupy
        n_bytes = min(COPY_BYTES, self.free_bytes() // 4)
        with self.working():
            source = cupy.zeros(n_bytes // 4, np.float32)
            target = cupy.empty_like(source)
            copy_s = self._best(lambda: cupy.copyto(target, source))
            matrix = cupy.ones((MATRIX, MATRIX), np.float32)
            product = cupy.empty_like(matrix)
            product_s = self._best(lambda: cupy.matmul(matrix, matrix, out=product))
        return 2 * n_bytes / copy_s / 1e9, 2.0 * MATRIX**3 / product_s / 1e9

    def _best(self, work: Callable[[], object]) -> float:
        """The shortest of some runs, in seconds, by the device's clock."""
        times = []
        for _ in range(REPEATS):
            begin = self.mark()
            work()
            times.append(self.between(begin, self.mark()))
        return min(times)

    # ---- kernels ----

    def compile(self, kernel: Kernel) -> DeviceKernel:
        ptx, compile_ms, from_disk = kernel_ptx(kernel, self.capability)
        function = self._load(ptx).get_function(entry_name(ptx))
        geometry = kernel.geometry
        if geometry.shared_bytes > FREE_SHARED_BYTES:
            driver = self.cupy.cuda.driver
            attribute = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            driver.funcSetAttribute(function.ptr, attribute, geometry.shared_bytes)
        pack = Packer(kernel)

        def run(grid: tuple[int, int], block: tuple[int, int], shared_bytes: int, *args: Any) -> None:
            function(grid, block, pack(args), shared_mem=shared_bytes)

        resources = self._resources(function, geometry.block[0] * geometry.block[1], geometry.shared_bytes)
        return DeviceKernel(kernel, run, ptx, compile_ms, from_disk, self.capability, resources)

    def _load(self, ptx: str) -> Any:
        """A module of the driver. A driver that is older than the PTX may still take what its assembler makes of it."""
        module = self.cupy.cuda.Module()
        try:
            module.load(ptx.rstrip("\0").encode() + b"\0")
        except Exception as error:
            if "UNSUPPORTED_PTX_VERSION" not in str(error).upper().replace(" ", "_"):
                raise
            try:
                module = self.cupy.cuda.Module()
                module.load(assemble(ptx, self.capability)[0])
            except Exception:  # noqa: BLE001  # no assembler, or one that is as new as the PTX: the first reason counts
                what = "the NVIDIA driver is too old for the PTX that the installed NVVM writes"
                check = "nvidia-smi --query-gpu=driver_version --format=csv"
                fix = "update the driver, or install an older nvidia-nvvm"
                raise DeviceError(f"WB603  {what}.\n   Check  {check}\n   Fix    {fix}", code="WB603") from error
        return module

    def _resources(self, function: Any, n_threads: int, shared_bytes: int) -> dict[str, int]:
        """Registers and memory of a loaded kernel, and how many of its blocks one SM holds."""
        driver = self.cupy.cuda.driver
        try:
            n_blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, n_threads, shared_bytes)
            return {
                "registers_per_thread": driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_NUM_REGS, function.ptr),
                "shared_bytes_per_block": shared_bytes
                + driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function.ptr),
                "local_bytes_per_thread": driver.funcGetAttribute(
                    driver.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function.ptr
                ),
                "blocks_per_SM": n_blocks,
                "%_occupancy": round(100 * n_blocks * n_threads / self.threads_per_sm),
            }
        except (AttributeError, RuntimeError):
            return {}

    def library(self, eqn: Equation, function: Callable[..., Any]) -> Callable[..., Any] | None:
        call = library_call(self.cupy, eqn)
        if call is None:
            return None
        cupyx = importlib.import_module("cupyx")  # it comes with CuPy

        def checked(*operands: Any, **params: Any) -> Any:
            with cupyx.errstate(linalg="raise"):  # a singular matrix is an error, as in NumPy
                return call(*operands, **params)

        return checked

    # ---- time and order ----

    def working(self) -> AbstractContextManager:
        # A new one each time: some versions of CuPy keep in it which device to go back to, for all threads together.
        return self.cupy.cuda.Device(self.ordinal)

    def mark(self) -> Any:
        event = self.cupy.cuda.Event()
        event.record()
        return event

    def between(self, begin: Any, end: Any) -> float:
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(begin, end) / 1e3

    def record(self, run: Callable[[Sequence[Any]], Sequence[Any]], inputs: Sequence[Any]) -> Callable[..., Any]:
        """`run` as a CUDA graph over buffers of its own: `replay(*inputs)` copies the inputs there, launches the graph
        and copies the results out."""
        cupy = self.cupy
        stream = cupy.cuda.Stream(non_blocking=True)
        pool = cupy.cuda.MemoryPool()
        cupy.cuda.get_current_stream().synchronize()
        with stream:
            buffers = [cupy.array(x) for x in inputs]
            with cupy.cuda.using_allocator(pool.malloc):
                run(buffers)  # leaves in the pool what the capture takes from it: nothing may be allocated there
                stream.synchronize()
                stream.begin_capture()
                try:
                    results = run(buffers)
                finally:
                    graph = stream.end_capture()
        lock = threading.Lock()
        # The buffers are shared: a replay on another stream waits until the last one's results are copied out.
        done, last = cupy.cuda.Event(disable_timing=True), [None]

        def replay(*given: Any) -> tuple[Any, ...]:
            with lock:
                current = cupy.cuda.get_current_stream()
                if last[0] is not None and last[0] != current.ptr:
                    current.wait_event(done)
                for buffer, array in zip(buffers, given, strict=True):  # both in C order
                    buffer.data.copy_from_device_async(array.data, buffer.nbytes)
                graph.launch()
                copies = tuple(result.copy() for result in results)
                done.record(current)
                last[0] = current.ptr
                return copies

        replay.keeps = (pool, graph, stream)  # type: ignore[attr-defined]  # they must live as long as the graph
        return replay
