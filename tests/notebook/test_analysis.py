"""What a cell does besides arithmetic is found before it runs."""

from __future__ import annotations

import ast
import math
import types

import numpy as np
import pytest

from workbench.notebook.analysis import analyse


def helper(x):
    return np.exp(-x) * math.pi


def noisy_helper(x):
    print(x)
    return helper(x)


def recursive(x, n):
    return recursive(x * 2, n - 1) if n else x


def writer(x):
    x[0] = 1
    return x


def found(source: str, **names):
    return analyse(ast.parse(source), {"np": np, "math": math, **names})


PURE = [
    "y = np.exp(x).sum() + x @ x.T",
    "d = (x - x.mean()) / x.std()\ns = d.sum(axis=0)",
    "parts = []\nfor k in range(3):\n    parts.append(x[k])\ny = np.stack(parts)",
    "y = helper(x)",
    "y = recursive(x, 4)",
    "def f(a, b=2):\n    return a ** b\ny = f(x) + (lambda t: t + 1)(x)",
    "rng = np.random.default_rng(0)\ny = x + rng.normal(size=3)",
    "y = sum(v.sum() for v in layers.values())",
    "y = params['w'] * 2",
    "with np.errstate(all='ignore'):\n    y = x / 0",
    "import math\ny = x * math.sqrt(2)",
    "from numpy import tanh\ny = tanh(x)",
    "label = f'{len(x)} rows'.upper()",
    "out = np.empty(3)\nout[:] = x[0]",
    "x = [1, 2]\nx.append(3)",
]

EFFECTS = [
    ("y = x * 2\nprint(y)", 2, "print"),
    ("history.append(x.sum())", 1, "history.append"),
    ("history += [1]", 1, "history +="),
    ("params['w'] = x", 1, "params[...] ="),
    ("thing.value = x", 1, "thing.value ="),
    ("y = x + np.random.normal(size=3)", 1, "np.random.normal"),
    ("y = rng.normal(size=3)", 1, "rng.normal"),
    ("rng = np.random.default_rng()", 1, "np.random.default_rng"),
    ("np.save('x.npy', x)", 1, "np.save"),
    ("x.tofile('x')", 1, "x.tofile"),
    ("y = noisy_helper(x)", 1, "noisy_helper"),
    ("y = unknown_function(x)", 1, "unknown_function"),
    ("def f():\n    global total\n    total = 1\nf()", 2, "global"),
    ("with open('x') as file:\n    pass", 1, "open"),
    ("y = [log(v) for v in x]", 1, "log"),
    ("def f(a):\n    a.append(1)\nf(history)", 2, "a.append"),
    ("get_ipython().system('ls')", 1, "%"),
]

NAMES = {
    "x": np.ones((3, 3)),
    "layers": {"a": np.ones(2)},
    "params": {"w": np.ones(2)},
    "history": [],
    "helper": helper,
    "noisy_helper": noisy_helper,
    "recursive": recursive,
    "rng": np.random.default_rng(0),
    "thing": types.SimpleNamespace(value=1),
    "log": print,
    "get_ipython": input,
}


@pytest.mark.parametrize("source", PURE)
def test_arithmetic_has_no_effects(source):
    assert found(source, **NAMES).effects == ()


@pytest.mark.parametrize(("source", "line", "op"), EFFECTS)
def test_effects_are_found_with_their_line(source, line, op):
    effects = found(source, **NAMES).effects
    assert effects and (effects[0].line, effects[0].op) == (line, op)


@pytest.mark.parametrize(
    ("source", "writes"),
    [
        ("y = x + 1", False),
        ("x += 1", True),
        ("x[0] = 1", True),
        ("x.sort()", True),
        ("y = np.sort(x)", False),
        ("np.add(x, 1, out=x)", True),
        ("np.copyto(x, 0)", True),
        ("y = x.copy() + 1", False),
        ("v = x\nv += 1", True),
        ("writer(x)", True),
        ("for w in layers.values():\n    w *= 2", True),
        ("params['w'] *= 2", True),
    ],
)
def test_writes_into_given_arrays_are_found(source, writes):
    assert found(source, writer=writer, **NAMES).writes_arrays == writes


def test_reads_are_the_names_taken_from_outside():
    assert {"np", "x"} <= found("y = np.exp(x)\nz = y + 1", x=np.ones(2)).reads
    assert "y" not in found("y = np.exp(x)\nz = y + 1", x=np.ones(2)).reads
