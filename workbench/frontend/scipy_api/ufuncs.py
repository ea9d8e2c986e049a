"""Ufuncs of other packages than NumPy: formulas for those of `scipy.special` that have one, which fuse; any other runs
between kernels, as the library computes it.

The formulas are those of SciPy's own sources (scipy.special, xsf), special values included. They get traced arrays of
the dtype of the ufunc's loop, and are plain NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...ir import Aval
from ..numpy_api.broadcasting import broadcast_shapes
from ..numpy_api.elementwise import RULES
from ..numpy_api.library import numpy_call
from ..numpy_api.operands import bind, cast, dtype_of

_SQRT_HALF = 0.7071067811865476


def _erf(x: Any) -> Any:
    return bind("erf", x)


def _erfc(x: Any) -> Any:
    return bind("erfc", x)


def _expit(x: Any) -> Any:
    return bind("logistic", x)


def _ndtr(x: Any) -> Any:
    # In double precision: rounding x / sqrt(2) moves the tail by x**2 units in the last place.
    return cast(0.5 * bind("erfc", -cast(x, np.dtype(np.float64)) * _SQRT_HALF), dtype_of(x))


def _logit(x: Any) -> Any:
    s = 2 * (x - 0.5)
    return np.where((x >= 0.3) & (x <= 0.65), np.log1p(s) - np.log1p(-s), np.log(x / (1 - x)))


def _log_expit(x: Any) -> Any:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


def _xlogy(x: Any, y: Any) -> Any:
    return np.where((x == 0) & ~np.isnan(y), 0, x * np.log(y))


def _xlog1py(x: Any, y: Any) -> Any:
    return np.where((x == 0) & ~np.isnan(y), 0, x * np.log1p(y))


def _entr(x: Any) -> Any:
    return np.where(x > 0, -x * np.log(x), np.where(x == 0, 0, np.where(np.isnan(x), x, -np.inf)))


def _rel_entr(x: Any, y: Any) -> Any:
    ratio = x / y
    tiny = np.finfo(np.float64).tiny
    logarithm = np.where((ratio > tiny) & (ratio < np.inf), np.log(ratio), np.log(x) - np.log(y))
    inside = x * np.where((ratio > 0.5) & (ratio < 2), np.log1p((x - y) / y), logarithm)
    return np.where((x > 0) & (y > 0), inside, _outside(x, y, 0))


def _outside(x: Any, y: Any, at_zero: Any) -> Any:
    """Where x or y is no positive number: infinity, but for x = 0."""
    nan, infinity = dtype_of(x).type(np.nan), dtype_of(x).type(np.inf)
    return np.where((x == 0) & (y >= 0), at_zero, np.where(np.isnan(x) | np.isnan(y), nan, infinity))


def _kl_div(x: Any, y: Any) -> Any:
    return np.where((x > 0) & (y > 0), x * np.log(x / y) - x + y, _outside(x, y, y))


def _huber(delta: Any, r: Any) -> Any:
    size = np.abs(r)
    return np.where(delta < 0, np.inf, np.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta)))


def _pseudo_huber(delta: Any, r: Any) -> Any:
    v = r / delta
    inside = delta * delta * np.expm1(0.5 * np.log1p(v * v))
    return np.where(delta < 0, np.inf, np.where((delta == 0) | (r == 0), 0, inside))


FORMULAS: dict[str, Callable[..., Any]] = {
    f"scipy.special:{name}": formula
    for name, formula in {
        "erf": _erf, "erfc": _erfc, "expit": _expit, "ndtr": _ndtr, "logit": _logit, "log_expit": _log_expit,
        "xlogy": _xlogy, "xlog1py": _xlog1py, "entr": _entr, "rel_entr": _rel_entr, "kl_div": _kl_div,
        "huber": _huber, "pseudo_huber": _pseudo_huber, "expm1": np.expm1, "log1p": np.log1p, "cbrt": np.cbrt,
    }.items()
}  # fmt: skip


def rule_of(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """What computes an elementwise ufunc of any package; None if it has core dimensions, or no name to call it by."""
    rule = RULES.get(ufunc)
    if rule is None and ufunc.signature is None and (name := name_of(ufunc)):
        rule = RULES[ufunc] = partial(_formula_or_call, FORMULAS.get(name), name)
    return rule


def _formula_or_call(formula: Callable[..., Any] | None, name: str, *operands: Any, out: tuple[np.dtype, ...]) -> Any:
    if formula is not None and all(dtype.kind == "f" for dtype in out):
        return formula(*operands)
    shape = broadcast_shapes(*operands)
    return numpy_call(name, *operands, avals=tuple(Aval(shape, dtype) for dtype in out))


def name_of(ufunc: np.ufunc) -> str:
    """`package.module:name` by which a ufunc can be found again, the shortest one; "" if no module has it."""
    names = [
        f"{module_name}:{ufunc.__name__}"
        for module_name, module in list(sys.modules.items())
        if getattr(module, "__dict__", {}).get(ufunc.__name__) is ufunc and module_name != "__main__"
    ]
    return min(names, key=lambda name: (len(name), name), default="")
