"""Functions of NumPy's that loops have no machine code for: the loop asks NumPy (`primitives.numpy_in_loops`).

A call costs a few microseconds, about what NumPy takes for it. It keeps one transform or decomposition among a hundred
lines from leaving all of them in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.avals import SHORT_NAMES
from ...primitives.numpy_in_loops import (
    CALLED,
    MOST_ARRAYS,
    MOST_AXES,
    ArraySlot,
    Constant,
    NumberSlot,
    NumpyCall,
    Result,
    Several,
    Slot,
    SourceSlot,
    drawn_by,
    leaves,
    n_words_of,
    numpy_call,
)
from .arrays import scalar_name, tuple_of
from .calls import Calls
from .operators import cast
from .types import (
    F64,
    I64,
    LEAST,
    MOST,
    SUPPORTED,
    Array,
    Items,
    Number,
    RandomSource,
    Static,
    UnknownItemError,
    UntranslatableError,
    Value,
    weak_int,
)
from .written_functions import is_taken_apart

MOST_NUMBER = 4096  # numbers that are written out are parts of a call up to here, axes and orders among them


class NumpyCalls(Calls):
    """Calls of NumPy's functions as they are, where nothing else takes them."""

    def library(self, function: Any, args: list[Value], keywords: dict[str, Value]) -> Value:
        if not is_called(function):
            return super().library(function, args, keywords)
        before = self.noted()
        try:
            return super().library(function, args, keywords)
        except UnknownItemError:
            raise
        except UntranslatableError:
            self.back_to(before)
            found = self._asked(function, args, keywords)
            if found is None:
                raise
            return found

    def draw(self, source: Value, name: str, args: list[Value], keywords: dict[str, Value]) -> Value:
        before = self.noted()
        try:
            return super().draw(source, name, args, keywords)
        except UnknownItemError:
            raise
        except UntranslatableError:
            function = drawn_by(name)
            if function is None or source.type != RandomSource(np.random.Generator):
                raise
            self.back_to(before)
            found = self._asked(function, [source, *args], keywords)
            if found is None:
                raise
            self.facts.draws = self.draws_early = True
            return found

    def _asked(self, function: Any, args: list[Value], keywords: dict[str, Value]) -> Value | None:
        args = self.lists_as_arrays(function, args)
        slots = [_slot(v) for v in (*args, *keywords.values())]
        if any(slot is None for slot in slots):
            return None
        given: list[Slot] = [slot for slot in slots if slot is not None]
        n = len(args)
        call = numpy_call(function, tuple(given[:n]), tuple(zip(keywords, given[n:], strict=True)))
        if call is None or any(r.ndim > MOST_AXES for r in call.results):
            return None
        if call.is_tuple and function in _NAMED and not is_taken_apart(self.now, function):
            return None
        values = _leaves_of([*args, *keywords.values()], given)
        if sum(isinstance(slot, ArraySlot) for slot in leaves(given)) > MOST_ARRAYS:
            return None
        return self._call_numpy(call, values)

    def _call_numpy(self, call: NumpyCall, values: Sequence[tuple[Value, Slot]]) -> Value:
        arrays = [self.named(v) for v, slot in values if isinstance(slot, ArraySlot)]
        words = f"{call.function.__name__}_{self.temporary()}"
        self.made_early = True
        self.line(f"{words} = words_for({call.n_words})")
        at = call.n_array_words
        for value, slot in values:
            if isinstance(slot, SourceSlot):
                self.line(f"note_whole({words}, {at}, {value.text}[0])")  # where its bits come from
                at += 1
            elif isinstance(slot, NumberSlot):
                self._note(words, at, value, slot.dtype)
                at += n_words_of(slot.dtype)
        self.line(f"ask_{len(arrays)}({', '.join([str(call.key), words, *(a.text for a in arrays)])})")
        self.facts.arrays = self.facts.asks = True
        for array in arrays:
            self.facts.count(*array.type.shape)  # type: ignore[union-attr]  # an array
        results = []
        for k, result in enumerate(call.results):
            is_new = result.given is None
            results.append(self._result_of_call(words, at, k, result) if is_new else arrays[result.given or 0])
            at += result.ndim or n_words_of(result.dtype)
        return tuple_of(results) if call.is_tuple else results[0]

    def _note(self, words: str, at: int, value: Value, dtype: np.dtype) -> None:
        if dtype.kind == "c":
            z = self.early(value.text)
            self.line(f"note_float({words}, {at}, {z}.real)")
            self.line(f"note_float({words}, {at + 1}, {z}.imag)")
        elif dtype.kind == "f":
            self.line(f"note_float({words}, {at}, {cast(value, F64)})")
        else:
            self.line(f"note_whole({words}, {at}, np.int64({value.text}))")

    def _result_of_call(self, words: str, at: int, k: int, result: Result) -> Value:
        dtype = result.dtype
        if result.ndim:
            fetched = self.early(f"fetch_{result.ndim}_{SHORT_NAMES[dtype]}({words}, {at}, {k})")
            self.fresh.add(fetched)
            return Value(fetched, Array(dtype, (None,) * result.ndim))
        if dtype.kind == "c":
            text = f"complex(told_float({words}, {at}), told_float({words}, {at + 1}))"
        else:
            text = f"told_{'float' if dtype.kind == 'f' else 'whole'}({words}, {at})"
        text = self.early(f"{scalar_name(dtype)}({text})")
        if result.python and dtype == I64:
            return Value(text, weak_int(LEAST, MOST))
        if result.python and dtype.kind == "b":
            return Value(text, Number(dtype, True, (0, 1)))
        return Value(text, Number(dtype, result.python))


_NAMED = frozenset((np.linalg.eig, np.linalg.eigh, np.linalg.qr, np.linalg.slogdet, np.linalg.svd))


def is_called(function: Any) -> bool:
    try:
        return function in CALLED
    except TypeError:
        return False


def _slot(value: Value) -> Slot | None:
    """What a call is told of an argument; None if it cannot be given on."""
    kind = value.type
    if isinstance(kind, Static):
        known = kind.value
        is_plain = known is None or isinstance(known, str | np.dtype) or isinstance(known, type) and known in _TYPES
        return Constant.of(known) if is_plain else None
    if isinstance(kind, RandomSource):
        return SourceSlot() if kind.of is np.random.Generator else None
    if isinstance(kind, Items) and isinstance(value.literal, tuple):
        slots = [_slot(v) for v in value.literal]
        return None if None in slots else Several(tuple(s for s in slots if s is not None), kind.is_list)
    if isinstance(kind, Array):
        return ArraySlot(kind.dtype, kind.shape) if kind.ndim and kind.dtype.char in SUPPORTED else None
    if not isinstance(kind, Number) or kind.unsure or kind.mixed or kind.ints or kind.enum:
        return None
    if kind.weak and isinstance(value.literal, bool | int | float) and abs(value.literal) <= MOST_NUMBER:
        return Constant.of(value.literal)
    return NumberSlot(kind.dtype, kind.weak) if kind.dtype.char in SUPPORTED else None


_TYPES = (bool, int, float, complex, *(np.dtype(char).type for char in sorted(SUPPORTED)))


def _leaves_of(values: Sequence[Value], slots: Sequence[Slot]) -> list[tuple[Value, Slot]]:
    found: list[tuple[Value, Slot]] = []
    for value, slot in zip(values, slots, strict=True):
        if isinstance(slot, Several):
            found += _leaves_of(value.literal, slot.items)
        else:
            found.append((value, slot))
    return found


__all__ = ["NumpyCalls"]
