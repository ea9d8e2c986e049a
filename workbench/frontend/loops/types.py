"""What is known of a value while a loop is translated: its type as NumPy and Python give it, not as numba would.

Python's own numbers are weak (NEP 50). Weak integers have no width: the interval that they lie in says where an
operation needs no check for overflow; elsewhere a checked one raises, and the call runs in NumPy.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import BuiltinMethodType, MethodType
from typing import Any

import numpy as np

from ..tracer import Tracer

BOOL, I64, F32, F64, C128 = (np.dtype(t) for t in (bool, np.int64, np.float32, np.float64, np.complex128))
LEAST, MOST = -(2**63), 2**63 - 1
WIDE = (LEAST, MOST)
SMALL = 2**40  # lengths and indices are below
EXACT = 2**53  # integers up to here are floats
SUPPORTED = frozenset("?bhilqBHILQfdFD")
KINDS = "biufc"
COMPARED = (str, bytes, int, float, complex, np.dtype, slice, range, MethodType, BuiltinMethodType)
LAZY = "<lazy>"  # stands for the text of an array that has no memory


class UntranslatableError(Exception):
    """The loop is left to tracing, or to Python; says which construct it was."""


class UnknownItemError(UntranslatableError):
    """Nothing is known yet of the elements of a list: something further down tells."""


@dataclass(frozen=True, slots=True)
class Number:
    """A scalar. interval: of a weak integer; single: a weak float that float32 holds exactly; unsure: it may also be a
    Python number (of this value), which an operation must not depend on; ints: of a float, it may be a Python int;
    enum: of a weak integer, the class whose member it is."""

    dtype: np.dtype
    weak: bool = False
    interval: tuple[int, int] = WIDE
    single: bool = False
    unsure: bool = False
    mixed: bool = False  # the value is right, but its dtype may be another one
    ints: bool = False
    enum: type[enum.Enum] | None = None

    @property
    def python(self) -> bool:
        """Whether it is, or may be, a Python number."""
        return self.weak or self.unsure

    @property
    def kind(self) -> str:
        return "i" if self.dtype.kind == "u" else self.dtype.kind

    def within(self, low: int, high: int) -> bool:
        return low <= self.interval[0] and self.interval[1] <= high

    def __str__(self) -> str:
        if self.enum is not None:
            return f"a {self.enum.__name__}"
        return f"a Python {self.dtype.name.rstrip('0123456789')}" if self.weak else self.dtype.name


def number_of(value: Tracer) -> Number:
    """What a traced number is."""
    mixed = value.buffer.mixed
    others = {kind.__name__[0] for kind in mixed} - {value.dtype.kind}
    is_other = bool(others) or bool(mixed) and value.dtype.char not in "?ldD"
    return Number(
        value.dtype, value.weak_type, unsure=bool(mixed), mixed=is_other, ints="i" in others and value.dtype.kind == "f"
    )


@dataclass(frozen=True, slots=True)
class Array:
    """shape: lengths, None where unknown; origins: the arrays from outside whose memory it may share."""

    dtype: np.dtype
    shape: tuple[int | None, ...]
    origins: frozenset[str] = frozenset()

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join('?' if n is None else str(n) for n in self.shape)}]"


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple. is_list: a list that is written out."""

    items: tuple[Type, ...]
    is_list: bool = False

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


@dataclass(frozen=True, slots=True)
class RandomSource:
    """What random numbers are drawn from. of: the class."""

    of: type

    @property
    def is_old(self) -> bool:
        return self.of.__name__ == "RandomState"

    @property
    def is_pythons(self) -> bool:
        return self.of.__module__ == "random"

    def __str__(self) -> str:
        return "a source of random numbers"


@dataclass(frozen=True, slots=True)
class Growing:
    """A list that the loop changes. item: what its elements are, None while no element is known; is_queue: a deque, or
    a list whose first element is taken away; is_deque: the former; has_most: it drops its first elements where there
    are too many; has_none: elements may be None, which the text takes arrays without elements for."""

    item: Type | None
    is_queue: bool = False
    is_deque: bool = False
    has_most: bool = False
    has_none: bool = False

    def __str__(self) -> str:
        return f"a list of {self.item or 'nothing'}"


@dataclass(frozen=True, slots=True)
class Table:
    """A dictionary or set. of: its class; default: what makes missing values, of a `defaultdict`; keys, values: lists
    of them, where these are no variables of the text; view: it stands for its "keys", "values" or "items"."""

    of: type
    default: Any = None
    keys: Growing | None = None
    values: Growing | None = None
    view: str = ""

    @property
    def is_set(self) -> bool:
        return self.of is set

    def __str__(self) -> str:
        return f"a {self.of.__name__}"


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """What exists while translating alone: a function, a module, a dtype, None."""

    value: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static) or self.value is other.value:
            return isinstance(other, Static)
        # Containers may hold traced values, whose truth is not known and whose comparisons would be recorded.
        return isinstance(self.value, COMPARED) and bool(self.value == other.value)

    def __str__(self) -> str:
        return f"a {type(self.value).__name__}"

    def __hash__(self) -> int:
        return id(type(self.value))


@dataclass(frozen=True, slots=True)
class Letter:
    """A character of a string, as its code."""

    def __str__(self) -> str:
        return "a letter"


Type = Number | Array | Items | Growing | Table | Static | Letter | RandomSource


@dataclass(frozen=True, slots=True)
class Value:
    """An expression: its text, its type, and what it is where that is written in the source.

    known: the number that a weak integer is at this specialisation, for shapes; never written into the text; fresh: of
    a new list, its elements and how often they are repeated; source: of a list, the variable that holds it, and how
    many lists around it; whole: of a float that may be a Python int, the text that tells whether it is one; none: of
    what may be None, the text that tells whether it is; own: of what a function gives, its lists have no other name.
    """

    text: str
    type: Type
    literal: Any = None
    known: int | None = None
    lazy: Lazy | None = None
    box: Box | None = None
    fresh: tuple[tuple[Value, ...], str] | None = None
    source: tuple[str, int] | None = None
    whole: str = ""
    none: str = ""
    most: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    """Elements of an array in memory. text: of the expression that picks them, so that equal ones are the same
    elements; base, at: the array's name and the single indices by axis, where these are known; apart: those that follow
    each other surely do not lie side by side."""

    origins: frozenset[str]
    text: str
    base: str = ""
    at: tuple[tuple[int, str], ...] = ()
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Lazy:
    """An array whose elements are computed where they are needed. sizes: texts of its lengths; at: the element at some
    indices; computed: it takes more than reading memory; shares: in NumPy it may be a view, so that only the expression
    that it stands in may read it."""

    sizes: tuple[str, ...]
    at: Callable[[Sequence[str]], Value]
    reads: tuple[Read, ...]
    computed: bool = True
    shares: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """A part of an array by single indices and slices without steps. base: the array's name; parts: for each axis
    (index,) or (first, last), of which the latter may be empty texts; None is a new axis."""

    base: str
    parts: tuple[tuple[str, ...] | None, ...]


def weak_int(low: int, high: int) -> Number:
    return Number(I64, True, (max(low, LEAST), min(high, MOST)))


# What Python's numbers are, by the kinds of the dtypes that hold them.
PYTHONS = {"b": Number(BOOL, True, (0, 1)), "i": weak_int(*WIDE), "f": Number(F64, True), "c": Number(C128, True)}


def literal(value: Any) -> Value:
    """A constant of the source."""
    if isinstance(value, bool):
        return Value(repr(value), Number(BOOL, True, (0, 1)), value)
    if isinstance(value, int):
        if not LEAST <= value <= MOST:
            raise UntranslatableError("an integer that needs more than 64 bits")
        kind = replace(weak_int(value, value), enum=enum_of(value))
        value = int(value)
        return Value(f"({value})" if value < 0 else str(value), kind, value, value)
    if isinstance(value, float):
        text = repr(value) if np.isfinite(value) else f"np.float64({str(value)!r})"
        text = {"inf": "np.inf", "-inf": "(-np.inf)", "nan": "np.nan"}.get(str(value), text)
        with np.errstate(all="ignore"):
            exact = bool(np.float32(value) == value) or value != value
        return Value(f"({text})" if value < 0 else text, Number(F64, True, single=exact), value)
    if isinstance(value, complex):
        return Value(f"complex({value.real!r}, {value.imag!r})", Number(C128, True), value)
    raise UntranslatableError(f"a constant of type {type(value).__name__}")


def enum_of(value: Any) -> type[enum.Enum] | None:
    return type(value) if isinstance(value, enum.Enum) else None


_PYTHONS = {"b": BOOL, "i": I64, "f": F64, "c": C128}  # dtypes of what Python's own numbers give


def promote(a: Number, b: Number) -> np.dtype:
    """NumPy's result dtype of an operation on two scalars, one of which at least is no Python number."""
    results = {
        _PYTHONS[max(a.kind, b.kind, key=KINDS.index)] if x and y else _promote(replace(a, weak=x), replace(b, weak=y))
        for x in ({True, False} if a.unsure else {a.weak})
        for y in ({True, False} if b.unsure else {b.weak})
    }
    if len(results) > 1:
        raise UntranslatableError("an operation whose precision depends on whether a number is Python's")
    return results.pop()


def _promote(a: Number, b: Number) -> np.dtype:
    examples = {"b": True, "i": 1, "f": 1.0, "c": 1j}
    left = examples[a.kind] if a.weak else a.dtype
    right = examples[b.kind] if b.weak else b.dtype
    if a.weak and a.kind == "b":
        left = BOOL
    if b.weak and b.kind == "b":
        right = BOOL
    return np.result_type(left, right)


def join(a: Type, b: Type) -> Type:
    """One type for what a variable holds at several places. UntranslatableError if a value would change by it."""
    if a == b:
        return a
    match a, b:
        case Number(), Number():
            return _join_numbers(a, b)
        case Array(), Array() if a.dtype == b.dtype and a.ndim == b.ndim:
            shape = tuple(n if n == m else None for n, m in zip(a.shape, b.shape, strict=True))
            return Array(a.dtype, shape, a.origins | b.origins)
        case Items(), Items() if len(a.items) == len(b.items) and a.is_list == b.is_list:
            whole = tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True))
            return Items(whole, a.is_list)
        case Growing(), Growing() if (a.is_deque, a.has_most) == (b.is_deque, b.has_most):
            has_none = a.has_none or b.has_none
            return replace(a, item=join_items(a.item, b.item), is_queue=a.is_queue or b.is_queue, has_none=has_none)
    raise UntranslatableError(f"a variable that is {a} in one place and {b} in another")


def join_items(a: Type | None, b: Type | None) -> Type | None:
    """One type for the elements of a list, of which each keeps its own."""
    match a, b:
        case (None, Number() as known) | (Number() as known, None) if known.enum:
            raise UntranslatableError(f"a list with {known}")
        case (None, known) | (known, None):
            return known
        case Items(), Items() if len(a.items) == len(b.items):
            return Items(tuple(join_items(x, y) for x, y in zip(a.items, b.items, strict=True)))  # type: ignore[misc]
        case Number(), Number() if a.dtype != b.dtype:
            raise UntranslatableError(f"a list of {a} and of {b}")
        case Number(), Number() if a.enum or b.enum:
            raise UntranslatableError(f"a list with {a if a.enum else b}")
    return join(a, b)  # type: ignore[arg-type]  # both are known


def _join_numbers(a: Number, b: Number) -> Number:
    if a.enum is not b.enum:
        raise UntranslatableError(f"a variable that is {a} in one place and {b} in another")
    if a.dtype == b.dtype:
        mixed = a.mixed or b.mixed
        if a.weak and b.weak:
            interval = (min(a.interval[0], b.interval[0]), max(a.interval[1], b.interval[1]))
            return replace(a, interval=interval, single=a.single and b.single, mixed=mixed, ints=a.ints or b.ints)
        return Number(a.dtype, unsure=a.python or b.python, mixed=mixed, ints=a.ints or b.ints)
    if not a.weak and not b.weak or "b" in (a.kind, b.kind):
        raise UntranslatableError(f"a variable that is {a} in one place and {b} in another")
    if a.weak and b.weak:
        low, high = sorted((a, b), key=lambda t: KINDS.index(t.kind))
        if low.kind == "i" and not low.within(-EXACT, EXACT):
            raise UntranslatableError("a variable that is a large integer in one place and a float in another")
        return Number(high.dtype, True, mixed=True, ints=high.kind == "f")
    weak, strong = (a, b) if a.weak else (b, a)
    if not fits(weak, strong.dtype):
        raise UntranslatableError(f"a variable that is {weak} in one place and {strong} in another")
    ints = strong.kind == "f" and (weak.kind == "i" or weak.ints or strong.ints)
    return Number(strong.dtype, unsure=True, ints=ints)


def fits(weak: Number, dtype: np.dtype) -> bool:
    """Whether a Python number is the same number as a `dtype`."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return weak.kind == "i" and weak.within(int(info.min), int(info.max))
    single = dtype in (np.float32, np.complex64)
    if weak.kind == "i":
        bound = 2**24 if single else EXACT
        return dtype.kind in "fc" and weak.within(-bound, bound)
    if weak.kind == "f":
        return dtype.kind in "fc" and (weak.single or not single)
    return weak.kind == "c" and dtype == C128


def is_as_in_array(number: Number) -> bool:
    """Whether NumPy makes an array of this dtype of such numbers, whichever of them it is."""
    is_numpys_own = number.dtype in (BOOL, I64, F64, C128)
    return not number.mixed and not number.ints and (not number.unsure or is_numpys_own)


def check_dtype_of(numbers: Sequence[Number]) -> None:
    """UntranslatableError if the run decides of which dtype NumPy makes an array of these."""
    certain = [number.dtype for number in numbers if is_as_in_array(number)]
    if len(certain) < len(numbers):
        if not certain or np.result_type(*certain) != np.result_type(*(number.dtype for number in numbers)):
            raise UntranslatableError("an array whose dtype the run decides")


def widen(old: Type, new: Type) -> Type:
    """`new`, with the ends of intervals that still move let go, so that translating ends."""
    if isinstance(old, Items) and isinstance(new, Items) and len(old.items) == len(new.items):
        return Items(tuple(widen(x, y) for x, y in zip(old.items, new.items, strict=True)), new.is_list)
    if isinstance(old, Growing) and isinstance(new, Growing) and old.item is not None and new.item is not None:
        return replace(new, item=widen(old.item, new.item))
    if not isinstance(old, Number) or not isinstance(new, Number) or new.interval == old.interval:
        return new
    low = LEAST if new.interval[0] < old.interval[0] else new.interval[0]
    high = MOST if new.interval[1] > old.interval[1] else new.interval[1]
    return replace(new, interval=(low, high))
