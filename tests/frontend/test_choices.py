"""Values that are None, a word or an array, as the numbers decide: compiled, and NumPy's."""

from __future__ import annotations

import enum

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from workbench.notebook.cells import CellOptions, run_cell


class State(enum.Enum):
    GOING = 1
    DONE = 2


def first_above(x, n):
    hit = None
    for k in range(n):
        x = x * 0.9 + 0.1
        if hit is None and x.max() > 0.95:
            hit = k * 0.5
    return x, hit


def last_positive(x, n):
    last, total = None, np.float64(0)
    for value in x:
        if value > 0:
            if last is not None:
                total += value - last
            last = value
    return last, total


def best_of_many(x, n):
    best, best_x = np.float64(np.inf), None
    for k in range(n):
        x = x * 0.875 + 0.25 * (k % 3)
        loss = np.sum(x**2)
        if loss < best:
            best, best_x = loss, x.copy()
    return best, best_x


def best_pair(x, n):
    least, pair = float("inf"), None
    for i in range(n):
        for j in range(n):
            error = np.abs(i * x + j).sum()
            if error < least and i + j > 3:
                least, pair = error, (i, j)
    return pair


def why_it_ended(x, n):
    reason = "limit"
    k = 0
    for k in range(n):  # noqa: B007
        new = x * 0.5
        if np.abs(new - x).max() < 1e-3:
            reason = "tolerance"
            break
        if new.sum() > 20:
            reason = f"{n} too much"
            break
        x = new
    return reason, k


def words(x, n):
    kind = "positive" if x.sum() > 0 else "negative" if x.sum() < 0 else "zero"
    sign = 1 if kind == "positive" else -1 if kind != "zero" else 0
    return kind, sign * x, kind in ("zero", "positive")


def states(x, n):
    state = State.GOING
    for _ in range(n):
        x = x * 0.5
        if state is State.GOING and np.abs(x).max() < 0.1:
            state = State.DONE
        if state == State.DONE:
            x = x - 1
    return state, x


def in_a_while_loop(x, n):
    before = None
    k = 0
    while k < n and (before is None or np.abs(before - x).max() > 1e-2):
        before = x
        x = 1 - x * x / 4
        k += 1
    return x, before, k


def truth_of_what_may_be_none(x, n):
    found = None
    if x.sum() > 0:
        found = x.max() - 2
    if found:
        x = x + found
    return x, not found, 1 if found else 2


def with_or_without(x, n):
    weights = x + 1 if x.sum() > 0 else None
    return total(x, weights), total(x)


def total(x, weights=None):
    if weights is None:
        return x.sum()
    return (x * weights).sum()


def computes_with_it(x, n):
    y = None
    if x.sum() > -100:
        y = x * 2
    z = np.sqrt(np.abs(y)) + y[0] - np.array([y[1], 2.0]).sum() + 2 * y
    y[0] = len(y)
    y += 1
    return y, z, -y, abs(y), y > 1, np.add(x, y), y.sum(), np.stack([x, y]), max(y[0], y[1]), float(y[0])


def early_return(x, n):
    for k in range(n):
        x = x * 0.9
        if x.sum() < -3:
            return None
        if np.abs(x).max() < 0.5:
            return x, k
    return "not yet"


def none_in_a_tuple(x, n):
    best = (None, -1)
    for k in range(n):
        if (x * k).sum() > 4:
            best = (x * k, k)
    return best


def kept_in_a_dict(x, n):
    found = {"value": None, "at": 0}
    for k in range(n):
        if x.sum() * k > 5 and found["value"] is None:
            found["value"] = x.sum() * k
            found["at"] = k
    return found


def kinds(x, n):
    y = None if x.sum() > 0 else x
    return isinstance(y, np.ndarray), isinstance(y, type(None)), y is not None, y is None


def raises_of_none(x, n):
    y = None
    if x.sum() > 0:
        y = x
    return y + 1


def returns_what_it_got(x, n):
    y = x if x.sum() > 0 else None
    return y, x


def lists_of_what_they_are(x, n):
    found, named = [], []
    for k in range(n):
        value = x[k % len(x)]
        found.append(None if value < 0 else value * k)
        named.append({"word": "up" if value > 0 else "down", "at": (k, [value])})
    return found, named


PROGRAMS = [
    f
    for f in list(globals().values())
    if getattr(f, "__module__", "") == __name__ and f is not State and f is not total
]
INPUTS = [
    np.array([0.5, 1.5, -0.25]), np.array([-0.5, -1.5, 0.25]), np.zeros(3), np.array([3.0, 2.0, 2.0]), np.array([np.nan, 1, 2]),
]  # fmt: skip


def outcome(function, x, n):
    x = x.copy()
    try:
        return function(x, n), x
    except (TypeError, UnboundLocalError) as error:
        return type(error), x


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_the_numbers_choose_is_numpys(program):
    compiled = wb.jit(program)
    for n in (1, 2, 12, 50):
        for x in INPUTS:
            expected = outcome(program, x, n)
            for _ in range(2):
                assert_same(outcome(compiled, x, n), expected)
    if program is not raises_of_none:
        assert not compiled.fallbacks


def test_a_result_is_the_argument_or_none():
    compiled = wb.jit(returns_what_it_got)
    x = np.ones(3)
    y, same = compiled(x, 0)
    assert y is x and same is x
    x = -x
    y, same = compiled(x, 0)
    assert y is None and same is x


def test_a_choice_that_another_jitted_function_returns():
    @wb.jit
    def positive(x):
        return x * 2 if x.sum() > 0 else None

    def program(x):
        y = positive(x)
        return (x, "none") if y is None else (y, "some")

    compiled = wb.jit(program)
    for x in INPUTS:
        assert_same(compiled(x), program(x))


class Search:
    def __init__(self):
        self.best = None
        self.best_x = None
        self.status = "new"
        self.bad = 0

    def run(self, x, n):
        for k in range(n):
            x = x * 0.9 + 0.1 * np.sin(k)
            loss = np.sum(x**2)
            if self.best is None or loss < self.best:
                self.best, self.best_x = loss, x.copy()
                self.bad = 0
            else:
                self.bad += 1
            if self.bad > 3:
                self.status = "stuck"
                break
        return x


def test_attributes_that_are_none_at_first():
    mine, its = Search(), Search()
    run = wb.jit(Search.run)
    for n in (3, 1, 40, 5):
        assert_same(run(mine, INPUTS[0], n), Search.run(its, INPUTS[0], n))
        assert_same(vars(mine), vars(its))
    assert not run.fallbacks


def test_a_cell_keeps_a_choice(cell):
    source = """
hit, word = None, "low"
for k in range(30):
    x = x * 0.9
    if hit is None and x.sum() < bound:
        hit = k
        word = "high"
"""
    for bound, expected in ((2.0, (6, "high")), (-1.0, (None, "low"))):
        kept, _ = cell(source, {"x": np.array([0.5, 1.5, 2.0]), "bound": bound}).run()
        assert (kept["hit"], kept["word"], kept["k"]) == (*expected, 29)


def test_what_always_ends_in_a_check_is_not_tried_for_ever():
    @wb.jit
    def plus_one(x):
        y = None
        if x.sum() > 0:
            y = x
        result = x
        try:
            result = y + 1
        except TypeError:
            pass
        return result

    for _ in range(4):
        assert_same(plus_one(-np.ones(3)), -np.ones(3))
        assert_same(plus_one(np.ones(3)), np.full(3, 2.0))
    assert not plus_one.fallbacks
    for _ in range(6):
        plus_one(-np.ones(3))
    (reason,) = plus_one.fallbacks
    assert reason.code == "WB351" and "in a row" in str(reason)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: f"{None if x.sum() > 0 else 'a'}",
        lambda x: {None: 1, "a": 2}[None if x.sum() > 0 else "a"],
        lambda x: type(None if x.sum() > 0 else "a").__name__,
        lambda x: (None if x.sum() > 0 else "a") in (None, "b"),
        lambda x: [None if x.sum() > 0 else "a"].count(None),
        lambda x: ("b" if x.sum() > 0 else "a") + "c",
        lambda x: ("b" if x.sum() > 0 else "a").upper(),
        lambda x: len("bb" if x.sum() > 0 else "a"),
        lambda x: sorted(["b" if x.sum() > 0 else "a", "aa"]),
        lambda x: np.array([None if x.sum() > 0 else 1.0], dtype=object)[0],
    ],
)  # fmt: skip
def test_what_no_number_can_answer_is_left_to_numpy(program):
    compiled = wb.jit(program)
    for x in INPUTS[:3]:
        assert_same(compiled(x), program(x))


def matched(x):
    y = None if x.sum() > 0 else "a"
    match y:
        case None:
            found = 1
        case _:
            found = 2
    return found


def test_patterns_are_left_to_numpy():
    compiled = wb.jit(matched)
    for x in INPUTS[:3]:
        assert compiled(x) == matched(x)


def test_names_that_a_cell_binds_now_and_then_are_left_as_numpy_leaves_them():
    source = """
for k in range(9):
    x = x * 0.5
    if x.sum() > bound:
        high = x + k
    elif x.sum() < -bound:
        low = k
"""
    for x in (np.ones(3), -np.ones(3), np.zeros(3)):
        plain, ours = {"x": x, "bound": 0.125}, {"x": x, "bound": 0.125}
        exec(source, plain)
        report = run_cell(source, ours, options=CellOptions(compare=False)).report
        assert report.status in ("compiled", "cached", "recompiled")
        plain.pop("__builtins__")
        ours.pop("__builtins__", None)
        assert plain.keys() == ours.keys()
        for name in plain:
            assert_same(ours[name], plain[name])


def written_in_place(a):
    if a.sum() > 2:
        for k in range(4):
            a[k] = 2.0
    a += k
    a *= np.float64(k)
    return k


def written_by_what_was_found(a):
    best = None
    for k in range(20):
        row = a[k % len(a)] * k
        if best is None and row.sum() > 5:
            best = row.copy()
    a -= best
    np.maximum(a, 1.0, out=a)
    return best


def written_into(a):
    if a.sum() > 2:
        t = a + 1
    try:
        np.maximum(t, t[0], out=t)
    except TypeError:
        return a
    return t


@pytest.mark.parametrize("program", [written_in_place, written_by_what_was_found, written_into])
def test_arrays_that_choices_are_written_into_are_the_same(program):
    compiled = wb.jit(program)
    for x in (np.ones((4, 3)), np.arange(12.0).reshape(4, 3), np.zeros((4, 3))):
        mine, its = x.copy(), x.copy()
        outcomes = []
        for function, a in ((compiled, mine), (program, its)):
            try:
                outcomes.append(function(a))
            except (TypeError, UnboundLocalError) as error:
                outcomes.append(str(error))
        np.testing.assert_array_equal(*outcomes)
        np.testing.assert_array_equal(mine, its)


def test_a_float_of_pythons_has_no_items():
    def program(x):
        t = 1.0
        for k in range(80):
            t = t * 1.5 + len(x) * k
        try:
            return t[-1] + x[0]
        except IndexError:
            return x

    x = np.ones(3)
    for function in (program, wb.jit(program)):
        with pytest.raises(TypeError, match="'float' object is not subscriptable"):
            function(x)
