"""A report as HTML: a fragment for notebooks, and a page of its own. No script, no link, everything escaped.

The fragment shows the strip and opens to the card and the plain text; the card is an image, so that it survives where
markup is cleaned and none of its styles reach the notebook. The page has the views side by side.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

from . import words
from .markup import attribute, tag, text_of
from .model import ReportModel
from .schema import CompileReport, DecisionRow, KernelRow, Text, Value
from .strip import strip_of
from .svg import graph_svg, to_svg
from .text import kernel_facts, to_text


def to_fragment(report: CompileReport) -> str:
    strip = strip_of(report)
    image = base64.b64encode(to_svg(report).encode()).decode()
    card = f'<img alt="{attribute(strip.text)}" src="data:image/svg+xml;base64,{image}" style="max-width:100%">'
    status = tag("b", text_of(f"{strip.icon} {strip.status}"))
    facts = [*strip.facts, *strip.reason.splitlines()]
    summary = tag("summary", f"{status} {text_of(' · '.join(facts))}")
    plain = tag("details", tag("summary", "as text") + tag("pre", text_of(to_text(report))))
    return f"<details>{summary}<div>{card}</div>{plain}</details>"


STYLE = """
:root{color-scheme:light dark;--ground:#fff;--raised:#f6f7f9;--text:#1b1f24;--dim:#59616e;--line:#d8dce2;
--h0:#0072b2;--h1:#d55e00;--h2:#008763;--h3:#b4588e;--bad:#c0392b;--heat:213,94,0}
@media (prefers-color-scheme:dark){:root{--ground:#16191d;--raised:#20252b;--text:#e6e9ed;--dim:#a2aab5;--line:#3a414b;
--h0:#4aa8e0;--h1:#f08a3c;--h2:#2fbf94;--h3:#d98cbb;--bad:#f0776a;--heat:240,138,60}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:24px;background:var(--ground);color:var(--text);
font:14px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}
h1{font-size:22px;margin:0 0 4px}h2{font-size:16px;margin:32px 0 8px}h3{font-size:14px;margin:18px 0 6px}
.strip{margin:0;font-size:15px;white-space:pre-wrap}.dim,small{color:var(--dim)}
pre,code,.code{font-family:ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:12.5px}
pre{margin:0;overflow-x:auto;padding:10px 12px;background:var(--raised);border:1px solid var(--line);border-radius:6px}
.wide{overflow-x:auto}.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(460px,100%),1fr));gap:16px;
align-items:start}
table{border-collapse:collapse}td,th{padding:2px 10px 2px 0;text-align:left;vertical-align:top}
th{font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.code table{width:100%}.code td{padding:1px 8px;white-space:pre-wrap;overflow-wrap:anywhere}
.code td.n,.code td.t{color:var(--dim);white-space:nowrap;width:1%}.code td.t{white-space:normal;min-width:7.5em}
.code{background:var(--raised);border:1px solid var(--line);border-radius:6px;padding:8px 0}
.tag{display:inline-block;padding:0 6px;border:1.5px solid var(--dim);border-radius:5px;font-size:11.5px;
font-weight:600;color:var(--text)}
.t0{border-color:var(--h0)}.t1{border-color:var(--h1)}.t2{border-color:var(--h2)}.t3{border-color:var(--h3)}
.tn{border-color:var(--bad);border-style:dashed}.tl{border-style:double;border-width:3px}
.bar{display:inline-block;height:9px;min-width:1px;background:var(--h0);border-radius:2px}
details{margin:8px 0}summary{cursor:pointer}ul{padding-left:20px;margin:4px 0}li{margin:3px 0}
mark{background:rgba(var(--heat),.4);color:inherit}.bad{color:var(--bad);font-weight:600}svg{max-width:100%;height:auto;display:block;margin:auto}
@media (forced-colors:active){.bar{background:CanvasText}}
"""


def to_page(report: CompileReport) -> str:
    """A page of its own: strip, code beside its program, graph, kernels, timings, reasons."""
    return _Page(report).html()


class _Page:
    def __init__(self, report: CompileReport):
        self.report = report
        self.model = ReportModel(report)
        kernels = [node.id for node in report.graph.nodes if node.kind == "kernel"]
        self.classes = {name: f"tag t{i % 4}" for i, name in enumerate(kernels)}
        self.classes |= {n.id: "tag tl" for n in report.graph.nodes if n.kind in ("library", "check")}
        self.classes |= {n.id: "tag tn" for n in report.graph.nodes if n.kind == "numpy"}

    def html(self) -> str:
        label = self.report.cell.label
        parts = [
            f"<header><h1>{text_of(label)}</h1>{tag('p', text_of(strip_of(self.report).text), **{'class': 'strip'})}",
            "</header><main>",
            *self.sections(),
            "</main>",
        ]
        policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            f"<title>{text_of(label)} · workbench report</title><style>{STYLE}</style></head>"
            f"<body>{''.join(parts)}</body></html>\n"
        )

    def sections(self) -> Iterator[str]:
        views = (
            ("Why it was not compiled", self.fallbacks),
            ("Code", self.code),
            ("Graph", self.graph),
            ("Kernels", self.kernels),
            ("Timings", self.timings),
            ("Why", self.why),
            ("Measured on", self.machine),
        )
        for title, view in views:
            body = "".join(view())
            if body:
                yield tag("section", f"<h2>{title}</h2>{body}")

    def tags(self, steps: list[str]) -> str:
        return " ".join(f'<span class="{self.classes.get(s, "tag")}">{text_of(s)}</span>' for s in steps if s)

    # ---- code ----

    def code(self) -> Iterator[str]:
        if not self.report.cell.source.strip():
            return
        rows = []
        for line in self.model.lines:
            heat = "" if line.heat is None else words.percent(line.heat)
            shade = "" if not line.heat else f' style="background:rgba(var(--heat),{0.05 + 0.45 * line.heat:.2f})"'
            gutter = f'<td class="n">{line.number}</td><td class="t">{self.tags(line.steps)}</td>'
            rows.append(f'<tr{shade}>{gutter}<td class="n">{heat}</td><td>{text_of(line.text)}</td></tr>')
        source = f"<h3>Source <small>steps, share of the time</small></h3>{_code_table(rows)}"
        yield f'<div class="pair"><div>{source}</div><div>{"".join(self.program())}</div></div>'

    def program(self) -> Iterator[str]:
        stages = self.report.stages
        if not stages:
            return
        last = stages[-1]
        starts = {row.text_line: row for row in last.equations}
        rows = []
        for number, line in enumerate(last.text.split("\n"), 1):
            row = starts.get(number)
            unstored = '<span title="never reaches memory">⌀</span>' if row and row.step and not row.in_memory else ""
            steps = self.tags([row.step]) if row is not None else ""
            rows.append(f'<tr><td class="t">{steps} {unstored}</td><td>{text_of(line)}</td></tr>')
        yield f"<h3>Program <small>⌀ never reaches memory</small></h3>{_code_table(rows)}"
        rows = [
            f'<tr><td>{text_of(s.name)}</td><td class="n">{words.count(len(s.equations), "equation")}</td>'
            f'<td class="n">{f"+{s.added}" if s.added else ""}</td><td class="n">{f"−{s.removed}" if s.removed else ""}'
            f'</td><td class="n">{words.time(s.time_ms)}</td></tr>'
            for s in stages
        ]
        yield f"<details><summary>after each pass</summary><table>{''.join(rows)}</table>"
        for stage in stages:
            yield f"<details><summary>{text_of(stage.name)}</summary>{tag('pre', text_of(stage.text))}</details>"
        yield "</details>"

    # ---- graph, kernels ----

    def graph(self) -> Iterator[str]:
        if self.report.graph.nodes:
            yield tag("div", graph_svg(self.report), **{"class": "wide"})

    def kernels(self) -> Iterator[str]:
        for kernel in self.report.kernels:
            facts = "".join(tag("li", text_of(fact)) for fact in kernel_facts(kernel))
            summary = f"{self.tags([kernel.id])} {tag('code', text_of(kernel.name))} {self.median(kernel)}"
            yield f"<details open><summary>{summary}</summary><ul>{facts}</ul>{tag('pre', text_of(kernel.source))}"
            for name, long in (("LLVM", kernel.llvm), ("assembly", kernel.asm)):
                if long is not None:
                    head = tag("pre", text_of(long.head))
                    yield f"<details><summary>{name} {_extent(long)}</summary>{head}</details>"
            yield "</details>"

    def median(self, kernel: KernelRow) -> str:
        return "" if kernel.median_ms is None else f"<small>{words.time(kernel.median_ms)}</small>"

    # ---- timings ----

    def timings(self) -> Iterator[str]:
        timings = self.report.timings
        longest = max([*timings.runs_ms, *timings.numpy_ms], default=0.0) or 1.0
        rows = [
            _bar_row(name, sorted(times)[len(times) // 2], longest, f"{words.count(len(times), 'run')}, "
                     f"{words.time(min(times))} … {words.time(max(times))}")
            for name, times in (("this cell", timings.runs_ms), ("NumPy", timings.numpy_ms)) if times
        ]  # fmt: skip
        if rows:
            yield f"<h3>Runs <small>median, without compilation</small></h3><table>{''.join(rows)}</table>"
        if timings.phases:
            longest = max(phase.time_ms for phase in timings.phases) or 1.0
            rows = [_bar_row(phase.name, phase.time_ms, longest) for phase in timings.phases]
            yield f"<h3>Compilation</h3><table>{''.join(rows)}</table>"
        if timings.timeline:
            longest = max(bar.time_ms for bar in timings.timeline) or 1.0
            rows = [_bar_row(f"{bar.step} {bar.name}", bar.time_ms, longest, bar.lane) for bar in timings.timeline]
            yield f"<h3>One run, step by step</h3><table>{''.join(rows)}</table>"

    # ---- reasons ----

    def fallbacks(self) -> Iterator[str]:
        for fallback in self.report.fallbacks:
            cost = f" <small>costs {words.time(fallback.cost_ms)} a run</small>" if fallback.cost_ms is not None else ""
            yield f"<p><b>{text_of(fallback.code)}</b> {text_of(fallback.op)} {text_of(fallback.why)}{cost}</p>"
            span = fallback.span
            if span is not None and 1 <= span.line <= len(self.model.lines):
                line = self.model.lines[span.line - 1].text
                end = span.end_col if span.end_line == span.line else len(line)
                marked = f"{text_of(line[: span.col])}<mark>{text_of(line[span.col : end])}</mark>{text_of(line[end:])}"
                yield f"<pre>{span.line}  {marked}</pre>"
            if fallback.fix:
                yield f"<h3>Fix</h3>{tag('pre', text_of(fallback.fix))}"

    def why(self) -> Iterator[str]:
        report = self.report
        for title, merged in (("Not fused", False), ("Fused", True)):
            rows = sorted((d for d in report.decisions if d.merged is merged), key=lambda d: -d.bytes_saved)
            if rows:
                items = "".join(tag("li", self.decision(row)) for row in rows)
                opened = "" if merged else " open"
                yield f"<details{opened}><summary>{title}: {len(rows)}</summary><ul>{items}</ul></details>"
        if report.kept:
            yield "<h3>Names that the cell keeps</h3><ul>"
            for kept in report.kept:
                cost = f", +{words.time(kept.cost_ms)} a run" if kept.cost_ms else ""
                yield tag("li", _value(Value(kept.name, kept.aval, kept.bytes)) + cost)
            yield "</ul>"
        found = report.verification
        if found is not None:
            verdict = "same result" if found.ok else '<span class="bad">different results</span>'
            yield f"<h3>Compared with NumPy{words.ago(found.runs_ago)}</h3>"
            yield f"<p>{verdict}, at most {words.ulp(found.max_ulp)}</p>"

    def decision(self, row: DecisionRow) -> str:
        ends = [
            f"<b>{text_of(self.model.operation(name))}</b> {self.tags([self.model.step_of.get(name, '')])}"
            for name in (row.producer, row.consumer)
        ]
        verb = "saves" if row.merged else "costs"
        price = f", {verb} {words.size(row.bytes_saved)}" if row.bytes_saved else ""
        sign = "+" if row.merged else "✂"
        reason = f"{text_of(row.reason)} <small>{text_of(row.code)}</small>"
        return f"{ends[0]} {sign} {ends[1]}: {reason}<br><small>{_value(row.value)}{price}</small>"

    def machine(self) -> Iterator[str]:
        yield tag("p", text_of(to_text(self.report, only=["machine"]).split("\n", 1)[1].strip()), **{"class": "dim"})


def _code_table(rows: list[str]) -> str:
    return f'<div class="code"><table>{"".join(rows)}</table></div>'


def _bar_row(name: str, time_ms: float, longest: float, note: str = "") -> str:
    bar = f'<span class="bar" style="width:{260 * time_ms / longest:.0f}px"></span>'
    cells = f'<td>{text_of(name)}</td><td>{bar}</td><td class="n">{words.time(time_ms)}</td>'
    return f'<tr>{cells}<td class="dim">{text_of(note)}</td></tr>'


def _extent(text: Text) -> str:
    if text.complete:
        return f"<small>{words.count(text.n_lines, 'line')}</small>"
    return f"<small>the first of {words.count(text.n_lines, 'line')}</small>"


def _value(value: Value) -> str:
    name = f"<b>{text_of(value.name)}</b> " if value.name else ""
    return f"{name}<code>{text_of(value.aval)}</code> {words.size(value.bytes)}"
