"""What a statement of the user's computes and reads by itself, without the statements inside of it."""

from __future__ import annotations

import ast

from ..syntax import walk


def expressions_of(stmt: ast.stmt) -> list[ast.AST]:
    """What a statement computes itself."""
    match stmt:
        case ast.If(test=node) | ast.While(test=node) | ast.For(iter=node) | ast.Expr(value=node):
            return [node]
        case ast.Assign(targets=targets, value=value):
            return [value, *targets]
    return [stmt]


def looked_at(stmt: ast.stmt) -> set[str]:
    """The names that a statement itself reads; what `x += y` changes is one of them."""
    names = [n for each in expressions_of(stmt) for n in walk(each) if isinstance(n, ast.Name)]
    names += [stmt.target] if isinstance(stmt, ast.AugAssign) and isinstance(stmt.target, ast.Name) else []
    return {n.id for n in names if isinstance(n.ctx, ast.Load) or isinstance(stmt, ast.AugAssign)}


def strictness(node: ast.expr) -> bool | None:
    """`strict` of a call of `zip`, False where none is given; None for other keywords, or what is no constant."""
    match node:
        case ast.Call(keywords=[]):
            return False
        case ast.Call(keywords=[ast.keyword(arg="strict", value=ast.Constant(value=bool(strict)))]):
            return strict
    return None


def is_given_again(target: ast.expr, others: list[ast.expr]) -> bool:
    """Whether a name among targets gets another value by those behind it, before anything reads it."""
    if not isinstance(target, ast.Name):
        return False
    names = [n for each in others for n in walk(each) if isinstance(n, ast.Name) and n.id == target.id]
    return bool(names) and all(isinstance(n.ctx, ast.Store) for n in names)
