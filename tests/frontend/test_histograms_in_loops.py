"""`np.histogram` of parts of arrays, in loops that are steps."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

RNG = np.random.default_rng(12)


def entropies(x):
    out = []
    for i in range(0, len(x) - 50, 25):
        h, _ = np.histogram(x[i : i + 50], bins=16, range=(-3, 3))
        p = h / h.sum()
        p = p[p > 0]
        out.append(-(p * np.log2(p)).sum())
    return np.array(out)


def between_their_ends(x):
    counts, edges = np.zeros((10, 8)), np.zeros((10, 9))
    for i in range(10):
        counts[i], edges[i] = np.histogram(x[i * 20 : (i + 1) * 20], bins=8)
    return counts, edges


def densities(x):
    out = np.zeros((10, 10))
    for i in range(10):
        h, e = np.histogram(x[i * 20 : (i + 1) * 20], density=True)
        out[i] = h
    return out


def whole_numbers(x):
    k, s = (x * 3).astype(int), 0.0
    for i in range(10):
        h, e = np.histogram(k[i * 20 : (i + 1) * 20], bins=5, range=(0, 6))
        s += e[h.argmax()] + h.sum()
    return s


PROGRAMS = [entropies, between_their_ends, densities, whole_numbers]
INPUTS = {
    "ordinary": lambda: RNG.standard_normal(300),
    "edges": lambda: RNG.integers(-3, 4, 300) / 2.0,
    "one value": lambda: np.full(300, 0.25),
}


def assert_the_same_end(program, x):
    """The same result, or the same error."""
    outcomes = []
    for function in (program, wb.jit(program)):
        try:
            outcomes.append(function(x))
        except ValueError as error:
            outcomes.append(str(error))
    if isinstance(outcomes[0], str):
        assert outcomes[1] == outcomes[0]
    else:
        assert_same(outcomes[1], outcomes[0], max_ulp=16, reduction_scale=100.0)


@pytest.mark.parametrize("make", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_they_are_numpys(program, make):
    compiled = wb.jit(program)
    for _ in range(3):
        x = make()
        assert_same(compiled(x), program(x), max_ulp=16, reduction_scale=20.0)
    assert not compiled.fallbacks


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", [entropies, between_their_ends, whole_numbers], ids=lambda f: f.__name__)
@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_what_is_not_finite(program, special):
    x = RNG.standard_normal(300)
    x[17] = special
    assert_the_same_end(program, x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.histogram(x, bins=[-1.0, 0.0, 1.0])[0], lambda x: np.histogram(x, bins="auto")[0],
        lambda x: np.histogram(x, 4, weights=x)[0], lambda x: np.histogram(x[:0], 4)[0],
        lambda x: np.histogram(x, 4, (2, 1))[0],
    ],
    ids=["edges", "rule", "weights", "nothing", "wrong ends"],
)  # fmt: skip
def test_other_calls(call):
    def program(x):
        total = 0.0
        for i in range(5):
            total += call(x[i * 20 : (i + 1) * 20])[0]
        return total

    x = RNG.standard_normal(100)
    assert_the_same_end(program, x)
