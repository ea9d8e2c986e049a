"""Loops over scalar functions, arguments worth trying, exact values, and distances in units in the last place."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import mpmath
import numpy as np
from numba import njit

from workbench.codegen.scalar_math import namespace, scalar_function
from workbench.primitives.arithmetic import POWERS_BY_ROOT, WHOLE_POWERS

UNARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "erf", "erfc", "logistic", *POWERS_BY_ROOT.values(),
    "pow_minus_two", *WHOLE_POWERS.values(),
)  # fmt: skip
EXPONENTS = {
    **{name: exponent for exponent, name in POWERS_BY_ROOT.items()},
    "pow_minus_two": -2.0, **{name: float(n) for n, name in WHOLE_POWERS.items()},
}  # fmt: skip
BINARY = ("pow", "atan2", "hypot", "logaddexp", "logaddexp2")

# Ends of ranges, of float32 and of float64, and the places where a function changes its formula.
EDGES = (
    0.0, np.inf, np.nan, 0.5, 1.0, 2.0, 3.0, 100.0, 1 - 2**-53, 1 + 2**-52, 1 - 2**-24, 1 + 2**-23, 0.1, 1e-20, 1e-300,
    1e-310, 5e-324, 1e300, 1e-40, 1e-45, 1e38, 1.7976931348623157e308, 3.4028234663852886e38, 2.2250738585072014e-308,
    1.1754943508222875e-38, 709.78, 709.79, 710.47, 710.48, 745.13, 745.14, 708.4, 1023.9999, 1024.0, 1022.0, 1074.0,
    1075.0, 1080.0, 88.72, 88.73, 89.41, 89.42, 103.97, 103.98, 127.9999, 128.0, 149.0, 150.0, np.pi, np.pi / 2,
    np.pi / 4, 1e5, 1e10, 1e15, 1e22, 2**0.5, 2**-0.5, 0.41421356237309503, 2.414213562373095, 6.0, 26.5, 26.6, 27.3,
    10.05, 10.06, 2.0**53, 2.0**54,
)  # fmt: skip


def loops(names: Sequence[str], n_arguments: int, direct: bool = True) -> Callable[..., None]:
    """A compiled `apply(*arguments, *outs)`: a loop for each scalar function of `names`, with an output of its own."""
    letters = "abcd"[:n_arguments]
    outs = [f"out{i}" for i in range(len(names))]
    elements = ", ".join(f"{letter}[i]" for letter in letters)
    source = f"def apply({', '.join([*letters, *outs])}):\n" + "".join(
        f"    for i in range({out}.size):\n        {out}[i] = {name}({elements})\n"
        for name, out in zip(names, outs, strict=True)
    )
    scope = dict(namespace(names, direct=direct))
    exec(source, scope)
    return njit(scope["apply"], error_model="numpy")


@functools.cache
def _loops_of(names: tuple[str, ...], dtype: np.dtype, n_arguments: int) -> Callable[..., None]:
    return loops([scalar_function(name, dtype).name for name in names], n_arguments)


def apply_all(names: Sequence[str], *arguments: np.ndarray, out_dtypes: Sequence[np.dtype]) -> list[np.ndarray]:
    """Scalar functions for the dtype of the first argument, over arrays. One compilation: much faster than many."""
    outs = [np.empty(arguments[0].shape, dtype) for dtype in out_dtypes]
    _loops_of(tuple(names), arguments[0].dtype, len(arguments))(*arguments, *outs)
    return outs


def apply(name: str, *arguments: np.ndarray, out_dtype: np.dtype | None = None) -> np.ndarray:
    """The scalar function `name` for the dtype of the first argument, over arrays."""
    return apply_all([name], *arguments, out_dtypes=[out_dtype or arguments[0].dtype])[0]


def edges(dtype: np.dtype) -> np.ndarray:
    with np.errstate(all="ignore"):
        values = np.array(EDGES).astype(dtype)
    return np.concatenate([values, -values])


def spread(dtype: np.dtype, n: int, seed: int = 0) -> np.ndarray:
    """`n` of each of several random distributions: all bit patterns, several scales, near 1, whole numbers; edges."""
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)
    parts = [rng.integers(0, 2**info.bits, n, dtype=np.uint64).astype(f"u{info.bits // 8}").view(dtype)]
    parts += [(rng.standard_normal(n) * scale).astype(dtype) for scale in (0.01, 0.3, 1.0, 3.0, 10.0, 100.0, 1e3, 1e6)]
    parts += [(1 + rng.standard_normal(n) * scale).astype(dtype) for scale in (1e-6, 0.1)]
    parts += [rng.uniform(-1, 1, n).astype(dtype), rng.integers(-100, 100, n).astype(dtype)]
    return np.concatenate([*parts, edges(dtype)])


def exact(name: str, *arguments: np.ndarray) -> np.ndarray:
    """The true values for float64 arguments as (high, low) pairs of float64 columns, by mpmath with 120 bits."""
    with mpmath.workprec(120):
        pairs = [_exact_one(name, *map(float, values)) for values in zip(*arguments, strict=True)]
    return np.array(pairs)


def _exact_one(name: str, *values: float) -> tuple[float, float]:
    with np.errstate(all="ignore"):
        reference = float(numpy_reference(name)(*map(np.float64, values)))
        size = abs(values[1] * np.log2(abs(values[0]))) if name == "pow" else abs(values[0])
    # NumPy settles special arguments, errors, poles, and what is far out of range: mpmath has other rules, or no end.
    special = not all(map(np.isfinite, values)) or np.isnan(reference) or (0.0 in values and "logadd" not in name)
    pole = name in ("log1p", "atanh") and abs(values[0]) == 1
    ranged = name in ("exp", "exp2", "expm1", "sinh", "cosh", "tanh", "erf", "erfc", "logistic", "pow")
    if special or pole or (ranged and size > 2000):
        return reference, 0.0
    value = _mpmath_reference(name)(*map(mpmath.mpf, values))
    high = float(value)
    return high, (float(value - high) if np.isfinite(high) else 0.0)


def _c_pow(x: np.float64, y: np.float64) -> float:
    # Of arrays: NumPy takes a scalar exponent 0.5 for a square root, which differs at -0.0.
    return np.power(np.array([x, x]), np.array([y, y]))[0]


def numpy_reference(name: str) -> Callable:
    table = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh}
    table |= {"atanh": np.arctanh, "atan2": np.arctan2, "pow": _c_pow, "erf": mpmath.fp.erf, "erfc": mpmath.fp.erfc}
    table |= {"logistic": lambda x: 1 / (1 + np.exp(-x))}
    if name in EXPONENTS:  # an array of exponents: NumPy makes square roots and quotients of single ones
        return lambda x: np.power(x, np.full(np.shape(x) or (1,), EXPONENTS[name])).reshape(np.shape(x))[()]
    return table.get(name) or getattr(np, name)


def _mpmath_reference(name: str) -> Callable:
    mp = mpmath
    table = {
        "exp2": lambda x: mp.mpf(2) ** x, "log2": lambda x: mp.log(x) / mp.log(2), "pow": lambda x, y: x**y,
        "log1p": mp.log1p, "expm1": mp.expm1, "hypot": mp.hypot, "logistic": lambda x: 1 / (1 + mp.exp(-x)),
        "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
        "logaddexp": lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y))),
        "logaddexp2": lambda x, y: max(x, y) + mp.log1p(mp.mpf(2) ** -abs(x - y)) / mp.log(2),
    }  # fmt: skip
    if name in EXPONENTS:
        return lambda x: x ** mp.mpf(EXPONENTS[name])
    return table.get(name) or getattr(mp, name)


def ulp_errors(got: np.ndarray, high: np.ndarray, low: np.ndarray | float = 0.0, at_least: np.ndarray | float = 0.0):
    """|got - (high + low)| in units of the last place of the true value (of `at_least`, if that is larger).

    Infinite where one is NaN or infinite and the other is not, and for zeros of different signs.
    """
    with np.errstate(all="ignore"):
        wanted = high.astype(got.dtype)
        unit = np.spacing(np.maximum(np.abs(wanted), np.asarray(at_least).astype(got.dtype)))
        errors = np.abs((got.astype(np.float64) - high) - low) / unit.astype(np.float64)
        same = (got == wanted) & ((got != 0) | (np.signbit(got) == np.signbit(wanted))) | (
            np.isnan(got) & np.isnan(wanted)
        )
        special = ~np.isfinite(got) | ~np.isfinite(wanted) | ((got == 0) & (wanted == 0))
    # A result that rounds to the largest number where infinity is due, or the reverse, is one unit off.
    largest = np.finfo(got.dtype).max
    beside = (np.abs(wanted) == largest) & np.isinf(got) | (np.isinf(wanted) & (np.abs(got) == largest))
    return np.where(special, np.where(same, 0.0, np.where(beside, 1.0, np.inf)), errors)
