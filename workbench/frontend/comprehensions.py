"""Comprehensions over the elements of arrays and ranges: many of them become one equation, as a loop that appends does.

`[f(row) for row in x]` in converted code is a call of `listed`, and `sum(f(row) for row in x)` one of `folded_items`.
Where the elements cannot be one equation, or are few, Python runs the comprehension as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from ..errors import TracingError
from ..ir import REGISTRY, Equation, subjaxprs
from .builtin_calls import FOLDS, any_or_all, fold_of_rows, folded
from .captures import ListingInPythonError
from .choices import unknown
from .counted_loops import signals
from .diagnostics import build
from .growing import rows_together
from .held import UNDEFINED
from .merging import not_traceable, refuse
from .numpy_api.masked import Selection
from .patience import Patience
from .proxies import unwrap
from .recording import current_trace
from .rows import MAX_UNROLL, Rows
from .staging import Stage
from .traced_ranges import TracedRange
from .tracer import Tracer, emit, lift, require_trace
from .variables import Variables, closure_names

MAX_UNROLLED_EQNS = 128  # what is listed is often picked apart, and fuses better with that where it is written out
MOST_EQNS = 2048  # of one that is written out: Python, or a loop over numbers, ends sooner than they compile
MOST_EQNS_OF_ROWS = 256  # of elements of arrays and ranges, of which there are many
MOST_LEAVES = 4096  # of lists in lists, which Python picks up faster one by one
_ITEMS = "_wb_items"
# Loops of the user's have routines of their own for these.
_CALLS = frozenset(("sort", "argsort", "partition", "argpartition", "searchsorted"))
_COLLECTIONS = (list, tuple, sorted, set, frozenset)

Element = Callable[[Any], Any]


def listed(iterable: Any, element: FunctionType, source: str = "", scope: FunctionType | None = None) -> list:
    """`[element(item) for item in iterable]`. source, scope: of the loop that does it."""
    from .value_steps import listing_of_step

    items = _as_rows(iterable)
    if items is not None and scope is not None:
        numbers = listing_of_step(source, scope, len(items))
        if numbers is not None:
            return numbers
    found = None if items is None else _stacked(items, element, Variables(element), closure_names(element))
    return [element(item) for item in _written_out(iterable)] if found is None else found


def array_of(
    function: Any, iterable: Any, element: FunctionType, source: str = "", scope: FunctionType | None = None,
    filling: str = "", **options: Any,
) -> Any:  # fmt: skip
    """`function([element(item) for item in iterable], **options)`, where that may be `np.array`: rows that are arrays,
    or lists of numbers, become one array. function: or None for such a list inside of another one; source, scope: of
    the loop that does it; filling: of the one that fills the array; options: a dtype, which is taken so where the rows
    have it."""
    from .value_steps import array_of_step

    makes_array = function is None or unwrap(function) in (np.array, np.asarray)
    items = _as_rows(iterable) if makes_array else None
    if items is not None:
        row = lambda item: _as_array(element(item))  # noqa: E731
        found = None if scope is None else array_of_step(source, filling, scope, len(items))
        if found is None:
            rows = _stacked(items, row, Variables(element), closure_names(element))
            found = None if rows is None else rows_together(rows)
        if found is not None and not options:
            return found
        if found is not None and _is_cast(found.dtype, dtype := np.dtype(unwrap(options["dtype"]))):
            return found.astype(dtype)
    listing = [element(item) for item in _written_out(iterable)]
    return listing if function is None else function(listing, **options)


def _is_cast(given: np.dtype, wanted: np.dtype) -> bool:
    """Whether NumPy casts numbers in a list as it casts an array: of integers it also asks whether they fit."""
    return given == wanted or given.kind in "biuf" and wanted.kind in "fc"


def _as_array(value: Any) -> Any:
    from .numpy_api.creation import as_array_of

    return as_array_of(value)


def folded_items(
    function: Any, iterable: Any, element: FunctionType, condition: FunctionType | None = None, source: str = "",
    scope: FunctionType | None = None,
) -> Any:  # fmt: skip
    """`function(element(item) for item in iterable if condition(item))`. source, scope: of the loop that does it."""
    from .value_steps import value_of_step

    items = _as_rows(iterable)
    if items is not None and function in FOLDS:
        if scope is not None and (result := value_of_step(source, scope, n=len(items))) is not UNDEFINED:
            return result
        result = _fold(function, items, element, condition)
        if result is not None:
            return result
        if scope is not None and (result := value_of_step(source, scope, must=True)) is not UNDEFINED:
            return result
    if function in _COLLECTIONS and condition is None:
        return function(listed(iterable, element))
    source = _written_out(iterable)
    if function in (any, all) and current_trace() is not None:
        return _any_or_all(function, source, element, condition)
    if condition is None:
        return folded(function, (element(item) for item in source))
    if function in (set, list, sorted):  # of which a loop may make one
        return folded(function, (element(item) for item in source if kept(condition(item))))
    return folded(function, (element(item) for item in source if condition(item)))


def _any_or_all(
    function: Any, source: Iterable[Any], element: FunctionType, condition: FunctionType | None
) -> Any:  # fmt: skip
    """Python stops where it knows the answer: the items after that must do nothing besides."""
    from .branching import as_bool

    functions = (element,) if condition is None else (element, condition)
    trace = require_trace()
    watched, n_writes = Variables(*functions).watched(closure_names(*functions), ()), trace.n_writes

    def values() -> Iterator[Any]:
        for item in source:
            taken = condition is None or as_bool(condition(item))
            if type(taken) is Tracer:
                try:
                    test = as_bool(element(item))
                except TracingError:
                    raise
                except Exception as error:  # of an item that may not be taken
                    raise not_traceable(error) from None
                yield (
                    emit(REGISTRY["and"], taken, lift(test))
                    if function is any
                    else emit(REGISTRY["or"], emit(REGISTRY["not"], taken), lift(test))
                )
            elif taken:
                yield element(item)

    found, was_traced = any_or_all(function, values())
    if was_traced:
        watched.check(frozenset())
        if trace.n_writes != n_writes:
            raise refuse("changes", function.__name__, "an array, in an item that may not be reached")
    return found


def kept(test: Any) -> Any:
    """The test of a comprehension, whether it keeps an item."""
    if unknown(test):
        try:
            bool(test)
        except TracingError as error:
            _for_a_loop(error)
            raise
    return test


def counted(iterable: Any, most: int = MOST_EQNS, kind: str = "comprehension") -> Iterable[Any]:
    """The items, until what a comprehension or loop does with them is more than so many equations."""
    trace = current_trace()
    if kind == "comprehension":
        _check_is_countable(iterable)
    return iterable if trace is None else _counted(iterable, Patience(trace, most, kind))


def _counted(iterable: Iterable[Any], patience: Patience) -> Iterator[Any]:
    for item in iterable:
        yield item
        patience.ask()


def _check_is_countable(iterable: Any) -> None:
    """Of items whose number the run tells, a loop may make the list."""
    if type(iterable) is Selection:
        raise _for_a_loop(iterable.error())


def _for_a_loop(error: TracingError) -> TracingError:
    """The error of a comprehension that a loop could make: the code is traced again with loops in their place."""
    error.of_listing = not require_trace().lifter.of_cell  # whose variables a loop's would be
    return error


def _written_out(iterable: Any) -> Any:
    """The items of what could not become one equation, each of which is equations of its own."""
    _check_is_countable(iterable)
    if type(iterable) is TracedRange:
        return range(iterable.start, iterable.stop, iterable.step)  # which says why it cannot be
    return iterable if _as_rows(iterable) is None else counted(iterable, MOST_EQNS_OF_ROWS)


def _as_rows(iterable: Any) -> Any:
    """What a traced number can index, if there is enough of it to be a loop; or None."""
    if current_trace() is None:
        return None
    is_indexed = type(iterable) in (range, Rows) or type(iterable) is Tracer and iterable.shape
    return iterable if is_indexed and len(iterable) > MAX_UNROLL else None


def _stacked(items: Any, element: Element, variables: Variables, reads: list[str]) -> list | None:
    """The elements as one equation's, or None if that is not possible or not worth it. Nothing has happened then."""
    collected: list[Any] = []
    variables.extra[_ITEMS] = collected
    n_leaves = 0

    def body(k: Any) -> None:
        nonlocal n_leaves
        item = items.start + k * items.step if type(items) is range else items[k]
        found = element(item)
        n_leaves = len(items) * len(found) if isinstance(found, list) else 0
        if n_leaves > MOST_LEAVES:
            raise _too_many(n_leaves)
        variables.get(_ITEMS).append(found)

    watch = partial(variables.watched, reads, ())
    stage = Stage(variables, body, (), (), watch, frozenset(), None, "", {_ITEMS: collected})
    trace = require_trace()
    n_eqns = len(trace.eqns)
    with signals():
        if stage.attempt_range(range(len(items)), MAX_UNROLLED_EQNS):
            if not (trace.lifter.keeps_listings or trace.lifter.of_cell) and any(map(_is_pythons, trace.eqns[n_eqns:])):
                raise ListingInPythonError
            return collected
    if n_leaves > MOST_LEAVES:  # written out, it would be as many equations
        raise _too_many(n_leaves)
    return None


def _is_pythons(loop: Equation) -> bool:
    """Whether Python runs each turn of `loop`, because of a call of NumPy in it."""
    eqns = (eqn for _, program in subjaxprs(loop) for eqn in program.eqns)
    return any(eqn.primitive.name in _CALLS or _is_pythons(eqn) for eqn in eqns)


def _too_many(n: int) -> TracingError:
    return build(
        TracingError, f"{{line}} makes lists of {n:,} numbers: Python is faster at that.",
        "lists in a list", code="WB185", fixes=("make an array of them at once: np.array([[... for ...] for ...])",),
    )  # fmt: skip


def _fold(function: Any, items: Any, element: FunctionType, condition: FunctionType | None) -> Any:
    """The fold as one over an array, or None."""
    functions = (element,) if condition is None else (element, condition)

    def both(item: Any) -> tuple[Any, ...]:
        return tuple([each(item) for each in functions])

    rows = _stacked(items, both, Variables(*functions), closure_names(*functions))
    if rows is None:
        return None
    columns: list[Any] = [rows_together(column) for column in zip(*rows, strict=True)]
    if any(column is None for column in columns):
        return None
    values, *flags = columns
    chosen = None
    if flags:
        (flag,) = flags
        chosen = flag if flag.dtype.kind == "b" else np.not_equal(flag, 0)
        if len(chosen.shape) != 1:
            return None
    return fold_of_rows(function, values, chosen, weak=rows[0][0].weak_type)
