"""The plan: an ordered list of steps that compute a program, and the decisions that led to it."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Atom, Equation, Jaxpr, Var


@dataclass(frozen=True, eq=False, slots=True)
class Cluster:
    """Equations that become one kernel. `eqns` are in program order; `invars` are read from memory, `outvars` are
    written to it, every other variable lives in registers."""

    id: str  # "K0"
    eqns: tuple[Equation, ...]
    invars: tuple[Var, ...]
    outvars: tuple[Var, ...]
    scope: str = ""


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
    code: str  # WB3xx
    reason: str


Step = Cluster | LibraryStep | NumpyStep


def step_eqns(step: Step) -> tuple[Equation, ...]:
    return step.eqns if isinstance(step, Cluster) else (step.eqn,)


@dataclass(frozen=True, slots=True)
class Decision:
    """One merge or refusal along an edge of the program: `producer`'s result `var` is read by `consumer`."""

    merged: bool
    producer: Equation
    consumer: Equation
    var: Var
    code: str  # "WB300" merged, "WB3xx" refused
    reason: str
    bytes_saved: int  # traffic that the merge saved, or that the refusal cost


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
