"""Write short contractions out, so that they fuse with what surrounds them.

A matrix product over a handful of terms is bound by memory, and a library call for it costs a pass over the data that
fusion would save:

    c: f64[n,m] = dot_general[dimension_numbers=(([2], [0]), ([], []))] a b     # a: f64[n,m,2], b: f64[2]
      ->
    c = 0.0 + a[:,:,0] * b[0] + a[:,:,1] * b[1]

A product of two tall matrices that leaves a few elements (a covariance) becomes a sum along the rows:

    c: f64[3,3] = dot_general[dimension_numbers=(([0], [0]), ([], []))] a b     # a, b: f64[n,3]
      ->
    c = reduce_sum[axes=(0,)] a[:,:,None] * b[:,None,:]

As in the library, sums of floats begin with 0.0, so that none is -0.0.
"""

from __future__ import annotations

import math

from ..ir import Atom, Aval, Equation, Jaxpr, literal
from .rewrite import Rewriter, in_inner_programs, rewrite

# Terms that cost less in a fused loop than the traffic of a call: one operand is a vector (or one for each member of a
# batch), or none is.
MAX_VECTOR_TERMS = 8
MAX_MATRIX_TERMS = 3
# The same of a batch of products with up to so many elements each, which the library multiplies one by one.
MAX_SMALL_TERMS = 4
MAX_SMALL_MATRIX = 16
# Products of two tall matrices that sum over their rows, to so few elements: the library goes along the columns.
LEAST_ROWS = 512
MAX_OF_ROWS = 9


def expand_contractions(jaxpr: Jaxpr) -> Jaxpr:
    """Replace short `dot_general` equations by products and sums."""
    return rewrite(in_inner_programs(jaxpr, expand_contractions), _rule)


def _rule(rewriter: Rewriter, eqn: Equation) -> tuple[Atom, ...] | None:
    if eqn.primitive.name != "dot_general":
        return None
    contracted, batch = eqn.params["dimension_numbers"]
    lhs, rhs = eqn.invars
    out = eqn.outvars[0].aval
    n_batch = len(batch[0])
    if any(tuple(axes) != tuple(range(n_batch)) for axes in batch):
        return None
    if len(contracted[0]) != 1 or {lhs.aval.dtype, rhs.aval.dtype} != {out.dtype}:
        return None
    (left_axis,), (right_axis,) = contracted
    n_terms = lhs.aval.shape[left_axis]
    if out.dtype.kind == "f" and n_terms >= LEAST_ROWS and out.ndim == 2 and not n_batch and out.size <= MAX_OF_ROWS:
        return (_summed_along_rows(rewriter, eqn, left_axis, right_axis),)
    if out.dtype.kind == "b" or not 1 <= n_terms <= _most_terms(n_batch, lhs, rhs, out):
        return None
    if not out.shape:
        return None  # a dot product is a reduction, which the library does as well
    n_left = lhs.aval.ndim - 1
    total: Atom | None = literal(0.0, out.dtype) if out.dtype.kind in "fc" else None
    for k in range(n_terms):
        left = _spread(rewriter, eqn, _pick(rewriter, eqn, lhs, left_axis, k), out.shape, n_batch, n_batch)
        right = _spread(rewriter, eqn, _pick(rewriter, eqn, rhs, right_axis, k), out.shape, n_batch, n_left)
        product = rewriter.emit(eqn, "mul", left, right)
        total = product if total is None else rewriter.emit(eqn, "add", product, total)
    assert total is not None
    return (total,)


def _summed_along_rows(rewriter: Rewriter, eqn: Equation, left_axis: int, right_axis: int) -> Atom:
    sides = []
    for place, operand, axis in ((1, eqn.invars[0], left_axis), (2, eqn.invars[1], right_axis)):
        if axis == 1:
            operand = rewriter.emit(eqn, "transpose", operand, permutation=(1, 0))
        shape = (operand.aval.shape[0], *eqn.outvars[0].aval.shape)
        sides.append(rewriter.emit(eqn, "broadcast_in_dim", operand, shape=shape, broadcast_dimensions=(0, place)))
    return rewriter.emit(eqn, "reduce_sum", rewriter.emit(eqn, "mul", *sides), axes=(0,))


def _most_terms(n_batch: int, lhs: Atom, rhs: Atom, out: Aval) -> int:
    if n_batch + 1 in (lhs.aval.ndim, rhs.aval.ndim):
        return MAX_VECTOR_TERMS
    is_small = n_batch > 0 and math.prod(out.shape[n_batch:]) <= MAX_SMALL_MATRIX
    return MAX_SMALL_TERMS if is_small else MAX_MATRIX_TERMS


def _pick(rewriter: Rewriter, eqn: Equation, operand: Atom, axis: int, k: int) -> Atom:
    """`operand[..., k, ...]`."""
    shape = operand.aval.shape
    starts = tuple(k if d == axis else 0 for d in range(len(shape)))
    limits = tuple(k + 1 if d == axis else n for d, n in enumerate(shape))
    part = rewriter.emit(eqn, "slice", operand, start_indices=starts, limit_indices=limits, strides=None)
    return rewriter.emit(eqn, "squeeze", part, dimensions=(axis,))


def _spread(
    rewriter: Rewriter, eqn: Equation, part: Atom, shape: tuple[int, ...], n_batch: int, first_axis: int
) -> Atom:
    """`part` broadcast to the product's shape, its axes after the batch's from `first_axis` on. A scalar needs no
    broadcast."""
    axes = (*range(n_batch), *range(first_axis, first_axis + part.aval.ndim - n_batch))
    if not axes or part.aval.shape == shape:
        return part
    return rewriter.emit(eqn, "broadcast_in_dim", part, shape=shape, broadcast_dimensions=axes)
