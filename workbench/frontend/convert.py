"""Conversion: Python's own `if`, `while`, `for`, `and`, `or`, `not` and conditional expressions, over traced values.

The user's source is parsed, branches and bodies become functions of their own (over the same variables), and the
statement a call of `frontend.branching`, which runs them exactly as Python would as long as the test is known, and else
traces them into a `cond`, `while` or `scan`. Positions stay the user's. (The method is AutoGraph's: Moldovan et al.,
AutoGraph: Imperative-style Coding with Graph-based Performance, 2019.)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from types import CodeType
from typing import Any

import numpy as np

from . import branching
from .jumps import Jumps, NotConvertibleError, located
from .liveness import (
    Names,
    bound,
    captured,
    live_at_head,
    live_before,
    live_before_block,
    parameters,
    read,
    set_by_functions,
    walk_scope,
)  # fmt: skip
from .loop_patterns import appended
from .loops.generators import without_listings
from .syntax import FUTURE_FLAGS, copied, nested_code, syntax_of, walk

_OPS = "<workbench.frontend.branching>"  # a constant of the converted code, replaced by the module itself
# These look at their caller's frame, which conversion changes.
_FRAME_READERS = frozenset(("locals", "vars", "dir", "eval", "exec", "super", "__class__", "globals"))
_UFUNC_METHODS = ("reduce", "accumulate")
_FOLDS = frozenset(("sum", "min", "max", "any", "all"))
_COLLECTIONS = frozenset(("list", "tuple", "sorted", "set", "frozenset"))
_NUMBERS = frozenset(("float", "int", "bool", "complex", "round", "len"))
_SCALAR_TYPES = frozenset(name for name, t in vars(np).items() if isinstance(t, type) and issubclass(t, np.generic))
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_OWN_SCOPES = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))
_loop_numbers = count()
_CO_NESTED = 0x10

_plain: dict[int, tuple[CodeType, CodeType]] = {}  # converted code -> it, the user's


def converted_code(code: CodeType, *, writes_out: bool = False) -> CodeType | None:
    """What runs in place of the user's `code` while tracing; None if there is nothing to convert, or no way to.
    writes_out: comprehensions are converted as loops."""
    node = syntax_of(code)
    if node is None or isinstance(node, ast.AsyncFunctionDef) or not _worth_it(node):
        return None
    try:
        # A copy: the syntax stays for loops that call the function, and for what runs in parts.
        node = copied(node)
        if writes_out and isinstance(node, ast.FunctionDef):
            node.body = without_listings(node.body)
        new = _compile(_Function(node).converted(), code)
    except (NotConvertibleError, SyntaxError, RecursionError):
        return None
    if new is not None:
        _remember(new, code)
        _plain[id(new)] = (new, code)
    return new


def converted_module(tree: ast.Module, later: Names | None = None) -> ast.Module:
    """A cell with its control flow converted; compile it with `compile_cell`. later: the names that are read after it,
    if not any may be."""
    if not _worth_it(tree):
        return tree
    try:
        return _Function(tree, later).converted()  # type: ignore[return-value]  # a module comes out of a module
    except (NotConvertibleError, RecursionError):
        return tree


def compile_cell(tree: ast.Module, original: CodeType, filename: str, flags: int) -> CodeType:
    """The code of a converted cell. original: what the cell's own code compiles to."""
    code = _with_operations(compile(tree, filename, "exec", flags, dont_inherit=True))
    _remember(code, original)
    return code


def plain_code(code: CodeType) -> CodeType:
    """The user's code for a converted one: for functions that outlive the trace."""
    found = _plain.get(id(code))
    return code if found is None else found[1]


def _remember(new: CodeType, code: CodeType) -> None:
    originals: dict[tuple, CodeType | None] = {}
    for each in nested_code(code):
        key = _signature(each)
        originals[key] = None if key in originals else each
    for each in nested_code(new):
        key = _signature(each)
        original = originals.get(key)
        if original is not None:
            _plain[id(each)] = (each, original)


def _worth_it(node: ast.AST) -> bool:
    kinds = (ast.If, ast.While, ast.For, ast.IfExp, ast.BoolOp, ast.Assert, *_COMPREHENSIONS)
    return any(
        isinstance(n, ast.Name) and (n.id in _FOLDS or n.id in _NUMBERS or n.id in _SCALAR_TYPES or n.id == "sorted") or
        isinstance(n, ast.Attribute) and (n.attr in _UFUNC_METHODS or n.attr in _SCALAR_TYPES) or
        isinstance(n, kinds) or isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Not)
        or isinstance(n, ast.Compare) and (len(n.ops) > 1 or _asks_for_identity(n) or _asks_for_membership(n))
        or isinstance(n, ast.Call) and _may_be_type(n.func)
        for n in walk(node)
    )  # fmt: skip


# ---- from syntax to code ----


def recompiled(node: ast.FunctionDef, code: CodeType) -> CodeType | None:
    """The code of a function that was rewritten, but for the functions inside of it, to run in place of `code` over its
    closure and defaults. None if that would be another kind of function."""
    bare = ast.copy_location(ast.FunctionDef(node.name, _bare(node.args), node.body, [], None, None), node)
    try:
        new = _compile(bare, code)
    except (SyntaxError, RecursionError):
        return None
    if new is not None:
        new = _with_functions_of(code, new)
        _remember(new, code)
    return new


def _with_functions_of(code: CodeType, new: CodeType) -> CodeType:
    """`new` with the code of the functions inside of `code`: their syntax is found by it, and calls through a name that
    the module imports are other instructions where they are compiled without that import."""
    own: dict[tuple, CodeType | None] = {}
    for const in code.co_consts:
        if isinstance(const, CodeType) and const.co_name not in _OWN_SCOPES:
            key = _signature(const)
            own[key] = None if key in own else const
    consts = [own.get(_signature(c)) or c if isinstance(c, CodeType) else c for c in new.co_consts]
    return new.replace(co_consts=tuple(consts))


def _signature(code: CodeType) -> tuple:
    return code.co_name, code.co_firstlineno, code.co_freevars, code.co_varnames[: code.co_argcount]


def _compile(node: ast.AST, code: CodeType) -> CodeType | None:
    """The code of a converted function, with the closure of the original."""
    if isinstance(node, ast.Lambda):
        inner: ast.stmt = ast.Expr(node)
    else:
        assert isinstance(node, ast.FunctionDef)
        inner = node
    free = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in code.co_freevars]
    empty = ast.arguments([], [], None, [], [], None, [])
    outer = ast.FunctionDef("_wb_outer", empty, [*free, inner], [], None, None)
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(outer, node)], []))
    compiled = compile(module, code.co_filename, "exec", code.co_flags & FUTURE_FLAGS, dont_inherit=True)
    (outer_code,) = [c for c in compiled.co_consts if isinstance(c, CodeType)]
    (new,) = [c for c in outer_code.co_consts if isinstance(c, CodeType)]
    if new.co_freevars != code.co_freevars or (new.co_flags ^ code.co_flags) & ~_CO_NESTED:
        return None
    n = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    if new.co_varnames[:n] != code.co_varnames[:n]:
        return None
    return _with_operations(new, (f"_wb_outer.<locals>.{new.co_name}", code.co_qualname))


def _with_operations(code: CodeType, renamed: tuple[str, str] = ("", ""), around: str = "") -> CodeType:
    """`code` with the operations in place of their name, and made-up functions called as the one around them."""
    qualname = code.co_qualname
    if renamed[0] and qualname.startswith(renamed[0]):
        qualname = renamed[1] + qualname[len(renamed[0]) :]
    qualname = re.sub(r"(\.<locals>\.|^)_wb_[a-z]+_\d+", "", qualname).removeprefix(".<locals>.") or "<module>"
    name = around if code.co_name.startswith("_wb_") else code.co_name
    consts = []
    for const in code.co_consts:
        if isinstance(const, CodeType):
            const = _with_operations(const, renamed, name)
        elif type(const) is str and const == _OPS:
            const = branching
        consts.append(const)
    return code.replace(co_consts=tuple(consts), co_name=name, co_qualname=qualname)


class _Function:
    """One function, lambda or module being converted. later: of a module, the names that are read after it; all may be
    where it is None."""

    def __init__(self, node: ast.AST, later: Names | None = None):
        self.node = node
        self.later = later
        self.is_module = isinstance(node, ast.Module)
        self.n_helpers = 0

    def converted(self) -> ast.AST:
        node = self.node
        if isinstance(node, ast.Lambda):
            self._check([node.body])
            return ast.copy_location(ast.Lambda(_bare(node.args), _Expressions().visit(node.body)), node)
        body = list(node.body)  # type: ignore[attr-defined]  # functions and modules have one
        self._check(body)
        own = list(walk_scope(body))
        declared = [n for n in own if isinstance(n, ast.Global | ast.Nonlocal)]
        self.globals = {name for n in declared if isinstance(n, ast.Global) for name in n.names}
        self.outer = {name for n in declared if isinstance(n, ast.Nonlocal) for name in n.names}
        if self.is_module and any(isinstance(n, ast.Delete) for n in own):
            raise NotConvertibleError("a cell that deletes names")
        shared = captured(body) | self.globals | self.outer
        self.set_by = {} if self.is_module else set_by_functions(body)
        own_names = (bound(body) | parameters(node)) - shared if isinstance(node, ast.FunctionDef) else frozenset()
        jumps = Jumps(own_names, self.set_by.keys())
        lowered = jumps.function([_Nested().visit(stmt) for stmt in body])
        self.stop_of, self.tails, self.source_of = jumps.stop_of, jumps.tails, jumps.source_of
        self.always = shared | frozenset(jumps.flags)
        everything = bound(lowered)
        self.seen_elsewhere = self.always  # read at any time, by whom the loops here do not know
        if self.is_module:
            self.always |= everything if self.later is None else everything & self.later
        new, _ = self._block(lowered, self.always)
        if self.is_module:
            return ast.copy_location(ast.fix_missing_locations(ast.Module(new, [])), node)
        assert isinstance(node, ast.FunctionDef)
        variables = sorted(everything - parameters(node) - self.globals - self.outer)
        head: list[ast.stmt] = [n for n in lowered[:1] if _is_docstring(n)]
        new = new[len(head) :]
        if variables:  # bodies that moved into functions of their own still bind the variables of this one
            targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in variables]
            never = ast.If(ast.Constant(False), [ast.Assign(targets, ast.Constant(None))], [])
            head.append(located(never, body[0]))
        # Declarations come first: what they name must not be mentioned before.
        declarations = [n for n in new if isinstance(n, ast.Global | ast.Nonlocal)]
        new = [*head, *declarations, *(n for n in new if n not in declarations)]
        return ast.copy_location(ast.FunctionDef(node.name, _bare(node.args), new, [], None, None), node)

    def _check(self, body: list) -> None:
        for n in walk_scope(body):
            if isinstance(n, ast.Yield | ast.YieldFrom | ast.Await | ast.AsyncFor | ast.AsyncWith):
                raise NotConvertibleError("a generator or coroutine")
        for stmt in body:
            for n in walk(stmt):
                if isinstance(n, ast.Name) and n.id in _FRAME_READERS:
                    raise NotConvertibleError(n.id)
                name = getattr(n, "id", getattr(n, "attr", ""))
                if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                    raise NotConvertibleError("a private name, which its class changes")

    # ---- statements ----

    def _block(self, stmts: list[ast.stmt], after: Names) -> tuple[list[ast.stmt], Names]:
        """The converted statements, and what is live before them."""
        groups: list[list[ast.stmt]] = []
        for stmt in reversed(stmts):
            groups.append(self._statement(stmt, after))
            after = live_before(stmt, after) | self.always
        return [new for group in reversed(groups) for new in group], after

    def _statement(self, stmt: ast.stmt, after: Names) -> list[ast.stmt]:
        match stmt:
            case ast.If(test=test, body=body, orelse=orelse):
                return self._if(stmt, test, body, orelse, after)
            case ast.While(test=test):
                head = live_at_head(stmt, after) | self.always
                body = self._block(stmt.body, head)[0]
                names = self._set(*stmt.body) | bound([test])
                check = self._helper("test", [ast.Return(_Expressions().truth(test))], bound([test]), test)
                loop = self._helper("body", body, names, stmt)
                operands = [_name(check.name), _name(loop.name), _strings(names), _strings(names & head),
                            self._reads(stmt), *self._source(stmt, after), self._appended(stmt)]  # fmt: skip
                return [check, loop, self._call("while_", operands, test, stmt)]
            case ast.For(target=target, iter=iterable):
                head = live_at_head(stmt, after) | self.always
                body = self._block(stmt.body, head)[0]
                names = self._set(*stmt.body, target)
                take = located(ast.Assign([target], _name("_wb_item")), target)
                loop = self._helper("body", [take, *body], names, stmt, ["_wb_item"])  # type: ignore[list-item]
                stop = ast.Constant(self.stop_of.get(stmt))
                anew = bound(stmt.body) - live_before_block(stmt.body, head) - self.seen_elsewhere
                items = _iterable(iterable)
                items = _delayed(items) if _movable([iterable]) else items
                operands = [items, _name(loop.name), _strings(names), _strings(names & head),
                            _strings(anew), self._reads(stmt), *self._source(stmt, after), stop]  # fmt: skip
                operands.append(ast.Constant(target.id if isinstance(target, ast.Name) else ""))
                operands.append(self._appended(stmt))
                return [loop, self._call("for_", operands, iterable, stmt)]
            case ast.With():
                body = self._block(stmt.body, after)[0]
                return [ast.copy_location(ast.With([_Expressions().visit(i) for i in stmt.items], body), stmt)]
            case ast.Try() | ast.TryStar():
                inside = after | read(stmt) | bound([stmt])
                handlers = [
                    ast.copy_location(ast.ExceptHandler(h.type, h.name, self._block(h.body, inside)[0]), h)
                    for h in stmt.handlers
                ]
                blocks = [self._block(b, inside)[0] for b in (stmt.body, stmt.orelse, stmt.finalbody)]
                return [ast.copy_location(type(stmt)(blocks[0], handlers, blocks[1], blocks[2]), stmt)]
            case ast.Match():
                cases = [
                    ast.match_case(c.pattern, c.guard, self._block(c.body, after | read(stmt))[0]) for c in stmt.cases
                ]
                asked = [_Expressions().visit(stmt.subject)]
                subject = located(ast.Call(_operation("subject"), asked, []), stmt.subject)
                return [ast.copy_location(ast.Match(subject, cases), stmt)]
            case ast.FunctionDef() | ast.ClassDef():
                return [stmt]
            case ast.Raise(exc=ast.Call(func=kind) as made, cause=cause) if _movable([made]):
                make = [_delayed(_Expressions().visit(made)), _delayed(kind)]
                error = located(ast.Call(_operation("raised"), make, []), made)
                return [ast.copy_location(ast.Raise(error, cause), stmt)]
            case ast.Assert(test=test):
                new = ast.copy_location(ast.Assert(test, stmt.msg and _Expressions().visit(stmt.msg)), stmt)
                new.test = located(ast.Call(_operation("holds"), [_Expressions().truth(test)], []), test)
                return [new]
        return [_Expressions().visit(stmt)]

    def _if(
        self, stmt: ast.stmt, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], after: Names
    ) -> list[ast.stmt]:
        is_tail = stmt in self.tails
        live = self.always if is_tail else after
        names = self._set(*body, *orelse)
        then = self._helper("then", self._block(body, live)[0], names, stmt)
        other = self._helper("else", self._block(orelse, live)[0], names, stmt)
        operands = [
            _Expressions().truth(test), _name(then.name), _name(other.name), _strings(names), _strings(names & live),
            self._reads(stmt), _strings(frozenset() if self.is_module else read(stmt) - live),
        ]  # fmt: skip
        return [then, other, self._call("if_", operands, test, stmt, returns=is_tail)]

    def _set(self, *nodes: ast.AST) -> Names:
        """The names that statements, and functions of this one that they may call, bind in its scope."""
        return bound(nodes) | self._set_by_calls(*nodes)

    def _set_by_calls(self, *nodes: ast.AST) -> Names:
        return frozenset().union(*(self.set_by[name] for name in read(*nodes) & self.set_by.keys()))

    def _reads(self, stmt: ast.stmt) -> ast.expr:
        """The names that the statement reads: what they hold must not change while it is traced."""
        return _strings(read(stmt))

    def _appended(self, loop: ast.For | ast.While) -> ast.expr:
        """The names of lists that the loop only appends to, and no function inside sees."""
        return _strings(frozenset(appended(loop)) - self.seen_elsewhere)

    def _source(self, stmt: ast.stmt, after: Names) -> list[ast.expr]:
        """The loop as the user wrote it, and a function that has all variables it reads in its closure."""
        source = self.source_of[stmt]
        set_by_calls = self._set_by_calls(source.node)
        source = replace(source, after=after | self.always, set_by_calls=set_by_calls)
        key = f"<loop {next(_loop_numbers)}>"
        branching.SOURCES[key] = source
        names = sorted(read(source.node) | bound([source.node]) | set_by_calls)
        everything = ast.Tuple([_name(name) for name in names], ast.Load())
        return [ast.Constant(key), _delayed(located(everything, stmt))]

    def _helper(
        self, kind: str, body: list[ast.stmt], names: Names, like: ast.AST, parameters: list[str] | None = None
    ) -> ast.FunctionDef:
        self.n_helpers += 1
        shared = sorted(names if self.is_module else names - self.globals)
        head: list[ast.stmt] = []
        if shared:
            head = [ast.Global(shared) if self.is_module else ast.Nonlocal(shared)]
        if not self.is_module and names & self.globals:
            head.append(ast.Global(sorted(names & self.globals)))
        args = ast.arguments([], [ast.arg(p) for p in parameters or ()], None, [], [], None, [])
        new = ast.FunctionDef(f"_wb_{kind}_{self.n_helpers}", args, [*head, *(body or [ast.Pass()])], [], None, None)
        return located(new, like)

    def _call(
        self, operation: str, operands: list[ast.expr], at: ast.AST, stmt: ast.AST, *, returns: bool = False
    ) -> ast.stmt:
        call = located(ast.Call(_operation(operation), operands, []), at)
        new = ast.Return(call) if returns else ast.Expr(call)
        return located(new, stmt)


def _iterable(node: ast.expr) -> ast.expr:
    """`range(n)` may be of a traced number, `enumerate(x)` and `zip(x, y)` of traced arrays."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        if not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args):
            new = ast.Call(_operation("range_"), [node.func, *map(_Expressions().visit, node.args)], [])
            return located(new, node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("enumerate", "zip"):
        loose = all(k.arg == "strict" and getattr(k.value, "value", True) is False for k in node.keywords)
        starts = [ast.keyword(k.arg, _iterable(k.value)) for k in node.keywords if k.arg == "start"]
        loose |= node.func.id == "enumerate" and len(node.args) == len(starts) == len(node.keywords) == 1
        if loose and not any(isinstance(a, ast.Starred) for a in node.args):
            new = ast.Call(_operation("rows_of"), [node.func, *map(_iterable, node.args)], starts)
            return located(new, node)
    return _Expressions().visit(node)


def _bare(args: ast.arguments) -> ast.arguments:
    """The parameters without annotations, and defaults that are known: both belong to the function, not to its code."""

    def plain(arg: ast.arg | None) -> ast.arg | None:
        return None if arg is None else ast.copy_location(ast.arg(arg.arg), arg)

    def plains(group: list[ast.arg]) -> list[ast.arg]:
        return [p for p in map(plain, group) if p is not None]

    return ast.arguments(
        plains(args.posonlyargs), plains(args.args), plain(args.vararg), plains(args.kwonlyargs),
        [None if d is None else ast.Constant(None) for d in args.kw_defaults], plain(args.kwarg),
        [ast.Constant(None) for _ in args.defaults],
    )  # fmt: skip


def _is_docstring(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant) and isinstance(stmt.value.value, str)


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _strings(names: Names) -> ast.expr:
    return ast.Tuple([ast.Constant(name) for name in sorted(names)], ast.Load())


def _operation(name: str) -> ast.expr:
    return ast.Attribute(ast.Constant(_OPS), name, ast.Load())


class _Nested(ast.NodeTransformer):
    """Converts the functions defined inside; classes keep their statements, and their methods are converted."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802 (ast's name)
        try:
            new = _Function(node).converted() if _worth_it(node) else node
        except NotConvertibleError:
            return node
        if new is not node:
            assert isinstance(new, ast.FunctionDef)
            new.args, new.decorator_list, new.returns = node.args, node.decorator_list, node.returns
        return new

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:  # noqa: N802 (ast's name)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:  # noqa: N802 (ast's name)
        return node  # with the expressions


class _Expressions(ast.NodeTransformer):
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
        if not _movable(node.values[1:]):
            return node
        first, *rest = map(convert, node.values)
        return self._made(name, [first, *map(_delayed, rest)], node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:  # noqa: N802 (ast's name)
        if not _movable([node.body, node.orelse]):
            return node
        sides = [_delayed(self.visit(side)) for side in (node.body, node.orelse)]
        return self._made("choose", [self.truth(node.test), *sides], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:  # noqa: N802 (ast's name)
        if isinstance(node.op, ast.Not):
            return self._made("not_", [self.truth(node.operand)], node)
        return self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:  # noqa: N802 (ast's name)
        parts = self._parts(node) if not node.generators[0].ifs else None
        return self._counted(node) if parts is None else self._made("listed", parts, node)

    def _counted(self, node: ast.ListComp | ast.SetComp | ast.DictComp) -> ast.AST:
        """A comprehension that is written out, if it is not too long."""
        self.generic_visit(node)
        first = node.generators[0]
        if not first.is_async:
            first.iter = self._made("counted", [first.iter], first.iter)
        return node

    visit_SetComp = visit_DictComp = _counted  # noqa: N815 (ast's names)

    def _array(self, node: ast.Call) -> ast.AST | None:
        """`np.array([... for ...])`."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(), attr="array" | "asarray"), args=[items], keywords=more):
                parts = self._rows(items) if [k.arg for k in more] in ([], ["dtype"]) else None
                if parts is None:
                    return None
                made = self._made("array_of", [node.func, *parts], node)
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
        if more or generator.is_async or late or not _movable([node]):
            return None
        tests = generator.ifs
        if len(tests) > 1:
            tests = [located(ast.BoolOp(ast.And(), tests), tests[0])]
        element = (convert or self.visit)(node.elt)
        bodies = [_of_item(generator.target, each) for each in (element, *map(self.visit, tests))]
        return [_iterable(generator.iter), *bodies]

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
            return located(ast.Call(_operation("reduced"), [node.func, *node.args], node.keywords), node)
        return node

    def _folded(self, node: ast.Call) -> ast.AST | None:
        """`sum(x for ...)` and its kind, which take all that the comprehension gives."""
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as items], keywords=[]):
                parts = self._parts(items) if name in _FOLDS | _COLLECTIONS else None
            case ast.Call(func=ast.Name(id="sum" | "min" | "max"), args=[ast.ListComp() as items], keywords=[]):
                parts = self._parts(items)
            case _:
                return None
        return None if parts is None else self._made("folded_items", [node.func, *parts], node)

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
        if len(node.ops) == 1 or not _movable(node.comparators):
            self.generic_visit(node)
            return node
        symbols: list[ast.expr] = [ast.Constant(type(op).__name__) for op in node.ops]
        operands = [_delayed(self.visit(operand)) for operand in node.comparators]
        return self._made("compare", [self.visit(node.left), ast.Tuple(symbols, ast.Load()), *operands], node)

    def _made(self, name: str, operands: list[ast.expr], node: ast.expr) -> ast.Call:
        return located(ast.Call(_operation(name), operands, []), node)


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
        given = ast.comprehension(target, ast.Tuple([_name(parameter)], ast.Load()), [], 0)
        body = ast.Subscript(ast.ListComp(body, [given]), ast.Constant(0), ast.Load())
    return located(ast.Lambda(ast.arguments([], [ast.arg(parameter)], None, [], [], None, []), body), body)


def _movable(nodes: list[ast.expr]) -> bool:
    """Whether the expressions may stand in a function of their own: nothing in them binds a name."""
    return not any(isinstance(n, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await)
                   for node in nodes for n in walk(node))  # fmt: skip


def _delayed(node: ast.expr) -> ast.expr:
    empty = ast.arguments([], [], None, [], [], None, [])
    return located(ast.Lambda(empty, node), node)
