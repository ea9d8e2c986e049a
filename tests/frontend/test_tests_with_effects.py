"""Loops whose tests change what they look at: NumPy's results, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same


class Plate:
    def __init__(self, n: int):
        self.u = np.zeros((n, n))
        self.history: list[Any] = []
        self.k = 0

    def step(self) -> Any:
        u = self.u
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        error = np.abs(new - u).max()
        self.u = new
        self.history.append(error)
        self.k += 1
        return error


def relaxed(n, tolerance):
    plate = Plate(n)
    plate.u[0] = 1.0
    k = 0
    while plate.step() > tolerance and k < 60:
        k += 1
    return plate.u, k, plate.k, len(plate.history)


def with_continue(n, tolerance):
    plate = Plate(n)
    plate.u[0] = 1.0
    even = 0
    while plate.step() > tolerance:
        if plate.k % 2:
            continue
        even += 1
        if even > 20:
            break
    return plate.u.sum(), even


def without_method(n, tolerance):
    """What the test calls changes nothing."""
    x, k = np.linspace(1.0, 2.0, n), 0
    while np.linalg.norm(x) > tolerance * 1e6:
        x = x * 0.5
        k += 1
    return x, k


@pytest.mark.parametrize("program", [relaxed, with_continue, without_method])
def test_a_test_may_change_an_object(program: Any) -> None:
    compiled = wb.jit(program)
    for tolerance in (1e-3, 1e-2):
        assert_same(compiled(12, tolerance), program(12, tolerance), max_ulp=64)
    assert not compiled.fallbacks
