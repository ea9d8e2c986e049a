"""Views whose elements share memory: `sliding_window_view` and `as_strided`. They are read by computed positions."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import tracer as core
from .. import views
from .operands import array, bind, full, is_tracer, normalize_axis_tuple, reshape_to, unsupported
from .promotion import INT64


@dataclass(frozen=True, slots=True)
class Strided:
    """Element `(i, j, ...)` is element `i*steps[0] + j*steps[1] + ...` of the parent, a C-contiguous array."""

    applies = True
    shape: tuple[int, ...]
    steps: tuple[int, ...]

    def read(self, parent: Any) -> Any:
        if 0 in self.shape:
            return full(self.shape, parent.dtype.type(0))
        place: Any = np.int64(0)
        for d, step in enumerate(self.steps):
            if step and self.shape[d] > 1:
                count = bind("iota", dtype=INT64, shape=self.shape, dimension=d)
                place = bind("add", bind("mul", count, np.int64(step)), place)
        if not is_tracer(place):
            place = full(self.shape, place)
        flat = reshape_to(parent, (parent.size,))
        return bind("gather_nd", flat, place, axes=(0,), position=0, mode="promise")

    def write(self, parent: Any, update: Any) -> Any:
        raise unsupported("a write to a view whose elements may share memory", fixes=("write to the array itself",))

    def apply(self, array: np.ndarray) -> np.ndarray:
        strides = tuple(step * array.itemsize for step in self.steps)
        return np.lib.stride_tricks.as_strided(array, self.shape, strides, writeable=False)


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """`np.lib.stride_tricks.sliding_window_view`: the windows are the last axes."""
    x = array(x)
    # NumPy checks the arguments, of an array that takes no memory.
    shape = np.lib.stride_tricks.sliding_window_view(
        np.broadcast_to(x.dtype.type(0), x.shape), window_shape, axis
    ).shape
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    strides = (*x.strides, *(x.strides[ax] for ax in axes))
    return _strided(x, shape, strides, writeable)


def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True, **_: Any
) -> Any:
    """`np.lib.stride_tricks.as_strided` within the memory of a C-contiguous array."""
    x = array(x)
    sizes = x.shape if shape is None else tuple(map(operator.index, shape))
    steps = x.strides if strides is None else tuple(map(operator.index, strides))
    return _strided(x, sizes, steps, writeable)


def _strided(x: Any, shape: Sequence[int], strides: Sequence[int], writeable: bool) -> Any:
    flags = views.Flags(x)
    parent = x if flags.c_contiguous else core.as_array(bind("copy", x))
    if not flags.c_contiguous:  # the same elements, counted in row-major order
        order = dict(zip(x.strides, views.contiguous_strides(x.shape, x.itemsize), strict=True))
        if len(order) != x.ndim or any(s not in order for s in strides):
            raise unsupported("a strided view of an array that is not contiguous")
        strides = [order[s] for s in strides]
    last = sum(max(n - 1, 0) * s for n, s in zip(shape, strides, strict=True))
    if any(s < 0 or s % x.itemsize for s in strides) or (0 not in shape and last >= max(x.size, 1) * x.itemsize):
        raise unsupported("a strided view with steps back, or beyond the array,")
    steps = tuple(s // x.itemsize for s in strides)
    return views.make_view(parent, Strided(tuple(shape), steps), tuple(shape), tuple(strides), writeable=False)
