"""The views that a translated loop leaves behind: rows of arrays outside, as its last iteration took them.

The loop itself gives copies. Where its text tells which part of which array a variable is when the loop has run, that
part is taken again, so that what is written through it later reaches the array. Where the text tells only which parts
it may be, the run finds out which one it is.
"""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import TracingError
from ..syntax import walk
from ..tracer import Tracer
from .sharing import VIEWING
from .types import Array

_ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}


class _UnknownError(Exception):
    """An expression whose value the text does not tell, or that is no view."""


def left_views(node: ast.AST, given: Mapping[str, Any]) -> dict[str, Tracer]:
    """Variables that hold views when the loop `node` has run. given: what the loop reads, as it was before."""
    if not isinstance(node, ast.For) or node.orelse:
        return {}
    inside = [n for stmt in node.body for n in walk(stmt)]
    if any(isinstance(n, ast.Break | ast.Return) for n in inside):
        return {}
    stores = Counter(n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    in_place = Counter(n.target.id for n in inside if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name))
    targets = {n.id for n in walk(node.target) if isinstance(n, ast.Name)}
    known = {name: value for name, value in given.items() if name not in stores and name not in targets}
    found: dict[str, Tracer] = {}
    try:
        n, item = _sequence(node.iter, known)
        if not n or targets & stores.keys():
            return {}
        _bind(node.target, item(n - 1), known)
    except _UnknownError:
        return {}
    found = {name: value for name in targets if type(value := known.get(name)) is Tracer}
    for stmt in node.body:
        match stmt:
            case ast.Assign(targets=targets, value=value) if names := _names(targets):
                try:
                    view = _value(value, known)
                except _UnknownError:
                    continue
                if type(view) is Tracer:
                    once = {name: view for name in names if stores[name] - in_place[name] == 1}
                    known.update(once)
                    found.update(once)
    return found


def possible_views(node: ast.AST, given: Mapping[str, Any]) -> dict[str, list[Tracer]]:
    """Views of the arrays outside, the same in each iteration, that the loop `node` gives names to on some path."""
    stores = {n.id for n in walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    known = {name: value for name, value in given.items() if name not in stores}
    found: dict[str, list[Tracer]] = {}
    for stmt in walk(node):
        match stmt:
            case ast.Assign(targets=targets, value=value) if names := _names(targets):
                try:
                    view = _value(value, known)
                except _UnknownError:
                    continue
                if type(view) is Tracer and view.parent is not None:
                    for name in names:
                        found.setdefault(name, []).append(view)
    return found


def _names(targets: Sequence[ast.expr]) -> list[str]:
    """`a = b = value`: the names, if there is nothing else."""
    return [t.id for t in targets if isinstance(t, ast.Name)] if all(isinstance(t, ast.Name) for t in targets) else []


def _sequence(items: ast.expr, known: Mapping[str, Any]) -> tuple[int, Callable[[int], Any]]:
    """What a loop goes over: how many items, and which one is the k-th; None for an item that is no view."""
    match items:
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]) if "range" not in known:
            try:
                numbers = range(*(_number(arg, known) for arg in args))
            except (TypeError, ValueError):
                raise _UnknownError from None
            return len(numbers), numbers.__getitem__
        case ast.Call(func=ast.Name(id="enumerate"), args=[over], keywords=[]) if "enumerate" not in known:
            n, item = _sequence(over, known)
            return n, lambda k: (k, item(k))
        case ast.Call(func=ast.Name(id="reversed"), args=[over], keywords=[]) if "reversed" not in known:
            n, item = _sequence(over, known)
            return n, lambda k: item(n - 1 - k)
        case ast.Call(func=ast.Name(id="zip"), args=[_, *_] as several, keywords=[]) if "zip" not in known:
            found = [_sequence(each, known) for each in several]
            return min(n for n, _ in found), lambda k: tuple(item(k) for _, item in found)
        case ast.Name() | ast.Subscript() | ast.Attribute():
            over = _array(items, known)
            return len(over), lambda k: over[k] if over.ndim > 1 else None
    raise _UnknownError


def _bind(target: ast.expr, item: Any, known: dict[str, Any]) -> None:
    """Let the names of `target` hold `item`, or its parts."""
    match target:
        case ast.Name(id=name) if item is not None:
            known[name] = item
        case ast.Name():
            pass
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if type(item) is tuple and len(parts) == len(item):
            for part, each in zip(parts, item, strict=True):
                _bind(part, each, known)
        case _:
            raise _UnknownError


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """An integer, an index, or a view."""
    match node:
        case ast.Constant(value=value) if type(value) in (int, type(None), type(Ellipsis)):
            return value
        case ast.Name(id=name) if name in known and type(known[name]) in (int, Tracer):
            return known[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, known)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            numbers = _number(left, known), _number(right, known)
            if isinstance(op, ast.FloorDiv) and not numbers[1]:
                raise _UnknownError
            return _ARITHMETIC[type(op)](*numbers)
        case ast.Call(func=ast.Name(id="len"), args=[value], keywords=[]) if "len" not in known:
            return len(_array(value, known))
        case ast.Subscript(value=ast.Attribute(value=value, attr="shape"), slice=index):
            try:
                return _array(value, known).shape[_number(index, known)]
            except IndexError:
                raise _UnknownError from None
        case ast.Attribute(value=value, attr="T" | "mT" | "real" as name):
            try:
                return getattr(_array(value, known), name)
            except (AttributeError, ValueError, TracingError):
                raise _UnknownError from None
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=args, keywords=[]) if name in VIEWING:
            of_numpy = isinstance(value, ast.Name) and value.id in ("np", "numpy") and value.id not in known
            if of_numpy and args:
                value, *args = args
            array, axes = _array(value, known), [_index(arg, known) for arg in args]
            try:
                view = getattr(np, name)(array, *axes) if of_numpy else getattr(array, name)(*axes)
            except (AttributeError, TypeError, ValueError, IndexError, TracingError):
                raise _UnknownError from None
            if type(view) is not Tracer or view.buffer is not array.buffer:
                raise _UnknownError
            return view
        case ast.Subscript(value=value, slice=index):
            array, place = _array(value, known), _index(index, known)
            try:
                part = array[place]
            except IndexError:
                raise _UnknownError from None
            if type(part) is not Tracer or part.scalar or not part.ndim:
                raise _UnknownError
            return part
    raise _UnknownError


def _number(node: ast.expr, known: Mapping[str, Any]) -> int:
    if type(value := _value(node, known)) is not int:
        raise _UnknownError
    return value


def _array(node: ast.expr, known: Mapping[str, Any]) -> Tracer:
    if type(value := _value(node, known)) is not Tracer or not value.ndim:
        raise _UnknownError
    return value


def _index(node: ast.expr, known: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Tuple):
        return tuple(_index(item, known) for item in node.elts)
    if isinstance(node, ast.Slice):
        bounds = (None if bound is None else _number(bound, known) for bound in (node.lower, node.upper, node.step))
        return slice(*bounds)
    value = _value(node, known)
    if type(value) is Tracer:
        raise _UnknownError
    return value


_KEEP_LENGTHS = frozenset(("where", "clip", "diff", "abs", "copy", "astype"))


def room_for(loop: ast.For | ast.While, name: str, kind: Array, before: Any) -> int | None:
    """How long an array is before a loop that may leave a shorter one, None where that is not so simple. kind: of what
    it leaves; before: the type that it has before."""
    if kind.ndim != 1 or kind.origins - {name} or not isinstance(before, Array) or before.ndim != 1:
        return None
    # `while a[0] == 0: a = a[1:]` is mostly of known numbers, which Python tells.
    if before.dtype != kind.dtype or not isinstance(loop, ast.For) or not _only_gets_shorter(loop, name):
        return None
    return before.shape[0]


def in_room(n: int, x: np.ndarray) -> tuple[np.ndarray, int]:
    """`x` at the beginning of `n` elements, and its length."""
    if len(x) > n:
        raise LookupError
    return np.concatenate([x, np.zeros(n - len(x), x.dtype)]), len(x)


def _only_gets_shorter(loop: ast.For | ast.While, name: str) -> bool:
    """Whether all that an array is given in a loop is computed element by element, of itself and of parts of it."""
    given = [n.value for n in walk(loop) if isinstance(n, ast.Assign) and any(map(_is_named(name), n.targets))]
    bindings = [n for n in walk(loop) if _is_named(name)(n) and not isinstance(n.ctx, ast.Load)]  # type: ignore[attr-defined]
    return len(given) == len(bindings) and all(map(_keeps_lengths, given))


def _is_named(name: str) -> Callable[[ast.AST], bool]:
    return lambda node: isinstance(node, ast.Name) and node.id == name


def _keeps_lengths(value: ast.expr) -> bool:
    for node in walk(value):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if called not in _KEEP_LENGTHS and not isinstance(getattr(np, called, None), np.ufunc):
                return False
        elif isinstance(node, ast.List | ast.Tuple | ast.ListComp | ast.GeneratorExp | ast.Lambda):
            return False
    return True
