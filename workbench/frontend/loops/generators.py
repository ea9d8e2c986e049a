"""`sum(x[j] * w[j] for j in range(i))` inside of a loop that is translated: as a loop of its own, before the statement.

    y[i] = 2 * sum(f(j) for j in range(i))   ->   sum_1 = 0
                                                  for j_1 in range(i):
                                                      sum_1 = sum_1 + f(j_1)
                                                  y[i] = 2 * sum_1

So are comprehensions, where lists may grow: `[f(r) for r in x if g(r)]` appends to a list of its own. Only where
nothing that may write into an array comes before it in the statement.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count

from ..syntax import child_nodes, copied, walk
from .maps import without_maps

FOLDS = frozenset(("sum", "min", "max", "any", "all"))
_LISTINGS = (ast.ListComp, ast.SetComp, ast.DictComp)
_HARMLESS = FOLDS | {"abs", "deque", "sorted", "len", "float", "int", "bool", "complex", "round", "range"}
_MODULES = frozenset(("np", "numpy", "math"))
_HEADS = {ast.Assign: "value", ast.AugAssign: "value", ast.AnnAssign: "value", ast.Return: "value", ast.Expr: "value",
          ast.If: "test", ast.Assert: "test"}  # fmt: skip


def without_generators(
    stmts: list[ast.stmt], is_builtin: Callable[[str], bool], *, listings: bool = False
) -> list[ast.stmt]:
    """The statements with folds of generators written out; the given ones are left as they are. listings: and with
    comprehensions written out, as lists that grow."""
    stmts = without_maps(stmts, is_builtin)
    stmts = _as_listings(stmts, is_builtin, all_kinds=True) if listings else stmts
    if not (listings and holds_listings(stmts)) and not any(_fold_of(n) for stmt in stmts for n in walk(stmt)):
        return stmts
    return _Rewriter(stmts, is_builtin, listings=listings).block(copied(stmts))


def without_listings(stmts: list[ast.stmt]) -> list[ast.stmt]:
    """The statements with comprehensions written out, as loops; folds of generators stay."""
    taken = {n.id for stmt in stmts for n in walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    stmts = _as_listings(without_maps(stmts, lambda name: name not in taken), lambda name: name not in taken)
    if not holds_listings(stmts):
        return stmts
    return _Rewriter(stmts, lambda name: False, listings=True, under_own_names=True).block(copied(stmts))


def holds_listings(stmts: Iterable[ast.stmt]) -> bool:
    """Whether there are comprehensions that make lists, dictionaries or sets."""
    return any(isinstance(n, _LISTINGS) for stmt in stmts for n in walk(stmt))


def _as_listings(
    stmts: list[ast.stmt], is_builtin: Callable[[str], bool], *, all_kinds: bool = False
) -> list[ast.stmt]:
    """The statements with `{x for ...}` for `set(x for ...)`, and a list for `list` and `sorted`. all_kinds: and for
    `deque`, for `list(range(n))` and the like, and for a generator that is unpacked."""
    rewriter = _Collections(is_builtin, all_kinds)
    if not any(map(rewriter.takes, (n for stmt in stmts for n in walk(stmt)))):
        return stmts
    return [rewriter.visit(stmt) for stmt in copied(stmts)]


class _Collections(ast.NodeTransformer):
    def __init__(self, is_builtin: Callable[[str], bool], all_kinds: bool):
        self.is_builtin = is_builtin
        self.all_kinds = all_kinds

    def takes(self, node: ast.AST) -> bool:
        """Whether there may be something to do."""
        if _collection_of(node):
            return True
        return self.all_kinds and (_is_unpacked(node) or _is_given_all(node) or bool(self._iterator_of(node)))

    def _iterator_of(self, node: ast.AST) -> ast.expr | None:
        """The iterator of which a call makes a list."""
        match node:
            case ast.Call(
                func=ast.Name(id="list" | "sorted" as name), args=[ast.Call(func=ast.Name(id=inner)) as each],
                keywords=words,
            ) if inner in _ITERATORS and self.is_builtin(name) and self.is_builtin(inner):  # fmt: skip
                return each if not words or name == "sorted" else None
        return None

    def visit_Assign(self, node: ast.Assign) -> ast.AST:  # noqa: N802 (ast's name)
        self.generic_visit(node)
        if self.all_kinds and _is_unpacked(node):
            assert isinstance(node.value, ast.GeneratorExp)
            node.value = _listing_of(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802 (ast's name)
        self.generic_visit(node)
        if self.all_kinds and _is_given_all(node):
            node.args[0] = _listing_of(node.args[0])  # type: ignore[arg-type]  # a generator
        each = self._iterator_of(node) if self.all_kinds else None
        if each is not None:
            over = ast.comprehension(ast.Name("item", ast.Store()), each, [], 0)
            made = ast.copy_location(ast.ListComp(_load("item"), [over]), node)
            if node.func.id == "list":  # type: ignore[attr-defined]  # a name
                return ast.fix_missing_locations(made)
            node.args = [ast.fix_missing_locations(made)]
            return node
        name = _collection_of(node)
        if not name or not self.is_builtin(name):
            return node
        (items,) = node.args
        assert isinstance(items, ast.GeneratorExp)
        made = ast.copy_location((ast.SetComp if name == "set" else ast.ListComp)(items.elt, items.generators), node)
        if name != "sorted":
            return made
        node.args = [made]
        return node


_ITERATORS = frozenset(("range", "zip", "enumerate", "reversed"))


def _listing_of(node: ast.GeneratorExp) -> ast.ListComp:
    return ast.copy_location(ast.ListComp(node.elt, node.generators), node)


def _is_unpacked(node: ast.AST) -> bool:
    """Whether it is `a, b = (f(x) for x in y)`."""
    match node:
        case ast.Assign(targets=[ast.Tuple() | ast.List()], value=ast.GeneratorExp()):
            return True
    return False


def _is_given_all(node: ast.AST) -> bool:
    """Whether it is a call of `deque` with a generator, all of whose items this takes."""
    match node:
        case ast.Call(func=ast.Name(id="deque") | ast.Attribute(attr="deque"), args=[ast.GeneratorExp(), *_]):
            return True
    return False


def _collection_of(node: ast.AST) -> str:
    """The name of what makes a collection of one generator, in a call of it alone."""
    match node:
        case ast.Call(func=ast.Name(id="set" | "list" | "sorted" as name), args=[ast.GeneratorExp()], keywords=[]):
            return name
    return ""


def _fold_of(node: ast.AST) -> str:
    """The name of the fold that a call is, of one generator."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp()], keywords=[]) if name in FOLDS:
            return name
    return ""


class _Rewriter:
    """under_own_names: the list that a variable is given is made under that name, so that it has no other one."""

    def __init__(
        self, stmts: Iterable[ast.stmt], is_builtin: Callable[[str], bool], *, listings: bool,
        under_own_names: bool = False,
    ):  # fmt: skip
        self.under_own_names = under_own_names
        self.is_builtin = is_builtin
        self.listings = listings
        self.taken = {n.id for stmt in stmts for n in walk(stmt) if isinstance(n, ast.Name)}
        self.numbers = count(1)

    def block(self, stmts: list[ast.stmt]) -> list[ast.stmt]:
        return [new for stmt in stmts for new in self.statement(stmt)]

    def statement(self, stmt: ast.stmt) -> list[ast.stmt]:
        if isinstance(stmt, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            return [stmt]
        for field in ("body", "orelse"):
            if isinstance(inner := getattr(stmt, field, None), list):
                setattr(stmt, field, self.block(inner))
        head = _HEADS.get(type(stmt))
        value = getattr(stmt, head) if head else None
        if value is None or not self.only_computes(value):
            return [stmt]
        before: list[ast.stmt] = []
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)]) if (
                self.under_own_names and self.is_listing(value) and name not in _names(value)
            ):
                self.listing(value, name, before)
                rest: list[ast.stmt] = []
            case _:
                setattr(stmt, head, self.expression(value, before))  # type: ignore[arg-type]  # there is one
                rest = [stmt]
        return [ast.fix_missing_locations(ast.copy_location(new, stmt)) for new in before] + rest

    def expression(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """`node` with its folds as variables, which the statements `before` compute. What may not be computed at all is
        left alone."""
        name = _fold_of(node)
        if name:
            return self.fold(name, node, before) if self.is_builtin(name) else node
        if self.is_listing(node):
            found = self.name("list")
            self.listing(node, found, before)
            return _load(found)
        if isinstance(node, ast.BoolOp):
            node.values[0] = self.expression(node.values[0], before)
        elif isinstance(node, ast.IfExp):
            node.test = self.expression(node.test, before)
        elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            for field, value in ast.iter_fields(node):
                if isinstance(value, ast.expr):
                    setattr(node, field, self.expression(value, before))
                elif isinstance(value, list) and not isinstance(node, ast.Compare):
                    setattr(node, field, [self.expression(v, before) if isinstance(v, ast.expr) else v for v in value])
                elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
                    value[0] = self.expression(value[0], before)
        return node

    def listing(self, node: ast.expr, found: str, before: list[ast.stmt]) -> None:
        """The comprehension `node`, as the variable `found`."""
        assert isinstance(node, _LISTINGS)
        empty, step = _collected(node, found)
        self.loops(node, step, [_store(found, empty)], before)

    def fold(self, kind: str, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        generator: ast.GeneratorExp = node.args[0]  # type: ignore[attr-defined]  # a call
        total, has = self.name(kind), self.name("has")
        first: list[ast.stmt] = []
        is_single = len(generator.generators) == 1
        step = partial(self.step, kind, total, has, first, is_single=is_single)
        self.loops(generator, step, first, before)
        if kind in ("min", "max"):
            raised = ast.Call(_load("ValueError"), [ast.Constant(f"{kind}() of nothing")], [])
            before.append(ast.If(ast.UnaryOp(ast.Not(), _load(has)), [ast.Raise(raised)], []))
        return _load(total)

    def loops(
        self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp,
        step: Callable[[list[ast.expr]], list[ast.stmt]],
        first: list[ast.stmt], before: list[ast.stmt],
    ) -> None:  # fmt: skip
        """The loops of a comprehension, after the statements `first`. step: what they do with an element."""
        renamed = _Renamed({})
        loops = []
        for part in node.generators:
            over = renamed.visit(part.iter)
            targets = [n.id for n in walk(part.target) if isinstance(n, ast.Name)]
            renamed.names |= {target: self.name(target) for target in targets}
            loops.append((renamed.visit(part.target), over, [renamed.visit(test) for test in part.ifs]))
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        body: list[ast.stmt] = step([renamed.visit(part) for part in parts])
        for target, over, tests in reversed(loops):
            for test in reversed(tests):
                body = [ast.If(test, body, [])]
            body = [ast.For(target, over, body, [])]
        before += first
        # What is inside of the element is written out in turn.
        before += self.block([ast.fix_missing_locations(ast.copy_location(body[0], node))])

    def is_listing(self, node: ast.AST) -> bool:
        return self.listings and isinstance(node, _LISTINGS) and not any(part.is_async for part in node.generators)

    def only_computes(self, value: ast.expr) -> bool:
        """Whether nothing in an expression that comes before its folds and listings is a call that may write into an
        array, and nothing binds a name."""
        keys = {id(n.value) for n in walk(value) if isinstance(n, ast.keyword) and n.arg == "key"}
        if any(isinstance(n, ast.NamedExpr | ast.Lambda) and id(n) not in keys for n in walk(value)):
            return False
        written_out = [n for n in walk(value) if _fold_of(n) or self.is_listing(n)]
        pending: list[ast.AST] = [value]
        while pending:
            node = pending.pop()
            if _fold_of(node) or self.is_listing(node):
                continue
            match node:
                case ast.Call(func=ast.Name(id=name)) if name in _HARMLESS:
                    pass
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name))) if name in _MODULES:
                    pass
                case ast.Call():
                    # A call comes after what it is given.
                    if len(written_out) != 1 or not any(n is written_out[0] for n in walk(node)):
                        return False
            pending += child_nodes(node)
        return True

    def step(
        self, kind: str, total: str, has: str, before: list[ast.stmt], parts: list[ast.expr], *, is_single: bool
    ) -> list[ast.stmt]:
        """What one element does to the fold `total`; of `min` and `max`, `has` tells whether there was one."""
        (element,) = parts
        if kind == "sum":
            before.append(_store(total, ast.Constant(0)))
            return [_store(total, ast.BinOp(_load(total), ast.Add(), element))]
        if kind in ("any", "all"):
            before.append(_store(total, ast.Constant(kind == "all")))
            test = element if kind == "any" else ast.UnaryOp(ast.Not(), element)
            return [ast.If(test, [_store(total, ast.Constant(kind == "any")), *[ast.Break()] * is_single], [])]
        item = self.name("item")
        # Where lists may grow, a variable may be unset, and keeps the type of the elements.
        before += [_store(has, ast.Constant(False)), *([] if self.listings else [_store(total, ast.Constant(0))])]
        better = ast.Compare(_load(item), [ast.Gt() if kind == "max" else ast.Lt()], [_load(total)])
        first = [_store(total, _load(item)), _store(has, ast.Constant(True))]
        others: list[ast.stmt] = [ast.If(better, [_store(total, _load(item))], [])]
        return [_store(item, element), ast.If(ast.UnaryOp(ast.Not(), _load(has)), first, others)]

    def name(self, wish: str) -> str:
        found = next(name for k in self.numbers if (name := f"{wish}_{k}") not in self.taken)
        self.taken.add(found)
        return found


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802 (ast's name)
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in walk(node) if isinstance(n, ast.Name)}


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _store(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _collected(
    node: ast.ListComp | ast.SetComp | ast.DictComp, name: str
) -> tuple[ast.expr, Callable[[list[ast.expr]], list[ast.stmt]]]:
    """What a comprehension begins with, and what it does with the parts of an element, in a variable."""
    match node:
        case ast.ListComp():
            return ast.List([], ast.Load()), lambda parts: [_appended(name, "append", parts[0])]
        case ast.SetComp():
            return ast.Call(_load("set"), [], []), lambda parts: [_appended(name, "add", parts[0])]
    place = lambda key: ast.Subscript(_load(name), key, ast.Store())  # noqa: E731
    return ast.Dict([], []), lambda parts: [ast.Assign([place(parts[0])], parts[1])]


def _appended(name: str, method: str, element: ast.expr) -> ast.stmt:
    return ast.Expr(ast.Call(ast.Attribute(_load(name), method, ast.Load()), [element], []))
