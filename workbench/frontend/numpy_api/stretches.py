"""Slices whose length is known only when the program runs: `x[: np.argmin(x) + 1]`, `x[first:last].mean()`.

They are selections by a mask (`masked`), of which more is known: where they begin and end. NumPy's are views: what is
written to the array is read again, and what is written into them is written to the array.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import tracer as core
from .. import views
from ..checks import end_unless
from . import indexing, reductions, selection, sorting, ufuncs
from .operands import bind, is_tracer, known
from .promotion import INT64
from .reductions import NOVALUE

if TYPE_CHECKING:
    from .masked import Selection

call = ufuncs.call_ufunc


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `start` to `stop` along the axis of the selection. view: the array that it was cut out of, None if it was
    computed; version: of the memory at that time; frozen: it may be memory of others, who would see what is written."""

    start: Any
    stop: Any
    view: Any = None
    version: int = 0
    frozen: bool = False

    @property
    def is_current(self) -> bool:
        return self.view is None or self.view.buffer.version == self.version


def stretch_of(x: Any, key: Any) -> tuple[Any, int, slice] | None:
    """An index that is one slice of unknown length, with known slices, integers and new axes around it: the view that
    those take, the axis of it that the slice cuts, and the slice. None if it is another index."""
    items = key if isinstance(key, tuple) else (key,)
    if not any(type(item) is slice and _is_unknown(item) for item in items) or core.require_trace().region:
        return None  # in a loop that is traced, each turn would take the whole array
    entries = indexing.expand_ellipsis(indexing.as_entries(key), x.ndim)
    cuts = [i for i, item in enumerate(entries) if type(item) is slice and _is_unknown(item)]
    (place, *more), others = cuts, [item for i, item in enumerate(entries) if i not in cuts]
    item: slice = entries[place]
    bounds = [bound for bound in (item.start, item.stop) if bound is not None]
    if more or item.step not in (None, 1) or not all(map(_is_integer, bounds)):
        return None
    if not all(other is None or type(other) in (int, slice) for other in others):
        return None
    view = x
    if any(other != slice(None) for other in others):
        view = indexing.getitem(x, tuple(slice(None) if i == place else other for i, other in enumerate(entries)))
    return view, sum(not isinstance(other, int) for other in entries[:place]), item


def _is_unknown(item: slice) -> bool:
    return any(is_tracer(bound) and known(bound) is None for bound in (item.start, item.stop))


def _is_integer(bound: Any) -> bool:
    return isinstance(bound, int) or bool(is_tracer(bound) and not bound.shape and bound.dtype.kind in "iu")


def getitem(x: Any, axis: int, item: slice) -> Selection:
    return _cut(x, axis, *_bounds(item, x.shape[axis]))


def setitem(x: Any, axis: int, item: slice, value: Any) -> None:
    from . import masked

    masked.assign(x, _mask(x.shape[axis], *_bounds(item, x.shape[axis])), axis, value)


def shorter(x: Any, n: Any) -> Selection:
    """The first `n` elements of an array that a loop has left."""
    found = _cut(x, 0, np.int64(0), n)
    found.stretch = Stretch(np.int64(0), n, frozen=True)
    return found


def check_is_writeable(selected: Selection) -> None:
    if selected.stretch is not None and selected.stretch.frozen:
        raise selected.error("an array whose length a loop decides, and that is written into")


def item_of(selected: Selection, key: tuple[Any, ...]) -> Any:
    """`selected[key]`, where `key` asks for one element along the axis, or for a part of it; None otherwise."""
    stretch, axis, whole = selected.stretch, selected.axis, slice(None)
    item = key[axis] if len(key) > axis else whole
    if any(type(k) is not slice or k != whole for k in key[:axis]):
        return None
    if (
        stretch is not None
        and type(item) is slice
        and item != whole
        and item.step in (None, 1)
        and len(key) == axis + 1
    ):
        if not all(bound is None or _is_integer(bound) for bound in (item.start, item.stop)):
            return None
        start, stop = _bounds(item, call(np.maximum, call(np.subtract, stretch.stop, stretch.start), 0))
        bounds = call(np.add, stretch.start, start), call(np.add, stretch.start, stop)
        return _cut(selected.array if stretch.view is None else stretch.view, axis, *bounds)
    place = _element(selected, item)
    return None if place is None else indexing.getitem(selected.array, (*(whole,) * axis, place, *key[axis + 1 :]))


def put_item(selected: Selection, key: tuple[Any, ...], value: Any) -> bool:
    """`selected[key] = value` for one element of the first axis; whether that was it."""
    place = _element(selected, key[0]) if selected.axis == 0 else None
    if place is not None:
        indexing.setitem(selected.array, (place, *key[1:]), value)
    return place is not None


def _element(selected: Selection, item: Any) -> Any:
    """Where the element is in the whole array, None if the index is no integer. The call ends if there is none."""
    if not _is_integer(item) or isinstance(item, bool) or selected.mask.ndim != 1:
        return None
    stretch = selected.stretch
    if stretch is None:
        count = reductions.count_nonzero(selected.mask)
        k = selection.where(item < 0, call(np.add, item, count), item) if is_tracer(item) else item
        k = call(np.add, count, k) if not is_tracer(k) and k < 0 else k
        end_unless(call(np.logical_and, call(np.greater_equal, k, 0), call(np.less, k, count)))
        so_far = reductions.cumsum(selected.mask, 0, None)
        return reductions.argmax(call(np.greater, so_far, k))
    from_start, from_stop = call(np.add, stretch.start, item), call(np.add, stretch.stop, item)
    place = (
        selection.where(item < 0, from_stop, from_start) if is_tracer(item) else from_stop if item < 0 else from_start
    )
    end_unless(call(np.logical_and, place >= stretch.start, place < stretch.stop))
    return place


def diff(a: Selection, n: Any = 1, axis: Any = -1, prepend: Any = NOVALUE, append: Any = NOVALUE) -> Selection:
    """Differences of elements that follow each other, where they lie side by side."""
    stretch = getattr(a, "stretch", None)
    if stretch is None:
        raise next(x for x in (a, prepend, append) if hasattr(x, "stretch")).error()
    if type(n) is not int or n < 1 or a.ndim != 1 or axis not in (0, -1) or len(a.array) < 2:
        raise a.error()
    if prepend is not NOVALUE or append is not NOVALUE:
        raise a.error()
    last = call(np.maximum, call(np.subtract, stretch.stop, 1), stretch.start)
    found = _cut(reductions.diff(a.array), 0, stretch.start, last)
    found.stretch, found.origin, found.what = Stretch(stretch.start, last), a.origin, a.what
    return found if n == 1 else diff(found, n - 1)


def sort(a: Selection, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Selection:
    """The selected elements in order: before all others, which are as large as can be."""
    if a.ndim != 1 or a.mask.ndim != 1 or axis not in (0, -1, None) or order is not None or a.dtype.kind not in "iuf":
        raise a.error()
    largest = np.nan if a.dtype.kind == "f" else np.iinfo(a.dtype).max
    ordered = sorting.sort(bind("select_n", a.mask, a.dtype.type(largest), a.array), -1, kind, None, stable=stable)
    n = reductions.count_nonzero(a.mask)
    found = _cut(ordered, 0, np.int64(0), n)
    found.stretch, found.origin, found.what = Stretch(np.int64(0), n), a.origin, "a sorted array of unknown length"
    return found


def written_back(selected: Selection) -> None:
    """What was written into `selected` is in the array that it was cut out of, too."""
    stretch = selected.stretch
    if stretch is None or stretch.view is None:
        return
    view, new = stretch.view, selected.values
    views.write(view, bind("select_n", indexing.over(selected.mask, selected.axis, view.shape), view, new))
    selected.stretch = replace(stretch, version=view.buffer.version)


def _cut(x: Any, axis: int, start: Any, stop: Any) -> Selection:
    from . import masked

    found = masked.select(x, _mask(x.shape[axis], start, stop), axis)
    found.stretch = Stretch(start, stop, x, x.buffer.version)
    return found


def _mask(n: int, start: Any, stop: Any) -> Any:
    places = core.as_array(bind("iota", dtype=INT64, shape=(n,), dimension=0))
    return call(np.logical_and, call(np.greater_equal, places, start), call(np.less, places, stop))


def _bounds(item: slice, n: Any) -> tuple[Any, Any]:
    """As NumPy cuts them off, of an axis of length `n`."""
    return _place(item.start, n, np.int64(0)), _place(item.stop, n, n if is_tracer(n) else np.int64(n))


def _place(bound: Any, n: Any, default: Any) -> Any:
    if bound is None:
        return default
    if is_tracer(bound):
        bound = core.method(bound, "astype", np.int64)
        from_end = call(np.maximum, call(np.add, bound, n), 0)
        return selection.where(bound < 0, from_end, call(np.minimum, bound, n))
    if not is_tracer(n):
        return np.int64(max(bound + n, 0) if bound < 0 else min(bound, n))
    return call(np.maximum, call(np.add, n, bound), 0) if bound < 0 else call(np.minimum, n, bound)
