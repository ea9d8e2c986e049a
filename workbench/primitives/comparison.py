"""Comparisons, extremes and classification.

`max` and `min` hand NaN on, `fmax` and `fmin` avoid it; complex numbers compare lexicographically, as in NumPy.
"""

from __future__ import annotations

import numpy as np

from ..ir import Primitive
from .lowering import Pointwise, ScalarContext
from .signatures import ALL, FLOATS, INEXACT, as_array, binary, boolean, unary


def _comparison(name: str, operator: str) -> Pointwise:
    def expr(ctx: ScalarContext, x: str, y: str) -> str:
        ordered = ctx.in_dtypes[0].kind != "c" or name in ("eq", "ne")
        return f"{x} {operator} {y}" if ordered else ctx.call(name, x, y)

    return Pointwise(expr)


# ---- eq ----
eq_p = Primitive("eq")
eq_p.def_impl(as_array(np.equal))
eq_p.def_abstract_eval(binary(eq_p, ALL, boolean))
eq_p.def_lowering(_comparison("eq", "=="))

# ---- ne ----
ne_p = Primitive("ne")
ne_p.def_impl(as_array(np.not_equal))
ne_p.def_abstract_eval(binary(ne_p, ALL, boolean))
ne_p.def_lowering(_comparison("ne", "!="))

# ---- lt ----
lt_p = Primitive("lt")
lt_p.def_impl(as_array(np.less))
lt_p.def_abstract_eval(binary(lt_p, ALL, boolean))
lt_p.def_lowering(_comparison("lt", "<"))

# ---- le ----
le_p = Primitive("le")
le_p.def_impl(as_array(np.less_equal))
le_p.def_abstract_eval(binary(le_p, ALL, boolean))
le_p.def_lowering(_comparison("le", "<="))

# ---- gt ----
gt_p = Primitive("gt")
gt_p.def_impl(as_array(np.greater))
gt_p.def_abstract_eval(binary(gt_p, ALL, boolean))
gt_p.def_lowering(_comparison("gt", ">"))

# ---- ge ----
ge_p = Primitive("ge")
ge_p.def_impl(as_array(np.greater_equal))
ge_p.def_abstract_eval(binary(ge_p, ALL, boolean))
ge_p.def_lowering(_comparison("ge", ">="))

# ---- max ----
max_p = Primitive("max")
max_p.def_impl(as_array(np.maximum))
max_p.def_abstract_eval(binary(max_p, ALL))
max_p.def_lowering(Pointwise(lambda ctx, x, y: f"{x} | {y}" if ctx.dtype.kind == "b" else ctx.call("maximum", x, y)))

# ---- min ----
min_p = Primitive("min")
min_p.def_impl(as_array(np.minimum))
min_p.def_abstract_eval(binary(min_p, ALL))
min_p.def_lowering(Pointwise(lambda ctx, x, y: f"{x} & {y}" if ctx.dtype.kind == "b" else ctx.call("minimum", x, y)))

# ---- fmax ----
fmax_p = Primitive("fmax")
fmax_p.def_impl(as_array(np.fmax))
fmax_p.def_abstract_eval(binary(fmax_p, INEXACT))
fmax_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("fmax", x, y)))

# ---- fmin ----
fmin_p = Primitive("fmin")
fmin_p.def_impl(as_array(np.fmin))
fmin_p.def_abstract_eval(binary(fmin_p, INEXACT))
fmin_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("fmin", x, y)))

# ---- is_finite ----
is_finite_p = Primitive("is_finite")
is_finite_p.def_impl(as_array(np.isfinite))
is_finite_p.def_abstract_eval(unary(is_finite_p, INEXACT, boolean))
is_finite_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("is_finite", x)))

# ---- isnan ----
isnan_p = Primitive("isnan")
isnan_p.def_impl(as_array(np.isnan))
isnan_p.def_abstract_eval(unary(isnan_p, INEXACT, boolean))
isnan_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("isnan", x)))

# ---- isinf ----
isinf_p = Primitive("isinf")
isinf_p.def_impl(as_array(np.isinf))
isinf_p.def_abstract_eval(unary(isinf_p, INEXACT, boolean))
isinf_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("isinf", x)))

# ---- signbit ----
signbit_p = Primitive("signbit")
signbit_p.def_impl(as_array(np.signbit))
signbit_p.def_abstract_eval(unary(signbit_p, FLOATS, boolean))
signbit_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("signbit", x)))
