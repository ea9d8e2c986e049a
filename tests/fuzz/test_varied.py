"""Random programs whose variables are of several kinds are NumPy's, compiled."""

from __future__ import annotations

import pytest

from .nested import check, cut_down
from .varied import Varied


@pytest.mark.parametrize("part", range(4))
def test_random_programs_of_values_of_several_kinds(part):
    for seed in range(8 * part, 8 * (part + 1)):
        program = Varied(seed)
        try:
            check(program)
        except Exception as error:
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{cut_down(program, check)}")
