"""`np.vectorize`: a loop over the elements, with NumPy's rules for dtypes and shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

RNG = np.random.default_rng(8)


def root_or_square(t):
    return t**2 if t < 3 else math.sqrt(t)


def divisor(a, b):
    while b:
        a, b = b, a % b
    return a


@np.vectorize
def partial_sum(t, k):
    total = 0.0
    for i in range(1, 20):
        total += math.sin(i * t) / i**k
        if total > 2:
            break
    return total


def made_inside(x):
    return np.vectorize(root_or_square)(x)


def decorated(x):
    return partial_sum(x, 2), partial_sum(x.reshape(-1, 1), np.arange(1, 4))


def two_arguments(x):
    whole = (x * 100).astype(int)
    return np.vectorize(divisor)(whole, whole[::-1] + 7)


def given_types(x):
    cut = np.vectorize(lambda t: 0 if t < 1 else t, otypes=[np.float64])
    return cut(x), cut(x)[:2] * 2


def bools_and_scalars(x):
    above = np.vectorize(lambda t: t > 1)
    return above(x), above(x[0]), above(2.5), above([x[0], 3.0])


def decorator_with_options(x):
    @np.vectorize(otypes="f")
    def halved(t):
        return t / 2

    return halved(x)


def called_by_a_loop(x):
    total = np.zeros(3)
    wave = np.vectorize(lambda t: t if t > 2 else -t)
    for k in range(3):
        total[k] = wave(x * (k + 1.0)).sum()
    return total


PROGRAMS = [made_inside, decorated, two_arguments, given_types, bools_and_scalars, decorator_with_options,
            called_by_a_loop]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_functions_of_elements(program: Callable[..., Any], dtype: Any) -> None:
    compiled = wb.jit(program)
    for n in (8, 300):
        x = (RNG.random(n) * 6).astype(dtype)
        for _ in range(2):
            found, expected = compiled(x), program(x)
            found, expected = (r if isinstance(r, tuple) else (r,) for r in (found, expected))
            for mine, its in zip(found, expected, strict=True):
                assert_same(mine, its, max_ulp=8) if its.dtype.kind != "f" else _assert_close(mine, its)
    # With which type the first element comes back decides; float32 has it depend on the branch here.
    assert not compiled.fallbacks or dtype is np.float32 and program is made_inside


def _assert_close(mine: Any, its: Any) -> None:
    assert type(mine) is type(its) and mine.dtype == its.dtype
    np.testing.assert_allclose(mine, its, rtol=1e-6, atol=1e-6)


def test_few_elements() -> None:
    for x in (np.array([2.0]), np.array([[5.0, 1.0]]), np.array(4.0)):
        compiled = wb.jit(made_inside)
        assert_same(compiled(x), made_inside(x))
        assert not compiled.fallbacks


def two_results(x):
    return np.vectorize(lambda t: (t, t * 2))(x)


def with_keywords(x):
    return np.vectorize(lambda t, p=2: t**p)(x, p=3)


def type_of_the_first(x):
    return np.vectorize(lambda t: 0 if t < 1 else t)(x)


@pytest.mark.parametrize("program", [two_results, with_keywords, type_of_the_first], ids=lambda f: f.__name__)
def test_what_is_left_to_numpy(program: Callable[..., Any]) -> None:
    compiled = wb.jit(program)
    for x in (np.array([0.5, 2.0]), np.array([2.0, 0.5])):
        assert_same(np.array(compiled(x)), np.array(program(x)))
    assert compiled.fallbacks


def test_nothing_to_call_it_for() -> None:
    compiled = wb.jit(made_inside)
    with pytest.raises(ValueError, match="size 0"):
        compiled(np.zeros(0))
    assert_same(wb.jit(decorator_with_options)(np.zeros((0, 2))), decorator_with_options(np.zeros((0, 2))))


def test_errors_of_the_function() -> None:
    def program(x):
        return np.vectorize(lambda t: math.sqrt(t))(x)

    compiled = wb.jit(program)
    compiled(np.ones(9))
    with pytest.raises(ValueError, match="math domain|nonnegative"):
        compiled(np.array([1.0, -1.0, 2.0]))
