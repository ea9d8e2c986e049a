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
    "np.linalg.norm(a[:n] - b[:n])",
    "np.linalg.norm(a[:2, None] * b[:n])",
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
    assert not compiled.fallbacks and "array_sum" not in text and "dot(" not in text and "norm" not in text


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


def ordered(A: np.ndarray, x: np.ndarray, order: str) -> tuple[np.ndarray, np.ndarray]:
    """The same numbers, in memory of another order."""
    match order:
        case "F":
            A = np.asfortranarray(A)
        case "steps":
            A, x = np.repeat(np.repeat(A, 2, 0), 3, 1)[::2, ::3], np.repeat(x, 2)[::2]
        case "backwards":
            A, x = A[:, ::-1], x[::-1]
    return A, x


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
    A, x = ordered(A, x, order)
    compiled = assert_same(
        products_of_rows, A, x, np.zeros((13, 13), dtype), rtol=1e-3 if dtype == "float32" else 1e-10
    )
    assert loops_of(compiled) and not compiled.fallbacks


ROWS = [
    "x[:i].sum() + A[i].sum()",
    "np.mean(x[i:]) - A[i, : i + 1].mean()",
    "np.std(A[i, i // 2 :]) + x[i:].std()",
    "np.var(A[i])",
    "np.linalg.norm(A[i, :i]) + np.linalg.norm(x[i:] - A[i, i:])",
    "A[i, i:].max() - x[i:].min()",
    "np.max(np.abs(A[i] - x)) + np.min(A[i] * x)",
    "(A[i] * x).std() + np.max(x[i:] > 0)",
]


@pytest.mark.parametrize("order", ["C", "F", "steps", "backwards"])
@pytest.mark.parametrize(
    ("expression", "dtype"),
    [(e, d) for e in ROWS for d in ("float64", "float32", "int16") if d != "int16" or "norm" not in e],
)
def test_reductions_of_rows(expression: str, dtype: str, order: str) -> None:
    source = f"""
import numpy as np

def f(A, x, out):
    for i in range(len(A)):
        out[i] = {expression}
    return out
"""
    rng = np.random.default_rng(3)
    A, x = (rng.normal(size=(150, 150)) * 50).astype(dtype), (rng.normal(size=150) * 50).astype(dtype)
    A, x = ordered(A, x, order)
    compiled = assert_same(
        define(source, "f", f"<rows {expression}>"), A, x, np.zeros(150), rtol=1e-4 if dtype == "float32" else 1e-10
    )
    assert not compiled.fallbacks


def test_extremes_of_nothing_and_of_nan() -> None:
    def extremes(x, out):
        for i in range(len(out)):
            out[i] = x[i:].max() + np.min(x[i : i + 3] * 2)
        return out

    x = np.array([1.0, np.nan, -np.inf, 3.0, 2.0, -0.0, np.inf, 5.0, np.nan, 1.0])
    with np.errstate(invalid="ignore"):
        assert_same(extremes, x, np.zeros(10))
        assert_same(extremes, x, np.zeros(11))  # raises


def test_rows_that_do_not_fit_raise() -> None:
    def wrong(A, x, out):
        for i in range(len(A)):
            for j in range(i):
                out[i, j] = A[i, :j] @ x[: j + A.shape[0] % 3 - 1]
        return out

    rng = np.random.default_rng(2)
    for n in (12, 13):  # for 13 they fit
        assert_same(wrong, rng.normal(size=(n, n)), rng.normal(size=n), np.zeros((n, n)))
