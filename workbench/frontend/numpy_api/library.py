"""Functions without a kernel of their own: run by NumPy between kernels, evaluated while tracing, or refused.

`between_kernels` wraps a pure NumPy function whose result's shape and dtype are known beforehand. `refused` says that
the shape of a result depends on data; where all operands are known while tracing, the function is simply run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...ir.avals import Aval
from ...primitives.numpy_call import numpy_result_avals
from .. import tracer as core
from .operands import array, bind, has_tracer, is_tracer, operand, unsupported
from .promotion import check_dtype

DATA_DEPENDENT = "WB110"


def numpy_call(name: str, *operands: Any, avals: Sequence[Aval] | None = None, **kwargs: Any) -> Any:
    """`np.<name>(*operands, **kwargs)` as a library step; one tracer, or a tuple of them.

    avals: of the results, where they are known; otherwise the function is run once on ones of the operands' shapes.
    """
    traced = [array(x) for x in operands]
    settings = tuple(sorted(kwargs.items()))
    found = tuple(avals) if avals is not None else _result_avals(name, tuple(x.aval for x in traced), settings)
    for aval in found:
        check_dtype(aval.dtype, name)
    results = bind("numpy_call", *traced, name=name, kwargs=settings, avals=found)
    return results if len(results) > 1 else results[0]


def _result_avals(name: str, avals: tuple[Aval, ...], settings: tuple) -> tuple[Aval, ...]:
    try:
        return _cached_result_avals(name, avals, settings)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        return numpy_result_avals(name, avals, settings)


@lru_cache(maxsize=512)
def _cached_result_avals(name: str, avals: tuple[Aval, ...], settings: tuple) -> tuple[Aval, ...]:
    return numpy_result_avals(name, avals, settings)


def between_kernels(function: Callable[..., Any], *traced: str, name: str = "") -> Callable[..., Any]:
    """`function` run by NumPy between kernels. `traced` names the parameters that are arrays; all others are settings
    that must be known. Array parameters after the first may be left out."""
    called = name or function.__name__
    signature = inspect.signature(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        operands, settings = [], {}
        for key, value in bound.arguments.items():
            default = signature.parameters[key].default
            if key in traced and value is not default:
                if len(operands) != traced.index(key):
                    raise unsupported(f"{called}: {key}= cannot be compiled without {traced[len(operands)]}=")
                operands.append(operand(value))
            elif value is not default:
                settings[key] = static_setting(value, f"{called}: {key}=")
        out = settings.pop("out", None)
        if out is not None:
            raise unsupported(f"{called}: out= cannot be compiled")
        return numpy_call(called, *operands, **settings)

    call.__name__ = function.__name__
    call.__doc__ = f"`{called}`, run by NumPy between kernels."
    return call


def static_setting(value: Any, what: str) -> Any:
    """A parameter that is no array of the program; a traced one is accepted where its value is known."""
    if not has_tracer(value):
        return value.tolist() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    known = core.known_value(value) if is_tracer(value) else None
    if known is None:
        raise unsupported(f"{what} must be known when the code is traced")
    return known.item() if known.ndim == 0 else known.tolist()


def refused(function: Callable[..., Any], why: str, *, fix: str = "", code: str = DATA_DEPENDENT) -> Callable[..., Any]:
    """`function`, which cannot be compiled because of `why`; run at once where its operands are known."""

    def call(*args: Any, **kwargs: Any) -> Any:
        known = _known_arguments((args, kwargs))
        if known is not None:
            return _lift_all(function(*known[0], **known[1]))
        raise unsupported(f"{function.__name__}: {why}", code=code, fixes=(fix,) if fix else ())

    call.__name__ = function.__name__
    call.reason = why  # type: ignore[attr-defined]
    return call


def _known_arguments(value: Any) -> Any:
    """`value` with every tracer in it replaced by its numbers; None if one of them is not known."""
    if is_tracer(value):
        return core.known_value(value)
    if isinstance(value, list | tuple):
        items = [_known_arguments(x) for x in value]
        if any(new is None and old is not None for new, old in zip(items, value, strict=True)):
            return None
        return type(value)(items)
    if isinstance(value, dict):
        items = {k: _known_arguments(v) for k, v in value.items()}
        return None if any(new is None and value[k] is not None for k, new in items.items()) else items
    return value


def _lift_all(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return core.lift(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_lift_all(x) for x in value))
    return type(value)(_lift_all(x) for x in value) if isinstance(value, list | tuple) else value
