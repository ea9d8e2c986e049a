"""The layout of the cluster graph: sizes of boxes from their text, layers, order, coordinates, routed edges.

Computed once, here, so that every front end draws the same picture. Deterministic; 2,000 nodes take less than a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from . import words
from .alignment import coordinates
from .layers import Drawing, acyclic, drawing_of, layers_of, reduce_crossings
from .metrics import fit, text_width, wrap
from .schema import Graph, StepNode

Point = tuple[float, float]
TERMINALS = ("input", "output")

NODE_GAP = 22.0  # between boxes of a layer
LAYER_GAP = 30.0  # between layers that hold no labels
LABEL_GAP = 16.0  # above and below a layer of labels
LABEL_HEIGHT = 18.0
# An edge may run aside by this much before its layers move apart, then by so many pixels for each one of height.
STEEP, SIDEWAYS_PER_PIXEL, MAX_EXTRA_GAP = 120.0, 16.0, 36.0
DUMMY_WIDTH = 6.0
PORT_GAP = 12.0  # between edges at the side of a box
MARGIN = 10.0
MAX_LABELLED = 300  # edges: a larger graph keeps no room for labels
MAX_DUMMIES = 8_000

TITLE_SIZE = 12.5
DETAIL_SIZE = 11.0
ROW = 16.0
PADDING = 10.0
TOGGLE = 14.0  # the little button that opens a box
ROUND_ENDS = 8.0
MAX_TITLE = 190.0
TITLE_CHAR = 7.4  # what the front end reckons with; a title must fit by both measures


@dataclass(slots=True)
class Layout:
    """Centres of the nodes, for each edge its points from source to target and the middle of its label (None: no room
    is kept), and the size of the whole."""

    centres: list[Point]
    routes: list[list[Point]]
    labels: list[Point | None]
    width: float
    height: float


def lay_out(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    *,
    label_widths: Sequence[float] | None = None,
    trunks: Sequence[int] | None = None,
    weights: Sequence[int] | None = None,
) -> Layout:
    """Place boxes of `sizes` (width, height) in layers, edges pointing down.

    label_widths: room to keep for the label of each edge, at half of its way. trunks: edges with the same number carry
    the same value and may share a line where there are very many. weights: how much an edge should be
    straight.
    """
    if not sizes:
        return Layout([], [[] for _ in edges], [None for _ in edges], 0.0, 0.0)
    turned = acyclic(len(sizes), edges)
    directed = [(b, a) if back else (a, b) for (a, b), back in zip(edges, turned, strict=True)]
    layer = layers_of(len(sizes), directed)
    if label_widths is not None:
        layer = [2 * each for each in layer]  # labels stand in the layers between
    ids = list(trunks) if trunks is not None else [a for a, _ in directed]
    heavy = weights if weights is not None else [1] * len(edges)
    drawing = drawing_of(len(sizes), directed, layer, max_dummies=MAX_DUMMIES, trunks=ids, weights=heavy)
    reduce_crossings(drawing)
    widths = [w for w, _ in sizes] + [DUMMY_WIDTH] * (len(drawing.layer) - len(sizes))
    at_label: list[int | None] = [None for _ in edges]  # the dummy that stands where an edge has its label
    if label_widths is not None:
        for index, (chain, width) in enumerate(zip(drawing.chains, label_widths, strict=True)):
            if len(chain) > 2:
                middle = at_label[index] = chain[len(chain) // 2]
                widths[middle] = max(widths[middle], width)
    xs = coordinates(drawing, widths, NODE_GAP)
    tops, bottoms = _bands(drawing, xs, sizes, labelled=label_widths is not None)
    centres = [(xs[v] + MARGIN, (tops[layer[v]] + bottoms[layer[v]]) / 2) for v in range(len(sizes))]
    routes = _Router(drawing, [x + MARGIN for x in xs], tops, bottoms, centres, sizes).routes()
    for index, back in enumerate(turned):
        if back:
            routes[index].reverse()
    reach = [x + MARGIN + w / 2 for x, w in zip(xs, widths, strict=True)]
    labels = [None if v is None else _middle(xs[v] + MARGIN, tops, bottoms, drawing.layer[v]) for v in at_label]
    return Layout(centres, routes, labels, max(reach) + MARGIN, bottoms[-1] + MARGIN)


def _middle(x: float, tops: Sequence[float], bottoms: Sequence[float], layer: int) -> Point:
    return x, (tops[layer] + bottoms[layer]) / 2


def _bands(
    drawing: Drawing, xs: Sequence[float], sizes: Sequence[tuple[float, float]], *, labelled: bool
) -> tuple[list[float], list[float]]:
    """Top and bottom of each layer. Between layers there is more room where edges go far to the side."""
    tops: list[float] = []
    bottoms: list[float] = []
    y = MARGIN
    for index, layer in enumerate(drawing.layers):
        between = labelled and index % 2 == 1
        height = LABEL_HEIGHT if between else max((sizes[v][1] for v in layer if v < drawing.n), default=0.0)
        tops.append(y)
        bottoms.append(y + height)
        farthest = max((abs(xs[a] - xs[b]) for a in layer for b in drawing.below[a]), default=0.0)
        sideways = min(MAX_EXTRA_GAP, max(0.0, farthest - STEEP) / SIDEWAYS_PER_PIXEL)
        y += height + (LABEL_GAP if labelled else LAYER_GAP) + sideways
    return tops, bottoms


class _Router:
    """Edges as polylines: from a port below the source, vertically past each layer, to a port above the target."""

    def __init__(
        self, drawing: Drawing, xs: list[float], tops: list[float], bottoms: list[float], centres: list[Point],
        sizes: Sequence[tuple[float, float]],
    ):  # fmt: skip
        self.drawing, self.xs, self.tops, self.bottoms = drawing, xs, tops, bottoms
        self.centres, self.sizes = centres, sizes
        self._runs = self._straight_runs()

    def routes(self) -> list[list[Point]]:
        chains = self.drawing.chains
        outgoing: dict[int, list[int]] = {}
        incoming: dict[int, list[int]] = {}
        for edge, chain in enumerate(chains):
            outgoing.setdefault(chain[0], []).append(edge)
            incoming.setdefault(chain[-1], []).append(edge)
        starts = self._ports(outgoing, 1)
        ends = self._ports(incoming, -2)
        routes = []
        for edge, chain in enumerate(chains):
            source, target = chain[0], chain[-1]
            if source == target:
                routes.append(self._loop(source))
                continue
            points: list[Point] = [(starts[edge], self.centres[source][1] + self.sizes[source][1] / 2)]
            points += self._between(chain)
            points.append((ends[edge], self.centres[target][1] - self.sizes[target][1] / 2))
            routes.append(_simplified(points))
        return routes

    def _between(self, chain: list[int]) -> list[Point]:
        """The way past the layers between the ends of an edge: down where the dummies stand below each other."""
        n = len(chain) - 2
        if n <= 0:
            return []
        points: list[Point] = []
        runs = self._runs[chain[1]]
        for (first, x), (after, _) in zip(runs, [*runs[1:], (n, 0.0)], strict=True):
            if first >= n:
                break
            last = min(after, n) - 1
            top, bottom = (self.drawing.layer[chain[1 + i]] for i in (first, last))
            points += [(x, self.tops[top]), (x, self.bottoms[bottom])]
        return points

    def _straight_runs(self) -> dict[int, list[tuple[int, float]]]:
        """For the first dummy of a chain, where the chain takes another x, and which. Edges that share dummies share
        them from the first on, so the longest chain tells for all."""
        longest: dict[int, list[int]] = {}
        for chain in self.drawing.chains:
            if len(chain) > 2 and len(chain) > len(longest.get(chain[1], ())):
                longest[chain[1]] = chain
        found: dict[int, list[tuple[int, float]]] = {}
        for first, chain in longest.items():
            runs: list[tuple[int, float]] = []
            for i, dummy in enumerate(chain[1:-1]):
                x = self.xs[dummy]
                if not runs or abs(runs[-1][1] - x) > 0.05:
                    runs.append((i, x))
            found[first] = runs
        return found

    def _ports(self, edges: dict[int, list[int]], next_vertex: int) -> dict[int, float]:
        """Where each edge meets its box: below or above the next point of its way, in order, apart."""
        ports: dict[int, float] = {}
        for node, attached in edges.items():
            half = max(0.0, self.sizes[node][0] / 2 - PORT_GAP)
            wanted = sorted((self.xs[self.drawing.chains[edge][next_vertex]], edge) for edge in attached)
            spacing = min(PORT_GAP, 2 * half / (len(wanted) - 1)) if len(wanted) > 1 else 0.0
            centre = self.centres[node][0]
            places = spread([x for x, _ in wanted], spacing, centre - half, centre + half)
            ports.update((edge, x) for (_, edge), x in zip(wanted, places, strict=True))
        return ports

    def _loop(self, node: int) -> list[Point]:
        (x, y), (w, h) = self.centres[node], self.sizes[node]
        right = x + w / 2
        return [(right, y - h / 4), (right + PORT_GAP, y - h / 4), (right + PORT_GAP, y + h / 4), (right, y + h / 4)]


def spread(wanted: Sequence[float], spacing: float, low: float, high: float) -> list[float]:
    """Positions in order, at least `spacing` apart, in [low, high], as near to `wanted` (ascending) as squares can
    tell: the pool-adjacent-violators algorithm."""
    pools: list[tuple[float, int]] = []  # sum of positions less their offset, number
    for i, x in enumerate(wanted):
        total, count = x - i * spacing, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            other, number = pools.pop()
            total, count = total + other, count + number
        pools.append((total, count))
    limit = high - (len(wanted) - 1) * spacing
    offsets = [min(max(total / count, low), max(low, limit)) for total, count in pools for _ in range(count)]
    return [x + i * spacing for i, x in enumerate(offsets)]


def _simplified(points: list[Point]) -> list[Point]:
    """Without repeated points and without corners that turn nowhere."""
    kept: list[Point] = []
    for point in points:
        if kept and abs(kept[-1][0] - point[0]) < 0.05 and abs(kept[-1][1] - point[1]) < 0.05:
            continue
        if len(kept) > 1:
            (ax, ay), (bx, by) = kept[-2], kept[-1]
            if abs((bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax)) < 0.5:
                kept.pop()
        kept.append(point)
    return kept


# ---- the cluster graph ----


@lru_cache(128)
def _lay_out_again(sizes: tuple, edges: tuple, labels: tuple | None, trunks: tuple, weights: tuple) -> Layout:
    """The layout of a graph, which is the same at every run of a cell."""
    return lay_out(sizes, edges, label_widths=labels, trunks=trunks, weights=weights)


def lay_out_graph(graph: Graph) -> Graph:
    """Give the nodes and edges of `graph` their sizes and places; returns it."""
    for node in graph.nodes:
        node.w, node.h = box_size(node)
    index = {node.id: i for i, node in enumerate(graph.nodes)}
    edges = [(index[e.source], index[e.target]) for e in graph.edges]
    labels = None
    if len(edges) <= MAX_LABELLED:
        labels = [text_width(f"✂ {words.size(e.value.bytes)}", DETAIL_SIZE) + 8 for e in graph.edges]
    values: dict[tuple[str, str, str], int] = {}
    trunks = [values.setdefault((e.source, e.value.name, e.value.aval), len(values)) for e in graph.edges]
    steps = {node.id for node in graph.nodes if node.kind not in TERMINALS}
    weights = [2 if e.source in steps and e.target in steps else 1 for e in graph.edges]
    sizes = [(node.w, node.h) for node in graph.nodes]
    widths = None if labels is None else tuple(labels)
    layout = _lay_out_again(tuple(sizes), tuple(edges), widths, tuple(trunks), tuple(weights))
    for node, (x, y) in zip(graph.nodes, layout.centres, strict=True):
        node.x, node.y = round(x, 1), round(y, 1)
    for edge, route, label in zip(graph.edges, layout.routes, layout.labels, strict=True):
        edge.points = [[round(x, 1), round(y, 1)] for x, y in route]
        edge.label = [] if label is None else [round(label[0], 1), round(label[1], 1)]
    graph.width, graph.height = round(layout.width, 1), round(layout.height, 1)
    return graph


def node_title(node: StepNode) -> str:
    """What stands in a box: steps with their id, values by their name."""
    return node.title if node.kind in TERMINALS else f"{node.id} {node.title}".strip()


def node_detail(node: StepNode) -> str:
    """The line below the title."""
    if node.kind in TERMINALS:
        value = next(iter(node.outputs or node.inputs), None)
        return value.aval if value else ""
    return words.count(len(node.equations), "op") if node.equations or not node.spans else "Python and NumPy"


def box_size(node: StepNode) -> tuple[float, float]:
    terminal = node.kind in TERMINALS
    spare = 2 * PADDING + (ROUND_ENDS if terminal else 2 * TOGGLE)
    lines = title_lines(node)
    widest = max(max(text_width(line, TITLE_SIZE, bold=True), len(line) * TITLE_CHAR) for line in lines)
    # A step's detail grows by its time, once there is one: ` · 12.3 ms`.
    detail = text_width(node_detail(node) + ("" if terminal else " · 12.34 ms"), DETAIL_SIZE)
    rows = len(lines) + (1 if node_detail(node) else 0)
    return round(max(widest, detail) + spare, 1), ROW * rows + (8.0 if terminal else 14.0)


def title_lines(node: StepNode) -> list[str]:
    """A title in one or two lines."""
    title = node_title(node)
    lines = wrap(title, MAX_TITLE, TITLE_SIZE, bold=True)
    if len(lines) <= 2:
        return lines
    return [lines[0], fit("".join(lines[1:]), MAX_TITLE, TITLE_SIZE, bold=True)]
