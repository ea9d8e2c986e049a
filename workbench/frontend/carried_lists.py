"""Lists, dicts and objects that a loop carries: in each iteration they are new ones, which hold what the last one left.

So something else that refers to one, or to what it was before the loop, must not be able to tell: an iteration changes
none of these, and leaves each name another list or dict than every other name.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Collection, Iterable, Set
from typing import Any

from . import carried_objects
from .held import UNDEFINED
from .merging import described, disagree, held_elsewhere
from .references import is_container, items_of, key_orders, mutables
from .tracer import require_trace
from .variables import Variables


class CarriedLists:
    """What the carried variables hold when a body begins. alone: the names of those to which nothing else referred
    before the loop.

    stay: the names whose list or dict is the same at the end, with the same content; needs_a_turn: whether a variable
    gets another one than what it held, to which something else refers: where no iteration runs, it still holds that.
    """

    def __init__(self, variables: Variables, names: Iterable[str], alone: Set[str]):
        self.variables = variables
        self.alone = alone
        self.stay: frozenset[str] = frozenset()
        self.needs_a_turn = False
        self.names = [*names]
        self.begins = {name: value for name in self.names if is_container(value := variables.own(name))}
        self.contents = [
            (name, value, _copied(value)) for name, begin in self.begins.items() for value in mutables(begin)
        ]
        trace = require_trace()
        trace.references = variables.own_references(self.names)
        if not self.begins:
            return
        # What refers to them here does not count; what is known elsewhere before the loop is so in its iterations.
        known = Counter(map(id, self.begins.values()))
        for _, value, content in self.contents:
            known.update([id(value), *(id(item) for item in items_of(content) if is_container(item))])
        for name in self.begins.keys() - alone:
            known.subtract([id(self.begins[name]), *(id(value) for value in mutables(self.begins[name]))])
        trace.references = {**trace.references, **known}

    def check(self, dead: Iterable[str], appended: Collection[int]) -> None:
        """UnstableLoopError where something could tell. dead: names that are not read any more; appended: the ids of
        what is in lists to which the loop appends, whose names are linked to the items."""
        variables = self.variables
        changed = {name for name, value, content in self.contents if not _is_same(value, content)}
        for name in sorted(changed - self.alone):
            raise held_elsewhere(name, self.begins[name])
        for name in dead:
            if is_container(variables.own(name)):
                variables.set(name, UNDEFINED)
        ends = {name: id(variables.own(name)) for name in self.names if is_container(variables.own(name))}
        stay = {name for name, begin in self.begins.items() if ends.get(name) == id(begin)}
        self.stay = frozenset(stay - changed)
        self.needs_a_turn = not self.begins.keys() <= stay | self.alone
        new = [name for name in ends if name not in stay and (name in changed or ends[name] not in appended)]
        for name in self.begins.keys() & ends.keys():
            if key_orders(self.begins[name]) != key_orders(variables.get(name)):
                raise disagree(name, *map(described, (self.begins[name], variables.get(name))))
        for name in sorted(variables.held_elsewhere(new, [None], lambda x: False, ends=False)):
            raise held_elsewhere(name, variables.get(name))


def _copied(value: Any) -> Any:
    return carried_objects.copied(value) if carried_objects.is_carried(value) else copy.copy(value)


def _is_same(value: Any, content: Any) -> bool:
    if isinstance(value, dict) and [*value] != [*content]:
        return False
    items, before = items_of(value), items_of(content)
    return len(items) == len(before) and all(a is b for a, b in zip(items, before, strict=True))
