"""Whole random programs, compiled, do what NumPy does: values, dtypes, shapes, and what becomes of their arguments.

2,000 are drawn here. `python -m tests.fuzz --examples N` (`make fuzz`) draws as many as one likes.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings

import workbench as wb
from tests.programs import Program, programs

PARTS, EXAMPLES = 20, 100


def assert_compiles_as_numpy(program: Program) -> None:
    """Twice: the second call takes the path of a program that is already compiled."""
    expected = program.run()
    compiled = wb.jit(program.function())
    for _ in range(2):
        inputs = program.make_inputs()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = compiled(*inputs.values())
        left = {name: x for name, x in inputs.items() if name not in program.outputs}
        program.check(left | results, expected)


@pytest.mark.parametrize("part", range(PARTS))
def test_drawn_programs(part: int) -> None:
    @seed(part)
    @settings(max_examples=EXAMPLES, database=None, suppress_health_check=list(HealthCheck))
    @given(programs())
    def check(program: Program) -> None:
        assert_compiles_as_numpy(program)

    check()
