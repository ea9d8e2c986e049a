"""Views between the steps of a plan: no copies where none are needed, and nobody's memory changes under them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import workbench as wb
from workbench.runtime.memory import buffers


def flat_sums(a, v):
    flat = a.reshape(-1)
    return a @ v, flat[:: a.shape[0] + 1] @ v, np.sort(flat)[:3]


def rows(a, v):
    return a[2:5] @ v, a[:, 1:7] @ v[1:7], a[1] @ v, a.T @ v, a[::-1] @ v


def changed_after(a, v):
    b = a + 1.0
    flat = b.reshape(-1)
    top = b[:4]
    before = top @ v + flat[: len(v)] @ v
    b *= 2.0
    return before, b @ v, top @ v, flat[0]


def argument_changed_after(a, v):
    flat = a.reshape(-1)
    before = flat.reshape(8, 8) @ v
    flat[3] = 7.0
    a[1:3] = v
    return before, a[:4] @ v, flat


def returned(a, v):
    b = a @ a
    return b[:2], b.reshape(-1), b.reshape(2, 4, 8)[0], b[:4].T @ v[:4]


@pytest.mark.parametrize("function", [flat_sums, rows, changed_after, argument_changed_after, returned])
@pytest.mark.parametrize("order", ["C", "F"])
def test_values_and_arguments_are_numpys(function, order):
    rng = np.random.default_rng(0)
    a, v = np.asarray(np.round(rng.normal(size=(8, 8)) * 8), order=order), np.round(rng.normal(size=8) * 8)
    compiled = wb.jit(function)
    for _ in range(2):
        theirs, mine = [a.copy(order="K"), v.copy()], [a.copy(order="K"), v.copy()]
        expected, actual = function(*theirs), compiled(*mine)
        for x, y in zip((*expected, *theirs), (*actual, *mine), strict=True):
            np.testing.assert_array_equal(y, x)


def test_reading_a_view_allocates_nothing():
    def function(a, v):
        flat = a.reshape(-1)
        return a[10:500] @ v, np.max(flat.reshape(2, -1) @ flat.reshape(2, -1).T)

    a, v = np.ones((512, 512)), np.ones(512)
    compiled = wb.jit(function)
    compiled(a, v), compiled(a, v)
    blocks_taken = buffers.pool.n_uses  # large arrays lie in blocks of the pool, which tracemalloc does not see
    tracemalloc.start()
    compiled(a, v)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < a.nbytes // 4 and buffers.pool.n_uses == blocks_taken
