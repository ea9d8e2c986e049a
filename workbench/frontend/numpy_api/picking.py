"""Functions that pick and place elements: `take`, `put`, `copyto`, `putmask`, `place`, `nonzero` and `ufunc.at`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tracer as core
from .. import views
from . import ufuncs
from .elementwise import truth
from .indexing import (
    as_assigned,
    as_index_array,
    basic_view,
    gather,
    getitem,
    make_plan,
    over,
    scatter,
    setitem,
    single_mask,
)
from .operands import (
    array,
    as_cast,
    bind,
    broadcast_operand,
    cast,
    dtype_of,
    full,
    has_tracer,
    is_tracer,
    known,
    normalize_axis_index,
    operand,
    reshape_to,
    stored,
    target_array,
    unsupported,
    with_axis,
)
from .promotion import BOOL, INT64, check_cast, check_not_mixed, is_python_scalar, resolve_ufunc, wrapped_scalar

KIND_ORDER = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
SCATTER_OPS = {np.add: "add", np.multiply: "mul", np.maximum: "max", np.minimum: "min"}


def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Any:
    a = array(a)
    if axis is None:
        a, axis = reshape_to(a, (a.size,)), 0
    a, axis = with_axis(a, axis)
    index = as_index_array(indices if is_tracer(indices) or isinstance(indices, np.ndarray) else _listed(indices))
    index = np.asarray(index) if not is_tracer(index) else index
    if index.dtype == BOOL:
        index = index.astype(INT64) if not is_tracer(index) else cast(index, INT64)
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    n = a.shape[axis]
    result_shape = (*a.shape[:axis], *index.shape, *a.shape[axis + 1 :])
    if n == 0 and 0 not in result_shape:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if 0 in a.shape[:axis]:  # NumPy looks at no index then
        result = full(result_shape, a.dtype.type(0))
    elif mode == "raise":
        index = index if is_tracer(index) else _checked(index, axis, n)
        result = gather(a, [index], (axis,), axis)
    elif 0 in result_shape:
        result = full(result_shape, a.dtype.type(0))
    else:
        result = bind("gather_nd", a, index, axes=(axis,), position=axis, mode=mode)
    target = ufuncs.normalize_out(out, 1)[0]
    return result if target is None else ufuncs.store(result, target, True, "same_kind", "take", result.shape)


def _listed(indices: Any) -> Any:
    if has_tracer(indices):
        return operand(indices)
    found = np.asarray(indices)
    return found.astype(INT64) if found.size == 0 else found


def _checked(index: np.ndarray, axis: int, n: int) -> np.ndarray:
    wrong = (index < -n) | (index >= n)
    if index.size and wrong.any():
        raise IndexError(f"index {index[wrong].flat[0]} is out of bounds for axis {axis} with size {n}")
    return np.where(index < 0, index + n, index).astype(INT64)


def _index_grid(a: Any, indices: Any, axis: int) -> tuple[Any, ...]:
    """The full index that `take_along_axis` and `put_along_axis` stand for."""
    if indices.ndim != a.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    grid: list[Any] = []
    for i, n in enumerate(a.shape):
        if i == axis:
            grid.append(indices)
        else:
            grid.append(np.arange(n).reshape((-1,) + (1,) * (a.ndim - i - 1)))
    return tuple(grid)


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    arr, indices = array(arr), array(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        arr, axis = reshape_to(arr, (arr.size,)), 0
    axis = normalize_axis_index(axis, arr.ndim)
    return getitem(arr, _index_grid(arr, indices, axis))


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    arr = target_array(arr, "put_along_axis()")
    indices = array(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        flat = core.as_array(bind("copy", reshape_to(arr, (arr.size,))))
        setitem(flat, indices, values)
        views.write(arr, reshape_to(flat, arr.shape))
        return
    setitem(arr, _index_grid(arr, indices, normalize_axis_index(axis, arr.ndim)), values)


def _as_values(values: Any, dtype: np.dtype, casting: str) -> Any:
    """The values to place, in one dimension. casting: of arrays; numbers in a list are converted."""
    if isinstance(values, np.ndarray) or is_tracer(values) and not values.scalar:
        check_cast(values.dtype, dtype, casting, "array data" if values.ndim else "scalar")
    else:
        values = as_cast(values)
    found = array(stored(values, dtype))
    return reshape_to(found, (found.size,))


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """`a.flat[ind] = v`, `v` repeated as needed."""
    if is_tracer(a) and a.scalar and not a.aval.weak_type:
        raise unsupported("np.put of a scalar of NumPy's, which changes nothing")
    a = target_array(a, "put()")
    index = array(ind if has_tracer(ind) or isinstance(ind, np.ndarray) else np.asarray(ind, dtype=INT64))
    index = cast(reshape_to(index, (index.size,)), INT64)
    values = _as_values(v, a.dtype, "unsafe")
    n = index.shape[0]
    if n == 0 or values.size == 0:
        return
    if values.shape[0] != n:
        values = bind("gather_nd", values, np.arange(n) % values.shape[0], axes=(0,), position=0, mode="promise")
    numbers = known(index)
    flat = reshape_to(a, (a.size,))
    if mode == "raise" and numbers is not None:
        index = _checked(numbers, 0, a.size)
        flat = scatter(flat, [index], (0,), 0, values, "set")
    else:
        flat = bind("scatter", flat, index, values, axes=(0,), mode=mode, op="set", position=0, unique=False)
    views.write(a, reshape_to(flat, a.shape))


def putmask(a: Any, mask: Any, values: Any) -> None:
    a = target_array(a, "putmask")
    mask = truth(array(mask))
    if mask.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    values = _as_values(values, a.dtype, "safe")
    if values.size == 0 or a.size == 0:
        return
    if values.size != a.size:
        values = bind("gather_nd", values, np.arange(a.size) % values.size, axes=(0,), position=0, mode="promise")
    values = reshape_to(values, a.shape)
    views.write(a, bind("select_n", reshape_to(mask, a.shape), a, values))


def place(arr: Any, mask: Any, vals: Any) -> None:
    """`arr[mask] = vals`, repeated: the k-th True element takes value k modulo their number."""
    arr = target_array(arr, "place()")
    mask = truth(array(mask))
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    values = _as_values(vals, arr.dtype, "safe")
    if arr.size == 0:
        return
    if values.size == 0:
        raise unsupported("place: an empty list of values cannot be compiled")
    flat = reshape_to(mask, (mask.size,))
    order = bind("cumsum", cast(flat, INT64), axis=0, reverse=False)
    order = bind("sub", order, np.int64(1))
    source = bind("mod", order, np.int64(values.size))
    taken = bind("gather_nd", values, source, axes=(0,), position=0, mode="clip")
    new = reshape_to(taken, arr.shape)
    views.write(arr, bind("select_n", reshape_to(mask, arr.shape), arr, new))


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    dst = target_array(dst, "copyto()")
    src = operand(src)
    check_not_mixed(src)  # a number of Python's is cast by other rules
    is_number = is_python_scalar(src)
    if not is_number and not (is_tracer(src) and src.aval.weak_type):
        check_cast(src.dtype, dst.dtype, casting, "array data")
        src = as_cast(src) if is_tracer(src) else cast(src, dst.dtype)
    elif casting != "unsafe" and KIND_ORDER[dtype_of(src).kind] > KIND_ORDER[dst.dtype.kind]:
        check_cast(dtype_of(src), dst.dtype, "no", "scalar")
    elif is_number and isinstance(src, complex):  # an assignment would refuse it
        src = np.complex128(src)
    elif is_number and isinstance(src, float) and dst.dtype.kind in "iu":  # NaN too, which an assignment refuses
        src = wrapped_scalar(src, dst.dtype)
    if type(src) is core.Tracer and views.same_memory(src, dst):
        return
    new = as_assigned(src, dst.dtype, dst.shape)
    if where is not True:
        mask = broadcast_operand(truth(operand(where)), dst.shape)
        new = bind("select_n", mask, dst, new)
    views.write(dst, new)


def ufunc_at(ufunc: np.ufunc, a: Any, indices: Any, b: Any = None) -> None:
    """`ufunc.at`: every index counts, also a repeated one."""
    a = target_array(a, f"{ufunc.__name__}.at")
    if ufunc.nin == 1:
        _at_unary(ufunc, a, indices)
        return
    mask = single_mask(a, indices)
    plan = None if mask is not None and known(mask[0]) is None else make_plan(a.shape, indices)
    if plan is None or not plan.indices:
        current = getitem(a, Ellipsis) if plan is None else basic_view(a, plan)
        new = ufuncs.call_ufunc(ufunc, current, array(b))
        setitem(a, indices, new) if plan is not None else _at_mask(a, mask, new)
        return
    b = array(b)  # `at` knows no weak scalars, and casts back whatever comes out
    in_dtypes, out_dtypes = resolve_ufunc(ufunc, (a, b), casting="unsafe")
    op = SCATTER_OPS.get(np.add if ufunc is np.subtract else ufunc)
    if op is None or in_dtypes[0] != out_dtypes[0]:
        raise unsupported(
            f"{ufunc.__name__}.at of {a.dtype} with {b.dtype}; add, subtract, multiply, maximum and minimum of one "
            "kind of numbers compile"
        )
    view = basic_view(a, plan)
    kept = [n for i, n in enumerate(view.shape) if i not in plan.axes]
    shape = (*kept[: plan.position], *plan.indices[0].shape, *kept[plan.position :])
    update = as_assigned(b, in_dtypes[1], shape)
    if ufunc is np.subtract:
        update = bind("neg", update)
    if 0 in shape:
        return
    result = scatter(view, plan.indices, plan.axes, plan.position, update, op)
    views.write(view, result)


def _at_mask(a: Any, mask: Any, new: Any) -> None:
    new = broadcast_operand(cast(new, a.dtype), a.shape)
    views.write(a, bind("select_n", over(mask[0], mask[1], a.shape), a, new))


def _at_unary(ufunc: np.ufunc, a: Any, indices: Any) -> None:
    """A repeated index would apply the function twice: only views and known distinct indices are compiled."""
    mask = single_mask(a, indices)
    if mask is not None:
        _at_mask(a, mask, ufuncs.call_ufunc(ufunc, a))
        return
    plan = make_plan(a.shape, indices)
    if plan.indices:
        static = [i for i in plan.indices if not is_tracer(i)]
        flat = np.stack([i.reshape(-1) for i in static]) if len(static) == len(plan.indices) else None
        if flat is None or np.unique(flat, axis=1).shape != flat.shape:
            raise unsupported(f"{ufunc.__name__}.at with repeated or traced indices cannot be compiled")
    setitem(a, indices, ufuncs.call_ufunc(ufunc, getitem(a, indices)))
