"""Reductions: of everything, row by row in one kernel, and along columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np

from .harness import Case
from .peers import contestants


def squared_error(xp: Any, a: Any, b: Any) -> Any:
    return xp.sum((a - b) ** 2)


@numba.njit(parallel=True, fastmath=True)
def squared_error_parallel(a, b):
    total = 0.0
    a, b = a.ravel(), b.ravel()
    for i in numba.prange(a.size):
        d = a[i] - b[i]
        total += d * d
    return total


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.amax(x, 1)[:, None])
    return e / xp.sum(e, 1)[:, None]


@numba.njit(parallel=True, error_model="numpy")
def softmax_parallel(x):
    out = np.empty_like(x)
    for i in numba.prange(x.shape[0]):
        largest = x[i, 0]
        for j in range(1, x.shape[1]):
            largest = max(largest, x[i, j])
        total = x.dtype.type(0)
        for j in range(x.shape[1]):
            out[i, j] = np.exp(x[i, j] - largest)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total
    return out


def layer_norm(xp: Any, x: Any, gain: Any, shift: Any) -> Any:
    centred = x - xp.mean(x, 1)[:, None]
    return centred / xp.sqrt(xp.mean(centred * centred, 1)[:, None] + 1e-5) * gain + shift


@numba.njit(parallel=True, fastmath=True)
def layer_norm_parallel(x, gain, shift):
    out = np.empty_like(x)
    n = x.dtype.type(x.shape[1])
    for i in numba.prange(x.shape[0]):
        total = x.dtype.type(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        mean = total / n
        total = x.dtype.type(0)
        for j in range(x.shape[1]):
            d = x[i, j] - mean
            total += d * d
        scale = x.dtype.type(1) / np.sqrt(total / n + x.dtype.type(1e-5))
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - mean) * scale * gain[j] + shift[j]
    return out


def standardise(xp: Any, x: Any) -> Any:
    centred = x - xp.mean(x, 0)
    return centred / xp.sqrt(xp.mean(centred * centred, 0))


def channel_means(xp: Any, x: Any) -> Any:
    return xp.sum(x, (0, 1)), xp.sum(x * x, (0, 1))


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for shape in ((500, 500), (1000, 1000), (10**7,)):
        a, b = rng.normal(size=(2, *shape))
        calls = contestants(squared_error, a, b, parallel=squared_error_parallel)
        yield Case("sum((a-b)**2)", f"{'x'.join(map(str, shape))} float64", calls)
    for dtype, rtol in ((np.float32, 1e-4), (np.float64, 1e-9)):
        x = rng.normal(size=(4096, 1024)).astype(dtype)
        yield Case("row softmax", f"4096x1024 {x.dtype}", contestants(softmax, x, parallel=softmax_parallel), rtol)
        gain, shift = rng.normal(size=(2, 1024)).astype(dtype)
        calls = contestants(layer_norm, x, gain, shift, parallel=layer_norm_parallel)
        yield Case("row layernorm", f"4096x1024 {x.dtype}", calls, rtol)
    for shape in ((2000, 500), (100_000, 10)):
        x = rng.normal(size=shape)
        yield Case("columns standardised", f"{'x'.join(map(str, shape))} float64", contestants(standardise, x))
    x = rng.normal(size=(1000, 1000, 3))
    yield Case("channel means", "1000x1000x3 float64", contestants(channel_means, x))
