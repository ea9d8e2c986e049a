"""Which routine of its BLAS NumPy chooses for a product.

Where the routines cannot be told (see `primitives.numpy_libraries`), products stay NumPy's calls. The choice follows
`numpy/_core/src/umath/matmul.c.src`, so that both ways give the same bits; where NumPy has a loop of its own (lengths
of one, odd strides), there is no answer here.
"""

from __future__ import annotations

import numpy as np

_ROW_MAJOR, _COLUMN_MAJOR, _AS_IT_IS, _TRANSPOSED = 101, 102, 111, 112
_LETTERS = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}


def call_of(left: np.ndarray, right: np.ndarray) -> tuple[str, tuple[int | str, ...]] | None:
    """The routine by which NumPy multiplies `left` by `right` (of one or two axes) into a new array, and its arguments
    from the first to the last, in the order of CBLAS but for the factors: numbers, and "left", "right" and "out" for
    the arrays. None where NumPy uses no routine."""
    letter = _LETTERS.get(left.dtype.str[1:])
    if letter is None or not left.dtype.isnative or right.dtype != left.dtype or max(left.ndim, right.ndim) > 2:
        return None
    size, n = left.itemsize, left.shape[-1]
    m = left.shape[0] if left.ndim == 2 else 1
    p = right.shape[1] if right.ndim == 2 else 1
    if n < 2 or not m or not p:
        return None
    step_left, step_right = left.strides[-1], right.strides[0]
    vectors = [_is_vector(step, size) for step in (step_left, step_right)]
    if m == p == 1:
        return (
            (f"{letter}dot", (n, "left", step_left // size, "right", step_right // size, "out"))
            if all(vectors)
            else None
        )
    if m == 1:
        call = _times_vector("right", right.T, "left", step_left) if vectors[0] else None
    elif p == 1:
        call = _times_vector("left", left, "right", step_right) if vectors[1] else None
    else:
        call = _times_matrix(left, right)
    return None if call is None else (f"{letter}{call[0]}", call[1])


def of_one_matrix(call: tuple[str, tuple[int | str, ...]]) -> tuple[str, tuple[int | str, ...]]:
    """The routine and the arguments, after order and half, where both arrays are one matrix and its transpose."""
    routine, arguments = call
    if not routine.endswith("gemm"):
        return call
    _, trans_left, trans_right, rows, _, k, _, leading_left, _, leading_right, _, _ = arguments
    if trans_left == trans_right:
        return call
    leading = leading_left if trans_left == _AS_IT_IS else leading_right
    return f"{routine[0]}syrk", (trans_left, rows, k, "left", leading, "out")


def _is_vector(step: int, size: int) -> bool:
    return step > 0 and step % size == 0


def _is_stored(a: np.ndarray) -> bool:
    """Whether the rows of a matrix lie one after another, as BLAS expects."""
    size = a.itemsize
    return a.strides[1] == size and a.strides[0] % size == 0 and a.strides[0] // size >= a.shape[1]


def _times_vector(name: str, a: np.ndarray, vector: str, step: int) -> tuple[str, tuple[int | str, ...]] | None:
    size, (m, n) = a.itemsize, a.shape
    if _is_stored(a):
        order, leading = _COLUMN_MAJOR, a.strides[0]
    elif _is_stored(a.T):
        order, leading = _ROW_MAJOR, a.strides[1]
    else:
        return None
    return "gemv", (order, _TRANSPOSED, n, m, name, leading // size, vector, step // size, "out", 1)


def _times_matrix(left: np.ndarray, right: np.ndarray) -> tuple[str, tuple[int | str, ...]] | None:
    size, how = left.itemsize, []
    for a in (left, right):
        if _is_stored(a):
            how.append((_AS_IT_IS, a.strides[0] // size))
        elif _is_stored(a.T):
            how.append((_TRANSPOSED, a.strides[1] // size))
        else:
            return None
    (trans_left, leading_left), (trans_right, leading_right) = how
    (m, n), p = left.shape, right.shape[1]
    sizes = (_ROW_MAJOR, trans_left, trans_right, m, p, n)
    return "gemm", (*sizes, "left", leading_left, "right", leading_right, "out", p)
