"""Loops of which a counter tells how often they run: they are loops of the program, and lists grow in them."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.frontend.jumps import LoopSource
from workbench.frontend.loop_patterns import appended, turns_left
from workbench.notebook.cells import run_cell

from ..sources import define


def turns(text: str, **values: object):
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.While)
    return turns_left(LoopSource(node, None, None), values.get)


@pytest.mark.parametrize("text, values, n, end", [
    ("while i < n: i += 1", {"i": 3, "n": 10}, 7, 10),
    ("while i <= n - 1:\n  x = x + i\n  i = i + 3", {"i": 0, "n": 10}, 4, 12),
    ("while i > 0: i -= 2", {"i": 7}, 4, -1),
    ("while t < end: t += dt", {"t": 0.0, "end": 1.0, "dt": 0.1}, 11, 1.0999999999999999),
    ("while t < end / 2: t += 2 * dt", {"t": 0.0, "end": 1.0, "dt": 0.125}, 2, 0.5),
    ("while h > 1e-3: h *= 0.5", {"h": 1.0}, 10, 0.5**10),
    ("while i < n: i += 1", {"i": 5, "n": 2}, 0, 5),
])  # fmt: skip
def test_a_counter_tells_how_often(text, values, n, end):
    found = turns(text, **values)
    assert found is not None and (found.n, found.end) == (n, end) and type(found.end) is type(end)


@pytest.mark.parametrize("text, values", [
    ("while i < n: i += 1", {"i": np.int64(3), "n": 10}),
    ("while i < n: i += 1", {"i": True, "n": 10}),
    ("while i < n: i += 1; n -= 1", {"i": 3, "n": 10}),
    ("while i < n: i += 1; i += 1", {"i": 3, "n": 10}),
    ("while i < n:\n  if x: i += 1", {"i": 3, "n": 10}),
    ("while i < n:\n  if x: continue\n  i += 1", {"i": 3, "n": 10}),
    ("while i < n: i += i", {"i": 3, "n": 10}),
    ("while i < f(): i += 1", {"i": 3}),
    ("while i < n and x: i += 1", {"i": 3, "n": 10}),
    ("while i < n: i += 0", {"i": 3, "n": 10}),
    ("while i < n: i += step // zero", {"i": 3, "n": 10, "step": 1, "zero": 0}),
])  # fmt: skip
def test_other_loops_are_not_counted(text, values):
    assert turns(text, **values) is None


def test_lists_that_a_loop_only_appends_to():
    (node,) = ast.parse("while i < n:\n  a.append(i)\n  b.append(i)\n  c = b\n  if i: d.append(i)").body
    assert isinstance(node, ast.While)
    assert appended(node) == {"a": 1}


STATEMENTS = ["x = x * 0.99 + 0.1", "y = y + x * t", "found.append(x)", "found.append((x, t))", "times.append(t)",
              "k += 1", "y[0] = y[0] + k", "x = np.where(x > 1, x - 1, x)"]  # fmt: skip
COUNTERS = [("t < 40", "t += 1", "0"), ("t <= n * 10", "t = t + 1", "3"), ("t > 0", "t -= 1", "25"),
            ("t < 1.0", "t += 0.03125", "0.0"), ("t > 0.01", "t *= 0.75", "4.0"), ("t < n", "t += 1", "0")]  # fmt: skip


@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=4), st.sampled_from(COUNTERS), st.integers(0, 4))
@settings(max_examples=60)
def test_counted_loops_are_pythons(body, counter, position):
    test, step, start = counter
    body = [*body[:position], step, *body[position:]]
    lines = [f"t, k, n, y, found, times = {start}, 0, 3, x.copy(), [], []", f"while {test}:",
             *[f"    {line}" for line in body], "return x, y, found, times, t, k, np.zeros(k)"]  # fmt: skip
    source = "def program(x):\n" + "".join(f"    {line}\n" for line in lines)
    function = define(source, "program", f"<counted {abs(hash(source)):x}>", np=np)
    compiled = wb.jit(function)
    for _ in range(2):
        x = np.array([0.5, -1.0, 2.0])
        expected, result = function(x.copy()), compiled(x.copy())
        assert repr(type(result[4])) == repr(type(expected[4])) and result[4:6] == expected[4:6]
        assert len(result[2]) == len(expected[2]) and result[3] == expected[3]
        for one, other in zip(result[:2], expected[:2], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        for one, other in zip(result[2], expected[2], strict=True):
            np.testing.assert_allclose(one[0], other[0], rtol=1e-12)


@pytest.mark.parametrize("loop", ["while t < 400:\n        t += 1", "while t < 4.0:\n        t += 0.01"])
def test_arrays_are_kept_in_a_loop_of_the_program(loop):
    source = f"""
def program(x):
    t, found = {"0" if "400" in loop else "0.0"}, []
    {loop}
        x = x - 0.01 * x
        found.append(x)
    return np.array(found), t
"""
    function = define(source, "program", f"<kept {abs(hash(source)):x}>", np=np)
    compiled = wb.jit(function)
    result, expected = compiled(np.ones(3)), function(np.ones(3))
    np.testing.assert_allclose(result[0], expected[0], rtol=1e-12)
    assert result[1] == expected[1] and not compiled.fallbacks
    assert len(compiled.compilations[-1].plan.jaxpr.eqns) < 100


def test_a_limit_that_functions_lower():
    names: dict[str, object] = {"np": np, "x": np.ones(3), "__name__": "__main__"}
    exec("m = 100\ndef lower():\n    global m\n    m -= 1", names)
    cell = (
        "i, out = 0, []\nwhile i < m:\n    lower()\n    x = x * 0.99\n    out.append(x)\n    i += 1\nz = np.array(out)"
    )
    run_cell(cell, names)
    assert (names["i"], names["m"], len(names["z"])) == (50, 50, 50)  # type: ignore[arg-type]


def test_hundreds_of_computed_rows_are_joined():
    compiled = wb.jit(lambda rows: np.stack([row * 2 for row in rows]))
    rows = [np.full(3, float(k)) for k in range(300)]
    np.testing.assert_array_equal(compiled(rows), np.stack(rows) * 2)
    assert not compiled.fallbacks
