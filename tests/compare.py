"""Comparing results with NumPy's, within what the numerical promise allows.

Dtypes, shapes and the places of NaN are equal always. Arithmetic, casts, comparisons and movement give the same bits,
signed zeros included; elementary functions stay within some units in the last place; a sum may differ by rounding, in
proportion to what was summed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import workbench as wb

MOST_DEEP = 8  # objects within objects that are compared
SUM_EPSILONS = 32  # roundings of the summed magnitude that two correct orders of summation may differ by


def assert_same(
    result: Any, expected: Any, *, max_ulp: float = 0, reduction_scale: Any = None, where: str = "result"
) -> None:
    """Raise AssertionError unless `result` is what NumPy gave.

    max_ulp: how many units in the last place the elements of floats and complexes may differ; 0 asks for equal bits.
    reduction_scale: the magnitude of what was summed (a number, or an array that broadcasts), if anything was.
    """
    if isinstance(expected, Mapping):
        assert isinstance(result, Mapping) and list(result) == list(expected), f"{where}: {result!r}, not {expected!r}"
        for key in expected:
            assert_same(result[key], expected[key], max_ulp=max_ulp, reduction_scale=reduction_scale,
                        where=f"{where}[{key!r}]")  # fmt: skip
        return
    if isinstance(expected, list | tuple):
        assert type(result) is type(expected), f"{where}: a {type(result).__name__}, not a {type(expected).__name__}"
        assert len(result) == len(expected), f"{where}: {len(result)} parts, not {len(expected)}"
        for i, (a, b) in enumerate(zip(result, expected, strict=True)):
            assert_same(a, b, max_ulp=max_ulp, reduction_scale=reduction_scale, where=f"{where}[{i}]")
        return
    if not isinstance(expected, np.ndarray | np.generic | bool | int | float | complex):
        assert type(result) is type(expected) and result == expected, f"{where}: {result!r}, not {expected!r}"
        return
    assert type(result) is type(expected), f"{where}: a {type(result).__name__}, not a {type(expected).__name__}"
    a, b = np.asarray(result), np.asarray(expected)
    assert a.dtype == b.dtype, f"{where}: dtype {a.dtype}, not {b.dtype}"
    assert a.shape == b.shape, f"{where}: shape {a.shape}, not {b.shape}"
    if a.dtype.kind == "c":
        # A quotient of complex numbers is as good as its length: parts are compared on the scale of the whole.
        scale = np.abs(b) if max_ulp else None
        _assert_same_floats(a.real, b.real, max_ulp, reduction_scale, f"{where}.real", scale)
        _assert_same_floats(a.imag, b.imag, max_ulp, reduction_scale, f"{where}.imag", scale)
    elif a.dtype.kind == "f":
        _assert_same_floats(a, b, max_ulp, reduction_scale, where, None)
    else:
        _fail_where(a != b, a, b, where)


def with_arguments(function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
    """What a call gives, part by part, and its arguments as it leaves them."""
    with np.errstate(all="ignore"):
        results = function(*arguments)
    return [*(results if isinstance(results, tuple) else (results,)), *arguments]


def check_compiled(program: Callable[..., Any], arguments: Sequence[np.ndarray]) -> Any:
    """What `program` is compiled to, which gives NumPy's bits and leaves its arguments as NumPy does."""
    expected = with_arguments(program, [a.copy(order="K") for a in arguments])
    compiled = wb.jit(program)
    assert_same(with_arguments(compiled, [a.copy(order="K") for a in arguments]), expected)
    return compiled.compilations[-1]


def _assert_same_floats(
    a: np.ndarray, b: np.ndarray, max_ulp: float, reduction_scale: Any, where: str, scale: np.ndarray | None
) -> None:
    _fail_where(np.isnan(a) != np.isnan(b), a, b, where)
    exact = max_ulp == 0 and reduction_scale is None
    if exact:
        _fail_where((a != b) & ~np.isnan(b), a, b, where)
        _fail_where((np.signbit(a) != np.signbit(b)) & ~np.isnan(b), a, b, where)
        return
    eps = np.finfo(b.dtype).eps
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(b if scale is None else np.maximum(scale, np.abs(b))).astype(b.dtype))
        allowed = max_ulp * unit.astype(np.float64)
        if reduction_scale is not None:
            allowed = allowed + SUM_EPSILONS * eps * np.abs(np.asarray(reduction_scale, np.float64))
        difference = np.abs(a.astype(np.float64) - b.astype(np.float64))
        finite = np.isfinite(b)
        overflow = finite & ~np.isfinite(a)
        wrong = np.where(finite & ~overflow, difference > allowed, (a != b) & ~np.isnan(b))
    _fail_where(wrong, a, b, where)


def _fail_where(wrong: np.ndarray, a: np.ndarray, b: np.ndarray, where: str) -> None:
    if np.any(wrong):
        places = np.argwhere(np.asarray(wrong))
        first = tuple(int(i) for i in places[0])
        at = f" at {list(first)}" if first else ""
        raise AssertionError(f"{where}{at}: {a[first]!r}, not {b[first]!r} ({len(places)} of {b.size} elements differ)")


def assert_close(
    result: Any, expected: Any, where: str = "result", *, rtol: float, atol: float | None = None, depth: int = 0
) -> None:
    """Raise AssertionError unless all numbers in `result`, which may be objects, are close to those of `expected`, and of
    the same types: for whole programs, of which no bound is known.

    atol: by default, a hundredth of `rtol` of the largest finite magnitude of each array. Functions and classes are not
    compared, nor what lies very deep: objects may hold each other.
    """
    assert type(result).__qualname__ == type(expected).__qualname__, f"{where}: {type(result)}, not {type(expected)}"
    close = {"rtol": rtol, "atol": atol, "depth": depth + 1}
    match expected:
        case _ if depth > MOST_DEEP or callable(expected):
            pass
        case np.ndarray() | np.inexact() | float() | complex():
            a, b = np.asarray(result), np.asarray(expected)
            assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{where}: {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
            if b.dtype.kind in "fc":
                finite = np.abs(b[np.isfinite(b)])
                least = rtol * 1e-2 * float(finite.max(initial=0)) if atol is None else atol
                np.testing.assert_allclose(a, b, rtol, least, err_msg=where)
            else:
                np.testing.assert_array_equal(a, b, err_msg=where)
        case list() | tuple():
            assert len(result) == len(expected), f"{where}: {len(result)} parts, not {len(expected)}"
            for k, (x, y) in enumerate(zip(result, expected, strict=True)):
                assert_close(x, y, f"{where}[{k}]", **close)
        case dict():
            assert [*result] == [*expected], f"{where}: keys {[*result]}, not {[*expected]}"
            for key in expected:
                assert_close(result[key], expected[key], f"{where}[{key!r}]", **close)
        case _ if hasattr(expected, "__dict__") and not isinstance(expected, np.generic):
            assert_close(vars(result), vars(expected), where, **close)
        case _:
            assert result == expected, f"{where}: {result!r}, not {expected!r}"
