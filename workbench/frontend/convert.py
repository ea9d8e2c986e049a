"""Conversion: Python's own `if`, `while`, `for`, `and`, `or`, `not` and conditional expressions, over traced values.

The user's source is parsed, branches and bodies become functions of their own (over the same variables), and the
statement a call of `frontend.branching`, which runs them exactly as Python would as long as the test is known, and else
traces them into a `cond`, `while` or `scan`. Positions stay the user's. (The method is AutoGraph's: Moldovan et al.,
AutoGraph: Imperative-style Coding with Graph-based Performance, 2019.)
"""

from __future__ import annotations

import ast
import copy
import re
from dataclasses import replace
from types import CodeType

from . import branching
from .convert_expressions import (
    OPERATIONS,
    Expressions,
    delayed,
    is_worth_it,
    items_of,
    movable,
    name_of,
    operation,
    registered,
)
from .jumps import Jumps, NotConvertibleError, TestsAsBreaks, located
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
from .recursive_functions import question
from .syntax import FUTURE_FLAGS, copied, nested_code, syntax_of, walk
from .tuple_variables import split_tuples

# These look at their caller's frame, which conversion changes.
_FRAME_READERS = frozenset(("locals", "vars", "dir", "eval", "exec", "super", "__class__", "globals"))
_OWN_SCOPES = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))
_CO_NESTED = 0x10
_MADE = "_wb_function"

_plain: dict[int, tuple[CodeType, CodeType]] = {}  # converted code -> it, the user's


def converted_code(code: CodeType, *, writes_out: bool = False) -> CodeType | None:
    """What runs in place of the user's `code` while tracing; None if there is nothing to convert, or no way to.
    writes_out: comprehensions are converted as loops."""
    node = syntax_of(code)
    if node is None or isinstance(node, ast.AsyncFunctionDef) or not is_worth_it(node):
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
    if not is_worth_it(tree):
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
        inner = copy.copy(node)
        inner.name = _MADE if node.name not in code.co_freevars else node.name  # it may read a global of its name
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
    return _with_operations(new, (f"_wb_outer.<locals>.{new.co_name}", code.co_qualname), code.co_name)


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
        elif type(const) is str and const == OPERATIONS:
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
            return ast.copy_location(ast.Lambda(_bare(node.args), Expressions().visit(node.body)), node)
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
        own_names = frozenset[str]()
        if isinstance(node, ast.FunctionDef):
            body = split_tuples(body, bound(body) - parameters(node) - shared)
            own_names = (bound(body) | parameters(node)) - shared
        jumps = Jumps(own_names, self.set_by.keys())
        lowered = jumps.function([_Nested().visit(TestsAsBreaks().visit(stmt)) for stmt in body])
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
        asked = question(node, operation, registered)
        new = [*head, *declarations, *asked, *(n for n in new if n not in declarations)]
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
                check = self._helper("test", [ast.Return(Expressions().truth(test))], bound([test]), test)
                loop = self._helper("body", body, names, stmt)
                operands = [name_of(check.name), name_of(loop.name), _strings(names), _strings(names & head),
                            self._reads(stmt), *self._source(stmt, after), self._appended(stmt)]  # fmt: skip
                return [check, loop, self._call("while_", operands, test, stmt)]
            case ast.For(target=target, iter=iterable):
                head = live_at_head(stmt, after) | self.always
                body = self._block(stmt.body, head)[0]
                names = self._set(*stmt.body, target)
                take = located(ast.Assign([target], name_of("_wb_item")), target)
                loop = self._helper("body", [take, *body], names, stmt, ["_wb_item"])  # type: ignore[list-item]
                stop = ast.Constant(self.stop_of.get(stmt))
                anew = bound(stmt.body) - live_before_block(stmt.body, head) - self.seen_elsewhere
                items = items_of(iterable)
                items = delayed(items) if movable([iterable]) else items
                operands = [items, name_of(loop.name), _strings(names), _strings(names & head),
                            _strings(anew), self._reads(stmt), *self._source(stmt, after), stop]  # fmt: skip
                operands.append(ast.Constant(target.id if isinstance(target, ast.Name) else ""))
                operands.append(self._appended(stmt))
                return [loop, self._call("for_", operands, iterable, stmt)]
            case ast.With():
                body = self._block(stmt.body, after)[0]
                return [ast.copy_location(ast.With([Expressions().visit(i) for i in stmt.items], body), stmt)]
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
                asked = [Expressions().visit(stmt.subject)]
                subject = located(ast.Call(operation("subject"), asked, []), stmt.subject)
                return [ast.copy_location(ast.Match(subject, cases), stmt)]
            case ast.FunctionDef() | ast.ClassDef():
                return [stmt]
            case ast.Raise(exc=ast.Call(func=kind) as made, cause=cause) if movable([made]):
                make = [delayed(Expressions().visit(made)), delayed(kind)]
                error = located(ast.Call(operation("raised"), make, []), made)
                return [ast.copy_location(ast.Raise(error, cause), stmt)]
            case ast.Assert(test=test):
                new = ast.copy_location(ast.Assert(test, stmt.msg and Expressions().visit(stmt.msg)), stmt)
                new.test = located(ast.Call(operation("holds"), [Expressions().truth(test)], []), test)
                return [new]
        return [Expressions().visit(stmt)]

    def _if(
        self, stmt: ast.stmt, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], after: Names
    ) -> list[ast.stmt]:
        is_tail = stmt in self.tails
        live = self.always if is_tail else after
        names = self._set(*body, *orelse)
        then = self._helper("then", self._block(body, live)[0], names, stmt)
        other = self._helper("else", self._block(orelse, live)[0], names, stmt)
        operands = [
            Expressions().truth(test), name_of(then.name), name_of(other.name), _strings(names), _strings(names & live),
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
        calls = self._set_by_calls(source.node)
        return registered(replace(source, after=after | self.always, set_by_calls=calls))

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
        self, name: str, operands: list[ast.expr], at: ast.AST, stmt: ast.AST, *, returns: bool = False
    ) -> ast.stmt:
        call = located(ast.Call(operation(name), operands, []), at)
        new = ast.Return(call) if returns else ast.Expr(call)
        return located(new, stmt)


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


def _strings(names: Names) -> ast.expr:
    return ast.Tuple([ast.Constant(name) for name in sorted(names)], ast.Load())


class _Nested(ast.NodeTransformer):
    """Converts the functions defined inside; classes keep their statements, and their methods are converted."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802 (ast's name)
        try:
            new = _Function(node).converted() if is_worth_it(node) else node
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
