"""Arguments: what a specialisation is keyed on, and how values become the arrays that kernels take."""

from __future__ import annotations

from typing import Any

import numpy as np

STATIC_TYPES = frozenset({bool, int, str, bytes, type(None)})


def array_key(value: np.ndarray) -> tuple:
    """What machine code depends on in an array: dtype, shape, and whether it is C-contiguous."""
    return (value.dtype, value.shape, value.flags.c_contiguous)


def layout_of(value: Any) -> str:
    """ "C" or "A", the numba layout of a leaf."""
    return "C" if not isinstance(value, np.ndarray) or value.flags.c_contiguous else "A"


def as_array(value: Any) -> np.ndarray:
    """A leaf as an aligned ndarray in native byte order, without a copy where it is one."""
    if type(value) is np.ndarray:
        return value if value.flags.aligned else value.copy()
    return np.asarray(value)
