"""What a program's call gives and leaves in its arguments, and whether that is like NumPy's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


def outcome(function: Any, arguments: tuple) -> tuple[Any, tuple]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments), arguments


def assert_like(actual: Any, expected: Any, rtol: float, where: str) -> None:
    """The same structure, types, shapes and dtypes; integers equal, floats near."""
    if isinstance(expected, tuple | list):
        assert type(actual) is type(expected) and len(actual) == len(expected), where
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            assert_like(a, b, rtol, f"{where}[{i}]")
        return
    assert type(actual) is type(expected), f"{where}: {type(actual)}, not {type(expected)}"
    if hasattr(expected, "__dict__"):
        actual, expected = vars(actual), vars(expected)
    if isinstance(expected, dict):
        assert list(actual) == list(expected), where
        for key in expected:
            assert_like(actual[key], expected[key], rtol, f"{where}[{key!r}]")
        return
    a, b = np.asarray(actual), np.asarray(expected)
    assert a.dtype == b.dtype and a.shape == b.shape, f"{where}: {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
    if b.dtype.kind not in "fc":
        np.testing.assert_array_equal(a, b, err_msg=where)
        return
    finite = np.abs(b[np.isfinite(b)])
    scale = finite.max(initial=0.0)
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * float(scale), err_msg=where)
