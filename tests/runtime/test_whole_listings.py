"""Functions that run whole: places in lists, `map`, items as tuples, Python's rounding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.runtime.test_whole_unpacking import check, check_raises
from workbench.codegen.loops.numbers import round_of_python
from workbench.runtime.parts.whole_functions import WholeFunction

X = np.array([1.5555, 2.25, 1.25])
M = np.array([[1.0, 2], [3, -4], [5, 6.5]])


# ---- rounding ----


def rounded(x, n):
    y = [1.234, 5.678]
    y.append(float(x[0]))
    return round(y[0] * 3, 2), round(y[2], 1), round(float(x[1]), n), round(x[2], 2), round(5, 2)


def test_pythons_floats_are_rounded_to_digits():
    for n in (0, 1, 5):
        check(rounded, X, n)
    for x in (X * np.nan, X * np.inf, X * 1e300, -X * 0):
        check(rounded, x, 1)


def test_rounding_to_tens_is_pythons():
    whole = WholeFunction.of(rounded, wb.jit(rounded).source())
    assert whole.run((X, -1), {}) is None
    assert wb.jit(rounded)(X, -1) == rounded(X, -1)


@given(st.one_of(st.floats(), st.integers(-(10**7), 10**7).map(lambda k: k / 2**9),
                 st.integers(-(10**9), 10**9).map(lambda k: (k + 0.5) / 1000)), st.integers(0, 12))  # fmt: skip
def test_rounding_is_of_the_number_that_a_float_is(x, n):
    rounds = getattr(round_of_python, "py_func", round_of_python)
    try:
        found = rounds(x, n)
    except ValueError:
        assert abs(x) * 10.0**n >= 2.0**52
        return
    assert repr(float(found)) == repr(round(x, n))


# ---- places in lists ----


def places(x):
    y = [3, 5, 7, 5]
    y.append(int(x[0]))
    z = [0.5, 2.25, 2.25]
    z.append(float(x[0]))
    p = [(1, 2), (3, 4)]
    p.append((int(x[0]), 5))
    q = [1, 2, 3, 2]
    q.append(4)
    q.remove(2)
    return (y.index(5), y.index(int(x[0])), y.index(min(y)), y.count(5), z.index(2.25), z.count(2.25), 0.5 in z,
            p.index((3, 4)), (1, 2) in p, (2, 1) not in p, q)  # fmt: skip


def test_places_in_lists():
    check(places, X)
    check(places, X * 10)


def place_of(x, v):
    y = [1.5]
    y.append(float(x[0]))
    return y.index(v), v in y


def test_what_is_not_in_a_list_and_nan_are_pythons():
    check(place_of, X, 1.5)
    check_raises(place_of, ValueError, X, 7.0)
    check_raises(place_of, ValueError, X, float("nan"))


def removed(n):
    y = [1]
    y.append(2)
    y.remove(n)
    return y


def test_what_is_removed_must_be_there():
    check(removed, 1)
    check(removed, 2)
    check_raises(removed, ValueError, 3)


# ---- map, and items as tuples ----


def mapped(m):
    rows, total, q = [], 0, [1, 2]
    q.append(3)
    for row in m:
        rows.append(tuple(map(float, row)))
        total += sum(map(abs, row))
    a, b = map(int, m[0])
    c, d = (v * 2 for v in m[1])
    floats = list(map(float, q))
    down = sorted(map(abs, floats))
    whole = sum(map(int, m[0]))
    return rows, total, floats, whole, a, b, c, d, down


def test_what_map_gives():
    for dtype in (np.float64, np.int64, np.float32):
        check(mapped, M.astype(dtype))


def test_map_that_is_the_users():
    def of_the_user(x):
        return sum(map(float, x[x > 0]))

    namespace = {"map": lambda f, x: [f(v) + 1 for v in x]}
    exec("def mine(x):\n    return sum(map(float, x[x > 0]))", namespace)
    for function in (of_the_user, namespace["mine"]):
        assert wb.jit(function)(X) == function(X)


def keys(m):
    seen = {(0, 0): 0}
    for row in m.astype(int):
        seen[tuple(row.tolist())] = 1
        a, b = row.tolist()
    return len(seen), a, b, tuple(m[0].tolist()), tuple(v + 1 for v in m[1])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
def test_rows_as_tuples(dtype):
    check(keys, M.astype(dtype))


def sorted_points(m):
    return sorted([tuple(map(float, m[i])) for i in range(len(m))])


def test_points_in_order():
    check(sorted_points, M[::-1].copy())


# ---- sums of lists ----


def sums(x):
    a = [1, 2]
    a.append(int(x[0]))
    b = a + [5]
    c = a[:-1] + b[1:]
    d = []
    e = d + a
    b[0] = 100
    a = a + a
    a.append(1000)
    f = [v for v in x if v > 1] + [x[0]]
    return a, b, c, e, sum(a + b), f


def points_and_more(m):
    p = [tuple(map(float, m[i])) for i in range(len(m))]
    q = []
    q.append((9.0, 8.0))
    around = np.array(p[:-1] + q)
    return around, p + [(1.0, 2.0)], np.hypot(*(around - around[0]).T)


def test_sums_of_lists_are_lists_of_their_own():
    check(sums, X)
    check(points_and_more, M)


# ---- lists that functions give ----


def given_by_a_function(x):
    def above(x, n):
        found = []
        k = 0
        for v in x:
            if v > n:
                found.append((k, v))
                k += 1
        return k, found

    def wholes(x):
        found = [0]
        for v in x:
            found.append(int(v))
        return found

    n, a = above(x, 1)
    a.append((7, x[0]))
    m, b = above(x, 2)
    most = 0
    for i in range(3):
        m, c = above(x, i)
        if m > most:
            most, b = m, c
    d = wholes(x)
    e = wholes(x)
    d.append(100)
    return n, a, m, b, most, d, e, len(wholes(x))


def test_lists_that_functions_make():
    check(given_by_a_function, X)
    check(given_by_a_function, X[:1])


def its_callers(x):
    def same(y):
        z = y
        return z

    a = [1]
    a.append(int(x[0]))
    b = same(a)
    b.append(4)
    return a, b


def one_twice(x):
    def two(x):
        found = [0]
        found.append(int(x[0]))
        same = found
        return same, found

    a, b = two(x)
    a.append(5)
    return a, b


@pytest.mark.parametrize("function", [its_callers, one_twice])
def test_lists_that_are_one_object_stay_one(function):
    assert wb.jit(function)(X) == function(X)
