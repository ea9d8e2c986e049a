"""Cells in which somebody asked NumPy to raise for floating-point errors: kernels report none, so that NumPy runs."""

from __future__ import annotations

import numpy as np
import pytest

QUOTIENT = """try:
    w = x / 0
    message = "none"
except FloatingPointError as error:
    message = str(error)
"""
DIVIDED = "divide by zero encountered in divide"


@pytest.fixture(autouse=True)
def _error_state(shell):
    saved = np.geterr()
    shell.ip.push({"x": np.arange(1.0, 4.0), "np": np})
    yield
    np.seterr(**saved)


def test_inside_of_a_block(shell):
    shell(
        f'%%jit\nwith np.errstate(all="raise"):\n    pass\n    {QUOTIENT.replace(chr(10), chr(10) + "    ").rstrip()}'
    )
    assert shell["message"] == DIVIDED


def test_set_in_the_cell(shell):
    shell(f'%%jit\nold = np.seterr(divide="raise")\n{QUOTIENT}np.seterr(**old)')
    assert shell["message"] == DIVIDED


def test_set_before_the_cell_and_taken_back(shell):
    for _ in range(2):
        np.seterr(divide="raise")
        shell(f"%%jit\n{QUOTIENT}")
        assert shell["message"] == DIVIDED
        np.seterr(divide="ignore")
        shell(f"%%jit\n{QUOTIENT}")
        assert shell["message"] == "none"


LOOP = """%%jit
v = np.float64(1e300)
try:
    for i in range(50):
        v = v * 1e300
except FloatingPointError:
    v = "raised"
"""


def test_loops_that_run_whole(shell):
    np.seterr(over="raise")
    shell(LOOP)
    assert shell["v"] == "raised"
