"""What `a, b = x` and `a, *rest = x` give to several targets: the items of tuples, lists and arrays."""

from __future__ import annotations

import ast

from .certain import Certain
from .statement_parts import is_given_again
from .types import Array, Growing, Items, Number, Static, UnknownItemError, UntranslatableError, Value
from .writing import INDENT


class Unpacking(Certain):
    """Assignments to several targets. `assign` is the statements'."""

    def assign_each(self, targets: list[ast.expr], value: Value) -> None:
        """`targets[0], targets[1], ... = value`."""
        starred = [k for k, target in enumerate(targets) if isinstance(target, ast.Starred)]
        items = self._with_rest(value, starred[0], len(targets)) if starred else self.unpacked(value, len(targets))
        for k, (target, item) in enumerate(zip(targets, items, strict=True)):
            target = target.value if isinstance(target, ast.Starred) else target
            if not is_given_again(target, targets[k + 1 :]):
                self.assign(target, item)

    def unpacked(self, value: Value, n: int) -> list[Value]:
        """The items of `value`, of which there must be `n`."""
        if isinstance(value.literal, tuple) and isinstance(value.type, Items):
            items = list(value.literal)
            if len(items) == n:
                early = self.made_early
                kept = [self.kept(v) if not isinstance(v.type, Static) else v for v in items]
                if all(isinstance(v.type, Static | Number) for v in items):
                    self.made_early = early  # one after the other, as Python computes them
                return kept
        elif isinstance(value.type, Items) and len(value.type.items) == n:
            whole = self.kept(value)
            return [Value(f"{whole.text}[{k}]", t, own=value.own) for k, t in enumerate(value.type.items)]
        elif isinstance(value.type, Array) and value.type.ndim and value.type.shape[0] in (n, None):
            whole = self.kept(value)
            if value.type.shape[0] is None:
                self._require(f"{whole.text}.shape[0] == {n}")
            return self._items_at(whole, range(n))
        elif isinstance(value.type, Growing):
            whole = self.kept(value)
            self._require(f"{self.count(whole)} == {n}")
            return self._items_at(whole, range(n))
        raise UntranslatableError(f"unpacking {value.type}")

    def _with_rest(self, value: Value, at: int, n: int) -> list[Value]:
        """The items for `n` targets, of which the one at `at` gets a list of all that the others leave."""
        behind = n - 1 - at
        if isinstance(value.type, Items):
            parts = self.parts_of(value)
            if len(parts) < n - 1:
                raise UntranslatableError(f"unpacking {value.type}")
            last = len(parts) - behind
            rest = self._tuple_of(parts[at:last], True) if last > at else Value("()", Items((), is_list=True), ())
            return [*parts[:at], rest, *parts[last:]]
        kind = value.type
        if isinstance(kind, Array) and kind.ndim == 1:
            whole = self.kept(value)
            self._require(f"{whole.text}.shape[0] >= {n - 1}")
            last = f"{whole.text}.shape[0] - {behind}"
            rest = self.list_of_array(self.element(whole, f"{at}:{last}", (None,)), python=False)
        elif isinstance(kind, Growing) and not kind.is_queue:
            whole = self.kept(value)
            if kind.item is None:
                raise UnknownItemError("an element of an empty list")
            self._require(f"{self.count(whole)} >= {n - 1}")
            name = self.early(f"{whole.text}[{at}:len({whole.text}) - {behind}]")
            self.types[name] = kind
            rest = Value(name, kind, source=(name, 0))
        else:
            raise UntranslatableError(f"unpacking {value.type}")
        return [*self._items_at(whole, range(at)), rest, *self._items_at(whole, range(-behind, 0))]

    def _items_at(self, whole: Value, places: range) -> list[Value]:
        """Items of an array or a list in a variable; those of a list are kept, which a target may change."""
        if isinstance(whole.type, Growing):
            return [self.kept(self.element_of(whole, str(k))) for k in places]
        assert isinstance(whole.type, Array)
        return [self.element(whole, str(k), whole.type.shape[1:] or None) for k in places]

    def _require(self, test: str) -> None:
        """Raise where there are more or less items than targets."""
        self.line(f"if not {test}:")
        self.line(f"{INDENT}raise ValueError()")
