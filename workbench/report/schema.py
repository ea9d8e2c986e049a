"""The compile report as plain, versioned data: what crosses to the notebook, to files and to other programs.

Everything here is JSON: str, int, float, bool, None, lists and records. Ids are strings: equations `e0`, clusters and
kernels `K0`, library calls `L0`, NumPy steps `N0`, inputs `in:NAME`, outputs `out:NAME`. Times are milliseconds,
sizes are bytes, lines count from 1 within `cell.source`, columns from 0.

A report is a document: it can be stored (`to_json`, `save_html`), read back (`from_dict`) and shown anywhere. Lists of
things that have an id or a name can be asked for one by it: `report.kernels["K0"]`, `report.stages["trace"]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, SupportsIndex, TypeVar, overload

SCHEMA = "workbench.report/1"
MIME_TYPE = "application/vnd.workbench.report.v1+json"
STATUSES = ("compiled", "cached", "recompiled", "partly", "numpy", "compiling", "empty", "failed")

T = TypeVar("T")


class Rows(list[T]):
    """A list whose items can also be looked up by their `id` or `name`."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> list[T]: ...
    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for attribute in ("id", "name"):
            for row in self:
                if getattr(row, attribute, None) == key:
                    return row
        known = ", ".join(repr(getattr(row, "id", None) or getattr(row, "name", "")) for row in self)
        raise KeyError(f"{key!r}: there is {known or 'nothing here'}")

    def keys(self) -> list[str]:
        """The ids, or the names where there are no ids."""
        return [str(getattr(row, "id", None) or getattr(row, "name", "")) for row in self]


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
    """A node of the cluster graph: kind is kernel, library, numpy, branch, loop, check, input or output. x, y (centre),
    w, h: pixels. spans: the source of what runs without equations."""

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
    spans: list[SourceSpan] = field(default_factory=list)


@dataclass(slots=True)
class GraphEdge:
    """Data that flows between two nodes. refused: the code and the reason why the two were not fused, or "". label: the
    middle of the room that the layout keeps for the edge's label; empty where it keeps none."""

    source: str
    target: str
    value: Value
    code: str = ""
    refused: str = ""
    points: list[list[float]] = field(default_factory=list)
    label: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Graph:
    nodes: list[StepNode]
    edges: list[GraphEdge]
    width: float = 0.0
    height: float = 0.0

    def __post_init__(self) -> None:
        self.nodes = Rows(self.nodes)


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


class _Fetching:
    """What a `Text` is besides its data: where the whole of it can be had. `_load` makes the data of a text that was
    not read yet: assembly takes tens of milliseconds to write, and most of it is never looked at."""

    __slots__ = ("_load", "_whole")


@dataclass(slots=True)
class Text(_Fetching):
    """A long text: its head, and how much there is (`n_lines`, `sha256`); the kernel sends the rest on demand.

    `str(text)` and `print(text)` give all of it in the session that compiled it, later the head.
    """

    head: str
    n_lines: int
    sha256: str
    complete: bool

    @classmethod
    def later(cls, load: Callable[[], Text], whole: Callable[[], str]) -> Text:
        """A text whose data `load` makes when it is first asked for. whole: gives all of it."""
        text = cls.__new__(cls)
        text._load, text._whole = load, whole
        return text

    @property
    def is_loaded(self) -> bool:
        return getattr(self, "_load", None) is None

    def __getattr__(self, name: str) -> Any:
        load = None if name.startswith("_") else getattr(self, "_load", None)
        if load is None:
            raise AttributeError(f"Text has no {name}")
        data = load()
        self.head, self.n_lines, self.sha256, self.complete = data.head, data.n_lines, data.sha256, data.complete
        self._load = None
        return getattr(self, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Text, (self.head, self.n_lines, self.sha256, self.complete)

    def whole(self) -> str | None:
        """All of the text, or None where only its head is left."""
        if not self.is_loaded or not self.complete:
            source = getattr(self, "_whole", None)
            return source() if source is not None else None
        return self.head

    def __str__(self) -> str:
        whole = self.whole()
        if whole is not None:
            return whole
        n_left = self.n_lines - self.head.count("\n")
        return f"{self.head.rstrip()}\n... {n_left} more lines, in the session that compiled it\n"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


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
    launch: str = ""  # on a device: grid, block, how threads exchange values, registers
    llvm: Text | None = None
    asm: Text | None = None


@dataclass(slots=True)
class Phase:
    """One phase of compilation: trace, a pass, plan, codegen, numba."""

    name: str
    time_ms: float


@dataclass(slots=True)
class TimelineBar:
    """One step of the profiled run. lane: `main`, `loops`; of a device `cuda:0`, `cuda:0, copies` (whose step is
    `copies`), and `host` for what it has no routine for."""

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
    """The comparison with NumPy: the largest difference in units in the last place, per result. runs_ago: of the same
    program, with inputs like these."""

    ok: bool
    max_ulp: float | None  # None: not comparable (other shapes, NaN against a number)
    results: list[dict[str, Any]] = field(default_factory=list)
    runs_ago: int = 0


@dataclass(slots=True)
class Machine:
    device: str
    description: str
    threads: int
    copy_gb_per_s: float | None = None
    peak_gflops: float | None = None
    versions: dict[str, str] = field(default_factory=dict)
    cache_gb_per_s: float | None = None
    cache_bytes: int = 0  # up to which arrays are taken to lie in caches


@dataclass(slots=True)
class Crossing:
    """Bytes that one run copied to a device or back. direction: "to device" | "to host" | "between devices"; why:
    `input`, `result`, `condition`, or the operation that runs on the host; name: the user's, "" where there is none;
    count: of copies; time_ms: that the host waited for them, and for what was queued before them."""

    name: str
    direction: str
    bytes: int
    why: str
    count: int = 1
    time_ms: float | None = None


@dataclass(slots=True)
class Summary:
    n_kernels: int
    n_ops: int
    n_library_calls: int = 0
    n_numpy_steps: int = 0
    n_loops: int = 0
    n_branches: int = 0
    n_boundaries: int = 0
    time_ms: float | None = None
    numpy_ms: float | None = None
    speedup: float | None = None
    bytes_saved: int = 0
    compile_ms: float = 0.0
    pays_off_after: int | None = None  # runs; None: never, or NumPy was not timed


@dataclass(slots=True, repr=False)
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
    crossings: list[Crossing] = field(default_factory=list)
    verification: Verification | None = None
    changed: str = ""  # recompiled: what changed, `x f64[1000] -> f32[1000]`
    reason: str = ""  # numpy, failed: why
    id: str = ""
    created: str = ""  # ISO 8601, UTC
    schema: str = SCHEMA

    def __post_init__(self) -> None:
        self.stages, self.kernels, self.kept = Rows(self.stages), Rows(self.kernels), Rows(self.kept)

    # ---- as data ----

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready dicts and lists."""
        from .convert import to_plain

        return to_plain(self)

    def to_json(self, *, indent: int | None = None) -> str:
        import json

        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CompileReport:
        """A report from its dict form, the compact one too. Raises ReportFormatError, with a message for the reader
        where a newer version of the workbench wrote it."""
        from .convert import report_from_plain

        return report_from_plain(data)

    @classmethod
    def from_json(cls, text: str) -> CompileReport:
        import json

        return cls.from_dict(json.loads(text))

    # ---- for people ----

    def summary_line(self) -> str:
        """What happened, in one line."""
        from .strip import strip_of

        return strip_of(self).text.splitlines()[0].strip()

    def to_text(self, *, colour: bool = False, only: Iterable[str] | None = None) -> str:
        """All of the report as plain text of at most 100 columns. only: sections, from `text.SECTIONS`."""
        from .text import to_text

        return to_text(self, colour=colour, only=only)

    def to_svg(self) -> str:
        """The card: a summary and the cluster graph as one self-contained picture."""
        from .svg import to_svg

        return to_svg(self)

    def to_html(self) -> str:
        """A page of its own: no other file, no network, no script."""
        from .html import to_page

        return to_page(self)

    def to_dot(self) -> str:
        """The cluster graph in Graphviz's language."""
        from .dot import to_dot

        return to_dot(self)

    def to_trace(self) -> dict[str, Any]:
        """One run, and the compilation, as a Chrome trace."""
        from .trace import to_trace

        return to_trace(self)

    def save_html(self, path: str | PathLike[str]) -> None:
        _write(path, self.to_html())

    def save_svg(self, path: str | PathLike[str]) -> None:
        _write(path, self.to_svg())

    def save_json(self, path: str | PathLike[str]) -> None:
        _write(path, self.to_json(indent=1))

    def save_trace(self, path: str | PathLike[str]) -> None:
        """Write the timeline for https://ui.perfetto.dev or chrome://tracing."""
        import json

        _write(path, json.dumps(self.to_trace(), allow_nan=False))

    def __repr__(self) -> str:
        return f"<CompileReport of {self.cell.label}: {self.summary_line()}>"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The report for our renderer; a picture and a text for every other."""
        from .bundle import to_bundle

        return to_bundle(self)


def _write(path: str | PathLike[str], text: str) -> None:
    from pathlib import Path

    Path(path).write_text(text, encoding="utf-8")
