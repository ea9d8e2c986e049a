"""Lists that loops append arrays to: their items are the arrays that they are in NumPy, besides other results."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree
import pytest

import workbench as wb
from tests.compare import assert_same
from workbench.notebook.cells import run_cell


def appended_at_the_end(z: Any) -> Any:
    out = []
    x = z[0]
    for row in z:
        x = x * 0.5 + row
        out.append(x)
    return out, x


def appended_at_the_beginning(z: Any) -> Any:
    out = []
    x = z[0]
    for row in z:
        out.append(x)
        x = x * 0.5 + row
    return out, x


def appended_before_and_after(z: Any) -> Any:
    before, after = [], []
    x = z[0]
    for row in z:
        before.append(x)
        x = x * 0.5 + row
        after.append(x)
    return before, after, x


def in_two_lists(z: Any) -> Any:
    a, b = [], []
    for row in z:
        y = row * 2
        a.append(y)
        b.append(y)
    return a, b


def in_two_lists_and_written_to(z: Any) -> Any:
    a, b = [], []
    for row in z:
        y = row * 2
        a.append(y)
        b.append(y)
    a[3][0] = 100
    return a, b


def twice_in_one_list(z: Any) -> Any:
    out = []
    for row in z:
        y = row * 2
        out.append(y)
        out.append(y)
    return out


def under_the_name_of_the_next_iteration(z: Any) -> Any:
    out = []
    x, previous = z[0], z[-1]
    for row in z:
        previous = x
        x = x * 0.5 + row
        out.append(x)
    return out, previous, x


def two_iterations_later(z: Any) -> Any:
    out = []
    x, previous = z[0], z[-1]
    for row in z:
        out.append(previous)
        previous = x
        x = x * 0.5 + row
    return out, previous, x


def views(z: Any) -> Any:
    positions, speeds = [], []
    x = z[0] * 1
    for row in z:
        x = x * 0.5 + row
        positions.append(x[:2])
        speeds.append(x[2:])
    return positions, speeds, x


def views_and_whole_arrays(z: Any) -> Any:
    ends, whole = [], []
    x = z[0] * 1
    for row in z:
        x = x * 0.5 + row
        ends.append(x[::-1][1:])
        whole.append(x)
    return ends, whole, x[1:]


def in_tuples(z: Any) -> Any:
    out = []
    x, v = z[0], z[-1]
    for i in range(len(z)):
        v = v * 0.5 - x
        x = x + 0.1 * v
        out.append((i, x, v))
    return out, x, v


def in_lists_of_a_dict(z: Any) -> Any:
    history: dict[str, list] = {"x": [z[0]], "v": []}
    x, v = z[0], z[-1]
    for _ in range(len(z)):
        v = v * 0.5 - x
        x = x + 0.1 * v
        history["x"].append(x)
        history["v"].append(v)
    return history, x, v


def a_view_of_the_last_item(z: Any) -> Any:
    out = []
    x = z[0]
    for row in z:
        x = x * 0.5 + row
        out.append(x)
    return out[-1][1:], out[-1], x


def by_a_function(z: Any) -> Any:
    out, x = appended_at_the_end(z)
    return out, x, out[-2:]


EXACT = [
    appended_at_the_end, appended_at_the_beginning, appended_before_and_after, in_two_lists,
    in_two_lists_and_written_to, twice_in_one_list, under_the_name_of_the_next_iteration, two_iterations_later, views,
    views_and_whole_arrays, in_tuples, in_lists_of_a_dict, a_view_of_the_last_item, by_a_function,
]  # fmt: skip


def shared(values: Any) -> list[tuple[int, int, bool]]:
    """Which arrays share memory, and whether they are one object."""
    leaves = [leaf for leaf in optree.tree_leaves(values) if isinstance(leaf, np.ndarray)]
    return [
        (i, j, leaves[i] is leaves[j])
        for i in range(len(leaves))
        for j in range(i)
        if np.shares_memory(leaves[i], leaves[j])
    ]


@pytest.mark.parametrize("n", [1, 2, 90])
@pytest.mark.parametrize("function", EXACT, ids=lambda f: f.__name__)
def test_items_are_the_arrays_that_they_are_in_numpy(function: Any, n: int) -> None:
    if function is in_two_lists_and_written_to and n < 4:
        pytest.skip("it writes to an item that is not there")
    compiled = wb.jit(function, strict=True)
    for seed in range(2):
        z = np.random.default_rng(seed).random((n, 4))
        ours, theirs = z.copy(), z.copy()
        got, expected = compiled(ours), function(theirs)
        assert optree.tree_structure(got) == optree.tree_structure(expected)  # type: ignore[arg-type]  # any pytree
        for a, b in zip(optree.tree_leaves(got), optree.tree_leaves(expected), strict=True):
            assert_same(a, b)
        assert shared((ours, got)) == shared((theirs, expected))


def test_a_cell_leaves_the_list_and_the_variable_with_one_array() -> None:
    names: dict[str, Any] = {"np": np, "z": np.random.default_rng(0).random((90, 3))}
    code = "path = []\nx = z[0]\nfor row in z:\n    x = x * 0.5 + row\n    path.append(x)\n"
    result = run_cell(code, names)
    assert result.report.kernels
    assert names["path"][-1] is names["x"] and len(names["path"]) == 90
    names["x"] += 1
    theirs: dict[str, Any] = {"np": np, "z": names["z"]}
    exec(code, theirs)
    theirs["x"] += 1
    for ours, its in zip(names["path"], theirs["path"], strict=True):
        assert_same(ours, its)
