"""A long search from the command line: `python -m tests.fuzz --examples 10000 [--seed 0] [--nested]`.

Prints each failing program, cut down, and at the end how many ran and why some were left to NumPy.
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import sys
import tempfile
import time
import traceback
from functools import partial
from typing import Any

os.environ.setdefault("WORKBENCH_CACHE_DIR", tempfile.mkdtemp(prefix="workbench-fuzz-"))
os.environ.setdefault("WORKBENCH_LOG", "error")

from . import held, nested, uncommon, varied  # noqa: E402
from .differential import Case, reduce  # noqa: E402
from .programs import Program, random_program  # noqa: E402

MOST_MEMORY = 8 << 30


def failure(program: Program) -> BaseException | None:
    """What goes wrong with `program`, if anything does."""
    try:
        case = Case(program)
        for which in range(len(program.sizes)):
            case.check(which)
    except Exception as error:
        return error
    return None


def kind_of(error: BaseException) -> tuple:
    frames = traceback.extract_tb(error.__traceback__)
    return (type(error), "" if isinstance(error, AssertionError) else frames[-1].name)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--statements", type=int, default=8)
    parser.add_argument("--keep", type=int, default=10, help="stop after so many failures")
    parser.add_argument("--nested", action="store_true", help="programs of nested statements instead")
    parser.add_argument("--uncommon", action="store_true", help="programs over uncommon arrays and containers instead")
    parser.add_argument("--held", action="store_true", help="nested programs whose variables objects hold instead")
    parser.add_argument(
        "--varied", action="store_true", help="nested programs whose variables change their kind instead"
    )
    parser.add_argument("--cells", action="store_true", help="programs of both of these kinds as cells instead")
    options = parser.parse_args()
    if sys.platform == "linux":
        import resource

        # Programs whose arrays grow and grow raise instead of filling the machine
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, resource.RLIM_INFINITY))
    if options.nested or options.uncommon or options.held or options.varied or options.cells:
        search_nested(options)
        return
    begin = time.perf_counter()
    reasons: collections.Counter[str] = collections.Counter()
    n_failed = 0
    seed = options.seed
    for seed in range(options.seed, options.seed + options.examples):
        if seed > options.seed and (seed - options.seed) % 500 == 0:
            print(f"{seed - options.seed} programs, {n_failed} failed", flush=True)
        program = random_program(seed, options.statements)
        try:
            case = Case(program)
            for which in range(len(program.sizes)):
                case.check(which)
        except Exception as error:
            n_failed += 1
            report(program, error)
            if n_failed >= options.keep:
                break
            continue
        for reason in case.compiled.fallbacks:
            reasons[_in_short(reason)] += 1
        if time.perf_counter() - begin > options.seconds:
            break
    done = seed - options.seed + 1
    print(f"{done} programs, {n_failed} failed, {sum(reasons.values())} calls left to NumPy, "
          f"{(time.perf_counter() - begin) / done:.2f} s each")  # fmt: skip
    for reason, n in reasons.most_common(12):
        print(f"  {n:4d}  {reason}")


def _in_short(reason: Exception) -> str:
    """The code of a reason and the last line of its text, which says the same of many programs."""
    last = str(reason).strip().splitlines()[-1].strip()
    return re.sub(r"^(\w+) (WB\d+) at [^:]*:\d+: ", r"\2 ", last)[:110]


def search_nested(options: argparse.Namespace) -> None:
    begin, n_failed, done = time.perf_counter(), 0, 0
    draw: Any = uncommon.Uncommon if options.uncommon else nested.Nested
    judge: Any = uncommon.check if options.uncommon else nested.check
    if options.held:
        draw, judge = held.Held, held.check
    if options.varied:
        draw = varied.Varied
    if options.cells:
        from . import cells

        draw, judge = cells.random_cell, partial(cells.check, ip=cells.shell())
    for seed in range(options.seed, options.seed + options.examples):
        if time.perf_counter() - begin > options.seconds or n_failed >= options.keep:
            break
        if done and done % 500 == 0:
            print(f"{done} programs, {n_failed} failed", flush=True)
        done += 1
        program = draw(seed)
        try:
            judge(program)
        except Exception as error:
            n_failed += 1
            text = nested.cut_down(program, judge)
            text = "\n".join(program.lines) + "\n" if options.cells else text
            print(
                f"\n=== seed {seed}: {type(error).__name__}\n# {program.inputs}\n{text}{str(error)[:600]}", flush=True
            )
    print(f"{done} programs, {n_failed} failed, {(time.perf_counter() - begin) / max(done, 1):.2f} s each")


def report(program: Program, error: BaseException) -> None:
    wanted = kind_of(error)

    def fails(smaller: Program) -> bool:
        found = failure(smaller)
        return found is not None and kind_of(found) == wanted

    small = reduce(program, fails)
    found: Any = failure(small)
    print(f"\n=== seed {program.seed}: {type(error).__name__}")
    for entry in small.inputs:
        print(f"#   {entry.name}: {entry.kind} {entry.dtype} {entry.dims} {entry.layout} wild={entry.wild}")
    print(f"#   {small.sizes}  inexact: {sorted(small.inexact)}")
    print(small.source)
    print(f"{type(found).__name__}: {str(found)[:600]}", flush=True)
    if found is not None and not isinstance(found, AssertionError):
        print("".join(traceback.format_tb(found.__traceback__)[-4:]), flush=True)


if __name__ == "__main__":
    main()
