"""A list or dict that the traced code made and returns in several places: one object, at every call anew."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .constants import is_constant
from .counted_lists import CountedList
from .diagnostics import unsupported


@dataclass(frozen=True, slots=True)
class Repeat:
    """Stands for the container that is found first at `path`: indices and keys, from the whole result inwards."""

    path: tuple[Any, ...]


def each_once(result: Any, is_whole: Callable[[Any], bool]) -> tuple[Any, bool]:
    """`result`, where a list or dict that has been there before is a `Repeat`, and whether one has.

    is_whole: containers that are returned as they are. Those of `result` are not changed.
    """
    seen: dict[int, tuple[Any, ...]] = {}

    def visit(value: Any, path: tuple[Any, ...]) -> Any:
        counted = type(value) is CountedList
        if not counted and not isinstance(value, list | dict | tuple | deque) or is_whole(value):
            return value
        if isinstance(value, dict) and not all(map(is_constant, value)):
            raise unsupported("a dict with objects as keys", why="those that the trace sees are copies", verb="returns")
        if not isinstance(value, tuple):
            if id(value) in seen:
                return Repeat(seen[id(value)])
            seen[id(value)] = path
        if counted:
            return value
        items = list(value.items() if isinstance(value, dict) else enumerate(value))
        new = [visit(item, (*path, key)) for key, item in items]
        changed = {key: now for (key, item), now in zip(items, new, strict=True) if now is not item}
        return _with(value, changed) if changed else value

    new = visit(result, ())
    return new, new is not result


def _with(value: Any, changed: dict[Any, Any]) -> Any:
    """A container of the same kind with other items."""
    kind = type(value)
    if kind is dict:
        return {**value, **changed}
    if kind not in (list, tuple) and not hasattr(value, "_make"):
        raise unsupported(f"a {kind.__name__} with a list or dict that is known under another name, too",
                          verb="returns", fixes=("return a copy of that",))  # fmt: skip
    items = [changed.get(i, item) for i, item in enumerate(value)]
    return value._make(items) if hasattr(value, "_make") else kind(items)


def with_repeats(result: Any) -> Any:
    """`result`, just made, with the containers in place of the `Repeat`s. Lists and dicts change in place."""

    def visit(value: Any) -> Any:
        if isinstance(value, Repeat):
            found = result
            for key in value.path:
                found = found[key]
            return found
        if type(value) in (list, dict):
            items = list(value.items() if isinstance(value, dict) else enumerate(value))
            for key, item in items:
                value[key] = visit(item)
        elif isinstance(value, tuple):
            new = [visit(item) for item in value]
            if any(a is not b for a, b in zip(value, new, strict=True)):
                return value._make(new) if hasattr(value, "_make") else tuple(new)  # type: ignore[attr-defined]
        return value

    return visit(result)
