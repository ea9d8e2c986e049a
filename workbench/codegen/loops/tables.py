"""Functions of dictionaries and sets that translated loops call.

Keys and values are lists in the order in which they came, as Python keeps them (R. Hettinger, 2012: an index of places
beside dense entries). The index is a list of pairs of numbers, twice a power of two long: a place + 1, or 0 where there
is none, and the hash of the key there. What is not there is looked for at the next pair.
"""

from __future__ import annotations

import numpy as np

from .linked import linked, linked_in
from .numbers import bits_of

_ODD = 0x9E3779B97F4A7C15  # 2^64 / golden ratio (D. Knuth, The Art of Computer Programming 3, 6.4)
_FEWEST = 8  # pairs of an empty index


@linked(error_model="numpy", forceinline=True)
def no_index():
    return [np.int64(0)] * (2 * _FEWEST)


@linked(error_model="numpy", forceinline=True)
def hash_of_whole(x):
    mixed = np.uint64(x) * np.uint64(_ODD)
    return np.int64(mixed ^ (mixed >> np.uint64(32)))


@linked(error_model="numpy", forceinline=True)
def hash_of_float(x):
    if x != x:
        raise ValueError  # a NaN is found again by which object it is
    return hash_of_whole(bits_of(x + 0.0))  # the zeros are equal


@linked(error_model="numpy", forceinline=True)
def hash_of_both(a, b):
    return hash_of_whole(np.int64(np.uint64(a) * np.uint64(31) + np.uint64(b)))


@linked(error_model="numpy", forceinline=True)
def place_of_key(key, hashed, keys, index):
    """Where in the keys one is, or -1."""
    n = len(index)
    at = (2 * hashed) & (n - 1)
    while True:
        place = index[at] - 1
        if place < 0:
            return -1
        if index[at + 1] == hashed and keys[place] == key:
            return place
        at = (at + 2) & (n - 1)


@linked(error_model="numpy", forceinline=True)
def known_place(key, hashed, keys, index):
    place = place_of_key(key, hashed, keys, index)
    if place < 0:
        raise KeyError
    return place


@linked(error_model="numpy")
def enlarge_index(index):
    """Twice as many pairs."""
    n = len(index)
    old = index[:]
    for k in range(n):
        index[k] = 0
    for _ in range(n):
        index.append(0)
    for k in range(0, n, 2):
        if old[k]:
            at = (2 * old[k + 1]) & (2 * n - 1)
            while index[at]:
                at = (at + 2) & (2 * n - 1)
            index[at], index[at + 1] = old[k], old[k + 1]


@linked(error_model="numpy", forceinline=True)
def place_for_key(key, hashed, keys, index):
    """Where in the keys one is, which is appended if it is new."""
    n = len(index)
    at = (2 * hashed) & (n - 1)
    while True:
        place = index[at] - 1
        if place < 0:
            keys.append(key)
            place = len(keys) - 1
            index[at], index[at + 1] = place + 1, hashed
            if 3 * place > n:  # of n / 2 pairs
                enlarge_index(index)
            return place
        if index[at + 1] == hashed and keys[place] == key:
            return place
        at = (at + 2) & (n - 1)


@linked(error_model="numpy")
def enter(place, hashed, index):
    """Note a key that is surely new."""
    n = len(index)
    at = (2 * hashed) & (n - 1)
    while index[at]:
        at = (at + 2) & (n - 1)
    index[at], index[at + 1] = place + 1, hashed
    if 3 * place > n:
        enlarge_index(index)


@linked(error_model="numpy")
def clear_index(index):
    for k in range(len(index)):
        index[k] = 0


FUNCTIONS = linked_in(globals())
