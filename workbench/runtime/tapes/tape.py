"""Tapes: instructions for the machine of `codegen.llvm_tape`, and the memory that they work on.

Blocks come from pools, one for each size, and go back after their last use, so that they stay in cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...codegen.llvm_tape import N_OPERANDS, N_RESERVED, OPCODES, copy_each
from ...ir import Equation, Var
from ..memory.moves import pieces_of
from ..native.kernels import NotNativeError

ALIGNMENT = 64


@dataclass(eq=False, slots=True)
class Block:
    """Memory whose address is in the word `slot`. size: of its pool; None if somebody else owns it."""

    slot: int
    size: int | None = None
    members: list[Var] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Place:
    """Where a value is. array: one of its shape, dtype and strides, over no memory that may be touched."""

    block: Block
    offset: int
    array: np.ndarray

    @property
    def is_whole(self) -> bool:
        """Whether the value is all of a block of its own pool, in order."""
        fits = self.block.size is not None and self.block.size == _rounded(self.array.nbytes)
        return fits and self.offset == 0 and self.array.flags.c_contiguous


def outline(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """An array of this type in C order, over no memory that may be touched."""
    strides = [dtype.itemsize] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return as_strided(np.empty(1, dtype), tuple(shape), tuple(strides))


def _rounded(n_bytes: int) -> int:
    return max(ALIGNMENT, -(-n_bytes // ALIGNMENT) * ALIGNMENT)


class Tape:
    """Instructions, and the words that they work on. The first instruction jumps to the preparations at the end, which
    are known when everything else is written."""

    def __init__(self) -> None:
        self.words = [0] * N_RESERVED
        self.code: list[int] = []
        self.pools: dict[int, list[int]] = {}  # size -> the pool's word, how many blocks it needs
        self.fixed: list[tuple[int, int]] = []  # words that hold the address of memory of their own, and its size
        self.kept: list[np.ndarray] = []
        self.checks: list[Equation] = []  # by the numbers, from 1 on, of those instructions
        self.blas_threads: int | None = None  # the word that says whether large products leave threads to BLAS
        self.holds_blas = False  # whether there are products that do not, whatever it says
        self.steps: dict[str, int] = {}  # timed steps -> the word of their total
        self.emit("jump", 0)

    def word(self, value: int = 0) -> int:
        self.words.append(value)
        return len(self.words) - 1

    def emit(self, name: str, *operands: int) -> int:
        """Append an instruction; where it begins."""
        assert len(operands) == N_OPERANDS[name], name
        self.code += [OPCODES[name], *operands]
        return len(self.code) - 1 - len(operands)

    def land(self, *jumps: int) -> None:
        """Let these instructions, whose last operand is where they go, come here."""
        for at in jumps:
            (name,) = (n for n, code in OPCODES.items() if code == self.code[at])
            self.code[at + N_OPERANDS[name]] = len(self.code)

    def new(self, n_bytes: int) -> Block:
        """Take a block. Each place that takes blocks has at most one in use, or carried on in a loop, at any time."""
        size = _rounded(n_bytes)
        if size not in self.pools:
            self.pools[size] = [self.word(), 0]
        self.pools[size][1] += 1
        block = Block(self.word(), size)
        self.emit("take", block.slot, self.pools[size][0])
        return block

    def free(self, block: Block) -> None:
        assert block.size is not None
        self.emit("give", block.slot, self.pools[block.size][0])

    def own(self, n_bytes: int) -> int:
        """A word with the address of memory that nothing else uses."""
        slot = self.word()
        self.fixed.append((slot, _rounded(n_bytes)))
        return slot

    def constant(self, value: np.ndarray) -> Place:
        value = np.asarray(value)
        if not value.flags.c_contiguous:
            raise NotNativeError("a constant is not in C order")
        self.kept.append(value)
        block = Block(self.word(value.__array_interface__["data"][0]))
        return Place(block, 0, outline(value.shape, value.dtype))

    def copy(self, target: int, source: Place) -> None:
        """Put a value in C order at the address in the word `target`."""
        array = source.array
        if not array.nbytes:
            return
        if array.flags.c_contiguous:
            self.emit("copy", target, self.moved(source), array.nbytes)
            return
        pieces = pieces_of(array, (slice(None),) * array.ndim)
        if pieces is None:
            raise NotNativeError("an array is copied that lies in memory in many pieces")
        done = 0
        for first, n, n_bytes, by in pieces:
            self.copy_pieces((target, done), (source.block.slot, source.offset + first), n, n_bytes, n_bytes, by)
            done += n * n_bytes

    def copy_pieces(
        self, target: tuple[int, int], source: tuple[int, int], n: int, n_bytes: int, by_target: int, by_source: int
    ) -> None:
        """Copy `n` pieces of so many bytes. target, source: (word with an address, distance of the first piece); by_:
        the distances between pieces."""
        slots = []
        for slot, distance in (target, source):
            slots.append(self.word())
            self.emit("move", slots[-1], slot, distance)
        self.emit(copy_each(n_bytes), *slots, n, n_bytes, by_target, by_source)

    def moved(self, place: Place) -> int:
        """The word with the address of a value."""
        if not place.offset:
            return place.block.slot
        slot = self.word()
        self.emit("move", slot, place.block.slot, place.offset)
        return slot

    @property
    def n_bytes(self) -> int:
        pooled = sum(size * n for size, (_, n) in self.pools.items())
        return pooled + sum(size for _, size in self.fixed) + ALIGNMENT

    def prepare(self, memory: int, arguments: Iterable[tuple[int, int]]) -> None:
        """End the tape: memory: which argument of the machine is as many bytes as `n_bytes` says; arguments: (word,
        number) for each address that a word gets beforehand."""
        self.emit("stop")
        self.land(0)
        for slot, number in arguments:
            self.emit("argument", slot, number)
        base = self.word()
        self.emit("argument", base, memory)
        self.emit("align", base)
        for slot, size in self.fixed:
            self.emit("move", slot, base, 0)
            self.emit("add", base, size)
        for size, (pool, n) in self.pools.items():
            self.emit("pool", pool, base, size, n)
            self.emit("add", base, size * n)
        self.emit("jump", N_OPERANDS["jump"] + 1)
