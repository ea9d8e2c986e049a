"""Functions that tracing refuses, mostly for sizes that data decide, and that numba takes whole.

To the loops that run whole (`whole_loops`) such a function is one of a single turn: around its statements where these
mean the same in a namespace of their own, around a call of it elsewhere.
"""

from __future__ import annotations

import ast
import inspect
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ...frontend.liveness import bound
from ...frontend.syntax import copied, syntax_of, walk
from ..cells import CellResult, errors_are_silent
from ..compilation import Compilation, Source
from .aggregates import gatherer, n_parts, taken_apart
from .driven_functions import SUSPENDS
from .fast_whole import fast_whole
from .frames import Frame, closure_of
from .functions import plain_statements
from .lifted import lifted
from .syntax import names_of
from .whole_loops import WholeLoop

LEFT = "_left_by_function"  # begins the names of the variables that hold the result
_ITSELF = "_whole_function"
_NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


@dataclass(eq=False, slots=True)
class _Surroundings:
    namespace: MutableMapping[str, Any]
    whole: Source


@dataclass(frozen=True, eq=False, slots=True)
class _Form:
    """One way to run a function as a loop. head: what makes or seeds sources of random numbers, before it; left: the
    variables that hold the result, or its parts; gather: makes it of these, if it is none of them."""

    head: CodeType | None
    loop: WholeLoop
    left: tuple[str, ...]
    gather: Callable[..., Any] | None

    @classmethod
    def of(
        cls, stmts: Sequence[ast.stmt], node: ast.FunctionDef, fn: FunctionType, anyway: bool, template: ast.expr | None
    ) -> _Form:
        """stmts: run once, and the last one may return something; template: what is made of the parts of that."""
        first = _of_sources_first(stmts[:-1], fn)
        head = None
        if first:
            head = compile(ast.Module([copied(s) for s in first], []), fn.__code__.co_filename, "exec")
        *body, last = _told_apart([copied(stmt) for stmt in stmts if stmt not in first], fn.__code__)
        left: tuple[str, ...] = ()
        value = last.value if isinstance(last, ast.Return) and last.value is not None else ast.Constant(None)
        is_tuple = isinstance(value, ast.Tuple) and not any(isinstance(v, ast.Starred) for v in value.elts)
        gather: Callable[..., Any] | None = None
        if not isinstance(last, ast.Return):
            body.append(last)
        elif not _is_nothing(value):
            values = value.elts if isinstance(value, ast.Tuple) and is_tuple else [value]
            n_left = len(values) if template is None else n_parts(template)
            left = tuple(f"{LEFT}_{k}" for k in range(n_left))
            targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in left]
            if n_left != len(values) or template is not None and not is_tuple:
                targets[:], values = [ast.Tuple(targets[:], ast.Store())], [value]
            body += [ast.copy_location(ast.Assign([t], v), last) for t, v in zip(targets, values, strict=True)]
            gather = gatherer(template) if template is not None else _a_tuple if is_tuple else None
        loop = ast.While(ast.Constant(True), [*body, ast.Break()], [])
        for stmt in (loop, *loop.body):
            ast.copy_location(stmt, stmt if hasattr(stmt, "lineno") else node)
        return cls(head, WholeLoop(ast.fix_missing_locations(loop), ast.unparse(node), anyway), left, gather)

    def result(self, namespace: MutableMapping[str, Any]) -> Any:
        values = [namespace[name] for name in self.left]
        return self.gather(*values) if self.gather is not None else values[0] if values else None


@dataclass(eq=False, slots=True)
class WholeFunction:
    """One function, with what it was compiled to for arguments of some kinds. forms: ways to run it whole, of which the
    first that numba takes is the one."""

    fn: FunctionType
    source: Source
    signature: inspect.Signature
    forms: list[_Form]
    names: frozenset[str]
    beside: dict[str, Any]  # functions that its own text defines
    _spare: list[Frame] = field(default_factory=list)

    @classmethod
    def of(cls, fn: FunctionType, source: Source, *, anyway: bool = True) -> WholeFunction | None:
        """None of functions that suspend, whose arguments have no names of their own, or whose text is not known.
        anyway: whether it is compiled, too, where kernels would be faster."""
        has_own_cells = bool(fn.__closure__)
        fn, template = taken_apart(lifted(fn))
        node = syntax_of(fn.__code__)
        if not isinstance(node, ast.FunctionDef) or fn.__code__.co_flags & SUSPENDS:
            return None
        signature = inspect.signature(fn, follow_wrapped=False)
        if any(p.kind not in _NAMED for p in signature.parameters.values()):
            return None
        given = [ast.keyword(name, ast.Name(name, ast.Load())) for name in signature.parameters]
        call = ast.Call(ast.Name(_ITSELF, ast.Load()), [], given)
        gives = any(isinstance(n, ast.Return) and not _is_nothing(n.value) for n in walk(node))
        body = plain_statements(node, fn.__code__)
        forms = [_Form.of(body, node, fn, anyway, template)] if body else []
        forms.append(_Form.of([ast.Return(call) if gives else ast.Expr(call)], node, fn, anyway, template))
        names = {name for form in forms for name in form.left}
        constant = {} if has_own_cells else closure_of(fn)
        return cls(fn, source, signature, forms, names_of(fn.__code__) | names | {_ITSELF}, constant)

    @property
    def refused(self) -> bool:
        compiled = next((form for form in self.forms if form.loop.versions), None)  # which is the one that runs
        return compiled.loop.refused if compiled is not None else all(form.loop.refused for form in self.forms)

    @property
    def compilations(self) -> list[Compilation]:
        return [version.compilation for form in self.forms for version in form.loop.versions]

    @property
    def is_better(self) -> bool:
        """Whether kernels would not be faster, as far as one can tell from what ran last."""
        version = self._latest
        return version is not None and version.loop.is_better

    @property
    def _latest(self) -> Any:
        return next((form.loop.latest for form in self.forms if form.loop.latest is not None), None)

    def run(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, CellResult] | None:
        """The function's result, and what ran; None if Python must run it, in which case nothing has happened."""
        if self.refused or not errors_are_silent():
            return None
        with self._around(args, kwargs) as around:
            if around is None:
                return None
            for form in self.forms:
                if form.head is not None and not form.loop.refused and not _ran(form.head, around.namespace):
                    return None
                ran = form.loop.run(around, frozenset(form.left))
                if ran is not None:
                    return form.result(around.namespace), ran
                if form.loop.versions:  # these values are not for it
                    return None
            return None

    def translated(self, args: tuple) -> Callable[[], bool] | None:
        """What compiles it for such arguments, at any time, and tells whether numba takes it; None where it cannot be
        translated."""
        with self._around(args, {}) as around:
            if around is None or not errors_are_silent():
                return None
            for form in self.forms:
                if form.head is not None:
                    return None
                compiles = form.loop.translated(around, frozenset(form.left))
                if compiles is not None:
                    return partial(_is_compiled, form.loop, compiles)
        return None

    @contextmanager
    def _around(self, args: tuple, kwargs: dict[str, Any]) -> Iterator[_Surroundings | None]:
        """The names that the function sees, with such arguments; None if it does not take them."""
        fn: Any = self.fn  # a field, not a method
        try:
            given = self.signature.bind(*args, **kwargs)
        except TypeError:
            yield None
            return
        given.apply_defaults()
        try:
            namespace = self._spare.pop()
        except IndexError:
            namespace = Frame(fn.__globals__, self.names)
        try:
            namespace.update(closure_of(fn))
            namespace.update(given.arguments)
            namespace[_ITSELF] = fn
            yield _Surroundings(namespace, self.source)
        finally:
            namespace.clear()
            self._spare.append(namespace)

    def fast(self, args: tuple, elsewhere: Collection[str], *, is_traced: bool = False) -> Callable[..., Any] | None:
        """`call(*args)` for arguments like these, as of `fast_whole`; None where there is no faster way than `run`."""
        fn: Any = self.fn
        form = next((form for form in self.forms if form.loop.latest is not None), None)
        if form is None or form.head is not None or len(fn.__closure__ or ()) > len(self.beside):
            return None
        given = self.signature.bind(*args)
        given.apply_defaults()
        version: Any = form.loop.latest
        arguments = {**given.arguments, **self.beside, _ITSELF: fn}
        return fast_whole(
            version.loop,
            version.entry,
            arguments,
            len(args),
            fn.__globals__,
            form.left,
            form.gather,
            elsewhere,
            is_traced=is_traced,
        )


def _a_tuple(*values: Any) -> tuple[Any, ...]:
    return values


_OF_SOURCES = (np.random.default_rng, np.random.RandomState, np.random.seed, random.Random, random.seed)


def _of_sources_first(stmts: Sequence[ast.stmt], fn: FunctionType) -> list[ast.stmt]:
    """The statements that make or seed sources of random numbers and that may run before all others: they stand there,
    or make one of what nothing before them names."""
    n_first = next((i for i, stmt in enumerate(stmts) if not _is_of_sources(stmt, fn)), len(stmts))
    code, named = fn.__code__, set()
    mine = {*code.co_varnames, *code.co_cellvars}
    found = list(stmts[:n_first])
    for stmt in stmts[n_first:]:
        names = mine & {n.id for n in walk(stmt) if isinstance(n, ast.Name)}
        if isinstance(stmt, ast.Assign) and _is_of_sources(stmt, fn) and not names & named:
            found.append(stmt)
        else:
            named |= names
    return found


def _is_of_sources(stmt: ast.stmt, fn: FunctionType) -> bool:
    """Whether a statement makes or seeds a source of random numbers, from arguments and constants alone: running it
    twice is then running it once."""
    call = stmt.value if isinstance(stmt, ast.Assign | ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args + call.keywords:
        return False
    if isinstance(stmt, ast.Assign) and not all(isinstance(t, ast.Name) for t in stmt.targets):
        return False
    given = [*call.args, *(word.value for word in call.keywords)]
    code = fn.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if not all(isinstance(v, ast.Constant) or isinstance(v, ast.Name) and v.id in known for v in given):
        return False
    path = ast.unparse(call.func).split(".")
    value = fn.__globals__.get(path[0]) if path[0] not in code.co_varnames + code.co_cellvars else None
    for name in path[1:]:
        if not isinstance(value, ModuleType):
            return False
        value = getattr(value, name, None)
    return any(value is each for each in _OF_SOURCES)


def _told_apart(stmts: list[ast.stmt], code: CodeType) -> list[ast.stmt]:
    """Statements in which each of these that binds a name anew, as `x = x.astype(float)` does, gives it another name:
    to a loop a variable has one type. They are changed."""
    names, taken = _Names(), {*code.co_varnames, *code.co_names}
    n_bound: Counter[str] = Counter(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    made = []
    for stmt in stmts:
        match stmt:
            case ast.Assign(targets=[ast.Name() | ast.Tuple() as target]) if _is_of_names(target):
                stmt.value = names.visit(stmt.value)
                for name in sorted(bound([stmt])):
                    n_bound[name] += 1
                    if n_bound[name] > 1:
                        new = f"{name}__{n_bound[name]}"
                        while new in taken:
                            new += "_"
                        names.present[name] = new
                stmt.targets = [names.visit(target)]
            case _:
                n_bound.update(dict.fromkeys(bound([stmt]), 1))
                stmt = names.visit(stmt)
        made.append(stmt)
    return made


def _is_of_names(target: ast.expr) -> bool:
    return all(isinstance(t, ast.Name) for t in (target.elts if isinstance(target, ast.Tuple) else [target]))


class _Names(ast.NodeTransformer):
    def __init__(self) -> None:
        self.present: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.Name:  # noqa: N802
        return ast.copy_location(ast.Name(self.present.get(node.id, node.id), node.ctx), node)


def _is_compiled(loop: WholeLoop, compiles: Callable[[], Any]) -> bool:
    version = compiles()
    loop.latest = loop.latest or version
    return version is not None


def _ran(head: CodeType, namespace: Any) -> bool:
    try:
        exec(head, namespace)  # noqa: S102
    except Exception:  # noqa: BLE001  # the user's mistake, which Python's run of all tells of
        return False
    return True


def _is_nothing(value: ast.expr | None) -> bool:
    """Whether a function that returns this returns None."""
    return value is None or isinstance(value, ast.Constant) and value.value is None
