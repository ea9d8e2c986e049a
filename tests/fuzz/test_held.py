"""Random programs whose variables objects, dicts and lists hold are NumPy's, compiled."""

from __future__ import annotations

import pytest

from .held import Held, check
from .nested import cut_down


@pytest.mark.parametrize("part", range(4))
def test_random_programs_with_held_variables(part):
    for seed in range(8 * part, 8 * (part + 1)):
        program = Held(seed)
        try:
            check(program)
        except Exception as error:
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{cut_down(program, check)}")
