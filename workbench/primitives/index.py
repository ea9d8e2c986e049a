"""Index expressions: integers that a kernel computes from loop indices, sizes and loaded elements.

Lowering rules of index maps combine them with `+ - * // %` and comparisons (`primitives.lowering.Index`); fusion asks
whether a read is a plain loop index, and code generation prints them as Python. They simplify as they are built, on
the promise that every loop index and size is non-negative, so that equal reads print equally.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any


@dataclass(frozen=True, slots=True)
class Expr:
    """A node: `op` is "sym", "const", "load", "loaded" or an operator; `args` are expressions, an int or a name.

    `axis` numbers a loop index (op "sym"); a size has axis None. "load" names an operand and where it is read; "loaded"
    is source text that holds an element, with the index it was read at.
    """

    op: str
    args: tuple
    axis: int | None = None
    hash: int = field(init=False, compare=False, repr=False)  # kept: a chain has exponentially many ways through it

    def __post_init__(self) -> None:
        object.__setattr__(self, "hash", hash((self.op, self.args, self.axis)))

    def __hash__(self) -> int:
        return self.hash

    def __add__(self, other: Expr | int) -> Expr:
        return add(self, wrap(other))

    def __radd__(self, other: int) -> Expr:
        return add(wrap(other), self)

    def __sub__(self, other: Expr | int) -> Expr:
        return sub(self, wrap(other))

    def __rsub__(self, other: int) -> Expr:
        return sub(wrap(other), self)

    def __mul__(self, other: Expr | int) -> Expr:
        return mul(self, wrap(other))

    def __rmul__(self, other: int) -> Expr:
        return mul(self, wrap(other))

    def __floordiv__(self, other: Expr | int) -> Expr:
        other = wrap(other)
        if is_const(other, 1):
            return self
        if is_const(self, 0):
            return self
        return fold("//", self, other)

    def __mod__(self, other: Expr | int) -> Expr:
        other = wrap(other)
        if is_const(other, 1):
            return const(0)
        if is_const(self, 0):
            return self
        return fold("%", self, other)

    def __neg__(self) -> Expr:
        return sub(const(0), self)

    def __lt__(self, other: Expr | int) -> Expr:
        return Expr("<", (self, wrap(other)))

    def __le__(self, other: Expr | int) -> Expr:
        return Expr("<=", (self, wrap(other)))

    def __gt__(self, other: Expr | int) -> Expr:
        return Expr(">", (self, wrap(other)))

    def __ge__(self, other: Expr | int) -> Expr:
        return Expr(">=", (self, wrap(other)))

    def eq(self, other: Expr | int) -> Expr:
        return Expr("==", (self, wrap(other)))

    def __and__(self, other: Expr | bool) -> Expr:
        if isinstance(other, bool):
            return self if other else Expr("const", (False,))
        return Expr("and", (self, other))

    def __or__(self, other: Expr | bool) -> Expr:
        if isinstance(other, bool):
            return Expr("const", (True,)) if other else self
        return Expr("or", (self, other))

    __rand__ = __and__
    __ror__ = __or__

    def __str__(self) -> str:
        match self.op:
            case "sym" | "const":
                return str(self.args[0])
            case "loaded":
                return str(self.args[0])
            case "load":
                return f"{self.args[0]}[{', '.join(map(str, self.args[1:])) or '()'}]"
            case "where":
                condition, then, otherwise = self.args
                return f"({then} if {condition} else {otherwise})"
        left, right = self.args
        return f"{_inside(left, self.op, right=False)} {self.op} {_inside(right, self.op, right=True)}"

    @property
    def is_axis(self) -> bool:
        """Whether this is a loop index and nothing else."""
        return self.op == "sym" and self.axis is not None

    def axes(self) -> frozenset[int]:
        """The loop indices that this expression depends on."""
        return frozenset(part.axis for part in self._parts() if part.op == "sym" and part.axis is not None)

    def loads(self) -> bool:
        return any(part.op in ("load", "loaded") for part in self._parts())

    def _parts(self) -> Iterator[Expr]:
        """All expressions within, each once: one that chooses by an index holds that index several times, so that there
        are exponentially many ways through a chain of them."""
        seen = {id(self)}
        pending: list[Expr] = [self]
        while pending:
            part = pending.pop()
            yield part
            for arg in part.args:
                if isinstance(arg, Expr) and id(arg) not in seen:
                    seen.add(id(arg))
                    pending.append(arg)


def _inside(expr: Expr, parent: str, *, right: bool) -> str:
    levels = {"or": 1, "and": 2, "<": 3, "<=": 3, ">": 3, ">=": 3, "==": 3, "+": 4, "-": 4, "*": 5, "//": 5, "%": 5}
    inner, outer = levels.get(expr.op, 9), levels[parent]
    text = str(expr)
    if inner < outer or (inner == outer and (right or parent in ("//", "%", "<", "<=", ">", ">=", "=="))):
        return f"({text})"
    if expr.op == "const" and text.startswith("-") and right:
        return f"({text})"
    return text


def const(value: int) -> Expr:
    return Expr("const", (value,))


def wrap(value: Expr | int) -> Expr:
    return value if isinstance(value, Expr) else const(int(value))


def loop_index(axis: int) -> Expr:
    return Expr("sym", (f"i{axis}",), axis)


def size(name: str) -> Expr:
    """A run-time size or offset, constant within a kernel."""
    return Expr("sym", (name,))


def is_const(expr: Expr, value: int | None = None) -> bool:
    return expr.op == "const" and (value is None or expr.args[0] == value)


def fold(op: str, a: Expr, b: Expr) -> Expr:
    if a.op == b.op == "const" and not (op in ("//", "%") and b.args[0] == 0):
        x, y = a.args[0], b.args[0]
        return const({"+": x + y, "-": x - y, "*": x * y}[op] if op in "+-*" else (x // y if op == "//" else x % y))
    return Expr(op, (a, b))


def add(a: Expr, b: Expr) -> Expr:
    if is_const(a, 0):
        return b
    if is_const(b, 0):
        return a
    if is_const(a) and not is_const(b):
        a, b = b, a
    if is_const(b):
        if b.args[0] < 0:
            return sub(a, const(-b.args[0]))
        if a.op == "+" and is_const(a.args[1]):
            return add(a.args[0], const(a.args[1].args[0] + b.args[0]))
        if a.op == "-" and is_const(a.args[1]):
            return add(a.args[0], const(b.args[0] - a.args[1].args[0]))
    return fold("+", a, b)


def sub(a: Expr, b: Expr) -> Expr:
    if is_const(b, 0):
        return a
    if a == b:
        return const(0)
    if is_const(b):
        if b.args[0] < 0:
            return add(a, const(-b.args[0]))
        if a.op == "+" and is_const(a.args[1]):
            return add(a.args[0], const(a.args[1].args[0] - b.args[0]))
        if a.op == "-" and is_const(a.args[1]):
            return sub(a.args[0], const(a.args[1].args[0] + b.args[0]))
    if a.op == "+" and a.args[0] == b:
        return a.args[1]
    if a.op == "+" and a.args[1] == b:
        return a.args[0]
    return fold("-", a, b)


def mul(a: Expr, b: Expr) -> Expr:
    if is_const(a, 1):
        return b
    if is_const(b, 1):
        return a
    if is_const(a, 0) or is_const(b, 0):
        return const(0)
    return fold("*", a, b)


def conjunction(conditions: list[Expr]) -> Expr | None:
    return reduce(lambda a, b: a & b, conditions) if conditions else None


def where(condition: Any, then: Any, otherwise: Any) -> Any:
    """`then` where `condition` holds, else `otherwise`: indices, or plain ints with a plain condition."""
    if isinstance(condition, Expr):
        return Expr("where", (condition, wrap(then), wrap(otherwise)))
    return then if condition else otherwise


def axes_of(index: tuple[Expr, ...]) -> frozenset[int]:
    """The loop indices that an index of an array depends on."""
    return frozenset(axis for expr in index for axis in expr.axes())
