"""Timelines: when the steps of a call ran, and how long each took."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Bar(NamedTuple):
    """A step that ran (several times: count), when it began, how long it took in all in seconds, what did it (lane),
    and what it is called if it is no step of the plan (title)."""

    step: str
    begin: float
    duration: float
    count: int = 1
    lane: str = "main"
    title: str = ""


# As generated code writes them: what a bar begins with.
TimelineEntry = tuple[str, float, float] | tuple[str, float, float, int] | Bar


def as_bar(entry: TimelineEntry) -> Bar:
    if isinstance(entry, Bar):
        return entry
    return Bar(entry[0], entry[1], entry[2], entry[3] if len(entry) == 4 else 1)


# What stands for a step where an array is copied to a device or back.
COPIES = "copies"
# The lane of steps inside of loops and branches, whose times are in those of the loop.
IN_LOOPS = "loops"


class Totals:
    """A timeline of steps that run again and again: what each took in all, from its first beginning, and how often it
    ran."""

    def __init__(self) -> None:
        self.total: dict[str, tuple[float, float, int]] = {}

    def append(self, entry: TimelineEntry) -> None:
        step, begin, duration, count, *_ = as_bar(entry)
        first, so_far, n = self.total.get(step, (begin, 0.0, 0))
        self.total[step] = first, so_far + duration, n + count

    def extend(self, entries: Iterable[TimelineEntry]) -> None:
        for entry in entries:
            self.append(entry)

    def entries(self) -> list[TimelineEntry]:
        return [(step, *times) for step, times in self.total.items()]
