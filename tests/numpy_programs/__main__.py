"""`python -m tests.numpy_programs [--field F] [--names A,B] [--small] [--no-trials] [--peers]`: what compiled, in which
time, how fast against NumPy and numba."""

from __future__ import annotations

import argparse
import copy
import signal
import statistics
import time
import traceback
from typing import Any

import workbench as wb
from workbench.runtime.dispatch import CompiledFunction

from .all import PROGRAMS
from .numba_peer import compiled_by_numba
from .outcomes import assert_like, outcome
from .registry import NumpyProgram

CompiledFunction._blame = lambda self, failure, *call: _raise(failure)  # type: ignore[method-assign]
SECONDS = 1.5  # for the timed runs of one program
RUNS = 7
WARM_UP_CALLS = 7  # until it is decided whether parts, or NumPy, are faster


def _raise(failure: Exception) -> None:
    raise failure


def timed(function: Any, arguments: tuple) -> float:
    arguments = copy.deepcopy(arguments)
    begin = time.perf_counter()
    outcome(function, arguments)
    return time.perf_counter() - begin


def row(program: NumpyProgram, size: int, *, peers: bool) -> str:
    arguments = program.make(size)
    expected = outcome(program.function, copy.deepcopy(arguments))
    compiled = wb.jit(program.function)
    begin = time.process_time()
    verdict, reason = "ok", ""
    try:
        actual = outcome(compiled, copy.deepcopy(arguments))
        first = time.process_time() - begin
        assert_like(actual[0], expected[0], program.rtol, "result")
        assert_like(actual[1], expected[1], program.rtol, "arguments")
    except AssertionError as error:
        verdict, reason = "WRONG", " ".join(str(error).split())[:200]
    except TimeoutError:
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return (f"{program.field:14s} {program.name:26s} CRASH  {type(error).__name__}: {str(error)[:140]!r} "
                f"({frame.filename.rpartition('/')[2]}:{frame.lineno})")  # fmt: skip
    functions = {"ours": compiled, "NumPy": program.function}
    missing = ""
    if peers:
        numba, missing = compiled_by_numba(program, arguments, expected)
        functions |= {} if numba is None else {"numba": numba}
    begin = time.perf_counter()
    for _ in range(WARM_UP_CALLS):
        if time.perf_counter() - begin < SECONDS:
            timed(compiled, arguments)
    ms = medians(functions, arguments)
    if compiled.fallbacks:
        verdict = "numpy" if verdict == "ok" else verdict
        reason = reason or " ".join(str(compiled.fallbacks[-1]).split())[:110]
    kernels = sum(len(c.plan.steps) for c in compiled.compilations)
    text = (f"{program.field:14s} {program.name:26s} {verdict:6s} first {first:6.2f} s of CPU  {ms['ours']:9.3f} ms  "
            f"NumPy {ms['NumPy']:9.3f} {ms['NumPy'] / ms['ours']:6.2f}x  ")  # fmt: skip
    if "numba" in ms:
        text += f"numba {ms['numba']:9.3f} {ms['numba'] / ms['ours']:6.2f}x  "
    elif peers:
        text += f"({missing})  "
    return f"{text}steps {kernels:4d}  {reason}"


def medians(functions: dict[str, Any], arguments: tuple) -> dict[str, float]:
    """What each takes, in ms, in turn."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    begin = time.perf_counter()
    for n_runs in range(RUNS):
        if n_runs >= 2 and time.perf_counter() - begin > SECONDS:
            break
        for name, function in functions.items():
            times[name].append(timed(function, arguments))
    return {name: statistics.median(seconds) * 1e3 for name, seconds in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--field", default="")
    parser.add_argument("--names", default="")
    parser.add_argument("--skip", default="")
    parser.add_argument("--small", action="store_true", help="the sizes of the tests")
    parser.add_argument("--no-trials", action="store_true", help="compiled also where NumPy is faster")
    parser.add_argument("--peers", action="store_true", help="beside numba.njit, too")
    parser.add_argument("--timeout", type=int, default=60, help="seconds for one program")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _too_long)
    wb.config.numpy_trials = not options.no_trials
    for program in PROGRAMS.values():
        wanted = not options.names or program.name in options.names.split(",")
        if wanted and options.field in ("", program.field) and program.name not in options.skip.split(","):
            signal.alarm(options.timeout)
            try:
                size = program.small if options.small else program.large
                print(row(program, size, peers=options.peers), flush=True)
            except TimeoutError as error:
                print(f"{program.field:14s} {program.name:26s} LONG   {error}", flush=True)
            signal.alarm(0)


def _too_long(*_: Any) -> None:
    where = traceback.extract_stack()[-3]
    raise TimeoutError(f"not done in time, at {where.filename.rpartition('/')[2]}:{where.lineno} {where.name}")


if __name__ == "__main__":
    main()
