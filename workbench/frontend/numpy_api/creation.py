"""Creation: the functions that make arrays. In traced code they make traced arrays, built of fills and counters.

Most do not dispatch on their arguments, so the frontend calls them from the table `CREATION` in place of NumPy's. What
depends on no traced value has the same bits as NumPy's, because NumPy computes it and the program holds the result as
a constant, except where a fill or a counter is exact and smaller.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from .. import checks, views
from .. import tracer as core
from ..counted_lists import CountedList
from . import movement, reductions, ufuncs
from .operands import (
    array as as_tracer,
)
from .operands import (
    as_shape,
    bind,
    broadcast_operand,
    cast,
    cast_wrapping,
    has_tracer,
    is_tracer,
    known,
    laid_out_like,
    operand,
    reshape_to,
    shape_of,
    static_array,
    stored,
    unsupported,
)
from .operands import (
    full as filled,
)
from .promotion import BOOL, INT64, as_dtype, check_dtype, check_not_mixed, is_python_scalar, real_dtype, result_type

call = ufuncs.call_ufunc


def constant(value: np.ndarray) -> Any:
    """An array that NumPy computed while tracing, as a constant of the program."""
    check_dtype(value.dtype, "array")
    return core.as_array(core.lift(np.ascontiguousarray(value) if value.ndim else value))


def _fill(shape: Any, value: Any, dtype: Any) -> Any:
    return core.as_array(filled(as_shape(shape), value, check_dtype(as_dtype(dtype), "dtype")))


def _fortran(x: Any, order: str) -> Any:
    """`x`, freshly made, laid out as `order` asks; only views and `ravel` can tell the difference."""
    if order == "F" and x.ndim > 1:
        return views.transpose(core.as_array(_transposed(x)), tuple(range(x.ndim))[::-1])
    return x


def _transposed(x: Any) -> Any:
    return bind("transpose", x, permutation=tuple(range(x.ndim))[::-1])


# ---- fills ----


def zeros(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    dtype = as_dtype(dtype)
    return _fortran(_fill(shape, dtype.type(0), dtype), order)


def ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    dtype = as_dtype(dtype)
    return _fortran(_fill(shape, dtype.type(1), dtype), order)


def empty(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    return zeros(shape, dtype, order)


def ndarray(
    shape: Any, dtype: Any = float, buffer: Any = None, offset: int = 0, strides: Any = None, order: Any = "C"
) -> Any:
    """`np.ndarray(shape, dtype)`: an empty array."""
    if buffer is not None or strides is not None or offset:
        raise unsupported("an ndarray over given memory", fixes=("np.empty(shape, dtype)",))
    return empty(shape, dtype, order or "C")


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None,
         like: Any = None) -> Any:  # fmt: skip
    value = operand(fill_value)
    if dtype is None:
        dtype = result_type(value) if is_python_scalar(value) or is_tracer(value) else value.dtype
    dtype = check_dtype(as_dtype(dtype), "full")
    value, shape = (cast if type(value) is int else cast_wrapping)(value, dtype), as_shape(shape)
    if shape_of(value):
        return core.as_array(bind("copy", movement.broadcast_to(value, shape)))
    return _fortran(_fill(shape, value, dtype), order)


def _like(prototype: Any, dtype: Any, shape: Any) -> tuple[tuple[int, ...], np.dtype]:
    prototype = as_tracer(prototype)
    return (
        prototype.shape if shape is None else as_shape(shape),
        prototype.dtype if dtype is None else as_dtype(dtype),
    )


def _filled_like(prototype: Any, value: int, dtype: Any, order: str, shape: Any) -> Any:
    sizes, found = _like(prototype, dtype, shape)
    return _ordered_like(_fill(sizes, found.type(value), found), prototype, order)


def _ordered_like(x: Any, prototype: Any, order: str) -> Any:
    """The order of a `*_like` function: as the prototype's unless another is asked for."""
    prototype = as_tracer(prototype)
    if order == "F" or (order == "A" and views.Flags(prototype).fnc):
        return _fortran(x, "F")
    return laid_out_like(x, prototype) if order == "K" and x.ndim == prototype.ndim and x.ndim > 1 else x


def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
               device: Any = None) -> Any:  # fmt: skip
    return _filled_like(a, 0, dtype, order, shape)


def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
              device: Any = None) -> Any:  # fmt: skip
    return _filled_like(a, 1, dtype, order, shape)


def empty_like(prototype: Any, /, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
               device: Any = None) -> Any:  # fmt: skip
    return zeros_like(prototype, dtype, order, subok, shape)


def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
              device: Any = None) -> Any:  # fmt: skip
    sizes, found = _like(a, dtype, shape)
    return _ordered_like(full(sizes, fill_value, found), a, order)


# ---- from values ----


_COPY_MODES: dict[Any, bool | None] = {
    np._CopyMode.ALWAYS: True,
    np._CopyMode.IF_NEEDED: None,
    np._CopyMode.NEVER: False,
}


def array(object: Any, dtype: Any = None, *, copy: Any = True, order: str = "K", subok: bool = False,
          ndmin: int = 0, ndmax: int = 0, like: Any = None) -> Any:  # fmt: skip
    if type(object) is CountedList and copy and not ndmin:
        return object.stacked(dtype)
    x = as_array_of(object, dtype)
    copy = _COPY_MODES.get(copy, copy)
    if copy is False and x is not object:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    is_array = is_tracer(object) or isinstance(object, np.ndarray)
    x = copied(x, order) if copy and is_array else _in_order(x, order)
    if x.ndim < ndmin:
        x = reshape_to(x, (1,) * (ndmin - x.ndim) + x.shape)
    return x


def as_array_of(value: Any, dtype: Any = None) -> Any:
    """`value` as a traced array of `dtype`: itself where it is one already."""
    dtype = None if dtype is None else check_dtype(as_dtype(dtype), "array")
    if dtype is None:
        check_not_mixed(value)
    if not is_tracer(value) and not has_tracer(value):
        convert = getattr(type(value), "__array__", None)
        if isinstance(convert, FunctionType):  # a class of the user's, whose array may be a traced one
            return as_array_of(convert(value), dtype)
        if not isinstance(value, np.ndarray):
            return constant(np.asarray(value, dtype))
        value = operand(value)
    x = operand(value) if dtype is None else stored(value, dtype)
    x = x if is_tracer(x) else as_tracer(x)
    if x.aval.weak_type:  # an array of a Python scalar has its full dtype
        x = bind("convert_element_type", x, new_dtype=x.dtype, weak_type=False)
    if x.scalar:
        x = core.as_array(core.from_atom(core.require_trace(), core.lift(x).current))
    return x


def asarray(a: Any, dtype: Any = None, order: str | None = None, *, device: Any = None, copy: bool | None = None,
            like: Any = None) -> Any:  # fmt: skip
    if type(a) is CountedList:
        return a.stacked(dtype)
    x = _in_order(as_array_of(a, dtype), order or "K")
    copy = _COPY_MODES.get(copy, copy)
    if copy is False and x is not a:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return copied(x, order or "K") if copy and x is a else x


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0, *, like: Any = None) -> Any:
    """The bytes of a `bytes` object, which are known while tracing, as numbers."""
    if type(buffer) is not bytes:
        raise unsupported(f"np.frombuffer of a {type(buffer).__name__}: only bytes stay as they are")
    x = constant(np.frombuffer(buffer, as_dtype(dtype), count, offset))
    x.writeable = x.buffer.writeable = False
    return x


def asanyarray(a: Any, dtype: Any = None, order: str | None = None, *, device: Any = None, copy: bool | None = None,
               like: Any = None) -> Any:  # fmt: skip
    return asarray(a, dtype, order, copy=copy)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    x = as_array_of(a, dtype)
    if x.ndim == 0:
        return movement.reshape(x, (1,))
    return x if views.Flags(x).c_contiguous else row_major(x)


def row_major(x: Any) -> Any:
    """A C-contiguous copy; a plain `copy` would keep the axis order of `x`."""
    return reshape_to(bind("reshape", x, new_sizes=(x.size,), dimensions=None), x.shape)


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    x = as_array_of(a, dtype)
    if x.ndim == 0:
        return movement.reshape(x, (1,))
    return x if views.Flags(x).f_contiguous else _fortran(x, "F")


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    wanted = {str(r).upper() for r in ([requirements] if isinstance(requirements, str) else requirements or ())}
    if wanted & {"F", "F_CONTIGUOUS", "FORTRAN"}:
        return asfortranarray(a, dtype)
    x = ascontiguousarray(a, dtype) if wanted & {"C", "C_CONTIGUOUS", "CONTIGUOUS"} else as_array_of(a, dtype)
    needs_copy = (wanted & {"O", "OWNDATA"} and x.parent is not None) or (
        wanted & {"W", "WRITEABLE"} and not views.Flags(x).writeable
    )
    return copied(x) if needs_copy else x


def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> Any:
    """NumPy's error for what is not finite ends the call: NumPy makes it then, and raises it."""
    if not has_tracer(a):
        np.asarray_chkfinite(a, dtype, order)  # pyright: ignore[reportArgumentType, reportCallIssue]  # NumPy's stubs say less than NumPy does
    x = asarray(a, dtype, order)
    if has_tracer(a) and x.dtype.kind in "fc" and x.size:
        checks.end_unless(np.isfinite(x).all())
    return x


def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return copied(as_array_of(a), order)


def copied(x: Any, order: str = "K") -> Any:
    """A copy of an array, its axes in memory as `order` asks: "C", "F", "A" (Fortran order if `x` has it, else C order)
    or "K" (as in `x`)."""
    _check_order(order)
    if order == "C" or (order == "A" and not views.Flags(x).fnc):
        return row_major(x) if x.ndim > 1 else core.as_array(bind("copy", x))
    return _fortran(core.as_array(laid_out_like(bind("copy", x), x)), "F" if order == "A" else order)


def _in_order(x: Any, order: str) -> Any:
    """An array itself where it lies in memory as `order` asks, else a copy that does."""
    _check_order(order)
    flags = views.Flags(x)
    fits = {"K": True, "C": flags.c_contiguous, "F": flags.f_contiguous, "A": flags.forc}[order]
    return x if fits else copied(x, order)


def _check_order(order: Any) -> None:
    if order not in ("K", "A", "C", "F"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    x = as_tracer(x)
    target = check_dtype(as_dtype(dtype), "astype")
    if target == x.dtype and not x.aval.weak_type:
        return core.as_array(laid_out_like(bind("copy", x), x)) if copy and not x.scalar else x
    result = bind("convert_element_type", x, new_dtype=target, weak_type=False)
    return result if x.scalar else core.as_array(laid_out_like(result, x))


# ---- counters and ranges ----


def arange(*args: Any, dtype: Any = None, device: Any = None, like: Any = None, **named: Any) -> Any:
    start, stop, step = _range_arguments(args, named)
    if len(args) > 3:
        dtype = args[3]
    bounds = [static_array(v, "the bounds of arange").item() if not is_python_scalar(v) and v is not None
              and not isinstance(v, np.generic) else v for v in (start, stop, step)]  # fmt: skip
    value = np.arange(*bounds, **({} if dtype is None else {"dtype": dtype}))  # pyright: ignore[reportArgumentType, reportCallIssue]  # NumPy's stubs say less than NumPy does
    check_dtype(value.dtype, "arange")
    first, _, by = bounds
    if value.dtype.kind in "iu" and value.size and by in (None, 1) and isinstance(first, int | np.integer):
        count = bind("iota", dtype=value.dtype, shape=value.shape, dimension=0)
        return count if first == 0 else bind("add", count, value.dtype.type(first))
    return constant(value)


def _range_arguments(args: Sequence[Any], named: dict[str, Any]) -> tuple[Any, Any, Any]:
    positional = list(args[:3])
    if len(positional) == 1 and "stop" not in named:
        if "start" in named:
            return named["start"], positional[0], named.get("step", 1)
        return 0, positional[0], named.get("step", 1)
    names = ("start", "stop", "step")
    values = dict(zip(names, positional, strict=False)) | named
    if "start" in values and "stop" not in values:
        values = {"start": 0, "stop": values["start"], "step": values.get("step", 1)}
    if values.get("stop") is None and values.get("start") is not None:
        return 0, values["start"], values.get("step", 1)
    if "stop" not in values:
        raise TypeError("arange() requires stop to be specified.")
    step = values.get("step", 1)
    return values.get("start", 0), values["stop"], 1 if step is None else step


def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
             axis: int = 0, *, device: Any = None) -> Any:  # fmt: skip
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    if _all_known(start, stop):
        value, step = np.linspace(_number(start), _number(stop), num, endpoint, True, dtype, axis)  # pyright: ignore[reportArgumentType, reportCallIssue]  # NumPy's stubs say less than NumPy does
        return (constant(value), step) if retstep else constant(value)
    n_steps = num - 1 if endpoint else num
    start, stop = operand(start), operand(stop)
    inexact = result_type(start, stop, 0.0)
    wanted = inexact if dtype is None else as_dtype(dtype)
    start, stop = (cast(v, inexact) for v in (start, stop))
    delta = call(np.subtract, stop, start)
    counter = bind("iota", dtype=INT64, shape=(num,), dimension=0)
    y = reshape_to(cast(counter, real_dtype(inexact)), (num,) + (1,) * delta.ndim)
    step: Any = np.float64("nan")
    if n_steps > 0:
        step = call(np.divide, delta, n_steps)
        # NumPy multiplies by the step, unless one underflowed to 0; then it divides first.
        scaled = call(np.multiply, y, step)
        careful = call(np.multiply, call(np.divide, y, n_steps), delta)
        y = call(np.add, bind_where(reductions.any_(call(np.equal, step, 0)), careful, scaled), start)
    else:
        y = call(np.add, call(np.multiply, y, delta), start)
    if endpoint and num > 1:
        last = reshape_to(broadcast_operand(stop, shape_of(delta)), (1, *shape_of(delta)))
        head = bind("slice", y, start_indices=(0,) * y.ndim, limit_indices=(num - 1, *y.shape[1:]), strides=None)
        y = bind("concatenate", head, last, dimension=0)
    if axis != 0:
        y = movement.moveaxis(y, 0, axis)
    if wanted.kind in "iu":
        y = call(np.floor, y)
    y = cast(y, wanted)
    return (y, step) if retstep else y


def bind_where(condition: Any, x: Any, y: Any) -> Any:
    """`np.where` of arrays of one dtype."""
    shape = np.broadcast_shapes(condition.shape, x.shape, y.shape)
    return bind("select_n", *(broadcast_operand(v, shape) for v in (condition, y, x)))


def _all_known(*values: Any) -> bool:
    return all(not has_tracer(v) or (is_tracer(v) and known(v) is not None) for v in values)


def _number(value: Any) -> Any:
    """A known operand as NumPy should see it, with its own dtype."""
    if not is_tracer(value):
        return value
    found = known(value)
    assert found is not None
    return found.item() if value.aval.weak_type else found[()]


def logspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None,
             axis: int = 0) -> Any:  # fmt: skip
    if _all_known(start, stop, base):
        return constant(np.logspace(_number(start), _number(stop), num, endpoint, _number(base), dtype, axis))
    base = operand(base)
    if shape_of(base):
        raise unsupported("logspace with an array of bases cannot be compiled")
    y = linspace(start, stop, num, endpoint, axis=axis)
    y = call(np.power, base, y)
    return y if dtype is None else cast(y, as_dtype(dtype))


def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    if _all_known(start, stop):
        return constant(np.geomspace(_number(start), _number(stop), num, endpoint, dtype, axis))
    raise unsupported("geomspace between traced bounds cannot be compiled", fixes=("np.logspace",))


# ---- matrices ----


def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = float, order: str = "C", *, device: Any = None,  # noqa: N803
        like: Any = None) -> Any:  # fmt: skip
    n, m, k = operator.index(N), operator.index(N if M is None else M), operator.index(k)
    rows = bind("iota", dtype=INT64, shape=(n, m), dimension=0)
    columns = bind("iota", dtype=INT64, shape=(n, m), dimension=1)
    on_diagonal = bind("eq", bind("add", rows, np.int64(k)) if k else rows, columns)
    dtype = check_dtype(as_dtype(dtype), "eye")
    return _fortran(on_diagonal if dtype == BOOL else cast(on_diagonal, dtype), order)


def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return eye(n, dtype=float if dtype is None else dtype)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803 (NumPy's name)
    x = as_tracer(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = x.shape[0] if N is None else operator.index(N)
    dtype = np.promote_types(x.dtype, INT64)
    parts = []
    power = filled((x.shape[0], 1), dtype.type(1))
    for _ in range(columns):
        parts.append(power)
        power = call(np.multiply, power, reshape_to(cast(x, dtype), (x.shape[0], 1)))
    if not parts:
        return filled((x.shape[0], 0), dtype.type(0))
    return bind("concatenate", *(parts if increasing else parts[::-1]), dimension=1)


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    return function(*indices(shape, dtype=dtype), **kwargs)


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    shape = as_shape(dimensions)
    dtype = as_dtype(dtype)
    if sparse:
        return tuple(
            bind("iota", dtype=dtype, shape=tuple(n if j == i else 1 for j in range(len(shape))), dimension=i)
            for i, n in enumerate(shape)
        )
    if not shape:
        return filled((0,), dtype.type(0))
    grids = [reshape_to(bind("iota", dtype=dtype, shape=shape, dimension=i), (1, *shape)) for i in range(len(shape))]
    return bind("concatenate", *grids, dimension=0) if len(grids) > 1 else grids[0]


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    ndim = len(xi)
    axes = [as_tracer(x) for x in xi]
    places = list(range(ndim))
    if indexing == "xy" and ndim > 1:
        places[:2] = 1, 0
    thin = [
        reshape_to(x, tuple(x.size if i == p else 1 for i in range(ndim))) for x, p in zip(axes, places, strict=True)
    ]
    if sparse:
        return tuple(core.as_array(bind("copy", x)) if copy else x for x in thin)
    shape = np.broadcast_shapes(*(x.shape for x in thin)) if thin else ()
    return tuple(bind("copy", broadcast_operand(x, shape) if x.shape != shape else x) for x in thin)


def ix_(*args: Any) -> Any:
    ndim = len(args)
    found = []
    for i, item in enumerate(args):
        item = as_tracer(item) if is_tracer(item) or isinstance(item, np.ndarray) else as_tracer(np.asarray(item))
        if item.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if item.size == 0:
            item = cast(item, INT64)
        if item.dtype == BOOL:
            item = constant(np.nonzero(static_array(item, "a mask in ix_"))[0])
        found.append(reshape_to(item, tuple(item.size if j == i else 1 for j in range(ndim))))
    return tuple(found)


def computed_by_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of settings alone: NumPy runs it while tracing and the results are constants."""

    def create(*args: Any, **kwargs: Any) -> Any:
        args = tuple(static_array(a, function.__name__).tolist() if is_tracer(a) else a for a in args)
        kwargs = {k: static_array(v, function.__name__).tolist() if is_tracer(v) else v for k, v in kwargs.items()}
        value = function(*args, **kwargs)
        return tuple(constant(v) for v in value) if isinstance(value, tuple) else constant(value)

    create.__name__ = function.__name__
    return create


CREATION: dict[Callable[..., Any], Callable[..., Any]] = {
    np.ndarray: ndarray, np.zeros: zeros, np.ones: ones, np.empty: empty, np.full: full, np.zeros_like: zeros_like,
    np.ones_like: ones_like, np.empty_like: empty_like, np.full_like: full_like, np.array: array,
    np.asarray: asarray, np.asanyarray: asanyarray, np.ascontiguousarray: ascontiguousarray,
    np.asfortranarray: asfortranarray, np.require: require, np.frombuffer: frombuffer,
    np.asarray_chkfinite: asarray_chkfinite, np.copy: copy,
    np.arange: arange, np.linspace: linspace, np.logspace: logspace, np.geomspace: geomspace, np.eye: eye,
    np.identity: identity, np.tri: movement.tri, np.vander: vander, np.fromfunction: fromfunction,
    np.indices: indices, np.meshgrid: meshgrid, np.ix_: ix_, np.astype: astype,
    **{f: computed_by_numpy(f) for f in (
        np.hanning, np.hamming, np.blackman, np.bartlett, np.kaiser, np.tril_indices, np.triu_indices,
        np.diag_indices, np.mask_indices,
    )},
}  # fmt: skip
