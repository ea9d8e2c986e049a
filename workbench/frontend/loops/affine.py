"""Affine forms of a loop's integers, and proofs that one is not negative, by eliminating what is known latest first.

A symbol is an integer that does not change: a parameter, a length, a value that a variable holds in one iteration. What
bounds it mentions earlier symbols alone, so eliminating the latest one ends at symbols that exist before the loop: what
is left are conditions on these, which the loop's function checks once (M. Kolte, M. Wolfe, Elimination of redundant
array subscript range checks, PLDI 1995). Coefficients are rational, as `x // 2` is bounded by halves of `x`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

MOST_ALTERNATIVES = 6  # ways to prove one condition
MOST_STEPS = 400  # of one proof
MOST_WORDS = 2**62  # what conditions are computed with stays below
_order = itertools.count()


@dataclass(eq=False, slots=True)
class Symbol:
    """An integer. text: of one that is there before the loop; lower, upper: bounds, each of which holds; either: the
    values that it may have, if these are few; magnitude: a bound of what it is without its sign, None if it has none;
    least: a number that it is not below, of one with a text."""

    text: str = ""
    lower: list[Affine] = field(default_factory=list)
    upper: list[Affine] = field(default_factory=list)
    either: list[Affine] = field(default_factory=list)
    needs: list[Affine] = field(default_factory=list)  # not negative, or its bounds do not hold
    sources: list[Affine] = field(default_factory=list)  # that its magnitude comes from
    magnitude: int | None = None
    least: int | None = None
    order: int = field(default_factory=lambda: next(_order))


@dataclass(frozen=True, slots=True)
class Affine:
    """A sum of symbols with coefficients, and a constant."""

    terms: tuple[tuple[Symbol, Fraction], ...] = ()
    constant: Fraction = Fraction(0)

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.constant + other)
        sums = dict(self.terms)
        for symbol, factor in other.terms:
            sums[symbol] = sums.get(symbol, Fraction(0)) + factor
        terms = sorted(((s, f) for s, f in sums.items() if f), key=lambda term: term[0].order)
        return Affine(tuple(terms), self.constant + other.constant)

    def __neg__(self) -> Affine:
        return self.times(-1)

    def __sub__(self, other: Affine | int) -> Affine:
        return self + -other

    def times(self, factor: Fraction | int) -> Affine:
        factor = Fraction(factor)
        return Affine(tuple((s, f * factor) for s, f in self.terms) if factor else (), self.constant * factor)

    @property
    def number(self) -> int | None:
        """What it is, if that is written out."""
        return int(self.constant) if not self.terms else None

    @property
    def magnitude(self) -> int | None:
        """A bound of what it is without its sign."""
        total = abs(self.constant)
        for symbol, factor in self.terms:
            if symbol.magnitude is None:
                return None
            total += abs(factor) * symbol.magnitude
        return math.ceil(total)

    def without(self, symbol: Symbol, value: Affine) -> Affine:
        """With `value` in place of the symbol."""
        factor = dict(self.terms)[symbol]
        return Affine(tuple((s, f) for s, f in self.terms if s is not symbol), self.constant) + value.times(factor)


def constant(number: int) -> Affine:
    return Affine((), Fraction(number))


def of(symbol: Symbol) -> Affine:
    return Affine(((symbol, Fraction(1)),))


Guards = frozenset[Affine]  # all of which must be not negative
Facts = Sequence[Affine]  # which are not negative


@dataclass(slots=True)
class Proof:
    """`alternatives(x)`: ways to show that `x >= 0`, each as conditions on what is known before the loop; none where
    there is no way. facts: what holds beside the bounds of the symbols."""

    facts: Facts
    steps: int = 0

    def alternatives(self, x: Affine) -> list[Guards]:
        self.steps += 1
        if not x.terms:
            return [frozenset()] if x.constant >= 0 else []
        latest, factor = x.terms[-1]
        if latest.text and (_is_plain(x) or _is_hopeless(x)):
            return [frozenset()] if _is_plain(x) else []
        if self.steps > MOST_STEPS:
            return []
        found: list[Guards] = []
        if latest.either:
            found = _product([self.alternatives(x.without(latest, value)) for value in latest.either])
            if frozenset() in found:
                return [frozenset()]
        for bound in self._bounds(latest, factor > 0):
            ways = self.alternatives(x.without(latest, bound))
            if latest.needs and ways:
                ways = _product([ways, *(self.alternatives(n) for n in latest.needs)])
            if frozenset() in ways:
                return [frozenset()]
            found += [w for w in ways if w not in found]
        if latest.text:  # speculation, where nothing proves it
            return [frozenset((x,))] if _words(x) <= MOST_WORDS else []
        return found[:MOST_ALTERNATIVES]

    def _bounds(self, symbol: Symbol, lower: bool) -> Iterable[Affine]:
        for fact in self.facts:
            if fact.terms and fact.terms[-1][0] is symbol and (fact.terms[-1][1] > 0) == lower:
                factor = fact.terms[-1][1]  # factor * symbol + rest >= 0
                yield Affine(fact.terms[:-1], fact.constant).times(-1 / factor)
        yield from symbol.lower if lower else symbol.upper


def _is_plain(x: Affine) -> bool:
    """Whether it is not negative whatever the parameters are."""
    least = x.constant
    for symbol, factor in x.terms:
        if factor < 0 or symbol.least is None:
            return False
        least += factor * symbol.least
    return least >= 0


def _is_hopeless(x: Affine) -> bool:
    """Whether it is negative whatever the parameters are."""
    return _is_plain(-x - 1)


def _product(parts: list[list[Guards]]) -> list[Guards]:
    """The ways to show all of several conditions."""
    found: list[Guards] = [frozenset()]
    for ways in parts:
        found = [a | b for a in found for b in ways][:MOST_ALTERNATIVES]
    return found


def simplified(conditions: Iterable[list[Guards]]) -> list[list[Guards]]:
    """All of these conditions, each of which holds in any of its ways, without what others imply."""
    sure: dict[tuple, Affine] = {}
    rest: list[list[Guards]] = []
    for ways in conditions:
        kept: list[Guards] = []
        for way in ways:  # a way that asks for more than another one is no use
            if not any(_implies(way, other) for other in kept):
                kept = [other for other in kept if not _implies(other, way)] + [way]
        if len(kept) > 1:
            rest.append(kept)
            continue
        for x in kept[0]:
            known = sure.get(x.terms)
            if known is None or x.constant < known.constant:
                sure[x.terms] = x
    facts = frozenset(sure.values())
    made = [[frozenset((x,))] for x in sure.values()]
    for kept in rest:
        if kept not in made and not any(_implies(facts, way) for way in kept):
            made.append(kept)
    return made


def _implies(facts: Guards, others: Guards) -> bool:
    """Whether conditions say at least what others say, as far as that is seen without computing."""
    return all(any(x.terms == y.terms and x.constant <= y.constant for x in facts) for y in others)


def _scale(x: Affine) -> int:
    return math.lcm(*(f.denominator for _, f in x.terms), x.constant.denominator)


def _words(x: Affine) -> int:
    """A bound of what is computed to see that it is not negative."""
    return x.times(_scale(x)).magnitude or 0


def text_of(x: Affine) -> str:
    """`x >= 0` as text, in integers."""
    scale = _scale(x)
    left, right = [], []
    for symbol, factor in x.terms:
        whole = int(factor * scale)
        text = symbol.text if abs(whole) == 1 else f"{abs(whole)} * {symbol.text}"
        (left if whole > 0 else right).append(text)
    number = int(x.constant * scale)
    if number and (number < 0 or not left):
        (left if number > 0 else right).append(str(abs(number)))
    elif number:
        left.append(str(number))
    return f"{' + '.join(right) or '0'} <= {' + '.join(left) or '0'}"
