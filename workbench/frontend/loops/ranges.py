"""Which subscripts of a translated loop lie inside of their arrays, so that these need no checks.

In: the text of the loop's function, which checks each index. Out: the same with elements read and written without
checks where the ranges of the loops' variables, comparisons around and lengths prove that they are inside, under
conditions on the arguments that the function checks once, before anything is written; where these do not hold, it
raises a bare LookupError, and the loop runs as the text was. Python's integers lose their checks for overflow where
their ranges allow it. The method is that of `affine`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from .affine import Affine, Guards, Proof, Symbol, constant, of, simplified, text_of
from .types import I64, SMALL, Array, Number, Type

MOST_AXES = 8  # of arrays whose elements are read without checks (`at_8`)
MOST_GUARDS = 32
MOST_WORDS = 2**63 - 1
# What counts by at most STEP at a time stays below this: it would take 2**51 steps, which Python takes centuries for.
COUNTED, STEP = 2**61, 1024

_PLAIN = {"add": ast.Add, "sub": ast.Sub, "mul": ast.Mult}
_PASSING = frozenset(("nonzero", "nonnegative", "length", "within"))  # they give what they are given, or raise
# What never raises, beside the arithmetic of kernels on single numbers.
_QUIET = frozenset(("larger", "smaller", "chosen", "around", "turned", "lost", "with_lost", "min", "max", "abs",
                    "range", "close", "complex", "first_of", "count_between", "rolled"))  # fmt: skip
_SUFFIXES = frozenset(("f32", "f64", "c64", "c128", "bool", *(f"{k}{8 * n}" for k in "iu" for n in (1, 2, 4, 8))))


@dataclass(frozen=True, slots=True)
class Ranged:
    """The text, and whether nothing in it raises once its conditions hold."""

    text: str
    quiet: bool


def without_checks(text: str, parameters: Mapping[str, Type]) -> Ranged:
    """text: of the functions, of which the last one is the loop's; parameters: what is known of those of its
    parameters that it takes as they come."""
    module = ast.parse(text)
    functions = [f for f in module.body if isinstance(f, ast.FunctionDef)]
    quiet: set[str] = set()
    for function in functions[:-1]:
        if _is_quiet(function.body, quiet):
            quiet.add(function.name)
    walker = _Walker(functions[-1], parameters)
    loop = walker.rewritten()
    if walker.changed:
        parts = [ast.unparse(ast.fix_missing_locations(f)) for f in (*functions[:-1], loop)]
        text = "\n\n\n".join(parts) + "\n"
    return Ranged(text, _is_quiet(loop.body[walker.n_guards :], quiet))


def _is_quiet(body: list[ast.stmt], functions: set[str]) -> bool:
    """Whether these statements raise nothing: no checked subscripts, no calls but of plain arithmetic."""
    for node in (n for stmt in body for n in ast.walk(stmt)):
        if isinstance(node, ast.Raise | ast.Assert):
            return False
        if isinstance(node, ast.Subscript) and not _is_shape(node) and not _is_item(node):
            return False
        if isinstance(node, ast.Call) and not _is_quiet_call(node.func, functions):
            return False
    return True


def _is_quiet_call(function: ast.expr, functions: set[str]) -> bool:
    if isinstance(function, ast.Attribute):  # of a type, as `np.int64(x)`
        known = getattr(np, function.attr, None) if isinstance(function.value, ast.Name) else None
        return isinstance(known, type) and issubclass(known, np.generic)
    if not isinstance(function, ast.Name):
        return False
    name, _, end = function.id.rpartition("_")
    return (
        function.id in _QUIET
        or function.id in functions
        or (name in ("at", "put") and end.isdigit())
        or (bool(name) and end in _SUFFIXES)
    )


def _is_shape(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Attribute) and node.value.attr == "shape" and isinstance(node.slice, ast.Constant)


Held = Affine | tuple | None  # an integer, a tuple of them, or something else


@dataclass(eq=False)
class _State:
    """What is known at one place. held: by variable; facts: not negative."""

    held: dict[str, Held] = field(default_factory=dict)
    facts: list[Affine] = field(default_factory=list)

    def copy(self) -> _State:
        return _State(dict(self.held), list(self.facts))


class _Walker:
    def __init__(self, function: ast.FunctionDef, parameters: Mapping[str, Type]):
        self.function = function
        self.changed = False
        self.n_guards = 0
        self.guards: list[list[Guards]] = []
        self.sizes: dict[tuple[str, int], Symbol] = {}
        self.unsure: dict[Symbol, None] = {}  # parameters that may be too large to compute with
        bound = _bound(function.body)
        self.arrays = {n: t for n, t in parameters.items() if isinstance(t, Array) and n not in bound}
        self.state = _State()
        for name in sorted(self.arrays):
            for axis in range(self.arrays[name].ndim):
                self.sizes[name, axis] = Symbol(f"{name}.shape[{axis}]", magnitude=SMALL, least=0)
        for name, kind in parameters.items():
            if isinstance(kind, Number) and kind.dtype == I64:
                symbol = Symbol(name, magnitude=SMALL)
                if kind.weak and kind.within(-SMALL, SMALL):
                    symbol.least = kind.interval[0]
                else:
                    self.unsure[symbol] = None
                self.state.held[name] = of(symbol)
        self.assumed: set[Symbol] = set()

    def rewritten(self) -> ast.FunctionDef:
        body = self.block(self.function.body)
        texts = [_text(ways) for ways in simplified(self.guards)]
        texts += [f"-{SMALL} <= {s.text} <= {SMALL}" for s in self.unsure if s in self.assumed]
        checks = [f"if not ({text}):\n    raise LookupError()" for text in texts]
        head = [stmt for check in checks for stmt in ast.parse(check).body]
        self.n_guards = len(head)
        made = ast.FunctionDef(self.function.name, self.function.args, [*head, *body], [], None, None)
        return ast.copy_location(made, self.function)

    # ---- proofs ----

    def prove(self, *wanted: Affine) -> bool:
        """Whether all are not negative; what that asks of the parameters is noted."""
        ways: list[list[Guards]] = []
        for x in wanted:
            found = Proof(self.state.facts).alternatives(x)
            if not found:
                return False
            if frozenset() not in found:
                ways.append(found)
        if len(guards := simplified([*self.guards, *ways])) > MOST_GUARDS:
            return False
        self.guards = guards
        for found in ways:
            self.assumed |= {s for guards in found for x in guards for s, _ in x.terms}
        return True

    def fits(self, x: Affine) -> bool:
        """Whether it is sure not to leave 64 bits."""
        if x.magnitude is None or x.magnitude > MOST_WORDS:
            return False
        self._assume(x)
        return True

    def _assume(self, x: Affine) -> None:
        """Rely on the magnitude of the symbols that it comes from."""
        for symbol, _ in x.terms:
            if symbol not in self.assumed:
                self.assumed.add(symbol)
                for bound in (*symbol.lower, *symbol.upper, *symbol.either, *symbol.sources):
                    self._assume(bound)

    # ---- statements ----

    def block(self, stmts: list[ast.stmt]) -> list[ast.stmt]:
        made = [self.statement(stmt) for stmt in stmts]
        return [stmt for stmt in made if stmt is not None]

    def statement(self, stmt: ast.stmt) -> ast.stmt:
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                held = self.held(value)
                new = ast.Assign([stmt.targets[0]], self.rewrite(value))
                self.state.held[name] = held
                return ast.copy_location(new, stmt)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                return self.store(stmt, target, value)
            case ast.If():
                return self.branch(stmt)
            case ast.While():
                return self.while_loop(stmt)
            case ast.For():
                return self.for_loop(stmt)
            case ast.Expr(value=value):
                return ast.copy_location(ast.Expr(self.rewrite(value)), stmt)
            case ast.Return(value=value) if value is not None:
                return ast.copy_location(ast.Return(self.rewrite(value)), stmt)
        for name in _bound([stmt]):
            self.state.held[name] = None
        return stmt

    def store(self, stmt: ast.stmt, target: ast.Subscript, value: ast.expr) -> ast.stmt:
        new = self.rewrite(value)
        place = self.place(target)
        if place is None:
            index = ast.Subscript(target.value, self.rewrite(target.slice), ast.Store())
            return ast.copy_location(ast.Assign([index], new), stmt)
        return ast.copy_location(ast.Expr(_call(f"put_{len(place)}", target.value, *place, new)), stmt)

    def branch(self, stmt: ast.If) -> ast.stmt:
        test = self.rewrite(stmt.test)
        before = self.state
        ends: list[_State] = []
        bodies = []
        for body, truth in ((stmt.body, True), (stmt.orelse, False)):
            self.state = before.copy()
            self.state.facts += self.facts(stmt.test, truth)
            bodies.append(self.block(body))
            if not _leaves(body):
                ends.append(self.state)
        if len(ends) == 1:
            self.state = _State(ends[0].held, ends[0].facts)
        elif ends:
            self.state = _State(_joined(*(e.held for e in ends)), before.facts)
        return ast.copy_location(ast.If(test, bodies[0], bodies[1]), stmt)

    def while_loop(self, stmt: ast.While) -> ast.stmt:
        after = self.enter(stmt.body)
        test = self.rewrite(stmt.test)
        self.state.facts += self.facts(stmt.test, True)
        body = self.block(stmt.body)
        self.state = after
        return ast.copy_location(ast.While(test, body, []), stmt)

    def for_loop(self, stmt: ast.For) -> ast.stmt:
        counter = self.counter(stmt.iter)
        items = self.rewrite(stmt.iter)
        after = self.enter([*stmt.body, ast.Assign([stmt.target], ast.Constant(0))])
        for name in _bound([ast.Assign([stmt.target], ast.Constant(0))]):
            self.state.held[name] = None
        if counter is not None and isinstance(stmt.target, ast.Name):
            self.state.held[stmt.target.id] = of(counter)
        body = self.block(stmt.body)
        self.state = after
        return ast.copy_location(ast.For(stmt.target, items, body, []), stmt)

    def enter(self, body: list[ast.stmt]) -> _State:
        """The state after a loop; `self.state` becomes that at the begin of any of its iterations."""
        before = self.state.copy()
        for name in _bound(body):
            held = self.state.held.get(name)
            self.state.held[name] = self.carried(name, held, body) if isinstance(held, Affine) else None
        return _State(dict(self.state.held), before.facts)

    def carried(self, name: str, first: Affine, body: list[ast.stmt]) -> Held:
        """A variable that a loop changes: one that only counts stays on one side of where it was."""
        steps = _steps(name, body)
        if steps is None:
            return None
        symbol = Symbol(sources=[first])
        if all(step >= 0 for step in steps):
            symbol.lower.append(first)
        if all(step <= 0 for step in steps):
            symbol.upper.append(first)
        if first.magnitude is not None and first.magnitude <= COUNTED + SMALL:  # it may have counted before
            symbol.magnitude = COUNTED
        return of(symbol)

    def counter(self, node: ast.expr) -> Symbol | None:
        """The variable of a loop over a range."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "range":
            return None
        bounds = [self.held(a) for a in node.args]
        step = 1
        if len(bounds) == 3:
            step = bounds[2].number if isinstance(bounds[2], Affine) else None
        start, stop = (constant(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        symbol = Symbol()
        if step:
            first, last = (symbol.lower, symbol.upper) if step > 0 else (symbol.upper, symbol.lower)
            if isinstance(start, Affine):
                first.append(start)
            if isinstance(stop, Affine):
                last.append(stop - 1 if step > 0 else stop + 1)
        ends = [b.magnitude for b in (*symbol.lower, *symbol.upper)]
        if len(ends) == 2 and None not in ends:
            symbol.magnitude = max(ends)  # type: ignore[type-var]  # no None
        return symbol

    # ---- what expressions hold ----

    def held(self, node: ast.expr) -> Held:
        match node:
            case ast.Constant(value=value) if type(value) is int:
                return constant(value)
            case ast.Name(id=name):
                return self.state.held.get(name)
            case ast.Tuple(elts=elts):
                return tuple(self.held(e) for e in elts)
            case ast.Subscript():
                return self.held_element(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                held = self.held(operand)
                return -held if isinstance(held, Affine) else None
            case ast.BinOp(left=left, op=op, right=right):
                return self.computed(type(op), self.held(left), self.held(right))
            case ast.IfExp(body=body, orelse=other):
                return _either(self.held(body), self.held(other))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.result(name, [self.held(a) for a in args])
            case ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr="int64"), args=[arg]):
                return self.held(arg)
        return None

    def held_element(self, node: ast.Subscript) -> Held:
        if _is_shape(node):
            base = node.value.value  # type: ignore[attr-defined]  # of a.shape
            axis = node.slice.value  # type: ignore[attr-defined]  # a number
            symbol = self.sizes.get((base.id, axis)) if isinstance(base, ast.Name) else None
            return of(symbol) if symbol is not None else None
        if isinstance(node.value, ast.Name) and node.value.id in self.arrays:
            return self.element_of(self.arrays[node.value.id], node.slice)
        held = self.held(node.value)
        if isinstance(held, tuple) and isinstance(node.slice, ast.Constant) and node.slice.value in range(len(held)):
            return held[node.slice.value]
        return None

    @staticmethod
    def element_of(kind: Array, index: ast.expr) -> Held:
        """An element of an array of integers, of which the type is known."""
        n = len(index.elts) if isinstance(index, ast.Tuple) else 1
        if kind.dtype.kind not in "iu" or kind.dtype == np.uint64 or n != kind.ndim:
            return None
        if any(isinstance(part, ast.Slice) for part in ast.walk(index)):
            return None
        if kind.dtype.itemsize == 8:
            return of(Symbol())
        info = np.iinfo(kind.dtype)
        least, most = int(info.min), int(info.max)
        return of(Symbol(lower=[constant(least)], upper=[constant(most)], magnitude=max(-least, most)))

    def computed(self, op: type, a: Held, b: Held) -> Held:
        if not isinstance(a, Affine) or not isinstance(b, Affine):
            return None
        if op is ast.Add:
            return a + b
        if op is ast.Sub:
            return a - b
        if op is ast.Mult and b.number is not None:
            return a.times(b.number)
        if op is ast.Mult and a.number is not None:
            return b.times(a.number)
        if op is ast.FloorDiv and b.number is not None and b.number > 0:
            part = a.times(Fraction(1, b.number))
            lower = part + Affine((), Fraction(1 - b.number, b.number))
            return of(Symbol(lower=[lower], upper=[part], magnitude=a.magnitude, sources=[a]))
        if op is ast.Mod:
            return of(Symbol(lower=[constant(0)], upper=[b - 1], needs=[b - 1], magnitude=b.magnitude, sources=[b]))
        return None

    def result(self, name: str, args: list[Held]) -> Held:
        """What a call gives."""
        known = [a for a in args if isinstance(a, Affine)]
        if name in ("larger", "smaller") and len(args) == 2 and known:
            either = known if len(known) == 2 else []
            sizes = [a.magnitude for a in either]
            magnitude = None if not sizes or None in sizes else max(sizes)  # type: ignore[type-var]  # no None
            lower, upper = (known, []) if name == "larger" else ([], known)
            return of(Symbol(lower=lower, upper=upper, either=either, magnitude=magnitude))
        if len(known) != len(args) or not known:
            return None
        if name in _PASSING:
            return known[0]
        kind, _, end = name.rpartition("_")
        operation = name.removeprefix("checked_") if kind == "checked" else kind if end == "i64" else ""
        if operation in ("mod", "floor_divide") and len(known) == 2:
            return self.computed(ast.Mod if operation == "mod" else ast.FloorDiv, *known)
        if operation in _PLAIN and len(known) == 2:
            held = self.computed(_PLAIN[operation], *known)
            # Numbers of NumPy's wrap around, Python's raise.
            return held if kind == "checked" or isinstance(held, Affine) and self.fits(held) else None
        return None

    # ---- conditions ----

    def facts(self, test: ast.expr, truth: bool) -> list[Affine]:
        """What is not negative where `test` is as `truth` says."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.facts(operand, not truth)
            case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) == truth:
                return [fact for value in values for fact in self.facts(value, truth)]
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                a, b = self.held(left), self.held(right)
                if isinstance(a, Affine) and isinstance(b, Affine):
                    return _compared(type(op) if truth else _OPPOSITES.get(type(op)), a, b)
        return []

    # ---- expressions without checks ----

    def rewrite(self, node: Any) -> Any:
        match node:
            case ast.Subscript() if not _is_shape(node):
                place = self.place(node)
                if place is not None:
                    return ast.copy_location(_call(f"at_{len(place)}", node.value, *place), node)
            case ast.BoolOp(op=op, values=values):
                before = self.state
                self.state = before.copy()
                made = []
                for value in values:
                    made.append(self.rewrite(value))
                    self.state.facts += self.facts(value, isinstance(op, ast.And))
                self.state = before
                return ast.copy_location(ast.BoolOp(op, made), node)
            case ast.IfExp(test=test, body=body, orelse=other):
                before = self.state
                parts = []
                for each, truth in ((body, True), (other, False)):
                    self.state = before.copy()
                    self.state.facts += self.facts(test, truth)
                    parts.append(self.rewrite(each))
                self.state = before
                return ast.copy_location(ast.IfExp(self.rewrite(test), *parts), node)
            case ast.Call(func=ast.Name(id=name), args=args) if name.startswith("checked_"):
                op = _PLAIN.get(name.removeprefix("checked_"))
                held = self.held(node)
                if op is not None and isinstance(held, Affine) and self.fits(held):
                    self.changed = True
                    return ast.copy_location(ast.BinOp(self.rewrite(args[0]), op(), self.rewrite(args[1])), node)
        if not isinstance(node, ast.AST):
            return node
        fields = {
            key: [self.rewrite(x) for x in old] if isinstance(old, list) else self.rewrite(old)
            for key, old in ast.iter_fields(node)
        }
        return ast.copy_location(type(node)(**fields), node)

    def place(self, node: ast.Subscript) -> list[ast.expr] | None:
        """The indices of an element that is read or written without checks; None if all of them take one."""
        if not isinstance(node.value, ast.Name) or node.value.id not in self.arrays:
            return None
        name, kind = node.value.id, self.arrays[node.value.id]
        nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        held = [self.held(n) for n in nodes]
        if len(nodes) == 1 and isinstance(held[0], tuple) and isinstance(node.slice, ast.Name):
            held = list(held[0])
            nodes = [_item(node.slice.id, k) for k in range(len(held))]
        if len(nodes) != kind.ndim or kind.ndim > MOST_AXES:
            return None
        if any(isinstance(n, ast.Slice | ast.Starred | ast.Attribute) for n in nodes):
            return None
        found, proved = [], False
        for axis, (index, each) in enumerate(zip(nodes, held, strict=True)):
            if isinstance(each, tuple):
                return None
            text = self.inside(each, of(self.sizes[name, axis])) if each is not None else "wrapped"
            proved = proved or text != "wrapped"
            new = index if _is_item(index) else self.rewrite(index)
            found.append(_call(text, new, _length(name, axis)) if text else new)
        if not proved:
            return None
        self.changed = True
        return found

    def inside(self, index: Affine, size: Affine) -> str:
        """The function that an index takes: none where it lies in the array."""
        if self.prove(index, size - index - 1):
            return ""
        if self.prove(index + size, size - index - 1):
            return "turned"
        return "wrapped"


_OPPOSITES: dict[type, type] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
_COMPARISONS: dict[type, Callable[[Affine, Affine], list[Affine]]] = {
    ast.Lt: lambda a, b: [b - a - 1],
    ast.LtE: lambda a, b: [b - a],
    ast.Gt: lambda a, b: [a - b - 1],
    ast.GtE: lambda a, b: [a - b],
    ast.Eq: lambda a, b: [a - b, b - a],
}


def _compared(op: type | None, a: Affine, b: Affine) -> list[Affine]:
    return _COMPARISONS[op](a, b) if op in _COMPARISONS else []


def _text(ways: list[Guards]) -> str:
    return " or ".join(sorted(" and ".join(sorted(text_of(x) for x in guards)) for guards in ways))


def _either(a: Held, b: Held) -> Held:
    if a == b:
        return a
    if isinstance(a, Affine) and isinstance(b, Affine):
        sizes = (a.magnitude, b.magnitude)
        return of(Symbol(either=[a, b], magnitude=None if None in sizes else max(sizes)))  # type: ignore[type-var]
    return None


def _joined(a: dict[str, Held], b: dict[str, Held]) -> dict[str, Held]:
    return {name: _either(a.get(name), b.get(name)) for name in {**a, **b}}


def _bound(body: list[ast.stmt]) -> list[str]:
    """The names that statements set, in order."""
    names = (n.id for stmt in body for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return list(dict.fromkeys(names))


def _steps(name: str, body: list[ast.stmt]) -> list[int] | None:
    """By what a variable is changed in a loop, if it only counts."""
    found: list[int] = []
    sets = [n for stmt in body for n in ast.walk(stmt) if isinstance(n, ast.Name) and n.id == name]
    n_stores = sum(isinstance(n.ctx, ast.Store) for n in sets)
    for stmt in (n for each in body for n in ast.walk(each) if isinstance(n, ast.Assign)):
        if len(stmt.targets) != 1 or not isinstance(stmt.targets[0], ast.Name) or stmt.targets[0].id != name:
            continue
        match stmt.value:
            case ast.BinOp(left=ast.Name(id=left), op=ast.Add() | ast.Sub() as op, right=right) if left == name:
                sign = 1 if isinstance(op, ast.Add) else -1
            case ast.Call(func=ast.Name(id=function), args=[ast.Name(id=left), right]) if left == name:
                sign = {"checked_add": 1, "checked_sub": -1}.get(function, 0)
            case _:
                return None
        if not sign or not isinstance(right, ast.Constant) or type(right.value) is not int or right.value > STEP:
            return None
        found.append(sign * right.value)
    return found if len(found) == n_stores else None


def _leaves(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Break | ast.Continue | ast.Return | ast.Raise)


def _call(name: str, *args: Any) -> ast.Call:
    named: list[ast.expr] = [ast.Name(a.id, ast.Load()) if isinstance(a, ast.Name) else a for a in args]
    return ast.Call(ast.Name(name, ast.Load()), named, [])


def _item(name: str, k: int) -> ast.expr:
    """A part of a tuple, which is there."""
    made: Any = ast.Subscript(ast.Name(name, ast.Load()), ast.Constant(k), ast.Load())
    made.of_tuple = True
    return made


def _is_item(node: ast.AST) -> bool:
    return getattr(node, "of_tuple", False)


def _length(name: str, axis: int) -> ast.expr:
    return ast.Subscript(ast.Attribute(ast.Name(name, ast.Load()), "shape", ast.Load()), ast.Constant(axis), ast.Load())
