"""Joining, splitting and repeating: `concatenate` and its family, `split`, `tile`, `repeat`, `insert`, `delete`."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from .. import tracer as core
from .. import views
from ..checks import end_unless
from ..growing import rows_together
from ..layouts import copied_strides, joined_strides
from . import ufuncs
from .broadcasting import spell
from .contractions import transpose_to
from .movement import at_least, slice_value
from .operands import (
    array,
    as_array,
    as_shape,
    bind,
    broadcast_operand,
    cast,
    full,
    is_tracer,
    normalize_axis_index,
    operand,
    reshape_to,
    static_array,
    with_axis,
)
from .promotion import INT64, as_dtype, check_cast, result_type

# ---- joining ----


def concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [array(x) for x in (arrays if not is_tracer(arrays) else list(arrays))]
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        parts, axis = [reshape_to(x, (x.size,)) for x in parts], 0
    if any(x.ndim == 0 for x in parts):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    first = parts[0]
    axis = normalize_axis_index(axis, first.ndim)
    for i, x in enumerate(parts[1:], start=1):
        if x.ndim != first.ndim:
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at index 0 has "
                f"{first.ndim} dimension(s) and the array at index {i} has {x.ndim} dimension(s)"
            )
        for d, (n, m) in enumerate(zip(first.shape, x.shape, strict=True)):
            if d != axis and n != m:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match exactly, but along "
                    f"dimension {d}, the array at index 0 has size {n} and the array at index {i} has size {m}"
                )
    if out is not None and dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    target = ufuncs.normalize_out(out, 1)[0]
    dtype = as_dtype(dtype) if dtype is not None else target.dtype if target is not None else result_type(*parts)
    for x in parts:
        check_cast(x.dtype, dtype, casting, "array data")
    same = [cast(x, dtype) for x in parts]
    result = bind("concatenate", *same, dimension=axis) if len(parts) > 1 else bind("copy", same[0])
    if target is None:
        return core.lay_out(result, joined_strides(parts, result.aval))
    if target.shape != result.shape:
        raise ValueError("Output array is the wrong shape")
    return ufuncs.store(result, target, True, casting, "concatenate", result.shape)


def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    given = arrays if isinstance(arrays, list | tuple) else list(arrays)
    together = rows_together(given) if axis == 0 and out is None and dtype is None else None
    if together is not None:
        return together
    parts = [array(x) for x in given]
    if not parts:
        raise ValueError("need at least one array to stack")
    if len({x.shape for x in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    shape = parts[0].shape
    axis = normalize_axis_index(axis, len(shape) + 1)
    dims = tuple(i for i in range(len(shape) + 1) if i != axis)
    shape = (*shape[:axis], 1, *shape[axis:])
    rows = [bind("broadcast_in_dim", x, shape=shape, broadcast_dimensions=dims) for x in parts]
    return concatenate(rows, axis, out, dtype=dtype, casting=casting)


def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    return concatenate([at_least(x, 2) for x in tup], 0, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [at_least(x, 1) for x in tup]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup: Any) -> Any:
    return concatenate([at_least(x, 3) for x in tup], 2)


def column_stack(tup: Any) -> Any:
    parts = [array(x) for x in tup]
    return concatenate([x if x.ndim >= 2 else reshape_to(x, (x.size, 1)) for x in parts], 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    arr, values = array(arr), array(values)
    if axis is None:
        arr, values, axis = reshape_to(arr, (arr.size,)), reshape_to(values, (values.size,)), 0
    return concatenate([arr, values], axis)


def block(arrays: Any) -> Any:
    def depth(item: Any) -> int:
        if isinstance(item, tuple):
            raise TypeError("arrays is a tuple. Only lists can be used to arrange blocks, and np.block does not allow "
                            "implicit conversion from tuple to ndarray.")  # fmt: skip
        if not isinstance(item, list):
            return 0
        if not item:
            raise ValueError("List at arrays cannot be empty")
        depths = {depth(x) for x in item}
        if len(depths) != 1:
            raise ValueError("List depths are mismatched.")
        return depths.pop() + 1

    def leaves(item: Any) -> list[Any]:
        return [leaf for x in item for leaf in leaves(x)] if isinstance(item, list) else [array(item)]

    levels = depth(arrays)
    ndim = max(levels, *(leaf.ndim for leaf in leaves(arrays)))

    def join(item: Any, level: int) -> Any:
        if isinstance(item, list):
            return concatenate([join(x, level + 1) for x in item], ndim - levels + level)
        item = array(item)
        return reshape_to(item, (1,) * (ndim - item.ndim) + item.shape)

    result = join(arrays, 0)
    return result if levels else bind("copy", result)


# ---- splitting ----


def _take_range(x: Any, axis: int, start: int, stop: int) -> Any:
    starts = [0] * x.ndim
    limits = list(x.shape)
    starts[axis], limits[axis] = start, stop
    return views.slice_view(x, starts, limits, (1,) * x.ndim)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    ary = array(ary)
    axis = normalize_axis_index(axis, ary.ndim)
    n = ary.shape[axis]
    sections = static_array(indices_or_sections, "where to split")
    if sections.ndim:
        bounds = [0, *(int(i) for i in sections), n]
    else:
        count = operator.index(sections[()])
        if count <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extras = divmod(n, count)
        bounds = [0]
        for i in range(count):
            bounds.append(bounds[-1] + each + (i < extras))
    pieces = []
    for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
        start, stop, _ = slice(start, stop).indices(n)
        pieces.append(_take_range(ary, axis, start, max(start, stop)))
    return pieces


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    ary = array(ary)
    sections = static_array(indices_or_sections, "where to split")
    if sections.ndim == 0 and ary.shape[normalize_axis_index(axis, ary.ndim)] % int(sections):
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    ary = array(ary)
    if ary.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    ary = array(ary)
    if ary.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    ary = array(ary)
    if ary.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    x = array(x)
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    axis = normalize_axis_index(axis, x.ndim)
    rows = (views.squeeze(_take_range(x, axis, i, i + 1), (axis,)) for i in range(x.shape[axis]))
    return tuple(rows) if x.ndim > 1 else tuple(map(core.as_scalar, rows))


# ---- repeating ----


def tile(A: Any, reps: Any) -> Any:  # noqa: N803 (NumPy's name)
    x, reps = array(A), as_shape(reps)
    ndim = max(len(reps), x.ndim)
    reps = (1,) * (ndim - len(reps)) + reps
    shape = (1,) * (ndim - x.ndim) + x.shape
    if all(r == 1 for r in reps):
        return as_array(bind("copy", reshape_to(x, shape)))
    if not x.size:  # NumPy's result is a view, and may be read-only
        return views.reshape(x, tuple(r * n for r, n in zip(reps, shape, strict=True)))
    wide = tuple(n for pair in zip(reps, shape, strict=True) for n in pair)
    dims = tuple(2 * (ndim - x.ndim + i) + 1 for i in range(x.ndim))
    repeated = bind("broadcast_in_dim", x, shape=wide, broadcast_dimensions=dims)
    return reshape_to(repeated, tuple(r * n for r, n in zip(reps, shape, strict=True)))


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    a = array(a)
    if axis is None:
        a, axis = reshape_to(a, (a.size,)), 0
    a, axis = with_axis(a, axis)
    counts = static_array(repeats, "how often to repeat")
    if counts.size and int(counts.min()) < 0:
        raise ValueError("repeats may not contain negative values.")
    n = a.shape[axis]
    if counts.size == 1:
        count = int(counts.reshape(())[()])
        wide = (*a.shape[: axis + 1], count, *a.shape[axis + 1 :])
        dims = tuple(i if i <= axis else i + 1 for i in range(a.ndim))
        repeated = bind("broadcast_in_dim", a, shape=wide, broadcast_dimensions=dims)
        return reshape_to(repeated, (*a.shape[:axis], n * count, *a.shape[axis + 1 :]))
    if counts.shape != (n,):
        raise ValueError(f"operands could not be broadcast together with shape {spell((n,))} {spell(counts.shape)}")
    source = np.repeat(np.arange(n), counts)
    return bind("gather_nd", a, source, axes=(axis,), position=axis, mode="promise")


def resize(a: Any, new_shape: Any) -> Any:
    a, shape = array(a), as_shape(new_shape)
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    size = math.prod(shape)
    flat = reshape_to(a, (a.size,))
    if a.size == 0 or size == 0:
        return full(shape, a.dtype.type(0))
    repeats = -(-size // a.size)
    if repeats > 1:
        flat = tile(flat, repeats)
    return as_array(reshape_to(slice_value(flat, 0, 0, size), shape))


# ---- cutting and inserting at known places ----


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    arr, axis = _flat_unless_axis(arr, axis)
    n = arr.shape[axis]
    if type(obj) is core.Tracer and not obj.shape and obj.dtype.kind in "iu" and n:
        return _take_static(arr, _others(obj, n), axis, arr)
    if not isinstance(obj, slice):
        obj = static_array(obj, "what to delete")
    keep = np.delete(np.arange(n), obj)
    return _take_static(arr, keep, axis, arr)


def _others(place: Any, n: int) -> Any:
    """All of `n` positions but one, which is traced."""
    place = bind("convert_element_type", place, new_dtype=INT64, weak_type=False)
    end_unless((place >= -n) & (place < n))
    first = np.arange(n - 1)
    return first + (first >= place % n)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    arr, axis = _flat_unless_axis(arr, axis)
    n = arr.shape[axis]
    if not isinstance(obj, slice):
        obj = static_array(obj, "where to insert")
    values = cast(operand(values), arr.dtype)
    values = array(values)
    single = not isinstance(obj, slice) and np.ndim(obj) == 0
    if values.ndim < arr.ndim:
        values = reshape_to(values, (1,) * (arr.ndim - values.ndim) + values.shape)
    if single:  # numpy moves the first axis of the values to `axis`
        values = transpose_to(values, [*range(1, axis + 1), 0, *range(axis + 1, values.ndim)])
    # NumPy places one marker per inserted row; the positions come from it.
    marker = np.zeros(n, INT64)
    count = values.shape[axis] if single else len(np.arange(n)[obj]) if isinstance(obj, slice) else np.size(obj)
    marked = np.insert(marker, obj, np.arange(1, count + 1) if count != 1 or not single else 1)
    inserted = np.flatnonzero(marked)
    shape = tuple(len(inserted) if i == axis else m for i, m in enumerate(arr.shape))
    values = broadcast_operand(values, shape)
    source = np.empty(len(marked), INT64)
    source[marked == 0] = np.arange(n)
    source[inserted] = n + marked[inserted] - 1
    return _take_static(bind("concatenate", arr, values, dimension=axis), source, axis, arr)


def _flat_unless_axis(arr: Any, axis: int | None) -> tuple[Any, int]:
    arr = array(arr)
    if axis is None:
        return reshape_to(arr, (arr.size,)), 0
    return arr, normalize_axis_index(axis, arr.ndim)


def _take_static(x: Any, index: Any, axis: int, given: Any) -> Any:
    """The elements of `x` at `index`; np.insert and np.delete lay them out as `given`, if that is in Fortran order."""
    result = bind("gather_nd", x, index, axes=(axis,), position=axis, mode="promise")
    return core.lay_out(result, copied_strides(given.strides, result.aval) if views.Flags(given).fnc else None)
