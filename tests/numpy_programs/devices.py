"""`python -m tests.numpy_programs.devices [--device cuda:0] [--large] [--assemble] [--names A,B]`: the programs on a
device against NumPy, by default in numba's simulator; or their kernels made and assembled for three generations of GPUs,
which needs none."""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Iterator
from typing import Any

import workbench as wb
from workbench.codegen.kernel import Kernel
from workbench.errors import WorkbenchError
from workbench.runtime.cuda.executable import device_kernels
from workbench.runtime.cuda.kernels import assemble, kernel_ptx
from workbench.runtime.cuda.plans import device_plan
from workbench.runtime.dispatch import CompiledFunction
from workbench.transforms.pipeline import PIPELINE, run_pipeline
from workbench.transforms.split_short_axes import split_short_axes

from .all import PROGRAMS
from .outcomes import assert_like, outcome
from .registry import NumpyProgram

CAPABILITIES = ((8, 0), (9, 0), (10, 0))


def kernels_of(program: NumpyProgram, size: int) -> list[Kernel]:
    """What a GPU would run of a program; nothing of one that is not traced whole."""
    try:
        traced = wb.jit(program.function, device="numpy").trace(program.make(size), {})
    except WorkbenchError:
        return []
    jaxpr = run_pipeline(traced.jaxpr, PIPELINE)
    plan, _ = device_plan(jaxpr, split_short_axes(jaxpr))
    return [k for kernel in device_kernels(plan, "cuda").values() for k in (kernel, kernel.finish) if k is not None]


def check(program: NumpyProgram, size: int, device: str) -> CompiledFunction:
    """Run a program twice on a device. AssertionError unless it does what NumPy does."""
    compiled = wb.jit(program.function, device=device)
    for seed in (0, 1):
        arguments = program.make(size, seed)
        expected = outcome(program.function, copy.deepcopy(arguments))
        actual = outcome(compiled, copy.deepcopy(arguments))
        assert_like(actual[0], expected[0], program.rtol, "result")
        assert_like(actual[1], expected[1], program.rtol, "arguments")
    assert {c.device for c in compiled.compilations} <= {wb.device(device).name}
    return compiled


def run(program: NumpyProgram, size: int, device: str) -> str:
    begin = time.perf_counter()
    try:
        compiled = check(program, size, device)
    except AssertionError as error:
        return f"WRONG  {' '.join(str(error).split())[:200]}"
    where = "whole" if compiled.compilations and not compiled.fallbacks else "in parts, or by NumPy"
    reason = " ".join(str(compiled.fallbacks[-1]).split())[:120] if compiled.fallbacks else ""
    return f"ok     {time.perf_counter() - begin:6.1f} s  {where}  {reason}"


def assembled(kernels: list[Kernel], seen: set[tuple[str, str]]) -> Iterator[str]:
    for kernel in kernels:
        if (kernel.source, kernel.signature) in seen:
            continue
        seen.add((kernel.source, kernel.signature))
        for capability in CAPABILITIES:
            try:
                assemble(kernel_ptx(kernel, capability)[0], capability)
            except Exception as error:  # noqa: BLE001  # each is to be seen
                yield f"{kernel.name} sm_{capability[0]}{capability[1]}: {' '.join(str(error).split())[:300]}"


def raise_it(self: Any, failure: Exception, *call: Any) -> None:
    raise failure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda-sim")
    parser.add_argument("--large", action="store_true", help="the sizes of the benchmarks")
    parser.add_argument("--assemble", action="store_true", help="make and assemble the kernels, run nothing")
    parser.add_argument("--names", default="")
    options = parser.parse_args()
    CompiledFunction._blame = raise_it  # type: ignore[method-assign]  # a failure of ours is to be seen
    wanted = options.names.split(",") if options.names else sorted(PROGRAMS)
    seen: set[tuple[str, str]] = set()
    n_failed = 0
    for program in map(PROGRAMS.__getitem__, wanted):
        size = program.large if options.large else program.small
        if options.assemble:
            failures = list(assembled(kernels_of(program, size), seen))
            text = "; ".join(failures) or "ok"
            n_failed += len(failures)
        else:
            text = run(program, size, options.device)
            n_failed += text.startswith("WRONG")
        print(f"{program.field:14s} {program.name:32s} {text}", flush=True)
    print(f"{len(wanted)} programs, {len(seen)} kernels, {n_failed} failed" if options.assemble else f"{len(wanted)} programs, {n_failed} failed")  # fmt: skip
    raise SystemExit(1 if n_failed else 0)


if __name__ == "__main__":
    main()
