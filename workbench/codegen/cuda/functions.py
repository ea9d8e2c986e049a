"""Scalar functions on a device: the same texts as on the CPU, over the device's own instructions.

The elementary functions are libdevice's where its documented error is no larger than the one we state; elsewhere our
polynomials run on the device, too. For the simulator, whose kernels are plain Python, instructions are NumPy's
operations on scalars, and elementary functions NumPy's.
"""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
# (llvmlite's values and types are not declared)

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import inspect
import math
import sys
import types as python_types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ...ir.avals import DTYPES_BY_SHORT_NAME
from ..scalar_math import IMPORTS, by_name
from ..scalar_math.direct import as_intrinsic
from ..scalar_math.quotients import DIVISION_BOUNDS
from .toolkit import intrinsic

# Largest errors in ULP that NVIDIA documents (CUDA C++ Programming Guide, "Mathematical Functions"), f64 and f32.
LIBDEVICE_ULP = {
    "exp": (1, 1), "exp2": (1, 2), "expm1": (1, 1), "log": (1, 1), "log2": (1, 1), "log10": (1, 2), "log1p": (1, 1),
    "sin": (2, 2), "cos": (2, 2), "tan": (2, 4), "asin": (2, 2), "acos": (2, 2), "atan": (2, 2), "atan2": (2, 3),
    "sinh": (2, 3), "cosh": (1, 2), "tanh": (1, 2), "asinh": (3, 3), "acosh": (3, 4), "atanh": (2, 3), "erf": (2, 2),
    "erfc": (5, 4), "pow": (2, 4), "cbrt": (1, 1), "hypot": (2, 3), "lgamma": (4, 6), "fmod": (0, 0),
}  # fmt: skip

# From here on one instruction takes the extreme of two float32 numbers, and NaN if either is.
NAN_EXTREMES_FROM = (8, 0)

_LLVM = {"f32": ir.FloatType(), "f64": ir.DoubleType()}
_NUMBA = {"f32": types.float32, "f64": types.float64}


# ---- on a GPU ----


def device_functions(names: Iterable[str], capability: tuple[int, int], *, fast: bool = False) -> dict[str, Any]:
    """The functions `names` as intrinsics of numba-cuda for a compute capability, to be used as a kernel's globals.
    fast: float32 quotients may be 2 ULP off."""
    resolve = _resolver(capability >= NAN_EXTREMES_FROM, fast)
    return {name: resolve(name) for name in names}


def uses_libdevice(name: str) -> bool:
    """Whether the function `name` ("exp_f64") is libdevice's on a GPU."""
    stem, _, short = name.rpartition("_")
    if stem.endswith("_or_slow"):
        return True
    if stem not in LIBDEVICE_ULP or short not in _LLVM:
        return False
    return LIBDEVICE_ULP[stem][short == "f32"] <= by_name(name).max_ulp


class _Resolver:
    """`resolve(name)` is numba-cuda's form of a scalar function, made at the first call. nan_extremes: whether the
    device has instructions for them; fast: whether float32 quotients may be 2 ULP off."""

    def __init__(self, nan_extremes: bool, fast: bool) -> None:
        self.nan_extremes = nan_extremes
        self.fast = fast
        self.scope: dict[str, Any] = {}
        exec(IMPORTS, self.scope)
        self.scope["intrinsic"] = intrinsic()
        self.made: dict[str, Any] = {}

    def __call__(self, name: str) -> Any:
        if name not in self.made:
            function = by_name(name)
            if self.has_own(name):
                self.made[name] = _own(name, self.nan_extremes)
            elif function.source.startswith("@intrinsic"):
                exec(function.source, self.scope)
                self.made[name] = self.scope[name]
            else:
                self.made[name] = as_intrinsic(function, self, intrinsic())
        return self.made[name]

    def has_own(self, name: str) -> bool:
        stem, _, short = name.rpartition("_")
        if stem == "divide":
            return self.fast and short == "f32"
        return uses_libdevice(name) or (stem in _OWN and short in _LLVM)

    @staticmethod
    def negative(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        """NVVM's LLVM has no `fneg`. It takes this form for one."""
        return builder.fsub(ir.Constant(value.type, -0.0), value)


@functools.cache
def _resolver(nan_extremes: bool, fast: bool) -> _Resolver:
    return _Resolver(nan_extremes, fast)


def _call(builder: ir.IRBuilder, symbol: str, args: list[ir.Value], result: ir.Type) -> ir.Value:
    module = builder.module
    kind = ir.FunctionType(result, [a.type for a in args])
    declared = module.globals.get(symbol) or ir.Function(module, kind, symbol)
    return builder.call(declared, args)


def _libdevice(stem: str, builder: ir.IRBuilder, args: list[ir.Value]) -> ir.Value:
    kind = args[0].type
    return _call(builder, f"__nv_{stem}{'f' if kind == ir.FloatType() else ''}", args, kind)


def _maximum(sign: str) -> Callable[[ir.IRBuilder, list[ir.Value]], ir.Value]:
    def emit(builder: ir.IRBuilder, args: list[ir.Value]) -> ir.Value:
        a, b = args
        chosen = builder.select(builder.fcmp_ordered(sign, b, a), b, a)
        return builder.select(builder.fcmp_unordered("uno", b, b), b, chosen)

    return emit


def _ptx(builder: ir.IRBuilder, instruction: str, args: list[ir.Value]) -> ir.Value:
    """One instruction of PTX on floats of one dtype."""
    kind = ir.FunctionType(args[0].type, [a.type for a in args])
    letter = "f" if args[0].type == ir.FloatType() else "d"
    operands = ", ".join(f"${k}" for k in range(len(args) + 1))
    return builder.asm(kind, f"{instruction} {operands};", ",".join([f"={letter}", *letter * len(args)]), args, False)


def _reciprocal_guess(builder: ir.IRBuilder, args: list[ir.Value]) -> ir.Value:
    return _ptx(builder, f"rcp.approx.ftz.{'f32' if args[0].type == ir.FloatType() else 'f64'}", args)


# Instructions that NVVM's LLVM lacks or that libdevice spells otherwise: (operands, what they become).
_OWN: dict[str, tuple[int, Callable[[ir.IRBuilder, list[ir.Value]], ir.Value]]] = {
    "negative": (1, lambda builder, args: _Resolver.negative(builder, args[0])),
    "maximum": (2, _maximum(">")),
    "minimum": (2, _maximum("<")),
    "maximum_reassoc": (2, _maximum(">")),
    "minimum_reassoc": (2, _maximum("<")),
    "copysign": (2, lambda builder, args: _libdevice("copysign", builder, args)),
    "rint": (1, lambda builder, args: _libdevice("rint", builder, args)),
    "floor": (1, lambda builder, args: _libdevice("floor", builder, args)),
    "ceil": (1, lambda builder, args: _libdevice("ceil", builder, args)),
    "trunc": (1, lambda builder, args: _libdevice("trunc", builder, args)),
    "fabs": (1, lambda builder, args: _libdevice("fabs", builder, args)),
    "sqrt": (1, lambda builder, args: _libdevice("sqrt", builder, args)),
    "fma": (3, lambda builder, args: _libdevice("fma", builder, args)),
    "add_reassoc": (2, lambda builder, args: builder.fadd(*args)),
    "mul_reassoc": (2, lambda builder, args: builder.fmul(*args)),
    "reciprocal_guess": (1, _reciprocal_guess),
    "divide": (2, lambda builder, args: _ptx(builder, "div.full.f32", args)),  # where 2 ULP will do
}


def _own(name: str, nan_extremes: bool) -> Any:
    """An intrinsic for a function that the device has itself."""
    stem, _, short = name.rpartition("_")
    slow = stem.endswith("_or_slow")
    source = by_name(name).source
    if "(typingctx, " in source:
        parameters = [p.strip() for p in source.partition("typingctx, ")[2].partition(")")[0].split(",")]
    else:
        parameters = [p.strip() for p in source.partition(f"def {name}(")[2].partition(")")[0].split(",")]
    kind = _NUMBA[short]

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: list[ir.Value]) -> ir.Value:
        if nan_extremes and short == "f32" and stem.startswith(("maximum", "minimum")):
            # NaN where one operand is NaN, and it tells the zeros apart: -0 is less than +0.
            return _ptx(builder, f"{stem[:3]}.NaN.f32", list(args))
        if stem in _OWN:
            return _OWN[stem][1](builder, list(args))
        if slow:
            return _slow_path(stem.removesuffix("_or_slow"), builder, list(args))
        return _libdevice(stem, builder, list(args))

    def definition(typingctx, *args):
        return kind(*[kind] * len(parameters)), codegen

    position = inspect.Parameter.POSITIONAL_OR_KEYWORD
    definition.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(p, position) for p in ("typingctx", *parameters)]
    )
    definition.__name__ = definition.__qualname__ = name
    return intrinsic()(definition)


def _slow_path(stem: str, builder: ir.IRBuilder, args: list[ir.Value]) -> ir.Value:
    """libdevice's function of the first operands where the fast result, the last operand, will not do."""
    kind = args[0].type
    small = kind == ir.FloatType()
    if stem == "lgamma":
        return _libdevice(stem, builder, args[:1])
    if stem == "quotient":
        return builder.fdiv(*args[:2])
    if stem == "divide":
        return _division(builder, args)
    if stem == "fmod":
        passed, measure, limit, sign = args[:2], args[2], 2.0**24 if small else 2.0**53, ">="
    else:
        magnitude = _libdevice("fabs", builder, args[:1])
        passed, measure, limit, sign = args[:1], magnitude, 2.0**18 if small else 2.0**48, ">"
    is_slow = builder.fcmp_ordered(sign, measure, ir.Constant(kind, limit))
    before = builder.block
    with builder.if_then(is_slow, likely=False):
        value = _libdevice(stem, builder, passed)
        inside = builder.block
    result = builder.phi(kind)
    result.add_incoming(args[-1], before)
    result.add_incoming(value, inside)
    return result


def _division(builder: ir.IRBuilder, args: list[ir.Value]) -> ir.Value:
    """`divide_or_slow`, whose slow path is a branch: of zeros the product, else the compiler's own division."""
    dividend, divisor, product, fast = args
    kind = dividend.type
    small = kind == ir.FloatType()
    least, most = DIVISION_BOUNDS["f32" if small else "f64"]

    def magnitude(value: ir.Value) -> ir.Value:
        """Of a float64 the upper half, which is in order as a float32, too: many GPUs compare these much faster."""
        if not small:
            upper = builder.lshr(builder.bitcast(value, ir.IntType(64)), ir.Constant(ir.IntType(64), 32))
            value = builder.bitcast(builder.trunc(upper, ir.IntType(32)), ir.FloatType())
        return _libdevice("fabs", builder, [value])

    def limit(value: float) -> ir.Constant:
        if not small:
            value = float(np.array([value], "<f8").view("<f4")[1])
        return ir.Constant(ir.FloatType(), value)

    quotient = magnitude(product)
    is_fast = builder.and_(
        builder.fcmp_ordered(">=", magnitude(dividend), limit(least)),
        builder.fcmp_ordered(">=", quotient, limit(least)),
    )
    is_fast = builder.and_(is_fast, builder.fcmp_ordered("<=", quotient, limit(most)))
    before = builder.block
    with builder.if_then(builder.not_(is_fast), likely=False):
        zero = ir.Constant(kind, 0.0)
        is_zero = builder.and_(builder.fcmp_ordered("==", dividend, zero), builder.fcmp_ordered("==", product, zero))
        at_zero = builder.block
        with builder.if_then(builder.not_(is_zero)):
            divided_here = builder.fdiv(dividend, divisor)
            divided = builder.block
        slow = builder.phi(kind)
        slow.add_incoming(product, at_zero)
        slow.add_incoming(divided_here, divided)
        inside = builder.block
    result = builder.phi(kind)
    result.add_incoming(fast, before)
    result.add_incoming(slow, inside)
    return result


# ---- under the simulator ----


def simulated_functions(names: Iterable[str]) -> dict[str, Any]:
    """The functions `names` in Python, on NumPy's scalars."""
    return {name: _simulated(name) for name in names}


@functools.cache
def simulated_numpy() -> Any:
    """`np` as kernels use it: types that convert as `astype` does, where NumPy's own refuse what does not fit."""
    module = python_types.SimpleNamespace(inf=np.inf, nan=np.nan)
    for dtype in DTYPES_BY_SHORT_NAME.values():
        setattr(module, dtype.name, functools.partial(_converted, dtype))
    module.bool_ = functools.partial(_converted, np.dtype(bool))
    module.uintp = module.uint64
    return module


def _converted(dtype: np.dtype, value: Any) -> Any:
    if isinstance(value, int) and dtype.kind in "iu":
        value &= (1 << 8 * dtype.itemsize) - 1
        return np.asarray(value, f"u{dtype.itemsize}").view(dtype)[()]
    return np.asarray(value).astype(dtype)[()]


_SIMULATED: dict[str, Any] = {}


def _simulated(name: str) -> Any:
    if name in _SIMULATED:
        return _SIMULATED[name]
    stem, _, short = name.rpartition("_")
    function = by_name(name)
    made = _instruction(stem, short) if function.source.startswith("@intrinsic") else _elementary(stem, short)
    if made is None:
        scope: dict[str, Any] = {"np": simulated_numpy(), "math": math, "njit": lambda **options: lambda f: f}
        scope.update((other.name, _simulated(other.name)) for other in function.requires)
        exec(compile(function.source, f"<scalar_math {name}>", "exec"), scope)
        made = scope[name]
    _SIMULATED[name] = made
    return made


def _elementary(stem: str, short: str) -> Callable[..., Any] | None:
    """NumPy's own function of a float or complex dtype."""
    spelled = _NUMPY_NAMES.get(stem)
    if spelled is None or short not in ("f32", "f64", "c64", "c128"):
        return None
    if short[0] == "c" and stem in ("abs", "sign", "maximum", "minimum", "fmax", "fmin", "floor_divide", "mod"):
        return None
    dtype = DTYPES_BY_SHORT_NAME[short]
    return lambda *args: spelled(*(_converted(dtype, a) for a in args))


def _of_floats(function: Callable[[float], float]) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        try:
            return type(x)(function(float(x)))
        except OverflowError:
            return type(x)(math.inf)
        except ValueError:
            return type(x)(math.inf if not math.isinf(x) else abs(x))

    return call


_NUMPY_NAMES: dict[str, Callable[..., Any]] = {
    name: getattr(np, name)
    for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt",
        "cbrt", "hypot", "fmod", "logaddexp", "logaddexp2", "nextafter", "spacing", "floor_divide", "heaviside",
    )
} | {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "pow": np.power, "rem": np.fmod, "mod": np.remainder,
    "erf": _of_floats(math.erf), "erfc": _of_floats(math.erfc), "lgamma": _of_floats(math.lgamma),
    "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "quotient": np.divide,
}  # fmt: skip


def _instruction(stem: str, short: str) -> Callable[..., Any] | None:
    """An instruction on scalars of one dtype; operands may be Python's numbers."""
    if stem == "select":
        dtype = DTYPES_BY_SHORT_NAME[short]
        return lambda c, a, b: _converted(dtype, a if c else b)
    if stem.endswith("_or_slow"):
        slow = _NUMPY_NAMES[stem.removesuffix("_or_slow")]
        return lambda *args: slow(*args[: 2 if stem.startswith(("fmod", "quotient")) else 1])
    if stem.startswith("rotate_left"):
        return lambda x, places: _converted(np.dtype(np.uint32), int(x) << int(places) | int(x) >> (32 - int(places)))
    dtype = DTYPES_BY_SHORT_NAME[short]
    operation = _INSTRUCTIONS.get(stem) or getattr(np, stem, None)
    if stem == "fma":
        return _fma(short)
    if stem in ("bits", "from_bits"):
        wide = dtype.itemsize
        source, target = (dtype, np.dtype(f"i{wide}")) if stem == "bits" else (np.dtype(f"i{wide}"), dtype)
        return lambda x: np.asarray(_converted(source, x)).view(target)[()]
    if operation is None:
        return None
    if dtype.kind in "iu" and stem in _ON_INTEGERS:
        whole = _ON_INTEGERS[stem]
        bits = 8 * dtype.itemsize
        return lambda *args: _converted(dtype, whole(bits, *(int(_converted(dtype, a)) for a in args)))
    return lambda *args: _converted(dtype, operation(*(_converted(dtype, a) for a in args)))


def _truncated(bits: int, a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


# On Python's integers, brought back to the dtype afterwards.
_ON_INTEGERS: dict[str, Callable[..., int]] = {
    "add": lambda bits, a, b: a + b,
    "sub": lambda bits, a, b: a - b,
    "mul": lambda bits, a, b: a * b,
    "neg": lambda bits, a: -a,
    "raw_shl": lambda bits, a, b: a << b,
    "raw_lshr": lambda bits, a, b: (a & ((1 << bits) - 1)) >> b,
    "raw_ashr": lambda bits, a, b: a >> b,
    "raw_div": _truncated,
    "raw_rem": lambda bits, a, b: a - b * _truncated(bits, a, b),
    "raw_ctpop": lambda bits, a: (a & ((1 << bits) - 1)).bit_count(),
}
_INSTRUCTIONS: dict[str, Callable[..., Any]] = {
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert, "add_reassoc": np.add,
    "mul_reassoc": np.multiply, "maximum_reassoc": np.maximum, "minimum_reassoc": np.minimum,
    **dict.fromkeys(_ON_INTEGERS, np.add),
}  # fmt: skip


def _fma(short: str) -> Callable[..., Any]:
    """The C library's fused multiply-add: Python has one only from 3.13 on."""
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else ctypes.util.find_library("m"))
    kind = ctypes.c_float if short == "f32" else ctypes.c_double
    function = library.fmaf if short == "f32" else library.fma
    function.restype, function.argtypes = kind, [kind] * 3
    scalar = DTYPES_BY_SHORT_NAME[short].type
    return lambda a, b, c: scalar(function(float(a), float(b), float(c)))
