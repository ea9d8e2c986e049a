"""The machine that measured: its name, its limits where they are known, and the versions that made the kernels."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..runtime.limits import known_limits, title_of
from ..runtime.native.threads import available_threads
from .schema import Machine


def describe_machine(device: str = "cpu", threads: int | None = None, limits: Any = None) -> Machine:
    """limits: see `runtime.limits.Limits`; by default those that were measured on this machine before."""
    limits = limits if limits is not None else known_limits(device)
    return Machine(
        device=device,
        description=f"{title_of(device) or _processor()}, {platform.system()}",
        threads=threads if threads is not None else available_threads(),
        copy_gb_per_s=_positive(getattr(limits, "copy_gb_per_s", None)),
        peak_gflops=_positive(getattr(limits, "peak_gflops", None)),
        cache_gb_per_s=_positive(getattr(limits, "cache_gb_per_s", None)),
        cache_bytes=getattr(limits, "cache_bytes", 0),
        versions=dict(_versions(device.startswith("cuda:"))),
    )


def _positive(value: float | None) -> float | None:
    return float(value) if value is not None and value > 0 else None


@cache
def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model") and value.strip():
                return " ".join(value.split())
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()


@cache
def _versions(with_cuda: bool) -> tuple[tuple[str, str], ...]:
    from .. import __version__

    found = [("workbench", __version__), ("python", platform.python_version())]
    for name in ("numpy", "numba", *(("numba-cuda", "cupy-cuda12x", "cupy-cuda13x") if with_cuda else ())):
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return tuple(found)
