"""The steps of a plan as functions over a table of values: launches, calls of the device's routines, calls on the host.

The host decides branches and loops that no kernel takes over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...codegen.kernel import KernelArg
from ...fusion import (
    BranchStep,
    LibraryStep,
    LoopStep,
    NumpyStep,
    Plan,
    Step,
    ViewStep,
    step_inputs,
    sub_plans,
)
from ...ir import Atom, Equation, Literal, Var
from ...primitives.loops import loop_p
from ...primitives.lowering import LibraryCall
from ..log import logger
from ..loops import compile_loop
from ..views import view_of
from .clock import Clock
from .lifetimes import last_uses, taken_over
from .memory import Crossing
from .recording import (
    RUNS_BEFORE_RECORDING,
    RUNS_BEFORE_RECORDING_INSIDE,
    Piece,
    Recording,
    kernel_ids,
    recordable_pieces,
)

if TYPE_CHECKING:
    from .executable import DeviceExecutable

# While the host waits for a loop's condition, the next iteration is under way already, which is for nothing in the end:
# only where several were needed, and take little longer than the wait.
AHEAD_FROM = 4
AHEAD_S = 0.5e-3
# A routine that refused so often is not asked again.
MOST_REFUSALS = 5

Values = dict[Var, Any]
Action = Callable[[Values], None]


def always_ends(plan: Plan) -> bool:
    """Whether a run of `plan` ends whatever its values are, and asks the host nothing."""
    for step in plan.steps:
        if isinstance(step, LoopStep) and (step.condition is not None or not always_ends(step.body)):
            return False
        if isinstance(step, LibraryStep) and step.eqn.primitive.name != "dot_general":
            return False
        if isinstance(step, BranchStep | NumpyStep):
            return False
    return True


class Program:
    """The steps of one plan as functions over a table of values. recorded: whether pieces of it are recorded, which
    cannot be while something around them is; inside: whether it is a part of another one."""

    def __init__(self, executable: DeviceExecutable, plan: Plan, *, recorded: bool, inside: bool = False):
        self.executable = executable
        self.memory = executable.memory
        self.plan = plan
        self.consts = {
            var: self.memory.put(np.asarray(value))
            for var, value in zip(plan.jaxpr.constvars, plan.jaxpr.consts, strict=True)
        }
        self.crossed: list[Crossing] = []
        self.clock: Clock | None = None
        self.on_host: set[str] = set()  # steps that the device has no routine for
        pieces = recordable_pieces(plan, executable.compiled, executable.finishers) if recorded else []
        in_pieces = {step.id for piece in pieces for step in plan.steps[piece.first : piece.last]}
        self.recordings: list[Recording] = []
        self._recorded = {step.id for step in plan.steps if recorded and step.id not in in_pieces}
        given = {var for piece in pieces for var in piece.inputs}  # a recording is tried before it is used
        self.taken = taken_over(plan, executable.in_step, given)
        self.actions = [(step.id, self._action(step)) for step in plan.steps]
        self.dead = last_uses(plan)
        self.runs_before = RUNS_BEFORE_RECORDING_INSIDE if inside else RUNS_BEFORE_RECORDING
        self._launched = self._with_pieces(pieces)

    def run(self, inputs: Sequence[Any], crossed: list[Crossing], clock: Clock | None = None) -> tuple[Any, ...]:
        values: Values = {**self.consts, **dict(zip(self.plan.jaxpr.invars, inputs, strict=True))}
        self.crossed, self.clock = crossed, clock
        if clock is None:
            for action, dead in self._launched:
                action(values)
                for var in dead:
                    values.pop(var, None)  # nobody asked for some results of a loop
        else:
            for (name, action), dead in zip(self.actions, self.dead, strict=True):
                clock.time(name, partial(action, values), lane="host" if name in self.on_host else "")
                for var in dead:
                    values.pop(var, None)
        return tuple(self._read(atom, values) for atom in self.plan.outvars)

    def _with_pieces(self, pieces: Sequence[Piece]) -> list[tuple[Action, list[Var]]]:
        """What a run goes through: actions, and the values that nothing needs after each."""
        found, at = [], 0
        alone = [(action, dead) for (_, action), dead in zip(self.actions, self.dead, strict=True)]
        for piece in pieces:
            found += alone[at : piece.first]
            dead = [var for _, after in alone[piece.first : piece.last] for var in after]
            found.append((self._piece(piece, alone[piece.first : piece.last]), dead))
            at = piece.last
        return found + alone[at:]

    def _piece(self, piece: Piece, alone: Sequence[tuple[Action, list[Var]]]) -> Action:
        """The steps of a piece as one action."""
        compiled, finishers = self.executable.compiled, self.executable.finishers
        ids = kernel_ids(self.plan.steps[piece.first : piece.last])
        kernels = [known[name] for known in (compiled, finishers) for name in ids if name in known]

        def run(given: Sequence[Any]) -> tuple[Any, ...]:
            values: Values = {**self.consts, **dict(zip(piece.inputs, given, strict=True))}
            for action, dead in alone:
                action(values)
                for var in dead:
                    values.pop(var, None)
            return tuple(values[var] for var in piece.outputs)

        recording = Recording(self.memory, run, kernels, self.runs_before)
        self.recordings.append(recording)

        def action(values: Values) -> None:
            given = [self.memory.in_order(values[var]) for var in piece.inputs]
            values.update(zip(piece.outputs, recording(given), strict=True))

        return action

    def _read(self, atom: Atom, values: Values) -> Any:
        if isinstance(atom, Literal):
            return self.memory.put(np.asarray(atom.val, atom.aval.dtype))
        return values[atom]

    # ---- steps ----

    def _action(self, step: Step) -> Action:
        if step.id in self.executable.kernels:
            return self._kernel(step)
        match step:
            case ViewStep(eqn=eqn):
                return self._call(eqn, view_of(eqn.primitive.name) or eqn.primitive.impl, ordered=False)
            case LibraryStep(eqn=eqn) if eqn.primitive is loop_p:
                self.on_host.add(step.id)
                loop = compile_loop(eqn.params["program"])
                return self._on_host(eqn, lambda *operands, program: loop(*operands))
            case LibraryStep(eqn=eqn) | NumpyStep(eqn=eqn):
                lowering = eqn.primitive.lowering if eqn.primitive.has_rule("lowering") else None
                function = lowering.call if isinstance(lowering, LibraryCall) else eqn.primitive.impl
                if isinstance(step, LibraryStep):
                    own = self.memory.library(eqn, function)
                    if own is not None:
                        return self._call_or_host(eqn, own, function)
                self.on_host.add(step.id)
                return self._on_host(eqn, function)
            case BranchStep():
                return self._branch(step)
            case LoopStep():
                return self._loop(step)
        raise AssertionError(step)

    def _kernel(self, step: Step) -> Action:
        """A cluster, or a loop or branch that the device runs by itself. Such a one takes arrays in C order, and may
        have constants of its own."""
        kernel = self.executable.kernels[step.id]
        compiled = self.executable.compiled[step.id]
        finisher = self.executable.finishers.get(step.id)
        memory = self.memory
        finish, taken = kernel.finish, self.taken
        made = dict.fromkeys(a.var for k in (kernel, finish) if k for a in k.args if a.kind == "out" and a.var)
        scratch = [a for a in kernel.args if a.kind == "scratch"]
        launches = [(compiled, kernel.args)] + ([(finisher, finish.args)] if finisher and finish else [])
        inner = [plan.jaxpr for plan in sub_plans(step)]
        inner += [p.jaxpr for plan in sub_plans(step) for s in plan.all_steps for p in sub_plans(s)]
        consts = {var: value for jaxpr in inner for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True)}
        own = {a.var: memory.put(np.asarray(consts[a.var])) for a in kernel.args if a.var in consts}
        unordered = [v for v in step_inputs(step)] if sub_plans(step) else []

        def action(values: Values) -> None:
            for var in made:
                dead = taken.get(var)
                values[var] = memory.empty(var.aval.shape, var.aval.dtype) if dead is None else values[dead]
            if not kernel.extent:
                return
            parts = {a.name: memory.empty(a.shape, np.dtype(a.dtype)) for a in scratch}
            given = values
            if unordered or own:
                given = values | own | {v: memory.in_order(values[v]) for v in unordered}
            for which, args in launches:
                which.launch(*(_argument(a, given, parts) for a in args))

        return action

    def _call(self, eqn: Equation, function: Callable[..., Any], *, ordered: bool = True) -> Action:
        params = dict(eqn.params)

        def action(values: Values) -> None:
            results = function(*(self._read(a, values) for a in eqn.invars), **params)
            for out, result in zip(eqn.outvars, results if eqn.primitive.multiple_results else (results,), strict=True):
                values[out] = self.memory.in_order(result) if ordered else result

        return action

    def _call_or_host(self, eqn: Equation, own: Callable[..., Any], function: Callable[..., Any]) -> Action:
        """The device's routine; where it refuses (a singular matrix, an index out of range, a size that it does not
        take), the host's, which then raises what NumPy raises, or computes what NumPy computes."""
        there, here = self._call(eqn, own), self._on_host(eqn, function)
        refusals = 0

        def action(values: Values) -> None:
            nonlocal refusals
            if refusals < MOST_REFUSALS:
                try:
                    return there(values)
                except self.memory.memory_errors:
                    raise
                except Exception as error:  # noqa: BLE001  # whatever a library objects to
                    refusals += 1
                    logger.info("%s: %s runs on the host: %s", self.memory.device, eqn.primitive, error)
            return here(values)

        return action

    def _on_host(self, eqn: Equation, function: Callable[..., Any]) -> Action:
        """A call that the device has no routine for: its operands come to the host, its results go back."""
        params, memory = dict(eqn.params), self.memory
        name = eqn.origin.op or eqn.primitive.name

        def action(values: Values) -> None:
            operands = []
            for atom in eqn.invars:
                if isinstance(atom, Literal):
                    operands.append(np.asarray(atom.val, atom.aval.dtype))
                else:
                    operands.append(memory.get(values[atom]))
                    self.crossed.append(Crossing(atom.hint, "to host", atom.aval.nbytes, name))
            results = function(*operands, **params)
            for out, result in zip(eqn.outvars, results if eqn.primitive.multiple_results else (results,), strict=True):
                values[out] = memory.put(np.asarray(result))
                self.crossed.append(Crossing(out.hint, "to device", out.aval.nbytes, name))

        return action

    # ---- branches and loops: the host decides ----

    def _decide(self, array: Any) -> Any:
        begin = time.perf_counter()
        value = self.memory.get(array)[()]
        self.crossed.append(Crossing("", "to host", array.nbytes, "condition", time.perf_counter() - begin))
        return value

    def _ask(self, array: Any) -> Callable[[], Any]:
        """Start bringing a condition to the host; gives a function that waits for it."""
        wait = self.memory.begin_get(array)

        def decide() -> Any:
            begin = time.perf_counter()
            value = wait()[()]
            self.crossed.append(Crossing("", "to host", array.nbytes, "condition", time.perf_counter() - begin))
            return value

        return decide

    def _inner(self, step: Step) -> list[Callable[..., tuple[Any, ...]]]:
        recorded = step.id in self._recorded
        programs = [Program(self.executable, plan, recorded=recorded, inside=True) for plan in sub_plans(step)]
        self.recordings += [recording for program in programs for recording in program.recordings]
        return list(map(self._runner, programs))

    def _runner(self, program: Program) -> Callable[..., tuple[Any, ...]]:
        def run(*operands: Any) -> tuple[Any, ...]:
            return tuple(map(self.memory.in_order, program.run(operands, self.crossed, self.clock)))

        return run

    def _branch(self, step: BranchStep) -> Action:
        runs, eqn = self._inner(step), step.eqn

        def action(values: Values) -> None:
            index, *operands = (self._read(a, values) for a in eqn.invars)
            values.update(zip(eqn.outvars, self._own(runs[int(self._decide(index))](*operands), operands), strict=True))

        return action

    def _loop(self, step: LoopStep) -> Action:
        eqn, params, runs = step.eqn, step.eqn.params, self._inner(step)
        if step.condition is not None:
            condition, body = runs
            n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]

            may_go_ahead = always_ends(step.body)

            def loop(operands: Sequence[Any]) -> tuple[Any, ...]:
                first = n_cond + n_body
                cond_consts, body_consts = operands[:n_cond], operands[n_cond:first]
                carry = tuple(map(self.memory.in_order, operands[first:]))
                n_done, goes_ahead = 0, may_go_ahead
                while True:
                    begin = time.perf_counter()
                    decide, following = self._ask(condition(*cond_consts, *carry)[0]), None
                    if goes_ahead and n_done >= AHEAD_FROM:
                        try:
                            following = body(*body_consts, *carry)
                        except self.memory.memory_errors:
                            goes_ahead = False
                    if not decide():
                        return carry
                    carry = body(*body_consts, *carry) if following is None else following
                    n_done += 1
                    goes_ahead = goes_ahead and time.perf_counter() - begin < AHEAD_S

        else:
            (body,) = runs
            n_consts, n_carry, length = params["num_consts"], params["num_carry"], params["length"]
            order = range(length)[::-1] if params["reverse"] else range(length)
            rows = [(a.shape, a.dtype) for a in params["jaxpr"].out_avals[n_carry:]]

            def loop(operands: Sequence[Any]) -> tuple[Any, ...]:
                consts, first = operands[:n_consts], n_consts + n_carry
                carry = tuple(map(self.memory.in_order, operands[n_consts:first]))
                xs = tuple(map(self.memory.in_order, operands[first:]))
                stacked = [self.memory.empty((length, *shape), dtype) for shape, dtype in rows]
                for i in order:
                    results = body(*consts, *carry, *[x[i, ...] for x in xs])
                    carry = results[:n_carry]
                    for target, y in zip(stacked, results[n_carry:], strict=True):
                        target[i] = y
                return (*carry, *stacked)

        def action(values: Values) -> None:
            operands = [self._read(a, values) for a in eqn.invars]
            values.update(zip(eqn.outvars, self._own(loop(operands), operands), strict=True))

        return action

    def _own(self, results: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        """Results that are not also operands: a loop or branch may hand these through."""
        handed = {id(x) for x in (*operands, *self.consts.values())}
        owned = []
        for result in results:
            owned.append(result.copy() if id(result) in handed else result)
            handed.add(id(result))
        return owned


def _argument(arg: KernelArg, values: Values, parts: dict[str, Any]) -> Any:
    if arg.kind == "size":
        return arg.value
    if arg.kind == "scratch":
        return parts[arg.name]
    assert arg.var is not None
    return values[arg.var]
