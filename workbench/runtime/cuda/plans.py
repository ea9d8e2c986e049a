"""The plan of a program for a device: of two ways to write it, the one that moves fewer bytes."""

from __future__ import annotations

from ...fusion import LoopStep, Plan, form_plan, step_inputs, step_outputs
from ...fusion.cost import MAX_DEVICE_KERNEL_EQNS
from ...ir import Jaxpr

# Written out, a program has more equations to compile: that must save half of what it moves.
LEAST_SAVING = 2


def device_plan(jaxpr: Jaxpr, split: Jaxpr | None) -> tuple[Plan, bool]:
    """The plan of `jaxpr`, or of the same program with its short axes written out, and whether it is that one's."""
    plan = form_plan(jaxpr, in_place=False, most_eqns=MAX_DEVICE_KERNEL_EQNS)
    if split is None:
        return plan, False
    other = form_plan(split, in_place=False, most_eqns=MAX_DEVICE_KERNEL_EQNS)
    pays = LEAST_SAVING * moved_bytes(other) <= moved_bytes(plan)
    return (other, True) if pays else (plan, False)


def moved_bytes(plan: Plan) -> int:
    """What a plan's kernels and library calls read and write, those of loops not counted."""
    steps = [step for step in plan.steps if not isinstance(step, LoopStep)]
    return sum(v.aval.nbytes for step in steps for v in {*step_inputs(step), *step_outputs(step)})
