"""Items of lists and tuples at an index that only the run knows: `table[4 * left + 2 * here + right]`.

The items become the elements, or rows, of an array. Where they are arrays, the result may be any of them, which code
must not write to; words become a choice between words (`choices`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir import REGISTRY
from .aliases import CODE, one_of
from .blanks import is_number
from .checks import end_unless
from .choices import Choice, is_kind
from .operators import weaken
from .tracer import Tracer, emit, known_value, lift, method

MOST_ARRAYS = 64  # among which an index chooses


def item_at(container: Any, index: Any) -> Any:
    """`container[index]`."""
    if type(index) is Choice and type(container) in (list, tuple):
        index = index.operand("index")
    if type(index) is not Tracer or type(container) not in (list, tuple) or index.shape or index.dtype.kind not in "iu":
        return container[index]
    if not container or known_value(index) is not None:
        return container[index]
    n = len(container)
    index = method(index, "astype", np.int64)
    end_unless(np.logical_and(index >= -n, index < n))
    at: Any = np.where(index < 0, index + n, index)
    found = chosen(container, at)
    return container[index] if found is None else found  # which says what is missing


def as_row(x: Tracer) -> Tracer:
    """An array of one element, also of a number of Python's."""
    dimensions = tuple(range(1, len(x.shape) + 1))
    return emit(REGISTRY["broadcast_in_dim"], lift(x), shape=(1, *x.shape), broadcast_dimensions=dimensions)


def chosen(items: Sequence[Any], at: Any) -> Any:
    """`items[at]`, None where they are not alike. at: from 0 to their number."""
    first = items[0]
    if type(first) is tuple:
        if any(type(x) is not tuple or len(x) != len(first) for x in items):
            return None
        columns = [chosen(column, at) for column in zip(*items, strict=True)]
        return None if any(column is None for column in columns) else tuple(columns)
    if all(map(is_kind, items)):
        return _word(items, at)
    if not all(map(is_number, items)):
        return None
    if not any(type(x) is Tracer for x in items):
        if any(type(x) is not type(first) for x in items) or isinstance(first, np.ndarray):
            return None
        if type(first) is int and not all(-(2**63) <= x < 2**63 for x in items):
            return None
        element = lift(np.array(items))[at]
        return (
            weaken(element)
            if isinstance(first, bool | int | float | complex) and not isinstance(first, np.generic)
            else element
        )
    tracers = [lift(x) for x in items]
    alike = {(x.shape, x.dtype, x.scalar, x.weak_type) for x in tracers}
    if len(alike) > 1 or any(x.buffer.mixed for x in tracers) or tracers[0].shape and len(tracers) > MOST_ARRAYS:
        return None
    rows = [as_row(x) for x in tracers]
    row = emit(REGISTRY["concatenate"], *rows, dimension=0)[at] if len(rows) > 1 else rows[0][at]
    if tracers[0].scalar:
        return weaken(row) if tracers[0].weak_type else row
    row = row.copy()
    return one_of(row, at.astype(CODE), tracers)


def _word(items: Sequence[Any], at: Any) -> Any:
    words = [(type(x), x) for x in items]
    kinds = list(dict.fromkeys(words))
    if len(kinds) == 1:
        return items[0]
    return Choice(tuple(x for _, x in kinds), weaken(lift(np.array(list(map(kinds.index, words))))[at]))


__all__ = ["as_row", "chosen", "item_at"]
