"""At which place of a list an array is, where only the run tells how long the list gets (`counted_lists`).

    while error > tolerance:     in NumPy, path[-1] is x, or the last x is in no list,
        x = step(x)              as the iterations have decided
        if accepted(x):
            path.append(x)

For each such list that may hold an array there is a traced number with the array: its place, -1 if it is at none.
Branches choose between the numbers as they do between the arrays, and loops carry them along. Where the list and the
array are results, the item becomes that very array. Nothing else reads the numbers, which cost nothing elsewhere.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import TracingError, UnsupportedOperationError
from ..ir import REGISTRY, Aval
from .aliases import chain, is_now, root_of
from .diagnostics import build
from .recording import Trace
from .row_arrays import are_apart, memory_of, replayed, views_of
from .tracer import Buffer, Tracer, emit, lift, require_trace

if TYPE_CHECKING:
    from .counted_lists import CountedList
    from .regions import Region

NUMBER = np.dtype(np.int64)
NOWHERE = np.int64(-1)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an array, or a view of it, is in a list. number: that of the item, traced; None: nobody knows; part: of the
    item; view: what of the array is there, None if all of it."""

    holder: Any
    part: int
    number: Tracer | None
    view: Tracer | None = None

    @property
    def key(self) -> Key:
        return id(self.holder), self.part

    def at(self, number: Tracer | None) -> Place:
        return replace(self, number=number)

    def is_of(self, view: Tracer | None) -> bool:
        """Whether it holds the same view of the array."""
        return _chain(self.view) == _chain(view)


Key = tuple[int, int]  # the id of a list, and a part of its items
Places = dict[Key, Place]


@dataclass(slots=True)
class SharedMemory:
    """What nobody can tell of a list's items where they are needed as objects. holders: other lists, by id, that may
    share arrays with this one; is_unclear: whether items may share memory with one another, and nobody knows which;
    known: arrays from before loops that it may hold."""

    holders: dict[int, Any] = field(default_factory=dict)
    known: list[tuple[Any, Place]] = field(default_factory=list)
    is_unclear: bool = False

    def leave_unclear(self) -> None:
        self.is_unclear = True


def places_of(x: Tracer, seen: frozenset[int] = frozenset()) -> Places:
    """The places at which the whole array may be, or views of it, of which `x` is one. Recorded on the current trace.

    seen: the ids of buffers that are looked at already.
    """
    found, owner = _noted(x)
    aliases = owner.buffer.aliases
    if aliases is None or id(owner.buffer) in seen:
        return found
    for k, alternative in enumerate(aliases.alternatives):  # what has been appended since a branch chose it
        if alternative.root is None:
            continue
        for key, place in places_of(alternative.root, seen | {id(owner.buffer)}).items():
            if alternative.views:
                is_whole = _chain(place.view) == alternative.views
                place = replace(place, view=None) if is_whole else place.at(None)
            found[key] = _if_chosen(aliases.code, k, place, found.get(key))
    return found


def _number_of(place: Place | None) -> Tracer:
    """The number, -1 where it is none or nobody knows it."""
    return lift(NOWHERE if place is None or place.number is None else place.number)


def _if_chosen(code: Tracer | None, k: int, place: Place, otherwise: Place | None) -> Place:
    """`place` if a branch has chosen alternative `k`."""
    if code is None or place.number is None:
        return place.at(None)
    if otherwise is not None and (otherwise.number is None or not otherwise.is_of(place.view)):
        return place.at(None)
    return place.at(emit(REGISTRY["select_n"], code == k, _number_of(otherwise), lift(place.number)))


def _noted(x: Tracer) -> tuple[Places, Tracer]:
    """What is noted of an array's places, and the array in the trace that made it."""
    found: Places = {}
    while True:
        buffer = x.buffer
        found = {**(buffer.places or {}), **found}
        trace: Trace = buffer.trace
        entry = trace.adopted_as(buffer)
        if entry is None:
            return found, root_of(x)
        x = entry.value


def _may_be_at(x: Tracer, seen: frozenset[int] = frozenset()) -> Places:
    """The keys of `places_of`, with places as they are noted somewhere."""
    found, owner = _noted(x)
    aliases = owner.buffer.aliases
    for alternative in () if aliases is None or id(owner.buffer) in seen else aliases.alternatives:
        if alternative.root is not None:
            found = {**_may_be_at(alternative.root, seen | {id(owner.buffer)}), **found}
    return found


def set_place(buffer: Buffer, place: Place) -> None:
    buffer.places = {**(buffer.places or {}), place.key: place}
    buffer.trace.knows_places = True


def _knows_places(trace: Trace | None) -> bool:
    """Whether any are known there, or in the traces around it."""
    while trace is not None and not trace.knows_places:
        trace = trace.parent
    return trace is not None


def appended_at(holder: Any, part: int, x: Tracer, number: Tracer) -> Tracer | None:
    """Note that an array is this part of an item of a list, which has a `SharedMemory`. Returns the number of the first
    item whose part it is, None if that is this one."""
    place = Place(holder, part, number, None if x.parent is None else x)
    known = places_of(x)
    mine = known.pop(place.key, None)
    for other in known.values():
        if not _are_apart(x, other.view):
            if other.holder is holder:
                holder.memory.is_unclear = True
            holder.memory.holders[id(other.holder)] = other.holder
    first = None
    if mine is not None and (mine.number is None or not mine.is_of(place.view)):
        holder.memory.is_unclear = holder.memory.is_unclear or not _are_apart(x, mine.view)
        place = place.at(None)
    elif mine is not None:
        first = emit(REGISTRY["select_n"], mine.number < 0, mine.number, number)  # type: ignore[operator]
        place = place.at(first)
    set_place(x.buffer, place)
    _note_chosen(x, place)
    return first


def _note_chosen(x: Tracer, place: Place, seen: frozenset[int] = frozenset()) -> None:
    """Note for the arrays of which a branch has chosen `x` that it is at this place."""
    _, owner = _noted(x)
    aliases = owner.buffer.aliases
    if aliases is None or id(owner.buffer) in seen:
        return
    for k, alternative in enumerate(aliases.alternatives):
        place.holder.memory.is_unclear |= alternative.twice  # another one may be this array, too
        if alternative.root is not None:
            root = lift(root_of(alternative.root))
            at = place.at(None) if alternative.views else place
            chosen = _if_chosen(aliases.code, k, at, places_of(root).get(place.key))
            set_place(root.buffer, chosen)
            if (body := repeated_in(root, place.holder.trace)) is not None:
                unless_carried(body, place.holder.memory.leave_unclear)
            _note_chosen(root, chosen, seen | {id(owner.buffer)})


def repeated_in(x: Tracer, outside: Trace) -> Trace | None:
    """The body of a loop, in the trace `outside`, of which each iteration has `x`, an array that was there before;
    None if there is none. The loop may turn out to carry it."""
    trace: Trace | None = x.buffer.trace
    while trace is not None and trace is not outside and trace.region:
        entry = trace.adopted_as(x.buffer)
        if entry is None:
            return None
        if not trace.is_branch:
            return trace
        x, trace = entry.value, trace.parent
    return None


def unless_carried(body: Trace, then: Callable[[], None]) -> None:
    """Call `then` if the loop does not turn out to carry more."""
    if body.unless_carried is None:
        then()
    else:
        body.unless_carried.append(then)


def _chain(view: Tracer | None) -> tuple[Any, ...]:
    return () if view is None else chain(view)


def _are_apart(a: Tracer, b: Tracer | None) -> bool:
    return b is not None and are_apart(views_of(a), views_of(b))


class RowHolder:
    """One appended part of the lists that `growing` stacks, whose rows may be one array."""

    def __init__(self) -> None:
        self.memory = SharedMemory()
        self.trace = require_trace()


# ---- branches ----


@dataclass(eq=False, slots=True)
class BranchPlaces:
    """What a branch tells of places. columns: for each region, its results, to which the numbers are added; results,
    captured: of results, by number, and of arrays outside: the place, and which result its number is, if one is."""

    regions: Sequence[Region]
    columns: Sequence[list[Tracer]]
    results: list[tuple[int, Place, int | None]] = field(default_factory=list)
    captured: list[tuple[Buffer, Place, int | None]] = field(default_factory=list)

    def add(self) -> None:
        if not any(_knows_places(region.record) for region in self.regions):
            return
        for k in range(len(self.columns[0])):
            tracers = [column[k] for column in self.columns]
            if not any(x.scalar for x in tracers):
                sides = [r.run(functools.partial(_as_result, x)) for r, x in zip(self.regions, tracers, strict=True)]
                self.results += [(k, *each) for each in self._chosen(sides)]
        for outer in self._changed():
            around = places_of(outer)
            sides = []
            for region in self.regions:
                entry = region.captured_buffer(outer)
                inner = None if entry is None else entry.tracer
                sides.append(around if inner is None else region.run(functools.partial(places_of, inner)))
            self.captured += [(outer.buffer, *each) for each in self._chosen(sides)]

    def _changed(self) -> list[Tracer]:
        """The arrays outside that a side appends to a list."""
        entries = [entry for region in self.regions for entry in region.captured]
        changed = [e.value for e in entries if e.tracer is not None and e.tracer.buffer.places]
        return list({id(x.buffer): x for x in changed}.values())

    def _chosen(self, sides: Sequence[Places]) -> list[tuple[Place, int | None]]:
        found: list[tuple[Place, int | None]] = []
        for key, place in {key: place for side in sides for key, place in side.items()}.items():
            places = [side.get(key) for side in sides]
            if any(each is not None and (each.number is None or not each.is_of(place.view)) for each in places):
                found.append((place.at(None), None))
                continue
            found.append((place, len(self.columns[0])))
            for region, column, each in zip(self.regions, self.columns, places, strict=True):
                column.append(region.run(functools.partial(_number_of, each)))
        return found

    def mark(self, outs: Sequence[Tracer]) -> None:
        of_results = [(outs[k].buffer, place, column) for k, place, column in self.results]
        for buffer, place, column in (*of_results, *self.captured):
            set_place(buffer, place.at(None if column is None else outs[column]))


def _as_result(x: Tracer, places: Callable[[Tracer], Places] = places_of) -> Places:
    """Where what a branch or loop gives for `x` is: an array of its own, also for a view."""
    found = places(x)
    return found if x.parent is None else {key: place.at(None) for key, place in found.items()}


# ---- loops ----


class LoopPlaces:
    """The numbers that a loop carries. pairs: of the carried arrays, by key, and the places at which they may be;
    first: these arrays before the loop; start: the user's objects for them.

    Where iterations append what they begin with, it may be an array from before the loop: then the loop also carries
    whether each array still is that one, and where that one is.
    """

    def __init__(
        self, pairs: Mapping[tuple[Any, Key], Place], first: Mapping[Any, Tracer], start: Callable[[Any], Any]
    ):  # fmt: skip
        self.pairs = dict(pairs)
        self.first = first
        self.start = start
        self.unknown: set[Key] = set()  # lists of which nobody knows where the arrays are
        self.avals = [Aval((), NUMBER)] * len(pairs)
        self._begun: Mapping[Any, Places] = {}  # of the arrays that an iteration begins with
        # Arrays from before the loop that it appends: the user's, as it is traced, and where it is.
        self.before: list[tuple[Any, Any, Place]] = []
        self._more: list[Tracer] = []  # what it carries at first to tell of these

    @property
    def n(self) -> int:
        """How many numbers it carries."""
        return len(self.pairs) + len(self._more)

    def begin(self, inputs: Mapping[Any, Tracer], numbers: Sequence[Tracer]) -> None:
        for ((key, _), place), number in zip(self.pairs.items(), numbers, strict=True):
            set_place(inputs[key].buffer, place.at(number))
        self._begun = {key: x.buffer.places or {} for key, x in inputs.items()}

    def _place(self, x: Tracer, place: Place) -> Place | None:
        found = _as_result(x).get(place.key)
        if found is not None and (found.number is None or not found.is_of(place.view)):
            self.unknown.add(place.key)
        return found

    @property
    def init(self) -> list[Tracer]:
        places = [self._place(self.first[key], place) for (key, _), place in self.pairs.items()]
        return [*map(_number_of, places), *self._more]

    def results(
        self, region: Region, inputs: Mapping[Any, Tracer], final: Mapping[Any, Tracer], outer: Mapping[Any, Any]
    ) -> list[Tracer]:  # fmt: skip
        """What an iteration leaves, for `init`. inputs, final: the arrays before and after it; outer: of the latter,
        those from outside, as the user's code has them."""
        places = [region.run(functools.partial(self._place, final[key], p)) for (key, _), p in self.pairs.items()]
        numbers = region.run(lambda: [*map(_number_of, places)])
        return numbers + self._tell_first(region, inputs, final, outer)

    def _tell_first(
        self, region: Region, inputs: Mapping[Any, Tracer], final: Mapping[Any, Tracer], outer: Mapping[Any, Any]
    ) -> list[Tracer]:  # fmt: skip
        """What an iteration leaves in what is carried to tell where arrays from before the loop are."""
        found: list[Tracer] = []
        sources = {key: frozenset(memory_of(y)) for key, y in final.items()}
        for key, x in inputs.items():
            begun = self._begun[key]
            places = [p for p in (x.buffer.places or {}).values() if p is not begun.get(p.key)]
            takes, pending = {key}, [key] if places else []
            while pending:  # keys whose arrays may be this one in a later iteration
                mine = sources[pending.pop()]
                pending += (more := {k for k, y in inputs.items() if id(y.buffer) in mine} - takes)
                takes |= more
            for place in places:
                self.before += [(self.start(k), self.first[k], place.at(None)) for k in takes if k != key]
                for k in takes:
                    if k in outer and type(outer[k]) is not Tracer:
                        self.before.append((outer[k], None, place.at(None)))
                    entries = (e for e in region.captured if e.tracer is not None and id(e.tracer.buffer) in sources[k])
                    self.before += [(e.value, e.value, place.at(None)) for e in entries]
                same = None if place.number is None else region.run(functools.partial(is_now, final[key], x.buffer))
                self.before.append((self.start(key), self.first[key], place.at(None) if same is None else place))
                if same is not None:
                    is_first, where = region.add_input(Aval((), np.dtype(np.bool_))), region.add_input(Aval((), NUMBER))
                    self._more += [lift(np.bool_(True)), lift(NOWHERE)]
                    found += region.run(functools.partial(_still_first, is_first, same, where, place.number))
        return found

    def mark(self, outs: Mapping[Any, Tracer], numbers: Sequence[Tracer]) -> None:
        for ((key, of_list), place), number in zip(self.pairs.items(), numbers, strict=False):
            set_place(outs[key].buffer, place.at(None if of_list in self.unknown else number))
        wheres = iter(numbers[len(self.pairs) + 1 :: 2])
        for array, first, place in self.before:
            place = place.at(None if place.number is None else next(wheres))
            if type(array) is Tracer:
                view = first if place.view is None else replayed(views_of(place.view), first)
                view = None if view is not None and view.parent is None else view
                earlier = _noted(first)[0].get(place.key)
                told = earlier is None and (view is not None or place.view is None)
                noted = replace(place.at(place.number if told else None), view=view)
                set_place(root_of(first).buffer, noted)
                _note_chosen(first, noted)
            place.holder.memory.known.append((array, place))


def _still_first(is_first: Any, same: Tracer, where: Tracer, number: Any) -> tuple[Tracer, Tracer]:
    """After an iteration: whether an array is that from before the loop, and where that one is."""
    is_there = emit(REGISTRY["and"], is_first, number >= 0)
    return emit(REGISTRY["and"], is_first, same), emit(REGISTRY["select_n"], is_there, where, number)


def pairs_of(arrays: Mapping[Any, Tracer]) -> dict[tuple[Any, Key], Place]:
    """The places at which these arrays may be."""
    return {
        (key, of_list): place
        for key, x in arrays.items()
        if not x.scalar
        for of_list, place in _as_result(x, _may_be_at).items()
    }


# ---- when the program returns ----


def tell_places(lists: Iterable[CountedList], leaves: Sequence[Any], inputs: Iterable[Buffer]) -> None:
    """Note on the lists among the results which of their items are arrays among the results, or inputs."""
    holders = {id(holder): (x, part) for x in {id(x): x for x in lists}.values() for holder, part in x.holders}
    if not holders:
        return
    for memory in (holder.memory for x, _ in holders.values() for holder, _ in x.holders):
        if memory.is_unclear or not memory.holders.keys().isdisjoint(holders):
            raise not_told()
    roots = {id(x.buffer): root_of(x) for x in leaves if type(x) is Tracer and not x.scalar}
    roots |= {id(buffer): buffer.whole for buffer in inputs if buffer.places and buffer.whole is not None}
    for root in roots.values():
        for place in places_of(root).values():
            if id(place.holder) in holders:
                _tell(holders, place, root)
    for memory in (holder.memory for x, _ in holders.values() for holder, _ in x.holders):
        for array, place in memory.known:
            if any(leaf is array for leaf in leaves):
                _tell(holders, place, array)


def _tell(holders: Mapping[int, tuple[CountedList, int]], place: Place, array: Any) -> None:
    array = array if place.view is None else replayed(views_of(place.view), array)
    if place.number is None or array is None:
        raise not_told()
    counted, first = holders[id(place.holder)]
    counted.arrays_elsewhere += ((first + place.part, place.number, array),)


def not_told() -> TracingError:
    return build(
        UnsupportedOperationError,
        "{line} returns a list and arrays that may be in it: a traced branch or loop decides whether they are.",
        "an item of a list may be another result, as a traced condition decides",
        fixes=("append a copy of the array",),
    )
