"""Which arrays the rows are that a loop appends to lists: in NumPy, an item is the very array that was appended.

    for k in range(n):           path[0] is what x was before the loop,
        path.append(x)           path[k] is what iteration k - 1 gave x,
        x = step(x)              and no item is what x is afterwards

A traced loop stacks the rows, and carries `x` apart from them. Here the rows that are one array become one tracer, and
rows that are arrays besides the lists are noted: where both are results, they become one object again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from .aliases import chain, given_roots
from .tracer import Tracer
from .views import TakeView, make_view


@dataclass(frozen=True, slots=True)
class Carried:
    """An array that a loop carries. start: the object before the loop; input, final: in its body, before an iteration
    and after it; out: after the loop."""

    start: Any
    input: Tracer
    final: Tracer
    out: Tracer


@dataclass(frozen=True, slots=True)
class _Found:
    """What a carried array is after an iteration: that of `carried` after iteration `k`. array: an object from before
    the loop (k = -1), or the row that it is; None: it is in no list as a whole."""

    carried: Carried
    k: int
    array: Any


def with_arrays_once(
    columns: Sequence[list[Tracer]], leaves: Sequence[Tracer], carried: Sequence[Carried]
) -> list[list[Tracer]]:  # fmt: skip
    """`columns`, the rows of each appended leaf of an iteration, in which what is one array is one tracer."""
    if all(leaf.scalar for leaf in leaves):
        return list(columns)
    rows = _Rows(columns, leaves, carried)
    for k in range(len(columns[0])):
        rows.settle(k)
    rows.note_results(len(columns[0]))
    return rows.columns


class _Rows:
    """The rows, which `settle` replaces iteration by iteration."""

    def __init__(self, columns: Sequence[list[Tracer]], leaves: Sequence[Tracer], carried: Sequence[Carried]):
        self.columns = list(columns)
        self.leaves = leaves
        self.carried = carried
        self.inputs = {id(each.input.buffer): each for each in carried}
        self.of_buffer: dict[int, list[int]] = {}  # the columns of views of it, whole arrays first
        for j in sorted(range(len(leaves)), key=lambda j: leaves[j].parent is not None):
            if not leaves[j].scalar:
                self.of_buffer.setdefault(id(leaves[j].buffer), []).append(j)
        shared = [js for key, js in self.of_buffer.items() if len(js) > 1 or key in self.inputs]
        self.unsettled = [j for js in shared for j in js]

    def settle(self, k: int) -> None:
        """Let the rows of iteration `k` be those that are there already, where they are."""
        for j in self.unsettled:
            leaf = self.leaves[j]
            same = self._row(leaf, k, before=j)
            if same is None and id(leaf.buffer) in self.inputs:
                found = self._after(self.inputs[id(leaf.buffer)], k - 1)
                if found.k < 0:
                    _note(self.columns[j][k], replayed(leaf, found.array))
                elif found.array is not None:
                    same = replayed(leaf, found.array)
            if same is not None:
                self.columns[j][k] = same

    def note_results(self, n: int) -> None:
        """Note which rows are arrays that the loop leaves."""
        for each in self.carried:
            found = self._after(each, n - 1)
            if found.k < 0:
                continue
            if found.array is not None:
                _note(found.array, each.out)
            elif found.carried.final.parent is None:
                for j in self.of_buffer.get(id(found.carried.final.buffer), ()):
                    _note(self.columns[j][found.k], replayed(self.leaves[j], each.out))

    def _after(self, carried: Carried, k: int) -> _Found:
        while k >= 0:
            row = self._row(carried.final, k)
            before = self.inputs.get(id(carried.final.buffer)) if carried.final.parent is None else None
            if row is not None or before is None:
                return _Found(carried, k, row)
            carried, k = before, k - 1
        return _Found(carried, -1, carried.start)

    def _row(self, x: Tracer, k: int, before: int | None = None) -> Tracer | None:
        """The row of iteration `k` that is `x`, of the body, or a view of one. before: a column that is no answer, nor
        are those after it."""
        for j in self.of_buffer.get(id(x.buffer), ()):
            if j == before:
                return None
            if chain(self.leaves[j]) == chain(x):
                return self.columns[j][k]
            if self.leaves[j].parent is None:
                return replayed(x, self.columns[j][k])
        return None


def replayed(view: Tracer, root: Any, of: Tracer | None = None) -> Any:
    """What `view` is of the array `of`, if not of its whole buffer, of `root`; None where the program computes at what
    it is taken."""
    nodes: list[Tracer] = []
    while view is not of and view.parent is not None:
        nodes.append(view)
        view = view.parent
    if any(isinstance(node.op, TakeView) or not getattr(node.op, "applies", False) for node in nodes):
        return None
    for node in reversed(nodes):
        assert node.op is not None
        if type(root) is Tracer:
            root = make_view(root, node.op, node.shape, node.strides, dtype=node.dtype, lazy=True)
        else:
            root = node.op.apply(root)
    return root


def _note(row: Tracer, array: Any) -> None:
    if array is not None:
        row.buffer.trace.row_arrays.setdefault(id(row), (row, []))[1].append(array)


# ---- when the program returns ----


def memory_of(value: Any) -> Iterator[int]:
    """The ids of the memory that an array may be in: buffers, or an array of known numbers."""
    if type(value) is Tracer and not value.scalar:
        yield id(value.buffer)
        yield from (id(root.buffer) for root in given_roots(value.buffer))
    elif isinstance(value, np.ndarray) and type(value) is not Tracer:
        yield id(value)


def array_of(row: Any, seen: Set[int]) -> Any:
    """What a row is besides the lists, if that is in the memory `seen`; None elsewhere."""
    if type(row) is not Tracer:
        return None
    _, arrays = row.buffer.trace.row_arrays.get(id(row), (row, ()))
    return next((each for each in arrays if not seen.isdisjoint(memory_of(each))), None)


def array_elsewhere(x: Any, seen: Set[int]) -> Any:
    """`x`, or what it is of an array in the memory `seen` if it is a row, or a view of one."""
    node = x
    while type(node) is Tracer:
        array = array_of(node, seen)
        if array is not None:
            return replayed(x, array, node)
        node = node.parent
    return x
