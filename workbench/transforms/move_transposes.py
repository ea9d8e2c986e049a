"""Transposes of results move up to the operands: what a program returns in another order of axes is computed in it.

Arrays in Fortran's order give results in Fortran's order, as in NumPy: the program returns their transposes. Computed
in C order first, they would be written twice, and read across their rows on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir import Atom, Equation, Jaxpr, Var
from ..primitives.lowering import Pointwise
from .rewrite import Rewriter, rewrite

Permutation = tuple[int, ...]


def move_transposes(jaxpr: Jaxpr) -> Jaxpr:
    """Compute transposed results from transposed operands, where nobody reads what is between in its own order.

    c: f64[3,2] = mul a b
    d: f64[2,3] = transpose[permutation=(1, 0)] c    # returned
      ->
    e: f64[2,3] = transpose[permutation=(1, 0)] a
    f: f64[2,3] = transpose[permutation=(1, 0)] b
    d: f64[2,3] = mul e f
    """
    turned = _turned(jaxpr)
    if not turned:
        return jaxpr

    def rule(rw: Rewriter, eqn: Equation) -> Sequence[Atom] | None:
        order = turned.get(eqn.outvars[0]) if eqn.outvars else None
        if order is None:
            return None
        params = dict(eqn.params)
        change = _PARAMS.get(eqn.primitive.name)
        if change is not None:
            params |= change(eqn, order)
        operands = [_in_order(rw, eqn, atom, order) for atom in eqn.invars]
        result = rw.emit(eqn, eqn.primitive, *operands, **params)
        return (rw.emit(eqn, "transpose", result, permutation=_inverse(order)),)

    return rewrite(jaxpr, rule)


def _in_order(rw: Rewriter, eqn: Equation, atom: Atom, order: Permutation) -> Atom:
    """An operand with its axes in another order; numbers and what is broadcast have none."""
    if not atom.aval.shape or eqn.primitive.name == "broadcast_in_dim":
        return atom
    made = rw.producer(atom)
    if made is not None and made.primitive.name == "transpose" and made.params["permutation"] == _inverse(order):
        return made.invars[0]
    return rw.emit(eqn, "transpose", atom, permutation=order)


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
        if not all(_reads_turned(reader, out, order, turned) for reader in readers.get(out, ())):
            continue
        turned[out] = order
        for atom in eqn.invars:
            if isinstance(atom, Var) and atom.aval.shape:
                wanted.setdefault(atom, order)
    return turned


def _reads_turned(reader: Equation, var: Var, order: Permutation, turned: Mapping[Var, Permutation]) -> bool:
    if reader.primitive.name == "transpose":
        return tuple(reader.params["permutation"]) == order
    return turned.get(reader.outvars[0]) == order and reader.primitive.name != "broadcast_in_dim"


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
