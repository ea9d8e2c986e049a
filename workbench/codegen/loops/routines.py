"""Routines that translated loops call on small arrays: linear systems, sorting, counting.

What NumPy refuses raises here, whatever the class: the caller runs the code again in NumPy. Large arrays go to LAPACK
and NumPy instead, which tracing calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from ...ir.avals import SHORT_NAMES
from ...primitives.numpy_orders import order_routines
from .elements import at_1, put_1
from .folds import how_many
from .linked import external, linked, linked_in
from .products import dot

_NEARLY_DEPENDENT = 1e-5  # what is left of a column of length one, without those before it

# ---- linear systems: Gaussian elimination with row exchanges (Golub & Van Loan, Matrix Computations, 3.4) ----


@linked(error_model="numpy")
def _eliminate(a, b):
    """Solve `a x = b` in place: `a` is overwritten, `b` becomes `x`. The determinant's sign."""
    n = a.shape[0]
    sign = 1.0
    for k in range(n):
        best, largest = k, abs(a[k, k])
        for i in range(k + 1, n):
            if abs(a[i, k]) > largest:
                best, largest = i, abs(a[i, k])
        if best != k:
            sign = -sign
            for j in range(n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
            for j in range(b.shape[1]):
                b[k, j], b[best, j] = b[best, j], b[k, j]
        if largest == 0:
            return 0.0
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            if factor != 0:
                for j in range(k + 1, n):
                    a[i, j] -= factor * a[k, j]
                for j in range(b.shape[1]):
                    b[i, j] -= factor * b[k, j]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            factor = a[i, k]
            for j in range(b.shape[1]):
                b[i, j] -= factor * b[k, j]
        for j in range(b.shape[1]):
            b[i, j] /= a[i, i]
    return sign


@linked(error_model="numpy")
def solve_2(a, b):
    if a.shape[0] != a.shape[1] or a.shape[0] != b.shape[0]:
        raise ValueError
    x = b.copy()
    if _eliminate(a.copy(), x) == 0:
        raise ValueError
    return x


@linked(error_model="numpy")
def solve_1(a, b):
    return solve_2(a, b.copy().reshape(b.size, 1)).reshape(b.size)


@linked(error_model="numpy")
def inverse(a):
    if a.shape[0] != a.shape[1]:
        raise ValueError
    x = np.zeros(a.shape, a.dtype)
    for i in range(a.shape[0]):
        x[i, i] = 1
    if _eliminate(a.copy(), x) == 0:
        raise ValueError
    return x


@linked(error_model="numpy")
def determinant(a, one):
    if a.shape[0] != a.shape[1]:
        raise ValueError
    left = a.copy()
    product = one * _eliminate(left, np.empty((a.shape[0], 0), a.dtype))
    for k in range(a.shape[0]):
        product *= left[k, k]
    return product


# ---- views ----


@linked(error_model="numpy")
def quarter_turns(m, k):
    """`np.rot90`, a view of one type whatever the number of turns."""
    k %= 4
    if k == 1:
        return m[::1, ::-1].T
    if k == 2:
        return m[::-1, ::-1]
    if k == 3:
        return m.T[::1, ::-1]
    return m[::1, ::1]


# ---- weighted sums ----


@linked(error_model="numpy")
def _convolved(long, short, first, n):
    out = np.zeros(n, long.dtype)
    for j in range(short.shape[0]):
        weight = short[j]
        for k in range(max(0, j - first), min(n, long.shape[0] + j - first)):
            out[k] += long[k + first - j] * weight
    return out


@linked(error_model="numpy")
def convolved(a, v, first, n):
    """Elements `first` to `first + n` of `np.convolve(a, v)`."""
    if a.shape[0] < v.shape[0]:
        return _convolved(v, a, first, n)
    return _convolved(a, v, first, n)


@linked(error_model="numpy")
def quantile(a, q):
    """`np.quantile` of sorted numbers, by linear interpolation (method 7 of R. J. Hyndman, Y. Fan, Sample quantiles in
    statistical packages, 1996), from the nearer end as NumPy has it."""
    n = a.shape[0]
    if n == 0 or not 0.0 <= q <= 1.0:
        raise ValueError
    if np.isnan(a[n - 1]):
        return np.float64(a[n - 1])
    at = q * (n - 1)
    k = int(at)
    low, high = np.float64(a[k]), np.float64(a[min(k + 1, n - 1)])
    part, apart = at - k, high - low
    return high - apart * (1.0 - part) if part >= 0.5 else low + apart * part


# ---- sorting ----


@linked(error_model="numpy")
def _after(x, y):
    """Whether `x` is sorted after `y`; NaN comes last."""
    return x > y or (x != x and y == y)


@linked(error_model="numpy")
def stable_order(a):
    """`np.argsort(a, kind="stable")` of an array or a list, by merging runs (D. E. Knuth, The Art of Computer
    Programming 3, 5.2.4)."""
    n = len(a)
    order, other = np.arange(n), np.empty(n, np.int64)
    for first in range(0, n, 16):  # short runs by insertion
        for i in range(first + 1, min(first + 16, n)):
            k, j = order[i], i
            while j > first and _after(a[order[j - 1]], a[k]):
                order[j] = order[j - 1]
                j -= 1
            order[j] = k
    width = 16
    while width < n:
        for first in range(0, n, 2 * width):
            i, j = first, min(first + width, n)
            middle, last = j, min(first + 2 * width, n)
            for k in range(first, last):
                if i < middle and (j >= last or not _after(a[order[i]], a[order[j]])):
                    other[k] = order[i]
                    i += 1
                else:
                    other[k] = order[j]
                    j += 1
        order, other = other, order
        width *= 2
    return order


@linked(error_model="numpy")
def sorted_copy(a):
    return a[stable_order(a)]


def _sorted_by(routine: Any) -> Callable[..., Any]:
    @linked(error_model="numpy")
    def sorted_by_numpy(a):
        found = a.copy()
        if routine(found.ctypes.data, found.size, 0) < 0:
            raise MemoryError
        return found

    return sorted_by_numpy


def _order_by(routine: Any) -> Callable[..., Any]:
    @linked(error_model="numpy")
    def order_by_numpy(a):
        held, found = np.ascontiguousarray(a), np.arange(a.size)
        if routine(held.ctypes.data, found.ctypes.data, held.size, 0) < 0:
            raise MemoryError
        return found[: held.size]  # which is alive until then

    return order_by_numpy


def _order(n_arguments: int) -> Any:
    return types.int32(*(types.intp,) * n_arguments)


_BY_NUMPY: dict[str, Callable[..., Any]] = {}
for _dtype, (_sort, _argsort) in order_routines().items():
    _BY_NUMPY[f"numpys_sorted_{SHORT_NAMES[_dtype]}"] = _sorted_by(external(f"sort_{_dtype}", _sort, _order(3)))
    _BY_NUMPY[f"numpys_order_{SHORT_NAMES[_dtype]}"] = _order_by(external(f"argsort_{_dtype}", _argsort, _order(4)))


@linked(error_model="numpy")
def place_of(a, x, right):
    """`np.searchsorted` of one number. a: an array, or a list."""
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if _after(x, a[middle]) or (right and not _after(a[middle], x)):
            low = middle + 1
        else:
            high = middle
    return low


@linked(error_model="numpy")
def is_found(a, x):
    """Whether a sorted array holds a number."""
    k = place_of(a, x, False)
    return k < a.size and a[k] == x


# ---- fits and tables ----


@linked(error_model="numpy")
def _divide(a, divisor):
    for i in range(a.size):
        a[i] /= divisor


@linked(error_model="numpy")
def _subtract(a, factor, b):
    """`a -= factor * b`."""
    for i in range(a.size):
        a[i] -= factor * b[i]


@linked(error_model="numpy")
def fitted(x, y, degree):
    """`np.polyfit` by modified Gram-Schmidt with the values as the last column, which is as stable as Householder's
    way (Å. Björck, Numerical Methods for Least Squares Problems, 2.4.4). Columns are scaled as NumPy scales them; where
    they are nearly dependent, NumPy's singular values decide."""
    m, n = x.size, degree + 1
    if m < n or m != y.size:
        raise ValueError
    columns, scales, r = np.empty((n + 1, m)), np.empty(n), np.zeros((n, n + 1))
    for i in range(m):
        power = 1.0
        for k in range(n - 1, -1, -1):
            columns[k, i] = power
            power *= x[i]
        columns[n, i] = y[i]
    for k in range(n):
        scales[k] = math.sqrt(dot(columns[k], columns[k]))
        _divide(columns[k], scales[k])
    for k in range(n):
        r[k, k] = math.sqrt(dot(columns[k], columns[k]))
        if not r[k, k] > _NEARLY_DEPENDENT:
            raise ValueError
        _divide(columns[k], r[k, k])
        for j in range(k + 1, n + 1):
            r[k, j] = dot(columns[k], columns[j])
            _subtract(columns[j], r[k, j], columns[k])
    found = np.empty(n)
    for k in range(n - 1, -1, -1):
        total = r[k, n]
        for j in range(k + 1, n):
            total -= r[k, j] * found[j]
        found[k] = total / r[k, k]
    for k in range(n):
        found[k] /= scales[k]
    return found


@linked(error_model="numpy")
def polynomial(p, x):
    y = 0.0
    for k in range(p.size):
        y = y * x + at_1(p, k)
    return y


@linked(error_model="numpy")
def _interval_of(x, xp):
    """Between which points x lies: the last one that is not above it, -1 before all, xp.size behind all. The order of
    the comparisons is NumPy's, which decides where points are in no order, or no numbers."""
    n = xp.size
    if x > at_1(xp, n - 1):
        return n
    if x < at_1(xp, 0):
        return -1
    if n <= 4:
        i = 1
        while i < n and x >= at_1(xp, i):
            i += 1
        return i - 1
    for i in range(1, 4):
        if x < at_1(xp, i):
            return i - 1
    low, high = 3, n
    if n > 10 and x < at_1(xp, 9):
        high = 9
    while low < high:
        middle = low + (high - low) // 2
        if x >= at_1(xp, middle):
            low = middle + 1
        else:
            high = middle
    return low - 1


@linked(error_model="numpy")
def interpolated(x, xp, fp, left, right):
    """`np.interp` of one number, step by step as `numpy/_core/src/multiarray/compiled_base.c` has it."""
    n = xp.size
    if x != x and n > 1:
        return x
    j = _interval_of(x, xp)
    if j < 0:
        return left
    if j == n:
        return right
    if j == n - 1 or at_1(xp, j) == x:
        return at_1(fp, j)
    slope = (at_1(fp, j + 1) - at_1(fp, j)) / (at_1(xp, j + 1) - at_1(xp, j))
    y = slope * (x - at_1(xp, j)) + at_1(fp, j)
    if y != y:
        y = slope * (x - at_1(xp, j + 1)) + at_1(fp, j + 1)
        if y != y and at_1(fp, j) == at_1(fp, j + 1):
            return at_1(fp, j)
    return y


@linked(error_model="numpy", forceinline=True)
def _is_another(a, i):
    """Whether element i of numbers in order, of which those that are none are at the end, is not the one before it."""
    return i == 0 or at_1(a, i) != at_1(a, i - 1) and at_1(a, i - 1) == at_1(a, i - 1)


@linked(error_model="numpy")
def distinct(a):
    """`np.unique` of numbers in order."""
    out, n = np.empty(a.size, a.dtype), 0
    for i in range(a.size):
        if _is_another(a, i):
            put_1(out, n, at_1(a, i))
            n += 1
    return out[:n]


@linked(error_model="numpy")
def _marked(a, low, n):
    """The distinct ones of integers from `low` on, of `n`."""
    marks = np.zeros(n, np.bool_)
    for i in range(a.size):
        put_1(marks, np.int64(np.uint64(at_1(a, i)) - np.uint64(low)), True)
    out, n = np.empty(n, a.dtype), 0
    for k in range(marks.size):
        out[n] = np.uint64(low) + np.uint64(k)
        n += at_1(marks, k)
    return out[:n]


def _distinct_by(sort: Any) -> Callable[..., Any]:
    @linked(error_model="numpy")
    def distinct_wholes(a):
        """`np.unique` of integers: marked in a table where that is not much longer than they are many."""
        if a.size == 0:
            return a.copy()
        low = high = at_1(a, 0)
        for i in range(a.size):
            low, high = min(low, at_1(a, i)), max(high, at_1(a, i))
        span = np.uint64(high) - np.uint64(low)
        if span < np.uint64(4 * a.size + 1024):
            return _marked(a, low, np.int64(span) + 1)
        return distinct(sort(a))

    return distinct_wholes


for _dtype in order_routines():
    if _dtype.kind in "iu":
        _BY_NUMPY[f"numpys_distinct_{SHORT_NAMES[_dtype]}"] = _distinct_by(
            _BY_NUMPY[f"numpys_sorted_{SHORT_NAMES[_dtype]}"]
        )


@linked(error_model="numpy")
def places_of_distinct(a, values):
    """Where each number is among the distinct ones, which are in order."""
    out = np.empty(a.size, np.int64)
    for i in range(a.size):
        put_1(out, i, place_of(values, at_1(a, i), False))
    return out


@linked(error_model="numpy")
def first_places(places, n):
    """Where each of `n` numbers comes first, by the place of each element's."""
    out = np.zeros(n, np.int64)
    for i in range(places.size - 1, -1, -1):
        out[places[i]] = i
    return out


# ---- counting ----


@linked(error_model="numpy")
def _bins(x, least):
    n = least
    for k in x:
        if k < 0 or k > 2**40:
            raise ValueError
        n = max(n, np.int64(k) + 1)
    return n


@linked(error_model="numpy")
def counts(x, least):
    out = np.zeros(_bins(x, least), np.int64)
    for k in x:
        out[k] += 1
    return out


@linked(error_model="numpy")
def weighted_counts(x, weights, least):
    if x.size != weights.size:
        raise ValueError
    out = np.zeros(_bins(x, least), np.float64)
    for i in range(x.size):
        out[x[i]] += weights[i]
    return out


@linked(error_model="numpy")
def bin_edges(a, n, low, high, is_given):
    """The edges of `n` equal bins between `low` and `high`, or between the ends of `a`, as `np.histogram` has them."""
    if n < 1 or not is_given and a.size == 0:
        raise ValueError
    if not is_given:
        low = high = a[0]
        for x in a:
            low, high = min(low, x), max(high, x)
            if x != x:
                low = x
                break
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError
    if low == high:
        low, high = low - 0.5, high + 0.5
    step = (high - low) / n
    if step == 0.0:
        raise ValueError
    edges = np.empty(n + 1)
    for k in range(n):
        edges[k] = k * step + low
    edges[n] = high
    return edges


@linked(error_model="numpy")
def counts_in_bins(a, edges):
    n = edges.size - 1
    low, high = edges[0], edges[n]
    out = np.zeros(n, np.int64)
    for x in a:
        if x >= low and x <= high:
            k = np.int64((x - low) / (high - low) * n)
            k = k - 1 if k == n else k
            if x < edges[k]:
                k -= 1
            elif k != n - 1 and x >= edges[k + 1]:
                k += 1
            out[k] += 1
    return out


@linked(error_model="numpy")
def densities(counts, edges):
    total = np.sum(counts)
    out = np.empty(counts.size)
    for k in range(counts.size):
        out[k] = counts[k] / (edges[k + 1] - edges[k]) / total
    return out


@linked(error_model="numpy")
def places(mask):
    """`np.flatnonzero` of an array of one axis."""
    total = 0
    for i in range(mask.size):
        total += at_1(mask, i) != 0
    out = np.empty(total + 1, np.int64)
    n = 0
    for i in range(mask.size):  # without branches, which a mask's elements would often send the wrong way
        put_1(out, n, i)
        n += at_1(mask, i) != 0
    return out[:total]


@linked(error_model="numpy")
def places_by_rows_1(a):
    """`np.argwhere` of an array of one axis."""
    found = places(a)
    return found.reshape(found.size, 1)


@linked(error_model="numpy")
def places_by_rows_2(a):
    """`np.argwhere` of an array of two axes."""
    out, n = np.empty((how_many(a), 2), np.int64), 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] != 0:
                out[n, 0], out[n, 1] = i, j
                n += 1
    return out


@linked(error_model="numpy")
def places_by_rows_3(a):
    """`np.argwhere` of an array of three axes."""
    out, n = np.empty((how_many(a), 3), np.int64), 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(a.shape[2]):
                if a[i, j, k] != 0:
                    out[n, 0], out[n, 1], out[n, 2] = i, j, k
                    n += 1
    return out


FUNCTIONS = linked_in(globals())
FUNCTIONS |= _BY_NUMPY
