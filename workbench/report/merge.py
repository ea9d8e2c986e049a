"""One report of a cell that ran in parts: compiled ones, each with a report, and statements in NumPy between them.

Ids are numbered anew, so that they stay unique; what one part leaves under a name and a later one reads is an edge of
the graph.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..runtime.parts.driven_loops import Repeated
from ..runtime.parts.statements import NumpyPart, Statement
from .build import SpanMap, build_report, compare_with_numpy, fallback_row, numpy_report
from .layout import lay_out_graph
from .schema import (
    Cell,
    CompileReport,
    DecisionRow,
    EquationRow,
    Fallback,
    Graph,
    GraphEdge,
    KernelRow,
    Phase,
    SourceSpan,
    Stage,
    StepNode,
    Summary,
    TimelineBar,
    Timings,
    Value,
)

MAX_TITLE = 32
_NUMBERED = re.compile(r"([a-zA-Z]+)(\d+)")


@dataclass(frozen=True, slots=True)
class NumpyStatements:
    """Statements that ran in NumPy. title: their source, shortened; reads, writes: names; values: of `writes`, where
    they hold arrays."""

    title: str
    spans: list[SourceSpan]
    fallback: Fallback
    reads: frozenset[str]
    writes: Mapping[str, Value | None]
    time_ms: float


@dataclass(frozen=True, slots=True)
class CompiledStatements:
    """Compiled statements. runs: how often a loop that Python runs has run them; total_ms: the time of all runs, None
    of a single one."""

    report: CompileReport
    runs: int = 1
    total_ms: float | None = None


ReportPart = CompiledStatements | NumpyStatements


def parts_report(parts: Sequence[Any], whole: Any, kept: Callable[[str], bool]) -> CompileReport:
    """The report of a cell or function that ran in parts (`runtime.parts.statements.Part`). whole: its source, as
    `runtime.compilation.Source` has it; kept: whether a name outlives it."""
    rows: list[ReportPart] = []
    caller: SourceSpan | None = None
    for part in parts:
        if isinstance(part, NumpyPart):
            rows.append(_numpy_statements(part, whole))
            caller = rows[-1].spans[0] if isinstance(rows[-1], NumpyStatements) else None
        elif isinstance(part, Repeated):
            compilation = part.result.compilation
            if compilation.plan.steps:
                is_here = compilation.source.filename == whole.filename
                report = build_report(compilation, whole, None if is_here else caller)
                rows.append(CompiledStatements(report, part.runs, part.total_ms))
        elif part.compilation.plan.steps:
            rows.append(CompiledStatements(build_report(part.compilation)))
    if any(isinstance(row, CompiledStatements) for row in rows):
        return _Merge(rows, Cell(whole.label, whole.text, whole.filename), kept).report()
    in_numpy = [part for part in parts if isinstance(part, NumpyPart)]
    return numpy_report(whole, in_numpy[0].reason, [sum(part.time_ms for part in in_numpy)])


def _numpy_statements(part: NumpyPart, whole: Any) -> NumpyStatements:
    spans = SpanMap(whole)
    fallback = fallback_row(part.reason, spans)
    fallback.cost_ms = part.time_ms
    title = part.text if len(part.text) <= MAX_TITLE else part.text[: MAX_TITLE - 1] + "…"
    values = {
        name: Value(name, str(aval), aval.nbytes) if aval is not None else None for name, aval in part.writes.items()
    }
    places = [_lines_of(statement, whole) for statement in part.statements]
    if fallback.span is None and places:
        fallback.span = places[0]
    return NumpyStatements(title, places, fallback, part.reads, values, part.time_ms)


def _lines_of(statement: Statement, whole: Any) -> SourceSpan:
    """The lines of a statement in the source that the report shows."""
    first, last = (line - whole.first_line + 1 for line in (statement.first, statement.last))
    return SourceSpan(first, 0, last, len(whole.text.split("\n")[last - 1]))


class _Merge:
    """The report of a cell whose `parts` ran one after the other."""

    def __init__(self, parts: Sequence[ReportPart], cell: Cell, kept: Callable[[str], bool]):
        self.cell = cell
        self.kept = kept
        self.nodes: list[StepNode] = []
        self.edges: list[GraphEdge] = []
        self.made_by: dict[str, str] = {}  # name -> the step that made its present value
        self.timeline: list[TimelineBar] = []
        self.elapsed_ms = 0.0  # the parts' own runs
        self.drawn_ms = 0.0  # the timeline: runs whose steps were timed, one after the other
        self.next_number: dict[str, int] = {}
        self.compiled: list[CompileReport] = []
        self.runs: list[int] = []  # of each
        self.statements: list[tuple[str, NumpyStatements]] = []
        for part in parts:
            if isinstance(part, NumpyStatements):
                self._add_statements(part)
            else:
                self._add_compiled(replace(part, report=_renumbered(part.report, self.next_number)))
        self._add_results()

    # ---- graph and timeline ----

    def _add_statements(self, part: NumpyStatements) -> None:
        number = self.next_number.get("N", 0)
        self.next_number["N"] = number + 1
        node = StepNode(
            f"N{number}", "numpy", part.title, reason=f"{part.fallback.code}: {part.fallback.why}", spans=part.spans
        )
        self.nodes.append(node)
        for name in sorted(part.reads & self.made_by.keys()):
            value = self._value_of(name)
            if value is not None:
                self.edges.append(GraphEdge(self.made_by[name], node.id, value))
                node.inputs.append(value)
        for name, value in part.writes.items():
            if value is None:
                self.made_by.pop(name, None)
            else:
                self.made_by[name] = node.id
                node.outputs.append(value)
        self.timeline.append(TimelineBar(node.id, part.title, self.drawn_ms, part.time_ms))
        self.drawn_ms += part.time_ms
        self.elapsed_ms += part.time_ms
        self.statements.append((node.id, part))

    def _value_of(self, name: str) -> Value | None:
        maker = next((node for node in self.nodes if node.id == self.made_by[name]), None)
        found = (value for value in (maker.outputs if maker else ()) if value.name == name)
        return next(found, None)

    def _add_compiled(self, part: CompiledStatements) -> None:
        report = part.report
        results: dict[str, str] = {}
        for edge in report.graph.edges:
            source, target = edge.source, edge.target
            if target.startswith("out:"):
                results[edge.value.name] = source
                continue
            if source.startswith("in:"):
                source = self.made_by.get(source.removeprefix("in:"), source)
            self.edges.append(replace(edge, source=source, target=target, points=[], label=[]))
        known = {node.id for node in self.nodes}
        for node in report.graph.nodes:
            made_before = node.kind == "input" and node.id.removeprefix("in:") in self.made_by
            if node.kind != "output" and not made_before and node.id not in known:
                self.nodes.append(node)
        for name, source in results.items():
            if not source.startswith("in:"):
                self.made_by[name] = source
                self._name_output(name, source, report)
        bars = report.timings.timeline
        if part.runs > 1:  # the profiled run was one of the first, which fault pages in
            medians = {row.id: row.median_ms for row in report.kernels if row.median_ms is not None}
            bars = _one_after_another([replace(bar, time_ms=medians.get(bar.step, bar.time_ms)) for bar in bars])
        whole = max((b.start_ms + b.time_ms for b in bars), default=0.0)
        elapsed = part.total_ms if part.total_ms is not None else report.summary.time_ms or whole
        scale = elapsed / whole if part.total_ms is not None and whole else 1.0  # one bar stands for all runs of a step
        times = f" ×{part.runs}" if part.runs > 1 else ""
        self.timeline.extend(
            replace(
                bar,
                name=bar.name + times,
                start_ms=self.drawn_ms + bar.start_ms * scale,
                time_ms=bar.time_ms * scale,
            )
            for bar in bars
        )
        self.drawn_ms += whole * scale
        self.elapsed_ms += elapsed
        self.compiled.append(report)
        self.runs.append(part.runs)

    def _name_output(self, name: str, source: str, report: CompileReport) -> None:
        """Let the step know its result by the user's name: later parts ask for it by that."""
        maker = next((node for node in self.nodes if node.id == source), None)
        value = next(
            (e.value for e in report.graph.edges if e.target.startswith("out:") and e.value.name == name), None
        )
        if maker is not None and value is not None and all(known.name != name for known in maker.outputs):
            maker.outputs.append(value)

    def _add_results(self) -> None:
        for name, source in self.made_by.items():
            value = self._value_of(name) if self.kept(name) else None
            if value is not None:
                self.nodes.append(StepNode(f"out:{name}", "output", name, inputs=[value]))
                self.edges.append(GraphEdge(source, f"out:{name}", value))

    # ---- the report ----

    def report(self) -> CompileReport:
        first = self.compiled[0]
        fallbacks = [part.fallback for _, part in self.statements]
        fallbacks += [each for report in self.compiled for each in report.fallbacks]
        fallbacks.sort(key=lambda f: -(f.cost_ms or 0.0))
        kept = {row.name: row for report in self.compiled for row in report.kept if self.kept(row.name)}
        phases: dict[str, float] = {}
        for report in self.compiled:
            for phase in report.timings.phases:
                phases[phase.name] = phases.get(phase.name, 0.0) + phase.time_ms
        return CompileReport(
            status="partly",
            cell=self.cell,
            summary=self._summary(),
            machine=first.machine,
            stages=_joined_stages([report.stages for report in self.compiled]),
            graph=lay_out_graph(Graph(self.nodes, self.edges)),
            decisions=[row for report in self.compiled for row in report.decisions],
            kernels=self._kernels(),
            timings=Timings([self.elapsed_ms], [], [Phase(*each) for each in phases.items()], self.timeline),
            fallbacks=fallbacks,
            kept=list(kept.values()),
            crossings=[row for report in self.compiled for row in report.crossings],
            changed=", ".join(dict.fromkeys(report.changed for report in self.compiled if report.changed)),
            reason=fallbacks[0].why if fallbacks else "",
            id=first.id,
            created=first.created,
        )

    def _kernels(self) -> list[KernelRow]:
        rows: list[KernelRow] = []
        for report, runs in zip(self.compiled, self.runs, strict=True):
            for row in report.kernels:
                is_known = row.median_ms is not None and self.elapsed_ms > 0
                row.share = (row.median_ms or 0.0) * runs / self.elapsed_ms if is_known else None
            rows.extend(report.kernels)
        return rows

    def _summary(self) -> Summary:
        summaries = [report.summary for report in self.compiled]

        def total(read: Callable[[Summary], float]) -> int:
            return int(math.fsum(map(read, summaries)))

        summary = Summary(
            n_kernels=total(lambda s: s.n_kernels),
            n_ops=total(lambda s: s.n_ops),
            n_library_calls=total(lambda s: s.n_library_calls),
            n_numpy_steps=total(lambda s: s.n_numpy_steps) + len(self.statements),
            n_loops=total(lambda s: s.n_loops),
            n_branches=total(lambda s: s.n_branches),
            n_boundaries=total(lambda s: s.n_boundaries),
            time_ms=self.elapsed_ms,
            bytes_saved=total(lambda s: s.bytes_saved),
            compile_ms=math.fsum(s.compile_ms for s in summaries),
        )
        compare_with_numpy(summary, None)
        return summary


def _one_after_another(bars: Sequence[TimelineBar]) -> list[TimelineBar]:
    ends = itertools.accumulate((bar.time_ms for bar in bars), initial=0.0)
    return [replace(bar, start_ms=begin) for bar, begin in zip(bars, ends, strict=False)]


def _joined_stages(columns: Sequence[Sequence[Stage]]) -> list[Stage]:
    """The stages of all parts, pass by pass: the programs below one another."""
    joined: dict[str, Stage] = {}
    for stages in columns:
        for stage in stages:
            before = joined.get(stage.name)
            if before is None:
                joined[stage.name] = replace(stage, equations=list(stage.equations))
                continue
            shift = before.text.count("\n") + 2
            before.text = f"{before.text}\n\n{stage.text}"
            before.equations += [replace(row, text_line=row.text_line + shift) for row in stage.equations]
            before.added, before.removed = before.added + stage.added, before.removed + stage.removed
            before.time_ms += stage.time_ms
    return list(joined.values())


# ---- ids ----


def _renumbered(report: CompileReport, next_number: dict[str, int]) -> CompileReport:
    """A copy of a report whose ids (`e0`, `K0`, `L0` ...) follow those given out before."""
    first = dict(next_number)

    def new(old: str) -> str:
        match = _NUMBERED.fullmatch(old)
        if match is None:
            return old  # in:NAME, out:NAME
        letter, number = match[1], first.get(match[1], 0) + int(match[2])
        next_number[letter] = max(next_number.get(letter, 0), number + 1)
        return f"{letter}{number}"

    def all_new(ids: Iterable[str]) -> list[str]:
        return [new(each) for each in ids]

    def equation(row: EquationRow) -> EquationRow:
        return replace(row, id=new(row.id), step=new(row.step))

    def node(row: StepNode) -> StepNode:
        return replace(row, id=new(row.id), equations=all_new(row.equations), outputs=list(row.outputs))

    def decision(row: DecisionRow) -> DecisionRow:
        return replace(row, producer=new(row.producer), consumer=new(row.consumer))

    stages = [replace(stage, equations=list(map(equation, stage.equations))) for stage in report.stages]
    edges = [replace(edge, source=new(edge.source), target=new(edge.target)) for edge in report.graph.edges]
    kernels = [
        replace(row, id=new(row.id), line_equations=list(map(all_new, row.line_equations))) for row in report.kernels
    ]
    timings = replace(report.timings, timeline=[replace(bar, step=new(bar.step)) for bar in report.timings.timeline])
    return replace(
        report,
        stages=stages,
        graph=Graph(list(map(node, report.graph.nodes)), edges),
        decisions=list(map(decision, report.decisions)),
        kernels=kernels,
        timings=timings,
    )
