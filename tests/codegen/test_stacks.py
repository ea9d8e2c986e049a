"""Levels that a program computes one after another and stacks: written to their places, with NumPy's bits."""

import numpy as np
import pytest

import workbench as wb
from tests.codegen.test_llvm_kernels import assert_same_bits, both_forms, traced
from workbench.fusion import Cluster, form_plan


def downwards(axis):
    """A recurrence along `axis`, whose levels are stacked along it."""

    def program(x, y):
        n = x.shape[axis]
        at = [(slice(None),) * (axis % x.ndim) + (k,) for k in range(n)]
        total = [x[at[0]] * 2]
        for k in range(1, n):
            total.append(total[-1] * y[at[k]] + x[at[k]])
        return np.stack(total, axis)

    return program


def solved(a, b, c, d):
    """Thomas' algorithm, levels last: both sweeps, then a reader of the whole."""
    n = a.shape[-1]
    up, right = [c[..., 0] / b[..., 0]], [d[..., 0] / b[..., 0]]
    for k in range(1, n):
        norm = 1.0 / (b[..., k] - a[..., k] * up[-1])
        up.append(c[..., k] * norm)
        right.append((d[..., k] - a[..., k] * right[-1]) * norm)
    x = [right[-1]]
    for k in range(n - 2, -1, -1):
        x.append(right[k] - up[k] * x[-1])
    x = np.stack(x[::-1], -1)
    return x, x[..., 1:] - x[..., :-1]


def up_and_down(x, y):
    """Two stacks of the same levels, one of them backwards, with a level that is read from memory."""
    down, up = [np.zeros_like(x[:, 0])], [y[:, -1]]
    for k in range(x.shape[1]):
        down.append(down[-1] * x[:, k] + y[:, k])
        up.append(np.maximum(up[-1] * y[:, k], x[:, k]))
    return np.stack(up[::-1], 1) - np.stack(down, 1), np.stack(down, 0)


def counted(x, y):
    """Stacks of integers and of truth values."""
    levels = [(x[:, k] > y[:, k]) for k in range(x.shape[1])]
    counts = [levels[0].astype(np.int32)]
    for level in levels[1:]:
        counts.append(counts[-1] + level)
    return np.stack(counts, 1), np.stack([~level for level in levels], 1)


def inputs(shape, n, dtype):
    rng = np.random.default_rng(0)
    arrays = [(rng.integers(-9, 10, shape) / 4).astype(dtype) for _ in range(n)]
    if np.dtype(dtype).kind == "f" and arrays[0].size:
        for a in arrays:
            flat = a.reshape(-1)
            flat[1 % a.size], flat[5 % a.size], flat[7 % a.size] = -0.0, np.nan, np.inf
    return arrays


def check(program, arrays):
    with np.errstate(all="ignore"):
        expected = program(*(a.copy() for a in arrays))
        found = wb.jit(program)(*arrays)
    pairs = [(found, expected)] if isinstance(expected, np.ndarray) else zip(found, expected, strict=True)
    for a, b in pairs:
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_array_equal(a, b)
        if a.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int16"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_levels_along_every_axis_have_numpys_bits(axis, dtype):
    for shape in ((40, 6, 5), (7, 40, 9), (6, 40, 1), (5, 5, 5), (1, 12, 33), (9, 1, 40), (35, 35, 35)):
        check(downwards(axis), inputs(shape, 2, dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(9, 31, 5), (30, 6), (2, 1, 40), (3, 2, 2), (1, 60), (0, 8), (50, 60)])
def test_solves_of_columns_have_numpys_bits(shape, dtype):
    check(solved, inputs(shape, 4, dtype))


@pytest.mark.parametrize("shape", [(40, 6), (1, 40), (40, 3), (3, 50), (200, 33)])
@pytest.mark.parametrize("program", [up_and_down, counted])
def test_several_stacks_of_the_same_levels(program, shape):
    check(program, inputs(shape, 2, np.float64))
    check(program, [a.astype(np.int64) for a in inputs(shape, 2, np.int64)])


def test_strided_columns_and_a_stack_that_replaces_its_argument():
    x, y = inputs((8, 60), 2, np.float64)
    check(downwards(0), [x[:, ::2], y[:, ::-2]])
    check(downwards(1), [x.T[::2], y.T[::-2]])

    def update(x, y):
        x[...] = downwards(1)(x, y)

    theirs, mine = x.copy(), x.copy()
    with np.errstate(all="ignore"):
        update(theirs, y)
        wb.jit(update)(mine, y)
    np.testing.assert_array_equal(mine, theirs)


def test_a_march_over_levels_and_its_stack_are_one_kernel():
    plan = form_plan(traced(downwards(1), np.ones((500, 40)), np.ones((500, 40))))
    (step,) = plan.steps
    assert isinstance(step, Cluster)
    assert step.stacks == set(step.outvars)
    both = form_plan(traced(solved, *np.ones((4, 50, 9, 20))))
    assert [bool(c.stacks) for c in both.clusters] == [True, False]  # the reader of the whole stack comes after it


@pytest.mark.parametrize(
    ("program", "shape", "n"), [(downwards(0), (9, 40), 2), (solved, (4, 5, 6), 4), (up_and_down, (20, 6), 2)]
)
def test_stacks_have_the_same_bits_through_numba(program, shape, n, monkeypatch):
    arrays = inputs(shape, n, np.float64)
    with np.errstate(all="ignore"):
        assert_same_bits(*both_forms(traced(program, *arrays), arrays, monkeypatch))
