"""Broadcasting: shapes that agree before an equation sees them, with NumPy's own errors where they cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .operands import broadcast_operand, cast, dtype_of, ndim_of, operand, shape_of
from .promotion import result_type


def spell(shape: Sequence[int]) -> str:
    """A shape as NumPy's messages write it: `(3,4)`."""
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def dummy(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """An array of that shape and dtype that takes no memory; NumPy's own checks can be run on it."""
    return np.broadcast_to(np.zeros((), dtype), tuple(shape))


def broadcast_shapes(*operands: Any, ufunc: np.ufunc | None = None) -> tuple[int, ...]:
    """The common shape. Raises ValueError as the NumPy operation would."""
    shapes = {shape_of(x) for x in operands}
    if len(shapes) == 1:
        return shapes.pop()
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        if ufunc is None:
            raise
        ufunc(*(dummy(shape_of(x), dtype_of(x)) for x in operands))  # raises with the words of the ufunc
        raise


def broadcast_scalars(operands: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
    """The operands in `shape`, rank-0 ones left as they are: pointwise primitives take those anywhere.

    Where no operand has the full shape (an outer product of vectors keeps both broadcast), all ranked ones are
    broadcast. With rank-0 operands only, `shape` is () and nothing happens.
    """
    return [x if ndim_of(x) == 0 else broadcast_operand(x, shape) for x in operands]


def broadcast(*operands: Any) -> list[Any]:
    """The operands in their common shape, rank-0 ones left as scalars."""
    lifted = [operand(x) for x in operands]
    return broadcast_scalars(lifted, broadcast_shapes(*lifted))


def promote(*operands: Any) -> list[Any]:
    """The operands in their common dtype (`np.result_type`)."""
    lifted = [operand(x) for x in operands]
    dtype = result_type(*lifted)
    return [cast(x, dtype) for x in lifted]
