"""Dictionaries with words for keys, as variables."""

from __future__ import annotations

import ast
from typing import Any

from ....frontend.syntax import copied, walk
from .occurrences import MOST_STATEMENTS, Occurrences, Substituted, suites, values_displayed, word_of, words_displayed


def records_apart(node: ast.FunctionDef) -> bool:
    """Make variables of the records of a function; whether there were any."""
    found = False
    while (step := _first(node)) is not None:
        suite, k, record = step
        suite[k:] = record.rewritten(suite[k:])
        found = True
    return found


def _first(node: ast.FunctionDef) -> tuple[list[ast.stmt], int, _Record] | None:
    occurrences = Occurrences(node)
    for suite in suites(node):
        for k, stmt in enumerate(suite):
            match stmt:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if words_displayed(value) is not None:
                    record = _Record.of(name, suite[k:], occurrences)
                    if record is not None:
                        return suite, k, record
    return None


class _Record(ast.NodeTransformer):
    """One dictionary, all of whose uses are its items, or hand all of it on."""

    def __init__(self, name: str, variables: dict[str, str]):
        self.name, self.variables = name, variables

    @classmethod
    def of(cls, name: str, stmts: list[ast.stmt], occurrences: Occurrences) -> _Record | None:
        """stmts: the one that makes it, and those that follow."""
        first, *later = stmts
        keys = {key: 0 for key in words_displayed(first.value) or ()}  # type: ignore[attr-defined]  # an assignment
        places = {id(n): k for k, stmt in enumerate(later, 1) for n in walk(stmt) if isinstance(n, ast.Name)}
        others = [n for n in occurrences.names[name] if n is not first.targets[0]]  # type: ignore[attr-defined]
        if not occurrences.is_own(name) or any(id(n) not in places or isinstance(n.ctx, ast.Store) for n in others):
            return None
        for k, stmt in enumerate(later, 1):
            match stmt:
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=base), slice=key)]) if base == name:
                    keys.setdefault(word_of(key) or "", k)
        complete = max(keys.values(), default=0)
        if not keys or "" in keys or occurrences.is_returned_twice(name):
            return None
        used = set()
        for n in others:
            up, place = occurrences.parent(n), places[id(n)]
            if isinstance(up, ast.Subscript) and up.value is n and not isinstance(up.ctx, ast.Del):
                key = word_of(up.slice)
                if key not in keys or place < keys[key]:
                    return None
                is_first = place == keys[key] and place > 0
                if is_first and not (isinstance(up.ctx, ast.Store) and occurrences.parent(up) is later[place - 1]):
                    return None
                used.add(key)
            elif place <= complete and complete:
                return None
            elif id(n) in occurrences.appended:
                append = occurrences.parent(occurrences.parent(n) or n)
                is_last = all(places[id(other)] < place or other is n for other in others)
                if append is not later[place - 1] or not is_last or up is None or n not in getattr(up, "args", ()):
                    return None
            elif id(n) not in occurrences.returned and not _is_gone_over(n, occurrences):
                return None
        return cls(name, {key: occurrences.new_name(f"{name}_{key}") for key in keys})

    def rewritten(self, stmts: list[ast.stmt]) -> list[ast.stmt]:
        first, *later = stmts
        keys, values = words_displayed(first.value) or (), values_displayed(first.value)  # type: ignore[attr-defined]
        made: list[ast.stmt] = [
            ast.copy_location(ast.Assign([ast.copy_location(self._variable(key, ast.Store()), first)], value), first)
            for key, value in zip(keys, values, strict=True)
        ]
        for stmt in later:
            new: Any = self.visit(stmt)
            made += new if isinstance(new, list) else [new]
        return made or [ast.copy_location(ast.Pass(), first)]

    def _variable(self, key: str, ctx: ast.expr_context | None = None) -> ast.Name:
        return ast.Name(self.variables[key], ctx or ast.Load())

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: N802
        if isinstance(node.value, ast.Name) and node.value.id == self.name:
            return ast.copy_location(self._variable(word_of(node.slice) or "", node.ctx), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802
        if node.id != self.name:
            return node
        values = [ast.copy_location(self._variable(key), node) for key in self.variables]
        keys = [ast.copy_location(ast.Constant(key), node) for key in self.variables]
        return ast.copy_location(ast.Dict([*keys], [*values]), node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:  # noqa: N802
        (around,) = node.generators if len(node.generators) == 1 else (None,)
        if around is None or not self._is_mine(around.iter):
            return self.generic_visit(node)
        made = [self._turn(around, key, [node.key, node.value]) for key in self.variables]
        return ast.copy_location(ast.Dict([key for key, _ in made], [value for _, value in made]), node)

    def visit_For(self, node: ast.For) -> Any:  # noqa: N802
        if not self._is_mine(node.iter):
            return self.generic_visit(node)
        return [stmt for key in self.variables for stmt in self._turn(node, key, node.body)]

    def _is_mine(self, over: ast.expr) -> bool:
        return any(isinstance(n, ast.Name) and n.id == self.name for n in (over, *walk(over))[:4])

    def _turn(self, around: Any, key: str, nodes: Any) -> list[Any]:
        """Of what goes over the items, the part for one of them."""
        word, item = _targets(around.target, around.iter)
        substituted = {name: made for name, made in (
            (word, lambda: ast.Constant(key)), (item, lambda: self._variable(key)),
        ) if name}  # fmt: skip
        return [self.visit(Substituted(**substituted).visit(copied(node))) for node in nodes]


def _targets(target: ast.expr, over: ast.expr) -> tuple[str, str]:
    """The names that the key and the value have in what goes over a dictionary; "" of what has none."""
    method = over.func.attr if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) else "keys"
    match target, method:
        case ast.Name(id=name), "keys":
            return name, ""
        case ast.Name(id=name), "values":
            return "", name
        case ast.Tuple(elts=[ast.Name(id=word), ast.Name(id=item)]), "items":
            return word, item
    return "", ""


def _is_gone_over(n: ast.Name, occurrences: Occurrences) -> bool:
    """Whether a dictionary is gone over by a comprehension or loop that can be written out."""
    over: ast.AST = n
    match occurrences.parent(n):
        case ast.Attribute(attr="items" | "keys" | "values") as method:
            call = occurrences.parent(method)
            if not isinstance(call, ast.Call) or call.args or call.keywords:
                return False
            over = call
    around = occurrences.parent(over)
    if not isinstance(around, ast.For | ast.comprehension) or around.iter is not over:
        return False
    names = [name for name in _targets(around.target, over) if name]  # type: ignore[arg-type]  # an expression
    if isinstance(around, ast.For):
        jumps = any(isinstance(inner, ast.Break | ast.Continue) for stmt in around.body for inner in walk(stmt))
        if jumps or around.orelse or len(around.body) > MOST_STATEMENTS:
            return False
    else:
        up = occurrences.parent(around)
        if not isinstance(up, ast.DictComp) or len(up.generators) > 1 or around.ifs or around.is_async:
            return False
        inside = walk(up)
        return bool(names) and all(sum(m in inside for m in occurrences.stored(name)) == 1 for name in names)
    return bool(names) and all(map(occurrences.is_of_loops, names))
