"""Slow paths: chains of exact remainders in the branches of a loop compile (LLVM's vectoriser once took minutes over
them), and an element's result is its own affair."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same


def chains(c, d):
    for _ in range(3):
        d = d // c
    e = d
    for _ in range(4):
        e = e % c
    return np.array([d, d + 1, d - 1, e])


def test_chains_of_quotients_in_branches():
    compiled = wb.jit(chains)
    for c in (1.5, -0.25, np.inf):
        assert_same(compiled(c, 3), chains(c, 3))
    assert not compiled.fallbacks


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [np.sin, np.cos, np.tan, lambda x: np.fmod(x, dtype_of(x)(0.3))])
def test_an_elements_bits_do_not_depend_on_its_place_or_neighbours(function, dtype):
    rng = np.random.default_rng(0)
    usual = rng.uniform(-9, 9, 999).astype(dtype)
    mixed = usual.copy()
    mixed[::10] *= dtype(1e30)
    compiled = wb.jit(lambda x: function(x) * 1)
    bits = np.dtype(f"u{usual.itemsize}")
    of_usual, of_mixed = compiled(usual).view(bits), compiled(mixed).view(bits)
    np.testing.assert_array_equal(np.delete(of_usual, np.s_[::10]), np.delete(of_mixed, np.s_[::10]))
    for length in (1, 2, 3, 5, 8, 13):
        pieces = [compiled(mixed[i : i + length].copy()) for i in range(0, 390, length)]
        np.testing.assert_array_equal(np.concatenate(pieces)[:390].view(bits), of_mixed[:390])


def dtype_of(x):
    return np.dtype(x.dtype).type
