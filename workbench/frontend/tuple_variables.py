"""Variables that hold tuples of one length, as one variable for each item.

    best = (inf, 0)                    best_0, best_1 = (inf, 0)
    for i in range(n):                 for i in range(n):
        if x[i] < best[0]:      ->         if x[i] < best_0:
            best = (x[i], i)                   best_0, best_1 = (x[i], i)
    return best                        return (best_0, best_1)

An item may be Python's number on one path and NumPy's on another, or change its kind, as any variable of a loop may.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping

from .liveness import Names
from .syntax import copied, walk

MOST_ITEMS = 16
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.GeneratorExp)
_LOOPS = (ast.For, ast.While)


def split_tuples(body: list[ast.stmt], own: Names) -> list[ast.stmt]:
    """own: the variables that no other scope rebinds. A loop that is changed keeps its text, as its `written`."""
    lengths = _lengths(body, own)
    if not lengths:
        return body
    taken = {n.id for stmt in body for n in walk(stmt) if isinstance(n, ast.Name)}
    items = {name: _names_for(name, n, taken | own) for name, n in lengths.items()}
    body = copied(body)
    for stmt in body:
        for node in walk(stmt):
            if isinstance(node, _LOOPS) and any(isinstance(n, ast.Name) and n.id in items for n in walk(node)):
                node.written = ast.unparse(node)  # type: ignore[union-attr]  # an attribute of our own
    splitter = _Splitter(items)
    return [splitter.visit(stmt) for stmt in body]


def _lengths(body: list[ast.stmt], own: Names) -> dict[str, int]:
    """How many items the tuples have that a variable is given, for those which a loop gives others."""
    given: dict[str, list[ast.expr]] = {}
    n_bound: dict[str, int] = {}
    in_loops: set[str] = set()
    elsewhere: set[str] = set()
    for stmt in body:
        for node in walk(stmt):
            if isinstance(node, _SCOPES):
                elsewhere.update(n.id for n in walk(node) if isinstance(n, ast.Name))
            elif isinstance(node, _LOOPS):
                inside = (n for each in node.body for n in walk(each) if isinstance(n, ast.Assign))
                in_loops.update(name for n in inside for name, _ in _given(n))
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                n_bound[node.id] = n_bound.get(node.id, 0) + 1
            elif isinstance(node, ast.Assign):
                for name, value in _given(node):
                    given.setdefault(name, []).append(value)
    found = {
        name: n for name, values in given.items()
        if name in in_loops & own - elsewhere and len(values) == n_bound[name] and (n := _length_of(values))
    }  # fmt: skip
    while True:  # those that are given others of these
        kept = {name: n for name, n in found.items() if all(_has_length(value, n, found) for value in given[name])}
        if len(kept) == len(found):
            return kept
        found = kept


def _given(node: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    for target in node.targets:
        yield from _pairs(target, node.value)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The variables that are given something, with what they are given."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple):
        if len(target.elts) == len(value.elts) and not any(isinstance(e, ast.Starred) for e in value.elts):
            for one, item in zip(target.elts, value.elts, strict=True):
                yield from _pairs(one, item)


def _length_of(values: Iterable[ast.expr]) -> int:
    """Of the first tuple that is written out among the values, 0 if there is none."""
    for value in values:
        match value:
            case ast.Tuple(elts=elts):
                return len(elts) if len(elts) <= MOST_ITEMS else 0
            case ast.IfExp(body=body, orelse=other) if n := _length_of([body, other]):
                return n
    return 0


def _has_length(value: ast.expr, n: int, lengths: Mapping[str, int]) -> bool:
    match value:
        case ast.Tuple(elts=elts):
            return len(elts) == n and not any(isinstance(e, ast.Starred) for e in elts)
        case ast.IfExp(body=body, orelse=other):
            return _has_length(body, n, lengths) and _has_length(other, n, lengths)
        case ast.Name(id=name):
            return lengths.get(name) == n
    return False


def _names_for(name: str, n: int, taken: Collection[str]) -> list[str]:
    stem = f"{name}_"
    while any(f"{stem}{k}" in taken for k in range(n)):
        stem += "_"
    return [f"{stem}{k}" for k in range(n)]


class _Splitter(ast.NodeTransformer):
    def __init__(self, items: dict[str, list[str]]):
        self.items = items

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802 (ast's name)
        return node  # none of the names is mentioned in other scopes

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef  # type: ignore[assignment]  # noqa: N815

    def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802 (ast's name)
        names = self.items.get(node.id)
        if names is None:
            return node
        made = ast.Tuple([ast.copy_location(ast.Name(name, node.ctx), node) for name in names], node.ctx)
        return ast.copy_location(made, node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:  # noqa: N802 (ast's name)
        names = self.items.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if names is not None and isinstance(node.ctx, ast.Load):
            k = _number(node.slice)
            if k is not None and -len(names) <= k < len(names):
                return ast.copy_location(ast.Name(names[k], ast.Load()), node)
        self.generic_visit(node)
        return node


def _number(index: ast.expr) -> int | None:
    match index:
        case ast.Constant(value=value) if type(value) is int:
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if type(value) is int:
            return -value
    return None
