"""Simplification by ranges: which values integers can have, and what need not be computed or checked therefore.

A gather whose indices are known to be in range needs no check, so that kernels can contain it; and a remainder of a
number that is out of range by one period at most is a choice instead of a division. Ranges are intervals of Python's
integers, found from what made a value (Cousot and Cousot,
Static determination of dynamic properties of programs, 1976).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..ir import Atom, Equation, Literal, Var
from .rewrite import Rewriter

Range = tuple[int, int]
# How many equations deep a range is searched for: what made an index is a few operations, mostly.
_DEPTH = 24
# Equations whose results hold elements of their first operand, and nothing else.
_MOVES = {
    "broadcast_in_dim", "reshape", "squeeze", "transpose", "slice", "rev", "copy", "gather_nd", "gather_checked",
    "dynamic_slice",
}  # fmt: skip
_COMPARISONS = {"lt", "le", "gt", "ge"}


def range_of(rw: Rewriter, atom: Atom, depth: int = _DEPTH, given: Mapping[Atom, Range] | None = None) -> Range | None:
    """The least and the largest value that an integer or boolean `atom` can have; None for other dtypes.

    given: ranges of variables at the places where the question is asked."""
    dtype = atom.aval.dtype
    if dtype.kind not in "iub":
        return None
    if isinstance(atom, Literal):
        return int(atom.val), int(atom.val)
    if given and atom in given:
        return given[atom]
    if (known := rw.ranges.get(atom)) is not None:
        return known
    bounds = _bounds(dtype)
    eqn = rw.producer(atom)
    if eqn is None or depth == 0:
        return bounds
    found = _range_of_result(rw, eqn, depth - 1, given or {})
    # Integer arithmetic wraps.
    found = found if found is not None and bounds[0] <= found[0] and found[1] <= bounds[1] else bounds
    if not given and depth == _DEPTH:
        rw.ranges[atom] = found
    return found


def _bounds(dtype: np.dtype) -> Range:
    if dtype.kind == "b":
        return 0, 1
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _range_of_result(rw: Rewriter, eqn: Equation, depth: int, given: Mapping[Atom, Range]) -> Range | None:
    name = eqn.primitive.name

    def of(atom: Atom, given: Mapping[Atom, Range] = given) -> Range | None:
        return range_of(rw, atom, depth, given)

    if name in _MOVES:
        return of(eqn.invars[0], {})  # elements come from elsewhere: what holds here says nothing about them
    match name:
        case "iota":
            return 0, max(eqn.params["shape"][eqn.params["dimension"]] - 1, 0)
        case "concatenate":
            return _union([of(atom, {}) for atom in eqn.invars])
        case "argmax" | "argmin":
            return 0, eqn.invars[0].aval.shape[eqn.params["axes"][0]] - 1
        case "convert_element_type":
            return of(eqn.invars[0])
        case "select_n":
            return _of_choice(rw, eqn, depth, given)
        case "clamp":
            low, x, high = map(of, eqn.invars)
            return low and x and high and _min(_max(x, low), high)
    rule = _ARITHMETIC.get(name)
    if rule is None:
        return None
    operands = [of(atom) for atom in eqn.invars]
    return None if None in operands else rule(*operands)  # type: ignore[arg-type]  # none is None


def _of_choice(rw: Rewriter, eqn: Equation, depth: int, given: Mapping[Atom, Range]) -> Range | None:
    """Of `where(i < 0, i + n, i)`, too: in each case it is known how the comparison came out."""
    which, *cases = eqn.invars
    question = rw.producer(which)
    known: list[dict[Atom, Range]] = [{}, {}]
    if question is not None and question.primitive.name in _COMPARISONS and len(cases) == 2:
        x, limit = question.invars
        at, before = range_of(rw, limit, depth, given), range_of(rw, x, depth, given)
        if isinstance(x, Var) and x.aval.shape == eqn.outvars[0].aval.shape and at and before and at[0] == at[1]:
            n = at[0]
            below, above = {
                "lt": (n - 1, n), "le": (n, n + 1), "ge": (n - 1, n), "gt": (n, n + 1)
            }[question.primitive.name]  # fmt: skip
            low, high = (before[0], min(before[1], below)), (max(before[0], above), before[1])
            holds = question.primitive.name in ("lt", "le")
            known = [{x: high}, {x: low}] if holds else [{x: low}, {x: high}]
    found = []
    for case, more in zip(cases, known if len(cases) == 2 else [{} for _ in cases], strict=True):
        if any(low > high for low, high in more.values()):
            continue  # this case never happens
        found.append(range_of(rw, case, depth, {**given, **more}))
    return _union(found)


def _union(ranges: list[Range | None]) -> Range | None:
    if not ranges or None in ranges:
        return None
    return min(r[0] for r in ranges if r), max(r[1] for r in ranges if r)


def _max(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), max(a[1], b[1])


def _min(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), min(a[1], b[1])


def _product(a: Range, b: Range) -> Range:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _mod(x: Range, n: Range) -> Range | None:
    """NumPy's remainder has the sign of the divisor; by 0 it is 0."""
    if n[0] <= 0:
        return None
    return (x[0], min(x[1], n[1] - 1)) if 0 <= x[0] and x[1] < n[0] else (0, n[1] - 1)


def _floor_divide(x: Range, n: Range) -> Range | None:
    if n[0] != n[1] or n[0] <= 0:
        return None
    return x[0] // n[0], x[1] // n[0]


def _and(a: Range, b: Range) -> Range | None:
    least = [r[1] for r in (a, b) if r[0] >= 0]
    return (0, min(least)) if least else None


def _abs(x: Range) -> Range:
    return (0 if x[0] <= 0 <= x[1] else min(abs(x[0]), abs(x[1]))), max(abs(x[0]), abs(x[1]))


_ARITHMETIC: dict[str, Callable[..., Range | None]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _product,
    "neg": lambda a: (-a[1], -a[0]),
    "abs": _abs, "max": _max, "min": _min, "mod": _mod, "floor_divide": _floor_divide, "and": _and,
}  # fmt: skip


# ---- what follows from ranges ----


def _gather_checked(rw: Rewriter, eqn: Equation) -> Atom | None:
    x, *indices = eqn.invars
    for axis, index in zip(eqn.params["axes"], indices, strict=True):
        found, n = range_of(rw, index), x.aval.shape[axis]
        if found is None or not (n and -n <= found[0] and found[1] < n):
            return None
    return rw.emit(eqn, "gather_nd", *eqn.invars, **eqn.params, mode="promise")


def _remainder(rw: Rewriter, eqn: Equation) -> Atom | None:
    """`(i + 1) % n`, `(i - 1) % n` of an i in 0..n-1; `i % 8` of any i."""
    x, divisor = eqn.invars
    if not isinstance(divisor, Literal) or not isinstance(x, Var) or x.aval.shape != eqn.outvars[0].aval.shape:
        return None
    found = range_of(rw, x)
    if found is None:
        return None
    n = int(divisor.val)
    if n <= 0:
        return None
    if 0 <= found[0] and found[1] < n:
        return x
    if 0 <= found[0] and found[1] < 2 * n:
        which, moved = ("lt", "sub")
    elif -n <= found[0] and found[1] < n:
        which, moved = ("ge", "add")
    elif n & (n - 1) == 0:  # NumPy's remainder of a negative number counts from below, as two's complement does
        return rw.emit(eqn, "and", x, Literal(x.aval.dtype.type(n - 1), divisor.aval))
    else:
        return None
    limit = divisor if which == "lt" else Literal(x.aval.dtype.type(0), divisor.aval)
    stays = rw.emit(eqn, which, x, limit)
    result = rw.emit(eqn, "select_n", stays, rw.emit(eqn, moved, x, divisor), x)
    if isinstance(result, Var):
        rw.ranges[result] = (0, n - 1)
    return result


RANGE_RULES = {"gather_checked": _gather_checked, "mod": _remainder}
