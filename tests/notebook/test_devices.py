"""Cells on a device: `%%jit --device`, blocks with a device of their own, and what the report says of copies."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.parity("T9")
def test_a_cell_says_where_it_runs(shell):
    shell("x = np.linspace(0.0, 1.0, 12)")
    shell("%%jit --device cuda-sim\ny = np.tanh(x) * 2\nt = y.sum()")
    report = shell.report
    assert report.machine.device == "cuda-sim" and [k.target for k in report.kernels] == ["cuda-sim"]
    assert [(c.name, c.direction, c.bytes) for c in report.crossings] == [
        ("x", "to device", 96), ("y", "to host", 96), ("t", "to host", 8),
    ]  # fmt: skip
    assert "cuda-sim, copies" in {bar.lane for bar in report.timings.timeline}
    np.testing.assert_allclose(shell["y"], np.tanh(np.linspace(0.0, 1.0, 12)) * 2, rtol=1e-14)
    shell("%%jit\nz = y * 3")
    assert shell.report.machine.device == "cpu"


def test_a_device_that_is_not_there_is_an_error_with_its_fix(shell):
    shell("%%jit --device nowhere\ny = np.ones(3) * 2")
    assert shell.error is not None and "y" not in shell
    assert "WB600" in str(shell.error) and "cuda-sim" in str(shell.error)
