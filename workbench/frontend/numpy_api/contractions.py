"""Products that sum: `matmul` and the other ufuncs with core dimensions, `dot`, `tensordot`, `kron`, `cross`, `trace`.

All become `dot_general`, one call of BLAS, except where a product of elements and a sum can join a kernel.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from . import reductions, ufuncs
from .broadcasting import dummy
from .operands import (
    array,
    as_array,
    bind,
    broadcast_operand,
    cast,
    dtype_of,
    in_c_order,
    normalize_axis_index,
    normalize_axis_tuple,
    operand,
    reshape_to,
)
from .promotion import as_dtype, check_dtype, resolve_ufunc


def dot_general(
    x: Any, y: Any, contract: tuple[Sequence[int], Sequence[int]], batch: tuple[Sequence[int], Sequence[int]] = ((), ())
) -> Any:
    """The product of two tracers of one dtype: batch axes first, then the free axes of `x`, then those of `y`."""
    numbers = (tuple(map(tuple, contract)), tuple(map(tuple, batch)))
    return bind("dot_general", x, y, dimension_numbers=numbers, preferred_element_type=x.dtype)


def transpose_to(x: Any, order: Sequence[int]) -> Any:
    """`x` with its axes in another order, as a new value (no view)."""
    order = tuple(order)
    return x if order == tuple(range(len(order))) else bind("transpose", x, permutation=order)


def move_axis(x: Any, source: int, destination: int) -> Any:
    order = [i for i in range(x.ndim) if i != source]
    order.insert(destination, source)
    return transpose_to(x, order)


# ---- ufuncs with core dimensions ----


def _gufunc(ufunc: np.ufunc, core: tuple[int, int], core_out: int, product: Callable[..., Any]) -> Callable[..., Any]:
    """A ufunc of two operands with `core` dimensions each: dtypes, `axes=`, `axis=`, `keepdims=` and `out=`."""

    def call(
        a: Any, b: Any, *, out: Any = (None,), dtype: Any = None, casting: str = "same_kind", axes: Any = None,
        axis: int | None = None, keepdims: bool = False, **_: Any,
    ) -> Any:  # fmt: skip
        a, b = operand(a), operand(b)
        in_dtypes, _ = resolve_ufunc(ufunc, (a, b), out=out, dtype=dtype, casting=casting)  # pyright: ignore[reportAssignmentType]  # NumPy's stubs say less than NumPy does
        a, b = (array(cast(x, d)) for x, d in zip((a, b), in_dtypes, strict=True))
        out_axes: tuple[int, ...] = ()
        if axis is not None:
            if core != (1, 1):
                raise TypeError(f"{ufunc.__name__}: axis can only be used with a single shared core dimension")
            axes = [(axis,), (axis,), (axis,) if keepdims else ()]
        if axes is not None:
            groups = [tuple(g) if isinstance(g, list | tuple) else (operator.index(g),) for g in axes]
            a, b = _core_last(a, groups[0]), _core_last(b, groups[1])
            out_axes = groups[2] if len(groups) > 2 else ()
        check_core_shapes(ufunc, a, b)
        result = product(a, b)
        if out[0] is not None and axes is None and not keepdims and out[0].shape != result.shape:
            # Only loop dimensions may be broadcast into `out`: NumPy raises for others.
            target = np.empty(out[0].shape, out[0].dtype)
            ufunc(dummy(a.shape, a.dtype), dummy(b.shape, b.dtype), out=target, casting=casting)
        if keepdims:
            if core != (1, 1):
                raise TypeError(f"{ufunc.__name__} does not support keepdims: its core dimensions differ")
            result = reshape_to(result, (*result.shape, 1))
        if out_axes:
            result = _core_from_last(result, out_axes)
        if out[0] is None:
            return result
        while result.ndim > out[0].ndim and result.shape[0] == 1:  # which NumPy takes for axes that `out` lacks
            result = reshape_to(result, result.shape[1:])
        return ufuncs.store(result, out[0], True, casting, ufunc.__name__, result.shape)

    call.__name__ = ufunc.__name__
    return call


def _core_last(x: Any, axes: tuple[int, ...]) -> Any:
    axes = normalize_axis_tuple(axes, x.ndim)
    return transpose_to(x, [i for i in range(x.ndim) if i not in axes] + list(axes))


def _core_from_last(x: Any, axes: tuple[int, ...]) -> Any:
    axes = normalize_axis_tuple(axes, x.ndim)
    source = iter(range(x.ndim - len(axes)))
    place = {axis: x.ndim - len(axes) + i for i, axis in enumerate(axes)}
    return transpose_to(x, [place[i] if i in place else next(source) for i in range(x.ndim)])


def check_core_shapes(ufunc: np.ufunc, a: Any, b: Any) -> None:
    """Raise what NumPy raises where the shapes do not fit, and nothing else."""
    if _core_shapes_fit(ufunc, a.shape, b.shape):
        return
    ufunc(dummy(a.shape, a.dtype), dummy(b.shape, b.dtype))


def _core_shapes_fit(ufunc: np.ufunc, a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    if ufunc is np.matmul:
        if not a or not b:
            return False
        inner = b[-2] if len(b) > 1 else b[0]  # pyright: ignore[reportGeneralTypeIssues]  # NumPy's stubs say less than NumPy does
        loops, fits = (a[:-2], b[:-2]), a[-1] == inner
    elif ufunc is np.vecdot:
        if not a or not b:
            return False
        loops, fits = (a[:-1], b[:-1]), a[-1] == b[-1]
    elif ufunc is np.matvec:
        if len(a) < 2 or not b:
            return False
        loops, fits = (a[:-2], b[:-1]), a[-1] == b[-1]
    else:
        if not a or len(b) < 2:
            return False
        loops, fits = (a[:-1], b[:-2]), a[-1] == b[-2]
    try:
        np.broadcast_shapes(*loops)
    except ValueError:
        return False
    return fits


def product_of_matrices(a: Any, b: Any) -> Any:
    """`a @ b` of two tracers of one dtype whose shapes fit."""
    if a.ndim == 1 or b.ndim <= 2:
        if b.ndim <= 2:  # every leading axis of `a` is free
            return dot_general(a, b, ((a.ndim - 1,), (0,)))
        return dot_general(a, b, ((0,), (b.ndim - 2,)))
    if a.ndim == 2:  # (n,k) @ (...,k,m) -> (n,...,m) -> (...,n,m)
        return in_c_order(move_axis(dot_general(a, b, ((1,), (b.ndim - 2,))), 0, b.ndim - 2))
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = broadcast_operand(a, batch + a.shape[-2:])
    b = broadcast_operand(b, batch + b.shape[-2:])
    n = len(batch)
    return dot_general(a, b, ((n + 1,), (n,)), (tuple(range(n)), tuple(range(n))))


def conjugate(x: Any) -> Any:
    return ufuncs.call_ufunc(np.conjugate, x) if x.dtype.kind == "c" else x


def product_of_vectors(a: Any, b: Any) -> Any:
    """The sum over the last axis of `conj(a) * b`; in a kernel, because broadcasting would copy for BLAS."""
    if a.ndim == b.ndim == 1:
        return dot_general(conjugate(a), b, ((0,), (0,)))
    elements = ufuncs.call_ufunc(np.multiply, conjugate(a), b)
    return reductions.reduce_ufunc(np.add, elements, axis=-1, dtype=elements.dtype)


def _matrix_vector(a: Any, x: Any) -> Any:
    if x.ndim == 1:
        return dot_general(a, x, ((a.ndim - 1,), (0,)))
    result = product_of_matrices(a, reshape_to(x, (*x.shape, 1)))
    return reshape_to(result, result.shape[:-1])


def _vector_matrix(x: Any, a: Any) -> Any:
    x = conjugate(x)
    if x.ndim == 1:
        return product_of_matrices(x, a)
    result = product_of_matrices(reshape_to(x, (*x.shape[:-1], 1, x.shape[-1])), a)
    return reshape_to(result, (*result.shape[:-2], result.shape[-1]))


matmul = _gufunc(np.matmul, (2, 2), 2, product_of_matrices)
vecdot = _gufunc(np.vecdot, (1, 1), 0, product_of_vectors)
matvec = _gufunc(np.matvec, (2, 1), 1, _matrix_vector)
vecmat = _gufunc(np.vecmat, (1, 2), 1, _vector_matrix)


# ---- dot and its relatives ----


def _promoted(*operands: Any) -> list[Any]:
    """The operands as arrays of their common dtype; a Python scalar counts as an array of its own dtype here."""
    lifted = [operand(x) for x in operands]
    dtype = check_dtype(np.result_type(*(dtype_of(x) for x in lifted)), "dot")
    return [array(cast(x, dtype)) for x in lifted]


def _mismatch(name: Callable[..., Any], a: Any, b: Any) -> None:
    """Raise what NumPy raises for these shapes."""
    name(dummy(a.shape, a.dtype), dummy(b.shape, b.dtype))


def dot(a: Any, b: Any, out: Any = None) -> Any:
    a, b = _promoted(a, b)
    if a.ndim == 0 or b.ndim == 0:
        result = in_c_order(ufuncs.call_ufunc(np.multiply, a, b))
    else:
        axis = max(b.ndim - 2, 0)
        if a.shape[-1] != b.shape[axis]:
            _mismatch(np.dot, a, b)
        result = dot_general(a, b, ((a.ndim - 1,), (axis,)))
    return reductions.finish(result, out, "dot", "no")


def vdot(a: Any, b: Any, /) -> Any:
    a, b = (reshape_to(x, (x.size,)) for x in _promoted(a, b))
    if a.shape != b.shape:
        _mismatch(np.vdot, a, b)
    return dot_general(conjugate(a), b, ((0,), (0,)))


def inner(a: Any, b: Any, /) -> Any:
    a, b = _promoted(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return ufuncs.call_ufunc(np.multiply, a, b)
    if a.shape[-1] != b.shape[-1]:
        _mismatch(np.inner, a, b)
    return dot_general(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


def outer(a: Any, b: Any, out: Any = None) -> Any:
    a, b = array(a), array(b)
    return ufuncs.call_ufunc(np.multiply, reshape_to(a, (a.size, 1)), reshape_to(b, (1, b.size)), out=out)


def linalg_outer(x1: Any, x2: Any, /) -> Any:
    x1, x2 = array(x1), array(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={x1.ndim} and x2.ndim={x2.ndim}.")
    return outer(x1, x2)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = _promoted(a, b)
    try:
        iter(axes)
    except TypeError:
        axes_a, axes_b = list(range(a.ndim - operator.index(axes), a.ndim)), list(range(operator.index(axes)))
    else:
        axes_a, axes_b = ([x] if not isinstance(x, list | tuple) else list(x) for x in axes)
    if len(axes_a) != len(axes_b):
        raise ValueError("shape-mismatch for sum")
    try:
        axes_a = [normalize_axis_index(operator.index(i), a.ndim) for i in axes_a]
        axes_b = [normalize_axis_index(operator.index(i), b.ndim) for i in axes_b]
    except np.exceptions.AxisError:
        _mismatch(lambda x, y: np.tensordot(x, y, axes), a, b)
        raise
    if any(a.shape[i] != b.shape[j] for i, j in zip(axes_a, axes_b, strict=True)):
        raise ValueError("shape-mismatch for sum")
    if len(set(axes_a)) != len(axes_a) or len(set(axes_b)) != len(axes_b):
        raise ValueError("shape-mismatch for sum")
    return as_array(dot_general(a, b, (axes_a, axes_b)))


def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return tensordot(x1, x2, axes)


def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    return matmul(x1, x2)


def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return vecdot(x1, x2, axis=axis)


def kron(a: Any, b: Any) -> Any:
    a, b = array(a), array(b)
    ndim = max(a.ndim, b.ndim)
    shape_a = (1,) * (ndim - a.ndim) + a.shape
    shape_b = (1,) * (ndim - b.ndim) + b.shape
    a = reshape_to(a, tuple(n for m in shape_a for n in (m, 1)))
    b = reshape_to(b, tuple(n for m in shape_b for n in (1, m)))
    product = ufuncs.call_ufunc(np.multiply, a, b)
    return reshape_to(product, tuple(m * n for m, n in zip(shape_a, shape_b, strict=True)))


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    if axis is not None:
        axisa, axisb, axisc = (axis,) * 3
    a, b = array(a), array(b)
    if a.ndim < 1 or b.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    a = move_axis(a, normalize_axis_index(axisa, a.ndim, msg_prefix="axisa"), a.ndim - 1)
    b = move_axis(b, normalize_axis_index(axisb, b.ndim, msg_prefix="axisb"), b.ndim - 1)
    sizes = (2, 3) if _crosses_plane_vectors() else (3,)
    if a.shape[-1] not in sizes or b.shape[-1] not in sizes:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{a.shape[-1]} and {b.shape[-1]} dimensional instead."
        )
    call = ufuncs.call_ufunc

    def component(x: Any, i: int) -> Any:
        return reshape_to(reductions.part(x, x.ndim - 1, i, i + 1), x.shape[:-1])

    def minor(i: int, j: int) -> Any:
        """`a[i] * b[j] - a[j] * b[i]`, where the third component of a plane vector is nothing."""
        left = call(np.multiply, component(a, i), component(b, j)) if has(a, i) and has(b, j) else None
        right = call(np.multiply, component(a, j), component(b, i)) if has(a, j) and has(b, i) else None
        if left is None:
            return call(np.negative, right)
        return left if right is None else call(np.subtract, left, right)

    def has(x: Any, i: int) -> bool:
        return i < x.shape[-1]

    if a.shape[-1] == b.shape[-1] == 2:
        return as_array(minor(0, 1))
    rows = [minor(1, 2), minor(2, 0), minor(0, 1)]
    shape = rows[0].shape
    axisc = normalize_axis_index(axisc, len(shape) + 1, msg_prefix="axisc")
    rows = [reshape_to(row, (*shape[:axisc], 1, *shape[axisc:])) for row in rows]
    return bind("concatenate", *rows, dimension=axisc)


@cache
def _crosses_plane_vectors() -> bool:
    """Whether NumPy does: until 2.4."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            np.cross([1, 2], [3, 4])
        except ValueError:
            return False
    return True


def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = array(x1), array(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {x1.shape[axis]} and {x2.shape[axis]} dimensional instead."
        )
    return cross(x1, x2, axis=axis)


# ---- diagonals ----


def put_diagonal(x: Any, update: Any, offset: int, axis1: int, axis2: int) -> Any:
    """`x` with the diagonal of two axes replaced by `update`, whose last axis it is. A new value."""
    order = _with_axes_last(x.ndim, axis1, axis2)
    turned = transpose_to(x, order)
    *batch, n, m = turned.shape
    start, length = diagonal_range(n, m, offset)
    if length == 0:
        return x
    lead = (0,) * len(batch)
    flat = reshape_to(turned, (*batch, n * m))
    strides = (*(1,) * len(batch), m + 1)
    flat = bind("update_slice", flat, update, start_indices=(*lead, start), strides=strides)
    return transpose_to(reshape_to(flat, turned.shape), [order.index(i) for i in range(x.ndim)])


def _with_axes_last(ndim: int, axis1: int, axis2: int) -> list[int]:
    return [i for i in range(ndim) if i not in (axis1, axis2)] + [axis1, axis2]


def take_diagonal(x: Any, offset: int, axis1: int, axis2: int) -> Any:
    """The diagonal of two axes, put last: a strided slice of the two axes laid flat. A new value, no view."""
    order = _with_axes_last(x.ndim, axis1, axis2)
    x = transpose_to(x, order)
    *batch, n, m = x.shape
    start, length = diagonal_range(n, m, offset)
    flat = reshape_to(x, (*batch, n * m))
    lead = (0,) * len(batch)
    if length == 0:
        return bind("slice", flat, start_indices=(*lead, 0), limit_indices=(*batch, 0), strides=None)
    limit = start + (length - 1) * (m + 1) + 1
    strides = (*(1,) * len(batch), m + 1)
    return bind("slice", flat, start_indices=(*lead, start), limit_indices=(*batch, limit), strides=strides)


def diagonal_range(n: int, m: int, offset: int) -> tuple[int, int]:
    """Where the diagonal starts in an (n, m) matrix laid flat, and how long it is."""
    if offset >= 0:
        return min(offset, m), max(min(n, m - offset), 0)
    return min(-offset, n) * m, max(min(n + offset, m), 0)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    a = array(a)
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    axis1, axis2 = normalize_axis_index(axis1, a.ndim), normalize_axis_index(axis2, a.ndim)
    if axis1 == axis2:
        raise ValueError("axis1 and axis2 cannot be the same")
    diagonal = take_diagonal(a, operator.index(offset), axis1, axis2)
    dtype = None if dtype is None else as_dtype(dtype)
    return reductions.reduce_ufunc(np.add, diagonal, -1, dtype, out)


def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return trace(x, offset, axis1=-2, axis2=-1, dtype=dtype)
