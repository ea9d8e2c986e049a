"""The harness of the side-by-side benchmarks: one process, all contestants in turn, medians and ratios.

Contestants take turns in every round, so that a slow minute of the machine hits them all. A call that is shorter than
a millisecond is repeated inside a measurement. Compiling and warming up come before, and are not counted. Ratios above 1
are faster.
"""

from __future__ import annotations

import json
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS = 15
MIN_SAMPLE_S = 1e-3
WARM_UPS, WARM_UP_S = 20, 0.1
BASELINE = "NumPy"


@dataclass(frozen=True, slots=True)
class Case:
    """contestants: name -> a call without arguments that does the whole work and waits for it; the first is NumPy.
    rtol: how far the results may be apart, relative to the largest magnitude."""

    name: str
    detail: str
    contestants: Mapping[str, Callable[[], Any]]
    rtol: float = 1e-9


@dataclass(slots=True)
class Measurement:
    contestant: str
    times_us: list[float] = field(default_factory=list)

    @property
    def median_us(self) -> float:
        return statistics.median(self.times_us)

    @property
    def spread(self) -> float:
        """The interquartile range, as a part of the median."""
        low, _, high = statistics.quantiles(self.times_us, n=4)
        return (high - low) / self.median_us


@dataclass(slots=True)
class Row:
    case: str
    detail: str
    measurements: list[Measurement]
    compiles: bool = False  # the time includes compilation, of which NumPy has none: it is no peer then
    limit_us: float | None = None  # see `limit`

    def median_us(self, contestant: str) -> float | None:
        return next((m.median_us for m in self.measurements if m.contestant == contestant), None)

    def ratio(self, contestant: str, to: str = BASELINE) -> float | None:
        """How many times faster than `to` a contestant is."""
        ours, base = self.median_us(contestant), self.median_us(to)
        return base / ours if ours and base else None

    def to_best_peer(self, contestant: str) -> float | None:
        """How many times faster than the fastest of the others, forms of itself (`contestant ...`) left out."""
        own = contestant.partition(" ")[0]
        left_out = (own, BASELINE) if self.compiles else (own,)
        others = [m.median_us for m in self.measurements if not m.contestant.startswith(left_out)]
        ours = self.median_us(contestant)
        return min(others) / ours if ours and others else None


def run_case(case: Case, rounds: int = ROUNDS, pause_s: float = 0.0) -> Row:
    """Warm up, check that all contestants agree with NumPy, measure. pause_s: before each contestant's turn; without
    one, the threads of OpenMP and BLAS still spin from turns before, which favours their owners over who comes next."""
    reference = arrays_of(case.contestants[BASELINE]())
    repeats = {}
    for name, call in case.contestants.items():
        found = arrays_of(call())
        for expected, value in zip(reference, found, strict=True):
            atol = case.rtol * np.abs(expected).max(initial=0)
            message = f"{case.name}: {name}"
            np.testing.assert_allclose(value, expected, rtol=case.rtol, atol=atol, err_msg=message)
        repeats[name] = max(1, int(MIN_SAMPLE_S / max(_warmed_up(call), 1e-7)))
    measurements = {name: Measurement(name) for name in case.contestants}
    order = list(case.contestants)
    shuffle = random.Random(0).shuffle
    for _ in range(rounds):
        shuffle(order)  # whoever follows a writer of large temporaries finds the caches cold
        for name in order:
            time.sleep(pause_s)
            call, n = case.contestants[name], repeats[name]
            begin = time.perf_counter()
            for _ in range(n):
                call()
            measurements[name].times_us.append((time.perf_counter() - begin) / n * 1e6)
    return Row(case.name, case.detail, list(measurements.values()))


def _warmed_up(call: Callable[[], Any]) -> float:
    """Seconds that a call takes at best, after the first ones: these try things out, and threads are still asleep. Who
    is judged by them would be given fewer repetitions than others that take as long, and be cold in each."""
    times = []
    while len(times) < WARM_UPS and (len(times) < 2 or sum(times) < WARM_UP_S):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def arrays_of(value: Any) -> list[np.ndarray]:
    """The arrays in a result."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in arrays_of(item)]
    return [np.asarray(value)]


def table(rows: Sequence[Row], ours: str) -> str:
    """Times of all contestants, `ours` with its ratio to the best of the others and its share of the machine's limit."""
    names = list(dict.fromkeys(m.contestant for row in rows for m in row.measurements))
    head = ["case", "", *names, "to best peer", "of the limit"]
    lines = [head]
    for row in rows:
        ratio = row.to_best_peer(ours)
        times = ["-" if (median := row.median_us(name)) is None else _time(median) for name in names]
        lines.append([row.case, row.detail, *times, "-" if ratio is None else f"{ratio:.2f}x", _share(row, ours)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    text = [
        "  ".join(
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([text[0], "-" * max(map(len, text)), *text[1:]])


def _share(row: Row, ours: str) -> str:
    median = row.median_us(ours)
    return f"{row.limit_us / median:.0%}" if row.limit_us and median else "-"


def _time(us: float) -> str:
    if us < 1e3:
        return f"{us:.3g} us"
    return f"{us / 1e3:.3g} ms" if us < 1e6 else f"{us / 1e6:.3g} s"


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    versions = {"python": platform.python_version()}
    for name in ("numpy", "numba", "jax", "torch", "workbench"):
        module = sys.modules.get(name)
        if module is not None:
            versions[name] = str(getattr(module, "__version__", "?"))
    return {"processor": _processor(), "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity")
            else os.cpu_count(), "system": platform.platform(), "versions": versions}  # fmt: skip


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def write_json(rows: Sequence[Row], path: Path) -> None:
    """All single times, for comparing runs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {
        "machine": machine(),
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "rows": [asdict(row) for row in rows],
    }
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
