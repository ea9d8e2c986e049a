"""Results of which a traced branch or loop decides whether they are an argument, a view of one, or new arrays."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same


def conditional_expression(a, b):
    return a if (a > 1).any() else b


def early_returns(a, b):
    if a.sum() > 1:
        return a
    if b.sum() > 1:
        return b[1:]
    return (a + b)[1:] if b.size > 9 else a + b


def normalised(a, b):
    n = np.sqrt((a * a).sum())
    if n > 1:
        return a / n
    return a


def halved_until_small(a, b):
    x = a
    while x.sum() > 1:
        x = x * 0.5
    return x


def halved_with_the_one_before(a, b):
    old, u = b, a
    while u.sum() > 1:
        old = u
        u = u * 0.5
    return u, old


def many_steps(a, b):
    old, u = np.tile(b, 3000), np.tile(a, 3000)
    while u.sum() > 3000:
        old = u
        u = u * 0.5
    return old[:5], u


def views_of_what_was_chosen(a, b):
    t = a[1:] if a.sum() > 1 else b[:-1]
    return t, t[::2], a, b


def one_of_two_locals(a, b):
    p, q = a + 1, b + 1
    t = p if a.sum() > 1 else q
    return t, p


def chosen_twice(a, b):
    t = a if a.sum() > 1 else b
    return t if b.sum() > 1 else a + 1


def nested(a, b):
    if a.sum() > 1:
        t = a if b.sum() > 1 else a * 2
    else:
        t = b
    return t, t[1:]


def branch_in_a_loop(a, b):
    t = b
    for i in range(20):
        if a[i % 3] > 0.5:
            t = a
    return t


def branch_in_a_loop_over_arrays(a, b):
    p = q = a
    for _ in range(9):
        q = p
        p = p * 0.5 if a.sum() > 1 else b
    return p, q


def same_new_array_twice(a, b):
    if a.sum() > 1:
        x = y = np.zeros(3)
    else:
        x, y = np.ones(3), np.ones(3)
    return x, y


def write_to_what_may_have_two_names(a, b):
    if a.sum() > 1:
        x = y = np.zeros(3)
    else:
        x, y = np.ones(3), np.ones(3)
    x += 1
    return y


def write_after_a_loop(a, b):
    x = a
    while x.sum() > 1:
        x = x * 0.5
    a[0] = 7.0
    return x * 1


@wb.jit
def inner(a, b):
    return a if a.sum() > 1 else b


def through_a_call(a, b):
    return inner(b, a)


PROGRAMS = [
    conditional_expression, early_returns, normalised, halved_until_small, halved_with_the_one_before, many_steps,
    views_of_what_was_chosen, one_of_two_locals, chosen_twice, nested, branch_in_a_loop, branch_in_a_loop_over_arrays,
    same_new_array_twice, write_to_what_may_have_two_names, write_after_a_loop, through_a_call,
]  # fmt: skip
IN_NUMPY = (
    early_returns,
    same_new_array_twice,
    write_to_what_may_have_two_names,
    write_after_a_loop,
)  # shapes that differ, or memory of which nobody can tell


def listed(result: Any) -> list[Any]:
    return [*result] if isinstance(result, tuple) else [result]


def sharing(values: list[Any]) -> list[tuple[bool, bool]]:
    return [(x is y, np.shares_memory(x, y)) for x, y in itertools.combinations(values, 2)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_results_are_the_arrays_that_numpy_returns(program):
    compiled = wb.jit(program)
    plain = program if program is not through_a_call else lambda a, b: inner.fn(b, a)
    for scales in itertools.product((0.01, 5.0), repeat=2):
        for _ in range(2):
            mine, theirs = ([np.linspace(0, 1, 5) * s for s in scales] for _ in range(2))
            results, expected = listed(compiled(*mine)), listed(plain(*theirs))
            for x, y in zip([*results, *mine], [*expected, *theirs], strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-14)
            assert sharing([*results, *mine]) == sharing([*expected, *theirs])
    assert bool(compiled.fallbacks) == (program in IN_NUMPY), compiled.fallbacks


def column_major_after_a_loop(a):
    x = a.T * 1.0
    for _ in range(40):
        x = x * 0.5 + a.T
    y = x.ravel()  # a copy: the rows of x are not its memory's
    y += 1
    return x


def column_major_after_a_branch(a):
    x = a.T * 2 if a.sum() > 1 else a.T * 3
    y = x.ravel()
    y += 1
    return x


@pytest.mark.parametrize("program", [column_major_after_a_loop, column_major_after_a_branch], ids=lambda f: f.__name__)
def test_results_of_loops_and_branches_keep_their_layout(program):
    a = np.arange(6.0).reshape(2, 3)
    compiled = wb.jit(program)
    for _ in range(2):
        np.testing.assert_allclose(compiled(a), program(a), rtol=1e-14)
    assert not compiled.fallbacks


def test_one_array_of_known_numbers_returned_twice_is_one_array():
    @wb.jit
    def program(a):
        known = np.arange(5.0)
        chosen = known if a[0] > 1 else known
        return known, a + known, chosen, known

    first, _, second, third = program(np.ones(5))
    assert first is third and np.shares_memory(first, second)
    first[0] = 7.0
    assert program(np.ones(5))[0][0] == 0.0, "and each call has its own"


def two_names_for_what_an_inner_loop_makes(a, b):
    for x in b:
        for _ in a:
            t = a + x
            u = t = np.concatenate([t, t])
    return t, u


def two_names_before_and_in_a_loop(a, b):
    t = u = a * 2
    for x in b:
        t = u = t + x
    return t, u


@pytest.mark.parametrize("program", [two_names_for_what_an_inner_loop_makes, two_names_before_and_in_a_loop])
def test_one_array_under_two_names_stays_one(program):
    compiled = wb.jit(program)
    for a, b in itertools.product((np.ones(30), np.ones(1)), (np.arange(7.0), np.arange(1.0))):
        t, u = compiled(a, b)
        t[0] = 50
        expected, other = program(a, b)
        expected[0] = 50
        np.testing.assert_array_equal(t, expected)
        np.testing.assert_array_equal(u, other)


@pytest.mark.parametrize("make", [lambda: [1, 2], lambda: (1, 2), lambda: {"k": 1}], ids=["list", "tuple", "dict"])
def test_whether_two_containers_are_one_is_asked_of_those_of_the_call(make: Any) -> None:
    def program(x, a, b, several):
        return (x * 2 if a is b else x), a is not b, any(a is c for c in several)

    x, one = np.arange(3.0), make()
    calls = [(one, one, [one]), (make(), make(), [one]), (one, one, [make()]), (one, make(), [make(), one])]
    for order in (calls, calls[::-1]):
        compiled = wb.jit(program)
        for call in order:
            assert_same(compiled(x, *call), program(x, *call))


def test_a_list_of_the_code_is_none_that_it_was_given() -> None:
    def program(x, given):
        mine = list(given)
        return x * len(mine), mine is given, given is given, given is None  # noqa: PLR0124

    compiled = wb.jit(program)
    assert_same(compiled(np.ones(2), [1]), program(np.ones(2), [1]))
    assert not compiled.fallbacks


def test_of_two_lists_of_the_caller_the_chosen_one_is_changed_and_returned() -> None:
    def program(x, a, b):
        chosen = a if x.sum() > 0 else b
        chosen[0] = 9
        return x * chosen[1], chosen

    compiled = wb.jit(program)
    for sign in (1, -1):
        for one, other in (([1, 2], [1, 2]), ([1.0, 2.0], [3.0, 4.0]), ({0: 1, 1: 2}, {0: 3, 1: 4})):
            _, chosen = compiled(sign * np.arange(3.0), one, other)
            assert chosen is (one if sign > 0 else other)
            assert one[0] == 9 or sign < 0
            assert other[0] == 9 or sign > 0


def lists_of_the_code(x):
    one, other = [1, 2], [1, 2]
    chosen = one if x.sum() > 0 else other
    chosen[0] = 9
    return one, other, chosen is one


def lists_under_another_name(x):
    one, other = [x, 2], [x + 1, 2]
    chosen = one
    if x.sum() > 0:
        chosen = other
    chosen[0] = 9
    return one, other


def one_of_two_lists(x):
    one, other = [x, 2], [x + 1, 3]
    if x.sum() > 0:
        return one
    return other


def a_list_of_each_path(x):
    made = [x, 1.0]
    if x.sum() > 0:
        made = [x * 2, 3.0]
    made[1] += 1
    return made


@pytest.mark.parametrize(
    ("program", "compiles"),
    [
        (lists_of_the_code, False),
        (lists_under_another_name, False),
        (one_of_two_lists, True),
        (a_list_of_each_path, True),
    ],
)
def test_a_list_that_a_branch_chooses_is_the_one_that_was_there(program, compiles) -> None:
    compiled = wb.jit(program)
    for x in (np.ones(3), -np.ones(3)):
        assert_same(compiled(x.copy()), program(x.copy()))
    assert (not compiled.fallbacks) is compiles
