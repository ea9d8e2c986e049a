"""Movement: index maps that place, repeat, reorder and join elements without computing with them.

Each rule says which operand element a result element is. Sizes come from the context, so that a new shape gives the
same text; concrete shapes only decide between forms (which axes have length 1, which sides are padded at all).
"""

from __future__ import annotations

import math

import numpy as np

from ..ir import Aval, Primitive, supported_dtype
from .lowering import Choose, Compute, Condition, Element, Index, IndexContext, IndexMap, LibraryCall, Read
from .signatures import check_axes, check_same_dtype

# ---- broadcast_in_dim: operand axis i becomes axis broadcast_dimensions[i]; length 1 is repeated ----
broadcast_in_dim_p = Primitive("broadcast_in_dim")


@broadcast_in_dim_p.def_impl
def broadcast_in_dim_impl(
    x: np.ndarray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> np.ndarray:
    aligned = [1] * len(shape)
    for axis, size in zip(broadcast_dimensions, x.shape, strict=True):
        aligned[axis] = size
    return np.array(np.broadcast_to(x.reshape(aligned), shape))


@broadcast_in_dim_p.def_abstract_eval
def broadcast_in_dim_aval(x: Aval, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]) -> Aval:
    if len(broadcast_dimensions) != x.ndim:
        raise ValueError(f"broadcast_in_dim: {len(broadcast_dimensions)} dimensions for an operand of rank {x.ndim}")
    check_axes("broadcast_in_dim", broadcast_dimensions, len(shape))
    if tuple(sorted(broadcast_dimensions)) != tuple(broadcast_dimensions):
        raise ValueError(f"broadcast_in_dim: dimensions {broadcast_dimensions} must increase")
    for axis, size in zip(broadcast_dimensions, x.shape, strict=True):
        if size not in (1, shape[axis]):
            raise ValueError(f"broadcast_in_dim: an axis of {size} can't become axis {axis} of {tuple(shape)}")
    return Aval(tuple(shape), x.dtype, x.weak_type)


@broadcast_in_dim_p.def_lowering
@IndexMap
def broadcast_in_dim_element(ctx: IndexContext, index: tuple[Index, ...]) -> Element:
    (x,) = ctx.in_avals
    axes = ctx.params["broadcast_dimensions"]
    repeated = [size == 1 != ctx.out_aval.shape[axis] for size, axis in zip(x.shape, axes, strict=True)]
    return Read(0, tuple(ctx.runtime(0) if r else index[axis] for r, axis in zip(repeated, axes, strict=True)))


# ---- empty: memory that somebody writes all elements of ----
empty_p = Primitive("empty")


@empty_p.def_impl
def empty_impl(*, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.empty(shape, dtype)


@empty_p.def_abstract_eval
def empty_aval(*, shape: tuple[int, ...], dtype: np.dtype) -> Aval:
    return Aval(tuple(shape), np.dtype(dtype))


empty_p.def_lowering(LibraryCall(empty_impl, library="NumPy"))


# ---- reshape: the same elements in C order ----
reshape_p = Primitive("reshape")
reshape_p.def_impl(lambda x, *, new_sizes, dimensions=None: np.array(x.reshape(new_sizes)))


@reshape_p.def_abstract_eval
def reshape_aval(x: Aval, *, new_sizes: tuple[int, ...], dimensions: None = None) -> Aval:
    if dimensions is not None:
        raise ValueError("reshape: dimensions must be None; transpose first")
    if any(size < 0 for size in new_sizes) or math.prod(new_sizes) != x.size:
        raise ValueError(f"cannot reshape array of size {x.size} into shape {tuple(new_sizes)}")
    return Aval(tuple(new_sizes), x.dtype, x.weak_type)


def _reshape_groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """The shortest runs of axes of `old` and of `new` with equal products, in order; axes of length 1 are left out.

    (6, 1, 4, 5) to (2, 3, 20): [([0], [0, 1]), ([2, 3], [2])].
    """
    old_axes = [axis for axis, size in enumerate(old) if size != 1]
    new_axes = [axis for axis, size in enumerate(new) if size != 1]
    groups, i, j = [], 0, 0
    while i < len(old_axes):
        first_i, first_j = i, j
        old_size, new_size = old[old_axes[i]], new[new_axes[j]]
        i, j = i + 1, j + 1
        while old_size != new_size:
            if old_size < new_size:
                old_size, i = old_size * old[old_axes[i]], i + 1
            else:
                new_size, j = new_size * new[new_axes[j]], j + 1
        groups.append((old_axes[first_i:i], new_axes[first_j:j]))
    return groups


@reshape_p.def_lowering
@IndexMap
def reshape_element(ctx: IndexContext, index: tuple[Index, ...]) -> Element:
    (x,) = ctx.in_avals
    found = [ctx.runtime(0)] * x.ndim
    if x.size == 0:  # never run
        return Read(0, tuple(found))
    for old_axes, new_axes in _reshape_groups(x.shape, ctx.out_aval.shape):
        offset = index[new_axes[0]]
        for axis in new_axes[1:]:
            offset = offset * ctx.out_shape[axis] + index[axis]
        for axis in old_axes[:0:-1]:
            found[axis] = offset % ctx.in_shapes[0][axis]
            offset = offset // ctx.in_shapes[0][axis]
        found[old_axes[0]] = offset
    return Read(0, tuple(found))


# ---- transpose: result axis i is operand axis permutation[i] ----
transpose_p = Primitive("transpose")
transpose_p.def_impl(lambda x, *, permutation: np.array(np.transpose(x, permutation), order="C"))


@transpose_p.def_abstract_eval
def transpose_aval(x: Aval, *, permutation: tuple[int, ...]) -> Aval:
    if sorted(permutation) != list(range(x.ndim)):
        raise ValueError(f"transpose: {tuple(permutation)} is no permutation of the {x.ndim} axes")
    return Aval(tuple(x.shape[axis] for axis in permutation), x.dtype, x.weak_type)


@transpose_p.def_lowering
@IndexMap
def transpose_element(ctx: IndexContext, index: tuple[Index, ...]) -> Element:
    permutation = ctx.params["permutation"]
    return Read(0, tuple(index[permutation.index(axis)] for axis in range(len(permutation))))


# ---- squeeze: drop axes of length 1 ----
squeeze_p = Primitive("squeeze")
squeeze_p.def_impl(lambda x, *, dimensions: np.array(np.squeeze(x, tuple(dimensions))))


@squeeze_p.def_abstract_eval
def squeeze_aval(x: Aval, *, dimensions: tuple[int, ...]) -> Aval:
    check_axes("squeeze", dimensions, x.ndim)
    if any(x.shape[axis] != 1 for axis in dimensions):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return Aval(tuple(size for axis, size in enumerate(x.shape) if axis not in dimensions), x.dtype, x.weak_type)


@squeeze_p.def_lowering
@IndexMap
def squeeze_element(ctx: IndexContext, index: tuple[Index, ...]) -> Element:
    kept = iter(index)
    dropped = ctx.params["dimensions"]
    return Read(0, tuple(ctx.runtime(0) if axis in dropped else next(kept) for axis in range(ctx.in_avals[0].ndim)))


# ---- slice: x[start:limit:stride] on every axis, strides positive ----
slice_p = Primitive("slice")


@slice_p.def_impl
def slice_impl(
    x: np.ndarray,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
) -> np.ndarray:
    steps = strides or (1,) * x.ndim
    return np.array(x[tuple(map(slice, start_indices, limit_indices, steps))], order="C")


@slice_p.def_abstract_eval
def slice_aval(
    x: Aval,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
) -> Aval:
    steps = (1,) * x.ndim if strides is None else strides
    if not len(start_indices) == len(limit_indices) == len(steps) == x.ndim:
        raise ValueError(f"slice: starts, limits and strides must have {x.ndim} entries each")
    for axis, (start, limit, step) in enumerate(zip(start_indices, limit_indices, steps, strict=True)):
        if not 0 <= start <= limit <= x.shape[axis] or step < 1:
            raise ValueError(f"slice: {start}:{limit}:{step} doesn't lie within axis {axis} of {x.shape}")
    shape = (-((start - limit) // step) for start, limit, step in zip(start_indices, limit_indices, steps, strict=True))
    return Aval(tuple(shape), x.dtype, x.weak_type)


@slice_p.def_lowering
@IndexMap
def slice_element(ctx: IndexContext, index: tuple[Index, ...]) -> Element:
    starts = ctx.params["start_indices"]
    strides = ctx.params.get("strides") or (1,) * len(index)
    steps = (i if step == 1 else i * ctx.runtime(step) for i, step in zip(index, strides, strict=True))
    moved = (i if start == 0 else i + ctx.runtime(start) for i, start in zip(steps, starts, strict=True))
    return Read(0, tuple(moved))


# ---- rev: the axes `dimensions` backwards ----
rev_p = Primitive("rev")
rev_p.def_impl(lambda x, *, dimensions: np.array(np.flip(x, tuple(dimensions)), order="C"))


@rev_p.def_abstract_eval
def rev_aval(x: Aval, *, dimensions: tuple[int, ...]) -> Aval:
    check_axes("rev", dimensions, x.ndim)
    return x


@rev_p.def_lowering
@IndexMap
def rev_element(ctx: IndexContext, index: tuple[Index, ...]) -> Element:
    (sizes,) = ctx.in_shapes
    reversed_axes = ctx.params["dimensions"]
    return Read(0, tuple(sizes[axis] - 1 - i if axis in reversed_axes else i for axis, i in enumerate(index)))


# ---- pad: (low, high, interior) per axis, `interior` between neighbours; a negative low or high cuts ----
pad_p = Primitive("pad")
PaddingConfig = tuple[tuple[int, int, int], ...]


@pad_p.def_impl
def pad_impl(x: np.ndarray, fill: np.ndarray, *, padding_config: PaddingConfig) -> np.ndarray:
    shape = tuple(_padded(n, *config) for n, config in zip(x.shape, padding_config, strict=True))
    source, target = [], []
    for n, size, (low, _, interior) in zip(x.shape, shape, padding_config, strict=True):
        step = interior + 1
        first = max(0, -(low // step)) if low < 0 else 0  # the first element at or after the cut
        last = min(n, -((low - size) // step))  # one past the last element before the end
        source.append(slice(first, max(first, last)))
        target.append(slice(low + first * step, low + last * step, step) if first < last else slice(0, 0))
    out = np.full(shape, fill, x.dtype)
    out[tuple(target)] = x[tuple(source)]
    return out


def _padded(n: int, low: int, high: int, interior: int) -> int:
    return low + n + max(n - 1, 0) * interior + high


@pad_p.def_abstract_eval
def pad_aval(x: Aval, fill: Aval, *, padding_config: PaddingConfig) -> Aval:
    check_same_dtype("pad", (x, fill))
    if fill.ndim:
        raise TypeError(f"pad: the fill value has shape {fill.shape}; it must be a scalar")
    if len(padding_config) != x.ndim or any(interior < 0 for _, _, interior in padding_config):
        raise ValueError(f"pad: {padding_config} isn't (low, high, interior >= 0) for each of {x.ndim} axes")
    shape = tuple(_padded(n, *config) for n, config in zip(x.shape, padding_config, strict=True))
    if any(size < 0 for size in shape):
        raise ValueError(f"pad: {padding_config} cuts more than there is of {x.shape}")
    return Aval(shape, x.dtype, x.weak_type and fill.weak_type)


@pad_p.def_lowering
@IndexMap
def pad_element(ctx: IndexContext, index: tuple[Index, ...]) -> Element:
    source, within = [], None
    for axis, (low, high, interior) in enumerate(ctx.params["padding_config"]):
        offset = index[axis] - ctx.runtime(low) if low > 0 else index[axis] + ctx.runtime(-low) if low else index[axis]
        extent = ctx.in_shapes[0][axis]
        if interior:
            step = ctx.runtime(interior + 1)
            # Interior padding of no elements is nothing, not -interior: then extent must stay below 1.
            within = _and(within, offset % step < 1)
            source.append(offset // step)
            extent = extent * step
        else:
            source.append(offset)
        if low > 0:
            within = _and(within, offset >= 0)
        if high > 0:
            within = _and(within, offset < extent)
    element = Read(0, tuple(source))
    return element if within is None else Choose(within, element, Read(1, ()))


def _and(left: Condition | None, right: Condition) -> Condition:
    return right if left is None else left & right


# ---- concatenate: operands one after another along `dimension` ----
concatenate_p = Primitive("concatenate")
concatenate_p.def_impl(lambda *xs, dimension: np.concatenate(xs, axis=dimension))


@concatenate_p.def_abstract_eval
def concatenate_aval(*xs: Aval, dimension: int) -> Aval:
    if not xs:
        raise ValueError("need at least one array to concatenate")
    check_axes("concatenate", (dimension,), xs[0].ndim)
    for x in xs[1:]:
        if x.ndim != xs[0].ndim or any(
            a != b for axis, (a, b) in enumerate(zip(x.shape, xs[0].shape, strict=True)) if axis != dimension
        ):
            raise ValueError(f"concatenate: shapes {xs[0].shape} and {x.shape} differ beyond axis {dimension}")
    shape = list(xs[0].shape)
    shape[dimension] = sum(x.shape[dimension] for x in xs)
    return Aval(tuple(shape), check_same_dtype("concatenate", xs), all(x.weak_type for x in xs))


@concatenate_p.def_lowering
@IndexMap
def concatenate_element(ctx: IndexContext, index: tuple[Index, ...]) -> Element:
    axis = ctx.params["dimension"]
    starts = [ctx.runtime(0)]
    for sizes in ctx.in_shapes[:-1]:
        starts.append(starts[-1] + sizes[axis])

    def read(operand: int) -> Read:
        return Read(operand, (*index[:axis], index[axis] - starts[operand], *index[axis + 1 :]))

    def among(first: int, last: int) -> Element:
        if last - first == 1:
            return read(first)
        middle = (first + last) // 2
        return Choose(index[axis] < starts[middle], among(first, middle), among(middle, last))

    return among(0, len(starts))


# ---- iota: the index along `dimension` ----
iota_p = Primitive("iota")


@iota_p.def_impl
def iota_impl(*, dtype: np.dtype, shape: tuple[int, ...], dimension: int) -> np.ndarray:
    column = np.arange(shape[dimension]).astype(dtype)
    return np.array(np.broadcast_to(column.reshape((-1,) + (1,) * (len(shape) - dimension - 1)), shape))


@iota_p.def_abstract_eval
def iota_aval(*, dtype: np.dtype, shape: tuple[int, ...], dimension: int) -> Aval:
    dtype = np.dtype(dtype)
    if not supported_dtype(dtype) or dtype.kind == "b":
        raise TypeError(f"iota: no counting in dtype {dtype}")
    check_axes("iota", (dimension,), len(shape))
    return Aval(tuple(shape), dtype)


@iota_p.def_lowering
@IndexMap
def iota_element(ctx: IndexContext, index: tuple[Index, ...]) -> Element:
    return Compute(ctx.value(index[ctx.params["dimension"]]))
