"""`and` and `or` of calls by which a function calls itself, as branches: what the calls before do comes first.

return visit(i + 1) or visit(j + 1)   ->   either = visit(i + 1)
                                           if not either:
                                               either = visit(j + 1)
                                           return either
"""

from __future__ import annotations

import ast

from ..syntax import copied, walk

_HEADS = {ast.Assign: "value", ast.Return: "value", ast.If: "test", ast.Expr: "value"}


def calls_apart(stmts: list[ast.stmt], function: str) -> list[ast.stmt]:
    """The body of `function`, so written; the given statements are left as they are."""
    if not any(_connects_calls(n, function) for stmt in stmts for n in walk(stmt)):
        return stmts
    return _Rewriter(function).block(copied(stmts))


def _calls(node: ast.AST, function: str) -> bool:
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == function for n in walk(node)
    )  # fmt: skip


def _connects_calls(node: ast.AST, function: str) -> bool:
    return isinstance(node, ast.BoolOp) and any(_calls(operand, function) for operand in node.values[1:])


class _Rewriter:
    def __init__(self, function: str):
        self.function = function
        self.n_made = 0

    def block(self, stmts: list[ast.stmt]) -> list[ast.stmt]:
        return [new for stmt in stmts for new in self.statement(stmt)]

    def statement(self, stmt: ast.stmt) -> list[ast.stmt]:
        if isinstance(stmt, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            return [stmt]
        for field in ("body", "orelse"):
            if isinstance(inner := getattr(stmt, field, None), list):
                setattr(stmt, field, self.block(inner))
        head = _HEADS.get(type(stmt))
        value = getattr(stmt, head) if head else None
        if head is None or not isinstance(value, ast.BoolOp) or not _connects_calls(value, self.function):
            return [stmt]
        self.n_made += 1
        name = f"either_{self.n_made}_"
        before = self.operands(value, name)
        setattr(stmt, head, ast.Name(name, ast.Load()))
        return [ast.fix_missing_locations(ast.copy_location(new, stmt)) for new in before] + [stmt]

    def operands(self, node: ast.BoolOp, name: str) -> list[ast.stmt]:
        """What gives the variable `name` the value of `node`."""
        first, *rest = node.values
        found: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], first)]
        for operand in rest:
            ends: ast.expr = ast.Name(name, ast.Load())
            goes_on = ast.UnaryOp(ast.Not(), ends) if isinstance(node.op, ast.Or) else ends
            found.append(ast.If(goes_on, [ast.Assign([ast.Name(name, ast.Store())], operand)], []))
        return found
