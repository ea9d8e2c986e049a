"""Running a function with NumPy and through its traced program (in the reference evaluator), and comparing both."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.compare import assert_same
from workbench.errors import TracingError
from workbench.frontend.trace import trace
from workbench.ir.checker import check_jaxpr
from workbench.ir.evaluate import eval_jaxpr


def fresh(x: Any) -> Any:
    """A copy with the same order of axes in memory."""
    return x.copy(order="K") if isinstance(x, np.ndarray) else x


def quietly(function: Callable[..., Any], *args: Any) -> tuple[Any, Exception | None]:
    """The result, or the exception; without warnings."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args), None
        except Exception as error:
            return None, error


def run_traced(function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)` by its program."""
    traced = trace(function, args, {})
    check_jaxpr(traced.jaxpr)
    inputs = [*traced.flatten(args, {}), *[c.read() for c in traced.captures]]
    inputs = [x if isinstance(x, np.ndarray) else np.asarray(x) for x in inputs]
    return traced.rebuild(eval_jaxpr(traced.jaxpr, *inputs), inputs)


def check(
    function: Callable[..., Any], *args: Any, max_ulp: float = 0, reduction_scale: Any = None,
    may_refuse: bool = False, types: bool = True,
) -> Any:  # fmt: skip
    """Assert that the traced program gives NumPy's result, or its exception, and leaves the arguments as NumPy does.

    may_refuse: whether a `TracingError` is accepted (the statement would run in NumPy).
    """
    ours, theirs = [fresh(x) for x in args], [fresh(x) for x in args]
    expected, expected_error = quietly(function, *theirs)
    result, error = quietly(run_traced, function, *ours)
    if isinstance(error, TracingError) and (may_refuse or _computes_in_float16(expected)):
        return None
    if expected_error is not None:
        assert error is not None, f"NumPy raises {expected_error!r}; the program gives {result!r}"
        builtin = next(c for c in type(expected_error).__mro__ if c.__module__ == "builtins")
        assert isinstance(error, builtin), f"NumPy raises {expected_error!r}; tracing raises {error!r}"
        return None
    if error is not None:
        raise error
    assert_same(result, expected, max_ulp=max_ulp, reduction_scale=reduction_scale)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert_same(a, b, max_ulp=max_ulp, reduction_scale=reduction_scale, where=f"argument {i}")
    return result


def _computes_in_float16(value: Any) -> bool:
    """NumPy's result for 8-bit operands is a half float now and then; those are not compiled."""
    if isinstance(value, tuple | list):
        return any(map(_computes_in_float16, value))
    return getattr(value, "dtype", None) == np.float16
