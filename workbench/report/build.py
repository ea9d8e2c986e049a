"""From the runtime's record of a compilation to the report that people see.

Comes in: a `Compilation`, with everything that happened as objects. Goes out: a `CompileReport`, plain data that links
source, equations, steps, kernels and times by ids.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import ceil
from typing import Any, TypeGuard
from weakref import WeakKeyDictionary

from ..errors import WorkbenchError
from ..frontend.diagnostics import source_label
from ..fusion import Cluster, NumpyStep, Plan, Step, ViewStep, step_eqns, step_outputs
from ..ir import Equation, Jaxpr, Span, Var, equation_lines
from ..runtime.parts.syntax import COMPUTED
from ..runtime.timelines import IN_LOOPS
from .compact import equation_text
from .identities import Identities
from .kernel_rows import kernel_rows
from .layout import lay_out_graph
from .machine import describe_machine
from .plan_graph import merged_and_refused, plan_graph
from .schema import (
    Cell,
    CompileReport,
    Crossing,
    EquationRow,
    Fallback,
    Kept,
    Machine,
    Phase,
    SourceSpan,
    Stage,
    Summary,
    TimelineBar,
    Timings,
    Value,
    Verification,
)
from .traffic import bytes_saved, moves_nothing

_numbers = itertools.count(1)


def build_report(compilation: Any, source: Any = None, place: SourceSpan | None = None) -> CompileReport:
    """The report of a compilation (`runtime.compilation.Compilation`), as far as it has run.

    source: the text to show, if that is not what was compiled; place: where in it is called what stands elsewhere.
    """
    source = compilation.source if source is None else source
    plan: Plan = compilation.plan
    spans = SpanMap(source, place)
    stages, ids = _printed_stages(compilation, source, place)
    limits = compilation.limits
    machine = describe_machine(compilation.device, compilation.threads, limits)
    timeline = _timeline(compilation)
    step_ms = _step_times(timeline, compilation.kernel_infos)
    chains = getattr(compilation.executable, "chains", {}).values()
    decisions = merged_and_refused(plan, ids, {var for chain in chains for var in chain.never_made})
    native = getattr(compilation.executable, "native", None)  # other devices have none
    together = getattr(compilation.executable, "together", {})
    graph = plan_graph(plan, ids, _input_names(compilation), compilation.outputs, compilation.kernels, native, together)
    fallbacks = [fallback_row(each, spans) for each in compilation.fallbacks]
    fallbacks += [_numpy_step(step, spans, step_ms) for step in plan.steps if _falls_back(step)]
    fallbacks.sort(key=lambda f: -(f.cost_ms or 0.0))
    report = CompileReport(
        status=_status(compilation, fallbacks),
        cell=Cell(source.label, source.text, source.filename),
        summary=Summary(0, 0),
        machine=machine,
        stages=stages,
        graph=lay_out_graph(graph),
        decisions=decisions,
        kernels=kernel_rows(compilation, ids, machine, step_ms),
        timings=Timings(
            list(compilation.runs_ms),
            list(compilation.numpy_ms),
            [Phase(name, time_ms) for name, time_ms in compilation.phases],
            timeline,
        ),
        fallbacks=fallbacks,
        kept=_kept(compilation, machine),
        crossings=_crossings(compilation),
        verification=_verification(compilation.verification),
        changed=compilation.changed,
        reason=compilation.reason or (fallbacks[0].why if fallbacks else ""),
        id=f"r{next(_numbers)}",
        created=_now(),
    )
    report.summary = _summary(report, compilation)
    return report


def numpy_report(source: Any, error: BaseException, numpy_ms: Sequence[float] = ()) -> CompileReport:
    """The report of a cell or function that ran in NumPy, because of `error`. source: label, text, filename,
    first_line."""
    fallback = fallback_row(error, SpanMap(source))
    times = list(numpy_ms)
    median = statistics.median(times) if times else None
    fallback.cost_ms = median
    return CompileReport(
        status="numpy",
        cell=Cell(source.label, source.text, source.filename),
        summary=Summary(n_kernels=0, n_ops=0, n_numpy_steps=1, time_ms=median, numpy_ms=median),
        machine=describe_machine("numpy"),
        timings=Timings(runs_ms=times),
        fallbacks=[fallback],
        reason=fallback.why,
        id=f"r{next(_numbers)}",
        created=_now(),
    )


def definitions_report(source: Any, time_ms: float) -> CompileReport:
    """The report of a cell that defines functions and classes: these are compiled where they are called."""
    return CompileReport(
        status="empty",
        cell=Cell(source.label, source.text, source.filename),
        summary=Summary(n_kernels=0, n_ops=0, time_ms=time_ms),
        machine=describe_machine("cpu"),
        timings=Timings(runs_ms=[time_ms]),
        id=f"r{next(_numbers)}",
        created=_now(),
    )


def whole_report(compilation: Any, why: str, runs_ms: Sequence[float], numpy_ms: Sequence[float]) -> CompileReport:
    """The report of a function that runs as one loop, and why it does."""
    compilation.runs_ms, compilation.numpy_ms = list(runs_ms), list(numpy_ms)
    report = build_report(compilation)
    report.reason = why
    return report


def compiling_report(source: Any, jaxpr: Jaxpr, numpy_ms: float) -> CompileReport:
    """The report of a cell that ran in NumPy, in `numpy_ms`, because its kernels are still being compiled."""
    return CompileReport(
        status="compiling",
        cell=Cell(source.label, source.text, source.filename),
        summary=Summary(n_kernels=0, n_ops=n_operations(jaxpr), time_ms=numpy_ms, numpy_ms=numpy_ms),
        machine=describe_machine("numpy"),
        timings=Timings(runs_ms=[numpy_ms]),
        reason="the first result came from NumPy, while kernels were compiled; the next run uses them",
        id=f"r{next(_numbers)}",
        created=_now(),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# ---- places ----


class SpanMap:
    """From spans of a file to spans of the cell or function whose text the report holds. elsewhere: what stands for
    spans of other files."""

    def __init__(self, source: Any, elsewhere: SourceSpan | None = None):
        self.elsewhere = elsewhere
        self.filename = source.filename
        self.first_line = source.first_line
        self.n_lines = source.text.count("\n") + 1

    def __call__(self, span: Span | None) -> SourceSpan | None:
        if span is None or span.filename != self.filename:
            return None if span is None else self.elsewhere
        first, last = span.line - self.first_line + 1, span.end_line - self.first_line + 1
        if not 1 <= first <= last <= self.n_lines:
            return None
        return SourceSpan(first, span.col, last, span.end_col)

    def of(self, eqn: Equation) -> list[SourceSpan]:
        """Where an equation comes from: the innermost place in this text, and those of what was merged into it."""
        innermost = next((s for s in map(self, eqn.origin.spans) if s is not None), None)
        places = [innermost, *map(self, eqn.origin.also)]
        unique = {(s.line, s.col, s.end_line, s.end_col): s for s in places if s is not None}
        return list(unique.values())


# ---- stages ----

# Printed programs are most of a report's work, and the same at every run.
_printed: WeakKeyDictionary[Any, tuple[tuple, list[Stage], dict[Equation, str]]] = WeakKeyDictionary()


def _printed_stages(compilation: Any, source: Any, place: SourceSpan | None) -> tuple[list[Stage], dict[Equation, str]]:
    """The stages of a compilation, which reports share, and the ids of the last one's equations."""
    programs = tuple(id(jaxpr) for _, jaxpr, _ in compilation.stages)
    key = (programs, id(compilation.plan), source.text, source.filename, source.first_line, place)
    found = _printed.get(compilation)
    if found is None or found[0] != key:
        stages, ids = _stages(compilation.stages, SpanMap(source, place))
        _mark_steps(stages, ids, compilation.plan)
        found = _printed[compilation] = (key, stages, ids)
    return found[1], found[2]


def _stages(stages: Iterable[tuple[str, Jaxpr, float]], spans: SpanMap) -> tuple[list[Stage], dict[Equation, str]]:
    """The stages, and the ids of the last one's equations."""
    identities = Identities()
    rows: list[Stage] = []
    ids: dict[Equation, str] = {}
    for name, jaxpr, time_ms in stages:
        text, printed = equation_lines(jaxpr)
        lines = text.split("\n")
        placed = {eqn: (first, n) for eqn, first, n in printed}
        ids, added, removed = identities.stage(tuple(placed))
        equations = [
            EquationRow(
                id=ids[eqn],
                text=equation_text(lines, first, n),
                text_line=first,
                primitive=eqn.primitive.name,
                op=eqn.origin.op,
                outputs=[value_of(var) for var in eqn.outvars],
                spans=spans.of(eqn),
            )
            for eqn, (first, n) in placed.items()
        ]
        rows.append(Stage(name, text, equations, added if rows else 0, removed if rows else 0, time_ms))
    return rows, ids


def value_of(var: Var) -> Value:
    return Value(var.hint, str(var.aval), var.aval.nbytes)


def _mark_steps(stages: list[Stage], ids: Mapping[Equation, str], plan: Plan) -> None:
    """Say in the last stage which step computes each equation, and whether its result reaches memory."""
    if not stages:
        return
    step_of: dict[str, str] = {}
    for step in plan.steps:
        if not isinstance(step, ViewStep):
            for eqn in step_eqns(step):
                step_of.setdefault(ids[eqn], step.id)
    stored = {var for step in plan.steps for var in step_outputs(step)}
    in_memory = {ids[e]: any(var in stored for var in e.outvars) for e in plan.jaxpr.eqns}
    for row in stages[-1].equations:
        row.step = step_of.get(row.id, "")
        row.in_memory = in_memory.get(row.id, True)


# ---- numbers ----


def _step_times(timeline: Sequence[TimelineBar], infos: Mapping[str, Any]) -> dict[str, float]:
    """The time of each step: the median of its runs where they were kept, else that of the last profiled run, in which
    steps inside of loops ran many times."""
    times: dict[str, float] = {}
    for bar in timeline:
        times[bar.step] = times.get(bar.step, 0.0) + bar.time_ms
    inside = {bar.step for bar in timeline if bar.lane == IN_LOOPS}
    for name, info in infos.items():
        if info.runs_ms and name not in inside:
            times[name] = statistics.median(info.runs_ms)
    return times


def _timeline(compilation: Any) -> list[TimelineBar]:
    """The bars of the last profiled run; what is no kernel is called after its operation."""
    names = {
        step.id: step.eqn.origin.op or step.eqn.primitive.name
        for step in compilation.plan.steps
        if not isinstance(step, Cluster)
    }
    bars = [TimelineBar(*bar) for bar in compilation.timeline]
    for bar in bars:
        if bar.name in ("", bar.step):
            bar.name = names.get(bar.step, bar.step)
    return bars


def _status(compilation: Any, fallbacks: Sequence[Fallback]) -> str:
    if not compilation.plan.jaxpr.eqns and not any(jaxpr.eqns for _, jaxpr, _ in compilation.stages):
        return "empty"
    return "partly" if fallbacks and compilation.status in ("compiled", "cached", "recompiled") else compilation.status


def _summary(report: CompileReport, compilation: Any) -> Summary:
    kinds = [node.kind for node in report.graph.nodes]
    runs, numpy_runs = report.timings.runs_ms, report.timings.numpy_ms
    time_ms = statistics.median(runs) if runs else None
    numpy_ms = statistics.median(numpy_runs) if numpy_runs else None
    boundaries = [
        edge for edge in report.graph.edges if edge.refused and not _kinds_of(report, edge) & {"library", "check"}
    ]
    # A cell that is found compiled in this session pays nothing; kernels from the disk took time to load.
    reused = compilation.status == "cached" and not all(info.cached for info in compilation.kernel_infos.values())
    compile_ms = 0.0 if reused else sum(time_ms for _, time_ms in compilation.phases)
    traced = compilation.stages[0][1] if compilation.stages else compilation.plan.jaxpr
    summary = Summary(
        n_kernels=kinds.count("kernel"),
        n_ops=n_operations(traced),
        n_library_calls=kinds.count("library"),
        n_numpy_steps=kinds.count("numpy"),
        n_loops=kinds.count("loop"),
        n_branches=kinds.count("branch"),
        n_boundaries=len(boundaries),
        time_ms=time_ms,
        bytes_saved=bytes_saved(traced, compilation.plan, compilation.kernels),
        compile_ms=compile_ms,
    )
    compare_with_numpy(summary, numpy_ms)
    return summary


def compare_with_numpy(summary: Summary, numpy_ms: float | None) -> None:
    """Set what follows from NumPy's time: the speed-up, and after how many runs compiling has paid."""
    summary.numpy_ms = numpy_ms
    summary.speedup = numpy_ms / summary.time_ms if numpy_ms is not None and summary.time_ms else None
    gain = numpy_ms - summary.time_ms if numpy_ms is not None and summary.time_ms is not None else 0.0
    summary.pays_off_after = ceil(summary.compile_ms / gain) if gain > 0 and summary.compile_ms > 0 else None


def _kinds_of(report: CompileReport, edge: Any) -> set[str]:
    return {node.kind for node in report.graph.nodes if node.id in (edge.source, edge.target)}


def n_operations(jaxpr: Jaxpr) -> int:
    """How many NumPy-level operations were traced. Equations of one operation share one origin; only what prepares an
    operand (a broadcast, a conversion) may have its own, equal to that of the equation that follows."""
    total = 0
    counted: set[int] = set()
    after: tuple[object, ...] = ()
    for eqn in reversed(jaxpr.eqns):
        inner = eqn.params.get("jaxpr")
        if isinstance(inner, Jaxpr):
            total += n_operations(inner)
            continue
        place = (eqn.origin.op, eqn.origin.spans)
        prepares = moves_nothing(eqn) and place == after and bool(eqn.origin.op)
        key = id(eqn.origin) if eqn.origin.op else id(eqn)
        if key not in counted and not prepares:
            total += 1
        counted.add(key)
        after = place
    return total


# ---- the rest ----


def _input_names(compilation: Any) -> dict[Var, str]:
    """The user's names for the inputs of the program."""
    jaxpr: Jaxpr = compilation.plan.jaxpr
    names = getattr(compilation.traced, "input_names", ())
    known = {var: name for var, name in zip(jaxpr.invars, names, strict=False) if name}
    inputs = {var: known.get(var) or var.hint or f"input {i + 1}" for i, var in enumerate(jaxpr.invars)}
    return {**{var: var.hint or "constant" for var in jaxpr.constvars}, **inputs}


def _kept(compilation: Any, machine: Machine) -> list[Kept]:
    """The names that the cell keeps. Their price: the time to write what would otherwise stay in registers."""
    plan: Plan = compilation.plan
    home: dict[Var, Step] = {var: step for step in plan.steps for var in step_outputs(step)}
    readers: dict[Var, set[str]] = {}
    for step in plan.steps:
        for var in {v for eqn in step_eqns(step) for v in eqn.invars if isinstance(v, Var)}:
            readers.setdefault(var, set()).add(step.id)
    kept: dict[str, Kept] = {}
    for name, atom in compilation.outputs:
        if not name or not isinstance(atom, Var):
            continue
        step = home.get(atom)
        # A final result is what the cell is for, and what another step reads is in memory anyway.
        only_kept = isinstance(step, Cluster) and readers.get(atom) == {step.id}
        bandwidth = machine.copy_gb_per_s
        cost = atom.aval.nbytes / (bandwidth * 1e6) if only_kept and bandwidth else None
        kept[name] = Kept(name, str(atom.aval), atom.aval.nbytes, cost)
    return list(kept.values())


def fallback_row(reason: Any, spans: SpanMap) -> Fallback:
    """A fallback from an error, or from (span, op, code, why, fix)."""
    if isinstance(reason, tuple):
        span, op, code, why, fix = reason
        return Fallback(spans(span), op, code, why, fix)
    known = reason if isinstance(reason, WorkbenchError) else None
    why = _essence(known, spans.filename) if known is not None else f"{type(reason).__name__}: {reason}"
    fixes = known.fixes if known is not None else ()
    return Fallback(
        span=spans(known.span) if known is not None else None,
        op=known.value if known is not None else "",
        code=known.code if known is not None else "WB903",
        why=why,
        fix="\n".join(map(str, fixes)),
    )


def _essence(error: WorkbenchError, filename: str) -> str:
    """What an error says, without what stands in fields of its own: the code, the excerpt and the fixes. Lines of other
    files than `filename` are said to be theirs."""
    headline = str(error).split("\n\n", 1)[0].split("\n   Fix", 1)[0].removeprefix(error.code).strip()
    if error.span is not None and error.span.filename != filename:
        line = f"Line {error.span.line} "
        headline = headline.replace(line, f"{line}of {source_label(error.span.filename)} ", 1)
    return f"{headline}\n{error.provenance}" if error.provenance else headline


def _crossings(compilation: Any) -> list[Crossing]:
    """What the last run copied to the device and back; equal ones (a loop's conditions) as one with all their bytes."""
    found: dict[tuple[str, str, str], Crossing] = {}
    for each in getattr(compilation, "crossings", ()):
        name = "" if each.name in COMPUTED else each.name
        key = (name, each.direction, each.why)
        row = found.setdefault(key, Crossing(name, each.direction, 0, each.why, 0, 0.0))
        row.bytes += each.n_bytes
        row.count += 1
        row.time_ms = (row.time_ms or 0.0) + each.seconds * 1e3
    return list(found.values())


def _falls_back(step: Step) -> TypeGuard[NumpyStep]:
    """Whether a step runs in NumPy although nobody chose the device `numpy`."""
    return isinstance(step, NumpyStep) and step.code != "WB332"


def _numpy_step(step: NumpyStep, spans: SpanMap, step_ms: Mapping[str, float]) -> Fallback:
    eqn = step.eqn
    places = spans.of(eqn)
    op = eqn.origin.op or eqn.primitive.name
    return Fallback(places[0] if places else None, op, step.code, step.reason, cost_ms=step_ms.get(step.id))


def _verification(found: Any) -> Verification | None:
    if found is None or isinstance(found, Verification):
        return found
    return Verification(bool(found.ok), found.max_ulp, [dict(row) for row in found.results])
