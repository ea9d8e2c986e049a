"""CUDA on a real device, in one call: check every kernel family, time them, print a table beside the alternatives.

    python tests/benchmarks/cuda.py                    # on cuda:0, at most 8 minutes, no network
    python tests/benchmarks/cuda.py --device cuda-sim  # the checks alone, at tiny sizes, without a GPU

Results are compared with NumPy's in float64. Times are medians of runs on arrays that are on the device already: ours by
CUDA events, everybody's by the clock with a wait for the device at the end. JAX, PyTorch and hand-written numba.cuda take
part where they are installed. `--notes FILE` writes everything as JSON, with the machine's description.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Run from a source tree. This file's folder must not be on the path: its name would hide NVIDIA's package `cuda`.
sys.path[:] = [str(HERE.parents[1]), *(p for p in sys.path if p and Path(p).resolve() != HERE)]

import numpy as np  # noqa: E402  (after the path is set)

import workbench as wb  # noqa: E402
from workbench.errors import DeviceError  # noqa: E402

SECONDS = 420.0
ROUNDS = 15
SAMPLE_S = 0.02


@dataclass(frozen=True)
class Family:
    """A kernel family. function: in the names of NumPy, over a module that has them; inputs: of a scale of elements and
    a random generator; torch: the same in PyTorch's names; numba: makes a call of a hand-written kernel; n_bytes: what
    a run must read and write, of its inputs and results."""

    name: str
    function: Callable[..., Any]
    inputs: Callable[[int, np.random.Generator], tuple[np.ndarray, ...]]
    n_bytes: Callable[..., int] = lambda *arrays: sum(a.nbytes for a in arrays)
    torch: Callable[..., Any] | None = None
    numba: Callable[..., Callable[[], Any]] | None = None
    rtol: float = 2e-5


@dataclass
class Result:
    family: str
    dtype: str
    shape: str
    error: float = 0.0
    path: str = ""
    times_us: dict[str, list[float]] = field(default_factory=dict)
    failed: str = ""
    gb_per_s: float = 0.0


def matrix(n: int, rng: np.random.Generator, columns: int = 4096) -> np.ndarray:
    columns = min(columns, max(1, int(n**0.5)))
    return rng.normal(size=(max(1, n // columns), columns))


# ---- the families ----


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layernorm(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    d = x - x.mean(axis=1, keepdims=True)
    return d / xp.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * scale + shift


def black_scholes(xp: Any, price: Any, strike: Any, years: Any) -> Any:
    rate, volatility = 0.02, 0.3
    root = volatility * xp.sqrt(years)
    d1 = (xp.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / root
    d2 = d1 - root

    def normal(d: Any) -> Any:  # Abramowitz and Stegun, 26.2.17
        k = 1.0 / (1.0 + 0.2316419 * xp.abs(d))
        tail = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        p = 0.3989422804 * xp.exp(-0.5 * d * d) * tail
        return xp.where(d > 0, 1.0 - p, p)

    return price * normal(d1) - strike * xp.exp(-rate * years) * normal(d2)


def jacobi(xp: Any, u: Any) -> Any:
    return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def forces(xp: Any, p: Any) -> Any:
    d = p[None, :, :] - p[:, None, :]
    r2 = (d * d).sum(axis=2) + 0.01
    return (d / (r2 * xp.sqrt(r2))[:, :, None]).sum(axis=1)


def mandelbrot(xp: Any, x: Any, y: Any) -> Any:
    a, b, n = x * 0.0, y * 0.0, x * 0.0
    for _ in range(30):
        a, b = a * a - b * b + x, 2.0 * a * b + y
        inside = a * a + b * b < 4.0
        a, b, n = xp.where(inside, a, 2.0), xp.where(inside, b, 2.0), n + xp.where(inside, 1.0, 0.0)
    return n


def numba_chain(x: Any, out: Any) -> Callable[[], Any]:
    import math

    from numba import cuda

    @cuda.jit
    def kernel(x, out):
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            out[i] = math.tanh(x[i]) * x[i] + x[i]

    blocks = max(1, min(-(-x.size // 256), 4096))
    return lambda: kernel[blocks, 256](x, out)


def numba_jacobi(u: Any, out: Any) -> Callable[[], Any]:
    from numba import cuda, float32

    quarter = float32(0.25)

    @cuda.jit
    def kernel(u, out):
        j, i = cuda.grid(2)
        if i < out.shape[0] and j < out.shape[1]:
            out[i, j] = quarter * (u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2])

    n, m = out.shape
    return lambda: kernel[(-(-m // 32), -(-n // 8)), (32, 8)](u, out)


FAMILIES = (
    Family("chain", lambda xp, x: xp.tanh(x) * x + x, lambda n, rng: (rng.normal(size=n),),
           torch=lambda t, x: t.tanh(x) * x + x, numba=numba_chain),
    Family("sum", lambda xp, x: x.sum(), lambda n, rng: (rng.normal(size=n) + 1.0,), torch=lambda t, x: x.sum()),
    Family("squared error", lambda xp, a, b: ((a - b) ** 2).sum(),
           lambda n, rng: (rng.normal(size=n // 2 + 1), rng.normal(size=n // 2 + 1)),
           torch=lambda t, a, b: ((a - b) ** 2).sum()),
    Family("softmax", softmax, lambda n, rng: (matrix(n, rng),), torch=lambda t, x: t.softmax(x, 1)),
    Family("layernorm", layernorm,
           lambda n, rng: (matrix(n, rng), rng.normal(size=matrix(n, rng).shape[1]),
                           rng.normal(size=matrix(n, rng).shape[1])),
           torch=lambda t, x, scale, shift: t.nn.functional.layer_norm(x, x.shape[1:], scale, shift), rtol=2e-4),
    Family("row argmax", lambda xp, x: x.argmax(axis=1), lambda n, rng: (matrix(n, rng),), torch=lambda t, x: x.argmax(1)),
    Family("column deviation", lambda xp, x: x.std(axis=0), lambda n, rng: (matrix(n, rng) + 2.0,), rtol=2e-4),
    Family("broadcast", lambda xp, x, y: x * 2.0 + y, lambda n, rng: (matrix(n, rng), rng.normal(size=matrix(n, rng).shape[1])),
           torch=lambda t, x, y: x * 2.0 + y),
    Family("transpose", lambda xp, x: x.T * 2.0, lambda n, rng: (matrix(n, rng),),
           torch=lambda t, x: (x.T * 2.0).contiguous()),
    Family("jacobi", jacobi, lambda n, rng: (matrix(n, rng, 1 << 14),), numba=numba_jacobi,
           torch=lambda t, u: 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])),
    Family("black-scholes", black_scholes,
           lambda n, rng: tuple(rng.uniform(low, high, n // 3 + 1) for low, high in ((10, 50), (10, 50), (0.1, 3))), rtol=2e-3),
    Family("n-body", forces, lambda n, rng: (rng.normal(size=(min(8192, max(4, int(n**0.5) // 2)), 3)),), rtol=5e-3),
    Family("mandelbrot", mandelbrot,
           lambda n, rng: (rng.uniform(-2, 1, n // 8 + 1), rng.uniform(-1, 1, n // 8 + 1)), rtol=0.05),
    Family("cumulative sum", lambda xp, x: xp.cumsum(x * 2.0), lambda n, rng: (rng.normal(size=n) + 3.0,), rtol=1e-3),
    Family("matrix product", lambda xp, x, y: xp.tanh(x @ y),
           lambda n, rng: tuple(rng.normal(size=(min(4096, int(n**0.5)),) * 2) / 50.0 for _ in range(2)),
           torch=lambda t, x, y: t.tanh(x @ y), rtol=1e-3),
    Family("sort", lambda xp, x: xp.sort(x * 2.0, axis=-1), lambda n, rng: (matrix(n // 4 + 4, rng),)),
)  # fmt: skip


# ---- checking ----


def check(family: Family, device: str, dtype: type, n: int, rng: np.random.Generator) -> tuple[Result, Any, tuple]:
    """Run a family on the device and compare with NumPy's float64."""
    inputs = tuple(np.asarray(a, dtype) for a in family.inputs(n, rng))
    with np.errstate(all="ignore"):
        expected = np.asarray(family.function(np, *(a.astype(np.float64) for a in inputs)))
    compiled = wb.jit(lambda *arrays: family.function(np, *arrays), device=device, strict=True)
    found = compiled(*inputs)
    result = Result(family.name, np.dtype(dtype).name, "x".join(map(str, inputs[0].shape)))
    result.path = ", ".join(
        dict.fromkeys(k.geometry.meets or "no meeting" for k in compiled.compilations[0].kernels.values())
    )
    rtol = family.rtol if dtype is np.float32 else min(family.rtol, 1e-9)
    if expected.dtype.kind in "iu":
        # Where two numbers of a row round to the same float32, either place is right.
        result.error = float(np.mean(found != expected))
        assert result.error < 1e-3, f"{result.error:.1%} of the places differ"
    else:
        scale = np.abs(expected).max(initial=0) or 1.0
        result.error = float(np.abs(found - expected).max(initial=0) / scale)
        assert result.error <= rtol, f"largest error {result.error:.2g} of the largest magnitude, allowed {rtol:.2g}"
    return result, compiled, inputs


def check_random(device: str) -> None:
    """Threefry's bits are the same on every device."""

    def draw() -> Any:
        return wb.random.bits(wb.random.key(7), (1000,)), wb.random.normal(wb.random.key(7), (1000,))

    bits, normal = wb.jit(draw, device=device)()
    expected_bits, expected_normal = wb.jit(draw, device="cpu")()
    np.testing.assert_array_equal(bits, expected_bits)
    np.testing.assert_allclose(normal, expected_normal, rtol=1e-5)


def check_control(device: str) -> None:
    def halve(x: Any) -> Any:
        return wb.lax.while_loop(lambda v: v.max() > 1.0, lambda v: v * 0.5, x)

    x = np.linspace(0.0, 100.0, 1000)
    np.testing.assert_allclose(wb.jit(halve, device=device)(x), wb.jit(halve, device="cpu")(x), rtol=1e-13)


# ---- timing, where there is a GPU ----


def measure(contestants: dict[str, tuple[Callable[[], Any], Callable[[], Any]]]) -> dict[str, list[float]]:
    """Times in microseconds. Each contestant is a call and a wait for the device; they take turns."""
    repeats, times = {}, {name: [] for name in contestants}
    for name, (call, wait) in contestants.items():
        for _ in range(5):  # graphs are recorded, caches filled
            call()
        wait()
        begin = time.perf_counter()
        call()
        wait()
        repeats[name] = max(1, int(SAMPLE_S / max(time.perf_counter() - begin, 1e-6)))
    for _ in range(ROUNDS):
        for name, (call, wait) in contestants.items():
            begin = time.perf_counter()
            for _ in range(repeats[name]):
                call()
            wait()
            times[name].append((time.perf_counter() - begin) / repeats[name] * 1e6)
    return times


def contestants(family: Family, compiled: Any, inputs: Sequence[np.ndarray]) -> dict[str, tuple[Callable, Callable]]:
    """Everybody who is installed, on arrays that are on the device."""
    import cupy

    there = [cupy.asarray(a) for a in inputs]
    wait = cupy.cuda.get_current_stream().synchronize
    found: dict[str, tuple[Callable, Callable]] = {"workbench": (lambda: compiled(*there), wait)}
    try:
        import jax

        if jax.default_backend() == "gpu":
            if inputs[0].dtype == np.float64:
                jax.config.update("jax_enable_x64", True)
            theirs = [jax.device_put(a) for a in inputs]
            function = jax.jit(lambda *arrays: family.function(jax.numpy, *arrays))
            last: list[Any] = []

            def call() -> None:
                last[:] = [function(*theirs)]

            found["JAX"] = (call, lambda: last[0].block_until_ready())
    except ImportError:
        pass
    try:
        import torch

        if family.torch is not None and torch.cuda.is_available():
            tensors = [torch.from_numpy(a).cuda() for a in inputs]
            made = torch.compile(lambda *arrays: family.torch(torch, *arrays))
            found["torch.compile"] = (lambda: made(*tensors), torch.cuda.synchronize)
    except ImportError:
        pass
    if family.numba is not None:
        result = compiled(*there)
        found["numba.cuda"] = (family.numba(*there, cupy.empty_like(result)), wait)
    for name in list(found)[1:]:  # a peer that does not run here is left out, and said so
        try:
            found[name][0]()
            found[name][1]()
        except Exception as error:  # noqa: BLE001
            print(f"  {family.name}: {name} does not run: {str(error).strip().splitlines()[0][:100]}")
            del found[name]
    return found


def event_times(compiled: Any, inputs: Sequence[np.ndarray]) -> list[float]:
    """Microseconds of all our kernels together, by CUDA events."""
    import cupy

    compilation, there = compiled.compilations[-1], [cupy.asarray(a) for a in inputs]
    times = []
    for _ in range(ROUNDS):
        compilation.run_timed(*there)
        times.append(sum(info.runs_ms[-1] for info in compilation.kernel_infos.values()) * 1e3)
    return times


def launch_overhead() -> float:
    """Microseconds of a plan of 20 small kernels."""
    import cupy

    def steps(x: Any) -> Any:
        for _ in range(10):
            x = x - x.sum() * 1e-3
        return x

    f, x = wb.jit(steps, device="cuda"), cupy.ones(1000)
    times = measure({"workbench": (lambda: f(x), cupy.cuda.get_current_stream().synchronize)})
    n = len(f.compilations[0].kernels)
    median = statistics.median(times["workbench"])
    print(
        f"\na plan of {n} kernels: {median:.1f} us a run, graph recorded: {f.compilations[0].executable._replay is not None}"
    )
    return median


def first_call() -> dict[str, float]:
    """Seconds of the first call of a program of 100 equations, nothing cached."""

    def long(xp: Any, x: Any) -> Any:
        for k in range(25):
            x = xp.sin(x) * 0.5 + xp.cos(x * (0.1 * k)) - x.mean()
        return x

    found, x = {}, np.linspace(0.0, 1.0, 1 << 16, dtype=np.float32)
    with wb.config(cache_dir="off"):
        begin = time.perf_counter()
        wb.jit(lambda x: long(np, x), device="cuda")(x)
        found["workbench"] = time.perf_counter() - begin
    try:
        import jax

        if jax.default_backend() == "gpu":
            begin = time.perf_counter()
            jax.jit(lambda x: long(jax.numpy, x))(x).block_until_ready()
            found["JAX"] = time.perf_counter() - begin
    except ImportError:
        pass
    print("first call of 100 equations: " + ", ".join(f"{name} {s:.2f} s" for name, s in found.items()))
    return found


def describe(device: str) -> dict[str, Any]:
    """What the numbers depend on."""
    from workbench.report.machine import describe_machine

    machine = asdict(describe_machine(device))
    try:
        command = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv,noheader"]
        machine["nvidia-smi"] = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:
        machine["nvidia-smi"] = ""
    for name in ("cupy", "jax", "torch", "numba"):
        module = sys.modules.get(name)
        if module is not None:
            machine["versions"][name] = str(getattr(module, "__version__", "?"))
    return machine


def table(results: Sequence[Result], copy_gb_per_s: float) -> str:
    names = list(dict.fromkeys(name for r in results for name in r.times_us))
    rows = [["family", "dtype", "shape", "error", "lanes meet by", *(f"{n} us" for n in names), "GB/s", "of copy"]]
    for r in results:
        medians = [f"{statistics.median(r.times_us[n]):.1f}" if r.times_us.get(n) else "-" for n in names]
        share = f"{r.gb_per_s / copy_gb_per_s:.0%}" if copy_gb_per_s and r.gb_per_s else "-"
        speed = f"{r.gb_per_s:.0f}" if r.gb_per_s else "-"
        error = r.failed[:60] if r.failed else f"{r.error:.1e}"
        rows.append([r.family, r.dtype, r.shape, error, r.path, *medians, speed, share])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def run(device: str, n: int, seconds: float = SECONDS, families: Sequence[Family] = FAMILIES) -> list[Result]:
    """Check all families, and time them on a GPU while there is time."""
    start = time.perf_counter()
    timed = device.startswith("cuda:")
    results: list[Result] = []
    for dtype in (np.float32, np.float64):
        for family in families:
            rng = np.random.default_rng(0)
            result = Result(family.name, np.dtype(dtype).name, "")
            try:
                small = check(family, device, dtype, min(n, 1 << 16), rng)[0]
                results.append(small)
                left = seconds - (time.perf_counter() - start)
                if timed and left > 30:
                    result, compiled, inputs = check(family, device, dtype, n, rng)
                    result.times_us = measure(contestants(family, compiled, inputs))
                    result.times_us["kernels by events"] = event_times(compiled, inputs)
                    output = compiled(*inputs)
                    moved = family.n_bytes(*inputs, np.asarray(output))
                    result.gb_per_s = moved / statistics.median(result.times_us["workbench"]) / 1e3
                    results[-1] = result
            except Exception as error:  # noqa: BLE001  # one family must not hide the others
                result.failed = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
                results.append(result)
                print(f"FAILED {family.name} {result.dtype}: {error}", file=sys.stderr)
    for name, what in (("random numbers", check_random), ("control flow", check_control)):
        result = Result(name, "", "")
        try:
            what(device)
        except Exception as error:  # noqa: BLE001
            result.failed = f"{type(error).__name__}: {error}"
        results.append(result)
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument(
        "--elements", type=int, default=0, help="of the largest arrays; by default 2**26, simulated 300"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--notes", type=Path, help="write everything to this JSON file")
    options = parser.parse_args(arguments)
    try:
        device = wb.device(options.device).name
    except DeviceError as error:
        print(error)
        return 2
    simulated = device == "cuda-sim"
    results = run(device, options.elements or (300 if simulated else 1 << 26), options.seconds)
    extras: dict[str, Any] = {}
    limits = None
    if not simulated:
        from workbench.runtime.limits import machine_limits

        limits = machine_limits(device)
        extras = {"20 kernels us": launch_overhead(), "first call s": first_call()}
    print(table(results, limits.copy_gb_per_s if limits else 0.0))
    if limits:
        print(f"copy bandwidth {limits.copy_gb_per_s:.0f} GB/s, matrix product {limits.peak_gflops / 1e3:.1f} Tflop/s")
    failed = [r for r in results if r.failed]
    print(f"{len(results) - len(failed)} checks passed, {len(failed)} failed")
    if options.notes:
        notes = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": describe(device),
            "limits": asdict(limits) if limits else None,
            "results": [asdict(r) for r in results],
            **extras,
        }
        options.notes.parent.mkdir(parents=True, exist_ok=True)
        options.notes.write_text(json.dumps(notes, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
