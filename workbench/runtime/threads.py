"""Threads: runs ranges of a kernel's outer loop on several cores.

The caller and the workers take chunks from one counter, so that a busy core slows nothing but its own chunk: whoever is
free takes the next, and the caller does everything itself if nobody comes. What remains is the wait for a worker that
another program's thread has pushed off its core in the middle of a chunk, for milliseconds: where launches took longer
than the caller alone would have, the next ones leave the workers asleep, for longer each time, and then try again.
Kernels release the GIL. Workers sleep between kernels, and keep off the core of the thread that wakes them; after a
fork the child starts its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import count
from queue import SimpleQueue
from time import perf_counter

from .cores import ask_for_short_slices, current_core, restrict, usable_cores
from .machine import physical_cores

# Chunks per thread: enough that a slow core costs a few per cent, few enough that taking them costs nothing.
CHUNKS_PER_THREAD = 6
# After so many launches alone, at most, the workers are tried again.
MOST_ALONE = 256
# Launches over which gains and losses are weighed, and a mean loss that may be noise.
REMEMBERED = 8
TOLERATED_LOSS = 0.02


def available_threads() -> int:
    """Physical cores that this process may use."""
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        usable = os.cpu_count() or 1
    return max(1, min(usable, physical_cores() or usable))


class _Work:
    """One kernel launch: ranges that are still to be taken."""

    __slots__ = ("args", "bounds", "counter", "done", "error", "kernel", "lock", "unfinished")

    def __init__(self, kernel: Callable[..., object], bounds: list[int], args: tuple):
        self.kernel = kernel
        self.bounds = bounds
        self.args = args
        self.counter = count()
        self.lock = threading.Lock()
        self.unfinished = len(bounds) - 1
        self.done = threading.Lock()  # held until the last chunk is finished
        self.done.acquire()
        self.error: BaseException | None = None

    def run(self) -> int:
        """Take chunks until none is left; how many these were."""
        n = len(self.bounds) - 1
        taken = 0
        while (chunk := next(self.counter)) < n:
            taken += 1
            try:
                if self.error is None:
                    self.kernel(self.bounds[chunk], self.bounds[chunk + 1], *self.args)
            except BaseException as error:  # handed to the caller, who raises it
                self.error = error
            with self.lock:
                self.unfinished -= 1
                if not self.unfinished:
                    self.args = ()  # a worker that wakes late must not keep the arrays
                    self.done.release()
        return taken


class _Pace:
    """Whether the workers are worth waking, judged by what the last launches gained or lost by them: where it was a
    loss, the next ones go without, twice as many each time."""

    __slots__ = ("alone", "gain", "lost")

    def __init__(self) -> None:
        self.alone = 0  # launches to come that go without
        self.lost = 1
        self.gain = 0.0  # a moving mean, in parts of the time that the caller alone would have taken

    def wakes_workers(self) -> bool:
        if self.alone:
            self.alone -= 1
            return False
        return True

    def record(self, elapsed_s: float, alone_s: float) -> None:
        """A launch took `elapsed_s`; the caller alone would have taken `alone_s`, judged by its own chunks."""
        self.gain += (1.0 - elapsed_s / alone_s - self.gain) / REMEMBERED
        if self.gain < -TOLERATED_LOSS:
            self.lost = min(2 * self.lost, MOST_ALONE)
            self.alone, self.gain = self.lost, 0.0
        elif self.gain > TOLERATED_LOSS:
            self.lost = max(1, self.lost // 2)


class _Workers:
    def __init__(self) -> None:
        self.queue: SimpleQueue[_Work] = SimpleQueue()
        self.lock = threading.Lock()
        self.n_started = 0
        self.local = threading.local()
        self.homes: dict[int, frozenset[int]] = {}  # the cores that each worker might run on, by its native id
        self.avoided_core = -1

    def wake(self, n: int, work: _Work) -> None:
        """Let `n` workers take part in `work`."""
        if self.n_started < n:
            self._start(n)
        if current_core is not None and (core := current_core()) != self.avoided_core:
            self._avoid(core)
        for _ in range(n):
            self.queue.put(work)

    def _start(self, n: int) -> None:
        with self.lock:
            while self.n_started < n:
                self.n_started += 1
                threading.Thread(target=self._loop, name=f"workbench-{self.n_started}", daemon=True).start()

    def _avoid(self, core: int) -> None:
        with self.lock:
            self.avoided_core = core
            for worker, home in self.homes.items():
                restrict(worker, home - {core} or home)

    def _loop(self) -> None:
        self.local.is_worker = True
        ask_for_short_slices()
        home = usable_cores()
        if len(home) > 1:
            with self.lock:
                self.homes[threading.get_native_id()] = home
                self.avoided_core = -1
        while True:
            self.queue.get().run()


_workers = _Workers()
_pace = _Pace()


def _forget_workers() -> None:
    global _workers
    _workers = _Workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)


def launch(kernel: Callable[..., object], extent: int, grain: int, n_threads: int, args: tuple) -> None:
    """Run `kernel(start, stop, *args)` over the whole of `range(extent)`, in parallel where the work is worth it."""
    n_threads = min(n_threads, extent // grain)
    if n_threads < 2 or getattr(_workers.local, "is_worker", False):
        kernel(0, extent, *args)
        return
    n_chunks = min(n_threads * CHUNKS_PER_THREAD, extent // grain)
    work = _Work(kernel, [extent * i // n_chunks for i in range(n_chunks + 1)], args)
    if not _pace.wakes_workers():
        work.run()
    else:
        begin = perf_counter()
        _workers.wake(n_threads - 1, work)
        own = work.run()
        own_s = perf_counter() - begin
        work.done.acquire()
        if own:
            _pace.record(perf_counter() - begin, own_s * n_chunks / own)
    if work.error is not None:
        raise work.error
