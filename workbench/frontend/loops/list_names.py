"""Which names of a loop hold lists that it changes, as its text tells."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ..syntax import walk

TAKES = frozenset(("pop", "popleft"))  # methods that change a list and give one of its elements
CHANGES = TAKES | {"append", "extend", "insert", "clear", "reverse", "appendleft", "remove", "sort", "rotate"}
HEAPS = frozenset(("heappush", "heappop"))
_INTO = HEAPS | {
    "insort",
    "insort_left",
    "insort_right",
    "shuffle",
}  # functions that change the list which they are given


def growing_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names of lists that statements change the length of, and of what shares them by assignments."""
    nodes = [n for node in nodes for n in walk(node)]
    found: set[str] = set()
    for n in nodes:
        match n:
            case ast.Call(func=ast.Attribute(value=base, attr=attr)) if attr in CHANGES:
                found.add(root(base))
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *_]) if name in _INTO:
                found.add(root(first))
            case ast.Delete(targets=targets):
                found.update(root(t.value) for t in targets if isinstance(t, ast.Subscript))
    pairs = [pair for n in nodes for pair in _shared(n)]
    while True:
        more = {name for pair in pairs if found & pair for name in pair} - found - {""}
        if not more:
            return frozenset(found - {""})
        found |= more


def appended_names(loop: ast.AST) -> frozenset[str]:
    """The names of lists that a loop appends to, and which nothing in it hands on: besides `x.append(...)` and
    `x.extend(...)` there are at most `x[i]` and `len(x)`."""
    found: set[str] = set()
    known: set[int] = set()
    for n in walk(loop):
        match n:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name) as base, attr="append" | "extend")):
                found.add(name)
                known.add(id(base))
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name() as base]) | ast.Subscript(value=ast.Name() as base):
                known.add(id(base))
    others = {n.id for n in walk(loop) if isinstance(n, ast.Name) and id(n) not in known}
    return frozenset(found - others)


_READERS = frozenset(("len", "sum", "min", "max", "sorted", "enumerate", "zip", "reversed", "any", "all"))


def of_one_length(loop: ast.AST) -> tuple[frozenset[str], frozenset[str]]:
    """Names that, if they hold lists, keep those and their lengths: nothing hands them on, nor calls their methods.
    Those whose items the loop replaces, and those that it only reads."""
    stored: set[str] = set()
    read: set[str] = set()
    known: set[int] = set()
    for n in walk(loop):
        match n:
            case ast.Subscript(value=ast.Name(id=name) as base, slice=at, ctx=context):
                known.add(id(base))
                (read if isinstance(context, ast.Load) else stored).add(name)
                if isinstance(at, ast.Slice) or isinstance(context, ast.Del):
                    known.discard(id(base))
            case ast.Call(func=ast.Name(id=function), args=args) if function in _READERS:
                known.update(id(a) for a in args if isinstance(a, ast.Name))
            case ast.For(iter=ast.Name() as base):
                known.add(id(base))
    others = {n.id for n in walk(loop) if isinstance(n, ast.Name) and id(n) not in known}
    return frozenset(stored - others), frozenset(read - stored - others)


_TAKES_OUT = frozenset(("pop", "discard", "remove"))
_OF_TABLES = _TAKES_OUT | {"add", "setdefault", "update", "clear"}
_READS_OF_TABLES = frozenset(("get", "keys", "values", "items"))


def table_names(loop: ast.AST) -> tuple[frozenset[str], frozenset[str]]:
    """Names that, if they hold dictionaries or sets, hold ones that the loop changes, and that it looks things up in
    under keys that are not written out."""
    changed: set[str] = set()
    read: set[str] = set()
    for n in walk(loop):
        match n:
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                changed.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in _OF_TABLES:
                changed.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in _READS_OF_TABLES:
                read.add(name)
            case ast.Subscript(value=ast.Name(id=name), slice=at) if not isinstance(at, ast.Constant):
                read.add(name)
            case ast.Compare(ops=ops, comparators=others):
                pairs = zip(ops, others, strict=True)
                read.update(b.id for op, b in pairs if isinstance(op, ast.In | ast.NotIn) and isinstance(b, ast.Name))
            case ast.Call(func=ast.Name(), args=args):
                read.update(a.id for a in args if isinstance(a, ast.Name))
            case ast.For(iter=ast.Name(id=name)):
                read.add(name)
    return frozenset(changed), frozenset(read - changed)


def thinned_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names of what keys, if it is a dictionary or set, are taken out of one by one."""
    found: set[str] = set()
    for n in (n for node in nodes for n in walk(node)):
        match n:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in _TAKES_OUT:
                found.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Del()):
                found.add(name)
    return frozenset(found)


def called_names(loop: ast.AST) -> frozenset[str]:
    return frozenset(n.func.id for n in walk(loop) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))


def handed_names(loop: ast.AST) -> frozenset[str]:
    """The names of what functions are called with that may be the user's."""
    calls = (n for n in walk(loop) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))
    called = (n for n in calls if n.func.id not in _READERS)  # type: ignore[attr-defined]  # a name
    return frozenset(a.id for n in called for a in n.args if isinstance(a, ast.Name))


def queue_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names of lists whose first elements are taken away."""
    found: set[str] = set()
    for n in (n for node in nodes for n in walk(node)):
        match n:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="popleft")):
                found.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop"), args=[ast.Constant(value=0)]):
                found.add(name)
    return frozenset(found)


def root(node: ast.expr) -> str:
    """The variable of `a`, `a[i]`, `a[i][j]`; "" of anything else."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _shared(node: ast.AST) -> Iterable[set[str]]:
    """Names that may hold one list after a statement."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    for one, item in zip(target.elts, value.elts, strict=False):
                        yield {root(one), root(item)} if isinstance(item, ast.Name) else {""}
                elif isinstance(value, ast.Name | ast.Subscript) and isinstance(target, ast.Name):
                    plain = isinstance(value, ast.Name)
                    yield {target.id, root(value)} if plain else {""}


def takes_elements(node: ast.AST) -> bool:
    """Whether a statement calls `pop` or the like."""
    return any(isinstance(n, ast.Call) and is_taking(n) for n in walk(node))


def is_taking(node: ast.Call) -> bool:
    """Whether a call changes a list and gives one of its elements."""
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name in TAKES or name == "heappop"
