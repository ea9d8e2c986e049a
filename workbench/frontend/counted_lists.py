"""Lists to which a loop appends as often as only the run tells: an array with room for them, and how many there are.

    history = []                              items, n = np.zeros(ROOM), 0
    while error > tolerance:                  while error > tolerance:
        error = ...                               error = ...
        history.append(error)                     items[n] = error; n += 1
                                              history = list(items[:n])

Where the room does not suffice, the call ends and runs again in NumPy, and the program is traced anew with more room
(`enlarge`). Which kind of items there are is found by tracing the loop with lists that take none (`ItemFoundError`).
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import optree

from ..errors import CheckFailedError, TracingError, UnknownLengthError
from ..ir import REGISTRY, Var
from .blanks import NUMBERS
from .captures import Guard
from .carried_objects import is_carried, is_frozen
from .checks import end_unless
from .choices import VALUE, holds_choices, is_choice, maker, settled
from .diagnostics import build
from .items import item_at
from .merging import refuse
from .places import Place, SharedMemory, appended_at, repeated_in, set_place, unless_carried
from .positions import current_spans
from .recording import Deferred, Trace, signalled
from .tracer import Tracer, emit, from_atom, lift, method, require_trace

T = TypeVar("T")
FIRST_BYTES = 1 << 18  # the start of every call sets them to zero
MOST_BYTES = 1 << 21  # so that the loop still runs natively
FEWEST_ITEMS, MOST_ITEMS = 16, 8192  # at first
_MIXED: dict[tuple[type, ...], Any] = {(float,): np.float64, (int,): np.int64}  # Python's numbers, and NumPy's of them
GROWS = 16  # times, where the room did not suffice
MOST_LEFT_BYTES = 1 << 26  # of a list that one equation leaves, whose array is written as far as there are items
_rooms: dict[tuple[str, int], int] = {}  # items, by the place of the statement that appends, or of the loop
_most: dict[tuple[str, int], int] = {}  # for how many there may be room


@dataclass(frozen=True, slots=True)
class Item:
    """What a list holds, or what stands in one place of the tuples, lists or dicts in it. kind: "array", "scalar" (of
    NumPy) or "python" (numbers of Python's)."""

    shape: tuple[int, ...]
    dtype: np.dtype
    kind: str

    @classmethod
    def of(cls, x: Tracer) -> Item:
        kind = "array" if not x.scalar else "python" if x.aval.weak_type else "scalar"
        return cls(x.shape, x.dtype, kind)

    def is_like(self, other: Item) -> bool:
        """Whether they are the same, or floats of which one is Python's."""
        return (
            self == other or {self.kind, other.kind} == {"scalar", "python"} and self.dtype == other.dtype == np.float64
        )

    @property
    def n_bytes(self) -> int:
        return self.dtype.itemsize * int(np.prod(self.shape))


@dataclass(frozen=True, slots=True)
class Items:
    """What one call of `append` adds: one item, or a container of them. tree: of that, None for an item by itself;
    place: of the first such call; are_read: whether the loop reads arrays of the list;
    repeated: the parts of which several may be one array; mixed: what NumPy's numbers may be of Python's."""

    items: tuple[Item, ...]
    tree: Any
    place: tuple[str, int]
    are_read: bool = False
    repeated: frozenset[int] = frozenset()
    mixed: tuple[type, ...] = ()

    @property
    def room(self) -> int:
        """How many there is room for."""
        first = FIRST_BYTES // max(max(item.n_bytes for item in self.items), 1)
        return _rooms.get(self.place, max(min(MOST_ITEMS, first), FEWEST_ITEMS))

    @property
    def are_rows(self) -> bool:
        """Whether they are tuples or lists of numbers, and of nothing else."""
        if self.tree is None or self.tree.type not in (tuple, list) or self.tree.num_nodes != len(self.items) + 1:
            return False
        return all(item.kind != "array" for item in self.items)

    def are_like(self, other: Items) -> bool:
        """Whether they differ at most in which floats are Python's."""
        if self.tree != other.tree or len(self.items) != len(other.items):
            return False
        return all(mine.is_like(its) for mine, its in zip(self.items, other.items, strict=True))

    def fits(self, other: Items) -> bool:
        """Whether a list of these takes the other ones, too."""
        pairs = zip(self.items, other.items, strict=False)
        return self.are_like(other) and all(mine == its or mine.kind == "scalar" for mine, its in pairs)

    def with_numpys(self, other: Items) -> Items:
        """These, NumPy's where they or the others are."""
        pairs = zip(self.items, other.items, strict=True)
        return replace(self, items=tuple(mine if mine.kind == "scalar" else its for mine, its in pairs))

    def together(self, columns: Sequence[Iterable[Any]]) -> list[Any]:
        """The items of a list, each of them new. columns: the values of each part."""
        if self.tree is None:
            return list(columns[0])
        rows = zip(*columns, strict=True)
        if self.tree.type is tuple and self.tree.num_nodes == len(columns) + 1:
            return list(rows)
        if self.tree.type is list and self.tree.num_nodes == len(columns) + 1:
            return list(map(list, rows))
        places = self.tree.unflatten(range(len(columns)))
        return list(map(maker(places) if holds_choices(places) else self.tree.unflatten, rows))


def enlarge(error: BaseException) -> bool:
    """Whether a call ended for want of room in a list, and would have more now: it is traced anew."""
    span = error.span if isinstance(error, CheckFailedError) else None
    place = (span.filename, span.line) if span is not None else ("", 0)
    room = _rooms.get(place, 0)
    larger = min(room * GROWS, _most.get(place, MOST_BYTES))
    if larger <= room:
        return False
    _rooms[place] = larger
    return True


def _settled_room(name: str, items: Items, most_bytes: int) -> int:
    """The room for the items, on which the program depends from now on."""
    room = _rooms.setdefault(items.place, items.room)
    _most[items.place] = most_bytes // max(1, *(item.n_bytes for item in items.items))
    guard = Guard(f"the room in {name}", functools.partial(_rooms.get, items.place), room, operator.eq)
    require_trace().lifter.guards.append(guard)
    return room


class ItemFoundError(TracingError):
    """A loop appends `items` to a list, of which that was not known."""

    def __init__(self, name: str, items: Items):
        super().__init__(f"`{name}` holds {items}", code="WB182")
        self.name = name
        self.items = items


class _Counted(Deferred):
    """What NumPy's functions take for the elements of the room that are filled."""

    def __array_function__(self, func: Callable[..., Any], types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        args, kwargs = with_filled((args, kwargs))
        return func(*args, **kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        inputs, kwargs = with_filled((inputs, kwargs))
        return getattr(ufunc, method)(*inputs, **kwargs)


class CountedList(_Counted):
    """One list. before: what it holds already; items: the kind of those that come, None before that is known.

    arrays: for each part of an item, (room, *item.shape); count: how many of them there are, an array without axes;
    first: how many of them are `before`, which are in the array only if they may be read; length: how many there are,
    where that is known, since a loop has changed a long list's items only.
    """

    def __init__(self, name: str, before: Sequence[Any], items: Items | None):
        self.name = name
        self.before = tuple(before)
        self.items = items
        self.first = 0
        self.length: int | None = None
        # (part, item, array): parts of items that are arrays elsewhere in a result
        self.arrays_elsewhere: tuple[tuple[int, int | Tracer, Any], ...] = ()
        self.firsts: dict[int, Tracer] = {}  # of a part: the first items whose parts are the same arrays
        self.memory = SharedMemory()
        self.holders: tuple[tuple[Any, int], ...] = ((self, 0),)  # what `Place`s of the parts from a number on tell of
        self.mixed: tuple[type, ...] = () if items is None else items.mixed
        if items is None:
            return
        self.room = _settled_room(name, items, MOST_BYTES)
        trace = require_trace()
        n_writes = trace.n_writes
        self.arrays = tuple(_zeros((self.room, *item.shape), item.dtype, name) for item in items.items)
        for part in items.repeated:
            self.firsts[part] = _zeros((self.room,), np.dtype(np.int64), f"{name}_is")
        may_be_read = items.tree is None and (items.are_read or items.items[0].kind != "array")
        if may_be_read and len(self.before) <= self.room and all(map(self._is_alike, self.before)):
            self.first = len(self.before)
            for k, x in enumerate(self.before):
                self.arrays[0][k] = x
                if items.items[0].kind == "array":
                    x.buffer.ambiguous = True  # as in `append`
                elif Item.of(lift(x)) != items.items[0]:
                    self.mixed = (float if self.arrays[0].dtype.kind == "f" else int,)
        self.count = _zeros((), np.dtype(np.int64), f"n_{name}")
        if self.first:
            self.count[()] = self.first
        trace.n_writes = n_writes  # none that another attempt would have to undo

    @classmethod
    def rebuilt(cls, before: Sequence[Any], items: Items, arrays: Sequence[Tracer], count: Tracer) -> CountedList:
        """What a traced call in a trace gives back."""
        made = cls("a list", before, None)
        made.items, made.arrays, made.count, made.room = items, tuple(arrays), count, arrays[0].shape[0]
        made.mixed = items.mixed
        return made

    @classmethod
    def left_by_loop(
        cls, name: str, items: Items, arrays: Sequence[Tracer], count: Tracer, length: int | None = None
    ) -> CountedList:
        """What an equation leaves: all that the list holds is in its arrays, if there was room for it."""
        if length is None:
            room = _settled_room(name, items, MOST_LEFT_BYTES)
            end_unless(emit(REGISTRY["le"], count, np.int64(room)), items.place)
        count.scalar = False  # more may be appended later on
        made = cls.rebuilt((), items, arrays, count)
        made.length = length
        return made

    @property
    def trace(self) -> Trace:
        return self.count.buffer.trace

    def _is_alike(self, x: Any) -> bool:
        """Whether an item is like those that come; a number may be one of Python's or NumPy's."""
        assert self.items is not None
        if self.items.items[0].kind == "array":
            return type(x) is Tracer and Item.of(x) == self.items.items[0]
        if type(x) is not Tracer and not isinstance(x, NUMBERS):
            return False
        x, dtype = lift(x), self.arrays[0].dtype
        return x.scalar and x.dtype == dtype and dtype.char in "ld" and not x.buffer.mixed

    def append(self, value: Any) -> None:
        self.length = None
        is_new = sys.getrefcount(value) <= _JUST_MADE
        parts, tree = (value,), None
        if is_carried(value) and (is_new or is_frozen(value)):
            parts, tree = optree.tree_flatten(value, none_is_leaf=True)
        elif is_new and type(value) is list or type(value) is tuple and value:
            parts, zeros = tuple(value), type(value)([0] * len(value))
            tree = optree.tree_structure(zeros, none_is_leaf=True)  # type: ignore[arg-type]  # a pytree of anything
        parts = [settled(x) if is_choice(x) and VALUE in x.kinds else x for x in parts]
        if not parts or not all(type(x) is Tracer or isinstance(x, NUMBERS) for x in parts):
            raise refuse("appends to", self.name, "something that is no number or array, in a traced loop")
        xs = [lift(x) for x in parts]
        mixed = {x.buffer.mixed: x.dtype for x in xs if x.buffer.mixed}
        if any(_MIXED.get(kinds) != dtype for kinds, dtype in mixed.items()):
            raise refuse("appends to", self.name, "a number whose type depends on the path")
        found = Items(tuple(map(Item.of, xs)), tree, here(), mixed=tuple(kind for (kind,) in mixed))
        if self.items is None:
            if max(item.n_bytes for item in found.items) * found.room > MOST_BYTES:
                raise refuse("appends to", self.name, "large arrays, as often as the numbers decide")
            raise signalled(ItemFoundError(self.name, found))
        if not self.items.fits(found):
            if self.items.are_like(found):  # a list of NumPy's floats holds either
                raise signalled(ItemFoundError(self.name, self.items.with_numpys(found)))
            raise refuse("appends to", self.name, "items of several types or shapes, in a traced loop")
        if found.mixed and not self.items.mixed:
            raise signalled(ItemFoundError(self.name, replace(self.items, mixed=found.mixed)))
        place = self.items.place
        at = self.count[()]
        end_unless(at < self.room, place)
        for part, (array, x) in enumerate(zip(self.arrays, xs, strict=True)):
            if not x.scalar:
                if (body := repeated_in(x, self.trace)) is not None:
                    unless_carried(body, self._refusal("one array again and again"))
                x.buffer.ambiguous = True  # the list holds that very array: a write to it would be one to the list
                first = appended_at(self, part, x, at)
                if first is not None and part not in self.items.repeated:
                    repeated = self.items.repeated | {part}
                    raise signalled(ItemFoundError(self.name, replace(self.items, repeated=repeated)))
                if part in self.firsts:
                    self.firsts[part][at] = at if first is None else first
            array[at] = x
        self.count[()] = at + 1

    def _refusal(self, what: str) -> Callable[[], None]:
        """What refuses to append it here, though it may be called elsewhere, or not at all."""
        trace = require_trace()
        failure = trace.failure
        error = refuse("appends to", self.name, what)
        trace.failure = failure

        def call() -> None:
            raise error

        return call

    def __bool__(self) -> Any:
        """Whether there are items; converted code takes a traced bool, and Python raises for one."""
        return self.shape[0] > 0

    def extend(self, values: Any) -> None:
        if type(values) not in (list, tuple):
            raise self.error()
        for value in values:
            self.append(value)

    # ---- reading ----

    @property
    def shape(self) -> tuple[Any, ...]:
        """(number of items,)"""
        if self.items is None:  # an attempt, which comes to nothing
            return (len(self.before),)
        if self.length is not None:
            return (self.length,)
        n = emit(REGISTRY["convert_element_type"], lift(self.count)[()], new_dtype=np.dtype(np.int64), weak_type=True)
        return (n + (len(self.before) - self.first),)

    def _backwards(self) -> CountedList:
        """Another list of the same numbers, or tuples of them, the last one first."""
        if self.items is None or self.count.buffer.trace is not require_trace() or self.first < len(self.before):
            raise self.error()
        is_plain = self.items.tree is None or self.items.tree.type is tuple
        if not is_plain or any(item.kind == "array" for item in self.items.items) or self.first and self.mixed:
            raise self.error()
        from .numpy_api.creation import arange

        count = self.count.copy()
        places: Any = np.maximum(count - 1 - arange(self.room), 0)
        made = CountedList.rebuilt(
            (), self.items, [np.take(array, places, 0, mode="clip") for array in self.arrays], count
        )
        made.mixed, made.length = self.mixed, self.length
        return made

    def copy(self) -> CountedList:
        if self.items is None:
            raise self.error()
        return self._as_it_is()

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        from .list_folds import items_of_counted

        if key is not None:
            raise self.error()
        if reverse:  # as Python has it, so that equal items keep their order
            self.reverse()
        made = items_of_counted(sorted, self)
        self.before, self.first, self.arrays, self.count = (), 0, made.arrays, made.count
        if reverse:
            self.reverse()

    def reverse(self) -> None:
        made = self._backwards()
        self.before, self.first, self.arrays = (), 0, made.arrays

    def __getitem__(self, index: Any) -> Any:
        """One of the items; or the whole list backwards."""
        if isinstance(index, slice) and index == slice(None, None, -1):
            return self._backwards()
        is_traced = type(index) is Tracer and not index.shape and index.dtype.kind in "iu"
        if not is_traced and type(index) is not int:
            raise self.error()
        if self.items is None and self.before:
            return item_at(self.before, index)  # of a type like those that come, if this succeeds
        if self.items is None or self.items.tree is not None:
            raise self.error()
        (item,) = self.items.items
        if self.first < len(self.before):
            if item.kind == "array" and not self.items.are_read:
                raise signalled(ItemFoundError(self.name, replace(self.items, are_read=True)))
            raise self.error()
        count = self.count[()]
        at: Any = index
        if is_traced:
            at = method(at, "astype", np.int64)
            at = np.where(at < 0, at + count, at)
        else:
            at = count + at if at < 0 else lift(at)
        end_unless(np.logical_and(at >= 0, at < count))
        x = self.arrays[0][at]
        if item.kind == "array":
            x = x.copy()
            x.buffer.ambiguous = True  # as in `append`
            set_place(x.buffer, Place(self, 0, self.firsts[0][at] if self.firsts else at))
            return x
        if item.kind == "python":
            x = emit(REGISTRY["convert_element_type"], x, new_dtype=item.dtype, weak_type=True)
        x.buffer.mixed = self.mixed
        return x

    def stacked(self, dtype: Any) -> CountedArray:
        """`np.array` of it."""
        if self.items is None:
            raise self.error()
        return CountedArray(self._as_it_is(), None if dtype is None else np.dtype(dtype))

    def _as_it_is(self) -> CountedList:
        """The list, as no later `append` changes it."""
        trace = require_trace()
        assert self.items is not None
        is_here = self.count.buffer.trace is trace
        arrays = [from_atom(trace, x.current) if is_here else x.copy() for x in self.arrays]  # type: ignore[operator]  # a method
        made = CountedList.rebuilt(tuple(self.before), self.items, arrays, self.count.copy())
        made.name, made.first, made.mixed, made.firsts = self.name, self.first, self.mixed, self.firsts
        made.length = self.length
        return made

    def filled(self, *, any_type: bool = False) -> Any:
        """The items, numbers, as the elements that a mask picks of the room. any_type: also where there are none, of
        which NumPy makes an array of floats."""
        if self.items is None or self.items.tree is not None or self.first < len(self.before):
            raise self.error()
        if self.items.items[0].kind == "array":
            raise self.error()
        if self.length is not None:
            return self.arrays[0].copy()
        from .numpy_api.creation import arange
        from .numpy_api.stretches import Stretch

        if self.arrays[0].dtype != np.float64 and not any_type:
            end_unless(self.count[()] > 0)
        room: Any = arange(self.room)
        count = self.count[()]
        mask = room < count
        require_trace().lists_of_masks[id(mask.buffer)] = mask, self
        found: Any = self.arrays[0][mask]
        found.stretch = Stretch(np.int64(0), count)
        return found

    def error(self) -> TracingError:
        return build(
            UnknownLengthError,
            f"{{line}} needs the items of `{self.name}`, whose number only the run of a loop tells.",
            f"the number of items in `{self.name}` depends on data",
            fixes=("return the list, or np.array of it, and use it outside",),
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute '{name}'")
        raise self.error()

    def _needs_items(self, *_: Any) -> Any:
        raise self.error()

    def __len__(self) -> int:
        if self.length is None:
            raise self.error()
        return self.length

    __iter__ = __contains__ = __add__ = __iadd__ = __mul__ = __eq__ = __setitem__ = _needs_items  # type: ignore[assignment]
    __array__ = _needs_items
    __hash__ = None  # type: ignore[assignment]


def is_counted(value: Any) -> bool:
    """Whether it is a list of which only the run tells how long it is."""
    return type(value) is CountedList


class _Made:
    """Tells how many refer to a list that is made where it is handed to a method."""

    def append(self, value: Any) -> int:
        return sys.getrefcount(value)


# A list that a variable holds, too, is no new one after the loop. (From 3.14 on, what variables of functions lend to a
# call is not counted.)
_JUST_MADE = _Made().append([0]) if sys.version_info < (3, 14) else 0


class CountedArray(_Counted):
    """`np.array(list)`: what is returned; what computes with it computes with the part of the room that is filled."""

    def __init__(self, items: CountedList, dtype: np.dtype | None):
        self.items = items
        self.dtype = dtype

    def error(self) -> TracingError:
        return self.items.error()

    def filled(self) -> Any:
        """The items as the elements that a mask picks of the room."""
        found = self.items.filled(any_type=self.dtype is not None)
        return found if self.dtype is None else found.astype(self.dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.filled(), name)

    def _needs_items(self, *_: Any, **__: Any) -> Any:
        raise self.error()

    __bool__ = __iter__ = __setitem__ = __float__ = __int__ = __index__ = __array__ = _needs_items
    __hash__ = None  # type: ignore[assignment]


def _forwarded(name: str) -> Callable[..., Any]:
    def compute(self: CountedArray, *args: Any) -> Any:
        own = self.filled()
        return getattr(type(own), name)(own, *with_filled(args))

    return compute


_REFLECTED = ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "matmul")
_NAMES = (
    "len",
    "getitem",
    "neg",
    "abs",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
    *_REFLECTED,
    *(f"r{n}" for n in _REFLECTED),
)
for _name in _NAMES:
    setattr(CountedArray, f"__{_name}__", _forwarded(f"__{_name}__"))


def with_filled(values: Any) -> Any:
    """The values, with arrays in the place of the lists, and arrays of lists, among them."""

    def is_leaf(x: Any) -> bool:
        return isinstance(x, _Counted)

    return optree.tree_map(lambda x: x.filled() if is_leaf(x) else x, values, is_leaf=is_leaf, none_is_leaf=True)


def here() -> tuple[str, int]:
    """Of the statement that runs."""
    spans = current_spans(2, require_trace().entry)
    return (spans[0].filename, spans[0].line) if spans else ("", 0)


def _zeros(shape: tuple[int, ...], dtype: np.dtype, name: str) -> Tracer:
    from .numpy_api.creation import zeros

    made = zeros(shape, dtype)
    if isinstance(made.current, Var):
        made.current.hint = name
    return made
