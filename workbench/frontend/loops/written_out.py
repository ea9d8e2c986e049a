"""What is written out before arrays become variables: functions where they are called, and loops turn by turn."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ..syntax import walk
from .elements import Block, Names, Replaced, assign, blocks, element_of, maker_of
from .lengths import Shape, constant_of
from .syntax import bound
from .writing import FEW

MOST_OF_FUNCTION = 60  # statements of a function that is written out where it is called


class Calls:
    """Calls of functions with arrays, written out."""

    def __init__(self, names: Names):
        self.names = names
        self.simple: dict[str, ast.FunctionDef] = {}

    def take(self, function: ast.FunctionDef) -> None:
        function.body = self._block(function.body)
        if self._is_simple(function):
            self.simple[function.name] = function

    @staticmethod
    def _is_simple(function: ast.FunctionDef) -> bool:
        nodes = [n for stmt in function.body for n in walk(stmt)]
        *_, last = function.body
        returns = sum(isinstance(n, ast.Return) for n in nodes)
        makes_arrays = any(maker_of(n) for n in nodes)
        n_statements = sum(isinstance(n, ast.stmt) for n in nodes)
        return (
            makes_arrays
            and isinstance(last, ast.Return)
            and last.value is not None
            and returns == 1
            and n_statements <= MOST_OF_FUNCTION
        )

    def _block(self, stmts: Block) -> Block:
        made: Block = []
        for stmt in stmts:
            for part in blocks(stmt):
                part[:] = self._block(part)
            match stmt:
                case ast.Assign(targets=[ast.Name()], value=ast.Call(func=ast.Name(id=name), args=args)) if (
                    name in self.simple
                ):
                    made += self._written_out(self.simple[name], args, stmt)
                case _:
                    made.append(stmt)
        return made

    def _written_out(self, function: ast.FunctionDef, args: Sequence[ast.expr], stmt: ast.Assign) -> Block:
        changed = bound(function.body)
        made: Block = []
        values: dict[str, ast.expr] = {}
        for parameter, arg in zip(function.args.args, args, strict=True):
            if parameter.arg not in changed and isinstance(arg, ast.Name | ast.Constant):
                values[parameter.arg] = arg
                continue
            name = self.names.like(parameter.arg)
            values[parameter.arg] = ast.Name(name, ast.Load())
            made.append(assign(name, arg))
        for name in changed:
            if name not in values:
                values[name] = ast.Name(self.names.like(name), ast.Load())
        *body, last = (Replaced(values).visit(copy.deepcopy(each)) for each in function.body)
        return [*made, *body, ast.Assign(stmt.targets, last.value)]


def with_turns(stmts: Block, arrays: Collection[str], shapes: Mapping[str, Shape]) -> Block:
    """Statements with their loops over the elements of `arrays` written out, if these have few turns."""
    made: Block = []
    for stmt in stmts:
        for part in blocks(stmt):
            part[:] = with_turns(part, arrays, shapes)
        turns = _turns(stmt, arrays, shapes) if isinstance(stmt, ast.For) else None
        if turns is None:
            made.append(stmt)
            continue
        assert isinstance(stmt, ast.For)
        for k in turns:
            made += _turn(stmt, k)
    return made


def _turns(loop: ast.For, arrays: Collection[str], shapes: Mapping[str, Shape]) -> range | None:
    match loop:
        case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=args), orelse=[]):
            bounds = [constant_of(arg, shapes) for arg in args]
        case _:
            return None
    if None in bounds or not 1 <= len(bounds) <= 2:
        return None
    turns = range(*bounds)  # type: ignore[arg-type]  # no None among them
    if len(turns) > FEW or ends_early(loop.body) or not _indexes(loop.body, name, arrays):
        return None
    return turns


def _turn(loop: ast.For, k: int) -> Block:
    assert isinstance(loop.target, ast.Name)
    value = ast.Constant(k)
    names = names_for(loop.body, loop.target.id)
    made: Block = []
    for stmt in loop.body:
        stmt = copy.deepcopy(stmt)
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=source)) if {name, source} <= names:
                made.append(assign(name, value))
            case _:
                made.append(_Folded().visit(Replaced(dict.fromkeys(names, value)).visit(stmt)))
    return made


def _indexes(body: Block, name: str, arrays: Collection[str]) -> bool:
    names = names_for(body, name)
    for node in (n for stmt in body for n in walk(stmt)):
        found = element_of(node)
        if found is not None and found.name in arrays and any(
            isinstance(n, ast.Name) and n.id in names for index in found.indices for n in walk(index)
        ):  # fmt: skip
            return True
    return False


def names_for(body: Block, name: str) -> set[str]:
    """A loop's variable, and those that hold the same throughout a turn: what is used before it is set does not."""
    stores = Counter(
        n.id for stmt in body for n in walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    found = {name}
    seen: set[str] = set()
    for stmt in body:
        match stmt:
            case ast.Assign(targets=[ast.Name(id=other)], value=ast.Name(id=source)) if source in found:
                if stores[other] == 1 and other not in seen:
                    found.add(other)
        seen |= {n.id for n in walk(stmt) if isinstance(n, ast.Name)}
    return found if not stores[name] else set()


def ends_early(body: Block) -> bool:
    """Whether something in a loop's body ends a turn, or all of them, early."""
    for stmt in body:
        if isinstance(stmt, ast.Break | ast.Continue | ast.Return):
            return True
        inner = blocks(stmt) if not isinstance(stmt, ast.For | ast.While) else ()
        if any(ends_early(part) for part in inner):
            return True
        if isinstance(stmt, ast.For | ast.While) and any(isinstance(n, ast.Return) for n in walk(stmt)):
            return True
    return False


class _Folded(ast.NodeTransformer):
    """Sums and differences of numbers, and what gives back an index that is one."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        node = self.generic_visit(node)  # type: ignore[assignment]  # an expression
        match node:
            case ast.BinOp(left=ast.Constant(value=int(a)), op=ast.Add(), right=ast.Constant(value=int(b))):
                return ast.Constant(a + b)
            case ast.BinOp(left=ast.Constant(value=int(a)), op=ast.Sub(), right=ast.Constant(value=int(b))):
                return ast.Constant(a - b)
        return node
