"""`np.r_` and `np.c_` in traced code."""

from __future__ import annotations

import numpy as np
import pytest
from numpy import c_

import workbench as wb

X = np.linspace(0.5, 2.0, 6)
A = np.arange(6, dtype=np.float32).reshape(2, 3)
INTS = np.arange(4, dtype=np.int8)

CASES = {
    "arrays": lambda x, a, i: np.r_[x, x * 2],
    "numbers": lambda x, a, i: np.r_[0, x, 1.5, x.sum(), np.float32(3)],
    "weak numbers": lambda x, a, i: (np.r_[i, 3], np.r_[a[0], 1.5], np.r_[i, 2.5], np.r_[True, i > 1]),
    "a slice": lambda x, a, i: np.r_[0:5, i, 1:2:0.25],
    "so many points": lambda x, a, i: np.r_[-1:1:5j, x],
    "columns": lambda x, a, i: np.c_[x, x**2, np.ones(6)],
    "matrices": lambda x, a, i: np.c_[a, a[:, :1]],
    "a slice as a column": lambda x, a, i: np.c_[0:6, x],
    "a number in columns": lambda x, a, i: np.c_[x[:1], 2],
    "along rows": lambda x, a, i: np.r_["0,2", x, x],
    "an axis": lambda x, a, i: np.r_["-1", a, a],
    "a place": lambda x, a, i: (np.r_["0,2,0", x, x], np.r_["1,2,0", x, x], np.r_["0,3,1", a, a], np.r_["0,3,-2", x]),
    "by its own name": lambda x, a, i: c_[x, -x],
    "written to": lambda x, a, i: write(np.r_[1.0, 2.0, 3.0], x),
    "bools": lambda x, a, i: np.flatnonzero(np.r_[True, i[1:] != i[:-1]]).sum(),
    "errors": lambda x, a, i: np.r_[x, a],
    "a directive too late": lambda x, a, i: np.r_[x, "0,2"],
    "an unknown directive": lambda x, a, i: np.r_["q", x],
    "nothing": lambda x, a, i: np.r_[()],
}


def write(y, x):
    y[1] = x.sum()
    return y


@pytest.mark.parametrize("f", CASES.values(), ids=CASES)
def test_what_stands_in_brackets_is_joined_as_numpy_joins_it(f):
    try:
        expected = f(X, A, INTS)
    except Exception as error:
        with pytest.raises(type(error)):
            wb.jit(f)(X, A, INTS)
        return
    found = wb.jit(f)(X, A, INTS)
    for mine, numpys in zip(*((r if type(r) is tuple else (r,)) for r in (found, expected)), strict=True):
        assert mine.dtype == numpys.dtype and mine.shape == numpys.shape
        np.testing.assert_allclose(mine, numpys, rtol=1e-14)


@pytest.mark.parametrize(
    "name", ["numbers", "columns", "a slice as a column", "a place", "by its own name", "written to"]
)
def test_it_compiles(name):
    compiled = wb.jit(CASES[name])
    compiled(X, A, INTS)
    assert not compiled.fallbacks


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_matrix_is_left_to_numpy():
    compiled = wb.jit(lambda x: np.r_["c", x])
    assert type(compiled(X)) is np.matrix and compiled.fallbacks
