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


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.T, lambda x: (x.sum(), x[::-1, 1:]), lambda x: (x.reshape(-1), x[3]), lambda x: np.swapaxes(x, 0, 1)[5:],
        lambda x: [x[None], x.T.reshape(x.shape[::-1])], lambda x: (np.moveaxis(x, 0, 1), x[:, ::2] * 2),
    ],
)  # fmt: skip
def test_views_that_are_returned_copy_nothing(f):
    x = np.arange(1_000_000.0).reshape(1000, 1000)
    ours = wb.jit(f)
    for _ in range(4):
        ours(x)
    tracemalloc.start()
    try:
        result = ours(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    expected = f(x)
    made = sum(a.nbytes for a in as_list(expected) if isinstance(a, np.ndarray) and not np.shares_memory(a, x))
    assert peak < made + 100_000
    for ours_is, numpys in zip(as_list(result), as_list(expected), strict=True):
        np.testing.assert_allclose(ours_is, numpys, rtol=1e-12)
        if isinstance(numpys, np.ndarray):
            assert np.shares_memory(ours_is, x) is np.shares_memory(numpys, x)
            steps = [[step for step, n in zip(a.strides, a.shape, strict=True) if n > 1] for a in (ours_is, numpys)]
            assert steps[0] == steps[1]


def as_list(value):
    return list(value) if isinstance(value, tuple | list) else [value]
