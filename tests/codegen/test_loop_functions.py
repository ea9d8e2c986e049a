"""Folds and products that translated loops call: NumPy's values for any dtype, length, order and distance of the
elements."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from workbench.codegen.loops import folds, products
from workbench.codegen.loops.elements import loose
from workbench.primitives import numpy_libraries

RNG = np.random.default_rng(3)
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -1.5])
steps = st.sampled_from((1, -1, 2, -3))
lengths = st.integers(1, 20) | st.integers(100, 400)


def row(length: int, step: int, dtype: str = "float64", special: int = 0, seed: int = 0) -> np.ndarray:
    """Numbers that lie `step` apart, `special` of which are no ordinary ones."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-5, 6, length) if np.dtype(dtype).kind in "iu" else rng.standard_normal(length)
    values[rng.integers(length, size=special)] = rng.choice(SPECIAL if dtype.startswith("f") else [0, 1], special)
    laid = np.zeros(length * abs(step), dtype)[::step]
    laid[:] = values
    return laid


@numba.njit(error_model="numpy")
def extremes(a, zero):
    places = folds.array_argmax(a, 0), folds.array_argmin(a, 0)
    return folds.array_max(a, zero), folds.array_min(a, zero), places


@numba.njit(error_model="numpy")
def any_all_and_count(a):
    return folds.array_any(a, False), folds.array_all(a, False), folds.how_many(a)


@numba.njit(error_model="numpy")
def sums(a, zero):
    return folds.array_sum(a, zero), folds.array_mean(a, zero), folds.array_var(a, zero), folds.array_std(a, zero)


@numba.njit(error_model="numpy")
def dot(a, b):
    return products.dot(a, b)


@numba.njit(error_model="numpy")
def ends(a):
    return folds.least_of(a), folds.most_of(a), folds.ends_of(a)


@settings(max_examples=150, deadline=None)
@given(lengths, steps, st.sampled_from(("float64", "float32", "int64", "int8", "uint8", "bool")), st.integers(0, 3),
       st.integers(0, 99))  # fmt: skip
@example(300, 1, "float64", 200, 1)
@example(300, 2, "float32", 200, 1)
def test_extremes_and_where_they_are(length, step, dtype, special, seed):
    a = row(length, step, dtype, special, seed)
    most, least, places = extremes(a, a.dtype.type(0))
    np.testing.assert_array_equal((most, least), (a.max(), a.min()))
    assert places == (np.argmax(a), np.argmin(a))


@pytest.mark.parametrize("n", [1, 17, 129, 1000])
def test_the_first_of_equal_extremes_and_of_what_is_no_number(n):
    for values in ([1.0] * n, [0.0, -0.0] * n, [np.nan] * n, [1.0] * n + [np.nan, 2.0, np.nan], [-np.inf] * n):
        a = np.array(values)
        assert extremes(a, 0.0)[2] == extremes(np.repeat(a, 2)[::2], 0.0)[2] == (np.argmax(a), np.argmin(a))


def test_an_empty_row_has_no_extremes():
    for fold in (folds.array_max, folds.array_argmin):
        with pytest.raises(ValueError):
            numba.njit(lambda a, fold=fold: fold(a, 0))(np.zeros(0))


@settings(max_examples=100, deadline=None)
@given(lengths, steps, st.sampled_from(("bool", "float64", "int32")), st.sampled_from((0.0, 0.01, 0.99, 1.0)),
       st.integers(0, 99))  # fmt: skip
def test_any_all_and_how_many(length, step, dtype, share, seed):
    a = row(length, step, dtype)
    a[:] = np.random.default_rng(seed).random(length) < share
    assert any_all_and_count(a) == (a.any(), a.all(), np.count_nonzero(a))


@settings(max_examples=100, deadline=None)
@given(lengths, steps, st.sampled_from(("float64", "float32")), st.integers(0, 99))
def test_sums_are_as_accurate_as_numpys(length, step, dtype, seed):
    a = row(length, step, dtype, 0, seed) + np.dtype(dtype).type(1000)
    wide = a.astype(np.longdouble)
    rtol = 4 * np.finfo(dtype).eps
    exact = wide.sum(), wide.mean(), wide.var(), wide.std()
    found = sums(a, a.dtype.type(0))
    np.testing.assert_allclose(found[:2], exact[:2], rtol=rtol)
    np.testing.assert_allclose(found[2:], exact[2:], rtol=rtol, atol=1e6 * np.finfo(dtype).eps ** 2)


@settings(max_examples=100, deadline=None)
@given(lengths, steps, steps, st.sampled_from(("float64", "float32", "complex128", "int64")), st.integers(0, 99))
def test_products_of_vectors_in_any_direction(length, step, other, dtype, seed):
    a, b = row(length, step, dtype, 0, seed), row(length, other, dtype, 0, seed + 1)
    scale = float(np.abs(a).astype(float) @ np.abs(b)) + 1
    eps = np.finfo("float32" if dtype == "float32" else "float64").eps
    np.testing.assert_allclose(dot(a, b), a @ b, rtol=0, atol=20 * eps * scale)
    with pytest.raises(ValueError):
        dot(a, np.append(b, b))


@pytest.mark.parametrize("shape", [(0,), (7,), (3, 4)])
def test_ends_of_integers(shape):
    a = RNG.integers(-9, 9, shape)
    for x in (a, a.T, a[::-1]):
        least, most = (x.min(), x.max()) if x.size else (0, 0)
        assert ends(x) == (least, most, (least, most))


def matrix(rows: int, columns: int, how: str, dtype: str) -> np.ndarray:
    a = RNG.standard_normal((rows, columns)).astype(dtype)
    if how == "transposed":
        return np.asfortranarray(a)
    if how == "apart":
        return np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2]
    if how == "within":
        return np.pad(a, ((0, 1), (1, 2)))[:rows, 1 : columns + 1]
    return np.flip(a.copy()) if how == "flipped" else a


HOW = ("stored", "transposed", "apart", "within", "flipped")


@pytest.mark.skipif(numpy_libraries.gemm(np.dtype("f8")) is None, reason="NumPy's BLAS cannot be called by address")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("sizes", [(3, 4, 5), (9, 8, 20), (33, 17, 1), (1, 900, 2), (40, 1, 30), (0, 50, 50)])
def test_products_of_matrices_by_blas_have_numpys_bits(sizes, dtype):
    multiply = products.FUNCTIONS["numpys_product_f64" if dtype == "float64" else "numpys_product_f32"]
    compiled = numba.njit(lambda a, b: multiply(loose(a), loose(b)))
    m, k, n = sizes
    for how_a in HOW:
        for how_b in HOW:
            a, b = matrix(m, k, how_a, dtype), matrix(k, n, how_b, dtype)
            found, expected = compiled(a, b), a @ b
            if m * k * n >= 400 and min(m, k, n) > 1 and not {"apart", "flipped"} & {how_a, how_b}:
                np.testing.assert_array_equal(found, expected)
            np.testing.assert_allclose(found, expected, rtol=0, atol=40 * np.finfo(dtype).eps * k)
    with pytest.raises(ValueError):
        compiled(a, np.ones((k + 1, n), dtype))
