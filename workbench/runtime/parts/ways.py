"""Compiled statements of a function in parts that are so brief that Python does them sooner.

To look up what a statement was compiled to, and for which values, takes some tens of microseconds; a statement that
sets a number, or adds two short arrays, takes less in NumPy. Calls find out, and the faster way stays.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from ...frontend.syntax import walk

BRIEF_S = 3e-4  # what takes longer stays compiled
COMPILED_RUNS, NUMPY_RUNS = 4, 2
_NUMBERS = (bool, int, float, complex, np.generic)
_BRIEF_BUILTINS = (abs, bool, complex, divmod, float, int, len, max, min, round)


@dataclass(eq=False, slots=True)
class Ways:
    """How long some statements took, compiled and in NumPy. may_try: whether NumPy cannot take very much longer."""

    may_try: bool = False
    compiled_s: list[float] = field(default_factory=list)
    numpy_s: list[float] = field(default_factory=list)

    @property
    def in_numpy(self) -> bool:
        """Whether the next run is NumPy's: to be timed, or since it is faster."""
        if not self.may_try or len(self.compiled_s) < COMPILED_RUNS:
            return False
        if len(self.numpy_s) < NUMPY_RUNS:
            return min(self.compiled_s) < BRIEF_S
        return min(self.numpy_s) < min(self.compiled_s)

    def record_compiled(self, elapsed_s: float) -> None:
        if len(self.compiled_s) < COMPILED_RUNS:
            self.compiled_s.append(elapsed_s)

    def record_numpy(self, elapsed_s: float) -> None:
        if len(self.numpy_s) < NUMPY_RUNS:
            self.numpy_s.append(elapsed_s)


_LONG = (
    ast.For, ast.While, ast.With, ast.comprehension, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
    ast.Await, ast.Yield, ast.YieldFrom,
)  # fmt: skip


def are_straight(nodes: Sequence[ast.stmt], namespace: Mapping[str, Any]) -> bool:
    """Whether statements compute something and are done: without loops, and calls but of NumPy's and a few of
    Python's."""
    every = [n for top in nodes for n in walk(top)]
    calls = (n.func for n in every if isinstance(n, ast.Call))
    own = {n.id for n in every if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return not any(isinstance(n, _LONG) for n in every) and all(_is_brief(called, namespace, own) for called in calls)


def _is_brief(called: ast.expr, namespace: Mapping[str, Any], own: Collection[str]) -> bool:
    """own: the names that the statements set themselves, to what NumPy gives, as no other calls are in them."""
    if isinstance(called, ast.Name):
        value = namespace.get(called.id, getattr(builtins, called.id, None))
        return any(value is each for each in _BRIEF_BUILTINS)
    while isinstance(called, ast.Attribute):
        called = called.value
    if not isinstance(called, ast.Name):
        return False
    value = namespace.get(called.id)
    if value is None and called.id in own:
        return True
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] in ("numpy", "math")
    return type(value) is np.ndarray or isinstance(value, _NUMBERS)
