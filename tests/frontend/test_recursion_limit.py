"""Recursion through branches on traced values: given up soon, and run in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

import workbench as wb
from tests.compare import assert_same


def queens(n: int) -> Any:
    columns = np.zeros(n, dtype=np.int64)
    count = 0

    def is_safe(row: int) -> bool:
        for k in range(row):
            if columns[k] == columns[row] or abs(columns[k] - columns[row]) == row - k:
                return False
        return True

    def place(row: int) -> None:
        nonlocal count
        if row == n:
            count += 1
            return
        for c in range(n):
            columns[row] = c
            if is_safe(row):
                place(row + 1)

    place(0)
    return count


def test_recursion_in_branches_is_given_up_before_it_is_long() -> None:
    compiled = wb.jit(queens)
    assert_same(compiled(8), queens(8))
    assert compiled.fallbacks[0].code == "WB185"
