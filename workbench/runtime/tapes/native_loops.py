"""Loops of a plan that run without Python: as tapes (`tape`), where all of their body can.

They own copies of what they carry, so that they can be given up at any time: for a loop on an operand in another order
than expected, and for interrupts, which Python sees between slices of some milliseconds. Results are the bits that the
same steps give when Python calls them. Loops over large arrays stay with Python: its microseconds do not matter there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ...codegen.kernel import KernelArg
from ...codegen.llvm_tape import BROKEN, CLOCK, CLOCK_ID, JUMPS, LEFT, MARKED, NO_MEMORY, PAUSED, PLACE, STATUS
from ...fusion import LoopStep, Plan, sub_plans
from ...ir import Aval, Literal
from ..control import Run, in_order
from ..log import logger
from ..memory.buffers import allocate
from ..memory.placement import Placement
from ..native.kernels import LARGE, Code, NotNativeError, tape_function
from ..native.threads import clock_address
from ..timelines import Totals
from .tape import Block, Place, Tape, outline
from .writer import write_loop

# Interrupts wait for the end of a slice. The first slice of a loop is one iteration; then they grow to this length.
SLICE_S = 0.02
FIRST_JUMPS = 1
MOST_JUMPS = 1 << 40
# Beyond, what Python costs is less than the copies of what is carried, at the begin and the end.
MOST_BYTES = 1 << 23


class NativeLoop:
    """`loop(*operands)` gives the results of a loop step, `loop.timed(timeline)(*operands)` also appends what each step
    inside of it took. python: the same loop, run by Python, for operands that the tape was not written for.
    NotNativeError if something of it takes Python."""

    def __init__(self, step: LoopStep, placements: Sequence[Placement], code: Code, python: Run):
        if code.timed and not clock_address():
            raise NotNativeError("there is no clock to time its steps with")
        self.python = python
        self.jumps = FIRST_JUMPS
        self.inside = _steps_inside(step) if code.timed else {}
        tape, n_operands = Tape(), len(step.eqn.invars)
        arguments: list[tuple[int, int]] = []
        args = [KernelArg("words", "out", None, "int64", 1), KernelArg("tape", "in", None, "int64", 1)]
        args.append(KernelArg("memory", "out", None, "uint8", 1))
        position = 6  # each has an address and a length

        def argument(aval: Aval) -> Place:
            nonlocal position
            slot = tape.word()
            arguments.append((slot, position))
            args.append(KernelArg(f"a{len(args)}", "in", None, aval.dtype.name, aval.ndim))
            position += 1 + aval.ndim
            return Place(Block(slot), 0, outline(aval.shape, aval.dtype))

        operands = [
            tape.constant(np.asarray(atom.val, atom.aval.dtype)) if isinstance(atom, Literal) else argument(atom.aval)
            for atom in step.eqn.invars
        ]
        self.positions = [k for k, atom in enumerate(step.eqn.invars) if not isinstance(atom, Literal)]
        targets = [argument(out.aval) for out in step.eqn.outvars]
        n_carry = len(targets) if step.condition is not None else step.eqn.params["num_carry"]
        results = write_loop(tape, code, step, placements, operands, [False] * n_operands, targets[n_carry:])
        for target, result in zip(targets[:n_carry], results, strict=False):
            tape.copy(target.block.slot, result)
        n_consts = len(operands) - n_carry if step.condition is not None else step.eqn.params["num_consts"]
        self.constants = [k for k in self.positions if k < n_consts]
        tape.prepare(4, arguments)
        if tape.n_bytes > MOST_BYTES:
            raise NotNativeError(LARGE)
        self.results = [(out.aval.shape, out.aval.dtype) for out in step.eqn.outvars]
        self.tape = np.array(tape.code, np.int64)
        self.words = np.array(tape.words, np.int64)
        if code.timed:
            self.words[CLOCK], self.words[CLOCK_ID] = clock_address(), time.CLOCK_MONOTONIC
        self.n_bytes = tape.n_bytes
        self.kept = tape.kept
        self.checks = tape.checks
        self.steps = tape.steps
        try:
            self.run = tape_function(args)
        except RuntimeError as error:
            raise NotNativeError(str(error)) from error

    def __call__(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self._call(operands)[0]

    def timed(self, timeline: Totals) -> Run:
        """The loop, as a function that appends to `timeline`."""

        def call(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
            begin = time.perf_counter()
            results, words = self._call(operands)
            if words is None:
                return results
            own = {step: int(words[k]) * 1e-9 for step, k in self.steps.items()}
            for step, k in self.steps.items():
                seconds = own[step] + sum(own.get(inner, 0.0) for inner in self.inside.get(step, ()))
                if words[k + 1]:
                    timeline.append((step, begin, seconds, int(words[k + 1])))
            return results

        return call

    def _call(self, operands: Sequence[np.ndarray]) -> tuple[tuple[np.ndarray, ...], np.ndarray | None]:
        if not all(operands[k].flags.c_contiguous for k in self.constants):
            return self.python(*operands), None
        arrays = [in_order(operands[k]) for k in self.positions]
        words = self.words.copy()
        memory = allocate((self.n_bytes,), np.dtype(np.uint8), self.n_bytes)
        results = [np.empty(shape, dtype) for shape, dtype in self.results]
        place = 0
        while True:
            jumps = words[JUMPS] = self.jumps
            if self.steps:
                words[MARKED] = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            begin = time.perf_counter()
            self.run(place, 0, words, self.tape, memory, *arrays, *results)
            status = words[STATUS]
            if status != PAUSED:
                break
            place = int(words[PLACE])
            self._pace(jumps, time.perf_counter() - begin)
        if status == NO_MEMORY:
            raise MemoryError
        if status == LEFT and words[PLACE] < 0:
            check = self.checks[-int(words[PLACE]) - 1]
            check.primitive.impl(np.False_, **check.params)  # which raises
        if status in (LEFT, BROKEN):  # Python raises what is to be raised
            if status == BROKEN:
                logger.warning("a loop was left to Python in the middle: a bug of ours, not of your code")
            return self.python(*operands), None
        return tuple(results), words

    def _pace(self, jumps: int, elapsed_s: float) -> None:
        """Let slices take about as long as they should."""
        if elapsed_s < SLICE_S / 2:
            self.jumps = min(2 * jumps, MOST_JUMPS)
        elif elapsed_s > 2 * SLICE_S:
            self.jumps = max(1, jumps // 2)


def _steps_inside(step: LoopStep) -> dict[str, list[str]]:
    """For each loop or branch in `step`, all steps that its plans hold."""
    plans: list[Plan] = list(sub_plans(step))
    return {
        inner.id: [s.id for p in sub_plans(inner) for s in p.all_steps]
        for plan in plans
        for inner in plan.all_steps
        if sub_plans(inner)
    }
