"""Histograms of equal bins count as NumPy does, for numbers of every type on and beside the edges."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb


def counts(x, w):
    return np.histogram(x, 50)


def within_a_range(x, w):
    return np.histogram(x, 20, range=(-1.0, 0.5))


def sums_of_weights(x, w):
    return np.histogram(x, 30, weights=w, range=(-2, 2))


def weights_of_few_bits(x, w):
    return np.histogram(x, 7, weights=w.astype(np.float32))


def densities(x, w):
    return np.histogram(x, 13, density=True)


def edges_that_are_given(x, w):
    return np.histogram(x, [-1, 0, 0.5, 3])


def of_what_is_computed(x, w):
    found, edges = np.histogram(np.round(x * 0.5, 1) + 1, bins=8)
    return found * 2, edges[1:]


def outcome(program: Callable[..., Any], *args: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return program(*args)
        except ValueError as error:  # of numbers that are not finite
            return (np.array(str(error)),)


PROGRAMS = [
    counts, within_a_range, sums_of_weights, weights_of_few_bits, densities, edges_that_are_given, of_what_is_computed,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i1", "u1", "u8", "?"])
@pytest.mark.parametrize("n", [0, 1, 2, 100, 70_000])
def test_as_numpy(program: Callable[..., Any], dtype: str, n: int) -> None:
    rng = np.random.default_rng(n)
    compiled = wb.jit(program)
    for scale in (1.0, 40.0, 1e300, 1e-320, 0.0):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = (np.round(rng.normal(size=n), 1) * scale).astype(dtype)
        for special in (None, np.nan, np.inf) if n and dtype[0] == "f" and scale == 1.0 else (None,):
            if special is not None:
                x[n // 2] = special
            w = rng.normal(size=n)
            mine, its = outcome(compiled, x, w), outcome(program, x, w)
            assert len(mine) == len(its)
            for a, b in zip(mine, its, strict=True):
                assert a.dtype == b.dtype and a.shape == b.shape
                if program is densities and a.dtype.kind == "f":
                    np.testing.assert_allclose(a, b, rtol=1e-6)
                else:
                    np.testing.assert_array_equal(a, b)


def test_two_histograms_of_one_array_ask_once_where_its_elements_are():
    def mean_by_radius(r, x):
        return np.histogram(r, 20, weights=x)[0] / np.histogram(r, 20)[0]

    r, x = np.random.default_rng(0).random((2, 5000))
    np.testing.assert_array_equal(wb.jit(mean_by_radius)(r, x), mean_by_radius(r, x))
    calls = [e.params["name"] for e in wb.make_jaxpr(mean_by_radius)(r, x).eqns if e.primitive.name == "numpy_call"]
    assert sorted(calls) == ["histogram_bin_edges", "histogram_bin_edges", "sums_in_bins", "sums_in_bins"]
    shared = [row for stage in wb.explain(mean_by_radius)(r, x).stages[-1:] for row in stage.equations]
    assert sum("take" in str(row.op) or "gather" in str(row.op) for row in shared) <= 2
