"""sin, cos, tan.

sin and cos take x to r in [-pi/2, pi/2] by x - q * pi in three parts of pi (Cody and Waite): with a fused multiply-add
the first step is exact, the second keeps its rounding error, and the third is beyond the precision that remains. Where
q grows too long for that the C library is called for those lanes (`slow_paths`).
The polynomials are fitted by tests/codegen/scalar_math/fit_polynomials.py.
"""

from __future__ import annotations

from .registry import FLOATS, library

_VALUES = {
    "f64": dict(
        SHIFT="6755399441055744.0", INV_PI="0.3183098861837907", LAST_BIT="63",
        PI_1="3.141592653589793", PI_2="1.2246467991473532e-16", PI_3="-2.9947698097183397e-33",
        TWO_OVER_PI="0.6366197723675814", PIO2_1="1.5707963267948966", PIO2_2="6.123233995736766e-17",
        PIO2_3="-1.4973849048591698e-33",
    ),
    "f32": dict(
        SHIFT="12582912.0", INV_PI="0.31830987334251404", LAST_BIT="31",
        PI_1="3.1415927410125732", PI_2="-8.742277657347586e-08", PI_3="-3.4302490200117637e-15",
        TWO_OVER_PI="0.6366197466850281", PIO2_1="1.5707963705062866", PIO2_2="-4.371138828673793e-08",
        PIO2_3="-1.7151245100058819e-15",
    ),
}  # fmt: skip

_POLYNOMIALS = {
    # (sin(r) / r - 1) / r**2 in powers of r**2, for |r| <= pi / 2
    "SIN": {
        "f64": (
            -0.16666666666666666, 0.00833333333333322, -0.00019841269841218556, 2.7557319212002773e-06,
            -2.5052106750365513e-08, 1.605890603132978e-10, -7.639889452133514e-13, 2.577161678639543e-15,
            3.3889732210347495e-17, -3.2181808309682015e-18,
        ),
        "f32": (
            -0.1666666716337204, 0.00833334680646658, -0.00019842410983983427, 2.75878142019792e-06,
            -2.478368443803447e-08,
        ),
    },
    # the same for |r| <= pi / 4, and (cos(r) - 1 + r**2 / 2) / r**4
    "SIN_QUARTER": {
        "f64": (
            -0.1666666666666663, 0.008333333333321856, -0.00019841269829378428, 2.75573135471884e-06,
            -2.5050735956512358e-08, 1.58955338322014e-10,
        ),
        "f32": (-0.16666653752326965, 0.008332118391990662, -0.0001951042504515499),
    },
    "COS_QUARTER": {
        "f64": (
            0.041666666666666595, -0.0013888888888873403, 2.4801587289056113e-05, -2.755731423407072e-07,
            2.0875707663326546e-09, -1.1358857042742855e-11,
        ),
        "f32": (0.04166664555668831, -0.0013887310633435845, 2.4432512873318046e-05),
    },
}  # fmt: skip

library(
    '''
def sin_T(x):
    """The sine. At most 2 ULP."""
    shifted = fma_T(x, T_type(INV_PI), T_type(SHIFT))
    q = shifted - T_type(SHIFT)
    high = fma_T(q, T_type(-PI_1), x)
    middle = q * T_type(PI_2)
    r = high - middle
    low = ((high - r) - middle) - fma_T(q, T_type(PI_2), negative_T(middle))
    low = fma_T(q, T_type(-PI_3), low)
    z = r * r
    p = polynomial(z, SIN)
    # sin(r + low) = sin(r) + low * cos(r), with a coarse cosine
    y = r + fma_T(r * z, p, low * fma_T(z, T_type(-0.40528473456935109), T_type(1.0)))
    y = from_bits_T(xor_I(bits_T(y), raw_shl_I(bits_T(shifted), LAST_BIT)))
    return sin_or_slow_T(x, select_T(x == T_type(0.0), x, y))


def cos_T(x):
    """The cosine. At most 2 ULP."""
    shifted = fma_T(x, T_type(INV_PI), T_type(-0.5)) + T_type(SHIFT)
    q = (shifted - T_type(SHIFT)) + T_type(0.5)
    high = fma_T(q, T_type(-PI_1), x)
    middle = q * T_type(PI_2)
    r = high - middle
    low = ((high - r) - middle) - fma_T(q, T_type(PI_2), negative_T(middle))
    low = fma_T(q, T_type(-PI_3), low)
    z = r * r
    p = polynomial(z, SIN)
    # cos(q * pi + r) is -sin(r) for an even q - 1/2.
    y = r + fma_T(r * z, p, low * fma_T(z, T_type(-0.40528473456935109), T_type(1.0)))
    y = from_bits_T(xor_I(bits_T(negative_T(y)), raw_shl_I(bits_T(shifted), LAST_BIT)))
    return cos_or_slow_T(x, y)


def tan_T(x):
    """The tangent. At most 2 ULP."""
    shifted = fma_T(x, T_type(TWO_OVER_PI), T_type(SHIFT))
    q = shifted - T_type(SHIFT)
    high = fma_T(q, T_type(-PIO2_1), x)
    middle = q * T_type(PIO2_2)
    r = high - middle
    low = ((high - r) - middle) - fma_T(q, T_type(PIO2_2), negative_T(middle))
    low = fma_T(q, T_type(-PIO2_3), low)
    z = r * r
    half = T_type(0.5) * z
    p = polynomial(z, SIN_QUARTER)
    rest = fma_T(r * z, p, low - low * half)
    sine = r + rest
    sine_low = (r - sine) + rest
    p = polynomial(z, COS_QUARTER)
    near = T_type(1.0) - half
    rest = ((T_type(1.0) - near) - half) + fma_T(z * z, p, negative_T(r * low))
    cosine = near + rest
    cosine_low = (near - cosine) + rest
    # sin / cos, or -cos / sin for an odd q; the quotient once more for its remainder and the low parts
    odd = and_I(bits_T(shifted), 1) != I_type(0)
    dividend = select_T(odd, negative_T(cosine), sine)
    dividend_low = select_T(odd, negative_T(cosine_low), sine_low)
    divisor = select_T(odd, sine, cosine)
    divisor_low = select_T(odd, sine_low, cosine_low)
    inverse = T_type(1.0) / divisor
    y = dividend * inverse
    rest = fma_T(negative_T(y), divisor, dividend) + (dividend_low - y * divisor_low)
    y = fma_T(rest, inverse, y)
    return tan_or_slow_T(x, select_T(x == T_type(0.0), x, y))
''',
    FLOATS,
    _VALUES,
    _POLYNOMIALS,
)
