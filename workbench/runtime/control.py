"""Branches and loops of a plan at run time: the plans that a step holds, run once or again and again.

Conditions are read as scalars. A loop's arrays alternate by themselves: what an iteration no longer needs is freed when
the next one allocates. Kernels read carried values in C order, so that results are settled before they go round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Run = Callable[..., tuple[np.ndarray, ...]]


def in_order(array: np.ndarray) -> np.ndarray:
    """`array` in C order, without a copy where it is. Kernels were compiled for that; nearly every routine gives it."""
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape)


def branch(runs: Sequence[Run]) -> Run:
    """`call(index, *operands)` runs one of `runs`."""

    def call(index: np.ndarray, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(map(in_order, runs[int(index)](*operands)))

    return call


def while_loop(condition: Run, body: Run, n_cond_consts: int, n_body_consts: int) -> Run:
    """`call(*cond_consts, *body_consts, *carry)` runs `body` on the carried values as long as `condition` holds."""
    first = n_cond_consts + n_body_consts

    def call(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
        cond_consts, body_consts = operands[:n_cond_consts], operands[n_cond_consts:first]
        carry = tuple(map(in_order, operands[first:]))
        del operands  # the first carried arrays may be freed
        while condition(*cond_consts, *carry)[0]:
            carry = tuple(map(in_order, body(*body_consts, *carry)))
        return carry

    return call


def scan(body: Run, n_consts: int, n_carry: int, length: int, reverse: bool, rows: Sequence[tuple]) -> Run:
    """`call(*consts, *carry, *xs)` runs `body` for each row of `xs`; rows: shape and dtype of each stacked result."""
    order = range(length)[::-1] if reverse else range(length)
    first = n_consts + n_carry

    def call(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
        consts = operands[:n_consts]
        carry = tuple(map(in_order, operands[n_consts:first]))
        xs = tuple(map(in_order, operands[first:]))
        del operands
        stacked = [np.empty((length, *shape), dtype) for shape, dtype in rows]
        for i in order:
            results = body(*consts, *carry, *[x[i, ...] for x in xs])
            carry = tuple(map(in_order, results[:n_carry]))
            for target, y in zip(stacked, results[n_carry:], strict=True):
                target[i] = y
        return (*carry, *stacked)

    return call


def own(results: tuple[np.ndarray, ...], inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """`results` with memory of their own: a loop or branch may hand its operands through."""
    owned: list[np.ndarray] = []
    for result in results:
        if any(np.may_share_memory(result, other) for other in (*inputs, *owned)):
            result = result.copy()
        owned.append(result)
    return tuple(owned)
