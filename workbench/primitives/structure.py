"""Structure: equations that hold a program of their own."""

from __future__ import annotations

import numpy as np

from ..ir import Aval, Jaxpr, Primitive
from ..ir.evaluate import eval_jaxpr
from .lowering import Inline

# ---- pjit: a nested jit; inlined before fusion ----
pjit_p = Primitive("pjit", multiple_results=True)


@pjit_p.def_impl
def pjit_impl(*operands: np.ndarray, name: str, jaxpr: Jaxpr) -> tuple[np.ndarray, ...]:
    return tuple(eval_jaxpr(jaxpr, *operands))


@pjit_p.def_abstract_eval
def pjit_aval(*operands: Aval, name: str, jaxpr: Jaxpr) -> tuple[Aval, ...]:
    if len(operands) != len(jaxpr.in_avals):
        raise TypeError(f"pjit {name}: {len(operands)} operands for {len(jaxpr.in_avals)} inputs")
    for number, (given, expected) in enumerate(zip(operands, jaxpr.in_avals, strict=True)):
        if (given.shape, given.dtype) != (expected.shape, expected.dtype):
            raise TypeError(f"pjit {name}: operand {number} is {given}; the program takes {expected}")
    return jaxpr.out_avals


pjit_p.def_lowering(Inline())
