"""Transcendental functions: exponentials, logarithms, roots, trigonometry and their kin.

Each is a call of the device's own scalar function, whose error bound `codegen.scalar_math` states. Complex operands
have NumPy's branch cuts.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..ir import Primitive
from .lowering import LibraryCall, Pointwise, ScalarContext
from .signatures import FLOATS, INEXACT, as_array, binary, unary

# ---- exp ----
exp_p = Primitive("exp")
exp_p.def_impl(as_array(np.exp))
exp_p.def_abstract_eval(unary(exp_p, INEXACT))
exp_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("exp", x), flops=20, expensive=True))

# ---- exp2 ----
exp2_p = Primitive("exp2")
exp2_p.def_impl(as_array(np.exp2))
exp2_p.def_abstract_eval(unary(exp2_p, INEXACT))
exp2_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("exp2", x), flops=20, expensive=True))

# ---- expm1 ----
expm1_p = Primitive("expm1")
expm1_p.def_impl(as_array(np.expm1))
expm1_p.def_abstract_eval(unary(expm1_p, INEXACT))
expm1_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("expm1", x), flops=20, expensive=True))

# ---- log ----
log_p = Primitive("log")
log_p.def_impl(as_array(np.log))
log_p.def_abstract_eval(unary(log_p, INEXACT))
log_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("log", x), flops=20, expensive=True))

# ---- log2 ----
log2_p = Primitive("log2")
log2_p.def_impl(as_array(np.log2))
log2_p.def_abstract_eval(unary(log2_p, INEXACT))
log2_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("log2", x), flops=20, expensive=True))

# ---- log10 ----
log10_p = Primitive("log10")
log10_p.def_impl(as_array(np.log10))
log10_p.def_abstract_eval(unary(log10_p, INEXACT))
log10_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("log10", x), flops=20, expensive=True))

# ---- log1p ----
log1p_p = Primitive("log1p")
log1p_p.def_impl(as_array(np.log1p))
log1p_p.def_abstract_eval(unary(log1p_p, INEXACT))
log1p_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("log1p", x), flops=20, expensive=True))

# ---- sqrt ----
sqrt_p = Primitive("sqrt")
sqrt_p.def_impl(as_array(np.sqrt))
sqrt_p.def_abstract_eval(unary(sqrt_p, INEXACT))
sqrt_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("sqrt", x), flops=4))

# ---- cbrt ----
cbrt_p = Primitive("cbrt")
cbrt_p.def_impl(as_array(np.cbrt))
cbrt_p.def_abstract_eval(unary(cbrt_p, FLOATS))
cbrt_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("cbrt", x), flops=20, expensive=True))

# ---- sin ----
sin_p = Primitive("sin")
sin_p.def_impl(as_array(np.sin))
sin_p.def_abstract_eval(unary(sin_p, INEXACT))
sin_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("sin", x), flops=20, expensive=True))

# ---- cos ----
cos_p = Primitive("cos")
cos_p.def_impl(as_array(np.cos))
cos_p.def_abstract_eval(unary(cos_p, INEXACT))
cos_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("cos", x), flops=20, expensive=True))

# ---- tan ----
tan_p = Primitive("tan")
tan_p.def_impl(as_array(np.tan))
tan_p.def_abstract_eval(unary(tan_p, INEXACT))
tan_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("tan", x), flops=20, expensive=True))

# ---- asin ----
asin_p = Primitive("asin")
asin_p.def_impl(as_array(np.arcsin))
asin_p.def_abstract_eval(unary(asin_p, INEXACT))
asin_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("asin", x), flops=20, expensive=True))

# ---- acos ----
acos_p = Primitive("acos")
acos_p.def_impl(as_array(np.arccos))
acos_p.def_abstract_eval(unary(acos_p, INEXACT))
acos_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("acos", x), flops=20, expensive=True))

# ---- atan ----
atan_p = Primitive("atan")
atan_p.def_impl(as_array(np.arctan))
atan_p.def_abstract_eval(unary(atan_p, INEXACT))
atan_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("atan", x), flops=20, expensive=True))

# ---- sinh ----
sinh_p = Primitive("sinh")
sinh_p.def_impl(as_array(np.sinh))
sinh_p.def_abstract_eval(unary(sinh_p, INEXACT))
sinh_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("sinh", x), flops=20, expensive=True))

# ---- cosh ----
cosh_p = Primitive("cosh")
cosh_p.def_impl(as_array(np.cosh))
cosh_p.def_abstract_eval(unary(cosh_p, INEXACT))
cosh_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("cosh", x), flops=20, expensive=True))

# ---- tanh ----
tanh_p = Primitive("tanh")
tanh_p.def_impl(as_array(np.tanh))
tanh_p.def_abstract_eval(unary(tanh_p, INEXACT))
tanh_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("tanh", x), flops=20, expensive=True))

# ---- asinh ----
asinh_p = Primitive("asinh")
asinh_p.def_impl(as_array(np.arcsinh))
asinh_p.def_abstract_eval(unary(asinh_p, INEXACT))
asinh_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("asinh", x), flops=20, expensive=True))

# ---- acosh ----
acosh_p = Primitive("acosh")
acosh_p.def_impl(as_array(np.arccosh))
acosh_p.def_abstract_eval(unary(acosh_p, INEXACT))
acosh_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("acosh", x), flops=20, expensive=True))

# ---- atanh ----
atanh_p = Primitive("atanh")
atanh_p.def_impl(as_array(np.arctanh))
atanh_p.def_abstract_eval(unary(atanh_p, INEXACT))
atanh_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("atanh", x), flops=20, expensive=True))

# ---- atan2 ----
atan2_p = Primitive("atan2")
atan2_p.def_impl(as_array(np.arctan2))
atan2_p.def_abstract_eval(binary(atan2_p, FLOATS))
atan2_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("atan2", x, y), flops=20, expensive=True))

# ---- hypot ----
hypot_p = Primitive("hypot")
hypot_p.def_impl(as_array(np.hypot))
hypot_p.def_abstract_eval(binary(hypot_p, FLOATS))
hypot_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("hypot", x, y), flops=8, expensive=True))

# ---- logaddexp ----
logaddexp_p = Primitive("logaddexp")
logaddexp_p.def_impl(as_array(np.logaddexp))
logaddexp_p.def_abstract_eval(binary(logaddexp_p, FLOATS))
logaddexp_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("logaddexp", x, y), flops=40, expensive=True))

# ---- logaddexp2 ----
logaddexp2_p = Primitive("logaddexp2")
logaddexp2_p.def_impl(as_array(np.logaddexp2))
logaddexp2_p.def_abstract_eval(binary(logaddexp2_p, FLOATS))
logaddexp2_p.def_lowering(Pointwise(lambda ctx, x, y: ctx.call("logaddexp2", x, y), flops=40, expensive=True))


# ---- logistic: 1 / (1 + exp(-x)) ----
logistic_p = Primitive("logistic")


@logistic_p.def_impl
def logistic_impl(x: np.ndarray) -> np.ndarray:
    one = x.dtype.type(1)
    with np.errstate(over="ignore"):  # exp(-x) = inf gives the right limit, 0
        return np.asarray(one / (one + np.exp(-x)))


def _logistic(ctx: ScalarContext, x: str) -> str:
    if ctx.dtype.kind == "f":
        return ctx.call("logistic", x)
    exponential = ctx.call("exp", f"(-{x})")
    return ctx.call("div", ctx.const(1), f"({ctx.const(1)} + {exponential})")


logistic_p.def_abstract_eval(unary(logistic_p, INEXACT))
logistic_p.def_lowering(Pointwise(_logistic, flops=24, expensive=True))


# ---- erf, erfc ----
def _each_float(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of Python floats on every element, in double precision, rounded once to the dtype of `x`."""
    over_array = np.frompyfunc(function, 1, 1)

    def impl(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):  # flags that the C library leaves behind
            return np.asarray(over_array(np.asarray(x, np.float64))).astype(np.float64).astype(x.dtype)

    return impl


erf_p = Primitive("erf")
erf_p.def_impl(_each_float(math.erf))
erf_p.def_abstract_eval(unary(erf_p, FLOATS))
erf_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("erf", x), flops=25, expensive=True))

erfc_p = Primitive("erfc")
erfc_p.def_impl(_each_float(math.erfc))
erfc_p.def_abstract_eval(unary(erfc_p, FLOATS))
erfc_p.def_lowering(Pointwise(lambda ctx, x: ctx.call("erfc", x), flops=30, expensive=True))


# ---- lgamma ----
def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # the poles at 0, -1, -2 ..., and beyond the largest float
        return math.inf


lgamma_p = Primitive("lgamma")
lgamma_p.def_impl(_each_float(_lgamma))
lgamma_p.def_abstract_eval(unary(lgamma_p, FLOATS))
lgamma_p.def_lowering(LibraryCall(lgamma_p.impl, library="libm"))
