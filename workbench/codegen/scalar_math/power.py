"""pow, cbrt, hypot.

pow(x, y) = exp(y * log(x)): a float64 logarithm carries about 65 bits in two numbers, since its error is multiplied by
up to 745; a float32 pow works in float64. The polynomials are fitted by tests/codegen/scalar_math/fit_polynomials.py.
"""

from __future__ import annotations

from ...primitives.arithmetic import WHOLE_POWERS
from .exponential import POLYNOMIALS as EXPONENTIAL_POLYNOMIALS
from .exponential import VALUES as EXPONENTIAL_VALUES
from .registry import FLOATS, library

_POLYNOMIALS = {
    # (log((1 + s) / (1 - s)) - 2 s - 2/3 s**3) / s**5 in powers of s**2
    "POW_LOG": {
        "f64": (
            0.4000000000000062, 0.2857142857089622, 0.22222222377250134, 0.18181796793867142, 0.15386190573578742,
            0.1326983591257044, 0.13077450696355383,
        ),
    },
    # log2((1 + s) / (1 - s)) / s in powers of s**2, and 2**r: for float32 results
    "SHORT_LOG2": {
        "f32": (
            2.885390081777849, 0.9617966941152843, 0.5770779417479426, 0.4122093194584637, 0.31990276771133724,
            0.2829443653659478,
        ),
    },
    "SHORT_EXP2": {
        "f32": (
            1.000000000558877, 0.6931472058860844, 0.2402264686595779, 0.055503284520738036, 0.009618490588702127,
            0.0013400062904323658, 0.0001534564589589563,
        ),
    },
    # x**(-1/3) for x in [1, 2], a first guess
    "CBRT": {
        short: (
            1.6699850701788508, -1.1728189155216602, 0.6954189217716081, -0.22120899690445217, 0.028586214666955937,
        )
        for short in FLOATS
    },
}  # fmt: skip

library(
    '''
def pow_edges_T(x, y, magnitude):
    """x**y from `magnitude`, |x|**y for positive finite |x| and finite y, with C's rules for all else."""
    size = fabs_T(x)
    limit = select_T((size > T_type(1.0)) == (y > T_type(0.0)), T_type(math.inf), T_type(0.0))
    limit = select_T(size == T_type(1.0), T_type(1.0), limit)
    edge = (size == T_type(0.0)) | (size == T_type(math.inf)) | (fabs_T(y) == T_type(math.inf))
    magnitude = select_T(edge, limit, magnitude)
    half = T_type(0.5) * y
    whole = trunc_T(y) == y
    odd = whole & (trunc_T(half) != half)
    result = select_T(odd, copysign_T(magnitude, x), magnitude)
    undefined = (x < T_type(0.0)) & (size < T_type(math.inf)) & not_bool(whole)
    result = select_T(undefined, T_type(math.nan), result)
    result = select_T(x == x, select_T(y == y, result, y), x)
    return select_T((y == T_type(0.0)) | (x == T_type(1.0)), T_type(1.0), result)
''',
    FLOATS,
)

library(
    '''
def pow_T(x, y):
    """x**y. At most 1 ULP."""
    size = fabs_T(x)
    k = log_exponent_T(size)
    f = log_fraction_T(size)
    # s = f / (2 + f) with its error
    divisor = T_type(2.0) + f
    inverse = T_type(1.0) / divisor
    s = f * inverse
    s_low = (fma_T(negative_T(s), divisor, f) - s * (f - (divisor - T_type(2.0)))) * inverse
    # s**3 with its error
    z = s * s
    z_low = fma_T(s, s, negative_T(z)) + T_type(2.0) * s * s_low
    cube = z * s
    cube_low = fma_T(z, s, negative_T(cube)) + fma_T(z, s_low, z_low * s)
    # log((1 + s) / (1 - s)) = 2 s + factor * s**3
    q = polynomial(z, POW_LOG)
    rest = z * q
    factor = T_type(TWO_THIRDS) + rest
    factor_low = ((T_type(TWO_THIRDS) - factor) + rest) + T_type(TWO_THIRDS_LOW)
    product = cube * factor
    product_low = fma_T(cube, factor, negative_T(product)) + fma_T(cube, factor_low, cube_low * factor)
    double = s + s
    log_f = double + product
    log_f_low = ((double - log_f) + product) + fma_T(T_type(2.0), s_low, product_low)
    whole = k * T_type(LN2_SHORT)
    log_x = whole + log_f
    log_x_low = ((whole - log_x) + log_f) + fma_T(k, T_type(LN2_REST), log_f_low)
    # exp(y * log x)
    exponent = y * log_x
    exponent_low = fma_T(y, log_x, negative_T(exponent)) + y * log_x_low
    inside = fabs_T(exponent) < T_type(1000.0)
    exponent_low = select_T(inside, exponent_low, T_type(0.0))
    exponent = select_T(inside, exponent, copysign_T(T_type(1000.0), exponent))
    n = fma_T(exponent, T_type(LOG2E), T_type(SHIFT)) - T_type(SHIFT)
    high = fma_T(n, T_type(-LN2_HIGH), exponent)
    rest = fma_T(n, T_type(-LN2_LOW), exponent_low)
    r = high + rest
    low = (high - r) + rest
    q = polynomial(r, EXP)
    return pow_edges_T(x, y, times_power_of_two_T(T_type(1.0) + (r + fma_T(r * r, q, low)), n))
''',
    ("f64",),
    {
        "f64": EXPONENTIAL_VALUES["f64"]
        | dict(
            TWO_THIRDS="0.6666666666666666", TWO_THIRDS_LOW="3.700743415417188e-17",
            # ln 2 with 11 zeros at its end, so that k times it is exact
            LN2_SHORT="0.6931471805598903", LN2_REST="5.497923018708371e-14",
        )
    },
    {**EXPONENTIAL_POLYNOMIALS, **_POLYNOMIALS},
)  # fmt: skip

library(
    '''
def pow_T(x, y):
    """x**y. At most 1 ULP."""
    pattern = add_i64(bits_f64(np.float64(fabs_T(x))), 0x95F619980C433)
    k = from_bits_f64(or_i64(raw_lshr_i64(pattern, 52), 0x4330000000000000)) - 4503599627371519.0
    f = from_bits_f64(add_i64(and_i64(pattern, 0x000FFFFFFFFFFFFF), 0x3FE6A09E667F3BCD)) - 1.0
    s = f / (2.0 + f)
    z = s * s
    q = polynomial_f64(z, SHORT_LOG2)
    exponent = np.float64(y) * fma_f64(s, q, k)
    exponent = select_f64(exponent > 200.0, 200.0, select_f64(exponent < -200.0, -200.0, exponent))
    n = rint_f64(exponent)
    r = exponent - n
    q = polynomial_f64(r, SHORT_EXP2)
    scale = from_bits_f64(raw_shl_i64(bits_f64(n + 6755399441056767.0), 52))
    return pow_edges_T(x, y, np.float32(q * scale))
''',
    ("f32",),
    polynomials=_POLYNOMIALS,
)

library(
    '''
def pow_shared_T(x, y):
    """x**y for a y that is one number for all x: by the square root for y = 1/2, as NumPy. At most 1 ULP."""
    return select_T(y == T_type(0.5), sqrt_T(x), pow_T(x, y))


def pow_half_T(x):
    """x**(1/2). At most 0.5 ULP. Unlike the square root, of -0.0 and -inf it is positive."""
    return select_T(x == T_type(-math.inf), T_type(math.inf), sqrt_T(x) + T_type(0.0))


def pow_three_halves_T(x):
    """x**(3/2). At most 1 ULP."""
    root = sqrt_T(x)
    product = x * root
    # What rounding took from the product, and from the root: x * (x - root**2) / (2 root).
    rest = fma_T(x, root, negative_T(product)) + T_type(0.5) * root * fma_T(negative_T(root), root, x)
    result = select_T(fabs_T(rest) < T_type(math.inf), product + rest, product)
    return select_T(x == T_type(-math.inf), T_type(math.inf), result)


def pow_five_halves_T(x):
    """x**(5/2). At most 1.5 ULP."""
    root = sqrt_T(x)
    square = x * x
    product = square * root
    low = fma_T(fma_T(x, x, negative_T(square)), root, fma_T(square, root, negative_T(product)))
    low = fma_T(T_type(0.5) * x * root, fma_T(negative_T(root), root, x), low)
    result = select_T(fabs_T(low) < product, product + low, fabs_T(product))
    return select_T(x == T_type(-math.inf), T_type(math.inf), result)


def pow_seven_halves_T(x):
    """x**(7/2). At most 1.5 ULP."""
    root = sqrt_T(x)
    square = x * x
    cube = square * x
    cube_low = fma_T(fma_T(x, x, negative_T(square)), x, fma_T(square, x, negative_T(cube)))
    product = cube * root
    low = fma_T(cube_low, root, fma_T(cube, root, negative_T(product)))
    low = fma_T(T_type(0.5) * square * root, fma_T(negative_T(root), root, x), low)
    result = select_T(fabs_T(low) < product, product + low, fabs_T(product))
    return select_T(x == T_type(-math.inf), T_type(math.inf), result)


def pow_quarter_T(x):
    """x**(1/4). At most 1 ULP."""
    return select_T(x == T_type(-math.inf), T_type(math.inf), sqrt_T(sqrt_T(x)) + T_type(0.0))


def pow_minus_half_T(x):
    """x**(-1/2). At most 0.6 ULP."""
    root = sqrt_T(x)
    inverse = T_type(1.0) / root
    # One Newton step, 1 - x * inverse**2 in two parts.
    product = x * inverse
    rest = fma_T(negative_T(product), inverse, T_type(1.0)) - fma_T(x, inverse, negative_T(product)) * inverse
    refined = fma_T(T_type(0.5) * inverse, rest, inverse)
    result = select_T(fabs_T(rest) < T_type(1.0), refined, fabs_T(inverse))
    return select_T(x == T_type(-math.inf), T_type(0.0), result)


def pow_minus_three_halves_T(x):
    """x**(-3/2). At most 1.5 ULP."""
    root = sqrt_T(x)
    inverse = T_type(1.0) / root
    # x * inverse**2 is 1 - rest: x**(-3/2) is inverse**3 * (1 - rest)**(-3/2).
    product = x * inverse
    rest = fma_T(negative_T(product), inverse, T_type(1.0)) - fma_T(x, inverse, negative_T(product)) * inverse
    square = inverse * inverse
    cube = square * inverse
    low = fma_T(square, inverse, negative_T(cube)) + fma_T(inverse, inverse, negative_T(square)) * inverse
    low = fma_T(cube, T_type(1.5) * rest, low)
    refined = cube + low
    result = select_T(fabs_T(low) < cube, refined, fabs_T(cube))
    return select_T(x == T_type(-math.inf), T_type(0.0), result)


def pow_minus_two_T(x):
    """x**-2. At most 1 ULP."""
    inverse = T_type(1.0) / x
    square = inverse * inverse
    # What rounding took from the square, and twice what it took from the inverse.
    rest = fma_T(inverse, inverse, negative_T(square))
    lost = fma_T(negative_T(inverse), x, T_type(1.0))
    rest = fma_T(square, lost + lost, rest)
    return select_T(fabs_T(rest) < square, square + rest, square)
''',
    FLOATS,
)


def _whole_power(n: int) -> str:
    """x**n by repeated squares, each in two numbers, the second of which holds what rounding took from the first."""
    name = f"pow_{n}_T" if n > 0 else f"pow_minus_{-n}_T"
    lines = [f"def {name}(x):", f'    """x**{n}. At most {1 if n > 0 else 1.5} ULP."""']
    if n > 0:
        lines += ["    b = x"]
    else:
        lines += ["    b = T_type(1.0) / x", "    b_low = b * fma_T(negative_T(b), x, T_type(1.0))"]
    high, low, k = "b", "" if n > 0 else "b_low", 0
    for bit in f"{abs(n):b}"[1:]:
        for other in ("itself", "b")[: 1 + int(bit)]:
            k += 1
            by = high if other == "itself" else "b"
            lines.append(f"    h{k} = {high} * {by}")
            rest = f"fma_T({high}, {by}, negative_T(h{k}))"
            if other == "itself":
                rest = f"fma_T({high} + {high}, {low}, {rest})" if low else rest
            else:
                rest = f"fma_T({low}, b, {rest})" if low else rest
                rest = f"fma_T({high}, b_low, {rest})" if n < 0 else rest
            lines.append(f"    l{k} = {rest}")
            high, low = f"h{k}", f"l{k}"
    lines.append(f"    return select_T(fabs_T({low}) < fabs_T({high}), {high} + {low}, {high})")
    return "\n" + "\n".join(lines) + "\n"


for _n in WHOLE_POWERS:
    library(_whole_power(_n), FLOATS)

library(
    '''
def cbrt_T(x):
    """The cube root. At most 1 ULP."""
    size = fabs_T(x)
    subnormal = size < T_type(SMALLEST_NORMAL)
    pattern = bits_T(select_T(subnormal, size * T_type(SUBNORMAL_SCALE), size))
    k = from_bits_T(or_I(raw_lshr_I(pattern, MANTISSA_BITS), WHOLE)) - T_type(WHOLE_BIASED)
    third = floor_T(fma_T(k, T_type(0.3333333333333333), T_type(0.1)))
    left = k - T_type(3.0) * third
    m = from_bits_T(or_I(and_I(pattern, MANTISSA), ONE))
    guess = polynomial(m, CBRT)
    m = m * select_T(left == T_type(0.0), T_type(1.0), select_T(left == T_type(1.0), T_type(2.0), T_type(4.0)))
    step = select_T(left == T_type(1.0), T_type(0.7937005259840998), T_type(0.6299605249474366))
    guess = select_T(left == T_type(0.0), guess, guess * step)
    # One step for m**(-1/3), to third order, and one for the root itself, which corrects all rounding before it.
    e = fma_T(negative_T(m * guess * guess), guess, T_type(1.0))
    guess = fma_T(guess * e, fma_T(e, T_type(0.2222222222222222), T_type(0.3333333333333333)), guess)
    root = m * guess * guess
    square = root * root
    excess = fma_T(square, root, negative_T(m)) + fma_T(root, root, negative_T(square)) * root
    root = fma_T(excess * guess * guess, T_type(-0.3333333333333333), root)
    third = third - select_T(subnormal, T_type(SUBNORMAL_THIRD), T_type(0.0))
    root = root * from_bits_T(raw_shl_I(bits_T(third + T_type(SHIFT_BIASED)), MANTISSA_BITS))
    root = select_T(size == T_type(0.0), size, select_T(size < T_type(math.inf), root, size))
    return copysign_T(root, x)


def hypot_T(x, y):
    """sqrt(x**2 + y**2), without overflow on the way. At most 1.25 ULP."""
    a = fabs_T(x)
    b = fabs_T(y)
    larger = select_T(a > b, a, b)
    large = larger > T_type(LARGE)
    small = larger < T_type(SMALL)
    scale = select_T(large, T_type(LARGE_DOWN), select_T(small, T_type(SMALL_UP), T_type(1.0)))
    back = select_T(large, T_type(LARGE_BACK), select_T(small, T_type(SMALL_BACK), T_type(1.0)))
    a = a * scale
    b = b * scale
    result = sqrt_T(fma_T(a, a, b * b)) * back
    infinite = (fabs_T(x) == T_type(math.inf)) | (fabs_T(y) == T_type(math.inf))
    return select_T(infinite, T_type(math.inf), result)
''',
    FLOATS,
    {
        "f64": dict(
            SUBNORMAL_SCALE="1.8014398509481984e16", SUBNORMAL_THIRD="18.0", WHOLE="0x4330000000000000",
            WHOLE_BIASED="4503599627371519.0", SHIFT_BIASED="6755399441056767.0",
            LARGE="1e150", LARGE_DOWN="2.409919865102884e-181", LARGE_BACK="4.149515568880993e+180",
            SMALL="1e-140", SMALL_UP="4.149515568880993e+180", SMALL_BACK="2.409919865102884e-181",
        ),
        "f32": dict(
            SUBNORMAL_SCALE="16777216.0", SUBNORMAL_THIRD="8.0", WHOLE="0x4B000000",
            WHOLE_BIASED="8388735.0", SHIFT_BIASED="12583039.0",
            LARGE="1e18", LARGE_DOWN="1.3552527156068805e-20", LARGE_BACK="7.378697629483821e+19",
            SMALL="1e-13", SMALL_UP="1.2676506002282294e+30", SMALL_BACK="7.888609052210118e-31",
        ),
    },
    _POLYNOMIALS,
)  # fmt: skip
