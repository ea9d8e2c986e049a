"""The core that rewriting passes share: one walk over a program, which looks at each equation once and in order.

A rule sees an equation whose operands are rewritten already, and either leaves it or says which atoms replace its
results. Since producers come before consumers, one walk settles chains of any length in linear time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..ir import REGISTRY, Atom, DropVar, Equation, Jaxpr, Literal, Origin, Primitive, Var, subjaxprs
from ..ir.checker import same_type

Pass = Callable[[Jaxpr], Jaxpr]


class Rewriter:
    """The new program while it is being made.

    `rule(rewriter, eqn)` gives the atoms that replace the results of `eqn`, or None to keep the equation. It may
    `emit` equations, which go through the rule in their turn. What replaces an equation takes over its origin, and
    the user's name for its result where it has none.
    """

    def __init__(self, jaxpr: Jaxpr, rule: Rule):
        self.jaxpr = jaxpr
        self.rule = rule
        self.eqns: list[Equation] = []
        self._atoms: dict[Var, Atom] = {}  # what stands for a variable of the old program
        self._made_by: dict[Var, int] = {}  # result -> position of its equation
        self._absorbed: dict[int, list[Origin]] = {}
        self._hints: dict[Var, str] = {}
        self._inputs = {*jaxpr.constvars, *jaxpr.invars}
        self.ranges: dict[Atom, tuple[int, int]] = {}  # what `simplify_ranges` has found
        self._outputs = {atom for atom in jaxpr.outvars if isinstance(atom, Var)}

    def run(self) -> Jaxpr:
        for eqn in self.jaxpr.eqns:
            first_new = len(self.eqns)
            new = self._substituted(eqn)
            results = self._step(new)
            if results is not new.outvars:
                self._settle(eqn, results, first_new)
        return self._finished()

    def producer(self, atom: Atom, reader: Equation | None = None) -> Equation | None:
        """The equation that makes `atom`, if there is one; with `reader`, only if it was traced in the same scopes
        (what is computed in a scope must not move out of it)."""
        index = self._made_by.get(atom) if isinstance(atom, Var) else None
        if index is None:
            return None
        eqn = self.eqns[index]
        return eqn if reader is None or eqn.origin.scopes == reader.origin.scopes else None

    def emit(
        self,
        eqn: Equation,
        primitive: Primitive | str,
        /,
        *operands: Atom,
        merging: Equation | None = None,
        **params: Any,
    ) -> Atom:
        """The result of a new equation that stands for `eqn`, and for its producer `merging` too."""
        if isinstance(primitive, str):
            primitive = REGISTRY[primitive]
        origin = eqn.origin if merging is None else eqn.origin.merge(merging.origin)
        (aval,) = primitive.abstract_eval(*(atom.aval for atom in operands), **params)
        return self._step(Equation(primitive, operands, (Var(aval),), params, origin))[0]

    def _substituted(self, eqn: Equation) -> Equation:
        if any(isinstance(atom, Var) and atom in self._atoms for atom in eqn.invars):
            return replace(eqn, invars=tuple(self._read(atom) for atom in eqn.invars))
        return eqn

    def _read(self, atom: Atom) -> Atom:
        return self._atoms.get(atom, atom) if isinstance(atom, Var) else atom

    def _step(self, eqn: Equation) -> Sequence[Atom]:
        results = self.rule(self, eqn)
        return self._append(eqn) if results is None else results

    def _append(self, eqn: Equation) -> tuple[Var, ...]:
        for var in eqn.outvars:
            self._made_by[var] = len(self.eqns)
        self.eqns.append(eqn)
        return eqn.outvars

    def _settle(self, eqn: Equation, results: Sequence[Atom], first_new: int) -> None:
        """Let `results` stand for those of `eqn` from here on."""
        for var, atom in zip(eqn.outvars, results, strict=True):
            assert same_type(var.aval, atom.aval), f"{eqn.primitive}: {var.aval} cannot be replaced by {atom.aval}"
            index = self._made_by.get(atom) if isinstance(atom, Var) else None
            if index is not None and index < first_new:  # later ones were emitted with the origin of `eqn`
                self._absorbed.setdefault(index, []).append(eqn.origin)
            if var in self._outputs and isinstance(atom, Var):
                # NumPy gave the caller an array of its own, apart from the inputs and from the other outputs.
                if atom in self._inputs or atom in self._outputs:
                    copy = Var(atom.aval, var.hint)
                    self._append(Equation(REGISTRY["copy"], (atom,), (copy,), {}, eqn.origin))
                    atom = copy
                self._outputs.add(atom)
            if isinstance(atom, Var) and var.hint and not atom.hint and atom in self._made_by:
                self._hints.setdefault(atom, var.hint)
            self._atoms[var] = atom

    def _finished(self) -> Jaxpr:
        for index, origins in self._absorbed.items():  # all at once: one by one would be quadratic
            eqn = self.eqns[index]
            self.eqns[index] = replace(eqn, origin=eqn.origin.merge(*origins))
        outvars = tuple(self._read(atom) for atom in self.jaxpr.outvars)
        eqns = tuple(self.eqns)
        if self._hints:
            named: dict[Atom, Atom] = {var: Var(var.aval, hint) for var, hint in self._hints.items()}
            eqns = tuple(renamed(eqn, named) for eqn in eqns)
            outvars = tuple(named.get(atom, atom) if isinstance(atom, Var) else atom for atom in outvars)
        return replace(self.jaxpr, eqns=eqns, outvars=outvars)


Rule = Callable[[Rewriter, Equation], Sequence[Atom] | None]


def rewrite(jaxpr: Jaxpr, rule: Rule) -> Jaxpr:
    """`jaxpr` with `rule` applied to each equation, in order."""
    return Rewriter(jaxpr, rule).run()


def renamed(eqn: Equation, names: dict[Atom, Atom]) -> Equation:
    """`eqn` with variables replaced, in operands and results, by those that `names` gives."""
    if not any(isinstance(a, Var) and a in names for a in (*eqn.invars, *eqn.outvars)):
        return eqn
    invars = tuple(a if isinstance(a, Literal) else names.get(a, a) for a in eqn.invars)
    outvars = tuple(names.get(v, v) for v in eqn.outvars)
    return replace(eqn, invars=invars, outvars=outvars)


def in_inner_programs(jaxpr: Jaxpr, run: Pass) -> Jaxpr:
    """`jaxpr` with `run` applied to the programs that its equations hold. A program held twice is run once."""
    done: dict[Jaxpr, Jaxpr] = {}

    def inner(value: Any) -> Any:
        if isinstance(value, Jaxpr):
            if value not in done:
                done[value] = run(value)
            return done[value]
        return tuple(map(inner, value)) if isinstance(value, tuple) else value

    if not any(True for eqn in jaxpr.eqns for _ in subjaxprs(eqn)):
        return jaxpr
    eqns = (
        replace(eqn, params={key: inner(value) for key, value in eqn.params.items()}) if any(subjaxprs(eqn)) else eqn
        for eqn in jaxpr.eqns
    )
    return replace(jaxpr, eqns=tuple(eqns))


def drop_result(var: Var) -> DropVar:
    """A result of the same type that nothing reads."""
    return DropVar(var.aval)
