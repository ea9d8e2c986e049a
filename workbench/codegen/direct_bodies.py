"""Kernel bodies for a fast compilation: long runs of scalar arithmetic become one LLVM function each.

numba analyses and types a kernel statement by statement, which takes most of the time of compiling a long one. Here the
straight lines in a kernel's loops

    sub = a[i] - b[i]
    square = sub * sub                 ->          y = run_3f2a_0(a[i], b[i], shift)
    y = exp_f64(square) + shift

become calls of functions that `scalar_math.direct` lowers to the same instructions in a tenth of the time. What a
reader is shown, and what an exported module contains, stays as it was; both forms give the same bits
(tests/codegen/test_direct_bodies.py). Whatever this does not understand is left to numba.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ir import short_dtype_name
from .kernel import Kernel
from .scalar_math.direct import UnsupportedSourceError, as_intrinsic, result_dtype
from .scalar_math.registry import INLINED, ScalarFunction, by_name, names_in

# Shorter runs are not worth a function of their own.
SHORTEST_RUN = 5
# Functions of the library that are not of scalars.
NOT_SCALAR = ("flat", "assume_index", "uintp")
_NUMPY_NAMES = {"f64": "np.float64", "f32": "np.float32", "bool": "np.bool_"} | {
    f"{sign}{bits}": f"np.{kind}{bits}" for sign, kind in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)
}


def with_direct_bodies(kernel: Kernel, resolve: Callable[[str], Any]) -> tuple[str, dict[str, Any]]:
    """The source of `kernel` with its runs replaced, and the functions that it then calls. resolve: numba's form of a
    scalar function, by name."""
    tree = ast.parse(kernel.source)
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef)
    arrays: dict[str, str] = {}
    scalars: dict[str, str] = {"start": "i64", "stop": "i64"}
    for arg in kernel.args:
        if arg.kind == "size":
            scalars[arg.name] = "i64"
        else:
            arrays[arg.name] = short_dtype_name(np.dtype(arg.dtype))
    writer = _Replacer(function, arrays, scalars, resolve)
    writer.replace(function.body)
    return ast.unparse(tree), writer.functions


@dataclass(eq=False)
class _Replacer:
    """arrays, scalars: the short dtype names of what is known so far."""

    function: ast.FunctionDef
    arrays: dict[str, str]
    scalars: dict[str, str]
    resolve: Callable[[str], Any]
    functions: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.uses: dict[str, list[ast.Name]] = {}
        self.n_assignments: dict[str, int] = {}
        for node in ast.walk(self.function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self.uses.setdefault(node.id, []).append(node)
            elif isinstance(node, ast.Name):
                self.n_assignments[node.id] = self.n_assignments.get(node.id, 0) + 1

    def replace(self, body: list[ast.stmt]) -> None:
        """Replace the runs of a body and of the bodies in it, in order."""
        result: list[ast.stmt] = []
        run: list[ast.Assign] = []
        for statement in [*body, None]:
            if statement is not None and self._is_scalar(statement):
                run.append(statement)  # type: ignore[arg-type]  # `_is_scalar` says it is an assignment
                continue
            result += self._replaced(run)
            run = []
            if statement is not None:
                self._look(statement)
                for inner in ("body", "orelse"):
                    if getattr(statement, inner, None):
                        self.replace(getattr(statement, inner))
                result.append(statement)
        body[:] = result

    def _look(self, statement: ast.stmt) -> None:
        """Learn what a statement that stays says about types."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func, args=[ast.Name(id=array)])) if (
                ast.unparse(func) == "flat" and array in self.arrays
            ):
                self.arrays[name] = self.arrays[array]
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func, args=[_, dtype])) if (
                ast.unparse(func) == "np.empty"
            ):
                self.arrays[name] = short_dtype_name(np.dtype(ast.unparse(dtype).removeprefix("np.")))
            case ast.For(target=ast.Name(id=name)):
                self.scalars[name] = "i64"

    def _is_scalar(self, statement: ast.stmt) -> bool:
        """Whether this assigns scalar arithmetic, once, to a name."""
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            return False
        if self.n_assignments[statement.targets[0].id] != 1:
            return False
        return all(self._is_understood(node) for node in _scalar_nodes(statement.value))

    def _is_understood(self, node: ast.AST) -> bool:
        match node:
            case ast.Subscript(value=ast.Name(id=name)):
                return name in self.arrays
            case ast.Call(func=ast.Name(id=name)):
                return name not in NOT_SCALAR and (name == "bool" or bool(names_in(f"{name}(")))
            case ast.Call(func=func, args=[_]):
                return ast.unparse(func) in _NUMPY_NAMES.values()
            case ast.Attribute():
                return ast.unparse(node) in ("np.nan", "np.inf") or ast.unparse(node) in _NUMPY_NAMES.values()
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.IfExp() | ast.Name() | ast.Constant():
                return True
            case ast.operator() | ast.unaryop() | ast.cmpop() | ast.expr_context():
                return True
        return False

    def _replaced(self, run: list[ast.Assign]) -> list[ast.stmt]:
        """Calls in place of a run: one for each value that is read outside of it."""
        if len(run) >= SHORTEST_RUN:
            try:
                return self._calls(run)
            except (UnsupportedSourceError, KeyError):
                pass
        for statement in run:
            self._infer(statement)
        return list(run)

    def _infer(self, statement: ast.Assign) -> None:
        """The dtype of a value that stays in place, if it is plain to see."""
        target, value = statement.targets[0], statement.value
        assert isinstance(target, ast.Name)
        if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
            self.scalars[target.id] = self.arrays[value.value.id]
            return
        try:
            run = _Run([statement], self.arrays, self.scalars)
            self.scalars[target.id] = result_dtype(run.function(target.id), self.resolve)
        except (UnsupportedSourceError, KeyError):
            pass

    def _calls(self, run: list[ast.Assign]) -> list[ast.stmt]:
        inside = {id(node) for statement in run for node in ast.walk(statement)}
        described = _Run(run, self.arrays, self.scalars)
        calls: list[ast.stmt] = []
        found: dict[str, str] = {}
        functions: dict[str, Any] = {}
        for statement in run:
            name = statement.targets[0].id  # type: ignore[attr-defined]  # `_is_scalar` says it is a name
            if all(id(use) in inside for use in self.uses.get(name, ())):
                continue
            function = described.function(name)
            arguments = ", ".join(described.arguments(name))
            found[name] = described.scalars[name] = result_dtype(function, self.resolve)
            described.made.pop(name)  # the functions that follow take it as an operand
            functions[function.name] = as_intrinsic(function, self.resolve)
            calls += ast.parse(f"{name} = {function.name}({arguments})").body
        self.functions |= functions
        self.scalars |= found
        return calls


def _scalar_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """An expression's nodes; elements of arrays are leaves."""
    yield node
    if not isinstance(node, ast.Subscript):
        for child in ast.iter_child_nodes(node):
            yield from _scalar_nodes(child)


class _Run:
    """A run of assignments as functions of what it reads."""

    def __init__(self, run: list[ast.Assign], arrays: Mapping[str, str], scalars: Mapping[str, str]):
        self.arrays = arrays
        self.scalars = dict(scalars)
        self.made = {s.targets[0].id: s for s in run}  # type: ignore[attr-defined]  # names, all of them

    def _needed(self, name: str) -> list[str]:
        """The names of the run that `name` is computed from, itself included, in order."""
        wanted = {name}
        for made in reversed(self.made):
            if made in wanted:
                value = self.made[made].value
                wanted |= {n.id for n in _scalar_nodes(value) if isinstance(n, ast.Name) and n.id in self.made}
        return [made for made in self.made if made in wanted]

    def _operands(self, name: str) -> dict[str, str]:
        """What is read from outside: source text -> short dtype name. KeyError if that is not known."""
        operands: dict[str, str] = {}
        for made in self._needed(name):
            for node in _scalar_nodes(self.made[made].value):
                match node:
                    case ast.Subscript(value=ast.Name(id=array)):
                        if any(isinstance(n, ast.Name) and n.id in self.made for n in ast.walk(node.slice)):
                            raise UnsupportedSourceError(f"{ast.unparse(node)} is indexed by the run's own values")
                        operands[ast.unparse(node)] = self.arrays[array]
                    case ast.Name(id=other) if other not in self.made and other not in ("np", "bool"):
                        if not names_in(f"{other}("):
                            operands[other] = self.scalars[other]
        return operands

    def arguments(self, name: str) -> list[str]:
        return list(self._operands(name))

    def function(self, name: str) -> ScalarFunction:
        operands = self._operands(name)
        parameters = {text: f"p{i}" for i, text in enumerate(operands)}
        local = {made: f"v{i}" for i, made in enumerate(self._needed(name))}
        rename = _Rename(parameters, local)
        lines = [f"    {local[m]} = {ast.unparse(rename.visit(ast.parse(ast.unparse(self.made[m].value)).body[0]))}"
                 for m in local]  # fmt: skip
        annotated = ", ".join(f"{parameters[text]}: {_NUMPY_NAMES[short]}" for text, short in operands.items())
        body = "\n".join(lines)
        digest = hashlib.sha256(f"{annotated}\n{body}".encode()).hexdigest()[:12]
        title = f"run_{digest}"
        source = f"{INLINED}\ndef {title}({annotated}):\n{body}\n    return {local[name]}\n"
        return ScalarFunction(title, source, tuple(by_name(n) for n in names_in(source)), 0.0, True, 0.0)


class _Rename(ast.NodeTransformer):
    """Operands become parameters, the run's own names local ones."""

    def __init__(self, parameters: Mapping[str, str], local: Mapping[str, str]):
        self.parameters = parameters
        self.local = local

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return ast.Name(self.parameters[ast.unparse(node)], ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.AST:
        name = self.local.get(node.id) or self.parameters.get(node.id) or node.id
        return ast.Name(name, ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        text = ast.unparse(node)
        return ast.parse(f"math.{node.attr}", mode="eval").body if text in ("np.nan", "np.inf") else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "bool":
            node.func = ast.parse("np.bool_", mode="eval").body
        return node
