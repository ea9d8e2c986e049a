"""Objects that branches and loops give, as they do tuples and lists: by what they hold.

`state = state.step(dt)` in a traced loop leaves another object under the name in each iteration, and one of two is
chosen by `a if test else b`. While their classes are carried, objects are nodes of pytrees: a branch or loop gives a
new one, with the attributes that the old ones would have. So nothing else may refer to those, as with lists
(`references`), unless they are frozen, which only `is` tells from one another.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import optree

from .diagnostics import unsupported
from .made_objects import EVERYWHERE, can_be_made, make, slots_among
from .reads import instance_attributes

_carried: dict[type, bool] = {}  # the classes: whether their objects stay as they are made
_given: set[int] = set()  # the ids of objects that branches and loops gave: who refers to them is counted


def stays_as_made(cls: type) -> bool:
    """Whether it is a frozen dataclass."""
    parameters = getattr(cls, "__dataclass_params__", None)
    return parameters is not None and parameters.frozen


def carry(cls: type) -> bool:
    """Let the objects of `cls`, a lifted class, be nodes of pytrees until they are `left`, if they hold no more than
    their attributes. Whether they do."""
    if not can_be_made(cls):
        return False
    _carried[cls] = stays_as_made(cls)
    optree.register_pytree_node(cls, _flatten, partial(_made, cls), namespace=EVERYWHERE)
    if cls.__eq__ is object.__eq__:
        cls.__eq__ = is_one  # type: ignore[method-assign]
        cls.__hash__ = object.__hash__  # type: ignore[method-assign]
    return True


def leave(classes: Iterable[type]) -> None:
    for cls in classes:
        optree.unregister_pytree_node(cls, namespace=EVERYWHERE)
        del _carried[cls]
    if not _carried:
        _given.clear()


def is_carried(value: Any) -> bool:
    return type(value) in _carried


def is_frozen(value: Any) -> bool:
    """Whether a carried object stays as it was made."""
    return _carried[type(value)]


def copied(value: Any) -> Any:
    """Another object with the same attributes."""
    values, (names, slots) = _flatten(value)
    return make(type(value), names, slots, values)


def is_one(value: Any, other: Any) -> bool:
    """`value is other`, of carried objects. UnsupportedOperationError where a branch or loop has chosen among them."""
    if value is not other and type(value) is type(other) and (id(value) in _given or id(other) in _given):
        raise unsupported("whether two objects are one", verb="asks")
    return value is other


def _flatten(value: Any) -> tuple[tuple[Any, ...], tuple[tuple[str, ...], tuple[str, ...]]]:
    attributes = instance_attributes(value)
    return tuple(attributes.values()), (tuple(attributes), slots_among(type(value), attributes))


def _made(cls: type, about: Any, values: Any) -> Any:
    names, slots = about
    new = make(cls, names, slots, values)
    _given.add(id(new))
    return new
