"""exp, exp2, expm1 and what is made of them: tanh, sinh, cosh, logistic.

exp(x) = 2**k * exp(r) with k = x / ln 2 rounded and |r| <= ln(2) / 2. k is rounded by adding and subtracting
1.5 * 2**52 (f32: 2**23), and its low bits then make the exponent of 2**k: conversions to integers would not vectorise
before AVX-512.
The polynomials are fitted by tests/codegen/scalar_math/fit_polynomials.py.
"""

from __future__ import annotations

from .registry import FLOATS, library

VALUES = {
    "f64": dict(
        SHIFT="6755399441055744.0", SHIFT_BIASED="6755399441056767.0", SHIFT_HALVED="6755399441056766.0",
        LOG2E="1.4426950408889634", LN2_HIGH="0.6931471805599453", LN2_LOW="2.3190468138462996e-17",
        EXP_LARGEST="709.8", EXP_LEAST="-746.0", EXP2_LARGEST="1024.5", EXP2_LEAST="-1076.0", EXPM1_LEAST="-40.0",
        TINY="5.551115123125783e-17", SATURATION="22.0", COSH_LARGEST="710.8",
    ),
    "f32": dict(
        SHIFT="12582912.0", SHIFT_BIASED="12583039.0", SHIFT_HALVED="12583038.0",
        LOG2E="1.4426950216293335", LN2_HIGH="0.6931471824645996", LN2_LOW="-1.904654323148236e-09",
        EXP_LARGEST="88.8", EXP_LEAST="-104.0", EXP2_LARGEST="128.5", EXP2_LEAST="-151.0", EXPM1_LEAST="-20.0",
        TINY="2.9802322387695312e-08", SATURATION="10.0", COSH_LARGEST="89.6",
    ),
}  # fmt: skip

POLYNOMIALS = {
    # (exp(r) - 1 - r) / r**2 for |r| <= ln(2) / 2
    "EXP": {
        "f64": (
            0.5000000000000011, 0.16666666666666427, 0.04166666666652666, 0.00833333333348526, 0.0013888888944483143,
            0.0001984126952658657, 2.4801492254612782e-05, 2.755756827862485e-06, 2.763054109415707e-07,
            2.50058899214072e-08,
        ),
        "f32": (
            0.4999999403953552, 0.1666651964187622, 0.04166823998093605, 0.008368823677301407, 0.0013823213521391153,
        ),
    },
    # (2**r - 1) / r for |r| <= 1 / 2
    "EXP2": {
        "f64": (
            0.6931471805599453, 0.24022650695910133, 0.055504108664822326, 0.009618129107593408, 0.0013333558146362335,
            0.00015403530457956338, 1.525273382405715e-05, 1.321543487652104e-06, 1.0178078932539403e-07,
            7.073851488025141e-09, 4.45113961801654e-10,
        ),
        "f32": (
            0.6931471824645996, 0.24022643268108368, 0.05550358444452286, 0.009618998505175114, 0.0013391495449468493,
            0.00015198577602859586,
        ),
    },
}  # fmt: skip

library(
    '''
def times_power_of_two_T(p, k):
    """p * 2**k for p near 1 and k, a whole number, from below the subnormal range to beyond the largest number."""
    # In two factors, since 2**k alone may be out of range; only the second product can round.
    half = fma_T(k, T_type(0.5), T_type(SHIFT_BIASED))
    rest = (k - (half - T_type(SHIFT_BIASED))) + T_type(SHIFT_BIASED)
    first = from_bits_T(raw_shl_I(bits_T(half), MANTISSA_BITS))
    second = from_bits_T(raw_shl_I(bits_T(rest), MANTISSA_BITS))
    return p * first * second


def exp_T(x):
    """e**x. At most 1.05 ULP."""
    x = select_T(x > T_type(EXP_LARGEST), T_type(EXP_LARGEST), x)
    x = select_T(x < T_type(EXP_LEAST), T_type(EXP_LEAST), x)
    k = fma_T(x, T_type(LOG2E), T_type(SHIFT)) - T_type(SHIFT)
    r = fma_T(k, T_type(-LN2_LOW), fma_T(k, T_type(-LN2_HIGH), x))
    q = polynomial(r, EXP)
    return times_power_of_two_T(T_type(1.0) + fma_T(r * r, q, r), k)


def exp2_T(x):
    """2**x. At most 1 ULP."""
    x = select_T(x > T_type(EXP2_LARGEST), T_type(EXP2_LARGEST), x)
    x = select_T(x < T_type(EXP2_LEAST), T_type(EXP2_LEAST), x)
    k = rint_T(x)
    r = x - k
    q = polynomial(r, EXP2)
    return times_power_of_two_T(fma_T(r, q, T_type(1.0)), k)


def expm1_T(x):
    """e**x - 1, accurate near 0. At most 1.7 ULP."""
    y = select_T(x > T_type(EXP_LARGEST), T_type(EXP_LARGEST), x)
    y = select_T(y < T_type(EXPM1_LEAST), T_type(EXPM1_LEAST), y)
    k = fma_T(y, T_type(LOG2E), T_type(SHIFT)) - T_type(SHIFT)
    high = fma_T(k, T_type(-LN2_HIGH), y)
    r = fma_T(k, T_type(-LN2_LOW), high)
    low = fma_T(k, T_type(-LN2_LOW), high - r)
    q = polynomial(r, EXP)
    p = r + fma_T(r * r, q, low)
    # 2**(k - 1), so that k = 1024 is in range.
    scale = from_bits_T(raw_shl_I(bits_T(k + T_type(SHIFT_HALVED)), MANTISSA_BITS))
    return select_T(fabs_T(x) < T_type(TINY), x, T_type(2.0) * fma_T(scale, p, scale - T_type(0.5)))


def tanh_T(x):
    """The hyperbolic tangent. At most 2 ULP."""
    y = fabs_T(x)
    y = T_type(2.0) * select_T(y > T_type(SATURATION), T_type(SATURATION), y)
    k = fma_T(y, T_type(LOG2E), T_type(SHIFT)) - T_type(SHIFT)
    r = fma_T(k, T_type(-LN2_LOW), fma_T(k, T_type(-LN2_HIGH), y))
    q = polynomial(r, EXP)
    scale = from_bits_T(raw_shl_I(bits_T(k + T_type(SHIFT_BIASED)), MANTISSA_BITS))
    t = fma_T(scale, fma_T(r * r, q, r), scale - T_type(1.0))  # e**2|x| - 1
    divisor = t + T_type(2.0)
    inverse = T_type(1.0) / divisor
    result = t * inverse
    # The quotient once more for its remainder, with what rounding took from the divisor.
    rest = fma_T(negative_T(result), divisor, t) - result * (t - (divisor - T_type(2.0)))
    return copysign_T(fma_T(rest, inverse, result), x)


def half_expm1_T(x):
    """(e**x - 1) / 2 for 0 <= x, infinite only where sinh is."""
    y = select_T(x > T_type(COSH_LARGEST), T_type(COSH_LARGEST), x)
    k = fma_T(y, T_type(LOG2E), T_type(SHIFT)) - T_type(SHIFT)
    high = fma_T(k, T_type(-LN2_HIGH), y)
    r = fma_T(k, T_type(-LN2_LOW), high)
    low = fma_T(k, T_type(-LN2_LOW), high - r)
    q = polynomial(r, EXP)
    p = r + fma_T(r * r, q, low)
    quarter = from_bits_T(raw_shl_I(bits_T((k - T_type(1.0)) + T_type(SHIFT_HALVED)), MANTISSA_BITS))  # 2**(k - 2)
    return T_type(2.0) * fma_T(quarter, p, quarter - T_type(0.25))


def sinh_T(x):
    """The hyperbolic sine. At most 2 ULP."""
    y = fabs_T(x)
    e = half_expm1_T(y)
    double = e + e
    share = e / (double + T_type(1.0))
    # e + share, or where e is small 2 e - 2 e * share, to which the division's rounding contributes little
    result = select_T(e < T_type(0.25), fma_T(negative_T(double), share, double), e + share)
    result = select_T(y > T_type(SATURATION), e + T_type(0.5), result)
    return copysign_T(select_T(y < T_type(TINY), y, result), x)


def cosh_T(x):
    """The hyperbolic cosine. At most 1.5 ULP."""
    y = fabs_T(x)
    y = select_T(y > T_type(COSH_LARGEST), T_type(COSH_LARGEST), y)
    k = fma_T(y, T_type(LOG2E), T_type(SHIFT)) - T_type(SHIFT)
    r = fma_T(k, T_type(-LN2_LOW), fma_T(k, T_type(-LN2_HIGH), y))
    q = polynomial(r, EXP)
    p = T_type(1.0) + fma_T(r * r, q, r)
    e = p * from_bits_T(raw_shl_I(bits_T((k - T_type(1.0)) + T_type(SHIFT_HALVED)), MANTISSA_BITS))  # e**|x| / 4
    return T_type(2.0) * e + T_type(0.125) / e


def logistic_T(x):
    """1 / (1 + e**-x). At most 1.5 ULP."""
    y = negative_T(fabs_T(x))
    y = select_T(y < T_type(EXP_LEAST), T_type(EXP_LEAST), y)
    k = fma_T(y, T_type(LOG2E), T_type(SHIFT)) - T_type(SHIFT)
    high = fma_T(k, T_type(-LN2_HIGH), y)
    r = fma_T(k, T_type(-LN2_LOW), high)
    low = fma_T(k, T_type(-LN2_LOW), high - r)
    q = polynomial(r, EXP)
    e = times_power_of_two_T(T_type(1.0) + (r + fma_T(r * r, q, low)), k)
    dividend = select_T(x < T_type(0.0), e, T_type(1.0))
    divisor = T_type(1.0) + e
    inverse = T_type(1.0) / divisor
    result = dividend * inverse
    rest = fma_T(negative_T(result), divisor, dividend) - result * (e - (divisor - T_type(1.0)))
    return fma_T(rest, inverse, result)
''',
    FLOATS,
    VALUES,
    POLYNOMIALS,
)
