"""Operations on the arrays of a loop, as loops over their elements.

What is computed from arrays stays an expression of one element until it is stored: a statement becomes one nest of
loops that reads and writes each array once. Elements are numbers, so that results have NumPy's types and bits. Lengths
are compared once a statement; what does not fit raises, and the call runs in NumPy.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .few_elements import added, added_products, is_few, places
from .operators import binary, call, cast, stored
from .types import BOOL, F64, I64, LAZY, Array, Box, Items, Lazy, Number, Read, Static, UntranslatableError, Value
from .writing import INDENT, Writer

ADDED_PLAINLY = 128  # elements, before what rounding loses is kept, as in `array_sum`
_LOOK_UP = re.compile(r"wrapped\(at_1\(\w+, (\w+)\), \w+\.shape\[\d+\]\)")

Compute = Callable[[Sequence[Value]], Value]


def broadcast(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> tuple[int | None, ...]:
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    return tuple(y if x == 1 else x if y == 1 or x == y else None for x, y in zip(a, b, strict=True))


def scalar_name(dtype: np.dtype) -> str:
    return "np.bool_" if dtype == BOOL else f"np.{dtype.name}"


def at(name: str, indices: Sequence[str]) -> str:
    return f"at_{len(indices)}({', '.join([name, *indices])})"


class Arrays(Writer):
    """Elementwise operations, stores and reductions."""

    def kept(self, value: Value) -> Value:
        """The value in a variable of its own."""
        if isinstance(value.literal, tuple):
            return tuple_of([self.kept(v) for v in value.literal])
        if value.literal is not None or isinstance(value.type, Static):
            return value
        if value.lazy is not None:
            return self.lasting(value)
        return Value(self.early(value.text), value.type, None, value.known)

    def lasting(self, value: Value) -> Value:
        """The value, in memory if it is an array, that others may write to or keep."""
        parts = value.literal if isinstance(value.literal, tuple) else (value,)
        if any(v.lazy is not None and v.lazy.shares for v in parts):
            return self.copied_view(value)  # type: ignore[attr-defined]  # of picking
        return self.array(value)

    def array(self, value: Value) -> Value:
        """The value, in memory if it is an array."""
        if isinstance(value.literal, tuple) and any(v.lazy is not None for v in value.literal):
            return tuple_of([self.array(v) for v in value.literal])
        if value.lazy is None:
            return value
        assert isinstance(value.type, Array)
        name = self.empty(value.lazy.sizes, value.type.dtype)
        self.nest(value.lazy.sizes, lambda i: self.put(name, i, value.lazy.at(i).text))  # type: ignore[union-attr]
        return Value(name, replace(value.type, origins=frozenset()))

    # ---- texts ----

    def empty(self, sizes: Sequence[str], dtype: np.dtype, function: str = "empty") -> str:
        name = self.early(f"np.{function}(({', '.join(sizes)},), {scalar_name(dtype)})")
        self.fresh.add(name)
        return name

    def put(self, name: str, indices: Sequence[str], text: str) -> None:
        self.line(f"put_{len(indices)}({', '.join([name, *indices, text])})")

    def nest(self, sizes: Sequence[str], body: Callable[[list[str]], None]) -> None:
        """Loops over indices below `sizes`, with `body` inside."""
        indices = []
        first = 0
        for size in sizes:
            indices.append(self.temporary())
            first = len(self.lines)
            self.line(f"for {indices[-1]} in range({size}):")
            self.indent += 1
        body(indices)
        self.indent -= len(indices)
        self._look_up_before(first, indices[:-1])

    def _look_up_before(self, first: int, outer: Sequence[str]) -> None:
        """Indices that arrays give for `outer` are looked up, and checked, before the loop that begins at a line."""
        inside = "\n".join(self.lines[first:])
        found = {m[0] for m in _LOOK_UP.finditer(inside) if m[1] in outer}
        for text in sorted(found):
            name = self.temporary()
            head = self.lines[first]
            self.lines[first:] = [line.replace(text, name) for line in self.lines[first:]]
            self.lines.insert(first, f"{head[: len(head) - len(head.lstrip())]}{name} = {text}")

    def compare_lengths(self, a: str, b: str) -> None:
        if a != b and (a, b) not in self.equal:
            self.equal.add((a, b))
            self.made_early = True
            self.line(f"same_length({a}, {b})")

    # ---- elements ----

    def place(self, value: Value) -> tuple[tuple[str, ...], Callable[[Sequence[str]], list[str]], str, Read]:
        """Where an array's elements lie in memory: its lengths, the indices of an element, the name of the array that
        these are for, and what it is to read them."""
        assert isinstance(value.type, Array)
        if value.box is None or value.type.ndim == 0:
            name = value.text if value.text.isidentifier() else self.early(value.text)
            origins = frozenset(("fresh",)) if name in self.fresh else value.type.origins
            sizes = tuple(f"{name}.shape[{k}]" for k in range(value.type.ndim))
            return sizes, list, name, Read(origins, value.text)
        box = value.box
        lengths: list[str] = []
        firsts: list[str | None] = []  # by axis of the base; None: no offset
        takes: list[bool] = []  # by axis of the base: whether an index of the result goes there
        used: list[int] = []
        singles: list[tuple[int, str]] = []
        for part in box.parts:
            axis = len(firsts)
            size = f"{box.base}.shape[{axis}]"
            match part:
                case None:
                    lengths.append("1")
                    continue
                case (single,):
                    firsts.append(self.early(f"wrapped({single}, {size})"))
                    takes.append(False)
                    singles.append((axis, single))
                    continue
                case (low, high):
                    first = None if low in ("", "0") else self.early(f"first_of({low}, {size})")
                    length = size
                    if high:
                        length = self.early(f"count_between({first or 0}, {high}, {size})")
                    elif first:
                        length = self.early(f"{size} - {first}")
                    firsts.append(first)
                    takes.append(True)
                    used.append(len(lengths))
                    lengths.append(length)

        def indices(given: Sequence[str]) -> list[str]:
            mine = iter([given[k] for k in used])
            made = []
            for first, is_taken in zip(firsts, takes, strict=True):
                if not is_taken:
                    made.append(str(first))
                else:
                    i = next(mine)
                    made.append(i if first is None else f"{first} + {i}" if i != "0" else first)
            return made

        read = Read(value.type.origins, value.text, box.base, tuple(singles), any(takes) and not takes[-1])
        return tuple(lengths), indices, box.base, read

    def elements(self, value: Value) -> Lazy:
        if value.lazy is not None:
            return value.lazy
        assert isinstance(value.type, Array)
        sizes, indices, name, read = self.place(value)
        kind = Number(value.type.dtype)
        return Lazy(sizes, lambda i: Value(at(name, indices(i)), kind), (read,), False)

    def elementwise(self, operands: Sequence[Value], compute: Compute) -> Value:
        """`compute` of each element of the operands, of which one at least is an array."""
        shape: tuple[int | None, ...] = ()
        for value in operands:
            if isinstance(value.type, Array):
                shape = broadcast(shape, value.type.shape)
            elif not isinstance(value.type, Number):
                raise UntranslatableError(f"an operation on {value.type}")
        sources: list[Lazy | Value] = []
        for value in operands:
            if isinstance(value.type, Number):
                simple = value.literal is not None or value.text.isidentifier()
                sources.append(value if simple else Value(self.early(value.text), value.type, None, value.known))
                continue
            # What would be computed again and again is stored.
            again = value.lazy is not None and value.lazy.computed and value.type.shape != shape  # type: ignore[union-attr]
            sources.append(self.elements(self.array(value) if again else value))
        n = len(shape)
        sizes: list[str] = []
        for axis in range(n):
            texts = []
            for value, source in zip(operands, sources, strict=True):
                if isinstance(source, Lazy):
                    k = axis - n + len(source.sizes)
                    if k >= 0 and value.type.shape[k] != 1:  # type: ignore[union-attr]  # an array
                        texts.append(source.sizes[k])
            for other in texts[1:]:
                self.compare_lengths(texts[0], other)
            sizes.append(texts[0] if texts else "1")

        def element(indices: Sequence[str]) -> Value:
            values = []
            for value, source in zip(operands, sources, strict=True):
                if isinstance(source, Lazy):
                    mine = indices[n - len(source.sizes) :]
                    lengths = value.type.shape  # type: ignore[union-attr]  # an array
                    source = source.at(["0" if m == 1 else i for i, m in zip(mine, lengths, strict=True)])
                values.append(source)
            return compute(values)

        result = element(["0"] * n).type
        if not isinstance(result, Number):
            raise UntranslatableError("elements that are no numbers")
        reads = tuple(read for source in sources if isinstance(source, Lazy) for read in source.reads)
        self.facts.count(*shape)
        return Value(LAZY, Array(result.dtype, shape), lazy=Lazy(tuple(sizes), element, reads))

    def side_by_side(self, value: Value) -> Value:
        """The same, in memory if it reads elements that lie apart: what is computed from these would be computed one by
        one, since LLVM makes vectors of them only in case that they lie side by side after all."""
        if not isinstance(value.type, Array) or not any(read.apart for read in self.elements(value).reads):
            return value
        return self.array(self.elementwise([value], lambda v: v[0]))

    def reindexed(
        self, value: Value, shape: tuple[int | None, ...], sizes: Sequence[str],
        source: Callable[[Sequence[str]], list[str]], *, shares: bool = False,
    ) -> Value:  # fmt: skip
        """An array whose element at some indices is that of `value` at others. shares: in NumPy it is a view."""
        assert isinstance(value.type, Array)
        lazy = self.elements(self.array(value))
        self.facts.count(*shape)
        reads = tuple(replace(read, text=f"{LAZY} {read.text}", at=()) for read in lazy.reads)
        made = Lazy(tuple(sizes), lambda i: lazy.at(source(i)), reads, shares=shares)
        return Value(LAZY, Array(value.type.dtype, shape), lazy=made)

    # ---- stores ----

    def store_array(self, target: Value, value: Value) -> None:
        """`target[...] = value`, for an array in memory and another one."""
        kind, given = target.type, value.type
        assert isinstance(kind, Array) and isinstance(given, Array)
        if given.ndim > kind.ndim:
            raise UntranslatableError("an array of more axes written into fewer")
        sizes, indices, name, write = self.place(target)
        lazy = self.elements(value)
        smaller = given.ndim < kind.ndim or any(n == 1 and m != 1 for n, m in zip(given.shape, kind.shape, strict=True))
        if lazy.computed and smaller or any(self._conflict(read, write) for read in lazy.reads):
            copied = value if value.lazy is not None else self.elementwise([value], lambda v: v[0])
            value = self.array(copied)
            lazy = self.elements(value)
        offset = kind.ndim - given.ndim
        for k, n in enumerate(given.shape):
            if n != 1:
                self.compare_lengths(sizes[offset + k], lazy.sizes[k])
        ones = [n == 1 for n in given.shape]

        def body(i: list[str]) -> None:
            element = lazy.at(["0" if one else j for j, one in zip(i[offset:], ones, strict=True)])
            self.put(name, indices(i), stored(element, kind.dtype))

        self.nest(sizes, body)
        self.facts.arrays = True

    def fill(self, element: str, target: Value) -> None:
        """`target[...] = element`, one after the other: numba's own loops over slices take twice as long."""
        name = self.temporary()
        self.line(f"{name} = {element}")
        sizes, indices, base, _ = self.place(target)
        self.nest(sizes, lambda i: self.put(base, indices(i), name))
        self.facts.arrays = True

    def _conflict(self, read: Read, write: Read) -> bool:
        """Whether a write to elements may change others that are read later on."""
        if "fresh" in read.origins or not self.module.may_share(read.origins, write.origins):
            return False
        if read.text == write.text:
            return False
        if read.base == write.base and read.base:
            mine = dict(write.at)
            for axis, index in read.at:
                if axis in mine and _apart(index, mine[axis]):
                    size = f"{read.base}.shape[{axis}]"
                    self.line(f"apart(wrapped({index}, {size}), wrapped({mine[axis]}, {size}))")
                    return False
        return True

    # ---- reductions ----

    def reduce(self, name: str, value: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
        """A reduction along `axes`, of which there are fewer than all unless keepdims."""
        kind = value.type
        assert isinstance(kind, Array)
        dtype = reduced_dtype(name, kind.dtype)
        if name in ("mean", "var", "std") and kind.dtype.kind in "biu":
            value = self.elementwise([value], lambda v: Value(cast(v[0], F64), Number(F64)))
        self.facts.count(*kind.shape)
        last = kind.ndim - 1
        in_rows = last in axes or name not in ("sum", "mean", "max", "min", "any", "all") or kind.dtype.kind == "c"
        made = self._reduced_in_rows if in_rows else self._accumulated
        shape = tuple(1 if k in axes else n for k, n in enumerate(kind.shape))
        out = made(name, value, axes, dtype, keepdims)
        if not keepdims:
            shape = tuple(n for k, n in enumerate(kind.shape) if k not in axes)
        return Value(out, Array(dtype, shape))

    def _reduced_in_rows(self, name: str, value: Value, axes: tuple[int, ...], dtype: np.dtype, keepdims: bool) -> str:
        kind = value.type
        assert isinstance(kind, Array)
        rest = [k for k in range(kind.ndim) if k not in axes]
        zero = f"{scalar_name(dtype)}(0)"
        if axes == (kind.ndim - 1,) and name in ("sum", "mean"):
            is_short = is_few(kind.shape[-1:]) and (dtype.kind != "c" or name == "sum")
            if is_short or dtype.kind != "c" and value.lazy is not None and value.lazy.computed:
                return self._added_up_in_rows(value, dtype, keepdims, is_short=is_short, of_mean=name == "mean")
        if axes == (kind.ndim - 1,):
            value = self.array(value)
            rows = value.text if value.text.isidentifier() else self.early(value.text)
            sizes = [f"{rows}.shape[{k}]" for k in range(kind.ndim)]
        else:
            lazy = self.elements(value)
            sizes = list(lazy.sizes)
            rows = self.empty([sizes[k] for k in (*rest, *axes)], kind.dtype)
            order = [(*rest, *axes).index(k) for k in range(kind.ndim)]
            self.nest(
                [sizes[k] for k in (*rest, *axes)],
                lambda i: self.put(rows, i, lazy.at([i[k] for k in order]).text),
            )
        self._refuse_none(name, [sizes[k] for k in axes])
        out = self.empty([sizes[k] if k in rest else "1" for k in range(kind.ndim) if keepdims or k in rest], dtype)

        def body(i: list[str]) -> None:
            row = f"{rows}[{', '.join(i)}]" if i else rows
            text = f"array_{name}({row if len(axes) == 1 else f'{row}.ravel()'}, {zero})"
            mine = iter(i)
            at = [next(mine) if k in rest else "0" for k in range(kind.ndim) if keepdims or k in rest]
            self.put(out, at, f"{scalar_name(dtype)}({text})")

        self.nest([sizes[k] for k in rest], body)
        return out

    def summed(self, lazy: Lazy, shape: tuple[int | None, ...], dtype: np.dtype, *, of_mean: bool) -> Value:
        """The sum or mean of all elements, added up as they are computed: in rows, by blocks, as `array_sum` does, or
        written out if they are few. shape: their lengths, where these are known."""
        scalar = scalar_name(dtype)
        if is_few(shape):
            terms = [cast(lazy.at(i), dtype) for i in places(shape)]
            total = self.early(f"({added(terms)}) / {len(terms)}" if of_mean else added(terms))
            return Value(f"{scalar}({total})" if of_mean else total, Number(dtype))
        sizes = [self.early(size) for size in lazy.sizes]
        zero = f"{scalar}(0)"
        total, low = self.early(zero), self.early(zero)

        def add_plainly(at: list[str]) -> None:
            self.line(f"{total} = {total} + {lazy.at(at).text}")

        def add_row(at: list[str]) -> None:
            first, i, part, new = (self.temporary() for _ in range(4))
            self.line(f"for {first} in range(0, {sizes[-1]}, {ADDED_PLAINLY}):")
            self.indent += 1
            self.line(f"{part} = {zero}")
            self.line(f"for {i} in range({first}, min({first} + {ADDED_PLAINLY}, {sizes[-1]})):")
            self.indent += 1
            self.line(f"{part} = {call('add_reassoc', dtype, part, lazy.at([*at, i]).text)}")
            self.indent -= 1
            self.line(f"{new} = {total} + {part}")
            self.line(f"{low} = {low} + lost({total}, {part}, {new})")
            self.line(f"{total} = {new}")
            self.indent -= 1

        if dtype.kind == "f":
            self.nest(sizes[:-1], add_row)
            total = self.early(f"with_lost({total}, {low})")
        else:
            self.nest(sizes, add_plainly)
        return Value(f"{scalar}({total} / ({' * '.join(sizes)}))" if of_mean else total, Number(dtype))

    def reduced_here(self, name: str, value: Value, dtype: np.dtype) -> Value | None:
        """A sum, mean, norm, variance, deviation or extreme of all elements, as they are computed, or of a row where
        it lies. None: a function is as good."""
        assert isinstance(value.type, Array)
        few = is_few(value.type.shape)
        is_computed = value.lazy is not None and value.lazy.computed
        if name in ("any", "all") and is_computed:
            return Value(self._tested_here(self.elements(value), name), Number(BOOL))
        if dtype.kind not in "fiu" and not (few and name == "sum" and dtype.kind == "c"):
            return None
        if name not in ("sum", "mean", "norm", "var", "std", "max", "min"):
            return None
        if few:
            return Value(self._reduced_here(name, self.array(value), dtype), Number(dtype))
        if is_computed and name not in ("var", "std"):  # which take two turns
            return Value(self._reduced_here(name, value, dtype), Number(dtype))
        if name in ("max", "min") and value.type.ndim > 1:
            return None
        row = _row_of(value) if value.box is not None else None
        if row is None:
            return None
        scalar = scalar_name(dtype)
        otherwise = f"{scalar}(array_{name}({value.text}, {scalar}(0)))"
        return self._where_in_order([row], lambda: self._reduced_here(name, value, dtype), otherwise, dtype)

    def _reduced_here(self, name: str, value: Value, dtype: np.dtype) -> str:
        assert isinstance(value.type, Array)
        shape = value.type.shape
        if name in ("max", "min") and is_few(shape):
            elements = [self.elements(value).at(i).text for i in places(shape)]
            larger = "maximum" if name == "max" else "minimum"
            return functools.reduce(lambda a, b: call(larger, dtype, a, b), elements)
        if name in ("max", "min"):
            return self._extreme_here(self.elements(value), dtype, ">" if name == "max" else "<")
        if name in ("sum", "mean"):
            return self.summed(self.elements(value), shape, dtype, of_mean=name == "mean").text
        if name == "norm" and is_few(shape):
            elements = [self.early(self.elements(value).at(i).text) for i in places(shape)]
            return call("sqrt", dtype, added_products([(x, x) for x in elements]))
        given = [value]
        if name != "norm":
            mean = self.summed(self.elements(value), shape, dtype, of_mean=True).text
            given.append(Value(self.early(mean), Number(dtype)))

        def square(v: Sequence[Value]) -> Value:
            x = self.early((v[0] if len(v) == 1 else binary("-", *v)).text)
            return Value(f"{x} * {x}", Number(dtype))

        squares = self.elementwise(given, square).lazy
        assert squares is not None
        found = self.summed(squares, shape, dtype, of_mean=name != "norm").text
        return found if name == "var" else call("sqrt", dtype, found)

    def _extreme_here(self, lazy: Lazy, dtype: np.dtype, sign: str) -> str:
        """The largest or smallest element, or what is no number if one is none, as NumPy has it."""
        sizes = [self.early(size) for size in lazy.sizes]
        self.line(f"if {' or '.join(f'{n} == 0' for n in sizes)}:")
        self.line(f"{INDENT}raise ValueError()")
        best = self.early(lazy.at(["0"] * len(sizes)).text)

        def body(at: list[str]) -> None:
            if dtype.kind == "f":
                better = "maximum_reassoc" if sign == ">" else "minimum_reassoc"
                self.line(f"{best} = {call(better, dtype, best, lazy.at(at).text)}")
                return
            x = self.early(lazy.at(at).text)
            self.line(f"if {x} {sign} {best}:")
            self.line(f"{INDENT}{best} = {x}")

        self.nest(sizes, body)
        return best

    def _tested_here(self, lazy: Lazy, name: str) -> str:
        """Whether any element, or all, are true, by blocks: in order to end early, and in vectors."""
        sizes = [self.early(size) for size in lazy.sizes]
        found = self.early("False" if name == "any" else "True")

        def test_row(at: list[str]) -> None:
            first, i = self.temporary(), self.temporary()
            self.line(f"for {first} in range(0, {sizes[-1]}, {ADDED_PLAINLY}):")
            self.indent += 1
            self.line(f"for {i} in range({first}, min({first} + {ADDED_PLAINLY}, {sizes[-1]})):")
            self.indent += 1
            test = cast(lazy.at([*at, i]), BOOL)
            self.line(f"{found} = {found} {'|' if name == 'any' else '&'} ({test})")
            self.indent -= 1
            self.line(f"if {found if name == 'any' else f'not {found}'}:")
            self.line(f"{INDENT}break")
            self.indent -= 1

        self.nest(sizes[:-1], test_row)
        return found

    def added_up(self, a: Value, b: Value, dtype: np.dtype) -> Value | None:
        """The product of two vectors of `dtype` where that takes neither memory nor views: of what is computed here,
        and of rows that lie in order. None: a function is as good."""

        def product() -> str:
            made = self.elementwise([a, b], lambda v: binary("*", *v))
            assert made.lazy is not None and isinstance(made.type, Array)
            return self.summed(made.lazy, made.type.shape, dtype, of_mean=False).text

        if is_few(a.type.shape) and a.type.shape == b.type.shape:  # type: ignore[union-attr]  # arrays
            left, right = (self.elements(self.array(v)) for v in (a, b))
            pairs = [(left.at(i).text, right.at(i).text) for i in places(a.type.shape)]  # type: ignore[union-attr]
            return Value(self.early(added_products(pairs)), Number(dtype))
        if any(v.lazy is not None and v.lazy.computed for v in (a, b)):
            return Value(product(), Number(dtype))
        rows = [row for v in (a, b) if (row := _row_of(v)) is not None]
        if len(rows) < 2 or a.box is b.box is None:
            return None
        return self._where_in_order(rows, product, f"dot({a.text}, {b.text})", dtype)

    def _where_in_order(
        self, rows: Sequence[tuple[str, int]], compute: Callable[[], str], otherwise: str, dtype: np.dtype
    ) -> Value:
        """`compute`, reading elements one after another, where the rows of these arrays, of so many axes, lie so."""
        found = self.early(f"{scalar_name(dtype)}(0)")
        in_order = (f"{name}.strides[{n - 1}] == {name}.itemsize" for name, n in dict.fromkeys(rows))
        self.line(f"if {' and '.join(in_order)}:")
        self.indent += 1
        first = len(self.lines)
        self.line(f"{found} = {compute()}")
        for name, n in rows:
            self.lines[first:] = [line.replace(f"at_{n}({name}, ", f"unit_{n}({name}, ") for line in self.lines[first:]]
        self.indent -= 1
        self.line("else:")
        self.indent += 1
        self.line(f"{found} = {otherwise}")
        self.indent -= 1
        return Value(found, Number(dtype))

    def _added_up_in_rows(self, value: Value, dtype: np.dtype, keepdims: bool, *, is_short: bool, of_mean: bool) -> str:
        """The sums or means of rows, as they are computed; short ones in one expression, in NumPy's order."""
        assert isinstance(value.type, Array)
        lazy, scalar = self.elements(value), scalar_name(dtype)
        *sizes, n = lazy.sizes
        out = self.empty([*sizes, *(["1"] if keepdims else [])], dtype)
        first = [f"{scalar}(0)"] if dtype.kind in "iu" else []  # a zero, to which narrower integers are added
        length = value.type.shape[-1]

        def written_out(i: list[str]) -> str:
            terms = [f"({lazy.at([*i, str(k)]).text})" for k in range(length or 0)]
            total = added([*first, *terms])
            return f"{scalar}(({total}) / {length})" if of_mean else f"{scalar}({total})"

        def body(i: list[str]) -> None:
            row = Lazy((n,), lambda k: lazy.at([*i, *k]), lazy.reads)
            text = written_out(i) if is_short else self.summed(row, (length,), dtype, of_mean=of_mean).text
            self.put(out, [*i, "0"] if keepdims else i, text)

        self.nest(sizes, body)
        return out

    def _refuse_none(self, name: str, sizes: Sequence[str]) -> None:
        """Raise where NumPy has no result for lines without elements, even of lines that there are none of."""
        if name in ("max", "min", "argmax", "argmin"):
            for size in sizes:
                self.line(f"nonzero({size})")

    def _accumulated(self, name: str, value: Value, axes: tuple[int, ...], dtype: np.dtype, keepdims: bool) -> str:
        """A reduction whose result runs along with the last axis: row after row. Sums carry what rounding loses."""
        kind = value.type
        assert isinstance(kind, Array)
        lazy = self.elements(value)
        kept = [k for k in range(kind.ndim) if keepdims or k not in axes]
        sizes = ["1" if k in axes else lazy.sizes[k] for k in kept]
        self._refuse_none(name, [lazy.sizes[k] for k in axes])
        out = self.empty(sizes, dtype, "ones" if name == "all" else "zeros")
        is_float = dtype.kind == "f"
        low = self.empty(sizes, dtype, "zeros") if is_float and name in ("sum", "mean") else ""
        if name in ("max", "min"):
            info = np.finfo(dtype) if is_float else None if dtype == BOOL else np.iinfo(dtype)
            first = {"max": "-np.inf", "min": "np.inf"}[name] if is_float else ""
            if info is None:
                first = str(name == "min")
            elif not is_float:
                first = str(int(info.min if name == "max" else info.max))
            self.nest(sizes, lambda i: self.put(out, i, f"{scalar_name(dtype)}({first})"))

        def body(i: list[str]) -> None:
            j = ["0" if k in axes else i[k] for k in kept]
            element, so_far = lazy.at(i), at(out, j)
            match name:
                case "sum" | "mean" if is_float:
                    x, old, new = self.temporary(), self.temporary(), self.temporary()
                    self.line(f"{x} = {cast(element, dtype)}")
                    self.line(f"{old} = {so_far}")
                    self.line(f"{new} = {old} + {x}")
                    self.put(low, j, f"{at(low, j)} + lost({old}, {x}, {new})")
                    self.put(out, j, new)
                case "sum":
                    self.put(out, j, f"{so_far} + {cast(element, dtype)}")
                case "any":
                    self.put(out, j, f"{so_far} | {cast(element, BOOL)}")
                case "all":
                    self.put(out, j, f"{so_far} & {cast(element, BOOL)}")
                case _ if dtype == BOOL:
                    self.put(out, j, f"{so_far} {'|' if name == 'max' else '&'} {element.text}")
                case _:
                    self.put(out, j, call("maximum" if name == "max" else "minimum", dtype, so_far, element.text))

        self.nest(lazy.sizes, body)
        count = " * ".join(lazy.sizes[k] for k in axes)
        if low and name == "mean":
            self.nest(sizes, lambda i: self.put(out, i, f"with_lost({at(out, i)}, {at(low, i)}) / ({count})"))
        elif low:
            self.nest(sizes, lambda i: self.put(out, i, f"with_lost({at(out, i)}, {at(low, i)})"))
        return out


def reduced_dtype(name: str, dtype: np.dtype) -> np.dtype:
    """The dtype that NumPy's reduction gives."""
    if name in ("sum", "prod") and dtype.kind in "biu":
        return np.dtype(np.uint64) if dtype.kind == "u" else I64
    if name in ("mean", "var", "std") and dtype.kind in "biu":
        return F64
    if name in ("any", "all"):
        return BOOL
    return I64 if name in ("argmax", "argmin") else dtype


def _apart(a: str, b: str) -> bool:
    """Whether one index is the other plus or minus a number other than 0."""
    for x, y in ((a, b), (b, a)):
        for sign in "+-":
            head, _, tail = x.strip("()").partition(f" {sign} ")
            if head == y and tail.isdigit() and int(tail):
                return True
    return False


def _row_of(value: Value) -> tuple[str, int] | None:
    """The array of one or two axes along the last of which a vector without a step lies, and their number."""
    if value.box is None:
        return (value.text, 1) if value.lazy is None and value.text.isidentifier() else None
    *outer, last = value.box.parts
    if last is None or len(last) != 2 or any(part is None or len(part) != 1 for part in outer) or len(outer) > 1:
        return None
    return value.box.base, len(outer) + 1


def tuple_of(values: Sequence[Value]) -> Value:
    text = f"({', '.join(v.text for v in values)}{',' if len(values) == 1 else ''})"
    return Value(text, Items(tuple(v.type for v in values)), tuple(values))


__all__ = ["Arrays", "Box", "broadcast", "reduced_dtype", "scalar_name", "tuple_of"]
