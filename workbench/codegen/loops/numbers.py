"""Numbers in translated loops: Python's checked arithmetic, and what rounding loses.

What would raise in Python raises here, whatever the class: the caller runs the code again in Python, which raises the
right one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from .linked import linked, linked_in

_LEAST, _MOST = -(2**63), 2**63 - 1


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


@linked(error_model="numpy", forceinline=True)
def unless_both(a, b, equal):
    """Whether items of tuples are equal. Two NaNs are where they are one object, which is not known."""
    if a != a and b != b:
        raise ValueError
    return equal


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


@linked(error_model="numpy")
def round_of_python(x, n):
    """`round(x, n)` of a float: of the number that it is exactly, halves to even, to the nearest float there is."""
    if not math.isfinite(x) or n >= 0 and abs(x) >= 2.0**52:
        return x
    if n < 0 or n > 22:  # powers of ten that floats hold
        raise ValueError
    factor = 1.0
    for _ in range(n):
        factor *= 10.0
    scaled = abs(x) * factor
    if scaled >= 2.0**52:
        raise ValueError
    # What rounding took from the product (T. J. Dekker, Numerische Mathematik 18, 224-242, 1971).
    a = abs(x) * 134217729.0
    a -= a - abs(x)
    b = factor * 134217729.0
    b -= b - factor
    rest = ((a * b - scaled) + a * (factor - b) + (abs(x) - a) * b) + (abs(x) - a) * (factor - b)
    whole = math.floor(scaled)
    over = (scaled - whole) - 0.5
    if over > 0 or over == 0 and (rest > 0 or rest == 0 and whole % 2 == 1):
        whole += 1
    return math.copysign(whole / factor, x)


@linked(error_model="numpy", forceinline=True)
def times(z, w):
    # numba compiles its own product of complex numbers once, as whoever comes first has it: steps may be fused.
    return complex(z.real * w.real - z.imag * w.imag, z.real * w.imag + z.imag * w.real)


@linked(error_model="numpy", forceinline=True)
def times_itself(z):
    return times(z, z)


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
def root_of_python(a):
    """`a**0.5` of a Python float."""
    if a < 0.0:
        raise ZeroDivisionError
    return math.sqrt(a) + 0.0


@linked(error_model="numpy", forceinline=True)
def larger(a, b):
    return b if b > a else a


@linked(error_model="numpy", forceinline=True)
def smaller(a, b):
    return b if b < a else a


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


def _bits_of(typing_context: Any, x: Any) -> Any:
    """`bits_of(x)`: those of a float64, as an integer."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


bits_of: Any = intrinsic(_bits_of)


FUNCTIONS = linked_in(globals())
FUNCTIONS |= {"fused": fused}
