"""Functions of dictionaries and sets that translated loops call.

Keys and values are lists in the order in which they came, as Python keeps them (R. Hettinger, 2012: an index of places
beside dense entries). The index is a list of pairs of numbers, twice a power of two long: a place + 1, 0 where there is
none, or -1 where there was one, and the hash of the key there. What is taken out stays among the keys and values until
`compact` is called. Pairs are tried in the order of CPython's `Objects/dictobject.c`. Different
numbers have different hashes: a number is found by its hash alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.cpython.listobj import ListInstance
from numba.extending import intrinsic

from .linked import linked, linked_in
from .lists import shorten
from .numbers import bits_of

_ODD = 0x9E3779B97F4A7C15  # 2^64 / golden ratio (D. Knuth, The Art of Computer Programming 3, 6.4)
_SHIFT = 5
_FEWEST = 16  # pairs of an empty index
_MANY = 50_000  # pairs from which an index grows by two only


def _first(context: Any, builder: Any, kind: Any, items: Any) -> Any:
    """Where the first item of a list is."""
    return ListInstance(context, builder, kind, items)._gep(context.get_constant(types.intp, 0))


def _address_of(typing_context: Any, items: Any) -> Any:
    """`_address(items)`: of the first item, which nothing counts as a reference: what asks for it holds the list."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(_first(context, builder, signature.args[0], args[0]), ir.IntType(64))

    return types.int64(items), generate


def _load(typing_context: Any, address: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.gep(builder.inttoptr(args[0], ir.IntType(64).as_pointer()), [args[1]]))

    return types.int64(types.int64, types.int64), generate


def _store(typing_context: Any, address: Any, k: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], builder.gep(builder.inttoptr(args[0], ir.IntType(64).as_pointer()), [args[1]]))
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), generate


def _zeros(typing_context: Any, items: Any, n: Any) -> Any:
    """`_fill(items, n)`: makes a list of integers one of `n` zeros."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = signature.args[0]
        ListInstance(context, builder, kind, args[0]).resize(args[1])
        start = builder.bitcast(_first(context, builder, kind, args[0]), ir.IntType(8).as_pointer())
        cgutils.memset(builder, start, builder.mul(args[1], context.get_constant(types.intp, 8)), 0)
        return context.get_dummy_value()

    return types.none(items, types.intp), generate


_address: Any = intrinsic(_address_of)
_number_at: Any = intrinsic(_load)
_put_at: Any = intrinsic(_store)
_fill: Any = intrinsic(_zeros)


@linked(error_model="numpy", forceinline=True)
def no_index():
    return [np.int64(0)] * (2 * _FEWEST)


@linked(error_model="numpy", forceinline=True)
def _mixed(x):
    product = np.uint64(x) * np.uint64(_ODD)
    return np.int64(product ^ (product >> np.uint64(32)))


@linked(error_model="numpy", forceinline=True)
def hash_of_float(x):
    if x != x:
        raise ValueError  # a NaN is found again by which object it is
    return _mixed(bits_of(x + 0.0))  # the zeros are equal


@linked(error_model="numpy", forceinline=True)
def hash_of_both(a, b):
    return np.int64(np.uint64(_mixed(a)) * np.uint64(31) + np.uint64(b))


@linked(error_model="numpy", forceinline=True)
def place_of_number(hashed, index):
    """Where among the keys a number is; what is below 0 tells where in the index it would be noted."""
    start, last = _address(index), len(index) // 2 - 1
    at, rest = hashed & last, np.uint64(hashed)
    while True:
        place = _number_at(start, 2 * at)
        if place == 0:
            return -1 - at
        if _number_at(start, 2 * at + 1) == hashed and place > 0:
            return place - 1
        rest >>= np.uint64(_SHIFT)
        at = (5 * at + 1 + np.int64(rest)) & last


@linked(error_model="numpy", forceinline=True)
def place_of_tuple(key, hashed, keys, index):
    """The same of a tuple of numbers."""
    last = len(index) // 2 - 1
    at, rest = hashed & last, np.uint64(hashed)
    while True:
        place = index[2 * at]
        if place == 0:
            return -1 - at
        if place > 0 and index[2 * at + 1] == hashed and keys[place - 1] == key:
            return place - 1
        rest >>= np.uint64(_SHIFT)
        at = (5 * at + 1 + np.int64(rest)) & last


@linked(error_model="numpy")
def forget_number(hashed, index):
    """Take a number out of the index: the place that it had, or -1."""
    last = len(index) // 2 - 1
    at, rest = hashed & last, np.uint64(hashed)
    while True:
        place = index[2 * at]
        if place == 0:
            return -1
        if place > 0 and index[2 * at + 1] == hashed:
            index[2 * at] = -1
            return place - 1
        rest >>= np.uint64(_SHIFT)
        at = (5 * at + 1 + np.int64(rest)) & last


@linked(error_model="numpy")
def forget_tuple(key, hashed, keys, index):
    last = len(index) // 2 - 1
    at, rest = hashed & last, np.uint64(hashed)
    while True:
        place = index[2 * at]
        if place == 0:
            return -1
        if place > 0 and index[2 * at + 1] == hashed and keys[place - 1] == key:
            index[2 * at] = -1
            return place - 1
        rest >>= np.uint64(_SHIFT)
        at = (5 * at + 1 + np.int64(rest)) & last


@linked(error_model="numpy", forceinline=True)
def known(place):
    """The place of a key that there must be."""
    if place < 0:
        raise KeyError
    return place


@linked(error_model="numpy")
def _enter_again(place, hashed, start, last):
    at, rest = hashed & last, np.uint64(hashed)
    while _number_at(start, 2 * at):
        rest >>= np.uint64(_SHIFT)
        at = (5 * at + 1 + np.int64(rest)) & last
    _put_at(start, 2 * at, place)
    _put_at(start, 2 * at + 1, hashed)


@linked(error_model="numpy")
def _enlarge(index):
    n = len(index) // 2
    n_new = 4 * n if n < _MANY else 2 * n
    old = index[:]
    _fill(index, 2 * n_new)
    start = _address(index)
    for k in range(n):
        if old[2 * k] > 0:
            _enter_again(old[2 * k], old[2 * k + 1], start, n_new - 1)


@linked(error_model="numpy", forceinline=True)
def enter(slot, hashed, place, index):
    """Note a new key, which was looked for, and found to be missing, and its place, which is given back."""
    index[2 * (-1 - slot)] = place + 1
    index[2 * (-1 - slot) + 1] = hashed
    if 3 * (place + 2) > len(index):
        _enlarge(index)
    return place


@linked(error_model="numpy")
def _in_use(n, index):
    """Which of `n` places keys are at, with their hashes; empties the index."""
    used, hashes = [False] * n, [np.int64(0)] * n
    for k in range(0, len(index), 2):
        if index[k] > 0:
            used[index[k] - 1] = True
            hashes[index[k] - 1] = index[k + 1]
    _fill(index, len(index))
    return used, hashes


@linked(error_model="numpy")
def compact_keys(keys, index):
    """Of a set."""
    used, hashes = _in_use(len(keys), index)
    start, last = _address(index), len(index) // 2 - 1
    n = 0
    for k in range(len(used)):
        if used[k]:
            keys[n] = keys[k]
            n += 1
            _enter_again(n, hashes[k], start, last)
    shorten(keys, n)


@linked(error_model="numpy")
def compact(keys, values, index):
    """Leave out of the keys and values what was taken out of the index."""
    used, hashes = _in_use(len(keys), index)
    start, last = _address(index), len(index) // 2 - 1
    n = 0
    for k in range(len(used)):
        if used[k]:
            keys[n], values[n] = keys[k], values[k]
            n += 1
            _enter_again(n, hashes[k], start, last)
    shorten(keys, n)
    shorten(values, n)


@linked(error_model="numpy")
def clear_index(index):
    _fill(index, 2 * _FEWEST)


FUNCTIONS = linked_in(globals())
