"""How what the code reads from outside is got again at a call.

A read is a function without arguments. The reads of names, items and attributes are objects that say what they do, so
that the fast path of a call can write them as Python's text, in which what several of them begin with is read once.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

Read = Callable[[], Any]


# ---- names and variables ----


def place_of(read: Read) -> tuple[dict[str, Any] | types.CellType, str] | None:
    """The namespace and the name there that `read` looks up, or the cell that it opens, if that is all it does."""
    if not isinstance(read, partial):
        return None
    if read.func is operator.getitem and type(read.args[0]) is dict or _opens_a_cell(read):
        return read.args
    return None


def content_of(cell: types.CellType) -> Read:
    """What reads a variable of a function around."""
    return partial(getattr, cell, "cell_contents")


def held_in(cell: types.CellType, otherwise: Any = None) -> Any:
    """What a variable of a function around holds, or `otherwise` where it has no value."""
    try:
        return cell.cell_contents
    except ValueError:
        return otherwise


def _opens_a_cell(read: partial[Any]) -> bool:
    return read.func is getattr and type(read.args[0]) is types.CellType


def absence_of(read: Read) -> tuple[dict[str, Any], str] | None:
    """The namespace and the name of which `read` tells whether it is there, if that is all it does."""
    if isinstance(read, partial) and read.func is operator.contains and type(read.args[0]) is dict:
        return read.args
    return None


# ---- parts of other values ----


@dataclass(frozen=True, eq=False, slots=True)
class Itself:
    """Reads what is known to stay."""

    value: Any

    def __call__(self) -> Any:
        return self.value


@dataclass(frozen=True, eq=False, slots=True)
class ItemOf:
    parent: Read
    key: Any

    def __call__(self) -> Any:
        return self.parent()[self.key]


@dataclass(frozen=True, eq=False, slots=True)
class AttributeOf:
    parent: Read
    name: str

    def __call__(self) -> Any:
        return getattr(self.parent(), self.name)


@dataclass(frozen=True, eq=False, slots=True)
class HeldBy:
    """Reads what an object holds, past a descriptor of its class under the same name."""

    parent: Read
    name: str

    def __call__(self) -> Any:
        return held_attribute(self.parent(), self.name)


@dataclass(frozen=True, eq=False, slots=True)
class TypeOf:
    parent: Read

    def __call__(self) -> type:
        return type(self.parent())


@dataclass(frozen=True, eq=False, slots=True)
class LengthOf:
    """Reads the type of a sequence and its length."""

    parent: Read

    def __call__(self) -> tuple[type, int]:
        value = self.parent()
        return type(value), len(value)


@dataclass(frozen=True, eq=False, slots=True)
class KeysOf:
    """Reads the type of a dict and its keys."""

    parent: Read

    def __call__(self) -> tuple[type, list[Any]]:
        value = self.parent()
        return type(value), list(value)


@dataclass(frozen=True, eq=False, slots=True)
class NamesHeldBy:
    """Reads the names of what an object holds."""

    parent: Read

    def __call__(self) -> list[str]:
        return list(instance_attributes(self.parent()))


# ---- what objects hold ----


def held_attribute(value: Any, name: str) -> Any:
    """What an object holds, past a descriptor of its class under the same name. AttributeError if it holds none."""
    held = getattr(value, "__dict__", {})
    if name in held:
        return held[name]
    if not is_slot(type(value), name):
        raise AttributeError(name)
    return getattr(value, name)


def is_slot(cls: type, name: str) -> bool:
    found = next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)
    return isinstance(found, types.MemberDescriptorType)


def slots_of(cls: type) -> list[str]:
    """The names of a class's slots for attributes."""
    found = []
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        found += [slot for slot in ((slots,) if isinstance(slots, str) else slots)]
    return [slot for slot in found if slot not in ("__dict__", "__weakref__")]


def instance_attributes(value: Any) -> dict[str, Any]:
    """What an object holds: its `__dict__` and its slots."""
    found = dict(getattr(value, "__dict__", {}))
    for slot in slots_of(type(value)):
        if hasattr(value, slot):
            found[slot] = getattr(value, slot)
    return found
