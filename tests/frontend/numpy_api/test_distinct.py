"""What is computed from `np.unique` is compiled, where it needs no array of the distinct values."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

RNG = np.random.default_rng(6)


def entropy(x):
    _, counts = np.unique(x, return_counts=True)
    p = counts / len(x)
    return -(p * np.log2(p)).sum()


def most_frequent(x):
    values, counts = np.unique(x, return_counts=True)
    return values[np.argmax(counts)], counts.max(), values[0], values[-1]


def ties(x):
    _, counts = np.unique(x, return_counts=True)
    return (counts**3 - counts).sum(), np.unique(x).size == x.size, len(np.unique(x)), np.unique(x).shape[0] / 2


def spacing(x):
    values = np.sort(np.unique(x))
    return np.diff(values).min(), np.median(values), values[1:].sum()


INPUTS = {
    "int64": lambda: RNG.integers(0, 9, 200),
    "float64": lambda: RNG.integers(0, 9, 200) / 2.0,
    "with NaN": lambda: np.where(RNG.random(200) < 0.1, np.nan, RNG.integers(0, 9, 200)),
    "bool": lambda: RNG.random(40) < 0.5,
    "uint8": lambda: RNG.integers(0, 3, (20, 10)).astype(np.uint8),
}


@pytest.mark.parametrize("make", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("function", [entropy, most_frequent, ties], ids=lambda f: f.__name__)
def test_they_give_what_numpy_gives(function, make):
    compiled = wb.jit(function)
    for _ in range(3):
        x = make()
        assert_same(compiled(x), function(x), max_ulp=16, reduction_scale=100.0)
    assert not [f for f in compiled.fallbacks if f.code != "WB500"]


@pytest.mark.parametrize("make", [INPUTS["int64"], INPUTS["float64"]], ids=["int64", "float64"])
def test_sorted_values_and_their_differences(make):
    compiled = wb.jit(spacing)
    for _ in range(3):
        x = make()
        assert_same(compiled(x), spacing(x), max_ulp=16, reduction_scale=100.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.unique(x), lambda x: np.unique(x, return_counts=True), lambda x: np.unique(x, return_inverse=True),
        lambda x: np.unique(x.reshape(2, -1), axis=0),
    ],
    ids=["values", "counts", "inverse", "axis"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_arrays_of_them_are_numpys(function):
    x = RNG.integers(0, 9, 40)
    compiled = wb.jit(function)
    assert_same(compiled(x), function(x))
    assert [f.code for f in compiled.fallbacks] == ["WB110"]


def medians(x, y):
    return np.array([np.median(x[y == c]) for c in np.unique(y)])


def table(x, y):
    return {int(c): float(x[y == c].mean()) for c in np.unique(y)}


def between_groups(x, y):
    total = 0.0
    for c in np.unique(y):
        group = x[y == c]
        total += len(group) * (group.mean() - x.mean()) ** 2
    return total


@pytest.mark.parametrize("function", [medians, table, between_groups], ids=lambda f: f.__name__)
def test_groups(function):
    compiled = wb.jit(function)
    for _ in range(3):
        x, y = RNG.standard_normal(300), RNG.integers(0, 5, 300)
        assert_same(compiled(x, y), function(x, y), max_ulp=64, reduction_scale=300.0)
    assert not [f for f in compiled.fallbacks if f.code != "WB500"]


def test_an_element_that_there_is_not():
    compiled = wb.jit(lambda x, k: np.unique(x)[k])
    x = np.array([3, 1, 3])
    assert compiled(x, np.int64(-2)) == 1
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(x, np.int64(2))
