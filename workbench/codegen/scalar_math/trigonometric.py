"""sin, cos, tan and their inverses.

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
    ),
    "f32": dict(
        SHIFT="12582912.0", INV_PI="0.31830987334251404", LAST_BIT="31",
        PI_1="3.1415927410125732", PI_2="-8.742277657347586e-08", PI_3="-3.430249528085309e-15",
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
''',
    FLOATS,
    _VALUES,
    _POLYNOMIALS,
)
