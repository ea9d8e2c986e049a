"""Chains of exact remainders in the branches of a loop compile: LLVM's vectoriser once took minutes over them."""

from __future__ import annotations

import numpy as np

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
