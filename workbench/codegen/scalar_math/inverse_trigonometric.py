"""asin, acos, atan, atan2.

asin beyond 1/2 goes through the half angle, asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)); atan through one division that
leaves |t| <= tan(pi / 8) around 0, pi/4 or pi/2. Constants are added in two parts, the rounding error of the first step
with the second. The polynomials are fitted by tests/codegen/scalar_math/fit_polynomials.py.
"""

from __future__ import annotations

from .registry import FLOATS, library

_VALUES = {
    "f64": dict(
        PIO2_1="1.5707963267948966", PIO2_2="6.123233995736766e-17", PIO4_1="0.7853981633974483",
        PIO4_2="3.061616997868383e-17", PI_1="3.141592653589793", PI_2="1.2246467991473532e-16",
        THREE_PIO4_1="2.356194490192345", THREE_PIO4_2="9.184850993605148e-17",
        TAN_EIGHTH="0.41421356237309503", TAN_THREE_EIGHTHS="2.414213562373095", HUGE="4e307",
    ),
    "f32": dict(
        PIO2_1="1.5707963705062866", PIO2_2="-4.371138828673793e-08", PIO4_1="0.7853981852531433",
        PIO4_2="-2.1855694143368964e-08", PI_1="3.1415927410125732", PI_2="-8.742277657347586e-08",
        THREE_PIO4_1="2.356194496154785", THREE_PIO4_2="-5.962440319251527e-09",
        TAN_EIGHTH="0.41421356797218323", TAN_THREE_EIGHTHS="2.4142136573791504", HUGE="8e37",
    ),
}  # fmt: skip

_POLYNOMIALS = {
    # (asin(s) / s - 1) / s**2 in powers of s**2, for |s| <= 1 / 2
    "ASIN": {
        "f64": (
            0.16666666666665383, 0.07500000000342912, 0.04464285682358548, 0.03038195932719455, 0.02237175361714892,
            0.017359769737036228, 0.01388461157509433, 0.012173196025144608, 0.00651120201312204, 0.0195729817993205,
            -0.016292666888793134, 0.03195802937542163,
        ),
        "f32": (0.16666753590106964, 0.07495252788066864, 0.04547590762376785, 0.0241528507322073, 0.04221042990684509),
    },
    # (atan(t) / t - 1) / t**2 in powers of t**2, for |t| <= tan(pi / 8)
    "ATAN": {
        "f64": (
            -0.33333333333333326, 0.19999999999997256, -0.14285714285347498, 0.11111111086101241, -0.09090908080809681,
            0.07692281503811614, -0.06666210327385927, 0.05876877147312165, -0.05217557809642348, 0.04500390827343711,
            -0.03340646336981576, 0.015130884650556198,
        ),
        "f32": (
            -0.33333316445350647, 0.1999853253364563, -0.14244501292705536, 0.10600018501281738, -0.06092129275202751,
        ),
    },
}  # fmt: skip

library(
    '''
def asin_T(x):
    """The inverse sine; NaN beyond 1. At most 2 ULP."""
    magnitude = fabs_T(x)
    far = magnitude > T_type(0.5)
    z = select_T(far, T_type(0.5) - T_type(0.5) * magnitude, x * x)
    s = select_T(far, sqrt_T(z), magnitude)
    q = polynomial(z, ASIN)
    tail = s * z * q
    double = s + s
    high = T_type(PIO2_1) - double
    low = (T_type(PIO2_1) - high) - double
    beyond = high + (low + (T_type(PIO2_2) - (tail + tail)))
    return copysign_T(select_T(far, beyond, s + tail), x)


def acos_T(x):
    """The inverse cosine; NaN beyond 1. At most 2 ULP."""
    magnitude = fabs_T(x)
    far = magnitude > T_type(0.5)
    z = select_T(far, T_type(0.5) - T_type(0.5) * magnitude, x * x)
    s = select_T(far, sqrt_T(z), x)
    q = polynomial(z, ASIN)
    tail = s * z * q
    high = T_type(PIO2_1) - s
    low = (T_type(PIO2_1) - high) - s
    complement = high + (low + (T_type(PIO2_2) - tail))
    double = T_type(2.0) * select_T(x < T_type(0.0), complement, s + tail)
    return select_T(far, double, complement)


def atan_T(x):
    """The inverse tangent. At most 2 ULP."""
    magnitude = fabs_T(x)
    far = magnitude > T_type(TAN_THREE_EIGHTHS)
    middle = magnitude > T_type(TAN_EIGHTH)
    dividend = select_T(far, T_type(-1.0), select_T(middle, magnitude - T_type(1.0), magnitude))
    divisor = select_T(far, magnitude, select_T(middle, magnitude + T_type(1.0), T_type(1.0)))
    high = select_T(far, T_type(PIO2_1), select_T(middle, T_type(PIO4_1), T_type(0.0)))
    low = select_T(far, T_type(PIO2_2), select_T(middle, T_type(PIO4_2), T_type(0.0)))
    t = dividend / divisor
    z = t * t
    q = polynomial(z, ATAN)
    return copysign_T(high + (t + fma_T(t * z, q, low)), x)


def atan2_T(y, x):
    """The angle of the point (x, y), from -pi to pi, signed zeros and infinities as in C. At most 2 ULP."""
    steep = fabs_T(y) > fabs_T(x)
    larger = select_T(steep, fabs_T(y), fabs_T(x))
    smaller = select_T(steep, fabs_T(x), fabs_T(y))
    diagonal = smaller == T_type(math.inf)
    larger = select_T(diagonal, T_type(1.0), larger)
    smaller = select_T(diagonal, T_type(1.0), smaller)
    scale = select_T(larger > T_type(HUGE), T_type(0.25), T_type(1.0))
    larger = larger * scale
    smaller = smaller * scale
    middle = smaller > T_type(TAN_EIGHTH) * larger
    t = select_T(middle, smaller - larger, smaller) / select_T(middle, smaller + larger, larger)
    t = select_T(larger == T_type(0.0), T_type(0.0), t)
    left = bits_T(x) < I_type(0)
    t = from_bits_T(xor_I(bits_T(t), select_I(left, I_type(SIGN), I_type(0))))
    t = select_T(steep, negative_T(t), t)
    # t is the angle from the axis or the diagonal whose angle is `high + low`.
    on_diagonal = select_T(left, T_type(THREE_PIO4_1), T_type(PIO4_1))
    on_axis = select_T(steep, T_type(PIO2_1), select_T(left, T_type(PI_1), T_type(0.0)))
    high = select_T(middle, on_diagonal, on_axis)
    on_diagonal = select_T(left, T_type(THREE_PIO4_2), T_type(PIO4_2))
    on_axis = select_T(steep, T_type(PIO2_2), select_T(left, T_type(PI_2), T_type(0.0)))
    low = select_T(middle, on_diagonal, on_axis)
    z = t * t
    q = polynomial(z, ATAN)
    result = copysign_T(high + (t + fma_T(t * z, q, low)), y)
    return select_T(x == x, select_T(y == y, result, y), x)
''',
    FLOATS,
    _VALUES,
    _POLYNOMIALS,
)
