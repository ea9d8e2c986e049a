"""Which variables of a loop may hold one array, or views of one, as the text of the loop tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..syntax import walk

# Functions and methods that may give a view of their argument. Other functions of NumPy's make arrays.
VIEWING = frozenset((
    "array_split", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "atleast_1d", "atleast_2d",
    "atleast_3d", "broadcast_to", "diag", "diagonal", "dsplit", "expand_dims", "flip", "fliplr", "flipud", "hsplit",
    "imag", "moveaxis", "permute_dims", "ravel", "real", "require", "reshape", "rollaxis", "rot90", "split", "squeeze",
    "swapaxes", "transpose", "view", "vsplit",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """Names of a loop that may be one array. as_wholes: where two of them share memory, they are the same array."""

    names: frozenset[str]
    as_wholes: bool


def sharing_names(node: ast.AST) -> list[Group]:
    """Groups of names, each of which may be one array. Functions of the user's that give several arrays make them."""
    groups: list[Group] = []

    def unite(names: set[str], as_wholes: bool) -> None:
        nonlocal groups
        if len(names) > 1:
            touched = [group for group in groups if group.names & names]
            groups = [group for group in groups if not group.names & names]
            together = names.union(*(group.names for group in touched))
            groups.append(Group(frozenset(together), as_wholes and all(group.as_wholes for group in touched)))

    for stmt in walk(node):
        for targets, value in _bindings(stmt):
            as_wholes = not isinstance(stmt, ast.For) and (isinstance(value, ast.Name) or not _sources(value))
            unite({*targets, *_sources(value)}, as_wholes)
    return groups


def _bindings(node: ast.AST) -> Iterator[tuple[set[str], ast.expr]]:
    """What a statement or expression binds: names that get one value, and the value."""
    match node:
        case ast.Assign(targets=targets, value=value):
            plain: set[str] = set()
            for target in targets:
                if isinstance(target, ast.Tuple | ast.List):
                    yield from _unpacked(target, value)
                else:
                    plain |= _names(target)
            yield plain, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield {name}, value
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            yield {name}, value
        case ast.For(target=target, iter=value):
            yield _names(target), value


def _unpacked(target: ast.Tuple | ast.List, value: ast.expr) -> Iterator[tuple[set[str], ast.expr]]:
    if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        for each, item in zip(target.elts, value.elts, strict=True):
            yield _names(each), item
    elif not isinstance(value, ast.Call):
        yield _names(target), value


def _names(target: ast.expr) -> set[str]:
    return {n.id for n in walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _sources(value: ast.expr) -> set[str]:
    """The names whose arrays `value` may be, or be a view of."""
    match value:
        case ast.Name(id=name):
            return {name}
        case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Starred(value=inner):
            return _sources(inner)
        case ast.NamedExpr(target=target, value=inner):
            return _sources(target) | _sources(inner)
        case ast.IfExp(body=first, orelse=second):
            return _sources(first) | _sources(second)
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            return set().union(*map(_sources, parts))
        case ast.Call(func=ast.Attribute(value=inner, attr=name), args=args) if name in VIEWING:
            return set().union(_sources(inner), *map(_sources, args))
        case ast.Call(func=ast.Name(), args=args):
            return set().union(*map(_sources, args))
    return set()
