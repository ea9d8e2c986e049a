"""Moves: copies of array parts around a kernel that writes the rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ir import Equation
from .threads import launch

# A copy of so many bytes takes about as long as waking a thread ten times.
GRAIN_BYTES = 1 << 20

Move = Callable[[np.ndarray, np.ndarray], None]


def copy_around(eqn: Equation, n_threads: int) -> Move:
    """`move(target, base)` copies what the update `eqn` does not replace, and more where that is simpler."""
    starts = eqn.params.get("start_indices")
    base, update = (v.aval for v in eqn.invars[:2])
    if starts is None or any(s != 1 for s in eqn.params["strides"] or ()) or 2 * update.size < base.size:
        return lambda target, source: copy_all(target, source, n_threads)
    regions: list[tuple[slice, ...]] = []
    inside: tuple[slice, ...] = ()
    for start, size, length in zip(starts, update.shape, base.shape, strict=True):
        if start:
            regions.append((*inside, slice(0, start)))
        if start + size < length:
            regions.append((*inside, slice(start + size, length)))
        inside = (*inside, slice(start, start + size))

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
