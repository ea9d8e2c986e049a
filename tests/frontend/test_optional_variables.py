"""Variables of loops that are a number or None: NumPy's results, by compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.compare import assert_same
from tests.runtime.test_whole_loops import as_it_is
from tests.sources import define

from .optional_programs import RESULTS, Program
from .test_loops import loops_of


def outcome(function: Any, x: np.ndarray) -> Any:
    """What it returns, in which a loop's `np.float64` may be a float of Python's, or the name of what it raises."""
    try:
        with np.errstate(all="ignore"):
            found = function(x)
    except TypeError as error:
        return type(error).__name__
    return tuple(map(plain_floats, found))


def plain_floats(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(plain_floats, value))
    return float(value) if isinstance(value, float) else value


def check(function: Any, *arguments: Any) -> Any:
    """The compiled function, whose results are NumPy's, and whose loop is one step."""
    compiled = wb.jit(function)
    with np.errstate(all="ignore"):
        for _ in range(2):
            assert_same(compiled(*arguments), function(*arguments))
    assert not compiled.fallbacks
    assert loops_of(compiled)
    return compiled


@pytest.mark.parametrize("seed", range(80))
def test_random_programs(seed: int) -> None:
    program = Program(seed)
    function = define(program.source, "f", f"<optional {seed}>")
    compiled = wb.jit(function)
    rng = np.random.default_rng(seed)
    for n in (0, 1, 2, 7, 40):
        x = np.round(rng.random(n), 1)
        expected, found = outcome(function, x), outcome(compiled, x)
        if isinstance(expected, str) or isinstance(found, str):
            assert found == expected, program.source
            continue
        assert_same(found, expected)


@pytest.mark.parametrize("seed", range(40))
def test_random_loops_of_cells(seed: int) -> None:
    """Compiled whole, over what the cell's variables hold."""
    program = Program(seed)
    for n in (40, 1, 0):
        x = np.round(np.random.default_rng(seed).random(n), 1)
        compiled, plain = program.variables(x), program.variables(x)
        error = None
        try:
            exec(program.loop, plain)
        except TypeError as raised:
            error = raised
        ran = as_it_is(program.loop, compiled, frozenset(RESULTS)) is not None
        assert not (ran and error), program.loop
        for name in RESULTS if ran else ():
            if not isinstance(plain[name], float):
                assert type(compiled[name]) is type(plain[name]), name
            assert_same(plain_floats(compiled[name]), plain_floats(plain[name]))


floats = st.lists(st.floats(allow_nan=True, width=32) | st.sampled_from([0.0, -0.0, 1.0]), max_size=30)


def least(x):
    best = None
    at = None
    for i, v in enumerate(x):
        if best is None or v < best:
            best = v
            at = i
    return best, at


COMPILED = wb.jit(least)


@given(floats)
@settings(max_examples=80)
def test_the_least_and_where_it_is(values: list[float]) -> None:
    assert_same(COMPILED(np.array(values)), least(np.array(values)))


def where_it_begins(x, y):
    found = None
    for i in range(len(x)):
        if x[i] > 0.9:
            found = i
            break
    if found is None:
        return -1
    return found


def steps_up(x, y):
    last = None
    total = 0.0
    for v in x:
        if last is not None and v > last:
            total += v - last
        last = v
    return total


def changes(x, y):
    last, n = None, 0
    for v in x:
        k = v > 0.5
        if k != last:
            n += 1
            last = k
    return n, last


def runs(x, y):
    found = []
    start = None
    for i in range(len(x)):
        if x[i] > 0.5 and start is None:
            start = i
        elif x[i] <= 0.5 and start is not None:
            found.append((start, i))
            start = None
    if start is not None:
        found.append((start, len(x)))
    return found


def nearest_pair(x, y):
    best = None
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2
            if best is None or d < best[0]:
                best = (d, i, j)
    return best


def best_row(x, y):
    rows = np.outer(x, y)
    best, found = None, None
    for i in range(rows.shape[0]):
        s = rows[i].max()
        if best is None or s > best:
            best, found = s, rows[i].copy()
    return best, found


def ends(x, y):
    low = high = None
    for v in x:
        low = v if low is None else min(low, v)
        high = v if high is None else max(high, v)
    return low, high


def first_after(x, y):
    """A function with such a variable, in a loop."""

    def first(t):
        found = None
        for k in range(len(y)):
            if y[k] > t:
                found = k
                break
        return -1 if found is None else found

    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = first(x[i])
    return out


def states(x, y):
    state = None
    out = np.empty(len(x), dtype=np.int64)
    for i in range(len(x)):
        if x[i] > 0.8:
            state = True
        elif x[i] < 0.2:
            state = False
        out[i] = -1 if state is None else int(state)
    return out, state


def one_after_the_other(x, y):
    last = None
    for v in x:
        if v > 0.9:
            last = v
    n = 0
    for v in y:
        if last is not None and v < last:
            n += 1
        if v > 0.98:
            last = None
    return n, last


PROGRAMS = [where_it_begins, steps_up, changes, runs, nearest_pair, best_row, ends, first_after, states,
            one_after_the_other]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_are_compiled(program: Any) -> None:
    for seed in range(3):
        check(program, *(np.random.default_rng((seed, k)).random(50) for k in range(2)))
    with np.errstate(all="ignore"):
        compiled = wb.jit(program)
        for x in (np.zeros(50), np.full(50, np.nan), np.ones(50)):
            assert_same(plain_floats(compiled(x, x)), plain_floats(program(x, x)))


def test_what_is_computed_with_none_is_pythons_error() -> None:
    @wb.jit
    def f(x):
        last = None
        total = 0.0
        for v in x:
            if v > 0.5:
                last = v
            total += last
        return total

    assert f(np.ones(20)) == 20
    with pytest.raises(TypeError, match="NoneType"):
        f(np.zeros(20))
    assert f(np.ones(20)) == 20
