"""Shape movement: functions that place, reorder and repeat elements. Where NumPy returns a view, so do these."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import tracer as core
from .. import views
from .broadcasting import spell
from .contractions import diagonal_range, put_diagonal, take_diagonal
from .operands import (
    array,
    as_array,
    as_axes,
    as_cast,
    as_shape,
    bind,
    broadcast_operand,
    cast,
    full,
    is_tracer,
    laid_out_like,
    ndim_of,
    normalize_axis_index,
    normalize_axis_tuple,
    operand,
    reshape_to,
    static_array,
    stored,
    target_array,
)
from .promotion import INT64, as_dtype, is_python_scalar

NOVALUE = np._NoValue


# ---- reshaping ----


def complete_shape(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """`shape` with its -1 replaced; NumPy's errors where there is no such shape."""
    unknown = [i for i, n in enumerate(shape) if n < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    rest = math.prod(n for n in shape if n >= 0)
    if (not unknown and rest != size) or (unknown and (rest == 0 or size % rest)):
        spelled = "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
        raise ValueError(f"cannot reshape array of size {size} into shape {spelled}")
    return tuple(size // rest if n < 0 else n for n in shape)


def reversed_axes(x: Any) -> Any:
    return views.transpose(x, tuple(range(x.ndim))[::-1]) if x.ndim > 1 else x


def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    a = array_of_number(a)
    sizes = complete_shape(as_shape(shape), a.size)
    if a.scalar and not sizes:  # NumPy's scalars stay what they are
        return bind("copy", a)
    if order == "A":
        order = "F" if views.Flags(a).fnc else "C"
    if order == "C":
        return views.reshape(a, sizes, copy=copy)
    if order != "F":
        raise ValueError(f"order must be one of 'C', 'F', or 'A' (got {order!r})")
    return reversed_axes(views.reshape(reversed_axes(a), sizes[::-1], copy=copy))


def ravel(a: Any, order: str = "C") -> Any:
    a = array(a)
    if order in ("A", "K"):
        if order == "K" and not views.Flags(a).c_contiguous:
            by_stride = sorted(range(a.ndim), key=lambda i: -abs(a.strides[i]))
            return views.ravel(views.transpose(a, by_stride))
        order = "F" if views.Flags(a).fnc else "C"
    return views.ravel(a if order == "C" else reversed_axes(a))


def flatten(a: Any, order: str = "C") -> Any:
    return views.reshape(ravel(a, order), (a.size,), copy=True)


def array_of_number(a: Any) -> Any:
    """`a`, for a function that makes an array of a number of Python, while one of NumPy's stays a scalar."""
    is_number = is_python_scalar(a) or is_tracer(a) and a.aval.weak_type
    return as_array(bind("copy", array(a))) if is_number else array(a)


def transpose(a: Any, axes: Any = None) -> Any:
    a = array_of_number(a)
    if axes is None:
        order = tuple(range(a.ndim))[::-1]
    else:
        axes = tuple(axes)
        if len(axes) != a.ndim:
            raise ValueError("axes don't match array")
        order = tuple(normalize_axis_index(operator.index(i), a.ndim) for i in axes)
        if len(set(order)) != len(order):
            raise ValueError("repeated axis in transpose")
    return a if a.scalar else views.transpose(a, order)


def matrix_transpose(x: Any, /) -> Any:
    x = array(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    a = array_of_number(a)
    source = normalize_axis_tuple(source, a.ndim, "source")
    destination = normalize_axis_tuple(destination, a.ndim, "destination")
    if len(source) != len(destination):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [i for i in range(a.ndim) if i not in source]
    for dest, src in sorted(zip(destination, source, strict=True)):
        order.insert(dest, src)
    return a if a.scalar else views.transpose(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    a = array(a)
    axis = normalize_axis_index(axis, a.ndim)
    if start < 0:
        start += a.ndim
    if not 0 <= start < a.ndim + 1:
        raise np.exceptions.AxisError(
            f"'start' arg requires {-a.ndim} <= start < {a.ndim + 1}, but {start} was passed in"
        )
    if axis < start:
        start -= 1
    order = [i for i in range(a.ndim) if i != axis]
    order.insert(start, axis)
    return views.transpose(a, order)


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    a = array(a)
    axis1 = normalize_axis_index(axis1, a.ndim, "axis1")
    axis2 = normalize_axis_index(axis2, a.ndim, "axis2")
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return views.transpose(a, order)


def squeeze(a: Any, axis: Any = None) -> Any:
    a = array_of_number(a)
    if axis is None:
        axes: tuple[int, ...] = tuple(i for i, n in enumerate(a.shape) if n == 1)
    else:
        axes = as_axes(axis, a.ndim, lenient=True)
        if any(a.shape[i] != 1 for i in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return views.squeeze(a, axes) if axes else a


def expand_dims(a: Any, axis: Any) -> Any:
    a = array(a)
    axes = axis if isinstance(axis, list | tuple) else (axis,)
    axes = normalize_axis_tuple(axes, len(axes) + a.ndim)
    if a.scalar:
        return reshape_to(a, (1,) * len(axes))
    return views.expand_dims(a, sorted(axes)) if axes else a


def at_least(x: Any, ndim: int) -> Any:
    x = array(x)
    if x.ndim >= ndim:
        return x
    if ndim == 3 and x.ndim == 2:
        return expand_dims(x, 2)
    return expand_dims(x, (0, 2)) if ndim == 3 and x.ndim == 1 else expand_dims(x, tuple(range(ndim - x.ndim)))


def _eachat_least(ndim: int) -> Any:
    def function(*arys: Any) -> Any:
        results = tuple(at_least(x, ndim) for x in arys)
        return results[0] if len(results) == 1 else results

    return function


atleast_1d, atleast_2d, atleast_3d = (_eachat_least(n) for n in (1, 2, 3))


# ---- broadcasting ----


def broadcast_to(array_: Any, shape: Any, subok: bool = False) -> Any:
    x, shape = array(array_), as_shape(shape)
    if any(n < 0 for n in shape):
        raise ValueError("all elements of broadcast shape must be non-negative")
    if len(shape) < x.ndim:
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    try:
        fits = np.broadcast_shapes(x.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            "operands could not be broadcast together with remapped shapes [original->remapped]: "
            f"{spell(x.shape)}  and requested shape {spell(shape)}"
        )
    return views.broadcast_view(x, shape)


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    arrays = [array(x) for x in args]
    try:
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        np.broadcast_arrays(*(np.broadcast_to(np.zeros(()), x.shape) for x in arrays))
        raise
    arrays = [as_array(bind("copy", x)) if x.scalar else x for x in arrays]
    return tuple(x if x.shape == shape else views.broadcast_view(x, shape) for x in arrays)


# ---- reversing and rolling ----


def flip(m: Any, axis: Any = None) -> Any:
    m = array(m)
    axes = tuple(range(m.ndim)) if axis is None else normalize_axis_tuple(axis, m.ndim)
    if m.ndim == 0:
        return core.as_scalar(m)
    return views.rev_view(m, axes) if axes else m


def flipud(m: Any) -> Any:
    m = array(m)
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return flip(m, 0)


def fliplr(m: Any) -> Any:
    m = array(m)
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    m = array(m)
    axes = tuple(axes)  # pyright: ignore[reportAssignmentType]  # NumPy's stubs say less than NumPy does
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == m.ndim:
        raise ValueError("Axes must be different.")
    if not all(-m.ndim <= i < m.ndim for i in axes):
        raise ValueError(f"Axes={axes} out of range for array of ndim={m.ndim}.")
    k %= 4
    if k == 0:
        return views.transpose(m, tuple(range(m.ndim)))
    if k == 2:
        return flip(flip(m, axes[0]), axes[1])
    if k == 1:
        return swapaxes(flip(m, axes[1]), *axes)
    return flip(swapaxes(m, *axes), axes[1])


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    a = array(a)
    if axis is None:
        return as_array(reshape_to(roll(reshape_to(a, (a.size,)), shift, 0), a.shape))
    axes = normalize_axis_tuple(axis, a.ndim, allow_duplicate=True)
    amounts = static_array(shift, "how far to roll")
    pairs = np.broadcast(amounts, np.array(axes, INT64))
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    by_axis: dict[int, int] = {}
    for amount, index in pairs:
        by_axis[int(index)] = by_axis.get(int(index), 0) + int(amount)
    result = a
    for index, amount in by_axis.items():
        n = result.shape[index]
        amount = amount % n if n else 0
        if amount:
            tail = slice_value(result, index, n - amount, n)
            result = bind("concatenate", tail, slice_value(result, index, 0, n - amount), dimension=index)
    if result is a:
        return bind("copy", a)
    return laid_out_like(result, a) if a.ndim > 1 else result


def slice_value(x: Any, axis: int, start: int, stop: int) -> Any:
    starts = tuple(start if i == axis else 0 for i in range(x.ndim))
    limits = tuple(stop if i == axis else n for i, n in enumerate(x.shape))
    return bind("slice", x, start_indices=starts, limit_indices=limits, strides=None)


# ---- diagonals and triangles ----


@dataclass(frozen=True, slots=True)
class DiagonalView:
    """`np.diagonal`, a read-only view, or that of `np.einsum`, which may be written."""

    applies = True
    offset: int
    axis1: int
    axis2: int
    is_writeable: bool = False

    def read(self, parent: Any) -> Any:
        return take_diagonal(parent, self.offset, self.axis1, self.axis2)

    def write(self, parent: Any, update: Any) -> Any:
        if not self.is_writeable:
            raise ValueError("assignment destination is read-only")
        return put_diagonal(parent, update, self.offset, self.axis1, self.axis2)

    def apply(self, array: np.ndarray) -> np.ndarray:
        found = np.diagonal(array, self.offset, self.axis1, self.axis2)
        if self.is_writeable and array.flags.writeable:
            found.flags.writeable = True
        return found


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    a = array(a)
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    axis1, axis2 = normalize_axis_index(axis1, a.ndim), normalize_axis_index(axis2, a.ndim)
    if axis1 == axis2:
        raise ValueError("axis1 and axis2 cannot be the same")
    return diagonal_view(a, operator.index(offset), axis1, axis2)


def diagonal_view(a: Any, offset: int, axis1: int, axis2: int, *, is_writeable: bool = False) -> Any:
    """The diagonal of two axes, put last, as a view."""
    kept = [i for i in range(a.ndim) if i not in (axis1, axis2)]
    _, length = diagonal_range(a.shape[axis1], a.shape[axis2], offset)
    shape = (*(a.shape[i] for i in kept), length)
    strides = (*(a.strides[i] for i in kept), a.strides[axis1] + a.strides[axis2])
    view = DiagonalView(offset, axis1, axis2, is_writeable)
    return views.make_view(a, view, shape, strides, writeable=is_writeable)


def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return diagonal(x, offset, axis1=-2, axis2=-1)


def diag(v: Any, k: int = 0) -> Any:
    v = array(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    return place_on_diagonal(v, operator.index(k))


def place_on_diagonal(v: Any, k: int) -> Any:
    """A square matrix with `v` on its `k`-th diagonal: padded apart, laid out row by row."""
    n = v.shape[0]
    side = n + abs(k)
    if n == 0:
        return full((side, side), v.dtype.type(0))
    start = k if k >= 0 else -k * side
    last = start + (n - 1) * (side + 1)
    config = ((start, side * side - 1 - last, side),)
    return reshape_to(bind("pad", v, v.dtype.type(0), padding_config=config), (side, side))


def diagflat(v: Any, k: int = 0) -> Any:
    v = array(v)
    return place_on_diagonal(reshape_to(v, (v.size,)), operator.index(k))


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    if ndim_of(operand(a)) < 2:
        raise ValueError("array must be at least 2-d")
    a = target_array(a, "fill_diagonal()")
    end = None
    if a.ndim == 2:
        step = a.shape[1] + 1
        if not wrap:
            end = a.shape[1] * a.shape[1]
    else:
        if len(set(a.shape)) != 1:
            raise ValueError("All dimensions of input must be of equal length")
        step = 1 + sum(math.prod(a.shape[:i]) for i in range(1, a.ndim))
    flat = reshape_to(a, (a.size,))
    end = a.size if end is None else min(end, a.size)
    count = -(-end // step) if end > 0 else 0
    value = array(stored(as_cast(val), a.dtype))
    value = reshape_to(value, (value.size,))
    if value.shape[0] != count and value.size:  # a.flat repeats what it is given
        value = bind("gather_nd", value, np.arange(count) % value.size, axes=(0,), position=0, mode="promise")
    if count:
        flat = bind("update_slice", flat, value, start_indices=(0,), strides=(step,))
    views.write(a, reshape_to(flat, a.shape))


def triangle_mask(n: int, m: int, k: int) -> Any:
    """True at and below the `k`-th diagonal of an (n, m) matrix."""
    rows = bind("iota", dtype=INT64, shape=(n, m), dimension=0)
    columns = bind("iota", dtype=INT64, shape=(n, m), dimension=1)
    return bind("ge", bind("add", rows, np.int64(k)) if k else rows, columns)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float, *, like: Any = None) -> Any:  # noqa: N803
    n, m = operator.index(N), operator.index(N if M is None else M)
    return cast(triangle_mask(n, m, operator.index(k)), as_dtype(dtype))


def _triangle(m: Any, k: int, lower: bool) -> Any:
    m = array(m)
    if m.ndim == 0:
        raise TypeError("tri() missing 1 required positional argument: 'M'")
    if m.ndim == 1:
        m = broadcast_operand(m, (m.shape[0], m.shape[0]))
    below = broadcast_operand(triangle_mask(m.shape[-2], m.shape[-1], k if lower else k - 1), m.shape)
    zero = m.dtype.type(0)
    return bind("select_n", below, zero, m) if lower else bind("select_n", below, m, zero)


def tril(m: Any, k: int = 0) -> Any:
    return _triangle(m, operator.index(k), True)


def triu(m: Any, k: int = 0) -> Any:
    return _triangle(m, operator.index(k), False)
