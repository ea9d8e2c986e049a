"""Sliding windows and strided views, and `np.ndarray` called and named."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import workbench as wb

X, Y = np.random.default_rng(0).random((6, 7, 2)), np.random.default_rng(1).random((6, 7))


def windows(x, y):
    w = sliding_window_view(x, (3, 2), axis=(0, 1))
    v = sliding_window_view(y, (3, 3))
    y[2, 2] = 50  # seen through the view
    u = as_strided(y, (4, 3, 7), (y.strides[0], y.strides[0], y.strides[1]))
    return w.mean(axis=(-1, -2)), v, sliding_window_view(y.ravel(), 5).max(1), u * 2, sliding_window_view(y.T, (2, 2))


def test_windows():
    compiled = wb.jit(windows)
    for mine, theirs in zip(compiled(X, Y.copy()), windows(X, Y.copy()), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-14)
        assert mine.shape == theirs.shape
    assert not compiled.fallbacks


@pytest.mark.parametrize("layout", [
    lambda x: x, lambda x: np.asfortranarray(x), lambda x: x[::-1], lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    lambda x: x[:, ::-1].T,
])  # fmt: skip
@pytest.mark.parametrize("function", [
    lambda y: sliding_window_view(y, 2, axis=0),
    lambda y: sliding_window_view(y, (2, 3), writeable=True),
    lambda y: sliding_window_view(y[1:].T, 2, axis=1),
    lambda y: as_strided(y, (3, 2, 4), (y.strides[0], y.strides[0], y.strides[1])),
    lambda y: as_strided(y, (2, 4), writeable=False),
])  # fmt: skip
def test_windows_are_views_of_arrays_in_every_layout(layout, function):
    def program(y):
        found = function(y)
        y %= 0.5
        return found

    compiled = wb.jit(program)
    mine, theirs = layout(Y.copy()), layout(Y.copy())
    found, expected = compiled(mine), program(theirs)
    assert found.strides == expected.strides and found.flags.writeable == expected.flags.writeable
    mine += 7
    theirs += 7
    np.testing.assert_array_equal(found, expected)
    assert not compiled.fallbacks


def test_windows_may_be_written():
    def program(y):
        view = as_strided(y, (5, 2), (y.strides[0], y.strides[0]))
        view[1:, 0] = 5
        sliding_window_view(y, 3, axis=0, writeable=True)[0] = 2
        return view

    compiled = wb.jit(program)
    for x in (Y.copy(), Y.copy()[::-1]):
        theirs = x.copy()
        np.testing.assert_array_equal(compiled(x), program(theirs))
        np.testing.assert_array_equal(x, theirs)
    with pytest.raises(ValueError):
        wb.jit(lambda y: sliding_window_view(y, 2, axis=0).fill(0))(Y.copy())


def test_windows_of_what_the_program_makes_share_their_memory():
    def program(y):
        base = y.ravel() * 2
        return as_strided(np.arange(10), (8, 3), (8, 8)), as_strided(base, (4, 2), (8, 8))

    compiled = wb.jit(program)
    for mine, theirs in zip(compiled(Y), program(Y), strict=True):
        for view in (mine, theirs):
            view[0, 1] = 99
        assert mine[1, 0] == 99
        np.testing.assert_array_equal(mine, theirs)
    assert not compiled.fallbacks


def test_windows_that_do_not_fit():
    for f in (
        lambda y: sliding_window_view(y, (8, 1)),
        lambda y: sliding_window_view(y, 3),
        lambda y: sliding_window_view(y, (-1, 1)),
    ):
        with pytest.raises(ValueError) as theirs:
            f(Y)
        with pytest.raises(ValueError) as mine:
            wb.jit(f, strict=True)(Y)
        assert str(mine.value).splitlines()[0][:30] == str(theirs.value)[:30]


def test_ndarray_is_a_function_and_a_class():
    @wb.jit
    def work(x):
        assert isinstance(x, np.ndarray) and not isinstance(3, np.ndarray)
        assert isinstance(x, (np.ndarray, list)) and issubclass(np.ndarray, object)
        out = np.ndarray(x.shape[:1], dtype=np.float32)
        out[:] = x.sum(axis=1)
        return out

    np.testing.assert_allclose(work(Y), Y.sum(axis=1).astype("f4"), rtol=1e-6)
    assert not work.fallbacks
