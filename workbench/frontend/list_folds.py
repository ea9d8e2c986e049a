"""Builtins of lists and dictionaries of which only the run tells how long they are: as the loops that Python would run.

Of a list without elements the call of a fold ends, and NumPy runs: `sum` gives an int then, and the others raise.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .counted_lists import is_counted
from .counted_tables import CountedTable


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


def _in_order(items: Any) -> Any:
    made: list[Any] = []
    for k in range(2):  # a loop of one turn would be no step
        if k:
            made = sorted(items)
    return made


def _most(items: Any) -> Any:
    for key, value in items:  # noqa: B007 (the first)
        found, best = key, value
        break
    for key, value in items:
        if value > best:
            found, best = key, value
    return found


def _least(items: Any) -> Any:
    for key, value in items:  # noqa: B007 (the first)
        found, best = key, value
        break
    for key, value in items:
        if value < best:
            found, best = key, value
    return found


_BY_VALUE: dict[Any, FunctionType] = {max: _most, min: _least}
_LOOPS: dict[Any, FunctionType] = {sum: _sum, max: _largest, min: _smallest}


def fold_of_list(function: Any) -> Callable[[Any], Any] | None:
    """What computes `function` of a `CountedList` in traced code; None for other functions."""
    return _converted(_LOOPS[function]) if function in _LOOPS else None


def items_of_counted(function: Any, values: Any) -> Any:
    """`sorted(values)` or `list(values)` of a `CountedList`, or of the keys of a `CountedTable`; None for others."""
    if type(values) is CountedTable and function is sorted:
        values = values.held[0]
    elif type(values) is CountedTable and function is list:
        values = values.keys()
    if not is_counted(values):
        return None
    return _converted(_in_order)(values) if function is sorted else values.copy() if function is list else None


def extreme_by(function: Any, values: Any, key: Any) -> Any:
    """`function(values, key=key)` of `min` and `max`: of a `CountedTable` by its own values, `key=values.get`."""
    if type(values) is CountedTable and function in _BY_VALUE and key == values.get:
        return _converted(_BY_VALUE[function])(values.items())
    return function(values, key=key)


@functools.cache
def _converted(loop: FunctionType) -> Callable[[Any], Any]:
    from .convert import converted_code

    code = converted_code(loop.__code__)
    assert code is not None
    return FunctionType(code, {"__builtins__": builtins}, loop.__name__)
