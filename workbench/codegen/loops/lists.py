"""Functions of lists that translated loops call: queues, heaps, and which lists are one object.

The lists are numba's own, which share and raise as Python's do.
"""

from __future__ import annotations

import heapq
import math
import sys

from .elements import wrapped
from .linked import linked, linked_in
from .numbers import checked_add
from .routines import stable_order

COMPENSATES = sys.version_info >= (3, 12)
KEPT = 4096  # elements that a queue has given away, and that may still be in memory


@linked(error_model="numpy", forceinline=True)
def no_items(example):
    """An empty list, of what `example` is."""
    made = [example]
    made.pop()
    return made


@linked(error_model="numpy", forceinline=True)
def shorten(items, n):
    """Leave the first `n` items. numba's own `del items[n:]`, `pop(i)` and `clear()` leave behind the last item what
    the next `append` takes for an item that it replaces, whose memory it then gives back once more."""
    while len(items) > n:
        items.pop()


@linked(error_model="numpy")
def emptied(items):
    shorten(items, 0)


@linked(error_model="numpy")
def taken_out(items, i):
    """`items.pop(i)` of items that have memory."""
    i = wrapped(i, len(items))
    found = items[i]
    for k in range(i, len(items) - 1):
        items[k] = items[k + 1]
    items.pop()
    return found


@linked(error_model="numpy", forceinline=True)
def place_in_queue(i, first, n):
    """Where the item `i` of a queue is in its list, of `n` items, that begins at `first`."""
    if i < 0:
        i += n - first
    if i < 0 or i >= n - first:
        raise IndexError
    return first + i


@linked(error_model="numpy", forceinline=True)
def place_to_insert(i, n):
    if i < 0:
        i += n
    return min(max(i, 0), n)


@linked(error_model="numpy", forceinline=True)
def without_first(items, first):
    """The first place of a queue once those before `first` are no longer needed."""
    if first >= KEPT and 2 * first >= len(items):
        for k in range(first, len(items)):
            items[k - first] = items[k]
        shorten(items, len(items) - first)
        return 0
    return first


@linked(error_model="numpy")
def is_same_list(a, b, example):
    """Whether two lists are one object."""
    if len(a) != len(b):
        return False
    a.append(example)
    same = len(a) == len(b)
    a.pop()
    return same


@linked(error_model="numpy")
def unlike(a, lists, example):
    """Raises if a list is one of those in another one."""
    for each in lists:
        if is_same_list(a, each, example):
            raise RuntimeError


@linked(error_model="numpy")
def place_in(a, lists, example):
    """Where in another list a list is, or -1."""
    for k in range(len(lists)):
        if is_same_list(a, lists[k], example):
            return k
    return -1


@linked(error_model="numpy")
def all_unlike(lists, example):
    """Raises if a list is in another one twice."""
    lengths = [len(each) for each in lists]
    for each in lists:
        each.append(example)
    twice = False
    for k in range(len(lists)):
        twice |= len(lists[k]) != lengths[k] + 1
    for each in lists:
        each.pop()
    if twice:
        raise RuntimeError


@linked(error_model="numpy")
def joined_lists(a, b):
    made = a[:]
    for each in b:
        made.append(each)
    return made


@linked(error_model="numpy")
def all_of_length(lists, n):
    """Raises unless the lists in another one have one length."""
    for each in lists:
        if len(each) != n:
            raise ValueError


@linked(error_model="numpy")
def is_among(x, items):
    if x != x:  # a NaN is among them if it is one of the objects
        raise ValueError
    for each in items:  # noqa: SIM110  # numba has no any()
        if each == x:
            return True
    return False


@linked(error_model="numpy")
def place_among(x, items):
    """`items.index(x)`."""
    if x != x:
        raise ValueError
    for k in range(len(items)):
        if items[k] == x:
            return k
    raise ValueError


@linked(error_model="numpy")
def count_among(x, items):
    if x != x:
        raise ValueError
    n = 0
    for each in items:
        if each == x:
            n += 1
    return n


@linked(error_model="numpy")
def first_at_least(items, x, low, high):
    """`bisect.bisect_left`."""
    while low < high:
        middle = (low + high) // 2
        if items[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@linked(error_model="numpy")
def first_above(items, x, low, high):
    """`bisect.bisect_right`."""
    while low < high:
        middle = (low + high) // 2
        if x < items[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@linked(error_model="numpy")
def sum_of_list(items, are_pythons):
    """`sum` of floats: one after the other, and from Python 3.12 on compensated if they are Python's (A. Neumaier, ZAMM
    54, 39-51, 1974)."""
    if len(items) == 0:
        raise ValueError  # an int of Python's
    total, lost = 0.0, 0.0
    for each in items:
        new = total + each
        if COMPENSATES and are_pythons:
            lost += (total - new) + each if abs(total) >= abs(each) else (each - new) + total
        total = new
    return total + lost if math.isfinite(lost) else total


@linked(error_model="numpy")
def sum_of_wholes(items):
    """`sum` of Python's ints."""
    total = 0
    for each in items:
        total = checked_add(total, each)
    return total


@linked(error_model="numpy")
def sorted_items(items):
    """`sorted` of what holds no NaN."""
    for each in items:
        if each != each:
            raise ValueError
    return [items[k] for k in stable_order(items)]


@linked(error_model="numpy")
def sorted_by(items, keys, from_most):
    """`sorted` by keys that hold no NaN: of those that are alike, the first one comes first."""
    for each in keys:
        if each != each:
            raise ValueError
    n = len(keys)
    if not from_most:
        return [items[k] for k in stable_order(keys)]
    order = stable_order(keys[::-1])
    return [items[n - 1 - order[n - 1 - k]] for k in range(n)]


@linked(error_model="numpy")
def sort_items(items):
    made = sorted_items(items)
    for k in range(len(items)):
        items[k] = made[k]


@linked(error_model="numpy", forceinline=True)
def item_or(items, place, other):
    return items[place] if place >= 0 else other


@linked(error_model="numpy")
def least_of_list(items):
    if len(items) == 0:
        raise ValueError
    least = items[0]
    for each in items:
        if each < least:
            least = each
    return least


@linked(error_model="numpy")
def most_of_list(items):
    if len(items) == 0:
        raise ValueError
    most = items[0]
    for each in items:
        if each > most:
            most = each
    return most


@linked(error_model="numpy")
def least_of_tuples(items):
    """`min` of tuples. With a NaN in them it depends on which of them are one object."""
    for each in items:
        if each != each:
            raise ValueError
    return least_of_list(items)


@linked(error_model="numpy")
def most_of_tuples(items):
    for each in items:
        if each != each:
            raise ValueError
    return most_of_list(items)


@linked(error_model="numpy")
def heappush(heap, item):
    heapq.heappush(heap, item)


@linked(error_model="numpy")
def heappop(heap):
    return heapq.heappop(heap)


FUNCTIONS = linked_in(globals())
