"""Lists that loops append arrays to: their items are the arrays that they are in NumPy, besides other results."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import numpy as np
import optree
import pytest

import workbench as wb
from tests.compare import assert_same
from tests.numpy_programs.outcomes import assert_like
from workbench.notebook.cells import run_cell

from .list_alias_programs import ANOTHER_VIEW, EXACT, UNTOLD


def shared(values: Any) -> list[tuple[int, int, bool]]:
    """Which arrays share memory, and whether they are one object."""
    leaves = [leaf for leaf in optree.tree_leaves(values) if isinstance(leaf, np.ndarray)]
    return [
        (i, j, leaves[i] is leaves[j])
        for i in range(len(leaves))
        for j in range(i)
        if np.shares_memory(leaves[i], leaves[j])
    ]


def check(compiled: Any, function: Any, shape: tuple[int, int], seed: int) -> None:
    z = np.random.default_rng(seed).random(shape)
    ours, theirs = z.copy(), z.copy()
    got, expected = compiled(ours), function(theirs)
    assert_like(got, expected, 1e-12, function.__name__)
    mine, its = shared((ours, got)), shared((theirs, expected))
    assert [pair[:2] for pair in mine] == [pair[:2] for pair in its]
    assert mine == its or function in ANOTHER_VIEW


@pytest.mark.parametrize("n", [1, 2, 90])
@pytest.mark.parametrize("function", EXACT, ids=lambda f: f.__name__)
def test_items_are_the_arrays_that_they_are_in_numpy(function: Any, n: int) -> None:
    compiled = wb.jit(function)
    for seed in range(2):
        check(compiled, function, (n, 4), seed)
    assert not compiled.fallbacks or n < 90


@pytest.mark.parametrize("function", UNTOLD, ids=lambda f: f.__name__)
def test_what_nobody_can_tell_runs_in_numpy(function: Any) -> None:
    compiled = wb.jit(function)
    check(compiled, function, (90, 4), 0)
    assert compiled.fallbacks


def test_numbers_that_nothing_reads_are_no_part_of_the_program() -> None:
    def array_of_a_chain(z: Any) -> Any:
        chain = []
        x = z[0] * 1
        for row in z:
            proposal = x + row - 0.5
            if proposal[0] < 0.5:
                x = proposal
            chain.append(x)
        return np.array(chain)

    compiled = wb.jit(array_of_a_chain)
    z = np.random.default_rng(0).random((90, 4))
    assert_same(compiled(z), array_of_a_chain(z))
    (program,) = (jaxpr for name, jaxpr, *_ in compiled.compilations[0].stages[-1:])
    (scan,) = (eqn for eqn in program.eqns if eqn.primitive.name == "scan")
    assert len(scan.outvars) == 3  # the counter, x, and the rows


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


@pytest.mark.parametrize("step", ["x * 0.5 + row * n()", "last() * 0.5 + row"])
def test_functions_of_earlier_cells_see_the_list_grow(step: str) -> None:
    cells = [
        "def n():\n    return len(path)\n\ndef last():\n    return path[-1]\n",
        f"path = [z[0]]\nx = z[0]\nfor row in z:\n    x = {step}\n    path.append(x)\n",
    ]
    ours: dict[str, Any] = {"np": np, "z": np.random.default_rng(0).random((90, 3))}
    theirs = dict(ours)
    for cell in cells:
        run_cell(cell, ours)
        exec(cell, theirs)
    assert_like(ours["path"], theirs["path"], 1e-12, step)


def test_a_branch_that_gives_one_array_two_names_beside_arrays_from_outside() -> None:
    def two_names(x: Any, y: Any) -> Any:
        if x[0] > 0:
            a = x * 2
            b = a
        else:
            a, b = x, y
        return a, b

    compiled = wb.jit(two_names)
    for sign in (1, -1, 1):
        ours, theirs = (np.full(3, float(sign)), np.ones(3)), (np.full(3, float(sign)), np.ones(3))
        assert shared((ours, compiled(*ours))) == shared((theirs, two_names(*theirs)))


# ---- random programs ----


class Program:
    """The text of a function that appends arrays to lists, and gives arrays and lists several names."""

    def __init__(self, seed: int):
        self.rnd = random.Random(seed)
        self.arrays = ["x", "y", "w"][: self.rnd.randint(1, 3)]
        self.lists = ["a", "b"][: self.rnd.randint(1, 2)]

    def value(self) -> str:
        one, other = self.rnd.choice(self.arrays), self.rnd.choice(self.arrays)
        return self.rnd.choice([f"{one} * 0.5 + z[i]", other, f"{one} - {other} + 1", "z[i] * 2", f"{one}.copy()"])

    def statement(self, depth: int) -> list[str]:
        rnd, kind = self.rnd, self.rnd.random()
        if kind < 0.4:
            view = "[1:]" if kind < 0.05 else ""
            return [f"{rnd.choice(self.lists)}.append({rnd.choice(self.arrays)}{view})"]
        if kind < 0.47 and len(self.arrays) > 1:
            one, other = rnd.sample(self.arrays, 2)
            return [f"{one}, {other} = {other}, {one}"]
        if kind < 0.8 or depth == 2:
            return [f"{rnd.choice(self.arrays)} = {self.value()}"]
        lines = [f"if z[i, {rnd.randint(0, 2)}] > {rnd.choice([0.2, 0.5, 0.8])}:"]
        for _ in range(rnd.randint(1, 2)):
            lines += [f"    {line}" for line in self.statement(depth + 1)]
        if rnd.random() < 0.3:
            lines += ["else:", *(f"    {line}" for line in self.statement(depth + 1))]
        return lines

    def text(self) -> str:
        rnd = self.rnd
        starts = ["z[0]", "z[1] * 1", "np.zeros(3)", "z[2]"]
        lines = [f"{name} = {rnd.choice(starts)}" for name in self.arrays]
        lines += [f"{name} = {rnd.choice(['[]', '[]', '[x]'])}" for name in self.lists]
        body = [line for _ in range(rnd.randint(2, 5)) for line in self.statement(0)] + ["a.append(x)"]
        form = rnd.choice(["for", "while", "break"])
        head, end = "for i in range(len(z)):", []
        if form == "while":
            lines.append("i = 0")
            head, end = "while i < len(z) and x[0] < 3:", ["i += 1"]
        elif form == "break":
            end = ["if z[i, 0] > 0.97:", "    break"]
        lines += [head, *(f"    {line}" for line in (*body, *end))]
        results = [*self.lists, *self.arrays]
        rnd.shuffle(results)
        results = [*results[: rnd.randint(1, len(results))], "a"]
        lines.append("return " + ", ".join(result + rnd.choice(["", "", "", "[1:]"]) for result in results))
        return "\n".join(["import numpy as np", "def program(z):", *(f"    {line}" for line in lines), ""])


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_leave_what_numpy_leaves(seed: int, tmp_path: Path) -> None:
    path = tmp_path / f"list_aliases_{seed}.py"
    path.write_text(Program(seed).text(), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    compiled = wb.jit(module.program)
    for inputs in range(2):
        z = np.random.default_rng(inputs).random((40, 3))
        ours, theirs = z.copy(), z.copy()
        got, expected = compiled(ours), module.program(theirs)
        assert_like(got, expected, 1e-12, f"program {seed}")
        assert [pair[:2] for pair in shared((ours, got))] == [pair[:2] for pair in shared((theirs, expected))]
