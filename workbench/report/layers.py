"""Layers of a directed graph and the order within them: the first half of Sugiyama's method.

Comes in: a graph as indices. Goes out: a layer for each node, and a drawing graph in which every edge joins
neighbouring layers, because long edges are cut by dummies. Orders are improved by barycentre sweeps (Sugiyama, Tagawa
and Toda, 1981), crossings counted by the accumulator tree of Barth, Jünger and Mutzel (2002). Nothing is random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

# Sweeps that improve nothing end the search at once; these bound the ones that do.
MAX_SWEEPS = 24
SWEEPS_OF_LARGE = 4
LARGE = 3000  # vertices
MAX_ROW = 8  # inputs or results beside each other
MAX_STAGGERED = 200  # of them; more would make the graph as high as it is wide
MAX_TRANSPOSED = 600  # vertices: exchanging neighbours is worth its time in graphs that people read box by box


def acyclic(n: int, edges: Sequence[tuple[int, int]]) -> list[bool]:
    """Which edges to turn around so that no cycle is left (self-loops are not of interest)."""
    successors: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for index, (a, b) in enumerate(edges):
        if a != b:
            successors[a].append((b, index))
    turned = [False] * len(edges)
    state = [0] * n  # 1: on the path, 2: done
    for root in range(n):
        if state[root]:
            continue
        state[root] = 1
        path = [(root, iter(successors[root]))]
        while path:
            node, rest = path[-1]
            for target, index in rest:
                if state[target] == 1:
                    turned[index] = True
                elif not state[target]:
                    state[target] = 1
                    path.append((target, iter(successors[target])))
                    break
            else:
                state[node] = 2
                path.pop()
    return turned


def layers_of(n: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Longest path from the sources, then every node that has more readers than operands moves to its first reader."""
    before: list[list[int]] = [[] for _ in range(n)]
    after: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        if a != b:
            after[a].append(b)
            before[b].append(a)
    waiting = [len(sources) for sources in before]
    order = [node for node in range(n) if not waiting[node]]
    layer = [0] * n
    for node in order:
        for target in after[node]:
            layer[target] = max(layer[target], layer[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    for node in reversed(order):
        if len(after[node]) > len(before[node]):
            layer[node] = min(layer[target] for target in after[node]) - 1
    _stagger(layer, [n for n in range(n) if before[n] and not after[n]], 1)
    _stagger(layer, [n for n in range(n) if after[n] and not before[n]], -1)
    lowest = min(layer, default=0)
    return [each - lowest for each in layer]


def _stagger(layer: list[int], ends: list[int], step: int) -> None:
    """Move ends of the graph beyond `MAX_ROW` in one layer further out: a row of twenty results is too wide to read."""
    rows: dict[int, list[int]] = {}
    for node in ends:
        rows.setdefault(layer[node], []).append(node)
    pending = sorted(rows, reverse=step < 0)
    while pending:
        at = pending.pop(0)
        surplus = rows[at][MAX_ROW:]
        if not surplus or len(rows[at]) > MAX_STAGGERED:
            continue
        rows[at] = rows[at][:MAX_ROW]
        if at + step not in rows:
            rows[at + step] = []
        if at + step not in pending:
            pending.insert(0, at + step)
        rows[at + step] = surplus + rows[at + step]
        for node in surplus:
            layer[node] = at + step


@dataclass(slots=True)
class Drawing:
    """Vertices 0..n-1 are the nodes; those from n on are dummies. `layers[i]` is the order of layer i, `above` and
    `below` are the neighbours of each vertex in the next layer on that side; `chains[e]` the vertices of edge e from
    source to target."""

    n: int
    layer: list[int]
    layers: list[list[int]] = field(default_factory=list)
    above: list[list[int]] = field(default_factory=list)
    below: list[list[int]] = field(default_factory=list)
    chains: list[list[int]] = field(default_factory=list)
    weights: dict[tuple[int, int], int] = field(default_factory=dict)  # of (upper, lower): how straight it should be

    def is_dummy(self, vertex: int) -> bool:
        return vertex >= self.n

    def add_dummy(self, layer: int) -> int:
        self.layer.append(layer)
        self.above.append([])
        self.below.append([])
        return len(self.layer) - 1

    def join(self, upper: int, lower: int, weight: int) -> None:
        self.below[upper].append(lower)
        self.above[lower].append(upper)
        self.weights[upper, lower] = max(weight, self.weights.get((upper, lower), 0))


def drawing_of(
    n: int,
    edges: Sequence[tuple[int, int]],
    layer: Sequence[int],
    *,
    max_dummies: int,
    trunks: Sequence[int],
    weights: Sequence[int],
) -> Drawing:
    """Cut long edges by dummies. Where that would take more than `max_dummies`, edges with the same trunk (the value
    that they carry) share them, and the longest that remain run straight, below the boxes."""
    drawing = Drawing(n, list(layer), [], [[] for _ in range(n)], [[] for _ in range(n)])
    lengths = [layer[b] - layer[a] for a, b in edges]
    shared = sum(max(0, length - 1) for length in lengths) > max_dummies
    left = max_dummies
    straight = set()
    if shared:
        reach: dict[int, int] = {}
        for index in sorted(range(len(edges)), key=lambda i: lengths[i]):
            extra = max(0, lengths[index] - 1 - reach.get(trunks[index], 0))
            if extra > left:
                straight.add(index)
            else:
                left -= extra
                reach[trunks[index]] = max(reach.get(trunks[index], 0), lengths[index] - 1)
    made: dict[tuple[int, int], list[int]] = {}
    for index, (a, b) in enumerate(edges):
        if lengths[index] < 1 or index in straight:
            drawing.chains.append([a, b])
            continue
        trunk = made.setdefault((trunks[index], a), [a]) if shared else [a]
        for at in range(layer[a] + len(trunk), layer[b]):
            dummy = drawing.add_dummy(at)
            drawing.join(trunk[-1], dummy, weights[index])
            trunk.append(dummy)
        chain = trunk[: lengths[index]]
        drawing.join(chain[-1], b, weights[index])
        drawing.chains.append([*chain, b])
    drawing.layers = _first_order(drawing)
    return drawing


def _first_order(drawing: Drawing, *, backwards: bool = False) -> list[list[int]]:
    """Each layer in the order in which a depth-first walk meets its vertices: chains stay together. backwards: readers
    are visited last first."""
    layers: list[list[int]] = [[] for _ in range(max(drawing.layer, default=-1) + 1)]
    seen = [False] * len(drawing.layer)
    for root in sorted(range(len(drawing.layer)), key=lambda v: drawing.layer[v]):
        stack = [root]
        while stack:
            vertex = stack.pop()
            if not seen[vertex]:
                seen[vertex] = True
                layers[drawing.layer[vertex]].append(vertex)
                readers = drawing.below[vertex]
                stack.extend(v for v in (readers if backwards else reversed(readers)) if not seen[v])
    return layers


def reduce_crossings(drawing: Drawing) -> None:
    """Order each layer so that few edges cross. Of a small graph several first orders are tried: sweeps get stuck."""
    starts = [drawing.layers]
    if len(drawing.layer) <= MAX_TRANSPOSED:
        starts += [_first_order(drawing, backwards=True), [layer[::-1] for layer in drawing.layers]]
    best = [list(layer) for layer in drawing.layers]
    fewest = crossings(drawing)
    for start in starts:
        if not fewest:
            break
        drawing.layers = [list(layer) for layer in start]
        found = _improved(drawing)
        if found < fewest:
            fewest, best = found, drawing.layers
    drawing.layers = best


def _improved(drawing: Drawing) -> int:
    """Sweep until nothing gets better; leaves the best order that was met, and returns its crossings."""
    size = len(drawing.layer)
    best = [list(layer) for layer in drawing.layers]
    fewest = crossings(drawing)
    idle = 0
    for sweep in range(MAX_SWEEPS if size <= LARGE else SWEEPS_OF_LARGE):
        if not fewest or idle >= 4:
            break
        _sweep(drawing, down=sweep % 2 == 0, mirrored=sweep % 4 >= 2)
        if size <= MAX_TRANSPOSED:
            _transpose(drawing, ties=sweep % 2 == 1)
        count = crossings(drawing)
        if count < fewest:
            fewest, best, idle = count, [list(layer) for layer in drawing.layers], 0
        else:
            idle += 1
    drawing.layers = best
    return fewest


def _sweep(drawing: Drawing, *, down: bool, mirrored: bool) -> None:
    neighbours = drawing.above if down else drawing.below
    layers = drawing.layers
    position = _positions(drawing)
    for index in range(1, len(layers)) if down else range(len(layers) - 2, -1, -1):
        layer = layers[index]
        # Ties keep their order in one sweep and turn it around in another: a barycentre cannot tell them apart.
        keys = [
            (
                sum(position[n] for n in neighbours[v]) / len(neighbours[v]) if neighbours[v] else float(i),
                -i if mirrored else i,
            )
            for i, v in enumerate(layer)
        ]
        layers[index] = [layer[i] for i in sorted(range(len(layer)), key=keys.__getitem__)]
        for i, vertex in enumerate(layers[index]):
            position[vertex] = i


def _transpose(drawing: Drawing, *, ties: bool) -> None:
    """Exchange neighbours while that removes crossings; with `ties`, at first also where it changes nothing, which lets
    a later exchange remove some."""
    position = _positions(drawing)
    improved = True
    rounds = 0
    while improved and rounds < 8:
        improved = False
        rounds += 1
        for layer in drawing.layers:
            for i in range(len(layer) - 1):
                a, b = layer[i], layer[i + 1]
                gain = 0
                for side in (drawing.above, drawing.below):
                    gain += _pair_crossings(side[a], side[b], position) - _pair_crossings(side[b], side[a], position)
                if gain > 0 or (ties and rounds == 1 and gain == 0):
                    layer[i], layer[i + 1] = b, a
                    position[a], position[b] = i + 1, i
                    improved = improved or gain > 0


def _pair_crossings(left: Sequence[int], right: Sequence[int], position: Sequence[int]) -> int:
    return sum(position[a] > position[b] for a in left for b in right)


def _positions(drawing: Drawing) -> list[int]:
    position = [0] * len(drawing.layer)
    for layer in drawing.layers:
        for i, vertex in enumerate(layer):
            position[vertex] = i
    return position


def crossings(drawing: Drawing) -> int:
    """How many pairs of edges cross."""
    position = _positions(drawing)
    total = 0
    for index, layer in enumerate(drawing.layers[:-1]):
        ends = [p for vertex in layer for p in sorted(position[b] for b in drawing.below[vertex])]
        first = 1
        while first < len(drawing.layers[index + 1]):
            first *= 2
        tree = [0] * (2 * first)
        for end in ends:
            at = end + first
            tree[at] += 1
            while at > 1:
                if at % 2 == 0:
                    total += tree[at + 1]
                at //= 2
                tree[at] += 1
    return total
