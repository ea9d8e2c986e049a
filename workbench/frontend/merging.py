"""Where branches meet: which values all sides agree on, and of which type the others are.

Values are pytrees. A leaf that every side leaves as it is stays what it is, also if it is no array; numbers and arrays
that differ become results of the equation, if their types agree. An array that may or may not share memory with another
one, depending on the branch taken, must not be written to from there on. What cannot be told apart faithfully is
refused with a reason, and runs in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optree

from ..errors import TracingError
from ..ir import REGISTRY, Literal, Var
from .aliases import BranchAliases, add_codes, mark_branch
from .blanks import NUMBERS, zeros_like
from .carried_objects import is_carried
from .choices import agreed
from .constants import CONSTANT_TYPES, same_constant
from .diagnostics import build
from .held import UNDEFINED
from .messages import may_end_the_call
from .number_types import flag, is_python
from .places import BranchPlaces
from .recording import current_trace
from .references import is_container, key_orders
from .regions import Region
from .tracer import Tracer, emit, lay_out, require_trace


class UnstableLoopError(TracingError):
    """A loop carries other types after an iteration than before it: its first iteration must be written out."""

    code = "WB181"


def refuse(verb: str, name: str, what: str) -> TracingError:
    return build(
        TracingError, f"{{line}} {verb} `{name}`, {what}.", f"`{name}` in traced control flow", code="WB182",
        fixes=("keep lists and objects out of branches and loops on traced values, or fill an array instead",),
    )  # fmt: skip


def not_traceable(error: Exception) -> TracingError:
    """A body that raises: whether it would be reached is only known when the kernel runs."""
    return build(
        TracingError,
        f"{{line}} reaches code that raises {type(error).__name__} ({error}), on a path that is chosen when the kernel "
        "runs.",
        f"{type(error).__name__} in a traced branch or loop", code="WB183",
        fixes=("check arguments outside of the compiled code",),
    )  # fmt: skip


def disagree(name: str, found: str, other: str) -> TracingError:
    what = f"`{name}`" if name else "the value"
    if found == other:  # two functions, say
        kind = found.removeprefix("a ").removeprefix("an ")
        return build(
            UnstableLoopError, f"{{line}}: {what} is another {kind} on each path.", f"{what} is not one {kind}",
            code="WB181", fixes=("choose among numbers or arrays, and let the same code compute with them",),
        )  # fmt: skip
    return build(  # in the body of a loop, the first iteration may settle it
        UnstableLoopError, f"{{line}}: {what} is {found} on one path and {other} on another.",
        f"{what} has no one type", code="WB181",
        fixes=("give it one type on every path: np.float64(...), .astype(...), a value before the branch",),
    )  # fmt: skip


def held_elsewhere(name: str, value: Any) -> TracingError:
    what, kind = f"`{name}`" if name else "the value", type(value).__name__
    return build(
        UnstableLoopError,
        f"{{line}}: {what} is this {kind} on one path and that on another, and more than this name refers to one of "
        "them.",
        f"{what} is a {kind} that something else holds, too", code="WB181",
        fixes=(f"copy it where it gets its second name: {'copy.copy' if is_carried(value) else kind}(...)",),
    )  # fmt: skip


class RaisingError(Exception):
    """A side of a branch that raises `error`, whatever the numbers are."""

    def __init__(self, error: Exception):
        super().__init__(str(error))
        self.error = error

    def on_all_sides(self) -> Exception:
        """The error, where there is no other way to go."""
        trace = require_trace()
        if isinstance(self.error, TracingError):
            trace.failure = trace.failure or self.error
        return self.error


def region_of(run: Callable[..., Any], prototypes: Sequence[Any], forget: frozenset[int] = frozenset()) -> Region:
    try:
        return Region(run, prototypes, forget)
    except TracingError:
        raise
    except Exception as error:
        raise not_traceable(error) from error


def described(value: Any) -> str:
    if type(value) is Tracer:
        return str(value.aval) if value.shape else value.dtype.name
    return "unbound" if value is UNDEFINED else f"a {type(value).__name__}"


# ---- branches ----


@dataclass(eq=False)
class Outcome:
    """One side of a branch: its region, what it returned, and the variables that live on.

    held_elsewhere: the names of those of them ("" is the result) whose lists and dicts something else refers to, too;
    contents: what their lists and dicts held in the end, by id. Those that are older than the branch hold again what
    they held before.
    """

    region: Region
    result: Any
    state: dict[str, Any]
    held_elsewhere: frozenset[str]
    contents: Mapping[int, list | dict]

    def as_left(self, value: Any) -> Any:
        return self.contents.get(id(value), value)


def branch_outcome(run: Callable[[], tuple[Any, dict[str, Any], frozenset[str]]]) -> Outcome:
    trace = require_trace()
    failure = trace.failure
    try:
        region = Region(run, ())
    except (TracingError, RecursionError, MemoryError) as error:
        if not may_end_the_call(error):
            raise
        trace.failure = failure
        raise RaisingError(error) from error  # type: ignore[arg-type]  # an Exception
    except Exception as error:
        raise RaisingError(error) from error
    result, state, held_elsewhere = region.result
    contents = {id(v): v.copy() for v in (result, *state.values()) if type(v) in (list, dict)}
    return Outcome(region, result, state, held_elsewhere, contents)


@dataclass(eq=False)
class Merged:
    """columns: for each region, its results in order; slots: how a name's value is put together from them; mixed: the
    results that are Python's numbers on one side alone, and of which types; python: the results that tell on which."""

    columns: list[list[Tracer]]
    slots: dict[str, tuple[Any, list[Any]]] = field(default_factory=dict)
    aliases: list[BranchAliases] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    places: BranchPlaces | None = None
    mixed: dict[int, tuple[type, ...]] = field(default_factory=dict)
    python: dict[int, int] = field(default_factory=dict)

    def rebuild(self, outs: Sequence[Tracer]) -> tuple[Any, dict[str, Any]]:
        for out, model in zip(outs, self.columns[0], strict=True):
            out.scalar = model.scalar
            if not out.scalar:
                lay_out(out, model._strides)  # of all sides, see `_unified`
        for k, kinds in self.mixed.items():
            outs[k].buffer.mixed = kinds
            outs[k].buffer.python = outs[self.python[k]] if k in self.python else None
        for name, (_, leaves) in self.slots.items():
            for leaf in leaves:
                if type(leaf) is _Result and leaf.k in self.mixed:
                    name_mixed(outs[leaf.k], name)
        for region in self.regions:
            region.pass_on_ambiguity()
        for column in self.columns:
            for out, inner in zip(outs, column, strict=True):
                out.buffer.ambiguous = out.buffer.ambiguous or inner.buffer.ambiguous
        mark_branch(self.aliases, outs)
        if self.places is not None:
            self.places.mark(outs)
        values = {}
        for name, (tree, leaves) in self.slots.items():
            filled = [outs[leaf.k] if type(leaf) is _Result else leaf for leaf in leaves]
            values[name] = filled[0] if tree is None else optree.tree_unflatten(tree, filled)
        return values.pop(""), values


@dataclass(frozen=True)
class _Result:
    k: int


def merge_results(outcomes: Sequence[Outcome], older: Set[int]) -> Merged:
    """The values that branches agree on, and the types of those that they choose between. "" is the result.

    older: the ids of containers that are older than the branches.
    """

    def is_older(x: Any) -> bool:
        return type(x) in (list, dict) and (id(x) in older or is_from_outside(x))

    merged = Merged([[] for _ in outcomes], regions=[o.region for o in outcomes])
    for name in ("", *outcomes[0].state):
        values = [o.state[name] if name else o.result for o in outcomes]
        if all(v is values[0] for v in values):
            merged.slots[name] = (None, [values[0]])
            continue
        if name.startswith("_wb_"):  # a value to return, where nothing is returned yet: nobody will look at it
            given = next((v for v in values if v is not UNDEFINED), None)
            sides = zip(outcomes, values, strict=True)
            values = [o.region.run(lambda: zeros_like(given)) if v is UNDEFINED else v for o, v in sides]  # noqa: B023
        if any(map(is_from_outside, values)):  # what the branches give would be a copy of it
            raise disagree(name, described(values[0]), described(values[1]))
        if any(name in o.held_elsewhere for o in outcomes):
            raise held_elsewhere(name, next(v for v in values if is_container(v)))
        # Of those further inside, what the branches do to them is undone by now: all must hold the same one.
        stays = lambda x, own=tuple(values): is_older(x) and not any(x is each for each in own)  # noqa: E731
        values = [o.as_left(v) for o, v in zip(outcomes, values, strict=True)]
        values = agreed(values, lambda k, code: outcomes[k].region.run(code), stays)
        flat = [optree.tree_flatten(v, stays, none_is_leaf=True) for v in values]
        orders = [key_orders(v) for v in values]
        if any(tree != flat[0][1] for _, tree in flat) or any(each != orders[0] for each in orders):
            raise disagree(name, described(values[0]), described(values[1]))
        leaves: list[Any] = []
        for column in zip(*[f[0] for f in flat], strict=True):
            if is_static(column):
                leaves.append(column[0])
                continue
            if any(map(stays, column)):
                raise disagree(name, described(column[0]), described(column[1]))
            tracers, mixed = _unified(name, column, [o.region for o in outcomes])
            if mixed:
                merged.mixed[len(merged.columns[0])] = mixed
            k = len(merged.columns[0])
            for into, tracer in zip(merged.columns, tracers, strict=True):
                into.append(tracer)
            aliases = BranchAliases.of(k, tracers, merged.regions)
            if aliases is not None:
                merged.aliases.append(aliases)
            leaves.append(_Result(k))
            flags = [known for value in column if (known := is_python(value)) is not None] if mixed else []
            if len(flags) == len(column):
                merged.python[k] = len(merged.columns[0])
                for into, outcome, known in zip(merged.columns, outcomes, flags, strict=True):
                    into.append(outcome.region.run(lambda known=known: flag(known)))
        merged.slots[name] = (flat[0][1], leaves)
    add_codes(merged.aliases, merged.columns)
    merged.places = BranchPlaces(merged.regions, merged.columns)
    merged.places.add()
    return merged


def is_from_outside(value: Any) -> bool:
    """Whether it is a list or dict that the caller has, too."""
    trace = current_trace()
    return type(value) in (list, dict) and trace is not None and trace.lifter is not None and (
        trace.lifter.is_outside(value)
    )  # fmt: skip


def is_static(column: Sequence[Any]) -> bool:
    """Whether all sides hold the same object, or equal constants."""
    first = column[0]
    if all(v is first for v in column):
        return type(first) is not Tracer or first.buffer.trace.live
    if any(type(v) is Tracer for v in column) or not isinstance(first, CONSTANT_TYPES):
        return False
    return all(same_constant(v, first) for v in column)


def _unified(name: str, column: Sequence[Any], regions: Sequence[Region]) -> tuple[list[Tracer], tuple[type, ...]]:
    """One value for each region, of one type; and its `Buffer.mixed`."""
    for value in column:
        if type(value) is not Tracer and not isinstance(value, NUMBERS):
            raise disagree(name, described(column[0]), described(column[1]))
    tracers = [region.leaf(value) for region, value in zip(regions, column, strict=True)]
    first = tracers[0]
    for other in tracers[1:]:
        if other.shape != first.shape or other.scalar != first.scalar or other._strides != first._strides:
            raise disagree(name, described(first), described(other))
    mixed = mixed_types(column)
    strong = {t.dtype for t in tracers if not t.weak_type}
    dtypes = {t.dtype for t in tracers}
    if len(strong) > 1 or not strong and len(dtypes) > 1:
        raise disagree(name, described(first), described(tracers[1]))
    if strong and any(t.weak_type for t in tracers):
        (dtype,) = strong
        tracers = [region.run(lambda t=t: promoted(t, dtype)) for region, t in zip(regions, tracers, strict=True)]
        if any(t is None for t in tracers):
            raise disagree(name, described(column[0]), described(column[1]))
    return tracers, mixed


def mixed_types(values: Sequence[Any]) -> tuple[type, ...]:
    """Python's types of a number that is one of `values`, if they differ or others are NumPy's: its `Buffer.mixed`."""
    python: dict[type, None] = {}
    numpy = False
    for value in values:
        if type(value) is not Tracer:
            if isinstance(value, np.generic | np.ndarray):
                numpy = True
            else:
                python[type(value)] = None
        elif value.buffer.mixed:
            numpy = True
            python.update(dict.fromkeys(value.buffer.mixed))
        elif value.weak_type:
            python[value.__class__] = None
        else:
            numpy = True
    return tuple(python) if numpy or len(python) > 1 else ()


def name_mixed(value: Tracer, name: str) -> None:
    """The name of the variable that a mixed number is in, for the message where its type matters."""
    var = value.buffer.value
    if isinstance(var, Var) and not var.hint and not name.startswith("_wb_"):
        var.hint = name


def promoted(value: Tracer, dtype: np.dtype) -> Tracer | None:
    """A Python number as an array's number of `dtype`, if that changes nothing; None if it might."""
    if not value.weak_type or value.dtype == dtype and not value.weak_type:
        return value if value.dtype == dtype else None
    atom = value.current
    if value.dtype != dtype:
        if not isinstance(atom, Literal) or "biufc".index(dtype.kind) < "biufc".index(value.dtype.kind):
            return None
        with np.errstate(all="ignore"):
            try:
                if dtype.type(atom.val) != atom.val:
                    return None
            except OverflowError:  # an int below or above all that it holds
                return None
    return emit(REGISTRY["convert_element_type"], value, new_dtype=dtype, weak_type=False)
