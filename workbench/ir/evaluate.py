"""The reference evaluator: runs a program equation by equation in NumPy.

It is the oracle of the tests and the `numpy` device. Warnings about floating-point errors are NumPy's to give and
follow the caller's `np.errstate`; nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from ..errors import CheckError
from .jaxpr import DropVar, Equation, Jaxpr, Literal, Var

OnEquation = Callable[[Equation, tuple[np.ndarray, ...]], object]

_left: ContextVar[list[int] | None] = ContextVar("equations that may still be evaluated", default=None)


class TooManyEquationsError(Exception):
    """An evaluation took more equations than it may."""


@contextmanager
def at_most(n_equations: int) -> Iterator[None]:
    """In the block, TooManyEquationsError once so many equations were evaluated, those of inner programs counted each
    time: it may be loops that take long."""
    token = _left.set([n_equations])
    try:
        yield
    finally:
        _left.reset(token)


def eval_jaxpr(jaxpr: Jaxpr, *args: np.ndarray, on_eqn: OnEquation | None = None) -> list[np.ndarray]:
    """The outputs of `jaxpr` for `args`, by the primitives' NumPy implementations.

    on_eqn: called as `on_eqn(eqn, results)` after each equation, not for those of inner programs.
    Outputs may share memory with arguments and with each other; arguments are never written to. A value is let go
    after the last equation that reads it.
    """
    if len(args) != len(jaxpr.invars):
        raise TypeError(f"the program takes {len(jaxpr.invars)} arguments, found {len(args)}")
    if len(jaxpr.consts) != len(jaxpr.constvars):
        raise TypeError("the program's constvars have no values; it was parsed from text")
    if (left := _left.get()) is not None:
        left[0] -= max(len(jaxpr.eqns), 1)
        if left[0] < 0:
            raise TooManyEquationsError
    values: dict[Var, np.ndarray] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    for i, (var, arg) in enumerate(zip(jaxpr.invars, args, strict=True)):
        value = np.asarray(arg)
        if value.shape != var.aval.shape or value.dtype != var.aval.dtype:
            raise TypeError(f"argument {i} is {value.dtype}{list(value.shape)}, the program takes {var.aval}")
        values[var] = value
    for eqn, dead in zip(jaxpr.eqns, last_uses(jaxpr), strict=True):
        operands = [_read(atom, values) for atom in eqn.invars]
        results = _run(eqn, operands)
        del operands
        if on_eqn is not None:
            on_eqn(eqn, results)
        values.update((v, r) for v, r in zip(eqn.outvars, results, strict=True) if not isinstance(v, DropVar))
        for var in dead:
            values.pop(var, None)
    return [_read(atom, values) for atom in jaxpr.outvars]


def _read(atom: Var | Literal, values: dict[Var, np.ndarray]) -> np.ndarray:
    return np.asarray(atom.val, atom.aval.dtype) if isinstance(atom, Literal) else values[atom]


def _run(eqn: Equation, operands: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    out = eqn.primitive.impl(*operands, **eqn.params)
    results = tuple(np.asarray(r) for r in (out if eqn.primitive.multiple_results else (out,)))
    if len(results) != len(eqn.outvars):
        raise CheckError(f"the impl of {eqn.primitive} gave {len(results)} results, not {len(eqn.outvars)}")
    for var, result in zip(eqn.outvars, results, strict=True):
        if result.shape != var.aval.shape or result.dtype != var.aval.dtype:
            found = f"{result.dtype}{list(result.shape)}"
            raise CheckError(f"the impl of {eqn.primitive} gave {found}, its type is {var.aval}", span=eqn.origin.span)
    return results


def last_uses(jaxpr: Jaxpr) -> list[list[Var]]:
    """For each equation, the variables that nothing reads after it (its own results too, when nothing reads them)."""
    needed = {atom for atom in jaxpr.outvars if isinstance(atom, Var)}
    dead: list[list[Var]] = []
    for eqn in reversed(jaxpr.eqns):
        mentioned = dict.fromkeys(atom for atom in (*eqn.invars, *eqn.outvars) if isinstance(atom, Var))
        dead.append([var for var in mentioned if var not in needed])
        needed.update(mentioned)
    return dead[::-1]
