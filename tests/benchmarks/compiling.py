"""First calls: from a function to its first result, with nothing cached, and in a new process with a warm disk cache."""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import workbench as wb
from workbench.frontend.trace import trace
from workbench.fusion import form_plan
from workbench.transforms.pipeline import run_pipeline

from .harness import BASELINE, Measurement, Row
from .peers import JAX, NUMBA, OURS, jax

LENGTHS = (10, 100, 1000)
REPEATS = 3


def chain_source(n_equations: int, salt: float) -> str:
    """`f(xp, x)`, a chain of `n_equations` elementwise equations. salt makes its constants, and so its kernels, new."""
    lines = ["def f(xp, x):", "    y = x"]
    for i in range(n_equations // 5):
        lines += [f"    y = xp.sqrt(y * {1 + salt + i / 1000} + x * x) - {salt + i / 500}"]
    return "\n".join([*lines, "    return y"])


def chain(n_equations: int, salt: float) -> Callable[..., Any]:
    scope: dict[str, Any] = {}
    exec(chain_source(n_equations, salt), scope)
    return scope["f"]


def by_hand(n_equations: int, salt: float) -> Callable[..., Any]:
    """The same chain as one numba loop."""
    body = [f"        {line.strip()}" for line in chain_source(n_equations, salt).splitlines()[1:-1]]
    text = "\n".join(line.replace("xp.", "np.").replace("x", "v").replace("nv.", "np.") for line in body)
    text = text.replace("mav", "max")
    source = f"def f(xs, out):\n    for i in range(xs.size):\n        v = xs[i]\n{text}\n        out[i] = y\n"
    scope: dict[str, Any] = {"np": np}
    exec(source, scope)
    return numba.njit(scope["f"])


def first_calls() -> list[Row]:
    """Medians over functions that nobody has compiled before."""
    x = np.linspace(0.5, 1.5, 100)
    rows = []
    with wb.config(cache_dir="off"):
        wb.jit(lambda x: np.sqrt(x * 1.5) - x)(x)  # what the first of all compilations loads
        if jax is not None:
            jax.jit(lambda x: jax.numpy.sqrt(x * 1.5) - x)(x).block_until_ready()
        numba.njit(lambda x: x + 1.0)(1.0)
        for n in LENGTHS:
            measurements = {name: Measurement(name) for name in (BASELINE, OURS, NUMBA, JAX)}
            for repeat in range(REPEATS):
                f, out = chain(n, 0.1 * repeat + 0.01), np.empty_like(x)
                calls: dict[str, Callable[[], Any]] = {
                    BASELINE: lambda f=f: f(np, x),
                    OURS: lambda f=f: wb.jit(lambda x: f(np, x))(x),
                    NUMBA: lambda n=n, r=repeat, out=out: by_hand(n, 0.1 * r + 0.01)(x, out),
                }
                if jax is not None:
                    calls[JAX] = lambda f=f: jax.jit(lambda x: f(jax.numpy, x))(x).block_until_ready()
                for name, call in calls.items():
                    begin = time.perf_counter()
                    call()
                    measurements[name].times_us.append((time.perf_counter() - begin) * 1e6)
            found = [m for m in measurements.values() if m.times_us]
            rows.append(Row("first call", f"{n} equations", found, compiles=True))
    return rows


def mixed_source(n_equations: int) -> str:
    """`f(xp, x)` of about `n_equations`, where reads of neighbours end kernels now and then."""
    lines = ["def f(xp, x):", "    y, z = x, x * 2"]
    for i in range(n_equations // 8):
        lines.append(f"    y = xp.sqrt(y * {1 + i / 1000} + x * x) - z")
        lines.append(f"    z = xp.where(y > {i / 1000}, z * 0.5, y)")
        lines.append("    y = y + xp.roll(z, 1)" if i % 10 == 0 else "    z = z - y")
    return "\n".join([*lines, "    return y, z"])


def phases() -> list[str]:
    """Lines: what tracing costs an operation, and each phase for programs of 1,000 and 10,000 equations."""
    lines = []
    x = np.linspace(0.5, 1.5, 100)
    for name, make in (("chain", lambda n: chain_source(n, 0.5)), ("mixed", mixed_source)):
        for n in (1_000, 10_000):
            scope: dict[str, Any] = {}
            exec(make(n), scope)
            f = scope["f"]
            found = []
            for _ in range(REPEATS):
                clock = [time.process_time()]
                traced = trace(lambda x, f=f: f(np, x), (x,), {})
                clock.append(time.process_time())
                optimised = run_pipeline(traced.jaxpr)
                clock.append(time.process_time())
                form_plan(optimised)
                clock.append(time.process_time())
                found.append([b - a for a, b in itertools.pairwise(clock)])
            tracing, optimising, planning = (statistics.median(phase) for phase in zip(*found, strict=True))
            size = len(traced.jaxpr.eqns)
            lines.append(
                f"{name}, {size} equations: trace {tracing:.3f} s ({tracing / size * 1e6:.1f} us an operation), "
                f"optimise {optimising:.3f} s, plan {planning:.3f} s, in all {tracing + optimising + planning:.2f} s of CPU"
            )
    return lines


PROGRAM = """
import time
import numpy as np
x = np.linspace(0.5, 1.5, 100)
{source}
begin = time.process_time()
import workbench as wb
wb.jit  # what the package imports at its first use
imported = time.process_time()
wb.jit(lambda x: f(np, x))(x)
print(imported - begin, time.process_time() - imported)
"""


def warm_process(n_equations: int = 100) -> tuple[float, float]:
    """Seconds of processor time for the import (after NumPy's) and for the first call, in a new process that finds
    its kernel and its bytecode on disk."""
    source = PROGRAM.format(source=chain_source(n_equations, 0.5))
    times = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "WORKBENCH_CACHE_DIR": folder, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(REPEATS + 1):
            command = [sys.executable, "-c", source]
            output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
            times.append(tuple(map(float, output.split())))
    imports, calls = zip(*times[1:], strict=True)
    return statistics.median(imports), statistics.median(calls)
