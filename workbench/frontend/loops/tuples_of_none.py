"""Variables that hold tuples of which some items may be None, as one variable for each item.

best = (-np.inf, None)                 best_1, best_2 = -np.inf, None
for i, v in enumerate(x):              for i, v in enumerate(x):
    if v > best[0]:                ->      if v > best_1:
        best = (v, i)                          best_1, best_2 = v, i
value, place = best                    value, place = best_1, best_2
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from ..syntax import copied, walk

_SCOPES = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Nonlocal, ast.Global)


def without_tuples_of_none(stmts: list[ast.stmt], others: Collection[str]) -> list[ast.stmt]:
    """The statements; the given ones are left as they are. others: names that are read elsewhere."""
    found = _lengths(stmts, others)
    if not found:
        return stmts
    taken = {n.id for stmt in stmts for n in walk(stmt) if isinstance(n, ast.Name)}
    names = {name: tuple(_new(f"{name}_{k + 1}", taken) for k in range(n)) for name, n in found.items()}
    return [ast.fix_missing_locations(_Split(names).visit(stmt)) for stmt in copied(stmts)]


def _new(wish: str, taken: Collection[str]) -> str:
    while wish in taken:
        wish += "_"
    return wish


def _lengths(stmts: Sequence[ast.stmt], others: Collection[str]) -> dict[str, int]:
    """The variables, with the lengths of their tuples."""
    lengths: dict[str, set[int]] = {}
    with_none: set[str] = set()
    known: set[int] = set()
    nodes = [n for stmt in stmts for n in walk(stmt)]
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=ast.Tuple(elts=items)):
                if not any(isinstance(item, ast.Starred) for item in items):
                    known.add(id(target))
                    lengths.setdefault(name, set()).add(len(items))
                    if any(isinstance(item, ast.Constant) and item.value is None for item in items):
                        with_none.add(name)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Name(id=name) as read):
                if not any(isinstance(target, ast.Starred) for target in targets):
                    known.add(id(read))
                    lengths.setdefault(name, set()).add(len(targets))
            case ast.Subscript(value=ast.Name() as read, slice=ast.Constant(value=int()), ctx=ast.Load()):
                known.add(id(read))
    inner = {n.id for node in nodes if isinstance(node, _SCOPES) for n in walk(node) if isinstance(n, ast.Name)}
    declared = {name for node in nodes if isinstance(node, ast.Nonlocal | ast.Global) for name in node.names}
    unknown = {n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in known}
    names = with_none - unknown - inner - declared - set(others)
    found = {name: min(lengths[name]) for name in names if len(lengths[name]) == 1}
    for node in nodes:
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=k)) if name in found:
                if type(k) is not int or not -found[name] <= k < found[name]:
                    del found[name]
    return found


class _Split(ast.NodeTransformer):
    def __init__(self, names: dict[str, tuple[str, ...]]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802 (ast's name)
        if node.id not in self.names:
            return node
        items: list[ast.expr] = [ast.Name(name, node.ctx) for name in self.names[node.id]]
        return ast.copy_location(ast.Tuple(items, node.ctx), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: N802 (ast's name)
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(k))) if name in self.names:
                return ast.copy_location(ast.Name(self.names[name][k], node.ctx), node)
        return self.generic_visit(node)
