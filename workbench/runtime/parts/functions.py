"""Functions that cannot be compiled whole run in parts, where that is faster than NumPy.

The statements of the body run as those of a cell do (`statements`), in a namespace made of the function's globals,
closure and arguments. The first call runs in NumPy, and tells whether there is anything to gain; some calls later NumPy
has another turn, since its first one was colder than those of the parts, and then the faster way is known, and stays.
"""

from __future__ import annotations

import ast
import inspect
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from ...errors import TracingError
from ...frontend.diagnostics import PLACED_APART
from ...frontend.scopes import running_in_numpy
from ...frontend.syntax import syntax_of, walk
from ..compilation import Source
from .driven_functions import (
    PlainOptions,
    as_in_a_function,
    collecting,
    driven,
    driven_function,
    once_each,
    rebound_names,
)
from .frames import Frame, closure_of
from .statements import Known, Part, PartedRun, Statement, may_call, statements_of
from .syntax import names_of

WORTH_MS = 0.5  # a call that NumPy ends sooner is not worth the work between parts
WARM_UP_CALLS = 2  # the first ones compile
TRIED_CALLS = 3
CLEARLY = 2.5  # times faster than NumPy's first call, which took longer than `COLD_MS`: no other one is needed
COLD_MS = 200.0  # what a first call may take for what it imports and looks up
HOPELESS = 1.5  # times slower than it: no more calls in parts are tried once they took `HOPELESS_MS`
HOPELESS_MS = 100.0  # all of them, so that nothing in them waits any more until it is worth compiling

RESULT = "the result"  # no name that a user could have


@dataclass(eq=False, slots=True)
class FunctionParts:
    """One function in parts. statements: of its body, the last of which leaves the result; none where the function runs
    in its own frame (`driven_functions`)."""

    fn: FunctionType
    source: Source
    statements: list[Statement]
    signature: inspect.Signature
    reason: TracingError
    options: PlainOptions = PlainOptions()
    known: Known = field(default_factory=Known)
    numpy_ms: list[float] = field(default_factory=list)
    parts_ms: list[float] = field(default_factory=list)
    _spare: list[Frame] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(
        cls, fn: Callable[..., Any], source: Source, reason: TracingError, *, fast: bool = False
    ) -> FunctionParts | None:
        """The parts of `fn`, or None where its statements mean something else in parts. fast: as for `wb.jit`."""
        node = syntax_of(fn.__code__) if isinstance(fn, FunctionType) else None
        if not isinstance(fn, FunctionType) or not isinstance(node, ast.FunctionDef):
            return None
        body = plain_statements(node, fn.__code__)
        if body is not None:
            if body and isinstance(last := body[-1], ast.Return):
                value = last.value if last.value is not None else ast.copy_location(ast.Constant(None), last)
                target = ast.copy_location(ast.Name(RESULT, ast.Store()), last)
                body[-1] = ast.copy_location(ast.Assign([target], value), last)
            if len(statements_of(body)) < 2 and not may_call(body):
                return None
        elif driven_function(fn) is None:
            return None
        return cls(
            fn,
            source,
            statements_of(body or []),
            inspect.signature(fn, follow_wrapped=False),
            reason,
            PlainOptions(fast=fast),
        )

    @property
    def pays(self) -> bool | None:
        """Whether running in parts is faster than NumPy, or what the code asks for; None: not known yet."""
        if self.reason.code == PLACED_APART:
            return True
        if self.numpy_ms and min(self.numpy_ms) < WORTH_MS:
            return False
        if self.tried_ms and self.numpy_ms and sum(self.parts_ms) > HOPELESS_MS:
            if min(self.tried_ms) > HOPELESS * self.numpy_ms[0]:
                return False
        if len(self.tried_ms) < TRIED_CALLS or self.wants_numpy:
            return None
        # The best of both: other work on the machine makes single calls slower.
        return min(self.tried_ms) < min(self.numpy_ms, default=float("inf"))

    @property
    def tried_ms(self) -> list[float]:
        """What warm calls in parts took."""
        return self.parts_ms[WARM_UP_CALLS:]

    @property
    def wants_numpy(self) -> bool:
        """Whether the next call should run in NumPy, to be timed."""
        if len(self.numpy_ms) == 1 and len(self.tried_ms) >= TRIED_CALLS:
            (first,) = self.numpy_ms
            return min(self.tried_ms) < first and (first < COLD_MS or first < CLEARLY * min(self.tried_ms))
        return not self.numpy_ms

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        pays = self.pays
        if pays is False or self.wants_numpy:
            begin = time.perf_counter()
            with running_in_numpy():
                result = self.fn(*args, **kwargs)
            if pays is None:
                self.numpy_ms.append((time.perf_counter() - begin) * 1e3)
            return result
        begin = time.perf_counter()
        result, _ = self.run(args, kwargs, timed=False)
        if pays is None:
            self.parts_ms.append((time.perf_counter() - begin) * 1e3)
        return result

    def run(self, args: tuple, kwargs: dict[str, Any], *, timed: bool) -> tuple[Any, list[Part]]:
        """The function's result, and what ran. Raises what its statements raise."""
        function: Any = self.fn  # a field, not a method
        if not self.statements:
            with collecting(timed=timed) as ran, running_in_numpy():
                try:
                    result = driven(function)(*args, **kwargs)
                except BaseException as error:
                    error.__traceback__ = once_each(error.__traceback__)
                    raise
            return result, list(ran.repeated())
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        code = function.__code__
        with self._lock:
            namespace = self._spare.pop() if self._spare else Frame(function.__globals__, names_of(code))
        try:
            namespace.update(closure_of(function))
            namespace.update(bound.arguments)
            run = PartedRun(
                self.statements, self.source, namespace, options=self.options, timed=timed, known=self.known,
                named=code, later=frozenset((RESULT,)),
            )  # fmt: skip
            try:
                run.run(self.reason)
            except NameError as error:
                raise as_in_a_function(error, code) from error.__cause__
            return namespace.get(RESULT), run.parts
        finally:
            namespace.clear()
            with self._lock:
                self._spare.append(namespace)


# Leaving in the middle, names of other scopes; and functions, which could outlive the namespace that they read.
_REFUSED = (
    ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal,
    ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef,
)  # fmt: skip
_READS_ITS_FRAME = frozenset(("locals", "vars", "dir", "eval", "exec", "globals", "super", "__class__"))


def plain_statements(node: ast.FunctionDef, code: CodeType) -> list[ast.stmt] | None:
    """The statements of a function's body, but for the docstring; None if they mean something else in a namespace of
    their own."""
    if not _is_plain(node, code):
        return None
    first = node.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return list(node.body[1:] if is_docstring else node.body)


def _is_unpacking(node: ast.Assign) -> bool:
    return len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple)


def _is_plain(node: ast.FunctionDef, code: CodeType) -> bool:
    """Whether the statements of a function mean the same in a namespace of their own."""
    if node.body[0].lineno == node.lineno or _READS_ITS_FRAME & {*code.co_names, *code.co_freevars}:
        return False
    *body, last = node.body
    tops: list[ast.AST | None] = [*body, last.value if isinstance(last, ast.Return) else last]
    inside = [n for top in tops if top is not None for n in walk(top)]
    given = (arg for n in inside if isinstance(n, ast.Call) for arg in n.args)
    consumed = {id(arg) for arg in given if isinstance(arg, ast.GeneratorExp)}
    consumed |= {id(n.value) for n in inside if isinstance(n, ast.Assign) and _is_unpacking(n)}
    if set(code.co_freevars) & rebound_names(code):
        return False
    consumed |= {id(word.value) for n in inside if isinstance(n, ast.Call) for word in _keys_of(n)}
    return not any(isinstance(n, (*_REFUSED, ast.GeneratorExp)) and id(n) not in consumed for n in inside)


def _keys_of(call: ast.Call) -> list[ast.keyword]:
    """The `key` of a builtin function, which nobody calls once that has returned."""
    if not isinstance(call.func, ast.Name) or call.func.id not in ("sorted", "min", "max"):
        return []
    return [word for word in call.keywords if word.arg == "key"]
