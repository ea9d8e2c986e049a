"""Loops that run by tiles of time: how many iterations and rows at a time, and the calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...codegen.kernel import KernelArg
from ...codegen.llvm_entry import is_strided
from ...codegen.llvm_tiles import (
    CLOCK,
    CLOCK_ID,
    MACHINE,
    N_RUNS,
    RUN_WORDS,
    RUNS,
    TAKEN,
    TILES,
    WEDGES,
    tiles_program,
)
from ...fusion import LoopStep, Plan, step_outputs
from ...ir import Literal, Var
from ..control import Carry, Run
from ..memory.buffers import allocate
from ..memory.moves import copy_around
from ..memory.placement import Placement
from ..native.kernels import Code, function_at, machine_address
from ..native.threads import clock_address, shared_function
from ..rows import n_rows
from ..timelines import Totals
from .rotation import Body, Rotation
from .stages import NotTiledError, Stage, find_stages, is_scalar, scalar_steps

# What the rows at hand take: half of the second-level cache of small cores.
TILE_BYTES = 1 << 19
# Arrays of less than that in all stay in the cache without help.
LEAST_BYTES = 1 << 21
# Fewer iterations gain less than what the arrays cost that they alternate with.
LEAST_ITERATIONS = 8
# Kernels together of which so few gain next to nothing; and iterations together that are all there is to gain.
LEAST_RUNS, MOST_TOGETHER = 3, 64
# Chunks, where there are rows enough, for whichever thread is free. Each is so many times wider than what its last
# kernel lags behind: the wedges between chunks, which come afterwards, stay small.
CHUNKS_PER_THREAD = 2
LEAST_WIDTH = 4
# Of the rows at hand, the part that is at its turn; the others are between the first kernel and the last.
BLOCKS = 4

_PROGRAM = KernelArg("tiles", "in", None, "int64", 1)

# Where an argument is: an array by its number, a constant, or a scalar of an iteration of the tile.
_Source = int | Var | tuple[Var, int]


class TiledLoop:
    """`loop(*operands)` gives the results of a loop step. drive: makes a function of a plan like the loop's body, from
    constants and carried values. NotTiledError where iterations must wait for each other, or gain nothing together."""

    def __init__(
        self, step: LoopStep, placement: Placement, code: Code, drive: Callable[[Plan], Run], carried: Carry
    ):  # fmt: skip
        params = step.eqn.params
        self.n_consts, self.length = params["num_consts"], params["length"]
        self.carried = carried
        self.plan = step.body
        inputs = self.plan.jaxpr.invars
        self.consts, self.carry = inputs[: self.n_consts], inputs[self.n_consts :]
        if len(step.eqn.invars) != len(inputs) or len(self.carry) != len(step.eqn.outvars):
            raise NotTiledError("its iterations read or give rows")
        if self.length < LEAST_ITERATIONS:
            raise NotTiledError("it has few iterations")
        if placement.copied or placement.unread or placement.inner:
            raise NotTiledError("an iteration copies what it gives")
        self.body = Body(self.plan, placement, self.carry)
        self.stages, self.around = self.body.with_copies(
            list(find_stages(self.plan, placement, code, self.body.changing))
        )
        self.rotation: Rotation = self.body.rotation(self.stages)
        ahead = scalar_steps(self.plan, self.body.changing)
        self.scalars = [out for each in ahead for out in step_outputs(each)]
        self.carried_scalars = [k for k, var in enumerate(self.carry) if is_scalar(var)]
        self.together, self.block, self.bounds, lags = self._sizes(code.n_threads)
        self.fills: list[tuple[int, _Source, KernelArg]] = []
        self.words = self._program(lags)
        self.launches = list(self._launches(code.n_threads))
        self.run_body = drive(self.plan)
        jaxpr = replace(self.plan.jaxpr, outvars=tuple(self.scalars))
        self.run_scalars = drive(replace(self.plan, jaxpr=jaxpr, steps=tuple(ahead)))

    # ---- how much at a time ----

    def _sizes(self, n_threads: int) -> tuple[int, int, list[int], list[list[int]]]:
        """How many iterations and rows at a time, where chunks begin, and by how much each kernel lags behind."""
        changing = [var for var in self.body.carry if var in self.body.changing]
        read = {v for s in self.stages for v in s.args if v is not None and v in s.kernel.reach} - self.body.changing
        every = [var.aval for var in (*changing, *self.rotation.made.values(), *read)]
        rows = max((stage.first + stage.rows for stage in self.stages), default=0)
        if not rows or sum(aval.nbytes for aval in every) < LEAST_BYTES:
            raise NotTiledError("its arrays are small")
        at_hand = TILE_BYTES // max(1, sum(aval.nbytes // max(1, n_rows(aval)) for aval in every))
        block = max(1, at_hand // BLOCKS)
        most = at_hand - block
        n_chunks = n_threads * CHUNKS_PER_THREAD if n_threads > 1 else 1
        if rows < LEAST_WIDTH * most * n_chunks:
            n_chunks = n_threads
        most = min(most, rows // (LEAST_WIDTH * n_chunks))
        lags = self._lags(min(self.length, MOST_TOGETHER))
        together = next((i for i, lag in enumerate(lags) if lag[-1] > most), len(lags))
        together -= together % len(self.rotation.turns)
        if together * sum(not stage.is_copy for stage in self.stages) < LEAST_RUNS:
            raise NotTiledError("too few of its rows fit into the cache")
        return together, block, [rows * c // n_chunks for c in range(n_chunks + 1)], lags[:together]

    def _lags(self, n: int) -> list[list[int]]:
        """By how many rows the kernels of `n` iterations lag behind the first: each behind those that write what it
        reads, and behind those that read what it writes over."""
        lags: list[list[int]] = []
        now = 0
        written: dict[int, int] = {}  # how far the last writer of each array lags behind,
        read: dict[int, int] = {}  # and the farthest that somebody may write it who comes after its readers
        for i in range(n):
            at = self.rotation.turns[i % len(self.rotation.turns)]
            lags.append([])
            for stage in self.stages:
                writes, reach = {at[out] for out in stage.outs}, dict.fromkeys((at[v] for v in stage.reach), 0)
                for var, rows in stage.reach.items():
                    reach[at[var]] = max(reach[at[var]], rows)
                now = max([now, *(written.get(array, 0) + rows for array, rows in reach.items())])
                now = max([now, *(read.get(array, 0) for array in writes)])
                for array, rows in reach.items():
                    read[array] = max(read.get(array, 0), now + rows)
                written.update(dict.fromkeys(writes, now))
                lags[-1].append(now)
        return lags

    # ---- the program ----

    def _program(self, lags: Sequence[Sequence[int]]) -> np.ndarray:
        tables: list[list[int]] = []
        fills: list[tuple[int, int, _Source, KernelArg]] = []
        numbers: list[list[int]] = []
        period = len(self.rotation.turns)
        for i in range(self.together if self.scalars or self.carried_scalars else period):
            numbers.append([])
            for stage in self.stages:
                numbers[-1].append(len(tables))
                tables.append(self._table(stage, i, len(tables), fills))
        runs = [
            (stage.address, lag, stage.first, stage.rows, stage.steps, numbers[i % len(numbers)][k])
            for i, its_lags in enumerate(lags)
            for k, (stage, lag) in enumerate(zip(self.stages, its_lags, strict=True))
        ]
        words, begins = tiles_program(self.block, self.bounds, runs, tables)
        self.fills = [(begins[table] + word, source, arg) for table, word, source, arg in fills]
        return np.array(words, np.int64)

    def _table(self, stage: Stage, i: int, number: int, fills: list[tuple[int, int, _Source, KernelArg]]) -> list[int]:
        """The words of a kernel's arguments in iteration i of a tile; what depends on where arrays are is filled in by
        each call."""
        table: list[int] = []
        at = self.rotation.turns[i % len(self.rotation.turns)]
        for arg, var in zip(stage.kernel.args, stage.args, strict=True):
            if var is not None:
                source: _Source = var
                if var in self.body.changing:
                    source = (var, i) if is_scalar(var) else at[var]
                fills.append((number, len(table), source, arg))
                table += [0, *var.aval.shape, *([0] * arg.ndim if is_strided(arg) else [])]
            elif isinstance(arg.value, int | np.integer):
                table.append(int(arg.value))
            else:
                raise NotTiledError("a size is no integer")
        return table

    def _launches(self, n_threads: int) -> Iterator[tuple]:
        """What runs a tile: functions, with their extents and what comes before the program."""
        n_chunks = len(self.bounds) - 1
        for symbol, n in ((TILES, n_chunks), (WEDGES, n_chunks - 1)):
            address = machine_address(MACHINE, symbol)
            if n > 1:
                run, shares = shared_function([_PROGRAM], address, n, 1, n_threads)
                yield run, n, (shares,)
            elif n:
                yield function_at(address, [_PROGRAM]), n, ()

    # ---- a call ----

    def __call__(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self._call(operands, self.words.copy())

    def timed(self, timeline: Totals) -> Run:
        """The loop, as a function that appends to `timeline` what each of its kernels took: where threads run several
        at once, its share of the time."""

        def call(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
            words = self.words.copy()
            words[CLOCK], words[CLOCK_ID] = clock_address(), getattr(time, "CLOCK_MONOTONIC", 0)
            begin = time.perf_counter()
            results = self._call(operands, words)
            elapsed_s = time.perf_counter() - begin
            each = words[words[RUNS] + TAKEN :: RUN_WORDS][: self.together * len(self.stages)]
            shares = each.reshape(self.together, len(self.stages)).sum(axis=0) / max(1, each.sum())
            for stage, share in zip(self.stages, shares, strict=True):
                count = 0 if stage.is_copy else self.length
                timeline.append((stage.kernel.id, begin, elapsed_s * float(share), count))
            return results

        return call

    def _call(self, operands: Sequence[np.ndarray], words: np.ndarray) -> tuple[np.ndarray, ...]:
        consts, given = operands[: self.n_consts], operands[self.n_consts :]
        # The first iteration by itself: what it makes is nobody else's.
        carry = list(self.run_body(*consts, *self.carried.take(given)))
        for k, var in enumerate(self.carry):
            if var in self.body.changing and any(np.may_share_memory(carry[k], given[j]) for j in self.carried.lent):
                carry[k] = carry[k].copy()
        arrays = [value for var, value in zip(self.carry, carry, strict=True) if not is_scalar(var)]
        for out in self.rotation.made.values():
            array = allocate(out.aval.shape, out.aval.dtype, out.aval.nbytes)
            if out in self.around:
                eqn, source = self.around[out]
                copy_around(eqn, 1)(array, self._constant(source, carry, consts))
            arrays.append(array)
        carried_scalars = [self.carry[k] for k in self.carried_scalars]
        columns = {var: np.empty(self.together, var.aval.dtype) for var in (*carried_scalars, *self.scalars)}
        for word, source, arg in self.fills:
            if isinstance(source, tuple):
                array = columns[source[0]][source[1] :]
            else:
                array = arrays[source] if isinstance(source, int) else self._constant(source, carry, consts)
            words[word] = array.__array_interface__["data"][0]
            if is_strided(arg):
                words[word + 1 + arg.ndim : word + 1 + 2 * arg.ndim] = array.strides
        left = self.length - 1
        while left:  # each tile takes milliseconds: Python sees interrupts in between
            n = min(left, self.together)
            if columns:
                self._compute_scalars(n, columns, carry, consts)
            words[N_RUNS] = n * len(self.stages)
            for run, extent, before in self.launches:
                run(0, extent, *before, words)
            left -= n
        after = iter(self.rotation.after[(self.length - 2) % len(self.rotation.turns)])
        results = [
            value if is_scalar(var) else arrays[next(after)] for var, value in zip(self.carry, carry, strict=True)
        ]
        return self.carried.give(results, given)

    def _compute_scalars(
        self, n: int, columns: Mapping[Var, np.ndarray], carry: list[np.ndarray], consts: Sequence[np.ndarray]
    ) -> None:
        """The scalars of the next `n` iterations, ahead of what depends on them. carry: gets those afterwards."""
        for i in range(n):
            now = {self.carry[k]: carry[k] for k in self.carried_scalars}
            for var, value in now.items():
                columns[var][i] = value
            now.update(zip(self.scalars, self.run_scalars(*consts, *carry), strict=True))
            for var in self.scalars:
                columns[var][i] = now[var]
            for k in self.carried_scalars:
                out = self.plan.outvars[k]
                carry[k] = np.asarray(out.val, out.aval.dtype) if isinstance(out, Literal) else now[out]

    def _constant(self, var: Var, carry: Sequence[np.ndarray], consts: Sequence[np.ndarray]) -> np.ndarray:
        """A carried value before the first tile, or a constant."""
        if var in self.carry:
            return carry[self.carry.index(var)]
        if var in self.consts:
            return consts[self.consts.index(var)]
        jaxpr = self.plan.jaxpr
        return np.asarray(jaxpr.consts[jaxpr.constvars.index(var)])
