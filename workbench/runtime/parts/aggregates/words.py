"""Variables that hold one of a few words, as numbers of these."""

from __future__ import annotations

import ast
from typing import Any

from ....frontend.syntax import walk
from .occurrences import Occurrences, word_of


class Words:
    """The words of a function. names: the variables that hold them."""

    def __init__(self, node: ast.FunctionDef):
        self.table: list[str] = []
        self.names = _names_of_words(node)

    def apart(self, node: ast.FunctionDef) -> bool:
        """Make numbers of what variables hold; whether there are such."""
        if self.names:
            _Numbered(self).visit(node)
        return bool(self.names)

    def number(self, value: ast.expr) -> Any:
        """The expression of a word's number."""
        match value:
            case ast.Constant(value=str(word)):
                if word not in self.table:
                    self.table.append(word)
                return ast.copy_location(ast.Constant(self.table.index(word)), value)
            case ast.IfExp(test=test, body=then, orelse=other):
                return ast.copy_location(ast.IfExp(test, self.number(then), self.number(other)), value)
        return value


def is_word(value: ast.expr, words: Words) -> bool:
    return _is_of_words(value, words.names)


def _names_of_words(node: ast.FunctionDef) -> frozenset[str]:
    occurrences = Occurrences(node)
    found = frozenset(name for name in occurrences.names if occurrences.stored(name) and occurrences.is_own(name))
    while True:  # until those that are given what others hold are gone with these
        left = frozenset(name for name in found if _holds_words(name, occurrences, found))
        if left == found:
            return found
        found = left


def _holds_words(name: str, occurrences: Occurrences, others: frozenset[str]) -> bool:
    """Whether a variable is given nothing but words, and is compared with such or handed on."""
    stored = occurrences.stored(name)
    for n in stored:
        made = occurrences.parent(n)
        if not isinstance(made, ast.Assign) or n not in made.targets or not _is_of_words(made.value, others):
            return False
    for n in occurrences.names[name]:
        up = occurrences.parent(n)
        if n in stored or id(n) in occurrences.returned or id(n) in occurrences.appended:
            continue  # what they are handed to is looked at in `taken_apart`
        while isinstance(up, ast.IfExp) and up.test is not n:
            up = occurrences.parent(up)
        match up:
            case ast.Assign(targets=targets):
                if not all(isinstance(t, ast.Name) and t.id in others for t in targets):
                    return False
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
                if word_of(right if left is n else left) is None:
                    return False
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]):
                items = right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else []
                if left is not n or not items or any(word_of(item) is None for item in items):
                    return False
            case _:
                return False
    return True


def _is_of_words(value: ast.expr, names: frozenset[str]) -> bool:
    if isinstance(value, ast.IfExp):
        return _is_of_words(value.body, names) and _is_of_words(value.orelse, names)
    return word_of(value) is not None or isinstance(value, ast.Name) and value.id in names


class _Numbered(ast.NodeTransformer):
    def __init__(self, words: Words):
        self.words = words

    def visit_Assign(self, node: ast.Assign) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        if any(isinstance(t, ast.Name) and t.id in self.words.names for t in node.targets):
            node.value = self.words.number(node.value)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        both = [node.left, *node.comparators]
        if any(isinstance(n, ast.Name) and n.id in self.words.names for n in both):
            for side in both:
                for n in walk(side):
                    if isinstance(n, ast.Constant) and isinstance(n.value, str):
                        n.value = self.words.number(n).value
        return node
