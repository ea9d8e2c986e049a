"""`v = int(v)` in a loop over numbers: what was NumPy's number, and what is Python's, as two variables.

    for v in x:              for v_1 in x:
        v = int(v)     ->        v = int(v_1)
        total += v               total += v

A variable has one type in a translated loop, so that such a number was one of NumPy's everywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from itertools import count
from typing import TypeGuard

from ..syntax import walk

_CONVERSIONS = frozenset(("int", "float", "bool", "complex", "round", "len"))
_METHODS = frozenset(("item",))
_SCOPES = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp,
           ast.GeneratorExp)  # fmt: skip
_JUMPS = (ast.Break, ast.Continue, ast.Return)
_BINDING = (ast.Delete, ast.Global, ast.Nonlocal, ast.ExceptHandler, ast.Match)


def split_conversions(
    loop: ast.For | ast.While, after: Collection[str], is_builtin: Callable[[str], bool]
) -> ast.For | ast.While:
    """The loop, which is changed. after: the names that are read after it; is_builtin: of a function's name."""
    if any(_is_conversion(n.value, is_builtin) for n in walk(loop) if isinstance(n, ast.Assign)):
        taken = {n.id for n in walk(loop) if isinstance(n, ast.Name)} | set(after)
        _Splitter(taken, is_builtin).loop(loop, after)
    return loop


def _is_conversion(value: ast.expr, is_builtin: Callable[[str], bool]) -> bool:
    match value:
        case ast.Call(func=ast.Name(id=name)):
            return name in _CONVERSIONS and is_builtin(name)
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in _METHODS
    return False


class _Splitter:
    def __init__(self, taken: set[str], is_builtin: Callable[[str], bool]):
        self.taken = taken
        self.is_builtin = is_builtin

    def loop(self, loop: ast.For | ast.While, after: Collection[str] | None) -> None:
        """after: None where it is not known."""
        for stmt in loop.body:
            for inner in walk(stmt):
                if isinstance(inner, ast.For | ast.While):
                    self.loop(inner, None)
        # By name: where it was last bound on all paths, and whether to what Python made. -1 is the loop's target.
        bound: dict[str, tuple[int, bool]] = {}
        if isinstance(loop, ast.For):
            bound = {n.id: (-1, False) for n in walk(loop.target) if _is_store(n)}
        for i, stmt in enumerate(loop.body):
            if not isinstance(stmt, ast.Assign):
                continue
            match stmt.targets:
                case [ast.Name(id=name)]:
                    is_python = _is_conversion(stmt.value, self.is_builtin)
                    first, was_python = bound.get(name, (None, False))
                    if first is not None and is_python != was_python:
                        self.split(loop, name, first, i, after)
                    bound[name] = i, is_python

    def split(self, loop: ast.For | ast.While, name: str, first: int, last: int, after: Collection[str] | None) -> None:
        """Give `name` another one from the statement that binds it, `first`, to the value of statement `last`."""
        value = loop.body[last].value  # type: ignore[attr-defined]  # an assignment
        between: Sequence[ast.stmt] = loop.body[first + 1 : last]
        nodes = [n for part in (*between, value) for n in walk(part)]
        if any(isinstance(n, _BINDING) or isinstance(n, _SCOPES) and _mentions(n, name) for n in nodes):
            return
        if any(isinstance(n, _JUMPS) for n in nodes) and (after is None or name in after):
            return  # what it holds then is read later
        new = next(wish for k in count(1) if (wish := f"{name}_{k}") not in self.taken)
        self.taken.add(new)
        start = loop.target if first < 0 else loop.body[first].targets[0]  # type: ignore[union-attr, attr-defined]
        for node in (*walk(start), *nodes):
            if isinstance(node, ast.Name) and node.id == name:
                node.id = new


def _is_store(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _mentions(scope: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in walk(scope))
