"""Functions of a program's that set its variables (`nonlocal`), called in loops and branches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb

from .test_loop_lists import assert_compiled, assert_equal, assert_runs_in_python


def count_and_best(x, level):
    calls, best = 0, -np.inf

    def visit(v):
        nonlocal calls, best
        calls += 1
        if v > best:
            best = v

    for v in x:
        visit(v)
    return calls, best


def bisections(x, level):
    n = 0

    def f(v):
        nonlocal n
        n += 1
        return v * v - level

    out = np.zeros(len(x))
    for i in range(len(x)):
        a, b = 0.0, 2.0 + x[i]
        while b - a > 1e-3:
            m = (a + b) / 2
            if f(m) > x[i]:
                b = m
            else:
                a = m
        out[i] = a
    return out, n


def pseudo_random(x, level):
    state = 42

    def draw():
        nonlocal state
        state = (state * 1103515245 + 12345) % 2147483648
        return state / 2147483648

    inside = 0
    for _ in range(len(x)):
        a, b = draw(), draw()
        if a * a + b * b < level / 4:
            inside += 1
    return inside, state


def early_returns(x, level):
    clipped = 0

    def clip(v):
        nonlocal clipped
        if v < level:
            return v
        clipped += 1
        return level

    total = 0.0
    for i in range(len(x)):
        total += clip(float(x[i]))
    return total, clipped


def what_the_same_statement_reads(x, level):
    n = 0

    def step(v):
        nonlocal n
        n += 1
        return v + n

    total = 0.0
    for i in range(len(x)):
        total += n * step(x[i]) + n
    return total, n


def read_and_called_in_turn(x, level):
    n = 1

    def twice():
        nonlocal n
        n *= 2
        return n

    found = np.zeros(20, np.int64)
    for i in range(20):
        n = n - twice() if i % 3 else n + 1
        found[i] = n
    return found


def short_circuits(x, level):
    n = 0

    def asked(v):
        nonlocal n
        n += 1
        return v > level

    found = 0
    for i in range(len(x)):
        if x[i] > 2 and asked(x[i]):
            found += 1
        if x[i] < 1 or asked(x[i] + 1):
            found += 10
        while n % 5 and asked(level + n % 2):
            found += 100
    return found, n


def through_another(x, level):
    n = 0

    def inner(v):
        nonlocal n
        n += 1
        return v * 2

    def outer(v):
        return inner(v) + inner(v + 1)

    total = 0.0
    for i in range(len(x)):
        total += outer(x[i])
    return total, n


def of_whole_arrays(x, level):
    n = 0
    last = x

    def residual(y):
        nonlocal n, last
        n += 1
        last = y * y - level
        return last

    y = x
    while np.abs(residual(y)).max() > 1e-3 and n < 60:
        y = y - 0.1 * (y * y - level) / (1 + np.abs(y))
    if y[0] > level:
        residual(y + 1)
    return y, n, last


def changes_its_type(x, level):
    n = 0

    def add(v):
        nonlocal n
        n = n + v

    for i in range(len(x)):
        add(x[i])
    return n


ALL = [
    count_and_best, bisections, pseudo_random, early_returns, what_the_same_statement_reads, read_and_called_in_turn,
    short_circuits, through_another, of_whole_arrays, changes_its_type,
]  # fmt: skip
WHOLE = [count_and_best, bisections, pseudo_random, early_returns]


def arguments(dtype: str = "float64") -> list[np.ndarray]:
    rng = np.random.default_rng(8)
    return [(rng.random(n) * 9).astype(dtype) for n in (30, 30, 41, 2)]


@pytest.mark.parametrize("program", ALL)
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_as_in_numpy(program: Callable, dtype: str) -> None:
    compiled = wb.jit(program)
    for x in arguments(dtype):
        found, expected = compiled(x, 4.0), program(x, 4.0)
        if program is of_whole_arrays:
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
            np.testing.assert_allclose(found[2], expected[2], rtol=1e-12, atol=1e-12)
            assert found[1] == expected[1]
        else:
            assert_equal(found, expected)


@pytest.mark.parametrize("program", WHOLE)
def test_the_whole_program_is_compiled(program: Callable) -> None:
    assert_compiled(program, arguments()[0])


@pytest.mark.parametrize("program", WHOLE)
def test_without_machine_code(program: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop as a function of Python, which has the variables that its functions set."""
    assert_runs_in_python(program, arguments(), monkeypatch)


def test_a_variable_of_a_function_around() -> None:
    def counter(x):
        total = 0

        def outer(y):
            nonlocal total
            for i in range(len(y)):
                total += 1 if y[i] > 4 else 0
            return y.sum()

        s = outer(x) + outer(x + 1)
        return s, total

    compiled = wb.jit(counter)
    for x in arguments():
        found, expected = compiled(x), counter(x)
        assert found[1] == expected[1]
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
