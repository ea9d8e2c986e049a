"""Reductions and scans: `sum` and its family, extremes, arg-extremes, logic, cumulative functions, differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import library, ufuncs
from .elementwise import truth
from .operands import (
    array,
    as_axes,
    bind,
    broadcast_operand,
    cast,
    full,
    is_tracer,
    normalize_axis_index,
    operand,
    reshape_to,
    unsupported,
    with_axis,
)
from .promotion import BOOL, INT64, as_dtype, reduction_dtype

NOVALUE = np._NoValue  # what NumPy's own wrappers pass for "not given"
LOGICAL = {np.logical_and: "reduce_and", np.logical_or: "reduce_or"}
REDUCERS = {
    np.add: "reduce_sum", np.multiply: "reduce_prod", np.maximum: "reduce_max", np.minimum: "reduce_min",
    np.bitwise_and: "reduce_and", np.bitwise_or: "reduce_or", np.bitwise_xor: "reduce_xor",
    np.logical_and: "reduce_and", np.logical_or: "reduce_or", np.logical_xor: "reduce_xor",
}  # fmt: skip
OF_BOOLS = {
    np.add: "reduce_or", np.multiply: "reduce_and", np.maximum: "reduce_or", np.minimum: "reduce_and",
}  # fmt: skip
SCANS = {np.add: "cumsum", np.multiply: "cumprod", np.maximum: "cummax", np.minimum: "cummin"}


def given(x: Any) -> bool:
    return x is not NOVALUE and x is not None


def finish(result: Any, out: Any, name: str, casting: str = "same_kind") -> Any:
    """`result`, written into `out` where one is given."""
    (target,) = ufuncs.normalize_out(out, 1) if out is not NOVALUE else (None,)
    if target is None:
        return result
    if result.shape != target.shape:
        raise ValueError(
            f"output parameter for reduction operation {name} has the wrong number of dimensions: Found "
            f"{target.ndim} but expected {result.ndim}"
            if result.ndim != target.ndim
            else f"output parameter for reduction operation {name} has a wrong shape: {target.shape}"
        )
    return ufuncs.store(result, target, True, casting, name, result.shape)


def keep_dims(result: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """A reduced array with its reduced axes put back with length 1."""
    kept = tuple(1 if i in axes else n for i, n in enumerate(shape))
    if result.shape == kept:
        return result
    dims = tuple(i for i in range(len(shape)) if i not in axes)
    return bind("broadcast_in_dim", result, shape=kept, broadcast_dimensions=dims)


def fold(name: str, x: Any, axes: tuple[int, ...]) -> Any:
    """The reduction `name` of a tracer over normalised axes; over none a plain copy, but that sums begin with 0.0."""
    if axes:
        return bind(name, x, axes=tuple(sorted(axes)))
    return bind("add", x, x.dtype.type(0)) if name == "reduce_sum" and x.dtype.kind in "fc" else bind("copy", x)


def reduce_ufunc(
    ufunc: np.ufunc,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NOVALUE,
    where: Any = True,
) -> Any:
    """`ufunc.reduce`."""
    x = array(x)
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None:
        raise ValueError("reduce only supported for binary functions")
    axes = as_axes(axis, x.ndim, lenient=True)
    keepdims = False if keepdims is NOVALUE else bool(keepdims)
    if ufunc not in REDUCERS:
        return finish(_by_numpy(ufunc, x, axes, dtype, keepdims, initial, where), out, ufunc.__name__)
    if dtype is None and out is not None and ufunc not in LOGICAL:
        dtype = ufuncs.normalize_out(out, 1)[0].dtype  # NumPy accumulates in what it is to store
    loop = reduction_dtype(ufunc, x.dtype, dtype)
    if ufunc in (np.logical_and, np.logical_or, np.logical_xor):
        loop, values = BOOL, truth(x)
    else:
        values = cast(x, loop)
    name = OF_BOOLS.get(ufunc, REDUCERS[ufunc]) if loop == BOOL else REDUCERS[ufunc]
    has_identity = ufunc not in (np.maximum, np.minimum)
    if where is not True and where is not NOVALUE:
        values = mask_with_identity(ufunc, values, where, initial, name)
    if (initial is None or (not has_identity and initial is NOVALUE)) and any(x.shape[a] == 0 for a in axes):
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    result = _fold_with_initial(ufunc, name, values, axes, initial, loop)
    if keepdims:
        result = keep_dims(result, x.shape, axes)
    return finish(result, out, ufunc.__name__)


def _fold_with_initial(
    ufunc: np.ufunc, name: str, values: Any, axes: tuple[int, ...], initial: Any, loop: np.dtype
) -> Any:
    if not given(initial):
        return fold(name, values, axes)
    start = operand(initial)
    start = cast(start, loop) if not is_tracer(start) or start.ndim == 0 else start
    if any(values.shape[a] == 0 for a in axes):
        kept = tuple(n for i, n in enumerate(values.shape) if i not in axes)
        return full(kept, start)
    return ufuncs.call_ufunc(ufunc, fold(name, values, axes), start, dtype=loop)


def mask_with_identity(ufunc: np.ufunc, values: Any, where: Any, initial: Any, name: str) -> Any:
    """`values` with what `where` leaves out replaced by a value that does not change the result."""
    if ufunc in (np.maximum, np.minimum):
        if not given(initial):
            raise ValueError(
                f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask one has to "
                "specify 'initial'"
            )
        neutral = cast(operand(initial), values.dtype)
    elif name == "reduce_and":
        neutral = np.True_ if values.dtype == BOOL else np.array(-1).astype(values.dtype)[()]
    else:
        neutral = values.dtype.type(1 if name == "reduce_prod" else 0)
    mask = truth(array(where))
    shape = np.broadcast_shapes(np.shape(np.broadcast_to(0, mask.shape)), values.shape)
    if shape != values.shape:
        raise ValueError(f"where: shape {mask.shape} does not broadcast to that of the array, {values.shape}")
    return bind("select_n", broadcast_operand(mask, shape), neutral, broadcast_operand(values, shape))


def _by_numpy(
    ufunc: np.ufunc, x: Any, axes: tuple[int, ...], dtype: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    """A fold that no kernel does (`np.hypot.reduce`), run by NumPy between kernels."""
    if where is not True and where is not NOVALUE:
        raise unsupported(f"{ufunc.__name__}.reduce with where= cannot be compiled")
    kwargs: dict[str, Any] = {"axis": axes if len(axes) > 1 else axes[0] if axes else 0, "keepdims": keepdims}
    if dtype is not None:
        kwargs["dtype"] = as_dtype(dtype)
    if initial is not NOVALUE:
        if is_tracer(initial):
            raise unsupported(f"{ufunc.__name__}.reduce with a traced initial= cannot be compiled")
        kwargs["initial"] = initial
    return library.numpy_call(f"{ufunc.__name__}.reduce", x, **kwargs)


def accumulate_ufunc(ufunc: np.ufunc, x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """`ufunc.accumulate`."""
    x = array(x)
    if x.ndim == 0:
        raise TypeError("cannot accumulate on a scalar")
    axis = normalize_axis_index(axis, x.ndim)
    if dtype is None and out is not None:
        dtype = ufuncs.normalize_out(out, 1)[0].dtype
    if ufunc not in SCANS or reduction_dtype(ufunc, x.dtype, dtype) == BOOL:
        kwargs = {"axis": axis} if dtype is None else {"axis": axis, "dtype": as_dtype(dtype)}
        return finish(library.numpy_call(f"{ufunc.__name__}.accumulate", x, **kwargs), out, ufunc.__name__)  # pyright: ignore[reportArgumentType]  # NumPy's stubs say less than NumPy does
    loop = reduction_dtype(ufunc, x.dtype, dtype)
    return finish(scan(SCANS[ufunc], cast(x, loop), axis), out, ufunc.__name__)


def scan(name: str, x: Any, axis: int) -> Any:
    return bind(name, x, axis=axis, reverse=False)


# ---- sums, products and extremes ----


def _reducer(ufunc: np.ufunc, with_dtype: bool) -> Callable[..., Any]:
    if with_dtype:

        def reduce_function(  # pyright: ignore[reportRedeclaration]  # NumPy's stubs say less than NumPy does
            a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
            initial: Any = NOVALUE, where: Any = True,
        ) -> Any:  # fmt: skip
            return reduce_ufunc(ufunc, a, axis, dtype, out, keepdims, initial, where)

    else:

        def reduce_function(
            a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = NOVALUE, where: Any = True
        ) -> Any:
            return reduce_ufunc(ufunc, a, axis, None, out, keepdims, initial, where)

    return reduce_function


sum_ = _reducer(np.add, True)
prod = _reducer(np.multiply, True)
amax = _reducer(np.maximum, False)
amin = _reducer(np.minimum, False)


def any_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    return reduce_ufunc(np.logical_or, a, axis, None, out, keepdims, NOVALUE, where)


def all_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    return reduce_ufunc(np.logical_and, a, axis, None, out, keepdims, NOVALUE, where)


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    a = array(a)
    high = amax(a, axis=axis, keepdims=keepdims)
    return finish(ufuncs.call_ufunc(np.subtract, high, amin(a, axis=axis, keepdims=keepdims)), out, "ptp")


def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return sum_(truth(array(a)), axis=axis, dtype=INT64, keepdims=keepdims)


# ---- positions of extremes ----


def _arg_reducer(name: str) -> Callable[..., Any]:
    def arg_function(a: Any, axis: int | None = None, out: Any = None, *, keepdims: Any = False) -> Any:
        a = array(a)
        shape = a.shape
        keep = keepdims is not NOVALUE and bool(keepdims)
        flat = axis is None
        if flat:
            a, index = reshape_to(a, (a.size,)), 0
        else:
            a, index = with_axis(a, axis)
        if a.shape[index] == 0:
            raise ValueError(f"attempt to get {name} of an empty sequence")
        result = bind(name, a, axes=(index,), index_dtype=INT64)
        if keep:
            result = keep_dims(result, shape, tuple(range(len(shape))) if flat or not shape else (index,))
        return finish(result, out, name)

    return arg_function


argmax = _arg_reducer("argmax")
argmin = _arg_reducer("argmin")


# ---- cumulative functions ----


def _cumulative(ufunc: np.ufunc) -> Callable[..., Any]:
    def cumulate(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        a = array(a)
        if axis is None:
            a, axis = reshape_to(a, (a.size,)), 0
        elif a.ndim == 0:
            normalize_axis_index(axis, 1)
            a, axis = reshape_to(a, (1,)), 0
        return accumulate_ufunc(ufunc, a, axis, dtype, out)

    return cumulate


cumsum = _cumulative(np.add)
cumprod = _cumulative(np.multiply)


def _cumulative_standard(ufunc: np.ufunc, start: int, name: str) -> Callable[..., Any]:
    """The array API's form: an axis must be named unless there is one only, and the initial value may be included."""

    def cumulate(
        x: Any, /, *, axis: int | None = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Any:
        x = array(x)
        if x.ndim == 0:
            x = reshape_to(x, (1,))
        if axis is None:
            if x.ndim > 1:
                raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
            axis = 0
        axis = normalize_axis_index(axis, x.ndim)
        result = accumulate_ufunc(ufunc, x, axis, dtype)
        if include_initial:
            shape = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
            result = bind("concatenate", full(shape, result.dtype.type(start)), result, dimension=axis)
        return finish(result, out, name)

    return cumulate


cumulative_sum = _cumulative_standard(np.add, 0, "add")
cumulative_prod = _cumulative_standard(np.multiply, 1, "multiply")


# ---- differences ----


def part(x: Any, axis: int, start: int, stop: int) -> Any:
    """`x[..., start:stop, ...]` along one axis, as a new value."""
    starts = tuple(start if i == axis else 0 for i in range(x.ndim))
    limits = tuple(stop if i == axis else n for i, n in enumerate(x.shape))
    return bind("slice", x, start_indices=starts, limit_indices=limits, strides=None)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NOVALUE, append: Any = NOVALUE) -> Any:
    if n == 0:
        return a
    if n < 0:
        raise ValueError("order must be non-negative but got " + repr(n))
    a = array(a)
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, a.ndim)
    ends = []
    for end in (prepend, append):
        if end is NOVALUE:
            ends.append(())
            continue
        end = array(end)
        if end.ndim == 0:
            end = broadcast_operand(end, tuple(1 if i == axis else m for i, m in enumerate(a.shape)))
        ends.append((end,))
    pieces = (*ends[0], a, *ends[1])
    if len(pieces) > 1:
        a = np.concatenate(pieces, axis)
    ufunc = np.not_equal if a.dtype == BOOL else np.subtract
    for _ in range(n):
        length = a.shape[axis]
        a = ufuncs.call_ufunc(ufunc, part(a, axis, min(1, length), length), part(a, axis, 0, max(length - 1, 0)))
    return a


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    ary = array(ary)
    ary = reshape_to(ary, (ary.size,))
    n = ary.size
    pieces = [ufuncs.call_ufunc(np.subtract, part(ary, 0, min(1, n), n), part(ary, 0, 0, max(n - 1, 0)))]
    for extra, first in ((to_begin, True), (to_end, False)):
        if extra is None:
            continue
        extra = array(extra)
        if not np.can_cast(extra.dtype, ary.dtype, casting="same_kind"):
            which = "to_begin" if first else "to_end"
            raise TypeError(f"dtype of `{which}` must be compatible with input `ary` under the `same_kind` rule.")
        extra = reshape_to(cast(extra, ary.dtype), (extra.size,))
        pieces.insert(0, extra) if first else pieces.append(extra)
    return bind("concatenate", *pieces, dimension=0) if len(pieces) > 1 else pieces[0]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = array(y)
    axis = normalize_axis_index(axis, y.ndim)
    if x is None:
        d = operand(dx)
    else:
        x = array(x)
        if x.ndim == 1:
            d = diff(x)
            d = reshape_to(d, tuple(d.shape[0] if i == axis else 1 for i in range(y.ndim)))
        else:
            d = diff(x, axis=axis)
    n = y.shape[axis]
    high, low = part(y, axis, min(1, n), n), part(y, axis, 0, max(n - 1, 0))
    call = ufuncs.call_ufunc
    areas = call(np.divide, call(np.multiply, d, call(np.add, high, low)), 2.0)
    return sum_(areas, axis=axis)
