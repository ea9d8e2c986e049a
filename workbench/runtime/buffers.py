"""Buffers: memory for results and intermediates.

Touching fresh pages costs more than the arithmetic of most kernels, so that large blocks are recycled: when the last
array on a block is gone, the block waits for the next request of its size. The pool keeps at most `config.pool_mb` (a
sixteenth of memory by default), asks for huge pages, and gives everything back to the system when nobody has asked for
a while.
"""

from __future__ import annotations

import mmap
import os
import threading
import time

import numpy as np
import psutil

from ..config import config

# Below this malloc recycles by itself, and an array costs less than a lease.
LARGE_BYTES = 1 << 19
PAGE = 1 << 21
# The pool is emptied when no block has been taken or given for so long.
IDLE_S = 20.0


class Block:
    """A piece of memory from the system, and where it is."""

    __slots__ = ("address", "memory")

    def __init__(self, memory: mmap.mmap):
        self.memory = memory
        self.address: int = np.frombuffer(memory, np.uint8, 1).__array_interface__["data"][0]


class Pool:
    """Freed blocks, by size."""

    def __init__(self, limit_bytes: int, idle_s: float = IDLE_S):
        self.most_bytes = limit_bytes
        self.idle_s = idle_s
        self.kept_bytes = 0
        self._used = 0.0  # when a block was last taken or given
        self._watched = False
        self._free: dict[int, list[Block]] = {}
        self._lock = threading.RLock()  # a finaliser may run while we hold it

    @property
    def limit_bytes(self) -> int:
        """The most that waits: `config.pool_mb`, where it is set."""
        return self.most_bytes if config.pool_mb < 0 else config.pool_mb << 20

    def take(self, n_bytes: int) -> Block:
        with self._lock:
            self._used = time.monotonic()
            if not self._watched:
                self._watched = True
                threading.Thread(target=self._empty_when_idle, name="workbench-pool", daemon=True).start()
            blocks = self._free.get(n_bytes)
            if blocks:
                self.kept_bytes -= n_bytes
                return blocks.pop()
        try:
            memory = mmap.mmap(-1, n_bytes)
        except OSError:  # what waits for its next use may be in the way
            self.clear()
            memory = _map(n_bytes)
        if n_bytes >= PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        return Block(memory)

    def give(self, n_bytes: int, block: Block) -> None:
        """Keep a block, if there is room; in a pool that has been idle for long, nobody waits for it."""
        with self._lock:
            if self._watched and self.kept_bytes + n_bytes <= self.limit_bytes:
                self._used = time.monotonic()
                self.kept_bytes += n_bytes
                self._free.setdefault(n_bytes, []).append(block)

    def _empty_when_idle(self) -> None:
        """A thread that sleeps as long as blocks come and go. (`give` could not start one: finalisers call it.)"""
        while True:
            time.sleep(max(self._used + self.idle_s - time.monotonic(), 0.0))
            with self._lock:
                if self._used + self.idle_s <= time.monotonic():
                    self.clear()
                    self._watched = False
                    return

    def clear(self) -> int:
        """Give all kept blocks back to the system; how many bytes that were."""
        with self._lock:
            released, self.kept_bytes = self.kept_bytes, 0
            self._free.clear()
            return released


def _map(n_bytes: int) -> mmap.mmap:
    try:
        return mmap.mmap(-1, n_bytes)
    except OSError as error:
        raise MemoryError(f"Unable to allocate {n_bytes / 2**20:.3g} MiB") from error


class _Lease:
    """Owns a block on behalf of the arrays that lie on it."""

    __slots__ = ("__array_interface__", "_block", "_n_bytes", "_pool")

    def __init__(self, pool: Pool, n_bytes: int, block: Block, shape: tuple[int, ...], dtype: np.dtype):
        self._pool = pool
        self._n_bytes = n_bytes
        self._block = block
        self.__array_interface__ = {"shape": shape, "typestr": dtype.str, "data": (block.address, False), "version": 3}

    def __del__(self) -> None:
        self._pool.give(self._n_bytes, self._block)


pool = Pool(psutil.virtual_memory().total // 16)


def _forget_watcher() -> None:
    pool._watched = False  # threads do not survive a fork
    pool._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_watcher)


def allocate(shape: tuple[int, ...], dtype: np.dtype, n_bytes: int) -> np.ndarray:
    """A C-contiguous array with undefined contents; `n_bytes` is its size."""
    if n_bytes < LARGE_BYTES:
        return np.empty(shape, dtype)
    rounding = PAGE if n_bytes >= PAGE else mmap.PAGESIZE
    n_bytes = -(-n_bytes // rounding) * rounding
    return np.asarray(_Lease(pool, n_bytes, pool.take(n_bytes), shape, dtype))
