"""Random programs whose variables are held by objects, dicts and lists: the nested ones, rewritten.

Some of the names that a program binds become attributes of an object or items of a dict, made by the program or kept
from call to call, and some of what it binds is appended to lists that these hold. NumPy's run and the compiled one have
objects of their own, which are compared after each call.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Sequence
from typing import Any

import workbench as wb
from tests.compare import assert_same
from tests.sources import define

from .nested import (
    Nested,
    _alike,
    _assert_same_memory,
    _files,
    _is_exact,
    _judged,
    _leaves,
    _numpys,
    _quietly,
    few_are_many,
    ulps_between,
)


class State:
    """Holds what the programs let it hold."""

    def __init__(self) -> None:
        self.log: list[Any] = []


OUTSIDE = ("S", "D", "L")
MAKE = "S = State()\nD = {'log': []}\nL = []"


class Held(Nested):
    """`Nested`, with its variables in objects. is_outside: these are kept from call to call."""

    @property
    def source(self) -> str:
        rng = random.Random(self.seed)
        self.is_outside = rng.random() < 0.6
        tree = ast.parse(super().source)
        function = tree.body[0]
        assert isinstance(function, ast.FunctionDef)
        names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and re.fullmatch(r"t\d+", n.id)}
        bound = {n.target.id for n in ast.walk(function) if isinstance(n, ast.NamedExpr)}  # these must be names
        places = {name: rng.choice(("S", "S", "D")) for name in sorted(names - bound) if rng.random() < 0.8}
        _Moving(places, rng).visit(function)
        if not self.is_outside:
            function.body[:0] = ast.parse(MAKE).body
            returned = function.body[-1]
            assert isinstance(returned, ast.Return) and returned.value is not None
            logs = ast.parse("(S.log, D, L)", mode="eval").body
            returned.value = ast.Tuple([returned.value, logs], ast.Load())
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"

    def function(self, text: str | None = None) -> Any:
        names = {"State": State, "S": State(), "D": {"log": []}, "L": []}
        return define(text or self.source, "nested", f"<held {self.seed} {next(_files)}>", **names)


class _Moving(ast.NodeTransformer):
    def __init__(self, places: dict[str, str], rng: random.Random):
        self.places = places
        self.rng = rng

    def visit_Name(self, node: ast.Name) -> ast.expr:
        holder = self.places.get(node.id)
        if holder is None:
            return node
        named = ast.Name(holder, ast.Load())
        if holder == "S":
            return ast.Attribute(named, node.id, node.ctx)
        return ast.Subscript(named, ast.Constant(node.id), node.ctx)

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        target = node.targets[0]
        if not isinstance(target, ast.Name | ast.Attribute | ast.Subscript) or self.rng.random() < 0.8:
            return node
        value = ast.unparse(target)
        if isinstance(target, ast.Subscript) and ast.unparse(target.value) != "D":
            return node
        log = self.rng.choice(("S.log", "D['log']", "L"))
        item = self.rng.choice((value, f"({value}, 1.5)", f"np.sum({value})", f"len({log})"))
        return [node, *ast.parse(f"{log}.append({item})").body]


def held_by(function: Any) -> Any:
    names = function.__globals__
    return [vars(names["S"]), names["D"], names["L"]]


def check(program: Held, order: Sequence[int] = (0, 0, 1, 2, 3, 0, 4)) -> None:
    """AssertionError unless the compiled program does what NumPy does, called with `arguments(which)` in this order."""
    with few_are_many(program.seed):
        plain, own, ulps = program.function(), program.function(), ulps_between(program)
        compiled = wb.jit(own)
        for which in order:
            mine, theirs = program.arguments(which), program.arguments(which)
            (expected, is_undefined), found = _judged(plain, theirs), _quietly(compiled, mine)
            if is_undefined or not _is_exact([theirs, *held_by(plain)]):
                return
            if isinstance(expected, Exception):
                kind = next(c for c in type(expected).__mro__ if c.__module__ == "builtins")
                assert isinstance(found, kind), f"call {which}: NumPy raises {expected!r}; compiled: {found!r}"
            else:
                if not _is_exact(expected):
                    return
                if isinstance(found, Exception):
                    raise found
                assert_same(*_alike(_numpys(found), expected), max_ulp=ulps, where=f"call {which}: result")
            ours, numpys = held_by(own), held_by(plain)
            assert_same(*_alike(_numpys(ours), numpys), max_ulp=ulps, where=f"call {which}: held")
            assert_same(mine, theirs, max_ulp=ulps, where=f"call {which}: arguments")
            if not isinstance(expected, Exception):
                _assert_same_memory(
                    [*_leaves(found), *mine, *_leaves(ours)], [*_leaves(expected), *theirs, *_leaves(numpys)]
                )
        for reason in compiled.fallbacks:
            assert reason.code != "WB903", str(reason)
