"""Loops that append to lists as often as only the run tells.

They are traced as they are first, then with `CountedList`s in the place of the lists that they grow, which variables or
objects hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import TracingError
from .captures import VaryingHeldError
from .counted_lists import CountedList, ItemFoundError, Items
from .held import HeldValue
from .merging import refuse
from .outside_lists import HeldListError, OutsideList, OutsideListError
from .recording import signalled
from .references import ALONE, count
from .tracer import require_trace
from .variables import Variables

T = TypeVar("T")


def lists_alone(
    names: Iterable[str], get: Callable[[str], Any], kinds: tuple[type, ...] = (list,)
) -> frozenset[str]:  # fmt: skip
    """Those of the names that hold a list, or something of another of the kinds, to which nothing else refers."""
    return frozenset(
        name for name in names if type(get(name)) in kinds and count(get, name) - _own_references(get(name)) <= ALONE
    )


def _own_references(value: Any) -> int:
    """How often a list refers to itself."""
    return sum(holder is value for holder, _ in value.holders) if type(value) is CountedList else 0


def with_counted_lists(run: Callable[[], T], names: Iterable[str], variables: Variables, bound: Sequence[str]) -> T:
    """`run()`, which traces a loop. If it cannot, once more with lists of `names` that get as many items as the run
    decides. names: of lists that only the loop knows; bound: the variables that it binds."""
    lists = {name: found for name in names if type(found := variables.get(name)) is list}
    if not lists:
        return run()
    trace = require_trace()
    held = {name: list(found) for name, found in lists.items()}
    n_writes, failure, state = trace.n_writes, trace.failure, {**variables.assigned(bound), **lists}
    try:
        return _attempted(run)
    except (OutsideListError, HeldListError):
        raise
    except TracingError:
        if trace.n_writes != n_writes:
            raise
        trace.failure = failure
    for name, found in lists.items():
        found[:] = held[name]
    items: dict[str, Items] = {}
    while True:
        variables.restore(state)
        for name, found in lists.items():
            variables.set(name, CountedList(name, found, items.get(name)))
        try:
            result = _attempted(run)
        except ItemFoundError as error:
            if items.get(error.name) == error.items or error.name not in lists:
                variables.restore(state)
                raise
            items[error.name] = error.items
            let_go(error)
        except BaseException:
            variables.restore(state)
            raise
        else:
            break
    for name in lists.keys() - items.keys():  # the loop changes none of these
        variables.set(name, lists[name])
    return result


@dataclass(frozen=True, slots=True)
class _InOutsideList:
    """The `CountedList` of a loop that appends to a list from outside."""

    outside: OutsideList

    def begin(self, counted: CountedList) -> None:
        self.outside.counted = counted

    def end(self, counted: CountedList, succeeded: bool) -> None:
        self.outside.counted = None
        if succeeded and counted.items is not None:
            self.outside.added.append(counted)


@dataclass(frozen=True, slots=True)
class _InPlace:
    """The `CountedList` that takes the place of a list which an object, dict or list holds."""

    place: HeldValue
    found: list
    before: tuple[Any, ...]

    def begin(self, counted: CountedList) -> None:
        self.place.set(counted)

    def end(self, counted: CountedList, succeeded: bool) -> None:
        if not succeeded or counted.items is None:
            self.found[:] = self.before
            self.place.set(self.found)


def with_held_lists(run: Callable[[], T], variables: Variables, bound: Sequence[str]) -> T:
    """`run()`, which traces a branch or loop, with `CountedList`s for the lists to which it appends and that are from
    outside or held by an object, dict or list."""
    trace = require_trace()
    failure, state = trace.failure, variables.assigned(bound)
    lists: dict[str, _InOutsideList | _InPlace] = {}
    items: dict[str, Items] = {}
    while True:
        counted = {}
        for name, each in lists.items():
            before = each.before if isinstance(each, _InPlace) else ()
            each.begin(made := CountedList(name, before, items.get(name)))
            counted[name] = made
        n_writes, succeeded = trace.n_writes, False
        try:
            result = _attempted(run)
            succeeded = True
            return result
        except (OutsideListError, HeldListError, ItemFoundError) as error:
            # A list of which data decide how long it is can be the result of an equation, but not of a step.
            if trace.region:
                raise
            may_repeat = not trace.on_gpu and trace.n_writes == n_writes
            if not may_repeat and isinstance(error, ItemFoundError):
                raise
            if not may_repeat or isinstance(error, HeldListError) and not error.is_alone:
                name, _ = _place_of(error)  # type: ignore[arg-type]  # no item that was found
                raise refuse("changes", name, "a list, inside a branch or loop on traced values") from None
            if isinstance(error, ItemFoundError):
                if items.get(error.name) == error.items or error.name not in lists:
                    raise
                items[error.name] = error.items
            else:
                new = _place_of(error)
                if new[0] in lists:
                    raise
                lists[new[0]] = new[1]
            trace.failure = failure
            variables.restore(state)
            let_go(error)
        finally:
            for name, made in counted.items():
                lists[name].end(made, succeeded)


def _place_of(error: OutsideListError | HeldListError) -> tuple[str, _InOutsideList | _InPlace]:
    if isinstance(error, OutsideListError):
        return error.outside.name, _InOutsideList(error.outside)
    return error.place.name, _InPlace(error.place, error.found, tuple(error.found))


class signals:  # noqa: N801 (reads as the `with` statement that it is)
    """What asks for another attempt goes from here into the user's code, which may catch it."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, VaryingHeldError | OutsideListError | HeldListError | ItemFoundError):
            signalled(error)


def let_go(error: BaseException) -> None:
    """Of what the frames of a handled error hold: lists are told by how many refer to them."""
    error.__traceback__ = error.__context__ = None


def _attempted(run: Callable[[], T]) -> T:
    """`run()`; raises what was signalled, though the user's code caught it."""
    trace = require_trace()
    before, trace.signal = trace.signal, None
    try:
        result = run()
    finally:
        signal, trace.signal = trace.signal, before
        if signal is not None:
            raise signal
    return result
