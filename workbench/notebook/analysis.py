"""What a cell does besides arithmetic: found by reading its syntax tree, before anything runs.

Tracing runs a cell's Python once, with stand-ins for the arrays, and a cached cell does not run it at all. So whatever
must happen exactly once a run (printing, appending to a list, drawing random numbers, a call of unknown code) has to
be known first. What is not known to be harmless counts as an effect. `CellAnalysis` also says whether the cell can be
run a second time to compare it with NumPy, and whether it may write into arrays that it was given.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import textwrap
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

PURE_BUILTINS = frozenset(
    "abs all any bin bool bytes callable chr complex dict divmod enumerate filter float format frozenset getattr "
    "hasattr hash hex int isinstance issubclass iter len list map max min next oct ord pow property range repr "
    "reversed round set slice sorted staticmethod classmethod str sum super tuple type vars zip object "
    "ArithmeticError AssertionError AttributeError Exception FloatingPointError IndexError KeyError LookupError "
    "NotImplementedError OverflowError RuntimeError StopIteration TypeError ValueError ZeroDivisionError".split()
)
# Modules of the standard library whose functions only compute.
PURE_MODULES = frozenset(
    "math cmath operator functools itertools fractions numbers statistics collections copy contextlib dataclasses enum "
    "typing string".split()
)
# NumPy functions that read or write something besides their arguments.
NUMPY_EFFECTS = frozenset(
    "save savez savez_compressed savetxt memmap open_memmap fromfile genfromtxt loadtxt load seterr seterrcall "
    "setbufsize set_printoptions show_config show_runtime info test".split()
)
# These write into their first argument.
NUMPY_WRITERS = frozenset("copyto put place putmask fill_diagonal put_along_axis".split())
ARRAY_WRITERS = frozenset("fill itemset partition put resize setfield setflags sort byteswap".split())
ARRAY_EFFECTS = frozenset("dump tofile".split())
CONTAINER_READERS = frozenset(
    "copy count get index items keys values difference intersection issubset issuperset symmetric_difference union "
    "isdisjoint".split()
)
CONTAINER_WRITERS = frozenset(
    "add append appendleft clear discard extend extendleft insert pop popitem popleft remove reverse setdefault sort "
    "update write writelines send put".split()
)
IMMUTABLE = (str, bytes, int, float, complex, bool, tuple, frozenset, range, type(None), np.dtype, np.generic)
MAX_DEPTH = 12  # of user functions that call each other


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that must happen exactly once a run. Lines count from 1, columns from 0 in characters."""

    line: int
    col: int
    end_line: int
    end_col: int
    op: str
    why: str


@dataclass(frozen=True, slots=True)
class CellAnalysis:
    """effects: in the order of the source; reads: names taken from outside; writes_arrays: it may change, in place,
    an array that it was given; function_reads: names that the user's functions which it calls take from outside."""

    effects: tuple[Effect, ...]
    reads: frozenset[str]
    writes_arrays: bool
    function_reads: frozenset[str] = frozenset()


def analyse(tree: ast.Module, namespace: Mapping[str, Any]) -> CellAnalysis:
    """Analyse a parsed cell that is about to run in `namespace`."""
    visitor = _Visitor(namespace)
    visitor.visit(tree)
    effects = sorted(dict.fromkeys(visitor.effects), key=lambda e: (e.line, e.col))
    return CellAnalysis(
        tuple(effects), frozenset(visitor.reads), visitor.writes_arrays, frozenset(visitor.function_reads)
    )


class _Local:
    """The value of a name that the analysed code made itself: changing it is nobody else's business."""


class _Unknown:
    """A value that is not known before the code runs."""


class _Unimported:
    """A module that the cell itself imports for the first time."""


LOCAL, UNKNOWN, UNIMPORTED = _Local(), _Unknown(), _Unimported()


class _Visitor(ast.NodeVisitor):
    """Walks one cell or one function body.

    parameters: names of a function's own parameters: local names, but what they hold may be the caller's.
    """

    def __init__(self, globals_: Mapping[str, Any], *, parameters: frozenset[str] = frozenset(), seen: tuple = ()):
        self.globals = globals_
        self.effects: list[Effect] = []
        self.reads: set[str] = set()
        self.writes_arrays = False
        self.function_reads: set[str] = set()
        self._parameters = parameters
        self._assigned: set[str] = set(parameters)
        self._imported: dict[str, Any] = {}
        self._seen = seen

    # ---- names ----

    def visit_Module(self, node: ast.Module) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            if node.id not in self._assigned:
                self.reads.add(node.id)
        elif isinstance(node.ctx, ast.Store):
            self._assigned.add(node.id)
            self._imported.pop(node.id, None)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self.visit(node.target)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def _visit_comprehension(self, node: Any) -> None:
        outer = set(self._assigned)
        for generator in node.generators:
            self.visit(generator.iter)
            self.visit(generator.target)
            for condition in generator.ifs:
                self.visit(condition)
        for field in ("key", "value", "elt"):
            if hasattr(node, field):
                self.visit(getattr(node, field))
        self._assigned = outer

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension  # noqa: N815  (ast's)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            module = alias.name if alias.asname else name
            self._assigned.add(name)
            self._imported[name] = sys.modules.get(module, UNIMPORTED)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = sys.modules.get(node.module or "", UNIMPORTED)
        for alias in node.names:
            name = alias.asname or alias.name
            self._assigned.add(name)
            self._imported[name] = getattr(module, alias.name, UNIMPORTED)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.Lambda) -> None:
        arguments = node.args
        if not isinstance(node, ast.Lambda):
            for decorator in node.decorator_list:
                self.visit(decorator)
                if not isinstance(decorator, ast.Call):
                    self._check_callee(decorator, decorator)
            self._assigned.add(node.name)
        for default in (*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)):
            self.visit(default)
        names = frozenset(
            a.arg
            for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
            if a is not None
        )
        outer, outer_parameters = set(self._assigned), self._parameters
        self._assigned |= names
        self._parameters = self._parameters | names
        for statement in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(statement)
        self._assigned, self._parameters = outer, outer_parameters

    visit_Lambda = visit_FunctionDef  # noqa: N815  (ast's)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.generic_visit(node)
        self._assigned.add(node.name)

    # ---- effects by syntax ----

    def _effect(self, node: ast.AST, op: str, why: str) -> None:
        self.effects.append(Effect(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, op, why))  # type: ignore[attr-defined]  # nodes with a position only

    def visit_Global(self, node: ast.Global) -> None:
        self._effect(node, "global", "it rebinds a global name from inside a function")

    def visit_Await(self, node: ast.Await) -> None:
        self._effect(node, "await", "it waits for something outside the cell")

    visit_AsyncFor = visit_AsyncWith = visit_Await  # noqa: N815  (ast's)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            value = self._value(node.target)
            self.visit(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            self._check_write(node, value, f"{node.target.id} {_symbol(node.op)}=")
            self._assigned.add(node.target.id)
        else:
            self.visit(node.target)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            self._check_write(node, self._value(node.value), f"{ast.unparse(node.value)}[...] =")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) and self._value(node.value) is not LOCAL:
            self._effect(node, f"{ast.unparse(node)} =", "it changes an attribute of an object from outside the cell")

    def _check_write(self, node: ast.AST, value: Any, op: str) -> None:
        """A write into `value`: an array's is traced, anything else's would happen while tracing only."""
        # A local name may be a view of an array from outside: every write counts.
        self.writes_arrays = True
        if not isinstance(value, (np.ndarray, _Unknown, _Local, *IMMUTABLE)):
            self._effect(node, op, f"it changes a {type(value).__name__} from outside the cell")

    # ---- calls ----

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        if any(keyword.arg == "out" for keyword in node.keywords):
            self.writes_arrays = True
        if self._value(node.func) is np.random.default_rng and (node.args or node.keywords):
            return  # seeded: the generator is the cell's own, and draws the same numbers each run
        self._check_callee(node.func, node)

    def _check_callee(self, func: ast.expr, node: ast.AST) -> None:
        if isinstance(func, ast.Attribute):
            owner = self._value(func.value)
            if not isinstance(owner, types.ModuleType) and not isinstance(owner, type):
                self._check_method(node, func, owner)
                return
        self._check_function(node, self._value(func), ast.unparse(func))

    def _check_method(self, node: ast.AST, func: ast.Attribute, owner: Any) -> None:
        name = func.attr
        text = ast.unparse(func)
        if owner is LOCAL or owner is UNKNOWN or isinstance(owner, np.ndarray):
            of_caller = owner is not LOCAL or self._is_parameter(func.value)
            self.writes_arrays |= name in ARRAY_WRITERS
            if name in ARRAY_EFFECTS:
                self._effect(node, text, "it writes to a file")
            elif of_caller and not isinstance(owner, np.ndarray) and name in CONTAINER_WRITERS - ARRAY_WRITERS:
                self._effect(node, text, "it changes an object from outside the cell")
        elif isinstance(owner, IMMUTABLE) or (isinstance(owner, dict | list | set) and name in CONTAINER_READERS):
            pass
        else:
            self._check_function(node, _static_attribute(owner, name), text)

    def _check_function(self, node: ast.AST, function: Any, text: str) -> None:
        if text.startswith("get_ipython"):
            self._effect(node, "%", "it is a command of IPython or of the shell")
            return
        if function is UNKNOWN or function is UNIMPORTED:
            self._effect(node, text, f"it calls {text}, which is not known before the cell runs")
            return
        if function is LOCAL or _is_pure(function):
            self.writes_arrays |= getattr(function, "__name__", "") in NUMPY_WRITERS
            return
        plain = inspect.unwrap(function) if callable(function) else function
        if isinstance(plain, types.MethodType):
            plain = plain.__func__
        if isinstance(plain, types.FunctionType):
            inner = _analyse_function(plain, self._seen)
            if inner is not None:
                self.writes_arrays |= inner.writes_arrays
                self.function_reads |= inner.function_reads
                if inner.effects:
                    first = inner.effects[0]
                    self._effect(node, text, f"in line {first.line} of `{plain.__name__}`, {first.why}")
                return
        self._effect(node, text, f"it calls {text}, whose effects are not known")

    def _is_parameter(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self._parameters

    # ---- what an expression is, as far as it is known ----

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name) if name in self._imported:
                return self._imported[name]
            case ast.Name(id=name) if name in self._assigned:
                return LOCAL
            case ast.Name(id=name):
                return self.globals.get(name, getattr(builtins, name, UNKNOWN))
            case ast.Attribute(value=base, attr=name):
                owner = self._value(base)
                if owner is LOCAL or owner is UNKNOWN or owner is UNIMPORTED:
                    return owner
                if isinstance(owner, np.ndarray):
                    return owner if name in ("T", "real", "imag", "flat", "mT") else LOCAL
                return _static_attribute(owner, name)
            case ast.Subscript(value=base, slice=index):
                owner = self._value(base)
                if isinstance(owner, list | tuple | dict) and isinstance(index, ast.Constant):
                    try:
                        return owner[index.value]
                    except (LookupError, TypeError):
                        return UNKNOWN
                return owner if owner is LOCAL or isinstance(owner, np.ndarray) else UNKNOWN
            case ast.Constant(value=value):
                return value
            case ast.Starred(value=base):
                return self._value(base)
            case _:
                return LOCAL  # a fresh value: the result of an operator, a call, a literal


def _static_attribute(owner: Any, name: str) -> Any:
    """An attribute, without running properties or `__getattr__`."""
    if isinstance(owner, types.ModuleType):
        return getattr(owner, name, UNKNOWN)
    try:
        found = inspect.getattr_static(owner, name)
    except AttributeError:
        return UNKNOWN
    if isinstance(found, staticmethod | classmethod):
        return found.__func__
    if isinstance(found, property | types.GetSetDescriptorType | types.MemberDescriptorType):
        return UNKNOWN
    return found


def _is_pure(function: Any) -> bool:
    """Whether a callable is known to only compute (and, at most, to write into arrays)."""
    if isinstance(function, np.ufunc):
        return True
    if isinstance(function, type) and issubclass(function, (np.generic, np.ndarray, np.dtype)):
        return True
    name = getattr(function, "__name__", "")
    module = getattr(function, "__module__", None) or getattr(type(function), "__module__", None) or ""
    if getattr(builtins, name, None) is function:
        return name in PURE_BUILTINS
    root = module.partition(".")[0]
    if root == "numpy":
        # Random numbers are drawn from a state; so is memory that is not set.
        return ".random" not in module and name not in NUMPY_EFFECTS
    if root == "workbench":
        # Only functions of our own: a user's function that `jit` wraps is looked into.
        return not hasattr(function, "__wrapped__")
    return root in PURE_MODULES or module in ("_operator", "_functools", "_collections", "itertools", "math", "cmath")


def _analyse_function(function: types.FunctionType, seen: tuple) -> CellAnalysis | None:
    """The analysis of a user's function, or None where its source cannot be had."""
    code = function.__code__
    if code in seen:
        return CellAnalysis((), frozenset(), False)  # recursion: the outer visit finds what there is
    if len(seen) >= MAX_DEPTH:
        return None
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None  # a lambda inside a longer expression, code made by exec
    node = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda)), None)
    if node is None:
        return None
    cells = dict(zip(code.co_freevars, (c.cell_contents for c in function.__closure__ or ()), strict=False))
    scope = {**function.__globals__, **cells}
    visitor = _Visitor(scope, seen=(*seen, code))
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []  # they ran when the function was defined
    visitor.visit_FunctionDef(node)
    reads = frozenset(visitor.reads)
    return CellAnalysis(tuple(visitor.effects), reads, visitor.writes_arrays, reads | visitor.function_reads)


def _symbol(op: ast.operator) -> str:
    symbols = {
        "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "MatMult": "@",
        "LShift": "<<", "RShift": ">>", "BitAnd": "&", "BitOr": "|", "BitXor": "^",
    }  # fmt: skip
    return symbols[type(op).__name__]
