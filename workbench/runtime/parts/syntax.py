"""The syntax of what Python drives: which statements form pieces, which stay, and which calls may be driven in turn.

A piece is a run of statements that may be compiled. Statements that may leave the code around them (`break`, `return`),
that hold such ones, or that mean something else in a place of their own stay as they are.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...frontend.liveness import bound, walk_scope
from ...frontend.overlay import DOT
from ...frontend.positions import USER, code_kind
from ...frontend.syntax import child_nodes, copied, walk

OPERATIONS = "<workbench.runtime.parts.syntax>"  # a constant of driven code, replaced by an object with operations

HOLDERS = (ast.If, ast.With, ast.Try, ast.For, ast.While)
_LOOPS = (ast.For, ast.While)
_BLOCKS = ("body", "orelse", "finalbody")
_STAYS = (
    ast.Break, ast.Continue, ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Return,
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.AsyncFor, ast.AsyncWith, ast.With, ast.Try, ast.Match,
)  # fmt: skip
_LEAVES = (ast.Yield, ast.YieldFrom, ast.Await)
_PLAIN = (ast.Constant, ast.Name, ast.expr_context, ast.Tuple, ast.Assign, ast.Expr)


class Splitter:
    """Puts other statements in place of pieces.

    replaced: what stands for a piece, by its number and statements; stays, closes: whether a statement is of no piece,
    and whether it is the last one of its piece. pieces: their statements; loops: the outermost loop around each that
    stays, too; placed: whether each is in a `with device(...)`; left: the statements that stay.
    """

    def __init__(
        self,
        replaced: Callable[[int, list[ast.stmt]], list[ast.stmt]],
        stays: Callable[[ast.stmt], bool] | None = None,
        closes: Callable[[ast.stmt], bool] = lambda node: False,
    ):
        self.replaced = replaced
        self.stays = must_stay if stays is None else stays
        self.closes = closes
        self.pieces: list[list[ast.stmt]] = []
        self.loops: list[ast.stmt | None] = []
        self.placed: list[bool] = []
        self._n_devices = 0
        self.left: list[ast.stmt] = []

    def held(self, node: ast.stmt, loop: ast.stmt | None = None) -> ast.stmt:
        """A copy of a compound statement that stays, with the pieces of its blocks replaced."""
        heading = copy.copy(node)
        heading.end_lineno = node.lineno
        self.left.append(heading)
        if loop is None and isinstance(node, _LOOPS):
            loop = node
        node = copy.copy(node)
        is_placed = _names_in_heading(node, "device")
        self._n_devices += is_placed
        for block in _BLOCKS:
            if getattr(node, block, None):
                setattr(node, block, self.block(getattr(node, block), loop))
        self._n_devices -= is_placed
        if isinstance(node, ast.Try):
            handlers = [copy.copy(handler) for handler in node.handlers]
            for handler in handlers:
                handler.body = self.block(handler.body, loop)
            node.handlers = handlers
        return node

    def block(self, nodes: Sequence[ast.stmt], loop: ast.stmt | None = None) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        group: list[ast.stmt] = []

        def end_piece() -> None:
            if group and all(map(_only_names, group)):
                self.left.extend(group)
                result.extend(group)
            elif group:
                result.extend(self.replaced(len(self.pieces), list(group)))
                self.pieces.append(list(group))
                self.loops.append(loop)
                self.placed.append(self._n_devices > 0)
            group.clear()

        for node in nodes:
            if not self.stays(node):
                group.append(node)
                if self.closes(node):
                    end_piece()
                continue
            if isinstance(node, ast.If) and _computes(node.test):
                assigned = _assigned(TESTED, node.test)
                if not self.stays(assigned):
                    group.append(assigned)
                    node = copy.copy(node)
                    node.test = _name(TESTED, ast.Load(), node.test)
            end_piece()
            if is_holder(node) and not _marks_operations(node):
                result.append(self.held(node, loop))
            else:
                self.left.append(node)
                result.append(node)
        end_piece()
        return result


def is_holder(node: ast.AST) -> bool:
    """Whether statements inside of one may run compiled: not where warnings are collected, which compiled ones lack."""
    if not isinstance(node, ast.With):
        return isinstance(node, HOLDERS)
    calls = (item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call))
    return not any(
        ast.unparse(call.func).endswith("catch_warnings") and any(k.arg == "record" for k in call.keywords)
        for call in calls
    )


def must_stay(node: ast.stmt) -> bool:
    """Whether a statement may leave the code around it, or means something else in a place of its own."""
    return isinstance(node, _STAYS) or leaves(node) or any(isinstance(n, _LEAVES) for n in walk(node))


def leaves(node: ast.AST) -> bool:
    """Whether a statement may end the loop or function that it stands in."""
    if isinstance(node, ast.Break | ast.Continue | ast.Return):
        return True
    if isinstance(node, ast.For | ast.While):  # its `break` is its own, but not one in its `else`
        inside = walk_scope(node.body)
        return any(map(leaves, node.orelse)) or any(isinstance(n, ast.Return) for n in inside)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return any(leaves(child) for child in child_nodes(node) if isinstance(child, ast.stmt | ast.excepthandler))


def has_loop(nodes: Sequence[ast.AST]) -> bool:
    return any(isinstance(n, _LOOPS) for n in walk_scope(nodes))


def _only_names(node: ast.stmt) -> bool:
    """Whether a statement hands on names and constants alone: nothing to compile."""
    return isinstance(node, ast.Assign | ast.Expr) and all(isinstance(n, _PLAIN) for n in walk(node))


def _marks_operations(node: ast.stmt) -> bool:
    """Whether it is a `with jit_scope(...)`: the marks hold for one trace of all that is in it."""
    return _names_in_heading(node, "jit_scope")


def _names_in_heading(node: ast.stmt, name: str) -> bool:
    """Whether it is a `with` statement whose heading names this."""
    if not isinstance(node, ast.With):
        return False
    names = (getattr(n, "id", getattr(n, "attr", "")) for item in node.items for n in walk(item.context_expr))
    return name in names


# ---- the operations of driven code ----


def operation(name: str, *args: ast.expr, at: ast.AST) -> ast.expr:
    """A call of an operation."""
    call = ast.Call(attribute(name), list(args), [])
    return ast.fix_missing_locations(ast.copy_location(call, at))


def attribute(name: str) -> ast.expr:
    return ast.Attribute(ast.Constant(OPERATIONS), name, ast.Load())


class Operations(types.SimpleNamespace):
    """What stands for the constant `OPERATIONS`. Debuggers hash code with its constants."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # which SimpleNamespace takes away


def with_operations(code: types.CodeType, operations: object) -> types.CodeType:
    """`code`, in which that object stands for the constant `OPERATIONS`."""
    consts: list[Any] = []
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            const = with_operations(const, operations)
        elif type(const) is str and const == OPERATIONS:
            const = operations
        consts.append(const)
    return code.replace(co_consts=tuple(consts))


class _Scope(ast.NodeTransformer):
    """Leaves the functions and classes inside alone."""

    def _left_alone(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _left_alone  # noqa: N815 (ast's names)


class DrivenCalls(_Scope):
    """Lets every call of what may be a function of the user's ask the operation `driven` for what to call instead.

    What functions inside hold may be called when nothing is driven any more. known: the names that are looked up now,
    to spare calls of libraries the question.
    """

    def __init__(self, known: Mapping[str, Any]):
        self.known = known

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802 (ast's name)
        self.generic_visit(node)
        if not self._is_library(node.func) and not _is_operation(node.func):
            node.func = operation("driven", node.func, at=node.func)
        return node

    def _is_library(self, function: ast.expr) -> bool:
        root = function
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Constant):
            return True
        if not isinstance(root, ast.Name):
            return False
        value = self.known.get(root.id, _UNKNOWN)
        if value is _UNKNOWN:
            return root is function and root.id in _BUILTINS
        if isinstance(value, types.ModuleType):
            return code_kind(getattr(value, "__file__", None) or "<frozen >") != USER
        return isinstance(value, types.BuiltinFunctionType | type) and root is function


_UNKNOWN = object()
_BUILTINS = frozenset(vars(__import__("builtins")))


def _is_operation(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Constant) and node.value.value == OPERATIONS


# ---- functions ----

VALUES = "__workbench_values__"
RETURNED = "__workbench_returned__"
TESTED = "__workbench_tested__"
STORED = "__workbench_stored__"
OBJECT = "__workbench_object__"
IS_SPLIT = "is_split"  # an attribute of the latter ones of statements that were one
COMPUTED = frozenset((RETURNED, TESTED, STORED, OBJECT))
RAISED = "an error"  # no name that a user could have

_READS_ITS_FRAME = frozenset(("locals", "vars", "dir", "eval", "exec"))
_OF_THE_FRAME = frozenset(("super", "__class__"))


class FunctionSyntax:
    """A function whose statements may run in parts. body: what to compile in place of its own; pieces, loops: as of
    `Splitter`, stores: the names that each may set."""

    def __init__(self, node: ast.FunctionDef, code: types.CodeType, known: Mapping[str, Any], rebound: frozenset[str]):
        """known: the function's globals; rebound: names that other functions than this one may set (`nonlocal`)."""
        module = ast.Module([copied(each) for each in node.body], [])
        own = frozenset(code.co_varnames) - frozenset(code.co_cellvars)
        body = _ValuesFirst(own).visit(_Unannotated().visit(module)).body
        declared = [n for n in walk_scope(body) if isinstance(n, ast.Global | ast.Nonlocal)]
        self.declared = frozenset(name for n in declared for name in n.names)
        self.rebound = rebound
        self.captured = frozenset(code.co_cellvars)
        self.calls = DrivenCalls({k: v for k, v in known.items() if k not in names_of(code)})
        self.stores: list[frozenset[str]] = []
        splitter = Splitter(self._replaced, self._stays, self._closes)
        self.body = [self.calls.visit(each) for each in splitter.block(body)]
        self.pieces, self.loops, self.placed = splitter.pieces, splitter.loops, splitter.placed

    def _stays(self, node: ast.stmt) -> bool:
        if must_stay(node) or isinstance(node, ast.AnnAssign):
            return True
        sets = bound([node])
        if sets & self.declared or isinstance(node, HOLDERS) and sets & self.captured:
            return True
        inside = list(walk(node))
        consumed = {id(arg) for n in inside if isinstance(n, ast.Call) for arg in n.args}
        return any(
            # Functions and generators could outlive the namespace that they read.
            isinstance(n, ast.Lambda | ast.GeneratorExp) and id(n) not in consumed
            or isinstance(n, ast.Lambda | ast.Delete)
            or isinstance(n, ast.Name) and (n.id in _OF_THE_FRAME or n.id in self.rebound)
            for n in inside
        )  # fmt: skip

    def _closes(self, node: ast.stmt) -> bool:
        """Whether it sets what functions inside of this one read: they do so in its frame."""
        return bool(bound([node]) & self.captured)

    def _replaced(self, number: int, nodes: list[ast.stmt]) -> list[ast.stmt]:
        """Ask the piece to run; where it leaves that to Python, the statements themselves, else what it has set:

        values = None if piece.in_numpy else piece.begin(locals(), globals())
        if values.__class__ is dict:
            if "a" in values:
                a = values["a"]
            ...
            piece.end(values)
        else:
            <statements>
            if values is not None:
                piece.end(values)
        """
        stores = bound(nodes)
        self.stores.append(stores)
        at, piece = nodes[0], f"piece_{number}"
        values = ast.Name(VALUES, ast.Load())
        begun = operation(f"begin_{piece}", operation("locals", at=at), operation("globals", at=at), at=at)
        asked = ast.IfExp(ast.Attribute(attribute(piece), "in_numpy", ast.Load()), ast.Constant(None), begun)
        first = ast.Assign([ast.Name(VALUES, ast.Store())], asked)
        end = ast.Expr(operation(f"end_{piece}", values, at=at))
        back: list[ast.stmt] = [
            ast.If(
                ast.Compare(ast.Constant(name), [ast.In()], [values]),
                [ast.Assign([ast.Name(name, ast.Store())], ast.Subscript(values, ast.Constant(name), ast.Load()))],
                [],
            )
            for name in sorted(stores)
        ]
        ran = ast.Compare(ast.Attribute(values, "__class__", ast.Load()), [ast.Is()], [attribute("dict")])
        timed = ast.If(ast.Compare(values, [ast.IsNot()], [ast.Constant(None)]), [end], [])
        choice = ast.If(ran, [*back, end], [*(copied(node) for node in nodes), timed])
        return [_located(first, at), _located(choice, at)]


def _located(node: ast.stmt, at: ast.AST) -> ast.stmt:
    """Give what has no place that of `at`."""
    for each in walk(node):
        if isinstance(each, ast.stmt | ast.expr) and not hasattr(each, "lineno"):
            ast.copy_location(each, at)
    return node


def names_of(code: types.CodeType) -> frozenset[str]:
    """The variables of a function."""
    return frozenset((*code.co_varnames, *code.co_cellvars, *code.co_freevars))


def may_run_in_parts(node: ast.AST, code: types.CodeType) -> bool:
    """Whether a function's statements mean the same where they run in parts."""
    if not isinstance(node, ast.FunctionDef) or node.body[0].lineno == node.lineno:
        return False
    if _READS_ITS_FRAME & {*code.co_names, *code.co_freevars}:
        return False
    for n in walk(node):
        name = getattr(n, "id", getattr(n, "attr", ""))
        if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
            return False  # a private name, which its class changes
    return True


class _ValuesFirst(_Scope):
    """What is computed gets a statement of its own, which may be compiled, before it is handed to something that may
    not: `return`, attributes of objects and lists. The order of things is Python's.

    own: the variables that no other function can set meanwhile.
    """

    def __init__(self, own: frozenset[str]):
        self.own = own

    def visit_Return(self, node: ast.Return) -> Any:  # noqa: N802 (ast's name)
        if node.value is None or all(isinstance(n, _PLAIN) for n in walk(node.value)):
            return node
        return _split(_assigned(RETURNED, node.value), _at(ast.Return(_name(RETURNED, ast.Load(), node)), node))

    def visit_Assign(self, node: ast.Assign) -> Any:  # noqa: N802 (ast's name)
        if not all(isinstance(target, ast.Attribute) for target in node.targets) or not _computes(node.value):
            return node
        then = _at(ast.Assign(node.targets, _name(STORED, ast.Load(), node)), node)
        return _split(_assigned(STORED, node.value), then)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:  # noqa: N802 (ast's name)
        target = node.target
        owner = target.value if isinstance(target, ast.Attribute) else None
        if not isinstance(target, ast.Attribute) or not isinstance(owner, ast.Name) or owner.id not in self.own:
            return node
        held = ast.copy_location(ast.Attribute(owner, target.attr, ast.Load()), target)
        return _split(
            _assigned(OBJECT, held),
            _assigned(STORED, node.value),
            _at(
                ast.AugAssign(
                    ast.copy_location(ast.Name(OBJECT, ast.Store()), target), node.op, _name(STORED, ast.Load(), target)
                ),
                node,
            ),
            _at(ast.Assign([target], _name(OBJECT, ast.Load(), target)), node),
        )

    def visit_Expr(self, node: ast.Expr) -> Any:  # noqa: N802 (ast's name)
        call = node.value
        if not (
            isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append"
            and len(call.args) == 1 and not call.keywords and _computes(call.args[0])
        ):  # fmt: skip
            return node
        appended = _name(STORED, ast.Load(), call)
        owner, before = call.func.value, []
        if not isinstance(owner, ast.Name):
            before = [_assigned(OBJECT, owner)]
            owner = _name(OBJECT, ast.Load(), owner)
        function = ast.copy_location(ast.Attribute(owner, "append", ast.Load()), call.func)
        then = _at(ast.Expr(ast.copy_location(ast.Call(function, [appended], []), call)), node)
        return _split(*before, _assigned(STORED, call.args[0]), then)


def _computes(node: ast.expr) -> bool:
    """Whether an expression may compute with arrays: it calls something that is no builtin."""
    return any(
        isinstance(n, ast.Call) and not (isinstance(n.func, ast.Name) and n.func.id in _BUILTINS) for n in walk(node)
    ) and not any(isinstance(n, ast.NamedExpr | ast.Starred) for n in walk(node))


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return _at(ast.Assign([_name(name, ast.Store(), value)], value), value)


def _split(*nodes: ast.stmt) -> list[ast.stmt]:
    for node in nodes[1:]:
        setattr(node, IS_SPLIT, True)
    return list(nodes)


def _at(node: ast.stmt, at: ast.AST) -> ast.stmt:
    return ast.copy_location(node, at)


class _Unannotated(_Scope):
    """Functions do not evaluate annotations of their variables."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # noqa: N802 (ast's name)
        if not isinstance(node.target, ast.Name) or node.value is None:
            return node
        return ast.copy_location(ast.Assign([node.target], node.value), node)


class AttributeNames(ast.NodeTransformer):
    """Makes names of the attributes of `self` that are read (`frames.DOT`): a piece that reads some is then of these
    alone, and not of all that the object holds."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802 (ast's name)
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "self" and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Name(f"self{DOT}{node.attr}", ast.Load()), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802 (ast's name)
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):  # of a method
            node.args = [self.visit(arg) for arg in node.args]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            return node
        self.generic_visit(node)
        return node


def is_method(code: types.CodeType, node: ast.FunctionDef) -> bool:
    """Whether `self` is the object that a function is a method of, all the time."""
    return code.co_argcount > 0 and code.co_varnames[0] == "self" and "self" not in bound(node.body)


def _name(name: str, context: ast.expr_context, at: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Name(name, context), at)
