"""The libraries that NumPy calls: its BLAS, its LAPACK and the C library's mathematics, by address.

NumPy's wheels bring an OpenBLAS whose functions take 64-bit sizes; other builds may have none that can be told by name.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib import import_module

import numpy as np

_PREFIXES = ("scipy_cblas_", "cblas_")


@cache
def blas(name: str) -> int | None:
    """The address of a routine of CBLAS with 64-bit sizes, as NumPy calls it; None where it cannot be told."""
    full = f"{name}u_sub" if name in ("cdot", "zdot") else name
    try:
        library = ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
    except (ImportError, OSError, AttributeError):
        return None
    for prefix in _PREFIXES:
        found = getattr(library, f"{prefix}{full}64_", None)
        if found is not None:
            return ctypes.cast(found, ctypes.c_void_p).value
    return None


def gemm(dtype: np.dtype) -> int | None:
    """The address of the product of two matrices of real numbers; None where it cannot be told."""
    return blas("dgemm" if dtype == np.float64 else "sgemm")


@cache
def lapack(name: str) -> int | None:
    """The address of a routine of LAPACK with 64-bit integers, as `numpy.linalg` calls it; None where it cannot be
    told."""
    try:
        library = ctypes.CDLL(import_module("numpy.linalg._umath_linalg").__file__)
    except (ImportError, OSError, AttributeError):
        return None
    for full in (f"scipy_{name}_64_", f"{name}_64_"):
        found = getattr(library, full, None)
        if found is not None:
            return ctypes.cast(found, ctypes.c_void_p).value
    return None


@cache
def libm(name: str) -> int | None:
    """The address of a function of the C library's mathematics; None where there is none."""
    found = getattr(ctypes.CDLL(None), name, None) if os.name == "posix" else None
    return None if found is None else ctypes.cast(found, ctypes.c_void_p).value
