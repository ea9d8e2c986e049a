"""Random numbers: the Threefry-2x32 generator, bit patterns as other dtypes, and what the samplers need beside them.

Threefry (Salmon, Moraes, Dror and Shaw, 2011) turns a key and a counter into 64 random bits, the same bits as JAX's
for the same key. Nothing is carried from one number to the next, so that each is made where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from ..ir import Aval, Primitive
from .lowering import Pointwise, ScalarContext
from .signatures import FLOATS, INTS, check_dtype, check_same_dtype, joint_aval, listing, unary

UINT32 = np.dtype(np.uint32)
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))  # of the even and of the odd groups of four rounds
PARITY = 0x1BD11BDA  # the third word of the key is the parity of the other two with this one

# ---- threefry2x32: word 0 or 1 of the block that (k0, k1) makes of the counter (x0, x1). A kernel that asks for both
# words runs the rounds once: the compiler finds them equal ----
threefry2x32_p = Primitive("threefry2x32")


@threefry2x32_p.def_impl
def threefry2x32_impl(k0: np.ndarray, k1: np.ndarray, x0: np.ndarray, x1: np.ndarray, *, word: int) -> np.ndarray:
    shape = np.broadcast_shapes(k0.shape, k1.shape, x0.shape, x1.shape)
    # Of length 1 where of rank 0: NumPy warns of scalars that wrap.
    k0, k1, x0, x1 = (np.atleast_1d(np.asarray(v)) for v in (k0, k1, x0, x1))
    keys = (k0, k1, k0 ^ k1 ^ np.uint32(PARITY))
    x0, x1 = x0 + keys[0], x1 + keys[1]
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = ((x1 << np.uint32(rotation)) | (x1 >> np.uint32(32 - rotation))) ^ x0
        x0 = x0 + keys[(group + 1) % 3]
        x1 = x1 + keys[(group + 2) % 3] + np.uint32(group + 1)
    return (x1 if word else x0).reshape(shape)


@threefry2x32_p.def_abstract_eval
def threefry2x32_aval(k0: Aval, k1: Aval, x0: Aval, x1: Aval, *, word: int) -> Aval:
    operands = (k0, k1, x0, x1)
    for aval in operands:
        check_dtype("threefry2x32", aval, frozenset({UINT32}))
    if word not in (0, 1):
        raise ValueError(f"threefry2x32: a block has the words 0 and 1, not {word}")
    return joint_aval("threefry2x32", operands, UINT32)


def _threefry2x32(ctx: ScalarContext, k0: str, k1: str, x0: str, x1: str) -> str:
    return ctx.call("threefry2x32_second" if ctx.params["word"] else "threefry2x32_first", k0, k1, x0, x1)


threefry2x32_p.def_lowering(Pointwise(_threefry2x32, flops=110, expensive=True))

# ---- bitcast_convert_type: the same bits as another dtype of the same width ----
bitcast_convert_type_p = Primitive("bitcast_convert_type")
bitcast_convert_type_p.def_impl(lambda x, *, new_dtype: np.array(x).view(new_dtype))


@bitcast_convert_type_p.def_abstract_eval
def bitcast_convert_type_aval(x: Aval, *, new_dtype: np.dtype) -> Aval:
    new_dtype = np.dtype(new_dtype)
    dtypes = INTS | FLOATS
    check_dtype("bitcast_convert_type", x, dtypes)
    if new_dtype not in dtypes:
        raise TypeError(f"bitcast_convert_type: no bits of dtype {new_dtype}; it gives {listing(dtypes)}")
    if new_dtype.itemsize != x.dtype.itemsize:
        raise TypeError(f"bitcast_convert_type: {x.dtype} and {new_dtype} have different widths")
    return Aval(x.shape, new_dtype)


def _bitcast(ctx: ScalarContext, x: str) -> str:
    (source,) = ctx.in_dtypes
    target, pattern = ctx.dtype, np.dtype(f"i{ctx.dtype.itemsize}")
    if source == target:
        return x
    if source.kind == "f":
        x, source = ctx.call("bits", x, dtype=source), pattern
    if target.kind == "f":
        return ctx.call("from_bits", ctx.cast(x, source, pattern), dtype=target)
    return ctx.cast(x, source, target)


bitcast_convert_type_p.def_lowering(Pointwise(_bitcast, flops=0))

# ---- fma: a * b + c, rounded once. What XLA makes of a product and a sum, and so part of JAX's bits ----
fma_p = Primitive("fma")


@fma_p.def_impl
def fma_impl(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    shape, dtype = np.broadcast_shapes(a.shape, b.shape, c.shape), a.dtype
    a, b, c = (np.broadcast_to(v, shape).astype(np.float64).reshape(-1) for v in (a, b, c))
    with np.errstate(all="ignore"):
        if dtype == np.float32:
            high, low = a * b, np.zeros(a.shape)  # exact
        else:
            high, low = _product_and_error(a, b)
        # Boldo and Melquiond (2008): the rounding of the small terms to odd keeps the last one from rounding twice.
        upper, lower = _sum_and_error(c, low)
        top, rest = _sum_and_error(high, upper)
        small = _rounded_to_odd(rest, lower)
        result = _rounded_to_odd(top, small).astype(dtype) if dtype == np.float32 else top + small
        plain = a * b + c
        # Outside of these bounds the error terms may overflow or vanish: exact fractions, one by one.
        sizes = np.abs(np.stack([a, b, c, high]))
        safe = ((sizes < 2.0**500) & ((sizes > 2.0**-400) | (sizes == 0))).all(axis=0) & (plain != 0)
        if dtype == np.float32:
            safe &= np.abs(result) > np.finfo(np.float32).tiny
        nothing = (a == 0) | (b == 0)
        result = np.where(nothing, plain, result)
        safe |= nothing
        for i in np.flatnonzero(~safe):
            result[i] = _exact_fma(a[i], b[i], c[i], dtype)
    return np.asarray(result, dtype).reshape(shape)


def _product_and_error(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a * b and what its rounding lost (Dekker, 1971)."""
    a_high, b_high = (v * 134217729.0 - (v * 134217729.0 - v) for v in (a, b))
    a_low, b_low = a - a_high, b - b_high
    product = a * b
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _sum_and_error(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a + b and what its rounding lost (Knuth, 1969)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _rounded_to_odd(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b, and where it is not exact, the neighbour whose last bit is set."""
    total, error = _sum_and_error(a, b)
    even = (error != 0) & (total.view(np.int64) & 1 == 0)
    return np.where(even, np.nextafter(total, np.copysign(np.inf, error)), total)


def _exact_fma(a: float, b: float, c: float, dtype: np.dtype) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c  # also where a * b overflows
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # for the sign of the zero
    if dtype == np.float32:
        unit = Fraction(2) ** max(math.frexp(float(exact))[1] - 24, -149)
        exact = round(exact / unit) * unit  # ties to even, as floats round
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@fma_p.def_abstract_eval
def fma_aval(a: Aval, b: Aval, c: Aval) -> Aval:
    for aval in (a, b, c):
        check_dtype("fma", aval, FLOATS)
    return joint_aval("fma", (a, b, c), check_same_dtype("fma", (a, b, c)))


fma_p.def_lowering(Pointwise(lambda ctx, a, b, c: ctx.call("fma", a, b, c), flops=2))

# ---- erf_inv: the x of erf(x), in polynomials of w = -log(1 - x**2), as XLA has it ----
# Giles, Approximating the erfinv function (2012). A row: where it holds (w below this), what is taken from w (in the
# first row) or from sqrt(w), the coefficients, highest power first.
ErfInvRow = tuple[float, float, tuple[float, ...]]
ERF_INV: Mapping[str, tuple[ErfInvRow, ...]] = {
    "float32": (
        (5.0, 2.5, (
            2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
            -0.00417768164, 0.246640727, 1.50140941,
        )),
        (math.inf, 3.0, (
            -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
            0.00943887047, 1.00167406, 2.83297682,
        )),
    ),
    "float64": (
        (6.25, 3.125, (
            -3.6444120640178196996e-21, -1.685059138182016589e-19, 1.2858480715256400167e-18, 1.115787767802518096e-17,
            -1.333171662854620906e-16, 2.0972767875968561637e-17, 6.6376381343583238325e-15, -4.0545662729752068639e-14,
            -8.1519341976054721522e-14, 2.6335093153082322977e-12, -1.2975133253453532498e-11,
            -5.4154120542946279317e-11, 1.051212273321532285e-09, -4.1126339803469836976e-09,
            -2.9070369957882005086e-08, 4.2347877827932403518e-07, -1.3654692000834678645e-06,
            -1.3882523362786468719e-05, 0.0001867342080340571352, -0.00074070253416626697512,
            -0.0060336708714301490533, 0.24015818242558961693, 1.6536545626831027356,
        )),
        (16.0, 3.25, (
            2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07, 1.8239629214389227755e-08,
            1.5027403968909827627e-06, -4.013867526981545969e-06, 2.9234449089955446044e-06, 1.2475304481671778723e-05,
            -4.7318229009055733981e-05, 6.8284851459573175448e-05, 2.4031110387097893999e-05,
            -0.0003550375203628474796, 0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
            -0.0037512085075692412107, 0.005370914553590063617, 1.0052589676941592334, 3.0838856104922207635,
        )),
        (math.inf, 5.0, (
            -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
            -3.7894654401267369937e-09, 7.6157012080783393804e-09, -1.4960026627149240478e-08,
            2.9147953450901080826e-08, -6.7711997758452339498e-08, 2.2900482228026654717e-07,
            -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
            7.5995277030017761139e-05, -0.00021503011930044477347, -0.00013871931833623122026, 1.0103004648645343977,
            4.8499064014085844221,
        )),
    ),
}  # fmt: skip
# (2 atanh(s) / s - 2) / s**2 in powers of s**2, constant term first, for |s| <= (sqrt(2) - 1) / (sqrt(2) + 1)
LOG_TERMS: Mapping[str, tuple[float, ...]] = {
    "float32": (0.6666666269302368, 0.40000852942466736, 0.2850997745990753, 0.2403116673231125),
    "float64": (
        0.6666666666666735, 0.39999999999408714, 0.2857142874392778, 0.2222219839618926, 0.18183574410070558,
        0.15313771715341742, 0.14798934462943558,
    ),
}  # fmt: skip
erf_inv_p = Primitive("erf_inv")


@erf_inv_p.def_impl
def erf_inv_impl(x: np.ndarray) -> np.ndarray:
    # Step by step what codegen.scalar_math does, in the dtype of x, without fused steps: so the bits are the same.
    kind, dtype = x.dtype.type, x.dtype
    shape, x = x.shape, np.atleast_1d(x)
    rows = ERF_INV[dtype.name]
    with np.errstate(all="ignore"):
        u = kind(1) - x * x
        mantissa, exponent = np.frexp(u)
        low = mantissa < kind(math.sqrt(0.5))
        k = (exponent - low).astype(dtype)
        f = np.where(low, mantissa * kind(2), mantissa) - kind(1)
        s = f / (kind(2) + f)
        z = s * s
        *rest, q = map(kind, LOG_TERMS[dtype.name])
        for term in reversed(rest):
            q = q * z + term
        half_square = kind(0.5) * f * f
        w = -(k * kind(math.log(2)) + (f - (half_square - s * (half_square + z * q))))
        root = np.sqrt(w)
        result = np.zeros_like(x)
        for number, (_, shift, coefficients) in reversed(list(enumerate(rows))):
            t = (root if number else w) - kind(shift)
            p = np.full_like(x, coefficients[0])
            for coefficient in coefficients[1:]:
                p = p * t + kind(coefficient)
            result = p if number + 1 == len(rows) else np.where(w < kind(rows[number][0]), p, result)
        edge = np.where(np.abs(x) == 1, x * kind(np.inf), kind(np.nan))
        result = np.where(np.abs(x) < 1, result * x, edge)
    return result.reshape(shape)


erf_inv_p.def_abstract_eval(unary(erf_inv_p, FLOATS))
erf_inv_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("erf_inv", x), flops=60, expensive=True))
