"""Updates: an operand with some of its elements replaced, as a new array. NumPy's assignments become these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir import Aval, Primitive
from .index import conjunction
from .indexing import axes_first, check_starts, clamped, clamped_slices, gather_shape, in_range
from .lowering import Choose, Element, Index, IndexContext, IndexMap, LibraryCall, Read
from .signatures import ALL, check_dtype, check_same_dtype

# ---- update_slice: x[start::stride] = update, as far as the update reaches ----
update_slice_p = Primitive("update_slice")


@update_slice_p.def_impl
def update_slice_impl(
    x: np.ndarray, update: np.ndarray, *, start_indices: tuple[int, ...], strides: tuple[int, ...] | None = None
) -> np.ndarray:
    return update_slice_into(np.array(x, order="C"), update, start_indices=start_indices, strides=strides)


def update_slice_into(
    x: np.ndarray, update: np.ndarray, *, start_indices: tuple[int, ...], strides: tuple[int, ...] | None = None
) -> np.ndarray:
    steps = strides or (1,) * x.ndim
    ends = (start + size * step for start, size, step in zip(start_indices, update.shape, steps, strict=True))
    x[tuple(map(slice, start_indices, ends, steps))] = update
    return x


@update_slice_p.def_abstract_eval
def update_slice_aval(
    x: Aval, update: Aval, *, start_indices: tuple[int, ...], strides: tuple[int, ...] | None = None
) -> Aval:
    check_same_dtype("update_slice", (x, update))
    steps = (1,) * x.ndim if strides is None else strides
    if not len(start_indices) == len(steps) == update.ndim == x.ndim:
        raise ValueError(f"update_slice: starts, strides and the update must have {x.ndim} axes each")
    for axis, (start, step, size) in enumerate(zip(start_indices, steps, update.shape, strict=True)):
        if start < 0 or step < 1 or (size and start + (size - 1) * step >= x.shape[axis]):
            raise ValueError(
                f"update_slice: {size} elements from {start} in steps of {step} don't fit into axis {axis} of {x.shape}"
            )
    return x


def update_slice_element(ctx: IndexContext, index: tuple[Index, ...]) -> Element:
    starts = ctx.params["start_indices"]
    strides = ctx.params.get("strides") or (1,) * len(index)
    source, within = [], []
    for axis, (i, start, stride) in enumerate(zip(index, starts, strides, strict=True)):
        n, size = ctx.in_avals[0].shape[axis], ctx.in_avals[1].shape[axis]
        offset, extent = i, ctx.in_shapes[1][axis]
        if start:
            offset = i - ctx.runtime(start)
            within.append(offset >= 0)
        if start + size * stride < n:  # else every later element is in the region
            within.append(offset < (extent if stride == 1 else extent * ctx.runtime(stride)))
        if stride != 1:
            within.append(offset % ctx.runtime(stride) < 1)
            offset = offset // ctx.runtime(stride)
        source.append(offset)
    condition = conjunction(within)
    new = Read(1, tuple(source))
    return new if condition is None else Choose(condition, new, Read(0, index))


def update_slice_place(ctx: IndexContext, index: tuple[Index, ...]) -> tuple[Index, ...]:
    starts = ctx.params["start_indices"]
    strides = ctx.params.get("strides") or (1,) * len(index)
    return tuple(
        i * ctx.runtime(stride) + ctx.runtime(start) for i, start, stride in zip(index, starts, strides, strict=True)
    )


update_slice_p.def_lowering(IndexMap(update_slice_element, update_slice_place, update_slice_into))


# ---- dynamic_update_slice: the same at traced starts, which are moved so that the update fits ----
dynamic_update_slice_p = Primitive("dynamic_update_slice")


@dynamic_update_slice_p.def_impl
def dynamic_update_slice_impl(x: np.ndarray, update: np.ndarray, *starts: np.ndarray) -> np.ndarray:
    return dynamic_update_slice_into(np.array(x, order="C"), update, *starts)


def dynamic_update_slice_into(x: np.ndarray, update: np.ndarray, *starts: np.ndarray) -> np.ndarray:
    x[clamped_slices(x.shape, starts, update.shape)] = update
    return x


@dynamic_update_slice_p.def_abstract_eval
def dynamic_update_slice_aval(x: Aval, update: Aval, *starts: Aval) -> Aval:
    check_same_dtype("dynamic_update_slice", (x, update))
    check_starts("dynamic_update_slice", starts, x.ndim)
    if update.ndim != x.ndim or any(m > n for m, n in zip(update.shape, x.shape, strict=True)):
        raise ValueError(f"dynamic_update_slice: an update of {update.shape} doesn't fit into {x.shape}")
    return x


def dynamic_update_slice_element(ctx: IndexContext, index: tuple[Index, ...]) -> Element:
    source, within = [], []
    for axis, i in enumerate(index):
        offset = i
        if ctx.in_avals[0].shape[axis] != ctx.in_avals[1].shape[axis]:
            extent = ctx.in_shapes[1][axis]
            offset = i - clamped(ctx.load(2 + axis, ()), ctx.in_shapes[0][axis] - extent)
            within += [offset >= 0, offset < extent]
        source.append(offset)
    condition = conjunction(within)
    new = Read(1, tuple(source))
    return new if condition is None else Choose(condition, new, Read(0, index))


def dynamic_update_slice_place(ctx: IndexContext, index: tuple[Index, ...]) -> tuple[Index, ...]:
    shape, region = ctx.in_avals[0].shape, ctx.in_avals[1].shape
    place = []
    for axis, i in enumerate(index):
        if shape[axis] != region[axis]:
            room = ctx.in_shapes[0][axis] - ctx.in_shapes[1][axis]
            i = i + clamped(ctx.load(2 + axis, ()), room)
        place.append(i)
    return tuple(place)


dynamic_update_slice_p.def_lowering(
    IndexMap(dynamic_update_slice_element, dynamic_update_slice_place, dynamic_update_slice_into)
)


# ---- scatter: an update at integer index arrays; a repeated index keeps the last (set) or takes every one. Each
# step is computed in the common dtype of operand and update and cast back, as `np.add.at` does ----
scatter_p = Primitive("scatter")
SCATTER_MODES = ("raise", "clip", "wrap", "promise")
SCATTER_OPS: dict[str, Callable[..., None]] = {
    "set": lambda x, at, update: x.__setitem__(at, update),
    "add": np.add.at,
    "mul": np.multiply.at,
    "min": np.minimum.at,
    "max": np.maximum.at,
}


@scatter_p.def_impl
def scatter_impl(x: np.ndarray, *operands: np.ndarray, **params: Any) -> np.ndarray:
    return scatter_into(np.array(x, order="C"), *operands, **params)


def scatter_into(
    x: np.ndarray,
    *operands: np.ndarray,
    axes: tuple[int, ...],
    mode: str,
    op: str,
    position: int,
    unique: bool = False,
) -> np.ndarray:
    """`x`, written in place: nothing of it if an index is out of range."""
    *indices, update = operands
    at = tuple(in_range(i, x.shape[axis], mode) for i, axis in zip(indices, axes, strict=True))
    if update.ndim and position:
        ranks = range(indices[0].ndim)
        update = np.moveaxis(update, [position + axis for axis in ranks], ranks)
    SCATTER_OPS[op](axes_first(x, axes), at, update)
    return x


@scatter_p.def_abstract_eval
def scatter_aval(
    x: Aval, *operands: Aval, axes: tuple[int, ...], mode: str, op: str, position: int, unique: bool = False
) -> Aval:
    *indices, update = operands
    check_dtype("scatter", x, ALL)
    if op == "set":
        check_same_dtype("scatter", (x, update))
    if op not in SCATTER_OPS or mode not in SCATTER_MODES:
        raise ValueError(f"scatter: op {op!r} of {tuple(SCATTER_OPS)}, mode {mode!r} of {SCATTER_MODES}")
    shape = gather_shape("scatter", x, tuple(indices), axes, position)
    if update.ndim and update.shape != shape:
        raise ValueError(f"scatter: the update has shape {update.shape}; the indexed region has {shape}")
    return x


scatter_p.def_lowering(LibraryCall(scatter_impl, library="NumPy", in_place=scatter_into))
