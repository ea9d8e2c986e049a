"""Views: index maps that an array answers without moving data, by its own methods, as NumPy and CuPy name them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir import Equation


def view_of(name: str) -> Callable[..., Any] | None:
    """The view that an index map is in memory, by the arrays' own methods."""
    return VIEWS.get(name)


def keeps_order(eqn: Equation) -> bool:
    """Whether the view of an array in C order is in C order too, so that reading it costs what reading a copy does."""
    (x,) = (atom.aval for atom in eqn.invars)
    match eqn.primitive.name:
        case "reshape" | "squeeze":
            return True
        case "slice":
            steps = eqn.params["strides"] or ()
            return all(step == 1 for step in steps) and eqn.outvars[0].aval.shape[1:] == x.shape[1:]
    return False


def _slice(x: Any, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None):
    steps = strides or (1,) * x.ndim
    return x[tuple(map(slice, start_indices, limit_indices, steps))]


def _rev(x: Any, *, dimensions: Sequence[int]) -> Any:
    return x[tuple(slice(None, None, -1) if axis in dimensions else slice(None) for axis in range(x.ndim))]


VIEWS: dict[str, Callable[..., Any]] = {
    "reshape": lambda x, *, new_sizes, dimensions=None: x.reshape(new_sizes),
    "transpose": lambda x, *, permutation: x.transpose(permutation),
    "squeeze": lambda x, *, dimensions: x.reshape(tuple(n for d, n in enumerate(x.shape) if d not in dimensions)),
    "slice": _slice,
    "rev": _rev,
}
