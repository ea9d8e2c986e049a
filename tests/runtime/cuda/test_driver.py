"""Why CUDA cannot be used: one reason, and the command that checks it."""

from __future__ import annotations

import pytest

from workbench.runtime.cuda.driver import LEAST_DRIVER, NO_DEVICE, Driver, why_not

FINE = Driver(13000, 2)


@pytest.mark.parametrize(
    ("missing", "found", "ordinal", "code", "check"),
    [
        (["numba-cuda", "CuPy"], FINE, 0, "WB601", "pip list"),
        (["CuPy"], FINE, 0, "WB601", "pip list"),
        ([], Driver(), 0, "WB602", "nvidia-smi"),
        ([], Driver(LEAST_DRIVER - 10, 1), 0, "WB603", "driver_version"),
        ([], Driver(13000, 0, NO_DEVICE), 0, "WB604", "nvidia-smi -L"),
        ([], Driver(13000, 0), 0, "WB604", "nvidia-smi -L"),
        ([], Driver(13000, 0, 803), 0, "WB605", "nvidia-smi"),
        ([], FINE, 2, "WB604", "nvidia-smi -L"),
    ],
)
def test_the_first_reason_is_given_with_a_command(missing, found, ordinal, code, check):
    error = why_not(ordinal, missing=missing, found=found)
    assert error is not None and error.code == code and error.fixes
    assert check in str(error) and max(map(len, str(error).splitlines())) <= 120


@pytest.mark.parametrize("ordinal", [0, 1])
def test_nothing_is_wrong_where_everything_is_there(ordinal):
    assert why_not(ordinal, missing=[], found=FINE) is None
