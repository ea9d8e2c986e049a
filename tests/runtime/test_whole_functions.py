"""Functions that tracing refuses and that run whole: sizes that data decide, lists of arrays, sources of random numbers
that the function makes, and how calls find out which way is the fastest."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from workbench.runtime.parts import untraced
from workbench.runtime.parts.untraced import UntracedFunction
from workbench.runtime.parts.whole_functions import WholeFunction


def way_of(compiled):
    """The ways of the kinds of calls that could not be traced."""
    entries = [e for found in compiled._state.specialisations.values() for e in found]
    return [e.parts.way for e in entries if isinstance(getattr(e, "parts", None), UntracedFunction)]


def check_whole(function, *args, is_fast=None, scale=1.0):
    """The function whole, against NumPy; is_fast: whether later calls do without looking things up."""
    whole = WholeFunction.of(function, wb.jit(function).source())
    assert whole is not None
    for _ in range(2):
        mine, theirs = copies(args), copies(args)
        expected = function(*theirs)
        done = whole.run(tuple(mine), {})
        assert done is not None, "the function does not run whole"
        assert_same(done[0], expected, reduction_scale=scale)
        assert_same(mine, theirs)
    fast = whole.fast(tuple(copies(args)), ())
    assert is_fast is None or (fast is not None) == is_fast
    if fast is not None:
        mine = copies(args)
        assert_same(fast(*mine), expected, reduction_scale=scale)
        assert_same(mine, theirs)
    return whole


def copies(args):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


# ---- programs ----


def class_means(x, y):
    classes = np.unique(y)
    means = np.zeros((len(classes), x.shape[1]))
    for i, c in enumerate(classes):
        means[i] = x[y == c].mean(axis=0)
    return classes, means


def one_hot(y):
    encoded = np.zeros((len(y), len(np.unique(y))))
    encoded[np.arange(len(y)), y] = 1
    return encoded


def one_hot_by_identity(y):
    return np.eye(y.max() + 1)[y]


def group_sums(keys, v):
    found, places = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(found))
    np.add.at(sums, places, v)
    return found, sums


def everything_about_distinct(v):
    found, first, places, counts = np.unique(v, return_index=True, return_inverse=True, return_counts=True)
    return found, first, places, counts


def entropy(labels):
    counts = np.bincount(labels)
    p = counts[counts > 0] / len(labels)
    return -np.sum(p * np.log2(p))


def weighted_pairs(m):
    total = 0.0
    for i, j in zip(*np.where(m > 0.5), strict=True):
        total += m[i, j] * (i - j)
    return total


def places_by_rows(m):
    total = 0.0
    for i, j in np.argwhere(m > 0.5):
        total += m[i, j] * (i + 2 * j)
    return total, np.argwhere(m > 0.5)


def places_in_blocks(m):
    return np.argwhere(m.reshape(2, -1, m.shape[1]) > 0.5), np.argwhere(m[0] > 0.5)


def means_of_classes(x, y):
    return np.array([x[y == c].mean(axis=0) for c in np.unique(y)])


def rows_above(x):
    rows = []
    for i in range(len(x)):
        if x[i, 0] > 0:
            rows.append(x[i])
    return np.vstack(rows)


def clipped(points, most):
    out = []
    n = len(points)
    for i in range(n):
        a, b = points[i], points[(i + 1) % n]
        if a[0] <= most:
            out.append(a)
        if (a[0] <= most) != (b[0] <= most):
            t = (most - a[0]) / (b[0] - a[0])
            out.append(a + t * (b - a))
    return np.array(out)


def joined_runs(x):
    runs = []
    first = 0
    for i in range(1, len(x) + 1):
        if i == len(x) or x[i] < x[i - 1]:
            if i - first > 1:
                runs.append(x[first:i] - x[first])
            first = i
    return np.concatenate(runs), len(runs)


def lower_hull(points):
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    lower = []
    for p in points:
        while len(lower) >= 2:
            a, b = lower[-2], lower[-1]
            if (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0:
                break
            lower.pop()
        lower.append(p)
    return np.array(lower)


def one_array_twice(x):
    """Lists hold the arrays themselves."""
    kept = []
    row = np.zeros(x.shape[1])
    for i in range(len(x)):
        row += x[i]
        kept.append(row)
        if x[i, 0] > 0:
            row = row.copy()
    return np.array(kept)


def simplified(points, tolerance):
    keep = np.zeros(len(points), dtype=bool)
    keep[0] = keep[-1] = True
    stack = [(0, len(points) - 1)]
    while stack:
        a, b = stack.pop()
        if b - a < 2:
            continue
        d = points[b] - points[a]
        best, k = -1.0, -1
        for i in range(a + 1, b):
            e = points[i] - points[a]
            distance = abs(d[0] * e[1] - d[1] * e[0]) / np.hypot(d[0], d[1])
            if distance > best:
                best, k = distance, i
        if best > tolerance:
            keep[k] = True
            stack.append((a, k))
            stack.append((k, b))
    return points[keep]


def early(x, limit=3.0, *, scale=2.0):
    if x.sum() > limit:
        return np.zeros(2)
    kept = x[x > 0]
    return np.sort(kept) * scale


def column_of(x, n):
    kept = x[x > 0]
    return kept[:n].reshape(n, 1) @ np.ones((1, n)), kept.reshape(-1, 1) * 2


def in_place(x, y):
    """Returns nothing."""
    kept = x[x > 0]
    y[: len(kept)] = np.sort(kept)


def random_walk(n, seed):
    rng = np.random.default_rng(seed)
    places = np.cumsum(rng.choice([-1, 1], size=n))
    return places.max(), places.min(), np.sum(places == 0)


def spins(n, sweeps, seed):
    rng = np.random.RandomState(seed)
    s = rng.choice(np.array([-1, 1]), size=(n, n))
    for _ in range(sweeps):
        i, j = rng.randint(n), rng.randint(n)
        if rng.rand() < 0.5:
            s[i, j] *= -1
    return s.mean(), s


def pythons_walk(n, seed):
    random.seed(seed)
    x = 0
    for _ in range(n):
        x += 1 if random.random() < 0.5 else -1
    return x


RNG = np.random.default_rng(20)
X, Y = RNG.normal(size=(60, 4)), RNG.integers(0, 4, 60)
POINTS = np.cumsum(RNG.normal(size=(50, 2)), axis=0)
PROGRAMS = [
    (class_means, X, Y), (class_means, X[:1], Y[:1]), (class_means, X, Y.astype(np.uint8)),
    (one_hot, Y), (one_hot_by_identity, Y), (one_hot_by_identity, Y.astype(np.int16)),
    (group_sums, Y * 3 - 5, X[:, 0].copy()), (group_sums, Y * 10.0, X[:, 1].copy()),
    (group_sums, np.zeros(0, np.int64), np.zeros(0)), (group_sums, Y * 2**58, X[:, 0].copy()),
    (entropy, Y), (weighted_pairs, X), (places_by_rows, X), (places_by_rows, X[:, :1] - 9), (places_in_blocks, X),
    (means_of_classes, X, Y), (rows_above, X), (clipped, POINTS, 1.5), (joined_runs, X[:, 0].copy()),
    (lower_hull, POINTS), (lower_hull, np.round(POINTS)), (one_array_twice, X), (simplified, POINTS, 0.7),
    (early, X[:, 0].copy()), (column_of, X[:, 0].copy(), 5), (in_place, X[:, 0].copy(), np.zeros(60)),
    (random_walk, 100, 3), (spins, 5, 200, 1), (pythons_walk, 100, 7),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "args"), [(f, args) for f, *args in PROGRAMS], ids=lambda v: getattr(v, "__name__", "")
)
def test_programs_run_whole(function, args):
    check_whole(function, *args)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "u8", "f4", "f8", "?"])
def test_distinct_values_of_dtypes(dtype):
    for n in (1, 7, 300):
        values = RNG.integers(0, 100, n).astype(dtype)
        check_whole(everything_about_distinct, values)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        check_whole(everything_about_distinct, np.array([info.max, info.min, 0, info.max], dtype))
    if np.dtype(dtype).kind == "f":
        check_whole(everything_about_distinct, np.array([np.nan, 1, -0.0, 0.0, np.inf, np.nan, -np.inf], dtype))


@pytest.mark.parametrize("function", [rows_above, joined_runs])
def test_what_numpy_raises_is_raised(function):
    compiled = wb.jit(function)
    x = np.full((4, 2), -1.0) if function is rows_above else np.array([3.0, 2.0, 1.0])
    for _ in range(8):
        with pytest.raises(ValueError, match="need at least one array"):
            compiled(x)


def first_of_many(x):
    kept = x[x > 0]
    if len(kept) > 3:
        first = kept[0]
    return first


def last_turn(x):
    n = len(np.unique(x))
    for i in range(n - 5):
        last = i
    return last, n


def array_of_one_branch(x):
    counts = np.bincount(x)
    if counts[0] > 5:
        twice = counts * 2
    return twice + 1


def through_a_function(x):
    total = 0.0
    for v in np.unique(x):
        total += half_of_large(v)
    return np.zeros(len(np.unique(x))) + total


def half_of_large(v):
    if v > 1:
        half = v / 2
    return half


@pytest.mark.parametrize(("function", "good", "bad"), [
    (first_of_many, np.arange(6.0), np.ones(1)), (last_turn, np.arange(9), np.arange(3)),
    (array_of_one_branch, np.zeros(9, int), np.arange(3)), (through_a_function, np.arange(2.0, 5), np.arange(5.0)),
])  # fmt: skip
def test_variables_that_are_not_set_raise(function, good, bad):
    whole = check_whole(function, good)
    assert whole.run((bad,), {}) is None
    compiled = wb.jit(function)
    for x in (good, bad, good, bad, bad, bad, bad, good):
        if x is good:
            assert_same(compiled(x), function(x))
        else:
            with pytest.raises(UnboundLocalError):
                compiled(x)


def test_a_name_may_be_given_to_other_types():
    def shares(x, n):
        x = np.unique(x)
        n = n * 0.5
        x = x.astype(float)
        x /= x.sum()
        for i in range(len(x)):
            x[i] += n
        n = [v for v in x if v > n + 0.2]
        return x, np.array(n)

    check_whole(shares, np.array([3, 1, 1, 6]), 3)


# ---- the fastest way ----


def test_calls_find_out_that_whole_is_faster():
    compiled = wb.jit(weighted_pairs_slowly)
    m = RNG.random((40, 40))
    for _ in range(8):
        assert_same(compiled(m), weighted_pairs_slowly(m))
    assert way_of(compiled) == ["whole"] and compiled._fast.__name__ == "call"
    other = m.T.copy()
    assert_same(compiled(other), weighted_pairs_slowly(other))
    assert_same(compiled(m.T), weighted_pairs_slowly(m.T))
    assert_same(compiled(m.astype(np.float32)), weighted_pairs_slowly(m.astype(np.float32)))


def weighted_pairs_slowly(m):
    kept = m[m > 0.5]
    n = len(kept)
    ranks = np.zeros(n + 1)
    for i in range(n):
        for j in range(min(n, 20)):
            ranks[i] += kept[j] < kept[i]
    return ranks


def test_numpy_where_it_is_faster(monkeypatch):
    monkeypatch.setattr(untraced.UntracedFunction, "run_whole", slowly(untraced.UntracedFunction.run_whole))
    compiled = wb.jit(early)
    x = X[:, 0].copy()
    with wb.config(numpy_trials=True):
        for _ in range(12):
            assert_same(compiled(x), early(x))
        assert way_of(compiled) != ["whole"]


def slowly(function):
    def run(*args):
        threading.Event().wait(0.002)
        return function(*args)

    return run


def test_keywords_and_defaults():
    compiled = wb.jit(early)
    x = X[:, 0].copy()
    for _ in range(8):
        assert_same(compiled(x, scale=3.0), early(x, scale=3.0))
        assert_same(compiled(x, -100.0), np.zeros(2))
        assert_same(compiled(x), early(x))
    with pytest.raises(TypeError):
        compiled(x, 1.0, 2.0)


def test_small_ints_are_not_taken_for_constants():
    whole = WholeFunction.of(column_of, wb.jit(column_of).source())
    x = np.abs(X[:, 0])
    for n in (2, 5, 3, 9, 4, 1, 20):
        result, _ = whole.run((x, n), {})
        assert_same(result, column_of(x, n))


def test_what_is_read_outside_may_change(monkeypatch):
    compiled = wb.jit(scaled_by_a_global)
    x = X[:, 0].copy()
    for factor in (2.0, 3.0, 3, np.float64(0.5), np.ones(60)):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        for _ in range(8):
            assert_same(compiled(x), scaled_by_a_global(x))


FACTOR = 2.0


def scaled_by_a_global(x):
    total = 0.0
    kept = [row for row in x * FACTOR if row > 0]
    for i in np.unique(np.floor(kept)):
        total += i
    return np.zeros(len(kept)) + total


def test_strict_calls_raise_whatever_ran_before():
    compiled = wb.jit(class_means)
    for _ in range(8):
        assert_same(compiled(X, Y), class_means(X, Y), reduction_scale=1.0)
    with wb.config(strict=True), pytest.raises(wb.errors.TracingError):
        compiled(X, Y)
    assert_same(compiled(X, Y), class_means(X, Y), reduction_scale=1.0)


def test_arguments_that_share_memory():
    whole = check_whole(in_place, X[:, 0].copy(), np.zeros(60))
    mine, theirs = np.linspace(-1, 1, 60), np.linspace(-1, 1, 60)
    if whole.run((mine, mine), {}) is None:
        in_place(mine, mine)
    in_place(theirs, theirs)
    assert_same(mine, theirs)


def test_arrays_given_back_are_the_callers():
    def mostly(x):
        kept = x[x > 0]
        if len(kept) > 3:
            x[0] = len(kept)
        return x, kept

    compiled = wb.jit(mostly)
    x = X[:, 0].copy()
    for _ in range(8):
        y = x.copy()
        result, kept = compiled(y)
        assert result is y and y[0] == len(kept)


def test_the_report_says_so():
    report = wb.explain(wb.jit(group_sums))(Y, X[:, 0].copy())
    assert report.status in ("compiled", "cached")
    assert "Compiled whole, since it cannot be traced" in report.reason and "unique" in report.reason
    text = report.to_text()
    assert "loop def" in text and "def group_sums(keys, v)" in text


def test_random_numbers_are_those_of_numpy_call_after_call():
    compiled = wb.jit(random_walk)
    for seed in (1, 2, 1):
        for _ in range(6):
            assert_same(compiled(500, seed), random_walk(500, seed))


def test_several_threads_at_once():
    compiled = wb.jit(class_means)
    expected = class_means(X, Y)
    wrong = []

    def work():
        for _ in range(30):
            try:
                assert_same(compiled(X, Y), expected, reduction_scale=1.0)
            except BaseException as error:  # noqa: BLE001  # told below
                wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
