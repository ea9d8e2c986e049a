"""Devices: where programs run, and who decides it.

The innermost of these decides: the `device` that a function or cell was given, `with wb.device(...)`, `config.device`,
and, with `auto_device`, the machine's GPU if it has one. Otherwise it is the CPU.

numpy      every operation by its reference implementation, nothing compiled
cpu        kernels on the CPU's threads
cuda:N     kernels on an NVIDIA GPU
cuda-sim   the same kernels under numba's CUDA simulator: slow, for tests
"""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

import optree

from ..config import config
from ..errors import DeviceError, TracingError
from ..frontend.device_arrays import device_aval, is_device_result
from ..frontend.diagnostics import PLACED_APART, placed_apart
from ..frontend.recording import current_trace
from .cuda import driver

NAMES = ("numpy", "cpu", "cuda", "cuda-sim")


def canonical(name: str) -> str:
    """`name` as it is kept: "cuda" is "cuda:0". DeviceError for a name that is none."""
    if name == "cuda":
        return "cuda:0"
    if name in NAMES or re.fullmatch(r"cuda:\d+", name):
        return name
    fixes = tuple(f"device={known!r}" for known in NAMES)
    raise DeviceError(f"WB600  There is no device {name!r}; devices are {', '.join(NAMES)}, cuda:1 ...", fixes=fixes)


def available(name: str) -> str:
    """The canonical form of `name`, if that device can be used here. DeviceError says why not, and what checks it."""
    name = canonical(name)
    if name.startswith("cuda:"):
        error = driver.why_not(int(name[5:]))
        if error is not None:
            raise error
    return name


_traced_for: ContextVar[str] = ContextVar("workbench_traced_for", default="")


@contextlib.contextmanager
def _traced_for_device(place: str) -> Iterator[None]:
    """A block in which code is traced for a device. What is traced inside of another trace is for the same one."""
    token = _traced_for.set(place if current_trace() is None else _traced_for.get())
    try:
        yield
    finally:
        _traced_for.reset(token)


Traced = TypeVar("Traced")


def trace_for(place: str, trace: Callable[[bool], Traced]) -> Traced:
    """`trace(on_gpu)` for a device. What a GPU's program cannot have (a loop that only numba takes) runs on the host
    inside of it, as it does on the CPU."""
    with _traced_for_device(place):
        if not place.startswith("cuda"):
            return trace(False)
        try:
            return trace(True)
        except TracingError as error:
            if error.code == PLACED_APART:
                raise
        return trace(False)


class device:  # noqa: N801 (reads as the `with` statement that it is)
    """Run what is compiled in this block on a device: `with wb.device("cuda:0"): ...`, in this thread or task.

    Inside of compiled code the block is compiled by itself, and arrays are copied where they cross.
    name: "numpy", "cpu", "cuda", "cuda:1" or "cuda-sim". Raises DeviceError if it cannot be used here.
    """

    def __init__(self, name: str):
        self.name = available(name)
        self._entered: list[Any] = []

    def __enter__(self) -> str:
        block = contextlib.nullcontext()
        if current_trace() is None:
            block = config(device=self.name)
            block.__enter__()
        elif _traced_for.get() != self.name:
            raise placed_apart(self.name)
        self._entered.append(block)
        return self.name

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)

    def __repr__(self) -> str:
        return f"device({self.name!r})"


def chosen(explicit: str | None = None, *, auto: bool = True) -> str:
    """The device for a program. explicit: what its function or cell was given; auto: take a GPU if there is one."""
    name = explicit or config.device
    if name:
        return available(name)
    return (auto and accelerator()) or "cpu"


def device_name(array: Any) -> str:
    """The device on which an array of a GPU lies, or a result that is still there."""
    if is_device_result(array):
        return array.device
    device = getattr(array, "device", None)
    for name in ("id", "index"):  # CuPy's, PyTorch's
        ordinal = getattr(device, name, None)
        if isinstance(ordinal, int):
            return f"cuda:{ordinal}"
    try:
        runtime = importlib.import_module("cupy").cuda.runtime
        return f"cuda:{runtime.pointerGetAttributes(array.__cuda_array_interface__['data'][0]).device}"
    except Exception:  # noqa: BLE001  # no CuPy, or no memory: whoever runs it says what is missing
        return "cuda:0"


def device_of(args: tuple, kwargs: dict[str, Any]) -> str:
    """The device on which an argument lies ("cuda:0" of arrays that do not say), "" where all are on the host."""
    leaves = optree.tree_leaves((args, kwargs), none_is_leaf=True)  # type: ignore[arg-type]  # a pytree of anything
    return next((device_name(leaf) for leaf in leaves if device_aval(leaf) is not None), "")


def brought_here(args: tuple, kwargs: dict[str, Any], *, always: bool) -> tuple[tuple, dict[str, Any]]:
    """The arguments with results of a device that were looked at already, or all of them, as ndarrays."""
    leaves = optree.tree_leaves((args, kwargs), none_is_leaf=True)  # type: ignore[arg-type]  # a pytree of anything
    if not any(is_device_result(leaf) for leaf in leaves):
        return args, kwargs

    def here(leaf: Any) -> Any:
        return leaf.look() if is_device_result(leaf) and (always or not leaf.is_there) else leaf

    return optree.tree_map(here, (args, kwargs), none_is_leaf=True)  # type: ignore[return-value]


def stand_in(leaf: Any) -> Any:
    """The type of an array of a GPU, for the trace; anything else as it is."""
    aval = device_aval(leaf)
    return leaf if aval is None else aval


@cache
def accelerator() -> str:
    """The default GPU of this machine, "" if it has none that can be used."""
    return "" if driver.missing_packages() or driver.why_not() is not None else "cuda:0"
