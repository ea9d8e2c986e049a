"""Items of lists and tuples at indices that only the run knows are Python's."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

TABLE = [0, 1, 1, 0, 1, 0, 0, 1]
MOVES = [(-1, 0), (0, 1), (1, 0), (0, -1)]


def rule(x, n):
    for _ in range(n):
        y = x.copy()
        for k in range(1, len(x) - 1):
            y[k] = TABLE[4 * x[k - 1] + 2 * x[k] + x[k + 1]]
        x = y
    return x


def walk(x, n):
    i = j = 0
    grid = np.zeros((5, 5), int)
    for k in range(n):
        d = (x[k % len(x)] + grid[i, j]) % 4
        grid[i, j] += 1
        i = (i + MOVES[d][0]) % 5
        j = (j + MOVES[d][1]) % 5
    return grid, i, j


def one_of_three_arrays(x, n):
    rows = [x, x * 2, x + n]
    row = rows[x[0] % 3 - 1]
    return row.sum() + row, rows[int(np.argmax(x)) % 3]


def kinds_of_numbers(x, n):
    k = x[0]
    return [1.5, 2.5][k], (1, 2)[k], [True, False][k], [np.float32(1), np.float32(2)][k], [np.int8(3), np.int8(4)][k]


def words(x, n):
    word = ("low", "high", "low", "none")[int(np.argmax(x)) % 4]
    return word, word == "low", [None, "a"][x[0] % 2] is None


def traced_items(x, n):
    totals = [x.sum(), x.max(), x.min()]
    return totals[x[1] % 3], (totals[0] * 2, 3.0 * n)[0]


def of_several_types(x, n):
    return [1, 2.5, None][x[0] % 3], [x, x[:1]][x[0] % 2], [[1], [2]][x[1] % 2]


PROGRAMS = [rule, walk, one_of_three_arrays, kinds_of_numbers, words, traced_items, of_several_types]


def outcome(program, x, n):
    x = x.copy()
    try:
        with np.errstate(over="ignore"):
            return program(x, n), x
    except IndexError as error:
        return str(error), x


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16])
def test_items_are_pythons(program, dtype):
    compiled = wb.jit(program)
    for values in (
        [0, 1, 1, 0, 1, 0, 1, 1],
        [1, 0, 0, 1, 0, 1, 0, 1],
        [3, 0, 1, 1, 0, 0, 1, 0],
        [-1, 1, 0, 1, 0, 0, 0, 0],
    ):
        x = np.array(values).astype(dtype)
        for n in (1, 40):
            assert_same(outcome(compiled, x, n), outcome(program, x, n))
    if program in (rule, walk, one_of_three_arrays, words):
        assert not [reason for reason in compiled.fallbacks if reason.code != "WB500"]


def test_an_item_that_is_an_array_may_be_an_argument():
    compiled = wb.jit(lambda x, y, k: [x, y][k[0]])
    x, y = np.ones(3), np.zeros(3)
    assert (
        compiled(x, y, np.array([0])) is x
        and compiled(x, y, np.array([1])) is y
        and compiled(x, y, np.array([-2])) is x
    )


def test_writes_into_one_of_several_arrays_are_left_to_numpy():
    def program(x, y, k):
        row = [x, y][k[0]]
        row += 1
        return row.sum()

    compiled = wb.jit(program)
    x, y = np.ones(3), np.zeros(3)
    for k in (0, 1, 1):
        compiled(x, y, np.array([k]))
    assert x.tolist() == [2, 2, 2] and y.tolist() == [2, 2, 2]
