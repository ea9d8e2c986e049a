"""Numbers that are Python's on one path and NumPy's on another: results have the type of their path, and Python's
numbers do what Python's do."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

FLOATS = np.array([1.0, 2.0, 3.0])
INTS = np.array([1, 2, 3, 7])


def outcome(f, *args):
    with np.errstate(all="ignore"):
        try:
            return f(*args)
        except Exception as error:
            return type(error)


def check(program):
    """Each call gives what NumPy does, of the type that it has there, or raises the same."""
    for x in (FLOATS, INTS):
        compiled = wb.jit(program)
        for c in (2, -1, 0, -3, 2, 0):
            args = x.copy(), x.dtype.type(c)
            expected, found = outcome(program, *args), outcome(compiled, *args)
            if isinstance(expected, type):
                assert isinstance(found, type) and issubclass(found, expected), (found, expected, c)
            else:
                assert_same(found, expected, where=f"c = {c}")
    return compiled


def a_result_of_two_returns(x, c):
    if c == 0:
        return 0.0
    return x.mean() / c


def not_found(x, c):
    if c > 0:
        return x.argmax()
    return -1


def a_variable(x, c):
    r = 0.0
    if c > 0:
        r = x.mean()
    return r, r + 1, r * c, r / 2, -r, r**2, [r], {"r": r}, abs(r), r < 1, not r


def an_int(x, c):
    r = 0
    if c > 0:
        r = x.argmax()
    return r, r + 1, -r, r * np.int64(2), r // 2, r > 1


def one_branch_in_another(x, c):
    r = 1.0
    if c != 0:
        if c > 0:
            r = x.mean()
        r = r * 2
    elif c < -1:
        r = np.float64(3)
    return r


def in_a_loop(x, c):
    best, last = 0.0, -1
    for k in range(50):
        y = x * 1.0 * k - 100.0
        if y.sum() > c * 40:
            best, last = y.mean(), y.argmax()
    return best, last, best + 1, last + 1


def numpys_at_first(x, c):
    r = np.float64(0)
    for k in range(30):
        if (x * k).sum() > 100 * c + 50:
            r = 1.0
    return r + 1.0, r


def perhaps_no_turn(x, c):
    r, k = 0.0, 0
    while k < c * 3:
        r = (x * 1.0).sum() + k
        k += 1
    return r, k


def left_early(x, c):
    for k in range(40):
        if (x * k).sum() > 100 + 100 * c:
            return k
        if k > 30:
            return x.argmax()
    return -1


def none_first(x, c):
    r = None
    for k in range(30):
        if x.sum() * k > 20 + 20 * c:
            r = 0.0 if k % 2 else x.mean()
    return r


def extremes(x, c):
    m = x.mean()
    return min(m, 1.0), max(0.0, m), min(max(m, 0.5), 1.5), max(c, 0), min(c, 0) + 1


def expressions(x, c):
    r = 0.0 if c > 0 else x.mean()
    s = r if c > 1 else 1.0
    return r, s, r + s, c or 0, c and 5


def of_an_inner_function(x, c):
    def f(v):
        if v > 0:
            return 1.0
        return x.mean() * v

    return f(c), f(c) + f(-c), [f(c - 1)]


def held(x, c):
    o, items, d = SimpleNamespace(r=0.0), [0.0, 1], {"a": 0}
    if c > 0:
        o.r = items[0] = x.mean()
        d["a"] = x.argmax()
    return o.r, items, d


@pytest.mark.parametrize("program", [
    a_result_of_two_returns, not_found, a_variable, an_int, one_branch_in_another, in_a_loop, numpys_at_first,
    perhaps_no_turn, left_early, none_first, extremes, expressions, of_an_inner_function, held,
])  # fmt: skip
def test_results_have_the_type_of_their_path(program):
    assert not check(program).fallbacks


# ---- what Python's numbers do otherwise ----


def division(x, c):
    r, s = 0.0, 1.0
    if c > 0:
        r, s = x.mean() * 0, x.mean()
    return s / r


def by_a_constant(x, c):
    r = 0
    if c > 0:
        r = x.argmax() * 0
    return 5 // r, 5 % r


def powers(x, c):
    r = -8.0
    if c > 0:
        r = -x.mean()
    return r**0.5


def powers_of_zero(x, c):
    r = 0.0
    if c > 0:
        r = x.mean() * 0
    return r**-1.0


def negative_powers(x, c):
    r = 2
    if c > 0:
        r = x.argmax()
    return r**-1


def long_ints(x, c):
    r = 2**40
    if c > 0:
        r = x.argmax()
    return r * 2**40, r << 30


def ints_that_grow(x, c):
    r = 3
    if c > 0:
        r = x.argmax()
    for k in range(50):
        r = r * 3 + k
    return r


def bools(x, c):
    f = True
    if c > 0:
        f = x.any()
    return f + f


def negated_bools(x, c):
    f = True
    if c > 0:
        f = x.any()
    return -f


def repeated_lists(x, c):
    f = True
    if c > 0:
        f = x.any()
    return f * [1]


def beyond_numpys_ints(x, c):
    r = 2
    if c > 0:
        r = x.argmax()
    return r * 2**80


def rounded(x, c):
    r = 2.675
    if c > 0:
        r = x.mean() * 1.3375
    return round(r, 2)


def classes(x, c):
    r, s = 255, 2.5
    if c > 0:
        r, s = x.argmax(), x.mean()
    return isinstance(r, int), isinstance(r, np.integer), isinstance(s, float), hasattr(r, "dtype"), type(s) is float


def methods(x, c):
    r = 2.5
    if c > 0:
        r = x.mean()
    return r.sum()


def is_true(x, c):
    f = True
    if c > 0:
        f = x.any()
    return f is True, f is not False, f == True  # noqa: E712


def in_a_whole_loop(x, c):
    r, s = 0.0, 1.0
    if c > 0:
        r = x.mean() * 0
    for k in range(20):
        s = s / r + k
    return s


@pytest.mark.parametrize("program", [
    division, by_a_constant, powers, powers_of_zero, negative_powers, long_ints, ints_that_grow, bools, negated_bools,
    repeated_lists, beyond_numpys_ints, rounded, classes, methods, is_true, in_a_whole_loop,
])  # fmt: skip
def test_what_pythons_numbers_do_otherwise_is_pythons(program):
    check(program)


def found_in_a_loop(x, c):
    found = False
    for v in x:
        if v > 2 + c:
            found = True
    return found is True, found is False, 5 if found is not True else x.sum()


def found_in_a_branch(x, c):
    found, n = False, 0
    for k in range(40):
        if found is False and (x * k).sum() > 40 + 40 * c:
            found = True
        elif found is True:
            n += 1
    return found, n


@pytest.mark.parametrize("program", [found_in_a_loop, found_in_a_branch])
def test_bools_of_pythons_are_true_or_false_themselves(program):
    assert not check(program).fallbacks


def test_in_another_compiled_function():
    @wb.jit
    def inner(x, c):
        if c > 0:
            return 0.0
        return x.mean()

    def outer(x, c):
        r = inner(x, c)
        return r, r * 2, 1.0 / (r + 1)

    check(outer)
