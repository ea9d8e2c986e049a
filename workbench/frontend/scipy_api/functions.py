"""Functions of SciPy in place of which traced code gets others that compute the same."""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from ..numpy_api import fft, linalg, movement, selection
from ..numpy_api.operands import array
from . import filters
from .calls import between_kernels


def _transform(name: str) -> Callable[..., Any]:
    """`scipy.fft.<name>`, which adds to NumPy's how it is to be run."""
    handler = getattr(fft, name)
    last_axes = (-2, -1) if name.endswith("2") else None

    def transform(x: Any, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: bool = False,
                  workers: Any = None, *, plan: Any = None) -> Any:  # fmt: skip
        return handler(x, n, axis, norm)

    def over_axes(x: Any, s: Any = None, axes: Any = last_axes, norm: Any = None, overwrite_x: bool = False,
                  workers: Any = None, *, plan: Any = None) -> Any:  # fmt: skip
        x = array(x)
        if s is not None and axes is None:
            axes = tuple(range(x.ndim - len(tuple(s)), x.ndim))
        return handler(x, s, axes, norm)

    return over_axes if name.endswith(("n", "2")) else transform


def argsreduce(cond: Any, *args: Any) -> list[Any]:
    """The elements of each where `cond` holds, flat; what has one element stays. SciPy takes another way to the same
    where `cond` holds everywhere, which is only known when the kernel runs."""
    shape = np.shape(cond)
    arrays = [movement.atleast_1d(array(x)) for x in args]
    return [x if x.size == 1 else selection.extract(cond, movement.broadcast_to(x, shape)) for x in arrays]


TRANSFORMS = (
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn",
    "irfftn",
)  # fmt: skip
STAND_INS: dict[tuple[str, str], Callable[..., Any]] = {
    ("scipy.stats._distn_infrastructure", "argsreduce"): argsreduce,
    **{("scipy.fft._basic", name): _transform(name) for name in TRANSFORMS},
    **filters.STAND_INS,
    # The array API's names for what NumPy has, in a module that has NumPy's code.
    ("scipy._lib.array_api_compat.numpy.linalg", "solve"): linalg.solve,
}


def stand_in(value: Any) -> Callable[..., Any] | None:
    """What traced code calls in place of `value`; None for what it calls itself."""
    kind = type(value)
    if kind not in (FunctionType, BuiltinFunctionType) and kind.__module__ != "uarray":  # which dispatches transforms
        return None
    module = value.__module__
    if not isinstance(module, str) or not module.startswith("scipy."):
        return None
    return STAND_INS.get((module, value.__name__)) or between_kernels(value)
