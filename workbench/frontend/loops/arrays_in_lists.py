"""Lists of a loop that hold arrays, and what NumPy makes of them: stacks and concatenations.

A list holds the arrays themselves, not copies, as Python's does. Its first array tells the lengths of all, where NumPy
wants them alike.
"""

from __future__ import annotations

import numpy as np

from .compositions import Compositions
from .operators import cast
from .types import Array, Growing, UnknownItemError, UntranslatableError, Value


class ArraysInLists(Compositions):
    """Calls of NumPy's with lists of arrays that grow."""

    def _call_vstack(self, tup: Value) -> Value:
        held = held_arrays(tup)
        if held is None:
            return super()._call_vstack(tup)
        return self.stacked_list(tup, None) if held.ndim == 1 else self.joined_list(tup)

    def _call_stack(self, arrays: Value, axis: Value | None = None) -> Value:
        if held_arrays(arrays) is None or axis is not None and axis.literal != 0:
            return super()._call_stack(arrays, axis)
        return self.stacked_list(arrays, None)

    def _call_hstack(self, tup: Value) -> Value:
        held = held_arrays(tup)
        return self.joined_list(tup) if held is not None and held.ndim == 1 else super()._call_hstack(tup)

    def concatenated(self, value: Value) -> Value:
        return super().concatenated(value) if held_arrays(value) is None else self.joined_list(value)

    def stacked_list(self, base: Value, dtype: np.dtype | None) -> Value:
        """`np.array(list)` of arrays of one shape."""
        held = self._arrays_of(base)
        dtype = held.dtype if dtype is None else dtype
        if not np.can_cast(held.dtype, dtype, "safe"):
            raise UntranslatableError(f"np.array() of {held.dtype} as {dtype}")
        first = self.elements(Value(self.early(f"{base.text}[0]"), held))
        sizes = [f"len({base.text})", *map(self.early, first.sizes)]
        out = self.empty(sizes, dtype)

        def fill(i: list[str]) -> None:
            row = self.elements(Value(self.early(f"{base.text}[{i[0]}]"), held))
            for size, other in zip(row.sizes, sizes[1:], strict=True):
                self.line(f"same_length({size}, {other})")
            self.nest(row.sizes, lambda j: self.put(out, [*i, *j], cast(row.at(j), dtype)))

        self.nest(sizes[:1], fill)
        self.facts.count(*held.shape)
        return Value(out, Array(dtype, (None, *held.shape)))

    def joined_list(self, base: Value) -> Value:
        """`np.concatenate(list)` along the first axis."""
        held = self._arrays_of(base)
        total, each = self.early("0"), self.temporary()
        self.line(f"for {each} in range(len({base.text})):")
        self.line(f"    {total} += {base.text}[{each}].shape[0]")
        first = self.elements(Value(self.early(f"{base.text}[0]"), held))
        sizes = [total, *map(self.early, first.sizes[1:])]
        out, done = self.empty(sizes, held.dtype), self.early("0")

        def fill(i: list[str]) -> None:
            row = self.elements(Value(self.early(f"{base.text}[{i[0]}]"), held))
            for size, other in zip(row.sizes[1:], sizes[1:], strict=True):
                self.line(f"same_length({size}, {other})")
            self.nest(row.sizes, lambda j: self.put(out, [f"{done} + {j[0]}", *j[1:]], row.at(j).text))
            self.line(f"{done} += {row.sizes[0]}")

        self.nest([f"len({base.text})"], fill)
        self.facts.count(*held.shape)
        return Value(out, Array(held.dtype, (None, *held.shape[1:])))

    def _arrays_of(self, base: Value) -> Array:
        held = held_arrays(base)
        assert held is not None
        if base.fresh is not None or base.type.is_queue:  # type: ignore[union-attr]  # a list
            raise UntranslatableError("an array of a list without a name, or of a queue")
        self.line(f"nonzero(len({base.text}))")
        if base.type.has_none:  # type: ignore[union-attr]  # a list
            each = self.temporary()
            self.line(f"for {each} in {base.text}:")
            self.line(f"    nonzero({each}.size)")
        return held


def held_arrays(value: Value) -> Array | None:
    """The type of the arrays that a list holds, if it does."""
    kind = value.type
    if isinstance(kind, Growing) and kind.item is None:
        raise UnknownItemError("an array of an empty list")
    return kind.item if isinstance(kind, Growing) and isinstance(kind.item, Array) else None
