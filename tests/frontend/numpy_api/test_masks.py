"""`x[mask]`, reduced, computed with, assigned back and returned: NumPy's values and errors, without an array of it."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import workbench as wb
from tests.numpy_programs.outcomes import assert_like

RNG = np.random.default_rng(0)
X, Y, INTS = RNG.normal(size=(6, 5)), RNG.normal(size=(6, 5)), RNG.integers(-5, 5, (6, 5))
ROWS = np.array([1, 0, 1, 1, 0, 0], bool)
Z, PLACES = RNG.normal(size=20), RNG.integers(0, 20, 20)
PROGRAMS = {}
IN_NUMPY = {"a_kept_array"}  # what needs an array of the chosen elements


def program(*arguments):
    return lambda function: PROGRAMS.setdefault(function.__name__, (function, arguments))[0]


@program(X)
def sum_of_a_mask(x):
    return x[x > 0].sum()


@program(X)
def every_reduction(x):
    return (
        x[x > 0].mean(),
        x[x > 0].std(),
        x[x > 0].var(ddof=1),
        x[x > 0].max(),
        x[x > 0].min(),
        (x[x > 0] > 1).any(),
        (x[x > 0] > 0).all(),
    )


@program(X)
def a_function_of_what_is_assigned(x):
    x[x > 0] = x[x > 0] ** 2 + 1


@program(X, Y)
def two_arrays_under_one_mask(x, y):
    m = x > y
    x[m] *= 2
    x[m] = y[m] + x[m]
    return np.sum(x[m]), np.count_nonzero(y[m] > 0), x[m].size, x[m].shape


@program(INTS)
def integers(i):
    i[i > 0] += 1
    i[i < 0] //= 2
    return i[i > 3].max(initial=0), i[i == 2].sum(), i[i > 1].prod()


@program(X, ROWS)
def masks_of_some_axes(x, m):
    return (
        x[m].mean(axis=0),
        x[m].sum(),
        x[m, 1:3].sum(axis=0),
        x[m, 0].mean(),
        x[:, 2][m].sum(),
        x[m].sum(axis=1).max(),
    )


@program(X, ROWS)
def a_mask_and_slices_are_assigned(x, m):
    x[m] -= x[m].mean(axis=0)
    x[m, 0] = 9.0
    x[m, 1:3] += 1


@program(X)
def positions(x):
    idx = np.where(x > 0)
    x[idx] = 0.5
    r, c = np.nonzero(x < 0)
    return x[r, c].sum(), r.sum(), c.max(), np.argwhere(x > 0.2).sum(axis=0), np.flatnonzero(x < 0).mean()


@program(Z, PLACES)
def positions_of_positions(z, zi):
    k = np.where(z > 0)[0]
    return z[k].sum(), z[zi[k]].sum(), zi[z > 0].max(), z[zi][zi > 3].mean()


@program(Z)
def chosen_elements_of_chosen_elements(z):
    p = z[z > 0]
    q = p[p < 1]
    p += 1
    p[p > 1.5] = 0
    return (
        q.sum(),
        p.sum(),
        np.where(p > 1, p, 0).sum(),
        np.dot(p, p),
        p @ p,
        np.linalg.norm(p),
        np.sqrt(p).sum(),
        (-p).min(),
    )


@program(Z)
def nothing_is_chosen(z):
    return z[z > 100].sum(), z[z > 100].mean(), z[z > 100].size


@program(Z)
def maximum_of_nothing(z):
    return z[z > 100].max()


@program(INTS)
def in_place_casts_are_refused(i):
    i[i > 0] += 1.5


@program(INTS)
def assignment_casts(i):
    i[i > 0] = i[i > 0] * 1.5
    return i


@program(Z)
def median(z):
    return np.median(z[z > 0])


@program(Z)
def length(z):
    return z[np.abs(z) < 1].sum() / len(z[np.abs(z) < 1])


@program(X)
def masks_of_later_axes(x):
    return x[:, x[0] > 0].sum(axis=0).max(), x[:, x[0] > 0].sum(axis=1).max(), x[..., x[0] > 0].max()


@program(Z, Z.copy())
def mixed_expressions(z, w):
    m = z > 0
    w[m] = np.maximum(z[m], 0.5) - np.float64(2) * w[m] + 1
    w[~m] = 0
    return np.nanmean(z[m]), np.sum(z[m] * w[m]), np.ptp(z[m])


@program(Z)
def a_kept_array(z):
    return z[z > 0], np.nonzero(z)


def outcome(function, arguments):
    arguments = copy.deepcopy(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments), arguments
        except Exception as error:
            return (type(error).__name__, str(error)), arguments


@pytest.mark.parametrize("name", PROGRAMS)
def test_masks(name):
    function, arguments = PROGRAMS[name]
    compiled, expected = wb.jit(function), outcome(function, arguments)
    for _ in range(2):
        actual = outcome(compiled, arguments)
        if isinstance(expected[0], tuple) and isinstance(expected[0][0], str):
            assert actual[0] == expected[0]
        elif expected[0] is not None:
            assert_like(actual[0], expected[0], 1e-12, "result")
        assert_like(actual[1], expected[1], 1e-12, "arguments")
    assert bool(compiled.fallbacks) == (name in IN_NUMPY)


def test_what_needs_an_array_names_the_line_that_chose():
    def work(x):
        chosen = x[x > 0]
        return np.sort(chosen)

    compiled = wb.jit(work)
    np.testing.assert_array_equal(compiled(Z), work(Z))
    (reason,) = compiled.fallbacks
    assert reason.code == "WB110" and "x[x > 0]" in str(reason)


def test_a_selection_in_a_loop_and_through_a_call():
    inner = wb.jit(lambda x, m: x[m].sum() * 2)

    def work(x, steps):
        total = 0.0
        for _ in range(steps):
            high = x[x > x.mean()]
            total += inner(x, x < 0) + high.max()
            x[x > 0] *= 0.5
        return total

    compiled = wb.jit(work)
    mine, theirs = Z.copy(), Z.copy()
    np.testing.assert_allclose(compiled(mine, 12), work(theirs, 12), rtol=1e-13)
    np.testing.assert_allclose(mine, theirs, rtol=1e-13)
    assert not compiled.fallbacks
