"""Which subscripts of a translated loop lie inside of their arrays, so that these need no checks.

In: the text of the loop's function, which checks each index. Out: the same with elements read and written without
checks where the ranges of the loops' variables, comparisons around and lengths prove that they are inside, under
conditions on the arguments that the function checks once, before anything is written; where these do not hold, it
raises a bare LookupError, and the loop runs as the text was. Python's integers lose their checks for overflow where
their ranges allow it. The method is that of `affine`.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ..syntax import child_nodes, walk
from .affine import Affine, Guards, Proof, Symbol, constant, of, simplified, text_of
from .invariants import Induction
from .syntax import (
    bound,
    call,
    is_item,
    is_name,
    is_quiet,
    is_shape,
    item,
    leaves,
    length,
    n_indices,
    steps,
    stores,
)
from .types import I64, SMALL, Array, Number, Type

MOST_AXES = 8  # of arrays whose elements are read without checks (`at_8`)
MOST_GUARDS = 32
MOST_EITHER = 8  # numbers that a variable of a loop is one of
MOST_WORDS = 2**63 - 1
# What counts by at most STEP at a time stays below this: it would take 2**51 steps, which Python takes centuries for.
COUNTED = 2**61

TEMPORARY = re.compile(r"t\d+_")  # the names of the translator's own variables
_before = itertools.count(1)
_PLAIN = {"add": ast.Add, "sub": ast.Sub, "mul": ast.Mult}
_PASSING = frozenset(("nonzero", "nonnegative", "length", "within"))  # they give what they are given, or raise
_MOST = {f"{sign}int{bits}": 2 ** (bits - (not sign)) - 1 for sign in ("", "u") for bits in (8, 16, 32)}
_MASKS = frozenset(f"and_{sign}{bits}" for sign in "iu" for bits in (8, 16, 32)) | {"and_i64"}


@dataclass(frozen=True, slots=True)
class Ranged:
    """The text, and whether nothing in it raises once its conditions hold."""

    text: str
    quiet: bool


def without_checks(text: str, parameters: Mapping[str, Type], written: Callable[[Array], bool]) -> Ranged:
    """text: of the functions, of which the last one is the loop's; parameters: what is known of those of its
    parameters that it takes as they come; written: whether the loop may write into the memory of one of these
    arrays, which their origins tell."""
    arrays = [kind for kind in parameters.values() if isinstance(kind, Array)]
    return _without_checks(text, tuple(parameters.items()), frozenset(a.origins for a in arrays if written(a)))


@functools.lru_cache(256)
def _without_checks(
    text: str, parameters: tuple[tuple[str, Type], ...], written: frozenset[frozenset[str]]
) -> Ranged:  # fmt: skip
    """A function that several places call gives the same loop again and again. written: origins of arrays."""
    module = ast.parse(text)
    functions = [f for f in module.body if isinstance(f, ast.FunctionDef)]
    quiet: set[str] = set()
    for function in functions[:-1]:
        if is_quiet(function.body, quiet):
            quiet.add(function.name)
    walker = _Walker(functions[-1], dict(parameters), written)
    loop = walker.rewritten()
    if walker.changed:
        parts = [ast.unparse(ast.fix_missing_locations(f)) for f in (*functions[:-1], loop)]
        text = "\n\n\n".join(parts) + "\n"
    return Ranged(text, is_quiet(loop.body[walker.n_guards :], quiet))


Held = Affine | tuple | None  # an integer, a tuple of them, or something else


@dataclass(eq=False)
class _State:
    """What is known at one place. held: by variable; facts: not negative."""

    held: dict[str, Held] = field(default_factory=dict)
    facts: list[Affine] = field(default_factory=list)

    def copy(self) -> _State:
        return _State(dict(self.held), list(self.facts))


class _Walker(Induction):
    def __init__(
        self, function: ast.FunctionDef, parameters: Mapping[str, Type], written: frozenset[frozenset[str]]
    ):  # fmt: skip
        super().__init__()
        self.function = function
        self.written = written
        self.changed = False
        self.n_guards = 0
        self.guards: list[list[Guards]] = []
        self.sizes: dict[tuple[str, int], Symbol] = {}
        self.unsure: dict[Symbol, None] = {}  # parameters that may be too large to compute with
        changed = bound(function.body)
        self.arrays = {n: t for n, t in parameters.items() if isinstance(t, Array) and n not in changed}
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
        self.n_stores = Counter(stores(function.body))
        self.seen: set[str] = set()  # variables that were set in the text so far
        self.rows: dict[
            str, tuple[str, list[ast.expr]]
        ] = {}  # a variable -> the array and the indices of the row it is
        self.other_names: dict[str, str] = {}  # a variable that is another name of an array -> the parameter
        self.data: dict[str, tuple[Symbol, Symbol]] = {}  # arrays of integers that stay -> bounds of their elements

    def rewritten(self) -> ast.FunctionDef:
        body = self.block(self.function.body)
        texts = [_text(ways) for ways in simplified(self.guards)]
        texts += [f"-{SMALL} <= {s.text} <= {SMALL}" for s in self.unsure if s in self.assumed]
        checks = [f"if not ({text}):\n    raise LookupError()" for text in texts]
        bounds = []
        for name, (least, most) in self.data.items():
            if least in self.assumed and most in self.assumed:
                bounds.append(f"{least.text}, {most.text} = ends_of({name})")
            elif least in self.assumed:
                bounds.append(f"{least.text} = least_of({name})")
            elif most in self.assumed:
                bounds.append(f"{most.text} = most_of({name})")
        head = [stmt for line in (*bounds, *checks) for stmt in ast.parse(line).body]
        self.n_guards = len(head)
        made = ast.FunctionDef(self.function.name, self.function.args, [*head, *body], [], None, None)
        return ast.copy_location(made, self.function)

    # ---- proofs ----

    def prove(self, *wanted: Affine, boldly: bool = True) -> bool:
        """Whether all are not negative; what that asks of the parameters is noted. boldly: also where it asks of the
        numbers in an array that all are above one that is greater than 0."""
        ways: list[list[Guards]] = []
        for x in wanted:
            found = Proof(self.state.facts).alternatives(x)
            if not boldly:
                found = [way for way in found if not any(self.is_bold(x) for x in way)]
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

    def is_bold(self, x: Affine) -> bool:
        least = {bounds[0] for bounds in self.data.values()}
        return x.constant < 0 and any(symbol in least and factor > 0 for symbol, factor in x.terms)

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
        made: list[ast.stmt] = []
        for stmt in stmts:
            new = self.statement(stmt)
            made += [] if new is None else [new]
            self.seen.update(stores([stmt]))
        return made or [ast.Pass()]

    def statement(self, stmt: ast.stmt) -> ast.stmt | None:
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if self.n_stores[name] == 1 and self.is_array(name, value):
                    return None if name in self.rows else stmt
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
            case ast.Break() | ast.Continue():
                self.leaving[-1].append(self.state.copy())
                return stmt
            case ast.Return(value=value) if value is not None:
                return ast.copy_location(ast.Return(self.rewrite(value)), stmt)
        for name in bound([stmt]):
            self.state.held[name] = None
        return stmt

    def is_array(self, name: str, value: ast.expr) -> bool:
        """Whether a variable is another name of an array, or a row of one of which single elements alone are read and
        written, which are then those of the array."""
        if isinstance(value, ast.Name) and value.id in self.arrays and value.id not in self.rows:
            self.arrays[name] = self.arrays[value.id]
            self.other_names[name] = self.other_names.get(value.id, value.id)
            self.sizes |= {(name, k): self.sizes[value.id, k] for k in range(self.arrays[name].ndim)}
            return True
        if not isinstance(value, ast.Subscript) or not isinstance(value.value, ast.Name):
            return False
        base = value.value.id
        if base not in self.arrays or base in self.rows or not TEMPORARY.fullmatch(name):
            return False
        kind, nodes = self.arrays[base], value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
        rest = kind.ndim - len(nodes)
        if rest < 1 or kind.ndim > MOST_AXES or not all(map(self.stays, nodes)):
            return False
        uses = [n for n in walk(self.function) if isinstance(n, ast.Subscript) and is_name(n.value, name)]
        n_loads = sum(is_name(n, name) and isinstance(n.ctx, ast.Load) for n in walk(self.function))  # type: ignore[attr-defined]  # names
        if n_loads != len(uses) or not all(n_indices(n) == rest for n in uses):
            return False
        held = [self.held(n) for n in nodes]
        sizes = [of(self.sizes[base, k]) for k in range(len(nodes))]
        if not all(isinstance(x, Affine) and self.inside(x, n) == "" for x, n in zip(held, sizes, strict=True)):
            return False
        self.arrays[name] = Array(kind.dtype, (None,) * rest, kind.origins)
        self.sizes |= {(name, k): self.sizes[base, len(nodes) + k] for k in range(rest)}
        self.rows[name] = (base, [self.rewrite(n) for n in nodes])
        self.changed = True
        return True

    def stays(self, node: ast.expr) -> bool:
        """Whether an index is the same where the row is used that it picks (which is in the next few lines: the row is
        a temporary): a number, or a variable that is set once, further up."""
        if isinstance(node, ast.Constant):
            return type(node.value) is int
        if not isinstance(node, ast.Name):
            return False
        return not self.n_stores[node.id] or self.n_stores[node.id] == 1 and node.id in self.seen

    def store(self, stmt: ast.stmt, target: ast.Subscript, value: ast.expr) -> ast.stmt:
        new = self.rewrite(value)
        place = self.place(target)
        if place is None:
            index = ast.Subscript(target.value, self.rewrite(target.slice), ast.Store())
            return ast.copy_location(ast.Assign([index], new), stmt)
        return ast.copy_location(ast.Expr(call(f"put_{len(place[1])}", place[0], *place[1], new)), stmt)

    def branch(self, stmt: ast.If) -> ast.stmt:
        test = self.rewrite(stmt.test)
        before = self.state
        ends: list[_State] = []
        bodies = []
        for body, truth in ((stmt.body, True), (stmt.orelse, False)):
            self.state = before.copy()
            self.state.facts += self.facts(stmt.test, truth)
            bodies.append(self.block(body) if body else [])
            if not leaves(body):
                ends.append(self.state)
        if len(ends) == 1:
            self.state = _State(ends[0].held, ends[0].facts)
        elif ends:
            self.state = _State(_joined(*(_with_facts(e, before) for e in ends)), before.facts)
        return ast.copy_location(ast.If(test, bodies[0], bodies[1]), stmt)

    def while_loop(self, stmt: ast.While) -> ast.stmt:
        def begin() -> None:
            self.state.facts += self.facts(stmt.test, True)

        after = self.enter(stmt.body, begin, Symbol().order)
        test = self.rewrite(stmt.test)
        begin()
        body = self.inside_loop(stmt.body)
        self.state = after
        return ast.copy_location(ast.While(test, body, []), stmt)

    def for_loop(self, stmt: ast.For) -> ast.stmt:
        n_before = Symbol().order
        counter = self.counter(stmt.iter)
        items = self.rewrite(stmt.iter)
        self.seen.update(stores([ast.Assign([stmt.target], ast.Constant(0))]))
        targets = frozenset(bound([ast.Assign([stmt.target], ast.Constant(0))]))

        def begin() -> None:
            self.state.held |= dict.fromkeys(targets)
            if counter is not None and isinstance(stmt.target, ast.Name):
                self.state.held[stmt.target.id] = of(counter)

        after = self.enter(stmt.body, begin, n_before, targets)
        begin()
        body = self.inside_loop(stmt.body)
        self.state = after
        return ast.copy_location(ast.For(stmt.target, items, body, []), stmt)

    def inside_loop(self, body: list[ast.stmt]) -> list[ast.stmt]:
        self.leaving.append([])
        made = self.block(body)
        self.leaving.pop()
        return made

    def enter(
        self, body: list[ast.stmt], begin: Callable[[], None], n_before: int, targets: Set[str] = frozenset()
    ) -> _State:
        """The state after a loop; `self.state` becomes that at the begin of any of its iterations. n_before: as of
        `bound_by_induction`; targets: what its `for` sets."""
        before = self.state.copy()
        names = frozenset(bound(body)) - targets
        firsts = {name: held for name in sorted(names) if isinstance(held := self.state.held.get(name), Affine)}
        for name in names | targets:
            first = firsts.get(name)
            self.state.held[name] = self.carried(name, first, body) if first is not None else None
        self.bound_by_induction(firsts, body, begin, n_before)
        return _State(dict(self.state.held), before.facts)

    def carried(self, name: str, first: Affine, body: list[ast.stmt]) -> Held:
        """A variable that a loop changes: one that only counts stays on one side of where it was."""
        by = steps(name, body)
        if by is None:
            return None
        symbol = Symbol(sources=[first])
        if all(step >= 0 for step in by):
            symbol.lower.append(first)
        if all(step <= 0 for step in by):
            symbol.upper.append(first)
        if first.magnitude is not None and first.magnitude <= COUNTED + SMALL:  # it may have counted before
            symbol.magnitude = COUNTED
        return of(symbol)

    def counter(self, node: ast.expr) -> Symbol | None:
        """The variable of a loop over a range, or over a few numbers."""
        if isinstance(node, ast.Tuple) and 0 < len(node.elts) <= MOST_EITHER:
            each = [held for e in node.elts if isinstance(held := self.held(e), Affine)]
            sizes = [x.magnitude for x in each]
            magnitude = None if None in sizes else max(sizes, default=None)  # type: ignore[type-var]  # no None
            return Symbol(either=each, magnitude=magnitude) if len(each) == len(node.elts) else None
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
            case ast.Attribute(value=ast.Name(id=name), attr="size") if (name, 0) in self.sizes:
                return of(self.sizes[name, 0]) if (name, 1) not in self.sizes else None
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
            case ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr=kind), args=[ast.Constant(value=value)]):
                return constant(value) if type(value) is int and 0 <= value <= _MOST.get(kind, -1) else None
        return None

    def held_element(self, node: ast.Subscript) -> Held:
        if is_shape(node):
            base = node.value.value  # type: ignore[attr-defined]  # of a.shape
            axis = node.slice.value  # type: ignore[attr-defined]  # a number
            symbol = self.sizes.get((base.id, axis)) if isinstance(base, ast.Name) else None
            return of(symbol) if symbol is not None else None
        if isinstance(node.value, ast.Name) and node.value.id in self.arrays:
            return self.element_of(node.value.id, node)
        held = self.held(node.value)
        k = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return held[k] if isinstance(held, tuple) and isinstance(k, int) and 0 <= k < len(held) else None

    def element_of(self, name: str, node: ast.Subscript) -> Held:
        """An element of an array of integers."""
        kind = self.arrays[name]
        if kind.dtype.kind not in "iu" or kind.dtype == np.uint64 or n_indices(node) != kind.ndim:
            return None
        if kind.dtype.itemsize < 8:
            info = np.iinfo(kind.dtype)
            least, most = constant(int(info.min)), constant(int(info.max))
            return of(Symbol(lower=[least], upper=[most], magnitude=max(-int(info.min), int(info.max))))
        name = self.rows[name][0] if name in self.rows else name
        name = self.other_names.get(name, name)  # what is asked in front of the loop, where only parameters are set
        if kind.origins in self.written:
            return of(Symbol())
        if name not in self.data:
            # They come before all symbols of the loop, which their elements' bounds are made of.
            k = len(self.data)
            low, high = (Symbol(f"{f}{k}_", magnitude=SMALL, order=-next(_before)) for f in ("least", "most"))
            self.data[name] = low, high
            self.unsure |= dict.fromkeys(self.data[name])
        least, most = map(of, self.data[name])
        return of(Symbol(lower=[least], upper=[most], magnitude=SMALL, sources=[least, most]))

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
        if name in _MASKS and (masks := [a.number for a in known if a.number is not None and a.number >= 0]):
            mask = min(masks)
            return of(Symbol(lower=[constant(0)], upper=[constant(mask)], magnitude=mask))
        if len(known) != len(args) or not known:
            return None
        if name in _PASSING:
            return known[0]
        if name == "wrapped":
            magnitude = known[1].magnitude
            return of(Symbol(lower=[constant(0)], upper=[known[1] - 1], magnitude=magnitude, sources=[known[1]]))
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
            case ast.Compare(left=left, ops=[op], comparators=[right]) if self.has_variables(test):
                a, b = self.held(left), self.held(right)
                if isinstance(a, Affine) and isinstance(b, Affine):
                    return _compared(type(op) if truth else _OPPOSITES.get(type(op)), a, b)
        return []

    def has_variables(self, node: ast.AST) -> bool:
        """Whether an expression holds more than constants and elements of arrays. What is known of an element is
        forgotten where the expression ends, since it has no name."""
        match node:
            case ast.Subscript(value=ast.Name(id=name)) if name in self.arrays and not is_shape(node):
                return False
            case ast.Call(func=ast.Name(), args=parts):
                return any(map(self.has_variables, parts))
            case ast.Attribute(value=ast.Name(id="np")):
                return False
        return isinstance(node, ast.Name) or any(map(self.has_variables, child_nodes(node)))

    # ---- expressions without checks ----

    def rewrite(self, node: Any) -> Any:
        match node:
            case ast.Subscript() if not is_shape(node):
                place = self.place(node)
                if place is not None:
                    return ast.copy_location(call(f"at_{len(place[1])}", place[0], *place[1]), node)
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
            case ast.Call(func=ast.Name(id="wrapped"), args=[index, size]):
                i, n = self.held(index), self.held(size)
                text = self.inside(i, n) if isinstance(i, Affine) and isinstance(n, Affine) else "wrapped"
                if text != "wrapped":
                    self.changed = True
                    new = self.rewrite(index)
                    return ast.copy_location(call(text, new, size) if text else new, node)
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
        kind: Any = type(node)
        return ast.copy_location(kind(**fields), node)

    def place(self, node: ast.Subscript) -> tuple[ast.expr, list[ast.expr]] | None:
        """The array and the indices of an element that is read or written without checks; None if all of them take
        one."""
        if not isinstance(node.value, ast.Name) or node.value.id not in self.arrays:
            return None
        name, kind = node.value.id, self.arrays[node.value.id]
        nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        held = [self.held(n) for n in nodes]
        if len(nodes) == 1 and isinstance(held[0], tuple) and isinstance(node.slice, ast.Name):
            held = list(held[0])
            nodes = [item(node.slice.id, k) for k in range(len(held))]
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
            new = index if is_item(index) else self.rewrite(index)
            found.append(call(text, new, length(name, axis)) if text else new)
        base, first = self.rows.get(name, (name, []))
        if not proved and not first:
            return None
        self.changed = True
        return ast.Name(base, ast.Load()), [*first, *found]

    def inside(self, index: Affine, size: Affine) -> str:
        """The function that an index takes: none where it lies in the array."""
        if self.prove(index, boldly=False) and self.prove(size - index - 1):
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


def _with_facts(end: _State, before: _State) -> dict[str, Held]:
    """What variables hold at the end of a branch, with what comparisons tell of it there."""
    new = end.facts[len(before.facts) :]
    held = dict(end.held)
    for name, x in held.items():
        if new and isinstance(x, Affine) and x.terms:
            lower = [x - fact for fact in new if fact.terms == x.terms]
            upper = [x + fact for fact in new if fact.terms == (-x).terms]
            if lower or upper:
                held[name] = of(Symbol(lower=[*lower, x], upper=[*upper, x], magnitude=x.magnitude, sources=[x]))
    return held


def _joined(a: dict[str, Held], b: dict[str, Held]) -> dict[str, Held]:
    return {name: _either(a.get(name), b.get(name)) for name in {**a, **b}}
