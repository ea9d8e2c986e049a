"""Brief programs with loops that are compiled whole, too, after some calls: which way wins, and what calls get."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from workbench.runtime import rival, specialisation

RNG = np.random.default_rng(4)
X = RNG.normal(size=200)
MANY_CALLS = 30
pytestmark = pytest.mark.usefixtures("no_device_was_chosen")


@pytest.fixture
def trials(monkeypatch):
    """Rivals of any times are tried."""
    monkeypatch.setattr(rival, "MOST_S", float("inf"))
    monkeypatch.setattr(rival, "HOPELESS", float("inf"))
    monkeypatch.setattr("workbench.runtime.trial.LEAST_S", float("inf"))  # NumPy is not tried
    with wb.config(numpy_trials=True):
        yield


@pytest.fixture(params=[float("inf"), 0.0], ids=["whole wins", "steps win"])
def clearly(request, monkeypatch, trials):
    monkeypatch.setattr(rival, "CLEARLY", request.param)
    return request.param


def peaks(x):
    found = []
    for i in range(1, len(x) - 1):
        if x[i - 1] < x[i] > x[i + 1]:
            found.append(i)
    return found, np.array(found).mean()


def heun(t_end):
    t, h, y = 0.0, 0.1, np.array([1.0, 0.0])
    times, states = [t], [y]
    while t < t_end:
        slope = np.array([y[1], -y[0]])
        ahead = y + h * slope
        after = y + h / 2 * (slope + np.array([ahead[1], -ahead[0]]))
        error = np.max(np.abs(after - ahead))
        if error < 1e-3:
            t, y = t + h, after
            times.append(t)
            states.append(y)
        h *= min(2.0, max(0.3, 0.9 * np.sqrt(1e-3 / (error + 1e-16))))
    return np.array(times), np.array(states)


def smoothed(x, n=3):
    """In place, which calls must not do twice."""
    for _ in range(n):
        before = x[0]
        for i in range(1, len(x) - 1):
            before, x[i] = x[i], (before + x[i] + x[i + 1]) / 3
    return x[0]


def versions(compiled):
    entries = [e for found in compiled._state.specialisations.values() for e in found]
    return [e for e in entries if isinstance(e, specialisation.Specialisation)]


@pytest.mark.parametrize(
    ("function", "args"), [(peaks, (X,)), (heun, (3.0,)), (smoothed, (X,))], ids=["peaks", "heun", "smoothed"]
)
def test_every_call_gives_what_numpy_gives(function, args, clearly):
    compiled = wb.jit(function)
    for _ in range(MANY_CALLS):
        mine = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        assert_same(compiled(*mine), function(*theirs))
        assert_same(mine, theirs)
    (version,) = versions(compiled)
    assert version.trial is None and (version.whole is not None) == (clearly > 0)


def test_other_arguments_go_their_own_way(clearly):
    compiled = wb.jit(peaks)
    for x in (X, X[::2], X.astype(np.float32), X[:20].copy()):
        for _ in range(MANY_CALLS):
            assert_same(compiled(x), peaks(x))
    for x in (X, X[::2], X.astype(np.float32), X[:20].copy()):
        assert_same(compiled(x), peaks(x))
    assert any(version.whole is not None for version in versions(compiled)) == (clearly > 0)


def test_keywords_do_not_end_the_trial(clearly):
    compiled = wb.jit(smoothed)
    for k in range(MANY_CALLS):
        mine, theirs = X.copy(), X.copy()
        assert_same(compiled(mine, n=k % 3), smoothed(theirs, n=k % 3))
        assert_same(compiled(mine), smoothed(theirs))
        assert_same(mine, theirs)


def test_the_report_tells_which_way_calls_run(clearly):
    compiled = wb.jit(heun)
    for _ in range(MANY_CALLS):
        compiled(3.0)
    report = wb.explain(compiled)(3.0)
    assert ("Runs whole" in report.reason) == (clearly > 0)
    assert report.summary.n_loops


def test_programs_without_loops_have_none(trials):
    compiled = wb.jit(lambda x: np.sort(x).cumsum())
    for _ in range(MANY_CALLS):
        compiled(X)
    assert all(version.whole is None for version in versions(compiled))


def test_where_numpy_wins_the_function_may_still_run_whole(monkeypatch):
    def ranked(x):
        order = np.argsort(x, kind="stable")
        ranks = np.zeros(len(x))
        for place, i in enumerate(order):
            ranks[i] = place
        return ranks

    monkeypatch.setattr("workbench.runtime.trial.LEAST_S", 0.0)
    monkeypatch.setattr("workbench.runtime.trial.CLEARLY", dict.fromkeys(range(1, 5), float("inf")))
    monkeypatch.setattr("workbench.runtime.trial.DISPATCH_S", -1e9)  # NumPy wins whatever happens
    with wb.config(numpy_trials=True):
        compiled = wb.jit(ranked)
        for _ in range(MANY_CALLS):
            assert_same(compiled(X), ranked(X))
    (reason,) = compiled.fallbacks
    assert reason.code == "WB500"
    ways = [e.parts.way for found in compiled._state.specialisations.values() for e in found if hasattr(e, "parts")]
    assert "whole" in ways
