"""Float products along axes have NumPy's bits, also where one on the way is infinite, or so small that it is zero."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((300, 40), -1),
        ((300, 40), 0),
        ((2000, 7), 0),
        ((40, 50, 60), 1),
        ((40, 50, 60), (1, 2)),
        ((9, 1), 1),
        ((0, 3), 0),
    ],
)
def test_products_overflow_where_numpys_do(shape, axis, dtype):
    powers = np.random.default_rng(len(shape)).integers(-60, 61, shape).astype(dtype)

    def product(x):
        return np.prod(np.exp2(x) * 1.25, axis=axis), np.sum(x, axis=axis)

    compiled = wb.jit(product)
    for x in (powers, powers if isinstance(axis, tuple) else np.asfortranarray(powers)):
        with np.errstate(all="ignore"):
            expected = product(x)
        assert_same(compiled(x)[0], expected[0])
    assert not compiled.fallbacks


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 17), (1, 8192), (17,), (600,), (8192,), (30, 40)])
def test_full_products_of_few_elements_overflow_where_numpys_do(shape, dtype):
    """Seed 440015267 of the random programs: a product of parts was NaN where NumPy had reached zero first."""
    random = np.random.default_rng(sum(shape))

    def product(x):
        return np.prod(x * 1.5, axis=-1) if x.shape[0] == 1 else np.prod(x * 1.5)

    compiled = wb.jit(product)
    limits = np.finfo(dtype)
    for _ in range(20):
        x = np.exp2(random.integers(-60, 61, shape)).astype(dtype) * random.choice([-1, 1], shape).astype(dtype)
        wild = random.integers(0, x.size, 4)
        x.flat[wild] = random.choice([limits.tiny, -0.0, limits.max, np.inf], 4)
        with np.errstate(all="ignore"):
            expected = product(x)
            actual = compiled(x)
        assert_same(actual, expected)
    assert not compiled.fallbacks
