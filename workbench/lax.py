"""Structured control flow with JAX's signatures: cond, switch, while_loop, fori_loop, scan, map, select,
associative_scan.

Called from code that is being traced, each becomes one equation; called eagerly, each runs in Python and NumPy.
Operands and results are pytrees of arrays and numbers.

>>> import numpy as np
>>> cond(False, lambda x: x**2.0, lambda x: x**3.0, [2.0])
array([8.])
>>> int(fori_loop(0, 4, lambda i, total: total + i, 0))
6
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from .frontend.recording import current_trace
from .frontend.structured import carry_and_row

_NONE = object()


def _own(result: Any, given: Any) -> Any:
    """`result`, with copies of those of its arrays that are memory of `given`: results are the caller's own."""
    theirs = [x for x in optree.tree_leaves(given) if isinstance(x, np.ndarray)]

    def own(x: Any) -> Any:
        shared = isinstance(x, np.ndarray) and any(np.may_share_memory(x, other) for other in theirs)
        return x.copy() if shared else x

    return optree.tree_map(own, result) if theirs else result


def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any, operand: Any = _NONE
) -> Any:
    """`true_fun(*operands)` if `pred` else `false_fun(*operands)`; only the chosen one runs.

    pred: a scalar. Both functions must give the same structure, shapes and dtypes.
    """
    operands = _operands(operands, operand)
    if not (callable(true_fun) and callable(false_fun)):
        raise TypeError("lax.cond: true_fun and false_fun must be callable")
    if np.ndim(pred):
        raise TypeError(f"lax.cond: the predicate must be a scalar, found shape {np.shape(pred)}")
    if current_trace() is None:
        return _own((true_fun if pred else false_fun)(*operands), operands)
    from .frontend import structured

    return structured.cond(pred, true_fun, false_fun, operands)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _NONE) -> Any:
    """`branches[index](*operands)`, with `index` clamped to the branches that there are."""
    operands = _operands(operands, operand)
    branches = tuple(branches)
    if not branches or not all(builtins.map(callable, branches)):
        raise TypeError("lax.switch: branches must be a non-empty sequence of functions")
    dtype = getattr(index, "dtype", None) or np.asarray(index).dtype
    if np.ndim(index) or dtype.kind not in "iu":
        raise TypeError(f"lax.switch: the index must be an integer scalar, found {dtype}{list(np.shape(index))}")
    if len(branches) == 1:
        return branches[0](*operands)
    if current_trace() is None:
        chosen = branches[builtins.min(builtins.max(operator.index(index), 0), len(branches) - 1)]
        return _own(chosen(*operands), operands)
    from .frontend import structured

    return structured.switch(index, branches, operands)


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """`val = init_val; while cond_fun(val): val = body_fun(val)`, and the last `val`.

    `body_fun` must give the structure, shapes and dtypes that it takes.
    """
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError("lax.while_loop: cond_fun and body_fun must be callable")
    if current_trace() is None:
        value = init_val
        while cond_fun(value):
            value = body_fun(value)
        return _own(value, init_val)
    from .frontend import structured

    return structured.while_loop(cond_fun, body_fun, init_val)


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """`val = init_val; for i in range(lower, upper): val = body_fun(i, val)`, and the last `val`.

    unroll: a hint, for loops whose bounds are known while tracing.
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun must be callable")
    if current_trace() is None:
        value = init_val
        for i in range(operator.index(lower), operator.index(upper)):
            value = body_fun(i, value)
        return _own(value, init_val)
    from .frontend import structured

    return structured.fori_loop(lower, upper, body_fun, init_val, unroll)


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, length: int | None = None,
    reverse: bool = False, unroll: int | bool = 1, _split_transpose: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Carry a value over the rows of `xs`: `carry, y = f(carry, x)` for each row `x`; the last carry, and the `y`s
    stacked.

    xs: a pytree of arrays with a common first axis, or None with `length`. reverse: from the last row to the first.
    """
    if not callable(f):
        raise TypeError("lax.scan: f must be callable")
    leaves, tree = optree.tree_flatten(xs)
    leaves = [x if hasattr(x, "shape") else np.asarray(x) for x in leaves]
    lengths = {x.shape[0] if len(x.shape) else _NONE for x in leaves}
    if _NONE in lengths:
        raise ValueError("lax.scan: every array in xs must have a first axis to scan over")
    if length is not None:
        lengths.add(operator.index(length))
    if len(lengths) > 1:
        raise ValueError(f"lax.scan: the arrays in xs and `length` disagree: {sorted(lengths)}")  # pyright: ignore[reportArgumentType]  # checked by the caller
    if not lengths:
        raise ValueError("lax.scan: xs holds no array, so that `length` must be given")
    (n,) = lengths
    n_unrolled = (n if unroll else 1) if isinstance(unroll, bool) else unroll
    if current_trace() is not None:
        from .frontend import structured

        return structured.scan(f, init, leaves, tree, n, bool(reverse), n_unrolled)  # pyright: ignore[reportArgumentType]  # checked by the caller
    carry, rows = init, []
    for i in reversed(range(n)) if reverse else range(n):  # pyright: ignore[reportArgumentType]  # checked by the caller
        carry, y = carry_and_row(f(carry, optree.tree_unflatten(tree, [x[i] for x in leaves])))
        rows.append(y)
    if not rows:  # nothing ran: the types of the rows are known from tracing alone
        from .frontend import structured

        return _own(init, init), structured.empty_rows(f, init, leaves, tree)
    rows = rows[::-1] if reverse else rows
    return _own(carry, (init, leaves)), optree.tree_map(lambda *ys: np.stack(ys), *rows)


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:  # noqa: A001 (JAX's name)
    """`f` of each row of `xs`, stacked. batch_size: a hint."""
    return scan(lambda _, x: (None, f(x)), None, xs)[1]


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """`on_true` where `pred` holds, else `on_false`, element by element; both are computed.

    on_true, on_false: of one shape and dtype; pred: of that shape, or a scalar.
    """
    shape, other = np.shape(on_true), np.shape(on_false)
    if shape != other:
        raise TypeError(f"lax.select: on_true has shape {shape}, on_false has shape {other}")
    if np.shape(pred) not in ((), shape):
        raise TypeError(f"lax.select: pred has shape {np.shape(pred)}, which is neither () nor {shape}")
    dtypes = [getattr(x, "dtype", None) for x in (on_true, on_false)]
    if None not in dtypes and dtypes[0] != dtypes[1]:
        raise TypeError(f"lax.select: on_true is {dtypes[0]}, on_false is {dtypes[1]}")
    return np.where(pred, on_true, on_false)


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All prefixes of `elems` along `axis`, combined by the associative function `fn`, in logarithmic depth.

    elems: an array or a pytree of arrays; `fn` combines two such, of any length along `axis`. (The recursion on pairs
    is Blelloch's: Prefix Sums and Their Applications, 1990.)
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn must be callable")
    leaves, tree = optree.tree_flatten(elems)
    leaves = [x if hasattr(x, "shape") else np.asarray(x) for x in leaves]
    if not leaves:
        return elems
    axes = [axis + len(x.shape) if axis < 0 else axis for x in leaves]
    if len({x.shape[a] for x, a in zip(leaves, axes, strict=True)}) > 1:
        raise ValueError(f"lax.associative_scan: arrays of different lengths: {[x.shape for x in leaves]}")

    def part(x: Any, a: int, *bounds: int | None) -> Any:
        return x[(slice(None),) * a + (slice(*bounds),)]

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        left, right = optree.tree_unflatten(tree, a), optree.tree_unflatten(tree, b)
        return optree.tree_leaves(fn(right, left) if reverse else fn(left, right))

    def interleave(even: Any, odd: Any, a: int) -> Any:
        n_odd = odd.shape[a]
        pairs = np.stack([part(even, a, 0, n_odd), odd], axis=a + 1)
        shape = (*odd.shape[:a], 2 * n_odd, *odd.shape[a + 1 :])
        flat = pairs.reshape(shape)
        return flat if even.shape[a] == n_odd else np.concatenate([flat, part(even, a, n_odd, None)], axis=a)

    def prefixes(xs: list[Any]) -> list[Any]:
        n = xs[0].shape[axes[0]]
        if n < 2:
            return xs
        pairs = combine(
            [part(x, a, 0, n - 1, 2) for x, a in zip(xs, axes, strict=True)],
            [part(x, a, 1, None, 2) for x, a in zip(xs, axes, strict=True)],
        )
        odd = prefixes(pairs)
        before = odd if n % 2 else [part(y, a, 0, -1) for y, a in zip(odd, axes, strict=True)]
        even = combine(before, [part(x, a, 2, None, 2) for x, a in zip(xs, axes, strict=True)]) if n > 2 else []
        first = [part(x, a, 0, 1) for x, a in zip(xs, axes, strict=True)]
        even = [np.concatenate([f, e], axis=a) for f, e, a in zip(first, even, axes, strict=True)] if even else first
        return [interleave(e, o, a) for e, o, a in zip(even, odd, axes, strict=True)]

    if reverse:
        leaves = [np.flip(x, a) for x, a in zip(leaves, axes, strict=True)]
    results = prefixes(leaves)
    if reverse:
        results = [np.flip(x, a) for x, a in zip(results, axes, strict=True)]
    return optree.tree_unflatten(tree, results)


def _operands(operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    if operand is not _NONE:
        if operands:
            raise TypeError("operands are given by position or as `operand=`, not both")
        operands = (operand,)
    # A list of plain numbers is array_like, as for NumPy's functions.
    return tuple(
        np.asarray(x) if type(x) is list and x and all(type(v) in (bool, int, float, complex) for v in x) else x
        for x in operands
    )


__all__ = ["associative_scan", "cond", "fori_loop", "map", "scan", "select", "switch", "while_loop"]
