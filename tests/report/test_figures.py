"""The plotly figures: a trace for what was measured, whole titles, nothing read as markup, words where nothing was."""

from __future__ import annotations

import json

import plotly.graph_objects as go
import pytest

from tests.report.sample_reports import SAMPLES, edge_detection, empty, hostile, partly
from workbench.report import figures

FIGURES = [figures.runs, figures.phases, figures.timeline, figures.roofline, figures.steps]


@pytest.mark.parametrize("template", [figures.LIGHT, figures.DARK])
@pytest.mark.parametrize("figure", FIGURES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", SAMPLES)
def test_every_report_has_every_figure(name, figure, template):
    drawn = figure(SAMPLES[name](), template=template)
    assert type(drawn) is go.Figure
    assert drawn.data or drawn.layout.annotations[0].text
    json.loads(drawn.to_json())


def test_runs_are_shown_beside_numpys():
    drawn = figures.runs(edge_detection())
    assert [trace.name for trace in drawn.data] == ["NumPy", "this cell"]
    assert len(drawn.data[1].x) == 24


def test_the_roofline_has_the_limits_and_every_measured_kernel():
    drawn = figures.roofline(edge_detection())
    assert [trace.name for trace in drawn.data] == [
        "this machine's limits", "K0 add_mul_div_a3c2", "K1 sub_sqrt_max_5e01", "K2 div_exp_div_91fe",
    ]  # fmt: skip
    report = edge_detection()
    report.machine.copy_gb_per_s = None
    assert len(figures.roofline(report).data) == 3  # no limits are invented


def test_what_was_not_measured_is_said():
    assert figures.runs(empty()).layout.annotations[0].text == "nothing was timed"
    assert figures.roofline(hostile()).data[0].name == "this machine's limits"


def test_names_are_not_markup():
    for figure in FIGURES:
        text = figure(hostile()).to_json()
        assert "<script" not in text and "<img" not in text


def test_a_long_title_is_wrapped():
    report = partly()
    report.cell.label = "a_function_with_quite_a_long_name_" * 4
    title = figures.phases(report).layout.title.text
    assert all(len(line) <= 60 for line in title.split("<br>"))
    assert "".join(title.split("<br>")).replace(" ", "").startswith(report.cell.label)
