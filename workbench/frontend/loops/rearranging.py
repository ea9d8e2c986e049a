"""Arrays of a loop whose elements are those of others in another order, and arrays of indices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .arrays import Compute, at, scalar_name
from .operators import binary, call, cast, index
from .picking import Picking
from .types import F64, I64, LAZY, Array, Lazy, Number, UntranslatableError, Value, literal


class Rearranging(Picking):
    """Copies, transposes, flips, rolls, outer products, ranges."""

    def copy(self, value: Value) -> Value:
        return self.elementwise([value], lambda v: v[0])

    def transposed(self, value: Value) -> Value:
        held = self.lasting(value)
        kind = held.type
        assert isinstance(kind, Array)
        return Value(f"{held.text}.T", Array(kind.dtype, kind.shape[::-1], kind.origins))

    def _call_transpose(self, value: Value) -> Value:
        if not isinstance(value.type, Array):
            raise UntranslatableError("transpose()")
        return self.transposed(value)

    def _call_flip(self, value: Value) -> Value:
        if not isinstance(value.type, Array):
            raise UntranslatableError("flip()")
        held = self.lasting(value)
        return Value(f"{held.text}[{', '.join(['::-1'] * value.type.ndim)}]", held.type)

    def _call_outer(self, a: Value, b: Value) -> Value:
        return self._outer_of(lambda v: binary("*", v[0], v[1]), a, b)

    def _outer_of(self, compute: Compute, a: Value, b: Value) -> Value:
        x, y = a.type, b.type
        if not isinstance(x, Array) or not isinstance(y, Array) or x.ndim != 1 or y.ndim != 1:
            raise UntranslatableError("an outer product of these operands")
        left, right = self.elements(self.array(a)), self.elements(self.array(b))
        tall = Lazy((left.sizes[0], "1"), lambda i: left.at(i[:1]), left.reads, False)
        wide = Lazy(("1", right.sizes[0]), lambda i: right.at(i[1:]), right.reads, False)
        return self.elementwise(
            [
                Value(LAZY, Array(x.dtype, (x.shape[0], 1)), lazy=tall),
                Value(LAZY, Array(y.dtype, (1, y.shape[0])), lazy=wide),
            ],
            compute,
        )

    def _call_roll(self, value: Value, shift: Value, axis: Value | None = None) -> Value:
        kind = value.type
        if (
            not isinstance(kind, Array)
            or not isinstance(shift.type, Number)
            or not isinstance(shift.type.dtype, np.dtype)
        ):
            raise UntranslatableError("roll()")
        k = 0 if axis is None and kind.ndim == 1 else None if axis is None else axis.literal
        if type(k) is not int or not -kind.ndim <= k < kind.ndim:
            raise UntranslatableError("roll() of several axes")
        k %= kind.ndim
        value = self.array(value)
        sizes = self.elements(value).sizes
        first = self.early(f"rolled({index(shift)}, {sizes[k]})")

        def source(i: Sequence[str]) -> list[str]:
            return [*i[:k], f"around({i[k]} + {first}, {sizes[k]})", *i[k + 1 :]]

        return self.reindexed(value, kind.shape, sizes, source)

    def _call_arange(self, *args: Value) -> Value:
        if not 1 <= len(args) <= 3 or any(not isinstance(a.type, Number) or a.type.kind not in "bif" for a in args):
            raise UntranslatableError("arange() of these arguments")
        first, last = (literal(0), *args)[-2:] if len(args) < 3 else args[:2]
        step = args[2] if len(args) == 3 else literal(1)
        numbers = [v.type for v in (first, last, step) if isinstance(v.type, Number)]
        if any(n.kind == "f" for n in numbers):
            if any(n.dtype != F64 and not n.weak for n in numbers if n.kind == "f"):
                raise UntranslatableError("arange() of narrow numbers")
            return self._real_range(first, last, step)
        if step.literal != 1:
            return self._stepped_range(first, last, step)
        low = index(first) if first.literal is not None else self.early(index(first))
        size = self.early(f"max({index(last)} - {low}, 0)")
        known = max(last.known - first.known, 0) if last.known is not None and first.known is not None else None
        self.facts.count(known)
        self.facts.partial = self.facts.partial or known is None
        lazy = Lazy((size,), lambda i: Value(f"np.int64({low} + {i[0]})", Number(I64)), ())
        return Value(LAZY, Array(I64, (known,)), lazy=lazy)

    def _stepped_range(self, first: Value, last: Value, step: Value) -> Value:
        low, by = self.early(index(first)), self.early(index(step))
        self.line(f"nonzero({by})")
        size = self.early(f"max(-(({low} - {index(last)}) // {by}), 0)")
        known = None
        if first.known is not None and last.known is not None and step.known:
            known = len(range(first.known, last.known, step.known))
        self.facts.count(known)
        self.facts.partial = self.facts.partial or known is None
        lazy = Lazy((size,), lambda i: Value(f"np.int64({low} + {i[0]} * {by})", Number(I64)), ())
        return Value(LAZY, Array(I64, (known,)), lazy=lazy)

    def _real_range(self, first: Value, last: Value, step: Value) -> Value:
        """As NumPy has it: the second element tells the step of all that follow."""
        low, by = self.early(cast(first, F64)), self.early(cast(step, F64))
        size = self.early(f"max(whole({call('ceil', F64, f'({cast(last, F64)} - {low}) / {by}')}), 0)")
        self.facts.partial = True
        self.facts.count(None)
        apart = self.early(f"({low} + {by}) - {low}")
        lazy = Lazy((size,), lambda i: Value(f"({low} + np.float64({i[0]}) * {apart})", Number(F64)), ())
        return Value(LAZY, Array(F64, (None,)), lazy=lazy)

    def _call_linspace(
        self, start: Value, stop: Value, num: Value | None = None, endpoint: Value | None = None
    ) -> Value:
        """NumPy's: each element from the first one, and the last one as it is given."""
        kinds = [v.type for v in (start, stop)]
        if any(not isinstance(k, Number) or k.kind not in "bif" or k.kind == "f" and k.dtype != F64 for k in kinds):
            raise UntranslatableError("linspace() of these arguments")
        num = literal(50) if num is None else num
        has_end = True if endpoint is None else endpoint.literal
        if not isinstance(num.type, Number) or num.type.kind not in "i" or not isinstance(has_end, bool):
            raise UntranslatableError("linspace() of these arguments")
        low, high = self.early(cast(start, F64)), self.early(cast(stop, F64))
        size = self.early(f"length({index(num)})")
        n_between = f"{size} - 1" if has_end else size
        between, apart = self.early(f"np.float64(max({n_between}, 1))"), self.early(f"{high} - {low}")
        step = self.early(f"{apart} / {between}")

        def element(i: Sequence[str]) -> Value:
            k = f"np.float64({i[0]})"
            inner = f"(({k} * {step} if {step} != 0.0 else {k} / {between} * {apart}) + {low})"
            return Value(f"({high} if 0 < {i[0]} == {size} - 1 else {inner})" if has_end else inner, Number(F64))

        known = num.known if num.known is not None and num.known >= 0 else None
        self.facts.count(known)
        self.facts.partial = self.facts.partial or known is None
        return Value(LAZY, Array(F64, (known,)), lazy=Lazy((size,), element, ()))

    def _call_hanning(self, M: Value) -> Value:  # noqa: N803 (NumPy's name)
        return self._cosines(M, (0.5, 0.5))

    def _call_hamming(self, M: Value) -> Value:  # noqa: N803
        return self._cosines(M, (0.54, 0.46))

    def _call_blackman(self, M: Value) -> Value:  # noqa: N803
        return self._cosines(M, (0.42, 0.5, 0.08))

    def _cosines(self, length: Value, weights: tuple[float, ...]) -> Value:
        """A sum of cosines, from `1 - M` to `M - 1` in steps of two, as NumPy computes it."""
        if not isinstance(length.type, Number) or length.type.dtype.kind not in "iu":
            raise UntranslatableError("a window of this length")
        size = self.early(f"length({index(length)})")

        def element(i: Sequence[str]) -> Value:
            k = f"np.float64(2 * {i[0]} + 1 - {size})"
            terms = [f"{weights[0]!r}"]
            for n, weight in enumerate(weights[1:], start=1):
                angle = f"{n * np.pi!r} * {k} / np.float64({size} - 1)"
                terms.append(f"{weight!r} * {call('cos', F64, angle)}")
            return Value(f"({' + '.join(terms)} if {size} > 1 else 1.0)", Number(F64))

        known = length.known if length.known is not None and length.known >= 0 else None
        self.facts.count(known)
        self.facts.partial = self.facts.partial or known is None
        return self.array(Value(LAZY, Array(F64, (known,)), lazy=Lazy((size,), element, ())))

    def accumulated(self, compute: Compute, value: Value, axis: Value | None = None) -> Value:
        """`ufunc.accumulate` along an axis."""
        kind = value.type
        k = 0 if axis is None else axis.literal
        if not isinstance(kind, Array) or type(k) is not int or not -kind.ndim <= k < kind.ndim:
            raise UntranslatableError("an accumulation along an axis")
        if axis is None and kind.ndim != 1 or kind.dtype.kind not in "iuf" or kind.dtype.itemsize < 8:
            raise UntranslatableError("an accumulation of this array")
        lazy = self.elements(value)
        out = self.empty(lazy.sizes, kind.dtype)
        so_far = self.temporary()
        number = Number(kind.dtype)

        k %= kind.ndim
        is_inside = k == kind.ndim - 1  # elsewhere, rows are added to the rows before them, which lie side by side

        def body(i: list[str]) -> None:
            element = Value(self.early(lazy.at(i).text), number)
            before = so_far if is_inside else at(out, [*i[:k], f"{i[k]} - 1", *i[k + 1 :]])
            following = compute((Value(before, number), element))
            if following.type != number:
                raise UntranslatableError("an accumulation that changes the type")
            self.line(f"{so_far} = {following.text} if {i[k]} else {element.text}")
            self.put(out, i, so_far)

        self.line(f"{so_far} = {scalar_name(kind.dtype)}(0)")
        self.nest(lazy.sizes, body)
        self.facts.routines = True
        return Value(out, Array(kind.dtype, kind.shape))

    def _call_cumsum(self, value: Value, axis: Value | None = None) -> Value:
        return self.accumulated(lambda v: binary("+", v[0], v[1]), self._widened(value), axis)

    def _call_cumprod(self, value: Value, axis: Value | None = None) -> Value:
        return self.accumulated(lambda v: binary("*", v[0], v[1]), self._widened(value), axis)

    def _widened(self, value: Value) -> Value:
        """Booleans and narrow integers as the words in which NumPy adds them up."""
        kind = value.type
        if not isinstance(kind, Array) or kind.dtype.kind not in "biu" or kind.dtype.itemsize == 8:
            return value
        wide = np.dtype(np.uint64) if kind.dtype.kind == "u" else I64
        return self.elementwise([value], lambda v: Value(cast(v[0], wide), Number(wide)))

    def folded(self, compute: Compute, value: Value, axes: tuple[int, ...] | None, keepdims: bool) -> Value:
        """`ufunc.reduce` along an axis: one element after the other, as NumPy does where it does not sum."""
        kind = value.type
        assert isinstance(kind, Array)
        if kind.dtype.kind not in "iuf" or keepdims or len(axes or range(kind.ndim)) != 1:
            raise UntranslatableError("a reduction of this array")
        (axis,) = axes or (0,)
        lazy = self.elements(value)
        number, so_far = Number(kind.dtype), self.temporary()
        rest = [k for k in range(kind.ndim) if k != axis]
        self.line(f"nonzero({lazy.sizes[axis]})")  # of none, NumPy gives the identity, or raises

        def body(i: list[str]) -> None:
            at = dict(zip(rest, i, strict=True))
            self.line(f"{so_far} = {lazy.at([at.get(k, '0') for k in range(kind.ndim)]).text}")
            place = self.temporary()
            self.line(f"for {place} in range(1, {lazy.sizes[axis]}):")
            self.indent += 1
            element = Value(self.early(lazy.at([at.get(k, place) for k in range(kind.ndim)]).text), number)
            following = compute((Value(so_far, number), element))
            if following.type != number:
                raise UntranslatableError("a reduction that changes the type")
            self.line(f"{so_far} = {following.text}")
            self.indent -= 1
            if rest:
                self.put(out, i, so_far)

        self.made_early = self.facts.routines = True
        if not rest:
            body([])
            return Value(so_far, number)
        out = self.empty([lazy.sizes[k] for k in rest], kind.dtype)
        self.nest([lazy.sizes[k] for k in rest], body)
        return Value(out, Array(kind.dtype, tuple(kind.shape[k] for k in rest)))

    def concatenated(self, value: Value) -> Value:
        """`np.concatenate` of arrays of one axis, and of lists of numbers."""
        pieces = value.literal if isinstance(value.literal, tuple) else ()
        parts: list[tuple[list[Value], Lazy | None]] = []  # numbers, or an array's elements
        dtypes: list[np.dtype] = []
        known: list[int | None] = []
        for piece in pieces:
            kind = piece.type
            if isinstance(kind, Array) and kind.ndim == 1:
                parts.append(([], self.elements(piece)))
                dtypes.append(kind.dtype)
                known.append(kind.shape[0])
                continue
            numbers = list(piece.literal) if isinstance(piece.literal, tuple) else []
            dtypes += [v.type.dtype for v in numbers if isinstance(v.type, Number)]
            known.append(len(numbers))
            parts.append((numbers, None))
            if not numbers or any(not isinstance(v.type, Number) for v in numbers):
                raise UntranslatableError("np.concatenate() of these arrays")
        if all(lazy is None for _, lazy in parts):
            raise UntranslatableError("np.concatenate() without arrays")
        dtype = np.result_type(*dtypes)
        lengths = [lazy.sizes[0] if lazy is not None else str(len(numbers)) for numbers, lazy in parts]
        total = None if None in known else sum(k or 0 for k in known)
        out = self.empty([" + ".join(lengths)], dtype)
        first = "0"
        for (numbers, lazy), length in zip(parts, lengths, strict=True):
            for k, item in enumerate(numbers):
                self.put(out, [f"{first} + {k}"], cast(item, dtype))
            if lazy is not None:
                self._copied(out, first, lazy, dtype)
            first = f"{first} + {length}"
        self.facts.count(total)
        return Value(out, Array(dtype, (total,)))

    def _copied(self, out: str, first: str, lazy: Lazy, dtype: np.dtype) -> None:
        self.nest(lazy.sizes, lambda i: self.put(out, [f"{first} + {i[0]}"], cast(lazy.at(i), dtype)))
