"""What converted control flow calls: Python's own behaviour where the test is known, one equation where it is traced.

Bodies are functions without parameters that share their variables with the function around them through closure cells
(in a cell of a notebook, through the globals). To trace a body, its variables are set, it is run in a region, and its
variables are read: `Variables` does both.
"""

from __future__ import annotations

import enum
import functools
import logging
import math
import operator
from collections.abc import Callable, Collection, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ..errors import TracingError
from ..ir import REGISTRY
from .builtin_calls import folded, number, of_type, range_, reduced
from .checks import end_unless
from .choices import Choice, settled, truth
from .comprehensions import array_of, counted, folded_items, listed
from .counted_loops import lists_alone, signals, with_held_lists
from .diagnostics import bool_value
from .foresight import foreseen
from .growing import lists_to_stack
from .held import HeldValue
from .identity import same
from .items import item_at
from .jumps import LoopSource
from .list_folds import extreme_by, items_of_counted
from .loop_patterns import turns_left
from .loops.equations import Translated, emit_loop
from .loops.step_lists import NO_LISTS, Lists, appended_to, lists_of_step
from .loops.steps import translate
from .loops.types import UntranslatableError
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
from .patience import Patience, is_plain
from .recording import current_trace
from .regions import as_index, emit_cond
from .rows import MAX_UNROLL, Rows, rows_of
from .staging import Stage
from .traced_ranges import TracedRange
from .tracer import Tracer, emit, in_region, lift, require_trace
from .variables import Variables, closure_names
from .watching import Watched

logger = logging.getLogger("workbench")
SOURCES: dict[str, LoopSource] = {}  # the loops of converted code, as the user wrote them
MAX_UNROLL_IF_MUST = 64  # iterations of a loop whose body cannot be traced with an unknown index
MOST_UNROLLED_EQNS = 2048  # of a loop that can only be written out: more would take seconds to compile
MAX_UNROLLED_EQNS = 24  # short loops are written out up to here
MOST_SHORT = 256  # turns of a loop that the host had better not start for each turn of another one
_FIRST_STATIC = 8  # iterations of a `while` on plain numbers before it is tried as a loop


def unknown(value: Any) -> bool:
    """Whether the truth of `value` is only known when the kernel runs. Arrays of other sizes have none, as in NumPy."""
    if type(value) is not Tracer or value.size != 1:
        return False
    value = in_region(value)
    return value.buffer.trace.known_soon(value.current) is None


# ---- branches ----


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


# ---- loops ----


def while_(
    test: FunctionType, body: FunctionType, names: tuple[str, ...], live: tuple[str, ...], reads: tuple[str, ...],
    source: str, scope: FunctionType, appended: tuple[str, ...],
) -> None:  # fmt: skip
    """`while test(): body()`. source: key of the loop as it was written; scope: has what it reads in its closure."""
    variables = Variables(test, body, scope)
    with signals():
        _step_or_traced(
            "while", source, variables, names,
            lambda lists: _as_step(source, variables, live, lists=lists), _prefers,
            lambda grown, plain: _traced_while(
                test, body, names, live, reads, variables, grown, source, appended
            ),
            reads,
        )  # fmt: skip


def _step_or_traced(
    kind: str, source: str, variables: Variables, names: tuple[str, ...], as_step: Callable[[Lists], Translated | None],
    prefers: Callable[[Translated], bool], traced: Callable[[frozenset[str], bool], int], reads: Sequence[str], *,
    iterable: Any = None, may_be_plain: bool = True, stacked: Collection[str] = (),
) -> None:  # fmt: skip
    """Run a loop as one step where that is better or where it cannot be traced, and trace it elsewhere.

    A loop that ran on plain numbers alone will do so again, inside of one that Python runs: it is not translated each
    time. traced: traces it, given the names of lists that may grow as often as data decide and whether nothing is
    traced in it, and gives the number of iterations, as far as that is known; reads: the names that the loop reads;
    iterable: what it goes over; may_be_plain: whether all may be on plain numbers; stacked: lists to which every
    iteration appends, so that tracing knows how many items they hold in the end.
    """
    trace = current_trace()
    if trace is None:
        traced(frozenset(), False)
        return
    may_grow = frozenset() if trace.region or trace.on_gpu else lists_alone(appended_to(SOURCES[source]), variables.get)
    alone = lists_to_stack(variables, reads, stacked, may_grow)
    of_step = lists_of_step(SOURCES[source], variables, stacked, alone, _length(iterable))
    variables.count_references(names)
    n_before, failure, state = len(trace.eqns), trace.failure, variables.assigned(names)
    was_plain = may_be_plain and source in trace.plain_loops
    step = None if was_plain else as_step(of_step)
    if step is not None and prefers(step):
        emit_loop(step, variables, kind)
        return
    values = map(variables.glimpse, (*names, *reads))
    plain = step is None and is_plain(iterable) and all(map(is_plain, values))
    if plain:
        may_grow = frozenset()  # nothing that decides how long lists become is traced
    known, trace.references = trace.references, variables.own_references(names)
    try:
        n_done = traced(frozenset() if step is not None and not step.lists or was_plain else may_grow, plain)
    except TracingError:
        if len(trace.eqns) != n_before:
            raise
        variables.restore(state)
        if was_plain:
            trace.plain_loops.discard(source)
            step = as_step(of_step)
        if step is None:
            raise
        trace.failure = failure
        emit_loop(step, variables, kind)
        return
    finally:
        trace.references = known
    if n_done > MAX_UNROLL and len(trace.eqns) == n_before:
        trace.plain_loops.add(source)


def _as_step(
    source: str, variables: Variables, live: tuple[str, ...], anew: frozenset[str] = frozenset(), items: Any = None,
    lists: Lists = NO_LISTS,
) -> Translated | None:  # fmt: skip
    """The loop as one step, if it can be one."""
    try:
        step = translate(SOURCES[source], variables, live, anew, items, lists)
    except UntranslatableError as reason:
        logger.debug("a loop is no step of its own: %s", reason)
        return None
    trace = current_trace()
    if trace is not None:
        trace.count_step()
    return step


def _prefers(step: Translated, n: float = math.inf) -> bool:
    """Whether a loop is better one step, which the host runs, than traced. On a GPU only one over single numbers is.

    A step inside of a traced loop has the host run that one, too, turn by turn: that costs more than a step gains,
    unless it is known to be long. n: how many turns there are, infinity where that is not known.
    """
    trace = current_trace()
    is_short = n <= MOST_SHORT or n == math.inf
    if trace is not None and trace.region and step.only_elements and not step.nested and is_short:
        return False
    return step.prefer and (step.only_elements or trace is None or not trace.on_gpu)


def _traced_while(
    test: FunctionType, body: FunctionType, names: tuple[str, ...], live: tuple[str, ...], reads: tuple[str, ...],
    variables: Variables, grown: frozenset[str], source: str, appended: Sequence[str],
) -> int:  # fmt: skip
    """Run it; the number of iterations that Python ran."""
    trace = current_trace()
    n, n_eqns = 0, len(trace.eqns) if trace is not None else 0
    patience = Patience(trace, MOST_UNROLLED_EQNS)
    while True:
        patience.ask()
        value = truth(test())
        if unknown(value):
            _stage(variables, body, names, live, reads, grown=grown).run_while(test)
            return n
        if not value:
            return n
        n += 1
        if n == _FIRST_STATIC and trace is not None and len(trace.eqns) > n_eqns:
            # A loop on plain numbers that computes with arrays: as a loop it compiles in a time that does not grow.
            stage = _stage(variables, body, names, live, reads)
            if stage.attempt(lambda stage=stage: stage.run_while(test)):
                return n
            if (turns := turns_left(SOURCES[source], variables.get)) is not None:
                as_for = _stage(variables, lambda _: body(), names, live, reads, appended=appended)  # type: ignore[arg-type]
                if as_for.attempt_range(range(turns.n), 0):
                    variables.set(turns.counter, turns.end)
                    return n
        if n > 1 or not grown:
            body()
        elif not _is_traced_in_python(body, variables, names, reads):
            _stage(variables, body, names, live, reads, grown=grown).run_while(test)
            return n


def _is_traced_in_python(
    body: Callable[[], Any], variables: Variables, names: Sequence[str], reads: Sequence[str]
) -> bool:
    """Run the first turn of a loop, if Python's lists allow what it does to them: those of a compiled loop allow more.
    Otherwise nothing has happened."""
    trace = require_trace()
    cells = frozenset(id(variables.cells[name]) for name in names if name in variables.cells)
    watched, state, moment = variables.watched(reads, names), variables.assigned(names), trace.moment()
    try:
        body()
    except TracingError:
        if not trace.go_back(moment):
            raise
        watched.undo(cells)
        variables.restore(state)
        return False
    return True


def for_(
    iterable: Any, body: FunctionType, names: tuple[str, ...], live: tuple[str, ...], anew: tuple[str, ...],
    reads: tuple[str, ...], source: str, scope: FunctionType, stop: str | None, target: str = "",
    appended: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """`for item in iterable: body(item)`, until the variable `stop` is true. iterable: or a function that gives it;
    anew: the variables that every iteration sets before it reads them; appended: lists that it only appends to."""
    variables = Variables(body, scope)
    trace = current_trace()
    if type(iterable) is FunctionType:
        failure = trace.failure if trace is not None else None
        try:
            iterable = settled(iterable())
            n = _length(iterable)
        except TracingError:  # it depends on data how many items there are, or which
            lists = lists_of_step(SOURCES[source], variables) if trace is not None else NO_LISTS
            only = _as_step(source, variables, live, lists=lists) if trace is not None else None
            if only is None:
                raise
            assert trace is not None
            trace.failure = failure
            emit_loop(only, variables, "for")
            return
    else:
        iterable = settled(iterable)
        n = _length(iterable)
    surely = frozenset((*anew, target)) if 1 <= n < math.inf else frozenset()

    def prefers(step: Translated) -> bool:
        # A few operations on arrays are better written out, where they fuse with what stands around them; behind a
        # `break` that is not possible.
        return _prefers(step, n) and (n > MAX_UNROLL or step.only_elements or step.nested or stop is not None)

    with signals():
        _step_or_traced(
            "for", source, variables, names,
            lambda lists: (
                _as_step(source, variables, live, surely, iterable, lists) if n > 1 or lists.tables else None
            ),
            prefers,
            lambda grown, plain: _traced_for(
                iterable, body, names, live, anew, reads, variables, stop, target, appended, grown, plain
            ),
            reads, iterable=iterable, may_be_plain=type(iterable) is not TracedRange,
            stacked=appended if n < math.inf else (),
        )  # fmt: skip


def _length(iterable: Any) -> float:
    """How often a loop runs, infinity where that is not known."""
    try:
        return len(iterable) if type(iterable) is not TracedRange else math.inf
    except TypeError:
        return math.inf


def _traced_for(
    iterable: Any, body: FunctionType, names: tuple[str, ...], live: tuple[str, ...], anew: tuple[str, ...],
    reads: tuple[str, ...], variables: Variables, stop: str | None, target: str, appended: tuple[str, ...],
    grown: frozenset[str], plain: bool,
) -> int:  # fmt: skip
    """Run it; the number of iterations that Python ran. plain: it can be no equation, as nothing in it is traced."""
    by_index = bool(grown) or type(iterable) is Tracer and iterable.shape and len(iterable) > MAX_UNROLL
    if type(iterable) is Rows or type(iterable) is Tracer and iterable.shape and by_index:
        given, run = iterable, body
        body = lambda i: run(given[i])  # type: ignore[assignment]  # noqa: E731
        iterable, target = range(len(iterable)), ""
    if current_trace() is None:
        rows: Any = None
    elif type(iterable) is TracedRange:
        _stage(variables, body, names, live, reads, stop, target, grown=grown).run_range(iterable)
        return 0
    else:
        rows = iterable if type(iterable) is range else None
    if rows is not None and len(rows) > MAX_UNROLL and not plain:
        # What only the last iteration leaves is not carried through all of them: that one is written out. So a view
        # which it takes stays a view.
        last = frozenset(anew).intersection(live) if stop is None else frozenset()
        n = len(rows) - 1 if last else len(rows)
        carried = [name for name in live if name not in last]
        stage = _stage(variables, body, names, carried, reads, stop, target, appended, grown)
        with variables.hidden(last):
            done = stage.run_or_unroll(rows[:n], MAX_UNROLLED_EQNS, MAX_UNROLL_IF_MUST)
        iterable = rows = rows[n if done is None else done :]
    position = 0
    for item in counted(iterable, MOST_UNROLLED_EQNS, "loop"):
        if position or not grown or rows is None:
            body(item)
        elif not _is_traced_in_python(lambda item=item: body(item), variables, names, reads):
            _stage(variables, body, names, live, reads, stop, target, grown=grown).run_range(rows)
            return 0
        position += 1
        if stop is not None:
            stopped = variables.get(stop)
            if unknown(stopped):
                if rows is None:
                    bool_value(stopped)  # which raises: what comes after a number of items is not a loop of the program
                elif position < len(rows):
                    stage = _stage(variables, body, names, live, reads, stop, target, grown=grown)
                    stage.run_range(rows[position:])
                return position
            if stopped:
                return position
    return position


def _stage(
    variables: Variables, body: FunctionType, names: Sequence[str], live: Sequence[str], reads: Sequence[str],
    stop: str | None = None, target: str = "", appended: Sequence[str] = (), grown: frozenset[str] = frozenset(),
) -> Stage:  # fmt: skip
    carried = [name for name in names if name in live or name == stop]
    variables.dead = frozenset(names).difference(carried)
    cells = frozenset(id(variables.cells[name]) for name in names if name in variables.cells)
    lists = lists_to_stack(variables, reads, appended, grown) if stop is None else {}
    watched = functools.partial(variables.watched, reads, names)
    return Stage(variables, body, names, carried, watched, cells, stop, target, lists, grown)


__all__ = [
    "and_", "array_of", "both", "choose", "compare", "contained", "counted", "either", "equal", "extreme", "extreme_by",
    "folded", "folded_items", "for_", "holds", "if_", "item_at", "listed", "not_", "number", "of_type", "or_",
    "ordered", "raised", "range_", "reduced", "rows_of", "same", "subject", "unequal", "while_",
]  # fmt: skip
