"""Functions that somebody else compiles, as traced code sees them: their Python source. Those of numba give results as
numba does."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from .builtin_calls import number
from .captures import _Lifted
from .tracer import PYTHONS, Tracer

if TYPE_CHECKING:
    from .captures import Lifter


_compiled: list[tuple[type, Callable[[Any], Any]]] = []


def register_compiled(kind: type, python: Callable[[Any], Any]) -> None:
    """Let instances of `kind` be functions that are compiled. python: gives the function of the user's that one is made
    of, None where it is more than that."""
    _compiled.append((kind, python))


def python_function(value: Any, lifter: Lifter | None = None) -> Any:
    """The Python function that a compiled function `value` is made of, with a `lifter` as traced code sees it; None for
    others."""
    if type(value) is NumbaFunction:
        return value._function
    function = None
    for kind, python in _compiled:
        if isinstance(value, kind):
            function = python(value)
    if is_numbas(value):
        function = value.py_func
    if type(function) is not FunctionType:
        return None
    return function if lifter is None else lifter.lift(function, function.__name__, lambda: function)


def is_prange(value: Any) -> bool:
    """Whether it is `numba.prange`, which is `range` to Python."""
    return isinstance(value, type) and (value.__module__, value.__name__) == ("numba.misc.special", "prange")


def is_numbas(value: Any) -> bool:
    """Whether numba compiles it, of a Python function."""
    if type(value) is NumbaFunction:
        return True
    return type(value).__module__.startswith("numba.") and type(getattr(value, "py_func", None)) is FunctionType


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
    if kind is Tracer:
        return number(PYTHONS[value.dtype.kind], value) if value.scalar and not value.weak_type else value
    return value.item() if isinstance(value, np.generic) else value
