"""Functions within functions, as functions beside them: what they read of the outer one becomes arguments (T. Johnsson,
Lambda lifting: transforming programs to recursive equations, 1985).

    def groups(pairs, n):                           def find(x, *, parent): ...
        parent = np.arange(n)
        def find(x):                                def groups(pairs, n):
            while parent[x] != x: ...        ->         parent = np.arange(n)
        for a, b in pairs:                              for a, b in pairs:
            parent[find(a)] = find(b)                       parent[find(a, parent=parent)] = find(b, parent=parent)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

from ...frontend.liveness import bound_once, walk_scope
from ...frontend.syntax import copied, syntax_of, walk
from .rebuilt import rebuilt

_REFUSED = (ast.Yield, ast.YieldFrom, ast.Await, ast.Nonlocal, ast.Global, ast.FunctionDef, ast.ClassDef)


def lifted(fn: FunctionType) -> FunctionType:
    """The same function, with those that its body defines beside it; `fn` itself where there are none, or where they
    are more than functions that are called."""
    node = syntax_of(fn.__code__)
    if not isinstance(node, ast.FunctionDef):
        return fn
    once = _bound_once(node)
    inner = {name: stmt for stmt in node.body if (name := _name_of(stmt)) in once}
    codes = {name: code for name, stmt in inner.items() if (code := _code_of(fn.__code__, stmt)) is not None}
    if not inner or codes.keys() != inner.keys() or not all(map(_is_simple, inner.values())):
        return fn
    needs = _needs(codes)
    taken = {name: v for name, v in needs.items() if v}
    is_hidden = any(name in code.co_varnames for code in codes.values() for name in inner)
    if is_hidden or {node.name, "__class__"} & {*inner, *fn.__code__.co_freevars} or _is_used_early(node, inner):
        return fn
    if not _only_called(node, taken):
        return fn
    return _beside(fn, node, inner, needs)


def _bound_once(node: ast.FunctionDef) -> frozenset[str]:
    """The names that one statement binds, and no parameter."""
    given = {arg.arg for arg in walk(node.args) if isinstance(arg, ast.arg)}
    functions = [s.name for s in walk_scope(node.body) if isinstance(s, ast.FunctionDef)]
    stored = [n.id for n in walk_scope(node.body) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    once = {name for name in functions if functions.count(name) == 1 and name not in stored}
    return frozenset((once | (bound_once(node.body) - frozenset(functions))) - given)


def _name_of(stmt: ast.stmt) -> str:
    """Of a statement that defines a function."""
    match stmt:
        case ast.FunctionDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()):
            return name
    return ""


def _code_of(outer: CodeType, stmt: ast.stmt) -> CodeType | None:
    name, line = (stmt.name, stmt.lineno) if isinstance(stmt, ast.FunctionDef) else ("<lambda>", stmt.value.lineno)  # type: ignore[attr-defined]  # an assignment
    found = [c for c in outer.co_consts if isinstance(c, CodeType) and c.co_name == name and c.co_firstlineno == line]
    return found[0] if len(found) == 1 else None


def _is_simple(stmt: ast.stmt) -> bool:
    """Whether a definition means the same elsewhere."""
    function: Any = stmt if isinstance(stmt, ast.FunctionDef) else stmt.value  # type: ignore[attr-defined]  # an assignment
    arguments = function.args
    if getattr(function, "decorator_list", []) or arguments.vararg or arguments.kwarg:
        return False
    defaults = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
    body = function.body if isinstance(function.body, list) else [function.body]
    return all(isinstance(d, ast.Constant) for d in defaults) and not any(
        isinstance(n, _REFUSED) for stmt in body for n in walk(stmt)
    )


def _needs(codes: Mapping[str, CodeType]) -> dict[str, tuple[str, ...]]:
    """What each function reads of the outer one, or those that it calls do."""
    needs = {name: set(code.co_freevars) - codes.keys() for name, code in codes.items()}
    calls = {name: set(code.co_freevars) & codes.keys() for name, code in codes.items()}
    for _ in codes:
        for name, called in calls.items():
            needs[name].update(*(needs[each] for each in called))
    return {name: tuple(sorted(found)) for name, found in needs.items()}


def _is_used_early(node: ast.FunctionDef, inner: Mapping[str, ast.stmt]) -> bool:
    """Whether a function is used before it is defined, where Python raises."""
    later = set(inner)
    for stmt in node.body:
        name = _name_of(stmt)
        if name in inner:
            later.discard(name)
        elif any(isinstance(n, ast.Name) and n.id in later for n in walk(stmt)):
            return True
    return False


def _only_called(node: ast.FunctionDef, names: Mapping[str, Any]) -> bool:
    called = {id(n.func) for n in walk(node) if isinstance(n, ast.Call)}
    return not any(
        isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load) and id(n) not in called
        for n in walk(node)
    )


class _Calls(ast.NodeTransformer):
    """Gives calls of functions what these read."""

    def __init__(self, needs: Mapping[str, Sequence[str]]):
        self.needs = needs

    def visit_Call(self, node: ast.Call) -> ast.Call:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.func, ast.Name):
            node.keywords += [
                ast.copy_location(ast.keyword(name, ast.copy_location(ast.Name(name, ast.Load()), node)), node)
                for name in self.needs.get(node.func.id, ())
            ]
        return node


def _beside(
    fn: FunctionType, node: ast.FunctionDef, inner: Mapping[str, ast.stmt], needs: Mapping[str, Sequence[str]]
) -> FunctionType:
    calls = _Calls(needs)
    defined: dict[str, ast.FunctionDef] = {}
    for name, stmt in inner.items():
        made = defined[name] = calls.visit(_as_function(name, copied(stmt)))
        made.args.kwonlyargs += [ast.copy_location(ast.arg(each), made) for each in needs[name]]
        made.args.kw_defaults += [None] * len(needs[name])
        for argument in walk(made.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
    whole: ast.FunctionDef = copied(node)
    whole.body = [calls.visit(stmt) for stmt in whole.body if _name_of(stmt) not in inner]
    return rebuilt(fn, whole, defined) if whole.body else fn


def _as_function(name: str, stmt: Any) -> ast.FunctionDef:
    if isinstance(stmt, ast.FunctionDef):
        return stmt
    made = ast.FunctionDef(name, stmt.value.args, [ast.Return(stmt.value.body)], [], None)
    if hasattr(made, "type_params"):
        made.type_params = []  # pyright: ignore[reportAttributeAccessIssue]
    ast.copy_location(made.body[0], stmt.value)
    return ast.fix_missing_locations(ast.copy_location(made, stmt))


__all__ = ["lifted"]
