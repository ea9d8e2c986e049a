"""What earlier runs of a cell in parts have shown, as long as what it reads is of the same kinds.

Which statements cannot be compiled depends on the types of what they read and on the functions that they call. A run
over the same ones need not find out again; where anything differs, it does.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from ...errors import TracingError
from .statements import Known

MAX_CELLS = 256
MAX_KINDS = 4  # of inputs, for each
_VALUES = (bool, int, str, bytes, type(None))


@dataclass(frozen=True, eq=False, slots=True)
class KnownCell:
    """kinds: of what the cell read; reason: why it cannot be compiled whole; known: of its statements."""

    kinds: tuple
    reason: TracingError
    known: Known


_cells: dict[tuple, list[KnownCell]] = {}
_lock = threading.Lock()


def known_cell(key: tuple, kinds: tuple) -> KnownCell | None:
    """What is known of a cell over inputs of these kinds."""
    return next((found for found in _cells.get(key, ()) if found.kinds == kinds), None)


def remember_cell(key: tuple, cell: KnownCell) -> None:
    with _lock:
        if len(_cells) >= MAX_CELLS:
            _cells.pop(next(iter(_cells)))
        _cells[key] = [*_cells.pop(key, [])[1 - MAX_KINDS :], cell]


def kinds_of(names: Iterable[str], namespace: Mapping[str, Any]) -> tuple:
    """Of what kinds the values of names are: types of arrays, values of constants, code of functions and of what they
    call. Equal kinds lead to the same program, but for rare exceptions, which only cost time."""
    seen: set[int] = set()
    return tuple((name, _kind(namespace[name], seen)) for name in sorted(names) if name in namespace)


def _kind(value: Any, seen: set[int]) -> Any:
    kind = type(value)
    if isinstance(value, np.ndarray):
        return kind, value.dtype, value.shape, value.flags.c_contiguous
    if kind in _VALUES:
        return kind, value
    if isinstance(value, types.FunctionType):
        return kind, _function_kind(value, seen)
    if isinstance(value, type) and value.__module__ == "__main__":
        return _class_kind(value, seen)
    if isinstance(value, types.ModuleType | type):
        return kind, id(value)
    if isinstance(value, list | tuple | dict | set):
        return kind, len(value)
    return (kind,)


def _class_kind(cls: type, seen: set[int]) -> tuple:
    """A cell that defines a class makes another one at each run."""
    if id(cls) in seen:
        return (type, cls.__qualname__)
    seen.add(id(cls))
    parts = ((k, _kind(v, seen)) for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__"))
    return (type, cls.__qualname__, tuple(_kind(base, seen) for base in cls.__bases__), *parts)


def _function_kind(fn: types.FunctionType, seen: set[int]) -> tuple:
    if id(fn) in seen:
        return ()
    seen.add(id(fn))
    # Codes are kept, not their ids, which others may get once they are gone.
    found: list[Any] = [_Same(fn.__code__)]
    for name in fn.__code__.co_names:
        value = fn.__globals__.get(name)
        if isinstance(value, types.FunctionType):
            found.append((name, _function_kind(value, seen)))
        elif type(value) in _VALUES:
            found.append((name, type(value), value))
    return tuple(found)


class _Same:
    """Equal over equal code of the same file, as a cell has that ran again."""

    __slots__ = ("code",)

    def __init__(self, code: CodeType):
        self.code = code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same):
            return False
        mine, theirs = self.code, other.code
        return mine is theirs or mine.co_filename == theirs.co_filename and mine == theirs

    def __hash__(self) -> int:
        return hash((self.code.co_filename, self.code.co_qualname))
