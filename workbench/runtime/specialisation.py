"""A version of a compiled function: what was traced and compiled for one key, or why NumPy runs it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..config import config
from ..errors import TracingError
from ..frontend.captures import may_vary
from ..frontend.scopes import running_in_numpy
from ..frontend.trace import Traced
from ..fusion import ViewStep
from .arguments import as_array, is_writeable, overlapping
from .compilation import Compilation
from .executable import Executable
from .fast_path import ResultText, fast_device_call, result_text
from .native.kernels import LARGE
from .parts.untraced import UntracedFunction
from .parts.whole_functions import WholeFunction
from .tiers import Pending, captures_hold
from .trial import MOST_S, MOST_S_IN_PYTHON, Trial, needs_trial
from .varying import TimedInNumpy

if TYPE_CHECKING:
    from .cuda.executable import DeviceExecutable
    from .rival import Rival


WRITTEN_ANEW_AT = (2, 8, 64, 512)


@dataclass(eq=False, slots=True)
class Specialisation:
    """One traced and compiled version, and how to call it with the leaves of a call's arguments."""

    traced: Traced
    compilation: Compilation
    capture_keys: tuple[tuple, ...]
    result: ResultText | None = None  # where no result needs care
    finish: Callable[[tuple], Any] | None = None  # the same as a function, where that is all there is to do
    fast: Callable[..., Any] | None = None  # made at its second call: see `fast_call`
    n_missed: int = 0  # calls of this version that `fast` did not take
    trial: Trial | None = None  # while it is not known whether NumPy is faster
    rival: Rival | None = None  # the function compiled whole, until it is known whether that is faster
    whole: WholeFunction | None = None  # what `fast` calls, where that is
    n_left: int = 0  # calls in a row that a check left to NumPy

    def __post_init__(self) -> None:
        traced = self.traced
        plan = self.compilation.plan
        owned = {*plan.jaxpr.invars, *plan.jaxpr.constvars}
        owned.update(var for step in plan.steps if isinstance(step, ViewStep) for var in step.eqn.outvars)
        self.result = result_text(traced.outputs, plan.outvars, owned, len(plan.jaxpr.invars))
        dispatch_counts = self.result is None and bool(traced.outputs.held)
        if config.numpy_trials and self.compilation.device == "cpu" and (needs_trial(plan) or dispatch_counts):
            native: dict[str, str] = getattr(self.compilation.executable, "native", {})
            is_slow = any(why not in ("", LARGE) for why in native.values())
            chooses = getattr(getattr(self.compilation.executable, "run", None), "choice", None) is not None
            self.trial = Trial(MOST_S_IN_PYTHON if is_slow else MOST_S, chooses=chooses)
        if self.result is not None and not (traced.captures or traced.writes):
            self.finish = self.result.function()

    def misses(self) -> None:
        """A call of this version that `fast` did not take: after some it is written anew, for the objects that are
        handed over by then."""
        self.n_missed += 1
        if self.n_missed in WRITTEN_ANEW_AT:
            self.fast = self.whole = None

    def is_current(self) -> bool:
        """Whether the values that the trace captured are what they were (arrays: their types)."""
        return captures_hold(self.traced, self.capture_keys)

    def is_usable(self, leaves: list[Any]) -> bool:
        """Whether this version may run at once: it is no longer on trial, current, and NumPy is not needed."""
        return self.trial is None and not self.n_left and self.is_current() and not self.needs_numpy(leaves)

    def inputs(self, leaves: list[Any]) -> list[Any]:
        """The program's inputs: the traced leaves of the arguments, then what it captured."""
        return [*leaves, *(capture.read() for capture in self.traced.captures)]

    def needs_numpy(self, leaves: list[Any]) -> bool:
        """Whether an input that the program writes is read-only, or shares memory with another one, or lists and dicts
        that it takes for several are one: then only NumPy knows the order of things."""
        apart = [id(read()) for read in self.traced.outputs.apart]
        if len(set(apart)) < len(apart):
            return True
        written = [i for i, _ in self.traced.writes]
        if not written:
            return False
        inputs = self.inputs(leaves)
        return overlapping(inputs, written) is not None or not all(is_writeable(inputs[i]) for i in written)

    def call(self, leaves: list[Any], run: Callable[..., tuple[np.ndarray, ...]] | None = None) -> Any:
        """Run on the traced leaves of the arguments, write back what was mutated, and rebuild the result."""
        inputs = self.inputs(leaves) if self.traced.captures else leaves
        executable = self.compilation.executable
        if isinstance(executable, Executable):
            given = [as_array(x) for x in inputs]
        else:
            return self._call_on_device(executable, inputs, run or executable.run)
        return self.traced.rebuild((run or executable.run)(*given), inputs)

    def fast_on_device(self, args: tuple, elsewhere: Collection[str]) -> Callable[..., Any] | None:
        """A call that asks no more than whether the arguments are arrays of this device, of the same types as `args`;
        None where a call has more to see to."""
        executable = self.compilation.executable
        if isinstance(executable, Executable) or self.traced.captures or self.traced.writes:
            return None
        is_current = self.is_current if self.traced.guards else None
        return fast_device_call(args, executable.memory, self.call, is_current, elsewhere)

    def _call_on_device(self, executable: DeviceExecutable, inputs: list[Any], run: Callable[..., tuple]) -> Any:
        written = {i for i, _ in self.traced.writes}
        given, inputs = executable.as_inputs(inputs, written)
        results = executable.for_targets(run(*given), [(inputs[i], k) for i, k in self.traced.writes])
        with executable.memory.working():
            return self.traced.rebuild(results, inputs)


@dataclass(eq=False, slots=True)
class Fallback:
    """A key whose trace failed: the plain function runs, for this reason, or its parts do. fits: whether a call's
    arguments are like those that came with this key first; MISS for others."""

    reason: TracingError
    parts: UntracedFunction | TimedInNumpy | UntilItReturns | None = None
    fits: Callable[..., Any] | None = None

    @property
    def stays_in_numpy(self) -> bool:
        """Whether it is settled that the plain function runs."""
        return self.parts is None or type(self.parts) is UntracedFunction and self.parts.stays_in_numpy


@dataclass(eq=False, slots=True)
class UntilItReturns:
    """The function in NumPy, for arguments (by their key) with which a call raised, until one does not."""

    fn: Callable[..., Any]
    raising: set[Any]
    key: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with running_in_numpy():
            result = self.fn(*args, **kwargs)
        self.raising.discard(self.key)
        return result


Entry = Specialisation | Fallback | Pending


def held_anew(entries: Iterable[Entry]) -> frozenset[str]:
    """The numbers and lists that objects hold and that made these versions stale."""
    guards = (guard for entry in entries if isinstance(entry, Specialisation) for guard in entry.traced.guards)
    return frozenset(guard.name for guard in guards if may_vary(guard) and not guard.holds())
