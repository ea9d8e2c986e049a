"""How much a function of the user's that calls itself has recorded: each call is written out by itself, and LLVM takes
longer for that than what is called over and over can save."""

from __future__ import annotations

from types import FrameType

from ..errors import TracingError
from .positions import is_traced_code

MAX_EQUATIONS = 2048
MAX_STEPS = 64
MAX_REGIONS = 256  # bodies of branches, which double with every call inside


class Recursion:
    """The recursion that a trace is in. A look at the stack takes as long as some operations do, so that it is taken
    only now and then (`INTERVAL`), and what a recursion recorded before the first look does not count."""

    INTERVAL = 256  # equations

    def __init__(self) -> None:
        self._outermost: FrameType | None = None
        self._began = (0, 0, 0)

    def is_too_long(self, frame: FrameType, n_eqns: int, n_steps: int, n_regions: int) -> bool:
        """Whether the recursion around `frame`, if there is one, has grown too long by now."""
        outermost = _outermost_of_recursion(frame)
        if outermost is None or outermost is not self._outermost:
            self._outermost = outermost
            self._began = n_eqns, n_steps, n_regions
            return False
        eqns, steps, regions = self._began
        is_long = n_eqns - eqns > MAX_EQUATIONS - self.INTERVAL
        return is_long or n_steps - steps > MAX_STEPS or n_regions - regions > MAX_REGIONS


def too_deep_recursion() -> TracingError:
    """WB185: a trace that only Python's limit ended, since the numbers decide where the recursion ends."""
    fix = "none is needed; np.where, or a loop, in place of the recursion compiles"
    return TracingError(
        "WB185  The code calls a function within itself, and only the numbers decide how often: no trace of it ends.\n"
        f"   Fix  {fix}\n"
        "   TracingError WB185: recursion that the numbers end",
        code="WB185",
        fixes=(fix,),
    )


def _outermost_of_recursion(frame: FrameType | None) -> FrameType | None:
    """The outermost frame of a function of the user's that runs again further inside."""
    seen: set[int] = set()  # ids: code that runs in parts holds what cannot be hashed
    found = None
    while frame is not None:
        if is_traced_code(frame.f_code):
            if id(frame.f_code) in seen:
                found = frame
            seen.add(id(frame.f_code))
        frame = frame.f_back
    return found
