"""Horizontal coordinates in a layered drawing, after Brandes and Köpf, "Fast and simple horizontal coordinate
assignment" (Graph Drawing 2001): four alignments of each vertex with a median neighbour, compacted, then averaged.

Compaction pushes whole blocks through the graph of what stands beside what, as dagre does: the paper's own shifting of
classes may let boxes overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

from .layers import Drawing

Order = list[list[int]]


def coordinates(drawing: Drawing, widths: Sequence[float], gap: float) -> list[float]:
    """The centre of each vertex. Neighbours in a layer are at least `gap` apart; the leftmost begins at 0."""
    conflicts = _conflicts(drawing)
    above, below = _heaviest(drawing)
    candidates: list[list[float]] = []
    for upwards in (False, True):
        for mirrored in (False, True):
            layers: Order = [layer[::-1] for layer in drawing.layers] if mirrored else drawing.layers
            root = _align(layers, below if upwards else above, conflicts, upwards)
            xs = _compact(layers, root, widths, gap)
            candidates.append([-x for x in xs] if mirrored else xs)
    return _balanced(candidates, widths)


def _heaviest(drawing: Drawing) -> tuple[list[list[int]], list[list[int]]]:
    """The neighbours above and below each vertex with which it may be aligned: along edges than which neither end has a
    heavier one on that side. So the way of the data stays straight, and what branches off it steps aside."""
    weights = drawing.weights
    most_above = [max((weights[u, v] for u in us), default=0) for v, us in enumerate(drawing.above)]
    most_below = [max((weights[v, u] for u in us), default=0) for v, us in enumerate(drawing.below)]
    above = [
        [u for u in us if weights[u, v] >= max(most_above[v], most_below[u])] for v, us in enumerate(drawing.above)
    ]
    below = [
        [u for u in us if weights[v, u] >= max(most_below[v], most_above[u])] for v, us in enumerate(drawing.below)
    ]
    return above, below


def _conflicts(drawing: Drawing) -> set[tuple[int, int]]:
    """Edges that cross the inner part of a long edge: they give way, so that long edges stay straight."""
    marked: set[tuple[int, int]] = set()
    n = drawing.n
    for upper, lower in zip(drawing.layers, drawing.layers[1:], strict=False):
        position = {vertex: i for i, vertex in enumerate(upper)}
        first, scanned = 0, 0
        for i, vertex in enumerate(lower):
            inner = next((u for u in drawing.above[vertex] if vertex >= n and u >= n), None)
            if inner is None and i < len(lower) - 1:
                continue
            last = position[inner] if inner is not None else len(upper)
            for other in lower[scanned : i + 1]:
                for above in drawing.above[other]:
                    at = position[above]
                    if (at < first or at > last) and not (other >= n and above >= n):
                        marked.add((above, other))
            scanned, first = i + 1, last
    return marked


def _align(layers: Order, neighbours: list[list[int]], conflicts: set[tuple[int, int]], upwards: bool) -> list[int]:
    """The root of each vertex's block: vertices that get the same coordinate."""
    size = len(neighbours)
    root = list(range(size))
    aligned = list(range(size))
    position = [0] * size
    for layer in layers:
        for i, vertex in enumerate(layer):
            position[vertex] = i
    for layer in reversed(layers) if upwards else layers:
        reached = -1
        for vertex in layer:
            candidates = sorted(neighbours[vertex], key=position.__getitem__)
            if not candidates:
                continue
            middle = (len(candidates) - 1) / 2
            for at in dict.fromkeys((int(middle), int(middle + 0.5))):
                other = candidates[at]
                edge = (vertex, other) if upwards else (other, vertex)
                if aligned[vertex] == vertex and reached < position[other] and edge not in conflicts:
                    aligned[other] = vertex
                    aligned[vertex] = root[vertex] = root[other]
                    reached = position[other]
    return root


def _compact(layers: Order, root: list[int], widths: Sequence[float], gap: float) -> list[float]:
    """Blocks as far left as they go, then each as far right as its neighbours let it."""
    size = len(root)
    before: dict[int, dict[int, float]] = {}
    after: dict[int, dict[int, float]] = {}
    roots = {root[vertex] for layer in layers for vertex in layer}
    for layer in layers:
        for left, right in zip(layer, layer[1:], strict=False):
            a, b = root[left], root[right]
            apart = (widths[left] + widths[right]) / 2 + gap
            apart = max(apart, after.setdefault(a, {}).get(b, 0.0))
            after[a][b] = apart
            before.setdefault(b, {})[a] = apart
    order = _topological(roots, before, after)
    x = [0.0] * size
    for block in order:
        x[block] = max((x[a] + apart for a, apart in before.get(block, {}).items()), default=0.0)
    for block in reversed(order):
        room = min((x[b] - apart for b, apart in after.get(block, {}).items()), default=x[block])
        if before.get(block):  # what stands at the margin stays there
            x[block] = max(x[block], room)
        elif room != x[block]:
            x[block] = room
    return [x[root[vertex]] for vertex in range(size)]


def _topological(roots: set[int], before: dict[int, dict[int, float]], after: dict[int, dict[int, float]]) -> list[int]:
    waiting = {block: len(before.get(block, ())) for block in sorted(roots)}
    order = [block for block, n in waiting.items() if not n]
    for block in order:
        for other in after.get(block, ()):
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order


def _balanced(candidates: list[list[float]], widths: Sequence[float]) -> list[float]:
    """Shift the four so that they share a margin with the narrowest, then take the mean of the middle two."""
    if not candidates[0]:
        return []

    def margins(xs: list[float]) -> tuple[float, float]:
        return (
            min(x - w / 2 for x, w in zip(xs, widths, strict=True)),
            max(x + w / 2 for x, w in zip(xs, widths, strict=True)),
        )

    spans = [margins(xs) for xs in candidates]
    left, right = min(spans, key=lambda span: span[1] - span[0])
    for i, (low, high) in enumerate(spans):
        shift = right - high if i % 2 else left - low  # odd ones were pushed to the right
        candidates[i] = [x + shift for x in candidates[i]]
    xs = [sum(sorted(four)[1:3]) / 2 for four in zip(*candidates, strict=True)]
    low = margins(xs)[0]
    return [x - low for x in xs]
