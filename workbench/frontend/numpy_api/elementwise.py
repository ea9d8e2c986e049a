"""What each elementwise ufunc computes, in primitives: one rule per ufunc.

A rule gets operands that already have the dtypes of NumPy's loop and shapes that agree (rank-0 operands may meet
ranked ones), and the loop's result dtypes. It returns one array, or a tuple for `divmod`, `modf` and `frexp`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .library import numpy_call
from .operands import bind, cast, constant_like, dtype_of, full_like_operand, is_tracer, laid_out_like, unsupported
from .promotion import BOOL

RULES: dict[np.ufunc, Callable[..., Any]] = {}


def rule(*ufuncs: np.ufunc) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for ufunc in ufuncs:
            RULES[ufunc] = function
        return function

    return register


def _direct(name: str) -> Callable[..., Any]:
    def apply(*operands: Any, out: tuple[np.dtype, ...]) -> Any:
        return bind(name, *operands)

    return apply


# Ufuncs that are one primitive, whatever the dtype.
DIRECT = {
    np.exp: "exp", np.exp2: "exp2", np.expm1: "expm1", np.log: "log", np.log2: "log2", np.log10: "log10",
    np.log1p: "log1p", np.sqrt: "sqrt", np.cbrt: "cbrt", np.sin: "sin", np.cos: "cos", np.tan: "tan",
    np.arcsin: "asin", np.arccos: "acos", np.arctan: "atan", np.sinh: "sinh", np.cosh: "cosh", np.tanh: "tanh",
    np.arcsinh: "asinh", np.arccosh: "acosh", np.arctanh: "atanh", np.add: "add", np.subtract: "sub",
    np.divide: "div", np.arctan2: "atan2", np.hypot: "hypot", np.logaddexp: "logaddexp",
    np.logaddexp2: "logaddexp2", np.copysign: "copysign", np.nextafter: "nextafter", np.heaviside: "heaviside",
    np.ldexp: "ldexp", np.gcd: "gcd", np.lcm: "lcm", np.bitwise_and: "and", np.bitwise_or: "or",
    np.bitwise_xor: "xor", np.left_shift: "shift_left", np.spacing: "spacing", np.signbit: "signbit",
    np.bitwise_count: "population_count", np.invert: "not", np.negative: "neg", np.fabs: "abs",
}  # fmt: skip
RULES.update({ufunc: _direct(name) for ufunc, name in DIRECT.items()})


@rule(np.add)
def add_rule(x: Any, y: Any, *, out: tuple[np.dtype, ...]) -> Any:
    return bind("or" if out[0] == BOOL else "add", x, y)


@rule(np.multiply)
def multiply_rule(x: Any, y: Any, *, out: tuple[np.dtype, ...]) -> Any:
    return bind("and" if out[0] == BOOL else "mul", x, y)


@rule(np.absolute)
def absolute_rule(x: Any, *, out: tuple[np.dtype, ...]) -> Any:
    return bind("copy", x) if dtype_of(x).kind in "bu" else bind("abs", x)


@rule(np.positive)
def positive_rule(x: Any, *, out: tuple[np.dtype, ...]) -> Any:
    return bind("copy", x)


@rule(np.conjugate)
def conjugate_rule(x: Any, *, out: tuple[np.dtype, ...]) -> Any:
    return bind("conj", x) if out[0].kind == "c" else bind("copy", x)


@rule(np.sign)
def sign_rule(x: Any, *, out: tuple[np.dtype, ...]) -> Any:
    return bind("sign", x)


@rule(np.square)
def square_rule(x: Any, *, out: tuple[np.dtype, ...]) -> Any:
    return bind("square", x)


@rule(np.reciprocal)
def reciprocal_rule(x: Any, *, out: tuple[np.dtype, ...]) -> Any:
    return bind("reciprocal", x)


def _rounding(name: str) -> Callable[..., Any]:
    def apply(x: Any, *, out: tuple[np.dtype, ...]) -> Any:
        if out[0].kind in "biu":
            return bind("copy", x)
        if out[0].kind == "c":  # rint only: NumPy rounds the two parts
            return bind("complex", bind(name, bind("real", x)), bind(name, bind("imag", x)))
        return bind(name, x)

    return apply


RULES.update({u: _rounding(u.__name__) for u in (np.floor, np.ceil, np.trunc, np.rint)})


@rule(np.degrees, np.rad2deg)
def degrees_rule(x: Any, *, out: tuple[np.dtype, ...]) -> Any:
    return bind("mul", x, out[0].type(180.0) / out[0].type(math.pi))


@rule(np.radians, np.deg2rad)
def radians_rule(x: Any, *, out: tuple[np.dtype, ...]) -> Any:
    return bind("mul", x, out[0].type(math.pi) / out[0].type(180.0))


# ---- division ----


@rule(np.floor_divide)
def floor_divide_rule(x: Any, y: Any, *, out: tuple[np.dtype, ...]) -> Any:
    return bind("floor_divide", x, y)


@rule(np.remainder)
def remainder_rule(x: Any, y: Any, *, out: tuple[np.dtype, ...]) -> Any:
    return bind("mod", x, y)


@rule(np.fmod)
def fmod_rule(x: Any, y: Any, *, out: tuple[np.dtype, ...]) -> Any:
    return bind("rem", x, y)


@rule(np.divmod)
def divmod_rule(x: Any, y: Any, *, out: tuple[np.dtype, ...]) -> tuple[Any, Any]:
    return bind("floor_divide", x, y), bind("mod", x, y)


# ---- powers ----


@rule(np.power)
def power_rule(x: Any, y: Any, *, out: tuple[np.dtype, ...]) -> Any:
    if is_tracer(y) and out[0].kind == "i":
        result = numpy_call("power", x, y)  # which raises where an exponent is negative
        return laid_out_like(result, *(operand for operand in (x, y) if is_tracer(operand)))
    return bind("pow", x, y)


@rule(np.float_power)
def float_power_rule(x: Any, y: Any, *, out: tuple[np.dtype, ...]) -> Any:
    if is_tracer(y) and not y.shape and is_tracer(x) and x.shape and out[0].kind == "f":
        # np.power takes the square root for one exponent of 1/2, whose results for -0.0 and -inf are others.
        root = bind("eq", y, constant_like(y, 0.5))
        infinite = bind("eq", x, constant_like(x, -np.inf))
        x = bind("select_n", bind("and", infinite, root), x, constant_like(x, np.inf))
        x = bind("select_n", root, x, bind("add", x, constant_like(x, 0)))
    return bind("pow", x, y)


# ---- comparisons, extremes and logic ----


def _is_mixed_sign(x: Any, y: Any) -> bool:
    """NumPy compares int64 with uint64 by value, without converting either."""
    return {dtype_of(x).kind, dtype_of(y).kind} == {"i", "u"}


def _compare(name: str, x: Any, y: Any) -> Any:
    if not _is_mixed_sign(x, y):
        return bind(name, x, y)
    if dtype_of(x).kind == "u":
        flipped = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}[name]
        return _compare(flipped, y, x)
    negative = bind("lt", x, np.int64(0))
    same_sign = bind(name, cast(x, np.dtype(np.uint64)), y)
    if name in ("lt", "le", "ne"):
        return bind("or", negative, same_sign)
    return bind("and", bind("not", negative), same_sign)


def _comparison(name: str) -> Callable[..., Any]:
    def apply(x: Any, y: Any, *, out: tuple[np.dtype, ...]) -> Any:
        return _compare(name, x, y)

    return apply


COMPARISON_NAMES = {
    np.equal: "eq", np.not_equal: "ne", np.less: "lt", np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge",
}  # fmt: skip
RULES.update({ufunc: _comparison(name) for ufunc, name in COMPARISON_NAMES.items()})


def _extreme(name: str, logical: str) -> Callable[..., Any]:
    def apply(x: Any, y: Any, *, out: tuple[np.dtype, ...]) -> Any:
        return bind(logical if out[0] == BOOL else name, x, y)

    return apply


RULES[np.maximum] = _extreme("max", "or")
RULES[np.minimum] = _extreme("min", "and")


def _f_extreme(name: str, exact: str, logical: str) -> Callable[..., Any]:
    def apply(x: Any, y: Any, *, out: tuple[np.dtype, ...]) -> Any:
        if out[0] == BOOL:
            return bind(logical, x, y)
        return bind(name if out[0].kind in "fc" else exact, x, y)

    return apply


RULES[np.fmax] = _f_extreme("fmax", "max", "or")
RULES[np.fmin] = _f_extreme("fmin", "min", "and")


def truth(x: Any) -> Any:
    """`x != 0`, as NumPy's logical functions read any dtype."""
    dtype = dtype_of(x)
    return x if dtype == BOOL else bind("ne", x, dtype.type(0))


def _logical(name: str) -> Callable[..., Any]:
    def apply(x: Any, y: Any, *, out: tuple[np.dtype, ...]) -> Any:
        return bind(name, truth(x), truth(y))

    return apply


RULES[np.logical_and] = _logical("and")
RULES[np.logical_or] = _logical("or")
RULES[np.logical_xor] = _logical("xor")


@rule(np.logical_not)
def logical_not_rule(x: Any, *, out: tuple[np.dtype, ...]) -> Any:
    dtype = dtype_of(x)
    return bind("not", x) if dtype == BOOL else bind("eq", x, dtype.type(0))


# ---- classification ----


def _either_part(name: str, join: str, x: Any) -> Any:
    return bind(join, bind(name, bind("real", x)), bind(name, bind("imag", x)))


def _classification(name: str, join: str, of_integers: bool) -> Callable[..., Any]:
    def apply(x: Any, *, out: tuple[np.dtype, ...]) -> Any:
        kind = dtype_of(x).kind
        if kind == "c":
            return _either_part(name, join, x)
        return bind(name, x) if kind == "f" else full_like_operand(x, np.bool_(of_integers))

    return apply


RULES[np.isnan] = _classification("isnan", "or", False)
RULES[np.isinf] = _classification("isinf", "or", False)
RULES[np.isfinite] = _classification("is_finite", "and", True)


# ---- bits ----


@rule(np.right_shift)
def right_shift_rule(x: Any, y: Any, *, out: tuple[np.dtype, ...]) -> Any:
    return bind("shift_right_logical" if out[0].kind == "u" else "shift_right_arithmetic", x, y)


# ---- two results ----


@rule(np.modf)
def modf_rule(x: Any, *, out: tuple[np.dtype, ...]) -> tuple[Any, Any]:
    whole = bind("trunc", x)
    infinite = bind("isinf", x)
    part = bind("select_n", infinite, bind("sub", x, whole), constant_like(x, 0))
    return bind("copysign", part, x), whole


@rule(np.frexp)
def frexp_rule(x: Any, *, out: tuple[np.dtype, ...]) -> tuple[Any, Any]:
    """Mantissa and exponent from log2, which may be off by one near a power of two, and an exact correction."""
    dtype = out[0]
    int_dtype = out[1]
    lift = np.finfo(dtype).nmant + 2  # makes every subnormal normal
    tiny = bind("lt", bind("abs", x), np.finfo(dtype).tiny)
    y = bind("select_n", tiny, x, bind("mul", x, dtype.type(2.0**lift)))
    special = bind("or", bind("eq", x, dtype.type(0)), bind("not", bind("is_finite", x)))
    safe = bind("select_n", special, y, constant_like(y, 1))
    exponent = cast(bind("floor", bind("log2", bind("abs", safe))), int_dtype)
    exponent = bind("add", exponent, int_dtype.type(1))
    half = bind("ldexp", safe, bind("neg", exponent))
    small = bind("lt", bind("abs", half), dtype.type(0.5))
    large = bind("ge", bind("abs", half), dtype.type(1.0))
    mantissa = bind("select_n", large, half, bind("mul", half, dtype.type(0.5)))
    mantissa = bind("select_n", small, mantissa, bind("mul", half, dtype.type(2.0)))
    exponent = bind("add", exponent, cast(large, int_dtype))
    exponent = bind("sub", exponent, cast(small, int_dtype))
    exponent = bind("sub", exponent, bind("mul", cast(tiny, int_dtype), int_dtype.type(lift)))
    zero = constant_like(exponent, 0)
    return bind("select_n", special, mantissa, x), bind("select_n", special, exponent, zero)


@rule(np.isnat)
def isnat_rule(x: Any, *, out: tuple[np.dtype, ...]) -> Any:
    raise unsupported("isnat: dates and time differences cannot be compiled")
