"""The form in which a loop is translated, and what its text alone tells of it.

A function that a program calls many times has its loops translated at each call, for the values there. What does not
depend on these is found out once for each loop.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any

from ..jumps import LoopSource
from ..liveness import bound as bound_names
from ..liveness import bound_once, live_at_head
from ..syntax import copied, walk
from .conversions import split_conversions
from .elses import without_elses
from .generators import without_generators
from .list_names import growing_names, queue_names, thinned_names
from .sharing import Group, sharing_names

ITEMS = "_items"  # the variable that holds what a loop goes over, where its own expression cannot be translated


@dataclass(eq=False)
class Form:
    """A loop without `return`, generators, and numbers that change their kind. Its nodes stay as they are."""

    node: ast.For | ast.While
    set_by_calls: frozenset[str] = frozenset()  # the names that functions which it calls may set
    stands_for: str = ""  # what the user wrote, if it was no loop

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """Those that it binds."""
        return bound_names([self.node]) | self.set_by_calls

    @functools.cached_property
    def needed(self) -> frozenset[str]:
        """Those whose values before the loop it may read."""
        needed = live_at_head(self.node, self.set_by_calls)
        return needed - bound_names([self.node.target]) if isinstance(self.node, ast.For) else needed

    @functools.cached_property
    def growing(self) -> frozenset[str]:
        return growing_names([self.node])

    @functools.cached_property
    def queues(self) -> frozenset[str]:
        return queue_names([self.node])

    @functools.cached_property
    def thinned(self) -> frozenset[str]:
        return thinned_names([self.node])

    @functools.cached_property
    def bound_once(self) -> frozenset[str]:
        return bound_once([self.node])

    @functools.cached_property
    def sharing(self) -> tuple[Group, ...]:
        return tuple(sharing_names(self.node))

    @functools.cached_property
    def nested(self) -> bool:
        """Whether it holds loops of its own."""
        return any(isinstance(n, ast.For | ast.While) for s in self.node.body for n in walk(s))

    @functools.cached_property
    def renamed(self) -> frozenset[str]:
        """The names that are given another value, rather than changed in place."""
        found: set[str] = set()
        for n in walk(self.node):
            targets: list[ast.AST] = []
            if isinstance(n, ast.Assign):
                targets = list(n.targets)
            elif isinstance(n, ast.For | ast.AnnAssign | ast.NamedExpr):
                targets = [n.target]
            inside = (t for target in targets for t in walk(target))
            found.update(t.id for t in inside if isinstance(t, ast.Name) and isinstance(t.ctx, ast.Store))
        return frozenset(found)

    @functools.cached_property
    def made_anew(self) -> frozenset[str]:
        """Those of them that are only ever given a new list, and that no other name is given."""
        n_bound = Counter(n.id for n in walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        n_new: Counter[str] = Counter()
        handed_on: set[str] = set()
        for n in walk(self.node):
            match n:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])):
                    n_new[name] += 1
                case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.NamedExpr(value=value):
                    handed_on.update(_itself(value))
        return frozenset(name for name in n_new if n_new[name] == n_bound[name] and name not in handed_on)

    @functools.cached_property
    def text(self) -> str:
        return self.stands_for or ast.unparse(self.node)


def _itself(value: ast.expr | None) -> Iterator[str]:
    """The names of what may be the value of an expression, or in it."""
    match value:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.BoolOp(values=parts):
            for part in parts:
                yield from _itself(part)
        case ast.IfExp(body=body, orelse=other):
            yield from _itself(body)
            yield from _itself(other)


def form_of(source: LoopSource, live: tuple[str, ...], is_unset: Callable[[str], bool]) -> Form:
    """live: the names that are read after the loop or at its head; is_unset: of a name outside of it."""
    forms = _forms(source, live)
    for answers, form in forms:
        # In the order in which they were asked: of the names outside, only those that matter are looked at.
        if all(is_unset(name) == answer for name, answer in answers.items()):
            return form
    answers: dict[str, bool] = {}

    def asked(name: str) -> bool:
        if name not in answers:
            answers[name] = is_unset(name)
        return answers[name]

    form = _made(source, live, asked)
    forms.append((answers, form))
    return form


@functools.lru_cache(1024)
def _forms(source: LoopSource, live: tuple[str, ...]) -> list[tuple[dict[str, bool], Form]]:
    """The forms of a loop that were made so far, with what was asked for them and answered."""
    return []


def _made(source: LoopSource, live: tuple[str, ...], is_unset: Callable[[str], bool]) -> Form:
    node: Any = _without_returns(source)
    written = bound_names([node])

    def is_builtin(name: str) -> bool:
        return name not in written and is_unset(name)

    (node,) = without_generators([node], is_builtin)
    node = split_conversions(node, {*live, *live_at_head(node, frozenset())}, is_builtin)
    return Form(node, source.set_by_calls, source.text)


@functools.lru_cache(256)
def over_items(source: LoopSource) -> LoopSource:
    """The loop over the variable ITEMS, where it goes over another expression."""
    over: Any = copy.copy(source.node)
    over.iter = ast.copy_location(ast.Name(ITEMS, ast.Load()), over.iter)
    return replace(source, node=over)


@functools.lru_cache(256)
def code_of(form: Form, names: tuple[str, ...], first: tuple[str, ...], outputs: tuple[str, ...]) -> CodeType:
    """Of a module that defines the loop as the function `loop` of `names`, which runs the lines `first` before, and
    returns the expressions `outputs`."""
    head = [stmt for line in first for stmt in ast.parse(line).body]
    result = ast.Return(ast.Tuple([ast.parse(text, mode="eval").body for text in outputs], ast.Load()))
    empty = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
    function = ast.FunctionDef("loop", empty, [*head, copied(form.node), result], [], None, None)
    ast.copy_location(function, form.node)
    module = ast.fix_missing_locations(ast.Module([function], []))
    return compile(module, "<workbench loop>", "exec")


class _ReturnsToBreaks(ast.NodeTransformer):
    """`return x` in a loop as the assignments that converted code looks at, and `break`."""

    def __init__(self, source: LoopSource):
        self.source = source
        self.depth = 0
        self.n_returns = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802 (ast's name)
        return node

    visit_Lambda = visit_FunctionDef  # type: ignore[assignment]  # noqa: N815

    def _loop(self, node: Any) -> Any:
        self.depth += 1
        n_returns = self.n_returns
        node.body = [s for stmt in node.body for s in _listed(self.visit(stmt))]
        self.depth -= 1
        if self.depth and self.n_returns > n_returns:
            assert self.source.keeps is not None
            return [node, ast.If(ast.Name(self.source.keeps[0], ast.Load()), [ast.Break()], [])]
        return node

    visit_For = visit_While = _loop  # noqa: N815 (ast's names)

    def visit_Return(self, node: ast.Return) -> Any:  # noqa: N802 (ast's name)
        assert self.source.keeps is not None
        self.n_returns += 1
        has, value = self.source.keeps
        made = [_assign(has, ast.Constant(True))]
        if node.value is not None:  # otherwise all returns give the same, which is known
            made.append(_assign(value, node.value))
        if self.source.stop is not None and self.depth >= 1:
            made.append(_assign(self.source.stop, ast.Constant(True)))
        return [*made, ast.Break()]

    def visit_Break(self, node: ast.Break) -> Any:  # noqa: N802 (ast's name)
        if self.depth == 1 and self.source.stop is not None:
            return [_assign(self.source.stop, ast.Constant(True)), node]
        return node


def _listed(made: Any) -> list[ast.stmt]:
    return made if isinstance(made, list) else [made]


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _without_returns(source: LoopSource) -> ast.For | ast.While:
    found = _ReturnsToBreaks(source).visit(without_elses(copied(source.node)))
    found.orelse = []
    return ast.fix_missing_locations(found)
