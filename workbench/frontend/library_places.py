"""What of an installed package needs no guard, or one for many values: what a call would have to look up again, only
somebody who changes the package's own modules could change."""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

import numpy as np

from .constants import is_constant
from .positions import INSTALLED, code_kind
from .reads import AttributeOf, ItemOf, Itself, Read, absence_of, place_of

_CODE = (
    types.FunctionType, type, types.ModuleType, types.BuiltinFunctionType, types.MethodDescriptorType,
    types.WrapperDescriptorType, np.ufunc, type(np.mean), type(functools.lru_cache(abs)),
)  # fmt: skip


def stays(read: Read, value: Any) -> bool:
    """Whether no guard is needed for what `read` gives: functions, classes and defaults of an installed package, which
    a program could only have at other places if somebody put them there."""
    if (place := absence_of(read)) is not None:  # a builtin, which no global of the module's hides
        return _is_library_file(place[0].get("__file__"))
    is_default = False
    parent: Any = read
    while type(parent) in (ItemOf, AttributeOf):
        is_default |= type(parent) is AttributeOf and parent.name in ("__defaults__", "__kwdefaults__")
        parent = parent.parent
    return (is_default or isinstance(value, _CODE)) and _is_librarys(parent)


def is_table(read: Read, value: Any) -> bool:
    """Whether a container is one of constants alone, at any depth, that an installed package has: one guard for all."""
    parent: Any = read
    while type(parent) in (ItemOf, AttributeOf):
        parent = parent.parent
    return _is_librarys(parent) and all(map(_is_constant_table, value.values() if type(value) is dict else value))


def _is_constant_table(value: Any) -> bool:
    if type(value) in (dict, list, tuple):
        return all(map(_is_constant_table, value.values() if type(value) is dict else value))
    return is_constant(value)


def copied_table(value: Any) -> Any:
    """Other containers, of the same constants."""
    if type(value) is dict:
        return {key: copied_table(item) for key, item in value.items()}
    return type(value)(map(copied_table, value)) if type(value) in (list, tuple) else value


def _is_librarys(root: Any) -> bool:
    """Whether a read begins in a module, class or function of an installed package."""
    if (place := place_of(root)) is not None:
        return isinstance(place[0], dict) and _is_library_file(place[0].get("__file__"))
    holder = root.value if isinstance(root, Itself) else None
    if isinstance(holder, types.FunctionType):
        return _is_library_file(holder.__code__.co_filename)
    if isinstance(holder, type):
        holder = sys.modules.get(holder.__module__)
    return isinstance(holder, types.ModuleType) and _is_library_file(getattr(holder, "__file__", None))


def _is_library_file(file: Any) -> bool:
    return isinstance(file, str) and code_kind(file) == INSTALLED
