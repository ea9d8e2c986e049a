"""What `for` loops go over: `range`, `enumerate`, `zip` and `reversed`, in each other, of arrays that are traced."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.sources import define

from .test_loops import assert_same, loops_of

LEAVES = ["x", "y", "x[2:]", "y[::-2]", "range(5, 40)", "range(len(y))", "range(50, 0, -3)", "range(2, 60, 7)",
          "reversed(x)", "reversed(y)"]  # fmt: skip


@st.composite
def iterables(draw, depth: int = 2) -> tuple[str, int]:
    """What a loop goes over, and how many numbers each of its items has."""
    kind = draw(st.sampled_from(["leaf", "enumerate", "zip"])) if depth else "leaf"
    if kind == "leaf":
        return draw(st.sampled_from(LEAVES)), 1
    if kind == "enumerate":
        inner, n = draw(iterables(depth - 1))
        start = draw(st.sampled_from(["", ", 1", ", start=3", ", start=-2", ", n"]))
        return f"enumerate({inner}{start})", n + 1
    parts = [draw(iterables(depth - 1)) for _ in range(draw(st.integers(1, 3)))]
    return f"zip({', '.join(text for text, _ in parts)})", sum(n for _, n in parts)


def program_over(text: str, n: int) -> str:
    """Without names for the parts: what each item holds is unpacked by what goes in step."""
    names = [f"v{k}" for k in range(n)]
    target, rest = _target(text, names)
    assert not rest
    return (
        f"def program(x, y, n):\n    total, last = 0.0, 0.0\n    for {target} in {text}:\n"
        f"        last = {' - 0.25 * '.join(names)}\n        total = 0.5 * total + last\n    return total, last\n"
    )


def _target(text: str, names: list[str]) -> tuple[str, list[str]]:
    """The target of a loop over `text`, and the names that are left."""
    if text.startswith("enumerate("):
        inner, rest = _target(_arguments(text)[0], names[1:])
        return f"({names[0]}, {inner})", rest
    if text.startswith("zip("):
        made = []
        for part in _arguments(text):
            target, names = _target(part, names)
            made.append(target)
        return f"({', '.join(made)},)", names
    return names[0], names[1:]


def _arguments(call: str) -> list[str]:
    inside = call[call.index("(") + 1 : -1]
    found, depth = [""], 0
    for letter in inside:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [part.strip() for part in found]


@settings(max_examples=40, deadline=None)
@given(iterables(), st.integers(0, 2**32 - 1))
def test_what_loops_go_over(found: tuple[str, int], seed: int) -> None:
    program = define(program_over(*found), "program", "iteration.py")
    rng = np.random.default_rng(seed)
    compiled = assert_same(program, rng.standard_normal(31), rng.standard_normal(24), 2)
    assert not compiled.fallbacks


@pytest.mark.parametrize(
    "text", ["enumerate(zip(x, y), start=4)", "zip(enumerate(x, 1), reversed(y))", "enumerate(reversed(x))"]
)
def test_such_a_loop_is_one_equation(text: str) -> None:
    n = 2 if "reversed(x)" in text else 3
    x, y = np.random.default_rng(1).standard_normal((2, 400))
    compiled = assert_same(define(program_over(text, n), "program", "iteration.py"), x, y, 0)
    assert len(loops_of(compiled)) == 1 and not compiled.fallbacks


def test_a_function_that_is_called_enumerate_is_the_user_s() -> None:
    def enumerate(x, start):
        return [(start * k, v) for k, v in zip(range(len(x)), x, strict=True)]

    def program(x):
        total = 0.0
        for k, v in enumerate(x, start=3):
            total = 0.5 * total + k * v
        return total

    x = np.random.default_rng(1).standard_normal(9)
    assert_same(program, x)


def test_a_strict_zip_of_different_lengths() -> None:
    def program(x, y):
        total = 0.0
        for k, (a, b) in enumerate(zip(x, y, strict=True)):
            total = 0.5 * total + a * b * k
        return total

    x = np.random.default_rng(1).standard_normal(30)
    assert_same(program, x, x[::-1])
    compiled = wb.jit(program)
    with pytest.raises(ValueError, match="shorter|longer"):
        compiled(x, x[1:])
