"""Objects and functions among the arguments that are others at every call: known by their kind and what they hold.

A version is made for the very object that a function is called with, whose attributes it reads again at each call.
Where another one of its kind comes, versions read the attributes of the object that is given instead.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..frontend.functions import instance_attributes, is_traced_class
from ..frontend.positions import is_user_code
from ..frontend.reads import Read, held_in
from .arguments import STATIC_TYPES, array_key

MOST_PARTS = 16  # of a list or dict: what differs in longer ones is seen by the guards alone
DEPTH = 3


class Given(threading.local):
    """The objects of the present call in this thread."""

    def __init__(self) -> None:
        self.objects: list[Any] = []

    def read(self, k: int) -> Read:
        """What gives the object of each call in place `k`."""
        return lambda: self.objects[k]

    def hold(self, k: int, value: Any) -> bool:
        self.objects[k] = value
        return True


@dataclass(frozen=True, slots=True)
class Contents:
    """In a dispatch key: the kind of an object, and what it holds as far as a version depends on it."""

    kind: Hashable
    parts: tuple[Any, ...]


class Identity:
    """Keys on an object itself where it cannot be hashed, on its equality where it can."""

    __slots__ = ("hash", "value")

    def __init__(self, value: Any):
        self.value = value
        try:
            self.hash = hash(value)
        except TypeError:
            self.hash = id(value)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Identity):
            return False
        if self.value is other.value:
            return True
        return self.hash == other.hash and self.hash != id(self.value) and bool(self.value == other.value)


def is_known_by_value(value: Any) -> bool:
    """Whether `Identity` takes another object, which is equal, for this one."""
    return type(value).__eq__ is not object.__eq__ and Identity(value).hash != id(value)


def kind_of(value: Any) -> Hashable | None:
    """What two objects have in common of which one version may serve both; None where none may."""
    if isinstance(value, types.FunctionType):
        return (types.FunctionType, id(value.__code__)) if is_user_code(value.__code__) else None
    if isinstance(value, types.MethodType):
        kind = kind_of(value.__self__)
        return None if kind is None else (types.MethodType, kind, id(value.__func__))
    kind = type(value)
    if kind in (partial, set):
        return kind
    return kind if kind is types.SimpleNamespace or is_traced_class(kind) else None


def contents_of(kind: Hashable, value: Any, traced: frozenset[type]) -> Contents:
    """traced: the types of numbers that are inputs."""
    return _contents((kind, int in traced), value, traced, DEPTH)


def _contents(kind: Hashable, value: Any, traced: frozenset[type], depth: int) -> Contents:
    def part(item: Any) -> Any:
        return _part(item, traced, depth - 1)

    held: Sequence[Any]
    if isinstance(value, types.FunctionType):
        held = [*_cell_contents(value), *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    elif isinstance(value, types.MethodType):
        held = [value.__self__]
    elif isinstance(value, partial):
        held = [value.func, *value.args, *value.keywords, *value.keywords.values()]
    elif isinstance(value, set):
        return Contents(kind, (frozenset(value),) if len(value) <= MOST_PARTS else (len(value),))
    else:
        attributes = instance_attributes(value)
        return Contents(kind, (*attributes, *map(part, attributes.values())))
    return Contents(kind, tuple(map(part, held)))


def _part(value: Any, traced: frozenset[type], depth: int) -> Any:
    kind: Any = type(value)
    if isinstance(value, np.ndarray):
        return array_key(value)
    if kind in traced or issubclass(kind, np.inexact) and float in traced:
        return kind
    if kind in (float, complex):
        return (kind, repr(value))
    if kind in STATIC_TYPES:
        return (kind, value)
    if depth and kind in (list, tuple, dict):
        items = list(value.items()) if kind is dict else value
        if len(items) > MOST_PARTS:
            return (kind, len(items))
        return (kind, *(_part(item, traced, depth - 1) for item in items))
    known = kind_of(value)
    if known is not None:
        return _contents(known, value, traced, depth) if depth else known
    return kind if kind in (list, tuple, dict) else Identity(value)


def _cell_contents(fn: types.FunctionType) -> list[Any]:
    return [held_in(cell) for cell in fn.__closure__ or ()]
