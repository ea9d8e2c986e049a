"""NumPy's routines on the small arrays of a loop: linear systems, sorting, counting, diagonals, stacks.

The arithmetic is in `codegen.loops.routines`; what only says where elements come from becomes an expression of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.avals import SHORT_NAMES
from ...primitives.numpy_orders import order_routines
from .arrays import scalar_name, tuple_of
from .operators import cast, index
from .rearranging import Rearranging
from .types import (
    BOOL,
    F64,
    I64,
    LAZY,
    Array,
    Growing,
    Items,
    Lazy,
    Number,
    Static,
    UntranslatableError,
    Value,
    literal,
)

ROUTINES: dict[Any, str] = {
    np.linalg.inv: "inv", np.linalg.solve: "solve", np.linalg.det: "det", np.argsort: "argsort", np.sort: "sort",
    np.lexsort: "lexsort", np.searchsorted: "searchsorted", np.bincount: "bincount", np.flatnonzero: "flatnonzero",
    np.nonzero: "nonzero", np.argwhere: "argwhere",
    np.count_nonzero: "count_nonzero", np.eye: "eye", np.identity: "identity", np.diag: "diag",
    np.diagonal: "diagonal", np.trace: "trace", np.tril: "tril", np.triu: "triu", np.diff: "diff",
    np.stack: "stack", np.ravel: "ravel", np.cross: "cross",
    np.inner: "inner", np.median: "median", np.interp: "interp", np.unique: "unique",
    np.hanning: "hanning", np.hamming: "hamming", np.blackman: "blackman",
    np.polyfit: "polyfit", np.polyval: "polyval", np.histogram: "histogram",
}  # fmt: skip
STACKS = (np.stack, np.lexsort)  # of arrays in a list or tuple
DESCRIPTIONS = (np.iinfo, np.finfo, np.dtype)


class Routines(Rearranging):
    """Calls of NumPy's routines. Parameters are called as NumPy calls them."""

    def _matrix(self, value: Value, name: str) -> Array:
        kind = value.type
        if not isinstance(kind, Array) or kind.ndim != 2:
            raise UntranslatableError(f"{name}() of {kind}")
        n = kind.shape[0]
        self.facts.product = max(self.facts.product, n**3 if n is not None else float("inf"))
        # LAPACK takes the others in traced loops as well, which compile in a fraction of the time.
        self.facts.routines = self.facts.routines or kind.dtype in (np.float32, np.complex64)
        self.facts.count(*kind.shape)
        return kind

    def _held(self, value: Value, dtype: np.dtype | None = None) -> str:
        """An array in memory, as `dtype`."""
        kind = value.type
        assert isinstance(kind, Array)
        if dtype is not None and kind.dtype != dtype:
            value = self.elementwise([value], lambda v: Value(cast(v[0], dtype), Number(dtype)))
        return self.array(value).text

    def _inexact(self, *kinds: Array) -> np.dtype:
        dtype = np.result_type(*(k.dtype for k in kinds))
        return F64 if dtype.kind in "biu" else dtype

    def _call_inv(self, a: Value) -> Value:
        kind = self._matrix(a, "inv")
        dtype = self._inexact(kind)
        return Value(f"inverse({self._held(a, dtype)})", Array(dtype, kind.shape))

    def _call_solve(self, a: Value, b: Value) -> Value:
        kind, right = self._matrix(a, "solve"), b.type
        if not isinstance(right, Array) or right.ndim > 2 or right.ndim == 0:
            raise UntranslatableError(f"solve() of {right}")
        dtype = self._inexact(kind, right)
        held = self._held(a, dtype)
        return Value(f"solve_{right.ndim}({held}, {self._held(b, dtype)})", Array(dtype, right.shape))

    def _call_det(self, a: Value) -> Value:
        dtype = self._inexact(self._matrix(a, "det"))
        return Value(f"determinant({self._held(a, dtype)}, {scalar_name(dtype)}(1))", Number(dtype))

    # ---- order and counts ----

    def _row(self, value: Value, name: str, kinds: str = "biuf") -> Array:
        kind = value.type
        if not isinstance(kind, Array) or kind.ndim != 1 or kind.dtype.kind not in kinds:
            raise UntranslatableError(f"{name}() of {kind}")
        self.facts.routines = True
        self.facts.count(*kind.shape)
        return kind

    def _call_argsort(self, a: Value, axis: Value | None = None, kind: Value | None = None) -> Value:
        if isinstance(a.type, Array) and a.type.ndim == 2:
            return self._in_rows(a, axis, I64, lambda row: self._call_argsort(row, kind=kind))
        found = self._row(a, "argsort")
        if axis is not None and axis.literal not in (0, -1):
            raise UntranslatableError("argsort() along an axis")
        given = None if kind is None else kind.type.value if isinstance(kind.type, Static) else ""
        if given in ("stable", "mergesort"):
            return Value(f"stable_order({self._held(a)})", Array(I64, found.shape))
        # What order equal elements come in is NumPy's own for the other kinds.
        if given not in (None, "quicksort") or found.dtype not in order_routines():
            raise UntranslatableError("argsort() of another kind than 'stable'")
        return Value(f"numpys_order_{SHORT_NAMES[found.dtype]}({self._held(a)})", Array(I64, found.shape))

    def _call_lexsort(self, keys: Value) -> Value:
        parts = keys.literal if isinstance(keys.literal, tuple) else ()
        if not parts:
            raise UntranslatableError("lexsort() of these keys")
        kinds = [self._row(v, "lexsort") for v in parts]
        held = [self.early(self._held(v)) for v in parts]
        for other in held[1:]:
            self.compare_lengths(f"{held[0]}.shape[0]", f"{other}.shape[0]")
        order = self.early(f"stable_order({held[0]})")
        for key in held[1:]:
            order = self.early(f"{order}[stable_order({key}[{order}])]")
        return Value(order, Array(I64, kinds[0].shape))

    def _call_sort(self, a: Value, axis: Value | None = None) -> Value:
        if isinstance(a.type, Array) and a.type.ndim == 2:
            return self._in_rows(a, axis, a.type.dtype, self._call_sort)
        found = self._row(a, "sort")
        if axis is not None and axis.literal not in (0, -1):
            raise UntranslatableError("sort() along an axis")
        return Value(self._sorted(a), Array(found.dtype, found.shape))

    def _in_rows(self, a: Value, axis: Value | None, dtype: np.dtype, compute: Callable[[Value], Value]) -> Value:
        """Of a matrix, what `compute` makes of each row, or of each column, in its place."""
        k = -1 if axis is None else axis.literal
        if type(k) is not int or not -2 <= k < 2:
            raise UntranslatableError("rows along an axis that is not written out")
        is_of_columns = k % 2 == 0
        held = self.kept(self.array(self.copy(self.transposed(a)) if is_of_columns else a))
        kind = held.type
        assert isinstance(kind, Array)
        sizes = self.elements(held).sizes
        out = self.empty(sizes, dtype)

        def body(i: list[str]) -> None:
            row = Value(f"{held.text}[{i[0]}]", Array(kind.dtype, kind.shape[1:], kind.origins))
            self.line(f"{out}[{i[0]}] = {compute(row).text}")

        self.nest(sizes[:1], body)
        self.facts.count(*kind.shape)
        made = Value(out, Array(dtype, kind.shape))
        return self.copy(self.transposed(made)) if is_of_columns else made

    def _sorted(self, a: Value) -> str:
        dtype = a.type.dtype  # type: ignore[union-attr]  # an array
        name = f"numpys_sorted_{SHORT_NAMES[dtype]}" if dtype in order_routines() else "sorted_copy"
        return f"{name}({self._held(a)})"

    def _call_searchsorted(self, a: Value, v: Value, side: Value | None = None) -> Value:
        where = "left" if side is None else side.type.value if isinstance(side.type, Static) else None
        if where not in ("left", "right"):
            raise UntranslatableError("searchsorted()")
        if isinstance(a.type, Growing):
            return self.place_in_list(a, v, above=where == "right")  # type: ignore[attr-defined]  # of `list_calls`
        kind = self._row(a, "searchsorted")
        if kind.dtype.kind == "b":
            raise UntranslatableError("searchsorted()")
        if not isinstance(v.type, Number | Array):
            raise UntranslatableError("searchsorted() of several values")
        common = np.promote_types(kind.dtype, v.type.dtype)  # a number of Python's, too, counts with its own dtype
        text = self._held(a, None if common == kind.dtype else common)
        name = text if text.isidentifier() else self.early(text)

        def place(x: Sequence[Value]) -> Value:
            return Value(f"np.int64(place_of({name}, {cast(x[0], common)}, {where == 'right'}))", Number(I64))

        return self.pointwise(place, v)

    def _call_interp(
        self, x: Value, xp: Value, fp: Value, left: Value | None = None, right: Value | None = None
    ) -> Value:
        for points in (xp, fp):
            self._row(points, "interp")
        if not isinstance(x.type, Number | Array) or x.type.dtype.kind not in "biuf":
            raise UntranslatableError(f"interp() of {x.type}")
        at, values = (self.early(self._held(points, F64)) for points in (xp, fp))
        self.compare_lengths(f"{at}.shape[0]", f"{values}.shape[0]")
        n = self.early(f"nonzero({at}.shape[0])")

        def end(given: Value | None, place: str) -> str:
            if given is None or isinstance(given.type, Static) and given.type.value is None:
                return self.early(f"at_1({values}, {place})")
            if not isinstance(given.type, Number):
                raise UntranslatableError("interp() with these ends")
            return self.early(cast(given, F64))

        below, above = end(left, "0"), end(right, f"{n} - 1")

        def interpolated(v: Sequence[Value]) -> Value:
            return Value(f"interpolated({cast(v[0], F64)}, {at}, {values}, {below}, {above})", Number(F64))

        return self.pointwise(interpolated, x)

    def _call_polyfit(self, x: Value, y: Value, deg: Value) -> Value:
        kinds = [self._row(v, "polyfit", "iuf") for v in (x, y)]
        if np.float32 in [kind.dtype for kind in kinds] or not isinstance(deg.literal, int) or not 0 <= deg.literal < 9:
            raise UntranslatableError("polyfit()")
        self.facts.partial = True
        text = f"fitted({self._held(x, F64)}, {self._held(y, F64)}, {deg.literal})"
        return Value(text, Array(F64, (deg.literal + 1,)))

    def _call_polyval(self, p: Value, x: Value) -> Value:
        if isinstance(p.type, Items):
            p = self.library(np.array, [p], {})  # type: ignore[attr-defined]  # of calls
        kind = self._row(p, "polyval", "iuf")
        if not isinstance(x.type, Number | Array) or x.type.dtype.kind not in "iuf":
            raise UntranslatableError(f"polyval() of {x.type}")
        if np.promote_types(kind.dtype, x.type.dtype) != F64 or kind.dtype.kind != "f":
            raise UntranslatableError("polyval() of these numbers")
        coefficients = self.early(self._held(p, F64))
        return self.pointwise(lambda v: Value(f"polynomial({coefficients}, {cast(v[0], F64)})", Number(F64)), x)

    def _call_unique(
        self, ar: Value, return_index: Value | None = None, return_inverse: Value | None = None,
        return_counts: Value | None = None,
    ) -> Value:  # fmt: skip
        asked = [given is not None and given.literal for given in (return_index, return_inverse, return_counts)]
        if None in asked or isinstance(ar.type, Array) and ar.type.ndim > 1 and any(asked[:2]):
            raise UntranslatableError("unique()")
        if isinstance(ar.type, Array) and ar.type.ndim > 1:
            ar = self.flattened(ar)
        kind = self._row(ar, "unique")
        self.facts.masked = True
        ar = self.kept(self.array(ar))
        by_numpy = kind.dtype.kind in "iu" and kind.dtype in order_routines()
        name = f"numpys_distinct_{SHORT_NAMES[kind.dtype]}"
        values = self.early(f"{name}({ar.text})" if by_numpy else f"distinct({self._sorted(ar)})")
        parts = [Value(values, Array(kind.dtype, (None,)))]
        if not any(asked):
            return parts[0]
        inverse = self.early(f"places_of_distinct({ar.text}, {values})")
        texts = (f"first_places({inverse}, {values}.size)", inverse, f"counts({inverse}, {values}.size)")
        shapes = (None,), kind.shape, (None,)
        parts += [Value(t, Array(I64, n)) for t, n, wanted in zip(texts, shapes, asked, strict=True) if wanted]
        return tuple_of(parts)

    def _call_bincount(self, x: Value, weights: Value | None = None, minlength: Value | None = None) -> Value:
        kind = self._row(x, "bincount", "iu")
        if kind.dtype == np.uint64:
            raise UntranslatableError("bincount() of uint64")
        least = "0" if minlength is None else f"nonnegative({index(minlength)})"
        self.facts.partial = True
        if weights is None or isinstance(weights.type, Static):
            return Value(f"counts({self._held(x)}, {least})", Array(I64, (None,)))
        self._row(weights, "bincount")
        text = f"weighted_counts({self._held(x)}, {self._held(weights, F64)}, {least})"
        return Value(text, Array(F64, (None,)))

    def _call_histogram(
        self, a: Value, bins: Value | None = None, range: Value | None = None,  # noqa: A002  (NumPy's name)
        density: Value | None = None,
    ) -> Value:  # fmt: skip
        if isinstance(a.type, Array) and a.type.ndim > 1:
            a = self.flattened(a)
        kind = self._row(a, "histogram", "if")
        if kind.dtype.kind == "f" and kind.dtype != F64:
            raise UntranslatableError(f"histogram() of {kind.dtype}")
        bins = literal(10) if bins is None else bins
        ends = None if range is None or isinstance(range.type, Static) else range.literal
        is_number = isinstance(bins.type, Number) and bins.type.dtype.kind in "iu"
        if not is_number or ends is not None and len(ends) != 2 or ends is None and range is not None:
            raise UntranslatableError("histogram() of such bins")
        if density is not None and not isinstance(density.literal, bool):
            raise UntranslatableError("histogram()")
        held = self.early(self._held(a, F64))
        low, high = ("0.0", "0.0") if ends is None else (cast(end, F64) for end in ends)
        edges = self.early(f"bin_edges({held}, {index(bins)}, {low}, {high}, {ends is not None})")
        n = bins.literal if isinstance(bins.literal, int) else None
        text, dtype = f"counts_in_bins({held}, {edges})", I64
        if density is not None and density.literal:
            text, dtype = f"densities({text}, {edges})", F64
        return tuple_of([Value(text, Array(dtype, (n,))), Value(edges, Array(F64, (None if n is None else n + 1,)))])

    def _call_flatnonzero(self, a: Value) -> Value:
        self._row(a, "flatnonzero")
        self.facts.masked = True
        return Value(f"places({self._held(a)})", Array(I64, (None,)))

    def _call_nonzero(self, a: Value) -> Value:
        kind = a.type
        if not isinstance(kind, Array) or not kind.ndim or kind.dtype.kind == "c":
            raise UntranslatableError("nonzero()")
        if kind.ndim == 1:
            return tuple_of([self._call_flatnonzero(a)])
        self.facts.masked = True
        self.facts.count(*kind.shape)
        found = self.early(f"np.nonzero({self._held(a)})")
        return tuple_of([Value(f"{found}[{k}]", Array(I64, (None,))) for k in range(kind.ndim)])

    def _call_argwhere(self, a: Value) -> Value:
        kind = a.type
        if not isinstance(kind, Array) or not 1 <= kind.ndim <= 3 or kind.dtype.kind == "c":
            raise UntranslatableError("argwhere()")
        self.facts.masked = True
        self.facts.count(*kind.shape)
        return Value(f"places_by_rows_{kind.ndim}({self._held(a)})", Array(I64, (None, kind.ndim)))

    def _call_count_nonzero(self, a: Value, axis: Value | None = None) -> Value:
        if not isinstance(a.type, Array) or a.type.dtype.kind not in "biuf":
            raise UntranslatableError("count_nonzero()")
        if axis is not None:
            others = self.library(np.not_equal, [a, literal(0)], {})  # type: ignore[attr-defined]  # of calls
            return self.library(np.sum, [others], {"axis": axis})  # type: ignore[attr-defined]
        self.facts.count(*a.type.shape)
        if a.lazy is not None and a.lazy.computed:
            ones = self.elementwise([a], lambda v: Value(cast(Value(cast(v[0], BOOL), Number(BOOL)), I64), Number(I64)))
            assert ones.lazy is not None
            return self.summed(ones.lazy, a.type.shape, I64, of_mean=False)
        return Value(f"how_many({self._held(a)})", Number(I64))

    def _call_median(self, a: Value) -> Value:
        if isinstance(a.type, Array) and a.type.ndim > 1:
            a = self.flattened(a)
        kind = self._row(a, "median", "iuf")
        dtype = self._inexact(kind)
        name = self.early(self._sorted(a))
        n = self.early(f"nonzero({name}.shape[0])")
        scalar = scalar_name(dtype)
        low, high = f"{scalar}({name}[({n} - 1) // 2])", f"{scalar}({name}[{n} // 2])"
        text = f"({high} if {n} % 2 else ({low} + {high}) / {scalar}(2))"
        if kind.dtype.kind == "f":
            text = f"({name}[{n} - 1] if np.isnan({name}[{n} - 1]) else {text})"
        return Value(text, Number(dtype))

    # ---- where elements come from ----

    def _call_identity(self, n: Value, dtype: Value | None = None) -> Value:
        return self._call_eye(n, dtype=dtype)

    def _call_eye(self, N: Value, M: Value | None = None, k: Value | None = None, dtype: Value | None = None) -> Value:  # noqa: N803 (NumPy's names)
        given = F64
        if dtype is not None:
            if not isinstance(dtype.type, Static):
                raise UntranslatableError("a dtype")
            given = np.dtype(dtype.type.value)
        if given.kind not in "biufc":
            raise UntranslatableError(f"eye() of {given}")
        columns = N if M is None or isinstance(M.type, Static) else M
        sizes = tuple(self.early(f"length({index(n)})") for n in (N, columns))
        shift = 0 if k is None else k.literal
        if type(shift) is not int:
            raise UntranslatableError("eye() with a shift that is not written out")
        one, zero = (f"{scalar_name(given)}({n})" for n in (1, 0))
        self.facts.count(N.known, columns.known)
        lazy = Lazy(
            sizes, lambda i: Value(f"({one} if {i[1]} == {i[0]} + {shift} else {zero})", Number(given)), (), False
        )
        return Value(LAZY, Array(given, (N.known, columns.known)), lazy=lazy)

    def _call_diag(self, v: Value) -> Value:
        kind = v.type
        if isinstance(kind, Array) and kind.ndim == 2:
            return self._call_diagonal(v)
        if not isinstance(kind, Array) or kind.ndim != 1:
            raise UntranslatableError("diag()")
        source = self.elements(self.array(v))
        zero, number = f"{scalar_name(kind.dtype)}(0)", Number(kind.dtype)
        lazy = Lazy(
            source.sizes * 2,
            lambda i: Value(f"({source.at(i[:1]).text} if {i[0]} == {i[1]} else {zero})", number),
            source.reads, False,
        )  # fmt: skip
        self.facts.count(*kind.shape, *kind.shape)
        return Value(LAZY, Array(kind.dtype, kind.shape * 2), lazy=lazy)

    def _call_diagonal(self, a: Value) -> Value:
        kind = a.type
        if not isinstance(kind, Array) or kind.ndim != 2:
            raise UntranslatableError("diagonal()")
        a = self.array(a)
        sizes = self.elements(a).sizes
        known = None if None in kind.shape else min(n or 0 for n in kind.shape)
        size = self.early(f"min({sizes[0]}, {sizes[1]})")
        return self.reindexed(a, (known,), (size,), lambda i: [i[0], i[0]], shares=True)

    def _call_trace(self, a: Value) -> Value:
        return self.library(np.sum, [self._call_diagonal(a)], {})  # type: ignore[attr-defined]  # of calls

    def _call_tril(self, m: Value, k: Value | None = None) -> Value:
        return self._triangle(m, k, "<=")

    def _call_triu(self, m: Value, k: Value | None = None) -> Value:
        return self._triangle(m, k, ">=")

    def _triangle(self, m: Value, k: Value | None, symbol: str) -> Value:
        kind = m.type
        if not isinstance(kind, Array) or kind.ndim != 2:
            raise UntranslatableError("a triangle of this")
        source = self.elements(self.array(m))
        shift = "0" if k is None else self.early(index(k))
        zero, number = f"{scalar_name(kind.dtype)}(0)", Number(kind.dtype)
        lazy = Lazy(
            source.sizes,
            lambda i: Value(f"({source.at(i).text} if {i[1]} {symbol} {i[0]} + {shift} else {zero})", number),
            source.reads, False,
        )  # fmt: skip
        self.facts.count(*kind.shape)
        return Value(LAZY, Array(kind.dtype, kind.shape), lazy=lazy)

    def _call_diff(self, a: Value, n: Value | None = None, axis: Value | None = None) -> Value:
        order = 1 if n is None else n.literal
        kind, along = a.type, -1 if axis is None else axis.literal
        if not isinstance(kind, Array) or not kind.ndim or kind.dtype.kind not in "iuf":
            raise UntranslatableError(f"diff() of {kind}")
        is_axis = type(along) is int and -kind.ndim <= along < kind.ndim
        if not is_axis or type(order) is not int or not 1 <= order <= 4:
            raise UntranslatableError("diff() with these arguments")
        if order > 1:
            a = self._call_diff(a, literal(order - 1), axis)
        self.facts.routines = True
        self.facts.count(*kind.shape)
        a, along = self.array(a), along % kind.ndim
        assert isinstance(a.type, Array)
        name = a.text if a.text.isidentifier() else self.early(a.text)
        size, before = a.type.shape[along], ":, " * along
        shape = (*kind.shape[:along], None if size is None else max(size - 1, 0), *kind.shape[along + 1 :])
        part = Array(kind.dtype, shape, kind.origins)
        last = f"max({name}.shape[{along}] - 1, 0)"
        parts = [Value(f"{name}[{before}1:]", part), Value(f"{name}[{before}:{last}]", part)]
        return self.library(np.subtract, parts, {})  # type: ignore[attr-defined]  # of calls

    def flattened(self, value: Value) -> Value:
        """A copy along one axis."""
        kind = value.type
        assert isinstance(kind, Array)
        known = None if None in kind.shape else math.prod(n or 0 for n in kind.shape)
        copied = self.array(self.elementwise([value], lambda v: v[0]))
        return Value(f"{copied.text}.reshape({copied.text}.size)", Array(kind.dtype, (known,)))

    def _stacked(self, arrays: Value, axis: int) -> Value:
        """Arrays of one shape along a new axis."""
        pieces = arrays.literal if isinstance(arrays.literal, tuple) else ()
        if not pieces or any(not isinstance(p.type, Array) for p in pieces):
            raise UntranslatableError("a stack of these")
        dtype = np.result_type(*(p.type.dtype for p in pieces))  # type: ignore[union-attr]  # arrays
        shape = pieces[0].type.shape  # type: ignore[union-attr]  # arrays
        if not shape or any(p.type.ndim != len(shape) for p in pieces):  # type: ignore[union-attr]  # arrays
            raise UntranslatableError("a stack of arrays of other shapes")
        lazies = [self.elements(p) for p in pieces]
        for other in lazies[1:]:
            for a, b in zip(lazies[0].sizes, other.sizes, strict=True):
                self.compare_lengths(a, b)
        axis %= len(shape) + 1
        sizes = [*lazies[0].sizes[:axis], str(len(pieces)), *lazies[0].sizes[axis:]]
        out = self.empty(sizes, dtype)
        for k, lazy in enumerate(lazies):
            self.nest(
                lazy.sizes,
                lambda i, k=k, lazy=lazy: self.put(out, [*i[:axis], str(k), *i[axis:]], cast(lazy.at(i), dtype)),
            )
        self.facts.count(*shape, len(pieces))
        return Value(out, Array(dtype, (*shape[:axis], len(pieces), *shape[axis:])))

    def _call_stack(self, arrays: Value, axis: Value | None = None) -> Value:
        k = 0 if axis is None else axis.literal
        if type(k) is not int:
            raise UntranslatableError("stack() along an axis that is not written out")
        return self._stacked(arrays, k)

    def _call_inner(self, a: Value, b: Value) -> Value:
        if any(not isinstance(v.type, Array) or v.type.ndim != 1 for v in (a, b)):
            raise UntranslatableError("inner()")
        return self.matmul(a, b)

    def _call_cross(self, a: Value, b: Value) -> Value:
        kinds = [v.type for v in (a, b)]
        if any(not isinstance(k, Array) or k.shape != (3,) or k.dtype.kind not in "f" for k in kinds):
            raise UntranslatableError("cross()")
        x, y = ([self.element(held, str(k), None) for k in range(3)] for held in map(self.named, (a, b)))
        library = self.library  # type: ignore[attr-defined]  # of calls
        parts = [
            library(np.subtract, [library(np.multiply, [x[i], y[j]], {}), library(np.multiply, [x[j], y[i]], {})], {})
            for i, j in ((1, 2), (2, 0), (0, 1))
        ]  # fmt: skip
        return library(np.array, [tuple_of(parts)], {})

    def described(self, function: Any, args: Sequence[Value]) -> Value:
        """`np.finfo(np.float64)` and the like, which exist while translating."""
        given = []
        for value in args:
            if isinstance(value.type, Static):
                given.append(value.type.value)
            elif isinstance(value.type, Number):
                given.append(value.type.dtype)
            else:
                raise UntranslatableError(f"{function.__name__}() of an array")
        try:
            return Value("", Static(function(*given)))
        except (TypeError, ValueError):
            raise UntranslatableError(f"{function.__name__}()") from None


__all__ = ["DESCRIPTIONS", "ROUTINES", "Routines"]
