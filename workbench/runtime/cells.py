"""Cells: the runtime's side of `%%jit`. The same source over inputs of the same types is compiled once a session."""

from __future__ import annotations

import ast
import threading
import time
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from ..config import config
from ..errors import TracingError, UnsupportedOperationError
from ..frontend.cells import TracedCell, trace_cell
from ..frontend.diagnostics import unsupported
from ..frontend.held import HeldValue
from ..ir import Jaxpr
from . import devices
from .arguments import as_array, describe_key, input_key, is_writeable, layout_of, overlapping
from .background import Task
from .compilation import Compilation, Source, compile_traced
from .devices import chosen, trace_for
from .executable import Executable
from .log import logger
from .tiers import compile_later, may_run_in_numpy

MAX_CELLS = 256
MAX_OVERWRITTEN_BYTES = 512 << 20  # more is not copied for the sake of a comparison
WARM_RUNS = 5
LEAST_WARM_RUNS = 4
WARM_SECONDS = 0.3  # a new cell's report may come so much later for the sake of times that will hold
SHORT_SECONDS = 0.03  # runs that are repeated in any case


class Options(Protocol):
    """What a cell's magic line says; see `notebook.cells.CellOptions`."""

    @property
    def out(self) -> Collection[str] | None: ...
    @property
    def strict(self) -> bool: ...
    @property
    def fast(self) -> bool: ...
    @property
    def device(self) -> str | None: ...
    @property
    def has_tiers(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class CellPart:
    """Statements of a larger cell or function. tree: makes their syntax, which tracing rewrites; whole: its source;
    timed: whether every step is timed, for a report; numbers: names whose integers are inputs; later: the names that
    the rest may read, if not all."""

    tree: Callable[[], ast.Module]
    whole: Source
    timed: bool = True
    numbers: frozenset[str] = frozenset()
    later: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Overwritten:
    """An array of the user's that a cell wrote into, and a copy of what it held before."""

    name: str
    array: np.ndarray
    before: np.ndarray


@dataclass(frozen=True, slots=True)
class CellResult:
    """values: what the cell's names hold now; removed: names that it deletes; last_value: of its last expression;
    overwritten: arrays that it wrote into, None if that was not asked for, or if they are too large or on a GPU;
    held: what it let objects hold, and what was in those places before."""

    values: dict[str, Any]
    removed: tuple[str, ...]
    last_value: Any
    compilation: Compilation
    overwritten: tuple[Overwritten, ...] | None = None
    held: tuple[tuple[HeldValue, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class CompilingCell:
    """A cell whose kernels are being compiled; the task's result is its `Compilation`."""

    jaxpr: Jaxpr
    task: Task


@dataclass(eq=False, slots=True)
class _Entry:
    """A traced cell, and its compilation or the task that makes it."""

    cell: TracedCell
    keys: tuple[tuple, ...]
    made: Compilation | Task
    is_new: bool = True

    @property
    def compilation(self) -> Compilation:
        """Waits for it. Raises what compiling it raised."""
        if isinstance(self.made, Task):
            self.made.wait()
            if self.made.error is not None:
                raise self.made.error
            self.made = self.made.result
        assert isinstance(self.made, Compilation)
        return self.made

    def inputs(self) -> list[Any]:
        return [capture.read() for capture in self.cell.captures]

    def is_current(self) -> bool:
        try:
            current = tuple(map(input_key, self.inputs())) == self.keys
        except (LookupError, NameError, AttributeError, TypeError, ValueError):  # what a function holds, too
            return False
        return current and all(guard.holds() for guard in self.cell.guards)


_entries: dict[tuple, list[_Entry]] = {}
_left_to_cpu: set[tuple[int, str]] = set()
_lock = threading.Lock()


def run_cell(
    source: str, namespace: MutableMapping[str, Any], *, label: str, filename: str, options: Options, flags: int = 0,
    part: CellPart | None = None, keeps_overwritten: bool = False,
) -> CellResult:  # fmt: skip
    """Run a cell's source compiled. The namespace is only read; arrays that the cell writes into are written. part: the
    syntax to run instead; `source` only tells it apart from others then. keeps_overwritten: copy what the arrays that
    the cell writes into held before.

    Raises what tracing raises (`frontend.cells.trace_cell`), before anything has happened.
    """
    run = partial(
        _run_cell, source, namespace, label=label, filename=filename, options=options, flags=flags, part=part,
        keeps_overwritten=keeps_overwritten,
    )  # fmt: skip
    if options.device or config.device or not devices.accelerator():
        return run()
    # A GPU that nobody asked for must not break a cell: the CPU takes over, once for all.
    key, failure = (id(namespace), source), None
    if key not in _left_to_cpu:
        try:
            return run()
        except TracingError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever a driver or its libraries raise
            failure = error
    with config(device="cpu"):
        result = run()  # the user's own errors are raised here again
    if failure is not None:
        logger.warning("%s runs on the CPU from now on: %s", label, failure)
        _left_to_cpu.add(key)
    return result


def _run_cell(
    source: str, namespace: MutableMapping[str, Any], *, label: str, filename: str, options: Options, flags: int,
    part: CellPart | None, keeps_overwritten: bool,
) -> CellResult:  # fmt: skip
    if part is None:
        require_silent_errors()
    key = _key(source, namespace, options, flags, part)
    entry = _find(key) or _trace(key, source, namespace, label, filename, options, flags, part, later=False)
    try:
        compilation = entry.compilation
    except BaseException:
        _forget(key, entry)
        raise
    if not entry.is_new:
        compilation.status = "cached"
    entry.is_new = False
    inputs = entry.inputs()
    shared = overlapping(inputs, [i for i, _ in entry.cell.writes])
    if shared is not None:
        names = " and ".join(entry.cell.traced.input_names[i] for i in shared)
        raise UnsupportedOperationError(
            f"WB123  {names} share memory, and the cell writes into it: NumPy keeps the order of reads and writes",
            code="WB123",
            fixes=("{0} = {0}.copy()".format(entry.cell.traced.input_names[shared[1]]),),
        )
    written = {i for i, _ in entry.cell.writes}
    if not all(is_writeable(inputs[i]) for i in written):
        raise ValueError("assignment destination is read-only")
    overwritten = _overwritten(entry.cell, inputs) if keeps_overwritten else None
    held = _held(entry.cell) if keeps_overwritten else ()
    executable = compilation.executable
    if isinstance(executable, Executable):
        arrays = [as_array(x) for x in inputs]
    else:
        arrays, inputs = executable.as_inputs(inputs, written)
    if part is not None and not part.timed:
        results = executable.run(*arrays)
    else:
        before = None if compilation.runs_ms else _copies(arrays, written)
        results = compilation.run_timed(*arrays)
        if before is not None:
            _warm_up(compilation, arrays, before)
    if isinstance(executable, Executable):
        values, last = entry.cell.rebuild(results, inputs)
    else:
        results = executable.for_targets(results, [(inputs[i], k) for i, k in entry.cell.writes])
        with executable.memory.working():
            values, last = entry.cell.rebuild(results, inputs)
    return CellResult(values, entry.cell.removed, last, compilation, overwritten, held)


def _held(cell: TracedCell) -> tuple[tuple[HeldValue, Any], ...]:
    places = [each.place() for each in cell.traced.outputs.held]
    return tuple((place, place.get()) for place in places)


def _overwritten(cell: TracedCell, inputs: list[Any]) -> tuple[Overwritten, ...] | None:
    written = {i: inputs[i] for i, _ in cell.writes}
    if not all(isinstance(array, np.ndarray) for array in written.values()):
        return None
    if sum(array.nbytes for array in written.values()) > MAX_OVERWRITTEN_BYTES:
        return None
    names = cell.traced.input_names
    return tuple(Overwritten(names[i], array, array.copy(order="K")) for i, array in written.items())


def begin_cell(
    source: str, namespace: MutableMapping[str, Any], *, label: str, filename: str, options: Options, flags: int = 0,
    part: CellPart | None = None,
) -> CompilingCell | None:  # fmt: skip
    """Begin to compile a cell in the background, if that was not done yet. None if its kernels are ready, or if it
    should wait for them. part: as in `run_cell`. Whoever runs it in NumPy meanwhile says when that is over:
    `task.may_begin.set()`.

    Raises what tracing raises, before anything has happened.
    """
    if part is None:
        require_silent_errors()
    key = _key(source, namespace, options, flags, part)
    entry = _find(key) or _trace(key, source, namespace, label, filename, options, flags, part, later=True)
    if isinstance(entry.made, Task) and not entry.made.is_done:
        return CompilingCell(entry.cell.jaxpr, entry.made)
    return None


def require_silent_errors() -> None:
    """Refuse to run compiled where somebody asked NumPy to raise, or to be called, for floating-point errors."""
    heard = heard_errors()
    if heard is not None:
        raise heard


def heard_errors() -> TracingError | None:
    """Why not to run compiled: somebody asked NumPy to raise, or to be called, for floating-point errors."""
    if errors_are_silent():
        return None
    heard = ", ".join(f"{name}='{what}'" for name, what in np.geterr().items() if what not in _SILENT)
    return unsupported(f"NumPy with {heard}", why="kernels do not report floating-point errors")


def errors_are_silent() -> bool:
    return _SILENT.issuperset(np.geterr().values())


_SILENT = frozenset(("ignore", "warn"))


def _copies(arrays: Sequence[Any], written: Collection[int]) -> dict[int, Any] | None:
    """What the cell will write into, as it is before; None where that is too large to keep."""
    if sum(arrays[i].nbytes for i in written) > MAX_OVERWRITTEN_BYTES:
        return None
    return {i: arrays[i].copy() for i in written}


def _warm_up(compilation: Compilation, arrays: list[Any], before: Mapping[int, Any]) -> None:
    """Run a new cell's kernels a few times more: the first run faults fresh pages in, which later ones do not. Each run
    begins with what the first one found, in copies: others could take other paths, raise, or never end."""
    if compilation.runs_ms[-1] / 1e3 > WARM_SECONDS:
        return
    arrays = [before[i].copy() if i in before else x for i, x in enumerate(arrays)]
    begin = time.perf_counter()
    while len(compilation.runs_ms) <= WARM_RUNS:
        last_s = compilation.runs_ms[-1] / 1e3
        # The second run may fault pages in, too: a median of both would be of no run that follows.
        least = LEAST_WARM_RUNS if last_s <= SHORT_SECONDS else 0
        if len(compilation.runs_ms) > least and time.perf_counter() - begin + last_s > WARM_SECONDS:
            return
        for i, contents in before.items():
            arrays[i][...] = contents
        compilation.run_timed(*arrays)


def _key(
    source: str, namespace: MutableMapping[str, Any], options: Options, flags: int, part: CellPart | None
) -> tuple:
    out = None if options.out is None or part is not None else tuple(options.out)
    return (
        id(namespace), source, out, options.strict, flags, part is not None, options.fast, chosen(options.device)
    )  # fmt: skip


def _find(key: tuple) -> _Entry | None:
    return next((entry for entry in reversed(_entries.get(key, ())) if entry.is_current()), None)


def _forget(key: tuple, entry: _Entry) -> None:
    with _lock:
        _entries[key] = [other for other in _entries.get(key, ()) if other is not entry]


def _trace(
    key: tuple,
    source: str,
    namespace: MutableMapping[str, Any],
    label: str,
    filename: str,
    options: Options,
    flags: int,
    part: CellPart | None,
    *,
    later: bool,
) -> _Entry:
    """Trace a cell, and compile it now or, where NumPy can run it meanwhile, `later`."""
    _, _, out, *_, device = key
    begin = time.perf_counter()

    def traced(on_gpu: bool) -> TracedCell:
        return trace_cell(
            source if part is None else part.tree(), namespace, filename=filename, out=out, strict=options.strict,
            name=label, flags=flags, temporaries=part is not None, on_gpu=on_gpu,
            numbers=frozenset() if part is None else part.numbers, later=None if part is None else part.later,
        )  # fmt: skip

    cell = trace_for(device, traced)
    trace_ms = (time.perf_counter() - begin) * 1e3
    inputs = [capture.read() for capture in cell.captures]
    layouts = [layout_of(x) for x in inputs]
    whole = Source(label, source, filename) if part is None else part.whole
    are_all = len(cell.outputs) == len(cell.jaxpr.outvars) and not cell.traced.outputs.held
    names = cell.outputs if are_all else cell.output_names
    keys = tuple(map(input_key, inputs))
    earlier = _entries.get(key, [])
    changed = _changes(earlier[-1], cell, keys) if earlier else ""

    def compiled() -> Compilation:
        compilation = compile_traced(
            cell.traced, layouts, whole, output_names=names, trace_ms=trace_ms, device=device, fast=options.fast
        )  # fmt: skip
        if earlier:
            compilation.status = "recompiled"
            compilation.changed = changed
        elif compilation.kernel_infos and all(info.cached for info in compilation.kernel_infos.values()):
            compilation.status = "cached"
        return compilation

    is_later = later and may_run_in_numpy(cell.jaxpr, device)
    entry = _Entry(cell, keys, compile_later(compiled) if is_later else compiled())
    with _lock:
        if len(_entries) >= MAX_CELLS:
            _entries.pop(next(iter(_entries)))
        _entries[key] = [*_entries.get(key, [])[-3:], entry]
    return entry


def _changes(before: _Entry, cell: TracedCell, keys: tuple[tuple, ...]) -> str:
    """What made an earlier version unfit: `x f64[1000] -> f32[1000]`."""
    old = dict(zip(before.cell.traced.input_names, before.keys, strict=True))
    texts = []
    for name, key in zip(cell.traced.input_names, keys, strict=True):
        if name in old and old[name] != key:
            was, now = describe_key(old[name]), describe_key(key)
            texts.append(f"{name} {was} → {now}" if was != now else f"{name}: its memory layout")
    texts.extend(f"{g.name} has another value" for g in before.cell.guards if not g.holds())
    return ", ".join(texts)
