"""Which results of a plan share memory, how much its arrays take at a time, and where each is read last."""

from __future__ import annotations

from collections.abc import Collection

from ...fusion import Cluster, Plan, ViewStep, step_inputs, step_outputs
from ...ir import Var


def shared_results(plan: Plan) -> frozenset[int]:
    """The results that are views of a program's input or constant, or of an earlier result."""
    base: dict[Var, Var] = {}
    for step in plan.steps:
        if isinstance(step, ViewStep) and isinstance(step.eqn.invars[0], Var):
            base[step.eqn.outvars[0]] = base.get(step.eqn.invars[0], step.eqn.invars[0])
    seen = {*plan.jaxpr.invars, *plan.jaxpr.constvars}
    shared = set()
    for k, atom in enumerate(plan.outvars):
        if isinstance(atom, Var):
            memory = base.get(atom, atom)
            # An input that is returned as it is was written, or is the caller's own: `Outputs.rebuild` sees to it.
            if memory in seen and (memory is not atom or memory not in plan.jaxpr.invars):
                shared.add(k)
            seen.add(memory)
    return frozenset(shared)


def peak_bytes(plan: Plan, in_step: Collection[str] = ()) -> int:
    """What the arrays of a plan take at most at one time: its inputs, its constants, and what its steps have made and
    still need. What goes on inside of loops is not counted. in_step: as for `taken_over`."""
    taken = taken_over(plan, in_step)
    steps = [[] if isinstance(step, ViewStep) else step_outputs(step) for step in plan.steps]
    made = [[v for v in outputs if v not in taken] for outputs in steps]
    gone = set(taken.values())  # their memory goes on
    live = peak = sum(v.aval.nbytes for v in (*plan.jaxpr.invars, *plan.jaxpr.constvars))
    for new, dead in zip(made, last_uses(plan), strict=True):
        live += sum(v.aval.nbytes for v in new)
        peak = max(peak, live)
        live -= sum(v.aval.nbytes for v in dead if v not in gone and any(v in outs for outs in steps))
    return peak


def taken_over(plan: Plan, in_step: Collection[str], kept: Collection[Var] = ()) -> dict[Var, Var]:
    """The results that are written over an array that nothing needs any more, and these arrays.

    in_step: the steps whose kernels may do so; kept: arrays that are needed all the same. What anything but a kernel
    was given may live on as a view of it."""
    others = {v for step in plan.steps if not isinstance(step, Cluster) for v in step_inputs(step)}
    made = {v for step in plan.steps if isinstance(step, Cluster) for v in step.outvars} - others
    taken: dict[Var, Var] = {}
    for step, dead in zip(plan.steps, last_uses(plan), strict=True):
        if not isinstance(step, Cluster) or step.id not in in_step:
            continue
        free = [v for v in step.invars if v in dead and v in made and v not in kept]
        for out in step.outvars:
            same = [v for v in free if (v.aval.shape, v.aval.dtype) == (out.aval.shape, out.aval.dtype)]
            if same and out.aval.shape == step.space.shape:
                taken[out] = same[0]
                free.remove(same[0])
    return taken


def last_uses(plan: Plan) -> list[list[Var]]:
    """After each step, the intermediates that nothing needs any more: their blocks serve the next buffers."""
    fixed = {*plan.jaxpr.invars, *plan.jaxpr.constvars, *(v for v in plan.outvars if isinstance(v, Var))}
    last: dict[Var, int] = {}
    for position, step in enumerate(plan.steps):
        for var in (*step_inputs(step), *step_outputs(step)):
            last[var] = position
    dead: list[list[Var]] = [[] for _ in plan.steps]
    for var, position in last.items():
        if var not in fixed:
            dead[position].append(var)
    return dead
