"""Every function and method of the tables against NumPy: drawn dtypes, shapes with 0 and 1, NaN, infinities, -0.0."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests import strategies
from workbench.frontend.numpy_api import FUNCTIONS
from workbench.frontend.numpy_api.functions import REFUSED

from . import cases
from .differential import check

FAST = settings(max_examples=15, suppress_health_check=list(HealthCheck), derandomize=True)
WHY_NOT = {  # functions without a result that could be compared
    "real_if_close": "refused", "polymul": "refused",
}  # fmt: skip


def magnitude(x: np.ndarray) -> float:
    """What sums and products of a few elements of `x` may reach."""
    finite = np.abs(np.where(np.isfinite(x), x, 0).astype(complex))
    largest = float(finite.max(initial=1.0))
    return max(largest, largest**3) * max(x.size, 1) ** 2


@pytest.mark.parametrize("name", cases.MOVEMENT)
@FAST
@given(data=st.data())
def test_movement_and_selection_give_the_same_bits(name, data):
    x = data.draw(strategies.arrays(max_dims=3))
    for call in cases.MOVEMENT[name]:
        check(call, x, may_refuse=True)


@pytest.mark.parametrize("name", cases.REDUCTIONS)
@FAST
@given(data=st.data())
def test_reductions_and_products_are_as_accurate(name, data):
    x = data.draw(strategies.arrays(max_dims=3, tame=True))
    for call in cases.REDUCTIONS[name]:
        check(call, x, max_ulp=32, reduction_scale=magnitude(x), may_refuse=True)


@pytest.mark.parametrize("name", [n for n in cases.REDUCTIONS if n.strip() in (
    "sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "nansum", "nanmax", "nanmin", "cumsum", "median",
    "ptp", "diff", "average", "mean",
)])  # fmt: skip
@FAST
@given(data=st.data())
def test_reductions_of_nan_and_infinity(name, data):
    values = st.sampled_from([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
    shape = data.draw(strategies.shapes(1, 3))
    dtype = data.draw(strategies.dtypes(strategies.FLOATS))
    x = np.array([data.draw(values) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)
    for call in cases.REDUCTIONS[name]:
        check(call, x, max_ulp=8, reduction_scale=10, may_refuse=True)


@pytest.mark.parametrize("name", cases.FFT)
@FAST
@given(data=st.data())
def test_fourier_transforms(name, data):
    x = data.draw(strategies.arrays(max_dims=3, tame=True))
    for call in cases.FFT[name]:
        check(call, x, max_ulp=32, reduction_scale=magnitude(x))


@pytest.mark.parametrize("name", cases.LINALG)
@FAST
@given(data=st.data())
def test_linear_algebra(name, data):
    # NumPy adds int8 as int8 in a matrix product; the matrices are made well-conditioned in 64 bits.
    names = ("int64", *strategies.FLOATS, *strategies.COMPLEX)
    x = data.draw(strategies.arrays(names=names, min_dims=1, max_dims=2, tame=True).filter(lambda x: x.size))
    for call in cases.LINALG[name]:
        check(call, x, max_ulp=1024, reduction_scale=1e4 * magnitude(x))


@pytest.mark.parametrize("name", cases.METHODS)
@FAST
@given(data=st.data())
def test_methods(name, data):
    x = data.draw(strategies.arrays(max_dims=3, tame=True))
    for call in cases.METHODS[name]:
        check(call, x, max_ulp=8, reduction_scale=magnitude(x), may_refuse=True)


def test_every_function_of_the_table_has_a_case():
    tested = {name.strip() for table in (cases.MOVEMENT, cases.REDUCTIONS) for name in table}
    tested |= {f"fft.{name}" for name in cases.FFT} | {f"linalg.{name}" for name in cases.LINALG} | {"polyfit"}
    missing = []
    for function in FUNCTIONS:
        if function in REFUSED:
            continue
        module = function.__module__.partition("numpy")[2].strip(".")
        prefix = f"{module}." if module in ("linalg", "fft") else ""
        if f"{prefix}{function.__name__}" not in tested and function.__name__ not in WHY_NOT:
            missing.append(f"{prefix}{function.__name__}")
    assert not missing


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.sum().reshape(()), lambda x: np.reshape(x.sum(), ()), lambda x: x.sum().reshape(1),
        lambda x: np.moveaxis(x.max(), (), ()), lambda x: x[:1].reshape(()), lambda x: x.mean().squeeze(),
    ],
)  # fmt: skip
def test_movement_of_a_scalar_gives_a_scalar_where_numpy_does(f):
    x = np.linspace(0.5, 1.5, 4)
    found, expected = wb.jit(f)(x), f(x)
    assert type(found) is type(expected) and np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize("limit", [0, 2])
def test_one_bool_may_say_what_is_reduced(limit):
    def total(x, n):
        return np.sum(x[1], where=n <= 1), np.sum(x, where=n <= 1), np.max(x, where=n > 1, initial=-1.0)

    compiled = wb.jit(total)
    x = np.linspace(0.5, 1.5, 4)
    np.testing.assert_allclose(compiled(x, limit), total(x, limit), rtol=1e-15)
    assert not compiled.fallbacks


@pytest.mark.parametrize("axis", [0, -1, (0,), (-1,), (), 1])
@pytest.mark.parametrize("function", [np.sum, np.prod, np.max, np.any, np.squeeze, np.nansum, np.mean, np.var])
def test_axes_of_rank_0(function, axis):
    x = np.array([3.0])
    found = wb.jit(lambda x: function(np.squeeze(x), axis=axis))
    try:
        expected = function(np.squeeze(x), axis=axis)
    except np.exceptions.AxisError:
        with pytest.raises(np.exceptions.AxisError):
            found(x)
    else:
        assert found(x) == expected


def test_one_element_is_deleted_at_a_place_that_the_run_finds() -> None:
    def function(x, a):
        least, most = np.argmin(x), np.argmax(x)
        return (
            np.delete(x, least), np.delete(a, most, axis=1), np.delete(a, least), np.delete(a, -most - 1, axis=0),
            np.delete(a, np.int32(1) * least, -1),
        )  # fmt: skip

    compiled = wb.jit(function)
    rng = np.random.default_rng(3)
    for a in (rng.random((5, 5)), np.asfortranarray(rng.random((5, 5))), rng.random((10, 10))[::2, ::2]):
        x = rng.random(5)
        for found, expected in zip(compiled(x, a), function(x, a), strict=True):
            np.testing.assert_array_equal(found, expected)
            assert found.flags.f_contiguous == expected.flags.f_contiguous
    assert not compiled.fallbacks


def test_a_place_to_delete_that_is_outside() -> None:
    @wb.jit
    def function(x, at):
        return np.delete(x, at.astype(np.int64))

    np.testing.assert_array_equal(function(np.arange(4.0), np.float64(-4)), [1, 2, 3])
    for at in (4, -5):
        with pytest.raises(IndexError, match="out of bounds"):
            function(np.arange(4.0), np.float64(at))
