"""Which arrays the rows are that a loop appends to lists: in NumPy, an item is the very array that was appended.

    for k in range(n):           path[0] is what x was before the loop,
        path.append(x)           path[k] is what iteration k - 1 gave x,
        x = step(x)              and no item is what x is afterwards

A traced loop stacks the rows, and carries `x` apart from them. Here the rows that are one array become one tracer, and
rows that are arrays besides the lists are noted: where both are results, they become one object again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from .aliases import given_roots
from .recording import Trace
from .tracer import Tracer
from .views import Slice, TakeView, make_view


@dataclass(frozen=True, slots=True)
class Carried:
    """An array that a loop carries. start: the object before the loop; input, final: in its body, before an iteration
    and after it; out: after the loop; outer: what the body leaves is this object from outside."""

    start: Any
    input: Tracer
    final: Tracer
    out: Tracer
    outer: Any = None


def with_arrays_once(
    columns: Sequence[list[Tracer]], leaves: Sequence[Tracer], carried: Sequence[Carried], outer: Sequence[Any]
) -> list[list[Tracer]]:  # fmt: skip
    """`columns`, the rows of each appended leaf of an iteration, in which what is one array is one tracer.

    outer: for each leaf, the object from outside that it is, None where it is none.
    """
    arrays = [j for j, leaf in enumerate(leaves) if not leaf.scalar]
    rows = _Rows(columns, leaves, carried, outer)
    for k in range(len(columns[0]) if arrays else 0):
        for j in arrays:
            rows.add(j, k)
    if arrays:
        rows.unite()
        rows.note_results(len(columns[0]))
    return rows.columns


@dataclass(frozen=True, slots=True)
class _Member:
    """The row of leaf `j` from iteration `k`: `views` of an array."""

    j: int
    k: int
    views: tuple[Tracer, ...]


class _Rows:
    """The rows, by which array they are: one from before the loop, or the one that an iteration has made in a buffer of
    its body."""

    def __init__(
        self, columns: Sequence[list[Tracer]], leaves: Sequence[Tracer], carried: Sequence[Carried],
        outer: Sequence[Any],
    ):  # fmt: skip
        self.outer = outer
        self.columns = list(columns)
        self.leaves = leaves
        self.carried = carried
        self.inputs = {id(each.input.buffer): each for each in carried}
        self.members: dict[Any, list[_Member]] = {}
        self.starts: dict[Any, Any] = {}

    def add(self, j: int, k: int) -> None:
        if self.outer[j] is not None:
            array, views = self._before(self.outer[j]), ()
        else:
            array, views = self._array(self.leaves[j], k)
        self.members.setdefault(array, []).append(_Member(j, k, views))

    def _array(self, x: Tracer, k: int) -> tuple[Any, tuple[Tracer, ...]]:
        """Which array `x`, of the body, is in iteration `k`, or which views of it."""
        views = views_of(x)
        carried = self.inputs.get(id(x.buffer))
        while carried is not None:
            k -= 1
            if k < 0:
                return self._before(carried.start), views
            if carried.outer is not None:
                return self._before(carried.outer), views
            x = carried.final
            views = (*views_of(x), *views)
            carried = self.inputs.get(id(x.buffer))
        return (k, id(x.buffer)), views

    def _before(self, array: Any) -> Any:
        """The key of an array that is older than the loop."""
        key = ("before", id(array))
        if key not in self.starts and type(array) is Tracer:
            buffers = [x.buffer for x in self.starts.values() if type(x) is Tracer]
            if any(buffer is array.buffer for buffer in buffers):  # rows are then both, and share memory
                array.buffer.trace.shown_in_rows.add(id(array.buffer))
        self.starts[key] = array
        return key

    def unite(self) -> None:
        """Let the rows that are one array be one tracer, or views of one."""
        for array, members in self.members.items():
            if len(members) > 1:
                whole = next((each for each in members if not each.views), None)
                firsts: list[_Member] = [] if whole is None else [whole]
                for each in members:
                    if each is not whole:
                        self._unite(each, firsts, whole)
            if array in self.starts:
                for each in members:
                    self._note(self.columns[each.j][each.k], replayed(each.views, self.starts[array]))

    def _unite(self, member: _Member, firsts: list[_Member], whole: _Member | None) -> None:
        """firsts: members that are not one another."""
        for first in firsts:
            row = self.columns[first.j][first.k]
            if _ops(first.views) == _ops(member.views):
                same = not first.views or first.k == member.k and self.leaves[first.j] is self.leaves[member.j]
                self.columns[member.j][member.k] = row if same else _anew(row)
                return
            if first is whole and (view := replayed(member.views, row)) is not None:
                self.columns[member.j][member.k] = view
                return
            if first is whole or not are_apart(member.views, first.views):
                for each in (first, member):
                    self._leave_untold(each)
        firsts.append(member)

    def note_results(self, n: int) -> None:
        """Note which rows are arrays that the loop leaves."""
        for each in self.carried:
            array, views = self._array(each.input, n)
            for member in self.members.get(array, ()) if array not in self.starts else ():
                row = self.columns[member.j][member.k]
                if not views:
                    self._note(row, replayed(member.views, each.out))
                elif _ops(views) == _ops(member.views):
                    self._note(row, each.out)
                elif not member.views:
                    self._note(each.out, replayed(views, row))
                elif not are_apart(views, member.views):
                    self._leave_untold(member)

    @staticmethod
    def _note(row: Tracer, array: Any) -> None:
        trace: Trace = row.buffer.trace
        if array is None:
            trace.untold_rows.add(id(row.buffer))
        else:
            trace.row_arrays.setdefault(id(row), (row, []))[1].append(array)

    def _leave_untold(self, member: _Member) -> None:
        buffer = self.columns[member.j][member.k].buffer
        buffer.trace.untold_rows.add(id(buffer))


def is_from_around(x: Any, trace: Trace) -> bool:
    """Whether it is an array, of known numbers or from a trace around this one."""
    return x.buffer.trace is not trace and not x.scalar if type(x) is Tracer else isinstance(x, np.ndarray)


# ---- views ----


def views_of(x: Tracer, of: Tracer | None = None) -> tuple[Tracer, ...]:
    """The views that lead from `of`, or from the whole buffer, to `x`, the last of which it is."""
    found: list[Tracer] = []
    while x is not of and x.parent is not None:
        found.append(x)
        x = x.parent
    return tuple(reversed(found))


def _anew(x: Tracer) -> Tracer:
    """Another view of all of `x`."""
    whole = Slice((0,) * x.ndim, x.shape, (1,) * x.ndim)
    return make_view(x, whole, x.shape, x.strides, lazy=True)


def _ops(views: Sequence[Tracer]) -> tuple[Any, ...]:
    return tuple(view.op for view in views)


def are_apart(a: Sequence[Tracer], b: Sequence[Tracer]) -> bool:
    """Whether two views of an array have no element in common, as far as that is known."""
    views = (*a, *b)
    if not a or not b or not all(getattr(view.op, "applies", False) for view in views):
        return False
    parent = a[0].parent
    assert parent is not None
    found, whole = [], np.empty(parent.shape, np.bool_)
    for each in (a, b):
        array = whole
        for view in each:
            assert view.op is not None
            array = view.op.apply(array)
        found.append(array)
    return not np.may_share_memory(*found, max_work=10_000)  # type: ignore[arg-type]


def replayed(views: Sequence[Tracer], root: Any) -> Any:
    """These views of another array; None where the program computes at what one is taken."""
    if any(isinstance(view.op, TakeView) or not getattr(view.op, "applies", False) for view in views):
        return None
    for view in views:
        assert view.op is not None
        if type(root) is Tracer:
            root = make_view(root, view.op, view.shape, view.strides, dtype=view.dtype, lazy=True)
        else:
            root = view.op.apply(root)
    return root


# ---- when the program returns ----


def memory_of(value: Any) -> Iterator[int]:
    """The ids of the memory that an array may be in: buffers, or an array of known numbers."""
    if type(value) is Tracer and not value.scalar:
        yield id(value.buffer)
        yield from (id(root.buffer) for root in given_roots(value.buffer))
    elif isinstance(value, np.ndarray) and type(value) is not Tracer:
        yield id(value)


def array_of(row: Any, seen: Set[int]) -> Any:
    """What a row is besides the lists, if that is in the memory `seen`; None elsewhere."""
    if type(row) is not Tracer:
        return None
    _, arrays = row.buffer.trace.row_arrays.get(id(row), (row, ()))
    return next((each for each in arrays if not seen.isdisjoint(memory_of(each))), None)


def array_elsewhere(x: Any, seen: Set[int]) -> Any:
    """`x`, or what it is of an array in the memory `seen` if it is a row, or a view of one."""
    node = x
    while type(node) is Tracer:
        array = array_of(node, seen)
        if array is not None:
            return replayed(views_of(x, node), array)
        node = node.parent
    return x
