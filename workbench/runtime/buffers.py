"""Buffers: memory for results and intermediates.

Touching fresh pages costs more than the arithmetic of most kernels, so that large blocks are recycled: when the last
array on a block is gone, the block waits for the next request of its size. The pool keeps at most `config.pool_bytes`
(a sixteenth of memory by default) and asks for huge pages.
"""

from __future__ import annotations

import mmap
import threading

import numpy as np
import psutil

# Below this malloc recycles by itself, and an array costs less than a lease.
LARGE_BYTES = 1 << 19
PAGE = 1 << 21


class Block:
    """A piece of memory from the system, and where it is."""

    __slots__ = ("address", "memory")

    def __init__(self, memory: mmap.mmap):
        self.memory = memory
        self.address: int = np.frombuffer(memory, np.uint8, 1).__array_interface__["data"][0]


class Pool:
    """Freed blocks, by size."""

    def __init__(self, limit_bytes: int):
        self.limit_bytes = limit_bytes
        self.kept_bytes = 0
        self._free: dict[int, list[Block]] = {}
        self._lock = threading.RLock()  # a finaliser may run while we hold it

    def take(self, n_bytes: int) -> Block:
        with self._lock:
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
        with self._lock:
            if self.kept_bytes + n_bytes <= self.limit_bytes:
                self.kept_bytes += n_bytes
                self._free.setdefault(n_bytes, []).append(block)

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


def allocate(shape: tuple[int, ...], dtype: np.dtype, n_bytes: int) -> np.ndarray:
    """A C-contiguous array with undefined contents; `n_bytes` is its size."""
    if n_bytes < LARGE_BYTES:
        return np.empty(shape, dtype)
    rounding = PAGE if n_bytes >= PAGE else mmap.PAGESIZE
    n_bytes = -(-n_bytes // rounding) * rounding
    return np.asarray(_Lease(pool, n_bytes, pool.take(n_bytes), shape, dtype))
