"""Objects that traced code makes of the user's classes, and returns: made anew at every call, with the attributes that
they had in the end, and without their `__init__`, which the program has done."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import optree

from .functions import set_attribute
from .reads import Itself, Read, instance_attributes, is_slot
from .tracer import Tracer

if TYPE_CHECKING:
    from .captures import Lifter

_PLAIN = (Tracer, int, float, str, type(None))  # of most leaves
_IN_C = (list, dict, set, frozenset, tuple, str, bytes, int, float, complex, BaseException)  # what these hold is hidden


@dataclass(frozen=True, eq=False, slots=True)
class MadeObject:
    """A node of a tree of results. cls: reads the class; flattened, its `attributes` are the children."""

    cls: Read
    attributes: Mapping[str, Any]

    def made(self) -> Any:
        cls = self.cls()
        new = cls() if cls is types.SimpleNamespace else object.__new__(cls)
        for name, value in self.attributes.items():
            set_attribute(new, name, value)
        return new


def _flatten(node: MadeObject) -> tuple[tuple[Any, ...], tuple[Read, tuple[str, ...]]]:
    return tuple(node.attributes.values()), (node.cls, tuple(node.attributes))


def _unflatten(about: tuple[Read, tuple[str, ...]], values: Any) -> Any:
    cls, names = about
    return MadeObject(cls, dict(zip(names, values, strict=True))).made()


_EVERYWHERE = optree.registry.__GLOBAL_NAMESPACE  # pyright: ignore[reportAttributeAccessIssue]
optree.register_pytree_node(MadeObject, _flatten, _unflatten, namespace=_EVERYWHERE)  # pyright: ignore[reportArgumentType]


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
    if original is None or not isinstance(original[1], type) or issubclass(cls, _IN_C) or hasattr(cls, "__del__"):
        return None
    read = lifter.read_of(cls)
    return None if read is None else MadeObject(read, instance_attributes(value))


def attribute_of(value: Any, name: str) -> Any:
    """What an object holds under a name, whatever its class does where one asks for it."""
    return object.__getattribute__(value, name) if is_slot(type(value), name) else value.__dict__[name]


def has_made_objects(tree: Any) -> bool:
    """Whether objects are made anew where results of this structure are returned."""
    return tree is not None and (tree.type is MadeObject or any(map(has_made_objects, tree.children())))
