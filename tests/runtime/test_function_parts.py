"""Functions in parts: the statements that cannot be compiled run in NumPy, and the function does what NumPy does."""

from __future__ import annotations

import ast
import threading

import numpy as np
import pytest

import workbench as wb
from workbench.errors import TracingError
from workbench.frontend.trace import trace
from workbench.runtime.parts import ways as ways_module
from workbench.runtime.parts.functions import TRIED_CALLS, WARM_UP_CALLS, FunctionParts
from workbench.runtime.parts.statements import NumpyPart
from workbench.runtime.parts.ways import COMPILED_RUNS, NUMPY_RUNS, Ways, are_straight

OFFSET = 3.0


def parts_of(fn, *args, **kwargs):
    with pytest.raises(TracingError) as caught:
        trace(fn, args, kwargs)
    return FunctionParts.of(fn, wb.jit(fn).source(), caught.value)


def mixed(x, k=2.0, *more, bins=8, **names):
    """A docstring."""
    y = np.exp(-x * x) * k + OFFSET
    levels = np.union1d(np.round(y, 1), [])
    if len(levels) > 3:
        y = y * 2
    counts = np.bincount((np.abs(x) * bins).astype(int))
    x[:3] = 7
    total = np.tanh(y) * counts[0] + sum(t * 2 for t in more)
    return total, {"counts": counts, **names}


def test_values_arguments_and_mutation():
    x = np.random.default_rng(0).normal(size=200)
    for _ in range(3):
        mine, theirs = x.copy(), x.copy()
        parts = parts_of(mixed, x.copy())
        got, ran = parts.run((mine, 1.5, 4.0), {"bins": 4, "note": "n"}, timed=True)
        expected = mixed(theirs, 1.5, 4.0, bins=4, note="n")
        np.testing.assert_allclose(got[0], expected[0], rtol=1e-12)
        np.testing.assert_array_equal(got[1]["counts"], expected[1]["counts"])
        assert got[1]["note"] == "n"
        np.testing.assert_array_equal(mine, theirs)
        assert [isinstance(part, NumpyPart) for part in ran] == [False, True, False, True, False]


def test_closures_and_globals_are_read_at_each_call(monkeypatch):
    scale = 2.0

    def scaled(x):
        kept = x[x > 0]
        return kept * scale + OFFSET

    x = np.arange(-3.0, 4.0)
    parts = parts_of(scaled, x)
    np.testing.assert_array_equal(parts.run((x,), {}, timed=False)[0], scaled(x))
    scale = 5.0
    monkeypatch.setattr(f"{__name__}.OFFSET", -1.0)
    np.testing.assert_array_equal(parts.run((x,), {}, timed=False)[0], x[x > 0] * 5 - 1)


def raises_late(x):
    x *= 2
    n = len(np.union1d(x, []))
    x += n
    y = x.reshape(2, 99)
    x[0] = -1
    return y


def test_an_error_leaves_what_numpy_leaves():
    mine, theirs = np.arange(12.0), np.arange(12.0)
    parts = parts_of(raises_late, mine.copy())
    with pytest.raises(ValueError, match="reshape") as own:
        parts.run((mine,), {}, timed=False)
    with pytest.raises(ValueError, match="reshape") as pythons:
        raises_late(theirs)
    assert str(own.value) == str(pythons.value)
    np.testing.assert_array_equal(mine, theirs)
    assert own.traceback[-1].path == pythons.traceback[-1].path
    assert own.traceback[-1].lineno == pythons.traceback[-1].lineno


OTHER = 1.0


def reads_an_unset_local(x):
    if x.sum() < 0:
        OTHER = 2.0  # noqa: N806 (hides the global of this name)
    kept = x[x > 0]
    return kept + OTHER


def test_an_unset_local_is_no_global():
    parts = parts_of(reads_an_unset_local, np.arange(5.0))
    with pytest.raises(UnboundLocalError) as own:
        parts.run((np.arange(5.0),), {}, timed=False)
    with pytest.raises(UnboundLocalError) as pythons:
        reads_an_unset_local(np.arange(5.0))
    assert str(own.value) == str(pythons.value)
    assert parts.run((-np.arange(5.0),), {}, timed=False)[0].shape == (0,)


def early(x):
    if len(np.union1d(x, [])) > 3:
        return x
    return x + 1


def makes_a_function(x):
    kept = x[x > 0]
    return lambda: kept


def yields(x):
    kept = x[x > 0]
    yield kept


def looks_at_its_frame(x):
    kept = x[x > 0]
    return kept, locals()


def escapes(x):
    kept = x[x > 0]
    return (k for k in kept)


@pytest.mark.parametrize("fn", [early, makes_a_function, yields, looks_at_its_frame, escapes])
def test_what_does_not_mean_the_same_in_parts_stays_whole(fn):
    """Or runs in its own frame."""
    parts = FunctionParts.of(fn, wb.jit(fn).source(), TracingError(""))
    assert (parts is None) == (fn in (yields, looks_at_its_frame))
    assert parts is None or not parts.statements
    x = np.arange(-2.0, 3.0)
    got, expected = wb.jit(fn)(x), fn(x)
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(got, expected)


def test_the_faster_way_is_kept():
    parts = parts_of(mixed, np.zeros(10))
    x = np.arange(10.0)
    parts(x.copy())
    assert parts.numpy_ms and not parts.parts_ms
    parts.numpy_ms = [1e-3]  # what it takes on a free machine
    assert parts.pays is False  # nothing to gain
    parts.numpy_ms = [1e9]
    assert parts.pays is None
    for _ in range(WARM_UP_CALLS + TRIED_CALLS):
        parts(x.copy())
    assert parts.pays is True
    parts.numpy_ms = [min(parts.parts_ms) / 1e3 + 1.0]
    parts.parts_ms = [1e6] * (WARM_UP_CALLS + TRIED_CALLS)
    assert parts.pays is False


def test_parts_that_are_much_slower_are_not_tried_again_and_again():
    parts = parts_of(mixed, np.zeros(10))
    parts.numpy_ms = [20.0]
    for warm, pays in (([], None), ([25.0], None), ([40.0], False), ([40.0, 19.0], None)):
        parts.parts_ms = [100.0] * WARM_UP_CALLS + warm
        assert parts.pays is pays
    parts.numpy_ms, parts.parts_ms = [2.0], [5.0] * (WARM_UP_CALLS + 1)
    assert parts.pays is None  # loops in them may still wait until they are worth compiling


def test_numpy_has_another_turn_where_its_first_decides():
    parts = parts_of(mixed, np.zeros(10))
    x = np.arange(10.0)
    parts(x.copy())
    parts.parts_ms = [100.0] * (WARM_UP_CALLS + TRIED_CALLS)
    for first, wants in ((90.0, False), (120.0, True), (1000.0, False)):
        parts.numpy_ms = [first]
        assert parts.wants_numpy is wants and parts.pays is (None if wants else first == 1000.0)
    parts.numpy_ms, parts.parts_ms = [30.0], [1.0] * (WARM_UP_CALLS + TRIED_CALLS)
    assert parts.wants_numpy and parts.pays is None  # it may have been long because it was the first
    parts.numpy_ms, parts.parts_ms = [120.0], [100.0] * (WARM_UP_CALLS + TRIED_CALLS)
    np.testing.assert_array_equal(parts(x.copy())[0], mixed(x.copy())[0])
    assert len(parts.numpy_ms) == 2 and len(parts.parts_ms) == WARM_UP_CALLS + TRIED_CALLS
    assert not parts.wants_numpy and parts.pays is not None


def test_several_threads_have_namespaces_of_their_own():
    parts = parts_of(mixed, np.zeros(10))
    inputs = [np.random.default_rng(seed).normal(size=500) for seed in range(8)]
    expected = [mixed(x.copy())[0] for x in inputs]
    got: dict[int, np.ndarray] = {}

    def run(i):
        for _ in range(5):
            got[i] = parts.run((inputs[i].copy(),), {}, timed=False)[0][0]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, values in enumerate(expected):
        np.testing.assert_allclose(got[i], values, rtol=1e-12)


def test_explain_shows_the_parts():
    x = np.random.default_rng(0).normal(size=500)
    kept = x.copy()
    report = wb.explain(mixed)(x)
    np.testing.assert_array_equal(x, kept)
    assert report.status == "partly"
    assert {f.code for f in report.fallbacks} == {"WB110"}
    assert report.summary.n_kernels >= 2 and report.summary.numpy_ms
    lines = report.cell.source.splitlines()
    assert any("np.union1d" in lines[f.span.line - 1] for f in report.fallbacks)


def test_what_has_written_is_not_run_again(monkeypatch):
    parts = parts_of(mixed, np.zeros(10))
    x = np.arange(10.0)

    def write_and_fail(*args, **kwargs):
        x[0] += 1
        error = ValueError("late")
        error.arguments_written = True
        raise error

    monkeypatch.setattr("workbench.runtime.parts.statements.run_cell", write_and_fail)
    with pytest.raises(ValueError, match="late"):
        parts.run((x,), {}, timed=False)
    np.testing.assert_array_equal(x, [1.0, *range(1, 10)])


def test_names_that_nothing_reads_later_are_not_kept():
    def train(w, c, seed):
        picked = np.random.default_rng(seed).integers(0, len(w), (40, 3))
        loss = 0.0
        for t in range(len(picked)):
            v = w[picked[t, 0]]  # a view, also of what is written below: as a name that lives on, it could not be kept
            for k in picked[t]:
                s = 1 / (1 + np.exp(-v @ c[k]))
                loss -= np.log(s)
                c[k] -= 0.1 * s * v
            w[picked[t, 1]] += 0.5 * v
        return loss

    rng = np.random.default_rng(1)
    mine = (rng.normal(size=(9, 4)), rng.normal(size=(9, 4)), 5)
    theirs = (mine[0].copy(), mine[1].copy(), 5)
    parts = parts_of(train, *mine)
    got, ran = parts.run(mine, {}, timed=True)
    np.testing.assert_allclose(got, train(*theirs), rtol=1e-12)
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-12)
    np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-12)
    assert [isinstance(part, NumpyPart) for part in ran] == [False, True, False][-len(ran) :]


# ---- statements that are too brief ----


def brief_and_long(x, n):
    scale = 2.0 * n
    low = np.minimum(x[:5], scale)
    found = np.union1d(x, [])
    high = np.exp(np.sin(x)) + len(found)
    return low + scale, high.sum()


def test_brief_statements_are_numpys_when_that_is_known(monkeypatch):
    monkeypatch.setattr(ways_module, "BRIEF_S", 10.0)
    x = np.random.default_rng(1).normal(size=300)
    parts = parts_of(brief_and_long, x, 3)
    for n in range(COMPILED_RUNS + NUMPY_RUNS + 3):
        found, expected = parts.run((x + n, 3), {}, timed=False)[0], brief_and_long(x + n, 3)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
    tried = [ways for ways in parts.known.ways.values() if ways.compiled_s]
    assert len(tried) == 2 and all(len(ways.numpy_s) == NUMPY_RUNS for ways in tried)
    _, ran = parts.run((x, 3), {}, timed=True)  # a report shows what is compiled
    assert sum(not isinstance(part, NumpyPart) for part in ran) == 2


def fill(x):
    for k in range(len(x)):
        x[k] = k


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = np.exp(x) + x.sum()", True), ("n = len(x) * 2", True), ("y = x[1:]; k = int(n) // 2", True),
        ("for k in range(3):\n    n += k", False), ("y = [v for v in x]", False), ("fill(x)", False),
        ("y = sorted(x)", False), ("y = held.append(3)", False), ("while n:\n    n -= 1", False),
        ("y = sum(x)", False), ("y = np.linalg.norm(x)", True), ("y = (lambda: 3)()", False),
    ],
)  # fmt: skip
def test_what_is_brief(text, expected):
    namespace = {"np": np, "x": np.arange(3.0), "n": 3, "fill": fill, "held": []}
    assert are_straight(ast.parse(text).body, namespace) is expected


def test_ways_are_compared_by_their_best():
    ways = Ways(True)
    for elapsed_s in (1.0, 1e-4, 2e-4, 3e-4):
        assert not ways.in_numpy
        ways.record_compiled(elapsed_s)
    for elapsed_s in (5e-4, 2e-5):
        assert ways.in_numpy
        ways.record_numpy(elapsed_s)
    assert ways.in_numpy
    ways.numpy_s[:] = [5e-4, 2e-4]
    assert not ways.in_numpy
    assert not Ways(True, [1.0, 4e-4, 4e-4, 4e-4]).in_numpy  # long enough to stay
    assert not Ways(False, [1e-5] * COMPILED_RUNS).in_numpy
