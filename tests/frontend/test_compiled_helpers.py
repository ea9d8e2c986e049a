"""Loops that call functions which somebody compiles, numba or the workbench: they are part of the loop's machine code."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from numba import prange

import workbench as wb
from tests.compare import assert_same

from .test_loops import loops_of

RNG = np.random.default_rng(0)
FACTOR = 0.5


def halved(a: Any, b: Any) -> Any:
    total = 0.0
    while a > 1e-3:
        a *= b * FACTOR
        total += a
    return total


def with_steps(a: Any) -> Any:
    n = 0
    while a > 1.0:
        a = a * 0.5
        n += 1
    return a, n


KINDS = {"plain": lambda f: f, "numba": numba.njit, "workbench": wb.jit}


def both(f: Any, g: Any) -> Any:
    def program(x):
        out, steps = np.empty_like(x), 0
        for i in range(len(x)):
            rest, n = g(x[i] * 9)
            out[i] = f(x[i], 0.9) + rest
            steps += n
        return out, steps

    return program


@pytest.mark.parametrize("kind", KINDS)
def test_a_helper_is_part_of_the_loop(kind: str) -> None:
    program = both(KINDS[kind](halved), KINDS[kind](with_steps))
    x = np.abs(RNG.standard_normal(40))
    compiled = wb.jit(program)
    for _ in range(2):
        assert_same(compiled(x), program(x), max_ulp=4)
    assert not compiled.fallbacks
    assert len(loops_of(compiled)) == 1


@numba.njit
def ratio(n: Any, k: Any) -> Any:
    return n // k


@numba.njit
def twice_ratio(n: Any, k: Any) -> Any:
    return ratio(n, k) * 2 + n


def test_numbas_numbers_are_pythons_outside() -> None:
    def program(x):
        found = []
        total = 0
        for v in x:
            total += twice_ratio(v, 3)
            found.append(ratio(v, 2))
        return total, found

    x = np.arange(-20, 20)
    compiled = wb.jit(program)
    found, expected = compiled(x), program(x)
    assert_same(found, expected)
    assert type(found[0]) is type(expected[0]) and {type(v) for v in found[1]} == {type(v) for v in expected[1]}
    assert not compiled.fallbacks


def test_what_a_helper_reads_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    program = both(wb.jit(halved), wb.jit(with_steps))
    x = np.abs(RNG.standard_normal(10))
    compiled = wb.jit(program)
    assert_same(compiled(x), program(x), max_ulp=4)
    monkeypatch.setitem(globals(), "FACTOR", 0.25)
    assert_same(compiled(x), both(halved, with_steps)(x), max_ulp=4)


@wb.jit
def sort(a: Any, low: Any, high: Any) -> None:
    if low >= high:
        return
    pivot, i, j = a[(low + high) // 2], low, high
    while i <= j:
        while a[i] < pivot:
            i += 1
        while a[j] > pivot:
            j -= 1
        if i <= j:
            a[i], a[j] = a[j], a[i]
            i += 1
            j -= 1
    sort(a, low, j)
    sort(a, i, high)


@wb.jit
def fibonacci(n: Any) -> Any:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@numba.njit
def ackermann(m: Any, n: Any) -> Any:
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def test_a_compiled_function_calls_itself() -> None:
    x = RNG.standard_normal(60)
    expected = np.sort(x)
    sort(x, 0, 59)
    assert_same(x, expected)
    assert fibonacci(np.int64(14)) == 377
    program = wb.jit(lambda n: ackermann(2, n))
    assert program(np.int64(3)) == 9
    assert not sort.fallbacks and not fibonacci.fallbacks and not program.fallbacks


def kernel(r: Any, h: Any) -> Any:
    q = r / h
    if q < 1:
        return 1 - 1.5 * q * q + 0.75 * q**3
    elif q < 2:
        return 0.25 * (2 - q) ** 3
    return 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_fold_of_a_function_with_branches_is_a_loop(kind: str) -> None:
    """Some of its results are floats of Python's, so that they are no array."""
    weight = KINDS[kind](kernel)

    def program(x):
        return sum(weight(v, 0.3) for v in x), max(weight(v, 0.3) for v in x if v > 0.1)

    x = np.abs(RNG.standard_normal(30))
    compiled = wb.jit(program)
    for _ in range(2):
        assert_same(compiled(x), program(x), max_ulp=64)
    assert not compiled.fallbacks


@numba.njit(parallel=True)
def weighted(x: Any) -> Any:
    out = np.empty_like(x)
    for i in numba.prange(len(x)):
        total = 0.0
        for k in range(6):
            total += x[i] * k
        out[i] = total
    return out


def test_prange_is_range() -> None:
    def program(x):
        n = int(x.argmax()) + 1
        total = 0.0
        for i in prange(n):
            total += x[i]
        return weighted(x) * 2, total

    x = RNG.standard_normal(30)
    compiled = wb.jit(program)
    for _ in range(2):
        assert_same(compiled(x), program(x), max_ulp=64)
    assert not compiled.fallbacks
    assert len(loops_of(compiled)) == 2
