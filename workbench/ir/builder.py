"""Builds a program equation by equation: for tests, for rules that write programs, and by hand.

>>> import workbench.primitives
>>> b = JaxprBuilder()
>>> x = b.input("f32[3]")
>>> print(b.build(b.emit("add", b.emit("exp", x), 1.0)))
{ lambda ; a:f32[3]. let b:f32[3] = exp a; c:f32[3] = add b 1.0:f32[] in (c,) }
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .avals import DTYPES_BY_SHORT_NAME, Aval, aval_of
from .jaxpr import Atom, Equation, Jaxpr, Literal, Var
from .origins import NO_ORIGIN, Origin
from .primitive import REGISTRY, Primitive

_TYPE = re.compile(r"(\w+)\[([\d, ]*)\]")
Operand = Atom | bool | int | float | complex | np.generic


def parse_aval(text: str) -> Aval:
    """The aval that prints as `text`, such as `f32[3,4]`."""
    match = _TYPE.fullmatch(text)
    if match is None or match[1] not in DTYPES_BY_SHORT_NAME:
        raise ValueError(f"{text!r} is not a type such as f32[3,4]")
    return Aval(tuple(int(d) for d in match[2].split(",") if d.strip()), DTYPES_BY_SHORT_NAME[match[1]])


def literal(value: Any, dtype: np.dtype | None = None) -> Literal:
    """A scalar constant of `dtype`, by default the dtype that `value` has on its own."""
    aval = aval_of(value) if dtype is None else Aval((), np.dtype(dtype))
    return Literal(np.asarray(value, aval.dtype)[()], aval)


class JaxprBuilder:
    """Inputs and equations in the order of the calls; `build` closes the program."""

    def __init__(self) -> None:
        self.invars: list[Var] = []
        self.constvars: list[Var] = []
        self.consts: list[np.ndarray] = []
        self.eqns: list[Equation] = []

    def input(self, aval: Aval | str, hint: str = "") -> Var:
        self.invars.append(Var(parse_aval(aval) if isinstance(aval, str) else aval, hint))
        return self.invars[-1]

    def const(self, value: np.ndarray, hint: str = "") -> Var:
        self.constvars.append(Var(aval_of(value), hint))
        self.consts.append(value)
        return self.constvars[-1]

    def emit(
        self,
        primitive: Primitive | str,
        /,
        *operands: Operand,
        origin: Origin = NO_ORIGIN,
        hint: str = "",
        **params: Any,
    ) -> Any:
        """Append one equation; returns its result, or a tuple of them if the primitive has several.

        A Python scalar among the operands takes the dtype of the first variable, NumPy scalars keep their own.
        """
        if isinstance(primitive, str):
            primitive = REGISTRY[primitive]
        dtype = next((x.aval.dtype for x in operands if isinstance(x, Var)), None)
        atoms = tuple(self._atom(x, dtype) for x in operands)
        avals = primitive.abstract_eval(*(atom.aval for atom in atoms), **params)
        outvars = tuple(Var(aval, hint) for aval in avals)
        self.eqns.append(Equation(primitive, atoms, outvars, params, origin))
        return outvars if primitive.multiple_results else outvars[0]

    def _atom(self, operand: Operand, dtype: np.dtype | None) -> Atom:
        if isinstance(operand, Var | Literal):
            return operand
        return literal(operand, None if isinstance(operand, np.generic) else dtype)

    def build(self, *outvars: Operand) -> Jaxpr:
        return Jaxpr(
            tuple(self.invars),
            tuple(self.eqns),
            tuple(self._atom(v, None) for v in outvars),
            tuple(self.constvars),
            tuple(self.consts),
        )
