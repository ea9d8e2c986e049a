"""Loops with arrays of indices, masks, and NumPy's routines on small arrays: one step, with NumPy's results and errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests import compare
from workbench.primitives import numpy_orders

from .test_loops import assert_same, loops_of, steps

CASES: list[tuple[Callable[..., Any], tuple]] = []


def case(*args: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((function, args))
        return function

    return register


RNG = np.random.default_rng(7)  # loops of more than four iterations: shorter ones are written out
SQUARE = RNG.random((6, 6)) + np.eye(6)
ROWS = RNG.random((8, 5))


@case(SQUARE, RNG.random(6))
def rows_exchanged(a, b):
    for k in range(len(b)):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[[k, p]] = a[[p, k]]
            b[[k, p]] = b[[p, k]]
        for i in range(k + 1, len(b)):
            m = a[i, k] / a[k, k]
            a[i, k:] -= m * a[k, k:]
            b[i] -= m * b[k]


@case(np.zeros((9, 8)), np.array([3, 0, 3, -1, 8]), np.array([1, 0, 1, 2, -4]))
def pairs_of_indices(table, rows, columns):
    for i in range(1, 8):
        table[rows, columns] += i
        table[rows[1:], i] = table[rows[:-1], i - 1] * 2 + i
        table[i, columns] -= table[rows, columns]
    return table.sum()


@case(ROWS, np.array([[0, 2], [4, 1]]))
def a_matrix_of_indices(a, places):
    total = np.zeros((2, 2))
    for i in range(len(a)):
        row = a[i]
        total += row[places] + a[i, places]
        a[1:4, places[0]] += i
    return total


@case(RNG.random((7, 8, 5)), np.array([2, 0, 1]))
def axes_of_picked_elements(a, k):
    out = np.zeros((8, 3))
    for i in range(1, 7):
        out += a[:, i % 5, k].sum(axis=0) + a[i - 1, :, k].T * i + a[k, i, :3].sum(axis=0)
        out[0] += a[i - 1, i, k]
    return out


@case(RNG.random((7, 5)), 0.4)
def masks_among_indices(a, limit):
    count = np.zeros(len(a))
    for i in range(len(a)):
        low = a[i] < limit
        a[i, low] = limit
        count[i] = a[i, ~low].sum() + low.sum()
        count[count > 3] *= 0.5
    return count


@case(RNG.random((6, 5)))
def masks_of_two_axes(a):
    seen = np.zeros(a.shape, dtype=np.int64)
    for i in range(1, 6):
        m = a * i > 1.5
        seen[m] = i
        a[m] = a[m] - 0.5
        seen[~m] += seen[~m] + seen[0, 0]
    return seen


@case(np.linspace(-2, 2, 40), 2.0)
def points_that_remain(c, limit):
    alive = np.arange(c.size)
    z = np.zeros(c.size)
    steps = np.zeros(c.size, dtype=np.int64)
    for k in range(12):
        if not len(z):
            break
        np.multiply(z, z, z)
        np.add(z, c, out=z)
        gone = np.abs(z) > limit
        steps[alive[gone]] = k + 1
        np.logical_not(gone, gone)
        z, c, alive = z[gone], c[gone], alive[gone]
    return steps


@case(RNG.integers(0, 9, (4, 5)), 3)
def through_flat(a, k):
    count = np.zeros(10, dtype=np.int64)
    for x in a.flat:
        count[x] += 1
    for i in range(a.size):
        a.flat[i] += a.flat[i - 1] * k
        if a.flat[i] > 50:
            a.flat[i] = i
    return count


@case(np.zeros(5), np.array([0, 3, 3, 1, -1]), RNG.random((9, 5)))
def updates_at(y, places, values):
    for i in range(len(values)):
        np.add.at(y, places, values[i])
        np.subtract.at(y, places[1:3], 0.25)
        y[places] += 1.0


@case(RNG.random((5, 3, 3)) + 2 * np.eye(3), RNG.random((5, 3)), RNG.random((5, 3, 2)))
def linear_systems(a, b, c):
    found = np.zeros((5, 3))
    both = np.zeros((3, 2))
    total = 0.0
    for i in range(5):
        found[i] = np.linalg.solve(a[i], b[i]) + np.linalg.inv(a[i]) @ b[i]
        both += np.linalg.solve(a[i], c[i])
        total += np.linalg.det(a[i]) * found[i, 0]
    return found, both, total


@case(RNG.random((6, 3, 3)) + 1j * RNG.random((6, 3, 3)) + np.eye(3))
def complex_inverses(a):
    out = np.zeros_like(a)
    for i in range(6):
        out[i] = np.linalg.inv(a[i]) @ np.diag(np.ones(3)) - np.eye(3)
        out[i, 0, 0] += np.trace(a[i])
    return out


@case(np.array([[3.0, 1.0, np.nan, 1.0, -2.0, np.nan, 0.5], [2.0, 2.0, 1.0, 9.0, 2.0, 1.0, np.inf]] * 3))
def sorted_rows(a):
    order = np.zeros(a.shape, dtype=np.int64)
    middle = np.zeros(6)
    where = np.zeros(6, dtype=np.int64)
    for i in range(6):
        order[i] = np.argsort(a[i], kind="stable")
        middle[i] = np.median(a[i, :5])
        a[i] = np.sort(a[i])
        where[i] = np.searchsorted(a[i], 2.0) + 10 * np.searchsorted(a[i], 2.0, side="right")
    return order, middle, where


@case(np.array([[1, 2, 5], [-1, 1, 2]] * 3), np.array([[0.1, 0.2, 0.3], [0.1, 0.1, 0.5]] * 3, np.float32), np.int8(1))
def places_of_numbers_of_other_dtypes(x, y, n):
    found = np.zeros((6, 5), dtype=np.int64)
    for i in range(6):
        found[i, 0] = np.searchsorted(x[i], 1.5)
        found[i, 1] = np.searchsorted(y[i], 0.1, side="right")
        found[i, 2] = np.searchsorted(y[i], 0.1)
        found[i, 3] = np.searchsorted(x[i], n)
        found[i, 4] = np.searchsorted(y[i], x[i, 0])
    return found


@case(RNG.integers(0, 6, (5, 12)), RNG.random(12))
def counts_of_rows(x, w):
    table = np.zeros((5, 6), dtype=np.int64)
    mass = np.zeros(6)
    for i in range(5):
        table[i] = np.bincount(x[i], minlength=6)
        mass += np.bincount(x[i], weights=w, minlength=6)
        mass[0] += np.count_nonzero(x[i] > 2) + np.flatnonzero(x[i] == 1).sum()
    return table, mass


@case(RNG.random((6, 6)))
def triangles_and_stacks(a):
    total = np.zeros((6, 6))
    for i in range(1, 6):
        total += np.tril(a) * i - np.triu(a, i) + np.diag(a[i]) + np.diag(np.diag(a)) - np.identity(6)
        pair = np.stack([a[i], a[i - 1]])
        total[:2] += np.vstack((a[0], a[i])) + pair
        total[0, 1:] += np.diff(a[i])
        np.fill_diagonal(total, total[0, 1])
        total[1, :4] += np.hstack((a[i, :2], a[0, :2]))
    return total


@case(RNG.random((5, 3)), RNG.random((5, 3)))
def cross_products(a, b):
    out = np.zeros(3)
    for i in range(5):
        out += np.cross(a[i], b[i]) * np.inner(a[i], b[i])
    return out


@case(RNG.integers(2, 9, 9))
def largest_integer(sizes):
    best = np.zeros((8, 8), dtype=np.int64)
    for i in range(7, -1, -1):
        for j in range(i + 1, 8):
            best[i, j] = np.iinfo(np.int64).max
            for k in range(i, j):
                best[i, j] = min(best[i, j], best[i, k] + best[k + 1, j] + sizes[i] * sizes[k] * sizes[j])
    return best[0], np.finfo(np.float64).eps


WEIGHTS = np.array([0.25, 0.5, 0.25])
OFFSETS = [(-1, 0), (1, 0), (0, -1), (0, 1)]
SETTINGS = {"step": 0.1, "order": 3}


def blurred(x, i):
    return WEIGHTS[0] * x[i - 1] + WEIGHTS[1] * x[i] + WEIGHTS[2] * x[i + 1]


def twice_blurred(x, i):
    return blurred(x, i) + WEIGHTS @ x[i - 1 : i + 2]


@case(RNG.random(30))
def arrays_outside(x):
    for _ in range(6):
        y = x.copy()
        for i in range(1, len(x) - 1):
            y[i] = twice_blurred(x, i) * 0.5
        x = y
    return x


@case(RNG.random((9, 8)))
def lists_and_dictionaries_outside(a):
    out = np.zeros_like(a)
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            for di, dj in OFFSETS:
                out[i, j] += SETTINGS["step"] * a[i + di, j + dj] + SETTINGS["order"]
    return out


@case(RNG.random((5, 6)), 0.5)
def over_all_indices(a, limit):
    out = np.zeros_like(a)
    count = 0
    for i, j in np.ndindex(a.shape):
        if a[i, j] > limit:
            continue
        out[i, j] = a[i, j] * i
    for (i, j), x in np.ndenumerate(a):
        out[i, j] += x - j
        count += 1
    for where in np.ndindex(5, 2):
        out[where[0], where[1]] -= 1.0
    return out, count


@case(RNG.random((6, 7)))
def over_what_is_found(a):
    hits = np.zeros(8, dtype=np.int64)
    total = 0.0
    for x in a.ravel():
        hits[int(x * 8)] += 1
    for x in a.flatten():
        total += x * total + 1.0
    for i in np.where(a[0] > 0.3)[0]:
        a[0, i] = a[0, i - 1] + i
    for i in np.flatnonzero(a[1] > 0.3):
        total += a[1, i] * (total + i)
    return hits, total


@case(RNG.random((8, 9)))
def medians_of_windows(a):
    p = np.pad(a, 1, mode="edge")
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = np.median(p[i : i + 3, j : j + 3]) + np.linalg.norm(p[i : i + 2, j : j + 2])
    return out


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.uint64, np.float32, np.float64])
@pytest.mark.parametrize("length", [1, 4, 5])
def test_medians_of_numbers_of_any_kind(dtype: Any, length: int) -> None:
    def medians(a, out):
        for i in range(len(a)):
            out[i] = np.median(a[i : i + length])
        return np.median(a[:length]) if len(a) > 3 else None

    kind = np.dtype(dtype)
    info: Any = np.iinfo(kind) if kind.kind in "iu" else np.finfo(kind)
    ends = [info.max, info.max, info.min, info.max, 0, 1, info.min, info.min]
    values = np.array([*ends, 3, 1, 2, 2, 7, 9, 100, 44, 1, 1], dtype)
    inexact = [] if kind.kind in "iu" else [values * np.inf, np.where(values == 2, np.nan, values)]
    for a in (values, np.sort(values), values[::-1], values[8:11], values[:0], *inexact):
        found, expected = np.zeros(len(a)), np.zeros(len(a))
        with np.errstate(all="ignore"):
            compiled = wb.jit(medians)
            compare.assert_same(compiled(a, found), medians(a, expected))
        compare.assert_same(found, expected)
        assert not compiled.fallbacks


def test_medians_put_into_integers() -> None:
    def filtered(a):
        out = np.empty_like(a)
        p = np.pad(a, 1, mode="edge")
        for y in range(a.shape[0]):
            for x in range(a.shape[1]):
                out[y, x] = np.median(p[y : y + 3, x : x + 2])
        return out

    for dtype in (np.uint8, np.int16, np.int64):
        a = RNG.integers(0, 100, (9, 8)).astype(dtype)
        compiled = wb.jit(filtered)
        compare.assert_same(compiled(a), filtered(a))
        assert not compiled.fallbacks


@case(RNG.random((30, 30)) < 0.1, RNG.random((30, 4)), RNG.integers(-30, 30, (8, 5)))
def rows_at_indices(near, x, places):
    level, front, depth = np.full(30, -1), np.array([0]), 0
    while front.size > 0:
        depth += 1
        reach = near[front].any(axis=0)
        reach &= level < 0
        front = np.flatnonzero(reach)
        level[front] = depth
    total = np.zeros(4)
    for i in range(8):
        total += (x[places[i]] * x[places[i - 1]]).sum(axis=0) + x[places[i], 1:2].max()
        x[places[i]] *= 0.5
        x[places[i, :2]] += x[places[i, 1:3]]
    return level, total


@pytest.mark.parametrize("n", [0, 3])
def test_rows_that_are_not_there(n: int) -> None:
    def program(x, places):
        total = np.zeros(x.shape[1])
        for i in range(len(places)):
            total += x[places[i]].sum(axis=0) + places[i, 0]
        return total

    places = np.zeros((8, 2), np.int64)
    places[6, 1] = 5
    for function in (program, wb.jit(program)):
        with pytest.raises(IndexError):
            function(np.ones((5, n)), places)


@case(np.zeros((9, 7)), 0.3, 4)
def evenly_spaced(out, low, n):
    for i in range(len(out)):
        out[i] += np.linspace(low, i / 3, 7)
        for k, x in enumerate(np.linspace(i, low * i, n)):
            out[i, k] -= x
        out[i, :2] += np.linspace(i, i, 2)
        out[i, :1] *= np.linspace(low, 9, 1)
        out[i] += np.linspace(0, 5e-324, 7)
        for j in np.arange(i, -2, -3):
            out[i, j % 7] += j
        for x in np.arange(low, i, 0.25):
            out[i, 0] += x
        out[i, : len(np.arange(3, i, 2))] += np.arange(3, i, 2)
    return out


@case(RNG.random((9, 11)), RNG.random((5, 7)), 2)
def named_parts_of_rows(p, image, h):
    out, n, m = np.zeros_like(image), *image.shape
    for dy in range(-h, h + 1):
        for dx in range(-h, h + 1):
            s = p[h + dy : h + dy + n, h + dx : h + dx + m]
            out += np.exp(-((s - image) ** 2)) * s[::-1] + s.sum(axis=0) * dx + s[1, 2] + s.shape[0]
            if dx > dy:
                part = s[1:, -3:]
                part *= 0.5
            s[0] += image[-1]
            s[:, 1:3] = 2 * s[:, :2]
        w = p[dy : h + 3, 1 : dx + 4]
        out[: len(w), : w.shape[1]] -= w[: len(out), : out.shape[1]]
    return out


@case(RNG.random((6, 8)), 3)
def parts_of_what_is_bound_again(a, k):
    total = np.zeros((4, 4))
    b = a * 2
    s = a[1:5, 2:6]
    for i in range(6):
        if i > 3:
            part = b[i - 3 : i + 1, 1:5]
            a, b = b, a
            total += part
        total += s * i
        s = b[1:5, i % 3 : i % 3 + 4]
        t = a[1:5, k : k + 4]
        k = (k + 1) % 4
        total[0, 0] += t[0, 0]
        total -= t * 3
    return total, s.copy()


@case(RNG.random((30, 9)) + 0.5)
def columns_in_elementary_functions(z):
    s, t = np.ones(30), np.zeros(30)
    for k in range(1, 9):
        s *= np.exp(0.5 - 0.1 * z[:, k]) + np.log(z[:, k - 1])
        t += np.arctan2(z[:, k], s) + np.power(z[:, 0], z[:, k])
        s[k] = z[k, k]
    return s, t


@case(RNG.random((40, 40)) / 20, RNG.random(40))
def products_with_columns(a, x):
    out = np.zeros((40, 12))
    out[:, 0] = x
    for k in range(11):
        y = a @ out[:, k]
        out[k, 0] = y[3]
        out[:, k + 1] = y + out[:, k] @ a
    return out


def test_linear_systems_alone_are_traced() -> None:
    """Which takes a fraction of the time to compile."""

    def filtered(z, F, Q):  # noqa: N803
        x, P = np.zeros(4), np.eye(4)  # noqa: N806
        found = np.zeros((len(z), 4))
        for t in range(len(z)):
            x, P = F @ x, F @ P @ F.T + Q  # noqa: N806
            K = P @ np.linalg.inv(P + Q)  # noqa: N806
            x = x + K @ (z[t] - x)
            P = (np.eye(4) - K) @ P  # noqa: N806
            found[t] = x
        return found, P

    compiled = assert_same(filtered, RNG.random((20, 4)), np.eye(4) + 0.1, np.eye(4) * 0.2)
    assert "loop" not in steps(compiled)


@pytest.mark.parametrize("step", [0, 0.0])
def test_ranges_without_a_step_raise(step: float) -> None:
    def program(out, step):
        for i in range(len(out)):
            out[i] = sum(np.arange(0, i + 1, step))
        return out

    for function in (program, wb.jit(program)):
        with pytest.raises((ZeroDivisionError, ValueError)):
            function(np.zeros(8), step)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float32, np.float64])
def test_reductions_by_a_ufunc(dtype: Any) -> None:
    def reduced(a):
        found = np.zeros((12, 8), a.dtype)
        real = np.zeros((12, 8))
        for i in range(1, 12):
            rows = a[i - 1 : i + 1]
            found[i, :3] = np.fmax.reduce(rows[:, :3])
            found[i, 3] = np.fmin.reduce(a[i])
            found[i, 4] = np.maximum.reduce(rows[:, i % 3]) - np.minimum.reduce(a[i], axis=-1)
            if a.dtype.kind == "f":
                found[i, 5] = np.add.reduce(a[i]) + np.add.reduce(rows, axis=None)
                found[i, 6] = np.multiply.reduce(a[i, :2])
            real[i, :2] = np.logaddexp.reduce(rows * np.float64(0.5), axis=1)
            real[i, 2:5] = np.logaddexp.reduce(rows[:, :3] + real[i - 1, :3], 0)
            real[i, 5] = np.logaddexp.reduce(real[i, : i % 5 + 1])
            real[i, 6] = np.logical_or.reduce(a[i] > 1) + np.logical_and.reduce(a[i] > 0)
        return found, real

    a = (RNG.random((12, 5)) * 4 - (2 if np.dtype(dtype).kind != "u" else 0)).astype(dtype)
    values = [a, a * 0, a * 0 + (np.iinfo(dtype).max if np.dtype(dtype).kind in "iu" else np.inf)]
    if np.dtype(dtype).kind == "f":
        values += [-values[-1], np.where(a > 0, a, np.nan), a * -0.0]
    for each in values:
        compiled = wb.jit(reduced)
        compare.assert_same(compiled(each), reduced(each), max_ulp=8, reduction_scale=abs(each.astype(float)).max())
        assert not compiled.fallbacks


def test_reductions_of_nothing_by_a_ufunc() -> None:
    for ufunc in (np.logaddexp, np.fmax, np.maximum, np.add):

        def reduced(a, ufunc=ufunc):
            out = np.zeros(9)
            for i in range(9):
                out[i] = ufunc.reduce(a[i : 2 * i])
            return out

        def outcome(f):
            try:
                return f(np.linspace(-1, 1, 20))
            except ValueError as error:
                return type(error)

        compare.assert_same(outcome(wb.jit(reduced)), outcome(reduced), max_ulp=8)


@case(
    np.array([0.0, 1.0, 1.5, 4.0]),
    np.array([2.0, np.inf, np.inf, -1.0]),
    np.array([-1, 0, 0.5, 1, 1.2, 3, 4, 5, np.nan]),
)
def interpolation(xp, fp, x):
    out = np.zeros((x.size, 5))
    for i in range(x.size):
        out[i, 0] = np.interp(x[i], xp, fp)
        out[i, 1:3] = np.interp(x[i : i + 1] * 2, xp, fp)[0]
        out[i, 3] = np.interp(x[i], xp, fp, left=-7, right=None)
        out[i, 4] = np.interp(i, xp[1:2], fp[:1], right=9.0)
    return out


@case(np.array([3.0, np.nan, -0.5, 3.0, np.nan, 7.0]), RNG.integers(0, 4, (7, 6)))
def distinct_numbers(x, table):
    total, kinds = 0.0, np.zeros(len(table), np.int64)
    for i in range(len(table)):
        values, counts = np.unique(table[i], return_counts=True)
        kinds[i] = len(values) * 100 + counts.max()
        total += len(np.unique(x[: i % 7])) + np.unique(table).sum() + values[counts.argmax()]
    return total, kinds


@case(ROWS.copy(), RNG.integers(-9, 9, (8, 5)), np.array([0.25, 0.75, 0.5]))
def numbers_written_where_masks_are_true(a, counts, levels):
    for i in range(len(a)):
        a[i][a[i] > levels[i % 3]] = i
        a[a < levels[0] / 2] += 1.5
        a[i, 1:][a[i, :-1] > 3] *= -1
        a[:, 0][a[::-1, 1] > a[:, 2]] -= i
        counts[counts > 5] = 2.9
        counts[i][a[i] > 1] = -1
        row = a[i]
        row[~(row > 0)] = np.nan
        a[i][a[i] > 0.5] += levels[:1]
        a[i][row > 0.7] *= a[i][row > 0.7]
    return a.sum()


@case(np.arange(6), np.arange(6)[::-1].copy())
def indices_that_are_written_through_themselves(places, others):
    for i in range(5):
        places[others] = places[::-1]
        others[others] = i
    return places


@case(np.linspace(-1, 2, 30), RNG.standard_normal((7, 30)), np.arange(12))
def polynomials_fitted_and_evaluated(x, rows, whole):
    found = np.zeros((len(rows), 4))
    for i in range(len(rows)):
        line = np.polyfit(x, rows[i], 1)
        cubic = np.polyfit(whole[i % 5 :], rows[i, : 12 - i % 5], 3)
        found[i, :2] = line
        found[i, 2] = np.polyval(cubic, x[i]) + np.polyval([1.5, -2.0, i], np.inf)
        found[i, 3] = np.polyval(line, rows[i]).max() + np.polyval(cubic, 2)
    return found


@case(np.round(ROWS * 6).astype(int), RNG.normal(size=30))
def distinct_with_their_places(table, x):
    total = 0.0
    for i in range(len(table)):
        values, first, places = np.unique(table[i], return_index=True, return_inverse=True)
        total += np.bincount(places).max() + first.sum() * values[places[-1]]
        total += np.lexsort((x[: i + 2], np.round(x[: i + 2])))[0]
        if total > 1e6:
            break
    return total


@case(ROWS)
def places_of_two_axes(a):
    total = 0.0
    for k in range(9):
        level = k / 10
        for i, j in np.argwhere(a > level):
            total += a[i, j] * (i - j)
        for i, j in zip(*np.nonzero(a > level)):  # noqa: B905
            total -= a[i, j]
        if total > 1e6:
            break
    return total


@case(RNG.normal(size=40), 12)
def windows_of_a_signal(x, n):
    total = np.zeros(8)
    for k in range(8):
        part = x[k : k + n + k] - x[k]
        total[k] = (part * np.hanning(len(part))).sum() + (part * np.hamming(len(part))).sum()
        total[k] += np.blackman(k).sum() + np.diff(part, n=2).sum() + np.cumsum(part, axis=0)[-1]
        total[k] += np.linspace(0.0, part[0], k + 1, endpoint=False).sum()
        if total[k] > 1e6:
            break
    return np.round(total, 9)


@case(RNG.uniform(-400, 400, 20), np.arange(-9, 11, dtype=np.int32))
def angles_one_by_one(x, whole):
    total = np.zeros(20)
    for i in range(20):
        total[i] = np.deg2rad(x[i]) + np.rad2deg(x[i]) - np.radians(whole[i]) * np.degrees(float(i))
        if total[i] > 1e9:
            break
    return total


@case(ROWS)
def rows_in_lists(a):
    total = np.zeros(6)
    for k in range(6):
        kept, parts = [], []
        for i in range(len(a)):
            if a[i, 0] > k / 10:
                kept.append(a[i] * 2)
                parts.append(a[i, : 1 + i % 4])
        total[k] = np.array(kept)[0, 1] + np.vstack(kept)[-1].sum() + np.concatenate(parts)[-1] + kept[-1][0]
        total[k] += np.stack(parts[:1]).size + np.hstack(parts).max() + len(kept)
        if total[k] > 1e6:
            break
    return total


@case(ROWS, 5)
def shapes_that_the_run_knows(a, n):
    total = 0.0
    for i in range(len(a)):
        k = 1 + i % 2
        m = (a[i, : 2 * k] + 1).reshape(k, 2) * np.ones((k, 2))
        total += m[0].sum() * m.shape[0] + (a[i] * 2).reshape(1, n)[0, -1] + (a[i, :4] + i).reshape(-1, k)[0, 0]
        if total > 1e6:
            break
    return total


@pytest.mark.parametrize(("program", "args"), CASES, ids=lambda v: v.__name__ if callable(v) else "")
def test_it_is_one_step(program: Callable[..., Any], args: tuple) -> None:
    compiled = assert_same(program, *args)
    assert not compiled.fallbacks
    assert "loop" in steps(compiled)


def test_lengths_that_the_loop_decides_are_left_to_the_loop() -> None:
    def halved(x):
        for _ in range(3):
            x = x[x > x.mean()]
        return x

    assert_same(halved, np.arange(40.0))  # it is returned: NumPy runs this


def test_an_array_that_is_written_while_it_is_gone_through() -> None:
    def raised(a):
        total = 0.0
        for x in a.ravel():
            a += 1.0
            total += x
        return total

    assert_same(raised, np.arange(12.0).reshape(3, 4))


def test_many_arrays_are_joined() -> None:
    def joined(x, rows):
        means = np.array([x[i : i + 10].mean() for i in range(60)])
        return means, np.stack([rows[i % 7] * i for i in range(150)]), np.concatenate([x[i:] for i in range(90)])

    rng = np.random.default_rng(4)
    compiled = assert_same(joined, rng.random(300), rng.random((7, 3)))
    assert not compiled.fallbacks


def out_of_range(a, places):
    for i in range(len(a)):
        a[i, places] = i


def singular(a):
    total = np.zeros((2, 2))
    for i in range(len(a)):
        total += np.linalg.inv(a[i])
        a[i, 0, 0] = 7.0
    return total


def another_length(a, m):
    for i in range(len(a)):
        a[i, m] = 1.0


@pytest.mark.parametrize(
    ("program", "args"),
    [
        (out_of_range, (np.zeros((3, 4)), np.array([1, 4]))),
        (out_of_range, (np.zeros((3, 4)), np.array([1, -5]))),
        (singular, (np.array([np.eye(2), np.zeros((2, 2)), np.eye(2)]),)),
        (another_length, (np.zeros((3, 4)), np.array([True, False, True]))),
    ],
    ids=lambda v: v.__name__ if callable(v) else "",
)
def test_what_numpy_refuses_raises(program: Callable[..., Any], args: tuple) -> None:
    assert_same(program, *args)


def test_rows_with_their_numbers_are_one_loop() -> None:
    def filtered(measured, weights):
        state = np.zeros(300)
        history = np.empty_like(measured)
        for t, (z, w) in enumerate(zip(measured, weights, strict=False)):
            state = np.tanh(state + w * (z - state)) + t
            history[t] = state
        return history, t

    rng = np.random.default_rng(0)
    compiled = assert_same(filtered, rng.random((400, 300)), rng.random(400))
    assert not compiled.fallbacks
    (compilation,) = compiled.compilations
    assert len(compilation.plan.steps) < 10


def test_a_ufunc_reduces_a_list_of_traced_arrays() -> None:
    def smallest(a, b):
        return np.minimum.reduce([a[1:], a[:-1], b[1:]]) + np.add.reduce((a[0], b[0]))

    compiled = assert_same(smallest, np.arange(7.0), np.arange(7.0)[::-1].copy())
    assert not compiled.fallbacks


def settled(values, wanted):
    changed = True
    sweeps = 0
    while changed:
        new = np.minimum(values, wanted)
        changed = not np.array_equal(new, values)
        values = new
        sweeps += 1
    return values, sweeps, np.union1d(values, []).size


def test_parts_run_what_the_user_wrote() -> None:
    # The conversion of control flow must leave the syntax alone, from which parts are made.
    compiled = wb.jit(settled)
    rng = np.random.default_rng(3)
    for _ in range(8):
        args = rng.random(60_000), rng.random(60_000)
        expected = settled(*args)
        found = compiled(*args)
        np.testing.assert_array_equal(found[0], expected[0])
        assert found[1:] == expected[1:]
    (reason,) = compiled.fallbacks
    assert "union1d" in str(reason) or "settled" in str(reason), reason


@pytest.mark.parametrize("dtype", numpy_orders.DTYPES)
@pytest.mark.parametrize("n", [1, 5, 16, 40, 300])
def test_equal_elements_come_in_the_order_that_numpy_gives_them(dtype: str, n: int) -> None:
    def orders(rows, level):
        order = np.zeros(rows.shape, np.int64)
        ordered = np.zeros_like(rows)
        last = level
        for i in range(len(rows)):
            order[i] = np.argsort(rows[i])[::-1]
            ordered[i] = np.sort(rows[i])
            last = last * 0.5 + order[i][0] + rows[i][::2].argsort()[-1] + np.argsort(rows[:, 0], kind="quicksort")[i]
        return order, ordered, last

    rows = np.random.default_rng(n).integers(0, 7, (6, n)).astype(dtype)
    compiled = assert_same(orders, rows, 1.0)
    assert np.dtype(dtype) in numpy_orders.order_routines() and not compiled.fallbacks
    assert len(loops_of(compiled)) == 1
    if rows.dtype.kind == "f":
        rows[::2, ::3], rows[1::2, ::2] = np.nan, -0.0
        assert_same(orders, rows, 1.0)


def test_a_routine_that_does_not_do_what_numpy_does_is_not_called() -> None:
    wide, narrow = np.dtype(np.int64), np.dtype(np.int8)  # the narrow one's routine stays within the memory
    assert numpy_orders._is_numpys(wide, *numpy_orders.order_routines()[wide])
    assert not numpy_orders._is_numpys(wide, *numpy_orders.order_routines()[narrow])


@pytest.mark.parametrize("places", [np.array([0, 3, -1, 6]), np.array([[1], [-7]]), np.array([2, -6, 5])])
def test_indices_outside_are_numpys_error(places):
    def moved(x, places):
        total = 0.0
        for i in range(5):
            x[places] = x[places] * 2 + i
            total += x[places].sum()
        return total

    def outcome(function):
        x = np.arange(6.0)
        try:
            return function(x, places), x
        except IndexError as error:
            return str(error), x

    found, expected = outcome(wb.jit(moved)), outcome(moved)
    compare.assert_same(found, expected)


def test_numbers_for_a_mask_that_are_too_many_are_numpys_error():
    def raised(x, y):
        for i in range(5):
            x[x > i] += y

    with pytest.raises(ValueError, match="broadcast"):
        wb.jit(raised)(np.arange(6.0), np.arange(6.0))


def test_a_mask_of_another_length_is_numpys_error():
    def cut(x, y):
        for i in range(5):
            x[y > i] = 0.0

    with pytest.raises(IndexError):
        wb.jit(cut)(np.ones(6), np.arange(5.0))


def test_fits_that_numpy_warns_of_are_numpys():
    def fits(x, rows):
        out = np.zeros(len(rows))
        for i in range(len(rows)):
            out[i] = np.polyfit(x, rows[i], 2)[0]
        return out

    rows = RNG.random((6, 9))
    for x in (np.repeat([1.0, 2.0], [4, 5]), 1e6 + np.arange(9.0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected, found = fits(x, rows), wb.jit(fits)(x, rows)
        np.testing.assert_array_equal(found, expected)


def test_interpolation_has_numpys_values_whatever_the_points_are():
    def interpolated(x, xp, fp):
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = np.interp(x[i], xp, fp)
        return out

    compiled = wb.jit(interpolated)
    for n in (1, 2, 4, 5, 6, 9, 10, 11, 12, 30):
        for points in (np.sort(RNG.integers(0, 12, n) / 2), RNG.random(n) * 6, np.full(n, 2.0)):
            values = RNG.standard_normal(n)
            for broken in (False, True):
                if broken:
                    points[n // 2], values[n // 3] = np.nan, np.inf
                x = np.concatenate([RNG.random(20) * 8 - 1, points, [np.inf, -np.inf, np.nan]])
                np.testing.assert_array_equal(compiled(x, points, values), interpolated(x, points, values))
    assert not compiled.fallbacks


def test_a_comprehension_with_a_routine_is_a_loop() -> None:
    """As an equation, Python would run NumPy's routine for each element."""

    def spread(x, draws):
        middles = np.array([np.median(x[draw]) for draw in draws])
        return middles, middles.std()

    def ordered(x, draws):
        return np.array([np.sort(x[draw])[2] for draw in draws])

    x, draws = RNG.standard_normal(20), RNG.integers(0, 20, (30, 20))
    for function in (spread, ordered):
        compiled = wb.jit(function)
        for _ in range(2):
            for mine, its in zip(compiled(x, draws), function(x, draws), strict=True):
                np.testing.assert_allclose(mine, its, rtol=1e-12)
        assert loops_of(compiled) and not compiled.fallbacks


def test_a_comprehension_that_is_no_loop_stays_one() -> None:
    def program(x, draws):
        pairs = [(np.sort(x[draw]), np.linalg.svd(np.outer(x, x) + np.eye(len(x)))[1]) for draw in draws]
        return sum(a[0] * b[0] for a, b in pairs)

    x, draws = RNG.standard_normal(6), RNG.integers(0, 6, (9, 6))
    compiled = wb.jit(program)
    np.testing.assert_allclose(compiled(x, draws), program(x, draws), rtol=1e-12)
    assert not compiled.fallbacks
