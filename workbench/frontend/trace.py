"""`trace`: a Python function and its arguments in, the program that it computes out.

Arrays, floats and NumPy scalars among the arguments (which may be any pytree) are traced; everything else is a
compile-time constant. The function runs once, over its view of the world (`frontend.captures`), and what it did to
arrays is recorded.
"""

from __future__ import annotations

import inspect
import operator
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np
import optree

from ..config import config
from ..errors import SideEffectError, TracingError
from ..ir import REGISTRY, Atom, Aval, Jaxpr, Var, aval_of
from ..ir.allocation import without_collection
from ..primitives.raising import may_raise
from .captures import Capture, Guard, Lifter, Terms, _Lifted, check_array, on_its_terms
from .checks import test_conditions
from .constants import CONSTANT_TYPES
from .diagnostics import build, unsupported
from .made_objects import has_made_objects
from .outputs import OutLeaf, Outputs, collect_outputs, result_hint
from .positions import note_origin, raised_at, user_traceback
from .reads import Read
from .recording import Trace, current_trace, recording
from .tracer import Buffer, Tracer, emit, from_outside, input_tracer


@dataclass(frozen=True, eq=False, slots=True)
class Traced:
    """A traced function.

    jaxpr: its inputs are the traced leaves of the arguments, in order, then the captured arrays; its results are the
    leaves of the return value, then what is written back.
    captures, guards: what is read again, and what is compared, at every call.
    """

    name: str
    jaxpr: Jaxpr
    outputs: Outputs
    captures: tuple[Capture, ...]
    guards: tuple[Guard, ...]
    input_names: tuple[str, ...]
    n_arguments: int  # of the jaxpr's inputs, the others are captures
    flatten: Callable[[tuple, dict[str, Any]], list[Any]] = field(repr=False)
    function: Callable | None = field(default=None, repr=False)
    layout_sensitive: bool = False  # the program depends on the strides of inputs that are not C-contiguous
    leaves_messages: bool = False  # a call that has something to say ends

    @property
    def out_tree(self) -> Any:
        return self.outputs.tree

    @property
    def out_leaves(self) -> tuple[OutLeaf, ...]:
        return self.outputs.leaves

    @property
    def writes(self) -> tuple[tuple[int, int], ...]:
        """(input, result) pairs: inputs that the program mutates take these results' values in place."""
        return self.outputs.writes

    @property
    def output_names(self) -> tuple[str, ...]:
        """The user's names for the results, "" where there is none: what is written into an input has its name, and
        what an object holds its path."""
        names = [result_hint(atom) for atom in self.jaxpr.outvars]
        if self.outputs.held and all(child.is_leaf() for child in self.outputs.tree.children()[0].children()):
            for place, leaf in zip(self.outputs.held, self.outputs.leaves, strict=False):
                if leaf.outvar is not None:
                    names[leaf.outvar] = names[leaf.outvar] or place.name
        for i, k in self.writes:
            names[k] = names[k] or self.input_names[i]
        return tuple(names)

    def overlap(self, inputs: Sequence[Any]) -> bool:
        """Whether an input that the program mutates shares memory with another one: then it must not be called."""
        return self.outputs.overlap(inputs)

    def rebuild(self, results: Sequence[Any], inputs: Sequence[Any]) -> Any:
        """Write back what was mutated and make the return value. inputs: of the jaxpr, captures included."""
        return self.outputs.rebuild(results, inputs)


@without_collection
def trace(
    fn: Callable, args: tuple, kwargs: dict[str, Any], *,
    static_argnums: int | Collection[int] = (), static_argnames: str | Collection[str] = (),
    keep_python_scalars: bool = False, strict: bool = False, name: str | None = None,
    converts: bool | None = None, on_gpu: bool = False, falls_back: bool = False,
    traced_ints: Collection[int] = (), given: Mapping[int, Read] = MappingProxyType({}),
    traced_held_ints: bool = False, varying: Collection[str] = (), leaves_messages: bool = False,
    effects_happen: bool = False,
) -> Traced:  # fmt: skip
    """Trace `fn(*args, **kwargs)`.

    Parameters
    ----------
    args, kwargs : pytrees of arrays, scalars and static values; an `Aval` stands for an array of its type.
    static_argnums, static_argnames : arguments that are constants, whatever they are.
    keep_python_scalars : Python floats are constants, too.
    strict : nothing is converted, and no call will run in NumPy in its place.
    effects_happen : side effects happen while tracing instead of raising, as in JAX.
    name : of the program; by default the function's.
    on_gpu : the program is for a GPU, so that loops over arrays are traced rather than handed to numba on the host.
    falls_back : the code can run in parts instead: an error of the user's own after lines that may raise is a
        TracingError, since the program may not come there.
    leaves_messages : a branch that warns, logs or prints ends the call, which NumPy then makes.
    traced_ints : positions among the leaves of the arguments where Python's ints are inputs, as floats are.
    given : what reads the objects at some positions among these leaves at each call: the program is for all of their
        kind, with what they hold then. traced_held_ints: their ints are inputs, as their floats are.
    varying : the paths of numbers and lists that objects hold and that are others at other calls: numbers are inputs,
        lists are not looked into.
    converts : whether Python's control flow over traced values becomes branches and loops; by default, unless strict.

    Raises
    ------
    TracingError
        The code cannot be traced. Errors of the user's own propagate as Python and NumPy raise them.
    """
    name = str(name or getattr(fn, "__name__", type(fn).__name__))
    numbers = {static_argnums} if isinstance(static_argnums, int) else set(static_argnums)
    names = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames)
    numbers = {n + len(args) if n < 0 else n for n in numbers}
    parameters = _parameter_names(fn, len(args))

    def attempt(terms: Terms) -> Traced:
        record = Trace(name, strict=strict, keep_python_scalars=keep_python_scalars, converts=converts, on_gpu=on_gpu,
                       effects_happen=effects_happen)  # fmt: skip
        record.leaves_messages = leaves_messages
        lifter = record.lifter = Lifter(record, trace_held_ints=traced_held_ints, terms=terms)
        with recording(record):
            _enter(record)
            record.entry = record.parent.entry if record.parent is not None else sys._getframe()
            dynamic = _dynamic(args, kwargs, numbers, names)
            leaves, tree = optree.tree_flatten(dynamic, none_is_leaf=True)  # pyright: ignore[reportArgumentType]  # a pytree of anything
            hints = _leaf_names(dynamic, [p for i, p in enumerate(parameters) if i not in numbers])
            is_traced = [
                position in traced_ints and type(leaf) is int or _is_traced(leaf, keep_python_scalars, hint)
                for position, (leaf, hint) in enumerate(zip(leaves, hints, strict=True))
            ]
            inner: list[Any] = []
            for k, (leaf, hint, traced) in enumerate(zip(leaves, hints, is_traced, strict=True)):
                inner.append(_argument(record, leaf, hint) if traced else _static(lifter, leaf, hint, given.get(k)))
            if len(given) > 1:  # objects that are not the same one now are not to be at another call
                lifter.guard("arguments", lambda: _first_places([read() for read in given.values()]),
                             _first_places([leaves[k] for k in given]), operator.eq)  # fmt: skip
            seen_as = optree.tree_unflatten(tree, inner)
            lifter.note_given(seen_as)
            if record.parent is None and not strict:
                _watch_containers(lifter, dynamic, seen_as, numbers, names, parameters)
            (dyn_args, dyn_kwargs) = seen_as
            positional = iter(dyn_args)
            call_args = tuple(
                _static(lifter, a, parameters[i]) if i in numbers else next(positional) for i, a in enumerate(args)
            )
            call_kwargs = {k: _static(lifter, v, k) if k in names else dyn_kwargs[k] for k, v in kwargs.items()}
            function = lifter.lift(fn, name, lambda: fn)
            lifter.guards = [g for g in lifter.guards if g.value is not fn]
            with user_errors(record, falls_back):
                result = function(*call_args, **call_kwargs)
            if record.parent is not None or strict or not _are_plain(dynamic):
                _check_containers((dyn_args, dyn_kwargs), inner, tree)
            return finish(
                record, lifter, result, [x for x in inner if type(x) is Tracer and x.buffer.trace is record],
                [h for h, traced in zip(hints, is_traced, strict=True) if traced],
                flatten=_flattener(numbers, names, is_traced), function=fn,
            )  # fmt: skip

    return on_its_terms(attempt, varying)


class user_errors:  # noqa: N801 (reads as the `with` statement that it is)
    """Errors of the user's code leave without the workbench's frames (unless `config.full_tracebacks`). One that
    follows from ours, as when NumPy cannot make a number of a traced value, leaves as ours."""

    def __init__(self, record: Trace, falls_back: bool = False):
        self.record = record
        self.falls_back = falls_back

    def __enter__(self) -> None: ...

    # No `contextlib.contextmanager`: it puts the old traceback back.
    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if error is None:
            return
        note_origin(error, traceback)
        if not config.full_tracebacks:
            error.__traceback__ = user_traceback(traceback)
        failure = self.record.failure or self.record.signal  # which the user's code may have caught
        if not isinstance(error, Exception) or isinstance(error, TracingError):
            return
        if failure:
            raise failure from None
        if self.falls_back and (self.record.conditions or any(map(may_raise, self.record.eqns))):
            raise _may_not_come_here(error) from error


def _may_not_come_here(error: Exception) -> TracingError:
    name = type(error).__name__
    return build(
        TracingError,
        f"{{line}} raises {name} ({error}), unless a line before it raises: which one does, the numbers decide.",
        f"{name} after lines that may raise", code="WB183", span=raised_at(error.__traceback__),
        fixes=("check arguments outside of the compiled code",),
    )  # fmt: skip


def _enter(record: Trace) -> None:
    from . import numpy_api  # noqa: F401  (the tables must be there before anything is traced)

    if record.parent is not None:
        record.lifter.parent = record.parent.lifter
        record.effects_happen |= record.parent.effects_happen
        record.scopes = record.parent.scopes


def finish(
    record: Trace, lifter: Lifter, result: Any, arguments: Sequence[Tracer], names: Sequence[str], *,
    flatten: Callable, function: Callable | None = None,
) -> Traced:  # fmt: skip
    """Close a trace whose code returned `result`. arguments: the tracers of the arguments, in order."""
    if record.signal is not None:
        raise record.signal
    if record.failure is not None:
        # The user's own `except` clause caught our error: with numbers, that branch would not have been taken.
        raise record.failure
    test_conditions(record)
    changed = lifter.changes()
    lifter.check_side_effects(changed)
    if changed:
        lifter.guard_objects_apart()
    # Lifting results may capture more: it comes before the inputs are counted.
    buffers: list[Buffer | None] = [None if x.scalar else x.buffer for x in arguments]
    n_before = -1
    while n_before != len(record.captured):
        n_before = len(record.captured)
        inputs = [*buffers, *[_buffer(entry.tracer) for entry in record.captured]]
        outputs, atoms = collect_outputs(record, lifter, result, inputs, changed)
    captured = record.captured
    values = [*[b and b.given for b in buffers], *[e.value for e in captured]]
    if outputs.overlap(values):
        raise build(
            TracingError,
            "The code writes to an array that shares memory with another of its inputs, or within itself.",
            "a mutated input overlaps another input",
            code="WB170",
            fixes=("pass a copy of one of them",),
        )
    jaxpr = make_jaxpr(record, atoms)
    # Only a nested call needs the values: a compiled program must not keep the user's arrays alive.
    keep = record.parent is not None
    captures = tuple(
        Capture(e.name, e.read, getattr(e.value, "value", e.value) if keep else None) for e in captured
    )  # fmt: skip
    every_input = [*arguments, *[e.tracer for e in captured]]
    return Traced(
        name=record.name,
        jaxpr=jaxpr,
        outputs=outputs,
        captures=captures,
        guards=tuple(lifter.guards),
        input_names=(*names, *[c.name for c in captures]),
        n_arguments=len(arguments),
        flatten=flatten,
        function=function,
        layout_sensitive=any(x is not None and x.buffer.strides is not None for x in every_input),
        leaves_messages=record.has_left_message,
    )


def make_jaxpr(record: Trace, atoms: Sequence[Atom]) -> Jaxpr:
    """The program recorded so far, with these results. Constants that nothing reads are left out."""
    read = {a for eqn in record.eqns for a in eqn.invars} | set(atoms)
    constants = {var: value for var, value in record.constants.items() if var in read}
    invars = (*record.invars, *[e.var for e in record.captured if e.var is not None])
    return Jaxpr(invars, tuple(record.eqns), tuple(atoms), tuple(constants), tuple(constants.values()))


def _buffer(tracer: Tracer | None) -> Buffer | None:
    return None if tracer is None or tracer.scalar else tracer.buffer


# ---- arguments ----


def _dynamic(args: tuple, kwargs: dict[str, Any], numbers: set[int], names: set[str]) -> tuple[tuple, dict]:
    return (
        tuple(a for i, a in enumerate(args) if i not in numbers),
        {k: kwargs[k] for k in sorted(kwargs) if k not in names},
    )


def _flattener(numbers: set[int], names: set[str], is_traced: Sequence[bool]) -> Callable:
    def flatten(args: tuple, kwargs: dict[str, Any]) -> list[Any]:
        leaves = optree.tree_leaves(_dynamic(args, kwargs, numbers, names), none_is_leaf=True)  # pyright: ignore[reportArgumentType]  # a pytree of anything
        return [leaf for leaf, traced in zip(leaves, is_traced, strict=True) if traced]

    return flatten


def _parameter_names(fn: Callable, n_args: int) -> list[str]:
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "arg")
    return names[:n_args] + [f"{rest}{i}" for i in range(n_args - len(names))]


def _leaf_names(dynamic: Any, parameters: Sequence[str]) -> list[str]:
    names = []
    for path in optree.tree_paths(dynamic, none_is_leaf=True):
        head = parameters[int(path[1])] if path[0] == 0 else str(path[1])
        names.append(head + "".join(f"[{k!r}]" for k in path[2:]))
    return names


def _is_traced(leaf: Any, keep_python_scalars: bool, name: str) -> bool:
    kind = type(leaf)
    if kind is Tracer or kind is Aval:
        return True
    if isinstance(leaf, np.ndarray | np.void):
        check_array(leaf, name)
        return True
    if isinstance(leaf, np.generic):
        return leaf.dtype.kind in "biufc" and leaf.dtype.char not in "egG"
    if kind in (float, complex):
        return not keep_python_scalars
    if hasattr(kind, "__array__") and not issubclass(kind, _Lifted):
        raise unsupported(f"the argument `{name}`, a {kind.__module__}.{kind.__name__},",
                          why="only NumPy arrays are traced")  # fmt: skip
    return False


def _argument(record: Trace, leaf: Any, hint: str) -> Tracer:
    aval = leaf.aval if type(leaf) is Tracer else leaf if isinstance(leaf, Aval) else aval_of(leaf)
    var = Var(aval, hint if hint.isidentifier() else "")
    record.invars.append(var)
    return input_tracer(record, var, leaf)


def _static(lifter: Lifter, value: Any, name: str, read: Read | None = None) -> Any:
    """read: gives what stands in its place at another call."""
    if isinstance(value, CONSTANT_TYPES):  # part of the key under which the program is found
        return value
    if read is None:
        return lifter.lift(value, name, lambda: value)
    with lifter.by_content():
        return lifter.lift(value, name, read)


def _first_places(objects: Sequence[Any]) -> list[int]:
    """For each object the place where it stands first."""
    places: dict[int, int] = {}
    return [places.setdefault(id(each), k) for k, each in enumerate(objects)]


class _Present(threading.local):
    """The arguments of the call in this thread that a compiled program runs for."""

    arguments: tuple[tuple, dict[str, Any]] = ((), {})


_present = _Present()


@contextmanager
def present_arguments(args: tuple, kwargs: dict[str, Any]) -> Iterator[None]:
    """While a program runs: its lists and dicts are among these."""
    before, _present.arguments = _present.arguments, (args, kwargs)
    try:
        yield
    finally:
        _present.arguments = before


@dataclass(frozen=True, eq=False, slots=True)
class ArgumentRead:
    """Gives a list or dict among the arguments of the call. path: (0, position, ...) or (1, keyword, ...), without
    those arguments that are static; dynamic: leaves these out."""

    path: tuple[Any, ...]
    dynamic: Callable[[tuple, dict[str, Any]], tuple[tuple, dict]]

    def __call__(self) -> Any:
        return reduce(operator.getitem, self.path, self.dynamic(*_present.arguments))


def _watch_containers(
    lifter: Lifter, dynamic: tuple[tuple, dict], seen_as: Any, numbers: set[int], names: set[str],
    parameters: Sequence[str],
) -> None:  # fmt: skip
    """Notice what the code changes in the lists and dicts among its arguments."""

    def watch(given: Any, copied: Any, name: str, path: tuple[Any, ...]) -> None:
        if type(given) in (list, dict) and type(copied) is type(given):
            lifter.watch_argument(given, copied, name, ArgumentRead(path, without_static))
        elif type(given) is tuple and given:
            lifter.note_tuple(given, copied, ArgumentRead(path, without_static))
        if type(given) in (list, tuple):
            for k, (item, seen) in enumerate(zip(given, copied, strict=True)):
                watch(item, seen, f"{name}[{k}]", (*path, k))
        elif type(given) is dict:
            for key, item in given.items():
                watch(item, copied[key], f"{name}[{key!r}]", (*path, key))

    def without_static(args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict]:
        return _dynamic(args, kwargs, numbers, names)

    given_names = [p for i, p in enumerate(parameters) if i not in numbers]
    for k, (given, copied) in enumerate(zip(dynamic[0], seen_as[0], strict=True)):
        watch(given, copied, given_names[k], (0, k))
    for key, given in dynamic[1].items():
        watch(given, seen_as[1][key], key, (1, key))


def _are_plain(value: Any) -> bool:
    """Whether all containers in it are lists, tuples and dicts, whose changes are noticed one by one."""
    if not isinstance(value, list | tuple | dict | deque):
        return True
    if type(value) not in (list, tuple, dict):
        return False
    return all(map(_are_plain, value.values() if isinstance(value, dict) else value))


def _check_containers(dynamic: Any, inner: Sequence[Any], tree: Any) -> None:
    """The function saw copies of the containers that it was given: it must not have changed them."""
    leaves, now = optree.tree_flatten(dynamic, none_is_leaf=True)
    if now != tree or any(a is not b for a, b in zip(leaves, inner, strict=True)):
        raise SideEffectError(
            "WB160  The function changes a list or dict that it was given; tracing runs it once, but it must change at "
            "every call.\n   Fix  return the new container instead\n"
            "   SideEffectError WB160: an argument's container is changed",
            fixes=("return the new container instead",),
        )


# ---- nested calls ----


def call_traced(name: str, traced: Traced, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a traced function from the trace around it: one `pjit` equation, then its writes and results."""
    outer = current_trace()
    assert outer is not None
    inputs = [
        *traced.flatten(args, kwargs),
        *[
            c.value if type(c.value) is Tracer or not isinstance(c.value, np.ndarray | Aval)
            else from_outside(outer, c.value, c.name, c.read)
            for c in traced.captures
        ],
    ]  # fmt: skip
    inputs = [_outer_value(x) for x in inputs]
    shares = traced.writes and _overlap(inputs)
    if traced.function is not None and (shares or has_made_objects(traced.out_tree)):
        # The inner program does not know that its inputs share memory, and its objects are of the user's own classes,
        # not of traced ones: the outer one records the body itself.
        return outer.lifter.lift(traced.function, name, lambda: traced.function)(*args, **kwargs)
    if outer.lifter is not None:
        outer.lifter.guards.extend(traced.guards)

    def run() -> tuple[Tracer, ...]:
        return emit(REGISTRY["pjit"], *inputs, name=name, jaxpr=traced.jaxpr)

    results = outer.operation(name, run, (), {}) if traced.jaxpr.outvars else ()
    return traced.rebuild(results, inputs)


def _outer_value(x: Any) -> Any:
    from .tracer import lift

    return lift(x) if isinstance(x, np.ndarray) else x


def _overlap(inputs: Sequence[Any]) -> bool:
    buffers = [id(x.buffer) for x in inputs if type(x) is Tracer and not x.scalar]
    return len(set(buffers)) != len(buffers)
