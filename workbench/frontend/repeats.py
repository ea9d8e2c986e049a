"""A list, dict or object that the traced code made and returns in several places: one object, at every call anew."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .constants import is_constant
from .counted_lists import CountedList
from .counted_tables import CountedTable
from .diagnostics import unsupported
from .functions import set_attribute
from .made_objects import MadeObject, attribute_of
from .reads import instance_attributes

Path = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Stands for what is found first at `path`: indices, keys, names of attributes, from the result inwards."""

    path: Path


@dataclass(frozen=True, slots=True)
class Repeats:
    """objects: where in the result objects are that were made anew, in which repetitions may be."""

    objects: frozenset[Path]

    def put_into(self, result: Any) -> Any:
        """`result`, just made, with what stands first in place of the `Repeat`s. All but tuples change in place."""

        def visit(value: Any, path: Path) -> Any:
            if isinstance(value, Repeat):
                return self._found(result, value.path)
            if type(value) in (list, dict):
                items = list(value.items() if isinstance(value, dict) else enumerate(value))
                for key, item in items:
                    value[key] = visit(item, (*path, key))
            elif path in self.objects:
                for name, item in instance_attributes(value).items():
                    set_attribute(value, name, visit(item, (*path, name)))
            elif isinstance(value, tuple):
                new = [visit(item, (*path, i)) for i, item in enumerate(value)]
                if any(a is not b for a, b in zip(value, new, strict=True)):
                    return value._make(new) if hasattr(value, "_make") else tuple(new)  # type: ignore[attr-defined]
            return value

        return visit(result, ())

    def _found(self, result: Any, path: Path) -> Any:
        found = result
        for k, key in enumerate(path):
            found = attribute_of(found, key) if path[:k] in self.objects else found[key]
        return found


def each_once(
    result: Any, is_whole: Callable[[Any], bool], made: Callable[[Any], MadeObject | None]
) -> tuple[Any, Repeats | None]:
    """`result`, where a `MadeObject` stands for an object and a `Repeat` for what has been there before, if anything
    has.

    is_whole: containers that are returned as they are; made: what stands for an object. Nothing in `result` is changed.
    """
    seen: dict[int, Path] = {}
    objects: set[Path] = set()
    repeated = False

    def is_new(value: Any, path: Path) -> bool:
        nonlocal repeated
        repeated |= id(value) in seen
        return seen.setdefault(id(value), path) is path

    def visit(value: Any, path: Path) -> Any:
        counted = type(value) in (CountedList, CountedTable)
        if not counted and not isinstance(value, list | dict | tuple | deque):
            node = made(value)
            if node is None:
                return value
            if not is_new(value, path):
                return Repeat(seen[id(value)])
            objects.add(path)
            return replace(node, attributes={key: visit(x, (*path, key)) for key, x in node.attributes.items()})
        if is_whole(value):
            return value
        if isinstance(value, dict) and not all(map(is_constant, value)):
            raise unsupported("a dict with objects as keys", why="those that the trace sees are copies", verb="returns")
        if not isinstance(value, tuple) and not is_new(value, path):
            return Repeat(seen[id(value)])
        if counted:
            return value
        items = list(value.items() if isinstance(value, dict) else enumerate(value))
        new = [visit(item, (*path, key)) for key, item in items]
        changed = {key: now for (key, item), now in zip(items, new, strict=True) if now is not item}
        return _with(value, changed) if changed else value

    new = visit(result, ())
    return new, Repeats(frozenset(objects)) if repeated else None


def _with(value: Any, changed: dict[Any, Any]) -> Any:
    """A container of the same kind with other items."""
    kind = type(value)
    if kind is dict:
        return {**value, **changed}
    if kind not in (list, tuple) and not hasattr(value, "_make"):
        raise unsupported(f"a {kind.__name__} with objects, or with a list or dict that is known under another name, "
                          "too", verb="returns", fixes=("return a list of copies",))  # fmt: skip
    items = [changed.get(i, item) for i, item in enumerate(value)]
    return value._make(items) if hasattr(value, "_make") else kind(items)
