"""Which memory an array has that a traced branch or loop chose: told outside by a number that the program computes.

`y = x if c else x + 1` is one equation, whose result has memory of its own. NumPy's `y` is `x` itself on one path, and
a caller who gets `y` back may rely on it. So each path also gives the position of what it takes in a list of
alternatives; where the array is returned, that number picks the object (`outputs.OutLeaf`). Nobody else reads it, so
that it costs nothing where the array is not returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir import REGISTRY, Aval
from .tracer import Buffer, Tracer, emit, lift

if TYPE_CHECKING:
    from .regions import Region
    from .views import ViewOp

CODE = np.int32  # the type of the numbers that count alternatives


@dataclass(frozen=True, eq=False, slots=True)
class Alternative:
    """One array that a value may be: the view `views` of `root`, or one in the memory `own`, made on that path.
    twice: an iteration, or a side of a branch, leaves that memory under two names."""

    root: Tracer | None
    views: tuple[ViewOp, ...] = ()
    own: Any = None
    twice: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Aliases:
    """What an array may be, and the traced number of what it is (None: that is not known outside)."""

    code: Tracer | None
    alternatives: tuple[Alternative, ...]


def chain(x: Tracer) -> tuple[ViewOp, ...]:
    """The views that lead from the whole buffer of `x` to `x`."""
    views: list[ViewOp] = []
    while x.parent is not None:
        assert x.op is not None
        views.append(x.op)
        x = x.parent
    return tuple(reversed(views))


def root_of(x: Tracer) -> Tracer:
    while x.parent is not None:
        x = x.parent
    return x


def _alternatives(buffer: Buffer) -> Iterator[Alternative]:
    """What an array over `buffer` may be, and what that may be, each buffer once: exchanges would double them."""
    seen, pending = {id(buffer)}, [buffer]
    while pending:
        aliases = pending.pop().aliases
        for alternative in aliases.alternatives if aliases is not None else ():
            yield alternative
            if alternative.root is not None and id(alternative.root.buffer) not in seen:
                seen.add(id(alternative.root.buffer))
                pending.append(alternative.root.buffer)


def given_roots(buffer: Buffer) -> Iterator[Tracer]:
    """Every array outside that an array over `buffer` may be a view of."""
    return (a.root for a in _alternatives(buffer) if a.root is not None)


def own_memory(buffer: Buffer, *, under_two_names: bool = False) -> Iterator[Any]:
    """The memory, made on one path, that an array over `buffer` may have; only what is `under_two_names` of a loop."""
    return (
        alternative.own
        for alternative in _alternatives(buffer)
        if alternative.root is None and alternative.own is not None and (alternative.twice or not under_two_names)
    )


def outside(region: Region, x: Tracer) -> tuple[int | Tracer | None, tuple[Alternative, ...]]:
    """What the array `x` of a region is in the trace around it: its number (None: not known), and the alternatives."""
    views = chain(x)
    for entry in region.captured:
        if entry.tracer is not None and entry.tracer.buffer is x.buffer:
            return 0, (Alternative(entry.value, views),)
    aliases = x.buffer.aliases
    if aliases is None:
        return 0, (Alternative(None, own=x.buffer),)
    code: Tracer | None = aliases.code
    found: list[Alternative] = []
    for alternative in aliases.alternatives:
        if alternative.root is None:
            found.append(alternative)
            continue
        number, inner = outside(region, alternative.root)
        if number != 0 or len(inner) > 1:  # itself one of several
            code = None
        found += [Alternative(a.root, (*a.views, *alternative.views, *views), a.own) for a in inner]
    return code, tuple(found)


@dataclass(eq=False)
class BranchAliases:
    """What the result number `k` of a branch may be. sides: for each region, the number and the alternatives."""

    k: int
    regions: Sequence[Region]
    sides: list[tuple[int | Tracer | None, tuple[Alternative, ...]]] = field(default_factory=list)
    column: int | None = None  # of the results, which holds the code

    @classmethod
    def of(cls, k: int, tracers: Sequence[Tracer], regions: Sequence[Region]) -> BranchAliases | None:
        """None for numbers, which share no memory."""
        if any(t.scalar for t in tracers):
            return None
        return cls(k, regions, [outside(r, t) for r, t in zip(regions, tracers, strict=True)])

    @property
    def roots(self) -> list[Tracer]:
        return [a.root for _, alternatives in self.sides for a in alternatives if a.root is not None]

    @property
    def is_known(self) -> bool:
        return all(number is not None for number, _ in self.sides)

    def codes(self) -> list[Tracer]:
        """For each region its alternative's number among those of all of them."""
        first, found = 0, []
        for region, (number, alternatives) in zip(self.regions, self.sides, strict=True):
            found.append(region.run(lambda n=number, k=first: _shifted(n, k)))
            first += len(alternatives)
        return found

    def mark(self, outs: Sequence[Tracer], shared: Set[int]) -> None:
        """Note on the results of the branch what they may be: nothing may be written there from here on. shared: the
        ids of memory that a side leaves under two names."""
        buffer = outs[self.k].buffer
        code = None if self.column is None else outs[self.column]
        buffer.ambiguous = True
        found = [replace(a, twice=a.twice or id(a.own) in shared) for _, sides in self.sides for a in sides]
        buffer.aliases = Aliases(code, tuple(found))
        for root in self.roots:
            root.buffer.ambiguous = True


def _shifted(number: int | Tracer | None, k: int) -> Tracer:
    return lift(CODE(number + k)) if isinstance(number, int) else number + CODE(k)  # type: ignore[operator, return-value]


def mark_branch(found: Sequence[BranchAliases], outs: Sequence[Tracer]) -> None:
    shared = _under_two_names(found)
    for aliases in _ambiguous(found):
        aliases.mark(outs, shared)


def add_codes(found: Sequence[BranchAliases], columns: Sequence[list[Tracer]]) -> None:
    """Have the branches give the numbers of the arrays that they choose, as further results."""
    for aliases in _ambiguous(found):
        if aliases.roots and aliases.is_known:
            aliases.column = len(columns[0])
            for column, code in zip(columns, aliases.codes(), strict=True):
                column.append(code)


def _ambiguous(found: Sequence[BranchAliases]) -> list[BranchAliases]:
    """Those that may be an array from outside, or have the memory of another result."""
    shared = _under_two_names(found)
    return [
        aliases for aliases in found
        if aliases.roots or any(id(a.own) in shared for _, alternatives in aliases.sides for a in alternatives)
    ]  # fmt: skip


def _under_two_names(found: Sequence[BranchAliases]) -> frozenset[int]:
    """The ids of the memory, made on one path, that several results have."""
    count: dict[int, int] = {}
    for aliases in found:
        for own in {id(a.own) for _, alternatives in aliases.sides for a in alternatives if a.own is not None}:
            count[own] = count.get(own, 0) + 1
    return frozenset(own for own, n in count.items() if n > 1)


class LoopAliases:
    """What the arrays that a loop carries may be after it: the loop also carries the number of each, and the integers
    of the iteration that took it (`x = a[i]`).

    first, inputs, final: for each key, the array before the loop, what stands for it in the region, and what an
    iteration leaves there.
    """

    def __init__(
        self, region: Region, first: dict[Any, Tracer], inputs: dict[Any, Tracer], final: dict[Any, Tracer]
    ):  # fmt: skip
        self.region = region
        self.final = final
        self.inputs = inputs
        self.is_known = True
        self.alternatives = [Alternative(root_of(x), chain(x)) for x in first.values()]
        self.init = [lift(CODE(i)) for i in range(len(first))]
        aval = Aval((), np.dtype(CODE))
        self.codes_in = {key: region.add_input(aval) for key in first}
        self.reached: dict[Any, set[int]] = {key: {i} for i, key in enumerate(first)}  # numbers that a key may have
        self.taken: dict[Any, set[Any]] = {key: {key} for key in first}  # keys of which it may have the number
        self.goes: dict[Any, set[Any]] = {key: set() for key in first}  # keys to which an iteration hands an array on
        self.results = [region.run(lambda k=key, x=x: self._code(k, x)) for key, x in final.items()]
        self.n_indices = max((self._count(x) for x in final.values()), default=0)
        index = Aval((), np.dtype(np.int64))
        self.indices_in = {key: [region.add_input(index) for _ in range(self.n_indices)] for key in first}
        for x in final.values():
            self.init += [lift(np.int64(0)) for _ in range(self.n_indices)]
            self.results += region.run(lambda x=x: self._indices(x))
        self.pairs: list[tuple[Any, Any]] = []  # of keys: whether the first is the second, which an iteration made
        for a, x in final.items():
            for b, y in final.items():
                if a != b and y.parent is None and y.buffer.aliases is None and may_be(x, y.buffer):
                    self._tell(a, b, first)

    def _tell(self, a: Any, b: Any, first: dict[Any, Tracer]) -> None:
        """Have the loop carry whether the array of one key is that of another."""
        buffer = self.final[b].buffer
        if self._captured(self.final[b]) is not None or any(x.buffer is buffer for x in self.inputs.values()):
            return
        if first[b].parent is None:
            begins = is_now(first[a], first[b].buffer)
        else:  # another view is another array, in memory that both are told to be in
            begins = lift(np.bool_(first[a] is first[b]))
        ends = self.region.run(lambda: is_now(self.final[a], buffer))
        if begins is not None and ends is not None:
            self.pairs.append((a, b))
            self.region.add_input(Aval((), np.dtype(bool)))
            self.init.append(begins)
            self.results.append(ends)

    def _code(self, into: Any, x: Tracer, views: tuple[ViewOp, ...] = ()) -> Tracer:
        """The number of what `views` of `x`, of the region, is, for the key `into`."""
        views = (*chain(x), *views)
        for key, inner in self.inputs.items():
            if inner.buffer is x.buffer:
                self.is_known = self.is_known and not views
                self.taken[into].add(key)
                self.goes[key].add(into)
                return self.codes_in[key]
        entry = self._captured(x)
        if entry is not None:
            blank = [
                replace(view, indices=()) if self._moving(view) else view  # type: ignore[type-var]  # a `TakeView`
                for view in views
            ]
            return self._number(into, Alternative(entry.value, tuple(blank)))
        aliases = x.buffer.aliases
        if aliases is None:
            return self._number(into, Alternative(None, own=x.buffer))
        codes = [self._number(into, a) if a.root is None else self._code(into, a.root, (*a.views, *views))
                 for a in aliases.alternatives]  # fmt: skip
        if aliases.code is None:
            self.is_known = False
            return codes[0]
        return emit(REGISTRY["select_n"], aliases.code, *codes) if len(codes) > 1 else codes[0]

    # ---- integers of an iteration ----

    def _captured(self, x: Tracer) -> Any:
        return self.region.record.adopted_as(x.buffer)

    def _moving(self, view: ViewOp) -> tuple[Tracer, ...]:
        """The integers of an iteration that a view is taken at."""
        indices = getattr(view, "indices", ())
        return indices if any(index.buffer.trace is self.region.record for index in indices) else ()

    def _count(self, x: Tracer, views: tuple[ViewOp, ...] = ()) -> int:
        """How many such integers it takes to say what `views` of `x` is."""
        views = (*chain(x), *views)
        if self._captured(x) is not None:
            return sum(len(self._moving(view)) for view in views)
        alternatives = () if x.buffer.aliases is None else x.buffer.aliases.alternatives
        return max((self._count(a.root, (*a.views, *views)) for a in alternatives if a.root is not None), default=0)

    def _indices(self, x: Tracer, views: tuple[ViewOp, ...] = ()) -> list[Tracer]:
        """These integers, in order, and zeros after them."""
        views = (*chain(x), *views)
        for key, inner in self.inputs.items():
            if inner.buffer is x.buffer:
                return self.indices_in[key]
        found: list[Tracer] = []
        aliases = x.buffer.aliases
        if self._captured(x) is not None:
            for index in (index for view in views for index in self._moving(view)):
                strong = emit(REGISTRY["convert_element_type"], index, new_dtype=np.dtype(np.int64), weak_type=False)
                found.append(strong)
        elif aliases is not None and aliases.code is not None:
            none = [lift(np.int64(0)) for _ in range(self.n_indices)]
            sides = [
                none if a.root is None else self._indices(a.root, (*a.views, *views)) for a in aliases.alternatives
            ]
            if len(sides) == 1:
                return sides[0]
            return [emit(REGISTRY["select_n"], aliases.code, *column) for column in zip(*sides, strict=True)]
        return found + [lift(np.int64(0)) for _ in range(self.n_indices - len(found))]

    # ---- the numbers of alternatives ----

    def _number(self, into: Any, alternative: Alternative) -> Tracer:
        number = len(self.alternatives)
        self.alternatives.append(alternative)
        self.reached[into].add(number)
        return lift(CODE(number))

    def mark(self, outs: dict[Any, Tracer], codes: Sequence[Tracer]) -> None:
        """Note on the arrays after the loop what they may be."""
        n = len(codes) - len(self.pairs)
        for (a, b), same in zip(self.pairs, codes[n:], strict=True):
            for x, y in ((outs[a], outs[b]), (outs[b], outs[a])):
                x.buffer.perhaps = (*x.buffer.perhaps, (y, same))
        codes, indices = codes[: len(outs)], codes[len(outs) : n]
        made: dict[int, set[Any]] = {}  # of memory that an iteration makes: its names
        for key, numbers in self.reached.items():
            for own in {id(self.alternatives[i].own) for i in numbers}:
                made.setdefault(own, set()).add(key)
        twice = {own for own, keys in made.items() if self._have_two_names(keys)}
        self.alternatives = [replace(a, twice=id(a.own) in twice) for a in self.alternatives]
        for place, ((key, out), code) in enumerate(zip(outs.items(), codes, strict=True)):
            mine = indices[place * self.n_indices : (place + 1) * self.n_indices]
            keys, pending = {key}, [key]
            while pending:
                more = self.taken[pending.pop()] - keys
                keys |= more
                pending += more
            numbers = set[int]().union(*[self.reached[k] for k in keys])
            found = [_taken_at(a, mine) if i in numbers else Alternative(None) for i, a in enumerate(self.alternatives)]
            out.buffer.aliases = Aliases(code if self.is_known else None, tuple(found))

    def _have_two_names(self, names: set[Any]) -> bool:
        """Whether one array has several names after some iteration, if these may be its names after the one that has
        made it."""
        seen: set[frozenset[Any]] = set()
        while names and frozenset(names) not in seen:
            if len(names) > 1:
                return True
            seen.add(frozenset(names))
            names = set[Any]().union(*(self.goes[key] for key in names))
        return False


def _taken_at(alternative: Alternative, indices: Sequence[Tracer]) -> Alternative:
    """The alternative with its views at the integers of the iteration that took it."""
    views, rest = [], iter(indices)
    for view in alternative.views:
        if getattr(view, "indices", None) == ():
            view = replace(view, indices=tuple(next(rest) for _ in view.axes))  # type: ignore[attr-defined]  # a `TakeView`
        views.append(view)
    return replace(alternative, views=tuple(views))


def may_be(x: Tracer, buffer: Buffer) -> bool:
    """Whether an array may be the whole of `buffer`."""
    if x.parent is not None:
        return False
    if x.buffer is buffer:
        return True
    alternatives = () if x.buffer.aliases is None else x.buffer.aliases.alternatives
    return any(a.root is not None and not a.views and may_be(a.root, buffer) for a in alternatives)


def is_now(x: Tracer, buffer: Buffer) -> Tracer | None:
    """Whether an array is the whole of `buffer`, as a value of the program; None if nobody knows."""
    if not may_be(x, buffer):
        return lift(np.bool_(False))
    if x.buffer is buffer:
        return lift(np.bool_(True))
    aliases = x.buffer.aliases
    assert aliases is not None
    if aliases.code is None:
        return None
    no = lift(np.bool_(False))
    found = [no if a.root is None or a.views else is_now(a.root, buffer) for a in aliases.alternatives]
    if any(each is None for each in found):
        return None
    return emit(REGISTRY["select_n"], aliases.code, *found) if len(found) > 1 else found[0]


def one_of(value: Tracer, code: Tracer, options: Sequence[Tracer | None]) -> Tracer:
    """`value`, of which the traced number `code` tells which of `options` it is (None: an array of its own)."""
    found = [Alternative(None, own=value.buffer) if x is None else Alternative(root_of(x), chain(x)) for x in options]
    value.buffer.ambiguous = True
    value.buffer.aliases = Aliases(code, tuple(found))
    for x in options:
        if x is not None:
            x.buffer.ambiguous = True
    return value
