"""Calls of other people's functions, compiled and in NumPy: what differs, and what each takes."""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import workbench as wb
from tests.compare import assert_close

from .calls import Call

RUNS = 5  # with new arguments each
TIMED_S = 0.4
RTOL = 1e-8


@dataclass(frozen=True, slots=True)
class Result:
    """difference: "" where all runs gave what NumPy gives; None for a function that gives another thing each time.
    reasons: why it runs in NumPy, or in parts; ours_s, numpy_s: medians of calls with the same arguments."""

    difference: str | None
    ours_s: float = 0.0
    numpy_s: float = 0.0
    reasons: tuple[str, ...] = ()


def replay(call: Call, n_elements: int = 0, timed_s: float = TIMED_S) -> Result | None:
    """timed_s: for each contestant; n_elements: arrays are repeated along their first axis until there are so many, floats become such arrays; None
    where that is no call of the function."""
    function = call.function()
    ours = wb.jit(function)

    def run(f: Callable[..., Any]) -> tuple[Any, type | None, Any, str]:
        """The result, the type of an error, the arguments afterwards, and what was printed."""
        args, kwargs = _grown(call.arguments(), n_elements)
        np.random.seed(0)
        printed = io.StringIO()
        with _quietly(printed):
            try:
                result, error = f(*args, **kwargs), None
            except Exception as raised:
                result, error = None, type(raised)
        return result, error, (args, kwargs), printed.getvalue()

    expected = run(function)
    if n_elements and expected[1] is not None:
        return None
    if _difference(run(function), expected):
        return Result(None)
    for _ in range(RUNS):
        difference = _difference(run(ours), expected)
        if difference:
            return Result(difference)
    args, kwargs = _grown(call.arguments(), n_elements)
    times: dict[Any, list[float]] = {ours: [], function: []}
    end = time.monotonic() + 2 * timed_s
    with _quietly(io.StringIO()):
        while time.monotonic() < end:
            for f, taken in times.items():
                begin = time.perf_counter()
                with contextlib.suppress(Exception):
                    f(*args, **kwargs)
                taken.append(time.perf_counter() - begin)
    reasons = tuple(str(reason).partition("\n")[0] for reason in ours.fallbacks)
    late = {f: float(np.median(taken[len(taken) // 2 :])) if taken else 0.0 for f, taken in times.items()}
    return Result("", late[ours], late[function], reasons)


@contextlib.contextmanager
def _quietly(printed: io.StringIO) -> Any:
    with contextlib.redirect_stdout(printed), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _grown(given: Any, n: int) -> Any:
    """The arguments with `n` elements in each array."""
    if not n:
        return given
    (args, kwargs) = given
    sizes = {x.shape[0] for x in _arrays((args, kwargs))}
    if not sizes:
        spread = np.linspace(0, 1e-3, n)
        return tuple(x + spread if isinstance(x, float) else x for x in args), kwargs
    if len(sizes) > 1:
        return given
    times = max(1, n // max(x.size for x in _arrays((args, kwargs))))
    return _repeated(args, times), {key: _repeated(value, times) for key, value in kwargs.items()}


def _arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value] if value.ndim and value.size else []
    parts = value.values() if type(value) is dict else value if type(value) in (tuple, list) else ()
    return [array for part in parts for array in _arrays(part)]


def _repeated(value: Any, times: int) -> Any:
    if isinstance(value, np.ndarray) and value.ndim:
        return np.repeat(value, times, axis=0)
    return type(value)(_repeated(x, times) for x in value) if type(value) in (tuple, list) else value


def _difference(result: Any, expected: Any) -> str:
    """Where the two differ by more than rounding, and how; "" if they do not."""
    try:
        assert_close(result, expected, "", rtol=RTOL)
    except AssertionError as error:
        return " ".join(str(error).split())
    return ""
