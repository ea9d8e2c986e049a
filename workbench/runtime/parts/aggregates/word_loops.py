"""Loops over words that are written out: `for key, row in (("S", s), ("E", e)): found[key].append(row)`."""

from __future__ import annotations

import ast
from functools import partial

from ....frontend.syntax import copied, walk
from .occurrences import MOST_STATEMENTS, Occurrences, Substituted, suites, word_of

MOST_TURNS = 16


def words_written_out(node: ast.FunctionDef) -> None:
    """Write such loops out, with the words in their places."""
    found = True
    while found:
        found = False
        occurrences = Occurrences(node)
        for suite in suites(node):
            for k, stmt in enumerate(suite):
                turns = _turns(stmt, occurrences) if isinstance(stmt, ast.For) else None
                if turns is not None:
                    suite[k : k + 1] = turns
                    found = True
                    break
            if found:
                break


def _turns(loop: ast.For, occurrences: Occurrences) -> list[ast.stmt] | None:
    """The statements of all turns; None of a loop over other things than words."""
    items = loop.iter.elts if isinstance(loop.iter, ast.Tuple | ast.List) else []
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    rows = [
        item.elts if isinstance(item, ast.Tuple) and isinstance(loop.target, ast.Tuple) else [item] for item in items
    ]
    if not 0 < len(items) <= MOST_TURNS or loop.orelse or len(loop.body) > MOST_STATEMENTS:
        return None
    if any(isinstance(n, ast.Break | ast.Continue) for stmt in loop.body for n in walk(stmt)):
        return None
    if any(len(row) != len(targets) for row in rows) or not all(isinstance(t, ast.Name) for t in targets):
        return None
    names = [t.id for t in targets if isinstance(t, ast.Name)]
    words = [k for k in range(len(names)) if all(word_of(row[k]) is not None for row in rows)]
    if not all(occurrences.is_of_loops(names[k]) for k in words):
        return None
    others = [k for k in range(len(names)) if k not in words]
    read = {n.id for row in rows for k in others for n in walk(row[k]) if isinstance(n, ast.Name)}
    bound_inside = {n.id for n in walk(loop) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    # Python computes all rows before the first turn.
    if not words or read & bound_inside or any(not isinstance(row[k], ast.Name) for row in rows for k in others):
        return None
    made: list[ast.stmt] = []
    for row in rows:
        made += [
            ast.copy_location(
                ast.Assign([ast.copy_location(ast.Name(names[k], ast.Store()), loop)], copied(row[k])), loop
            )
            for k in others
        ]
        substituted = {names[k]: partial(ast.Constant, word_of(row[k])) for k in words}
        made += [Substituted(**substituted).visit(copied(stmt)) for stmt in loop.body]
    return made
