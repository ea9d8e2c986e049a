"""CUDA on a real device, in one call: check every kernel family, time them, print a table beside the alternatives.

    python tests/benchmarks/cuda.py                        # on cuda:0, at most 8 minutes, no network
    python tests/benchmarks/cuda.py --notes notes.md       # and append a dated block there (or JSON to notes.json)
    python tests/benchmarks/cuda.py --wheels folder        # take packages that are missing from wheels in a folder
    python tests/benchmarks/cuda.py --device cuda-sim      # the checks alone, at tiny sizes, without a GPU

Results are compared with NumPy's in float64, and at full size with CuPy's in float64. Times are medians of runs on
arrays that are on the device already: ours by CUDA events, everybody's by the clock with a wait for the device at the
end. JAX, PyTorch and hand-written numba.cuda take part where they are installed. Each task runs in a process that may
crash or hang without stopping the others.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import site
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Run from a source tree. This file's folder must not be on the path: its name would hide NVIDIA's package `cuda`.
sys.path[:] = [str(HERE.parents[1]), *(p for p in sys.path if p and Path(p).resolve() != HERE)]
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take most of the memory for itself

NEEDED = ("numpy", "numba", "optree", "platformdirs", "psutil")
ON_A_GPU = ("numba_cuda", "cupy")
PEERS = ("jax", "torch")
DISTRIBUTIONS = {"numba_cuda": "numba-cuda", "cupy": "cupy-cuda13x"}
SECONDS = 430.0
TASK_S = 100.0
ROUNDS = 15
SAMPLE_S = 0.02
BROKEN = 3  # the exit code of a worker whose device is unusable


def missing(names: Sequence[str]) -> list[str]:
    return [name for name in names if importlib.util.find_spec(name) is None]


def unpack(wheels: Path, folder: Path) -> None:
    """Put the packages of all wheels of a folder on the path, before what is installed."""
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    os.environ["WORKBENCH_UNPACKED"] = str(folder)  # for the workers
    take(str(folder))


def take(folder: str) -> None:
    """Put a folder of packages on the path. numba-cuda takes numba's place by a .pth file, which must be run."""
    sys.path.insert(1, folder)
    importlib.invalidate_caches()
    site.addsitedir(folder)


def how_to_bring(absent: Sequence[str]) -> str:
    """What is missing here, and how a machine with a network brings it: for this Python and this processor."""
    names = " ".join(DISTRIBUTIONS.get(name, name) for name in absent)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    tags = " ".join(
        f"--platform {tag}_{platform.machine()}" for tag in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
    )
    return (
        f"not installed here: {', '.join(absent)}\n   Check  python -m pip list\n   Fix    pip install {names}\n"
        "          or, for a machine without network, elsewhere: pip download --only-binary=:all: --no-deps "
        f"--python-version {python} --implementation cp {tags} -d wheels {names}\n"
        "          and here, with that folder in the source tree: python tests/benchmarks/cuda.py"
    )


def sibling(name: str) -> Any:
    """A module beside this file, whatever packages called `tests` there are."""
    if f"workbench_{name}" in sys.modules:
        return sys.modules[f"workbench_{name}"]
    spec = importlib.util.spec_from_file_location(f"workbench_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


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


def _jax_call(family: Any, there: Sequence[Any]) -> tuple[Callable, Callable]:
    import jax
    import numpy as np

    if jax.default_backend() not in ("gpu", "cuda"):
        raise RuntimeError("it sees no GPU")
    if there[0].dtype == np.float64:
        jax.config.update("jax_enable_x64", True)
    theirs = [jax.device_put(a.get()) for a in there]
    function = jax.jit(lambda *arrays: family.function(jax.numpy, *arrays))
    last: list[Any] = []

    def call() -> None:
        last[:] = [function(*theirs)]

    return call, lambda: last[0].block_until_ready()


def _torch_call(family: Any, there: Sequence[Any]) -> tuple[Callable, Callable]:
    import torch

    torch._dynamo.reset()  # it compiles only so many versions of one function
    tensors = [torch.as_tensor(a.get(), device="cuda") for a in there]
    made = torch.compile(lambda *arrays: family.torch(torch, *arrays), dynamic=False)
    return (lambda: made(*tensors)), torch.cuda.synchronize


def _numba_call(family: Any, there: Sequence[Any], result: Any) -> tuple[Callable, Callable]:
    import cupy
    from numba import cuda

    # They launch on the default stream, as CuPy does.
    arrays = [cuda.as_cuda_array(a) for a in (*there, cupy.empty_like(result))]
    return family.numba(*arrays), cupy.cuda.get_current_stream().synchronize


def contestants(family: Any, compiled: Any, there: Sequence[Any], notes: list[str]) -> dict[str, tuple]:
    """Everybody who is installed and runs, on arrays that are on the device; in `notes`, who does not, and why."""
    import cupy

    wait = cupy.cuda.get_current_stream().synchronize
    found: dict[str, tuple[Callable, Callable]] = {"workbench": (lambda: compiled(*there), wait)}
    peers: dict[str, Callable[[], tuple]] = {}
    if not missing(["jax"]):
        peers["JAX"] = lambda: _jax_call(family, there)
    if family.torch is not None and not missing(["torch"]):
        peers["torch.compile"] = lambda: _torch_call(family, there)
    if family.numba is not None:
        peers["numba.cuda"] = lambda: _numba_call(family, there, compiled(*there))
    for name, make in peers.items():
        try:
            call, wait_for = make()
            call()
            wait_for()
            found[name] = call, wait_for
        except Exception as error:  # noqa: BLE001  # a peer that does not run here is left out, and said so
            text = str(error).strip().splitlines() or [""]
            notes.append(f"{name} does not run: {type(error).__name__}: {text[0][:100]}")
    return found


def event_times(compiled: Any, there: Sequence[Any]) -> list[float]:
    """Microseconds of all our steps together, by CUDA events."""
    from workbench.runtime.timelines import COPIES, IN_LOOPS

    compilation = compiled.compilations[-1]
    times = []
    for _ in range(ROUNDS):
        compilation.run_timed(*there)
        alone = (bar for bar in compilation.timeline if bar[0] != COPIES and bar[4] != IN_LOOPS)
        times.append(sum(ms for _, _, _, ms, _ in alone) * 1e3)
    return times


def enlarged(arrays: Sequence[Any], n: int, scale: int) -> list[Any]:
    """Arrays of the device, those that grow with the scale repeated along their first axis: made in no time."""
    import cupy

    times = max(1, n // scale)
    longest = max(a.size for a in arrays)
    return [cupy.concatenate([cupy.asarray(a)] * times) if 2 * a.size > longest else cupy.asarray(a) for a in arrays]


def timed(family: Any, device: str, dtype: type, n: int) -> Any:
    """A family at full size: compared with CuPy's float64, then timed beside the others."""
    import cupy
    import numpy as np

    import workbench as wb

    checks = sibling("cuda_checks")
    grows = family.name not in ("n-body", "matrix product")
    scale = min(n, 1 << 24) if grows else n
    inputs = [np.asarray(a, dtype) for a in family.inputs(scale, np.random.default_rng(1))]
    there = enlarged(inputs, n, scale) if grows else [cupy.asarray(a) for a in inputs]
    compiled = wb.jit(lambda *arrays: family.function(np, *arrays), device=device, strict=True)
    found = compiled(*there)
    result = checks.Result(family.name, np.dtype(dtype).name, "x".join(map(str, there[0].shape)))
    result.path = ", ".join(
        dict.fromkeys(k.geometry.meets or "no meeting" for k in compiled.compilations[0].kernels.values())
    )
    expected = family.function(cupy, *(a.astype(np.float64) for a in there))
    checks.compare(result, cupy, found.astype(expected.dtype, copy=False), expected, family, dtype)
    moved = family.n_bytes(*there, found)
    del expected
    cupy.get_default_memory_pool().free_all_blocks()
    result.times_us = measure(contestants(family, compiled, there, result.notes))
    result.times_us["steps by events"] = event_times(compiled, there)
    result.gb_per_s = moved / statistics.median(result.times_us["workbench"]) / 1e3
    return result


def launch_overhead(device: str, n: int = 1000) -> dict[str, float]:
    """Microseconds of a plan of about 20 small kernels, recorded as a graph."""
    import cupy
    import numpy as np

    import workbench as wb

    def steps(x: Any) -> Any:
        for _ in (0,) * 10:  # written out, where a range would be a loop
            x = x - x.sum() * 1e-3
        return x

    f, x = wb.jit(steps, device=device, strict=True), cupy.linspace(0.0, 1.0, n)
    times = measure({"workbench": (lambda: f(x), cupy.cuda.get_current_stream().synchronize)})
    np.testing.assert_allclose(cupy.asnumpy(f(x)), steps(np.linspace(0.0, 1.0, n)), rtol=1e-12)
    executable = f.compilations[0].executable
    return {
        "kernels": len(f.compilations[0].kernels),
        "us": statistics.median(times["workbench"]),
        "recorded": float(any(each.replay is not None for each in executable.recordings)),
    }


def block_loops(device: str, sizes: Sequence[int] = (64, 1024, 8192), steps: int = 200) -> dict[str, float]:
    """Microseconds an iteration of a loop whose condition is a scalar of the device: decided there in one block, or by
    the host, by the number of elements."""
    import cupy

    import workbench as wb
    from workbench.codegen.cuda import block_programs

    def relax(x: Any) -> Any:
        def body(state: Any) -> Any:
            return state[0] + 1, state[1] - (state[1] - state[1].mean()) * 0.01

        return wb.lax.while_loop(lambda s: (s[0] < steps) & (s[1].max() < 1e9), body, (0, x))[1]

    found, most = {}, block_programs.MOST_ELEMENTS
    for n in sizes:
        x = cupy.linspace(0.0, 1.0, n)
        for where, limit in (("one block", max(most, 8 * n)), ("host", 0)):
            block_programs.MOST_ELEMENTS = limit
            try:
                f = wb.jit(relax, device=device, strict=True)
                times = measure({where: (lambda f=f, x=x: f(x), cupy.cuda.get_current_stream().synchronize)})
            finally:
                block_programs.MOST_ELEMENTS = most
            found[f"{where}, {n}"] = statistics.median(times[where]) / steps
    return found


def first_call(device: str, n: int = 1 << 16) -> dict[str, float]:
    """Seconds of the first call of a program of 100 equations, nothing cached."""
    import numpy as np

    import workbench as wb

    def long(xp: Any, x: Any) -> Any:
        for k in tuple(range(25)):
            x = xp.sin(x) * 0.5 + xp.cos(x * (0.1 * k)) - x.mean()
        return x

    found, x = {}, np.linspace(0.0, 1.0, n, dtype=np.float32)
    with wb.config(cache_dir="off"):
        wb.jit(lambda x: np.tanh(x) * 2.0, device=device, strict=True)(x)  # the compiler and the device are started
        begin = time.perf_counter()
        wb.jit(lambda x: long(np, x), device=device, strict=True)(x)
        found["workbench"] = time.perf_counter() - begin
    if not missing(["jax"]):
        import jax

        if jax.default_backend() in ("gpu", "cuda"):
            jax.jit(lambda x: jax.numpy.tanh(x) * 2.0)(x).block_until_ready()
            begin = time.perf_counter()
            jax.jit(lambda x: long(jax.numpy, x))(x).block_until_ready()
            found["JAX"] = time.perf_counter() - begin
    return found


EXTRAS = {"20 kernels us": launch_overhead, "first call s": first_call, "loops of one block us": block_loops}
SIMULATED_CHECKS = ("random numbers", "control flow", "lazy results", "same bits", "pieces between library calls")
# Of tests/numpy_programs: plain NumPy as people write it. The last, for the time that is left.
PROGRAMS = (
    "lid_driven_cavity", "k_means", "transformer_block", "black_scholes", "kalman_filter_class", "spectral_turbulence",
    "small_conv_net", "gaussian_elimination_with_pivots", "game_of_life", "network_with_adam", "azimuthal_histogram",
    "conjugate_gradient", "yee_cavity", "flocking", "mandelbrot_shrinking", "attention_softmax", "bandit_class", "viterbi",
)  # fmt: skip


def describe(device: str) -> dict[str, Any]:
    """What the numbers depend on."""
    from workbench.report.machine import describe_machine

    machine = asdict(describe_machine(device))
    try:
        command = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv,noheader"]
        machine["nvidia-smi"] = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:
        machine["nvidia-smi"] = ""
    for name in ("jax", "jaxlib", "torch", "triton", "nvidia-cuda-nvcc", "nvidia-nvvm"):
        try:
            machine["versions"][name] = version(name)
        except PackageNotFoundError:
            continue
    return machine


# ---- tasks ----


def tasks_of(device: str) -> list[str]:
    """The tasks in order: what must hold first, then what tells most."""
    names = [family.name for family in sibling("cuda_families").FAMILIES]
    checks = [f"check/{name}/{dtype}" for dtype in ("float32", "float64") for name in names]
    if device == "cuda-sim":
        return [*checks, *(f"check/{name}/" for name in SIMULATED_CHECKS)]
    checks += [f"check/{name}/" for name in sibling("cuda_checks").CHECKS]
    extras = [f"extra/{name}/" for name in EXTRAS]  # short, and most of them have a target
    times = [f"time/{name}/{dtype}" for dtype, some in (("float32", names), ("float64", names[:4])) for name in some]
    return ["extra/limits/", *checks, *extras, *times, *(f"program/{name}/" for name in PROGRAMS)]


def perform(task: str, device: str, n: int) -> dict[str, Any]:
    """One task: {"result": ...} of a family or check, {"extra": ...} of a measurement; "failed" says what went wrong."""
    import numpy as np

    checks = sibling("cuda_checks")
    kind, name, dtype_name = task.split("/")
    dtype = {"float32": np.float32, "float64": np.float64}.get(dtype_name, np.float32)
    result = checks.Result(name, dtype_name, "")
    try:
        if kind == "extra":
            if name == "limits":
                from workbench.runtime.limits import machine_limits

                return {"extra": asdict(machine_limits(device) or sys.exit("no limits")), "machine": describe(device)}
            return {"extra": EXTRAS[name](device)}
        if kind == "program":
            from tests.numpy_programs import devices

            program = devices.PROGRAMS[name]
            devices.check(program, program.small, device)
        elif name in checks.CHECKS:
            checks.CHECKS[name](device)
        else:
            family = next(f for f in sibling("cuda_families").FAMILIES if f.name == name)
            if kind == "time":
                result = timed(family, device, dtype, n if dtype is np.float32 else n // 2)
            else:
                # Several sizes: below a chunk of vector loads, past one, and past a block's worth.
                for size in (n,) if device == "cuda-sim" else (37, 3001, min(n, 1 << 20)):
                    result = checks.check(family, device, dtype, size, np.random.default_rng(0))[0]
    except Exception as error:  # noqa: BLE001  # one family must not hide the others
        lines = str(error).strip().splitlines() or [""]
        result.failed = f"{type(error).__name__}: {lines[0][:300]}"
        traceback.print_exc()
        return {"failed": result.failed, "result": asdict(result)}
    return {"result": asdict(result)}


def work(device: str, n: int, numbers: Sequence[int], path: Path) -> int:
    """A worker: perform tasks, and write what came of them."""
    tasks = tasks_of(device)
    with path.open("a", encoding="utf-8") as file:

        def write(record: dict[str, Any]) -> None:
            file.write(json.dumps(record) + "\n")
            file.flush()

        for number in numbers:
            write({"begin": number})
            record = perform(tasks[number], device, n)
            write({"end": number, **record})
            if device != "cuda-sim" and not _is_usable():
                return BROKEN
    return 0


def _is_usable() -> bool:
    """Whether the device still answers; what was left on it is freed."""
    import gc

    gc.collect()
    try:
        import cupy

        cupy.cuda.Device().synchronize()
        cupy.get_default_memory_pool().free_all_blocks()
        if "torch" in sys.modules:
            sys.modules["torch"].cuda.empty_cache()
    except Exception as error:  # noqa: BLE001
        print(f"the device does not answer any more: {error}", file=sys.stderr)
        return False
    return True


# ---- the summary ----


def table(results: Sequence[Any], copy_gb_per_s: float) -> list[list[str]]:
    names = list(dict.fromkeys(name for r in results for name in r.times_us))
    rows = [["family", "dtype", "shape", "error", "lanes meet by", *(f"{n} us" for n in names), "GB/s", "of copy"]]
    for r in results:
        medians = [f"{statistics.median(r.times_us[n]):.1f}" if r.times_us.get(n) else "-" for n in names]
        share = f"{r.gb_per_s / copy_gb_per_s:.0%}" if copy_gb_per_s and r.gb_per_s else "-"
        speed = f"{r.gb_per_s:.0f}" if r.gb_per_s else "-"
        error = "FAILED" if r.failed else f"{r.error:.1e}"
        rows.append([r.family, r.dtype, r.shape, error, r.path, *medians, speed, share])
    return rows


def aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def markdown(notes: dict[str, Any], rows: Sequence[Sequence[str]], lines: Sequence[str]) -> str:
    """The dated block for the benchmark notes."""
    machine = notes["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in machine.get("versions", {}).items())
    head = [
        f"## {notes['date'][:10]}, {machine.get('nvidia-smi') or machine.get('description') or notes['device']}",
        "",
    ]
    head += [f"`python tests/benchmarks/cuda.py`. {versions}.", ""]
    body = [" | ".join(("", *row, "")).strip() for row in rows]
    rule = " | ".join(("", *("---" for _ in rows[0]), "")).strip()
    return "\n".join([*head, body[0], rule, *body[1:], "", *(f"- {line}" for line in lines), ""])


def summarise(device: str, tasks: Sequence[str], found: dict[int, dict[str, Any]], notes_path: Path | None) -> int:
    """Print everything, keep it where asked, and say with the exit code whether all went well."""
    make = sibling("cuda_checks").Result
    results, extras, machine, lines = [], {}, {}, []
    skipped = []
    for number, task in enumerate(tasks):
        record = found.get(number, {"skipped": "it did not run"})
        kind, name, dtype = task.split("/")
        if "skipped" in record:
            skipped.append(task.strip("/"))
        elif kind == "extra" and "failed" not in record:
            extras[name] = record["extra"]
            machine = record.get("machine", machine)
        else:
            result = make(**record["result"]) if "result" in record else make(name, dtype, "")
            result.failed = result.failed or record.get("failed", "")
            results.append(result)
            lines += [f"{name} {dtype}: {note}" for note in result.notes]
            if result.failed:
                lines.append(f"FAILED {task.strip('/')}: {result.failed}")
    failed = [r for r in results if r.failed]
    limits = extras.get("limits") or {}
    copy = limits.get("copy_gb_per_s", 0.0)
    timings = [r for r in results if r.times_us]
    checks = [r for r in results if not r.times_us]
    if limits:
        lines.append(f"copy {copy:.0f} GB/s, float32 matrix product {limits['peak_gflops'] / 1e3:.1f} Tflop/s")
    if "20 kernels us" in extras:
        found20 = extras["20 kernels us"]
        lines.append(
            f"a plan of {found20['kernels']:.0f} kernels: {found20['us']:.1f} us a run, "
            f"{'recorded' if found20['recorded'] else 'NOT recorded'} (target: 20 in 40 us)"
        )
    if "first call s" in extras:
        lines.append(
            "first call of 100 equations: " + ", ".join(f"{k} {s:.2f} s" for k, s in extras["first call s"].items())
        )
    if "loops of one block us" in extras:
        each = ", ".join(f"{k} {us:.1f} us" for k, us in extras["loops of one block us"].items())
        lines.append(f"an iteration of a loop that a scalar of the device ends: {each}")
    absent = missing(PEERS) if device != "cuda-sim" else []
    if absent:
        lines.append(f"not installed, so not compared: {', '.join(absent)}")
    if skipped:
        lines.append(f"{len(skipped)} tasks for which no time was left: {', '.join(skipped)}")
    lines.append(f"{len(results) - len(failed)} checks passed, {len(failed)} failed")
    rows = table(timings or checks, copy)
    print()
    if timings:
        print(aligned(table(checks, 0.0)), end="\n\n")
    print(aligned(rows), *lines, sep="\n")
    notes = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"), "device": device,
        "machine": machine or describe(device), "limits": limits or None,
        "results": [asdict(r) for r in results], "skipped": skipped, **extras,
    }  # fmt: skip
    if notes_path is not None:
        notes_path.parent.mkdir(parents=True, exist_ok=True)
        if notes_path.suffix == ".md":
            before = notes_path.read_text(encoding="utf-8") if notes_path.exists() else ""
            notes_path.write_text(f"{before}\n{markdown(notes, rows, lines)}".lstrip(), encoding="utf-8")
        else:
            notes_path.write_text(json.dumps(notes, indent=1) + "\n", encoding="utf-8")
    elif timings:
        print("\nFor the notes:\n", markdown(notes, rows, lines), sep="\n")
    return 1 if failed or not results else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument(
        "--elements", type=int, default=0, help="of the largest arrays; by default 2**28, simulated 300"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--only", default="", help="tasks whose names have one of these words, such as time/newton")
    parser.add_argument("--notes", type=Path, help="write everything to this .json file, or append to this .md file")
    parser.add_argument(
        "--wheels",
        type=Path,
        help="a folder with wheels of packages that are not installed here; by default `wheels` in the source tree",
    )
    parser.add_argument("--work", help=argparse.SUPPRESS)  # a worker's tasks and the file that it writes to
    options = parser.parse_args(arguments)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        wheels = options.wheels or HERE.parents[1] / "wheels"
        if options.work and "WORKBENCH_UNPACKED" in os.environ:
            take(os.environ["WORKBENCH_UNPACKED"])
        elif wheels.is_dir():
            unpack(wheels, Path(folder) / "packages")
        simulated = options.device == "cuda-sim"
        absent = missing((*NEEDED, *(() if simulated else ON_A_GPU)))
        replaced = sibling("cuda_stand_ins").install(absent)
        absent = [name for name in absent if name not in replaced]
        if replaced and not options.work:
            print(f"not installed here, and replaced by stand-ins: {', '.join(replaced)}")
        if absent:
            print(how_to_bring(absent))
            if set(absent) & {*NEEDED, "numba_cuda"} or simulated:
                return 2
        import workbench as wb
        from workbench.errors import DeviceError

        try:
            device = wb.device(options.device).name
        except DeviceError as error:
            print(error)
            return 2
        n = options.elements or (300 if simulated else 1 << 28)
        if options.work:
            numbers, _, path = options.work.partition(":")
            return work(device, n, [int(number) for number in numbers.split(",")], Path(path))
        tasks = tasks_of(device)
        words = options.only.split(",")
        chosen = [number for number, task in enumerate(tasks) if any(word in task for word in words)]
        if simulated:
            found = {number: perform(tasks[number], device, n) for number in chosen}
        else:
            found = supervised(device, n, tasks, chosen, Path(folder), start + options.seconds)
        tasks, found = [tasks[number] for number in chosen], {k: found[number] for k, number in enumerate(chosen)}
        return summarise(device, tasks, found, options.notes)


def supervised(
    device: str, n: int, tasks: Sequence[str], chosen: Sequence[int], folder: Path, deadline: float
) -> dict[int, dict[str, Any]]:
    def command(numbers: list[int], path: Path) -> list[str]:
        what = f"{','.join(map(str, numbers))}:{path}"
        return [sys.executable, str(Path(__file__).resolve()), "--device", device, "--elements", str(n), "--work", what]

    def show(number: int, record: dict[str, Any]) -> None:
        state = record.get("skipped") or record.get("failed") or "ok"
        print(f"{tasks[number].strip('/')}: {state}", flush=True)

    return sibling("cuda_supervisor").supervise(
        chosen, command, folder, deadline=deadline, task_s=TASK_S, on_end=show
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
