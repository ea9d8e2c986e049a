"""Elementary functions in loops that LLVM cannot vectorise: there the C library's are faster than those that vectorise.

The functions of `scalar_math` have neither branches nor tables, so that a loop may take four or eight elements at once.
For one number at a time this is the long way round: pow takes three times what the C library's takes, and its latency,
which counts where each turn waits for the one before, is fourteen times as long (tests/benchmarks/NOTES.md). glibc's
are at most 1 ULP off, log10, asinh and acosh 2 (its manual, "Known Maximum Errors in Math Functions").
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..scalar_math import by_name, names_in
from .linked import linked, linked_in


@linked(error_model="numpy", forceinline=True)
def libm_exp(x):
    return math.exp(x)


@linked(error_model="numpy", forceinline=True)
def libm_exp2(x):
    return math.exp2(x)


@linked(error_model="numpy", forceinline=True)
def libm_log(x):
    return math.log(x)


@linked(error_model="numpy", forceinline=True)
def libm_log2(x):
    return math.log2(x)


@linked(error_model="numpy", forceinline=True)
def libm_log10(x):
    return math.log10(x)


@linked(error_model="numpy", forceinline=True)
def libm_asin(x):
    return math.asin(x)


@linked(error_model="numpy", forceinline=True)
def libm_acos(x):
    return math.acos(x)


@linked(error_model="numpy", forceinline=True)
def libm_asinh(x):
    return math.asinh(x)


@linked(error_model="numpy", forceinline=True)
def libm_acosh(x):
    return math.acosh(x)


@linked(error_model="numpy", forceinline=True)
def libm_pow(x, y):
    return math.pow(x, y)


FUNCTIONS: dict[str, Any] = linked_in(globals())
_OF_LIBM = {f"{name.removeprefix('libm_')}_f64": name for name in FUNCTIONS}
_ELEMENT = re.compile(r"(at|put)_\d+")
_NUMBERS = frozenset({"range", "float", "complex", "bool", "larger", "smaller", "chosen", "times", "times_itself"})


def with_libm(source: str) -> str:
    """The text of a loop, in which what is computed for one number at a time is by the C library."""
    if not any(name in _OF_LIBM for name in names_in(source)):
        return source
    tree = ast.parse(source)
    for call in _calls_one_by_one(tree.body):
        assert isinstance(call.func, ast.Name)
        call.func.id = _OF_LIBM[call.func.id]
    return ast.unparse(tree) + "\n"


def _calls_one_by_one(statements: Iterable[ast.AST]) -> Iterator[ast.Call]:
    for node in statements:
        if isinstance(node, ast.For) and _vectorises(node):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OF_LIBM:
            yield node
        yield from _calls_one_by_one(ast.iter_child_nodes(node))


def _vectorises(loop: ast.For) -> bool:
    """Whether LLVM may take several turns at once: none of them waits for another, or may be the last."""
    if not (isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name) and loop.iter.func.id == "range"):
        return False
    changed, read, written = set[str](), dict[str, set[str]](), set[str]()
    for statement in loop.body:
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=name, ctx=ast.Store()):
                    changed.add(name)
                case ast.Call(func=ast.Name(id=name), args=args) if element := _ELEMENT.fullmatch(name):
                    place = ast.unparse(ast.Tuple(args[1 : int(name.rpartition("_")[2]) + 1], ast.Load()))
                    array = ast.unparse(args[0])
                    read.setdefault(array, set()).add(place)
                    if element[1] == "put":
                        written.add(array)
                case ast.Call(func=ast.Name(id=name)) if name not in _NUMBERS and not _is_plain(name):
                    return False
                case (
                    ast.For() | ast.While() | ast.Break() | ast.Continue() | ast.Return() | ast.Raise() | ast.Try()
                    | ast.Subscript()
                ):  # fmt: skip
                    return False
    if any(len(read[array]) > 1 for array in written):
        return False
    targets = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    return not _carries(loop.body, targets, changed)


def _is_plain(name: str) -> bool:
    return bool(names_in(f"{name}(")) and by_name(name).vectorises


def _carries(statements: list[ast.stmt], known: set[str], changed: set[str]) -> bool:
    """Whether a variable among `changed` may be read before it is set. known: what is set, to which this adds."""
    for statement in statements:
        if isinstance(statement, ast.If):
            if _reads(statement.test, changed - known):
                return True
            branches = [set(known), set(known)]
            if _carries(statement.body, branches[0], changed) or _carries(statement.orelse, branches[1], changed):
                return True
            known |= branches[0] & branches[1]
            continue
        if isinstance(statement, ast.AugAssign) or _reads(statement, changed - known):
            return True
        known |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return False


def _reads(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in names for n in ast.walk(node))
