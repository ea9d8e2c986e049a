"""Complex numbers: their parts, their conjugates, and putting them together."""

from __future__ import annotations

import numpy as np

from ..ir import Aval, Primitive
from .lowering import Pointwise
from .signatures import COMPLEX, FLOATS, NUMBERS, binary, check_dtype, complex_of, joint_aval, real_part, unary

# ---- complex: from the real and the imaginary part ----
complex_p = Primitive("complex")


@complex_p.def_impl
def complex_impl(re: np.ndarray, im: np.ndarray) -> np.ndarray:
    # Not re + 1j * im, which turns an infinite part into a NaN in the other one.
    out = np.empty(np.broadcast_shapes(re.shape, im.shape), complex_of(re.dtype))
    out.real, out.imag = re, im
    return out


complex_p.def_abstract_eval(binary(complex_p, FLOATS, complex_of))
complex_p.def_lowering(Pointwise(lambda ctx, re, im: f"complex({re}, {im})", flops=0))

# ---- real ----
real_p = Primitive("real")
real_p.def_impl(lambda x: np.array(x.real))
real_p.def_abstract_eval(unary(real_p, COMPLEX, real_part))
real_p.def_lowering(Pointwise(lambda ctx, x: f"{x}.real", flops=0))

# ---- imag ----
imag_p = Primitive("imag")
imag_p.def_impl(lambda x: np.array(x.imag))
imag_p.def_abstract_eval(unary(imag_p, COMPLEX, real_part))
imag_p.def_lowering(Pointwise(lambda ctx, x: f"{x}.imag", flops=0))

# ---- conj: input_dtype is in JAX's printed form; the conjugate of a real number is itself ----
conj_p = Primitive("conj")
conj_p.def_impl(lambda x, *, input_dtype=None: np.asarray(np.conjugate(x)))


@conj_p.def_abstract_eval
def conj_aval(x: Aval, *, input_dtype: np.dtype | None = None) -> Aval:
    check_dtype("conj", x, NUMBERS)
    return joint_aval("conj", (x,), x.dtype)


conj_p.def_lowering(Pointwise(lambda ctx, x: f"{x}.conjugate()" if ctx.dtype.kind == "c" else x))
