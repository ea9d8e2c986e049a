"""Bits of integers, and logic of bools: and, or, xor, not, shifts, population count.

A shift by the width or more gives 0 (or the sign, to the right), as in NumPy; a negative shift counts as a huge one.
"""

from __future__ import annotations

import numpy as np

from ..ir import Primitive
from .lowering import Pointwise
from .signatures import BITS, INTS, SIGNED, as_array, binary, unary

# ---- and ----
and_p = Primitive("and")
and_p.def_impl(as_array(np.bitwise_and))
and_p.def_abstract_eval(binary(and_p, BITS))
and_p.def_lowering(Pointwise(lambda ctx, x, y: f"{x} & {y}"))

# ---- or ----
or_p = Primitive("or")
or_p.def_impl(as_array(np.bitwise_or))
or_p.def_abstract_eval(binary(or_p, BITS))
or_p.def_lowering(Pointwise(lambda ctx, x, y: f"{x} | {y}"))

# ---- xor ----
xor_p = Primitive("xor")
xor_p.def_impl(as_array(np.bitwise_xor))
xor_p.def_abstract_eval(binary(xor_p, BITS))
xor_p.def_lowering(Pointwise(lambda ctx, x, y: f"{x} ^ {y}"))

# ---- not ----
not_p = Primitive("not")
not_p.def_impl(as_array(np.invert))
not_p.def_abstract_eval(unary(not_p, BITS))
not_p.def_lowering(Pointwise(lambda ctx, x: f"not {x}" if ctx.dtype.kind == "b" else f"~{x}"))

# ---- shift_left ----
shift_left_p = Primitive("shift_left")
shift_left_p.def_impl(as_array(np.left_shift))
shift_left_p.def_abstract_eval(binary(shift_left_p, INTS))
shift_left_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("shift_left", x, y)))

# ---- shift_right_arithmetic: copies of the sign come in ----
shift_right_arithmetic_p = Primitive("shift_right_arithmetic")
shift_right_arithmetic_p.def_impl(as_array(np.right_shift))
shift_right_arithmetic_p.def_abstract_eval(binary(shift_right_arithmetic_p, SIGNED))
shift_right_arithmetic_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("shift_right_arithmetic", x, y)))

# ---- shift_right_logical: zeros come in ----
shift_right_logical_p = Primitive("shift_right_logical")


@shift_right_logical_p.def_impl
def shift_right_logical_impl(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return np.asarray(np.right_shift(x.view(unsigned), y.view(unsigned))).view(x.dtype)


shift_right_logical_p.def_abstract_eval(binary(shift_right_logical_p, INTS))
shift_right_logical_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("shift_right_logical", x, y)))

# ---- population_count: the bits of |x|, as uint8 ----
population_count_p = Primitive("population_count")
population_count_p.def_impl(as_array(np.bitwise_count))
population_count_p.def_abstract_eval(unary(population_count_p, INTS, lambda _: np.dtype(np.uint8)))
population_count_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("population_count", x), flops=4))
