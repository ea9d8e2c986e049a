"""Stencils: slices, rolls and assignments to parts of fresh arrays give NumPy's bits at every shape and layout."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb

from .test_llvm_kernels import assert_same_bits, both_forms, traced


def advection(c, u, v):
    """Upwind fluxes through the faces of a closed box."""
    fx, fy = np.zeros_like(c), np.zeros_like(c)
    fx[:-1] = np.where(u[:-1] > 0, c[:-1], c[1:]) * u[:-1]
    fy[:, :-1] = np.where(v[:, :-1] > 0, c[:, :-1], c[:, 1:]) * v[:, :-1]
    new = c.copy()
    new[1:] -= fx[1:] - fx[:-1]
    new[:, 1:] -= fy[:, 1:] - fy[:, :-1]
    return new, fx


def curl(c, u, v):
    """Vorticity at the corners of a staggered grid and the divergence at its centres."""
    z, d = np.full_like(c, 7), np.zeros_like(c)
    z[1:-1, 1:-1] = (v[1:-1, 1:-1] - v[:-2, 1:-1]) - (u[1:-1, 1:-1] - u[1:-1, :-2])
    d[:-1, :-1] = (u[1:, :-1] - u[:-1, :-1]) + (v[:-1, 1:] - v[:-1, :-1])
    return z * c, d[:, ::2] + z[:, ::2], (d[1:] * z[:-1])[:, 1:]


def periodic(c, u, v):
    """Flux differences on a torus, with neighbours of neighbours."""
    flux = u * (c + np.roll(c, -1, 0)) + v * np.roll(np.roll(c, -1, 1), 2, 0)
    around = [np.roll(flux, (i, j), (0, 1)) for i in (-1, 1) for j in (-2, 0, 1)]
    return c - (flux - np.roll(flux, 1, 0)) * (flux - np.roll(flux, 1, 1)), sum(around[1:], around[0])


def limited(c, u, v):
    """Slopes that vanish at the ends, and what they give two cells further."""
    s = np.zeros_like(c)
    a, b = c[1:-1] - c[:-2], c[2:] - c[1:-1]
    s[1:-1] = np.where(a * b > 0, np.where(abs(a) < abs(b), a, b), 0)
    t = np.zeros_like(c)
    t[:, 1:-1] = s[:, 2:] + s[:, :-2]
    return c + s, t - np.roll(s, 1, 0), s[2:, 1:] * t[:-2, :-1]


def edges(c, u, v):
    """Borders that are set one after another, and read together."""
    p = np.zeros_like(c)
    p[1:-1, 1:-1] = c[1:-1, 1:-1] * 2
    p[0], p[-1] = u[0], v[-1]
    p[:, -1] = c[:, 0]
    q = np.zeros((c.shape[0] + 2, c.shape[1] + 2), c.dtype)
    q[1:-1, 1:-1] = p
    return p, q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2] - 4 * q[1:-1, 1:-1]


PROGRAMS = [advection, curl, periodic, limited, edges]
SHAPES = [(9, 200), (70, 70), (3, 64), (5, 63), (4, 5), (2, 2), (1, 80), (80, 1), (1, 1)]


def fields(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    made = rng.integers(-9, 9, (3, *shape))
    if np.dtype(dtype).kind == "f":
        made = made / 7
        made[0].flat[0], made[1].flat[-1], made[2].flat[made[2].size // 2] = np.nan, np.inf, -0.0
    return [each.astype(dtype) for each in made]


def assert_as_numpy(function, arrays, compiled=None):
    with np.errstate(all="ignore"):
        expected = function(*(a.copy() for a in arrays))
    for found, right in zip((compiled or wb.jit(function))(*arrays), expected, strict=True):
        assert (found.shape, found.dtype) == (right.shape, right.dtype)
        np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_every_shape_gives_numpys_bits(function, dtype):
    compiled = wb.jit(function)
    for shape in SHAPES:
        assert_as_numpy(function, fields(shape, dtype), compiled)


@pytest.mark.parametrize("function", [advection, periodic, limited], ids=lambda f: f.__name__)
def test_empty_arrays(function):
    for shape in ((0, 70), (4, 0)):
        assert_as_numpy(function, fields(shape, np.int64))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_strided_inputs_give_numpys_bits(function):
    c, u, v = fields((70, 140), np.float64)
    assert_as_numpy(function, [c[:, ::2], u[::-1, 1::2], np.asfortranarray(v[:, :70])])


@pytest.mark.parametrize("shape", [(9, 100), (6, 12)])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_both_forms_give_the_same_bits(function, shape, monkeypatch):
    arrays = fields(shape, np.float64)
    assert_same_bits(*both_forms(traced(function, *arrays), arrays, monkeypatch))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(6, 7, 80), (6, 80, 4), (90, 3, 2)])
def test_gradients_along_each_axis(shape, axis):
    def gradients(t, mask, step):
        at = [slice(None)] * 3
        at[axis] = slice(None, -1)
        ahead, here = np.roll(t, -1, axis), np.zeros_like(t)
        there = [slice(None)] * 3
        there[axis] = slice(1, None)
        here[tuple(at)] = mask[tuple(there)] * mask[tuple(at)] * (t[tuple(there)] - t[tuple(at)]) / step
        total = here.copy()
        total[1:, 1:, 1:] += here[:-1, :-1, :-1]
        return here, ahead - t, total

    t, mask, _ = np.random.default_rng(1).normal(size=(3, *shape))
    assert_as_numpy(gradients, [t, mask, np.float64(1.5)])


def test_threads_do_not_change_the_borders():
    arrays = fields((1200, 90), np.float64)
    for threads in (1, 2, 3):
        with wb.config(threads=threads):
            for function in PROGRAMS:
                assert_as_numpy(function, arrays)


def kernels_of(function, *arrays):
    compiled = wb.jit(function)
    compiled(*arrays)
    return list(compiled.compilations[-1].kernels.values())


def test_rolls_of_one_array_are_one_kernel_that_chooses_indices():
    def around(x):
        return sum((np.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)), np.zeros_like(x))

    (kernel,) = kernels_of(around, np.random.default_rng(0).normal(size=(90, 100)))
    inner = kernel.source[kernel.source.rindex("for ") :]
    assert "if i0 < " in inner and "\n                if " not in inner
    assert kernel.source.count("piece_stop = min(") == 2


def test_what_is_set_inside_of_zeros_is_computed_where_it_is_read():
    def inner(x):
        z = np.zeros_like(x)
        z[1:-1] = x[1:-1] * 2
        return z[1:-2] + z[2:-1]

    (kernel,) = kernels_of(inner, np.ones((90, 100)))
    assert "if " not in kernel.source


def test_the_middle_of_an_array_has_a_loop_without_conditions():
    def framed(x):
        z = np.zeros_like(x)
        z[1:-1, 2:-2] = np.sqrt(x[:-2, 2:-2])
        return z + x

    (kernel,) = kernels_of(framed, np.ones((90, 100)))
    middle = kernel.source.split("if inside")[1].split("else:")[0]
    assert "for i1 in" in middle and "if " not in middle


def test_stencils_that_read_the_same_arrays_share_a_kernel():
    def both(h, u, v):
        a, b = u.copy(), v.copy()
        a[1:-1, 1:-1] += h[2:, 1:-1] * u[:-2, 1:-1] - h[1:-1, 1:-1]
        b[1:-1, 1:-1] += h[1:-1, 2:] * u[1:-1, :-2] - h[1:-1, 1:-1]
        return a, b

    arrays = fields((20, 90), np.float64)
    assert len(kernels_of(both, *arrays)) == 1
    for shape in SHAPES:
        assert_as_numpy(both, fields(shape, np.float64))


def test_stencils_do_not_share_a_kernel_with_what_they_wait_for():
    def chain(h, u, v):
        a = np.sqrt(abs(h[1:] * u[:-1] + h[:-1] * u[1:])) / (1 + v[1:] * v[1:])
        b = h[1:] - u[:-1] + np.cumsum(a, axis=0)
        return a[1:] - a[:-1], b[1:] * a[:-1], h[1:] * u[:-1] + v[1:]

    with np.errstate(all="ignore"):
        arrays = fields((30, 90), np.float64)
        for found, right in zip(wb.jit(chain)(*arrays), chain(*arrays), strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-14)


@pytest.mark.parametrize("width", [2, 4, 7, 9, 10, 16, 17])
def test_short_rows_that_are_read_and_written(width):
    def accumulate(x, y, z):
        for k in range(3):
            x[1:, 1:] += y[:-1, :-1]
            x[:-1, :-1] -= z[1:, 1:] * k
        return x * 1

    arrays = fields((40, width), np.float64)
    assert_as_numpy(accumulate, arrays)
    x = arrays[0].copy()
    wb.jit(accumulate)(x, *arrays[1:])
    right = arrays[0].copy()
    with np.errstate(all="ignore"):
        accumulate(right, *arrays[1:])
    np.testing.assert_array_equal(x, right)
    in_place = [kernel for kernel in kernels_of(accumulate, *arrays) if kernel.takes]
    assert in_place and not any(kernel.may_be_short for kernel in in_place)
