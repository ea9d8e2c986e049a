"""Results whose axes change places at the very end are computed with their axes in that order from the start.

NumPy lays `x * 2 + 1` out as `x` is laid out; where that is another order than C's, the program's result is the array
with its axes in the order of memory (`frontend.outputs`). Computed in C order first, it would be written twice, and
arguments that lie in that order would be read across their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir import Atom, Equation, Jaxpr, Var
from ..primitives.lowering import Pointwise
from .rewrite import Rewriter, rewrite

Permutation = tuple[int, ...]


def sink_transposes(jaxpr: Jaxpr) -> Jaxpr:
    """Transpose what elementwise operations and moves read rather than what they return, where nobody reads what is in
    between in its own order.

    c: f64[3,2] = mul a b
    d: f64[2,3] = transpose[permutation=(1, 0)] c    # returned
      ->
    e: f64[2,3] = transpose[permutation=(1, 0)] a
    f: f64[2,3] = transpose[permutation=(1, 0)] b
    d: f64[2,3] = mul e f

    Left alone where more arrays that the program itself makes would have to be transposed than there are results.
    """
    turned = _turned(jaxpr)
    if not turned:
        return jaxpr
    transposed: dict[tuple[Atom, Permutation, tuple], Atom] = {}

    def in_order(rw: Rewriter, eqn: Equation, atom: Atom, order: Permutation) -> Atom:
        """An operand with its axes in another order; numbers and what is broadcast have none."""
        if not atom.aval.shape or eqn.primitive.name == "broadcast_in_dim":
            return atom
        key = atom, order, eqn.origin.scopes  # what is computed in a scope stays in it
        if key not in transposed:
            source = _source(rw, eqn, atom, order)
            transposed[key] = rw.emit(eqn, "transpose", atom, permutation=order) if source is None else source
        return transposed[key]

    def rule(rw: Rewriter, eqn: Equation) -> Sequence[Atom] | None:
        if eqn.primitive.name == "transpose":
            source = _source(rw, eqn, eqn.invars[0], tuple(eqn.params["permutation"]))
            return None if source is None else (source,)
        order = turned.get(eqn.outvars[0]) if eqn.outvars else None
        if order is None:
            return None
        params = dict(eqn.params)
        change = _PARAMS.get(eqn.primitive.name)
        if change is not None:
            params |= change(eqn, order)
        operands = [in_order(rw, eqn, atom, order) for atom in eqn.invars]
        result = rw.emit(eqn, eqn.primitive, *operands, **params)
        return (rw.emit(eqn, "transpose", result, permutation=_inverse(order)),)

    return rewrite(jaxpr, rule)


def _source(rw: Rewriter, reader: Equation, atom: Atom, order: Permutation) -> Atom | None:
    """What `atom` in this order of axes is a transpose of."""
    made = rw.producer(atom, reader)
    if made is None or made.primitive.name != "transpose" or made.params["permutation"] != _inverse(order):
        return None
    return made.invars[0]


def _turned(jaxpr: Jaxpr) -> dict[Var, Permutation]:
    """What to compute with its axes in another order, and in which."""
    readers: dict[Var, list[Equation]] = {}
    for eqn in jaxpr.eqns:
        for atom in eqn.invars:
            if isinstance(atom, Var):
                readers.setdefault(atom, []).append(eqn)
    outputs = {atom for atom in jaxpr.outvars if isinstance(atom, Var)}
    wanted: dict[Var, Permutation] = {}
    turned: dict[Var, Permutation] = {}
    for eqn in reversed(jaxpr.eqns):
        out = eqn.outvars[0] if len(eqn.outvars) == 1 else None
        if out is None:
            continue
        if eqn.primitive.name == "transpose":
            if out in outputs and isinstance(eqn.invars[0], Var):
                wanted.setdefault(eqn.invars[0], tuple(eqn.params["permutation"]))
            continue
        order = wanted.get(out)
        if order is None or out in outputs or not _can_turn(eqn, order):
            continue
        if not all(_reads_turned(reader, eqn, order, turned) for reader in readers.get(out, ())):
            continue
        turned[out] = order
        for atom in eqn.invars:
            if isinstance(atom, Var) and atom.aval.shape and eqn.primitive.name != "broadcast_in_dim":
                wanted.setdefault(atom, order)
    return turned if _pays(jaxpr, wanted, turned) else {}


def _pays(jaxpr: Jaxpr, wanted: Mapping[Var, Permutation], turned: Mapping[Var, Permutation]) -> bool:
    """Whether no more arrays are written out to be transposed than before: arguments are read as they lie."""
    n_before = sum(eqn.primitive.name == "transpose" and eqn.invars[0] in turned for eqn in jaxpr.eqns)
    made = {out: eqn.primitive.name for eqn in jaxpr.eqns for out in eqn.outvars}
    n_after = sum(var not in turned and made.get(var, "transpose") != "transpose" for var in wanted)
    return n_after <= n_before


def _reads_turned(reader: Equation, eqn: Equation, order: Permutation, turned: Mapping[Var, Permutation]) -> bool:
    if reader.origin.scopes != eqn.origin.scopes:  # what is computed in a scope does not move out of it
        return False
    if reader.primitive.name == "transpose":
        return tuple(reader.params["permutation"]) == order
    if not reader.outvars or reader.primitive.name == "broadcast_in_dim":
        return False
    return turned.get(reader.outvars[0]) == order


def _can_turn(eqn: Equation, order: Permutation) -> bool:
    name = eqn.primitive.name
    if name == "broadcast_in_dim":
        axes = [order.index(axis) for axis in eqn.params["broadcast_dimensions"]]
        return axes == sorted(axes)
    if name in _PARAMS:
        return True
    lowering = eqn.primitive.lowering if eqn.primitive.has_rule("lowering") else None
    shape = eqn.outvars[0].aval.shape
    return isinstance(lowering, Pointwise) and all(a.aval.shape in ((), shape) for a in eqn.invars)


def _inverse(order: Permutation) -> Permutation:
    return tuple(int(axis) for axis in np.argsort(order))


# ---- parameters that name axes ----


def _permuted(*names: str) -> Callable[[Equation, Permutation], dict[str, Any]]:
    """Of parameters that hold something for each axis, or None."""

    def change(eqn: Equation, order: Permutation) -> dict[str, Any]:
        held = {name: eqn.params[name] for name in names if eqn.params.get(name) is not None}
        return {name: tuple(values[axis] for axis in order) for name, values in held.items()}

    return change


def _broadcast(eqn: Equation, order: Permutation) -> dict[str, Any]:
    shape, axes = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    return {
        "shape": tuple(shape[axis] for axis in order),
        "broadcast_dimensions": tuple(order.index(axis) for axis in axes),
    }


_PARAMS: dict[str, Callable[[Equation, Permutation], dict[str, Any]]] = {
    "slice": _permuted("start_indices", "limit_indices", "strides"),
    "update_slice": _permuted("start_indices", "strides"),
    "pad": _permuted("padding_config"),
    "rev": lambda eqn, order: {"dimensions": tuple(sorted(order.index(axis) for axis in eqn.params["dimensions"]))},
    "concatenate": lambda eqn, order: {"dimension": order.index(eqn.params["dimension"])},
    "broadcast_in_dim": _broadcast,
}
