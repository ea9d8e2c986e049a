"""Python floats that sizes are computed from: constants of a version, as ints are, until they take too many values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from workbench.runtime import dispatch


def diffuse(length: float, dx: float, steps: int, alpha: float) -> Any:
    n = int(length / dx) + 1
    x = np.linspace(0, length, n)
    u = np.zeros(n)
    u[n // 2] = 1.0
    for _ in range(steps):
        u[1:-1] += alpha * (u[2:] - 2 * u[1:-1] + u[:-2])
    return x, u


def inside(box: float, cutoff: float, x: Any) -> Any:
    def cells(x: Any) -> Any:
        n = int(box // cutoff)
        counts = np.zeros(n, dtype=np.int64)
        for i in range(len(x)):
            counts[int(x[i] / box * n)] += 1
        return counts

    return cells(x) + cells(1.0 - x)


@pytest.mark.parametrize("dx", [0.1, 0.025])
def test_sizes_of_floats_compile(dx: float) -> None:
    compiled = wb.jit(diffuse)
    for alpha in (0.1, 0.2):
        assert_same(compiled(2.0, dx, 40, alpha), diffuse(2.0, dx, 40, alpha), max_ulp=4)
    assert not compiled.fallbacks


def test_sizes_of_floats_compile_in_inner_functions() -> None:
    compiled, x = wb.jit(inside), np.linspace(0, 0.999, 70)
    assert_same(compiled(1.0, 0.13, x[1:]), inside(1.0, 0.13, x[1:]))
    assert_same(compiled(1.0, 0.2, x[1:]), inside(1.0, 0.2, x[1:]))
    assert not compiled.fallbacks


def test_math_of_floats_compiles() -> None:
    def angles(width: float, x: Any) -> Any:
        return x[: math.ceil(width)] * 2

    compiled, x = wb.jit(angles), np.arange(9.0)
    for width in (2.5, -0.0, 0.0, 7.1):
        assert_same(compiled(width, x), angles(width, x))
    assert not compiled.fallbacks


def test_floats_of_too_many_values_are_traced_again() -> None:
    compiled = wb.jit(diffuse)
    for k in range(dispatch.MOST_PINNED + 4):
        alpha = 0.1 + 0.01 * k
        assert_same(compiled(1.0, 0.1, 20, alpha), diffuse(1.0, 0.1, 20, alpha), max_ulp=4)
    assert compiled.n_traces <= dispatch.MOST_PINNED + 2
    assert len(compiled.fallbacks) == 1


def test_strict_refuses_a_size_of_a_float() -> None:
    with pytest.raises(wb.errors.TracerIntegerConversionError):
        wb.jit(diffuse, strict=True)(1.0, 0.1, 3, 0.1)


def test_a_size_of_an_element_stays_refused() -> None:
    def some(x: Any, scale: float) -> Any:
        return np.zeros(int(x[0] * scale)) + x.sum()

    compiled, x = wb.jit(some), np.array([3.0, 1.0])
    assert_same(compiled(x, 2.0), some(x, 2.0))
    assert len(compiled.fallbacks) == 1 and compiled.n_traces == 1
