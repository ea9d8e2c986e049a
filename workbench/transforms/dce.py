"""Dead code: equations whose results nobody reads are not computed."""

from __future__ import annotations

from dataclasses import replace

from ..ir import DropVar, Equation, Jaxpr, Var
from .rewrite import drop_result

# These raise on some values (an index out of range, a singular matrix). NumPy would have raised whether or not the
# result is read, so they stay.
MAY_RAISE = frozenset(
    {"gather_checked", "numpy_call", "cholesky", "inv", "solve", "eig", "eigh", "svd", "lstsq"}
)  # fmt: skip


def may_raise(eqn: Equation) -> bool:
    """Whether `eqn` can raise for some values of its operands."""
    if eqn.primitive.name == "scatter":
        return eqn.params["mode"] == "raise"
    if eqn.primitive.name in MAY_RAISE:
        return True
    inner = eqn.params.get("jaxpr")
    return isinstance(inner, Jaxpr) and any(map(may_raise, inner.eqns))


def eliminate_dead_code(jaxpr: Jaxpr) -> Jaxpr:
    """Keep what the outputs need and what may raise; results that nobody reads of what is kept become `_`.

        b: f64[3] = exp a
        c: f64[3] = sin a
        in (b,)
          ->
        b: f64[3] = exp a
        in (b,)

    A nested `pjit` loses the inputs and outputs that are not needed. The inputs of `jaxpr` itself stay: they are its
    signature.
    """
    return _Pruner().program(jaxpr)


class _Pruner:
    def __init__(self) -> None:
        # A program that is called twice with the same needs stays one program.
        self.pruned: dict[tuple[Jaxpr, tuple[bool, ...]], tuple[Jaxpr, tuple[bool, ...]]] = {}

    def program(self, jaxpr: Jaxpr) -> Jaxpr:
        live = {atom for atom in jaxpr.outvars if isinstance(atom, Var)}
        kept: list[Equation] = []
        for eqn in reversed(jaxpr.eqns):
            needed = tuple(var in live for var in eqn.outvars)
            if not any(needed) and not may_raise(eqn):
                continue
            eqn = self.call(eqn, needed) if eqn.primitive.name == "pjit" else _with_unread_dropped(eqn, needed)
            kept.append(eqn)
            live.update(atom for atom in eqn.invars if isinstance(atom, Var))
        eqns = tuple(reversed(kept))
        if len(eqns) == len(jaxpr.eqns) and all(a is b for a, b in zip(eqns, jaxpr.eqns, strict=True)):
            return jaxpr
        return replace(jaxpr, eqns=eqns)

    def call(self, eqn: Equation, needed: tuple[bool, ...]) -> Equation:
        key = (eqn.params["jaxpr"], needed)
        if key not in self.pruned:
            self.pruned[key] = self.callee(*key)
        inner, read = self.pruned[key]
        if inner is key[0]:
            return eqn
        invars = tuple(atom for atom, is_read in zip(eqn.invars, read, strict=True) if is_read)
        outvars = tuple(var for var, is_needed in zip(eqn.outvars, needed, strict=True) if is_needed)
        return replace(eqn, invars=invars, outvars=outvars, params={**eqn.params, "jaxpr": inner})

    def callee(self, jaxpr: Jaxpr, needed: tuple[bool, ...]) -> tuple[Jaxpr, tuple[bool, ...]]:
        """`jaxpr` with the `needed` outputs alone, and which of its inputs these read."""
        outvars = tuple(atom for atom, is_needed in zip(jaxpr.outvars, needed, strict=True) if is_needed)
        inner = self.program(jaxpr if all(needed) else replace(jaxpr, outvars=outvars))
        used = {atom for eqn in inner.eqns for atom in eqn.invars if isinstance(atom, Var)}
        used.update(atom for atom in outvars if isinstance(atom, Var))
        read = tuple(var in used for var in inner.invars)
        if all(read):
            return inner, read
        return replace(inner, invars=tuple(var for var in inner.invars if var in used)), read


def _with_unread_dropped(eqn: Equation, needed: tuple[bool, ...]) -> Equation:
    if all(is_needed or isinstance(var, DropVar) for var, is_needed in zip(eqn.outvars, needed, strict=True)):
        return eqn
    outvars = (v if is_needed else drop_result(v) for v, is_needed in zip(eqn.outvars, needed, strict=True))
    return replace(eqn, outvars=tuple(outvars))
