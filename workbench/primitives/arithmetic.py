"""Arithmetic: sums, products, quotients, remainders, powers, rounding and signs, with NumPy's corner cases.

Integers wrap; integer division by zero gives 0; `mod` has the divisor's sign and `rem` the dividend's; -0.0 is kept.
"""

from __future__ import annotations

import numpy as np

from ..ir import Aval, Primitive
from .lowering import Pointwise, ScalarContext
from .signatures import (
    ALL,
    FLOATS,
    INEXACT,
    INTS,
    NUMBERS,
    REALS,
    as_array,
    binary,
    check_dtype,
    joint_aval,
    real_part,
    unary,
    wrapping,
)

# A float power up to this is multiplied out: two roundings are the most that stays near the error bound of `pow`.
LARGEST_MULTIPLIED_POWER = 4

# Exponent steps: more than lie between the least subnormal and the largest float64.
LARGEST_SHIFT = 5000

# ---- add ----
add_p = Primitive("add")
add_p.def_impl(as_array(np.add))
add_p.def_abstract_eval(binary(add_p, ALL))
add_p.def_lowering(Pointwise(lambda ctx, x, y: f"{x} | {y}" if ctx.dtype.kind == "b" else wrapping(ctx, "+", x, y)))

# ---- sub ----
sub_p = Primitive("sub")
sub_p.def_impl(as_array(np.subtract))
sub_p.def_abstract_eval(binary(sub_p, NUMBERS))
sub_p.def_lowering(Pointwise(lambda ctx, x, y: wrapping(ctx, "-", x, y)))

# ---- mul ----
mul_p = Primitive("mul")
mul_p.def_impl(as_array(np.multiply))
mul_p.def_abstract_eval(binary(mul_p, ALL))


def _multiply(ctx: ScalarContext, x: str, y: str) -> str:
    if ctx.dtype.kind == "c":  # NumPy's loops fuse the steps
        return ctx.call("mul", x, y)
    return f"{x} & {y}" if ctx.dtype.kind == "b" else wrapping(ctx, "*", x, y)


mul_p.def_lowering(Pointwise(_multiply))


# ---- div: true division ----
def _divide(ctx: ScalarContext, x: str, y: str) -> str:
    # numba's complex quotient rounds differently from NumPy's (Smith's method).
    return ctx.call("div", x, y) if ctx.dtype.kind == "c" else f"{x} / {y}"


div_p = Primitive("div")
div_p.def_impl(as_array(np.divide))
div_p.def_abstract_eval(binary(div_p, INEXACT))
div_p.def_lowering(Pointwise(_divide, flops=4))

# ---- floor_divide ----
floor_divide_p = Primitive("floor_divide")
floor_divide_p.def_impl(as_array(np.floor_divide))
floor_divide_p.def_abstract_eval(binary(floor_divide_p, REALS))
floor_divide_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("floor_divide", x, y), flops=10))

# ---- rem: C's fmod, the sign of the dividend ----
rem_p = Primitive("rem")
rem_p.def_impl(as_array(np.fmod))
rem_p.def_abstract_eval(binary(rem_p, REALS))
rem_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("rem", x, y), flops=10, expensive=True))

# ---- mod: Python's remainder, the sign of the divisor ----
mod_p = Primitive("mod")
mod_p.def_impl(as_array(np.remainder))
mod_p.def_abstract_eval(binary(mod_p, REALS))
mod_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("mod", x, y), flops=10, expensive=True))

# ---- pow ----
# Exponents that a square root or a quotient serve, at a fifth of the time.
POWERS_BY_ROOT = {
    0.25: "pow_quarter", 0.5: "pow_half", 1.5: "pow_three_halves", 2.5: "pow_five_halves", 3.5: "pow_seven_halves",
    -0.5: "pow_minus_half", -1.5: "pow_minus_three_halves",
}  # fmt: skip

# Whole ones, of floats, that products serve whose rounding is made up for.
WHOLE_POWERS = {n: f"pow_{n}" if n > 0 else f"pow_minus_{-n}" for n in (*range(-12, -2), *range(5, 17))}


COMPLEX_POWERS_MULTIPLIED = 100  # below this NumPy multiplies whole powers of complex numbers out


def _power(ctx: ScalarContext, x: str, y: str) -> str:
    exponent = ctx.constant(y)
    if ctx.dtype.kind == "f" and exponent is not None and float(exponent) in POWERS_BY_ROOT:
        return ctx.call(POWERS_BY_ROOT[float(exponent)], x)
    if ctx.dtype.kind == "f" and exponent is not None and float(exponent) in (3, 4, -1, -2, *WHOLE_POWERS):
        return _whole_power(ctx, x, int(exponent))
    if ctx.dtype.kind == "c" and exponent is not None:
        number = complex(exponent)
        if number.imag == 0 and number.real.is_integer() and abs(number.real) < COMPLEX_POWERS_MULTIPLIED:
            return ctx.call("pow_whole", x, y)
    if ctx.dtype.kind == "f" and exponent is None and ctx.shared(y):
        return ctx.call("pow_shared", x, y)
    return ctx.call("pow", x, y)


pow_p = Primitive("pow")
pow_p.def_impl(as_array(np.power))
pow_p.def_abstract_eval(binary(pow_p, NUMBERS))
pow_p.def_lowering(Pointwise(_power, flops=40, expensive=True))

# ---- square ----
square_p = Primitive("square")
square_p.def_impl(as_array(np.square))
square_p.def_abstract_eval(unary(square_p, NUMBERS))
square_p.def_lowering(Pointwise(lambda ctx, x: _multiply(ctx, x, x) if ctx.dtype.kind == "c" else f"{x} * {x}"))


# ---- reciprocal: of integers too, where it is 1/x in double precision, truncated ----
def _reciprocal(ctx: ScalarContext, x: str) -> str:
    if ctx.dtype.kind == "c":
        return ctx.call("reciprocal", x)
    if ctx.dtype.kind == "f":
        return f"{ctx.const(1)} / {x}"
    double = np.dtype(np.float64)
    quotient = f"({ctx.const(1, double)} / {ctx.cast(x, ctx.in_dtypes[0], double)})"
    return ctx.cast(quotient, double, ctx.dtype)


reciprocal_p = Primitive("reciprocal")
reciprocal_p.def_impl(as_array(np.reciprocal))
reciprocal_p.def_abstract_eval(unary(reciprocal_p, NUMBERS))
reciprocal_p.def_lowering(Pointwise(_reciprocal, flops=4))

# ---- integer_pow: a static integer exponent ----
integer_pow_p = Primitive("integer_pow")


@integer_pow_p.def_impl
def integer_pow_impl(x: np.ndarray, *, y: int) -> np.ndarray:
    if y == 2:  # NumPy's own fast path for x**2
        return np.asarray(np.square(x))
    return np.asarray(np.power(x, np.asarray(y).astype(x.dtype)))


@integer_pow_p.def_abstract_eval
def integer_pow_aval(x: Aval, *, y: int) -> Aval:
    check_dtype("integer_pow", x, NUMBERS)
    if y < 0 and x.dtype in INTS:
        raise ValueError("Integers to negative integer powers are not allowed.")
    return joint_aval("integer_pow", (x,), x.dtype)


def _multiply_out(ctx: ScalarContext, x: str) -> str:
    return _whole_power(ctx, x, ctx.params["y"])


def _whole_power(ctx: ScalarContext, x: str, y: int) -> str:
    if ctx.dtype.kind == "c":
        if y == 2:
            return _multiply(ctx, x, x)
        if abs(y) < COMPLEX_POWERS_MULTIPLIED:
            return ctx.call("pow_whole", x, ctx.const(y))
        return ctx.call("pow", x, ctx.const(y))
    if 2 <= y <= LARGEST_MULTIPLIED_POWER:
        square = f"({wrapping(ctx, '*', x, x)})"  # of small integers: wider than the dtype, and cut to it at the end
        return wrapping(ctx, "*", square, square) if y == 4 else wrapping(ctx, "*", square, x) if y == 3 else square
    match y:
        case 0:
            return ctx.const(1)
        case 1:
            return x
        case -1:
            return _reciprocal(ctx, x)
        case -2 if ctx.dtype.kind == "f":
            return ctx.call("pow_minus_two", x)
    if ctx.dtype.kind == "f" and y in WHOLE_POWERS:
        return ctx.call(WHOLE_POWERS[y], x)
    return ctx.call("pow", x, ctx.const(y))


integer_pow_p.def_lowering(Pointwise(_multiply_out, flops=2))

# ---- neg ----
neg_p = Primitive("neg")
neg_p.def_impl(as_array(np.negative))
neg_p.def_abstract_eval(unary(neg_p, NUMBERS))
neg_p.def_lowering(Pointwise(lambda ctx, x: f"-{x}" if ctx.dtype != np.int64 else wrapping(ctx, "-", "0", x)))

# ---- abs ----
abs_p = Primitive("abs")
abs_p.def_impl(as_array(np.absolute))
abs_p.def_abstract_eval(unary(abs_p, ALL, real_part))
abs_p.def_lowering(Pointwise(lambda ctx, x: x if ctx.dtype.kind in "bu" else ctx.call("abs", x)))

# ---- sign ----
sign_p = Primitive("sign")
sign_p.def_impl(as_array(np.sign))
sign_p.def_abstract_eval(unary(sign_p, NUMBERS))
sign_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("sign", x)))

# ---- floor ----
floor_p = Primitive("floor")
floor_p.def_impl(as_array(np.floor))
floor_p.def_abstract_eval(unary(floor_p, FLOATS))
floor_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("floor", x)))

# ---- ceil ----
ceil_p = Primitive("ceil")
ceil_p.def_impl(as_array(np.ceil))
ceil_p.def_abstract_eval(unary(ceil_p, FLOATS))
ceil_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("ceil", x)))

# ---- trunc ----
trunc_p = Primitive("trunc")
trunc_p.def_impl(as_array(np.trunc))
trunc_p.def_abstract_eval(unary(trunc_p, FLOATS))
trunc_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("trunc", x)))

# ---- rint: to the nearest, ties to even ----
rint_p = Primitive("rint")
rint_p.def_impl(as_array(np.rint))
rint_p.def_abstract_eval(unary(rint_p, FLOATS))
rint_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("rint", x)))

# ---- copysign ----
copysign_p = Primitive("copysign")
copysign_p.def_impl(as_array(np.copysign))
copysign_p.def_abstract_eval(binary(copysign_p, FLOATS))
copysign_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("copysign", x, y)))

# ---- nextafter ----
nextafter_p = Primitive("nextafter")
nextafter_p.def_impl(as_array(np.nextafter))
nextafter_p.def_abstract_eval(binary(nextafter_p, FLOATS))
nextafter_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("nextafter", x, y), flops=4))

# ---- spacing ----
spacing_p = Primitive("spacing")
spacing_p.def_impl(as_array(np.spacing))
spacing_p.def_abstract_eval(unary(spacing_p, FLOATS))
spacing_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("spacing", x), flops=4))

# ---- heaviside: the second operand is the value at 0 ----
heaviside_p = Primitive("heaviside")
heaviside_p.def_impl(as_array(np.heaviside))
heaviside_p.def_abstract_eval(binary(heaviside_p, FLOATS))
heaviside_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("heaviside", x, y), flops=2))

# ---- ldexp: x * 2**n for an integer n ----
ldexp_p = Primitive("ldexp")


@ldexp_p.def_impl
def ldexp_impl(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    # NumPy's loops take C ints; beyond the bound every result is 0 or infinite already.
    if n.dtype == np.uint64:
        n = np.minimum(n, n.dtype.type(LARGEST_SHIFT))
    return np.asarray(np.ldexp(x, np.clip(n.astype(np.int64), -LARGEST_SHIFT, LARGEST_SHIFT).astype(np.intc)))


@ldexp_p.def_abstract_eval
def ldexp_aval(x: Aval, n: Aval) -> Aval:
    check_dtype("ldexp", x, FLOATS)
    check_dtype("ldexp", n, INTS)
    return joint_aval("ldexp", (x, n), x.dtype)


# The exponent goes over as int64: one scalar function for every integer dtype. Above its range a uint64 wraps
# negative, so it is cut first.
def _ldexp(ctx: ScalarContext, x: str, n: str) -> str:
    dtype, wide = ctx.in_dtypes[1], np.dtype(np.int64)
    if dtype == np.uint64:
        n = ctx.call("minimum", n, ctx.const(LARGEST_SHIFT, dtype), dtype=dtype)
    return ctx.call("ldexp", x, n if dtype == wide else ctx.cast(n, dtype, wide))


ldexp_p.def_lowering(Pointwise(_ldexp, flops=2))

# ---- gcd ----
gcd_p = Primitive("gcd")
gcd_p.def_impl(as_array(np.gcd))
gcd_p.def_abstract_eval(binary(gcd_p, INTS))
gcd_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("gcd", x, y), flops=100, expensive=True))

# ---- lcm ----
lcm_p = Primitive("lcm")
lcm_p.def_impl(as_array(np.lcm))
lcm_p.def_abstract_eval(binary(lcm_p, INTS))
lcm_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("lcm", x, y), flops=110, expensive=True))
