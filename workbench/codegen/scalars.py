"""Scalar expressions: typed literals, calls of scalar functions, casts. The `ScalarContext` that lowering rules see."""

from __future__ import annotations

import cmath
import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ..ir import short_dtype_name

BOOL = np.dtype(bool)


def literal(value: Any, dtype: np.dtype) -> str:
    """`value` as numba source of exactly `dtype`."""
    value = dtype.type(value).item()
    if dtype == BOOL:
        return str(bool(value))
    if dtype.kind in "iu":
        return str(value) if dtype == np.int64 and value != -(2**63) else f"np.{dtype.name}({value})"
    if dtype.kind == "f":
        return _float(value) if dtype == np.float64 else f"np.{dtype.name}({_float(value)})"
    if dtype.kind == "c":
        text = f"complex({_float(value.real)}, {_float(value.imag)})"
        return text if dtype == np.complex128 else f"np.complex64({text})"
    raise TypeError(f"no literal of dtype {dtype}")


def _float(value: float) -> str:
    if math.isnan(value):
        return "np.nan"
    if cmath.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def settle(expr: str, dtype: np.dtype) -> str:
    """`expr`, an operation on operands of one dtype, brought back to `dtype` where numba widens (small integers)."""
    if dtype == BOOL:
        return f"bool({expr})"
    if dtype.kind in "iu" and dtype != np.int64:
        return f"np.{dtype.name}({expr})"
    return expr


class PointwiseContext:
    """What a pointwise rule sees. `called` collects the scalar functions that its expressions name; constants: the
    values of the operands that are literals, by their text; shared: operands that are one number for an array;
    selects: choices are calls, which numba compiles as one instruction, and not branches."""

    def __init__(
        self, dtype: np.dtype, in_dtypes: tuple[np.dtype, ...], params: Mapping[str, Any], called: dict,
        constants: Mapping[str, Any] | None = None, shared: Collection[str] = (), *, selects: bool = False,
    ):  # fmt: skip
        self._selects = selects
        self._constants = constants or {}
        self._shared = shared
        self.dtype = dtype
        self.in_dtypes = in_dtypes
        self.params = params
        self._called = called

    def const(self, value: Any, dtype: np.dtype | None = None) -> str:
        return literal(value, self.dtype if dtype is None else np.dtype(dtype))

    def constant(self, expr: str) -> Any:
        return self._constants.get(expr)

    def shared(self, expr: str) -> bool:
        return expr in self._shared

    def call(self, name: str, *args: str, dtype: np.dtype | None = None) -> str:
        if dtype is None:
            dtype = self.in_dtypes[0] if self.in_dtypes else self.dtype
        return call(self._called, name, np.dtype(dtype), *args)

    def choose(self, condition: str, then: str, otherwise: str) -> str:
        if self._selects:
            return self.call("select", condition, then, otherwise, dtype=self.dtype)
        return f"({then} if {condition} else {otherwise})"

    def cast(self, expr: str, source: np.dtype, target: np.dtype) -> str:
        return cast(self._called, expr, np.dtype(source), np.dtype(target))


def call(called: dict, name: str, dtype: np.dtype, *args: str) -> str:
    from .scalar_math import scalar_function

    function = scalar_function(name, dtype)
    called[function.name] = function
    return f"{function.name}({', '.join(args)})"


def cast(called: dict, expr: str, source: np.dtype, target: np.dtype) -> str:
    from . import scalar_math

    text = scalar_math.cast(expr, source, target)
    for function in getattr(scalar_math, "cast_requires", lambda s, t: ())(source, target):
        called[function.name] = function
    return text


__all__ = ["PointwiseContext", "call", "cast", "literal", "settle", "short_dtype_name"]
