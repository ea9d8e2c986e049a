"""Dictionaries with words for keys, lists of these, and words: to machine code they are variables, tuples and numbers.

    def f(x):                                         def f(x):
        found = {"low": [], "state": "none"}              found_low = []
        for v in x:                                       found_state = 0
            if v < 0:                                     for v in x:
                found["low"].append({"at": v})                if v < 0:
                found["state"] = "some"                           found_low.append((v,))
        return found                                              found_state = 1
                                                          return found_low, found_state

What a function returns is put together again when it has run: `{"low": [{"at": row[0]} for row in low], "state":
("none", "some")[state]}`. It is scalar replacement of aggregates (S. Muchnick, Advanced Compiler Design and
Implementation, 12.2) on the syntax.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from ....frontend.syntax import copied, syntax_of, walk
from ..rebuilt import rebuilt
from .occurrences import displayed, is_append, suites, word_of
from .records import records_apart
from .results import PART, Results
from .rows import RowList, rows_apart
from .word_loops import words_written_out
from .words import Words

_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ClassDef)


def taken_apart(fn: FunctionType) -> tuple[FunctionType, ast.expr | None]:
    """The same function over variables of machine code, and the expression that makes its result of what it returns, a
    tuple of the names `PART`; `fn` itself, and None, where there is nothing to take apart."""
    node = syntax_of(fn.__code__)
    if not isinstance(node, ast.FunctionDef) or any(isinstance(n, _SCOPES) for stmt in node.body for n in walk(stmt)):
        return fn, None
    whole: ast.FunctionDef = copied(node)
    _one_by_one(whole)
    words_written_out(whole)
    changed = records_apart(whole)
    words = Words(whole)
    rows = rows_apart(whole, words)
    if _are_lost(words, rows, whole):
        return fn, None
    changed = words.apart(whole) or bool(rows) or changed
    returns = [n for n in walk(whole) if isinstance(n, ast.Return)]
    template: ast.expr | None = None
    if returns and all(n.value is not None for n in returns) and _always_returns(whole.body):
        values = [n.value for n in returns if n.value is not None]
        results = Results(words, rows)
        template = results.with_tables(results.whole(values))
        if results.are_lost:
            return fn, None
        is_one = isinstance(template, ast.Name)
        is_flat = isinstance(template, ast.Tuple) and all(isinstance(item, ast.Name) for item in template.elts)
        if is_one or not results.n_parts or is_flat and len(returns) == 1:
            template = None
        else:
            for stmt, parts in zip(returns, results.parts, strict=True):
                stmt.value = ast.copy_location(ast.Tuple(parts, ast.Load()), stmt)
    if not changed and template is None:
        return fn, None
    if template is None and (rows or words.names):
        return fn, None  # they would be returned as they are
    return rebuilt(fn, whole), template


def _are_lost(words: Words, rows: Mapping[str, RowList], node: ast.FunctionDef) -> bool:
    """Whether numbers of words would become items of lists that nobody makes words of again."""
    for n in walk(node):
        match n:
            case ast.Call(func=ast.Attribute(value=base), args=[value]) if is_append(n):
                of_words = any(isinstance(each, ast.Name) and each.id in words.names for each in displayed(value))
                if of_words and not (isinstance(base, ast.Name) and base.id in rows):
                    return True
    return False


def _one_by_one(node: ast.FunctionDef) -> None:
    """`state, n = "none", 0` as two assignments, where that is the same."""
    for suite in suites(node):
        for k in reversed(range(len(suite))):
            match suite[k]:
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) as stmt:
                    names = {t.id for t in targets if isinstance(t, ast.Name)}
                    read = {n.id for v in values for n in walk(v) if isinstance(n, ast.Name)}
                    is_simple = len(names) == len(targets) == len(values) and not names & read
                    if is_simple and any(word_of(v) is not None or isinstance(v, ast.Dict | ast.List) for v in values):
                        pairs = zip(targets, values, strict=True)
                        suite[k : k + 1] = [ast.copy_location(ast.Assign([t], v), stmt) for t, v in pairs]


def n_parts(template: ast.expr) -> int:
    return len({n.id for n in walk(template) if isinstance(n, ast.Name) and n.id.startswith(PART)})


def gatherer(template: ast.expr) -> Callable[..., Any]:
    """What makes a result of its parts."""
    names = [ast.arg(f"{PART}{k}") for k in range(n_parts(template))]
    made = ast.Expression(ast.Lambda(ast.arguments([], names, None, [], [], None, []), copied(template)))
    return eval(compile(ast.fix_missing_locations(made), "<workbench: a result>", "eval"))


def _always_returns(stmts: list[ast.stmt]) -> bool:
    """Whether the end of these statements is not reached."""
    match stmts[-1] if stmts else None:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(body=then, orelse=other):
            return _always_returns(then) and _always_returns(other)
        case ast.With(body=body):
            return _always_returns(body)
        case ast.While(test=ast.Constant(value=value), body=body) if value:
            return not any(isinstance(n, ast.Break) for stmt in body for n in walk(stmt))
    return False


__all__ = ["gatherer", "n_parts", "taken_apart"]
