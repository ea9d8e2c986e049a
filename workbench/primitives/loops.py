"""`loop`: a whole loop of the user's, as one equation. It is compiled as it stands, or else runs in Python.

loop[program] operands -> the arrays that it writes into, as they are afterwards, and the variables it leaves
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import LoopAbortedError
from ..ir import Aval, Primitive
from .lowering import LibraryCall


@dataclass(frozen=True, slots=True)
class LoopArgument:
    """One parameter of the loop's function: an operand, or a view of it. views: what `apply` takes the view, in order;
    weak: a Python number; in_order: of an array, whether it is always C-contiguous."""

    operand: int
    is_array: bool
    dtype: np.dtype
    ndim: int = 0
    weak: bool = False
    views: tuple[Any, ...] = ()
    in_order: bool = True


@dataclass(frozen=True, slots=True)
class LoopPlace:
    """A variable that the loop leaves, by number, which may be memory of an argument's. options: pairs of an argument's
    number and the axis along which the variable is one of its elements, None for the argument itself; views: pairs of
    an argument's number and what `apply` views of it; earlier: other variables, of which it may be one."""

    variable: int
    options: tuple[tuple[int, int | None], ...]
    views: tuple[tuple[int, tuple[Any, ...]], ...] = ()
    earlier: tuple[int, ...] = ()

    def find(self, variables: Sequence[Any], arguments: Sequence[Any]) -> tuple[int, int]:
        """Which of the options it is, from 1, and which element along the axis; then the number of a view, then that of
        an earlier variable that is the same array; 0 if it is an array of its own."""
        value: np.ndarray = variables[self.variable]
        if not self._may_be_another(value, variables, arguments):
            return 0, 0
        n_options = len(self.options)
        for number, other in enumerate(self.earlier, start=1 + n_options + len(self.views)):
            if _is_same(value, variables[other]):
                return number, 0
        if not value.size:
            return 0, 0
        address = value.__array_interface__["data"][0]
        for number, (k, axis) in enumerate(self.options, start=1):
            array = arguments[k]
            lengths, strides = list(array.shape), list(array.strides)
            step = strides.pop(axis) if axis is not None else 0
            n = lengths.pop(axis) if axis is not None else 1
            if lengths != [*value.shape] or any(
                n > 1 and a != b for n, a, b in zip(lengths, strides, value.strides, strict=True)
            ):
                continue
            index, off = divmod(address - array.__array_interface__["data"][0], step or 1)
            if not off and 0 <= index < n:
                return number, index
        for number, (k, views) in enumerate(self.views, start=1 + n_options):
            array = arguments[k]
            for view in views:
                array = view.apply(array)
            if _is_same(value, array):
                return number, 0
        if any(isinstance(array, np.ndarray) and np.may_share_memory(value, array) for array in arguments):
            raise LoopAbortedError("WB350  a loop leaves a view that its text does not tell: NumPy runs it all again")
        return 0, 0

    def _may_be_another(self, value: np.ndarray, variables: Sequence[Any], arguments: Sequence[Any]) -> bool:
        for array in arguments:
            if type(array) is np.ndarray and np.may_share_memory(value, array):
                return True
        for k in self.earlier:
            if value is variables[k] or np.may_share_memory(value, variables[k]) or not value.size:
                return True
        return False


def _is_same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are one, of which compiled code gives two objects."""
    mine, others = (x.__array_interface__ for x in (a, b))
    return a is b or bool(a.size) and all(mine[key] == others[key] for key in ("data", "shape", "strides", "typestr"))


@dataclass(frozen=True, eq=False, slots=True)
class LoopProgram:
    """The loop's function, as text for numba and as Python.

    source: functions, of which `name` takes the arguments and returns the variables that the loop leaves; written: the
    operands that it writes into; results: avals of these operands, of the variables, and of two integers for each of
    `places`, which say what it has found; python: the same as a Python function; reason: why it is not traced; text:
    the user's own lines; careful: the source with a check of each index, where `source` has none but raises a bare
    LookupError, before it writes anything, for arguments with which it would need them; quiet: nothing else in `source`
    raises; overwritten: those of `written` all elements of which are written, and none is read.
    """

    name: str
    source: str
    arguments: tuple[LoopArgument, ...]
    written: tuple[int, ...]
    results: tuple[Aval, ...]
    python: Callable[..., tuple[Any, ...]]
    reason: str
    text: str
    places: tuple[LoopPlace, ...] = ()
    careful: str = ""
    quiet: bool = False
    overwritten: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.text.partition(chr(10))[0].strip()}>"

    def take(self, operands: Sequence[np.ndarray], given: Collection[int] = ()) -> tuple[list[np.ndarray], list[Any]]:
        """The operands, those that are written copied unless `given` holds them, and the arguments: arrays, NumPy's
        and Python's scalars."""
        owned = [x.copy() if k in self.written and k not in given else x for k, x in enumerate(operands)]
        arguments: list[Any] = []
        for argument in self.arguments:
            value: Any = owned[argument.operand]
            if not argument.is_array:
                value = value.item() if argument.weak else value[()]
            for view in argument.views:
                value = view.apply(value)
            arguments.append(value)
        return owned, arguments

    def give(
        self, owned: Sequence[np.ndarray], arguments: Sequence[Any], found: Sequence[Any]
    ) -> tuple[np.ndarray, ...]:
        """The equation's results, each with memory of its own."""
        results = [owned[k] for k in self.written]
        taken = [owned[argument.operand] for argument in self.arguments if argument.is_array]
        avals = self.results[len(results) : len(self.results) - 2 * len(self.places)]
        places = [number for place in self.places for number in place.find(found, arguments)]
        for value, aval in zip(found, avals, strict=True):
            if aval.shape:
                array = own_array(value, aval, taken)
                taken.append(array)
            else:
                array = np.asarray(value, aval.dtype)
            results.append(array)
        dtypes = (aval.dtype for aval in self.results[len(results) :])
        return (*results, *map(np.asarray, places, dtypes))


def own_array(value: Any, aval: Aval, taken: Iterable[np.ndarray]) -> np.ndarray:
    """An array that a loop leaves, with memory of its own. taken: the arrays whose memory it must not be."""
    array = np.asarray(value, aval.dtype)
    if array.shape != aval.shape:
        raise ValueError(f"the loop leaves an array of shape {array.shape}, not {aval.shape} as was expected")
    for other in taken:
        if np.may_share_memory(array, other):
            return array.copy()
    return array


# ---- loop ----
loop_p = Primitive("loop", multiple_results=True)


@loop_p.def_impl
def loop_impl(*operands: np.ndarray, program: LoopProgram) -> tuple[np.ndarray, ...]:
    owned, arguments = program.take([np.asarray(x) for x in operands])
    return program.give(owned, arguments, program.python(*arguments))


@loop_p.def_abstract_eval
def loop_aval(*operands: Aval, program: LoopProgram) -> tuple[Aval, ...]:
    for argument in program.arguments:
        if operands[argument.operand].dtype != argument.dtype and not argument.views:
            raise TypeError(f"loop: operand {argument.operand} is {operands[argument.operand]}")
    return program.results


loop_p.def_lowering(LibraryCall(loop_impl, library="numba"))
