"""Dead code: equations whose results nobody reads are not computed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress

from ..ir import DropVar, Equation, Jaxpr, Var
from ..primitives.raising import may_raise
from .rewrite import drop_result


def eliminate_dead_code(jaxpr: Jaxpr) -> Jaxpr:
    """Keep what the outputs need and what may raise; results that nobody reads of what is kept become `_`.

        b: f64[3] = exp a
        c: f64[3] = sin a
        in (b,)
          ->
        b: f64[3] = exp a
        in (b,)

    Programs inside equations lose the inputs, outputs and carried values that are not needed. The inputs of `jaxpr`
    itself stay: they are its signature.
    """
    return _Pruner().program(jaxpr)


class _Pruner:
    def __init__(self) -> None:
        # A program that is called twice with the same needs stays one program.
        self.pruned: dict[tuple[Jaxpr, tuple[bool, ...]], tuple[Jaxpr, tuple[bool, ...]]] = {}
        self.rules: dict[str, Callable[[Equation, tuple[bool, ...]], Equation]] = {
            "pjit": self.call, "cond": self.branch, "while": self.while_loop, "scan": self.scan,
        }  # fmt: skip

    def program(self, jaxpr: Jaxpr) -> Jaxpr:
        live = {atom for atom in jaxpr.outvars if isinstance(atom, Var)}
        kept: list[Equation] = []
        for eqn in reversed(jaxpr.eqns):
            needed = tuple(var in live for var in eqn.outvars)
            if not any(needed) and not may_raise(eqn):
                continue
            prune = self.rules.get(eqn.primitive.name)
            eqn = _with_unread_dropped(eqn, needed) if prune is None else prune(eqn, needed)
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

    def branch(self, eqn: Equation, needed: tuple[bool, ...]) -> Equation:
        branches = eqn.params["branches"]
        pruned = [self.program(_pick_results(branch, needed)) for branch in branches]
        read = [any(flags) for flags in zip(*[_is_read(branch) for branch in pruned], strict=True)]
        pruned = [_pick_inputs(branch, read) for branch in pruned]
        index, *operands = eqn.invars
        if all(map(operator.is_, branches, pruned)):
            return eqn
        return replace(
            eqn, invars=(index, *compress(operands, read)), outvars=tuple(compress(eqn.outvars, needed)),
            params={"branches": tuple(pruned)},
        )  # fmt: skip

    def while_loop(self, eqn: Equation, needed: tuple[bool, ...]) -> Equation:
        params = eqn.params
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond = self.program(params["cond_jaxpr"])
        body, keep, read = self.body(params["body_jaxpr"], n_body, needed, _is_read(cond)[n_cond:])
        read_by_cond = [*_is_read(cond)[:n_cond], *keep]
        cond = _pick_inputs(cond, read_by_cond)
        if cond is params["cond_jaxpr"] and body is params["body_jaxpr"]:
            return _with_unread_dropped(eqn, needed)
        invars = compress(eqn.invars, [*read_by_cond[:n_cond], *read[:n_body], *keep])
        outvars = [v if used else drop_result(v) for v, used in zip(eqn.outvars, needed, strict=True)]
        return replace(
            eqn, invars=tuple(invars), outvars=tuple(compress(outvars, keep)),
            params={
                "cond_jaxpr": cond, "cond_nconsts": sum(read_by_cond[:n_cond]),
                "body_jaxpr": body, "body_nconsts": sum(read[:n_body]),
            },
        )  # fmt: skip

    def scan(self, eqn: Equation, needed: tuple[bool, ...]) -> Equation:
        params = eqn.params
        n_consts, n_carry = params["num_consts"], params["num_carry"]
        rows = needed[n_carry:]
        body, keep, read = self.body(params["jaxpr"], n_consts, needed[:n_carry], [False] * n_carry, rows)
        if body is params["jaxpr"]:
            return _with_unread_dropped(eqn, needed)
        outvars = [v if used else drop_result(v) for v, used in zip(eqn.outvars, needed, strict=True)]
        return replace(
            eqn, invars=tuple(compress(eqn.invars, read)), outvars=tuple(compress(outvars, [*keep, *rows])),
            params={**params, "jaxpr": body, "num_consts": sum(read[:n_consts]), "num_carry": sum(keep)},
        )  # fmt: skip

    def body(
        self, jaxpr: Jaxpr, n_consts: int, needed: Sequence[bool], used: Sequence[bool], rows: Sequence[bool] = ()
    ) -> tuple[Jaxpr, list[bool], list[bool]]:
        """A loop's body with the carried values alone that are `needed` after the loop, `used` by its condition, or
        read for one of these; which are kept, and which inputs are."""
        keep = [a or b for a, b in zip(needed, used, strict=True)]
        while True:
            body = self.program(_pick_results(jaxpr, [*keep, *rows]))
            read = _is_read(body)
            more = [a or b for a, b in zip(keep, read[n_consts:], strict=False)]
            if more == keep:
                break
            keep = more
        read[n_consts : n_consts + len(keep)] = keep
        return _pick_inputs(body, read), keep, read


def _pick_results(jaxpr: Jaxpr, needed: Sequence[bool]) -> Jaxpr:
    return jaxpr if all(needed) else replace(jaxpr, outvars=tuple(compress(jaxpr.outvars, needed)))


def _is_read(jaxpr: Jaxpr) -> list[bool]:
    """Which inputs the program reads or returns."""
    used = {atom for eqn in jaxpr.eqns for atom in eqn.invars if isinstance(atom, Var)}
    used.update(atom for atom in jaxpr.outvars if isinstance(atom, Var))
    return [var in used for var in jaxpr.invars]


def _pick_inputs(jaxpr: Jaxpr, keep: Sequence[bool]) -> Jaxpr:
    return jaxpr if all(keep) else replace(jaxpr, invars=tuple(compress(jaxpr.invars, keep)))


def _with_unread_dropped(eqn: Equation, needed: tuple[bool, ...]) -> Equation:
    if all(is_needed or isinstance(var, DropVar) for var, is_needed in zip(eqn.outvars, needed, strict=True)):
        return eqn
    outvars = (v if is_needed else drop_result(v) for v, is_needed in zip(eqn.outvars, needed, strict=True))
    return replace(eqn, outvars=tuple(outvars))
