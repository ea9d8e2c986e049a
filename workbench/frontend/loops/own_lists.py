"""Which functions give lists of their own: those that they make, and that nothing else holds."""

from __future__ import annotations

from typing import Any

from .types import Growing, Items, Number, Type, Value
from .unpacking import Unpacking


class OwnLists(Unpacking):
    """Assignments and returned values, of which the lists are noted by their names."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.sharing: list[set[str]] = []  # names that may hold one list
        self.given_lists: list[list[str]] = []  # what each `return` gives

    def bind_list(self, name: str, value: Value) -> None:
        if value.source is not None and value.fresh is None:
            self.sharing.append({name, value.source[0]})
        super().bind_list(name, value)

    def note_given(self, value: Value) -> None:
        """Note what a `return` gives."""
        parts = value.literal if isinstance(value.literal, tuple) else (value,)
        lists = [part for part in parts if not _holds_none(part.type)]
        self.given_lists.append([part.source[0] if part.source else "" for part in lists])

    def gives_own_lists(self) -> bool:
        """Whether the lists that the function gives are not its callers', nor two of them one."""
        kinds = [kind for kind in self.types.values() if isinstance(kind, Growing)]
        if not any(self.given_lists) or not all(_is_of_numbers(kind) for kind in kinds):
            return False
        for names in self.given_lists:
            groups = [self._group_of(name) for name in names]
            if "" in names or any(group & self.fixed or not group <= self.bound | _made(group) for group in groups):
                return False
            if len(set().union(*groups)) < sum(map(len, groups)):
                return False
        return True

    def _group_of(self, name: str) -> set[str]:
        found = {name}
        while more := {n for pair in self.sharing if pair & found for n in pair} - found:
            found |= more
        return found


def _made(names: set[str]) -> set[str]:
    """The variables among some that the text has of its own."""
    return {name for name in names if name.startswith("t") and name.endswith("_")}


def _holds_none(kind: Type) -> bool:
    """Whether something holds no list."""
    return all(map(_holds_none, kind.items)) if isinstance(kind, Items) else not isinstance(kind, Growing)


def _is_of_numbers(kind: Growing) -> bool:
    parts = kind.item.items if isinstance(kind.item, Items) else (kind.item,)
    return all(isinstance(part, Number) for part in parts)
