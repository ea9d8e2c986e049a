"""Elementwise chains: from pure memory traffic to ten elementary functions, and Black-Scholes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np

from .harness import Case
from .peers import contestants, numexpr


def ten_operations(xp: Any, x: Any, y: Any) -> Any:
    return xp.exp(-x) * xp.sin(y) + xp.log(1 + x * x) * xp.tanh(y) - xp.sqrt(x + 2)


@numba.njit(parallel=True, error_model="numpy")
def ten_operations_parallel(x, y):
    out = np.empty_like(x)
    two, one = x.dtype.type(2), x.dtype.type(1)
    for i in numba.prange(x.size):
        a, b = x[i], y[i]
        out[i] = np.exp(-a) * np.sin(b) + np.log(one + a * a) * np.tanh(b) - np.sqrt(a + two)
    return out


def ten_operations_numexpr(x, y):
    return numexpr.evaluate("exp(-x) * sin(y) + log(1 + x * x) * tanh(y) - sqrt(x + 2)")


def linear(xp: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return a * b + c - d / 2


@numba.njit(parallel=True, error_model="numpy")
def linear_parallel(a, b, c, d):
    out = np.empty_like(a)
    for i in numba.prange(a.size):
        out[i] = a[i] * b[i] + c[i] - d[i] / 2
    return out


def linear_numexpr(a, b, c, d):
    return numexpr.evaluate("a * b + c - d / 2")


def polynomial(xp: Any, x: Any, y: Any) -> Any:
    return ((x * 2.0 - y) * x + 3.0) * y - x / (y * y + 1.0)


@numba.njit(error_model="numpy")
def polynomial_by_hand(x, y):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = ((x[i] * 2.0 - y[i]) * x[i] + 3.0) * y[i] - x[i] / (y[i] * y[i] + 1.0)
    return out


@numba.njit(parallel=True, error_model="numpy")
def polynomial_parallel(x, y):
    out = np.empty_like(x)
    for i in numba.prange(x.size):
        out[i] = ((x[i] * 2.0 - y[i]) * x[i] + 3.0) * y[i] - x[i] / (y[i] * y[i] + 1.0)
    return out


def black_scholes(xp: Any, price: Any, strike: Any, years: Any) -> Any:
    """Call and put of European options (Black and Scholes, 1973), with Abramowitz and Stegun's normal distribution."""
    rate, volatility = 0.1, 0.2

    def normal(d: Any) -> Any:
        k = 1 / (1 + 0.2316419 * xp.abs(d))
        tail = 0.39894228 * xp.exp(-0.5 * d * d) * (
            k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        )  # fmt: skip
        return xp.where(d > 0, 1 - tail, tail)

    root = xp.sqrt(years)
    d1 = (xp.log(price / strike) + (rate + 0.5 * volatility**2) * years) / (volatility * root)
    d2 = d1 - volatility * root
    discounted = strike * xp.exp(-rate * years)
    call = price * normal(d1) - discounted * normal(d2)
    return call, discounted * (1 - normal(d2)) - price * (1 - normal(d1))


def _black_scholes_source(cast: str) -> str:
    return f"""
def black_scholes(price, strike, years):
    call, put = np.empty_like(price), np.empty_like(price)
    for i in numba.prange(price.size):
        root = np.sqrt(years[i])
        d1 = (np.log(price[i] / strike[i]) + {cast}(0.12) * years[i]) / ({cast}(0.2) * root)
        d2 = d1 - {cast}(0.2) * root
        k1, k2 = {cast}(1) / ({cast}(1) + {cast}(0.2316419) * abs(d1)), {cast}(1) / ({cast}(1) + {cast}(0.2316419) * abs(d2))
        p1 = {cast}(0.39894228) * np.exp({cast}(-0.5) * d1 * d1) * (k1 * ({cast}(0.31938153) + k1 * ({cast}(-0.356563782)
            + k1 * ({cast}(1.781477937) + k1 * ({cast}(-1.821255978) + k1 * {cast}(1.330274429))))))
        p2 = {cast}(0.39894228) * np.exp({cast}(-0.5) * d2 * d2) * (k2 * ({cast}(0.31938153) + k2 * ({cast}(-0.356563782)
            + k2 * ({cast}(1.781477937) + k2 * ({cast}(-1.821255978) + k2 * {cast}(1.330274429))))))
        n1 = {cast}(1) - p1 if d1 > 0 else p1
        n2 = {cast}(1) - p2 if d2 > 0 else p2
        discounted = strike[i] * np.exp({cast}(-0.1) * years[i])
        call[i] = price[i] * n1 - discounted * n2
        put[i] = discounted * ({cast}(1) - n2) - price[i] * ({cast}(1) - n1)
    return call, put
"""


def black_scholes_parallel(dtype: np.dtype) -> Any:
    scope: dict[str, Any] = {"np": np, "numba": numba}
    exec(_black_scholes_source(f"np.{dtype.name}"), scope)
    return numba.njit(parallel=True, error_model="numpy")(scope["black_scholes"])


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for n, dtype, rtol in ((10**6, np.float64, 1e-9), (10**7, np.float64, 1e-9), (10**7, np.float32, 1e-4)):
        x, y = (rng.uniform(0.1, 3, n).astype(dtype) for _ in range(2))
        calls = contestants(
            ten_operations, x, y, parallel=ten_operations_parallel, expression=ten_operations_numexpr
        )  # fmt: skip
        yield Case("10-op chain", f"{n:.0e} {np.dtype(dtype).name}", calls, rtol)
    a, b, c, d = rng.normal(size=(4, 10**7))
    calls = contestants(linear, a, b, c, d, parallel=linear_parallel, expression=linear_numexpr)
    yield Case("a*b+c-d/2", "1e+07 float64", calls)
    del a, b, c, d
    for n in (10**5, 10**6):
        x, y = rng.normal(size=(2, n))
        yield Case(
            "polynomial", f"{n:.0e} float64",
            contestants(polynomial, x, y, by_hand=polynomial_by_hand, parallel=polynomial_parallel),
        )  # fmt: skip
    for dtype, rtol in ((np.dtype(np.float64), 1e-9), (np.dtype(np.float32), 1e-3)):
        price, strike, years = (
            rng.uniform(low, high, 10**6).astype(dtype) for low, high in ((5, 30), (1, 100), (0.25, 10))
        )
        calls = contestants(black_scholes, price, strike, years, parallel=black_scholes_parallel(dtype))
        yield Case("Black-Scholes", f"1e+06 {dtype.name}", calls, rtol)
