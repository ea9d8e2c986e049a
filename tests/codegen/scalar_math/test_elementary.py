"""The elementary functions stay within their stated bounds, and have NumPy's values at all edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.codegen.scalar_math import scalar_function

from .ulps import BINARY, UNARY, apply, edges, exact, numpy_reference, spread, ulp_errors

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def check(name: str, *arguments: np.ndarray) -> None:
    dtype = arguments[0].dtype
    got = apply(name, *arguments)
    high, low = exact(name, *arguments).T
    floor = 0.0
    if name.startswith("logaddexp"):  # the larger argument and the logarithm may cancel
        floor = np.maximum(*(np.where(np.isfinite(x), np.abs(x), 0) for x in arguments))
    errors = ulp_errors(got, high, low, at_least=floor)
    worst = int(np.argmax(errors))
    bound = scalar_function(name, dtype).max_ulp
    at = [x[worst] for x in arguments]
    assert errors[worst] <= bound, f"{name}({at}) = {got[worst]!r}, want {high[worst]!r}: {errors[worst]:.3f} ULP"


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_stay_within_their_bound(name, dtype):
    check(name, spread(dtype, 150))


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_stay_within_their_bound(name, dtype):
    x = spread(dtype, 100)
    y = np.random.default_rng(1).permutation(x)
    few = edges(dtype)[::3]
    grid = np.meshgrid(few, few)
    check(name, np.concatenate([x, grid[0].ravel()]), np.concatenate([y, grid[1].ravel()]))


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_pow_near_the_ends_of_the_range(dtype):
    rng = np.random.default_rng(2)
    bits = 1074 if dtype == F64 else 149
    x = np.exp2(rng.uniform(-60, 60, 2000)).astype(dtype)
    y = (rng.uniform(-bits, bits, 2000) / np.log2(x.astype(np.float64))).astype(dtype)
    check("pow", x, y)


@pytest.mark.parametrize("name", [name for name in UNARY if name not in ("erf", "erfc", "logistic")])
def test_a_sweep_of_all_float32(name):
    """Every 16381st bit pattern, against NumPy in float64 (`tests.benchmarks.scalar_math --exhaustive` tries all)."""
    x = np.arange(0, 1 << 32, 16381, dtype=np.uint64).astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        wanted = numpy_reference(name)(x.astype(np.float64))
    errors = ulp_errors(apply(name, x), wanted)
    worst = int(np.argmax(errors))
    assert errors[worst] <= scalar_function(name, F32).max_ulp, (x[worst], errors[worst])


@settings(max_examples=60)
@given(st.floats(), st.floats())
def test_any_two_floats(x, y):
    for name in BINARY:
        check(name, np.array([x]), np.array([y]))
    for name in UNARY:
        check(name, np.array([x]))


def test_sine_of_huge_arguments_in_a_vector_of_small_ones():
    x = np.linspace(-10, 10, 1001)
    x[::97] = [1e300, -1e22, 2.0**60, np.inf, np.nan, 1e16, 3e15, -1e17, 1e200, 5e18, 1e19]
    for name in ("sin", "cos", "tan"):
        check(name, x)


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_lgamma_calls_the_library(dtype):
    x = np.linspace(0.1, 50, 300).astype(dtype)
    np.testing.assert_allclose(apply("lgamma", x), [math.lgamma(v) for v in x], rtol=4 * np.finfo(dtype).eps, atol=1e-6)
