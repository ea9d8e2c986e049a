"""The traced body of a loop: what it carries, before an iteration and after it."""

from __future__ import annotations

import math
from typing import Any

import optree

from ..ir import Jaxpr
from .growing import Growth
from .merging import UNDEFINED
from .places import LoopPlaces
from .row_arrays import is_from_around
from .tracer import Tracer
from .variables import Variables


class TracedBody:
    """A traced body. start, final: the carried variables' values before and after, as (tree, leaves); keys, first: the
    leaves that change, and their values before the loop; inputs: what stands for them in the region."""

    def __init__(self, start: dict, keys: list[tuple[str, int]], first: dict[tuple[str, int], Tracer]):
        self.start = start
        self.keys = keys
        self.first = first
        self.final: dict[str, tuple[Any, list[Any]]] = {}
        self.inputs: dict[tuple[str, int], Tracer] = {}
        self.item: Tracer | None = None
        self.target: Any = None
        self.region: Any = None
        self.watched: Any = None
        self.growth = Growth({})
        self.places = LoopPlaces({}, first, lambda key: None)
        self.stay: frozenset[str] = frozenset()  # names of lists and dicts that the body leaves as they are
        self.joins = False  # gives one array two names
        self.needs_a_turn = False  # where no iteration would leave a list or dict to which something else refers

    def is_worth_an_equation(self, n: int, max_eqns: int) -> bool:
        """Whether the body computes with traced values, and `n` of it would be more equations than `max_eqns`."""
        carried = (leaf for _, leaves in self.start.values() for leaf in leaves)
        touches = bool(self.region.captured) or any(type(leaf) is Tracer for leaf in carried)
        return touches and n * len(self.region.record.eqns) > max_eqns

    def twins(self) -> dict[tuple[str, int], tuple[str, int]]:
        """Leaves that are the same array as another one before an iteration and after it, by which they are it, too."""
        found: dict[tuple[str, int], tuple[str, int]] = {}
        seen: dict[tuple[int, int], tuple[str, int]] = {}
        for key in self.keys:
            before, after = self.first[key], self.region.leaf(self.final[key[0]][1][key[1]])
            if before.scalar or before.parent is not None or after.parent is not None:
                continue
            one = seen.setdefault((id(before.buffer), id(after.buffer)), key)
            if one != key:
                found[key] = one
        return found

    def finals(self) -> dict[tuple[str, int], Tracer]:
        """What an iteration leaves in what it carries."""
        return {(name, k): self.region.leaf(self.final[name][1][k]) for name, k in self.keys}

    def outer_finals(self) -> dict[tuple[str, int], Any]:
        """Of these, the arrays from outside, as the user's code has them."""
        found = {(name, k): self.final[name][1][k] for name, k in self.keys}
        return {key: x for key, x in found.items() if is_from_around(x, self.region.record)}

    def holds_loops(self) -> bool:
        """Whether the body holds loops that are equations: with a known index these may be too short to be so again."""
        eqns = self.region.record.eqns
        return any(isinstance(value, Jaxpr) for eqn in eqns for value in eqn.params.values())


def order_of(prepared: TracedBody) -> int:
    """After how many iterations the arrays that the body exchanges are in their places again; 0 if it does not."""
    old = {(name, k): leaf for name, (_, leaves) in prepared.start.items() for k, leaf in enumerate(leaves)}
    place = {id(leaf): key for key, leaf in old.items() if type(leaf) is Tracer and not leaf.scalar}
    goes: dict[tuple[str, int], tuple[str, int]] = {}
    for name, (_, leaves) in prepared.final.items():
        for k, leaf in enumerate(leaves):
            if (name, k) in old and id(old[name, k]) in place and leaf is not old[name, k]:
                if id(leaf) not in place:
                    continue
                goes[name, k] = place[id(leaf)]
    if not goes or set(goes) != set(goes.values()):
        return 0
    order = 1
    for key in goes:
        length, at = 1, goes[key]
        while at != key:
            length, at = length + 1, goes[at]
        order = math.lcm(order, length)
    return order


def flat(value: Any) -> tuple[Any, list[Any]]:
    leaves, tree = optree.tree_flatten(value, none_is_leaf=True)
    return tree, leaves


def is_unbound(leaves: list[Any]) -> bool:
    return len(leaves) == 1 and leaves[0] is UNDEFINED


def joins(body: TracedBody, variables: Variables) -> bool:
    """Whether the body, which has just run, gives an array a second name, as `x = new` does, that was no name of it
    before, and both may be results: they are not two arrays after any iteration, but before the first one."""
    names: dict[int, list[str]] = {}
    for name in body.start:
        value = variables.get(name)
        if type(value) is Tracer and not value.scalar and value.parent is None:
            names.setdefault(id(value.buffer), []).append(name)
    for joined in names.values():
        begins = [body.start[name][1] for name in joined]
        arrays = {id(leaf.buffer) if type(leaf) is Tracer else 0 for leaves in begins for leaf in leaves}
        is_kept = any(map(is_unbound, begins)) or not variables.cells.keys() & {*joined}
        if len(arrays) > 1 and is_kept:
            return True
    return False
