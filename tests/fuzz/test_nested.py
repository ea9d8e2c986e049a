"""Random programs of nested statements are NumPy's, compiled."""

from __future__ import annotations

import pytest

from .nested import Nested, check, cut_down


@pytest.mark.parametrize("part", range(5))
def test_random_nested_programs(part):
    for seed in range(8 * part, 8 * (part + 1)):
        program = Nested(seed)
        try:
            check(program)
        except Exception as error:
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{cut_down(program)}")
