"""Tables: values along the innermost loop that all rows share, computed once a kernel instead of once a row.

What depends on the last axis alone (the thickness of layers, a window's weights) would be computed again in each row,
by a loop that the compiler does not look beyond. Cheap values still are: they take less than to be read from a table.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from .blocks import Block
from .names import Namer

# Rows from which on a table is worth its memory.
LEAST_ROWS = 8
# Equations of what all rows share, each of which asks for its operands: more would go too deep for Python.
MOST_SHARED = 60
# Operations from which on an element of a table costs less than to compute it: those of a division.
DEAR_FLOPS = 4.0


class RowCost(NamedTuple):
    """What a value along the innermost loop takes: operations an element, and how many elements at the beginning and at
    the end cannot be computed, because nothing is there to be read."""

    flops: float = 0.0
    first: int = 0
    missing: int = 0

    def with_operand(self, other: RowCost) -> RowCost:
        return RowCost(self.flops + other.flops, max(self.first, other.first), max(self.missing, other.missing))


class RowTables:
    """The tables of one kernel, whose elements lie along the loop over `axis`. Made where `root` ends when this is."""

    def __init__(self, axis: int, root: Block, namer: Namer, bound: Callable[[int], str]):
        self.axis = axis
        self._root = root
        self._namer = namer
        self._bound = bound
        self._arrays, self._loops = root.section(), root.section()
        self._bodies: dict[tuple[int, int], Block] = {}  # by which elements they leave out
        self._names: dict[Hashable, str] = {}

    def follow_values(self) -> None:
        """Have what no loop changes come before the tables from now on: their elements may need it."""
        self._root.open_loop = self._root.items.index(self._arrays)

    def shares(self, axes: frozenset[int], block: Block) -> bool:
        """Whether what depends on `axes` is the same in all rows that `block` is computed for."""
        return axes == {self.axis} and axes < block.axes

    def element(self, key: Hashable, wish: str, cost: RowCost, compute: Callable[[Block], str]) -> str:
        """The element of the table of `key`, a float64, that belongs to an iteration of the innermost loop. compute:
        writes how an element comes about and gives its text."""
        if key not in self._names:
            length, (_, first, missing) = self._bound(self.axis), cost
            body = self._bodies.get((first, missing))
            if body is None:
                low, high = f"{first}, " if first else "", f"{length} - {missing}" if missing else length
                body = self._bodies[first, missing] = self._loops.loop(
                    f"for i{self.axis} in range({low}{high}):", self.axis
                )
            name = self._namer.fresh(f"{wish}_table")
            self._arrays.line(f"{name} = np.empty({length}, np.float64)")
            body.line(f"{name}[i{self.axis}] = {compute(body)}")
            self._names[key] = name
        return f"{self._names[key]}[i{self.axis}]"
