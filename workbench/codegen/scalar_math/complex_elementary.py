"""Elementary functions of complex numbers, from the real ones: exponentials, logarithms, roots, circular, hyperbolic.

The formulas are those of Kahan (1987) and CPython's cmath, without their branches. Branch cuts, zeros, infinities and
NaN are NumPy's, which are those of C's Annex G.
"""

from __future__ import annotations

from .registry import COMPLEXES, library

_VALUES = {
    "c128": dict(
        LARGE_EXPONENT="700.0", SCALE="1.0142320547350045e304", INV_LN2="1.4426950408889634",
        INV_LN10="0.4342944819032518", LN2="0.6931471805599453", HUGE="4.4e307", HUGE_ROOT="1e300", TINY_ROOT="1e-290",
        UP="3.2451855365842673e32", UP_LOG="74.8598955004741", DOWN="3.0814879110195774e-33",
        UP_HALF="1.8014398509481984e16", DOWN_HALF="5.551115123125783e-17", SATURATION="22.0", FAR="1e100",
    ),
    "c64": dict(
        LARGE_EXPONENT="80.0", SCALE="5.5406223843935098e34", INV_LN2="1.4426950216293335",
        INV_LN10="0.4342944920063019", LN2="0.6931471824645996", HUGE="8e37", HUGE_ROOT="1e33", TINY_ROOT="1e-30",
        UP="281474976710656.0", UP_LOG="33.27106466687737", DOWN="3.552713678800501e-15", UP_HALF="16777216.0",
        DOWN_HALF="5.960464477539063e-08", SATURATION="10.0", FAR="1e15",
    ),
}  # fmt: skip

library(
    '''
def unless_zero_R(a, b):
    """a * b, but a zero a stays itself where b is infinite or NaN."""
    product = a * b
    return select_R((a == R_type(0.0)) & (b - b != R_type(0.0)), a, product)


def exp_T(z):
    """e**z. At most 4 ULP of |e**z|."""
    x, y = z.real, z.imag
    # e**x may overflow where its products with cos(y) and sin(y) do not.
    large = x > R_type(LARGE_EXPONENT)
    e = exp_R(select_R(large, x - R_type(LARGE_EXPONENT), x))
    scale = select_R(large, R_type(SCALE), R_type(1.0))
    real = e * cos_R(y) * scale
    imag = select_R(y == R_type(0.0), y, e * sin_R(y) * scale)
    # For an infinite x and no definite y: 0 or infinity beside NaN
    lost = (fabs_R(x) == R_type(math.inf)) & (y - y != R_type(0.0))
    real = select_R(lost, e, real)
    return complex(real, select_R(lost & (x < R_type(0.0)), copysign_R(e, y), imag))


def exp2_T(z):
    """2**z. At most 4 ULP of |2**z| and of z."""
    return exp_T(complex(z.real * R_type(LN2), z.imag * R_type(LN2)))


def expm1_T(z):
    """e**z - 1, accurate near 0. At most 4 ULP of its modulus."""
    x, y = z.real, z.imag
    half = sin_R(R_type(0.5) * y)
    return complex(expm1_R(x) * cos_R(y) - R_type(2.0) * half * half, exp_R(x) * sin_R(y))


def log_modulus_R(x, y):
    """log(sqrt(x**2 + y**2)), accurate near 1 and without overflow."""
    larger = maximum_R(fabs_R(x), fabs_R(y))
    smaller = minimum_R(fabs_R(x), fabs_R(y))
    # Near the unit circle x**2 + y**2 - 1 in twice the precision
    square = larger * larger
    error = fma_R(larger, larger, negative_R(square)) + fma_R(smaller, smaller, negative_R(smaller * smaller))
    excess = ((square - R_type(1.0)) + smaller * smaller) + error
    near = R_type(0.5) * log1p_R(excess)
    down = larger > R_type(HUGE)
    up = larger < R_type(TINY_ROOT)
    scale = select_R(down, R_type(DOWN), select_R(up, R_type(UP), R_type(1.0)))
    offset = select_R(down, R_type(UP_LOG), select_R(up, R_type(-UP_LOG), R_type(0.0)))
    far = log_R(hypot_R(larger * scale, smaller * scale)) + offset
    result = select_R((larger > R_type(0.4)) & (larger < R_type(2.0)), near, far)
    infinite = (fabs_R(x) == R_type(math.inf)) | (fabs_R(y) == R_type(math.inf))
    return select_R(infinite, R_type(math.inf), result)


def log_T(z):
    """The natural logarithm, cut along the negative reals. At most 4 ULP in each part."""
    return complex(log_modulus_R(z.real, z.imag), atan2_R(z.imag, z.real))


def log2_T(z):
    """The logarithm to base 2. At most 4 ULP in each part."""
    w = log_T(z)
    return complex(w.real * R_type(INV_LN2), w.imag * R_type(INV_LN2))


def log10_T(z):
    """The logarithm to base 10. At most 4 ULP in each part."""
    w = log_T(z)
    return complex(w.real * R_type(INV_LN10), w.imag * R_type(INV_LN10))


def log1p_T(z):
    """log(1 + z). At most 4 ULP in each part."""
    x, y = z.real, z.imag
    far = log_modulus_R(x + R_type(1.0), y)
    # |1 + z|**2 - 1 = 2 x + x**2 + y**2 in twice the precision
    double, x_square, y_square = x + x, x * x, y * y
    error = fma_R(x, x, negative_R(x_square)) + fma_R(y, y, negative_R(y_square))
    first = double + y_square
    moved = first - double
    error = error + ((double - (first - moved)) + (y_square - moved))
    excess = first + x_square
    moved = excess - first
    error = error + ((first - (excess - moved)) + (x_square - moved))
    excess = excess + error
    close = (excess > R_type(-0.5)) & (excess < R_type(3.0))
    real = select_R(close, R_type(0.5) * log1p_R(excess), far)
    return complex(real, atan2_R(y, x + R_type(1.0)))


def sqrt_T(z):
    """The square root in the right half plane. At most 4 ULP in each part."""
    x, y = z.real, z.imag
    larger = maximum_R(fabs_R(x), fabs_R(y))
    down = larger > R_type(HUGE_ROOT)
    up = larger < R_type(TINY_ROOT)
    scale = select_R(down, R_type(DOWN), select_R(up, R_type(UP), R_type(1.0)))
    back = select_R(down, R_type(UP_HALF), select_R(up, R_type(DOWN_HALF), R_type(1.0)))
    a, b = fabs_R(x) * scale, fabs_R(y) * scale
    t = sqrt_R(R_type(0.5) * (a + hypot_R(a, b)))
    other = select_R(t == R_type(0.0), b, b / (t + t))
    t = t * back
    other = other * back
    left = x < R_type(0.0)
    real = select_R(left, other, t)
    imag = copysign_R(select_R(left, t, other), y)
    # C: an infinite y gives (inf, y); x = -inf gives (0, inf), x = inf gives (inf, 0), in the quadrant of y.
    positive = x == R_type(math.inf)
    real = select_R(positive, x, select_R(x == R_type(-math.inf), y - y, real))
    imag = select_R(positive, (y - y) * copysign_R(R_type(1.0), y), imag)
    imag = select_R(x == R_type(-math.inf), copysign_R(R_type(math.inf), y), imag)
    infinite = fabs_R(y) == R_type(math.inf)
    return complex(select_R(infinite, R_type(math.inf), real), select_R(infinite, y, imag))


def hyperbolic_T(z):
    """sinh x + i cosh x of the real part x while that is not too large, else both over SCALE."""
    x = z.real
    large = fabs_R(x) > R_type(LARGE_EXPONENT)
    e = R_type(0.5) * exp_R(fabs_R(x) - R_type(LARGE_EXPONENT))
    return complex(select_R(large, copysign_R(e, x), sinh_R(x)), select_R(large, e, cosh_R(x)))


def sinh_T(z):
    """The hyperbolic sine. At most 4 ULP in each part."""
    x, y = z.real, z.imag
    w = hyperbolic_T(z)
    scale = select_R(fabs_R(x) > R_type(LARGE_EXPONENT), R_type(SCALE), R_type(1.0))
    real = unless_zero_R(w.real, cos_R(y)) * scale
    imag = unless_zero_R(sin_R(y), w.imag) * scale
    infinite = (fabs_R(x) == R_type(math.inf)) & (y - y != R_type(0.0))
    return complex(select_R(infinite, fabs_R(x), real), imag)


def cosh_T(z):
    """The hyperbolic cosine. At most 4 ULP in each part."""
    x, y = z.real, z.imag
    w = hyperbolic_T(z)
    scale = select_R(fabs_R(x) > R_type(LARGE_EXPONENT), R_type(SCALE), R_type(1.0))
    real = w.imag * cos_R(y) * scale
    sine = sin_R(y)
    level = select_R(y - y == R_type(0.0), copysign_R(R_type(0.0), x * sine), R_type(0.0))
    imag = select_R(x == R_type(0.0), level, w.real * sine * scale)
    level = select_R(x == x, copysign_R(R_type(0.0), copysign_R(R_type(1.0), x) * y), y)
    imag = select_R(y == R_type(0.0), level, imag)
    infinite = (fabs_R(x) == R_type(math.inf)) & (y - y != R_type(0.0))
    return complex(select_R(infinite, fabs_R(x), real), imag)


def tanh_T(z):
    """The hyperbolic tangent. At most 4 ULP in each part."""
    x, y = z.real, z.imag
    # sinh, cosh and the circular functions of one point (Kahan): no part is lost by cancellation.
    t = tan_R(y)
    beta = fma_R(t, t, R_type(1.0))
    saturated = fabs_R(x) > R_type(SATURATION)
    s = sinh_R(select_R(saturated, copysign_R(R_type(1.0), x), x))
    rho = sqrt_R(fma_R(s, s, R_type(1.0)))
    divisor = fma_R(beta * s, s, R_type(1.0))
    real = beta * rho * s / divisor
    imag = t / divisor
    e = exp_R(negative_R(fabs_R(x)))
    sine, cosine = sin_R(y), cos_R(y)
    infinite = fabs_R(x) == R_type(math.inf)
    product = select_R(infinite & (y - y != R_type(0.0)), copysign_R(R_type(0.0), y), sine * cosine)
    far = R_type(4.0) * product * e * e
    end = copysign_R(R_type(1.0), x)
    real = select_R(saturated, select_R(infinite, end, end + (y - y)), real)
    imag = select_R(saturated, far, imag)
    return complex(select_R(x == R_type(0.0), x, real), select_R(y == R_type(0.0), y, imag))


def times_i_T(z):
    """i * z."""
    return complex(negative_R(z.imag), z.real)


def over_i_T(z):
    """z / i."""
    return complex(z.imag, negative_R(z.real))


def sin_T(z):
    """The sine. At most 4 ULP in each part."""
    w = over_i_T(sinh_T(times_i_T(z)))
    infinite = (fabs_R(z.imag) == R_type(math.inf)) & (z.real - z.real != R_type(0.0))
    return complex(w.real, select_R(infinite, R_type(math.inf), w.imag))


def cos_T(z):
    """The cosine. At most 4 ULP in each part."""
    return cosh_T(times_i_T(z))


def tan_T(z):
    """The tangent. At most 4 ULP in each part."""
    return over_i_T(tanh_T(times_i_T(z)))


def larger_part_R(x, y):
    """The larger of |x| and |y|: infinity beside NaN is infinity."""
    infinite = (fabs_R(x) == R_type(math.inf)) | (fabs_R(y) == R_type(math.inf))
    return select_R(infinite, R_type(math.inf), maximum_R(fabs_R(x), fabs_R(y)))


def asinh_T(z):
    """The inverse hyperbolic sine. At most 6 ULP in each part."""
    x, y = z.real, z.imag
    a = sqrt_T(complex(R_type(1.0) + y, negative_R(x)))
    b = sqrt_T(complex(R_type(1.0) - y, x))
    real = asinh_R(fma_R(a.real, b.imag, negative_R(b.real * a.imag)))
    imag = atan2_R(y, fma_R(a.real, b.real, negative_R(a.imag * b.imag)))
    far = larger_part_R(x, y) > R_type(HUGE_ROOT)
    real = select_R(far, copysign_R(log_modulus_R(x, y) + R_type(LN2), x), real)
    imag = select_R(far, atan2_R(y, fabs_R(x)), imag)
    return complex(real, select_R(y == R_type(0.0), y, imag))


def acosh_T(z):
    """The inverse hyperbolic cosine, cut below 1. At most 6 ULP in each part."""
    x, y = z.real, z.imag
    a = sqrt_T(complex(x - R_type(1.0), y))
    b = sqrt_T(complex(x + R_type(1.0), y))
    real = asinh_R(fma_R(a.real, b.real, a.imag * b.imag))
    imag = R_type(2.0) * atan2_R(a.imag, b.real)
    far = larger_part_R(x, y) > R_type(HUGE_ROOT)
    real = select_R(far, log_modulus_R(x, y) + R_type(LN2), real)
    imag = select_R((x == R_type(0.0)) & (y != y), R_type(1.5707963267948966), imag)
    return complex(real, select_R(far, atan2_R(y, x), imag))


def acos_T(z):
    """The inverse cosine. At most 6 ULP in each part."""
    x, y = z.real, z.imag
    a = sqrt_T(complex(R_type(1.0) - x, negative_R(y)))
    b = sqrt_T(complex(R_type(1.0) + x, y))
    real = R_type(2.0) * atan2_R(a.real, b.real)
    imag = asinh_R(fma_R(b.real, a.imag, negative_R(b.imag * a.real)))
    far = larger_part_R(x, y) > R_type(HUGE_ROOT)
    real = select_R(far, atan2_R(fabs_R(y), x), real)
    real = select_R((x == R_type(0.0)) & (y != y), R_type(1.5707963267948966), real)
    return complex(real, select_R(far, copysign_R(log_modulus_R(x, y) + R_type(LN2), negative_R(y)), imag))


def asin_T(z):
    """The inverse sine. At most 6 ULP in each part."""
    w = over_i_T(asinh_T(times_i_T(z)))
    return complex(select_R(z.real == R_type(0.0), z.real, w.real), w.imag)


def atanh_T(z):
    """The inverse hyperbolic tangent. At most 6 ULP in each part."""
    x, y = fabs_R(z.real), z.imag
    far = larger_part_R(x, y) > R_type(FAR)
    height = fabs_R(y)
    # (1 - x)**2 + y**2 and (1 - x) (1 + x) - y**2
    below = R_type(1.0) - x
    distance = fma_R(below, below, height * height)
    near = R_type(0.25) * log1p_R(R_type(4.0) * x / distance)
    # On the pole's own line the quotient may overflow.
    pole = (x == R_type(1.0)) & (height < R_type(DOWN_HALF))
    near = select_R(pole, negative_R(log_R(sqrt_R(height) / sqrt_R(hypot_R(height, R_type(2.0))))), near)
    imag = R_type(0.5) * atan2_R(R_type(2.0) * y, fma_R(below, R_type(1.0) + x, negative_R(height * height)))
    larger = larger_part_R(x, height)
    ratio = minimum_R(x, height) / larger
    distant = select_R(x < height, ratio, R_type(1.0)) / larger / fma_R(ratio, ratio, R_type(1.0))
    distant = select_R(larger == R_type(math.inf), R_type(0.0), distant)
    real = copysign_R(select_R(far, distant, near), z.real)
    real = select_R(x == R_type(0.0), z.real, real)
    return complex(real, select_R(far & (y == y), copysign_R(R_type(1.5707963267948966), y), imag))


def atan_T(z):
    """The inverse tangent. At most 6 ULP in each part."""
    return over_i_T(atanh_T(times_i_T(z)))


def plain_mul_T(a, b):
    """a * b in separate steps, as NumPy multiplies a power out."""
    return complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


def unit_part_R(x, y):
    """A part x of an infinite number, whose other part is y, as 1 or 0 with its sign; any other x."""
    size = select_R(fabs_R(x) == R_type(math.inf), R_type(1.0), R_type(0.0))
    infinite = (fabs_R(x) == R_type(math.inf)) | (fabs_R(y) == R_type(math.inf))
    return select_R(infinite, copysign_R(size, x), x)


def c_mul_T(z, w):
    """z * w by C's Annex G: a product with an infinity is an infinity, whatever the other parts are."""
    a, b, c, d = z.real, z.imag, w.real, w.imag
    real = a * c - b * d
    imag = a * d + b * c
    left = isinf_T(z)
    right = isinf_T(w)
    overflow = (fabs_R(a * c) == R_type(math.inf)) | (fabs_R(b * d) == R_type(math.inf))
    overflow = overflow | (fabs_R(a * d) == R_type(math.inf)) | (fabs_R(b * c) == R_type(math.inf))
    # An infinite factor makes zeros of what is NaN in the other one; without any, an infinite product does so in both.
    zeros_left = right | (overflow & not_bool(left))
    zeros_right = left | (overflow & not_bool(right))
    recovered = (real != real) & (imag != imag) & (left | right | overflow)
    zeros = right | (overflow & not_bool(left))
    a, b = unit_part_R(a, b), unit_part_R(b, a)
    c, d = unit_part_R(c, d), unit_part_R(d, c)
    a = select_R(zeros_left & (a != a), copysign_R(R_type(0.0), a), a)
    b = select_R(zeros_left & (b != b), copysign_R(R_type(0.0), b), b)
    c = select_R(zeros_right & (c != c), copysign_R(R_type(0.0), c), c)
    d = select_R(zeros_right & (d != d), copysign_R(R_type(0.0), d), d)
    real = select_R(recovered, R_type(math.inf) * (a * c - b * d), real)
    return complex(real, select_R(recovered, R_type(math.inf) * (a * d + b * c), imag))


def pow_whole_T(z, w):
    """z**w for whole w between -100 and 100, multiplied out as NumPy does it. At most 200 ULP."""
    n = w.real
    bits = I_type(fabs_R(n))
    power = complex(R_type(1.0), R_type(0.0))
    base = z
POWERS
    power = select_parts_T(n < R_type(0.0), div_T(complex(R_type(1.0), R_type(0.0)), power), power)
    few = (n >= R_type(0.0)) & (n < R_type(4.0))  # NumPy does not multiply these by 1, which would spoil infinities
    squared = plain_mul_T(z, z)
    first = select_parts_T(n == R_type(1.0), z, select_parts_T(n == R_type(2.0), squared, plain_mul_T(z, squared)))
    power = select_parts_T(few, first, power)
    of_zero = select_R(n > R_type(0.0), R_type(0.0), R_type(math.nan))
    power = select_parts_T(logical_not_T(z), complex(of_zero, of_zero), power)
    return select_parts_T(n == R_type(0.0), complex(R_type(1.0), R_type(0.0)), power)


def pow_T(z, w):
    """z**w: by multiplication for whole w between -100 and 100, as NumPy, else exp(w log z), as C."""
    result = exp_T(c_mul_T(w, log_T(z)))
    whole = (w.imag == R_type(0.0)) & (trunc_R(w.real) == w.real) & (fabs_R(w.real) < R_type(100.0))
    result = select_parts_T(whole, pow_whole_T(z, complex(select_R(whole, w.real, R_type(0.0)), R_type(0.0))), result)
    of_zero = select_R(w.real > R_type(0.0), R_type(0.0), R_type(math.nan))
    return select_parts_T(logical_not_T(z) & not_bool(logical_not_T(w)), complex(of_zero, of_zero), result)
'''.replace(
        "POWERS",
        "\n".join(
            f"    power = select_parts_T(and_I(bits, {1 << bit}) != I_type(0), plain_mul_T(power, base), power)\n"
            f"    base = plain_mul_T(base, base)"
            for bit in range(7)
        ),
    ),
    COMPLEXES,
    _VALUES,
)
