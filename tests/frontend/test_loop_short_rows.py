"""Rows of a few elements, coordinates and the like, in loops: written out, with NumPy's results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.sources import define

from .test_loops import assert_same, loops_of

# Of `p`, of shape (n - i - 1, k), in a loop over `i`.
ROWS = [
    "np.sum(p * p, axis=1)",
    "(p - x[i]).sum(axis=-1)",
    "p.sum(1, keepdims=True)[:, 0] + np.sum(p, 1)",
    "np.mean(p, axis=1)",
    "p.mean(axis=1, keepdims=True)[::-1, 0]",
    "np.sum(p[:, 1:], axis=1) + p[:, :1].sum(axis=1)",
    "np.sum(x[i + 1 :].T, axis=0)",
    "np.sum(np.stack((p, p)), axis=2)[1]",
]
ORDERED = ["np.sum(p > 1, axis=1)", "p.max(axis=1) - p.min(axis=1)"]


def pairs(expression: str) -> Any:
    source = f"""
import numpy as np

def f(x, out):
    for i in range(len(x) - 1):
        p = x[i + 1 :] + x[i]
        out[i + 1 :] += {expression}
    return out
"""
    return define(source, "f", f"<rows {expression}>")


CASES = [(e, k, "float64") for e in (*ROWS, *ORDERED) for k in (1, 2, 4, 5)]
CASES += [(e, 3, dtype) for e in (*ROWS, *ORDERED) for dtype in ("float32", "int16")]
CASES += [(e, 3, "complex128") for e in ROWS]


@pytest.mark.parametrize(("expression", "k", "dtype"), CASES)
def test_reductions_of_short_rows(expression: str, k: int, dtype: str) -> None:
    rng = np.random.default_rng(k)
    x = (rng.normal(size=(6, k)) * 9).astype(dtype)
    out = np.zeros(6, np.result_type(dtype, np.float64))
    compiled = assert_same(pairs(expression), x, out, rtol=1e-5 if dtype == "float32" else 1e-10)
    assert len(loops_of(compiled)) == 1 and not compiled.fallbacks


@pytest.mark.parametrize("k", [2, 3, 5])
def test_signed_zeros_nan_and_infinities(k: int) -> None:
    program = pairs("np.sum(x[i + 1 :], axis=1)")
    special = np.array([-0.0, 0.0, np.nan, np.inf, -np.inf, 1.0])
    x = np.random.default_rng(k).choice(special, (40, k))
    with np.errstate(invalid="ignore"):
        expected = program(x, np.full(40, -0.0))
        compiled = wb.jit(program)
        found = compiled(x, np.full(40, -0.0))
    assert loops_of(compiled) and not compiled.fallbacks
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(expected[expected == 0]))


def test_other_lengths_and_orders_are_other_programs() -> None:
    """The length of a short row is a part of the text: calls with others must not find it."""
    program = pairs("np.sum(p * x[i], axis=1)")
    compiled = wb.jit(program)
    rng = np.random.default_rng(0)
    for k in (3, 2, 4, 3, 7, 2, 1):
        for x in (rng.normal(size=(9, k)), rng.normal(size=(k, 9)).T, rng.normal(size=(18, 2 * k))[::2, ::2]):
            np.testing.assert_allclose(compiled(x, np.zeros(9)), program(x, np.zeros(9)), rtol=1e-12)
    assert not compiled.fallbacks


def test_sums_of_short_rows_call_nothing() -> None:
    for k, is_short in ((3, True), (16, True), (17, False)):
        compiled = assert_same(pairs("np.sum(p * p, axis=1)"), np.ones((20, k)), np.zeros(20))
        (loop,) = loops_of(compiled)
        text = loop.params["program"].source
        assert ("add_reassoc_f64" in text) != is_short and "array_sum" not in text
        assert (f"x.shape[1] != {k}" in text) == (k <= 4)
