"""Updates of the same part of an array, one after another, become the last of them.

`a[1:-1] += x; a[1:-1] *= y` writes the part, reads it and writes it again. Where nobody else looks at the array in
between, what was written is read as the value that it is, and the first write is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Atom, Equation, Jaxpr, Var
from .rewrite import Rewriter, in_inner_programs, rewrite

Region = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def merge_updates(jaxpr: Jaxpr) -> Jaxpr:
    """Leave out updates that are read and replaced as they were written.

    b: f64[9] = update_slice[start_indices=(1,)] a x    # x: f64[7]
    c: f64[7] = slice[start_indices=(1,) limit_indices=(8,)] b
    d: f64[7] = mul c y
    e: f64[9] = update_slice[start_indices=(1,)] b d
      ->
    d: f64[7] = mul x y
    e: f64[9] = update_slice[start_indices=(1,)] a d
    """
    jaxpr = in_inner_programs(jaxpr, merge_updates)
    passing = _passing_updates(jaxpr)
    if not passing:
        return jaxpr
    merged: dict[Atom, tuple[Atom, Atom]] = {}  # an array that passes -> (what it was made from, the update)

    def rule(rw: Rewriter, eqn: Equation) -> Sequence[Atom] | None:
        found = merged.get(eqn.invars[0]) if eqn.invars else None
        if eqn.primitive.name == "slice" and found is not None:
            return (found[1],)
        if eqn.primitive.name != "update_slice":
            return None
        passes = eqn.outvars[0] in passing
        base, update = eqn.invars
        if found is not None:
            base = found[0]
            results: Sequence[Atom] | None = (rw.emit(eqn, eqn.primitive, base, update, **eqn.params),)
        else:
            results = None
        if passes:
            merged[(results or eqn.outvars)[0]] = (base, update)
        return results

    return rewrite(jaxpr, rule)


def _passing_updates(jaxpr: Jaxpr) -> set[Var]:
    """The results of updates whose readers read or replace what was written, all of it and nothing else."""
    updates = {eqn.outvars[0]: eqn for eqn in jaxpr.eqns if eqn.primitive.name == "update_slice"}
    for atom in jaxpr.outvars:
        if isinstance(atom, Var):
            updates.pop(atom, None)
    replaced: set[Var] = set()
    for eqn in jaxpr.eqns:
        for position, atom in enumerate(eqn.invars):
            update = updates.get(atom) if isinstance(atom, Var) else None
            if update is None:
                continue
            same = position == 0 and eqn.origin.scopes == update.origin.scopes and _region(eqn) == _region(update)
            if not same:
                del updates[update.outvars[0]]
            elif eqn.primitive.name == "update_slice":
                replaced.add(update.outvars[0])
    return updates.keys() & replaced


def _region(eqn: Equation) -> Region | None:
    """The part that is read or replaced: starts, strides and lengths."""
    if eqn.primitive.name not in ("slice", "update_slice"):
        return None
    part = eqn.outvars[0] if eqn.primitive.name == "slice" else eqn.invars[1]
    starts = eqn.params["start_indices"]
    return starts, eqn.params.get("strides") or (1,) * len(starts), part.aval.shape
