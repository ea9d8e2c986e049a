"""The measured limits of the machine and of its GPUs: bandwidth of memory and caches, peak arithmetic, taken once and
kept."""

from __future__ import annotations

import json
import platform
import re
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .machine import cache_sizes
from .memory.buffers import allocate
from .native.kernels import cache_folder
from .native.threads import available_threads, launch

COPY_BYTES = 1 << 27  # well past any cache
MATRIX = 1024
CACHED_BYTES = 1 << 18  # where the system does not say what a core's cache holds
REPEATS = 5


@dataclass(frozen=True, slots=True)
class Limits:
    """copy_gb_per_s: bytes read plus bytes written; peak_gflops: f64, a multiply-add counts as two; cache_gb_per_s: as
    copy_gb_per_s, where every thread stays in its core's caches, which together hold cache_bytes (0: not known)."""

    copy_gb_per_s: float
    peak_gflops: float
    n_threads: int
    cache_gb_per_s: float = 0.0
    cache_bytes: int = 0


_lock = threading.Lock()
_known: dict[str, Limits] = {}


def machine_limits(device: str = "cpu", *, anew: bool = False) -> Limits | None:
    """Measure in a second or two the first time on this machine, or `anew`; else read back. None for the simulator,
    whose times say nothing about any machine."""
    place = _measured_as(device)
    if not place:
        return None
    with _lock:
        if anew:
            _known[place] = _measure(place)
        elif place not in _known:
            _known[place] = _read(place) or _measure(place)
        return _known[place]


def known_limits(device: str = "cpu") -> Limits | None:
    """The limits if they have been measured before; never measures."""
    place = _measured_as(device)
    with _lock:
        if place and place not in _known:
            found = _read(place)
            if found is not None:
                _known[place] = found
        return _known.get(place)


def title_of(device: str) -> str:
    """The name of a GPU, "" for other devices: they are the processor's."""
    return _memory_of(device).title if device.startswith("cuda:") else ""


def _memory_of(device: str) -> Any:
    from .cuda.memory import memory_of  # with numba, which programs of the CPU do without

    return memory_of(device)


def _measured_as(device: str) -> str:
    return "" if device == "cuda-sim" else device if device.startswith("cuda:") else "cpu"


def _path(place: str):
    folder = cache_folder()
    # Machines of one name may get another GPU.
    which = available_threads() if place == "cpu" else re.sub(r"\W+", "-", f"{place} {title_of(place)}")
    return None if folder is None else folder.parent / f"limits-{platform.node()}-{which}.json"


def _read(place: str) -> Limits | None:
    path = _path(place)
    try:
        found = None if path is None else Limits(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None
    # Measured by a version that left out the caches.
    return None if found is not None and place == "cpu" and not found.cache_gb_per_s else found


def _measure(place: str) -> Limits:
    if place == "cpu":
        limits = _measure_cpu()
    else:
        copy_gb_per_s, peak_gflops = _memory_of(place).measure_limits()
        limits = Limits(copy_gb_per_s, peak_gflops, 1)
    path = _path(place)
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(asdict(limits)))
        except OSError:
            pass
    return limits


def _measure_cpu() -> Limits:
    n_threads = available_threads()
    source = allocate((COPY_BYTES // 8,), np.dtype(np.float64), COPY_BYTES)
    target = allocate((COPY_BYTES // 8,), np.dtype(np.float64), COPY_BYTES)
    source[:] = 1.0
    target[:] = 0.0

    def copy(start: int, stop: int) -> None:
        np.copyto(target[start:stop], source[start:stop])

    copy_s = _best(lambda: launch(copy, len(source), len(source) // (4 * n_threads), n_threads, ()))
    cache_gb_per_s = _cache_bandwidth(n_threads)
    # A matrix product of the library comes closest to the peak of the arithmetic units.
    matrix = np.linspace(0.0, 1.0, MATRIX * MATRIX).reshape(MATRIX, MATRIX)
    product = np.empty_like(matrix)
    product_s = _best(lambda: np.matmul(matrix, matrix, out=product))
    return Limits(
        2 * COPY_BYTES / copy_s / 1e9, 2.0 * MATRIX**3 / product_s / 1e9, n_threads, cache_gb_per_s, cache_sizes()[1]
    )  # fmt: skip


def _cache_bandwidth(n_threads: int) -> float:
    """Of copies within a core's own cache, one at a time, on all cores."""
    n_bytes = (cache_sizes()[0] or CACHED_BYTES) // 4  # source and target take half of it
    source, target = np.zeros(n_bytes, np.uint8), np.zeros(n_bytes, np.uint8)
    turns = range(max(1, COPY_BYTES // n_bytes))

    def copy() -> None:
        for _ in turns:
            np.copyto(target, source)

    return 2 * n_bytes * len(turns) * n_threads / _best(copy) / 1e9


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)
