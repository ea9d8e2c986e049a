"""What the body of a traced branch or loop must leave alone: tracing runs it once, whatever the program will do."""

from __future__ import annotations

import functools
import operator
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from .captures import Lifter, VaryingHeldError, _Lifted
from .choices import Choice
from .functions import class_attributes, is_traced_class
from .held import (
    UNDEFINED,
    Attributes,
    HeldValue,
    has_grown_since,
    holds_attributes,
    keys_set_since,
    places_set_since,
    put_back,
)
from .merging import refuse
from .outside_lists import HeldListError, OutsideList, OutsideListError
from .overlay import Overlay
from .reads import held_attribute, held_in, instance_attributes
from .references import ALONE, count, is_mutable, mutables
from .tracer import Tracer, require_trace

MANY_ITEMS = 100  # a longer list is of data, not of functions


class GlobalName:
    """A name among the globals that traced code assigns; what it only reads from outside, the lifter watches."""

    __slots__ = ("name", "space")

    def __init__(self, space: dict[str, Any], name: str):
        self.space = space
        self.name = name

    @property
    def content(self) -> Any:
        return dict.get(self.space, self.name, UNDEFINED)

    def put_back(self, content: Any) -> None:
        if content is UNDEFINED:
            dict.pop(self.space, self.name, None)
        else:
            dict.__setitem__(self.space, self.name, content)


class Watched:
    """The containers, objects, classes and globals that a body can reach. Tracing runs it once, so that it must not
    change them.

    roots: what it reads, by name; places: the globals that functions which it may call may assign; lifter: gives it
    what is outside. That is looked at again when the trace ends, but by then another iteration's change may be undone.
    """

    def __init__(
        self, roots: Sequence[tuple[str, Any]], places: Iterable[GlobalName] = (), lifter: Lifter | None = None
    ):
        self.contents: list[tuple[str, Any, Any]] = []
        self.lifters: list[tuple[Lifter, int]] = []  # with the number of their copies at first
        self.outside_lists: dict[int, OutsideList] = {}  # by id of what is added to them
        self.held_lists: dict[int, HeldValue] = {}  # by id: the places of lists
        self.alone: set[int] = set()  # lists and dicts in one place, to which nothing else refers
        self.places: dict[int, Sequence[Any]] = {}  # in what these are, and under which key
        known = require_trace().references
        seen: set[int] = set()
        pending: list[tuple[str, Any] | tuple[str, Any, Any]] = list(roots)
        while lifter is not None:
            self.lifters.append((lifter, len(lifter.copies)))
            for name, copied, before in lifter.copies:
                self._watch_copy(name, copied, before, pending)
            lifter = lifter.parent
        for place in places:
            self.contents.append((place.name, place, place.content))
            pending.append((place.name, place.content))
        while pending:
            name, *where = pending.pop()
            value = where[0] if len(where) == 1 else _held_by(*where)
            if len(where) == 2 and is_mutable(value):
                if sys.getrefcount(value) <= _ALONE + known.get(id(value), 0):
                    self.alone.add(id(value))
                    self.places[id(value)] = where
                if type(value) is list:
                    self.held_lists[id(value)] = HeldValue.of(name, *where)
            kind = type(value)
            if kind is Tracer or kind is Choice or issubclass(kind, _Lifted) or id(value) in seen:
                continue
            seen.add(id(value))
            if type(value) is OutsideList:
                self.outside_lists[id(value.added)] = value
                self.contents.append((name, value.added, list(value.added)))
                continue
            if isinstance(value, list | tuple | dict | set | frozenset | deque | bytearray):
                if not isinstance(value, tuple | frozenset):
                    self.contents.append((name, value, _copied(value)))
                if isinstance(value, dict | list):
                    pending += [(name, value, key) for key in (value if isinstance(value, dict) else range(len(value)))]
                elif not isinstance(value, bytearray):
                    pending += [(name, v) for v in value]
            elif isinstance(value, FunctionType):
                for cell in value.__closure__ or ():
                    self.contents.append((name, cell, held_in(cell, UNDEFINED)))
                    pending.append((name, held_in(cell, UNDEFINED)))
                self.contents.append((name, value.__dict__, dict(value.__dict__)))
                pending += [(name, v) for v in value.__dict__.values()]
            elif isinstance(value, staticmethod | classmethod):
                pending.append((name, value.__func__))
            elif isinstance(value, type):
                if is_traced_class(value):
                    state = Attributes(value, class_attributes)
                    self.contents.append((name, state, state.content))
                    pending += [(name, v) for v in (*state.content.values(), *value.__bases__)]
            elif isinstance(value, MethodType):
                pending.append((name, value.__self__))
            elif issubclass(
                kind, np.ndarray
            ):  # by the type itself: what stands for elements behind a mask says it is one
                self.contents.append((name, value, value.copy()))
            elif hasattr(kind, "__next__"):
                raise refuse("uses", name, "an iterator, which a traced branch or loop would advance only once")
            elif holds_attributes(value):
                state = Attributes(value, instance_attributes)
                self.contents.append((name, state, state.content))
                pending += [(name, value, key) for key in state.content]
                pending.append((name, kind))
            elif hasattr(value, "__dict__") and kind.__module__ != "builtins":
                if type(value.__dict__) is dict:
                    self.contents.append((name, value.__dict__, dict(value.__dict__)))
                    pending += [(name, v) for v in value.__dict__.values()]
                    pending.append((name, kind))

    def _watch_copy(self, name: str, copied: Any, before: Any, pending: list) -> None:
        """Watch what the code sees in place of something outside, and what it has put there."""
        if type(copied) is OutsideList:
            self.outside_lists[id(copied.added)] = copied
            self.contents.append((name, copied.added, list(copied.added)))
            return
        content = copied.content if isinstance(copied, Attributes) else copied
        self.contents.append((name, copied, _copied(content)))
        holder = copied.holder if isinstance(copied, Attributes) else copied
        if isinstance(content, dict | list) and not isinstance(holder, type | FunctionType):
            keys = keys_set_since(before, content)
            every = list(content) if isinstance(content, dict) else range(len(content))
            pending += [(name, holder, key) for key in (every if keys is None else keys)]

    def is_alone(self, value: Any) -> bool:
        """Whether nothing else referred to it, nor to a list or dict inside of it, before the body ran."""
        return all(id(x) in self.alone for x in mutables(value))

    def references(self) -> Mapping[int, int]:
        """`Trace.references`, with those to lists and dicts that are in one place."""
        if not self.places:
            return require_trace().references
        known = {k: count(functools.partial(_held_by, holder), key) for k, (holder, key) in self.places.items()}
        return {**require_trace().references, **{k: n - ALONE for k, n in known.items()}}

    def follow(self, earlier: Watched | None) -> None:
        """Take over which lists and dicts are alone: an earlier watch of the same refers to them, too."""
        if earlier is not None:
            self.alone, self.places = earlier.alone, earlier.places

    def containers(self) -> frozenset[int]:
        """The ids of the lists and dicts that were there before the body ran."""
        return frozenset(id(value) for _, value, _ in self._entries() if type(value) in (list, dict))

    def undo(self, own_cells: frozenset[int]) -> tuple[str, Any] | None:
        """Put everything back. What was changed, if anything was: its name, and it."""
        changed = None
        for name, value, before in self._entries():
            if not self._same(value, before, own_cells):
                changed = changed or (name, value)
                _put_back(value, before)
        return changed

    def vouch_for(self, error: BaseException) -> None:
        """Say of a list to which a body within this one appends whether nothing else refers to it: there, this watch
        does."""
        if isinstance(error, HeldListError) and id(error.found) in self.alone:
            error.is_alone = True

    def _entries(self) -> Iterator[tuple[str, Any, Any]]:
        yield from self.contents
        for lifter, n in self.lifters:
            for name, value, before in lifter.copies[n:]:
                yield (name, value.added, []) if type(value) is OutsideList else (name, value, before)

    def changed_values(self, own_cells: frozenset[int]) -> list[HeldValue]:
        """What objects, dicts and lists hold since the body ran, if it changed nothing else; it is undone then."""
        found: list[HeldValue] = []
        for name, value, before in self._entries():
            if self._same(value, before, own_cells):
                continue
            holder, keys = places_set_since(before, value)
            if keys is None:
                self._reconsider(name, value, before, own_cells)
                return []
            found += [HeldValue.of(name, holder, key) for key in keys]
        if found:
            self.undo(own_cells)
        return found

    def _reconsider(self, name: str, value: Any, before: Any, own_cells: frozenset[int]) -> None:
        """Whether the body appended to a list from outside: then it may be traced in another way."""
        for lifter, n in self.lifters:
            self.outside_lists |= {id(x.added): x for _, x, _ in lifter.copies[n:] if type(x) is OutsideList}
        if id(value) in self.outside_lists:
            self.undo(own_cells)
            raise OutsideListError(self.outside_lists[id(value)])
        for lifter, _ in self.lifters:
            is_outside = any(copied is value for _, copied, _ in lifter.copies) and lifter.trace.parent is None
            if is_outside and has_grown_since(before, value):
                raise VaryingHeldError((name,))
        place = self.held_lists.get(id(value))
        if place is not None and has_grown_since(before, value):
            self.undo(own_cells)
            raise HeldListError(place, value, id(value) in self.alone)

    def check(self, own_cells: frozenset[int]) -> None:
        """TracingError if the body changed something, which is undone."""
        changed = self.undo(own_cells)
        if changed is not None:
            name, value = changed
            kind = "a variable" if isinstance(value, CellType | GlobalName) else "a container"
            raise refuse("changes", name, f"{kind}, inside a branch or loop on traced values")

    @staticmethod
    def _same(value: Any, before: Any, own_cells: frozenset[int]) -> bool:
        if isinstance(value, CellType):
            return id(value) in own_cells or held_in(value, UNDEFINED) is before
        if isinstance(value, GlobalName):
            return value.content is before
        value = value.content if isinstance(value, Attributes) else value
        if isinstance(value, np.ndarray):
            return value.tobytes() == before.tobytes()
        if isinstance(value, dict):
            return list(value) == list(before) and all(map(operator.is_, value.values(), before.values()))
        if isinstance(value, set | bytearray):
            return value == before
        return len(value) == len(before) and all(map(operator.is_, value, before))


def _held_by(holder: Any, key: Any) -> Any:
    return holder[key] if isinstance(holder, dict | list) else held_attribute(holder, key)


def _references() -> int:
    """Of a list that is in one place, and in the copy of what is there."""
    where = ({"": []}, "")
    copied = dict(where[0])  # noqa: F841
    value = where[0] if len(where) == 1 else _held_by(*where)
    return sys.getrefcount(value)


_ALONE = _references()


def _put_back(value: Any, before: Any) -> None:
    if isinstance(value, CellType):
        if before is not UNDEFINED:
            value.cell_contents = before
        else:
            del value.cell_contents
    elif isinstance(value, GlobalName):
        value.put_back(before)
    elif isinstance(value, np.ndarray):
        value[...] = before
    else:
        put_back(value, before)


def _copied(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else list(value) if isinstance(value, list | deque) else value.copy()


def assigned_globals(names: Sequence[str], space: Any) -> Iterator[GlobalName]:
    """The globals of a cell that code may assign, or read, through the functions that it reaches by some names. Code
    that is no cell's assigns none: `Overlay.refuses_writes`."""
    if not isinstance(space, Overlay) or space.refuses_writes:
        return
    source = space.source
    module = dict.get(source, "__name__") if isinstance(source, dict) else None

    def value_of(name: str) -> Any:
        own = dict.get(space, name, UNDEFINED)
        return own if own is not UNDEFINED or isinstance(source, Overlay) else source.get(name, UNDEFINED)

    pending = [value_of(name) for name in names]
    seen: set[int] = set()
    found: set[str] = set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, FunctionType):
            pending += [held_in(cell, UNDEFINED) for cell in value.__closure__ or ()]
            if value.__globals__ is not space and value.__globals__ is not source:
                continue
            for name in _global_names(value.__code__) - found:
                found.add(name)
                yield GlobalName(space, name)
                pending.append(value_of(name))
        elif isinstance(value, MethodType):
            pending += [value.__func__, value.__self__]
        elif isinstance(value, functools.partial):
            pending.append(value.func)
        elif isinstance(value, type):
            pending += [v for c in value.__mro__ if c.__module__ == module for v in vars(c).values()]
        elif isinstance(value, property):
            pending += [value.fget, value.fset]
        elif issubclass(type(value), list | tuple | dict) and len(value) <= MANY_ITEMS:
            pending += value.values() if isinstance(value, dict) else value
        elif type(value).__module__ == module:
            pending += [type(value), *getattr(value, "__dict__", {}).values()]


@functools.cache
def _global_names(code: CodeType) -> frozenset[str]:
    """The names in a function's code, and in those within: its globals are among them."""
    within = (_global_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return frozenset(code.co_names).union(*within)
