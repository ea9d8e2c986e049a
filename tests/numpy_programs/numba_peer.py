"""What numba makes of a program as it stands: `numba.njit` on it and on the functions that it calls."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from .outcomes import outcome
from .registry import NumpyProgram


def compiled_by_numba(
    program: NumpyProgram, arguments: tuple, expected: tuple
) -> tuple[Callable[..., Any] | None, str]:
    """The program in numba's nopython mode, called once, or None and why not. expected: NumPy's outcome of
    `arguments`; floats may differ as the program's `rtol` says, types where numba has no NumPy scalars."""
    function = _jitted(program.function, {})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            actual = outcome(function, copy.deepcopy(arguments))
    except TimeoutError:
        raise
    except Exception as error:
        return None, f"{type(error).__name__} in numba"
    if not (_near(actual[0], expected[0], program.rtol) and _near(actual[1], expected[1], program.rtol)):
        return None, "numba's values differ"
    return function, ""


def _jitted(function: FunctionType, done: dict[FunctionType, Any]) -> Any:
    """`function`, and the plain functions among its globals, which numba does not compile by itself."""
    import numba

    if function not in done:
        done[function] = None  # one that calls itself is left to numba
        names = {
            name: _jitted(value, done)
            for name in _names(function.__code__)
            if isinstance(value := function.__globals__.get(name), FunctionType) and value is not function
        }
        own = FunctionType(
            function.__code__, {**function.__globals__, **names}, function.__name__, function.__defaults__,
            function.__closure__,
        )  # fmt: skip
        done[function] = numba.njit(own)
    return done[function]


def _names(code: Any) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, type(code)))
    return {*code.co_names}.union(*map(_names, inner))


def _near(actual: Any, expected: Any, rtol: float) -> bool:
    if isinstance(expected, tuple | list):
        if not isinstance(actual, tuple | list) or len(actual) != len(expected):
            return False
        return all(_near(a, b, rtol) for a, b in zip(actual, expected, strict=True))
    a, b = np.asarray(actual), np.asarray(expected)
    if a.shape != b.shape:
        return False
    if b.dtype.kind not in "fc":
        return np.array_equal(a, b)
    scale = float(np.abs(b[np.isfinite(b)]).max(initial=0.0))
    return np.allclose(a, b, rtol=rtol, atol=rtol * scale, equal_nan=True)
