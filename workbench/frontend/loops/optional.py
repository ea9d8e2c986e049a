"""Variables of a loop that are a number or None: a number, and a flag beside it.

    best = None                               best, best__none = 0.0, True
    for v in x:                               for v in x:
        if best is None or v < best:   ->         if best__none or v < best:
            best = v                                  best, best__none = v, False

Where the text of a loop tells that a variable is no None (after `if best is None: continue`, say), it is read as it is;
elsewhere the flag is looked at, and the loop ends by an error, which has Python run it: Python's own error is the one
that the user sees.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TypeGuard

import numpy as np

from ...ir import Aval
from ..choices import VALUE, Choice
from ..syntax import walk
from .blanks import blank_of
from .expressions import Scope
from .names import is_none, local
from .operators import compare, truth
from .types import BOOL, F64, Array, Items, Number, Type, UnknownItemError, UntranslatableError, Value
from .writing import INDENT

Names = frozenset[str]
_FLAG = Number(BOOL, True, (0, 1))
KINDS = (VALUE, None)  # of what such a variable is after the loop


# ---- which variables ----


def optional_names(stmts: Sequence[ast.stmt], at_first: Collection[str] = ()) -> Names:
    """Those that the statements make None somewhere, or ask whether they are, of what a function gives. at_first: those
    that they bind, and that may be None before."""
    nodes = [node for stmt in stmts for node in walk(stmt)]
    pairs = [pair for node in nodes for pair in _assignments(node)]
    tested = {tested_for_none(node) for node in nodes if isinstance(node, ast.Compare)}
    found = {*at_first, *(name for name, value in pairs if isinstance(value, ast.Call) and name in tested)}
    while new := {name for name, value in pairs if name not in found and may_be_none(value, found)}:
        found |= new
    return frozenset(found)


def refuse_shadowed(stmts: Sequence[ast.stmt], names: Names) -> None:
    """UntranslatableError where an inner scope, or something else than an assignment, binds one of the names."""
    if not names:
        return
    for node in (n for stmt in stmts for n in walk(stmt)):
        bound: Iterable[str] = ()
        match node:
            case ast.comprehension(target=target):
                bound = (n.id for n in walk(target) if isinstance(n, ast.Name))
            case ast.Lambda() | ast.FunctionDef() | ast.ClassDef() | ast.NamedExpr() | ast.Try() | ast.With():
                bound = (n.id for n in walk(node) if isinstance(n, ast.Name))
            case ast.Delete() | ast.Match() | ast.Nonlocal():
                bound = names
        if not names.isdisjoint(bound):
            raise UntranslatableError("a variable that may be None, of an inner scope")


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement binds, with what it gives them, as far as its text tells."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _pairs(target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from _pairs(target, value)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case ast.Tuple(elts=targets) | ast.List(elts=targets), ast.Tuple(elts=values) | ast.List(elts=values):
            for pair in zip(targets, values, strict=False):
                yield from _pairs(*pair)


def may_be_none(value: ast.expr, names: Collection[str]) -> bool:
    """Whether an expression may be None, as far as its text tells. names: the variables that may be."""
    match value:
        case ast.Constant(value=None):
            return True
        case ast.Name(id=name):
            return name in names
        case ast.IfExp(body=body, orelse=other):
            return may_be_none(body, names) or may_be_none(other, names)
    return False


def may_give_none(value: ast.expr, names: Collection[str]) -> bool:
    """The same, where a function may give None, too."""
    if is_get(value):
        return True
    is_call = isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
    return is_call and not hasattr(builtins, value.func.id) or may_be_none(value, names)  # type: ignore[union-attr]


def is_get(value: ast.expr) -> bool:
    """Whether an expression is `d.get(key)`, which is None where there is no such key."""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr="get"), args=[_], keywords=[]):
            return True
    return False


# ---- where they are surely a number ----


def sure_reads(stmts: Sequence[ast.stmt], names: Names) -> frozenset[int]:
    """The ids of the nodes that read one of the names where it is no None. What is read between two calls of the same
    code is not looked at: at its start all may be None."""
    flow = _Flow(names)
    if names:
        flow.block(stmts, frozenset())
    return frozenset(flow.sure)


class _Flow:
    """Names that are no None, before and after statements: None where nothing comes."""

    def __init__(self, names: Names):
        self.names = names
        self.sure: set[int] = set()

    def block(self, stmts: Sequence[ast.stmt], known: Names | None) -> Names | None:
        for stmt in stmts:
            known = self.statement(stmt, self.names if known is None else known)
        return known

    def statement(self, stmt: ast.stmt, known: Names) -> Names | None:
        match stmt:
            case ast.If(test=test, body=body, orelse=other):
                self.expression(test, known)
                then = self.block(body, known | self.if_so(test, True))
                return _either(then, self.block(other, known | self.if_so(test, False)))
            case ast.For(iter=iterable, target=target, body=body):
                self.expression(iterable, known)
                known -= self.unsettled(body)
                self.block(body, known | {n.id for n in walk(target) if isinstance(n, ast.Name)} & self.names)
                return known
            case ast.While(test=test, body=body):
                known -= self.unsettled(body)
                self.expression(test, known)
                self.block(body, known | self.if_so(test, True))
                leaves = any(isinstance(n, ast.Break) for s in body for n in walk(s))
                return known if leaves else known | self.if_so(test, False)
            case ast.Break() | ast.Continue() | ast.Raise() | ast.Return():
                self.expressions(stmt, known)
                return None
            case ast.Assert(test=test):
                self.expressions(stmt, known)
                return known | self.if_so(test, True)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                self.expressions(stmt, known)
                return self.assigned(stmt, known)
        self.expressions(stmt, known)
        return known

    def assigned(self, stmt: ast.Assign | ast.AnnAssign | ast.AugAssign, known: Names) -> Names:
        if isinstance(stmt, ast.AugAssign):
            if isinstance(stmt.target, ast.Name):
                if stmt.target.id in known:
                    self.sure.add(id(stmt.target))
                return known | {stmt.target.id} & self.names
            return known
        targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
        bound = {n.id for t in targets for n in walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        nones = {name for name, value in _assignments(stmt) if may_give_none(value, self.names - known)}
        return (known | bound & self.names) - nones

    def unsettled(self, body: Sequence[ast.stmt]) -> Names:
        """The names that a body may make None."""
        pairs = (pair for stmt in body for node in walk(stmt) for pair in _assignments(node))
        return frozenset(name for name, value in pairs if may_give_none(value, self.names))

    def expressions(self, stmt: ast.stmt, known: Names) -> None:
        for child in ast.iter_child_nodes(stmt):
            self.expression(child, known)

    def expression(self, node: ast.AST, known: Names) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                if name in known:
                    self.sure.add(id(node))
            case ast.BoolOp(op=op, values=values):
                for value in values:
                    self.expression(value, known)
                    known |= self.if_so(value, isinstance(op, ast.And))
            case ast.IfExp(test=test, body=body, orelse=other):
                self.expression(test, known)
                self.expression(body, known | self.if_so(test, True))
                self.expression(other, known | self.if_so(test, False))
            case _:
                for child in ast.iter_child_nodes(node):
                    self.expression(child, known)

    def if_so(self, test: ast.expr, holds: bool) -> Names:
        """The names that are no None if a test holds, or if it does not."""
        match test:
            case ast.Name(id=name) if holds:
                return self.names & {name}
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.if_so(operand, not holds)
            case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) == holds:
                return frozenset().union(*(self.if_so(value, holds) for value in values))
            case ast.Compare(ops=[op]):
                name = tested_for_none(test)
                if name is not None and isinstance(op, ast.IsNot | ast.NotEq) == holds:
                    return self.names & {name}
        return frozenset()


def _either(a: Names | None, b: Names | None) -> Names | None:
    if a is None or b is None:
        return b if a is None else a
    return a & b


def tested_for_none(node: ast.Compare) -> str | None:
    """The name that `x is None`, `x != None` and the like ask about."""
    match node:
        case ast.Compare(
            left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq()],
            comparators=[ast.Constant(value=None)],
        ):  # fmt: skip
            return name
        case ast.Compare(
            left=ast.Constant(value=None), ops=[ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq()],
            comparators=[ast.Name(id=name)],
        ):  # fmt: skip
            return name
    return None


# ---- in the text ----


class Optional(Scope):
    """Expressions that ask whether a variable is None."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.optional: Names = frozenset()
        self.sure: frozenset[int] = frozenset()  # see `sure_reads`
        self.takes_none: ast.expr | None = None  # the call of which the statement takes a None
        self.gives_none = False  # whether the function gives None at some of its ends, and numbers at others

    def look_for_none(
        self, stmts: Sequence[ast.stmt], at_first: Collection[str] = (), but: Names = frozenset()
    ) -> None:
        """Find the variables that may be None in the statements. at_first: that are before; but: that are none."""
        self.optional = optional_names(stmts, at_first) - but
        refuse_shadowed(stmts, self.optional)
        self.sure = sure_reads(stmts, self.optional)

    def take_for_numbers(self) -> bool:
        """Give the variables a type that are None wherever they are set. Whether there are any."""
        found = [name for name in self.optional if name not in self.types]
        self.types.update(dict.fromkeys(found, Number(F64, True)))
        return bool(found)

    def none_flag(self, node: ast.expr) -> str:
        """The flag of a name that may be None here, "" of anything else."""
        if isinstance(node, ast.Name) and node.id in self.optional and id(node) not in self.sure:
            return is_none(node.id)
        return ""

    def _name(self, node: ast.Name) -> Value:
        flag = self.none_flag(node)
        value = self.number_under(node)
        if flag:
            self.raise_if(flag)
        return value

    def raise_if(self, flag: str) -> None:
        self.made_early = True
        self.line(f"if {flag}:")
        self.line(f"{INDENT}raise TypeError()")

    def given_by_call(self, node: ast.Call, call: str, kind: Type) -> Value:
        """What a function gives that may give None."""
        made = self.early(call)
        if self.takes_none is node:
            return Value(f"{made}[0]", kind, none=f"{made}[1]")
        self.raise_if(f"{made}[1]")
        return Value(f"{made}[0]", kind)

    def number_under(self, node: ast.Name) -> Value:
        """What a name holds if that is no None."""
        if node.id in self.optional and node.id not in self.types:
            raise UnknownItemError(f"`{node.id}`, of which only None is known")
        return super()._name(node)

    def compared_with_none(self, node: ast.Compare) -> Value | None:
        """A comparison that asks whether a variable is None, or whether it is equal to another number; None if it does
        neither."""
        name = tested_for_none(node)
        if name is not None and name in self.optional:
            negated = isinstance(node.ops[0], ast.IsNot | ast.NotEq)
            return Value(f"(not {is_none(name)})" if negated else is_none(name), _FLAG)
        if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            return None
        sides = node.left, node.comparators[0]
        flags = [self.none_flag(side) for side in sides]
        if not any(flags):
            return None
        left, right = (
            self.number_under(side) if flag else self.value(side)  # type: ignore[arg-type]  # a name
            for side, flag in zip(sides, flags, strict=True)
        )
        if not isinstance(left.type, Number) or not isinstance(right.type, Number):
            raise UntranslatableError("== of what may be None and is no number")
        text = f"({' or '.join(filter(None, flags))})"
        none = f"({flags[0]} and {flags[1]})" if all(flags) else "False"
        equal = f"({none} if {text} else {truth(compare('==', left, right))})"
        return Value(equal if isinstance(node.ops[0], ast.Eq) else f"(not {equal})", _FLAG)

    def truth_of_name(self, node: ast.expr) -> str:
        """The truth of a name that may be None, "" of anything else."""
        flag = self.none_flag(node)
        if not flag:
            return ""
        return f"(not {flag} and {truth(self.number_under(node))})"  # type: ignore[arg-type]  # a name

    def none_lines(self, given: Collection[str] = (), taken: Collection[str] = ()) -> list[str]:
        """What sets the flags at first. given: the variables that are numbers then; taken: the flags that are
        parameters."""
        flags = ((name, is_none(name)) for name in sorted(self.optional))
        return [f"{flag} = {name not in given}" for name, flag in flags if flag not in taken]


def blank_lines(name: str, kind: Type | None) -> list[str]:
    """`name = None`."""
    if kind is None:
        return [f"{is_none(name)} = True"]
    check_kind(name, kind)
    return [f"{local(name)} = {blank_of(kind, True)}", f"{is_none(name)} = True"]


def check_kind(name: str, kind: Type) -> None:
    match kind:
        case Number(enum=None):
            return
        case Array(shape=shape) if None not in shape:
            return
        case Items(items=items, is_list=False) if items:
            for item in items:
                check_kind(name, item)
            return
    raise UntranslatableError(f"`{name}`, None or {kind}")


def is_none_or_value(value: Any) -> TypeGuard[Choice]:
    """Whether it is a choice, made by the run, between None and something else."""
    return type(value) is Choice and set(value.kinds) == set(KINDS)


def with_flag(avals: Sequence[Aval], is_tuple: bool) -> Callable[[Any], list[Any]]:
    """What makes the results of a variable of what it is in Python: its numbers, and whether it is None."""

    def spread(value: Any) -> list[Any]:
        if value is None:
            return [*(np.zeros(aval.shape, aval.dtype)[()] for aval in avals), True]
        return [*(value if is_tuple else [value]), False]

    return spread
