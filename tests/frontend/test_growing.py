"""Loops that append to lists: the results of NumPy, as one equation, and the lists as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same
from tests.numpy_programs.outcomes import assert_like

Z = np.random.default_rng(0).random((90, 3))


def filtered(z: Any) -> Any:
    x = np.zeros(3)
    out = []
    for row in z:
        x = 0.5 * x + row
        out.append(x)
    return np.array(out), x.sum()


def trajectory_and_losses(z: Any) -> Any:
    path, losses = [z[0]], []
    x = z[0].copy()
    for i in range(1, len(z)):
        x = 0.5 * x + z[i]
        path.append(x.copy())
        losses.append(float((x * x).sum()))
    return np.stack(path), losses, max(losses), np.float32(2) * losses[3]


def the_same_array(z: Any) -> Any:
    out = []
    x = z[0] * 1
    for i in range(len(z)):
        x += z[i]
        out.append(x)
    return np.array(out)


def written_to_afterwards(z: Any) -> Any:
    out = []
    for i in range(len(z)):
        out.append(z[i] * 2)
    out[3][0] = 7
    out[4] += out[3]
    return np.array(out), out[3:6]


def carried_and_written_to_afterwards(z: Any) -> Any:
    out = []
    x = z[0]
    for _ in range(len(z)):
        x = x * 0.5 + 1
        out.append(x)
    x += 1
    return np.array(out)


def appended_before_it_is_replaced(z: Any) -> Any:
    out = []
    x = z[0]
    for _ in range(len(z)):
        out.append(x)
        x = x * 0.5 + 1
    return np.vstack(out), x


def several_to_one_list(z: Any) -> Any:
    out = []
    for i in range(len(z)):
        out.append(z[i] * 2)
        out.append(z[i] * 3)
    return np.concatenate(out), np.array(out[3:20]), out[4] + out[5]


def items_of_several_parts(z: Any) -> Any:
    pairs = []
    for i in range(len(z)):
        pairs.append((i, z[i].max(), z[i] * 2))
    return pairs[3], pairs[-1], len(pairs)


def some_of_them(z: Any) -> Any:
    chosen = []
    for i in range(len(z)):
        if z[i, 0] > 0.5:
            chosen.append(z[i, 0])
    return np.array(chosen)


def under_another_name(z: Any) -> Any:
    out = []
    other = out
    n = 0
    for i in range(len(z)):
        out.append(z[i] * 2)
        n = len(other)
    return np.vstack(out), n


def read_by_a_function(z: Any) -> Any:
    out = [z[0]]

    def last() -> Any:
        return out[-1]

    for i in range(1, len(z)):
        out.append(last() * 0.5 + z[i])
    return np.array(out)


def truths(z: Any) -> Any:
    found = []
    for v in z[:, 0]:
        found.append(v > 0.5)
    return np.array(found), sum(found), found[0]


PROGRAMS = [
    filtered, trajectory_and_losses, the_same_array, written_to_afterwards, carried_and_written_to_afterwards,
    appended_before_it_is_replaced, several_to_one_list, items_of_several_parts, some_of_them, under_another_name,
    read_by_a_function, truths,
]  # fmt: skip
IN_NUMPY = {the_same_array, carried_and_written_to_afterwards, some_of_them, under_another_name}


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_lists_hold_what_they_hold_in_numpy(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.runtime.parts.functions.WORTH_MS", 0.0)  # in parts, however fast NumPy is
    with wb.config(numpy_trials=False):
        compiled = wb.jit(function)
        for seed in range(4):  # what does not compile whole runs in NumPy, then in parts
            z = np.random.default_rng(seed).random(Z.shape)
            ours, theirs = z.copy(), z.copy()
            assert_like(compiled(ours), function(theirs), 1e-12, function.__name__)
            assert_like(ours, theirs, 0.0, "arguments")
    if function not in IN_NUMPY | {read_by_a_function}:
        assert not compiled.fallbacks


def test_the_loop_is_one_equation_and_the_array_its_result() -> None:
    jaxpr = wb.make_jaxpr(filtered)(Z)
    assert str(jaxpr).count("scan[") == 1
    assert len(str(jaxpr).splitlines()) < 60  # it does not grow with the number of rows


def test_a_list_in_two_places_is_one_list() -> None:
    def twice(x: Any) -> Any:
        found = [x + 1]
        return found, found

    first, second = wb.jit(twice)(np.ones(2))
    assert first is second


@pytest.mark.parametrize("n", [20, 200])
def test_many_arrays_are_joined_in_little_time(n: int) -> None:
    rows = [np.arange(3.0) + k for k in range(n)]
    compiled = wb.jit(lambda xs: (np.array(xs), np.concatenate(xs), np.stack(xs, axis=1)))
    assert_like(compiled(rows), (np.array(rows), np.concatenate(rows), np.stack(rows, axis=1)), 0.0, "joined")
    assert not compiled.fallbacks
    assert all(len(kernel.source) < 100_000 for c in compiled.compilations for kernel in c.kernels.values())


def test_a_loop_goes_through_a_part_of_a_list_of_arrays() -> None:
    def counted(x: Any) -> Any:
        levels = [(x[:, k] > 0) for k in range(x.shape[1])]
        total = levels[0].astype(np.int32)
        for level in levels[1:]:
            total = total + level
        return total

    x = np.random.default_rng(0).normal(size=(40, 6))
    np.testing.assert_array_equal(wb.jit(counted)(x), counted(x))


# ---- items that are lists and dicts ----


def lists_of_numbers(s: Any, n: Any) -> Any:
    i, out = 1 - s, []
    for k in range(n):
        s, i = s - 0.1 * s * i, i + 0.1 * s * i - 0.01 * i
        out.append([s, i, k])
    return np.array(out), out


def lists_that_are_carried(s: Any, n: Any) -> Any:
    y = [s, 1 - s]
    out = [y]
    for _ in range(n):
        a, b = y
        y = [a - 0.1 * a * b, b + 0.1 * a * b]
        out.append(y)
    return out


def lists_before_they_are_replaced(s: Any, n: Any) -> Any:
    y, out = [s, 1 - s], []
    for _ in range(n):
        out.append(y)
        y = [0.5 * y[0], y[1] + y[0]]
    return out, y


def records(s: Any, n: Any) -> Any:
    out = []
    for k in range(n):
        s = 0.5 * s + 1
        out.append({"time": k, "at": (s, [2 * s])})
    return out


def tuples_after_a_first(s: Any, n: Any) -> Any:
    out = [(s, 1.0)]
    for _ in range(n):
        s = 0.5 * s + 1
        out.append((s, s * s))
    return np.array(out), np.array(out, dtype=np.float32), out


def lists_of_arrays(s: Any, n: Any) -> Any:
    out = []
    for k in range(n):
        x = np.ones(3) * s + k
        out.append([x, 2 * x])
    return np.array(out)


def lists_in_lists(s: Any, n: Any) -> Any:
    out = []
    for k in range(n):
        s = 0.5 * s + 1
        out.append([[s, s + k], (s - k, 1.0)])
    return np.array(out)


@pytest.mark.parametrize(
    "function", [
        lists_of_numbers, lists_that_are_carried, lists_before_they_are_replaced, records, tuples_after_a_first,
        lists_of_arrays, lists_in_lists,
    ],
)  # fmt: skip
def test_containers_in_a_list_are_an_array_each_part(function: Any) -> None:
    compiled = wb.jit(function)
    assert_same(compiled(0.9, 200), function(0.9, 200))
    assert not compiled.fallbacks
    (compilation,) = compiled.compilations
    assert len(compilation.plan.jaxpr.eqns) < 40  # it does not grow with the number of items


def test_each_item_is_a_list_of_its_own() -> None:
    compiled = wb.jit(lists_of_numbers)
    _, first = compiled(0.9, 100)
    _, second = compiled(0.9, 100)
    assert len({id(item) for item in [*first, *second]}) == 200


def one_again_and_again(x: Any) -> Any:
    out, row = [], [0.0, x]
    for _ in range(100):
        row[0] += x
        out.append(row)
    return out


def one_from_outside(x: Any) -> Any:
    out, row = [], [x, 1.0]
    for _ in range(100):
        x = x * 0.5
        out.append(row)
        out.append([x, x])
    row[0] = 7.0
    return out, row is out[0]


def the_last_one(x: Any) -> Any:
    out, row = [], [0.0, x]
    for _ in range(100):
        row = [row[0] * 0.5 + x, row[1]]
        out.append(row)
    row[0] = 7.0
    return out, row is out[-1]


def the_first_one(x: Any) -> Any:
    out, row = [], [0.0, x]
    first = row
    for _ in range(100):
        out.append(row)
        row = [row[0] * 0.5 + x, row[1]]
    first[0] = 7.0
    return out, first is out[0], row is out[-1]


def twice_in_an_item(x: Any) -> Any:
    out = []
    for _ in range(100):
        x = x * 0.5
        row = [x, 2 * x]
        out.append([row, row])
    out[3][0][0] = 7.0
    return out


def in_two_lists(x: Any) -> Any:
    out, other = [], []
    for _ in range(100):
        x = x * 0.5
        row = [x, 2 * x]
        out.append(row)
        other.append(row)
    out[3][0] = 7.0
    return out, other


class Holder:
    last: Any = None


def held_by_an_object(x: Any) -> Any:
    out, holder = [], Holder()
    for _ in range(100):
        x = x * 0.5
        row = [x, x]
        holder.last = row
        out.append(row)
    holder.last[0] = 3.0
    return out


def changed_once_it_is_in(x: Any) -> Any:
    out = []
    for _ in range(100):
        x = x * 0.5
        row = [x, 2 * x]
        out.append(row)
        row[0] = row[0] + 1
    return out, row is out[-1]


def in_two_places_afterwards(x: Any) -> Any:
    out = []
    for _ in range(100):
        x = x * 0.5
        out.append([x, 2 * x])
    out[3] = out[2]
    return out, out[5], out[3] is out[2]


@pytest.mark.parametrize(
    "function", [
        one_again_and_again, one_from_outside, the_last_one, the_first_one, twice_in_an_item, in_two_lists,
        held_by_an_object, changed_once_it_is_in, in_two_places_afterwards,
    ],
)  # fmt: skip
def test_a_list_that_something_else_holds_is_that_list(function: Any) -> None:
    with wb.config(numpy_trials=False):
        compiled = wb.jit(function)
        for _ in range(3):  # what does not compile whole runs in NumPy, then in parts
            assert_same(compiled(1.5), function(1.5))


def test_a_list_in_two_lists_is_one_list() -> None:
    out, other = wb.jit(in_two_lists)(1.5)
    assert all(a is b for a, b in zip(out, other, strict=True))
    out, fifth, _ = wb.jit(in_two_places_afterwards)(1.5)
    assert out[5] is fifth and out[3] is out[2]
