"""Lists and dicts that branches and loops bind anew while something else refers to the old one: what is written into it
is seen there, too."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from workbench.notebook.cells import run_cell


def which_are_one(value: Any) -> list[int]:
    """Of each list and dict in a value, the place of the first that is the same object."""
    places: dict[int, int] = {}
    found: list[int] = []

    def look(x: Any) -> None:
        if isinstance(x, list | dict):
            found.append(places.setdefault(id(x), len(found)))
        if isinstance(x, list | tuple | dict):
            for item in x.values() if isinstance(x, dict) else x:
                look(item)

    look(value)
    return found


def check(program, calls=(1.0, -1.0, 0.25)):
    """What it gives is NumPy's, and so is which lists are one."""
    compiled = wb.jit(program)
    for c in (*calls, *calls):
        expected, found = (f(np.array([1.0, 2.0, 3.0]), np.float64(c)) for f in (program, compiled))
        assert_same(found, expected)
        assert which_are_one(found) == which_are_one(expected), c
    return compiled


# ---- what something else refers to ----


def a_second_name(x, c):
    out = [x[0], x[1]]
    keep = out
    if c > 0:
        out = [x[2], x[2]]
    out[1] += 1
    return keep, out


def a_dict(x, c):
    d = {"a": x[0], "b": x[1]}
    e = d
    if c > 0:
        d = {"a": x[1], "b": x[2]}
    d["a"] = d["a"] + 1
    return d, e


def only_one_of_them_is_asked(x, c):
    out = [x[0]]
    keep = out
    if c > 0:
        out = [x[1]]
    return keep is out


def another_length(x, c):
    out = [x[0]]
    keep = out
    if c > 0:
        out = [x[1]]
    out.append(x[0])
    return len(keep), out


def the_callers(x, c):
    def inner(p):
        if c > 0:
            p = [x[2], x[2]]
        p[0] += 1
        return p

    mine = [x[0], x[1]]
    return mine, inner(mine)


def the_callers_as_result(x, c):
    def inner(p):
        if c > 0:
            return [x[2], x[2]]
        return p

    mine = [x[0], x[1]]
    theirs = inner(mine)
    theirs[0] += 5
    return mine, theirs


def both_names_in_one_branch(x, c):
    if c > 0:
        a = [x[0], x[1]]
        b = a
    else:
        a = [x[1], x[2]]
        b = [x[1], x[2]]
    a[0] += 1
    return a, b


def in_a_tuple(x, c):
    if c > 0:
        a = [x[0], x[1]]
        b = (a, 1)
    else:
        a = [x[1], x[2]]
        b = (a, 2)
    a[0] += 1
    return a, b


def an_attribute(x, c):
    s = SimpleNamespace(v=[x[0], x[1]])
    out = s.v
    if c > 0:
        out = [x[1], x[2]]
    out[0] += 1
    return out, s.v


def a_row(x, c):
    rows = [[x[0]], [x[1]]]
    row = rows[0]
    if c > 0:
        row = [x[2]]
    row[0] += 1
    return rows, row


def what_goes_through_it(x, c):
    items, total = [x[0], x[1], x[2]], 0.0
    for v in items:
        if c > 0:
            items = [v, v, v]
        items[2] = items[2] + 7
        total = total + v
    return total


def a_generator(x, c):
    items = [x[0], x[1], x[2]]
    doubled = (v * 2 for v in items)
    if c > 0:
        items = [x[0], x[0], x[0]]
    items[2] = items[2] + 7
    return sum(doubled)


def a_default(x, c):
    def f(p=[0.5]):  # noqa: B006
        q = p
        if c > 0:
            q = [x[1]]
        q[0] += 1
        return q[0] + x[0]

    return f(), f()


def a_partial(x, c):
    out = [x[0], x[1]]
    first = functools.partial(lambda p: p[0], out)
    if c > 0:
        out = [x[2], x[2]]
    out[0] += 1
    return first(), out


def a_name_from_a_branch_around(x, c):
    out, r = [x[0], x[1]], x[2]
    if c > 0:
        keep = out
        if c > 0.5:
            out = [x[2], x[2]]
        out[0] += 1
        r = keep[0]
    return out, r


def in_a_loop(x, c):
    out = [x[0], x[1]]
    keep = out
    for k in range(30):
        out[0] += 1
        if x[2] + k > 20 + c:
            out = [out[1], out[0] + k]
    out[1] += c
    return keep, out


def the_other_name_in_a_loop(x, c):
    a = [x[0], x[1]]
    b = a
    for k in range(40):
        b[0] += k
        if b[0] > 300 + 400 * c:
            b = [b[0] - 1, b[1]]
    return a, b


def one_list_each_turn(x, c):
    prev = [x[0], x[1]]
    cur = [x[1], x[2]]
    for k in range(30):
        prev[0] += c
        cur = [cur[1], cur[0] + k]
        prev = cur
    cur[0] += 1
    return prev, cur


def exchanged_in_a_loop(x, c):
    a, b = [x[0], x[1]], [x[2], x[2]]
    first = a
    for _ in range(41):
        a, b = b, a
    a[0] += c
    b[0] -= c
    return first, a, b


def perhaps_no_turn(x, c):
    out = [x[0], x[1]]
    keep, k = out, 0
    while k < c * 10:
        out = [out[1], out[0] + k]
        k += 1
    out[1] += c
    return keep, out


def left_before_the_end(x, c):
    out = [x[0], x[1]]
    keep = out
    for k in range(50):
        if x[1] + k > c * 40:
            break
        out = [out[0] + k, out[1]]
    out[1] += 1
    return keep, out


def other_order(x, c):
    if c > 0:
        return {"a": x[0], "b": x[1]}
    return {"b": x[0], "a": x[1]}


def other_order_each_turn(x, c):
    d = {"a": x[0], "b": x[1]}
    for k in range(31):
        d = {"b": d["a"] + k, "a": d["b"] * c}
    return d


class Body:
    def __init__(self, x):
        self.at = [x[0], x[1]]
        self.speed = {"u": x[1], "v": x[2]}

    def kick(self, c):
        if c > 0:
            self.at = [self.at[1], self.at[0] + c]
            self.speed = {"u": self.speed["v"], "v": self.speed["u"] * c}
        self.at[0] += 1


def what_an_object_held(x, c):
    body = Body(x)
    at = body.at
    for _ in range(30):
        body.kick(c)
    return at, body.at


def what_an_object_held_before_a_branch(x, c):
    body = Body(x)
    speed = body.speed
    body.kick(c)
    body.speed["u"] += 1
    return speed, body.speed


@pytest.mark.parametrize("program", [
    a_second_name, a_dict, only_one_of_them_is_asked, another_length, the_callers, the_callers_as_result,
    both_names_in_one_branch, in_a_tuple, an_attribute, a_row, what_goes_through_it, a_generator, a_default, a_partial,
    a_name_from_a_branch_around, in_a_loop, the_other_name_in_a_loop, one_list_each_turn, exchanged_in_a_loop,
    perhaps_no_turn, left_before_the_end,
    what_an_object_held, what_an_object_held_before_a_branch, other_order, other_order_each_turn,
])  # fmt: skip
def test_a_list_under_a_second_name_is_the_one_that_it_is_in_numpy(program):
    check(program)


# ---- what nothing else refers to ----


def alone(x, c):
    out = [x[0], x[1]]
    if c > 0.5:
        new = [x[2], x[2] * c]
        out = new
    elif c > 0:
        out = [out[1], x[2]]
    out[1] += 1
    return out


def returned(x, c):
    def inner(p):
        q = [p[0] + 1, p[1]]
        if c > 0.5:
            return q
        if c > 0:
            q[0] *= 2
            return q
        return [x[2], x[2]]

    found = inner([x[0], x[1]])
    found[0] += 1
    return found


def changed_before_it_is_returned(x, c):
    d = {"a": x[0], "b": x[1]}
    if c > 0:
        d["a"] = x[2]
        d["c"] = x[1]
        return d
    return {"a": x[0], "b": x[1], "c": c}


def one_after_the_other(x, c):
    prev = [x[0], x[1]]
    for k in range(40):
        cur = [prev[1] + c, prev[0] + k]
        prev = cur
    prev[0] += 1
    return prev


def exchanged(x, c):
    a, b = [x[0], x[1]], [x[2], x[2]]
    for k in range(40):
        a[0] += k
        if a[0] > 100 * c:
            a, b = b, a
    return a, b


def of_the_caller(x, c):
    def inner(p):
        for k in range(40):
            p = [p[1], p[0] + k * c]
        return p

    mine = [x[0], x[1]]
    return mine, inner(mine)


def until_it_is_small(x, c):
    p, k = [x[0], x[1]], 0
    first = p
    while k < 3 or p[0] > 0.01 * abs(c):
        p = [p[0] * 0.5, p[1] + 1]
        k += 1
    return first, p, k


def held_by_an_object(x, c):
    body = Body(x)
    body.kick(c)
    for _ in range(30):
        body.kick(c)
    return body.at, body.speed


def left_alone(x, c):
    out, total = [x[0], x[1]], np.float64(0)
    keep = out
    for k in range(40):
        total += out[0] * k
        if total < -1e9:
            out = keep
    return total * c


@pytest.mark.parametrize(
    "program",
    [
        alone,
        returned,
        changed_before_it_is_returned,
        one_after_the_other,
        exchanged,
        of_the_caller,
        held_by_an_object,
        until_it_is_small,
    ],
)
def test_other_lists_are_compiled(program):
    assert not check(program).fallbacks


def test_arguments_that_a_loop_binds_anew():
    def train(params, n):
        for _ in range(40):
            params = [p * 0.5 + 1 for p in params]
        while n > 0:
            params = [params[0] + 1, params[1]]
            n = n - 1
        return params

    compiled = wb.jit(train)
    for n in (3.0, 2.0, 0.5):
        mine = [np.ones(3), np.zeros(3)]
        assert_same(compiled(mine, n), train([np.ones(3), np.zeros(3)], n))
        assert_same(mine, [np.ones(3), np.zeros(3)])
    assert not compiled.fallbacks


def test_a_list_that_a_loop_leaves_alone_is_the_same():
    def program(x, n):
        out = [x, x + 1]
        keep, total = out, np.float64(0)
        for k in range(40):
            total += out[0][0] * k
            out = out if n else [x]  # noqa: F841
        return keep is out, total

    compiled = wb.jit(program)
    assert_same([compiled(np.ones(3), True) for _ in range(3)], [program(np.ones(3), True)] * 3)


# ---- cells, which keep all names ----

CELLS = {
    "while": """
while d > 1e-3:
    new = x.copy()
    new[1:-1] = 0.5 * (x[2:] + x[:-2])
    d = np.abs(new - x).max()
    x = new
""",
    "while, with what was found": """
n = 0
while d > 1e-3 and n < 60:
    old = x
    x = 0.5 * (np.roll(x, 1) + np.roll(x, -1))
    d = np.abs(x - old).max()
    history.append(d)
    n += 1
""",
    "for, with a break": """
for n in range(300):
    new = np.sqrt(x + 1.0)
    d = np.abs(new - x).max()
    x = new
    if d < 1e-6:
        break
""",
    "for, with a break before": """
for n in range(300):
    new = np.sqrt(x + 1.0)
    d = np.abs(new - x).max()
    if d < limit:
        break
    x = new
""",
    "while, with a break before": """
while True:
    new = np.sqrt(x + 1.0)
    d = np.abs(new - x).max()
    if d < limit:
        break
    x = new
""",
    "for, on a condition": """
for n in range(30):
    new = x * 0.5 + n
    if new.sum() > limit * n:
        x = new
""",
    "for": """
for n in range(40):
    new = 0.5 * x + 1.0
    x = new
""",
    "three names": """
while d > 1e-3:
    new = x * 0.75
    d = np.abs(new - x).max()
    last, x = new, new
""",
}


@pytest.mark.parametrize("cell", CELLS)
def test_two_names_of_one_array_after_a_loop(cell: str) -> None:
    names = [{"np": np, "x": np.arange(9.0) ** 2, "d": np.inf, "history": []} for _ in range(2)]
    mine, theirs = names
    for turn in range(4):
        for each in names:  # once with the arrays that the run before has left
            each["d"] = np.inf
            each["x"] = each["x"] * (turn + 1.0)
            each["limit"] = np.float64((1e-9, 1e9, 0.5, 1e-9)[turn])
        exec(CELLS[cell], theirs)
        report = run_cell(CELLS[cell], mine).report
        assert report.status in ("compiled", "cached", "recompiled"), report.reason
        for name, value in theirs.items():
            if name not in ("np", "__builtins__"):
                assert_same(mine[name], value, max_ulp=64)
                assert (mine[name] is mine["x"]) == (value is theirs["x"]), name


def test_a_loop_that_does_not_run_leaves_what_was() -> None:
    for _ in range(3):
        mine: dict[str, Any] = {"np": np, "x": np.arange(9.0), "d": 0.0}
        before = mine["x"]
        run_cell(CELLS["while"], mine)
        assert mine["x"] is before and "new" not in mine
