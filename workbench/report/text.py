"""A report as plain text, complete, at most `WIDTH` columns wide: for terminals, logs, GitHub and screen readers.

Nothing is cut: long lines are continued under themselves. Characters that would act on a terminal are shown instead.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence

from . import words
from .layout import TERMINALS
from .model import ReportModel
from .schema import CompileReport, DecisionRow, KernelRow, SourceSpan, Value
from .strip import WIDTH, strip_of

BOLD, DIM, RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"
BAR = 24


def to_text(report: CompileReport, *, colour: bool = False, only: Iterable[str] | None = None) -> str:
    """The report, or the sections that `only` names, as text. colour: with ANSI codes."""
    model = ReportModel(report)
    chosen = SECTIONS if only is None else {name: SECTIONS[name] for name in _known(only)}
    blocks = []
    for title, write in chosen.values():
        lines = [line for text in write(model) for line in fold(text)]
        if lines:
            if title:
                lines.insert(0, _styled(title, BOLD, colour))
            blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _known(names: Iterable[str]) -> list[str]:
    names = list(names)
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        raise ValueError(f"no section {', '.join(map(repr, unknown))} in a report; there are {', '.join(SECTIONS)}")
    return names


def _styled(text: str, style: str, colour: bool) -> str:
    return f"{style}{text}{RESET}" if colour else text


def fold(text: str, width: int = WIDTH) -> list[str]:
    """`text` in lines of at most `width` columns, continued two columns further in."""
    lines = []
    for line in words.visible(text).split("\n"):
        indent = min(len(line) - len(line.lstrip()), width // 2) + 2
        while words.columns(line) > width:
            cut = _cut(line, width, indent)
            lines.append(line[:cut].rstrip())
            line = " " * indent + line[cut:].lstrip()
        lines.append(line.rstrip())
    return lines


def _cut(line: str, width: int, indent: int) -> int:
    """Where to break: after the last space that leaves more than the indent, else at the width."""
    taken = 0
    end = len(line)
    for i, char in enumerate(line):
        taken += words.columns(char)
        if taken > width:
            end = i
            break
    space = line.rfind(" ", indent + 1, end + 1)
    return space if space > width // 2 else end


def _columns(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Iterator[str]:
    """Rows as aligned columns; those in `right` end flush."""
    widths = [max(words.columns(cell) for cell in column) for column in zip(*rows, strict=True)] if rows else []
    for row in rows:
        cells = []
        for i, (cell, width) in enumerate(zip(row, widths, strict=True)):
            gap = " " * (width - words.columns(cell))
            cells.append(gap + cell if i in right else cell + gap)
        yield "  " + "  ".join(cells).rstrip()


def _value(value: Value) -> str:
    return f"{value.name}:{value.aval}" if value.name else value.aval


# ---- the sections ----


def _strip(model: ReportModel) -> Iterator[str]:
    report = model.report
    yield f"{report.cell.label}" + (f"   {report.created}" if report.created else "")
    yield strip_of(report).text
    reason = report.reason.strip()
    if report.status not in ("numpy", "failed") and reason:
        yield f"   {reason}"


def _source(model: ReportModel) -> Iterator[str]:
    if not model.report.cell.source.strip():
        return
    tags = [_tags(line.steps) for line in model.lines]
    widest = max((len(tag) for tag in tags), default=0)
    for line, tag in zip(model.lines, tags, strict=True):
        heat = "" if line.heat is None else words.percent(line.heat)
        gutter = f"{line.number:4}  {tag:{widest}}  {heat:>5} │ "
        text = line.text.expandtabs(4)
        room = WIDTH - len(gutter)
        first, *rest = fold(text, room) or [""]
        yield gutter + first
        for more in rest:
            yield " " * (len(gutter) - 2) + "│ " + more


def _tags(steps: Sequence[str]) -> str:
    return " ".join(steps) if len(steps) <= 3 else f"{steps[0]} … {steps[-1]}"


def _ir(model: ReportModel) -> Iterator[str]:
    stages = model.report.stages
    if not stages:
        return
    rows = [
        (s.name, words.count(len(s.equations), "equation"), f"+{s.added}" if s.added else "",
         f"−{s.removed}" if s.removed else "", words.time(s.time_ms))
        for s in stages
    ]  # fmt: skip
    yield from _columns(rows, right=(1, 2, 3, 4))
    yield ""
    last = stages[-1]
    starts = {row.text_line: row for row in last.equations}
    widest = max((len(row.step) for row in last.equations), default=0)
    for number, line in enumerate(last.text.split("\n"), 1):
        row = starts.get(number)
        tag = row.step if row is not None else ""
        mark = "⌀" if row is not None and row.step and not row.in_memory else " "
        gutter = f"  {tag:{widest}} {mark} │ "
        for i, part in enumerate(fold(line, WIDTH - len(gutter))):
            yield (gutter if i == 0 else " " * (len(gutter) - 2) + "│ ") + part
    if any(row.step and not row.in_memory for row in last.equations):
        yield "  ⌀ never reaches memory"


def _graph(model: ReportModel) -> Iterator[str]:
    graph = model.report.graph
    for node in graph.nodes:
        if node.kind in TERMINALS:
            continue
        share = f", {words.percent(model.shares[node.id])} of the time" if node.id in model.shares else ""
        scope = f", scope {node.scope}" if node.scope else ""
        kind = {"numpy": "NumPy ", "library": "library call ", "check": ""}.get(node.kind, f"{node.kind} ")
        yield f"  {node.id}  {kind}{node.title}: {words.count(len(node.equations), 'op')}{share}{scope}"
        if node.reason:
            yield f"        {node.reason}"
        for edge in graph.edges:
            if edge.target == node.id:
                origin = edge.source.removeprefix("in:") if edge.source.startswith("in:") else edge.source
                refused = f"   ✂ {edge.code}: {edge.refused}" if edge.refused else ""
                name = "" if edge.source == f"in:{edge.value.name}" else f" {edge.value.name}".rstrip()
                yield f"        ← {origin}{name} {edge.value.aval}, {words.size(edge.value.bytes)}{refused}"
        for edge in graph.edges:
            if edge.source == node.id and edge.target.startswith("out:"):
                yield f"        → {edge.target.removeprefix('out:')} {edge.value.aval}, {words.size(edge.value.bytes)}"


def _kernels(model: ReportModel) -> Iterator[str]:
    for kernel in model.report.kernels:
        yield f"  {kernel.id}  {kernel.name}"
        for fact in kernel_facts(kernel):
            yield f"      {fact}"
        yield ""
        for line in kernel.source.rstrip("\n").split("\n"):
            yield f"      {line}"
        texts = [(kind, text) for kind, text in (("llvm", kernel.llvm), ("asm", kernel.asm)) if text is not None]
        if texts:
            yield ""
        for kind, text in texts:
            size = words.count(text.n_lines, "line") if text.is_loaded else "not written yet"
            yield f'      {kind}: {size}; print(report.kernels["{kernel.id}"].{kind})'
        yield ""


def kernel_facts(kernel: KernelRow) -> list[str]:
    """What is known of a kernel, a line an aspect."""
    reads, writes = ", ".join(map(_value, kernel.inputs)), ", ".join(map(_value, kernel.outputs))
    facts = [f"reads {reads or 'nothing'}; writes {writes or 'nothing'}"]
    work = [
        words.count(kernel.n_elements, "element"),
        f"{words.size(kernel.bytes_moved)} moved",
        f"about {words.flops(kernel.flops)}",
        words.count(kernel.threads, "thread"),
        kernel.target,
    ]
    facts.append(", ".join(work))
    if kernel.launch:
        facts.append(kernel.launch)
    if kernel.median_ms is not None:
        spread = f" ± {words.time(kernel.iqr_ms / 2)}" if kernel.iqr_ms is not None else ""
        n = f" ({words.count(len(kernel.runs_ms), 'run')})" if kernel.runs_ms else ""
        share = f", {words.percent(kernel.share)} of the cell" if kernel.share is not None else ""
        facts.append(f"{words.time(kernel.median_ms)}{spread}{n}{share}{roof_in_words(kernel)}")
    made = "loaded from the cache" if kernel.cached else "compiled"
    facts.append(f"{made} in {words.time(kernel.compile_ms)}" if kernel.compile_ms > 0 else made)
    return facts


def roof_in_words(kernel: KernelRow) -> str:
    """`, 77 % of the memory roof`. More than all of it is a warning: the data was in a cache, or the roof is wrong."""
    if kernel.bound == "overhead":
        return ", too short for a roof: launching it takes most of the time"
    if kernel.roof_share is None:
        return ""
    roof = f"{words.percent(kernel.roof_share)} of the {kernel.bound or 'machine'} roof"
    return f", ⚠ {roof}: its data was in a cache" if kernel.roof_share > 1 else f", {roof}"


def _timings(model: ReportModel) -> Iterator[str]:
    timings, summary = model.report.timings, model.report.summary
    runs = [
        (name, *_distribution(times)) for name, times in (("this cell", timings.runs_ms), ("NumPy", timings.numpy_ms))
        if times
    ]  # fmt: skip
    if runs:
        yield "  runs, without compilation"
        yield from ("  " + line for line in _columns(runs, right=(1,)))
    if timings.phases:
        yield f"  compilation {words.time(summary.compile_ms)}" if summary.compile_ms > 0 else "  compilation, earlier"
        longest = max(phase.time_ms for phase in timings.phases) or 1.0
        rows = [(p.name, words.time(p.time_ms), "█" * round(BAR * p.time_ms / longest)) for p in timings.phases]
        yield from ("  " + line for line in _columns(rows, right=(1,)))
    if timings.timeline:
        yield "  one run, step by step"
        end = max(bar.start_ms + bar.time_ms for bar in timings.timeline) or 1.0
        rows = [
            (bar.step, bar.name if bar.name != bar.step else "", bar.lane, words.time(bar.start_ms),
             words.time(bar.time_ms), _bar(bar.start_ms / end, bar.time_ms / end))
            for bar in timings.timeline
        ]  # fmt: skip
        yield from ("  " + line for line in _columns(rows, right=(3, 4)))


def _bar(start: float, length: float) -> str:
    before = min(BAR - 1, round(start * BAR))
    return " " * before + "█" * max(1, min(BAR - before, round(length * BAR)))


def _distribution(times: Sequence[float]) -> tuple[str, str]:
    n = words.count(len(times), "run")
    if len(times) == 1:
        return words.time(times[0]), n
    return f"median {words.time(statistics.median(times))}", f"{words.time(min(times))} … {words.time(max(times))}, {n}"


def _why(model: ReportModel) -> Iterator[str]:
    report = model.report
    if report.fallbacks:
        yield "  not compiled"
    for fallback in sorted(report.fallbacks, key=lambda f: -(f.cost_ms or 0.0)):
        cost = f" (costs {words.time(fallback.cost_ms)} a run)" if fallback.cost_ms is not None else ""
        op = f"{fallback.op}: " if fallback.op and fallback.op not in fallback.why else ""
        first, *more = fallback.why.splitlines() or [""]
        yield f"    {fallback.code}  {op}{first}{cost}"
        yield from (f"           {line}" for line in more)
        if fallback.span is not None and 1 <= fallback.span.line <= len(model.lines):
            yield from _excerpt(model, fallback.span)
        for i, fix in enumerate(fallback.fix.splitlines()):
            yield f"        {'fix  ' if i == 0 else '     '}{fix}"
    for title, merged in (("not fused", False), ("fused", True)):
        rows = [d for d in report.decisions if d.merged is merged]
        if rows:
            yield f"  {title}"
        for decision in sorted(rows, key=lambda d: -d.bytes_saved):
            yield from (f"    {line}" for line in _decision(model, decision))
    if report.kept:
        yield "  names that the cell keeps"
        for kept in report.kept:
            cost = f", +{words.time(kept.cost_ms)} a run" if kept.cost_ms is not None else ""
            yield f"    {kept.name} {kept.aval}, {words.size(kept.bytes)}{cost}"
    if report.verification is not None:
        found = report.verification
        verdict = "same result" if found.ok else "different results"
        yield f"  compared with NumPy{words.ago(found.runs_ago)}: {verdict}, {words.ulp(found.max_ulp)}"
        for row in found.results:
            name, ulp = row.get("name", ""), row.get("max_ulp")
            verdict = "" if row.get("ok", True) else "  ⚠ differs"
            yield f"    {name}  {words.ulp(ulp if isinstance(ulp, int | float) else None)}{verdict}"


def _excerpt(model: ReportModel, span: SourceSpan) -> Iterator[str]:
    """The line with carets under the sub-expression; a line too long for that is left to folding, without carets."""
    text = model.lines[span.line - 1].text
    col, end = span.col, span.end_col if span.end_line == span.line else len(text)
    gutter = f"      {model.report.cell.label}:{span.line}  "
    yield gutter + text
    if words.columns(gutter + text) <= WIDTH:
        shown = words.columns(gutter + text[:col])
        yield " " * shown + "~" * max(1, words.columns(text[col:end]))


def _decision(model: ReportModel, decision: DecisionRow) -> Iterator[str]:
    ends = []
    for name in (decision.producer, decision.consumer):
        step = model.step_of.get(name, "")
        ends.append(f"{model.operation(name)}{f' ({step})' if step else ''}")
    verb = "saves" if decision.merged else "costs"
    price = f", {verb} {words.size(decision.bytes_saved)}" if decision.bytes_saved else ""
    sign = "+" if decision.merged else "✂"
    yield f"{ends[0]} {sign} {ends[1]}  {_value(decision.value)}{price}"
    yield f"      {decision.code}  {decision.reason}"


def _machine(model: ReportModel) -> Iterator[str]:
    machine = model.report.machine
    facts = [
        machine.description,
        words.count(machine.threads, "thread"),
        f"copies {machine.copy_gb_per_s:.1f} GB/s" if machine.copy_gb_per_s is not None else "",
        f"{machine.cache_gb_per_s:.0f} GB/s in caches" if machine.cache_gb_per_s is not None else "",
        f"at most {machine.peak_gflops:.0f} Gflop/s" if machine.peak_gflops is not None else "",
        *(f"{name} {version}" for name, version in machine.versions.items()),
    ]
    yield "  " + ", ".join(fact for fact in facts if fact)
    for crossing in model.report.crossings:
        what = f"{crossing.name}, " if crossing.name else ""
        times = f", {words.count(crossing.count, 'time')}" if crossing.count > 1 else ""
        waited = f", the host waited {words.time(crossing.time_ms)}" if crossing.time_ms else ""
        yield f"  {words.size(crossing.bytes)} {crossing.direction}: {what}{crossing.why}{times}{waited}"


Section = Callable[[ReportModel], Iterator[str]]
SECTIONS: dict[str, tuple[str, Section]] = {
    "strip": ("", _strip),
    "source": ("Code: line, steps, share of the time", _source),
    "ir": ("Program, and the passes that made it", _ir),
    "graph": ("Steps", _graph),
    "kernels": ("Kernels", _kernels),
    "timings": ("Timings", _timings),
    "why": ("Why", _why),
    "machine": ("Measured on", _machine),
}
