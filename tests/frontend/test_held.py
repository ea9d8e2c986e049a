"""Values that objects, dicts and lists hold and the code changes: as in NumPy, in loops and branches too."""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from types import SimpleNamespace

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


def test_results_that_objects_hold_are_named():
    traced = trace(lambda s: step(s), (Leapfrog(),), {})
    assert "s.now" in traced.output_names
    namespace = {"s": Heat(), "np": np, "__name__": "__main__"}
    report = run_cell("for k in range(80):\n    s.step()\nq = s.u + 1", namespace).report
    assert {each.name for each in report.kept} == {"s.t", "s.n_steps", "s.largest", "s.previous", "s.u", "q"}


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

    s, compiled = Walk(), wb.jit(Walk.run)
    assert compiled(s, 3) == 12.0
    assert compiled(s, 100) == 412.0
    assert_same(s.x, np.full(4, 103.0))
    assert not compiled.fallbacks


def identities(a, b, note=None):
    if note is not None:
        a = a + 1
    return a is b, a is not b, note is None


def test_whether_two_arguments_are_one_is_the_calls_matter():
    compiled, x = wb.jit(identities), np.ones(3)
    for args in ((x, x), (x, x.copy()), (x, x, "note")):
        assert compiled(*args) == identities(*args)


def counts(d):
    d["n"] += 1


def alternates(d):
    d["a"], d["b"], d["mode"] = d["b"], d["a"], "on" if d["mode"] == "off" else "off"


def counts_beside_an_array(d):
    d["n"] += 1
    d["x"] = d["x"] + d["n"]


@pytest.mark.parametrize(("f", "d"), [
    (counts, {"n": 0}), (alternates, {"a": 1, "b": 2.0, "mode": "off"}), (counts_beside_an_array, {"n": 0, "x": np.ones(2)}),
])  # fmt: skip
def test_constants_among_the_arguments_are_those_of_the_call(f, d):
    ours, theirs, compiled = copy.deepcopy(d), copy.deepcopy(d), wb.jit(f)
    for _ in range(14):
        f(theirs)
        compiled(ours)
        assert_same(ours, theirs)


def test_dicts_and_lists_that_are_given_twice():
    def lists(held):
        held["p"][0] += 1
        held["q"][0] *= 2

    def dicts(d, e):
        d["x"] = d["x"] + 1
        e["x"] = e["x"] * 2

    outside = {"x": 1.0}

    def one_outside(d):
        outside["x"] = outside["x"] + 1
        d["x"] = d["x"] * 2

    for first_apart in (True, False):
        compiled = [wb.jit(f) for f in (lists, dicts, one_outside)]
        outside["x"] = 1.0
        if first_apart:
            for _ in range(3):
                compiled[0]({"p": [1.0], "q": [2.0]})
                compiled[1]({"x": 1.0}, {"x": 2.0})
                compiled[2]({"x": 1.0})
            assert outside["x"] == 4.0
        for _ in range(2):
            both, d = [1.0], {"x": 1.0}
            compiled[0]({"p": both, "q": both})
            compiled[1](d, d)
            before = outside["x"]
            compiled[2](outside)
            assert (both, d["x"], outside["x"]) == ([4.0], 4.0, 2 * before + 2)


def test_what_deques_hold_and_sets_of_objects():
    p, r, x = SimpleNamespace(x=0), SimpleNamespace(x=0), np.zeros(2)
    s = SimpleNamespace(q=deque([x]), particles=deque([p, r]), active=frozenset(("a", 3)), log=[])
    doubled = wb.jit(lambda s: s.q[0] * 2)
    assert_same(doubled(s), np.zeros(2))
    x += 1
    assert_same(doubled(s), np.full(2, 2.0))

    def move(s):
        for each in s.particles:
            each.x = each.x + 1
        return "a" in s.active

    moved = wb.jit(move)
    assert [moved(s) for _ in range(3)] == [True] * 3
    assert (p.x, r.x) == (3, 3)


class Registered:
    all: list = []

    def __init__(self):
        self.n = 0
        Registered.all.append(self)


def test_objects_that_their_class_holds_and_where_objects_are():
    one, other = Registered(), Registered()

    def count(r):
        r.n += 1
        return sum(each.n for each in Registered.all), r is Registered.all[0]

    compiled = wb.jit(count)
    assert [compiled(one), compiled(one), compiled(other)] == [(1, True), (2, True), (3, False)]
    s = SimpleNamespace(names={id(r): k for k, r in enumerate(Registered.all)}, all=list(Registered.all))
    assert wb.jit(lambda s: [s.names.get(id(r)) for r in s.all])(s) == [0, 1]


def test_dicts_of_other_kinds():
    ordered, counts = OrderedDict(x=np.ones(2), n=1.0), defaultdict(float, a=1.0)

    def change(k):
        ordered["x"] = ordered["x"] * k
        counts["a"] = counts["a"] + k

    compiled = wb.jit(change)
    for _ in range(6):
        compiled(2.0)
    assert_same(ordered["x"], np.full(2, 64.0))
    assert counts["a"] == 13.0
    assert not vars(ordered)
    assert not compiled.fallbacks


def test_the_order_of_keys_is_numpys():
    d = {"a": 1.0, "b": np.ones(3), "c": 3}

    def use(key):
        value = d.pop(key)
        d[key] = value + 1

    compiled = wb.jit(use)
    for key, order in (("b", "acb"), ("a", "cba"), ("c", "bac")):
        compiled(key)
        assert "".join(d) == order
    assert_same(d["b"], np.full(3, 2.0))


def rebound_in_a_branch(s, k):
    old = s.x
    if k > 1:
        s.x = s.x + 1
    return s.x is old, s.x is not old


def test_identity_after_a_branch():
    s, compiled = SimpleNamespace(x=np.ones(2)), wb.jit(rebound_in_a_branch)
    assert [compiled(s, np.float64(k)) for k in (0, 2, 0)] == [(True, False), (False, True), (True, False)]


def test_containers_that_hold_themselves_and_lists_with_code_of_their_own():
    d = {"v": 1.0}
    d["me"] = d
    assert wb.jit(lambda d: d["v"])(d) == 1.0

    class Stack(list):
        def push(self, x):
            self.append(x)

    s = SimpleNamespace(stack=Stack())

    def push(s, x):
        s.stack.push(x)
        return len(s.stack)

    compiled = wb.jit(push)
    assert [compiled(s, 1.0), compiled(s, 2.0)] == [1, 2]


def test_ints_that_grow_past_64_bits():
    s = SimpleNamespace(a=0, b=1)

    def step(s):
        s.a, s.b = s.b, s.a + s.b

    compiled = wb.jit(step)
    for _ in range(100):
        compiled(s)
    assert s.a == 354224848179261915075


def test_counters_at_the_end_of_64_bits():
    s, compiled = SimpleNamespace(u=np.ones(3), n=2**63 - 3), wb.jit(lambda s: count_on(s))
    for _ in range(5):
        compiled(s)
    assert s.n == 2**63 + 2
    s.n = 2**62 - 2
    for _ in range(5):
        compiled(s)
    assert s.n == 2**62 + 3


def count_on(s):
    s.u = s.u + 1.0
    s.n += 1


def given_twice_by_keyword(p, g, rate=0.1):
    for name in p:
        p[name] = p[name] - rate * g[name]
    return p


def test_one_dict_under_two_keywords():
    compiled = wb.jit(given_twice_by_keyword)
    for _ in range(4):
        p = {"W": np.ones(3), "b": np.ones(2)}
        assert compiled(p=p, g=p) is p
        assert_same(p["W"], np.full(3, 0.9))


def two_objects(a, b):
    a.u = a.u + 1.0
    return a.u, b.u


@pytest.mark.parametrize("turns", ["ss st ss st ss", "st ss st st ss ss", "ss ss st tt ts ss"])
def test_two_objects_that_are_one_now_and_then(turns):
    s, t = SimpleNamespace(u=np.ones(3)), SimpleNamespace(u=np.zeros(3))
    theirs, compiled = copy.deepcopy({"s": s, "t": t}), wb.jit(two_objects)
    for turn in turns.split():
        a, b = ({"s": s, "t": t}[name] for name in turn)
        found, expected = compiled(a, b), two_objects(*(theirs[name] for name in turn))
        assert_same(found, expected)
        assert (found[0] is a.u, found[1] is b.u, found[0] is found[1]) == (True, True, turn[0] == turn[1])


def test_an_object_outside_that_is_given():
    def both(a):
        OUTSIDE.n += 1.0
        a.n *= 2.0

    compiled, other = wb.jit(both), SimpleNamespace(n=1.0)
    OUTSIDE.n = 1.0
    for a in (other, OUTSIDE, SimpleNamespace(n=3.0), OUTSIDE, other):
        before, given = OUTSIDE.n, a.n
        compiled(a)
        assert OUTSIDE.n == (2 * (before + 1) if a is OUTSIDE else before + 1)
        assert a.n == (2 * (before + 1) if a is OUTSIDE else 2 * given)


OUTSIDE = SimpleNamespace(n=1.0)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_subclasses_of_arrays_are_numpys_also_later():
    masked, matrix = np.ma.masked_array(np.ones(3), [0, 1, 0]), np.matrix([[1.0, 2.0], [3.0, 4.0]])

    def product(a, b):
        return a * b

    compiled, s = wb.jit(product), SimpleNamespace(u=np.ones(3))
    of_object = wb.jit(lambda s: s.u + 1.0)
    for _ in range(6):
        compiled(np.ones((2, 2)), np.ones((2, 2)))
        compiled(np.ones(3), np.ones(3))
        of_object(s)
    assert compiled(masked, masked).sum() == 2.0
    np.testing.assert_array_equal(compiled(matrix, matrix), matrix * matrix)
    s.u = masked
    assert of_object(s).sum() == 4.0


def test_a_result_that_is_held_too():
    class Smooth:
        def __init__(self):
            self.state = np.zeros(3)

        def update(self, x):
            self.state = 0.9 * self.state + x
            return self.state

    s, compiled = Smooth(), wb.jit(Smooth.update)
    for k in range(1, 6):
        y = compiled(s, np.ones(3))
        assert y is s.state, k
    assert_same(y, np.full(3, 4.0951), max_ulp=4)


@pytest.mark.parametrize("compare", [True, False])
def test_what_deques_hold_in_cells(compare):
    namespace = {"np": np, "__name__": "__main__", "q": deque([np.zeros(2), np.ones(2)])}
    for k in (1.0, 2.0):
        run_cell("s = q[0] + q[-1]\nq[0] += 1", namespace, options=CellOptions(compare=compare)).finish()
        assert_same(namespace["q"][0], np.full(2, k))
        assert_same(namespace["s"], np.full(2, k))


class Watched:
    def __init__(self):
        self.u, self.n, self.meta, self.size = np.ones((6, 6)), 0, {"runs": 0, "name": "a"}, 4
        self.history, self.log = [], [0.5] * 20

    def step(self):
        self.u[1:-1, 1:-1] *= 0.9

    def sized(self):
        return np.zeros(self.size) + self.u[0, 0]

    def last(self):
        return self.u * self.history[-1], len(self.log)


def test_what_others_change_of_an_object_makes_no_version_each_time():
    compiled, s = wb.jit(Watched.step), Watched()
    for k in range(30):
        compiled(s)
        s.history.append(s.u.max())
        s.log.append(s.u.min())
        s.n += 1
        s.meta["runs"] += 1
        assert_same(s.u[1:-1, 1:-1], np.full((4, 4), 0.9 ** (k + 1)), max_ulp=64)
    assert compiled.n_traces < 8
    assert not compiled.fallbacks


@pytest.mark.parametrize("method", [Watched.sized, Watched.last])
def test_what_is_asked_for_is_still_known(method):
    compiled, s = wb.jit(method), Watched()
    for k in range(12):
        s.history.append(0.5 + k)
        s.log.append(1.0)
        s.size = 3 + k % 5
        assert_same(compiled(s), method(s))


def test_a_tuple_that_was_given_is_returned_as_it_is():
    def f(t, u, x):
        u[1][0] = t[0] + x
        return t, [u, x + 1], u[1], (t[0], t[1])

    compiled = wb.jit(f)
    for k in range(4):
        t, u = (float(k), np.ones(2)), (1.0, [2.0, 3.0])
        same, (also, _), inner, equal = compiled(t, u, np.float64(3))
        assert same is t and also is u and inner is u[1] and equal is not t
        assert equal[1] is t[1] and u[1] == [k + 3.0, 3.0]
    assert not compiled.fallbacks


def test_one_tuple_twice():
    compiled = wb.jit(lambda a, b, x: (b, a, x + 1))
    t, u = (1.0, 2.0), (3.0, 4.0)
    for a, b in ((t, u), (t, t), (u, t), (t, u)):
        assert compiled(a, b, np.float64(0)) == (b, a, 1.0)
