"""Whether a number is Python's or NumPy's, where the path decides.

    if norm == 0:                             result, is_python = 0.0, True
        return 0.0
    return x / norm                           result, is_python = x / norm, False

Both are one number of the program. Its `Buffer.python` says which it is, so that a result has the type that it has in
NumPy; loops carry it beside the number. None: nobody knows, as where a loop is compiled whole; then it is NumPy's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
import optree

from ..ir import REGISTRY
from .checks import end_unless
from .tracer import Tracer, emit, lift

_Key = tuple[str, int]
_NUMBERS = (bool, int, float, complex, np.generic, np.ndarray)


def is_python(value: Any) -> bool | Tracer | None:
    """Whether a number is Python's: a bool, or a traced one, None if that is not known, or where there are others."""
    if type(value) is not Tracer:
        return not isinstance(value, np.generic | np.ndarray) if isinstance(value, _NUMBERS) else None
    return value.buffer.python if value.buffer.mixed else bool(value.weak_type)


def is_told_int(value: Tracer) -> bool:
    """Whether a float is one of NumPy's or an int of Python's, which was a constant, and it is known which."""
    return (
        value.buffer.mixed == (int,)
        and not value.weak_type
        and value.dtype.kind == "f"
        and is_python(value) is not None
    )


def may_be_python(value: Any) -> bool:
    known = is_python(value)
    return known is not False if type(value) is Tracer else known is True


def end_if_python(value: Tracer) -> None:
    """Have the call end where a number is Python's: what the code asks for differs."""
    known = is_python(value)
    if known is None:
        from .numpy_api.promotion import two_types

        raise two_types(value)
    if type(known) is Tracer:
        end_unless(emit(REGISTRY["not"], flag(known)))


def flag(known: bool | Tracer) -> Tracer:
    """A bool of NumPy's as a value of the program."""
    return lift(known if type(known) is Tracer else np.bool_(known))


def are_all_python(values: Sequence[Any]) -> Tracer | None:
    """Whether all of some numbers are Python's, if that is known."""
    found: Tracer | None = None
    for known in map(is_python, values):
        if known is None or known is False:
            return None
        if known is not True:
            found = flag(known) if found is None else emit(REGISTRY["and"], found, flag(known))
    return found


def picked(test: Tracer, then: Any, other: Any) -> Tracer | None:
    """Whether `then if test else other` is Python's."""
    cases = [is_python(other), is_python(then)]
    if any(known is None for known in cases):
        return None
    return emit(REGISTRY["select_n"], test, *[flag(known) for known in cases if known is not None])


class CarriedTypes:
    """Of the numbers that a loop carries, whether they are Python's: variables of their own, which it carries, too.

    names: theirs, by the place of the number among what the loop carries.
    """

    def __init__(self, variables: Any):
        self.variables = variables
        self.names: dict[_Key, str] = {}
        self.unknown: set[_Key] = set()

    def add(self, keys: Collection[_Key], start: MutableMapping[str, tuple[Any, list[Any]]]) -> list[str]:
        """The names of variables for more numbers, of which `start` gets the values before the loop."""
        added = []
        for key in keys:
            known = is_python(start[key[0]][1][key[1]])
            if key in self.names or known is None:
                continue
            name = self.names[key] = f"_wb_python {key[0]} {key[1]} {id(self)}"
            value: Any = known if type(known) is Tracer else np.bool_(known)
            self.variables.extra[name] = value
            start[name] = optree.tree_structure(value, none_is_leaf=True), [value]
            added.append(name)
        return added

    def begin(self, inputs: Mapping[_Key, Tracer]) -> None:
        """Let what stands for the numbers in an iteration know what they are."""
        for key, value in inputs.items():
            value.buffer.python = flag(self.variables.get(self.names[key])) if key in self.names else None

    def end(self) -> None:
        """Set the variables to what the numbers are after an iteration."""
        for (name, k), own in self.names.items():
            leaves = optree.tree_leaves(self.variables.get(name), none_is_leaf=True)
            known = is_python(leaves[k]) if k < len(leaves) else None
            if known is None:
                self.unknown.add((name, k))
            else:
                self.variables.extra[own] = known if type(known) is Tracer else np.bool_(known)

    def finish(self, outs: Mapping[_Key, Tracer]) -> None:
        """Let the numbers after the loop know what they are."""
        for key, own in self.names.items():
            if key in outs and key not in self.unknown and outs[key].buffer.mixed:
                outs[key].buffer.python = flag(self.variables.get(own))
