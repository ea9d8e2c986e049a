"""Dictionaries and sets of which only the run tells which keys they have: a list of the keys and one of the values.

counts = {}                           keys, values, n = room for both, and how many there are
for k in x:                   ->
    counts[k] = ...
                                      counts = dict(zip(keys[:n], values[:n]))
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from ..errors import TracingError, UnknownLengthError
from .blanks import NUMBERS
from .checks import end_unless
from .counted_lists import CountedList, Items
from .diagnostics import build
from .operators import weaken
from .recording import Deferred
from .tracer import Tracer

CLASSES = (dict, set, defaultdict, Counter)


def table_of(of: type, default: Callable[[], Any] | None, keys: Sequence[Any], values: Sequence[Any] | None) -> Any:
    """A dictionary or set to which its entries came in this order. default: of a `defaultdict`."""
    if values is None:
        return set(keys)
    made: Any = defaultdict(default) if of is defaultdict else of()
    dict.update(made, zip(keys, values, strict=True))
    return made


class CountedTable(Deferred):
    """One of them. of: its class; default: of a `defaultdict`; held: the keys, and the values unless it is a set;
    is_ordered: whether Python would go through it as through one to which these keys came one after the other."""

    def __init__(
        self, name: str, of: type, default: Callable[[], Any] | None, held: Sequence[CountedList], *,
        is_ordered: bool = True,
    ):  # fmt: skip
        self.name = name
        self.of = of
        self.default = default
        self.held = tuple(held)
        self.is_ordered = is_ordered

    @property
    def shape(self) -> tuple[Any, ...]:
        """(number of entries,)"""
        return self.held[0].shape

    def __bool__(self) -> Any:
        return self.shape[0] > 0

    def keys(self) -> CountedList:
        return self.held[0] if self.of is not set else self._missing("keys")

    def values(self) -> CountedList:
        return self.held[1] if self.of is not set else self._missing("values")

    def items(self) -> CountedList:
        keys, values = self.keys(), self.values()
        assert keys.items is not None and values.items is not None
        tree = optree.tree_structure((_zeros(keys.items), _zeros(values.items)), none_is_leaf=True)  # type: ignore[arg-type]
        pairs = Items((*keys.items.items, *values.items.items), tree, keys.items.place)
        if keys.items.mixed or values.items.mixed:
            raise self.error()
        return CountedList.rebuilt((), pairs, (*keys.arrays, *values.arrays), keys.count)

    def get(self, key: Any, default: Any = None) -> Any:
        raise self.error()

    def contains(self, key: Any) -> Any:
        """`key in self`."""
        return weaken(self._is_there(key).any())

    def __getitem__(self, key: Any) -> Any:
        values = self.values()
        if self.default is not None or self.of is Counter:  # which would make an entry, or stand for one
            raise self.error()
        there = self._is_there(key)
        end_unless(there.any())
        return values[np.argmax(there)]

    def _is_there(self, key: Any) -> Any:
        """Which places of the room hold a key."""
        from .numpy_api.creation import arange

        keys = self.held[0]
        assert keys.items is not None
        parts = key if type(key) is tuple else (key,)
        is_flat = keys.items.tree is None or keys.items.are_rows
        if not is_flat or len(parts) != len(keys.arrays) or (type(key) is tuple) != (keys.items.tree is not None):
            raise self.error()
        if any(type(x) is not Tracer and not isinstance(x, NUMBERS) or np.shape(x) for x in parts):
            raise self.error()
        room: Any = arange(keys.room)
        there = room < keys.count[()]
        for array, part in zip(keys.arrays, parts, strict=True):
            there = there & (array == part)
        return there

    def error(self) -> TracingError:
        return build(
            UnknownLengthError,
            f"{{line}} needs the entries of `{self.name}`, whose number only the run of a loop tells.",
            f"the number of entries in `{self.name}` depends on data",
            fixes=("return the dictionary, and use it outside",),
        )  # fmt: skip

    def _missing(self, name: str) -> Any:
        raise AttributeError(f"'{self.of.__name__}' object has no attribute '{name}'")

    def __getattr__(self, name: str) -> Any:
        of = self.__dict__.get("of", dict)
        if name.startswith("__") or not hasattr(of, name):
            raise AttributeError(f"'{of.__name__}' object has no attribute '{name}'")
        raise self.error()

    def _needs_entries(self, *_: Any) -> Any:
        raise self.error()

    __len__ = __iter__ = __contains__ = __eq__ = __setitem__ = __delitem__ = __or__ = __array__ = _needs_entries  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


def _zeros(items: Items) -> Any:
    return 0 if items.tree is None else items.tree.unflatten((0,) * len(items.items))


def _flatten(table: CountedTable) -> tuple[Sequence[Any], Any]:
    if not table.is_ordered:
        raise table.error()
    return table.held, (table.name, table.of, table.default)


def _unflatten(about: tuple[str, type, Any], held: Sequence[Any]) -> Any:
    """Of a program's results: what Python makes of them."""
    name, of, default = about
    if all(type(each) is list for each in held):
        return table_of(of, default, held[0], held[1] if len(held) > 1 else None)
    return CountedTable(name, of, default, held)


optree.register_pytree_node(CountedTable, _flatten, _unflatten, namespace=optree.registry.__GLOBAL_NAMESPACE)  # type: ignore[arg-type]
