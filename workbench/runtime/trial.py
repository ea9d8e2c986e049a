"""Whether a compiled program is faster than NumPy where that is in doubt: found out on the caller's own calls.

A few kernels and products are; a loop whose iterations are small, one that was written out, or a program whose time
goes into routines that NumPy calls as well (sorting, scatters, transforms) may not be. Some calls are timed
compiled, then one runs in NumPy, which is as right. If that leaves a doubt, the two take turns for some calls more,
and the faster way stays. Calls that are over in no time, or that take so long that waiting for NumPy would be felt,
are left compiled; calls whose loops Python runs may take longer, since NumPy cannot take very much longer than these.
"""

from __future__ import annotations

from ..errors import TracingError
from ..fusion import Cluster, LibraryStep, Plan, ViewStep
from ..primitives.contractions import dot_general_p

MANY_STEPS = 24  # from here on what it takes to call each may count
COMPILED_CALLS = 3  # the first one faults pages in
CHOOSING_CALLS = 4  # more of programs that find out by themselves which threads do better
NUMPY_CALLS = 4  # at most
LEAST_S = 1e-5
MOST_S = 0.3
MOST_S_IN_PYTHON = 3.0  # where Python runs the iterations of a loop
# By how much compiled calls must win after so many calls of NumPy. Other work on the machine makes single calls slower.
CLEARLY = {1: 2.5, 2: 1.3, 3: 1.15}
COLD_S = 2e-3  # what NumPy's first call may take because it is the first
DISPATCH_S = 5e-6  # later calls are spared so much of what timed ones take


def needs_trial(plan: Plan) -> bool:
    """Whether a plan has many steps, or others than kernels, views and matrix products."""
    return len(plan.steps) > MANY_STEPS or not all(
        isinstance(step, Cluster | ViewStep) or (isinstance(step, LibraryStep) and step.eqn.primitive is dot_general_p)
        for step in plan.all_steps
    )


class Trial:
    """The times of one program's first calls. compiled_wins: None until it is known; most_s: compiled calls that take
    longer are not compared; chooses: whether the program tries two ways in its first calls."""

    __slots__ = ("compiled_s", "compiled_wins", "most_s", "n_compiled", "numpy_s")

    def __init__(self, most_s: float = MOST_S, *, chooses: bool = False) -> None:
        self.most_s = most_s
        self.n_compiled = COMPILED_CALLS + CHOOSING_CALLS * chooses
        self.compiled_s: list[float] = []
        self.numpy_s: list[float] = []
        self.compiled_wins: bool | None = None

    @property
    def wants_numpy(self) -> bool:
        """Whether the next call should run in NumPy."""
        return self.compiled_wins is None and len(self.compiled_s) >= self.n_compiled + max(len(self.numpy_s) - 1, 0)

    @property
    def best_compiled_s(self) -> float:
        return min(self.compiled_s[1:])

    def record_compiled(self, seconds: float) -> None:
        self.compiled_s.append(seconds)
        if len(self.compiled_s) == self.n_compiled and not LEAST_S <= self.best_compiled_s <= self.most_s:
            self.compiled_wins = True

    def record_numpy(self, seconds: float) -> None:
        self.numpy_s.append(seconds)
        compiled_s, numpy_s, n_calls = self.best_compiled_s, min(self.numpy_s), len(self.numpy_s)
        clearly = CLEARLY.get(n_calls, 1.0)
        if n_calls == 1 and numpy_s < COLD_S:
            return
        if numpy_s > clearly * compiled_s:
            self.compiled_wins = True
        elif n_calls == NUMPY_CALLS:
            self.compiled_wins = compiled_s <= numpy_s + DISPATCH_S
        elif n_calls > 1 and compiled_s > clearly * numpy_s + DISPATCH_S:
            self.compiled_wins = False

    def numpy_wins(self, name: str) -> TracingError:
        """Why the function of this name runs in NumPy."""
        took = f"{min(self.numpy_s) * 1e3:.3g} ms in NumPy, {self.best_compiled_s * 1e3:.3g} ms compiled"
        message = f"WB500  {name} runs in NumPy, which is faster for arguments of these types and sizes: {took}."
        return TracingError(message, code="WB500")
