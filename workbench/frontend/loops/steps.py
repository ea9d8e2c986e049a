"""Which loops become one step, and how: its variables, its types, its equation.

A loop is taken where it works on single elements, or on slices whose length its index decides, and on no large arrays:
an equation of its program would then be one scalar operation. Tracing comes second there. What works on whole arrays is
traced first, and taken if tracing cannot express it.
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from ...ir import Aval
from ...primitives.loops import LoopArgument, LoopPlace, LoopProgram
from ..aliases import CODE, chain, root_of
from ..choices import has_few_members
from ..jumps import LoopSource
from ..loop_patterns import may_change_things
from ..numba_functions import python_function
from ..tracer import Tracer, lift, require_trace
from ..views import ViewOp
from .blanks import blank_of
from .equations import Translated
from .expressions import is_set, local
from .forms import ITEMS, Form, code_of, form_of, over_items
from .leaving import in_room, left_views, possible_views, room_for
from .names import is_none, room_of
from .optional import is_none_or_value, with_flag
from .overwritten import overwritten_operands
from .python_form import Spread, python_form, setter, without_cells
from .ranges import without_checks
from .sharing import Group
from .short_arrays import in_variables
from .statements import Translator
from .step_lists import MAKERS, NO_LISTS, GivenList, GivenTable, LeftList, LeftTable, Lists, given_list, given_table
from .table_texts import blank_table, filled, hidden_names, keys_of, values_of
from .types import (
    BOOL,
    C128,
    F64,
    I64,
    SMALL,
    SUPPORTED,
    Array,
    Growing,
    Items,
    Number,
    Table,
    Type,
    UntranslatableError,
    Value,
    enum_of,
    literal,
    number_of,
    weak_int,
)
from .worth import is_better_whole, reason_of
from .writing import SHORT, Module


def translate(
    source: LoopSource, variables: Any, live: Sequence[str], anew: frozenset[str] = frozenset(), items: Any = None,
    lists: Lists = NO_LISTS,
) -> Translated:  # fmt: skip
    """`UntranslatableError` where the loop has no step. variables: of the converted code around it; live: the variables
    that are read after the loop or at its head; anew: those that it surely sets before it reads them; items: what a
    `for` loop goes over, computed already, in case that its expression is none that can be translated."""
    if items is not None and isinstance(source.node, ast.For) and may_change_things(source.node.iter):
        if type(items) is not Tracer or not items.shape:
            raise UntranslatableError("what it goes over may change things, and was computed already")
        variables.extra[ITEMS] = items
        return _translated(over_items(source), variables, live, anew, lists)
    try:
        return _translated(source, variables, live, anew, lists)
    except UntranslatableError:
        node = source.node
        if type(items) is not Tracer or not items.shape or not isinstance(node, ast.For):
            raise
        if isinstance(node.iter, ast.Name):
            raise
        variables.extra[ITEMS] = items
        return _translated(over_items(source), variables, live, anew, lists)


def _translated(
    source: LoopSource, variables: Any, live: Sequence[str], anew: frozenset[str], lists: Lists
) -> Translated:  # fmt: skip
    form = form_of(source, tuple(live), lambda name: _is_undefined(variables.get(name)))
    carried = [name for name in live if name in form.names]
    first = (frozenset(carried) | form.needed) - anew
    try:
        return _Builder(form, variables, carried, first, anew, source.after, lists).build()
    except UntranslatableError:
        if first <= form.needed:
            raise
        return _Builder(form, variables, carried, form.needed, anew, source.after, lists).build()


def _changes(variables: Any, names: frozenset[str], function: FunctionType, name: str) -> bool:
    if name not in names:
        return False
    cell = variables.cells.get(name)
    if cell is not None:
        return any(c is cell for c in function.__closure__ or ())
    space = variables.space
    return function.__globals__ is space or function.__globals__ is getattr(space, "source", None)


class _Builder:
    """One attempt. first: the names whose values before the loop matter; anew: those that are
    surely set; after: those that are read after it."""

    def __init__(
        self, form: Form, variables: Any, carried: list[str], first: frozenset[str], anew: frozenset[str],
        after: frozenset[str] | None, lists: Lists,
    ):  # fmt: skip
        self.form = form
        self.node = form.node
        names = form.names
        self.after = after
        self.variables = variables
        self.names = names
        self.carried = carried
        self.trace = require_trace()
        self.parameters: dict[str, tuple[Any, Type]] = {}
        self.statics: dict[str, Any] = {}
        self.touches = False
        self.rooms: dict[str, int] = {}  # of arrays that get shorter and are left
        self.shrinks = False  # it carries arrays whose lengths it decides, which no equation of a traced loop can
        self.changed: frozenset[str] = frozenset()  # numbers that may have another type than in the end
        self.module = Module(functools.partial(_changes, variables, names))  # which must not keep this alive
        self.module.python_function = functools.partial(python_function, lifter=self.trace.lifter)
        self.given_lists: dict[str, GivenList] = {}
        self.left_lists: dict[str, LeftList] = {}
        self.given_tables: dict[str, GivenTable] = {}
        self.left_tables: dict[str, LeftTable] = {}
        self.in_closures: set[str] = set()  # lists that functions read or change
        self.may_leave = lists.may_leave
        self.lengths = {**{name: len(variables.glimpse(name)) for name in lists.fixed}, **lists.stacked}
        self.stacked, self.for_arrays = lists.stacked.keys(), lists.for_arrays
        self.none_before: set[str] = set()  # variables that may be None before the loop
        given: dict[str, Type] = {}
        for name in sorted(names & first | (lists.names | lists.tables) - names):
            value = variables.glimpse(name)
            if name in lists.tables:
                table = self.given_tables[name] = given_table(name, value, type_of)
                self.given_lists |= {each.name: each for each in table.held}
                self.module.given_lists.add(id(value))
                for argument in (a for each in table.held for a in each.arguments):
                    self._take(*argument)
                given |= table.kinds
                continue
            if name in lists.stacked:
                found: GivenList | None = GivenList(name, Growing(None), ())
            else:
                found = given_list(name, value, type_of) if name in lists.names else None
            if found is not None:
                self.given_lists[name] = found
                self.module.given_lists.add(id(value))
                for argument in found.arguments:
                    self._take(*argument)
                given[name] = replace(found.kind, is_queue=found.kind.is_queue or name in form.queues)
            elif value is None and name in names:
                self.none_before.add(name)
            elif is_none_or_value(value) and name in names:
                self.none_before.add(name)
                given[name] = self._parameter(name, value.given).type
                self._take(is_none(name), value.is_same(None))
            elif not _is_undefined(value):
                given[name] = self._parameter(name, value).type
        self.unset = [n for n in carried if n not in given]
        bound = names | self.given_lists.keys() | self.given_tables.keys()
        self.scope = Translator(self.module, self._outer, bound, given, self._parameter)
        self.scope.growing, self.scope.queues = form.growing & bound, form.queues & bound
        self.scope.thinned = form.thinned
        self.scope.bound_once, self.scope.rebound = form.bound_once, names
        self.scope.look_for_none([form.node], self.none_before)
        self.module.lists, self.module.list_name = self.scope.types, self._list_name
        may_stay_unset = frozenset(n for n in self.unset if not n.startswith("_wb_"))
        self.scope.flagged = may_stay_unset - anew - self.none_before

    def _outer(self, name: str) -> Any:
        value = self.variables.get(name)
        if _is_undefined(value):
            if not hasattr(builtins, name):
                raise KeyError(name)
            return getattr(builtins, name)
        if type(value) is not Tracer:
            self.statics[name] = value
        return value

    def _list_name(self, name: str, found: Any, path: tuple[Any, ...]) -> str:
        """The variable with a list that a function sees in its closure."""
        mine = next((n for n in self.given_lists if self.variables.glimpse(n) is found), "")
        if not mine:
            return ""
        function = self.variables.get(path[0]) if isinstance(path[0], str) else None
        if type(function) is not FunctionType or len(path) != 2:
            raise UntranslatableError(f"`{name}`, a list that a function reads")
        self.module.setters[path[0]] = function
        self.in_closures.add(mine)
        return mine

    def _take(self, name: str, value: Any) -> None:
        """Make an argument of what is no variable of the user's."""
        self.touches |= type(value) is Tracer
        self.parameters[name] = (value, type_of(name, value))

    def _parameter(self, name: str, value: Any) -> Value:
        if type(value) is int and name not in self.names and self.variables.is_constant(name):
            return literal(value)  # a constant, by which the machine divides without dividing
        known = self.parameters.get(name)
        if known is not None:
            number = value if type(value) is int else None
            return Value(local(name), known[1], None, number)
        kind = type_of(name, value)
        if type(value) is Tracer:
            self.touches = True
            self.module.buffers[name] = id(value.buffer)
        self.parameters[name] = (value, kind)
        return Value(local(name), kind, None, value if type(value) is int else None)

    # ---- the program ----

    def build(self) -> Translated:
        scope, facts = self.scope, self.module.facts
        scope.settle(lambda: scope.statement(self.node))
        self.changed = frozenset(name for name in self.carried if self._changes_dtype(name))
        if not self.changed.isdisjoint(scope.optional):
            raise UntranslatableError("a variable that may be None, whose last assignment decides its type")
        if self.changed:
            scope.flagged |= self.changed
            scope.changing = self.changed
            scope.settle(lambda: scope.statement(self.node))
        if not self.touches:
            raise UntranslatableError("nothing that is traced")
        outputs = self._outputs()
        for left in self.left_lists.values():
            self._take(*left.room)
        written_to = frozenset(self.module.written)
        parameters = {local(name): kind for name, (_, kind) in self.parameters.items()}
        text = in_variables(self._text(outputs), self.module, parameters)
        known = {
            local(name): kind
            for name, (_, kind) in self.parameters.items()
            if not isinstance(kind, Number) or not self._is_converted(name)
        }
        ranged = without_checks(text, known, lambda kind: self.module.may_share(kind.origins, written_to))
        arguments, inputs, written = self._operands()
        avals = [Aval(x.buffer.aval.shape, x.dtype) if x.parent is None else x.aval for x in written]
        avals += [aval for name, kind, _ in outputs for aval in self._avals(name, kind)]
        sharing = self.form.sharing
        views: dict[str, list[Tracer]] = {}
        places = tuple(self._places(outputs, sharing, views))
        results = (*avals, *(Aval((), np.dtype(dtype)) for _ in places for dtype in (CODE, np.int64)))
        positions = tuple(next(i for i, x in enumerate(inputs) if x is target) for target in written)
        reason = reason_of(facts)
        values = {name: value for name, (value, _) in self.parameters.items()}
        name = "loop"
        program = LoopProgram(
            name, ranged.text, tuple(arguments), positions, results, self._python(outputs), reason,
            self.form.text, places, text if ranged.text != text else "", ranged.quiet,
            overwritten_operands(ranged.text, values, arguments, positions),
        )  # fmt: skip
        # No trace of what calls itself ends.
        calls_itself = any(function.calls_itself for function in self.module.functions.values())
        prefer = is_better_whole(facts) and not facts.asks or self.shrinks or calls_itself
        return Translated(
            program, inputs, written, outputs, values, prefer, not facts.arrays, self.form.nested or calls_itself,
            sharing, views, self.left_lists, self.left_tables, self.scope.optional, self.rooms.keys(), self.node,
        )  # fmt: skip

    def _places(
        self, outputs: Sequence[tuple[str, Type, int]], sharing: Sequence[Group], views: dict[str, list[Tracer]]
    ) -> Iterator[LoopPlace]:
        """The variables of which only the run tells whose memory they are. views: takes what else they may be."""
        before: list[tuple[str, Array, int]] = []
        given = {name: value for name, (value, _) in self.parameters.items()}
        possible = possible_views(self.node, given) if any(getattr(k, "origins", ()) for _, k, _ in outputs) else {}
        told = left_views(self.node, given).keys()
        k = 0
        for name, kind, n in outputs:
            if isinstance(kind, Array):
                mine = next((group.names for group in sharing if group.as_wholes and name in group.names), frozenset())
                earlier = tuple(
                    i for other, found, i in before
                    if other in mine and (found.dtype, found.shape) == (kind.dtype, kind.shape)
                )  # fmt: skip
                if (kind.origins or earlier) and name not in told:
                    chains = [(of, view) for view in possible.get(name, ()) for of in self._chain_to(view, given)]
                    views[name] = [view for _, view in chains]
                    yield LoopPlace(k, self._options(kind), tuple(of for of, _ in chains), earlier)
                before.append((name, kind, k))
            k += n

    def _options(self, kind: Array) -> tuple[tuple[int, int | None], ...]:
        """What an array of this kind may be of the arguments: one itself, or an element along one of its axes."""
        found: list[tuple[int, int | None]] = []
        for k, (name, (_, given)) in enumerate(self.parameters.items()):
            if isinstance(given, Array) and name in kind.origins:
                if given.ndim == kind.ndim:
                    found.append((k, None))
                elif given.ndim == kind.ndim + 1:
                    found += [(k, axis) for axis in range(given.ndim)]
        return tuple(found)

    def _chain_to(self, view: Tracer, given: Mapping[str, Any]) -> Iterator[tuple[int, tuple[ViewOp, ...]]]:
        """Of which argument `view` is what view, once if it is known."""
        wholes = {id(x): k for k, x in enumerate(given.values())}
        ops: list[ViewOp] = []
        at = view
        while id(at) not in wholes and at.parent is not None and at.op is not None:
            ops.append(at.op)
            at = at.parent
        if id(at) in wholes and ops and all(op.applies for op in ops):
            yield wholes[id(at)], tuple(reversed(ops))

    def _changes_dtype(self, name: str) -> bool:
        """Whether a number has another dtype once it is set, or may have one: in the end it must have its type here."""
        assigned = self.scope.assigned.get(name, set())
        doubtful = self.scope.doubtful.get(name, set())
        kind = self.scope.types.get(name)
        if not isinstance(kind, Number):
            if len(assigned) > 1:
                raise UntranslatableError(f"`{name}`, whose last assignment decides its type")
            return False
        if assigned and kind.dtype not in assigned:
            raise UntranslatableError(f"`{name}`, which has another type before the loop")
        if len(assigned) > 1 and (False in doubtful or kind.kind != "f"):
            raise UntranslatableError(f"`{name}`, whose last assignment decides its type")
        before = self.parameters.get(name, (None, None))[1]
        changes = isinstance(before, Number) and name not in self.unset and bool(assigned - {before.dtype})
        return changes or len(assigned) > 1 or True in doubtful

    def _outputs(self) -> list[tuple[str, Type, int]]:
        outputs = []
        for name in self.carried:
            kind = self.scope.types.get(name)
            if kind is None:
                raise UntranslatableError(f"`{name}`, which is not set")
            value = self.parameters.get(name, (None, None))[0]
            if isinstance(kind, Array):
                if type(value) is Tracer and name not in self.form.renamed:
                    continue  # it is written into
                if not self.module.copied.isdisjoint(kind.origins):
                    raise UntranslatableError(f"`{name}`, which may be a view")
                if None in kind.shape:
                    is_left = self.after is None or name in self.after
                    if is_left and not self._has_room(name, kind):
                        raise UntranslatableError(f"`{name}`, whose length the loop decides")
                    self.shrinks = True
                    if is_left:
                        outputs.append((name, kind, 2))
                    continue
            if isinstance(kind, Growing | Table):
                continue
            has_members = isinstance(kind, Items) and any(isinstance(x, Number) and x.enum for x in kind.items)
            if has_members or isinstance(kind, Number) and kind.enum and not has_few_members(kind.enum):
                raise UntranslatableError(f"`{name}`, {kind}")
            if isinstance(kind, Number):
                kind = self.scope.certainly(name, kind)
            if isinstance(kind, Number) and name in self.changed:
                given = name not in self.unset and self._is_given(name)
                if kind.dtype not in self.scope.pythons.get(name, ()) and not given:
                    kind = replace(kind, unsure=False)  # it was surely given one of NumPy's
            outputs.append((name, kind, len(self._avals(name, kind))))
        for name in sorted({*self.carried, *(self.scope.changed & self.given_lists.keys())}):
            kind = self.scope.types[name]
            if isinstance(kind, Growing) and (self.after is None or name in self.after or name in self.stacked):
                self._leave(name, kind)
                outputs.append((name, kind, len(self._avals(name, kind))))
        for name in sorted({*self.carried, *self.given_tables}):
            kind = self.scope.types[name]
            if isinstance(kind, Table) and (self.after is None or name in self.after):
                hidden = hidden_names(name, kind)
                if name not in self.names and self.scope.changed.isdisjoint(hidden):
                    continue
                given = self.given_tables.get(name)
                is_ordered = not kind.is_set or name not in self.form.thinned and (not given or given.is_ordered)
                self.left_tables[name] = LeftTable(kind, hidden, is_ordered)
                for each in hidden:
                    held = self.scope.types[each]
                    assert isinstance(held, Growing)
                    held = held if held.item is not None else Growing(weak_int(0, 0))  # which is empty
                    self._leave(each, held)
                    outputs.append((each, held, len(self._avals(each, held))))
        renamed = self.left_lists.keys() & self.form.renamed
        if len(self.left_lists) > 1 and not renamed <= self.form.made_anew:
            raise UntranslatableError("several lists, of which two may be one")
        return outputs

    def _has_room(self, name: str, kind: Array) -> bool:
        """Whether an array that gets shorter can be left where it was as long as ever, with how long it is then."""
        before = self.parameters.get(name, (None, None))[1]
        room = None if self.trace.region else room_for(self.node, name, kind, before)
        if room is not None:
            self.rooms[name] = room
        return room is not None

    def _leave(self, name: str, kind: Growing) -> None:
        if not self.may_leave:
            raise UntranslatableError(f"`{name}`, a list that a branch or loop around would have to hand on")
        self.left_lists[name] = LeftList.of(
            name, kind, self.lengths.get(name), stacked=name in self.stacked, for_array=name in self.for_arrays
        )

    def _avals(self, name: str, kind: Type) -> list[Aval]:
        left = self.left_lists.get(name)
        if name in self.rooms and isinstance(kind, Array):
            return [Aval((self.rooms[name],), kind.dtype), Aval((), I64)]
        if left is None:
            return _avals(kind) + [Aval((), BOOL, True)] * (name in self.scope.optional)
        arrays = [Aval((left.room[1],), item.dtype) for item in left.items.items]
        return arrays if left.stacked else [*arrays, Aval((), I64)]

    def _is_given(self, name: str) -> bool:
        """Whether a variable has its type before the loop, or nobody looks at it."""
        if name in self.unset and name.startswith("_wb_"):
            return True
        before, kind = self.parameters.get(name, (None, None))[1], self.scope.types.get(name)
        same = isinstance(before, Number) and isinstance(kind, Number) and before.dtype == kind.dtype
        return same and name not in self.unset

    def _text(self, outputs: list[tuple[str, Type, int]]) -> str:
        given = {name: kind for name, (_, kind) in self.parameters.items()}
        head = ["    " + line for name, each in self.given_lists.items() for line in each.lines(self._list_type(name))]
        for name, table in self.given_tables.items():
            head += ["    " + line for line in table.lines(self._list_type(keys_of(name)).item)]
        wholly = self.scope.optional
        types = self.scope.types
        tables = {n: filled(n, kind, types) for n in self.unset if isinstance(kind := types[n], Table)}
        head += ["    " + line for n, kind in tables.items() for line in blank_table(n, kind)]
        head += [
            f"    {local(n)} = {blank_of(self.scope.types[n], n.startswith('_wb_') or n in wholly)}"
            for n in self.unset
            if not isinstance(self.scope.types[n], Table)
        ]
        head += ["    " + line for line in self.scope.none_lines(given, self.parameters)]
        head += [f"    {is_set(n)} = {self._is_given(n)}" for n in sorted(self.scope.flagged)]
        head += ["    " + line for line in self.scope.flags_at_first(given)]
        head += [f"    {room_of(n)} = {local(n)}.shape[0]" for n in self.rooms]
        tail = []
        for n in sorted(self.scope.flagged):
            tail += [f"    if not {is_set(n)}:", "        raise NameError()"]
        for name in self.left_tables:
            tail += ["    " + line for line in self.scope.compacted_in_the_end(name)]
        results: list[str] = []
        for name, kind, n in outputs:
            if name in self.left_lists:
                lines: list[str] = []
                results += self.left_lists[name].text(lines)
                tail += ["    " + line for line in lines]
            elif name in self.rooms:
                results += [f"in_room({local(name)}, {room_of(name)})", f"{local(name)}.shape[0]"]
            else:
                n_items = n - (name in self.scope.optional)
                items = [f"{local(name)}[{k}]" for k in range(n_items)]
                results += items if isinstance(kind, Items) else [local(name)]
                results += [is_none(name)] if name in self.scope.optional else []
        tail.append(f"    return ({''.join(r + ', ' for r in results)})" if results else "    return None")
        first: list[str] = []
        for name, (_, kind) in self.parameters.items():
            final = self.scope.types.get(name)
            if isinstance(kind, Number) and isinstance(final, Number) and self._is_converted(name):
                first.append(
                    f"    {local(name)} = {Translator.convert(Value(name_of_parameter(name), kind), final).text}"
                )
            else:
                first.append("")
        parameters = [
            name_of_parameter(name) if line else local(name) for name, line in zip(self.parameters, first, strict=True)
        ]
        head += self._short_axes()
        text = [f"def loop({', '.join(parameters)}):", *filter(None, first), *head, *self.scope.lines, *tail]
        functions = [function.text for function in self.module.functions.values()]
        return "\n\n\n".join([*functions, "\n".join(text)]) + "\n"

    def _list_type(self, name: str) -> Growing:
        kind = self.scope.types[name]
        assert isinstance(kind, Growing)
        return kind

    def _short_axes(self) -> list[str]:
        """What tells the compiler the lengths of short rows, which are the same whenever this program runs: it then
        writes loops over them out, and vectorises those around them. Loops over single elements only lose by it: a
        sweep over spins took four times as long."""
        if not self.module.facts.arrays:
            return []
        return [
            line
            for name, (value, kind) in self.parameters.items()
            if isinstance(kind, Array) and type(value) is Tracer
            for axis, n in enumerate(value.aval.shape)
            if axis > 0 and 1 < n <= SHORT
            for line in (f"    if {local(name)}.shape[{axis}] != {n}:", "        raise LookupError()")
        ]

    def _none_in_python(self, name: str) -> str:
        """What makes a variable None that may be before the loop."""
        return f"{name} = None" + (f" if {is_none(name)} else {name}" if name in self.parameters else "")

    def _setters_in_python(self) -> list[str]:
        """Lines that make functions set the loop's variables."""
        if not self.module.setters:
            return []
        names = sorted(self.form.set_by_calls & self.names | self.in_closures)
        cells = f"_wb_cells = lambda: ({''.join(f'{name}, ' for name in names)})"
        return [cells, *(f"{name} = _wb_setter(_wb_from_{name}, _wb_cells)" for name in self.module.setters)]

    def _is_converted(self, name: str) -> bool:
        """Whether a number becomes a variable of another type."""
        kind, final = self.parameters[name][1], self.scope.types.get(name)
        return isinstance(kind, Number) and isinstance(final, Number) and kind.dtype != final.dtype

    def _operands(self) -> tuple[list[LoopArgument], list[Any], list[Tracer]]:
        """Arguments, operands of the equation, and those of them that are written."""
        arrays = {n: lift(v) for n, (v, kind) in self.parameters.items() if isinstance(kind, Array)}
        written_buffers = set()
        for name in self.module.written:
            x = arrays[name]
            if not x.writeable or not x.buffer.writeable or x.buffer.ambiguous:
                raise UntranslatableError(f"a write to `{name}`, which is read-only or may be another array, too")
            written_buffers.add(id(x.buffer))
        if any(id(arrays[name].buffer) in written_buffers for name in self.module.unwritten):
            raise UntranslatableError("an array that is written while its elements are gone through")
        sharing: dict[int, int] = {}
        for x in arrays.values():
            sharing[id(x.buffer)] = sharing.get(id(x.buffer), 0) + 1
        inputs: list[Any] = []
        arguments: list[LoopArgument] = []
        written: list[Tracer] = []
        roots: dict[int, int] = {}
        for name, (value, kind) in self.parameters.items():
            if isinstance(kind, Number):
                tracer = lift(value)
                arguments.append(LoopArgument(len(inputs), False, tracer.dtype, 0, kind.weak))
                inputs.append(tracer)
                continue
            assert isinstance(kind, Array)
            x = arrays[name]
            key = id(x.buffer)
            is_written = key in written_buffers
            if not is_written or sharing[key] == 1:
                arguments.append(LoopArgument(len(inputs), True, x.dtype, x.ndim))
                inputs.append(x)
                if is_written:
                    written.append(x)
                continue
            views, node = chain(x), root_of(x)
            if not all(view.applies for view in views):
                raise UntranslatableError(f"`{name}`, a view that a traced value decides")
            if key not in roots:
                roots[key] = len(inputs)
                inputs.append(node)
                written.append(node)
            arguments.append(LoopArgument(roots[key], True, x.dtype, x.ndim, views=views))
        return arguments, inputs, written

    def _python(self, outputs: list[tuple[str, Type, int]]) -> Any:
        """The loop as a function of Python."""
        names = list(self.parameters)
        blanks = [f"{n} = {blank_of(self.scope.types[n], True)}" for n in self.unset if n.startswith("_wb_")]
        blanks += [self._none_in_python(n) for n in sorted(self.none_before)]
        blanks += [each.python_line() for each in self.given_lists.values()]
        blanks += [table.python_line() for table in self.given_tables.values()]
        blanks += self._setters_in_python()
        in_python = {keys_of(name): f"_wb_list({name})" for name in self.left_tables}
        in_python |= {values_of(name): f"_wb_list({name}.values())" for name in self.left_tables}
        namespace: dict[str, Any] = {"np": np, "_wb_setter": setter, **MAKERS}
        namespace |= {table.maker: table.made for table in self.given_tables.values()}
        exec(
            code_of(self.form, tuple(names), tuple(blanks), tuple(in_python.get(n, n) for n, _, _ in outputs)),
            namespace,
        )
        statics = {name: value for name, value in self.statics.items() if name not in self.parameters}
        statics = {name: value for name, value in statics.items() if name not in self.module.setters}
        statics |= {f"_wb_from_{n}": without_cells(f, self.in_closures) for n, f in self.module.setters.items()}
        arrays = {id(value): name for name, (value, _) in self.parameters.items() if type(value) is Tracer}
        spread: list[Spread] = [
            with_flag(_avals(kind), isinstance(kind, Items))
            if n in self.scope.optional
            else self.left_lists[n].spread
            if n in self.left_lists
            else functools.partial(in_room, self.rooms[n])
            if n in self.rooms
            else list
            if isinstance(kind, Items)
            else None
            for n, kind, _ in outputs
        ]
        return python_form(namespace["loop"], names, arrays, statics, self.trace.lifter, spread)


def name_of_parameter(name: str) -> str:
    """A parameter that becomes a variable of another type."""
    return f"{name}_given"


def _is_undefined(value: Any) -> bool:
    from ..merging import UNDEFINED

    return value is UNDEFINED


MOST_INT32 = 2**31 - 1


def type_of(name: str, value: Any) -> Type:
    if type(value) is np.ndarray and value.ndim:
        if value.dtype.char not in SUPPORTED:
            raise UntranslatableError(f"`{name}`, of dtype {value.dtype}")
        return Array(value.dtype, value.shape, frozenset((name,)))
    if type(value) is Tracer:
        if value.dtype.char not in SUPPORTED:
            raise UntranslatableError(f"`{name}`, of dtype {value.dtype}")
        if value.shape:
            return Array(value.dtype, value.shape, frozenset((name,)))
        if value.scalar or not value.buffer.writeable:
            return number_of(value)
        raise UntranslatableError(f"`{name}`, an array without axes")
    if isinstance(value, np.generic) and value.dtype.char in SUPPORTED:  # np.float64 is Python's float, too
        return Number(value.dtype)
    if isinstance(value, bool):
        return Number(BOOL, True, (0, 1))
    if isinstance(value, int):
        if abs(value) < SMALL:  # the text must not depend on the number
            most = SMALL if abs(value) > MOST_INT32 else MOST_INT32
            kind = weak_int(1 if value > 0 else 0 if value == 0 else -most, most if value >= 0 else -1)
            return replace(kind, enum=enum_of(value))
        if abs(value) < 2**63:
            return replace(weak_int(-(2**63), 2**63 - 1), enum=enum_of(value))
    elif isinstance(value, float):
        return Number(F64, True, single=is_single(value))
    elif isinstance(value, complex):
        return Number(C128, True)
    raise UntranslatableError(f"`{name}`, a {type(value).__name__}")


def is_single(value: float) -> bool:
    """Whether a float is the same number in 32 bits."""
    with np.errstate(all="ignore"):
        return bool(np.float32(value) == value) or value != value


def _avals(kind: Type) -> list[Aval]:
    match kind:
        case Number():
            return [Aval((), kind.dtype, kind.weak)]
        case Array(shape=shape):
            return [Aval(tuple(n or 0 for n in shape), kind.dtype)]
        case Items(items=items) if all(isinstance(t, Number) for t in items):
            return [aval for t in items for aval in _avals(t)]
    raise UntranslatableError(f"a variable that holds {kind}")
