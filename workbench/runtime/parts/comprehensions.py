"""Statements that compute with comprehensions, or folds of generators, which tracing refuses: the loops of these may be
taken whole, as those that the user wrote are (`whole_loops`).

    y = np.array([f(x[i:i + 5]) for i in range(n)])   ->   list_1 = []
                                                           for i_2 in range(n):
                                                               list_1.append(f(x[i_2:i_2 + 5]))
                                                           y = np.array(list_1)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...frontend.liveness import bound, read
from ...frontend.loops.concrete import written_out
from ...frontend.scopes import running_in_numpy
from ...frontend.syntax import copied, walk
from ..cells import CellResult
from .whole_loops import WholeLoop

if TYPE_CHECKING:
    from .statements import PartedRun

LEAST_ITEMS = 64  # fewer are Python's, unless they take it some time
WORTH_MS = 2.0  # of Python, in all, from which on a loop is compiled
_OF_ARRAYS = frozenset((
    "array", "asarray", "sum", "prod", "mean", "std", "var", "median", "percentile", "quantile", "max", "min", "amax",
    "amin", "argmax", "argmin", "cumsum", "sort", "argsort", "diff", "any", "all",
))  # fmt: skip
_LENGTHS = frozenset(("range", "len", "enumerate", "zip", "min", "max", "int"))
_KNOWN = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Call, ast.Attribute, ast.Subscript, ast.Tuple,
          ast.operator, ast.unaryop, ast.expr_context)  # fmt: skip


@dataclass(eq=False, slots=True)
class WrittenOut:
    """A statement with its comprehensions as loops. before: these, and what sets up for them; last: the statement that
    reads what they leave; made: their own variables; made_arrays: lists that only become arrays, by the name of NumPy
    in that place; sequences: which tell how many items there are; python_ms: what Python took so far."""

    before: Sequence[ast.stmt]
    last: ast.stmt
    made: frozenset[str]
    loops: dict[int, WholeLoop]
    made_arrays: dict[str, str]
    sequences: list[CodeType] | None
    refused: bool = False
    python_ms: float = 0.0
    codes: dict[int, CodeType] = field(default_factory=dict)

    @classmethod
    def of(cls, node: ast.stmt, namespace: Mapping[str, Any]) -> WrittenOut | None:
        """None where there is nothing to write out."""
        if not any(isinstance(n, ast.ListComp | ast.GeneratorExp) for n in walk(node)):
            return None
        *before, last = written_out([copied(node)], namespace)
        loops = {k: WholeLoop(stmt) for k, stmt in enumerate(before) if isinstance(stmt, ast.For)}
        if not loops:
            return None
        made = bound([*before, last]) - bound([node])
        first = next(stmt for stmt in before if isinstance(stmt, ast.For))
        return cls(before, last, made, loops, made_arrays(last, made), _sequences(first.iter))

    def is_worth_it(self, namespace: dict[str, Any]) -> bool:
        """Whether there are many items, or Python has taken long."""
        if self.python_ms < WORTH_MS and self.sequences is not None:
            try:
                if min((len(eval(code, namespace)) for code in self.sequences), default=0) < LEAST_ITEMS:
                    return False
            except Exception:  # what is wrong shows when the statement runs
                return True
        self.python_ms = WORTH_MS
        return True

    def arrays(self, namespace: Mapping[str, Any]) -> frozenset[str]:
        return frozenset(name for name, module in self.made_arrays.items() if namespace.get(module) is np)

    def run(self, around: PartedRun, *, is_shown: bool) -> list[CellResult] | None:
        """Run the statement in the namespace of `around`; None if Python must run it as it stands, in which case
        nothing has happened. is_shown: whether the value of an expression is what the cell shows."""
        namespace = around.namespace
        if self.refused or not self.is_worth_it(namespace):
            return None
        results: list[CellResult] = []
        try:
            for k, stmt in enumerate(self.before):
                loop = self.loops.get(k)
                if loop is not None:
                    result = loop.run(around, read(*self.before[k + 1 :], self.last), self.arrays(namespace))
                    if result is not None:
                        results.append(result)
                        continue
                    if not results:
                        self.refused = loop.refused
                        return None
                with running_in_numpy():
                    exec(self._code(k, stmt, around), namespace)
            with running_in_numpy():
                if is_shown and isinstance(self.last, ast.Expr):
                    around.last_value = eval(self._code(-1, ast.Expression(self.last.value), around, "eval"), namespace)
                else:
                    exec(self._code(-1, self.last, around), namespace)
        finally:
            for name in self.made:
                namespace.pop(name, None)
        return results

    def _code(self, key: int, node: Any, around: PartedRun, mode: str = "exec") -> CodeType:
        code = self.codes.get(key)
        if code is None:
            tree = ast.copy_location(node, self.last) if mode == "eval" else ast.Module([node], [])
            code = self.codes[key] = around.code(ast.fix_missing_locations(tree), mode)
        return code


def made_arrays(last: ast.AST, made: frozenset[str]) -> dict[str, str]:
    """The lists that code only hands to functions of NumPy's, and by which name NumPy is called there."""
    found: dict[str, str] = {}
    consumed: set[int] = set()
    for node in walk(last):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=module), attr=attr), args=[ast.Name(id=name) as arg, *_]
            ):
                if attr in _OF_ARRAYS and name in made:
                    found[name] = module
                    consumed.add(id(arg))
    for node in walk(last):
        if isinstance(node, ast.Name) and id(node) not in consumed:
            found.pop(node.id, None)
    return found


def _sequences(iterable: ast.expr) -> list[CodeType] | None:
    """Expressions of which the shortest tells how often a loop runs; None where only the loop can tell."""
    for node in walk(iterable):
        calls_other = isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _LENGTHS)
        if calls_other or not isinstance(node, _KNOWN):
            return None
    match iterable:
        case ast.Call(func=ast.Name(id="enumerate"), args=[over, *_]):
            return _sequences(over)
        case ast.Call(func=ast.Name(id="zip"), args=args):
            found = [_sequences(arg) for arg in args]
            return None if None in found else [code for codes in found for code in codes or ()]
    return [compile(ast.Expression(iterable), "<length>", "eval")]
