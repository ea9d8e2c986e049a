"""Matrix products some rows at a time, among the kernels that make their operands and read their results.

A product with a thin or narrow operand (distances, a layer of few inputs, the scores of attention, the gradient of a
regression) takes less time than writing its large array to memory and reading it again. In a chain the kernels around
it find its rows in the cache, and what nobody else reads never becomes an array. Rows are the same product of BLAS's,
on one thread each (`products.one_thread`); products that sum over the rows leave a partial result for every so many.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..codegen import llvm_product
from ..codegen.kernel import Kernel, KernelArg
from ..fusion.cost import flops
from ..ir import Equation, Var
from ..primitives import numpy_libraries
from ..primitives.contractions import dot_general_p, matrix_form
from .native.kernels import machine_address
from .products import BLOCK_FLOPS, SMALL, can_hold_threads

_Transposed = Callable[[Var], tuple[Var, tuple[int, ...]]]

# Rows for which BLAS packs the other operand once: as many as should be, and at least.
ROWS, LEAST_ROWS = 64, 32
# The large array of a product, which goes through memory otherwise. Threads of BLAS that have just computed another
# product watch for the next one, in the way of ours: then it is worth it from more bytes on.
LEAST_BYTES, LEAST_BYTES_BESIDE = 1 << 18, 1 << 23
# Terms of each element, or columns, up to which that array costs as much as the product itself.
MOST_DEPTH = 192
# A partial result is summed over so many times the rows that it takes.
ROWS_PER_COLUMN = 4


class RowProduct(NamedTuple):
    """A product as a kernel, and where its machine code is. right_axes: by which the right operand becomes (batch, k,
    columns); least_part: of a product that sums over the rows, how many at least make a partial result, else 0."""

    kernel: Kernel
    address: int
    right_axes: tuple[int, ...]
    least_part: int = 0

    @property
    def args(self) -> tuple[Var | None, ...]:
        return tuple(arg.var for arg in self.kernel.args)

    def stored(self, right: np.ndarray) -> np.ndarray:
        """The right operand as BLAS takes it: with three axes, of which the rows or the columns lie in one piece."""
        a = right.transpose(self.right_axes)
        a = a.reshape(-1, *a.shape[-2:]) if a.ndim > 1 else a.reshape(1, -1, 1)
        _, row, column = a.strides
        _, n_rows, n_columns = a.shape
        for step, leading, least in ((column, row, n_columns), (row, column, n_rows)):
            if step == a.itemsize and leading % a.itemsize == 0 and leading >= least * a.itemsize:
                return a
        return np.ascontiguousarray(a)


def row_product(eqn: Equation, step: str, transposed: _Transposed, least_bytes: int = LEAST_BYTES) -> RowProduct | None:
    """The product of an equation, where it is one that can run by rows and gains by it, with an array of at least
    so many bytes. transposed: the variable in C order that another one is, or is a view of, and the view's axes there;
    ValueError if there is none. Products of a matrix with itself are left to a routine whose results are symmetric."""
    if not wakes_threads(eqn) or not can_hold_threads():  # smaller ones take no time, and have NumPy's bits in any loop
        return None
    left, right = eqn.invars
    if not isinstance(left, Var) or not isinstance(right, Var):
        return None
    dtypes = {var.aval.dtype.name for var in (left, right, eqn.outvars[0])}
    if dtypes not in ({"float32"}, {"float64"}) or not eqn.outvars[0].aval.size:
        return None
    for make in (_by_rows, _summed):
        try:
            product = make(eqn, step, left, right, transposed, least_bytes)
        except ValueError:
            continue
        if product is not None:
            return product
    return None


def _by_rows(
    eqn: Equation, step: str, left: Var, right: Var, transposed: _Transposed, least_bytes: int
) -> RowProduct | None:
    """Rows of the result, from the same rows of the left operand."""
    x, y, out = left.aval, right.aval, eqn.outvars[0]
    form = matrix_form(x.shape, y.shape, eqn.params["dimension_numbers"])
    as_they_are = (
        form.left_axes == tuple(range(x.ndim)) and form.left_shape == x.shape
        and form.right_shape == tuple(y.shape[axis] for axis in form.right_axes)
        and form.product_shape == form.shape and x.ndim > 1 and (y.ndim == x.ndim or y.ndim == 1 and x.ndim == 2)
    )  # fmt: skip
    if not as_they_are or transposed(left)[0] is not left or _base(right, transposed) is left:
        return None
    (*batch, rows, k), columns = x.shape, 1 if y.ndim == 1 else form.right_shape[-1]
    is_thin = out.aval.nbytes >= least_bytes and k <= MOST_DEPTH
    is_narrow = x.nbytes >= least_bytes and columns <= MOST_DEPTH
    if k < 2 or columns < min(2, y.ndim) or not (is_thin or is_narrow) or rows < ROWS:
        return None
    array = partial(KernelArg, kind="in", dtype=out.aval.dtype.name)
    arrays = (
        array("right", var=right, ndim=3, layout="A", shape=form.right_shape),
        array("left", var=left, ndim=x.ndim, shape=x.shape),
        array("result", kind="out", var=out, ndim=out.aval.ndim, shape=out.aval.shape),
    )
    return _product(eqn, step, arrays, (math.prod(batch), rows, columns, k), form.right_axes)


def _base(var: Var, transposed: _Transposed) -> Var | None:
    try:
        return transposed(var)[0]
    except ValueError:
        return None


def _summed(
    eqn: Equation, step: str, left: Var, right: Var, transposed: _Transposed, least_bytes: int
) -> RowProduct | None:
    """Sums over the rows of both operands: `x.T @ y`."""
    (contracted, batch), out = eqn.params["dimension_numbers"], eqn.outvars[0]
    if batch != ((), ()) or any(len(axes) != 1 for axes in contracted):
        return None
    (x, x_axes), (y, y_axes) = transposed(left), transposed(right)
    rows_first = x_axes[contracted[0][0]] == y_axes[contracted[1][0]] == 0
    if not rows_first or x is y or max(x.aval.ndim, y.aval.ndim) != 2 or min(x.aval.ndim, y.aval.ndim) < 1:
        return None
    if x.aval.ndim == 1:
        x, y = y, x
    (rows, k), columns = x.aval.shape, 1 if y.aval.ndim == 1 else y.aval.shape[1]
    is_large = max(x.aval.nbytes, y.aval.nbytes) >= least_bytes and min(k, columns) <= MOST_DEPTH
    if k < 2 or columns < min(2, y.aval.ndim) or not is_large or rows < 2 * ROWS:
        return None
    array = partial(KernelArg, kind="in", dtype=out.aval.dtype.name)
    arrays = (
        array("left", var=x, ndim=2, shape=x.aval.shape),
        array("right", var=y, ndim=y.aval.ndim, shape=y.aval.shape),
        array("partial", kind="out", var=out, ndim=1 + out.aval.ndim, shape=out.aval.shape),
    )
    least = max(ROWS, ROWS_PER_COLUMN * min(k, columns))
    return _product(eqn, step, arrays, (1, rows, columns, k), (), least)


def _product(
    eqn: Equation, step: str, arrays: tuple[KernelArg, ...], lengths: tuple[int, int, int, int],
    right_axes: tuple[int, ...], least_part: int = 0,
) -> RowProduct | None:  # fmt: skip
    batch, rows, columns, k = lengths
    left, right = (next(a for a in arrays if a.name == name) for name in ("left", "right"))
    routine: llvm_product.Routine = "gemv" if len(right.shape) == 1 else "gemm"
    at = numpy_libraries.blas(("s" if left.dtype == "float32" else "d") + routine)
    if at is None:
        return None
    is_sum = bool(least_part)
    values = (at, rows, columns, k, 0, llvm_product.out_word(left.ndim, right.ndim, is_sum=is_sum))
    sizes = (KernelArg(name, "size", value=value) for name, value in zip(llvm_product.SIZES, values, strict=True))
    n_flops = 2.0 * k * columns
    apart = {var for arg in arrays if (var := arg.var) is not None and (is_sum or arg is not right)}
    kernel = Kernel(
        step, f"product_{step}", "", (*sizes, *arrays), batch * rows, max(1, math.ceil(BLOCK_FLOPS / n_flops)),
        batch * rows * columns, n_flops * batch * rows, sum(v.aval.nbytes for v in (*apart, eqn.outvars[0])), (),
        apart=frozenset(apart - {eqn.outvars[0]} if is_sum else apart),
    )  # fmt: skip
    function = llvm_product.machine(routine, left.dtype, is_sum=is_sum)
    symbol = llvm_product.symbol(routine, left.dtype, is_sum=is_sum)
    return RowProduct(kernel, machine_address(function, symbol), right_axes, least_part)


def wakes_threads(eqn: Equation) -> bool:
    """Whether an equation is a product for which BLAS uses threads, where it is called for all of it."""
    return eqn.primitive is dot_general_p and flops(eqn) > 2 * SMALL
