"""Timelines: when the steps of a call ran, and how long each took."""

from __future__ import annotations

from collections.abc import Iterable

# Step id, start and duration in seconds; of a step that ran several times, how often.
TimelineEntry = tuple[str, float, float] | tuple[str, float, float, int]


# The lane of steps inside of loops and branches, whose times are in those of the loop.
IN_LOOPS = "loops"


class Totals:
    """A timeline of steps that run again and again: what each took in all, from its first beginning, and how often it
    ran."""

    def __init__(self) -> None:
        self.total: dict[str, tuple[float, float, int]] = {}

    def append(self, entry: TimelineEntry) -> None:
        step, begin, duration, *count = entry
        first, so_far, n = self.total.get(step, (begin, 0.0, 0))
        self.total[step] = first, so_far + duration, n + (count[0] if count else 1)

    def extend(self, entries: Iterable[TimelineEntry]) -> None:
        for entry in entries:
            self.append(entry)

    def entries(self) -> list[TimelineEntry]:
        return [(step, *times) for step, times in self.total.items()]
