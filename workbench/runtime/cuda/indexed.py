"""Indexing on a device: gathers that check their indices, and scatters whose indices collide, over a module with
NumPy's names (`cupy`; the tests take `numpy`).

Threads write in no order, so that the last of several updates of one element is found by sorting. Updates that add up,
multiply or compare are combined in a fixed order, too: they are sorted by their place, and those of one place are
combined in a tree (a segmented scan: Hillis and Steele, Data parallel algorithms, 1986). The result is the same in
every run, and rounds no more than NumPy's, which adds one update after another; it is not NumPy's to the last bit.
Integers need no order: their sums are atomic additions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# Integers that CuPy's atomic operations take. A sum of int64 has the bits of one of uint64.
ADDED = frozenset(map(np.dtype, ("int32", "uint32", "int64", "uint64")))
COMPARED = frozenset(map(np.dtype, ("int32", "uint32", "uint64")))
FUNCTIONS = {"add": "add", "mul": "multiply", "min": "minimum", "max": "maximum"}


def gather_checked(xp: Any) -> Callable[..., Any]:
    """NumPy's integer-array indexing. IndexError if an index is out of range, which the host waits to know."""

    def gather(x: Any, *indices: Any, axes: Sequence[int], position: int) -> Any:
        at = _checked(xp, x, indices, axes)
        found = xp.moveaxis(x, tuple(axes), tuple(range(len(axes))))[at]
        ranks = tuple(range(indices[0].ndim))
        return xp.moveaxis(found, ranks, tuple(position + axis for axis in ranks))

    return gather


def takes_scatter(x: np.dtype, update: np.dtype, op: str) -> bool:
    """Whether `scatter` computes what NumPy does, for operands of these dtypes."""
    if op == "set":
        return True
    is_ordered = x.kind != "c" or op in ("add", "mul")
    return x == update and op in FUNCTIONS and x.kind != "b" and is_ordered


def scatter(xp: Any) -> Callable[..., Any]:
    """An update at integer index arrays: the last of several values for one element stays ("set"), or all count."""

    def call(
        x: Any, *operands: Any, axes: Sequence[int], mode: str, op: str, position: int, unique: bool = False
    ) -> Any:
        *indices, update = operands
        sizes = [x.shape[axis] for axis in axes]
        indices = [i.astype(np.int64) for i in indices]
        if mode == "clip":
            indices = [xp.clip(i, 0, max(n - 1, 0)) for i, n in zip(indices, sizes, strict=True)]
        elif mode == "wrap" and 0 not in sizes:
            indices = [i % n for i, n in zip(indices, sizes, strict=True)]
        at = _checked(xp, x, indices, axes) if mode == "raise" else _normal(xp, indices, sizes)
        kept = [n for axis, n in enumerate(x.shape) if axis not in axes]
        n_places, n_kept, n_updates = math.prod(sizes), math.prod(kept), indices[0].size
        if update.ndim:
            ranks = tuple(range(indices[0].ndim))
            update = xp.moveaxis(update, tuple(position + axis for axis in ranks), ranks)
        update = xp.broadcast_to(update, (*indices[0].shape, *kept)).reshape(n_updates, n_kept)
        place = xp.zeros(indices[0].shape, np.int64)
        for i, n in zip(at, sizes, strict=True):
            place = place * n + i
        place = place.reshape(-1)
        front = xp.moveaxis(x, tuple(axes), tuple(range(len(axes))))
        rows = front.reshape(n_places, n_kept)
        if op == "set":
            rows = _set(xp, rows, place, update, unique=unique)
        elif x.dtype not in (ADDED if op == "add" else COMPARED if op in ("min", "max") else ()):
            rows = _combined(xp, getattr(xp, FUNCTIONS[op]), rows, place, update)
        else:
            rows = xp.array(rows, copy=True, order="C")
            dtype = np.dtype(np.uint64) if op == "add" and rows.dtype == np.int64 else rows.dtype
            {"add": xp.add, "min": xp.minimum, "max": xp.maximum}[op].at(
                rows.view(dtype), place, xp.ascontiguousarray(update).view(dtype)
            )
        return xp.moveaxis(rows.reshape(front.shape), tuple(range(len(axes))), tuple(axes))

    return call


def _set(xp: Any, rows: Any, place: Any, update: Any, *, unique: bool) -> Any:
    """`rows` with `rows[place] = update`. All but the last update of a row go to a row past the end."""
    n = len(rows)
    padded = xp.empty((n + 1, rows.shape[1]), rows.dtype)
    padded[:n] = rows
    if not unique and place.size > 1:
        order = xp.argsort(place, kind="stable")
        place, update = place[order], update[order]
        is_last = xp.ones(place.shape, bool)
        is_last[:-1] = place[1:] != place[:-1]
        place = xp.where(is_last, place, n)
    padded[place] = update
    return padded[:n]


def _combined(xp: Any, function: Callable[..., Any], rows: Any, place: Any, update: Any) -> Any:
    """`rows` with every update of a row combined with it, in a fixed order."""
    n = len(rows)
    padded = xp.empty((n + 1, rows.shape[1]), rows.dtype)  # whatever does not count goes past the end
    padded[:n] = rows
    if not place.size:
        return padded[:n]
    order = xp.argsort(place, kind="stable")
    place, update = place[order], update[order]
    reach = 1  # each update holds what the `reach` ones up to it at the same place come to
    while reach < place.size:
        same = place[reach:] == place[:-reach]
        if not bool(same.any()):
            break
        update[reach:] = xp.where(same[:, None], function(update[:-reach], update[reach:]), update[reach:])
        reach *= 2
    is_last = xp.ones(place.shape, bool)
    is_last[:-1] = place[1:] != place[:-1]
    place = xp.where(is_last, place, n)
    padded[n] = 0
    padded[place] = function(padded[place], update)
    return padded[:n]


def _normal(xp: Any, indices: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
    """Indices counted from the start."""
    return [xp.where(i < 0, i + n, i) for i, n in zip(indices, sizes, strict=True)]


def _checked(xp: Any, x: Any, indices: Sequence[Any], axes: Sequence[int]) -> tuple[Any, ...]:
    sizes = [x.shape[axis] for axis in axes]
    # An unsigned index past the range of int64 becomes negative, and is out of range there, too.
    wide = [i.astype(np.int64) for i in indices]
    wrong: Any = False
    for i, n in zip(wide, sizes, strict=True):
        wrong = wrong | ((i < -n) | (i >= n)).any()
    if bool(wrong):
        raise IndexError("an index is out of range")
    return tuple(_normal(xp, wide, sizes))
