"""Values that objects, dicts and lists hold and the code changes: as in NumPy, in loops and branches too."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from workbench.errors import SideEffectError
from workbench.frontend.trace import trace
from workbench.notebook.cells import CellOptions, run_cell


class Heat:
    """Half of it in place, half rebound, numbers of Python's and of NumPy's."""

    n_made = 0

    def __init__(self, n=24):
        self.dx = 1.0 / (n - 1)
        self.dt = 0.2 * self.dx**2
        self.t = 0.0
        self.n_steps = 0
        self.largest = np.float32(0)
        self.u = np.zeros((n, n))
        self.u[n // 3 : n // 2, n // 3 : n // 2] = 1.0
        self.previous = self.u
        self.note = "new"

    def step(self):
        u = self.u
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        self.previous = u.copy()
        u[1:-1, 1:-1] += self.dt * around / self.dx**2
        self.t += self.dt
        self.n_steps += 1
        self.largest = np.float32(around.max())


class Leapfrog:
    def __init__(self, n=50):
        self.before = np.sin(np.linspace(0, 6, n))
        self.now = self.before.copy()

    def step(self):
        new = np.zeros_like(self.now)
        new[1:-1] = 2 * self.now[1:-1] - self.before[1:-1] + 0.2 * np.diff(self.now, 2)
        self.before, self.now = self.now, new


class Adam:
    def __init__(self):
        self.m = None
        self.v = None
        self.k = 0

    def update(self, w, g):
        if self.m is None:
            self.m = np.zeros_like(w)
            self.v = np.zeros_like(w)
        self.k += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.999 * self.v + 0.001 * g**2
        return w - 0.1 * (self.m / (1 - 0.9**self.k)) / (np.sqrt(self.v / (1 - 0.999**self.k)) + 1e-8)


class Adaptive:
    """What it holds depends on the numbers, in branches and in a loop that they end."""

    def __init__(self):
        self.x = np.linspace(0.5, 2, 7)
        self.h = 0.5
        self.n_refused = 0
        self.last = 0.0

    def advance(self, to=3.0):
        t = 0.0
        while t < to:
            new = self.x - self.h * self.x**3
            change = np.abs(new - self.x).max()
            if change > 0.3:
                self.h *= 0.5
                self.n_refused += 1
            else:
                self.x = new
                self.last = float(change)
                t += self.h
                if change < 0.05:
                    self.h *= 1.5
        return t


@dataclass
class Tank:
    level: float = 1.0
    flows: np.ndarray = field(default_factory=lambda: np.linspace(0, 1, 5))

    @property
    def total(self):
        return self._total if hasattr(self, "_total") else 0.0

    @total.setter
    def total(self, value):
        self._total = value

    def fill(self):
        self.level = self.level * 0.9 + self.flows.sum()
        self.total = self.total + self.level
        self.flows = self.flows * 0.5


class Slotted:
    __slots__ = ("n", "x")

    def __init__(self):
        self.x = np.arange(6.0)
        self.n = 0

    def step(self):
        self.x = np.sqrt(self.x + 1)
        self.n += 1


class Noted:
    """Its own `__setattr__` counts."""

    def __init__(self):
        self.__dict__["n_set"] = 0
        self.x = np.ones(4)

    def __setattr__(self, name, value):
        self.__dict__["n_set"] += 1
        self.__dict__[name] = value


class Holder:
    def __init__(self):
        self.inner = Heat(12)
        self.kept = {"best": np.inf, "x": np.zeros(3)}
        self.weights = [np.ones(4), np.full(4, 2.0)]


def step(s):
    s.step()


def ten_steps(s):
    for _ in range(10):
        s.step()


def forty_steps(s):
    for _ in range(40):
        s.step()
    return s.n_steps if hasattr(s, "n_steps") else None


def adam(s):
    w, b = np.ones(9), np.linspace(-1, 1, 9)
    for _ in range(30):
        w = s.update(w, 2 * (w - b))
    return w


def advance(s):
    return s.advance()


def fill(s):
    for _ in range(20):
        s.fill()


def set_twice(s):
    s.x = s.x * 2
    s.x = s.x + 1


def nested(s):
    for k in range(20):
        for _ in range(3):
            s.inner.step()
        value = s.inner.u[k % 5, 5]
        if value < s.kept["best"]:
            s.kept["best"] = value
            s.kept["x"] = s.inner.u[:3, 4].copy()
        for i in range(2):
            s.weights[i] = s.weights[i] * 0.9 + value
    return s.weights


def takes_and_gives(s):
    old = s.now
    s.step()
    return old, s.before, s.now


CASES = [
    (Heat, step), (Heat, ten_steps), (Heat, forty_steps), (Leapfrog, step), (Leapfrog, forty_steps),
    (Leapfrog, takes_and_gives), (Adam, adam), (Adaptive, advance), (Tank, fill), (Slotted, step),
    (Slotted, forty_steps), (Noted, set_twice), (Holder, nested),
]  # fmt: skip
IDS = [f"{make.__name__}-{f.__name__}" for make, f in CASES]


def held(value):
    """Everything that an object holds, by path."""
    found = {}

    def visit(path, x):
        if isinstance(x, dict | list):
            for key, item in x.items() if isinstance(x, dict) else enumerate(x):
                visit((*path, key), item)
        elif type(x).__module__ == __name__:
            for name in [*getattr(x, "__dict__", {}), *getattr(type(x), "__slots__", ())]:
                visit((*path, name), getattr(x, name))
        else:
            found[path] = x

    visit((), value)
    return found


def assert_held_same(ours, theirs):
    a, b = held(ours), held(theirs)
    assert list(a) == list(b)
    for path in a:
        assert type(a[path]) is type(b[path]), path
        if isinstance(b[path], np.ndarray | np.generic | float):
            assert_same(np.asarray(a[path]), np.asarray(b[path]), reduction_scale=10.0)
        else:
            assert a[path] == b[path], path
    arrays = [path for path in b if isinstance(b[path], np.ndarray)]
    for one in arrays:
        for other in arrays:
            assert (a[one] is a[other]) == (b[one] is b[other])
            assert np.shares_memory(a[one], a[other]) == np.shares_memory(b[one], b[other])


@pytest.mark.parametrize(("make", "f"), CASES, ids=IDS)
def test_objects_hold_what_they_hold_in_numpy(make, f):
    ours, theirs, compiled = make(), make(), wb.jit(f)
    for _ in range(5):
        with np.errstate(all="ignore"):
            expected = f(theirs)
            actual = compiled(ours)
        assert_same(actual, expected, reduction_scale=10.0)
        assert_held_same(ours, theirs)
    assert not compiled.fallbacks


@pytest.mark.parametrize(("make", "f"), CASES, ids=IDS)
def test_each_object_has_its_own(make, f):
    compiled, pairs = wb.jit(f), [(make(), make()) for _ in range(4)]
    for _ in range(2):
        for ours, theirs in pairs:
            assert_same(compiled(ours), f(theirs), reduction_scale=10.0)
            assert_held_same(ours, theirs)


@pytest.mark.parametrize(("make", "f"), CASES, ids=IDS)
def test_explaining_changes_nothing(make, f):
    s, before = make(), make()
    report = wb.explain(f)(s)
    assert report.status in ("compiled", "cached"), report.reason
    assert_held_same(s, before)


@pytest.mark.parametrize("compare", [True, False])
@pytest.mark.parametrize(("make", "f"), CASES, ids=IDS)
def test_cells_give_objects_what_numpy_does(make, f, compare):
    ours, theirs = make(), make()
    namespace = {"s": ours, "f": f, "np": np, "__name__": "__main__"}
    for _ in range(3):
        run = run_cell("r = f(s)", namespace, options=CellOptions(compare=compare))
        run.finish()
        expected = f(theirs)
        assert_same(namespace["r"], expected, reduction_scale=10.0)
        assert_held_same(ours, theirs)
        assert run.report.status in ("compiled", "recompiled", "cached"), run.report.reason
        assert not compare or run.report.verification.ok


def test_a_method_is_compiled():
    class Counter:
        def __init__(self):
            self.x, self.n = np.zeros(5), 0

        def step(self, by):
            self.x = self.x + by
            self.n += 1
            return self.n

    compiled = copy.copy(Counter)
    Counter.step = wb.jit(Counter.step)
    a, b = compiled(), compiled()
    assert [a.step(2.0), a.step(1.0), b.step(3.0)] == [1, 2, 1]
    assert_same(a.x, np.full(5, 3.0))
    assert_same(b.x, np.full(5, 3.0))
    assert type(a.n) is int


def test_two_objects_and_one_twice():
    def exchange(a, b):
        a.now, b.now = b.now * 2, a.now
        a.n = b.now.sum()
        return a.now

    ours, theirs, compiled = [Leapfrog(9), Leapfrog(9)], [Leapfrog(9), Leapfrog(9)], wb.jit(exchange)
    for k in (0, 1, 1, 0):
        assert_same(compiled(ours[0], ours[k]), exchange(theirs[0], theirs[k]))
        for mine, other in zip(ours, theirs, strict=True):
            assert_held_same(mine, other)


def test_dicts_and_lists_outside_are_changed():
    state = {"x": np.ones(4), "n": 0, "log": [0.0, 0.0]}
    other = copy.deepcopy(state)

    def run_on(state):
        def run(k):
            for i in range(12):
                state["x"] = state["x"] * 0.9 + k
                state["n"] += 1
                state["log"][i % 2] = state["x"].sum()
            state["new"] = k

        return run

    compiled, plain = wb.jit(run_on(state)), run_on(other)
    for k in (1.0, 2.0, 3.0):
        compiled(k)
        plain(k)
        assert list(state) == list(other)
        assert_same(state["x"], other["x"], reduction_scale=10.0)
        assert (state["n"], type(state["n"]), state["new"]) == (other["n"], int, other["new"])
        assert_same(np.array(state["log"]), np.array(other["log"]), reduction_scale=10.0)
        assert [type(x) for x in state["log"]] == [type(x) for x in other["log"]]
    assert not compiled.fallbacks


def update(parameters, gradients, rate):
    for name in parameters:
        parameters[name] = parameters[name] - rate * gradients[name]
    return parameters


def new_keys(state, dt):
    state["v"] = state["v"] - dt * state["x"]
    state["x"] = state["x"] + dt * state["v"]
    state["energy"] = (state["x"] ** 2).sum()
    state["n"] += 1


def halves(weights):
    for i in range(len(weights)):
        weights[i] = weights[i] * 0.5
    return weights, weights[0]


def in_a_loop(state):
    for _ in range(100):
        state["x"] = state["x"] * 0.99 + state["v"]
        state["t"] += 0.1
    return state["x"].sum()


def swap(p):
    p["a"], p["b"] = p["b"], p["a"]


def unchanged(p):
    return p, p["layers"], p["layers"][0]["w"] + 1


def of_layers(p):
    for layer in p["layers"]:
        layer["w"] = layer["w"] @ layer["w"] * 0.1
    return p["layers"][1]["w"]


@pytest.mark.parametrize(("f", "args"), [
    (update, ({"w": np.ones((3, 4)), "b": np.zeros(4)}, {"w": np.ones((3, 4)), "b": np.ones(4)}, 0.1)),
    (new_keys, ({"x": np.ones(3), "v": np.zeros(3), "n": 0}, 0.1)),
    (halves, ([np.ones(3), np.ones(4)],)),
    (in_a_loop, ({"x": np.ones(3), "v": np.ones(3), "t": 0.0},)),
    (swap, ({"a": np.ones(3), "b": np.zeros(3)},)),
    (unchanged, ({"layers": [{"w": np.ones(3)}]},)),
    (of_layers, ({"layers": [{"w": np.ones((3, 3))}, {"w": np.ones((2, 2))}]},)),
])  # fmt: skip
def test_dicts_and_lists_among_the_arguments_are_changed(f, args):
    ours, theirs, compiled = copy.deepcopy(args), copy.deepcopy(args), wb.jit(f)
    for k in range(12):
        given = [list(x.values()) if isinstance(x, dict) else None for x in ours]
        expected, actual = f(*theirs), compiled(*ours)
        assert_same(actual, expected, reduction_scale=10.0)
        assert_same(list(ours), list(theirs), reduction_scale=10.0)
        if f is swap:
            assert [x is y for x, y in zip(given[0], reversed(ours[0].values()), strict=True)] == [True, True], k
        if f in (update, halves, unchanged):
            assert (actual if f is update else actual[0]) is ours[0]
    assert not compiled.fallbacks
    before = copy.deepcopy(ours)
    wb.explain(f)(*ours)
    assert_same(list(ours), list(before))


def test_what_can_never_be_traced_is_not_tried_for_ever(monkeypatch):
    def push(found, x):
        found.append(x)

    found, compiled = [], wb.jit(push)
    for k in range(40):
        compiled(found, np.ones(3) * k)
    assert [x[0] for x in found] == list(range(40))
    assert len(compiled.fallbacks) < 20


def test_a_failing_run_leaves_what_numpys_leaves():
    class Solver:
        def __init__(self):
            self.a, self.x, self.n = np.eye(3), np.zeros(3), 0

        def solve(self, b):
            self.n += 1
            self.x = np.linalg.solve(self.a, b)

    ours, theirs = Solver(), Solver()
    compiled = wb.jit(Solver.solve)
    for a in (2 * np.eye(3), np.zeros((3, 3)), np.eye(3)):
        ours.a, theirs.a = a, a.copy()
        for s, f in ((ours, compiled), (theirs, Solver.solve)):
            try:
                f(s, np.ones(3))
            except np.linalg.LinAlgError:
                assert not a.any()
        assert ours.n == theirs.n
        assert_same(ours.x, theirs.x)


class Forgets:
    def __init__(self):
        self.x, self.cache = np.ones(3), 1.0

    def step(self):
        del self.cache
        self.x = self.x + 1


def test_what_is_deleted_is_refused():
    with pytest.raises(SideEffectError):
        trace(lambda s: s.step(), (Forgets(),), {})
    s = Forgets()
    wb.jit(lambda s: s.step())(s)
    assert not hasattr(s, "cache")
    assert_same(s.x, np.full(3, 2.0))


def test_an_inner_compiled_method():
    class Walk:
        def __init__(self):
            self.x = np.zeros(4)

        @wb.jit
        def step(self):
            self.x = self.x + 1

        def run(self, n):
            for _ in range(n):
                self.step()
            return self.x.sum()

    s = Walk()
    assert wb.jit(Walk.run)(s, 3) == 12.0
    assert_same(s.x, np.full(4, 3.0))


def identities(a, b, note=None):
    if note is not None:
        a = a + 1
    return a is b, a is not b, note is None


def test_whether_two_arguments_are_one_is_the_calls_matter():
    compiled, x = wb.jit(identities), np.ones(3)
    for args in ((x, x), (x, x.copy()), (x, x, "note")):
        assert compiled(*args) == identities(*args)
