"""Comprehensions over arrays and ranges are NumPy's: those that become an equation, and those that Python runs."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from workbench.frontend import comprehensions

RNG = np.random.default_rng(5)
MATRIX = RNG.standard_normal((40, 3))
COUNTS = RNG.integers(-5, 6, (30, 4))


pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # as NumPy warns of what overflows


@pytest.fixture(autouse=True)
def _always_an_equation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comprehensions, "MAX_UNROLLED_EQNS", 0)


def scan_of(compiled: Any, *args: Any) -> bool:
    return any(eqn.primitive.name in ("scan", "loop") for eqn in wb.make_jaxpr(compiled.fn)(*args).eqns)


def lists(x: np.ndarray) -> Any:
    return [r.sum() for r in x], [x[i] * i for i in range(len(x))], [float(r[0]) + 1 for r in x]


def arrays(x: np.ndarray) -> Any:
    return np.array([r * 2 for r in x]), np.stack([x[i] - x[i - 1] for i in range(1, len(x))])


def pairs(x: np.ndarray) -> Any:
    return np.array([a - b for a, b, *_ in x]), np.array([k * r.max() for k, r in enumerate(x, 2)])


def zipped(x: np.ndarray) -> Any:
    return np.array([a + b for a, b in zip(x[:, 0], x[:, 1], strict=False)]), [(r[0], r[1] * 2) for r in x]


def nested(x: np.ndarray) -> Any:
    return np.array([[a * b for b in r] for a, r in zip(x[:, 0], x, strict=False)]), [sum(v for v in r) for r in x]


def folds(x: np.ndarray) -> Any:
    return sum(r * r for r in x), sum(r[0] for r in x), max(r.max() for r in x), min([r.min() for r in x])


def conditions(x: np.ndarray) -> Any:
    return (
        sum(r[0] for r in x if r[1] > 0), max(r[0] for r in x if r[1] > 0 if r[0] < 2), sum(r for r in x if r[0] > 0),
        any(r[0] > 5 for r in x if r[1] > 0), all(r[0] < 9 for r in x if r[1]), min(r[0] for r in x if r[1] > -9),
    )  # fmt: skip


def truths(x: np.ndarray) -> Any:
    return any((r > 1.9).all() for r in x), all(r.sum() < 50 for r in x), any(r[0] for r in x), all(r[0] for r in x)


def of_python(x: np.ndarray) -> Any:
    return sum(int(r[0]) for r in x), max(float(r[0]) for r in x), sum(bool(r[0]) for r in x), sum(r[0] > 0 for r in x)


def collections(x: np.ndarray) -> Any:
    return list(r.sum() for r in x), tuple(r[0] * 2 for r in x), np.array(list(r + 1 for r in x))  # noqa: C400


@pytest.mark.parametrize(
    "program", [lists, arrays, pairs, zipped, nested, folds, conditions, truths, of_python, collections]
)
@pytest.mark.parametrize(
    "x", [MATRIX, MATRIX.astype(np.float32), COUNTS, COUNTS.astype(np.int8)], ids=lambda x: x.dtype
)
def test_many_elements_are_one_equation(program: Callable[..., Any], x: np.ndarray) -> None:
    compiled = wb.jit(program)
    scale = np.abs(x.astype(float)).sum() * 4
    assert_same(compiled(x), program(x), reduction_scale=scale)
    assert not compiled.fallbacks
    assert scan_of(compiled, x)


@pytest.mark.parametrize("values", [[0.0, -0.0], [-0.0] * 3, [np.nan, 1.0], [1.0, np.nan, 3.0], [np.inf, -np.inf, 2.0]])
def test_folds_of_special_values(values: list[float]) -> None:
    x = np.resize(np.array(values), 20)
    for program in (
        lambda x: sum(v for v in x), lambda x: max(v for v in x), lambda x: min(v for v in x),
        lambda x: (any(v for v in x), all(v for v in x)), lambda x: sum(v for v in x if v > 10),
    ):  # fmt: skip
        assert_same(wb.jit(program)(x), program(x))


def test_an_empty_choice_raises_what_python_raises() -> None:
    compiled = wb.jit(lambda x: max(v for v in x if v > 10))
    x = np.arange(20.0)
    assert compiled(x) == 19
    with pytest.raises(ValueError, match="empty"):
        compiled(x - 50)


def test_sums_of_pythons_ints_do_not_wrap() -> None:
    compiled = wb.jit(lambda x: sum(int(v) for v in x))
    assert compiled(np.arange(20)) == 190
    assert compiled(np.full(20, 2**62)) == 20 * 2**62


def test_functions_inside_see_the_last_item() -> None:
    def program(x: np.ndarray) -> Any:
        later = [lambda: x[i] for i in range(6)]  # noqa: B023
        streams = [(x[i] for _ in range(2)) for i in range(6)]
        return [f() for f in later], [sum(s) for s in streams]

    x = np.arange(8.0)
    assert_same(wb.jit(program)(x), program(x))


def test_what_python_does_beside_happens_once() -> None:
    def program(x: np.ndarray) -> Any:
        numbers, seen = itertools.count(), []
        first = [x * next(numbers) for _ in range(10)]
        second = [seen.append(i) or x + i for i in range(10)]
        third = any(seen.append(i) or i > 3 for i in range(10))
        return first, second, third, seen, next(numbers)

    x = np.arange(3.0)
    assert_same(wb.jit(program)(x), program(x))


def test_names_inside_are_the_comprehensions_own() -> None:
    def program(x: np.ndarray) -> Any:
        r, total = 5, [r.sum() for r in x]
        return r, total, [r + v for v in x[:, 0]]

    assert_same(wb.jit(program)(MATRIX), program(MATRIX), reduction_scale=np.abs(MATRIX).sum())


def test_items_that_do_not_unpack_raise() -> None:
    def program(x: np.ndarray) -> Any:
        return [a + b for a, b in x]

    for f in (program, wb.jit(program)):
        with pytest.raises(ValueError, match="too many values to unpack"):
            f(MATRIX)


def test_a_function_of_the_users_gets_a_generator() -> None:
    def sum(items: Any) -> Any:  # noqa: A001
        assert not isinstance(items, list)
        return next(items) * 2

    def program(x: np.ndarray) -> Any:
        return sum(r.min() for r in x), builtins.sum(r.min() for r in x)

    assert_same(wb.jit(program)(MATRIX), program(MATRIX), reduction_scale=np.abs(MATRIX).sum())


def test_rows_of_the_array_itself_stay_views() -> None:
    def program(x: np.ndarray) -> Any:
        rows = [r for r in x]  # noqa: C416
        rows[2][0] = 7.0
        return x * 2, rows[2]

    assert_same(wb.jit(program)(MATRIX.copy()), program(MATRIX.copy()))


def test_elements_of_many_shapes_are_written_out() -> None:
    def program(x: np.ndarray) -> Any:
        return [x[:i].sum() for i in range(20)], [x[i:].copy() for i in range(15)], [f"{i}" for i in range(99)]

    x = np.arange(20.0)
    compiled = wb.jit(program)
    assert_same(compiled(x), program(x), reduction_scale=x.sum())
    assert not compiled.fallbacks


def test_few_elements_are_written_out_where_they_fuse() -> None:
    comprehensions.MAX_UNROLLED_EQNS = 128  # the fixture restores it
    compiled = wb.jit(lambda x: sum([k * x[k : k - 9] for k in range(9)]))
    x = np.arange(50.0)
    assert_same(compiled(x), sum([k * x[k : k - 9] for k in range(9)]), reduction_scale=x.sum())
    assert not scan_of(compiled, x)


@pytest.mark.parametrize("x", [RNG.standard_normal(30), RNG.integers(0, 9, 30), RNG.standard_normal(30).astype("f4")])
def test_arrays_of_lists_in_lists_are_made_at_once(x: np.ndarray) -> None:
    def program(x: np.ndarray) -> Any:
        pair = lambda v: [v, v + 1, 2]  # noqa: E731
        return (
            np.array([[abs(a - b) for b in x] for a in x]), np.asarray([[a, a * 2] for a in x]),
            np.array([pair(v) for v in x]), np.array([[[a * b * k for k in range(3)] for b in x] for a in x[:9]]),
            np.array([(a, i) for i, a in enumerate(x)]), np.array([True for _ in x]), np.array([float(a) for a in x]),
        )  # fmt: skip

    compiled = wb.jit(program)
    assert_same(compiled(x), program(x))
    assert not compiled.fallbacks


def test_lists_of_many_numbers_are_left_to_python() -> None:
    def program(x: np.ndarray) -> Any:
        table = [[a * b for b in x] for a in x]
        return table[3], np.array(table)

    x = np.arange(100.0)
    compiled = wb.jit(program)
    for _ in range(3):
        assert_same(compiled(x), program(x))
    assert compiled.fallbacks[0].code == "WB185"


def test_an_array_function_of_the_users_gets_a_list() -> None:
    class Mine:
        @staticmethod
        def array(items: Any) -> Any:
            assert type(items) is list
            return items[::-1]

    compiled = wb.jit(lambda x: Mine.array([v * 2 for v in x]))
    x = np.arange(9.0)
    assert_same(compiled(x), [v * 2 for v in x][::-1])


def test_rows_in_a_list_stay_views_of_the_array() -> None:
    def rows(x: np.ndarray) -> Any:
        found = []
        for k in range(300):
            found.append(x[k])
        return [r for r in x], found, [x[k % 3] for k in range(400)], [r * 2 for r in x]

    x = np.random.default_rng(0).random((300, 2))
    compiled = wb.jit(rows)
    for _ in range(2):
        *views, new = compiled(x)
        assert all(np.shares_memory(r, x) for each in views for r in each)
        assert not any(np.shares_memory(r, x) for r in new)
