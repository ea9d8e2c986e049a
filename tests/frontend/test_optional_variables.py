"""Variables of loops that are a number or None: NumPy's results, by compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.compare import assert_same
from tests.sources import define

from .optional_programs import Program
from .test_loops import loops_of


def outcome(function: Any, x: np.ndarray) -> Any:
    """What it returns, in which a loop's `np.float64` may be a float of Python's, or the name of what it raises."""
    try:
        with np.errstate(all="ignore"):
            found = function(x)
    except TypeError as error:
        return type(error).__name__
    return tuple([float(v) if isinstance(v, float) else v for v in r] if isinstance(r, list) else
                 float(r) if isinstance(r, float) else r for r in found)  # fmt: skip


def check(function: Any, *arguments: Any) -> Any:
    """The compiled function, whose results are NumPy's, and whose loop is one step."""
    compiled = wb.jit(function)
    with np.errstate(all="ignore"):
        for _ in range(2):
            assert_same(compiled(*arguments), function(*arguments))
    assert not compiled.fallbacks
    assert loops_of(compiled)
    return compiled


@pytest.mark.parametrize("seed", range(80))
def test_random_programs(seed: int) -> None:
    program = Program(seed)
    function = define(program.source, "f", f"<optional {seed}>")
    compiled = wb.jit(function)
    rng = np.random.default_rng(seed)
    for n in (0, 1, 2, 7, 40):
        x = np.round(rng.random(n), 1)
        expected, found = outcome(function, x), outcome(compiled, x)
        if isinstance(expected, str) or isinstance(found, str):
            assert found == expected, program.source
            continue
        assert_same(found, expected)


floats = st.lists(st.floats(allow_nan=True, width=32) | st.sampled_from([0.0, -0.0, 1.0]), max_size=30)


def least(x):
    best = None
    at = None
    for i, v in enumerate(x):
        if best is None or v < best:
            best = v
            at = i
    return best, at


COMPILED = wb.jit(least)


@given(floats)
@settings(max_examples=80)
def test_the_least_and_where_it_is(values: list[float]) -> None:
    assert_same(COMPILED(np.array(values)), least(np.array(values)))
