"""What a function returns, as a tuple of what machine code has, and the expression that puts it together again."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ....frontend.syntax import copied
from .occurrences import displayed
from .rows import RowList
from .words import Words, is_word

PART = "_part_"  # begins the names of the parts, in the expression that puts them together
ROW = "_row"


@dataclass(eq=False)
class Results:
    """parts: of each `return`, what the expression `whole` is made of; are_lost: whether there are numbers of words
    among them that nobody makes words of again."""

    words: Words
    rows: Mapping[str, RowList]
    parts: list[list[ast.expr]] = field(default_factory=list)
    n_parts: int = 0
    are_lost: bool = False

    def whole(self, values: Sequence[ast.expr]) -> ast.expr:
        """values: of each `return` of the function."""
        first = values[0]
        if all(isinstance(v, ast.Tuple | ast.List) and type(v) is type(first) and _n_items(v) for v in values):
            if len({_n_items(v) for v in values}) == 1:
                columns = zip(*(v.elts for v in values), strict=True)  # type: ignore[attr-defined]  # tuples or lists
                return type(first)([self.whole(column) for column in columns], ast.Load())  # type: ignore[call-arg]
        if all(isinstance(v, ast.Dict) and _keys(v) for v in values) and len({_keys(v) for v in values}) == 1:
            columns = zip(*(v.values for v in values), strict=True)  # type: ignore[attr-defined]  # dictionaries
            return ast.Dict([copied(key) for key in first.keys], [self.whole(c) for c in columns])  # type: ignore[attr-defined]
        if all(isinstance(v, ast.Constant) and ast.dump(v) == ast.dump(first) for v in values):
            return ast.Constant(first.value)  # type: ignore[attr-defined]  # a constant
        if all(is_word(v, self.words) for v in values):
            return self._word(self._part([self.words.number(v) for v in values]))
        names = {v.id if isinstance(v, ast.Name) else "" for v in values}
        if len(names) == 1 and (rows := self.rows.get(next(iter(names)))) is not None:
            return self._each(rows, self._part(values))
        names_inside = {n.id for v in values for n in displayed(v) if isinstance(n, ast.Name)}
        self.are_lost = self.are_lost or not names_inside.isdisjoint(self.words.names | self.rows.keys())
        return self._part(values)

    def _part(self, values: Sequence[ast.expr]) -> ast.expr:
        self.parts = self.parts or [[] for _ in values]
        for found, value in zip(self.parts, values, strict=True):
            found.append(value)
        self.n_parts += 1
        return ast.Name(f"{PART}{self.n_parts - 1}", ast.Load())

    def _word(self, number: ast.expr) -> ast.expr:
        # The table may grow until all is put together: it is written last (`with_tables`).
        return ast.Subscript(ast.Name(_TABLE, ast.Load()), number, ast.Load())

    def _each(self, rows: RowList, found: ast.expr) -> ast.expr:
        row = ast.Name(ROW, ast.Load())
        around = ast.comprehension(ast.Name(ROW, ast.Store()), found, [], 0)
        if not rows.keys:
            return ast.ListComp(self._word(row), [around])
        items = [ast.Subscript(row, ast.Constant(k), ast.Load()) for k in range(len(rows.keys))]
        pairs = zip(rows.keys, items, strict=True)
        values = [self._word(item) if key in rows.of_words else item for key, item in pairs]
        made = ast.Dict([ast.Constant(key) for key in rows.keys], values)
        return ast.ListComp(made, [around])

    def with_tables(self, whole: ast.expr) -> ast.expr:
        """The words in place of what stands for them."""
        return _Tables(self.words.table).visit(whole)


_TABLE = "_words"


class _Tables(ast.NodeTransformer):
    def __init__(self, words: Sequence[str]):
        self.words = words

    def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802
        if node.id != _TABLE:
            return node
        return ast.Tuple([ast.Constant(word) for word in self.words], ast.Load())


def _n_items(value: ast.expr) -> int:
    """How many items are written out; 0 if that is not known."""
    items = value.elts  # type: ignore[attr-defined]  # a tuple or list
    return 0 if any(isinstance(item, ast.Starred) for item in items) else len(items)


def _keys(value: ast.expr) -> tuple[str, ...]:
    """The texts of a dictionary's keys, if they are different constants; else none."""
    keys = value.keys if isinstance(value, ast.Dict) else []
    found = {key.value for key in keys if isinstance(key, ast.Constant) and type(key.value) in (str, int)}
    return tuple(ast.unparse(key) for key in keys if key is not None) if len(found) == len(keys) else ()
