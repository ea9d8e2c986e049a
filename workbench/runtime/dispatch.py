"""Dispatch: from a call to a specialised executable.

A call is keyed on what its machine code depends on: dtype, shape and contiguity of arrays, values of static arguments.
The first call with a key traces and compiles; later ones look it up, check that captured values are what they were, and
run. NumPy runs what cannot be traced, with the reason kept, and, with `config.tiers`, what is being compiled.
"""

from __future__ import annotations

import functools
import inspect
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import optree

from ..config import config, device_choices
from ..errors import (
    BackendError,
    CheckFailedError,
    NonHashableStaticArgumentError,
    RoutineRaisedError,
    TracingError,
    WorkbenchError,
)
from ..frontend.device_arrays import device_aval
from ..frontend.scopes import running_in_numpy
from ..frontend.trace import Traced, trace
from ..frontend.tracer import current_trace
from ..fusion import ViewStep
from .arguments import (
    ALIGNED,
    C_CONTIGUOUS,
    STATIC_TYPES,
    array_key,
    as_array,
    input_key,
    is_writeable,
    layout_of,
    overlapping,
)
from .compilation import Compilation, Source, compile_traced
from .devices import accelerator, available, canonical, chosen, device_of, looked_at, stand_in
from .executable import Executable, has_written
from .fast_path import MISS, ResultText, fast_call, missed, result_text
from .function_parts import FunctionParts
from .log import logger
from .loops import LoopAbortedError
from .tiers import Pending, captures_hold, compile_later, may_run_in_numpy
from .trial import Trial, needs_trial

if TYPE_CHECKING:
    from .cuda.executable import DeviceExecutable


@dataclass(eq=False, slots=True)
class Specialisation:
    """One traced and compiled version, and how to call it with the leaves of a call's arguments."""

    traced: Traced
    compilation: Compilation
    capture_keys: tuple[tuple, ...]
    # The result, where nothing is written back and no result needs care, as text and as a function.
    result: ResultText | None = None
    finish: Callable[[tuple], Any] | None = None
    fast: Callable[..., Any] | None = None  # made at its second call: see `fast_call`
    trial: Trial | None = None  # while it is not known whether NumPy is faster

    def __post_init__(self) -> None:
        traced = self.traced
        plan = self.compilation.plan
        if config.numpy_trials and self.compilation.device == "cpu" and needs_trial(plan):
            self.trial = Trial()
        owned = {*plan.jaxpr.invars, *plan.jaxpr.constvars}
        owned.update(var for step in plan.steps if isinstance(step, ViewStep) for var in step.eqn.outvars)
        if not (traced.captures or traced.writes):
            self.result = result_text(traced.outputs, plan.outvars, owned)
            self.finish = self.result.function() if self.result is not None else None

    def is_current(self) -> bool:
        """Whether the values that the trace captured are what they were (arrays: their types)."""
        return captures_hold(self.traced, self.capture_keys)

    def is_usable(self, leaves: list[Any]) -> bool:
        """Whether this version may run at once: it is no longer on trial, current, and NumPy is not needed."""
        return self.trial is None and self.is_current() and not self.needs_numpy(leaves)

    def inputs(self, leaves: list[Any]) -> list[Any]:
        """The program's inputs: the traced leaves of the arguments, then what it captured."""
        return [*leaves, *(capture.read() for capture in self.traced.captures)]

    def needs_numpy(self, leaves: list[Any]) -> bool:
        """Whether an input that the program writes is read-only, or shares memory with another one: then only NumPy
        knows the order of things."""
        written = [i for i, _ in self.traced.writes]
        if not written:
            return False
        inputs = self.inputs(leaves)
        return overlapping(inputs, written) is not None or not all(is_writeable(inputs[i]) for i in written)

    def call(self, leaves: list[Any], run: Callable[..., tuple[np.ndarray, ...]] | None = None) -> Any:
        """Run on the traced leaves of the arguments, write back what was mutated, and rebuild the result."""
        inputs = self.inputs(leaves) if self.traced.captures else leaves
        executable = self.compilation.executable
        if isinstance(executable, Executable):
            given = [as_array(x) for x in inputs]
        else:
            return self._call_on_device(executable, inputs, run or executable.run)
        return self.traced.rebuild((run or executable.run)(*given), inputs)

    def _call_on_device(self, executable: DeviceExecutable, inputs: list[Any], run: Callable[..., tuple]) -> Any:
        written = {i for i, _ in self.traced.writes}
        # What is written must be of the device's own kind of array, over the same memory.
        inputs = [executable.as_input(x, i in written) for i, x in enumerate(inputs)]
        results = executable.for_targets(run(*inputs), [(inputs[i], k) for i, k in self.traced.writes])
        with executable.memory.working():
            return self.traced.rebuild(results, inputs)


@dataclass(eq=False, slots=True)
class Fallback:
    """A key whose trace failed: the plain function runs, for this reason, or its parts do."""

    reason: TracingError
    parts: FunctionParts | None = None


Entry = Specialisation | Fallback | Pending


@dataclass(slots=True)
class _State:
    specialisations: dict[Any, list[Entry]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)


class CompiledFunction:
    """A function that compiles itself for the types of its arguments. Made by `wb.jit` and `wb.djit`.

    `n_traces` counts traces; `compilations` lists their records, latest last.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        static_argnums: int | Collection[int] | None = None,
        static_argnames: str | Collection[str] | None = None,
        keep_python_scalars: bool = False,
        show_graph: bool = False,
        strict: bool | None = None,
        name: str | None = None,
        device: str | None = None,
        auto_device: bool = True,
    ):
        functools.update_wrapper(self, fn, updated=())
        self.fn = fn
        self.name = name or getattr(fn, "__name__", type(fn).__name__)
        self.signature = _signature(fn)
        self.static_argnums, self.static_argnames = _static(self.signature, static_argnums, static_argnames)
        self.keep_python_scalars = keep_python_scalars
        self.show_graph = show_graph
        self.strict = strict
        self.n_traces = 0
        self._state = _State()
        self._fast: Callable[..., Any] = missed  # of the latest call's version
        self._plain = not self.static_argnums and not self.static_argnames
        self.device = None if device is None else canonical(device)
        self.auto_device = auto_device
        self.place = "cpu"  # where this object's versions run; those of other devices are in `_elsewhere`
        self._settled = False  # one of these
        self._moves = self.device is not None or (auto_device and bool(accelerator()))
        self._elsewhere: dict[str, CompiledFunction] = {}

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A compiled method binds as a plain one does; `self` is a static argument."""
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<compiled {self.name}>"

    @property
    def compilations(self) -> list[Compilation]:
        with self._state.lock:
            entries = [e for found in self._state.specialisations.values() for e in found]
            others = list(self._elsewhere.values())
        found = [e.compilation for e in entries if not isinstance(e, Fallback) and e.compilation is not None]
        return found + [compilation for other in others for compilation in other.compilations]

    @property
    def fallbacks(self) -> list[TracingError]:
        """Why some calls ran in NumPy."""
        with self._state.lock:
            entries = [e for found in self._state.specialisations.values() for e in found]
        return [e.reason for e in entries if isinstance(e, Fallback)]

    # ---- the call ----

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            try:
                result = self._fast(*args)
            except Exception:
                if self.is_strict:
                    raise
                self._fast = missed
                return self._call_slowly(args, kwargs)
            if result is not MISS:
                return result
        if (device_choices or self._moves) and not self._settled and current_trace() is None:
            there = self.where()
            if there is not self:
                return self._call_there(there, args, kwargs)
        if self._plain and not kwargs and current_trace() is None:
            key: list[Any] = []
            leaves: list[Any] = []
            only_arrays = True
            for arg in args:
                kind = type(arg)
                if kind is np.ndarray:
                    flags = arg.flags.num
                    if not flags & ALIGNED:
                        break
                    key.append((arg.dtype, arg.shape, True if flags & C_CONTIGUOUS else arg.strides))
                    leaves.append(arg)
                elif kind is float and not self.keep_python_scalars:
                    key.append(float)
                    leaves.append(arg)
                    only_arrays = False
                elif kind in STATIC_TYPES:
                    key.append((kind, arg))
                else:
                    break
            else:
                found = self._state.specialisations.get(tuple(key))
                if found:
                    entry = found[-1]
                    if type(entry) is Specialisation and entry.is_usable(leaves):
                        self._remember(entry, args)
                        try:
                            if entry.finish is not None and only_arrays:
                                return entry.finish(entry.compilation.executable.run(*leaves))
                            return entry.call(leaves)
                        except Exception as error:
                            if self.is_strict or has_written(error):
                                raise
                    elif type(entry) is Fallback and entry.parts is None:
                        with running_in_numpy():
                            return self.fn(*args)
        return self._call_slowly(args, kwargs)

    def _remember(self, entry: Specialisation, args: tuple) -> None:
        """Let the next call try this version first, where its arguments tell quickly that it is the one."""
        if entry.fast is None and entry.result is not None:
            is_current = entry.is_current if entry.traced.guards else None
            run, floats = entry.compilation.executable.run, not self.keep_python_scalars
            elsewhere = () if self._settled else device_choices
            call = fast_call(args, run, entry.result, is_current, floats_are_traced=floats, elsewhere=elsewhere)
            entry.fast = missed if call is None else call
        if entry.fast is not None and (self._settled or not self._moves):
            self._fast = entry.fast

    def _call_slowly(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        if current_trace() is not None:
            return self._inline(args, kwargs)
        args, kwargs = self._brought_here(args, kwargs)
        there = "" if self._settled or self.place != "cpu" else device_of(args, kwargs)
        if there:
            return self._on(available(there))(*args, **kwargs)
        parts: FunctionParts | None = None
        tried: Specialisation | None = None
        compiling: Pending | None = None
        try:
            entry, leaves = self._version(args, kwargs)
            if isinstance(entry, Fallback):
                parts = entry.parts
            elif isinstance(entry, Pending):
                compiling = entry
            elif entry.trial is not None and entry.trial.wants_numpy and not self.is_strict:
                tried = entry
            elif not entry.needs_numpy(leaves):
                begin = time.perf_counter()
                result = entry.call(leaves)
                if entry.trial is not None:
                    entry.trial.record_compiled(time.perf_counter() - begin)
                    self._settle(entry, args, kwargs)
                return result
        except (LoopAbortedError, CheckFailedError) as error:
            logger.info("%s runs in NumPy this time: %s", self.name, error)
            failure: Exception | None = None
        except (WorkbenchError, MemoryError, RecursionError) as error:
            if self.is_strict or has_written(error) or not isinstance(error, BackendError):
                raise
            failure = error
        except Exception as error:
            if self.is_strict or has_written(error):
                raise
            failure = None if isinstance(RoutineRaisedError.of(error), RoutineRaisedError) else error
        else:
            failure = None
        # Outside of the `except` clauses, so that an error of the user's own is not chained to ours. Nothing has been
        # written to the arguments yet: NumPy raises the user's errors, and leaves the arguments as it would have.
        if parts is not None:
            return parts(*args, **kwargs)
        begin = time.perf_counter()
        try:
            with running_in_numpy():
                result = self.fn(*args, **kwargs)
        finally:
            if compiling is not None:
                compiling.task.may_begin.set()
        if failure is not None:
            self._blame(failure, args, kwargs)
        if tried is not None and tried.trial is not None:
            tried.trial.record_numpy(time.perf_counter() - begin)
            self._settle(tried, args, kwargs)
        return result

    def _settle(self, entry: Specialisation, args: tuple, kwargs: dict[str, Any]) -> None:
        """End the trial of a version, if it is decided. Where NumPy is faster, calls of this kind stay there."""
        found = entry.trial
        if found is None or found.compiled_wins is None:
            return
        entry.trial = None
        if not found.compiled_wins:
            took = f"{min(found.numpy_s) * 1e3:.3g} ms in NumPy, {found.best_compiled_s * 1e3:.3g} ms compiled"
            message = (
                f"WB500  {self.name} runs in NumPy, which is faster for arguments of these types and sizes: {took}."
            )
            logger.info("%s", message)
            self._fall_back(TracingError(message, code="WB500"), args, kwargs)

    def _blame(self, failure: Exception, args: tuple, kwargs: dict[str, Any]) -> None:
        """What raised in the compiler did not raise in NumPy: a bug of ours. Calls of this kind stay in NumPy."""
        message = (
            f"WB903  {self.name} runs in NumPy, because the workbench failed: a bug of ours, not of your code.\n"
            f"   {type(failure).__name__}: {str(failure).strip()[:500]}"
        )
        logger.warning("%s", message)
        reason = TracingError(message, code="WB903")
        reason.__cause__ = failure
        self._fall_back(reason, args, kwargs)

    def _fall_back(self, reason: TracingError, args: tuple, kwargs: dict[str, Any]) -> None:
        key, _ = self._key(args, kwargs)
        with self._state.lock:
            found = self._state.specialisations.get(key, [])
            self._state.specialisations[key] = [*found[-3:], Fallback(reason)]

    def _inline(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        from ..frontend.trace import call_traced

        traced = self.trace(args, kwargs)
        return call_traced(self.name, traced, args, kwargs)

    # ---- devices ----

    def where(self) -> CompiledFunction:
        """This function on the device where it is to run now. DeviceError if that cannot be used."""
        if self._settled:
            return self
        place = chosen(self.device, auto=self.auto_device and self._moves)
        return self if place == self.place else self._on(place)

    def _brought_here(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments with results of a device as ndarrays, if the host was chosen for this function, or if they were
        looked at already."""
        leaves = optree.tree_leaves((args, kwargs), none_is_leaf=True)  # type: ignore[arg-type]  # a pytree of anything
        if not any(getattr(type(leaf), "is_device_result", False) for leaf in leaves):
            return args, kwargs
        on_host = not self.place.startswith("cuda") and bool(self._settled or self.device or config.device)
        look = functools.partial(looked_at, always=on_host)
        return optree.tree_map(look, (args, kwargs), none_is_leaf=True)  # type: ignore[return-value]

    def _on(self, place: str) -> CompiledFunction:
        with self._state.lock:
            if place not in self._elsewhere:
                there = CompiledFunction(
                    self.fn, static_argnums=self.static_argnums, static_argnames=self.static_argnames,
                    keep_python_scalars=self.keep_python_scalars, show_graph=self.show_graph, strict=self.strict,
                    name=self.name, auto_device=False,
                )  # fmt: skip
                there.place, there._settled = place, True
                self._elsewhere[place] = there
            return self._elsewhere[place]

    def _call_there(self, there: CompiledFunction, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run elsewhere. A GPU that nobody asked for must not break a program: the CPU takes over, once for all."""
        if self.device is not None or config.device:
            return there(*args, **kwargs)
        try:
            entry, leaves = there.specialise(args, kwargs)
            if isinstance(entry, Fallback) or entry.needs_numpy(leaves):
                return there(*args, **kwargs)
            return entry.call(leaves)
        except Exception as error:
            failure = error
        result = self._call_slowly(args, kwargs)  # the user's own errors are raised here again
        logger.warning("%s runs on the CPU from now on: %s", self.name, failure)
        self._moves = False
        return result

    # ---- specialisations ----

    def trace(self, args: tuple, kwargs: dict[str, Any]) -> Traced:
        """The program of this function for these arguments."""
        self.n_traces += 1
        if self.place.startswith("cuda"):
            args, kwargs = optree.tree_map(stand_in, (args, kwargs), none_is_leaf=True)  # type: ignore[assignment]
        return trace(
            self.fn, args, kwargs, static_argnums=self.static_argnums, static_argnames=self.static_argnames,
            keep_python_scalars=self.keep_python_scalars, strict=self.is_strict, name=self.name,
            on_gpu=self.place.startswith("cuda"),
        )  # fmt: skip

    @property
    def is_strict(self) -> bool:
        return config.strict if self.strict is None else self.strict

    def specialise(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Specialisation | Fallback, list[Any]]:
        """The version for these arguments, made now if there is none, and the traced leaves to call it with."""
        args, kwargs = self._brought_here(args, kwargs)
        with config(tiers=False):
            entry, leaves = self._version(args, kwargs)
        while isinstance(entry, Pending):
            entry.task.wait()
            entry, leaves = self._version(args, kwargs)
        return entry, leaves

    def _version(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Entry, list[Any]]:
        key, leaves = self._key(args, kwargs)
        entry = self._find(key)
        if entry is None:
            with self._state.lock:
                entry = self._find(key) or self._make(key, args, kwargs, leaves)
        if isinstance(entry, Pending) and entry.task.is_done:
            entry = self._compiled(key, entry)
        return entry, leaves

    def _compiled(self, key: Any, pending: Pending) -> Entry:
        """Put a version in the place of what is compiled now. Raises what compiling it raised, once."""
        with self._state.lock:
            found = self._state.specialisations.get(key, [])
            if pending not in found:  # another thread was faster
                return self._find(key) or pending
            if pending.task.error is not None:
                self._state.specialisations[key] = [other for other in found if other is not pending]
                raise pending.task.error
            entry = Specialisation(pending.traced, pending.task.result, pending.capture_keys)
            self._state.specialisations[key] = [entry if other is pending else other for other in found]
        return entry

    def _find(self, key: Any) -> Entry | None:
        for entry in reversed(self._state.specialisations.get(key, ())):
            if isinstance(entry, Fallback) or entry.is_current():
                return entry
        return None

    def _make(self, key: Any, args: tuple, kwargs: dict[str, Any], leaves: list[Any]) -> Entry:
        begin = time.perf_counter()
        entry: Entry
        try:
            traced = self.trace(args, kwargs)
        except TracingError as error:
            if self.is_strict:
                raise
            entry = Fallback(error, FunctionParts.of(self.fn, self.source(), error))
            how = "in NumPy" if entry.parts is None else "in NumPy, or in parts where that is faster"
            logger.warning("%s runs %s: %s", self.name, how, error)
        else:
            trace_ms = (time.perf_counter() - begin) * 1e3
            captured = [capture.read() for capture in traced.captures]
            layouts = [layout_of(leaf) for leaf in (*leaves, *captured)]
            what = (traced, layouts, self.source())
            how = {"output_names": traced.output_names, "trace_ms": trace_ms, "device": self.place}
            capture_keys = tuple(map(input_key, captured))
            waits = self.is_strict or self.show_graph  # side effects may have happened; the graph is wanted now
            if not waits and may_run_in_numpy(traced.jaxpr, self.place):
                entry = Pending(traced, capture_keys, compile_later(compile_traced, *what, **how))
            else:
                entry = Specialisation(traced, compile_traced(*what, **how), capture_keys)
                if self.show_graph:
                    from .hooks import show_graph

                    show_graph(entry.compilation)
        # The newest last: the fast path looks there first. A stale one may become current again.
        found = self._state.specialisations.get(key, [])
        self._state.specialisations[key] = [*found[-3:], entry]
        return entry

    def _key(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
        """The dispatch key of a call, and its traced leaves in order."""
        static = self._static_values(args, kwargs)
        dynamic_args = tuple(a for i, a in enumerate(args) if i not in self.static_argnums)
        dynamic_kwargs = {k: kwargs[k] for k in sorted(kwargs) if k not in self.static_argnames}
        leaves, tree = optree.tree_flatten((dynamic_args, dynamic_kwargs), none_is_leaf=True)  # type: ignore[arg-type]  # a pytree of anything
        key: list[Any] = []
        traced: list[Any] = []
        for leaf in leaves:
            kind = type(leaf)
            if isinstance(leaf, np.ndarray):
                key.append(array_key(leaf))
                traced.append(leaf)
            elif isinstance(leaf, np.generic):
                key.append((kind, leaf.dtype))
                traced.append(leaf)
            elif kind in (float, complex) and not self.keep_python_scalars:
                key.append(kind)
                traced.append(leaf)
            elif (aval := device_aval(leaf)) is not None:
                key.append(("device", aval))
                traced.append(leaf)
            elif kind in STATIC_TYPES or kind in (float, complex):
                # 0.0 == -0.0 and 1 == True, but they compute different things.
                key.append((kind, repr(leaf)) if kind in (float, complex) else (kind, leaf))
            else:
                key.append((kind, _Identity(leaf)))
        simple = not kwargs and not static and all(leaf is arg for leaf, arg in zip(leaves, args, strict=False))
        if simple and len(leaves) == len(args):
            return tuple(key), traced
        return (tuple(key), tree, static), traced

    def _static_values(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        values = [(i, args[i]) for i in sorted(self.static_argnums) if i < len(args)]
        named = [(name, kwargs[name]) for name in sorted(self.static_argnames) if name in kwargs]
        for where, value in (*values, *named):
            try:
                hash(value)
            except TypeError:
                raise NonHashableStaticArgumentError(
                    f"argument {where!r} of {self.name} is static and must be hashable, but it is a "
                    f"{type(value).__name__}; pass a tuple, or leave it out of static_argnums/static_argnames"
                ) from None
        return tuple((where, type(value), value) for where, value in (*values, *named))

    def source(self) -> Source:
        """The function's text and where it stands."""
        fn = inspect.unwrap(self.fn)
        code = getattr(fn, "__code__", None)
        try:
            lines, first = inspect.getsourcelines(fn)
            return Source(self.name, "".join(lines), code.co_filename if code else "", max(first, 1))
        except (OSError, TypeError):
            return Source(self.name, "", code.co_filename if code else "")


class _Identity:
    """Keys on an object itself where it cannot be hashed, on its equality where it can."""

    __slots__ = ("hash", "value")

    def __init__(self, value: Any):
        self.value = value
        try:
            self.hash = hash(value)
        except TypeError:
            self.hash = id(value)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Identity):
            return False
        if self.value is other.value:
            return True
        return self.hash == other.hash and self.hash != id(self.value) and bool(self.value == other.value)


def _signature(fn: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError):
        return None


def _static(
    signature: inspect.Signature | None,
    argnums: int | Collection[int] | None,
    argnames: str | Collection[str] | None,
) -> tuple[frozenset[int], frozenset[str]]:
    """Positions and names of static arguments; each given as one also counts as the other, as in JAX."""
    numbers = {argnums} if isinstance(argnums, int) else set(argnums or ())
    names = {argnames} if isinstance(argnames, str) else set(argnames or ())
    if signature is not None:
        parameters = list(signature.parameters.values())
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        for number in numbers:
            if not -len(positional) <= number < len(positional) and not variadic:
                raise ValueError(f"static_argnums {number} is out of range: there are {len(positional)} arguments")
        numbers = {n % len(positional) if -len(positional) <= n < 0 else n for n in numbers}
        keywords = any(p.kind is p.VAR_KEYWORD for p in parameters)
        for name in names:
            if name not in signature.parameters and not keywords:
                raise ValueError(f"static_argnames {name!r} is not an argument of the function")
        if argnames is None:
            names |= {positional[n].name for n in numbers if n < len(positional)}
        if argnums is None:
            numbers |= {i for i, p in enumerate(positional) if p.name in names}
    return frozenset(numbers), frozenset(names)
