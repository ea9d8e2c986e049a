"""From a ufunc and the name of a method to what does it: what `Tracer.__array_ufunc__` calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.avals import Aval
from . import contractions, library, picking, reductions
from .operands import array, ndim_of, normalize_axis_index, unsupported
from .ufuncs import IGNORED_KEYWORDS, call_ufunc, normalize_out, store

GUFUNCS = {
    np.matmul: contractions.matmul,
    np.vecdot: contractions.vecdot,
    np.matvec: contractions.matvec,
    np.vecmat: contractions.vecmat,
}


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """`ufunc(*inputs, **kwargs)` or one of its methods; what `Tracer.__array_ufunc__` calls."""
    if method == "__call__":
        if ufunc in GUFUNCS:
            return call_gufunc(ufunc, inputs, kwargs)
        return call_ufunc(ufunc, *inputs, **kwargs)
    if method == "reduce":
        return reductions.reduce_ufunc(ufunc, *inputs, **kwargs)
    if method == "accumulate":
        return reductions.accumulate_ufunc(ufunc, *inputs, **kwargs)
    if method == "outer":
        return outer(ufunc, *inputs, **kwargs)
    if method == "at":
        return picking.ufunc_at(ufunc, *inputs, **kwargs)
    if method == "reduceat":
        return reduceat(ufunc, *inputs, **kwargs)
    raise unsupported(f"{ufunc.__name__}.{method} cannot be compiled")


def call_gufunc(ufunc: np.ufunc, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A ufunc with core dimensions; a third operand is `out`."""
    kwargs = {name: value for name, value in kwargs.items() if name not in IGNORED_KEYWORDS}
    out = kwargs.pop("out", None)
    if len(inputs) > ufunc.nin:
        inputs, out = inputs[: ufunc.nin], inputs[ufunc.nin :]
    return GUFUNCS[ufunc](*inputs, out=normalize_out(out, 1), **kwargs)


def outer(ufunc: np.ufunc, a: Any, b: Any, **kwargs: Any) -> Any:
    """`ufunc.outer`: every element of `a` with every element of `b`."""
    if ufunc.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    a, b = array(a), array(b)  # Python's numbers, too: none is weak here
    if ndim_of(a) and ndim_of(b):
        a = a[(..., *(None,) * ndim_of(b))]  # a view, whose layout the result takes over
    return call_ufunc(ufunc, a, b, **kwargs)


def reduceat(ufunc: np.ufunc, x: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """`ufunc.reduceat`, run by NumPy between kernels."""
    x, indices = array(x), array(indices)
    kwargs: dict[str, Any] = {} if dtype is None else {"dtype": np.dtype(dtype)}
    probe = ufunc.reduceat(np.ones(1, x.dtype), [0], **kwargs)
    axis = normalize_axis_index(axis, x.ndim)
    shape = (*x.shape[:axis], indices.size, *x.shape[axis + 1 :])
    aval = Aval(shape, probe.dtype)
    result = library.numpy_call(f"{ufunc.__name__}.reduceat", x, indices, avals=[aval], axis=axis, **kwargs)
    (target,) = normalize_out(out, 1)
    return result if target is None else store(result, target, True, "same_kind", ufunc.__name__, result.shape)
