"""Functions that still call the platform's math library, one element at a time: correct, and not vectorised."""

from __future__ import annotations

from .registry import COMPLEXES, FLOATS, library

library(
    '''
def lgamma_T(x):
    """The logarithm of |gamma(x)|, by the C library, lane by lane. At most 8 ULP."""
    return lgamma_or_slow_T(x)
''',
    FLOATS,
)


def _call(name: str, arguments: str, expression: str, dtypes: tuple[str, ...]) -> None:
    doc = f"{name}, by the C library. At most 2 ULP."
    library(f'def {name}_T({arguments}):\n    """{doc}"""\n    return T_type({expression})\n', dtypes)


_call("pow", "x, y", "x**y", COMPLEXES)
for _name in (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "sign", "square", "reciprocal",
):  # fmt: skip
    _call(_name.replace("arc", "a"), "x", f"np.{_name}(x)", COMPLEXES)
