"""Results that stay on the device until somebody looks at them.

With `config.lazy_results` a program whose inputs came from the host gives its arrays as `DeviceResult`s. Their type is
known at once; their elements are fetched once, at the first use that needs them, and from then on the result is an
ndarray on the host. What is handed on to another compiled function, to CuPy or to PyTorch stays where it is.

It is no subclass of `np.ndarray`: C code reads an ndarray's memory without asking, before the device is done.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .memory import Memory


class DeviceResult(NDArrayOperatorsMixin):
    """An array of a device, in C order, that becomes an ndarray when first looked at (`np.asarray(x)`, `x + 1`, `x[0]`,
    printing). `shape`, `dtype`, `size`, `len(x)` take no transfer. Safe to use from several threads."""

    is_device_result = True
    __slots__ = ("__weakref__", "_fetch", "_host", "_lock", "_memory", "_moment", "_there", "device", "dtype", "shape")

    def __init__(self, there: Any, memory: Memory, fetch: Callable[[Any], np.ndarray]):
        self.shape: tuple[int, ...] = tuple(there.shape)
        self.dtype = np.dtype(there.dtype)
        self.device = memory.device
        self._there = there
        self._memory = memory
        self._moment = memory.moment()  # after it the result is computed
        self._fetch = fetch
        self._host: np.ndarray | None = None
        self._lock = threading.Lock()

    # ---- looking ----

    def look(self) -> np.ndarray:
        """The result as an ndarray: fetched at the first call, the same one later. The device's memory is let go."""
        with self._lock:
            if self._host is None:
                with self._memory.working():
                    self._memory.wait_for(self._moment)
                self._host = self._fetch(self._there)
                self._there = None
            return self._host

    def arrived(self, memory: Memory) -> Any | None:
        """The result for the current stream of `memory`'s device, as an array there; None if it was looked at."""
        there = self._there
        return None if there is None else memory.bring(there, self._moment)

    @property
    def is_there(self) -> bool:
        """Whether nobody has looked at the result yet."""
        return self._there is not None

    # ---- what takes no transfer ----

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def flags(self) -> Any:
        if self._host is not None:
            return self._host.flags
        is_vector = sum(n != 1 for n in self.shape) < 2
        return SimpleNamespace(
            c_contiguous=True, f_contiguous=is_vector, contiguous=True, writeable=True, aligned=True, owndata=True
        )

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        there = self._there
        if there is None or not hasattr(there, "__cuda_array_interface__"):
            raise AttributeError("the result is on the host")
        with self._memory.working():
            self._memory.wait_for(self._moment)
            return there.__cuda_array_interface__

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    # ---- what looks ----

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.look()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError("another dtype takes a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(_looked_at, inputs), **_looked_at(kwargs))

    def __array_function__(self, function: Callable[..., Any], _types: Any, args: Any, kwargs: Any) -> Any:
        return function(*_looked_at(args), **_looked_at(kwargs))

    def __dlpack__(self, **options: Any) -> Any:
        there = self._there
        return (self.look() if there is None else there).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        there = self._there
        return (self.look() if there is None else there).__dlpack_device__()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # protocols that the class does not have
            raise AttributeError(name)
        return getattr(self.look(), name)

    def __getitem__(self, index: Any) -> Any:
        return self.look()[_looked_at(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.look()[_looked_at(index)] = _looked_at(value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.look())

    def __contains__(self, value: Any) -> bool:
        return value in self.look()

    def __bool__(self) -> bool:
        return bool(self.look())

    def __int__(self) -> int:
        return int(self.look())

    def __float__(self) -> float:
        return float(self.look())

    def __complex__(self) -> complex:
        return complex(self.look())

    def __index__(self) -> int:
        return self.look().__index__()

    def __repr__(self) -> str:
        return repr(self.look())

    def __str__(self) -> str:
        return str(self.look())

    def __format__(self, spec: str) -> str:
        return format(self.look(), spec)

    def __copy__(self) -> np.ndarray:
        return self.look().copy()

    def __deepcopy__(self, memo: Any) -> np.ndarray:
        return self.look().copy()

    def __reduce__(self) -> Any:
        return self.look().__reduce__()


def _looked_at(value: Any) -> Any:
    """`value` with every result in it as an ndarray."""
    if isinstance(value, DeviceResult):
        return value.look()
    if isinstance(value, dict):
        return {key: _looked_at(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_looked_at, value))
    return value
