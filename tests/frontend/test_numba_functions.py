"""Functions that numba compiles, among traced code: their sources are traced, and give what numba hands over."""

import numba
import numpy as np
import pytest

import workbench as wb


@numba.njit
def first_doubled(x):
    return x[0] * np.float64(2)


@numba.njit
def weighted_sum(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * first_doubled(x)
    return total


@numba.njit
def several(x):
    return x.sum(), x.argmax(), x[0] > 1, x * 2


def compute(x):
    return weighted_sum(x), *several(x), weighted_sum(x) * np.ones(2, np.float32), np.exp(x) * first_doubled(x)


@pytest.mark.parametrize("dtype", [float, np.float32, np.int64, np.complex128])
def test_results_are_of_the_types_that_numba_gives(dtype):
    x = np.arange(1, 6).astype(dtype)
    f = compute if np.dtype(dtype).kind != "c" else lambda x: (weighted_sum(x.real), first_doubled(x.real), x.sum())
    ours = wb.jit(f)
    for _ in range(3):
        for mine, numbas in zip(ours(x), f(x), strict=True):
            assert type(mine) is type(numbas)
            np.testing.assert_allclose(mine, numbas, rtol=1e-6)
            assert getattr(mine, "dtype", None) == getattr(numbas, "dtype", None)
    assert not ours.fallbacks
