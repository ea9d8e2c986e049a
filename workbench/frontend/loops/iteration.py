"""What a `for` loop goes over: ranges, arrays, lists, and `enumerate`, `zip` and `reversed` of them, in each other."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numba_functions import is_prange
from .arrays import tuple_of
from .letters import letter
from .operators import index
from .statement_parts import strictness
from .types import (
    LEAST,
    MOST,
    SMALL,
    Array,
    Growing,
    Items,
    Number,
    Static,
    Table,
    UntranslatableError,
    Value,
    join,
    literal,
    weak_int,
)
from .writers import Writers
from .writing import INDENT


@dataclass(frozen=True)
class _Range:
    """start, stop, step: texts; stride: the step if it is known, else 0; interval: of the numbers."""

    start: str
    stop: str
    step: str
    stride: int
    interval: tuple[int, int]


class Iteration(Writers):
    """`assign` is the statements'."""

    assign: Callable[[ast.expr, Value], Any]

    def iterate(self, target: ast.expr, node: ast.expr, body: Callable[[], Any]) -> None:
        """`for target in node: body()`."""
        head, items = self.iterable(node)
        self.line(head)
        self.indent += 1
        self.assign(target, items)
        body()
        self.indent -= 1

    def iterable(self, node: ast.expr) -> tuple[str, Value]:
        """The head of a loop over `node`, and the value of each iteration."""
        flat = self.flat_base(node, iterated=True)
        if flat is not None:
            flat = self.kept(flat)  # the body may give the name to another array
            name = self.temporary()
            return f"for {name} in range({flat.text}.size):", self.element(flat, self.flat_place(flat, name), None)
        function = self._iterator(node)
        if function is not None:
            assert isinstance(node, ast.Call)
            first = node.args[0]
            if function is range:
                return self._over_range(node.args, False)
            if function is reversed and isinstance(first, ast.Call) and self._iterator(first) is range:
                return self._over_range(first.args, True)
            name = self.temporary()
            lengths, item = self._in_step(node, name)
            size = lengths[0] if len({*lengths}) == 1 else f"min({', '.join(lengths)})"
            return f"for {name} in range({size}):", item
        self.must_keep_keys(node)
        value = self.gone_through(node)
        if isinstance(value.type, Table):
            return self.through_table(value)
        if isinstance(value.type, Growing):
            return self.over_list(value)
        if isinstance(value.type, Items) and value.type.items:
            kind = value.type.items[0]
            for other in value.type.items[1:]:
                kind = join(kind, other)
            if isinstance(kind, Static):
                raise UntranslatableError("a loop over objects")
            whole = Items((kind,) * len(value.type.items))
            name = self.temporary()
            return f"for {name} in {self.convert(value, whole).text}:", Value(name, kind)
        base = self.kept(value)
        name = self.temporary()
        return f"for {name} in range({base.text}.shape[0]):", self._nth(base, name)

    def _iterator(self, node: ast.expr) -> Any:
        """Which of `range`, `enumerate`, `zip` and `reversed` is called, with arguments that are taken here."""
        if not isinstance(node, ast.Call) or not (
            isinstance(node.func, ast.Name) or isinstance(node.func, ast.Attribute) and node.func.attr == "prange"
        ):
            return None
        function = self.static(node.func)
        function = range if is_prange(function) else function
        given = len(node.args), [k.arg for k in node.keywords]
        match function, given:
            case (_, (1 | 2 | 3, [])) if function is range:
                return range
            case (_, (1, [] | ["start"]) | (2, [])) if function is enumerate:
                return enumerate
            case (_, (1, [])) if function is reversed:
                return reversed
            case _ if function is zip and node.args and strictness(node) is not None:
                return zip
        if function in (range, enumerate, zip, reversed):
            raise UntranslatableError(f"a loop over `{ast.unparse(node)[:40]}`")
        return None

    def _in_step(self, node: ast.expr, k: str) -> tuple[list[str], Value]:
        """Lengths, the least of which counts, and the item number `k`, of what goes in step with others."""
        function = self._iterator(node)
        if function is None:
            base = self._sequence(node)
            return [self._length_of(base)], self._nth(base, k)
        assert isinstance(node, ast.Call)
        match function:
            case _ if function is range:
                each = self._range(node.args)
                if not each.stride:
                    raise UntranslatableError("a range with a step that is not known, in step with others")
                stop, start = (each.stop, each.start) if each.stride > 0 else (each.start, each.stop)
                n = stop if start == "0" else f"({stop} - {start})"
                step = abs(each.stride)
                size = n if step == 1 else f"(({n} + {step - 1}) // {step})"
                number = k if each.stride == 1 else f"{k} * {each.stride}"
                text = number if each.start == "0" else f"({each.start} + {number})"
                return [self.early(size)], Value(text, weak_int(*each.interval))
            case _ if function is enumerate:
                lengths, item = self._in_step(node.args[0], k)
                starts = [*node.args[1:], *(word.value for word in node.keywords)]
                start = self.value(starts[0]) if starts else literal(0)
                if not isinstance(start.type, Number) or start.type.kind not in "bi":
                    raise UntranslatableError("enumerate() from this")
                least, most = self.interval(start)
                text = k if start.literal == 0 else f"({self.early(index(start))} + {k})"
                return lengths, tuple_of([Value(text, weak_int(least, min(most + SMALL, MOST))), item])
            case _ if function is reversed:
                base = self._sequence(node.args[0])
                size = self.early(self._length_of(base))
                return [size], self._nth(base, f"{size} - 1 - {k}")
        columns = [column for a in node.args for column in self._columns(a, k)]
        lengths = [size for sizes, _ in columns for size in sizes]
        if strictness(node) and len(lengths) > 1:  # then NumPy runs it all, as far as Python's `zip` goes
            self.line(f"if not ({' == '.join(lengths)}):")
            self.line(f"{INDENT}raise ValueError()")
        return lengths, tuple_of([item for _, item in columns])

    def _columns(self, node: ast.expr, k: str) -> list[tuple[list[str], Value]]:
        """Of one argument of `zip`, or of several in a tuple of arrays."""
        if not isinstance(node, ast.Starred):
            return [self._in_step(node, k)]
        several = self.value(node.value)
        if not isinstance(several.type, Items) or not all(isinstance(t, Array) for t in several.type.items):
            raise UntranslatableError(f"`{ast.unparse(node)[:40]}`")
        arrays = self.parts_of(several)
        kept = [self.kept(a) for a in arrays]
        return [([self._length_of(a)], self._nth(a, k)) for a in kept]

    def _sequence(self, node: ast.expr) -> Value:
        self.must_keep_keys(node)
        base = self.gone_through(node)
        if isinstance(base.type, Table):
            if base.type.is_set or base.type.view == "items":
                raise UntranslatableError("a dictionary in step with others")
            base = self.list_under(base)
        return self.alike(base) if isinstance(base.type, Items) else self.kept(base)

    def _length_of(self, base: Value) -> str:
        if isinstance(base.type, Items):
            return str(len(base.type.items))
        return self.count(base) if isinstance(base.type, Growing) else f"{base.text}.shape[0]"

    def _nth(self, base: Value, place: str) -> Value:
        if isinstance(base.type, Growing):
            self.must_stay(base)
            return self.element_of(base, place)
        if isinstance(base.type, Items) and base.type.items:
            return Value(f"{base.text}[{place}]", base.type.items[0])
        if not isinstance(base.type, Array) or not base.type.ndim:
            raise UntranslatableError(f"a loop over {base.type}")
        found = self.element(base, place, base.type.shape[1:] or None)
        return letter(found) if base.text in self.module.spelled else found

    # ---- ranges ----

    def _range(self, nodes: list[ast.expr]) -> _Range:
        bounds = [self.value(n) for n in nodes]
        texts = [_as_whole(b) for b in bounds]
        start, stop = (literal(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = 1
        if len(bounds) == 3:
            step = bounds[2].literal
            if step is None:
                if self.interval(bounds[2])[0] <= 0:
                    texts[2] = f"nonzero({texts[2]})"
                ends = [*self.interval(start), *self.interval(stop)]
                step, interval = 0, (min(ends), max(ends))
        if step == 0 and len(bounds) == 3 and bounds[2].literal == 0:
            raise UntranslatableError("range() with step 0")
        if step > 0:
            interval = (self.interval(start)[0], max(self.interval(stop)[1] - 1, self.interval(start)[0]))
        elif step < 0:
            interval = (min(self.interval(stop)[0] + 1, self.interval(start)[1]), self.interval(start)[1])
        begin, end = ("0", texts[0]) if len(texts) == 1 else texts[:2]
        return _Range(begin, end, texts[2] if len(texts) == 3 else "1", step, interval)

    def _over_range(self, nodes: list[ast.expr], backwards: bool) -> tuple[str, Value]:
        each = self._range(nodes)
        texts = [each.stop] if len(nodes) == 1 else [each.start, each.stop, each.step][: len(nodes)]
        text = f"range({', '.join(texts)})"
        if backwards:
            if len(nodes) == 3:
                raise UntranslatableError("reversed() of a range with a step")
            text = f"range({each.stop} - 1, {each.start} - 1, -1)"
        name = self.temporary()
        return f"for {name} in {text}:", Value(name, weak_int(*each.interval))

    @staticmethod
    def interval(value: Value) -> tuple[int, int]:
        kind = value.type
        assert isinstance(kind, Number)
        if kind.weak:
            return kind.interval
        info = np.iinfo(kind.dtype)
        return max(int(info.min), LEAST), min(int(info.max), MOST)


def _as_whole(bound: Value) -> str:
    """A bound of a range, whose numbers are Python's."""
    text = index(bound)
    assert isinstance(bound.type, Number)
    return f"np.int64({text})" if bound.type.dtype.itemsize < 8 else text
