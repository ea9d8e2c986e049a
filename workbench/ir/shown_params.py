"""How the params of an equation are printed: which ones, in which order, and how each value is written.

JAX hides what the types already say (the shape that `broadcast_in_dim` gives) and what was left to its default. A
primitive with such habits has an entry in `HABITS`; `restored_params` undoes it for the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .avals import SHORT_NAMES, Aval
from .jaxpr import Equation, Jaxpr

Params = dict[str, Any]
DTYPE_NAMES = frozenset(dtype.name for dtype in SHORT_NAMES)
NAME_KEY = "name"  # its value is a string whatever it looks like


@dataclass(frozen=True, slots=True)
class Habit:
    """show: the params as JAX prints them; restore: what was hidden, from the shown params and the results' avals."""

    show: Callable[[Params], Params]
    restore: Callable[[Params, Sequence[Aval]], Params]


def _show_broadcast(params: Params) -> Params:
    dimensions = params.get("broadcast_dimensions")
    return {"broadcast_dimensions": dimensions} if dimensions else {}


def _restore_broadcast(params: Params, out_avals: Sequence[Aval]) -> Params:
    return {"shape": out_avals[0].shape, "broadcast_dimensions": ()} | params


def _show_dot_general(params: Params) -> Params:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = params["dimension_numbers"]
    lists = ((list(lhs_contract), list(rhs_contract)), (list(lhs_batch), list(rhs_batch)))
    return {key: value for key, value in params.items() if value is not None} | {"dimension_numbers": lists}


def _restore_dot_general(params: Params, out_avals: Sequence[Aval]) -> Params:
    contract, batch = params["dimension_numbers"]
    tuples = (tuple(map(tuple, contract)), tuple(map(tuple, batch)))
    return {"preferred_element_type": None} | params | {"dimension_numbers": tuples}


def _show_numpy_call(params: Params) -> Params:
    return {key: value for key, value in params.items() if key != "avals"}


def _restore_numpy_call(params: Params, out_avals: Sequence[Aval]) -> Params:
    return params | {"avals": tuple(out_avals)}


HABITS: dict[str, Habit] = {
    "broadcast_in_dim": Habit(_show_broadcast, _restore_broadcast),
    "dot_general": Habit(_show_dot_general, _restore_dot_general),
    "numpy_call": Habit(_show_numpy_call, _restore_numpy_call),  # ours, in JAX's manner
}
NAME_FIRST = frozenset({"pjit"})


def shown_params(eqn: Equation) -> list[tuple[str, Any]]:
    """The params as they are printed: sorted by name, without what JAX hides."""
    habit = HABITS.get(eqn.primitive.name)
    params = dict(eqn.params) if habit is None else habit.show(dict(eqn.params))
    names = sorted(params)
    if eqn.primitive.name in NAME_FIRST and NAME_KEY in params:
        names = [NAME_KEY, *(name for name in names if name != NAME_KEY)]
    return [(name, params[name]) for name in names]


def restored_params(primitive_name: str, params: Params, out_avals: Sequence[Aval]) -> Params:
    """The params of an equation from those that were printed. Params that are about sharding in JAX are dropped."""
    params = {key: value for key, value in params.items() if not (key.endswith("sharding") and value is None)}
    habit = HABITS.get(primitive_name)
    return params if habit is None else habit.restore(params, out_avals)


_BARE_WORD = re.compile(r"[A-Za-z_]\w*")
_BARE_NAME = re.compile(r"[^\s\[\](){}'\",=;]+")
_ADDRESS = re.compile(r" at 0x([0-9a-fA-F]+)")
_NOT_STRINGS = DTYPE_NAMES | {"True", "False", "None", "nan", "inf", "nanj", "infj", "Ellipsis"}


def value_text(key: str, value: Any, reserved: Mapping[str, object] | frozenset[str] = frozenset()) -> str:
    """`value` as `str` gives it. A string loses its quotes where it can still be told from everything else that
    could stand there (`reserved` holds the names of shared jaxprs)."""
    if isinstance(value, str):
        if key == NAME_KEY:
            return value if _BARE_NAME.fullmatch(value) and value != "None" else repr(value)
        if _BARE_WORD.fullmatch(value) and value not in _NOT_STRINGS and value not in reserved:
            return value
        return repr(value)
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(map(repr, sorted(plain_value(value))))}}})"
    # Addresses of functions differ from run to run.
    return _ADDRESS.sub(lambda m: " at 0x" + "X" * len(m.group(1)), str(plain_value(value)))


def plain_value(value: Any) -> Any:
    """`value` with Python scalars for NumPy's and dtypes for scalar types, all the way down; jaxprs stay."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, type) and issubclass(value, np.generic):
        return np.dtype(value)
    for kind in (tuple, list, frozenset):
        if type(value) is kind:
            return kind(map(plain_value, value))
    if isinstance(value, Mapping) and not isinstance(value, Jaxpr):
        return {plain_value(k): plain_value(v) for k, v in value.items()}
    return value
