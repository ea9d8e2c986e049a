"""Copies of syntax trees."""

from __future__ import annotations

import ast
from typing import Any, TypeVar

T = TypeVar("T")
_PLAIN = (int, str, bool, type(None))


def copied(tree: T) -> T:
    """A copy of a node, or of a list of nodes, with what is inside of them.

    `copy.deepcopy` would follow whatever else nodes hold. Tools that show tracebacks give each node its parent, and
    `ast.Load()` is one object for all trees: a copy of `x + 1` would hold a whole module.
    """
    return _copied(tree)


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if not isinstance(value, ast.AST) or isinstance(value, ast.expr_context | ast.operator | ast.unaryop | ast.cmpop):
        return value
    new = type(value).__new__(type(value))  # without the checks of a call
    fields = value._fields
    for name, held in vars(value).items():
        if name in fields:
            setattr(new, name, _copied(held))
        elif isinstance(held, _PLAIN):
            setattr(new, name, held)
    return new
