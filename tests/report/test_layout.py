"""The layout: boxes never overlap, edges point down and end at their boxes, the same input gives the same picture."""

from __future__ import annotations

import cProfile
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.sample_reports import SAMPLES
from workbench.report import layers
from workbench.report.layout import lay_out, lay_out_graph, spread
from workbench.report.schema import Graph, StepNode

BOX = (120.0, 46.0)
GRAPHS = {
    "alone": (1, []),
    "chain": (6, [(i, i + 1) for i in range(5)]),
    "diamond": (4, [(0, 1), (0, 2), (1, 3), (2, 3)]),
    "diamonds": (10, [(3 * i + a, 3 * i + b) for i in range(3) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))]),
    "fan out": (31, [(0, i) for i in range(1, 31)]),
    "fan in": (31, [(i, 30) for i in range(30)]),
    "skips": (8, [(i, i + 1) for i in range(7)] + [(0, 7), (1, 6), (0, 4)]),
    "twice": (2, [(0, 1), (0, 1), (0, 1)]),
    "apart": (6, [(0, 1), (2, 3), (4, 5)]),
    "cycle": (3, [(0, 1), (1, 2), (2, 0)]),
    "loop": (2, [(0, 0), (0, 1)]),
}


def boxes(layout, sizes):
    return [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for (x, y), (w, h) in zip(layout.centres, sizes, strict=True)]


def overlaps(a, b):
    return a[0] < b[2] - 1e-6 and b[0] < a[2] - 1e-6 and a[1] < b[3] - 1e-6 and b[1] < a[3] - 1e-6


def assert_sound(layout, sizes, edges):
    rectangles = boxes(layout, sizes)
    for a, b in itertools.combinations(rectangles, 2):
        assert not overlaps(a, b)
    for left, top, right, bottom in rectangles:
        assert left >= 0 and top >= 0 and right <= layout.width and bottom <= layout.height
    for (a, b), route in zip(edges, layout.routes, strict=True):
        (x0, y0), (x1, y1) = route[0], route[-1]
        assert rectangles[a][0] - 1e-6 <= x0 <= rectangles[a][2] + 1e-6
        assert rectangles[b][0] - 1e-6 <= x1 <= rectangles[b][2] + 1e-6
        assert rectangles[a][1] - 1e-6 <= y0 <= rectangles[a][3] + 1e-6
        assert rectangles[b][1] - 1e-6 <= y1 <= rectangles[b][3] + 1e-6


@pytest.mark.parametrize("labelled", [False, True], ids=["plain", "labelled"])
@pytest.mark.parametrize("name", GRAPHS)
def test_boxes_stand_apart_and_edges_meet_them(name, labelled):
    n, edges = GRAPHS[name]
    widths = [50.0] * len(edges) if labelled else None
    assert_sound(lay_out([BOX] * n, edges, label_widths=widths), [BOX] * n, edges)


@settings(max_examples=150)
@given(st.data())
def test_no_boxes_overlap_in_any_graph(data):
    n = data.draw(st.integers(1, 25))
    sizes = data.draw(st.lists(st.tuples(st.integers(20, 300), st.integers(20, 90)), min_size=n, max_size=n))
    node = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(node, node), max_size=50))
    widths = data.draw(st.none() | st.lists(st.floats(10, 90), min_size=len(edges), max_size=len(edges)))
    weights = data.draw(st.lists(st.integers(1, 2), min_size=len(edges), max_size=len(edges)))
    layout = lay_out(sizes, edges, label_widths=widths, weights=weights)
    assert_sound(layout, sizes, edges)
    assert layout == lay_out(sizes, edges, label_widths=widths, weights=weights)


@settings(max_examples=60)
@given(st.integers(2, 30), st.randoms(use_true_random=False))
def test_data_flows_down(n, random):
    edges = [(a, b) for a in range(n) for b in range(a + 1, n) if random.random() < 2.5 / n]
    layout = lay_out([BOX] * n, edges)
    for a, b in edges:
        assert layout.centres[a][1] < layout.centres[b][1]


@settings(max_examples=60)
@given(st.integers(2, 16), st.randoms(use_true_random=False))
def test_sharing_dummies_keeps_boxes_apart(n, random):
    edges = [(a, b) for a in range(n) for b in range(a + 1, n) if random.random() < 0.4]
    layer = layers.layers_of(n, edges)
    for limit in (0, 3, 10):
        drawing = layers.drawing_of(
            n, edges, layer, max_dummies=limit, trunks=[a for a, _ in edges], weights=[1] * len(edges)
        )
        assert len(drawing.layer) - n <= limit
        for (a, b), chain in zip(edges, drawing.chains, strict=True):
            assert (chain[0], chain[-1]) == (a, b)
        layers.reduce_crossings(drawing)
        assert sorted(itertools.chain(*drawing.layers)) == list(range(len(drawing.layer)))


def test_crossings_are_counted_and_removed():
    edges = [(0, 5), (1, 4), (2, 3)]
    drawing = layers.drawing_of(6, edges, [0, 0, 0, 1, 1, 1], max_dummies=0, trunks=[0, 1, 2], weights=[1] * 3)
    drawing.layers = [[0, 1, 2], [3, 4, 5]]
    assert layers.crossings(drawing) == 3
    layers.reduce_crossings(drawing)
    assert layers.crossings(drawing) == 0


def test_the_way_of_the_data_is_straight():
    # A chain of steps, each with a result that branches off.
    n, edges, weights = 9, [], []
    for i in range(4):
        edges += [(i, i + 1), (i, 5 + i)]
        weights += [2, 1]
    layout = lay_out([BOX] * n, edges, weights=weights)
    assert len({round(layout.centres[i][0], 3) for i in range(5)}) == 1


def test_labels_do_not_meet():
    n = 12
    edges = [(0, i) for i in range(1, n)]
    layout = lay_out([BOX] * n, edges, label_widths=[60.0] * len(edges))
    for (ax, ay), (bx, by) in itertools.combinations(layout.labels, 2):
        assert abs(ax - bx) >= 60 or abs(ay - by) >= 18


def large_graph(name, n):
    chain = [(i, i + 1) for i in range(n - 1)]
    return {
        "chain": chain,
        "chain and its input": chain + [(0, i) for i in range(2, n)],
        "random": [(i * 7919 % max(i, 1), i) for i in range(1, n)] + [(i * 104729 % max(i, 1), i) for i in range(1, n)],
        "fan": [(0, i) for i in range(1, n)],
        "skips": chain + [(i, i + 40) for i in range(n - 40)],
    }[name]


def n_calls(name, n):
    """How many function calls the layout of a graph takes: as much work on any machine, busy or not."""
    profile = cProfile.Profile()
    profile.enable()
    layout = lay_out([BOX] * n, large_graph(name, n))
    profile.disable()
    assert len(layout.centres) == n
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("name", ["chain", "chain and its input", "random", "fan", "skips"])
def test_work_grows_with_the_graph(name):
    large = n_calls(name, 2000)
    assert large < 3 * n_calls(name, 1000) and large < 2e6


@given(st.lists(st.floats(-500, 500), min_size=1, max_size=12), st.floats(0, 20))
def test_ports_keep_their_order_and_distance(wanted, spacing):
    wanted.sort()
    low, high = -100.0, 100.0
    spacing = min(spacing, (high - low) / len(wanted))
    places = spread(wanted, spacing, low, high)
    assert all(b - a >= spacing - 1e-6 for a, b in itertools.pairwise(places))
    assert all(low - 1e-6 <= x <= high + 1e-6 for x in places)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_are_laid_out_soundly(name):
    graph = SAMPLES[name]().graph
    for a, b in itertools.combinations(graph.nodes, 2):
        box_a, box_b = ((n.x - n.w / 2, n.y - n.h / 2, n.x + n.w / 2, n.y + n.h / 2) for n in (a, b))
        assert not overlaps(box_a, box_b)
    assert all(len(edge.points) >= 2 for edge in graph.edges)


def test_a_box_holds_its_title():
    graph = Graph(
        [StepNode("K0", "kernel", "a_very_long_name_of_a_kernel_that_does_much_and_says_so_twice", ["e0"])], []
    )
    (node,) = lay_out_graph(graph).nodes
    assert node.w < 260 and node.h > 50  # two lines, not one that is endless
