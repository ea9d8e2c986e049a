"""`sum(map(f, x))` as `sum(f(v) for v in x)`, and `a, b = map(f, x)` as `a, b = tuple(f(v) for v in x)`.

Where a call or an assignment goes through what it is given at once, and to its end, a generator is as good as the list
of what it gives.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import count

from ..syntax import copied, walk

_GO_THROUGH = frozenset(("sum", "min", "max", "any", "all", "list", "tuple", "set", "sorted"))


def without_maps(stmts: list[ast.stmt], is_builtin: Callable[[str], bool]) -> list[ast.stmt]:
    """The statements with generators for what `map` gives; the given ones are left as they are."""
    if not any(_taken(n) for stmt in stmts for n in walk(stmt)):
        return stmts
    rewriter = _Maps(is_builtin)
    return [rewriter.visit(stmt) for stmt in copied(stmts)]


def _taken(node: ast.AST) -> ast.expr | None:
    """What a node goes through, if that is a generator or what `map` gives, and has to be rewritten."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[ast.Call() as items], keywords=[]) if name in _GO_THROUGH:
            return items if _is_map(items) else None
        case ast.Assign(targets=[ast.Tuple()], value=ast.Call() as items):
            return items if _is_map(items) else None
        case ast.Assign(targets=[ast.Tuple()], value=ast.GeneratorExp() as items):
            return items
    return None


def _is_map(node: ast.Call) -> bool:
    """Whether a node is `map(f, x)`, where `f` can be looked up for each item."""
    match node:
        case ast.Call(func=ast.Name(id="map"), args=[ast.Name() | ast.Attribute(value=ast.Name()), items], keywords=[]):
            return not isinstance(items, ast.Starred)
    return False


class _Maps(ast.NodeTransformer):
    def __init__(self, is_builtin: Callable[[str], bool]):
        self.is_builtin = is_builtin

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802 (ast's name)
        self.generic_visit(node)
        if (items := _taken(node)) is not None:
            node.args = [self.generator(items)]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:  # noqa: N802 (ast's name)
        self.generic_visit(node)
        items = _taken(node)
        if items is not None and self.is_builtin("tuple"):
            found = self.generator(items)
            if isinstance(found, ast.GeneratorExp):
                made = ast.Call(ast.Name("tuple", ast.Load()), [found], [])
                node.value = ast.fix_missing_locations(ast.copy_location(made, node.value))
        return node

    def generator(self, items: ast.expr) -> ast.expr:
        """The generator that `map(f, x)` is."""
        if isinstance(items, ast.GeneratorExp) or not self.is_builtin("map"):
            return items
        assert isinstance(items, ast.Call)
        function, over = items.args
        taken = {n.id for n in walk(items) if isinstance(n, ast.Name)}
        name = next(name for k in count(1) if (name := f"item_{k}") not in taken)
        call = ast.Call(function, [ast.Name(name, ast.Load())], [])
        part = ast.comprehension(ast.Name(name, ast.Store()), over, [], 0)
        return ast.fix_missing_locations(ast.copy_location(ast.GeneratorExp(call, [part]), items))
