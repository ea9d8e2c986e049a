"""Executables: a plan as one straight-line Python function over ndarrays.

Kernels, library calls and views become one statement each, with every decision (sizes, ranges, threads, when a buffer
dies) made beforehand: no Python per equation, none per array element.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..codegen.kernel import Kernel, KernelArg
from ..codegen.lower import element_counts, lower_cluster
from ..fusion import (
    BranchStep,
    Cluster,
    LibraryStep,
    LoopStep,
    NumpyStep,
    Plan,
    Step,
    ViewStep,
    step_inputs,
    step_outputs,
    sub_plans,
)
from ..ir import Atom, Aval, Equation, Literal, Var
from ..primitives.contractions import dot_general_p
from ..primitives.lowering import LibraryCall
from . import control
from .buffers import LARGE_BYTES, allocate
from .control import in_order
from .kernels import CompiledKernel, compile_kernel
from .products import matmul_on
from .threads import launch

TimelineEntry = tuple[str, float, float]  # step id, start and duration in seconds


@dataclass(eq=False, slots=True)
class Executable:
    """`run(*arrays) -> tuple` computes the plan's results. `profile(timeline, *arrays)` does the same and appends
    (step id, start, duration) for each step. Both are safe to call from several threads at once."""

    plan: Plan
    kernels: dict[str, Kernel]
    compiled: dict[str, CompiledKernel]
    finishers: dict[str, CompiledKernel]
    n_threads: int
    source: str
    run: Callable[..., tuple[np.ndarray, ...]]
    _scope: dict[str, Any] = field(repr=False)
    _profile: Callable[..., tuple[np.ndarray, ...]] | None = None

    @property
    def profile(self) -> Callable[..., tuple[np.ndarray, ...]]:
        if self._profile is None:
            self._profile = _Driver(self.plan, self.kernels, self.n_threads, self._scope, timed=True).function()[0]
        return self._profile


def plan_kernels(plan: Plan, layouts: Sequence[str], lower: Callable[..., Kernel] = lower_cluster) -> dict[str, Kernel]:
    """The kernels of a plan and of the plans that its steps hold, by step. layouts: "C" or "A" for each input; lower:
    writes the kernel of a cluster."""
    known: dict[Var, str] = dict(zip(plan.jaxpr.invars, layouts, strict=True))
    kernels: dict[str, Kernel] = {}
    counts = element_counts(plan.jaxpr)
    for step in plan.steps:
        if isinstance(step, Cluster):
            kernels[step.id] = lower(step, known, counts)
        elif isinstance(step, ViewStep):
            operand = known.get(step.eqn.invars[0], "C")  # type: ignore[arg-type]  # a view's operand is a variable
            known[step.eqn.outvars[0]] = operand if step.eqn.primitive.name == "reshape" else "A"
        elif isinstance(step, BranchStep | LoopStep):
            given = [known.get(v, "C") if isinstance(v, Var) else "C" for v in step.eqn.invars]
            for inner, operands in _operand_positions(step):
                kernels.update(plan_kernels(inner, [given[k] if k is not None else "C" for k in operands], lower))
    return kernels


def _operand_positions(step: BranchStep | LoopStep) -> list[tuple[Plan, list[int | None]]]:
    """The plans that a step holds, with the operand that each of their inputs is (None: a carried value or a row, which
    is in C order)."""
    params = step.eqn.params
    if isinstance(step, BranchStep):
        return [(plan, list(range(1, len(step.eqn.invars)))) for plan in step.plans]
    n_inputs = len(step.body.jaxpr.invars)
    if step.condition is None:
        n_consts = params["num_consts"]
        return [(step.body, [*range(n_consts), *[None] * (n_inputs - n_consts)])]
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    carry = [None] * (n_inputs - n_body)
    return [(step.condition, [*range(n_cond), *carry]), (step.body, [*range(n_cond, n_cond + n_body), *carry])]


def build(plan: Plan, kernels: dict[str, Kernel], n_threads: int) -> Executable:
    """Compile the kernels of `plan` and tie them together."""
    compiled = {name: compile_kernel(kernel) for name, kernel in kernels.items()}
    finishers = {name: compile_kernel(k.finish) for name, k in kernels.items() if k.finish is not None}
    scope: dict[str, Any] = {"np": np, "empty": np.empty, "allocate": allocate, "launch": launch}
    scope["clock"] = time.perf_counter
    for name, kernel in compiled.items():
        scope[f"{name}_run"] = kernel.entry
    for name, kernel in finishers.items():
        scope[f"{name}_finish"] = kernel.entry
    run, source = _Driver(plan, kernels, n_threads, scope, timed=False).function()
    return Executable(plan, kernels, compiled, finishers, n_threads, source, run, scope)


class _Driver:
    """Writes the driver function."""

    def __init__(
        self, plan: Plan, kernels: Mapping[str, Kernel], n_threads: int, scope: Mapping[str, Any], *, timed: bool,
        name: str = "run",
    ):  # fmt: skip
        self.plan = plan
        self.scope = scope
        self.name = name
        self.kernels = kernels
        self.n_threads = n_threads
        self.timed = timed
        self.names: dict[Var, str] = {}
        self.bound: dict[str, Any] = {}
        self.lines: list[str] = []
        self.inner: list[str] = []  # the functions of the plans that steps hold
        self.shared: set[Var] = set()  # what a branch or loop gave may be memory of its operands
        jaxpr = plan.jaxpr
        for i, var in enumerate(jaxpr.invars):
            self.names[var] = f"a{i}"
        for i, (var, value) in enumerate(zip(jaxpr.constvars, jaxpr.consts, strict=True)):
            self.names[var] = f"c{i}"
            self.bound[f"c{i}"] = value
        last_use = self._last_uses()
        for position, step in enumerate(plan.steps):
            self._write_step(step)
            dead = [self.names[v] for v in last_use.get(position, ())]
            if dead:
                self.lines.append(f"del {', '.join(dead)}")
        self._write_return()

    def _last_uses(self) -> dict[int, list[Var]]:
        """After which step each intermediate is dead, so that its block can serve the next buffer."""
        last: dict[Var, int] = {}
        for position, step in enumerate(self.plan.steps):
            for var in (*step_inputs(step), *step_outputs(step)):
                last[var] = position
        fixed = {*self.plan.jaxpr.invars, *self.plan.jaxpr.constvars}
        fixed.update(v for v in self.plan.outvars if isinstance(v, Var))
        result: dict[int, list[Var]] = {}
        for var, position in last.items():
            if var not in fixed:
                result.setdefault(position, []).append(var)
        return result

    def function(self) -> tuple[Callable[..., Any], str]:
        parameters = [f"a{i}" for i in range(len(self.plan.jaxpr.invars))]
        if self.timed:
            parameters.insert(0, "timeline")
        body = "\n".join(f"    {line}" for line in self.lines)
        source = f"def {self.name}({', '.join(parameters)}):\n{body}\n"
        scope = {**self.scope, **self.bound}
        exec(compile(source, "<workbench plan>", "exec"), scope)
        return scope[self.name], "\n".join([*self.inner, source])

    def _bind(self, prefix: str, value: Any) -> str:
        name = f"{prefix}{len(self.bound)}"
        self.bound[name] = value
        return name

    def _name(self, var: Var) -> str:
        if var not in self.names:
            self.names[var] = f"v{len(self.names)}"
        return self.names[var]

    def _operand(self, atom: Atom) -> str:
        if isinstance(atom, Literal):
            return self._bind("literal", np.asarray(atom.val, atom.aval.dtype))
        return self.names[atom]

    def _write_step(self, step: Step) -> None:
        if self.timed:
            self.lines.append("begin = clock()")
        match step:
            case Cluster():
                self._write_kernel(step.id, self.kernels[step.id])
            case LibraryStep():
                self._write_call(step.id, step.eqn)
            case NumpyStep():
                self._write_call(step.id, step.eqn)
            case ViewStep():
                self._write_call(step.id, step.eqn, contiguous=False)
                self.shared.update(step.eqn.outvars if step.eqn.invars[0] in self.shared else ())
            case BranchStep() | LoopStep():
                self._write_control(step)
        if self.timed:
            self.lines.append(f"timeline.append(({step.id!r}, begin, clock() - begin))")

    def _write_kernel(self, name: str, kernel: Kernel) -> None:
        outputs = dict.fromkeys(
            a.var for k in (kernel, kernel.finish) if k for a in k.args if a.kind == "out" and a.var
        )
        for var in outputs:
            self.lines.append(f"{self._name(var)} = {self._allocation(var.aval)}")
        scratch = [a for a in kernel.args if a.kind == "scratch"]
        for arg in scratch:
            dtype = self._bind("dtype", np.dtype(arg.dtype))
            self.lines.append(f"{arg.name}_{name} = empty({arg.shape}, {dtype})")
        self._write_launch(f"{name}_run", name, kernel)
        if kernel.finish is not None:
            self._write_launch(f"{name}_finish", name, kernel.finish)

    def _write_launch(self, run: str, name: str, kernel: Kernel) -> None:
        args = ", ".join(self._argument(a, name) for a in kernel.args)
        if kernel.extent >= 2 * kernel.grain and self.n_threads > 1:
            self.lines.append(f"launch({run}, {kernel.extent}, {kernel.grain}, {self.n_threads}, ({args},))")
        elif kernel.extent:
            self.lines.append(f"{run}(0, {kernel.extent}, {args})")

    def _argument(self, arg: KernelArg, step: str) -> str:
        if arg.kind == "size":
            return str(arg.value)
        if arg.kind == "scratch":
            return f"{arg.name}_{step}"
        assert arg.var is not None
        return self.names[arg.var]

    def _allocation(self, aval: Aval) -> str:
        dtype = self._bind("dtype", aval.dtype)
        if aval.nbytes >= LARGE_BYTES:
            return f"allocate({aval.shape}, {dtype}, {aval.nbytes})"
        return f"empty({aval.shape}, {dtype})"

    def _write_call(self, name: str, eqn: Equation, *, contiguous: bool = True) -> None:
        operands = ", ".join(map(self._operand, eqn.invars))
        lowering = eqn.primitive.lowering if eqn.primitive.has_rule("lowering") else None
        function = lowering.call if isinstance(lowering, LibraryCall) else eqn.primitive.impl
        params = dict(eqn.params)
        if eqn.primitive is dot_general_p:
            params["matmul"] = matmul_on(self.n_threads)
        call = self._bind(f"{name}_call", _with_params(function, params))
        results = [self._name(out) for out in eqn.outvars]
        targets = f"{', '.join(results)}," if eqn.primitive.multiple_results else results[0]
        self.lines.append(f"{targets} = {call}({operands})")
        if contiguous:
            # Kernels that read this were compiled for C order; nearly every routine returns it.
            settle = self._bind("in_order", in_order)
            self.lines.extend(f"{r} = {settle}({r})" for r in results)

    def _write_control(self, step: BranchStep | LoopStep) -> None:
        eqn, params = step.eqn, step.eqn.params
        runs = []
        for i, plan in enumerate(sub_plans(step)):
            driver = _Driver(plan, self.kernels, self.n_threads, self.scope, timed=False, name=f"run_{step.id}_{i}")
            run, source = driver.function()
            runs.append(run)
            self.inner.append(source)
        if isinstance(step, BranchStep):
            call = control.branch(runs)
        elif step.condition is not None:
            call = control.while_loop(*runs, params["cond_nconsts"], params["body_nconsts"])  # pyright: ignore[reportCallIssue]  # checked by the caller
        else:
            n_consts, n_carry = params["num_consts"], params["num_carry"]
            rows = [(a.shape, a.dtype) for a in params["jaxpr"].out_avals[n_carry:]]
            call = control.scan(runs[0], n_consts, n_carry, params["length"], params["reverse"], rows)
        name = self._bind(f"{step.id}_call", call)
        targets = "".join(f"{self._name(out)}, " for out in eqn.outvars)
        self.lines.append(f"{targets}= {name}({', '.join(map(self._operand, eqn.invars))})")
        self.shared.update(eqn.outvars)

    def _write_return(self) -> None:
        texts = []
        for atom in self.plan.outvars:
            if isinstance(atom, Literal):
                value = self._bind("result", np.asarray(atom.val, atom.aval.dtype))
                texts.append(f"{value}.copy()")
            elif atom in self.plan.jaxpr.constvars:
                texts.append(f"{self.names[atom]}.copy()")
            else:
                texts.append(self.names[atom])
        results = f"({''.join(t + ', ' for t in texts)})"
        if any(atom in self.shared for atom in self.plan.outvars) and self.name == "run":
            self.bound["own"] = control.own
            outside = [*self.plan.jaxpr.invars, *self.plan.jaxpr.constvars]
            results = f"own({results}, ({''.join(self.names[v] + ', ' for v in outside)}))"
        self.lines.append(f"return {results}")


def _with_params(function: Callable[..., Any], params: dict[str, Any]) -> Callable[..., Any]:
    if not params:
        return function
    return lambda *operands: function(*operands, **params)
