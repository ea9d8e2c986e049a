"""NumPy's and `math`'s functions that loops call, with the names of what computes them there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# NumPy's functions of one number -> the scalar function of kernels.
UNARY: dict[Any, str] = {
    np.sqrt: "sqrt", np.exp: "exp", np.log: "log", np.sin: "sin", np.cos: "cos", np.tan: "tan", np.tanh: "tanh",
    np.sinh: "sinh", np.cosh: "cosh", np.arcsin: "asin", np.arccos: "acos", np.arctan: "atan", np.arcsinh: "asinh",
    np.arccosh: "acosh", np.arctanh: "atanh", np.exp2: "exp2", np.expm1: "expm1", np.log1p: "log1p", np.log2: "log2",
    np.log10: "log10", np.cbrt: "cbrt", np.floor: "floor", np.ceil: "ceil", np.trunc: "trunc", np.rint: "rint",
    np.absolute: "abs", np.fabs: "fabs", np.sign: "sign", np.square: "square", np.negative: "neg",
    np.conjugate: "conj", np.reciprocal: "reciprocal",
}  # fmt: skip
# Of angles: by which quotient they multiply.
ANGLES: dict[Any, tuple[float, float]] = {
    np.degrees: (180.0, math.pi), np.rad2deg: (180.0, math.pi), np.radians: (math.pi, 180.0),
    np.deg2rad: (math.pi, 180.0),
}  # fmt: skip
# Of all functions of numbers, those that take as long as many reads of memory.
LONG = frozenset((
    np.exp, np.log, np.sin, np.cos, np.tan, np.tanh, np.sinh, np.cosh, np.arcsin, np.arccos, np.arctan, np.arcsinh,
    np.arccosh, np.arctanh, np.exp2, np.expm1, np.log1p, np.log2, np.log10, np.cbrt, np.power, np.arctan2, np.hypot,
    np.logaddexp,
))  # fmt: skip
TESTS = {np.isnan: "isnan", np.isinf: "isinf", np.isfinite: "is_finite"}
BINARY: dict[Any, str] = {
    np.maximum: "maximum", np.minimum: "minimum", np.fmax: "fmax", np.fmin: "fmin", np.arctan2: "atan2",
    np.hypot: "hypot", np.copysign: "copysign", np.fmod: "fmod", np.logaddexp: "logaddexp", np.gcd: "gcd",
    np.lcm: "lcm",
}  # fmt: skip
OPERATORS: dict[Any, str] = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/", np.floor_divide: "//", np.remainder: "%",
    np.power: "**", np.bitwise_and: "&", np.bitwise_or: "|", np.bitwise_xor: "^", np.left_shift: "<<",
    np.right_shift: ">>",
}  # fmt: skip
COMPARISONS: dict[Any, str] = {
    np.less: "<",
    np.less_equal: "<=",
    np.greater: ">",
    np.greater_equal: ">=",
    np.equal: "==",
    np.not_equal: "!=",
}
MATH: dict[Any, str] = {
    math.sqrt: "sqrt", math.exp: "exp", math.log: "log", math.sin: "sin", math.cos: "cos", math.tan: "tan",
    math.tanh: "tanh", math.sinh: "sinh", math.cosh: "cosh", math.asin: "asin", math.acos: "acos", math.atan: "atan",
    math.log2: "log2", math.log10: "log10", math.log1p: "log1p", math.expm1: "expm1", math.atan2: "atan2",
    math.hypot: "hypot", math.fabs: "fabs", math.copysign: "copysign", math.fmod: "fmod", math.asinh: "asinh",
    math.acosh: "acosh", math.atanh: "atanh", math.erf: "erf", math.erfc: "erfc", math.lgamma: "lgamma",
} | ({math.cbrt: "cbrt", math.exp2: "exp2"} if hasattr(math, "cbrt") else {})  # fmt: skip
MATH_TESTS = {math.isnan: "isnan", math.isinf: "isinf", math.isfinite: "is_finite"}
REDUCTIONS = {np.sum: "sum", np.mean: "mean", np.max: "max", np.min: "min", np.prod: "prod", np.any: "any",
              np.all: "all", np.argmax: "argmax", np.argmin: "argmin", np.dot: "dot", np.linalg.norm: "norm",
              np.var: "var", np.std: "std"}  # fmt: skip
REDUCED = {np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min", np.logical_or: "any",
           np.logical_and: "all"}  # fmt: skip
