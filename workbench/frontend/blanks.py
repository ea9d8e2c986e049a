"""What is a number, and zeros for the places of numbers that nobody reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree

from ..ir import REGISTRY, aval_of
from .tracer import Tracer, emit, lift

NUMBERS = (bool, int, float, complex, np.generic, np.ndarray)


def is_number(value: Any) -> bool:
    return type(value) is Tracer or isinstance(value, NUMBERS)


def zeros_like(value: Any) -> Any:
    """A value of the same types, for a place that is not read."""
    return optree.tree_map(zero_like, value, none_is_leaf=True)


def zero_like(leaf: Any) -> Any:
    if not is_number(leaf):
        return leaf
    aval = leaf.aval if type(leaf) is Tracer else aval_of(leaf)
    if aval.weak_type or isinstance(leaf, bool):  # of Python; also what stands for one is one
        return {"f": 0.0, "c": 0j, "b": False}.get(aval.dtype.kind, 0)
    zero = lift(aval.dtype.type(0))
    if aval.shape:
        zero = emit(REGISTRY["broadcast_in_dim"], zero, shape=aval.shape, broadcast_dimensions=())
        zero._strides = leaf._strides if type(leaf) is Tracer else None
    zero.scalar = leaf.scalar if type(leaf) is Tracer else not isinstance(leaf, np.ndarray)
    return zero
