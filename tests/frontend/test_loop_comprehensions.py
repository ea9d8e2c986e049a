"""Comprehensions over tuples in loops, and what makes one of a few numbers: NumPy's results, by compiled loops."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.compare import assert_same

from .test_loops import loops_of

RNG = np.random.default_rng(0)


def maxima(a, wraps):
    def wrapped(place, offset, n):
        return (place + offset) % n

    def clipped(place, offset, n):
        return min(max(place + offset, 0), n - 1)

    moved = wrapped if wraps else clipped
    window = (3, 3)
    found = np.ones(a.shape, dtype=bool)
    for place in np.ndindex(a.shape):
        here = a[place]
        for offset in np.ndindex(window):
            near = tuple(moved(p, o - w // 2, n) for p, o, w, n in zip(place, offset, window, a.shape))  # noqa: B905
            found[place] &= a[near] <= here
    return found


def scaled(x):
    out = np.zeros((len(x), 3))
    for i in range(len(x)):
        a, b, c = tuple(x[i] * k for k in (1, 2, 3))
        low = [min(v, 0.5) for v in (a, b, c)]
        out[i] = low[::-1]
        if all(v > 0 for v in low):
            out[i, 0] += sum(v * w for v, w in zip(low, (1, 2, 3), strict=True))
    return out


def spread_of_neighbours(a):
    out = np.zeros_like(a)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            near = [a[(i + di) % a.shape[0], (j + dj) % a.shape[1]] for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1))]
            out[i, j] = max(near) - min(near) + sorted(near)[1]
    return out


def peaks(a):
    n = 0
    for place in np.ndindex(*a.shape):
        after = tuple((p + 1) % s for p, s in zip(place, a.shape, strict=True))
        before = tuple(p - 1 if p > 0 else s - 1 for p, s in zip(place, a.shape, strict=True))
        n += a[after] > a[place] and a[before] > a[place]
    return n


def squares_of_middles(p):
    total = 0.0
    for i in range(len(p) - 1):
        middle = [(p[i, k] + p[i + 1, k]) / 2 for k in range(3)]
        total += np.array([v * v for v in middle]).sum()
    return total


def numbered(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        weights = [k * v for k, v in enumerate((x[i], 2.0, 3), 1)]
        out[i] = weights[0] + weights[2] * tuple(reversed((1, 2)))[0]
    return out


def of_whole_numbers(x):
    total = 0
    for v in x:
        kept = [v % k for k in (2, 3, 5)]
        total += sum(kept) * max(kept) + min(kept)
    return total


def shadowed(x):
    """The variables of a comprehension are its own."""
    total, k = 0.0, 10
    for i in range(len(x)):
        pair = [x[i] * k for k in (1, 2)]
        total += pair[1] + k
    return total


PROGRAMS = [
    (maxima, (RNG.standard_normal((7, 6)), True)),
    (maxima, (RNG.integers(0, 5, (7, 6)), False)),
    (scaled, (RNG.standard_normal(20),)),
    (spread_of_neighbours, (RNG.standard_normal((6, 7)),)),
    (peaks, (RNG.standard_normal((5, 4, 3)),)),
    (squares_of_middles, (RNG.standard_normal((9, 3)),)),
    (numbered, (RNG.standard_normal(9),)),
    (of_whole_numbers, (RNG.integers(-50, 50, 30),)),
    (shadowed, (RNG.standard_normal(9),)),
]


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_a_loop_with_comprehensions_is_one_step(function: Any, arguments: tuple) -> None:
    compiled = wb.jit(function)
    for _ in range(2):
        assert_same(compiled(*arguments), function(*arguments), max_ulp=16)
    assert not compiled.fallbacks
    assert loops_of(compiled)


def of_windows(x):
    out = np.zeros((max(len(x) - 4, 0), 4))
    for i in range(len(x) - 4):
        window = sorted([x[i + k] for k in range(5)])
        out[i] = window[0], window[2], max(window), min(window)
    return out


@given(hnp.arrays(np.float64, st.integers(7, 12), elements=st.sampled_from([0.0, -0.0, 1.0, -1.0, np.inf, 2.5])))
def test_sorted_numbers_are_pythons(x: np.ndarray) -> None:
    found, expected = COMPILED(x), of_windows(x)
    assert_same(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_sorted_numbers_with_nan_are_in_pythons_order_or_left_to_it() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.choice([np.nan, 1.0, 2.0, 3.0], 9)
        assert_same(COMPILED(x), of_windows(x))


COMPILED = wb.jit(of_windows)


def weight(r: Any, h: Any) -> Any:
    q = r / h
    if q < 1:
        return 1 - 1.5 * q * q + 0.75 * q**3
    elif q < 2:
        return 0.25 * (2 - q) ** 3
    return 0.0


def halvings(n: Any) -> Any:
    k = 0
    while n > 1.0:
        n *= 0.5
        k += 1
    return k


ARRAYS = [
    lambda x: np.array([v * v + 1 for v in x]),
    lambda x: np.array([x[i] * x[i + 1] for i in range(len(x) - 1)]),
    lambda x: np.array([v if v > 0 else 0.0 for v in x]),
    lambda x: np.array([max(min(v, 1.0), -1.0) for v in x]),
    lambda x: np.array([weight(abs(v), 0.3) for v in x]),
    lambda x: np.array([halvings(abs(v) * 100) for v in x]),
    lambda x: np.asarray([a * b - i for i, (a, b) in enumerate(zip(x, x[::-1], strict=True))]),
    lambda x: np.array([v > 0 for v in x]),
    lambda x: np.array([int(v * 10) for v in x], dtype=float),
    lambda x: np.array([np.sum(x[:3] * v) for v in x]),
    lambda x: np.array([k for k in range(3, 40, 2)]) + x[0],  # noqa: C416
    lambda x: np.array([r.sum() for r in x.reshape(-1, 2)]),
]
FOLDS = [
    lambda x: sum(v * v for v in x),
    lambda x: sum(v for v in x if v > 0),
    lambda x: max(abs(v) for v in x),
    lambda x: (any(v > 2 for v in x), all(v > -9 for v in x)),
    lambda x: sum(weight(abs(v), 0.5) for v in x) / len(x),
    lambda x: sum(halvings(abs(v) * 9) for v in x),
    lambda x: min(v * i for i, v in enumerate(x)),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("k", range(len(ARRAYS) + len(FOLDS)))
def test_numbers_of_elements_are_as_numpys(k: int, dtype: Any) -> None:
    program = [*ARRAYS, *FOLDS][k]
    x = (np.random.default_rng(k).standard_normal(40) * 3).astype(dtype)
    compiled = wb.jit(program)
    for _ in range(2):
        assert_same(compiled(x), program(x), max_ulp=16)
    if dtype == np.float64:  # what is a float of Python's on one path has no one dtype then with others
        assert not compiled.fallbacks
        assert k in (6, 10, 11) or loops_of(compiled)  # those that are known, traced or written out


@given(hnp.arrays(np.float64, st.integers(0, 40), elements=st.sampled_from([0.0, -0.0, np.nan, np.inf, 1.5, -2.5])))
def test_arrays_of_special_values(x: np.ndarray) -> None:
    assert_same(RAMP(x), ramp(x))


def ramp(x):
    return np.array([v if v > 0 else 0.0 for v in x])


RAMP = wb.jit(ramp)


def test_what_a_comprehension_reads_stays_as_it_is() -> None:
    def program(x):
        scale = 2.0
        first = np.array([v * scale for v in x])
        scale = 3.0
        x[0] = 7.0
        second = [v * scale for v in x]
        v = 5
        return first, second, v, sum(v for v in x)

    x = np.arange(1.0, 30.0)
    compiled = wb.jit(program)
    for _ in range(2):
        assert_same(compiled(x.copy()), program(x.copy()))
    assert not compiled.fallbacks


def test_an_error_in_a_comprehension_is_pythons() -> None:
    def program(x, n):
        return np.array([x[i + n] for i in range(len(x))])

    x = np.arange(20.0)
    compiled = wb.jit(program)
    assert_same(compiled(x, 0), x)
    with pytest.raises(IndexError):
        compiled(x, 1)


def test_what_a_loop_goes_over_is_computed_once() -> None:
    def array(x):
        rest = [10, 20, 30]
        return np.array([x[i] * 2 for i in range(rest.pop())]), len(rest)

    def total(x):
        rest = [10, 20, 30]
        return sum(x[i] for i in range(rest.pop())), len(rest)

    def loop(x):
        rest, s = [10, 20, 30], 0.0
        for i in range(rest.pop()):
            s += x[i]
        return s, len(rest)

    x = RNG.standard_normal(40)
    for function in (array, total, loop):
        assert_same(wb.jit(function)(x), function(x), max_ulp=16)


def colours(adjacent, make):
    n = adjacent.shape[0]
    colour = -np.ones(n, int)
    for v in np.argsort(-adjacent.sum(axis=1), kind="stable"):
        used = set(colour[u] for u in range(n) if adjacent[v, u] and colour[u] >= 0)
        c = 0
        while c in used:
            c += 1
        colour[v] = c
    return colour


def triangles(adjacent, make):
    n, total = len(adjacent), 0
    for v in range(n):
        near = list(u for u in range(n) if adjacent[v, u])
        for i in range(len(near)):
            for j in range(i + 1, len(near)):
                total += adjacent[near[i], near[j]]
    return total


def own_set(adjacent, make):
    set = make  # noqa: A001
    total = 0
    for v in range(len(adjacent)):
        total += set(u for u in range(len(adjacent)) if adjacent[v, u])
    return total


@pytest.mark.filterwarnings("ignore:.*runs in NumPy")
@pytest.mark.parametrize("program", [colours, triangles, own_set], ids=lambda f: f.__name__)
def test_sets_and_lists_of_filtered_generators(program):
    adjacent = np.random.default_rng(8).random((30, 30)) < 0.2
    adjacent |= adjacent.T
    compiled = wb.jit(program)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(adjacent, sum), program(adjacent, sum))
    assert program is own_set or not compiled.fallbacks
