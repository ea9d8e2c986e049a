"""Branches and loops of a plan at run time: the plans that a step holds, run once or again and again.

Conditions are read as scalars. A loop owns the arrays that it carries: they alternate by themselves, since what an
iteration no longer needs is freed when the next one allocates, and are updated in place where the body can. Results
have memory of their own, or that of operands which were given up to the step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

Run = Callable[..., tuple[np.ndarray, ...]]


def in_order(array: np.ndarray) -> np.ndarray:
    """`array` in C order, without a copy where it is. Kernels were compiled for that; nearly every routine gives it."""
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape)


class Carry:
    """How a loop takes and gives the values that it carries. given: those whose memory the loop may keep; overwritten:
    those whose first memory it may change, so that it copies the others of these."""

    def __init__(self, given: Sequence[bool], overwritten: Collection[int]):
        self.kept = [k for k, is_given in enumerate(given) if not is_given]
        self.copied = [k for k in self.kept if k in overwritten]
        self.lent = [k for k in self.kept if k not in overwritten]

    def take(self, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
        carry = list(map(in_order, operands))
        for k in self.copied:
            carry[k] = carry[k].copy()
        return carry

    def give(self, results: Sequence[np.ndarray], operands: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """The results; the memory of operands that were only lent is copied."""
        owned = list(results)
        for j in self.lent:
            for k, result in enumerate(owned):
                if np.may_share_memory(result, operands[j]):
                    owned[k] = result.copy()
        return tuple(owned)


def branch(runs: Sequence[Run]) -> Run:
    """`call(index, *operands)` runs one of `runs`."""

    def call(index: np.ndarray, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return runs[int(index)](*operands)

    return call


def while_loop(condition: Run, body: Run, n_cond_consts: int, n_body_consts: int, carried: Carry) -> Run:
    """`call(*cond_consts, *body_consts, *carry)` runs `body` on the carried values as long as `condition` holds."""
    first = n_cond_consts + n_body_consts

    def call(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
        cond_consts, body_consts = operands[:n_cond_consts], operands[n_cond_consts:first]
        carry: Sequence[np.ndarray] = carried.take(operands[first:])
        while condition(*cond_consts, *carry)[0]:
            carry = body(*body_consts, *carry)
        return carried.give(carry, operands[first:])

    return call


def scan(
    body: Run, n_consts: int, n_carry: int, length: int, reverse: bool, rows: Sequence[tuple], carried: Carry
) -> Run:
    """`call(*consts, *carry, *xs)` runs `body` for each row of `xs`; rows: shape and dtype of each stacked result."""
    order = range(length)[::-1] if reverse else range(length)
    first = n_consts + n_carry

    def call(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
        consts = operands[:n_consts]
        carry: Sequence[np.ndarray] = carried.take(operands[n_consts:first])
        xs = tuple(map(in_order, operands[first:]))
        if not xs and not rows:
            for _ in order:
                carry = body(*consts, *carry)
            return carried.give(carry, operands[n_consts:first])
        stacked = [np.empty((length, *shape), dtype) for shape, dtype in rows]
        for i in order:
            results = body(*consts, *carry, *[x[i, ...] for x in xs])
            carry = results[:n_carry]
            for target, y in zip(stacked, results[n_carry:], strict=True):
                target[i] = y
        return (*carried.give(carry, operands[n_consts:first]), *stacked)

    return call
