"""What a traced function gives back: from the tracers it returned to the values a call returns, and back.

A result that is an argument is that very object; one that is a view of an argument, or of another result, is that
view, so that later writes are seen through both, as in NumPy.
"""

from __future__ import annotations

import copy
import types
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import optree

from ..errors import TracingError, UnsupportedOperationError
from ..ir import REGISTRY, Atom, Var
from .aliases import chain, given_roots, one_of, own_memory
from .captures import Change, Lifter
from .choices import VALUE, Choice, ChoiceForm, left_under_a_name
from .constants import CONSTANT_TYPES, is_constant
from .counted_forms import CountedForm
from .counted_lists import CountedArray, CountedList
from .diagnostics import build, unsupported
from .growing import with_whole_stacks
from .held import APPENDED, UNDEFINED, HeldValue
from .layouts import memory_order, overlaps_itself
from .made_objects import made_object
from .number_types import is_told_int
from .places import tell_places
from .proxies import unwrap
from .reads import Read
from .recording import Trace
from .repeats import Repeat, Repeats, each_once
from .tracer import Buffer, Deferred, Tracer, lift
from .unlifting import is_imported, unlift_function
from .views import ReadOnly, TakeView, Transpose, ViewOp, write


@dataclass(frozen=True, eq=False, slots=True)
class OutLeaf:
    """One leaf of the result.

    outvar: the program's result that holds it, None for a static `value`; kind: "array", "scalar" (of NumPy), "python"
    (a Python number), "outside" (an object from outside, which `value` reads when it is returned), "repeat" (a
    container that is elsewhere in the result, too) or "made" (of other leaves and results, as `value`, a form, says: a
    list with as many items as the program's result `count` tells, or the one of several kinds that it tells); same_as:
    an earlier leaf that is the same object; base_input, base_outvar: it is the view `views` of that input (after
    write-back), or of that result; code, options: a branch or loop chose what it is, and the program's result `code`
    tells which of `options`; of a number, whether it is Python's, of which types `value` then are.
    """

    outvar: int | None = None
    value: Any = None
    kind: str = "array"
    same_as: int | None = None
    base_input: int | None = None
    base_outvar: int | None = None
    views: tuple[ViewOp | Picked, ...] = ()
    code: int | None = None
    options: tuple[OutLeaf, ...] = ()
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Picked:
    """The view of an array at integers that the program computes, its results `indices`, along `axes`; or of as many
    elements as `length` tells from there on."""

    axes: tuple[int, ...]
    indices: tuple[int, ...]
    length: int | None = None

    def take(self, array: Any, results: Sequence[Any]) -> Any:
        key: list[Any] = [slice(None)] * array.ndim
        for axis, k in zip(self.axes, self.indices, strict=True):
            at = results[k] if type(results[k]) is Tracer else int(results[k])
            key[axis] = at if self.length is None else slice(at, at + self.length)
        return array[tuple(key)]


@dataclass(frozen=True, eq=False, slots=True)
class HeldOutput:
    """The program lets an object, dict or list from outside hold a value under `key`. read: gives it at a call;
    counted: which of the items that it appends stand for all items of a `CountedList`."""

    name: str
    read: Read
    key: Any
    counted: tuple[bool, ...] = ()

    def place(self) -> HeldValue:
        return HeldValue(self.name, self.read(), self.key)


@dataclass(frozen=True, eq=False, slots=True)
class Outputs:
    """How results become what the caller sees.

    tree, leaves: the structure; writes: (input, result) pairs, inputs that take a result's values in place; repeats:
    where what is in several places comes first; n_inner: how many of the last leaves are in lists that are leaves;
    held: what objects from outside are to hold; these values come before the result; apart: what reads the lists and
    dicts that must not be one, since some are changed.
    """

    tree: Any
    leaves: tuple[OutLeaf, ...]
    writes: tuple[tuple[int, int], ...]
    repeats: Repeats | None = None
    n_inner: int = 0
    held: tuple[HeldOutput, ...] = ()
    apart: tuple[Read, ...] = ()

    def rebuild(self, results: Sequence[Any], inputs: Sequence[Any]) -> Any:
        """Write back what was mutated and make the return value. inputs: of the program, captures included."""
        if type(results[0] if results else None) is Tracer:
            return self._build(results, inputs, write)
        owned = _owned(results, inputs, self.writes)
        # A result that is another input's own memory must be saved before that input is written.
        for i, k in self.writes:
            if owned[k] is inputs[i]:
                continue
            if isinstance(inputs[i], np.ndarray):
                np.copyto(inputs[i], owned[k], casting="no")
            else:  # an array of a device
                inputs[i][...] = owned[k]
        return self._build(owned, inputs, None)

    def overlap(self, inputs: Sequence[Any]) -> bool:
        """Whether an input that is mutated shares memory with another one, or within itself, which the program does
        not know."""
        for i, _ in self.writes:
            written = inputs[i]
            if isinstance(written, np.ndarray) and type(written) is not Tracer:
                if overlaps_itself(written):
                    return True
                for j, other in enumerate(inputs):
                    if j == i or not isinstance(other, np.ndarray) or type(other) is Tracer:
                        continue
                    # With a bound on its work: True where the answer would be hard to find.
                    if np.may_share_memory(written, other, max_work=10_000):  # pyright: ignore[reportArgumentType]
                        return True
        return False

    def _build(self, results: Sequence[Any], inputs: Sequence[Any], writer: Callable | None) -> Any:
        if writer is not None:
            for i, k in self.writes:
                writer(inputs[i], results[k])
        leaves = self.leaves
        if len(leaves) == 1 and self.tree is None:
            return _leaf_value(leaves[0], results, inputs, ())
        values: list[Any] = []
        for leaf in leaves:
            values.append(_leaf_value(leaf, results, inputs, values))
        for k, leaf in enumerate(leaves):
            if leaf.count is not None:
                values[k] = leaf.value.value(results, results[leaf.count], values)
        if self.n_inner:
            del values[-self.n_inner :]
        result = self.tree.unflatten(values)
        result = result if self.repeats is None else self.repeats.put_into(result)
        if self.held:
            held: Any = result
            values, result = held
            places = [each.place() for each in self.held]
            for each, place, value in zip(self.held, places, values, strict=True):
                if each.key is APPENDED:
                    for item, is_counted in zip(value, each.counted, strict=True):
                        place.holder.extend(item if is_counted else (item,))
                else:
                    place.set(value)
        return result


def _owned(
    results: Sequence[np.ndarray], inputs: Sequence[Any], targets: Sequence[tuple[int, int]]
) -> list[np.ndarray]:
    """Results with memory of their own: a program may hand an input, a constant or one array twice through. targets:
    the inputs that a result is written to, in whose memory that may be already."""
    owned, seen = [], set(map(id, inputs))
    in_place = {k for i, k in targets if results[k] is inputs[i]} if targets else ()
    for k, result in enumerate(results):
        if k in in_place or result is None:  # None: nobody looks at it
            owned.append(result)
            continue
        if id(result) in seen or not getattr(result.flags, "writeable", True):
            result = result.copy()
        seen.add(id(result))
        owned.append(result)
    return owned


def _leaf_value(leaf: OutLeaf, results: Sequence[Any], inputs: Sequence[Any], earlier: Sequence[Any]) -> Any:
    if leaf.outvar is None:
        return leaf.value() if leaf.kind == "outside" else leaf.value
    if leaf.kind == "made":  # when all others are
        return None
    if leaf.kind == "array":
        if leaf.same_as is not None:
            return earlier[leaf.same_as]
        if leaf.code is not None:
            if type(results[leaf.code]) is Tracer:
                return _inlined(leaf, results, inputs)
            return _leaf_value(leaf.options[int(results[leaf.code])], results, inputs, earlier)
        if leaf.base_input is not None or leaf.base_outvar is not None:
            value = inputs[leaf.base_input] if leaf.base_input is not None else results[leaf.base_outvar]  # type: ignore
            for view in leaf.views:
                value = view.take(value, results) if isinstance(view, Picked) else view.apply(value)
            return value
        value = results[leaf.outvar]
        if type(value) is Tracer:
            value.scalar = False
        return value
    value = results[leaf.outvar]
    if type(value) is Tracer:
        if leaf.code is not None:
            value.buffer.mixed, value.buffer.python = leaf.value, results[leaf.code]
        return value
    is_numpys = leaf.kind == "scalar" and (leaf.code is None or not results[leaf.code])
    if is_numpys:
        return value[()]
    return int(value.item()) if leaf.value == (int,) else value.item()  # of a float, too, which it was exactly


def _inlined(leaf: OutLeaf, results: Sequence[Any], inputs: Sequence[Any]) -> Tracer:
    """A result that may be one of several arrays, in a trace."""
    assert leaf.outvar is not None and leaf.code is not None
    options = [None if option.base_input is None and option.base_outvar is None and option.code is None
               else _leaf_value(option, results, inputs, ()) for option in leaf.options]  # fmt: skip
    value = results[leaf.outvar]
    value.scalar = False
    return one_of(value, results[leaf.code], options)


def _optional(leaf: OutLeaf) -> Iterator[int]:
    """The program's results that a leaf may be, or may be a view of, as the program decides."""
    for option in (leaf, *leaf.options) if leaf.code is not None else ():
        yield from (k for k in (option.outvar, option.base_outvar) if k is not None)
        if option is not leaf:
            yield from _optional(option)


class _Collector:
    """The program's results, each atom once."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []

    def add(self, atom: Atom) -> int:
        self.atoms.append(atom)
        return len(self.atoms) - 1


def collect_outputs(
    trace: Trace, lifter: Lifter, result: Any, inputs: Sequence[Buffer | None],
    changed: Sequence[Change] = (),
) -> tuple[Outputs, tuple[Atom, ...]]:  # fmt: skip
    """The `Outputs` of what the traced code returned, and the program's result atoms.

    inputs: the buffers of the program's inputs, in order (None: a scalar); changed: what objects from outside hold now.
    """
    held = tuple(
        HeldOutput(each.name, each.read, each.key, tuple(type(x) is CountedList for x in each.value)
                   if each.key is APPENDED else ()) for each in changed
    )  # fmt: skip
    if changed:
        result = ([left_under_a_name(change.value) for change in changed], result)
    if type(result) is Tracer:  # a lone array needs no tree
        leaves, tree, repeats = [result], None, None
    else:
        result = with_whole_stacks(result, {id(b) for b in inputs if b is not None})
        # Containers from outside, which the code has not changed, are returned as the objects that they are.
        whole = partial(_is_whole, lifter)
        result, repeats = each_once(result, lambda value: id(value) in lifter.originals, partial(made_object, lifter))
        leaves, tree = optree.tree_flatten(result, is_leaf=whole, none_is_leaf=True)
        leaves = list(map(unwrap, leaves))
    counted = [x for x in leaves if type(x) is CountedList]
    before = (x for each in counted for x in each.before)
    tell_places(counted, [*leaves, *before], [buffer for buffer in inputs if buffer is not None])
    collector = _Collector()
    n_leaves = len(leaves)
    parts = [_parts(leaf) for leaf in leaves]
    leaves += [item for part in parts for item in part]
    _check_known(leaves)
    made: dict[int, Any] = {}  # one array of known numbers in several places is one result
    values = []
    for leaf in leaves:
        value = made.get(id(leaf)) if isinstance(leaf, np.ndarray) else None
        if value is None:
            value = made[id(leaf)] = _output_value(trace, lifter, leaf)
        values.append(value)
    n_placed = n_leaves
    input_index = {id(b): i for i, b in enumerate(inputs) if b is not None}
    out: list[OutLeaf] = []
    for k, value in enumerate(values):
        if type(value) is Tracer:
            out.append(OutLeaf(collector.add(value.current)))
        elif type(value) in (Choice, CountedList, CountedArray):
            places = tuple(range(n_placed, n_placed + len(parts[k])))
            n_placed += len(places)
            out.append(_choice_leaf(value, places, collector, lifter) if type(value) is Choice else
                       _counted_leaf(value, places, collector, lifter))  # fmt: skip
        else:
            out.append(_constant_leaf(value))
    _Places(trace, collector, values, out, input_index).fill()
    writes = []
    for i, buffer in enumerate(inputs):
        if buffer is not None and buffer.version and buffer.value is not buffer.var_in:
            writes.append((i, collector.add(buffer.value)))
    return Outputs(
        tree, tuple(out), tuple(writes), repeats, len(leaves) - n_leaves, held,
        lifter.containers_apart() if held else (),
    ), tuple(collector.atoms)  # fmt: skip


def _parts(leaf: Any) -> Sequence[Any]:
    """The results of which a leaf is made, besides those that its form knows: leaves, too."""
    if type(leaf) is Choice:
        is_made = VALUE in leaf.kinds and (UNDEFINED not in leaf.kinds or leaf.stays_unbound)
        return optree.tree_leaves(leaf.given, none_is_leaf=True) if is_made else ()
    if type(leaf) not in (CountedList, CountedArray):
        return ()
    found = _counted_list(leaf)
    return (*found.before, *(array for *_, array in found.arrays_elsewhere))


def _counted_list(leaf: CountedList | CountedArray) -> CountedList:
    """The list that a leaf is, or is an array of."""
    return leaf.items if isinstance(leaf, CountedArray) else leaf


def _tree_of_results(tree: Any, lifter: Lifter) -> Any:
    """`tree`, in whose place results are put together, with the user's classes for the lifted ones."""
    if tree is None or tree.is_leaf():
        return tree
    places, _ = each_once(tree.unflatten(range(tree.num_leaves)), lambda _: False, partial(made_object, lifter))
    return optree.tree_structure(places, none_is_leaf=True)


def _choice_leaf(value: Choice, places: tuple[int, ...], collector: _Collector, lifter: Lifter) -> OutLeaf:
    tree = optree.tree_structure(value.given, none_is_leaf=True) if VALUE in value.kinds else None
    tree = _tree_of_results(tree, lifter)
    code = collector.add(lift(value.which).current)
    return OutLeaf(code, value=ChoiceForm(value.kinds, tree, places), kind="made", count=code)


def _counted_leaf(
    value: CountedList | CountedArray, places: tuple[int, ...], collector: _Collector, lifter: Lifter
) -> OutLeaf:  # fmt: skip
    found = _counted_list(value)
    if found.items is None:
        raise found.error()
    results = tuple(collector.add(lift(array).current) for array in found.arrays)
    in_array = isinstance(value, CountedArray)
    items = replace(found.items, tree=_tree_of_results(found.items.tree, lifter))
    before, rest = places[: len(found.before)], places[len(found.before) :]
    elsewhere = tuple(
        (part, at, -1, k) if type(at) is int else (part, -1, collector.add(lift(at).current), k)
        for (part, at, _), k in zip(found.arrays_elsewhere, rest, strict=True)
    )
    firsts = () if in_array else tuple((part, collector.add(lift(x).current)) for part, x in found.firsts.items())
    dtype = value.dtype if in_array else None
    form = CountedForm(items, results, found.first, before, in_array, dtype, elsewhere, firsts)
    return OutLeaf(results[0], value=form, kind="made", count=collector.add(lift(found.count).current))


def _constant_leaf(value: Any) -> OutLeaf:
    if isinstance(value, _Outside):
        return OutLeaf(value=value.read, kind="outside")
    return OutLeaf(value=value, kind="repeat" if isinstance(value, Repeat) else "array")


class _Places:
    """Where the results live: which are inputs, views of these, or views of one another.

    out: the leaves, each with the program's result that holds it, which `fill` completes.
    """

    def __init__(
        self, trace: Trace, collector: _Collector, values: Sequence[Any], out: list[OutLeaf],
        input_index: Mapping[int, int],
    ):  # fmt: skip
        self.trace = trace
        self.collector = collector
        self.values = values
        self.out = out
        self.input_index = input_index
        self.arrays = list({id(v): v for v in values if type(v) is Tracer and not v.scalar}.values())
        self.shared: dict[int, int] = {}  # how many results, or what they may be, are of a buffer
        for value in self.arrays:
            buffers = [value.buffer, *[root.buffer for root in given_roots(value.buffer)]]
            for key in set(map(id, buffers)):
                self.shared[key] = self.shared.get(key, 0) + 1
        self.bases: dict[int, int] = {}

    def fill(self) -> None:
        first: dict[int, int] = {}
        for value, leaf in zip(self.values, self.out, strict=True):
            if type(value) is Tracer and not value.scalar and value.parent is None:
                assert leaf.outvar is not None
                self.bases.setdefault(id(value.buffer), leaf.outvar)
        for i, (value, leaf) in enumerate(zip(self.values, self.out, strict=True)):
            if type(value) is not Tracer:
                continue
            if value.scalar:
                self.out[i] = self.typed(leaf, value)
            elif id(value) in first:
                self.out[i] = replace(leaf, same_as=first[id(value)])
            else:
                first[id(value)] = i
                self.out[i] = self.perhaps_another(i, value, self.place(leaf, value.buffer, chain(value)))
        if not self.trace.strict:
            self.lay_out()
        for i, (value, leaf) in enumerate(zip(self.values, self.out, strict=True)):
            if type(value) is Tracer and not value.scalar and not (value.writeable and value.buffer.writeable):
                self.out[i] = self.protected(leaf)

    def typed(self, leaf: OutLeaf, value: Tracer) -> OutLeaf:
        """`leaf`, a number, with whose type it has."""
        mixed, python = value.buffer.mixed, value.buffer.python
        leaf = replace(leaf, kind="python" if value.aval.weak_type else "scalar")
        if not mixed or python is None:
            return leaf
        return replace(leaf, value=mixed, code=self.collector.add(lift(python).current), options=(leaf,))

    @staticmethod
    def protected(leaf: OutLeaf) -> OutLeaf:
        """`leaf`, read-only. Views of inputs are so by themselves."""
        if leaf.base_input is not None or leaf.same_as is not None or leaf.code is not None:
            return leaf
        base = leaf.outvar if leaf.base_outvar is None else leaf.base_outvar
        return replace(leaf, base_outvar=base, views=(*leaf.views, ReadOnly()))

    def lay_out(self) -> None:
        """Let what the program computes anew lie in memory as NumPy's arrays do: the program's result is the array with
        its axes in the order of memory, and the leaf a view of it with its axes in their own order."""
        undecided = {k for leaf in self.out for k in _optional(leaf)}
        placed: dict[int, tuple[ViewOp, ...]] = {}
        for i, (value, leaf) in enumerate(zip(self.values, self.out, strict=True)):
            is_own = leaf.kind == "array" and leaf.same_as is None and leaf.code is None and leaf.base_input is None
            if type(value) is not Tracer or not is_own or leaf.outvar is None:
                continue
            shared = leaf.base_outvar is not None
            k = leaf.outvar if leaf.base_outvar is None else leaf.base_outvar
            if k not in placed:
                atom = self.collector.atoms[k]
                order = memory_order(atom.aval.shape, value.buffer.strides if shared else value._strides)
                if order is None or k in undecided:
                    placed[k] = ()
                    continue
                (var,) = self.trace.record(REGISTRY["transpose"], (atom,), {"permutation": order})
                var.hint = result_hint(atom)
                self.collector.atoms[k] = var
                placed[k] = (Transpose(tuple(int(axis) for axis in np.argsort(order))),)
            if placed[k]:
                self.out[i] = replace(leaf, base_outvar=k, views=(*placed[k], *leaf.views))

    def place(self, leaf: OutLeaf, buffer: Buffer, views: tuple[ViewOp, ...]) -> OutLeaf:
        """`leaf`, which is `views` of `buffer`, with its place."""
        key = id(buffer)
        if not all(self.is_told(view) for view in views):
            if key in self.input_index or self.shared.get(key, 0) > 1:
                raise unsupported(
                    "a view of an array, taken at an index that a traced branch computes",
                    verb="returns",
                    fixes=("return a copy of it",),
                )
            return leaf
        if key in self.input_index:
            return replace(leaf, base_input=self.input_index[key], views=self.told(views))
        if self.matters(buffer):
            aliases = buffer.aliases
            assert aliases is not None
            if aliases.code is None:
                raise unsupported(
                    "an array of which a traced loop decides whether it is another one",
                    verb="returns",
                    fixes=("return a copy of it",),
                )
            plain = self._one_of(leaf, buffer, views)
            options = [
                plain if a.root is None else self.place(leaf, a.root.buffer, (*a.views, *views))
                for a in aliases.alternatives
            ]  # fmt: skip
            if any(option is not plain for option in options):
                return replace(leaf, code=self.collector.add(aliases.code.current), options=tuple(options))
        return self._one_of(leaf, buffer, views)

    def perhaps_another(self, i: int, value: Tracer, leaf: OutLeaf) -> OutLeaf:
        """`leaf`, result number `i`, or an earlier result, as a loop tells at its end."""
        for other, same in value.buffer.perhaps:
            earlier = (j for j, v in enumerate(self.values[:i]) if type(v) is Tracer and v.buffer is other.buffer)
            for j in earlier:
                if value.parent is not None or self.values[j].parent is not None:
                    raise unsupported("a view of an array that may be another result", verb="returns")
                code = self.collector.add(same.current)
                leaf = replace(leaf, code=code, options=(leaf, replace(leaf, same_as=j, code=None, options=())))
        return leaf

    def matters(self, buffer: Buffer) -> bool:
        """Whether an array over `buffer` may be an input, or another result."""
        from_outside = any(
            id(root.buffer) in self.input_index or self.shared[id(root.buffer)] > 1 for root in given_roots(buffer)
        )
        # What is from outside is told by number, and memory that an iteration makes is another one in the next.
        mine = set(map(id, own_memory(buffer, under_two_names=from_outside)))
        others = [v.buffer for v in self.arrays if v.buffer is not buffer]
        told = {id(other.buffer) for other, _ in buffer.perhaps}
        if any(not mine.isdisjoint(map(id, own_memory(other))) for other in others if id(other) not in told):
            raise build(
                UnsupportedOperationError,
                "{line} returns two arrays that may share memory: a traced branch or loop decides whether they do.",
                "two results share memory, or not, as a traced condition decides",
                fixes=("return a copy of one of them",),
            )
        return from_outside

    def _one_of(self, leaf: OutLeaf, buffer: Buffer, views: tuple[ViewOp, ...]) -> OutLeaf:
        """`leaf` in memory that the program made."""
        key = id(buffer)
        if self.shared.get(key, 0) < 2 and not any(getattr(view, "repeats_elements", False) for view in views):
            return leaf
        if key not in self.bases:
            self.bases[key] = self.collector.add(buffer.value)
        return replace(leaf, base_outvar=self.bases[key], views=self.told(views))

    def is_told(self, view: ViewOp) -> bool:
        """Whether it can be taken of what the program returns."""
        if isinstance(view, TakeView):  # not by a number of a branch or loop
            return all(index.buffer.trace is self.trace for index in view.indices)
        return getattr(view, "applies", False)

    def told(self, views: Sequence[ViewOp]) -> tuple[ViewOp | Picked, ...]:
        """`views`, for whose indices the program returns what it computes."""
        found: list[ViewOp | Picked] = []
        for view in views:
            if isinstance(view, TakeView):
                indices = tuple(self.collector.add(index.current) for index in view.indices)
                found.append(Picked(view.axes, indices, getattr(view, "length", None)))
            else:
                found.append(view)
        return tuple(found)


def _check_known(leaves: Sequence[Any]) -> None:
    """Arrays of known numbers become constants, each of its own: those that share memory are left to NumPy."""
    known = list({id(x): x for x in leaves if type(x) is not Tracer and isinstance(x, np.ndarray)}.values())
    for i, x in enumerate(known):
        if any(np.may_share_memory(x, other) for other in known[:i]):
            raise unsupported("two arrays of known numbers that share memory", verb="returns",
                              fixes=("return a copy of one of them",))  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Outside:
    """A result that is an object from outside. read: how to get at it when the program returns."""

    read: Callable[[], Any]


def _is_whole(lifter: Lifter, value: Any) -> bool:
    """Whether the result does not say what is inside: choices, and containers from outside."""
    if type(value) is Choice:
        return True
    return isinstance(value, list | tuple | dict | set | deque) and id(value) in lifter.originals


def _holds_constants(value: Any) -> bool:
    """Whether it is a set or counter with nothing in it that is traced."""
    if isinstance(value, Counter):
        return type(value) is Counter and all(map(is_constant, value.values()))
    return type(value) is set and all(map(is_constant, value))


def _output_value(trace: Trace, lifter: Lifter, value: Any) -> Any:
    """A leaf as a tracer, an object from outside, or a static value that every call may return."""
    if type(value) is Choice and UNDEFINED in value.kinds and not value.stays_unbound:  # what is returned is bound
        value = value.settled()
        if type(value) is tuple:
            raise unsupported("a tuple that only some paths bind", verb="returns")
    if type(value) is Tracer:
        from .numpy_api.promotion import check_not_mixed

        if not is_told_int(value):
            check_not_mixed(value)
        return lift(value)
    if type(value) in (Choice, CountedList, CountedArray):
        return value
    if issubclass(type(value), Deferred) and id(value) not in lifter.originals:
        raise value.error()
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufc":
            raise TracingError(f"an array of dtype {value.dtype} is returned", code="WB121")
        return lift(value)
    if isinstance(value, CONSTANT_TYPES) or isinstance(value, Repeat):
        return value
    if id(value) in lifter.originals:
        read = lifter.read_of(value)
        return lifter.originals[id(value)][1] if read is None else _Outside(read)
    if _holds_constants(value):
        return _Outside(partial(copy.copy, copy.copy(value)))  # a new one at every call
    if isinstance(value, types.ModuleType | types.BuiltinFunctionType | np.ufunc):
        return value
    if isinstance(value, types.FunctionType | types.MethodType | type):
        return unlift_function(lifter, value)
    if is_imported(value):
        return value
    kind = type(value)
    raise TracingError(
        f"WB122  The code returns an object of {kind.__module__}.{kind.__qualname__}, which cannot be rebuilt at every "
        f"call.\n   Fix  return arrays, numbers, and lists, tuples or dicts of them\n"
        f"   TracingError WB122: a {kind.__name__} is returned",
        code="WB122",
        value=kind.__name__,
        fixes=("return arrays, numbers, and lists, tuples or dicts of them",),
    )


def result_hint(atom: Atom) -> str:
    return atom.hint if isinstance(atom, Var) else ""
