"""Reductions to a few columns, the columns written out: sums of points by coordinate, of a table by its ten fields.

Each column has totals of its own, and rows side by side make the vectors. Where all arrays are as wide as the rows,
strips (`strips.ColumnParts`) are as fast, and no kernel of a certain width.
"""

from __future__ import annotations

from itertools import product

from .folds import Fold
from .nests import PART, Nest, Scratch
from .strips import ColumnParts, needs_order
from .written_out import LEAST_ROWS, LONGEST_STORED, WrittenOut, are_few_lines


class FewColumns(ColumnParts, WrittenOut):
    """The parts of reductions to a few columns."""

    shape_kind = ColumnParts.shape_kind
    n_counted = Nest.n_counted

    @staticmethod
    def pays(nest: Nest) -> bool:
        """Whether to write the columns of a nest out. They may have several axes, as the entries of a matrix."""
        cluster, n = nest.cluster, nest.length(nest.outer)
        if nest.shape_kind not in ("columns", "column parts") or nest.outer[0] < nest.inner[-1]:
            return False
        if cluster.stores or cluster.stacks or len(nest.rounds) > 1 or any(map(needs_order, nest.rounds[0][0])):
            return False
        is_short = 1 < n <= LONGEST_STORED and are_few_lines(nest, n)
        return is_short and nest.space.shape[nest.inner[-1]] >= LEAST_ROWS

    def write(self) -> None:
        n_columns, eqns = self.length(self.outer), self.rounds[0][0]
        self._unroll(self.inner[-1], self.outer)
        by_column = [[self._fold(eqn, blocked=True) for eqn in eqns] for _ in range(n_columns)]
        folds = [fold for column_folds in by_column for fold in column_folds]
        blocked = [fold for fold in folds if fold.blocked]
        n_each = n_columns * self.length(self.inner[1:])
        n_rows = max(1, PART // max(n_each, 1))
        part = self.root.loop("for part in range(start, stop):")
        for fold in folds:
            for state in fold.states:
                part.line(f"{state.name} = {state.start}", self._numbers(fold.eqn))
        rows, bound = self._size("rows", n_rows), self.bound(self.inner[0])
        part.line(f"first = part * {rows}")
        part.line(f"last = min(first + {rows}, {bound})")
        block, low, high = part, "first", "last"
        for axis in self.inner[:-1]:
            block = block.loop(f"for i{axis} in range({low}, {high}):", axis)
            block.line(f"assume_index(i{axis})")
            low, high = "0", self.bound(self.inner[self.inner.index(axis) + 1])
        block, body = self._open_innermost(block, self.inner[-1], low, high, blocked)
        self._write_each(self.outer, by_column, self.rounds[0][1], body)
        self._close_blocks(blocked, block)
        self.n_parts = self.extent = -(-self.length(self.inner[:1]) // n_rows)
        self.per_step = n_rows * n_each
        part.close_loop()
        lengths = [self.space.shape[axis] for axis in self.outer]
        places = [", ".join(map(str, place)) for place in product(*map(range, lengths))]
        for k, eqn in enumerate(eqns):
            of_columns: list[Fold] = [column_folds[k] for column_folds in by_column]
            for s, state in enumerate(of_columns[-1].states):
                name = self.namer.fresh(f"{state.name}_parts")
                self.scratch.append(Scratch(name, state.dtype.name, (self.n_parts, *lengths)))
                for place, fold in zip(places, of_columns, strict=True):
                    part.line(f"{name}[part, {place}] = {fold.states[s].name}", self._numbers(eqn))
