"""The baseline: the user's own cell in NumPy, on the same inputs, in the same process.

A cell that compiled has no effects besides its names, the arrays that it writes into and the values that it lets
objects hold (tracing refuses others), so it may run again from where it began. It does so where NumPy is estimated to
need less than `LIMIT_S`: the estimate counts the bytes that NumPy writes and reads, one array a step. The names, the
contents of those arrays and those values are put back to what they were before the cell, and afterwards to what the
cell made of them: copies would not do, since the user's functions and objects hold the names and arrays themselves.
"""

from __future__ import annotations

import ast
import io
import time
import warnings
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from ..frontend.held import HeldValue
from ..frontend.scopes import running_in_numpy
from ..ir import Jaxpr
from ..runtime.cells import Overwritten

LIMIT_S = 2.0  # a longer NumPy run is not worth the wait
BUDGET_S = 0.25  # repeat a short one until here
MAX_RUNS = 15
SHAKEN_RUNS = 3
BYTES_PER_S = 0.7e9  # of a NumPy chain whose temporaries are fresh pages, on a slow machine
CALL_S = 3e-6
MAX_COPY_BYTES = 512 << 20


@dataclass(frozen=True, slots=True)
class Baseline:
    """times_ms: one a run; values: what names held after the last run; written: what the overwritten arrays held;
    held: what objects held."""

    times_ms: tuple[float, ...]
    values: Mapping[str, Any]
    written: tuple[np.ndarray, ...] = ()
    held: tuple[Any, ...] = ()
    last_value: Any = None


def estimate_s(jaxpr: Jaxpr) -> float:
    """Seconds that NumPy may need for the array operations of a program, library routines left out."""
    total = 0.0
    for eqn in jaxpr.eqns:
        arrays = (*eqn.invars, *eqn.outvars)
        total += CALL_S + sum(a.aval.nbytes for a in arrays) / BYTES_PER_S
    return total


def names_read(tree: ast.Module) -> frozenset[str]:
    """The names that a cell may take from its namespace."""
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def snapshot(namespace: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any] | None:
    """Copies of the arrays that `names` hold, directly or in lists and dicts; None where they are too large."""
    held = {name: value for name in names if isinstance(value := namespace.get(name), np.ndarray | list | dict | tuple)}
    arrays = [array for value in held.values() for array in _arrays(value)]
    if sum(array.nbytes for array in arrays) > MAX_COPY_BYTES:
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
    namespace: MutableMapping[str, Any],
    before: Mapping[str, Any],
    overwritten: Sequence[Overwritten],
    places: Sequence[tuple[HeldValue, Any]] = (),
    *,
    budget_s: float = BUDGET_S,
    max_runs: int = MAX_RUNS,
) -> Baseline:
    """Run the cell in NumPy, in `namespace` as it was `before` and with what arrays and objects held then. All are left
    as they are."""
    times_ms: list[float] = []
    start = time.perf_counter()
    values: dict[str, Any] = {}
    written: list[np.ndarray] = []
    held: tuple[Any, ...] = ()
    last_value, held_after = None, [place.get() for place, _ in places]
    names_after, contents_after = dict(namespace), [each.array.copy(order="K") for each in overwritten]
    try:
        # What the cell itself has shown is not shown again.
        silent = redirect_stdout(io.StringIO())
        with warnings.catch_warnings(), np.errstate(all="ignore"), running_in_numpy(), silent:
            warnings.simplefilter("ignore")
            while not times_ms or (len(times_ms) < max_runs and time.perf_counter() - start < budget_s):
                _rebind(namespace, before)
                for place, value in places:
                    place.set(value)
                for each in overwritten:
                    np.copyto(each.array, each.before)
                begin = time.perf_counter()
                exec(code[0], namespace)  # type: ignore[arg-type]  # IPython's is a dict
                last_value = eval(code[1], namespace) if code[1] is not None else None  # type: ignore[arg-type]
                times_ms.append((time.perf_counter() - begin) * 1e3)
            values = dict(namespace)
            held = tuple([place.get() for place, _ in places])
            written = [each.array.copy(order="K") for each in overwritten]
    finally:
        _rebind(namespace, names_after)
        for (place, _), value in zip(places, held_after, strict=True):
            place.set(value)
        for each, contents in zip(overwritten, contents_after, strict=True):
            np.copyto(each.array, contents)
    return Baseline(tuple(times_ms), values, tuple(written), held, last_value)


def shaken(
    code: tuple[CodeType, CodeType | None],
    namespace: MutableMapping[str, Any],
    before: Mapping[str, Any],
    overwritten: Sequence[Overwritten],
    places: Sequence[tuple[HeldValue, Any]],
    inputs: Collection[str],
) -> list[dict[str, Any]]:
    """What names, and `Out`, hold when the cell runs in NumPy on `inputs` whose numbers are moved by one ULP, up or
    down at random. All are left as they are."""
    held_before = {id(each.array): each.before for each in overwritten}
    found = []
    for seed in range(SHAKEN_RUNS):
        rng = np.random.default_rng(seed)
        moved: dict[int, Any] = {}
        for value in (before[name] for name in inputs if name in before):
            if type(value) is np.ndarray and value.dtype.kind in "fc" and id(value) not in moved:
                moved[id(value)] = _moved(held_before.get(id(value), value), rng)
        names = {name: moved.get(id(value), value) for name, value in before.items()}
        run = measure(code, namespace, names, overwritten, places, max_runs=1)
        found.append({**run.values, "Out": run.last_value})
    return found


def _moved(array: Any, rng: np.random.Generator) -> np.ndarray:
    if array.dtype.kind == "c":
        return (_moved(array.real, rng) + 1j * _moved(array.imag, rng)).astype(array.dtype)
    towards = np.where(rng.random(array.shape) < 0.5, -np.inf, np.inf).astype(array.dtype)
    return np.where(np.isfinite(array), np.nextafter(array, towards), array)


def _rebind(namespace: MutableMapping[str, Any], names: Mapping[str, Any]) -> None:
    for name in namespace.keys() - names.keys():
        del namespace[name]
    namespace.update(names)


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
