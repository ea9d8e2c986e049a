"""Whether a brief program with loops is faster as one loop of the machine's.

What tracing makes of a loop over a few elements is called step by step, and so are the kernels around loops that run by
themselves: each step takes a microsecond or more. The same function, compiled whole (`parts.whole_functions`), takes
none. Once a version has won against NumPy, it is compiled so in the background; when it is ready the two take turns for
some calls, and the faster one stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..config import config
from ..fusion import BranchStep, LibraryStep, LoopStep, Plan
from ..primitives.loops import loop_p
from .background import submit
from .fast_path import MISS, missed
from .parts.whole_functions import WholeFunction

if TYPE_CHECKING:
    from .specialisation import Specialisation

MOST_S = 1e-3  # calls that take longer gain nothing by fewer steps
TURNS = 4  # of each
MOST_MISSES = 32  # calls that it does not take
CLEARLY = 0.9  # of the time of the other one

Replace = Callable[[Callable[..., Any] | None, Callable[..., Any]], None]


class Rival:
    """A function that is compiled whole meanwhile, of one version, and how long calls take. replace: makes calls of
    that version use another function than so far."""

    def __init__(
        self, whole: WholeFunction, entry: Specialisation, best_s: float, args: tuple, elsewhere: Collection[str],
        replace: Replace,
    ) -> None:  # fmt: skip
        self.whole = whole
        self.entry = entry
        self.args: tuple | None = args  # like those of the calls to come, until it is compiled
        self.elsewhere = elsewhere
        self.replace = replace
        self.fast: Callable[..., Any] = missed
        self.traced = entry.fast
        self.whole_s: list[float] = []
        self.traced_s: list[float] = []
        self.best_s = best_s
        self.n_misses = 0
        self.call = self._call  # one object, which calls are replaced by

    @classmethod
    def begin(
        cls, fn: Callable[..., Any], source: Any, entry: Specialisation, best_s: float, args: tuple,
        elsewhere: Collection[str], replace: Replace,
    ) -> None:  # fmt: skip
        """Compile the function whole in the background, if that may be faster than a version whose calls take
        `best_s`."""
        plan = entry.compilation.plan
        if best_s > MOST_S or config.tiers or not isinstance(fn, FunctionType) or not has_loops(plan):
            return
        in_steps = any(isinstance(step, LoopStep) for step in plan.steps)
        whole = WholeFunction.of(fn, source, anyway=in_steps)
        compiles = whole.translated(args) if whole is not None else None
        if whole is None or compiles is None:
            return
        rival = cls(whole, entry, best_s, args, elsewhere, replace)
        task = submit(compiles)
        task.then(lambda: rival.enter() if task.result else None)

    def enter(self) -> None:
        """It is compiled: calls find out which way is faster."""
        assert self.args is not None
        self.fast = self.whole.fast(self.args, self.elsewhere) or missed
        self.args = None
        if self.fast is not missed:
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
        elif self.n_misses == MOST_MISSES:
            self._end(False)
        return result

    def _end(self, whole_wins: bool) -> None:
        entry = self.entry
        if whole_wins:
            entry.whole = self.whole
            self.replace(self.call, self.fast)
        elif entry.fast is self.call:
            self.replace(self.call, self.traced or missed)
            entry.fast = self.traced


def has_loops(plan: Plan) -> bool:
    """Whether a plan has loops or branches, or loops that run by themselves."""
    return any(
        isinstance(step, LoopStep | BranchStep) or isinstance(step, LibraryStep) and step.eqn.primitive is loop_p
        for step in plan.steps
    )
