"""Simplification of casts: conversions that change nothing, and chains that one conversion does."""

from __future__ import annotations

import numpy as np

from ..ir import Atom, Equation
from .rewrite import Rewriter


def lossless(source: np.dtype, target: np.dtype) -> bool:
    """Whether `target` holds every value of `source` exactly.

    NumPy's "safe" is weaker: it lets int64 become float64, which has 53 bits.
    """
    if source == target or source.kind == "b":
        return True
    match source.kind, target.kind:
        case ("i" | "u", "f" | "c"):
            mantissa = np.finfo(target).nmant + 1
            return source.itemsize * 8 - (source.kind == "i") <= mantissa
        case ("u", "u") | ("i", "i") | ("u", "i"):
            return target.itemsize > source.itemsize
        case ("f", "f") | ("c", "c"):
            return target.itemsize >= source.itemsize
        case ("f", "c"):
            return target.itemsize >= 2 * source.itemsize
    return False


def one_cast_does(source: np.dtype, middle: np.dtype, target: np.dtype) -> bool:
    """Whether converting to `target` directly gives the bits of converting to `middle` first."""
    if source.kind in "iub" and middle.kind in "iu" and target.kind in "iu":
        # Integers wrap: cutting to `target` comes out alike unless `middle` cuts off more, or was extended with
        # another sign than `source` has.
        return lossless(source, middle) or middle.itemsize >= target.itemsize
    if not lossless(source, middle):
        return False
    # What a float beyond the range of an integer becomes depends on the machine and on the float's width.
    return target.kind not in "iu" or lossless(source, target)


def _convert(rw: Rewriter, eqn: Equation) -> Atom | None:
    x = eqn.invars[0]
    target = np.dtype(eqn.params["new_dtype"])
    if x.aval.dtype == target:
        return x
    inner = rw.producer(x, eqn)
    if inner is not None and inner.primitive is eqn.primitive:
        source = inner.invars[0]
        if one_cast_does(source.aval.dtype, x.aval.dtype, target):
            return rw.emit(eqn, eqn.primitive, source, merging=inner, **eqn.params)
    return None


CAST_RULES = {"convert_element_type": _convert}
