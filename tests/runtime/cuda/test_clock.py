"""A profiled run on a device: each step by the device's clock, those of loops too, and the copies."""

from __future__ import annotations

import json

import numpy as np
import pytest

import workbench as wb
from workbench.report.figures import timeline
from workbench.runtime.cuda import clock

from . import fake_cupy

X = np.linspace(0.0, 2.0, 24).reshape(4, 6)


@pytest.fixture(params=["cuda-sim", "cuda"])
def device(request, monkeypatch):
    if request.param == "cuda":
        fake_cupy.install(monkeypatch)
    monkeypatch.setattr("workbench.codegen.cuda.block_programs.MOST_ELEMENTS", 0)  # the host decides loops
    return request.param


def solved(x):
    return np.linalg.lstsq(x[:, :2] * 2.0, x[:, 2])[0] + x.sum()


def relaxed(x):
    return wb.lax.while_loop(lambda v: v.max() > 0.5, lambda v: v * 0.9 - v.mean() * 0.01, x)


def profiled(function, device):
    f = wb.jit(function, device=device)
    return wb.explain(f)(X), f.compilations[0]


def lanes_on(where):
    """The simulator has routines for everything, a GPU none for least squares."""
    return {where, f"{where}, copies"} | ({"host"} if where == "cuda:0" else set())


def test_steps_copies_and_the_hosts_work_have_lanes(device):
    report, _ = profiled(solved, device)
    bars = report.timings.timeline
    where = report.machine.device
    assert {bar.lane for bar in bars} == lanes_on(where)
    copies = [(bar.name, bar.step) for bar in bars if bar.lane == f"{where}, copies"]
    assert copies == [("x to device", "copies"), ("to host", "copies")]
    (routine,) = (bar for bar in bars if bar.name == "lstsq")
    assert routine.lane == ("host" if device == "cuda" else where) and routine.time_ms > 0
    assert [bar.start_ms for bar in bars] == sorted(bar.start_ms for bar in bars)
    assert all(bar.start_ms + bar.time_ms <= report.timings.runs_ms[-1] for bar in bars)


def test_kernels_in_loops_are_timed_launch_by_launch(device):
    report, compilation = profiled(relaxed, device)
    (loop,) = (bar for bar in report.timings.timeline if bar.step == "W0")
    inside = [bar for bar in report.timings.timeline if bar.lane == "loops"]
    assert {bar.step for bar in inside} == set(compilation.kernels)
    assert 0 < sum(bar.time_ms for bar in inside) <= loop.time_ms
    n_turns = sum(c.why == "condition" for c in compilation.crossings) - 1
    assert n_turns > 3
    for row in report.kernels:
        (bar,) = (bar for bar in inside if bar.step == row.id)
        assert bar.time_ms / row.runs_ms[-1] == pytest.approx(n_turns, abs=1.01)


def test_long_loops_are_read_on_the_way(device, monkeypatch):
    monkeypatch.setattr(clock, "MOST_MARKS", 5)
    report, compilation = profiled(relaxed, device)
    assert set(compilation.kernels) <= {bar.step for bar in report.timings.timeline}


def test_calls_after_a_profiled_one_are_not_timed(device):
    f = wb.jit(relaxed, device=device)
    wb.explain(f)(X)
    n_before = len(f.compilations[0].kernel_infos["W0_K0"].runs_ms)
    np.testing.assert_allclose(f(X), relaxed(X), rtol=1e-12)
    assert len(f.compilations[0].kernel_infos["W0_K0"].runs_ms) == n_before


def test_the_trace_and_the_figure_show_the_devices_lanes(device, tmp_path):
    report, _ = profiled(solved, device)
    report.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    lanes = {e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    where = report.machine.device
    assert lanes_on(where) <= lanes
    assert [e["name"] for e in events if e.get("cat") == "copy"] == ["x to device", "to host"]
    shown = [text for trace in timeline(report).data for text in trace.customdata]
    assert any(text.startswith("x to device: ") for text in shown)
    assert f"{where}, copies" in report.to_text()
