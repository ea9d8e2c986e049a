"""Loops that cannot be compiled: Python runs them, and statements of their bodies run in parts where that is faster.

Statements that may leave the loop (`break`, `continue`), or that hold others which may, stay as they are. Each run of
statements between them is a piece. Iterations run in NumPy until a piece has taken a while; then it is compiled as far
as it can be (`parts`), and stays so if that turns out to be faster.
"""

from __future__ import annotations

import ast
import copy
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType, TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import TracingError
from ..frontend.positions import kept_frames
from ..frontend.scopes import running_in_numpy
from .cells import CellResult

if TYPE_CHECKING:
    from .parts import Known, Part, PartedRun, Statement

WORTH_S = 1.5e-4  # a piece that NumPy ends sooner is not worth the work around kernels
WAIT_S = 0.02  # what is over sooner, all iterations together, is not worth compiling
WARM_UP_RUNS = 2  # the first one compiles, the second one faults pages in
TRIED_RUNS = 3
MOST_CHANGES = 1  # what is traced anew more often depends on something that iterations change: NumPy is faster then
RUNS_A_CHANGE = 50  # but once in so many runs is nothing
COUNTS_BELOW = 1 << 20  # Python's integers are exact: counters are traced, whose cubes still fit 64 bits

_BLOCKS = ("body", "orelse", "finalbody")
_HOLDERS = (ast.If, ast.With, ast.Try, ast.For, ast.While)
_STAYS = (
    ast.Break, ast.Continue, ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Return,
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.AsyncFor, ast.AsyncWith, ast.With, ast.Try, ast.Match,
)  # fmt: skip
_LEAVES = (ast.Yield, ast.YieldFrom, ast.Await)


@dataclass(frozen=True, slots=True)
class Repeated:
    """Compiled statements of a loop that Python runs. result: of one run; total_ms: of all of them."""

    result: CellResult
    runs: int
    total_ms: float


@dataclass(eq=False, slots=True)
class Piece:
    """Statements that follow one another in a loop's body. known: what earlier iterations have shown."""

    statements: list[Statement]
    code: CodeType
    known: Known
    in_numpy: bool = False
    numpy_runs: int = 0
    numpy_total_s: float = 0.0
    parts_s: list[float] = field(default_factory=list)
    _compilations: list[Any] = field(default_factory=list)
    _n_runs: int = 0
    _n_changes: int = 0

    @property
    def numpy_s(self) -> float:
        """What a run in NumPy took."""
        return self.numpy_total_s / max(self.numpy_runs, 1)

    def run_in_numpy(self, namespace: dict[str, Any]) -> None:
        if self.in_numpy:
            exec(self.code, namespace)
            return
        begin = time.perf_counter()
        exec(self.code, namespace)
        self.numpy_total_s += time.perf_counter() - begin
        self.numpy_runs += 1
        if self.numpy_total_s >= WAIT_S and not self.parts_s:
            self.in_numpy = self.numpy_s < WORTH_S
            self.known.refused.update(_on_pythons_numbers(self.statements, namespace))

    def settle(self, elapsed_s: float, parts: Sequence[Part]) -> None:
        """Take note of a run in parts, and leave the piece to NumPy where that is faster."""
        results = [part.result if isinstance(part, Repeated) else part for part in parts]
        compilations = [each.compilation for each in results if isinstance(each, CellResult)]
        if self._compilations and [id(c) for c in compilations] != [id(c) for c in self._compilations]:
            self._n_changes += 1
        self._compilations = compilations
        self._n_runs += 1
        if not compilations or self._n_changes > MOST_CHANGES + self._n_runs // RUNS_A_CHANGE:
            self.in_numpy = True
        if len(self.parts_s) < WARM_UP_RUNS + TRIED_RUNS:
            self.parts_s.append(elapsed_s)
            warm = self.parts_s[WARM_UP_RUNS:]
            if len(warm) == TRIED_RUNS and float(np.median(warm)) >= self.numpy_s:
                self.in_numpy = True


@dataclass(eq=False, slots=True)
class DrivenLoop:
    """code: of the loop, in which calls of the function `name` stand for the pieces; left: what stays Python's."""

    code: CodeType
    name: str
    pieces: tuple[Piece, ...]
    left: tuple[Statement, ...]
    numbers: frozenset[str]

    @classmethod
    def of(cls, loop: ast.For | ast.While, compiled: Callable[[ast.Module], CodeType]) -> DrivenLoop:
        """compiled: makes code of the syntax, in the file that the loop is in."""
        from .parts import Known, statements_of

        name = f"__workbench_loop_{loop.lineno}_{loop.col_offset}__"
        splitter = _Splitter(name)
        tree = ast.Module([splitter.held(loop)], [])
        pieces = tuple(
            Piece(statements_of(nodes), compiled(ast.Module(nodes, [])), Known()) for nodes in splitter.pieces
        )
        bound = (n for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        return cls(
            compiled(tree), name, pieces, tuple(statements_of(splitter.left)), frozenset(n.id for n in bound)
        )  # fmt: skip

    def run(self, around: PartedRun) -> list[Repeated]:
        """Run the loop in the namespace of `around`. Returns what ran compiled.

        Raises what its statements raise.
        """
        namespace = around.namespace
        ran: dict[int, _Tally] = {}

        def run_piece(number: int) -> None:
            piece = self.pieces[number]
            waits = piece.numpy_total_s < WAIT_S or not piece.numpy_runs
            if piece.in_numpy or waits or not self._counts_are_small(namespace):
                piece.run_in_numpy(namespace)
                return
            tally = ran.setdefault(number, _Tally())
            begin = time.perf_counter()
            parts = around.inside(piece, f"{self.name} {number}", self.numbers, timed=tally.runs <= WARM_UP_RUNS)
            elapsed_s = time.perf_counter() - begin
            tally.add(parts, elapsed_s)
            piece.settle(elapsed_s, parts)

        namespace[self.name] = run_piece
        try:
            with running_in_numpy():
                exec(self.code, namespace)
        except BaseException as error:
            error.__traceback__ = self._at_the_statement(error.__traceback__)
            raise
        finally:
            namespace.pop(self.name, None)
        return [each for tally in ran.values() for each in tally.repeated()]

    def _counts_are_small(self, namespace: dict[str, Any]) -> bool:
        values = (namespace.get(name) for name in self.numbers)
        return all(type(value) is not int or -COUNTS_BELOW < value < COUNTS_BELOW for value in values)

    def _at_the_statement(self, traceback: TracebackType | None) -> TracebackType | None:
        """Without the loop's own frame where one of a statement in it follows: both are of one place to the user."""

        def is_own(entry: TracebackType) -> bool:
            return entry.tb_frame.f_code is self.code

        def is_statement(entry: TracebackType) -> bool:
            code = entry.tb_frame.f_code
            return not is_own(entry) and (code.co_filename, code.co_name) == (self.code.co_filename, "<module>")

        follows = kept_frames(traceback, is_statement) is not None
        return kept_frames(traceback, lambda entry: not is_own(entry)) if follows else traceback


@dataclass(slots=True)
class _Tally:
    """The runs of one piece in one run of its loop. parts: of the latest run."""

    runs: int = 0
    total_s: float = 0.0
    parts: Sequence[Part] = ()

    def add(self, parts: Sequence[Part], elapsed_s: float) -> None:
        self.runs += 1
        self.total_s += elapsed_s
        self.parts = parts

    def repeated(self) -> list[Repeated]:
        """What of the piece ran compiled, at most in the time that the piece took: what is left is Python's."""
        found: list[Repeated] = []
        for part in self.parts:
            if isinstance(part, Repeated):  # of a loop in this one
                found.append(Repeated(part.result, part.runs * self.runs, part.total_ms * self.runs))
            elif isinstance(part, CellResult) and part.compilation.runs_ms:
                once_ms = float(np.median(part.compilation.runs_ms))  # of the runs that were timed
                found.append(Repeated(part, self.runs, once_ms * self.runs))
        scale = min(1.0, self.total_s * 1e3 / max(sum(each.total_ms for each in found), 1e-9))
        return [Repeated(each.result, each.runs, each.total_ms * scale) for each in found]


class _Splitter:
    """Puts calls in place of the pieces. pieces: their statements; left: the statements that stay."""

    def __init__(self, name: str):
        self.name = name
        self.pieces: list[list[ast.stmt]] = []
        self.left: list[ast.stmt] = []

    def held(self, node: ast.stmt) -> ast.stmt:
        """A copy of a compound statement that stays, with the pieces of its blocks replaced."""
        heading = copy.copy(node)
        heading.end_lineno = node.lineno
        self.left.append(heading)
        node = copy.copy(node)
        for block in _BLOCKS:
            if getattr(node, block, None):
                setattr(node, block, self._block(getattr(node, block)))
        if isinstance(node, ast.Try):
            handlers = [copy.copy(handler) for handler in node.handlers]
            for handler in handlers:
                handler.body = self._block(handler.body)
            node.handlers = handlers
        return node

    def _block(self, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for stays, group in itertools.groupby(nodes, key=_must_stay):
            if not stays:
                result.append(self._call(list(group)))
                continue
            for node in group:
                if isinstance(node, _HOLDERS):
                    result.append(self.held(node))
                else:
                    self.left.append(node)
                    result.append(node)
        return result

    def _call(self, nodes: list[ast.stmt]) -> ast.stmt:
        call = ast.Call(ast.Name(self.name, ast.Load()), [ast.Constant(len(self.pieces))], [])
        self.pieces.append(nodes)
        statement = ast.copy_location(ast.Expr(call), nodes[0])
        return ast.fix_missing_locations(statement)


def _must_stay(node: ast.stmt) -> bool:
    """Whether a statement of a loop's body may leave the body, or means something else in a place of its own."""
    return isinstance(node, _STAYS) or _leaves(node) or any(isinstance(n, _LEAVES) for n in ast.walk(node))


def _leaves(node: ast.AST) -> bool:
    if isinstance(node, ast.Break | ast.Continue):
        return True
    if isinstance(node, ast.For | ast.While):  # its `break` is its own, but not one in its `else`
        return any(map(_leaves, node.orelse))
    return any(
        _leaves(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt | ast.excepthandler)
    )


def _on_pythons_numbers(statements: Sequence[Statement], namespace: dict[str, Any]) -> dict[int, Exception]:
    """Assignments that only count, or compute with Python's own numbers: Python does them exactly, and soon enough."""
    plain = (bool, int, float, complex, str, type(None))
    found: dict[int, Exception] = {}
    for index, statement in enumerate(statements):
        nodes = [n for top in statement.nodes for n in ast.walk(top)]
        if not all(isinstance(top, ast.Assign | ast.AugAssign) for top in statement.nodes):
            continue
        if any(isinstance(n, ast.Call | ast.Attribute | ast.Subscript | ast.Starred) for n in nodes):
            continue
        if all(type(namespace.get(n.id)) in plain for n in nodes if isinstance(n, ast.Name)):
            found[index] = TracingError("Python counts for itself", code="WB182")
    return found
