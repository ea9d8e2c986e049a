"""Whether something else refers to a list, dict or carried object than the variable that is looked at.

What a branch or loop gives for one is a new one; who holds the old one under another name would not see what is
written into it later. Python counts the references, from wherever they come: other variables, callers, iterators. Those
that the tracing of a branch or loop adds itself are known (`Trace.references`), and left out.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from types import CellType, FrameType
from typing import Any

from .carried_objects import is_carried, is_frozen
from .made_objects import attribute_of
from .positions import is_traced_code
from .reads import instance_attributes

MUTABLE = (list, dict, deque, OrderedDict, defaultdict)  # the nodes of a pytree that code can change


def is_mutable(value: Any) -> bool:
    return type(value) in MUTABLE or is_carried(value) and not is_frozen(value)


def is_container(value: Any) -> bool:
    """Whether it is a node of a pytree."""
    return type(value) in MUTABLE or issubclass(type(value), tuple) or is_carried(value)


def count(read: Callable[[Any], Any], key: Any) -> int:
    """The references to `read(key)`."""
    value = read(key)
    return sys.getrefcount(value)


ALONE = count({"": []}.__getitem__, "")  # what is in one place


def is_alone(
    read: Callable[[Any], Any], key: Any, known: Mapping[int, int], stays: Callable[[Any], bool] = lambda x: False,
    n_others: int = 0,
) -> bool:  # fmt: skip
    """Whether nothing else refers to the list or dict `read(key)`, nor to those inside of it.

    known: references that do not count, by id; stays: what inside of it is not to be looked at; n_others: how many
    other references there may be to the value itself.
    """
    if not is_container(read(key)):
        return True
    if is_mutable(read(key)) or any(map(is_container, items_of(read(key)))):
        n = count(read, key)  # by itself: a variable here would be one more
        if n - ALONE - n_others > known.get(id(read(key)), 0):
            return False
    within = partial(attribute_of, read(key)) if is_carried(read(key)) else read(key).__getitem__
    return all(
        stays(within(k)) or is_alone(within, k, known, stays) for k in _keys(read(key)) if is_container(within(k))
    )


def mutables(value: Any) -> Iterator[Any]:
    """The lists and dicts that `value` is or holds."""
    if is_mutable(value):
        yield value
    if is_container(value):
        for item in items_of(value):
            yield from mutables(item)


def key_orders(value: Any) -> list[list[Any]]:
    """The keys of the dicts in a value, in order: pytrees that differ in it alone are equal."""
    return [[*x] for x in mutables(value) if isinstance(x, dict)]


def items_of(value: Any) -> Collection[Any]:
    if is_carried(value):
        return instance_attributes(value).values()
    return value.values() if isinstance(value, dict) else value


def _keys(value: Any) -> Collection[Any]:
    if is_carried(value):
        return tuple(instance_attributes(value))
    return tuple(value) if isinstance(value, dict) else range(len(value))


def own_cells(cells: Mapping[str, CellType]) -> frozenset[str]:
    """Those of the names that are variables of the function whose branch or loop is being traced, and not of one around
    it. Its bodies run as functions that are called as it is."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_traced_code(frame.f_code):
        frame = frame.f_back
    name = frame.f_code.co_qualname if frame is not None else ""
    while frame is not None:
        if is_traced_code(frame.f_code):
            if frame.f_code.co_qualname != name:
                break
            own = cells.keys() & frame.f_code.co_cellvars
            if own or not cells.keys() & frame.f_code.co_freevars:
                return frozenset(own)
        frame = frame.f_back
    return frozenset()
