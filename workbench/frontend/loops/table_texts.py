"""The text that a dictionary or set of a loop becomes: lists of its keys and values, and the index of the keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .blanks import blank
from .names import local
from .types import Growing, Items, Number, Table, Type, UntranslatableError
from .writing import INDENT

ZEROS: dict[Any, Any] = {int: 0, float: 0.0, bool: False, complex: 0j}
DEFAULTS = (*ZEROS, list)  # what a `defaultdict` may make missing values by
MOST_GONE = 32  # places that may be out of use however few there are


def keys_of(name: str) -> str:
    """The list of the keys of the dictionary `name`, in the text and among its variables."""
    return f"{local(name)}__keys"


def values_of(name: str) -> str:
    return f"{local(name)}__values"


def index_of(name: str) -> str:
    return f"{local(name)}__index"


def gone_from(name: str) -> str:
    return f"{local(name)}__gone"


def hidden_names(name: str, kind: Table) -> tuple[str, ...]:
    """The lists that stand for it."""
    return (keys_of(name),) if kind.is_set else (keys_of(name), values_of(name))


def filled(name: str, kind: Table, types: Mapping[str, Type]) -> Table:
    """The type of a dictionary of the loop, with those of what it holds. types: of the loop's variables."""
    keys, values = (types.get(hidden(name)) for hidden in (keys_of, values_of))
    return replace(kind, keys=keys, values=values)  # type: ignore[arg-type]  # lists


def hashed(text: str, kind: Type) -> str:
    """The hash of a key: no two numbers have the same."""
    if isinstance(kind, Items):
        found, *rest = (hashed(f"{text}[{k}]", each) for k, each in enumerate(kind.items))
        for each in rest:
            found = f"hash_of_both({found}, {each})"
        return found
    assert isinstance(kind, Number)
    return f"hash_of_float(np.float64({text}))" if kind.kind == "f" else f"np.int64({text})"


def place_text(key: str, kind: Type, name: str) -> str:
    """What looks for a key. kind: of the keys."""
    if isinstance(kind, Items):
        return f"place_of_tuple({key}, {hashed(key, kind)}, {keys_of(name)}, {index_of(name)})"
    return f"place_of_number({hashed(key, kind)}, {index_of(name)})"


def check_key(kind: Type | None) -> None:
    """UntranslatableError for what is found by more than what it is equal to."""
    parts = kind.items if isinstance(kind, Items) else (kind,)
    if isinstance(kind, Items) and (kind.is_list or not parts):
        raise UntranslatableError(f"the key {kind}")
    for each in parts:
        if isinstance(each, Items):
            check_key(each)
        elif not isinstance(each, Number) or each.kind not in "bif" or each.dtype == np.uint64 or each.enum:
            raise UntranslatableError(f"the key {each}")


def check_keys(kind: Growing) -> None:
    if kind.item is not None:
        check_key(kind.item)


def compact_lines(name: str, kind: Table) -> list[str]:
    """What has the lists hold no more than the dictionary does."""
    names = ", ".join((*hidden_names(name, kind), index_of(name)))
    return [f"{'compact_keys' if kind.is_set else 'compact'}({names})", f"{gone_from(name)} = 0"]


def blank_table(name: str, kind: Table) -> list[str]:
    """What makes a variable with an empty dictionary."""
    parts = ((keys_of(name), kind.keys), (values_of(name), kind.values))
    lines = [f"{hidden} = no_items({blank(held.item)})" for hidden, held in parts if held is not None]
    return [*lines, f"{index_of(name)} = no_index()", f"{gone_from(name)} = 0"]


def index_lines(name: str, key: Type | None) -> list[str]:
    """What makes the index of the keys that there are."""
    keys, index = keys_of(name), index_of(name)
    first = [f"{index} = no_index()", f"{gone_from(name)} = 0"]
    if key is None:
        return first
    return [
        *first,
        f"for {keys}_k in range(len({keys})):",
        f"{INDENT}{keys}_one = {keys}[{keys}_k]",
        f"{INDENT}enter({place_text(f'{keys}_one', key, name)}, {hashed(f'{keys}_one', key)}, {keys}_k, {index})",
    ]


def holds_table(kind: Type) -> bool:
    return isinstance(kind, Table) or isinstance(kind, Items) and any(map(holds_table, kind.items))
