"""NumPy's functions that are others put together, and arrays that are others side by side: on the small arrays of a
loop."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .arrays import tuple_of
from .conditions import is_none
from .contractions import Contractions
from .operators import cast, index
from .types import BOOL, F64, I64, Array, Growing, Items, Number, Static, UntranslatableError, Value, literal, weak_int

COMPOSITIONS: dict[Any, str] = {
    np.clip: "clip", np.select: "select", np.isin: "isin", np.array_equal: "array_equal", np.quantile: "quantile",
    np.percentile: "percentile", np.nansum: "nansum", np.nanmean: "nanmean", np.convolve: "convolve",
    np.column_stack: "column_stack", np.vstack: "vstack", np.hstack: "hstack", np.concatenate: "concatenate",
    np.repeat: "repeat", np.tile: "tile", np.meshgrid: "meshgrid",
}  # fmt: skip
JOINED = (np.column_stack, np.vstack, np.hstack, np.concatenate, np.select, np.meshgrid)  # of several arrays


class Compositions(Contractions):
    """Calls of NumPy's functions. Parameters are called as NumPy calls them."""

    # ---- numbers ----

    def spread_with_ddof(self, name: str, args: Sequence[Value], keywords: dict[str, Value]) -> Value:
        """`var` and `std` with a `ddof`."""
        ddof = keywords.pop("ddof")
        kind = args[0].type
        if name not in ("var", "std") or type(ddof.literal) is not int or not isinstance(kind, Array):
            raise UntranslatableError(f"{name}() with a ddof")
        if kind.dtype.kind not in "biuf" or not kind.ndim:
            raise UntranslatableError(f"{name}() of {kind}")
        axes, keepdims = self._axes(args[1:], dict(keywords), args[0])  # type: ignore[attr-defined]  # of calls
        value = self._stored(args[0])
        given = {} if axes is None else {"axis": Value("", Items(()), tuple(map(literal, axes)))}
        of_mean = {} if axes is None else {**given, "keepdims": literal(True)}
        apart = self._library(np.subtract, value, self._library(np.mean, value, **of_mean))
        kept = {"keepdims": literal(True)} if keepdims else {}
        total = self._library(np.sum, self._library(np.square, apart), **given, **kept)
        sizes = self.elements(value).sizes
        n = " * ".join(sizes[k] for k in (range(kind.ndim) if axes is None else axes))
        count = Value(self.early(f"nonzero(max({n} - {ddof.literal}, 0))"), weak_int(1, 2**40))
        variance = self._library(np.divide, total, count)
        return self._library(np.sqrt, variance) if name == "std" else variance

    def _call_clip(
        self, a: Value, a_min: Value | None = None, a_max: Value | None = None, min: Value | None = None,  # noqa: A002
        max: Value | None = None,  # noqa: A002  (NumPy's names)
    ) -> Value:  # fmt: skip
        low, high = (v if w is None else w for v, w in ((a_min, min), (a_max, max)))
        bounds = [(f, v) for f, v in ((np.maximum, low), (np.minimum, high)) if v is not None and not is_none(v)]
        if not bounds or (a_min is not None and min is not None) or (a_max is not None and max is not None):
            raise UntranslatableError("clip() with these bounds")
        for function, bound in bounds:
            a = self._library(function, a, bound)
        return a

    def _call_select(self, condlist: Value, choicelist: Value, default: Value | None = None) -> Value:
        tests, choices = map(_pieces, (condlist, choicelist))
        if not tests or len(tests) != len(choices) or any(_dtype(v) != BOOL for v in tests):
            raise UntranslatableError("select() of these arguments")
        found = literal(0) if default is None else default
        for test, choice in zip(reversed(tests), reversed(choices), strict=True):
            found = self._library(np.where, test, choice, found)
        kinds = [v.type for v in choices]
        dtype = found.type.dtype  # type: ignore[union-attr]  # an array
        if any(isinstance(k, Number | Array) and not np.can_cast(k.dtype, dtype, "same_kind") for k in kinds):
            raise UntranslatableError("select() whose choices NumPy does not cast")
        return found

    def _call_isin(self, element: Value, test_elements: Value) -> Value:
        if isinstance(test_elements.type, Items | Growing):
            test_elements = self._library(np.array, test_elements)
        kinds = element.type, test_elements.type
        if any(not isinstance(k, Array) or k.dtype.kind not in "iuf" for k in kinds):
            raise UntranslatableError("isin() of these arguments")
        dtypes = [k.dtype for k in kinds]  # type: ignore[union-attr]  # arrays
        common = np.promote_types(*dtypes)
        if common.kind == "f" and common not in dtypes:
            raise UntranslatableError("isin() of these types")
        if kinds[1].ndim > 1:  # type: ignore[union-attr]  # an array
            test_elements = self.flattened(test_elements)
        self.facts.routines = True
        held = Value(self._held(test_elements, common), Array(common, test_elements.type.shape))  # type: ignore[union-attr]
        ordered = self.early(self._sorted(held))
        return self.elementwise([element], lambda v: Value(f"is_found({ordered}, {cast(v[0], common)})", Number(BOOL)))

    def _call_array_equal(self, a1: Value, a2: Value) -> Value:
        kinds = [v.type for v in (a1, a2)]
        if any(not isinstance(k, Array) or not k.ndim or k.dtype.kind == "c" for k in kinds):
            raise UntranslatableError("array_equal() of these arguments")
        if kinds[0].ndim != kinds[1].ndim:  # type: ignore[union-attr]  # arrays
            return Value("False", Number(BOOL, True, (0, 0)))
        a1, a2 = self._stored(a1), self._stored(a2)
        found = self.early("False")
        sizes = [self.elements(v).sizes for v in (a1, a2)]
        tests = [f"{n} == {m}" for n, m in zip(*sizes, strict=True)]
        self.line(f"if {' and '.join(tests)}:")
        self.indent += 1
        known = {*self.equal}
        self.equal.update(zip(*sizes, strict=True))
        self.line(f"{found} = {self._library(np.all, self._library(np.equal, a1, a2)).text}")
        self.equal.clear()
        self.equal.update(known)
        self.indent -= 1
        return Value(found, Number(BOOL, True, (0, 1)))

    def _call_percentile(self, a: Value, q: Value) -> Value:
        if isinstance(q.literal, tuple):
            parts = [self._library(np.divide, part, literal(100)) for part in q.literal]
            return self._call_quantile(a, Value("", Items(tuple(part.type for part in parts)), tuple(parts)))
        return self._call_quantile(a, self._library(np.divide, q, literal(100)))

    def _call_quantile(self, a: Value, q: Value) -> Value:
        if isinstance(a.type, Array) and a.type.ndim > 1:
            a = self.flattened(a)
        kind = self._row(a, "quantile", "iuf")
        asked = q.literal if isinstance(q.literal, tuple) else (q,)
        if self._inexact(kind) != F64 or any(not isinstance(v.type, Number) or v.type.dtype.kind == "c" for v in asked):
            raise UntranslatableError("quantile() of these arguments")
        ordered = self.early(self._sorted(a))
        made = [Value(self.early(f"quantile({ordered}, {cast(v, F64)})"), Number(F64)) for v in asked]
        if isinstance(q.literal, tuple):
            return self._library(np.array, Value("", Items(tuple(v.type for v in made)), tuple(made)))
        return made[0]

    def _call_nansum(self, a: Value, axis: Value | None = None) -> Value:
        if _dtype(a) is None or _dtype(a).kind != "f":  # type: ignore[union-attr]
            raise UntranslatableError("nansum() of this")
        a = self._stored(a)
        kept = self._library(np.where, self._library(np.isnan, a), literal(0.0), a)
        return self._library(np.sum, kept, **({} if axis is None else {"axis": axis}))

    def _call_nanmean(self, a: Value, axis: Value | None = None) -> Value:
        if _dtype(a) != F64:
            raise UntranslatableError("nanmean() of this")
        a = self._stored(a)
        along = {} if axis is None else {"axis": axis}
        count = self._library(np.sum, self._library(np.logical_not, self._library(np.isnan, a)), **along)
        return self._library(np.divide, self._call_nansum(a, axis), count)

    def _call_convolve(self, a: Value, v: Value, mode: Value | None = None) -> Value:
        given = "full" if mode is None else mode.type.value if isinstance(mode.type, Static) else None
        if given not in ("full", "same", "valid"):
            raise UntranslatableError("convolve() with this mode")
        if isinstance(v.type, Items):
            v = self._library(np.array, v)
        dtypes = [self._row(x, "convolve", "if").dtype for x in (a, v)]
        common = np.promote_types(*dtypes)
        if common not in (F64, I64):
            raise UntranslatableError("convolve() of these types")
        x, y = (self.early(self._held(each, common)) for each in (a, v))
        most, least = (self.early(f"nonzero({name}({x}.shape[0], {y}.shape[0]))") for name in ("max", "min"))
        first, size = {
            "full": ("0", f"{most} + {least} - 1"),
            "same": (f"({least} - 1) // 2", most),
            "valid": (f"{least} - 1", f"{most} - {least} + 1"),
        }[given]
        self.facts.partial = True
        return Value(f"convolved({x}, {y}, {first}, {size})", Array(common, (None,)))

    # ---- arrays side by side ----

    def _subscript(self, node: ast.Subscript) -> Value:
        match node.value:
            case ast.Attribute(attr="r_" | "c_") as maker:
                found = self.static(maker)
                if found is np.r_ or found is np.c_:
                    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                    return self._in_a_row(nodes, in_columns=found is np.c_)
        return super()._subscript(node)

    def _in_a_row(self, nodes: Sequence[ast.expr], *, in_columns: bool) -> Value:
        """`np.r_[...]` of numbers, rows and ranges, `np.c_[...]` of rows."""
        pieces = [self._piece(n) for n in nodes]
        rows = [v.type.dtype for v in pieces if isinstance(v.type, Array) and v.type.ndim == 1]
        numbers = [v.type.dtype for v in pieces if isinstance(v.type, Number)]
        if len(rows) + len(numbers) < len(pieces) or in_columns and numbers:
            raise UntranslatableError("np.r_ or np.c_ of these")
        if rows and np.result_type(*rows, *numbers) != np.result_type(*rows):
            raise UntranslatableError("np.r_ of a number that gives another dtype")  # only if it is NumPy's
        if in_columns:
            return self._library(np.column_stack, tuple_of(pieces))
        pieces = [self._library(np.array, tuple_of([v])) if isinstance(v.type, Number) else v for v in pieces]
        return self._library(np.concatenate, tuple_of(pieces))

    def _piece(self, node: ast.expr) -> Value:
        if not isinstance(node, ast.Slice):
            value = self.value(node)
            return self._library(np.asarray, value) if isinstance(value.type, Growing) else value
        bounds = [literal(0) if node.lower is None else self.value(node.lower)]
        bounds += [self.value(n) for n in (node.upper, node.step) if n is not None]
        if node.upper is None or any(not isinstance(v.type, Number) or v.type.kind != "i" for v in bounds):
            raise UntranslatableError("np.r_ of this range")
        return self._library(np.arange, *bounds)

    def _call_concatenate(self, arrays: Value, axis: Value | None = None) -> Value:
        pieces = _pieces(arrays)
        k = 0 if axis is None else axis.literal
        if type(k) is not int or not pieces or any(_ndim(v) != 2 for v in pieces):
            if k == 0 or k == -1 and all(_ndim(v) == 1 for v in pieces):
                return self.concatenated(arrays)
            raise UntranslatableError("np.concatenate() of these arrays")
        if not -2 <= k < 2:
            raise UntranslatableError("np.concatenate() along another axis")
        return self._joined(pieces, k % 2)

    def _joined(self, pieces: Sequence[Value], axis: int) -> Value:
        """Matrices below or beside each other."""
        kinds: list[Any] = [v.type for v in pieces]
        dtype = np.result_type(*(kind.dtype for kind in kinds))
        lazies = [self.elements(v) for v in pieces]
        for other in lazies[1:]:
            self.compare_lengths(lazies[0].sizes[1 - axis], other.sizes[1 - axis])
        lengths = [kind.shape[axis] for kind in kinds]
        total = None if None in lengths else sum(lengths)
        sizes = [" + ".join(lazy.sizes[axis] for lazy in lazies), lazies[0].sizes[1 - axis]]
        shape = [total, kinds[0].shape[1 - axis]]
        out = self.empty(sizes if axis == 0 else sizes[::-1], dtype)
        first = "0"
        for lazy in lazies:
            self.nest(lazy.sizes, lambda i, lazy=lazy, first=first: self.put(
                out, [f"{first} + {i[0]}", i[1]] if axis == 0 else [i[0], f"{first} + {i[1]}"], cast(lazy.at(i), dtype)
            ))  # fmt: skip
            first = f"{first} + {lazy.sizes[axis]}"
        self.facts.count(*shape)
        return Value(out, Array(dtype, tuple(shape if axis == 0 else shape[::-1])))

    def _call_vstack(self, tup: Value) -> Value:
        pieces = _pieces(tup)
        return self._stacked(tup, 0) if all(map(_is_row, pieces)) else self._call_concatenate(tup)

    def _call_hstack(self, tup: Value) -> Value:
        pieces = _pieces(tup)
        return self._call_concatenate(tup, literal(0 if all(map(_is_row, pieces)) else 1))

    def _call_column_stack(self, tup: Value) -> Value:
        if not isinstance(tup.literal, tuple) or any(_ndim(v) != 1 for v in tup.literal):
            raise UntranslatableError("column_stack() of these")
        return self._stacked(tup, 1)

    def _call_repeat(self, a: Value, repeats: Value) -> Value:
        return self._many_times(a, repeats, lambda i, n, times: f"{i} // {times}")

    def _call_tile(self, A: Value, reps: Value) -> Value:  # noqa: N803 (NumPy's name)
        return self._many_times(A, reps, lambda i, n, times: f"{i} % {n}")

    def _many_times(self, value: Value, times: Value, source: Callable[[str, str, str], str]) -> Value:
        """A row's elements several times. source: which one, of the index, the row's length and how often."""
        if _ndim(value) != 1 or not isinstance(times.type, Number) or times.type.dtype.kind not in "iu":
            raise UntranslatableError("an array several times")
        value = self.array(value)
        (n,) = self.elements(value).sizes
        often = self.early(f"length({index(times)})")
        (known,) = value.type.shape  # type: ignore[union-attr]  # an array
        size = None if known is None or times.known is None else known * times.known
        self.facts.partial = self.facts.partial or size is None
        return self.reindexed(value, (size,), (f"{n} * {often}",), lambda i: [source(i[0], n, often)])

    def _call_meshgrid(self, x: Value, y: Value, indexing: Value | None = None) -> Value:
        given = "xy" if indexing is None else indexing.type.value if isinstance(indexing.type, Static) else None
        if given not in ("xy", "ij") or any(_ndim(v) != 1 for v in (x, y)):
            raise UntranslatableError("meshgrid() of these arguments")
        rows = [self.array(v) for v in (x, y)]
        order = [1, 0] if given == "xy" else [0, 1]  # which of them each axis follows
        sizes = [self.elements(rows[k]).sizes[0] for k in order]
        shape = tuple(rows[k].type.shape[0] for k in order)  # type: ignore[union-attr]  # arrays
        parts = [
            self.array(self.reindexed(row, shape, sizes, lambda i, k=k: [i[order.index(k)]]))
            for k, row in enumerate(rows)
        ]
        return Value(f"({', '.join(v.text for v in parts)},)", Items(tuple(v.type for v in parts)), tuple(parts))


def _pieces(value: Value) -> tuple[Value, ...]:
    """The items of a tuple or list that is written out; none of others."""
    return value.literal if isinstance(value.literal, tuple) else ()


def _is_row(value: Value) -> bool:
    return _ndim(value) == 1 or isinstance(value.literal, tuple)


def _ndim(value: Value) -> int | None:
    return value.type.ndim if isinstance(value.type, Array) else None


def _dtype(value: Value) -> np.dtype | None:
    return value.type.dtype if isinstance(value.type, Array) else None


__all__ = ["COMPOSITIONS", "JOINED", "Compositions"]
