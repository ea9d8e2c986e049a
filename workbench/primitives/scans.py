"""Scans: folds along one axis that keep every prefix, or with `reverse` every suffix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..ir import Aval, Primitive
from .lowering import Reduction
from .reductions import highest, larger, lowest, smaller
from .signatures import ALL, NUMBERS, Dtypes, check_axes, check_dtype


def scanned_axis(params: Mapping[str, Any]) -> tuple[int, ...]:
    return (params["axis"],)


def accumulate(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    """A ufunc's accumulate in the operand's own dtype."""

    def impl(x: np.ndarray, *, axis: int, reverse: bool = False) -> np.ndarray:
        forward = np.flip(x, axis) if reverse else x
        out = ufunc.accumulate(forward, axis=axis, dtype=x.dtype)
        return np.array(np.flip(out, axis), order="C") if reverse else out

    return impl


def scanned(primitive: Primitive, dtypes: Dtypes) -> Callable[..., Aval]:
    """Abstract evaluation of a scan."""

    def abstract_eval(x: Aval, *, axis: int, reverse: bool = False) -> Aval:
        check_dtype(primitive.name, x, dtypes)
        check_axes(primitive.name, (axis,), x.ndim)
        return x

    return abstract_eval


# ---- cumsum ----
cumsum_p = Primitive("cumsum")
cumsum_p.def_impl(accumulate(np.add))
cumsum_p.def_abstract_eval(scanned(cumsum_p, NUMBERS))
cumsum_p.def_lowering(Reduction("cumsum", lambda ctx, acc, x: f"{acc} + {x}", lambda dtype: 0, scanned_axis))

# ---- cumprod ----
cumprod_p = Primitive("cumprod")
cumprod_p.def_impl(accumulate(np.multiply))
cumprod_p.def_abstract_eval(scanned(cumprod_p, NUMBERS))
cumprod_p.def_lowering(Reduction("cumprod", lambda ctx, acc, x: f"{acc} * {x}", lambda dtype: 1, scanned_axis))

# ---- cummax ----
cummax_p = Primitive("cummax")
cummax_p.def_impl(accumulate(np.maximum))
cummax_p.def_abstract_eval(scanned(cummax_p, ALL))
cummax_p.def_lowering(Reduction("cummax", larger, lowest, scanned_axis))

# ---- cummin ----
cummin_p = Primitive("cummin")
cummin_p.def_impl(accumulate(np.minimum))
cummin_p.def_abstract_eval(scanned(cummin_p, ALL))
cummin_p.def_lowering(Reduction("cummin", smaller, highest, scanned_axis))
