"""The names that statements of a function see where they run on their own: its variables, then its globals as they are
now."""

from __future__ import annotations

import types
from typing import Any

from ...errors import UnsupportedOperationError
from ...frontend.overlay import DOT
from ...frontend.tracer import current_trace


class Frame(dict):
    """A function's variables. What is no variable of the function is looked up in `globals_`, and never kept.

    locals_: all names of variables, also of those that hold nothing yet: no global hides behind them. A name with a
    `DOT` is an attribute of a variable, as it is now.
    """

    def __init__(self, globals_: dict[str, Any], locals_: frozenset[str]):
        super().__init__()
        self.globals_ = globals_
        self.locals_ = locals_

    def __missing__(self, name: str) -> Any:
        if name in self.locals_:
            raise KeyError(name)
        if DOT in name:
            variable, _, attribute = name.partition(DOT)
            if variable in self.locals_:
                return _attribute(self[variable], attribute, name)
        return self.globals_[name]

    def __contains__(self, name: object) -> bool:
        if dict.__contains__(self, name) or name in self.locals_:
            return dict.__contains__(self, name)
        return name in self.globals_ or self.get(name, _MISSING) is not _MISSING

    def get(self, name: Any, default: Any = None) -> Any:
        """What the name holds; the default of attributes, too, whose reading may do more than that."""
        variable, dot, attribute = name.partition(DOT) if isinstance(name, str) else ("", "", "")
        if dot and variable in self.locals_:
            value = dict.get(self, variable, _MISSING)
            return getattr(value, attribute, default) if _is_plain(value, attribute) else default
        try:
            return self[name]
        except KeyError:
            return default


def closure_of(fn: types.FunctionType) -> dict[str, Any]:
    """What the names of outer functions hold now, where they hold anything."""
    values = {}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            values[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return values


_MISSING = object()


def _is_plain(value: Any, name: str) -> bool:
    """Whether reading an attribute runs no code of a class."""
    kind = type(value)
    found = next((vars(cls)[name] for cls in kind.__mro__ if name in vars(cls)), None)
    if kind.__getattribute__ is not object.__getattribute__ or hasattr(kind, "__getattr__"):
        return False
    return isinstance(found, types.MemberDescriptorType) or not hasattr(type(found), "__get__")


def _attribute(value: Any, name: str, path: str) -> Any:
    """The attribute `path`. While tracing, a KeyError if it is not there, as of other names, and an
    UnsupportedOperationError if reading it may do more than that."""
    if current_trace() is not None:
        if not _is_plain(value, name):
            raise UnsupportedOperationError(f"WB120  reading `{name}` runs code that is not traced", code="WB120")
        if not hasattr(value, name):
            raise KeyError(path)
    return getattr(value, name)
