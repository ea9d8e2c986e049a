"""Control flow: equations that choose or repeat a program of their own, with JAX's params.

    cond[branches=(...)] index operands             # i32 index; every branch takes the operands
    while[cond_jaxpr cond_nconsts body_jaxpr body_nconsts] cond_consts body_consts carry
    scan[jaxpr length reverse num_consts num_carry unroll] consts carry xs -> carry ys
    check[filename line] p                          # ends the call unless p is true

A plan has one step for such an equation, which holds the plans of its programs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import CheckFailedError
from ..ir import Aval, Jaxpr, Primitive, Span
from ..ir.evaluate import eval_jaxpr
from .lowering import Control, LibraryCall


def check_takes(name: str, jaxpr: Jaxpr, given: Sequence[Aval]) -> None:
    """TypeError unless `jaxpr` takes operands of these types."""
    if len(given) != len(jaxpr.invars):
        raise TypeError(f"{name}: {len(given)} operands for the {len(jaxpr.invars)} inputs of its program")
    for number, (aval, expected) in enumerate(zip(given, jaxpr.in_avals, strict=True)):
        if (aval.shape, aval.dtype) != (expected.shape, expected.dtype):
            raise TypeError(f"{name}: operand {number} is {aval}; the program takes {expected}")


def check_carry(name: str, carry: Sequence[Aval], results: Sequence[Aval]) -> None:
    """TypeError unless a loop's body gives back the types that it takes."""
    if len(carry) != len(results):
        raise TypeError(f"{name}: the body takes {len(carry)} carried values and gives {len(results)}")
    for number, (before, after) in enumerate(zip(carry, results, strict=True)):
        if (before.shape, before.dtype) != (after.shape, after.dtype):
            raise TypeError(f"{name}: carried value {number} is {before} before an iteration and {after} after it")


# ---- cond: one of several programs, chosen by an index ----
cond_p = Primitive("cond", multiple_results=True)


@cond_p.def_impl
def cond_impl(index: np.ndarray, *operands: np.ndarray, branches: tuple[Jaxpr, ...]) -> tuple[np.ndarray, ...]:
    return tuple(eval_jaxpr(branches[int(index)], *operands))


@cond_p.def_abstract_eval
def cond_aval(index: Aval, *operands: Aval, branches: tuple[Jaxpr, ...]) -> tuple[Aval, ...]:
    if index.shape or index.dtype != np.int32:
        raise TypeError(f"cond: the index is {index}; it must be i32[]")
    if not branches:
        raise TypeError("cond: there are no branches")
    first = branches[0].out_avals
    for branch in branches:
        check_takes("cond", branch, operands)
        found = branch.out_avals
        if [(a.shape, a.dtype) for a in found] != [(a.shape, a.dtype) for a in first]:
            types = [f"({', '.join(map(str, avals))})" for avals in (first, found)]
            raise TypeError(f"cond: one branch gives {types[0]}, another one {types[1]}")
    return tuple(
        Aval(a.shape, a.dtype, all(branch.out_avals[k].weak_type for branch in branches)) for k, a in enumerate(first)
    )


cond_p.def_lowering(Control())

# ---- while: a body, as long as a condition holds ----
while_p = Primitive("while", multiple_results=True)


@while_p.def_impl
def while_impl(
    *operands: np.ndarray, cond_jaxpr: Jaxpr, cond_nconsts: int, body_jaxpr: Jaxpr, body_nconsts: int
) -> tuple[np.ndarray, ...]:
    cond_consts = operands[:cond_nconsts]
    body_consts = operands[cond_nconsts : cond_nconsts + body_nconsts]
    carry = list(operands[cond_nconsts + body_nconsts :])
    while eval_jaxpr(cond_jaxpr, *cond_consts, *carry)[0]:
        carry = eval_jaxpr(body_jaxpr, *body_consts, *carry)
    return tuple(carry)


@while_p.def_abstract_eval
def while_aval(
    *operands: Aval, cond_jaxpr: Jaxpr, cond_nconsts: int, body_jaxpr: Jaxpr, body_nconsts: int
) -> tuple[Aval, ...]:
    body_consts = operands[cond_nconsts : cond_nconsts + body_nconsts]
    carry = operands[cond_nconsts + body_nconsts :]
    check_takes("while: the condition", cond_jaxpr, (*operands[:cond_nconsts], *carry))
    check_takes("while: the body", body_jaxpr, (*body_consts, *carry))
    check_carry("while", carry, body_jaxpr.out_avals)
    if [(a.shape, a.dtype) for a in cond_jaxpr.out_avals] != [((), np.dtype(bool))]:
        raise TypeError(f"while: the condition gives {', '.join(map(str, cond_jaxpr.out_avals))}; it must give bool[]")
    return body_jaxpr.out_avals


while_p.def_lowering(Control())

# ---- scan: a body, once for each row of its inputs ----
scan_p = Primitive("scan", multiple_results=True)


@scan_p.def_impl
def scan_impl(
    *operands: np.ndarray, jaxpr: Jaxpr, length: int, reverse: bool, num_consts: int, num_carry: int, unroll: int
) -> tuple[np.ndarray, ...]:
    consts = operands[:num_consts]
    carry = list(operands[num_consts : num_consts + num_carry])
    xs = operands[num_consts + num_carry :]
    stacked = [np.empty((length, *a.shape), a.dtype) for a in jaxpr.out_avals[num_carry:]]
    for i in reversed(range(length)) if reverse else range(length):
        results = eval_jaxpr(jaxpr, *consts, *carry, *[x[i] for x in xs])
        carry = results[:num_carry]
        for rows, y in zip(stacked, results[num_carry:], strict=True):
            rows[i] = y
    return (*carry, *stacked)


@scan_p.def_abstract_eval
def scan_aval(
    *operands: Aval, jaxpr: Jaxpr, length: int, reverse: bool, num_consts: int, num_carry: int, unroll: int
) -> tuple[Aval, ...]:
    xs = operands[num_consts + num_carry :]
    for x in xs:
        if x.shape[:1] != (length,):
            raise TypeError(f"scan: an input is {x}; its first axis must have length {length}")
    rows = [Aval(x.shape[1:], x.dtype) for x in xs]
    check_takes("scan", jaxpr, (*operands[: num_consts + num_carry], *rows))
    results = jaxpr.out_avals
    check_carry("scan", operands[num_consts : num_consts + num_carry], results[:num_carry])
    return (*results[:num_carry], *[Aval((length, *a.shape), a.dtype) for a in results[num_carry:]])


scan_p.def_lowering(Control())


# ---- check: `p`, or CheckFailedError where it is false: the user's code raises in this line ----
check_p = Primitive("check")


@check_p.def_impl
def check_impl(p: np.ndarray, *, filename: str, line: int) -> np.ndarray:
    if not p:
        raise CheckFailedError(
            f"WB351  Line {line} raises, with these numbers: the call runs in NumPy, from its first line.",
            span=Span(filename, line, line, 0, 0),
        )
    return p


@check_p.def_abstract_eval
def check_aval(p: Aval, *, filename: str, line: int) -> Aval:
    if p.shape or p.dtype.kind != "b":
        raise TypeError(f"check: the operand is {p}; it must be bool[]")
    return p


check_p.def_lowering(LibraryCall(check_impl, library="Python"))
