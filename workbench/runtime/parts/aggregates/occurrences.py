"""Where names occur in a function, and what is around them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from ....frontend.syntax import child_nodes, walk

MOST_STATEMENTS = 8  # of the body of a loop that is written out


class Occurrences:
    """Of one state of a function's syntax. returned, appended: ids of the expressions that a function returns, or that
    become items of lists, with those that these are displays of."""

    def __init__(self, node: ast.FunctionDef):
        self.node = node
        self.parents: dict[int, ast.AST] = {}
        self.names: dict[str, list[ast.Name]] = {}
        self.returned: set[int] = set()
        self.appended: set[int] = set()
        for n in walk(node):
            self.parents.update((id(child), n) for child in child_nodes(n))
            if isinstance(n, ast.Name):
                self.names.setdefault(n.id, []).append(n)
            elif isinstance(n, ast.Return) and n.value is not None:
                self.returned.update(map(id, displayed(n.value)))
            elif is_append(n):
                self.appended.update(map(id, displayed(n.args[0])))  # type: ignore[attr-defined]  # a call
        self.parameters = {arg.arg for arg in walk(node.args) if isinstance(arg, ast.arg)}
        self.elsewhere = {  # bound by something else than a name
            name
            for n in walk(node)
            for name in (
                *(n.names if isinstance(n, ast.Global | ast.Nonlocal) else ()),
                *([n.name] if isinstance(n, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and n.name else ()),
                *((a.asname or a.name for a in n.names) if isinstance(n, ast.Import | ast.ImportFrom) else ()),
                *([n.name] if isinstance(n, ast.FunctionDef | ast.ClassDef) else ()),
            )
        }

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.parents.get(id(node))

    def stored(self, name: str) -> list[ast.Name]:
        return [n for n in self.names.get(name, ()) if not isinstance(n.ctx, ast.Load)]

    def is_own(self, name: str) -> bool:
        """Whether the name is a variable of the function's alone, and no parameter."""
        return name not in self.parameters and name not in self.elsewhere

    def is_returned_twice(self, name: str) -> bool:
        """Whether a result holds what a variable holds in two places."""
        found: set[int] = set()
        for n in self.names[name]:
            up: ast.AST | None = n
            while id(n) in self.returned and up is not None and not isinstance(up, ast.Return):
                up = self.parent(up)
            if isinstance(up, ast.Return):
                if id(up) in found:
                    return True
                found.add(id(up))
        return False

    def is_of_loops(self, name: str) -> bool:
        """Whether a name only occurs in loops and comprehensions whose turns give it a value."""
        return self.is_own(name) and all(self._is_in_loop(n) for n in self.names[name])

    def _is_in_loop(self, n: ast.Name) -> bool:
        up: ast.AST | None = n
        binds_it = False
        while up is not None and not binds_it:
            before, up = up, self.parent(up)
            match up:
                case ast.For(target=target, orelse=orelse):
                    targets = [] if before in orelse or before is up.iter else [target]
                case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                    targets = [generator.target for generator in up.generators]
                    if before in up.generators and before is up.generators[0] and n in walk(up.generators[0].iter):
                        targets = []
                case _:
                    targets = []
            binds_it = any(isinstance(t, ast.Name) and t.id == n.id for target in targets for t in walk(target))
        inside = walk(up) if binds_it and up is not None else []
        return sum(m in inside for m in self.stored(n.id)) == 1  # the loop's own

    def new_name(self, text: str) -> str:
        """An identifier that nothing is called."""
        name = "".join(c if c.isalnum() else "_" for c in text)
        while name in self.names or name in self.parameters or name in self.elsewhere or not name.isidentifier():
            name += "_"
        self.names[name] = []
        return name


def displayed(value: ast.expr) -> Iterator[ast.expr]:
    """An expression, and what it displays: the items of tuples, lists and dictionaries that are written out."""
    yield value
    match value:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            for item in items:
                yield from displayed(item)
        case ast.Dict(keys=keys, values=items) if None not in keys:
            for item in items:
                yield from displayed(item)


def is_append(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="append"), args=[_], keywords=[]):
            return True
    return False


def word_of(node: ast.AST | None) -> str | None:
    """The string that an expression is."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def words_displayed(value: ast.expr) -> list[str] | None:
    """The keys of a dictionary that is written out, if they are different words."""
    match value:
        case ast.Dict(keys=keys):
            words = [word_of(key) for key in keys]
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=given) if given:
            words = [word.arg for word in given]
        case _:
            return None
    found = [word for word in words if word is not None]
    return found if len(found) == len(words) == len({*found}) else None


def values_displayed(value: ast.expr) -> list[ast.expr]:
    """Of what `words_displayed` takes."""
    return value.values if isinstance(value, ast.Dict) else [word.value for word in value.keywords]  # type: ignore[attr-defined]  # a call


def suites(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """All lists of statements inside, the outer ones first."""
    for each in walk(node):
        for name in ("body", "orelse", "finalbody"):
            stmts = getattr(each, name, None)
            if isinstance(stmts, list):
                yield stmts


def subscripts(names: Iterable[ast.Name], parent: Callable[[ast.AST], ast.AST | None]) -> bool:
    """Whether all of these are read as `name["word"]`."""
    return all(
        isinstance(up := parent(n), ast.Subscript)
        and up.value is n
        and word_of(up.slice) is not None
        and isinstance(up.ctx, ast.Load)
        for n in names
    )


class Substituted(ast.NodeTransformer):
    """Expressions in place of names."""

    def __init__(self, **expressions: Callable[[], ast.expr]):
        self.expressions = expressions

    def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802
        made = self.expressions.get(node.id)
        return node if made is None else ast.copy_location(made(), node)
