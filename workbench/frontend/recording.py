"""The record that one trace fills: equations, inputs, constants, and the operation that is being recorded.

`frontend.tracer.emit` appends to the innermost `Trace` of the thread. An operation (`np.mean(x)`, `x + y`) may emit
several equations: they share one origin, and the last one carries the name of the variable that the user assigns.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import TracingError
from ..ir import Atom, Aval, Equation, Literal, Origin, Primitive, Scope, Var, aval_of
from ..ir.evaluate import TooManyEquationsError, at_most
from ..primitives.raising import may_not_end
from .positions import position_of
from .recursion import Recursion

if TYPE_CHECKING:
    from .tracer import Buffer, Tracer


# What is written out further than this would take longer to compile than it can save.
MAX_EQUATIONS = 16_384
REGIONS_INTERVAL = 32  # regions: a look at the stack takes as long as some operations do
DEEP = 8  # regions in one another, as only recursion makes them
MAX_STEPS = 256  # loops translated whole; each takes the time of some hundred equations
MAX_EVALUATED = 1 << 13  # equations of loops that it runs through for one condition: 5 to 10 us each
MAX_COMPUTED = 1 << 21  # numbers that one trace computes to decide conditions which depend on no input


class _Stack(threading.local):
    def __init__(self) -> None:
        self.traces: list[Trace] = []


_stack = _Stack()


class Trace:
    """What has been recorded so far.

    invars: the traced arguments; captured: arrays read from outside, which become inputs after the arguments;
    constants: variables with the arrays bound to them; scopes: the `jit_scope`s entered, outermost first.
    """

    def __init__(self, name: str = "", *, strict: bool = False, keep_python_scalars: bool = False,
                 converts: bool | None = None, on_gpu: bool = False, effects_happen: bool = False):  # fmt: skip
        self.name = name
        self.strict = strict
        self.effects_happen = effects_happen
        self.converts = not strict if converts is None else converts
        self.keep_python_scalars = keep_python_scalars
        self.on_gpu = on_gpu  # where a loop that numba would run on the host is traced if it can be
        self.parent: Trace | None = None
        self.live = False
        self.invars: list[Var] = []
        self.eqns: list[Equation] = []
        self.constants: dict[Var, np.ndarray] = {}
        self.captured: list[CapturedArray] = []
        self.scopes: tuple[Scope, ...] = ()
        self.conditions: list[tuple[Tracer, Origin]] = []  # on which the call goes on, to be tested together (`checks`)
        self.op = ""
        self.entry: FrameType | None = None  # user frames end here
        self.failure: TracingError | None = None  # the first one: the user's own code may catch it
        self.signal: BaseException | None = None  # what asks for another attempt: the same
        self.leaves_messages = False  # whether a call may end where the code says something (`messages`)
        self.has_left_message = False  # whether there is such a place
        self.given: dict[Var, Any] = {}  # the arrays, scalars or avals that stand for inputs now
        self.n_foreseen = 0  # branches that go one way (`foresight`)
        self.lifter: Any = None  # `captures.Lifter`, which decides how values from outside are seen
        # Rows that loops stacked for lists, by id: the row, its array, its place there, the version of the buffer.
        self.stacked: dict[int, tuple[Tracer, Tracer, int, int]] = {}
        self.lists_of_masks: dict[
            int, tuple[Any, Any]
        ] = {}  # id of a mask's buffer -> the mask, and the list whose items it picks
        # Stacks whose rows may be one array, by the id of their buffer: the stack, the numbers of the first rows that
        # are the same array, and what `Place`s tell of.
        self.repeated_rows: dict[int, tuple[Tracer, Tracer, Any]] = {}
        self.knows_places = False  # whether some buffer has `places`
        self.untold_rows: set[int] = set()  # ids of buffers: nobody knows what shares memory with such rows
        self.shown_in_rows: set[int] = set()  # ids of buffers: rows are different views of it
        # Rows that are arrays besides the lists, by id: the row, and these arrays.
        self.row_arrays: dict[int, tuple[Tracer, list[Any]]] = {}
        self._origin: Origin | None = None
        self._caller: FrameType | None = None
        self._name = ""
        # Variables that depend on no input, with the equation that makes each (None: a constant).
        self.static: dict[Var, Equation | None] = {}
        self._known: dict[Var, np.ndarray] = {}
        self._n_computed = 0  # numbers, for conditions that a trace has decided
        self._n_steps = 0  # loops that have been translated, here and in the regions inside
        self._n_regions = 0  # that have been traced inside, of those as well
        self.plain_loops: set[str] = set()  # loops, by their sources, that ran without an equation
        self.asked_recursions: set[CodeType] = (
            set()
        )  # functions that call themselves, of which one call was to be a step
        self.n_writes = 0  # to arrays
        # To lists and dicts, by id: how many there are in what traces the branches and loops that are under way.
        self.references: Mapping[int, int] = {}
        self._looks_at = Recursion.INTERVAL  # equations: when to see whether they are too many
        self._recursion = Recursion()
        self._dear: set[Var] = set()  # conditions that it will not
        self._long: set[Var] = set()  # results of loops that were given up
        self._by_id: dict[int, CapturedArray] = {}
        # A region is the body of a branch or loop: it shares the buffers of the trace around it.
        self.region = False
        self.is_branch = False  # of which the program runs one side
        # Of the body of a loop that may carry more: what to call if it takes an array for one all along.
        self.unless_carried: list[Callable[[], None]] | None = None
        self.may_write_out = False  # while a loop is tried that may write out its first iteration instead
        self.forget: frozenset[int] = frozenset()  # ids of outer buffers whose values must not be taken for known
        self.adopted: dict[int, CapturedArray] = {}  # by id of the outer buffer
        self._borrowed: dict[Var, tuple[Trace, Atom]] = {}  # what the trace around knows the value of

    # ---- origins ----

    def origin(self) -> Origin:
        """The origin of the equation that is being emitted."""
        origin = self._origin
        if origin is None:
            # Inside an operation the walk starts at its caller, which spares it the frames of NumPy's rules.
            spans, self._name = position_of(self._caller if self.op else sys._getframe(2), self.entry)
            origin = Origin(spans, self.op, self.scopes)
            if self.op:
                self._origin = origin
        return origin

    @contextmanager
    def at(self, origin: Origin) -> Iterator[None]:
        """Record equations under `origin`, whatever runs."""
        saved = self._origin, self.op, self._name
        self._origin, self.op, self._name = origin, origin.op or self.op or "?", ""
        try:
            yield
        finally:
            self._origin, self.op, self._name = saved

    def operation(self, name: str, fn: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """`fn(*args, **kwargs)` as one operation of the user's, called `name`."""
        if self.op:  # part of an operation that is being recorded
            return fn(*args, **kwargs)
        self.op = name
        self._caller = sys._getframe(1)
        n_eqns = len(self.eqns)
        try:
            if n_eqns >= self._looks_at:
                self._look_at_length(n_eqns)
            result = fn(*args, **kwargs)
        except TracingError as error:
            self.failure = self.failure or error
            raise
        finally:
            self.op, self._caller = "", None
            origin, self._origin = self._origin, None
            hint, self._name = self._name, ""
        if hint and origin is not None and len(self.eqns) > n_eqns:
            self.name_result(result, hint, origin)
        return result

    def moment(self) -> tuple[int, int, int, TracingError | None]:
        """Where the trace is, to `go_back`."""
        return len(self.eqns), len(self.conditions), self.n_writes, self.failure

    def go_back(self, moment: tuple[int, int, int, TracingError | None]) -> bool:
        """Forget what was recorded since `moment`, if no array was written to meanwhile; whether that is done."""
        n_eqns, n_conditions, n_writes, failure = moment
        if self.n_writes != n_writes:
            return False
        del self.eqns[n_eqns:], self.conditions[n_conditions:]
        self.failure = failure
        return True

    def adopted_as(self, buffer: Buffer) -> CapturedArray | None:
        """What of the trace around this one `buffer` stands for; None for memory of its own."""
        entries = self.adopted.values()
        return next((e for e in entries if e.tracer is not None and e.tracer.buffer is buffer), None)

    def count_step(self) -> None:
        """One more loop has been translated. Recursion in branches makes exponentially many, in regions of their own,
        before any of them is long."""
        trace, _ = self._outermost()
        trace._n_steps += 1
        n = trace._n_steps
        if n > MAX_STEPS or trace._is_too_long(sys._getframe(1)):
            self._give_up(f"{n - 1} loops")

    def count_region(self) -> None:
        """One more region is to be traced, of which the same is true."""
        trace, depth = self._outermost()
        trace._n_regions += 1
        if depth >= DEEP and trace._n_regions % REGIONS_INTERVAL == 0 and trace._is_too_long(sys._getframe(1)):
            self._give_up(f"{trace._n_regions - 1} branches")

    def _outermost(self) -> tuple[Trace, int]:
        """The trace around all others, and how many there are between."""
        trace, depth = self, 0
        while trace.parent is not None:
            trace, depth = trace.parent, depth + 1
        return trace, depth

    def _is_too_long(self, frame: FrameType) -> bool:
        return self._recursion.is_too_long(frame, len(self.eqns), self._n_steps, self._n_regions)

    def _give_up(self, reached: str) -> None:
        error = self._too_long(reached)
        self.failure = self.failure or error
        raise error

    def _look_at_length(self, n_eqns: int) -> None:
        self._looks_at = n_eqns + Recursion.INTERVAL
        if n_eqns > MAX_EQUATIONS or self._is_too_long(sys._getframe(2)):
            raise self._too_long(f"{n_eqns:,} equations")

    def _too_long(self, reached: str) -> TracingError:
        from .diagnostics import build

        return build(
            TracingError, f"{{line}} is reached after {reached}: the program is too long to compile.",
            "a program of very many equations", code="WB185",
            fixes=("compile the function that is called again and again, instead of its caller",),
        )  # fmt: skip

    def name_result(self, result: Any, hint: str, origin: Origin) -> None:
        """Call the variable behind `result` by the user's name, if nothing has named it yet."""
        var = getattr(result, "current", None)
        if isinstance(var, Var) and not var.hint:
            var.hint = hint
            last = self.eqns[-1]
            if var in last.outvars and last.origin is origin:
                # The equation is not published yet; making it anew would cost every operation a microsecond.
                object.__setattr__(last, "origin", Origin(origin.spans, origin.op, origin.scopes, hint))

    # ---- values ----

    def record(self, primitive: Primitive, atoms: tuple[Atom, ...], params: dict[str, Any]) -> tuple[Var, ...]:
        """Append one equation; its results' variables."""
        avals = primitive.abstract_eval(*[a.aval for a in atoms], **params)
        outvars = (Var(avals[0]),) if len(avals) == 1 else tuple([Var(aval) for aval in avals])
        eqn = Equation(primitive, atoms, outvars, params, self.origin())
        if self.conditions and may_not_end(eqn):
            self._test_conditions()
        self.eqns.append(eqn)
        static = self.static
        for atom in atoms:
            if type(atom) is not Literal and atom not in static:
                break
        else:
            for var in outvars:
                static[var] = eqn
        return outvars

    def _test_conditions(self) -> None:
        from .checks import test_conditions

        test_conditions(self)

    def add_constant(self, array: np.ndarray) -> Atom:
        """A copy of `array` as a constant of the program; rank 0 gives a literal."""
        if array.ndim == 0:
            return Literal(array[()], Aval((), array.dtype))
        var = Var(aval_of(array))
        self.constants[var] = value = array.copy()
        value.flags.writeable = False
        self.static[var] = None
        self._known[var] = value
        return var

    def capture(self, value: Any, name: str, read: Callable[[], Any]) -> CapturedArray:
        """Make an array from outside (or a tracer of an enclosing trace) an input."""
        entry = self._by_id.get(id(value))
        if entry is None:
            entry = self._by_id[id(value)] = CapturedArray(value, name, read)
        if entry.var is None:
            entry.var = Var(entry.aval, entry.name if entry.name.isidentifier() else "")
            self.captured.append(entry)
        return entry

    def announce(self, array: np.ndarray, name: str, read: Callable[[], Any]) -> None:
        """Say where `array` can be read again, should an operation touch it."""
        self._by_id.setdefault(id(array), CapturedArray(array, name, read))

    def borrow(self, var: Var, outer: Trace, atom: Atom) -> None:
        """`var` has the value of `atom`, which the trace `outer` may know."""
        if atom in outer.static:
            self._borrowed[var] = (outer, atom)
            self.static[var] = None

    def was_asked(self, var: Var) -> bool:
        """Whether the program relies on the value of a borrowed variable."""
        return var in self._borrowed and var in self._known

    def announced(self, array: np.ndarray) -> CapturedArray | None:
        entry = self._by_id.get(id(array))
        return entry if entry is not None and entry.value is array else None

    def known_soon(self, atom: Atom) -> np.ndarray | None:
        """`known`, but None where a trace would compute with many numbers to find out: a program does that faster."""
        if isinstance(atom, Literal) or atom not in self.static or atom in self._known:
            return self.known(atom)
        if atom in self._dear:
            return None
        seen: set[Any] = set()
        pending: list[Any] = [atom]
        size = 0
        while pending:
            eqn = self.static.get(pending.pop())
            if eqn is None or id(eqn) in seen:
                continue
            seen.add(id(eqn))
            size += sum(math.prod(out.aval.shape) for out in eqn.outvars)
            pending += [a for a in eqn.invars if isinstance(a, Var) and a not in self._known]
            if self._n_computed + size > MAX_COMPUTED:
                self._dear.add(atom)
                return None
        self._n_computed += size
        return self.known(atom)

    def rests_on_floats(self, atom: Atom) -> bool:
        """Whether an atom is computed from Python floats among the arguments, and from nothing else of the inputs."""
        made = {var: eqn for eqn in self.eqns for var in eqn.outvars}
        outside = {entry.var: entry.value for entry in self.captured}
        seen: set[Var] = set()
        pending = [atom]
        n_floats = 0
        while pending:
            var = pending.pop()
            if isinstance(var, Literal) or var in seen or var in self.static:
                continue
            seen.add(var)
            if var in made:
                pending += made[var].invars
                continue
            if var in outside:
                buffer = getattr(outside[var], "buffer", None)  # of the trace around it
                if buffer is None or not buffer.trace.rests_on_floats(buffer.value):
                    return False
            elif self.region or var not in self.invars or var.aval.shape or not var.aval.weak_type:
                return False
            elif var.aval.dtype.kind not in "fc":
                return False
            n_floats += 1
        return n_floats > 0

    def known(self, atom: Atom) -> np.ndarray | None:
        """The value of an atom that depends on no input (read-only), else None. None, too, where a loop that leads to
        it takes long: the reference evaluator is no way to run one."""
        if isinstance(atom, Literal):
            return np.asarray(atom.val, atom.aval.dtype)
        if atom not in self.static:
            return None
        known = self._known
        pending = [atom]
        while pending:  # no recursion: a chain may be long
            var = pending[-1]
            eqn = self.static.get(var)
            if var in self._long:
                return None
            if var in known or eqn is None:
                pending.pop()
                if var not in known and var in self._borrowed:
                    outer, outer_atom = self._borrowed[var]
                    value = outer.known(outer_atom)
                    if value is None:
                        return None
                    known[var] = value
                continue
            missing = [a for a in eqn.invars if isinstance(a, Var) and a not in known]
            if missing:
                pending += missing
                continue
            pending.pop()
            if not eqn.primitive.has_rule("impl"):
                return None
            arrays = [known[a] if isinstance(a, Var) else np.asarray(a.val, a.aval.dtype) for a in eqn.invars]
            try:
                with np.errstate(all="ignore"), at_most(MAX_EVALUATED):
                    results = eqn.primitive.impl(*arrays, **eqn.params)
            except TooManyEquationsError:
                self._long.update(eqn.outvars)
                return None
            for out, result in zip(eqn.outvars, results if eqn.primitive.multiple_results else (results,), strict=True):
                value = np.array(result, out.aval.dtype).reshape(out.aval.shape)
                value.flags.writeable = False
                known[out] = value
        return known.get(atom)


class CapturedArray:
    """An array that the traced code reads from outside; `var` is None until an operation touches it."""

    __slots__ = ("aval", "name", "read", "tracer", "value", "var")

    def __init__(self, value: Any, name: str, read: Callable[[], Any]):
        self.value = value
        self.name = name
        self.read = read
        self.aval: Aval = getattr(value, "aval", None) or Aval(tuple(value.shape), value.dtype)
        self.var: Var | None = None
        self.tracer: Tracer | None = None


def signalled(error: BaseException) -> BaseException:
    """`error`, which goes through the user's code to whoever makes another attempt; noted, since that may catch it."""
    trace = current_trace()
    if trace is not None:
        trace.signal = error
    return error


class Deferred:
    """Base of values that depend on traced arrays, and are none: they handle NumPy's protocols themselves."""

    def error(self) -> TracingError:
        """Why no array can be made of it."""
        raise NotImplementedError


def current_trace() -> Trace | None:
    """The innermost trace of this thread."""
    traces = _stack.traces
    return traces[-1] if traces else None


def open_traces() -> _Stack:
    """Whose `traces` are those of this thread, for who asks so often that a call is too much."""
    return _stack


@contextmanager
def resumed(trace: Trace) -> Iterator[None]:
    """Record on `trace`, which is live already, for a moment."""
    _stack.traces.append(trace)
    try:
        yield
    finally:
        _stack.traces.pop()


@contextmanager
def recording(trace: Trace) -> Iterator[Trace]:
    """Make `trace` the innermost one."""
    trace.parent = current_trace()
    trace.live = True
    _stack.traces.append(trace)
    try:
        yield trace
    finally:
        _stack.traces.pop()
        trace.live = False
        trace._recursion = Recursion()  # which may hold a frame
