"""The compile report as plain, versioned data: what crosses to the notebook, to files and to other programs.

Everything here is JSON: str, int, float, bool, None, lists and records. Ids are strings: equations `e0`, clusters and
kernels `K0`, library calls `L0`, NumPy steps `N0`, inputs `in:NAME`, outputs `out:NAME`. Times are milliseconds,
sizes are bytes, lines count from 1 within `cell.source`, columns from 0.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

SCHEMA = "workbench.report/1"
MIME_TYPE = "application/vnd.workbench.report.v1+json"
STATUSES = ("compiled", "cached", "recompiled", "partly", "numpy", "empty", "failed")


@dataclass(slots=True)
class SourceSpan:
    line: int
    col: int
    end_line: int
    end_col: int


@dataclass(slots=True)
class Cell:
    """The user's source: a cell (`label` "In[7]") or a function (`label` its name)."""

    label: str
    source: str
    filename: str = ""


@dataclass(slots=True)
class Value:
    """A named array: `aval` is printed as in a jaxpr (`f64[3,4]`)."""

    name: str
    aval: str
    bytes: int


@dataclass(slots=True)
class EquationRow:
    """One equation of one stage. `text_line` is its first line in the stage's text (from 1)."""

    id: str
    text: str
    text_line: int
    primitive: str
    op: str
    outputs: list[Value]
    spans: list[SourceSpan]
    step: str = ""  # the id of the step that computes it, last stage only
    in_memory: bool = True  # whether its result reaches memory, last stage only


@dataclass(slots=True)
class Stage:
    """The program after one pass. Equation ids are stable across stages: an equation that a pass left alone, or that
    replaces others, keeps (the first of) their ids, so added and removed count what the pass did."""

    name: str
    text: str
    equations: list[EquationRow]
    added: int = 0
    removed: int = 0
    time_ms: float = 0.0


@dataclass(slots=True)
class StepNode:
    """A node of the cluster graph: kind is kernel, library, numpy, input or output. x, y (centre), w, h: pixels."""

    id: str
    kind: str
    title: str
    equations: list[str] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    scope: str = ""
    reason: str = ""
    x: float = 0.0
    y: float = 0.0
    w: float = 0.0
    h: float = 0.0


@dataclass(slots=True)
class GraphEdge:
    """Data that flows between two nodes. refused: the code and the reason why the two were not fused, or ""."""

    source: str
    target: str
    value: Value
    code: str = ""
    refused: str = ""
    points: list[list[float]] = field(default_factory=list)


@dataclass(slots=True)
class Graph:
    nodes: list[StepNode]
    edges: list[GraphEdge]
    width: float = 0.0
    height: float = 0.0


@dataclass(slots=True)
class DecisionRow:
    """One merge or refusal of fusion, in words."""

    merged: bool
    producer: str
    consumer: str
    value: Value
    code: str
    reason: str
    bytes_saved: int


@dataclass(slots=True)
class Text:
    """A long text: its head, and how much there is (`n_lines`, `sha256`); the kernel sends the rest on demand."""

    head: str
    n_lines: int
    sha256: str
    complete: bool


@dataclass(slots=True)
class KernelRow:
    id: str
    name: str
    target: str
    source: str
    line_equations: list[list[str]]  # for each source line, the equations it computes
    inputs: list[Value]
    outputs: list[Value]
    n_elements: int
    flops: float
    bytes_moved: int
    threads: int
    runs_ms: list[float] = field(default_factory=list)
    median_ms: float | None = None
    iqr_ms: float | None = None
    share: float | None = None  # of the cell's time, 0..1
    roof_share: float | None = None  # of the machine's measured limit, 0..1
    bound: str = ""  # "memory" | "compute" | "overhead"
    compile_ms: float = 0.0
    cached: bool = False
    llvm: Text | None = None
    asm: Text | None = None


@dataclass(slots=True)
class Phase:
    """One phase of compilation: trace, a pass, plan, codegen, numba."""

    name: str
    time_ms: float


@dataclass(slots=True)
class TimelineBar:
    """One step of the profiled run. lane: `main`, `thread 1` ..."""

    step: str
    name: str
    start_ms: float
    time_ms: float
    lane: str = "main"


@dataclass(slots=True)
class Timings:
    runs_ms: list[float] = field(default_factory=list)
    numpy_ms: list[float] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    timeline: list[TimelineBar] = field(default_factory=list)


@dataclass(slots=True)
class Fallback:
    """Something that was not compiled: where, what, why (a code and words), what to do, what it costs."""

    span: SourceSpan | None
    op: str
    code: str
    why: str
    fix: str = ""
    cost_ms: float | None = None


@dataclass(slots=True)
class Kept:
    """A name that the cell keeps, and its price."""

    name: str
    aval: str
    bytes: int
    cost_ms: float | None = None


@dataclass(slots=True)
class Verification:
    """The comparison with NumPy: the largest difference in units in the last place, per result."""

    ok: bool
    max_ulp: float
    results: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Machine:
    device: str
    description: str
    threads: int
    copy_gb_per_s: float | None = None
    peak_gflops: float | None = None
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Summary:
    n_kernels: int
    n_ops: int
    n_library_calls: int = 0
    n_numpy_steps: int = 0
    n_boundaries: int = 0
    time_ms: float | None = None
    numpy_ms: float | None = None
    speedup: float | None = None
    bytes_saved: int = 0
    compile_ms: float = 0.0
    pays_off_after: int | None = None  # runs; None: never, or NumPy was not timed


@dataclass(slots=True)
class CompileReport:
    """Everything that happened when one cell or function was compiled."""

    status: str
    cell: Cell
    summary: Summary
    machine: Machine
    stages: list[Stage] = field(default_factory=list)
    graph: Graph = field(default_factory=lambda: Graph([], []))
    decisions: list[DecisionRow] = field(default_factory=list)
    kernels: list[KernelRow] = field(default_factory=list)
    timings: Timings = field(default_factory=Timings)
    fallbacks: list[Fallback] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    verification: Verification | None = None
    changed: str = ""  # recompiled: what changed, `x f64[1000] -> f32[1000]`
    reason: str = ""  # numpy, failed: why
    id: str = ""
    created: str = ""  # ISO 8601, UTC
    schema: str = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready dicts and lists."""
        return asdict(self)
