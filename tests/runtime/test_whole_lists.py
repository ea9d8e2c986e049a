"""Functions that run whole, with queues, lists that begin as None, tuples of which items may be None, and the order of
tuples: against plain Python, and Python's where the text cannot say what Python would."""

from __future__ import annotations

import collections
from collections import deque

import numpy as np
import pytest

import workbench as wb
from workbench.runtime.parts.whole_functions import WholeFunction

from .test_random_sources import assert_same
from .test_whole_functions import check_whole, copies

# ---- queues ----


def mean_of_the_last(x, n):
    last, means = deque(maxlen=n), []
    for v in x:
        last.append(v)
        if len(last) == n:
            means.append(sum(last) / n)
    return means, len(last), last[0], last[-1]


def pairs_of_the_last(x, n):
    last = collections.deque(maxlen=n)
    for v in x:
        last.append((v, 2 * v))
    return last[0][1], len(last)


def queues_of_what_there_is(x):
    few = deque([1, 2, 3], maxlen=2)
    more = deque(list(range(5)), 3)
    firsts = [v for v in few]
    total = 0
    for v in more:
        total += v
    more.extend([7, 8])
    return firsts, total, max(more), list(more), np.array(more).sum(), np.mean(more)


def emptied(x, n):
    left = deque(x, maxlen=n)
    left.append(1.0)
    total = 0.0
    while left:
        total = 2 * total + left.popleft()
    return total


def in_topological_order(n, a, b):
    following = [[] for _ in range(n)]
    n_before = [0] * n
    for i, j in zip(a.tolist(), b.tolist(), strict=True):
        following[i].append(j)
        n_before[j] += 1
    queue = deque(i for i in range(n) if n_before[i] == 0)
    order = []
    while queue:
        i = queue.popleft()
        order.append(i)
        for j in following[i]:
            n_before[j] -= 1
            if n_before[j] == 0:
                queue.append(j)
    return order


# ---- lists ----


def smoothed(x, n):
    found = [None] * n
    found[-1] = x
    for k in range(n - 2, -1, -1):
        found[k] = found[k + 1] * 0.5 + k
    return np.array(found)


def every_other(x, n):
    found = [None] * n
    for k in range(0, n, 2):
        found[k] = x * k
    return found[0], found[n - 2].sum(), len(found)


def shared_item(x, n):
    found = [None] * n
    found[0] = x
    first = found[0]
    first[0] = 7.0
    part = found[:2]
    return x, len(part), part[0][0]


def of_none(x, n):
    found = [None] * n
    found[0] = x
    total = 0.0
    for k in range(n):
        total += found[k].sum()
    return total


def stacked_with_none(x, n):
    found = [None] * n
    for k in range(1, n):
        found[k] = x
    return np.array(found[1:]), len(found)


def stacked_none(x, n):
    found = [None] * n
    for k in range(1, n):
        found[k] = x
    return np.array(found)


def by_index(x, n):
    wholes, floats, rows = [0] * n, [0.0] * n, [[] for _ in range(n)]
    for i in range(n):
        wholes[i] += i
        floats[i] += float(x[0])
        rows[i % 2].append(i)
    total = 0
    for row in rows:
        for i in row:
            total += i
    return wholes, floats, total


def of_iterators(x):
    a, b, c = (2 * int(v) for v in x)
    numbers = list(range(3, 9))
    total = 0.0
    pairs = list(zip(x, numbers, strict=False))
    for p, q in pairs:
        total += p * q
    return a, b, c, numbers, total, sorted(range(5))


def unpacked(x, n):
    total = 0.0
    for i in range(1, n - 1):
        low, middle, high = np.log(x[i - 1 : i + 2])
        total += low * middle - high
    return total


def items_by_place(n, k):
    steps = ((-1, 0), (0, 1), (1, 0), (0, -1))
    worth = 0.0
    y = x = 0
    for i in range(n):
        dy, dx = steps[(i * k) % 4]
        y, x = y + dy, x + 2 * dx
        worth += {0: -0.04, 1: -1.0, 2: 1.0}[i % 3]
    return y, x, worth


def by_key(x, n):
    order = sorted(range(n), key=lambda i: -x[i])[:4]
    pairs = [(i % 3, float(x[i])) for i in range(n)]
    pairs = sorted(pairs, key=lambda p: (p[1], -p[0]), reverse=True)
    last = sorted(order, key=lambda k: k % 2, reverse=True)
    return order, pairs, last


def to_neighbours(edges, n):
    following = [[] for _ in range(n)]
    for s, t in edges:
        if t not in following[s]:
            following[s].append(int(t))
    a = np.zeros((n, n))
    total = 0
    for s, found in enumerate(following):
        if found:
            for t in found:
                total += t
        a[s, found] = 1
    return a, total, following


# ---- tuples ----


def best_of_none(x):
    best = (-np.inf, None, None)
    for i, v in enumerate(x):
        if v > best[0]:
            best = (v, i, 2 * v)
    value, place, twice = best
    return {"value": value, "place": place, "twice": twice, 3: x * 2}


def least_tuple(x):
    best = None
    for i in range(len(x)):
        candidate = (x[i] % 3, x[i], i)
        if best is None or candidate < best:
            best = candidate
    a, b, c = best
    return a, b, c


def most_tuple(x):
    best = None
    for i in range(len(x)):
        if best is None or x[i] > best[0]:
            best = (x[i], i)
    return best


def comparisons(x, n):
    found = []
    for i in range(n):
        a = (x[i % len(x)], i % 3)
        b = (x[(7 * i) % len(x)], i % 2)
        found.append((1 if a < b else 0) + (2 if a <= b else 0) + (4 if a > b else 0) + (8 if a >= b else 0))
    return found


X = np.array([3.0, 1.0, 2.0, 7.0, 7.0, 1.0])
WHOLES = np.array([3, 1, 2, 7, 7, 1])


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (mean_of_the_last, (X, 4)),
        (mean_of_the_last, (WHOLES.astype(float), 1)),
        (pairs_of_the_last, (np.arange(9000.0), 3000)),
        (pairs_of_the_last, (np.arange(9000.0), 5000)),
        (queues_of_what_there_is, (X,)),
        (emptied, (X, 3)),
        (in_topological_order, (5, np.array([0, 0, 1, 2, 3]), np.array([1, 2, 3, 3, 4]))),
        (smoothed, (X, 5)),
        (every_other, (X, 6)),
        (shared_item, (X, 4)),
        (of_none, (X, 1)),
        (stacked_with_none, (X, 5)),
        (by_index, (X, 4)),
        (of_iterators, (X[:3],)),
        (unpacked, (X, 6)),
        (items_by_place, (9, 3)),
        (by_key, (X, 6)),
        (to_neighbours, (np.array([[0, 1], [0, 2], [2, 1], [0, 1], [3, 3]]), 4)),
        (best_of_none, (X,)),
        (least_tuple, (X,)),
        (least_tuple, (WHOLES,)),
        (most_tuple, (X,)),
        (most_tuple, (WHOLES,)),
        (comparisons, (X, 30)),
        (comparisons, (WHOLES, 30)),
        (comparisons, (np.array([1.0, np.nan, 2.0, 3.0, 4.0]), 30)),
    ],
)
def test_whole(function, args):
    check_whole(function, *args)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (mean_of_the_last, (X[:0], 3)),  # an item of an empty queue
        (emptied, (X, -1)),
        (of_none, (X, 2)),
        (of_none, (X, 3)),
        (of_none, (X[:0], 1)),  # arrays without elements are taken for None
        (stacked_with_none, (X, 1)),
        (stacked_none, (X, 3)),
        (unpacked, (X, 9)),
        (by_key, (np.array([1.0, np.nan, 0.0]), 3)),
        (best_of_none, (X[:0],)),
        (least_tuple, (X[:0],)),
        (comparisons, (np.array([1.0, np.nan]), 30)),  # one NaN or two is for Python to say
    ],
)
def test_left_to_python(function, args):
    """Python gives the result, or raises: the function whole gives none, or the same."""
    whole = WholeFunction.of(function, wb.jit(function).source())
    mine, theirs = copies(args), copies(args)
    try:
        expected = function(*theirs)
    except Exception as error:  # noqa: BLE001  # whatever it is
        expected = error
    done = whole.run(tuple(mine), {})
    if done is not None:
        assert_same(done[0], expected)
    compiled = wb.jit(function)
    for _ in range(3):
        mine = copies(args)
        if isinstance(expected, Exception):
            with pytest.raises(type(expected)):
                compiled(*mine)
        else:
            assert_same(compiled(*mine), expected)


def test_a_dictionary_of_results_needs_no_look_ups():
    def described(x, n):
        total = 0.0
        for v in x:
            total += v
        return {"sum": total, "x": 2 * x, "n": n}

    whole = check_whole(described, X, 3, is_fast=True)
    assert list(whole.fast((X, 3), ())(X, 3)) == ["sum", "x", "n"]
