"""Contractions: the general product of two arrays, by BLAS where NumPy uses it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..ir import Aval, Primitive, supported_dtype
from .lowering import LibraryCall
from .signatures import ALL, check_axes, check_dtype, check_same_dtype

# ((contracted axes of lhs, of rhs), (batch axes of lhs, of rhs))
DimensionNumbers = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]

# ---- dot_general: the result's axes are batch, free axes of lhs, free axes of rhs ----
dot_general_p = Primitive("dot_general")


def _free(ndim: int, contracted: tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis for axis in range(ndim) if axis not in contracted and axis not in batch)


class MatrixForm(NamedTuple):
    """A product of any axes as one `matmul`: how its operands' axes are moved, the shapes that `matmul` takes, and the
    result's. A missing free axis without batch stays missing, so that NumPy takes its matrix-vector and dot paths."""

    left_axes: tuple[int, ...]
    left_shape: tuple[int, ...]
    right_axes: tuple[int, ...]
    right_shape: tuple[int, ...]
    product_shape: tuple[int, ...]  # as `matmul` gives it
    shape: tuple[int, ...]


@lru_cache(maxsize=4096)
def matrix_form(x: tuple[int, ...], y: tuple[int, ...], dimension_numbers: DimensionNumbers) -> MatrixForm:
    """The `MatrixForm` of operands of shapes `x` and `y`."""
    (x_contracted, y_contracted), (x_batch, y_batch) = dimension_numbers
    x_free, y_free = _free(len(x), x_contracted, x_batch), _free(len(y), y_contracted, y_batch)
    batch = tuple(x[axis] for axis in x_batch)
    free = tuple(x[axis] for axis in x_free) + tuple(y[axis] for axis in y_free)
    k = math.prod(x[axis] for axis in x_contracted)
    m, n = math.prod(x[axis] for axis in x_free), math.prod(y[axis] for axis in y_free)
    rows = (m,) if x_free or batch else ()
    columns = (n,) if y_free or batch else ()
    return MatrixForm(
        (*x_batch, *x_free, *x_contracted), (*batch, *rows, k), (*y_batch, *y_contracted, *y_free),
        (*batch, k, *columns), batch + rows + columns, batch + free,
    )  # fmt: skip


@dot_general_p.def_impl
def dot_general_impl(
    x: np.ndarray,
    y: np.ndarray,
    *,
    dimension_numbers: DimensionNumbers,
    preferred_element_type: np.dtype | None = None,
    out: np.ndarray | None = None,
    matmul: Callable[..., np.ndarray] = np.matmul,
) -> np.ndarray:
    """One `matmul` of (batch, m, k) and (batch, k, n); axes are moved as views and only copied to be joined."""
    result_dtype = x.dtype if preferred_element_type is None else np.dtype(preferred_element_type)
    if result_dtype != x.dtype and np.can_cast(x.dtype, result_dtype):  # widen first: i8 products in an i32 sum
        x, y = x.astype(result_dtype), y.astype(result_dtype)
    form = matrix_form(x.shape, y.shape, dimension_numbers)
    left = x.transpose(form.left_axes).reshape(form.left_shape)
    right = y.transpose(form.right_axes).reshape(form.right_shape)
    if out is not None and result_dtype == x.dtype and form.product_shape:
        matmul(left, right, out=out.reshape(form.product_shape))
        return out
    product = np.asarray(matmul(left, right)).astype(result_dtype, copy=False).reshape(form.shape)
    if out is None:
        return product
    np.copyto(out, product)
    return out


@dot_general_p.def_abstract_eval
def dot_general_aval(
    x: Aval, y: Aval, *, dimension_numbers: DimensionNumbers, preferred_element_type: np.dtype | None = None
) -> Aval:
    (x_contracted, y_contracted), (x_batch, y_batch) = dimension_numbers
    check_dtype("dot_general", x, ALL)
    dtype = check_same_dtype("dot_general", (x, y))
    check_axes("dot_general", (*x_contracted, *x_batch), x.ndim)
    check_axes("dot_general", (*y_contracted, *y_batch), y.ndim)
    for what, x_axes, y_axes in (("contracted", x_contracted, y_contracted), ("batch", x_batch, y_batch)):
        sizes = tuple(x.shape[a] for a in x_axes), tuple(y.shape[a] for a in y_axes)
        if sizes[0] != sizes[1]:
            raise ValueError(
                f"dot_general: {what} axes {tuple(x_axes)} of {x.shape} and {tuple(y_axes)} of {y.shape} "
                f"have sizes {sizes[0]} and {sizes[1]}"
            )
    if preferred_element_type is not None:
        dtype = np.dtype(preferred_element_type)
        if not supported_dtype(dtype):
            raise TypeError(f"dot_general: arrays of dtype {dtype} can't be compiled")
    shape = [x.shape[axis] for axis in (*x_batch, *_free(x.ndim, x_contracted, x_batch))]
    shape += [y.shape[axis] for axis in _free(y.ndim, y_contracted, y_batch)]
    return Aval(tuple(shape), dtype, x.weak_type and y.weak_type)


def _dot_flops(x: Aval, y: Aval, *, dimension_numbers: DimensionNumbers, **_: object) -> float:
    (x_contracted, y_contracted), (_x_batch, y_batch) = dimension_numbers
    columns = math.prod(y.shape[axis] for axis in _free(y.ndim, y_contracted, y_batch))
    return x.size * columns * (8.0 if x.dtype.kind == "c" else 2.0)


dot_general_p.def_lowering(LibraryCall(dot_general_impl, library="BLAS", accepts_out=True, flops=_dot_flops))
