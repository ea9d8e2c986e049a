"""Products of vectors and matrices in translated loops."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types

from ...primitives import numpy_libraries
from .elements import at_1, at_2, back_1, lent, loose, put_unit_1, put_unit_2, unit_1, unit_2
from .linked import external, linked, linked_in


@linked(error_model="numpy", fastmath={"reassoc", "contract"})
def _dot_in_order(a, b):
    total = a.dtype.type(0)
    for i in range(a.size):
        total += unit_1(a, i) * unit_1(b, i)
    return total


@linked(error_model="numpy", fastmath={"reassoc", "contract"})
def _dot_backwards(a, b):
    """`a` lies in order, `b` from its end to its beginning."""
    total = a.dtype.type(0)
    for i in range(a.size):
        total += unit_1(a, i) * back_1(b, i)
    return total


@linked(error_model="numpy", fastmath={"contract"})
def _dot_apart(a, b):
    """Four sums side by side: LLVM does not make vectors of elements that lie apart, and one sum waits for itself."""
    t0 = t1 = t2 = t3 = a.dtype.type(0)
    whole = a.size // 4 * 4
    for i in range(0, whole, 4):
        t0 += at_1(a, i) * at_1(b, i)
        t1 += at_1(a, i + 1) * at_1(b, i + 1)
        t2 += at_1(a, i + 2) * at_1(b, i + 2)
        t3 += at_1(a, i + 3) * at_1(b, i + 3)
    for i in range(whole, a.size):
        t0 += at_1(a, i) * at_1(b, i)
    return (t0 + t1) + (t2 + t3)


@linked(error_model="numpy")
def _dot_otherwise(a, b):
    size, over_a, over_b = a.itemsize, a.strides[0], b.strides[0]
    if over_a == size and over_b == -size:
        return _dot_backwards(a, b)
    if over_a == -size and over_b == size:
        return _dot_backwards(b, a)
    return _dot_apart(a, b)


@linked(error_model="numpy", forceinline=True)
def _dot(a, b):
    if a.strides[0] == a.itemsize and b.strides[0] == b.itemsize:
        return _dot_in_order(a, b)
    return _dot_otherwise(a, b)


@linked(error_model="numpy", forceinline=True)
def dot(a, b):
    if a.size != b.size:
        raise ValueError
    return _dot(lent(a), lent(b))


@linked(error_model="numpy", fastmath={"contract"})
def _add_rows(out, x, b):
    """`out += x @ b`, four rows at a time."""
    n = b.shape[1]
    whole = x.size // 4 * 4
    for k in range(0, whole, 4):
        x0, x1, x2, x3 = at_1(x, k), at_1(x, k + 1), at_1(x, k + 2), at_1(x, k + 3)
        for j in range(n):
            more = x0 * unit_2(b, k, j) + x1 * unit_2(b, k + 1, j)
            put_unit_1(out, j, unit_1(out, j) + (more + (x2 * unit_2(b, k + 2, j) + x3 * unit_2(b, k + 3, j))))
    for k in range(whole, x.size):
        x0 = at_1(x, k)
        for j in range(n):
            put_unit_1(out, j, unit_1(out, j) + x0 * unit_2(b, k, j))


@linked(error_model="numpy", fastmath={"reassoc", "contract"})
def _put_dots(out, a, x):
    """`out = a @ x`, whose rows lie in order, four of them at a time."""
    n = x.size
    whole = a.shape[0] // 4 * 4
    for i in range(0, whole, 4):
        t0 = t1 = t2 = t3 = x.dtype.type(0)
        for k in range(n):
            y = unit_1(x, k)
            t0 += unit_2(a, i, k) * y
            t1 += unit_2(a, i + 1, k) * y
            t2 += unit_2(a, i + 2, k) * y
            t3 += unit_2(a, i + 3, k) * y
        put_unit_1(out, i, t0)
        put_unit_1(out, i + 1, t1)
        put_unit_1(out, i + 2, t2)
        put_unit_1(out, i + 3, t3)
    for i in range(whole, a.shape[0]):
        t0 = x.dtype.type(0)
        for k in range(n):
            t0 += unit_2(a, i, k) * unit_1(x, k)
        put_unit_1(out, i, t0)


@linked(error_model="numpy", fastmath={"contract"})
def _add_elements(out, x, b):
    for k in range(x.size):
        x0 = at_1(x, k)
        for j in range(b.shape[1]):
            put_unit_1(out, j, unit_1(out, j) + x0 * at_2(b, k, j))


@linked(error_model="numpy")
def _times(x, b, out):
    """`out += x @ b`, reading `b` along its rows if these lie in order, else along its columns if they do."""
    if b.strides[1] == b.itemsize:
        _add_rows(out, x, b)
    elif b.strides[0] == b.itemsize and x.strides[0] == x.itemsize:
        _put_dots(out, b.T, x)
    else:
        _add_elements(out, x, b)


@linked(error_model="numpy")
def dot_12(a, b):
    if a.size != b.shape[0]:
        raise ValueError
    out = np.zeros(b.shape[1], a.dtype)
    _times(lent(a), lent(b), lent(out))
    return out


@linked(error_model="numpy")
def dot_21(a, b):
    return dot_12(b, a.T)


@linked(error_model="numpy", fastmath={"contract"})
def _add_products(out, a, b):
    """`out += a @ b`, along the rows of `b`, which lie in order."""
    n, depth = b.shape[1], b.shape[0]
    whole = depth // 4 * 4
    for i in range(a.shape[0]):
        for k in range(0, whole, 4):
            x0, x1, x2, x3 = at_2(a, i, k), at_2(a, i, k + 1), at_2(a, i, k + 2), at_2(a, i, k + 3)
            for j in range(n):
                more = x0 * unit_2(b, k, j) + x1 * unit_2(b, k + 1, j)
                more += x2 * unit_2(b, k + 2, j) + x3 * unit_2(b, k + 3, j)
                put_unit_2(out, i, j, unit_2(out, i, j) + more)
        for k in range(whole, depth):
            x0 = at_2(a, i, k)
            for j in range(n):
                put_unit_2(out, i, j, unit_2(out, i, j) + x0 * unit_2(b, k, j))


@linked(error_model="numpy")
def _times_2(out, a, b):
    """`out += a @ b`."""
    _add_products(out, a, b if b.strides[1] == b.itemsize else loose(b.copy()))


@linked(error_model="numpy")
def dot_22(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError
    out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    _times_2(lent(out), lent(a), lent(b))
    return out


# ---- products by NumPy's BLAS (cblas_?gemm with 64-bit sizes), which gives NumPy's bits ----

_ROW_MAJOR, _AS_IT_IS, _TRANSPOSED = 101, 111, 112
_SMALL = 400  # multiplications that take less time than a call


@linked(error_model="numpy")
def _how(a):
    """How BLAS finds a matrix in memory; 0 where it does not."""
    size, (over_rows, over_columns) = a.itemsize, a.strides
    if over_columns == size and over_rows % size == 0 and over_rows >= size * max(a.shape[1], 1):
        return _AS_IT_IS
    if over_rows == size and over_columns % size == 0 and over_columns >= size * max(a.shape[0], 1):
        return _TRANSPOSED
    return 0


def _product_by(gemm: Any, number: type) -> Any:
    one, zero = number(1), number(0)

    @linked(error_model="numpy")
    def put_product(out, a, b):
        (m, k), n = a.shape, b.shape[1]
        how_a, how_b = _how(a), _how(b)
        over_a = a.strides[0 if how_a == _AS_IT_IS else 1] // a.itemsize
        over_b = b.strides[0 if how_b == _AS_IT_IS else 1] // b.itemsize
        gemm(
            _ROW_MAJOR, how_a, how_b, m, n, k, one, a.ctypes.data, over_a, b.ctypes.data, over_b, zero,
            out.ctypes.data, n,
        )  # fmt: skip

    @linked(error_model="numpy")
    def product_by_blas(a, b):
        if a.shape[1] != b.shape[0]:
            raise ValueError
        out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
        is_small = a.shape[0] * a.shape[1] * b.shape[1] < _SMALL
        if is_small or not (_how(a) and _how(b)):
            _times_2(lent(out), lent(a), lent(b))
        else:
            put_product(lent(out), lent(a), lent(b))
        return out

    return product_by_blas


_BY_BLAS: dict[str, Any] = {}
for _name, _dtype in (("f64", np.float64), ("f32", np.float32)):
    _address = numpy_libraries.gemm(np.dtype(_dtype))
    if _address is not None:
        _size, _number = types.int64, numba.from_dtype(np.dtype(_dtype))
        _kinds = (*(types.int32,) * 3, *(_size,) * 3, _number, *(_size,) * 4, _number, *(_size,) * 2)
        _gemm = external(f"gemm_{_name}", _address, types.void(*_kinds))
        _BY_BLAS[f"numpys_product_{_name}"] = _product_by(_gemm, _dtype)

FUNCTIONS = {**linked_in(globals()), **_BY_BLAS}
