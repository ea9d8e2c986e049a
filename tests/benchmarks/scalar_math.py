"""ns per element and largest error of the scalar functions, beside NumPy and numba's calls of the C library.

    python -m tests.benchmarks.scalar_math [names ...] [--exhaustive [--stride N]]

Arrays of 4096 elements stay in the first cache, so that this is arithmetic and not memory. The error is the largest
found over random and special arguments; with --exhaustive over all 2**32 float32 numbers, about a minute a function.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

import numpy as np
from numba import njit

from tests.codegen.scalar_math.ulps import BINARY, UNARY, exact, spread, ulp_errors
from workbench.codegen.scalar_math import namespace, scalar_function

N_ELEMENTS = 4096
ROUNDS = 15
NUMPY = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "atan2": np.arctan2, "pow": np.power,
}  # fmt: skip
C_LIBRARY = {name: f"math.{name}" for name in UNARY if hasattr(math, name)} | {
    "atan2": "math.atan2", "hypot": "math.hypot", "pow": "math.pow", "logaddexp": "np.logaddexp", "cbrt": "np.cbrt",
    "exp2": "np.exp2", "logaddexp2": "np.logaddexp2",
}  # fmt: skip


def compiled(call: str, n_arguments: int) -> Callable[..., None]:
    """`repeat(n, *arguments, out)`: the loop over the arrays, `n` times over."""
    names = "xyz"[:n_arguments]
    source = (
        f"def apply({', '.join(names)}, out):\n"
        f"    for i in range(out.size):\n"
        f"        out[i] = {call}({', '.join(f'{a}[i]' for a in names)})\n"
        f"def repeat(n, {', '.join(names)}, out):\n"
        f"    for _ in range(n):\n"
        f"        apply({', '.join(names)}, out)\n"
    )
    scope = {"math": math, "np": np, **(namespace([call]) if "." not in call else {})}
    exec(source, scope)
    scope["apply"] = njit(scope["apply"], error_model="numpy")
    return njit(scope["repeat"])


def ns_per_element(calls: dict[str, Callable[[int], None]], n_repeats: int = 20) -> dict[str, float]:
    """The median of each contestant, in turn in every round."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call(1)
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begin = time.perf_counter()
            call(n_repeats)
            times[name].append((time.perf_counter() - begin) / n_repeats / N_ELEMENTS * 1e9)
    return {name: float(np.median(found)) for name, found in times.items()}


def numpy_function(name: str) -> Callable | None:
    return NUMPY.get(name) or getattr(np, name, None)


def speed(name: str, dtype: np.dtype) -> dict[str, float]:
    n_arguments = 2 if name in BINARY else 1
    rng = np.random.default_rng(0)
    low = 1.05 if name == "acosh" else 0.05
    arguments = [rng.uniform(low, low + 0.9, N_ELEMENTS).astype(dtype) for _ in range(n_arguments)]
    out = np.empty(N_ELEMENTS, dtype)
    ours = compiled(scalar_function(name, dtype).name, n_arguments)
    calls: dict[str, Callable[[int], None]] = {"ours": lambda n: ours(n, *arguments, out)}
    reference = numpy_function(name)
    if reference is not None:
        calls["NumPy"] = lambda n: [reference(*arguments, out=out) for _ in range(n)] and None
    if name in C_LIBRARY:
        library = compiled(C_LIBRARY[name], n_arguments)
        calls["C library"] = lambda n: library(n, *arguments, out)
    return ns_per_element(calls)


def sampled_error(name: str, dtype: np.dtype, n: int = 400) -> float:
    arguments = [spread(dtype, n)]
    if name in BINARY:
        arguments.append(np.random.default_rng(1).permutation(arguments[0]))
    out = np.empty_like(arguments[0])
    compiled(scalar_function(name, dtype).name, len(arguments))(1, *arguments, out)
    high, low = exact(name, *arguments).T
    floor: np.ndarray | float = 0.0
    if name.startswith("logaddexp"):
        floor = np.maximum(*(np.where(np.isfinite(x), np.abs(x), 0) for x in arguments))
    return float(np.max(ulp_errors(out, high, low, at_least=floor)))


@njit(error_model="numpy")
def _worst(got, wanted):
    """The largest error of float32 numbers against float64 ones, in units of the last place, and where it is."""
    worst, where = 0.0, 0
    for i in range(got.size):
        g, w = np.float64(got[i]), wanted[i]
        if w != w or g != g:
            error = 0.0 if (w != w) and (g != g) else np.inf
        elif abs(w) >= 3.4028235677973366e38 or abs(g) == np.inf:  # what rounds to infinity
            error = (
                0.0 if np.float32(w) == got[i] else (1.0 if abs(w) > 3.4028234e38 and abs(g) > 3.4028234e38 else np.inf)
            )
        else:
            exponent = max(math.frexp(w)[1] - 24, -149)
            error = abs(g - w) / math.ldexp(1.0, exponent)
        if error > worst:
            worst, where = error, i
    return worst, where


def exhaustive_error(name: str, stride: int = 1) -> tuple[float, float]:
    """The largest error over every `stride`-th float32 number, against float64, and where it is."""
    ours = compiled(f"{name}_f32", 1)
    reference = numpy_function(name)
    if reference is None:  # erf, erfc, logistic: our float64 function, 2**28 times as exact as is needed
        wide = compiled(f"{name}_f64", 1)

        def reference(x):
            out = np.empty_like(x)
            wide(1, x, out)
            return out

    worst, where = 0.0, 0.0
    chunk = 1 << 22
    for start in range(0, 1 << 32, chunk * stride):
        x = (
            np.arange(start, min(start + chunk * stride, 1 << 32), stride, dtype=np.uint64)
            .astype(np.uint32)
            .view(np.float32)
        )
        out = np.empty_like(x)
        ours(1, x, out)
        with np.errstate(all="ignore"):
            error, index = _worst(out, reference(x.astype(np.float64)))
        if error > worst:
            worst, where = error, float(x[index])
    return worst, where


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*UNARY, *BINARY])
    parser.add_argument("--exhaustive", action="store_true", help="all 2**32 float32 numbers")
    parser.add_argument("--stride", type=int, default=1, help="with --exhaustive, every N-th of them")
    options = parser.parse_args()
    if options.exhaustive:
        for name in options.names:
            if name in UNARY:
                worst, where = exhaustive_error(name, options.stride)
                bound = scalar_function(name, np.dtype(np.float32)).max_ulp
                print(f"{name}_f32: {worst:.3f} ULP at {where!r}, stated {bound}", flush=True)
        return
    print(f"{'function':16} {'ours':>7} {'NumPy':>7} {'C lib.':>7}  ns/element; {'ULP':>6} {'stated':>6}")
    for name in options.names:
        for dtype in map(np.dtype, (np.float64, np.float32)):
            times = speed(name, dtype)
            columns = " ".join(f"{times.get(who, math.nan):7.2f}" for who in ("ours", "NumPy", "C library"))
            function = scalar_function(name, dtype)
            print(
                f"{function.name:16} {columns}  {'':11} {sampled_error(name, dtype):6.3f} {function.max_ulp:6}",
                flush=True,
            )


if __name__ == "__main__":
    main()
