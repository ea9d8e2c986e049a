"""Intermediate results whose memory the next kernel takes over: what stays right, and how little memory a call needs."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb

RNG = np.random.default_rng(0)
X, Y = RNG.random((6, 40)), RNG.random((6, 40))
A = RNG.random((9, 9))


def normalised(x, y):
    z = np.exp(x) * y
    w = z - z.mean()
    return w / np.sqrt((w * w).mean()) * x + y


def twice_read(x, y):
    z = np.sort(x * y)
    return z[:, ::-1] + z, z.sum()


def kept_and_used(x, y):
    z = np.sort(x + y)
    return z, z * 2


def seen_through_a_view(x, y):
    z = np.sort(x + y)
    v = z.T
    return np.sort(z * 2 + 1), v + 0.5


def shifted(x, y):
    z = np.sort(x - y)
    s = z.mean()
    return np.concatenate([z[:, 1:], z[:, :1]], axis=1) * s + z


def transposed(a):
    b = a @ a
    return b.T - b * b.sum()


def two_results(x, y):
    z = np.sort(x * 2)
    m = z.max()
    return z - m, z + m


def chain_of_products(a):
    return ((a @ a) * 0.5 @ a + 1) @ a - 2


def other_dtype(x, y):
    z = np.sort(x + y)
    return (z > z.mean()), (z - z.mean()).astype(np.float32)


CASES = [
    (normalised, (X, Y)), (twice_read, (X, Y)), (kept_and_used, (X, Y)), (seen_through_a_view, (X, Y)),
    (shifted, (X, Y)), (transposed, (A,)), (two_results, (X, Y)), (chain_of_products, (A,)), (other_dtype, (X, Y)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda value: getattr(value, "__name__", ""))
@pytest.mark.parametrize("n_threads", [1, 2])
def test_values_are_numpys(function, args, n_threads):
    with wb.config(threads=n_threads):
        compiled = wb.jit(function)
        before = [a.copy() for a in args]
        for _ in range(2):
            ours, expected = compiled(*args), function(*args)
            ours, expected = (r if isinstance(r, tuple) else (r,) for r in (ours, expected))
            for a, b in zip(ours, expected, strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(a, b, rtol=1e-6 if b.dtype == np.float32 else 1e-12)
            for a, b in zip(args, before, strict=True):
                np.testing.assert_array_equal(a, b)


def executable(function, *args):
    compiled = wb.jit(function)
    compiled(*args)
    (compilation,) = compiled.compilations
    return compilation.executable


def taken(function, *args):
    """How many results take the memory of another array."""
    return len(executable(function, *args).kernels.takes)


def test_an_elementwise_kernel_leaves_its_result_in_its_operand():
    assert taken(normalised, X, Y) >= 1
    assert taken(chain_of_products, A) == 3


def test_what_nobody_reads_again_is_sorted_where_it_lies():
    assert taken(lambda x: np.sort(np.sort(x + 1) * 2 - 3), X) == 3
    assert taken(lambda x: np.sort(x), X) == 0
    assert taken(lambda x: np.sort((x + 1).T, axis=0), X) == 0  # not in order


def test_an_argument_that_is_sorted_in_place_is_sorted_in_place():
    def sort_rows(x, y):
        x *= -1
        x.sort(axis=0)
        y.sort()
        return x[0] + y[0]

    compiled = wb.jit(sort_rows)
    for _ in range(3):
        ours, numpys = (X.copy(), Y.copy()), (X.copy(), Y.copy())
        np.testing.assert_array_equal(compiled(*ours), sort_rows(*numpys))
        np.testing.assert_array_equal(ours, numpys)


def test_a_sorted_copy_leaves_what_it_was_made_of():
    def ranked(x):
        z = x * 2
        s = np.sort(z)
        return s, z

    ours, expected = wb.jit(ranked)(X), ranked(X)
    np.testing.assert_array_equal(ours[0], expected[0])
    np.testing.assert_array_equal(ours[1], expected[1])


def test_what_somebody_reads_later_is_left_alone():
    assert taken(kept_and_used, X, Y) == 1  # the sort itself


def test_what_is_read_at_other_places_is_left_alone():
    assert taken(shifted, X, Y) == 1  # the sort itself
    assert taken(transposed, A) == 0


def test_arguments_are_nobodys_to_take():
    assert taken(lambda x, y: (x + y) * x.sum(), X, Y) == 0
