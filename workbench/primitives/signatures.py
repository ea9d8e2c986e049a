"""Signatures: the dtypes and shapes that pointwise primitives take, and the aval that comes out.

Operands of one equation have one dtype and one shape; rank-0 operands may meet ranked ones, as scalars do in NumPy.
The frontend converts and broadcasts before, so a mismatch here is a mistake in a program, and the message says which.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..ir import Aval, Primitive, short_dtype_name
from .lowering import ScalarContext

Dtypes = frozenset[np.dtype]

BOOL: Dtypes = frozenset({np.dtype(bool)})
SIGNED: Dtypes = frozenset(map(np.dtype, ("int8", "int16", "int32", "int64")))
UNSIGNED: Dtypes = frozenset(map(np.dtype, ("uint8", "uint16", "uint32", "uint64")))
FLOATS: Dtypes = frozenset(map(np.dtype, ("float32", "float64")))
COMPLEX: Dtypes = frozenset(map(np.dtype, ("complex64", "complex128")))
INTS = SIGNED | UNSIGNED
BITS = BOOL | INTS
REALS = INTS | FLOATS
INEXACT = FLOATS | COMPLEX
NUMBERS = REALS | COMPLEX
ALL = BOOL | NUMBERS

_ORDER = tuple(
    np.dtype(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float32", "float64", "complex64", "complex128",
    )
)  # fmt: skip

ResultDtype = Callable[[np.dtype], np.dtype]


def same(dtype: np.dtype) -> np.dtype:
    return dtype


def boolean(_: np.dtype) -> np.dtype:
    return np.dtype(bool)


def real_part(dtype: np.dtype) -> np.dtype:
    """The dtype of `x.real`: f32 for c64, f64 for c128, and a real dtype itself."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def complex_of(dtype: np.dtype) -> np.dtype:
    """The complex dtype whose parts are `dtype`."""
    return np.dtype(f"c{dtype.itemsize * 2}") if dtype.kind == "f" else dtype


def as_array(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """`function`, which gives an ndarray also for rank 0, where NumPy gives a scalar."""

    @wraps(function, assigned=("__name__", "__doc__"))
    def impl(*operands: Any, **params: Any) -> np.ndarray:
        return np.asarray(function(*operands, **params))

    return impl


def listing(dtypes: Dtypes) -> str:
    """The dtypes by their short names, in a fixed order, for messages."""
    return ", ".join(short_dtype_name(dtype) for dtype in _ORDER if dtype in dtypes)


def check_dtype(name: str, aval: Aval, dtypes: Dtypes) -> None:
    if aval.dtype not in dtypes:
        raise TypeError(f"{name}: no meaning for dtype {aval.dtype}; it takes {listing(dtypes)}")


def check_same_dtype(name: str, avals: tuple[Aval, ...]) -> np.dtype:
    """The one dtype of `avals`."""
    dtype = avals[0].dtype
    for aval in avals[1:]:
        if aval.dtype != dtype:
            raise TypeError(f"{name}: operands have dtypes {dtype} and {aval.dtype}; convert them to one dtype first")
    return dtype


def joint_shape(name: str, avals: tuple[Aval, ...]) -> tuple[int, ...]:
    """The one shape of all ranked operands, or () if every operand has rank 0."""
    ranked = [aval.shape for aval in avals if aval.ndim]
    for shape in ranked[1:]:
        if shape != ranked[0]:
            raise TypeError(f"{name}: shapes {ranked[0]} and {shape} differ; broadcast them first")
    return ranked[0] if ranked else ()


def check_axes(name: str, axes: tuple[int, ...], ndim: int) -> None:
    """`axes` are distinct axes of an array with `ndim` of them, counted from 0."""
    if any(not 0 <= axis < ndim for axis in axes):
        raise ValueError(f"{name}: axes {tuple(axes)} are not all within 0..{ndim - 1} of an array with {ndim} axes")
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: axes {tuple(axes)} name one axis twice")


def joint_aval(name: str, avals: tuple[Aval, ...], dtype: np.dtype) -> Aval:
    """A pointwise result: the joint shape; weak if every operand is weak (a bool and a count of bits never are)."""
    weak_type = dtype.kind not in "bu" and all(aval.weak_type for aval in avals)
    return Aval(joint_shape(name, avals), dtype, weak_type)


def unary(primitive: Primitive, dtypes: Dtypes, result: ResultDtype = same) -> Callable[[Aval], Aval]:
    """Abstract evaluation of a pointwise primitive of one operand."""

    def abstract_eval(x: Aval) -> Aval:
        check_dtype(primitive.name, x, dtypes)
        return joint_aval(primitive.name, (x,), result(x.dtype))

    return abstract_eval


def binary(primitive: Primitive, dtypes: Dtypes, result: ResultDtype = same) -> Callable[[Aval, Aval], Aval]:
    """Abstract evaluation of a pointwise primitive of two operands of one dtype."""

    def abstract_eval(x: Aval, y: Aval) -> Aval:
        check_dtype(primitive.name, x, dtypes)
        check_dtype(primitive.name, y, dtypes)
        return joint_aval(primitive.name, (x, y), result(check_same_dtype(primitive.name, (x, y))))

    return abstract_eval


WRAPPING = {"+": "add", "-": "sub", "*": "mul"}


def wrapping(ctx: ScalarContext, operator: str, x: str, y: str) -> str:
    """`x operator y`, which wraps where 64-bit integers overflow: numba promises LLVM that signed ones never do, and
    narrower ones are computed in 64 bits and cut."""
    if ctx.dtype == np.int64:
        return ctx.call(WRAPPING[operator], x, y, dtype=ctx.dtype)
    return f"{x} {operator} {y}"
