"""Lists that go into a loop which is one equation, and that come out of it.

What a list holds before the loop comes in as numbers, or as the arrays of a `CountedList`. What it holds afterwards
goes out as one array for each number of an element, with room for as many as `counted_lists` decides, and how many
there are.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from types import FunctionType
from typing import Any

import numpy as np
import optree

from ...ir import REGISTRY, Aval
from ..blanks import NUMBERS
from ..counted_lists import CountedList, Item, here
from ..counted_lists import Items as CountedItems
from ..counted_loops import lists_alone
from ..counted_tables import CLASSES, CountedTable, table_of
from ..growing import rows_of_stack
from ..jumps import LoopSource, jumps
from ..liveness import bound, read
from ..loop_patterns import appended
from ..tracer import Tracer, emit, from_atom, lift, require_trace
from ..variables import Variables
from .blanks import blank
from .expressions import MOST_ITEMS, local
from .list_arrays import leaves_of, list_into_room, list_of_arrays
from .list_names import appended_names, called_names, growing_names, handed_names, of_one_length, table_names
from .table_texts import DEFAULTS, check_keys, hidden_names, index_lines
from .types import (
    F64,
    I64,
    PYTHONS,
    WIDE,
    Growing,
    Items,
    Number,
    Table,
    Type,
    UntranslatableError,
    join_items,
    weak_int,
)

MOST_GIVEN = 64  # elements of a list before the loop, each of which is an argument


@dataclass(frozen=True, slots=True)
class Lists:
    """What a loop may do with lists outside. names: of those that it may change or read; fixed: of those that keep
    their lengths; stacked: of those to which each iteration appends the same number of items, and does nothing else
    with, how many there will be; may_leave: whether what they hold afterwards may be looked at; tables: of
    dictionaries and sets; alone: the fixed and stacked ones to which nothing else refers; for_arrays: those of which
    arrays are made, to which Python's floats are as good as NumPy's."""

    names: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()
    stacked: Mapping[str, int] = field(default_factory=dict)
    may_leave: bool = False
    tables: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()
    for_arrays: frozenset[str] = frozenset()

    def with_unknown_lengths(self) -> Lists:
        """The same, but that only the run tells how many items a list holds to which nothing else refers."""
        stacked = {name: n for name, n in self.stacked.items() if name not in self.alone}
        return replace(self, fixed=self.fixed - self.alone, stacked=stacked)


NO_LISTS = Lists()


def lists_of_step(
    source: LoopSource, variables: Variables, stacked: Collection[str] = (), alone: Collection[str] = (), n: float = 0,
    may_grow: frozenset[str] = frozenset(),
) -> Lists:  # fmt: skip
    """The lists that a loop may take as one step: those that it changes, if nothing else refers to them, those of
    which only the run tells how long they are, and long ones. stacked: those to which it only appends, once in each of
    its `n` iterations; alone: those of them that it reaches by no other name; may_grow: those to which nothing else
    refers at all."""
    trace = require_trace()
    if trace.on_gpu:
        return NO_LISTS
    growing = _growing(source)
    counts = {} if trace.region else {k: int(n) * m for k, m in _stacked(source).items() if k in stacked and k in alone}
    names = lists_alone(growing.difference(stacked), variables.get, (list, deque, CountedList))
    names |= {name for name in _read(source) - growing if type(variables.own(name)) is CountedList}
    stored, looked_up = (found - growing for found in _of_one_length(source))
    fixed = lists_alone(stored, variables.own)
    handed = {name for name in _handed(source) if _is_long(variables.own(name))}
    names |= lists_alone(handed - names - fixed, variables.own)
    in_closures = {name for called in _called(source) for name in _closure_names(variables.own(called))}
    names |= lists_alone((in_closures & _read(source)) - names - counts.keys(), variables.own)
    long = {name for name in looked_up if _is_long(variables.own(name))}
    changed, looked_into = _tables(source)
    tables = lists_alone(changed, variables.own, (*CLASSES, CountedTable))
    tables |= {name for name in looked_into - _bound(source) if _is_table(variables.glimpse(name))}
    return Lists(names | fixed | long | counts.keys(), fixed, counts, not trace.region, tables, fixed | may_grow)


@functools.lru_cache(4096)
def _stacked(source: LoopSource) -> Mapping[str, int]:
    """How often each iteration appends to lists, by their names, of those with which it does nothing else."""
    return {} if jumps(source.node.body, True) else appended(source.node)


@functools.lru_cache(4096)
def _of_one_length(source: LoopSource) -> tuple[frozenset[str], frozenset[str]]:
    return of_one_length(source.node)


@functools.lru_cache(4096)
def appended_to(source: LoopSource) -> frozenset[str]:
    """The names of lists that a loop appends to, and which nothing in it hands on."""
    return appended_names(source.node)


@functools.lru_cache(4096)
def _tables(source: LoopSource) -> tuple[frozenset[str], frozenset[str]]:
    return table_names(source.node)


def _is_table(value: Any) -> bool:
    """Whether it is a dictionary of numbers, by numbers or tuples of these, or a set of such."""
    if type(value) is CountedTable:
        return True
    if type(value) not in CLASSES or not value or not all(isinstance(key, _OF_KEYS) for key in value):
        return False
    return type(value) is set or all(type(x) is Tracer or isinstance(x, NUMBERS) for x in value.values())


_OF_KEYS = (int, float, np.integer, np.floating, tuple)


def _is_long(value: Any) -> bool:
    return type(value) is list and len(value) > MOST_ITEMS


@functools.lru_cache(4096)
def _bound(source: LoopSource) -> frozenset[str]:
    return bound([source.node])


@functools.lru_cache(4096)
def _called(source: LoopSource) -> frozenset[str]:
    return called_names(source.node)


def _closure_names(function: Any) -> tuple[str, ...]:
    return function.__code__.co_freevars if type(function) is FunctionType else ()


@functools.lru_cache(4096)
def _handed(source: LoopSource) -> frozenset[str]:
    return handed_names(source.node)


@functools.lru_cache(4096)
def _growing(source: LoopSource) -> frozenset[str]:
    return growing_names([source.node])


@functools.lru_cache(4096)
def _read(source: LoopSource) -> frozenset[str]:
    return read(source.node)


@dataclass(frozen=True, slots=True)
class GivenList:
    """A list before the loop. kind: what its elements are; arguments: names and values; elements: of a list with an
    argument for each number, the texts of its elements over the arguments' names; counted: the arguments are arrays,
    and how many of their elements there are."""

    name: str
    kind: Growing
    arguments: tuple[tuple[str, Any], ...]
    elements: tuple[str, ...] = ()
    counted: bool = False

    def lines(self, kind: Growing) -> list[str]:
        """What makes the list in the loop's text. kind: what the loop takes it for."""
        name = local(self.name)
        if self.counted:
            *arrays, count = [local(each) for each, _ in self.arguments]
            lines = list_of_arrays(name, kind.item, arrays, count)  # type: ignore[arg-type]  # known of such a list
        else:
            lines = [f"{name} = no_items({blank(kind.item)})", *(f"{name}.append({each})" for each in self.elements)]
        return [*lines, f"{self.name}__first = 0"] if kind.is_queue else lines

    def python_line(self) -> str:
        """What makes it in Python, by `MAKERS`."""
        if self.counted:
            names = "".join(f"{name}, " for name, _ in self.arguments)
            weak = [leaf.weak for leaf in leaves_of(self.kind.item)]  # type: ignore[arg-type]  # known of such a list
            return f"{self.name} = _wb_from_arrays({names}like={_places(self.kind.item, count())}, weak={weak})"
        maker = "_wb_deque" if self.kind.is_deque else "_wb_list"
        return f"{self.name} = {maker}(({''.join(f'{each}, ' for each in self.elements)}))"


@dataclass(frozen=True, slots=True)
class GivenTable:
    """A dictionary or set before the loop. held: the lists of its keys, and of its values; is_ordered: as of
    `CountedTable`."""

    name: str
    kind: Table
    held: tuple[GivenList, ...]
    is_ordered: bool = True

    @property
    def kinds(self) -> dict[str, Type]:
        """Of the variables that stand for it."""
        return {self.name: self.kind, **{each.name: each.kind for each in self.held}}

    def lines(self, key: Type | None) -> list[str]:
        """What makes the index, when the lists are there. key: what the loop takes for the type of keys."""
        return index_lines(self.name, key)

    def python_line(self) -> str:
        lists = "".join(f"{each.name}, " for each in self.held)
        return f"{self.name} = {self.maker}({lists}{'None' if self.kind.is_set else ''})"

    @property
    def maker(self) -> str:
        return f"_wb_table_of_{self.name}"

    def made(self, keys: list[Any], values: list[Any] | None) -> Any:
        return table_of(self.kind.of, self.kind.default, keys, values)


def given_table(name: str, value: Any, kind_of: Callable[[str, Any], Type]) -> GivenTable:
    """How a dictionary or set goes into a loop. kind_of: as of `given_list`."""
    if type(value) is CountedTable:
        kind, held = Table(value.of, value.default), value.held
    else:
        kind = Table(type(value), getattr(value, "default_factory", None))
        held = (list(value), *(() if kind.is_set else (list(value.values()),)))
    if kind.default is not None and kind.default not in DEFAULTS:
        raise UntranslatableError(f"`{name}`, a defaultdict of {kind.default}")
    found = tuple(
        given_list(hidden, each, kind_of) for hidden, each in zip(hidden_names(name, kind), held, strict=True)
    )
    check_keys(found[0].kind)  # type: ignore[union-attr]  # a list
    is_ordered = type(value) is not CountedTable or value.is_ordered
    return GivenTable(name, kind, found, is_ordered)  # type: ignore[arg-type]  # lists


def _places(kind: Type | None, numbers: Iterator[int]) -> Any:
    """An element of a list, with places in the place of its numbers."""
    return tuple(_places(each, numbers) for each in kind.items) if isinstance(kind, Items) else next(numbers)


def _from_arrays(*arguments: Any, like: Any, weak: Sequence[bool]) -> list[Any]:
    """The list of a `CountedList`'s arrays and count. like: of its elements, which array has which number."""
    *arrays, n = arguments
    columns = [array[:n].tolist() if w else list(array[:n]) for array, w in zip(arrays, weak, strict=True)]

    def element(k: int, like: Any) -> Any:
        return tuple(element(k, each) for each in like) if isinstance(like, tuple) else columns[like][k]

    return [element(k, like) for k in range(n)]


MAKERS = {"_wb_list": list, "_wb_deque": deque, "_wb_from_arrays": _from_arrays}


def given_list(name: str, value: Any, kind_of: Callable[[str, Any], Type]) -> GivenList | None:
    """How a list goes into a loop; None for what is no list. kind_of: gives the type of a number."""
    if type(value) is CountedList:
        return _given_counted(name, value)
    if type(value) not in (list, deque):
        return None
    if type(value) is list and len(value) > MOST_ITEMS and {*map(type, value)} in ({int}, {float}):
        return _given_numbers(name, value)
    if len(value) > MOST_GIVEN or getattr(value, "maxlen", None) is not None:
        raise UntranslatableError(f"`{name}`, a list of many items, or of a greatest length")
    arguments: list[tuple[str, Any]] = []

    def element(each: Any, path: str) -> tuple[str, Type]:
        if type(each) is tuple and each:
            parts = [element(x, f"{path}_{k}") for k, x in enumerate(each)]
            return f"({''.join(f'{text}, ' for text, _ in parts)})", Items(tuple(kind for _, kind in parts))
        kind = kind_of(path, each)
        if not isinstance(kind, Number):
            raise UntranslatableError(f"`{name}`, a list of {kind}")
        arguments.append((path, each))
        return local(path), kind

    item: Type | None = None
    texts = []
    for k, each in enumerate(value):
        text, kind = element(each, f"{name}__{k}")
        texts.append(text)
        item = join_items(item, kind)
    is_deque = type(value) is deque
    return GivenList(name, Growing(item, is_deque, is_deque), tuple(arguments), tuple(texts))


def _given_numbers(name: str, value: list[Any]) -> GivenList:
    """A long list of Python's numbers of one type, which are no data: an array with them."""
    if type(value[0]) is int and not all(-WIDE[1] <= v <= WIDE[1] for v in value):
        raise UntranslatableError(f"`{name}`, a list of large numbers")
    array = np.array(value)
    kind = weak_int(min(value), max(value)) if type(value[0]) is int else Number(F64, True)
    return GivenList(name, Growing(kind), ((f"{name}__0", array), (f"{name}__n", len(value))), (), True)


def _given_counted(name: str, value: CountedList) -> GivenList:
    items = value.items
    if items is None or value.mixed or value.first < len(value.before):
        raise UntranslatableError(f"`{name}`, a list of which only the run tells what it holds")
    numbers = list(map(_number_of, items.items))
    kind = numbers[0] if items.tree is None else _kind_like(name, items.tree.unflatten(range(len(numbers))), numbers)
    arguments: list[tuple[str, Any]] = [(f"{name}__{k}", array) for k, array in enumerate(value.arrays)]
    arguments.append((f"{name}__n", from_atom(require_trace(), lift(value.count).current)))
    return GivenList(name, Growing(kind), tuple(arguments), (), True)


def _kind_like(name: str, places: Any, numbers: Sequence[Number]) -> Type:
    """The type of tuples of numbers, or of such. places: of the numbers in them."""
    if type(places) is int:
        return numbers[places]
    if type(places) is not tuple or not places:
        raise UntranslatableError(f"`{name}`, a list of which only the run tells what it holds")
    return Items(tuple(_kind_like(name, each, numbers) for each in places))


def _number_of(item: Item) -> Number:
    if item.kind == "array":
        raise UntranslatableError("a list of arrays")
    if item.kind == "scalar":
        return Number(item.dtype)
    return PYTHONS[item.dtype.kind]


@dataclass(frozen=True, slots=True)
class LeftList:
    """A list that the loop leaves. items: what it holds, and how much room there is; length: if it is known; stacked:
    whether these are items that come after those that it had."""

    name: str
    kind: Growing
    items: CountedItems
    length: int | None = None
    stacked: bool = False

    @classmethod
    def of(
        cls, name: str, kind: Growing, length: int | None = None, *, stacked: bool = False, for_array: bool = False
    ) -> LeftList:
        """UntranslatableError for what a `CountedList` cannot hold."""
        if kind.is_queue or kind.item is None or isinstance(kind.item, Growing):
            raise UntranslatableError(f"`{name}`, {kind}")
        leaves = leaves_of(kind.item)
        mixed: tuple[type, ...] = ()
        doubtful = [leaf for leaf in leaves if leaf.unsure or leaf.mixed or leaf.enum]
        if any(leaf not in (Number(F64, unsure=True), Number(I64, unsure=True)) for leaf in doubtful):
            raise UntranslatableError(f"`{name}`, a list of numbers whose type depends on the path")
        if doubtful and not for_array:
            if length is not None:
                raise UntranslatableError(f"`{name}`, a list of numbers whose type depends on the path")
            mixed = tuple(dict.fromkeys(float if leaf.kind == "f" else int for leaf in doubtful))
        items = tuple(Item((), leaf.dtype, "python" if leaf.weak else "scalar") for leaf in leaves)
        tree = None if isinstance(kind.item, Number) else optree.tree_structure(_zeros(kind.item), none_is_leaf=True)
        return cls(name, kind, CountedItems(items, tree, here(), mixed=mixed), length, stacked)

    @property
    def room(self) -> tuple[str, int]:
        """The argument with it, and what it is."""
        return f"{self.name}__room", self.items.room if self.length is None else self.length

    def text(self, lines: list[str]) -> list[str]:
        """What the loop gives for it, of which `lines` make the arrays. Elements for which there is no room are left
        out: who looks at the count runs the program again."""
        name, (room, _) = local(self.name), self.room
        assert self.kind.item is not None
        arrays = [f"{self.name}__all_{k}" for k in range(len(self.items.items))]
        lines += list_into_room(name, self.kind.item, arrays, local(room))
        return arrays if self.stacked else [*arrays, f"len({name})"]

    def spread(self, value: list[Any]) -> list[Any]:
        """The same of the list that Python has made."""
        _, room = self.room
        rows = [optree.tree_leaves(each, none_is_leaf=True) for each in value]
        arrays: list[Any] = [np.zeros(room, item.dtype) for item in self.items.items]
        for k, row in enumerate(rows[:room]):
            for array, x in zip(arrays, row, strict=True):
                array[k] = x
        return arrays if self.stacked else [*arrays, len(value)]

    def beside(self, other: CountedList, results: Sequence[Tracer]) -> CountedList:
        """The list after the loop, which is as long as another one."""
        return CountedList.rebuilt((), self.items, results[:-1], other.count)

    def after(self, results: Sequence[Tracer]) -> CountedList | list[Any]:
        """The list after the loop, or what comes to it, of the equation's results."""
        if self.stacked:
            assert self.length is not None
            pairs = zip(results, self.items.items, strict=True)
            avals = [(array, Aval((), item.dtype, item.kind != "scalar")) for array, item in pairs]
            return self.items.together([rows_of_stack(*each, self.length, scalar=True) for each in avals])
        *arrays, count = results
        if self.length is None or self.length > MOST_GIVEN:
            return CountedList.left_by_loop(self.name, self.items, arrays, count, self.length)
        columns = [
            [_as_number(array[k], item) for k in range(self.length)]
            for array, item in zip(arrays, self.items.items, strict=True)
        ]
        return self.items.together(columns)


@dataclass(frozen=True, slots=True)
class LeftTable:
    """A dictionary or set that the loop leaves. lists: the names of those that stand for it; is_ordered: as of
    `CountedTable`."""

    kind: Table
    lists: tuple[str, ...]
    is_ordered: bool

    def after(self, name: str, held: Sequence[CountedList]) -> CountedTable:
        return CountedTable(name, self.kind.of, self.kind.default, held, is_ordered=self.is_ordered)


def _as_number(x: Tracer, item: Item) -> Tracer:
    """An element of an array as the number that stood in the list."""
    if item.kind == "scalar":
        return x
    return emit(REGISTRY["convert_element_type"], x, new_dtype=item.dtype, weak_type=True)


def _zeros(kind: Type) -> Any:
    return tuple(map(_zeros, kind.items)) if isinstance(kind, Items) else 0
