"""Executables of a device: a plan as a list of launches and calls over arrays that stay there.

Inputs from the host are copied once a call, results back at the end; what one step leaves the next one finds where it
is. The host decides branches and loops, so that a condition is a crossing of its own.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...codegen.cuda.block_programs import lower_block_program
from ...codegen.cuda.element_loops import lower_element_loop
from ...codegen.cuda.lower import lower_cluster_to_device
from ...codegen.cuda.tuning import GPU, SIMULATOR, Tuning
from ...codegen.kernel import Kernel, KernelArg
from ...config import config
from ...errors import DeviceError, DeviceMemoryError
from ...fusion import (
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
from ...ir import Atom, Equation, Literal, Var
from ...primitives.lowering import LibraryCall
from ..arguments import as_array
from ..devices import device_name
from ..executable import plan_kernels
from ..log import logger
from ..timelines import TimelineEntry
from ..views import view_of
from .kernels import DeviceKernel
from .lifetimes import last_uses, peak_bytes, shared_results
from .memory import Crossing, Memory
from .results import DeviceResult

# A graph costs one launch and a copy of each input and result: from a few kernels on that is less.
LEAST_LAUNCHES = 4
MOST_LAUNCHES = 2000  # a graph of more nodes takes longer to build than its launches take
MOST_RECORDED_BYTES = 16 << 20  # of inputs and results; beyond, kernels take longer than their launches
# What runs once or twice is not worth a recording.
RUNS_BEFORE_RECORDING = 2
# While the host waits for a loop's condition, the next iteration is under way already, which is for nothing in the end:
# only where several were needed, and take little longer than the wait.
AHEAD_FROM = 4
AHEAD_S = 0.5e-3
# A routine that refused so often is not asked again.
MOST_REFUSALS = 5

Values = dict[Var, Any]
Action = Callable[[Values], None]


def device_kernels(plan: Plan, device: str) -> dict[str, Kernel]:
    """The kernels of a plan for a device. Inputs arrive in C order."""
    tuning = SIMULATOR if device == "cuda-sim" else GPU

    def lower(cluster: Cluster, layouts: Any, counts: Any) -> Kernel:
        return lower_cluster_to_device(cluster, layouts, counts, tuning)

    kernels = plan_kernels(plan, ["C"] * len(plan.jaxpr.invars), lower, in_place=False)
    _take_control(plan, kernels, tuning)
    return kernels


def _take_control(plan: Plan, kernels: dict[str, Kernel], tuning: Tuning) -> None:
    """Loops and branches that the device can decide alone become kernels, in the place of those inside them."""
    read = {atom for atom in plan.outvars if isinstance(atom, Var)}.union(*map(step_inputs, plan.steps))
    for step in plan.steps:
        if not isinstance(step, LoopStep | BranchStep):
            continue
        kernel = lower_element_loop(step, read, tuning) if isinstance(step, LoopStep) else None
        kernel = kernel or lower_block_program(step, tuning)
        for inner in sub_plans(step):
            if kernel is None:
                _take_control(inner, kernels, tuning)
            else:
                for inside in inner.all_steps:
                    kernels.pop(inside.id, None)
        if kernel is not None:
            kernels[step.id] = kernel


@dataclass(eq=False)
class DeviceExecutable:
    """`run(*arrays) -> tuple` computes the plan's results on a device; `profile(timeline, *arrays)` appends (step id,
    start, duration) for each step. Results are ndarrays unless an input was an array of the device already.

    crossings: what went to the device and back in the last run.
    """

    plan: Plan
    kernels: dict[str, Kernel]
    memory: Memory
    compiled: dict[str, DeviceKernel] = field(default_factory=dict)
    finishers: dict[str, DeviceKernel] = field(default_factory=dict)
    names: Sequence[str] = ()
    n_threads: int = 1
    crossings: tuple[Crossing, ...] = ()

    def __post_init__(self) -> None:
        try:
            self._prepare()
        except self.memory.memory_errors as error:
            raise self._out_of_memory() from error
        self.shared = shared_results(self.plan)
        self._n_runs = 0
        self._replay: Callable[..., tuple[Any, ...]] | None = None
        n_bytes = sum(v.aval.nbytes for v in (*self.plan.jaxpr.invars, *self.plan.outvars))
        n_launches = self._launches(self.plan)
        self.can_record = LEAST_LAUNCHES <= n_launches <= MOST_LAUNCHES and n_bytes <= MOST_RECORDED_BYTES

    def _prepare(self) -> None:
        with self.memory.working():
            self.compiled = {name: self.memory.compile(kernel) for name, kernel in self.kernels.items()}
            self.finishers = {
                name: self.memory.compile(kernel.finish) for name, kernel in self.kernels.items() if kernel.finish
            }
            self._program = _Program(self, self.plan)
            self.memory.finish()  # runs may be on other streams than the one that constants were copied on

    def _launches(self, plan: Plan) -> int:
        """How often a run of `plan` launches something, or 0 if a run cannot be recorded: library calls may allocate,
        constants are copied there, and what the host decides depends on values."""
        atoms = (*plan.outvars, *(a for step in plan.steps if isinstance(step, ViewStep) for a in step.eqn.invars))
        if not all(isinstance(atom, Var) for atom in atoms):
            return 0
        total = 0
        for step in plan.steps:
            if step.id in self.compiled:
                total += 1 + (step.id in self.finishers)
            elif isinstance(step, LoopStep) and step.condition is None:
                inside = self._launches(step.body)
                if not inside or not all(isinstance(atom, Var) for atom in step.eqn.invars):
                    return 0
                # A loop also copies a row of each operand that it goes through, and of each result that it stacks.
                n_rows = len(step.eqn.outvars) - step.eqn.params["num_carry"]
                total += step.eqn.params["length"] * (inside + n_rows)
            elif not isinstance(step, ViewStep):
                return 0
        return total

    def always_ends(self, plan: Plan) -> bool:
        """Whether a run of `plan` ends whatever its values are, and asks the host nothing."""
        for step in plan.steps:
            if isinstance(step, LoopStep) and (step.condition is not None or not self.always_ends(step.body)):
                return False
            if isinstance(step, LibraryStep) and step.eqn.primitive.name != "dot_general":
                return False
            if isinstance(step, BranchStep | NumpyStep):
                return False
        return True

    @property
    def source(self) -> str:
        """What is launched, a line a step."""
        return "\n".join(f"{step.id}: {', '.join(map(str, step_outputs(step)))}" for step in self.plan.steps)

    def as_input(self, value: Any, is_written: bool = False) -> Any:
        """An argument as `run` takes it: an ndarray, or an array of a GPU, without a copy. is_written: the call writes
        into it."""
        if self.memory.owns(value):
            return value
        if isinstance(value, DeviceResult):
            same_kind = value.device.startswith("cuda:") == self.memory.device.startswith("cuda:")
            return value if value.is_there and same_kind and not is_written else value.look()
        if isinstance(value, np.ndarray | np.generic) or not hasattr(value, "__cuda_array_interface__"):
            return as_array(value)
        if self.memory.lies_elsewhere(value):
            if is_written:
                raise _written_elsewhere(device_name(value), self.memory.device)
            return value
        with self.memory.working():
            own = self.memory.adopt(value)
        return value if own is None else own

    def for_targets(self, results: tuple[Any, ...], targets: Sequence[tuple[Any, int]]) -> tuple[Any, ...]:
        """Results, those that go into an ndarray brought to the host. targets: (array, number of its result)."""
        found = list(results)
        for array, k in targets:
            if isinstance(found[k], DeviceResult):
                found[k] = found[k].look()
            elif isinstance(array, np.ndarray) and not isinstance(found[k], np.ndarray):
                with self.memory.working():
                    found[k] = self.memory.get(found[k])
                self.crossings = (*self.crossings, Crossing("", "to host", array.nbytes, "result"))
        return tuple(found)

    def run(self, *arrays: Any) -> tuple[Any, ...]:
        return self._run(arrays, None)

    def profile(self, timeline: list[TimelineEntry], *arrays: Any) -> tuple[Any, ...]:
        return self._run(arrays, timeline)

    def _run(self, arrays: Sequence[Any], timeline: list[TimelineEntry] | None) -> tuple[Any, ...]:
        try:
            return self._run_there(arrays, timeline)
        except self.memory.memory_errors as error:
            # What the run had made by then must not live as long as somebody keeps the error.
            traceback.clear_frames(error.__traceback__)
            raise self._out_of_memory() from error

    def _out_of_memory(self) -> DeviceMemoryError:
        """What does not fit, and what would. Nothing was written yet: results are put back after a run."""
        needed, free = peak_bytes(self.plan), self.memory.free_bytes()
        device = self.memory.device
        return DeviceMemoryError(
            f"WB606  {device} has not enough memory for this program: its arrays take up to {_size(needed)}, and "
            f"{_size(free)} are free.\n   Check  nvidia-smi\n   Fix    free arrays on the device, take "
            f"{free / needed if needed else 0:.0%} of the data at a time, or device='cpu'\n"
            f"   DeviceMemoryError WB606: out of memory on {device}",
            fixes=("device='cpu'",),
        )

    def _run_there(self, arrays: Sequence[Any], timeline: list[TimelineEntry] | None) -> tuple[Any, ...]:
        crossed: list[Crossing] = []
        with self.memory.working():
            inputs = [self._input(i, array, crossed) for i, array in enumerate(arrays)]
            results = self._compute(inputs, crossed, timeline)
            stays = any(not isinstance(x, np.ndarray | DeviceResult) for x in arrays)
            if stays or config.lazy_results:
                # What shares memory with an argument, a constant or another result gets memory of its own.
                results = tuple(r.copy() if k in self.shared else r for k, r in enumerate(results))
            if config.lazy_results and not stays:
                results = tuple(self._later(k, result) for k, result in enumerate(results))
            elif not stays:
                results = tuple(self._fetched(k, result, crossed) for k, result in enumerate(results))
        self.crossings = tuple(crossed)
        return results

    def _input(self, i: int, array: Any, crossed: list[Crossing]) -> Any:
        """An argument on the device, in C order."""
        if self.memory.owns(array):
            return self.memory.in_order(array)
        name = self.names[i] if i < len(self.names) else ""
        if isinstance(array, DeviceResult):
            there = array.arrived(self.memory)
            if there is not None:
                if array.device != self.memory.device:
                    crossed.append(Crossing(name, "between devices", array.nbytes, "input"))
                return there
            array = array.look()
        if not isinstance(array, np.ndarray):
            if self.memory.lies_elsewhere(array):
                crossed.append(Crossing(name, "between devices", array.nbytes, "input"))
            return self.memory.in_order(self.memory.adopt(array))
        begin = time.perf_counter()
        own = self.memory.put(array)
        crossed.append(Crossing(name, "to device", array.nbytes, "input", time.perf_counter() - begin))
        return own

    def _fetched(self, k: int, result: Any, crossed: list[Crossing]) -> np.ndarray:
        atom = self.plan.outvars[k]
        begin = time.perf_counter()
        array = self.memory.get(result)
        hint = atom.hint if isinstance(atom, Var) else ""
        crossed.append(Crossing(hint, "to host", array.nbytes, "result", time.perf_counter() - begin))
        return array

    def _later(self, k: int, result: Any) -> DeviceResult:
        """A result that stays until somebody looks at it; that transfer is one of the latest run's."""

        def fetch(there: Any) -> np.ndarray:
            crossed: list[Crossing] = []
            with self.memory.working():
                array = self._fetched(k, there, crossed)
            self.crossings = (*self.crossings, *crossed)
            return array

        return DeviceResult(result, self.memory, fetch)

    def _compute(
        self, inputs: Sequence[Any], crossed: list[Crossing], timeline: list[TimelineEntry] | None
    ) -> tuple[Any, ...]:
        """Launch the steps one by one, or, from the third run on, all at once where the device can record them."""
        if timeline is None and self.can_record:
            self._n_runs += 1
            if self._replay is None and self._n_runs > RUNS_BEFORE_RECORDING:
                self._replay = self._record(inputs)
                self.can_record = self._replay is not None
            if self._replay is not None:
                return self._replay(*inputs)
        return self._program.run(inputs, crossed, timeline)

    def _record(self, inputs: Sequence[Any]) -> Callable[..., tuple[Any, ...]] | None:
        """The steps as one launch, or None: a recording that fails, or gives other results than launches one by one,
        costs nothing but itself."""
        try:
            replay = self.memory.record(lambda given: self._program.run(given, []), inputs)
            if replay is None:
                return None
            mine, alone = (map(self.memory.get, run(*inputs)) for run in (replay, self._one_by_one))
            if any(a.tobytes() != b.tobytes() for a, b in zip(mine, alone, strict=True)):
                raise RuntimeError("the recording gives other results")
        except Exception as error:  # noqa: BLE001  # whatever the driver refuses to record, launches one by one will do
            logger.info("%s: the launches were not recorded: %s", self.memory.device, error)
            self._say(f"one by one, since a CUDA graph was not to be had ({error})")
            return None
        self._say("replayed in a CUDA graph")
        return replay

    def _one_by_one(self, *inputs: Any) -> tuple[Any, ...]:
        return self._program.run(inputs, [])

    def _say(self, how: str) -> None:
        """For the report: how the kernels are launched."""
        for kernel in (*self.compiled.values(), *self.finishers.values()):
            kernel.how = how


def _written_elsewhere(there: str, here: str) -> DeviceError:
    what = f"an argument lies on {there}, and the program, which writes into it, runs on {here}"
    return DeviceError(
        f"WB607  {what}.\n   Fix    with wb.device({there!r}): ..., or pass a copy\n   DeviceError WB607: {what}",
        code="WB607",
        fixes=(f"with wb.device({there!r}):",),
    )


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:.3g} GiB" if n_bytes >= 2**30 else f"{n_bytes / 2**20:.3g} MiB"


class _Program:
    """The steps of one plan as functions over a table of values."""

    def __init__(self, executable: DeviceExecutable, plan: Plan):
        self.executable = executable
        self.memory = executable.memory
        self.plan = plan
        self.consts = {
            var: self.memory.put(np.asarray(value))
            for var, value in zip(plan.jaxpr.constvars, plan.jaxpr.consts, strict=True)
        }
        self.crossed: list[Crossing] = []
        self.actions = [(step.id, self._action(step)) for step in plan.steps]
        self.dead = last_uses(plan)

    def run(
        self, inputs: Sequence[Any], crossed: list[Crossing], timeline: list[TimelineEntry] | None = None
    ) -> tuple[Any, ...]:
        values: Values = {**self.consts, **dict(zip(self.plan.jaxpr.invars, inputs, strict=True))}
        self.crossed = crossed
        marks = []
        zero, start = time.perf_counter(), self.memory.mark() if timeline is not None else None
        for (name, action), dead in zip(self.actions, self.dead, strict=True):
            if timeline is None:
                action(values)
            else:
                begin = self.memory.mark()
                action(values)
                marks.append((name, begin, self.memory.mark()))
            for var in dead:
                values.pop(var, None)  # nobody asked for some results of a loop
        if timeline is not None:
            for name, begin, end in marks:
                timeline.append((name, zero + self.memory.between(start, begin), self.memory.between(begin, end)))
        return tuple(self._read(atom, values) for atom in self.plan.outvars)

    def _read(self, atom: Atom, values: Values) -> Any:
        if isinstance(atom, Literal):
            return self.memory.put(np.asarray(atom.val, atom.aval.dtype))
        return values[atom]

    # ---- steps ----

    def _action(self, step: Step) -> Action:
        if step.id in self.executable.kernels:
            return self._kernel(step)
        match step:
            case ViewStep(eqn=eqn):
                return self._call(eqn, view_of(eqn.primitive.name) or eqn.primitive.impl, ordered=False)
            case LibraryStep(eqn=eqn) | NumpyStep(eqn=eqn):
                lowering = eqn.primitive.lowering if eqn.primitive.has_rule("lowering") else None
                function = lowering.call if isinstance(lowering, LibraryCall) else eqn.primitive.impl
                if isinstance(step, LibraryStep):
                    own = self.memory.library(eqn, function)
                    if own is not None:
                        return self._call_or_host(eqn, own, function)
                return self._on_host(eqn, function)
            case BranchStep():
                return self._branch(step)
            case LoopStep():
                return self._loop(step)
        raise AssertionError(step)

    def _kernel(self, step: Step) -> Action:
        """A cluster, or a loop or branch that the device runs by itself. Such a one takes arrays in C order, and may
        have constants of its own."""
        kernel = self.executable.kernels[step.id]
        compiled = self.executable.compiled[step.id]
        finisher = self.executable.finishers.get(step.id)
        memory = self.memory
        finish = kernel.finish
        made = dict.fromkeys(a.var for k in (kernel, finish) if k for a in k.args if a.kind == "out" and a.var)
        scratch = [a for a in kernel.args if a.kind == "scratch"]
        launches = [(compiled, kernel.args)] + ([(finisher, finish.args)] if finisher and finish else [])
        inner = [plan.jaxpr for plan in sub_plans(step)]
        inner += [p.jaxpr for plan in sub_plans(step) for s in plan.all_steps for p in sub_plans(s)]
        consts = {var: value for jaxpr in inner for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True)}
        own = {a.var: memory.put(np.asarray(consts[a.var])) for a in kernel.args if a.var in consts}
        unordered = [v for v in step_inputs(step)] if sub_plans(step) else []

        def action(values: Values) -> None:
            for var in made:
                values[var] = memory.empty(var.aval.shape, var.aval.dtype)
            if not kernel.extent:
                return
            parts = {a.name: memory.empty(a.shape, np.dtype(a.dtype)) for a in scratch}
            given = values
            if unordered or own:
                given = values | own | {v: memory.in_order(values[v]) for v in unordered}
            for which, args in launches:
                which.launch(*(_argument(a, given, parts) for a in args))

        return action

    def _call(self, eqn: Equation, function: Callable[..., Any], *, ordered: bool = True) -> Action:
        params = dict(eqn.params)

        def action(values: Values) -> None:
            results = function(*(self._read(a, values) for a in eqn.invars), **params)
            for out, result in zip(eqn.outvars, results if eqn.primitive.multiple_results else (results,), strict=True):
                values[out] = self.memory.in_order(result) if ordered else result

        return action

    def _call_or_host(self, eqn: Equation, own: Callable[..., Any], function: Callable[..., Any]) -> Action:
        """The device's routine; where it refuses (a singular matrix, an index out of range, a size that it does not
        take), the host's, which then raises what NumPy raises, or computes what NumPy computes."""
        there, here = self._call(eqn, own), self._on_host(eqn, function)
        refusals = 0

        def action(values: Values) -> None:
            nonlocal refusals
            if refusals < MOST_REFUSALS:
                try:
                    return there(values)
                except self.memory.memory_errors:
                    raise
                except Exception as error:  # noqa: BLE001  # whatever a library objects to
                    refusals += 1
                    logger.info("%s: %s runs on the host: %s", self.memory.device, eqn.primitive, error)
            return here(values)

        return action

    def _on_host(self, eqn: Equation, function: Callable[..., Any]) -> Action:
        """A call that the device has no routine for: its operands come to the host, its results go back."""
        params, memory = dict(eqn.params), self.memory
        name = eqn.origin.op or eqn.primitive.name

        def action(values: Values) -> None:
            operands = []
            for atom in eqn.invars:
                if isinstance(atom, Literal):
                    operands.append(np.asarray(atom.val, atom.aval.dtype))
                else:
                    operands.append(memory.get(values[atom]))
                    self.crossed.append(Crossing(atom.hint, "to host", atom.aval.nbytes, name))
            results = function(*operands, **params)
            for out, result in zip(eqn.outvars, results if eqn.primitive.multiple_results else (results,), strict=True):
                values[out] = memory.put(np.asarray(result))
                self.crossed.append(Crossing(out.hint, "to device", out.aval.nbytes, name))

        return action

    # ---- branches and loops: the host decides ----

    def _decide(self, array: Any) -> Any:
        begin = time.perf_counter()
        value = self.memory.get(array)[()]
        self.crossed.append(Crossing("", "to host", array.nbytes, "condition", time.perf_counter() - begin))
        return value

    def _ask(self, array: Any) -> Callable[[], Any]:
        """Start bringing a condition to the host; gives a function that waits for it."""
        wait = self.memory.begin_get(array)

        def decide() -> Any:
            begin = time.perf_counter()
            value = wait()[()]
            self.crossed.append(Crossing("", "to host", array.nbytes, "condition", time.perf_counter() - begin))
            return value

        return decide

    def _inner(self, step: Step) -> list[Callable[..., tuple[Any, ...]]]:
        return [self._runner(_Program(self.executable, plan)) for plan in sub_plans(step)]

    def _runner(self, program: _Program) -> Callable[..., tuple[Any, ...]]:
        def run(*operands: Any) -> tuple[Any, ...]:
            return tuple(map(self.memory.in_order, program.run(operands, self.crossed)))

        return run

    def _branch(self, step: BranchStep) -> Action:
        runs, eqn = self._inner(step), step.eqn

        def action(values: Values) -> None:
            index, *operands = (self._read(a, values) for a in eqn.invars)
            values.update(zip(eqn.outvars, self._own(runs[int(self._decide(index))](*operands), operands), strict=True))

        return action

    def _loop(self, step: LoopStep) -> Action:
        eqn, params, runs = step.eqn, step.eqn.params, self._inner(step)
        if step.condition is not None:
            condition, body = runs
            n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]

            may_go_ahead = self.executable.always_ends(step.body)

            def loop(operands: Sequence[Any]) -> tuple[Any, ...]:
                first = n_cond + n_body
                cond_consts, body_consts = operands[:n_cond], operands[n_cond:first]
                carry = tuple(map(self.memory.in_order, operands[first:]))
                n_done, goes_ahead = 0, may_go_ahead
                while True:
                    begin = time.perf_counter()
                    decide, following = self._ask(condition(*cond_consts, *carry)[0]), None
                    if goes_ahead and n_done >= AHEAD_FROM:
                        try:
                            following = body(*body_consts, *carry)
                        except self.memory.memory_errors:
                            goes_ahead = False
                    if not decide():
                        return carry
                    carry = body(*body_consts, *carry) if following is None else following
                    n_done += 1
                    goes_ahead = goes_ahead and time.perf_counter() - begin < AHEAD_S

        else:
            (body,) = runs
            n_consts, n_carry, length = params["num_consts"], params["num_carry"], params["length"]
            order = range(length)[::-1] if params["reverse"] else range(length)
            rows = [(a.shape, a.dtype) for a in params["jaxpr"].out_avals[n_carry:]]

            def loop(operands: Sequence[Any]) -> tuple[Any, ...]:
                consts, first = operands[:n_consts], n_consts + n_carry
                carry = tuple(map(self.memory.in_order, operands[n_consts:first]))
                xs = tuple(map(self.memory.in_order, operands[first:]))
                stacked = [self.memory.empty((length, *shape), dtype) for shape, dtype in rows]
                for i in order:
                    results = body(*consts, *carry, *[x[i, ...] for x in xs])
                    carry = results[:n_carry]
                    for target, y in zip(stacked, results[n_carry:], strict=True):
                        target[i] = y
                return (*carry, *stacked)

        def action(values: Values) -> None:
            operands = [self._read(a, values) for a in eqn.invars]
            values.update(zip(eqn.outvars, self._own(loop(operands), operands), strict=True))

        return action

    def _own(self, results: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        """Results that are not also operands: a loop or branch may hand these through."""
        handed = {id(x) for x in (*operands, *self.consts.values())}
        owned = []
        for result in results:
            owned.append(result.copy() if id(result) in handed else result)
            handed.add(id(result))
        return owned


def _argument(arg: KernelArg, values: Values, parts: dict[str, Any]) -> Any:
    if arg.kind == "size":
        return arg.value
    if arg.kind == "scratch":
        return parts[arg.name]
    assert arg.var is not None
    return values[arg.var]
