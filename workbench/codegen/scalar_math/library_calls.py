"""Functions that still call the platform's math library, one element at a time: correct, and not vectorised."""

from __future__ import annotations

from .registry import COMPLEXES, FLOATS, library


def _call(name: str, arguments: str, expression: str, dtypes: tuple[str, ...]) -> None:
    doc = f"{name}, by the C library. At most 2 ULP."
    library(f'def {name}_T({arguments}):\n    """{doc}"""\n    return T_type({expression})\n', dtypes)


for _name in (
    "tan", "asin", "acos", "atan",
    "asinh", "acosh", "atanh", "erf", "erfc", "lgamma",
):  # fmt: skip
    _call(_name, "x", f"math.{_name}(x)", FLOATS)
_call("cbrt", "x", "np.cbrt(x)", FLOATS)
for _name in ("hypot", "logaddexp", "logaddexp2"):
    _call(_name, "x, y", f"np.{_name}(x, y)", FLOATS)
_call("atan2", "y, x", "math.atan2(y, x)", FLOATS)
_call("pow", "x, y", "x**y", FLOATS + COMPLEXES)
for _name in (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "sign", "square", "reciprocal",
):  # fmt: skip
    _call(_name.replace("arc", "a"), "x", f"np.{_name}(x)", COMPLEXES)
