"""Ranges whose bounds are integers of the run, and the first of their numbers as loops carry it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ir import REGISTRY
from .checks import INDEX_BITS
from .tracer import Tracer, emit, from_atom, lift, require_trace


@dataclass(frozen=True)
class TracedRange:
    """`range(start, stop, step)` of integers of which some are traced; the step is known."""

    start: Any
    stop: Any
    step: int

    @staticmethod
    def of(bounds: Sequence[Any]) -> TracedRange | range:
        start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        if type(step) is Tracer:
            return range(*bounds)  # which asks for the number, and says why it cannot be had
        return TracedRange(_as_int(start), _as_int(stop), int(step))


def _as_int(value: Any) -> Any:
    """A bound as the Python int that the loop's variable is."""
    if type(value) is not Tracer:
        return int(value)
    if value.weak_type and value.dtype == np.int64:
        return value
    return emit(REGISTRY["convert_element_type"], value, new_dtype=np.dtype(np.int64), weak_type=True)


def first_item(rows: range | TracedRange) -> Tracer:
    """The loop's variable at first, as a traced Python int."""
    first = lift(rows.start)
    if type(rows) is range:
        first.buffer.bits = max(abs(end).bit_length() for end in (rows.start, rows.stop))
    elif type(rows.start) is not Tracer or rows.start.buffer.bits <= INDEX_BITS:
        first = from_atom(require_trace(), first.current)
        first.buffer.bits = INDEX_BITS
    return first
