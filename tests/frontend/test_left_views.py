"""Views that loops leave behind: what is written through them afterwards reaches the array."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.sources import define
from workbench.runtime.parts import functions


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


def rows_of_several(b):
    for x, y in zip(b, b[::-1]):  # noqa: B007, B905
        t = x[0] + y[1]
    for k, z in enumerate(reversed(b)):  # noqa: B007
        t += z[1]
    for (i, u), v, w in zip(enumerate(b[:, 0]), range(2), b[1:]):  # noqa: B007, B905
        t += u * v
    b *= 2
    x[0], y[1], z[2], w[0] = 9 + t, 8, 7 + k, 6 + i
    return x, y, z, w


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


VIEWS = ["b.swapaxes(0, 1)", "b.transpose()", "b.T", "b[1:]", "b[::-1, 0]", "np.flip(b)", "np.fliplr(b)", "b.reshape(-1)",
         "np.expand_dims(b, 0)", "np.moveaxis(b, 0, 1)", "b.T[1:].T", "b.real", "b.conj()", "b[None]", "b.ravel()", "b"]  # fmt: skip
LOOPS = {
    "each time": "for k in range(len(b)):\n        t = {}\n",
    "on a path": "for k in range(len(b)):\n        if b[k, 0] >= 0:\n            t = {}\n",
    "while": "k = 0\n    while k < 3:\n        k += 1\n        t = {}\n",
    "with a row": "for x in b:\n        k = 1\n        t = {}\n        u = x[0]\n",
}
LATER = ["t[0] += 7", "b[0] += 7", "b *= 2\n    t -= t"]


def same_view_each_time(view, loop, later):
    text = f"def program(b):\n    {LOOPS[loop].format(view)}    {later}\n    return t\n"
    return define(text, "program", f"<{loop} {view} {later}>")


PROGRAMS = [
    rows,
    rows_of_a_part,
    rows_of_several,
    picked,
    columns,
    pairs,
    backwards,
    broken_off,
    rebound,
    counted,
    none_at_all,
]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("view", VIEWS)
def test_the_same_view_each_time(view, loop):
    for later in LATER:
        program = same_view_each_time(view, loop, later)
        compiled = wb.jit(program)
        for order in "CF":
            for _ in range(2):
                found, expected = (np.arange(9.0).reshape(3, 3).copy(order) for _ in range(2))
                result, right = compiled(found), program(expected)
                np.testing.assert_array_equal(result, right)
                np.testing.assert_array_equal(found, expected)
                assert np.shares_memory(result, found) == np.shares_memory(right, expected)
        assert all(reason.code != "WB903" for reason in compiled.fallbacks)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("view", VIEWS)
def test_the_same_view_returned(view, loop):
    program = same_view_each_time(view, loop, "pass")
    compiled = wb.jit(program)
    for order in "CF":
        found, expected = (np.arange(9.0).reshape(3, 3).copy(order) for _ in range(2))
        result, right = compiled(found), program(expected)
        np.testing.assert_array_equal(result, right)
        assert np.shares_memory(result, found) == np.shares_memory(right, expected)
        assert result.strides == right.strides or 1 in right.shape
    assert view not in VIEWS[:4] or not compiled.fallbacks


def best_row(b):
    best, least = b[0], b[0, 1]
    for i in range(1, len(b)):
        if b[i, 1] <= least:
            best, least = b[i], b[i, 1]
    return best


def row_at_an_extreme(b):
    return b[np.argmin(b[:, 1])], b[:, np.argmax(b[-1])]


def row_where_it_ends(b):
    for i in range(len(b)):
        row = b[i]
        row[0] += 1
        if row[1] > 10:
            break
    return row


def column_by_turns(b):
    j = 1
    for _ in range(len(b)):
        column = b[:, j]
        column[0] += j
        j = (2 * j + 1) % 3
    return column


@pytest.mark.parametrize("n", [3, 9, 40])
@pytest.mark.parametrize(
    "program", [best_row, row_at_an_extreme, row_where_it_ends, column_by_turns], ids=lambda f: f.__name__
)
def test_what_is_returned_lies_where_it_was_found(program, n):
    """At an index that is known when the program has run."""
    compiled = wb.jit(program)
    for start in range(3):
        found, expected = ((np.arange(3.0 * n).reshape(n, 3) + 7 * start) % 17 for _ in range(2))
        several, right = (x if isinstance(x, tuple) else (x,) for x in (compiled(found), program(expected)))
        for k, (a, b) in enumerate(zip(several, right, strict=True)):
            np.testing.assert_array_equal(a, b)
            assert a.strides == b.strides and np.shares_memory(a, found) and np.shares_memory(b, expected)
            a[-1] = b[-1] = 100 + k
        np.testing.assert_array_equal(found, expected)
    assert not compiled.fallbacks


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_in_parts_too(program, monkeypatch):
    monkeypatch.setattr(functions, "WORTH_MS", 0)
    compiled = wb.jit(program)
    for _ in range(6):
        found, expected = (np.arange(15.0).reshape(5, 3) % 17 for _ in range(2))
        np.testing.assert_equal(compiled(found), program(expected))
        np.testing.assert_array_equal(found, expected)


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


def rows_by_library_calls(a, b):
    for x in b.T:  # noqa: B007  # it is used afterwards
        np.cumsum(a, axis=0, out=a)
    return x


def rows_before(a, b):
    x = y = b[0]
    for i in range(len(b)):
        y = x
        np.cumsum(a, axis=0, out=a)
        x = b[i]
    return x, y


def row_that_a_branch_keeps(a, b):
    x = b[0]
    for i in range(len(a)):
        np.cumsum(a, axis=0, out=a)
        if b[i, 0] > 1:
            x = b[i]
    return x


def parts_of_rows_in_two_loops(a, b):
    for i in range(len(a)):
        np.cumsum(a, axis=0, out=a)
        for j in range(3):
            np.cumsum(a, axis=0, out=a)
            x = b[i, j:]
    return x


def row_at_an_index_of_a_branch(a, b):
    x = b[0]
    if a[0, 0] >= 0:
        x = b[np.argmax(a[:, 1])]
    return x


@pytest.mark.parametrize(
    "program",
    [rows_by_library_calls, rows_before, row_that_a_branch_keeps, parts_of_rows_in_two_loops,
     row_at_an_index_of_a_branch],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_what_traced_loops_and_branches_take_is_returned_as_a_view(program):
    compiled = wb.jit(program)
    for _ in range(2):
        found, expected = ([np.arange(20).reshape(4, 5), np.arange(20).reshape(4, 5) % 7] for _ in range(2))
        several, right = (x if isinstance(x, tuple) else (x,) for x in (compiled(*found), program(*expected)))
        for k, (a, b) in enumerate(zip(several, right, strict=True)):
            np.testing.assert_array_equal(a, b)
            a[...] = b[...] = 100 + k
        np.testing.assert_equal(found, expected)
    assert bool(compiled.fallbacks) == (program is row_at_an_index_of_a_branch)
