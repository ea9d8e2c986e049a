"""A report with its links worked out: which line an equation belongs to, where time went. Shared by the exports.

The same rules as in extension/src/model.ts, so that the same numbers stand beside the same lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..runtime.timelines import IN_LOOPS
from .layout import TERMINALS
from .schema import CompileReport, EquationRow


@dataclass(slots=True)
class SourceLine:
    """A line of the cell. steps: which compute something of it; heat: its estimated share of the time, 0..1."""

    number: int
    text: str
    steps: list[str] = field(default_factory=list)
    heat: float | None = None


@dataclass(slots=True)
class ReportModel:
    report: CompileReport
    equations: dict[str, EquationRow] = field(init=False)  # as the last stage that has each shows it
    step_of: dict[str, str] = field(init=False)
    shares: dict[str, float] = field(init=False)  # of the measured time, by step
    times_ms: dict[str, float] = field(init=False)  # of a step: a kernel's median, else its part of the profiled run
    lines: list[SourceLine] = field(init=False)

    def __post_init__(self) -> None:
        report = self.report
        self.equations = {row.id: row for stage in report.stages for row in stage.equations}
        self.step_of = {row.id: row.step for stage in report.stages for row in stage.equations if row.step}
        for node in report.graph.nodes:
            for name in node.equations:
                self.step_of.setdefault(name, node.id)
        self.shares = step_shares(report)
        self.times_ms = profiled_times(report)
        self.times_ms.update({k.id: k.median_ms for k in report.kernels if k.median_ms is not None})
        self.lines = self._lines()

    def operation(self, equation_id: str) -> str:
        """What an equation is called by the user, `sum`, or the title of the step with this id."""
        row = self.equations.get(equation_id)
        if row is not None:
            return row.op or row.primitive
        return next((n.title for n in self.report.graph.nodes if n.id == equation_id), equation_id)

    def steps(self) -> list[str]:
        return [node.id for node in self.report.graph.nodes if node.kind not in TERMINALS]

    def _lines(self) -> list[SourceLine]:
        texts = self.report.cell.source.removesuffix("\n").split("\n")
        lines = [SourceLine(i + 1, text) for i, text in enumerate(texts)]
        order = {step: i for i, step in enumerate(self.steps())}
        final = {row.id for stage in self.report.stages[-1:] for row in stage.equations}
        members: dict[str, int] = {}
        for step in self.step_of.values():
            members[step] = members.get(step, 0) + 1
        for name, row in self.equations.items():
            step = self.step_of.get(name, "")
            starts = {span.line for span in row.spans if 1 <= span.line <= len(lines)}
            for number in sorted(starts):
                line = lines[number - 1]
                if step and step not in line.steps:
                    line.steps.append(step)
                if name in final and step in self.shares:
                    line.heat = (line.heat or 0.0) + self.shares[step] / members[step] / len(starts)
        for node in self.report.graph.nodes:
            places = {span.line for span in node.spans if 1 <= span.line <= len(lines)}
            for number in sorted(places):
                line = lines[number - 1]
                line.steps.append(node.id)
                if node.id in self.shares:
                    line.heat = (line.heat or 0.0) + self.shares[node.id] / len(places)
        for line in lines:
            line.steps.sort(key=lambda step: order.get(step, len(order)))
        return lines


def profiled_times(report: CompileReport) -> dict[str, float]:
    """Milliseconds of the profiled run, by step."""
    times: dict[str, float] = {}
    for bar in report.timings.timeline:
        times[bar.step] = times.get(bar.step, 0.0) + bar.time_ms
    return times


def step_shares(report: CompileReport) -> dict[str, float]:
    """Of the profiled run; of the kernels' medians where there is no timeline."""
    times = profiled_times(report)
    total = sum(bar.time_ms for bar in report.timings.timeline if bar.lane != IN_LOOPS)
    if total > 0:
        return {step: time_ms / total for step, time_ms in times.items()}
    return {kernel.id: kernel.share for kernel in report.kernels if kernel.share is not None}
