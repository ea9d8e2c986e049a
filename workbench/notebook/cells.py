"""One run of a `%%jit` cell, without any display: source and namespace in, values and a report out.

A cell is compiled where it can be. Statements that cannot be run in NumPy between the compiled ones, with the reason in
the report. Either way it ends as Python's own run would: the same values under the same names, or the same error at the
same line. A cell that fails leaves the names as they were.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from IPython.core.error import UsageError

from ..config import config
from ..errors import BackendError, RoutineRaisedError, TracingError, WorkbenchError
from ..frontend.diagnostics import raised_in_a_trace, set_label
from ..frontend.liveness import bound, live_before_block
from ..frontend.recursion import too_deep_recursion
from ..frontend.scopes import running_in_numpy
from ..report import (
    CompileReport,
    build_report,
    compare_with_numpy,
    compiling_report,
    definitions_report,
    numpy_report,
)
from ..report.merge import parts_report
from ..report.schema import Verification
from ..runtime import cells as runtime_cells
from ..runtime.background import Task
from ..runtime.cells import CellResult, CompilingCell, Overwritten
from ..runtime.compilation import Source
from ..runtime.executable import has_written
from ..runtime.limits import machine_limits
from ..runtime.parts.known import KnownCell, kinds_of, known_cell, remember_cell
from ..runtime.parts.statements import Known, PartedRun, can_be_split, statements_of
from . import baseline
from .compare import compare

_MISSING = object()
# Runs whose times are less apart are compared with NumPy once.
LIKE_FACTOR = 3.0
LIKE_MS = 1.0


@dataclass(frozen=True, slots=True)
class CellOptions:
    """The options of `%%jit`. out: the only names to keep (None: all without a leading underscore); strict: raise where
    the cell would run in NumPy; verify: raise nothing, but return NumPy's result where it differs; compare: time
    NumPy too (None: where that is safe and short); device: where kernels run (None: the current device); wait: for the
    kernels, also with `config.tiers` (who asks for a comparison or for errors waits, too); fast: contract and reorder
    the arithmetic of kernels."""

    out: tuple[str, ...] | None = None
    strict: bool = False
    verify: bool = False
    compare: bool | None = None
    device: str | None = None
    wait: bool = False
    fast: bool = False

    @property
    def has_tiers(self) -> bool:
        return config.tiers and not (self.wait or self.strict or self.verify or self.compare)


@dataclass(slots=True)
class CellRun:
    """What a cell did. `finish` measures the baseline and completes the report; call it once, when there is time.
    compiling: the result is NumPy's, and kernels are on their way; `when_compiled` completes the report."""

    last_value: Any
    report: CompileReport
    pending: _Baseline | None = None
    compiling: Task | None = None

    def when_compiled(self, call: Callable[[], object]) -> None:
        """Once the kernels are ready, complete the report (it stays the same object) and call this, both in the
        background."""
        task = self.compiling
        assert task is not None

        def completed() -> None:
            report = self.report
            if task.error is None:
                whole = build_report(task.result)
                whole.timings.numpy_ms, whole.summary.numpy_ms = report.timings.runs_ms, report.summary.time_ms
            else:
                whole = numpy_report(Source("", "", ""), task.error, report.timings.runs_ms)
                whole.status = "failed"
            whole.cell, whole.reason = report.cell, whole.reason or report.reason
            for each in fields(whole):
                setattr(report, each.name, getattr(whole, each.name))
            call()

        task.then(completed)

    @property
    def wait_s(self) -> float:
        """About how long `finish` takes."""
        return self.pending.estimate_s if self.pending else 0.0

    def finish(self) -> None:
        if self.pending is not None:
            pending, self.pending = self.pending, None
            replacement = pending.run(self.report)
            if replacement is not None:
                self.last_value = replacement.last_value


def run_cell(
    source: str,
    namespace: dict[str, Any],
    *,
    label: str = "cell",
    filename: str = "<cell>",
    options: CellOptions = CellOptions(),  # noqa: B008  (frozen)
    flags: int = 0,
) -> CellRun:
    """Run the source of a cell in `namespace`. flags: of `compile`, for `__future__` statements of earlier cells.

    UsageError if it is to keep a name that it does not assign; nothing has happened then.
    """
    tree = compile(source, filename, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    _check_out(options.out, tree)
    try:
        code = baseline.compile_cell(tree, filename, flags)
    except SyntaxError as error:  # what parsing cannot see, such as `return` outside functions
        if any(word in str(error.msg) for word in ("await", "asynchronous")):
            error.msg = f"{error.msg}: a compiled cell does not wait; put this line into a cell without %%jit"
        raise
    set_label(filename, label)
    return _Job(source, namespace, label, filename, options, flags, tree, code).compile_and_run()


def _check_out(out: Sequence[str] | None, tree: ast.Module) -> None:
    assigned = bound(tree.body)
    missing = [name for name in out or () if name not in assigned and "*" not in assigned]
    if missing:
        raise UsageError(f"--out names {', '.join(missing)}, which this cell does not assign")


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


@dataclass(slots=True)
class _Job:
    """The parts of one `run_cell`, so that its ways through need not pass them around."""

    source: str
    namespace: dict[str, Any]
    label: str
    filename: str
    options: CellOptions
    flags: int
    tree: ast.Module
    code: tuple[Any, Any]

    def compile_and_run(self) -> CellRun:
        if all(isinstance(stmt, _DEFINITIONS) for stmt in self.tree.body):
            value, time_ms = self._in_numpy(undoes=False)
            return CellRun(value, definitions_report(Source(self.label, self.source, self.filename), time_ms))
        before = dict(self.namespace)
        failure: Exception
        how = {"label": self.label, "filename": self.filename, "options": self.options, "flags": self.flags}
        compiling, result = None, None
        earlier = None if self.options.strict else known_cell(self._key(), self._kinds())
        if earlier is not None:
            return self.run_in_parts(earlier.reason, earlier.known)
        try:
            if self.options.has_tiers:
                compiling = runtime_cells.begin_cell(self.source, self.namespace, **how)
            if compiling is None:
                compares = self.options.compare is not False or self.options.verify
                result = runtime_cells.run_cell(self.source, self.namespace, **how, keeps_overwritten=compares)
        except TracingError as error:
            if self.options.strict:
                raise
            failure = error
        except WorkbenchError as error:
            if not isinstance(error, BackendError) or has_written(error):
                raise
            failure = error
        except Exception as error:
            if has_written(error):
                raise
            is_deep = isinstance(error, RecursionError)
            failure = too_deep_recursion() if is_deep else RoutineRaisedError.of(error)
        else:
            if compiling is not None:
                return self.run_while_compiling(compiling)
            assert result is not None
            self.namespace.update(result.values)
            for name in result.removed:
                self.namespace.pop(name, None)
            pending = _Baseline.prepare(self, result, before)
            report = build_report(result.compilation)
            report.cell.label = self.label  # a cached cell was compiled under an earlier number
            return CellRun(result.last_value, report, pending)
        # Outside of the `except` clauses, so that an error of the user's own is not chained to ours.
        if isinstance(failure, TracingError) and not isinstance(failure, RoutineRaisedError):
            return self._run_in_new_parts(failure) if can_be_split(self.tree) else self.run_in_numpy(failure)
        # The user's mistake, which NumPy reports best, or ours, which must not cost the result: NumPy knows which.
        return self.run_in_numpy(failure, undoes=True)

    def _run_in_new_parts(self, reason: TracingError) -> CellRun:
        kinds, known = self._kinds(), Known()
        run = self.run_in_parts(reason, known)
        if known.refused:  # else the statements were compiled, one by one, and kept by themselves
            remember_cell(self._key(), KnownCell(kinds, reason.with_traceback(None), known))
        return run

    def _key(self) -> tuple:
        return (id(self.namespace), self.filename, self.source, self.flags, self.options.device)

    def _kinds(self) -> tuple:
        return kinds_of(live_before_block(self.tree.body, frozenset()), self.namespace)

    def run_in_parts(self, reason: TracingError, known: Known) -> CellRun:
        """Compile the statements that can be, and run the others between them. reason: why not all of them can; known:
        what earlier runs have shown."""

        before = dict(self.namespace)
        whole = Source(self.label, self.source, self.filename)
        statements = statements_of(self.tree.body)
        run = PartedRun(statements, whole, self.namespace, options=self.options, flags=self.flags, known=known)
        try:
            run.run(reason)
        except Exception:
            _restore(self.namespace, before, {})
            raise
        report = parts_report(run.parts, whole, self._is_kept)
        self._drop_temporaries(before)
        return CellRun(run.last_value, report)

    def _is_kept(self, name: str) -> bool:
        return not name.startswith("_") if self.options.out is None else name in self.options.out

    def run_in_numpy(self, reason: Exception, *, undoes: bool = False) -> CellRun:
        """Run the cell as Python would. undoes: restore the contents of arrays, too, if it fails."""
        if self.options.strict and isinstance(reason, TracingError):
            raise reason
        value, time_ms = self._in_numpy(undoes=undoes)
        return CellRun(value, self._numpy_report(reason, time_ms))

    def run_while_compiling(self, cell: CompilingCell) -> CellRun:
        """Run the cell as Python would, while its kernels are compiled."""
        try:
            value, time_ms = self._in_numpy(undoes=True)
        finally:
            cell.task.may_begin.set()
        report = compiling_report(Source(self.label, self.source, self.filename), cell.jaxpr, time_ms)
        return CellRun(value, report, compiling=cell.task)

    def _in_numpy(self, *, undoes: bool) -> tuple[Any, float]:
        """The value of the last expression, and the time in ms."""
        before = dict(self.namespace)
        undo = baseline.snapshot(before, baseline.names_read(self.tree)) if undoes else None
        begin = time.perf_counter()
        try:
            with running_in_numpy():
                exec(self.code[0], self.namespace)
                value = eval(self.code[1], self.namespace) if self.code[1] is not None else None
        except Exception:
            _restore(self.namespace, before, undo or {})
            raise
        time_ms = (time.perf_counter() - begin) * 1e3
        self._drop_temporaries(before)
        return value, time_ms

    def _drop_temporaries(self, before: dict[str, Any]) -> None:
        """Put names back that a compiled cell would not have kept: its own, and arrays that functions set."""
        own = bound(self.tree.body)
        for name, value in list(self.namespace.items()):
            if (
                before.get(name, _MISSING) is value
                or name not in own
                and not isinstance(value, np.ndarray | np.generic)
            ):
                continue
            if not self._is_kept(name):
                if name in before:
                    self.namespace[name] = before[name]
                else:
                    del self.namespace[name]

    def _numpy_report(self, reason: Exception, time_ms: float) -> CompileReport:
        if not isinstance(reason, TracingError):
            reason = raised_in_a_trace(reason) or reason
        report = numpy_report(Source(self.label, self.source, self.filename), reason, [time_ms])
        if not isinstance(reason, TracingError):
            report.status = "failed"
        return report


def _restore(namespace: dict[str, Any], before: dict[str, Any], undo: dict[str, Any]) -> None:
    for name in list(namespace):
        if name not in before:
            del namespace[name]
    namespace.update(before)
    for name, saved in undo.items():
        array = before.get(name)
        if isinstance(saved, np.ndarray) and isinstance(array, np.ndarray) and array.flags.writeable:
            np.copyto(array, saved)


@dataclass(frozen=True, slots=True)
class _RunKind:
    """Which runs of a program take NumPy about as long: those of the same numbers that take ours about as long."""

    numbers: dict[str, Any]
    time_ms: float

    @classmethod
    def of(cls, result: CellResult, before: Mapping[str, Any]) -> _RunKind:
        names = result.compilation.traced.input_names
        given = {name: before.get(name) for name in names}
        numbers = {
            name: value for name, value in given.items() if isinstance(value, int | float | complex | np.generic)
        }
        return cls(numbers, result.compilation.runs_ms[-1])

    def is_like(self, other: _RunKind | None) -> bool:
        if other is None or self.numbers != other.numbers:
            return False
        short, long = sorted((self.time_ms, other.time_ms))
        return long <= LIKE_FACTOR * short + LIKE_MS


@dataclass(slots=True)
class _Baseline:
    """A NumPy run that is still to be made, for the report of a compiled one."""

    job: _Job
    result: CellResult
    before: dict[str, Any]
    overwritten: tuple[Overwritten, ...]
    estimate_s: float

    @classmethod
    def prepare(cls, job: _Job, result: CellResult, before: dict[str, Any]) -> _Baseline | None:
        options, compilation = job.options, result.compilation
        earlier, kind = compilation.verification, _RunKind.of(result, before)
        told = earlier if earlier is not None and earlier.ok and kind.is_like(compilation.compared) else None
        estimate = baseline.estimate_s(compilation.traced.jaxpr)
        is_wanted = options.compare or options.verify or told is None and estimate <= baseline.LIMIT_S
        if result.overwritten is None or not is_wanted:
            compilation.verification = None if told is None else replace(told, runs_ago=told.runs_ago + 1)
            return None
        compilation.verification, compilation.compared = None, kind
        return cls(job, result, before, result.overwritten, estimate)

    def run(self, report: CompileReport) -> baseline.Baseline | None:
        """Complete `report`. Returns NumPy's run where its values were put in place of different ones."""
        job = self.job
        reference = baseline.measure(job.code, job.namespace, self.before, self.overwritten, self.result.held)
        # Half a second, once on a machine; later reports draw their roofs from it.
        machine_limits(self.result.compilation.device)
        self.result.compilation.numpy_ms = list(reference.times_ms)
        report.timings.numpy_ms = list(reference.times_ms)
        compare_with_numpy(report.summary, float(np.median(reference.times_ms)))
        ok, max_ulp, rows = compare(*self._results(reference), self._shaken)
        self.result.compilation.verification = report.verification = Verification(ok, max_ulp, rows)
        if ok or not job.options.verify:
            return None
        for name in self.result.values:
            job.namespace[name] = reference.values[name]
        for each, contents in zip(self.overwritten, reference.written, strict=True):
            np.copyto(each.array, contents)
        for (place, _), value in zip(self.result.held, reference.held, strict=True):
            place.set(value)
        return reference

    def _shaken(self) -> list[dict[str, Any]]:
        job, result = self.job, self.result
        inputs = result.compilation.traced.input_names
        return baseline.shaken(job.code, job.namespace, self.before, self.overwritten, result.held, inputs)

    def _results(self, reference: baseline.Baseline) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the cell made, and what NumPy did, by name."""
        results, expected = dict(self.result.values), dict(reference.values)
        if self.result.last_value is not None:
            results["Out"], expected["Out"] = self.result.last_value, reference.last_value
        for each, contents in zip(self.overwritten, reference.written, strict=True):
            # The cell may have given the name to something else after it wrote.
            is_rebound = each.name in results and results[each.name] is not each.array
            name = f"{each.name} (written before)" if is_rebound else each.name
            results[name], expected[name] = each.array, contents
        for (place, _), value in zip(self.result.held, reference.held, strict=True):
            results[place.name], expected[place.name] = place.get(), value
        return results, expected
