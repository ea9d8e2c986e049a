"""What the text of a translated loop says without knowing any values: the names that it sets, what may raise."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..syntax import walk

# What never raises, beside the arithmetic of kernels on single numbers.
_QUIET = frozenset(("larger", "smaller", "chosen", "around", "turned", "lost", "with_lost", "min", "max", "abs",
                    "range", "close", "complex", "first_of", "count_between", "rolled", "fused",
                    "times", "times_itself"))  # fmt: skip
STEP = 1024  # what a variable that counts moves by at most
_SUFFIXES = frozenset(("f32", "f64", "c64", "c128", "bool", *(f"{k}{8 * n}" for k in "iu" for n in (1, 2, 4, 8))))


def is_quiet(body: list[ast.stmt], functions: set[str]) -> bool:
    """Whether these statements raise nothing: no checked subscripts, no calls but of plain arithmetic."""
    for node in (n for stmt in body for n in walk(stmt)):
        if isinstance(node, ast.Raise | ast.Assert):
            return False
        if isinstance(node, ast.Subscript) and not is_shape(node) and not is_item(node):
            return False
        if isinstance(node, ast.Call) and not is_quiet_call(node.func, functions):
            return False
    return True


def is_quiet_call(function: ast.expr, functions: set[str]) -> bool:
    if isinstance(function, ast.Attribute):  # of a type, as `np.int64(x)`
        known = getattr(np, function.attr, None) if isinstance(function.value, ast.Name) else None
        return isinstance(known, type) and issubclass(known, np.generic)
    if not isinstance(function, ast.Name):
        return False
    name, _, end = function.id.rpartition("_")
    return (
        function.id in _QUIET
        or function.id in functions
        or (name in ("at", "put") and end.isdigit())
        or (bool(name) and end in _SUFFIXES)
    )


def is_shape(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Attribute) and node.value.attr == "shape" and isinstance(node.slice, ast.Constant)


def bound(body: list[ast.stmt]) -> list[str]:
    """The names that statements set, in order."""
    names = (n.id for stmt in body for n in walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return list(dict.fromkeys(names))


def stores(body: list[ast.stmt]) -> Iterable[str]:
    names = (n for stmt in body for n in walk(stmt) if isinstance(n, ast.Name))
    return (n.id for n in names if isinstance(n.ctx, ast.Store))


def is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def n_indices(node: ast.Subscript) -> int:
    """How many axes single indices pick from; 0 if there are others."""
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(n, ast.Slice | ast.Starred | ast.Attribute) for n in nodes):
        return 0
    return len(nodes)


def steps(name: str, body: list[ast.stmt]) -> list[int] | None:
    """By what a variable is changed in a loop, if it only counts."""
    found: list[int] = []
    sets = [n for stmt in body for n in walk(stmt) if isinstance(n, ast.Name) and n.id == name]
    n_stores = sum(isinstance(n.ctx, ast.Store) for n in sets)
    for stmt in (n for each in body for n in walk(each) if isinstance(n, ast.Assign)):
        if len(stmt.targets) != 1 or not isinstance(stmt.targets[0], ast.Name) or stmt.targets[0].id != name:
            continue
        match stmt.value:
            case ast.BinOp(left=ast.Name(id=left), op=ast.Add() | ast.Sub() as op, right=right) if left == name:
                sign = 1 if isinstance(op, ast.Add) else -1
            case ast.Call(func=ast.Name(id=function), args=[ast.Name(id=left), right]) if left == name:
                sign = {"checked_add": 1, "checked_sub": -1}.get(function, 0)
            case _:
                return None
        if not sign or not isinstance(right, ast.Constant) or type(right.value) is not int or right.value > STEP:
            return None
        found.append(sign * right.value)
    return found if len(found) == n_stores else None


def leaves(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Break | ast.Continue | ast.Return | ast.Raise)


def call(name: str, *args: Any) -> ast.Call:
    named: list[ast.expr] = [ast.Name(a.id, ast.Load()) if isinstance(a, ast.Name) else a for a in args]
    return ast.Call(ast.Name(name, ast.Load()), named, [])


def item(name: str, k: int) -> ast.expr:
    """A part of a tuple, which is there."""
    made: Any = ast.Subscript(ast.Name(name, ast.Load()), ast.Constant(k), ast.Load())
    made.of_tuple = True
    return made


def is_item(node: ast.AST) -> bool:
    return getattr(node, "of_tuple", False)


def length(name: str, axis: int) -> ast.expr:
    return ast.Subscript(ast.Attribute(ast.Name(name, ast.Load()), "shape", ast.Load()), ast.Constant(axis), ast.Load())
