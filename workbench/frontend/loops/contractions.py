"""Products and sums over axes, other shapes, and what NumPy makes of such: on the small arrays of a loop.

A contraction (`einsum`, `tensordot`) is an array of all products, one axis for each letter, which is never in memory,
and a sum over the axes that the result has not.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .operators import binary, cast, index
from .routines import Routines
from .types import BOOL, C128, F64, I64, LAZY, Array, Items, Lazy, Number, Static, UntranslatableError, Value, literal

COMBINATIONS: dict[Any, str] = {
    np.tensordot: "tensordot", np.einsum: "einsum", np.vdot: "vdot", np.matmul: "matmul", np.reshape: "reshape",
    np.swapaxes: "swapaxes", np.expand_dims: "expand_dims", np.flipud: "flipud", np.fliplr: "fliplr", np.rot90: "rot90",
    np.round: "rounded_to", np.around: "rounded_to", np.ptp: "ptp", np.average: "average",
    np.unravel_index: "unravel_index",
}  # fmt: skip
PRODUCTS = (F64, C128, np.dtype(np.float32), np.dtype(np.complex64), I64)  # dtypes that sums of products keep


class Contractions(Routines):
    """Calls of NumPy's functions. Parameters are called as NumPy calls them."""

    def _library(self, function: Any, *args: Value, **keywords: Value) -> Value:
        return self.library(function, list(args), keywords)  # type: ignore[attr-defined]  # of calls

    # ---- contractions ----

    def contract(self, operands: Sequence[Value], inputs: Sequence[str], output: str) -> Value:
        """The sum of products over the letters that `output` has not. inputs: the letters of each operand's axes."""
        kinds = [v.type for v in operands]
        if any(not isinstance(k, Array) or k.ndim != len(i) for k, i in zip(kinds, inputs, strict=True)):
            raise UntranslatableError("a contraction of these operands")
        dtype = np.result_type(*(k.dtype for k in kinds))  # type: ignore[union-attr]  # arrays
        if dtype not in PRODUCTS:
            raise UntranslatableError(f"a contraction of arrays of {dtype.name}")
        held = [self.array(v) if v.lazy is not None and v.lazy.computed else v for v in operands]
        lazies = [self.elements(v) for v in held]
        sizes: dict[str, str] = {}
        known: dict[str, int | None] = {}
        for kind, lazy, letters in zip(kinds, lazies, inputs, strict=True):
            for letter, text, n in zip(letters, lazy.sizes, kind.shape, strict=True):  # type: ignore[union-attr]
                if letter in sizes:
                    if 1 in (known[letter], n) and known[letter] != n:
                        raise UntranslatableError("a contraction that repeats an axis")
                    self.compare_lengths(sizes[letter], text)
                    n = known[letter] if n is None else n
                sizes.setdefault(letter, text)
                known[letter] = n
        if set(output) - set(sizes) or len(set(output)) != len(output):
            raise UntranslatableError("a contraction with such a result")
        order = [*output, *(letter for letter in sizes if letter not in output)]
        shape = tuple(known[letter] for letter in order)

        def element(i: Sequence[str]) -> Value:
            at = dict(zip(order, i, strict=True))
            factors = [
                Value(cast(lazy.at([at[letter] for letter in letters]), dtype), Number(dtype))
                for lazy, letters in zip(lazies, inputs, strict=True)
            ]
            product = factors[0]
            for factor in factors[1:]:
                product = binary("*", product, factor)
            return product

        reads = tuple(replace(read, text=f"{LAZY} {read.text}", at=()) for lazy in lazies for read in lazy.reads)
        product = math.inf if None in shape else math.prod(n or 0 for n in shape)
        self.facts.product = max(self.facts.product, product)
        self.facts.count(*shape)
        is_view = len(operands) == 1 and len(order) == len(output)  # NumPy's is, of what is in memory
        lazy = Lazy(tuple(sizes[letter] for letter in order), element, reads, not is_view, is_view)
        value = Value(LAZY, Array(dtype, shape), lazy=lazy)
        if len(order) == len(output):
            return value
        if not output:
            return self._library(np.sum, value)
        return self.reduce("sum", value, tuple(range(len(output), len(order))), False)

    def _call_einsum(self, subscripts: Value, *operands: Value) -> Value:
        text = subscripts.type.value if isinstance(subscripts.type, Static) else None
        if not isinstance(text, str) or "." in text:
            raise UntranslatableError("einsum() of subscripts that are not written out")
        given, arrow, output = text.replace(" ", "").partition("->")
        inputs = given.split(",")
        if not arrow:
            output = "".join(sorted(letter for letter in {*given} - {","} if given.count(letter) == 1))
        if len(inputs) != len(operands) or not all(i.isalpha() for i in inputs):
            raise UntranslatableError("einsum() of these operands")
        return self.contract(operands, inputs, output)

    def _call_tensordot(self, a: Value, b: Value, axes: Value | None = None) -> Value:
        x, y = a.type, b.type
        if not isinstance(x, Array) or not isinstance(y, Array):
            raise UntranslatableError("tensordot() of these operands")
        pairs = self._paired_axes(literal(2) if axes is None else axes, x.ndim, y.ndim)
        letters = iter(string.ascii_letters)
        left = [next(letters) for _ in range(x.ndim)]
        right = ["" for _ in range(y.ndim)]
        for i, j in pairs:
            right[j] = left[i]
        right = [letter or next(letters) for letter in right]
        mine, theirs = {i for i, _ in pairs}, {j for _, j in pairs}
        output = [c for i, c in enumerate(left) if i not in mine] + [c for j, c in enumerate(right) if j not in theirs]
        return self.contract([a, b], ["".join(left), "".join(right)], "".join(output))

    def _paired_axes(self, axes: Value, n: int, m: int) -> list[tuple[int, int]]:
        """Which axes of the first operand meet which of the second one."""
        refusal = UntranslatableError("tensordot() over axes that are not written out")
        if type(axes.literal) is int:
            k = axes.literal
            if not 0 <= k <= min(n, m):
                raise refusal
            return [(n - k + i, i) for i in range(k)]
        if not isinstance(axes.literal, tuple) or len(axes.literal) != 2:
            raise refusal
        sides = [v.literal if isinstance(v.literal, tuple) else (v,) for v in axes.literal]
        numbers = [[v.literal for v in side] for side in sides]
        if len(numbers[0]) != len(numbers[1]):
            raise refusal
        for side, n_axes in zip(numbers, (n, m), strict=True):
            if any(type(k) is not int or not -n_axes <= k < n_axes for k in side):
                raise refusal
        pairs = [(i % n, j % m) for i, j in zip(*numbers, strict=True)]
        if any(len({*side}) < len(pairs) for side in zip(*pairs, strict=True)):
            raise refusal
        return pairs

    def _call_matmul(self, x1: Value, x2: Value) -> Value:
        return self.matmul(x1, x2)  # type: ignore[attr-defined]  # of expressions

    def _call_inner(self, a: Value, b: Value) -> Value:
        kinds = [v.type for v in (a, b)]
        if any(not isinstance(k, Array) or not 1 <= k.ndim <= 2 for k in kinds):
            raise UntranslatableError("inner()")
        if all(k.ndim == 1 for k in kinds):  # type: ignore[union-attr]  # arrays
            return super()._call_inner(a, b)
        left, right = (letters[2 - k.ndim :] for letters, k in zip(("ij", "kj"), kinds, strict=True))  # type: ignore[union-attr]
        return self.contract([a, b], [left, right], left[:-1] + right[:-1])

    def _call_vdot(self, a: Value, b: Value) -> Value:
        kinds = [v.type for v in (a, b)]
        if any(not isinstance(k, Array) for k in kinds) or len({k.ndim for k in kinds}) > 1:  # type: ignore[union-attr]
            raise UntranslatableError("vdot() of these operands")
        if kinds[0].dtype.kind == "c":  # type: ignore[union-attr]  # arrays
            a = self._library(np.conjugate, a)
        if kinds[0].ndim == 1:  # type: ignore[union-attr]
            return self._call_inner(a, b)
        letters = string.ascii_letters[: kinds[0].ndim]  # type: ignore[union-attr]
        return self.contract([a, b], [letters, letters], "")

    # ---- other shapes ----

    def _call_ravel(self, a: Value) -> Value:
        kind = a.type
        if isinstance(kind, Array) and kind.ndim == 1 and a.lazy is not None:
            return a
        return self._call_reshape(a, literal(-1))

    def _call_reshape(self, a: Value, *shape: Value) -> Value:
        """Elements in another shape. In memory their steps tell view from copy: then only expressions read them."""
        kind = a.type
        (first, *rest) = shape or (None,)
        given = first.literal if first is not None and not rest and isinstance(first.literal, tuple) else shape
        numbers = [v.known if isinstance(v, Value) else None for v in given]
        if not isinstance(kind, Array) or not numbers or numbers.count(-1) > 1:
            raise UntranslatableError("reshape()")
        is_copy = a.lazy is not None and not a.lazy.shares
        source = self.elements(self.array(a) if a.lazy is not None and a.lazy.computed else a)
        total = None if None in kind.shape else math.prod(n or 0 for n in kind.shape)
        others = None if None in numbers else math.prod(n for n in numbers if n != -1)  # type: ignore[misc]
        sizes = [self.early(f"length({index(v)})") if n != -1 else "" for v, n in zip(given, numbers, strict=True)]
        size = " * ".join(source.sizes) or "1"
        product = " * ".join(s for s in sizes if s) or "1"
        if -1 in numbers:
            if total is not None and others is not None and (others == 0 or total % others):
                raise UntranslatableError("reshape() that does not fit")
            sizes[numbers.index(-1)] = self.early(f"({size}) // nonzero({product})")
        self.compare_lengths(f"({size})", f"({' * '.join(sizes)})")
        rest_of = None if total is None or others is None else total // others
        known = tuple(rest_of if n == -1 else n for n in numbers)

        def place(i: Sequence[str]) -> list[str]:
            flat = "0"
            for k, size in zip(i, sizes, strict=True):
                flat = k if flat == "0" else f"({flat} * {size} + {k})"
            made: list[str] = []
            for size in reversed(source.sizes[1:]):
                made.insert(0, f"({flat} % {size})" if flat != "0" else "0")
                flat = f"({flat} // {size})" if flat != "0" else "0"
            return [flat, *made]

        reads = tuple(replace(read, text=f"{LAZY} {read.text}", at=()) for read in source.reads)
        self.facts.count(*known)
        lazy = Lazy(tuple(sizes), lambda i: source.at(place(i)), reads, False, not is_copy)
        return Value(LAZY, Array(kind.dtype, known), lazy=lazy)

    def _call_swapaxes(self, a: Value, axis1: Value, axis2: Value) -> Value:
        kind = a.type
        if not isinstance(kind, Array) or any(type(v.literal) is not int for v in (axis1, axis2)):
            raise UntranslatableError("swapaxes()")
        i, j = (axis.literal % kind.ndim for axis in (axis1, axis2))
        if {i, j} != {0, 1} or kind.ndim != 2:
            raise UntranslatableError("swapaxes() of more than two axes")
        return self.transposed(a)

    def _call_expand_dims(self, a: Value, axis: Value) -> Value:
        kind, k = a.type, axis.literal
        if not isinstance(kind, Array) or type(k) is not int or not -kind.ndim - 1 <= k <= kind.ndim:
            raise UntranslatableError("expand_dims()")
        k %= kind.ndim + 1
        parts = [":"] * kind.ndim
        parts.insert(k, "np.newaxis")
        shape = (*kind.shape[:k], 1, *kind.shape[k:])
        held = self.lasting(a)
        return Value(f"{held.text}[{', '.join(parts)}]", replace(held.type, shape=shape))  # type: ignore[type-var]  # an array's

    def _flipped(self, value: Value, axis: int) -> Value:
        kind = value.type
        if not isinstance(kind, Array) or kind.ndim <= axis:
            raise UntranslatableError("a flip of this")
        parts = [":"] * axis + ["::-1"] + [":"] * (kind.ndim - axis - 1)
        held = self.lasting(value)
        return Value(f"{held.text}[{', '.join(parts)}]", held.type)

    def _call_flipud(self, m: Value) -> Value:
        return self._flipped(m, 0)

    def _call_fliplr(self, m: Value) -> Value:
        return self._flipped(m, 1)

    def _call_rot90(self, m: Value, k: Value | None = None) -> Value:
        kind = m.type
        k = literal(1) if k is None else k
        if not isinstance(kind, Array) or kind.ndim != 2 or not isinstance(k.type, Number) or k.type.kind != "i":
            raise UntranslatableError("rot90()")
        held = self.lasting(m)
        shape = (None, None) if not isinstance(k.literal, int) else kind.shape[:: -1 if k.literal % 2 else 1]
        return Value(f"quarter_turns({held.text}, {index(k)})", Array(kind.dtype, shape, kind.origins))

    # ---- combinations ----

    def _call_norm_along(
        self, x: Value, ord: Value | None = None, axis: Value | None = None, keepdims: Value | None = None
    ) -> Value:
        """Of vectors, or along one axis."""
        kind = x.type
        which = None if ord is None else ord.type.value if isinstance(ord.type, Static) else ord.literal
        if not isinstance(kind, Array) or kind.dtype.kind not in "fc" or (axis is None and kind.ndim != 1):
            raise UntranslatableError("norm() of this array")
        along = {} if axis is None else {"axis": axis}
        if axis is not None and type(axis.literal) is not int:
            raise UntranslatableError("norm() along several axes")
        if keepdims is not None:
            along["keepdims"] = keepdims
        if which == 1:
            return self._library(np.sum, self._library(np.absolute, x), **along)
        if which == math.inf:
            return self._library(np.max, self._library(np.absolute, x), **along)
        if which not in (None, 2):
            raise UntranslatableError("a norm of this order")
        if kind.dtype.kind == "c":
            x = self._stored(x)
            parts = [self.elementwise([x], lambda v, part=part: self.part(v[0], part)) for part in ("real", "imag")]  # type: ignore[attr-defined]  # of expressions
            if along:
                total = self._library(np.add, *(self._library(np.square, part) for part in parts))
                return self._library(np.sqrt, self._library(np.sum, self._stored(total), **along))
            squares = [self._call_inner(held, held) for held in map(self.named, parts)]
            return self._library(np.sqrt, self._library(np.add, *squares))
        return self._library(np.sqrt, self._library(np.sum, self._library(np.square, self._stored(x)), **along))

    def _call_rounded_to(self, a: Value, decimals: Value | None = None) -> Value:
        """NumPy's way: scaled, rounded to even, and back."""
        kind = a.type
        if not isinstance(kind, Array | Number) or kind.dtype.kind != "f" or isinstance(kind, Number) and kind.weak:
            raise UntranslatableError("round() of this")
        digits = 0 if decimals is None else decimals.literal
        if type(digits) is not int or abs(digits) > 15:
            raise UntranslatableError("round() to a number of digits that is not written out")
        if not digits:
            return self._library(np.rint, a)
        factor = literal(10.0 ** abs(digits))
        there, back = (np.multiply, np.divide) if digits > 0 else (np.divide, np.multiply)
        return self._library(back, self._library(np.rint, self._library(there, a, factor)), factor)

    def _call_ptp(self, a: Value) -> Value:
        if not isinstance(a.type, Array) or a.type.dtype.kind not in "f":
            raise UntranslatableError("ptp()")
        a = self._stored(a)
        return self._library(np.subtract, self._library(np.max, a), self._library(np.min, a))

    def _call_average(self, a: Value, axis: Value | None = None, weights: Value | None = None) -> Value:
        if weights is None:
            return self._library(np.mean, a, **({} if axis is None else {"axis": axis}))
        if axis is not None or any(not isinstance(v.type, Array) or v.type.dtype != F64 for v in (a, weights)):
            raise UntranslatableError("average() of these arguments")
        weights = self._stored(weights)
        total = self._library(np.sum, self._library(np.multiply, a, weights))
        return Value(f"({total.text} / nonzero({self._library(np.sum, weights).text}))", Number(F64))

    def _stored(self, value: Value) -> Value:
        return self.kept(value) if value.lazy is not None and value.lazy.computed else value

    def close(self, function: Any, args: list[Value], keywords: dict[str, Value]) -> Value:
        """NumPy's definition: `abs(a - b) <= atol + rtol * abs(b)`, b finite, or both equal."""
        given = dict(zip(("a", "b", "rtol", "atol"), args, strict=False)) | keywords
        if len(given) != len(args) + len(keywords) or not {"a", "b"} <= set(given) <= {"a", "b", "rtol", "atol"}:
            raise UntranslatableError(f"{function.__name__}() with these arguments")
        rtol, atol = given.get("rtol", literal(1e-5)), given.get("atol", literal(1e-8))

        def is_close(v: Sequence[Value]) -> Value:
            if any(not isinstance(x.type, Number) or x.type.dtype not in (F64, I64) for x in v):
                raise UntranslatableError(f"{function.__name__}() of these types")
            return Value(f"close({', '.join(cast(x, F64) for x in v)})", Number(BOOL))

        found = self.pointwise(is_close, given["a"], given["b"], rtol, atol)
        if function is np.isclose:
            return found
        text = found.text if isinstance(found.type, Number) else self._library(np.all, found).text
        return Value(text, Number(BOOL, True, (0, 1)))

    def _call_unravel_index(self, indices: Value, shape: Value) -> Value:
        sizes = shape.literal
        if (
            not isinstance(indices.type, Number)
            or indices.type.kind != "i"
            or not isinstance(sizes, tuple)
            or not sizes
        ):
            raise UntranslatableError("unravel_index() of these arguments")
        lengths = [index(v) for v in sizes]
        rest = self.early(f"within({cast(indices, I64)}, 0, {' * '.join(lengths)} - 1)")
        made: list[Value] = []
        for k in reversed(range(len(sizes))):
            text = f"np.int64({rest} % {lengths[k]})" if k else f"np.int64({rest})"
            made.insert(0, Value(self.early(text), Number(I64)))
            if k:
                rest = self.early(f"{rest} // {lengths[k]}")
        return Value(f"({', '.join(v.text for v in made)},)", Items(tuple(v.type for v in made)), tuple(made))


__all__ = ["COMBINATIONS", "Contractions"]
