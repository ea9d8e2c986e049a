"""Conversion of expressions: `and`, `or`, `not`, conditional expressions, comparisons, comprehensions and calls of
builtins become operations of `frontend.branching`, which are Python's own where nothing is traced."""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from . import looping
from .jumps import LoopSource, located
from .liveness import bound, read
from .loop_patterns import may_change_things
from .syntax import copied, walk
from .value_steps import HIDDEN, filling_as_loop, listing_as_loop, value_as_loop

OPERATIONS = "<workbench.frontend.branching>"  # a constant of the converted code, replaced by the module itself
_UFUNC_METHODS = ("reduce", "accumulate")
_FOLDS = frozenset(("sum", "min", "max", "any", "all"))
_COLLECTIONS = frozenset(("list", "tuple", "sorted", "set", "frozenset"))
_NUMBERS = frozenset(("float", "int", "bool", "complex", "round", "len"))
_SCALAR_TYPES = frozenset(name for name, t in vars(np).items() if isinstance(t, type) and issubclass(t, np.generic))
_loop_numbers = count()
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def is_worth_it(node: ast.AST) -> bool:
    kinds = (ast.If, ast.While, ast.For, ast.IfExp, ast.BoolOp, ast.Assert, *_COMPREHENSIONS)
    return any(
        isinstance(n, ast.Name) and (n.id in _FOLDS or n.id in _NUMBERS or n.id in _SCALAR_TYPES or n.id == "sorted") or
        isinstance(n, ast.Attribute) and (n.attr in _UFUNC_METHODS or n.attr in _SCALAR_TYPES) or
        isinstance(n, kinds) or isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Not)
        or isinstance(n, ast.Compare) and (len(n.ops) > 1 or _asks_for_identity(n) or _asks_for_membership(n))
        or isinstance(n, ast.Call) and _may_be_type(n.func)
        for n in walk(node)
    )  # fmt: skip


def name_of(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def operation(name: str) -> ast.expr:
    return ast.Attribute(ast.Constant(OPERATIONS), name, ast.Load())


def items_of(node: ast.expr) -> ast.expr:
    """`range(n)` may be of a traced number, `enumerate(x)` and `zip(x, y)` of traced arrays."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in ("range", "prange"):
        if not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args):
            new = ast.Call(operation("range_"), [node.func, *map(Expressions().visit, node.args)], [])
            return located(new, node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("enumerate", "zip"):
        loose = all(k.arg == "strict" and getattr(k.value, "value", True) is False for k in node.keywords)
        starts = [ast.keyword(k.arg, items_of(k.value)) for k in node.keywords if k.arg == "start"]
        loose |= node.func.id == "enumerate" and len(node.args) == len(starts) == len(node.keywords) == 1
        if loose and not any(isinstance(a, ast.Starred) for a in node.args):
            new = ast.Call(operation("rows_of"), [node.func, *map(items_of, node.args)], starts)
            return located(new, node)
    return Expressions().visit(node)


def registered(source: LoopSource, hidden: frozenset[str] = frozenset()) -> list[ast.expr]:
    """The key of a loop as it was written, and a function that has all that it reads in its closure, but for what is
    `hidden`."""
    key = f"<loop {next(_loop_numbers)}>"
    looping.SOURCES[key] = source
    names = sorted((read(source.node) | bound([source.node]) | source.set_by_calls) - hidden)
    everything = ast.Tuple([name_of(name) for name in names], ast.Load())
    return [ast.Constant(key), delayed(located(everything, source.node))]


class Expressions(ast.NodeTransformer):
    """`and`, `or`, `not`, conditional expressions and chains of comparisons of one scope."""

    def _leave(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _leave  # noqa: N815 (ast's names)

    def truth(self, node: ast.expr) -> Any:
        """An expression of which only the truth is asked, so that the operands of its `and`s may be of any types."""
        if not isinstance(node, ast.BoolOp):
            return self.visit(node)
        return self._logical(node, "both" if isinstance(node.op, ast.And) else "either", self.truth)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:  # noqa: N802 (ast's name)
        return self._logical(node, "and_" if isinstance(node.op, ast.And) else "or_", self.visit)

    def _logical(self, node: ast.BoolOp, name: str, convert: Callable[[ast.expr], Any]) -> ast.AST:
        if not movable(node.values[1:]):
            return node
        first, *rest = map(convert, node.values)
        return self._made(name, [first, *map(delayed, rest)], node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:  # noqa: N802 (ast's name)
        if not movable([node.body, node.orelse]):
            return node
        sides = [delayed(self.visit(side)) for side in (node.body, node.orelse)]
        return self._made("choose", [self.truth(node.test), *sides], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:  # noqa: N802 (ast's name)
        if isinstance(node.op, ast.Not):
            return self._made("not_", [self.truth(node.operand)], node)
        return self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:  # noqa: N802 (ast's name)
        written = copied(node)
        parts = self._parts(node) if not node.generators[0].ifs else None
        if parts is None:
            return self._counted(node)
        return self._made("listed", [*parts, *_source_of_listing(written)], node)

    def _counted(self, node: ast.ListComp | ast.SetComp | ast.DictComp) -> ast.AST:
        """A comprehension that is written out, if it is not too long."""
        self.generic_visit(node)
        first = node.generators[0]
        if not first.is_async:
            first.iter = self._made("counted", [first.iter], first.iter)
        for part in node.generators:
            part.ifs = [self._made("kept", [test], test) for test in part.ifs]
        return node

    visit_SetComp = visit_DictComp = _counted  # noqa: N815 (ast's names)

    def _array(self, node: ast.Call) -> ast.AST | None:
        """`np.array([... for ...])`."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(), attr="array" | "asarray"), args=[items], keywords=more):
                written = copied(items)
                parts = self._rows(items) if [k.arg for k in more] in ([], ["dtype"]) else None
                if parts is None:
                    return None
                made = self._made("array_of", [node.func, *parts, *_source_of_listing(written, filling=True)], node)
                made.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in more]
                return made
        return None

    def _rows(self, node: ast.expr) -> list[ast.expr] | None:
        if not isinstance(node, ast.ListComp) or node.generators[0].ifs:
            return None
        return self._parts(node, self._rows_inside)

    def _rows_inside(self, element: ast.expr) -> ast.AST:
        parts = self._rows(element)
        return self.visit(element) if parts is None else self._made("array_of", [ast.Constant(None), *parts], element)

    def _parts(
        self, node: ast.ListComp | ast.GeneratorExp, convert: Callable[[ast.expr], Any] | None = None
    ) -> list[ast.expr] | None:
        """What a comprehension of one loop goes over, and its element and condition as functions of an item. None where
        functions inside would see the item change. convert: the element."""
        generator, *more = node.generators
        inside = [n for part in (node.elt, *generator.ifs) for n in walk(part)]
        calls = [n for n in inside if isinstance(n, ast.Call)]
        consumed = {id(arg) for call in calls for arg in call.args if isinstance(arg, ast.GeneratorExp)}
        late = any(
            isinstance(n, ast.Lambda) or isinstance(n, ast.GeneratorExp) and id(n) not in consumed for n in inside
        )
        if more or generator.is_async or late or not movable([node]):
            return None
        tests = generator.ifs
        if len(tests) > 1:
            tests = [located(ast.BoolOp(ast.And(), tests), tests[0])]
        element = (convert or self.visit)(node.elt)
        bodies = [_of_item(generator.target, each) for each in (element, *map(self.visit, tests))]
        return [items_of(generator.iter), *bodies]

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802 (ast's name)
        found = self._folded(node) or self._array(node)
        if found is not None:
            return found
        self.generic_visit(node)
        several = len(node.args) > 1 and not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args)
        if several and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
            return self._made("extreme", [node.func, *node.args], node)
        alone = len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)
        name = _called(node.func) if alone else ""
        if name in _FOLDS or name in _NUMBERS or name in _SCALAR_TYPES:
            return self._made("folded" if name in _FOLDS else "number", [node.func, *node.args], node)
        if alone and (name in ("sorted", "list") or _may_be_type(node.func)):
            return self._made("ordered" if name in ("sorted", "list") else "of_type", [node.func, *node.args], node)
        if _called(node.func) in ("min", "max") and len(node.args) == 1 and [k.arg for k in node.keywords] == ["key"]:
            return self._made("extreme_by", [node.func, *node.args, node.keywords[0].value], node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _UFUNC_METHODS and node.args:
            return located(ast.Call(operation("reduced"), [node.func, *node.args], node.keywords), node)
        return node

    def _folded(self, node: ast.Call) -> ast.AST | None:
        """`sum(x for ...)` and its kind, which take all that the comprehension gives."""
        written = copied(node)
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as items], keywords=[]):
                parts = self._parts(items) if name in _FOLDS | _COLLECTIONS else None
            case ast.Call(func=ast.Name(id="sum" | "min" | "max"), args=[ast.ListComp() as items], keywords=[]):
                parts = self._parts(items)
            case _:
                return None
        if parts is None:
            return None
        if may_change_things(items.generators[0].iter):  # which is computed already
            return self._made("folded_items", [node.func, *parts], node)
        source = registered(value_as_loop(written), HIDDEN)
        condition = parts[2:] or [ast.Constant(None)]
        return self._made("folded_items", [node.func, *parts[:2], *condition, *source], node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: N802 (ast's name)
        self.generic_visit(node)
        single = isinstance(node.slice, ast.Name | ast.BinOp | ast.Call | ast.Subscript | ast.Attribute | ast.IfExp)
        if not isinstance(node.ctx, ast.Load) or not single:
            return node
        return self._made("item_at", [node.value, node.slice], node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:  # noqa: N802 (ast's name)
        if _asks_for_identity(node):
            same = self._made("same", [self.visit(node.left), self.visit(node.comparators[0])], node)
            return same if isinstance(node.ops[0], ast.Is) else self._made("not_", [same], node)
        if _asks_for_membership(node):
            found = self._made("contained", [self.visit(node.left), self.visit(node.comparators[0])], node)
            return found if isinstance(node.ops[0], ast.In) else self._made("not_", [found], node)
        if _may_compare_tuples(node):
            name = "equal" if isinstance(node.ops[0], ast.Eq) else "unequal"
            return self._made(name, [self.visit(node.left), self.visit(node.comparators[0])], node)
        if len(node.ops) == 1 or not movable(node.comparators):
            self.generic_visit(node)
            return node
        symbols: list[ast.expr] = [ast.Constant(type(op).__name__) for op in node.ops]
        operands = [delayed(self.visit(operand)) for operand in node.comparators]
        return self._made("compare", [self.visit(node.left), ast.Tuple(symbols, ast.Load()), *operands], node)

    def _made(self, name: str, operands: list[ast.expr], node: ast.expr) -> ast.Call:
        return located(ast.Call(operation(name), operands, []), node)


def _source_of_listing(node: ast.expr, *, filling: bool = False) -> list[ast.expr]:
    """The loop that makes the list, if its items may be numbers, as far as the text tells. filling: and the one that
    fills an array."""
    if not isinstance(node, ast.ListComp) or isinstance(node.elt, ast.ListComp | ast.List | ast.Tuple | ast.Dict):
        return []
    if may_change_things(node.generators[0].iter):  # which is computed already
        return []
    found = registered(listing_as_loop(node), HIDDEN)
    return [*found, *registered(filling_as_loop(node), HIDDEN)[:1]] if filling else found


def _asks_for_membership(node: ast.Compare) -> bool:
    return len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn)


def _may_compare_tuples(node: ast.Compare) -> bool:
    """Whether it is `a == b` or `a != b` of what may be tuples or lists, as far as the text tells."""
    operands = (node.left, *node.comparators)
    kinds = ast.Name | ast.Tuple | ast.List | ast.Subscript | ast.Call | ast.Attribute | ast.IfExp
    return len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq) and all(
        isinstance(operand, kinds) for operand in operands
    )  # fmt: skip


def _asks_for_identity(node: ast.Compare) -> bool:
    """Whether it is `a is b` or `a is not b`, neither of which is written as a constant other than None or a bool."""
    operands = (node.left, *node.comparators)
    is_one = len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot)
    constants = [operand for operand in operands if isinstance(operand, ast.Constant)]
    return is_one and len(constants) < 2 and all(c.value is None or type(c.value) is bool for c in constants)


def _called(function: ast.expr) -> str:
    """The name of what is called: of a builtin, or of a type of numbers of NumPy's, bare or in its module."""
    if isinstance(function, ast.Name):
        return function.id
    match function:
        case ast.Attribute(value=ast.Name(), attr=name) if name in _SCALAR_TYPES:
            return name
    return ""


def _may_be_type(function: ast.expr) -> bool:
    """Whether it is called as one that holds a type of numbers is: `dtype(x)`, `x.dtype.type(2)`."""
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return name.endswith("type") and name != "type" or name == "type" and isinstance(function, ast.Attribute)


def _of_item(target: ast.expr, body: ast.expr) -> ast.expr:
    """`body` as a function of what `target` is given."""
    if isinstance(target, ast.Name):
        parameter = target.id
    else:  # which unpacks as Python does
        parameter = "_wb_item"
        given = ast.comprehension(target, ast.Tuple([name_of(parameter)], ast.Load()), [], 0)
        body = ast.Subscript(ast.ListComp(body, [given]), ast.Constant(0), ast.Load())
    return located(ast.Lambda(ast.arguments([], [ast.arg(parameter)], None, [], [], None, []), body), body)


def movable(nodes: list[ast.expr]) -> bool:
    """Whether the expressions may stand in a function of their own: nothing in them binds a name."""
    return not any(isinstance(n, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await)
                   for node in nodes for n in walk(node))  # fmt: skip


def delayed(node: ast.expr) -> ast.expr:
    empty = ast.arguments([], [], None, [], [], None, [])
    return located(ast.Lambda(empty, node), node)
