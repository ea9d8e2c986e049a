"""Slices whose bounds only the run tells: NumPy's values, NumPy's views, NumPy's errors."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

NUMBERS = {
    "sum": lambda x, a, b: x[a:b].sum(),
    "to the end": lambda x, a, b: x[a:].mean(),
    "from the beginning": lambda x, a, b: (x[:b] * 2 + 1).sum(),
    "max": lambda x, a, b: x[a:b].max(),
    "argmax": lambda x, a, b: np.argmax(x[:b]),
    "argmin": lambda x, a, b: x[a:b].argmin(),
    "first": lambda x, a, b: x[a:b][0],
    "last": lambda x, a, b: x[a:b][-1],
    "any element": lambda x, a, b: x[a:][b],
    "part of it": lambda x, a, b: x[a:b][1:-2].sum(),
    "part of it by another bound": lambda x, a, b: x[a:][:b].sum(),
    "how many": lambda x, a, b: (x[a:b].shape[0], x[a:b].size),
    "with itself": lambda x, a, b: x[a:b] @ x[a:b] + np.dot(x[a:b], x[a:b]),
    "running sum": lambda x, a, b: np.cumsum(x[a:b])[-1],
    "from its mean": lambda x, a, b: np.abs(x[a:b] - x[a:b].mean()).max(),
    "another dtype": lambda x, a, b: x[a:b].astype(np.float32).sum(),
    "of what is true": lambda x, a, b: x[a:b][x[a:b] > 0].sum(),
}


def zeros(x, a, b):
    x[a:b] = 0
    return x


def in_place(x, a, b):
    x[a:b] += 1
    x[a:b] -= x[a:b].mean()
    return x


def through_a_view(x, a, b):
    y = x[a:b]
    y *= 2
    y[y < 0] = 0.5
    return x, y.sum()


def one_element_of_a_view(x, a, b):
    y = x[a:b]
    y[-1] = 4
    y[1] += 2
    return x, np.abs(y)[0], y.mean()


def all_of_a_view(x, a, b):
    y = x[a:b]
    y[:] = 4
    z = y[1:]
    z += 1
    return x, z.sum()


def copy_of_it(x, a, b):
    y = x[a:b].copy()
    y += 1
    x[a:b] *= 2
    return x, y.sum()


def computed_from_it(x, a, b):
    y = x[a:b] * 2
    y[y < 0] = 0
    y[0] = 7
    return x, y.sum(), y[-1], y[1:].sum()


def read_after_a_write(x, a, b):
    y = x[a:b]
    x[0] = 5
    return y.sum()


def written_to_between(x, a, b):
    y = x[a:b]
    z = y * 2
    x += 1
    y *= 3
    x[::2] -= 1
    y[0] -= 1
    return x, y.sum(), z.sum(), y[1:].mean()


def of_matrices(x, a, b):
    m = np.outer(x, x)
    m[a:b] = 0
    m[:, a:b] += 1
    return m, m[a:b].sum(axis=0), m[1, a:b].sum(), m[:, b:].sum(), m[2:, a:].mean(axis=1)


def bounds_that_are_computed(x, a, b):
    i = np.argmin(x)
    j = np.searchsorted(np.sort(x), 0.5)
    return x[: i + 1].sum(), x[i:].max(), x[:j].sum(), x[max(int(i) - 2, 0) : i + 3].mean()


WRITES = [
    zeros, in_place, through_a_view, one_element_of_a_view, all_of_a_view, copy_of_it, computed_from_it,
    read_after_a_write, written_to_between, of_matrices, bounds_that_are_computed,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [*NUMBERS.values(), *WRITES], ids=[*NUMBERS, *(f.__name__ for f in WRITES)])
def test_slices_give_what_numpys_give(function):
    rng = np.random.default_rng(5)
    compiled = wb.jit(function)
    for _ in range(25):
        x = rng.standard_normal(12)
        a, b = np.int64(rng.integers(-15, 16)), np.int64(rng.integers(-15, 16))
        outcomes = []
        for each in (function, compiled):
            given = x.copy()
            try:
                outcomes.append((each(given, a, b), given))
            except (ValueError, IndexError) as error:
                outcomes.append(type(error))
        expected, found = outcomes
        if isinstance(expected, type):
            assert found is expected
        else:
            assert_same(found, expected, max_ulp=16, reduction_scale=100.0)


@pytest.mark.parametrize("function", [NUMBERS["argmax"], in_place, written_to_between, bounds_that_are_computed])
def test_they_are_compiled(function):
    x = np.random.default_rng(6).standard_normal(200_000)
    compiled = wb.jit(function)
    compiled(x.copy(), np.int64(30), np.int64(180_000))
    assert not compiled.fallbacks


def test_places_of_extremes_that_are_no_numbers_or_all_alike():
    for values in ([np.nan, 1, 2], [1, np.nan, np.nan, 3], [-np.inf] * 3, [-np.inf, -np.inf, -5], [2, 3, 3, 1]):
        x = np.array([9.0, -np.inf, *values, 11.0])
        a, b = np.int64(2), np.int64(len(x) - 1)
        for place in (np.argmax, np.argmin):
            assert wb.jit(lambda x, a, b: place(x[a:b]))(x, a, b) == place(x[a:b])  # noqa: B023
            chosen = np.isin(np.arange(len(x)), [2, 4])
            assert wb.jit(lambda x, m: place(x[m]))(x, chosen) == place(x[chosen])  # noqa: B023


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_places_of_extremes_of_whole_numbers(dtype):
    rng = np.random.default_rng(7)
    for _ in range(20):
        x = rng.integers(0, 2, 9).astype(dtype)
        a, b = np.int64(rng.integers(0, 4)), np.int64(rng.integers(5, 9))
        assert wb.jit(lambda x, a, b: (np.argmax(x[a:b]), np.argmin(x[a:b])))(x, a, b) == (
            np.argmax(x[a:b]), np.argmin(x[a:b])
        )  # fmt: skip
