"""Constant folding: what depends on scalar constants alone is computed once, here, by NumPy itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Atom, Equation, Jaxpr, Literal
from ..primitives.lowering import Pointwise
from .rewrite import Rewriter, in_inner_programs, rewrite


def fold_constants(jaxpr: Jaxpr) -> Jaxpr:
    """Replace scalar computations on literals by their values.

        b: f64[] = sqrt 2.0:f64[]
        c: f64[3] = mul a b
          ->
        c: f64[3] = mul a 1.4142135623730951:f64[]

    Only scalars are folded: a folded array would have to be stored and read, which costs more than its computation
    inside a kernel. What raises when it is computed is left for the run.
    """
    return rewrite(in_inner_programs(jaxpr, fold_constants), fold)


def is_pointwise(eqn: Equation) -> bool:
    return eqn.primitive.has_rule("lowering") and isinstance(eqn.primitive.lowering, Pointwise)


def fold(_: Rewriter, eqn: Equation) -> Sequence[Atom] | None:
    """The rule: a literal for the result of a pointwise equation whose operands are all literals."""
    if not eqn.invars or not all(isinstance(atom, Literal) for atom in eqn.invars) or not is_pointwise(eqn):
        return None
    operands = [np.asarray(atom.val, atom.aval.dtype) for atom in eqn.invars if isinstance(atom, Literal)]
    try:
        with np.errstate(all="ignore"):  # kernels give no floating-point warnings either
            value = np.asarray(eqn.primitive.impl(*operands, **eqn.params))
    except (ArithmeticError, TypeError, ValueError):
        return None
    (var,) = eqn.outvars
    if value.shape != () or value.dtype != var.aval.dtype:
        return None
    return (Literal(value[()], var.aval),)
