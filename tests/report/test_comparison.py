"""Two reports side by side (row B10)."""

from __future__ import annotations

import pytest

from tests.report.sample_reports import cached, edge_detection, empty, hostile, partly, softmax
from workbench.report import words
from workbench.report.comparison import Measure, compare

pytestmark = pytest.mark.parity("B10")


def test_equal_reports_have_no_differences():
    found = compare(edge_detection(), edge_detection())
    assert (found.source, found.program, found.steps) == ([], [], [])
    assert all(pair.same_source for pair in found.kernels)
    assert {measure.verdict for measure in found.measures} <= {"same", ""}
    assert "Program: the same" in found.to_text()


def test_a_line_more_is_a_line_of_the_diff():
    after = edge_detection()
    after.cell.source += "total = tone.sum()\n"
    assert compare(edge_detection(), after).source[-1] == "+total = tone.sum()"


def test_kernels_are_matched_by_source_then_by_results():
    before, after = edge_detection(), edge_detection()
    after.kernels[0].source += "# changed\n"
    after.kernels[0].median_ms = 0.26
    after.kernels.insert(0, softmax().kernels[0])
    del after.kernels[3]
    found = compare(before, after)
    assert [(p.before and p.before.id, p.after and p.after.name) for p in found.kernels] == [
        (None, "max_exp_sum_div_77d0"), ("K0", "add_mul_div_a3c2"), ("K1", "sub_sqrt_max_5e01"), ("K2", None),
    ]  # fmt: skip
    assert "520 µs → 260 µs ▲ better" in found.to_text()


def test_an_inserted_step_leaves_the_others_alone():
    before, after = edge_detection(), edge_detection()
    extra = softmax().graph.nodes["K0"]
    after.graph.nodes.insert(0, extra)
    assert [line[0] for line in compare(before, after).steps if line[0] in "+-"] == ["+"]


@pytest.mark.parametrize(
    ("before", "after", "unit", "less", "verdict"),
    [
        (2.0, 1.0, "ms", True, "better"), (1.0, 2.0, "ms", True, "worse"), (1.0, 1.02, "ms", True, "same"),
        (2.0, 4.0, "ratio", False, "better"), (None, 1.0, "ms", True, ""), (0.0, 0.0, "ms", True, "same"),
        (2, 3, "count", True, "worse"), (100, 101, "count", True, "worse"),
    ],
)  # fmt: skip
def test_verdicts(before, after, unit, less, verdict):
    assert Measure("", before, after, unit, less).verdict == verdict


def test_text_and_page_of_any_two():
    samples = [cached(), empty(), hostile(), partly()]
    for before in samples:
        for after in samples:
            found = compare(before, after)._repr_mimebundle_()
            assert all(words.columns(line) <= 100 for line in found["text/plain"].splitlines())
            assert "<script" not in found["text/html"] and "<img" not in found["text/html"]
