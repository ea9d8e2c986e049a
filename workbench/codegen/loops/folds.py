"""Folds of one-dimensional arrays in translated loops. Sums are at least as accurate as NumPy's, which are pairwise.

Rows that lie in order are folded in vectors; of other elements, which LLVM reads one by one, four results side by side
where one would wait for itself. zero: of the result's dtype.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .elements import at_1, lent, loose, unit_1
from .linked import linked, linked_in
from .numbers import lost
from .products import dot

_BLOCK = 128  # elements that are folded plainly
_FEW = 16  # elements that vectors do not pay for


def _extreme(name: str, sign: str) -> Any:
    """The larger or smaller one of two numbers, of zeros either; no number if either is none. It vectorises."""

    def typed(typing_context: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            if isinstance(a, types.Float):
                kind = arguments[0].type
                called = builder.module.declare_intrinsic(f"llvm.{name}", [kind], ir.FunctionType(kind, [kind, kind]))
                return builder.call(called, arguments, fastmath=("nsz",))
            compare = builder.icmp_signed if getattr(a, "signed", False) else builder.icmp_unsigned
            return builder.select(compare(sign, *arguments), *arguments)

        return (a(a, b), generate) if a == b else None

    return intrinsic(typed)


_maximum, _minimum = _extreme("maximum", ">"), _extreme("minimum", "<")


# ---- sums ----


@linked(error_model="numpy", fastmath={"reassoc"})
def _block_sum(a, start, stop, zero):
    total = zero
    for i in range(start, stop):
        total += unit_1(a, i)
    return total


@linked(error_model="numpy")
def _block_sum_apart(a, start, stop, zero):
    t0 = t1 = t2 = t3 = zero
    whole = start + (stop - start) // 4 * 4
    for i in range(start, whole, 4):
        t0 += at_1(a, i)
        t1 += at_1(a, i + 1)
        t2 += at_1(a, i + 2)
        t3 += at_1(a, i + 3)
    for i in range(whole, stop):
        t0 += at_1(a, i)
    return (t0 + t1) + (t2 + t3)


@linked(error_model="numpy")
def _sum_of_blocks(a, zero):
    # Their sums are added with what rounding loses. No recursion: numba's disk cache does not bear it.
    total, low = zero, zero
    in_order = a.strides[0] == a.itemsize
    for start in range(0, a.size, _BLOCK):
        stop = min(start + _BLOCK, a.size)
        x = _block_sum(a, start, stop, zero) if in_order else _block_sum_apart(a, start, stop, zero)
        new = total + x
        low += lost(total, x, new)
        total = new
    return total + low if low == low else total


@linked(error_model="numpy")
def _sum(a, zero):
    if a.size > _BLOCK:
        return _sum_of_blocks(a, zero)
    if a.strides[0] == a.itemsize:
        return _block_sum(a, 0, a.size, zero)
    return _block_sum_apart(a, 0, a.size, zero)


@linked(error_model="numpy", forceinline=True)
def array_sum(a, zero):
    return _sum(lent(a), zero)


@linked(error_model="numpy", forceinline=True)
def array_mean(a, zero):
    return _sum(lent(a), zero) / a.size


@linked(error_model="numpy", fastmath={"reassoc"})
def _block_squares(a, start, stop, mean, zero):
    total = zero
    for i in range(start, stop):
        total += (unit_1(a, i) - mean) * (unit_1(a, i) - mean)
    return total


@linked(error_model="numpy", fastmath={"reassoc"})
def _block_squares_apart(a, start, stop, mean, zero):
    total = zero
    for i in range(start, stop):
        total += (at_1(a, i) - mean) * (at_1(a, i) - mean)
    return total


@linked(error_model="numpy")
def _variance(a, zero):
    mean = _sum(a, zero) / a.size
    in_order = a.strides[0] == a.itemsize
    total, low = zero, zero
    for start in range(0, a.size, _BLOCK):
        stop = min(start + _BLOCK, a.size)
        if in_order:
            x = _block_squares(a, start, stop, mean, zero)
        else:
            x = _block_squares_apart(a, start, stop, mean, zero)
        new = total + x
        low += lost(total, x, new)
        total = new
    return (total + low if low == low else total) / a.size


@linked(error_model="numpy")
def array_var(a, zero):
    return _variance(lent(a), zero)


@linked(error_model="numpy")
def array_std(a, zero):
    return math.sqrt(_variance(lent(a), zero))


@linked(error_model="numpy", forceinline=True)
def array_norm(a, zero):
    return math.sqrt(dot(a, a))


@linked(error_model="numpy")
def array_prod(a, zero):
    # One by one, so that it reaches infinity or zero where NumPy's does.
    product = zero + 1
    for x in lent(a):
        product *= x
    return product


# ---- extremes: the first of equal ones, and the first that is no number before all others ----


@linked(error_model="numpy")
def _most(a, start, stop):
    best = at_1(a, start)
    if a.strides[0] == a.itemsize:
        for i in range(start, stop):
            best = _maximum(best, unit_1(a, i))
        return best
    for i in range(start, stop):
        x = at_1(a, i)
        if x != x:
            return x
        if x > best:
            best = x
    return best


@linked(error_model="numpy")
def _least(a, start, stop):
    best = at_1(a, start)
    if a.strides[0] == a.itemsize:
        for i in range(start, stop):
            best = _minimum(best, unit_1(a, i))
        return best
    for i in range(start, stop):
        x = at_1(a, i)
        if x != x:
            return x
        if x < best:
            best = x
    return best


@linked(error_model="numpy")
def _first_of(a, best, start):
    """Where, from `start` on, the first element is that equals `best`, or is no number if that is none."""
    i = start
    if best == best:
        while at_1(a, i) != best:
            i += 1
    else:
        while at_1(a, i) == at_1(a, i):
            i += 1
    return i


@linked(error_model="numpy")
def _position_of_most(a):
    best, place = at_1(a, 0), 0
    if a.size <= _FEW:
        for i in range(a.size):
            x = at_1(a, i)
            if x != x:
                return i
            if x > best:
                best, place = x, i
        return place
    for start in range(0, a.size, _BLOCK):
        x = _most(a, start, min(start + _BLOCK, a.size))
        if x > best or x != x:
            best, place = x, start
            if x != x:
                break
    return _first_of(a, best, place)


@linked(error_model="numpy")
def _position_of_least(a):
    best, place = at_1(a, 0), 0
    if a.size <= _FEW:
        for i in range(a.size):
            x = at_1(a, i)
            if x != x:
                return i
            if x < best:
                best, place = x, i
        return place
    for start in range(0, a.size, _BLOCK):
        x = _least(a, start, min(start + _BLOCK, a.size))
        if x < best or x != x:
            best, place = x, start
            if x != x:
                break
    return _first_of(a, best, place)


@linked(error_model="numpy", forceinline=True)
def array_argmax(a, zero):
    if a.size == 0:
        raise ValueError
    return _position_of_most(lent(a))


@linked(error_model="numpy", forceinline=True)
def array_argmin(a, zero):
    if a.size == 0:
        raise ValueError
    return _position_of_least(lent(a))


@linked(error_model="numpy", forceinline=True)
def array_max(a, zero):
    if a.size == 0:
        raise ValueError
    return _most(lent(a), 0, a.size)


@linked(error_model="numpy", forceinline=True)
def array_min(a, zero):
    if a.size == 0:
        raise ValueError
    return _least(lent(a), 0, a.size)


@linked(error_model="numpy")
def least_of(a):
    """The least of some integers, 0 without any."""
    flat = a.ravel()
    return _least(loose(flat), 0, flat.size) if flat.size else a.dtype.type(0)


@linked(error_model="numpy")
def most_of(a):
    flat = a.ravel()
    return _most(loose(flat), 0, flat.size) if flat.size else a.dtype.type(0)


@linked(error_model="numpy")
def ends_of(a):
    """Both of them."""
    return least_of(a), most_of(a)


# ---- tests ----


@linked(error_model="numpy")
def _any_between(a, start, stop):
    found = False
    if a.strides[0] == a.itemsize:
        for i in range(start, stop):
            found |= unit_1(a, i) != 0
        return found
    for i in range(start, stop):
        if at_1(a, i) != 0:
            return True
    return False


@linked(error_model="numpy")
def _all_between(a, start, stop):
    found = True
    if a.strides[0] == a.itemsize:
        for i in range(start, stop):
            found &= unit_1(a, i) != 0
        return found
    for i in range(start, stop):
        if at_1(a, i) == 0:
            return False
    return True


@linked(error_model="numpy")
def _any(a):
    for start in range(0, a.size, _BLOCK):
        if _any_between(a, start, min(start + _BLOCK, a.size)):
            return True
    return False


@linked(error_model="numpy")
def _all(a):
    for start in range(0, a.size, _BLOCK):
        if not _all_between(a, start, min(start + _BLOCK, a.size)):
            return False
    return True


@linked(error_model="numpy", forceinline=True)
def array_any(a, zero):
    return _any(lent(a))


@linked(error_model="numpy", forceinline=True)
def array_all(a, zero):
    return _all(lent(a))


@linked(error_model="numpy")
def how_many(mask):
    flat, n = mask.ravel(), 0
    for i in range(flat.size):
        n += unit_1(flat, i) != 0
    return n


FUNCTIONS = linked_in(globals())
