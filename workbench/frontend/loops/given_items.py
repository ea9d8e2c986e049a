"""Lists to which a loop appends floats, and which hold other numbers before: `x = [0]`, then `x.append(x[-1] + dt)`.

Every element of a list in the text has one type. Where a loop only appends to a list, asks for its length and reads
elements, those that it was given stay the objects that they are; for the loop they are floats, of which an array of
flags tells which are ints.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..syntax import walk
from .types import EXACT, F64, Number, Type, UntranslatableError, join, weak_int

TYPES = frozenset((int, float, np.float64))
_KINDS = {int: weak_int(-EXACT, EXACT), float: Number(F64, True), np.float64: Number(F64)}


def names_of_such(node: ast.AST, namespace: Mapping[str, Any]) -> dict[str, frozenset[type]]:
    """The lists of numbers that a loop uses in no other way, with the types of what they hold."""
    fine: set[int] = set()
    appended: set[str] = set()
    for n in walk(node):
        match n:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name) as found, attr="append"), args=[_]):
                appended.add(name)
                fine.add(id(found))
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name() as found]):
                fine.add(id(found))
            case ast.Subscript(value=ast.Name() as found, slice=index, ctx=ast.Load()):
                if not isinstance(index, ast.Slice | ast.Tuple):
                    fine.add(id(found))
    for n in walk(node):
        if isinstance(n, ast.Name) and id(n) not in fine:
            appended.discard(n.id)
    lists = {name: namespace[name] for name in appended if name in namespace and type(namespace[name]) is list}
    kinds = {name: frozenset(map(type, values)) for name, values in lists.items()}
    return {name: types for name, types in kinds.items() if types and types <= TYPES and holds_exactly(lists[name])}


def holds_exactly(values: list[Any]) -> bool:
    """Whether floats hold the numbers of a list."""
    return all(type(v) is not int or -EXACT <= v <= EXACT for v in values)


def read_kind(given: frozenset[type], appended: Type | None) -> Number:
    """What an element is that was given, or appended, of which nothing may be known yet."""
    kinds = [_KINDS[each] for each in sorted(given, key=lambda t: t.__name__)]
    found = functools.reduce(join, kinds if appended is None else [appended, *kinds])
    assert isinstance(found, Number)
    return found


def check_appended(kind: Type) -> None:
    """UntranslatableError unless such numbers surely are floats, of one type."""
    if not isinstance(kind, Number) or kind.dtype != F64 or kind.ints or kind.mixed or kind.unsure:
        raise UntranslatableError(f"a list of floats, and of {kind}")
