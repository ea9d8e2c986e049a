"""A loop that was translated for values that were at hand, and whether others are of the kinds that these were."""

from __future__ import annotations

import builtins
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from ..numba_functions import python_function
from .at_hand import type_at_hand
from .functions import function_outer
from .letters import LETTERS, codes_of
from .types import COMPARED, Array, Growing, Table, Type, UntranslatableError

Path = tuple[Any, ...]  # a name outside, or a function; then names in functions, and positions in tuples


class NotTheSameError(Exception):
    """The values are not of the kinds that the loop was translated for."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """name: in the text; kind: of the value at `path`; in_order: of an array, whether it is C-contiguous; held: of a
    list, what the loop takes it for, which may know more than a list without elements tells; given: of a list of which
    what it holds stays as it is, the types of that; number: the one int that lengths in the text were taken from."""

    name: str
    path: Path
    kind: Type
    in_order: bool = True
    held: Type | None = None
    given: frozenset[type] = frozenset()
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A variable that the loop leaves. flagged: whether it may stay unset; or, of a number, whether it may be Python's
    or NumPy's: then a flag follows."""

    name: str
    kind: Type
    flagged: bool = False
    tagged: bool = False
    in_place: bool = False  # a list from outside, which is changed
    others: tuple[str, ...] = ()  # of a list: the parameters, and results before it, of which it may be one
    inside: str = ""  # of a list: the list of lists in which it may be
    optional: bool = False  # whether it may be None: then a flag follows


@dataclass(frozen=True, eq=False, slots=True)
class ConcreteLoop:
    """source: the text, whose function is `loop`; careful, quiet: as of `LoopProgram`; written: the parameters that it
    writes into; statics: what else it depends on, with the values that it was translated for; reason: why it is
    compiled by itself; is_better: whether kernels would not be faster, as far as one can tell."""

    source: str
    careful: str
    quiet: bool
    parameters: tuple[Parameter, ...]
    results: tuple[Result, ...]
    written: tuple[str, ...]
    statics: tuple[tuple[Path, Any], ...]
    shared: tuple[frozenset[str], ...]
    reason: str
    is_better: bool

    def values(self, namespace: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters' values. NotTheSameError if they, or other things, are of other kinds than they were."""
        for path, value in self.statics:
            if not is_same(find(path, namespace), value):
                raise NotTheSameError
        values: dict[str, Any] = {}
        lists: list[int] = []
        for p in self.parameters:
            value = values[p.name] = find(p.path, namespace)
            if isinstance(p.kind, Array):
                if type(value) is not np.ndarray or (value.dtype, value.ndim) != (p.kind.dtype, p.kind.ndim):
                    raise NotTheSameError
                if value.flags.c_contiguous != p.in_order or not value.flags.aligned:
                    raise NotTheSameError
                if any(n is not None and n != m for n, m in zip(p.kind.shape, value.shape, strict=True)):
                    raise NotTheSameError
                if p.name in self.written and not value.flags.writeable:
                    raise NotTheSameError
            elif isinstance(p.kind, Table):
                if type(value) is not p.kind.of or getattr(value, "default_factory", None) is not p.kind.default:
                    raise NotTheSameError
                rows = () if p.kind.is_set else value.values()
                lists += [id(value), *(id(each) for each in rows if type(each) is list)]
            elif isinstance(p.held, Growing):
                if (
                    type(value) is not (deque if p.held.is_deque else list)
                    or getattr(value, "maxlen", None) is not None
                ):
                    raise NotTheSameError
                lists += [id(value), *(id(each) for each in value if type(each) is list)]
            else:
                try:
                    if type_at_hand(p.name, value) != p.kind or p.number is not None and value != p.number:
                        raise NotTheSameError
                except UntranslatableError:
                    raise NotTheSameError from None
        if len({*lists}) < len(lists) or tuple(groups_of(values)) != self.shared:
            raise NotTheSameError
        return values


def find(path: Path, namespace: Mapping[str, Any]) -> Any:
    """What is at a path. NotTheSameError if nothing is."""
    first, *rest = path
    try:
        value: Any = first if not isinstance(first, str) else named(namespace, first)
        for step in rest:
            if step is LETTERS:
                value = codes_of(value)
            else:
                value = python_function(value) or value
                value = function_outer(value)(step) if isinstance(value, FunctionType) else value[step]
    except (KeyError, IndexError, TypeError, AttributeError):
        raise NotTheSameError from None
    return value


def named(namespace: Mapping[str, Any], name: str) -> Any:
    """What a name holds; a KeyError also of attributes that are not set, or whose reading runs code."""
    value = namespace.get(name, MISSING)
    if value is not MISSING:
        return value
    if not hasattr(builtins, name):
        raise KeyError(name)
    return getattr(builtins, name)


MISSING = object()


def is_same(a: Any, b: Any) -> bool:
    """Whether what is not an argument of the loop is what it was translated for."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, FunctionType):
        return a.__code__ is b.__code__ and a.__globals__ is b.__globals__ and a.__defaults__ == b.__defaults__
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(is_same, a, b))
    return isinstance(a, COMPARED) and bool(a == b)


def groups_of(values: Mapping[str, Any]) -> Iterator[frozenset[str]]:
    """Arrays that may share memory, and lists that are one."""
    names = [name for name, value in values.items() if type(value) is np.ndarray and value.size]
    groups: list[set[str]] = []
    for name in names:
        mine = {name}
        for group in [g for g in groups if any(np.may_share_memory(values[name], values[n]) for n in g)]:
            groups.remove(group)
            mine |= group
        groups.append(mine)
    yield from (frozenset(group) for group in groups if len(group) > 1)
