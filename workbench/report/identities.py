"""Equations that keep their ids from stage to stage, so that a reader can follow one through the passes.

A pass returns a new program. An equation that it left alone is the same object; one whose operands it exchanged still
binds the same variables; one that it put in the place of others has taken over their origin. In that order an id is
inherited; what inherits none is new.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import DropVar, Equation, Span, Var

Place = tuple[Span | None, str]


class Identities:
    """Gives ids to the equations of one program after another."""

    def __init__(self) -> None:
        self.n_made = 0
        self.ids: dict[Equation, str] = {}  # of every stage that was seen
        self.last: tuple[Equation, ...] = ()

    def stage(self, eqns: Sequence[Equation]) -> tuple[dict[Equation, str], int, int]:
        """The ids of the equations of the next stage, and how many ids came and went with its pass."""
        before = {self.ids[eqn]: eqn for eqn in self.last}
        known: dict[Equation, str] = {}
        free = dict(before)

        def claim(eqn: Equation, name: str | None) -> bool:
            if name is None or name not in free:
                return False
            known[eqn] = name
            del free[name]
            return True

        by_var = {var: name for name, eqn in before.items() for var in _bound(eqn)}
        for eqn in eqns:
            if eqn in self.ids:
                claim(eqn, self.ids[eqn])
        for eqn in eqns:
            if eqn not in known:
                next((True for var in _bound(eqn) if claim(eqn, by_var.get(var))), False)
        by_place: dict[Place, list[str]] = {}
        for name, eqn in free.items():
            by_place.setdefault(_place(eqn), []).append(name)
        # Those that compute the same as before have the first choice among the equations of one operation.
        for same_primitive in (True, False):
            for eqn in eqns:
                if eqn not in known and eqn.origin.span is not None:
                    candidates = by_place.get(_place(eqn), ())
                    next((True for name in candidates if (not same_primitive or before[name].primitive is eqn.primitive)
                          and claim(eqn, name)), False)  # fmt: skip
        n_added = 0
        for eqn in eqns:
            if eqn not in known:
                known[eqn] = f"e{self.n_made}"
                self.n_made += 1
                n_added += 1
        self.ids.update(known)
        self.last = tuple(eqns)
        return known, n_added, len(free)


def _bound(eqn: Equation) -> tuple[Var, ...]:
    return tuple(var for var in eqn.outvars if not isinstance(var, DropVar))


def _place(eqn: Equation) -> Place:
    return eqn.origin.span, eqn.origin.op
