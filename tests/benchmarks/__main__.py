"""The table: the workbench beside its peers, on single kernels, straight-line programs, loops and first calls.

    python -m tests.benchmarks [--json FILE] [--only WORD] [--rounds N] [--pause S] [--sweep] [--single] [--memory] [--without torch.compile]

Without `--only` it takes a quarter of an hour, most of it the peers' compilers. A ratio above 1 says how many times
faster than the best peer (NumPy included) the workbench is.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from workbench.runtime.limits import machine_limits

from . import calls, climate, compiling, elementwise, learning, memory, reductions, simulations, single
from .harness import ROUNDS, Case, Row, machine, run_case, table, write_json
from .limit import limit_us
from .peers import JAX, OURS, OURS_FAST, contestants

SUBJECTS: dict[str, Callable[[], Iterator[Case]]] = {
    "calls": calls.cases,
    "elementwise": elementwise.cases,
    "reductions": reductions.cases,
    "simulations": simulations.cases,
    "climate": climate.cases,
    "learning": learning.cases,
}


def verdicts(rows: list[Row]) -> list[str]:
    """Where this run stands against what is promised."""
    ratios = [ratio for row in rows if (ratio := row.to_best_peer(OURS)) is not None]
    lines = []
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(f"geometric mean to the best peer of each row: {mean:.2f}x")
        beside_jax = [r for row in rows if (r := row.ratio(OURS, JAX)) is not None]
        if beside_jax:
            lines.append(f"geometric mean to JAX: {math.exp(sum(map(math.log, beside_jax)) / len(beside_jax)):.2f}x")
        behind = [f"{row.case} {row.detail} ({row.to_best_peer(OURS):.2f}x)" for row in rows
                  if (row.to_best_peer(OURS) or 1) < 0.9]  # fmt: skip
        lines.append("below 0.9x of the best peer: " + (", ".join(behind) or "none"))
        lines.append("of these, with fast=True: " + (", ".join(_fast_ratios(rows)) or "none"))
        slower = [f"{row.case} {row.detail} ({row.ratio(OURS):.2f}x)" for row in rows
                  if not row.compiles and (row.ratio(OURS) or 1) < 1]  # fmt: skip
        lines.append("slower than NumPy: " + (", ".join(slower) or "none"))
    return lines


def _fast_ratios(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        fast = row.to_best_peer(OURS_FAST)
        if fast is not None and (row.to_best_peer(OURS) or 1) < 0.9:
            yield f"{row.case} {row.detail} ({fast:.2f}x)"


def peaks_of_memory(only: str, without: list[str], path: Path) -> None:
    if not memory.is_available():
        print("the peak of a call cannot be measured on this system")
        return
    peaks = []
    for subject, cases in {"temporaries": memory_cases, **SUBJECTS}.items():
        for case in cases():
            if only in subject or only in case.name:
                present = {name: call for name, call in case.contestants.items() if name not in without}
                peaks.append(memory.measure(replace(case, contestants=present)))
                print(f"  measured {case.name}, {case.detail}", flush=True)
    print("\nMB beside inputs and results\n" + memory.table(peaks))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), "peaks": memory.as_rows(peaks)}, indent=1) + "\n")


def memory_cases() -> Iterator[Case]:
    for name, function, arrays in memory.temporaries(4_000_000):
        yield Case(name, f"{arrays[0].size:.0e} float64", contestants(function, *arrays))


def main(arguments: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(prog="tests.benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, default=Path("build/benchmarks/table.json"))
    parser.add_argument("--only", default="", help="only subjects or cases whose name or detail holds this word")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds before each contestant's turn")
    parser.add_argument("--sweep", action="store_true", help="the second table: sizes 1e2 to 1e7")
    parser.add_argument("--single", action="store_true", help="single NumPy expressions over dtypes and sizes")
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="leave a contestant out")
    parser.add_argument("--no-compiling", action="store_true", help="leave out the first calls")
    parser.add_argument("--memory", action="store_true", help="the third table: peak memory of a call")
    args = parser.parse_args(arguments)
    about = machine()
    load = os.getloadavg() if hasattr(os, "getloadavg") else (math.nan,)
    versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items())
    print(f"{about['processor']}, {about['cores']} cores, load {load[0]:.1f}; {versions}")
    print(f"medians of {args.rounds} rounds in one process, contestants in turn, {args.pause} s apart\n", flush=True)
    if args.memory:
        peaks_of_memory(args.only, args.without, args.json)
        return []
    limits = machine_limits(anew=True)
    if limits is not None:
        print(f"limits: copies {limits.copy_gb_per_s:.1f} GB/s, in caches {limits.cache_gb_per_s:.0f} GB/s, "
              f"{limits.peak_gflops:.0f} Gflop/s of f64\n", flush=True)  # fmt: skip
    rows: list[Row] = []
    subjects = {"sweep": calls.sweep} if args.sweep else {"single": single.cases} if args.single else SUBJECTS
    compiles = not (args.sweep or args.single or args.no_compiling) and args.only in "compiling first call"
    for subject, cases in subjects.items():
        for case in cases():
            if args.only in subject or args.only in case.name or args.only in case.detail:
                present = {name: call for name, call in case.contestants.items() if name not in args.without}
                rows.append(run_case(replace(case, contestants=present), args.rounds, args.pause))
                rows[-1].limit_us = limit_us(present.get(OURS), limits) if limits is not None else None
                write_json(rows, args.json)  # what has been measured survives an interrupt
                print(f"  measured {case.name}, {case.detail}", flush=True)
    if compiles:
        rows += compiling.first_calls()
    print("\n" + table(rows, OURS) + "\n")
    if compiles:
        print("\n".join(compiling.phases()))
        imported, called = compiling.warm_process()
        print(
            f"new process, warm disk cache, 100 equations: first call {called:.3f} s after an import of {imported:.2f} s"
        )
    print("\n".join(verdicts(rows)))
    write_json(rows, args.json)
    print(f"\nall single times: {args.json}")
    return rows


if __name__ == "__main__":
    main()
