"""`enumerate(x)` and `zip(x, y)` over traced arrays, as rows that a loop picks by an index, which may be traced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .recording import current_trace
from .tracer import Tracer

MAX_UNROLL = 4  # iterations that are always written out


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """Tuples of the elements, at one position, of arrays, ranges, and other rows."""

    parts: tuple[Any, ...]

    def __len__(self) -> int:
        return min(len(part) for part in self.parts)

    def __getitem__(self, position: Any) -> tuple[Any, ...]:
        return tuple(
            part.start + position * part.step if type(part) is range else part[position] for part in self.parts
        )

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return (self[position] for position in range(len(self)))


def rows_of(function: Any, *args: Any, **start: Any) -> Any:
    """`function(*args)`, where that is `enumerate` or `zip` of what can be indexed: its rows."""
    if function is enumerate and len(args) + len(start) in (1, 2) and current_trace() is not None and _is_rows(args[0]):
        first = start.get("start", args[1] if len(args) == 2 else 0)
        if type(first) is int:
            args = (range(first, first + len(args[0])), args[0])
            start = {}
            function = zip
    if function is not zip or current_trace() is None or not all(map(_is_rows, args)):
        return function(*args, **start)
    return Rows(args) if any(type(a) is not range for a in args) else zip(*args, strict=False)


def _is_rows(value: Any) -> bool:
    return type(value) in (range, Rows) or type(value) is Tracer and bool(value.shape)


__all__ = ["MAX_UNROLL", "Rows", "rows_of"]
