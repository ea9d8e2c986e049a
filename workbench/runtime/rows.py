"""Rows: which rows of its arrays a kernel writes and reads, so that kernels can run together some rows at a time.

Rows lie along the first axis that has more than one element. A row is counted by its index in the array that it is in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from ..codegen.kernel import Kernel
from ..ir import Aval, Var


class Around(NamedTuple):
    """How many rows of an array before and after the row that it writes a kernel reads."""

    before: int
    after: int


class Rows(NamedTuple):
    """What a kernel does row by row. first, n: which rows it writes; steps: of its outer loop for a row; around: of
    each array, what it reads of it for a row."""

    first: int
    n: int
    steps: int
    around: Mapping[Var, Around]


def rows_of(kernel: Kernel, touched: Collection[Var]) -> Rows | None:
    """How a kernel goes through some of its arrays; None if that is not row by row."""
    lengths = {n_rows(var.aval) for var in touched}
    if len(lengths) == 1 and all(var in kernel.apart for var in touched):  # all of each array, in order
        (n,) = lengths
        if n and kernel.extent % n == 0 and kernel.extent // n % kernel.steps == 0:
            return Rows(0, n, kernel.extent // n, dict.fromkeys(touched, Around(0, 0)))
    found = {var: kernel.reach[var] for var in touched if var in kernel.reach}
    written = {reach.written for reach in found.values() if reach.written is not None}
    follows = {reach.follows for reach in found.values()}
    if len(found) < len(touched) or len(written) != 1 or len(follows) != 1 or kernel.steps != 1:
        return None
    (first,) = written
    around = {var: Around(max(0, first - r.low), max(0, r.high - first)) for var, r in found.items()}
    # What is always the same row, a boundary, has its turn when that row has.
    if follows != {True}:
        return Rows(first, 1, kernel.extent, around)
    return Rows(first, kernel.extent // kernel.row_steps, kernel.row_steps, around)


def n_rows(aval: Aval) -> int:
    """The length of the first axis that has more than one element."""
    return next((length for length in aval.shape if length != 1), 1)
