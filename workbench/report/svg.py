"""The card: what happened as one picture. Title, status, key numbers, the cluster graph, and why it has boundaries.

Self-contained: no script, no link, no font of its own. It brings its own ground, and follows the reader's light or dark
scheme. Hues are Okabe and Ito's, as strokes; a tint fills; labels and border patterns say the same without colour.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from math import ceil

from . import words
from .layout import DETAIL_SIZE, ROW, TERMINALS, TITLE_SIZE, node_detail, title_lines
from .markup import attribute, path_of, tag, text_of
from .metrics import fit, text_width, wrap
from .model import ReportModel
from .polyline import arrow_head, middle, rounded_path
from .schema import CompileReport, GraphEdge, StepNode
from .strip import pays_off, steps, strip_of

MAX_BYTES = 60_000
MIN_WIDTH = 640.0
PAD = 20.0
N_HUES, DASHES = 4, ("", "7 3", "2 3")
MAX_REASONS, MAX_ENDS = 5, 6

STYLE = """
svg{color-scheme:light dark;font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif;
--ground:#fff;--raised:#f6f7f9;--text:#1b1f24;--dim:#59616e;--line:#d8dce2;--edge:#79818d;
--h0:#0072b2;--h1:#d55e00;--h2:#008763;--h3:#b4588e;--bad:#c0392b}
@media (prefers-color-scheme:dark){svg{--ground:#16191d;--raised:#20252b;--text:#e6e9ed;--dim:#a2aab5;--line:#3a414b;
--edge:#8b939f;--h0:#4aa8e0;--h1:#f08a3c;--h2:#2fbf94;--h3:#d98cbb;--bad:#f0776a}}
text{fill:var(--text)}.m{text-anchor:middle}.o{text-anchor:end}.d{fill:var(--dim)}.b{font-weight:600}
.c{font-family:ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace}
.g{fill:var(--ground);stroke:var(--line)}.r{fill:none;stroke:var(--line)}.n{stroke-width:1.6}
.k0{stroke:var(--h0);fill:var(--h0)}.k1{stroke:var(--h1);fill:var(--h1)}.k2{stroke:var(--h2);fill:var(--h2)}
.k3{stroke:var(--h3);fill:var(--h3)}.kl{stroke:var(--dim);fill:var(--dim)}.kn{stroke:var(--bad);fill:var(--bad)}
.k0,.k1,.k2,.k3,.kl,.kn{fill-opacity:.11}.s{fill-opacity:1;stroke:none}.i{fill:none}
.ki{fill:var(--raised);stroke:var(--dim)}.ko{fill:var(--raised);stroke:var(--text);stroke-width:1.6}
.e{fill:none;stroke:var(--edge);stroke-width:1.4}.a{fill:var(--edge)}.x{fill:none;stroke:var(--h1);stroke-width:1.8;
stroke-dasharray:5 4}.xa{fill:var(--h1)}.l{fill:var(--ground);fill-opacity:.9}
"""


def to_svg(report: CompileReport) -> str:
    """The card, at most `MAX_BYTES`: of a very large graph labels go first, then the picture."""
    for detail in (2, 1, 0):
        svg = _Card(report, detail).svg()
        if len(svg.encode()) <= MAX_BYTES:
            break
    return svg


def graph_svg(report: CompileReport) -> str:
    """The cluster graph alone, with all its labels."""
    graph = report.graph
    body = "".join(_Graph(ReportModel(report), 2).draw())
    return _document(graph.width, graph.height, f"Cluster graph of {report.cell.label}", body)


def _document(width: float, height: float, title: str, body: str, description: str = "") -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    about = tag("title", text_of(title)) + (tag("desc", text_of(description)) if description else "")
    style = STYLE.replace("\n", "")
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>{about}<style>{style}</style>{body}</svg>'


class _Card:
    def __init__(self, report: CompileReport, detail: int):
        self.report = report
        self.model = ReportModel(report)
        self.detail = detail
        has_graph = detail > 0 and bool(report.graph.nodes)
        self.graph_size = (report.graph.width, report.graph.height) if has_graph else (0.0, 0.0)
        self.width = max(MIN_WIDTH, self.graph_size[0] + 2 * PAD)
        self.y = PAD
        self.parts: list[str] = []

    def svg(self) -> str:
        self.header()
        self.numbers()
        self.picture()
        self.reasons()
        self.footer()
        height = self.y + PAD * 0.6
        ground = tag("rect", **{"class": "g"}, x=0.5, y=0.5, width=self.width - 1, height=height - 1, rx=10)
        strip = strip_of(self.report)
        title = f"{self.report.cell.label}: {strip.status}"
        return _document(self.width, height, title, ground + "".join(self.parts), strip.text)

    def text(self, x: float, y: float, content: str, size: float, classes: str = "") -> None:
        self.parts.append(_text(x, y, content, size, classes))

    def paragraph(self, x: float, content: str, size: float, classes: str = "", indent: float = 0.0) -> None:
        """Lines that fit the card, below what was drawn last."""
        lines = wrap(content, self.width - x - PAD - indent, size, bold="b" in classes.split(), breaks=" ")
        for i, line in enumerate(lines):
            self.y += size + 5
            self.text(x + (indent if i else 0.0), self.y, line, size, classes)

    def header(self) -> None:
        strip = strip_of(self.report)
        tones = {"numpy": "ki", "compiling": "ki", "empty": "ki", "partly": "k1", "failed": "kn"}
        tone = tones.get(self.report.status, "k2")
        status = f"{strip.icon} {strip.status}"
        pill = text_width(status, 13, bold=True) + 24
        label = fit(self.report.cell.label, self.width - 3 * PAD - pill - 90, 17, bold=True)
        self.text(PAD, self.y + 19, label, 17, "b")
        x = PAD + text_width(label, 17, bold=True) + 14
        self.parts.append(tag("rect", **{"class": f"n {tone}"}, x=x, y=self.y, width=pill, height=26, rx=13))
        self.text(x + pill / 2, self.y + 17.5, status, 13, "b m")
        self.text(self.width - PAD, self.y + 17.5, "workbench", 12, "d o")
        self.y += 26

    def numbers(self) -> None:
        """The key numbers, large, each with what it means below, in as many columns as the card has room for."""
        tiles = list(self._tiles())
        if tiles:
            self.y += 18
            columns = self._columns([max(text_width(a, 21, bold=True), text_width(b, 11.5)) for a, b in tiles])
            for i, (big, small) in enumerate(tiles):
                x, y = columns[i % len(columns)], self.y + i // len(columns) * 52
                self.text(x, y + 20, big, 21, "b")
                self.text(x, y + 38, small, 11.5, "d")
            self.y += ceil(len(tiles) / len(columns)) * 52 - 12
        for line in filter(None, (self.report.changed and f"changed: {self.report.changed}", self._reason())):
            self.y += 4
            self.paragraph(PAD, words.visible(line), 12.5)

    def _columns(self, widths: list[float]) -> list[float]:
        """Where the columns begin: as few rows as fit, and of these as few columns."""
        room = self.width - 2 * PAD
        for n_rows in range(1, len(widths) + 1):
            n = ceil(len(widths) / n_rows)
            each = [max(widths[i::n]) for i in range(n)]
            if sum(each) + 18 * (n - 1) <= room or n == 1:
                gap = min(48.0, (room - sum(each)) / max(1, n - 1))
                return [PAD + sum(each[:i]) + gap * i for i in range(n)]
        return [PAD]

    def _reason(self) -> str:
        shown = self.report.status in ("numpy", "compiling", "failed", "partly")
        return " ".join(self.report.reason.split()) if shown else ""

    def _tiles(self) -> Iterator[tuple[str, str]]:
        report, summary = self.report, self.report.summary
        compiled = report.status not in ("numpy", "compiling", "failed")
        if summary.speedup is not None and compiled:
            sign, text = words.speedup(summary.speedup)
            big, _, rest = text.partition(" ")
            yield (f"{sign} {big}", rest) if "×" in big else ("≈ 1×", text)
        if summary.time_ms is not None:
            n = len(report.timings.runs_ms)
            versus = f", NumPy {words.time(summary.numpy_ms)}" if summary.numpy_ms is not None and compiled else ""
            yield words.time(summary.time_ms), (f"median of {n}{versus}" if n > 1 else f"a run{versus}")
        if summary.n_ops:
            first, *others = steps(summary) or [words.count(0, "kernel")]
            more = f"and {others[0] if len(others) == 1 else 'other steps'} " if others else ""
            yield first, f"{more}for {words.count(summary.n_ops, 'op')}"
        if summary.bytes_saved:
            yield words.size(summary.bytes_saved), "less memory traffic"
        if report.verification is not None:
            ulp, ago = words.ulp(report.verification.max_ulp), words.ago(report.verification.runs_ago)
            yield ("✓ same", f"as NumPy{ago}, {ulp}") if report.verification.ok else ("⚠ differs", f"from NumPy, {ulp}")
        if summary.compile_ms > 0:
            verb = "to load" if report.status == "cached" else "to compile"
            yield words.time(summary.compile_ms), f"{verb}{pays_off(report).replace(' →', ',')}"

    def picture(self) -> None:
        if not self.report.graph.nodes:
            return
        self.y += 16
        self.parts.append(tag("path", **{"class": "r"}, d=f"M{PAD} {self.y}H{self.width - PAD:.0f}"))
        self.y += 6
        if self.detail == 0:
            n = words.count(len(self.report.graph.nodes), "node")
            self.paragraph(PAD, f"The graph of {n} is too large for a card; the report has all of it.", 12.5, "d")
            return
        x = (self.width - self.graph_size[0]) / 2
        drawn = "".join(_Graph(self.model, self.detail).draw())
        self.parts.append(f'<g transform="translate({x:.1f} {self.y:.1f})">{drawn}</g>')
        self.y += self.graph_size[1]

    def reasons(self) -> None:
        """Why there are boundaries, the dearest first."""
        found: dict[tuple[str, str], dict[str, None]] = {}
        for edge in sorted((e for e in self.report.graph.edges if e.refused), key=lambda e: -e.value.bytes):
            found.setdefault((edge.code, edge.refused), {})[f"{edge.source} → {edge.target}"] = None
        if not found:
            return
        self.y += 4
        for (code, reason), pairs in itertools.islice(found.items(), MAX_REASONS):
            ends = list(pairs)
            more = f" and {len(ends) - MAX_ENDS} more" if len(ends) > MAX_ENDS else ""
            line = f"✂ {', '.join(ends[:MAX_ENDS])}{more}: {reason} ({code})"
            self.paragraph(PAD, words.visible(line), 12, indent=16)
        if len(found) > MAX_REASONS:
            self.paragraph(PAD, f"and {words.count(len(found) - MAX_REASONS, 'more reason')}", 12, "d")

    def footer(self) -> None:
        machine = self.report.machine
        facts: Iterable[str] = (
            machine.description,
            f"{machine.device} · {words.count(machine.threads, 'thread')}" if machine.device else "",
            *(f"{name} {version}" for name, version in machine.versions.items() if name != "python"),
            self.report.created.replace("T", " ").removesuffix("+00:00"),
        )
        self.y += 8
        self.paragraph(PAD, words.visible("\u00a0· ".join(fact for fact in facts if fact)), 11, "d")


class _Graph:
    """The cluster graph where `layout` put it. detail 2: with labels; 1: boxes with their ids."""

    def __init__(self, model: ReportModel, detail: int):
        self.model = model
        self.detail = detail
        kernels = [n.id for n in model.report.graph.nodes if n.kind == "kernel"]
        self.order = {name: i for i, name in enumerate(kernels)}

    def draw(self) -> Iterator[str]:
        graph = self.model.report.graph
        # Refused edges last, so that they are seen where edges share their way; labels above all lines.
        edges = sorted(graph.edges, key=lambda e: bool(e.refused))
        yield from map(self.edge, edges)
        yield from map(self.node, graph.nodes)
        if self.detail == 2:
            yield from map(self.label, edges)

    def edge(self, edge: GraphEdge) -> str:
        points = [(x, y) for x, y in edge.points]
        if len(points) < 2:
            return ""
        line, head = ("x", "xa") if edge.refused else ("e", "a")
        path = tag("path", **{"class": line}, d=rounded_path(points))
        return path + tag("path", **{"class": head}, d=path_of(arrow_head(points)))

    def label(self, edge: GraphEdge) -> str:
        if len(edge.points) < 2:
            return ""
        x, y = edge.label if len(edge.label) == 2 else middle([(x, y) for x, y in edge.points])
        text = f"✂ {words.size(edge.value.bytes)}" if edge.refused else words.size(edge.value.bytes)
        width = text_width(text, DETAIL_SIZE) + 6
        back = tag("rect", **{"class": "l"}, x=x - width / 2, y=y - 8, width=width, height=16, rx=4)
        why = f"{edge.code}: {edge.refused}" if edge.refused else f"{edge.value.name} {edge.value.aval}".strip()
        return f"<g>{tag('title', text_of(why))}{back}{_text(x, y + 4, text, DETAIL_SIZE, 'm d')}</g>"

    def node(self, node: StepNode) -> str:
        x, y = node.x - node.w / 2, node.y - node.h / 2
        terminal = node.kind in TERMINALS
        radius = node.h / 2 if terminal else 7
        look, dash = self.look(node)
        parts = [_box(x, y, node.w, node.h, radius, f"n {look}", dash)]
        if node.kind == "library":
            parts.append(_box(x + 3, y + 3, node.w - 6, node.h - 6, 5, "kl i"))
        if self.detail == 2:
            lines, detail = title_lines(node), self.node_detail(node)
            baseline = node.y + 4.5 - (len(lines) - (0 if detail else 1)) * ROW / 2
            for i, line in enumerate(lines):
                parts.append(_text(node.x, baseline + i * ROW, words.visible(line), TITLE_SIZE, "m b"))
            if detail:
                parts.append(_text(node.x, baseline + len(lines) * ROW, detail, DETAIL_SIZE, "m d"))
            about = self.about(node)
            return f"<g>{tag('title', text_of(about))}{''.join(parts)}</g>"
        name = fit(words.visible(node.title if terminal else node.id), node.w - 8, TITLE_SIZE)
        return "".join(parts) + _text(node.x, node.y + 4.5, name, TITLE_SIZE, "m")

    def look(self, node: StepNode) -> tuple[str, str]:
        """Class and dash pattern of a box."""
        match node.kind:
            case "kernel":
                index = self.order[node.id]
                return f"k{index % N_HUES}", DASHES[index // N_HUES % len(DASHES)]
            case "library":
                return "kl", ""
            case "numpy":
                return "kn", "4 3"
            case "output":
                return "ko", ""
        return "ki", ""

    def node_detail(self, node: StepNode) -> str:
        detail = node_detail(node)
        if node.kind in TERMINALS:
            return detail
        time_ms = self.model.times_ms.get(node.id)
        if time_ms is not None:
            return f"{detail} · {words.time(time_ms)}"
        return f"{detail} · {words.percent(self.model.shares[node.id])}" if node.id in self.model.shares else detail

    def about(self, node: StepNode) -> str:
        names = [self.model.operation(name) for name in node.equations]
        share = self.model.shares.get(node.id)
        facts = [
            f"{node.id} {node.title}",
            ", ".join(names[:12]) + (" ..." if len(names) > 12 else ""),
            f"{words.percent(share)} of the time" if share is not None else "",
            f"scope {node.scope}" if node.scope else "",
            node.reason,
        ]
        return "\n".join(fact for fact in facts if fact)


def _box(x: float, y: float, w: float, h: float, radius: float, classes: str, dash: str = "") -> str:
    more = {"stroke-dasharray": dash} if dash else {}
    return tag("rect", **{"class": classes}, x=x, y=y, width=w, height=h, rx=radius, **more)


def _text(x: float, y: float, content: str, size: float, classes: str = "") -> str:
    look = f' class="{attribute(classes)}"' if classes else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{look}>{text_of(content)}</text>'
