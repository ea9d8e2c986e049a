"""The plan: an ordered list of steps that compute a program, and the decisions that led to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..ir import Atom, Equation, Jaxpr, Var
from .access import AxisMap


@dataclass(frozen=True, eq=False, slots=True)
class Space:
    """The loops of a cluster. shape: the length of each loop axis; reduced: the axes that its reductions fold;
    align: for each variable that is computed in step with the loops, variable axis -> loop axis (None: length 1).
    A variable without an entry is computed wherever its value is needed. loops: for each reduction, operand axis ->
    loop axis."""

    shape: tuple[int, ...]
    reduced: frozenset[int]
    align: Mapping[Var, AxisMap]
    loops: Mapping[Equation, AxisMap]

    @property
    def rows(self) -> tuple[int, ...]:
        """The axes that are not reduced."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.reduced)


@dataclass(frozen=True, eq=False, slots=True)
class Cluster:
    """Equations that become one kernel. `eqns` are in program order; `invars` are read from memory, `outvars` are
    written to it, every other variable lives in registers. Index maps may appear in several clusters. stores: for each
    result that is an array with some elements replaced, that array: the kernel writes the replaced elements alone.
    stacks: results whose parts are computed in step with the loops, and written each to its own place."""

    id: str  # "K0"
    eqns: tuple[Equation, ...]
    invars: tuple[Var, ...]
    outvars: tuple[Var, ...]
    space: Space
    scope: str = ""
    stores: Mapping[Var, Var] = field(default_factory=dict)
    stacks: frozenset[Var] = frozenset()

    def producer(self, out: Var) -> Equation:
        """The equation that computes `out`."""
        return next(eqn for eqn in self.eqns if out in eqn.outvars)


@dataclass(frozen=True, eq=False, slots=True)
class LibraryStep:
    """One equation that calls a library routine (`LibraryCall`)."""

    id: str  # "L0"
    eqn: Equation


@dataclass(frozen=True, eq=False, slots=True)
class NumpyStep:
    """One equation that runs in NumPy, uncompiled, by its reference implementation, and why."""

    id: str  # "N0"
    eqn: Equation
    code: str  # WB33x
    reason: str


@dataclass(frozen=True, eq=False, slots=True)
class ViewStep:
    """An index map that NumPy answers with a view: no data moves."""

    id: str  # "V0"
    eqn: Equation


@dataclass(frozen=True, eq=False, slots=True)
class BranchStep:
    """A `cond`: one of `plans` runs, chosen by the index; each takes the operands after it."""

    id: str  # "B0"
    eqn: Equation
    plans: tuple[Plan, ...]


@dataclass(frozen=True, eq=False, slots=True)
class LoopStep:
    """A `while` or `scan`: `body` runs again and again; `condition` (of a `while`) says how often."""

    id: str  # "W0"
    eqn: Equation
    body: Plan
    condition: Plan | None = None


Step = Cluster | LibraryStep | NumpyStep | ViewStep | BranchStep | LoopStep


def sub_plans(step: Step) -> tuple[Plan, ...]:
    """The plans that a step holds."""
    match step:
        case BranchStep():
            return step.plans
        case LoopStep():
            return (step.body,) if step.condition is None else (step.condition, step.body)
    return ()


def step_eqns(step: Step) -> tuple[Equation, ...]:
    return step.eqns if isinstance(step, Cluster) else (step.eqn,)


def step_inputs(step: Step) -> tuple[Var, ...]:
    """What the step needs in memory."""
    if isinstance(step, Cluster):
        return tuple(dict.fromkeys((*step.invars, *step.stores.values())))
    return tuple(dict.fromkeys(v for v in step.eqn.invars if isinstance(v, Var)))


def step_outputs(step: Step) -> tuple[Var, ...]:
    return step.outvars if isinstance(step, Cluster) else step.eqn.outvars


@dataclass(frozen=True, slots=True)
class Decision:
    """One merge or refusal along an edge of the program: `producer`'s result `var` is read by `consumer`."""

    merged: bool
    producer: Equation
    consumer: Equation
    var: Var
    code: str  # "WB30x" merged, "WB31x" and "WB32x" refused
    reason: str
    bytes_saved: int  # traffic that the merge saved, or that the refusal costs


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """Steps in an order that respects their data flow. `outvars` may repeat, be inputs, or be literals."""

    jaxpr: Jaxpr
    steps: tuple[Step, ...]
    decisions: tuple[Decision, ...]

    @property
    def outvars(self) -> tuple[Atom, ...]:
        return self.jaxpr.outvars

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        return tuple(s for s in self.steps if isinstance(s, Cluster))

    @property
    def all_steps(self) -> tuple[Step, ...]:
        """The steps of this plan, each followed by those of the plans that it holds."""
        found: list[Step] = []
        for step in self.steps:
            found.append(step)
            for plan in sub_plans(step):
                found.extend(plan.all_steps)
        return tuple(found)
