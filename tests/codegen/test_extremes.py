"""Extremes and where they are, over lengths around the sizes of blocks and parts: NumPy's results, ties and NaN too."""

import numpy as np
import pytest

import workbench as wb
from workbench.codegen.nests import PART, SEARCHED

LENGTHS = (
    1,
    7,
    47,
    SEARCHED,
    SEARCHED + 1,
    1000,
    PART,
    PART + 3,
    3 * PART + SEARCHED + 5,
)
DTYPES = (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_)


def positions(x):
    return x.argmax(), x.argmin(), x.max(), x.min()


def by_rows(x):
    return x.argmax(axis=1), x.argmin(axis=1), x.max(axis=1), x.min(axis=1)


def check(function, x):
    for found, expected in zip(wb.jit(function)(x), function(x), strict=True):
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(found, expected)


def sample(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.normal(size=shape).astype(dtype)
    return rng.integers(0, 2 if dtype == np.bool_ else 200, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_first_of_equals(dtype):
    for n in LENGTHS:
        x = sample(dtype, n, n)
        check(positions, x)
        check(positions, np.full(n, x[0]))
        check(positions, np.sort(x))
        check(positions, np.sort(x)[::-1].copy())
        check(by_rows, np.stack([x, x[::-1], np.full(n, x[0])]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [SEARCHED + 44, PART + SEARCHED])
def test_the_first_nan_is_both_extremes(dtype, n):
    for places in ([0], [n - 1], [n // 2, n // 2 + 1], [SEARCHED - 1, SEARCHED], [n - 1, 3]):
        x = sample(dtype, n, 1)
        x[places] = np.nan
        check(positions, x)
        check(by_rows, np.stack([x, sample(dtype, n, 2)]))


@pytest.mark.parametrize("n", [48, PART + 1])
def test_nothing_better_than_the_worst(n):
    for worst in (
        np.full(n, -np.inf),
        np.full(n, np.inf),
        np.full(n, np.iinfo(np.int64).min),
        np.full(n, 255, np.uint8),
    ):
        check(positions, worst)
        check(by_rows, np.stack([worst] * 3))


def test_positions_of_what_the_kernel_computes_beside_sums():
    def f(x, y):
        z = np.exp(x) * y - x
        return z.argmax(axis=1), z.argmin(axis=1), (x * y).sum(axis=1), np.argmax(z + 1)

    x, y = np.random.default_rng(0).normal(size=(2, 40, 700))
    found = wb.jit(f)(x, y)
    for k in (0, 1, 3):
        np.testing.assert_array_equal(found[k], f(x, y)[k])
    np.testing.assert_allclose(found[2], f(x, y)[2], rtol=1e-13)


def test_the_same_on_any_number_of_threads():
    x = np.random.default_rng(0).integers(0, 50, 1_000_000).astype(float)
    results = []
    for threads in (1, 2, 3):
        with wb.config(threads=threads):
            results.append(wb.jit(lambda x: (x.argmax(), x.argmin(), x.max()))(x))
    assert results[0] == results[1] == results[2] == (x.argmax(), x.argmin(), x.max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 700), (2, 513), (9, 1030), (16, 512), (17, 600), (40, 5), (3, 4, 530)])
def test_few_rows_of_many_columns(dtype, shape):
    def f(x):
        return x.argmax(axis=0), x.argmin(axis=0), x.max(axis=0), x.min(axis=0), x.any(axis=0), x.sum(axis=0)

    x = sample(dtype, shape, 5)
    for found, expected in zip(wb.jit(f)(x), f(x), strict=True):
        assert found.dtype == expected.dtype
        if dtype in (np.float32, np.float64):
            np.testing.assert_allclose(found, expected, rtol=0, atol=20 * np.finfo(dtype).eps)
        else:
            np.testing.assert_array_equal(found, expected)
