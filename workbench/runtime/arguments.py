"""Arguments: what a specialisation is keyed on, and how values become the arrays that kernels take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..frontend.device_arrays import cuda_interface, device_aval, is_device_result
from ..ir import Aval

# Bits of `ndarray.flags.num`, which is one look-up where the named flags are two each.
C_CONTIGUOUS = 0x1
ALIGNED = 0x100
WRITEABLE = 0x400
STATIC_TYPES = frozenset({bool, int, str, bytes, type(None)})


def array_key(value: np.ndarray) -> tuple:
    """What a specialisation depends on in an array: dtype, shape, and the strides unless it is C-contiguous (which of
    its reshapes are views depends on them); of subclasses also the class."""
    key = (value.dtype, value.shape, value.flags.c_contiguous or value.strides)
    return key if type(value) is np.ndarray else (*key, type(value))


def input_key(value: Any) -> tuple:
    """The key of a program's input: an array, here or on a GPU, or a scalar, whose type is all that matters."""
    if isinstance(value, np.ndarray):
        return array_key(value)
    if type(value) is int and value.bit_length() > 62:  # from which a few small steps may lead past 64 bits
        return (int, ("long",))
    aval = device_aval(value)
    return (type(value), ()) if aval is None else (aval.dtype, aval.shape, "device")


def describe_key(key: tuple) -> str:
    """`f64[3,4]`, for the message that says what changed."""
    return str(Aval(key[1], key[0])) if isinstance(key[0], np.dtype) else key[0].__name__


def overlapping(inputs: Sequence[Any], written: Iterable[int]) -> tuple[int, int] | None:
    """A written input and another one that may share its memory: a program that does not know would read old values."""
    for i in written:
        for k, other in enumerate(inputs):
            if k == i:
                continue
            if isinstance(inputs[i], np.ndarray) and isinstance(other, np.ndarray):
                shared = np.may_share_memory(inputs[i], other)
            else:
                mine, others = _device_memory(inputs[i]), _device_memory(other)
                shared = mine is not None and others is not None and mine[0] < others[1] and others[0] < mine[1]
            if shared:
                return i, k
    return None


def _device_memory(value: Any) -> tuple[int, int] | None:
    """The addresses from which to which an array of a GPU reaches; None of anything else."""
    interface = cuda_interface(value)
    if interface is None or isinstance(value, np.ndarray | np.generic):
        return None
    shape, itemsize = interface["shape"], np.dtype(interface["typestr"]).itemsize
    strides, low = interface.get("strides"), interface["data"][0]
    if 0 in shape:
        return low, low
    if strides is None:
        return low, low + itemsize * math.prod(shape)
    steps = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    return low + sum(s for s in steps if s < 0), low + sum(s for s in steps if s > 0) + itemsize


def is_writeable(value: Any) -> bool:
    """Whether the memory of an array, here or on a GPU, may be written."""
    if isinstance(value, np.ndarray):
        return value.flags.writeable
    if is_device_result(value):
        return True
    interface = cuda_interface(value)
    return interface is not None and not interface["data"][1]


def layout_of(value: Any) -> str:
    """ "C" or "A", the numba layout of a leaf."""
    return "C" if not isinstance(value, np.ndarray) or value.flags.c_contiguous else "A"


def as_array(value: Any) -> np.ndarray:
    """A leaf as an aligned ndarray in native byte order, without a copy where it is one."""
    if type(value) is np.ndarray:
        return value if value.flags.aligned else value.copy()
    return np.asarray(value)
