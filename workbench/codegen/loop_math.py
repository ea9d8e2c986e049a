"""Functions that translated loops call: Python's checked arithmetic, folds over small arrays, products.

What would raise in Python raises here, whatever the class: the caller runs the code again in Python, which raises the
right one. Sums are at least as accurate as NumPy's, which are pairwise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.cgutils import get_item_pointer2, unpack_tuple
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic
from numba.np.arrayobj import load_item, store_item

from .linked import linked

_LEAST, _MOST = -(2**63), 2**63 - 1
_BLOCK = 128  # elements that are added up plainly


@linked(error_model="numpy", forceinline=True)
def checked_add(a, b):
    r = np.int64(np.uint64(a) + np.uint64(b))
    if ((a ^ r) & (b ^ r)) < 0:
        raise OverflowError
    return r


@linked(error_model="numpy", forceinline=True)
def checked_sub(a, b):
    r = np.int64(np.uint64(a) - np.uint64(b))
    if ((a ^ b) & (a ^ r)) < 0:
        raise OverflowError
    return r


@linked(error_model="numpy", forceinline=True)
def checked_mul(a, b):
    # Below 2**62 by an estimate that errs by far less than its distance to 2**63.
    if abs(float(a) * float(b)) > 4.6e18:
        raise OverflowError
    return np.int64(np.uint64(a) * np.uint64(b))


@linked(error_model="numpy", forceinline=True)
def checked_shift(a, b):
    if b < 0 or b > 62:
        raise OverflowError
    return checked_mul(a, np.int64(1) << b)


@linked(error_model="numpy", forceinline=True)
def was_int(ints, place, n):
    if place < 0:
        place += n
    return place < ints.shape[0] and ints[place]


@linked(error_model="numpy")
def checked_power(a, n):
    result = np.int64(1)
    while n > 0:
        if n & 1:
            result = checked_mul(result, a)
        n >>= 1
        if n > 0:
            a = checked_mul(a, a)
    return result


@linked(error_model="numpy", forceinline=True)
def checked_abs(a):
    if a == _LEAST:
        raise OverflowError
    return abs(a)


@linked(error_model="numpy", forceinline=True)
def within(x, low, high):
    if x < low or x > high:
        raise OverflowError
    return x


@linked(error_model="numpy", forceinline=True)
def below_2_63(x):
    if x > np.uint64(_MOST):
        raise OverflowError
    return np.int64(x)


@linked(error_model="numpy", forceinline=True)
def whole(x):
    if not (-9.223372036854775e18 < x < 9.223372036854775e18):
        raise OverflowError
    return np.int64(x)


@linked(error_model="numpy", forceinline=True)
def as_whole(x, is_whole):
    # An int of Python's has no -0.0, and is exact.
    if is_whole:
        if abs(x) >= 2.0**53:
            raise OverflowError
        return x + 0.0
    return x


@linked(error_model="numpy", forceinline=True)
def as_float(x, is_whole):
    if is_whole:  # it has another type in Python
        raise TypeError
    return x


@linked(error_model="numpy", forceinline=True)
def nonzero(x):
    if x == 0:
        raise ZeroDivisionError
    return x


@linked(error_model="numpy", forceinline=True)
def nonnegative(x):
    if x < 0:
        raise ValueError
    return x


@linked(error_model="numpy", forceinline=True)
def length(x):
    if x < 0 or x > 2**40:
        raise ValueError
    return x


@linked(error_model="numpy", forceinline=True)
def same_length(a, b):
    if a != b:
        raise ValueError


@linked(error_model="numpy", forceinline=True)
def close(a, b, rtol, atol):
    return (abs(a - b) <= atol + rtol * abs(b)) & math.isfinite(b) | (a == b)


@linked(error_model="numpy", forceinline=True)
def times(z, w):
    # numba compiles its own product of complex numbers once, as whoever comes first has it: steps may be fused.
    return complex(z.real * w.real - z.imag * w.imag, z.real * w.imag + z.imag * w.real)


@linked(error_model="numpy", forceinline=True)
def times_itself(z):
    return times(z, z)


# ---- elements of arrays; indices are known to lie inside ----


@linked(error_model="numpy", forceinline=True)
def wrapped(i, n):
    if i < 0:
        i += n
    if i < 0 or i >= n:
        raise IndexError
    return i


@linked(error_model="numpy", forceinline=True)
def turned(i, n):
    """An index that is not below -n."""
    return i + n if i < 0 else i


@linked(error_model="numpy")
def least_of(a):
    """The least of some integers, 0 without any."""
    flat = a.ravel()
    least = at_1(flat, 0) if a.size else a.dtype.type(0)
    for i in range(flat.size):
        least = min(least, at_1(flat, i))
    return least


@linked(error_model="numpy")
def most_of(a):
    flat = a.ravel()
    most = at_1(flat, 0) if a.size else a.dtype.type(0)
    for i in range(flat.size):
        most = max(most, at_1(flat, i))
    return most


@linked(error_model="numpy")
def ends_of(a):
    """Both of them."""
    flat = a.ravel()
    least = most = at_1(flat, 0) if a.size else a.dtype.type(0)
    for i in range(flat.size):
        x = at_1(flat, i)
        least = min(least, x)
        most = max(most, x)
    return least, most


@linked(error_model="numpy", forceinline=True)
def first_of(i, n):
    """The first index of a slice `i:`."""
    if i < 0:
        i += n
    return 0 if i < 0 else n if i > n else i


@linked(error_model="numpy", forceinline=True)
def count_between(first, i, n):
    """The length of a slice `first:i`."""
    if i < 0:
        i += n
    if i > n:
        i = n
    return i - first if i > first else 0


@linked(error_model="numpy", forceinline=True)
def apart(i, j):
    if i == j:
        raise ValueError


@linked(error_model="numpy", forceinline=True)
def rolled(shift, n):
    """Where the first element of an array that is rolled by `shift` comes from."""
    return (-shift) % n if n > 0 else 0


@linked(error_model="numpy", forceinline=True)
def around(i, n):
    return i if i < n else i - n


@linked(error_model="numpy", forceinline=True)
def chosen(test, a, b):
    """A selection that computes both."""
    return a if test else b


@linked(error_model="numpy", forceinline=True)
def lost(a, x, total):
    """What rounding takes from `total = a + x` (D. E. Knuth, The Art of Computer Programming 2, 4.2.2)."""
    b = total - a
    return (a - (total - b)) + (x - b)


@linked(error_model="numpy", forceinline=True)
def with_lost(total, low):
    return total + low if math.isfinite(low) else total


def _reader(ndim: int, unit: bool = False) -> Any:
    """Reads an element. unit: the last axis lies in order, whatever the array's type says."""

    def typed(typing_context: Any, *types_: Any) -> Any:
        array = types_[0]

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = _pointer(context, builder, signature, arguments, unit)
            return load_item(context, builder, array, pointer)

        return array.dtype(array, *[types.intp] * ndim), generate

    return _intrinsic(typed, f"{'unit' if unit else 'at'}_{ndim}", ndim, ())


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


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any, unit: bool = False) -> Any:
    array = signature.args[0]
    found = context.make_array(array)(context, builder, arguments[0])
    strides = unpack_tuple(builder, found.strides, count=array.ndim)
    if unit or array.layout == "C":
        strides[-1] = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(array.dtype)))
    return get_item_pointer2(
        context, builder, found.data, unpack_tuple(builder, found.shape, count=array.ndim), strides, "A",
        list(arguments[1:]), wraparound=False, boundscheck=False,
    )  # fmt: skip


def _loose(typing_context: Any, array: Any) -> Any:
    """The array as one of no particular order, so that a function is compiled once for all orders."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return impl_ret_borrowed(context, builder, signature.return_type, arguments[0])

    return array.copy(layout="A")(array), generate


loose: Any = intrinsic(_loose)


def _fused(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """`a * b + c`, rounded once where the machine has an instruction for it, and as it stands elsewhere."""
    if not (isinstance(a, types.Float) and a == b == c):
        raise TypingError(f"fused() of {a}, {b} and {c}")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        function = builder.module.declare_intrinsic("llvm.fmuladd", [kind], ir.FunctionType(kind, [kind] * 3))
        return builder.call(function, arguments)

    return a(a, b, c), generate


fused: Any = intrinsic(_fused)

MAX_AXES = 8
at_1, unit_1, at_2, unit_2, put_1, put_2 = (
    _reader(1),
    _reader(1, True),
    _reader(2),
    _reader(2, True),
    _writer(1),
    _writer(2),
)


@linked(error_model="numpy", forceinline=True)
def unless_infinite(result, x):
    if math.isinf(result) and not math.isinf(x):
        raise OverflowError
    return result


@linked(error_model="numpy", forceinline=True)
def as_math(result, x):
    """What `math` gives; it raises where the result is no number but the argument is."""
    if math.isnan(result) and not math.isnan(x) or math.isinf(result):
        raise ValueError
    return result


@linked(error_model="numpy")
def power_of_python(a, b):
    """`a**b` of Python floats."""
    if a == 0.0 and b < 0.0 or a < 0.0 and b != math.floor(b):
        raise ZeroDivisionError
    result = math.pow(a, b)
    if math.isinf(result) and not math.isinf(a) and not math.isinf(b):
        raise OverflowError
    return result


@linked(error_model="numpy", forceinline=True)
def larger(a, b):
    return b if b > a else a


@linked(error_model="numpy", forceinline=True)
def smaller(a, b):
    return b if b < a else a


# ---- folds of one-dimensional arrays; zero, one: of the result's dtype ----


@linked(error_model="numpy", fastmath={"reassoc"})
def _block_sum(a, start, stop, zero):
    total = zero
    if a.strides[0] == a.itemsize:
        for i in range(start, stop):
            total += unit_1(a, i)
    else:
        for i in range(start, stop):
            total += at_1(a, i)
    return total


@linked(error_model="numpy")
def array_sum(a, zero):
    # By blocks, whose sums are added with what rounding loses. No recursion: numba's disk cache does not bear it.
    if a.size <= _BLOCK:
        return _block_sum(a, 0, a.size, zero)
    total, low = zero, zero
    for start in range(0, a.size, _BLOCK):
        x = _block_sum(a, start, min(start + _BLOCK, a.size), zero)
        new = total + x
        low += lost(total, x, new)
        total = new
    return total + low if low == low else total


@linked(error_model="numpy")
def array_prod(a, zero):
    product = zero + 1
    for x in a:
        product *= x
    return product


@linked(error_model="numpy")
def array_mean(a, zero):
    return array_sum(a, zero) / a.size


@linked(error_model="numpy")
def array_var(a, zero):
    mean = array_mean(a, zero)
    total = zero
    for x in a:
        total += (x - mean) * (x - mean)
    return total / a.size


@linked(error_model="numpy")
def array_std(a, zero):
    return math.sqrt(array_var(a, zero))


@linked(error_model="numpy")
def array_norm(a, zero):
    return math.sqrt(dot(a, a))


@linked(error_model="numpy")
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


@linked(error_model="numpy")
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


@linked(error_model="numpy")
def array_max(a, zero):
    return a[array_argmax(a, 0)]


@linked(error_model="numpy")
def array_min(a, zero):
    return a[array_argmin(a, 0)]


@linked(error_model="numpy")
def array_any(a, zero):
    for x in a:
        if x != 0:
            return True
    return False


@linked(error_model="numpy")
def array_all(a, zero):
    for x in a:
        if x == 0:
            return False
    return True


# ---- products ----


@linked(error_model="numpy", fastmath={"reassoc", "contract"})
def _dot(a, b):
    total = a.dtype.type(0)
    if a.strides[0] == a.itemsize and b.strides[0] == b.itemsize:
        for i in range(a.size):
            total += unit_1(a, i) * unit_1(b, i)
    else:
        for i in range(a.size):
            total += at_1(a, i) * at_1(b, i)
    return total


@linked(error_model="numpy", fastmath={"reassoc", "contract"})
def _dot_backwards(a, b):
    """The product of `a` in order with `b` from its end, both of which lie in order."""
    total = a.dtype.type(0)
    last = a.size - 1
    for i in range(a.size):
        total += unit_1(a, i) * unit_1(b, last - i)
    return total


@linked(error_model="numpy")
def dot(a, b):
    if a.size != b.size:
        raise ValueError
    if a.strides[0] == a.itemsize and b.strides[0] == -b.itemsize:
        return _dot_backwards(loose(a), loose(b[::-1]))
    if a.strides[0] == -a.itemsize and b.strides[0] == b.itemsize:
        return _dot_backwards(loose(b), loose(a[::-1]))
    return _dot(loose(a), loose(b))


@linked(error_model="numpy", fastmath={"contract"})
def _add_rows(out, x, b):
    """`out += x @ b`, four rows at a time."""
    n = b.shape[1]
    whole = x.size // 4 * 4
    for k in range(0, whole, 4):
        x0, x1, x2, x3 = at_1(x, k), at_1(x, k + 1), at_1(x, k + 2), at_1(x, k + 3)
        for j in range(n):
            more = x0 * unit_2(b, k, j) + x1 * unit_2(b, k + 1, j)
            put_1(out, j, at_1(out, j) + (more + (x2 * unit_2(b, k + 2, j) + x3 * unit_2(b, k + 3, j))))
    for k in range(whole, x.size):
        x0 = at_1(x, k)
        for j in range(n):
            put_1(out, j, at_1(out, j) + x0 * unit_2(b, k, j))


@linked(error_model="numpy", fastmath={"reassoc", "contract"})
def _put_dots(out, a, x):
    """`out = a @ x`, whose rows lie in order, four of them at a time."""
    n = x.size
    whole = a.shape[0] // 4 * 4
    for i in range(0, whole, 4):
        t0 = t1 = t2 = t3 = x.dtype.type(0)
        for k in range(n):
            y = unit_1(x, k)
            t0 += unit_2(a, i, k) * y
            t1 += unit_2(a, i + 1, k) * y
            t2 += unit_2(a, i + 2, k) * y
            t3 += unit_2(a, i + 3, k) * y
        put_1(out, i, t0)
        put_1(out, i + 1, t1)
        put_1(out, i + 2, t2)
        put_1(out, i + 3, t3)
    for i in range(whole, a.shape[0]):
        t0 = x.dtype.type(0)
        for k in range(n):
            t0 += unit_2(a, i, k) * unit_1(x, k)
        put_1(out, i, t0)


@linked(error_model="numpy")
def _times(x, b, out):
    """`out += x @ b`, reading `b` along its rows if these lie in order, else along its columns."""
    if b.strides[1] == b.itemsize:
        _add_rows(out, x, b)
    elif b.strides[0] == b.itemsize:
        _put_dots(out, b.T, x if x.strides[0] == x.itemsize else loose(x.copy()))
    else:
        for j in range(b.shape[1]):
            out[j] += _dot(x, b[:, j])


@linked(error_model="numpy")
def dot_12(a, b):
    if a.size != b.shape[0]:
        raise ValueError
    out = np.zeros(b.shape[1], a.dtype)
    _times(loose(a), loose(b), loose(out))
    return out


@linked(error_model="numpy")
def dot_21(a, b):
    return dot_12(b, a.T)


@linked(error_model="numpy", fastmath={"contract"})
def _add_products(out, a, b):
    """`out += a @ b`, along the rows of `b`, which lie in order."""
    n, depth = b.shape[1], b.shape[0]
    whole = depth // 4 * 4
    for i in range(a.shape[0]):
        for k in range(0, whole, 4):
            x0, x1, x2, x3 = at_2(a, i, k), at_2(a, i, k + 1), at_2(a, i, k + 2), at_2(a, i, k + 3)
            for j in range(n):
                more = x0 * unit_2(b, k, j) + x1 * unit_2(b, k + 1, j)
                more += x2 * unit_2(b, k + 2, j) + x3 * unit_2(b, k + 3, j)
                put_2(out, i, j, unit_2(out, i, j) + more)
        for k in range(whole, depth):
            x0 = at_2(a, i, k)
            for j in range(n):
                put_2(out, i, j, unit_2(out, i, j) + x0 * unit_2(b, k, j))


@linked(error_model="numpy")
def _times_2(out, a, b):
    """`out += a @ b`."""
    _add_products(out, a, b if b.strides[1] == b.itemsize else loose(b.copy()))


@linked(error_model="numpy")
def dot_22(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError
    out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    _times_2(loose(out), loose(a), loose(b))
    return out


FUNCTIONS: dict[str, Any] = {name: value for name, value in list(globals().items()) if isinstance(value, type(dot))}
FUNCTIONS |= {"loose": loose, "fused": fused}
FUNCTIONS |= {f"at_{n}": _reader(n) for n in range(1, MAX_AXES + 1)}
FUNCTIONS |= {"unit_1": unit_1, "unit_2": unit_2}
FUNCTIONS |= {f"put_{n}": _writer(n) for n in range(1, MAX_AXES + 1)}
