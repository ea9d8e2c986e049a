"""Loops that print: they run compiled, and print once they have ended.

    for step in range(1000):                        lines, line_0, line_1 = [], [], []
        x = advance(x)                              for step in range(1000):
        if step % 100 == 0:                             x = advance(x)
            print(f"{step}: {x.max():.3f}")    ->       if step % 100 == 0:
                                                            lines.append(0)
                                                            line_0.append(step)
                                                            line_1.append(x.max())

The lists hold which `print` was called, and the values that its text is made of; arrays with their lengths. A loop that
cannot be compiled even so is Python's, and prints as it goes.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import SideEffectError, TracingError
from ...frontend.liveness import bound, walk_scope
from ...frontend.scopes import running_in_numpy
from ...frontend.syntax import copied, walk
from ..log import logger

if TYPE_CHECKING:
    from .statements import Known, Part, PartedRun, Statement

MOST_FAILURES = 2  # runs in which the loop was not compiled: then it is Python's
_BLOCKS = ("body", "orelse")
_TEXT_METHODS = frozenset(("format", "ljust", "rjust", "center", "zfill", "strip", "upper", "lower", "title"))
_TEXTS = frozenset(("str", "repr", "format"))
_PURE = ("abs", "bool", "complex", "float", "int", "round")  # of numbers
_BUILTINS = {name: getattr(builtins, name) for name in ("print", *_TEXTS, *_PURE)}
_KEYWORDS = frozenset(("sep", "end", "flush"))
_PLAIN = (str, bytes, type(None))  # of which a compiled loop changes none; functions that it calls may set numbers


class NotCompiledError(Exception):
    """Statements that must run compiled, or not at all, would have been Python's."""

    def __init__(self, reason: Exception):
        super().__init__(str(reason))
        self.reason = reason


@dataclass(frozen=True, slots=True)
class _Value:
    """A list of the values of an expression: numbers, or the elements of arrays with these lists of their lengths."""

    name: str
    expression: ast.expr
    lengths: tuple[str, ...] = ()

    def appended(self) -> Iterator[ast.stmt]:
        for axis, length in enumerate(self.lengths):
            shape = ast.Attribute(self.expression, "shape", ast.Load())
            yield _append(length, ast.Subscript(shape, ast.Constant(axis), ast.Load()))
        if self.lengths:
            flat = ast.Call(ast.Attribute(self.expression, "ravel", ast.Load()), [], [])
            yield _append(self.name, self.expression if len(self.lengths) == 1 else flat, "extend")
        else:
            yield _append(self.name, self.expression)


@dataclass(frozen=True, slots=True)
class _Line:
    """A call of `print`. code: the call, with elements of lists in place of what the loop computes; values: these;
    statement: as it was written."""

    code: CodeType
    values: tuple[_Value, ...]
    statement: Statement


@dataclass(eq=False, slots=True)
class PrintingLoop:
    """A loop whose calls of `print` are put off. statements: what sets its lists up, and the loop; names: of the lists;
    order: the one of which line was printed when; plain: names whose values the lines read when they are printed."""

    statements: tuple[Statement, ...]
    known: Known
    order: str
    names: frozenset[str]
    lines: tuple[_Line, ...]
    plain: frozenset[str]
    n_failures: int = 0

    @classmethod
    def of(cls, statement: Statement, around: PartedRun) -> PrintingLoop | None:
        """None where the statement is no loop that prints, or prints what can only be had while it runs."""
        from .statements import Known, Statement

        node, *others = statement.nodes
        if others or not isinstance(node, ast.For | ast.While):
            return None
        if not any(_call_of_print(n) for n in walk_scope([node])):
            return None
        writer = _Writer(copied(node), around)
        try:
            loop = writer.loop()
        except _NotPutOffError:
            return None
        first, last = statement.first, statement.last
        lists = [writer.order, *(name for line in writer.lines for v in line.values for name in (v.name, *v.lengths))]
        setup = [writer.empty(name) for name in lists]
        statements = (Statement(tuple(setup), first, first), Statement((loop,), first, last))
        return cls(
            statements, Known(), writer.order, frozenset(lists), tuple(writer.lines), frozenset(writer.plain)
        )  # fmt: skip

    def run(self, around: PartedRun, later: frozenset[str] | None) -> list[Part] | None:
        """Run the loop in the namespace of `around`, then print; None if Python must run it as it stands, in which case
        nothing has happened. later: the names that are read afterwards, if not any may be."""
        from .statements import NumpyPart

        namespace = around.namespace
        if self.n_failures > MOST_FAILURES or not self._can_be_put_off(namespace):
            return None
        try:
            parts = around.compiled(self, None if later is None else later | self.names)
            begin = time.perf_counter()
            self._print(namespace)
        except NotCompiledError as error:
            logger.debug("a loop that prints is Python's: %s", error.reason)
            is_still_compiling = isinstance(error.reason, TracingError) and error.reason.code == "WB501"
            self.n_failures += not is_still_compiling
            return None
        finally:
            for name in self.names:
                namespace.pop(name, None)
        time_ms = (time.perf_counter() - begin) * 1e3
        statements = tuple(line.statement for line in self.lines)
        text = ast.unparse(statements[0].nodes[0])
        return [*parts, NumpyPart(statements, text, self._reason(), time_ms, frozenset(), {})]

    def _can_be_put_off(self, namespace: Mapping[str, Any]) -> bool:
        """Whether `print` is Python's, and what the lines read later does not change."""
        if any(namespace.get(name, known) is not known for name, known in _BUILTINS.items()):
            return False
        return all(isinstance(namespace.get(name, ()), _PLAIN) for name in self.plain)

    def _print(self, namespace: dict[str, Any]) -> None:
        values = {name: iter(namespace[name]) for name in self.names}
        with running_in_numpy():
            for number in values[self.order]:
                line = self.lines[number]
                for each in line.values:
                    shape = tuple([next(values[name]) for name in each.lengths])
                    found = list(itertools.islice(values[each.name], math.prod(shape)))
                    namespace[each.name] = np.array(found).reshape(shape) if shape else found[0]
                exec(line.code, namespace)

    def _reason(self) -> TracingError:
        numbers = sorted({line.statement.first for line in self.lines})
        which = f"Line {numbers[0]} prints" if len(numbers) == 1 else f"Lines {_listed(numbers)} print"
        return SideEffectError(f"WB161  {which} once the compiled loop has ended.", code="WB161")


class _NotPutOffError(Exception):
    """A call of `print` has something in it that must happen when it is called."""


class _Writer:
    """Rewrites a loop: lists are appended to in place of calls of `print`."""

    def __init__(self, node: ast.For | ast.While, around: PartedRun):
        self.node = node
        self.around = around
        self.changing = bound([node])
        self.taken = {n.id for n in walk(node) if isinstance(n, ast.Name)}
        self.order = self._fresh(f"printed_{node.lineno}")
        self.lines: list[_Line] = []
        self.plain: set[str] = set()

    def loop(self) -> ast.stmt:
        if _BUILTINS.keys() & self.changing:
            raise _NotPutOffError
        for block in _BLOCKS:
            setattr(self.node, block, self._block(getattr(self.node, block)))
        return self.node

    def empty(self, name: str) -> ast.stmt:
        return _at(self.node, ast.Assign([ast.Name(name, ast.Store())], ast.List([], ast.Load())))

    def _fresh(self, name: str) -> str:
        while name in self.taken or name in self.around.namespace:
            name += "_"
        self.taken.add(name)
        return name

    def _block(self, nodes: Iterable[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for node in nodes:
            call = _call_of_print(node)
            if call is not None:
                result += self._put_off(node, call)
                continue
            for block in _BLOCKS:
                if isinstance(node, ast.For | ast.While | ast.If) and getattr(node, block):
                    setattr(node, block, self._block(getattr(node, block)))
            result.append(node)
        return result

    def _put_off(self, node: ast.stmt, call: ast.Call) -> list[ast.stmt]:
        from .statements import Statement

        if any(k.arg not in _KEYWORDS or not isinstance(k.value, ast.Constant) for k in call.keywords):
            raise _NotPutOffError
        kept: dict[str, _Value] = {}
        number = len(self.lines)
        statement = Statement((copied(node),), node.lineno, node.end_lineno or node.lineno)
        text = ast.Call(call.func, [self._text(arg, kept, number) for arg in call.args], call.keywords)
        tree = ast.Module([_at(node, ast.Expr(text))], [])
        self.lines.append(_Line(self.around.code(tree), tuple(kept.values()), statement))
        appended = [line for value in kept.values() for line in value.appended()]
        return [_at(node, line) for line in (_append(self.order, ast.Constant(number)), *appended)]

    def _text(self, node: ast.expr, kept: dict[str, _Value], number: int) -> ast.expr:
        """What is printed, with lists in place of values that the loop computes: these are added to `kept`."""

        def text(inner: ast.expr) -> ast.expr:
            return self._text(inner, kept, number)

        match node:
            case ast.Constant():
                return node
            case ast.JoinedStr(values=values):
                return ast.JoinedStr([text(value) for value in values])
            case ast.FormattedValue(value=value, conversion=conversion, format_spec=spec):
                return ast.FormattedValue(text(value), conversion, text(spec) if spec is not None else None)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return type(node)([text(item) for item in items], ast.Load())
            case ast.BinOp(left=left, op=ast.Mod() as op, right=right) if _is_text(left):
                return ast.BinOp(text(left), op, text(right))
            case ast.BinOp(left=left, op=ast.Add() | ast.Mult() as op, right=right) if _is_text(node):
                return ast.BinOp(text(left), op, text(right))
            case ast.IfExp(test=test, body=ast.Constant() as yes, orelse=ast.Constant() as no):
                return ast.IfExp(text(test), yes, no)
            case ast.Call(func=ast.Attribute(value=of, attr=attr), args=args, keywords=keywords) if _is_text(node):
                named = [ast.keyword(k.arg, text(k.value)) for k in keywords]
                return ast.Call(ast.Attribute(text(of), attr, ast.Load()), list(map(text, args)), named)
            case ast.Call(func=ast.Name(id=name) as func, args=args, keywords=[]) if _is_text(node) or name in _PURE:
                return ast.Call(func, list(map(text, args)), [])
            case ast.Call(func=ast.Attribute(value=of, attr="item"), args=[], keywords=[]):
                return ast.Call(ast.Attribute(text(of), "item", ast.Load()), [], [])
            case ast.Starred() | ast.Dict() | ast.Set() | ast.Lambda() | ast.NamedExpr():
                raise _NotPutOffError
            case ast.Name(id=name) if name not in self.changing and self._is_plain(name):
                self.plain.add(name)
                return node
        key = ast.dump(node)
        if key not in kept:
            name = self._fresh(f"{self.order}_{number}_{len(kept)}")
            lengths = [self._fresh(f"{name}_n{axis}") for axis in range(self._n_axes(node))]
            kept[key] = _Value(name, node, tuple(lengths))
        return ast.Name(kept[key].name, ast.Load())

    def _n_axes(self, node: ast.expr) -> int:
        """The number of axes of an expression, as far as the names outside of the loop tell."""
        match node:
            case ast.Name(id=name):
                value = self.around.namespace.get(name)
                return value.ndim if isinstance(value, np.ndarray) else 0
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr="round" | "around"), args=[of, *_]) if (
                self.around.namespace.get(module) is np
            ):
                return self._n_axes(of)
            case ast.Call(func=ast.Attribute(value=of, attr="round" | "copy")) | ast.Attribute(value=of, attr="T"):
                return self._n_axes(of)
            case ast.Subscript(value=of, slice=ast.Slice()):
                return self._n_axes(of)
        return 0

    def _is_plain(self, name: str) -> bool:
        namespace = self.around.namespace
        return name in namespace and isinstance(namespace[name], _PLAIN)


def _call_of_print(node: ast.AST) -> ast.Call | None:
    """The call, if a statement is one of `print`."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print")) as call):
            return call
    return None


def _is_text(node: ast.expr) -> bool:
    """Whether an expression surely is a string."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, str)
        case ast.JoinedStr():
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult(), right=right):
            return _is_text(left) or _is_text(right)
        case ast.BinOp(left=left, op=ast.Mod()):
            return _is_text(left)
        case ast.Call(func=ast.Name(id=name)):
            return name in _TEXTS
        case ast.Call(func=ast.Attribute(value=of, attr=attr)):
            return attr in _TEXT_METHODS and _is_text(of)
    return False


def _append(name: str, value: ast.expr, method: str = "append") -> ast.stmt:
    return ast.Expr(ast.Call(ast.Attribute(ast.Name(name, ast.Load()), method, ast.Load()), [value], []))


def _at(place: ast.AST, node: ast.stmt) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(node, place))


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join([*filter(None, [", ".join(map(str, numbers[:-1]))]), str(numbers[-1])])
