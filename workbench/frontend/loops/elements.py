"""Parts of a loop's text: elements of arrays, new arrays, blocks of statements, names."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..syntax import walk
from .ranges import TEMPORARY
from .syntax import call

Block = list[ast.stmt]
MAKERS = ("empty", "zeros", "ones")


@dataclass(frozen=True, slots=True)
class Element:
    """value: what is written to it; None if it is read."""

    name: str
    indices: tuple[ast.expr, ...]
    value: ast.expr | None = None


def element_of(node: ast.AST) -> Element | None:
    """What a node reads, `at_1(x, i)` or `x[i]`, or a statement writes, `put_1(x, i, value)` or `x[i] = value`."""
    match node:
        case ast.Call(func=ast.Name(id=function), args=[ast.Name(id=name), *rest]):
            head, _, end = function.rpartition("_")
            if head in ("at", "unit") and end.isdigit():
                return Element(name, tuple(rest))
            if head == "put" and end.isdigit():
                return Element(name, tuple(rest[:-1]), rest[-1])
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=index)], value=value):
            return Element(name, tuple(index.elts) if isinstance(index, ast.Tuple) else (index,), value)
        case ast.Subscript(value=ast.Name(id=name), slice=index):
            return Element(name, tuple(index.elts) if isinstance(index, ast.Tuple) else (index,))
    return None


def maker_of(node: ast.AST) -> str:
    """`empty`, `zeros` or `ones`, if a new array is one of these."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr=maker), args=[ast.Tuple(), _]):
            return maker if maker in MAKERS else ""
    return ""


def made_dtype(node: ast.expr) -> str:
    return ast.unparse(node.args[1]) if isinstance(node, ast.Call) and maker_of(node) else ""


def assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def read_element(name: str, place: Sequence[int]) -> ast.expr:
    return call(f"at_{len(place)}", ast.Name(name, ast.Load()), *map(ast.Constant, place))


def bound_name(stmt: ast.Assign) -> str:
    target = stmt.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def blocks(stmt: ast.stmt) -> Iterator[Block]:
    for name in ("body", "orelse"):
        part = getattr(stmt, name, None)
        if isinstance(part, list) and part:
            yield part


def all_blocks(body: Block) -> Iterator[Block]:
    yield body
    for stmt in body:
        for part in blocks(stmt):
            yield from all_blocks(part)


class Names:
    """New names, which occur nowhere."""

    def __init__(self, functions: Sequence[ast.FunctionDef]):
        self.taken = {n.id for f in functions for n in walk(f) if isinstance(n, ast.Name)}
        self.taken |= {f.name for f in functions} | {a.arg for f in functions for a in f.args.args}
        numbers = (int(name[1:-1]) for name in self.taken if TEMPORARY.fullmatch(name))
        self.numbers = itertools.count(1 + max(numbers, default=0))

    def temporary(self) -> str:
        return f"t{next(self.numbers)}_"

    def like(self, name: str) -> str:
        if TEMPORARY.fullmatch(name):
            return self.temporary()
        k = 1
        while (made := f"{name}_of{k}") in self.taken:
            k += 1
        self.taken.add(made)
        return made

    def element(self, name: str, index: Sequence[int]) -> str:
        made = "_".join([name.rstrip("_"), *map(str, index)])
        while made in self.taken:
            made += "_"
        self.taken.add(made)
        return made


class Replaced(ast.NodeTransformer):
    """Names, by what stands for them. loads: only where they are read."""

    def __init__(self, values: Mapping[str, ast.expr], *, loads: bool = False):
        self.values, self.loads = values, loads

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.values.get(node.id)
        if value is None:
            return node
        if isinstance(node.ctx, ast.Store) and self.loads:
            return node
        if isinstance(node.ctx, ast.Store):
            assert isinstance(value, ast.Name)
            return ast.Name(value.id, ast.Store())
        return copy.deepcopy(value)
