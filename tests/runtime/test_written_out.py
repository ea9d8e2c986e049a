"""Comprehensions in statements that tracing refuses, compiled whole as loops: values, types and errors are Python's."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.errors import TracingError
from workbench.notebook.cells import run_cell
from workbench.runtime.compilation import Source
from workbench.runtime.parts.comprehensions import WrittenOut

from .test_whole_loops import assert_same

X = np.random.default_rng(3).integers(0, 128, 400) / 128  # sums of these are exact
NAMES = {"x": X, "n": 300, "k": np.arange(400) % 7, "np": np}

COMPILED = [
    "y = np.array([x[i:i + 5].mean() for i in range(n)])",
    "y = [v for v in x if v > 0.5]",
    "y = [v * i for i, v in enumerate(x) if v > x[i - 1]]",
    "y = [(i, x[i]) for i in range(n) if k[i] == 3]",
    "y = len([v for v in x if v > 0.5])",
    "y = np.array([x[i] * x[j] for i in range(70) for j in range(i) if i - j < 5]).reshape(-1, 5)",
    "y = np.array([[x[i] * k[j] for j in range(3)] for i in range(90)])",
    "y = sum([x[i] for i in range(n) if k[i]]) + len(x)",
    "y = np.array([a * b for a, b in zip(x, k) if a * b > 1], dtype=np.float32)",
    "y = max(abs(x[i] - x[i - k[i]]) for i in range(10, n))",
    "y = (x[0], np.array([x[:i].sum() for i in range(1, n)]).max())",
    "y = np.array([max(x[j] for j in range(i, i + 4)) for i in range(n)])",
]
COMPILED += [
    "y = np.array([v for v in x if v > 5])",
    "y = np.array([i for i in range(n) if k[i] == 3]), np.array([v > 0.5 for v in x]), np.sort([v for v in x])[::2]",
    "y = np.sum([np.float32(v) for v in x if v > 0.5])",
    "y = [np.mean([v for v in x if v > 0.5])]",
]
PYTHONS = [
    "y = [f'{v:.2f}' for v in x if v > 0.5]",
    "y = {i: x[i] for i in range(n)}",
    "y = [x[i:i + 5] for i in range(3)]",  # few
    "y = x[n:].fill(0) or [v for v in x if v > 0.5]",  # which come after something that writes
    "y = [(lambda: v) for v in x][0]()",
]


def written_out(text: str, namespace: dict[str, Any]) -> list | None:
    """The loops that ran compiled while the statement ran; None if it was left to Python."""
    found = WrittenOut.of(ast.parse(text).body[0], namespace)
    if found is None:
        return None
    whole = Source("part", text, "<part>")
    around = SimpleNamespace(namespace=namespace, whole=whole, code=lambda tree, mode: compile(tree, "<part>", mode))
    return found.run(around, is_shown=False)  # type: ignore[arg-type]  # as much as it needs


@pytest.mark.parametrize("text", COMPILED)
def test_values_and_types_are_pythons(text):
    mine, its = dict(NAMES), dict(NAMES)
    exec(text, its)
    assert written_out(text, mine), "nothing was compiled"
    assert {*mine} - {"__builtins__"} == {*its} - {"__builtins__"}
    assert_same(mine["y"], its["y"], text)


@pytest.mark.parametrize("text", PYTHONS)
def test_the_rest_is_left_to_python(text):
    namespace = {**NAMES, "x": X.copy()}
    assert written_out(text, namespace) is None
    assert {*namespace} - {"__builtins__"} == {*NAMES} and (namespace["x"] == X).all()


def test_a_few_items_that_take_long_are_compiled_in_the_end():
    namespace = {**NAMES, "big": np.random.default_rng(0).random(200_000)}
    text = "y = [sum(big[j] for j in range(i, 200_000, 10)) for i in range(3)]"
    found = WrittenOut.of(ast.parse(text).body[0], namespace)
    assert found is not None and not found.is_worth_it(namespace)
    found.python_ms = 20.0
    assert found.is_worth_it(namespace)


def test_an_error_in_an_element_is_raised_where_it_is_and_leaves_no_names():
    namespace = dict(NAMES)
    source = "print(n)\ny = np.array([x[i + 200] for i in range(n) if x[i] > 0.1])\n"
    with pytest.raises(IndexError, match="index 400 is out of bounds") as caught:
        run_cell(source, namespace)
    assert caught.traceback[-1].lineno == 1 or caught.traceback[-2].lineno == 1
    assert "y" not in namespace and not [name for name in namespace if name[-1].isdigit()]


def test_a_cell_shows_the_value_of_its_last_comprehension():
    namespace = dict(NAMES)
    ran = run_cell("print(n)\n[v for v in x if v > 0.5]", namespace)
    assert_same(ran.last_value, [v for v in X if v > 0.5], "the last value")
    assert not [name for name in namespace if name[-1].isdigit()]


@pytest.mark.parametrize("n", [10, 3_000])
def test_functions_with_windows_give_what_numpy_gives(n):
    def windows(x: np.ndarray, width: int) -> Any:
        means = np.array([x[i : i + width].mean() for i in range(len(x) - width)])
        peaks = [i for i in range(1, len(x) - 1) if x[i - 1] < x[i] > x[i + 1]]
        return means, peaks, sum(x[i] for i in peaks)

    x = np.random.default_rng(n).random(n)
    compiled = wb.jit(windows)
    expected = windows(x, 5)
    for _ in range(5):
        means, peaks, total = compiled(x, 5)
        np.testing.assert_allclose(means, expected[0], rtol=1e-14)
        assert_same(peaks, expected[1], "peaks")
        assert total == pytest.approx(expected[2], rel=1e-12)


def filtered(x: np.ndarray) -> Any:
    return [x[i] + i for i in range(2500) if i % 3]


def table(x: np.ndarray) -> Any:
    return {i: x[i] for i in range(2500)}


def product(x: np.ndarray) -> Any:
    return np.array([x[i] * x[j] for i in range(50) for j in range(50)])


@pytest.mark.parametrize("function", [filtered, table, product])
def test_a_long_comprehension_is_not_written_out(function):
    x = np.arange(2500.0)
    with pytest.raises(TracingError, match="WB185"):
        wb.make_jaxpr(function)(x)
    assert_same(wb.jit(function)(x), function(x), "the result")
