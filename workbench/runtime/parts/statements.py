"""A cell, or the body of a function, in parts: statements that cannot be compiled run in NumPy between those that can.

A part is a run of statements with their own places in the source, so that errors, origins and reports point there. Each
part sees what the parts before it left in the namespace.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import CodeType, TracebackType
from typing import Any

import numpy as np

from ...errors import RoutineRaisedError, TracingError
from ...frontend.cells import trace_cell
from ...frontend.counted_lists import enlarge
from ...frontend.liveness import read, walk_scope
from ...frontend.overlay import DOT
from ...frontend.recursion import too_deep_recursion
from ...frontend.scopes import running_in_numpy
from ...frontend.syntax import copied, walk
from ...ir import Aval
from ..cells import (
    CellPart,
    CellResult,
    CompilingCell,
    Options,
    begin_cell,
    errors_are_silent,
    heard_errors,
    run_cell,
)
from ..compilation import Compilation, Source
from ..executable import has_written
from .comprehensions import WrittenOut, made_arrays
from .driven_functions import collecting, driven, once_each
from .driven_loops import DrivenStatement, Piece, Repeated
from .printing import NotCompiledError, PrintingLoop
from .syntax import HOLDERS, IS_SPLIT, DrivenCalls, Operations, is_holder, with_operations
from .ways import Ways, are_straight
from .whole_loops import WholeLoop

MANY_NUMBERS = 128  # of a list that a part reads
NUMBERS = (int, float, complex, np.number, np.bool, tuple)
MOST_VERSIONS = 3  # of a statement, before the integers that loops have set become inputs of it
STILL_COMPILING = "WB501  Kernels for this are being compiled; the next run uses them."


@dataclass(frozen=True, slots=True)
class Statement:
    """A top-level statement, or several that share a line. first, last: lines, from 1, decorators included."""

    nodes: tuple[ast.stmt, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class NumpyPart:
    """Statements that ran in NumPy. text: their first line; reads: names; writes: names and, where they hold numeric
    arrays afterwards, their types."""

    statements: tuple[Statement, ...]
    text: str
    reason: Exception
    time_ms: float
    reads: frozenset[str]
    writes: dict[str, Aval | None]


Part = CellResult | NumpyPart | Repeated


@dataclass(eq=False, slots=True)
class Known:
    """What earlier runs of statements have shown. refused: those that cannot be compiled, and why; held: those of them
    that Python runs around compiled statements; codes: those of them as Python's code; texts: what tells the compiled
    ones apart from others; later: the names that are read after them; loops: those that numba takes whole; written_out:
    those whose comprehensions it may; printing: loops that may print once they have ended; reads: the names that they
    read; made_arrays: the lists of which those after them only make arrays, and by which name NumPy is called there;
    names: what NumPy's statements read and write; versions: of compiled statements, the first ones; counts: the names
    whose integers are then inputs of these, since loops give others in every run; ways: how long compiled statements of
    a function take, and would in NumPy."""

    refused: dict[int, Exception] = field(default_factory=dict)
    held: dict[int, DrivenStatement] = field(default_factory=dict)
    codes: dict[tuple[int, int], tuple[CodeType, CodeType | None]] = field(default_factory=dict)
    texts: dict[tuple[int, int], str] = field(default_factory=dict)
    later: dict[int, frozenset[str]] = field(default_factory=dict)
    loops: dict[int, WholeLoop] = field(default_factory=dict)
    written_out: dict[int, WrittenOut | None] = field(default_factory=dict)
    printing: dict[int, PrintingLoop | None] = field(default_factory=dict)
    reads: dict[int, frozenset[str]] = field(default_factory=dict)
    made_arrays: dict[int, dict[str, str]] = field(default_factory=dict)
    names: dict[tuple[int, int], tuple[frozenset[str], tuple[str, ...]]] = field(default_factory=dict)
    versions: dict[tuple[int, int], list[Compilation]] = field(default_factory=dict)
    counts: dict[tuple[int, int], frozenset[str]] = field(default_factory=dict)
    ways: dict[tuple[int, int], Ways] = field(default_factory=dict)


def statements_of(body: Sequence[ast.stmt]) -> list[Statement]:
    """The statements of a cell or function, in order."""
    found: list[Statement] = []
    for node in body:
        first = min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", ())]])
        last = node.end_lineno or node.lineno
        if found and first <= found[-1].last and not getattr(node, IS_SPLIT, False):
            found[-1] = Statement((*found[-1].nodes, node), found[-1].first, last)
        else:
            found.append(Statement((node,), first, last))
    return found


def can_be_split(tree: ast.Module) -> bool:
    """A `__future__` import holds for all that follows it; single statements have parts if they hold or call some."""
    if any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body):
        return False
    if len(statements_of(tree.body)) > 1:
        return True
    return may_call(tree.body)


def may_call(body: Sequence[ast.stmt]) -> bool:
    """Whether statements hold or call others, which may run compiled."""
    return any(isinstance(n, (*HOLDERS, ast.Call)) for n in walk_scope(body))


class PartedRun:
    """Runs statements in parts, in `namespace`, which then holds all names that they assigned.

    whole: the cell or function that they are of; timed: whether every step is timed; place, numbers: of a piece, what
    tells it apart, and the names whose integers a loop around it may change; named: the code of the function that the
    statements are of; at_once: whether they are in no loop that Python runs; is_method: whether `self` is an object of
    outside; later: the names that are read afterwards, if not any may be; must_compile: whether it raises
    NotCompiledError where Python would run a statement. parts: what ran, in order.
    """

    def __init__(
        self, statements: Sequence[Statement], whole: Source, namespace: dict[str, Any], *,
        options: Options, flags: int = 0, timed: bool = True, known: Known | None = None, place: str = "",
        numbers: frozenset[str] = frozenset(), named: CodeType | None = None,
        at_once: bool = True, is_method: bool = False, later: frozenset[str] | None = None,
        must_compile: bool = False,
    ):  # fmt: skip
        self.statements = statements
        self.whole = whole
        self.namespace = namespace
        self.options = options
        self.flags = flags
        self.timed = timed
        self.known = Known() if known is None else known
        self.refused = self.known.refused
        self.place = place
        self.numbers = numbers
        self.traced_numbers = frozenset(name.replace(DOT, ".") for name in numbers)
        self.named = named
        self.at_once = at_once
        self.is_method = is_method
        self.later = later
        self.must_compile = must_compile
        self.counted: set[str] = set()  # names of integers that loops have just set
        self.parts: list[Part] = []
        self.last_value: Any = None

    def run(self, refusal: TracingError | None) -> None:
        """Run all statements. refusal: why they cannot be compiled as one, if that is known.

        Raises what a statement raises; earlier statements have happened then.
        """
        position = 0
        first: TracingError | None = None if self.refused else refusal
        while position < len(self.statements):
            reason = self.refused.get(position)
            if self._takes(position) and self._as_whole_loop(position, position + 1, None):
                position, first = position + 1, None
                continue
            long = self._long_list(position) if reason is None else ""
            if long:
                n = _n_numbers(self.namespace[long])
                message = f"WB500  `{long}` is a list of {n} numbers, of which NumPy makes an array sooner."
                self._in_numpy(position, position + 1, TracingError(message, code="WB500"))
                position, first = position + 1, None
                continue
            if reason is None:
                stops = (i for i in range(position + 1, len(self.statements)) if i in self.refused or self._takes(i))
                end = min(stops, default=len(self.statements))
                first = first if end == len(self.statements) else None
                position, reason = self._compiled(position, end, first)
                first = None
            if reason is not None:
                self.refused[position] = reason.with_traceback(None)
                self._in_numpy(position, position + 1, reason)
                position += 1

    def _compiled(self, begin: int, end: int, refusal: TracingError | None) -> tuple[int, Exception | None]:
        """Compile and run statements from `begin` on. refusal: why not all can be, where that is known. Returns where
        it ended, and why it ended before `end`."""
        reason: Exception | None = refusal
        if refusal is not None:
            end = self._refused(refusal, begin, end)
        while begin < end:
            ways = self._ways(begin, end)
            begun = time.perf_counter()
            if ways is not None and ways.in_numpy:
                self._in_python(begin, end)
                ways.record_numpy(time.perf_counter() - begun)
                return end, reason
            failure: Exception | None = None
            heard = heard_errors()
            if heard is not None:
                self._in_numpy(begin, end, heard)
                return end, reason
            try:
                result = self._run_compiled(begin, end)
            except TracingError as error:
                if not enlarge(error):
                    end, reason = self._refused(error, begin, end), error
                continue
            except Exception as error:
                if has_written(error):
                    raise
                is_deep = isinstance(error, RecursionError)
                failure = too_deep_recursion() if is_deep else RoutineRaisedError.of(error)
            if failure is not None:
                # The user's mistake, which NumPy reports best at its own statement, or ours. Outside of the `except`
                # clauses, so that an error of the user's own is not chained to ours.
                self._in_numpy(begin, end, failure)
                return end, reason
            if isinstance(result, CompilingCell):
                try:
                    self._in_numpy(begin, end, TracingError(STILL_COMPILING, code="WB501"))
                finally:
                    result.task.may_begin.set()
                return end, reason
            self.namespace.update(result.values)
            for name in result.removed:
                self.namespace.pop(name, None)
            result.values.clear()  # whether a loop may keep a list for itself is told by how many refer to it
            self.parts.append(result)
            self.last_value = result.last_value if end == len(self.statements) else None
            if ways is not None:
                ways.record_compiled(time.perf_counter() - begun)
                if len(ways.compiled_s) == 1:
                    nodes = [node for each in self.statements[begin:end] for node in each.nodes]
                    ways.may_try = are_straight(nodes, self.namespace)
            return end, reason
        return begin, reason

    def _ways(self, begin: int, end: int) -> Ways | None:
        """How long statements of a function took so far; None where they are to be compiled in any case."""
        if self.timed or self.place or self.named is None:
            return None
        return self.known.ways.setdefault((begin, end), Ways())

    def _run_compiled(self, begin: int, end: int) -> CellResult | CompilingCell:
        whole = self.whole
        text = self.known.texts.get((begin, end))
        counts = self.known.counts.get((begin, end), frozenset())
        if text is None:  # one object, whose hash is computed once
            of_counts = f", of {sorted(counts)}" if counts else ""
            text = f"{self.place}{begin}-{end} of {whole.filename}:{whole.first_line}{of_counts}\n{whole.text}"
            self.known.texts[begin, end] = text
        numbers = self.traced_numbers | counts
        part = CellPart(lambda: self._tree(begin, end), whole, self.timed, numbers, self._later(end))
        how = {"label": whole.label, "filename": whole.filename, "options": self.options, "flags": self.flags}
        try:
            if self.options.has_tiers:
                compiling = begin_cell(text, self.namespace, part=part, **how)
                if compiling is not None:
                    return compiling
            result = run_cell(text, self.namespace, part=part, **how)
        except TracingError:
            if not counts:
                raise
            self._count(begin, end, frozenset())  # not those: a shape, perhaps
            return self._run_compiled(begin, end)
        if (begin, end) not in self.known.counts:
            versions = self.known.versions.setdefault((begin, end), [])
            if not any(result.compilation is each for each in versions):
                versions.append(result.compilation)
            if len(versions) > MOST_VERSIONS:
                self._count(begin, end, frozenset(self.counted))
        return result

    def _count(self, begin: int, end: int, names: frozenset[str]) -> None:
        """Let the integers of these names be inputs of compiled statements."""
        self.known.counts[begin, end] = names
        self.known.versions.pop((begin, end), None)
        self.known.texts.pop((begin, end), None)

    def _later(self, end: int) -> frozenset[str] | None:
        """The names that are read after the statements before `end`, if not any may be."""
        if self.later is None:
            return None
        found = self.known.later.get(end)
        if found is None:
            nodes = [node for each in self.statements[end:] for node in each.nodes]
            found = self.known.later[end] = self.later | read(*nodes)
        return found

    def _tree(self, begin: int, end: int) -> ast.Module:
        # A copy: tracing may rewrite what it is given.
        return ast.Module([copied(node) for each in self.statements[begin:end] for node in each.nodes], [])

    def _can_be_traced(self, begin: int, end: int) -> bool:
        try:
            trace_cell(
                self._tree(begin, end), self.namespace, filename=self.whole.filename, flags=self.flags,
                temporaries=True, numbers=self.traced_numbers, later=self._later(end),
            )  # fmt: skip
        except TracingError:
            return False
        except Exception:  # the user's mistake: what comes before it can be traced
            return True
        return True

    def _refused(self, error: TracingError, begin: int, end: int) -> int:
        """The statement that tracing refused: where the trace was, else where the error points, else the first
        without which what comes before it can be traced."""
        filename = self.whole.filename
        line = _module_line(error.__traceback__, filename)
        if line is None and error.span is not None and error.span.filename == filename:
            line = error.span.line
        low, high = begin, end  # statements up to `low` can be traced, up to `high` they cannot
        if line is not None:
            there = [i for i in range(begin, end) if self.statements[i].first <= line <= self.statements[i].last]
            if len(there) == 1:
                return there[0]
            if there:
                low, high = there[0], there[-1] + 1
        while high - low > 1:
            middle = (low + high) // 2
            if self._can_be_traced(begin, middle):
                low = middle
            else:
                high = middle
        return low

    def _takes(self, position: int) -> bool:
        """Whether a statement is a loop that takes elements out of lists, which tracing could only write out."""
        loop = self._loop(position)
        return loop is not None and loop.takes and not loop.refused

    def _loop(self, position: int) -> WholeLoop | None:
        """The loop that a statement is, if it is one."""
        loop, node = self.known.loops.get(position), self.statements[position].nodes[0]
        if loop is None and isinstance(node, ast.For | ast.While):
            loop = self.known.loops[position] = WholeLoop(node)
        return loop

    def _long_list(self, position: int) -> str:
        """The name of a list of many numbers that a statement reads, if any: each would be an input of a program."""
        names = self.known.reads.get(position)
        if names is None:
            names = self.known.reads[position] = read(*self.statements[position].nodes)
        for name in names:
            value = self.namespace.get(name)
            if type(value) is list and value and _n_numbers(value) > MANY_NUMBERS:
                return name
        return ""

    def _as_whole_loop(self, begin: int, end: int, reason: Exception | None) -> bool:
        """Run a loop that tracing refused, if numba takes it whole."""
        if end != begin + 1 or len(self.statements[begin].nodes) > 1 or not errors_are_silent():
            return False
        if isinstance(reason, TracingError) and reason.code == "WB501":
            return False
        loop = self._loop(begin)
        result = loop.run(self, self._later(end), self._made_arrays(end)) if loop is not None else None
        if result is None:
            return False
        assert loop is not None
        self.counted.update(name for name in loop.names if type(self.namespace.get(name)) is int)
        self.parts.append(result)
        self.last_value = None
        return True

    def _made_arrays(self, end: int) -> frozenset[str]:
        """The lists that the statements from `end` on only make arrays of."""
        if self.later is None:
            return frozenset()
        found = self.known.made_arrays.get(end)
        if found is None:
            nodes = [node for each in self.statements[end:] for node in each.nodes]
            found = self.known.made_arrays[end] = made_arrays(ast.Module(nodes, []), read(*nodes) - self.later)
        return frozenset(name for name, module in found.items() if self.namespace.get(module) is np)

    def _as_written_out(self, begin: int, end: int, reason: Exception) -> bool:
        """Run a statement whose comprehensions are loops that numba takes whole."""
        if end != begin + 1 or len(self.statements[begin].nodes) > 1 or not errors_are_silent():
            return False
        if isinstance(reason, TracingError) and reason.code == "WB501":
            return False
        node = self.statements[begin].nodes[0]
        if is_holder(node):
            return False
        if begin not in self.known.written_out:
            self.known.written_out[begin] = WrittenOut.of(node, self.namespace)
        written_out = self.known.written_out[begin]
        if written_out is None:
            return False
        start = time.perf_counter()
        results = written_out.run(self, is_shown=end == len(self.statements) and not self.place)
        if results is None:
            return False
        self.parts.extend(results)
        if not self.place:
            loops_ms = sum(each.compilation.runs_ms[-1] for each in results)
            time_ms = max((time.perf_counter() - start) * 1e3 - loops_ms, 0.0)
            statements = self.statements[begin:end]
            self.parts.append(self._numpy_part(statements, statements, reason, time_ms))
        return True

    def _printing_later(self, begin: int, end: int) -> bool:
        """Run a loop that prints, if it can be compiled but for that, and then print."""
        if end != begin + 1:
            return False
        if begin not in self.known.printing:
            self.known.printing[begin] = PrintingLoop.of(self.statements[begin], self)
        loop = self.known.printing[begin]
        parts = loop.run(self, self._later(end)) if loop is not None else None
        if parts is None:
            return False
        self.parts.extend(part for part in parts if not (self.place and isinstance(part, NumpyPart)))
        self.last_value = None
        return True

    def compiled(self, loop: PrintingLoop, later: frozenset[str] | None) -> list[Part]:
        """Run other statements than those that were written. Returns what ran; NotCompiledError, before anything has
        happened, if Python would have to run one."""
        run = PartedRun(
            loop.statements, self.whole, self.namespace, options=self.options, flags=self.flags, timed=self.timed,
            known=loop.known, place=f"{self.place}{loop.order}: ", numbers=self.numbers, named=self.named,
            at_once=self.at_once, is_method=self.is_method, later=later, must_compile=True,
        )  # fmt: skip
        run.run(None)
        return run.parts

    def _in_numpy(self, begin: int, end: int, reason: Exception) -> None:
        if self._as_whole_loop(begin, end, reason) or self._as_written_out(begin, end, reason):
            return
        if self.must_compile:
            raise NotCompiledError(reason)
        if self._printing_later(begin, end):
            return
        begun = time.perf_counter()
        try:
            self._left_to_numpy(begin, end, reason)
        finally:
            written_out = self.known.written_out.get(begin)
            if written_out is not None and end == begin + 1:
                written_out.python_ms += (time.perf_counter() - begun) * 1e3

    def _left_to_numpy(self, begin: int, end: int, reason: Exception) -> None:
        if self.place:  # who runs the piece tells of all that is Python's in it, and of what functions ran compiled
            self._in_python(begin, end)
            return
        statements = self.statements[begin:end]
        start = time.perf_counter()
        with collecting(timed=self.timed) as ran:
            try:
                left, repeated = self._in_python(begin, end)
            except BaseException as error:
                error.__traceback__ = once_each(error.__traceback__)
                raise
        repeated = [*repeated, *ran.repeated()]
        time_ms = (time.perf_counter() - start) * 1e3 - sum(each.total_ms for each in repeated)
        self.parts.append(self._numpy_part(statements, left if repeated else statements, reason, max(time_ms, 0.0)))
        self.parts.extend(repeated)

    def _in_python(self, begin: int, end: int) -> tuple[Sequence[Statement], list[Repeated]]:
        """Run statements that cannot be compiled. Returns what of them is Python's alone, and what ran compiled."""
        statements = self.statements[begin:end]
        node = statements[0].nodes[0]
        if len(statements) == len(statements[0].nodes) == 1 and is_holder(node):
            held = self.known.held.get(begin)
            if held is None:
                held = self.known.held[begin] = DrivenStatement.of(node, self)
            repeated = held.run(self)
            if self.place:
                self.parts.extend(repeated)
            return held.left, repeated
        code, last = self.known.codes.get((begin, end)) or self._codes(begin, end)
        with running_in_numpy():
            exec(code, self.namespace)
            if last is not None:
                self.last_value = eval(last, self.namespace)
        return statements, []

    def inside(self, piece: Piece, place: str, *, timed: bool) -> list[Part]:
        """Run statements of a compound statement's body in parts, in this namespace. Returns what ran."""
        run = PartedRun(
            piece.statements, self.whole, self.namespace, options=self.options, flags=self.flags,
            timed=timed and self.timed, known=piece.known, place=f"{self.place}{place}: ", numbers=piece.numbers,
            named=self.named, at_once=piece.at_once, is_method=self.is_method,
        )  # fmt: skip
        run.run(None)
        return run.parts

    def _numpy_part(
        self, statements: Sequence[Statement], shown: Sequence[Statement], reason: Exception, time_ms: float
    ) -> NumpyPart:
        """shown: those whose lines run in NumPy."""
        text = self.whole.text.split("\n")[statements[0].first - self.whole.first_line].strip() if self.timed else ""
        lines = statements[0].first, statements[-1].last
        names = self.known.names.get(lines)
        if names is None:
            names = _names(statements, ast.Load), tuple(sorted(_names(statements, ast.Store)))
            self.known.names[lines] = names
        reads, written = names
        writes = {name: _aval_of(self.namespace.get(name)) for name in written}
        return NumpyPart(tuple(shown), text, reason.with_traceback(None), time_ms, reads, writes)

    def _codes(self, begin: int, end: int) -> tuple[CodeType, CodeType | None]:
        """Statements as code, and the last one apart where its value is shown."""
        nodes = [node for statement in self.statements[begin:end] for node in statement.nodes]
        is_shown = end == len(self.statements) and isinstance(nodes[-1], ast.Expr) and not self.place
        last = nodes.pop() if is_shown else None
        value = self.code(ast.Expression(last.value), "eval") if isinstance(last, ast.Expr) else None
        codes = self.known.codes[begin, end] = self.code(ast.Module(nodes, []), "exec"), value
        return codes

    def code(self, tree: ast.AST, mode: str = "exec") -> CodeType:
        """The code of statements that Python runs."""
        tree = DrivenCalls(self.namespace).visit(copied(tree))
        code = compile(tree, self.whole.filename, mode, self.flags, dont_inherit=True)  # type: ignore[call-overload]
        code = with_operations(code, _OPERATIONS)
        if self.named is None:
            return code
        return code.replace(co_name=self.named.co_name, co_qualname=self.named.co_qualname)


_OPERATIONS = Operations(driven=driven)


def _n_numbers(values: list[Any]) -> int:
    """How many numbers a list holds, or a list of lists that are like the first one."""
    first = values[0]
    if type(first) is list and first:
        return len(values) * _n_numbers(first)
    return len(values) if isinstance(first, NUMBERS) else 0


def _names(statements: Sequence[Statement], context: type) -> frozenset[str]:
    names = (n for each in statements for top in each.nodes for n in walk(top) if isinstance(n, ast.Name))
    return frozenset(name.id for name in names if isinstance(name.ctx, context))


def _aval_of(value: Any) -> Aval | None:
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        return Aval(value.shape, value.dtype)
    return None


def _module_line(traceback: TracebackType | None, filename: str) -> int | None:
    """The line of the cell's own code, outside of functions, at which an error left it."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == filename and code.co_name == "<module>":
            return traceback.tb_lineno
        traceback = traceback.tb_next
    return None
