"""Prefix sums, products and extremes in kernels of their own: NumPy's bits for every dtype, axis and layout."""

import numpy as np
import pytest

import workbench as wb
from workbench.codegen.scans import MIN_ELEMENTS, scan_kernel
from workbench.primitives.scans import cumsum_p
from workbench.runtime.native import kernels

SHAPES = [(1025,), (31, 31, 4), (40, 50, 3), (3, 700, 5), (700, 3), (3, 1000), (2, 3, 600), (1, 1100), (1100, 1)]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint8", "int16"])
@pytest.mark.parametrize(
    "function", [np.cumsum, np.cumprod, np.maximum.accumulate, np.minimum.accumulate], ids=lambda f: f.__qualname__
)
def test_scans_give_numpys_bits_along_every_axis(function, dtype):
    rng = np.random.default_rng(0)

    def scanned(x, axis):
        return function(x, axis=axis, dtype=x.dtype)

    for shape in SHAPES:
        x = rng.uniform(-3, 3, shape).astype(dtype) if dtype[0] == "f" else rng.integers(0, 100, shape).astype(dtype)
        assert x.size >= MIN_ELEMENTS
        for axis in range(x.ndim):
            compiled = wb.jit(scanned, static_argnames="axis")
            for array in (x, x.T, x[::-1]):
                with np.errstate(all="ignore"):
                    expected = scanned(array, axis)
                found = compiled(array, axis=axis)
                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(found, expected)


def test_scans_hand_on_what_is_not_finite():
    x = np.ones((60, 40))
    x[3, 5], x[30, 7], x[31, 7], x[2, 9] = np.nan, np.inf, -np.inf, -0.0
    for axis in (0, 1):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(wb.jit(lambda x: np.cumsum(x, axis))(x), np.cumsum(x, axis))  # noqa: B023
    zeros = np.full((40, 50), -0.0)
    np.testing.assert_array_equal(np.signbit(wb.jit(lambda x: np.cumsum(x, 1))(zeros)), np.signbit(np.cumsum(zeros, 1)))


@pytest.mark.parametrize("n", [1024, 1031, 2000])
@pytest.mark.parametrize("extreme", [np.maximum, np.minimum], ids=lambda f: f.__name__)
def test_extremes_hand_on_what_is_not_finite(extreme, n):
    rng = np.random.default_rng(n)
    for special in (np.nan, np.inf, -np.inf, -0.0):
        for places in ([0], [n - 1], [500, 507], [3, 800, 801, 802], range(n)):
            x = rng.standard_normal(n)
            x[list(places)] = special
            for array in (x, x.astype(np.float32)):
                np.testing.assert_array_equal(wb.jit(extreme.accumulate)(array), extreme.accumulate(array))


def test_other_shapes_need_no_other_kernel():
    compiled = wb.jit(lambda x: np.cumsum(x, axis=1))
    compiled(np.ones((50, 60, 3)))
    before = kernels.N_COMPILED
    for shape in ((40, 90, 3), (40, 2, 700), (3, 800, 2)):
        np.testing.assert_array_equal(compiled(np.ones(shape)), np.cumsum(np.ones(shape), axis=1))
    assert kernels.N_COMPILED == before


def test_scans_are_shared_by_threads():
    rng = np.random.default_rng(0)
    with wb.config(threads=2):
        for shape, axis in (((400, 900), 1), ((400, 900), 0), ((70, 80, 60), 1)):
            x = rng.uniform(size=shape)
            np.testing.assert_array_equal(wb.jit(lambda x: np.cumsum(x, axis))(x), np.cumsum(x, axis))  # noqa: B023


def test_small_and_reversed_scans_and_complex_ones_are_numpys():
    eqn = wb.make_jaxpr(lambda x: np.cumsum(x))(np.ones(MIN_ELEMENTS)).eqns[-1]
    assert eqn.primitive is cumsum_p
    assert scan_kernel(eqn, "L0") is not None
    for x in (np.ones(MIN_ELEMENTS - 1), np.ones(MIN_ELEMENTS, complex)):
        (eqn,) = (e for e in wb.make_jaxpr(lambda x: np.cumsum(x))(x).eqns if e.primitive is cumsum_p)
        assert scan_kernel(eqn, "L0") is None
        np.testing.assert_array_equal(wb.jit(lambda x: np.cumsum(x))(x), np.cumsum(x))
