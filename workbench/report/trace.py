"""A run as a Chrome trace (the Trace Event Format), which https://ui.perfetto.dev and chrome://tracing draw.

Two processes: the profiled run, a bar a step on the lane that ran it (a GPU's steps and its copies have lanes of their
own), and the compilation, a bar a phase. The same cell run without the compiler gives a trace of its own with a bar an
operation (`timeline_trace` of its bars).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..runtime.timelines import COPIES
from .model import ReportModel
from .schema import CompileReport, TimelineBar

RUN, COMPILATION = 1, 2
US = 1e3  # the format's unit is the microsecond


def to_trace(report: CompileReport) -> dict[str, Any]:
    """The trace of a report."""
    model = ReportModel(report)
    nodes = {node.id: node for node in report.graph.nodes}
    kernels = {kernel.id: kernel for kernel in report.kernels}

    def details(bar: TimelineBar) -> dict[str, Any]:
        node, kernel = nodes.get(bar.step), kernels.get(bar.step)
        found: dict[str, Any] = {"step": bar.step}
        if node is not None:
            lines = sorted({s.line for e in node.equations if e in model.equations for s in model.equations[e].spans})
            found |= {"kind": node.kind, "operations": [model.operation(e) for e in node.equations], "lines": lines}
        if kernel is not None:
            found |= {"bytes": kernel.bytes_moved, "flops": kernel.flops, "threads": kernel.threads}
        return found

    events = [*_lanes(RUN, f"{report.cell.label}: one run", report.timings.timeline)]
    lanes = _lane_numbers(report.timings.timeline)
    for bar in report.timings.timeline:
        kind = nodes[bar.step].kind if bar.step in nodes else "copy" if bar.step == COPIES else "step"
        events.append(_bar(RUN, lanes[bar.lane], bar, kind, details(bar)))
    events += _phases(report)
    return {
        "displayTimeUnit": "ms",
        "otherData": {"label": report.cell.label, "status": report.status, "machine": report.machine.description},
        "traceEvents": events,
    }


def timeline_trace(label: str, bars: Iterable[TimelineBar], kind: str = "operation") -> dict[str, Any]:
    """The trace of bars alone, such as those of a cell that NumPy ran operation by operation."""
    bars = list(bars)
    lanes = _lane_numbers(bars)
    events = [*_lanes(RUN, label, bars), *(_bar(RUN, lanes[b.lane], b, kind, {"step": b.step}) for b in bars)]
    return {"displayTimeUnit": "ms", "otherData": {"label": label}, "traceEvents": events}


def _lane_numbers(bars: Iterable[TimelineBar]) -> dict[str, int]:
    return {lane: i + 1 for i, lane in enumerate(dict.fromkeys(bar.lane for bar in bars))}


def _lanes(process: int, title: str, bars: Iterable[TimelineBar]) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": title}}
    yield {"ph": "M", "name": "process_sort_index", "pid": process, "args": {"sort_index": process}}
    for lane, number in _lane_numbers(bars).items():
        yield {"ph": "M", "name": "thread_name", "pid": process, "tid": number, "args": {"name": lane}}


def _bar(process: int, lane: int, bar: TimelineBar, kind: str, details: dict[str, Any]) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": bar.name or bar.step,
        "cat": kind,
        "ts": bar.start_ms * US,
        "dur": bar.time_ms * US,
        "pid": process,
        "tid": lane,
        "args": details,
    }


def _phases(report: CompileReport) -> Iterator[dict[str, Any]]:
    start = 0.0
    bars = []
    for phase in report.timings.phases:
        bars.append(TimelineBar("", phase.name, start, phase.time_ms, "compiler"))
        start += phase.time_ms
    if bars:
        yield from _lanes(COMPILATION, f"{report.cell.label}: compilation", bars)
        yield from (_bar(COMPILATION, 1, bar, "compilation", {}) for bar in bars)
