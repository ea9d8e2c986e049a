"""Short last axes: kernels in strips give NumPy's values, for any number of columns with the same source."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb


def normalise(x, mean, scale):
    return np.tanh((x - mean) / (5 * scale))


def column_moments(x, mean, scale):
    return x.sum(axis=0), ((x - mean) ** 2).mean(axis=0), (x / scale).max(axis=0)


def stored_and_summed(x, mean, scale):
    y = np.exp(x - mean)
    return y, y.sum(axis=0), y.min(axis=0) * scale


def of_its_first_row(x, mean, scale):
    return (x - x[0]) * scale, (x * x[-1]).sum(axis=0)


def any_and_all(x, mean, scale):
    return (x > mean).any(axis=0), (x < scale).all(axis=0), (x > 0).sum(axis=0)


def with_the_rows_number(x, mean, scale):
    return x - mean + np.arange(x.shape[0])[:, None], (x * np.arange(x.shape[0])[:, None]).sum(axis=0)


def of_a_transpose(x, mean, scale):
    return (x.T + mean[:, None]).T - scale, x.T.sum(axis=1)


def shifted(x, mean, scale):
    return (x[1:] - x[:-1] * mean).sum(axis=0), x[1:] * x[:-1] - scale


def prefixes(x, mean, scale):
    return x.prod(axis=0), np.abs(x - mean).max(axis=0)


PROGRAMS = [
    normalise, column_moments, stored_and_summed, of_its_first_row, any_and_all, with_the_rows_number, of_a_transpose,
    shifted, prefixes,
]  # fmt: skip
SHAPES = [(7, 3), (1000, 3), (40_001, 2), (5000, 10), (129, 511), (3, 513), (700, 1100), (2, 3000), (1, 4), (2, 1)]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_numpys(program, dtype):
    rng = np.random.default_rng(0)
    f = wb.jit(program)
    for shape in SHAPES:
        x = rng.uniform(0.5, 1.5, shape).astype(dtype)
        mean, scale = rng.uniform(0.5, 1.5, (2, shape[1])).astype(dtype)
        for given in (x, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2]):
            for mine, expected in zip(_tuple(f(given, mean, scale)), _tuple(program(x, mean, scale)), strict=True):
                assert (mine.shape, mine.dtype) == (expected.shape, expected.dtype)
                rtol = 1e-12 if dtype == np.float64 else 1e-4
                np.testing.assert_allclose(mine, expected, rtol=rtol, atol=rtol, err_msg=str(shape))


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)


def test_no_rows_and_no_columns():
    f = wb.jit(lambda x, mean: (x - mean, (x - mean).sum(axis=0)))
    for shape in ((0, 3), (4, 0), (0, 0)):
        x, mean = np.empty(shape), np.ones(shape[1])
        rest, total = f(x, mean)
        assert rest.shape == shape
        np.testing.assert_array_equal(total, np.zeros(shape[1]))


@pytest.mark.parametrize("shape", [(5, 4, 3), (60, 50, 3), (2, 700, 7), (1, 9, 2)])
def test_leading_axes_together(shape):
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape)

    def program(x):
        centred = x - x.mean(axis=(0, 1))
        return centred / (1 + x.std(axis=(0, 1))), x.max(axis=(0, 1))

    for mine, expected in zip(wb.jit(program)(x), program(x), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-12, atol=1e-14)


def test_operands_of_several_last_axes():
    x, y = np.random.default_rng(2).normal(size=(30, 4, 5)), np.linspace(-1, 1, 20).reshape(4, 5)

    def program(x):
        return np.sin(x + y) * np.arange(5) - y[:, :1]

    np.testing.assert_allclose(wb.jit(program)(x), program(x), rtol=1e-13, atol=1e-15)


def test_one_kernel_for_any_number_of_columns():
    f = wb.jit(lambda x, m: (np.exp(x - m), (x * m).sum(axis=0)))
    texts = set()
    for columns in (2, 3, 10, 64, 600, 1999):
        f(np.ones((50, columns)), np.ones(columns))
        texts.add(tuple(kernel.source for kernel in f.compilations[-1].kernels.values()))
    assert len(texts) == 1
    assert "strip" in texts.pop()[0]


def test_column_sums_are_more_accurate_than_adding_row_by_row():
    rng = np.random.default_rng(3)
    x = (rng.normal(size=(200_003, 3)) * 10.0 ** rng.integers(-4, 4, (200_003, 3))).astype(np.float32)
    exact = x.astype(np.longdouble).sum(axis=0)
    total = wb.jit(lambda x: x.sum(axis=0))(x)
    pairwise = np.array([np.ascontiguousarray(column).sum() for column in x.T])
    assert (abs(total - exact) <= abs(pairwise - exact) + np.spacing(abs(exact).astype(np.float32))).all()


def test_infinities_and_nans_reach_their_columns_only():
    x = np.ones((3000, 3))
    x[1234, 1], x[77, 2], x[78, 2] = np.nan, np.inf, -np.inf
    f = wb.jit(lambda x: (x.sum(axis=0), x.max(axis=0), x.min(axis=0)))
    with np.errstate(invalid="ignore"):
        expected = x.sum(axis=0), x.max(axis=0), x.min(axis=0)
    for mine, reference in zip(f(x), expected, strict=True):
        np.testing.assert_array_equal(mine, reference)


def test_results_do_not_depend_on_the_number_of_threads():
    x = np.random.default_rng(4).normal(size=(100_000, 7))
    results = set()
    for threads in (1, 2, 3):
        with wb.config(threads=threads):
            results.add(wb.jit(lambda x: (x * x).sum(axis=0))(x).tobytes())
    assert len(results) == 1


def test_columns_chosen_by_columns():
    def f(a):
        b = a + a
        return np.broadcast_to(b, (2, *b.shape))[:, [-2, -1]]

    x = np.random.default_rng(5).random((8, 9)) + 1j
    np.testing.assert_array_equal(wb.jit(f, strict=True)(x), f(x))
