"""Functions that take lists or make them: `len`, `sum`, heaps, places in what is in order."""

from __future__ import annotations

import ast
import bisect
import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .arrays import tuple_of
from .blanks import blank
from .operators import cast, index
from .queues import Queues
from .types import (
    F64,
    I64,
    SMALL,
    WIDE,
    Array,
    Growing,
    Items,
    Number,
    Type,
    UnknownItemError,
    UntranslatableError,
    Value,
    weak_int,
)

PLACES: dict[Any, str] = {bisect.bisect_left: "first_at_least", bisect.bisect_right: "first_above"}
INSERTIONS: dict[Any, str] = {bisect.insort_left: "first_at_least", bisect.insort_right: "first_above"}
JOINERS = (np.stack, np.vstack, np.hstack, np.concatenate)
FOLDS: dict[Any, str] = {sum: "sum_of_list", min: "least_of_list", max: "most_of_list"}

TUPLES: dict[Any, str] = {min: "least_of_tuples", max: "most_of_tuples"}


class ListCalls(Queues):
    """Calls with lists. `library` is the calls'; `iterable` and `_iterator` are the iteration's."""

    library: Any
    iterable: Callable[[ast.expr], tuple[str, Value]]
    _iterator: Callable[[ast.expr], Any]

    def is_iterator(self, node: ast.Call) -> bool:
        """Whether a call is given what Python counts or pairs alone, which is no value here."""
        if node.keywords or len(node.args) != 1:
            return False
        return self._iterator(node.args[0]) is not None

    def list_of_iterator(self, node: ast.expr) -> Value:
        """`list(range(n))`, `list(zip(a, b))` and the like."""
        outside, self.loop_body = self.loop_body, []  # what it goes through stays meanwhile
        head, each = self.iterable(node)
        self.loop_body = outside
        item = self._item_type(each)
        self.made_early = True
        name = self.temporary()
        self.types[name] = Growing(item)
        self.line(f"{name} = no_items({blank(item)})")
        self.line(head)
        self.indent += 1
        self.line(f"{name}.append({self.item(each, item)})")
        self.indent -= 1
        return Value(name, self.types[name], source=(name, 0))

    def list_call(self, function: Any, args: list[Value]) -> Value | None:
        """A function that takes or makes lists; None for others."""
        if function is deque:
            return self.deque_of(args, {})
        if function is list and len(args) == 1 and isinstance(args[0].type, Array):
            return self.list_of_array(args[0], python=False)
        if function is sorted and len(args) == 1 and isinstance(args[0].type, Array) and args[0].type.ndim == 1:
            return self._sorted_list(self.list_of_array(args[0], python=False))
        if function in PLACES and len(args) in (2, 3, 4):
            return self._bisected(PLACES[function], *args)
        if not args or not isinstance(args[0].type, Growing):
            return None
        if function in FOLDS or function in (list, sorted):
            args = [self.listed(args[0]), *args[1:]]
        base = args[0]
        kind = base.type
        assert isinstance(kind, Growing)
        if function is len:
            return Value(self.count(base), weak_int(0, SMALL))
        if function is list and len(args) == 1 and not kind.is_queue:
            return Value(f"{base.text}[:]", kind, source=base.source)
        if function in (heapq.heappush, heapq.heappop) and not kind.is_queue:
            return self._heap(function, base, args[1:])
        if function is sorted and len(args) == 1 and not kind.is_queue:
            return self._sorted_list(base)
        if function in FOLDS and len(args) == 1:
            return self._folded(function, base)
        if function in JOINERS or function is np.searchsorted:
            return None
        raise UntranslatableError(f"{getattr(function, '__name__', 'a call')}() of a list")

    def lists_as_arrays(self, function: Any, args: list[Value]) -> list[Value]:
        """What a function of NumPy's takes lists of numbers for."""
        if function in JOINERS:
            parts = args[0].literal if args and isinstance(args[0].type, Items) else None
            if not isinstance(parts, tuple) or not any(isinstance(v.type, Growing) for v in parts):
                return args
            return [tuple_of([self._list_as_array(v) for v in parts]), *args[1:]]
        first = 1 if function is np.searchsorted else 0  # which looks at few of its elements
        return args[:first] + [self._list_as_array(a) for a in args[first:]]

    def _list_as_array(self, value: Value) -> Value:
        return self.library(np.asarray, [value], {}) if isinstance(value.type, Growing) else value

    def operate(self, op: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(left.type, Array) or isinstance(right.type, Array):
            left, right = self._list_as_array(left), self._list_as_array(right)
        return super().operate(op, left, right)

    def place_in_list(self, items: Value, x: Value, *, above: bool) -> Value:
        """`np.searchsorted` of a list."""
        kind = items.type.item  # type: ignore[union-attr]  # a list
        if kind is None:
            self.skipped = True  # the next round will know more
            return Value("np.int64(0)", Number(I64))
        if not isinstance(kind, Number) or not isinstance(x.type, Number) or self._holds_such(items):
            raise UntranslatableError("searchsorted() of this list")
        if not {kind.kind, x.type.kind} <= {"i", "f"} or np.dtype(np.uint64) in (kind.dtype, x.type.dtype):
            raise UntranslatableError("searchsorted() of this list")
        common = np.promote_types(kind.dtype, x.type.dtype)
        return Value(f"np.int64(place_of({items.text}, {cast(x, common)}, {above}))", Number(I64))

    def _bisected(self, name: str, items: Value, x: Value, *ends: Value) -> Value:
        """Where a number is to be inserted into a list or array that is in order."""
        kind = items.type.item if isinstance(items.type, Growing) else None
        if isinstance(items.type, Array) and items.type.ndim == 1:
            kind, items = Number(items.type.dtype), self.kept(items)
        elif not isinstance(items.type, Growing) or items.type.is_queue or self._holds_such(items):
            raise UntranslatableError("bisect() of this")
        elif kind is None:
            self.skipped = True  # the next round will know more
            return Value("0", weak_int(0, SMALL))
        kinds = {k.kind if isinstance(k, Number) else "" for k in (kind, x.type)}
        if len(kinds) > 1 or not kinds <= {"b", "i", "f"}:
            raise UntranslatableError("bisect() with another type")
        low, high = (*map(index, ends), *("0", f"len({items.text})")[len(ends) :])
        text = f"{name}({items.text}, {x.text}, nonnegative({low}), {high})"
        return Value(text, weak_int(0, SMALL))

    def _holds_such(self, items: Value) -> bool:
        return items.source is not None and items.source[0] in self.module.given_items

    def insert_in_order(self, function: Any, base: Value, x: Value, *ends: Value) -> None:
        """`bisect.insort(base, x)`."""
        if not isinstance(base.type, Growing) or base.type.is_queue or base.source is None:
            raise UntranslatableError("insort() into this")
        kind = self._with_item(base, x)
        if base.type.item is None:  # the next round knows
            base = replace(base, type=Growing(kind))
        self._reorder(base)
        place = self.early(self._bisected(INSERTIONS[function], base, x, *ends).text)
        self.line(f"{base.text}.insert({place}, {self.item(x, kind)})")

    def _heap(self, function: Any, base: Value, args: list[Value]) -> Value:
        if function is heapq.heappush and len(args) == 1:
            item = self._with_item(base, args[0])
            if isinstance(item, Array):
                raise UntranslatableError("a heap of arrays")
            return Value(f"heappush({base.text}, {self.item(args[0], item)})", Items(()))
        kind = base.type
        assert isinstance(kind, Growing)
        if function is not heapq.heappop or args:
            raise UntranslatableError("this call of heapq")
        if kind.item is None:
            raise UnknownItemError("an element of an empty list")
        if base.source is None or base.source[0] not in self.growing:
            raise UntranslatableError("heappop() under another name")
        self.refine(base.source, kind)
        return Value(self.early(f"heappop({base.text})"), kind.item)

    def _sorted_list(self, base: Value) -> Value:
        """`sorted(base)`, a list of its own."""
        name = self.early(f"sorted_items({self.sortable(base)})")
        self.types[name] = base.type
        return Value(name, base.type, source=(name, 0))

    def sort_list(self, base: Value) -> None:
        """`base.sort()`."""
        self.line(f"sort_items({self.sortable(base)})")

    def sortable(self, base: Value) -> str:
        """The text of a list whose items can be sorted."""
        kind = base.type
        assert isinstance(kind, Growing)
        if kind.item is None:
            raise UnknownItemError("an element of an empty list")
        if self._holds_such(base) or not _has_order(kind.item):
            raise UntranslatableError(f"sorted() of {kind}")
        return base.text

    def _folded(self, function: Any, base: Value) -> Value:
        """`sum(base)`, `min(base)` or `max(base)`."""
        kind = base.type
        assert isinstance(kind, Growing)
        if kind.item is None:
            raise UnknownItemError("an element of an empty list")
        if isinstance(kind.item, Items) and function in TUPLES and not kind.is_queue and _has_order(kind.item):
            text = f"{TUPLES[function]}({base.text})"
            return Value(text if self.conditions else self.early(text), kind.item)
        if kind.is_queue or self._holds_such(base) or not isinstance(kind.item, Number) or kind.item.enum:
            raise UntranslatableError(f"{function.__name__}() of this list")
        item = replace(kind.item, interval=WIDE) if kind.item.weak else kind.item
        if (
            item.dtype not in (F64, I64)
            or item.unsure
            or item.mixed
            or function is sum
            and item.dtype != F64
            and not item.weak
        ):
            raise UntranslatableError(f"{function.__name__}() of this list")
        name, more = FOLDS[function], f", {item.weak}" if function is sum else ""
        if function is sum and item.dtype == I64:
            name, more = "sum_of_wholes", ""
        text = f"{name}({base.text}{more})"
        return Value(text if self.conditions else self.early(text), replace(item, single=False))


def _has_order(item: Type) -> bool:
    """Whether items are numbers, or tuples of these, that Python can put in order."""
    if isinstance(item, Items):
        return not item.is_list and bool(item.items) and all(map(_has_order, item.items))
    return isinstance(item, Number) and item.kind in "bif" and not item.enum
