"""Integer functions with NumPy's semantics: arithmetic wraps, x / 0 is 0, a shift past the width empties the word."""

from __future__ import annotations

from .registry import INTEGERS, SIGNED, UNSIGNED, library

library(
    '''
def square_T(a):
    """a * a, wrapping."""
    return mul_T(a, a)


def maximum_T(a, b):
    """The larger one."""
    return select_T(a > b, a, b)


def minimum_T(a, b):
    """The smaller one."""
    return select_T(a < b, a, b)


def fmax_T(a, b):
    """The larger one."""
    return maximum_T(a, b)


def fmin_T(a, b):
    """The smaller one."""
    return minimum_T(a, b)


def clamp_T(low, x, high):
    """x limited to [low, high]."""
    return minimum_T(maximum_T(x, low), high)


def conj_T(a):
    """a: a real number is its own conjugate."""
    return a


def isnan_T(a):
    """False: no integer is NaN."""
    return a != a


def isinf_T(a):
    """False: no integer is infinite."""
    return a != a


def is_finite_T(a):
    """True: every integer is finite."""
    return a == a


def logical_not_T(a):
    """Whether a is zero."""
    return a == T_type(0)


def rint_T(a):
    """a, a whole number already."""
    return a


def floor_T(a):
    """a, a whole number already."""
    return a


def ceil_T(a):
    """a, a whole number already."""
    return a


def trunc_T(a):
    """a, a whole number already."""
    return a


def add_reassoc_T(acc, a):
    """acc + a, wrapping."""
    return add_T(acc, a)


def mul_reassoc_T(acc, a):
    """acc * a, wrapping."""
    return mul_T(acc, a)


def shift_left_T(a, b):
    """a << b; 0 where b is not in [0, width)."""
    shifted = raw_shl_T(a, and_T(b, T_type(LAST_BIT)))
    return select_T(b >= T_type(0), select_T(b <= T_type(LAST_BIT), shifted, T_type(0)), T_type(0))


def shift_right_logical_T(a, b):
    """a >> b, filling with zeros; 0 where b is not in [0, width)."""
    shifted = raw_lshr_T(a, and_T(b, T_type(LAST_BIT)))
    return select_T(b >= T_type(0), select_T(b <= T_type(LAST_BIT), shifted, T_type(0)), T_type(0))


def pow_T(a, b):
    """a**b by repeated squaring, wrapping. For b < 0: 1 / a**-b without its fraction, 0 for a = 0."""
    result = T_type(1)
    base = a
    exponent = b
    while exponent > T_type(0):
        odd = and_T(exponent, T_type(1)) != T_type(0)
        result = select_T(odd, mul_T(result, base), result)
        base = mul_T(base, base)
        exponent = raw_lshr_T(exponent, T_type(1))
    negative = b < T_type(0)
    return select_T(negative, pow_of_unit_T(a, b), result)


def lcm_T(a, b):
    """The least common multiple of |a| and |b|, wrapping; 0 if either is 0."""
    divisor = gcd_T(a, b)
    return mul_T(T_type(raw_div_U(U_type(abs_T(a)), U_type(maximum_one_T(divisor)))), abs_T(b))


def maximum_one_T(a):
    """a, but 1 for 0."""
    return select_T(a == T_type(0), T_type(1), a)
''',
    INTEGERS,
)

library(
    '''
def abs_T(a):
    """|a|; the least number, which has no counterpart, stays."""
    return select_T(a < T_type(0), neg_T(a), a)


def reciprocal_T(a):
    """1 / a without its fraction: 0 but for 1 and -1, and what NumPy's conversion of infinity gives for 0."""
    unit = select_T(a == T_type(1), T_type(1), select_T(a == T_type(-1), T_type(-1), T_type(0)))
    return select_T(a == T_type(0), T_type(OF_ZERO), unit)


def sign_T(a):
    """-1, 0 or 1."""
    return select_T(a > T_type(0), T_type(1), select_T(a < T_type(0), T_type(-1), T_type(0)))


def signbit_T(a):
    """Whether a < 0."""
    return a < T_type(0)


def shift_right_arithmetic_T(a, b):
    """a >> b, filling with the sign, which is all that is left where b is not in [0, width)."""
    shift = select_T(b >= T_type(0), select_T(b <= T_type(LAST_BIT), b, T_type(LAST_BIT)), T_type(LAST_BIT))
    return raw_ashr_T(a, shift)


def population_count_T(a):
    """How many bits of |a| are set."""
    return np.uint8(raw_ctpop_T(abs_T(a)))


def divmod_safe_T(b):
    """A divisor that no division traps on: 1 in place of 0 and -1."""
    return select_T(b == T_type(0), T_type(1), select_T(b == T_type(-1), T_type(1), b))


def floor_divide_T(a, b):
    """a // b, rounded down; 0 for b = 0; wraps for the least number // -1."""
    divisor = divmod_safe_T(b)
    quotient = quotient_T(a, divisor)
    remainder = sub_T(a, mul_T(quotient, divisor))
    below = select_T(remainder != T_type(0), xor_T(remainder, divisor), T_type(0)) < T_type(0)
    quotient = select_T(below, sub_T(quotient, T_type(1)), quotient)
    quotient = select_T(b == T_type(-1), neg_T(a), quotient)
    return select_T(b == T_type(0), T_type(0), quotient)


def rem_T(a, b):
    """The remainder with the sign of a; 0 for b = 0."""
    divisor = divmod_safe_T(b)
    return sub_T(a, mul_T(quotient_T(a, divisor), divisor))


def mod_T(a, b):
    """The remainder with the sign of b; 0 for b = 0."""
    divisor = divmod_safe_T(b)
    remainder = sub_T(a, mul_T(quotient_T(a, divisor), divisor))
    other_side = select_T(remainder != T_type(0), xor_T(remainder, divisor), T_type(0)) < T_type(0)
    return select_T(other_side, add_T(remainder, divisor), remainder)


def pow_of_unit_T(a, b):
    """a**b for b < 0 without its fraction: only 1 and -1 leave anything."""
    odd = and_T(b, T_type(1)) != T_type(0)
    of_minus_one = select_T(odd, T_type(-1), T_type(1))
    return select_T(a == T_type(1), T_type(1), select_T(a == T_type(-1), of_minus_one, T_type(0)))


def gcd_T(a, b):
    """The greatest common divisor, positive."""
    x = U_type(abs_T(a))
    y = U_type(abs_T(b))
    while y != U_type(0):
        rest = raw_rem_U(x, y)
        x = y
        y = rest
    return T_type(x)
''',
    SIGNED,
    # What x86 converts infinity to, in 32 or 64 bits, cut to the dtype.
    {short: {"OF_ZERO": str({"i32": -(2**31), "i64": -(2**63)}.get(short, 0))} for short in SIGNED},
)

library(
    '''
def abs_T(a):
    """a, which has no sign."""
    return a


def reciprocal_T(a):
    """1 / a without its fraction: 0 but for 1."""
    return select_T(a == T_type(1), T_type(1), T_type(0))


def sign_T(a):
    """0 or 1."""
    return select_T(a == T_type(0), T_type(0), T_type(1))


def signbit_T(a):
    """False: a has no sign."""
    return a < T_type(0)


def shift_right_arithmetic_T(a, b):
    """a >> b, filling with zeros, for an unsigned a."""
    return shift_right_logical_T(a, b)


def population_count_T(a):
    """How many bits are set."""
    return np.uint8(raw_ctpop_T(a))


def floor_divide_T(a, b):
    """a // b; 0 for b = 0."""
    return select_T(b == T_type(0), T_type(0), quotient_T(a, maximum_one_T(b)))


def rem_T(a, b):
    """The remainder; 0 for b = 0."""
    divisor = maximum_one_T(b)
    return sub_T(a, mul_T(quotient_T(a, divisor), divisor))


def mod_T(a, b):
    """The remainder; 0 for b = 0."""
    return rem_T(a, b)


def pow_of_unit_T(a, b):
    """Never needed: b is not negative."""
    return a


def gcd_T(a, b):
    """The greatest common divisor."""
    x = a
    y = b
    while y != T_type(0):
        rest = raw_rem_T(x, y)
        x = y
        y = rest
    return x
''',
    UNSIGNED,
)

# Processors divide vectors of floats, not of integers. The quotient of two 32-bit integers differs from a whole number
# by at least 2**-32 of itself or not at all, so that rounding it to a float64 cannot move it across one.
library(
    '''
def quotient_T(a, b):
    """a / b without its fraction; b is not 0."""
    return T_type(np.int64(np.float64(a) / np.float64(b)))
''',
    ("u32",),
)
library(
    '''
def quotient_T(a, b):
    """a / b without its fraction; b is not 0."""
    return T_type(np.int32(np.float64(a) / np.float64(b)))
''',
    ("i32",),
)
library(
    '''
def quotient_T(a, b):
    """a / b without its fraction; b is not 0."""
    return T_type(np.int32(np.float32(a) / np.float32(b)))
''',
    ("i8", "i16", "u8", "u16"),
)
library(
    '''
def quotient_T(a, b):
    """a / b without its fraction; b is not 0."""
    return raw_div_T(a, b)
''',
    ("i64", "u64"),
)

library(
    '''
def maximum_T(a, b):
    """Whether either is true."""
    return a | b


def minimum_T(a, b):
    """Whether both are true."""
    return a & b


def fmax_T(a, b):
    """Whether either is true."""
    return a | b


def fmin_T(a, b):
    """Whether both are true."""
    return a & b


def clamp_T(low, x, high):
    """x limited to [low, high]."""
    return (x | low) & high


def abs_T(a):
    """a."""
    return a


def conj_T(a):
    """a."""
    return a


def logical_not_T(a):
    """Whether a is false."""
    return not_T(a)


def isnan_T(a):
    """False: no boolean is NaN."""
    return a != a


def isinf_T(a):
    """False: no boolean is infinite."""
    return a != a


def is_finite_T(a):
    """True: every boolean is finite."""
    return a == a


def add_reassoc_T(acc, a):
    """acc + a, as NumPy adds booleans: whether either is true."""
    return acc | a


def mul_reassoc_T(acc, a):
    """acc * a: whether both are true."""
    return acc & a
''',
    ("bool",),
)
