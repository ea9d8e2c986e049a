"""Lists from outside to which the code appends: each run extends the list that is there then.

    history = []                              in another cell, or held by an object
    for k in range(n):
        error = ...
        history.append(error)

What such a list holds already is not known to the program, and differs from run to run: code that asks for it, and not
for the last items that it appended itself, is refused. A loop appends to a `CountedList` in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import TracingError
from .diagnostics import unsupported
from .held import HeldValue
from .recording import Deferred

if TYPE_CHECKING:
    from .counted_lists import CountedList


class OutsideList(Deferred):
    """added: what the code has appended so far, a `CountedList` standing for all that a loop has; counted: that of the
    loop that is being traced."""

    def __init__(self, name: str):
        self.name = name
        self.added: list[Any] = []
        self.counted: CountedList | None = None
        self.was_read = False

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]  # for `isinstance` in the user's code
        return list

    def append(self, value: Any) -> None:
        if self.counted is not None:
            self.counted.append(value)
        else:
            self.added.append(value)

    def extend(self, values: Any) -> None:
        for value in list(values):
            self.append(value)

    def __iadd__(self, values: Any) -> OutsideList:
        self.extend(values)
        return self

    def __getitem__(self, index: Any) -> Any:
        """One of those that the code has appended."""
        if type(index) is not int or index >= 0:
            raise self.error()
        if self.counted is not None:
            return self.counted[index]
        for item in reversed(self.added):
            if issubclass(type(item), Deferred):
                return item[index]
            if index == -1:
                return item
            index += 1
        raise self.error()

    @property
    def shape(self) -> tuple[Any, ...]:
        """(number of items,)"""
        raise self.error()

    def error(self) -> TracingError:
        self.was_read = True
        return unsupported(
            f"what is in `{self.name}`, a list from outside that it also appends to", verb="needs",
            fixes=("append to a list of its own, and extend the one outside by that",),
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute '{name}'")
        raise self.error()

    def __iter__(self) -> Iterator[Any]:
        raise self.error()

    def _needs_items(self, *_: Any) -> Any:
        raise self.error()

    __len__ = __bool__ = __contains__ = __setitem__ = __delitem__ = __reversed__ = _needs_items
    __add__ = __radd__ = __mul__ = __rmul__ = __imul__ = _needs_items
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __repr__ = __str__ = _needs_items  # type: ignore[assignment]
    __array__ = __array_ufunc__ = __array_function__ = _needs_items
    __hash__ = None  # type: ignore[assignment]


class OutsideListError(TracingError):
    """A branch or loop on traced values appends to `outside`, which is to be counted there."""

    def __init__(self, outside: OutsideList):
        super().__init__(f"`{outside.name}`, a list, grows inside a branch or loop on traced values", code="WB182")
        self.outside = outside


class HeldListError(TracingError):
    """A branch or loop on traced values appends to a list that the code made, and that `place` holds. is_alone: whether
    nothing else refers to it, so that another one may take its place."""

    def __init__(self, place: HeldValue, found: list, is_alone: bool):
        super().__init__(f"`{place.name}`, a list, grows inside a branch or loop on traced values", code="WB182")
        self.place = place
        self.found = found
        self.is_alone = is_alone
