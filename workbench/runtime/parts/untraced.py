"""Functions that tracing refuses run whole where numba takes them so, in parts, or in NumPy, whichever is fastest.

Calls find out. A function that numba takes whole is compiled in its first call and runs a few times, then NumPy has its
turns; where kernels may be faster, since arrays are large, parts have theirs, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from math import inf
from types import FunctionType
from typing import Any, Literal

from ...config import config
from ...errors import TracingError
from ...frontend.diagnostics import PLACED_APART
from ...frontend.scopes import running_in_numpy
from ..cells import CellResult
from ..compilation import Source
from ..fast_path import MISS, missed
from .functions import FunctionParts
from .statements import Part
from .whole_functions import WholeFunction

WARM_UP_CALLS = 1  # the first one compiles
TRIED_CALLS = 3
NUMPY_CALLS = 2  # the first one may be cold
SLOWLY_MS = 0.06  # what it takes to get here, where there is no faster way of calling it
LONG_MS = 100.0  # what a machine's loops take so long for may take Python minutes

FASTER_IN_NUMPY = "WB500"  # than as it was traced
TOO_MANY_VALUES = "WB502"  # where calls with others are traced, as soon as they come often enough

Way = Literal["whole", "parts", "numpy"]


@dataclass(eq=False, slots=True)
class UntracedFunction:
    """One function, for arguments of one kind. reason: why it cannot be traced; whole, parts: None where there is no
    such way; whole_ms, numpy_ms: what calls took, but for those that `parts` knows of."""

    fn: Callable[..., Any]
    source: Source
    reason: TracingError
    whole: WholeFunction | None
    parts: FunctionParts | None
    whole_ms: list[float] = field(default_factory=list)
    numpy_ms: list[float] = field(default_factory=list)
    _fast: Callable[..., Any] | None = None
    _timed_fast: Callable[..., Any] = missed

    @classmethod
    def of(
        cls, fn: Callable[..., Any], source: Source, reason: TracingError, *, fast: bool = False
    ) -> UntracedFunction | None:
        """None where there is no other way than NumPy. fast: as for `wb.jit`."""
        if not isinstance(fn, FunctionType):
            return None
        parts = FunctionParts.of(fn, source, reason, fast=fast)
        may_be_whole = reason.code not in (PLACED_APART, TOO_MANY_VALUES) and not config.tiers
        whole = WholeFunction.of(fn, source) if may_be_whole else None
        return cls(fn, source, reason, whole, parts) if parts is not None or whole is not None else None

    @classmethod
    def whole_of(cls, fn: Callable[..., Any], source: Source, reason: TracingError) -> UntracedFunction | None:
        """One that is faster in NumPy than as it was traced, and may still be fastest whole."""
        if not isinstance(fn, FunctionType) or config.tiers:
            return None
        whole = WholeFunction.of(fn, source, anyway=False)
        return None if whole is None else cls(fn, source, reason, whole, None)

    @property
    def way(self) -> Way | None:
        """The fastest way; None: not known yet."""
        turn, is_known = self._turn
        return turn if is_known else None

    @property
    def stays_in_numpy(self) -> bool:
        """Whether it is known that NumPy is the fastest."""
        way = self.way
        return way == "numpy" or way == "parts" and self.parts is not None and self.parts.pays is False

    @property
    def _turn(self) -> tuple[Way, bool]:
        """The way of the next call, and whether that is known to be the fastest."""
        whole, parts = self.whole, self.parts
        if whole is None or whole.refused:
            return ("numpy", True) if parts is None else ("parts", parts.pays is not None)
        if len(self.whole_ms) < WARM_UP_CALLS + TRIED_CALLS:
            return "whole", False
        whole_ms = min(self.whole_ms[WARM_UP_CALLS:]) + SLOWLY_MS * (self._timed_fast is missed)
        if not config.numpy_trials:
            return "whole", True
        if whole.is_better and whole_ms > LONG_MS:
            return "whole", True
        if (parts is None or whole.is_better) and len(self.numpy_ms) < NUMPY_CALLS:
            return "numpy", False
        if whole.is_better and whole_ms < min(self.numpy_ms):
            return "whole", True
        if parts is not None and parts.pays is None:
            return "parts", False
        others = [*self.numpy_ms, *(parts.numpy_ms + parts.tried_ms if parts is not None else ())]
        return ("whole" if whole_ms < min(others, default=inf) else "numpy" if parts is None else "parts"), True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        turn, is_known = self._turn
        if turn == "whole" and self.whole is not None:
            begin = time.perf_counter()
            done = self.run_whole(args, kwargs)
            if done is not None:
                if not is_known:
                    self.whole_ms.append((time.perf_counter() - begin) * 1e3)
                return done[0]
            turn, is_known = self._turn
        if turn == "parts" and self.parts is not None:
            return self.parts(*args, **kwargs)
        begin = time.perf_counter()
        with running_in_numpy():
            result = self.fn(*args, **kwargs)
        if turn == "numpy" and not is_known:
            self.numpy_ms.append((time.perf_counter() - begin) * 1e3)
        return result

    def run_whole(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, CellResult | None] | None:
        """The function's result, and what ran, after the first calls the faster way; None if Python must run it."""
        assert self.whole is not None
        result = self._timed_fast(*args, **kwargs)
        if result is not MISS:
            return result, None
        done = self.whole.run(args, kwargs)
        if done is not None and self._timed_fast is missed and not kwargs:
            self._timed_fast = self.whole.fast(args, ()) or missed  # as calls will run, should this be the fastest way
        return done

    def fast(self, args: tuple, elsewhere: Collection[str]) -> Callable[..., Any] | None:
        """`call(*args)` for arguments like these, or MISS for others: where it is known that the function runs whole,
        and what that takes is quickly compared."""
        if self._fast is None and self.way == "whole" and self.whole is not None:
            self._fast = self.whole.fast(args, elsewhere) or missed
        return self._fast

    def ran_whole(self, ran: Sequence[Part]) -> bool:
        """Whether what ran was the function whole."""
        if self.whole is None or len(ran) != 1 or not isinstance(ran[0], CellResult):
            return False
        return ran[0].compilation in self.whole.compilations

    def run(self, args: tuple, kwargs: dict[str, Any], *, timed: bool) -> tuple[Any, list[Part]]:
        """The function's result, and what ran compiled or in parts, if anything. Raises what its statements raise."""
        way = self.way
        if self.whole is not None and (way == "whole" or way is None and self.reason.code != FASTER_IN_NUMPY):
            done = self.whole.run(args, kwargs)
            if done is not None:
                return done[0], [done[1]]
        if self.parts is not None:
            return self.parts.run(args, kwargs, timed=timed)
        with running_in_numpy():
            return self.fn(*args, **kwargs), []
