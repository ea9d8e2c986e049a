"""Matrix products some rows at a time, among the kernels that make their operands and read their results.

A product whose result is much larger than its operands (few terms each, as in distances, a thin layer, the scores of
attention) takes less time than writing it to memory and reading it again. In a chain the kernels around it find its
rows in the cache, and what nobody else reads never becomes an array. Rows are the same product of BLAS's, on one
thread each: `products.one_thread`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from ..codegen import llvm_product
from ..codegen.kernel import Kernel, KernelArg
from ..fusion.cost import flops
from ..ir import Atom, Equation, Var
from ..primitives.contractions import MatrixForm, dot_general_p, matrix_form
from .native import blas
from .native.kernels import machine_address
from .products import BLOCK_FLOPS, SMALL, can_hold_threads

# Rows for which BLAS packs the other operand once: as many as should be, and at least.
ROWS, LEAST_ROWS = 64, 32
# The large array of a product, which goes through memory otherwise. Threads of BLAS that have just computed another
# product watch for the next one, in the way of ours: then it is worth it from more bytes on.
LEAST_BYTES, LEAST_BYTES_BESIDE = 1 << 18, 1 << 23
# Terms of each element, or columns, up to which that array costs as much as the product itself.
MOST_DEPTH = 192


class RowProduct(NamedTuple):
    """A product as a kernel, where its machine code is, and the axes by which the right operand becomes (batch, k,
    columns)."""

    kernel: Kernel
    address: int
    right_axes: tuple[int, ...]

    @property
    def args(self) -> tuple[Var | None, ...]:
        return tuple(arg.var for arg in self.kernel.args)

    @property
    def left(self) -> Var:
        """The left operand, which must lie in C order."""
        left = self.args[-2]
        assert left is not None
        return left

    def stored(self, right: np.ndarray) -> np.ndarray:
        """The right operand as BLAS takes it: with three axes, of which the rows or the columns lie in one piece."""
        a = right.transpose(self.right_axes)
        a = a.reshape(-1, *a.shape[-2:])
        _, row, column = a.strides
        _, n_rows, n_columns = a.shape
        for step, leading, least in ((column, row, n_columns), (row, column, n_rows)):
            if step == a.itemsize and leading % a.itemsize == 0 and leading >= least * a.itemsize:
                return a
        return np.ascontiguousarray(a)


def row_product(eqn: Equation, step: str, least_bytes: int = LEAST_BYTES) -> RowProduct | None:
    """The product of an equation, where it is one that can run by rows and gains by it, with an array of at least so
    many bytes."""
    form = _form(eqn)
    if form is None:
        return None
    left, right, out = *eqn.invars, eqn.outvars[0]
    (*batch, rows, k), columns = form.left_shape, form.right_shape[-1]
    is_thin = out.aval.nbytes >= least_bytes and k <= MOST_DEPTH
    is_narrow = left.aval.nbytes >= least_bytes and columns <= MOST_DEPTH
    if min(k, columns) < 2 or not (is_thin or is_narrow) or rows < ROWS or not can_hold_threads():
        return None
    dtype = out.aval.dtype.name
    address = blas.routine(f"{'s' if dtype == 'float32' else 'd'}gemm")
    if address is None:
        return None
    n_rows = math.prod(batch) * rows
    array = partial(KernelArg, kind="in", dtype=dtype)
    sizes = (address, rows, columns, k, llvm_product.LEFT + 1 + left.aval.ndim)
    args = (
        *(KernelArg(name, "size", value=value) for name, value in zip(llvm_product.SIZES, sizes, strict=True)),
        array("right", var=_variable(right), ndim=3, layout="A", shape=form.right_shape),
        array("left", var=_variable(left), ndim=left.aval.ndim, shape=left.aval.shape),
        KernelArg("result", "out", out, dtype, out.aval.ndim, shape=out.aval.shape),
    )
    flops = 2.0 * k * columns
    kernel = Kernel(
        step, f"product_{step}", "", args, n_rows, max(1, math.ceil(BLOCK_FLOPS / flops)), n_rows * columns,
        flops * n_rows, left.aval.nbytes + right.aval.nbytes + out.aval.nbytes, (),
        apart=frozenset({_variable(left), out}),
    )  # fmt: skip
    return RowProduct(kernel, machine_address(llvm_product.machine(dtype), llvm_product.symbol(dtype)), form.right_axes)


def _form(eqn: Equation) -> MatrixForm | None:
    """The product of an equation, if it is one of matrices whose left rows and results lie in memory as they are."""
    if eqn.primitive is not dot_general_p or not all(isinstance(atom, Var) for atom in eqn.invars):
        return None
    (x, y), out = (atom.aval for atom in eqn.invars), eqn.outvars[0].aval
    if {x.dtype.name, y.dtype.name, out.dtype.name} not in ({"float32"}, {"float64"}):
        return None
    form = matrix_form(x.shape, y.shape, eqn.params["dimension_numbers"])
    as_they_are = (
        form.left_axes == tuple(range(x.ndim)) and form.left_shape == x.shape
        and form.right_shape == tuple(y.shape[axis] for axis in form.right_axes)
        and form.product_shape == form.shape and x.ndim == y.ndim >= 2
    )  # fmt: skip
    return form if as_they_are and math.prod(form.shape) else None


def wakes_threads(eqn: Equation) -> bool:
    """Whether an equation is a product for which BLAS uses threads, where it is called for all of it."""
    return eqn.primitive is dot_general_p and flops(eqn) > 2 * SMALL


def _variable(atom: Atom) -> Var:
    assert isinstance(atom, Var)
    return atom
