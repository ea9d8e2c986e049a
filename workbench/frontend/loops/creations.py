"""New arrays in a loop: `np.zeros` and its like, and `np.array` of numbers, tuples and lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import tuple_of
from .draws import Draws
from .operators import cast, index, made_of, operand
from .types import (
    BOOL,
    F64,
    SUPPORTED,
    Array,
    Growing,
    Items,
    Number,
    Static,
    UntranslatableError,
    Value,
    check_dtype_of,
)

CREATIONS = {np.zeros: "zeros", np.ones: "ones", np.empty: "empty", np.full: "full"}
LIKES = {np.zeros_like: "zeros", np.ones_like: "ones", np.empty_like: "empty", np.full_like: "full"}


class Creations(Draws):
    """Calls that make arrays. `library` is the calls'."""

    library: Any

    def created(self, function: Any, args: list[Value], keywords: dict[str, Value]) -> Value:
        dtype_given = keywords.pop("dtype", None)
        if keywords or not args:
            raise UntranslatableError(f"{function.__name__}() with these arguments")
        if function in (np.array, np.asarray):
            return self._array(function, args, dtype_given)
        first, *rest = args
        if function is np.copy:
            if rest or not isinstance(first.type, Array):
                raise UntranslatableError("copy()")
            return self.copy(first)
        fill = None
        if function in (np.full, np.full_like):
            if not rest or not isinstance(rest[0].type, Number):
                raise UntranslatableError("full()")
            fill, *rest = rest
        if rest and dtype_given is None:
            dtype_given, *rest = rest
        if rest:
            raise UntranslatableError(f"{function.__name__}() with these arguments")
        if function in LIKES:
            if not isinstance(first.type, Array):
                raise UntranslatableError(f"{function.__name__}()")
            dtype, shape, text = first.type.dtype, first.type.shape, f"{self.array(first).text}.shape"
        else:
            sizes = (
                list(first.literal) if isinstance(first.type, Items) and isinstance(first.literal, tuple) else [first]
            )
            if isinstance(first.type, Items) and not isinstance(first.literal, tuple):
                raise UntranslatableError("a shape that is not written out")
            lengths = [f"length({index(s)})" if s.known is None or s.known < 0 else index(s) for s in sizes]
            text = f"({', '.join(lengths)},)"
            shape = tuple(s.known for s in sizes)
            dtype = F64
            if fill is not None:
                assert isinstance(fill.type, Number)
                if dtype_given is None:
                    check_dtype_of([fill.type])
                dtype = fill.type.dtype
        if dtype_given is not None:
            dtype = _dtype_of(dtype_given)
        if dtype.char not in SUPPORTED:
            raise UntranslatableError(f"arrays of {dtype}")
        name = (CREATIONS | LIKES)[function]
        scalar = "np.bool_" if dtype == BOOL else f"np.{dtype.name}"
        if fill is not None:
            return self.note(Value(f"np.full({text}, {operand(fill, dtype)}, {scalar})", Array(dtype, shape)))
        return self.note(Value(f"np.{name}({text}, {scalar})", Array(dtype, shape)))

    def converted(self, value: Value, dtype: np.dtype) -> Value:
        """`value.astype(dtype)`."""
        if dtype.char not in SUPPORTED:
            raise UntranslatableError(f"arrays of {dtype}")
        return self.elementwise([value], lambda v: Value(cast(v[0], dtype), Number(dtype)))

    def as_row(self, value: Value) -> Value:
        """What a function of NumPy's makes of a tuple or list of numbers."""
        is_list = isinstance(value.type, Items) and bool(value.type.items)
        if not is_list or any(not isinstance(t, Number | Items) for t in value.type.items):  # type: ignore[union-attr]
            return value
        return self._array(np.asarray, [value], None)

    def _in_parts(self, value: Value) -> Value:
        """The same, with the items of tuples and lists as values of their own."""
        if not isinstance(value.type, Items) or not value.type.items:
            return value
        return tuple_of([self._in_parts(v) for v in self.parts_of(value)])

    def _array(self, function: Any, args: list[Value], dtype_given: Value | None) -> Value:
        (first, *rest) = args
        if len(rest) == 1 and dtype_given is None:
            dtype_given, rest = rest[0], []
        if dtype_given is not None and dtype_given.type == Static(None):
            dtype_given = None
        asked = None if dtype_given is None else _dtype_of(dtype_given)
        if isinstance(first.type, Array) and not rest:
            if asked is not None and asked != first.type.dtype:
                return self.array(self.converted(first, asked))
            return first if function is np.asarray else self.copy(first)
        if isinstance(first.type, Growing) and not rest:
            return self.array_of_list(first, asked)
        first = self._in_parts(first)
        if rest or not isinstance(first.literal, tuple) or not first.literal:
            raise UntranslatableError("np.array() of this")
        if asked is None and all(isinstance(v.type, Array) for v in first.literal):
            return self.library(np.stack, [first], {})
        shape: tuple[int, ...] = ()
        items = [first]
        while isinstance(items[0].literal, tuple):
            n = len(items[0].literal)
            if not n or any(not isinstance(v.literal, tuple) or len(v.literal) != n for v in items):
                raise UntranslatableError("np.array() of uneven lists")
            shape = (*shape, n)
            items = [part for v in items for part in v.literal]
        if any(not isinstance(v.type, Number) for v in items):
            raise UntranslatableError("np.array() of arrays")
        if asked is None:
            check_dtype_of([v.type for v in items])  # type: ignore[misc]  # numbers
        dtype = np.result_type(*(v.type.dtype for v in items)) if asked is None else asked  # type: ignore[union-attr]  # numbers
        if dtype.char not in SUPPORTED:
            raise UntranslatableError(f"arrays of {dtype}")
        name = self.empty([str(n) for n in shape], dtype)
        for at, item in zip(np.ndindex(shape), items, strict=True):
            self.put(name, [str(k) for k in at], made_of(item, dtype))
        return self.note(Value(name, Array(dtype, shape)))


def _dtype_of(value: Value) -> np.dtype:
    """The dtype that an argument says."""
    if not isinstance(value.type, Static):
        raise UntranslatableError("a dtype")
    return np.dtype(value.type.value)


__all__ = ["CREATIONS", "LIKES", "Creations"]
