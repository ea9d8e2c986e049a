"""Division to the last bit without dividing: by what many numbers are divided by (float64), and on a GPU.

With r the reciprocal of d, rounded once, q = x r is within two units in the last place of x / d, x - q d is exact in
one fused multiply-add, and q + (x - q d) r is x / d rounded once (P. Markstein, IBM Journal of Research and Development
34, 1990; N. Brisebarre, J.-M. Muller and S. K. Raina, IEEE Transactions on Computers 53, 2004), as long as nothing
over- or underflows on the way. Where it may, the slow path divides. Processors take 16 cycles to divide eight numbers,
and four for this.
"""

from __future__ import annotations

from .registry import library

library(
    '''
def inverse_T(d):
    """1 / d for `quotient`; NaN where it should divide."""
    magnitude = fabs_T(d)
    return select_T((magnitude >= LEAST) & (magnitude <= MOST), T_type(1.0) / d, math.nan)


def quotient_T(x, d, inverse):
    """x / d, given inverse_T(d)."""
    q = x * inverse
    rest = fma_T(-q, d, x)
    is_number = (bits_T(x) | bits_T(q)) & MAGNITUDE != 0
    return quotient_or_slow_T(x, d, q, select_T(is_number, fma_T(rest, inverse, q), q))


@intrinsic
def quotient_or_slow_T(typingctx, x, d, q, fast):
    """`fast`, or x / d where q is not between 2**-500 and 2**600. The zero that a zero gives is fast, too."""

    def is_slow(builder, args, constant, magnitude):
        kind = ir.VectorType(ir.IntType(WIDTH), args[0].type.count)
        x, q = (builder.bitcast(args[k], kind) for k in (0, 2))
        magnitude, zero, least, most = (
            ir.Constant(kind, [bits] * kind.count)
            for bits in (MAGNITUDE, 0, (BIAS - 500) << MANTISSA_BITS, 1100 << MANTISSA_BITS)
        )
        is_number = builder.icmp_unsigned("!=", builder.and_(builder.or_(x, q), magnitude), zero)
        above_least = builder.sub(builder.and_(q, magnitude), least)
        return builder.and_(is_number, builder.icmp_unsigned(">", above_least, most))

    def divide(builder, args):
        return builder.fdiv(args[0], args[1])

    def codegen(context, builder, signature, args):
        return emit_slow_path(builder, "quotient_or_slow_T", is_slow, divide, args, one_is_slow=True)

    return types.float64(types.float64, types.float64, types.float64, types.float64), codegen
''',
    dtypes=("f64",),
    values={"f64": {"LEAST": repr(2.0**-400), "MOST": repr(2.0**400)}},
)

# What dividends and quotients are between where `divide` corrects a product: (least, most).
DIVISION_BOUNDS = {"f32": (2.0**-100, 2.0**126), "f64": (2.0**-900, 2.0**1016)}

# A GPU divides in the same way, with a first guess of the reciprocal that its hardware has; the compiler's own text has
# a test that zeros, and all else that is small, fail: they take five times as long. Written here, it is a loop's or a
# common divisor's reciprocal, once.
library(
    '''
def divide_T(x, d):
    """x / d, by a correction of the product with 1 / d."""
    guess = better_guess_T(d, reciprocal_guess_T(d))
    inverse = fma_T(fma_T(-d, guess, T_type(1.0)), guess, guess)
    product = x * inverse
    return divide_or_slow_T(x, d, product, fma_T(fma_T(-product, d, x), inverse, product))


def reciprocal_guess_T(d):
    """1 / d, of which a GPU's own has the first 22 bits (f32) or 20 (f64); zero where that is subnormal."""
    return T_type(1.0) / d


def divide_or_slow_T(x, d, product, fast):
    """`fast`, or x / d where something may over- or underflow on the way. The zero that a zero gives is the product."""
    dividend, quotient = fabs_T(x), fabs_T(product)
    is_fast = (dividend >= T_type(LEAST)) & (quotient >= T_type(LEAST)) & (quotient <= T_type(MOST))
    is_zero = (x == T_type(0.0)) & (product == T_type(0.0))
    return select_T(is_fast, fast, select_T(is_zero, product, x / d))
''',
    dtypes=("f32", "f64"),
    values={short: {"LEAST": repr(least), "MOST": repr(most)} for short, (least, most) in DIVISION_BOUNDS.items()},
)
library(
    '''
def better_guess_f32(d, guess):
    """The guess of 1 / d: one step more makes it as good as it can be."""
    return guess


def better_guess_f64(d, guess):
    """The guess of 1 / d with two or three times as many right bits."""
    error = fma_f64(-d, guess, 1.0)
    return fma_f64(fma_f64(error, error, error), guess, guess)
'''
)
