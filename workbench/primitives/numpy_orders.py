"""NumPy's own routines for sorting, as functions of C: which of equal elements comes first is theirs to decide.

`np.argsort` of the default kind is not stable, and what it gives for equal elements depends on NumPy's version and on
the processor. Compiled code that calls the same routine gives the same. A descriptor's table has them
(`PyArray_ArrFuncs` of numpy/ndarraytypes.h: after 21 casts and 12 other functions, `sort` and `argsort` of each kind).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping

import numpy as np

_GET_TABLE = 365  # `PyDataType_GetArrFuncs` among NumPy's functions for C
_SORT, _ARGSORT = 33, 36  # of the default kind
DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")


@functools.cache
def order_routines() -> Mapping[np.dtype, tuple[int, int]]:
    """Of each dtype the addresses of `int sort(T *, intptr_t, void *)` and of `int argsort(T *, intptr_t *, intptr_t,
    void *)`, whose last argument numbers have no use for. Without those that do not do what NumPy does."""
    found = {}
    for dtype in map(np.dtype, DTYPES):
        try:
            table = _table(dtype)
        except (AttributeError, ImportError, ValueError):
            return {}
        if table and _is_numpys(dtype, table[_SORT], table[_ARGSORT]):
            found[dtype] = (table[_SORT], table[_ARGSORT])
    return found


def _table(dtype: np.dtype) -> ctypes.Array:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # NumPy's interface for C

    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    functions = ctypes.cast(pointer_of(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    table = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(functions[_GET_TABLE])(dtype)  # type: ignore[arg-type]
    return (ctypes.c_size_t * (_ARGSORT + 1)).from_address(table)


def _is_numpys(dtype: np.dtype, sort: int, argsort: int) -> bool:
    """Whether these do what `np.sort` and `np.argsort` do, equal elements among others."""
    size, pointer = ctypes.c_ssize_t, ctypes.c_void_p
    values = np.resize(np.array([1, 0, 1, 1, 0, 0, 1], dtype), 300)
    places, ordered = np.arange(values.size), values.copy()
    ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer, size, pointer)(argsort)(
        values.ctypes.data, places.ctypes.data, values.size, None
    )
    ctypes.CFUNCTYPE(ctypes.c_int, pointer, size, pointer)(sort)(ordered.ctypes.data, ordered.size, None)
    return np.array_equal(places, np.argsort(values)) and np.array_equal(ordered, np.sort(values))
