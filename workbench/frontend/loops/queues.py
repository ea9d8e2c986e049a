"""Queues of a loop: `deque()` of what there is, of a greatest length, and as the lists that functions take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .lists_and_arrays import ListsAndArrays
from .names import local
from .operators import index
from .types import Array, Growing, Items, Number, Static, UnknownItemError, UntranslatableError, Value
from .writing import INDENT


class Queues(ListsAndArrays):
    """Lists whose first elements are taken away."""

    library: Any  # of `calls`

    def deque_of(self, args: list[Value], keywords: dict[str, Value]) -> Value:
        """`deque(...)`."""
        if len(args) > 2 or keywords.keys() - {"maxlen"} or len(args) == 2 and keywords:
            raise UntranslatableError("deque() of this")
        most = keywords.get("maxlen", args[1] if len(args) == 2 else None)
        made = Value("", Growing(None), fresh=((), ""))
        if args and isinstance(args[0].type, Array):
            made = self.library(list, [args[0]], {})
        elif args and isinstance(args[0].type, Growing):
            made = args[0]
        elif args:
            if not isinstance(args[0].type, Items) or not isinstance(args[0].literal, tuple):
                raise UntranslatableError("deque() of this")
            made = self.as_list(replace(args[0], type=replace(args[0].type, is_list=True)))
        if made.fresh is None:
            made = self._own_list(made)
        kind = replace(made.type, is_queue=True, is_deque=True)  # type: ignore[type-var]  # a list's type
        if most is None or isinstance(most.type, Static) and most.type.value is None:
            return replace(made, type=kind)
        if not isinstance(most.type, Number):
            raise UntranslatableError("deque() of this")
        room = self.early(f"length({index(most)})")
        return replace(made, type=replace(kind, has_most=True), most=room)

    def _own_list(self, value: Value) -> Value:
        """Another list of the same elements, which has no name yet."""
        kind = value.type
        assert isinstance(kind, Growing)
        if value.fresh is not None or kind.has_none:
            raise UntranslatableError("a list without a name, or that may hold None")
        first = self.first(value) if kind.is_queue else ""
        name = self.early(f"{value.text}[{first}:]")
        self.fresh.add(name)
        self.types[name] = made = Growing(kind.item)
        return Value(name, made, source=(name, 0))

    def listed(self, value: Value) -> Value:
        """What a function takes a queue for: a list of its elements."""
        return self._own_list(value) if isinstance(value.type, Growing) and value.type.is_queue else value

    def bind_list(self, name: str, value: Value) -> None:
        kind = value.type
        is_copy = isinstance(kind, Growing) and kind.is_queue and value.text in self.fresh
        if is_copy and kind.item is None:  # type: ignore[union-attr]  # a list
            raise UnknownItemError("a queue of a list of which nothing is known")
        super().bind_list(name, Value("", kind, fresh=((), "")) if is_copy else value)
        if is_copy:
            self.line(f"{local(name)} = {value.text}")
        if isinstance(kind, Growing) and kind.has_most:
            self.line(f"{name}__most = {value.most}")
            self._drop_first(name)

    def _drop_first(self, name: str) -> None:
        """Take away the first elements of those that are too many."""
        text = local(name)
        self.line(f"if len({text}) - {name}__first > {name}__most:")
        self.line(f"{INDENT}{name}__first = without_first({text}, len({text}) - {name}__most)")

    def _changed_length(self, base: Value) -> None:
        if isinstance(base.type, Growing) and base.type.has_most and base.source is not None:
            self._drop_first(base.source[0])

    def append(self, base: Value, value: Value) -> None:
        super().append(base, value)
        self._changed_length(base)

    def extend(self, base: Value, value: Value) -> None:
        super().extend(base, value)
        self._changed_length(base)
