"""Abstract values: what tracing knows of an array before it has any numbers in it.

An `Aval` is a shape, a dtype and whether the dtype is weak. A Python scalar has a weak dtype, which gives way to the
dtype of the array it meets, as NumPy 2 promotes (NEP 50).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

SHORT_NAMES = {
    np.dtype(name): short
    for name, short in {
        "bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
        "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
        "float16": "f16", "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128",
    }.items()
}  # fmt: skip
DTYPES_BY_SHORT_NAME = {short: dtype for dtype, short in SHORT_NAMES.items()}


@dataclass(frozen=True, slots=True)
class Aval:
    """The abstract value of an array: `shape`, `dtype`, and whether the dtype came from a Python scalar."""

    shape: tuple[int, ...]
    dtype: np.dtype
    weak_type: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        """The type as a jaxpr prints it: `f32[3,4]`."""
        return f"{short_dtype_name(self.dtype)}[{','.join(map(str, self.shape))}]"


def short_dtype_name(dtype: np.dtype) -> str:
    return SHORT_NAMES.get(dtype) or str(dtype)


@cache
def supported_dtype(dtype: np.dtype) -> bool:
    """Whether arrays of `dtype` can be traced (native byte order; bool, integers, f32, f64, c64, c128)."""
    return dtype in SHORT_NAMES and dtype.isnative and dtype != np.float16


def aval_of(value: object) -> Aval:
    """The aval of an ndarray, a NumPy scalar or a Python scalar (weak)."""
    if isinstance(value, np.ndarray | np.generic):
        return Aval(tuple(value.shape), value.dtype)
    if isinstance(value, bool):
        return Aval((), np.dtype(bool))
    if isinstance(value, int):
        return Aval((), np.dtype(np.int64), weak_type=True)
    if isinstance(value, float):
        return Aval((), np.dtype(np.float64), weak_type=True)
    if isinstance(value, complex):
        return Aval((), np.dtype(np.complex128), weak_type=True)
    raise TypeError(f"no abstract value for {type(value).__name__}")
