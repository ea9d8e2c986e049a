"""Executables of a device: a plan as a list of launches and calls over arrays that stay there.

Inputs from the host are copied once a call, results back at the end; what one step leaves the next one finds where it
is. The host decides branches and loops, so that a condition is a crossing of its own.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...codegen.cuda.block_programs import lower_block_program
from ...codegen.cuda.element_loops import lower_element_loop
from ...codegen.cuda.lower import lower_cluster_to_device
from ...codegen.cuda.tuning import GPU, SIMULATOR, Tuning
from ...codegen.kernel import Kernel
from ...config import config
from ...errors import DeviceError, DeviceMemoryError
from ...fusion import (
    BranchStep,
    Cluster,
    LoopStep,
    Plan,
    step_inputs,
    step_outputs,
    sub_plans,
)
from ...ir import Var
from ..arguments import as_array
from ..devices import device_name
from ..executable import plan_kernels
from ..timelines import TimelineEntry
from .clock import Clock
from .kernels import DeviceKernel
from .lifetimes import peak_bytes, shared_results
from .memory import Crossing, Memory
from .programs import Program
from .recording import RUNS_BEFORE_RECORDING, Recording, is_recordable
from .results import DeviceResult


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
    """`run(*arrays) -> tuple` computes the plan's results on a device; `profile(timeline, *arrays)` appends a bar
    for each step and for each copy. Results are ndarrays unless an input was an array of the device already.

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

    def _prepare(self) -> None:
        with self.memory.working():
            self.compiled = {name: self.memory.compile(kernel) for name, kernel in self.kernels.items()}
            self.finishers = {
                name: self.memory.compile(kernel.finish) for name, kernel in self.kernels.items() if kernel.finish
            }
            is_whole = is_recordable(self.plan, self.compiled, self.finishers)
            self._program = Program(self, self.plan, recorded=not is_whole)
            kernels = [*self.compiled.values(), *self.finishers.values()]
            self.recording = (
                Recording(self.memory, lambda given: self._program.run(given, []), kernels, RUNS_BEFORE_RECORDING)
                if is_whole
                else None
            )
            self.memory.finish()  # runs may be on other streams than the one that constants were copied on

    @property
    def source(self) -> str:
        """What is launched, a line a step."""
        return "\n".join(f"{step.id}: {', '.join(map(str, step_outputs(step)))}" for step in self.plan.steps)

    def as_inputs(self, values: Sequence[Any], written: Collection[int]) -> tuple[list[Any], list[Any]]:
        """Arguments as `run` takes them, and what their results are written into. written: numbers of those that the
        call writes into.

        That is an array of the host itself, and not the aligned copy that may be taken of it; else an array of the
        device's own kind, over the same memory."""
        given = [self.as_input(x, i in written) for i, x in enumerate(values)]
        return given, [x if isinstance(x, np.ndarray) else g for x, g in zip(values, given, strict=True)]

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
        with self.memory.working():
            clock = Clock(self.memory)
            results = self._run(arrays, clock)
            timeline.extend(clock.timeline())
        return results

    def _run(self, arrays: Sequence[Any], clock: Clock | None) -> tuple[Any, ...]:
        try:
            return self._run_there(arrays, clock)
        except self.memory.memory_errors as error:
            # What the run had made by then must not live as long as somebody keeps the error.
            traceback.clear_frames(error.__traceback__)
            raise self._out_of_memory() from error

    def _out_of_memory(self) -> DeviceMemoryError:
        """What does not fit, and what would. Nothing was written yet: results are put back after a run."""
        needed, free = peak_bytes(self.plan, self.in_step), self.memory.free_bytes()
        device = self.memory.device
        return DeviceMemoryError(
            f"WB606  {device} has not enough memory for this program: its arrays take up to {_size(needed)}, and "
            f"{_size(free)} are free.\n   Check  nvidia-smi\n   Fix    free arrays on the device, take "
            f"{free / needed if needed else 0:.0%} of the data at a time, or device='cpu'\n"
            f"   DeviceMemoryError WB606: out of memory on {device}",
            fixes=("device='cpu'",),
        )

    def _run_there(self, arrays: Sequence[Any], clock: Clock | None) -> tuple[Any, ...]:
        crossed: list[Crossing] = []
        with self.memory.working():
            inputs = [self._input(i, array, crossed, clock) for i, array in enumerate(arrays)]
            results = self._compute(inputs, crossed, clock)
            stays = any(not isinstance(x, np.ndarray | DeviceResult) for x in arrays)
            if stays or config.lazy_results:
                # What shares memory with an argument, a constant or another result gets memory of its own.
                results = tuple(r.copy() if k in self.shared else r for k, r in enumerate(results))
            if config.lazy_results and not stays:
                results = tuple(self._later(k, result) for k, result in enumerate(results))
            elif not stays:
                results = tuple(self._fetched(k, result, crossed, clock) for k, result in enumerate(results))
        self.crossings = tuple(crossed)
        return results

    def _input(self, i: int, array: Any, crossed: list[Crossing], clock: Clock | None = None) -> Any:
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
        own = _timed(clock, "to device", name, lambda: self.memory.put(array))
        crossed.append(Crossing(name, "to device", array.nbytes, "input", time.perf_counter() - begin))
        return own

    def _fetched(self, k: int, result: Any, crossed: list[Crossing], clock: Clock | None = None) -> np.ndarray:
        atom = self.plan.outvars[k]
        hint = atom.hint if isinstance(atom, Var) else ""
        begin = time.perf_counter()
        array = _timed(clock, "to host", hint, lambda: self.memory.get(result))
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

    def _compute(self, inputs: Sequence[Any], crossed: list[Crossing], clock: Clock | None) -> tuple[Any, ...]:
        if clock is None and self.recording is not None:
            return tuple(self.recording(inputs))
        return self._program.run(inputs, crossed, clock)

    @property
    def in_step(self) -> set[str]:
        """The steps whose kernels may write over what they read."""
        return {name for name, kernel in self.kernels.items() if kernel.geometry.in_step}

    @property
    def recordings(self) -> list[Recording]:
        """What is replayed at once, or will be: the whole plan, or pieces of it and of the loops in it."""
        return [self.recording] if self.recording is not None else self._program.recordings


def _timed(clock: Clock | None, direction: str, name: str, work: Callable[[], Any]) -> Any:
    return work() if clock is None else clock.copy(direction, name, work)


def _written_elsewhere(there: str, here: str) -> DeviceError:
    what = f"an argument lies on {there}, and the program, which writes into it, runs on {here}"
    return DeviceError(
        f"WB607  {what}.\n   Fix    with wb.device({there!r}): ..., or pass a copy\n   DeviceError WB607: {what}",
        code="WB607",
        fixes=(f"with wb.device({there!r}):",),
    )


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:.3g} GiB" if n_bytes >= 2**30 else f"{n_bytes / 2**20:.3g} MiB"
