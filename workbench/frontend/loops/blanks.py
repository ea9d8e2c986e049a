"""What variables and lists hold in the text before anything is known of their values."""

from __future__ import annotations

from .arrays import scalar_name
from .types import BOOL, Array, Growing, Items, Number, Type, UntranslatableError


def blank(item: Type | None) -> str:
    """An element that tells numba the type of a list's elements."""
    match item:
        case None:
            return "np.int64(0)"
        case Number(dtype=dtype):
            return f"{scalar_name(dtype)}(0)"
        case Items(items=items):
            return f"({''.join(f'{blank(t)}, ' for t in items)})"
        case Growing(item=inner):
            return f"no_items({blank(inner)})"
        case Array(dtype=dtype, shape=shape):
            return f"np.empty(({'0, ' * len(shape)}), {scalar_name(dtype)})"
    raise UntranslatableError(f"a list of {item}")


def blank_of(kind: Type, whole: bool) -> str:
    """What a variable holds before it is set. whole: as what the loop may leave, where nobody looks at it."""
    match kind:
        case Number(dtype=dtype):
            return f"np.{dtype.name}(0)" if dtype != BOOL else "False"
        case Array(dtype=dtype, shape=shape):
            scalar = "np.bool_" if dtype == BOOL else f"np.{dtype.name}"
            return f"np.zeros(({', '.join(str(n or 0) if whole else '0' for n in shape)},), {scalar})"
        case Items(items=items):
            return f"({''.join(f'{blank_of(t, whole)}, ' for t in items)})"
        case Growing(item=item):
            return f"no_items({blank(item)})"
    raise UntranslatableError(f"a variable that holds {kind}")
