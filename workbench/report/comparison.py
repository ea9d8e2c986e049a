"""Two reports side by side: what changed in source, program, steps, kernels and times.

`compare(before, after)` gives a `Comparison`: data, a text of at most 100 columns, and a page.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from . import words
from .layout import TERMINALS
from .markup import tag, text_of
from .schema import CompileReport, KernelRow
from .strip import strip_of
from .text import fold

UNSURE = 0.05  # a smaller relative difference of medians is noise


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of both reports; `less_is_better` says which direction is good."""

    name: str
    before: float | None
    after: float | None
    unit: str  # "ms", "bytes", "count", "ratio"
    less_is_better: bool = True

    @property
    def verdict(self) -> str:
        """`better`, `worse`, `same`, or "" where one of the two is unknown."""
        if self.before is None or self.after is None:
            return ""
        scale = max(abs(self.before), abs(self.after))
        if not scale or abs(self.after - self.before) <= (0 if self.unit == "count" else UNSURE) * scale:
            return "same"
        return "better" if (self.after < self.before) == self.less_is_better else "worse"


@dataclass(frozen=True, slots=True)
class KernelPair:
    """A kernel of either side and its counterpart, matched by source, then by readable name and results."""

    before: KernelRow | None
    after: KernelRow | None

    @property
    def same_source(self) -> bool:
        return self.before is not None and self.after is not None and self.before.source == self.after.source


@dataclass(frozen=True, slots=True)
class Comparison:
    before: CompileReport
    after: CompileReport
    measures: list[Measure]
    source: list[str]  # a unified diff, as are the next two
    program: list[str]
    steps: list[str]
    kernels: list[KernelPair] = field(default_factory=list)

    def to_text(self) -> str:
        return "\n".join(line for text in _text(self) for line in fold(text)) + "\n"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": self.to_text(), "text/html": _html(self)}


def compare(before: CompileReport, after: CompileReport) -> Comparison:
    """What is different in `after`."""
    return Comparison(
        before,
        after,
        _measures(before, after),
        _diff(before.cell.source.splitlines(), after.cell.source.splitlines()),
        _diff(_program(before), _program(after)),
        _diff(_steps(before), _steps(after)),
        _pairs(before.kernels, after.kernels),
    )


def _measures(before: CompileReport, after: CompileReport) -> list[Measure]:
    a, b = before.summary, after.summary

    def traffic(report: CompileReport) -> float | None:
        steps = [node for node in report.graph.nodes if node.kind not in TERMINALS]
        return float(sum(v.bytes for n in steps for v in (*n.inputs, *n.outputs))) if steps else None

    return [
        Measure("time of a run", a.time_ms, b.time_ms, "ms"),
        Measure("against NumPy", a.speedup, b.speedup, "ratio", less_is_better=False),
        Measure("memory traffic", traffic(before), traffic(after), "bytes"),
        Measure("compilation", a.compile_ms or None, b.compile_ms or None, "ms"),
        Measure("kernels", a.n_kernels, b.n_kernels, "count"),
        Measure("loops", a.n_loops, b.n_loops, "count"),
        Measure("branches", a.n_branches, b.n_branches, "count"),
        Measure("library calls", a.n_library_calls, b.n_library_calls, "count"),
        Measure("NumPy steps", a.n_numpy_steps, b.n_numpy_steps, "count"),
        Measure("boundaries", a.n_boundaries, b.n_boundaries, "count"),
    ]


def _diff(before: Sequence[str], after: Sequence[str]) -> list[str]:
    lines = difflib.unified_diff(before, after, lineterm="", n=2)
    return [line for line in lines if not line.startswith(("---", "+++"))]


def _program(report: CompileReport) -> list[str]:
    return report.stages[-1].text.split("\n") if report.stages else []


def _steps(report: CompileReport) -> list[str]:
    """A line a step, without ids: an inserted step must not make all that follow differ."""
    names = {row.id: row.op or row.primitive for stage in report.stages for row in stage.equations}
    return [
        f"{node.kind} {node.title}: {', '.join(names.get(name, name) for name in node.equations)}"
        for node in report.graph.nodes
        if node.kind not in TERMINALS
    ]


def _pairs(before: Sequence[KernelRow], after: Sequence[KernelRow]) -> list[KernelPair]:
    left = list(before)
    pairs: dict[int, KernelPair] = {}
    for same in (_same_source, _same_results):
        for i, kernel in enumerate(after):
            match = None if i in pairs else next((k for k in left if same(k, kernel)), None)
            if match is not None:
                left.remove(match)
                pairs[i] = KernelPair(match, kernel)
    found = [pairs.get(i, KernelPair(None, kernel)) for i, kernel in enumerate(after)]
    return found + [KernelPair(kernel, None) for kernel in left]


def _same_source(a: KernelRow, b: KernelRow) -> bool:
    return a.source == b.source


def _same_results(a: KernelRow, b: KernelRow) -> bool:
    return Counter(v.name for v in a.outputs) == Counter(v.name for v in b.outputs) and any(v.name for v in a.outputs)


def _written(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    match unit:
        case "ms":
            return words.time(value)
        case "bytes":
            return words.size(value)
        case "ratio":
            return f"{words.three_digits(value)}×"
    return words.integer(value)


_SIGNS = {"better": "▲ better", "worse": "▼ worse", "same": "=", "": ""}


def _rows(comparison: Comparison) -> Iterator[tuple[str, str, str, str]]:
    for m in comparison.measures:
        if m.before or m.after:
            verdict = _SIGNS[m.verdict] if m.unit != "count" or m.verdict == "same" else ""
            yield m.name, _written(m.before, m.unit), _written(m.after, m.unit), verdict


def _kernel_line(pair: KernelPair) -> str:
    def time(kernel: KernelRow) -> str:
        return words.time(kernel.median_ms) if kernel.median_ms is not None else "not timed"

    if pair.before is None:
        assert pair.after is not None
        return f"+ {pair.after.id} {pair.after.name}  {time(pair.after)}"
    if pair.after is None:
        return f"− {pair.before.id} {pair.before.name}  {time(pair.before)}"
    verdict = _SIGNS[Measure("", pair.before.median_ms, pair.after.median_ms, "ms").verdict]
    change = "same source" if pair.same_source else f"was {pair.before.name}"
    return f"  {pair.after.id} {pair.after.name}  {time(pair.before)} → {time(pair.after)} {verdict}  ({change})"


def _parts(comparison: Comparison) -> Iterator[tuple[str, list[str]]]:
    yield "Source", comparison.source
    yield "Program", comparison.program
    yield "Steps", comparison.steps
    yield "Kernels", [_kernel_line(pair) for pair in comparison.kernels]


def _text(comparison: Comparison) -> Iterator[str]:
    for name, report in (("before", comparison.before), ("after ", comparison.after)):
        yield f"{name}  {report.cell.label} {strip_of(report).text.splitlines()[0].strip()}"
    yield ""
    rows = [("", "before", "after", ""), *_rows(comparison)]
    widths = [max(words.columns(row[i]) for row in rows) for i in range(3)]
    for row in rows:
        yield f"  {row[0]:{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip()
    for title, lines in _parts(comparison):
        yield ""
        yield title if lines else f"{title}: the same"
        yield from (f"  {line}" for line in lines)


def _html(comparison: Comparison) -> str:
    rows = "".join(
        "<tr>" + "".join(tag("td", text_of(cell)) for cell in row) + "</tr>"
        for row in [("", "before", "after", ""), *_rows(comparison)]
    )
    parts = [tag("table", rows)]
    for title, lines in _parts(comparison):
        body = tag("pre", text_of("\n".join(lines))) if lines else "the same"
        parts.append(f"<details open>{tag('summary', tag('b', title))}{body}</details>")
    return "".join(parts)
