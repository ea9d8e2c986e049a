"""Sorting and searching. NaN sorts last and complex numbers lexicographically, as in NumPy."""

from __future__ import annotations

import math
from typing import Literal as Choice

import numpy as np

from ..ir import Aval, Primitive
from .lowering import LibraryCall
from .signatures import ALL, check_axes, check_dtype, check_same_dtype

INT64 = np.dtype(np.int64)


def _sort_flops(x: Aval, *_: Aval, **__: object) -> float:
    longest = max(x.shape, default=1)
    return x.size * max(math.log2(max(longest, 1)), 1.0)


# ---- sort: by the first num_keys operands; the others are carried along ----
sort_p = Primitive("sort", multiple_results=True)


@sort_p.def_impl
def sort_impl(*xs: np.ndarray, dimension: int, is_stable: bool = True, num_keys: int = 1) -> tuple[np.ndarray, ...]:
    if len(xs) == 1:
        return (np.sort(xs[0], axis=dimension, stable=is_stable),)
    order = np.lexsort(xs[:num_keys][::-1], axis=dimension)  # always stable; the last key is its first
    return tuple(np.take_along_axis(x, order, axis=dimension) for x in xs)


def sort_into(*xs: np.ndarray, dimension: int, is_stable: bool = True, num_keys: int = 1) -> tuple[np.ndarray, ...]:
    """The same, with the result of a single operand in its memory."""
    if len(xs) != 1:
        return sort_impl(*xs, dimension=dimension, is_stable=is_stable, num_keys=num_keys)
    xs[0].sort(axis=dimension, stable=is_stable)
    return xs


@sort_p.def_abstract_eval
def sort_aval(*xs: Aval, dimension: int, is_stable: bool = True, num_keys: int = 1) -> tuple[Aval, ...]:
    if not 1 <= num_keys <= len(xs):
        raise ValueError(f"sort: {num_keys} keys of {len(xs)} operands")
    for x in xs:
        check_dtype("sort", x, ALL)
        if x.shape != xs[0].shape:
            raise TypeError(f"sort: shapes {xs[0].shape} and {x.shape} differ")
    check_axes("sort", (dimension,), xs[0].ndim)
    return xs


sort_p.def_lowering(LibraryCall(sort_impl, library="NumPy", in_place=sort_into, flops=_sort_flops))

# ---- argsort: `kind` as NumPy's, or None ----
argsort_p = Primitive("argsort")
argsort_p.def_impl(lambda x, *, axis, kind=None: np.argsort(x, axis=axis, kind=kind))


@argsort_p.def_abstract_eval
def argsort_aval(x: Aval, *, axis: int, kind: str | None = None) -> Aval:
    check_dtype("argsort", x, ALL)
    check_axes("argsort", (axis,), x.ndim)
    return Aval(x.shape, INT64)


argsort_p.def_lowering(LibraryCall(argsort_p.impl, library="NumPy", flops=_sort_flops))


# ---- partition, argpartition: `kth` is one position or several ----
def _check_kth(name: str, x: Aval, kth: int | tuple[int, ...], axis: int) -> None:
    check_dtype(name, x, ALL)
    check_axes(name, (axis,), x.ndim)
    for position in kth if isinstance(kth, tuple) else (kth,):
        if not -x.shape[axis] <= position < max(x.shape[axis], 1):
            raise ValueError(f"kth(={position}) out of bounds ({x.shape[axis]})")


partition_p = Primitive("partition")
partition_p.def_impl(lambda x, *, kth, axis: np.partition(x, kth, axis=axis))


@partition_p.def_abstract_eval
def partition_aval(x: Aval, *, kth: int | tuple[int, ...], axis: int) -> Aval:
    _check_kth("partition", x, kth, axis)
    return x


partition_p.def_lowering(LibraryCall(partition_p.impl, library="NumPy"))

argpartition_p = Primitive("argpartition")
argpartition_p.def_impl(lambda x, *, kth, axis: np.argpartition(x, kth, axis=axis))


@argpartition_p.def_abstract_eval
def argpartition_aval(x: Aval, *, kth: int | tuple[int, ...], axis: int) -> Aval:
    _check_kth("argpartition", x, kth, axis)
    return Aval(x.shape, INT64)


argpartition_p.def_lowering(LibraryCall(argpartition_p.impl, library="NumPy"))

# ---- searchsorted: a is sorted, or `sorter` sorts it ----
searchsorted_p = Primitive("searchsorted")
Side = Choice["left", "right"]


@searchsorted_p.def_impl
def searchsorted_impl(a: np.ndarray, v: np.ndarray, *sorter: np.ndarray, side: Side = "left") -> np.ndarray:
    return np.asarray(np.searchsorted(a, v, side, *sorter), INT64)


@searchsorted_p.def_abstract_eval
def searchsorted_aval(a: Aval, v: Aval, *sorter: Aval, side: Side = "left") -> Aval:
    check_same_dtype("searchsorted", (a, v))
    if side not in ("left", "right"):
        raise ValueError(f"side must be one of 'left' or 'right' (got {side!r})")
    if a.ndim != 1 or len(sorter) > 1 or any(s.shape != a.shape or s.dtype.kind not in "iu" for s in sorter):
        raise ValueError(f"searchsorted: takes a sorted vector and at most one sorter of its length, got {a}")
    return Aval(v.shape, INT64)


searchsorted_p.def_lowering(LibraryCall(searchsorted_impl, library="NumPy"))
