"""Inlining: a nested `jit` becomes part of the program that calls it, so that fusion sees one program."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..ir import Atom, DropVar, Equation, Jaxpr, Literal, Origin, Var, subjaxprs
from .rewrite import in_inner_programs


def inline_calls(jaxpr: Jaxpr) -> Jaxpr:
    """Put the equations of every called program in the place of the call, at any depth.

        c: f64[3] = pjit[name=f jaxpr={ lambda ; a:f64[3]. let b:f64[3] = exp a in (b,) }] x
          ->
        c: f64[3] = exp x

    Each call gets variables of its own. Origins grow outwards: the callee's spans, then those of the call; the scopes
    of the call, then those entered by the callee.
    """
    jaxpr = _bodies_inlined(jaxpr)
    if not any(eqn.primitive.name == "pjit" for eqn in jaxpr.eqns):
        return jaxpr
    inliner = _Inliner()
    frame = _Frame()
    for eqn in jaxpr.eqns:
        inliner.equation(eqn, frame)
    constvars, consts = (*jaxpr.constvars, *inliner.constvars), (*jaxpr.consts, *inliner.consts)
    return replace(
        jaxpr,
        eqns=tuple(inliner.eqns),
        outvars=tuple(map(frame.read, jaxpr.outvars)),
        constvars=constvars,
        consts=consts if len(consts) == len(constvars) else (),  # programs parsed from text have no values
    )


def _bodies_inlined(jaxpr: Jaxpr) -> Jaxpr:
    """The same in the bodies of branches and loops."""
    if not any(any(subjaxprs(eqn)) for eqn in jaxpr.eqns if eqn.primitive.name != "pjit"):
        return jaxpr
    bodies = replace(jaxpr, eqns=tuple(e for e in jaxpr.eqns if e.primitive.name != "pjit"))
    done = iter(in_inner_programs(bodies, inline_calls).eqns)
    return replace(jaxpr, eqns=tuple(e if e.primitive.name == "pjit" else next(done) for e in jaxpr.eqns))


def called_from(origin: Origin, call: Origin) -> Origin:
    """The origin of a callee's equation once it stands in the caller's program."""
    spans, scopes = origin.spans, origin.scopes
    if spans[len(spans) - len(call.spans) :] != call.spans:
        spans = (*spans, *call.spans)
    if scopes[: len(call.scopes)] != call.scopes:
        scopes = (*call.scopes, *scopes)
    return replace(origin, spans=spans, scopes=scopes)


@dataclass(slots=True)
class _Frame:
    """One call being inlined. atoms: what stands for the callee's variables in the flat program; names: what the
    caller calls those that are returned; calls: where it was called from, outermost first."""

    atoms: dict[Var, Atom] = field(default_factory=dict)
    names: dict[Var, str] = field(default_factory=dict)
    calls: tuple[Origin, ...] = ()

    def read(self, atom: Atom) -> Atom:
        return atom if isinstance(atom, Literal) else self.atoms.get(atom, atom)

    def bind(self, var: Var) -> Var:
        """A variable of the flat program for a result of this call."""
        if isinstance(var, DropVar):
            return DropVar(var.aval)
        new = self.atoms[var] = Var(var.aval, self.names.get(var) or var.hint)
        return new


class _Inliner:
    """The equations of the flat program while it grows."""

    def __init__(self) -> None:
        self.eqns: list[Equation] = []
        self.constvars: list[Var] = []  # of the callees, once each however often they are called
        self.consts: list[np.ndarray] = []
        self.seen: dict[Jaxpr, Jaxpr] = {}

    def equation(self, eqn: Equation, frame: _Frame) -> None:
        operands = tuple(map(frame.read, eqn.invars))
        if eqn.primitive.name == "pjit":
            results = self.call(eqn, operands, frame)
            frame.atoms.update(zip(eqn.outvars, results, strict=True))
        elif frame.calls:
            origin = eqn.origin
            for call in reversed(frame.calls):
                origin = called_from(origin, call)
            outvars = tuple(map(frame.bind, eqn.outvars))
            self.eqns.append(replace(eqn, invars=operands, outvars=outvars, origin=origin))
        else:
            self.eqns.append(replace(eqn, invars=operands))

    def call(self, eqn: Equation, operands: tuple[Atom, ...], caller: _Frame) -> list[Atom]:
        called: Jaxpr = eqn.params["jaxpr"]
        callee = self.seen.get(called)
        if callee is None:
            callee = self.seen[called] = _bodies_inlined(called)
            self.constvars += callee.constvars
            self.consts += callee.consts
        frame = _Frame(
            atoms=dict(zip(callee.invars, operands, strict=True)),
            names={
                inner: caller.names.get(outer) or outer.hint
                for inner, outer in zip(callee.outvars, eqn.outvars, strict=True)
                if isinstance(inner, Var)
            },
            calls=(*caller.calls, eqn.origin),
        )
        for inner in callee.eqns:
            self.equation(inner, frame)
        return [frame.read(atom) for atom in callee.outvars]
