"""Compilations: from a traced program to an executable, with a record of all that happened on the way."""

from __future__ import annotations

import inspect
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen.kernel import Kernel
from ..codegen.lower import lower_cluster, lower_fast
from ..config import config
from ..frontend.outputs import Picked
from ..fusion import Plan, form_plan, step_eqns
from ..ir import Atom, Jaxpr
from ..ir.allocation import without_collection
from ..transforms.pipeline import PIPELINE, run_pipeline
from ..transforms.split_short_axes import split_short_axes
from .background import checkpoint
from .dump import dump_compilation, dump_pass
from .executable import Executable, build, plan_kernels
from .log import logger
from .native.kernels import is_compiled
from .native.threads import available_threads
from .reference import reference_plan
from .timelines import COPIES, IN_LOOPS, TimelineEntry, as_bar

if TYPE_CHECKING:
    from .cuda.executable import DeviceExecutable
    from .cuda.memory import Crossing

MAX_RUNS_KEPT = 50


@dataclass(frozen=True, slots=True)
class Source:
    """The user's code: a cell or a function. first_line: of `text` in its file."""

    label: str
    text: str
    filename: str
    first_line: int = 1

    @classmethod
    def of(cls, function: Callable[..., Any], label: str) -> Source:
        """Of a function; without a text where Python has none."""
        function = inspect.unwrap(function)
        code = getattr(function, "__code__", None)
        filename = code.co_filename if code else ""
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            return cls(label, "", filename)
        return cls(label, "".join(lines), filename, max(first, 1))


@dataclass(slots=True)
class KernelInfo:
    """How one kernel was made and how long its runs took."""

    compile_ms: float
    cached: bool
    threads: int
    runs_ms: list[float] = field(default_factory=list)


@dataclass(eq=False, slots=True, weakref_slot=True)
class Compilation:
    """One specialisation of a cell or function. stages: (name, program, ms) after tracing and after each pass."""

    source: Source
    traced: Any
    stages: list[tuple[str, Jaxpr, float]]
    plan: Plan
    executable: Executable | DeviceExecutable
    phases: list[tuple[str, float]]
    outputs: list[tuple[str, Atom]]
    status: str = "compiled"
    changed: str = ""
    reason: str = ""
    device: str = "cpu"
    fallbacks: list[Any] = field(default_factory=list)
    kernel_infos: dict[str, KernelInfo] = field(default_factory=dict)
    runs_ms: list[float] = field(default_factory=list)
    numpy_ms: list[float] = field(default_factory=list)
    timeline: list[tuple[str, str, float, float, str]] = field(default_factory=list)
    verification: Any = None
    compared: Any = None  # what tells whether a later run would be compared in vain
    limits: Any = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def kernels(self) -> dict[str, Kernel]:
        return self.executable.kernels

    @property
    def threads(self) -> int:
        return self.executable.n_threads

    @property
    def crossings(self) -> tuple[Crossing, ...]:
        """What the last run copied to the device and back."""
        return getattr(self.executable, "crossings", ())

    @property
    def compile_ms(self) -> float:
        return sum(time_ms for _, time_ms in self.phases)

    def get_llvm(self, kernel_id: str) -> str:
        return self.executable.compiled[kernel_id].llvm()

    def get_asm(self, kernel_id: str) -> str:
        return self.executable.compiled[kernel_id].asm()

    def run_timed(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        """Run once with every step timed, and keep the times. As `executable.run` otherwise."""
        entries: list[TimelineEntry] = []
        begin = time.perf_counter()
        results = self.executable.profile(entries, *arrays)
        elapsed_ms = (time.perf_counter() - begin) * 1e3
        outermost = {step.id for step in self.plan.steps}
        with self._lock:
            self.runs_ms = [*self.runs_ms[-MAX_RUNS_KEPT + 1 :], elapsed_ms]
            self.timeline = []
            for entry in entries:
                step, start, duration, count, lane, title = as_bar(entry)
                title = title or (self.kernels[step].name if step in self.kernels else step)
                lane = lane if step in outermost or step == COPIES else IN_LOOPS
                self.timeline.append((step, title, (start - begin) * 1e3, duration * 1e3, lane))
                if step in self.kernel_infos:
                    info = self.kernel_infos[step]
                    launch_ms = duration * 1e3 / count
                    info.runs_ms = [*info.runs_ms[-MAX_RUNS_KEPT + 1 :], launch_ms]
        return results


@without_collection
def compile_traced(
    traced: Any,
    layouts: Sequence[str],
    source: Source,
    *,
    output_names: Sequence[str] = (),
    trace_ms: float = 0.0,
    device: str = "cpu",
    fast: bool = False,
) -> Compilation:
    """Optimise, plan and compile a traced program for a device and inputs of these layouts ("C" or "A" each). fast:
    with the faster and less exact arithmetic of `codegen.kernel.FAST`."""
    stages: list[tuple[str, Jaxpr, float]] = [("trace", traced.jaxpr, trace_ms)]
    phases = [("trace", trace_ms)]
    last = time.perf_counter()

    def on_pass(name: str, before: Jaxpr, after: Jaxpr) -> None:
        nonlocal last
        checkpoint()
        now = time.perf_counter()
        stages.append((name, after, (now - last) * 1e3))
        phases.append((name, (now - last) * 1e3))
        dump_pass(source.label, len(stages) - 1, name, after)
        last = time.perf_counter()

    dump_pass(source.label, 0, "trace", traced.jaxpr)
    last = time.perf_counter()
    jaxpr = run_pipeline(traced.jaxpr, PIPELINE, on_pass=on_pass)
    clock = _Stopwatch(phases)
    executable: Executable | DeviceExecutable
    if device.startswith("cuda"):
        from .cuda.executable import DeviceExecutable, device_kernels
        from .cuda.kernels import is_written
        from .cuda.memory import memory_of
        from .cuda.plans import device_plan

        memory = memory_of(device)
        split = clock.time("write out short axes", lambda: split_short_axes(jaxpr))
        split_ms = phases[-1][1]
        plan, is_split = clock.time("form clusters", lambda: device_plan(jaxpr, split))
        if split is not None and is_split:
            jaxpr = split
            stages.append(("write out short axes", jaxpr, split_ms))
        kernels = clock.time("write kernels", lambda: device_kernels(plan, device))
        if fast:
            kernels.update({name: kernel.as_fast() for name, kernel in kernels.items()})
        known = {name: is_written(kernel) for name, kernel in kernels.items()}
        names = getattr(traced, "input_names", ())
        executable = clock.time("compile kernels", lambda: DeviceExecutable(plan, kernels, memory, names=names))
    else:
        form = reference_plan if device == "numpy" else form_plan
        plan = clock.time("form clusters", lambda: form(jaxpr))
        where = write_backs(traced, jaxpr)
        lower = lower_fast if fast else lower_cluster
        kernels = clock.time("write kernels", lambda: plan_kernels(plan, layouts, lower, **where))
        known = {name: is_compiled(kernel) for name, kernel in kernels.items()}
        executable = clock.time("compile kernels", lambda: build(plan, kernels, config.threads or available_threads()))
    outputs = list(zip(output_names, jaxpr.outvars, strict=False))
    compilation = Compilation(source, traced, stages, plan, executable, phases, outputs, device=device)
    for name, compiled in executable.compiled.items():
        kernel = kernels[name]
        n_threads = min(executable.n_threads, max(1, kernel.extent // kernel.grain))
        if kernel.geometry is not None:
            n_threads = math.prod((*kernel.geometry.grid, *kernel.geometry.block))
        cached = known[name] or compiled.from_disk
        compilation.kernel_infos[name] = KernelInfo(0.0 if known[name] else compiled.compile_ms, cached, n_threads)
    logger.info("%s: %d equations, %d kernels, compiled in %.0f ms", source.label, len(jaxpr.eqns), len(kernels),
                compilation.compile_ms)  # fmt: skip
    if logger.isEnabledFor(logging.INFO):
        for step in plan.all_steps:
            if step.id in kernels:
                logger.info("%s: cluster %s is %s, %d equations, %.0f ms", source.label, step.id, kernels[step.id].name,
                            len(step_eqns(step)), compilation.kernel_infos[step.id].compile_ms)  # fmt: skip
    dump_compilation(compilation)
    return compilation


def write_backs(traced: Any, jaxpr: Jaxpr) -> dict[str, Any]:
    """What the placement of results may know (see `placement.place`): which arguments the call writes into, and which
    results it does not look at, since they are an input or a view of one."""
    targets = {i: k for i, k in traced.writes if jaxpr.invars[i].aval.ndim}
    read = {k for _, k in traced.writes}
    pending = list(traced.out_leaves)
    while pending:
        leaf = pending.pop()
        read.update(k for view in leaf.views if type(view) is Picked for k in view.indices)
        if leaf.count is not None:
            read.update((leaf.count, *leaf.value.results))
        elif leaf.code is not None:
            read.add(leaf.code)
            pending += leaf.options
        elif leaf.base_outvar is not None:
            read.add(leaf.base_outvar)
        elif leaf.outvar is not None and leaf.same_as is None and leaf.base_input is None:
            read.add(leaf.outvar)
    return {"given": targets, "targets": targets, "unread": frozenset(range(len(jaxpr.outvars))) - read}


class _Stopwatch:
    def __init__(self, phases: list[tuple[str, float]]):
        self.phases = phases

    def time(self, name: str, work: Callable[[], Any]) -> Any:
        begin = time.perf_counter()
        result = work()
        self.phases.append((name, (time.perf_counter() - begin) * 1e3))
        return result
