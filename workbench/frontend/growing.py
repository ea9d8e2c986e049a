"""Lists that a loop appends to: as an equation, the loop stacks what its iterations append, row by row.

`trajectory.append(x)` in every iteration becomes a stacked result of the scan. After the loop the list holds views of
its rows, and `np.array(trajectory)` finds that they are one array already (`rows_together`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import optree

from ..ir import REGISTRY, Aval
from .aliases import Aliases, Alternative
from .blanks import is_number
from .counted_lists import CountedList, Item, Items
from .merging import refuse
from .outside_lists import OutsideList, OutsideListError
from .recording import Deferred
from .regions import Region
from .tracer import Tracer, emit, from_atom, lift
from .views import Slice, Squeeze, make_view

FEW = 8  # items: shorter lists are made of single results


class Growth:
    """What one traced iteration appends to lists. lists: those outside, by the name of their variable."""

    def __init__(self, lists: Mapping[str, list]):
        self.lists = lists
        self.added: dict[str, list[tuple[Any, list[Tracer]]]] = {}  # of each list, items as (tree, leaves)
        self.roots: dict[int, Tracer] = {}  # of leaves that are views of an array outside: that array
        self.stand_ins: dict[str, OutsideList] = {}  # for those that objects hold

    def begin(self, variables: Any) -> None:
        """Let the iteration see lists of its own: it only appends, or is found to do more."""
        for name in self.lists:
            if name in variables.held:
                self.stand_ins[name] = OutsideList(name)
            variables.set(name, self.stand_ins.get(name, []))

    def end(self, variables: Any) -> None:
        """Give the variables their lists back."""
        for name, outside in self.lists.items():
            found = self.stand_ins[name].added if name in self.stand_ins else variables.get(name)
            if type(found) is list and found is not outside:
                self.added[name] = [optree.tree_flatten(item, none_is_leaf=True)[::-1] for item in found]  # type: ignore[misc]  # (tree, leaves)
            variables.set(name, outside)

    def unfit(self, error: BaseException) -> str | None:
        """The list to which the iteration does more than to append once, if `error` tells of that."""
        for name, stand_in in self.stand_ins.items():
            if stand_in.was_read or isinstance(error, OutsideListError) and error.outside is stand_in:
                return name
        return None

    def rows(self, region: Region) -> list[Tracer]:
        """What the body gives for each leaf that it appends. TracingError for what is no number or array."""
        rows = []
        for name, items in self.added.items():
            for at, (tree, leaves) in enumerate(items):
                for leaf in leaves:
                    if issubclass(type(leaf), Deferred):
                        raise leaf.error()
                    if not is_number(leaf):
                        raise refuse("appends to", name, "something that is no number or array, in a traced loop")
                items[at] = (tree, [region.leaf(leaf) for leaf in leaves])
                rows += [self._row(region, name, leaf) for leaf in items[at][1]]
        return rows

    @staticmethod
    def _row(region: Region, name: str, x: Tracer) -> Tracer:
        if x.buffer.mixed:
            raise refuse("appends to", name, "a number whose type depends on the path")
        if x.aval.weak_type:
            cast = REGISTRY["convert_element_type"]
            return region.run(lambda: emit(cast, x, new_dtype=x.dtype, weak_type=False))
        return x

    def shared(self, region: Region, inputs: Sequence[Tracer], finals: Sequence[Tracer]) -> list[bool]:
        """Of each leaf, whether it is an array that is known elsewhere, too: one from outside, or one that the loop
        carries. Refused where the loop also writes into one from outside: each row would be that very array."""
        outside = {id(entry.tracer.buffer): entry for entry in region.captured if entry.tracer is not None}
        carried = {id(x.buffer) for x in (*inputs, *finals) if not x.scalar}
        found = []
        for name, items in self.added.items():
            for x in (leaf for _, leaves in items for leaf in leaves):
                entry = outside.get(id(x.buffer))
                if not x.scalar and entry is not None:
                    if x.buffer.version:
                        raise refuse("appends to", name, "an array that the loop also writes into")
                    entry.value.buffer.ambiguous = True
                    self.roots[id(x)] = entry.value
                found.append(not x.scalar and (entry is not None or id(x.buffer) in carried))
        return found

    def fill(self, stacks: Sequence[Tracer], shared: Sequence[bool], n: int) -> None:
        """Append the rows of `n` iterations to the lists."""
        leaves = (leaf for items in self.added.values() for _, each in items for leaf in each)
        for stack, is_shared, leaf in zip(stacks, shared, leaves, strict=True):
            stack.scalar = False
            stack.buffer.ambiguous = is_shared
            root = self.roots.get(id(leaf))
            if root is not None:  # which part of it a row is differs from row to row
                stack.buffer.aliases = Aliases(None, (Alternative(root),))
        first = 0
        for name, items in self.added.items():
            count = sum(len(leaves) for _, leaves in items)
            mine = stacks[first : first + count]
            rows = [_rows_of(stack, leaf, n) for stack, leaf in
                    zip(mine, (leaf for _, leaves in items for leaf in leaves), strict=True)]  # fmt: skip
            first += count
            for k in range(n):
                column = iter(rows)
                for tree, leaves in items:
                    self.lists[name].append(optree.tree_unflatten(tree, [next(column)[k] for _ in leaves]))


class Pythons:
    """An element as a number of Python's."""

    applies = False

    def read(self, parent: Tracer) -> Tracer:
        return emit(REGISTRY["convert_element_type"], parent, new_dtype=parent.dtype, weak_type=True)

    def write(self, parent: Tracer, update: Tracer) -> Tracer:
        raise AssertionError("numbers cannot be written to")

    def apply(self, array: Any) -> Any:
        raise AssertionError("a number is no view of an array")


def _rows_of(stack: Tracer, like: Tracer, n: int) -> list[Tracer]:
    """The rows of `stack`, of the kind of `like`; noted, so that they are found to belong together."""
    shape = like.shape
    known = stack.buffer.trace.stacked
    rows = []
    for k in range(n):
        ends = ((k, *(0 for _ in shape)), (k + 1, *shape))
        part = make_view(stack, Slice(*ends, (1,) * (1 + len(shape))), (1, *shape), stack.strides, lazy=True)
        row = make_view(part, Squeeze((0,)), shape, stack.strides[1:], lazy=True)
        if like.aval.weak_type:
            row = make_view(row, Pythons(), (), (), lazy=True)
            row.aval = Aval((), like.dtype, weak_type=True)
        row.scalar = like.scalar
        known[id(row)] = (row, stack, k, stack.buffer.version)
        rows.append(row)
    return rows


def rows_together(items: Sequence[Any]) -> Tracer | None:
    """The items of a list as one new array, where most of them are rows that a loop has stacked; None elsewhere."""
    if len(items) < 2 or not any(type(x) is Tracer and id(x) in x.buffer.trace.stacked for x in items[:2]):
        return None
    first = items[0]
    if any(type(x) is not Tracer or (x.shape, x.dtype) != (first.shape, first.dtype) for x in items):
        return None
    runs: list[tuple[Tracer | None, int, int]] = []  # (stack, first row, number of rows), or (None, item, 1)
    for at, x in enumerate(items):
        entry = x.buffer.trace.stacked.get(id(x))
        if entry is None or entry[3] != x.buffer.version:
            runs.append((None, at, 1))
            continue
        _, stack, k, _ = entry
        if runs and runs[-1][0] is stack and runs[-1][1] + runs[-1][2] == k:
            runs[-1] = (stack, runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((stack, k, 1))
    if 2 * len(runs) > len(items):
        return None
    parts = [_as_row(items[k]) if stack is None else _some_rows(stack, k, n) for stack, k, n in runs]
    if len(parts) > 1:
        return emit(REGISTRY["concatenate"], *parts, dimension=0)
    return emit(REGISTRY["copy"], parts[0])


def with_whole_stacks(result: Any) -> Any:
    """`result`, with lists of rows that loops have stacked as `CountedList`s: a program gives one array for each.

    Lists of arrays that are, or share memory with, other results stay lists of rows.
    """
    lists: dict[int, tuple[Any, CountedList]] = {}
    seen: dict[int, Any] = {}
    others: set[int] = set()  # the memory of arrays elsewhere in the result

    def look(value: Any) -> None:
        if type(value) is Tracer:
            if not value.scalar:
                others.add(id(value.buffer))
        elif issubclass(type(value), list | tuple | dict) and id(value) not in seen:
            seen[id(value)] = value
            counted = _whole_stack(value) if type(value) is list else None
            if counted is not None:
                lists[id(value)] = value, counted
            items = value.values() if isinstance(value, dict) else value
            for item in items if counted is None else counted.before:
                look(item)

    look(result)
    shared = [place for value, _ in lists.values() for place in _memory(value)]
    kept = {
        key: counted for key, (value, counted) in lists.items()
        if all(item.kind != "array" for item in counted.items.items)  # type: ignore[union-attr]
        or not any(place in others or shared.count(place) > 1 for place in _memory(value))
    }  # fmt: skip
    return _replaced(result, dict(kept)) if kept else result


def _replaced(value: Any, known: dict[int, Any]) -> Any:
    """`value` with others in place of some containers, by id; those that hold none of them stay what they are."""
    if id(value) in known or not issubclass(type(value), list | tuple | dict):
        return known.get(id(value), value)
    known[id(value)] = value  # it may hold itself
    old = list(value.values()) if isinstance(value, dict) else list(value)
    new = [_replaced(item, known) for item in old]
    if any(a is not b for a, b in zip(old, new, strict=True)):
        if type(value) is dict:
            known[id(value)] = dict(zip(value, new, strict=True))
        elif type(value) in (list, tuple):
            known[id(value)] = type(value)(new)
        elif hasattr(type(value), "_make"):
            known[id(value)] = value._make(new)  # type: ignore[attr-defined]
    return known[id(value)]


def _whole_stack(items: list[Any]) -> CountedList | None:
    """A list of which all but the first few items are rows, one after the other, of one array, or tuples of them."""
    first = next((k for k, x in enumerate(items[:FEW]) if _entry(x) is not None), None)
    if first is None:
        first = next((k for k, x in enumerate(items[:FEW]) if _is_row_tuple(x)), None)
    if first is None or len(items) - first < FEW:
        return None
    rows = items[first:]
    in_tuple = type(rows[0]) is tuple
    if in_tuple and not all(_is_row_tuple(x) and len(x) == len(rows[0]) for x in rows):
        return None
    stacks = [_one_stack(column) for column in (zip(*rows, strict=True) if in_tuple else [rows])]
    if any(stack is None for stack in stacks):
        return None
    kinds = tuple(map(Item.of, rows[0] if in_tuple else rows[:1]))
    count = lift(np.array(len(rows)))
    return CountedList.rebuilt(items[:first], Items(kinds, in_tuple, ("", 0)), stacks, count)  # type: ignore[arg-type]


def _memory(rows: list[Any]) -> set[int]:
    """Of the last of some rows, or tuples of them: the ids of the buffers."""
    last = rows[-1]
    return {id(x.buffer) for x in (last if type(last) is tuple else (last,))}


def _entry(x: Any) -> tuple[Tracer, Tracer, int, int] | None:
    return x.buffer.trace.stacked.get(id(x)) if type(x) is Tracer else None


def _is_row_tuple(x: Any) -> bool:
    return type(x) is tuple and bool(x) and all(_entry(part) is not None for part in x)


def _one_stack(rows: Sequence[Any]) -> Tracer | None:
    """The array of which `rows` are those of some, one after the other, with nothing written to them since."""
    entries = [_entry(x) for x in rows]
    first = entries[0]
    if first is None or first[1].buffer.ambiguous:
        return None
    for k, entry in enumerate(entries):
        if entry is None or entry[1] is not first[1] or entry[2] != first[2] + k:
            return None
        if entry[3] != first[1].buffer.version:
            return None
    return _some_rows(first[1], first[2], len(rows))


def _as_row(x: Tracer) -> Tracer:
    dimensions = tuple(range(1, len(x.shape) + 1))
    return emit(REGISTRY["broadcast_in_dim"], lift(x), shape=(1, *x.shape), broadcast_dimensions=dimensions)


def _some_rows(stack: Tracer, first: int, n: int) -> Tracer:
    stack = lift(stack)
    whole = from_atom(stack.buffer.trace, stack.current)
    starts, limits = (first, *(0 for _ in stack.shape[1:])), (first + n, *stack.shape[1:])
    if (n, *stack.shape[1:]) == stack.shape:
        return whole
    return emit(REGISTRY["slice"], whole, start_indices=starts, limit_indices=limits, strides=None)
