"""Reports as data: stored and read back without loss, small, checked, and clear about versions."""

from __future__ import annotations

import dataclasses
import json
import pickle

import jsonschema
import numpy as np
import pytest

from tests.report.sample_reports import SAMPLES, edge_detection, large
from workbench.report import ReportFormatError, json_schema, schema
from workbench.report.bundle import to_bundle
from workbench.report.compact import compact, expand
from workbench.report.schema import MIME_TYPE, CompileReport, Rows, Text

BUDGET_BYTES = 150_000


def size(data):
    return len(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode())


@pytest.mark.parametrize("name", SAMPLES)
def test_a_report_is_stored_and_read_back_without_loss(name):
    report = SAMPLES[name]()
    data = json.loads(report.to_json())
    assert CompileReport.from_dict(data).to_dict() == data == report.to_dict()
    assert CompileReport.from_json(report.to_json(indent=1)).to_dict() == data


@pytest.mark.parametrize("name", SAMPLES)
def test_the_compact_form_says_the_same(name):
    plain = SAMPLES[name]().to_dict()
    small = json.loads(json.dumps(compact(plain)))
    assert expand(small) == plain
    assert CompileReport.from_dict(small).to_dict() == plain


@pytest.mark.parametrize("name", SAMPLES)
def test_the_json_schema_describes_a_report(name):
    described = json_schema()
    jsonschema.Draft202012Validator.check_schema(described)
    jsonschema.validate(SAMPLES[name]().to_dict(), described)


def test_the_json_schema_rejects_what_is_no_report():
    data = edge_detection().to_dict()
    data["kernels"][0]["median_ms"] = "fast"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, json_schema())
    data = edge_detection().to_dict() | {"status": "perfect"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, json_schema())


def test_the_json_schema_names_every_record():
    records = {cls.__name__ for cls in vars(schema).values() if dataclasses.is_dataclass(cls)}
    assert set(json_schema()["$defs"]) == records - {"CompileReport"}


def test_two_hundred_equations_fit_the_budget():
    report = large()
    assert len(report.stages[-1].equations) == 200
    assert size(to_bundle(report)[MIME_TYPE]) <= BUDGET_BYTES


def test_a_pass_that_changed_everything_fits_too():
    report = large()
    for i, stage in enumerate(report.stages[:3]):
        stage.text = stage.text.replace("512", f"{513 + i}")
        for row in stage.equations:
            row.text = row.text.replace("512", f"{513 + i}")
    assert size(to_bundle(report)[MIME_TYPE]) <= BUDGET_BYTES * 1.25


def test_a_newer_report_says_so():
    data = edge_detection().to_dict() | {"schema": "workbench.report/2"}
    with pytest.raises(ReportFormatError, match="newer version of the workbench.*pip install --upgrade"):
        CompileReport.from_dict(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "something/1"}, "no report of the workbench"),
        ({"schema": None}, "no report of the workbench"),
        ({"status": 3}, "report.status should be str and is int"),
        ({"cell": None}, "report.cell should be a record and is null"),
        ({"kernels": {}}, "report.kernels should be a list and is dict"),
        ({"kernels": [{}]}, r"report.kernels\[0\] has no id"),
        ({"summary": {"n_kernels": True, "n_ops": 1}}, "n_kernels should be int and is bool"),
    ],
)
def test_damaged_data_is_named_by_its_path(change, message):
    with pytest.raises(ReportFormatError, match=message):
        CompileReport.from_dict(edge_detection().to_dict() | change)
    with pytest.raises(ReportFormatError, match="a report is a record"):
        CompileReport.from_dict([])


def test_unknown_fields_of_a_later_minor_version_are_ignored():
    data = edge_detection().to_dict()
    data["mood"] = "good"
    data["kernels"][0]["colour"] = "blue"
    assert CompileReport.from_dict(data).to_dict() == edge_detection().to_dict()


def test_what_json_cannot_say_becomes_null():
    report = edge_detection()
    report.verification.max_ulp = float("inf")
    report.summary.time_ms = np.float64(2.5)
    report.kernels[0].threads = np.int64(2)
    data = report.to_dict()
    assert data["verification"]["max_ulp"] is None
    assert type(data["summary"]["time_ms"]) is float and type(data["kernels"][0]["threads"]) is int
    json.dumps(data, allow_nan=False)


def test_rows_are_found_by_id_and_by_name():
    report = edge_detection()
    assert report.kernels["K1"] is report.kernels[1] is report.kernels["sub_sqrt_max_5e01"]
    assert [kernel.id for kernel in report.kernels] == report.kernels.keys() == ["K0", "K1", "K2"]
    assert report.stages["trace"].name == "trace"
    assert report.graph.nodes["L0"].kind == "library"
    assert report.kept["blur"].name == "blur"
    assert isinstance(report.kernels[:1], list)
    with pytest.raises(KeyError, match="'K7': there is 'K0', 'K1', 'K2'"):
        report.kernels["K7"]
    with pytest.raises(KeyError, match="nothing here"):
        Rows([])["K0"]
    assert isinstance(CompileReport.from_dict(report.to_dict()).kernels, Rows)


def test_a_stored_text_says_how_much_is_missing():
    text = edge_detection().kernels["K1"].asm
    assert text.whole() is None
    assert str(text).startswith("\t.text") and "400 more lines, in the session that compiled it" in str(text)


def test_a_text_is_written_when_it_is_asked_for():
    written = []

    def load():
        written.append("head")
        return Text("ab", 3, "5e", False)

    text = Text.later(load, lambda: "ab\ncd\nef")
    assert not text.is_loaded and written == []
    assert str(text) == "ab\ncd\nef" and written == []
    assert (text.head, text.n_lines, text.complete) == ("ab", 3, False) and written == ["head"]
    assert text == Text("ab", 3, "5e", False)
    assert pickle.loads(pickle.dumps(text)) == text
    with pytest.raises(AttributeError):
        text.tail


def test_a_report_can_be_pickled():
    report = edge_detection()
    assert pickle.loads(pickle.dumps(report)).to_dict() == report.to_dict()


def test_a_report_is_shown_in_three_forms():
    report = edge_detection()
    bundle = report._repr_mimebundle_()
    assert list(bundle) == [MIME_TYPE, "text/html", "text/plain"]
    assert bundle["text/plain"].startswith(" ✔ compiled  3 kernels")
    assert CompileReport.from_dict(bundle[MIME_TYPE]).to_dict() == report.to_dict()
    assert repr(report).startswith("<CompileReport of In[7]: ✔ compiled")
    assert "Kernels" in str(report)


def test_a_text_that_cannot_be_written_does_not_cost_the_report():
    report = edge_detection()

    def fails():
        raise RuntimeError("inspection is disabled")

    report.kernels["K0"].asm = Text.later(fails, fails)
    data = report._repr_mimebundle_()[MIME_TYPE]
    assert CompileReport.from_dict(data).kernels["K0"].asm is None
