"""The variables that the bodies of converted control flow share with the function, or cell, around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import CellType, FunctionType
from typing import Any

from .held import UNDEFINED, HeldValue
from .overlay import ABSENT, HiddenNameError, Overlay
from .reads import held_in
from .references import ALONE, count, is_alone, is_container, is_mutable, own_cells
from .tracer import require_trace
from .watching import Watched, assigned_globals


class Variables:
    """The variables that bodies share, by name."""

    def __init__(self, *functions: FunctionType, dead: Iterable[str] = ()):
        """dead: the names that are not read after what the functions do."""
        self.dead = frozenset(dead)
        self.cells: dict[str, CellType] = {}
        for function in functions:
            self.cells.update(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        self.space: Any = functions[0].__globals__
        self.extra: dict[str, Any] = {}  # what is no variable of the user's
        self.held: dict[str, HeldValue] = {}  # values in objects that bodies change, each under a name of its own
        self.glimpsed: set[str] = set()
        self.references: dict[int, int] = {}  # of the user's, see `count_references`

    def add_held(self, found: Iterable[HeldValue], watched: Watched | None = None) -> tuple[str, ...]:
        """Let values in objects be variables, too; the names of those that were none. watched: knows which lists and
        dicts among them are alone."""
        names = []
        for value in found:
            if any(value.is_same(known) for known in self.held.values()):
                continue
            name = value.name
            while name in self.held:  # objects in one list have one name
                name += "'"
            self.held[name] = value
            names.append(name)
            if watched is not None and is_mutable(value.get()) and watched.is_alone(value.get()):
                self.references[id(value.get())] = ALONE
        return tuple(names)

    def get(self, name: str) -> Any:
        if name in self.extra:
            return self.extra[name]
        if name in self.held:
            return self.held[name].get()
        cell = self.cells.get(name)
        try:
            return self.space[name] if cell is None else cell.cell_contents
        except (KeyError, ValueError, HiddenNameError):
            return UNDEFINED

    def glimpse(self, name: str) -> Any:
        """What `get` gives, for an attempt: the program does not depend on it until `rely_on_glimpses`.

        The variables of a cell's loops are those of other cells, too: what these left there is looked at in vain when
        an attempt fails.
        """
        space = self.space
        is_own = name in self.extra or name in self.held or name in self.cells
        if not is_own and isinstance(space, Overlay) and (found := space.peek(name)) is not None:
            self.glimpsed.add(name)
            return UNDEFINED if found[0] is ABSENT else found[0]
        return self.get(name)

    def rely_on_glimpses(self) -> None:
        while self.glimpsed:
            self.get(self.glimpsed.pop())

    def set(self, name: str, value: Any) -> None:
        if name in self.extra:
            self.extra[name] = value
            return
        if name in self.held:
            self.held[name].set(value)
            return
        cell = self.cells.get(name)
        if cell is None:
            if value is UNDEFINED:
                dict.pop(self.space, name, None)
            else:
                self.space[name] = value
        elif value is not UNDEFINED:
            cell.cell_contents = value
        elif self.get(name) is not UNDEFINED:
            del cell.cell_contents

    def is_constant(self, name: str) -> bool:
        """Whether a name is a global one in capitals: by convention it keeps its value, so that text may hold it.
        Single letters are sizes, which change."""
        return len(name) > 1 and name.isupper() and name not in self.cells

    def state(self, names: Sequence[str]) -> dict[str, Any]:
        return {name: self.get(name) for name in names}

    def own(self, name: str) -> Any:
        """What `get` gives, but UNDEFINED for what a cell before this one left: the program does not read the name."""
        if name in self.cells or name in self.held or name in self.extra:
            return self.get(name)
        return dict.get(self.space, name, UNDEFINED)

    def assigned(self, names: Iterable[str]) -> dict[str, Any]:
        """What to `restore`."""
        return {name: self.own(name) for name in names}

    def restore(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            self.set(name, value)

    def count_references(self, names: Iterable[str]) -> None:
        """Note how often the user's code refers to the lists and dicts of these names, and of what bodies read, before
        anything else refers to them."""
        ours = require_trace().references
        self.references = {}
        for name in {*names, *self.cells}:
            if is_mutable(self.own(name)):
                key = id(self.own(name))
                self.references[key] = count(self.own, name) - ours.get(key, 0)

    def own_references(self, names: Iterable[str]) -> Mapping[int, int]:
        """`Trace.references`: what refers to the same lists and dicts since, too, is not the user's."""
        if not self.references:
            return require_trace().references
        found = {name for name in {*names, *self.cells} if id(self.own(name)) in self.references}
        new = {id(self.own(name)): count(self.own, name) - self.references[id(self.own(name))] for name in found}
        return {**require_trace().references, **new}

    def are_alone(self, names: Iterable[str]) -> frozenset[str]:
        """The names of lists and dicts to which nothing else refers, nor to those inside of them."""
        known = require_trace().references
        found = (name for name in names if is_container(self.own(name)))
        ended = partial(self._ended, self.own, everything=False)
        return frozenset(name for name in found if is_alone(self.own, name, known, n_others=ended(name)))

    def held_elsewhere(
        self, names: Iterable[str], result: list[Any], stays: Callable[[Any], bool], *, ends: bool
    ) -> frozenset[str]:
        """The names whose list or dict, or one inside of it, something else refers to, too. result: holds what the body
        gives, called ""; stays: as for `is_alone`; ends: whether the function ends with that."""
        known = require_trace().references
        found = set()
        for name in ("", *names):
            read: Callable[[Any], Any] = self.get if name else result.__getitem__
            key: Any = name or 0
            if is_container(read(key)):
                n = self._ended(read, key, everything=name.startswith("_wb_") or ends and not name)
                if not is_alone(read, key, known, stays, n):
                    found.add(name)
        return frozenset(found)

    def _ended(self, read: Callable[[Any], Any], key: Any, *, everything: bool) -> int:
        """How many variables hold `read(key)` that nobody will look at. everything: at none, since the function ends;
        else at what it is to return, since it ends if it does."""
        value = read(key)
        others = [name for name, cell in self.cells.items() if name != key and held_in(cell, UNDEFINED) is value]
        others = [name for name in others if everything or name.startswith("_wb_") or name in self.dead]
        return len(own_cells(self.cells).intersection(others)) if others else 0

    @contextmanager
    def hidden(self, names: frozenset[str]) -> Iterator[None]:
        """Functions that read these globals, before they are set anew, are refused meanwhile."""
        space = self.space
        if not names or self.cells.keys() >= names or not isinstance(space, Overlay):
            yield
            return
        outside, space.hidden = space.hidden, space.hidden | names
        before = self.assigned(names)
        try:
            for name in names:
                self.set(name, UNDEFINED)
            yield
        finally:
            now = self.assigned(names)
            self.restore({name: value for name, value in before.items() if now[name] is UNDEFINED})
            space.hidden = outside

    def roots(self, names: Sequence[str]) -> list[tuple[str, Any]]:
        """What the statement can reach by these names, besides what the lifter watches."""
        found = []
        for name in names:
            cell = self.cells.get(name)
            value = dict.get(self.space, name, UNDEFINED) if cell is None else self.get(name)
            if value is not UNDEFINED:
                found.append((name, value))
        return found

    def watched(self, reads: Sequence[str], names: Iterable[str]) -> Watched:
        """What a body that reads some names, and binds others, must not change besides."""
        own = {name for name in names if name not in self.cells}
        places = (p for p in assigned_globals(reads, self.space) if p.name not in own)
        return Watched(self.roots(reads), places, require_trace().lifter)


def closure_names(*functions: FunctionType) -> list[str]:
    """The names that functions read of what is around them."""
    return sorted({name for f in functions for name in (*f.__code__.co_freevars, *f.__code__.co_names)})
