"""Functions that run whole and take tuples, lists and arrays apart, or compare them: Python's items, types and errors."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.runtime.test_whole_functions import check_whole
from workbench.runtime.parts.whole_functions import WholeFunction

X = np.array([0.5, 2.25, 1.25, 3, 1, 0.5])
M = np.array([[1.0, 2], [3, 4], [5, 6.5]])
WITH_NAN = np.array([0.5, np.nan, 0.25, 3, np.nan, 0.5])


def check(function, *args):
    """The function whole, with Python's types."""
    check_whole(function, *args)
    done = WholeFunction.of(function, wb.jit(function).source()).run(args, {})
    assert types_in(done[0]) == types_in(function(*args))


def types_in(value):
    return [types_in(v) for v in value] if isinstance(value, list | tuple) else type(value)


def check_raises(function, error, *args):
    """The text raises, and Python the user's error."""
    whole = WholeFunction.of(function, wb.jit(function).source())
    assert whole.run(args, {}) is None
    with pytest.raises(error):
        wb.jit(function)(*args)


# ---- lists that are made of what Python counts ----


def lists_of_ranges(n, m):
    x, y, z = list(range(n, m)), list(range(n)), list(range(m, n, -2))
    z.append(5)
    x[0] = 7
    y.pop()
    return x, y, z, len(z), sum(x)


@pytest.mark.parametrize("ends", [(1, 5), (2, 9), (np.int32(2), np.int32(9)), (np.uint8(2), np.int64(7))])
def test_a_list_of_a_range_holds_numbers_of_pythons(ends):
    check(lists_of_ranges, *ends)


@pytest.mark.parametrize("ends", [(5, 5), (3, 1)])
def test_an_empty_range_is_an_empty_list(ends):
    check_raises(lists_of_ranges, IndexError, *ends)


def lists_of_pairs(x):
    p, q, r = list(zip(x, range(10, 20), strict=False)), list(enumerate(x)), list(reversed(range(4)))
    p.append((x[0], 3))
    q.sort()
    return p, q, r


def test_lists_of_what_goes_in_step():
    check(lists_of_pairs, X)


# ---- the order of tuples ----


def least_and_most(x):
    found = []
    for i in range(len(x)):
        found.append((x[i], i % 3, i))
    _, _, row = min(found)
    return min(found), max(found), row


def of_nested(x):
    found = [(i % 3, (x[i] > 0.6, i)) for i in range(len(x))]
    return min(found), max(found), sorted(found)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_the_least_of_tuples(dtype):
    check(least_and_most, (X * 4).astype(dtype))
    check(of_nested, (X * 4).astype(dtype))


def test_the_least_of_tuples_with_nan_or_of_none_is_pythons():
    check_raises(least_and_most, ValueError, X[:0])
    whole = WholeFunction.of(least_and_most, wb.jit(least_and_most).source())
    assert whole.run((WITH_NAN,), {}) is None
    assert repr(wb.jit(least_and_most)(WITH_NAN)) == repr(least_and_most(WITH_NAN))


def comparisons(x, k):
    best, n = None, 0
    for i in range(len(x)):
        here = (i % 3, x[i], i)
        if best is None or here < best:
            best = here
        if (x[i], i) <= (x[0], k):
            n += 1
        if (i, (x[i], k)) < (k, (x[i], i)):
            n += 10
        n += 100 * ((x[i], 1) == (0.25, 1)) + 1000 * ((i, x[i]) != (k, x[0]))
        n += 10000 * ((k, i) > (i, k)) + 100000 * ((k, i, 3) >= (i, k))
    return best, n, bool((x[0], k) < (x[1], 2)), (k, k) < (2, 2), (x[0], k) == (x[1], 2), (k, 2) >= (k, 2, 3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
@pytest.mark.parametrize("k", [0, 1, 2, 5])
def test_tuples_are_compared_item_by_item(dtype, k):
    check(comparisons, (X * 4).astype(dtype), k)


def test_two_nans_in_tuples_are_pythons():
    def same(x, i):
        y = x[i]
        return (y, 1) == (y, 1), (x[i], 1) == (x[i], 1), bool((y, 1) < (y, 2))

    check(same, X, 1)
    assert WholeFunction.of(same, wb.jit(same).source()).run((WITH_NAN, 1), {}) is None
    assert wb.jit(same)(WITH_NAN, 1) == (True, False, True)

    def others(x):
        return (x[0], 1) == (x[1], 1), (x[1], 2) != (x[0], 2), bool((x[0], 1) < (x[1], 1)), bool((x[1],) < (x[0],))

    check(others, WITH_NAN)


# ---- items by name ----


def steps_from_a_list(n, rng):
    moves = [(1, 0), (-1, 0), (0, 1), (0, -1)]

    def around(r, c):
        k = 0
        for dr, dc in moves:
            k += (r + dr) * 2 + c * dc
        return k

    x = y = t = 0
    for _ in range(n):
        dx, dy = moves[rng.integers(4)]
        x, y = x + dx, y + dy
        for dr, dc in moves:
            t += dr * x + dc
        t += around(x, y)
    return x, y, t


def test_pairs_of_a_list_that_an_inner_function_reads():
    whole = WholeFunction.of(steps_from_a_list, wb.jit(steps_from_a_list).source())
    done = whole.run((30, np.random.default_rng(3)), {})
    assert done is not None and done[0] == steps_from_a_list(30, np.random.default_rng(3))


def of_unknown_lengths(x, i):
    low, here, high = x[i - 1 : i + 2] * 2
    a, b = x[x > 1][:2]
    return low, here, high, a, b


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_arrays_of_lengths_that_the_run_tells(dtype):
    check(of_unknown_lengths, (X * 4).astype(dtype), 1)
    check(of_unknown_lengths, (X * 4).astype(dtype), 3)
    check_raises(of_unknown_lengths, ValueError, X, 0)
    check_raises(of_unknown_lengths, ValueError, X, 5)


def rests_of_arrays(x):
    first, *rest = x
    *head, last = x[x > 0]
    a, *middle, b, c = x
    rest.append(first)
    total = 0.0
    for v in middle:
        total += v
    return first, rest, head, last, a, len(middle), total, b, c


def rests_of_tuples_and_lists(m):
    total = 0.0
    for a, b in m:
        total += a * b
    for a, *rest in m[:, :]:
        total += a * rest[0] - rest[-1]
    u, (v, *w) = 3, (1, 2.5, 4)
    q = [5, 6, 7]
    q.append(8)
    d, *e = q
    *f, h = q[1:]
    i, j, k, n = q
    e.append(9)
    q[0] = 100
    return total, u, v, w[0] + w[1], d, e, f, h, i, j, k, n, q


def given_twice(k):
    q = [(k, 1.5), (2, 2.5)]
    q.append((k + 1, 3.5))
    first, *rest = q
    _, _, c = q
    _, _, d, _ = 1.5, 2, 2.5, (3, 5)
    e, *none, f = (k, 2.5)
    return first, rest, c, d, e, len(none), f


def test_targets_with_a_star():
    for dtype in (np.float64, np.int32):
        check(rests_of_arrays, (X * 4).astype(dtype))
        check(rests_of_tuples_and_lists, (M * 2).astype(dtype))
    check(rests_of_arrays, X[:3])
    check_raises(rests_of_arrays, ValueError, X[:2])
    check_raises(rests_of_tuples_and_lists, ValueError, np.ones((3, 3)))
    check(given_twice, 3)


def test_the_first_of_what_a_function_gives():
    def slope(a, b):
        near = a[:, 0] > -9
        coef, *_ = np.linalg.lstsq(a[near], b[near], rcond=None)
        return coef

    done = WholeFunction.of(slope, wb.jit(slope).source()).run((M, X[:3]), {})
    np.testing.assert_allclose(done[0], slope(M, X[:3]))


def test_arguments_with_a_star_of_arrays_with_few_rows():
    def lengths(m):
        steps = np.diff(m[m[:, 0] > -9], axis=0)
        return np.maximum(*steps.T), np.minimum(*m[0])

    check(lengths, M)
    check(lengths, (M * 2).astype(np.int16))


def differences(m):
    k = m[m[:, 0] > -100]
    return (np.diff(k, axis=0), np.diff(k), np.diff(k, axis=1), np.diff(k, 2, axis=0), np.diff(k, n=3, axis=-2),
            np.diff(k[:, :1], axis=1), np.diff(k[:0], axis=0), np.diff(k[:, 0]))  # fmt: skip


def test_differences_along_an_axis():
    for dtype in (np.float64, np.float32, np.uint8, np.int64):
        check(differences, (M * 3).astype(dtype))
