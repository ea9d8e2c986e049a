"""Objects that traced code makes of the user's classes, and returns: made anew at every call, with the attributes that
they had in the end, and without their `__init__`, which the program has done."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import optree

from .reads import Itself, Read, instance_attributes, is_slot
from .tracer import Tracer

if TYPE_CHECKING:
    from .captures import Lifter

_PLAIN = (Tracer, int, float, str, type(None))  # of most leaves


@dataclass(frozen=True, eq=False, slots=True)
class MadeObject:
    """A node of a tree of results. cls: reads the class; `attributes` are the node's children, which lie in the
    object's `__dict__` but for those that have a place of their own, `slots`, the last ones."""

    cls: Read
    attributes: Mapping[str, Any]
    slots: tuple[str, ...] = ()


def _flatten(node: MadeObject) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return tuple(node.attributes.values()), (node.cls, tuple(node.attributes), node.slots)


def _unflatten(about: tuple[Read, tuple[str, ...], tuple[str, ...]], values: Any) -> Any:
    """The object itself."""
    read, names, slots = about
    cls = read()
    if cls is types.SimpleNamespace:
        return cls(**dict(zip(names, values, strict=True)))
    return make(cls, names, slots, values)


def make(cls: type, names: tuple[str, ...], slots: tuple[str, ...], values: Any) -> Any:
    """An object with these attributes, of which those in `slots`, the last ones, have a place of their own."""
    new = object.__new__(cls)
    if not slots:
        new.__dict__.update(zip(names, values))  # noqa: B905 (as many: this is done at every call)
        return new
    n_plain = len(names) - len(slots)
    if n_plain:
        new.__dict__.update(zip(names[:n_plain], values, strict=False))
    for name, value in zip(slots, values[n_plain:], strict=True):
        object.__setattr__(new, name, value)
    return new


EVERYWHERE = optree.registry.__GLOBAL_NAMESPACE  # pyright: ignore[reportAttributeAccessIssue]
optree.register_pytree_node(MadeObject, _flatten, _unflatten, namespace=EVERYWHERE)  # pyright: ignore[reportArgumentType]


_NAMESPACE = Itself(types.SimpleNamespace)


def made_object(lifter: Lifter, value: Any) -> MadeObject | None:
    """What stands for an object that the trace made; None of one that cannot be made anew, or that is none: it must be
    of a class from outside, and hold no more than its attributes."""
    cls = type(value)
    if cls in _PLAIN or id(value) in lifter.originals:
        return None
    if cls is types.SimpleNamespace:
        return MadeObject(_NAMESPACE, vars(value))
    original = lifter.originals.get(id(cls))
    read = lifter.read_of(cls)
    if original is None or read is None or not can_be_made(cls):
        return None
    attributes = instance_attributes(value)
    return MadeObject(read, attributes, slots_among(cls, attributes))


def can_be_made(cls: type) -> bool:
    """Whether an object of `cls` holds no more than its attributes, and does nothing when it is let go of."""
    if not isinstance(cls, type) or issubclass(cls, BaseException) or hasattr(cls, "__del__"):
        return False
    try:
        object.__new__(cls)
    except TypeError:  # of a builtin class, or abstract
        return False
    return True


def slots_among(cls: type, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if is_slot(cls, name))


def attribute_of(value: Any, name: str) -> Any:
    """What an object holds under a name, whatever its class does where one asks for it."""
    return object.__getattribute__(value, name) if is_slot(type(value), name) else value.__dict__[name]


def has_made_objects(tree: Any) -> bool:
    """Whether objects are made anew where results of this structure are returned."""
    return tree is not None and (tree.type is MadeObject or any(map(has_made_objects, tree.children())))
