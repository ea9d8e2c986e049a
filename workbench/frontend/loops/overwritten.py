"""Arrays of which a loop writes each element, and reads none: what they held before, nobody asks for."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...primitives.loops import LoopArgument
from ..syntax import walk
from .elements import Block, Element, blocks, element_of
from .lengths import constant_of
from .syntax import bound
from .written_out import ends_early, names_for

Shape = tuple[int, ...]


def overwritten_operands(
    text: str, values: Mapping[str, Any], arguments: Sequence[LoopArgument], written: Sequence[int]
) -> tuple[int, ...]:  # fmt: skip
    """Which of the operands `written` these are. text: whose last function is the loop's; values: what it is given, in
    the order of its `arguments`. An error may leave elements as they were: nothing of a loop that raises is kept."""
    loop = ast.parse(text).body[-1]
    assert isinstance(loop, ast.FunctionDef)
    n_names = Counter(argument.operand for argument in arguments)
    operands: dict[str, int] = {}
    shapes: dict[str, Shape] = {}
    numbers: dict[str, int] = {}
    changed = {*bound(loop.body)}
    for parameter, value, argument in zip(loop.args.args, values.values(), arguments, strict=True):
        name = parameter.arg
        if type(value) is int and name not in changed:
            numbers[name] = value
        elif argument.is_array and not isinstance(value, int):
            shapes[name] = value.shape
            if argument.operand in written and not argument.views and n_names[argument.operand] == 1:
                operands[name] = argument.operand
    found = _Writes(shapes, numbers)
    return tuple(k for name, k in operands.items() if found.fills(loop.body, name) and not _is_read(loop, name))


def _number(node: ast.expr, shapes: Mapping[str, Shape], numbers: Mapping[str, int]) -> int | None:
    match node:
        case ast.Name(id=name):
            return numbers.get(name)
        case ast.Call(func=ast.Name(id="length"), args=[inner]):
            return _number(inner, shapes, numbers)
    return constant_of(node, shapes)


class _Writes:
    def __init__(self, shapes: Mapping[str, Shape], numbers: Mapping[str, int]):
        self.shapes, self.numbers = shapes, numbers

    def fills(self, stmts: Block, name: str, outer: Sequence[set[str]] = ()) -> bool:
        """Whether the statements write all elements of an array whose first indices are `outer`, each under several
        names."""
        shape = self.shapes[name]
        if 0 in shape:
            return True
        n_missing = math.prod(shape[len(outer) :])
        written: set[tuple[int, ...]] = set()  # the last indices of single elements
        for stmt in stmts:
            if isinstance(stmt, ast.For) and len(outer) < len(shape) and self._is_filled_by(stmt, name, outer):
                return True
            element = _written(stmt)
            place = self._place(element, outer) if element is not None and element.name == name else None
            if place is not None:
                written.add(place)
                if len(written) == n_missing:
                    return True
            if ends_early([stmt]):
                return False
        return False

    def _is_filled_by(self, loop: ast.For, name: str, outer: Sequence[set[str]]) -> bool:
        match loop:
            case ast.For(target=ast.Name(id=counter), iter=ast.Call(func=ast.Name(id="range"), args=[*first, last])):
                if first and (len(first) > 1 or constant_of(first[0], {}) != 0):
                    return False
            case _:
                return False
        if _is_left(loop.body):
            return False
        if _number(last, self.shapes, self.numbers) != self.shapes[name][len(outer)]:
            return False
        return self.fills(loop.body, name, [*outer, names_for(loop.body, counter)])

    def _place(self, element: Element, outer: Sequence[set[str]]) -> tuple[int, ...] | None:
        """The indices behind `outer`, if those before are that, and these are known."""
        shape = self.shapes[element.name]
        if len(element.indices) != len(shape):
            return None
        indices = iter(element.indices)
        for names in outer:
            node = next(indices)
            if not isinstance(node, ast.Name) or node.id not in names:
                return None
        found = [constant_of(node, {}) for node in indices]
        inside = all(k is not None and 0 <= k < n for k, n in zip(found, shape[len(outer) :], strict=True))
        return tuple(found) if inside else None  # type: ignore[arg-type]  # no None


def _is_left(body: Block) -> bool:
    """Whether `break` ends a loop, or `return` all of them."""
    for stmt in body:
        if isinstance(stmt, ast.Break | ast.Return):
            return True
        if isinstance(stmt, ast.For | ast.While):
            if any(isinstance(n, ast.Return) for n in walk(stmt)):
                return True
        elif any(map(_is_left, blocks(stmt))):
            return True
    return False


def _written(stmt: ast.stmt) -> Element | None:
    element = element_of(stmt.value if isinstance(stmt, ast.Expr) else stmt)
    return None if element is None or element.value is None else element


def _is_read(loop: ast.FunctionDef, name: str) -> bool:
    """Whether anything but writes of elements, and lengths, names an array."""
    n_names = sum(isinstance(n, ast.Name) and n.id == name for n in walk(loop))
    n_plain = 0
    for node in walk(loop):
        match node:
            case ast.Attribute(value=ast.Name(id=found), attr="shape"):
                n_plain += found == name
            case ast.Expr() | ast.Assign():
                element = _written(node)
                n_plain += element is not None and element.name == name
    return n_plain < n_names
