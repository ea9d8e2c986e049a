"""Reports drawn by hand: a small language for the samples, so that ids, spans, names and data flow agree.

A `Sketch` is a cell with its equations in order; each names the value it makes, the step that computes it, and the
sub-expression it came from. `report` works out the rest: printed stages, the cluster graph, kernels and totals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from workbench.report import schema
from workbench.report.layout import lay_out_graph
from workbench.report.schema import (
    Cell,
    CompileReport,
    DecisionRow,
    EquationRow,
    Graph,
    GraphEdge,
    Kept,
    KernelRow,
    Machine,
    Phase,
    SourceSpan,
    Stage,
    StepNode,
    Summary,
    Text,
    TimelineBar,
    Timings,
    Value,
)

PASSES = ("trace", "inline calls", "simplify algebra", "share common subexpressions", "drop dead equations")
PASS_MS = (3.1, 0.1, 0.6, 0.3, 0.2)
ITEM_BYTES = {"bool": 1, "c64": 8, "c128": 16}


def n_bytes(aval: str) -> int:
    dtype, _, shape = aval.rstrip("]").partition("[")
    item = ITEM_BYTES.get(dtype) or int(re.sub(r"\D", "", dtype)) // 8
    return item * prod(int(n) for n in shape.split(",") if n)


def value(name: str, aval: str) -> Value:
    return Value(name, aval, n_bytes(aval))


def letters(n: int) -> str:
    name = ""
    while True:
        n, digit = divmod(n, 26)
        name = chr(ord("a") + digit) + name
        if not n:
            return name


def spread(median: float, width: float, n: int) -> list[float]:
    """`n` plausible times around a median, with a longer tail upwards."""
    times = [median * (1 + width * ((i * 37 % 17) / 17 - 0.42) ** 3 * 4) for i in range(n)]
    return [round(t, 4) for t in times]


@dataclass(slots=True)
class Line:
    """One equation of a sketch. text may mention values as `{x}`; until: the pass that removes it; later: (pass, text)
    from which pass on it reads differently."""

    var: str
    aval: str
    text: str
    op: str
    spans: list[SourceSpan]
    step: str
    memory: bool
    name: str
    until: str = ""
    later: tuple[str, str] = ("", "")
    id: str = ""

    def text_after(self, stage: int) -> str:
        name, text = self.later
        return text if name and PASSES.index(name) <= stage else self.text

    def is_in(self, stage: int) -> bool:
        return not self.until or PASSES.index(self.until) > stage


@dataclass(slots=True)
class Sketch:
    label: str
    source: str
    inputs: dict[str, str] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def eqn(
        self, var: str, aval: str, text: str, op: str, line: int, part: str, *, nth: int = 0, step: str = "K0",
        name: str = "", memory: bool = False, until: str = "", later: tuple[str, str] = ("", ""),
    ) -> None:  # fmt: skip
        span = self.span(line, part, nth)
        new = Line(var, aval, text, op, [span], step, memory or bool(name), name, until, later, f"e{len(self.lines)}")
        self.lines.append(new)
        if name:
            self.outputs.append(var)

    def span(self, line: int, part: str, nth: int = 0) -> SourceSpan:
        text = self.source.splitlines()[line - 1]
        col = -1
        for _ in range(nth + 1):
            col = text.index(part, col + 1)
        return SourceSpan(line, col, line, col + len(part))

    # ---- what follows from the equations ----

    def stage(self, index: int) -> Stage:
        names = {var: letters(i) for i, var in enumerate(self.inputs)}
        lines = [f"{{ lambda ; {' '.join(f'{names[v]}:{a}' for v, a in self.inputs.items())}. let"]
        rows = []
        present = [line for line in self.lines if line.is_in(index)]
        final = index == len(PASSES) - 1
        for line in present:
            names[line.var] = letters(len(names))
            text = f"{names[line.var]}:{line.aval} = {line.text_after(index).format_map(names)}"
            rows.append(
                EquationRow(
                    line.id, text, len(lines) + 1, re.match(r"\w+", line.text)[0], line.op,
                    [Value(line.name or names[line.var], line.aval, n_bytes(line.aval))], line.spans,
                    line.step if final else "", line.memory if final else True,
                )
            )  # fmt: skip
            lines.append(f"    {text}")
        results = [names[v] for v in self.outputs]
        lines.append(f"  in ({', '.join(results)}{',' if len(results) == 1 else ''}) }}")
        gone = sum(not line.is_in(index) and line.is_in(index - 1) for line in self.lines) if index else 0
        return Stage(PASSES[index], "\n".join(lines), rows, 0, gone, PASS_MS[index])

    def final(self) -> list[Line]:
        return [line for line in self.lines if line.is_in(len(PASSES) - 1)]

    def graph(self, titles: Mapping[str, str], refused: Mapping[tuple[str, str], tuple[str, str]]) -> Graph:
        """refused: (producer step, consumer step) -> code and reason."""
        nodes: dict[str, StepNode] = {}
        edges: dict[tuple[str, str, str], GraphEdge] = {}
        home = {v: f"in:{v}" for v in self.inputs}
        known = {v: value(v, a) for v, a in self.inputs.items()}
        for var, aval in self.inputs.items():
            nodes[f"in:{var}"] = StepNode(f"in:{var}", "input", var, outputs=[value(var, aval)])
        for line in self.final():
            kind = {"K": "kernel", "L": "library", "N": "numpy"}[line.step[0]]
            node = nodes.setdefault(line.step, StepNode(line.step, kind, titles.get(line.step, "")))
            node.equations.append(line.id)
            for var in re.findall(r"\{(\w+)\}", line.text_after(len(PASSES) - 1)):
                origin = home[var]
                if origin != line.step and (origin, line.step, var) not in edges:
                    code, reason = refused.get((origin, line.step), ("", ""))
                    edges[origin, line.step, var] = GraphEdge(origin, line.step, known[var], code, reason)
                    if known[var] not in node.inputs:
                        node.inputs.append(known[var])
            home[line.var] = line.step
            known[line.var] = value(line.name, line.aval)
            if line.memory:
                node.outputs.append(known[line.var])
        for line in self.final():
            if line.name:
                out = f"out:{line.name}"
                nodes[out] = StepNode(out, "output", line.name, inputs=[known[line.var]])
                edges[line.step, out, line.var] = GraphEdge(line.step, out, known[line.var])
        graph = Graph(list(nodes.values()), list(edges.values()))
        lay_out_graph(graph)
        return graph

    def report(
        self, status: str, *, kernels: Sequence[KernelRow], titles: Mapping[str, str], time_ms: float, numpy_ms: float,
        compile_ms: float, bytes_saved: int, decisions: Sequence[DecisionRow] = (),
        refused: Mapping[tuple[str, str], tuple[str, str]] | None = None, device: str = "cpu", number: int = 1,
    ) -> CompileReport:  # fmt: skip
        graph = self.graph(titles, refused or {})
        steps = {node.id: node for node in graph.nodes}
        runs = spread(time_ms, 0.25, 24)
        gain = numpy_ms - time_ms
        clock, bars = 0.01, []
        for node in graph.nodes:
            if node.kind in ("input", "output"):
                continue
            kernel = next((k for k in kernels if k.id == node.id), None)
            took = kernel.median_ms if kernel and kernel.median_ms else time_ms / 10
            bars.append(TimelineBar(node.id, kernel.name if kernel else node.title, round(clock, 4), took))
            clock += took + 0.004
        total = sum(bar.time_ms for bar in bars)
        for kernel in kernels:
            kernel.inputs, kernel.outputs = steps[kernel.id].inputs, steps[kernel.id].outputs
            kernel.bytes_moved = sum(v.bytes for v in (*kernel.inputs, *kernel.outputs))
            kernel.runs_ms = spread(kernel.median_ms, 0.2, 24) if kernel.median_ms else []
            kernel.share = round(kernel.median_ms / total, 4) if kernel.median_ms else None
        numba_ms = sum(k.compile_ms for k in kernels)
        passes = [*map(Phase, PASSES, PASS_MS), Phase("form clusters", 1.2), Phase("write kernels", 2.4)]
        return CompileReport(
            status=status,
            cell=Cell(self.label, self.source, "<ipython-input>"),
            summary=Summary(
                n_kernels=len(kernels), n_ops=len(self.final()),
                n_library_calls=sum(n.kind == "library" for n in graph.nodes),
                n_numpy_steps=sum(n.kind == "numpy" for n in graph.nodes),
                n_boundaries=sum(not d.merged for d in decisions), time_ms=time_ms, numpy_ms=numpy_ms,
                speedup=numpy_ms / time_ms, bytes_saved=bytes_saved, compile_ms=compile_ms,
                pays_off_after=-int(-compile_ms // gain) if gain > 0 else None,
            ),
            machine=machine(device),
            stages=[self.stage(i) for i in range(len(PASSES))],
            graph=graph,
            decisions=list(decisions),
            kernels=list(kernels),
            timings=Timings(runs, spread(numpy_ms, 0.1, 9), [*passes, Phase("numba", numba_ms)], bars),
            kept=[Kept(line.name, line.aval, n_bytes(line.aval)) for line in self.final() if line.name],
            id=f"sample-{number}",
            created="2026-03-14T09:26:53+00:00",
            schema=schema.SCHEMA,
        )  # fmt: skip


def kernel(
    step: str, name: str, source: str, *, n_elements: int, flops: float, median_ms: float | None,
    line_equations: Sequence[Sequence[str]] = (), bound: str = "memory", roof_share: float | None = None,
    compile_ms: float = 96.0, cached: bool = False, llvm: str = "", asm: str = "", threads: int = 2,
) -> KernelRow:  # fmt: skip
    lines = [list(ids) for ids in line_equations]
    lines += [[] for _ in range(source.count("\n") - len(lines))]
    return KernelRow(
        step, name, "cpu", source, lines, [], [], n_elements, flops, 0, threads, median_ms=median_ms,
        iqr_ms=None if median_ms is None else round(median_ms * 0.06, 4), roof_share=roof_share, bound=bound,
        compile_ms=compile_ms, cached=cached, llvm=head(llvm), asm=head(asm),
    )  # fmt: skip


def head(text: str) -> Text | None:
    """A long text of which only the head is at hand."""
    return Text(text, text.count("\n") + 400, "5e" * 32, False) if text else None


def machine(device: str = "cpu") -> Machine:
    versions = {"workbench": "0.1.0", "numpy": "2.4.0", "numba": "0.68.0", "python": "3.11.9"}
    return Machine(device, "AMD EPYC 7B13, Linux", 2, 11.2, 74.0, versions)
