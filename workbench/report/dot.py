"""The cluster graph in Graphviz's language: `dot -Tsvg` draws it."""

from __future__ import annotations

from . import words
from .schema import CompileReport, StepNode

COLOURS = ("#0072b2", "#d55e00", "#008763", "#b4588e")
_SHAPES = {"input": "ellipse", "output": "ellipse", "library": "box", "numpy": "box", "kernel": "box"}


def to_dot(report: CompileReport) -> str:
    names = {node.id: f"n{i}" for i, node in enumerate(report.graph.nodes)}
    lines = [
        f"digraph {quote(report.cell.label)} {{",
        '  graph [rankdir=TB, fontname="sans-serif"];',
        '  node [shape=box, style="rounded,filled", fillcolor="#f6f7f9", fontname="sans-serif"];',
        '  edge [fontname="sans-serif", fontsize=10];',
    ]
    kernels = [node.id for node in report.graph.nodes if node.kind == "kernel"]
    for node in report.graph.nodes:
        attributes = {"label": _label(node), "shape": _SHAPES.get(node.kind, "box")}
        if node.kind == "kernel":
            attributes["color"] = COLOURS[kernels.index(node.id) % len(COLOURS)]
        elif node.kind == "library":
            attributes["peripheries"] = "2"
        elif node.kind == "numpy":
            attributes |= {"style": "rounded,dashed", "color": "#c0392b"}
        lines.append(f"  {names[node.id]} [{_written(attributes)}];")
    for edge in report.graph.edges:
        attributes = {"label": f"{edge.value.name} {words.size(edge.value.bytes)}".strip()}
        if edge.refused:
            attributes |= {"style": "dashed", "color": "#d55e00", "tooltip": f"{edge.code}: {edge.refused}"}
        lines.append(f"  {names[edge.source]} -> {names[edge.target]} [{_written(attributes)}];")
    return "\n".join([*lines, "}", ""])


def _label(node: StepNode) -> str:
    if node.kind in ("input", "output"):
        return "\n".join([node.title, *(value.aval for value in (node.outputs or node.inputs)[:1])])
    return f"{node.id} {node.title}\n{words.count(len(node.equations), 'op')}"


def _written(attributes: dict[str, str]) -> str:
    return ", ".join(f"{key}={quote(value)}" for key, value in attributes.items())


def quote(text: str) -> str:
    """A string of Graphviz's language; what follows a backslash there is never a command of ours."""
    escaped = words.visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
