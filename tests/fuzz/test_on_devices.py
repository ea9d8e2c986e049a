"""Random programs of every kind do in numba's CUDA simulator what NumPy does."""

from __future__ import annotations

import pytest

import workbench as wb

from . import held, nested, uncommon
from .varied import Varied

KINDS = {
    "nested": (nested.Nested, nested.check),
    "held": (held.Held, held.check),
    "uncommon": (uncommon.Uncommon, uncommon.check),
    "varied": (Varied, nested.check),
}


@pytest.mark.parametrize("kind", KINDS)
def test_random_programs_of_statements_in_the_simulator(kind):
    make, check = KINDS[kind]
    with wb.config(device="cuda-sim"):
        for seed in range(700, 706):
            program = make(seed)
            try:
                check(program)
            except Exception as error:
                pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{nested.cut_down(program, check)}")
