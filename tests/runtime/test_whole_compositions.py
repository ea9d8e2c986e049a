"""Functions that run whole with NumPy's functions that are others put together: NumPy's results, types and errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from workbench.runtime.parts.whole_functions import WholeFunction

RNG = np.random.default_rng(11)


def some(x):
    """As many as the run tells, which tracing cannot follow."""
    return x[x > -5]


def spreads(x, m, i):
    y = some(x)
    return (np.std(y, ddof=1), m.std(axis=0, ddof=1), np.var(m, axis=1, ddof=2, keepdims=True), np.var(i, ddof=1),
            np.std(m, ddof=1))  # fmt: skip


def bounds(x, m, i):
    y = some(x)
    return (np.clip(y, None, 0.5), y.clip(min=0), m.clip(-1, 1), np.clip(i, 2, None), max(y), min(y),
            np.select([y > 0, y < -1], [y, -y], 0.25))  # fmt: skip


def memberships(x, m, i):
    y = some(x)
    return (np.isin(i, [1, 2, 3]), np.isin(y, x[:3]), np.isin(m, m[:, 0]), np.array_equal(y, x), np.array_equal(i, i),
            np.array_equal(m, m.T), np.array_equal(y, m))  # fmt: skip


def quantiles(x, m, i):
    y = some(x)
    return (np.percentile(y, 30), np.percentile(y, [0, 10, 100]), np.quantile(m, 0.7), np.percentile(i, 25),
            np.nansum(y), np.nansum(m, axis=0), np.nanmean(y), np.nanmean(m, axis=1))  # fmt: skip


def convolutions(x, m, i):
    y = some(x)
    return (np.convolve(y, np.ones(3) / 3, mode="same"), np.convolve(y, [0.2, 0.5, 0.3]), np.convolve(i, i),
            np.convolve(y, np.ones(4), "valid"), np.convolve(y[:2], np.ones(4), "same"))  # fmt: skip


def joined(x, m, i):
    y = some(x)
    return (np.column_stack((y, y**2)), np.concatenate([m, m * 2]), np.concatenate((m, m[:, :1]), axis=1),
            np.concatenate((y, y), axis=0), np.vstack([m, m + 1]), np.hstack((m, 2 * m)), np.hstack([y, y]))  # fmt: skip


def by_index(x, m, i):
    y = some(x)
    return (np.r_[y[0], y, y[-1]], np.r_[0, np.cumsum(y)], np.r_[0:5, i], np.r_[1, 2, 3], np.c_[y, y * 2],
            np.r_[y, m[0]], np.r_[: len(y) : 2], np.c_[i, i][:, 1], sorted(i), sorted(y)[:2], sorted(i)[len(i) // 2])  # fmt: skip


def many_times(x, m, i):
    y = some(x)
    across, down = np.meshgrid(y, i)
    first, second = np.meshgrid(y, i, indexing="ij")
    return np.repeat(y, 2), y.repeat(len(i)), np.tile(y, 3), across, down, first, second, y.nonzero()[0]


def in_rows(x, m, i):
    y = some(x)
    return (np.sort(m, axis=1), np.sort(m, axis=0), np.sort(m), np.argsort(m, axis=1, kind="stable"),
            np.argsort(m, axis=0, kind="stable"), np.count_nonzero(m > 0, axis=0), y[:1])  # fmt: skip


def running(x, m, i):
    y = some(x)
    return (np.cumsum(m, axis=0), np.cumsum(m, axis=1), np.cumprod(m, axis=-1), np.cumsum(y), np.cumsum(i),
            np.cumsum(y > 0), (m > 0).cumsum(axis=1), np.cumsum(i.astype(np.uint8) + 250), np.cumprod(i.astype(np.int16)),
            ord("b") + i)  # fmt: skip


def inputs():
    x, m, i = RNG.normal(size=30), RNG.normal(size=(6, 4)), RNG.integers(0, 6, 12)
    broken, ties = x.copy(), np.round(m)
    broken[[3, 4, 9, 11]] = np.nan, np.inf, -np.inf, -0.0
    yield x, m, i
    yield broken, ties, i
    yield x[::-2], m.T, i[::3]
    yield x[:1], m[:1, :2], i[:1]
    yield x[:2], m[:, :1], i[:2]
    yield x[:0], m[:0], i[:0]
    yield x, np.where(m > 1, np.nan, m), i


FUNCTIONS = (spreads, bounds, memberships, quantiles, convolutions, joined, by_index, many_times, in_rows, running)

SUMMED = {spreads: 10.0, quantiles: 10.0, convolutions: 10.0}  # what was added up in another order, at most


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_results_are_numpys(function):
    compiled = wb.jit(function)
    for args in inputs():
        try:
            expected = function(*args)
        except Exception as error:
            with pytest.raises(type(error)):
                compiled(*args)
            continue
        for _ in range(2):
            assert_same(compiled(*args), expected, reduction_scale=SUMMED.get(function))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_they_run_whole(function):
    args = next(inputs())
    whole = WholeFunction.of(function, wb.jit(function).source())
    assert whole is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = whole.run(args, {})
    assert done is not None and not whole.refused


def test_other_arguments_than_these_are_numpys():
    def refused(x, m):
        y = some(x)
        return (np.percentile(y, 30, method="lower"), np.clip(y, a_min=-1, a_max=m.min(axis=0)[0]), np.repeat(m, 2),
                np.tile(m, (2, 1)), np.convolve(y.astype(np.float32), np.ones(2, np.float32)), np.std(y, ddof=0.5),
                np.concatenate([m, m], axis=None), np.sort(m, axis=None))  # fmt: skip

    x, m, _ = next(inputs())
    compiled = wb.jit(refused)
    for _ in range(2):
        assert_same(compiled(x, m), refused(x, m))


def test_choices_that_numpy_does_not_cast_raise():
    def chosen(x, c):
        y = some(x)
        return np.select([c == 1, c == 2], [2, 3], default=c), y

    def traced(c):
        return np.select([c == 1, c == 2], [2, 3], default=c)

    x = np.arange(3.0)
    for function, args in ((chosen, (x,)), (traced, ())):
        compiled = wb.jit(function)
        for dtype in (np.uint8, np.int32, np.int64, np.float32, np.float64):
            c = np.arange(6, dtype=dtype)
            for _ in range(2):
                try:
                    expected = function(*args, c)
                except TypeError:
                    with pytest.raises(TypeError):
                        compiled(*args, c)
                else:
                    assert_same(compiled(*args, c), expected)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reduce", [np.argmax, np.argmin, np.max, np.min, np.ptp], ids=lambda f: f.__name__)
def test_no_lines_of_no_elements_have_no_largest_one(reduce, axis):
    def extremes(x, least):
        y = x[x[:, 0] > least]
        return reduce(y[:, : len(y)], axis=axis)

    x = RNG.normal(size=(5, 5))
    compiled = wb.jit(extremes)
    for least in (9.0, -9.0, 9.0, 0.0) * 4:
        try:
            expected = extremes(x, least)
        except ValueError:
            with pytest.raises(ValueError, match="zero-size|empty sequence"):
                compiled(x, least)
        else:
            assert_same(compiled(x, least), expected)
