"""Rotation: which array each variable of a loop's body is in, iteration after iteration.

Arrays that every iteration makes anew alternate: what nobody reads any more serves the next one. Arrays belong to
groups of variables, those that are carried from one to the other or take each other's memory, so that what surrounds a
part that is replaced can be copied once for all iterations, if it is always the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...fusion import Plan, step_outputs
from ...ir import Equation, Var
from ..memory.placement import Placement
from .stages import NotTiledError, Stage, copy_stages, is_scalar, is_within

# After so many iterations arrays have alternated, or never will.
MOST_PERIOD = 12


@dataclass(eq=False, slots=True)
class Rotation:
    """turns: for each iteration of a period the number of each variable's array; after: of the carried arrays,
    afterwards; made: the variable that each further array was made for. The first arrays are those that are carried, in
    order."""

    turns: list[dict[Var, int]] = field(default_factory=list)
    after: list[list[int]] = field(default_factory=list)
    made: dict[int, Var] = field(default_factory=dict)


class Body:
    """An iteration of a loop. carried: the carried values before it; carry, results: the arrays of these, before and
    after it; changing: the variables whose memory the loop writes to."""

    def __init__(self, plan: Plan, placement: Placement, carried: Sequence[Var]):
        self.plan, self.placement = plan, placement
        pairs = list(zip(carried, plan.outvars, strict=True))
        fixed = {var for var, out in pairs if var is out and var not in placement.overwritten}
        self.carry = [var for var in carried if not is_scalar(var)]
        self.results = [out for var, out in pairs if not is_scalar(var) and isinstance(out, Var)]
        if len(set(self.results)) != len(self.carry):
            raise NotTiledError("an iteration gives constants, or one array twice")
        self.producer = {out: eqn for eqn in plan.jaxpr.eqns for out in eqn.outvars}
        self.changing = ({*carried} - fixed) | {out for step in plan.steps for out in step_outputs(step)}

    def groups(self, stages: Sequence[Stage]) -> dict[Var, Var]:
        """One variable for all that share arrays."""
        group: dict[Var, Var] = {}

        def find(var: Var) -> Var:
            while group.setdefault(var, var) is not var:
                var = group[var]
            return var

        for stage in stages:
            for out in stage.outs:
                group[find(out)] = find(self.placement.takes.get(out, out))
        for var, out in zip(self.carry, self.results, strict=True):
            group[find(var)] = find(out)
        return {var: find(var) for var in tuple(group)}

    # ---- what is around a part that is replaced ----

    def with_copies(self, stages: Sequence[Stage]) -> tuple[list[Stage], dict[Var, tuple[Equation, Var]]]:
        """The stages, with those that copy what is around a part that is replaced; and where that is always the same,
        the result, with the equation that replaces a part and what it is a copy of, a carried value or a constant."""
        group = self.groups(stages)
        stores = {out: base for stage in stages for out, base in stage.stores.items()}
        found: list[Stage] = []
        constant: dict[Var, tuple[Equation, Var]] = {}
        for stage in stages:
            for out, base in stage.stores.items():
                if out in stage.kernel.takes:
                    continue
                eqn = self.producer[out]
                source = self._outside(base, eqn, stores)
                if self._stays(source, eqn, stores, [v for v, root in group.items() if root is group[out]]):
                    constant[out] = eqn, source
                else:
                    found += copy_stages(base, out, eqn, stage.kernel.id)
            found.append(stage)
        return found, constant

    def _stays(self, source: Var, eqn: Equation, stores: Mapping[Var, Var], group: Sequence[Var]) -> bool:
        """Whether around the part that `eqn` replaces all variables of a group are what `source` is, always."""
        if source in self.producer:
            return False
        if source in self.changing and self._carried_to(source, eqn, stores) is not source:
            return False
        follows = (
            self._carried_to(v, eqn, stores) if v in self.carry else self._outside(v, eqn, stores) for v in group
        )
        return all(var is source for var in follows)

    def _outside(self, var: Var, eqn: Equation, stores: Mapping[Var, Var]) -> Var:
        """The array from which `var` differs at most in the part that `eqn` replaces."""
        while var in stores and is_within(self.producer[var], eqn):
            var = stores[var]
        return var

    def _carried_to(self, var: Var, eqn: Equation, stores: Mapping[Var, Var]) -> Var:
        """The same of what follows the carried value `var`."""
        return self._outside(self.results[self.carry.index(var)], eqn, stores)

    # ---- which arrays ----

    def rotation(self, stages: Sequence[Stage]) -> Rotation:
        """NotTiledError where arrays do not come back to their places soon."""
        found, group = Rotation(), self.groups(stages)
        free: dict[Var, list[int]] = {}
        home = [group[var] for var in self.carry]
        carry = first = list(range(len(home)))
        while len(found.turns) < MOST_PERIOD:
            at = dict(zip(self.carry, carry, strict=True))
            for position, stage in enumerate(stages):
                for out in self._new(stage, at):
                    spare = free.setdefault(group[out], [])
                    if not spare:
                        found.made[len(home)] = out
                        spare.append(len(home))
                        home.append(group[out])
                    at[out] = spare.pop()
                later = {var for other in stages[position + 1 :] for var in other.held}
                held = {array for var, array in at.items() if var in later or var in self.results}
                held |= {array for var, array in at.items() if var not in self.changing}
                waiting = {array for arrays in free.values() for array in arrays}
                for array in sorted({*at.values()} - held - waiting):
                    free.setdefault(home[array], []).append(array)
            carry = [at[var] for var in self.results]
            found.turns.append(at)
            found.after.append(carry)
            if carry == first:
                return found
        raise NotTiledError("its arrays change places for too long")

    def _new(self, stage: Stage, at: dict[Var, int]) -> Iterator[Var]:
        """The results that need an array; the others get those whose memory they take."""
        for out in stage.outs:
            base = self.placement.takes.get(out)
            if base is not None:
                at[out] = at[base]
            elif out not in at:
                yield out
