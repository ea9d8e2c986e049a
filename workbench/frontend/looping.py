"""What converted loops call: Python's own iteration where it is known how often, a step or an equation where it is not.

Bodies share their variables with the function around them, as those of branches do (`branching`).
"""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable, Collection, Sequence
from types import FunctionType
from typing import Any

from ..errors import TracingError
from .choices import settled, truth, unknown
from .comprehensions import counted
from .counted_loops import lists_alone, signals
from .diagnostics import bool_value
from .growing import lists_to_stack
from .jumps import LoopSource
from .loop_patterns import turns_left
from .loops.equations import Translated, emit_loop
from .loops.step_lists import NO_LISTS, Lists, appended_to, lists_of_step
from .loops.steps import translate
from .loops.types import UntranslatableError
from .patience import Patience, is_plain
from .recording import current_trace
from .rows import MAX_UNROLL, Rows
from .staging import Stage
from .traced_ranges import TracedRange
from .tracer import Tracer, require_trace
from .variables import Variables

logger = logging.getLogger("workbench")
SOURCES: dict[str, LoopSource] = {}  # the loops of converted code, as the user wrote them
MAX_UNROLL_IF_MUST = 64  # iterations of a loop whose body cannot be traced with an unknown index
MOST_UNROLLED_EQNS = 2048  # of a loop that can only be written out: more would take seconds to compile
MAX_UNROLLED_EQNS = 24  # short loops are written out up to here
MOST_SHORT = 256  # turns of a loop that the host had better not start for each turn of another one
_FIRST_STATIC = 8  # iterations of a `while` on plain numbers before it is tried as a loop


def while_(
    test: FunctionType, body: FunctionType, names: tuple[str, ...], live: tuple[str, ...], reads: tuple[str, ...],
    source: str, scope: FunctionType, appended: tuple[str, ...],
) -> None:  # fmt: skip
    """`while test(): body()`. source: key of the loop as it was written; scope: has what it reads in its closure."""
    variables = Variables(test, body, scope)
    with signals():
        _step_or_traced(
            "while", source, variables, names,
            lambda lists: as_step(source, variables, live, lists=lists), prefers_step,
            lambda grown, plain: _traced_while(
                test, body, names, live, reads, variables, grown, source, appended
            ),
            reads,
        )  # fmt: skip


def _step_or_traced(
    kind: str, source: str, variables: Variables, names: tuple[str, ...],
    make_step: Callable[[Lists], Translated | None],
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
    of_step = lists_of_step(SOURCES[source], variables, stacked, alone, _length(iterable), may_grow)
    variables.count_references(names)
    n_before, failure, state = len(trace.eqns), trace.failure, variables.assigned(names)
    was_plain = may_be_plain and source in trace.plain_loops
    step = None if was_plain else make_step(of_step)
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
            step = make_step(of_step)
        if step is None and of_step.with_unknown_lengths() != of_step:  # of which Python's numbers come out as NumPy's
            step = make_step(of_step.with_unknown_lengths())
        if step is None:
            raise
        trace.failure = failure
        emit_loop(step, variables, kind)
        return
    finally:
        trace.references = known
    if n_done > MAX_UNROLL and len(trace.eqns) == n_before:
        trace.plain_loops.add(source)


def as_step(
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


def prefers_step(step: Translated, n: float = math.inf) -> bool:
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
            only = as_step(source, variables, live, lists=lists) if trace is not None else None
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
        return prefers_step(step, n) and (n > MAX_UNROLL or step.only_elements or step.nested or stop is not None)

    with signals():
        _step_or_traced(
            "for", source, variables, names,
            lambda lists: (
                as_step(source, variables, live, surely, iterable, lists) if n > 1 or lists.tables else None
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
