"""Conversion: changing the dtype, and fresh copies."""

from __future__ import annotations

import numpy as np

from ..ir import Aval, Primitive, supported_dtype
from .lowering import Pointwise
from .signatures import ALL, check_dtype, unary

# ---- convert_element_type ----
convert_element_type_p = Primitive("convert_element_type")


@convert_element_type_p.def_impl
def convert_element_type_impl(x: np.ndarray, *, new_dtype: np.dtype, weak_type: bool = False) -> np.ndarray:
    if x.dtype.kind == "c" and np.dtype(new_dtype).kind not in "bc":
        x = np.real(x)  # said at trace time, where NumPy warns that the imaginary part is dropped
    return np.array(x, dtype=new_dtype)


@convert_element_type_p.def_abstract_eval
def convert_element_type_aval(x: Aval, *, new_dtype: np.dtype, weak_type: bool = False) -> Aval:
    check_dtype("convert_element_type", x, ALL)
    new_dtype = np.dtype(new_dtype)
    if not supported_dtype(new_dtype):
        raise TypeError(f"convert_element_type: arrays of dtype {new_dtype} can't be compiled")
    return Aval(x.shape, new_dtype, bool(weak_type))


convert_element_type_p.def_lowering(Pointwise(lambda ctx, x: ctx.cast(x, ctx.in_dtypes[0], ctx.dtype), flops=0))

# ---- copy ----
copy_p = Primitive("copy")
copy_p.def_impl(np.array)
copy_p.def_abstract_eval(unary(copy_p, ALL))
copy_p.def_lowering(Pointwise(lambda ctx, x: x, flops=0))
