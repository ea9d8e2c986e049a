"""`sum`, `min` and `max` of a list of which only the run tells how long it is: as the loops that Python would run.

Of a list without elements the call ends, and NumPy runs: `sum` gives an int then, and the others raise.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any


def _sum(items: Any) -> Any:
    total = 0 + items[0]
    for item in items[1:]:
        total = total + item
    return total


def _largest(items: Any) -> Any:
    best = items[0]
    for item in items:
        if item > best:
            best = item
    return best


def _smallest(items: Any) -> Any:
    best = items[0]
    for item in items:
        if item < best:
            best = item
    return best


_LOOPS: dict[Any, FunctionType] = {sum: _sum, max: _largest, min: _smallest}


def fold_of_list(function: Any) -> Callable[[Any], Any] | None:
    """What computes `function` of a `CountedList` in traced code; None for other functions."""
    return _converted(function) if function in _LOOPS else None


@functools.cache
def _converted(function: Any) -> Callable[[Any], Any]:
    from .convert import converted_code

    loop = _LOOPS[function]
    code = converted_code(loop.__code__)
    assert code is not None
    return FunctionType(code, {"__builtins__": builtins}, loop.__name__)
