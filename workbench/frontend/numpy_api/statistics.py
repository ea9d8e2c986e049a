"""Means, variances, quantiles, and the variants of reductions that pass over NaN.

The formulas are NumPy's own, step by step (a two-pass variance, a mean in float64 of integers), so that values agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import tracer as core
from ..checks import end_unless_later
from ..layouts import followed_strides
from ..positions import warn_user
from . import contractions, library, reductions, ufuncs
from .operands import (
    array,
    as_array,
    as_axes,
    bind,
    broadcast_operand,
    cast,
    constant_like,
    full,
    known,
    operand,
    reshape_to,
)
from .promotion import FLOAT64, INT64, as_dtype, real_dtype, result_type
from .reductions import NOVALUE, finish, keep_dims, part

call = ufuncs.call_ufunc


def count_of(x: Any, axes: tuple[int, ...], keepdims: bool, where: Any) -> Any:
    """How many elements each result is made of: a number, or an array where `where` decides."""
    if where is True or where is NOVALUE:
        n = 1
        for axis in axes:
            n *= x.shape[axis]
        return n
    mask = broadcast_operand(array(operand(where)), x.shape)
    return reductions.sum_(mask, axis=axes, dtype=INT64, keepdims=keepdims)


def _divide_by_count(total: Any, count: Any) -> Any:
    """`total / count` in the dtype of `total`, as `np.true_divide(..., casting="unsafe")` into it."""
    if isinstance(count, int):
        divisor: Any = constant_like(total, count)
    else:
        divisor = cast(count, total.dtype)
    return call(np.divide, total, divisor)


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    a = array(a)
    axes = as_axes(axis, a.ndim, lenient=where is not True)
    keep = keepdims is not NOVALUE and bool(keepdims)
    wide = as_dtype(dtype) if dtype is not None else FLOAT64 if a.dtype.kind in "biu" else a.dtype
    if dtype is None and out is not None and a.dtype.kind in "fc":  # NumPy sums in what it is to store
        wide = ufuncs.normalize_out(out, 1)[0].dtype
    total = reductions.reduce_ufunc(np.add, a, axes, wide, None, keep, NOVALUE, where)
    count = count_of(a, axes, keep, where)
    if isinstance(count, int) and count == 0:
        warn_user("Mean of empty slice.", RuntimeWarning)
    if wide.kind in "biu":  # an integer dtype was asked for: the quotient is cut to it
        return finish(cast(call(np.divide, total, count), wide), out, "mean")
    return finish(_divide_by_count(total, count), out, "mean", "unsafe")


def variance(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = NOVALUE,
    correction: Any = NOVALUE,
) -> Any:
    a = array(a)
    if correction is not NOVALUE:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    axes = as_axes(axis, a.ndim, lenient=where is not True)
    keep = keepdims is not NOVALUE and bool(keepdims)
    wide = as_dtype(dtype) if dtype is not None else FLOAT64 if a.dtype.kind in "biu" else a.dtype
    count = count_of(a, axes, True, where)
    if mean is NOVALUE:
        total = reductions.reduce_ufunc(np.add, a, axes, wide, None, True, NOVALUE, where)
        center = _divide_by_count(total, count) if wide.kind in "fc" else call(np.divide, total, count)
    else:
        center = operand(mean)
    deviation = call(np.subtract, a, center)
    if deviation.dtype.kind == "c":
        re, im = bind("real", deviation), bind("imag", deviation)
        squares = call(np.add, call(np.multiply, re, re), call(np.multiply, im, im))
    else:
        squares = call(np.square, deviation)
    wide_sum = real_dtype(wide) if wide.kind == "c" else wide
    if dtype is None and out is not None and a.dtype.kind in "fc":
        wide_sum = ufuncs.normalize_out(out, 1)[0].dtype
    total = reductions.reduce_ufunc(np.add, squares, axes, wide_sum, None, keep, NOVALUE, where)
    if isinstance(count, int):
        if ddof >= count:
            warn_user("Degrees of freedom <= 0 for slice", RuntimeWarning)
        left = max(count - ddof, 0)
        divisor: Any = constant_like(total, left)
    else:
        left = call(np.maximum, call(np.subtract, count, ddof), 0)
        if not keep:
            left = reshape_to(left, total.shape)
        divisor = cast(left, total.dtype)
    return finish(call(np.divide, total, divisor), out, "var", "unsafe")


def standard_deviation(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
                       keepdims: Any = False, *, where: Any = True, mean: Any = NOVALUE,
                       correction: Any = NOVALUE) -> Any:  # fmt: skip
    found = variance(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return finish(call(np.sqrt, found), out, "std", "unsafe")


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NOVALUE) -> Any:
    a = array(a)
    keep = keepdims is not NOVALUE and bool(keepdims)
    axes = None if axis is None else as_axes(axis, a.ndim)
    if weights is None:
        result = mean(a, axes, keepdims=keep)
        n = a.size / result.size
        scale = full(result.shape, result.dtype.type(n)) if returned else None
    else:
        w = array(weights)
        dtype = result_type(a, w, FLOAT64) if a.dtype.kind in "biu" else result_type(a, w)
        if a.shape != w.shape:
            w = _align_weights(a, w, axes)
        scale = reductions.sum_(w, axis=axes, dtype=dtype, keepdims=keep)
        total = known(scale)
        if total is None:
            end_unless_later(reductions.all_(call(np.not_equal, scale, 0)))
        elif (total == 0).any():
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        products = call(np.multiply, a, w, dtype=dtype)
        result = call(np.divide, reductions.sum_(products, axis=axes, keepdims=keep), scale)
    if not returned:
        return result
    return result, broadcast_operand(scale, result.shape)


def _align_weights(a: Any, w: Any, axes: tuple[int, ...] | None) -> Any:
    if axes is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.shape != tuple(a.shape[i] for i in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    order = np.argsort(axes)
    w = bind("transpose", w, permutation=tuple(int(i) for i in order)) if w.ndim > 1 else w
    return reshape_to(w, tuple(n if i in axes else 1 for i, n in enumerate(a.shape)))


# ---- order statistics ----


def _axes_last(a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """`a` with the axes to reduce laid flat behind the others, and those axes."""
    axes = as_axes(axis, a.ndim)
    kept = [i for i in range(a.ndim) if i not in axes]
    moved = bind("transpose", a, permutation=(*kept, *axes)) if axes and kept else a
    length = int(np.prod([a.shape[i] for i in axes], dtype=np.int64))
    return reshape_to(moved, (*(a.shape[i] for i in kept), length)), axes


def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """The mean of the middle, once that is in its place; a NaN, which sorts last, is the median of its row."""
    a = array(a)
    shape = a.shape
    flat, axes = _axes_last(a, axis)
    n = flat.shape[-1]
    last = flat.ndim - 1
    if n == 0:
        return library.numpy_call("median", a, axis=axis if axis is None else axes, keepdims=bool(keepdims))
    places = {(n - 1) // 2, n // 2, *([n - 1] if a.dtype.kind in "fc" else [])}
    ordered = bind("partition", flat, kth=tuple(sorted(places)), axis=last)
    middle = part(ordered, last, (n - 1) // 2, n // 2 + 1)
    result = mean(middle, axis=-1)
    if a.dtype.kind in "fc":
        worst = reshape_to(part(ordered, last, n - 1, n), result.shape)
        nan = result.dtype.type(np.nan)
        result = bind("select_n", call(np.isnan, worst), result, nan)
    if axis is not None and not result.scalar and result.ndim > 1:
        kept = tuple(s for i, s in enumerate(a.strides) if i not in axes)
        core.lay_out(result, followed_strides([kept], result.aval))
    if keepdims is not NOVALUE and keepdims:
        result = keep_dims(result, shape, axes)
    return finish(result, out, "median")


QUANTILES = {
    name: library.between_kernels(getattr(np, name), "a")
    for name in ("quantile", "percentile", "nanquantile", "nanpercentile", "nanmedian")
}


def _quantile(name: str) -> Callable[..., Any]:
    """Quantiles at known positions; NumPy finds them between kernels."""
    run = QUANTILES[name]

    def quantile(a: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        a = array(a)
        kwargs.pop("overwrite_input", None)
        result = run(a, *args, **{k: v for k, v in kwargs.items() if v is not NOVALUE})
        return finish(result, out, name)

    return quantile


quantile, percentile, nanquantile, nanpercentile, nanmedian = (_quantile(name) for name in QUANTILES)


# ---- passing over NaN ----


def without_nan(a: Any, value: Any) -> tuple[Any, Any]:
    """`a` with NaN replaced, and where they were (None where there can be none)."""
    a = array(a)
    if a.dtype.kind not in "fc":
        return a, None
    nan = call(np.isnan, a)
    return bind("select_n", nan, a, a.dtype.type(value)), nan


def _nan_reducer(reducer: Callable[..., Any], value: int) -> Callable[..., Any]:
    def reduce_function(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
        initial: Any = NOVALUE, where: Any = True,
    ) -> Any:  # fmt: skip
        values, _ = without_nan(a, value)
        return reducer(values, axis, dtype, out, keepdims, initial, where)

    return reduce_function


nansum = _nan_reducer(reductions.sum_, 0)
nanprod = _nan_reducer(reductions.prod, 1)


def _nan_extreme(reducer: Callable[..., Any], ufunc: np.ufunc, neutral: float) -> Callable[..., Any]:
    def reduce_function(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = NOVALUE, where: Any = True
    ) -> Any:
        a = array(a)
        if a.dtype.kind != "f":
            if a.dtype.kind == "c":
                name = "nanmax" if ufunc is np.maximum else "nanmin"
                return finish(library.numpy_call(name, a, axis=axis, keepdims=keepdims is True), out, name)
            return reducer(a, axis, out, keepdims, initial, where)
        values, nan = without_nan(a, neutral)
        result = reducer(values, axis, None, keepdims, initial, where)
        if initial is NOVALUE and where is True:
            empty = reductions.all_(nan, axis, None, keepdims)
            result = bind("select_n", empty, result, result.dtype.type(np.nan))
        return finish(result, out, ufunc.__name__)

    return reduce_function


nanmax = _nan_extreme(reductions.amax, np.maximum, -np.inf)
nanmin = _nan_extreme(reductions.amin, np.minimum, np.inf)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    values, nan = without_nan(a, 0)
    axis = as_axes(axis, values.ndim, lenient=nan is not None)
    if nan is None:
        return mean(values, axis, dtype, out, keepdims, where=where)
    present = call(np.logical_not, nan)
    count = reductions.sum_(present, axis=axis, dtype=INT64, keepdims=keepdims, where=where)
    total = reductions.sum_(values, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return finish(_divide_by_count(total, count), out, "nanmean", "unsafe")


def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
    where: Any = True, mean: Any = NOVALUE, correction: Any = NOVALUE,
) -> Any:  # fmt: skip
    values, nan = without_nan(a, 0)
    axis = as_axes(axis, values.ndim, lenient=nan is not None)
    if nan is None:
        return variance(values, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
    if correction is not NOVALUE:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    present = call(np.logical_not, nan)
    count = reductions.sum_(present, axis=axis, dtype=INT64, keepdims=True, where=where)
    if mean is NOVALUE:
        total = reductions.sum_(values, axis=axis, dtype=dtype, keepdims=True, where=where)
        center = _divide_by_count(total, count)
    else:
        center = operand(mean)
    deviation = call(np.subtract, values, center)
    deviation = bind("select_n", nan, deviation, deviation.dtype.type(0))
    if deviation.dtype.kind == "c":
        squares = bind("real", call(np.multiply, deviation, call(np.conjugate, deviation)))
    else:
        squares = call(np.multiply, deviation, deviation)
    total = reductions.sum_(squares, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    left = call(np.subtract, reshape_to(count, total.shape), ddof)
    result = call(np.divide, total, cast(left, total.dtype))
    bad = call(np.less_equal, left, 0)
    result = bind("select_n", bad, result, result.dtype.type(np.nan))
    return finish(result, out, "nanvar", "unsafe")


def nanstd(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
           where: Any = True, mean: Any = NOVALUE, correction: Any = NOVALUE) -> Any:  # fmt: skip
    found = nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return finish(call(np.sqrt, found), out, "nanstd", "unsafe")


def _nan_arg(name: str) -> Callable[..., Any]:
    """`nanargmax`, `nanargmin`: in NumPy, which raises for a slice of NaN only."""

    def arg_function(a: Any, axis: int | None = None, out: Any = None, *, keepdims: Any = False) -> Any:
        a = array(a)
        if a.dtype.kind != "f":
            return getattr(reductions, name.removeprefix("nan"))(a, axis, out, keepdims=keepdims)
        return finish(library.numpy_call(name, a, axis=axis, keepdims=keepdims is True), out, name)

    return arg_function


nanargmax = _nan_arg("nanargmax")
nanargmin = _nan_arg("nanargmin")


def _nan_scan(scan: Callable[..., Any], value: int) -> Callable[..., Any]:
    def cumulate(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        return scan(without_nan(a, value)[0], axis, dtype, out)

    return cumulate


nancumsum = _nan_scan(reductions.cumsum, 0)
nancumprod = _nan_scan(reductions.cumprod, 1)


# ---- of several variables ----


def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    m = array(m)
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    wide = as_dtype(dtype) if dtype is not None else result_type(m, FLOAT64, *(() if y is None else (array(y),)))
    X = _observations(m, wide, rowvar)  # noqa: N806 (the formula's own name)
    if X.shape[0] == 0:
        return full((0, 0), wide.type(0))
    if y is not None:
        y = array(y)
        if y.ndim > 2:
            raise ValueError("y has more than 2 dimensions")
        X = bind("concatenate", X, _observations(y, wide, rowvar), dimension=0)  # noqa: N806
    if ddof is None:
        ddof = 0 if bias else 1
    w = None
    if fweights is not None:
        w = cast(array(fweights), FLOAT64)
        _check_weights(w, X, "fweights")
    if aweights is not None:
        extra = cast(array(aweights), FLOAT64)
        _check_weights(extra, X, "aweights")
        w = extra if w is None else call(np.multiply, w, extra)
    avg, w_sum = average(X, axis=1, weights=w, returned=True)
    w_sum = reshape_to(part(w_sum, 0, 0, 1), ())
    if w is None:
        factor: Any = np.float64(X.shape[1] - ddof)
    elif ddof == 0:
        factor = w_sum
    elif aweights is None:
        factor = call(np.subtract, w_sum, ddof)
    else:
        weighted = reductions.sum_(call(np.multiply, w, cast(array(aweights), FLOAT64)))
        factor = call(np.subtract, w_sum, call(np.divide, call(np.multiply, float(ddof), weighted), w_sum))
    factor = call(np.maximum, factor, 0.0) if not isinstance(factor, np.generic) else np.float64(max(factor, 0.0))  # pyright: ignore[reportArgumentType]  # NumPy's stubs say less than NumPy does
    X = call(np.subtract, X, reshape_to(avg, (avg.shape[0], 1)))  # noqa: N806
    right = X if w is None else call(np.multiply, X, w)
    right = bind("transpose", right, permutation=(1, 0))
    c = contractions.matmul(X, call(np.conjugate, right))
    scale = call(np.true_divide, 1, factor) if not isinstance(factor, np.generic) else _inverse(factor)
    return as_array(drop_ones(call(np.multiply, c, scale)))


def _check_weights(w: Any, samples: Any, name: str) -> None:
    if w.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if w.shape[0] != samples.shape[1]:
        raise RuntimeError(f"incompatible numbers of samples and {name}")


def _inverse(factor: np.generic) -> np.generic:
    with np.errstate(divide="ignore"):
        return np.true_divide(1, factor)


def _observations(m: Any, dtype: np.dtype, rowvar: bool) -> Any:
    """Variables in rows, observations in columns."""
    x = cast(m, dtype)
    if x.ndim < 2:
        x = reshape_to(x, (1, x.size))
        return x
    return x if rowvar else bind("transpose", x, permutation=(1, 0))


def drop_ones(x: Any) -> Any:
    return reshape_to(x, tuple(n for n in x.shape if n != 1))


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return call(np.divide, c, c)
    n = c.shape[0]
    diagonal = bind("slice", reshape_to(c, (n * n,)), start_indices=(0,), limit_indices=(n * n,), strides=(n + 1,))
    d = call(np.sqrt, bind("real", diagonal) if c.dtype.kind == "c" else diagonal)
    c = call(np.divide, c, reshape_to(d, (n, 1)))
    c = call(np.divide, c, reshape_to(d, (1, n)))
    if c.dtype.kind == "c":
        return bind("complex", _to_unit(bind("real", c)), _to_unit(bind("imag", c)))
    return _to_unit(c)


def _to_unit(x: Any) -> Any:
    return bind("clamp", x.dtype.type(-1), x, x.dtype.type(1))
