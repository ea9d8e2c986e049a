"""Sorting and sets of values. Sorts are library calls; what keeps distinct values has a shape that depends on data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import tracer as core
from .. import views
from . import creation, library, ufuncs
from .operands import (
    array,
    as_array,
    bind,
    cast,
    full,
    known,
    laid_out_like,
    normalize_axis_index,
    reshape_to,
    static_array,
)
from .promotion import FLOAT64, INT64, check_dtype, result_type

KINDS = {"q": "quicksort", "h": "heapsort", "m": "mergesort", "s": "stable"}


def _is_stable(kind: Any, stable: Any) -> bool:
    if kind is not None and stable is not None:
        raise ValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")
    if kind is None:
        return bool(stable)
    if str(kind)[:1].lower() not in KINDS:
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    return KINDS[str(kind)[:1].lower()] in ("mergesort", "stable")


def _flat_unless_axis(a: Any, axis: int | None) -> tuple[Any, int]:
    a = array(a)
    if axis is None:
        return reshape_to(a, (a.size,)), 0
    if a.ndim == 0:
        normalize_axis_index(axis, 0 if axis not in (0, -1) else 1)
    return a, normalize_axis_index(axis, max(a.ndim, 1))


def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None) -> Any:
    stable_sort = _is_stable(kind, stable)
    a = array(a)
    if a.ndim == 0 and axis is not None:
        normalize_axis_index(axis, a.ndim)
    a, axis = _flat_unless_axis(a, axis)
    (result,) = bind("sort", a, dimension=axis, is_stable=stable_sort, num_keys=1)
    return laid_out_like(result, a) if a.ndim > 1 else result


def sort_in_place(a: Any, axis: int = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None) -> None:
    """`a.sort()`."""
    views.write(a, sort(a, axis, kind, order, stable=stable))


def argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None) -> Any:
    name = "stable" if _is_stable(kind, stable) else None
    a, axis = _flat_unless_axis(a, axis)
    if a.ndim == 0:
        return bind("argsort", reshape_to(a, (1,)), axis=0, kind=name)
    return bind("argsort", a, axis=axis, kind=name)


def sort_complex(a: Any) -> Any:
    ordered = sort(a, -1)
    if ordered.dtype.kind == "c":
        return ordered
    small = ordered.dtype.char in "bhBH"  # as NumPy has it: float32 becomes complex128
    return cast(ordered, np.dtype(np.complex64 if small else np.complex128))


def _known_kth(kth: Any) -> int | tuple[int, ...]:
    positions = static_array(kth, "kth")
    return int(positions) if positions.ndim == 0 else tuple(int(k) for k in positions)


def partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Any:
    a, axis = _flat_unless_axis(a, axis)
    result = bind("partition", a, kth=_known_kth(kth), axis=axis) if a.size else core.as_array(bind("copy", a))
    return laid_out_like(result, a) if a.ndim > 1 else result


def partition_in_place(a: Any, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    """`a.partition()`."""
    views.write(a, partition(a, kth, axis))


def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Any:
    a, axis = _flat_unless_axis(a, axis)
    return bind("argpartition", a, kth=_known_kth(kth), axis=axis) if a.size else full(a.shape, np.int64(0))


def lexsort(keys: Sequence[Any], axis: int = -1) -> Any:
    rows = [array(k) for k in keys]
    if not rows:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    dtype = result_type(*rows)
    table = bind("concatenate", *(reshape_to(cast(r, dtype), (1, *r.shape)) for r in rows), dimension=0)
    return library.numpy_call("lexsort", table, axis=axis)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    a, v = array(a), array(v)
    dtype = check_dtype(np.result_type(a.dtype, v.dtype), "searchsorted")
    a, v = cast(a, dtype), cast(v, dtype)
    extra = () if sorter is None else (array(sorter),)
    if a.ndim != 1:
        raise ValueError("object too deep for desired array")
    return bind("searchsorted", a, v, *extra, side=side)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    x, bins = array(x), array(bins)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    numbers = known(bins)
    if numbers is None:
        return library.numpy_call("digitize", x, bins, right=bool(right))
    step = np.diff(numbers.astype(FLOAT64))
    if not ((step >= 0).all() or (step <= 0).all()):
        raise ValueError("bins must be monotonically increasing or decreasing")
    if (step <= 0).all() and not (step >= 0).all():
        found = searchsorted(creation.constant(numbers[::-1].copy()), x, "left" if right else "right")
        return ufuncs.call_ufunc(np.subtract, len(numbers), found)
    return searchsorted(bins, x, "left" if right else "right")


# ---- sets, where the shape is known ----


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    element = array(element)
    tests = array(test_elements)
    tests = reshape_to(tests, (tests.size,))
    settings = {"invert": bool(invert)} | ({"kind": kind} if kind is not None else {})
    return as_array(library.numpy_call("isin", element, tests, **settings))  # pyright: ignore[reportArgumentType]  # NumPy's stubs say less than NumPy does


def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> Any:
    return library.numpy_call("packbits", array(a), axis=axis, bitorder=bitorder)


def unpackbits(a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Any:
    return library.numpy_call("unpackbits", array(a), axis=axis, count=count, bitorder=bitorder)


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """Arithmetic on the indices, which are checked when the program runs only where they are known."""
    rows = [array(i) for i in (list(multi_index) if not isinstance(multi_index, tuple) else multi_index)]
    table = bind("concatenate", *(reshape_to(cast(r, INT64), (1, *r.shape)) for r in rows), dimension=0)
    dims = tuple(int(d) for d in static_array(dims, "dims").reshape(-1))
    modes = mode if isinstance(mode, tuple) else (mode,) * len(dims)
    if any(m == "raise" for m in modes):
        return _refused_ravel(tuple(multi_index), dims, mode, order)
    strides = np.cumprod((1, *dims[:0:-1]))[::-1] if order == "C" else np.cumprod((1, *dims[:-1]))
    total = None
    for i, (n, m, stride) in enumerate(zip(dims, modes, strides, strict=True)):
        row = bind("slice", table, start_indices=(i, *(0,) * (table.ndim - 1)), limit_indices=(i + 1, *table.shape[1:]),
                   strides=None)  # fmt: skip
        row = reshape_to(row, table.shape[1:])
        row = bind("mod", row, np.int64(n)) if m == "wrap" else bind("clamp", np.int64(0), row, np.int64(n - 1))
        term = bind("mul", row, np.int64(stride))
        total = term if total is None else bind("add", total, term)
    return total


_refused_ravel = library.refused(
    np.ravel_multi_index, "traced indices out of range must raise, which a kernel cannot",
    fix="mode='clip'", code="WB120",
)  # fmt: skip


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Quotients and remainders of the index."""
    index = cast(array(indices), INT64)
    dims = tuple(int(d) for d in static_array(shape, "shape").reshape(-1))
    found = []
    for n in dims[::-1] if order == "C" else dims:
        found.append(ufuncs.call_ufunc(np.remainder, index, n))
        index = ufuncs.call_ufunc(np.floor_divide, index, n)
    return tuple(found[::-1] if order == "C" else found)
