"""Which equations raise for some values of their operands: an index out of range, a singular matrix.

NumPy raises whether or not the result is read. So they stay in the program, in their order.
"""

from __future__ import annotations

from ..ir import Equation, subjaxprs

MAY_RAISE = frozenset(
    {"gather_checked", "check_indices", "check", "loop", "numpy_call", "cholesky", "inv", "solve", "eig", "eigh", "svd",
     "lstsq"}
)  # fmt: skip


CHECKS = frozenset({"check", "check_indices"})  # which do nothing else


def may_raise(eqn: Equation) -> bool:
    """Whether `eqn` can raise for some values of its operands."""
    if eqn.primitive.name == "scatter":
        return eqn.params["mode"] == "raise"
    if eqn.primitive.name in MAY_RAISE:
        return True
    return any(any(map(may_raise, inner.eqns)) for _, inner in subjaxprs(eqn))


def may_not_end(eqn: Equation) -> bool:
    """Whether `eqn` holds a loop whose turns the numbers decide."""
    name = eqn.primitive.name
    if name == "while" or (name == "loop" and "while " in eqn.params["program"].source):
        return True
    return any(any(map(may_not_end, inner.eqns)) for _, inner in subjaxprs(eqn))
