"""Functions that translated loops call: Python's checked arithmetic, folds over small arrays, products.

What would raise in Python raises here, whatever the class: the caller runs the code again in Python, which raises the
right one. Sums are pairwise, as NumPy's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, types
from numba.core.cgutils import get_item_pointer
from numba.extending import intrinsic
from numba.np.arrayobj import load_item, store_item

_LEAST, _MOST = -(2**63), 2**63 - 1
_PAIRWISE = 128  # elements that are added in order


@njit(error_model="numpy", forceinline=True)
def checked_add(a, b):
    r = np.int64(np.uint64(a) + np.uint64(b))
    if ((a ^ r) & (b ^ r)) < 0:
        raise OverflowError
    return r


@njit(error_model="numpy", forceinline=True)
def checked_sub(a, b):
    r = np.int64(np.uint64(a) - np.uint64(b))
    if ((a ^ b) & (a ^ r)) < 0:
        raise OverflowError
    return r


@njit(error_model="numpy", forceinline=True)
def checked_mul(a, b):
    # Below 2**62 by an estimate that errs by far less than its distance to 2**63.
    if abs(float(a) * float(b)) > 4.6e18:
        raise OverflowError
    return np.int64(np.uint64(a) * np.uint64(b))


@njit(error_model="numpy", forceinline=True)
def checked_shift(a, b):
    if b < 0 or b > 62:
        raise OverflowError
    return checked_mul(a, np.int64(1) << b)


@njit(error_model="numpy", forceinline=True)
def checked_abs(a):
    if a == _LEAST:
        raise OverflowError
    return abs(a)


@njit(error_model="numpy", forceinline=True)
def within(x, low, high):
    if x < low or x > high:
        raise OverflowError
    return x


@njit(error_model="numpy", forceinline=True)
def below_2_63(x):
    if x > np.uint64(_MOST):
        raise OverflowError
    return np.int64(x)


@njit(error_model="numpy", forceinline=True)
def whole(x):
    if not (-9.223372036854775e18 < x < 9.223372036854775e18):
        raise OverflowError
    return np.int64(x)


@njit(error_model="numpy", forceinline=True)
def nonzero(x):
    if x == 0:
        raise ZeroDivisionError
    return x


@njit(error_model="numpy", forceinline=True)
def nonnegative(x):
    if x < 0:
        raise ValueError
    return x


@njit(error_model="numpy", forceinline=True)
def length(x):
    if x < 0 or x > 2**40:
        raise ValueError
    return x


@njit(error_model="numpy", forceinline=True)
def same_length(a, b):
    if a != b:
        raise ValueError


# ---- elements of arrays; indices are known to lie inside ----


@njit(error_model="numpy", forceinline=True)
def wrapped(i, n):
    if i < 0:
        i += n
    if i < 0 or i >= n:
        raise IndexError
    return i


@njit(error_model="numpy", forceinline=True)
def first_of(i, n):
    """The first index of a slice `i:`."""
    if i < 0:
        i += n
    return 0 if i < 0 else n if i > n else i


@njit(error_model="numpy", forceinline=True)
def count_between(first, i, n):
    """The length of a slice `first:i`."""
    if i < 0:
        i += n
    if i > n:
        i = n
    return i - first if i > first else 0


@njit(error_model="numpy", forceinline=True)
def apart(i, j):
    if i == j:
        raise ValueError


@njit(error_model="numpy", forceinline=True)
def rolled(shift, n):
    """Where the first element of an array that is rolled by `shift` comes from."""
    return (-shift) % n if n > 0 else 0


@njit(error_model="numpy", forceinline=True)
def around(i, n):
    return i if i < n else i - n


@njit(error_model="numpy", forceinline=True)
def chosen(test, a, b):
    """A selection that computes both."""
    return a if test else b


@njit(error_model="numpy", forceinline=True)
def lost(a, x, total):
    """What rounding takes from `total = a + x` (D. E. Knuth, The Art of Computer Programming 2, 4.2.2)."""
    b = total - a
    return (a - (total - b)) + (x - b)


@njit(error_model="numpy", forceinline=True)
def with_lost(total, low):
    return total + low if math.isfinite(low) else total


def _reader(ndim: int) -> Any:
    def typed(typing_context: Any, *types_: Any) -> Any:
        array = types_[0]

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = _pointer(context, builder, signature, arguments)
            return load_item(context, builder, array, pointer)

        return array.dtype(array, *[types.intp] * ndim), generate

    return _intrinsic(typed, f"at_{ndim}", ndim, ())


def _writer(ndim: int) -> Any:
    def typed(typing_context: Any, *types_: Any) -> Any:
        array, value = types_[0], types_[-1]

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = _pointer(context, builder, signature, arguments[:-1])
            item = context.cast(builder, arguments[-1], value, array.dtype)
            store_item(context, builder, array, item, pointer)

        return types.void(array, *[types.intp] * ndim, value), generate

    return _intrinsic(typed, f"put_{ndim}", ndim, ("value",))


def _intrinsic(typed: Any, name: str, ndim: int, more: tuple[str, ...]) -> Any:
    """An intrinsic of numba's wants parameters with names."""
    parameters = ", ".join(["array", *(f"i{k}" for k in range(ndim)), *more])
    scope = {"typed": typed}
    exec(f"def {name}(context, {parameters}):\n    return typed(context, {parameters})\n", scope)
    return intrinsic(scope[name])


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = signature.args[0]
    found = context.make_array(array)(context, builder, arguments[0])
    return get_item_pointer(context, builder, array, found, list(arguments[1:]), wraparound=False, boundscheck=False)


MAX_AXES = 8


@njit(error_model="numpy", forceinline=True)
def unless_infinite(result, x):
    if math.isinf(result) and not math.isinf(x):
        raise OverflowError
    return result


@njit(error_model="numpy", forceinline=True)
def as_math(result, x):
    """What `math` gives; it raises where the result is no number but the argument is."""
    if math.isnan(result) and not math.isnan(x) or math.isinf(result):
        raise ValueError
    return result


@njit(error_model="numpy")
def power_of_python(a, b):
    """`a**b` of Python floats."""
    if a == 0.0 and b < 0.0 or a < 0.0 and b != math.floor(b):
        raise ZeroDivisionError
    result = math.pow(a, b)
    if math.isinf(result) and not math.isinf(a) and not math.isinf(b):
        raise OverflowError
    return result


@njit(error_model="numpy", forceinline=True)
def larger(a, b):
    return b if b > a else a


@njit(error_model="numpy", forceinline=True)
def smaller(a, b):
    return b if b < a else a


# ---- folds of one-dimensional arrays; zero, one: of the result's dtype ----


@njit(error_model="numpy")
def _sum_of(a, start, stop, zero):
    n = stop - start
    if n <= _PAIRWISE:
        r0, r1, r2, r3, r4, r5, r6, r7 = zero, zero, zero, zero, zero, zero, zero, zero
        i = start
        while i + 8 <= stop:
            r0 += a[i]
            r1 += a[i + 1]
            r2 += a[i + 2]
            r3 += a[i + 3]
            r4 += a[i + 4]
            r5 += a[i + 5]
            r6 += a[i + 6]
            r7 += a[i + 7]
            i += 8
        total = ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7))
        while i < stop:
            total += a[i]
            i += 1
        return total
    half = n // 2
    half -= half % 8
    return _sum_of(a, start, start + half, zero) + _sum_of(a, start + half, stop, zero)


@njit(error_model="numpy")
def array_sum(a, zero):
    return _sum_of(a, 0, a.size, zero)


@njit(error_model="numpy")
def array_prod(a, zero):
    product = zero + 1
    for x in a:
        product *= x
    return product


@njit(error_model="numpy")
def array_mean(a, zero):
    return _sum_of(a, 0, a.size, zero) / a.size


@njit(error_model="numpy")
def array_var(a, zero):
    mean = array_mean(a, zero)
    total = zero
    for x in a:
        total += (x - mean) * (x - mean)
    return total / a.size


@njit(error_model="numpy")
def array_std(a, zero):
    return math.sqrt(array_var(a, zero))


@njit(error_model="numpy")
def array_norm(a, zero):
    return math.sqrt(dot(a, a))


@njit(error_model="numpy")
def array_argmax(a, zero):
    if a.size == 0:
        raise ValueError
    best = 0
    for i in range(a.size):
        if a[i] != a[i]:
            return i
        if a[i] > a[best]:
            best = i
    return best


@njit(error_model="numpy")
def array_argmin(a, zero):
    if a.size == 0:
        raise ValueError
    best = 0
    for i in range(a.size):
        if a[i] != a[i]:
            return i
        if a[i] < a[best]:
            best = i
    return best


@njit(error_model="numpy")
def array_max(a, zero):
    return a[array_argmax(a, 0)]


@njit(error_model="numpy")
def array_min(a, zero):
    return a[array_argmin(a, 0)]


@njit(error_model="numpy")
def array_any(a, zero):
    for x in a:
        if x != 0:
            return True
    return False


@njit(error_model="numpy")
def array_all(a, zero):
    for x in a:
        if x == 0:
            return False
    return True


# ---- products ----


@njit(error_model="numpy")
def dot(a, b):
    if a.size != b.size:
        raise ValueError
    zero = a.dtype.type(0)
    r0, r1, r2, r3 = zero, zero, zero, zero
    n = a.size
    i = 0
    while i + 4 <= n:
        r0 += a[i] * b[i]
        r1 += a[i + 1] * b[i + 1]
        r2 += a[i + 2] * b[i + 2]
        r3 += a[i + 3] * b[i + 3]
        i += 4
    total = (r0 + r1) + (r2 + r3)
    while i < n:
        total += a[i] * b[i]
        i += 1
    return total


@njit(error_model="numpy")
def dot_21(a, b):
    out = np.empty(a.shape[0], a.dtype)
    for i in range(a.shape[0]):
        out[i] = dot(a[i], b)
    return out


@njit(error_model="numpy")
def dot_12(a, b):
    if a.size != b.shape[0]:
        raise ValueError
    out = np.zeros(b.shape[1], a.dtype)
    for k in range(a.size):
        x = a[k]
        for j in range(b.shape[1]):
            out[j] += x * b[k, j]
    return out


@njit(error_model="numpy")
def dot_22(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError
    out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            x = a[i, k]
            for j in range(b.shape[1]):
                out[i, j] += x * b[k, j]
    return out


FUNCTIONS = {name: value for name, value in list(globals().items()) if isinstance(value, type(dot))}
FUNCTIONS |= {f"at_{n}": _reader(n) for n in range(1, MAX_AXES + 1)}
FUNCTIONS |= {f"put_{n}": _writer(n) for n in range(1, MAX_AXES + 1)}
