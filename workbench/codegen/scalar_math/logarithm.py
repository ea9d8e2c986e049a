"""log, log2, log10, log1p.

x = 2**k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); with s = f / (2 + f), log(1 + f) = 2 atanh(s) is
f - f**2/2 + s * (f**2/2 + s**2 * P(s**2)) (Tang, 1990; FDLIBM): the rounding of s touches only a small term.
The polynomials are fitted by tests/codegen/scalar_math/fit_polynomials.py.
"""

from __future__ import annotations

from .registry import FLOATS, library

VALUES = {
    "f64": dict(
        LN2_HIGH="0.6931471805599453", LN2_LOW="2.3190468138462996e-17",
        # bits(1) - bits(sqrt(1/2)) brings 1 + f in range; the bits of 2**52 make a float of a small integer.
        TO_RANGE="0x95F619980C433", SQRT_HALF="0x3FE6A09E667F3BCD", WHOLE="0x4330000000000000",
        WHOLE_BIASED="4503599627371519.0", SUBNORMAL_SCALE="1.8014398509481984e16",
        WHOLE_BIASED_SUBNORMAL="4503599627371573.0", EXPONENTS="2046", TINY="5.551115123125783e-17",
        INV_LN2_HIGH="1.4426950408889634", INV_LN2_LOW="2.0355273740931033e-17",
        INV_LN10_HIGH="0.4342944819032518", INV_LN10_LOW="1.098319650216765e-17",
        LOG10_2_HIGH="0.3010299956639812", LOG10_2_LOW="-2.8037281277851704e-18", BEYOND="9007199254740992.0",
    ),
    "f32": dict(
        LN2_HIGH="0.6931471824645996", LN2_LOW="-1.904654323148236e-09",
        TO_RANGE="0x4AFB0D", SQRT_HALF="0x3F3504F3", WHOLE="0x4B000000",
        WHOLE_BIASED="8388735.0", SUBNORMAL_SCALE="33554432.0",
        WHOLE_BIASED_SUBNORMAL="8388760.0", EXPONENTS="254", TINY="2.9802322387695312e-08",
        INV_LN2_HIGH="1.4426950216293335", INV_LN2_LOW="1.9259629911267257e-08",
        INV_LN10_HIGH="0.4342944920063019", INV_LN10_LOW="-1.0103049952192578e-08",
        LOG10_2_HIGH="0.3010300099849701", LOG10_2_LOW="-1.4320989024361534e-08", BEYOND="16777216.0",
    ),
}  # fmt: skip

POLYNOMIALS = {
    # (2 atanh(s) / s - 2) / s**2 in powers of s**2, for |s| <= (sqrt(2) - 1) / (sqrt(2) + 1)
    "LOG": {
        "f64": (
            0.6666666666666735, 0.39999999999408714, 0.2857142874392778, 0.2222219839618926, 0.18183574410070558,
            0.15313771715341742, 0.14798934462943558,
        ),
        "f32": (0.6666666269302368, 0.40000852942466736, 0.2850997745990753, 0.2403116673231125),
    },
}  # fmt: skip

library(
    '''
def log_exponent_T(x):
    """The k of x = 2**k * (1 + f), for positive finite x."""
    subnormal = x < T_type(SMALLEST_NORMAL)
    pattern = add_I(bits_T(select_T(subnormal, x * T_type(SUBNORMAL_SCALE), x)), TO_RANGE)
    whole = from_bits_T(or_I(raw_lshr_I(pattern, MANTISSA_BITS), WHOLE))
    return whole - select_T(subnormal, T_type(WHOLE_BIASED_SUBNORMAL), T_type(WHOLE_BIASED))


def log_fraction_T(x):
    """The f of x = 2**k * (1 + f), for positive finite x."""
    subnormal = x < T_type(SMALLEST_NORMAL)
    pattern = add_I(bits_T(select_T(subnormal, x * T_type(SUBNORMAL_SCALE), x)), TO_RANGE)
    return from_bits_T(add_I(and_I(pattern, MANTISSA), SQRT_HALF)) - T_type(1.0)


def log_edges_T(x, result):
    """`result` for positive finite x, and what every logarithm gives elsewhere."""
    below = select_T(x == T_type(0.0), T_type(-math.inf), T_type(math.nan))
    return select_T(x > T_type(0.0), select_T(x < T_type(math.inf), result, x), below)


def log_T(x):
    """The natural logarithm. At most 1 ULP."""
    k = log_exponent_T(x)
    f = log_fraction_T(x)
    s = f / (T_type(2.0) + f)
    z = s * s
    q = polynomial(z, LOG)
    half_square = T_type(0.5) * f * f
    rest = fma_T(s, fma_T(z, q, half_square), k * T_type(LN2_LOW))
    return log_edges_T(x, fma_T(k, T_type(LN2_HIGH), f - (half_square - rest)))


def log2_T(x):
    """The logarithm to base 2. At most 1 ULP."""
    k = log_exponent_T(x)
    f = log_fraction_T(x)
    s = f / (T_type(2.0) + f)
    z = s * s
    q = polynomial(z, LOG)
    half_square = T_type(0.5) * f * f
    high = f - half_square
    low = ((f - high) - half_square) + s * fma_T(z, q, half_square)
    scaled = high * T_type(INV_LN2_HIGH)
    rest = fma_T(high, T_type(INV_LN2_HIGH), negative_T(scaled))
    rest = rest + fma_T(low, T_type(INV_LN2_HIGH), high * T_type(INV_LN2_LOW))
    total = k + scaled
    return log_edges_T(x, total + (((k - total) + scaled) + rest))


def log10_T(x):
    """The logarithm to base 10. At most 1 ULP."""
    k = log_exponent_T(x)
    f = log_fraction_T(x)
    s = f / (T_type(2.0) + f)
    z = s * s
    q = polynomial(z, LOG)
    half_square = T_type(0.5) * f * f
    high = f - half_square
    low = ((f - high) - half_square) + s * fma_T(z, q, half_square)
    scaled = high * T_type(INV_LN10_HIGH)
    rest = fma_T(high, T_type(INV_LN10_HIGH), negative_T(scaled))
    rest = rest + fma_T(low, T_type(INV_LN10_HIGH), high * T_type(INV_LN10_LOW))
    whole = k * T_type(LOG10_2_HIGH)
    rest = rest + fma_T(k, T_type(LOG10_2_LOW), fma_T(k, T_type(LOG10_2_HIGH), negative_T(whole)))
    total = whole + scaled
    return log_edges_T(x, total + (((whole - total) + scaled) + rest))


def log1p_T(x):
    """log(1 + x), accurate near 0. At most 1.5 ULP."""
    u = T_type(1.0) + x
    pattern = add_I(bits_T(u), TO_RANGE)
    exponent = raw_lshr_I(pattern, MANTISSA_BITS)
    k = from_bits_T(or_I(exponent, WHOLE)) - T_type(WHOLE_BIASED)
    # (1 + x) / 2**k - 1 from x itself, since 1 + x has been rounded; far out that makes no difference.
    inverse = from_bits_T(raw_shl_I(sub_I(EXPONENTS, exponent), MANTISSA_BITS))
    f = fma_T(x, inverse, inverse - T_type(1.0))
    far = from_bits_T(add_I(and_I(pattern, MANTISSA), SQRT_HALF)) - T_type(1.0)
    f = select_T(x < T_type(BEYOND), f, far)
    s = f / (T_type(2.0) + f)
    z = s * s
    q = polynomial(z, LOG)
    half_square = T_type(0.5) * f * f
    rest = fma_T(s, fma_T(z, q, half_square), k * T_type(LN2_LOW))
    result = fma_T(k, T_type(LN2_HIGH), f - (half_square - rest))
    return select_T(fabs_T(x) < T_type(TINY), x, log_edges_T(u, result))
''',
    FLOATS,
    VALUES,
    POLYNOMIALS,
)
