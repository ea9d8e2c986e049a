"""What traced code reads from outside: globals, closure cells, defaults, attributes, and how each is seen.

Arrays become inputs of the program, read again at every call. Numbers, strings and functions become constants, each
with a guard that is checked at every call. Containers are copied with their arrays replaced by tracers, user functions
and classes are rebuilt over the same view of the world (`frontend.functions`), modules are wrapped
(`frontend.proxies`). So nothing outside is touched while tracing, and code that turns out untraceable can run in NumPy
from the start.
"""

from __future__ import annotations

import copy
import io
import logging
import operator
import types
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from ..errors import TracingError
from ..ir import aval_of, supported_dtype
from . import carried_objects
from .constants import CONSTANT_TYPES, is_constant, same_constant
from .device_arrays import device_aval, is_device_result
from .diagnostics import side_effect, unsupported, unsupported_dtype
from .held import APPENDED, Attributes, HeldValue, has_grown_since, places_set_since
from .library_places import copied_table, is_table, stays
from .outside_lists import OutsideList
from .overlay import Overlay
from .reads import ItemOf, KeysOf, LengthOf, Read, TypeOf, held_in, place_of
from .recording import Trace
from .tracer import Tracer, from_outside

T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class Capture:
    """An array that the program reads from outside: `read()` gives the present one.

    value: what it was traced with, kept for a nested call alone.
    """

    name: str
    read: Read
    value: Any


@dataclass(frozen=True, eq=False, slots=True)
class Guard:
    """A value that the trace took as a constant; when `holds()` is false, trace again."""

    name: str
    read: Read
    value: Any
    same: Callable[[Any, Any], bool] = operator.is_

    def holds(self) -> bool:
        try:
            return bool(self.same(self.read(), self.value))
        except Exception:  # the name, key or attribute is gone
            return False


def may_vary(guard: Guard) -> bool:
    """Whether it guards a number or list that an object, dict or list holds, which may be traced as one that varies."""
    value = guard.value
    is_list = type(value) is list or type(value) is tuple and value[:1] == (list,)
    return ("." in guard.name or "[" in guard.name) and (is_list or is_varying_number(value))


_MISSING = object()


@dataclass(frozen=True, eq=False, slots=True)
class Change:
    """The code gives an object, dict or list from outside the value `value` under `key`. read: gives it at a call."""

    name: str
    read: Read
    key: Any
    value: Any


class VaryingHeldError(BaseException):
    """The code changes numbers that objects, dicts or lists hold, or appends to lists, which were constants to it: it
    is to be traced anew, with those of these `names` as inputs and as `OutsideList`s. No `except` of the user's code,
    which is being traced, is to catch it."""

    def __init__(self, names: Collection[str]):
        super().__init__(", ".join(names))
        self.names = frozenset(names)


class ListingInPythonError(BaseException):
    """A comprehension became an equation whose elements Python would compute one by one, by calls of NumPy: as a loop
    it may do better. Not for the user's code to catch, either."""


class Terms:
    """On which code is traced. held: names under which it changes what is held; carries: whether objects of a class of
    the user's are what branches and loops give; writes_out: comprehensions as loops, which may go over lists of which
    only the run tells how long they are; keeps_listings: they stay even where Python computes their elements. lifter:
    of the present attempt."""

    def __init__(self, held: Collection[str]):
        self.held = frozenset(held)
        self.carries: Callable[[type], bool] | None = None
        self.writes_out = False
        self.keeps_listings = False
        self.lifter: Lifter | None = None

    def carry_more(self) -> bool:
        """Carry frozen objects, if there are such, or else all: others are told apart by who they are."""
        classes = self.lifter.classes if self.lifter is not None else []
        if self.carries is None and any(map(carried_objects.stays_as_made, classes)):
            self.carries = carried_objects.stays_as_made
        elif self.carries is not any_class and not all(map(carried_objects.stays_as_made, classes)):
            self.carries = any_class
        else:
            return False
        return True


def any_class(cls: type) -> bool:
    return True


def on_its_terms(attempt: Callable[[Terms], T], held: Collection[str] = ()) -> T:
    """What `attempt` gives, which traces code: more than once, where the trace finds that it needs other terms."""
    terms = Terms(held)
    first: TracingError | None = None
    unknown: TracingError | None = None
    while True:
        try:
            return attempt(terms)
        except VaryingHeldError as error:
            if error.names <= terms.held:
                raise _changed(min(terms.held), "changes", "something outside") from None
            terms.held |= error.names
        except ListingInPythonError:
            terms.writes_out = True
        except TracingError as error:
            is_of_objects = error.code in _OF_OBJECTS
            if terms.writes_out and unknown is None and not terms.keeps_listings:
                terms.writes_out, terms.keeps_listings = False, True
                continue
            if error.of_listing and not terms.writes_out:
                terms.writes_out = True
                unknown = error
                continue
            if unknown is not None:
                raise unknown from None
            if (first is not None or is_of_objects) and terms.carry_more():
                first = first or error
            elif first is not None and not is_of_objects:
                raise first from None
            else:
                raise
        finally:
            lifter, terms.lifter = terms.lifter, None
            if lifter is not None:
                carried_objects.leave(lifter.carried)


_OF_OBJECTS = ("WB181", "WB182")  # objects that are others on each path, or in each iteration


def is_varying_number(value: Any) -> bool:
    """Whether it is a number that is another one at each run where the code changes it; truth values are few."""
    if type(value) is int:
        return value.bit_length() < 63
    kind = type(value)  # by which a tracer is none
    return kind in (float, complex) or issubclass(kind, np.generic) and value.dtype.kind in "iufc"


class Lifter:
    """Gives the traced code its view of values from outside, each at most once.

    trace_floats: read floats as inputs instead of constants (cells, whose parameters change from run to run);
    trace_integers: names whose integers are inputs, too; trace_held_ints: so are those of objects that are others at
    every call; terms: what objects hold and the code changes (numbers that are inputs, lists that are `OutsideList`s),
    and whether objects are carried.
    """

    def __init__(
        self, trace: Trace, *, trace_floats: bool = False, trace_integers: Collection[str] = (),
        trace_held_ints: bool = False, terms: Terms | None = None,
    ):  # fmt: skip
        self.trace = trace
        self.carries = terms.carries if terms is not None else None
        self.classes: list[type] = []  # lifted
        self.carried: list[type] = []  # those whose objects branches and loops may give
        self.writes_out = terms is not None and terms.writes_out
        self.keeps_listings = terms is None or terms.writes_out or terms.keeps_listings
        if terms is not None:
            terms.lifter = self
        self.trace_floats = trace_floats
        self.trace_integers = trace_integers
        self.trace_held_ints = trace_held_ints
        self.trace_held = frozenset() if terms is None else terms.held
        self.parent: Lifter | None = None
        self.guards: list[Guard] = []
        self.overlays: dict[int, Overlay] = {}
        self.cells: dict[int, tuple[types.CellType, types.CellType, Any]] = {}  # original, ours, its first content
        self.cell_reads: dict[int, Read] = {}  # of cells that are others at another call
        self.is_by_content = False
        self.runs_statements = False  # it is for some statements of a cell or function, which run again and again
        self.n_in_numba = 0  # functions that numba compiles, of which the code runs
        self.ignores_warnings: list[bool] = []  # each `warnings.catch_warnings` around, whether it ignores all
        self.of_cell = False  # or of parts of a function: what takes long in Python may become one
        self.unfilled: set[int] = set()
        self.originals: dict[int, tuple[Any, Any]] = {}  # id of a lifted value -> (it, what it stands for)
        self._memo: dict[int, tuple[Any, Any, Read]] = {}
        self.hands_nothing_out = False
        self._through_parent = False  # what is read through the view of the trace around this one, that one guards
        self.instances: list[Read] = []  # what reads the objects whose attributes the code sees
        self._given_twice = ""  # a list or dict among the arguments
        self._given: dict[int, Any] = {}  # all containers among the arguments, as the code sees them
        self._arguments: set[int] = set()  # lists and dicts of which the call's key knows what they hold
        self._copies: list[tuple[str, Any, Any]] = []  # name, the copy that the code sees, its content at first

    # ---- namespaces ----

    def overlay(self, namespace: dict[str, Any]) -> Overlay:
        """The view of a module's globals."""
        if isinstance(namespace, Overlay) and namespace.lifter is self:
            return namespace
        found = self.overlays.get(id(namespace))
        if found is None:
            source = namespace if self.parent is None else self.parent.overlay(namespace)
            found = self.overlays[id(namespace)] = Overlay(self, source)
        return found

    # ---- values ----

    def lift(self, value: Any, name: str, read: Read) -> Any:
        """`value` as the traced code sees it. name: the user's path to it; read: how to get it at call time."""
        kind = type(value)
        if kind is Tracer or isinstance(kind, type) and issubclass(kind, _Lifted):
            return value
        if name in self.trace_held and is_varying_number(value):
            return self._scalar(value, name, read)
        traces_floats = self.trace_floats or self.is_by_content and not self.trace.keep_python_scalars
        if traces_floats and (kind in (float, complex) or isinstance(value, np.inexact)):
            return self._scalar(value, name, read)
        traces_ints = name in self.trace_integers or self.is_by_content and self.trace_held_ints
        if traces_ints and (kind is int and value.bit_length() < 64 or isinstance(value, np.integer)):
            return self._scalar(value, name, read)
        if isinstance(value, np.void):  # a record may be written to, and may be part of an array
            check_array(value, name)
        if isinstance(value, CONSTANT_TYPES):
            self.guard(name, read, value, same_constant)
            return value
        memo = self._memo.get(id(value))
        if memo is not None:
            first = memo[2]
            if isinstance(value, types.ModuleType | types.FunctionType) and place_of(read) and place_of(first):
                self.guard(name, read, value)  # a look-up, which costs a call less than the question below
                self.guard(name, first, value)
            elif first is not read and not stays(read, value):  # the program relies on both paths leading to one object
                self.guard(name, lambda: read() is first(), True)
            return memo[1]
        if isinstance(value, types.ModuleType):
            from .proxies import wrap_module

            return self._remember(value, wrap_module(self, value), read)
        return self._lift_object(value, name, read)

    def guard(self, name: str, read: Read, value: Any, same: Callable[[Any, Any], bool] = operator.is_) -> None:
        if not self._through_parent and not stays(read, value):
            self.guards.append(Guard(name, read, value, same))

    def _remember(self, value: Any, lifted: Any, read: Read) -> Any:
        self._memo[id(value)] = (value, lifted, read)
        if lifted is not value:
            self.originals[id(lifted)] = (lifted, value)
        return lifted

    def known(self, value: Any) -> Any:
        """What stands for `value`, None if nothing does yet."""
        memo = self._memo.get(id(value))
        return None if memo is None else memo[1]

    @contextmanager
    def by_content(self, given: bool = True) -> Iterator[None]:
        """What is lifted now stands for another object at each call: a function is known by its code and by what it
        holds, and floats are inputs."""
        before, self.is_by_content = self.is_by_content, given
        try:
            yield
        finally:
            self.is_by_content = before

    @contextmanager
    def whole_or_not(self, value: Any) -> Iterator[None]:
        """What is known while it is being lifted, and cannot be lifted whole, is refused the next time, too."""
        try:
            yield
        except BaseException:
            found = self._memo.pop(id(value), None)
            if found is not None:
                self.originals.pop(id(found[1]), None)
            raise

    def _scalar(self, value: Any, name: str, read: Read) -> Tracer:
        return from_outside(self.trace, _ScalarInput(value), name, read)

    def _lift_object(self, value: Any, name: str, read: Read) -> Any:
        from . import functions, proxies
        from .scipy_api import stand_in

        kind = type(value)
        if isinstance(value, np.ndarray):
            return self._remember(value, self._array(value, name, read), read)
        if self.trace.on_gpu and (aval := device_aval(value)) is not None:
            if not supported_dtype(aval.dtype):
                raise unsupported_dtype(aval.dtype, f"`{name}`, an array")
            return self._remember(value, from_outside(self.trace, aval, name, read), read)
        if is_device_result(value):
            return self._remember(value, self._array(value.look(), name, lambda: np.asarray(read())), read)
        if kind is list or kind is tuple or isinstance(value, tuple) and hasattr(value, "_make"):
            return self._sequence(value, name, read)
        if isinstance(value, dict):
            return self._mapping(value, name, read)
        if kind is deque:
            return self._deque(cast(deque, value), name, read)
        if isinstance(value, set | frozenset | deque | bytearray):
            if not isinstance(value, bytearray) and not all(map(is_constant, value)):
                raise unsupported(f"`{name}`, a {kind.__name__} of objects", why="copies of them are others")
            self.guard(name, read, copy.copy(value), lambda a, b: type(a) is type(b) and a == b)
            return self._remember(value, self._watched(name, copy.copy(value)), read)
        if proxies.is_impure(value):
            return self._remember(value, proxies.refuse(value, name), read)
        if isinstance(value, Iterator | io.IOBase | logging.Logger):
            raise side_effect(f"uses `{name}`, a {kind.__name__}", "its state must change at every run")
        index_object = proxies.wrap_index_object(value)
        if index_object is not value:
            return self._remember(value, index_object, read)
        handler = stand_in(value)
        if handler is not None:
            self.guard(name, read, value)
            return self._remember(value, proxies.Creation(cast(Any, value), handler), read)
        lifted = functions.lift_callable(self, value, name, read)
        if lifted is not functions.NOT_CALLABLE:
            return lifted
        if hasattr(kind, "__array__") or hasattr(kind, "__array_interface__") or hasattr(kind, "__dlpack__"):
            raise unsupported(f"`{name}`, a {kind.__module__}.{kind.__name__}", why="only NumPy arrays are traced")
        return functions.lift_instance(self, value, name, read)

    def _array(self, value: np.ndarray, name: str, read: Read) -> Tracer:
        check_array(value, name)
        return from_outside(self.trace, value, name, read)

    def _sequence(self, value: Any, name: str, read: Read) -> Any:
        if type(value) is list and name in self.trace_held:
            self.guard(name, TypeOf(read), list)
            self._copies.append((name, lifted := OutsideList(name), ()))
            return self._remember(value, lifted, read)
        if self._is_table(value, name, read):
            return self._table(value, name, read)
        self.guard(name, LengthOf(read), (type(value), len(value)), operator.eq)
        # Long lists of plain numbers are tables: one guard for all.
        if len(value) > 16 and all(type(v) in (int, float, str, bool) for v in value):
            self.guard(name, read, copy.copy(value), same_constant)
            items = list(value)
        else:
            items = [self.lift(v, f"{name}[{i}]", ItemOf(read, i)) for i, v in enumerate(value)]
        if isinstance(value, list):
            return self._remember(value, self._watched(name, items), read)
        lifted = value._make(items) if hasattr(value, "_make") else tuple(items)  # type: ignore[attr-defined]
        return self._remember(value, lifted, read)

    def _is_table(self, value: Any, name: str, read: Read) -> bool:
        varies = any(held.startswith(name) for held in self.trace_held)
        return not varies and not self._through_parent and is_table(read, value)

    def _table(self, value: Any, name: str, read: Read) -> Any:
        """A library's container of constants, with one guard for all that is in it."""
        self.guard(name, read, copied_table(value), operator.eq)
        self._through_parent = True
        try:
            return self.lift(value, name, read)
        finally:
            self._through_parent = False

    def _deque(self, value: deque, name: str, read: Read) -> Any:
        def form(x: Any) -> tuple[Any, ...]:
            return type(x), len(x), x.maxlen

        self.guard(name, lambda: form(read()), form(value), operator.eq)
        items = [self.lift(item, f"{name}[{i}]", ItemOf(read, i)) for i, item in enumerate(value)]
        return self._remember(value, self._watched(name, deque(items, value.maxlen)), read)

    def _mapping(self, value: dict, name: str, read: Read) -> Any:
        from .functions import is_traced_class, lift_dict_object

        if is_traced_class(type(value)):
            return lift_dict_object(self, value, name, read)
        if not all(map(is_constant, value)):
            raise unsupported(f"`{name}`, a dict with objects as keys", why="copies of them are others")
        if self._is_table(value, name, read):
            return self._table(value, name, read)
        self.guard(name, KeysOf(read), (type(value), list(value)), operator.eq)
        lifted: Any = {} if type(value) is dict else copy.copy(value)
        self._remember(value, lifted, read)  # it may hold itself
        with self.whole_or_not(value):
            for key, item in value.items():
                dict.__setitem__(lifted, key, self.lift(item, f"{name}[{key!r}]", ItemOf(read, key)))
        return self._watched(name, lifted)

    def read_of(self, lifted: Any) -> Read | None:
        """How to get at what a lifted value stands for; None of what the code itself made."""
        original = self.originals.get(id(lifted))
        memo = None if original is None else self._memo.get(id(original[1]))
        return None if memo is None else memo[2]

    def handed_out(self, lifted: Any) -> Any:
        """What a lifted value stands for, which a function that is kept holds: the program is for that object then."""
        from .unlifting import holds_constants_alone

        original, read = self.originals[id(lifted)][1], self.read_of(lifted)
        # What is only called does the same as another one of the same code and constants, which have their own guards.
        if read is not None and not (self.hands_nothing_out and holds_constants_alone(lifted)):
            self.guard(type(original).__name__, read, original)
        return original

    def must_be_made_anew(self, name: str) -> None:
        """The code makes a class or function that has a state of its own: each run is to make another one."""
        if not self.hands_nothing_out:
            self.guard(name, lambda: True, False)

    @contextmanager
    def handing_nothing_out(self) -> Iterator[None]:
        """What functions and classes stand for is only called: a program may do so at every run."""
        before = self.hands_nothing_out, self.originals
        self.hands_nothing_out, self.originals = True, dict(self.originals)
        try:
            yield
        finally:
            self.hands_nothing_out, self.originals = before

    # ---- changes to what is outside ----

    def _watched(self, name: str, lifted: Any) -> Any:
        self._copies.append((name, lifted, copy.copy(lifted)))
        return lifted

    def watch_argument(self, given: Any, copied: Any, name: str, read: Read) -> None:
        """Notice changes to what the code sees in place of a list or dict among its arguments. read: gives the one of a
        call."""
        if id(given) in self._memo:
            self._given_twice = name
            self._watched(name, copied)
            return
        self._remember(given, self._watched(name, copied), read)
        self._arguments.add(id(copied))

    def note_tuple(self, given: tuple, copied: tuple, read: Read) -> None:
        """What the code sees in place of a tuple among its arguments, which it may return."""
        if id(given) not in self._memo:
            self._remember(given, copied, read)

    def note_given(self, containers: Any) -> None:
        """What the code sees in place of the containers among its arguments: one for each place, of which several may
        be one outside."""
        self._given[id(containers)] = containers
        for item in containers.values() if isinstance(containers, dict) else containers:
            if issubclass(type(item), list | tuple | dict | deque):
                self.note_given(item)

    def is_outside(self, lifted: Any) -> bool:
        """Whether it is what the code sees in place of a container outside."""
        return id(lifted) in self._given or self.read_of(lifted) is not None

    def may_be_one(self, a: Any, b: Any) -> bool:
        """Whether two containers that the code sees may stand for one and the same outside, at this or another call."""
        return any(id(x) in self._given for x in (a, b)) and all(map(self.is_outside, (a, b)))

    def watch_attributes(self, name: str, holder: Any, read: Callable[[Any], dict[str, Any]]) -> None:
        """Notice at the end of the trace if an object's or a class's attributes were changed. read: gives them."""
        attributes = Attributes(holder, read)
        self._copies.append((name, attributes, attributes.content))

    @property
    def copies(self) -> Sequence[tuple[str, Any, Any]]:
        """The containers and `Attributes` that the code sees in place of those outside: name, it, its content at
        first."""
        return self._copies

    def changes(self) -> list[Change]:
        """What the code let objects, dicts and lists from outside hold: each run has to do so, too. Those that it
        changed in other ways are left out.

        VaryingHeldError if some were numbers that the program took for constants: at the next run they will be
        others.
        """
        if self.trace.parent is not None:
            return []
        found: list[Change] = []
        constants: list[str] = []
        for name, lifted, before in self._copies:
            holder, keys = places_set_since(before, lifted)
            read = self.read_of(holder)
            if read is None:
                continue
            is_argument = id(lifted) in self._arguments
            if has_grown_since(before, lifted) and not is_argument:
                constants.append(name)
            if type(lifted) is OutsideList and lifted.added:
                found.append(Change(name, read, APPENDED, list(lifted.added)))
            for key in keys or ():
                now = HeldValue.of(name, holder, key)
                found.append(Change(now.name, read, key, now.get()))
                if not is_argument and is_varying_number(before[key] if isinstance(before, list) else before.get(key)):
                    constants.append(now.name)
        if constants:
            raise VaryingHeldError(constants)
        if found and self._given_twice:
            raise _changed(self._given_twice, "is given twice", "both")
        return found

    def guard_objects_apart(self) -> None:
        """Let the program run only where the objects that it takes for several are several."""
        if len(self.instances) > 1:
            reads = tuple(self.instances)
            self.guard("objects", lambda: len({id(read()) for read in reads}), len(reads), operator.eq)

    def containers_apart(self) -> tuple[Read, ...]:
        """What reads the lists and dicts that the program takes for several: a call may find one of them twice."""
        containers = [lifted for _, lifted, _ in self._copies if not isinstance(lifted, Attributes)]
        reads = [self.read_of(lifted) for lifted in containers if isinstance(lifted, list | dict)]
        return tuple(read for read in reads if read is not None)

    def check_side_effects(self, known: Sequence[Change] = ()) -> None:
        """SideEffectError if the code changed something outside besides arrays: it has to do so at every run. known:
        what the program does."""
        names = {change.name for change in known}
        for name, lifted, before in self._copies:
            if not _unchanged(lifted.content if isinstance(lifted, Attributes) else lifted, before):
                holder, keys = places_set_since(before, lifted)
                if type(lifted) is OutsideList:
                    keys = (APPENDED,)
                if keys is None or not names.issuperset(HeldValue.of(name, holder, key).name for key in keys):
                    raise _changed(name, "changes", "something outside")
        for _original, cell, before in self.cells.values():
            if held_in(cell, _MISSING) is not before:
                raise _changed("a nonlocal variable", "assigns", "it")
        for _, name in self.assigned_globals():
            raise _changed(name, "assigns the global", "it")

    def assigned_globals(self) -> dict[tuple[int, str], Any]:
        """The globals that functions have set, and are not what they were outside, by the overlay and the name."""
        return {
            (key, name): value
            for key, overlay in self.overlays.items()
            if overlay.refuses_writes
            for name, value in overlay.assigned().items()
        }

    @contextmanager
    def globals_stay(self) -> Iterator[None]:
        """A side of a branch, or the body of a loop, that may not run: it has to leave the globals as they were."""
        before = self.assigned_globals()
        try:
            yield
        except BaseException:
            for key, name in self.assigned_globals().keys() - before.keys():
                dict.pop(self.overlays[key], name)
            for (key, name), value in before.items():
                dict.__setitem__(self.overlays[key], name, value)
            raise
        after = self.assigned_globals()
        for place in after.keys() | before.keys():
            if after.get(place, _MISSING) is not before.get(place, _MISSING):
                raise _changed(place[1], "assigns the global", "it")


class _Lifted:
    """Base of the stand-ins of `frontend.proxies`, which need no lifting."""


class _ScalarInput:
    """A float from outside, as an input: it is not known by identity, as arrays are."""

    __slots__ = ("aval", "value")

    def __init__(self, value: Any):
        self.value = value
        self.aval = aval_of(value)


def check_array(value: np.ndarray | np.void, name: str = "") -> None:
    """UnsupportedOperationError for what is not traced: arrays of objects, strings, halves; subclasses; records."""
    if type(value) is not np.ndarray and not isinstance(value, np.memmap):
        raise unsupported(f"`{name}`, a {type(value).__name__}", why="only plain ndarrays are traced", code="WB121")
    if not supported_dtype(value.dtype):
        raise unsupported_dtype(value.dtype, f"`{name}`, an array" if name else "an array")


def _unchanged(now: Any, before: Any) -> bool:
    if type(now) is OutsideList:
        return not now.added
    if isinstance(now, dict):
        return len(now) == len(before) and all(
            k is j and v is before[j] for (k, v), j in zip(now.items(), before, strict=True)
        )
    if isinstance(now, list | deque):
        return len(now) == len(before) and all(map(operator.is_, now, before))
    return now == before


def _changed(name: str, verb: str, what: str) -> TracingError:
    from ..errors import SideEffectError

    return SideEffectError(
        f"WB160  The code {verb} `{name}`, which lives outside; tracing runs it once, but {what} must change at "
        f"every run.\n   Fix  return the new value instead\n   SideEffectError WB160: `{name}` is changed",
        value=name,
        fixes=("return the new value instead",),
    )
