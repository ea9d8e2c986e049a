"""Simplification of branches: one that only chooses numbers is a few operations, which fuse with those around them."""

from __future__ import annotations

from ..ir import Atom, Equation, Jaxpr, Literal
from .fold_constants import is_pointwise
from .rewrite import Rewriter

MOST_EQUATIONS = 4  # of all branches together, that are computed whether they are taken or not
# Operations that take a cycle or so and never raise.
_CHEAP = frozenset("add sub mul neg abs max min and or xor not eq ne lt le gt ge select_n convert_element_type".split())


def chosen_scalars(rw: Rewriter, eqn: Equation) -> tuple[Atom, ...] | None:
    """The results of a `cond` as `select_n` of numbers, if all of them are and its branches compute little.

    c: i64[] = cond[branches=({ lambda ; d:i64[]. let  in (d,) }, { lambda ; d:i64[]. let  in (0:i64[],) })] b a
      ->
    c: i64[] = select_n b a 0:i64[]
    """
    branches: tuple[Jaxpr, ...] = eqn.params["branches"]
    if any(var.aval.shape for var in eqn.outvars) or not 2 <= len(branches) <= 3:
        return None
    inner = [each for branch in branches for each in branch.eqns]
    if len(inner) > MOST_EQUATIONS or not all(map(_is_cheap, inner)) or any(branch.constvars for branch in branches):
        return None
    index, *operands = eqn.invars
    made = rw.producer(index)
    if made is not None and made.primitive.name == "convert_element_type" and made.invars[0].aval.dtype.kind == "b":
        index = made.invars[0]
    cases = [_inlined(rw, eqn, branch, operands) for branch in branches]
    results: list[Atom] = []
    for var, *atoms in zip(eqn.outvars, *cases, strict=True):
        same = all(atom is atoms[0] for atom in atoms)
        atom = atoms[0] if same else rw.emit(eqn, "select_n", index, *atoms)
        if (atom.aval.dtype, atom.aval.shape) != (var.aval.dtype, var.aval.shape):
            return None
        results.append(atom)
    return tuple(results)


def _is_cheap(eqn: Equation) -> bool:
    scalar = not any(x.aval.shape for x in (*eqn.invars, *eqn.outvars))
    return scalar and eqn.primitive.name in _CHEAP and is_pointwise(eqn)


def _inlined(rw: Rewriter, eqn: Equation, branch: Jaxpr, operands: list[Atom]) -> list[Atom]:
    made: dict[Atom, Atom] = dict(zip(branch.invars, operands, strict=True))

    def atom(inner: Atom) -> Atom:
        return inner if isinstance(inner, Literal) else made[inner]

    for each in branch.eqns:
        made[each.outvars[0]] = rw.emit(each, each.primitive, *map(atom, each.invars), **each.params)
    return [atom(out) for out in branch.outvars]
