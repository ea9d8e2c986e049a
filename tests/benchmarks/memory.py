"""Peak memory of a call, inputs and results aside: what the system had to lend at most while it ran (Linux).

The kernel keeps the process's largest resident size and forgets it on request. Before a call everything that pools and
heaps keep for the next one is given back, so that a call pays for all that it touches. Threads' stacks and the
allocators' rounding count, too: a few hundred kB are noise.
"""

from __future__ import annotations

import ctypes
import gc
import statistics
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from workbench.runtime.memory import buffers

from .harness import BASELINE, Case, arrays_of
from .peers import OURS

NOISE_MB, NOISE = 1.0, 0.1  # the latter as a part of the results
ROUNDS = 3


@dataclass(slots=True)
class Peak:
    """extra_mb: contestant -> the most that a call needed beside its inputs and results."""

    case: str
    detail: str
    results_mb: float
    extra_mb: dict[str, float] = field(default_factory=dict)

    @property
    def exceeds(self) -> bool:
        """Whether the workbench needs more than the best of its peers (NumPy is none: it has no program to plan for)."""
        peers = [mb for name, mb in self.extra_mb.items() if name not in (OURS, BASELINE)]
        return bool(peers) and self.extra_mb[OURS] > min(peers) + max(NOISE_MB, NOISE * self.results_mb)


def is_available() -> bool:
    return Path("/proc/self/clear_refs").exists()


def peak_bytes(call: Callable[[], Any]) -> int:
    """By how much the resident size grew at most during a call whose result is kept until it is over."""
    gc.collect()
    buffers.pool.clear()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    result = call()
    peak = _status("VmHWM")
    del result
    return peak - before


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(name)


def measure(case: Case) -> Peak:
    results = sum(a.nbytes for a in arrays_of(case.contestants[BASELINE]()) if a.base is None or a.base.size == a.size)
    peak = Peak(case.name, case.detail, results / 1e6)
    for name, call in case.contestants.items():
        for _ in range(3):
            call()
        extra = statistics.median(peak_bytes(call) for _ in range(ROUNDS)) - results
        peak.extra_mb[name] = max(0.0, extra / 1e6)
    return peak


def table(peaks: Iterable[Peak]) -> str:
    peaks = list(peaks)
    names = list(dict.fromkeys(name for peak in peaks for name in peak.extra_mb))
    lines = [["case", "", "results", *names, ""]]
    for peak in peaks:
        cells = [f"{peak.extra_mb[name]:.1f}" if name in peak.extra_mb else "-" for name in names]
        verdict = "exceeds the best peer" if peak.exceeds else ""
        lines.append([peak.case, peak.detail, f"{peak.results_mb:.1f}", *cells, verdict])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def as_rows(peaks: Iterable[Peak]) -> list[dict[str, Any]]:
    return [asdict(peak) for peak in peaks]


def temporaries(n: int) -> Iterable[tuple[str, Callable[[Any, Any], Any], tuple[np.ndarray, ...]]]:
    """Programs whose memory depends on what is planned: chains of routines, several uses, loops, products."""
    rng = np.random.default_rng(0)
    x, y = rng.random(n), rng.random(n)
    side = int(n**0.5)
    a = rng.random((side, side))

    def chain(xp: Any, x: Any, y: Any) -> Any:
        z = xp.exp(x) * y
        w = z - z.mean()
        v = w / xp.sqrt((w * w).mean())
        return v * x + y

    def sorted_twice(xp: Any, x: Any, y: Any) -> Any:
        return xp.sort(xp.sort(x + y) * 2 - y) + 1

    def running(xp: Any, x: Any, y: Any) -> Any:
        return xp.cumsum(xp.cumsum(x) * y) - x

    def products(xp: Any, a: Any) -> Any:
        b = (a @ a) * 0.5
        c = (b @ a) + 1
        return c @ b

    def transposed(xp: Any, a: Any) -> Any:
        return (a.T * 2 + a).T - a

    def attention(xp: Any, q: Any, k: Any) -> Any:
        e = xp.exp(q @ xp.swapaxes(k, 0, 1) * 0.1)
        return e / xp.sum(e, 1)[:, None] @ k

    heads = tuple(rng.random((side, 32)) for _ in range(2))
    return (
        ("normalised chain", chain, (x, y)), ("sorted twice", sorted_twice, (x, y)), ("running sums", running, (x, y)),
        ("three products", products, (a,)), ("transposed twice", transposed, (a,)),
        ("attention", attention, heads),
    )  # fmt: skip
