"""Rows T8, T9, N6 and C3 on devices: placement, crossings and their bytes, arrays that stay, the same clusters on CUDA."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.runtime.cuda.memory import SimulatedMemory

X = np.linspace(0.1, 2.0, 24).reshape(4, 6)


def normalised(x):
    d = x - x.mean(axis=1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=1, keepdims=True))


@pytest.mark.parity("T9")
@pytest.mark.parametrize("device", ["numpy", "cpu", "cuda-sim"])
def test_operations_are_placed_on_explicit_devices(device):
    f = wb.jit(normalised)
    with wb.device(device):
        np.testing.assert_allclose(f(X), normalised(X), rtol=1e-13)
    assert [c.device for c in f.compilations] == [device]


@pytest.mark.parity("T9")
def test_crossings_and_their_bytes_are_in_the_report():
    with wb.device("cuda-sim"):
        report = wb.explain(wb.jit(normalised))(X)
    assert [(c.name, c.direction, c.bytes) for c in report.crossings] == [
        ("x", "to device", X.nbytes),
        ("", "to host", X.nbytes),
    ]
    assert "192 B to device: x, input" in report.to_text()
    assert wb.report.CompileReport.from_json(report.to_json()).to_dict() == report.to_dict()
    assert wb.explain(wb.jit(normalised, device="cpu"))(X).crossings == []


@pytest.mark.parity("T8")
def test_nothing_crosses_between_kernels_and_library_calls_on_a_device(monkeypatch):
    moved = []
    for name in ("put", "get"):
        original = getattr(SimulatedMemory, name)
        monkeypatch.setattr(
            SimulatedMemory,
            name,
            lambda self, x, name=name, original=original: (moved.append(name), original(self, x))[1],
        )
    f = wb.jit(lambda a: np.sort(np.tanh(a @ a.T + 1.0), axis=0) * 2.0, device="cuda-sim")
    np.testing.assert_allclose(f(X), np.sort(np.tanh(X @ X.T + 1.0), axis=0) * 2.0, rtol=1e-13)
    assert moved == ["put", "get"]


@pytest.mark.parity("N6")
def test_auto_device_moves_inputs_to_the_accelerator_and_says_so(monkeypatch):
    for place in ("workbench.runtime.devices.accelerator", "workbench.runtime.dispatch.accelerator"):
        monkeypatch.setattr(place, lambda: "cuda-sim")  # the simulator stands in for a GPU
    moved, left = wb.jit(normalised), wb.jit(normalised, auto_device=False)
    report = wb.explain(moved)(X)
    assert report.machine.device == "cuda-sim" and report.crossings[0].direction == "to device"
    assert wb.explain(left)(X).machine.device == "cpu"


@pytest.mark.parity("C3")
def test_the_same_clusters_become_kernels_of_the_cpu_and_of_cuda():
    reports = {device: wb.explain(wb.jit(normalised, device=device))(X) for device in ("cpu", "cuda-sim")}
    steps = [[(n.id, n.kind, len(n.equations)) for n in r.graph.nodes] for r in reports.values()]
    assert steps[0] == steps[1]
    (kernel,) = reports["cuda-sim"].kernels
    assert kernel.target == "cuda-sim" and "cuda.threadIdx" in kernel.source
    assert "block" in kernel.launch and "shared memory" in kernel.launch  # which path its threads meet on
    assert any(kernel.line_equations)
