"""A loop over values that are at hand: what tracing leaves to Python, numba may still take whole.

In: the statement, and the names around it. Out: the text of a function and how to call it: which values it takes,
which conditions they must meet, and what its results are. Lists come in as arrays of their elements and go out so;
they are changed in place, as the loop would have done. Arrays are written where they lie.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from ..counted_tables import CLASSES
from ..liveness import bound as bound_names
from ..liveness import bound_once, live_at_head
from ..liveness import read as read_names
from ..numba_functions import python_function
from ..syntax import copied, walk
from .at_hand import check_result, is_table, type_at_hand, type_of_list, type_of_table
from .blanks import blank, blank_of
from .draws import is_source
from .elses import PREFIX, without_else, without_elses
from .expressions import is_set, local
from .generators import without_generators
from .given_items import names_of_such
from .likeness import ConcreteLoop, Parameter, Path, Result, groups_of, named
from .list_arrays import leaf_texts, list_in, list_out
from .list_names import growing_names, queue_names, thinned_names
from .names import is_none
from .ranges import without_checks
from .short_arrays import in_variables
from .statements import Translator
from .table_texts import blank_table, filled, index_lines, keys_of, values_of
from .targets import with_targets_apart
from .tuples_of_none import without_tuples_of_none
from .types import (
    Array,
    Growing,
    Number,
    Table,
    Type,
    UntranslatableError,
    Value,
)
from .worth import is_better_whole, reason_of
from .writing import Module

MAX_TEXT = 60_000  # characters: numba would take many seconds


def translate_here(
    node: ast.For | ast.While, namespace: Mapping[str, Any], later: frozenset[str] | None = None, *,
    anyway: bool = False, of_numbers: bool = True,
) -> ConcreteLoop:  # fmt: skip
    """`UntranslatableError` where the loop cannot be translated. namespace: holds, or finds, what it reads; later: the
    names that are read when it has run, if not any may be; anyway: also where kernels would be faster; of_numbers:
    whether it may be for the ints at hand alone, where these are lengths."""
    if any(isinstance(n, ast.Return) for n in walk(node)):
        raise UntranslatableError("a loop that returns")
    node = copied(node)
    node = without_else(node) if node.orelse else without_elses(node)
    (node,) = written_out([node], namespace)  # type: ignore[assignment]  # a loop stays one
    if later is not None:
        needed = live_at_head(node, frozenset())
        (node,) = without_tuples_of_none([node], later | needed)  # type: ignore[assignment]
        node = with_targets_apart(node, later | needed)
    such = names_of_such(node, namespace)
    try:
        found = _built(node, namespace, later, {}, anyway, of_numbers)
    except UntranslatableError:
        if not such:
            raise
        return _built(node, namespace, later, such, anyway, of_numbers)
    if any(r.name in such and _is_unsure(r.kind) for r in found.results):
        with contextlib.suppress(UntranslatableError):
            return _built(node, namespace, later, such, anyway, of_numbers)
    return found


def _built(
    node: ast.For | ast.While, namespace: Mapping[str, Any], later: frozenset[str] | None,
    given_items: dict[str, frozenset[type]], anyway: bool, of_numbers: bool,
) -> ConcreteLoop:  # fmt: skip
    found = _built_once(node, namespace, later, given_items, anyway, of_numbers)
    if all(p.number is None for p in found.parameters):
        return found
    try:
        general = _built_once(node, namespace, later, given_items, True, False)
    except UntranslatableError:
        return found
    if (general.source, general.careful) != (found.source, found.careful):
        return found  # some of the ints are lengths in the text
    return replace(found, parameters=tuple(replace(p, number=None) for p in found.parameters))


def _built_once(
    node: ast.For | ast.While, namespace: Mapping[str, Any], later: frozenset[str] | None,
    given_items: dict[str, frozenset[type]], anyway: bool, of_numbers: bool,
) -> ConcreteLoop:  # fmt: skip
    found = _Concrete(copied(node), namespace, later, given_items, of_numbers)
    try:
        return found.build(anyway)
    finally:
        found.given_values.clear()  # lists are told by how many refer to them


def _is_unsure(kind: Type) -> bool:
    item = kind.item if isinstance(kind, Growing) else None
    return isinstance(item, Number) and (item.unsure or item.mixed)


def written_out(stmts: list[ast.stmt], namespace: Mapping[str, Any]) -> list[ast.stmt]:
    """The statements with comprehensions, and folds of generators, as loops."""
    written = bound_names(stmts)

    def is_builtin(name: str) -> bool:
        return name not in written and named(namespace, name) is getattr(builtins, name)

    return without_generators(stmts, is_builtin, listings=True)


class _Concrete:
    def __init__(
        self, node: ast.For | ast.While, namespace: Mapping[str, Any], later: frozenset[str] | None,
        given_items: dict[str, frozenset[type]], of_numbers: bool,
    ):  # fmt: skip
        self.of_numbers = of_numbers
        self.node = node
        self.namespace = namespace
        self.names = bound_names([node])
        self.live = self.names if later is None else self.names & later
        self.live = frozenset(name for name in self.live if not name.startswith(PREFIX))
        self.parameters: dict[str, Parameter] = {}
        self.given_values: dict[str, Any] = {}
        self.statics: dict[Path, Any] = {}
        self.lists: dict[int, str] = {}
        self.module = Module(self._changes)
        self.module.note = self._note
        self.module.python_function = python_function
        self.module.list_name = self._list_name
        self.module.takes_random = True
        self.module.given_items = given_items
        self.none_before: set[str] = set()
        given: dict[str, Type] = {}
        needed = live_at_head(node, frozenset())
        if isinstance(node, ast.For):
            needed = (needed - bound_names([node.target])) | read_names(node.iter)
        for name in sorted(self.names | read_names(node)):
            if name in self.names and name not in needed:  # what it held is not read: `_`, which IPython sets
                continue
            try:
                value = named(namespace, name)
            except KeyError:
                continue
            is_list = type(value) in (list, deque) or is_table(name, value)
            if value is None and name in self.names:
                self.none_before.add(name)
                self.statics[name,] = None
            elif name in self.names or is_list:
                given[name] = self._given(name, value)
        self.unset = sorted(n for n in self.names if n not in given)
        growing = growing_names([node])
        queues = queue_names([node])
        for name, kind in given.items():
            if isinstance(kind, Growing):
                is_deque = type(self.given_values[name]) is deque
                given[name] = Growing(kind.item, name in queues or is_deque, is_deque)
        for name in [name for name, kind in given.items() if isinstance(kind, Table)]:
            given |= self._hidden_types(name)
        lists = {name for name, kind in given.items() if isinstance(kind, Growing | Table)}
        self.scope = Translator(self.module, self._outer, self.names | lists, given, self._parameter)
        self.scope.growing = (growing & (self.names | lists)) | (lists & self.names)
        self.scope.queues, self.scope.thinned = queues, thinned_names([node])
        self.scope.bound_once, self.scope.rebound = bound_once([node]), bound_names([node])
        self.scope.flagged = frozenset(self.unset) - self.none_before
        self.scope.checked = self.scope.flagged & needed
        self.scope.look_for_none([node], self.none_before)
        self.module.lists = self.scope.types

    def _given(self, name: str, value: Any, path: Path | None = None) -> Type:
        if type(value) in (list, deque):
            if type(value) is deque and value.maxlen is not None:
                raise UntranslatableError(f"`{name}`, a deque of a greatest length")
            if id(value) in self.lists:
                raise UntranslatableError(f"`{name}`, which is `{self.lists[id(value)]}`, too")
            self.lists[id(value)] = name
            types = self.module.given_items.get(name, frozenset())
            kind: Type = Growing(None) if types else type_of_list(name, value)
            self.parameters[name] = Parameter(name, path or (name,), kind, given=types)
            self.given_values[name] = value
            return kind
        if type(value) in CLASSES:
            if name in self.names:
                raise UntranslatableError(f"`{name}`, a dictionary or set in whose place another one may come")
            self.lists[id(value)] = name
            known = type_of_table(name, value)
            self.parameters[name] = Parameter(name, (name,), known)
            self.given_values[name] = value
            return Table(known.of, known.default)
        return self._parameter(name, value, (name,)).type

    def _hidden_types(self, name: str) -> dict[str, Type]:
        """The lists that stand for a dictionary, as they are given."""
        kind = self.parameters[name].kind
        assert isinstance(kind, Table) and kind.keys is not None
        return {keys_of(name): kind.keys, **({values_of(name): kind.values} if kind.values is not None else {})}

    def _outer(self, name: str) -> Any:
        value = named(self.namespace, name)
        if type(value) is dict:
            raise UntranslatableError(f"`{name}`, a dictionary")
        if not isinstance(value, bool | int | float | complex | np.ndarray | np.generic | tuple) and not is_source(
            value
        ):
            self.statics[name,] = value
        return value

    def _list_name(self, name: str, found: Any, path: Path) -> str:
        """The variable with a list that a function reads."""
        if id(found) not in self.lists:
            key = self.module.name_of_global(name, found)
            self.scope.types[key] = self._given(key, found, path)
            self.scope.bound |= {key}
        return self.lists[id(found)]

    def _note(self, path: Path, value: Any) -> None:
        """A function of the user's reads `value`, which stays outside."""
        if type(value) in (dict, set):
            raise UntranslatableError(f"a {type(value).__name__} that a function reads")
        if not isinstance(value, np.ndarray | list | deque) and not is_source(value):
            self.statics[path] = value

    def _changes(self, function: FunctionType, name: str) -> bool:
        space = getattr(self.namespace, "globals_", self.namespace)
        mine = getattr(self.namespace, "locals_", None)
        return name in self.names and mine is None and function.__globals__ is space

    def _parameter(self, name: str, value: Any, path: Path | None = None) -> Value:
        known = self.parameters.get(name)
        if known is None:
            path = path or self.module.paths.get(name) or self._path_of(name)
            kind = type_at_hand(name, value)
            in_order = True
            if isinstance(kind, Array):
                in_order = bool(value.flags.c_contiguous)
                if not value.dtype.isnative or not value.flags.aligned:
                    raise UntranslatableError(f"`{name}`, whose memory is in another order")
            number = value if self.of_numbers and type(value) is int else None
            known = self.parameters[name] = Parameter(name, path, kind, in_order, number=number)
            self.given_values[name] = value
        return Value(local(name), known.kind, None, known.number)

    def _path_of(self, name: str) -> Path:
        """`t_0` for the first item of the tuple `t`."""
        if name in self.namespace:
            return (name,)
        head, _, tail = name.rpartition("_")
        if tail.isdigit() and head:
            return (*self._path_of(head), int(tail))
        raise UntranslatableError(f"`{name}`")

    def _changes_length(self, name: str) -> bool:
        before, kind = self.parameters[name].kind, self.scope.types.get(name)
        return isinstance(before, Array) and None not in before.shape and isinstance(kind, Array) and None in kind.shape

    # ---- the function ----

    def build(self, anyway: bool) -> ConcreteLoop:
        scope = self.scope
        shared = tuple(groups_of(self.given_values))
        scope.settle(lambda: self._translate(scope))
        shared = tuple(groups_of(self.given_values))
        for group in shared:
            for name in group:
                self.module.buffers[name] = min(map(id, (self.given_values[n] for n in group)))
        if shared:  # what may be one array was not known
            scope.settle(lambda: self._translate(scope))
        kinds = self.scope.types
        unsure = frozenset(n for n in self.live if isinstance(kind := kinds.get(n), Number) and kind.unsure)
        if unsure:
            scope.tagged = unsure | self._handed_to(unsure)
            scope.settle(lambda: self._translate(scope))
        for name in self.module.written:
            if not self.given_values[name].flags.writeable:
                raise UntranslatableError(f"a write to `{name}`, which is read-only")
        unwritten = frozenset(self.module.unwritten)
        if unwritten and self.module.written and self.module.may_share(unwritten, frozenset(self.module.written)):
            raise UntranslatableError("an array that is written while its elements are gone through")
        left = [kind for n in self.live if isinstance(kind := kinds.get(n), Array)]
        if any(not self.module.copied.isdisjoint(kind.origins) for kind in left):
            raise UntranslatableError("what may be a view, left by the loop")
        # Kernels are for arrays of one length.
        facts = self.module.facts
        facts.partial = facts.partial or any(self._changes_length(name) for name in self.parameters)
        is_better = is_better_whole(facts)
        if not is_better and not anyway:
            raise UntranslatableError("a loop over large arrays, which kernels are for")
        results = self._results()
        parameters = {local(n): p.kind for n, p in self.parameters.items()}
        text = in_variables(self._text(results), self.module, parameters)
        if len(text) > MAX_TEXT:
            raise UntranslatableError("a loop with too much in it")
        known = {local(n): p.kind for n, p in self.parameters.items()
                 if not isinstance(p.kind, Growing) and not self._is_converted(n)}  # fmt: skip
        written = frozenset(self.module.written)
        types = self.scope.types
        taken = (
            replace(p, held=filled(p.name, p.kind, types) if isinstance(p.kind, Table) else types.get(p.name))
            for p in self.parameters.values()
        )
        ranged = without_checks(text, known, lambda kind: self.module.may_share(kind.origins, written))
        careful = text if ranged.text != text else ""
        statics = tuple(self.statics.items())
        names = tuple(sorted(written))
        has_lists = any(isinstance(kind, Growing) for kind in self.scope.types.values())
        reason = "its lists change their length" if has_lists else reason_of(self.module.facts)
        if any(isinstance(kind, Table) for kind in self.scope.types.values()):
            reason = "it looks things up in dictionaries or sets"
        return ConcreteLoop(
            ranged.text, careful, ranged.quiet, tuple(taken), tuple(results), names, statics, shared, reason, is_better
        )  # fmt: skip

    def _handed_to(self, names: frozenset[str]) -> frozenset[str]:
        """The variables that these may be given as they are, if they may be of either type, too."""
        moves = [
            (target.id, stmt.value.id)
            for stmt in walk(self.node) if isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Name)
            for target in stmt.targets if isinstance(target, ast.Name)
        ]  # fmt: skip
        found = names
        while True:
            more = {b for a, b in moves if a in found and isinstance(k := self.scope.types.get(b), Number) and k.unsure}
            if more <= found:
                return found
            found |= more

    def _translate(self, scope: Translator) -> None:
        scope.statement(self.node)

    def _is_converted(self, name: str) -> bool:
        kind, final = self.parameters[name].kind, self.scope.types.get(name)
        return isinstance(kind, Number) and isinstance(final, Number) and kind.dtype != final.dtype

    def _results(self) -> list[Result]:
        results = []
        for name in sorted(self.live):
            kind = self.scope.types.get(name)
            if kind is None:
                raise UntranslatableError(f"`{name}`, which is not set")
            if isinstance(kind, Growing):
                if kind.is_queue:
                    raise UntranslatableError(f"`{name}`, a queue that the loop makes")
            if isinstance(kind, Table):
                kind = filled(name, kind, self.scope.types)
                self._check_order(name, kind)
            assigned = self.scope.assigned.get(name, set())
            if len(assigned) > 1:
                raise UntranslatableError(f"`{name}`, whose last assignment decides its type")
            if isinstance(kind, Number):
                before = self.parameters.get(name)
                if (
                    kind.mixed
                    or kind.ints
                    or kind.enum
                    or before is not None
                    and isinstance(before.kind, Number)
                    and before.kind.dtype != kind.dtype
                ):
                    raise UntranslatableError(f"`{name}`, which has another type before the loop")
            check_result(name, kind)
            others = tuple(r.name for r in results if r.kind == kind) if isinstance(kind, Growing) else ()
            if isinstance(kind, Growing):
                others += tuple(f"{n}__given" for n in self.parameters if self.scope.types.get(n) == kind)
            results.append(
                Result(name, kind, name in self.scope.flagged, name in self.scope.tagged, others=others,
                       optional=name in self.scope.optional)
            )  # fmt: skip
        for name in sorted(self.scope.changed & {*self.parameters}):
            kind = self.scope.types[name]
            if isinstance(kind, Growing):
                if kind.is_queue and name in self.names:
                    raise UntranslatableError(f"`{name}`, a queue that the loop makes")
                if isinstance(kind.item, Growing) and name in self.scope.reordered:
                    raise UntranslatableError(f"`{name}`, a list of lists whose order changes")
                check_result(name, kind)
                results.append(Result(name, kind, in_place=True))
        for name, p in self.parameters.items():
            if isinstance(p.kind, Table) and not self.scope.changed.isdisjoint(self._hidden_types(name)):
                kind = filled(name, p.kind, self.scope.types)
                self._check_order(name, kind)
                check_result(name, kind)
                results.append(Result(name, kind, in_place=True))
        rows: dict[Type, str] = {}
        for r in results:
            if isinstance(r.kind, Growing) and isinstance(r.kind.item, Growing):
                rows[r.kind.item] = r.name
        return [r if r.in_place else replace(r, inside=rows.get(r.kind, "")) for r in results]

    def _check_order(self, name: str, kind: Table) -> None:
        if kind.is_set and name in self.scope.thinned:
            raise UntranslatableError(f"`{name}`, a set that keys are taken out of, whose order is not known")

    def _told_apart(self, results: list[Result]) -> list[str]:
        """Lines that raise where a list of lists holds one that something else is, too."""
        left = {name for r in results for name in (r.name, values_of(r.name))}
        nested = {n: kind for n, kind in self.scope.types.items() if isinstance(kind, Growing)
                  and isinstance(kind.item, Growing) and n in left}  # fmt: skip
        lines = []
        for name, kind in nested.items():
            inner = kind.item
            assert isinstance(inner, Growing)
            example = blank(inner.item)
            lines.append(f"all_unlike({local(name)}, {example})")
            for other, its in self.scope.types.items():
                if its == inner and any(r.name == other and r.inside != name for r in results):
                    lines.append(f"unlike({local(other)}, {local(name)}, {example})")
                if its == inner and other in self.parameters:
                    lines.append(f"unlike({other}__given, {local(name)}, {example})")
            if name in self.names and name in self.parameters:
                raise UntranslatableError(f"`{name}`, a list of lists that is given another one")
        if len(nested) > 1:
            raise UntranslatableError("several lists of lists")
        return lines

    def _text(self, results: list[Result]) -> str:
        first: list[str] = []
        head: list[str] = []
        parameters: list[str] = []
        for name, p in self.parameters.items():
            final = self.scope.types.get(name)
            if isinstance(p.kind, Table):
                for hidden in self._hidden_types(name):
                    held = self.scope.types[hidden]
                    assert isinstance(held, Growing)
                    made, taken = list_in(hidden, held)
                    parameters += taken
                    head += [*made, f"{hidden}__given = {hidden}"]
                    if hidden == keys_of(name):
                        head += index_lines(name, held.item)
            elif isinstance(final, Growing):
                made, taken = list_in(local(name), final)
                parameters += taken
                head += made
                if p.given:
                    if final.item is None:
                        raise UntranslatableError(f"`{name}`, to which nothing is appended")
                    parameters.append(f"{local(name)}__ints")
                if final.is_queue:
                    head.append(f"{name}__first = 0")
                head.append(f"{name}__given = {local(name)}")
            elif self._is_converted(name):
                parameters.append(f"{name}_given")
                value = Translator.convert(Value(f"{name}_given", p.kind), final)  # type: ignore[arg-type]  # a number
                first.append(f"{local(name)} = {value.text}")
            else:
                parameters.append(local(name))
            if name in self.scope.tagged:
                head.append(f"{local(name)}__python = {isinstance(p.kind, Number) and p.kind.weak}")
        for name in self.unset:
            if name not in self.scope.types:  # in lines that are never reached
                continue
            if name in self.scope.tagged:
                head.append(f"{local(name)}__python = False")
            kind = self.scope.types[name]
            if isinstance(kind, Table):
                head += blank_table(name, filled(name, kind, self.scope.types))
                head += [f"{is_set(name)} = False"] * (name in self.scope.flagged)
                continue
            text = f"no_items({blank(kind.item)})" if isinstance(kind, Growing) else blank_of(kind, False)
            head.append(f"{local(name)} = {text}")
            head += [f"{is_set(name)} = False"] * (name in self.scope.flagged)
        head += self.scope.none_lines(self.parameters)
        head += self.scope.flags_at_first({name: p.kind for name, p in self.parameters.items()})
        tail = [line for r in results if isinstance(r.kind, Table) for line in self.scope.compacted_in_the_end(r.name)]
        tail += self._told_apart(results)
        returned: list[str] = []
        for r in results:
            text = local(r.name) if not r.in_place else f"{r.name}__given"
            if r.flagged:
                returned.append(is_set(r.name))
            if r.optional:
                returned.append(is_none(r.name))
            if r.tagged:
                returned.append(f"{text}__python")
            if r.others:
                assert isinstance(r.kind, Growing)
                example = blank(r.kind.item)
                returned.append(f"{r.name}__is")
                tail.append(f"{r.name}__is = 0")
                for k, other in enumerate(r.others, start=1):
                    name = other if other.endswith("__given") else local(other)
                    tail += [f"if is_same_list({text}, {name}, {example}):", f"    {r.name}__is = {k}"]
            if r.inside:
                assert isinstance(r.kind, Growing)
                returned.append(f"{r.name}__in")
                tail.append(f"{r.name}__in = place_in({text}, {local(r.inside)}, {blank(r.kind.item)})")
            if isinstance(r.kind, Table):
                end = "__given" if r.in_place else ""
                for hidden, held in ((keys_of(r.name), r.kind.keys), (values_of(r.name), r.kind.values)):
                    if held is not None:
                        returned += list_out(f"{hidden}{end}", held, "0", tail)
            elif isinstance(r.kind, Growing):
                start = f"{r.name}__first" if r.kind.is_queue else "0"
                returned += list_out(text, r.kind, start, tail)
            else:
                returned += leaf_texts(text, r.kind)
        tail.append(f"return ({''.join(f'{t}, ' for t in returned)})" if returned else "return None")
        body = ["    " + line for line in (*first, *head)] + self.scope.lines + ["    " + line for line in tail]
        functions = [function.text for function in self.module.functions.values()]
        text = "\n".join([f"def loop({', '.join(parameters)}):", *body])
        return "\n\n\n".join([*functions, text]) + "\n"
