"""Reductions: folds over axes. They accumulate in the operand's dtype; of no elements they are the identity.

NumPy's error for the extreme of an empty array belongs to the frontend, which knows about `initial=`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..ir import Aval, Primitive
from .lowering import Reduction, ScalarContext
from .signatures import ALL, BITS, INTS, NUMBERS, Dtypes, check_axes, check_dtype, wrapping


def folded_axes(params: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(params["axes"])


def lowest(dtype: np.dtype) -> Any:
    """The identity of `max`."""
    match dtype.kind:
        case "b":
            return False
        case "i" | "u":
            return int(np.iinfo(dtype).min)
        case "c":
            return complex(-np.inf, -np.inf)
    return -np.inf


def highest(dtype: np.dtype) -> Any:
    """The identity of `min`."""
    match dtype.kind:
        case "b":
            return True
        case "i" | "u":
            return int(np.iinfo(dtype).max)
        case "c":
            return complex(np.inf, np.inf)
    return np.inf


def all_ones(dtype: np.dtype) -> Any:
    """The identity of `and`."""
    return -1 if dtype.kind == "i" else highest(dtype)


def fold(ufunc: np.ufunc, identity: Callable[[np.dtype], Any]) -> Callable[..., np.ndarray]:
    """A ufunc's reduce in the operand's own dtype."""

    def impl(x: np.ndarray, *, axes: tuple[int, ...]) -> np.ndarray:
        initial = x.dtype.type(identity(x.dtype))
        return np.asarray(ufunc.reduce(x, axis=tuple(axes), dtype=x.dtype, initial=initial))

    return impl


def reduced(primitive: Primitive, dtypes: Dtypes) -> Callable[..., Aval]:
    """Abstract evaluation of a fold: `axes` are dropped."""

    def abstract_eval(x: Aval, *, axes: tuple[int, ...]) -> Aval:
        check_dtype(primitive.name, x, dtypes)
        check_axes(primitive.name, axes, x.ndim)
        return Aval(tuple(size for axis, size in enumerate(x.shape) if axis not in axes), x.dtype, x.weak_type)

    return abstract_eval


def larger(ctx: ScalarContext, x: str, y: str) -> str:
    return f"{x} | {y}" if ctx.dtype.kind == "b" else ctx.call("maximum", x, y)


def smaller(ctx: ScalarContext, x: str, y: str) -> str:
    return f"{x} & {y}" if ctx.dtype.kind == "b" else ctx.call("minimum", x, y)


# ---- reduce_sum ----
reduce_sum_p = Primitive("reduce_sum")


@reduce_sum_p.def_impl
def reduce_sum_impl(x: np.ndarray, *, axes: tuple[int, ...]) -> np.ndarray:
    return np.asarray(np.add.reduce(x, axis=tuple(axes), dtype=x.dtype))  # no `initial`: it would cost -0.0 its sign


reduce_sum_p.def_abstract_eval(reduced(reduce_sum_p, NUMBERS))
reduce_sum_p.def_lowering(
    Reduction("sum", lambda ctx, acc, x: wrapping(ctx, "+", acc, x), lambda dtype: 0, folded_axes)
)

# ---- reduce_prod ----
reduce_prod_p = Primitive("reduce_prod")
reduce_prod_p.def_impl(fold(np.multiply, lambda dtype: 1))
reduce_prod_p.def_abstract_eval(reduced(reduce_prod_p, NUMBERS))
reduce_prod_p.def_lowering(
    Reduction("prod", lambda ctx, acc, x: wrapping(ctx, "*", acc, x), lambda dtype: 1, folded_axes)
)

# ---- reduce_max ----
reduce_max_p = Primitive("reduce_max")
reduce_max_p.def_impl(fold(np.maximum, lowest))
reduce_max_p.def_abstract_eval(reduced(reduce_max_p, ALL))
reduce_max_p.def_lowering(Reduction("max", larger, lowest, folded_axes))

# ---- reduce_min ----
reduce_min_p = Primitive("reduce_min")
reduce_min_p.def_impl(fold(np.minimum, highest))
reduce_min_p.def_abstract_eval(reduced(reduce_min_p, ALL))
reduce_min_p.def_lowering(Reduction("min", smaller, highest, folded_axes))

# ---- reduce_and ----
reduce_and_p = Primitive("reduce_and")
reduce_and_p.def_impl(fold(np.bitwise_and, all_ones))
reduce_and_p.def_abstract_eval(reduced(reduce_and_p, BITS))
reduce_and_p.def_lowering(Reduction("and", lambda ctx, acc, x: f"{acc} & {x}", all_ones, folded_axes))

# ---- reduce_or ----
reduce_or_p = Primitive("reduce_or")
reduce_or_p.def_impl(fold(np.bitwise_or, lambda dtype: 0))
reduce_or_p.def_abstract_eval(reduced(reduce_or_p, BITS))
reduce_or_p.def_lowering(Reduction("or", lambda ctx, acc, x: f"{acc} | {x}", lambda dtype: 0, folded_axes))

# ---- reduce_xor ----
reduce_xor_p = Primitive("reduce_xor")
reduce_xor_p.def_impl(fold(np.bitwise_xor, lambda dtype: 0))
reduce_xor_p.def_abstract_eval(reduced(reduce_xor_p, BITS))
reduce_xor_p.def_lowering(Reduction("xor", lambda ctx, acc, x: f"{acc} ^ {x}", lambda dtype: 0, folded_axes))


# ---- argmax, argmin: the first position of the extreme; `combine` says whether a later x replaces acc ----
def arg_reduced(primitive: Primitive) -> Callable[..., Aval]:
    """Abstract evaluation of an arg-reduction over the one axis in `axes`."""

    def abstract_eval(x: Aval, *, axes: tuple[int, ...], index_dtype: np.dtype) -> Aval:
        check_dtype(primitive.name, x, ALL)
        check_axes(primitive.name, axes, x.ndim)
        if len(axes) != 1:
            raise ValueError(f"{primitive.name}: takes one axis, got {tuple(axes)}; reshape first")
        if np.dtype(index_dtype) not in INTS:
            raise TypeError(f"{primitive.name}: index_dtype {index_dtype} is no integer dtype")
        if x.shape[axes[0]] == 0:
            raise ValueError(f"attempt to get {primitive.name} of an empty sequence")
        return Aval(tuple(n for axis, n in enumerate(x.shape) if axis != axes[0]), np.dtype(index_dtype))

    return abstract_eval


def replaces(comparison: str, operator: str) -> Callable[[ScalarContext, str, str], str]:
    """Whether `x`, from a later position, takes the place of `acc`: it compares so, or is the first NaN."""

    def condition(ctx: ScalarContext, acc: str, x: str) -> str:
        dtype = ctx.in_dtypes[0]
        match dtype.kind:
            case "c":
                nan, was_nan = ctx.call("isnan", x, dtype=dtype), ctx.call("isnan", acc, dtype=dtype)
                return f"({ctx.call(comparison, x, acc, dtype=dtype)} or {nan}) and not {was_nan}"
            case "f":
                return f"({x} {operator} {acc}) | (({x} != {x}) & ({acc} == {acc}))"
        return f"{x} {operator} {acc}"

    return condition


argmax_p = Primitive("argmax")
argmax_p.def_impl(lambda x, *, axes, index_dtype: np.asarray(np.argmax(x, axis=axes[0])).astype(index_dtype))
argmax_p.def_abstract_eval(arg_reduced(argmax_p))
argmax_p.def_lowering(Reduction("argmax", replaces("gt", ">"), lowest, folded_axes))

argmin_p = Primitive("argmin")
argmin_p.def_impl(lambda x, *, axes, index_dtype: np.asarray(np.argmin(x, axis=axes[0])).astype(index_dtype))
argmin_p.def_abstract_eval(arg_reduced(argmin_p))
argmin_p.def_lowering(Reduction("argmin", replaces("lt", "<"), highest, folded_axes))
