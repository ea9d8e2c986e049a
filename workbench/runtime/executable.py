"""Executables: a plan as one straight-line Python function over ndarrays.

Kernels, library calls and views become one statement each, with every decision (sizes, ranges, threads, when a buffer
dies) made beforehand: no Python per equation, none per array element.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ..codegen.kernel import Kernel, KernelArg
from ..codegen.lower import lower_cluster
from ..codegen.scans import scan_kernel
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
from ..primitives.loops import loop_p
from ..primitives.lowering import LibraryCall
from ..primitives.movement import empty_p
from . import control
from .chains import Chain, ChainCall, Member, find_chains, in_turn
from .control import in_order
from .log import logger
from .loops import LoopAbortedError, compile_loop
from .memory.buffers import LARGE_BYTES, allocator
from .memory.moves import copy_around
from .memory.placement import Placement, place
from .native.kernels import LARGE, Code, CompiledKernel, NotNativeError, compile_kernel, function_at
from .native.plans import NativePlan, native_plan
from .native.threads import launch, may_share, shared_function
from .products import matmul_on, one_thread, product_text
from .tiles.loop import TiledLoop
from .tiles.stages import NotTiledError
from .timelines import Totals
from .views import stays_view, view_of

# Nothing raises here but what is out of our hands (memory, Ctrl-C). Who catches it must not run the code again.
# A loop that is given up has written nothing: see `placement`.
GUARD = (
    "except LoopAbortedError:",
    "    raise",
    "except BaseException as error:",
    "    error.arguments_written = True",
    "    raise",
)


def has_written(error: BaseException) -> bool:
    """Whether arguments had been written to when `error` was raised, so that the code must not run again."""
    return getattr(error, "arguments_written", False)


@dataclass(eq=False, slots=True)
class Executable:
    """`run(*arrays) -> tuple` computes the plan's results. `profile(timeline, *arrays)` does the same and appends
    (step id, start, duration) for each step; in front of a loop or branch, for those in it, with their number of runs.
    Both are safe to call from several threads at once. native: for each loop that Python does not run from within
    another one, why it is left to Python, or "" if it runs without; chains: by the position of their first step;
    inner_chains: of what Python runs of loops and branches; together: of loops that run by tiles of time, and of their
    kernels, how many iterations at a time."""

    plan: Plan
    kernels: Placement
    compiled: dict[str, CompiledKernel]
    finishers: dict[str, CompiledKernel]
    n_threads: int
    source: str
    run: Callable[..., tuple[np.ndarray, ...]]
    native: dict[str, str]
    chains: Mapping[int, Chain]
    inner_chains: Sequence[Chain]
    together: Mapping[str, int]
    _scope: dict[str, Any] = field(repr=False)
    _profile: Callable[..., tuple[np.ndarray, ...]] | None = None

    def native_plan(self, inputs: Sequence[Any]) -> NativePlan | None:
        """What `run` does for inputs like these, if that takes no Python."""
        code = Code(self.compiled, self.finishers, self.n_threads, timed=False)
        return native_plan(self.plan, self.kernels, code, self.chains, [np.asarray(x).strides for x in inputs])

    @property
    def profile(self) -> Callable[..., tuple[np.ndarray, ...]]:
        if self._profile is None:
            code = Code(self.compiled, self.finishers, self.n_threads, timed=True)
            self._profile = _Driver(self.plan, self.kernels, code, self._scope).function()[0]
        return self._profile


def plan_kernels(
    plan: Plan, layouts: Sequence[str], lower: Callable[..., Kernel] = lower_cluster, **where: Any
) -> Placement:
    """The kernels of a plan and of the plans that its steps hold, by step, and where its results go. layouts: "C" or
    "A" for each input; lower: writes the kernel of a cluster; where: see `placement.place`."""
    return place(plan, layouts, lower, **where)


def build(plan: Plan, kernels: Placement, n_threads: int) -> Executable:
    """Compile the kernels of `plan` and tie them together."""
    compiled = {name: compile_kernel(kernel) for name, kernel in kernels.items()}
    finishers = {name: compile_kernel(k.finish) for name, k in kernels.items() if k.finish is not None}
    scope: dict[str, Any] = {"np": np, "empty": np.empty, "launch": launch, "LoopAbortedError": LoopAbortedError}
    scope["clock"] = time.perf_counter
    for name, kernel in compiled.items():
        scope[f"{name}_run"] = kernel.entry
    for name, kernel in finishers.items():
        scope[f"{name}_finish"] = kernel.entry
    chains = find_chains(plan, kernels, compiled)
    driver = _Driver(plan, kernels, Code(compiled, finishers, n_threads, timed=False), scope, chains=chains)
    run, source = driver.function()
    run = _without_python(plan, kernels, driver.code, run) or run
    return Executable(
        plan, kernels, compiled, finishers, n_threads, source, run, driver.native, chains, driver.inner_chains,
        driver.together, scope,
    )  # fmt: skip


def _without_python(plan: Plan, placement: Placement, code: Code, run: control.Run) -> control.Run | None:
    """The program as one tape, where it is more than kernels (see `native.plans`) and needs no Python. run: the same in
    Python."""
    if len(plan.steps) < 2 or all(isinstance(step, Cluster | ViewStep) for step in plan.steps):
        return None
    from .tapes import native_loops

    try:
        return native_loops.NativeProgram(plan, placement, code, run)
    except NotNativeError as error:
        logger.debug("Python runs the steps of the program: %s", error)
        return None


class _Driver:
    """Writes the driver function. chains: none where times are asked, which are those of each kernel by itself."""

    def __init__(
        self, plan: Plan, placement: Placement, code: Code, scope: Mapping[str, Any], name: str = "run",
        chains: Mapping[int, Chain] = MappingProxyType({}),
    ):  # fmt: skip
        self.plan = plan
        self.scope = scope
        self.name = name
        self.placement = placement
        self.code, self.n_threads, self.timed = code, code.n_threads, code.timed
        self.native: dict[str, str] = {}
        self.together: dict[str, int] = {}
        self.inner_chains: list[Chain] = []
        self.names: dict[Var, str] = {}
        self.bound: dict[str, Any] = {}
        self.lines: list[str] = []
        self.inner: list[str] = []  # the functions of the plans that steps hold
        jaxpr = plan.jaxpr
        for i, var in enumerate(jaxpr.invars):
            self.names[var] = f"a{i}"
        for i, (var, value) in enumerate(zip(jaxpr.constvars, jaxpr.consts, strict=True)):
            self.names[var] = f"c{i}"
            self.bound[f"c{i}"] = value
        self.left_out = _views_that_nobody_reads(plan, placement)
        last_use = self._last_uses(chains)
        self.guarded_from: int | None = None
        for positions, runs in in_turn(plan, chains):
            if positions.start == placement.first_write:
                self.guarded_from = len(self.lines)
            for run in runs:
                if isinstance(run, Chain):
                    self._write_chain(run)
                else:
                    self._write_step(run)
            dead = [self.names[v] for p in positions for v in last_use.get(p, ()) if v not in self.left_out]
            if dead:
                self.lines.append(f"del {', '.join(dead)}")
        self._write_return()

    def _last_uses(self, chains: Mapping[int, Chain]) -> dict[int, list[Var]]:
        """After which step each intermediate is dead, so that its block can serve the next buffer. Chains may read what
        their steps read views of."""
        last: dict[Var, int] = {}
        for position, step in enumerate(self.plan.steps):
            taken = [self.placement.takes[v] for v in step_outputs(step) if v in self.placement.takes]
            for var in (*step_inputs(step), *step_outputs(step), *taken):
                last[var] = position
        for member in (m for chain in chains.values() for m in chain.members):
            last.update({v: max(last.get(v, 0), member.position) for v in member.args if v is not None})
        fixed = {*self.plan.jaxpr.constvars, *(() if self.name != "run" else self.plan.jaxpr.invars)}
        unread = self.placement.unread
        fixed.update(v for k, v in enumerate(self.plan.outvars) if isinstance(v, Var) and k not in unread)
        result: dict[int, list[Var]] = {}
        for var, position in last.items():
            if var not in fixed:
                result.setdefault(position, []).append(var)
        return result

    def function(self) -> tuple[Callable[..., Any], str]:
        parameters = [f"a{i}" for i in range(len(self.plan.jaxpr.invars))]
        if self.timed:
            parameters.insert(0, "timeline")
        lines = self.lines
        if self.guarded_from is not None:
            first = self.guarded_from
            lines = [*lines[:first], "try:", *(f"    {line}" for line in lines[first:]), *GUARD]
        body = "\n".join(f"    {line}" for line in lines)
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
                self._write_kernel(step, self.placement[step.id])
            case LibraryStep() if step.eqn.primitive is loop_p:
                self._write_loop(step)
            case LibraryStep() if step.eqn.primitive is empty_p:
                (out,) = step.eqn.outvars
                self.lines.append(f"{self._name(out)} = {self._allocation(out.aval)}")
            case LibraryStep() if step.eqn.primitive is dot_general_p and self._write_product(step):
                pass
            case LibraryStep() if (scan := scan_kernel(step.eqn, step.id)) is not None:
                self._write_scan(step, scan)
            case LibraryStep():
                self._write_call(step.id, step.eqn)
            case NumpyStep():
                self._write_call(step.id, step.eqn)
            case ViewStep():
                self._write_view(step)
            case BranchStep() | LoopStep():
                self._write_control(step)
        if self.timed:
            self.lines.append(f"timeline.append(({step.id!r}, begin, clock() - begin))")

    def _write_kernel(self, step: Cluster, kernel: Kernel) -> None:
        name = step.id
        for arg in kernel.results:
            if arg.var is not None:
                self._write_result(step, arg, arg.var)
        scratch = [a for a in kernel.args if a.kind == "scratch"]
        for arg in scratch:
            dtype = self._bind("dtype", np.dtype(arg.dtype))
            self.lines.append(f"{arg.name}_{name} = empty({arg.shape}, {dtype})")
        self._write_kernel_launch(f"{name}_run", self.code.compiled[name], kernel, name)
        if kernel.finish is not None:
            self._write_kernel_launch(f"{name}_finish", self.code.finishers[name], kernel.finish, name)
        for arg in kernel.results:
            if arg.kind == "update" and arg.var is not None:
                write = self._bind("write", _in_place(step.producer(arg.var)))
                starts = [self._operand(a) for a in step.producer(arg.var).invars[2:]]
                self.lines.append(f"{write}({', '.join([self.names[arg.var], f'{arg.name}_{name}', *starts])})")
                self.lines.append(f"del {arg.name}_{name}")

    def _write_chain(self, chain: Chain) -> None:
        """Kernels that run together, as one launch over the rows."""
        for member in chain.members:
            self._write_results(chain, member)
        args, program = chain.written()
        texts = [self._bind("chain", program)]
        for arg, var, member in args[1:]:
            if var is None:
                texts.append(str(chain.n_each if arg.name == "part" else arg.value))
                continue
            text = self.names[var]
            if member is not None and member.is_sum and arg.kind == "out":
                text = f"{text}_parts"
            elif arg.layout != "C" and member is not None and member.product is not None:
                text = f"{self._bind('stored', member.product.stored)}({text})"
            elif member is not None and not isinstance(member.step, Cluster) and var not in chain.made:
                text = f"{self._bind('ordered', in_order)}({text})"  # library calls take arrays in C order
            texts.append(text)
        address, kernel_args = ChainCall.address(), [arg for arg, _, _ in args]
        run = self._bind("chain_run", function_at(address, kernel_args))
        first = len(self.lines)
        self._write_launch(run, address, kernel_args, chain.n, chain.grain, texts, chain.around)
        if chain.has_product:
            held = f"with {self._bind('one_thread', one_thread)}():"
            self.lines[first:] = [held, *(f"    {line}" for line in self.lines[first:])]
        for member in chain.members:
            if member.is_sum:
                (out,) = step_outputs(member.step)
                name, add_up = self.names[out], self._bind("add_up", np.add.reduce)
                self.lines += [f"{name} = {add_up}({name}_parts)", f"del {name}_parts"]

    def _write_results(self, chain: Chain, member: Member) -> None:
        """The results of a kernel in a chain get names, and memory unless only the chain sees them."""
        step = member.step
        for out in step_outputs(step):
            if out in chain.hidden:
                # An array without memory: its lengths are all that is asked of it.
                none = np.lib.stride_tricks.as_strided(
                    np.empty(1, out.aval.dtype), out.aval.shape, (0,) * out.aval.ndim
                )
                self.lines.append(f"{self._name(out)} = {self._bind('hidden', none)}")
            elif member.is_sum:
                aval = Aval((chain.n, *out.aval.shape), out.aval.dtype)
                self.lines.append(f"{self._name(out)}_parts = {self._allocation(aval)}")
            elif not isinstance(step, Cluster):
                self.lines.append(f"{self._name(out)} = {self._allocation(out.aval)}")
            else:
                arg = next(arg for arg in member.kernel.results if arg.var is out)
                self._write_result(step, arg, out, copied=out in member.copies)

    def _write_result(self, step: Cluster, arg: KernelArg, var: Var, *, copied: bool = False) -> None:
        """The array that a kernel writes a result to: one of its own, or the memory of another that it takes over.
        copied: what it is a copy of at first is copied elsewhere."""
        taken = self.placement.takes.get(var)
        memory = self._allocation(var.aval) if taken is None else self.names[taken]
        self.lines.append(f"{self._name(var)} = {memory}")
        if arg.kind == "update":
            self.lines.append(f"{arg.name}_{step.id} = {self._allocation(Aval(arg.shape, var.aval.dtype))}")
            return
        base = step.stores.get(var)
        if base is not None and var not in self.placement[step.id].takes and not copied:
            copy = self._bind("copy", copy_around(step.producer(var), self.n_threads))
            self.lines.append(f"{copy}({self._name(var)}, {self.names[base]})")

    def _write_kernel_launch(self, run: str, compiled: CompiledKernel, kernel: Kernel, name: str) -> None:
        texts = [self._argument(a, name) for a in kernel.args]
        self._write_launch(run, compiled.address, kernel.args, kernel.extent, kernel.grain, texts)

    def _write_launch(
        self, run: str, address: int, args: Sequence[KernelArg], extent: int, grain: int, texts: Sequence[str],
        overlap: int = 0,
    ) -> None:  # fmt: skip
        """Run a kernel over all of its range. run: the name of it as a function; address: of its machine code, if it
        has any; texts: its arguments; overlap: as for `shared_function`."""
        listed, is_shared = ", ".join(texts), may_share(extent, grain, self.n_threads)
        if is_shared and address:
            function, program = shared_function(args, address, extent, grain, self.n_threads, overlap)
            names = self._bind("shared", function), self._bind("program", program)
            self.lines.append(f"{names[0]}(0, {extent}, {names[1]}, {listed})")
        elif extent >= 2 * grain and self.n_threads > 1:
            self.lines.append(f"launch({run}, {extent}, {grain}, {self.n_threads}, ({listed},))")
        elif extent:
            self.lines.append(f"{run}(0, {extent}, {listed})")

    def _argument(self, arg: KernelArg, step: str) -> str:
        if arg.kind == "size":
            return str(arg.value)
        if arg.kind in ("scratch", "update"):
            return f"{arg.name}_{step}"
        assert arg.var is not None
        return self.names[arg.var]

    def _allocation(self, aval: Aval) -> str:
        if aval.nbytes >= LARGE_BYTES:
            return f"{self._bind('new', allocator(aval.shape, aval.dtype, aval.nbytes))}()"
        return f"empty({aval.shape}, {self._bind('dtype', aval.dtype)})"

    def _write_view(self, step: ViewStep) -> None:
        """A view where reading it costs nothing more than reading a copy, and nobody outside sees it; else a copy."""
        eqn, out = step.eqn, step.eqn.outvars[0]
        if out in self.left_out:
            return
        function = (stays_view(eqn, self.plan) and view_of(eqn.primitive.name)) or eqn.primitive.impl
        call = self._bind(f"{step.id}_call", _with_params(function, dict(eqn.params)))
        self.lines.append(f"{self._name(out)} = {call}({self._operand(eqn.invars[0])})")

    def _write_product(self, step: LibraryStep) -> bool:
        """A matrix product as one call of `matmul`; False where it takes more."""
        eqn, out = step.eqn, step.eqn.outvars[0]
        x, y = (atom.aval for atom in eqn.invars)
        if eqn.params.get("preferred_element_type") not in (None, x.dtype) or out.aval.dtype != x.dtype:
            return False
        text, work = product_text(eqn, *map(self._operand, eqn.invars))
        matmul = matmul_on(self.n_threads, work, x.dtype)
        settle = self._bind("in_order", in_order)
        self.lines.append(f"{self._name(out)} = {settle}({self._bind(f'{step.id}_call', matmul)}{text})")
        return True

    def _write_scan(self, step: LibraryStep, kernel: Kernel) -> None:
        out = step.eqn.outvars[0]
        operand = self._bind("ordered", in_order)
        self.lines.append(f"x_{step.id} = {operand}({self._operand(step.eqn.invars[0])})")
        self.lines.append(f"{self._name(out)} = {self._allocation(out.aval)}")
        compiled = compile_kernel(kernel)
        run = self._bind(f"{step.id}_run", compiled.entry)
        sizes = [str(arg.value) for arg in kernel.args if arg.kind == "size"]
        texts = [f"x_{step.id}", self._name(out), *sizes]
        self._write_launch(run, compiled.address, kernel.args, kernel.extent, kernel.grain, texts)
        self.lines.append(f"del x_{step.id}")

    def _write_call(self, name: str, eqn: Equation) -> None:
        operands = ", ".join(map(self._operand, eqn.invars))
        lowering = eqn.primitive.lowering if eqn.primitive.has_rule("lowering") else None
        function = lowering.call if isinstance(lowering, LibraryCall) else eqn.primitive.impl
        if (
            eqn.outvars[0] in self.placement.takes
            and isinstance(lowering, LibraryCall)
            and lowering.in_place is not None
        ):
            function = lowering.in_place
        params = dict(eqn.params)
        if eqn.primitive is dot_general_p:
            params["matmul"] = matmul_on(self.n_threads)
        call = self._bind(f"{name}_call", _with_params(function, params))
        results = [self._name(out) for out in eqn.outvars]
        targets = f"{', '.join(results)}," if eqn.primitive.multiple_results else results[0]
        self.lines.append(f"{targets} = {call}({operands})")
        # Kernels that read this were compiled for C order; nearly every routine returns it.
        settle = self._bind("in_order", in_order)
        self.lines.extend(f"{r} = {settle}({r})" for r in results)

    def _write_loop(self, step: LibraryStep) -> None:
        eqn = step.eqn
        program = eqn.params["program"]
        given = [k for out, k in zip(eqn.outvars, program.written, strict=False) if out in self.placement.takes]
        call = self._bind(f"{step.id}_call", compile_loop(program, frozenset(given)))
        results = "".join(f"{self._name(out)}, " for out in eqn.outvars)
        self.lines.append(f"{results}{'= ' if results else ''}{call}({', '.join(map(self._operand, eqn.invars))})")

    def _write_control(self, step: BranchStep | LoopStep) -> None:
        inner = self.placement.inner[step.id]
        if isinstance(step, LoopStep) and inner[0].repeated is not None:
            self._write_repeated(step, inner[0], inner[0].repeated)
            return
        native = self._native_loop(step) if isinstance(step, LoopStep) else None
        if native is not None:
            call = native.timed if self.timed else native
        else:
            runs = self._inner_runs(step)
            make = self._maker(step)
            call = (lambda t: make(*[partial(run, t) for run in runs])) if self.timed else make(*runs)
        name = self._bind(f"{step.id}_call", call)
        if self.timed:
            self.lines.append(f"inside = {self._bind('totals', Totals)}()")
            name = f"{name}(inside)"
        targets = "".join(f"{self._name(out)}, " for out in step.eqn.outvars)
        self.lines.append(f"{targets}{'= ' if targets else ''}{name}({', '.join(map(self._operand, step.eqn.invars))})")
        if self.timed:
            self.lines.append("timeline.extend(inside.entries())")

    def _native_loop(self, step: LoopStep) -> Any:
        """The loop without Python, where it can be. The same loop in Python is written only if it is needed."""
        from .tapes import native_loops  # here, since programs without loops do without

        made: list[control.Run] = []

        def in_python(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
            if not made:
                driver = (
                    self
                    if not self.timed
                    else _Driver(self.plan, self.placement, replace(self.code, timed=False), self.scope)
                )
                made.append(driver._maker(step)(*driver._inner_runs(step)))
            return made[0](*operands)

        try:
            loop = native_loops.NativeLoop(step, self.placement.inner[step.id], self.code, in_python)
        except NotNativeError as error:
            self.native[step.id] = str(error)
            return self._tiled_loop(step) if str(error) == LARGE else None
        self.native[step.id] = ""
        return loop

    def _tiled_loop(self, step: LoopStep) -> TiledLoop | None:
        """The loop with several iterations at a time, where they can be."""
        if step.condition is not None:
            return None
        (placement,) = self.placement.inner[step.id]

        def drive(plan: Plan) -> control.Run:
            return _Driver(plan, placement, replace(self.code, timed=False), self.scope, "run_tiled").function()[0]

        try:
            loop = TiledLoop(step, placement, self.code, drive, self._carried(step))
        except NotTiledError as error:
            logger.debug("%s: iterations run one after another: %s", step.id, error)
            return None
        self.native[step.id] = ""
        self.together.update(dict.fromkeys((step.id, *placement), loop.together))
        return loop

    def _carried(self, step: LoopStep) -> control.Carry:
        """How the loop takes and gives what it carries."""
        params, inner, given = step.eqn.params, self.placement.inner[step.id], self.placement.given[step.id]
        if step.condition is not None:
            n_body = params["body_nconsts"]
            return control.Carry(given[params["cond_nconsts"] + n_body :], _overwritten(step.body, inner[1], n_body))
        n_consts, n_carry = params["num_consts"], params["num_carry"]
        return control.Carry(given[n_consts : n_consts + n_carry], _overwritten(step.body, inner[0], n_consts))

    def _inner_runs(self, step: BranchStep | LoopStep) -> list[Callable[..., Any]]:
        """The functions of the plans that a step holds."""
        runs = []
        for i, (plan, placement) in enumerate(zip(sub_plans(step), self.placement.inner[step.id], strict=True)):
            chains = {} if self.timed else find_chains(plan, placement, self.code.compiled)
            driver = _Driver(plan, placement, self.code, self.scope, f"run_{step.id}_{i}", chains)
            run, source = driver.function()
            self.inner_chains += [*chains.values(), *driver.inner_chains]
            runs.append(run)
            self.inner.append(source)
            self.native.update(driver.native)
            self.together.update(driver.together)
        return runs

    def _maker(self, step: BranchStep | LoopStep) -> Callable[..., control.Run]:
        """What makes a call of the step out of the functions of its plans."""
        params = step.eqn.params
        if isinstance(step, BranchStep):
            return lambda *runs: control.branch(runs)
        carried = self._carried(step)
        if step.condition is not None:
            n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
            return lambda condition, body: control.while_loop(condition, body, n_cond, n_body, carried)
        n_consts, n_carry = params["num_consts"], params["num_carry"]
        rows = [(a.shape, a.dtype) for a in params["jaxpr"].out_avals[n_carry:]]
        length, reverse = params["length"], params["reverse"]
        return lambda body: control.scan(body, n_consts, n_carry, length, reverse, rows, carried)

    def _write_repeated(self, step: LoopStep, placement: Placement, cluster: Cluster) -> None:
        """A loop whose iterations are all inside of one kernel, which updates the carried values in their memory."""
        jaxpr, n_consts = step.body.jaxpr, step.eqn.params["num_consts"]
        given = self.placement.given[step.id]
        for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            self.names[var] = self._bind("constant", value)
        for k, (var, atom) in enumerate(zip(jaxpr.invars, step.eqn.invars, strict=True)):
            operand = self._operand(atom)
            if k >= n_consts:
                name = self._name(step.eqn.outvars[k - n_consts])
                value = operand if given[k] else f'np.array({operand}, order="C")'
                self.lines.append(f"{name} = {value}")
                operand = name
            self.names[var] = operand
        kernel = placement[cluster.id]
        self.names.update({out: self.names[base] for out, base in kernel.takes.items()})
        if self.timed:
            self.lines.append("begin_kernel = clock()")
        self._write_kernel_launch(f"{cluster.id}_run", self.code.compiled[cluster.id], kernel, cluster.id)
        if self.timed:
            self.lines.append(f"timeline.append(({cluster.id!r}, begin_kernel, clock() - begin_kernel))")

    def _write_return(self) -> None:
        placement, is_inner = self.placement, self.name != "run"
        texts = []
        for k, atom in enumerate(self.plan.outvars):
            if k in placement.unread:
                texts.append("None")
            elif isinstance(atom, Literal):
                value = self._bind("result", np.asarray(atom.val, atom.aval.dtype))
                texts.append(f"{value}.copy()")
            elif k in placement.written:
                texts.append(self.names[placement.written[k]])
            elif atom in self.plan.jaxpr.constvars or k in placement.copied:
                texts.append(f"{self.names[atom]}.copy()")
            elif is_inner and atom in placement.strided:
                texts.append(f"{self._bind('in_order', in_order)}({self.names[atom]})")
            else:
                texts.append(self.names[atom])
        self.lines.append(f"return ({''.join(t + ', ' for t in texts)})")


def _views_that_nobody_reads(plan: Plan, placement: Placement) -> set[Var]:
    """Results that the caller gets as views of what it has, so that no copy needs to be made of them."""
    read = {atom for k, atom in enumerate(plan.outvars) if k not in placement.unread}
    read.update(placement.takes.values())
    found = set()
    for step in reversed(plan.steps):
        if isinstance(step, ViewStep) and step.eqn.outvars[0] not in read:
            found.add(step.eqn.outvars[0])
        else:
            read.update(step_inputs(step))
    return found


def _overwritten(body: Plan, placement: Placement, n_consts: int) -> set[int]:
    """The carried values whose memory the body of a loop changes or hands on."""
    return {k for k, var in enumerate(body.jaxpr.invars[n_consts:]) if var in placement.overwritten}


def _in_place(eqn: Equation) -> Callable[..., Any]:
    """An update as a NumPy assignment to the array itself."""
    return _with_params(eqn.primitive.lowering.in_place, dict(eqn.params))


def _with_params(function: Callable[..., Any], params: dict[str, Any]) -> Callable[..., Any]:
    if not params:
        return function
    return lambda *operands: function(*operands, **params)
