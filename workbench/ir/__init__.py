"""What a program is: avals, variables, equations, jaxprs; printing, parsing, checking, reference evaluation."""

from .avals import Aval, aval_of, short_dtype_name, supported_dtype
from .jaxpr import Atom, DropVar, Equation, Jaxpr, Literal, Var, subjaxprs, uses
from .origins import NO_ORIGIN, Origin, Scope, Span
from .primitive import REGISTRY, MissingRuleError, Primitive

__all__ = [
    "NO_ORIGIN", "REGISTRY", "Atom", "Aval", "DropVar", "Equation", "Jaxpr", "Literal", "MissingRuleError", "Origin",
    "Primitive", "Scope", "Span", "Var", "aval_of", "short_dtype_name", "subjaxprs", "supported_dtype", "uses",
]  # fmt: skip
