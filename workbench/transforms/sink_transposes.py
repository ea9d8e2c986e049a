"""Results whose axes change places at the very end are computed with their axes in that order from the start.

NumPy lays `x * 2 + 1` out as `x` is laid out; where that is another order than C's, the program's result is the array
with its axes in the order of memory (`frontend.outputs`). Where the arguments lie in that order, too, all is read and
written from front to back.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..ir import REGISTRY, Atom, Equation, Jaxpr, Literal, Var
from ..primitives.lowering import Pointwise

Order = tuple[int, ...]


def sink_transposes(jaxpr: Jaxpr) -> Jaxpr:
    """Transpose what elementwise operations and slices read rather than what they return.

    y: f64[3,2] = mul x 2.0
    z: f64[2,3] = transpose[permutation=(1, 0)] y    # a result, and nobody else reads y
      ->
    w: f64[2,3] = transpose[permutation=(1, 0)] x
    z: f64[2,3] = mul w 2.0

    Left alone where more than one array that the program itself makes would have to be transposed.
    """
    sunk = {}
    reads = Counter(a for eqn in jaxpr.eqns for a in eqn.invars if isinstance(a, Var))
    reads.update(a for a in jaxpr.outvars if isinstance(a, Var))
    made_by = {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars}
    for out in dict.fromkeys(jaxpr.outvars):
        last = made_by.get(out) if isinstance(out, Var) else None
        if last is not None and last.primitive.name == "transpose":
            sunk |= _sunk(last, made_by, reads)
    if not sunk:
        return jaxpr
    return _Sinking(made_by, sunk).run(jaxpr)


def _sunk(last: Equation, made_by: dict[Var, Equation], reads: Counter) -> dict[Var, Order]:
    """The results that are computed in the order of the transpose `last`, and that order."""
    (source,) = last.invars
    order: Order = last.params["permutation"]
    found: dict[Var, Order] = {}
    pending, n_made = [source], 0
    while pending:
        atom = pending.pop()
        if not isinstance(atom, Var) or not atom.aval.shape or atom in found:
            continue
        eqn = made_by.get(atom)
        if eqn is None:
            continue
        moves = _is_pointwise(eqn) or eqn.primitive.name == "slice"
        if moves and reads[atom] == 1 and eqn.origin.scopes == last.origin.scopes:
            found[atom] = order
            pending += eqn.invars
        elif eqn.primitive.name not in ("transpose", "broadcast_in_dim"):
            n_made += 1
    return found if n_made < 2 else {}


def _is_pointwise(eqn: Equation) -> bool:
    if not eqn.primitive.has_rule("lowering") or not isinstance(eqn.primitive.lowering, Pointwise):
        return False
    shape = eqn.outvars[0].aval.shape
    return len(eqn.outvars) == 1 and all(a.aval.shape in ((), shape) for a in eqn.invars)


def _permuted(eqn: Equation, order: Order) -> Equation:
    """The equation for operands with their axes in this order."""
    if eqn.primitive.name != "slice":
        return eqn
    params = {key: value and tuple(value[axis] for axis in order) for key, value in eqn.params.items()}
    return replace(eqn, params=params)


class _Sinking:
    """made_by: the equations of the old program; sunk: the variables that are computed in another order."""

    def __init__(self, made_by: dict[Var, Equation], sunk: dict[Var, Order]):
        self.made_by = made_by
        self.sunk = sunk
        self.eqns: list[Equation] = []
        self.moved: dict[tuple[Var, Order], Atom] = {}

    def run(self, jaxpr: Jaxpr) -> Jaxpr:
        replaced: dict[Atom, Atom] = {}
        for eqn in jaxpr.eqns:
            (out, *_) = eqn.outvars
            order = self.sunk.get(out)
            if order is not None:
                operands = tuple(self.transposed(a, order, eqn) for a in eqn.invars)
                self.moved[out, order] = self.emit(_permuted(eqn, order), operands, out.hint)
            elif eqn.primitive.name == "transpose" and eqn.invars[0] in self.sunk:
                replaced[out] = self.moved[eqn.invars[0], eqn.params["permutation"]]
            else:
                self.eqns.append(eqn)
        return replace(
            jaxpr, eqns=tuple(self.eqns),
            outvars=tuple(a if isinstance(a, Literal) else replaced.get(a, a) for a in jaxpr.outvars),
        )  # fmt: skip

    def emit(self, eqn: Equation, operands: tuple[Atom, ...], hint: str = "") -> Var:
        (aval,) = eqn.primitive.abstract_eval(*(a.aval for a in operands), **eqn.params)
        var = Var(aval, hint)
        self.eqns.append(replace(eqn, invars=operands, outvars=(var,)))
        return var

    def transposed(self, atom: Atom, order: Order, reader: Equation) -> Atom:
        """`atom`, which `reader` reads, with its axes in this order."""
        if not isinstance(atom, Var) or not atom.aval.shape:
            return atom
        found = self.moved.get((atom, order))
        if found is None:
            found = self.moved[atom, order] = self._transposed(atom, order, reader)
        return found

    def _transposed(self, atom: Var, order: Order, reader: Equation) -> Atom:
        eqn = self.made_by.get(atom)
        if eqn is not None and eqn.primitive.name == "transpose":
            order = tuple(eqn.params["permutation"][axis] for axis in order)
            (atom,) = eqn.invars  # type: ignore[assignment]  # of an array, so no literal
            if order == tuple(range(len(order))):
                return atom
        elif eqn is not None and eqn.primitive.name == "broadcast_in_dim":
            dimensions = tuple(order.index(axis) for axis in eqn.params["broadcast_dimensions"])
            if dimensions == tuple(sorted(dimensions)):
                shape = tuple(atom.aval.shape[axis] for axis in order)
                params = {**eqn.params, "shape": shape, "broadcast_dimensions": dimensions}
                return self.emit(replace(eqn, params=params), eqn.invars)
        move = replace(reader, primitive=REGISTRY["transpose"], params={"permutation": order})
        return self.emit(move, (atom,))
