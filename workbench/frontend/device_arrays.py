"""Arrays that lie on a GPU: how they are told from other objects, and the type by which they are traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir import Aval


def is_device_result(value: Any) -> bool:
    """Whether a value is a result that a program left on a GPU; its class says so, since rooms above do not know it."""
    return getattr(type(value), "is_device_result", False)


def device_aval(value: Any) -> Aval | None:
    """The type of an array of a GPU (CuPy's, PyTorch's, Numba's, a result that is still there); None of anything else.

    Objects of classes with a true `is_device_result` have `shape` and `dtype`; others have `__cuda_array_interface__`.
    """
    if isinstance(value, np.ndarray | np.generic):
        return None
    if is_device_result(value):
        return Aval(value.shape, value.dtype)
    interface = getattr(value, "__cuda_array_interface__", None)
    return None if interface is None else Aval(tuple(interface["shape"]), np.dtype(interface["typestr"]))
