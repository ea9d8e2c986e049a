"""Whether a brief program with loops is faster as one loop of the machine's.

What tracing makes of a loop over a few elements is called step by step, and so are the kernels around loops that run by
themselves: each step takes a microsecond or more. The same function, compiled whole (`parts.whole_functions`), takes
none. Such a program is compiled both ways in its first call; once it has won against NumPy, the two take turns for some
calls, and the faster one stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..config import config, device_choices
from ..fusion import BranchStep, LibraryStep, LoopStep
from ..primitives.loops import loop_p
from .fast_path import MISS, missed
from .parts.whole_functions import WholeFunction

if TYPE_CHECKING:
    from .specialisation import Specialisation

MOST_S = 3e-3  # a first call, without compiling, that takes longer gains little by fewer steps
TURNS = 6  # of each; the first ones are cold
MOST_MISSES = 32  # calls that it does not take
HOPELESS = 3.0  # times slower after two turns
CLEARLY = 0.9  # of the time of the other one

Replace = Callable[[Callable[..., Any] | None, Callable[..., Any]], None]


class Rival:
    """A function that was compiled whole, too, as one of its versions was, and how long calls take. replace: makes
    calls of that version use another function than so far."""

    def __init__(self, whole: WholeFunction, entry: Specialisation, args: tuple, replace: Replace) -> None:
        self.whole = whole
        self.entry = entry
        self.replace = replace
        self.fast = whole.fast(args, device_choices, is_traced=True) or missed
        self.traced: Callable[..., Any] | None = None
        self.whole_s: list[float] = []
        self.traced_s: list[float] = []
        self.best_s = 0.0  # what the version's calls take at least, where there is no fast way of calling it
        self.n_misses = 0
        self.call = self._call  # one object, which calls are replaced by

    @classmethod
    def of(
        cls, fn: Callable[..., Any], source: Any, entry: Specialisation, args: tuple, replace: Replace
    ) -> Rival | None:
        """None where nothing is gained, or numba does not take the function. args: like those of the calls to come."""
        assert entry.trial is not None
        if (
            entry.trial.compiled_s[0] > MOST_S
            or config.tiers
            or device_choices  # which calls ask for first
            or not isinstance(fn, FunctionType)
            or fn.__closure__  # which has no fast way
            or not _takes_steps(entry)
        ):
            return None
        in_steps = any(isinstance(step, LoopStep) for step in entry.compilation.plan.steps)
        whole = WholeFunction.of(fn, source, anyway=in_steps)
        compiles = whole.translated(args) if whole is not None else None
        if whole is None or compiles is None or not compiles():
            return None
        found = cls(whole, entry, args, replace)
        return None if found.fast is missed else found

    def enter(self) -> None:
        """The version has won against NumPy: calls find out which way is faster."""
        self.entry.rival = None
        self.traced = self.entry.fast
        self.replace(self.traced, self.call)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        """A call of the version while the two take turns."""
        traced = self.traced or missed
        is_whole = traced is missed or len(self.whole_s) <= len(self.traced_s)
        begin = time.perf_counter()
        result = (self.fast if is_whole else traced)(*args, **kwargs)
        elapsed = time.perf_counter() - begin
        if result is not MISS:
            (self.whole_s if is_whole else self.traced_s).append(elapsed)
        elif is_whole:
            self.n_misses += 1
            result = traced(*args, **kwargs)
        if len(self.whole_s) >= TURNS and (traced is missed or len(self.traced_s) >= TURNS):
            self._end(min(self.whole_s) < CLEARLY * min(self.traced_s, default=self.best_s))
        elif self.n_misses == MOST_MISSES or self._is_hopeless():
            self._end(False)
        return result

    def _is_hopeless(self) -> bool:
        """Whether it is so much slower that no more calls shall wait for it."""
        return min(len(self.whole_s), len(self.traced_s)) >= 2 and min(self.whole_s) > HOPELESS * min(self.traced_s)

    def _end(self, whole_wins: bool) -> None:
        entry = self.entry
        if whole_wins:
            entry.whole = self.whole
            self.replace(self.call, self.fast)
        elif entry.fast is self.call:
            self.replace(self.call, self.traced or missed)
            entry.fast = self.traced


def _takes_steps(entry: Specialisation) -> bool:
    """Whether a version has loops, or loops that run by themselves, among other steps, or more to do with results than
    to hand them over."""
    steps = entry.compilation.plan.steps
    if any(isinstance(step, LoopStep) for step in steps):
        return True
    has_loops = any(
        isinstance(step, BranchStep) or isinstance(step, LibraryStep) and step.eqn.primitive is loop_p for step in steps
    )
    return has_loops and (len(steps) > 1 or entry.result is None)
