"""Recordings: many launches that the device is given at once, as a CUDA graph.

A whole plan is recorded where it is launches alone. What CuPy's libraries compute cannot be (they refuse while a stream
is captured), nor what the host decides: of such plans, and of the bodies of loops that the host goes through, the runs
of steps in between are recorded.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ...fusion import LoopStep, Plan, Step, ViewStep, step_inputs, step_outputs, sub_plans
from ...ir import Var
from ..log import logger
from .kernels import DeviceKernel
from .memory import Memory

# A graph costs one launch and a copy of each input and result: from a few kernels on that is less.
LEAST_LAUNCHES = 4
MOST_LAUNCHES = 2000  # a graph of more nodes takes longer to build than its launches take
MOST_RECORDED_BYTES = 16 << 20  # of inputs and results; beyond, kernels take longer than their launches
# What runs once or twice is not worth a recording. The body of a loop must run longer: its calls may be few.
RUNS_BEFORE_RECORDING = 2
RUNS_BEFORE_RECORDING_INSIDE = 16

Run = Callable[[Sequence[Any]], Sequence[Any]]


class Recording:
    """`run(inputs)` computes results by launches; calling the recording does the same, in time all at once. kernels:
    those that are launched, which are told how."""

    def __init__(self, memory: Memory, run: Run, kernels: Sequence[DeviceKernel], runs_before: int):
        self.memory, self.run, self.kernels = memory, run, kernels
        self.n_left = runs_before
        self.replay: Callable[..., Sequence[Any]] | None = None
        self.is_refused = False

    def __call__(self, inputs: Sequence[Any]) -> Sequence[Any]:
        if self.replay is None and not self.is_refused:
            self.n_left -= 1
            if self.n_left < 0:
                self.replay = self._record(inputs)
                self.is_refused = self.replay is None
        return self.run(inputs) if self.replay is None else self.replay(*inputs)

    def _record(self, inputs: Sequence[Any]) -> Callable[..., Sequence[Any]] | None:
        """The launches as one, or None: a recording that fails, or gives other results than launches one by one, costs
        nothing but itself."""
        try:
            replay = self.memory.record(self.run, inputs)
            if replay is None:
                return None
            mine, alone = (map(self.memory.get, results) for results in (replay(*inputs), self.run(inputs)))
            if any(a.tobytes() != b.tobytes() for a, b in zip(mine, alone, strict=True)):
                raise RuntimeError("the recording gives other results")
        except Exception as error:  # noqa: BLE001  # whatever the driver refuses to record, launches one by one will do
            logger.info("%s: the launches were not recorded: %s", self.memory.device, error)
            self._say(f"one by one, since a CUDA graph was not to be had ({error})")
            return None
        self._say("replayed in a CUDA graph")
        return replay

    def _say(self, how: str) -> None:
        """For the report: how the kernels are launched."""
        for kernel in self.kernels:
            kernel.how = how


@dataclass(frozen=True, slots=True)
class Piece:
    """Steps `first` up to `last` of a plan, as a recording has them: what they read of others, and what others read of
    them."""

    first: int
    last: int
    inputs: tuple[Var, ...]
    outputs: tuple[Var, ...]


def n_launches(steps: Sequence[Step], launches: Collection[str], finishes: Collection[str]) -> int:
    """How often `steps` launch something, or 0 if they cannot be recorded: library calls, constants that are copied
    there, what the host decides. launches, finishes: the steps that are kernels, and those with a second one."""
    total = 0
    for step in steps:
        if step.id in launches:
            total += 1 + (step.id in finishes)
        elif isinstance(step, LoopStep) and step.condition is None:
            if not all(isinstance(atom, Var) for atom in (*step.eqn.invars, *step.body.outvars)):
                return 0
            inside = n_launches(step.body.steps, launches, finishes)
            if not inside:
                return 0
            # A loop also copies a row of each operand that it goes through, and of each result that it stacks.
            n_rows = len(step.eqn.outvars) - step.eqn.params["num_carry"]
            total += step.eqn.params["length"] * (inside + n_rows)
        elif not isinstance(step, ViewStep) or not all(isinstance(atom, Var) for atom in step.eqn.invars):
            return 0
    return total


def is_recordable(plan: Plan, launches: Collection[str], finishes: Collection[str]) -> bool:
    """Whether a whole plan is recorded."""
    n_bytes = sum(v.aval.nbytes for v in (*plan.jaxpr.invars, *plan.outvars))
    if n_bytes > MOST_RECORDED_BYTES or not all(isinstance(atom, Var) for atom in plan.outvars):
        return False
    return LEAST_LAUNCHES <= n_launches(plan.steps, launches, finishes) <= MOST_LAUNCHES


def recordable_pieces(plan: Plan, launches: Collection[str], finishes: Collection[str]) -> list[Piece]:
    """The longest runs of steps that are worth a recording, in order; constants of the plan are none of their inputs.
    What all of them copy is bounded as for one."""

    def is_launched(step: Step) -> bool:
        if isinstance(step, ViewStep):
            return all(isinstance(atom, Var) for atom in step.eqn.invars)
        return n_launches([step], launches, finishes) > 0

    pieces, at, n_bytes = [], 0, 0
    for launched, group in itertools.groupby(plan.steps, is_launched):
        steps = list(group)
        first, at = at, at + len(steps)
        if not launched:
            continue
        piece, n = _piece(plan, first, at), n_launches(steps, launches, finishes)
        copied = [v.aval.nbytes for v in (*piece.inputs, *piece.outputs)]
        if max(LEAST_LAUNCHES, len(copied)) <= n <= MOST_LAUNCHES and n_bytes + sum(copied) <= MOST_RECORDED_BYTES:
            pieces.append(piece)
            n_bytes += sum(copied)
    return pieces


def _piece(plan: Plan, first: int, last: int) -> Piece:
    steps = plan.steps[first:last]
    made = dict.fromkeys(v for step in steps for v in step_outputs(step))
    read = dict.fromkeys(v for step in steps for v in step_inputs(step))
    later = {a for a in plan.outvars if isinstance(a, Var)}.union(*map(step_inputs, plan.steps[last:]))
    inputs = tuple(v for v in read if v not in made and v not in plan.jaxpr.constvars)
    return Piece(first, last, inputs, tuple(v for v in made if v in later))


def kernel_ids(steps: Sequence[Step]) -> list[str]:
    """The ids of `steps` and of all steps inside of them."""
    return [each.id for step in steps for each in (step, *(s for plan in sub_plans(step) for s in plan.all_steps))]
