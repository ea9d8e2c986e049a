"""Comprehensions over tuples in a loop that is translated, and what makes one of a tuple: each item is written out.

place = tuple(min(max(p + o, 0), n - 1) for p, o, n in zip(position, offset, a.shape))
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..syntax import copied, walk
from .arrays import tuple_of
from .blanks import blank
from .expressions import MOST_ITEMS, Known
from .iteration import Iteration
from .operators import cast, compare, truth
from .statement_parts import strictness
from .types import Array, Growing, Items, Number, Type, UntranslatableError, Value, literal
from .writing import INDENT

MOST_SORTED = 6


class Unrolled(Iteration):
    """Expressions with comprehensions over tuples."""

    def _call(self, node: ast.Call) -> Value:
        match node:
            case ast.Call(func=ast.Name() as function, args=[ast.GeneratorExp() as items], keywords=[]):
                if (kind := self.static(function)) in (tuple, list):
                    return self._written_out(items, kind is list)
            case ast.Call(func=ast.Name() as function, args=[items], keywords=[ast.keyword(arg="key"), *_]):
                if self.static(function) is sorted and (found := self._sorted_by(items, node.keywords)) is not None:
                    return found
            case ast.Call(func=ast.Name() as function, args=[ast.Call() as each], keywords=[]):
                if self.static(function) is tuple and (is_tolist(each) or self._iterator(each) is not None):
                    if (items := self._items_of(each)) is not None:
                        return self._tuple_of(items, False)
        return super()._call(node)

    def _listcomp(self, node: ast.ListComp) -> Value:
        return self._written_out(node, True)

    def _sorted_by(self, items: ast.expr, words: Sequence[ast.keyword]) -> Value | None:
        """`sorted(items, key=lambda x: ...)` of a list; None of anything else."""
        key, *rest = words
        reverse = bool(rest) and isinstance(rest[0].value, ast.Constant) and rest[0].value.value is True
        if rest and (len(rest) > 1 or rest[0].arg != "reverse" or not reverse):
            return None
        match key.value:
            case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=name)], defaults=[]) as given, body=body) if not (
                given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg
            ):
                pass
            case _:
                return None
        base = self.value(items)
        if not isinstance(base.type, Growing) or base.fresh is not None or base.type.is_queue:
            return None
        keys, k = self.temporary(), self.temporary()
        self.types.setdefault(keys, Growing(None))
        known: Type | None = self.types[keys].item  # type: ignore[union-attr]  # a list
        self.made_early = True
        self.line(f"{keys} = no_items({blank(known)})")
        self.line(f"for {k} in range(len({base.text})):")
        self.indent += 1
        each = self.kept(self.element_of(base, k))
        self.append(
            Value(keys, self.types[keys], source=(keys, 0)), self.value(_Replaced({name: each}).visit(copied(body)))
        )
        self.indent -= 1
        self.sortable(Value(keys, self.types[keys], source=(keys, 0)))
        made = self.early(f"sorted_by({base.text}, {keys}, {reverse})")
        self.types[made] = base.type
        return Value(made, base.type, source=(made, 0))

    def _call_sorted(self, values: Value) -> Value:
        """Of a few numbers: every two neighbours change places until the greatest is the last, and so on."""
        parts = self.parts_of(values) if isinstance(values.type, Items) else []
        if not 2 <= len(parts) <= MOST_SORTED or any(
            not isinstance(v.type, Number) or v.type.kind == "c" for v in parts
        ):
            raise UntranslatableError("sorted() of other than a few numbers")
        if len({(v.type.dtype, v.type.python) for v in parts}) > 1:  # type: ignore[union-attr]  # numbers
            raise UntranslatableError("sorted() of numbers of several types")
        parts = [self.kept(v) for v in parts]
        if lost := [f"{v.text} != {v.text}" for v in parts if v.type.kind == "f"]:  # type: ignore[union-attr]  # numbers
            self.line(f"if {' or '.join(lost)}:")  # where Python puts NaN depends on its way of sorting
            self.line(f"{INDENT}raise ValueError()")
        for end in range(len(parts) - 1, 0, -1):
            for k in range(end):
                first, second = parts[k : k + 2]
                swaps = self.early(truth(compare("<", second, first)))
                parts[k : k + 2] = [self.kept(self.choose(swaps, a, b)) for a, b in ((second, first), (first, second))]
        return self._tuple_of(parts, True)

    def _call_max(self, *args: Value) -> Value:
        return super()._call_max(*self._items_or(args))

    def _call_min(self, *args: Value) -> Value:
        return super()._call_min(*self._items_or(args))

    def _items_or(self, args: tuple[Value, ...]) -> Sequence[Value]:
        """The items of a tuple or list that is the only argument."""
        return self.parts_of(args[0]) if len(args) == 1 and isinstance(args[0].type, Items) else args

    def _call_sum(self, values: Value) -> Value:
        if not isinstance(values.type, Items):
            return super()._call_sum(values)
        total = literal(0)
        for part in self.parts_of(values):
            if not isinstance(part.type, Number):
                raise UntranslatableError("sum() of arrays")
            total = self.operate(ast.Add(), total, part)
        return total

    def _written_out(self, node: ast.GeneratorExp | ast.ListComp, is_list: bool) -> Value:
        part = node.generators[0]
        items = None if len(node.generators) > 1 or part.ifs or part.is_async else self._items_of(part.iter)
        if items is None:
            raise UntranslatableError(f"`{ast.unparse(node)[:60]}`")
        parts: list[Value] = []
        for item in items:
            known: dict[str, Value] = {}
            self._match(part.target, item, known)
            parts.append(self.value(_Replaced(known).visit(copied(node.elt))))
        return self._tuple_of(parts, is_list)

    def _items_of(self, node: ast.expr) -> list[Value] | None:
        """The items of what a comprehension goes over, where it is known how many there are."""
        function = self._iterator(node)
        if function is None:
            return self._few_items(node)
        assert isinstance(node, ast.Call)
        if function is range:
            bounds = [self.value(n).literal for n in node.args]
            if any(type(bound) is not int for bound in bounds) or not all(bounds[2:]):
                return None
            return [literal(k) for k in range(*bounds)]  # type: ignore[arg-type]  # they are integers
        columns = [self._items_of(n) for n in node.args[: None if function is zip else 1]]
        if any(column is None for column in columns):
            return None
        known: list[list[Value]] = columns  # type: ignore[assignment]  # none is None
        if function is zip:
            if strictness(node) and len({len(column) for column in known}) > 1:
                return None
            return [tuple_of(list(each)) for each in zip(*known, strict=False)]
        if function is reversed:
            return known[0][::-1]
        starts = [*node.args[1:], *(word.value for word in node.keywords)]
        first = self.value(starts[0]).literal if starts else 0
        return [tuple_of([literal(first + k), item]) for k, item in enumerate(known[0])] if type(first) is int else None

    def _few_items(self, node: ast.expr) -> list[Value] | None:
        """The items of a tuple, or of an array that has few."""
        if is_tolist(node):
            base = self.value(node.func.value)  # type: ignore[attr-defined]  # an attribute's
            items = self._of_few(base)
            if items is None or not all(isinstance(v.type, Number) for v in items):
                return None
            kind = self._item_of(base, python=True)
            return [Value(cast(v, kind.dtype), kind) for v in items]
        value = self.value(node)
        return self.parts_of(value) if isinstance(value.type, Items) else self._of_few(value)

    def _of_few(self, value: Value) -> list[Value] | None:
        kind = value.type
        if not isinstance(kind, Array) or not kind.ndim or kind.shape[0] is None or kind.shape[0] > MOST_ITEMS:
            return None
        return self.unpacked(value, kind.shape[0])

    def _match(self, target: ast.expr, item: Value, known: dict[str, Value]) -> None:
        """Note what the names in `target` stand for."""
        match target:
            case ast.Name(id=name):
                known[name] = item
            case ast.Tuple(elts=targets) | ast.List(elts=targets) if not any(
                isinstance(t, ast.Starred) for t in targets
            ):
                for each, value in zip(targets, self.unpacked(item, len(targets)), strict=True):
                    self._match(each, value, known)
            case _:
                raise UntranslatableError(f"`{ast.unparse(target)[:60]}` of a comprehension")


class _Replaced(ast.NodeTransformer):
    def __init__(self, known: dict[str, Value]):
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802 (ast's name)
        return Known(self.known[node.id]) if node.id in self.known and isinstance(node.ctx, ast.Load) else node

    def _scope(self, node: ast.AST) -> ast.AST:
        """What binds names of its own stays as it is, if it is about others."""
        names = {n.id for n in walk(node) if isinstance(n, ast.Name)}
        if names & self.known.keys():
            raise UntranslatableError("a comprehension or function in one")
        return node

    visit_Lambda = visit_ListComp = visit_GeneratorExp = visit_SetComp = visit_DictComp = _scope  # noqa: N815 (ast's names)


def is_tolist(node: ast.expr) -> bool:
    """Whether a node is `x.tolist()`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="tolist"), args=[], keywords=[]):
            return True
    return False
