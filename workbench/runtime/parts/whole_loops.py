"""Loops that tracing refuses, and that numba takes whole: lists grow and shrink, and nobody knows how often they run.

The loop works on the values that are at hand. Where it raises, or where Python's integers leave 64 bits, the arrays are
put back, and Python runs it: it raises what Python raises. Lists from outside are changed once it has ended.
"""

from __future__ import annotations

import ast
import itertools
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from ...codegen.loops.random_words import N_WORDS
from ...errors import bug_of_ours
from ...frontend.counted_tables import table_of
from ...frontend.liveness import bound
from ...frontend.loops.concrete import translate_here
from ...frontend.loops.given_items import holds_exactly
from ...frontend.loops.likeness import ConcreteLoop, NotTheSameError, Result
from ...frontend.loops.list_arrays import leaves_of
from ...frontend.loops.list_names import takes_elements
from ...frontend.loops.types import (
    BOOL,
    I64,
    Array,
    Growing,
    Items,
    Number,
    RandomSource,
    Table,
    Type,
    UntranslatableError,
    is_as_in_array,
)
from ...ir import Aval, Equation, Jaxpr, Origin, Span, Var
from ...primitives.loops import LoopArgument, LoopProgram, loop_p
from ..cells import CellResult
from ..compilation import Compilation, Source, compile_traced
from ..log import logger
from ..loops import RAISED, compiled_entry
from .random_sources import Drawing, can_draw, drawing

MOST_KINDS = 4  # of values, for which one loop is compiled
OF_NUMBERS = 2  # of these kinds, which may be for the ints at hand alone
MOST_FAILURES = 2  # runs in a row that raised: then the loop is Python's


class Surroundings(Protocol):
    """namespace: where a loop's names are; whole: what the user wrote it in."""

    @property
    def namespace(self) -> MutableMapping[str, Any]: ...

    @property
    def whole(self) -> Source: ...


@dataclass(frozen=True, slots=True)
class _Traced:
    """What a compilation asks of a traced program, of one loop."""

    jaxpr: Jaxpr
    input_names: tuple[str, ...]
    writes: tuple = ()
    out_leaves: tuple = ()


@dataclass(eq=False, slots=True)
class WholeLoop:
    """One statement, with what it was compiled to for values of some kinds. text: of the function that it stands for;
    anyway: whether it is compiled, too, where kernels would be faster; latest: what ran last."""

    node: ast.For | ast.While
    text: str = ""
    anyway: bool = False
    versions: list[_Version] = field(default_factory=list)
    refused: bool = False
    n_failures: int = 0
    latest: _Version | None = None
    takes: bool = field(init=False)  # whether it takes elements out of lists
    names: frozenset[str] = field(init=False)  # that it binds

    def __post_init__(self) -> None:
        self.takes = takes_elements(self.node)
        self.names = frozenset(bound([self.node]))

    def run(
        self, around: Surroundings, later: frozenset[str] | None, arrays: frozenset[str] = frozenset()
    ) -> CellResult | None:
        """Run it in the namespace of `around`; None if Python must, in which case nothing has happened. later: the
        names that are read afterwards, if not any may be; arrays: those of lists that are better left as arrays of
        their elements, where there are any."""
        namespace = around.namespace
        if self.refused:
            return None
        for version in self.versions:
            try:
                values = version.loop.values(namespace)
                return self._ended(version, version.run(values, namespace, arrays, later))
            except NotTheSameError:
                continue
        if len(self.versions) >= MOST_KINDS:
            self.refused = True
            return None
        compiles = self.translated(around, later)
        version = compiles() if compiles is not None else None
        if version is None:
            return None
        try:
            return self._ended(version, version.run(version.loop.values(namespace), namespace, arrays, later))
        except NotTheSameError:
            logger.debug("a loop is Python's: its values are not what they seemed")
            self.refused = True
            return None

    def translated(self, around: Surroundings, later: frozenset[str] | None) -> Callable[[], _Version | None] | None:
        """What compiles it for the values at hand, at any time; None where it cannot be translated. What that gives is
        None where numba does not take it."""
        begin = time.perf_counter()
        try:
            few = len(self.versions) < OF_NUMBERS
            loop = translate_here(self.node, around.namespace, later, anyway=self.anyway, of_numbers=few)
        except Exception as reason:  # noqa: BLE001  # a bug of ours must not end the user's program
            self._refuse(reason)
            return None
        return partial(self._compiled, loop, around.whole, begin)

    def _compiled(self, loop: ConcreteLoop, whole: Source, begin: float) -> _Version | None:
        try:
            version = _Version.of(loop, self, whole, begin)
        except Exception as reason:  # noqa: BLE001
            self._refuse(reason)
            return None
        if version is None:
            self.refused = True
        else:
            self.versions.append(version)
        return version

    def _refuse(self, reason: Exception) -> None:
        """Leave it to Python, or what it was not compiled for yet."""
        self.refused = not self.versions
        if isinstance(reason, UntranslatableError):
            logger.debug("a loop is Python's: %s", reason)
            return
        logger.warning("%s", bug_of_ours("a loop", reason))

    def _ended(self, version: _Version, ran: bool) -> CellResult | None:
        if ran:
            self.latest, self.n_failures = version, 0
            return CellResult({}, (), None, version.compilation)
        self.n_failures += 1
        self.refused = self.n_failures > MOST_FAILURES
        return None


@dataclass(eq=False, slots=True)
class _Version:
    loop: ConcreteLoop
    compilation: Compilation
    entry: Any
    careful: LoopProgram | None

    @classmethod
    def of(cls, loop: ConcreteLoop, of: WholeLoop, whole: Source, begin: float) -> _Version | None:
        """None if numba does not take it."""
        node = of.node
        sources = [p.kind for p in loop.parameters if isinstance(p.kind, RandomSource)]
        if not all(kind.is_pythons for kind in sources) and not can_draw():
            raise UntranslatableError("random numbers of a NumPy whose functions cannot be told")
        arguments, names = [], []
        for p in loop.parameters:
            for name, aval, weak in _operands(
                p.name, p.held if isinstance(p.kind, Growing | Table) and p.held else p.kind
            ):
                arguments.append(LoopArgument(len(names), aval.ndim > 0, aval.dtype, aval.ndim, weak, (), p.in_order))
                names.append((name, aval))
            if p.given:
                arguments.append(LoopArgument(len(names), True, BOOL, 1, False, (), True))
                names.append((f"{p.name}.ints", Aval((0,), BOOL)))
        inputs = tuple(Var(aval, name) for name, aval in names)
        by_name = {var.hint: k for k, var in enumerate(inputs)}
        written = tuple(by_name[name] for name in loop.written)
        outs = [Var(inputs[k].aval, inputs[k].hint) for k in written]
        outs += [Var(aval, name) for r in loop.results for name, aval in _shown(r.name, r.kind)]
        outs = outs or [Var(Aval((), I64), "")]
        text = of.text or ast.unparse(node)
        program = LoopProgram(
            "loop", loop.source, tuple(arguments), written, tuple(v.aval for v in outs), _not_called, loop.reason, text,
            (), loop.careful, loop.quiet,
        )  # fmt: skip
        filename = whole.filename
        span = Span(filename, node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)
        origin = Origin((span,), "def" if of.text else "for" if isinstance(node, ast.For) else "while")
        equation = Equation(loop_p, inputs, tuple(outs), {"program": program}, origin)
        jaxpr = Jaxpr(inputs, (equation,), tuple(outs))
        traced = _Traced(jaxpr, tuple(name for name, _ in names))
        trace_ms = (time.perf_counter() - begin) * 1e3
        layouts = ["C" if a.in_order else "A" for a in arguments]
        output_names = () if of.text else [v.hint for v in outs]  # of a function its caller names the result
        compilation = compile_traced(traced, layouts, whole, output_names=output_names, trace_ms=trace_ms)
        entry = compiled_entry(program)  # in the time of the compilation
        if entry is None:
            return None
        careful = None
        if loop.careful:
            careful = LoopProgram("loop", loop.careful, *_rest_of(program))
        return cls(loop, compilation, entry, careful)

    def run(
        self, values: dict[str, Any], namespace: MutableMapping[str, Any], arrays: frozenset[str],
        later: frozenset[str] | None,
    ) -> bool:  # fmt: skip
        """Whether it ran to its end. NotTheSameError, before anything has happened, if lists hold something else."""
        loop = self.loop
        arguments: list[Any] = []
        sources = [values[p.name] for p in loop.parameters if isinstance(p.kind, RandomSource)]
        gives_up = not loop.quiet or any(isinstance(r.kind, Growing | Table) for r in loop.results)
        with drawing(sources) as drawn:
            for p in loop.parameters:
                value = values[p.name]
                if p.given:
                    arguments += _given_items(value, p.given)
                elif isinstance(p.kind, Growing):
                    arguments += _arrays_of(value, p.kind, p.held)
                elif isinstance(p.kind, Table):
                    arguments += _arrays_of_table(value, p.kind, p.held)
                else:
                    arguments.append(drawn.words[id(value)] if isinstance(p.kind, RandomSource) else value)
            begin = time.perf_counter()
            before = {name: values[name].copy() for name in loop.written if gives_up}
            found = self._results(arguments, values, before, drawn)
            made = None if found is None else self._made(found, values, arrays, later)
            if made is None:
                _put_back(values, before)
                drawn.put_back()
                return False
        known = [v for v in values.values() if type(v) is np.ndarray]
        for r, _, _, value in made:
            if r.in_place and type(value) is np.ndarray:
                namespace[r.name] = value
            elif isinstance(r.kind, Table) and r.in_place:
                _update(values[r.name], *value)
            elif r.in_place:
                _replace(values[r.name], value)
        for r, other, _, value in made:
            if other:  # a list that has another name, too
                name = r.others[other - 1]
                given = name.removesuffix("__given")
                value = values[given] if given != name else namespace[name]
            if not r.in_place and value is not _UNSET:
                namespace[r.name] = value = known_array(value, known) if type(value) is np.ndarray else value
                if type(value) is np.ndarray:
                    known.append(value)
        left = {r.name: r for r, *_ in made}
        for r, _, place, value in made:
            holder = left.get(r.inside)
            if place >= 0 and value is not _UNSET and holder is not None:
                namespace[r.name] = (values if holder.in_place else namespace)[holder.name][place]
        elapsed_ms = (time.perf_counter() - begin) * 1e3
        compilation = self.compilation
        compilation.runs_ms = [*compilation.runs_ms[-49:], elapsed_ms]
        step = compilation.plan.steps[0].id
        compilation.timeline = [(step, step, 0.0, elapsed_ms, "main")]
        return True

    def _made(
        self, found: Sequence[Any], values: dict[str, Any], arrays: frozenset[str], later: frozenset[str] | None
    ) -> list[tuple[Result, int, int, Any]] | None:  # fmt: skip
        """What the loop leaves: which other list it is, if one, where it is in a list of lists, or -1, and the value.
        None where its type is not known."""
        loop, results = self.loop, iter(found)
        shared = {name for r in loop.results for name in r.others}
        changed = (r.name for r in loop.results if r.in_place and isinstance(r.kind, Growing))
        alone = frozenset(n for n in changed if f"{n}__given" not in shared and sys.getrefcount(values[n]) <= _ALONE)
        given = frozenset(p.name for p in loop.parameters if p.given)
        unread = frozenset() if later is None else alone - later
        try:
            return [
                (
                    r, *_result(
                        r, results, as_array=r.name in arrays - given and (not r.in_place or r.name in alone),
                        first=values[r.name] if r.name in given else (),
                    ),
                )
                for r in loop.results
                if r.name not in unread or _skip(r, results)
            ]  # fmt: skip
        except NotTheSameError:
            return None

    def _results(
        self, arguments: list[Any], values: dict[str, Any], before: dict[str, Any], drawn: Drawing
    ) -> Sequence[Any] | None:  # fmt: skip
        try:
            return self.entry(*arguments) or ()
        except RAISED as error:
            _put_back(values, before)
            drawn.put_back()
            if type(error) is not LookupError or self.careful is None:
                logger.info("a loop raises %s: it runs in Python", type(error).__name__)
                return None
        entry = compiled_entry(self.careful)
        if entry is None:
            return None
        before = before or {name: values[name].copy() for name in self.loop.written}
        try:
            found = entry(*arguments) or ()
        except RAISED as error:
            _put_back(values, before)
            drawn.put_back()
            logger.info("a loop raises %s: it runs in Python", type(error).__name__)
            return None
        self.entry, self.careful = entry, None  # from now on
        return found


_UNSET: Any = object()
_ALONE = 3  # references to a list that a namespace holds and `values` does, asked for with one more


def _skip(r: Result, results: Iterator[Any]) -> bool:
    """Pass over a list that nobody reads any more."""
    kind = r.kind
    assert isinstance(kind, Growing)
    n_arrays = 2 if isinstance(kind.item, Growing) else len(leaves_of(kind.item or Number(I64, True)))
    for _ in range(n_arrays):
        next(results)
    return False


def _result(r: Result, results: Iterator[Any], *, as_array: bool, first: Sequence[Any] = ()) -> tuple[int, int, Any]:
    """Which other list it is, if one, where it is in a list of lists, or -1, and the value. first: the items of a list
    that stay as they were."""
    is_set = not r.flagged or next(results)
    is_none = r.optional and next(results)
    is_pythons = r.tagged and next(results)
    other = int(next(results)) if r.others else 0
    place = int(next(results)) if r.inside else -1
    if isinstance(r.kind, Table) and r.in_place:
        return 0, -1, _entries(r.kind, results)
    value = _array_of(r.kind, results) if as_array else _value_of(r.kind, results)
    if is_pythons:
        assert isinstance(r.kind, Number)
        value = PYTHONS_TYPES[r.kind.kind](value)
    if first:
        value[: len(first)] = first
    if is_none:
        value = None
    return (other, place, value) if is_set else (0, -1, _UNSET)


def _rest_of(program: LoopProgram) -> tuple:
    return (program.arguments, program.written, program.results, _not_called, program.reason, program.text)


def _not_called(*_: Any) -> tuple:
    raise AssertionError("the loop runs by itself")


def _put_back(values: dict[str, Any], before: dict[str, Any]) -> None:
    for name, copy in before.items():
        np.copyto(values[name], copy)


def known_array(value: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
    """The array itself, where the loop gives one that it was given, or one twice."""
    for other in others:
        if other.shape == value.shape and value.size and np.may_share_memory(other, value):
            if _place(other) == _place(value):
                return other
    return value


def _place(array: np.ndarray) -> tuple:
    return array.__array_interface__["data"][0], array.strides, array.dtype


# ---- lists ----


def _operands(name: str, kind: Type) -> Iterator[tuple[str, Aval, bool]]:
    """The arguments that a parameter becomes: name, type, and whether it is Python's number."""
    match kind:
        case Number():
            yield name, Aval((), kind.dtype, kind.weak), kind.weak
        case Array(shape=shape):
            yield name, Aval(tuple(n or 0 for n in shape), kind.dtype), False
        case RandomSource():
            yield name, Aval((N_WORDS,), I64), False
        case Growing(item=Growing(item=inner)):
            yield f"{name}.offsets", Aval((0,), I64), False
            yield name, Aval((0,), leaves_of(inner or Number(I64, True))[0].dtype), False
        case Table(keys=keys, values=values):
            for part, held in (("keys", keys), ("values", values)):
                if held is not None:
                    yield from _operands(f"{name}.{part}", held)
        case Growing(item=item):
            for leaf in leaves_of(item or Number(I64, True)):
                yield name, Aval((0,), leaf.dtype), False
        case _:
            raise UntranslatableError(f"`{name}`, {kind}")


def _shown(name: str, kind: Type) -> Iterator[tuple[str, Aval]]:
    """What a report shows of a result."""
    if isinstance(kind, Items):
        for item in kind.items:
            yield from _shown(name, item)
        return
    for each, aval, _ in _operands(name, kind):
        if not each.endswith(".offsets"):
            yield each, aval


PYTHONS_TYPES = {"b": bool, "i": int, "f": float, "c": complex}


def _types(kind: Number) -> set[type]:
    """The types that a value of this kind may have."""
    found: set[type] = {PYTHONS_TYPES[kind.kind]} if kind.python else set()
    return found if kind.weak else found | {kind.dtype.type}


def _arrays_of(values: Any, kind: Growing, held: Type | None) -> list[np.ndarray]:
    """The elements of a list as arrays. NotTheSameError if they are of other types. held: what the loop takes the list
    for."""
    assert isinstance(held, Growing)
    item = kind.item
    if item is None and values:
        raise NotTheSameError
    item = held.item or Number(I64, True) if item is None else item
    if isinstance(item, Growing):
        assert held.item is None or isinstance(held.item, Growing)
        inner = item.item
        if not {*map(type, values)} <= {list} or len({*map(id, values)}) < len(values):
            raise NotTheSameError
        lengths = np.zeros(len(values) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=lengths[1:])
        flat = list(itertools.chain.from_iterable(values))
        if inner is None and flat:
            raise NotTheSameError
        return [lengths, *_columns(flat, inner or (held.item and held.item.item) or Number(I64, True))]
    return _columns(list(values), item)


def _arrays_of_table(found: Any, kind: Table, held: Type | None) -> list[np.ndarray]:
    """The keys of a dictionary or set as arrays, and the values."""
    assert isinstance(held, Table) and kind.keys is not None
    arrays = _arrays_of(list(found), kind.keys, held.keys)
    if kind.values is not None:
        arrays += _arrays_of(list(found.values()), kind.values, held.values)
    return arrays


def _given_items(values: list[Any], types: frozenset[type]) -> list[np.ndarray]:
    """The items of a list as floats, and which of them are ints. NotTheSameError if they are of other types."""
    if not {*map(type, values)} <= types or not holds_exactly(values):
        raise NotTheSameError
    return [np.array(values, np.float64), np.array([type(v) is int for v in values], bool)]


def _columns(values: list[Any], item: Type) -> list[np.ndarray]:
    if isinstance(item, Items):
        if any(type(v) is not tuple or len(v) != len(item.items) for v in values):
            raise NotTheSameError
        columns = list(zip(*values, strict=True)) if values else [()] * len(item.items)
        return [array for column, t in zip(columns, item.items, strict=True) for array in _columns(list(column), t)]
    assert isinstance(item, Number)
    if not {*map(type, values)} <= _types(item):
        raise NotTheSameError
    try:
        return [np.array(values, item.dtype)]
    except OverflowError:
        raise NotTheSameError from None


def _value_of(kind: Type, results: Iterator[Any]) -> Any:
    """A variable's value, of the type that it has in Python. NotTheSameError if that is not known."""
    match kind:
        case Growing(item=Growing(item=inner)):
            places, flat = next(results), next(results)
            items = _elements(inner or Number(I64, True), iter((flat,)))
            return [items[a:b] for a, b in zip(places[:-1], places[1:], strict=True)]
        case Table():
            return table_of(kind.of, kind.default, *_entries(kind, results))
        case Growing(item=item):
            return _elements(item or Number(I64, True), results)
        case Items(items=items):
            made = [_value_of(each, results) for each in items]
            return made if kind.is_list else tuple(made)
        case Number():
            value = next(results)
            return PYTHONS_TYPES[kind.kind](value) if kind.weak else kind.dtype.type(value)
    return next(results)


def _entries(kind: Table, results: Iterator[Any]) -> tuple[list[Any], list[Any] | None]:
    """The keys of a dictionary or set, and the values of a dictionary."""
    keys = _value_of(kind.keys or Growing(None), results)
    return keys, None if kind.values is None else _value_of(kind.values, results)


def _array_of(kind: Type, results: Iterator[Any]) -> Any:
    """What NumPy would make of a list of numbers; of one without any NumPy does not know the type."""
    if isinstance(kind, Growing) and isinstance(kind.item, Number) and is_as_in_array(kind.item):
        array = next(results)
        return array if len(array) else []
    return _value_of(kind, results)


def _elements(item: Type, results: Iterator[Any]) -> list[Any]:
    if isinstance(item, Items):
        columns = [_elements(each, results) for each in item.items]
        return list(zip(*columns, strict=True))
    array = next(results)
    assert isinstance(item, Number)
    if len(array) and (item.unsure or item.mixed):
        raise NotTheSameError
    return array.tolist() if item.weak or item.dtype == BOOL and item.weak else list(array)


def _update(old: Any, keys: list[Any], values: list[Any] | None) -> None:
    """Make a dictionary or set hold these. Keys that it has had before stay where they were."""
    left = set(keys)
    if any(key not in left for key in old):
        old.clear()
    if values is None:
        for key in keys:  # `update` would go through a set in another order
            old.add(key)
        return
    for key, value in zip(keys, values, strict=True):
        if type(value) is list and key in old:  # lists inside stay who they are
            old[key][:] = value
        else:
            dict.__setitem__(old, key, value)


def _replace(old: Any, new: list[Any]) -> None:
    """Make a list or deque hold something else."""
    if isinstance(old, deque):
        old.clear()
        old.extend(new)
    elif new and isinstance(new[0], list):  # lists inside stay who they are
        for k, each in enumerate(old):
            each[:] = new[k]
        old.extend(new[len(old) :])
    else:
        old[:] = new
