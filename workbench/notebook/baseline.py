"""The baseline: the user's own cell in NumPy, on the same inputs, in the same process.

A cell that compiled has no effects besides its results (tracing refuses others), so it may run again. It does so where
NumPy is estimated to need less than `LIMIT_S`: the estimate counts the bytes that NumPy writes and reads, one array a
step. Arrays that the cell writes into are copied before it runs, and NumPy gets a scratch namespace, so that nothing of
the user's changes.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..frontend.scopes import running_in_numpy
from ..ir import Jaxpr

LIMIT_S = 2.0  # a longer NumPy run is not worth the wait
BUDGET_S = 0.25  # repeat a short one until here
MAX_RUNS = 15
BYTES_PER_S = 0.7e9  # of a NumPy chain whose temporaries are fresh pages, on a slow machine
CALL_S = 3e-6
MAX_COPY_BYTES = 512 << 20


@dataclass(frozen=True, slots=True)
class Baseline:
    """times_ms: one a run; values: what the names held after the last run."""

    times_ms: tuple[float, ...]
    values: Mapping[str, Any]
    last_value: Any = None


def estimate_s(jaxpr: Jaxpr) -> float:
    """Seconds that NumPy may need for the array operations of a program, library routines left out."""
    total = 0.0
    for eqn in jaxpr.eqns:
        arrays = (*eqn.invars, *eqn.outvars)
        total += CALL_S + sum(a.aval.nbytes for a in arrays) / BYTES_PER_S
    return total


# Methods and functions that write into an array they are given, besides assignments and `out=`.
WRITERS = frozenset(
    "fill itemset partition put resize setfield setflags sort byteswap at copyto place putmask fill_diagonal "
    "put_along_axis".split()
)


def names_read(tree: ast.Module) -> frozenset[str]:
    """The names that a cell may take from its namespace."""
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def may_write(tree: ast.Module, namespace: Mapping[str, Any]) -> bool:
    """Whether a cell may write into an array that it was given: read from its syntax, in doubt yes."""
    for node in ast.walk(tree):
        match node:
            case ast.AugAssign() | ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                return True
            case ast.Call(func=func, keywords=keywords):
                if any(keyword.arg == "out" for keyword in keywords) or _may_be_writer(func, namespace):
                    return True
    return False


def names_read_by_functions(namespace: Mapping[str, Any]) -> frozenset[str]:
    """The globals that the user's functions among a namespace's values read, and the functions that these call."""
    names: set[str] = set()
    waiting = list(namespace.values())
    seen: set[CodeType] = set()
    while waiting:
        value = waiting.pop()
        function = inspect.unwrap(value) if callable(value) else value
        if isinstance(function, FunctionType) and function.__code__ not in seen:
            seen.add(function.__code__)
            names.update(function.__code__.co_names)
            waiting.extend(function.__globals__[n] for n in function.__code__.co_names if n in function.__globals__)
    return frozenset(names)


def _may_be_writer(func: ast.expr, namespace: Mapping[str, Any]) -> bool:
    match func:
        case ast.Name(id=name):
            # Functions that the cell defines are part of its syntax; others may do anything to their arguments.
            return name in namespace and not isinstance(namespace[name], np.ufunc | type | BuiltinFunctionType)
        case ast.Attribute(attr=name) if name in WRITERS:
            return True
        case ast.Attribute(value=ast.Name(id=owner)):
            value = namespace.get(owner)
            if isinstance(value, ModuleType):
                return value.__name__.partition(".")[0] not in ("numpy", "math", "cmath", "operator")
            return value is not None and not isinstance(value, np.ndarray | np.generic | int | float | complex | str)
        case _:
            return False


def snapshot(namespace: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any] | None:
    """Copies of the arrays that `names` hold, directly or in lists and dicts. None where they are too large, or share
    memory: a write through one would be seen through the other, which copies cannot repeat."""
    held = {name: value for name in names if isinstance(value := namespace.get(name), np.ndarray | list | dict | tuple)}
    arrays = [array for value in held.values() for array in _arrays(value)]
    if sum(array.nbytes for array in arrays) > MAX_COPY_BYTES:
        return None
    if any(np.may_share_memory(a, b) for a, b in itertools.combinations(arrays, 2)):
        return None
    return {name: _copied(value) for name, value in held.items()}


def compile_cell(tree: ast.Module, filename: str, flags: int = 0) -> tuple[CodeType, CodeType | None]:
    """The statements of a cell, and its last expression if it ends in one."""
    body, last = tree.body, None
    if body and isinstance(body[-1], ast.Expr):
        last = compile(ast.Expression(body[-1].value), filename, "eval", flags, dont_inherit=True)
        body = body[:-1]
    return compile(ast.Module(body, tree.type_ignores), filename, "exec", flags, dont_inherit=True), last


def measure(
    code: tuple[CodeType, CodeType | None],
    namespace: Mapping[str, Any],
    inputs: Mapping[str, Any],
    *,
    budget_s: float = BUDGET_S,
) -> Baseline:
    """Run the cell in NumPy, in copies of `namespace` where `inputs` stand for what the cell may write into."""
    times_ms: list[float] = []
    start = time.perf_counter()
    scratch: dict[str, Any] = {}
    value = None
    with warnings.catch_warnings(), np.errstate(all="ignore"), running_in_numpy():
        warnings.simplefilter("ignore")
        while not times_ms or (len(times_ms) < MAX_RUNS and time.perf_counter() - start < budget_s):
            scratch = {**namespace, **{name: _copied(v) for name, v in inputs.items()}}
            begin = time.perf_counter()
            exec(code[0], scratch)
            value = eval(code[1], scratch) if code[1] is not None else None
            times_ms.append((time.perf_counter() - begin) * 1e3)
    return Baseline(tuple(times_ms), scratch, value)


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_copied(item) for item in value)
    return value


def _arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        return [array for item in value for array in _arrays(item)]
    return []
