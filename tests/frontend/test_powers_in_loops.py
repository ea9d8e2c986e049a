"""Powers of single numbers in loops: NumPy's values, and Python's rules for Python's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

RNG = np.random.default_rng(4)


def by_roots(x):
    s = 0.0
    for i in range(len(x)):
        r = x[i]
        s += r**-1.5 + r**1.5 + r**-0.5 + r**0.5 + r**-2 + r**-3 + r**2.5
    return s


def of_what_was_pythons(x, capacity, beta):
    moisture, out = capacity / 2, np.empty(len(x))
    for i in range(len(x)):
        share = (moisture / capacity) ** beta
        moisture += x[i] - x[i] * share
        out[i] = (moisture / capacity) ** 0.5
    return out, moisture


def of_pythons_alone(x, start, exponent):
    s = float(start)
    for i in range(len(x)):
        s = (s * s + 0.3) ** 0.5 - 0.1 * s**exponent
        if x[i] > 2:
            break
    return s


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_powers_that_roots_serve(dtype):
    x = (RNG.random(300) + 0.1).astype(dtype)
    compiled = wb.jit(by_roots)
    assert_same(compiled(x), by_roots(x), max_ulp=16, reduction_scale=1e5)
    assert not compiled.fallbacks


@pytest.mark.parametrize("special", [0.0, -0.0, np.inf, -np.inf, np.nan, -4.0, 5e-324, 1e-200, 1e200])
@pytest.mark.parametrize("exponent", [0.5, 1.5, -0.5, -1.5, -2, -3, -2.0, 2.5])
def test_their_edges(special, exponent):
    def powers(x):
        out = np.empty_like(x)
        last = 0.0
        for i in range(len(x)):
            last = x[i] ** exponent + 0.0 * last * 0.0
            out[i] = last
        return out

    x = np.array([special])
    with np.errstate(all="ignore"):
        assert_same(wb.jit(powers)(x), powers(x), max_ulp=2)


@pytest.mark.parametrize("beta", [2.0, 0.5, 1.3, -1.0, 3])
def test_numbers_that_are_pythons_before_a_loop(beta):
    x = RNG.random(200)
    compiled = wb.jit(of_what_was_pythons)
    with np.errstate(all="ignore"):
        expected = of_what_was_pythons(x, 200.0, beta)
        for _ in range(2):
            assert_same(compiled(x, 200.0, beta), expected, max_ulp=64)
    assert not compiled.fallbacks


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("start", "exponent"), [(0.5, 1.5), (2.0, -0.5), (0.0, -1.0), (-1.0, 0.5), (1e200, 2.0)])
def test_pythons_rules(start, exponent):
    x = RNG.random(20)
    outcomes = []
    for function in (of_pythons_alone, wb.jit(of_pythons_alone)):
        try:
            outcomes.append(function(x, start, exponent))
        except (ZeroDivisionError, OverflowError) as error:
            outcomes.append(type(error))
    if isinstance(outcomes[0], type):
        assert outcomes[1] is outcomes[0]
    else:
        assert_same(outcomes[1], outcomes[0], max_ulp=64)
