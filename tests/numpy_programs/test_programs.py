"""Every program gives NumPy's results, dtypes and mutated arguments, called twice."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import workbench as wb

from .all import PROGRAMS
from .outcomes import assert_like, outcome
from .registry import NumpyProgram


def check(program: NumpyProgram, size: int) -> Any:
    compiled = wb.jit(program.function)
    for seed in (0, 1):
        arguments = program.make(size, seed)
        expected = outcome(program.function, copy.deepcopy(arguments))
        actual = outcome(compiled, copy.deepcopy(arguments))
        assert_like(actual[0], expected[0], program.rtol, "result")
        assert_like(actual[1], expected[1], program.rtol, "arguments")
    return compiled


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_program_does_what_numpy_does(name: str) -> None:
    check(PROGRAMS[name], PROGRAMS[name].small)
