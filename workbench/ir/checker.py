"""The rules that every program keeps, checked after every pass in tests.

Each variable is bound once and read after it is bound; literals are scalars; primitives are known; the type of each
result is what the primitive's abstract evaluation says of its operands; programs inside params keep the same rules
and read nothing from outside.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from ..errors import CheckError
from .avals import Aval
from .jaxpr import Atom, DropVar, Equation, Jaxpr, Literal, Var, subjaxprs
from .origins import NO_ORIGIN
from .primitive import REGISTRY, Primitive
from .printer import print_eqn, printed


def check_jaxpr(jaxpr: Jaxpr, *, after: str = "", require_origins: bool = False) -> None:
    """Raise CheckError where `jaxpr` breaks a rule.

    after: the pass that made it, for the message. require_origins: every equation must say where it came from.
    Weak types are not checked: they say how a dtype was chosen, not what it is.
    """
    _Checker(jaxpr, after, require_origins).program(jaxpr, path="")


def same_type(a: Aval, b: Aval) -> bool:
    """Equal shapes and dtypes."""
    return a.shape == b.shape and a.dtype == b.dtype


class _Checker:
    def __init__(self, root: Jaxpr, after: str, require_origins: bool):
        self.root = root
        self.after = after
        self.require_origins = require_origins
        self.checked: set[Jaxpr] = set()

    def fail(self, message: str, eqn: Equation | None = None, path: str = "") -> NoReturn:
        parts = [f"after {self.after!r}: " if self.after else "", message]
        if eqn is not None:
            parts.append(f"\nin the equation{f' in {path}' if path else ''}:\n  {self.eqn_text(eqn)}")
        raise CheckError("".join(parts), span=eqn.origin.span if eqn is not None else None)

    def eqn_text(self, eqn: Equation) -> str:
        try:
            return print_eqn(eqn, printed(self.root).names).replace("\n", "\n  ")
        except Exception as error:  # the program is broken: its text is a help, not the point
            return f"{eqn.primitive} (it cannot be printed: {error})"

    def program(self, jaxpr: Jaxpr, path: str) -> None:
        if jaxpr in self.checked:
            return
        self.checked.add(jaxpr)
        bound: set[Var] = set()
        if jaxpr.consts and len(jaxpr.consts) != len(jaxpr.constvars):
            self.fail(f"{len(jaxpr.constvars)} constvars but {len(jaxpr.consts)} consts")
        for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=False):
            if value.shape != var.aval.shape or value.dtype != var.aval.dtype:
                self.fail(f"a constvar of type {var.aval} holds an array of {value.dtype}, shape {value.shape}")
        for var in (*jaxpr.constvars, *jaxpr.invars):
            self.bind(var, bound, "an input", None, path)
        for eqn in jaxpr.eqns:
            self.equation(eqn, bound, path)
        for atom in jaxpr.outvars:
            self.atom(atom, bound, "an output", None, path)

    def bind(self, var: Var, bound: set[Var], what: str, eqn: Equation | None, path: str) -> None:
        if not isinstance(var, Var):
            self.fail(f"{what} is bound to {var!r}, which is no variable", eqn, path)
        if var in bound:
            self.fail(f"{what} binds {var!r}, which is bound already", eqn, path)
        if not isinstance(var, DropVar):
            bound.add(var)

    def atom(self, atom: Atom, bound: set[Var], what: str, eqn: Equation | None, path: str) -> None:
        if isinstance(atom, Literal):
            if atom.aval.shape != () or np.shape(atom.val) != ():
                self.fail(f"{what} is the literal {atom!r}; literals are scalars", eqn, path)
        elif isinstance(atom, DropVar):
            self.fail(f"{what} reads a dropped result", eqn, path)
        elif not isinstance(atom, Var):
            self.fail(f"{what} is {atom!r}, neither a variable nor a literal", eqn, path)
        elif atom not in bound:
            self.fail(f"{what} reads {atom!r}, which is not bound before it", eqn, path)

    def equation(self, eqn: Equation, bound: set[Var], path: str) -> None:
        primitive = eqn.primitive
        if not isinstance(primitive, Primitive) or REGISTRY.get(primitive.name) is not primitive:
            self.fail(f"{primitive!r} is no declared primitive", eqn, path)
        if self.require_origins and (eqn.origin is NO_ORIGIN or not eqn.origin.spans):
            self.fail(f"{primitive} does not say where it came from", eqn, path)
        for i, atom in enumerate(eqn.invars):
            self.atom(atom, bound, f"operand {i} of {primitive}", eqn, path)
        inner_path = f"{path}/{primitive}" if path else primitive.name
        for _, inner in subjaxprs(eqn):
            self.program(inner, inner_path)
        self.types(eqn, path)
        for i, var in enumerate(eqn.outvars):
            self.bind(var, bound, f"result {i} of {primitive}", eqn, path)

    def types(self, eqn: Equation, path: str) -> None:
        in_avals = [atom.aval for atom in eqn.invars]
        inner = eqn.params.get("jaxpr")
        if eqn.primitive.name == "pjit" and isinstance(inner, Jaxpr):
            expected = list(inner.in_avals)
            if len(expected) != len(in_avals) or not all(map(same_type, in_avals, expected)):
                self.fail(f"the program takes ({_types(expected)}) but is given ({_types(in_avals)})", eqn, path)
        try:
            avals = eqn.primitive.abstract_eval(*in_avals, **eqn.params)
        except Exception as error:
            self.fail(f"{eqn.primitive} refuses its operands ({_types(in_avals)}): {error}", eqn, path)
        found = [var.aval for var in eqn.outvars]
        if len(avals) != len(found) or not all(map(same_type, avals, found)):
            self.fail(f"{eqn.primitive} gives ({_types(avals)}) but is bound to ({_types(found)})", eqn, path)


def _types(avals: list[Aval] | tuple[Aval, ...]) -> str:
    return ", ".join(map(str, avals))
