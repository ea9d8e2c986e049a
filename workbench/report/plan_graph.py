"""The cluster graph and the decisions of a plan, as rows: what flows where, and why it was or was not fused."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..codegen.kernel import Kernel
from ..fusion import (
    BranchStep,
    Cluster,
    Decision,
    LibraryStep,
    LoopStep,
    NumpyStep,
    Plan,
    Step,
    ViewStep,
    step_eqns,
    step_inputs,
    step_outputs,
)
from ..ir import Atom, Equation, Var
from ..primitives.raising import CHECKS
from .schema import DecisionRow, Graph, GraphEdge, StepNode, Value

# A long cell merges along hundreds of edges; those that saved the most are told.
MAX_MERGED = 120
MAX_REFUSED = 120
# What is true of refused values that kernels hand each other all the same: see `runtime.chains`.
TOGETHER = "calls run both together, some rows at a time, and the array is never made"


def merged_and_refused(plan: Plan, ids: Mapping[Equation, str], hidden: Collection[Var] = ()) -> list[DecisionRow]:
    """The decisions in program order; a value that several equations of one step read was refused once. hidden: values
    that never become arrays though several steps have them."""
    step_of = _steps(plan)
    chosen: dict[Any, Decision] = {}
    for decision in plan.decisions:
        key: Any = decision
        if not decision.merged:
            ends = (_id(step_of, decision.producer), _id(step_of, decision.consumer))
            key = (decision.var, decision.code, *ends)
        if key not in chosen:
            chosen[key] = decision
    shown = _largest([d for d in chosen.values() if d.merged], MAX_MERGED)
    shown |= _largest([d for d in chosen.values() if not d.merged], MAX_REFUSED)
    rows = []
    for d in (d for d in chosen.values() if id(d) in shown):
        reason, n_bytes = d.reason, d.bytes_saved
        if not d.merged and d.var in hidden:
            reason, n_bytes = f"{reason}; {TOGETHER}", 0
        rows.append(DecisionRow(d.merged, ids[d.producer], ids[d.consumer], _value(d.var), d.code, reason, n_bytes))
    return rows


def _largest(decisions: Sequence[Decision], limit: int) -> set[int]:
    return {id(d) for d in sorted(decisions, key=lambda d: -d.bytes_saved)[:limit]}


def _steps(plan: Plan) -> dict[Equation, Step]:
    found: dict[Equation, Step] = {}
    for step in plan.steps:
        for eqn in step_eqns(step):
            found.setdefault(eqn, step)
    return found


def _id(step_of: Mapping[Equation, Step], eqn: Equation) -> str:
    step = step_of.get(eqn)
    return step.id if step is not None else ""


def _value(var: Var, name: str = "") -> Value:
    return Value(name or var.hint, str(var.aval), var.aval.nbytes)


def _how_it_runs(why: str, n_together: int | None) -> str:
    """How a loop runs. why: Python runs its iterations, or "" """
    if n_together is not None:
        return f"{n_together} iterations at a time, some rows of all of them and then the next rows"
    return f"Python runs each iteration: {why}" if why else "runs natively: no Python in its iterations"


def plan_graph(
    plan: Plan,
    ids: Mapping[Equation, str],
    input_names: Mapping[Var, str],
    outputs: Sequence[tuple[str, Atom]],
    kernels: Mapping[str, Kernel],
    native: Mapping[str, str] | None = None,
    together: Mapping[str, int] = MappingProxyType({}),
) -> Graph:
    """Inputs that are read, the steps, and the results, with what flows between them. Views are no steps of their own:
    no data moves, so an edge leads through them. native: for loops, why Python runs their iterations, or ""; together:
    how many of them run at a time."""
    names = _unique_names(input_names)
    home: dict[Var, str] = {var: f"in:{name}" for var, name in names.items()}
    behind: dict[Var, Var] = {}  # a view -> what it is a view of
    for step in plan.steps:
        if isinstance(step, ViewStep) and isinstance(step.eqn.invars[0], Var):
            behind[step.eqn.outvars[0]] = step.eqn.invars[0]
        else:
            home.update((var, step.id) for var in step_outputs(step))

    def source(var: Var) -> str | None:
        while var in behind:
            var = behind[var]
        return home.get(var)

    refused = _refusals(plan)
    steps: list[StepNode] = []
    edges: list[GraphEdge] = []
    for step in plan.steps:
        if isinstance(step, ViewStep):
            continue
        reads = list(dict.fromkeys(step_inputs(step)))
        node = _step_node(step, ids, kernels)
        node.inputs = [_value(var, names.get(var, "")) for var in reads]
        if native is not None and step.id in native:
            node.reason = _how_it_runs(native[step.id], together.get(step.id))
        steps.append(node)
        for var in reads:
            origin = source(var)
            if origin is not None:
                code, reason = refused.get((origin, step.id, var)) or refused.get((origin, step.id)) or ("", "")
                edges.append(GraphEdge(origin, step.id, _value(var, names.get(var, "")), code, reason))
    results = _result_nodes(outputs)
    for node, (name, atom) in zip(results, outputs, strict=True):
        origin = source(atom) if isinstance(atom, Var) else None
        if origin is not None:
            edges.append(GraphEdge(origin, node.id, _value(atom, name)))  # type: ignore[arg-type]  # a Var has a source
    read = {edge.source for edge in edges}
    inputs = [
        StepNode(home[var], "input", name, outputs=[_value(var, name)])
        for var, name in names.items()
        if home[var] in read
    ]
    return Graph([*inputs, *steps, *results], edges)


def _step_node(step: Step, ids: Mapping[Equation, str], kernels: Mapping[str, Kernel]) -> StepNode:
    equations = [ids[eqn] for eqn in step_eqns(step)]
    outputs = [_value(var) for var in step_outputs(step)]
    match step:
        case Cluster():
            title = readable_name(kernels[step.id].name) if step.id in kernels else _operations(step_eqns(step))
            return StepNode(step.id, "kernel", title, equations, [], outputs, scope=step.scope)
        case LibraryStep() if "program" in step.eqn.params:
            reason = f"WB340: compiled whole, {step.eqn.params['program'].reason}"
            return StepNode(
                step.id, "loop", _title(step.eqn), equations, [], outputs, scope=_scope(step.eqn), reason=reason
            )
        case LibraryStep() if step.eqn.primitive.name in CHECKS:
            line = step.eqn.params.get("line")
            title = f"check of {_title(step.eqn) if line is None else f'line {line}'}"
            reason = "where it fails, NumPy runs the call again, and raises"
            return StepNode(step.id, "check", title, equations, [], outputs, scope=_scope(step.eqn), reason=reason)
        case LibraryStep():
            return StepNode(step.id, "library", _title(step.eqn), equations, [], outputs, scope=_scope(step.eqn))
        case NumpyStep():
            reason = f"{step.code}: {step.reason}"
            return StepNode(
                step.id, "numpy", _title(step.eqn), equations, [], outputs, scope=_scope(step.eqn), reason=reason
            )
        case BranchStep() | LoopStep() if step.id in kernels:
            title, reason = readable_name(kernels[step.id].name), "the device runs it by itself, in one kernel"
            return StepNode(step.id, "kernel", title, equations, [], outputs, scope=_scope(step.eqn), reason=reason)
        case BranchStep() | LoopStep():
            kind = "branch" if isinstance(step, BranchStep) else "loop"
            return StepNode(step.id, kind, _title(step.eqn), equations, [], outputs, scope=_scope(step.eqn))
    raise TypeError(f"no node for a {type(step).__name__}")


def readable_name(kernel_name: str) -> str:
    """A kernel's name without the hash at its end."""
    return re.sub(r"_[0-9a-f]{4,}$", "", kernel_name)


def _operations(eqns: Sequence[Equation]) -> str:
    return "_".join(list(dict.fromkeys(eqn.primitive.name for eqn in eqns))[:4])


def _title(eqn: Equation) -> str:
    return eqn.origin.op or str(eqn.params.get("name") or eqn.primitive.name)


def _scope(eqn: Equation) -> str:
    return eqn.origin.scopes[-1].name if eqn.origin.scopes else ""


def _refusals(plan: Plan) -> dict[Any, tuple[str, str]]:
    """Code and reason for (producing step, consuming step, variable), and for the two steps alone: the reason that
    costs the most."""
    step_of = _steps(plan)
    found: dict[Any, tuple[str, str]] = {}
    for d in sorted((d for d in plan.decisions if not d.merged), key=lambda d: -d.bytes_saved):
        ends = (_id(step_of, d.producer), _id(step_of, d.consumer))
        if ends[0] != ends[1]:
            found.setdefault((*ends, d.var), (d.code, d.reason))
            found.setdefault(ends, (d.code, d.reason))
    return found


def _result_nodes(outputs: Sequence[tuple[str, Atom]]) -> list[StepNode]:
    named = {i: name or ("result" if len(outputs) == 1 else f"result {i + 1}") for i, (name, _) in enumerate(outputs)}
    unique = _unique_names(named)
    return [
        StepNode(f"out:{unique[i]}", "output", unique[i], inputs=[Value(unique[i], str(atom.aval), atom.aval.nbytes)])
        for i, (_, atom) in enumerate(outputs)
    ]


def _unique_names(names: Mapping[Any, str]) -> dict[Any, str]:
    taken: set[str] = set()
    unique: dict[Any, str] = {}
    for key, name in names.items():
        fresh, n = name, 1
        while fresh in taken:
            n += 1
            fresh = f"{name} ({n})"
        taken.add(fresh)
        unique[key] = fresh
    return unique
