"""What every NumPy ufunc, function, method and index means in primitives: the tables that the tracer looks in.

UFUNCS: ufunc -> handler(method, *inputs, **kwargs); FUNCTIONS: what `__array_function__` dispatches; CREATION: what
makes arrays of nothing traced; METHODS, PROPERTIES: of ndarrays, by name; `indexing`: `x[key]` and its assignment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import indexing
from .broadcasting import broadcast, promote
from .concatenators import INDEX_OBJECTS, take_item
from .creation import CREATION
from .dispatch import GUFUNCS, apply_ufunc
from .functions import FUNCTIONS
from .methods import METHODS, PROPERTIES
from .ufuncs import rule_of

__all__ = [
    "CREATION", "FUNCTIONS", "INDEX_OBJECTS", "METHODS", "PROPERTIES", "UFUNCS", "broadcast", "indexing", "promote",
    "take_item", "ufunc_handler",
]  # fmt: skip


def _handler(ufunc: np.ufunc) -> Callable[..., Any]:
    def handle(method: str, *inputs: Any, **kwargs: Any) -> Any:
        return apply_ufunc(ufunc, method, inputs, kwargs)

    return handle


def ufunc_handler(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """What UFUNCS has for a ufunc; those of other packages come in when they are first called."""
    handler = UFUNCS.get(ufunc)
    if handler is None and rule_of(ufunc) is not None:
        handler = UFUNCS[ufunc] = _handler(ufunc)
    return handler


UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    value: _handler(value) for value in vars(np).values() if isinstance(value, np.ufunc)
} | {ufunc: _handler(ufunc) for ufunc in GUFUNCS}
