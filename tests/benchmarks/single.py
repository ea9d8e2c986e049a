"""Single NumPy expressions, as people write them between two others, over dtypes and sizes: NumPy and the workbench.

Nothing can be fused here, so these are the cases where there is least to win, and where a kernel that does not
vectorise shows. A call costs a microsecond more than NumPy's: below 1e4 elements that is most of what one sees.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import workbench as wb

from .harness import BASELINE, Case
from .peers import OURS

SIZES = (10**3, 10**5, 10**6, 10**7)
DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool", "complex128")

Function = Callable[[Any, Any], Any]

ELEMENTWISE: dict[str, Function] = {
    "x + y": lambda x, y: x + y, "x * y": lambda x, y: x * y, "x / y": lambda x, y: x / y, "-x": lambda x, y: -x,
    "abs": lambda x, y: np.abs(x), "x > y": lambda x, y: x > y, "where": lambda x, y: np.where(x > y, x, y),
    "maximum": lambda x, y: np.maximum(x, y), "clip": lambda x, y: np.clip(x, 2, 5), "x**2": lambda x, y: x**2,
    "x // y": lambda x, y: x // y, "x % y": lambda x, y: x % y, "sqrt": lambda x, y: np.sqrt(x),
    "exp": lambda x, y: np.exp(x), "log": lambda x, y: np.log(x), "sin": lambda x, y: np.sin(x),
    "tanh": lambda x, y: np.tanh(x), "x**y": lambda x, y: x**y, "arctan2": lambda x, y: np.arctan2(x, y),
    "floor": lambda x, y: np.floor(x), "round": lambda x, y: np.round(x), "isnan": lambda x, y: np.isnan(x),
    "astype(float32)": lambda x, y: x.astype(np.float32), "astype(bool)": lambda x, y: x.astype(bool),
    "copy": lambda x, y: x.copy(), "reversed": lambda x, y: x[::-1] * 1, "every other": lambda x, y: x[::2] * 2,
    "roll": lambda x, y: np.roll(x, 3), "concatenate": lambda x, y: np.concatenate([x, y]),
    "diff": lambda x, y: np.diff(x), "take": lambda x, y: np.take(x, np.arange(0, x.size, 3)),
}  # fmt: skip
REDUCTIONS: dict[str, Function] = {
    "sum": lambda x, y: x.sum(), "mean": lambda x, y: x.mean(), "prod": lambda x, y: x.prod(),
    "max": lambda x, y: x.max(), "min": lambda x, y: x.min(), "std": lambda x, y: x.std(), "ptp": lambda x, y: np.ptp(x),
    "argmax": lambda x, y: x.argmax(), "argmin": lambda x, y: x.argmin(), "any": lambda x, y: np.any(x),
    "all": lambda x, y: np.all(x), "count_nonzero": lambda x, y: np.count_nonzero(x),
    "cumsum": lambda x, y: np.cumsum(x), "dot": lambda x, y: np.dot(x, y), "nansum": lambda x, y: np.nansum(x),
    "sort": lambda x, y: np.sort(x), "median": lambda x, y: np.median(x),
}  # fmt: skip
TABLES: dict[str, Function] = {
    f"{name}, axis {axis}": lambda x, y, f=f, axis=axis: f(x, axis=axis)
    for name, f in {"sum": np.sum, "max": np.max, "mean": np.mean, "std": np.std, "argmax": np.argmax, "any": np.any,
                    "cumsum": np.cumsum, "median": np.median, "sort": np.sort}.items()
    for axis in (0, 1)
} | {
    "x.T.copy()": lambda x, y: x.T.copy(), "x.T + y.T": lambda x, y: x.T + y.T, "x - x[0]": lambda x, y: x - x[0],
    "x - x[:, :1]": lambda x, y: x - x[:, :1], "flipped rows": lambda x, y: x[:, ::-1] * 1,
    "stack, last axis": lambda x, y: np.stack([x, y], -1), "one column": lambda x, y: x[:, 0] * 2,
    "neighbours": lambda x, y: x[1:, 1:] - x[:-1, :-1],
}  # fmt: skip


def shapes(n: int) -> Iterator[tuple[int, int]]:
    """Tables of about `n` elements: few columns, square, few rows."""
    for columns in (3, 10, 64):
        yield n // columns, columns
    side = int(n**0.5)
    yield from ((side, side), (10, n // 10))


def operands(dtype: str, shape: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    if dtype == "bool":
        return [rng.random(shape) < 0.5 for _ in "xy"]
    if dtype == "complex128":
        return [rng.uniform(0.5, 9, shape) + 1j * rng.uniform(0.5, 9, shape) for _ in "xy"]
    if dtype.startswith("float"):
        return [rng.uniform(0.5, 9, shape).astype(dtype) for _ in "xy"]
    return [rng.integers(1, 10, shape).astype(dtype) for _ in "xy"]


def cases() -> Iterator[Case]:
    """Every expression that NumPy computes without a warning or an error, for every dtype and size."""
    for n in SIZES:
        groups = [({**ELEMENTWISE, **REDUCTIONS}, (n,)), *((TABLES, shape) for shape in shapes(n))]
        for dtype in DTYPES:
            for functions, shape in groups:
                x, y = operands(dtype, shape)
                for name, function in functions.items():
                    if is_ordinary(function, x, y):
                        compiled = wb.jit(function)
                        calls: dict[str, Callable[[], Any]] = {
                            BASELINE: lambda f=function, x=x, y=y: f(x, y),
                            OURS: lambda f=compiled, x=x, y=y: f(x, y),
                        }
                        detail = f"{'x'.join(map(str, shape))} {dtype}"
                        # NumPy adds the rows of a table one after the other, which costs digits.
                        yield Case(name, detail, calls, 1e-4 + 1e-9 * n if dtype == "float32" else 1e-9)


def is_ordinary(function: Function, x: np.ndarray, y: np.ndarray) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            results = np.asarray(function(x, y))
        except (TypeError, ValueError, Warning):
            return False
    return results.dtype != np.float16
