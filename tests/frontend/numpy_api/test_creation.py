"""Arrays made inside traced code, of constants and of traced values."""

from __future__ import annotations

import numpy as np
import pytest

from .differential import check

CALLS = (
    lambda x: np.zeros(3) + x[:3], lambda x: np.zeros((2, 3), int), lambda x: np.ones((2, 2), bool),
    lambda x: np.zeros((2, 3), order="F").T.ravel(), lambda x: np.full((2, 2), 7), lambda x: np.full(4, x),
    lambda x: np.full((2,), x.sum()), lambda x: np.full(2, 1.5, dtype=int), lambda x: np.empty((0, 2)),
    lambda x: np.arange(5), lambda x: np.arange(0, 1, 0.3), lambda x: np.arange(2, 9, 2, dtype="f4"),
    lambda x: np.arange(5, 0, -1), lambda x: np.arange(x.shape[0]) * x, lambda x: np.arange(2, x.shape[0]),
    lambda x: np.arange(4.0), lambda x: np.arange(start=1, stop=4), lambda x: np.arange(4, dtype=np.uint8),
    lambda x: np.linspace(0, 1, 5), lambda x: np.linspace(0, 10, 5, dtype=int), lambda x: np.linspace(0, x[1], 5),
    lambda x: np.logspace(0, 2, 4), lambda x: np.geomspace(1, 100, 3), lambda x: np.eye(3),
    lambda x: np.eye(3, 4, k=-1, dtype=int), lambda x: np.identity(2), lambda x: np.array([1, 2, 3]),
    lambda x: np.array([x[0], 2.0, x[1]]), lambda x: np.array([[x[0], 1], [2, x[1]]]), lambda x: np.array(x),
    lambda x: np.asarray(x), lambda x: np.array(x, dtype="c8"), lambda x: np.array(x, ndmin=3),
    lambda x: np.asarray([x, x]), lambda x: np.ascontiguousarray(x[::2]), lambda x: np.asfortranarray(x),
    lambda x: np.require(x, "f8", "C"), lambda x: np.tri(3, 4, 1), lambda x: np.tri(2, dtype=int),
    lambda x: np.fromfunction(lambda i, j: i * 10 + j, (3, 2)), lambda x: np.indices((2, 3)),
    lambda x: np.indices((2, 3), sparse=True), lambda x: np.meshgrid(np.arange(3), np.arange(2)),
    lambda x: np.meshgrid(x, x), lambda x: np.add.outer(x, x)[np.ix_([0, 2], [1, 3])],
    lambda x: np.outer(x, x)[np.tril_indices(3)], lambda x: np.outer(x, x)[np.diag_indices(4)],
    lambda x: np.hanning(5) * x[0], lambda x: np.kaiser(4, 2.0), lambda x: np.fft.fftfreq(8, 0.1),
    lambda x: np.fft.fftfreq(7, x[1]), lambda x: np.fft.rfftfreq(6, d=x[0]),
    lambda x: np.vander([1, 2, 3]), lambda x: np.copy(x), lambda x: np.float32(3) * x, lambda x: np.array(5.0) + x,
    lambda x: np.triu(np.outer(x, x)), lambda x: np.broadcast_to(5, (2, 2)), lambda x: np.max([x[0], x[1]]),
    lambda x: np.sum([x, x], axis=0), lambda x: np.stack([row for row in x]), lambda x: np.maximum(0, x),
    lambda x: x.sum().item() * np.float32(2), lambda x: x.reshape(np.prod(x.shape)), lambda x: np.roll(np.arange(5), 2),
    lambda x: np.array([[1, 2], [3]]), lambda x: np.array([x, x[:2]]), lambda x: np.arange(3)[np.arange(3)[1]],
    lambda x: np.nonzero(np.arange(4) % 2), lambda x: np.unique([3, 1, 3]) + x[0], lambda x: np.linspace(0, 1, -1),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(CALLS)))
@pytest.mark.parametrize("name", ["float64", "float32", "int64", "complex128"])
def test_creation(number, name):
    check(CALLS[number], np.array([1.5, 2.0, -3.0, 0.25]).astype(name), max_ulp=4, reduction_scale=10)


def test_a_made_array_is_memory_of_its_own():
    def f(x):
        a = np.zeros(4)
        b = a[1:3]
        b += x[:2]
        c = np.asarray(a)
        c[0] = 9
        d = np.array(a)
        d[1] = 100
        return a, b, c, d

    check(f, np.arange(4.0))
