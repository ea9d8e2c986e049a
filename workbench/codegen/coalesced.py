"""Coalesced axes: a short axis that a kernel leaves whole, counted as one with the axis before it.

The colours of a picture, the coordinates of points, the levels of a grid make loops of 3 or 10 iterations, most of each
a remainder of a vector. Where no equation tells their elements apart, `x[:, 1:]` of an array of (100, 100, 3) is
`x[:, 3:]` of one of (100, 300), which, in C order, is the same memory. The short axis keeps its place with a length of
1, so that equations keep their ranks and index maps their rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..fusion.access import is_reduction, is_scan, reduced_axes
from ..fusion.cost import LEAST_PIECES
from ..fusion.plan import Cluster, Space
from ..ir import Aval, Equation, Var
from ..primitives.lowering import Pointwise

# Bytes of the last axis from which on its loops are long enough.
LONG_ROW = 512
# Where conditions change along the axis before the last one, beyond which they are rather asked outside of a loop.
MOST_PLACES = 6

Pair = tuple[int, int]  # the axes of a variable that become one: the first takes the length of both


@dataclass(frozen=True, slots=True)
class Coalesced:
    """A cluster with fewer axes to loop over. originals: its variables as they were; spans: of each variable that has
    such axes, the first and the last that are one; n_joined: the steps of the first loop for one that there was."""

    cluster: Cluster
    originals: Mapping[Var, Var]
    spans: Mapping[Var, Pair]
    n_joined: int

    def original(self, var: Var) -> Var:
        return self.originals.get(var, var)


def coalesce(cluster: Cluster, layouts: Mapping[Var, str], takes: Mapping[Var, Var]) -> Coalesced | None:
    """The same kernel with its short last axes as one with those before them; None where there is no such axis.
    layouts, takes: as for `lower_cluster`."""
    strided = _strided(cluster, layouts, takes)
    found: Coalesced | None = None
    while (following := _join_last(cluster, found, strided, takes)) is not None:
        found, cluster = following, following.cluster
    return found


def coalesce_rows(
    cluster: Cluster, looped: Sequence[int], layouts: Mapping[Var, str], takes: Mapping[Var, Var]
) -> Coalesced | None:
    """The same kernel with the loops over its rows as one, where the last of these axes, `looped`, is short: a grid of
    30 by 30 points has 900 rows side by side. None where it is not, or the rows are told apart."""
    strided = _strided(cluster, layouts, takes)
    found: Coalesced | None = None
    for first, last in zip(reversed(looped[:-1]), reversed(looped[1:]), strict=True):
        following = _join(cluster, found, first, last, strided, takes)
        if following is None:
            break
        found, cluster = following, following.cluster
    return found


def _strided(cluster: Cluster, layouts: Mapping[Var, str], takes: Mapping[Var, Var]) -> set[Var]:
    bases = (*takes.values(), *cluster.stores.values())
    return {var for var in (*cluster.invars, *bases) if layouts.get(var, "C") != "C"}


class _ToldApartError(Exception):
    """An equation treats elements along the last axis differently, or some of its operands have no such axis."""


def _join_last(
    cluster: Cluster, before: Coalesced | None, strided: set[Var], takes: Mapping[Var, Var]
) -> Coalesced | None:
    space = cluster.space
    real = [axis for axis, length in enumerate(space.shape) if length != 1]
    is_whole = space.reduced.issuperset(real)  # or what is folded is told apart from what is not
    if (space.reduced and not is_whole) or cluster.stacks or len(real) < 2 or any(map(is_scan, cluster.eqns)):
        return None
    first, last = real[-2:]
    return _join(cluster, before, first, last, strided, takes)


def _join(
    cluster: Cluster, before: Coalesced | None, first: int, last: int, strided: set[Var], takes: Mapping[Var, Var]
) -> Coalesced | None:
    """A cluster with the loop axes `first` and `last` as one."""
    space = cluster.space
    n = space.shape[last]
    if not 1 < n * max(out.aval.dtype.itemsize for out in cluster.outvars) <= LONG_ROW:
        return None
    try:
        join = _Join(cluster, first, last)
    except _ToldApartError:
        return None
    known = before.originals if before is not None else {}
    pairs = {known.get(var, var): pair for var, pair in join.pairs.items() if pair is not None}
    if not strided.isdisjoint(pairs):
        return None
    if any(pairs.get(out) != pairs.get(base) or out.aval.shape != base.aval.shape for out, base in takes.items()):
        return None
    length = n * space.shape[first]
    if len(join.places) > MOST_PLACES or join.places and length < LEAST_PIECES:
        return None
    originals = {**known, **{new: known.get(old, old) for old, new in join.new.items()}}
    spans = dict(before.spans) if before is not None else {}
    spans |= {join.new[v]: (d, max(e, spans.get(v, (e, e))[1])) for v, (d, e) in join.marked}
    is_first = all(length == 1 for length in space.shape[:first])
    return Coalesced(join.cluster(), originals, spans, n if is_first else 1)


class _Join:
    """Finds the two axes in every variable, from the results on, and writes the equations anew. places: where along
    the first of them conditions change."""

    def __init__(self, cluster: Cluster, first: int, last: int):
        self.old = cluster
        self.axes = first, last
        self.n = cluster.space.shape[last]
        self.pairs: dict[Var, Pair | None] = {}
        self.places: set[int] = set()
        params: dict[Equation, Mapping[str, Any]] = {}
        for out in cluster.outvars:
            self._mark(out, self._aligned(cluster.space.align[out]))
        for eqn in reversed(cluster.eqns):
            marks = {self.pairs[out] for out in eqn.outvars if out in self.pairs}
            if len(marks) != 1:
                raise _ToldApartError
            (pair,) = marks
            params[eqn] = eqn.params if pair is None else self._operands(eqn, pair)
            if pair is None:
                axes = cluster.space.loops.get(eqn)
                self._mark_all(eqn, None if axes is None else self._aligned(axes))
        self.params = params
        self.new = {var: self._renewed(var, pair) for var, pair in self.marked}

    def _aligned(self, axes: Sequence[int | None]) -> Pair | None:
        """The two axes of what has these loop axes; None where it has neither, as a total that both are folded to."""
        has_first, has_last = (axis in axes for axis in self.axes)
        if has_first != has_last:
            raise _ToldApartError
        return (axes.index(self.axes[0]), axes.index(self.axes[1])) if has_first else None

    @property
    def marked(self) -> list[tuple[Var, Pair]]:
        return [(var, pair) for var, pair in self.pairs.items() if pair is not None]

    def _mark(self, var: Any, pair: Pair | None) -> None:
        if not isinstance(var, Var):
            return
        if pair is not None:
            d, e = pair
            between = var.aval.shape[d + 1 : e]
            if not d < e or var.aval.shape[e] != self.n or any(length != 1 for length in between):
                raise _ToldApartError
        if self.pairs.setdefault(var, pair) != pair:
            raise _ToldApartError

    def _mark_all(self, eqn: Equation, pair: Pair | None) -> None:
        for atom in eqn.invars:
            self._mark(atom, pair)

    def _operands(self, eqn: Equation, pair: Pair) -> Mapping[str, Any]:
        """Mark what the equation reads, and give it its new params. Its result has the axes `pair`."""
        params, (d, e), n = eqn.params, pair, self.n
        shape = eqn.outvars[0].aval.shape
        if isinstance(eqn.primitive.lowering, Pointwise):
            for atom in eqn.invars:
                self._mark(atom, pair if atom.aval.shape else None)
            if "shape" in params:
                raise _ToldApartError
            return params
        if is_reduction(eqn):
            reduced = reduced_axes(eqn)
            kept = [axis for axis in range(eqn.invars[0].aval.ndim) if axis not in reduced]
            self._mark_all(eqn, (kept[d], kept[e]))
            return params
        match eqn.primitive.name:
            case "slice":
                starts, limits = list(params["start_indices"]), list(params["limit_indices"])
                strides = params.get("strides") or (1,) * len(starts)
                self._demand((starts[e], strides[d], strides[e]) == (0, 1, 1))
                self._mark_all(eqn, pair)
                starts[d], limits[d], limits[e] = starts[d] * n, limits[d] * n, 1
                return {**params, "start_indices": tuple(starts), "limit_indices": tuple(limits)}
            case "update_slice":
                starts = list(params["start_indices"])
                strides = params.get("strides") or (1,) * len(starts)
                self._demand((starts[e], strides[d], strides[e]) == (0, 1, 1))
                self._mark_all(eqn, pair)
                self._changes_at(starts[d], starts[d] + eqn.invars[1].aval.shape[d], length=shape[d])
                starts[d] *= n
                return {**params, "start_indices": tuple(starts)}
            case "pad":
                config = list(params["padding_config"])
                low, high, interior = config[d]
                self._demand(config[e] == (0, 0, 0) and not interior)
                self._mark(eqn.invars[0], pair)
                self._mark(eqn.invars[1], None)
                self._changes_at(low, shape[d] - high, length=shape[d])
                config[d] = (low * n, high * n, 0)
                return {**params, "padding_config": tuple(config)}
            case "concatenate":
                self._demand(params["dimension"] != e)
                self._mark_all(eqn, pair)
                end = 0
                for atom in eqn.invars if params["dimension"] == d else ():
                    end += atom.aval.shape[d]
                    self._changes_at(end, length=shape[d])
                return params
            case "rev":
                self._demand(d not in params["dimensions"] and e not in params["dimensions"])
                self._mark_all(eqn, pair)
                return params
            case "transpose":
                permutation = params["permutation"]
                self._mark_all(eqn, (permutation[d], permutation[e]))
                return params
            case "squeeze":
                kept = [axis for axis in range(eqn.invars[0].aval.ndim) if axis not in params["dimensions"]]
                self._mark_all(eqn, (kept[d], kept[e]))
                return params
            case "broadcast_in_dim":
                self._mark_all(eqn, self._broadcast_pair(eqn, pair))
                return {**params, "shape": self._joined(shape, pair)}
            case "iota":
                self._demand(params["dimension"] not in pair)
                return {**params, "shape": self._joined(shape, pair)}
        raise _ToldApartError

    def _broadcast_pair(self, eqn: Equation, pair: Pair) -> Pair | None:
        """Where the axes come from: the operand has both, or what there is of them is repeated."""
        operand, axes = eqn.invars[0].aval, eqn.params["broadcast_dimensions"]
        sources = [axes.index(axis) if axis in axes else None for axis in pair]
        d, e = (None if s is None or operand.shape[s] == 1 else s for s in sources)
        self._demand((d is None) == (e is None))
        return None if d is None or e is None else (d, e)

    def _demand(self, holds: bool) -> None:
        if not holds:
            raise _ToldApartError

    def _changes_at(self, *places: int, length: int) -> None:
        self.places.update(place for place in places if 0 < place < length)

    def _joined(self, shape: tuple[int, ...], pair: Pair) -> tuple[int, ...]:
        d, e = pair
        lengths = list(shape)
        lengths[d], lengths[e] = lengths[d] * lengths[e], 1
        return tuple(lengths)

    def _renewed(self, var: Var, pair: Pair) -> Var:
        aval = var.aval
        return type(var)(Aval(self._joined(aval.shape, pair), aval.dtype, aval.weak_type), var.hint)

    def cluster(self) -> Cluster:
        old, new = self.old, self.new

        def renewed(variables: Any) -> tuple:
            return tuple(new.get(each, each) for each in variables)

        eqns = {
            e: replace(e, invars=renewed(e.invars), outvars=renewed(e.outvars), params=self.params[e]) for e in old.eqns
        }
        align = {new.get(var, var): axes for var, axes in old.space.align.items()}
        loops = {eqns[eqn]: axes for eqn, axes in old.space.loops.items()}
        space = Space(self._joined(old.space.shape, self.axes), old.space.reduced, align, loops)
        stores = {new.get(out, out): new.get(base, base) for out, base in old.stores.items()}
        invars, outvars = renewed(old.invars), renewed(old.outvars)
        return Cluster(old.id, tuple(eqns.values()), invars, outvars, space, old.scope, stores)
