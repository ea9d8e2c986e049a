"""Arrays that get shorter from turn to turn of a loop, and are read after it."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

RNG = np.random.default_rng(2)


def rollback(values, strike, p, turns):
    st = values.copy()
    v = np.maximum(strike - st, 0)
    for _ in range(turns):
        v = 0.99 * (p * v[:-1] + (1 - p) * v[1:])
        st = st[:-1] * 0.98
        v = np.maximum(v, strike - st)
    return v[0], st[-1]


def summed(values, strike, p, turns):
    v = values
    for _ in range(turns):
        v = v[1:] - p * v[:-1]
    return v.sum(), v.max(), v.size, (v * v).mean()


def halved(values, strike, p, turns):
    v = values
    n = 0
    while v.size > 1 and n < turns:
        m = v.size // 2
        v = v[: 2 * m : 2] + v[1 : 2 * m : 2]
        n += 1
    return v[0], n


def wholly(values, strike, p, turns):
    v = values
    for _ in range(turns):
        v = v[1:] - p * v[:-1]
    return v


def written_into(values, strike, p, turns):
    v = values
    for _ in range(turns):
        v = v[1:]
    v[0] = strike
    return values, v[0]


def grown(values, strike, p, turns):
    v = values
    for _ in range(turns):
        v = np.append(v, p)
    return v[-1], v.sum()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("turns", [0, 1, 7, 39])
@pytest.mark.parametrize("program", [rollback, summed, halved, wholly, written_into, grown], ids=lambda f: f.__name__)
def test_what_a_loop_leaves_is_what_numpys_leaves(program, turns):
    values = RNG.random(40)
    compiled = wb.jit(program)
    for _ in range(2):
        given = values.copy(), values.copy()
        expected = program(given[0], 0.7, 0.4, turns)
        assert_same(compiled(given[1], 0.7, 0.4, turns), expected, max_ulp=64, reduction_scale=40.0)
        assert_same(given[1], given[0])


@pytest.mark.parametrize("program", [rollback, summed], ids=lambda f: f.__name__)
def test_such_a_loop_is_one_step(program):
    compiled = wb.jit(program)
    compiled(RNG.random(400), 0.7, 0.4, 350)
    assert not compiled.fallbacks
    (found,) = [e.params["program"] for e in compiled.compilations[-1].plan.jaxpr.eqns if "program" in e.params]
    assert "in_room(" in found.source


def test_elements_beyond_what_is_left_are_errors():
    def beyond(values, turns):
        v = values
        for _ in range(turns):
            v = v[1:] * 2.0
        return v[3]

    values = RNG.random(10)
    compiled = wb.jit(beyond)
    assert compiled(values, 5) == beyond(values, 5)
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(values, 8)
