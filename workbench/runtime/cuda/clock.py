"""The times of one profiled run of a device, by its own clock: marks on its stream, read when the run is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..timelines import COPIES, Bar, Totals, as_bar
from .memory import Memory

# So many marks are kept; then the run waits for the device to read them.
MOST_MARKS = 2000


class Clock:
    """begin: `time.perf_counter()` when the clock was started; all bars are on that time's axis."""

    def __init__(self, memory: Memory):
        self.memory = memory
        self.begin, self._start = time.perf_counter(), memory.mark()
        self.bars: list[Bar] = []
        self._inside = Totals()
        self._depth = 0
        self._marks: list[tuple[str, str, str, bool, Any, Any]] = []

    def time(self, step: str, work: Callable[[], Any], *, lane: str = "", title: str = "") -> Any:
        """`work()`, with a bar for it: steps that others ask for, such as those of a loop, have one together. lane: by
        default the device's."""
        is_inside = self._depth > 0
        begin = self.memory.mark()
        self._depth += 1
        try:
            return work()
        finally:
            self._depth -= 1
            self._marks.append((step, lane or self.memory.device, title, is_inside, begin, self.memory.mark()))
            if len(self._marks) >= MOST_MARKS:
                self._read()

    def copy(self, direction: str, name: str, work: Callable[[], Any]) -> Any:
        """The same for a copy between the host and the device, which is no step."""
        return self.time(COPIES, work, lane=f"{self.memory.device}, copies", title=f"{name} {direction}".strip())

    def timeline(self) -> list[Bar]:
        """The bars in the order in which they began; of steps inside of others, a bar for all their runs."""
        self._read()
        return sorted([*self.bars, *map(as_bar, self._inside.entries())], key=lambda bar: bar.begin)

    def _read(self) -> None:
        for step, lane, title, is_inside, begin, end in self._marks:
            at = self.begin + self.memory.between(self._start, begin)
            bar = Bar(step, at, self.memory.between(begin, end), 1, lane, title)
            (self._inside if is_inside else self.bars).append(bar)
        self._marks.clear()
