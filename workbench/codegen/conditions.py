"""Conditions of index maps: those that hold in every iteration, or in none, and choices that only choose a place.

What a slice of a padded, joined or partly replaced array reads is often all on one side. And what `np.roll` joins are
two slices of one array: there the index is chosen, not the value, which is read or computed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..primitives.index import Expr, const, loop_index, where
from .hazards import affine

_COMPARISONS = frozenset(("<", "<=", ">", ">=", "=="))


def settled(condition: Expr, lengths: Sequence[int], sizes: Mapping[str, int]) -> Expr | bool:
    """`condition` without the parts of it that are the same in all iterations. lengths: of the loops; sizes: the values
    of run-time sizes."""
    if condition.op in ("and", "or"):
        decisive = condition.op == "or"
        left, right = (settled(side, lengths, sizes) for side in condition.args)
        if left is decisive or right is decisive:
            return decisive
        if isinstance(left, bool):
            return right
        if isinstance(right, bool):
            return left
        return condition if (left, right) == condition.args else Expr(condition.op, (left, right))
    if condition.op == "const" and isinstance(condition.args[0], bool):
        return condition.args[0]
    if condition.op not in _COMPARISONS:
        return condition
    left, right = condition.args
    if left.loads() or right.loads():
        return condition
    difference = affine(Expr("-", (left, right)), sizes)
    if difference is None or difference.of_values() or any(n < 1 for n in lengths):
        return condition
    low, high = difference.bounds(lengths)
    match condition.op:
        case "<":
            holds, fails = high < 0, low >= 0
        case "<=":
            holds, fails = high <= 0, low > 0
        case ">":
            holds, fails = low > 0, high <= 0
        case ">=":
            holds, fails = low >= 0, high < 0
        case _:
            holds, fails = low == high == 0, low > 0 or high < 0
    return True if holds else False if fails else condition


def chosen(flag: str, axis: int, then: Expr, otherwise: Expr) -> Expr:
    """`then` where `flag`, which is constant while the loop over `axis` runs, holds, else `otherwise`: only what is
    added to the loop's index is chosen, so that the reads stay side by side."""
    a, b = (_offset(expr, axis) for expr in (then, otherwise))
    held = Expr("sym", (flag,))
    if a is None or b is None:
        return where(held, then, otherwise)
    return Expr("+", (loop_index(axis), Expr("where", (held, a, b))))


def _offset(expr: Expr, axis: int) -> Expr | None:
    """What `expr` adds to the loop index of `axis`; None where it is another expression."""
    if expr.is_axis and expr.axis == axis:
        return const(0)
    if expr.op not in ("+", "-") or axis not in expr.args[0].axes() or expr.args[1].axes():
        return None
    inner = _offset(expr.args[0], axis)
    if inner is None:
        return None
    return inner + expr.args[1] if expr.op == "+" else inner - expr.args[1]


def holds_in_the_middle(condition: Expr, lengths: Sequence[int], sizes: Mapping[str, int]) -> bool | None:
    """Whether `condition` holds half-way along all loops; None where that can't be known."""
    if condition.op in ("and", "or"):
        left, right = (holds_in_the_middle(side, lengths, sizes) for side in condition.args)
        if left is None or right is None:
            return None
        return left and right if condition.op == "and" else left or right
    if condition.op not in _COMPARISONS or condition.loads():
        return None
    difference = affine(Expr("-", condition.args), sizes)
    if difference is None or difference.of_values():
        return None
    value = difference.constant + sum(c * (lengths[axis] // 2) for axis, c in difference.of_axes().items())  # type: ignore[index]  # axes
    return {"<": value < 0, "<=": value <= 0, ">": value > 0, ">=": value >= 0, "==": value == 0}[condition.op]
