"""Objects that branches and loops leave under a name: what Python leaves, and told apart where Python tells them apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.notebook.cells import run_cell

from ..sources import define
from .test_made_objects import same_objects


@dataclass
class State:
    x: Any
    v: Any
    t: float = 0.0

    def step(self, dt):
        return State(self.x + self.v * dt, self.v - self.x * dt, self.t + dt)

    def kick(self, a):
        self.v = self.v + a


@dataclass(frozen=True)
class Fixed:
    x: Any
    n: int = 0

    def step(self):
        return replace(self, x=self.x * 0.9 + 0.1, n=self.n + 1)


class Particle:
    __slots__ = ("best", "x")

    def __init__(self, x, best):
        self.x, self.best = x, best

    def moved(self, d):
        return Particle(self.x + d, np.maximum(self.best, self.x + d))


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __add__(self, other):
        return Pair(self.a + other.a, self.b + other.b)

    def __mul__(self, k):
        return Pair(self.a * k, self.b * k)

    def norm(self):
        return np.sqrt((self.a**2).sum() + (self.b**2).sum())


class Logged:
    def __init__(self, x):
        self.x, self.log = x, []

    def step(self):
        new = Logged(self.x * 1.5)
        new.log = self.log + [self.x.sum()]
        return new


def in_a_for(x):
    s = State(x, x * 0)
    for _ in range(200):
        s = s.step(0.01)
    return s


def in_a_while(x):
    f = Fixed(x)
    while np.abs(f.x - 1).max() > 1e-3:
        f = f.step()
    return f


def stepped_and_changed(x):
    s = State(x, x * 0)
    while s.t < 1:
        s = s.step(0.1)
        s.kick(0.1)
    return s


def with_slots_and_branches(x):
    p = Particle(x, x)
    for i in range(100):
        p = p.moved(np.sin(i * x))
        if p.x.max() > 1.5:
            p = p.moved(-1.0)
    return p.best, p


def with_operators(x):
    y = Pair(x, x * 2)
    for _ in range(100):
        y = y + (y + y * 0.05) * 0.1
        if y.norm() > 100:
            y = y * 0.5
    return y


def a_list_of_them(x):
    particles = [Particle(x * i, x) for i in range(3)]
    for k in range(50):
        particles = [p.moved(0.01 * k) for p in particles]
    return particles, max(p.best.max() for p in particles)


def in_a_dict(x):
    found = {"s": State(x, x * 0)}
    while found["s"].t < 1:
        found["s"] = found["s"].step(0.1)
    return found


def in_nested_loops(x):
    s = State(x, x * 0)
    for _ in range(3):
        for _ in range(40):
            s = s.step(0.01)
        s = replace(s, t=0.0)
    return s


def made_in_a_branch(x):
    def make(v):
        if v.sum() > 3:
            return State(v, v, 1.0)
        return State(v * 2, v, 2.0)

    one, other = make(x), make(x * 0.1)
    one.t += 1
    return one, other


def frozen_ones_chosen(x):
    a, b = Fixed(x), Fixed(x * 2, 5)
    chosen = a if x.sum() > 0 else b
    return chosen.x * 2, chosen.n


def in_a_list_that_grows(x):
    found = []
    s = State(x, x * 0)
    while s.x[0] > 0:
        s = s.step(0.1)
        found.append(State(s.x * 2, s.v, s.t))
    return found


@dataclass(frozen=True)
class Vec:
    x: float
    y: float

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)


class Body:
    def __init__(self, at, m):
        self.at, self.m = at, m


def bodies_told_apart(x):
    bodies = [Body(Vec(float(k), 1.0), 1.0 + k) for k in range(3)]
    for _ in range(100):
        for b in bodies:
            pull = Vec(0.0, 0.0)
            for other in bodies:
                if other is not b:
                    pull = pull + (other.at + b.at * -1.0) * (other.m * x[0])
            b.at = b.at + pull * 0.001
    return bodies, b


def the_best_so_far(x):
    best = None
    for i in range(30):
        found = State(x * np.sin(i), x, np.abs(x * np.cos(i)).sum())
        if best is None or found.t < best.t:
            best = found
    return best


def the_best_from_the_first_on(x):
    best = State(x, x, np.inf)
    k = 1.0
    while k > 1e-2:
        found = State(x * k, x, ((x * k - 0.3) ** 2).sum())
        if found.t < best.t:
            best = found
        k *= 0.5
    return best


COMPILED = [
    the_best_so_far, the_best_from_the_first_on,
    bodies_told_apart,
    in_a_for, in_a_while, stepped_and_changed, with_slots_and_branches, with_operators, a_list_of_them, in_a_dict,
    in_nested_loops, made_in_a_branch, frozen_ones_chosen, in_a_list_that_grows,
]  # fmt: skip


def the_first_one_too(x):
    s = State(x, x * 0)
    first = s
    while s.x[0] > 0:
        s = s.step(0.1)
    return first, s, first is s


def the_first_one_changes(x):
    s = State(x, x * 0)
    first = s
    while s.x[0] > 0:
        s = s.step(0.1)
        first.t = first.t + 1
    return s, first


def kept_in_a_list(x):
    s = State(x, x * 0)
    kept = []
    for i in range(30):
        s = s.step(0.1)
        if i % 10 == 0:
            kept.append(s)
    s.t = -1.0
    return kept, s


def with_lists(x):
    s = Logged(x)
    while s.x.sum() < 100:
        s = s.step()
    return s.log, s


def compared_by_is(x):
    s, same = State(x, x * 0), True
    for _ in range(20):
        before = s
        s = s.step(0.1)
        same = same and before is s
    return same, s


def the_best_and_the_last(x):
    best = None
    for i in range(30):
        found = State(x * np.sin(i), x, np.abs(x * np.cos(i)).sum())
        if best is None or found.t < best.t:
            best = found
        found.t = found.t + 1.0
    return best, found


def looked_for(x):
    seen = []
    p = Pair(x, x)
    for _ in range(3):
        seen.append(p)
        if p.norm() > 2:
            p = p * 0.5
    return p in seen, len(seen)


def whose_array_changes(x):
    y = x.copy()
    s = State(y, x * 0)
    while s.x[0] > 0:
        s = s.step(0.1)
        y[0] -= 0.1
    return s, y


def chosen_and_changed(x):
    a, b = State(x, x), State(x * 2, x)
    chosen = a if x.sum() > 0 else b
    chosen.t = 7.0
    return a, b, chosen


def two_names_of_one(x):
    a = b = State(x, x * 0)
    for _ in range(10):
        a = a.step(0.1)
        b.kick(a.x)
    return a, b


ALIKE = [
    the_best_and_the_last, the_first_one_too, the_first_one_changes, kept_in_a_list, with_lists, compared_by_is, looked_for,
    whose_array_changes, chosen_and_changed, two_names_of_one,
]  # fmt: skip


def rounded(value: Any) -> Any:
    """Sums are added in another order than NumPy's."""
    if isinstance(value, np.ndarray | float):
        return type(value)(np.round(value, 9)) if isinstance(value, float) else np.round(value, 9)
    if isinstance(value, list | tuple):
        return type(value)(map(rounded, value))
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    for name in getattr(value, "__slots__", None) or getattr(value, "__dict__", ()):
        object.__setattr__(value, name, rounded(getattr(value, name)))
    return value


@pytest.mark.parametrize("function", [*COMPILED, *ALIKE], ids=lambda f: f.__name__)
def test_branches_and_loops_leave_what_python_leaves(function):
    compiled = wb.jit(function)
    for k in (1.0, 0.1, 2.0):
        x = np.array([1.0, 1.5, 2.0, 0.5]) * k
        expected, result = function(x.copy()), compiled(x.copy())
        same_objects(rounded(result), rounded(expected))
    if function in COMPILED:
        assert not [reason for reason in compiled.fallbacks if reason.code != "WB500"]


@pytest.mark.parametrize("n", [0, 1, 5])
def test_an_argument_is_stepped(n):
    def run(s, n):
        for _ in range(n):
            s = s.step(0.1)
        return s

    def until(s, end):
        while s.t < end:
            s = s.step(0.1)
        return s

    for function, end in ((run, n), (until, 0.1 * n - 0.05)):
        compiled = wb.jit(function)
        for _ in range(3):
            given = State(np.ones(3), np.zeros(3))
            expected, result = function(given, end), compiled(given, end)
            assert (result is given) == (expected is given)
            same_objects(rounded(result), rounded(expected))
            same_objects(given, State(np.ones(3), np.zeros(3)))


def test_cells_step_objects():
    names: dict[str, Any] = {"np": np, "State": State, "x": np.ones(100)}
    report = run_cell("s = State(x, x * 0)\nfor _ in range(500):\n    s = s.step(0.01)\nlast = s.x[0]", names).report
    assert not report.fallbacks
    expected = State(np.ones(100), np.zeros(100))
    for _ in range(500):
        expected = expected.step(0.01)
    np.testing.assert_allclose(names["s"].x, expected.x, rtol=1e-12)
    assert type(names["s"]) is State and names["s"].t == expected.t


MOVES = st.sampled_from(
    ["s = s.step(0.1)", "s.kick(0.5)", "t = s", "s = t.step(0.2)", "s, t = t, s", "t = replace(s, t=t.t + 1.0)",
     "if s.x[0] > k: s = s.step(0.3)", "if t.v.sum() < s.v.sum(): t = s.step(0.05)", "s.x = s.x * 0.9",
     "t.t = t.t + s.t * 0.5", "u = [s, t]", "u = [p.step(0.1) for p in u]", "u[0].kick(k)", "s = u[1]",
     "hits = hits + (s is t)", "b = s", "if s.x[0] > b.x[0]: b = s", "if b is None or t.v.sum() < b.v.sum(): b = t",
     "w = t.step(k * 0.1)", "if w.x[1] > b.x[1]: b = w", "b.t = b.t + 1.0", "if k > 2: u = [t, s]", "s.x[0] += 0.1"]
)  # fmt: skip


@given(st.lists(MOVES, min_size=1, max_size=4), st.lists(MOVES, max_size=2), st.booleans(), st.integers(1, 6))
@settings(max_examples=40)
def test_random_programs_with_objects(body, after, frozen, n):
    loop = "while s.t + k < n:" if frozen else "for k in range(n):"
    count = ["k = k + 1"] if frozen else []
    lines = ["s = State(x, x * 0)", "t = State(x * 2, x)", "u = [s, t]", "b = State(x, x)", "w = t",
             "hits = 0", "k = 0", loop,
             *[f"    {line}" for line in [*count, *body]], *after, "return s, t, u, b, hits"]  # fmt: skip
    names: dict[str, Any] = {"State": State, "replace": replace, "np": np}
    source = "def program(x, n):\n" + "".join(f"    {line}\n" for line in lines)
    function = define(source, "program", f"<objects {abs(hash(source)):x}>", **names)
    compiled = wb.jit(function)
    for k in (1.0, 0.5):
        x = np.array([1.0, -2.0, 0.5]) * k
        expected, result = function(x.copy(), n), compiled(x.copy(), n)
        same_objects(rounded(result), rounded(expected))
