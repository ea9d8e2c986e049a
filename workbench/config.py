"""Settings: one `config` object, safe under threads, whose fields can be set or overridden for a `with` block.

config.strict = True                # for the process
with config(strict=True): ...       # for this block, in this thread (or task)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import Any


@dataclass(slots=True)
class Settings:
    """threads: kernels run on at most so many threads (0: as many as the machine has cores);
    strict: code that cannot be traced raises instead of running in NumPy;
    full_tracebacks: show the frames of the workbench, too;
    dump_dir, dump_filter: write every stage of programs whose name matches the regex to this folder ("": nothing);
    cache_dir: where compiled kernels are kept ("": the user's cache folder, "off": nowhere);
    pool_mb: how much freed memory waits for the next large array, in MiB (-1: a sixteenth of the machine's);
    tiers: the first calls run in NumPy, while a thread compiles; off, the first call waits for its kernels, so that
    every call after it takes the same time and gives the same bits;
    numpy_trials: programs with loops or library routines may run in NumPy for a few calls, to see which is faster;
    device: where programs run ("": the GPU for functions with `auto_device`, if there is one, else the CPU);
    lazy_results: what a GPU computes from the host's arrays stays there until it is first looked at, and is handed on
    to the next program without a transfer; off, results are ndarrays at once.
    """

    threads: int = 0
    strict: bool = False
    full_tracebacks: bool = False
    dump_dir: str = ""
    dump_filter: str = ""
    cache_dir: str = ""
    pool_mb: int = -1
    tiers: bool = False
    numpy_trials: bool = True
    device: str = ""
    lazy_results: bool = False


# Every device that was chosen in this process: while there is none, calls need not ask which is current.
device_choices: set[str] = set()

_TYPES = {field.name: type(field.default) for field in fields(Settings)}


def _checked(name: str, value: Any) -> Any:
    kind = _TYPES.get(name)
    if kind is None:
        raise AttributeError(f"config has no field {name!r}; the fields are {', '.join(_TYPES)}")
    if kind is str and isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"config.{name} must be of type {kind.__name__}, not {type(value).__name__}")
    if name == "threads" and value < 0:
        raise ValueError(f"config.threads must be 0 (all cores) or more, not {value}")
    if name == "pool_mb" and value < -1:
        raise ValueError(f"config.pool_mb must be -1 (a sixteenth of memory) or more, not {value}")
    if name == "device" and value:
        device_choices.add(value)
    return value


def _from_environment() -> Settings:
    return Settings(
        threads=int(os.environ.get("WORKBENCH_THREADS") or 0),
        strict=os.environ.get("WORKBENCH_STRICT", "") not in ("", "0"),
        full_tracebacks=os.environ.get("WORKBENCH_FULL_TRACEBACKS", "") not in ("", "0"),
        dump_dir=os.environ.get("WORKBENCH_DUMP", ""),
        dump_filter=os.environ.get("WORKBENCH_DUMP_FILTER", ""),
        cache_dir=os.environ.get("WORKBENCH_CACHE_DIR", ""),
        pool_mb=int(os.environ.get("WORKBENCH_POOL_MB") or -1),
        tiers=os.environ.get("WORKBENCH_TIERS", "") not in ("", "0"),
        numpy_trials=os.environ.get("WORKBENCH_NUMPY_TRIALS", "1") not in ("", "0"),
        device=_checked("device", os.environ.get("WORKBENCH_DEVICE", "")),
        lazy_results=os.environ.get("WORKBENCH_LAZY_RESULTS", "") not in ("", "0"),
    )


class Config:
    """Reads the innermost override of the running thread, else the process's setting."""

    def __init__(self, settings: Settings | None = None):
        self.__dict__["_settings"] = settings or _from_environment()
        self.__dict__["_lock"] = threading.Lock()
        self.__dict__["_overrides"] = ContextVar("workbench_config", default=None)

    def __getattr__(self, name: str) -> Any:  # no field, which are properties
        if name.startswith("_"):
            raise AttributeError(name)
        return _checked(name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        value = _checked(name, value)
        with self._lock:
            setattr(self._settings, name, value)

    @contextmanager
    def __call__(self, **overrides: Any) -> Iterator[Config]:
        """Override fields for a `with` block, in this thread or task alone."""
        checked = {name: _checked(name, value) for name, value in overrides.items()}
        token = self._overrides.set({**(self._overrides.get() or {}), **checked})
        try:
            yield self
        finally:
            self._overrides.reset(token)

    def __dir__(self) -> list[str]:
        return list(_TYPES)

    def __repr__(self) -> str:
        return f"config({', '.join(f'{name}={getattr(self, name)!r}' for name in _TYPES)})"


def _field(name: str) -> property:
    def read(config: Config) -> Any:
        overrides = config._overrides.get()
        if overrides is not None and name in overrides:
            return overrides[name]
        return getattr(config._settings, name)

    return property(read)


for _name in _TYPES:  # every call of a compiled function reads some
    setattr(Config, _name, _field(_name))

config = Config()
