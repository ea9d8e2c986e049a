"""Results are compared in units in the last place; what is too far apart is a mistake."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.notebook.compare import compare, difference

X = np.linspace(1, 2, 5)


@pytest.mark.parametrize(
    ("a", "b", "ulp"),
    [
        (X, X, 0),
        (np.nextafter(X, 9), X, 1),
        (X.astype(np.float32), np.nextafter(X.astype(np.float32), np.float32(9)), 1),
        (np.array([np.nan, np.inf, 1.0]), np.array([np.nan, np.inf, 1.0]), 0),
        (np.zeros(0), np.zeros(0), 0),
        (np.arange(3), np.arange(3), 0),
        (X + 1j, X + 1j, 0),
        (np.float64(2.0), np.float64(2.0), 0),
        ("text", "text", 0),
    ],
)
def test_rounding_is_explained(a, b, ulp):
    assert difference(a, b) == (ulp, True)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (X, X * 1.001),
        (X, X.astype(np.float32)),
        (X, X[:-1]),
        (np.arange(3), np.arange(3) + 1),
        (np.array([np.nan, 1.0]), np.array([0.0, 1.0])),
        (np.array([np.inf]), np.array([-np.inf])),
        (X * 1j, X),
    ],
)
def test_a_mistake_is_not(a, b):
    assert not difference(a, b)[1]


def test_cancellation_is_no_mistake():
    b = np.array([1.0, 0.0])
    ulp, ok = difference(np.array([1.0, 1e-17]), b)
    assert ok and ulp < 1e6


def test_trees_are_compared_by_leaf():
    ok, ulp, rows = compare({"y": {"a": X, "b": (X, 1)}, "z": X}, {"y": {"a": X, "b": (X, 1)}, "z": X + 1})
    assert not ok
    assert [row["ok"] for row in rows] == [True, False]


def test_what_one_ulp_of_the_inputs_changes_explains_a_difference_of_roundings():
    noise = {"s": np.float64(3e-13)}
    assert not compare({"s": np.float64(-2e-13)}, noise)[0]
    ok, ulp, rows = compare(
        {"s": np.float64(-2e-13)}, noise, lambda: [{"s": np.float64(1e-13)}, {"s": np.float64(3e-13)}]
    )
    assert ok and ulp == pytest.approx(2.5) and rows[0]["max_ulp"] == ulp
    assert not compare({"s": np.float64(1e-6)}, noise, lambda: [{"s": np.float64(1e-13)}])[0]
    assert not compare({"s": np.float64(1.0)}, {"s": np.float64(2.0)}, lambda: [{"s": np.float64(2.0)}])[0]
    assert not compare({"s": np.float64(5.0)}, {"s": np.float64(2.0)}, lambda: [{"s": np.float64(1.0)}])[0]  # a floor


def test_nobody_runs_again_where_rounding_explains_it():
    def fails():
        raise AssertionError

    assert compare({"x": np.nextafter(X, 9)}, {"x": X}, fails)[0]
    assert not compare({"x": X}, {"x": X[1:]}, fails)[0]
