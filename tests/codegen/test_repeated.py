"""Repeated maps: the results of NumPy, also where repetitions end early since nothing changes any more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

COUNTS = [1, 7, 8, 9, 16, 100]


def escapes(c: Any, n: int) -> Any:
    z, count = np.zeros_like(c), np.zeros(c.shape, np.int64)
    for _ in range(n):
        z = z * z + c
        count += (z.real * z.real + z.imag * z.imag) < 4.0
    return count, np.isnan(z.real)


def signs_that_alternate(x: Any, n: int) -> Any:
    count = np.zeros(x.shape, np.int64)
    for _ in range(n):
        x = -x
        count = count + np.signbit(x)
    return x, count


def newtons(x: Any, n: int) -> Any:
    y = x * 0 + 1
    for _ in range(n):
        y = 0.5 * (y + x / y)
    return y


def integers_that_settle(x: Any, n: int) -> Any:
    k = x.astype(np.int32)
    for _ in range(n):
        k = k // 2
    return k


def kernel_of(compiled: Any) -> str:
    return "\n".join(kernel.source for c in compiled.compilations for kernel in c.kernels.values())


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("shape", [(1,), (127,), (128,), (129,), (30, 41)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", [signs_that_alternate, newtons, integers_that_settle])
def test_repetitions_of_floats(function: Any, dtype: Any, shape: tuple[int, ...], n: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(dtype) * 100
    x.flat[:: max(1, x.size // 7)] = np.resize([0.0, -0.0, 1.0, 4.0], x.flat[:: max(1, x.size // 7)].shape)
    if function is not integers_that_settle:
        x.flat[:: max(2, x.size // 3)] = np.resize([np.nan, np.inf, -np.inf], x.flat[:: max(2, x.size // 3)].shape)
    with np.errstate(all="ignore"):
        expected = function(x, n)
        compiled = wb.jit(lambda x: function(x, n))
        got = compiled(x)
    for a, b in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, expected)), strict=True):
        assert_same(a, b)


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_repetitions_that_end_in_nan(dtype: Any, n: int) -> None:
    c = (np.linspace(-2, 0.6, 60)[None, :] + 1j * np.linspace(-1.3, 1.3, 50)[:, None]).astype(dtype)
    with np.errstate(all="ignore"):
        compiled = wb.jit(lambda c: escapes(c, n))
        (count, lost), (expected, lost_too) = compiled(c), escapes(c, n)
    assert_same(lost, lost_too)
    assert_same(count, expected)


def test_a_change_is_a_change_of_bits() -> None:
    compiled = wb.jit(lambda c: escapes(c, 100))
    with np.errstate(all="ignore"):
        compiled(np.full((40, 40), 3 + 1j))
    assert "bits_f64" in kernel_of(compiled)  # so that escaped points, which are NaN for ever, have settled
