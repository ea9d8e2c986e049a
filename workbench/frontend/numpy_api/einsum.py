"""`einsum`: subscripts parsed, contracted pair by pair in the order that NumPy's optimizer finds.

Diagonals and sums of one operand come first; a pair with axes to contract is a `dot_general`; a pair without is a
product of elements, which can join a kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import tracer as core
from .. import views
from ..layouts import followed_strides
from . import reductions, ufuncs
from .broadcasting import dummy
from .contractions import dot_general, take_diagonal, transpose_to
from .movement import diagonal_view
from .operands import array, broadcast_operand, cast, dtype_of, operand, reshape_to
from .promotion import BOOL, as_dtype, check_cast, check_dtype

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def einsum(*operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None, order: str = "K",
           casting: str = "safe") -> Any:  # fmt: skip
    subscripts, arrays = parse(operands)
    terms, result_labels = subscripts
    found = check_dtype(np.result_type(*(x.dtype for x in arrays)) if dtype is None else as_dtype(dtype), "einsum")
    target = ufuncs.normalize_out(out, 1)[0]
    for x in arrays:
        check_cast(x.dtype, found, casting, "array data")
    sizes = label_sizes(terms, arrays)
    if len(arrays) == 1 and target is None and arrays[0].dtype == found and set(terms[0]) == set(result_labels):
        return _view(arrays[0], terms[0], result_labels)
    factors = [(cast(x, found), labels) for x, labels in zip(arrays, terms, strict=True)]
    result = contract(factors, result_labels, sizes, optimize)
    if (
        not optimize and result.ndim > 1 and result.parent is None
    ):  # NumPy's iterator places the axes of the result as the operands'
        ranked = [
            tuple(x.strides[labels.index(c)] if c in labels else 0 for c in result_labels)
            for x, labels in zip(arrays, terms, strict=True)
        ]
        core.lay_out(result, followed_strides(ranked, result.aval))
    return result if target is None else ufuncs.store(result, target, True, casting, "einsum", result.shape)


def _view(x: Any, labels: str, result_labels: str) -> Any:
    """Diagonals and transposes, of which NumPy gives views that may be written."""
    while repeated := [c for c in labels if labels.count(c) > 1]:
        first = labels.index(repeated[0])
        second = labels.index(repeated[0], first + 1)
        x = diagonal_view(x, 0, first, second, is_writeable=True)
        labels = "".join(c for i, c in enumerate(labels) if i not in (first, second)) + repeated[0]
    return views.transpose(x, [labels.index(c) for c in result_labels])


def parse(operands: Sequence[Any]) -> tuple[tuple[list[str], str], list[Any]]:
    """The labels of every operand and of the result, `...` replaced by letters, and the operands as arrays."""
    if not operands:
        raise ValueError("No input operands")
    if isinstance(operands[0], str):
        text = operands[0].replace(" ", "")
        arrays = [array(x) for x in operands[1:]]
    else:
        text, arrays = _from_sublists(operands)
    given, arrow, result = text.partition("->")
    terms = given.split(",")
    if len(terms) != len(arrays):
        amount = "fewer" if len(terms) > len(arrays) else "more"
        raise ValueError(f"{amount} operands provided to einstein sum function than specified in the subscripts string")
    spare = [c for c in LETTERS if c not in text]
    hidden = max(
        (x.ndim - len(t.replace("...", "")) for x, t in zip(arrays, terms, strict=True) if "..." in t), default=0
    )
    dots = "".join(spare[:hidden]) if hidden > 0 else ""
    expanded = []
    for x, term in zip(arrays, terms, strict=True):
        if "..." in term:
            n = x.ndim - len(term.replace("...", ""))
            term = term.replace("...", dots[len(dots) - n :] if n > 0 else "")
        if len(term) != x.ndim or "." in term or any(c not in LETTERS for c in term):
            _refuse(text, arrays)
        expanded.append(term)
    if arrow:
        result = result.replace("...", dots)
    else:
        counts = Counter("".join(t for t in terms).replace(".", ""))
        result = dots + "".join(sorted(c for c, n in counts.items() if n == 1))
    if any(c not in "".join(expanded) for c in result) or len(set(result)) != len(result):
        _refuse(text, arrays)
    return (expanded, result), arrays


def _from_sublists(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """The form `einsum(a, [0, 1], b, [1, 2], [0, 2])`."""

    def spell(labels: Sequence[Any]) -> str:
        return "".join("..." if i is Ellipsis else LETTERS[int(i)] for i in labels)

    pairs, rest = list(operands), None
    if len(pairs) % 2:
        rest = pairs.pop()
    arrays = [array(x) for x in pairs[::2]]
    text = ",".join(spell(labels) for labels in pairs[1::2])
    return (text if rest is None else f"{text}->{spell(rest)}"), arrays


def _refuse(text: str, arrays: list[Any]) -> None:
    """Raise what NumPy raises for these subscripts."""
    np.einsum(text, *(dummy(tuple(min(n, 1) for n in x.shape), x.dtype) for x in arrays))
    raise ValueError(f"einsum: {text!r} does not fit the operands")


def label_sizes(terms: list[str], arrays: list[Any]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for i, (x, term) in enumerate(zip(arrays, terms, strict=True)):
        own: dict[str, int] = {}
        for label, n in zip(term, x.shape, strict=True):
            if own.setdefault(label, n) != n:
                raise ValueError(
                    f"dimensions in operand {i} for collapsing index '{label}' don't match ({own[label]} != {n})"
                )
        for label, n in zip(term, x.shape, strict=True):
            known = sizes.setdefault(label, n)
            if known != n:
                if known != 1 and n != 1:
                    raise ValueError(
                        "operands could not be broadcast together with remapped shapes [original->remapped]: "
                        + " ".join(str(a.shape).replace(" ", "") for a in arrays)
                    )
                sizes[label] = max(known, n) if min(known, n) == 1 and 0 not in (known, n) else min(known, n)
    return sizes


def contract(factors: list[tuple[Any, str]], result: str, sizes: dict[str, int], optimize: Any) -> Any:
    """The sum of products, one pair at a time."""
    factors = [simplify(x, labels, _needed(factors, i, result)) for i, (x, labels) in enumerate(factors)]
    for pair in contraction_order(factors, result, optimize):
        chosen = [factors[i] for i in sorted(pair)]
        factors = [f for i, f in enumerate(factors) if i not in pair]
        needed = set(result).union(*(labels for _, labels in factors)) if factors else set(result)
        while len(chosen) > 1:
            inner = needed.union(*(labels for _, labels in chosen[2:])) if len(chosen) > 2 else needed
            chosen = [multiply(chosen[0], chosen[1], inner, sizes), *chosen[2:]]
        factors.append(simplify(*chosen[0], needed))
    ((x, labels),) = factors
    x, labels = simplify(x, labels, set(result))
    x = transpose_to(x, [labels.index(c) for c in result])
    return broadcast_operand(x, tuple(sizes[c] for c in result))


def _needed(factors: list[tuple[Any, str]], i: int, result: str) -> set[str]:
    return set(result).union(*(labels for j, (_, labels) in enumerate(factors) if j != i))


def contraction_order(factors: list[tuple[Any, str]], result: str, optimize: Any) -> list[tuple[int, ...]]:
    """Which factors are multiplied next, as positions in the list that shrinks by each step."""
    if len(factors) < 3:
        return [tuple(range(len(factors)))] if len(factors) == 2 else []
    if isinstance(optimize, list | tuple) and optimize and optimize[0] == "einsum_path":
        return [tuple(step) for step in optimize[1:]]
    text = ",".join(labels for _, labels in factors) + "->" + result
    how = optimize if isinstance(optimize, str) else "greedy"
    try:
        path, _ = np.einsum_path(text, *(dummy(x.shape, x.dtype) for x, _ in factors), optimize=how)
    except ValueError:
        return [(0, 1)] * (len(factors) - 1)
    return [tuple(step) for step in path[1:]]


def simplify(x: Any, labels: str, needed: set[str]) -> tuple[Any, str]:
    """Diagonals of repeated labels taken, and labels that nothing else needs summed away."""
    while len(set(labels)) != len(labels):
        label = next(c for c in labels if labels.count(c) > 1)
        first = labels.index(label)
        second = labels.index(label, first + 1)
        x = take_diagonal(x, 0, first, second)
        labels = "".join(c for i, c in enumerate(labels) if i not in (first, second)) + label
    unneeded = [i for i, c in enumerate(labels) if c not in needed]
    if unneeded:
        # A label of length 1 here and n elsewhere is not summed over n times: no other factor has it.
        x = sum_axes(x, tuple(unneeded))
        labels = "".join(c for i, c in enumerate(labels) if i not in unneeded)
    return x, labels


def sum_axes(x: Any, axes: tuple[int, ...]) -> Any:
    return reductions.fold("reduce_or" if x.dtype == BOOL else "reduce_sum", x, axes)


def multiply(left: tuple[Any, str], right: tuple[Any, str], needed: set[str], sizes: dict[str, int]) -> tuple[Any, str]:
    """The product of two factors, summed over the labels that nothing else needs."""
    (x, xs), (y, ys) = left, right
    shared = [c for c in xs if c in ys]
    if any(x.shape[xs.index(c)] != y.shape[ys.index(c)] for c in shared):
        x = broadcast_operand(x, tuple(sizes[c] if c in shared else n for c, n in zip(xs, x.shape, strict=True)))
        y = broadcast_operand(y, tuple(sizes[c] if c in shared else n for c, n in zip(ys, y.shape, strict=True)))
    summed = [c for c in shared if c not in needed]
    batch = [c for c in shared if c in needed]
    free_x = [c for c in xs if c not in shared]
    free_y = [c for c in ys if c not in shared]
    if summed and not (batch and not free_x and not free_y):
        numbers = ([xs.index(c) for c in summed], [ys.index(c) for c in summed])
        batches = ([xs.index(c) for c in batch], [ys.index(c) for c in batch])
        return dot_general(x, y, numbers, batches), "".join(batch + free_x + free_y)
    labels = "".join(batch + summed + free_x + free_y)
    a = _aligned(x, xs, labels)
    b = _aligned(y, ys, labels)
    product = ufuncs.call_ufunc(np.multiply, a, b)
    if summed:
        axes = tuple(labels.index(c) for c in summed)
        product = sum_axes(product, axes)
        labels = "".join(c for c in labels if c not in summed)
    return product, labels


def _aligned(x: Any, have: str, labels: str) -> Any:
    """`x` with one axis for every label, of length 1 for those that it lacks."""
    x = transpose_to(x, [have.index(c) for c in labels if c in have])
    sizes = iter(x.shape)
    return reshape_to(x, tuple(next(sizes) if c in have else 1 for c in labels))


def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """NumPy's own path for arrays of these shapes: it reads no numbers."""
    stand_ins = [dummy(operand(x).shape, dtype_of(operand(x))) if hasattr(x, "shape") else x for x in operands]
    return np.einsum_path(*stand_ins, optimize=optimize)
