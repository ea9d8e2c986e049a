"""Functions that define functions: whole, they are compiled with these beside them, and give what Python gives."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_close
from workbench.runtime.parts.lifted import lifted

RNG = np.random.default_rng(5)
SCALE = 2.0


def groups(x, pairs):
    y = x[x > -100]
    parent = np.arange(len(y))

    def find(k):
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    for a, b in pairs:
        ra, rb = find(a), find(b)
        if ra != rb:
            parent[ra] = rb
    return np.array([find(i) for i in range(len(y))]), len(np.unique(parent))


def of_each_other(x, pairs):
    y = x[x > -100]
    f = lambda t: np.exp(-t * SCALE) * t  # noqa: E731

    def rule(a, b, n=4):
        h = (b - a) / n
        total = f(a) + f(b)
        for i in range(1, n):
            total += inner(a + i * h, i)
        return total * h / 3

    def inner(t, i):
        return (4 if i % 2 else 2) * f(t)

    return np.array([rule(0.0, v) + rule(0.0, v, n=2) for v in y])


def of_itself(x, pairs):
    y = x[x > -100]

    def leaves(k):
        if k >= len(y):
            return 0.0
        return leaves(2 * k + 1) + 0.5 * y[k]

    return leaves(0)


def later_values(x, pairs):
    y = x[x > -100]
    k = 1.0

    def scaled(v):
        return v * k

    first = scaled(y[0])
    k = 2.0
    return first, scaled(y[0])


def with_returns(x, pairs):
    y = x[x > 100]

    def score(v, power=2):
        return v**power

    if len(y) == 0:
        return np.float64(-1.0)
    return score(y[0], power=3)


def given_to_another(x, pairs):
    y = x[x > -100]

    def square(v):
        return v * v

    def applied(f, v):
        return f(v) + 1

    total = 0.0
    for v in y:
        total += applied(square, v)
    return total


FUNCTIONS = [groups, of_each_other, of_itself, later_values, with_returns, given_to_another]


def inputs():
    for n in (40, 7, 40):
        yield RNG.normal(size=n), RNG.integers(0, n, (n, 2))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions_that_define_functions(function):
    beside = lifted(function)
    assert beside is not function
    compiled = wb.jit(function)
    for x, pairs in inputs():
        expected = function(x, pairs)
        assert_close(beside(x, pairs), expected, rtol=0.0)  # as Python runs it
        for _ in range(3):
            assert_close(compiled(x, pairs), expected, rtol=1e-12)
    entries = [entry for found in compiled._state.specialisations.values() for entry in found]
    parts = [getattr(entry, "parts", None) for entry in entries]
    assert not compiled.fallbacks or any(p is not None and p.whole is not None and not p.whole.refused for p in parts)


def counts(x, pairs):
    n = 0

    def bump(v):
        nonlocal n
        n += v > 0

    for v in x[x > -100]:
        bump(v)
    return n


def changes_its_mind(x, pairs):
    if len(pairs) > 10:

        def f(v):
            return v

    else:

        def f(v):
            return -v

    return sum(f(v) for v in x[x > -100])


def keeps_it(x, pairs):
    y = x[x > -100]

    def f(v):
        return v * y[0]

    return list(map(f, y))


def with_defaults_of_its_own(x, pairs):
    y = x[x > -100]

    def f(v, scale=y[0]):
        return v * scale

    return [f(v) for v in y]


def is_shadowed(x, pairs):
    y = x[x > -100]

    def f(v):
        return v * y[0]

    def g(f):
        return f + 1

    return g(f(2.0))


def bound_twice(x, pairs):
    y = x[x > -100]
    f = lambda v: v + y[0]  # noqa: E731
    first = f(1.0)

    def f(v):
        return v * y[0]

    return first, f(2.0)


def same_name(x, pairs):
    y = x[x > -100]

    def same_name(v):
        return v * y[0]

    return same_name(2.0)


@pytest.mark.parametrize(
    "function",
    [counts, changes_its_mind, keeps_it, with_defaults_of_its_own, is_shadowed, same_name, bound_twice],
    ids=lambda f: f.__name__,
)
def test_more_than_functions_that_are_called(function):
    assert lifted(function) is function
    compiled = wb.jit(function)
    for x, pairs in inputs():
        for _ in range(3):
            assert_close(compiled(x, pairs), function(x, pairs), rtol=1e-12)


def helper(v):
    return v * SCALE


def calls_a_helper(x):
    total = 0.0
    for v in x[x > -100]:
        total += helper(v)
    return total


def test_what_functions_read_outside_may_change(monkeypatch):
    x = RNG.normal(size=300)
    for function, args in ((calls_a_helper, (x,)), (of_each_other, (x, None))):
        compiled = wb.jit(function)
        for scale in (2.0, 3.0, 2.0, 0.5):
            monkeypatch.setitem(function.__globals__, "SCALE", scale)
            for _ in range(12):
                assert_close(compiled(*args), function(*args), rtol=1e-12)
    compiled = wb.jit(calls_a_helper)
    for _ in range(30):
        compiled(x)
    monkeypatch.setitem(calls_a_helper.__globals__, "helper", lambda v: v - 1)
    for _ in range(12):
        assert_close(compiled(x), calls_a_helper(x), rtol=1e-12)


def used_early(x):
    y = x[x > -100]
    first = scaled(y[0])  # noqa: F821 (it raises)

    def scaled(v):
        return v * y[0]

    return first


def test_functions_that_are_not_defined_yet_raise_as_in_python():
    assert lifted(used_early) is used_early
    compiled = wb.jit(used_early)
    for _ in range(3):
        with pytest.raises(UnboundLocalError):
            compiled(np.ones(3))
