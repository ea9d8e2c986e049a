"""Which variables statements read, bind, and need: what a branch or loop must carry is what is read after it.

Everything errs on the side of "needed": names in nested functions and in `try` count as read. Statements are those that
`frontend.jumps` leaves: no `break` or `continue`, `return` only at the end.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from .syntax import child_nodes, walk

Names = frozenset[str]
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def walk_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of one scope: nested functions and classes themselves, not what is inside."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, _SCOPES):
            pending.extend(getattr(node, "decorator_list", ()))
            args = getattr(node, "args", None)
            if isinstance(args, ast.arguments):
                pending.extend([*args.defaults, *(d for d in args.kw_defaults if d is not None)])
            pending.extend(getattr(node, "bases", ()))
        else:
            pending.extend(child_nodes(node))


def bound(nodes: Iterable[ast.AST]) -> Names:
    """The names that the statements bind or delete in their own scope."""
    found: set[str] = set()
    pending: list[ast.AST] = list(nodes)
    while pending:
        node = pending.pop()
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                found.update((a.asname or a.name).partition(".")[0] for a in aliases)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case ast.MatchMapping(rest=str(name)):
                found.add(name)
        if isinstance(node, _COMPREHENSIONS):  # its targets are its own; a walrus inside is not
            found.update(n.target.id for n in walk(node) if isinstance(n, ast.NamedExpr))
        elif isinstance(node, _SCOPES):
            pending.extend(getattr(node, "decorator_list", ()))
        else:
            pending.extend(child_nodes(node))
    return frozenset(found)


def bound_once(nodes: Iterable[ast.AST]) -> Names:
    """The names that one statement `name = value` binds, and no other one, in scopes inside neither."""
    stores: list[str] = []
    assigned: set[str] = set()
    pending: list[ast.AST] = list(nodes)
    while pending:
        node = pending.pop()
        match node:
            case ast.Name(id=name):
                if not isinstance(node.ctx, ast.Load):
                    stores.append(name)
            case ast.Assign(targets=targets):
                assigned.update(t.id for t in targets if isinstance(t, ast.Name))
        pending.extend(child_nodes(node))
    return frozenset(name for name, n in Counter(stores).items() if n == 1 and name in assigned)


def read(*nodes: ast.AST | None) -> Names:
    """Every name that is read anywhere inside, nested functions included."""
    found = set()
    for node in nodes:
        for n in walk(node) if node is not None else ():
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store):
                found.add(n.id)
            elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
                found.add(n.target.id)
    return frozenset(found)


def captured(nodes: Iterable[ast.AST]) -> Names:
    """The names of this scope that nested functions and classes mention: they may be read at any time."""
    found: set[str] = set()
    for node in walk_scope(nodes):
        if isinstance(node, (*_SCOPES, ast.GeneratorExp)):
            found |= {n.id for n in walk(node) if isinstance(n, ast.Name)} - _own_names(node)
    return frozenset(found)


def set_by_functions(nodes: Iterable[ast.AST]) -> dict[str, Names]:
    """For each function that is defined in this scope, the names of the scope that calling it may set."""
    functions = [n for n in walk_scope(nodes) if isinstance(n, ast.FunctionDef)]
    mentioned = {f.name: read(*f.body) for f in functions}
    found: dict[str, Names] = {}
    for f in functions:
        declared = {name for n in walk_scope(f.body) if isinstance(n, ast.Nonlocal) for name in n.names}
        found[f.name] = found.get(f.name, frozenset()) | declared
    for _ in functions:  # as many calls of one another as there may be
        for name, names in mentioned.items():
            found[name] = found[name].union(*(found[other] for other in names & found.keys()))
    return {name: names for name, names in found.items() if names}


def _own_names(function: ast.AST) -> Names:
    """The parameters and variables of a function that are no names of the scopes around it."""
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return frozenset()
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    declared = {name for n in walk_scope(body) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    outside = read(function.args, *getattr(function, "decorator_list", ()))
    return (parameters(function) | bound(body)) - declared - outside


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Names:
    a = function.args
    return frozenset(x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))))


def _targets(target: ast.expr) -> Names:
    """The plain names that an assignment to `target` surely binds."""
    if isinstance(target, ast.Name):
        return frozenset((target.id,))
    if isinstance(target, ast.Tuple | ast.List):
        return frozenset().union(*map(_targets, target.elts))
    if isinstance(target, ast.Starred):
        return _targets(target.value)
    return frozenset()


def live_before(stmt: ast.stmt, after: Names) -> Names:
    """The names whose values `stmt`, or what follows it, may read."""
    match stmt:
        case ast.Return():
            return read(stmt)
        case ast.Assign(targets=targets):
            return (after - frozenset().union(*map(_targets, targets))) | read(stmt)
        case ast.AnnAssign(target=target, value=ast.expr()):
            return (after - _targets(target)) | read(stmt)
        case ast.If(test=test, body=body, orelse=orelse):
            return read(test) | live_before_block(body, after) | live_before_block(orelse, after)
        case ast.While():
            return live_at_head(stmt, after)
        case ast.For(iter=iterable):
            head = live_at_head(stmt, after)
            if _surely_begins(stmt):
                head = live_before_block(stmt.body, head) - _targets(stmt.target)
            return read(iterable) | head
        case ast.With(items=items, body=body):
            return read(*items) | live_before_block(body, after)
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return (after - {name}) | read(stmt)
    return after | read(stmt)


def _surely_begins(loop: ast.For) -> bool:
    """Whether there is an iteration, which runs to its end."""
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
            bounds = [a.value for a in args if isinstance(a, ast.Constant) and type(a.value) is int]
            try:
                has_items = len(bounds) == len(args) and len(range(*bounds)) > 0
            except (TypeError, ValueError, OverflowError):
                return False
        case ast.Tuple(elts=items) | ast.List(elts=items):
            has_items = any(not isinstance(item, ast.Starred) for item in items)
        case _:
            return False
    leaves = (ast.Break, ast.Continue, ast.Return)
    return has_items and not any(isinstance(node, leaves) for node in walk_scope(loop.body))


def live_before_block(stmts: Iterable[ast.stmt], after: Names) -> Names:
    for stmt in reversed(list(stmts)):
        after = live_before(stmt, after)
    return after


def live_at_head(loop: ast.While | ast.For, after: Names) -> Names:
    """The names that are read after the loop's next test, or after the loop."""
    test = read(loop.test) if isinstance(loop, ast.While) else frozenset()
    own = _targets(loop.target) if isinstance(loop, ast.For) else frozenset()
    live = after | test
    while True:
        more = live | (live_before_block(loop.body, live) - own)
        if more == live:
            return live
        live = more
