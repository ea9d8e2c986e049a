"""The machine: memory, caches and cores. Linux says so itself; elsewhere psutil is asked, whose import takes 14 ms."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_CORES = Path("/sys/devices/system/cpu")


def total_memory() -> int:
    """Bytes of physical memory."""
    if sys.platform == "linux":
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError):
            pass
    import psutil

    return psutil.virtual_memory().total


def physical_cores() -> int | None:
    """How many cores the processors have, where two threads of one core count once; None if the system does not say."""
    if sys.platform == "linux":
        try:
            cores = {path.read_text() for path in _CORES.glob("cpu[0-9]*/topology/thread_siblings_list")}
        except OSError:
            cores = set()
        if cores:
            return len(cores)
    import psutil

    return psutil.cpu_count(logical=False)


def cache_sizes() -> tuple[int, int]:
    """Bytes of the second-level cache of a core and of the last level; 0 where the system does not say."""
    sizes = {}
    for folder in _CORES.glob("cpu0/cache/index*"):
        try:
            text = (folder / "size").read_text().strip()
            sizes[int((folder / "level").read_text())] = int(text.rstrip("KM")) << {"K": 10, "M": 20}.get(text[-1], 0)
        except (OSError, ValueError):
            continue
    return sizes.get(2, 0), sizes[max(sizes)] if sizes else 0
