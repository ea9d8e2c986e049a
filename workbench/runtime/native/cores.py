"""Cores: where threads run, asked of the operating system (Linux; elsewhere it decides alone).

A worker that is woken while another program keeps its core busy lands, as likely as not, on the core of the thread that
wakes it, and waits there for the very kernel that it should share (Linux: `select_task_rq` takes the waker's core where
none is idle). So workers keep off the caller's core, and ask for short slices, with which they get their turn at once
even where a neighbour never sleeps (EEVDF, Linux 6.12: `sched_setattr(2)`; older kernels ignore the wish).
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Callable, Collection

SLICE_NS = 100_000  # the shortest that Linux grants
_SETATTR_CALLS = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
_SETATTR_FORMAT = "=IIQiIQQQ"  # struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period


def _find_current_core() -> Callable[[], int] | None:
    try:
        # Unlike CDLL, PyDLL keeps the GIL: this takes less time than letting go of it.
        function = ctypes.PyDLL(None).sched_getcpu
    except (AttributeError, OSError, TypeError):  # macOS, Windows
        return None
    return function if hasattr(os, "sched_setaffinity") and function() >= 0 else None


current_core = _find_current_core()


def usable_cores() -> frozenset[int]:
    """Those that this process may use, judged by its main thread; empty where the system does not say."""
    return frozenset(os.sched_getaffinity(os.getpid())) if current_core is not None else frozenset()


def restrict(thread_id: int, cores: Collection[int]) -> None:
    """Let a thread (`threading.get_native_id`) run on these cores only. No error if it has ended or may not."""
    try:
        os.sched_setaffinity(thread_id, cores)
    except OSError:
        pass


def ask_for_short_slices() -> bool:
    """Let the calling thread have its turn sooner and for a shorter time; whether the system took the wish."""
    number = _SETATTR_CALLS.get(platform.machine())
    if sys.platform != "linux" or number is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return False
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    size = struct.calcsize(_SETATTR_FORMAT)
    attributes = struct.pack(_SETATTR_FORMAT, size, os.SCHED_OTHER, 0, nice, 0, SLICE_NS, 0, 0)
    return ctypes.CDLL(None).syscall(number, 0, attributes, 0) == 0
