"""Functions of NumPy's that compiled loops call as they are, with what goes between machine code and Python.

A loop writes into an array of words where its arrays lie and what its numbers are, and asks for a call by its key. The
results are counted into the same words, and then copied to where the loop wants them. Whatever a function raises, and
results of other kinds than were expected, say that the call failed; the loop then runs in NumPy, which raises again.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import math
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_NAMES = (
    "argpartition argsort argwhere array_equal array_equiv average bartlett bincount block compress convolve "
    "corrcoef correlate count_nonzero cov cross cumulative_prod cumulative_sum cumprod cumsum delete diff digitize "
    "ediff1d einsum extract flatnonzero gradient histogram histogram2d histogram_bin_edges i0 insert interp "
    "intersect1d isin kaiser kron lexsort max mean median min nanargmax nanargmin nancumprod nancumsum nanmax nanmean "
    "nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar nonzero packbits pad partition "
    "percentile poly polyadd polyder polydiv polyfit polyint polymul polysub polyval prod ptp quantile "
    "ravel_multi_index repeat roll roots round searchsorted select setdiff1d setxor1d sort std sum take_along_axis "
    "tensordot tile unique unpackbits unravel_index unwrap var vdot trapezoid"
).split()
_OF_MATRICES = (
    "cholesky cond det eig eigh eigvals eigvalsh inv lstsq matrix_norm matrix_power matrix_rank multi_dot norm pinv "
    "qr slogdet solve svd svdvals tensorinv tensorsolve vector_norm"
).split()
_TRANSFORMS = (
    "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftfreq rfftn"
).split()
CALLED = frozenset(
    function
    for module, names in ((np, _NAMES), (np.linalg, _OF_MATRICES), (np.fft, _TRANSFORMS))
    for name in names
    if (function := getattr(module, name, None)) is not None
)
# Methods of `np.random.Generator`: those that write into what they are given, or give no array, aside.
_DRAWN = (
    "beta binomial chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric integers laplace "
    "logistic lognormal logseries multinomial multivariate_hypergeometric multivariate_normal negative_binomial "
    "noncentral_chisquare noncentral_f normal pareto permutation permuted poisson power random rayleigh "
    "standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises wald "
    "weibull zipf"
).split()
MOST_ARRAYS = 6  # among the arguments of one call
MOST_AXES = 4  # of a result
SAMPLE = 4  # the length of an axis, and the value of a number, of which nothing is known
_MOST_VIEWS = 64  # of memory, that are kept
MOST_SAMPLED = 4096  # elements of what a call is tried with
_READ, _WRITE = 0x100, 0x200  # of `PyMemoryView_FromMemory`
_memory_view = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_size_t, ctypes.c_ssize_t, ctypes.c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)


@dataclass(frozen=True, slots=True)
class ArraySlot:
    """An argument that is an array. shape: lengths, None where unknown."""

    dtype: np.dtype
    shape: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class NumberSlot:
    """An argument that is a number. python: whether it is one of Python's."""

    dtype: np.dtype
    python: bool


@dataclass(frozen=True, slots=True)
class SourceSlot:
    """An argument that is a `np.random.Generator`, of which a number tells where its bits come from."""

    dtype: np.dtype = np.dtype(np.int64)


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple or list of arguments."""

    items: tuple[Slot, ...]
    is_list: bool


@dataclass(frozen=True, slots=True)
class Constant:
    """An argument that is known: None, a string, a dtype, a number of Python's. text: tells 1 from 1.0 and True."""

    value: Any = field(compare=False)
    text: str

    @classmethod
    def of(cls, value: Any) -> Constant:
        return cls(value, f"{type(value).__name__} {value!r}")


Slot = ArraySlot | NumberSlot | SourceSlot | Several | Constant


@dataclass(frozen=True, slots=True)
class Result:
    """What a call gives, or a part of it: an array, or a number if it has no axes. python: one of Python's; given: it
    is this one of the arrays that are arguments."""

    dtype: np.dtype
    ndim: int
    python: bool = False
    given: int | None = None


@dataclass(frozen=True, eq=False)
class NumpyCall:
    """A call of one function with arguments of some kinds. results: more than one, or none, are a tuple."""

    function: Any
    args: tuple[Slot, ...]
    keywords: Mapping[str, Slot]
    results: tuple[Result, ...]
    is_tuple: bool

    @functools.cached_property
    def key(self) -> int:
        """Tells the call from all others, in every process."""
        text = f"{self.function.__module__}.{self.function.__name__} {self.args} {sorted(self.keywords.items())}"
        digest = hashlib.sha256(f"{text} {self.results} {self.is_tuple}".encode()).digest()
        return int.from_bytes(digest[:8], "little") >> 2

    @property
    def slots(self) -> tuple[Slot, ...]:
        return (*self.args, *self.keywords.values())

    @functools.cached_property
    def n_array_words(self) -> int:
        """What the arrays among the arguments take of the words, which they begin."""
        return sum(1 + len(slot.shape) for slot in leaves(self.slots) if isinstance(slot, ArraySlot))

    @functools.cached_property
    def n_given(self) -> int:
        """What the arguments take of the words."""
        numbers = (slot for slot in leaves(self.slots) if isinstance(slot, NumberSlot | SourceSlot))
        return self.n_array_words + sum(n_words_of(slot.dtype) for slot in numbers)

    @functools.cached_property
    def n_words(self) -> int:
        return self.n_given + sum(r.ndim or n_words_of(r.dtype) for r in self.results)


class _Here(threading.local):
    """found: what the latest call gave; views: arrays of memory that calls were given."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        self.views: dict[Any, np.ndarray] = {}


_sources: dict[int, Any] = {}  # those that loops draw from, by where their bits come from
_asked: dict[int, Callable[[int], int]] = {}
_here = _Here()


def leaves(slots: Sequence[Slot]) -> Iterator[ArraySlot | NumberSlot | SourceSlot | Constant]:
    """The slots that are no tuples, in their order."""
    for slot in slots:
        if isinstance(slot, Several):
            yield from leaves(slot.items)
        else:
            yield slot


def drawn_by(name: str) -> Any:
    """The method of `np.random.Generator` that a loop may call by its name; None of others."""
    return getattr(np.random.Generator, name, None) if name in _DRAWN else None


@contextmanager
def in_use(sources: Mapping[int, Any]) -> Iterator[None]:
    """What loops draw from meanwhile. Whoever uses a source holds its lock."""
    before = {address: _sources.get(address) for address in sources}
    _sources.update(sources)
    try:
        yield
    finally:
        for address, source in before.items():
            if source is None:
                del _sources[address]
            else:
                _sources[address] = source


def n_words_of(dtype: np.dtype) -> int:
    """How many words tell a number."""
    return 2 if dtype.kind == "c" else 1


# ---- what a call gives ----


@functools.cache
def numpy_call(function: Any, args: tuple[Slot, ...], keywords: tuple[tuple[str, Slot], ...]) -> NumpyCall | None:
    """The call of `function`, which machine code may make from now on; None if what it gives is nothing that a loop
    can have, or memory of an argument. Found out by trying."""
    named = dict(keywords)
    draws = any(isinstance(slot, SourceSlot) for slot in args)
    lengths = [(length, False) for length in (SAMPLE, 3, 8)]
    if draws:  # few among many, and weights of what is drawn
        lengths += [(1, False), *((length, True) for length in (SAMPLE, 1))]
    for length, is_share in lengths:
        held: list[np.ndarray] = []
        samples = [_sample(slot, length, held, is_share) for slot in args]
        by_name = {name: _sample(slot, length, held, is_share) for name, slot in named.items()}
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found = function(*samples, **by_name)
        except Exception:  # noqa: BLE001  # what NumPy raises for a sample says nothing of the arguments
            continue
        parts = found if isinstance(found, tuple) else (found,)
        results = [_result(part, held) for part in parts]
        new = [part for part, result in zip(parts, results, strict=True) if result is not None and result.given is None]
        if not parts or None in results or _shares(new, held):
            return None
        call = NumpyCall(function, args, named, tuple(r for r in results if r), isinstance(found, tuple))
        _asked[call.key] = _Text(call).function()
        return call
    return None


def _sample(slot: Slot, length: int, held: list[np.ndarray], is_share: bool = False) -> Any:
    """An argument such as the slot takes. Matrices are symmetric and positive definite, rows ascend, integers in them
    are small, since they may be indices, and floats between 0 and 1, since they may be parts of a whole. is_share:
    instead floats add up to 1, and integers are none below it."""
    if isinstance(slot, Constant):
        return slot.value
    if isinstance(slot, Several):
        items = [_sample(each, length, held, is_share) for each in slot.items]
        return items if slot.is_list else tuple(items)
    if isinstance(slot, SourceSlot):
        return np.random.default_rng(0)
    if isinstance(slot, NumberSlot):
        number = slot.dtype.type({"b": True, "f": 0.5, "c": 0.5}.get(slot.dtype.kind, length))
        return number.item() if slot.python else number
    shape = tuple(length if n is None else n for n in slot.shape)
    if np.prod(shape, dtype=float) > MOST_SAMPLED:
        shape = tuple(min(n, 2 * SAMPLE) for n in shape)
    if is_share and slot.dtype.kind in "iuf":
        values: Any = np.full(shape, 1 / max([1, *shape[-1:]]) if slot.dtype.kind == "f" else length)
    elif len(shape) < 2:
        n = shape[0] if shape else 1
        values = np.arange(n) // 2 if slot.dtype.kind in "iu" else np.arange(1, 1 + n) / (n + 1)
    else:
        i, j = np.ogrid[: shape[-2], : shape[-1]]
        values = np.broadcast_to(1 + max(shape) * (i == j), shape)
    held.append(
        np.array(np.arange(values.size).reshape(shape) % 2 == 0 if slot.dtype.kind == "b" else values, slot.dtype)
    )
    return held[-1]


def _result(value: Any, held: Sequence[np.ndarray]) -> Result | None:
    """What `value` is; None of what no loop has. held: the arrays that are arguments."""
    if isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic):
        dtype = np.asarray(value).dtype
        return Result(dtype, 0, python=True) if dtype.kind in "bifc" else None
    is_array = type(value) is np.ndarray and value.ndim > 0
    if not is_array and not isinstance(value, np.generic) or value.dtype.char not in "?bhilqBHILQfdFD":
        return None
    return Result(value.dtype, value.ndim, given=next((k for k, array in enumerate(held) if array is value), None))


def _shares(parts: Sequence[np.ndarray], held: Sequence[np.ndarray]) -> bool:
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    return any(np.may_share_memory(a, b) for a in arrays for b in held) or any(
        np.shares_memory(a, b) for a, b in itertools.combinations(arrays, 2)
    )


# ---- the way to Python and back ----


def _memory(address: int, shape: tuple[int, ...], dtype: np.dtype, flags: int) -> np.ndarray:
    """An array of what lies at an address. Loops use the same memory in each turn, so that it is mostly known."""
    key = address, shape, dtype, flags
    known = _here.views.get(key)
    if known is None:
        size = math.prod(shape) * dtype.itemsize
        known = np.ndarray(shape, dtype, _memory_view(address, size, flags)) if size else np.empty(shape, dtype)
        if len(_here.views) > _MOST_VIEWS:
            _here.views.clear()
        _here.views[key] = known
    return known


class _Text:
    """The Python function of one call: takes the words' address, and gives 1 if the results wait to be fetched."""

    def __init__(self, call: NumpyCall):
        self.call = call
        self.scope: dict[str, Any] = {
            "function": call.function, "view": _memory_view, "memory": _memory, "ndarray": np.ndarray, "here": _here,
            "is_result": _is_result, "sources": _sources,
        }  # fmt: skip
        self.place, self.number = 0, call.n_array_words
        self.arrays: list[str] = []
        self.lines = [
            "def asked(address):",
            f"    w = view(address, {8 * call.n_words}, {_WRITE}).cast('q')",
            f"    x = view(address, {8 * call.n_words}, {_WRITE}).cast('d')",
        ]

    def constant(self, value: Any) -> str:
        name = f"c{len(self.scope)}"
        self.scope[name] = value
        return name

    def argument(self, slot: Slot) -> str:
        if isinstance(slot, Constant):
            return self.constant(slot.value)
        if isinstance(slot, Several):
            items = "".join(f"{self.argument(item)}, " for item in slot.items)
            return f"[{items}]" if slot.is_list else f"({items})"
        if isinstance(slot, ArraySlot):
            at, name = self.place, f"a{len(self.arrays)}"
            shape = "".join(f"w[{at + 1 + k}], " for k in range(len(slot.shape)))
            self.lines.append(f"    {name} = memory(w[{at}], ({shape}), {self.constant(slot.dtype)}, {_READ})")
            self.place += 1 + len(slot.shape)
            self.arrays.append(name)
            return name
        at, kind = self.number, slot.dtype.kind
        self.number += n_words_of(slot.dtype)
        if isinstance(slot, SourceSlot):
            return f"sources[w[{at}]]"
        text = {"f": f"x[{at}]", "c": f"complex(x[{at}], x[{at + 1}])", "b": f"bool(w[{at}])"}.get(kind, f"w[{at}]")
        if kind == "u":
            text = f"(w[{at}] & {2**64 - 1})"
        return text if slot.python else f"{self.constant(slot.dtype.type)}({text})"

    def result(self, name: str, result: Result, at: int) -> None:
        held = f"({''.join(f'{a}, ' for a in self.arrays)})"
        if result.given is not None:
            self.lines += [f"    if {name} is not {self.arrays[result.given]}:", "        return 0"]
        elif result.ndim:
            is_new = f"type({name}) is ndarray and {name}.base is None and not any({name} is a for a in {held})"
            is_such = f"{name}.dtype == {self.constant(result.dtype)} and {name}.ndim == {result.ndim}"
            test = f"{is_new} and {is_such} or is_result({name}, {self.constant(result)}, {held})"
            self.lines += [f"    if not ({test}):", "        return 0"]
        else:
            self.lines += [f"    if not is_result({name}, {self.constant(result)}, {held}):", "        return 0"]
        if result.ndim:
            self.lines += [f"    w[{at + k}] = {name}.shape[{k}]" for k in range(result.ndim)]
        elif result.dtype.kind == "c":
            self.lines += [f"    x[{at}], x[{at + 1}] = {name}.real, {name}.imag"]
        elif result.dtype.kind == "f":
            self.lines += [f"    x[{at}] = {name}"]
        else:
            self.lines += [f"    w[{at}] = (int({name}) + {2**63}) % {2**64} - {2**63}"]

    def function(self) -> Callable[[int], int]:
        call = self.call
        given = [self.argument(slot) for slot in call.args]
        given += [f"{name}={self.argument(slot)}" for name, slot in call.keywords.items()]
        self.lines.append(f"    found = function({', '.join(given)})")
        names = [f"r{k}" for k in range(len(call.results))]
        self.lines.append(f"    {''.join(f'{name}, ' for name in names)} = {'found' if call.is_tuple else '(found,)'}")
        at = call.n_given
        for name, result in zip(names, call.results, strict=True):
            self.result(name, result, at)
            at += result.ndim or n_words_of(result.dtype)
        self.lines += [f"    here.found = [{', '.join(names)}]", "    return 1"]
        name = f"<workbench: a loop asks for np.{call.function.__name__}>"
        exec(compile("\n".join(self.lines), name, "exec"), self.scope)  # noqa: S102
        return self.scope["asked"]


def _is_result(value: Any, result: Result, held: Sequence[np.ndarray]) -> bool:
    """Whether a call has given what was expected, in memory of its own."""
    return _result(value, held) == result and not (result.ndim and _shares([value], held))


def _ask(key: int, address: int) -> int:
    """Call a function. 1 if its results wait to be fetched."""
    try:
        return _asked[key](address)
    except BaseException:  # noqa: BLE001  # nothing may be raised through machine code: the caller runs in NumPy
        return 0


def _fetch(k: int, address: int) -> int:
    """Copy the array that is the `k`th result to where the loop wants it."""
    part, _here.found[k] = _here.found[k], None
    _memory(address, part.shape, part.dtype, _WRITE)[...] = part
    return 1


_C_FUNCTION: Callable[..., Any] = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_size_t)
_kept = [_C_FUNCTION(_ask), _C_FUNCTION(_fetch)]  # which machine code calls by their addresses
ASK, FETCH = (ctypes.cast(each, ctypes.c_void_p).value or 0 for each in _kept)
