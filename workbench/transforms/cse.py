"""Common subexpressions: what is computed twice is computed once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir import Atom, DropVar, Equation, Jaxpr, Literal, Var
from .rewrite import Rewriter, in_inner_programs, rewrite

# Exchanging operands keeps every bit. `max` is not here: of 0.0 and -0.0 it may give the first.
COMMUTATIVE = frozenset({"add", "mul", "eq", "ne", "and", "or", "xor"})


def eliminate_common_subexpressions(jaxpr: Jaxpr) -> Jaxpr:
    """Read the result of the first of several equal equations wherever a later one was read.

        b: f64[3] = exp a
        c: f64[3] = exp a
        d: f64[3] = mul b c
          ->
        b: f64[3] = exp a
        d: f64[3] = mul b b

    Equations are equal if they have the same primitive, operands and params, and were traced in the same scopes:
    a scope may be compiled apart from its surroundings. All primitives are pure, so that is all it takes.
    """
    first: dict[Hashable, Equation] = {}

    def share(_: Rewriter, eqn: Equation) -> Sequence[Atom] | None:
        if eqn.primitive.name == "copy":  # asks for an array of its own
            return None
        key = _key(eqn)
        if key is None:
            return None
        earlier = first.get(key)
        if earlier is None or any(
            isinstance(a, DropVar) and not isinstance(b, DropVar)
            for a, b in zip(earlier.outvars, eqn.outvars, strict=True)
        ):
            first[key] = eqn
            return None
        return earlier.outvars

    return rewrite(in_inner_programs(jaxpr, eliminate_common_subexpressions), share)


def _key(eqn: Equation) -> Hashable | None:
    """Equal for equations that compute the same; None if the params cannot be compared."""
    operands = [_atom_key(atom) for atom in eqn.invars]
    dtype_kind = eqn.invars[0].aval.dtype.kind if eqn.invars else ""
    # The two cross terms of a complex product are added in another order after an exchange, with fused operations.
    if eqn.primitive.name in COMMUTATIVE and not (eqn.primitive.name == "mul" and dtype_kind == "c"):
        operands.sort(key=hash)
    try:
        key = (eqn.primitive.name, tuple(operands), frozen(eqn.params), eqn.origin.scopes)
        hash(key)
    except TypeError:
        return None
    return key


def _atom_key(atom: Atom) -> Hashable:
    if isinstance(atom, Var):
        return atom
    # By bits: 0.0 and -0.0 differ, NaNs are alike.
    value = np.asarray(atom.val, atom.aval.dtype)
    return (Literal, value.dtype.str, value.tobytes())


def frozen(value: Any) -> Hashable:
    """`value` as a key: 1, 1.0 and True differ, so do 0.0 and -0.0; programs are compared by identity."""
    if isinstance(value, tuple | list):
        return (type(value).__name__, *map(frozen, value))
    if isinstance(value, Mapping):
        return ("mapping", *((key, frozen(value[key])) for key in sorted(value)))
    if isinstance(value, float | complex | np.inexact):
        return (type(value).__name__, repr(value))
    return (type(value).__name__, value)
