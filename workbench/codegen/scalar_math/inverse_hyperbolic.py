"""asinh, acosh, atanh, and the sums of exponentials: logaddexp, logaddexp2.

asinh and acosh are log1p of an argument that is small where they are; atanh is half the logarithm of the ratio
(1 + x) / (1 - x) = 2**k * (1 + s) / (1 - s), whose s takes one division.
The polynomials are fitted by tests/codegen/scalar_math/fit_polynomials.py.
"""

from __future__ import annotations

from .registry import FLOATS, library

_VALUES = {
    "f64": dict(
        LN2="0.6931471805599453", HALF_LN2_HIGH="0.34657359027997264", HALF_LN2_LOW="1.1595234069231498e-17",
        LARGE="1e18", TINY="5.551115123125783e-17", WHOLE="0x4330000000000000", WHOLE_BIASED="4503599627371519.0",
        ROUNDING="0x3FF8000000000000", LOG2E="1.4426950408889634",
    ),
    "f32": dict(
        LN2="0.6931471824645996", HALF_LN2_HIGH="0.3465735912322998", HALF_LN2_LOW="-9.52327106066796e-10",
        LARGE="1e9", TINY="2.9802322387695312e-08", WHOLE="0x4B000000", WHOLE_BIASED="8388735.0",
        ROUNDING="0x3FC00000", LOG2E="1.4426950216293335",
    ),
}  # fmt: skip

_POLYNOMIALS = {
    # (atanh(s) / s - 1) / s**2 in powers of s**2, for |s| <= 0.2
    "ATANH": {
        "f64": (
            0.333333333333333, 0.20000000000028365, 0.14285714277904465, 0.11111112149558187, 0.0909083284948404,
            0.07695559071341973, 0.0658674488662324, 0.06921904783813514,
        ),
        "f32": (0.3333333134651184, 0.20000457763671875, 0.14252451062202454, 0.12063289433717728),
    },
}  # fmt: skip

library(
    '''
def asinh_T(x):
    """The inverse hyperbolic sine. At most 2 ULP."""
    y = fabs_T(x)
    large = y > T_type(LARGE)
    square = select_T(large, T_type(1.0), y * y)
    argument = y + square / (T_type(1.0) + sqrt_T(square + T_type(1.0)))
    result = log1p_T(select_T(large, y, argument)) + select_T(large, T_type(LN2), T_type(0.0))
    return copysign_T(result, x)


def acosh_T(x):
    """The inverse hyperbolic cosine; NaN below 1. At most 2 ULP."""
    large = x > T_type(LARGE)
    y = select_T(large, T_type(2.0), x) - T_type(1.0)
    root = sqrt_T(fma_T(y, y, y + y))
    argument = root + y
    # What rounding took from the argument, times the derivative 1 / (x + root) = x - root.
    rest = (y - (argument - root)) * ((T_type(1.0) + y) - root)
    rest = select_T(y < T_type(2.0), rest, T_type(0.0))
    result = log1p_T(select_T(large, x, argument)) + select_T(large, T_type(LN2), rest)
    return select_T(x < T_type(1.0), T_type(math.nan), result)


def atanh_T(x):
    """The inverse hyperbolic tangent; NaN beyond 1. At most 2 ULP."""
    y = fabs_T(x)
    above = T_type(1.0) + y
    below = T_type(1.0) - y
    # The difference of bit patterns is nearly the logarithm of the ratio; rounded, it gives k.
    exponent = raw_lshr_I(add_I(sub_I(bits_T(above), bits_T(below)), ROUNDING), MANTISSA_BITS)
    k = from_bits_T(or_I(exponent, WHOLE)) - T_type(WHOLE_BIASED)
    scale = from_bits_T(raw_shl_I(exponent, MANTISSA_BITS))
    near = k == T_type(0.0)
    # above -+ scale * below; for a small y from y itself, since `above` and `below` have been rounded
    small = y < T_type(0.5)
    more, less = T_type(1.0) + scale, T_type(1.0) - scale
    dividend = select_T(small, fma_T(more, y, less), fma_T(negative_T(scale), below, above))
    divisor = select_T(small, fma_T(less, y, more), fma_T(scale, below, above))
    s = select_T(near, y, dividend / divisor)
    z = s * s
    q = polynomial(z, ATANH)
    result = fma_T(k, T_type(HALF_LN2_HIGH), s + fma_T(s * z, q, k * T_type(HALF_LN2_LOW)))
    result = select_T(y < T_type(1.0), result, select_T(y == T_type(1.0), T_type(math.inf), T_type(math.nan)))
    return copysign_T(result, x)


def logaddexp_T(x, y):
    """log(e**x + e**y). At most 2 ULP of the larger of |x|, |y| and the result."""
    larger = select_T(x > y, x, y)
    difference = select_T(x == y, T_type(0.0), negative_T(fabs_T(x - y)))
    result = larger + log1p_T(exp_T(difference))
    return select_T(difference == difference, result, difference)


def logaddexp2_T(x, y):
    """log2(2**x + 2**y). At most 2 ULP of the larger of |x|, |y| and the result."""
    larger = select_T(x > y, x, y)
    difference = select_T(x == y, T_type(0.0), negative_T(fabs_T(x - y)))
    result = fma_T(log1p_T(exp2_T(difference)), T_type(LOG2E), larger)
    result = select_T(x == y, larger + T_type(1.0), result)
    return select_T(difference == difference, result, difference)
''',
    FLOATS,
    _VALUES,
    _POLYNOMIALS,
)
