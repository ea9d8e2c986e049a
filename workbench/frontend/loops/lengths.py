"""The lengths of arrays in a loop's text, where it tells them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping

from ..syntax import walk
from .elements import Replaced, maker_of
from .ranges import TEMPORARY
from .syntax import is_shape, n_indices

Shape = tuple[int | None, ...]
# As in `codegen.loops`.
_OF_SLICES: dict[str, Callable[..., int]] = {
    "first_of": lambda i, n: range(n)[i:].start,
    "count_between": lambda first, i, n: len(range(n)[first:i]),
}


def constant_of(node: ast.expr, shapes: Mapping[str, Shape | None]) -> int | None:
    match node:
        case ast.Constant(value=int(value)) if type(value) is int:
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))) if type(value) is int:
            return -value
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name)), slice=ast.Constant(value=int(axis))) if (
            is_shape(node)
        ):
            shape = shapes.get(name)
            return shape[axis] if shape is not None and axis < len(shape) else None
        case ast.Call(func=ast.Name(id="wrapped" | "turned"), args=[i, size]):
            k, n = constant_of(i, shapes), constant_of(size, shapes)
            return None if k is None or n is None or not -n <= k < n else k % n
        case ast.Call(func=ast.Name(id="length"), args=[size]):
            n = constant_of(size, shapes)
            return n if n is not None and n >= 0 else None
        case ast.Call(func=ast.Name(id="first_of" | "count_between" as name), args=args):
            numbers = [constant_of(arg, shapes) for arg in args]
            return None if None in numbers else _OF_SLICES[name](*numbers)
    return None


def with_constants(loop: ast.FunctionDef, given: Mapping[str, Shape]) -> ast.FunctionDef:
    """The loop with the translator's own variables that are lengths, or indices, as the numbers that they are."""
    stores = Counter(n.id for n in walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    while True:
        shapes = shapes_of(loop, given)
        found: dict[str, ast.expr] = {}
        for node in walk(loop):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() | ast.Subscript() as value) if stores[
                    name
                ] == 1 and TEMPORARY.fullmatch(name):
                    n = constant_of(value, shapes)
                    if n is not None:
                        found[name] = ast.Constant(n)
        if not found:
            return loop
        for name in found:
            stores[name] = 0  # replaced
        loop = Replaced(found, loads=True).visit(loop)


def shapes_of(loop: ast.FunctionDef, given: Mapping[str, Shape]) -> dict[str, Shape]:
    """The lengths of arrays, None where unknown: what all assignments agree about."""
    found: dict[str, Shape | None] = dict(given)  # None: no array, or one of which nothing is known
    assigned: list[tuple[str, ast.expr]] = []
    for node in (n for stmt in loop.body for n in walk(stmt)):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                assigned.append((name, value))
            case ast.Assign(targets=[ast.Tuple() as target]) | ast.For(target=target):
                found |= {n.id: None for n in walk(target) if isinstance(n, ast.Name)}
            case ast.AugAssign(target=ast.Name(id=name)):
                found[name] = None
    names = {name for name, _ in assigned}
    others = {a.arg for a in loop.args.args} - given.keys() - names
    found |= dict.fromkeys(others)
    at_head = {id(stmt.value) for stmt in loop.body if isinstance(stmt, ast.Assign)}
    changed = True
    while changed:
        changed = False
        for name, value in assigned:
            if id(value) in at_head and _is_blank(value):
                continue
            shape = _shape(value, found)
            if shape == ():  # nothing is known as yet
                continue
            if name in found:
                shape = _met(found[name], shape)
            if name not in found or found[name] != shape:
                found[name] = shape
                changed = True
    return {name: shape for name, shape in found.items() if shape is not None}


def _met(a: Shape | None, b: Shape | None) -> Shape | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(n if n == m else None for n, m in zip(a, b, strict=True))


def _is_blank(value: ast.expr) -> bool:
    """Whether it is an array that a variable holds before it is set."""
    match value:
        case ast.Call(args=[ast.Tuple(elts=elts), _]) if maker_of(value) == "zeros":
            return any(constant_of(node, {}) == 0 for node in elts)
    return False


def _shape(value: ast.expr, shapes: Mapping[str, Shape | None]) -> Shape | None:
    """`()`: it depends on what is not known as yet."""
    match value:
        case ast.Name(id=name):
            return shapes.get(name, ())
        case ast.Call(args=[ast.Tuple(elts=elts), _]) if maker_of(value):
            for node in elts:
                if isinstance(node, ast.Subscript) and is_shape(node) and ast.unparse(node.value.value) not in shapes:  # type: ignore[attr-defined]
                    return ()
            return tuple(constant_of(node, shapes) for node in elts)
        case ast.Subscript(value=ast.Name(id=name), slice=index) if n_indices(value):
            if name not in shapes:
                return ()
            shape = shapes[name]
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            arrays = any(isinstance(part, ast.Name) and shapes.get(part.id) for part in parts)
            return shape[len(parts) :] or None if shape is not None and not arrays else None
    return None
