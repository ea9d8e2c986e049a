"""Running a program with NumPy and compiled, and comparing results, arguments, errors and shared memory."""

from __future__ import annotations

import itertools
import re
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import workbench as wb
from tests.compare import assert_same
from workbench.errors import BackendError, CheckFailedError, TracingError

from .programs import Program
from .shaking import RUNS, Shaken, ShakenNumPy, plain, shaken

SPREADS = 6  # a result may lie this many spreads of the shaken runs away
MORE_RUNS = 40  # of which some are seldom needed: where a few happened to round alike
FEW_ULPS = 8


@dataclass
class Outcome:
    """What a call did. values: the results, then the arguments afterwards; names: theirs; undefined: a number was cast
    to integers that do not hold it, with which NumPy does now one thing, now another."""

    values: list[Any]
    names: list[str]
    sharing: list[bool]
    error: Exception | None = None
    undefined: bool = False


def run(function: Callable[..., Any], args: list[Any], names: list[str]) -> Outcome:
    """Call quietly; arguments are written into."""
    with np.errstate(all="ignore", invalid="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except Exception as error:
            return Outcome(list(args), names[-len(args) :], [], error)
    undefined = any("in cast" in str(warning.message) for warning in caught)
    results = list(result) if type(result) is tuple else [result]
    values = [*results, *args]
    arrays = [v for v in values if isinstance(v, np.ndarray)]
    # Overlapping arguments are no news; whether results share memory with them or with one another is.
    pairs = itertools.combinations(range(len(arrays)), 2)
    sharing = [_share(arrays[i], arrays[k]) for i, k in pairs]
    return Outcome(values, names, sharing, undefined=undefined)


def _share(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays have an element in common; their bounds alone depend on the order of a result's axes."""
    try:
        return np.shares_memory(a, b, max_work=100_000)
    except np.exceptions.TooHardError:
        return np.may_share_memory(a, b)


class Case:
    """A program, compiled once, and called for each of its sets of sizes. redoes: whether `compile` gives a function that
    runs in NumPy what raises, so that the arguments are left as NumPy leaves them."""

    def __init__(self, program: Program, compile: Callable[..., Any] = wb.jit, *, redoes: bool = True):
        self.redoes = redoes
        self.program = program
        self.function = program.function()
        self.compiled = compile(self.function)
        self.names = [*program.results, *(i.name for i in program.inputs)]
        self.takes_extremes = re.search("max|min|clip|sort|partition|ptp", program.source) is not None
        self._runs: list[Outcome] = []

    def check(self, which: int, times: int = 1) -> None:
        """AssertionError unless the compiled program does what NumPy does."""
        arguments = self.program.arguments
        expected = run(self.function, arguments(which), self.names)
        for _ in range(times):
            ours = run(self.compiled, arguments(which), self.names)
            if isinstance(ours.error, TracingError) and expected.error is None:
                raise ours.error
            if not expected.undefined:
                self._compare(ours, expected, which)
        for reason in getattr(self.compiled, "fallbacks", ()):
            if reason.code == "WB903":  # NumPy's result hides a failure of the compiler
                raise BackendError(str(reason)) from reason.__cause__

    def _compare(self, ours: Outcome, expected: Outcome, which: int) -> None:
        if expected.error is not None:
            kind = next(c for c in type(expected.error).__mro__ if c.__module__ == "builtins")
            checked = not self.redoes and isinstance(ours.error, CheckFailedError)
            assert isinstance(ours.error, kind) or checked, (
                f"NumPy raises {expected.error!r}; compiled: {ours.error!r}, {ours.values}"
            )
            if not self.redoes:
                return
        elif ours.error is not None:
            raise ours.error
        self._runs: list[Outcome] = []
        rounded = {*self.program.inexact}
        for i, (name, a, b) in enumerate(zip(expected.names, ours.values, expected.values, strict=True)):
            if name not in rounded or not _is_inexact(b):
                try:
                    assert type(a) is type(b), f"{name}: a {type(a).__name__}, not a {type(b).__name__}"
                    assert_same(*map(self._comparable, (a, b)), where=name)
                except AssertionError:
                    if expected.error is not None and self._is_left_to_chance(which, i, b):
                        continue
                    # Something rounded may have gone into it by way of a list or a number.
                    if not rounded or expected.error is not None or not self._varies(which, i, a, b):
                        raise
                continue
            if expected.error is not None:  # shaken, it may raise elsewhere
                continue
            self._assert_near(which, i, a, b, name, FEW_ULPS)
        if expected.error is None and ours.sharing != expected.sharing:
            raise AssertionError(f"results share memory differently: {ours.sharing}, not {expected.sharing}")

    def _is_left_to_chance(self, which: int, i: int, value: Any) -> bool:
        """Whether what NumPy leaves in an argument where it raises differs from run to run: it is memory that nobody
        wrote, as after `x **= -1` of integers."""
        again = [run(self.function, self.program.arguments(which), self.names).values[i] for _ in range(8)]
        return any(np.asarray(x).tobytes() != np.asarray(value).tobytes() for x in again)

    def _others(self, which: int, i: int, n: int) -> list[Any]:
        """What `n` shaken runs make of a value; empty if there is no telling: with other roundings, or as arrays, it
        raises."""
        self._runs += [self._shaken(which, k) for k in range(len(self._runs), n)]
        return [found.values[i] for found in self._runs if found.error is None]

    def _assert_near(self, which: int, i: int, a: Any, b: Any, name: str, ulps: int) -> None:
        for n in (RUNS, MORE_RUNS):
            others = self._others(which, i, n)
            if not others:
                return
            # A rounding may decide how many elements there are; such a run tells nothing of their values.
            others = [other for other in others if np.shape(other) == np.shape(b)]
            try:
                _assert_near(a, b, others, name, ulps)
                return
            except AssertionError:
                if n == MORE_RUNS:
                    raise

    def _varies(self, which: int, i: int, a: Any, b: Any) -> bool:
        """Whether roundings account for the difference of two values."""
        if not self._others(which, i, RUNS):
            return False
        if _is_inexact(b):
            try:
                self._assert_near(which, i, a, b, "", 0)
            except AssertionError:
                return False
            return True
        x, y = np.asarray(a), np.asarray(b)
        if type(a) is not type(b) or x.dtype != y.dtype or x.shape != y.shape:
            return False
        varies = np.zeros(y.shape, bool)
        for other in self._others(which, i, MORE_RUNS):
            varies |= np.asarray(other) != y if np.shape(other) == y.shape else False
        return bool(np.all(varies | (x == y)))

    def _comparable(self, x: Any) -> Any:
        """`x`, with one kind of zero where the program takes extremes: which of two zeros is the larger one depends on
        vector widths and strides in NumPy."""
        if not self.takes_extremes or getattr(x, "dtype", np.dtype(int)).kind not in "fc":
            return x
        with np.errstate(all="ignore"):
            return x + x.dtype.type(0)

    def _shaken(self, which: int, k: int) -> Outcome:
        Shaken.rng, Shaken.separately = np.random.default_rng((self.program.seed, which, k)), bool(k % 2)
        args = []
        for x in self.program.arguments(which):
            args.append(x.view(Shaken) if isinstance(x, np.ndarray) else shaken(x))
        scope = {**self.function.__globals__, "np": ShakenNumPy()}
        function = types.FunctionType(self.function.__code__, scope)
        found = run(function, args, self.names)
        found.values = [plain(v) for v in found.values]
        return found


def _is_inexact(x: Any) -> bool:
    return isinstance(x, float | complex) or getattr(x, "dtype", np.dtype(int)).kind in "fc"


def _assert_near(result: Any, expected: Any, others: list[Any], where: str, ulps: int) -> None:
    assert type(result) is type(expected), f"{where}: a {type(result).__name__}, not a {type(expected).__name__}"
    a, b = np.asarray(result), np.asarray(expected)
    assert a.dtype == b.dtype, f"{where}: dtype {a.dtype}, not {b.dtype}"
    assert a.shape == b.shape, f"{where}: shape {a.shape}, not {b.shape}"
    if a.dtype.kind == "c":
        scale = np.abs(b)
        _near_parts(a.real, b.real, [np.asarray(o).real for o in others], scale, f"{where}.real", ulps)
        _near_parts(a.imag, b.imag, [np.asarray(o).imag for o in others], scale, f"{where}.imag", ulps)
    else:
        _near_parts(a, b, [np.asarray(o) for o in others], np.abs(b), where, ulps)


def _near_parts(
    a: np.ndarray, b: np.ndarray, others: list[np.ndarray], scale: np.ndarray, where: str, ulps: int
) -> None:
    with np.errstate(all="ignore"):
        unit = np.spacing(np.where(np.isfinite(scale), np.maximum(scale, np.abs(b)), np.abs(b)).astype(b.dtype))
        allowed = ulps * np.where(np.isfinite(unit), unit, 0).astype(np.float64)
        # Near overflow a rounding decides between a number and infinity.
        huge = np.finfo(b.dtype).max / 4
        undecided = (np.abs(a) > huge) & (np.abs(b) > huge) & (np.signbit(a) == np.signbit(b)) & bool(ulps)
        for other in others:
            same_place = np.isfinite(other) == np.isfinite(b)
            undecided |= ~same_place | (~np.isfinite(b) & ~((other == b) | (np.isnan(other) & np.isnan(b))))
            spread = np.abs(other.astype(np.float64) - b.astype(np.float64))
            allowed = np.maximum(allowed, SPREADS * np.where(np.isfinite(spread), spread, 0))
        difference = np.abs(a.astype(np.float64) - b.astype(np.float64))
        differs = ~((a == b) | (np.isnan(a) & np.isnan(b)))
        wrong = differs & ~undecided & ~(difference <= allowed)
    if np.any(wrong):
        first = tuple(int(i) for i in np.argwhere(np.asarray(wrong))[0])
        raise AssertionError(
            f"{where} at {list(first)}: {a[first]!r}, not {b[first]!r}; {allowed[first]:.2e} apart would do "
            f"({np.count_nonzero(wrong)} of {b.size} elements differ)"
        )


def reduce(program: Program, fails: Callable[[Program], Any]) -> Program:
    """The smallest program found that `fails` still says yes to."""
    again = True
    while again:
        again = False
        for smaller in program.reduced():
            if smaller.statements and fails(smaller):
                program, again = smaller, True
                break
    return program
