"""Dictionaries and sets of a loop: keys of numbers, or tuples of these, and values that a list may hold, too.

    counts[k] = counts.get(k, 0) + 1   ->   place = place_of_number(k, counts__index)
                                            value = item_or(counts__values, place, 0) + 1
                                            if place < 0: ...
                                            else: counts__values[place] = value

In the text a dictionary `d` is two lists, `d__keys` and `d__values`, in Python's order, and `d__index`, by which keys
are found. It has one name only. In what order Python goes through a set is not known here: no loop does.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from ..counted_tables import CLASSES
from ..syntax import walk
from .arrays import tuple_of
from .blanks import blank
from .list_calls import ListCalls
from .operators import cast
from .statement_parts import expressions_of
from .table_texts import (
    DEFAULTS,
    MOST_GONE,
    ZEROS,
    check_key,
    compact_lines,
    gone_from,
    hashed,
    hidden_names,
    index_of,
    keys_of,
    place_text,
    values_of,
)
from .types import (
    BOOL,
    F64,
    I64,
    SMALL,
    WIDE,
    Array,
    Growing,
    Items,
    Number,
    Static,
    Table,
    Type,
    UnknownItemError,
    UntranslatableError,
    Value,
    join,
    literal,
    weak_int,
)
from .writing import INDENT

ALL = "all"  # of a new dictionary or set: its entries are those of one list or array
_READS = frozenset(("get", "keys", "values", "items"))


def _alike(item: Type, default: Type) -> Type:
    """The type of a value of a dictionary, or of what stands for it where there is none."""
    kind = join(item, default)
    if isinstance(kind, Number) and isinstance(item, Number) and item.dtype != kind.dtype:
        raise UntranslatableError(f"a value of a dictionary that is {item} or {default}")
    return kind


class Tables(ListCalls):
    """Expressions and statements with dictionaries and sets. thinned: the names of those that keys are taken out of:
    `d__gone` counts the places in the lists that stay until they are looked at; changed_by: the dictionaries that an
    expression of this statement changes, as often as it does."""

    bound: frozenset[str]  # of `expressions`

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.thinned: frozenset[str] = frozenset()
        self.changed_by: Counter[str] = Counter()

    def outside(self, name: str, found: Any) -> Value:
        if type(found) in CLASSES and id(found) in self.module.given_lists:
            raise UntranslatableError(f"`{name}`, a dictionary of the loop's that a function reads")
        return super().outside(name, found)

    # ---- making ----

    def _dict(self, node: ast.Dict) -> Value:
        entries: list[Value] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise UntranslatableError("a dictionary in another one")
            entries += [self.kept(self.value(key)), self.kept(self.value(value))]
        return Value("", Table(dict), fresh=(tuple(entries), ""))

    def _set(self, node: ast.Set) -> Value:
        return Value("", Table(set), fresh=(tuple(self.kept(self.value(each)) for each in node.elts), ""))

    def list_call(self, function: Any, args: list[Value]) -> Value | None:
        if function in CLASSES and (not args or function is defaultdict):
            default = None
            if args:
                kind = args[0].type
                if len(args) > 1 or not isinstance(kind, Static) or kind.value not in DEFAULTS:
                    raise UntranslatableError("a defaultdict of this")
                default = kind.value
            return Value("", Table(function, default), fresh=((), ""))
        if function in (set, Counter) and len(args) == 1 and isinstance(args[0].type, Array | Growing):
            return Value("", Table(function), fresh=((self.kept(args[0]),), ALL))
        if not args or not isinstance(args[0].type, Table):
            return super().list_call(function, args)
        base = self._with_name(args[0])
        if function is len:
            return Value(self.size(base.text), weak_int(0, SMALL))
        kind = base.type
        assert isinstance(kind, Table)
        if function in (list, sorted, sum, min, max) and kind.view != "items":
            held = self.list_under(base)
            is_ordered = function is list or function is sum and held.type != Growing(weak_int(*WIDE))
            if kind.is_set and is_ordered:
                raise UntranslatableError("the order of a set")
            return super().list_call(function, [held, *args[1:]])
        raise UntranslatableError(f"{getattr(function, '__name__', 'a call')}() of {base.type}")

    def _with_name(self, value: Value) -> Value:
        """A dictionary or set that is made in an expression, as a variable."""
        if value.fresh is None:
            return value
        if self.conditions:
            raise UntranslatableError("a dictionary or set that is made on a condition")
        name = self.temporary()
        self.bound |= {name}
        self.bind_table(name, value)
        return Value(name, self.types[name])

    def _add_all(self, base: Value, items: Value) -> None:
        """Add the elements of an array or list to a set, or count them."""

        def add(key: Value) -> None:
            if base.type.is_set:  # type: ignore[union-attr]  # a table
                self.add_key(base, key)
            else:
                self.update_entry(base, key, ast.Add(), ast.Constant(1))

        if isinstance(items.type, Array):
            lazy = self.elements(items)
            if items.type.ndim != 1:
                raise UntranslatableError(f"a set of {items.type}")
            self.nest(lazy.sizes, lambda i: add(lazy.at(i)))
            return
        head, item = self.over_list(items)
        self.line(head)
        self.indent += 1
        add(item)
        self.indent -= 1

    def bind_table(self, name: str, value: Value) -> None:
        """`name = value`."""
        kind = value.type
        if not isinstance(kind, Table) or value.fresh is None or kind.view:
            raise UntranslatableError("a dictionary of two names")
        if name not in self.bound:
            raise UntranslatableError(f"the global `{name}`")
        known = self.types.get(name)
        self.types[name] = kind if known is None else join(known, kind)
        entries, how = value.fresh
        for hidden in hidden_names(name, kind):
            self.types.setdefault(hidden, Growing(None))
            self.changed.add(hidden)
            held = self.types[hidden]
            assert isinstance(held, Growing)
            self.line(f"{hidden} = no_items({blank(held.item)})")
        self.line(f"{index_of(name)} = no_index()")
        if name in self.thinned:
            self.line(f"{gone_from(name)} = 0")
        made = Value(name, self.types[name])
        if how == ALL:
            self._add_all(made, entries[0])
        elif kind.is_set:
            for key in entries:
                self.add_key(made, key)
        else:
            for key, each in zip(entries[::2], entries[1::2], strict=True):
                self.store_entry(made, key, each)

    def kept(self, value: Value) -> Value:
        return value if isinstance(value.type, Table) else super().kept(value)

    # ---- looking up ----

    def _name(self, node: ast.Name) -> Value:
        found = super()._name(node)
        return replace(found, text=node.id) if isinstance(found.type, Table) else found

    def size(self, name: str) -> str:
        """How many keys there are."""
        size = f"len({keys_of(name)})"
        return f"({size} - {gone_from(name)})" if name in self.thinned else size

    def compacted(self, name: str) -> None:
        """Have the lists hold what the dictionary does, and nothing else."""
        lines = self.compacted_in_the_end(name)
        if lines and self.conditions:
            raise UntranslatableError("a dictionary that keys were taken out of, on a condition")
        for line in lines:
            self.line(line)

    def compacted_in_the_end(self, name: str) -> list[str]:
        """The same lines, for what the loop leaves."""
        kind = self.types[name]
        assert isinstance(kind, Table)
        if name not in self.thinned:
            return []
        return [f"if {gone_from(name)} > 0:", *(INDENT + line for line in compact_lines(name, kind))]

    def list_under(self, base: Value) -> Value:
        """The list of what a dictionary, its `keys()` or its `values()` goes through."""
        assert isinstance(base.type, Table)
        self.compacted(base.text)
        return self._values(base) if base.type.view == "values" else self._keys(base)

    def _keys(self, base: Value) -> Value:
        return self._list_of(keys_of(base.text))

    def _values(self, base: Value) -> Value:
        return self._list_of(values_of(base.text))

    def _known_values(self, base: Value) -> tuple[Value, Type]:
        """The list of the values, and what they are. UnknownItemError while nothing is known of them."""
        values = self._values(base)
        assert isinstance(values.type, Growing)
        if values.type.item is None:
            raise UnknownItemError("an entry of an empty dictionary")
        return values, values.type.item

    def _value_at(self, base: Value, place: str) -> Value:
        values, item = self._known_values(base)
        return Value(f"{values.text}[{place}]", item, source=(values.text, 1))

    def _list_of(self, hidden: str) -> Value:
        return Value(hidden, self.types[hidden], source=(hidden, 0))

    def place_of_key(self, base: Value, key: Value) -> str:
        """What looks for a key, and is below 0 if it is missing."""
        kind = self._keys(base).type.item  # type: ignore[union-attr]  # a list
        if kind is None:
            raise UnknownItemError("an entry of an empty dictionary")
        check_key(kind)
        text = self._as_key(key, kind)
        if isinstance(kind, Items) and not text.isidentifier() and not self.conditions:
            text = self.early(text)
        return place_text(text, kind, base.text)

    def _as_key(self, value: Value, kind: Type) -> str:
        """A value as what is looked for among keys."""
        mine = value.type
        if isinstance(kind, Items) and isinstance(mine, Items) and len(kind.items) == len(mine.items):
            if mine == kind or isinstance(value.literal, tuple):
                parts = value.literal if isinstance(value.literal, tuple) else [
                    Value(f"{value.text}[{k}]", each) for k, each in enumerate(mine.items)
                ]  # fmt: skip
                return f"({''.join(f'{self._as_key(v, t)}, ' for v, t in zip(parts, kind.items, strict=True))})"
        if isinstance(kind, Number) and isinstance(mine, Number) and not mine.enum and mine.dtype != np.uint64:
            if mine.kind == kind.kind == "f":
                return cast(value, F64)
            if mine.kind in "bi" and kind.kind in "bi":
                return cast(value, I64)
        raise UntranslatableError(f"{mine} as a key among {kind}")

    def _one_comparison(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        if not isinstance(op, ast.In | ast.NotIn) or not isinstance(right.type, Table):
            return super()._one_comparison(op, left, right)
        if right.type.view not in ("", "keys"):
            raise UntranslatableError("`in` what a dictionary holds")
        text = f"({self.place_of_key(right, left)} >= 0)"
        return Value(f"(not {text})" if isinstance(op, ast.NotIn) else text, Number(BOOL, True, (0, 1)))

    def test(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name) and isinstance(self.types.get(node.id), Table):
            return f"({self.size(node.id)} > 0)"
        return super().test(node)

    def _subscript(self, node: ast.Subscript) -> Value:
        if isinstance(node.value, ast.Name) and isinstance(self.types.get(node.value.id), Table):
            return self.entry(self.value(node.value), self.value(node.slice))
        if isinstance(node.value, ast.Dict) and node.value.keys:  # one that is written out where it is read
            return self.entry(self._with_name(self.value(node.value)), self.value(node.slice))
        return super()._subscript(node)

    def entry(self, base: Value, key: Value) -> Value:
        """`base[key]`."""
        kind = base.type
        assert isinstance(kind, Table)
        if kind.is_set:
            raise UntranslatableError("an item of a set")
        if kind.of is Counter:
            return self.got(base, key, literal(0))
        if kind.of is not defaultdict or kind.default is None:
            return self._value_at(base, f"known({self.place_of_key(base, key)})")
        self.changed_by[base.text] += 1
        return self._value_at(base, self._place_for(base, key, self._default(kind)))

    @staticmethod
    def _default(kind: Table) -> Value:
        if kind.default is list:
            return Value("", Growing(None), fresh=((), ""))
        return literal(ZEROS[kind.default])

    def got(self, base: Value, key: Value, default: Value) -> Value:
        """`base.get(key, default)`."""
        values = self._values(base)
        item = values.type.item  # type: ignore[union-attr]  # a list
        if item is None:
            self.skipped = True  # the next round will know more
            return default
        if not isinstance(item, Number | Items):
            raise UntranslatableError(f".get() of {item}")
        kind = _alike(item, default.type)
        place = self.place_of_key(base, key)
        place = place if self.conditions else self.early(place)
        other = self.convert(default, kind).text  # type: ignore[attr-defined]  # of expressions
        whole = f"({place} < 0)" if isinstance(kind, Number) and kind.ints else ""
        return Value(f"item_or({values.text}, {place}, {other})", kind, whole=whole)

    def got_or_none(self, node: ast.Call) -> Value | None:
        """`base.get(key)`, with what tells whether it is None; None for what is no dictionary."""
        assert isinstance(node.func, ast.Attribute)
        base = self.value(node.func.value)
        if not isinstance(base.type, Table) or base.type.is_set:
            return None
        key = self.value(node.args[0])
        values, item = self._known_values(base)
        if not isinstance(item, Number):
            raise UntranslatableError(f".get() of {item}")
        place = self.early(self.place_of_key(base, key))
        return Value(f"item_or({values.text}, {place}, {blank(item)})", item, none=f"({place} < 0)")

    # ---- changing ----

    def _place_for(self, base: Value, key: Value, value: Value | None = None) -> str:
        """The place of a key, which is made if it is new. value: of a new one, in a dictionary."""
        if self.conditions:
            raise UntranslatableError("an entry that is made on a condition")
        keys = self._keys(base)
        check_key(key.type)
        kind = self._with_item(keys, key)
        check_key(kind)
        text = self.item(key, kind)
        text = text if text.isidentifier() else self.early(text)
        if base.text in self.thinned:  # so that it does not grow for ever
            gone = gone_from(base.text)
            self.line(f"if {gone} > {MOST_GONE} and 2 * {gone} > len({keys.text}):")
            for line in compact_lines(base.text, base.type):  # type: ignore[arg-type]  # a table
                self.line(INDENT + line)
        place = self.early(place_text(text, kind, base.text))
        self.line(f"if {place} < 0:")
        self.indent += 1
        self.line(f"{place} = enter({place}, {hashed(text, kind)}, len({keys.text}), {index_of(base.text)})")
        self.line(f"{keys.text}.append({text})")
        if value is not None:
            values = self._values(base)
            self.line(f"{values.text}.append({self.item(value, self._with_item(values, value))})")
        self.indent -= 1
        return place

    def add_key(self, base: Value, key: Value) -> None:
        self._place_for(base, key)

    def store_entry(self, base: Value, key: Value, value: Value) -> None:
        """`base[key] = value`."""
        if base.type.is_set:  # type: ignore[union-attr]  # a table
            raise UntranslatableError("an item of a set")
        values = self._values(base)
        kind = self._with_item(values, value)
        text = self.item(value, kind)
        text = text if text.isidentifier() else self.early(text)  # Python computes it before it looks for the place
        place = self._place_for(base, key, Value(text, kind, source=value.source))
        self.line("else:")
        self.line(f"{INDENT}{values.text}[{place}] = {text}")

    def update_entry(self, base: Value, key: Value, op: ast.operator, value: ast.expr) -> None:
        """`base[key] op= value`."""
        kind = base.type
        assert isinstance(kind, Table)
        values = self._values(base)
        item = values.type.item  # type: ignore[union-attr]  # a list
        key = key if key.text.isidentifier() else self.kept(key)
        if kind.of in (defaultdict, Counter) and (kind.default is not None or kind.of is Counter):
            default = literal(0) if kind.of is Counter else self._default(kind)
            if not isinstance(default.type, Number):
                raise UntranslatableError("an update of a list in a dictionary")
            whole = ""
            if item is None:
                self.skipped = True  # the next round will know more
                place, old = self._place_for(base, key), default
            else:
                old_kind = _alike(item, default.type)
                if isinstance(old_kind, Number) and old_kind.ints:
                    whole = f"({self.early(self.place_of_key(base, key))} < 0)"
                place = self._place_for(base, key, Value(blank(item), item))
                old = Value(f"{values.text}[{place}]", old_kind, whole=whole)
        else:
            place = self.early(f"known({self.place_of_key(base, key)})")
            old = self._value_at(base, place)
        n_changes = self.changed_by[base.text]
        new = self.operate(op, old, self.value(value))  # type: ignore[attr-defined]  # of expressions
        if self.changed_by[base.text] > n_changes:
            raise UntranslatableError("a dictionary that changes while an entry of it is updated")
        if isinstance(old.type, Growing) or not isinstance(new.type, Number | Items):
            raise UntranslatableError("an update of a list in a dictionary")
        stored = self._with_item(values, new)
        self.line(f"{values.text}[{place}] = {self.item(new, stored)}")

    def _take_out(self, base: Value, key: Value, *, must_be_there: bool) -> str:
        """Take a key out; the place in the lists where it was, or -1."""
        if self.conditions:
            raise UntranslatableError("an entry that is taken out on a condition")
        keys = self._keys(base)
        kind = keys.type.item  # type: ignore[union-attr]  # a list
        if kind is None:
            raise UnknownItemError("an entry of an empty dictionary")
        text = self._as_key(key, kind)
        text = text if text.isidentifier() else self.early(text)
        more = f", {hashed(text, kind)}, {keys.text}" if isinstance(kind, Items) else ""
        name, first = ("forget_tuple", text) if more else ("forget_number", hashed(text, kind))
        place = self.early(f"{name}({first}{more}, {index_of(base.text)})")
        for hidden in hidden_names(base.text, base.type):  # type: ignore[arg-type]  # a table
            self.changed.add(hidden)
        if must_be_there:
            self.line(f"{self.temporary()} = known({place})")
            self.line(f"{gone_from(base.text)} += 1")
        else:
            self.line(f"if {place} >= 0:")
            self.line(f"{INDENT}{gone_from(base.text)} += 1")
        return place

    def _taken_out(self, base: Value, key: Value, default: Value | None = None) -> Value:
        """`base.pop(key)`, or with a default."""
        self.changed_by[base.text] += 1
        place = self._take_out(base, key, must_be_there=default is None)
        values, item = self._known_values(base)
        if default is None:
            return Value(self.early(f"{values.text}[{place}]"), item, source=(values.text, 1))
        if not isinstance(item, Number | Items):
            raise UntranslatableError(f".pop() of {item}")
        kind = _alike(item, default.type)
        other = self.convert(default, kind).text  # type: ignore[attr-defined]  # of expressions
        whole = f"({place} < 0)" if isinstance(kind, Number) and kind.ints else ""
        return Value(self.early(f"item_or({values.text}, {place}, {other})"), kind, whole=whole)

    def delete_item(self, node: ast.expr) -> None:
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            base = self.value(node.value)
            if isinstance(base.type, Table) and not base.type.is_set:
                self._take_out(base, self.value(node.slice), must_be_there=True)
                return
        super().delete_item(node)

    # ---- methods ----

    def list_method(self, base: Value, name: str, args: list[Value]) -> Value:
        kind = base.type
        if not isinstance(kind, Table):
            return super().list_method(base, name, args)
        if kind.view:
            raise UntranslatableError(f".{name}() of what a dictionary holds")
        match name, args:
            case "get", [key, default] if not kind.is_set:
                return self.got(base, key, default)
            case "get", [key] if not kind.is_set:  # None where there is none: Python goes on with that
                return self._value_at(base, f"known({self.place_of_key(base, key)})")
            case "keys" | "values" | "items", [] if not kind.is_set and not kind.view:
                return replace(base, type=replace(kind, view=name))
            case "pop", [key, *default] if not kind.is_set and len(default) < 2:
                return self._taken_out(base, key, *default)
            case "setdefault", [key, default] if not kind.is_set:
                self.changed_by[base.text] += 1
                return self._value_at(base, self._place_for(base, key, default))
        raise UntranslatableError(f".{name}() of {kind}")

    def list_statement(self, base: Value, name: str, node: ast.Call) -> bool:
        kind = base.type
        if not isinstance(kind, Table):
            return super().list_statement(base, name, node)
        if node.keywords:
            raise UntranslatableError(f".{name}() of {kind}")
        args = [self.value(a) for a in node.args]
        match name, args:
            case "add", [key] if kind.is_set:
                self.add_key(base, key)
            case "setdefault", [_, _]:
                self.list_method(base, name, args)
            case "pop", _:
                self.list_method(base, name, args)
            case "discard" | "remove", [key] if kind.is_set:
                self._take_out(base, key, must_be_there=name == "remove")
            case "clear", []:
                for hidden in hidden_names(base.text, kind):
                    self.line(f"emptied({hidden})")
                    self.changed.add(hidden)
                self.line(f"clear_index({index_of(base.text)})")
                if base.text in self.thinned:
                    self.line(f"{gone_from(base.text)} = 0")
            case _:
                raise UntranslatableError(f".{name}() of {kind}")
        return True

    def check_changes(self, stmt: ast.stmt) -> None:
        """UntranslatableError where an expression of a statement may look at a dictionary that another one changes."""
        if not self.changed_by:
            return
        targets = stmt.targets if isinstance(stmt, ast.Assign | ast.Delete) else [getattr(stmt, "target", None)]
        bases = {id(t.value) for t in targets if isinstance(t, ast.Subscript)}
        names = [n for each in expressions_of(stmt) for n in walk(each) if isinstance(n, ast.Name)]
        for name, n_changes in self.changed_by.items():
            if sum(n.id == name and id(n) not in bases for n in names) > n_changes:
                raise UntranslatableError(f"`{name}`, which an operation of its statement changes")

    # ---- going through ----

    def through_table(self, value: Value) -> tuple[str, Value]:
        """The head of a loop over a dictionary, or its `items()`, and the value of each iteration."""
        kind = value.type
        assert isinstance(kind, Table)
        if kind.is_set:
            raise UntranslatableError("the order of a set")
        held = self.list_under(value)
        if kind.view != "items":
            return self.over_list(held)
        name = self.temporary()
        parts = [self.element_of(each, name) for each in (held, self._values(value))]
        return f"for {name} in range(len({held.text})):", tuple_of(parts)

    def must_keep_keys(self, node: ast.expr) -> None:
        """UntranslatableError if the loop over `node` changes which keys the dictionary has that `node` goes through:
        Python raises there."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        if isinstance(node, ast.Name) and isinstance(self.types.get(node.id), Table):
            self._must_keep_keys(node.id)

    def _must_keep_keys(self, name: str) -> None:
        inside = [n for stmt in self.loop_body for n in walk(stmt)]
        updated = {id(n.target) for n in inside if isinstance(n, ast.AugAssign)}
        adds = self.types[name].of in (defaultdict, Counter)  # type: ignore[union-attr]  # a table
        for n in inside:
            match n:
                case ast.Subscript() if id(n) in updated and not adds:
                    continue
                case ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr=attr)) if found == name:
                    is_read = attr in _READS
                case ast.Subscript(value=ast.Name(id=found), ctx=ast.Store() | ast.Del()) if found == name:
                    is_read = False
                case ast.Name(id=found, ctx=ast.Store()) if found == name:
                    is_read = False
                case _:
                    continue
            if not is_read:
                raise UntranslatableError("a dictionary that changes while its entries are gone through")
