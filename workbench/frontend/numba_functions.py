"""Functions that numba compiles, as traced code sees them: their Python source, with results as numba gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .builtin_calls import number
from .captures import _Lifted
from .tracer import PYTHONS, Tracer

if TYPE_CHECKING:
    from .captures import Lifter


class NumbaFunction(_Lifted):
    """Numbers that it returns to Python are Python's, those that it returns to another such function are not."""

    def __init__(self, lifter: Lifter, function: Callable[..., Any]):
        self._lifter = lifter
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        lifter = self._lifter
        lifter.n_in_numba += 1
        try:
            result = self._function(*args, **kwargs)
        finally:
            lifter.n_in_numba -= 1
        return result if lifter.n_in_numba else _handed_over(result)


def _handed_over(value: Any) -> Any:
    kind = type(value)
    if kind is tuple or kind is list:
        return kind(map(_handed_over, value))
    if isinstance(value, np.generic):
        return value.item()
    if kind is Tracer and value.scalar and not value.weak_type:
        return number(PYTHONS[value.dtype.kind], value)
    return value
