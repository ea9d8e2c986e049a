"""Threads: runs ranges of a kernel's outer loop on several cores.

The caller and the workers take ranges of one launch after another, so that a busy core slows nothing but its own range:
whoever is free takes the next, and the caller does everything itself if nobody comes. They do so without Python (see
`codegen.llvm_pool`): waking a worker costs what the system needs for it, and workers that have just been at work watch
for the next launch for about as long, then sleep. What remains is the wait for a worker that another program's thread
has pushed off its core in the middle of a range, for milliseconds: where launches took longer than the caller alone
would have, the next ones leave the workers asleep, for longer each time, and then try again.

There is one pool; who finds it taken works alone. Workers keep off the core of the thread that wakes them. After a fork
the child starts its own.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...codegen import llvm_pool as pool_words
from ...codegen.kernel import KernelArg
from ...codegen.llvm_pool import LARGE, RECORD, SHARE, UNTIMED, WORKER, share_program
from ..machine import physical_cores
from . import machine_code
from .cores import ask_for_short_slices, current_core, restrict, usable_cores
from .kernels import function_at, machine_address

# Ranges per thread: enough that a slow core costs a few per cent, few enough that taking them costs nothing.
RANGES_PER_THREAD = 6
# Work is timed that was estimated to be so many times less than what is worth waking a thread for: what a kernel takes
# is only guessed.
DOUBT = 8
# Ranges may be so much smaller than what is worth a thread: taking one costs less than a microsecond, waking a worker
# twenty.
RANGES_PER_GRAIN = 12
# Ranges are so many times what two of them that meet both compute, unless threads would then have nothing to do.
RANGE_PER_OVERLAP = 4
MOST_WORKERS = 255


def available_threads() -> int:
    """Physical cores that this process may use."""
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        usable = os.cpu_count() or 1
    return max(1, min(usable, physical_cores() or usable))


class _Pool:
    """The words that callers and workers share, and the workers. It lives as long as the process: workers outlive the
    interpreter."""

    def __init__(self) -> None:
        python = ctypes.pythonapi
        python.PyThread_allocate_lock.restype = ctypes.c_void_p
        python.PyMem_RawMalloc.restype = ctypes.c_void_p
        python.PyMem_RawMalloc.argtypes = (ctypes.c_size_t,)
        n_bytes = 8 * pool_words.n_words(MOST_WORKERS) + 64
        self.address = -(-python.PyMem_RawMalloc(n_bytes) // 64) * 64
        self.words = (ctypes.c_int64 * pool_words.n_words(MOST_WORKERS)).from_address(self.address)
        self.share_address = _machine(SHARE)
        self.share = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(
            self.share_address
        )
        self.record = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(_machine(RECORD))
        self._work = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(_machine(WORKER))
        self._prepare = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(self.prepare)
        self.lock = threading.Lock()
        self.homes: dict[int, frozenset[int]] = {}  # the cores that each worker might run on, by its native id
        self.reset()

    def reset(self) -> None:
        """No workers, no launch."""
        words = self.words
        ctypes.memset(self.address, 0, ctypes.sizeof(words))
        words[pool_words.DONE] = _held_lock()
        words[pool_words.PREPARE] = _where(self._prepare)
        words[pool_words.CORE_OF] = _address("sched_getcpu") if current_core is not None else 0
        if hasattr(time, "CLOCK_MONOTONIC"):
            words[pool_words.CLOCK], words[pool_words.CLOCK_ID] = clock_address(), time.CLOCK_MONOTONIC
        words[pool_words.CORE], words[pool_words.LOST] = -1, 1
        self.lock = threading.Lock()
        self.homes = {}

    def prepare(self, n: int) -> int:
        """Before a launch with `n` workers, when there are fewer or the caller has come to another core."""
        with self.lock:
            while self.words[pool_words.N_WORKERS] < n:
                number = self.words[pool_words.N_WORKERS]
                self.words[pool_words.WORKERS + pool_words.EACH * number + 1] = _held_lock()
                name = f"workbench-{number + 1}"
                try:
                    threading.Thread(target=self._live, args=(number,), name=name, daemon=True).start()
                except RuntimeError:  # the interpreter is shutting down
                    break
                self.words[pool_words.N_WORKERS] = number + 1
            core = self.words[pool_words.CORE]
            if core >= 0:
                for worker, home in self.homes.items():
                    restrict(worker, home - {core} or home)
        return 0

    def _live(self, number: int) -> None:
        ask_for_short_slices()
        home = usable_cores()
        if len(home) > 1:
            with self.lock:
                self.homes[threading.get_native_id()] = home
                self.words[pool_words.CORE] = -1  # the next launch tells this one where not to be
        self._work(self.address, number)


_guard = threading.RLock()
_made: list[_Pool] = []


def _pool() -> _Pool:
    """The one pool of this process."""
    if not _made:
        with _guard:
            if not _made:
                _made.append(_Pool())
    return _made[0]


def _machine(symbol: str) -> int:
    return machine_address(pool_words.machine(platform.machine()), symbol)


def _held_lock() -> int:
    lock = ctypes.pythonapi.PyThread_allocate_lock()
    ctypes.pythonapi.PyThread_acquire_lock(ctypes.c_void_p(lock), 1)
    return lock


def _address(name: str) -> int:
    """Where a function of the C library is; 0 if there is none of that name."""
    try:
        function: Any = getattr(ctypes.CDLL(None), name, None)
    except (OSError, TypeError):  # Windows
        return 0
    return 0 if function is None else _where(function)


def _where(function: Any) -> int:
    """The address of a function of ctypes. (`ctypes.cast` would keep the function alive in a cycle.)"""
    return ctypes.c_void_p.from_buffer(function).value or 0


@cache
def clock_address() -> int:
    """The address of `clock_gettime`; 0 where there is none."""
    return _address("clock_gettime") if hasattr(time, "CLOCK_MONOTONIC") else 0


def _forget_workers() -> None:
    global _guard
    _guard = threading.RLock()
    for pool in _made:
        pool.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)


def may_share(extent: int, grain: int, n_threads: int) -> bool:
    """Whether a kernel may have enough work for several threads. grain: the least range that is worth waking a thread
    for, as it was estimated."""
    return n_threads > 1 and extent > 1 and DOUBT * extent >= grain


def share(kernel: int, extent: int, grain: int, n_threads: int, overlap: int = 0) -> tuple[int, np.ndarray]:
    """What runs the kernel at an address over ranges of `range(extent)` in several threads: the address of a function
    that takes what kernels do, and the program that comes before the kernel's own arguments. overlap: how much of two
    ranges that meet both compute."""
    pool = _pool()
    is_large = extent >= 2 * grain
    n_threads = min(n_threads, extent // grain if is_large else extent, MOST_WORKERS + 1)
    n_ranges = min(n_threads * RANGES_PER_THREAD, extent // max(1, grain // RANGES_PER_GRAIN) if is_large else extent)
    if overlap:
        n_wide = extent // (RANGE_PER_OVERLAP * overlap)
        n_ranges = min(n_ranges, max(n_wide - n_wide % n_threads, min(n_threads, extent // (2 * overlap)), 1))
    program = share_program(pool.address, kernel, n_threads, n_ranges, LARGE if is_large else UNTIMED)
    return pool.share_address, np.array(program, np.int64)


PROGRAM = KernelArg("program", "in", None, "int64", 1)


def shared_function(
    args: Sequence[KernelArg], kernel: int, extent: int, grain: int, n_threads: int, overlap: int = 0
) -> tuple[Callable[..., None], np.ndarray]:
    """`function(0, extent, program, *args)` runs the kernel at an address in several threads."""
    at, program = share(kernel, extent, grain, n_threads, overlap)
    return function_at(at, [PROGRAM, *args]), program


def launch(kernel: Callable[..., object], extent: int, grain: int, n_threads: int, args: tuple) -> None:
    """Run a function of Python, `kernel(start, stop, *args)`, over the whole of `range(extent)`, in several threads
    where the work is worth it."""
    if n_threads < 2 or extent < 2 * grain or not machine_code.is_possible():
        kernel(0, extent, *args)
        return
    errors: list[BaseException] = []

    def run(start: int, stop: int, _: int) -> int:
        try:
            kernel(start, stop, *args)
        except BaseException as error:  # handed to the caller, who raises it
            errors.append(error)
            return 1
        return 0

    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(run)
    _, program = share(_where(function), extent, grain, n_threads)
    table = (ctypes.c_int64 * pool_words.N_OWN)(program.__array_interface__["data"][0], len(program))
    _pool().share(0, extent, ctypes.addressof(table))
    if errors:
        raise errors[0]
