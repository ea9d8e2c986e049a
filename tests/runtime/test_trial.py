"""Programs with loops stay where they are faster, compiled or in NumPy, and give NumPy's values meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.runtime import trial
from workbench.runtime.trial import CHOOSING_CALLS, COMPILED_CALLS, NUMPY_CALLS, Trial


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
    for _ in range(COMPILED_CALLS + 2 * NUMPY_CALLS):
        np.testing.assert_array_equal(compiled(x.copy(), 400), halved(x.copy(), 400))


def test_numpy_is_kept_where_it_is_faster(monkeypatch):
    monkeypatch.setattr(trial, "LEAST_S", 0.0)  # neither of these calls takes long
    monkeypatch.setattr(trial, "DISPATCH_S", 0.0)
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
    for _ in range(COMPILED_CALLS + 2 * NUMPY_CALLS):
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-13)
    assert version(compiled).trial is None


def add_at(x):
    y = np.zeros(4)
    np.add.at(y, np.array([0, 1, 1, 3]), x[0])
    return y


def decided(calls):
    """The verdict after calls of this many ms: c of compiled ones, n of NumPy's."""
    times = Trial()
    for way, ms in calls:
        assert times.compiled_wins is None
        assert times.wants_numpy is (way == "n")
        (times.record_numpy if way == "n" else times.record_compiled)(ms / 1e3)
    return times.compiled_wins


WARM = (("c", 1000), ("c", 10), ("c", 20))


@pytest.mark.parametrize(
    ("calls", "wins"),
    [
        ((*WARM, ("n", 50)), True),  # clearly: one call of NumPy is enough
        ((("c", 10), ("c", 0.1), ("c", 0.1), ("n", 1), ("n", 0.05)), False),  # its first call is cold
        ((*WARM, ("n", 15), ("n", 15)), True),
        ((*WARM, ("n", 50 / 3), ("n", 2)), False),
        ((*WARM, ("n", 9), ("n", 11)), None),  # level: they take turns
        ((*WARM, ("n", 9), ("n", 11), ("c", 11), ("n", 10), ("c", 8)), None),
        ((*WARM, ("n", 9), ("n", 11), ("c", 11), ("n", 10), ("c", 8), ("n", 12)), True),
        ((*WARM, ("n", 9), ("n", 11), ("c", 11), ("n", 10), ("c", 11), ("n", 12)), False),
        (WARM, None),
        ((("c", 1000), ("c", 1e-3), ("c", 1e-3)), True),  # nothing to gain
        ((("c", 9000), ("c", 9000), ("c", 9000)), True),  # too long to try
    ],
)
def test_verdicts(calls, wins):
    assert decided(calls) is wins


def test_long_calls_are_compared_where_python_runs_a_loop():
    def f(x, n):
        total = np.zeros(3)
        for i in range(n):
            total += np.fft.fft(x[i] + total).real
        return total

    compiled = wb.jit(f)
    x = np.random.default_rng(0).random((30, 3))
    np.testing.assert_array_equal(compiled(x, 30), f(x, 30))
    (compilation,) = compiled.compilations
    assert any(compilation.executable.native.values())
    assert version(compiled).trial.most_s == trial.MOST_S_IN_PYTHON
    native = wb.jit(halved)
    native(x[0], 3)
    assert version(native).trial is None or version(native).trial.most_s == trial.MOST_S


def test_what_calls_take_besides_does_not_count_against_what_is_compiled():
    calls = (("c", 1.0), ("c", 0.013), ("c", 0.014), ("n", 0.01), ("n", 0.01), ("c", 0.015), ("n", 0.01), ("c", 0.014))
    assert decided((*calls, ("n", 0.01))) is True


def test_programs_that_try_two_ways_have_more_calls():
    trial = Trial(chooses=True)
    for k in range(COMPILED_CALLS + CHOOSING_CALLS):
        assert not trial.wants_numpy
        trial.record_compiled(1e-3 / (k + 1))
    assert trial.wants_numpy and trial.compiled_wins is None
    trial.record_numpy(1.0)
    assert trial.compiled_wins
