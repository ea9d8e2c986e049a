"""Lists of a loop that change their length: stacks, queues, what is appended on a condition.

In the text such a list is one of numba's, of numbers, tuples of numbers, or lists of these, and is shared as Python
shares it. Every element keeps one type: `join_items` refuses a list of ints and floats. A queue is a list and the
place of its first element, so that taking that away costs nothing; it has one name only.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..syntax import walk
from .arrays_in_lists import ArraysInLists
from .blanks import blank
from .conditions import is_none
from .expressions import local
from .given_items import check_appended, read_kind
from .list_names import TAKES, growing_names, is_taking, root
from .operators import cast, index
from .types import (
    BOOL,
    C128,
    F64,
    I64,
    SMALL,
    WIDE,
    Array,
    Growing,
    Items,
    Letter,
    Number,
    Type,
    UnknownItemError,
    UntranslatableError,
    Value,
    join,
    join_items,
    weak_int,
)
from .writing import INDENT


class Lists(ArraysInLists):
    """Expressions and statements with lists. `queues`: names of those whose first elements are taken away. `sort_list`
    is the calls'."""

    sort_list: Callable[[Value], None]
    listed: Callable[[Value], Value]  # of queues

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.growing: frozenset[str] = frozenset()
        self.queues: frozenset[str] = frozenset()
        self.fixed: frozenset[str] = frozenset()  # parameters, whose types callers have decided
        self.loop_body: list[ast.stmt] = []  # of the `for` loop whose items are being translated
        self.changed: set[str] = set()  # lists that something was done to
        self.reordered: set[str] = set()  # lists that something but `append` was done to

    # ---- types ----

    def as_list(self, value: Value) -> Value:
        """A list that is written out, as one that may grow."""
        if isinstance(value.type, Growing):
            return value
        if not isinstance(value.type, Items) or not value.type.is_list or not isinstance(value.literal, tuple):
            raise UntranslatableError(f"a list that is {value.type} in another place")
        item: Type | None = None
        has_none = any(map(is_none, value.literal))
        for each in value.literal:
            item = item if is_none(each) else join_items(item, self._item_type(each))
        return Value("", Growing(item, has_none=has_none), fresh=(value.literal, ""))

    def _item_type(self, value: Value) -> Type:
        kind = value.type
        if isinstance(kind, Items) and kind.is_list:
            return self.as_list(value).type
        if isinstance(kind, Items) and isinstance(value.literal, tuple):
            return Items(tuple(self._item_type(v) for v in value.literal))
        if isinstance(kind, Number | Growing) or isinstance(kind, Items) and _is_plain(kind):
            if isinstance(kind, Growing) and kind.is_queue:
                raise UntranslatableError("a list of queues")
            return kind
        if isinstance(kind, Array) and kind.ndim:
            return kind
        raise UntranslatableError(f"a list of {kind}")

    def refine(self, source: tuple[str, int] | None, kind: Type) -> None:
        """What is known of a list, for the variable that holds it, too."""
        if source is None:
            raise UntranslatableError("a change of a list that has no name")
        name, depth = source
        for _ in range(depth):
            kind = Growing(kind)
        if name not in self.types:  # of a function around
            raise UntranslatableError(f"a function that changes the list `{name}`")
        new = join(self.types[name], kind)
        if name in self.fixed and new != self.types[name]:
            raise UntranslatableError(f"a function that changes the list `{name}`")
        self.types[name] = new
        self.changed.add(name)

    def _reorder(self, base: Value) -> None:
        if base.source is not None and not base.source[1]:
            self.reordered.add(base.source[0])

    # ---- values ----

    def outside(self, name: str, found: Any) -> Value:
        make = self.module.list_name
        key = make(name, found, (*self.path, name)) if type(found) in (list, deque) and make is not None else ""
        return self.handed_list(key, found) if key else super().outside(name, found)

    def handed_list(self, key: str, found: Any) -> Value:
        """A list outside that a function of the user's reads: its callers hand it on."""
        kind = self.module.lists[key]
        if isinstance(kind, Growing) and kind.is_queue or key in self.module.given_items:
            raise UntranslatableError("a function that reads a queue, or a list of ints and floats")
        if self.parameter is None:
            self.types[key] = kind
            self.fixed |= {key}
            self.extras[key] = (found, kind)  # type: ignore[assignment]  # arrays, and lists
        self.changed.add(key)
        return Value(local(key), kind, source=(key, 0))

    def hand_on(self, key: str, found: Any) -> Value:
        if type(found) in (list, deque):
            return self.handed_list(key, found)
        return super().hand_on(key, found)

    def _list(self, node: ast.List) -> Value:
        found = self._tuple(node)
        assert isinstance(found.type, Items)
        return replace(found, type=replace(found.type, is_list=True))

    def _name(self, node: ast.Name) -> Value:
        found = super()._name(node)
        return replace(found, source=(node.id, 0)) if isinstance(found.type, Growing) else found

    def kept(self, value: Value) -> Value:
        if isinstance(value.type, Items) and value.type.is_list and isinstance(value.literal, tuple):
            found = super().kept(value)
            return replace(found, type=replace(found.type, is_list=True))  # type: ignore[type-var]  # a tuple's type
        if isinstance(value.type, Growing):
            if value.fresh is not None or value.type.is_queue:
                return value
            return replace(value, text=self.early(value.text))
        return super().kept(value)

    def array(self, value: Value) -> Value:
        found = super().array(value)
        if isinstance(value.type, Items) and value.type.is_list and isinstance(found.type, Items):
            return replace(found, type=replace(found.type, is_list=True))
        return found

    def item(self, value: Value, kind: Type) -> str:
        """A value as an element of a list."""
        if isinstance(kind, Growing):
            value = self.as_list(value)
            if value.fresh is None:
                return value.text
            name = self.temporary()
            self.make(value, kind.item, name)
            return name
        if isinstance(kind, Items) and isinstance(value.literal, tuple):
            texts = [self.item(v, t) for v, t in zip(value.literal, kind.items, strict=True)]
            return f"({''.join(f'{text}, ' for text in texts)})"
        if isinstance(kind, Array):
            return blank(kind) if is_none(value) else self.lasting(value).text
        return self.convert(value, kind).text  # type: ignore[attr-defined]  # of expressions

    def make(self, value: Value, item: Type | None, name: str) -> None:
        """A new list as the variable `name`."""
        assert value.fresh is not None
        self.made_early = True
        items, count = value.fresh
        if any(map(is_none, items)) and not isinstance(item, Array):
            if item is not None:
                raise UntranslatableError(f"a list of None and of {item}")
            self.skipped = True  # the next round will know what else it holds
        texts = [self.item(v, item) for v in items] if item is not None else []
        target = name if not texts or name.startswith("t") and name.endswith("_") else self.temporary()
        self.line(f"{target} = no_items({blank(item)})")
        if count:
            texts = [self.early(text) for text in texts]
            self.line(f"for {self.temporary()} in range({count}):")
            self.indent += 1
        for text in texts:
            self.line(f"{target}.append({text})")
        if count:
            self.indent -= 1
        if target != name:
            self.line(f"{name} = {target}")

    def repeated(self, value: Value, times: Value) -> Value:
        """`[x] * n`."""
        made = self.as_list(value)
        assert made.fresh is not None
        return replace(made, fresh=(made.fresh[0], self.early(index(times))))

    def operate(self, op: ast.operator, left: Value, right: Value) -> Value:
        is_list = isinstance(left.type, Items) and left.type.is_list
        if isinstance(op, ast.Mult) and is_list and isinstance(right.type, Number):
            return self.repeated(left, right)
        if isinstance(op, ast.Add) and any(isinstance(v.type, Growing) for v in (left, right)):
            if not any(isinstance(v.type, Array) for v in (left, right)):
                return self._sum_of_lists(left, right)
        return super().operate(op, left, right)

    def _with_parts(self, value: Value) -> Value:
        """A list that is written out, with its items as values of their own."""
        is_list = isinstance(value.type, Items) and value.type.is_list and not isinstance(value.literal, tuple)
        return replace(value, literal=tuple(self.parts_of(value))) if is_list else value

    def _sum_of_lists(self, left: Value, right: Value) -> Value:
        """`left + right`, a list of its own."""
        both = [self.as_list(self._with_parts(v)) for v in (left, right)]
        kinds = [v.type for v in both if isinstance(v.type, Growing)]
        item = join_items(kinds[0].item, kinds[1].item)
        if any(kind.is_queue for kind in kinds) or item is not None and not _holds_numbers(item):
            raise UntranslatableError("a sum of such lists")
        texts = []
        for value, kind in zip(both, kinds, strict=True):
            if value.fresh is not None:
                texts.append(self.temporary())
                self.make(value, item, texts[-1])
                continue
            if value.source is not None and value.source[0] in self.module.given_items:
                raise UntranslatableError("a sum of lists of ints and floats")
            if kind.item is None and item is not None:  # nothing was known of it
                self.refine(value.source, Growing(item))
            texts.append(value.text)
        name = self.early(f"joined_lists({', '.join(texts)})")
        self.types[name] = Growing(item)
        return Value(name, self.types[name], source=(name, 0))

    def first(self, value: Value) -> str:
        """The variable with the place of a queue's first element."""
        if value.source is None or value.source[1]:
            raise UntranslatableError("a queue that is no variable")
        return f"{value.source[0]}__first"

    def count(self, value: Value) -> str:
        """The length of a list."""
        assert isinstance(value.type, Growing)
        if value.fresh is not None:
            raise UntranslatableError("a list without a name")
        return f"(len({value.text}) - {self.first(value)})" if value.type.is_queue else f"len({value.text})"

    def element_of(self, value: Value, place: str) -> Value:
        """An element of a list in memory, at an index of Python's."""
        assert isinstance(value.type, Growing)
        given = self.module.given_items.get(value.source[0]) if value.source else None
        if value.type.item is None and not given:
            raise UnknownItemError("an element of an empty list")
        if value.fresh is not None:
            raise UntranslatableError("a list without a name")
        if value.type.is_queue:
            place = f"place_in_queue({place}, {self.first(value)}, len({value.text}))"
        source = (value.source[0], value.source[1] + 1) if value.source else None
        if given:
            kind, at = read_kind(given, value.type.item), self.early(place)
            found = self.early(f"{value.text}[{at}]")
            whole = self.early(f"was_int({value.text}__ints, {at}, len({value.text}))") if kind.ints else ""
            return Value(found, kind, whole=whole)
        assert value.type.item is not None
        return self._unless_none(value, Value(f"{value.text}[{place}]", value.type.item, source=source))

    def _unless_none(self, of: Value, element: Value) -> Value:
        """An element of a list. None raises, as an array without elements does that somebody put there."""
        if not isinstance(of.type, Growing) or not of.type.has_none:
            return element
        found = self.early(element.text)
        self.line(f"nonzero({found}.size)")
        return replace(element, text=found)

    def test(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name | ast.Subscript) and not self.none_flag(node):
            value = self.value(node)
            if isinstance(value.type, Growing):
                return f"({self.count(value)} > 0)"
        return super().test(node)

    def _one_comparison(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        if not isinstance(op, ast.In | ast.NotIn) or not isinstance(right.type, Growing):
            return super()._one_comparison(op, left, right)
        item = right.type.item
        if item is None:
            raise UnknownItemError("an element of an empty list")
        text = f"is_among({self._sought(left, right)}, {right.text})"
        return Value(f"(not {text})" if isinstance(op, ast.NotIn) else text, Number(BOOL, True, (0, 1)))

    def _sought(self, value: Value, base: Value) -> str:
        """The text of what is looked for in a list by `==`, which then decides nothing about types."""
        item = base.type.item  # type: ignore[union-attr]  # a list
        if item is None:
            raise UnknownItemError("an element of an empty list")
        is_such = base.source is not None and base.source[0] in self.module.given_items
        if not is_such and not base.type.is_queue and base.fresh is None:  # type: ignore[union-attr]  # a list
            if isinstance(value.type, Number) and isinstance(item, Number) and _are_alike(value.type, item):
                return cast(value, I64) if item.kind == "i" else value.text
            if isinstance(value.type, Items) and isinstance(item, Items) and not value.type.is_list:
                pairs = [*zip(value.type.items, item.items, strict=False)]
                are_numbers = all(isinstance(t, Number) for pair in pairs for t in pair)
                if len(value.type.items) == len(item.items) and are_numbers:
                    if all(_are_alike(a, b) for a, b in pairs):  # type: ignore[arg-type]  # numbers
                        return self.item(value, item)
        raise UntranslatableError(f"{value.type} looked for in {base.type}")

    def _is_list_outside(self, name: str) -> bool:
        """Whether a function sees a list of the loop's under a name."""
        if name in self.bound or self.parameter is not None or self.module.list_name is None:
            return False
        try:
            return type(self.outer(name)) in (list, deque)
        except KeyError:
            return False

    def _subscript(self, node: ast.Subscript) -> Value:
        name = root(node.value)
        if name in self.types or name and self._is_list_outside(name):
            base = self.value(node.value)
            if isinstance(base.type, Growing):
                return self._part(base, node.slice)
        if (
            isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Name)
            and node.value.func.id == "sorted"
        ):
            base = self.value(node.value)
            if isinstance(base.type, Growing):
                return self._part(base, node.slice)
        return super()._subscript(node)

    def _part(self, base: Value, node: ast.expr) -> Value:
        if not isinstance(node, ast.Slice):
            return self.element_of(base, index(self.value(node)))
        assert isinstance(base.type, Growing)
        if base.type.is_queue or base.fresh is not None:
            raise UntranslatableError("a slice of a queue")
        parts = ["" if part is None else index(self.value(part)) for part in (node.lower, node.upper)]
        if node.step is not None:
            step = self.value(node.step)
            if not isinstance(step.literal, int) or not step.literal:
                raise UntranslatableError("a slice with a step that is not written out")
            parts.append(step.text)
        return Value(f"{base.text}[{':'.join(parts)}]", base.type, source=base.source)

    # ---- calls ----

    def taken(self, base: Value, name: str, args: list[Value]) -> Value:
        """`pop` and `popleft`, which change a list and give an element."""
        kind = base.type
        assert isinstance(kind, Growing)
        if kind.item is None:
            raise UnknownItemError("an element of an empty list")
        if base.fresh is not None or base.source is None:
            raise UntranslatableError("pop() of a list without a name")
        self.refine(base.source, kind)
        self._reorder(base)
        source = (base.source[0], base.source[1] + 1)
        if kind.is_deque != (name == "popleft") and (args or name == "popleft"):
            raise UntranslatableError(f".{name}() of what has no such method")
        is_first = name == "popleft" or len(args) == 1 and args[0].literal == 0 and kind.is_queue
        if is_first and kind.is_queue and not args[1 if name == "pop" else 0 :]:
            first = self.first(base)
            self.line(f"if {first} >= len({base.text}):")
            self.line(f"{INDENT}raise IndexError()")
            found = self.early(f"{base.text}[{first}]")
            self.line(f"{first} = without_first({base.text}, {first} + 1)")
            if kind.has_none:
                raise UntranslatableError("a queue that holds None")
            return Value(found, kind.item, source=source)
        if name == "pop" and not args:
            if kind.is_queue:
                self.line(f"if {self.first(base)} >= len({base.text}):")
                self.line(f"{INDENT}raise IndexError()")
            return self._unless_none(base, Value(self.early(f"{base.text}.pop()"), kind.item, source=source))
        if name == "pop" and len(args) == 1 and not kind.is_queue:
            found = self.early(_taken_out(base, index(args[0])))
            return self._unless_none(base, Value(found, kind.item, source=source))
        raise UntranslatableError(f".{name}() of this list")

    def list_statement(self, base: Value, name: str, node: ast.Call) -> bool:
        """A call of a method that gives nothing; whether it was one."""
        kind = base.type
        assert isinstance(kind, Growing)
        if node.keywords or base.source is None:
            raise UntranslatableError(f".{name}() of this list")
        args = [self.value(a) for a in node.args]
        if name not in ("append", "extend"):
            self._reorder(base)
        match name, args:
            case "append", [value]:
                self.append(base, value)
            case "extend", [value]:
                self.extend(base, value)
            case "insert", [place, value] if not kind.is_queue:
                kind = self._with_item(base, value)
                where = self.early(index(place))
                self.line(f"{base.text}.insert(place_to_insert({where}, len({base.text})), {self.item(value, kind)})")
            case "clear", []:
                self.refine(base.source, kind)
                self.line(f"{base.text}.clear()" if _holds_numbers(kind.item) else f"emptied({base.text})")
                if kind.is_queue:
                    self.line(f"{self.first(base)} = 0")
            case "reverse", [] if not kind.is_queue:
                self.refine(base.source, kind)
                self.line(f"{base.text}.reverse()")
            case "remove", [value] if not kind.is_queue:
                self.refine(base.source, kind)
                place = self.early(f"place_among({self._sought(value, base)}, {base.text})")
                self.line(f"{self.temporary()} = {_taken_out(base, place)}")
            case "sort", [] if not kind.is_queue:
                self.refine(base.source, kind)
                self.sort_list(base)
            case "pop" | "popleft", _:
                self.taken(base, name, args)
            case _:
                raise UntranslatableError(f".{name}() of this list")
        return True

    def _with_item(self, base: Value, value: Value) -> Type:
        """The type of a list's elements once `value` is one of them."""
        assert isinstance(base.type, Growing)
        if is_none(value) and isinstance(base.type, Growing) and base.source is not None and not base.source[1]:
            self.refine(base.source, replace(base.type, has_none=True))
            if base.type.item is None:
                raise UnknownItemError("a list of None")
            if not isinstance(base.type.item, Array):
                raise UntranslatableError(f"a list of None and of {base.type.item}")
            return base.type.item
        mine = self._item_type(value)
        if isinstance(mine, Growing) and value.source is not None and base.type.item is not None:
            self.refine(value.source, base.type.item)
        if base.source is not None and base.source[0] in self.module.given_items:
            check_appended(mine)
        self.refine(base.source, replace(base.type, item=join_items(base.type.item, mine)))
        kind: Type = self.types[base.source[0]]  # type: ignore[index]  # refined
        for _ in range(base.source[1] + 1):  # type: ignore[index]
            assert isinstance(kind, Growing) and kind.item is not None
            kind = kind.item
        return kind

    def append(self, base: Value, value: Value) -> None:
        kind = self._with_item(base, value)
        self.line(f"{base.text}.append({self.item(value, kind)})")

    def extend(self, base: Value, value: Value) -> None:
        if isinstance(value.type, Items) and isinstance(value.literal, tuple):
            items = value.literal if len(value.literal) == 1 else [self.kept(v) for v in value.literal]
            for each in items:
                self.append(base, each)
            return
        if isinstance(value.type, Array):
            item = self._item_of(value, python=False)
            assert isinstance(base.type, Growing)
            self.refine(base.source, replace(base.type, item=join_items(base.type.item, item)))
            self._append_all(base.text, value, item)
            return
        if not isinstance(value.type, Growing) or value.type.is_queue or value.source is None:
            raise UntranslatableError("extend() by this")
        assert isinstance(base.type, Growing)
        if value.type.has_none:
            raise UntranslatableError("extend() by a list that may hold None")
        kind = Growing(join_items(base.type.item, value.type.item))
        self.refine(value.source, kind)
        self.refine(base.source, replace(base.type, item=kind.item))
        if value.source[0] == (base.source or ("",))[0]:
            raise UntranslatableError("extend() by a list that may be the same")
        each = self.temporary()
        self.line(f"for {each} in {value.text}:")
        self.line(f"{INDENT}{base.text}.append({each})")

    def store_item(self, base: Value, place: Value, value: Value) -> None:
        """`base[place] = value`."""
        self._reorder(base)
        kind = self._with_item(base, value)
        text = self.item(value, kind)
        base = replace(base, type=replace(base.type, has_none=False))  # type: ignore[type-var]  # what was there may be
        self.line(f"{self.element_of(base, index(place)).text} = {text}")

    def delete_item(self, node: ast.expr) -> None:
        if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice):
            raise UntranslatableError(f"`del {ast.unparse(node)[:40]}`")
        base = self.value(node.value)
        if not isinstance(base.type, Growing) or base.type.is_queue:
            raise UntranslatableError(f"`del {ast.unparse(node)[:40]}`")
        self.refine(base.source, base.type)
        self._reorder(base)
        self.line(f"{self.temporary()} = {_taken_out(base, index(self.value(node.slice)))}")

    def list_method(self, base: Value, name: str, args: list[Value]) -> Value:
        """A method in an expression."""
        if name in TAKES:
            return self.taken(base, name, args)
        kind = base.type
        assert isinstance(kind, Growing)
        if name == "copy" and not args and not kind.is_queue:
            return Value(f"{base.text}[:]", kind, source=base.source)
        if name in ("index", "count") and len(args) == 1:
            function = "place_among" if name == "index" else "count_among"
            return Value(f"{function}({self._sought(args[0], base)}, {base.text})", weak_int(0, SMALL))
        raise UntranslatableError(f".{name}() of a list")

    def _item_of(self, value: Value, *, python: bool) -> Number:
        """What iterating over an array gives."""
        kind = value.type
        if not isinstance(kind, Array) or kind.ndim != 1:
            raise UntranslatableError(f"a list of {kind}")
        if not python:
            return Number(kind.dtype)
        if kind.dtype == np.uint64:
            raise UntranslatableError(".tolist() of uint64")
        if kind.dtype.kind in "iu":
            return weak_int(*WIDE)
        return (
            Number(BOOL, True, (0, 1)) if kind.dtype == BOOL else Number(C128 if kind.dtype.kind == "c" else F64, True)
        )

    def _append_all(self, name: str, value: Value, item: Number) -> None:
        lazy = self.elements(value)
        self.nest(lazy.sizes, lambda i: self.line(f"{name}.append({cast(lazy.at(i), item.dtype)})"))
        self.facts.routines = True

    # ---- statements ----

    def bind_list(self, name: str, value: Value) -> None:
        """`name = value`."""
        value = self.as_list(value)
        kind = value.type
        assert isinstance(kind, Growing)
        if name not in self.bound:
            raise UntranslatableError(f"the global `{name}`")
        is_queue = kind.is_queue or name in self.queues
        if is_queue and value.fresh is None:
            raise UntranslatableError("a queue of two names")
        kind = replace(kind, is_queue=is_queue)
        known = self.types.get(name)
        self.types[name] = kind = kind if known is None else join(known, kind)  # type: ignore[assignment]  # lists
        assert isinstance(kind, Growing)
        if value.fresh is not None:
            self.make(value, kind.item, local(name))
            if kind.is_queue:
                self.line(f"{name}__first = 0")
            return
        if not value.own or value.type.item is None:  # type: ignore[union-attr]  # a list
            self.refine(value.source, kind)
        self.line(f"{local(name)} = {value.text}")

    def over_list(self, base: Value) -> tuple[str, Value]:
        """The head of a loop over a list, which sees what is appended meanwhile."""
        kind = base.type
        assert isinstance(kind, Growing)
        if kind.item is None:
            raise UnknownItemError("an element of an empty list")
        if base.fresh is not None:
            raise UntranslatableError("a list without a name")
        name = self.temporary()
        source = (base.source[0], base.source[1] + 1) if base.source else None
        if kind.has_none:
            raise UntranslatableError("a loop over a list that may hold None")
        if kind.is_queue:
            self.must_stay(base)
            return (
                f"for {name} in range({self.first(base)}, len({base.text})):",
                Value(f"{base.text}[{name}]", kind.item, source=source),
            )
        # The list object is taken once: the variable may be given another one meanwhile.
        return f"for {name} in {base.text}:", Value(name, kind.item, source=source)

    def must_stay(self, base: Value) -> None:
        """A list that the present loop goes over by indices must keep its length, and its name."""
        if base.source is None or base.source[0] in growing_names(self.loop_body) or base.source[1]:
            raise UntranslatableError("a list that changes while its elements are gone through")
        stored = (n for s in self.loop_body for n in walk(s) if isinstance(n, ast.Name))
        if any(n.id == base.source[0] and isinstance(n.ctx, ast.Store) for n in stored):
            raise UntranslatableError("a list that changes while its elements are gone through")

    def check_order(self, nodes: list[ast.AST]) -> None:
        """What takes an element away stands in front of its statement: nothing else of it may look at that list."""
        inside = [n for node in nodes for n in walk(node)]
        bases: dict[str, list[ast.AST]] = {}
        before: dict[str, list[ast.AST]] = {}  # what is looked at before the element is taken away
        for n in inside:
            match n:
                case ast.Call(func=ast.Attribute(value=base, attr=attr)) if attr in TAKES:
                    bases.setdefault(root(base), []).append(base)
                    before.setdefault(root(base), []).extend(name for arg in n.args for name in walk(arg))
                case ast.Call(func=ast.Name(id="heappop") | ast.Attribute(attr="heappop"), args=[base]):
                    bases.setdefault(root(base), []).append(base)
        for node in nodes:  # `a.append(a.pop())` looks at nothing but which list it is
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
                bases.setdefault(root(node.func.value), []).append(node.func.value)
        taken = {name for name in bases if any(True for _ in bases[name])} & self.growing
        known = {id(base) for each in bases.values() for base in each}
        known |= {id(n) for name, found in before.items() if len(bases[name]) == 1 for n in found}
        if not any(isinstance(n, ast.Call) and is_taking(n) for n in inside):
            return
        for n in inside:
            if isinstance(n, ast.Name) and n.id in taken and id(n) not in known:
                raise UntranslatableError(f"`{n.id}`, which an operation of its statement changes")


def _are_alike(a: Number, b: Number) -> bool:
    """Whether `==` of the machine compares two numbers as Python and NumPy do."""
    if a.kind == b.kind == "i":
        return np.uint64 not in (a.dtype, b.dtype) and not (a.enum or b.enum)
    return a.kind == b.kind and a.kind in "bf" and a.dtype == b.dtype and not (a.ints or b.ints)


def _is_plain(kind: Items) -> bool:
    return all(isinstance(t, Number) or isinstance(t, Items) and _is_plain(t) for t in kind.items)


def _holds_numbers(item: Type | None) -> bool:
    """Whether a list of such items holds no memory of others."""
    return isinstance(item, Number | Letter) or isinstance(item, Items) and _is_plain(item)


def _taken_out(base: Value, place: str) -> str:
    """The text of `base.pop(place)`."""
    kind = base.type
    assert isinstance(kind, Growing)
    return f"{base.text}.pop({place})" if _holds_numbers(kind.item) else f"taken_out({base.text}, {place})"
