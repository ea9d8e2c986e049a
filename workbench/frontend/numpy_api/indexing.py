"""Indexing: NumPy's rules for reading and assigning `x[...]`, and the functions that index.

Integers, slices, `...` and `None` take views. Integer arrays become gathers and scatters; a boolean mask in an
assignment becomes a select, and elsewhere it must be known, because the shape of `x[mask]` depends on data. An index
whose numbers are known is checked while tracing; others are checked when the program runs, as NumPy would.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import diagnostics, views
from .. import tracer as core
from ..choices import Choice, as_numpys
from ..counted_lists import with_filled
from ..layouts import indexed_strides
from .broadcasting import spell
from .operands import (
    array,
    as_cast,
    bind,
    broadcast_operand,
    full,
    has_tracer,
    is_tracer,
    known,
    ndim_of,
    operand,
    reshape_to,
    shape_of,
    stored,
    unsupported,
)
from .promotion import BOOL, INT64

INVALID_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid "
    "indices"
)


@dataclass(slots=True)
class Plan:
    """An index taken apart.

    starts, limits, steps, reversed_axes: the slices on every axis of the array; dropped: axes indexed by a known
    integer; inserted: positions of new axes. Then, on the axes of that view: `axes` with their `indices`, whose
    dimensions come to `position` among the axes left. indices: ndarrays in range, or tracers.
    """

    starts: list[int]
    limits: list[int]
    steps: list[int]
    reversed_axes: list[int]
    dropped: list[int]
    inserted: list[int]
    axes: list[int]
    indices: list[Any]
    position: int
    is_scalar: bool


# ---- taking an index apart ----


def as_entries(key: Any) -> list[Any]:
    """The index as a list of ints, slices, None, Ellipsis, integer ndarrays or tracers, and boolean ones."""
    entries = []
    for item in key if isinstance(key, tuple) else (key,):
        if item is None or item is Ellipsis or isinstance(item, slice):
            entries.append(item)
        elif type(item) is Choice:
            entries.append(as_index_array(item.operand("index")))
        elif is_tracer(item) or isinstance(item, np.ndarray | np.bool_ | bool):
            entries.append(as_index_array(item))
        elif isinstance(item, list | tuple):
            if not has_tracer(item):
                item = np.asarray(item)
                item = item.astype(INT64) if item.size == 0 and item.dtype.kind == "f" else item
            entries.append(as_index_array(item if isinstance(item, np.ndarray) else operand(item)))
        else:
            try:
                entries.append(operator.index(item))
            except TypeError:
                raise IndexError(INVALID_INDEX) from None
    return entries


def as_index_array(item: Any) -> Any:
    if is_tracer(item):
        if item.dtype.kind not in "biu":
            diagnostics.check_index_is_one(item)
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        if item.dtype == BOOL and item.size == 0:
            return np.zeros(item.shape, bool)
        value = known(item)
        if value is not None:
            return int(value) if value.ndim == 0 and value.dtype.kind != "b" else value
        return item
    item = np.asarray(item)
    if item.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type" if item.ndim else INVALID_INDEX)
    if isinstance(item, np.ndarray) and item.ndim:
        lifted = core.lift(item)  # an array of the user's is an input, which may change between calls
        return item if known(lifted) is not None else lifted
    return int(item) if item.ndim == 0 and item.dtype.kind != "b" else item


def consumes(item: Any) -> int:
    """How many axes an entry of the index stands for."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, int | slice) and not is_tracer(item):
        return 1
    return item.ndim if item.dtype == BOOL else 1  # pyright: ignore[reportAttributeAccessIssue]  # NumPy's stubs say less than NumPy does


def is_advanced(item: Any) -> bool:
    return is_tracer(item) or isinstance(item, np.ndarray)


def expand_ellipsis(entries: list[Any], ndim: int) -> list[Any]:
    """The index with `...` written out and trailing slices added: every axis is named."""
    n_ellipses = sum(item is Ellipsis for item in entries)
    if n_ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = sum(map(consumes, entries))
    if used > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed")
    at = next((i for i, item in enumerate(entries) if item is Ellipsis), len(entries))
    return [*entries[:at], *[slice(None)] * (ndim - used), *entries[at + 1 :]]


def make_plan(shape: tuple[int, ...], key: Any) -> Plan:
    """Take the index apart for an array of `shape`."""
    entries = as_entries(key)
    has_ellipsis = any(item is Ellipsis for item in entries)
    written_out = expand_ellipsis(entries, len(shape))
    plan = Plan([], list(shape), [1] * len(shape), [], [], [], [], [], 0, False)
    plan.starts = [0] * len(shape)
    advanced = any(is_advanced(item) for item in written_out)
    axis = 0  # of the array
    out_axis = 0  # of the view that the slices give
    kept = 0  # axes of the view that no index array takes
    groups: list[int] = []  # places of the advanced entries, to see whether they stand together
    for place, item in enumerate(written_out):
        if item is None:
            plan.inserted.append(out_axis)
            out_axis, kept = out_axis + 1, kept + 1
        elif isinstance(item, slice):
            _plan_slice(plan, axis, item, shape[axis])
            axis, out_axis, kept = axis + 1, out_axis + 1, kept + 1
        elif isinstance(item, int) and not is_tracer(item):
            index = _in_range(item, axis, shape[axis])
            if advanced:
                plan.axes.append(out_axis)
                plan.indices.append(np.asarray(index))
                _mark(plan, groups, place, kept)
                out_axis += 1
            else:
                plan.starts[axis], plan.limits[axis] = index, index + 1
                plan.dropped.append(axis)
            axis += 1
        else:
            for index in _integer_indices(item, shape, axis):
                plan.axes.append(out_axis)
                plan.indices.append(index)
                axis, out_axis = axis + 1, out_axis + 1
            _mark(plan, groups, place, kept)
    if groups and groups != list(range(groups[0], groups[0] + len(groups))):
        plan.position = 0
    plan.is_scalar = len(plan.dropped) == len(shape) and not has_ellipsis and not plan.inserted
    plan.indices = _joined(plan.indices)
    return plan


def _mark(plan: Plan, groups: list[int], place: int, kept: int) -> None:
    if not groups:
        plan.position = kept
    groups.append(place)


def _plan_slice(plan: Plan, axis: int, item: slice, n: int) -> None:
    start, stop, step = item.indices(n)
    if step > 0:
        plan.starts[axis], plan.limits[axis], plan.steps[axis] = start, max(start, stop), step
        if start >= stop:
            plan.starts[axis] = plan.limits[axis] = min(start, n)
        return
    count = max(0, -(-(start - stop) // -step))
    if count == 0:
        plan.starts[axis] = plan.limits[axis] = 0
        plan.steps[axis] = 1
        return
    last = start + (count - 1) * step
    plan.starts[axis], plan.limits[axis], plan.steps[axis] = last, start + 1, -step
    plan.reversed_axes.append(axis)


def _in_range(index: int, axis: int, n: int) -> int:
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {n}")
    return index + n if index < 0 else index


def _integer_indices(item: Any, shape: tuple[int, ...], axis: int) -> list[Any]:
    """One integer array for every axis that an array index stands for; known ones are checked and made positive."""
    if item.dtype == BOOL:
        for i, n in enumerate(item.shape):
            if n != shape[axis + i] and n:  # NumPy lets an empty mask pass
                raise IndexError(
                    f"boolean index did not match indexed array along axis {axis + i}; size of axis is "
                    f"{shape[axis + i]} but size of corresponding boolean axis is {n}"
                )
        if is_tracer(item):
            raise diagnostics.data_dependent_shape(item, "an array indexed with a mask")
        if item.ndim == 0:
            raise unsupported("indexing with a single True or False cannot be compiled")
        return list(np.nonzero(item))
    if is_tracer(item):
        return [item]
    n = shape[axis]
    wrong = (item < -n) | (item >= n)
    if item.size and wrong.any():
        raise IndexError(f"index {item[wrong].flat[0]} is out of bounds for axis {axis} with size {n}")
    return [np.where(item < 0, item + n, item).astype(INT64)]


def _joined(indices: list[Any]) -> list[Any]:
    """The index arrays in their common shape."""
    if not indices:
        return indices
    try:
        shape = np.broadcast_shapes(*(i.shape for i in indices))
    except ValueError:
        spelled = " ".join(spell(i.shape) for i in indices)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {spelled} "
        ) from None
    return [
        broadcast_operand(i, shape) if is_tracer(i) else np.array(np.broadcast_to(i, shape), order="C") for i in indices
    ]


# ---- reading and assigning ----


def basic_view(x: Any, plan: Plan, *, lazy: bool = False) -> Any:
    """The view that the slices, the known integers and the new axes of an index take."""
    view = x
    if any(plan.starts) or tuple(plan.limits) != x.shape or any(s != 1 for s in plan.steps):
        view = views.slice_view(view, plan.starts, plan.limits, plan.steps, lazy=lazy)
    if plan.reversed_axes:
        view = views.rev_view(view, plan.reversed_axes, lazy=lazy)
    if plan.dropped:
        view = views.squeeze(view, plan.dropped, lazy=lazy)
    if plan.inserted:
        view = views.expand_dims(view, plan.inserted, lazy=lazy)
    if view is x:  # another object, as NumPy's `x[:]` and `x[...]` are
        view = views.slice_view(x, plan.starts, plan.limits, plan.steps, lazy=lazy) if x.ndim else views.reshape(x, ())
    return view


def getitem(x: Any, key: Any) -> Any:
    """`x[key]`."""
    if isinstance(key, str) or (isinstance(key, list) and key and all(isinstance(k, str) for k in key)):
        raise IndexError(INVALID_INDEX)
    if x.scalar:
        return _index_scalar(x, key)
    x, key = _with_known_lengths(x, key)
    if _needs_selection(key):
        from . import masked

        key = with_filled(key)
        if masked.find(key if isinstance(key, tuple) else (key,)) is not None:
            return masked.getitem(x, key)
        split = split_mask(x, key)
        if split is not None:
            return masked.select(*split)
    stretch = _stretch_of(x, key)
    if stretch is not None:
        from . import stretches

        return stretches.getitem(*stretch)
    plan = make_plan(x.shape, key)
    view = basic_view(x, plan)
    if not plan.indices:
        return core.as_scalar(view) if plan.is_scalar else view
    if _is_traced_element(key):
        return _element_view(view, plan)
    evenly = _evenly_spaced(plan, view.ndim)
    if evenly is not None:
        found = basic_view(view, make_plan(view.shape, evenly)).copy()
    else:
        found = gather(view, plan.indices, plan.axes, plan.position)
    return core.lay_out(found, indexed_strides(view, plan.axes, plan.position, found.aval))


def _with_known_lengths(x: Any, key: Any) -> tuple[Any, Any]:
    """`x` and the index, in which all slices have known bounds."""
    from .moving_slices import through_windows

    return through_windows(x, _without_ranges(key))


def _without_ranges(key: Any) -> Any:
    """The index with arrays for `range`s, which NumPy takes as it takes lists."""
    if isinstance(key, range):
        return _as_array(key)
    if isinstance(key, tuple) and any(isinstance(item, range) for item in key):
        return tuple(_as_array(item) if isinstance(item, range) else item for item in key)
    return key


def _as_array(items: range) -> Any:
    from .creation import arange

    return arange(items.start, items.stop, items.step, dtype=INT64)


def _evenly_spaced(plan: Plan, ndim: int) -> tuple[slice, ...] | None:
    """The slices that one list of known indices at equal distances stands for, as `[0, -1]` does: kernels read and
    write slices together with what is around them."""
    if len(plan.indices) != 1 or is_tracer(plan.indices[0]) or plan.indices[0].ndim != 1:
        return None
    index = plan.indices[0].tolist()
    if not index:
        return None
    step = index[1] - index[0] if len(index) > 1 else 1
    if not step or any(b - a != step for a, b in itertools.pairwise(index)):
        return None
    end = index[-1] + (1 if step > 0 else -1)
    (axis,) = plan.axes
    items = [slice(None)] * ndim
    items[axis] = slice(index[0], None if end < 0 else end, step)
    return tuple(items)


def _stretch_of(x: Any, key: Any) -> Any:
    """The parts of an index with a slice whose length only the run tells, None for all others."""
    for item in key if isinstance(key, tuple) else (key,):
        if type(item) is slice and (is_tracer(item.start) or is_tracer(item.stop)):
            from .stretches import stretch_of

            return stretch_of(x, key)
    return None


def _needs_selection(key: Any) -> bool:
    """Whether an index may hold a mask whose numbers are not known, or elements selected by one."""
    for item in key if isinstance(key, tuple) else (key,):
        kind = type(item)
        if kind is core.Tracer:
            if item.dtype == BOOL and item.aval.shape:
                return True
        elif kind is np.ndarray:
            if item.dtype == BOOL and item.ndim:
                return True
        elif kind is not slice and kind is not int and issubclass(kind, core.Deferred):
            return True
    return False


def split_mask(x: Any, key: Any) -> tuple[Any, Any, int] | None:
    """An index that is one mask with slices, new axes and integers around it: the view that those take, the mask, and
    the axis of the view where it begins. None where the mask is known, WB110 for what is more complicated."""
    entries = as_entries(key)
    if not any(is_tracer(item) and item.dtype == BOOL for item in entries):
        return None
    written_out = expand_ellipsis(entries, x.ndim)
    place = next(i for i, item in enumerate(written_out) if is_tracer(item) and item.dtype == BOOL)
    mask = written_out[place]
    advanced = [i for i, item in enumerate(written_out) if item is not None and not isinstance(item, slice)]
    others = [item for i, item in enumerate(written_out) if i != place]
    together = advanced == list(range(advanced[0], advanced[0] + len(advanced)))
    if not together or any(is_advanced(item) for item in others) or mask.ndim == 0:
        raise diagnostics.data_dependent_shape(mask, "an array indexed with a mask")
    before, after = written_out[:place], written_out[place + 1 :]
    view = x
    if any(item != slice(None) for item in others):
        view = getitem(x, (*before, *(slice(None),) * mask.ndim, *after))
    axis = sum(not isinstance(item, int) for item in before)
    check_mask(mask, view.shape, axis)
    return view, mask, axis


def check_mask(mask: Any, shape: tuple[int, ...], axis: int) -> None:
    """NumPy's IndexError where a mask has not the shape of the axes that it stands for."""
    for i, n in enumerate(mask.shape):
        if n != shape[axis + i]:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + i}; size of axis is "
                f"{shape[axis + i]} but size of corresponding boolean axis is {n}"
            )


def _is_traced_element(key: Any) -> bool:
    """Whether every index array is a traced scalar: NumPy would see integers, and return a view."""
    items = key if isinstance(key, tuple) else (key,)
    return all(
        (item.ndim == 0 and item.dtype != BOOL) if is_tracer(item) else not isinstance(item, list | tuple | np.ndarray)
        for item in items
    )


def _element_view(view: Any, plan: Plan) -> Any:
    indices = tuple(core.lift(i) if is_tracer(i) else np.int64(i) for i in plan.indices)
    indices = tuple(array(i) for i in indices)
    kept = [i for i in range(view.ndim) if i not in plan.axes]
    shape = tuple(view.shape[i] for i in kept)
    strides = tuple(view.strides[i] for i in kept)
    found = views.make_view(view, views.TakeView(tuple(plan.axes), indices), shape, strides)
    return core.as_scalar(found) if not shape else found


def _index_scalar(x: Any, key: Any) -> Any:
    """NumPy scalars take `()`, `...` and `None` only."""
    if x.weak_type:
        raise TypeError(f"'{core.type_name(x)}' object is not subscriptable")
    plan = make_plan((), key)
    if plan.indices:
        raise IndexError("invalid index to scalar variable.")
    value = core.from_atom(core.require_trace(), core.lift(x).current)
    if plan.inserted:
        return reshape_to(value, (1,) * len(plan.inserted))
    return value if plan.is_scalar and key == () else core.as_array(value)


def gather(x: Any, indices: Sequence[Any], axes: Sequence[int], position: int) -> Any:
    """The elements of a tracer at index arrays of one shape, on `axes`."""
    axes = tuple(axes)
    if all(not is_tracer(i) for i in indices):
        if indices[0].size == 0:  # nothing to read: the shape alone matters
            kept = [n for i, n in enumerate(x.shape) if i not in axes]
            return full((*kept[:position], *indices[0].shape, *kept[position:]), x.dtype.type(0))
        return bind("gather_nd", x, *indices, axes=axes, position=position, mode="promise")
    return bind("gather_checked", x, *indices, axes=axes, position=position)


def setitem(x: Any, key: Any, value: Any) -> None:
    """`x[key] = value`."""
    if x.scalar:
        raise TypeError(f"'{core.type_name(x)}' object does not support item assignment")
    if not x.writeable or not x.buffer.writeable:
        raise ValueError("assignment destination is read-only")
    x, key, value = *_with_known_lengths(x, key), as_numpys(value)
    stretch = _stretch_of(x, key)
    if stretch is not None:
        from . import stretches

        view, axis, item = stretch
        stretches.setitem(view, axis, item, as_cast(with_filled(value)))
        return
    if _needs_selection(key) or issubclass(type(value), core.Deferred):
        from . import masked

        key, value = with_filled(key), with_filled(value)
        if masked.find(key if isinstance(key, tuple) else (key,)) is not None:
            masked.setitem(x, key, as_cast(value))
            return
        split = single_mask(x, key)
        split = split_mask(x, key) if split is None else (x, *split)
        if split is not None:
            masked.assign(*split, as_cast(value))
            return
        if masked.find((value,)) is not None:
            raise value.error()
    if isinstance(value, range):
        value = list(value)
    if (isinstance(value, list | tuple) or ndim_of(value)) and _is_element(x, key):
        # NumPy's rule, which has changed between versions, by its own words
        np.zeros(1, x.dtype)[0] = np.zeros((1,) if isinstance(value, list | tuple) else shape_of(value), x.dtype)
    plan = make_plan(x.shape, key)
    view = basic_view(x, plan, lazy=True)
    if not plan.indices:
        if isinstance(value, list | tuple) and ndim_of(value := stored(value, x.dtype)) > view.ndim:
            raise ValueError(
                "setting an array element with a sequence. The requested array would exceed the maximum number of "
                f"dimension of {view.ndim}."
            )
        assign(view, value)
        return
    evenly = _evenly_spaced(plan, view.ndim)
    if evenly is not None:
        assign(basic_view(view, make_plan(view.shape, evenly), lazy=True), as_cast(value))
        return
    kept = [n for i, n in enumerate(view.shape) if i not in plan.axes]
    shape = (*kept[: plan.position], *plan.indices[0].shape, *kept[plan.position :])
    picks_one = plan.indices[0].shape == ()  # integers that are not known yet: what is stored must fit
    value = as_assigned(value if picks_one else as_cast(value), view.dtype, shape)
    if 0 in shape:
        return
    views.write(view, scatter(view, plan.indices, plan.axes, plan.position, value, "set"))


def _is_element(x: Any, key: Any) -> bool:
    """Whether the index is one integer for each axis."""
    items = key if isinstance(key, tuple) else (key,)
    return len(items) == x.ndim and all(
        isinstance(i, int | np.integer) and not isinstance(i, bool)
        or isinstance(i, np.ndarray) and ndim_of(i) == 0 and i.dtype.kind in "iu"
        for i in items
    )  # fmt: skip


def scatter(x: Any, indices: Sequence[Any], axes: Sequence[int], position: int, update: Any, op: str) -> Any:
    """`x` with `update` stored at, or combined with the elements at, index arrays of one shape."""
    static = all(not is_tracer(i) for i in indices)
    return bind(
        "scatter", x, *indices, update, axes=tuple(axes), mode="promise" if static else "raise", op=op,
        position=position, unique=False,
    )  # fmt: skip


def as_assigned(value: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Any:
    """What is assigned, cast as NumPy's assignment casts and broadcast to the region."""
    value = stored(value, dtype)
    if not is_tracer(value):
        return full(shape, value)
    have = value.shape
    while len(value.shape) > len(shape) and value.shape[0] == 1:
        value = reshape_to(value, value.shape[1:])
    try:
        fits = np.broadcast_shapes(value.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"could not broadcast input array from shape {spell(have)} into shape {spell(shape)}")
    return broadcast_operand(value, shape)


def assign(view: Any, value: Any) -> None:
    """`view[...] = value`."""
    if is_tracer(value) and views.same_memory(view, value):
        return
    views.write(view, as_assigned(value, view.dtype, view.shape))


# ---- masks ----


def single_mask(x: Any, key: Any) -> tuple[Any, int] | None:
    """The traced mask of an index that is one mask and full slices otherwise, with the axis it begins at."""
    items = list(key) if isinstance(key, tuple) else [key]
    found = None
    for place, item in enumerate(items):
        if is_tracer(item) and item.dtype == BOOL and item.ndim and item.size:
            if found is not None:
                return None
            found = place
        elif isinstance(item, np.ndarray) and item.dtype == BOOL and item.ndim and item.size and found is None:
            found = place
        elif item is not Ellipsis and not (isinstance(item, slice) and item == slice(None)):
            return None
    if found is None:
        return None
    mask = operand(items[found])
    entries = [slice(None) if i != found else mask for i in range(len(items))]
    if any(item is Ellipsis for item in items):
        entries = [Ellipsis if item is Ellipsis else entry for item, entry in zip(items, entries, strict=True)]
    written_out = expand_ellipsis(entries, x.ndim)
    axis = next(i for i, item in enumerate(written_out) if item is mask)
    check_mask(mask, x.shape, axis)
    return mask, axis


def over(mask: Any, axis: int, shape: tuple[int, ...]) -> Any:
    """A mask of some axes of an array, for every element of it."""
    dims = tuple(range(axis, axis + mask.ndim))
    if mask.shape == shape:
        return mask
    return bind("broadcast_in_dim", mask, shape=shape, broadcast_dimensions=dims)


def assign_masked(x: Any, mask: Any, axis: int, value: Any) -> None:
    """`x[mask] = value`: a select, unless there is one value for every True, whose number depends on data."""
    value = operand(value)
    rest = x.shape[axis + mask.ndim :]
    lead = x.shape[:axis]
    ndim = getattr(value, "ndim", 0)
    if ndim:
        shape = value.shape
        region = (*lead, 1, *rest)
        if ndim > len(region) or (ndim > len(rest) and shape[ndim - len(rest) - 1] != 1):
            _assign_each(x, mask, axis, value)
            return
        squeezed = shape
        if ndim > len(rest):
            at = ndim - len(rest) - 1
            squeezed = (*shape[:at], *(1,) * mask.ndim, *shape[at + 1 :])
        new = as_assigned(reshape_to(value, squeezed), x.dtype, x.shape)
    else:
        new = stored(value, x.dtype)
    views.write(x, bind("select_n", over(mask, axis, x.shape), x, new))


def _assign_each(x: Any, mask: Any, axis: int, value: Any) -> None:
    """`x[mask] = values`, one for every True in row-major order."""
    numbers = known(mask)
    if numbers is not None:
        index = np.nonzero(numbers)
        plan_axes = list(range(axis, axis + mask.ndim))
        kept = [n for i, n in enumerate(x.shape) if i not in plan_axes]
        shape = (*kept[:axis], *index[0].shape, *kept[axis:])
        update = as_assigned(value, x.dtype, shape)
        views.write(x, scatter(x, index, plan_axes, axis, update, "set"))
        return
    raise diagnostics.data_dependent_shape(
        mask, "as many values as the mask has True elements", ("x[...] = np.where(mask, values, x)",)
    )
