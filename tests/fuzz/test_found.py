"""What random search has found is mended: results, types, memory and arguments are NumPy's, in every layout."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.compare import assert_same

from .found import PROGRAMS

LAYOUTS = {
    "rows": lambda x: x.copy(),
    "columns": lambda x: x.copy("F"),
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_a_program_that_was_wrong_is_right(program, layout, dtype):
    def arguments():
        vector, matrix = np.array([2, 3, -4, 8, 1], dtype), np.arange(6).reshape(2, 3).astype(dtype)
        return [LAYOUTS[layout](x) for x in (vector, matrix)]

    def outcome(function):
        given = arguments()
        try:
            result = function(*given)
        except TypeError as error:  # a quotient does not go into integers
            return type(error).__mro__[-4:], given
        return result, given

    compiled = wb.jit(program)
    with np.errstate(all="ignore"):
        expected = outcome(program)
        for _ in range(2):
            assert_same(outcome(compiled), expected)
    assert not [reason for reason in compiled.fallbacks if reason.code == "WB903"]
