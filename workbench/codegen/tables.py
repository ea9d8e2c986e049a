"""Tables: values along the innermost loop that all rows share, computed once a kernel instead of once a row.

What depends on the last axis alone (the thickness of layers, a window's weights) would be computed again in each row,
by a loop that the compiler does not look beyond. Cheap values are: they take less than reading them from a table does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from .blocks import Block
from .names import Namer

# Rows from which on a table is worth its memory.
LEAST_ROWS = 8
# Operations from which on an element of a table costs less than to compute it: those of a division.
DEAR_FLOPS = 4.0


class RowTables:
    """The tables of one kernel, whose elements lie along the loop over `axis`. Made where `root` ends when this is."""

    def __init__(self, axis: int, root: Block, namer: Namer, bound: Callable[[int], str]):
        self.axis = axis
        self._root = root
        self._namer = namer
        self._bound = bound
        self._arrays, self._loop = root.section(), root.section()
        self._body: Block | None = None
        self._names: dict[Hashable, str] = {}

    def follow_values(self) -> None:
        """Have what no loop changes come before the tables from now on: their elements may need it."""
        self._root.open_loop = self._root.items.index(self._arrays)

    def shares(self, axes: frozenset[int], block: Block) -> bool:
        """Whether what depends on `axes` is the same in all rows that `block` is computed for."""
        return axes == {self.axis} and axes < block.axes

    def element(self, key: Hashable, wish: str, compute: Callable[[Block], str]) -> str:
        """The element of the table of `key`, a float64, that belongs to an iteration of the innermost loop. compute:
        writes how an element comes about and gives its text."""
        if key not in self._names:
            length = self._bound(self.axis)
            if self._body is None:
                self._body = self._loop.loop(f"for i{self.axis} in range({length}):", self.axis)
            name = self._namer.fresh(f"{wish}_table")
            self._arrays.line(f"{name} = np.empty({length}, np.float64)")
            self._body.line(f"{name}[i{self.axis}] = {compute(self._body)}")
            self._names[key] = name
        return f"{self._names[key]}[i{self.axis}]"
