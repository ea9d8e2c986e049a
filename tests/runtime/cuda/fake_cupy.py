"""A stand-in for CuPy on machines without a GPU: its arrays are the host's memory, its launches run in the simulator.

It has only what the workbench uses, by CuPy's own names, and takes arguments as CuPy's launches do: scalars of NumPy,
addresses among them. What a real device would refuse (an argument of Python's own type) it refuses, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import time
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from workbench.codegen.kernel import Kernel
from workbench.runtime.cuda.kernels import simulated_kernel

LAUNCHES: list[str] = []
KERNELS: dict[str, Kernel] = {}
LIMIT_BYTES = [1 << 40]
SHARED: list[int] = []  # the dynamic shared memory that kernels asked for
# What NumPy's arrays have and CuPy's (14.2) have not.
NOT_CUPYS = frozenset("ctypes getfield resize setfield setflags to_device __array_namespace__ __array_struct__".split())
# Functions that both have.
NAMES = (
    "abs argsort broadcast_to concatenate copyto cumprod cumsum empty_like exp flip linspace log matmul moveaxis ones "
    "searchsorted sort sqrt tanh where zeros"
).split()
_capturing: list[list[Any]] = []
_kept: list[Any] = []


class OutOfMemoryError(MemoryError):
    pass


class Array(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of the device. As CuPy's, it is none of NumPy's, and does not become one by itself."""

    def __init__(self, host: np.ndarray):
        self.host = host

    @property
    def flags(self) -> Any:
        flags = self.host.flags
        return SimpleNamespace(
            c_contiguous=flags.c_contiguous, f_contiguous=flags.f_contiguous, owndata=flags.owndata, fnc=flags.fnc,
            forc=flags.forc,
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name in NOT_CUPYS:
            raise AttributeError(f"'cupy.ndarray' object has no attribute {name!r}")
        found = getattr(self.host, name)
        return (lambda *args, **kwargs: wrapped(found(*args, **kwargs))) if callable(found) else wrapped(found)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return over_arrays(getattr(ufunc, method))(*inputs, **kwargs)

    def get(self, stream: Any = None, order: str = "C", out: np.ndarray | None = None, blocking: bool = True) -> Any:
        if out is None:
            return self.host.copy()
        assert not blocking and out.flags.c_contiguous and (out.shape, out.dtype) == (self.host.shape, self.host.dtype)
        out[...] = self.host
        return out

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __getitem__(self, index: Any) -> Any:
        return wrapped(self.host[getattr(index, "host", index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        def copy() -> None:
            self.host[index] = value.host if isinstance(value, Array) else value

        _capturing[-1].append(copy) if _capturing else copy()

    def __float__(self) -> float:
        return float(self.host)

    def __bool__(self) -> bool:
        return bool(self.host)

    def __len__(self) -> int:
        return len(self.host)

    @property
    def data(self) -> Any:
        return Pointer(self.host.__array_interface__["data"][0])

    @property
    def device(self) -> Any:
        return Device(0)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return dict(self.host.__array_interface__) | {"owner": self.host}


class Pointer:
    """CuPy's MemoryPointer, as far as it is used."""

    def __init__(self, ptr: int):
        self.ptr = ptr
        self.device_id = 0

    def copy_from_device_async(self, source: Pointer, size: int, stream: Stream | None = None) -> None:
        ctypes.memmove(self.ptr, source.ptr, size)


def wrapped(value: Any) -> Any:
    return Array(np.asarray(value)) if isinstance(value, np.ndarray | np.generic) else value


def over_arrays(function: Any) -> Any:
    """A function of NumPy's as CuPy's of the same name."""

    def host(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(host, value))
        return value.host if isinstance(value, Array) else value

    def call(*args: Any, **kwargs: Any) -> Any:
        if _capturing:  # so do its calls of CUDA's libraries
            raise NotImplementedError("calling a library while a stream is captured is not supported")
        args = host(args)
        kwargs = {k: host(v) for k, v in kwargs.items()}
        return wrapped(function(*args, **kwargs))

    return call


class Device:
    mem_info = (1000, 2000)
    compute_capability = "90"

    def __init__(self, ordinal: int):
        self.id = ordinal

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: Any) -> None: ...


def empty(shape: Any, dtype: Any = float) -> Array:
    if np.prod(shape) * np.dtype(dtype).itemsize > LIMIT_BYTES[0]:
        raise OutOfMemoryError("out of memory")
    assert not _capturing or _pools, "memory must not be taken from the driver while a graph is captured"
    made = Array(np.full(shape, 77, dtype))  # nothing may rely on zeros
    if _capturing:
        _kept.append(made)  # as the graph's own pool does
    return made


def asarray(value: Any, order: str | None = None) -> Array:
    if isinstance(value, Array):
        return value
    if hasattr(value, "__cuda_array_interface__"):
        return Array(value.__cuda_array_interface__["owner"])
    found = empty(np.shape(value), np.asarray(value).dtype)
    found[...] = value
    return found


class Module:
    def load(self, ptx: bytes) -> None:
        assert ptx.endswith(b"\0"), "the driver reads PTX to its end mark"

    def get_function(self, name: str) -> Function:
        return Function(KERNELS[name])


class Function:
    ptr = 1

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def __call__(self, grid: tuple, block: tuple, args: tuple, shared_mem: int = 0) -> None:
        assert all(isinstance(a, np.generic) for a in args), "CuPy takes scalars of NumPy"
        if _capturing:
            _capturing[-1].append(lambda: self.launch(grid, block, args, shared_mem))
        else:
            self.launch(grid, block, args, shared_mem)

    def launch(self, grid: tuple, block: tuple, args: tuple, shared_mem: int) -> None:
        LAUNCHES.append(self.kernel.name)
        rest, values = list(args), []
        for arg in self.kernel.args:
            if arg.kind == "size":
                values.append(rest.pop(0).item())
                continue
            owner, parent, size, itemsize, address = (int(rest.pop(0)) for _ in range(5))
            shape = tuple(int(rest.pop(0)) for _ in range(arg.ndim))
            strides = tuple(int(rest.pop(0)) for _ in range(arg.ndim))
            assert (
                owner == parent == 0 and size == np.prod(shape, dtype=int) and itemsize == np.dtype(arg.dtype).itemsize
            )
            reach = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + itemsize if size else 1
            memory = (ctypes.c_char * reach).from_address(address)
            values.append(np.ndarray(shape, arg.dtype, memory, strides=strides))
        assert not rest
        simulated_kernel(self.kernel).run(grid, block, shared_mem, *values)


class Event:
    def __init__(self, block: bool = False, disable_timing: bool = False): ...

    def record(self, stream: Stream | None = None) -> None:
        self.time = time.perf_counter()

    def synchronize(self) -> None: ...


class Stream:
    def __init__(self, non_blocking: bool = False):
        self.ptr = id(self) if non_blocking else 0

    def wait_event(self, event: Event) -> None: ...

    def __enter__(self) -> Stream:
        _streams.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _streams.pop()

    def synchronize(self) -> None: ...

    def begin_capture(self) -> None:
        _capturing.append([])

    def end_capture(self) -> Any:
        recorded = _capturing.pop()
        return SimpleNamespace(launch=lambda: [work() for work in recorded])


_pools: list[Any] = []
_streams = [Stream()]


@contextlib.contextmanager
def using_allocator(allocator: Any):
    _pools.append(allocator)
    yield
    _pools.pop()


def install(monkeypatch: Any) -> ModuleType:
    """Make this module `cupy`, and the driver content; kernels get PTX that names them and nothing else."""
    from workbench.codegen.cuda.tuning import SIMULATOR
    from workbench.runtime import devices
    from workbench.runtime.cuda import cupy_memory, driver, executable

    module = ModuleType("cupy")
    for name in NAMES:
        setattr(module, name, over_arrays(getattr(np, name)))
    for name in ("add", "maximum", "minimum", "multiply"):
        function: Any = over_arrays(getattr(np, name))
        function.at = over_arrays(getattr(np, name).at)
        setattr(module, name, function)
    for part in ("fft", "linalg"):
        functions = {n: over_arrays(f) for n, f in vars(getattr(np, part)).items() if callable(f)}
        setattr(module, part, SimpleNamespace(**functions))
    module.__dict__.update(
        ndarray=Array, empty=empty, asarray=asarray, array=lambda x: Array(np.array(getattr(x, "host", x))),
        asnumpy=lambda x, order="C": np.array(x.host, order=order),
        get_default_memory_pool=lambda: SimpleNamespace(free_bytes=lambda: 500, free_all_blocks=lambda: None),
        cuda=SimpleNamespace(
            Device=Device, Module=Module, Event=Event, Stream=Stream, using_allocator=using_allocator,
            MemoryPool=lambda: SimpleNamespace(malloc=len), get_current_stream=lambda: _streams[-1],
            get_elapsed_time=lambda begin, end: (end.time - begin.time) * 1e3,
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            runtime=SimpleNamespace(getDeviceProperties=lambda ordinal: {"name": b"Imagined GPU", "maxThreadsPerMultiProcessor": 64}),
            driver=SimpleNamespace(
                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8, CU_FUNC_ATTRIBUTE_NUM_REGS=4, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES=1, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES=3,
                funcSetAttribute=lambda function, attribute, value: SHARED.append(value),
                funcGetAttribute=lambda attribute, function: attribute * 10,
                occupancyMaxActiveBlocksPerMultiprocessor=lambda function, threads, shared: 7,
            ),
        ),
    )  # fmt: skip
    cupyx = ModuleType("cupyx")
    cupyx.empty_pinned = np.empty  # type: ignore[attr-defined]
    cupyx.errstate = lambda **options: contextlib.nullcontext()  # type: ignore[attr-defined]

    def ptx(kernel: Kernel, capability: tuple[int, int]) -> tuple[str, float, bool]:
        KERNELS[kernel.name] = kernel
        return f".visible .entry {kernel.name}()\n{{\n}}\n", 0.1, False

    monkeypatch.setitem(__import__("sys").modules, "cupy", module)
    monkeypatch.setitem(__import__("sys").modules, "cupyx", cupyx)
    for place in ("workbench.runtime.devices.accelerator", "workbench.runtime.dispatch.accelerator"):
        monkeypatch.setattr(place, lambda: "")  # nothing moves there by itself
    monkeypatch.setattr(driver, "why_not", lambda ordinal=0, **known: None)
    monkeypatch.setattr(cupy_memory, "why_not", lambda ordinal=0: None)
    monkeypatch.setattr(cupy_memory, "kernel_ptx", ptx)
    monkeypatch.setattr(cupy_memory, "COPY_BYTES", 1 << 12)
    monkeypatch.setattr(cupy_memory, "MATRIX", 8)
    monkeypatch.setattr(executable, "GPU", SIMULATOR)  # the simulator has no warp shuffles
    monkeypatch.setattr(cupy_memory.CupyMemory, "of", staticmethod(cupy_memory.CupyMemory))
    LAUNCHES.clear()
    LIMIT_BYTES[0] = 1 << 40
    assert devices.available("cuda") == "cuda:0"
    return module
