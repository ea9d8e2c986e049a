"""Moves: copies of array parts around a kernel that writes the rest."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...ir import Equation
from ..native.threads import launch

# A copy of so many bytes takes about as long as waking a thread ten times.
GRAIN_BYTES = 1 << 20
# Runs of pieces that are worth to be copied one by one.
MOST_RUNS = 64

Move = Callable[[np.ndarray, np.ndarray], None]


def regions_around(eqn: Equation) -> list[tuple[slice, ...]] | None:
    """The parts of an array that the update `eqn` does not replace, or None where copying all of it is simpler."""
    starts = eqn.params.get("start_indices")
    base, update = (v.aval for v in eqn.invars[:2])
    if starts is None or any(s != 1 for s in eqn.params["strides"] or ()) or 2 * update.size < base.size:
        return None
    regions: list[tuple[slice, ...]] = []
    inside: tuple[slice, ...] = ()
    for start, size, length in zip(starts, update.shape, base.shape, strict=True):
        if start:
            regions.append((*inside, slice(0, start)))
        if start + size < length:
            regions.append((*inside, slice(start + size, length)))
        inside = (*inside, slice(start, start + size))
    return regions


def pieces_of(array: np.ndarray, region: tuple[slice, ...]) -> list[tuple[int, int, int, int]] | None:
    """A region of an array as runs of pieces, in C order: the distance in bytes of the first piece from the
    array's begin, how many there are, the bytes of each and their distance. None if these are many runs."""
    part = array[(*region, ...)]  # never a scalar, which is a copy
    if not part.size:
        return []
    n_bytes, axes = array.itemsize, list(range(part.ndim))
    while axes and (part.strides[axes[-1]] == n_bytes or part.shape[axes[-1]] == 1):
        n_bytes *= part.shape[axes.pop()]
    axes = [axis for axis in axes if part.shape[axis] > 1]
    n, step = (part.shape[axes[-1]], part.strides[axes.pop()]) if axes else (1, n_bytes)
    while axes and part.strides[axes[-1]] == n * step:
        n *= part.shape[axes.pop()]
    if math.prod(part.shape[axis] for axis in axes) > MOST_RUNS:
        return None
    runs = [part.__array_interface__["data"][0] - array.__array_interface__["data"][0]]
    for axis in axes:
        runs = [at + k * part.strides[axis] for at in runs for k in range(part.shape[axis])]
    return [(at, n, n_bytes, step) for at in runs]


def copy_around(eqn: Equation, n_threads: int) -> Move:
    """`move(target, base)` copies what the update `eqn` does not replace, and more where that is simpler."""
    regions = regions_around(eqn)
    if regions is None:
        return lambda target, source: copy_all(target, source, n_threads)

    def move(target: np.ndarray, source: np.ndarray) -> None:
        for region in regions:
            target[region] = source[region]

    return move


def copy_all(target: np.ndarray, source: np.ndarray, n_threads: int) -> None:
    """`target[...] = source`, by several threads if there is much of it."""
    rows = target.shape[0] if target.ndim else 0
    if target.nbytes < 2 * GRAIN_BYTES or rows < 2:
        np.copyto(target, source)
        return
    launch(_copy_rows, rows, max(1, rows * GRAIN_BYTES // target.nbytes), n_threads, (target, source))


def _copy_rows(start: int, stop: int, target: np.ndarray, source: np.ndarray) -> None:
    np.copyto(target[start:stop], source[start:stop])
