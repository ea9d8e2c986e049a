"""`np.unique(x)` before it is needed: the sorted elements, of which a mask picks the first of each kind.

As for `x[mask]`, what counts them, reduces them or computes with them needs no array of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import library, ufuncs
from .masked import Selection
from .operands import array, bind, is_tracer, known, reshape_to
from .promotion import INT64
from .sorting import sort

WHY = "the number of distinct values, which is the shape of the result, depends on data"
_refused = library.refused(np.unique, WHY)
call = ufuncs.call_ufunc


def unique(
    ar: Any, return_index: Any = False, return_inverse: Any = False, return_counts: Any = False, axis: Any = None, *,
    equal_nan: Any = True, sorted: Any = True,  # noqa: A002  (NumPy's name)
) -> Any:  # fmt: skip
    settings = (return_index, return_inverse, return_counts, equal_nan, sorted)
    is_known = not is_tracer(ar) or known(ar) is not None
    if is_known or any(map(is_tracer, settings)) or return_index or return_inverse or axis is not None:
        extra = {} if sorted is True else {"sorted": sorted}  # which NumPy 2.3 has brought
        return _refused(ar, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan, **extra)
    x = array(ar)
    if x.size == 0 or x.dtype.kind == "c":
        return _refused(ar, return_counts=return_counts, equal_nan=equal_nan)
    n = x.size
    ordered = sort(reshape_to(x, (n,)))
    before, after = ordered[:-1], ordered[1:]
    differs = call(np.not_equal, before, after)
    if x.dtype.kind == "f" and equal_nan:
        differs = call(np.logical_and, differs, call(np.logical_not, call(np.isnan, before)))
    first = np.concatenate([np.ones(1, bool), differs])
    values = Selection(ordered, first, 0)
    values.what = "an array of the distinct values"
    if not return_counts:
        return values
    places: Any = bind("iota", dtype=INT64, shape=(n,), dimension=0)
    firsts = np.where(first, places, np.int64(n))
    following = np.concatenate([np.minimum.accumulate(firsts[::-1])[::-1][1:], np.full(1, n)])
    counts = Selection(following - places, first, 0, origin=values.origin)
    counts.what = "an array of how often there is each value"
    return values, counts
