"""The globals that traced code sees: a view of a module's namespace in which only what is read is lifted."""

from __future__ import annotations

import operator
from collections.abc import Iterable, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import TracingError
from .constants import is_constant, same_constant

if TYPE_CHECKING:
    from .captures import Lifter

DOT = "·"  # a letter to Python: `self·weights` is one name, of an attribute (`runtime.parts.frames`)
ABSENT = object()
_MISSING = object()


class HiddenNameError(TracingError):
    """A function reads a global of which only the cell's loop knows whether it is set."""


class Overlay(dict):
    """The globals that traced code sees: its own assignments, and lifted values of the namespace underneath.

    The interpreter asks a dict subclass through `__getitem__`, so that only what is read is lifted. Assignments stay
    here.
    """

    def __init__(self, lifter: Lifter, source: MutableMapping[str, Any]):
        from .traced_builtins import traced_builtins

        super().__init__(__builtins__=traced_builtins(lifter, source))
        self.lifter = lifter
        self.source = source
        self.refuses_writes = True
        self.removed: set[str] = set()
        self.hidden: frozenset[str] = frozenset()  # a loop being traced sets them: what they were before is not theirs
        self._seen: dict[str, Any] = {}
        self._absent: set[str] = set()
        self._placed: dict[str, Any] = {}

    def place(self, names: Iterable[str]) -> None:
        """Lift names now: the bodies of classes look globals up past `__getitem__`."""
        for name in names:
            if name not in self._placed and not dict.__contains__(self, name) and name in self:
                self._placed[name] = value = self[name]
                dict.__setitem__(self, name, value)

    def __getitem__(self, name: str) -> Any:
        value = dict.get(self, name, _MISSING)
        if value is not _MISSING:
            return value
        if name in self.hidden:
            raise HiddenNameError(f"`{name}` is read in a loop before the loop sets it", value=name, code="WB182")
        value = self._seen.get(name, _MISSING)
        if value is not _MISSING:
            return value
        if name in self.removed:
            raise KeyError(name)
        source = self.source
        try:
            value = source[name]
        except KeyError:
            if name not in self._absent:  # a later definition could shadow the builtin that the program uses
                self._absent.add(name)
                self.lifter.guard(name, partial(operator.contains, source, name), False)
            raise
        lifter = self.lifter
        saved, lifter._through_parent = lifter._through_parent, lifter._through_parent or isinstance(source, Overlay)
        try:
            value = self._seen[name] = lifter.lift(
                value, name.replace(DOT, "."), partial(operator.getitem, source, name)
            )
        finally:
            lifter._through_parent = saved
        return value

    def peek(self, name: str) -> tuple[Any] | None:
        """The constant of a name outside, or ABSENT; None where only reading it tells."""
        known = dict.__contains__(self, name) or name in self._seen or name in self._absent or name in self.removed
        if known or name in self.hidden or type(self.source) is not dict or name in self.lifter.trace_integers:
            return None
        value = self.source.get(name, ABSENT)
        return (value,) if value is ABSENT or type(value) in (int, bool, str, type(None)) else None

    def __setitem__(self, name: str, value: Any) -> None:
        self.removed.discard(name)
        dict.__setitem__(self, name, value)

    def __delitem__(self, name: str) -> None:
        self._placed.pop(name, None)
        if dict.__contains__(self, name):
            dict.__delitem__(self, name)
            if name in self.source:
                self.removed.add(name)
        elif name in self.source and name not in self.removed:
            self.removed.add(name)
            self.lifter.guard(name, partial(operator.contains, self.source, name), True)
        else:
            raise KeyError(name)

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or (name in self.source and name not in self.removed)

    def written(self) -> list[str]:
        """Names that the code assigned, in order."""
        return [
            name
            for name, value in dict.items(self)
            if name != "__builtins__" and not (name in self._placed and self._placed[name] is value)
        ]

    def assigned(self) -> dict[str, Any]:
        """The same with their values, without those that are again what is outside."""
        found = {}
        for name in self.written():
            value, outside = dict.__getitem__(self, name), self._seen.get(name, _MISSING)
            if value is not outside and not (is_constant(value) and same_constant(value, outside)):
                found[name] = value
        return found
