"""Programs with loops stay where they are faster, compiled or in NumPy, and give NumPy's values meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.runtime import trial
from workbench.runtime.trial import COMPILED_CALLS, Trial


@pytest.fixture(autouse=True)
def trials():
    with wb.config(numpy_trials=True):
        yield


def halved(x, n):
    while x.max() > 1.0:
        x = x / 2
    y = np.zeros(len(x))
    for i in range(1, n):
        y[i] = y[i - 1] + x[i]
    return y


def version(compiled):
    return next(entry for found in compiled._state.specialisations.values() for entry in found)


def test_the_first_calls_give_numpys_values_whoever_runs():
    compiled = wb.jit(halved)
    x = np.random.default_rng(0).random(500) * 1000
    for _ in range(COMPILED_CALLS + 4):
        np.testing.assert_array_equal(compiled(x.copy(), 400), halved(x.copy(), 400))


def test_numpy_is_kept_where_it_is_faster(monkeypatch):
    monkeypatch.setattr(trial, "LEAST_S", 0.0)
    compiled = wb.jit(halved)
    x = np.random.default_rng(0).random(500) * 1000
    compiled(x.copy(), 400)
    times = version(compiled).trial
    times.compiled_s = [100.0] * COMPILED_CALLS  # s
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x.copy(), 400), halved(x.copy(), 400))
    (reason,) = compiled.fallbacks
    assert reason.code == "WB500" and "NumPy" in str(reason)
    assert version(compiled).trial is None
    assert wb.explain(compiled)(x.copy(), 400).status == "numpy"
    other = np.random.default_rng(1).random(600)
    np.testing.assert_array_equal(compiled(other.copy(), 400), halved(other.copy(), 400))
    assert len(compiled.compilations) == 2  # another size is tried anew


@pytest.mark.parametrize("f", [lambda x: np.exp(x).sum(), lambda x: (x @ x.T + 1).T, lambda x: x[:, ::2] * 2])
def test_kernels_views_and_products_are_not_tried(f):
    compiled = wb.jit(f)
    compiled(np.ones((4, 4)))
    assert version(compiled).trial is None


@pytest.mark.parametrize("f", [lambda x: np.sort(x) + 1, lambda x: abs(np.fft.fft(x)), lambda x: add_at(x)])
def test_programs_of_routines_that_numpy_calls_too_are_tried(f):
    compiled = wb.jit(f)
    x = np.linspace(1.0, 2.0, 12).reshape(3, 4)
    compiled(x)
    assert version(compiled).trial is not None
    for _ in range(COMPILED_CALLS + 3):
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-13)
    assert version(compiled).trial is None


def add_at(x):
    y = np.zeros(4)
    np.add.at(y, np.array([0, 1, 1, 3]), x[0])
    return y


def decided(compiled_s, numpy_s):
    times = Trial()
    for seconds in compiled_s:
        assert not times.wants_numpy
        times.record_compiled(seconds)
    for seconds in numpy_s:
        assert times.wants_numpy
        times.record_numpy(seconds)
    return times.compiled_wins


@pytest.mark.parametrize(
    ("compiled_s", "numpy_s", "wins"),
    [
        ((1.0, 0.01, 0.02), (0.05,), True),  # clearly: one call of NumPy is enough
        ((1.0, 0.01, 0.02), (0.011, 0.002), False),
        ((1.0, 0.01, 0.02), (0.002, 0.005), False),
        ((1.0, 0.01, 0.02), (0.0099, 0.0099), True),  # level
        ((1.0, 0.01, 0.02), (), None),
        ((1.0, 1e-6, 1e-6), (), True),  # nothing to gain
        ((9.0, 9.0, 9.0), (), True),  # too long to try
    ],
)
def test_verdicts(compiled_s, numpy_s, wins):
    assert decided(compiled_s, numpy_s) is wins
