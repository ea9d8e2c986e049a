"""Whether a brief program with loops is faster as one loop of the machine's.

What tracing makes of a loop over a few elements is called step by step, and so are the kernels around loops that run by
themselves: each step takes a microsecond or more. The same function, compiled whole (`parts.whole_functions`), takes
none. Some calls after a version has won against NumPy, the two take turns, and the faster one stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..config import config
from ..fusion import BranchStep, LibraryStep, LoopStep, Plan
from ..primitives.loops import loop_p
from .fast_path import MISS, missed
from .parts.whole_functions import WholeFunction

if TYPE_CHECKING:
    from .specialisation import Specialisation

MOST_S = 1e-3  # calls that take longer gain nothing by fewer steps
TURNS = 4  # of each
CLEARLY = 0.9  # of the time of the other one


class Rival:
    """A function compiled whole, and how long calls take, so and as it was traced."""

    __slots__ = ("fast", "traced_s", "whole", "whole_s")

    def __init__(self, whole: WholeFunction) -> None:
        self.whole = whole
        self.fast: Callable[..., Any] | None = None
        self.whole_s: list[float] = []
        self.traced_s: list[float] = []

    @classmethod
    def of(cls, fn: Callable[..., Any], source: Any, plan: Plan, best_s: float) -> Rival | None:
        """A rival of the traced version, if one may be faster. best_s: what its calls take."""
        if best_s > MOST_S or config.tiers or not isinstance(fn, FunctionType) or not has_loops(plan):
            return None
        in_steps = any(isinstance(step, LoopStep) for step in plan.steps)
        whole = WholeFunction.of(fn, source, anyway=in_steps)
        return cls(whole) if whole is not None else None

    def turn(self, entry: Specialisation, args: tuple, leaves: list[Any], elsewhere: Collection[str]) -> Any:
        """A call's result, by the way whose turn it is; MISS where the traced version is to run, in which case nothing
        has happened. Ends with the faster way as `entry.fast`."""
        if self.fast is None:
            done = self.whole.run(args, {})
            self.fast = self.whole.fast(args, ()) if done is not None else None
            if self.fast is None:
                entry.rival = None
            return MISS if done is None else done[0]
        is_whole = len(self.whole_s) <= len(self.traced_s)
        begin = time.perf_counter()
        if is_whole:
            result = self.fast(*args)
        else:
            result = (entry.fast or missed)(*args)
            result = entry.call(leaves) if result is MISS else result
        (self.whole_s if is_whole else self.traced_s).append(time.perf_counter() - begin)
        if result is MISS:
            entry.rival = None
        elif len(self.traced_s) == TURNS:
            entry.rival = None
            if min(self.whole_s) < CLEARLY * min(self.traced_s):
                entry.fast, entry.whole = self.whole.fast(args, elsewhere), self.whole
        return result


def has_loops(plan: Plan) -> bool:
    """Whether a plan has loops or branches, or loops that run by themselves."""
    return any(
        isinstance(step, LoopStep | BranchStep) or isinstance(step, LibraryStep) and step.eqn.primitive is loop_p
        for step in plan.steps
    )
