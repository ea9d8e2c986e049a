"""The kernels of a compilation as rows: what each reads and writes, how long it took, how near the machine's limits.

The roofline is the classic one (Williams, Waterman and Patterson, 2009): a kernel can be no faster than its bytes at
copy bandwidth, or its flops at peak, whichever takes longer.
"""

from __future__ import annotations

import hashlib
import statistics
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..codegen.kernel import Kernel
from ..fusion import BranchStep, Cluster, LoopStep, Plan, Step, step_eqns, step_inputs, step_outputs, sub_plans
from ..ir import Equation
from .schema import KernelRow, Machine, Text, Value

# A kernel whose roof is below this is done before its launch has paid: no limit of the machine explains its time.
OVERHEAD_MS = 0.01
TEXT_BUDGET = 24_000  # characters of LLVM and assembly, over all kernels of a report
MAX_HEAD, MIN_HEAD = 4_000, 400
MAX_KEPT_HEADS = 512

_heads: dict[tuple[Any, ...], Text] = {}
_lock = threading.Lock()


def kernel_rows(
    compilation: Any, ids: Mapping[Equation, str], machine: Machine, step_ms: Mapping[str, float]
) -> list[KernelRow]:
    """One row a kernel, in the order of the plan; those inside of a loop or branch compute its equation."""
    ids = {**_ids_inside(compilation.plan, ids), **ids}
    clusters = [s for s in compilation.plan.all_steps if s.id in compilation.kernels]
    outermost = {step.id for step in compilation.plan.steps}
    total_ms = sum(time_ms for step, time_ms in step_ms.items() if step in outermost)
    head = max(MIN_HEAD, min(MAX_HEAD, TEXT_BUDGET // (2 * len(clusters) or 1)))
    rows = []
    for cluster in clusters:
        kernel: Kernel = compilation.kernels[cluster.id]
        info = compilation.kernel_infos.get(cluster.id)
        machine_code = compilation.executable.compiled[cluster.id].text_key
        row = KernelRow(
            id=cluster.id,
            name=kernel.name,
            target=f"{kernel.target}, fast" if kernel.fast else kernel.target,
            source=kernel.source,
            line_equations=_line_equations(kernel, cluster, ids),
            inputs=[Value(v.hint, str(v.aval), v.aval.nbytes) for v in step_inputs(cluster)],
            outputs=[Value(v.hint, str(v.aval), v.aval.nbytes) for v in step_outputs(cluster)],
            n_elements=kernel.n_elements,
            flops=float(kernel.flops),
            bytes_moved=int(kernel.bytes_moved),
            threads=info.threads if info is not None else 1,
            compile_ms=info.compile_ms if info is not None else 0.0,
            cached=info.cached if info is not None else False,
            launch=compilation.executable.compiled[cluster.id].launch_text or _company(compilation, cluster.id),
            llvm=_text(machine_code, "llvm", partial(compilation.get_llvm, cluster.id), head),
            asm=_text(machine_code, "asm", partial(compilation.get_asm, cluster.id), head),
        )
        add_times(row, info.runs_ms if info is not None else (), machine)
        if cluster.id in step_ms and total_ms > 0:
            row.share = step_ms[cluster.id] / total_ms
        rows.append(row)
    return rows


def _ids_inside(plan: Plan, ids: Mapping[Equation, str]) -> dict[Equation, str]:
    return {
        eqn: ids[step.eqn]
        for step in plan.steps
        if isinstance(step, BranchStep | LoopStep)
        for inner in sub_plans(step)
        for each in inner.all_steps
        for eqn in step_eqns(each)
    }


def _company(compilation: Any, kernel: str) -> str:
    """Which kernels one runs together with, in calls whose steps are not timed."""
    executable = compilation.executable
    n_together = getattr(executable, "together", {}).get(kernel)
    if n_together is not None:
        return f"some rows at a time of {n_together} iterations of its loop, which follow each other through the cache"
    every = (*getattr(executable, "chains", {}).values(), *getattr(executable, "inner_chains", ()))
    chains = [[m.step.id for m in chain.members] for chain in every]
    others = [each for chain in chains if kernel in chain for each in chain if each != kernel]
    if not others:
        return ""
    return f"timed by itself here; calls of a function run it together with {', '.join(others)}, some rows at a time"


def add_times(row: KernelRow, runs_ms: Sequence[float], machine: Machine) -> None:
    """Set what follows from the measured runs of a kernel."""
    row.runs_ms = list(runs_ms)
    roof_ms, row.bound = roof(row.bytes_moved, row.flops, machine)
    if not row.runs_ms:
        return
    row.median_ms = statistics.median(row.runs_ms)
    if len(row.runs_ms) >= 4:
        low, _, high = statistics.quantiles(row.runs_ms, n=4, method="inclusive")
        row.iqr_ms = high - low
    if roof_ms is not None and row.median_ms > 0:
        row.roof_share = roof_ms / row.median_ms


def roof(bytes_moved: float, flops: float, machine: Machine) -> tuple[float | None, str]:
    """The least time that the machine's limits allow, in ms, and which limit it is."""
    if machine.copy_gb_per_s is None or machine.peak_gflops is None:
        return None, ""
    bandwidth, memory = machine.copy_gb_per_s, "memory"
    if machine.cache_gb_per_s is not None and bytes_moved <= machine.cache_bytes:
        bandwidth, memory = machine.cache_gb_per_s, "cache"
    memory_ms = bytes_moved / (bandwidth * 1e6)
    compute_ms = flops / (machine.peak_gflops * 1e6)
    least = max(memory_ms, compute_ms)
    if least < OVERHEAD_MS:
        return least, "overhead"
    return least, memory if memory_ms >= compute_ms else "compute"


def _line_equations(kernel: Kernel, step: Step, ids: Mapping[Equation, str]) -> list[list[str]]:
    named = [ids[eqn] for eqn in step_eqns(step)]
    if isinstance(step, Cluster):
        lines = [[named[i] for i in line if i < len(named)] for line in kernel.line_eqns]
    else:  # a loop or branch that the device runs by itself: one equation of this program
        lines = [named if line else [] for line in kernel.line_eqns]
    missing = len(kernel.source.splitlines()) - len(lines)
    return lines + [[] for _ in range(missing)]


def _text(machine_code: bytes, kind: str, whole: Callable[[], str], limit: int) -> Text:
    """A text of a kernel, written when it is first asked for; its head is kept for the next report. machine_code: tells
    kernels apart, also those of one source that was compiled twice."""
    key = (machine_code, kind, limit)

    def load() -> Text:
        with _lock:
            found = _heads.get(key)
        if found is None:
            found = head_of(whole(), limit)
            with _lock:
                if len(_heads) >= MAX_KEPT_HEADS:
                    _heads.pop(next(iter(_heads)))
                _heads[key] = found
        return found

    text = Text.later(load, whole)
    if key in _heads:
        text.head  # noqa: B018  # known already: costs nothing
    return text


def head_of(text: str, limit: int) -> Text:
    """The first whole lines of a text, at most `limit` characters."""
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    if len(text) <= limit:
        return Text(text, len(text.splitlines()), sha256, True)
    end = text.rfind("\n", 0, limit) + 1
    return Text(text[: end or limit], len(text.splitlines()), sha256, False)
