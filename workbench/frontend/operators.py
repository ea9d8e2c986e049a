"""The operators of tracers: each is a ufunc, and Python's own arithmetic where both operands are Python's numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from ..errors import TracingError
from ..ir import REGISTRY, Aval, Var
from .checks import OF_INTS, RAISING, end_unless_int64, like_python, require_int64
from .constants import computes_as_int
from .number_types import are_all_python, may_be_python
from .recording import Deferred
from .tracer import Tracer, apply_ufunc, emit, method

# Made once: a union of types in an `isinstance` is built anew at every call.
_OPERANDS = (np.ndarray, float, int, complex, bool, np.generic, list, tuple)


def is_operand(value: Any) -> bool:
    return type(value) is Tracer or isinstance(value, _OPERANDS)


def _is_weak(value: Any) -> bool:
    if type(value) is Tracer:
        return value.aval.weak_type
    return type(value) in (float, int, bool, complex)


def weaken(x: Any) -> Any:
    """The result of Python's own arithmetic on Python scalars is a Python scalar again."""
    if type(x) is Tracer and x.scalar and not x.aval.weak_type and x.aval.dtype.char in "?ldD":
        atom = x.buffer.value
        weak = Aval((), x.aval.dtype, weak_type=True)
        if isinstance(atom, Var):
            atom.aval = weak
        x.aval = x.buffer.aval = weak
    return x


def _of_python(result: Any, x: Tracer, y: Any) -> Any:
    """The result of an operator: a Python number if `x` and `y` are, and one that may be if they may."""
    if x.aval.weak_type and _is_weak(y):
        return weaken(result)
    if (x.buffer.mixed or type(y) is Tracer and y.buffer.mixed) and type(result) is Tracer:
        if all(_is_weak(v) or type(v) is Tracer and v.buffer.mixed for v in (x, y)):
            result.buffer.mixed = ({"i": int, "f": float, "c": complex, "b": bool}[result.dtype.kind],)
            result.buffer.python = are_all_python([x, y])
    return result


# What makes False, or True, of `x != x` whatever x holds
_EQUALITY = {np.equal: np.logical_and, np.not_equal: np.greater_equal}
_NO_ELEMENT = (str, bytes, dict, type, slice, EllipsisType, NoneType)  # what no element of an array of numbers equals
_ORDERS = (
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
)  # which are NumPy's, of complex numbers


def power_shortcut(x: Tracer, exponent: Any) -> np.ufunc | None:
    """The function that NumPy takes for the operator `x ** exponent`, of complex arrays (not of NumPy's scalars)."""
    if x.dtype.kind != "c" or x.scalar:
        return None
    if type(exponent) is int:
        return {2: np.square, -1: np.reciprocal}.get(exponent)
    return np.sqrt if type(exponent) is float and exponent == 0.5 else None


def is_python_bool(x: Any) -> bool:
    return type(x) is bool or type(x) is Tracer and x.aval.weak_type and x.aval.dtype == bool


def python_int(x: Any) -> Any:
    """A Python bool as the int that it is in Python's arithmetic."""
    return weaken(method(x, "astype", np.int64)) if type(x) is Tracer else int(x)


def _as_plain_int(name: str, other: Any) -> Any:
    """What Python's arithmetic on an int takes a number for whose class derives from `int`, as that of a member of an
    `IntEnum` does; NumPy sees one of its own in it."""
    if not issubclass(type(other), int) or type(other) in (int, bool):
        return other
    from .diagnostics import unsupported

    if not computes_as_int(type(other), name):
        raise unsupported(f"an operator that {type(other).__name__} defines")
    return int(other)


def _is_numpy_float(x: Any) -> bool:
    """Whether it is an `np.float64`, which is a float to Python's `complex` on the left of it."""
    if type(x) is not Tracer:
        return type(x) is np.float64
    return x.scalar and x.aval.dtype == np.float64 and not x.aval.weak_type


def _python_float(x: Any) -> Any:
    if type(x) is not Tracer:
        return float(x)
    return emit(REGISTRY["convert_element_type"], x, new_dtype=np.dtype(float), weak_type=True)


# What NumPy makes of bools is what Python makes of its own
_OF_BOOLS = {np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.matmul, np.true_divide, np.equal, np.not_equal, np.less,
             np.less_equal, np.greater, np.greater_equal}  # fmt: skip


def _check_one_type(ufunc: np.ufunc, x: Any, y: Any) -> None:
    """WB181 where numbers that are Python's on one path alone give something else there."""
    if not may_be_python(x) or not may_be_python(y):
        return
    kinds = [v.dtype.kind if type(v) is Tracer else np.result_type(v).kind for v in (x, y)]
    are_bools = ufunc not in _OF_BOOLS and kinds == ["b", "b"]
    below = ufunc is np.power and type(y) is int and y < 0 and kinds[0] in "bi"
    if are_bools or below or ufunc in _ORDERS and "c" in kinds:
        raise _two_types(x if type(x) is Tracer and x.buffer.mixed else y)


def _two_types(x: Any) -> Exception:
    from .numpy_api.promotion import two_types

    return two_types(x)


def _applied(ufunc: np.ufunc, *operands: Any) -> Any:
    """What NumPy computes; WB181 where it refuses numbers that are Python's on some path."""
    try:
        return apply_ufunc(ufunc, "__call__", operands, {})
    except (TypeError, ValueError, OverflowError) as error:
        mixed = [x for x in operands if type(x) is Tracer and x.buffer.mixed]
        if not mixed or isinstance(error, TracingError):
            raise
        raise _two_types(mixed[0]) from error


def _end_unless_like_python(ufunc: np.ufunc, operands: tuple[Any, ...], result: Any) -> None:
    """Have the call end where Python's numbers do otherwise than NumPy's, of which `result` is, if they are Python's.
    operands: the first or last may be."""
    if not all(map(may_be_python, operands)):
        return
    is_mixed = any(type(x) is Tracer and x.buffer.mixed for x in operands)
    python = are_all_python(operands) if is_mixed else None
    if ufunc in OF_INTS or len(operands) == 1:
        end_unless_int64(ufunc, operands, result, python)
    if ufunc in RAISING:
        like_python(ufunc, operands, result, python)


def _repeated(sequence: list | tuple, n: Tracer) -> Any:
    """`sequence * n`: numbers, also NumPy's, repeat a list."""
    if n.dtype.kind in "iu" or n.dtype == bool and n.aval.weak_type:
        return sequence * operator.index(python_int(n) if n.dtype == bool else n)
    if n.buffer.mixed and n.dtype == bool:
        raise _two_types(n)
    kind = {"f": "float", "c": "complex"}.get(n.dtype.kind, "bool") if n.aval.weak_type else f"numpy.{n.dtype.name}"
    raise TypeError(f"can't multiply sequence by non-int of type '{kind}'")


def _binary(name: str, ufunc: np.ufunc) -> tuple[Callable, Callable, Callable]:
    of_ints = ufunc not in _OF_BOOLS
    may_differ = ufunc in RAISING or ufunc in OF_INTS

    def forward(self: Tracer, other: Any) -> Any:
        if self.aval.weak_type and self.aval.dtype == complex and _is_numpy_float(other) and ufunc not in _ORDERS:
            other = _python_float(other)
        if self.aval.weak_type:
            other = _as_plain_int(name, other)
        if of_ints and self.aval.weak_type and is_python_bool(self) and is_python_bool(other):
            self, other = python_int(self), python_int(other)
        if self.buffer.mixed or type(other) is Tracer and other.buffer.mixed:
            _check_one_type(ufunc, self, other)
        if not is_operand(other):
            if ufunc not in _EQUALITY:
                return NotImplemented
            if isinstance(other, _NO_ELEMENT) and not self.scalar:
                return apply_ufunc(_EQUALITY[ufunc], "__call__", (self != self, np.zeros(self.shape, bool)), {})
            if isinstance(other, str | bytes) and not self.aval.weak_type and not self.buffer.mixed:
                return np.bool(ufunc is np.not_equal)
            return NotImplemented
        if self.scalar and isinstance(other, list | tuple):
            if ufunc is np.multiply:
                return _repeated(other, self)
            if self.aval.weak_type:
                return NotImplemented  # no number of Python's is a list
        if ufunc is np.power and type(other) is int and other == 2 and self.dtype == bool and not self.scalar:
            other = np.int8(2)  # the operator squares, which gives int8, where `np.power` gives int64
        if ufunc is np.power and (shortcut := power_shortcut(self, other)) is not None:
            return apply_ufunc(shortcut, "__call__", (self,), {})
        if self.aval.weak_type and type(other) is int and self.dtype.kind in "bi":
            require_int64(other)
            if ufunc is np.power and other < 0:
                self, other = _python_float(self), float(other)
        result = _of_python(_applied(ufunc, self, other), self, other)
        if may_differ and may_be_python(self):
            _end_unless_like_python(ufunc, (self, other), result)
        return result

    def reflected(self: Tracer, other: Any) -> Any:
        if type(other) is complex and _is_numpy_float(self) and ufunc not in _ORDERS:
            self = _python_float(self)
        if self.aval.weak_type:
            other = _as_plain_int(name, other)
        if of_ints and self.aval.weak_type and is_python_bool(self) and is_python_bool(other):
            self, other = python_int(self), python_int(other)
        if self.buffer.mixed or type(other) is Tracer and other.buffer.mixed:
            _check_one_type(ufunc, self, other)
        if not is_operand(other):
            return NotImplemented
        if self.scalar and isinstance(other, list | tuple):
            if ufunc is np.multiply:
                return _repeated(other, self)
            if self.aval.weak_type:
                return NotImplemented
        if self.aval.weak_type and type(other) is int and self.dtype.kind in "bi":
            require_int64(other)
        result = _of_python(_applied(ufunc, other, self), self, other)
        if may_differ and may_be_python(self):
            _end_unless_like_python(ufunc, (other, self), result)
        return result

    def in_place(self: Tracer, other: Any) -> Any:
        if self.scalar:
            return forward(self, other)
        if issubclass(type(other), Deferred):  # which would make another array of both
            numpys = getattr(type(other), "numpys", None)
            if numpys is None:
                raise other.error()
            other = numpys(other)
        if not is_operand(other):
            return NotImplemented
        if ufunc is np.matmul and (not self.shape or np.ndim(other) < 2):
            raise ValueError(
                "inplace matrix multiplication requires the first operand to have at least one and the second at least "
                "two dimensions."
            )
        if ufunc is np.power and (shortcut := power_shortcut(self, other)) is not None:
            return apply_ufunc(shortcut, "__call__", (self,), {"out": (self,)})
        return apply_ufunc(ufunc, "__call__", (self, other), {"out": (self,)})

    return forward, reflected, in_place


def _unary(ufunc: np.ufunc) -> Callable:
    def apply(self: Tracer) -> Any:
        if self.aval.weak_type and self.aval.dtype == bool:
            self = python_int(self)
        if self.buffer.mixed:
            _check_one_type(ufunc, self, self)
        result = _of_python(apply_ufunc(ufunc, "__call__", (self,), {}), self, 0)
        if ufunc in (np.negative, np.absolute) and may_be_python(self):
            _end_unless_like_python(ufunc, (self,), result)
        return result

    return apply


BINARY_OPERATORS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
}  # fmt: skip
COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
UNARY_OPERATORS = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}

for _name, _ufunc in BINARY_OPERATORS.items():
    _forward, _reflected, _in_place = _binary(_name, _ufunc)
    setattr(Tracer, f"__{_name}__", _forward)
    setattr(Tracer, f"__r{_name}__", _reflected)
    setattr(Tracer, f"__i{_name}__", _in_place)
for _name, _ufunc in COMPARISONS.items():
    setattr(Tracer, f"__{_name}__", _binary(_name, _ufunc)[0])
for _name, _ufunc in UNARY_OPERATORS.items():
    setattr(Tracer, f"__{_name}__", _unary(_ufunc))


def _divmod(self: Tracer, other: Any) -> Any:
    return (self // other, self % other) if is_operand(other) else NotImplemented


def _rdivmod(self: Tracer, other: Any) -> Any:
    return (other // self, other % self) if is_operand(other) else NotImplemented


def _round(self: Tracer, ndigits: int | None = None) -> Any:
    if not self.scalar:
        raise TypeError("type numpy.ndarray doesn't define __round__ method")
    if ndigits is None or may_be_python(self):  # Python's own, to an int or to decimal digits
        from .diagnostics import scalar_value

        value = scalar_value(self, "round")
        return round(value) if ndigits is None else round(value.item(), ndigits)
    return self.round(ndigits)


Tracer.__divmod__ = _divmod  # type: ignore[attr-defined]
Tracer.__rdivmod__ = _rdivmod  # type: ignore[attr-defined]
Tracer.__round__ = _round  # type: ignore[attr-defined]
