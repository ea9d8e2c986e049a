"""How the lists of `counted_lists` are made of what a program returns: arrays of items, and how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .counted_lists import CountedList, Item, Items
from .tracer import Tracer


@dataclass(frozen=True, slots=True)
class CountedForm:
    """How the value of a list is made. arrays: the program's results that are those of the list; first: how many items
    of these are `before` it; before: the places of such items among the leaves of the result; in_array: whether it is
    `np.array` of the list, of `dtype` where one was asked for; elsewhere: (part, item, result, leaf) where a part of an
    item is another leaf; the result, if it is not -1, tells which item; firsts: (part, result) of
    `CountedList.firsts`."""

    items: Items
    arrays: tuple[int, ...]
    first: int
    before: tuple[int, ...]
    in_array: bool
    dtype: np.dtype | None
    elsewhere: tuple[tuple[int, int, int, int], ...] = ()
    firsts: tuple[tuple[int, int], ...] = ()

    @property
    def results(self) -> tuple[int, ...]:
        """Those that it needs, besides the number of items."""
        told = (k for *_, k, _ in self.elsewhere if k >= 0)
        return (*self.arrays, *told, *(k for _, k in self.firsts))

    def value(self, results: Sequence[Any], count: Any, leaves: list[Any]) -> Any:
        """results: of the program; count: how many items there are; leaves: of the result."""
        before = [leaves[k] for k in self.before]
        arrays = [results[k] for k in self.arrays]
        if type(count) is Tracer:
            made = CountedList.rebuilt(before, self.items, arrays, count)
            made.first = self.first
            made.arrays_elsewhere = tuple(
                (part, at if told < 0 else results[told], leaves[k]) for part, at, told, k in self.elsewhere
            )
            made.firsts = {part: results[k] for part, k in self.firsts}
            return made.stacked(self.dtype) if self.in_array else made
        columns = [array[self.first : int(count)] for array in arrays]
        if self.in_array and not before and len(columns[0]):
            if self.items.tree is None:
                return np.array(columns[0], self.dtype)
            if self.items.are_rows:
                rows = np.empty((len(columns[0]), len(columns)), self.dtype or np.result_type(*columns))
                for k, column in enumerate(columns):
                    rows[:, k] = column
                return rows
        parts = [_values(item, column) for item, column in zip(self.items.items, columns, strict=True)]
        self._share(parts, before, results, leaves)
        items = [*before, *self.items.together(parts)]
        return np.array(items, self.dtype) if self.in_array else items

    def _share(
        self, parts: list[list[Any]], before: list[Any], results: Sequence[Any], leaves: list[Any]
    ) -> None:  # fmt: skip
        """Let what is one array be one object. before: the items that the list began with."""
        for part, at, told, k in self.elsewhere:
            at = at if told < 0 else int(results[told])
            if at >= self.first:
                parts[part][at - self.first] = leaves[k]
            elif at >= 0:  # a result that was read from the list is what the list began with
                copy = leaves[k]
                leaves[:] = [before[at] if leaf is copy else leaf for leaf in leaves]
        for part, k in self.firsts:
            items = parts[part]
            firsts = results[k][self.first : self.first + len(items)] - self.first
            for at in np.flatnonzero(firsts != np.arange(len(items))).tolist():
                items[at] = items[firsts[at]] if firsts[at] >= 0 else before[firsts[at]]


def _values(item: Item, column: np.ndarray) -> list[Any]:
    if item.kind == "python":
        return column.tolist()
    return [x.copy() for x in column] if item.kind == "array" else list(column)
