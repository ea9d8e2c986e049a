"""Layouts: the strides that NumPy would give an array, which decide where a reshape is a view and where a copy.

Fresh results are C-contiguous, unless they keep the axes of their operands (elementwise, slices, folds, joins ...) and
those lie otherwise in memory: then NumPy's order "K" holds, which its iterator finds from all operands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..ir import Aval, Primitive
from ..primitives.lowering import Pointwise

Strides = tuple[int, ...]
SAME_AXES = frozenset((
    "slice", "rev", "sort", "cumsum", "cumprod", "cummax", "cummin", "fft", "copy",
))  # fmt: skip
FOLDS = frozenset(("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor"))


class Strided(Protocol):
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> Strides: ...


def contiguous_strides(shape: tuple[int, ...], itemsize: int) -> Strides:
    """The strides of a C-contiguous array, in bytes."""
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def overlaps_itself(x: np.ndarray) -> bool:
    """Whether elements of an array may share memory: each axis must step past all that the shorter steps reach."""
    if x.flags.c_contiguous or x.flags.f_contiguous or x.size == 0:
        return False
    reached = x.itemsize
    for step, n in sorted((abs(step), n) for step, n in zip(x.strides, x.shape, strict=True) if n > 1):
        if step < reached:
            return True
        reached += step * (n - 1)
    return False


def layout_of(array: np.ndarray) -> Strides | None:
    """The strides of a real array, None if it is C-contiguous."""
    return None if array.flags.c_contiguous else array.strides


def memory_order(shape: tuple[int, ...], strides: Strides | None) -> tuple[int, ...] | None:
    """The axes of an array from the slowest to the fastest; None for C order, and where elements share memory."""
    if strides is None or 0 in shape:
        return None
    steps = [abs(step) for step, n in zip(strides, shape, strict=True) if n > 1]
    if 0 in steps or steps == sorted(steps, reverse=True):
        return None
    return tuple(sorted(range(len(shape)), key=lambda axis: -abs(strides[axis])))


def result_strides(
    primitive: Primitive, operands: Sequence[Strided], aval: Aval, params: Mapping[str, Any]
) -> Strides | None:
    """Strides of a fresh result, None for C order."""
    if primitive.name == "broadcast_in_dim":
        if not operands or not operands[0].shape:
            return None
        (x,) = operands
        # Only its axis order matters: a broadcast operand has no say along the axes that it repeats.
        strides = [0] * len(aval.shape)
        for i, dim in enumerate(params["broadcast_dimensions"]):
            strides[dim] = x.strides[i] if x.shape[i] == aval.shape[dim] else 0
        return tuple(strides)
    if primitive.name == "concatenate":
        return joined_strides(operands, aval)
    return followed_strides(_seen(primitive, operands, params), aval)


def _seen(primitive: Primitive, operands: Sequence[Strided], params: Mapping[str, Any]) -> list[Strides]:
    """The operands' strides by the axes of the result; none where the result has axes of its own."""
    name = primitive.name
    if name in SAME_AXES or (primitive.has_rule("lowering") and isinstance(primitive.lowering, Pointwise)):
        return [x.strides for x in operands if x.shape]
    if name in FOLDS or name == "squeeze":
        gone = params["axes"] if name in FOLDS else params["dimensions"]
        return [tuple(s for i, s in enumerate(operands[0].strides) if i not in gone)]
    if name == "transpose":
        return [tuple(operands[0].strides[i] for i in params["permutation"])]
    if name == "pad":  # Fortran order or C order, as np.pad has it
        x = operands[0]
        reverse = contiguous_strides(x.shape[::-1], abs(min(x.strides, key=abs, default=1)))[::-1]
        return [x.strides] if x.strides == reverse else []
    return []


def followed_strides(ranked: Sequence[Strides], aval: Aval) -> Strides | None:
    """The strides of an array of type `aval` that is laid out as NumPy's iterator finds from these."""
    if all(s[i] >= s[i + 1] >= 0 for s in ranked for i in range(len(s) - 1)):
        return None  # axes in C order, as almost always
    return _packed(axis_order(list(ranked), len(aval.shape)), aval)


def indexed_strides(x: Strided, axes: Sequence[int], position: int, aval: Aval) -> Strides | None:
    """The strides of the elements of `x` at index arrays on `axes`, whose own axes are at `position` of the result (of
    type `aval`). NumPy lays them out outermost and in C order, those that remain of `x` inside and in order "K", and
    then transposes."""
    kept = tuple(s for i, s in enumerate(x.strides) if i not in axes)
    n_index = len(aval.shape) - len(kept)
    inner = [i if i < position else i + n_index for i in axis_order([kept], len(kept))]
    return _packed((*range(position, position + n_index), *inner), aval)


def copied_strides(strides: Strides, aval: Aval) -> Strides | None:
    """The strides of what NumPy makes in the order "K" of one array: an axis that is repeated counts as the fastest."""
    return _packed(tuple(sorted(range(len(strides)), key=lambda axis: -abs(strides[axis]))), aval)


def joined_strides(parts: Sequence[Strided], aval: Aval) -> Strides | None:
    """The strides of the concatenation of `parts`, which NumPy orders as PyArray_CreateMultiSortedStridePerm does: an
    axis that is repeated counts as the fastest, one of a single element not at all."""
    order = list(range(len(aval.shape)))
    for i in range(1, len(order)):
        axis, at = order[i], i
        for j in range(i - 1, -1, -1):
            swap = _is_slower(axis, order[j], parts)
            if swap is None:
                continue
            if not swap:
                break
            at = j
        order.insert(at, order.pop(i))
    return _packed(tuple(order), aval)


def _is_slower(axis: int, other: int, parts: Sequence[Strided]) -> bool | None:
    """Whether `axis` steps through memory in larger steps than `other` in all parts; None: undecided."""
    steps = [(abs(x.strides[axis]), abs(x.strides[other])) for x in parts if x.shape[axis] != 1 != x.shape[other]]
    return all(a > b for a, b in steps) if steps else None


def _packed(order: tuple[int, ...], aval: Aval) -> Strides | None:
    """Strides without gaps, of axes from the slowest to the fastest; None for C order."""
    if order == tuple(range(len(order))):
        return None
    placed, step = [0] * len(order), aval.dtype.itemsize
    for axis in reversed(order):
        placed[axis] = step
        step *= max(aval.shape[axis], 1)
    result = tuple(placed)
    return None if result == contiguous_strides(aval.shape, aval.dtype.itemsize) else result


def axis_order(strides: list[Strides], ndim: int) -> tuple[int, ...]:
    """Axes from the slowest to the fastest, as NumPy's iterator orders them for a set of operands."""
    order = list(range(ndim))
    # An insertion sort, as in npyiter_find_best_axis_ordering: it is not a total order, so that its steps matter.
    for i in range(ndim - 2, -1, -1):
        axis, at = order[i], i
        for j in range(i + 1, ndim):
            swap = _is_faster(axis, order[j], strides)
            if swap is None:
                continue
            if not swap:
                break
            at = j
        order.insert(at, order.pop(i))
    return tuple(order)


def _is_faster(axis: int, other: int, strides: list[Strides]) -> bool | None:
    """Whether `axis` steps through memory in smaller steps than `other`, which is further in; None: undecided."""
    result: bool | None = None
    for s in strides:
        a, b = abs(s[axis]), abs(s[other])
        if a and b:
            if b <= a:
                result = False
            elif result is None:
                result = True
    return result
