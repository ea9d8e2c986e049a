"""Slices that move with a traced integer: views of a known length, as NumPy's are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.compare import assert_same
from tests.sources import define

RNG = np.random.default_rng(5)
WINDOWS = [
    "x[i : i + 3]",
    "x[i : i + m]",
    "x[i + 1 : i + m + 1]",
    "x[2 * i : 2 * i + m]",
    "x[i * m : (i + 1) * m]",
    "x[m + i - 2 : 2 + i + m]",
    "x[i : i + 6 : 2]",
    "x[i : i + m][::-1]",
    "x[i : i]",
    "x[i + 2 : i]",
    "y[i : i + 3, 1]",
    "y[:, -1][i : i + 2]",
    "y[2, i - i : i - i + 2]",
    "y[i : i + 4, i % 2 : i % 2 + 2]",
    "y[None, i : i + 2]",
    "y[..., i % 3 : i % 3 + 1]",
    "y.T[:, i : i + m]",
    "y[[0, 2], i % 2 : i % 2 + 2]",
]


@pytest.mark.parametrize("window", WINDOWS)
def test_windows_that_a_comprehension_moves(window: str) -> None:
    source = f"def program(x, y, m):\n    return np.array([{window} for i in range(20)]), [({window}).sum() for i in range(20)]\n"
    program = define(source, "program", "windows.py")
    x, y = RNG.standard_normal(90), RNG.standard_normal((30, 4))
    compiled = wb.jit(program)
    for m in (4, 2):
        for args in ((x, y, m), (x[::-1], np.asfortranarray(y), m)):
            found, expected = compiled(*args), program(*args)
            assert_same(found[0], expected[0])
            assert list(map(type, found[1])) == list(map(type, expected[1]))
            np.testing.assert_allclose(found[1], expected[1], rtol=1e-12, atol=1e-14)
    assert not compiled.fallbacks


@settings(max_examples=40, deadline=None)
@given(st.integers(-12, 12), st.integers(0, 14), st.integers(1, 3))
def test_windows_that_reach_beyond_the_array_are_numpy_s(first: int, length: int, step: int) -> None:
    def program(x, k, length):
        i = k[0] * step
        return x[i : i + length] * 2.0, x[k[1] + 1 : k[1] + 3]

    x, k = np.arange(10.0), np.array([first, 4])
    compiled = _compiled(program, length)
    for _ in range(2):
        assert_same(compiled(x, k), program(x, k, length))


def _compiled(program: Any, length: int) -> Any:
    return wb.jit(lambda x, k: program(x, k, length))


def test_a_window_is_a_view() -> None:
    def program(x, k):
        i = k.argmax()
        window = x[i : i + 4]
        window[1] = 7.0
        x[i + 2 : i + 4] = -1.0
        window[:1] += 0.5
        x[i] *= 2.0
        window[2:] -= window[:2]
        return window.sum(), x[i + 1 : i + 3], window[::2], window

    k = RNG.standard_normal(5)  # every window lies inside: a shorter one is an error in NumPy
    compiled = wb.jit(program)
    for n in (12, 12, 8):
        mine, its = np.arange(float(n)), np.arange(float(n))
        found, expected = compiled(mine, k), program(its, k)
        assert_same(found, expected)
        np.testing.assert_array_equal(mine, its)
        assert all(np.shares_memory(part, mine) for part in found[1:])
        found[3][:] = 5.0
        expected[3][:] = 5.0
        np.testing.assert_array_equal(mine, its)
    assert not compiled.fallbacks


def test_windows_in_loops_that_are_traced() -> None:
    def program(x, w, hop):
        out = np.zeros_like(x)
        weight = np.zeros_like(x)
        for k in range((len(x) - len(w)) // hop + 1):
            frame = np.fft.irfft(np.fft.rfft(x[k * hop : k * hop + len(w)] * w) * 0.5, len(w))
            out[k * hop : k * hop + len(w)] += frame * w
            weight[k * hop : k * hop + len(w)] += w * w
        return out / np.maximum(weight, 1e-9), out[:3]

    x = RNG.standard_normal(400)
    compiled = wb.jit(program)
    for hop in (8, 5):
        found, expected = compiled(x, np.hanning(32), hop), program(x, np.hanning(32), hop)
        for mine, its in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, its, rtol=1e-10, atol=1e-12)
    assert not compiled.fallbacks
