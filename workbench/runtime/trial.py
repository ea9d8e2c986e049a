"""Whether a compiled program is faster than NumPy where that is in doubt: found out on the caller's own calls.

A few kernels and products are; a loop whose iterations are small, one that was written out, or a program whose time
goes into routines that NumPy calls as well (sorting, scatters, transforms) may not be. Some calls are timed
compiled, then at most two run in NumPy, which is as right: the faster way stays. Calls that are over in no time, or
that take so long that waiting for NumPy would be felt, are left compiled.
"""

from __future__ import annotations

from ..fusion import Cluster, LibraryStep, Plan, ViewStep
from ..primitives.contractions import dot_general_p

MANY_STEPS = 24  # from here on what it takes to call each may count
COMPILED_CALLS = 3  # the first one faults pages in
LEAST_S = 5e-5
MOST_S = 0.3
CLEARLY = 1.2


def needs_trial(plan: Plan) -> bool:
    """Whether a plan has many steps, or others than kernels, views and matrix products."""
    return len(plan.steps) > MANY_STEPS or not all(
        isinstance(step, Cluster | ViewStep) or (isinstance(step, LibraryStep) and step.eqn.primitive is dot_general_p)
        for step in plan.all_steps
    )


class Trial:
    """The times of one program's first calls. compiled_wins: None until it is known."""

    __slots__ = ("compiled_s", "compiled_wins", "numpy_s")

    def __init__(self) -> None:
        self.compiled_s: list[float] = []
        self.numpy_s: list[float] = []
        self.compiled_wins: bool | None = None

    @property
    def wants_numpy(self) -> bool:
        """Whether the next call should run in NumPy."""
        return self.compiled_wins is None and len(self.compiled_s) >= COMPILED_CALLS

    @property
    def best_compiled_s(self) -> float:
        return min(self.compiled_s[1:])

    def record_compiled(self, seconds: float) -> None:
        self.compiled_s.append(seconds)
        if len(self.compiled_s) == COMPILED_CALLS and not LEAST_S <= self.best_compiled_s <= MOST_S:
            self.compiled_wins = True

    def record_numpy(self, seconds: float) -> None:
        self.numpy_s.append(seconds)
        if seconds > CLEARLY * self.best_compiled_s:
            self.compiled_wins = True
        elif len(self.numpy_s) == 2:
            self.compiled_wins = min(self.numpy_s) * CLEARLY > self.best_compiled_s
