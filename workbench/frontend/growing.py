"""Lists that a loop appends to: as an equation, the loop stacks what its iterations append, row by row.

`trajectory.append(x)` in every iteration becomes a stacked result of the scan. After the loop the list holds views of
its rows, and `np.array(trajectory)` finds that they are one array already (`rows_together`). Items may be containers of
numbers and arrays. Lists and dicts among them are objects that can be changed, so it matters who else holds them.
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np
import optree

from ..ir import REGISTRY, Aval
from .aliases import Aliases, Alternative, given_roots
from .blanks import NUMBERS, is_number
from .choices import is_choice
from .counted_lists import CountedList, Item, Items
from .items import as_row
from .merging import refuse
from .outside_lists import OutsideList, OutsideListError
from .places import RowHolder, appended_at, not_told
from .recording import Deferred
from .regions import Region
from .row_arrays import Carried, array_elsewhere, array_of, is_from_around, memory_of, with_arrays_once
from .tracer import Tracer, emit, from_atom, lift, require_trace
from .variables import Variables
from .views import Slice, Squeeze, make_view

if TYPE_CHECKING:
    from .traced_bodies import TracedBody

FEW = 8  # items: shorter lists are made of single results
MOST_DEEP = 4  # containers of rows, in one another


def lists_to_stack(
    variables: Variables, reads: Sequence[str], appended: Collection[str], grown: frozenset[str]
) -> dict[str, list]:  # fmt: skip
    """The lists of these names, which the body can reach by no other. grown: those that nothing else refers to."""
    own = grown | variables.cells.keys()  # a cell's variables may be seen by others
    lists = {name: value for name in appended if name in own and type(value := variables.get(name)) is list}
    if not lists:
        return lists
    others = variables.watched([name for name in reads if name not in lists], ()).contents
    known = [id(value) for _, value, _ in others] + [id(value) for value in lists.values()]
    return {name: value for name, value in lists.items() if known.count(id(value)) == 1}


class Growth:
    """What one traced iteration appends to lists. lists: those outside, by the name of their variable."""

    def __init__(self, lists: Mapping[str, list]):
        self.lists = lists
        self.added: dict[str, list[tuple[Any, list[Tracer]]]] = {}  # of each list, items as (tree, leaves)
        self.roots: dict[int, Tracer] = {}  # of leaves that are views of an array outside: that array
        self.stand_ins: dict[str, OutsideList] = {}  # for those that objects hold
        self.outer: list[Any] = []  # for each leaf, the array outside that it is, if one
        self.found: dict[str, list[Any]] = {}  # the items as they were made
        self.begins: dict[str, Any] = {}  # the values of the variables that are carried, before the iteration
        self.ends: dict[str, Any] = {}  # and after it
        # Of leaves whose rows may be one array, by list, item and leaf; and the first row that this one is.
        self.holders: dict[tuple[str, int, int], RowHolder] = {}
        self.firsts: dict[tuple[str, int, int], Tracer] = {}

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
                self.found[name] = found
                self.added[name] = [optree.tree_flatten(item, none_is_leaf=True)[::-1] for item in found]  # type: ignore[misc]  # (tree, leaves)
            variables.set(name, outside)

    def added_so_far(self, variables: Any) -> frozenset[int]:
        """The ids of lists and dicts in what the iteration has appended."""
        lists = (self.stand_ins[name].added if name in self.stand_ins else variables.get(name) for name in self.lists)
        return frozenset(id(x) for items in lists for item in items for x in mutables(item))

    def unfit(self, error: BaseException) -> str | None:
        """The list to which the iteration does more than to append once, if `error` tells of that."""
        for name, stand_in in self.stand_ins.items():
            if stand_in.was_read or isinstance(error, OutsideListError) and error.outside is stand_in:
                return name
        return None

    def links(self) -> list[tuple[str, str, int, bool]]:
        """Which variables hold the very list or dict that is an item: the variable, the list, the item's place among
        those of an iteration, and whether that is before the iteration. Refused where something else holds one."""
        if not any(tree.type not in (None, tuple) or tree.num_nodes > 1 + tree.num_children
                   for items in self.added.values() for tree, _ in items):  # fmt: skip
            return []  # numbers and arrays alone, or tuples of them
        ends = {id(x): name for name, value in self.ends.items() for x in mutables(value)}
        begins = {id(x): name for name, value in self.begins.items() for x in mutables(value)}
        tops = {id(item): (name, at) for name, items in self.found.items() for at, item in enumerate(items)}
        inside = [(name, list(mutables(items))[1:]) for name, items in self.found.items()]
        every = [id(x) for _, xs in inside for x in xs]
        found = []
        for name, xs in inside:
            for x, n in zip(xs, _references(xs), strict=True):
                at_end = [k for k, value in self.ends.items() if value is x]
                at_begin = [k for k, value in self.begins.items() if value is x]
                known = bool(at_end) != bool(at_begin) and id(x) in tops and len(at_begin) < 2
                held = id(x) in ends or id(x) in begins
                if every.count(id(x)) > 1 or held and not known or not held and n > _ALONE:
                    raise refuse("appends to", name, "a list or dict that something else holds, too, in a traced loop")
                found += [(k, *tops[id(x)], k in at_begin) for k in (*at_end, *at_begin)]
        return found

    def note_places(self, region: Region, prepared: TracedBody, rows: range) -> None:
        """Note where arrays are of which branches decide whether an iteration, or an earlier one, appends them."""
        leaves = {
            (name, at, k): region.leaf(leaf)
            for name, items in self.added.items()
            for at, (_, each) in enumerate(items)
            for k, leaf in enumerate(each)
            if type(leaf) is Tracer and not leaf.scalar
        }
        inside = {id(x.buffer) for x in (*prepared.inputs.values(), *leaves.values())}
        inside |= {id(entry.tracer.buffer) for entry in region.captured if entry.tracer is not None}
        ends = [*leaves.values(), *(x for x in prepared.finals().values() if not x.scalar)]
        if not self.holders and all(inside.isdisjoint(id(r.buffer) for r in given_roots(x.buffer)) for x in ends):
            return
        for key, x in leaves.items():
            holder = self.holders.setdefault(key, RowHolder())
            number = region.run(lambda: _row_number(region.inputs[0], rows))
            first = region.run(functools.partial(appended_at, holder, 0, x, number))
            self.firsts[key] = number if first is None else first

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
                self.outer += [leaf if is_from_around(leaf, region.record) else None for leaf in leaves]
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

    def fill(
        self, stacks: Sequence[Tracer], shared: Sequence[bool], n: int, carried: Sequence[Carried]
    ) -> None:  # fmt: skip
        """Append the rows of `n` iterations to the lists. carried: the arrays that the loop carries."""
        leaves = [leaf for items in self.added.values() for _, each in items for leaf in each]
        keys = [(name, at, k) for name, items in self.added.items() for at, (_, each) in enumerate(items)
                for k in range(len(each))]  # fmt: skip
        firsts = dict(zip(self.firsts, stacks[len(leaves) :], strict=True))
        for key, stack in zip(keys, stacks, strict=False):
            if key in firsts:
                found = stack, firsts[key], self.holders[key]
                stack.buffer.trace.repeated_rows[id(stack.buffer)] = found
        for stack, is_shared, leaf in zip(stacks, shared, leaves, strict=False):
            stack.scalar = False
            stack.buffer.ambiguous = is_shared
            root = self.roots.get(id(leaf))
            if root is not None:  # which part of it a row is differs from row to row
                stack.buffer.aliases = Aliases(None, (Alternative(root),))
        pairs = zip(stacks, leaves, strict=False)
        columns = [rows_of_stack(stack, leaf.aval, n, scalar=leaf.scalar) for stack, leaf in pairs]
        columns = with_arrays_once(columns, leaves, carried, self.outer)
        first = 0
        for name, items in self.added.items():
            count = sum(len(leaves) for _, leaves in items)
            mine = columns[first : first + count]
            first += count
            for k in range(n):
                column = iter(mine)
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


def _row_number(item: Any, rows: range) -> Tracer:
    """How many iterations there were before the one over `item`."""
    number = (item - rows.start) // rows.step if (rows.start, rows.step) != (0, 1) else item
    return emit(REGISTRY["convert_element_type"], lift(number), new_dtype=np.dtype(np.int64), weak_type=False)


def rows_of_stack(stack: Tracer, aval: Aval, n: int, *, scalar: bool) -> list[Tracer]:
    """The rows of `stack`, each of them an `aval`; noted, so that they are found to belong together."""
    shape = aval.shape
    known = stack.buffer.trace.stacked
    rows = []
    for k in range(n):
        ends = ((k, *(0 for _ in shape)), (k + 1, *shape))
        part = make_view(stack, Slice(*ends, (1,) * (1 + len(shape))), (1, *shape), stack.strides, lazy=True)
        row = make_view(part, Squeeze((0,)), shape, stack.strides[1:], lazy=True)
        if aval.weak_type:
            row = make_view(row, Pythons(), (), (), lazy=True)
            row.aval = Aval((), aval.dtype, weak_type=True)
        row.scalar = scalar
        known[id(row)] = (row, stack, k, stack.buffer.version)
        rows.append(row)
    return rows


def mutables(value: Any) -> Iterator[Any]:
    """The lists and dicts in a value, itself included."""
    if issubclass(type(value), list | dict | deque):
        yield value
    if issubclass(type(value), list | dict | deque | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from mutables(item)


def _references(values: Sequence[Any]) -> list[int]:
    return [sys.getrefcount(value) for value in values]


_ALONE = _references([[0.0]])[0] + 1  # in the list that holds it


def columns_of(items: Sequence[Any]) -> list[Sequence[Any]] | None:
    """The columns of lists or tuples that are as long as each other, of which the first ones hold rows that a loop has
    stacked; None for other items."""
    if len(items) < FEW or any(type(x) not in (list, tuple) for x in items):
        return None
    if len({len(x) for x in items}) > 1 or not any(_holds(x, _is_row) for x in items[:FEW]):
        return None
    return list(zip(*items, strict=True))


def rows_together(items: Sequence[Any]) -> Tracer | None:
    """The items of a list as one new array, where most of them are rows that a loop has stacked; None elsewhere."""
    first = next((x for x in items[:FEW] if _is_row(x)), None)
    if first is None or len(items) < 2:
        return None
    if type(items[0]) is not Tracer:  # what the list began with
        items = [lift(x) if isinstance(x, NUMBERS) else x for x in items[:FEW]] + list(items[FEW:])
    if any(type(x) is not Tracer or (x.shape, x.dtype) != (first.shape, first.dtype) for x in items):
        return None
    runs: list[tuple[Tracer | None, int, int]] = []  # (stack, first row, number of rows), or (None, item, 1)
    for at, x in enumerate(items):
        entry = x.buffer.trace.stacked.get(id(x))
        if entry is None or entry[3] != x.buffer.version:
            if x.buffer.mixed:
                return None
            runs.append((None, at, 1))
            continue
        _, stack, k, _ = entry
        if runs and runs[-1][0] is stack and runs[-1][1] + runs[-1][2] == k:
            runs[-1] = (stack, runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((stack, k, 1))
    if 2 * len(runs) > len(items):
        return None
    parts = [as_row(items[k]) if stack is None else _some_rows(stack, k, n) for stack, k, n in runs]
    if len(parts) > 1:
        return emit(REGISTRY["concatenate"], *parts, dimension=0)
    return emit(REGISTRY["copy"], parts[0])


def with_whole_stacks(result: Any, inputs: Set[int] = frozenset()) -> Any:
    """`result`, with lists of rows that loops have stacked as `CountedList`s: a program gives one array for each.

    Rows that are arrays elsewhere in the result, or of inputs, become these. Lists of arrays that share memory with
    other results stay lists of rows. inputs: the ids of their buffers.
    """
    lists: dict[int, tuple[Any, CountedList]] = {}
    seen: dict[int, Any] = {}
    others: set[int] = set()  # the memory of arrays elsewhere in the result
    arrays: list[Any] = []

    def look(value: Any, may_be_whole: bool = True) -> None:
        if type(value) is Tracer or isinstance(value, np.ndarray):
            others.update(memory_of(value))
            arrays.append(value)
        elif issubclass(type(value), list | tuple | dict) and id(value) not in seen:
            seen[id(value)] = value
            counted = _whole_stack(value) if may_be_whole and type(value) is list else None
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
    for key, (value, _) in lists.items():
        if key not in kept:
            del seen[key]
            look(value, may_be_whole=False)
    trace = require_trace()
    untold = trace.repeated_rows.keys() | trace.untold_rows
    if untold and any(id(x.buffer) in untold for x in arrays if type(x) is Tracer):
        raise not_told()
    if not trace.untold_rows.isdisjoint(place for key in kept for place in _memory(lists[key][0])):
        raise not_told()
    known: dict[int, Any] = dict(kept)
    if trace.row_arrays:
        elsewhere = others | inputs | trace.shown_in_rows
        for key, counted in kept.items():
            counted.arrays_elsewhere = _arrays_elsewhere(lists[key][0][len(counted.before) :], elsewhere)
        known |= {id(x): found for x in arrays if (found := array_elsewhere(x, elsewhere)) is not x}
    return _replaced(result, known) if known else result


def _arrays_elsewhere(items: list[Any], seen: Set[int]) -> tuple[tuple[int, int, Any], ...]:
    """The parts of items that are arrays in the memory `seen`: part, item and array."""
    return tuple(
        (part, at, array)
        for at, item in enumerate(items)
        for part, leaf in enumerate(optree.tree_leaves(item, none_is_leaf=True))
        if (array := array_of(leaf, seen)) is not None
    )


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
    """A list of which all but the first few items are rows, one after the other, of one array, or containers of them
    that nothing else holds."""
    first = next((k for k, x in enumerate(items[:FEW]) if _is_row(x)), None)
    if first is None:
        first = next((k for k, x in enumerate(items[:FEW]) if _holds(x, _is_row)), None)
    if first is None or len(items) - first < FEW:
        return None
    if _is_row(items[first]):
        tree, columns, before = None, [items[first:]], items[:first]
    elif not all(_holds(x, is_number) for x in items):
        return None
    else:
        flat = [optree.tree_flatten(x, none_is_leaf=True) for x in items]
        tree, before = flat[first][1], []
        if any(each != tree for _, each in flat) or not _are_alone(items):
            return None
        columns = list(zip(*[leaves for leaves, _ in flat], strict=True))
        if any(_others(column[:first], column[first]) for column in columns):
            return None
    n_before = first - len(before)
    stacks = [_one_stack(column[n_before:]) for column in columns]
    if any(stack is None for stack in stacks):
        return None
    if n_before:
        stacks = [emit(REGISTRY["concatenate"], *map(as_row, map(lift, column[:n_before])), stack, dimension=0)
                  for column, stack in zip(columns, stacks, strict=True)]  # fmt: skip
    kinds = tuple(Item.of(column[n_before]) for column in columns)
    count = lift(np.array(len(items) - len(before)))
    made = CountedList.rebuilt(before, Items(kinds, tree, ("", 0)), stacks, count)  # type: ignore[arg-type]
    repeated = require_trace().repeated_rows
    for part, column in enumerate(columns):
        entry = _entry(column[n_before])
        if entry is not None and (found := repeated.get(id(entry[1].buffer))) is not None:
            stack, firsts, holder = found
            if n_before or entry[2] or len(column) != stack.shape[0]:
                return None
            made.firsts[part] = firsts
            made.holders = (*made.holders, (holder, part))
    return made


def _are_alone(items: list[Any]) -> bool:
    """Whether nothing else holds the lists and dicts in a list, and the dicts have one order."""
    held = list(mutables(items))[1:]
    return all(n <= _ALONE for n in _references(held)) and len({tuple(x) for x in held if isinstance(x, dict)}) <= 1


def _others(values: Sequence[Any], row: Tracer) -> bool:
    """Whether some values are no numbers of the kind of a row."""
    numbers = all(type(x) is Tracer or isinstance(x, NUMBERS) for x in values)
    return bool(values) and (
        not row.scalar or not numbers or any(x.buffer.mixed or Item.of(x) != Item.of(row) for x in map(lift, values))
    )


def _memory(rows: list[Any]) -> set[int]:
    """Of the last of some rows, or containers of them: the ids of the buffers."""
    return {id(x.buffer) for x in optree.tree_leaves(rows[-1], none_is_leaf=True)}


def _entry(x: Any) -> tuple[Tracer, Tracer, int, int] | None:
    return x.buffer.trace.stacked.get(id(x)) if type(x) is Tracer else None


def _holds(x: Any, is_leaf: Callable[[Any], bool], deep: int = MOST_DEEP) -> bool:
    """Whether each leaf of a value is of some kind, and containers are not too deep in one another."""
    if is_choice(x):
        return all(map(is_leaf, optree.tree_leaves(x, none_is_leaf=True)))
    if not issubclass(type(x), list | tuple | dict):
        return is_leaf(x)
    items = x.values() if isinstance(x, dict) else x
    return deep > 0 and len(x) > 0 and all(_holds(item, is_leaf, deep - 1) for item in items)


def _is_row(x: Any) -> bool:
    return _entry(x) is not None


def _one_stack(rows: Sequence[Any]) -> Tracer | None:
    """The array of which `rows` are those of some, one after the other, with nothing written to them since."""
    entries = [_entry(x) for x in rows]
    first = entries[0]
    if first is None or first[1].buffer.aliases is not None:
        return None
    for k, entry in enumerate(entries):
        if entry is None or entry[1] is not first[1] or entry[2] != first[2] + k:
            return None
        if entry[3] != first[1].buffer.version:
            return None
    return _some_rows(first[1], first[2], len(rows))


def _some_rows(stack: Tracer, first: int, n: int) -> Tracer:
    stack = lift(stack)
    whole = from_atom(stack.buffer.trace, stack.current)
    starts, limits = (first, *(0 for _ in stack.shape[1:])), (first + n, *stack.shape[1:])
    if (n, *stack.shape[1:]) == stack.shape:
        return whole
    return emit(REGISTRY["slice"], whole, start_indices=starts, limit_indices=limits, strides=None)
