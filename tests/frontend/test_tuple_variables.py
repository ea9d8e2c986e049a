"""Variables that hold tuples in loops are a variable for each item: the loops are steps, and give what NumPy's give."""

from __future__ import annotations

import numpy as np
import optree
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.compare import assert_same

RNG = np.random.default_rng(11)


def best_of(x):
    best = (np.inf, 0, 0.0, 1)
    for i in range(len(x)):
        if x[i] < best[0]:
            best = (x[i], i, x[i] ** 2, -1)
    return best


def length_of_a_path(x):
    last, total = (0.0, 0.0), 0.0
    for i in range(len(x)):
        here = (x[i], 2 * x[i])
        total += np.hypot(here[0] - last[0], here[1] - last[1])
        last = here
    return total, last


def steps_on_a_grid(x):
    place, n = (0, 0), 0
    for v in x:
        dx, dy = (1, 0) if v > 0.5 else (0, 1)
        place = (place[0] + dx, place[1] + dy)
        n += place[0] == place[-1]
    return n, place


def lowest_and_highest(x):
    low, high = (x[0], 0), (x[0], 0)
    for i, v in enumerate(x):
        low = (v, i) if v < low[0] else low
        if v > high[0]:
            high = (v, i)
    (v, i), k = low, high[1]
    return v, i, k, high


def items_that_trade_places(x):
    a, b = (0, 1), (1.0, 2.0)
    for v in x:
        if v > 0.6:
            a, b = (a[0] + 1, a[1]), (b[1], b[0])
    return a, b


def three_greatest(x):
    top = (-1.0, -1.0, -1.0)
    for v in x:
        if v > top[0]:
            top = (v, top[0], top[1])
        elif v > top[1]:
            top = (top[0], v, top[1])
        elif v > top[2]:
            top = (top[0], top[1], v)
    return sum(top), top[-1]


def until_it_is_short(x):
    state, n = (x[0] + 1.0, 1.0), 0
    while state[0] > 1e-3 and n < 500:
        state, n = (state[0] * 0.9, state[1] + state[0]), n + 1
    return state


PROGRAMS = [
    best_of, length_of_a_path, steps_on_a_grid, lowest_and_highest, items_that_trade_places, three_greatest,
    until_it_is_short,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_loop_over_tuples_is_one_step(program):
    x = RNG.random(400)
    compiled = wb.jit(program)
    assert_same(compiled(x), program(x), max_ulp=16)
    assert_same(compiled(x), program(x), max_ulp=16)
    assert not compiled.fallbacks
    programs = [e.params["program"] for e in compiled.compilations[-1].plan.jaxpr.eqns if "program" in e.params]
    assert len(programs) == 1


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(PROGRAMS), st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_whatever_the_numbers_are(program, numbers):
    x = np.array(numbers)
    # Python's floats that go from variable to variable may come out as NumPy's, as those of loops do without tuples.
    found, expected = (optree.tree_map(float, each(x)) for each in (wb.jit(program), program))
    assert_same(found, expected, max_ulp=16)


def array_in_a_tuple(x):
    best = (-1.0, np.zeros(3))
    for i in range(len(x) - 3):
        s = x[i] + x[i + 1] - x[i + 2]
        if s > best[0]:
            best = (s, x[i : i + 3].copy())
    return best


def none_in_a_tuple(x):
    best = (np.inf, None)
    for i in range(len(x)):
        if x[i] < best[0]:
            best = (x[i], i)
    return -1 if best[1] is None else best[1]


def other_kinds_of_use(x):
    pair = (0.0, 1)
    for v in x:
        pair = (pair[0] + v, len(pair))
    k = int(len(x) > 3)
    return pair, pair[k], 2 in pair, pair + (3,), [2 * p for p in pair], max(*pair), str(type(pair))


def of_two_lengths(x):
    t = (0.0,)
    for v in x:
        t = (v, 1.0) if v > 0.5 else (v,)
    return len(t)


def a_function_sees_it(x):
    t = (0.0, 1.0)

    def first():
        return t[0]

    for v in x:
        t = (first() + v, v)
    return t


def name_that_is_taken(x):
    t, t_0 = (0.0, 1.0), 5.0
    for v in x:
        t = (t[0] + v, t[1] * 0.5)
    return t, t_0


@pytest.mark.parametrize(
    "program",
    [array_in_a_tuple, none_in_a_tuple, other_kinds_of_use, of_two_lengths, a_function_sees_it, name_that_is_taken],
    ids=lambda f: f.__name__,
)
@pytest.mark.filterwarnings("ignore:.*runs in NumPy")
def test_other_uses_of_tuples(program):
    x = RNG.random(30)
    compiled = wb.jit(program)
    for _ in range(2):
        assert_same(compiled(x), program(x), max_ulp=16)


def test_the_report_shows_the_loop_as_it_was_written():
    compiled = wb.jit(best_of)
    compiled(RNG.random(50))
    (program,) = [e.params["program"] for e in compiled.compilations[-1].plan.jaxpr.eqns if "program" in e.params]
    assert "best[0]" in program.text and "best_0" not in program.text
