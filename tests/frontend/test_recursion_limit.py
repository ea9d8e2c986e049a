"""Recursion through branches on traced values: given up soon, and run in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

import workbench as wb
from tests.compare import assert_same


def queens(n: int) -> Any:
    columns = np.zeros(n, dtype=np.int64)
    solutions = []

    def is_safe(row: int) -> bool:
        for k in range(row):
            if columns[k] == columns[row] or abs(columns[k] - columns[row]) == row - k:
                return False
        return True

    def place(row: int) -> None:
        if row == n:
            solutions.append(columns.copy())
            return
        for c in range(n):
            columns[row] = c
            if is_safe(row):
                place(row + 1)

    place(0)
    return len(solutions)


def test_recursion_in_branches_is_given_up_before_it_is_long() -> None:
    compiled = wb.jit(queens)
    assert_same(compiled(8), queens(8))
    assert compiled.fallbacks[0].code == "WB185"


def transform(x: np.ndarray) -> np.ndarray:
    n = len(x)
    if n == 1:
        return x
    even, odd = transform(x[::2]), transform(x[1::2])
    turned = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate([even + turned, even - turned])


def test_recursion_is_written_out_up_to_a_limit() -> None:
    rng = np.random.default_rng(0)
    for n, is_written_out in ((32, True), (512, False)):
        compiled = wb.jit(transform)
        x = rng.standard_normal(n) + 0j
        assert_same(compiled(x), transform(x), reduction_scale=np.abs(x).sum())
        assert [reason.code for reason in compiled.fallbacks] == [] if is_written_out else ["WB185"]


def bisected(x: np.ndarray, low: int, high: int) -> Any:
    return x[low] if high - low == 1 else bisected(x, low, (low + high) // 2) + bisected(x, (low + high) // 2, high)


def test_a_long_program_may_call_recursion_often() -> None:
    def often(x: np.ndarray) -> np.ndarray:
        for _ in range(250):
            x = x * 0.5 + bisected(x, 0, 8)
        return x

    compiled, x = wb.jit(often), np.arange(8.0)
    assert_same(compiled(x), often(x))
    assert not compiled.fallbacks


def adaptive(a: Any, b: Any) -> Any:
    def f(x: Any) -> Any:
        return np.sin(10 * x) * np.exp(-x)

    def integral(a: Any, b: Any, whole: Any, depth: int) -> Any:
        m = (a + b) / 2
        left, right = (m - a) * f((a + m) / 2), (b - m) * f((m + b) / 2)
        if depth > 20 or abs(left + right - whole) < 1e-6:
            return left + right, 2  # a pair is more than a step's recursion gives
        first, n = integral(a, m, left, depth + 1)
        second, k = integral(m, b, right, depth + 1)
        return first + second, n + k

    return integral(a, b, (b - a) * f((a + b) / 2), 0)


def test_recursion_of_one_equation_each_is_given_up_as_well() -> None:
    """Each branch is short, but there would be two million."""
    compiled = wb.jit(adaptive)
    a, b = np.float64(0.0), np.float64(3.0)
    assert_same(compiled(a, b), adaptive(a, b))
    assert compiled.fallbacks[0].code == "WB185"
