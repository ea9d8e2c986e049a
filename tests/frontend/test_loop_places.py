"""Elements at places that a loop computes: a tuple is one index for each axis, a list is several places."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb

from ..runtime.test_whole_loops import assert_like_python
from ..sources import define
from .place_loop_programs import arguments, place_loop_program
from .test_loops import assert_same

STATEMENTS = {
    "a variable": "p = (i, i + 1)\nv[p] += 1\ns += v[p]",
    "a call": "v[place(i)] += 1\ns += v[place(i)]",
    "an item of a list": "k = i % 2\nv[places[k]] += i\ns += v[places[k]]",
    "a part of a tuple": "p = (i, i + 1, 7)\nv[p[:2]] = s\ns += v[p[1:]]",
    "a sum of tuples": "p = (i,)\nv[p + (2,)] += 1\ns += v[(1,) + p]",
    "a tuple of an array": "q = np.array([i, i + 1])\nv[tuple(q)] += 1\ns += v[tuple(q)]",
    "a tuple of a row": "v[tuple(table[i])] += 1\ns += v[tuple(table[i, ::-1])]",
    "a choice": "p = (i, i + 1) if i % 2 else (i + 1, i)\nv[p] += 1\ns += v[p]",
    "a tuple of one": "p = (i,)\nv[p] += 1\ns += v[p].sum()",
    "a tuple with arrays": "p = (np.array([i, i + 1]), 2)\nv[p] += 1\ns += v[p].sum()",
    "negative ones": "p = (-i - 1, i - 3)\nv[p] += 1\ns += v[p]",
    "a list": "v[[i, i + 1]] += 1\ns += v[[i, i + 1]].sum()",
    "a list in a variable": "p = [i, i + 1]\nv[p] += 1\ns += v[p].sum()",
    "an array": "q = np.array([i, i + 1])\nv[q] += 1\ns += v[q].sum()",
}


def place(i):
    return (i, i + 1)


def names():
    table = np.array([[0, 1], [2, 3], [1, 1], [4, 0]])
    return {"np": np, "place": place, "v": np.zeros((8, 8)), "s": 0.0, "places": [(1, 2), (3, 4)], "table": table}


@pytest.mark.parametrize("text", STATEMENTS.values(), ids=STATEMENTS)
def test_places_are_pythons(text):
    body = text.replace("\n", "\n    ")
    assert_like_python(f"for i in range(4):\n    {body}", names(), names())


def marked(v, n):
    v = v.copy()
    for i in range(n):
        p = (i, i + 1)
        v[p] += 1
    return v


def walked(v, moves):
    v = v.copy()
    at = np.array([3, 3])
    for k in range(moves.shape[0]):
        at = np.clip(at + moves[k], 0, 7)
        v[tuple(at)] += k
    return v


def out_of_range(v, n):
    v = v.copy()
    for i in range(n):
        p = (i, 2 * i)
        v[p] = 1
    return v


def test_places_in_functions():
    v = np.zeros((8, 8))
    moves = np.random.default_rng(0).integers(-1, 2, (40, 2))
    for function, *args in ((marked, v, 5), (walked, v, moves), (out_of_range, v, 4)):
        compiled = wb.jit(function)
        for _ in range(2):
            np.testing.assert_array_equal(compiled(*args), function(*args))
        assert compiled.compilations and not compiled.fallbacks
    with pytest.raises(IndexError):
        wb.jit(out_of_range)(v, 5)


@pytest.mark.parametrize("seed", range(40))
def test_random_loops_over_places(seed):
    f = define(place_loop_program(seed), "f", f"<places {seed}>")
    assert_same(f, *arguments(seed))
