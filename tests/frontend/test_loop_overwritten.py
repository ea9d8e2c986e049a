"""Arrays that loops write over: their memory is not filled before, and what reads them finds what NumPy has there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.sources import define

from .test_loops import loops_of

WHOLE = [
    "for i in range(n):\n        out[i] = s * x[i]\n        s = s * 0.5 + out.shape[0]",
    "for i in range(len(x)):\n        if x[i] > 0:\n            s = x[i]\n        out[i] = s",
    "for i in range(0, n):\n        s = s * 0.5 + x[i]\n        out[i] = s\n        if s < -99:\n            continue",
    "for i in range(n):\n        s += x[i]\n        out[i] = s\n    for i in range(1, n):\n        out[i] = s",
]
IN_PARTS = [
    "for i in range(n - 1):\n        s = s * 0.5 + x[i]\n        out[i] = s",
    "for i in range(1, n):\n        s = s * 0.5 + x[i]\n        out[i] = s",
    "for i in range(n):\n        s = s * 0.5 + x[i]\n        if s > 0:\n            out[i] = s",
    "for i in range(n):\n        if x[i] < -1:\n            break\n        s = s * 0.5 + x[i]\n        out[i] = s",
    "for i in range(n):\n        if x[i] < 0:\n            continue\n        s = s * 0.5 + x[i]\n        out[i] = s",
    "for i in range(n):\n        s = s * 0.5 + out[i]\n        out[i] = s",
    "for i in range(n):\n        out[i] += x[i] * s\n        s = out[i]",
    "for i in range(n):\n        s = s + out[n - 1 - i]\n        out[i] = s",
    "for i in range(n):\n        k = i\n        k = k // 2\n        s = s + x[i]\n        out[k] = s",
    "k = 0\n    for i in range(n):\n        s = s + x[i]\n        out[k] = s\n        k = i",
    "for i in range(n):\n        s = s * 0.5 + x[i]\n        out[i] = s\n        if x[i] > 1:\n            break",
    "for i in range(n):\n        out[i] = s\n        for k in range(3):\n            if s > k:\n                break\n        else:\n"
    "            break\n        s = s - 0.25",
    "while s > 1:\n        for i in range(n):\n            s = s * 0.5\n            out[i] = s",
    "for i in range(2):\n        s = s + x[i]\n        out[i] = s",
    "half = out[::2]\n    for i in range(n):\n        s = s + half[i // 2]\n        out[i] = s",
]
ROWS = [
    "for i in range(n):\n        s = s * 0.5 + x[i]\n        for j in range(3):\n            out[i, j] = s * j",
    "for i in range(n):\n        s = s * 0.5 + x[i]\n        out[i, 0] = s\n        out[i, 1], out[i, 2] = 2 * s, 3 * s",
    "for i in range(n):\n        v = v * 0.5 + x[i]\n        out[i] = v",
]
ROWS_IN_PARTS = [
    "for i in range(n):\n        s = s * 0.5 + x[i]\n        for j in range(2):\n            out[i, j] = s * j",
    "for i in range(n):\n        s = s * 0.5 + x[i]\n        out[i, 0] = s\n        out[i, 2] = 3 * s",
    "for i in range(3):\n        s = s * 0.5 + x[i]\n        for j in range(3):\n            out[j, i] = s",
    "for i in range(n):\n        s = s * 0.5 + x[i]\n        for j in range(3):\n            out[i, j] = s\n            if s < 0:\n"
    "                break",
    "for i in range(n):\n        s = s * 0.5 + x[i]\n        for j in range(3):\n            out[i, j] = s\n        if s < 0:\n"
    "            break",
]


def program(loop: str, shape: str) -> Any:
    source = f"""
import numpy as np

def f(x, n):
    out = np.full({shape}, 7.0)
    s = 1.0
    v = np.ones(3)
    {loop}
    return out, s
"""
    return define(source, "f", f"<overwritten {loop} {shape}>")


def is_unfilled(compiled: Any) -> bool:
    (made,) = compiled.compilations
    names = [eqn.primitive.name for eqn in made.plan.jaxpr.eqns]
    return "empty" in names


@pytest.mark.parametrize(
    ("loop", "shape", "whole"),
    [(loop, "n", True) for loop in WHOLE]
    + [(loop, "n", False) for loop in IN_PARTS]
    + [(loop, "(n, 3)", True) for loop in ROWS]
    + [(loop, "(n, 3)", False) for loop in ROWS_IN_PARTS],
)
def test_only_what_is_written_as_a_whole_is_not_filled(loop, shape, whole):
    function = program(loop, shape)
    compiled = wb.jit(function)
    x = np.random.default_rng(1).normal(size=40)
    found, expected = compiled(x, 40), function(x, 40)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1] and not compiled.fallbacks
    assert loops_of(compiled)
    assert is_unfilled(compiled) == whole


def test_what_an_array_held_is_kept_where_somebody_else_reads_it():
    def f(x):
        out = x * 2.0
        before = out.copy()
        s = 0.0
        for i in range(len(x)):
            s = s * 0.5 + x[i]
            out[i] = s
        return out, before

    x = np.random.default_rng(1).normal(size=40)
    compiled = wb.jit(f)
    for found, expected in zip(compiled(x), f(x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_an_argument_that_is_written_over_stays_the_caller_s():
    def f(x, out):
        s = 0.0
        for i in range(len(x)):
            s = s * 0.5 + x[i]
            out[i] = s
        return s

    x = np.random.default_rng(1).normal(size=40)
    out, expected = np.zeros(40), np.zeros(40)
    compiled = wb.jit(f)
    assert compiled(x, out) == f(x, expected)
    np.testing.assert_array_equal(out, expected)


def test_a_loop_that_raises_midway_leaves_nothing():
    def f(x, k):
        out = np.zeros(len(x))
        s = 0.0
        for i in range(len(x)):
            s = s + x[k[i]]
            out[i] = s
        return out

    compiled = wb.jit(f)
    x = np.arange(5.0)
    np.testing.assert_array_equal(compiled(x, np.arange(5)), f(x, np.arange(5)))
    with pytest.raises(IndexError):
        compiled(x, np.array([0, 1, 2, 9, 0]))
