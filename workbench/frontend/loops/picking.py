"""What arrays of indices and masks pick from the arrays of a loop: `a[rows, columns]`, `a[[k, p]]`, `a[i, mask]`.

An element of the result is one of the array, at indices that are looked up; masks count as the indices where they are
true. Nothing is in memory until it is stored. The order of axes is NumPy's ("advanced indexing" in its manual).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .arrays import at, broadcast
from .conditions import Conditions
from .expressions import Known, is_newaxis_or_dots
from .operators import index, stored
from .types import I64, LAZY, Array, Growing, Items, Lazy, Number, Read, Static, Type, UntranslatableError, Value

Index = Callable[[Sequence[str]], list[str]]


@dataclass(frozen=True, slots=True)
class Pick:
    """Elements of `base`. sizes, shape: texts and known lengths of its axes; at: the indices of an element in `base`;
    reads: what is read to find them."""

    base: Value
    sizes: tuple[str, ...]
    shape: tuple[int | None, ...]
    at: Index
    reads: tuple[Read, ...]


class Picking(Conditions):
    """Subscripts with arrays of indices."""

    def subscript(self, base: Value, node: ast.expr) -> Value:
        node = self.spread(node)
        pick = self.pick(base, node)
        if pick is None:
            return super().subscript(base, node)
        return self.picked(pick)

    def picked(self, pick: Pick) -> Value:
        kind = pick.base.type
        assert isinstance(kind, Array)
        name, number = pick.base.text, Number(kind.dtype)
        self.facts.count(*pick.shape)
        lazy = Lazy(
            pick.sizes,
            lambda i: Value(at(name, pick.at(i)), number),
            (Read(kind.origins, f"{LAZY} {name}"), *pick.reads),
        )
        return Value(LAZY, Array(kind.dtype, pick.shape), lazy=lazy)

    def store_picked(self, pick: Pick, value: Value) -> None:
        """`base[...] = value`."""
        kind = pick.base.type
        assert isinstance(kind, Array)
        self.module.written |= kind.origins
        self.facts.arrays = True
        if isinstance(value.type, Items):
            value = self.library(np.array, [value], {})  # type: ignore[attr-defined]  # of calls
        name = pick.base.text
        if isinstance(value.type, Number):
            text = stored(value, kind.dtype)
            held = text if value.literal is not None else self.early(text)
            self.nest(pick.sizes, lambda i: self.put(name, pick.at(i), held))
            return
        given = value.type
        if not isinstance(given, Array) or given.ndim > len(pick.shape):
            raise UntranslatableError("what is written through an array of indices")
        # All of it is read before anything is written, also where it is read from the array that is written.
        source = self.array(value if value.lazy is not None else self.elementwise([value], lambda v: v[0]))
        lazy = self.elements(source)
        offset = len(pick.shape) - given.ndim
        for k, n in enumerate(given.shape):
            if n != 1:
                self.compare_lengths(pick.sizes[offset + k], lazy.sizes[k])
        ones = [n == 1 for n in given.shape]

        def body(i: list[str]) -> None:
            element = lazy.at(["0" if one else j for j, one in zip(i[offset:], ones, strict=True)])
            self.put(name, pick.at(i), stored(element, kind.dtype))

        self.nest(pick.sizes, body)

    def is_mask(self, base: Value, node: ast.expr) -> bool:
        """Whether an index is a mask of all elements of the array."""
        kind, found = base.type, None if isinstance(node, ast.Tuple) else self._type_of_index(node)
        return isinstance(kind, Array) and isinstance(found, Array) and found.dtype == bool and found.ndim == kind.ndim

    def store_masked(self, base: Value, node: ast.expr, compute: Callable[[Value], Value]) -> None:
        """`base[mask] = ...` of numbers that are computed from one element each, written to all elements: those that
        the mask does not pick stay what they are. compute: from the old ones."""
        kind = base.type
        assert isinstance(kind, Array)
        base, mask = self.kept(base), self.value(node)
        if mask.lazy is None:
            mask = self.kept(mask)
        sizes = self.elements(mask).sizes
        for k, size in enumerate(sizes):
            self.compare_lengths(size, f"{base.text}.shape[{k}]")
        new = self.pointwise(lambda v: Value(stored(v[0], kind.dtype), Number(kind.dtype)), compute(base))
        if isinstance(new.type, Number):
            new = self.kept(new)
        chosen = self.library(np.where, [mask, new, base], {})  # type: ignore[attr-defined]  # of calls
        self.store(base, "", kind.shape, chosen)  # type: ignore[attr-defined]  # of statements

    def copied_view(self, value: Value) -> Value:
        """A copy of what may be a view in NumPy. No one can tell, as long as neither is written to, nor left."""
        lazy = value.lazy
        if lazy is None or not lazy.reads or not all(read.origins for read in lazy.reads):
            raise UntranslatableError("what may be a view, kept for later")
        origins = frozenset[str]().union(*(read.origins for read in lazy.reads))
        self.module.unwritten |= origins
        self.module.copied |= origins
        made = self.array(value)  # type: ignore[attr-defined]  # of arrays
        return replace(made, type=replace(made.type, origins=origins))

    # ---- `a.flat` ----

    def flat_base(self, node: ast.expr, *, iterated: bool = False) -> Value | None:
        """The array `a` of an expression `a.flat`. iterated: also of `a.ravel()`, if the loop does not write `a`."""
        if iterated and isinstance(node, ast.Call) and not node.args and not node.keywords:
            node = node.func
            if not isinstance(node, ast.Attribute) or node.attr != "ravel":
                return None
            kind = self.value(node.value).type
            if not isinstance(kind, Array) or not kind.origins:
                return None
            self.module.unwritten |= kind.origins
        elif not isinstance(node, ast.Attribute) or node.attr != "flat":
            return None
        assert isinstance(node, ast.Attribute)
        base = self.value(node.value)
        if not isinstance(base.type, Array) or not base.type.ndim:
            return None
        return self.named(base)

    def named(self, value: Value) -> Value:
        """The array in a variable."""
        held = self.array(value)
        return held if held.text.isidentifier() else Value(self.early(held.text), held.type)

    def flat_place(self, base: Value, k: str) -> str:
        """The index of element `k` in C order, which lies inside."""
        assert isinstance(base.type, Array)
        found = []
        for axis in range(base.type.ndim - 1, 0, -1):
            size = f"{base.text}.shape[{axis}]"
            found.append(f"({k}) % {size}")
            k = f"({k}) // {size}"
        return ", ".join([k, *found[::-1]])

    def _subscript(self, node: ast.Subscript) -> Value:
        base = self.flat_base(node.value)
        if base is None:
            return super()._subscript(node)
        return self.element(base, self.flat_index(base, node.slice), None)

    def flat_index(self, base: Value, node: ast.expr) -> str:
        value = self.value(node)
        if not isinstance(value.type, Number):
            raise UntranslatableError("`.flat[...]` of several elements")
        return self.flat_place(base, self.early(f"wrapped({index(value)}, {base.text}.size)"))

    # ---- what is picked ----

    def spread(self, node: ast.expr) -> ast.expr:
        """The index `node`, as a tuple that is written out where it is one that the loop has computed: `a[place]` of
        one element, not of those at several places, as it would be for a list."""
        if _is_slice(node) or isinstance(node, ast.Tuple | ast.List | ast.ListComp | ast.Constant | ast.UnaryOp):
            return node
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add):
            return node
        if isinstance(node, ast.Name | ast.Attribute) and is_newaxis_or_dots(self, node):
            return node
        kind = self._type_of(node)
        if not isinstance(kind, Items) or kind.is_list:
            return node
        value = self.value(node)
        if value.text.isidentifier() and value.literal is None:  # a variable, which nothing sets before it is read here
            parts = [Value(f"{value.text}[{k}]", item) for k, item in enumerate(kind.items)]
        else:
            parts = self.parts_of(value)
        return ast.Tuple([ast.copy_location(Known(part), node) for part in parts], ast.Load())

    def pick(self, base: Value, node: ast.expr, *, written: bool = False) -> Pick | None:
        """What `base[node]` picks, if arrays of indices or masks decide in ways that are looked up by element. written:
        the base is written to, and indices that lie in it are read before that."""
        assert isinstance(base.type, Array)
        nodes = list(node.elts) if isinstance(node, ast.Tuple) else [node]
        if not any(self._may_be_array(n) for n in nodes):
            return None
        values = {k: self._as_index(self.value(n)) for k, n in enumerate(nodes) if not _is_slice(n)}
        if not base.text.isidentifier():
            base = self.kept(base)
        return _Picker(self, base, nodes, values, written).made()

    def _as_index(self, value: Value) -> Value:
        """A list of indices as an array, which is one of integers even if it is empty."""
        if not isinstance(value.type, Growing):
            return value
        item = value.type.item
        if item is not None and not (isinstance(item, Number) and item.kind == "i"):
            raise UntranslatableError(f"{value.type} as an index")
        return self.array_of_list(value, I64)  # type: ignore[attr-defined]  # of lists

    def _may_be_array(self, node: ast.expr) -> bool:
        return isinstance(self._type_of_index(node), Array | Items | Growing)

    def _type_of_index(self, node: ast.expr) -> Type | None:
        """The type of an index; None of a slice, a constant and a new axis."""
        if _is_slice(node) or isinstance(node, ast.Constant) or is_newaxis_or_dots(self, node):
            return None
        return self._type_of(node)

    def _type_of(self, node: ast.expr) -> Type:
        """The type of an expression that is translated again, where it is used."""
        before, early, equal = len(self.lines), self.made_early, set(self.equal)
        n_temporaries, places = self.n_temporaries, dict(self.places)
        kind = self.value(node).type
        del self.lines[before:]
        self.made_early, self.equal, self.n_temporaries, self.places = early, equal, n_temporaries, places
        return kind


class _Picker:
    """One subscript on the way to a `Pick`."""

    def __init__(self, scope: Picking, base: Value, nodes: list[ast.expr], values: dict[int, Value], written: bool):
        self.scope = scope
        self.base = base
        self.nodes = nodes
        self.values = values
        self.written = written
        self.inside: set[str] = set()  # indices that come from masks, whose lengths are compared

    def made(self) -> Pick:
        kind = self.base.type
        assert isinstance(kind, Array)
        entries = self._entries(kind)
        looked_up = [k for k, entry in enumerate(entries) if isinstance(entry, Value)]
        together = looked_up == list(range(looked_up[0], looked_up[-1] + 1))
        arrays = [e for e in entries if isinstance(e, Value) and isinstance(e.type, Array)]
        common: tuple[int | None, ...] = ()
        for value in arrays:
            common = broadcast(common, value.type.shape)  # type: ignore[union-attr]  # arrays
        sizes = self._common_sizes(arrays, len(common))
        first = looked_up[0] if together else 0
        shape: list[int | None] = []
        texts: list[str] = []
        where: dict[int, int] = {}  # entry that is a slice -> axis of the result
        for k, entry in enumerate([*entries, None]):
            if k == first:
                start = len(shape)
                shape += common
                texts += sizes
            if isinstance(entry, tuple):
                where[k] = len(shape)
                texts.append(entry[1])
                shape.append(entry[2])
        n = len(common)
        sources = [self._source(entry, axis, n) for axis, entry in enumerate(entries)]

        def indices(i: Sequence[str]) -> list[str]:
            mine = i[start : start + n]
            made = []
            for k, (entry, source) in enumerate(zip(entries, sources, strict=True)):
                if isinstance(entry, tuple):
                    j = i[where[k]]
                    made.append(j if entry[0] in ("", "0") else f"{entry[0]} + {j}")
                else:
                    made.append(source(mine))
            return made

        reads = tuple(Read(v.type.origins, v.text) for v in arrays)  # type: ignore[union-attr]  # arrays
        return Pick(self.base, tuple(texts), tuple(shape), indices, reads)

    def _entries(self, kind: Array) -> list[Value | tuple[str, str, int | None]]:
        """One for each axis of the array: an index, an array of them, or a slice (first, length, known length)."""
        found: list[Value | tuple[str, str, int | None]] = []
        used = sum(self._axes_of(k) for k in range(len(self.nodes)))
        if used > kind.ndim:
            raise UntranslatableError("too many indices")
        for k, node in enumerate(self.nodes):
            if isinstance(node, ast.Constant) and node.value is Ellipsis:
                found += [self._whole(kind, len(found) + j) for j in range(kind.ndim - used)]
            elif isinstance(node, ast.Slice):
                found.append(self._slice(node, kind, len(found)))
            else:
                found += self._looked_up(self.values[k], kind, len(found))
        return [*found, *(self._whole(kind, axis) for axis in range(len(found), kind.ndim))]

    def _axes_of(self, k: int) -> int:
        if isinstance(node := self.nodes[k], ast.Constant) and node.value is Ellipsis:
            return 0
        kind = self.values[k].type if k in self.values else None
        return kind.ndim if isinstance(kind, Array) and kind.dtype == bool else 1

    def _whole(self, kind: Array, axis: int) -> tuple[str, str, int | None]:
        return "", f"{self.base.text}.shape[{axis}]", kind.shape[axis]

    def _slice(self, node: ast.Slice, kind: Array, axis: int) -> tuple[str, str, int | None]:
        (low, high, step), known = self.scope._slice_parts(self.base, node, axis)
        if step:
            raise UntranslatableError("a slice with a step beside an array of indices")
        size = f"{self.base.text}.shape[{axis}]"
        first = "" if low in ("", "0") else self.scope.early(f"first_of({low}, {size})")
        length = size
        if high:
            length = self.scope.early(f"count_between({first or 0}, {high}, {size})")
        elif first:
            length = self.scope.early(f"{size} - {first}")
        return first, length, known

    def _looked_up(self, value: Value, kind: Array, axis: int) -> list[Value | tuple[str, str, int | None]]:
        scope = self.scope
        if isinstance(value.type, Static):
            raise UntranslatableError("a new axis beside an array of indices")
        if isinstance(value.type, Items):
            value = scope.library(np.array, [value], {})  # type: ignore[attr-defined]  # of calls
        if isinstance(value.type, Number):
            text = scope.early(f"wrapped({index(value)}, {self.base.text}.shape[{axis}])")
            return [Value(text, value.type)]
        given = value.type
        assert isinstance(given, Array)
        if given.dtype.kind not in "biu" or given.ndim == 0:
            raise UntranslatableError("an index that is no array of integers")
        held = scope.array(value)
        if not held.text.isidentifier():
            held = Value(scope.early(held.text), held.type)
        if given.dtype != bool:
            scope.facts.routines = True
            scope.facts.count(*given.shape)
            if self.written and given.origins & kind.origins:
                held = Value(scope.early(f"{held.text}.copy()"), held.type)
            scope.line(f"all_inside({held.text}, {self.base.text}.shape[{axis}])")
            return [held]
        scope.facts.masked = True
        scope.facts.count(*given.shape)
        for k in range(given.ndim):
            scope.compare_lengths(f"{held.text}.shape[{k}]", f"{self.base.text}.shape[{axis + k}]")
        numbers = Array(np.dtype(np.int64), (None,))
        if held.text not in scope.places:
            if given.ndim == 1:
                scope.places[held.text] = [scope.early(f"places({held.text})")]
            else:
                where = scope.early(f"np.nonzero({held.text})")
                scope.places[held.text] = [scope.early(f"{where}[{k}]") for k in range(given.ndim)]
        self.inside |= set(scope.places[held.text])
        return [Value(name, numbers) for name in scope.places[held.text]]

    def _common_sizes(self, arrays: list[Value], n: int) -> list[str]:
        sizes = []
        for axis in range(n):
            texts = []
            for value in arrays:
                assert isinstance(value.type, Array)
                k = axis - n + value.type.ndim
                if k >= 0 and value.type.shape[k] != 1:
                    texts.append(f"{value.text}.shape[{k}]")
            for other in texts[1:]:
                self.scope.compare_lengths(texts[0], other)
            sizes.append(texts[0] if texts else "1")
        return sizes

    def _source(self, entry: Value | tuple, axis: int, n: int) -> Callable[[Sequence[str]], str]:
        """The index along an axis of the array, by the indices of an element."""
        if isinstance(entry, tuple):
            return lambda i: ""
        if isinstance(entry.type, Number):
            return lambda i: entry.text
        kind = entry.type
        assert isinstance(kind, Array)

        def source(i: Sequence[str]) -> str:
            mine = ["0" if m == 1 else j for j, m in zip(i[n - kind.ndim :], kind.shape, strict=True)]
            number = index(Value(at(entry.text, mine), Number(kind.dtype)))
            if entry.text in self.inside:
                return number
            return f"turned({number}, {self.base.text}.shape[{axis}])"

        return source


def _is_slice(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) or isinstance(node, ast.Constant) and node.value is Ellipsis
