"""`with wb.device(...)` inside of compiled code: its block runs there, the rest where it was."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.errors import TracingError
from workbench.notebook.cells import CellOptions, run_cell

X = np.linspace(0.1, 1.0, 12).reshape(3, 4)


def in_the_middle(x):
    a = np.sqrt(x) + 1.0
    with wb.device("cuda-sim"):
        y = np.tanh(a) * 2
        y = y - y.mean()
    return y.sum(axis=0) + 1


def all_of_it(x):
    with wb.device("cuda-sim"):
        return np.tanh(x) * 2 - x.mean()


def in_a_loop(x):
    total = x.sum()
    for _ in range(3):
        with wb.device("cuda-sim"):
            x = x - x.mean(axis=0) * 0.1
        with wb.device("numpy"):
            total = total + x.sum()
    return x, total


def placed_inner(x):
    with wb.device("cuda-sim"):
        z = np.exp(x) * 2
        return z.sum()


def in_what_it_calls(x):
    return placed_inner(x + 1) * 2


def same(found, expected):
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for mine, theirs in pairs:
        np.testing.assert_allclose(mine, theirs, rtol=1e-13)


@pytest.mark.parity("T9")
@pytest.mark.parametrize("function", [in_the_middle, all_of_it, in_a_loop, in_what_it_calls], ids=lambda f: f.__name__)
def test_a_block_of_a_function_runs_on_its_device(function):
    compiled = wb.jit(function)
    expected = function(X)
    for _ in range(5):  # NumPy would be faster, and is not asked
        same(compiled(X), expected)
    (reason,) = compiled.fallbacks
    assert reason.code == "WB608"
    report = wb.explain(wb.jit(function))(X)
    assert "cuda-sim" in {kernel.target for kernel in report.kernels}
    assert {"to device", "to host"} == {crossing.direction for crossing in report.crossings}
    assert all(crossing.bytes > 0 and "__" not in crossing.name for crossing in report.crossings)


def test_what_stands_around_stays_where_it_was():
    report = wb.explain(wb.jit(in_the_middle))(X)
    assert [kernel.target for kernel in report.kernels] == ["cpu", "cuda-sim", "cuda-sim", "cpu"]
    found = [(c.name, c.direction, c.bytes) for c in report.crossings]
    assert found == [("a", "to device", X.nbytes), ("y", "to host", X.nbytes)]


@pytest.mark.parity("T9")
def test_a_block_of_a_cell_runs_on_its_device():
    namespace = {"np": np, "wb": wb, "x": X}
    source = 'a = np.sqrt(x)\nwith wb.device("cuda-sim"):\n    y = np.tanh(a) * 2\n    y -= y.mean()\nz = y.sum()'
    report = run_cell(source, namespace, options=CellOptions()).report
    assert [kernel.target for kernel in report.kernels] == ["cpu", "cuda-sim", "cuda-sim", "cpu"]
    assert [(c.name, c.direction, c.bytes) for c in report.crossings] == [("a", "to device", 96), ("y", "to host", 96)]
    expected = np.tanh(np.sqrt(X)) * 2
    np.testing.assert_allclose(namespace["y"], expected - expected.mean(), rtol=1e-13)


def test_the_device_that_all_runs_on_is_no_crossing():
    for function in (all_of_it, in_what_it_calls):
        compiled = wb.jit(function, device="cuda-sim", strict=True)
        same(compiled(X), function(X))
        assert [c.device for c in compiled.compilations] == ["cuda-sim"]


def test_strict_code_has_one_device():
    with pytest.raises(TracingError, match="WB608"):
        wb.jit(in_the_middle, strict=True)(X)
