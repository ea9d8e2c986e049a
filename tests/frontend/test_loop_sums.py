"""Sums of what a loop computes, without memory for it: NumPy's results, as exact as its pairwise sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.sources import define

from .test_loops import assert_same, loops_of

SUMS = [
    "np.sum(a[:n] * b[:n])",
    "np.mean(a[:n] - b[:n])",
    "(a[:n][::-1] * b[:n]).sum()",
    "np.sum(a[k[:n]])",
    "np.sum(np.abs(a[:n] - np.mean(a[:n] + b[:n])))",
    "np.sum(a[:n] > b[:n]) + np.sum((a[:n] > 0) & (b[:n] > 0))",
    "np.mean(a[:n] > b[:n])",
    "np.sum(k[:n] * k[:n]) - np.sum(k[:n] % 3)",
    "np.sum(a[:n][a[:n] > 0])",
    "np.sum(a[: n - n % 2].reshape(-1, 2) * b[:2])",
    "np.mean(a[:n, None] * b[:5])",
    "np.sum(a[:3, None, None] * b[:n] + a[4:6, None])",
    "(a[:2, None] > b[:n]).sum() + (a[:2, None] > b[:n]).mean()",
]
PRODUCTS = [
    "a[k[:n]] @ b[:n]",
    "np.dot(a[:n] * 2, b[:n])",
    "b[:n].dot(a[:n] + b[:n])",
    "np.dot(np.abs(a[:n]), np.abs(b[:n]))",
]


def program(expression: str) -> Any:
    source = f"""
import numpy as np

def f(a, b, k, lengths):
    out = np.zeros(len(lengths))
    for i in range(len(lengths)):
        n = lengths[i]
        out[i] = {expression}
    return out
"""
    return define(source, "f", f"<sums {expression}>")


CASES = [(e, dtype) for e in SUMS for dtype in ("float64", "float32", "int32")]
CASES += [(e, dtype) for e in PRODUCTS for dtype in ("float64", "float32")]


@pytest.mark.parametrize(("expression", "dtype"), CASES)
def test_sums_of_every_length(expression: str, dtype: str) -> None:
    rng = np.random.default_rng(len(expression))
    a, b = (rng.normal(size=(2, 700)) * 9).astype(dtype)
    lengths = np.array([1, 2, 7, 8, 127, 128, 129, 256, 300, 700, 5])
    compiled = assert_same(
        program(expression), a, b, rng.integers(0, 700, 700), lengths, rtol=1e-4 if dtype == "float32" else 1e-10
    )
    (loop,) = loops_of(compiled)
    text = loop.params["program"].source
    assert not compiled.fallbacks and "array_sum" not in text and "dot(" not in text


def test_none_at_all() -> None:
    assert_same(
        program("np.sum(a[:n] * b[:n])"), np.ones(9), np.ones(9), np.arange(9), np.array([0, 3, 0, 9, 0, 0, 0, 1])
    )


def test_products_of_other_lengths_raise() -> None:
    for expression in ("np.dot(a[:n] * 2, b[: n + 1])", "(a[:n] + 1) @ b[:1]"):
        assert_same(program(expression), np.ones(9), np.ones(9), np.arange(9), np.array([2, 3, 4, 5, 6, 7, 8, 2]))


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 1.7e308])
@pytest.mark.parametrize("place", [0, 5, 127, 128, 200, 299])
def test_infinities_and_nan(special: float, place: int) -> None:
    a = np.ones(300)
    a[place] = special
    with np.errstate(all="ignore"):
        assert_same(program("np.sum(a[:n] * 1.5)"), a, a, np.arange(300), np.array([3, 128, 129, 250, 300, 1, 2, 5, 8]))


def test_cancelling_sums_stay_exact() -> None:
    rng = np.random.default_rng(1)
    large = rng.normal(size=20_000) * 1e12
    a = np.concatenate([large, rng.normal(size=999), -large])
    program_of_sum, lengths = program("np.sum(a[:n] * b[:n])"), np.full(8, len(a))
    compiled = assert_same(program_of_sum, a, np.ones_like(a), np.arange(3), lengths, rtol=1.0)
    found = compiled(a, np.ones_like(a), np.arange(3), lengths)[0]
    assert abs(found - math.fsum(a)) < 0.01 * np.finfo(float).eps * np.abs(a).sum()


def products_of_rows(A, x, out):
    for i in range(len(A)):
        for j in range(i):
            out[i, j] = A[i, :j] @ A[j, :j] - np.dot(x[1 : j + 1], A[i, j : 2 * j]) + x[:j].dot(A[:j, i]) + A[i] @ x
        out[i, i] = np.dot(out[i, :i], out[i, :i]) + out[i, -i:] @ x[-i:]
    return out


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", ["C", "F", "steps", "backwards"])
def test_products_of_rows(dtype: str, order: str) -> None:
    """In place where they lie in order, and of what the loop itself writes."""
    rng = np.random.default_rng(2)
    A, x = rng.normal(size=(13, 13)).astype(dtype), rng.normal(size=13).astype(dtype)
    match order:
        case "F":
            A = np.asfortranarray(A)
        case "steps":
            A, x = np.repeat(np.repeat(A, 2, 0), 3, 1)[::2, ::3], np.repeat(x, 2)[::2]
        case "backwards":
            A, x = A[:, ::-1], x[::-1]
    compiled = assert_same(
        products_of_rows, A, x, np.zeros((13, 13), dtype), rtol=1e-3 if dtype == "float32" else 1e-10
    )
    assert loops_of(compiled) and not compiled.fallbacks


def test_rows_that_do_not_fit_raise() -> None:
    def wrong(A, x, out):
        for i in range(len(A)):
            for j in range(i):
                out[i, j] = A[i, :j] @ x[: j + A.shape[0] % 3 - 1]
        return out

    rng = np.random.default_rng(2)
    for n in (12, 13):  # for 13 they fit
        assert_same(wrong, rng.normal(size=(n, n)), rng.normal(size=n), np.zeros((n, n)))
