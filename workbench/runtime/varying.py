"""Arguments on which a version depends, and which are others at every call: ints, objects, lengths of arrays.

A version is made for each of a few values. Then those ints that differ become inputs of the program, where it can be
traced so; what differs besides runs in NumPy until its calls take as long as another version takes to make.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import TracingError
from ..frontend.scopes import running_in_numpy
from .given import Identity, kind_of

MOST_VALUES = 8
MOST_HELD = 3  # of ints that objects hold: functions that hold one are made for many
MOST_SIZES = 24
MOST_COUNTED = 64
NUMPY_RUNS = 2


@dataclass(eq=False, slots=True)
class Varying:
    """The calls of a function that differ in nothing but their constants. values: of each version; made_s: how long it
    took to make."""

    values: list[tuple[Any, ...]] = field(default_factory=list)
    made_s: list[float] = field(default_factory=list)
    numpy_s: list[float] = field(default_factory=list)
    calls: dict[tuple[Any, ...], int] = field(default_factory=dict)  # in NumPy, of the latest values
    numpy: Any = None  # what stands for all others, once it is known that NumPy is better

    def ints(self) -> frozenset[int]:
        """The positions of the constants, where these are ints that differ."""
        columns = list(zip(*self.values, strict=True))
        return frozenset(k for k, column in enumerate(columns) if len(set(column)) > 1 and _are_ints(column))

    def objects(self, values: tuple[Any, ...]) -> frozenset[int]:
        """The positions of constants that are objects, where there has been another one of the same kind."""
        found = set()
        for k, value in enumerate(values):
            if type(value) is Identity and (kind := kind_of(value.value)) is not None:
                others = [seen[k] for seen in self.values if seen[k] != value]
                if any(type(other) is Identity and kind_of(other.value) == kind for other in others):
                    found.add(k)
        return frozenset(found)

    def is_better_in_numpy(self, values: tuple[Any, ...]) -> bool:
        """Whether NumPy is done with all calls of these values so far before another version would be made."""
        n_calls = self.calls.pop(values, 0) + 1
        if n_calls * min(self.numpy_s) >= statistics.median(self.made_s):
            return False
        self.calls[values] = n_calls
        if len(self.calls) > MOST_COUNTED:
            del self.calls[next(iter(self.calls))]  # the one that was not seen for the longest time
        return True


@dataclass(eq=False, slots=True)
class VaryingSizes:
    """The calls of a function that differ in nothing but the lengths of arrays. A new length compiles no kernel, but it
    is traced anew. made_s: what the latest versions took; numpy_s: the latest calls in NumPy; calls: of each length
    there."""

    made_s: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_SIZES))
    numpy_s: deque[float] = field(default_factory=lambda: deque(maxlen=NUMPY_RUNS))
    calls: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def are_better_in_numpy(self, sizes: tuple[Any, ...]) -> bool:
        """Whether, after many lengths, NumPy is done with all calls of this one sooner than a version would be made."""
        if len(self.made_s) < MOST_SIZES:
            return False
        n_calls = self.calls.pop(sizes, 0) + 1
        if self.numpy_s and n_calls * max(self.numpy_s) >= statistics.median(self.made_s):
            return False
        self.calls[sizes] = n_calls
        if len(self.calls) > MOST_COUNTED:
            del self.calls[next(iter(self.calls))]
        return True


def _are_ints(column: tuple[Any, ...]) -> bool:
    return all(type(value) is int and value.bit_length() < 64 for value in column)


@dataclass(eq=False, slots=True)
class TimedInNumpy:
    """The function in NumPy, its times noted."""

    fn: Callable[..., Any]
    times_s: list[float] | deque[float]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        begin = time.perf_counter()
        with running_in_numpy():
            result = self.fn(*args, **kwargs)
        self.times_s.append(time.perf_counter() - begin)
        return result


def too_many_sizes(name: str) -> TracingError:
    return TracingError(
        f"WB502  {name} is called with arrays of another length each time: NumPy is done before it is traced anew.\n"
        "   Fix  none is needed: lengths that come back are compiled",
        code="WB502",
        fixes=("none is needed: lengths that come back are compiled",),
    )


def too_many_values(name: str) -> TracingError:
    return TracingError(
        f"WB502  {name} is called with other numbers or objects each time, of which each takes a version of its own: "
        "NumPy is faster.\n"
        "   Fix  pass what changes as np.int64(...) or in an array, or the attributes of the object as arguments",
        code="WB502",
        fixes=("pass what changes as np.int64(...) or in an array, or the attributes of the object as arguments",),
    )
