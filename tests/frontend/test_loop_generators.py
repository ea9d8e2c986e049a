"""Folds of generators in loops that are translated: loops of their own, with NumPy's results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

RNG = np.random.default_rng(3)
VECTOR = RNG.standard_normal(300)
MATRIX = RNG.standard_normal((80, 80))
POSITIVE = MATRIX @ MATRIX.T + 90 * np.eye(80)


def prefix_products(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = 1.0 + sum(x[j] * x[i - j] for j in range(i) if x[j] > 0)
    return y


def cholesky(a):
    n = len(a)
    low = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = sum(low[i, k] * low[j, k] for k in range(j))
            if i == j:
                low[i, j] = np.sqrt(a[i, i] - s)
            else:
                low[i, j] = (a[i, j] - s) / low[j, j]
    return low


def peaks(x):
    n, found = len(x), 0
    for i in range(n):
        if all(x[j] <= x[i] for j in range(max(0, i - 3), min(n, i + 4))):
            found += 1
        elif any(x[j] > 3 for j in range(i)):
            found += 100
    return found


def windows(x):
    low, high = np.zeros(len(x)), np.zeros(len(x))
    for i in range(len(x)):
        high[i] = max(x[j] for j in range(max(0, i - 5), i + 1))
        low[i] = abs(min(x[j] - x[i] for j in range(i, len(x)))) + high[i]
    return low, high


def two_loops(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        out[i] = sum(a[i, j] * a[k, j] for j in range(9) for k in range(j) if k != i)
    return out


def of_a_function(x):
    def weight(i):
        return sum(x[k] for k in range(i, min(i + 4, len(x)))) / 4

    out = np.zeros(len(x))
    for i in range(len(x)):
        j = 7
        out[i] = sum(weight(j) * x[i] for j in range(3)) + j
        if i % 2:
            out[i] = weight(i)
    return out


@pytest.mark.parametrize(
    "program, argument",
    [
        (prefix_products, VECTOR), (cholesky, POSITIVE), (peaks, VECTOR), (windows, VECTOR), (two_loops, MATRIX),
        (of_a_function, VECTOR),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_folds_of_generators_in_loops(program: Callable[..., Any], argument: np.ndarray) -> None:
    compiled = wb.jit(program)
    assert_same(compiled(argument), program(argument), reduction_scale=1e4)
    assert not compiled.fallbacks
    assert sum(eqn.primitive.name == "loop" for eqn in wb.make_jaxpr(program)(argument).eqns) == 1


def test_the_largest_of_nothing_raises() -> None:
    def program(x):
        for i in range(len(x)):
            x[i] = max(x[j] for j in range(i))
        return x

    compiled = wb.jit(program)
    for f in (program, compiled):
        with pytest.raises(ValueError, match="empty"):
            f(np.ones(200))


def test_a_name_that_is_no_builtin_there() -> None:
    def sum(items):  # noqa: A001
        return max(items)

    def program(x):
        y = np.zeros(len(x))
        for i in range(1, len(x)):
            y[i] = sum(x[j] for j in range(i))
        return y

    assert_same(wb.jit(program)(VECTOR[:50]), program(VECTOR[:50]))


def pair_of_a_tuple(a):
    s = 0
    for v in a:
        s, k = (1.5, 1) if v > 2 else (s, 2)
    return s, np.ones(2, np.int8) * s, k


def number_of_a_helper(a):
    s = 5

    def step(s, v):
        if v > 2:
            return s / 2
        return s * 3

    for v in a:
        s = step(s, v)
    return s


@pytest.mark.parametrize("program", [pair_of_a_tuple, number_of_a_helper])
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_ints_that_are_floats_on_another_path_stay_ints(program, value) -> None:
    a = np.full(37, value)
    found, expected = wb.jit(program)(a), program(a)
    assert_same(found, expected)
    assert type(found) is type(expected)
