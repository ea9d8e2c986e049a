"""Views that loops leave behind: what is written through them afterwards reaches the array."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb


def rows(b):
    for y in b:  # noqa: B007  # it is used afterwards
        t = 1
    b %= 3
    y[0] = 9 + t
    return y


def rows_of_a_part(b):
    for x in b[1:]:
        x[0], x[-1] = x[-1], x[0]
    for y in b.T:
        y[0] += 1
    x[1] = 8
    y[-1] = 7
    return x, y


def picked(b):
    for k in range(1, len(b) - 1):
        row = b[k]
        row += 1
    row[0] = -5
    return row


def columns(b):
    total = 0.0
    for j in range(b.shape[1]):
        column = b.T[j, ::2]
        total += column[0] * j
    column[:] = total
    return column


def pairs(b):
    for i in range(len(b) - 1):
        pair = b[i : i + 2]
        first = pair[0]
        pair[1, 0] = pair[0, 0] + 1
    first[1] = 77
    pair[1, 2] = 78
    return first, pair


def backwards(b):
    for i in range(len(b) - 1, -1, -1):
        row = b[i]
        row[0] = row[1] * i
    row *= 2
    return row


def broken_off(b):
    for i in range(len(b)):
        row = b[i]
        row[0] += 1
        if row[1] > 10:
            break
    return row + i


def rebound(b):
    row = b[0]
    for i in range(len(b)):
        row = b[i] if i % 2 else b[0]
        row[1] += i
    row[2] = -1
    return row.sum()


def counted(b):
    k = 0
    for _ in range(len(b)):
        row = b[k]
        row[0] += k
        k = (k + 2) % len(b)
    row[2] = -3
    return row.sum() + k


def none_at_all(b):
    row = b[0]
    for i in range(0):
        row = b[i]
    row[0] = 4
    return row


PROGRAMS = [rows, rows_of_a_part, picked, columns, pairs, backwards, broken_off, rebound, counted, none_at_all]


@pytest.mark.parametrize("n", [3, 4, 9, 40])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_is_written_later_reaches_the_array(program, n):
    compiled = wb.jit(program)
    for _ in range(3):
        found, expected = (np.arange(3.0 * n).reshape(n, 3) % 17 for _ in range(2))
        result, right = compiled(found), program(expected)
        np.testing.assert_equal(result, right)
        np.testing.assert_array_equal(found, expected)
        for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (result, right)), strict=True):
            if isinstance(b, np.ndarray):
                assert np.shares_memory(a, found) == np.shares_memory(b, expected)
