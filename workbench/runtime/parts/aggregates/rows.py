"""Lists of dictionaries with the same words for keys, as lists of tuples, and lists of words, as lists of numbers."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .occurrences import Occurrences, is_append, values_displayed, word_of, words_displayed
from .words import Words, is_word


@dataclass(eq=False)
class RowList:
    """keys: of its dictionaries, none of a list of words; of_words: those whose values are words."""

    keys: list[str]
    of_words: frozenset[str]


def rows_apart(node: ast.FunctionDef, words: Words) -> dict[str, RowList]:
    """Make tuples of the dictionaries that a function's lists hold: the lists, by their names."""
    found: dict[str, RowList] = {}
    occurrences = Occurrences(node)
    for name in [*occurrences.names]:
        rows = _Rows.of(name, occurrences, words)
        if rows is not None:
            rows.visit(node)
            found[name] = rows.listed
            occurrences = Occurrences(node)
    return found


class _Rows(ast.NodeTransformer):
    """One list: what it is given are dictionaries that are written out, and what is read of these are items."""

    def __init__(self, name: str, listed: RowList, each: set[str], words: Words):
        self.name, self.listed, self.each, self.words = name, listed, each, words

    @classmethod
    def of(cls, name: str, occurrences: Occurrences, words: Words) -> _Rows | None:
        stored = occurrences.stored(name)
        made = occurrences.parent(stored[0]) if len(stored) == 1 else None
        if not occurrences.is_own(name) or not isinstance(made, ast.Assign) or len(made.targets) > 1:
            return None
        if not isinstance(made.value, ast.List) or made.value.elts or made.targets[0] is not stored[0]:
            return None
        if occurrences.is_returned_twice(name):
            return None
        rows: list[ast.expr] = []
        each: set[str] = set()
        read: list[ast.Subscript] = []
        for n in occurrences.names[name]:
            if n is stored[0] or id(n) in occurrences.returned:
                continue
            up = occurrences.parent(n)
            match up:
                case ast.Attribute(attr="append"):
                    call = occurrences.parent(up)
                    if call is None or not is_append(call) or not isinstance(occurrences.parent(call), ast.Expr):
                        return None
                    rows += call.args  # type: ignore[attr-defined]  # a call
                case ast.Call(func=ast.Name(id="len")) | ast.UnaryOp(op=ast.Not()):
                    pass
                case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if test is n:
                    pass
                case ast.Subscript(ctx=ast.Load()) if up.value is n:
                    item = occurrences.parent(up)
                    if not isinstance(item, ast.Subscript) or item.value is not up:
                        return None
                    read.append(item)
                case ast.For(target=ast.Name(id=row)) | ast.comprehension(target=ast.Name(id=row)) if up.iter is n:
                    each.add(row)
                case _:
                    return None
        if rows and not read and not each and all(is_word(row, words) for row in rows):
            return cls(name, RowList([], frozenset()), each, words)
        if not rows or any(words_displayed(row) is None for row in rows):
            return None
        keys = words_displayed(rows[0]) or []
        for row in each:
            if not occurrences.is_own(row) or len(occurrences.stored(row)) > 1:
                return None
            for n in occurrences.names[row]:
                item = occurrences.parent(n)
                if isinstance(n.ctx, ast.Load):
                    if not isinstance(item, ast.Subscript) or item.value is not n:
                        return None
                    read.append(item)
        if any(word_of(item.slice) not in keys or not isinstance(item.ctx, ast.Load) for item in read):
            return None
        if any(words_displayed(row) != keys for row in rows) or not keys:
            return None
        columns = zip(*map(values_displayed, rows), strict=True)
        of_words = frozenset(
            k for k, column in zip(keys, columns, strict=True) if all(is_word(v, words) for v in column)
        )
        if any(word_of(item.slice) in of_words for item in read):
            return None
        return cls(name, RowList(keys, of_words), each, words)

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[row]) if name == self.name:
                if not self.listed.keys:
                    node.args = [self.words.number(row)]
                    return node
                pairs = zip(self.listed.keys, values_displayed(row), strict=True)
                values = [self.words.number(v) if key in self.listed.of_words else v for key, v in pairs]
                node.args = [ast.copy_location(ast.Tuple(values, ast.Load()), row)]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        match node.value:
            case ast.Name(id=name) if name in self.each:
                pass
            case ast.Subscript(value=ast.Name(id=name)) if name == self.name:
                pass
            case _:
                return node
        place = ast.copy_location(ast.Constant(self.listed.keys.index(word_of(node.slice) or "")), node.slice)
        return ast.copy_location(ast.Subscript(node.value, place, ast.Load()), node)
