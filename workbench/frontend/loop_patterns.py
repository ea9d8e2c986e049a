"""What the text of a loop alone tells: the lists that it appends to, and how often it runs where a counter decides."""

from __future__ import annotations

import ast
import math
import operator
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .jumps import LoopSource
from .liveness import bound
from .syntax import walk


def appended(loop: ast.For | ast.While) -> dict[str, int]:
    """The names of lists that a loop appends to in its own body, and does nothing else with: how often it does."""
    calls = [stmt.value for stmt in loop.body if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call)]
    found: dict[int, str] = {}
    for call in calls:
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append") as method, args=[_], keywords=[]):
                found[id(method.value)] = name
    others = {n.id for n in walk(loop) if isinstance(n, ast.Name) and id(n) not in found}
    return {name: n for name, n in Counter(found.values()).items() if name not in others}


@dataclass(frozen=True, slots=True)
class Turns:
    """How often a loop is yet to run, and the name of its counter with what that is afterwards."""

    n: int
    counter: str
    end: int | float


def turns_left(source: LoopSource, value_of: Callable[[str], Any]) -> Turns | None:
    """Of `while t < end: ...; t += dt` at its head, or with another comparison; None of other loops, and where these
    are not Python's numbers, known while tracing. value_of: what a variable holds."""
    node = source.node
    match node:
        case ast.While(test=ast.Compare(left=ast.Name(id=counter), ops=[order], comparators=[limit])) if (
            type(order) in _ORDERS and source.stop is None and source.keeps is None
        ):
            step = next((step for stmt in node.body if (step := _step(stmt, counter)) is not None), None)
        case _:
            return None
    sets = [n for n in walk(node) if isinstance(n, ast.Name) and n.id == counter and isinstance(n.ctx, ast.Store)]
    may_skip = any(isinstance(n, ast.Continue) for stmt in node.body for n in walk(stmt))
    if step is None or len(sets) != 1 or may_skip:
        return None
    changed = bound(node.body) | source.set_by_calls
    names = {n.id for each in (limit, step[1]) for n in walk(each) if isinstance(n, ast.Name)}
    if counter in source.set_by_calls or changed & names:
        return None
    value, end, by = value_of(counter), _value(limit, value_of), _value(step[1], value_of)
    if type(value) not in (int, float) or end is None or by is None:
        return None
    n, goes_on = 0, _ORDERS[type(order)]
    while goes_on(value, end):  # as the loop will, which rounds
        n, value = n + 1, step[0](value, by)
        if n > MOST_TURNS:
            return None
    return Turns(n, counter, value)


MOST_TURNS = 1_000_000  # that are counted
_ORDERS = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
_STEPS: dict[type, Callable[[Any, Any], Any]] = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
_OPERATORS = {**_STEPS, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv}


def _step(stmt: ast.stmt, counter: str) -> tuple[Callable[[Any, Any], Any], ast.expr] | None:
    """How a statement changes the counter, and by what."""
    match stmt:
        case ast.AugAssign(target=ast.Name(id=name), op=op, value=by) if name == counter and type(op) in _STEPS:
            return _STEPS[type(op)], by
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=same), op=op, right=by)) if (
            name == same == counter and type(op) in _STEPS
        ):
            return _STEPS[type(op)], by
    return None


def _value(node: ast.expr, value_of: Callable[[str], Any]) -> int | float | None:
    """An expression of Python's numbers; None of another one."""
    match node:
        case ast.Constant(value=value):
            found = value
        case ast.Name(id=name):
            found = value_of(name)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _value(left, value_of), _value(right, value_of)
            if a is None or b is None or not b and isinstance(op, ast.Div | ast.FloorDiv):
                return None
            found = _OPERATORS[type(op)](a, b)
        case _:
            return None
    return found if isinstance(found, int | float) and type(found) is not bool else None


_ONLY_LOOK = frozenset(("abs", "bool", "complex", "divmod", "enumerate", "float", "int", "len", "list", "max", "min",
                        "prange", "range", "reversed", "round", "set", "sorted", "sum", "tuple", "zip"))  # fmt: skip
_CHANGE = frozenset(("byteswap", "clear", "copyto", "fill", "itemset", "partition", "place", "pop", "popitem", "put",
                     "putmask", "resize", "setdefault", "setflags", "sort", "update"))  # fmt: skip


def may_change_things(node: ast.AST) -> bool:
    """Whether an expression may do more than to compute a value, as far as the names of what it calls tell: then it is
    computed once."""
    for n in walk(node):
        match n:
            case ast.Call(func=ast.Name(id=name)):
                if name not in _ONLY_LOOK:
                    return True
            case ast.Call(func=ast.Attribute(attr=attr)):
                known = any(hasattr(kind, attr) for kind in (np.ndarray, np, np.linalg, math, dict, str))
                if attr in _CHANGE or not known and attr not in _ONLY_LOOK:
                    return True
            case ast.Call() | ast.NamedExpr() | ast.Yield() | ast.YieldFrom() | ast.Await():
                return True
    return False
