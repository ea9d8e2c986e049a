"""Loops of a plan that run without Python: as tapes (`tape`), where all of their body can.

They own copies of what they carry, so that they can be given up at any time: for a loop on an operand in another order
than expected, and for interrupts, which Python sees between slices of some milliseconds. Results are the bits that the
same steps give when Python calls them. Loops over large arrays stay with Python: its microseconds do not matter there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ...codegen.kernel import KernelArg
from ...codegen.llvm_tape import BROKEN, CLOCK, CLOCK_ID, DONE, JUMPS, LEFT, MARKED, NO_MEMORY, PAUSED, PLACE, STATUS
from ...fusion import LoopStep, Plan, sub_plans
from ...ir import Aval
from ..control import Run, in_order
from ..log import logger
from ..memory.buffers import allocator
from ..memory.placement import Placement
from ..native.kernels import LARGE, Code, NotNativeError, tape_function
from ..native.threads import clock_address
from ..products import Choice, one_thread
from ..timelines import Totals
from .tape import Block, Place, Tape, outline
from .writer import write_loop, write_plan

# Interrupts wait for the end of a slice. The first slice of a loop is one iteration; then they grow to this length.
SLICE_S = 0.02
FIRST_JUMPS = 1
MOST_JUMPS = 1 << 40
# Beyond, what Python costs is less than the copies of what is carried, at the begin and the end.
MOST_BYTES = 1 << 23
# The same for whole programs, whose kernels would otherwise run in chains, with what lies in between in cache.
MOST_BYTES_OF_PROGRAMS = 1 << 18


class _TapeFunction:
    """A tape as a function of arrays. python: the same function, run by Python, for arrays that the tape was not
    written for. NotNativeError if something of it takes Python."""

    def __init__(self, code: Code, python: Run, inputs: Sequence[Aval], results: Sequence[Aval]):
        if code.timed and not clock_address():
            raise NotNativeError("there is no clock to time its steps with")
        self.python = python
        self.jumps = FIRST_JUMPS
        self.tape = Tape()
        self.args = [KernelArg("words", "out", None, "int64", 1), KernelArg("tape", "in", None, "int64", 1)]
        self.args.append(KernelArg("memory", "out", None, "uint8", 1))
        self.arguments: list[tuple[int, int]] = []
        self.position = 2 * len(self.args)  # each has an address and a length
        self.inputs = [self._argument(aval) for aval in inputs]
        self.targets = [self._argument(aval) for aval in results]
        self.results = [(aval.shape, aval.dtype) for aval in results]

    def _argument(self, aval: Aval) -> Place:
        slot = self.tape.word()
        self.arguments.append((slot, self.position))
        self.args.append(KernelArg(f"a{len(self.args)}", "in", None, aval.dtype.name, aval.ndim))
        self.position += 1 + aval.ndim
        return Place(Block(slot), 0, outline(aval.shape, aval.dtype))

    def _end(self, code: Code, n_ordered: int, most_bytes: int) -> None:
        """What is left to do when the steps are written. n_ordered: the first inputs, which the tape takes in C order
        only."""
        tape, self.n_ordered = self.tape, n_ordered
        tape.prepare(4, self.arguments)
        if tape.n_bytes > most_bytes:
            raise NotNativeError(LARGE)
        self.memory = allocator((tape.n_bytes,), np.dtype(np.uint8), tape.n_bytes)
        self.code = np.array(tape.code, np.int64)
        self.words = np.array(tape.words, np.int64)
        if code.timed:
            self.words[CLOCK], self.words[CLOCK_ID] = clock_address(), time.CLOCK_MONOTONIC
        self.choice = Choice() if tape.blas_threads is not None and code.n_threads > 1 else None
        try:
            self.run = tape_function(self.args)
        except RuntimeError as error:
            raise NotNativeError(str(error)) from error

    def __call__(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self._call(operands)[0]

    def _call(self, operands: Sequence[np.ndarray]) -> tuple[tuple[np.ndarray, ...], np.ndarray | None]:
        """The results, and the words as they were left, or None where Python has run it."""
        if not all(operand.flags.c_contiguous for operand in operands[: self.n_ordered]):
            return self.python(*operands), None
        arrays = list(map(in_order, operands))
        words = self.words.copy()
        memory = self.memory()
        results = [np.empty(shape, dtype) for shape, dtype in self.results]
        if self.tape.holds_blas or self.tape.blas_threads is not None:
            status = self._with_products(words, memory, arrays, results)
        else:
            status, _ = self._follow(words, memory, arrays, results)
        if status == NO_MEMORY:
            raise MemoryError
        if status == LEFT and words[PLACE] < 0:
            check = self.tape.checks[-int(words[PLACE]) - 1]
            check.primitive.impl(np.False_, **check.params)  # which raises
        if status in (LEFT, BROKEN):  # Python raises what is to be raised
            if status == BROKEN:
                logger.warning("a loop was left to Python in the middle: a bug of ours, not of your code")
            return self.python(*operands), None
        return tuple(results), words

    def _with_products(self, words: np.ndarray, *arrays: Any) -> int:
        """Follow a tape with large products, on the threads that do better with them."""
        way = 1 if self.choice is None else self.choice.take()
        if self.tape.blas_threads is not None:
            words[self.tape.blas_threads] = way == 0
        begin = time.perf_counter()
        with one_thread() if way or self.tape.holds_blas else nullcontext():
            status, n_iterations = self._follow(words, *arrays)
        if self.choice is not None and status == DONE:
            self.choice.record(way, (time.perf_counter() - begin) / max(n_iterations, 1))
        return status

    def _follow(
        self, words: np.ndarray, memory: np.ndarray, arrays: Sequence[np.ndarray], results: Sequence[np.ndarray]
    ) -> tuple[int, int]:
        """Follow the tape to its end: how it ended, and after how many iterations."""
        place = n_iterations = 0
        while True:
            jumps = words[JUMPS] = self.jumps
            if self.tape.steps:
                words[MARKED] = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            begin = time.perf_counter()
            self.run(place, 0, words, self.code, memory, *arrays, *results)
            n_iterations += int(jumps - words[JUMPS])
            status = words[STATUS]
            if status != PAUSED:
                return int(status), n_iterations
            place = int(words[PLACE])
            self._pace(jumps, time.perf_counter() - begin)

    def _pace(self, jumps: int, elapsed_s: float) -> None:
        """Let slices take about as long as they should."""
        if elapsed_s < SLICE_S / 2:
            self.jumps = min(2 * jumps, MOST_JUMPS)
        elif elapsed_s > 2 * SLICE_S:
            self.jumps = max(1, jumps // 2)


class NativeLoop(_TapeFunction):
    """`loop(*operands)` gives the results of a loop step, `loop.timed(timeline)(*operands)` also appends what each step
    inside of it took."""

    def __init__(self, step: LoopStep, placements: Sequence[Placement], code: Code, python: Run):
        avals = [atom.aval for atom in step.eqn.invars]
        super().__init__(code, python, avals, [out.aval for out in step.eqn.outvars])
        self.inside = _steps_inside(step) if code.timed else {}
        params, targets = step.eqn.params, self.targets
        n_carry = len(targets) if step.condition is not None else params["num_carry"]
        n_consts = len(avals) - n_carry if step.condition is not None else params["num_consts"]
        results = write_loop(
            self.tape, code, step, placements, self.inputs, [False] * len(avals), targets[n_carry:]
        )  # fmt: skip
        for target, result in zip(targets[:n_carry], results, strict=False):
            self.tape.copy(target.block.slot, result)
        self._end(code, n_consts, MOST_BYTES)

    def timed(self, timeline: Totals) -> Run:
        """The loop, as a function that appends to `timeline`."""

        def call(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
            begin = time.perf_counter()
            results, words = self._call(operands)
            if words is None:
                return results
            steps = self.tape.steps
            own = {step: int(words[k]) * 1e-9 for step, k in steps.items()}
            for step, k in steps.items():
                seconds = own[step] + sum(own.get(inner, 0.0) for inner in self.inside.get(step, ()))
                if words[k + 1]:
                    timeline.append((step, begin, seconds, int(words[k + 1])))
            return results

        return call


class NativeProgram(_TapeFunction):
    """`program(*inputs)` gives the results of a plan: of one that does more than to run kernels, with small arrays, and
    that writes into no argument."""

    def __init__(self, plan: Plan, placement: Placement, code: Code, python: Run):
        if placement.first_write is not None or placement.written:
            raise NotNativeError("arguments are written")
        if any(placement.layouts.get(var, "C") != "C" for var in plan.jaxpr.invars):
            raise NotNativeError("an argument is not in C order")
        inputs = plan.jaxpr.invars
        read = [k not in placement.unread for k in range(len(plan.outvars))]
        avals = [atom.aval for atom, is_read in zip(plan.outvars, read, strict=True) if is_read]
        super().__init__(code, python, [var.aval for var in inputs], avals)
        results = write_plan(self.tape, code, plan, placement, self.inputs)
        read_results = (result for result, is_read in zip(results, read, strict=True) if is_read)
        for target, result in zip(self.targets, read_results, strict=True):
            self.tape.copy(target.block.slot, result)
        self.read = None if all(read) else read
        self._end(code, len(inputs), MOST_BYTES_OF_PROGRAMS)

    def __call__(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        results, words = self._call(operands)
        if self.read is None or words is None:
            return results
        found = iter(results)
        return tuple(next(found) if is_read else None for is_read in self.read)  # type: ignore[misc]


def _steps_inside(step: LoopStep) -> dict[str, list[str]]:
    """For each loop or branch in `step`, all steps that its plans hold."""
    plans: list[Plan] = list(sub_plans(step))
    return {
        inner.id: [s.id for p in sub_plans(inner) for s in p.all_steps]
        for plan in plans
        for inner in plan.all_steps
        if sub_plans(inner)
    }
