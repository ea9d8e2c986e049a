"""`ravel()` and `reshape()` in loops may be views in NumPy: steps copy them where nobody can tell."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same


def read(img):
    out = np.zeros(len(img))
    for i in range(len(img)):
        m = img[i].ravel()
        out[i] = (m * m).sum() + m[0]
    return out


def written(img):
    out = np.zeros(len(img))
    for i in range(len(img)):
        m = img[i].ravel()
        m[0] = 5
        out[i] = (m * m).sum()
    return out, img


def source_written(img):
    out = np.zeros(len(img))
    for i in range(len(img)):
        m = img[i].ravel()
        img[i] += 1
        out[i] = (m * m).sum()
    return out, img


def left(img):
    m = img[0].ravel()
    for i in range(len(img)):
        m = img[i].ravel()
        if m.sum() > 50:
            break
    m[0] = 3
    return m, img


def blocks(img):
    out = np.zeros((len(img), 4))
    for i in range(len(img)):
        m = img[i, :2, :2].reshape(-1)
        out[i] = m / m.sum()
    return out


def of_what_the_loop_made(img):
    s = 0.0
    for i in range(len(img)):
        z = np.exp(img[i])
        m = z.ravel()
        z[0] = 0
        s += m.sum()
    return s


def by_another_name(img):
    out = np.zeros(len(img))
    for i in range(len(img)):
        m = img[i].real.ravel()
        n = m
        for j in range(len(n)):
            out[i] += n[j] * m[-1 - j]
    return out


PROGRAMS = [read, written, source_written, left, blocks, of_what_the_loop_made, by_another_name]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("layout", ["C", "F", "part"])
def test_they_have_numpys_values(program, layout):
    img = np.random.default_rng(0).random((20, 10, 10))
    img = img if layout == "C" else np.asfortranarray(img) if layout == "F" else img[:, ::2, 1:]
    compiled = wb.jit(program)
    for _ in range(2):
        given = img.copy(order="K"), img.copy(order="K")
        assert_same(compiled(given[1]), program(given[0]), max_ulp=16, reduction_scale=1e4)
        assert_same(given[1], given[0])


@pytest.mark.parametrize("program", [read, blocks, by_another_name], ids=lambda f: f.__name__)
def test_such_loops_are_steps(program):
    compiled = wb.jit(program)
    compiled(np.random.default_rng(0).random((300, 10, 10)))
    assert not compiled.fallbacks
    assert sum("program" in e.params for e in compiled.compilations[-1].plan.jaxpr.eqns) == 1


@pytest.mark.filterwarnings("ignore:.*runs in NumPy")
def test_an_array_that_is_written_under_another_name():
    def through_another(img, other):
        out = np.zeros(len(img))
        for i in range(len(img)):
            m = img[i].ravel()
            other[i] += 1
            out[i] = (m * m).sum()
        print("", end="")  # which runs in Python, the loop by itself
        return out

    for function in (through_another, wb.jit(through_another)):
        img = np.arange(24.0).reshape(6, 2, 2)
        found = function(img, img)
        np.testing.assert_array_equal(found, ((np.arange(24.0).reshape(6, 4) + 1) ** 2).sum(axis=1))
