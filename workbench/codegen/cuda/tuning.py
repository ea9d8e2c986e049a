"""Tuning: how many threads share what, for a GPU and for numba's simulator, whose every thread is a Python thread.

Numbers that choose a kernel's text (a warp or a thread for a row, one pass or two) depend on sizes alone, never on the
device, so that results are the same wherever a program runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Tuning:
    """target: "cuda" or "cuda-sim"; threads: of a block; blocks: of a grid at most; warp_lanes: of a team that works on
    one row, or 0 where lanes meet in shared memory alone; short_row: rows up to here belong to one thread each;
    column_lanes: threads that share one column; many_columns: from here on each thread has a column of its own;
    fill: blocks that keep the device busy, below which a reduction is split in two passes; parts: blocks that it is
    split into then; chunk: elements that one thread adds at least before that pays; lane_bytes: of a row for each of
    its threads, where there are many rows; row_bytes: of shared memory for values that a row keeps; one_block: one
    block runs the whole kernel, as part of a program that it goes through step by step: its threads are numbered along
    x alone, and none may be left over; fold_lane_bytes: as lane_bytes, where a row is read once; chain_lanes: a row
    that is read more often has a block of its own from so many threads on; turns: elements of a row for each thread of
    a map that reads neighbours, if that takes at most most_blocks_of_turns."""

    target: str
    threads: int
    blocks: int
    warp: int
    short_row: int
    column_lanes: int
    many_columns: int
    fill: int
    parts: int
    chunk: int
    lane_bytes: int
    row_bytes: int
    fold_lane_bytes: int
    chain_lanes: int
    turns: int
    most_blocks_of_turns: int
    one_block: bool = False

    def in_one_block(self) -> Tuning:
        """For the kernels of a program of one block: no second pass, no row that is kept beside others' rows."""
        return replace(self, blocks=1, fill=0, row_bytes=0, one_block=True)

    def row_lanes(self, length: int) -> int:
        """Most threads for a row of `length`: a warp, or as many as have eight elements each."""
        lanes = self.warp
        while lanes < self.threads and lanes * 8 < length:
            lanes *= 2
        return lanes

    def turn_lanes(self, length: int) -> int:
        """Threads side by side along a row of `length` in a map that reads neighbours."""
        return min(self.row_lanes(length), 2 * self.warp)

    @property
    def tile(self) -> tuple[int, int]:
        """Sides of the tiles for transposes, and how many of their rows a block handles at once."""
        return self.warp, self.threads // self.warp

    @property
    def long_row(self) -> int:
        """Last axes of a map from here on are rows, whose elements need no division to know their place."""
        return 2 * self.short_row


# 256 threads with up to 64 registers each fill an SM from Ampere to Blackwell. 48 KiB of shared memory need no opt-in.
# 264 blocks are two for each SM of an H100 or H200, 1056 all that their SMs hold of 256 threads. A row's 48 KiB of
# shared memory leave room for four blocks an SM; the launch asks for them (`FREE_SHARED_BYTES`).
GPU = Tuning("cuda", 256, 1 << 16, 32, 16, 8, 1 << 16, 264, 1056, 32, 128, 48 << 10, 512, 128, 4, 1 << 24)
# Small enough that a test runs in milliseconds, large enough that every path is taken.
SIMULATOR = Tuning("cuda-sim", 8, 2, 4, 2, 2, 64, 2, 4, 4, 64, 48 << 10, 64, 8, 2, 8)
