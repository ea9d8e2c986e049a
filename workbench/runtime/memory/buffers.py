"""Buffers: memory for results and intermediates.

Touching fresh pages costs more than the arithmetic of most kernels, so that large blocks are recycled. Up to
`SHELF_BYTES` a few blocks of each size that was asked for stand on a shelf: one that no array uses any more serves the
next request, which takes as long as `np.empty`. When the last array on a larger block is gone, the block waits for the
next request of its size. The pool keeps at most `config.pool_mb` (a sixteenth of memory by default), asks for huge
pages, and gives everything back to the system when nobody has asked for a while.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from sys import getrefcount

import numpy as np

from ...config import config
from ..machine import total_memory

# Below this malloc recycles by itself, and an array costs less than a lease. Of larger ones it gives back what a call
# has freed at the end, glibc from here on: 16 arrays of 160 KB took 600 faults in every call.
LARGE_BYTES = 1 << 17
PAGE = 1 << 21
# Above this, the 3 us of a lease are nothing beside the kernel, and a block is too much to keep for nobody.
SHELF_BYTES = 8 << 20
# Blocks of one size on the shelf, or bytes, if that is more, and the share of the pool's limit that all may take. A
# call that has more arrays of one size at once faults their pages in anew, every time: a kernel may have 40.
SHELF_LENGTH = 48
SHELF_LENGTH_BYTES = 4 << 20
SHELF_SHARE = 0.25
# A cache's sets are chosen by an address's place in its page: arrays that all begin a page fight for the same few in
# every loop over them. So each begins elsewhere, 39 of 64 lines further (by the golden ratio: evenly spread, however
# many there are).
COLOUR = 39 * 64
# The pool is emptied when no block has been taken or given for so long.
IDLE_S = 20.0
# A child must not write into its parent's arrays, and only private memory gets huge pages.
PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}


def _references(blocks: list[np.ndarray]) -> int:
    block = blocks.pop()
    return getrefcount(block)


UNUSED = _references([np.empty(0)])  # references to a block that was taken from its shelf, and that no array uses


class Block:
    """A piece of memory from the system, and where it is."""

    __slots__ = ("address", "memory")

    def __init__(self, memory: np.ndarray):
        self.memory = memory
        self.address: int = memory.__array_interface__["data"][0]


class Pool:
    """Freed blocks, by size, and the shelves. n_uses: how often a block was taken or given."""

    def __init__(self, limit_bytes: int, idle_s: float = IDLE_S):
        self.most_bytes = limit_bytes
        self.idle_s = idle_s
        self.n_uses = 0
        self._free_bytes = 0
        self._n_mapped = 0
        self._watched = False
        self._free: dict[int, list[Block]] = {}
        self._shelves: dict[int, list[np.ndarray]] = {}
        self._lock = threading.RLock()  # a finaliser may run while we hold it

    @property
    def limit_bytes(self) -> int:
        """The most that waits: `config.pool_mb`, where it is set."""
        return self.most_bytes if config.pool_mb < 0 else config.pool_mb << 20

    @property
    def kept_bytes(self) -> int:
        """What waits for its next use."""
        with self._lock:
            return self._free_bytes + sum(n * _count_unused(blocks) for n, blocks in self._shelves.items())

    @property
    def _shelf_bytes(self) -> int:
        return sum(n * len(blocks) for n, blocks in self._shelves.items())

    def take(self, n_bytes: int) -> Block:
        with self._lock:
            self._watch()
            blocks = self._free.get(n_bytes)
            if blocks:
                self._free_bytes -= n_bytes
                return blocks.pop()
        return Block(self._map(n_bytes))

    def give(self, n_bytes: int, block: Block) -> None:
        """Keep a block, if there is room; in a pool that has been idle for long, nobody waits for it."""
        with self._lock:
            if self._watched and self._free_bytes + self._shelf_bytes + n_bytes <= self.limit_bytes:
                self.n_uses += 1
                self._free_bytes += n_bytes
                self._free.setdefault(n_bytes, []).append(block)

    # ---- the shelves ----

    def shelf(self, n_bytes: int) -> list[np.ndarray]:
        """The blocks of a size, the last the one that was used last. Whoever takes one off puts it back when he has put
        an array on it; meanwhile nobody else sees it."""
        with self._lock:
            return self._shelves.setdefault(n_bytes, [])

    def take_from_shelf(self, n_bytes: int, blocks: list[np.ndarray]) -> np.ndarray | None:
        """A block that no array uses, taken off its shelf; None if it is to be leased."""
        busy: list[np.ndarray] = []
        try:
            while blocks:
                block = blocks.pop()
                if getrefcount(block) == UNUSED:
                    self.n_uses += 1
                    return block
                busy.append(block)
        except IndexError:  # another thread took the last one
            pass
        finally:
            most = max(SHELF_LENGTH, SHELF_LENGTH_BYTES // n_bytes)
            blocks[:0] = busy[::-1][-most + 1 :]
            del busy
        with self._lock:
            self._watch()
            limit = SHELF_SHARE * self.limit_bytes
            if self._shelf_bytes + n_bytes > limit:
                self._drop_unused()
            if self._shelf_bytes + n_bytes > limit:
                return None
        return self._map(n_bytes)

    def _drop_unused(self) -> None:
        for blocks in self._shelves.values():
            if _count_unused(blocks):
                blocks.clear()  # of what is in use, this drops nothing but the hope to see it again

    # ---- the system's memory ----

    def _map(self, n_bytes: int) -> np.ndarray:
        """New memory, which begins at another place of its first page than the last one's did."""
        length = n_bytes + mmap.PAGESIZE
        memory = _mapped(length)
        if memory is None:  # what waits for its next use may be in the way
            self.clear()
            memory = _mapped(length)
        if memory is None:
            raise MemoryError(f"Unable to allocate {n_bytes / 2**20:.3g} MiB")
        if n_bytes >= PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        with self._lock:
            self._n_mapped += 1
            offset = self._n_mapped * COLOUR % mmap.PAGESIZE
        return np.frombuffer(memory, np.uint8, n_bytes, offset)

    def _watch(self) -> None:
        """A thread that sleeps as long as blocks come and go. (`give` could not start one: finalisers call it.)"""
        self.n_uses += 1
        if not self._watched:
            self._watched = True
            threading.Thread(target=self._empty_when_idle, name="workbench-pool", daemon=True).start()

    def _empty_when_idle(self) -> None:
        while True:
            before = self.n_uses
            time.sleep(self.idle_s)
            with self._lock:
                if self.n_uses == before:
                    self.clear()
                    self._watched = False
                    return

    def clear(self) -> int:
        """Give all kept blocks back to the system; how many bytes that were. Arrays keep theirs."""
        with self._lock:
            released, self._free_bytes = self.kept_bytes, 0
            self._free.clear()
            for blocks in self._shelves.values():
                blocks.clear()
            return released


def _mapped(length: int) -> mmap.mmap | None:
    try:
        return mmap.mmap(-1, length, **PRIVATE)
    except OSError:
        return None


def _count_unused(blocks: list[np.ndarray]) -> int:
    found = 0
    for _ in range(len(blocks)):
        try:
            block = blocks.pop(0)
        except IndexError:  # another thread took the last one
            break
        found += getrefcount(block) == UNUSED
        blocks.append(block)
        del block
    return found


class _Lease:
    """Owns a block on behalf of the arrays that lie on it."""

    __slots__ = ("__array_interface__", "_block", "_n_bytes", "_pool")

    def __init__(self, pool: Pool, n_bytes: int, block: Block, shape: tuple[int, ...], dtype: np.dtype):
        self._pool = pool
        self._n_bytes = n_bytes
        self._block = block
        self.__array_interface__ = {"shape": shape, "typestr": dtype.str, "data": (block.address, False), "version": 3}

    def __del__(self, is_over: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_over():  # else the modules are gone
            self._pool.give(self._n_bytes, self._block)


pool = Pool(total_memory() // 16)


def _forget_watcher() -> None:
    pool._watched = False  # threads do not survive a fork
    pool._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_watcher)


def allocate(shape: tuple[int, ...], dtype: np.dtype, n_bytes: int) -> np.ndarray:
    """A C-contiguous array with undefined contents; `n_bytes` is its size."""
    return allocator(shape, dtype, n_bytes)()


def allocator(shape: tuple[int, ...], dtype: np.dtype, n_bytes: int) -> Callable[[], np.ndarray]:
    """`allocate` for one shape, again and again."""
    if n_bytes < LARGE_BYTES:
        return partial(np.empty, shape, dtype)
    # To few sizes, which find each other's blocks, and little that is touched in vain.
    rounding = PAGE if n_bytes >= 8 * PAGE else PAGE // 8 if n_bytes >= PAGE else mmap.PAGESIZE
    n_bytes = -(-n_bytes // rounding) * rounding
    owner = pool
    if n_bytes > SHELF_BYTES:
        return lambda: np.asarray(_Lease(owner, n_bytes, owner.take(n_bytes), shape, dtype))
    blocks = owner.shelf(n_bytes)
    ndarray = np.ndarray

    def take() -> np.ndarray:
        try:
            block = blocks.pop()
            if getrefcount(block) != UNUSED:  # the result of the last call, perhaps, which this one will replace
                blocks.insert(0, block)
                block = blocks.pop()
                if getrefcount(block) != UNUSED:
                    blocks.append(block)
                    del block
                    return take_slowly()
        except IndexError:
            return take_slowly()
        array = ndarray(shape, dtype, block)  # type: ignore[arg-type]  # an array is a buffer
        blocks.append(block)
        owner.n_uses += 1
        return array

    def take_slowly() -> np.ndarray:
        block = owner.take_from_shelf(n_bytes, blocks)
        if block is None:
            return np.asarray(_Lease(owner, n_bytes, owner.take(n_bytes), shape, dtype))
        array = ndarray(shape, dtype, block)  # type: ignore[arg-type]  # an array is a buffer
        blocks.append(block)
        return array

    return take
