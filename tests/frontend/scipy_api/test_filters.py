"""Filters of `scipy.ndimage` fuse, and give what SciPy gives."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import ndimage

import workbench as wb
from tests.compare import assert_close

MODES = ["nearest", "wrap", "reflect", "mirror", "constant"]
ARRAYS = st.sampled_from([np.float64, np.float32, np.int32, np.uint8]).flatmap(
    lambda dtype: arrays(
        dtype, array_shapes(max_dims=3, max_side=7),
        elements=st.floats(-50, 50, width=32) if dtype in (np.float64, np.float32) else st.integers(0, 50),
    )
)  # fmt: skip


def agrees(function, x):
    compiled = wb.jit(function)
    assert_close(compiled(x), function(x), rtol=1e-5 if x.dtype == np.float32 else 1e-12)
    assert not compiled.fallbacks, compiled.fallbacks


@given(data=st.data(), x=ARRAYS, mode=st.sampled_from(MODES), n=st.integers(1, 6), kind=st.sampled_from([-1, 0, 1]))
@settings(max_examples=60)
def test_one_axis(data, x, mode, n, kind):
    assume(np.issubdtype(x.dtype, np.floating))  # a sum of integers that rounding moves past one is cut to another
    weights = np.array(data.draw(st.lists(st.floats(-2, 2, width=32), min_size=n, max_size=n)))
    weights = weights + kind * weights[::-1]
    axis = data.draw(st.integers(0, x.ndim - 1))
    origin = data.draw(st.integers(-(n // 2), (n - 1) // 2))
    agrees(lambda x: ndimage.correlate1d(x, weights, axis, mode=mode, cval=1.5, origin=origin), x)
    agrees(lambda x: ndimage.convolve1d(x, weights, axis, mode=mode), x)


@given(data=st.data(), x=ARRAYS, mode=st.sampled_from(MODES))
@settings(max_examples=40)
def test_all_axes(data, x, mode):
    shape = tuple(data.draw(st.integers(1, 3)) for _ in range(x.ndim))
    weights = data.draw(arrays(np.int64, shape, elements=st.integers(-3, 3)))
    numbers = weights.tolist()
    agrees(lambda x: ndimage.convolve(x, numbers, mode=mode, cval=2), x)
    compiled = wb.jit(lambda x, w: ndimage.correlate(x, w, mode=mode))
    assert_close(compiled(x, weights), ndimage.correlate(x, weights, mode=mode), rtol=1e-5)


@pytest.mark.parametrize("name", ["sobel", "prewitt", "laplace"])
@pytest.mark.parametrize("mode", MODES)
def test_derivatives(name, mode):
    x = np.random.default_rng(1).normal(size=(9, 14))
    agrees(lambda x: getattr(ndimage, name)(x, mode=mode), x)


@pytest.mark.parametrize("mode", MODES)
def test_gaussians(mode):
    x = np.random.default_rng(1).normal(size=(30, 41))
    agrees(lambda x: ndimage.gaussian_filter(x, 1.5, mode=mode) + 1, x)
    agrees(lambda x: ndimage.gaussian_filter(x, (1.0, 2.0), order=(0, 1), output=np.float32), x.astype(np.float32))
    agrees(lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0), x)


def test_into_an_array_of_the_callers():
    def program(x, out):
        ndimage.gaussian_filter1d(x, 1.0, axis=0, output=out)
        return out.sum()

    x = np.random.default_rng(1).normal(size=(30, 4))
    mine, its = np.zeros((30, 4)), np.zeros((30, 4))
    compiled = wb.jit(program)
    assert_close(compiled(x, mine), program(x, its), rtol=1e-12)
    assert_close(mine, its, rtol=1e-12)


def test_complex_arrays():
    z = np.random.default_rng(1).normal(size=30) * (1 + 2j)
    program = lambda z: ndimage.correlate1d(z, [1.0, 2.0, 0.5])  # noqa: E731
    assert_close(wb.jit(program)(z), program(z), rtol=1e-12)
