"""Figures of a report with plotly: runs against NumPy, compile phases, the timeline, the roofline.

Plain `plotly.graph_objects.Figure`s, to be shown, restyled or saved as any other. template: plotly's name of a theme,
`plotly_white` or `plotly_dark`; hues are Okabe and Ito's, which hold on both.
"""

from __future__ import annotations

import math
from typing import Any

import plotly.graph_objects as go

from ..runtime.timelines import COPIES
from . import words
from .kernel_rows import roof
from .layout import TERMINALS
from .schema import CompileReport, TimelineBar

OURS, NUMPY, ACCENT, DIM = "#0072b2", "#d55e00", "#009e73", "#7f7f7f"
CYCLE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
TITLE_SIZE = 15
# Above the plot, where no axis title can meet it.
LEGEND = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "traceorder": "normal"}
LIGHT, DARK = "plotly_white", "plotly_dark"


def runs(report: CompileReport, *, template: str = LIGHT) -> go.Figure:
    """The measured runs of the cell against NumPy's, compile time left out."""
    figure = _figure(f"{_name(report)}: runs against NumPy", template, height=280)
    rows = (("NumPy", report.timings.numpy_ms, NUMPY), ("this cell", report.timings.runs_ms, OURS))
    for name, times, colour in rows:
        if times:
            figure.add_trace(
                go.Box(
                    x=times, name=name, orientation="h", boxpoints="all", jitter=0.5, pointpos=0, width=0.5,
                    marker={"color": colour, "size": 5, "opacity": 0.7}, line={"color": colour, "width": 1.5},
                    hovertemplate="%{x:.4g} ms<extra></extra>",
                )
            )  # fmt: skip
    figure.update_xaxes(title="time of a run in ms", rangemode="tozero")
    return _or_empty(figure, "nothing was timed")


def phases(report: CompileReport, *, template: str = LIGHT) -> go.Figure:
    """Compile time by phase."""
    rows = report.timings.phases[::-1]
    total = sum(phase.time_ms for phase in rows)
    figure = _figure(f"{_name(report)}: compiled in {words.time(total)}", template, height=170 + 26 * len(rows))
    if rows:
        figure.add_trace(
            go.Bar(
                x=[phase.time_ms for phase in rows], y=list(range(len(rows))), orientation="h",
                text=[words.time(phase.time_ms) for phase in rows], textposition="outside", cliponaxis=False,
                marker={"color": OURS}, customdata=[phase.name for phase in rows],
                hovertemplate="%{customdata}: %{x:.4g} ms<extra></extra>",
            )
        )  # fmt: skip
        # By position, because a pass may run twice under one name.
        figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=[_safe(p.name) for p in rows], automargin=True)
        figure.update_xaxes(title="ms", range=[0, 1.18 * max(max(phase.time_ms for phase in rows), 1e-6)])
    return _or_empty(figure, "nothing was compiled")


def timeline(report: CompileReport, *, template: str = LIGHT) -> go.Figure:
    """The profiled run, a bar a step."""
    bars = report.timings.timeline
    steps = list(dict.fromkeys(bar.step for bar in bars))
    lanes = list(dict.fromkeys(bar.lane for bar in bars))
    figure = _figure(f"{_name(report)}: one run, step by step", template, height=180 + 46 * len(lanes))
    for i, step in enumerate(steps):
        mine = [bar for bar in bars if bar.step == step]
        label = _safe(step if step == COPIES or mine[0].name == step else f"{step} {mine[0].name}")
        figure.add_trace(
            go.Bar(
                base=[bar.start_ms for bar in mine], x=[bar.time_ms for bar in mine], y=[bar.lane for bar in mine],
                orientation="h", name=label, marker={"color": CYCLE[i % len(CYCLE)]}, text=[step] * len(mine),
                textposition="inside", insidetextanchor="middle", customdata=[_hover(b, label) for b in mine],
                hovertemplate="%{customdata}<extra></extra>",
            )
        )  # fmt: skip
    figure.update_layout(barmode="overlay", showlegend=len(steps) > 1, legend=LEGEND)
    figure.update_xaxes(title="ms from the start of the run", rangemode="tozero")
    figure.update_yaxes(automargin=True, autorange="reversed")
    return _or_empty(figure, "no run was profiled")


def _hover(bar: TimelineBar, label: str) -> str:
    return f"{_safe(bar.name) if bar.step == COPIES else label}: {words.time(bar.time_ms)}"


def roofline(report: CompileReport, *, template: str = LIGHT) -> go.Figure:
    """Every measured kernel against the machine's measured limits: flops a second over flops a byte."""
    machine = report.machine
    figure = _figure(f"{_name(report)}: roofline", template, height=440)
    kernels = [k for k in report.kernels if k.median_ms and k.flops > 0 and k.bytes_moved > 0]
    intensities = [k.flops / k.bytes_moved for k in kernels]
    if machine.copy_gb_per_s and machine.peak_gflops:
        ridge = machine.peak_gflops / machine.copy_gb_per_s
        cached = max(machine.cache_gb_per_s or 0.0, machine.copy_gb_per_s)
        low = min([*intensities, machine.peak_gflops / cached, 0.05]) / 2
        high = max([*intensities, ridge]) * 4
        figure.add_trace(
            go.Scatter(
                x=[low, ridge, high], y=[low * machine.copy_gb_per_s, machine.peak_gflops, machine.peak_gflops],
                mode="lines", name="this machine's limits", line={"color": DIM, "width": 2}, hoverinfo="skip",
            )
        )  # fmt: skip
        if cached > machine.copy_gb_per_s:
            figure.add_trace(
                go.Scatter(
                    x=[low, machine.peak_gflops / cached], y=[low * cached, machine.peak_gflops], mode="lines",
                    name=f"in caches, {cached:.0f} GB/s", line={"color": DIM, "width": 1.5, "dash": "dot"},
                    hoverinfo="skip",
                )
            )  # fmt: skip
        for x, text in (
            (low ** (2 / 3) * ridge ** (1 / 3), f"copies {machine.copy_gb_per_s:.1f} GB/s"),
            (math.sqrt(ridge * high), f"at most {machine.peak_gflops:.0f} Gflop/s"),
        ):
            y = min(x * machine.copy_gb_per_s, machine.peak_gflops)
            figure.add_annotation(x=math.log10(x), y=math.log10(y), text=text, showarrow=False, yshift=14)
    for i, (kernel, intensity) in enumerate(zip(kernels, intensities, strict=True)):
        roof_ms, bound = roof(kernel.bytes_moved, kernel.flops, machine)
        assert kernel.median_ms is not None
        share = f", {words.percent(roof_ms / kernel.median_ms)} of the {bound} roof" if roof_ms is not None else ""
        label = _safe(f"{kernel.id} {kernel.name}")
        figure.add_trace(
            go.Scatter(
                x=[intensity], y=[kernel.flops / kernel.median_ms / 1e6], mode="markers+text", name=label,
                text=[kernel.id], textposition=("top center", "bottom center")[i % 2],
                marker={"size": 12, "color": CYCLE[i % len(CYCLE)]},
                hovertemplate=f"{label}<br>{words.time(kernel.median_ms)}{share}<extra></extra>",
            )
        )  # fmt: skip
    figure.update_xaxes(type="log", title="flops a byte (flops are estimates)")
    figure.update_yaxes(type="log", title="Gflop/s")
    figure.update_layout(legend=LEGEND, showlegend=bool(kernels))
    return _or_empty(figure, "no kernel was timed")


def steps(report: CompileReport, *, template: str = LIGHT) -> go.Figure:
    """Bytes that each step reads and writes."""
    nodes = [node for node in report.graph.nodes if node.kind not in TERMINALS]
    figure = _figure(f"{_name(report)}: memory traffic of each step", template, height=180 + 30 * len(nodes))
    titles = [_safe(f"{node.id} {node.title}") for node in nodes]
    for name, colour, values in (("reads", OURS, "inputs"), ("writes", NUMPY, "outputs")):
        amounts = [sum(value.bytes for value in getattr(node, values)) / 1e6 for node in nodes]
        if nodes:
            figure.add_trace(
                go.Bar(
                    x=amounts, y=titles, orientation="h", name=name, marker={"color": colour},
                    hovertemplate=f"%{{y}} {name} %{{x:.4g}} MB<extra></extra>",
                )
            )  # fmt: skip
    figure.update_layout(barmode="stack", showlegend=bool(nodes), legend=LEGEND)
    figure.update_yaxes(automargin=True, autorange="reversed")
    figure.update_xaxes(title="MB")
    return _or_empty(figure, "no step was planned")


def _figure(title: str, template: str, *, height: int) -> go.Figure:
    # The title is wrapped by hand: plotly cuts what is wider than the figure.
    lines = _wrapped(title, 60)
    layout: dict[str, Any] = {
        "template": template,
        "title": {"text": "<br>".join(map(_safe, lines)), "font": {"size": TITLE_SIZE}, "x": 0.01, "xanchor": "left",
                  "xref": "container", "yref": "container", "y": 0.97, "yanchor": "top", "automargin": True},
        "height": height + 20 * (len(lines) - 1),
        "margin": {"l": 70, "r": 30, "t": 76 + 20 * (len(lines) - 1), "b": 56},
        "showlegend": False,
        "hoverlabel": {"align": "left", "namelength": -1},
    }  # fmt: skip
    return go.Figure(layout=layout)


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [line[i : i + width] for line in lines for i in range(0, max(len(line), 1), width)]


def _safe(text: str) -> str:
    """Plotly reads some tags in labels and `%{...}` in templates: neither may come from a name."""
    escaped = words.visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("%{", "% {")


def _name(report: CompileReport) -> str:
    return report.cell.label


def _or_empty(figure: go.Figure, reason: str) -> go.Figure:
    if not figure.data:
        figure.add_annotation(
            text=reason, showarrow=False, xref="paper", yref="paper", x=0.5, y=0.5, font={"color": DIM}
        )
        figure.update_xaxes(visible=False)
        figure.update_yaxes(visible=False)
    return figure
