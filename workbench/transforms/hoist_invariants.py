"""Loop-invariant code motion: what every iteration would compute anew from the same operands is computed once, before
the loop.

    c = while[... body={ lambda ; b d . let e = dot_general b b; f = mul d e in (f,) }] b c
      ->
    e = dot_general b b
    c = while[... body={ lambda ; b e d . let f = mul d e in (f,) }] b e c

Aho, Lam, Sethi, Ullman, Compilers (2nd ed.), 9.5.1, without its question whether moving is safe: an equation has no
effects, and those that may raise stay (`primitives.raising`). Only what costs more than reading its result moves, and
what hangs on it; a sum that fuses into the loop's kernels stays there. Kernels that hold a whole loop of elementwise
operations keep theirs, which a register holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..ir import Atom, Equation, Jaxpr, Literal, Var
from ..primitives.lowering import Control, IndexMap, Inline, LibraryCall, Pointwise, Reduction
from ..primitives.raising import may_raise
from .rewrite import drop_result, in_inner_programs

COSTLY_FLOPS = 8.0  # an element: from here on arithmetic costs more than reading its result
MANY_OPERANDS = 3  # of a concatenation: each element asks which of them it is in


def hoist_invariants(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` whose loops, the inner ones first, compute in front of them what no iteration changes."""
    jaxpr = in_inner_programs(jaxpr, hoist_invariants)
    eqns: list[Equation] = []
    for eqn in jaxpr.eqns:
        eqns += _hoisted(eqn)
    return jaxpr if len(eqns) == len(jaxpr.eqns) else replace(jaxpr, eqns=tuple(eqns))


def _hoisted(eqn: Equation) -> list[Equation]:
    """What is computed before a loop, and the loop."""
    params = eqn.params
    if eqn.primitive.name == "while":
        key, first, n_consts, counter = "body_jaxpr", params["cond_nconsts"], params["body_nconsts"], "body_nconsts"
    elif eqn.primitive.name == "scan" and params["length"]:
        key, first, n_consts, counter = "jaxpr", 0, params["num_consts"], "num_consts"
    else:
        return [eqn]
    body: Jaxpr = params[key]
    moved, needed, stay = _invariants(body, n_consts)
    if not needed:
        return [eqn]
    outer: dict[Var, Atom] = dict(zip(body.invars[:n_consts], eqn.invars[first : first + n_consts], strict=True))
    before = []
    for each in moved:
        made = tuple(drop_result(var) if type(var) is not Var else Var(var.aval, var.hint) for var in each.outvars)
        before.append(replace(each, invars=tuple(_outside(atom, outer) for atom in each.invars), outvars=made))
        outer.update(zip(each.outvars, made, strict=True))
    body = replace(body, invars=(*body.invars[:n_consts], *needed, *body.invars[n_consts:]), eqns=tuple(stay))
    at = first + n_consts
    invars = (*eqn.invars[:at], *(outer[var] for var in needed), *eqn.invars[at:])
    return [*before, replace(eqn, invars=invars, params={**params, key: body, counter: n_consts + len(needed)})]


def _outside(atom: Atom, outer: Mapping[Var, Atom]) -> Atom:
    return atom if isinstance(atom, Literal) else outer[atom]


def _invariants(body: Jaxpr, n_consts: int) -> tuple[list[Equation], list[Var], list[Equation]]:
    """The equations to compute before the loop, those of their results that the rest of the body reads, the rest."""
    known: set[Atom] = {*body.invars[:n_consts]}
    returned = {*body.outvars}
    may_be_one_kernel = all(isinstance(eqn.primitive.lowering, Pointwise) for eqn in body.eqns)
    if may_be_one_kernel or not known:
        return [], [], []
    made: dict[Atom, Equation] = {}
    worth: dict[Atom, Equation] = {}
    for eqn in body.eqns:
        is_known = all(isinstance(atom, Literal) or atom in known for atom in eqn.invars)
        if not is_known or isinstance(eqn.primitive.lowering, Control | Inline) or may_raise(eqn):
            continue
        if returned.intersection(eqn.outvars):
            continue
        known.update(eqn.outvars)
        made.update(dict.fromkeys(eqn.outvars, eqn))
        if _is_costly(eqn) or any(atom in worth for atom in eqn.invars) and not _grows(eqn):
            worth.update({var: eqn for var in eqn.outvars if type(var) is Var})
    moved: dict[int, Equation] = {}
    pending = list(worth.values())
    while pending:  # and what they are made of
        eqn = pending.pop()
        if id(eqn) not in moved:
            moved[id(eqn)] = eqn
            pending += [made[atom] for atom in eqn.invars if atom in made]
    stay = [eqn for eqn in body.eqns if not worth.keys() & {*eqn.outvars}]
    read = {atom for eqn in stay for atom in eqn.invars}
    needed = [var for var in worth if isinstance(var, Var) and var in read]
    return [eqn for eqn in body.eqns if id(eqn) in moved], needed, stay


def _is_costly(eqn: Equation) -> bool:
    """Whether computing it takes longer than reading its result."""
    match eqn.primitive.lowering:
        case LibraryCall() | Reduction():
            return bool(eqn.invars)
        case Pointwise(flops=flops, expensive=expensive):
            return (expensive or flops >= COSTLY_FLOPS) and not _grows(eqn)
        case IndexMap():
            return eqn.primitive.name == "concatenate" and len(eqn.invars) >= MANY_OPERANDS
    return False


def _grows(eqn: Equation) -> bool:
    """Whether its result is larger than what it is made of."""
    return eqn.outvars[0].aval.size > max((atom.aval.size for atom in eqn.invars), default=0)
