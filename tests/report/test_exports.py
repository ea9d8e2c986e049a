"""Text, HTML, SVG, DOT and trace: complete, escaped, within their sizes, and readable by their readers."""

from __future__ import annotations

import base64
import html.parser
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest

from tests.report.sample_reports import SAMPLES, edge_detection, fallback, hostile, large, partly
from workbench.report import words
from workbench.report.schema import TimelineBar
from workbench.report.svg import MAX_BYTES, to_svg
from workbench.report.text import SECTIONS, WIDTH, fold
from workbench.report.trace import timeline_trace

SVG = "{http://www.w3.org/2000/svg}"
ALL = pytest.mark.parametrize("name", SAMPLES)


class Tags(html.parser.HTMLParser):
    """What a browser would make of a page: its elements, their attributes, its text."""

    VOID = frozenset({"img", "meta", "br", "rect", "path"})

    def __init__(self, page):
        super().__init__()
        self.elements, self.attributes, self.text, self.open = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        self.attributes += attributes
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


# ---- text ----


@ALL
def test_text_fits_its_columns_and_holds_no_escape(name):
    text = SAMPLES[name]().to_text()
    assert all(words.columns(line) <= WIDTH for line in text.splitlines())
    assert "\x1b" not in text and "\u202e" not in text
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_text_is_complete():
    report = edge_detection()
    text = " ".join(report.to_text().split())
    for line in (*report.cell.source.splitlines(), *report.stages[-1].text.splitlines()):
        assert re.sub(r"\W", "", line) in re.sub(r"\W", "", text)
    for kernel in report.kernels:
        assert kernel.name in text and " ".join(kernel.source.split()) in text
    for decision in report.decisions:
        assert decision.code in text
    for phase in report.timings.phases:
        assert phase.name in text


def test_colour_is_off_unless_asked_for():
    report = edge_detection()
    assert "\x1b[1m" in report.to_text(colour=True)
    assert re.sub(r"\x1b\[\d+m", "", report.to_text(colour=True)) == report.to_text()


def test_sections_can_be_chosen():
    report = edge_detection()
    assert report.to_text(only=["machine"]).startswith("Measured on\n  AMD EPYC")
    assert "".join(report.to_text(only=[name]) + "\n" for name in SECTIONS).strip() == report.to_text().strip()
    with pytest.raises(ValueError, match="no section 'assembly' in a report; there are strip, source"):
        report.to_text(only=["assembly"])


def test_a_fallback_shows_the_place_and_the_fix():
    text = fallback().to_text(only=["why"])
    assert "      In[8]:4  if err > tol:\n" in text
    assert "                  ~~~~~~~~~\n" in text
    assert "fix  both sides are array formulas:   x = np.where" in text


@pytest.mark.parametrize("text", ["x" * 250, "word " * 60, "    indented " * 30, "日本語" * 60, "", "a\tb"])
def test_folding_loses_nothing(text):
    lines = fold(text, 60)
    assert all(words.columns(line) <= 60 for line in lines)
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", words.visible(text))


# ---- SVG ----


@ALL
def test_the_card_is_a_small_image_of_its_own(name):
    svg = SAMPLES[name]().to_svg()
    assert len(svg.encode()) <= MAX_BYTES
    root = ET.fromstring(svg)
    assert root.tag == f"{SVG}svg" and root.get("role") == "img"
    assert root.find(f"{SVG}title").text and root.find(f"{SVG}desc").text
    assert {element.tag for element in root.iter()} <= {
        SVG + tag for tag in ("svg", "title", "desc", "style", "g", "rect", "path", "text")
    }
    assert not re.search(r"""href|url\(|\son\w+=|@import""", svg.split("<text", 1)[0])
    assert "prefers-color-scheme:dark" in svg


def test_every_text_of_the_card_is_inside_it():
    for name in SAMPLES:
        root = ET.fromstring(SAMPLES[name]().to_svg())
        width, height = float(root.get("width")), float(root.get("height"))
        for text in root.iter(f"{SVG}text"):
            assert 0 < float(text.get("y")) < height
            assert 0 < float(text.get("x")) < width


def test_a_very_large_graph_still_fits():
    report = large(60)
    assert len(report.stages[-1].equations) == 600
    svg = to_svg(report)
    assert len(svg.encode()) <= MAX_BYTES
    ET.fromstring(svg)


def test_the_card_of_hostile_names_is_text_only():
    root = ET.fromstring(hostile().to_svg())
    assert any("<script>alert(1)</script>" in (text.text or "") for text in root.iter(f"{SVG}text"))


# ---- HTML ----


@ALL
def test_the_page_stands_alone(name, tmp_path):
    path = tmp_path / "report.html"
    SAMPLES[name]().save_html(path)
    page = path.read_text(encoding="utf-8")
    found = Tags(page)
    assert found.open == [] or found.open == ["html"]
    assert not {"script", "link", "iframe", "object", "embed", "img", "form", "base"} & set(found.elements)
    assert not any(key.startswith("on") or key in ("href", "src") for key, _ in found.attributes)
    assert "default-src 'none'" in page and "http" not in re.sub(r"http-equiv|http://www.w3.org/2000/svg", "", page)


@ALL
def test_the_fragment_opens_without_a_script(name):
    report = SAMPLES[name]()
    found = Tags(report._repr_mimebundle_()["text/html"])
    assert set(found.elements) <= {"details", "summary", "b", "div", "img", "pre"}
    sources = [value for key, value in found.attributes if key == "src"]
    (source,) = sources
    image = base64.b64decode(source.removeprefix("data:image/svg+xml;base64,"))
    assert image.decode() == report.to_svg()
    assert report.to_text() in "".join(found.text)


def test_the_page_shows_names_as_they_are():
    text = "".join(Tags(hostile().to_html()).text)
    assert "<script>alert(1)</script>" in text and "<img src=x onerror=alert(2)>" in text
    assert "\u202e" not in text


def test_the_page_has_all_views():
    text = "".join(Tags(edge_detection().to_html()).text)
    for title in ("Code", "Graph", "Kernels", "Timings", "Why", "Measured on"):
        assert title in text
    assert "Why it was not compiled" in "".join(Tags(partly().to_html()).text)


# ---- DOT ----


@ALL
def test_dot_is_well_formed(name):
    dot = SAMPLES[name]().to_dot()
    strings = re.sub(r'"(?:[^"\\]|\\.)*"', "S", dot)
    assert '"' not in strings and strings.count("{") == strings.count("}") == 1
    body = strings.splitlines()[1:-1]
    assert all(re.fullmatch(r"  (\w+|\w+ -> \w+) \[.*\];", line) for line in body)
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=dot.encode(), check=True, capture_output=True)


# ---- Chrome trace ----


@pytest.mark.parity("T11")
def test_a_trace_has_a_bar_a_kernel(tmp_path):
    report = edge_detection()
    report.save_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    events = trace["traceEvents"]
    assert {event["ph"] for event in events} == {"X", "M"}
    bars = [event for event in events if event["ph"] == "X"]
    assert all(isinstance(bar["ts"], float) and bar["dur"] >= 0 and bar["pid"] and bar["tid"] for bar in bars)
    run = [bar for bar in bars if bar["cat"] != "compilation"]
    assert [bar["args"]["step"] for bar in run] == ["L0", "K0", "K1", "K2"]
    assert [bar["cat"] for bar in run] == ["library", "kernel", "kernel", "kernel"]
    assert run[1]["dur"] == pytest.approx(520.0)  # microseconds
    assert run[1]["args"]["lines"] == [3] and "add" in run[1]["args"]["operations"]
    assert [bar["name"] for bar in bars if bar["cat"] == "compilation"][0] == "trace"


@pytest.mark.parity("T11")
def test_a_run_without_the_compiler_has_a_box_an_operation():
    bars = [TimelineBar(f"e{i}", "add", float(i), 0.5, "main" if i % 2 else "thread 1") for i in range(6)]
    events = timeline_trace("In[7], without the compiler", bars)["traceEvents"]
    run = [event for event in events if event["ph"] == "X"]
    assert len(run) == 6 and {event["tid"] for event in run} == {1, 2}
    assert {e["args"]["name"] for e in events if e["name"] == "thread_name"} == {"main", "thread 1"}
