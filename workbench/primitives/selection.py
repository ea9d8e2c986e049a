"""Selection: one of several values per element, and clamping."""

from __future__ import annotations

import numpy as np

from ..ir import Aval, Primitive
from .lowering import Pointwise, ScalarContext
from .signatures import ALL, as_array, check_dtype, check_same_dtype, joint_shape

# ---- select_n: case number `which`, an int32, or a bool that chooses between two ----
select_n_p = Primitive("select_n")


@select_n_p.def_impl
def select_n_impl(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    if which.dtype.kind == "b":
        return np.asarray(np.where(which, cases[1], cases[0]))
    out = np.array(np.broadcast_to(cases[0], np.broadcast_shapes(which.shape, *(c.shape for c in cases))))
    for number, case in enumerate(cases[1:], start=1):
        np.copyto(out, case, where=(which >= number))
    return out


@select_n_p.def_abstract_eval
def select_n_aval(which: Aval, *cases: Aval) -> Aval:
    if which.dtype not in (np.dtype(bool), np.dtype(np.int32)):
        raise TypeError(f"select_n: which has dtype {which.dtype}; it must be bool or int32")
    if not cases or (which.dtype.kind == "b" and len(cases) != 2):
        raise TypeError(f"select_n: {len(cases)} cases for a {which.dtype}; a bool chooses between two")
    for case in cases:
        check_dtype("select_n", case, ALL)
    shape, dtype = joint_shape("select_n", (which, *cases)), check_same_dtype("select_n", cases)
    return Aval(shape, dtype, all(case.weak_type for case in cases))


def _select(ctx: ScalarContext, which: str, *cases: str) -> str:
    if ctx.in_dtypes[0].kind == "b":
        return ctx.choose(which, cases[1], cases[0])
    text = cases[-1]
    for number in reversed(range(len(cases) - 1)):
        text = ctx.choose(f"{which} <= {number}", cases[number], text)
    return text


select_n_p.def_lowering(Pointwise(_select))

# ---- clamp: NumPy's clip, NaN in any operand is handed on ----
clamp_p = Primitive("clamp")
clamp_p.def_impl(as_array(lambda lo, x, hi: np.clip(x, lo, hi)))


@clamp_p.def_abstract_eval
def clamp_aval(lo: Aval, x: Aval, hi: Aval) -> Aval:
    check_dtype("clamp", x, ALL)
    dtype = check_same_dtype("clamp", (x, lo, hi))
    return Aval(joint_shape("clamp", (lo, x, hi)), dtype, all(aval.weak_type for aval in (lo, x, hi)))


def _clamp(ctx: ScalarContext, lo: str, x: str, hi: str) -> str:
    if ctx.dtype.kind == "b":
        return f"({x} | {lo}) & {hi}"
    # Not min(max(x, lo), hi): where x equals a bound, as 0.0 and -0.0 do, NumPy keeps x. (So does its loop for two
    # bounds that are single numbers; its loop for arrays of bounds, which strides choose, takes the bound's sign.)
    if ctx.dtype.kind in "fc":
        return ctx.call("clamp", lo, x, hi)
    return ctx.call("minimum", ctx.call("maximum", x, lo), hi)


clamp_p.def_lowering(Pointwise(_clamp, flops=2))
