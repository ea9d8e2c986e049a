"""Bytes that a plan moves through memory, against one NumPy call an operation: exact counts of reads and writes.

A view (a slice, a transpose, a reshape, a broadcast) moves nothing by itself; who reads it, reads its elements, of a
broadcast only the distinct ones. Nor does the conversion of an operand: NumPy converts it in its cache, block by block.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..codegen.kernel import Kernel
from ..fusion import Cluster, LoopStep, Plan, ViewStep, step_inputs, step_outputs
from ..ir import Equation, Jaxpr, Var

VIEWS = frozenset({"broadcast_in_dim", "reshape", "transpose", "squeeze", "slice", "rev"})


def moves_nothing(eqn: Equation) -> bool:
    """Whether NumPy does this without writing an array."""
    return eqn.primitive.name in VIEWS or (
        eqn.primitive.name == "convert_element_type" and eqn.origin.op not in ("astype", "array", "asarray", "copy")
    )


class Footprints:
    """How many bytes reading a variable touches."""

    def __init__(self, jaxpr: Jaxpr):
        self.made_by = {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars}
        self._known: dict[Var, int] = {}

    def __call__(self, var: Var) -> int:
        found = self._known.get(var)
        if found is None:
            eqn = self.made_by.get(var)
            found = var.aval.nbytes
            if eqn is not None and moves_nothing(eqn):
                source = eqn.invars[0]
                found = min(found, self(source) if isinstance(source, Var) else source.aval.nbytes)
            self._known[var] = found
        return found


def numpy_bytes(jaxpr: Jaxpr) -> int:
    """Bytes that the program as it was traced moves, one operation at a time."""
    footprint = Footprints(jaxpr)
    total = 0
    for eqn in jaxpr.eqns:
        inner = eqn.params.get("jaxpr")
        if isinstance(inner, Jaxpr):
            total += numpy_bytes(inner) * eqn.params.get("length", 1)
        elif not moves_nothing(eqn):
            total += _bytes_of(eqn, footprint)
    return total


def _bytes_of(eqn: Equation, footprint: Footprints) -> int:
    operands = dict.fromkeys(atom for atom in eqn.invars if isinstance(atom, Var))
    if eqn.primitive.name in ("update_slice", "dynamic_update_slice"):  # NumPy writes the region alone
        update = eqn.invars[1]
        return update.aval.nbytes + (footprint(update) if isinstance(update, Var) else 0)
    return sum(map(footprint, operands)) + sum(var.aval.nbytes for var in eqn.outvars)


def plan_bytes(plan: Plan, kernels: Mapping[str, Kernel]) -> int:
    """Bytes that the plan moves."""
    footprint = Footprints(plan.jaxpr)
    total = 0
    for step in plan.steps:
        if isinstance(step, Cluster):
            total += kernels[step.id].bytes_moved
        elif isinstance(step, LoopStep) and step.condition is None:
            inner = getattr(kernels, "inner", {}).get(step.id)
            holds_all = bool(inner) and inner[0].repeated is not None  # the kernel has all iterations in it
            total += plan_bytes(step.body, inner[0] if inner else kernels) * (
                1 if holds_all else step.eqn.params["length"]
            )
        elif not isinstance(step, ViewStep):
            total += sum(map(footprint, step_inputs(step))) + sum(var.aval.nbytes for var in step_outputs(step))
    return total


def bytes_saved(traced: Jaxpr, plan: Plan, kernels: Mapping[str, Kernel]) -> int:
    """What fusion kept out of memory; never less than nothing."""
    return max(0, numpy_bytes(traced) - plan_bytes(plan, kernels))
