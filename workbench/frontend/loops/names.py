"""What variables are called in the text of a loop, and the flags beside them."""

from __future__ import annotations

_RESERVED = frozenset(("np", "abs", "range", "len", "min", "max", "complex", "dot", "within", "whole", "nonzero", "at",
                       "put", "unit", "turned", "wrapped", "no_items", "place_in_queue", "place_to_insert",
                       "without_first", "is_among", "heappush", "heappop", "is_same_list", "unlike",
                       "all_unlike"))  # fmt: skip


def local(name: str) -> str:
    """A variable's name in the text: the user's, unless something of ours is called so."""
    return f"{name}_" if name in _RESERVED or "_" in name and name.rpartition("_")[2] in _SHORT else name


def is_set(name: str) -> str:
    """The flag in the text that tells whether a variable has been set: no name that a user would take."""
    return f"{local(name)}__set"


def is_whole(name: str) -> str:
    """The flag in the text that tells whether a float is an int of Python's."""
    return f"{local(name)}__whole"


_SHORT = frozenset(("f32", "f64", "c64", "c128", "bool", *(f"{k}{8 * n}" for k in "iu" for n in (1, 2, 4, 8))))
