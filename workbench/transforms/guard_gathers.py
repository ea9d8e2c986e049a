"""Gathers that check their indices, as a test of all indices and a gather that kernels can contain:

    c = gather_checked[axes=(0,) position=0] a b                  # a: f64[n], b: i64[m]
      ->
    w = select_n (b < 0) b (b + n)
    check_indices (reduce_and[axes=(0,)] (w >= 0 and w < n))
    c = gather_nd[axes=(0,) position=0 mode=clip] a w

The gather reads elements of the array whatever the indices are, so that it may run before the test.
"""

from __future__ import annotations

import numpy as np

from ..ir import Atom, Equation, Jaxpr, literal
from .rewrite import Rewriter, in_inner_programs, rewrite
from .simplify_ranges import range_of

INT64 = np.dtype(np.int64)


def guard_gathers(jaxpr: Jaxpr) -> Jaxpr:
    """Replace `gather_checked` by arrays of indices by a test and a `gather_nd`."""
    return rewrite(in_inner_programs(jaxpr, guard_gathers), _rule)


def _rule(rewriter: Rewriter, eqn: Equation) -> tuple[Atom, ...] | None:
    if eqn.primitive.name != "gather_checked":
        return None
    x, *indices = eqn.invars
    shape = indices[0].aval.shape
    sizes = [x.aval.shape[axis] for axis in eqn.params["axes"]]
    if not shape or 0 in shape or 0 in sizes:
        return None
    tests: list[Atom] = []
    wrapped = [_wrapped(rewriter, eqn, index, n, tests) for index, n in zip(indices, sizes, strict=True)]
    assert tests  # or `simplify_ranges` had found that no index can be out of range
    fine = tests[0]
    for test in tests[1:]:
        fine = rewriter.emit(eqn, "and", fine, test)
    rewriter.emit(eqn, "check_indices", rewriter.emit(eqn, "reduce_and", fine, axes=tuple(range(len(shape)))))
    return (rewriter.emit(eqn, "gather_nd", x, *wrapped, **eqn.params, mode="clip"),)


def _wrapped(rewriter: Rewriter, eqn: Equation, index: Atom, n: int, tests: list[Atom]) -> Atom:
    """`index` of an axis of n elements, counted from its beginning. tests: what must be true of it, of what is not
    known yet, is added here."""
    found = range_of(rewriter, index)
    assert found is not None  # of integers
    if index.aval.dtype != INT64:  # which may not hold n
        index = rewriter.emit(eqn, "convert_element_type", index, new_dtype=INT64, weak_type=False)
    zero, size = literal(0, INT64), literal(n, INT64)
    if found[0] < 0:
        is_negative = rewriter.emit(eqn, "lt", index, zero)
        index = rewriter.emit(eqn, "select_n", is_negative, index, rewriter.emit(eqn, "add", index, size))
    if found[0] < -n or found[1] > np.iinfo(INT64).max:
        tests.append(rewriter.emit(eqn, "ge", index, zero))
    if found[1] >= n:
        tests.append(rewriter.emit(eqn, "lt", index, size))
    return index
