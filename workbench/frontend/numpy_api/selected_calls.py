"""`np.median(x[mask])`, `np.polyfit(t[mask], y[mask], 1)`: functions of selections that NumPy runs between kernels, on
the elements themselves. What they give must have one shape however many there are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir import Aval
from ...primitives.numpy_call import numpy_result_avals
from . import library
from .masked import FUNCTIONS, Selection, find
from .operands import is_tracer, operand

_NUMBERS = (5, 7)  # how many elements there might be
NAMES = (
    "median", "percentile", "quantile", "nanmedian", "nanpercentile", "nanquantile", "average", "polyfit", "corrcoef",
    "cov", "interp", "histogram", "searchsorted", "trapezoid", "nanmax", "nanmin",
)  # fmt: skip


def _by_numpy(name: str) -> Callable[..., Any]:
    signature = inspect.signature(getattr(np, name))

    def call(*args: Any, **kwargs: Any) -> Any:
        model = find((*args, *kwargs.values()))
        assert model is not None
        bound = signature.bind(*args, **kwargs)
        bound.arguments.pop("overwrite_input", None)
        if bound.arguments.pop("out", None) is not None:
            raise model.error()
        parts, operands, settings = [], [], {}
        samples: list[list[Aval]] = [[] for _ in _NUMBERS]
        for key, value in bound.arguments.items():
            if type(value) is Selection:
                parts.append(f"{key}[{value.axis}]")
                operands += [value.array, value.mask]
                for n, sample in zip(_NUMBERS, samples, strict=True):
                    shape = (*value.array.shape[: value.axis], n, *value.rest)
                    sample += [Aval(shape, value.dtype), Aval((n,), np.dtype(bool))]
            elif is_tracer(value) or isinstance(value, np.ndarray) and value.ndim:
                parts.append(key)
                operands.append(operand(value))
                for sample in samples:
                    sample.append(Aval(operands[-1].shape, operands[-1].dtype))
            elif value is not signature.parameters[key].default:
                if find((value,)) is not None:
                    raise model.error()
                settings[key] = library.static_setting(value, f"{name}: {key}=")
        called = f"selected:{name}({', '.join(parts)})"
        avals, *others = (numpy_result_avals(called, tuple(sample), settings) for sample in samples)
        if any(other != avals for other in others):
            raise model.error()
        return library.numpy_call(called, *operands, avals=avals, **settings)

    return call


FUNCTIONS.update({getattr(np, name): _by_numpy(name) for name in NAMES})
