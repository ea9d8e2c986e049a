"""The user's functions, run by Python around compiled statements of their bodies.

What a statement that runs in NumPy calls, and what is called from there, runs as a copy of the user's function: with
the same globals, closure, defaults and places in the source, but before each piece (`syntax`) it asks whether
that should run compiled. So variables, `return`, `with`, `try` and inner functions are Python's own. A piece that holds
a loop is compiled when it is first reached, others when they have taken a while in NumPy.
"""

from __future__ import annotations

import ast
import operator
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from linecache import getlines
from types import CodeType, FunctionType, MethodType, TracebackType
from typing import Any

from ...frontend.convert import recompiled
from ...frontend.liveness import read
from ...frontend.overlay import DOT
from ...frontend.positions import is_user_code, kept_frames, user_traceback
from ...frontend.syntax import FUTURE_FLAGS, copied, syntax_of
from ..compilation import Source
from .driven_loops import WARM_UP_RUNS, Piece, Repeated, Tally, attribute_stores, numbers_of
from .frames import Frame
from .syntax import (
    COMPUTED,
    RAISED,
    AttributeNames,
    FunctionSyntax,
    Operations,
    has_loop,
    is_method,
    may_run_in_parts,
    names_of,
    with_operations,
)

MAX_FUNCTIONS = 500
SUSPENDS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


@dataclass(frozen=True, slots=True)
class PlainOptions:
    """Of statements of functions: see `runtime.cells.Options`. Functions that Python drives are never `fast`: others
    may call them, too."""

    out: None = None
    strict: bool = False
    fast: bool = False
    device: str | None = None
    has_tiers: bool = False  # NumPy runs the first calls of a function in parts anyway


# ---- what ran ----


@dataclass(eq=False, slots=True)
class Ran:
    """What of functions ran compiled during a statement. timed: whether every step is timed, for a report."""

    timed: bool
    tallies: dict[FunctionPiece, Tally] = field(default_factory=dict)

    def repeated(self) -> list[Repeated]:
        return [each for tally in self.tallies.values() for each in tally.repeated()]


_ran: ContextVar[Ran | None] = ContextVar("workbench_ran", default=None)


@contextmanager
def collecting(*, timed: bool) -> Iterator[Ran]:
    """Collect what functions run compiled in this `with` block; an outer block knows nothing of it."""
    token = _ran.set(ran := Ran(timed))
    try:
        yield ran
    finally:
        _ran.reset(token)


# ---- pieces ----


@dataclass(eq=False, slots=True)
class FunctionPiece:
    """A piece of a function's body. locals_: the function's own names; stores: those that the piece may set."""

    piece: Piece
    place: str
    code: CodeType
    source: Source
    locals_: frozenset[str]
    reads: frozenset[str]
    stores: frozenset[str]
    is_method: bool = False
    in_numpy: bool = False
    _depth: int = 0
    _spare: list[Frame] = field(default_factory=list)
    _warned: dict[Any, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, variables: dict[str, Any], globals_: dict[str, Any]) -> dict[str, Any] | float:
        """Run the piece in parts: what its names hold afterwards. When NumPy shall run it: the present time, for `end`.

        variables: the function's, which are taken out: on Pythons before 3.13 its frame would keep them.
        """
        piece = self.piece
        if piece.waits or self._depth:  # recursion would get deeper than Python's own
            variables.clear()
            return time.perf_counter()
        frame = self._frame(globals_)
        self._depth += 1
        try:
            frame.update((name, variables[name]) for name in self.reads | self.stores if name in variables)
            variables.clear()
            if not piece.can_begin(frame):
                return time.perf_counter()
            error = self._run(frame)
            values = {name: frame[name] for name in self.stores if dict.__contains__(frame, name)}
            if error is not None:
                values[RAISED] = error
            return values
        finally:
            self._depth -= 1
            frame.clear()
            with self._lock:
                self._spare.append(frame)

    def end(self, begun: dict[str, Any] | float) -> None:
        """The piece has run: in parts, or in NumPy since then. Raises what it raised."""
        if not isinstance(begun, dict):
            self.piece.record_numpy(time.perf_counter() - begun)
            self.in_numpy = self.piece.in_numpy
            return
        error = begun.pop(RAISED, None)
        begun.clear()
        if error is not None:
            raise error

    def forget(self) -> None:
        """Take the piece for a new one."""
        piece = self.piece
        from .statements import Known

        known = Known(refused=attribute_stores(piece.statements) if self.is_method else {})
        self.piece = Piece(piece.statements, known, piece.numbers, piece.at_once, piece.placed)
        self.in_numpy = False

    def _frame(self, globals_: dict[str, Any]) -> Frame:
        with self._lock:
            frame = next((each for each in self._spare if each.globals_ is globals_), None)
            if frame is not None:
                self._spare.remove(frame)
        if frame is None:
            frame = Frame(globals_, self.locals_)
        # The interpreter looks past `__missing__` for these: whose warnings they are, and which were shown.
        frame["__name__"] = globals_.get("__name__")
        frame["__warningregistry__"] = globals_.get("__warningregistry__", self._warned)
        return frame

    def _run(self, frame: Frame) -> BaseException | None:
        from .statements import PartedRun

        ran = _ran.get()
        tally = ran.tallies.setdefault(self, Tally()) if ran is not None else Tally()
        timed = ran is not None and ran.timed and tally.runs <= WARM_UP_RUNS
        piece = self.piece
        run = PartedRun(
            piece.statements, self.source, frame, options=PlainOptions(), flags=self.code.co_flags & FUTURE_FLAGS,
            timed=timed, known=piece.known, place=f"{self.place}: ", numbers=piece.numbers, named=self.code,
            at_once=piece.at_once, is_method=self.is_method,
        )  # fmt: skip
        begin = time.perf_counter()
        failure: BaseException | None = None
        try:
            run.run(None)
        except BaseException as error:
            failure = error
        elapsed_s = time.perf_counter() - begin
        tally.add(run.parts, elapsed_s)
        if failure is None:
            piece.settle(elapsed_s, run.parts)
            self.in_numpy = piece.in_numpy
            return None
        failure = as_in_a_function(failure, self.code)
        failure.__traceback__ = user_traceback(failure.__traceback__, with_numpy=True)
        return failure


def as_in_a_function(error: BaseException, code: CodeType) -> BaseException:
    """A NameError of a variable that a function has not set yet is an UnboundLocalError there."""
    if type(error) is not NameError or error.name not in (*code.co_varnames, *code.co_cellvars):
        return error
    message = f"cannot access local variable '{error.name}' where it is not associated with a value"
    other = UnboundLocalError(message).with_traceback(error.__traceback__)
    other.__suppress_context__ = True
    return other


# ---- functions ----


@dataclass(eq=False, slots=True)
class DrivenFunction:
    """code: in place of the user's; is_left: whether Python runs the user's after all, which is faster and calls no
    other function of theirs."""

    code: CodeType
    pieces: tuple[FunctionPiece, ...]
    called: tuple[str, ...]
    is_left: bool = False
    _codes: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, fn: FunctionType) -> DrivenFunction | None:
        """None where the function's statements mean something else in parts, or where its source is not known."""
        from .statements import Known, statements_of

        code = fn.__code__
        if code.co_flags & SUSPENDS or not is_user_code(code):
            return None
        node = syntax_of(code)
        if node is None or not may_run_in_parts(node, code):
            return None
        assert isinstance(node, ast.FunctionDef)
        lines = getlines(code.co_filename)
        syntax = FunctionSyntax(node, code, fn.__globals__, rebound_names(code))
        if not syntax.pieces:
            return None
        first, last = node.lineno, node.end_lineno or node.lineno
        source = Source(fn.__name__, "".join(lines[first - 1 : last]), code.co_filename, first)
        locals_ = names_of(code)
        pieces = []
        of_method = is_method(code, node)
        split = zip(syntax.pieces, syntax.loops, syntax.placed, strict=True)
        for number, (nodes, loop, placed) in enumerate(split):
            known = Known()
            if of_method:
                nodes = [AttributeNames().visit(copied(each)) for each in nodes]
                known.refused.update(attribute_stores(statements_of(nodes)))
            piece = Piece(statements_of(nodes), known, numbers_of(loop), loop is None and has_loop(nodes), placed)
            place = f"{code.co_qualname} {number}"
            reads = frozenset(name.partition(DOT)[0] for name in read(*nodes)) & (locals_ | COMPUTED)
            pieces.append(FunctionPiece(piece, place, code, source, locals_, reads, syntax.stores[number], of_method))
        rewritten = ast.FunctionDef(node.name, node.args, syntax.body, [], None, None)
        new = recompiled(ast.copy_location(rewritten, node), code)
        if new is None:
            return None
        operations = Operations(driven=driven, locals=locals, globals=globals, dict=dict)
        for number, piece in enumerate(pieces):
            setattr(operations, f"piece_{number}", piece)
            setattr(operations, f"begin_piece_{number}", piece.begin)
            setattr(operations, f"end_piece_{number}", piece.end)
        return cls(with_operations(new, operations), tuple(pieces), code.co_names)

    def over(self, fn: FunctionType) -> FunctionType:
        """What to call in place of `fn`, a function of the user's code."""
        codes = [getattr(fn.__globals__.get(name), "__code__", None) for name in self.called]
        if len(codes) != len(self._codes) or any(map(operator.is_not, codes, self._codes)):
            if self._codes:  # other functions stand under these names: what could not be compiled may be now
                for piece in self.pieces:
                    piece.forget()
            self._codes = codes
        if all(piece.in_numpy for piece in self.pieces) and not any(codes) and fn.__closure__ is None:
            self.is_left = True
            return fn
        new = FunctionType(self.code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
        new.__kwdefaults__ = fn.__kwdefaults__
        new.__qualname__ = fn.__qualname__
        return new


def rebound_names(code: CodeType) -> frozenset[str]:
    """The names that some function in the code's file assigns in another one's scope."""
    found = (match[1] for match in map(_NONLOCAL.match, getlines(code.co_filename)) if match)
    return frozenset(name.strip() for names in found for name in names.split(","))


_NONLOCAL = re.compile(r"[^#]*\bnonlocal\s+([\w\s,]+)")

# By id: equal codes may stand in different files. Each entry keeps its code alive.
_functions: dict[int, tuple[CodeType, DrivenFunction | None]] = {}
_driven_codes: dict[int, CodeType] = {}
_making = threading.Lock()


def driven_function(fn: FunctionType) -> DrivenFunction | None:
    """How the function is driven; None if Python runs it as it is."""
    found = _functions.get(id(fn.__code__))
    if found is None:
        with _making:
            made = DrivenFunction.of(fn)
            if len(_functions) >= MAX_FUNCTIONS:
                _functions.clear()
                _driven_codes.clear()
            found = _functions[id(fn.__code__)] = (fn.__code__, made)
            if made is not None:
                _driven_codes[id(made.code)] = made.code
    return found[1]


def driven(function: Any) -> Any:
    """What to call in place of `function`: itself, if it is no function or method of the user's."""
    kind = type(function)
    if kind is FunctionType:
        how = driven_function(function)
        return function if how is None or how.is_left else how.over(function)
    if kind is MethodType and type(function.__func__) is FunctionType:
        how = driven_function(function.__func__)
        return function if how is None or how.is_left else MethodType(how.over(function.__func__), function.__self__)
    return function


def once_each(traceback: TracebackType | None) -> TracebackType | None:
    """`traceback` without the frames of driven functions where one of a statement in them follows: both are of one
    place to the user."""
    kept = user_traceback(traceback, with_numpy=True)
    entries: list[TracebackType] = []
    while kept is not None:
        entries.append(kept)
        kept = kept.tb_next
    dropped: set[int] = set()
    for entry, after in zip(entries, entries[1:], strict=False):
        own, other = entry.tb_frame.f_code, after.tb_frame.f_code
        same = (own.co_filename, own.co_qualname) == (other.co_filename, other.co_qualname)
        if id(own) in _driven_codes and same and id(other) not in _driven_codes:
            dropped.add(id(entry.tb_frame))
    if not dropped:
        return traceback
    return kept_frames(traceback, lambda entry: id(entry.tb_frame) not in dropped)
