"""Bounds that a loop's variables keep: guessed from one turn, and proved by induction over all of them.

A variable that a turn sets anew, `x = (x + dx) % n`, `j -= gap` while `j >= gap`, `lo = middle + 1`, has bounds that no
single assignment tells. What bounds it at the end of a turn, at its begin, or in a comparison is taken for a bound; the
turn is gone through once more under this hypothesis, and what is not proved again at each of its ends is dropped (the
method of guess and check: S. German, B. Wegbreit, A synthesizer of inductive assertions, IEEE TSE 1, 1975).
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..syntax import walk
from .affine import Affine, Proof, Symbol, constant, of
from .syntax import bound, leaves

MOST_TRIALS = 120  # turns that are gone through to find bounds, in one function
MOST_ROUNDS = 4  # of one loop
MOST_BOUNDS = 4  # that are tried for one side of a variable


@dataclass(eq=False, slots=True)
class _Variable:
    """first: what it holds before the loop; low, high: the bounds that are tried."""

    name: str
    symbol: Symbol
    first: Affine
    was_known: bool
    low: list[Affine] = field(default_factory=list)
    high: list[Affine] = field(default_factory=list)

    def assume(self) -> None:
        """Let the symbol have the bounds, and the magnitude that follows."""
        symbol = self.symbol
        symbol.lower = [x for x in symbol.lower if x not in self.low] + self.low
        symbol.upper = [x for x in symbol.upper if x not in self.high] + self.high
        sizes = [min((x.magnitude for x in side if x.magnitude is not None), default=None)
                 for side in (symbol.lower, symbol.upper)]  # fmt: skip
        if not self.was_known:
            symbol.magnitude = None if None in sizes else max(sizes)  # type: ignore[type-var]  # no None
        symbol.sources = [self.first, *self.low, *self.high]

    def drop(self, side: list[Affine], bounds: list[Affine]) -> None:
        known = self.symbol.lower if side is self.low else self.symbol.upper
        for x in bounds:
            side.remove(x)
            if x in known:
                known.remove(x)


class Induction:
    """What a walker through a loop's text finds by going through turns. `state`: what it knows at one place, with
    `held` by variable and `facts`."""

    state: Any
    guards: list
    assumed: set[Symbol]
    arrays: dict
    sizes: dict
    rows: dict
    other_names: dict
    seen: set[str]
    changed: bool
    block: Callable[[list[ast.stmt]], list[ast.stmt]]
    prove: Callable[..., bool]
    held: Callable[[ast.expr], Any]

    def __init__(self) -> None:
        self.n_trials = MOST_TRIALS
        self.leaving: list[list[Any]] = [[]]  # states where a turn ends early, by loop

    def bound_by_induction(
        self, firsts: dict[str, Affine], body: list[ast.stmt], begin: Callable[[], None], n_before: int
    ) -> None:
        """Give variables that the loop changes bounds which all turns keep. firsts: what they hold before; begin: makes
        `state` that of a turn's begin; n_before: symbols of a lower order are the same in all turns. A variable of
        which nothing is found is not known."""
        held = self.state.held
        variables = []
        for name, first in firsts.items():
            known = held.get(name)
            symbol = known.terms[0][0] if isinstance(known, Affine) else Symbol()
            if not symbol.lower or not symbol.upper:
                variables.append(_Variable(name, symbol, first, known is not None))
                held[name] = of(symbol)
        if variables and self.n_trials > 0:
            self._find(variables, body, begin, n_before)
        for v in variables:
            if not v.was_known and not v.low and not v.high:
                held[v.name] = None

    def _find(self, variables: list[_Variable], body: list[ast.stmt], begin: Callable[[], None], n_before: int) -> None:
        compared = list(self._compared(body))
        ends = self._turn(body, begin)
        before = Proof(self.state.facts)
        for v in variables:
            known = [(end.held.get(v.name), end.facts) for end in ends]
            if any(not isinstance(x, Affine) for x, _ in known):
                continue  # which may be no integer any more
            for side, lower in ((v.low, True), (v.high, False)):
                if v.symbol.lower if lower else v.symbol.upper:
                    continue
                tested = [x for name, x, is_lower in compared if name == v.name and is_lower == lower]
                for x in itertools.chain(_candidates(v, known, lower), tested):
                    is_new = x not in side and all(s.order < n_before for s, _ in x.terms)
                    if is_new and len(side) < MOST_BOUNDS and _may_begin(before, v.first, x, lower):
                        side.append(x)
        for _ in range(MOST_ROUNDS):
            for v in variables:
                v.assume()
            if not any(v.low or v.high for v in variables):
                return
            ends = self._turn(body, begin)
            failed = False
            for v in variables:
                for side, lower in ((v.low, True), (v.high, False)):
                    wrong = [x for x in side if not all(_holds(end, v.name, x, lower) for end in ends)]
                    v.drop(side, wrong)
                    failed = failed or bool(wrong)
            if not failed:
                break
        else:
            ends = []
        if not ends or not self._asked(variables, ends):
            for v in variables:
                v.drop(v.low, list(v.low))
                v.drop(v.high, list(v.high))
                v.assume()

    def _compared(self, body: list[ast.stmt]) -> Iterator[tuple[str, Affine, bool]]:
        """What variables are compared with, one step further, and whether it is below them."""
        changed = set(bound(body))
        for node in (n for stmt in body for n in walk(stmt) if isinstance(n, ast.Compare)):
            sides = node.left, node.comparators[0]
            op = type(node.ops[0])
            for (name, other), is_left in ((sides, True), (sides[::-1], False)):
                if len(node.ops) > 1 or not isinstance(name, ast.Name) or op not in _LESS and op not in _GREATER:
                    continue
                if changed.isdisjoint(n.id for n in walk(other) if isinstance(n, ast.Name)):
                    x = self.held(other)
                    lower = (op in _GREATER) == is_left
                    if isinstance(x, Affine):
                        is_strict = op in (ast.Lt, ast.Gt)
                        yield name.id, x + (0 if is_strict else -1 if lower else 1), lower

    def _asked(self, variables: list[_Variable], ends: list[Any]) -> bool:
        """Note what the bounds ask of the parameters."""
        present, guards, assumed = self.state, self.guards, set(self.assumed)
        is_sure = True
        for v in variables:
            for side, lower in ((v.low, True), (v.high, False)):
                for x in side:
                    is_sure = is_sure and self.prove(_apart(v.first, x, lower))
                    for end in ends:
                        self.state = end
                        is_sure = is_sure and self.prove(_apart(end.held[v.name], x, lower))
                    self.state = present
        if not is_sure:
            self.guards, self.assumed = guards, assumed
        return is_sure

    def _turn(self, body: list[ast.stmt], begin: Callable[[], None]) -> list[Any]:
        """The states in which a turn may end, the loop's last one among them; all else stays as it is."""
        self.n_trials -= 1
        kept = self.state, self.guards, self.changed
        copies = {name: getattr(self, name).copy() for name in _CHANGING}
        self.state = self.state.copy()
        self.leaving.append([])
        begin()
        self.block(body)
        ends = [*self.leaving.pop(), *([] if leaves(body) else [self.state])]
        self.state, self.guards, self.changed = kept
        for name, value in copies.items():
            setattr(self, name, value)
        return ends


_LESS, _GREATER = (ast.Lt, ast.LtE), (ast.Gt, ast.GtE)
_CHANGING = ("assumed", "arrays", "sizes", "rows", "other_names", "seen")


def _candidates(v: _Variable, ends: list[tuple[Any, list[Affine]]], lower: bool) -> Iterator[Affine]:
    if lower:
        yield constant(0)
    yield v.first
    for x, facts in ends:
        if len(x.terms) == 1 and x.terms[0][1] == 1:
            symbol = x.terms[0][0]
            for bound in symbol.lower if lower else symbol.upper:
                yield bound + Affine((), x.constant)
            yield from symbol.either
        elif not x.terms:
            yield x
        for fact in facts:
            if fact.terms and fact.terms[-1][0] is v.symbol and (fact.terms[-1][1] > 0) == lower:
                bound = Affine(fact.terms[:-1], fact.constant).times(-1 / fact.terms[-1][1])
                yield bound + (-1 if lower else 1)  # one step further


def _apart(x: Affine, bound: Affine, lower: bool) -> Affine:
    return x - bound if lower else bound - x


def _holds(end: Any, name: str, bound: Affine, lower: bool) -> bool:
    x = end.held.get(name)
    if not isinstance(x, Affine):
        return False
    ways = Proof(end.facts).alternatives(_apart(x, bound, lower))
    return any(all(map(_is_likely, guards)) for guards in ways)


def _may_begin(before: Proof, first: Affine, bound: Affine, lower: bool) -> bool:
    """Whether a variable is likely to be within a bound before the loop."""
    apart = _apart(first, bound, lower)
    ways = before.alternatives(apart)
    if any(all(map(_is_likely, guards)) for guards in ways):
        return True
    # One parameter is below another one, as an index is below a length.
    return not lower and bool(ways) and [factor for _, factor in apart.terms] in ([1, -1], [-1, 1])


def _is_likely(guard: Affine) -> bool:
    """Whether what a loop asks of its parameters holds as a rule: that one of them is not below 0, or 1."""
    return len(guard.terms) == 1 and guard.terms[0][1] > 0 and -1 <= guard.constant <= 0


__all__ = ["Induction"]
