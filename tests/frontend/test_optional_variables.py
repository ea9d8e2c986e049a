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


def outcome(function: Any, *arguments: np.ndarray) -> Any:
    """What it returns, in which a loop's `np.float64` may be a float of Python's, or the name of what it raises."""
    try:
        with np.errstate(all="ignore"):
            return plain_floats(function(*arguments))
    except TypeError as error:
        return type(error).__name__


def plain_floats(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(plain_floats, value))
    return float(value) if isinstance(value, float) else value


def check(function: Any, *arguments: Any) -> Any:
    """The compiled function, whose results are NumPy's, and whose loop is one step."""
    compiled = wb.jit(function)
    with np.errstate(all="ignore"):
        for _ in range(2):
            assert_same(outcome(compiled, *arguments), outcome(function, *arguments))
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


def test_most_random_programs_are_compiled() -> None:
    n_steps = n_whole = 0
    for seed in range(12):
        program = Program(seed)
        compiled = wb.jit(define(program.source, "f", f"<optional {seed}>"))
        x = np.random.default_rng(seed).random(40)
        n_steps += outcome(compiled, x) != "TypeError" and bool(loops_of(compiled))
        n_whole += as_it_is(program.loop, program.variables(x), frozenset(RESULTS)) is not None
    assert n_steps >= 8
    assert n_whole >= 6


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


def place_above(values, limit):
    for k in range(len(values)):
        if values[k] > limit:
            return k
    return None


def falls_through(v):
    if v > 0.5:
        return v * 2.0


def sum_and_product(v, w):
    if v < w:
        return None
    return v + w, v * w


def larger(v, w):
    return v if v > w else None


def best_of(values):
    best = None
    for v in values:
        if v < 0.9 and (best is None or v > best):
            best = v
    return best


def given_by_functions(x, y):
    n, total, best = 0, 0.0, None
    for i in range(len(x) - 10):
        k = place_above(x[i : i + 10], 0.97)
        if k is None:
            n += 1
            continue
        total += x[i + k]
        v = falls_through(y[i])
        if v is not None:
            total -= v
        pair = sum_and_product(x[i], y[i])
        if pair is not None:
            a, b = pair
            total += a * b
        v = larger(y[i], x[i])
        if v is not None and (best is None or v < best):
            best = v
        v = best_of(x[i : i + 4])
        if not (v is None or v > 0.4):
            n += 10
    return n, total, best


def what_surely_is_given(x, y):
    """Where the program knows better, and None would be an error."""
    total = 0.0
    for i in range(len(x)):
        total += sum_and_product(x[i] + 2.0, y[i])[0] + falls_through(x[i] + 1.0)
    return total


def as_result_of_a_branch(x, y):
    last, total = None, 0.0
    for i in range(len(x)):
        v = x[i] if x[i] > 0.3 else None
        total += 0.0 if v is None else v
        last = v if last is None else last
        y_or_none = None if y[i] < 0.5 else y[i]
        if y_or_none:
            total -= y_or_none
    return total, last


PROGRAMS = [given_by_functions, what_surely_is_given, as_result_of_a_branch, where_it_begins, steps_up, changes, runs, nearest_pair, best_row, ends, first_after, states,
            one_after_the_other]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_are_compiled(program: Any) -> None:
    for seed in range(3):
        check(program, *(np.random.default_rng((seed, k)).random(50) for k in range(2)))
    compiled = wb.jit(program)
    for x in (np.zeros(50), np.full(50, np.nan), np.ones(50)):
        assert_same(outcome(compiled, x, x), outcome(program, x, x))


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


def test_a_function_called_as_one_of_pythons_may_give_none() -> None:
    def next(v):  # noqa: A001
        if v > 0.5:
            return v
        return None

    def function(x):
        last = None
        n = 0
        for v in x:
            last = next(v)
            if last is not None:
                n += 1
        return n, last

    compiled = wb.jit(function)
    for seed in range(4):
        x = np.random.default_rng(seed).random(30)
        assert_same(outcome(compiled, x), outcome(function, x))


def test_a_variable_that_a_function_sets_may_be_pythons() -> None:
    def function(x):
        s = x[0]

        def begin_anew():
            nonlocal s
            s = 0.0

        found = []
        for v in x:
            if v > 0.5:
                s = s * 0.5 + v
            else:
                begin_anew()
            found.append(s)
        return found, s

    compiled = wb.jit(function)
    for seed in range(4):
        x = np.random.default_rng(seed).random(30)
        found, expected = compiled(x), function(x)
        assert_same(plain_floats(found), plain_floats(expected))
        assert [isinstance(v, np.floating) for v in found[0]] == [isinstance(v, np.floating) for v in expected[0]]
