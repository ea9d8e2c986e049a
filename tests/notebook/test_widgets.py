"""The Python side of the widgets, and that it says the same as the front end."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
import traitlets

from workbench.notebook import protocol, widgets
from workbench.report import schema

EXTENSION = Path(__file__).parents[2] / "extension"
CLASSES = [widgets.Report, widgets.IRView, widgets.ClusterGraph, widgets.Timings]
MAX_BUNDLE_BYTES = 150_000
RECORDS = [cls for cls in vars(schema).values() if dataclasses.is_dataclass(cls)]


def small_report() -> schema.CompileReport:
    return schema.CompileReport(
        "empty", schema.Cell("In[1]", "pass"), schema.Summary(0, 0), schema.Machine("cpu", "a machine", 1)
    )


@pytest.fixture
def sent(monkeypatch):
    """What the widgets send to the browser."""
    messages = []
    monkeypatch.setattr(widgets._ReportWidget, "send", lambda self, content, buffers=None: messages.append(content))
    return messages


def request(widget, **content):
    widget._on_request(widget, {"type": "text", "request": 1, "kernel": "K0", "kind": "llvm", **content}, [])


# ---- the report in both languages ----


@pytest.mark.parametrize("record", RECORDS, ids=lambda cls: cls.__name__)
def test_typescript_mirrors_the_schema(record):
    source = (EXTENSION / "src" / "report.ts").read_text()
    found = re.search(rf"export const {record.__name__} = record\(\{{(.*?)\}}\);", source, re.DOTALL)
    assert found, f"extension/src/report.ts has no {record.__name__}"
    fields = re.findall(r"(?:^|,|\{)\s*(\w+): ", "{" + found[1])
    names = [field.name for field in dataclasses.fields(record)]
    assert [name for name in fields if name in names] == names
    assert set(fields) - set(names) <= NESTED.get(record.__name__, set())


# `withDefault(Graph, { nodes: [] ... })` names fields of other records.
NESTED = {"CompileReport": {f.name for cls in (schema.Graph, schema.Timings) for f in dataclasses.fields(cls)}}


@pytest.mark.parametrize("record", RECORDS, ids=lambda cls: cls.__name__)
def test_a_field_with_a_default_may_be_missing_in_both_languages(record):
    source = (EXTENSION / "src" / "report.ts").read_text()
    body = re.search(rf"export const {record.__name__} = record\(\{{(.*?)\}}\);", source, re.DOTALL)[1]
    for field in dataclasses.fields(record):
        has_default = (
            field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        )  # a TypeScript `maybe` is null where it is missing
        if has_default:
            assert re.search(rf"\b{field.name}: (withDefault|maybe)\(", body), field.name


def test_schema_and_mime_type_are_the_same_in_both_languages():
    source = (EXTENSION / "src" / "report.ts").read_text()
    assert f"SCHEMA = '{schema.SCHEMA}'" in source
    assert f"MIME_TYPE = '{schema.MIME_TYPE}'" in source


def test_every_status_has_a_face():
    source = (EXTENSION / "src" / "views" / "Strip.tsx").read_text()
    assert [status for status in schema.STATUSES if f"  {status}: {{ word:" not in source] == []


def test_text_kinds_are_the_same_in_both_languages():
    source = (EXTENSION / "src" / "protocol.ts").read_text()
    kinds = ", ".join(f"'{kind}'" for kind in protocol.TEXT_KINDS)
    assert f"TEXT_KINDS = [{kinds}]" in source


# ---- widgets ----


@pytest.mark.parametrize("cls", CLASSES)
def test_a_widget_takes_a_report_or_its_dict(cls):
    report = small_report()
    assert cls(report).report == cls(report.to_dict()).report == report.to_dict()
    assert cls().report == {}
    widget = cls()
    widget.report = report
    assert widget.report["cell"]["label"] == "In[1]"


def test_a_widget_refuses_what_is_no_report():
    with pytest.raises(traitlets.TraitError):
        widgets.Report("text")


def test_selections_can_be_linked():
    code, graph = widgets.IRView(small_report()), widgets.ClusterGraph(small_report())
    link = traitlets.link((code, "selected"), (graph, "selected"))
    code.selected = ["e0", "e1"]
    assert graph.selected == ["e0", "e1"]
    link.unlink()


def test_a_checkout_that_is_not_built_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(widgets, "STATIC", tmp_path)
    assert "npm run build" in widgets.asset("report.js")
    assert widgets.asset("report.css") == ""


# ---- messages ----


def test_the_whole_text_is_sent_on_request(sent):
    widget = widgets.Report(small_report(), texts=lambda kernel, kind: f"{kind} of {kernel}")
    request(widget)
    assert sent == [{"type": "text", "request": 1, "kernel": "K0", "kind": "llvm", "text": "llvm of K0"}]


def test_a_report_of_this_session_knows_its_texts(sent):
    report = small_report()
    whole = schema.Text("define", 1, "", True)
    report.kernels = schema.Rows(
        [
            schema.KernelRow(
                "K0", "exp", "cpu", "", [], [], [], n_elements=1, flops=1, bytes_moved=8, threads=1, llvm=whole
            )
        ]
    )
    widget = widgets.Report(report)
    request(widget)
    request(widget, kind="asm")
    request(widget, kernel="K7")
    assert sent[0]["text"] == "define"
    assert [message["message"] for message in sent[1:]] == ["there is no asm text of K0", "there is no llvm text of K7"]


def test_a_missing_text_is_answered_in_words(sent):
    request(widgets.Report(small_report().to_dict()))
    request(widgets.Report(small_report(), texts=lambda kernel, kind: {}[kernel]))
    request(widgets.Report(small_report(), texts=lambda kernel, kind: 1 / 0))
    assert [message["type"] for message in sent] == ["error"] * 3
    assert "run the cell again" in sent[0]["message"]
    assert sent[1]["message"] == "there is no llvm text of K0"
    assert "ZeroDivisionError" in sent[2]["message"]


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {},
        {"type": "run", "request": 1},
        {"type": "text", "request": 1, "kernel": "K0", "kind": "source"},
        {"type": "text", "request": True, "kernel": "K0", "kind": "asm"},
        {"type": "text", "request": -1, "kernel": "K0", "kind": "asm"},
        {"type": "text", "request": 1, "kernel": "", "kind": "asm"},
        {"type": "text", "request": 1, "kernel": "K" * 1000, "kind": "asm"},
        {"type": "text", "request": 1, "kernel": "K0", "kind": "asm", "code": "1"},
    ],
)
def test_a_message_that_is_no_request_is_dropped(content, sent):
    with pytest.raises(protocol.ProtocolError):
        protocol.parse_request(content)
    widget = widgets.Report(small_report(), texts=lambda kernel, kind: "text")
    widget._on_request(widget, content, [])
    assert sent == []


# ---- the built front end ----


built = pytest.mark.skipif(
    not (widgets.STATIC / "report.js").exists(), reason="the front end is not built: npm run build in extension/"
)


@built
@pytest.mark.parametrize("name", ["report.js", "irview.js", "clustergraph.js", "timings.js"])
def test_a_bundle_is_small_and_asks_for_nothing(name):
    code = (widgets.STATIC / name).read_text()
    assert len(code.encode()) <= MAX_BUNDLE_BYTES
    assert not re.search(r"\bimport\s*[{*\"'(]|\bfetch\(|XMLHttpRequest|WebSocket|\beval\(|new Function\b", code)


@built
def test_all_styles_are_under_the_root_class():
    css = (widgets.STATIC / "report.css").read_text()
    assert "url(" not in css
    selectors = re.findall(r"([^{}]+)\{[^{}]*\}", css)
    for group in selectors:
        for selector in re.split(r",(?![^(]*\))", group):
            assert ".wb-report" in selector, selector
