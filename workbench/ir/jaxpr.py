"""Programs: variables, literals, equations and jaxprs, all small records that nobody edits.

A pass takes a `Jaxpr` and returns a new one. Variables and equations compare by identity, avals by value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .avals import Aval
from .origins import NO_ORIGIN, Origin
from .primitive import Primitive


class Var:
    """A variable: bound once, by an equation or as an input. `hint` is the user's name for it, or ""."""

    __slots__ = ("aval", "hint")

    def __init__(self, aval: Aval, hint: str = ""):
        self.aval = aval
        self.hint = hint

    def __repr__(self) -> str:
        return f"Var({self.hint or hex(id(self))[-4:]}:{self.aval})"


class DropVar(Var):
    """A result that nothing reads; printed as `_`."""

    __slots__ = ()


@dataclass(frozen=True, eq=False, slots=True)
class Literal:
    """A scalar constant written inside an equation. `val` is a Python or NumPy scalar."""

    val: Any
    aval: Aval

    def __repr__(self) -> str:
        return f"Literal({self.val}:{self.aval})"


Atom = Var | Literal


@dataclass(frozen=True, eq=False, slots=True)
class Equation:
    """One application of a primitive: `outvars = primitive[params] invars`."""

    primitive: Primitive
    invars: tuple[Atom, ...]
    outvars: tuple[Var, ...]
    params: Mapping[str, Any]
    origin: Origin = NO_ORIGIN


@dataclass(frozen=True, eq=False, slots=True)
class Jaxpr:
    """A typed program: `{ lambda constvars ; invars. let eqns in outvars }`.

    consts: the arrays bound to `constvars`, in order (small constants that tracing folded; never the user's arrays,
    which are inputs).
    """

    invars: tuple[Var, ...]
    eqns: tuple[Equation, ...]
    outvars: tuple[Atom, ...]
    constvars: tuple[Var, ...] = ()
    consts: tuple[np.ndarray, ...] = field(default=(), repr=False)

    @property
    def in_avals(self) -> tuple[Aval, ...]:
        return tuple(v.aval for v in self.invars)

    @property
    def out_avals(self) -> tuple[Aval, ...]:
        return tuple(v.aval for v in self.outvars)

    def __str__(self) -> str:
        from .printer import print_jaxpr

        return print_jaxpr(self)


def subjaxprs(eqn: Equation) -> Iterator[tuple[str, Jaxpr]]:
    """The programs held in an equation's params (`jaxpr`, `branches[0]`, `body_jaxpr`...), with their names."""
    for key, value in eqn.params.items():
        if isinstance(value, Jaxpr):
            yield key, value
        elif isinstance(value, tuple):
            yield from ((f"{key}[{i}]", item) for i, item in enumerate(value) if isinstance(item, Jaxpr))


def uses(jaxpr: Jaxpr) -> dict[Var, list[Equation]]:
    """The equations that read each variable, in program order."""
    readers: dict[Var, list[Equation]] = {}
    for eqn in jaxpr.eqns:
        for atom in dict.fromkeys(eqn.invars):
            if isinstance(atom, Var):
                readers.setdefault(atom, []).append(eqn)
    return readers
