"""Indexing with traced integers: gathers and slices whose place is only known when the kernel runs."""

from __future__ import annotations

import numpy as np

from ..errors import OutOfBoundsError
from ..ir import Aval, Primitive
from .index import where
from .lowering import Element, Index, IndexContext, IndexMap, LibraryCall, Read
from .signatures import BOOL, INTS, check_axes, check_dtype

GATHER_MODES = ("clip", "wrap", "promise")


def clamped(index: Index, last: Index) -> Index:
    """`index` moved into 0..last."""
    return where(index < 0, 0, where(index < last, index, last))


def gather_shape(
    name: str, x: Aval, indices: tuple[Aval, ...], axes: tuple[int, ...], position: int
) -> tuple[int, ...]:
    """The shape of `x` with `axes` replaced by the shape of the indices, before the kept axis number `position`."""
    check_axes(name, axes, x.ndim)
    if not indices or len(indices) != len(axes):
        raise ValueError(f"{name}: {len(indices)} index arrays for the {len(axes)} axes {tuple(axes)}")
    for index in indices:
        check_dtype(name, index, INTS)
        if index.shape != indices[0].shape:
            raise ValueError(f"{name}: index arrays have shapes {indices[0].shape} and {index.shape}")
    kept = tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
    if not 0 <= position <= len(kept):
        raise ValueError(f"{name}: position {position} isn't within 0..{len(kept)}")
    return kept[:position] + indices[0].shape + kept[position:]


def in_range(index: np.ndarray, size: int, mode: str) -> np.ndarray:
    """An index array as `mode` reads it, for an axis of `size`."""
    index = index.astype(np.int64, copy=False)
    match mode:
        case "clip":
            return np.clip(index, 0, max(size - 1, 0))
        case "wrap":
            return index % size if size else index
        case _:
            return index


def take(x: np.ndarray, indices: tuple[np.ndarray, ...], axes: tuple[int, ...], position: int) -> np.ndarray:
    """NumPy's own integer-array indexing (and its IndexError), with the axes moved to the front and back."""
    found = axes_first(x, axes)[tuple(indices)]
    n = indices[0].ndim
    if position and n:
        found = np.moveaxis(found, range(n), [position + axis for axis in range(n)])
    # One integer for each axis takes a view.
    return np.asarray(found, order="C") if n else np.array(found, order="C")


def axes_first(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """`x` with `axes` in front of the others. `np.moveaxis` takes microseconds to find that they are there."""
    n = len(axes)
    return x if tuple(axes) == tuple(range(n)) else np.moveaxis(x, axes, range(n))


# ---- gather_nd: x at integer index arrays; "promise" is -n <= index < n, unchecked ----
gather_nd_p = Primitive("gather_nd")


@gather_nd_p.def_impl
def gather_nd_impl(x: np.ndarray, *indices: np.ndarray, axes: tuple[int, ...], position: int, mode: str) -> np.ndarray:
    at = tuple(in_range(i, x.shape[axis], mode) for i, axis in zip(indices, axes, strict=True))
    return take(x, at, axes, position)


@gather_nd_p.def_abstract_eval
def gather_nd_aval(x: Aval, *indices: Aval, axes: tuple[int, ...], position: int, mode: str) -> Aval:
    if mode not in GATHER_MODES:
        raise ValueError(f"gather_nd: mode {mode!r} is none of {GATHER_MODES}")
    shape = gather_shape("gather_nd", x, indices, axes, position)
    if 0 in (x.shape[axis] for axis in axes) and 0 not in shape:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    return Aval(shape, x.dtype, x.weak_type)


@gather_nd_p.def_lowering
@IndexMap
def gather_nd_element(ctx: IndexContext, index: tuple[Index, ...]) -> Element:
    axes, position, mode = ctx.params["axes"], ctx.params["position"], ctx.params["mode"]
    rank = ctx.in_avals[1].ndim
    kept = iter(index[:position] + index[position + rank :])
    found: list[Index] = []
    for axis, size in enumerate(ctx.in_shapes[0]):
        if axis not in axes:
            found.append(next(kept))
            continue
        operand = 1 + axes.index(axis)
        loaded = ctx.load(operand, index[position : position + rank])
        if mode == "clip":
            found.append(clamped(loaded, size - 1))
        elif mode == "wrap":
            found.append(loaded % size)
        else:
            unsigned = ctx.in_avals[operand].dtype.kind == "u"
            found.append(loaded if unsigned else where(loaded < 0, loaded + size, loaded))
    return Read(0, tuple(found))


# ---- gather_checked: the same for any index; NumPy's IndexError if one is out of range ----
gather_checked_p = Primitive("gather_checked")


@gather_checked_p.def_impl
def gather_checked_impl(x: np.ndarray, *indices: np.ndarray, axes: tuple[int, ...], position: int) -> np.ndarray:
    try:
        return take(x, indices, axes, position)
    except IndexError as error:
        raise OutOfBoundsError(str(error)) from None


@gather_checked_p.def_abstract_eval
def gather_checked_aval(x: Aval, *indices: Aval, axes: tuple[int, ...], position: int) -> Aval:
    return Aval(gather_shape("gather_checked", x, indices, axes, position), x.dtype, x.weak_type)


gather_checked_p.def_lowering(LibraryCall(gather_checked_impl, library="NumPy"))

# ---- check_indices: `p`, or NumPy's IndexError where it is false: whether all indices of a gather are in range ----
check_indices_p = Primitive("check_indices")


@check_indices_p.def_impl
def check_indices_impl(p: np.ndarray) -> np.ndarray:
    if not p:
        raise OutOfBoundsError("an index is out of bounds")
    return p


@check_indices_p.def_abstract_eval
def check_indices_aval(p: Aval) -> Aval:
    check_dtype("check_indices", p, BOOL)
    if p.shape:
        raise TypeError(f"check_indices: the operand is {p}; it must be bool[]")
    return p


check_indices_p.def_lowering(LibraryCall(check_indices_impl, library="Python"))

# ---- dynamic_slice: slice_sizes elements from the starts, which are moved so that the slice fits ----
dynamic_slice_p = Primitive("dynamic_slice")


def clamped_slices(shape: tuple[int, ...], starts: tuple[np.ndarray, ...], sizes: tuple[int, ...]) -> tuple[slice, ...]:
    """The region of `sizes` at `starts`, moved so that it lies within `shape`."""
    firsts = (max(0, min(int(start), n - size)) for n, start, size in zip(shape, starts, sizes, strict=True))
    return tuple(slice(first, first + size) for first, size in zip(firsts, sizes, strict=True))


def check_starts(name: str, starts: tuple[Aval, ...], ndim: int) -> None:
    if len(starts) != ndim:
        raise ValueError(f"{name}: {len(starts)} starts for {ndim} axes")
    for start in starts:
        check_dtype(name, start, INTS)
        if start.ndim:
            raise TypeError(f"{name}: a start has shape {start.shape}; starts are scalars")


@dynamic_slice_p.def_impl
def dynamic_slice_impl(x: np.ndarray, *starts: np.ndarray, slice_sizes: tuple[int, ...]) -> np.ndarray:
    return np.array(x[clamped_slices(x.shape, starts, slice_sizes)], order="C")


@dynamic_slice_p.def_abstract_eval
def dynamic_slice_aval(x: Aval, *starts: Aval, slice_sizes: tuple[int, ...]) -> Aval:
    check_starts("dynamic_slice", starts, x.ndim)
    if len(slice_sizes) != x.ndim or any(not 0 <= s <= n for s, n in zip(slice_sizes, x.shape, strict=True)):
        raise ValueError(f"dynamic_slice: slice sizes {tuple(slice_sizes)} don't fit into {x.shape}")
    return Aval(tuple(slice_sizes), x.dtype, x.weak_type)


@dynamic_slice_p.def_lowering
@IndexMap
def dynamic_slice_element(ctx: IndexContext, index: tuple[Index, ...]) -> Element:
    found = []
    for axis, i in enumerate(index):
        whole = ctx.in_avals[0].shape[axis] == ctx.out_aval.shape[axis]  # its start can only be 0
        last = ctx.in_shapes[0][axis] - ctx.out_shape[axis]
        found.append(i if whole else i + clamped(ctx.load(1 + axis, ()), last))
    return Read(0, tuple(found))
