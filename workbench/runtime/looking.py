"""What a call looks up outside, as statements of its fast path: captured arrays, and what is guarded.

What several reads begin with is read once. For a function that reads a number `m.a` and an array `m.w`:

    r0 = names0.get("m", MISS)
    if not (type(r0) is type1): return MISS
    r2 = r0.__dict__
    if not ([*r2] == names2): return MISS
    r4 = r2["a"]
    if not (r4 is then3 or same_constant(r4, then3)): return MISS
    r6 = r2["w"]
"""

from __future__ import annotations

import keyword
import marshal
import operator
from collections.abc import Sequence
from typing import Any

from ..frontend.captures import Guard
from ..frontend.constants import same_constant
from ..frontend.reads import (
    AttributeOf,
    HeldBy,
    ItemOf,
    Itself,
    KeysOf,
    LengthOf,
    NamesHeldBy,
    Read,
    TypeOf,
    absence_of,
    is_slot,
    place_of,
    slots_of,
)

_PLAIN = 2  # the version of `marshal` in which equal values are equal bytes, whoever else holds parts of them


class Lookups:
    """Writes the statements, `lines`, of which any may raise where something is gone. scope: takes what they name."""

    def __init__(self, scope: dict[str, Any]):
        self.scope = scope
        self.lines: list[str] = []
        self._texts: dict[Any, str] = {}  # what is read already, by the read or the place
        self._reads: list[Read] = []  # keeps them, since they are known by identity
        self._others: list[Guard] = []

    def text(self, read: Read) -> str:
        """The name, or another short expression, that gives what `read` does."""
        place = place_of(read)
        key = id(read) if place is None else (id(place[0]), place[1])
        found = self._texts.get(key)
        if found is None:
            self._reads.append(read)
            found = self._texts[key] = self._read(read)
        return found

    def guards(self, guards: Sequence[Guard]) -> None:
        for guard in guards:
            absent = absence_of(guard.read)
            if absent is not None and guard.value is False:
                self._unless(f"{absent[1]!r} not in {self._bind('names', absent[0])}")
            elif not self._guard_of_form(guard):
                self._others.append(guard)
        if self._others:
            others = tuple(self._others)
            self.scope["is_current"] = lambda: all(guard.holds() for guard in others)
            self._unless("is_current()")

    def _guard_of_form(self, guard: Guard) -> bool:
        """Write a guard, if it can be."""
        read, value = guard.read, guard.value
        if isinstance(read, LengthOf | KeysOf) and guard.same is operator.eq:
            kind, content = value
            text = self.text(read.parent)
            there = (
                f"len({text}) == {content}" if type(read) is LengthOf else f"[*{text}] == {self._bind('keys', content)}"
            )
            self._unless(f"type({text}) is {self._bind('type', kind)} and {there}")
        elif type(read) is NamesHeldBy and guard.same is operator.eq:
            if slots_of(type(read.parent())):
                return False
            self._unless(f"[*{self._held(read.parent)}] == {self._bind('names', value)}")
        elif type(read) is TypeOf and guard.same is operator.is_:
            self._unless(f"type({self.text(read.parent)}) is {self._bind('type', value)}")
        elif guard.same is operator.is_:
            self._unless(f"{self.text(read)} is {self._bind('then', value)}")
        elif guard.same is same_constant:
            self.scope["same_constant"] = same_constant
            text, then = self.text(read), self._bind("then", value)
            quick = f"{text} is {then}"
            if type(value) is list:  # plain numbers and texts, of which it tells the types and signs of zeros, too
                self.scope["dumps"] = marshal.dumps
                quick = f"dumps({text}, {_PLAIN}) == {self._bind('bytes', marshal.dumps(value, _PLAIN))}"
            self._unless(f"{quick} or same_constant({text}, {then})")
        else:
            return False
        return True

    def _unless(self, test: str) -> None:
        self.lines.append(f"if not ({test}): return MISS")

    def _read(self, read: Read) -> str:
        place = place_of(read)
        if place is not None:
            names = self._bind("names", place[0])
            return self._name(f"{names}.get({place[1]!r}, MISS)" if isinstance(place[0], dict) else
                              f"{names}.cell_contents")  # fmt: skip
        if type(read) is Itself:
            return self._bind("known", read.value)
        if type(read) is ItemOf:
            return self._name(f"{self.text(read.parent)}[{self._bind('key', read.key)}]")
        if type(read) is AttributeOf and _is_name(read.name):
            return self._name(f"{self.text(read.parent)}.{read.name}")
        if isinstance(read, HeldBy) and (text := self._held_text(read)) is not None:
            return self._name(text)
        return self._name(f"{self._bind('read', read)}()")

    def _held_text(self, read: HeldBy) -> str | None:
        """The expression for what an object holds where it holds it now."""
        holder = read.parent()
        if read.name in getattr(holder, "__dict__", {}):
            return f"{self._held(read.parent)}[{read.name!r}]"
        if is_slot(type(holder), read.name) and not hasattr(holder, "__dict__") and _is_name(read.name):
            return f"{self.text(read.parent)}.{read.name}"
        return None

    def _held(self, read: Read) -> str:
        """The name of the `__dict__` of an object."""
        text = self.text(read)
        key = ("__dict__", text)
        if key not in self._texts:
            self._texts[key] = self._name(f"{text}.__dict__")
        return self._texts[key]

    def _name(self, text: str) -> str:
        name = f"r{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _bind(self, prefix: str, value: Any) -> str:
        name = f"{prefix}{len(self.scope)}"
        self.scope[name] = value
        return name


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)
