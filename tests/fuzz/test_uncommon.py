"""Random programs over uncommon arrays, containers, prints and changing globals do what Python does."""

from __future__ import annotations

import pytest

from .nested import cut_down
from .uncommon import Uncommon, check


@pytest.mark.parametrize("part", range(5))
def test_random_uncommon_programs(part):
    for seed in range(10 * part, 10 * (part + 1)):
        program = Uncommon(seed)
        try:
            check(program)
        except Exception as error:
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{cut_down(program, check)}")
