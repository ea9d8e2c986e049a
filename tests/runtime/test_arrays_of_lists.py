"""Functions that run whole and make arrays of lists: NumPy's dtypes, and its errors where a number does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.test_whole_unpacking import check, check_raises

X = np.array([5, 6, 7])


def narrow(n, k):
    a = np.array([(i * 7 + k) % 256 for i in range(n)], dtype=np.uint8)
    x = [3, 5]
    x.append(k)
    return (a, np.array(x, dtype=np.uint8), np.asarray(x, np.int16), np.array(x, dtype=np.float32),
            np.array(x, dtype=bool), np.array(x, float), np.array(x, np.int32))  # fmt: skip


def test_lists_of_pythons_numbers_as_narrow_arrays():
    check(narrow, 9, 5)
    check(narrow, 0, 255)
    for n, k in ((9, 300), (9, -1), (0, 70000), (2, 2**40)):
        check_raises(narrow, OverflowError, n, k)


def of_numbers(x):
    y = []
    for v in x:
        y.append(v)
    return np.array(y, dtype=np.int8), np.array(y, dtype=np.float32), np.array(y, dtype=int)


def test_lists_of_numpys_numbers_as_narrow_arrays():
    for x in (X, X + 0.5, X.astype(np.uint8), X > 6, X.astype(np.float32)):
        check(of_numbers, x)
    for x in (X * 100, X * 1e20):
        check_raises(of_numbers, OverflowError, x)
    check_raises(of_numbers, ValueError, X * np.nan)


def single(k):
    x = [1]
    x.append(k)
    return np.array(x, dtype=np.float32)


def test_large_integers_are_rounded_as_numpy_rounds_them():
    check(single, 2**24 + 1)
    check(single, 2**53)
    check_raises(single, OverflowError, 2**2000)


def bits(n, k):
    return np.array([[j >> b & 1 for j in range(1, n)] for b in range(k)], dtype=np.uint8)


def products(n, k):
    return np.array([[float(j * b) for j in range(n)] for b in range(k)])


def uneven(n, k):
    return np.array([[i] * (k if i < 2 else k + 1) for i in range(n)])


def in_lists(x):
    t = [[int(x[0]), 3], [4, int(x[1])]]
    t.append([1, 2])
    u = [(1, 2.5)]
    u.append((3, float(x[0])))
    pairs = [[(i, x[i]) for i in range(k)] for k in (2, 2)]
    return np.array(t, np.uint8), np.array(u, np.float32), np.array([1, 2, int(x[0])], np.uint8), np.array(pairs)


def test_lists_of_lists():
    for function, n, k in ((bits, 8, 3), (bits, 1, 3), (products, 3, 4), (uneven, 2, 3)):
        check(function, n, k)
    for x in (X, X.astype(np.uint8)):
        check(in_lists, x)
    check_raises(uneven, ValueError, 4, 2)
    check_raises(in_lists, OverflowError, X * 200)


@pytest.mark.parametrize("function", [bits, products])
@pytest.mark.parametrize("sizes", [(4, 0), (0, 2), (0, 0)])
def test_lists_of_none(function, sizes):
    from workbench import jit

    got, expected = jit(function)(*sizes), function(*sizes)
    assert got.shape == expected.shape and got.dtype == expected.dtype


def converted(x, t):
    a, b, c, d = np.asarray(x, float), np.asarray(x, x.dtype), np.array(x, np.float32), np.array(x, None)
    e, f, g = np.asarray(t, float), np.array(x[x > 0], dtype=int), np.array(x, dtype=x.dtype)
    b[0], d[1], g[2] = 77, 78, 79
    return a, b, c, d, e, f, g, np.array((1, 2, t[0]), float)


def test_arrays_and_tuples_as_another_dtype():
    for x, t in ((X, (1, 2.5)), (X + 0.75, (3,)), (X.astype(np.uint8), (1, 2))):
        check(converted, x.copy(), t)


def bitwise(m):
    k = m[m[:, 0] > -100]
    return (np.bitwise_xor.reduce(k, axis=1), np.bitwise_or.reduce(k), np.bitwise_and.reduce(k, axis=0),
            np.bitwise_xor.reduce(k[0]), np.bitwise_and.reduce(k[:, 1]))  # fmt: skip


def test_bits_are_folded():
    for dtype in (np.int64, np.uint8, np.int16):
        check(bitwise, np.array([[1, 2, 7], [3, 4, 11], [5, 6, 120]], dtype))


def stored(x, n):
    y = x[x > -100]
    out, narrow, turned = np.zeros((4, n)), np.zeros(n, np.uint8), np.zeros(n, int)
    found = []
    for i in range(n):
        found.append(y[i] * 2)
    out[1] = found
    out[2, 1:] = [v + 1 for v in found[1:]]
    narrow[:] = [i * 3 for i in range(n)]
    turned[:] = found
    return out, narrow, turned, y


def test_lists_are_stored_in_arrays():
    for n in (5, 1, 6):
        check(stored, np.arange(6.0) - 2.25, n)
    check_raises(stored, IndexError, np.arange(6.0), 7)
