"""erf and erfc.

Near zero erf is an odd polynomial. Far out erfc(x) = exp(-x**2) * P(t) / (x + c) with t = (x - c) / (x + c), where P is
smooth (Shepherd and Laframboise, 1981); the rounding of x**2 is put back into the exponent.
The polynomials are fitted by tests/codegen/scalar_math/fit_polynomials.py.
"""

from __future__ import annotations

from .exponential import POLYNOMIALS, VALUES
from .registry import FLOATS, library

_POLYNOMIALS = {
    # erf(x) / x - 1 in powers of x**2, for |x| <= 1
    "ERF": {
        "f64": (
            0.1283791670955126, -0.3761263890318388, 0.1128379167095905, -0.02686617064567906, 0.0052239776296761145,
            -0.0008548327222675797, 0.00012055338967278785, -1.4925766619097283e-05, 1.6463530091776465e-06,
            -1.6375247774750918e-07, 1.481696605790619e-08, -1.1945918457836858e-09, 6.876179745049828e-11,
        ),
        "f32": (
            0.12837916612625122, -0.3761262893676758, 0.11283618956804276, -0.02685517445206642, 0.005190844647586346,
            -0.0008031835895963013, 7.924130477476865e-05,
        ),
    },
    # erfc(x) * exp(x**2) * (x + c) in powers of (x - c) / (x + c), for x from 1 to where erf is 1
    "FAR": {
        "f64": (
            1.0740069070883398, -0.883394453169888, 0.5902283571040603, -0.310467261899591, 0.11952776129180644,
            -0.02682723468646797, -0.0012124168433194126, 0.003034063663779634, -0.0005483042692269943,
            -0.0002767988187013574, 0.00010748797359402571, 3.0510984473993687e-05, -1.6961660409880044e-05,
            -4.818488551318879e-06, 1.3148635502901342e-06,
        ),
        "f32": (
            1.0215827226638794, -0.6871607899665833, 0.2794705033302307, -0.0364338755607605, -0.021474283188581467,
            0.006321607623249292, 0.0028048574458807707,
        ),
    },
    # the same for x from 1 to where erfc underflows, without the constant term
    "ERFC": {
        "f64": (
            -0.9765487290808819, 0.7732087022652487, -0.540853831313253, 0.3308515878773943,
            -0.17401093723904917, 0.07638151492342866, -0.02637005336149846, 0.006112055487475432,
            -0.00028095858821742945, -0.0004550515536033496, 0.00017681069870811012, -3.63947811180134e-06,
            -1.8851192827793002e-05, 4.7027834202803295e-06, 1.3981216356531565e-06, -8.500709673194468e-07,
            -3.755255297982443e-08, 1.1198326238527114e-07, -2.216586596487789e-08,
        ),
        "f32": (
            -0.8833944201469421, 0.5902280807495117, -0.31046900153160095, 0.1195296123623848,
            -0.02680087648332119, -0.0012169408146291971, 0.0028871779795736074, -0.0005193810211494565,
        ),
    },
}  # fmt: skip

library(
    '''
def erf_T(x):
    """The error function. At most 1 ULP."""
    size = fabs_T(x)
    size = select_T(size > T_type(ERF_ONE), T_type(ERF_ONE), size)
    z = size * size
    q = polynomial(z, ERF)
    inner = fma_T(size, q, size)
    inverse = T_type(1.0) / (size + T_type(FAR_CENTRE))
    t = (size - T_type(FAR_CENTRE)) * inverse
    q = polynomial(t, FAR)
    factor = q * inverse
    k = fma_T(z, T_type(-LOG2E), T_type(SHIFT)) - T_type(SHIFT)
    r = fma_T(k, T_type(-LN2_LOW), fma_T(k, T_type(-LN2_HIGH), negative_T(z)))
    q = polynomial(r, EXP)
    scale = from_bits_T(raw_shl_I(bits_T(k + T_type(SHIFT_BIASED)), MANTISSA_BITS))
    e = scale * (T_type(1.0) + fma_T(r * r, q, r))
    return copysign_T(select_T(size < T_type(1.0), inner, fma_T(negative_T(e), factor, T_type(1.0))), x)


def erfc_T(x):
    """1 - erf(x), accurate where that is small. At most 2 ULP."""
    size = fabs_T(x)
    size = select_T(size > T_type(ERFC_ZERO), T_type(ERFC_ZERO), size)
    z = size * size
    z_low = fma_T(size, size, negative_T(z))
    q = polynomial(z, ERF)
    # For -1 < x < 1: 1 - x - x * q, with the error of z times a coarse derivative of q
    near = T_type(1.0) - x
    rest = fma_T(T_type(0.3) * x, z_low, (T_type(1.0) - near) - x)
    inner = near + fma_T(negative_T(x), q, rest)
    # Quotients by `divisor` once more for their remainders: t, and P(t) / divisor in two parts
    divisor = size + T_type(ERFC_CENTRE)
    divisor_low = size - (divisor - T_type(ERFC_CENTRE))
    inverse = T_type(1.0) / divisor
    dividend = size - T_type(ERFC_CENTRE)
    dividend_low = size - (dividend + T_type(ERFC_CENTRE))
    t = dividend * inverse
    t = fma_T(fma_T(negative_T(t), divisor, dividend) + (dividend_low - t * divisor_low), inverse, t)
    q = polynomial(t, ERFC)
    top = fma_T(t, q, T_type(ERFC_CONSTANT))
    top_low = fma_T(t, q, T_type(ERFC_CONSTANT) - top)
    factor = top * inverse
    factor_low = (fma_T(negative_T(factor), divisor, top) + (top_low - factor * divisor_low)) * inverse
    k = fma_T(z, T_type(-LOG2E), T_type(SHIFT)) - T_type(SHIFT)
    high = fma_T(k, T_type(-LN2_HIGH), negative_T(z))
    rest = fma_T(k, T_type(-LN2_LOW), negative_T(z_low))
    r = high + rest
    low = (high - r) + rest
    q = polynomial(r, EXP)
    outer = times_power_of_two_T(factor + fma_T(factor, r + fma_T(r * r, q, low), factor_low), k)
    outer = select_T(x < T_type(0.0), T_type(2.0) - outer, outer)
    return select_T(size < T_type(1.0), inner, outer)
''',
    FLOATS,
    {
        "f64": VALUES["f64"]
        | dict(ERF_ONE="6.0", FAR_CENTRE="3.0", ERFC_ZERO="27.5", ERFC_CENTRE="4.0", ERFC_CONSTANT="1.095995661000491"),
        "f32": VALUES["f32"]
        | dict(
            ERF_ONE="4.0", FAR_CENTRE="2.0", ERFC_ZERO="10.25", ERFC_CENTRE="3.0", ERFC_CONSTANT="1.0740069150924683"
        ),
    },
    POLYNOMIALS | _POLYNOMIALS,
)
