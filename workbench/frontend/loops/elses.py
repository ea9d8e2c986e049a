"""`else` of loops, as a test of whether they ran to their end.

for p in primes:                    ends = True
    if n % p == 0:                  for p in primes:
        break                           if n % p == 0:
else:                          ->           ends = False
    primes.append(n)                        break
                                    if ends:
                                        primes.append(n)
"""

from __future__ import annotations

import ast
from typing import Any

from ..syntax import walk

Loop = ast.For | ast.While
PREFIX = "_ends_"  # of the names of such variables


def without_elses(node: Loop) -> Loop:
    """The loop, whose inner loops have no `else`. It is changed."""
    if any(isinstance(n, Loop) and n.orelse for stmt in node.body for n in walk(stmt)):
        node.body = _flattened(node.body)
        ast.fix_missing_locations(node)
    return node


def without_else(node: Loop) -> Loop:
    """A loop with an `else` as a loop that runs once, in which neither it nor others have one. It is changed."""
    once = ast.copy_location(ast.While(ast.Constant(True), [node, ast.Break()], []), node)
    return without_elses(ast.fix_missing_locations(once))


def _flattened(stmts: list[ast.stmt]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for stmt in stmts:
        for block in ("body", "orelse", "finalbody"):
            if getattr(stmt, block, None) and not isinstance(stmt, ast.FunctionDef | ast.ClassDef):
                setattr(stmt, block, _flattened(getattr(stmt, block)))
        if not isinstance(stmt, Loop) or not stmt.orelse:
            found.append(stmt)
            continue
        after, stmt.orelse = stmt.orelse, []
        marks = _Marks(f"{PREFIX}{stmt.lineno}_{stmt.col_offset}")
        stmt.body = [line for each in stmt.body for line in marks.marked(each)]
        if marks.n_breaks:
            found += [_at(stmt, marks.set(True)), stmt, _at(stmt, ast.If(ast.Name(marks.name, ast.Load()), after, []))]
        else:
            found += [stmt, *after]
    return found


class _Marks(ast.NodeTransformer):
    """Sets a variable to False before each `break` of one loop."""

    def __init__(self, name: str):
        self.name = name
        self.n_breaks = 0

    def set(self, value: bool) -> ast.stmt:
        return ast.Assign([ast.Name(self.name, ast.Store())], ast.Constant(value))

    def marked(self, stmt: ast.stmt) -> list[ast.stmt]:
        made = self.visit(stmt)
        return made if isinstance(made, list) else [made]

    def visit_Break(self, node: ast.Break) -> Any:  # noqa: N802 (ast's name)
        self.n_breaks += 1
        return [_at(node, self.set(False)), node]

    def _not_inside(self, node: Any) -> Any:
        return node

    visit_For = visit_While = visit_FunctionDef = visit_ClassDef = visit_Lambda = _not_inside  # noqa: N815


def _at(place: ast.AST, node: ast.stmt) -> ast.stmt:
    return ast.copy_location(node, place)
