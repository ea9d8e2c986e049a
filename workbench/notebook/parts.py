"""A cell in parts: its top-level statements are compiled, except those that cannot be, which run in NumPy in between.

A part is a run of statements. Its source keeps its lines and columns (what stands before it is blank), so that errors,
origins and reports point into the cell. Each part sees what the parts before it left in the namespace.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any

from ..errors import BackendError, TracingError
from ..frontend.scopes import running_in_numpy
from ..runtime.cells import CellResult


@dataclass(frozen=True, slots=True)
class Statement:
    """A top-level statement, or several that share a line. first, last: lines, from 1, decorators included."""

    nodes: tuple[ast.stmt, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class NumpyPart:
    """Statements that ran in NumPy. text: their first line; reads, writes: names."""

    statements: tuple[Statement, ...]
    text: str
    reason: Exception
    time_ms: float

    @property
    def reads(self) -> frozenset[str]:
        return self._names(ast.Load)

    @property
    def writes(self) -> frozenset[str]:
        return self._names(ast.Store)

    def _names(self, context: type) -> frozenset[str]:
        nodes = (n for s in self.statements for top in s.nodes for n in ast.walk(top) if isinstance(n, ast.Name))
        return frozenset(n.id for n in nodes if isinstance(n.ctx, context))


Part = CellResult | NumpyPart


def statements_of(tree: ast.Module) -> list[Statement]:
    """The statements of a cell, in order."""
    found: list[Statement] = []
    for node in tree.body:
        first = min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", ())]])
        last = node.end_lineno or node.lineno
        if found and first <= found[-1].last:
            found[-1] = Statement((*found[-1].nodes, node), found[-1].first, last)
        else:
            found.append(Statement((node,), first, last))
    return found


def can_be_split(tree: ast.Module) -> bool:
    """A `__future__` import holds for all that follows it, and nothing is gained by splitting a single statement."""
    futures = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    return not futures and len(statements_of(tree)) > 1


class PartedRun:
    """Runs a cell in parts.

    compile_and_run: compiles and runs the source of a part, and returns its result, all names kept; it raises before
    anything has happened. may_compile: whether the source of a part can be traced.
    """

    def __init__(
        self,
        source: str,
        tree: ast.Module,
        filename: str,
        flags: int,
        namespace: dict[str, Any],
        compile_and_run: Callable[[str], CellResult],
        may_compile: Callable[[str], bool],
    ):
        self.lines = source.split("\n")
        self.statements = statements_of(tree)
        self.filename = filename
        self.flags = flags
        self.namespace = namespace
        self.compile_and_run = compile_and_run
        self.may_compile = may_compile
        self.parts: list[Part] = []
        self.last_value: Any = None

    def run(self, refusal: TracingError) -> None:
        """Run all statements. refusal: why they cannot be compiled as one.

        Raises what a statement raises; earlier statements have happened then.
        """
        position, end = 0, len(self.statements)
        first: TracingError | None = refusal
        while position < end:
            stop, reason = self._compiled(position, end, first)
            first = None
            if reason is not None:
                self._in_numpy(stop, stop + 1, reason)
                stop += 1
            position = stop

    def _compiled(self, begin: int, end: int, refusal: TracingError | None) -> tuple[int, Exception | None]:
        """Compile and run statements from `begin` on. refusal: why not all can be, where that is known. Returns where
        it ended, and why it ended before `end`."""
        reason: Exception | None = refusal
        if refusal is not None:
            end = self._refused(refusal, begin, end)
        while begin < end:
            try:
                result = self.compile_and_run(self.source_of(begin, end))
            except TracingError as error:
                end, reason = self._refused(error, begin, end), error
                continue
            except BackendError as error:
                self._in_numpy(begin, end, error)
                return end, reason
            except Exception as error:
                # The user's mistake, which NumPy reports best at its own statement.
                self._in_numpy(begin, end, error)
                return end, reason
            self.namespace.update(result.values)
            for name in result.removed:
                self.namespace.pop(name, None)
            self.parts.append(result)
            self.last_value = result.last_value if end == len(self.statements) else None
            return end, reason
        return begin, reason

    def source_of(self, begin: int, end: int) -> str:
        """The statements `begin` to `end` on their own lines."""
        first, last = self.statements[begin].first, self.statements[end - 1].last
        return "\n" * (first - 1) + "\n".join(self.lines[first - 1 : last]) + "\n"

    def _refused(self, error: TracingError, begin: int, end: int) -> int:
        """The statement that tracing refused: where the trace was, else where the error points, else the first
        without which what comes before it can be traced."""
        line = _module_line(error.__traceback__, self.filename)
        if line is None and error.span is not None and error.span.filename == self.filename:
            line = error.span.line
        for index in range(begin, end):
            if line is not None and self.statements[index].first <= line <= self.statements[index].last:
                return index
        low, high = begin, end  # statements up to `low` can be traced, up to `high` they cannot
        while high - low > 1:
            middle = (low + high) // 2
            if self.may_compile(self.source_of(begin, middle)):
                low = middle
            else:
                high = middle
        return low

    def _in_numpy(self, begin: int, end: int, reason: Exception) -> None:
        statements = tuple(self.statements[begin:end])
        nodes = [node for statement in statements for node in statement.nodes]
        last = nodes.pop() if end == len(self.statements) and isinstance(nodes[-1], ast.Expr) else None
        time_ms = 0.0
        with running_in_numpy():
            start = time.perf_counter()
            exec(self._code(ast.Module(nodes, []), "exec"), self.namespace)
            if isinstance(last, ast.Expr):
                self.last_value = eval(self._code(ast.Expression(last.value), "eval"), self.namespace)
            time_ms = (time.perf_counter() - start) * 1e3
        text = self.lines[statements[0].first - 1].strip()
        self.parts.append(NumpyPart(statements, text, reason.with_traceback(None), time_ms))

    def _code(self, tree: ast.AST, mode: str) -> CodeType:
        return compile(tree, self.filename, mode, self.flags, dont_inherit=True)  # type: ignore[call-overload]


def _module_line(traceback: TracebackType | None, filename: str) -> int | None:
    """The line of the cell's own code, outside of functions, at which an error left it."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == filename and code.co_name == "<module>":
            return traceback.tb_lineno
        traceback = traceback.tb_next
    return None
