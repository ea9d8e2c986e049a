"""The Threefry-2x32 generator, and erf_inv for normal numbers.

The rounds are written out: additions, rotations and exclusive ors of 32-bit lanes. erf_inv takes the steps of
`erf_inv_p`'s implementation in NumPy one by one, without fused ones, so that both give the same bits.
"""

from __future__ import annotations

import math

from ...primitives.random import ERF_INV, LOG_TERMS, PARITY, ROTATIONS
from .logarithm import VALUES
from .registry import FLOATS, library

# LLVM's own rotation: one instruction to look at, where two shifts would be three.
library(
    '''
@intrinsic
def rotate_left_u32(typingctx, x, places):
    """The bits of x moved up, those beyond the top coming in below."""

    def codegen(context, builder, signature, args):
        kind = args[0].type
        rotate = builder.module.declare_intrinsic("llvm.fshl", [kind], ir.FunctionType(kind, [kind] * 3))
        return builder.call(rotate, [args[0], args[0], args[1]])

    return types.uint32(types.uint32, types.uint32), codegen
'''
)


def _rounds() -> str:
    keys = ("k0", "k1", "k2")
    lines = ["x0 = add_T(x0, k0)", "x1 = add_T(x1, k1)"]
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            lines += [
                "x0 = add_T(x0, x1)",
                f"x1 = xor_T(x0, rotate_left_T(x1, T_type({rotation})))",
            ]
        first, second = keys[(group + 1) % 3], keys[(group + 2) % 3]
        lines += [f"x0 = add_T(x0, {first})", f"x1 = add_T(x1, add_T({second}, T_type({group + 1})))"]
    return "\n    ".join(lines)


for _word, _name, _result in ((0, "first", "x0"), (1, "second", "x1")):
    library(
        f'''
def threefry2x32_{_name}_T(k0, k1, x0, x1):
    """Word {_word} of the block that the key (k0, k1) makes of the counter (x0, x1)."""
    k2 = xor_T(xor_T(k0, k1), T_type({PARITY}))
    {_rounds()}
    return {_result}
''',
        ("u32",),
    )


def _erf_inv(dtype: str) -> str:
    """The text for one dtype: its rows as one scheme by Horner, with coefficients chosen by row."""
    rows = ERF_INV[dtype]
    longest = max(len(coefficients) for _, _, coefficients in rows)
    below = [f"below{number}" for number in range(len(rows) - 1)]
    lines = [f"{name} = w < T_type({row[0]!r})" for name, row in zip(below, rows, strict=False)]

    def chosen(values: list[float]) -> str:
        text = f"T_type({values[-1]!r})"
        for name, value in reversed(list(zip(below, values, strict=False))):
            text = f"select_T({name}, T_type({value!r}), {text})"
        return text

    lines += ["root = select_T(below0, w, sqrt_T(w))", f"t = root - {chosen([shift for _, shift, _ in rows])}"]
    # Shorter rows begin with zeros: 0 * t + c is c, exactly.
    padded = [(0.0,) * (longest - len(c)) + c for _, _, c in rows]
    lines.append(f"p = {chosen([c[0] for c in padded])}")
    lines += [f"p = p * t + {chosen([c[power] for c in padded])}" for power in range(1, longest)]
    *rest, last = LOG_TERMS[dtype]
    log_lines = [f"q = T_type({last!r})", *(f"q = q * z + T_type({term!r})" for term in reversed(rest))]
    body, log_body = "\n    ".join(lines), "\n    ".join(log_lines)
    return f'''
def erf_inv_T(x):
    """The inverse of the error function, by XLA's formula: near 1 the rounding of x**2 shows."""
    u = T_type(1.0) - x * x
    pattern = add_I(bits_T(u), TO_RANGE)
    k = from_bits_T(or_I(raw_lshr_I(pattern, MANTISSA_BITS), WHOLE)) - T_type(WHOLE_BIASED)
    f = from_bits_T(add_I(and_I(pattern, MANTISSA), SQRT_HALF)) - T_type(1.0)
    s = f / (T_type(2.0) + f)
    z = s * s
    {log_body}
    half_square = T_type(0.5) * f * f
    w = negative_T(k * T_type({math.log(2)!r}) + (f - (half_square - s * (half_square + z * q))))
    {body}
    edge = select_T(fabs_T(x) == T_type(1.0), x * T_type(math.inf), T_type(math.nan))
    return select_T(fabs_T(x) < T_type(1.0), p * x, edge)
'''


for _short, _dtype in zip(FLOATS, ("float32", "float64"), strict=True):
    library(_erf_inv(_dtype), (_short,), {_short: VALUES[_short]})
