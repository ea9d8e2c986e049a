"""Tuples and lists that are written out, in loops that are translated: their parts, sums, and items that data choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

from .test_loops import loops_of

RNG = np.random.default_rng(11)


def transitions(a):
    c = np.zeros(a.shape, int)
    for y in range(1, a.shape[0] - 1):
        for x in range(1, a.shape[1] - 1):
            n = [a[y - 1, x], a[y, x + 1], a[y + 1, x], a[y, x - 1]]
            c[y, x] = sum(1 for p, q in zip(n, n[1:] + n[:1]) if p == 0 and q == 1)  # noqa: B905
    return c


def parts(a):
    total = a[0, 0] * 0
    for y in range(1, a.shape[0]):
        row = (a[y, 0], a[y, 1], a[y - 1, 0], a[y - 1, 1])
        back = row[::-1]
        total += back[0] * 2 + back[-1] + (row[1:3] + back[:2])[3]
        for k, v in enumerate(row[-2:] + (a[y, 2],)):
            total += v * k
        for v, w in zip(row[:3], [a[y, 1], a[y, 2]]):  # noqa: B905
            total -= v * w
    return total


def chosen(a):
    steps = [(-1, 0), (0, 1), (1, 0), (0, -1)]
    weights = (0.5, -0.0, 2.0)
    x = y = d = 0
    out = np.zeros((40, 3))
    for k in range(40):
        d = (d + (1 if a[x, y] > 0 else 3)) % 4
        x = (x + steps[d][0]) % a.shape[0]
        y = (y + steps[d - 4][1]) % a.shape[1]
        out[k] = x, y, weights[d % 3] * -1.0
    return out


def items_of_the_loop(a):
    out = np.zeros((a.shape[0], 2))
    for i in range(a.shape[0]):
        row = (a[i, 0], a[i, 1], a[i, 2])
        k = int(a[i, 0] > 0) + int(a[i, 1] > 0)
        out[i] = row[k], row[-1 - k]
    return out


def over_indices(a):
    s = np.zeros(a.shape)
    for i, j in np.ndindex(*a.shape):
        s[i, j] = a[i, j] * i - j
    for i, j in np.ndindex(*a.shape[:1], 3):
        s[i, j] += a[i, j]
    for i, j in np.ndindex(a.shape[-2:]):
        s[i, j] -= j
    for (j,) in np.ndindex(*(a.shape[0],)):
        s[j, 0] += 1
    return s


@pytest.mark.parametrize(
    "program", [transitions, parts, chosen, items_of_the_loop, over_indices], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int8, np.float32, np.float64])
@pytest.mark.filterwarnings("ignore")
def test_items_that_are_written_out(program: Callable[..., Any], dtype: Any) -> None:
    compiled = wb.jit(program)
    a = RNG.integers(-1 if np.dtype(dtype).kind != "u" else 0, 2, (18, 17)).astype(dtype)
    others = [a * 0, a * 0 + 1]
    if np.dtype(dtype).kind == "f":
        others += [a * np.inf, a * -0.0]
    else:
        others += [a * 0 + np.iinfo(dtype).max, a * 0 + np.iinfo(dtype).min]
    for each in (a, *others):
        assert_same(compiled(each), program(each))
    assert not compiled.fallbacks


@pytest.mark.parametrize("index", [2, -3, 7, 2**40])
def test_an_item_that_is_not_there(index: int) -> None:
    def program(a, places):
        for i in range(len(a)):
            t = (a[i], 2 * a[i])
            a[i] = t[places[i]]
        return a

    places = np.zeros(30, np.int64)
    places[20] = index
    for function in (program, wb.jit(program)):
        with pytest.raises(IndexError):
            function(np.ones(30), places)


def test_items_of_several_types_keep_theirs() -> None:
    """An int of Python's has no -0.0, and one of NumPy's has a dtype."""

    def program(a, places):
        out = np.zeros((len(a), 2))
        for i in range(len(a)):
            t = (0, a[i], 0.0)
            out[i, 0] = -t[places[i]]
            out[i, 1] = -t[1:][places[i] % 2]
        return out

    a, places = RNG.standard_normal(60), RNG.integers(0, 3, 60)
    for x in (a, a.astype(np.float32), a * 0):
        assert_same(wb.jit(program)(x, places), program(x, places))


def best_of_several(a, b, gap):
    """Of numbers of Python's and of NumPy's, that which wins."""
    table = np.zeros((len(a) + 1, len(b) + 1), a.dtype)
    came = np.zeros(table.shape, np.int8)
    zero = a.dtype.type(0).item()
    best = at = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            options = [zero, table[i - 1, j - 1] + (2 if a[i - 1] == b[j - 1] else -1), table[i - 1, j] + gap]
            k = np.argmax(options)
            came[i, j] = k
            table[i, j] = options[k]
            if options[k] * 2 > best:
                best, at = options[k] * 2, (i, j)[k % 2]
    return table, came, best, at


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_the_best_of_several_numbers(dtype: Any) -> None:
    compiled = wb.jit(best_of_several)
    a, b = RNG.integers(0, 4, 30).astype(dtype), RNG.integers(0, 4, 25).astype(dtype)
    for args in ((a, b, -2), (a, a, -3)):
        with np.errstate(all="ignore"):
            assert_same(compiled(*args), best_of_several(*args))
    if dtype is np.int64:
        assert not compiled.fallbacks


def reduced_lists(a):
    out = np.zeros((len(a), 9))
    for i in range(1, len(a)):
        row = (a[i, 0], 0.5, a[i - 1, 2])
        pairs = [(a[i, 0], a[i, 1]), (1.5, a[i, 2])]
        out[i, :3] = np.argmin(row), np.sum(row), np.mean([a[i, 0], 1])
        out[i, 3:6] = np.max([a[i, 0], a[i, 1]]), np.median(row), np.linalg.norm(row)
        out[i, 6:] = np.array(row) * 2
        out[i, :2] += np.sum(pairs, axis=0)
        out[i, 2] -= np.all(row) + np.std([a[i, 1], a[i - 1, 1]])
    return out


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_reductions_of_lists_are_those_of_arrays(dtype: Any) -> None:
    compiled = wb.jit(reduced_lists)
    a = (RNG.random((20, 3)) * 9).astype(dtype)
    # Differences of numbers up to 9 cancel.
    close = {"rtol": 1e-6, "atol": 4e-6} if dtype is np.float32 else {"rtol": 1e-15, "atol": 4e-15}
    np.testing.assert_allclose(compiled(a), reduced_lists(a), **close)
    assert not compiled.fallbacks


def test_lists_that_change_are_lists() -> None:
    def program(a):
        out = np.zeros(len(a))
        for i in range(len(a)):
            n = [a[i], 1.0]
            m = n[:]
            m += [a[i - 1]]
            n[0] = 3.0
            out[i] = m[0] + n[0] + len(m) + sum(m[k] for k in range(len(m)))
        return out

    a = RNG.standard_normal(40)
    assert_same(wb.jit(program)(a), program(a))


def looked_up(a, table):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * table["weights"][i % 3]
    return total


def test_a_list_that_a_loop_reads_may_be_another_equal_one_at_each_call():
    a = RNG.normal(size=7)
    compiled = wb.jit(looked_up)
    for _ in range(3):
        assert_same(compiled(a, {"weights": [1, 2, 3]}), looked_up(a, {"weights": [1, 2, 3]}))
    assert compiled.n_traces == 1
    assert_same(compiled(a, {"weights": [4, 2, 3]}), looked_up(a, {"weights": [4, 2, 3]}))


def items_that_the_code_set(a, table):
    table[1] = 10
    table.append(4)
    total = 0.0
    for i in range(len(a)):
        total += a[i] * table[i % 4]
    return total


@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_loops_read_what_the_code_made_of_a_list_that_it_was_given(device: str) -> None:
    a, compiled = RNG.normal(size=7), wb.jit(items_that_the_code_set, device=device)
    for _ in range(2):
        mine, theirs = [1, 2, 3], [1, 2, 3]
        assert_same(compiled(a, mine), items_that_the_code_set(a, theirs))
        assert mine == theirs


def sum_of_values(a, function):
    total = 0.0
    for i in range(len(a)):
        total += function(a[i])
    return total


@pytest.mark.parametrize("device", ["cpu", "numpy"])
@pytest.mark.parametrize(
    "make",
    [
        lambda k: lambda v: v * 2,
        lambda k: lambda v: v * k,
        lambda k: lambda v, s=k: v * s,
        lambda k: (lambda pair: lambda v: v * pair[0] + pair[1])([k, 2.0]),
        lambda k: (lambda inner: lambda v: inner(v) + 1)(lambda v: v * k),
    ],
    ids=["nothing", "a number", "a default", "a list", "a function"],
)
def test_a_function_that_a_loop_calls_may_be_made_for_each_call(make: Any, device: str) -> None:
    a, compiled = RNG.normal(size=7), wb.jit(sum_of_values, device=device)
    for k in (1.5, 2.5, 3.5, 3.5, 4.5, 5.5):
        assert_same(compiled(a, make(k)), sum_of_values(a, make(k)))
    if not isinstance(make(1.5).__closure__ and make(1.5).__closure__[0].cell_contents, list):
        assert compiled.n_traces <= 2  # the second one is for any function of this code


def grown(near, values):
    """Lists that arrays are the beginning of, or are added to."""
    seen = np.zeros(len(near), np.int64)
    total = np.zeros(1)
    for i in range(len(near)):
        found = np.where(near[i])[0]
        seeds = list(found)
        weights = values[i, :3].tolist()
        k = 0
        while k < len(seeds) and k < 40:
            j = seeds[k]
            seen[j] += 1
            if j % 3 == i % 2:
                seeds.extend(np.flatnonzero(near[j]))
                weights.extend(values[j, ::2])
                weights.append(values[j, 0] * 2)
            k += 1
        if len(seeds) > 2:
            seeds.pop()
        total[0] += len(seeds) + weights[-1] + weights[0]
    return seen, total


def test_lists_of_what_is_in_arrays() -> None:
    compiled = wb.jit(grown)
    for chance in (0.2, 0.0, 1.0):
        args = RNG.random((12, 12)) < chance, RNG.random((12, 7))
        assert_same(compiled(*args), grown(*args))
    assert not compiled.fallbacks


def test_integers_of_lists_of_arrays_are_numpys_or_pythons() -> None:
    def program(a, k):
        big = small = 0
        for i in range(len(a)):
            row, own = list(a[i]), a[i].tolist()
            row.append(a[i, 0])
            own.append(3)
            big = row[k] * 2
            small = own[k] * 2
        return big, small

    a = np.full((9, 3), 100, np.int8)
    with np.errstate(all="ignore"):
        assert_same(wb.jit(program)(a, 1), program(a, 1))
    wide = np.full((9, 3), 2**62)
    with np.errstate(all="ignore"):
        assert_same(wb.jit(program)(wide, 1), program(wide, 1))


def test_arguments_and_items_with_a_star() -> None:
    def weighted(a, b, c=1.0):
        return a * 0.5 + b * c

    def program(x, pair, triple):
        total = 0.0
        out = np.zeros(x.shape)
        for i in range(x.shape[0]):
            point = (x[i, 0], total)
            row = np.ones(x.shape[1:])
            total = weighted(*point) + weighted(*pair) + weighted(*x[i, :3]) + weighted(*(1.0, *pair))
            out[i] = row * np.full((*x.shape[1:],), total)
            out[i, :3] += np.array([*point, *pair])[1:] + max(*triple)
        return total, out

    x = RNG.standard_normal((30, 4))
    compiled = wb.jit(program)
    args = (x, (0.5, -1.0), (1.0, 3.0, 2.0))
    assert_same(compiled(*args), program(*args), max_ulp=64)
    assert not compiled.fallbacks and len(loops_of(compiled)) == 1


def test_random_numbers_of_a_shape_with_a_star() -> None:
    def program(x):
        rng = np.random.RandomState(3)
        for _ in range(50):
            x = 0.5 * x + rng.rand(*x.shape)
        return x

    x = RNG.standard_normal((4, 3))
    compiled = wb.jit(program)
    for _ in range(3):
        assert_same(compiled(x), program(x))
