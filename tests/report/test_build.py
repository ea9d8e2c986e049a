"""Reports of real compilations: everything is linked to everything, and the numbers are those that were measured."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest

import workbench as wb
from workbench.errors import TracerBoolConversionError
from workbench.fusion import form_plan
from workbench.ir import Equation, Jaxpr, JaxprBuilder, Origin, Span, Var, parse_aval
from workbench.report import build_report, describe_machine, json_schema, numpy_report
from workbench.report.build import SpanMap, compare_with_numpy, n_operations
from workbench.report.identities import Identities
from workbench.report.kernel_rows import add_times, head_of, roof
from workbench.report.schema import KernelRow, Machine, Summary
from workbench.report.traffic import numpy_bytes
from workbench.runtime.dispatch import CompiledFunction


def standardised(x, w):
    d = (x - x.mean()) / x.std()
    y = np.exp(-d * d) * w
    again = np.exp(-d * d) @ w
    return d, y, again


@pytest.fixture(scope="module")
def compilation(tmp_path_factory):
    """A function with two reductions, a product, a value that is computed twice, compiled and run a few times."""
    x, w = np.linspace(0.0, 1.0, 3000).reshape(50, 60), np.ones((60,))
    function = CompiledFunction(standardised)
    with wb.config(cache_dir=str(tmp_path_factory.mktemp("kernels"))):
        entry, leaves = function.specialise((x, w), {})
    for _ in range(5):
        entry.call(leaves, entry.compilation.run_timed)
    entry.compilation.numpy_ms = [1.0, 3.0, 2.0]
    return entry.compilation


@pytest.fixture
def report(compilation):
    return build_report(compilation)


def test_a_report_is_valid_data(report):
    jsonschema.validate(report.to_dict(), json_schema())


def test_everything_is_linked(report):
    last = {row.id: row for row in report.stages[-1].equations}
    steps = {node.id: node for node in report.graph.nodes}
    assert len({row.id for row in report.stages[-1].equations}) == len(report.stages[-1].equations)
    for row in last.values():
        assert row.step in steps and row.id in steps[row.step].equations
        lines = report.stages[-1].text.split("\n")
        assert row.text.split("\n")[0] in lines[row.text_line - 1]
        assert row.spans and all(1 <= s.line <= report.cell.source.count("\n") for s in row.spans)
    for kernel in report.kernels:
        assert steps[kernel.id].kind == "kernel"
        assert len(kernel.line_equations) == len(kernel.source.splitlines())
        assert {name for line in kernel.line_equations for name in line} <= set(steps[kernel.id].equations)
    for decision in report.decisions:
        assert {decision.producer, decision.consumer} <= set(last)
    for edge in report.graph.edges:
        assert edge.source in steps and edge.target in steps
    assert {bar.step for bar in report.timings.timeline} >= {kernel.id for kernel in report.kernels}


def test_spans_point_into_the_source(report):
    lines = report.cell.source.split("\n")
    for row in report.stages[0].equations:
        (span,) = row.spans
        assert span.line == span.end_line
        text = lines[span.line - 1][span.col : span.end_col]
        expected = {"mean": "mean", "std": "std", "exp": "exp", "matmul": "@"}.get(row.op)
        assert expected is None or expected in text


def test_the_graph_leads_from_inputs_to_results(report):
    kinds = {node.id: node.kind for node in report.graph.nodes}
    assert {"in:x", "in:w", "out:d", "out:y", "out:again"} <= set(kinds)
    assert any(edge.source == "in:x" for edge in report.graph.edges)
    assert all(any(e.target == n for e in report.graph.edges) for n, kind in kinds.items() if kind == "output")
    assert all(edge.value.bytes > 0 for edge in report.graph.edges)


def test_numbers_are_the_measured_ones(report, compilation):
    assert len(report.timings.runs_ms) == 5 == len(report.kernels[0].runs_ms)
    assert report.summary.time_ms == sorted(report.timings.runs_ms)[2]
    assert report.summary.numpy_ms == 2.0
    assert report.summary.speedup == 2.0 / report.summary.time_ms
    assert report.summary.compile_ms == pytest.approx(sum(time_ms for _, time_ms in compilation.phases))
    assert report.summary.n_kernels == len(report.kernels) > 0
    assert sum(kernel.share or 0 for kernel in report.kernels) <= 1 + 1e-9
    assert report.summary.bytes_saved > 0


def test_operations_are_numpys(report):
    # x.mean, -, x.std, /, then twice: -, *, np.exp; * and @
    assert report.summary.n_ops == 4 + 2 * 3 + 2


def test_common_subexpressions_show_as_removed(report):
    assert report.stages["share common subexpressions"].removed >= 3
    assert report.stages[0].added == report.stages[0].removed == 0
    ids = [{row.id for row in stage.equations} for stage in report.stages]
    for before, after, stage in zip(ids, ids[1:], report.stages[1:], strict=False):
        assert (len(after - before), len(before - after)) == (stage.added, stage.removed)
    assert len(ids[0] & ids[-1]) > len(ids[0]) / 2


def test_what_never_reaches_memory_is_marked(report):
    rows = report.stages[-1].equations
    kept = {v.name for row in rows if row.in_memory for v in row.outputs}
    assert {"d", "y", "again"} <= kept
    assert any(not row.in_memory for row in rows)


def test_texts_are_those_of_the_compiler(report, compilation):
    kernel = report.kernels[0]
    assert str(kernel.llvm) == compilation.get_llvm(kernel.id)
    assert kernel.llvm.head and compilation.get_llvm(kernel.id).startswith(kernel.llvm.head)
    assert kernel.asm.n_lines == len(compilation.get_asm(kernel.id).splitlines())
    stored = type(report).from_dict(report.to_dict())
    assert stored.kernels[0].asm.head == kernel.asm.head


def test_a_second_report_knows_the_first_ones_texts(compilation):
    build_report(compilation).to_dict()
    assert all(kernel.asm.is_loaded for kernel in build_report(compilation).kernels)


def test_a_report_outlives_its_compilation_as_a_document(report, tmp_path):
    report.save_html(tmp_path / "r.html")
    report.save_json(tmp_path / "r.json")
    again = type(report).from_json((tmp_path / "r.json").read_text())
    assert again.to_text() == report.to_text()
    assert again.to_svg() == report.to_svg()


# ---- fallbacks ----


def test_numpy_gives_its_reason_and_its_place():
    source = SimpleNamespace(
        label="f", text="def f(x):\n    if x > 0:\n        return x\n", filename="m.py", first_line=11
    )
    error = TracerBoolConversionError(
        "WB101  Line 12 must choose\n\n   m.py:12  if x > 0\n   Fix  ...",
        provenance="from x",
        span=Span("m.py", 12, 7, 12, 12),
        value="x",
        fixes=["np.where(x > 0, x, 0)"],
    )
    report = numpy_report(source, error, [3.0, 1.0, 2.0])
    (fallback,) = report.fallbacks
    assert (fallback.span.line, fallback.span.col, fallback.code, fallback.cost_ms) == (2, 7, "WB101", 2.0)
    assert fallback.why == "Line 12 must choose\nfrom x"
    assert report.status == "numpy" and report.summary.time_ms == 2.0 and report.summary.speedup is None
    assert fallback.fix == "np.where(x > 0, x, 0)"
    jsonschema.validate(report.to_dict(), json_schema())
    assert numpy_report(source, ValueError("mine")).fallbacks[0].why == "ValueError: mine"


def test_spans_of_other_files_are_left_out():
    spans = SpanMap(SimpleNamespace(filename="m.py", first_line=5, text="a\nb\n"))
    assert spans(Span("other.py", 5, 0, 5, 1)) is None
    assert spans(Span("m.py", 4, 0, 4, 1)) is None and spans(Span("m.py", 9, 0, 9, 1)) is None
    assert spans(Span("m.py", 6, 0, 6, 1)).line == 2
    assert spans(None) is None


# ---- parts ----


def test_ids_follow_equations_through_passes():
    here, there = (Origin((Span("c", n, 0, n, 5),), op) for n, op in ((1, "mean"), (2, "exp")))
    builder = JaxprBuilder()
    x = builder.input(parse_aval("f64[4]"), "x")
    total = builder.emit("reduce_sum", x, axes=(0,), origin=here)
    mean = builder.emit("div", total, total, origin=here)
    result = builder.emit("exp", mean, origin=there)
    first = builder.build(result).eqns
    ids = Identities()
    assert ids.stage(first)[1:] == (3, 0)
    # The sum stays the same object, the quotient is replaced by a product of another variable, exp is re-bound.
    product = Equation(first[1].primitive, first[1].invars, (Var(mean.aval),), {}, here)
    exp = Equation(first[2].primitive, product.outvars, first[2].outvars, {}, there)
    extra = Equation(first[2].primitive, exp.outvars, (Var(mean.aval),), {}, there)
    known, added, removed = ids.stage((first[0], product, exp, extra))
    assert [known[e] for e in (first[0], product, exp, extra)] == ["e0", "e1", "e2", "e3"]
    assert (added, removed) == (1, 0)
    assert ids.stage((first[0],))[1:] == (0, 3)


def test_traffic_counts_views_and_broadcasts_once():
    builder = JaxprBuilder()
    x, row = builder.input(parse_aval("f64[10,10]"), "x"), builder.input(parse_aval("f64[10]"), "row")
    wide = builder.emit("broadcast_in_dim", row, shape=(10, 10), broadcast_dimensions=(1,))
    result = builder.emit("add", x, wide)
    assert numpy_bytes(builder.build(result)) == 800 + 80 + 800


def test_nothing_is_saved_by_a_single_operation():
    builder = JaxprBuilder()
    x = builder.input(parse_aval("f64[100]"), "x")
    jaxpr: Jaxpr = builder.build(builder.emit("exp", x))
    assert numpy_bytes(jaxpr) == 1600 and len(form_plan(jaxpr).clusters) == 1
    assert n_operations(jaxpr) == 1


def test_roofs():
    machine = Machine("cpu", "", 1, copy_gb_per_s=10.0, peak_gflops=100.0)
    assert roof(1e8, 1e6, machine) == (10.0, "memory")
    assert roof(1e8, 1e10, machine) == (100.0, "compute")
    assert roof(1e3, 1e3, machine)[1] == "overhead"
    assert roof(1e8, 1e6, Machine("cpu", "", 1)) == (None, "")
    cached = replace(machine, cache_gb_per_s=100.0, cache_bytes=int(1e8))
    assert roof(1e8, 1e6, cached) == (1.0, "cache")
    assert roof(1.01e8, 1e6, cached) == (10.1, "memory")
    row = KernelRow("K0", "k", "cpu", "", [], [], [], 1, flops=1e6, bytes_moved=int(1e8), threads=1)
    add_times(row, [20.0, 18.0, 22.0, 40.0], machine)
    assert (row.median_ms, row.roof_share, row.bound) == (21.0, 10 / 21, "memory")
    assert row.iqr_ms == pytest.approx(7.0)
    add_times(row, [20.0], machine)
    assert row.median_ms == 20.0


def test_heads_end_with_a_line():
    text = head_of("one\ntwo\nthree\n", 9)
    assert (text.head, text.n_lines, text.complete) == ("one\ntwo\n", 3, False)
    assert head_of("one\n", 9).complete
    assert head_of("x" * 20, 9).head == "x" * 9


def test_paying_off():
    summary = Summary(1, 1, time_ms=2.0, compile_ms=100.0)
    compare_with_numpy(summary, 12.0)
    assert (summary.speedup, summary.pays_off_after) == (6.0, 10)
    compare_with_numpy(summary, 1.0)
    assert (summary.speedup, summary.pays_off_after) == (0.5, None)
    compare_with_numpy(summary, None)
    assert (summary.numpy_ms, summary.speedup, summary.pays_off_after) == (None, None, None)


def test_the_machine_is_described():
    machine = describe_machine("cpu", 3)
    assert machine.description and machine.threads == 3
    assert {"workbench", "numpy", "numba", "python"} == set(machine.versions)


def test_programs_are_printed_once_for_all_runs(compilation):
    first, second = build_report(compilation), build_report(compilation)
    assert all(a is b for a, b in zip(first.stages, second.stages, strict=True))
    elsewhere = SimpleNamespace(label="other", text="\n" * 99, filename="elsewhere", first_line=1)
    third = build_report(compilation, elsewhere)
    assert [s.text for s in third.stages] == [s.text for s in first.stages]
    assert any(row.spans for row in first.stages[-1].equations)
    assert not any(row.spans for row in third.stages[-1].equations)


def recurrence(x):
    largest = max(row.sum() for row in x)
    state = np.zeros(len(x))
    for i in range(1, len(x)):
        state[i] = 0.5 * state[i - 1] + x[i, 0] if x[i, 0] > state[i - 1] else x[i, 1]
    return state / largest


def test_loops_are_counted_and_checks_are_no_library_calls():
    report = wb.explain(recurrence)(np.ones((50, 3)))
    kinds = [node.kind for node in report.graph.nodes]
    assert kinds.count("check") >= 1 and kinds.count("library") == report.summary.n_library_calls
    assert report.summary.n_loops == kinds.count("loop") >= 1
    assert f"{report.summary.n_loops} loop" in str(report)
