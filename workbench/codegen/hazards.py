"""Hazards: whether a kernel that writes into an array which it also reads would read what it has written.

Indices are brought to the form sum(coefficient * term) + constant, whose terms are loop indices and values that are
constant within a launch (a loaded start). Two indices of an axis can never meet if their ranges are apart, or their
remainders by the common divisor of the coefficients differ. And iterations keep to themselves if for each loop there is
an axis that both address by this loop's index alone, in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..primitives.index import Expr

Terms = dict[int | str, int]


@dataclass(frozen=True, slots=True)
class Affine:
    """terms: coefficients of loop axes (by number) and of values that are constant in a launch (by their text)."""

    terms: Terms
    constant: int

    def of_axes(self) -> Terms:
        return {term: c for term, c in self.terms.items() if isinstance(term, int)}

    def of_values(self) -> Terms:
        return {term: c for term, c in self.terms.items() if isinstance(term, str)}

    def bounds(self, lengths: Sequence[int]) -> tuple[int, int]:
        """The least and the largest value, apart from the constant values' part."""
        low = high = self.constant
        for axis, coefficient in self.of_axes().items():
            reach = coefficient * (lengths[axis] - 1)  # type: ignore[index]  # an axis
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high


def affine(expr: Expr, sizes: Mapping[str, int]) -> Affine | None:
    """`expr` in affine form, None where it has none. sizes: the known run-time sizes."""
    match expr.op:
        case "const":
            return Affine({}, int(expr.args[0]))
        case "sym" if expr.axis is not None:
            return Affine({expr.axis: 1}, 0)
        case "sym":
            name = expr.args[0]
            return Affine({}, sizes[name]) if name in sizes else Affine({name: 1}, 0)
        case "+" | "-":
            left, right = (affine(arg, sizes) for arg in expr.args)
            if left is None or right is None:
                return None
            sign = 1 if expr.op == "+" else -1
            terms = dict(left.terms)
            for term, coefficient in right.terms.items():
                terms[term] = terms.get(term, 0) + sign * coefficient
            return Affine({t: c for t, c in terms.items() if c}, left.constant + sign * right.constant)
        case "*":
            left, right = (affine(arg, sizes) for arg in expr.args)
            if left is None or right is None or (left.terms and right.terms):
                return None
            many, factor = (left, right.constant) if left.terms else (right, left.constant)
            return Affine({t: c * factor for t, c in many.terms.items() if factor}, many.constant * factor)
    return None if expr.axes() else Affine({str(expr): 1}, 0)


def never_meet(a: Affine, b: Affine, lengths: Sequence[int]) -> bool:
    """Whether no iteration's `a` is another one's (or its own) `b`."""
    if a.of_values() != b.of_values():
        return False
    (a_low, a_high), (b_low, b_high) = a.bounds(lengths), b.bounds(lengths)
    if a_high < b_low or b_high < a_low:
        return True
    divisor = math.gcd(*a.of_axes().values(), *b.of_axes().values())
    return divisor > 1 and (a.constant - b.constant) % divisor != 0


def is_hazard(
    write: Sequence[Expr], read: Sequence[Expr], lengths: Sequence[int], sizes: Mapping[str, int], *, in_step: bool
) -> bool:
    """Whether a read may see what another iteration has written. lengths: of the loops; in_step: each iteration reads
    all that it needs before it writes."""
    pairs = [(affine(w, sizes), affine(r, sizes)) for w, r in zip(write, read, strict=True)]
    if any(w and r and never_meet(w, r, lengths) for w, r in pairs):
        return False
    own = {
        next(iter(axes))
        for w, r in pairs
        if w and r and w == r and len(axes := w.of_axes()) == 1 and next(iter(axes.values()))
    }
    loops = {axis for axis, length in enumerate(lengths) if length != 1}
    return not (in_step and loops <= own)


def count_elements(indices: Sequence[Sequence[Expr]], lengths: Sequence[int], sizes: Mapping[str, int]) -> int | None:
    """About how many elements an array's reads touch: the box around them, at most as many as there are reads; None
    where the indices are not affine."""
    if not indices:
        return 0
    boxes, n_reads = [], 0
    for index in indices:
        forms = [affine(expr, sizes) for expr in index]
        if any(form is None or form.of_values() for form in forms):
            return None
        axes = {axis for form in forms if form for axis in form.of_axes()}
        n_reads += math.prod(lengths[axis] for axis in axes)  # type: ignore[index]  # axes
        boxes.append([form.bounds(lengths) for form in forms if form])
    box = math.prod(max(high for _, high in column) - min(low for low, _ in column) + 1
                    for column in zip(*boxes, strict=True))  # fmt: skip
    return min(box, n_reads)
