"""Selection and elementwise functions that are no ufuncs: `where`, `clip`, `select`, `isclose`, `interp` and others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from .. import operators, views
from .. import tracer as core
from . import indexing, library, picking, reductions, ufuncs
from .broadcasting import broadcast_scalars
from .elementwise import truth
from .operands import (
    array,
    as_array,
    bind,
    broadcast_operand,
    cast,
    cast_wrapping,
    constant_like,
    dtype_of,
    full,
    in_c_order,
    is_tracer,
    known,
    laid_out_like,
    ndim_of,
    normalize_axis_index,
    operand,
    reshape_to,
    shape_of,
    static_array,
    unsupported,
)
from .promotion import (
    BOOL,
    FLOAT64,
    INT64,
    check_dtype,
    is_python_scalar,
    resolve_ufunc,
    result_type,
)
from .reductions import part

NOVALUE = np._NoValue
call = ufuncs.call_ufunc


# ---- choosing between arrays ----


def where(condition: Any, x: Any = NOVALUE, y: Any = NOVALUE, /) -> Any:
    if x is NOVALUE and y is NOVALUE:
        from .masked import nonzero

        return nonzero(condition)
    if x is NOVALUE or y is NOVALUE:
        raise ValueError("either both or neither of x and y should be given")
    mask = truth(operand(condition))
    x, y = operand(x), operand(y)
    dtype = check_dtype(result_type(x, y), "where")
    convert = cast_wrapping if _where_wraps() else cast
    return as_array(array(select_between(mask, convert(x, dtype), convert(y, dtype))))


@cache
def _where_wraps() -> bool:
    """Whether Python's ints are taken modulo the size of the other elements: since NumPy 2.5 they must fit."""
    try:
        np.where(True, 300, np.int8(0))
    except OverflowError:
        return False
    return True


def select_between(mask: Any, x: Any, y: Any) -> Any:
    """`x` where `mask`, else `y`, of one dtype; broadcast."""
    shape = np.broadcast_shapes(shape_of(mask), shape_of(x), shape_of(y))
    if is_tracer(mask) or is_tracer(x) or is_tracer(y):
        return bind("select_n", *broadcast_scalars([mask, y, x], shape))
    return x if mask else y


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    choices = [operand(c) for c in choicelist]
    other = operand(default)
    dtype = check_dtype(result_type(*choices, other), "select")
    for choice in choices:  # Python's numbers as well, which NumPy makes arrays of before it copies them
        if not np.can_cast(dtype_of(choice), dtype, "same_kind"):
            raise TypeError(f"Cannot cast array data from {dtype_of(choice)!r} to {dtype!r} according to 'same_kind'")
    masks = [operand(c) for c in condlist]
    for i, mask in enumerate(masks):
        if dtype_of(mask) != BOOL:
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    result = cast_wrapping(other, dtype)
    for mask, choice in zip(masks[::-1], choices[::-1], strict=True):
        result = select_between(mask, cast_wrapping(choice, dtype), result)
    shape = np.broadcast_shapes(*(shape_of(x) for x in (*masks, *choices, other)))
    return as_array(in_c_order(broadcast_operand(array(result), shape)))


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Every function is computed for every element; NumPy calls each with its own elements only."""
    x = array(x)
    if is_tracer(condlist) or isinstance(condlist, np.ndarray):
        condlist = array(condlist)
        condlist = [condlist] if condlist.ndim == x.ndim else list(condlist)
    elif not isinstance(condlist, list | tuple) or not condlist or (
        ndim_of(operand(condlist[0])) == 0 and x.ndim != 0
    ):  # fmt: skip
        condlist = [condlist]
    masks = [truth(operand(c)) for c in condlist]
    if len(funclist) == len(masks) + 1:
        anywhere = masks[0]
        for mask in masks[1:]:
            anywhere = bind("or", *broadcast_scalars([anywhere, mask], x.shape))
        masks.append(bind("not", anywhere))
    elif len(funclist) != len(masks):
        n = len(masks)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    result = laid_out_like(full(x.shape, constant_like(x, 0)), x)
    for mask, function in zip(masks, funclist, strict=True):
        value = function(x, *args, **kw) if callable(function) else function
        result = select_between(mask, cast(operand(value), x.dtype), result)
        result = broadcast_operand(result, x.shape)
    return as_array(laid_out_like(result, x))


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    a = array(a)
    a = cast(a, INT64) if a.dtype == BOOL else a  # numbers, not a mask
    cases = [operand(c) for c in (list(choices) if is_tracer(choices) else choices)]
    dtype = check_dtype(result_type(*cases), "choose")
    n = len(cases)
    if mode == "raise":
        numbers = known(a)
        if numbers is None:
            return reductions.finish(_choose_checked(a, [array(cast_wrapping(c, dtype)) for c in cases]), out, "choose")
        if numbers.size and (numbers.min() < 0 or numbers.max() >= n):
            raise ValueError("invalid entry in choice array")
    which = cast(a, INT64)
    which = bind("mod", which, np.int64(n)) if mode == "wrap" else bind("clamp", np.int64(0), which, np.int64(n - 1))
    result = _choose_among(which, [cast_wrapping(c, dtype) for c in cases])
    return reductions.finish(result, out, "choose")


def _choose_among(which: Any, cases: list[Any]) -> Any:
    shape = np.broadcast_shapes(which.shape, *(shape_of(c) for c in cases))
    which = cast(which, np.dtype(np.int32))
    if len(cases) == 1:
        return broadcast_operand(array(cases[0]), shape)
    return in_c_order(bind("select_n", *broadcast_scalars([which, *cases], shape)))


def _choose_checked(a: Any, cases: list[Any]) -> Any:
    """Indices that are only known when the program runs: a gather, which raises for one out of range."""
    shape = np.broadcast_shapes(a.shape, *(c.shape for c in cases))
    rows = [reshape_to(broadcast_operand(c, shape), (1, *shape)) for c in cases]
    table = bind("concatenate", *rows, dimension=0) if len(rows) > 1 else rows[0]
    grid = [np.arange(n).reshape((-1,) + (1,) * (len(shape) - i - 1)) for i, n in enumerate(shape)]
    return indexing.getitem(table, (broadcast_operand(a, shape), *grid))


def clip(a: Any, a_min: Any = NOVALUE, a_max: Any = NOVALUE, out: Any = None, *, min: Any = NOVALUE,
         max: Any = NOVALUE, dtype: Any = None, casting: str = "same_kind", **_: Any) -> Any:  # fmt: skip
    if a_min is NOVALUE and a_max is NOVALUE:
        low, high = (None if v is NOVALUE else v for v in (min, max))
    elif a_min is NOVALUE or a_max is NOVALUE:
        missing = "a_min" if a_min is NOVALUE else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: '{missing}'")
    else:
        if min is not NOVALUE or max is not NOVALUE:
            raise ValueError(
                "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden."
            )
        low, high = a_min, a_max
    a = array(a)
    keywords: dict[str, Any] = {"dtype": dtype, "casting": casting}
    if out is not None and out is not NOVALUE:
        keywords["out"] = out
    if a.dtype.kind in "iu":  # a Python int beyond the dtype bounds nothing
        info = np.iinfo(a.dtype)
        low = None if type(low) is int and low <= info.min else low
        high = None if type(high) is int and high >= info.max else high
    if low is None and high is None:
        return call(np.positive, a, **keywords)
    if low is None:
        return call(np.minimum, a, high, **keywords)
    if high is None:
        return call(np.maximum, a, low, **keywords)
    low, high = operand(low), operand(high)
    in_dtypes, _ = resolve_ufunc(np._core.umath.clip, (a, low, high), dtype=dtype, casting=casting)  # pyright: ignore[reportAssignmentType, reportAttributeAccessIssue]  # NumPy's stubs say less than NumPy does
    values = [cast(v, d) for v, d in zip((a, low, high), in_dtypes, strict=True)]
    shape = np.broadcast_shapes(*(shape_of(v) for v in values))
    x, low, high = broadcast_scalars(values, shape)
    result = bind("clamp", low, x, high)
    target = ufuncs.normalize_out(out, 1)[0] if out is not NOVALUE else None
    return result if target is None else ufuncs.store(result, target, True, casting, "clip", shape)


# ---- comparing whole arrays ----


def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    x, y = operand(a), operand(b)
    if dtype_of(y).kind in "biu":  # a Python int converted to a float, as NumPy does
        y = cast(y, result_type(y, 1.0) if not is_python_scalar(y) else FLOAT64)
    distance = call(np.absolute, call(np.subtract, x, y))
    bound = call(np.add, atol, call(np.multiply, rtol, call(np.absolute, y)))
    close = call(np.logical_and, call(np.less_equal, distance, bound), call(np.isfinite, y))
    result = call(np.logical_or, close, call(np.equal, x, y))
    if equal_nan:
        result = call(np.logical_or, result, call(np.logical_and, call(np.isnan, x), call(np.isnan, y)))
    return result


def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    return operators.weaken(reductions.all_(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x, y = array(a1), array(a2)
    if x.shape != y.shape:
        return False
    same = call(np.equal, x, y)
    if equal_nan and x.dtype.kind in "fc" and y.dtype.kind in "fc":
        same = call(np.logical_or, same, call(np.logical_and, call(np.isnan, x), call(np.isnan, y)))
    return operators.weaken(reductions.all_(same))


def array_equiv(a1: Any, a2: Any) -> Any:
    x, y = array(a1), array(a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return operators.weaken(reductions.all_(call(np.equal, x, y)))


# ---- elementwise functions ----


def around(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Scaled, rounded to the nearest even and scaled back, as NumPy does it."""
    a = array(a)
    decimals = int(static_array(decimals, "decimals"))
    if a.dtype.kind == "b":
        result = library.numpy_call("round", a, decimals=decimals)
    elif a.dtype.kind in "iu":
        result = bind("copy", a) if decimals >= 0 else library.numpy_call("round", a, decimals=decimals)
    elif a.dtype.kind == "c":
        re, im = around(bind("real", a), decimals), around(bind("imag", a), decimals)
        result = bind("complex", re, im)
    elif decimals == 0:
        result = bind("rint", a)
    else:
        scale = a.dtype.type(10.0 ** abs(decimals))
        first, second = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
        result = call(second, call(np.rint, call(first, a, scale)), scale)
    target = ufuncs.normalize_out(out, 1)[0]
    return result if target is None else ufuncs.store(result, target, True, "same_kind", "round", result.shape)


def fix(x: Any, out: Any = None) -> Any:
    return call(np.trunc, x, out=out)


def real(val: Any) -> Any:
    x = array(val)
    found = views.part_view(x, "real") if x.dtype.kind == "c" and not x.scalar else _scalar_part(x, "real")
    return operators.weaken(found) if is_tracer(val) and val.aval.weak_type else found


def imag(val: Any) -> Any:
    x = array(val)
    if x.dtype.kind == "c" and not x.scalar:
        return views.part_view(x, "imag")
    found = _scalar_part(x, "imag")
    return operators.weaken(found) if is_tracer(val) and val.aval.weak_type else found


def _scalar_part(x: Any, name: str) -> Any:
    if x.dtype.kind == "c":
        return bind(name, x)
    if name == "real":
        return x
    zero = laid_out_like(full(x.shape, x.dtype.type(0)), x)
    if not x.scalar:
        zero = as_array(zero)
        zero.writeable = False
    return zero


def real_if_close(a: Any, tol: float = 100) -> Any:
    a = array(a)
    if a.dtype.kind != "c":
        return a
    raise unsupported("real_if_close: the dtype of the result depends on data", code=library.DATA_DEPENDENT)


def angle(z: Any, deg: bool = False) -> Any:
    z = array(z)
    if z.dtype.kind == "c":
        y, x = bind("imag", z), bind("real", z)
    else:
        y, x = z.dtype.type(0) if z.dtype != BOOL else np.float64(0), z
    result = call(np.arctan2, y, x)
    return call(np.multiply, result, 180 / np.pi) if deg else result


def iscomplex(x: Any) -> Any:
    x = array(x)
    if x.dtype.kind == "c":
        return call(np.not_equal, bind("imag", x), 0)
    return full(x.shape, np.False_)


def isreal(x: Any) -> Any:
    x = array(x)
    return call(np.equal, bind("imag", x), 0) if x.dtype.kind == "c" else laid_out_like(full(x.shape, np.True_), x)


def _signed_infinity(name: str, negative: bool) -> Any:
    def test(x: Any, out: Any = None) -> Any:
        x = array(x)
        if x.dtype.kind == "c":
            raise TypeError(f"This operation is not supported for {x.dtype} values because it would be ambiguous.")
        sign = call(np.signbit, x) if x.dtype.kind != "b" else full(x.shape, np.False_)
        sign = sign if negative else call(np.logical_not, sign)
        return call(np.logical_and, call(np.isinf, x), sign, out=out)

    test.__name__ = name
    return test


isposinf = _signed_infinity("isposinf", False)
isneginf = _signed_infinity("isneginf", True)


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    original = x
    x = array(x)
    if x.dtype.kind not in "fc":
        x = laid_out_like(bind("copy", x), x) if copy else x
        return core.as_scalar(x) if x.ndim == 0 else x
    limits = np.finfo(x.dtype)

    def clean(v: Any) -> Any:
        largest = limits.max if posinf is None else posinf
        smallest = limits.min if neginf is None else neginf
        infinite = call(np.isinf, v)
        negative = call(np.signbit, v)
        v = select_between(call(np.isnan, v), cast(operand(nan), v.dtype), v)
        high = call(np.logical_and, infinite, call(np.logical_not, negative))
        v = select_between(high, cast(operand(largest), v.dtype), v)
        return select_between(call(np.logical_and, infinite, negative), cast(operand(smallest), v.dtype), v)

    result = bind("complex", clean(bind("real", x)), clean(bind("imag", x))) if x.dtype.kind == "c" else clean(x)
    if not copy and is_tracer(original) and not original.scalar:
        views.write(original, result)
        return core.as_scalar(original) if x.ndim == 0 else original
    return core.as_scalar(result) if x.ndim == 0 else laid_out_like(result, x)


def sinc(x: Any) -> Any:
    x = array(x)
    wide = cast(x, x.dtype if x.dtype.kind in "fc" else FLOAT64)
    y = call(np.multiply, np.pi, wide)
    tiny = wide.dtype.type(np.finfo(wide.dtype).eps)
    y = select_between(call(np.equal, y, 0), tiny, y)
    return call(np.divide, call(np.sin, y), y)


def i0(x: Any) -> Any:
    x = array(x)
    if x.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    if x.dtype.kind != "f":
        x = cast(x, FLOAT64)
    return as_array(laid_out_like(library.numpy_call("i0", x), x))


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    p = array(p)
    axis = normalize_axis_index(axis, p.ndim)
    dd = reductions.diff(p, axis=axis)
    if discont is None:
        discont = period / 2
    dtype = result_type(dd, operand(period))
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        on_boundary = rest == 0
    else:
        high, on_boundary = period / 2, True
    low = -high
    mod = call(np.add, call(np.mod, call(np.subtract, dd, low), period), low)
    if on_boundary:
        at_low = call(np.logical_and, call(np.equal, mod, low), call(np.greater, dd, 0))
        mod = select_between(at_low, cast(operand(high), mod.dtype), mod)
    correction = call(np.subtract, mod, dd)
    small = call(np.less, call(np.absolute, dd), discont)
    correction = select_between(small, constant_like(correction, 0), correction)
    wide = cast(p, dtype)
    if p.shape[axis] < 2:
        return core.as_array(bind("copy", wide))
    moved = call(np.add, part(wide, axis, 1, p.shape[axis]), reductions.cumsum(correction, axis))
    return bind("concatenate", part(wide, axis, 0, 1), cast(moved, dtype), dimension=axis)


def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    a = array(a)
    mask = static_array(condition, "the condition of compress")
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if axis is None:
        a, axis = reshape_to(a, (a.size,)), 0
    result = picking.take(a, np.flatnonzero(mask), axis)
    return reductions.finish(result, out, "compress")


def extract(condition: Any, arr: Any) -> Any:
    arr = array(arr)
    if known(operand(condition)) is None:
        from .masked import extract

        return extract(condition, arr)
    mask = static_array(condition, "the condition of extract")
    return picking.take(reshape_to(arr, (arr.size,)), np.flatnonzero(mask.ravel()))
