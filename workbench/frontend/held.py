"""Values that objects, dicts and lists hold: which of them code changes, and how to put others in their places."""

from __future__ import annotations

import copy
import types
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .constants import is_constant
from .functions import instance_attributes, is_slot, is_traced_class, set_attribute


class _Undefined:
    def __repr__(self) -> str:
        return "an unbound variable"


UNDEFINED = _Undefined()


class _Appended:
    def __repr__(self) -> str:
        return "what is appended"


APPENDED = _Appended()  # the key of what a list gets at its end


class Attributes:
    """The attributes of an object, a class or a function that is the trace's own. read: gives them."""

    __slots__ = ("holder", "read")

    def __init__(self, holder: Any, read: Callable[[Any], dict[str, Any]]):
        self.holder = holder
        self.read = read

    @property
    def content(self) -> dict[str, Any]:
        return self.read(self.holder)

    def put_back(self, content: dict[str, Any]) -> None:
        is_plain = not isinstance(self.holder, type)  # whose class may have a `__setattr__` of its own
        now = self.content
        for name in now.keys() - content.keys():
            (remove_attribute if is_plain else delattr)(self.holder, name)
        for name, value in content.items():
            if now.get(name, UNDEFINED) is not value:
                (set_attribute if is_plain else setattr)(self.holder, name, value)


@dataclass(frozen=True, eq=False, slots=True)
class HeldValue:
    """What `holder` has under `key`: the attribute of an object, the item of a dict or list. name: the user's path to
    it."""

    name: str
    holder: Any
    key: Any

    @classmethod
    def of(cls, owner: str, holder: Any, key: Any) -> HeldValue:
        """owner: the user's path to the holder."""
        if key is APPENDED:
            return cls(owner, holder, key)
        is_item = isinstance(holder, dict | list)
        return cls(f"{owner}[{key!r}]" if is_item else f"{owner}.{key}", holder, key)

    def is_same(self, other: HeldValue) -> bool:
        return self.holder is other.holder and self.key == other.key

    def get(self) -> Any:
        """The value, or UNDEFINED; all of a list to which something is appended."""
        if self.key is APPENDED:
            return list(self.holder)
        if isinstance(self.holder, list):
            return self.holder[self.key] if self.key < len(self.holder) else UNDEFINED
        held = self.holder if isinstance(self.holder, dict) else instance_attributes(self.holder)
        return held.get(self.key, UNDEFINED)

    def set(self, value: Any) -> None:
        if self.key is APPENDED:
            self.holder[:] = value
        elif value is not UNDEFINED:
            hold(self.holder, self.key, value)
        elif self.get() is not UNDEFINED:
            if isinstance(self.holder, dict | list):
                del self.holder[self.key]
            else:
                remove_attribute(self.holder, self.key)


def hold(holder: Any, key: Any, value: Any) -> None:
    """Let an object, dict or list hold `value` under `key`."""
    if isinstance(holder, dict | list):
        holder[key] = value
    else:
        set_attribute(holder, key, value)


def remove_attribute(holder: Any, name: str) -> None:
    if is_slot(type(holder), name):
        object.__delattr__(holder, name)
    else:
        del holder.__dict__[name]


def holds_attributes(value: Any) -> bool:
    """Whether it is an object of which all is known by its attributes."""
    kind = type(value)
    return kind is types.SimpleNamespace or is_traced_class(kind)


def places_set_since(before: Any, value: Any) -> tuple[Any, tuple[Any, ...] | None]:
    """Which object, dict or list `value`, or what its `Attributes` are of, is; and its `keys_set_since`, None also of
    classes and functions."""
    if not isinstance(value, Attributes):
        return value, keys_set_since(before, value)
    plain = not isinstance(value.holder, type | types.FunctionType)
    return value.holder, keys_set_since(before, value.content) if plain else None


def has_grown_since(before: Any, now: Any) -> bool:
    """Whether a list has all that it had before, and more after it."""
    return (
        type(now) is list and len(now) > len(before) and all(old is new for old, new in zip(before, now, strict=False))
    )


def keys_set_since(before: Any, now: Any) -> tuple[Any, ...] | None:
    """The keys under which a dict, or the indices at which a list holds something else than `before`; None where it
    lost some, or has them in another order, or has objects as new ones, or the list is of another length."""
    if isinstance(now, dict):
        if list(before) != list(now)[: len(before)] or not all(map(is_constant, list(now)[len(before) :])):
            return None
        return tuple(key for key, value in now.items() if key not in before or before[key] is not value)
    if type(now) is not list or len(now) != len(before):
        return None
    return tuple(k for k, (old, new) in enumerate(zip(before, now, strict=True)) if old is not new)


class Snapshot:
    """What the arrays, objects, lists and dicts hold that can be reached from `roots`; `restore` puts it back."""

    def __init__(self, roots: Iterable[Any]):
        self.arrays: list[tuple[np.ndarray, np.ndarray]] = []
        self.contents: list[tuple[Any, Any]] = []
        seen: set[int] = set()
        pending = list(roots)
        while pending:
            value = pending.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, np.ndarray):
                if value.flags.writeable:
                    self.arrays.append((value, value.copy(order="K")))
            elif isinstance(value, list | dict | tuple | deque | set | frozenset):
                if not isinstance(value, tuple | frozenset):
                    self.contents.append((value, list(value) if isinstance(value, deque) else copy.copy(value)))
                pending += value.values() if isinstance(value, dict) else value
                if isinstance(value, dict):
                    pending += value
            elif isinstance(value, types.MethodType):
                pending.append(value.__self__)
            elif holds_attributes(value):
                state = Attributes(value, instance_attributes)
                self.contents.append((state, state.content))
                pending += state.content.values()

    def forget_unchanged_arrays(self) -> None:
        self.arrays = [(array, before) for array, before in self.arrays if array.tobytes() != before.tobytes()]

    def restore(self) -> None:
        for value, before in self.contents:
            put_back(value, before)
        for array, before in self.arrays:
            np.copyto(array, before)


def put_back(value: Any, before: Any) -> None:
    """Let a list, dict, set, deque or `Attributes` hold what it held before."""
    if isinstance(value, Attributes):
        value.put_back(before)
    elif isinstance(value, dict | set):
        value.clear()
        value.update(before)
    elif isinstance(value, deque):
        value.clear()
        value.extend(before)
    else:
        value[:] = before
