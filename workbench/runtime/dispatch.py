"""Dispatch: from a call to a specialised executable.

A call is keyed on what its machine code depends on: dtype, shape and contiguity of arrays, values of static arguments.
The first call with a key traces and compiles; later ones look it up, check that captured values are what they were, and
run. NumPy runs what cannot be traced, with the reason kept, and, with `config.tiers`, what is being compiled.
"""

from __future__ import annotations

import functools
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import optree

from ..config import config, device_choices
from ..errors import BackendError, CheckFailedError, RoutineRaisedError, TracingError, WorkbenchError, bug_of_ours
from ..frontend.counted_lists import enlarge
from ..frontend.diagnostics import raised_in_a_trace
from ..frontend.held import holds_attributes
from ..frontend.numba_functions import register_compiled
from ..frontend.positions import user_traceback
from ..frontend.reads import Read
from ..frontend.recursion import too_deep_recursion
from ..frontend.scopes import running_in_numpy, unmarked
from ..frontend.trace import Traced, present_arguments, trace
from ..frontend.tracer import current_trace
from .arguments import input_key, layout_of
from .compilation import Compilation, Source, compile_traced
from .devices import accelerator, available, brought_here, canonical, chosen, device_of, stand_in, trace_for
from .executable import Executable, has_written
from .fast_path import MISS, Native, fast_call, fits_call, missed, outside_traces
from .given import Given
from .keys import (
    StaticArguments,
    call_key,
    objects_of,
    plain_key,
    signature_of,
    without_constants,
    without_generators,
    without_sizes,
)
from .log import logger
from .loops import LoopAbortedError
from .parts.untraced import UntracedFunction
from .rival import Rival
from .specialisation import Entry, Fallback, Specialisation, UntilItReturns, held_anew
from .tiers import Pending, compile_later, may_run_in_numpy
from .varying import (
    MOST_HELD,
    MOST_VALUES,
    NUMPY_RUNS,
    TimedInNumpy,
    Varying,
    VaryingSizes,
    too_many_sizes,
    too_many_values,
)

MOST_PINNED = 8  # versions of a function for other Python floats
MOST_RAISING = 64
MOST_REFUSED = 16  # kinds of calls that cannot be traced: then none is tried any more, if none could be
MOST_LEFT = 4  # calls in a row that a check leaves to NumPy: then all do
NO_READS: Mapping[int, Read] = MappingProxyType({})


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
        fast: bool = False,
    ):
        functools.update_wrapper(self, fn, updated=())
        self.fn = fn
        self.name = name or getattr(fn, "__name__", type(fn).__name__)
        self.signature = signature_of(fn)
        self.static = StaticArguments.of(self.signature, static_argnums, static_argnames)
        self.keep_python_scalars = keep_python_scalars
        self.show_graph = show_graph
        self.strict = strict
        self.fast = fast
        self.n_traces = 0
        self._pinned: set[Any] = set()  # keys of versions in which Python floats are constants, since shapes need them
        self._may_pin = not keep_python_scalars
        self._state = _State()
        self._traced_ints: frozenset[int] = frozenset()  # leaves of the arguments, which take many values
        self._leaves_messages = True
        self._may_trace_ints = self._may_trace_held_ints = True
        self._by_kind: frozenset[int] = frozenset()  # leaves that are objects, others at every call
        self._given = Given()
        self._traced_held_ints = False  # whether ints that these hold are inputs
        self._varying: dict[Any, Varying] = {}
        self._sizes: dict[Any, VaryingSizes] = {}
        self._raising: set[Any] = set()  # keys of calls that raised when they were traced, and in NumPy
        self._fast: Callable[..., Any] = missed  # of the latest call's version
        self._fits_numpy: Callable[..., Any] = missed  # tells whether NumPy runs a call, as it did the latest one
        self._plain = not self.static
        self._held: frozenset[str] = frozenset()  # what objects hold and calls change, by path
        self._may_vary = True
        self._refused: Fallback | None = None  # the latest
        self._refused_kinds: dict[Any, Fallback] = {}  # for random generators of any state
        self._n_refused = 0.0  # kinds of calls that could not be traced, while none could
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
        entries, others = self._everywhere()
        found = [e.compilation for e in entries if not isinstance(e, Fallback) and e.compilation is not None]
        return found + [compilation for other in others for compilation in other.compilations]

    @property
    def fallbacks(self) -> list[TracingError]:
        """Why some calls ran in NumPy."""
        entries, others = self._everywhere()
        found = [e.reason for e in entries if isinstance(e, Fallback)]
        return found + [reason for other in others for reason in other.fallbacks]

    def _everywhere(self) -> tuple[list[Entry], list[CompiledFunction]]:
        with self._state.lock:
            return [e for found in self._state.specialisations.values() for e in found], [*self._elsewhere.values()]

    # ---- the call ----

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        is_here = self._settled or not (device_choices or self._moves)
        in_numpy = self._fast is missed and is_here and self._fits_numpy(*args, **kwargs) is not MISS
        if not in_numpy:
            try:
                result = self._fast(*args, **kwargs)
            except Exception as error:
                if self.is_strict or has_written(error):
                    raise
                self._fast = missed
                result = MISS
            if result is not MISS:
                return result
            if not is_here and current_trace() is None:
                there = self.where()
                if there is not self:
                    return self._call_there(there, args, kwargs)
            in_numpy = self._fits_numpy(*args, **kwargs) is not MISS
        in_numpy = in_numpy and not self.is_strict
        if not in_numpy and self._plain and not kwargs and current_trace() is None:
            plain = plain_key(args, keep_python_scalars=self.keep_python_scalars, traced_ints=self._traced_ints)
            if plain is not None:
                key, leaves, only_arrays = plain
                found = self._state.specialisations.get(key)
                if found:
                    entry = found[-1]
                    if type(entry) is Specialisation and entry.is_usable(leaves):
                        self._remember(entry, args, kwargs)
                        try:
                            if entry.finish is not None and only_arrays:
                                return entry.finish(entry.compilation.executable.run(*leaves))
                            return entry.call(leaves)
                        except Exception as error:
                            if self.is_strict or has_written(error):
                                raise
                    elif type(entry) is Fallback and not self.is_strict and entry.stays_in_numpy:
                        self._remember_way(entry, args, kwargs)
                        in_numpy = True
        try:
            if in_numpy:
                __tracebackhide__ = True  # for IPython and pytest
                token = unmarked.set(True)  # as `running_in_numpy` does, in a third of the time
                try:
                    return self.fn(*args, **kwargs)
                finally:
                    unmarked.reset(token)
            return self._call_slowly(args, kwargs)
        except BaseException as error:
            if not config.full_tracebacks:
                error.__traceback__ = user_traceback(error.__traceback__, with_numpy=True)
            raise

    def _remember(self, entry: Specialisation, args: tuple, kwargs: dict[str, Any]) -> None:
        """Let the next call try this version first, where its arguments tell quickly that it is the one."""
        if entry.fast is not missed and self._fast is entry.fast:
            entry.misses()
        if entry.fast is None and entry.result is not None:
            executable, floats = entry.compilation.executable, not self.keep_python_scalars
            elsewhere = () if self._settled else device_choices
            outside = entry.traced.guards, entry.traced.captures, entry.traced.writes
            replace = functools.partial(self._replace_fast, entry)
            native = Native(executable.native_plan, replace) if isinstance(executable, Executable) else None
            call = fast_call(
                args, kwargs, executable.run, entry.result, *outside, floats_are_traced=floats, elsewhere=elsewhere,
                native=native, given=self._given, by_kind=self._by_kind, traced_ints=self._traced_ints,
            )  # fmt: skip
            entry.fast = missed if call is None else call
        if entry.rival is not None:
            entry.rival.enter()
        if entry.fast is not None and (self._settled or not self._moves):
            self._fast = entry.fast

    def _remember_way(self, entry: Fallback, args: tuple, kwargs: dict[str, Any]) -> None:
        """Let the next call run whole or in NumPy at once, if that is known to be faster, where its arguments tell
        quickly that it is such a one again."""
        if not entry.stays_in_numpy:
            if isinstance(entry.parts, UntracedFunction) and not kwargs:
                self._fast = entry.parts.fast(args, () if self._settled else device_choices) or self._fast
            return
        if entry is self._refused and self._n_refused >= MOST_REFUSED:
            self._fits_numpy = outside_traces  # whatever they are
            return
        if entry.fits is None:
            about = {"given": self._given, "by_kind": self._by_kind, "traced_ints": self._traced_ints}
            entry.fits = fits_call(args, kwargs, floats_are_traced=not self.keep_python_scalars, **about)
        self._fits_numpy = entry.fits

    def _replace_fast(self, entry: Specialisation, call: Callable[..., Any] | None, found: Callable[..., Any]) -> None:
        entry.fast = found
        if self._fast is call:
            self._fast = found

    def _call_slowly(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        if current_trace() is not None:
            return self._inline(args, kwargs)
        with present_arguments(args, kwargs):
            return self._call_anew(args, kwargs)

    def _call_anew(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        try:
            args, kwargs = self._brought_here(args, kwargs)
        except RecursionError:  # a list or dict among them holds itself
            with running_in_numpy():
                return self.fn(*args, **kwargs)
        there = "" if self._settled or self.place != "cpu" else device_of(args, kwargs)
        if there:
            return self._call_and_follow(self._on(available(there)), args, kwargs)
        parts: UntracedFunction | TimedInNumpy | UntilItReturns | None = None
        tried = running = compiling = None
        try:
            entry, leaves = self._version(args, kwargs)
            if isinstance(entry, Fallback):
                parts = entry.parts
                if self._plain:
                    self._remember_way(entry, args, kwargs)
            elif isinstance(entry, Pending):
                compiling = entry
            elif entry.trial is not None and entry.trial.wants_numpy and not self.is_strict:
                tried = entry
            elif not entry.needs_numpy(leaves):
                if entry.trial is None and self._plain and self.place == "cpu":
                    self._remember(entry, args, kwargs)  # now: the call may change what its arguments hold
                begin = time.perf_counter()
                running = entry
                result = entry.call(leaves)
                entry.n_left = 0
                if self._settled and not kwargs and self._plain:
                    self._fast = entry.fast_on_device(args, ()) or missed
                if entry.trial is not None:
                    entry.trial.record_compiled(time.perf_counter() - begin)
                    if len(entry.trial.compiled_s) == 1 and self._plain and not kwargs and self.place == "cpu":
                        replace = functools.partial(self._replace_fast, entry)
                        entry.rival = Rival.of(self.fn, self.source(), entry, args, replace)
                    self._settle(entry, args, kwargs)
                return result
        except (LoopAbortedError, CheckFailedError) as error:
            if not self.is_strict and enlarge(error):
                return self._call_anew(args, kwargs)
            logger.info("%s runs in NumPy this time: %s", self.name, error)
            failure: Exception | None = None
        except (WorkbenchError, MemoryError) as error:
            failure = None if running is not None and type(error) is MemoryError else error  # NumPy names the array
            if self.is_strict or has_written(error) or not isinstance(failure, BackendError | None):
                raise
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
        except Exception:
            if failure is not None and len(self._raising) < MOST_RAISING:
                self._raising.add(self._key(args, kwargs)[0])
            raise
        finally:
            if compiling is not None:
                compiling.task.may_begin.set()
        if running is not None and failure is None:
            running.n_left += 1
            self._fast = missed  # which would not tell of a call that is not left
            if running.n_left == MOST_LEFT:
                self._leave(running, args, kwargs)
        if isinstance(failure, RecursionError):
            why = too_deep_recursion()
            self._fall_back(why, args, kwargs, UntracedFunction.whole_of(self.fn, self.source(), why))
        elif failure is not None:
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
            reason = found.numpy_wins(self.name)
            logger.info("%s", reason)
            self._fall_back(reason, args, kwargs, UntracedFunction.whole_of(self.fn, self.source(), reason))
        elif entry.rival is not None:
            entry.rival.best_s = found.best_compiled_s

    def _leave(self, entry: Specialisation, args: tuple, kwargs: dict[str, Any]) -> None:
        """A check of a version has failed several times in a row. It may be for a message, which parts of the code can
        give while they run; otherwise NumPy runs such calls."""
        if entry.traced.leaves_messages:
            self._leaves_messages = False
            with self._state.lock:
                for key, found in self._state.specialisations.items():
                    self._state.specialisations[key] = [other for other in found if other is not entry]
        else:
            message = f"WB351  {self.name} runs in NumPy: a check has failed {MOST_LEFT} times in a row."
            self._fall_back(TracingError(message, code="WB351"), args, kwargs)

    def _blame(self, failure: Exception, args: tuple, kwargs: dict[str, Any]) -> None:
        """What raised in the compiler did not raise in NumPy, mostly for a bug of ours. Such calls stay in NumPy."""
        known = raised_in_a_trace(failure)
        if known is not None:
            logger.warning("%s runs in NumPy: %s", self.name, known)
            self._fall_back(known, args, kwargs)
            return
        reason = bug_of_ours(self.name, failure)
        logger.warning("%s", reason)
        self._fall_back(reason, args, kwargs)

    def _fall_back(self, reason: TracingError, args: tuple, kwargs: dict, way: UntracedFunction | None = None) -> None:
        try:
            key, _ = self._key(args, kwargs)
        except RecursionError:  # a list or dict that holds itself
            return
        with self._state.lock:
            self._state.specialisations[key] = [*self._state.specialisations.get(key, [])[-3:], Fallback(reason, way)]

    def _inline(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        from ..frontend.trace import call_traced

        outer = current_trace()
        leaves = optree.tree_leaves((args, kwargs), none_is_leaf=True)  # type: ignore[arg-type]  # a pytree of anything
        if outer is not None and outer.lifter is not None and any(map(holds_attributes, leaves)):
            # What it changes of an object is the outer program's to change: that records the body itself.
            return outer.lifter.lift(self.fn, self.name, lambda: self.fn)(*args, **kwargs)
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
        on_host = not self.place.startswith("cuda") and bool(self._settled or self.device or config.device)
        return brought_here(args, kwargs, always=on_host)

    def _on(self, place: str) -> CompiledFunction:
        with self._state.lock:
            if place not in self._elsewhere:
                there = CompiledFunction(
                    self.fn, static_argnums=self.static.numbers, static_argnames=self.static.names,
                    keep_python_scalars=self.keep_python_scalars, show_graph=self.show_graph, strict=self.strict,
                    name=self.name, auto_device=False, fast=self.fast,
                )  # fmt: skip
                there.place, there._settled = place, True
                self._elsewhere[place] = there
            return self._elsewhere[place]

    def _call_there(self, there: CompiledFunction, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run elsewhere. A GPU that nobody asked for must not break a program: the CPU takes over, once for all."""
        if self.device is not None or config.device:
            return self._call_and_follow(there, args, kwargs)
        try:
            with present_arguments(args, kwargs):
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

    def _call_and_follow(self, there: CompiledFunction, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run elsewhere, and let the next call go there at once if its arguments lie there, too."""
        result = there(*args, **kwargs)
        if there._fast is not missed and there.place.startswith("cuda"):
            followed, chosen_since = there._fast, () if self.device else device_choices
            self._fast = lambda *given: MISS if chosen_since else followed(*given)
        return result

    # ---- specialisations ----

    def trace(
        self, args: tuple, kwargs: dict[str, Any], *, falls_back: bool = False, given: Mapping[int, Read] = NO_READS
    ) -> Traced:
        """The program of this function for these arguments. falls_back, given: as for `frontend.trace.trace`."""
        self.n_traces += 1
        if self.place.startswith("cuda"):
            args, kwargs = optree.tree_map(stand_in, (args, kwargs), none_is_leaf=True)  # type: ignore[assignment]

        def for_gpu(on_gpu: bool) -> Traced:
            return trace(
                self.fn, args, kwargs, static_argnums=self.static.numbers, static_argnames=self.static.names,
                keep_python_scalars=self.keep_python_scalars, strict=self.is_strict, name=self.name,
                on_gpu=on_gpu, falls_back=falls_back, leaves_messages=falls_back and self._leaves_messages,
                traced_ints=self._traced_ints,
                varying=self._held, given=given, traced_held_ints=bool(given) and self._traced_held_ints,
            )  # fmt: skip

        return trace_for(self.place, for_gpu)

    @property
    def is_strict(self) -> bool:
        strict = self.strict
        return config.strict if strict is None else strict

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
        while entry is None:
            with self._state.lock:
                entry = self._find(key) or self._make(key, args, kwargs, leaves)
            if entry is None:  # Python floats have become constants, or are traced again
                key, leaves = self._key(args, kwargs)
                entry = self._find(key)
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
            if not self.is_strict if isinstance(entry, Fallback) else entry.is_current():
                return entry
        return None

    def _make(self, key: Any, args: tuple, kwargs: dict[str, Any], leaves: list[Any]) -> Entry | None:
        """A new version; None if the key of such a call is another one from now on."""
        if key in self._raising:
            reason = TracingError("WB100  A call like this raised an error when it was traced, and in NumPy.")
            return Fallback(reason, UntilItReturns(self.fn, self._raising, key))
        if self._refused is not None and self._n_refused >= MOST_REFUSED and not self.is_strict:
            return self._refused
        begin = time.perf_counter()
        entry: Entry | None
        kind, values = without_constants(key)
        any_generator = (kind, without_generators(values))
        if not self.is_strict and any_generator in self._refused_kinds:
            return self._refused_kinds[any_generator]
        varying = self._varying.setdefault(kind, Varying())
        if objects := varying.objects(values):
            self._by_kind |= objects
            self._fast = missed
            return None
        if self._may_trace_held_ints and not self._traced_held_ints and len(varying.values) >= MOST_HELD:
            if objects_of(key) and not self.is_strict:
                self._trace_held_ints(True)
                return None
        if not self.is_strict and len(varying.values) >= MOST_VALUES:
            if self._may_trace_ints and not self._traced_ints and (ints := varying.ints()):
                self._trace_ints(ints)
                return None
            entry = self._of_other_values(varying, values)
            if entry is not None:
                return entry
        rank_key, shapes = without_sizes(key)
        sizes = self._sizes.setdefault(rank_key, VaryingSizes())
        if not self.is_strict and self.place == "cpu" and sizes.are_better_in_numpy(shapes):
            return Fallback(too_many_sizes(self.name), TimedInNumpy(self.fn, sizes.numpy_s))
        if self._pinned:
            self._pinned.add(key)
            if len(self._pinned) > MOST_PINNED:
                self._pin(False)
                return None
        if self._may_vary:
            self._held |= held_anew(self._state.specialisations.get(key, ()))
        try:
            traced = self.trace(args, kwargs, falls_back=not self.is_strict, given=self._reads(key))
        except TracingError as error:
            if self._held:  # the code asks for more than varies
                self._held, self._may_vary = frozenset(), False
                return None
            if self.is_strict:
                raise
            if self._traced_ints and self._may_trace_ints:
                self._may_trace_ints = False
                self._trace_ints(frozenset())
                return None
            if self._traced_held_ints and self._may_trace_held_ints:
                self._may_trace_held_ints = False
                self._trace_held_ints(False)
                return None
            if error.of_numbers and self._may_pin:
                # `np.zeros(int(length / step))`: the floats that sizes are computed from are known, as ints are.
                self._pinned.add(key)
                self._pin(True)
                return None
            self._refused = entry = Fallback(error, UntracedFunction.of(self.fn, self.source(), error, fast=self.fast))
            self._n_refused += 1
            if any_generator[1] != values:
                self._refused_kinds[any_generator] = entry
            others = "" if entry.parts is None else ", in parts or whole, whichever is fastest"
            logger.warning("%s runs in NumPy%s: %s", self.name, others, error)
        else:
            self._n_refused = -math.inf
            trace_ms = (time.perf_counter() - begin) * 1e3
            captured = [capture.read() for capture in traced.captures]
            layouts = [layout_of(leaf) for leaf in (*leaves, *captured)]
            what = (traced, layouts, self.source())
            how = {"output_names": traced.output_names, "trace_ms": trace_ms, "device": self.place,
                   "fast": self.fast}  # fmt: skip
            capture_keys = tuple(map(input_key, captured))
            waits = self.is_strict or self.show_graph  # side effects may have happened; the graph is wanted now
            if not waits and may_run_in_numpy(traced.jaxpr, self.place):
                entry = Pending(traced, capture_keys, compile_later(compile_traced, *what, **how))
            else:
                entry = Specialisation(traced, compile_traced(*what, **how), capture_keys)
                if self.show_graph:
                    from .hooks import show_graph

                    show_graph(entry.compilation)
        varying.values.append(values)
        varying.made_s.append(time.perf_counter() - begin)
        sizes.made_s.append(time.perf_counter() - begin)
        # The newest last: the fast path looks there first. A stale one may become current again.
        found = self._state.specialisations.get(key, [])
        self._state.specialisations[key] = [*found[-3:], entry]
        return entry

    def _of_other_values(self, varying: Varying, values: tuple) -> Fallback | None:
        """NumPy for a call that differs from many others in constants; None if another version is worth making."""
        if len(varying.numpy_s) < NUMPY_RUNS:
            return Fallback(too_many_values(self.name), TimedInNumpy(self.fn, varying.numpy_s))
        if not varying.is_better_in_numpy(values):
            return None
        if varying.numpy is None:
            reason = too_many_values(self.name)
            varying.numpy = Fallback(reason, UntracedFunction.of(self.fn, self.source(), reason, fast=self.fast))
            logger.info("%s", reason)
        return varying.numpy

    def _trace_ints(self, positions: frozenset[int]) -> None:
        """From now on, ints at these positions are inputs of the program."""
        self._traced_ints = positions
        self._fast = missed

    def _trace_held_ints(self, traced: bool) -> None:
        """From now on, ints that the objects among the arguments hold are inputs of the program, or constants again."""
        self._traced_held_ints = traced
        self._fast = missed

    def _pin(self, pinned: bool) -> None:
        """Take Python floats for constants from now on, or never again: they take too many values."""
        self._may_pin = False
        self.keep_python_scalars = pinned
        self._fast = missed
        if not pinned:
            self._pinned.clear()

    def _key(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
        given: list[Any] = []
        found = call_key(
            self.static, args, kwargs, keep_python_scalars=self.keep_python_scalars, function=self.name,
            traced_ints=self._traced_ints, by_kind=self._by_kind,
            traced_held_ints=self._traced_held_ints, given=given,
        )  # fmt: skip
        if self._by_kind:
            self._given.objects = given
        return found

    def _reads(self, key: Any) -> dict[int, Read]:
        """What reads the objects of later calls with this key, by their positions."""
        positions = objects_of(key)
        return {position: self._given.read(k) for k, position in enumerate(positions)}

    def source(self) -> Source:
        """The function's text and where it stands."""
        return Source.of(self.fn, self.name)


register_compiled(CompiledFunction, lambda compiled: compiled.fn if compiled.device is None else None)
