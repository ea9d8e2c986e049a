"""Compound statements that cannot be compiled: Python runs them, and statements of their bodies run in parts where that
is faster.

Statements that may leave a loop (`break`, `continue`), or that hold others which may, stay as they are. Each run of
statements between them is a piece. Iterations run in NumPy until a piece has taken a while; then it is compiled as far
as it can be (`statements`), and stays so if that turns out to be faster. What is in no loop, or is one, is compiled at
once.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import CodeType, TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import SideEffectError, TracingError
from ...frontend.overlay import DOT
from ...frontend.positions import kept_frames
from ...frontend.scopes import running_in_numpy
from ...frontend.syntax import walk
from ..cells import CellResult
from .syntax import TESTED, Splitter, has_loop

if TYPE_CHECKING:
    from .statements import Known, Part, PartedRun, Statement

WORTH_S = 1.5e-4  # a piece that NumPy ends sooner is not worth the work around kernels
BRIEF_RUNS = 64  # so many that took less than `BRIEF_S` tell enough: watching takes as long
BRIEF_S = WORTH_S / 8
WAIT_S = 0.02  # what is over sooner, all iterations together, is not worth compiling
WARM_UP_RUNS = 2  # the first one compiles, the second one faults pages in
TRIED_RUNS = 3
CLEARLY = 2.5  # times faster than NumPy's first runs: it gets no other turn
MOST_S = 0.3  # nor where waiting for it would be felt
MOST_CHANGES = 1  # what is traced anew more often depends on something that iterations change: NumPy is faster then
RUNS_A_CHANGE = 50  # but once in so many runs is nothing
IDLE_S = 4 * WAIT_S  # so long loops in a piece may wait until theirs are worth compiling
COUNTS_BELOW = 1 << 20  # Python's integers are exact: counters are traced, whose cubes still fit 64 bits


@dataclass(frozen=True, slots=True)
class Repeated:
    """Compiled statements that Python runs in a loop or function. result: of one run; total_ms: of all of them."""

    result: CellResult
    runs: int
    total_ms: float


@dataclass(eq=False, slots=True)
class Piece:
    """Statements that follow one another and may be compiled.

    known: what earlier runs have shown; numbers: the names whose integers a loop around them changes; at_once: compile
    them before NumPy's times are known, and give NumPy its turn later. in_numpy: they stay there.
    """

    statements: list[Statement]
    known: Known
    numbers: frozenset[str] = frozenset()
    at_once: bool = False
    placed: bool = False  # on a device that the code names, whether or not NumPy would be faster
    in_numpy: bool = False
    numpy_runs: int = 0
    numpy_total_s: float = 0.0
    parts_s: list[float] = field(default_factory=list)
    _compilations: list[Any] = field(default_factory=list)
    _n_runs: int = 0
    _n_changes: int = 0
    _idle_s: float = 0.0
    _turn_s: float | None = None
    _has_begun: bool = False

    @property
    def _has_loops(self) -> bool:
        return any(has_loop(statement.nodes) for statement in self.statements)

    @property
    def numpy_s(self) -> float:
        """What a run in NumPy took."""
        mean = self.numpy_total_s / max(self.numpy_runs, 1)
        return mean if self._turn_s is None else min(mean, self._turn_s)

    @property
    def warm_s(self) -> float | None:
        """What a warm run in parts took; None while too few did."""
        warm = self.parts_s[WARM_UP_RUNS:]
        return float(np.median(warm)) if len(warm) >= TRIED_RUNS else None

    @property
    def waits(self) -> bool:
        """Whether the next run is NumPy's."""
        if self.placed:
            return False
        if self.in_numpy:
            return True
        if self.warm_s is not None:  # NumPy's first runs were colder than those in parts
            doubt = not self.numpy_runs or self.warm_s > self.numpy_s / CLEARLY
            return self._turn_s is None and doubt and self.warm_s < MOST_S
        if self.numpy_runs:
            return self.numpy_total_s < WAIT_S and not self.parts_s
        return not self.at_once

    def record_numpy(self, elapsed_s: float) -> None:
        """Take note of a run in NumPy."""
        if self.in_numpy:
            return
        if self.warm_s is not None:
            self._turn_s = elapsed_s
            self.in_numpy = self.warm_s >= (self.numpy_s if self.numpy_runs else elapsed_s)
            return
        self.numpy_total_s += elapsed_s
        self.numpy_runs += 1
        if self.parts_s:
            return
        if self.numpy_total_s >= WAIT_S:
            self.in_numpy = self.numpy_s < WORTH_S
        elif self.numpy_runs >= BRIEF_RUNS:
            self.in_numpy = self.numpy_s < BRIEF_S

    def can_begin(self, namespace: dict[str, Any]) -> bool:
        """Whether what it reads in `namespace` may be traced."""
        values = (namespace.get(name) for name in self.numbers)
        if not all(type(value) is not int or -COUNTS_BELOW < value < COUNTS_BELOW for value in values):
            return False
        if not self._has_begun:
            self._has_begun = True
            if not self.at_once:
                self.known.refused.update(_on_pythons_numbers(self.statements, namespace))
        return True

    def settle(self, elapsed_s: float, parts: Sequence[Part]) -> None:
        """Take note of a run in parts, and leave the piece to NumPy where that is faster."""
        if self.placed:
            return
        results = [part.result if isinstance(part, Repeated) else part for part in parts]
        compilations = [each.compilation for each in results if isinstance(each, CellResult)]
        before, now = {id(c) for c in self._compilations}, {id(c) for c in compilations}
        if before - now and now - before:
            self._n_changes += 1
        self._n_runs += 1
        if self._n_changes > MOST_CHANGES + self._n_runs // RUNS_A_CHANGE:
            self.in_numpy = True
        if not compilations:  # not yet, where loops inside wait to be worth it
            self._idle_s += elapsed_s
            self.in_numpy = self.in_numpy or not self._has_loops or self._idle_s > IDLE_S
            return
        self._compilations = compilations
        if len(self.parts_s) < WARM_UP_RUNS + TRIED_RUNS:
            self.parts_s.append(elapsed_s)
            if self.warm_s is not None and self.numpy_runs and self.warm_s >= self.numpy_s:
                self.in_numpy = True


@dataclass(eq=False, slots=True)
class DrivenStatement:
    """code: of the statement, in which calls of the function `name` stand for the pieces; codes: of these; plain: of
    the statement as it was written; left: what stays Python's."""

    code: CodeType
    plain: CodeType
    name: str
    pieces: tuple[Piece, ...]
    codes: tuple[CodeType, ...]
    left: tuple[Statement, ...]

    @classmethod
    def of(cls, node: ast.stmt, around: PartedRun) -> DrivenStatement:
        """around: the run that found that the statement cannot be compiled."""
        from .statements import Known, statements_of

        name = f"__workbench_loop_{node.lineno}_{node.col_offset}__"

        def call(number: int, nodes: list[ast.stmt]) -> list[ast.stmt]:
            called = ast.Call(ast.Name(name, ast.Load()), [ast.Constant(number)], [])
            return [ast.fix_missing_locations(ast.copy_location(ast.Expr(called), nodes[0]))]

        splitter = Splitter(call)
        tree = ast.Module([splitter.held(node)], [])
        pieces = []
        for nodes, loop, placed in zip(splitter.pieces, splitter.loops, splitter.placed, strict=True):
            at_once = loop is None and around.at_once and (around.named is None or has_loop(nodes))
            statements = statements_of(nodes)
            known = Known(refused=attribute_stores(statements) if around.is_method else {})
            pieces.append(Piece(statements, known, numbers_of(loop) | around.numbers, at_once, placed))
        codes = tuple(around.code(ast.Module(nodes, [])) for nodes in splitter.pieces)
        plain = around.code(ast.Module([node], []))
        return cls(around.code(tree), plain, name, tuple(pieces), codes, tuple(statements_of(splitter.left)))

    def run(self, around: PartedRun) -> list[Repeated]:
        """Run the statement in the namespace of `around`. Returns what ran compiled.

        Raises what its statements raise.
        """
        namespace = around.namespace
        if all(piece.in_numpy for piece in self.pieces):
            with running_in_numpy():
                exec(self.plain, namespace)
            return []
        ran: dict[int, Tally] = {}

        def run_piece(number: int) -> None:
            piece = self.pieces[number]
            begin = time.perf_counter()
            if piece.waits or not piece.can_begin(namespace):
                exec(self.codes[number], namespace)
                piece.record_numpy(time.perf_counter() - begin)
                return
            tally = ran.setdefault(number, Tally())
            parts = around.inside(piece, f"{self.name} {number}", timed=tally.runs <= WARM_UP_RUNS)
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
            namespace.pop(TESTED, None)
        return [each for tally in ran.values() for each in tally.repeated()]

    def _at_the_statement(self, traceback: TracebackType | None) -> TracebackType | None:
        """Without the loop's own frame where one of a statement in it follows: both are of one place to the user."""

        def is_own(entry: TracebackType) -> bool:
            return entry.tb_frame.f_code is self.code

        def is_statement(entry: TracebackType) -> bool:
            code = entry.tb_frame.f_code
            return not is_own(entry) and (code.co_filename, code.co_name) == (self.code.co_filename, self.code.co_name)

        follows = kept_frames(traceback, is_statement) is not None
        return kept_frames(traceback, lambda entry: not is_own(entry)) if follows else traceback


def attribute_stores(statements: Sequence[Statement]) -> dict[int, Exception]:
    """Statements of a method that set attributes of `self`, which every run has to do."""
    return {
        index: SideEffectError(f"WB160  Line {statement.first} sets attributes of `self`; each run must", code="WB160")
        for index, statement in enumerate(statements)
        for top in statement.nodes
        for n in walk(top)
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
        and isinstance(n.value, ast.Name) and n.value.id == "self"
    }  # fmt: skip


def numbers_of(loop: ast.stmt | None) -> frozenset[str]:
    """The names whose integers a loop may change."""
    if loop is None:
        return frozenset()
    stored = [n for n in walk(loop) if isinstance(getattr(n, "ctx", None), ast.Store)]
    names = {n.id for n in stored if isinstance(n, ast.Name)}
    attributes = (n for n in stored if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name))
    return frozenset(names | {f"{n.value.id}{DOT}{n.attr}" for n in attributes})  # type: ignore[attr-defined]


@dataclass(slots=True)
class Tally:
    """The runs of one piece in one run of what holds it. parts: of the latest run."""

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


def _on_pythons_numbers(statements: Sequence[Statement], namespace: dict[str, Any]) -> dict[int, Exception]:
    """Assignments that only count, or compute with Python's own numbers: Python does them exactly, and soon enough."""
    plain = (bool, int, float, complex, str, type(None))
    found: dict[int, Exception] = {}
    for index, statement in enumerate(statements):
        nodes = [n for top in statement.nodes for n in walk(top)]
        if not all(isinstance(top, ast.Assign | ast.AugAssign) for top in statement.nodes):
            continue
        if any(isinstance(n, ast.Call | ast.Attribute | ast.Subscript | ast.Starred) for n in nodes):
            continue
        if all(type(namespace.get(n.id)) in plain for n in nodes if isinstance(n, ast.Name)):
            found[index] = TracingError("Python counts for itself", code="WB182")
    return found
