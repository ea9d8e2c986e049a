"""Functions that still call the platform's math library, one element at a time: correct, and not vectorised."""

from __future__ import annotations

from .registry import FLOATS, library

for _name in (
    "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "asinh", "acosh", "atanh", "erf", "erfc", "lgamma",
):  # fmt: skip
    library(f'def {_name}_T(x):\n    """{_name}, by the C library. At most 2 ULP."""\n    return math.{_name}(x)\n', FLOATS)
