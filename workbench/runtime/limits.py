"""The machine's measured limits: copy bandwidth and peak arithmetic, taken once per machine and kept."""

from __future__ import annotations

import json
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from .buffers import allocate
from .kernels import cache_folder
from .threads import available_threads, launch

COPY_BYTES = 1 << 27  # well past any cache
MATRIX = 1024
REPEATS = 5


@dataclass(frozen=True, slots=True)
class Limits:
    """copy_gb_per_s: bytes read plus bytes written; peak_gflops: f64, a multiply-add counts as two."""

    copy_gb_per_s: float
    peak_gflops: float
    n_threads: int


_lock = threading.Lock()
_known: Limits | None = None


def machine_limits() -> Limits:
    """Measure in about a second the first time on this machine; afterwards read back."""
    global _known
    with _lock:
        if _known is None:
            _known = _read() or _measure()
        return _known


def known_limits() -> Limits | None:
    """The limits if they have been measured before; never measures."""
    global _known
    with _lock:
        if _known is None:
            _known = _read()
        return _known


def _path():
    folder = cache_folder()
    return None if folder is None else folder.parent / f"limits-{platform.node()}-{available_threads()}.json"


def _read() -> Limits | None:
    path = _path()
    try:
        return None if path is None else Limits(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _measure() -> Limits:
    n_threads = available_threads()
    source = allocate((COPY_BYTES // 8,), np.dtype(np.float64), COPY_BYTES)
    target = allocate((COPY_BYTES // 8,), np.dtype(np.float64), COPY_BYTES)
    source[:] = 1.0
    target[:] = 0.0

    def copy(start: int, stop: int) -> None:
        np.copyto(target[start:stop], source[start:stop])

    copy_s = _best(lambda: launch(copy, len(source), len(source) // (4 * n_threads), n_threads, ()))
    # A matrix product of the library comes closest to the peak of the arithmetic units.
    matrix = np.linspace(0.0, 1.0, MATRIX * MATRIX).reshape(MATRIX, MATRIX)
    product = np.empty_like(matrix)
    product_s = _best(lambda: np.matmul(matrix, matrix, out=product))
    limits = Limits(2 * COPY_BYTES / copy_s / 1e9, 2.0 * MATRIX**3 / product_s / 1e9, n_threads)
    path = _path()
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(asdict(limits)))
        except OSError:
            pass
    return limits


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)
