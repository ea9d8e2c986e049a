"""Arrays that lie on a GPU: how they are told from other objects, and the type by which they are traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir import Aval


def is_device_result(value: Any) -> bool:
    """Whether a value is a result that a program left on a GPU; its class says so, since rooms above do not know it."""
    return any(vars(kind).get("is_device_result", False) for kind in type(value).__mro__)


def cuda_interface(value: Any) -> dict[str, Any] | None:
    """`value.__cuda_array_interface__`, if it or its class has one: objects that make up attributes are not asked."""
    name = "__cuda_array_interface__"
    if not any(name in vars(kind) for kind in type(value).__mro__):
        try:
            return object.__getattribute__(value, "__dict__").get(name)
        except AttributeError:
            return None
    return getattr(value, name, None)


def device_aval(value: Any) -> Aval | None:
    """The type of an array of a GPU (CuPy's, PyTorch's, Numba's, a result that is still there); None of anything else.

    Objects of classes with a true `is_device_result` have `shape` and `dtype`; others have `__cuda_array_interface__`.
    """
    if isinstance(value, np.ndarray | np.generic):
        return None
    if is_device_result(value):
        return Aval(value.shape, value.dtype)
    interface = cuda_interface(value)
    return None if interface is None else Aval(tuple(interface["shape"]), np.dtype(interface["typestr"]))
