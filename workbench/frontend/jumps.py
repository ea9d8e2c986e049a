"""`break`, `continue` and early `return` written out, so that branches and loops can be functions of their own.

    for i in r:                       stop = False
        if c: break                   for i in r:
        A                     ->          if c: stop = True
                                          else: A

What follows a branch that jumps moves into the other one. A `return` inside a loop also keeps its value for after the
loop, but for the names in it that the loop never rebinds: an array that the loop writes into stays one array that way.
Elsewhere a `return` ends up at the end of its branch. `NotConvertibleError` where that would not be faithful.
"""

from __future__ import annotations

import ast
import copy
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

import numpy as np

from .liveness import Names, bound, live_at_head, read, walk_scope
from .syntax import child_nodes, copied, walk

Node = TypeVar("Node", bound=ast.AST)
_KNOWN = (np.ndarray, list, dict, set, deque, np, np.linalg, np.random, np.random.Generator, math)
MAX_COPIED_NODES = 3000  # syntax nodes that may be duplicated, when both sides of branches go on


class NotConvertibleError(Exception):
    """The function stays as it is."""


@dataclass(frozen=True, eq=False, slots=True)
class LoopSource:
    """A loop as the user wrote it. stop: the variable that converted code asks whether it was left by `break`; keeps:
    the variables that say whether and what it returned; after: the names that are read later on, if that is known;
    set_by_calls: those that functions which it calls may set; text: what it stands for, if it was no loop."""

    node: ast.For | ast.While
    stop: str | None
    keeps: tuple[str, str] | None
    after: frozenset[str] | None = None
    set_by_calls: frozenset[str] = frozenset()
    text: str = ""


class Jumps:
    """Rewrites one function (or the statements of a module, which never return). own: the names that no other scope
    rebinds; setters: the functions that set variables of this one."""

    def __init__(self, own: Names = frozenset(), setters: Collection[str] = ()) -> None:
        self.own = own
        self.setters = frozenset(setters)
        self.numbers = count(1)
        self.flags: list[str] = []  # the names that were made up
        self.copied = 0
        self.stop_of: dict[ast.stmt, str] = {}  # a loop -> the flag that ends it
        self.source_of: dict[ast.stmt, LoopSource] = {}  # a loop -> as the user wrote it
        self.tails: set[ast.stmt] = set()  # branches at the end of the function, both of whose sides return

    def function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return self._block(body, None)

    def _name(self, kind: str) -> str:
        name = f"_wb_{kind}_{next(self.numbers)}"
        self.flags.append(name)
        return name

    def _block(self, stmts: list[ast.stmt], loop: _Loop | None) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for position, stmt in enumerate(stmts):
            rest = stmts[position + 1 :]
            match stmt:
                case ast.Return():
                    if loop is None:
                        return [*done, stmt]
                    loop.keeps = loop.keeps or (self._name("ret"), self._name("val"))
                    if stmt.value is not None:
                        done.append(assign(loop.keeps[1], stmt.value, stmt))
                    done.append(assign(loop.keeps[0], ast.Constant(True), stmt))
                    return [*done, assign(self._stop(loop), ast.Constant(True), stmt)]
                case ast.Break():
                    assert loop is not None
                    return [*done, assign(self._stop(loop), ast.Constant(True), stmt)]
                case ast.Continue():
                    return done
                case ast.If() if jumps([stmt], loop is not None):
                    return [*done, self._branch(stmt, rest, loop)]
                case ast.If():
                    body, orelse = self._block(stmt.body, loop), self._block(stmt.orelse, loop)
                    done.append(ast.copy_location(ast.If(stmt.test, body, orelse), stmt))
                case ast.While() | ast.For():
                    made, after = self._loop(stmt)
                    done.extend(made)
                    if after:
                        return [*done, *self._block([*after, *rest], loop)]
                case ast.With() | ast.Try() | ast.Match() | ast.TryStar():
                    if jumps([stmt], loop is not None):
                        raise NotConvertibleError("a jump out of with, try or match")
                    done.append(self._inner_blocks(stmt))
                case _:
                    done.append(stmt)
        return done

    def _inner_blocks(self, stmt: ast.stmt) -> ast.stmt:
        new = copy.copy(stmt)
        for field in ("body", "orelse", "finalbody"):
            if getattr(new, field, None):
                setattr(new, field, self._block(getattr(new, field), None))
        for field in ("handlers", "cases"):
            if hasattr(new, field):
                parts = [copy.copy(part) for part in getattr(new, field)]
                for part in parts:
                    part.body = self._block(part.body, None)
                setattr(new, field, parts)
        return new

    def _sets(self, test: ast.expr) -> bool:
        """Whether computing a test sets variables."""
        return any(isinstance(n, ast.NamedExpr) for n in walk(test)) or not self.setters.isdisjoint(read(test))

    def _stop(self, loop: _Loop) -> str:
        loop.stop = loop.stop or self._name("stop")
        return loop.stop

    def _branch(self, stmt: ast.If, rest: list[ast.stmt], loop: _Loop | None) -> ast.If:
        """A branch that jumps, with what follows it inside."""
        sides = []
        n_copies = sum(not ends(side) for side in (stmt.body, stmt.orelse))
        for side in (stmt.body, stmt.orelse):
            if not ends(side):
                if n_copies > 1:
                    self.copied += sum(1 for s in rest for _ in walk(s))
                    if self.copied > MAX_COPIED_NODES:
                        raise NotConvertibleError("too many ways through the function")
                side = [*side, *(copied(rest) if n_copies > 1 else rest)]
            side = self._block(side, loop)
            if loop is None and not returns(side, self.tails):
                side = [*side, ast.copy_location(ast.Return(ast.copy_location(ast.Constant(None), stmt)), stmt)]
            sides.append(side)
        new = ast.copy_location(ast.If(stmt.test, *sides), stmt)
        if loop is None:
            self.tails.add(new)
        return new

    def _loop(self, stmt: ast.While | ast.For) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The loop with what must stand before it, and what must follow it."""
        if isinstance(stmt, ast.While) and self._sets(stmt.test):
            stmt = _with_test_inside(stmt)
        state = _Loop()
        shared = _SharedResult.of(stmt, self.own)
        stmt = _with_values(stmt) if shared is None else shared.without(stmt)
        body = self._block(stmt.body, state)
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        test: ast.expr | None = getattr(stmt, "test", None)
        if state.stop is not None:
            before.append(assign(state.stop, ast.Constant(False), stmt))
            if test is not None:
                going = ast.UnaryOp(ast.Not(), ast.Name(state.stop, ast.Load()))
                test = located(ast.BoolOp(ast.And(), [located(going, test), test]), test)
        if state.keeps is not None:
            before.append(assign(state.keeps[0], ast.Constant(False), stmt))
            value: ast.expr = ast.Name(state.keeps[1], ast.Load())
            kept = ast.Return(value if shared is None else shared.around(value))
            if is_endless(stmt):
                after.append(located(kept, stmt))
            else:
                after.append(located(ast.If(ast.Name(state.keeps[0], ast.Load()), [kept], []), stmt))
        if stmt.orelse:
            if not breaks(stmt.body):
                after = [*after, *stmt.orelse]
            else:
                assert state.stop is not None
                going = ast.UnaryOp(ast.Not(), ast.Name(state.stop, ast.Load()))
                after.append(located(ast.If(going, stmt.orelse, []), stmt, deep=False))
        if test is not None:
            new: ast.stmt = ast.While(test, body, [])
        else:
            assert isinstance(stmt, ast.For)
            new = ast.For(stmt.target, stmt.iter, body, [])
        ast.copy_location(new, stmt)
        if state.stop is not None:
            self.stop_of[new] = state.stop
        self.source_of[new] = LoopSource(copied(stmt), state.stop, state.keeps, text=getattr(stmt, "written", ""))
        return [*before, new], after


def _with_test_inside(loop: ast.While) -> ast.While:
    """A loop whose test binds names, which only a body can: `while (m := f()) > 3: A` as `while True: ...`."""
    if loop.orelse:
        raise NotConvertibleError("`else` of a loop whose test binds names")
    leave = located(ast.If(ast.UnaryOp(ast.Not(), loop.test), [ast.Break()], []), loop.test)
    return located(ast.While(ast.Constant(True), [leave, *loop.body], []), loop, deep=False)


@dataclass(frozen=True, slots=True)
class _SharedResult:
    """What all returns in a loop have in common: a display with the same names, which last from one iteration to the
    next, in the same places, or nothing but such a name, or one constant. other: the places of the elements that
    differ."""

    display: ast.expr
    other: tuple[int, ...]

    @classmethod
    def of(cls, loop: ast.For | ast.While, own: Names) -> _SharedResult | None:
        values = [_value(node) for node in walk_scope(loop.body) if isinstance(node, ast.Return)]
        forms = {_form(value) for value in values}
        if len(forms) != 1 or None in forms:
            return None
        first = values[0]
        if isinstance(first, ast.Constant):
            return cls(first, ())
        lasting = own & (live_at_head(loop, frozenset()) | (own - bound([loop])))
        names = [[_lasting_name(x, lasting) for x in _elements(value)] for value in values]
        other = tuple(k for k, column in enumerate(zip(*names, strict=True)) if len({*column}) > 1 or column[0] is None)
        return None if len(other) == len(names[0]) else cls(first, other)

    def without(self, loop: ast.For | ast.While) -> ast.For | ast.While:
        """The loop with returns of what differs: nothing, one value or a tuple."""
        return _Returns(self.reduced).visit(copied(loop))

    def reduced(self, value: ast.expr) -> ast.expr | None:
        elements = _elements(value)
        if not self.other:
            return None
        if len(self.other) == 1:
            return elements[self.other[0]]
        return ast.copy_location(ast.Tuple([elements[k] for k in self.other], ast.Load()), value)

    def around(self, value: ast.expr) -> ast.expr:
        """What is returned, where `value` is that of a reduced return."""
        display = copied(self.display)
        elements = _elements(display)
        for position, k in enumerate(self.other):
            place = ast.Constant(position)
            elements[k] = value if len(self.other) == 1 else ast.Subscript(value, place, ast.Load())
        return display


def _with_values(loop: ast.For | ast.While) -> ast.For | ast.While:
    """The loop with `return None` for `return`."""
    if all(node.value is not None for node in walk_scope(loop.body) if isinstance(node, ast.Return)):
        return loop
    return _Returns(lambda value: value).visit(copied(loop))


class _Returns(ast.NodeTransformer):
    """Changes what is returned in the body of a loop (its `else` is not in it)."""

    def __init__(self, change: Callable[[ast.expr], ast.expr | None]) -> None:
        self.change = change
        self.inside = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802 (ast's name)
        return node

    visit_Lambda = visit_ClassDef = visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]  # noqa: N815

    def _loop(self, node: Any) -> Any:
        if self.inside:
            return self.generic_visit(node)
        self.inside = True
        node.body = [self.visit(stmt) for stmt in node.body]
        return node

    visit_For = visit_While = _loop  # noqa: N815 (ast's names)

    def visit_Return(self, node: ast.Return) -> ast.Return:  # noqa: N802 (ast's name)
        return ast.copy_location(ast.Return(self.change(_value(node))), node)


def _value(node: ast.Return) -> ast.expr:
    return node.value or ast.copy_location(ast.Constant(None), node)


def _form(value: ast.expr) -> tuple | None:
    """What displays that differ in their elements alone have in common. None of what is neither display, name nor
    constant."""
    match value:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return None if any(isinstance(x, ast.Starred) for x in elements) else (type(value), len(elements))
        case ast.Dict(keys=keys):
            names = [key.value for key in keys if isinstance(key, ast.Constant) and type(key.value) is str]
            return (ast.Dict, *names) if len(names) == len(keys) else None
        case ast.Name():
            return (ast.Name,)
        case ast.Constant(value=constant):
            return (ast.Constant, type(constant), repr(constant))
    return None


def _elements(value: ast.expr) -> list[ast.expr]:
    """The elements of a display (the list itself), or the expression."""
    if isinstance(value, ast.Dict):
        return value.values
    return value.elts if isinstance(value, ast.Tuple | ast.List) else [value]


def _lasting_name(node: ast.expr, lasting: Names) -> str | None:
    return node.id if isinstance(node, ast.Name) and node.id in lasting else None


class _Loop:
    """A loop's flags: stop, and (has returned, value)."""

    def __init__(self) -> None:
        self.stop: str | None = None
        self.keeps: tuple[str, str] | None = None


def assign(name: str, value: ast.expr, like: ast.AST) -> ast.stmt:
    return located(ast.Assign([ast.Name(name, ast.Store())], value), like)


def located(node: Node, like: ast.AST, *, deep: bool = True) -> Node:
    """`node` and the nodes made with it, at the place of `like`."""
    for n in walk(node) if deep else (node, *child_nodes(node)):
        if not hasattr(n, "lineno") and "lineno" in n._attributes:
            ast.copy_location(n, like)
    return node


class TestsAsBreaks(ast.NodeTransformer):
    """`while sim.step() > tolerance:`, whose test may change an object, as a loop that `break` leaves: a traced test is
    only looked at, but a body may change things."""

    def _scope(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _scope  # noqa: N815 (ast's names)

    def visit_While(self, node: ast.While) -> ast.AST:  # noqa: N802 (ast's name)
        self.generic_visit(node)
        if node.orelse or not any(_calls_method(n) for n in walk(node.test)):
            return node
        leave = located(ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], []), node.test)
        return ast.copy_location(ast.While(located(ast.Constant(True), node.test), [leave, *node.body], []), node)


def _calls_method(node: ast.AST) -> bool:
    """Whether it calls what is no method of arrays or lists and no function of a library, as far as the name tells."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute(value=ast.Name()), attr=attr)):
            return not any(hasattr(known, attr) for known in _KNOWN)
    return False


def jumps(stmts: Iterable[ast.stmt], in_loop: bool) -> bool:
    """Whether a `return`, or a `break` or `continue` of the loop around, is among the statements."""
    for stmt in stmts:
        match stmt:
            case ast.Return():
                return True
            case ast.Break() | ast.Continue():
                if in_loop:
                    return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case ast.While() | ast.For():
                if jumps(stmt.body, False) or jumps(stmt.orelse, in_loop):
                    return True
            case _ if jumps(_inner(stmt), in_loop):
                return True
    return False


def ends(block: list[ast.stmt]) -> bool:
    """Whether the block always ends with a jump."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.Return | ast.Break | ast.Continue | ast.Raise) or is_endless(last):
        return True
    return isinstance(last, ast.If) and ends(last.body) and ends(last.orelse)


def is_endless(stmt: ast.stmt) -> bool:
    """Whether nothing but a `return` or an error leaves the loop."""
    return (
        isinstance(stmt, ast.While)
        and isinstance(stmt.test, ast.Constant)
        and bool(stmt.test.value)
        and not breaks(stmt.body)
    )


def breaks(stmts: Iterable[ast.stmt]) -> bool:
    """Whether a `break` of the loop around is among the statements."""
    for stmt in stmts:
        match stmt:
            case ast.Break():
                return True
            case ast.While() | ast.For():
                if breaks(stmt.orelse):
                    return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case _ if breaks(_inner(stmt)):
                return True
    return False


def _inner(stmt: ast.stmt) -> list[ast.stmt]:
    """The statements of all blocks of one that is neither a loop nor a scope."""
    blocks = [getattr(stmt, f, []) for f in ("body", "orelse", "finalbody")]
    blocks += [part.body for f in ("handlers", "cases") for part in getattr(stmt, f, [])]
    return [inner for block in blocks for inner in block]


def returns(block: list[ast.stmt], tails: set[ast.stmt]) -> bool:
    return bool(block) and (isinstance(block[-1], ast.Return | ast.Raise) or block[-1] in tails)
