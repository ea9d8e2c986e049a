"""What converted control flow calls: Python's own behaviour where the test is known, one equation where it is traced.

Bodies are functions without parameters that share their variables with the function around them through closure cells
(in a cell of a notebook, through the globals). To trace a body, its variables are set, it is run in a region, and its
variables are read: `Variables` does both.
"""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ..errors import TracingError
from ..ir import REGISTRY
from .builtin_calls import folded, number, of_type, range_, reduced
from .checks import end_unless
from .choices import Choice, settled, truth, unknown
from .comprehensions import array_of, counted, folded_items, kept, listed
from .counted_loops import signals, with_held_lists
from .foresight import foreseen
from .held import HeldValue
from .identity import same
from .items import item_at
from .list_folds import extreme_by, items_of_counted
from .looping import for_, while_
from .membership import contained, equal
from .merging import (
    UNDEFINED,
    Outcome,
    RaisingError,
    UnstableLoopError,
    branch_outcome,
    merge_results,
    mixed_types,
    promoted,
)
from .number_types import picked
from .operators import weaken
from .recording import current_trace
from .recursive_functions import step_of_call
from .regions import as_index, emit_cond
from .rows import rows_of
from .tracer import Tracer, emit, lift, require_trace
from .variables import Variables, closure_names
from .watching import Watched


def if_(
    test: Any, then: FunctionType, other: FunctionType, names: tuple[str, ...], live: tuple[str, ...],
    reads: tuple[str, ...], last_read: tuple[str, ...],
) -> Any:  # fmt: skip
    """`if test: then() else: other()`. names: the variables that they bind; live: those read later; reads: those that
    they read, `last_read` for the last time."""
    test = truth(test)
    if not unknown(test):
        return then() if test else other()
    variables = Variables(then, other, dead=last_read)
    return _staged_if(test, (other, then), variables, names, live, reads, returns=True)


def _staged_if(
    test: Tracer, sides: Sequence[Callable[[], Any]], variables: Variables, names: Sequence[str], live: Sequence[str],
    reads: Sequence[str], *, returns: bool = False,
) -> Any:  # fmt: skip
    """returns: whether the function ends with the result."""
    variables.count_references(names)
    run = lambda: _traced_if(test, sides, variables, names, live, reads, returns)  # noqa: E731
    with signals():
        return with_held_lists(run, variables, names)


def _traced_if(
    test: Tracer, sides: Sequence[Callable[[], Any]], variables: Variables, names: Sequence[str], live: Sequence[str],
    reads: Sequence[str], returns: bool,
) -> Any:  # fmt: skip
    cells = frozenset(id(variables.cells[name]) for name in names if name in variables.cells)
    watched: Watched | None = None
    failure = require_trace().failure
    while True:
        before = variables.assigned(names)
        earlier, watched = watched, variables.watched(reads, names)
        watched.follow(earlier)
        outcomes: list[Outcome] = []
        raising: list[tuple[Callable[[], Any], RaisingError]] = []
        held: list[HeldValue] = []
        for side in sides:
            run = functools.partial(_run_side, side, variables, before, live, watched, ends=returns)
            try:
                outcomes.append(branch_outcome(run))
            except RaisingError as error:
                watched.undo(cells)
                raising.append((side, error))
                continue
            except BaseException as error:
                watched.undo(cells)
                watched.vouch_for(error)
                way = foreseen(test, sides) if isinstance(error, TracingError) else None
                if way is None or side is sides[way]:
                    raise
                require_trace().failure = failure
                return _only_way(test, sides, way)
            finally:
                variables.restore(before)
            held += watched.changed_values(cells)
            watched.check(cells)
        added = variables.add_held(held, watched)
        if not added:
            break
        names, live = (*names, *added), (*live, *added)
    if len(raising) == len(sides):
        raise raising[0][1].on_all_sides()
    if raising:
        return _only_way(test, sides, 1 - sides.index(raising[0][0]))
    try:
        merged = merge_results(outcomes, watched.containers())
    except UnstableLoopError:
        gives_none = [outcome.result is None for outcome in outcomes]
        way = foreseen(test, sides)
        if way is not None:
            require_trace().failure = failure
        elif any(gives_none) and not all(gives_none):
            way = gives_none.index(False)  # `return None` for input that has no result
        else:
            raise
        return _only_way(test, sides, way)
    outs = emit_cond(as_index(_scalar(test)), [o.region for o in outcomes], merged.columns, op="if")
    result, state = merged.rebuild(outs)
    variables.restore({name: state.get(name, UNDEFINED) for name in names})
    return result


def _run_side(
    side: Callable[[], Any], variables: Variables, before: dict[str, Any], live: Sequence[str], watched: Watched, *,
    ends: bool,
) -> tuple[Any, dict[str, Any], frozenset[str]]:  # fmt: skip
    """What an `Outcome` is of. ends: whether the function ends with what it gives."""
    require_trace().is_branch = True
    require_trace().references = {**watched.references(), **variables.own_references(before)}
    result = [side()]
    variables.restore({name: value for name, value in before.items() if name not in live})
    older = functools.cache(watched.containers)
    stays = lambda x: type(x) in (list, dict) and id(x) in older()  # noqa: E731
    held_elsewhere = variables.held_elsewhere(live, result, stays, ends=ends)
    return result[0], variables.state(live), held_elsewhere


def _only_way(test: Tracer, sides: Sequence[Callable[[], Any]], way: int) -> Any:
    """The branch where one side, 0 for a false test, is the only one that the program can go: else it ends here, and
    NumPy runs it."""
    end_unless(_scalar(test) if way else not_(test))  # type: ignore[arg-type]  # a traced bool
    return sides[way]()


def holds(test: Any) -> Any:
    """The test of an `assert`: what is only known when the kernel runs is checked then."""
    test = truth(test)
    if not unknown(test):
        return test
    end_unless(_scalar(test))
    return True


def raised(make: Callable[[], Any], kind: Callable[[], Any]) -> Any:
    """`raise make()`, where `make` calls `kind()`. On a path of a traced branch the message may need numbers that are
    not known: nobody will read it, since NumPy raises in the end."""
    trace = current_trace()
    if trace is None or not trace.region:
        return make()
    failure = trace.failure
    try:
        return make()
    except TracingError:
        found = kind()
        if not (isinstance(found, type) and issubclass(found, Exception)):
            raise
        trace.failure = failure
        return found.__new__(found)


def _scalar(test: Tracer) -> Tracer:
    return test.reshape(()) if test.shape else test


def choose(test: Any, then: FunctionType, other: FunctionType) -> Any:
    """`then() if test else other()`."""
    test = truth(test)
    if not unknown(test):
        return then() if test else other()
    return _staged_if(test, (other, then), Variables(then, other), (), (), closure_names(then, other))


def and_(value: Any, *operands: FunctionType) -> Any:
    """`value and operands[0]() and ...`."""
    return _connected(value, operands, True, _itself)


def or_(value: Any, *operands: FunctionType) -> Any:
    """`value or operands[0]() or ...`."""
    return _connected(value, operands, False, _itself)


def both(value: Any, *operands: FunctionType) -> Any:
    """`value and operands[0]() and ...`, of which only the truth is asked."""
    return _connected(value, operands, True, as_bool)


def either(value: Any, *operands: FunctionType) -> Any:
    """`value or operands[0]() or ...`, of which only the truth is asked."""
    return _connected(value, operands, False, as_bool)


def _connected(
    value: Any, operands: Sequence[FunctionType], goes_on: bool, seen_as: Callable[[Any], Any]
) -> Any:  # fmt: skip
    """goes_on: whether true values have the next one computed, or false ones; seen_as: what a value stands for."""
    value = seen_as(value)
    for position, operand in enumerate(operands):
        rest = operands[position + 1 :]
        test = truth(value)
        if unknown(test):
            more = lambda operand=operand, rest=rest: _connected(operand(), rest, goes_on, seen_as)  # noqa: E731
            here = not goes_on if seen_as is as_bool else value  # known, where the rest may be, too
            return _logical(test, here, more, operand, rest, goes_on)
        if bool(test) is not goes_on:
            return value
        value = seen_as(operand())
    return value


def _itself(value: Any) -> Any:
    return value


def as_bool(value: Any) -> Any:
    """`bool(value)`, or a traced one."""
    value = truth(value)
    if not unknown(value):
        return bool(value)
    value = _scalar(value)
    return value if value.dtype.kind == "b" and value.weak_type else weaken(value != 0)


def _logical(
    test: Tracer, value: Any, more: Callable, operand: FunctionType, rest: Sequence[FunctionType], goes_on: bool
) -> Any:  # fmt: skip
    """test: whether `value`, the first operand, is true."""
    variables = Variables(operand, *rest)
    sides = (lambda: value, more) if goes_on else (more, lambda: value)
    return _staged_if(test, sides, variables, (), (), closure_names(operand, *rest))


def extreme(function: Any, *values: Any) -> Any:
    """`min(*values)` or `max(*values)`."""
    values = tuple(map(settled, values))
    if function not in (min, max) or not any(map(unknown, values)) or not all(map(_is_scalar, values)):
        return function(*values)
    best = values[0]
    for value in values[1:]:
        test = value > best if function is max else value < best
        if not unknown(test):
            best = value if test else best
            continue
        best = _picked(test, value, best)
    return best


def ordered(function: Any, values: Any) -> Any:
    """`sorted(values)`, of two numbers, too, and `list(values)`."""
    values = settled(values)
    if (found := items_of_counted(function, values)) is not None:
        return found
    is_pair = function is sorted and type(values) in (list, tuple) and len(values) == 2
    if not is_pair or not any(map(unknown, values)) or not all(map(_is_scalar, values)):
        return function(values)
    first, second = values
    swaps = second < first
    if not unknown(swaps):
        return function(values)
    return [_picked(swaps, second, first), _picked(swaps, first, second)]


def _picked(test: Tracer, then: Any, other: Any) -> Any:
    """`then if test else other`, of two numbers."""
    cases = [lift(other), lift(then)]
    for k, (case, its) in enumerate(zip(cases, cases[::-1], strict=True)):
        if case.dtype != its.dtype and case.weak_type:
            wider = promoted(case, its.dtype) or case
            cases[k] = weaken(wider) if its.weak_type and wider is not case else wider
    if cases[0].dtype != cases[1].dtype:
        return choose(test, lambda: then, lambda: other)  # which says what does not agree
    mixed = mixed_types((other, then))
    found = emit(REGISTRY["select_n"], _scalar(test), *cases)
    found.buffer.mixed = mixed
    if mixed:
        found.buffer.python = picked(_scalar(test), then, other)
    return found


def _is_scalar(value: Any) -> bool:
    if type(value) is Tracer:
        return value.shape == ()
    if isinstance(value, int):
        return -(2**63) <= value < 2**63 and not isinstance(value, enum.Enum)
    return isinstance(value, float | np.generic)


def not_(value: Any) -> Any:
    value = truth(value)
    if not unknown(value):
        return not value
    value = _scalar(value)
    return weaken(emit(REGISTRY["not"], value if value.dtype.kind == "b" else value != 0))  # a bool of Python


def subject(value: Any) -> Any:
    """What a `match` looks at: patterns are compared by Python."""
    if type(value) is Choice:
        raise value.error()
    return value


def unequal(a: Any, b: Any) -> Any:
    """`a != b`."""
    if type(a) is type(b) and type(a) in (tuple, list):
        return not_(equal(a, b))
    return a != b


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge, "Eq": equal,
    "NotEq": unequal, "Is": same, "IsNot": lambda a, b: not_(same(a, b)), "In": contained,
    "NotIn": lambda a, b: not_(contained(a, b)),
}  # fmt: skip


def compare(left: Any, symbols: tuple[str, ...], *operands: FunctionType) -> Any:
    """`left < operands[0]() < ...`: each operand is computed once, and only as far as the comparisons hold."""
    right = operands[0]()
    value = _COMPARISONS[symbols[0]](left, right)
    if len(operands) == 1:
        return value
    rest, more = operands[1:], symbols[1:]
    if unknown(value):
        return _logical(value, value, lambda: compare(right, more, *rest), rest[0], rest[1:], True)
    return compare(right, more, *rest) if value else value


__all__ = [
    "and_", "array_of", "both", "choose", "compare", "contained", "counted", "either", "equal", "extreme", "extreme_by",
    "folded", "folded_items", "for_", "holds", "if_", "item_at", "kept", "listed", "not_", "number", "of_type", "or_",
    "ordered", "raised", "range_", "reduced", "rows_of", "same", "step_of_call", "subject", "unequal", "while_",
]  # fmt: skip
