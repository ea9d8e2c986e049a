"""A loop that can become a step, and the equation that it becomes."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from ...ir import REGISTRY
from ...primitives.loops import LoopProgram
from ..aliases import Aliases, Alternative, one_of
from ..choices import Choice, member_of
from ..counted_lists import CountedList
from ..tracer import Tracer, emit, lift, require_trace
from ..views import element_along, write
from .leaving import left_views
from .optional import KINDS
from .sharing import Group
from .step_lists import LeftList, LeftTable
from .types import I64, Array, Items, Number, Type


@dataclass(eq=False)
class Translated:
    """A loop that can become a step. prefer: whether that is better than tracing it."""

    program: LoopProgram
    inputs: list[Any]  # operands of the equation
    written: list[Tracer]  # arrays whose memory the results of the same number replace
    outputs: list[tuple[str, Type, int]]  # variables: name, type, how many results
    given: dict[str, Any]  # the loop's arguments
    prefer: bool
    only_elements: bool  # it computes with single numbers alone
    nested: bool  # it holds loops of its own, or calls functions that call themselves
    sharing: Sequence[Group]  # variables that may be one array
    views: dict[str, list[Tracer]]  # of arrays outside, that variables may be: as its places count them
    lists: dict[str, LeftList]  # that it leaves
    tables: dict[str, LeftTable]  # of whose keys and values these lists are
    optional: frozenset[str]  # the variables that may be None afterwards: their last result tells
    shortened: Set[str]  # arrays that may be shorter afterwards: their last result tells how long
    node: ast.For | ast.While


# What a number of some kind may be that a loop makes one of NumPy's on some paths
_PYTHONS: dict[str, tuple[type, ...]] = {"b": (bool,), "i": (int,), "f": (float,), "c": (complex,)}


def emit_loop(found: Translated, variables: Any, op: str) -> None:
    """Record the equation, and set the variables."""
    from ..merging import name_mixed
    from ..numpy_api.stretches import shorter

    variables.rely_on_glimpses()

    outs = require_trace().operation(op, lambda: emit(REGISTRY["loop"], *found.inputs, program=found.program), (), {})
    for target, result in zip(found.written, outs, strict=False):
        write(target, result)
    position = len(found.written)
    arrays: dict[str, Tracer] = {}
    views = left_views(found.node, found.given)
    places = found.program.places
    numbers = iter(outs[len(outs) - 2 * len(places) :])
    where = {place.variable: (place, next(numbers), next(numbers)) for place in places}
    n_before = len(found.written)
    variables_made: list[Tracer] = list(outs[n_before:])
    of_tables = {hidden: name for name, left in found.tables.items() for hidden in left.lists}
    held: dict[str, list[CountedList]] = {name: [] for name in found.tables}
    for name, kind, n in found.outputs:
        value: Any = outs[position : position + n]
        if name in found.optional:
            *value, none = value
        if name in of_tables:
            lists = held[of_tables[name]]
            left = found.lists[name]
            lists.append(left.beside(lists[0], value) if lists else left.after(value))  # type: ignore[arg-type]
            position += n
            continue
        if name in found.lists:
            left = found.lists[name]
            value = left.after(value)
            if left.stacked:
                variables.get(name).extend(value)
                value = variables.get(name)
        elif name in found.shortened:
            value = shorter(*value)
        elif isinstance(kind, Items):
            value = list(value) if kind.is_list else tuple(value)
        else:
            (value,) = value
            if isinstance(kind, Number) and kind.unsure:
                value.buffer.mixed = _PYTHONS[kind.kind]
                name_mixed(value, name)
            if isinstance(kind, Number) and kind.enum:
                value = member_of(kind.enum, value)
            if isinstance(kind, Array) and name in views:
                value = views[name]
            elif isinstance(kind, Array):
                arrays[name] = value
                if position - n_before in where:
                    place, code, index = where[position - n_before]
                    made = [variables_made[k] for k in place.earlier]
                    mine = found.views.get(name, ())
                    value = _found_at(value, place.options, mine, code, index, found.given, kind.origins, made)
        if name in found.optional:
            value = Choice(KINDS, emit(REGISTRY["convert_element_type"], none, new_dtype=I64, weak_type=True), value)
        variables.set(name, value)
        position += n
    for name, left_table in found.tables.items():
        variables.set(name, left_table.after(name, held[name]))
    for group in found.sharing:
        same = [x for name, x in arrays.items() if name in group.names]
        for x in same if len(same) > 1 else ():
            x.buffer.ambiguous = True  # a write to one may be a write to the other
            if not group.as_wholes:
                known = x.buffer.aliases or Aliases(None, (Alternative(None),))
                mine = Alternative(None, own=same, twice=True)
                x.buffer.aliases = replace(known, alternatives=(mine, *known.alternatives[1:]))


def _found_at(
    value: Tracer, options: Sequence[tuple[int, int | None]], views: Sequence[Tracer], code: Tracer, index: Tracer,
    given: Mapping[str, Any], origins: frozenset[str], made: Sequence[Tracer],
) -> Tracer:  # fmt: skip
    """`value`, which may be memory of an array outside, one of `views` of them, or one of `made`: which one and where
    is only known when the loop has run."""
    arrays = list(given.values())
    found: list[Tracer | None] = [None]
    for k, axis in options:
        array = lift(arrays[k])
        found.append(array if axis is None else element_along(array, axis, index))
    found += views
    found += made
    for name in origins & given.keys():
        lift(given[name]).buffer.ambiguous = True
    return one_of(value, code, found)
