"""`item in items` of traced numbers: in tuples, lists, sets and keys of dicts, in ranges, and in arrays. `a == b` of
tuples and lists that hold some."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir import REGISTRY
from .blanks import NUMBERS
from .choices import Choice
from .counted_tables import CountedTable
from .operators import weaken
from .tracer import Tracer, emit, known_value, lift, method

MOST_ITEMS = 32  # that are compared one by one
_CONTAINERS = (tuple, list, set, frozenset, dict)


def contained(item: Any, items: Any) -> Any:
    """A bool, or a traced one."""
    if type(item) is Choice:
        return item.is_in(items)
    if type(items) is CountedTable:
        return items.contains(item)
    found = None
    if type(items) is Tracer and items.shape:
        found = _any_of(items == item)
    elif type(items) is range and _is_unknown(item) and item.dtype.kind in "iuf" and item.dtype != np.uint64:
        found = _in_range(item, items)
    elif type(items) in _CONTAINERS and len(items) <= MOST_ITEMS and _is_single(item):
        found = _among(item, tuple(items))
    return item in items if found is None else found


def equal(a: Any, b: Any) -> Any:
    """`a == b`."""
    if type(a) is type(b) and type(a) in (tuple, list):
        found = _all_alike(a, b)
        return a == b if found is None else found
    return a == b


def _all_alike(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Whether tuples or lists are equal, item by item; None where Python tells, or raises."""
    if len(a) != len(b) or len(a) > MOST_ITEMS:
        return None
    traced: list[Tracer] = []
    for x, y in zip(a, b, strict=True):
        if x is y:  # a NaN is equal to itself here
            continue
        if type(x) is type(y) and type(x) in (tuple, list):
            test = _all_alike(x, y)
            test = x == y if test is None else test
        elif _is_single(x) and _is_single(y):
            test = x == y
        elif _is_plain(x) and _is_plain(y):
            test = not (_is_single(x) or _is_single(y)) and x == y  # a number is no text
        else:
            return None
        if _is_unknown(test):
            traced.append(lift(test))
        elif not test:
            return False
    return _joined("and", traced) if traced else True


def _is_plain(x: Any) -> bool:
    return x is None or isinstance(x, str | bytes) or _is_single(x)


def _is_unknown(x: Any) -> bool:
    return type(x) is Tracer and not x.shape and known_value(x) is None


def _is_single(x: Any) -> bool:
    return type(x) is Tracer and not x.shape or isinstance(x, NUMBERS) and not np.shape(x)


def _any_of(found: Any) -> Any:
    return weaken(found.any()) if type(found) is Tracer else None


def _among(item: Any, items: Sequence[Any]) -> Any:
    """Whether a number is, or is equal to, one of the items; None where Python tells, or raises."""
    if not _is_unknown(item) and not any(map(_is_unknown, items)):
        return None
    if not all(_is_single(x) or x is None or isinstance(x, str | bytes) for x in items):
        return None
    if any(x is item for x in items):  # a NaN is in a list that holds it
        return True
    tests = [x == item for x in items if _is_single(x)]
    traced = [lift(test) for test in tests if _is_unknown(test)]
    if any(not _is_unknown(test) and bool(test) for test in tests):
        return True
    return _joined("or", traced) if traced else False


def _joined(operation: str, tests: Sequence[Tracer]) -> Any:
    """Traced bools as one of Python's."""
    return weaken(functools.reduce(lambda a, b: emit(REGISTRY[operation], a, b), tests))


def _in_range(item: Tracer, items: range) -> Any:
    if not items:
        return False
    if items.step < 0:
        items = items[::-1]
    x: Any = item if item.dtype.kind == "f" else method(item, "astype", np.int64)
    found: Any = np.logical_and(x >= items.start, x < items.stop)
    return weaken(np.logical_and(found, (x - items.start) % items.step == 0))  # type: ignore[arg-type]  # a tracer


__all__ = ["contained", "equal"]
