"""Views: index maps that an array answers without moving data, by its own methods, as NumPy and CuPy name them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..fusion import LibraryStep, Plan, step_inputs
from ..ir import Equation
from ..primitives.contractions import dot_general_p


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


def stays_view(eqn: Equation, plan: Plan) -> bool:
    """Whether the result of an index map in `plan` is a view: where reading it costs nothing more than reading a copy,
    and nobody outside sees it. Matrix products take any strides of rows, and keep nothing."""
    out = eqn.outvars[0]
    if out in plan.outvars or view_of(eqn.primitive.name) is None:
        return False
    if keeps_order(eqn):
        return True
    readers = [step for step in plan.steps if out in step_inputs(step)]
    return _has_rows(eqn) and all(isinstance(s, LibraryStep) and s.eqn.primitive is dot_general_p for s in readers)


def _has_rows(eqn: Equation) -> bool:
    """Whether a view consists of rows or columns of its operand, as BLAS reads them."""
    name, strides = eqn.primitive.name, eqn.params.get("strides")
    return name == "transpose" or (name == "slice" and all(step == 1 for step in strides or ()))


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
