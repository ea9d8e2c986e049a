"""Which memory an array has that a traced branch or loop chose: told outside by a number that the program computes.

`y = x if c else x + 1` is one equation, whose result has memory of its own. NumPy's `y` is `x` itself on one path, and
a caller who gets `y` back may rely on it. So each path also gives the position of what it takes in a list of
alternatives; where the array is returned, that number picks the object (`outputs.OutLeaf`). Nobody else reads it, so
that it costs nothing where the array is not returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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
    """One array that a value may be: the view `views` of `root`, or one in the memory `own`, made on that path."""

    root: Tracer | None
    views: tuple[ViewOp, ...] = ()
    own: Any = None


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


def own_memory(buffer: Buffer) -> Iterator[Any]:
    """The memory, made on one path, that an array over `buffer` may have."""
    return (
        alternative.own
        for alternative in _alternatives(buffer)
        if alternative.root is None and alternative.own is not None
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

    def mark(self, outs: Sequence[Tracer]) -> None:
        """Note on the results of the branch what they may be: nothing may be written there from here on."""
        buffer = outs[self.k].buffer
        code = None if self.column is None else outs[self.column]
        buffer.ambiguous = True
        buffer.aliases = Aliases(code, tuple(a for _, alternatives in self.sides for a in alternatives))
        for root in self.roots:
            root.buffer.ambiguous = True


def _shifted(number: int | Tracer | None, k: int) -> Tracer:
    return lift(CODE(number + k)) if isinstance(number, int) else number + CODE(k)  # type: ignore[operator, return-value]


def mark_branch(found: Sequence[BranchAliases], outs: Sequence[Tracer]) -> None:
    for aliases in _ambiguous(found):
        aliases.mark(outs)


def add_codes(found: Sequence[BranchAliases], columns: Sequence[list[Tracer]]) -> None:
    """Have the branches give the numbers of the arrays that they choose, as further results."""
    for aliases in _ambiguous(found):
        if aliases.roots and aliases.is_known:
            aliases.column = len(columns[0])
            for column, code in zip(columns, aliases.codes(), strict=True):
                column.append(code)


def _ambiguous(found: Sequence[BranchAliases]) -> list[BranchAliases]:
    """Those that may be an array from outside, or have the memory of another result."""
    count: dict[int, int] = {}
    for aliases in found:
        for own in {id(a.own) for _, alternatives in aliases.sides for a in alternatives if a.own is not None}:
            count[own] = count.get(own, 0) + 1
    return [
        aliases for aliases in found
        if aliases.roots or any(count.get(id(a.own), 0) > 1 for _, alternatives in aliases.sides for a in alternatives)
    ]  # fmt: skip


class LoopAliases:
    """What the arrays that a loop carries may be after it: the loop also carries the number of each.

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
        self.results = [region.run(lambda k=key, x=x: self._code(k, x)) for key, x in final.items()]

    def _code(self, into: Any, x: Tracer, views: tuple[ViewOp, ...] = ()) -> Tracer:
        """The number of what `views` of `x`, of the region, is, for the key `into`."""
        views = (*chain(x), *views)
        for key, inner in self.inputs.items():
            if inner.buffer is x.buffer:
                self.is_known = self.is_known and not views
                self.taken[into].add(key)
                return self.codes_in[key]
        for entry in self.region.captured:
            if entry.tracer is not None and entry.tracer.buffer is x.buffer:
                return self._number(into, Alternative(entry.value, views))
        aliases = x.buffer.aliases
        if aliases is None:
            return self._number(into, Alternative(None, own=x.buffer))
        codes = [self._number(into, a) if a.root is None else self._code(into, a.root, (*a.views, *views))
                 for a in aliases.alternatives]  # fmt: skip
        if aliases.code is None:
            self.is_known = False
            return codes[0]
        return emit(REGISTRY["select_n"], aliases.code, *codes) if len(codes) > 1 else codes[0]

    def _number(self, into: Any, alternative: Alternative) -> Tracer:
        number = len(self.alternatives)
        self.alternatives.append(alternative)
        self.reached[into].add(number)
        return lift(CODE(number))

    def mark(self, outs: dict[Any, Tracer], codes: Sequence[Tracer]) -> None:
        """Note on the arrays after the loop what they may be."""
        for (key, out), code in zip(outs.items(), codes, strict=True):
            keys, pending = {key}, [key]
            while pending:
                more = self.taken[pending.pop()] - keys
                keys |= more
                pending += more
            numbers = set[int]().union(*[self.reached[k] for k in keys])
            found = [a if i in numbers else Alternative(None) for i, a in enumerate(self.alternatives)]
            out.buffer.aliases = Aliases(code if self.is_known else None, tuple(found))


def one_of(value: Tracer, code: Tracer, options: Sequence[Tracer | None]) -> Tracer:
    """`value`, of which the traced number `code` tells which of `options` it is (None: an array of its own)."""
    found = [Alternative(None, own=value.buffer) if x is None else Alternative(root_of(x), chain(x)) for x in options]
    value.buffer.ambiguous = True
    value.buffer.aliases = Aliases(code, tuple(found))
    for x in options:
        if x is not None:
            x.buffer.ambiguous = True
    return value
