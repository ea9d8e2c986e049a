"""Undoing: a cell that fails leaves names, and what the arrays under them held, as they were before it.

Nobody who corrects a cell and runs it again wants the first half of it twice. Names are put back whatever a cell did.
Arrays are copied before a cell that may write into them, as far as its text tells, if all that it names take no more
than a limit: the copies are made at every run.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

# A copy of so much takes some ten milliseconds.
MOST_BYTES = 64 << 20

# NumPy's functions that write into an argument, and the methods that write into their array; others do by `out` only.
_FUNCTIONS = frozenset(
    ("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "nan_to_num", "shuffle", "at")
)
_METHODS = frozenset(("fill", "put", "sort", "partition", "resize", "setfield", "byteswap", "setflags"))
_CALLERS = frozenset(("exec", "eval", "setattr", "delattr", "next", "map", "filter"))


class Undo:
    """What to put back if a cell fails."""

    def __init__(self, tree: ast.Module, namespace: dict[str, Any]):
        self.namespace = namespace
        self.before = dict(namespace)
        self.saved: list[tuple[np.ndarray, np.ndarray]] = []
        if may_write(tree, namespace):
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            values = {id(v): v for name in names if isinstance(v := namespace.get(name), np.ndarray)}.values()
            arrays = [array for array in values if array.flags.writeable]
            if sum(array.nbytes for array in arrays) <= MOST_BYTES:
                self.saved = [(array, array.copy(order="K")) for array in arrays]

    def __call__(self) -> None:
        for name in self.namespace.keys() - self.before.keys():
            del self.namespace[name]
        self.namespace.update(self.before)
        for array, saved in self.saved:
            if array.flags.writeable and array.shape == saved.shape and array.dtype == saved.dtype:
                np.copyto(array, saved)


def may_write(tree: ast.AST, namespace: Mapping[str, Any]) -> bool:
    """Whether code writes into an array that it finds in `namespace`, as far as its text tells: assignments to parts,
    `+=`, and calls of what is not known to leave its arguments alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign):
            return True
        if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.Call) and _may_write(node, namespace):
            return True
    return False


def _may_write(call: ast.Call, namespace: Mapping[str, Any]) -> bool:
    if any(keyword.arg == "out" for keyword in call.keywords):
        return True
    function = call.func
    if isinstance(function, ast.Name):
        name = function.id
        value = namespace.get(name, getattr(builtins, name, None))
        is_known = getattr(value, "__module__", None) in ("builtins", "numpy", "math")
        return not is_known or name in _CALLERS or name in _FUNCTIONS
    if not isinstance(function, ast.Attribute):
        return True
    root: ast.expr = function.value
    while isinstance(root, ast.Attribute):
        root = root.value
    value = namespace.get(root.id) if isinstance(root, ast.Name) else None
    if isinstance(value, ModuleType):
        return function.attr in _FUNCTIONS or value.__name__.partition(".")[0] not in ("numpy", "math")
    if function.attr in _METHODS:
        return True
    if not isinstance(root, ast.Name):
        return False  # a method of what an expression gives
    return root.id in namespace and not isinstance(value, np.ndarray | np.generic | str | int | float)
