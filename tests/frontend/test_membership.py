"""`in`, `any` and `all` of numbers that only the run knows are Python's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb

SPECIAL = np.array([1.0, 2.0, np.nan, 5.0, -0.0, 3.0, np.inf])


def in_an_array(x, k):
    return k in x, k not in x[1:], [k in row for row in x[:6].reshape(2, 3)]


def in_a_tuple(x, k):
    if int(x[0]) in (1, 2, 3) and k not in [x[3], 7.0, "two", None]:
        return x * 2
    return x


def in_itself(x, k):
    v = x[2]
    return v in [v], v in (x[2], 1.0), x[2] in [x[2]], k in [k], [k] == [k]


def in_a_set(x, k):
    return k in {1, 2, 5}, x[1] in frozenset((2.0, 8.0)), x[3] in {5: "five"}, k in (), x[0] in set()


def in_a_range(x, k):
    return k in range(10), x[3] in range(9, 0, -2), x[0] * 1.5 in range(3), x[2] in range(3), k in range(0)


def in_a_loop(x, k):
    n = 0
    for i in range(40):
        if round(float(np.tanh(x[:2] * i).sum() * 3)) in (3, 6, 10):
            n += 1
    return n


def of_an_array(x, k):
    return all(x[:2] > k), any(x[:3] == k), all(x[:0]), any(v == k for v in x), all(v >= 0 for v in x)


def of_a_comprehension(x, k):
    few = [v > k for v in x[:4]]
    return all(few), any(few), any(v > k for v in x if v > 2), all(v > k for v in x if k > 0), any([]), all([k, 1])


def decides_a_branch(x, k):
    if all(v > 0 for v in x[:2]) and not any(np.isnan(v) for v in x[3:]):
        return x[:2] * k
    return None


def of_many(x, k):
    y = np.concatenate([x, x, x, x, x, x])
    return all(v >= k for v in y), any(v == k for v in y), any(np.isnan(v) for v in y.ravel())


PROGRAMS = [
    in_an_array, in_a_tuple, in_itself, in_a_set, in_a_range, in_a_loop, of_an_array, of_a_comprehension,
    decides_a_branch, of_many,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_python(program: Callable[..., Any]) -> None:
    compiled = wb.jit(program)
    for k in (np.float64(2), np.int64(7), np.uint8(5), 5, np.nan, np.float32(0.5), np.float64(-1)):
        for x in (SPECIAL, np.arange(7.0), np.full(7, -3.0)):
            mine, its = compiled(x, k), program(x, k)
            assert type(mine) is type(its)
            if isinstance(its, tuple):
                assert repr(mine) == repr(its)
            else:
                np.testing.assert_array_equal(mine, its)
    assert all(reason.code == "WB500" for reason in compiled.fallbacks), compiled.fallbacks


def counted_up_to_the_first(x):
    seen = []

    def is_large(v):
        seen.append(v)
        return v > 2

    found = any(is_large(v) for v in x[:5])
    return found, seen


def written_up_to_the_first(x):
    marks = np.zeros(5)

    def is_large(k):
        marks[k] = 1.0
        return x[k] > 2

    return any(is_large(k) for k in range(5)), marks


def an_item_that_raises(x):
    return any(x[k] > 2 for k in (0, 1, 6, 70))


@pytest.mark.parametrize("program", [counted_up_to_the_first, written_up_to_the_first, an_item_that_raises])
@pytest.mark.parametrize("x", [SPECIAL, np.arange(7.0), np.zeros(7)], ids=["special", "ascending", "zeros"])
def test_python_stops_where_it_knows_the_answer(program: Callable[..., Any], x: np.ndarray) -> None:
    try:
        expected = repr(program(x))
    except IndexError as error:
        with pytest.raises(IndexError, match="out of bounds") as caught:
            wb.jit(program)(x)
        assert str(caught.value) == str(error)
        return
    assert repr(wb.jit(program)(x)) == expected


# ---- tuples and lists that are compared ----


def of_pairs(x, k):
    p, q = (x[k], k), (x[0], 0)
    if p == q:
        return 1.0
    if p != (x[1], 1):
        return 2.0
    return 3.0


def of_what_is_the_same(x, k):
    """A NaN is equal to itself in a tuple, and to no other one."""
    y, p = x[k], (x[k], x[k])
    q = p
    found = (1 if p == q else 0) + (2 if p == (y, y) else 0) + (4 if (y, None) == (y, None) else 0)
    return (
        found
        + (8 if [y, "a"] == [y, "b"] else 0)
        + (16 if (y, 1) != (y, 1, 2) else 0)
        + (32 if (y, "a") == (y, 1) else 0)
    )


def of_nested_ones(x, k):
    p = ((x[k], 1), [x[0], (2, x[1])])
    if p == ((x[0], 1), [x[0], (2, x[1])]) and not ((x[k],) == [x[k]]):
        return x * 2
    return x


def a_walk_down(z, _):
    at, n = (3, 3), 0
    for _ in range(20):
        best, where = z[at], at
        for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            y, x = at[0] + dy, at[1] + dx
            if 0 <= y < z.shape[0] and 0 <= x < z.shape[1] and z[y, x] < best:
                best, where = z[y, x], (y, x)
        if where == at:
            break
        at = where
        n += 1
    return at, n


@pytest.mark.parametrize("function", [of_pairs, of_what_is_the_same, of_nested_ones])
@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_tuples_that_are_compared(function, k):
    x = np.array([1.0, 2.0, np.nan, 1.0])
    compiled = wb.jit(function)
    np.testing.assert_array_equal(compiled(x, np.int64(k)), function(x, k))
    assert compiled.compilations and not compiled.fallbacks


def test_a_walk_that_ends_where_it_stays():
    z = np.random.default_rng(0).random((8, 8))
    compiled = wb.jit(a_walk_down)
    assert compiled(z, 0) == a_walk_down(z, 0)
    assert compiled.compilations and not compiled.fallbacks
