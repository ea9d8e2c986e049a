"""Functions of floats that give NumPy's bits: choices, signs, rounding, division with remainder, neighbours.

`fmod`, `mod` and `floor_divide` take one division and one fused multiply-add while the quotient has no more than the
mantissa's bits; beyond that the C library's `fmod` is called for those lanes alone (`slow_paths`).
"""

from __future__ import annotations

from .registry import FLOATS, library

library(
    '''
def add_T(a, b):
    """a + b."""
    return a + b


def sub_T(a, b):
    """a - b."""
    return a - b


def mul_T(a, b):
    """a * b."""
    return a * b


def div_T(a, b):
    """a / b."""
    return a / b


def neg_T(x):
    """-x, which flips the sign of a zero."""
    return negative_T(x)


def abs_T(x):
    """|x|."""
    return fabs_T(x)


def square_T(x):
    """x * x."""
    return x * x


def reciprocal_T(x):
    """1 / x."""
    return T_type(1.0) / x


def conj_T(x):
    """x: a real number is its own conjugate."""
    return x


def sign_T(x):
    """-1, 0 or 1; NaN for NaN."""
    zero_or_nan = select_T(x == x, T_type(0.0), x)
    return select_T(x > T_type(0.0), T_type(1.0), select_T(x < T_type(0.0), T_type(-1.0), zero_or_nan))


def fmax_T(a, b):
    """The larger one, or the one that is not NaN."""
    return select_T(b == b, select_T(a > b, a, b), a)


def fmin_T(a, b):
    """The smaller one, or the one that is not NaN."""
    return select_T(b == b, select_T(a < b, a, b), a)


def clamp_T(low, x, high):
    """x limited to [low, high], x itself where it equals a bound; NaN where any of them is."""
    raised = select_T((x < low) | (low != low), low, x)
    return select_T((raised > high) | (high != high), high, raised)


def heaviside_T(x, at_zero):
    """0 below zero, 1 above, `at_zero` at zero; NaN for NaN."""
    step = select_T(x < T_type(0.0), T_type(0.0), select_T(x > T_type(0.0), T_type(1.0), x))
    return select_T(x == T_type(0.0), at_zero, step)


def isnan_T(x):
    """Whether x is NaN."""
    return x != x


def isinf_T(x):
    """Whether x is infinite."""
    return fabs_T(x) == T_type(math.inf)


def is_finite_T(x):
    """Whether x is neither infinite nor NaN."""
    return fabs_T(x) < T_type(math.inf)


def signbit_T(x):
    """Whether the sign bit is set, of zeros and NaNs too."""
    return bits_T(x) < I_type(0)


def fmod_T(a, b):
    """The remainder of a / b with the sign of a, exactly, as C's fmod."""
    magnitude, divisor = fabs_T(a), fabs_T(b)
    quotient = trunc_T(magnitude / divisor)
    # A quotient rounded up to the next whole number leaves a negative remainder, which is just as exact.
    remainder = fma_T(negative_T(quotient), divisor, magnitude)
    remainder = select_T(remainder < T_type(0.0), remainder + divisor, remainder)
    remainder = select_T(magnitude < divisor, magnitude, remainder)
    return copysign_T(fmod_or_slow_T(magnitude, divisor, quotient, remainder), a)


def rem_T(a, b):
    """The remainder of a / b with the sign of a, exactly, as C's fmod."""
    return fmod_T(a, b)


def mod_T(a, b):
    """The remainder of a / b with the sign of b, as NumPy's remainder and Python's %."""
    remainder = fmod_T(a, b)
    other_side = select_T(b < T_type(0.0), negative_T(remainder), remainder) < T_type(0.0)
    remainder = select_T(remainder == T_type(0.0), copysign_T(T_type(0.0), b), remainder)
    return select_T(other_side, remainder + b, remainder)


def floor_divide_T(a, b):
    """a // b as NumPy rounds it: the quotient that goes with `mod`; a / b for b = 0."""
    remainder = fmod_T(a, b)
    quotient = (a - remainder) / b
    other_side = select_T(b < T_type(0.0), negative_T(remainder), remainder) < T_type(0.0)
    quotient = select_T(other_side, quotient - T_type(1.0), quotient)
    whole = floor_T(quotient)
    whole = select_T(quotient - whole > T_type(0.5), whole + T_type(1.0), whole)
    whole = select_T(quotient == T_type(0.0), copysign_T(T_type(0.0), a / b), whole)
    return select_T(b == T_type(0.0), a / b, whole)


def nextafter_T(x, towards):
    """The neighbour of x on the side of `towards`."""
    pattern = bits_T(x)
    away = (towards > x) == (x > T_type(0.0))
    neighbour = from_bits_T(add_I(pattern, select_I(away, I_type(1), I_type(-1))))
    neighbour = select_T(x == T_type(0.0), copysign_T(from_bits_T(I_type(1)), towards), neighbour)
    neighbour = select_T(x == towards, towards, neighbour)
    return select_T(x == x, select_T(towards == towards, neighbour, towards), x)


def spacing_T(x):
    """The distance to the neighbour away from zero, with the sign of x; NaN for infinities."""
    neighbour = from_bits_T(add_I(bits_T(x), I_type(1)))
    gap = select_T(x == T_type(0.0), from_bits_T(I_type(1)), neighbour - x)
    return select_T(fabs_T(x) < T_type(math.inf), gap, x - x)


def ldexp_T(x, exponent: np.int64):
    """x * 2**exponent, rounded once."""
    n = select_i64(exponent > 3000, 3000, select_i64(exponent < -3000, -3000, exponent))
    # Up to three factors. On the way down each of the first two leaves 54 bits (f32: 25) of room, so that only the last
    # multiplication meets subnormal numbers and rounds.
    up = n > BIAS
    down = n < LOWEST
    x = x * select_T(up, T_type(HUGE), select_T(down, T_type(TINY), T_type(1.0)))
    n = n - select_i64(up, BIAS, select_i64(down, STEP, 0))
    up = n > BIAS
    down = n < LOWEST
    x = x * select_T(up, T_type(HUGE), select_T(down, T_type(TINY), T_type(1.0)))
    n = n - select_i64(up, BIAS, select_i64(down, STEP, 0))
    n = select_i64(n > BIAS, BIAS, select_i64(n < LOWEST, LOWEST, n))
    return x * from_bits_T(raw_shl_I(I_type(n + BIAS), MANTISSA_BITS))


def logical_not_T(x):
    """Whether x is zero."""
    return x == T_type(0.0)
''',
    FLOATS,
    {
        "f64": dict(HUGE="8.98846567431158e307", TINY="2.004168360008973e-292", LOWEST="-1022", STEP="-969"),
        "f32": dict(HUGE="1.7014118346046923e38", TINY="1.9721522630525295e-31", LOWEST="-126", STEP="-102"),
    },
)
