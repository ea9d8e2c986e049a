"""Views whose elements share memory: `sliding_window_view` and `as_strided`. They are read by computed positions."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import views
from .operands import array, bind, full, is_tracer, normalize_axis_tuple, reshape_to, unsupported
from .promotion import INT64


@dataclass(frozen=True, slots=True)
class Strided:
    """Element `(i, j, ...)` is element `i*steps[0] + j*steps[1] + ...` of the parent, counted in C order.

    axes: the parent's axis that each dimension steps along, one element at a time; None: the parent is C-contiguous.
    writeable: whether NumPy would let it be written.
    """

    applies = True
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    axes: tuple[int, ...] | None
    writeable: bool

    @property
    def repeats_elements(self) -> bool:
        """Whether a write to one element, by whom the view is handed to, may be seen in another one."""
        return self.writeable

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
        if self.axes is None:
            strides = tuple(step * array.itemsize for step in self.steps)
        else:
            strides = tuple(array.strides[axis] for axis in self.axes)
        return np.lib.stride_tricks.as_strided(array, self.shape, strides, writeable=self.writeable)


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """`np.lib.stride_tricks.sliding_window_view`: the windows are the last axes."""
    x = array(x)
    # NumPy checks the arguments, of an array that takes no memory.
    shape = np.lib.stride_tricks.sliding_window_view(
        np.broadcast_to(x.dtype.type(0), x.shape), window_shape, axis
    ).shape
    along = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    return _steps_along(x, shape, (*range(x.ndim), *along), writeable)


def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True, **_: Any
) -> Any:
    """`np.lib.stride_tricks.as_strided` within the memory of an array."""
    x = array(x)
    sizes = x.shape if shape is None else tuple(map(operator.index, shape))
    whole = views.Flags(x).c_contiguous
    if strides is not None:
        steps = tuple(map(operator.index, strides))
    else:  # as the array interface has them: none of a C-contiguous array
        steps = views.contiguous_strides(sizes, x.itemsize) if whole else x.strides
    if len(steps) != len(sizes):
        raise ValueError("mismatch in length of strides and shape")
    if not whole:
        axes = {step: axis for axis, step in enumerate(x.strides)}
        if len(axes) != x.ndim or any(step not in axes for step in steps):
            raise unsupported("a strided view of an array that is not contiguous")
        return _steps_along(x, sizes, [axes[step] for step in steps], writeable)
    if any(step < 0 or step % x.itemsize for step in steps):
        raise unsupported("a strided view with steps back, or beyond the array,")
    return _strided(x, Strided(sizes, tuple(step // x.itemsize for step in steps), None, writeable), steps)


def _steps_along(x: Any, shape: tuple[int, ...], axes: Sequence[int], writeable: bool) -> Any:
    counts = views.contiguous_strides(x.shape, 1)
    op = Strided(shape, tuple(counts[axis] for axis in axes), tuple(axes), writeable)
    return _strided(x, op, [x.strides[axis] for axis in axes])


def _strided(x: Any, op: Strided, strides: Sequence[int]) -> Any:
    last = sum(max(n - 1, 0) * step for n, step in zip(op.shape, op.steps, strict=True))
    if 0 not in op.shape and last >= max(x.size, 1):
        raise unsupported("a strided view with steps back, or beyond the array,")
    return views.make_view(x, op, op.shape, tuple(strides), writeable=op.writeable)
