"""Lists from outside to which the code appends: every run extends the list that is there then. Lists of its own that
dicts and objects hold."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from workbench.frontend.trace import trace
from workbench.notebook.cells import CellOptions, run_cell


class Wave:
    def __init__(self):
        x = np.linspace(0, 1, 40)
        self.before = np.exp(-50 * (x - 0.3) ** 2)
        self.now = self.before.copy()
        self.t = 0.0
        self.history = []
        self.log = {"t": [0.0], "energy": []}

    def step(self):
        new = np.zeros_like(self.now)
        new[1:-1] = 2 * self.now[1:-1] - self.before[1:-1] + 0.2 * np.diff(self.now, 2)
        self.before, self.now = self.now, new
        self.t += 0.1

    def run(self, n):
        for i in range(n):
            self.step()
            if i % 10 == 0:
                self.history.append(self.now.max())

    def note(self):
        self.step()
        self.log["t"].append(self.t)
        self.log["energy"].append((self.now**2).sum())
        self.history.extend([self.t, 1, self.now[:2].copy()])


def steps(w):
    w.step()
    w.history.append(w.now.copy())


def runs(w):
    w.run(100)


def notes(w):
    w.note()


def notes_in_a_loop(w):
    for _ in range(90):
        w.step()
        w.log["t"].append(w.t)
        w.log["energy"].append((w.now**2).sum())
    w.history.append(w.t)


def until(w):
    while np.abs(w.now).max() > 0.4 and w.t < 30:
        w.step()
        w.history.append((w.t, w.now.max()))
    return w.t


def when_late(w):
    w.step()
    if w.t > 0.15:
        w.history.append(w.t)
        w.t = 0.0


def nested(w):
    w.history.append(w.t)
    for _ in range(70):
        for _ in range(2):
            w.step()
            w.history.append(w.now[3])
    w.history.append(w.t)


def last_ones(w):
    for _ in range(80):
        w.step()
        w.history.append(w.now.max())
        w.t = w.history[-1] * 2
    w.log["t"].append(w.t)
    w.log["t"].append(w.t + 1)
    return w.history[-1], w.log["t"][-1], w.log["t"][-2]


def reads(w):
    w.step()
    w.history.append(w.t)
    if len(w.history) > 2:
        w.history.pop(0)
    return w.history[-1]


CASES = [steps, runs, notes, notes_in_a_loop, until, when_late, nested, last_ones]


def everything(w):
    return [w.history, w.log, w.before, w.now, w.t]


@pytest.mark.parametrize("f", CASES)
def test_lists_get_what_they_get_in_numpy(f):
    ours, theirs, compiled = Wave(), Wave(), wb.jit(f)
    known = ours.history, ours.log["t"]
    for _ in range(4):
        assert_same(compiled(ours), f(theirs), reduction_scale=5.0)
        assert_same(everything(ours), everything(theirs), reduction_scale=5.0)
    assert (ours.history, ours.log["t"]) == known
    assert ours.history is known[0]
    assert not compiled.fallbacks


@pytest.mark.parametrize("f", CASES)
def test_no_call_is_traced_anew_for_longer_lists(f, monkeypatch):
    from workbench.runtime import dispatch

    compiled, w = wb.jit(f), Wave()
    for _ in range(2):
        compiled(w)
    traced = []
    monkeypatch.setattr(dispatch, "trace", lambda *args, **kwargs: traced.append(args) or pytest.fail("traced anew"))
    for _ in range(3):
        compiled(w)
    assert not traced


@pytest.mark.parametrize("f", [*CASES, reads])
def test_several_objects_in_turns(f):
    compiled, pairs = wb.jit(f), [(Wave(), Wave()) for _ in range(3)]
    for _ in range(3):
        for ours, theirs in pairs:
            assert_same(compiled(ours), f(theirs), reduction_scale=5.0)
            assert_same(everything(ours), everything(theirs), reduction_scale=5.0)


def test_what_a_list_holds_is_numpys_matter():
    ours, theirs, compiled = Wave(), Wave(), wb.jit(reads)
    for _ in range(4):
        assert_same(compiled(ours), reads(theirs))
        assert_same(everything(ours), everything(theirs))
    assert compiled.fallbacks


@pytest.mark.parametrize("f", CASES)
def test_explaining_changes_nothing(f):
    w, before = Wave(), Wave()
    wb.explain(f)(w)
    assert_same(everything(w), everything(before))


CELLS = {
    "for": "for k in range(200):\n    x = x * 0.97\n    losses.append(x.sum())",
    "while": "while x.sum() > 0.5:\n    x = x * 0.97\n    losses.append(float(x.sum()))",
    "some": "for k in range(200):\n    x = x * 0.97\n    if x[0] < 0.5:\n        losses.append((k, x.max()))",
    "plain": "x = x * 0.97\nlosses.append(x.sum())\nrows += [x.copy()]",
    "dict": "for k in range(100):\n    x = x * 0.97\n    log['a'].append(x[0])\n    log['n'] += 1",
    "function": "note(x)",
    "last": "for k in range(100):\n    x = x * 0.97\n    losses.append(x.sum())\nlast = losses[-1]",
    "read": "for k in range(100):\n    x = x * 0.97\n    losses.append(x.sum())\nfirst = losses[0]",
}


@pytest.mark.parametrize("compare", [True, False])
@pytest.mark.parametrize("name", CELLS)
def test_cells_append_to_lists_of_other_cells(name, compare):
    source = CELLS[name]
    ours = {"np": np, "__name__": "__main__", "x": np.linspace(1, 2, 5), "losses": [], "rows": [],
            "log": {"a": [], "n": 0}}  # fmt: skip
    theirs = copy.deepcopy({k: v for k, v in ours.items() if k != "np"}) | {"np": np}
    define = "def note(x):\n    losses.append(x.sum())\n    log['a'].append(x)\n"
    exec(define, ours)
    exec(define, theirs)
    known = ours["losses"]
    for k in range(3):
        run = run_cell(source, ours, options=CellOptions(compare=compare))
        run.finish()
        exec(source, theirs)
        for each in ("x", "losses", "rows", "log"):
            assert_same(ours[each], theirs[each], reduction_scale=10.0)
        assert ours["losses"] is known
        assert name == "read" or run.report.status in ("compiled", "recompiled", "cached"), run.report.reason
        assert not compare or name == "read" or run.report.verification.ok
        assert name in ("function", "plain") or len(ours["losses"]) != 1, k


def two_of_a_dict(x):
    history = {"loss": [], "some": [0.0]}
    for e in range(200):
        x = x * 0.98
        history["loss"].append(x.sum())
        if e % 10 == 0:
            history["some"].append(float(x[0]))
    return history


def rows_until(x):
    out = {"rows": [x], "n": 0}
    while x.sum() > 1:
        x = x * 0.9
        out["rows"].append(x.copy())
        out["n"] += 1
    return out


def of_an_object(x):
    w = Wave()
    w.now = w.now * x[0]
    for _ in range(80):
        w.step()
        w.history.append((w.t, w.now[4]))
    return w.history, w.t


def of_a_list(x):
    paths = [[] for _ in range(3)]
    for _ in range(100):
        x = x * 0.99
        for i in range(3):
            paths[i].append(x[i])
    return paths


def read_afterwards(x):
    history = {"loss": []}
    for _ in range(100):
        x = x * 0.98
        history["loss"].append(x.sum())
    return np.mean(history["loss"]), history["loss"][-1], len(history["loss"]), np.array(history["loss"])[::7]


def returned_twice(x):
    history, log = [], {"rows": []}
    for k in range(70):
        x = x * 0.98
        history.append(x[k % 3])
        log["rows"].append(x.copy())
    return history, log, history, log["rows"], log["rows"][-1]


def pairs(x):
    track = []
    for k in range(90):
        x = x * 0.98 + 0.001
        track.append((k, x.max(), float(x[1])))
    return track


def first_and_rest(x):
    found, m = {"first": [], "rest": [], "all": []}, None
    for k in range(100):
        if m is None:
            m = x
            found["first"].append(k)
        else:
            m = 0.9 * m + x
            if m.sum() > 5:
                found["rest"].append(m.sum())
        found["all"].append(m[0])
    return found


@pytest.mark.parametrize(
    "f", [first_and_rest, two_of_a_dict, rows_until, of_an_object, of_a_list, read_afterwards, returned_twice, pairs]
)
def test_lists_that_dicts_and_objects_hold(f):
    compiled = wb.jit(f)
    for x in (np.linspace(1, 2, 5), np.linspace(0.1, 0.3, 5)):
        ours, theirs = compiled(x), f(x)
        assert_same(ours, theirs, reduction_scale=10.0)
        if f is returned_twice:
            assert ours[0] is ours[2] and ours[1]["rows"] is ours[3] and ours[4] is ours[3][-1]
    assert not compiled.fallbacks


def known_twice(x):
    history = {"loss": []}
    losses = history["loss"]
    for _ in range(100):
        x = x * 0.98
        history["loss"].append(x.sum())
    return len(losses), history, losses


def read_within(x):
    history = {"loss": [1e9]}
    for _ in range(100):
        x = x * 0.98
        if x.sum() < history["loss"][0]:
            history["loss"].append(x.sum())
    return history


def in_two_ways(x):
    log = {"a": [], "b": []}
    both = [log["a"], log["b"]]
    for k in range(80):
        x = x * 0.98
        log["a"].append(x[0])
        both[1].append(x[1])
        if k == 70:
            both[0].append(0.0)
    return log


@pytest.mark.parametrize("f", [known_twice, read_within, in_two_ways])
def test_lists_that_are_known_elsewhere_too(f):
    compiled = wb.jit(f)
    for x in (np.linspace(1, 2, 5), np.linspace(0.1, 0.3, 5)):
        assert_same(compiled(x), f(x), reduction_scale=10.0)


def test_lists_of_rows_are_not_one_result_for_each():
    def losses(x):
        found = []
        for _ in range(1000):
            x = x * 0.999
            found.append(x.sum())
        return found

    traced = trace(losses, (np.ones(3),), {})
    assert len(traced.jaxpr.outvars) == 2  # the numbers, and how many there are


def caught_in_the_body(w):
    for _ in range(100):
        w.step()
        try:
            w.history.append(w.now[3])
            w.t += 1.0
        except:  # noqa: E722 (the user's)
            w.t = -1.0


def caught_around(w):
    n = 0
    try:
        while np.abs(w.now).max() > 0.4 and n < 100:
            w.step()
            w.history.append(w.now[3])
            n += 1
    except BaseException:
        n = -1
    return n


def caught_of_its_own(w):
    found, held = [], {"items": []}
    while np.abs(w.now).max() > 0.4 and w.t < 20:
        w.step()
        try:
            found.append(w.now[3])
            held["items"].append(w.t)
        except Exception:
            pass
    return found, held


def in_a_comprehension(w):
    return [w.step() or w.now[3] for _ in range(50)], w.t


@pytest.mark.parametrize("f", [caught_in_the_body, caught_around, caught_of_its_own, in_a_comprehension])
def test_the_users_except_catches_no_attempt(f):
    ours, theirs, compiled = Wave(), Wave(), wb.jit(f)
    for _ in range(3):
        assert_same(compiled(ours), f(theirs), reduction_scale=5.0)
        assert_same(everything(ours), everything(theirs), reduction_scale=5.0)


def fails_before(x):
    best = x[...]
    try:
        best = max(v for v in x.ravel() if v > 0.5)
    except Exception:
        found, t = [], x.sum() + 0.0
        for _ in range(80):
            if t > 50:
                break
            t = t * 1.5
            found.append(t)
        best = found
    return best


def test_what_failed_before_a_growing_list_is_not_forgotten():
    """Seed 60100252 of the nested programs: the code caught an error of ours, and a loop after it forgot that."""
    x, compiled = np.linspace(0.2, 1, 5), wb.jit(fails_before)
    for _ in range(3):
        assert_same(compiled(x), fails_before(x))


kept_log = {"items": [], "rows": []}


def keeps_a_function(x):
    def note(value, log=kept_log):
        log["items"].append(value)
        return log

    note(x.sum())
    return note


def test_a_function_that_is_kept_may_hold_lists_from_outside():
    compiled = wb.jit(keeps_a_function)
    for k in range(3):
        note = compiled(np.ones(2) * k)
        assert note(7.0) is kept_log
        assert kept_log["items"][2 * k :] == [2.0 * k, 7.0]
