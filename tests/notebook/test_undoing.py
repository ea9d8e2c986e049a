"""Cells that fail: names and arrays are as they were before."""

import ast

import numpy as np
import pytest

from workbench.config import config
from workbench.notebook.cells import run_cell
from workbench.notebook.undoing import Undo, may_write

FAILING = {
    "whole": "x += 1\ny[0] = x.sum()\nz = x[10]\n",
    "in NumPy": "import os\nx += 1\ny[:] = np.sort(x)\nz = {}['missing']\n",
    "parts": "x += 1\nprint('half')\ny[1:3] = x[1:3]\nw = np.exp(x)\nz = x[10]\n",
    "methods": "x.sort()\nprint('half')\ny.fill(3)\nz = x.no_such_method()\n",
    "functions": "change(x)\nprint('half')\nnp.copyto(y, x)\nz = 1 / 0\n",
    "out": "np.add(x, 1, out=x)\nprint('half')\nz = 1 / 0\n",
    "loop": "for i in range(5):\n    x[i] = i\n    print(i)\n    y[i] = 1 / (3 - i)\n    if i == 3:\n        raise ValueError(i)\n",
    "views": "v = x[1:]\nprint('half')\nv *= 2\nz = undefined_name\n",
}


def change(x):
    x[0] = 100


def namespace():
    return {"np": np, "change": change, "x": np.array([3.0, 1.0, 2.0, 5.0]), "y": np.zeros(4), "kept": [1]}


@pytest.mark.parametrize("cell", FAILING.values(), ids=FAILING)
@pytest.mark.parametrize("tiers", [False, True])
def test_cells_that_fail_leave_names_and_arrays_as_they_were(cell, tiers):
    names = namespace()
    before, contents = dict(names), {name: names[name].copy() for name in "xy"}
    for _ in range(3):  # what the first run learns must not change it
        with config(tiers=tiers), pytest.raises(Exception) as failure:
            run_cell(cell, names)
        plain = namespace()
        with pytest.raises(failure.type):
            exec(cell, plain)
        assert {k: v for k, v in names.items() if k != "__builtins__"} == before
        assert all(names[name] is before[name] for name in before)
        for name, content in contents.items():
            np.testing.assert_array_equal(names[name], content)


def test_large_arrays_are_not_copied(monkeypatch):
    monkeypatch.setattr("workbench.notebook.undoing.MOST_BYTES", 16)
    names = namespace()
    undo = Undo(ast.parse("x += 1\nz = 3"), names)
    names["x"] += 1
    names["z"] = 3
    undo()
    assert "z" not in names
    np.testing.assert_array_equal(names["x"], namespace()["x"] + 1)


@pytest.mark.parametrize(
    ("cell", "writes"),
    [
        ("z = np.exp(x) + x.sum()\nprint(z, len(x))\n", False),
        ("z = np.linalg.norm(x)\nw = (x + 1).mean(axis=0)\n", False),
        ("z = float(abs(x).max())\nimport math\nmath.sqrt(2)", False),
        ("x[0] = 1", True),
        ("x.real = 1", True),
        ("x += 1", True),
        ("x.sort()", True),
        ("z = np.sort(x)", False),
        ("x.real.sort()", True),
        ("np.random.shuffle(x)", True),
        ("change(x)", True),
        ("np.add(x, 1, out=x)", True),
        ("np.add.at(x, 0, 1)", True),
        ("del x[0]", True),
        ("made_later(x)", True),
    ],
)
def test_what_may_write(cell, writes):
    assert may_write(ast.parse(cell), namespace()) is writes
