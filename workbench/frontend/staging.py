"""Loops of Python that become one equation: what an iteration takes in, carries, and gives back.

A body is traced again until the types of what it changes settle. Variables that it leaves alone, or only writes into,
are not carried: the region writes to their buffers (`frontend.regions`). Arrays that it exchanges while writing into
them (`u, v = v, u`) are in their places again after a few iterations, which then make one iteration of the equation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, TypeVar

import optree

from ..errors import TracingError
from ..ir import REGISTRY
from .aliases import LoopAliases
from .blanks import NUMBERS, is_number, zero_like
from .carried_lists import CarriedLists
from .checks import end_unless
from .choices import agreed, is_choice, truth
from .counted_loops import let_go, with_counted_lists, with_held_lists
from .diagnostics import build
from .growing import Growth
from .merging import (
    UNDEFINED,
    UnstableLoopError,
    described,
    is_static,
    mixed_types,
    name_mixed,
    promoted,
    refuse,
    region_of,
)
from .number_types import CarriedTypes
from .operators import weaken
from .outside_lists import HeldListError
from .places import LoopPlaces, Place, RowHolder, pairs_of
from .regions import emit_scan, emit_while
from .row_arrays import Carried
from .traced_bodies import TracedBody, flat, is_unbound, joins, order_of
from .traced_ranges import TracedRange, first_item
from .tracer import INT_BITS, Tracer, emit, from_atom, lay_out, lift, require_trace

T = TypeVar("T")
MAX_ATTEMPTS = 8  # traces of one body, until the types of what it carries settle
MAX_SWAP_ORDER = 4  # iterations after which arrays that a loop exchanges must be in their places again


class SwappedError(TracingError):
    """The body exchanges arrays that it writes into: after `order` iterations each is in its place again."""

    def __init__(self, order: int, error: TracingError):
        super().__init__(str(error), code=error.code, span=error.span, fixes=error.fixes)
        self.order = order


class Stage:
    """One loop on the way to an equation.

    body, names, carried: its function, the variables that it binds, those that live on; watch: gives what must not
    change; stop: the variable that ends the loop; target: the loop's own variable; lists: those that the body only
    appends to; grown: the names of those that may become `CountedList`s.
    """

    def __init__(
        self, variables: Any, body: Callable[..., Any], names: Sequence[str], carried: Sequence[str],
        watch: Callable[[], Any], cells: frozenset[int], stop: str | None, target: str,
        lists: Mapping[str, list] | None = None, grown: frozenset[str] = frozenset(),
    ):  # fmt: skip
        self.variables = variables
        self.body = body
        self.names = names
        self.carried = [name for name in carried if name != target]
        self.keeps_target = target in carried
        self.watch = watch
        self.cells = cells
        self.stop = stop
        self.target = target
        self.lists = lists or {}
        self.grown = grown
        self.types = CarriedTypes(variables)
        self.alone = variables.are_alone(self.carried)  # before anything else here refers to them

    def _with_counted_lists(self, run: Callable[[], T]) -> T:
        def with_lists() -> T:
            return with_counted_lists(run, self.grown, self.variables, self.names)

        return with_held_lists(with_lists, self.variables, self.names)

    def attempt(self, run: Callable[[], None]) -> bool:
        """Whether `run` succeeded; otherwise everything is as before."""
        trace = require_trace()
        failure, before = trace.failure, self.variables.assigned(self.names)
        try:
            run()
        except TracingError:
            trace.failure = failure
            self.variables.restore(before)
            return False
        return True

    def attempt_range(self, rows: range, max_eqns: int) -> bool:
        """Whether the loop has become an equation; otherwise everything is as before."""
        trace = require_trace()
        failure, before, n_eqns = trace.failure, self.variables.assigned(self.names), len(trace.eqns)
        try:
            prepared = self._prepare(rows)
            if prepared.holds_loops() or prepared.is_worth_an_equation(len(rows), max_eqns):
                self._emit_range(prepared, rows)
                return True
        except TracingError:
            if len(trace.eqns) != n_eqns:
                raise
        trace.failure = failure
        self.variables.restore(before)
        return False

    def run_or_unroll(self, rows: range, max_eqns: int, max_must: int) -> int | None:
        """Make an equation of the loop: None if that is done, else the iteration from which on Python is to run it."""
        if len(rows) <= max_must:
            return self._run_or_unroll(rows, max_eqns, max_must)
        return self._with_counted_lists(lambda: self._run_or_unroll(rows, max_eqns, max_must))

    def _run_or_unroll(self, rows: range, max_eqns: int, max_must: int) -> int | None:
        trace = require_trace()
        failure, before = trace.failure, self.variables.assigned(self.names)
        outside, trace.may_write_out = trace.may_write_out, True
        try:
            prepared = self._prepare(rows)
            if not prepared.is_worth_an_equation(len(rows), max_eqns):
                return 0
            try:
                self._emit_range(prepared, rows)
            except UnstableLoopError:
                pass
            else:
                return None
        except UnstableLoopError:
            pass
        except SwappedError as swapped:
            trace.failure = failure
            self.variables.restore(before)
            if self.stop is None:
                self._run_swapped(rows, swapped.order)
                return None
            if len(rows) > max_must:
                raise
            return 0
        except TracingError:
            if len(rows) > max_must:
                raise
            trace.failure = failure
            self.variables.restore(before)
            return 0
        finally:
            trace.may_write_out = outside
        trace.failure = failure
        self.variables.restore(before)
        self.body(rows[0])
        stopped = self.variables.get(self.stop) if self.stop is not None else False
        if type(stopped) is not Tracer and stopped:
            return None
        self.alone = self.variables.are_alone(self.carried)
        before = self.variables.assigned(self.names)
        try:
            self.run_range(rows[1:])
        except TracingError:
            if len(rows) > max_must or type(stopped) is Tracer:
                raise
            trace.failure = failure
            self.variables.restore(before)
            return 1
        return None

    def run_range(self, rows: range | TracedRange) -> None:
        self._with_counted_lists(lambda: self._run_range(rows))

    def _run_range(self, rows: range | TracedRange) -> None:
        try:
            prepared = self._prepare(rows)
        except SwappedError as swapped:
            if type(rows) is not range or self.stop is not None:
                raise
            self._run_swapped(rows, swapped.order)
        else:
            self._emit_range(prepared, rows)

    def _run_swapped(self, rows: range, order: int) -> None:
        """A loop of `order` iterations at a time, and the rest of them after it."""
        failure = require_trace().failure
        n_whole = len(rows) // order * order
        if n_whole:
            prepared = self._prepare(rows, items=(order, rows.step))
            self._emit_range(prepared, rows[:n_whole:order])
            if self.keeps_target:
                self.variables.set(self.target, rows[n_whole - 1])
        require_trace().failure = failure
        for item in rows[n_whole:]:
            self.body(item)

    # ---- the body ----

    def _prepare(self, rows: range | TracedRange | None, items: tuple[int, int] = (1, 0)) -> TracedBody:
        """Trace the body until what it carries has the same types before and after. items: how many iterations are one
        of the equation, and the step between them."""
        item = first_item(rows) if rows is not None else None
        stacks = type(rows) is range and self.stop is None
        start = {name: flat(self.variables.glimpse(name)) for name in self.carried}
        before = self.variables.assigned(self.names)
        changed: dict[tuple[str, int], Tracer] = {}  # the leaves that the loop carries, with their values at first
        forget: frozenset[int] = frozenset()
        pairs: dict[tuple[Any, Any], Place] = {}
        holders: dict[tuple[str, int, int], RowHolder] = {}
        order = 0
        watched: Any = None
        for _ in range(MAX_ATTEMPTS):
            earlier, watched = watched, self.watch()
            watched.follow(earlier)
            keys = list(changed)
            prepared = TracedBody(start, keys, dict(changed))
            pairs |= pairs_of(changed)
            prepared.places = LoopPlaces(pairs, prepared.first, lambda key: start[key[0]][1][key[1]])
            prepared.growth.lists, prepared.growth.holders = self.lists, holders
            prepared.growth.begin(self.variables)
            try:
                prepared.watched = watched
                prepared.region = region = region_of(
                    lambda *inputs: self._run_body(prepared, inputs, item is not None, items),  # noqa: B023
                    [*([item] if item is not None else []), *[changed[key] for key in keys], *prepared.places.avals],
                    forget,
                )  # fmt: skip
            except BaseException as error:
                watched.undo(self.cells)
                watched.vouch_for(error)
                unfit = prepared.growth.unfit(error)
                if unfit is not None and isinstance(error, TracingError):
                    raise HeldListError(self.variables.held[unfit], self.lists[unfit], True) from None
                raise
            finally:
                prepared.growth.end(self.variables)
                self.variables.restore(before)
            try:
                held = watched.changed_values(self.cells)
            except HeldListError as grown:
                if not stacks or not grown.is_alone:
                    raise
                (name,) = self.variables.add_held([grown.place])
                self.lists = {**self.lists, name: grown.place.get()}
                let_go(grown)
                continue
            if held:
                added = self.variables.add_held(held)
                self.alone |= {name for name in added if watched.is_alone(self.variables.get(name))}
                self.names, self.carried = (*self.names, *added), [*self.carried, *added]
                start.update({name: flat(self.variables.get(name)) for name in added})
                before.update(self.variables.state(added))
                continue
            watched.check(self.cells)
            if region.relies_on_written - forget:
                forget |= region.relies_on_written
                continue
            order = order or order_of(prepared)
            if not self._grow(prepared, changed):
                if prepared.growth.added and type(rows) is range:
                    prepared.growth.note_places(region, prepared, rows)
                more = pairs_of(prepared.finals())
                if not pairs.keys() >= more.keys():
                    pairs |= more
                    continue
                for call in region.record.unless_carried or ():
                    call()
                try:
                    self._check_writes(prepared)
                except TracingError as error:
                    if 1 < order <= MAX_SWAP_ORDER:
                        raise SwappedError(order, error) from None
                    raise
                return prepared
        raise UnstableLoopError("the types of what the loop carries do not settle")

    def _run_body(self, prepared: TracedBody, inputs: Sequence[Tracer], has_item: bool, items: tuple[int, int]) -> None:
        item, values = (inputs[0], inputs[1:]) if has_item else (None, inputs)
        prepared.inputs = dict(zip(prepared.keys, values, strict=False))
        prepared.places.begin(prepared.inputs, values[len(prepared.keys) :])
        for x in values:
            x.buffer.bits = INT_BITS
        trace = require_trace()
        trace.references, trace.unless_carried = prepared.watched.references(), []
        self._set_state(prepared, prepared.inputs)
        self.types.begin(prepared.inputs)
        lists = CarriedLists(self.variables, prepared.start, self.alone)
        growth = prepared.growth
        if growth.lists:
            growth.begins = {name: self.variables.get(name) for name in self.carried}
        prepared.item = item
        if has_item:
            self.body(item)
            for k in range(1, items[0]):
                self.body(item + k * items[1])  # type: ignore[operator]  # a traced int
        else:
            self.body()
        self.types.end()
        lists.check({*self.names} - {*self.carried, self.target, *growth.lists}, growth.added_so_far(self.variables))
        prepared.stay, prepared.needs_a_turn = lists.stay, lists.needs_a_turn
        prepared.final = {name: flat(self.variables.get(name)) for name in self.carried}
        if growth.lists:
            growth.ends = {name: self.variables.get(name) for name in self.carried}
        prepared.target = self.variables.get(self.target) if self.target else None
        prepared.joins = joins(prepared, self.variables)

    def _set_state(
        self, prepared: TracedBody, values: dict[tuple[str, int], Tracer], but: Set[str] = frozenset()
    ) -> None:  # fmt: skip
        for name, (tree, leaves) in prepared.start.items():
            if name in but:
                continue
            filled = [values.get((name, k), leaf) for k, leaf in enumerate(leaves)]
            self.variables.set(name, optree.tree_unflatten(tree, filled))

    def _grow(self, prepared: TracedBody, changed: dict[tuple[str, int], Tracer]) -> bool:
        """Note which leaves are carried, and as what; whether that is news."""
        news = False
        region = prepared.region
        for name, (tree, leaves) in prepared.start.items():
            final_tree, final = prepared.final[name]
            if is_unbound(leaves) and not is_unbound(final) and name.startswith("_wb_"):
                # The value to return, which is not read before it is set.
                blank = [zero_like(leaf) for leaf in final]
                prepared.start[name] = (final_tree, blank)
                changed.update({(name, k): lift(zero) for k, zero in enumerate(blank) if is_number(zero)})
                news = True
                continue
            if self._choose(prepared, name):
                news = True
                for key in [key for key in changed if key[0] == name]:
                    del changed[key]
            tree, leaves = prepared.start[name]
            final_tree, final = prepared.final[name]
            if final_tree != tree:
                raise self._unstable(name, leaves, final)
            for k, (old, new) in enumerate(zip(leaves, final, strict=True)):
                key = (name, k)
                if key not in changed:
                    if is_static((old, new)):
                        continue
                    if type(old) is not Tracer and not isinstance(old, NUMBERS):
                        raise self._unstable(name, leaves, final)
                    if not is_number(new):
                        raise self._unstable(name, leaves, final)
                    changed[key], news = lift(old), True
                    continue
                before = changed[key]
                if not is_number(new):
                    raise self._unstable(name, leaves, final)
                after = region.leaf(new)
                if (after.shape, after.scalar, after._strides) != (before.shape, before.scalar, before._strides):
                    raise self._unstable(name, [before], [after])
                if after.dtype == before.dtype and after.weak_type == before.weak_type:
                    if not before.weak_type and not set(after.buffer.mixed) <= set(before.buffer.mixed):
                        changed[key], news = from_atom(require_trace(), before.current), True
                        changed[key].buffer.mixed = tuple(dict.fromkeys(before.buffer.mixed + after.buffer.mixed))
                    continue
                if before.weak_type and not after.weak_type:
                    better = promoted(before, after.dtype)
                    if better is None:
                        raise self._unstable(name, [before], [after])
                    better.buffer.mixed = (before.__class__,)  # Python's, for the first iteration
                    changed[key], news = better, True
                    continue
                if after.dtype != before.dtype:
                    if not after.weak_type or region.run(lambda a=after, b=before: promoted(a, b.dtype)) is None:
                        raise self._unstable(name, [before], [after])
                if after.__class__ not in before.buffer.mixed:
                    changed[key], news = from_atom(require_trace(), before.current), True
                    changed[key].buffer.mixed = (*before.buffer.mixed, after.__class__)  # Python's from the second on
        mixed = [key for key, before in changed.items() if before.buffer.mixed]
        added = self.types.add(mixed, prepared.start)
        self.names, self.carried = (*self.names, *added), [*self.carried, *added]
        return news or bool(added)

    def _choose(self, prepared: TracedBody, name: str) -> bool:
        """Let a variable be a choice where iterations give it values of several kinds. Whether it was none, or one
        between fewer, at first."""
        pairs = prepared.start[name], prepared.final[name]
        if pairs[0][0] == pairs[1][0] and all(is_number(leaf) for _, leaves in pairs for leaf in leaves):
            return False
        old, new = [optree.tree_unflatten(tree, leaves) for tree, leaves in pairs]
        inside = [leaf for v in (old, new) for leaf in optree.tree_leaves(v, is_leaf=is_choice, none_is_leaf=True)]
        if require_trace().may_write_out and not any(map(is_choice, inside)):
            return False
        begins, ends = agreed([old, new], lambda k, code: prepared.region.run(code) if k else code())
        if ends is not new:
            prepared.final[name] = flat(ends)
        if begins is old:
            return False
        prepared.start[name] = flat(begins)
        return prepared.start[name][0] != flat(old)[0]

    def _unstable(self, name: str, old: Sequence[Any], new: Sequence[Any]) -> TracingError:
        pair = next(((a, b) for a, b in zip(old, new, strict=False) if a is not b), (None, None))
        before, after = map(described, pair)
        fix = f"give {name} its final type before the loop: np.float64(...), .astype(...)"
        if before == after:
            after = "another one, or one with more or less in it,"
            fix = f"let {name} alone refer to it, and let what it holds keep its number and types"
        return build(
            UnstableLoopError, f"{{line}}: `{name}` is {before} before an iteration and {after} after it.",
            f"`{name}` changes its type in a loop", code="WB181", fixes=(fix,),
        )  # fmt: skip

    def _check_writes(self, prepared: TracedBody) -> None:
        """Carried arrays are copies, which the body must not write to: what else shares their memory would not see it.
        Results that are each other, or arrays outside, may be read but not written to from here on."""
        region = prepared.region
        finals = [region.leaf(prepared.final[name][1][k]) for name, k in prepared.keys]
        held = {id(x.buffer) for x in finals if not x.scalar}
        for entry in region.captured:
            buffer = entry.tracer.buffer
            if buffer.version and buffer.value is not entry.var and (buffer.ambiguous or id(buffer) in held):
                raise build(
                    TracingError,
                    "{line} writes into an array that a variable of the loop also holds: the next iteration sees the "
                    "write through both.",
                    "an array is written into and carried under another name", code="WB184",
                    fixes=("copy the array where it gets its second name",),
                )  # fmt: skip
        for (name, _), inner in prepared.inputs.items():
            if not inner.scalar and inner.buffer.version:
                raise build(
                    TracingError,
                    f"{{line}} writes into `{name}` and also gives it another array, so that the array that is written "
                    "differs from one iteration to the next.",
                    f"`{name}` is both written into and replaced", code="WB184",
                    fixes=(f"write {name}[...] = new instead of {name} = new, or copy it first",),
                )  # fmt: skip

    # ---- the equation ----

    def _results(self, prepared: TracedBody) -> list[Tracer]:
        """What the body gives for each carried leaf."""
        self.variables.rely_on_glimpses()
        region = prepared.region
        results = []
        for key in prepared.keys:
            name, k = key
            value = region.leaf(prepared.final[name][1][k])
            model = prepared.first[key]
            if (value.dtype, value.weak_type) != (model.dtype, model.weak_type):
                value = region.run(lambda v=value, m=model: promoted(v, m.dtype))
            results.append(value)
        return results + prepared.places.results(region, prepared.inputs, prepared.finals(), prepared.outer_finals())

    def _emit_range(self, prepared: TracedBody, rows: range | TracedRange) -> None:
        region = prepared.region
        if self.keeps_target and (prepared.target is not prepared.item or type(rows) is not range or not len(rows)):
            raise self._unstable(self.target, [None], [prepared.target])
        results = self._results(prepared)
        growth = prepared.growth
        links = growth.links()
        stacked = growth.rows(region)
        finals = [region.leaf(prepared.final[name][1][k]) for name, k in prepared.keys]
        shared = growth.shared(region, list(prepared.inputs.values()), finals)
        stacked += growth.firsts.values()
        step = rows.step
        item = region.inputs[0]
        stopped = self.variables.get(self.stop) if self.stop is not None else False
        had_turns = type(stopped) is Tracer  # written out, of which one may have left the loop
        may_be_empty = type(rows) is not range or had_turns
        if type(rows) is not range and prepared.needs_a_turn:
            end_unless(rows.start < rows.stop if step > 0 else rows.start > rows.stop)
        if had_turns and prepared.needs_a_turn:
            end_unless(emit(REGISTRY["not"], stopped))
        may_stop = had_turns or self._stops(prepared)
        aliases = self._aliases(prepared, may_be_empty)
        following = region.run(lambda: item + step)  # type: ignore[operator]  # a traced int
        init = [first_item(rows), *[prepared.first[key] for key in prepared.keys], *prepared.places.init]
        if aliases is not None:
            results, init = [*results, *aliases.results], [*init, *aliases.init]
        if type(rows) is range and not may_stop:
            outs, stacks = emit_scan(region, [following, *results], stacked, init, [], length=len(rows), op="for")
        elif growth.added:
            raise refuse("appends to", next(iter(growth.added)), "in a loop of which the numbers decide how long it is")
        else:
            stacks = ()
            end = rows.stop
            keys = prepared.keys

            def test(*inputs: Tracer) -> Any:
                going = inputs[0] < end if step > 0 else inputs[0] > end  # type: ignore[operator]
                left = inputs[1 + keys.index((self.stop or "", 0))] if self._stops(prepared) else stopped
                return emit(REGISTRY["and"], going, emit(REGISTRY["not"], left)) if type(left) is Tracer else going

            condition = region_of(test, init)
            outs = emit_while(condition, region, condition.result, [following, *results], init, op="for")
        begins = {name: self.variables.get(name) for name, *_, at_begin in links if at_begin}
        self._finish(prepared, outs[1:], aliases, may_be_empty=may_be_empty)
        if stacks and type(rows) is range:
            growth.fill(stacks, shared, len(rows), list(self._carried(prepared, outs[1:])))
            for name, *where, at_begin in links:
                self._link(growth, name, where, begins.get(name) if at_begin else None, len(rows))
            for out, mine in zip(outs[1:], finals, strict=False):
                out.buffer.ambiguous = out.buffer.ambiguous or any(shared) and not mine.scalar
            for key in prepared.keys:
                before = prepared.first[key]
                before.buffer.ambiguous = before.buffer.ambiguous or any(shared) and not before.scalar
        if self.keeps_target and type(rows) is range:  # the loop's variable after the loop
            self.variables.set(self.target, outs[0] - step if may_stop else rows[-1])  # type: ignore[operator]

    def _carried(self, prepared: TracedBody, outs: Sequence[Tracer]) -> Iterator[Carried]:
        """The arrays that a loop has carried, as the variables hold them now."""
        twins, by_key, outer = prepared.twins(), dict(zip(prepared.keys, outs, strict=False)), prepared.outer_finals()
        for key, first in prepared.first.items():
            if first.scalar or key in twins:
                continue
            name, k = key
            final = prepared.region.leaf(prepared.final[name][1][k])
            yield Carried(prepared.start[name][1][k], prepared.inputs[key], final, by_key[key], outer.get(key))

    def _link(self, growth: Growth, name: str, where: Sequence[Any], begins: Any, n: int) -> None:
        """Let a variable, or what it was before the loop, be the item that it was in an iteration."""
        grown, at = where
        items, count = growth.lists[grown], len(growth.added[grown])
        first = len(items) - n * count
        if begins is not None:
            items[first + at] = begins
        else:
            self.variables.set(name, items[len(items) - count + at])

    def _aliases(self, prepared: TracedBody, may_be_empty: bool) -> LoopAliases | None:
        """What the arrays that are carried may be after the loop, where they are not made by its last iteration."""
        region = prepared.region
        first = {key: prepared.first[key] for key in prepared.keys if not prepared.first[key].scalar}
        final = {(name, k): region.leaf(prepared.final[name][1][k]) for name, k in first}
        outer = {id(e.tracer.buffer) for e in region.captured if e.tracer is not None}
        outer.update(id(x.buffer) for x in prepared.inputs.values())
        buffers = [x.buffer for x in final.values()]
        made_here = all(b.aliases is None and id(b) not in outer for b in buffers)
        if not first or not may_be_empty and made_here and len({id(b) for b in buffers}) == len(buffers):
            return None
        return LoopAliases(region, first, {key: prepared.inputs[key] for key in first}, final)

    def _stops(self, prepared: TracedBody) -> bool:
        return self.stop is not None and (self.stop, 0) in prepared.keys

    def _finish(
        self, prepared: TracedBody, outs: Sequence[Tracer], aliases: LoopAliases | None, *, may_be_empty: bool
    ) -> None:  # fmt: skip
        """Set the variables. may_be_empty: if there is no iteration, they are the arrays that they were."""
        prepared.region.pass_on_ambiguity()
        values = {}
        seen: dict[int, Tracer] = {}
        n = len(prepared.keys)
        after = n + prepared.places.n
        prepared.places.mark(dict(zip(prepared.keys, outs, strict=False)), outs[n:after])
        if aliases is not None:
            arrays = {key: out for key, out in zip(prepared.keys, outs, strict=False) if key in aliases.final}
            aliases.mark(arrays, outs[after:])
        twins = prepared.twins()
        for key, out in zip(prepared.keys, outs[:n], strict=True):
            if key in twins:
                values[key] = values[twins[key]]
                continue
            out.scalar = prepared.first[key].scalar
            values[key] = out
            name, k = key
            inner = prepared.region.leaf(prepared.final[name][1][k])
            before = prepared.start[name][1][k]
            if out.scalar:
                out.buffer.mixed = mixed_types((before, inner) if may_be_empty else (inner,))
                if inner.weak_type and not out.buffer.mixed:
                    if inner.dtype == out.dtype:
                        weaken(out)
                    else:
                        out.buffer.mixed = (inner.__class__,)
                if out.buffer.mixed:
                    name_mixed(out, name)
                continue
            lay_out(out, prepared.first[key]._strides)  # of each iteration, see `_grow`
            if inner.buffer.ambiguous or prepared.inputs[key].buffer.ambiguous or may_be_empty:
                out.buffer.ambiguous = True
                if type(before) is Tracer:
                    before.buffer.ambiguous = True
            if id(inner.buffer) in seen:
                out.buffer.ambiguous = seen[id(inner.buffer)].buffer.ambiguous = True
            seen[id(inner.buffer)] = out
            for entry in prepared.region.captured:
                if entry.tracer is not None and entry.tracer.buffer is inner.buffer:
                    out.buffer.ambiguous = entry.value.buffer.ambiguous = True
            for other, model in prepared.inputs.items():
                if model.buffer is inner.buffer and other != key:
                    out.buffer.ambiguous = True
        for name in self.names:
            if name not in self.carried and name != self.target:
                self.variables.set(name, UNDEFINED)
        changed = {name for name, _ in values}
        self._set_state(prepared, values, but=prepared.stay - changed)
        self.types.finish(values)

    def run_while(self, test: Callable[[], Any]) -> None:
        """`while test(): body()` as an equation."""
        self._with_counted_lists(lambda: self._run_while(test))

    def _run_while(self, test: Callable[[], Any]) -> None:
        prepared = self._prepare(None)
        if prepared.joins:
            # With the first iteration before the loop, names of one array are so all along.
            first = truth(test())
            if type(first) is Tracer:
                end_unless(first.reshape(()) if first.shape else first)
            self.body()
            prepared = self._prepare(None)
        results = self._results(prepared)
        init = [*[prepared.first[key] for key in prepared.keys], *prepared.places.init]
        aliases = self._aliases(prepared, may_be_empty=True)
        if aliases is not None:
            results, init = [*results, *aliases.results], [*init, *aliases.init]
        before = self.variables.assigned(self.names)
        if prepared.needs_a_turn:
            first = truth(test())
            self.variables.restore(before)
            if type(first) is Tracer:
                end_unless(first.reshape(()) if first.shape else first)

        def run(*inputs: Tracer) -> Any:
            self._set_state(prepared, dict(zip(prepared.keys, inputs, strict=False)))  # then come the aliases' numbers
            return truth(test())

        written = frozenset(id(x.buffer) for x in prepared.region.written)
        try:
            condition = region_of(run, init, written)
        finally:
            self.variables.restore(before)
        value = condition.leaf(condition.result)
        if value.dtype.kind != "b":
            value = condition.run(lambda: value != 0)
        if value.shape:
            value = condition.run(lambda: value.reshape(()))
        outs = emit_while(condition, prepared.region, value, results, init, op="while")
        self._finish(prepared, outs, aliases, may_be_empty=True)
