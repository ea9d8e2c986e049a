"""What a program is: avals, variables, equations, jaxprs; printing, parsing, checking, reference evaluation."""

from .avals import Aval, aval_of, short_dtype_name, supported_dtype
from .builder import JaxprBuilder, literal, parse_aval
from .checker import check_jaxpr
from .equality import jaxprs_equal, same_bits
from .evaluate import eval_jaxpr, last_uses
from .jaxpr import Atom, DropVar, Equation, Jaxpr, Literal, Var, subjaxprs, uses
from .origins import NO_ORIGIN, Origin, Scope, Span
from .parser import parse_jaxpr
from .primitive import REGISTRY, MissingRuleError, Primitive
from .printer import PrintedJaxpr, equation_lines, print_atom, print_eqn, print_jaxpr, printed

__all__ = [
    "NO_ORIGIN", "REGISTRY", "Atom", "Aval", "DropVar", "Equation", "Jaxpr", "JaxprBuilder", "Literal",
    "MissingRuleError", "Origin", "Primitive", "PrintedJaxpr", "Scope", "Span", "Var", "aval_of", "check_jaxpr",
    "equation_lines", "eval_jaxpr", "jaxprs_equal", "last_uses", "literal", "parse_aval", "parse_jaxpr", "print_atom",
    "print_eqn", "print_jaxpr", "printed", "same_bits", "short_dtype_name", "subjaxprs", "supported_dtype", "uses",
]  # fmt: skip
