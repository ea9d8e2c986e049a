"""A device's memory: what goes there and comes back, and what is made there.

One class for the simulator, whose memory is the host's (arrays are copied as if it were not), one for CuPy. Both count
what crosses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import psutil

from ...codegen.kernel import Kernel
from ...ir import Equation
from .kernels import DeviceKernel, simulated_kernel


@dataclass(frozen=True, slots=True)
class Crossing:
    """Bytes that went from the host to the device or back. name: the user's name of the array, "" where there is none;
    direction: "to device", "to host" or "between devices"; why: "input", "result", "constant", "condition" or a
    library's name; seconds: that the host waited for it."""

    name: str
    direction: str
    n_bytes: int
    why: str
    seconds: float = 0.0


class Memory(Protocol):
    """What an executable asks of a device."""

    device: str
    title: str  # the GPU's name
    memory_errors: tuple[type[BaseException], ...]  # that its allocator raises

    def put(self, array: np.ndarray) -> Any:
        """A copy on the device, in C order."""
        ...

    def get(self, array: Any) -> np.ndarray:
        """A copy on the host."""
        ...

    def begin_get(self, array: Any) -> Callable[[], np.ndarray]:
        """Start to copy a small array to the host; gives a function that waits for the copy."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any: ...

    def in_order(self, array: Any) -> Any:
        """`array` in C order, without a copy where it is."""
        ...

    def owns(self, value: Any) -> bool:
        """Whether `value` is an array of this device as `empty` makes them."""
        ...

    def adopt(self, value: Any) -> Any | None:
        """An array of this device that shares the memory of `value`, or None if that is on the host."""
        ...

    def lies_elsewhere(self, value: Any) -> bool:
        """Whether an array of a GPU is on another one: `adopt` copies it then."""
        ...

    def moment(self) -> Any:
        """A point in the order of the current stream's work."""
        ...

    def wait_for(self, moment: Any) -> None:
        """Let the current stream wait until another one has come to `moment`."""
        ...

    def bring(self, array: Any, moment: Any) -> Any:
        """An array that was there at `moment`, for the current stream of this device."""
        ...

    def finish(self) -> None:
        """Wait for what is queued on the current stream."""
        ...

    def compile(self, kernel: Kernel) -> DeviceKernel: ...

    def library(self, eqn: Equation, function: Callable[..., Any]) -> Callable[..., Any] | None:
        """The device's own form of a library call, NumPy's being `function`, or None: then it runs on the host."""
        ...

    def working(self) -> AbstractContextManager:
        """A block in which this device and its stream are current."""
        ...

    def mark(self) -> Any:
        """A moment on the device's clock."""
        ...

    def free_bytes(self) -> int:
        """Bytes that are free, as far as that is known."""
        ...

    def measure_limits(self) -> tuple[float, float]:
        """Copy bandwidth in GB/s, bytes read plus bytes written, and peak float32 arithmetic in Gflop/s."""
        ...

    def record(self, run: Callable[[Sequence[Any]], Sequence[Any]], inputs: Sequence[Any]) -> Callable[..., Any] | None:
        """`run` in a form that is launched at once: `replay(*inputs)` gives its results; None if there is none."""
        ...

    def between(self, begin: Any, end: Any) -> float:
        """Seconds from one mark to another."""
        ...


def memory_of(device: str) -> Memory:
    """The memory of a device, by its canonical name."""
    if device == "cuda-sim":
        return SimulatedMemory()
    from .cupy_memory import CupyMemory

    return CupyMemory.of(int(device.partition(":")[2]))


class SimulatedMemory:
    """numba's simulator: kernels run in Python, their memory is ndarrays."""

    device = "cuda-sim"
    title = "numba's CUDA simulator"
    memory_errors: tuple[type[BaseException], ...] = (MemoryError,)

    def put(self, array: np.ndarray) -> np.ndarray:
        return np.array(array, order="C")

    def get(self, array: np.ndarray) -> np.ndarray:
        return np.array(array, order="C")

    def begin_get(self, array: np.ndarray) -> Callable[[], np.ndarray]:
        found = self.get(array)
        return lambda: found

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return np.empty(shape, dtype)

    def in_order(self, array: Any) -> np.ndarray:
        array = np.asarray(array)
        return array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape)

    def owns(self, value: Any) -> bool:
        return False  # no array says that it is the simulator's

    def adopt(self, value: Any) -> None:
        return None

    def lies_elsewhere(self, value: Any) -> bool:
        return False

    def moment(self) -> None:
        return None

    def wait_for(self, moment: None) -> None: ...

    def bring(self, array: np.ndarray, moment: None) -> np.ndarray:
        return array

    def finish(self) -> None: ...

    def compile(self, kernel: Kernel) -> DeviceKernel:
        return simulated_kernel(kernel)

    def library(self, eqn: Equation, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def free_bytes(self) -> int:
        return psutil.virtual_memory().available

    def measure_limits(self) -> tuple[float, float]:
        raise NotImplementedError("the simulator's times say nothing about a machine")

    def record(self, run: Callable[[Sequence[Any]], Sequence[Any]], inputs: Sequence[Any]) -> None:
        return None

    def working(self) -> AbstractContextManager:
        return nullcontext()

    def mark(self) -> float:
        return time.perf_counter()

    def between(self, begin: float, end: float) -> float:
        return end - begin
