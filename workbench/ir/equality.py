"""Equality of programs up to the names of their variables.

Equal programs have the same equations in the same order, equal params and types, and literals with the same bits.
Not compared is what the text does not show either: origins, hints, and (unless asked for) weak types. Values of
constvars are compared where both programs have them. A result that is dropped equals one that nothing reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .avals import Aval
from .jaxpr import Atom, DropVar, Equation, Jaxpr, Literal, Var
from .shown_params import plain_value, shown_params


def jaxprs_equal(p: Jaxpr, q: Jaxpr, *, weak_types: bool = False) -> bool:
    """Whether `p` and `q` are the same program up to the names of variables. `weak_types`: compare these too."""
    return _Comparison(weak_types).jaxprs(p, q)


def same_bits(a: Any, b: Any) -> bool:
    """Whether two arrays or scalars agree in shape, dtype and value; NaNs are alike, 0.0 and -0.0 are not."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind == "c":
        return same_bits(a.real, b.real) and same_bits(a.imag, b.imag)
    if a.dtype.kind == "f":
        same_sign = np.signbit(a) == np.signbit(b)
        return bool(np.all(((a == b) & same_sign) | (np.isnan(a) & np.isnan(b))))
    return bool(np.array_equal(a, b))


class _Comparison:
    def __init__(self, weak_types: bool):
        self.weak_types = weak_types
        self.equal_programs: set[tuple[int, int]] = set()

    def avals(self, a: Aval, b: Aval) -> bool:
        return a.shape == b.shape and a.dtype == b.dtype and (not self.weak_types or a.weak_type == b.weak_type)

    def jaxprs(self, p: Jaxpr, q: Jaxpr) -> bool:
        if p is q or (id(p), id(q)) in self.equal_programs:
            return True
        renamed: dict[Var, Var] = {}
        same = (
            self.bind(renamed, p.constvars, q.constvars)
            and self.bind(renamed, p.invars, q.invars)
            and len(p.eqns) == len(q.eqns)
            and all(self.eqns(renamed, a, b) for a, b in zip(p.eqns, q.eqns, strict=True))
            and self.atoms(renamed, p.outvars, q.outvars)
            and (not (p.consts and q.consts) or all(map(same_bits, p.consts, q.consts)))
        )
        if same:
            self.equal_programs.add((id(p), id(q)))
        return same

    def bind(self, renamed: dict[Var, Var], p: tuple[Var, ...], q: tuple[Var, ...]) -> bool:
        renamed.update(zip(p, q, strict=False))
        return len(p) == len(q) and all(self.avals(a.aval, b.aval) for a, b in zip(p, q, strict=True))

    def eqns(self, renamed: dict[Var, Var], a: Equation, b: Equation) -> bool:
        return (
            a.primitive is b.primitive
            and self.atoms(renamed, a.invars, b.invars)
            # Params that are not shown are given by the types.
            and self.params(dict(shown_params(a)), dict(shown_params(b)))
            and self.bind(renamed, a.outvars, b.outvars)
        )

    def atoms(self, renamed: dict[Var, Var], p: tuple[Atom, ...], q: tuple[Atom, ...]) -> bool:
        return len(p) == len(q) and all(self.atom(renamed, a, b) for a, b in zip(p, q, strict=True))

    def atom(self, renamed: dict[Var, Var], a: Atom, b: Atom) -> bool:
        if isinstance(a, Literal) or isinstance(b, Literal):
            if not (isinstance(a, Literal) and isinstance(b, Literal) and self.avals(a.aval, b.aval)):
                return False
            return same_bits(np.asarray(a.val, a.aval.dtype), np.asarray(b.val, b.aval.dtype))
        return renamed.get(a) is b or (isinstance(a, DropVar) and isinstance(b, DropVar) and a not in renamed)

    def params(self, a: Any, b: Any) -> bool:
        if isinstance(a, Jaxpr) or isinstance(b, Jaxpr):
            return isinstance(a, Jaxpr) and isinstance(b, Jaxpr) and self.jaxprs(a, b)
        if isinstance(a, dict) and isinstance(b, dict):
            return a.keys() == b.keys() and all(self.params(value, b[key]) for key, value in a.items())
        if isinstance(a, tuple | list) and isinstance(b, tuple | list):
            return type(a) is type(b) and len(a) == len(b) and all(map(self.params, a, b))
        a, b = plain_value(a), plain_value(b)
        if isinstance(a, float | complex) and isinstance(b, float | complex):
            return type(a) is type(b) and same_bits(a, b)
        return type(a) is type(b) and a == b
