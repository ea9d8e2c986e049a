"""Calls that write into an array of a loop: `np.add(a, b, out)`, `np.add.at`, `np.copyto`, `np.fill_diagonal`, the
methods `a.sort()` and `a.fill()`, and `rng.shuffle(a)`."""

from __future__ import annotations

import ast
import heapq
from typing import Any

import numpy as np

from .arrays import at, broadcast
from .calls import OPERATORS
from .draws import source_of
from .list_calls import INSERTIONS
from .numpy_calls import NumpyCalls
from .operators import as_number, binary, index, stored
from .types import Array, Growing, Number, RandomSource, Static, Table, Type, UntranslatableError, Value


class Writers(NumpyCalls):
    """Calls as statements of their own. `store` is the statements'."""

    def _writes(self, node: ast.Call) -> bool:
        """Translate the call if it writes into an array; whether it does."""
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            return False
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            name = node.func.attr
            if isinstance(base.type, RandomSource):
                self.value(node)
                return True
            if isinstance(base.type, Growing | Table):
                return self.list_statement(base, name, node)
            if isinstance(base.type, Array):
                if name == "sort" and not node.args and not node.keywords:
                    self._store_all(base, self.library(np.sort, [base], {}))
                    return True
                if name == "fill" and len(node.args) == 1 and not node.keywords:
                    value = self.value(node.args[0])
                    if not isinstance(value.type, Number):
                        raise UntranslatableError(f"fill() with {value.type}")
                    self._store_all(base, value)
                    return True
                return False
            if isinstance(base.type, Static) and isinstance(base.type.value, np.ufunc):
                if name == "at" and len(node.args) == 3 and not node.keywords:
                    self._update_at(base.type.value, *(self.value(a) for a in node.args))
                    return True
                return False
        function = self.static(node.func) if isinstance(node.func, ast.Attribute | ast.Name) else None
        if self.module.takes_random and source_of(function) is not None:
            self.value(node)
            return True
        if function is heapq.heappush and not node.keywords:
            self.line(self.library(function, [self.value(a) for a in node.args], {}).text)
            return True
        if function in INSERTIONS and not node.keywords and len(node.args) in (2, 3, 4):
            self.insert_in_order(function, *(self.value(a) for a in node.args))
            return True
        if isinstance(function, np.ufunc) and function.nout == 1:
            return self._into(function, node)
        if function is np.copyto and len(node.args) == 2 and not node.keywords:
            self._copy_to(*(self.value(a) for a in node.args))
            return True
        if function is np.fill_diagonal and len(node.args) == 2 and not node.keywords:
            self._fill_diagonal(*(self.value(a) for a in node.args))
            return True
        return False

    def _calls_writer_alone(self, stmt: ast.stmt) -> bool:
        """Whether nothing else of a statement may see what the function that it calls writes. What draws is computed in
        front of the statement, other functions are called where they stand."""
        value = getattr(stmt, "value", None)
        if not self.draws_early:
            return isinstance(value, ast.Call)
        return not isinstance(stmt, ast.AugAssign) and all(call is value for call in self.writer_calls)

    def _into(self, function: np.ufunc, node: ast.Call) -> bool:
        """A ufunc with `out`."""
        outs = [k.value for k in node.keywords if k.arg == "out"] + node.args[function.nin :]
        if len(outs) != 1 or len(node.args) < function.nin or any(k.arg != "out" for k in node.keywords):
            return False
        operands = [self.value(a) for a in node.args[: function.nin]]
        target = self.value(outs[0])
        value = self.library(function, operands, {})
        kind, given = target.type, value.type
        if not isinstance(kind, Array) or not isinstance(given, Array | Number):
            raise UntranslatableError(f"{function.__name__}() with this out")
        if not np.can_cast(given.dtype, kind.dtype, "same_kind"):
            raise UntranslatableError(f"{function.__name__}() of {given.dtype.name} into {kind.dtype.name}")
        if isinstance(given, Array) and len(broadcast(kind.shape, given.shape)) != kind.ndim:
            raise UntranslatableError(f"{function.__name__}() with an out of fewer axes")
        self._store_all(target, value)
        return True

    def _copy_to(self, target: Value, value: Value) -> None:
        value = as_number(value, numpys=True)
        kind, given = target.type, value.type
        if not isinstance(kind, Array) or not isinstance(given, Array | Number):
            raise UntranslatableError("copyto() of these arguments")
        is_int = isinstance(given, Number) and given.weak and given.kind == "i"  # which goes where it fits
        if not (kind.dtype.kind in "iufc" if is_int else np.can_cast(given.dtype, kind.dtype, "same_kind")):
            raise UntranslatableError(f"copyto() of {given} into {kind}")
        self._store_all(target, value)

    def _store_all(self, target: Value, value: Value) -> None:
        kind = target.type
        if not isinstance(kind, Array) or target.lazy is not None:
            raise UntranslatableError("a write into what is no array in memory")
        self.store(target, "", kind.shape, value)  # type: ignore[attr-defined]  # of statements

    def _update_at(self, function: np.ufunc, target: Value, places: Value, value: Value) -> None:
        """`function.at(target, places, value)`: one after the other, so that places may repeat."""
        kind = target.type
        refusal = UntranslatableError(f"{function.__name__}.at() of these arguments")
        indices = places.literal if isinstance(places.literal, tuple) else (places,)
        given = [v.type for v in indices]
        if not isinstance(kind, Array) or kind.ndim != len(indices) or function not in OPERATORS:
            raise refusal
        rows = [k for k, t in enumerate(given) if isinstance(t, Array) and t.ndim == 1 and t.dtype.kind in "iu"]
        if not rows or any(k not in rows and not _is_integer(t) for k, t in enumerate(given)):
            raise refusal
        self.module.written |= kind.origins
        self.facts.arrays = self.facts.routines = True
        where = [self.named(v) if k in rows else self.kept(v) for k, v in enumerate(indices)]
        n = f"{where[rows[0]].text}.shape[0]"
        for k in rows[1:]:
            self.compare_lengths(n, f"{where[k].text}.shape[0]")
        source: Any = None
        if isinstance(value.type, Array):
            if value.type.ndim != 1 or value.type.shape[0] == 1:
                raise refusal
            source = self.named(self.array(self.elementwise([value], lambda v: v[0])))
            self.compare_lengths(n, f"{source.text}.shape[0]")
        elif isinstance(value.type, Number):
            value = value if value.literal is not None else Value(self.early(value.text), value.type)
        else:
            raise refusal
        base = self.named(target)
        number = Number(kind.dtype)

        def body(i: list[str]) -> None:
            found = (Value(at(v.text, i), Number(v.type.dtype)) if k in rows else v for k, v in enumerate(where))  # type: ignore[union-attr]  # arrays
            j = [self.early(f"wrapped({index(v)}, {base.text}.shape[{k}])") for k, v in enumerate(found)]
            item = value if source is None else Value(at(source.text, i), Number(source.type.dtype))
            new = binary(OPERATORS[function], Value(at(base.text, j), number), item)
            assert isinstance(new.type, Number)
            if not np.can_cast(new.type.dtype, kind.dtype, "same_kind"):
                raise UntranslatableError(f"{function.__name__}.at() of other types")
            self.put(base.text, j, stored(new, kind.dtype))

        self.facts.count(given[rows[0]].shape[0])  # type: ignore[union-attr]  # an array
        self.nest([n], body)

    def _fill_diagonal(self, target: Value, value: Value) -> None:
        kind = target.type
        if not isinstance(kind, Array) or kind.ndim != 2 or not isinstance(value.type, Number):
            raise UntranslatableError("fill_diagonal()")
        self.module.written |= kind.origins
        base = self.named(target)
        text = self.early(stored(value, kind.dtype))
        size = self.early(f"min({base.text}.shape[0], {base.text}.shape[1])")
        self.nest([size], lambda i: self.put(base.text, [i[0], i[0]], text))


def _is_integer(kind: Type) -> bool:
    return isinstance(kind, Number) and kind.kind == "i" and kind.dtype != np.bool_
