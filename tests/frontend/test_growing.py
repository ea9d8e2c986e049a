"""Loops that append to lists: the results of NumPy, as one equation, and the lists as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.numpy_programs.test_programs import assert_like

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
def test_lists_hold_what_they_hold_in_numpy(function: Any) -> None:
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
