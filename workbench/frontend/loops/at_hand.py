"""What is known of values that are at hand: their types, as a loop takes them, and what it may leave."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..counted_tables import CLASSES
from .draws import is_source
from .steps import type_of
from .table_texts import DEFAULTS, check_keys
from .types import (
    BOOL,
    Array,
    Growing,
    Items,
    Number,
    RandomSource,
    Table,
    Type,
    UntranslatableError,
    join_items,
    weak_int,
)


def type_at_hand(name: str, value: Any) -> Type:
    return RandomSource(type(value)) if is_source(value) else type_of(name, value)


def check_result(name: str, kind: Type) -> None:
    match kind:
        case Number() | Array():
            return
        case Items(items=items):
            for item in items:
                check_result(name, item)
                told = not isinstance(item, Number) or not (item.unsure or item.mixed or item.enum)
                if not told or not isinstance(item, Number | Items):
                    raise UntranslatableError(f"`{name}`, a tuple of {item}")
            return
        case Table(keys=keys, values=values):
            for part in (keys, values):
                if part is not None:
                    check_result(name, part)
            return
        case Growing(item=item):
            if isinstance(item, Array) or isinstance(item, Growing) and not isinstance(item.item, Number | None):
                raise UntranslatableError(f"`{name}`, {kind}")
            return
    raise UntranslatableError(f"`{name}`, {kind}")


def is_table(name: str, value: Any) -> bool:
    if type(value) not in CLASSES:
        return False
    try:
        type_of_table(name, value)
    except UntranslatableError:
        return False
    return True


def type_of_table(name: str, value: Any) -> Table:
    keys = type_of_list(name, value)
    check_keys(keys)
    of = type(value)
    default = getattr(value, "default_factory", None)
    if default is not None and default not in DEFAULTS:
        raise UntranslatableError(f"`{name}`, a defaultdict of {default}")
    return Table(of, default, keys, None if of is set else type_of_list(name, value.values()))


def type_of_list(name: str, value: Any) -> Growing:
    item: Type | None = None
    for each in value:
        item = join_items(item, _type_of_item(name, each))
    return Growing(item)


_KINDS: dict[type, Number] = {
    bool: Number(BOOL, True, (0, 1)),
    int: weak_int(-(2**63), 2**63 - 1),
    float: Number(np.dtype(np.float64), True),
    complex: Number(np.dtype(np.complex128), True),
}


def _type_of_item(name: str, value: Any) -> Type:
    kind = _KINDS.get(type(value))
    if kind is not None:
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise UntranslatableError(f"`{name}`, a list of large integers")
        return kind
    if type(value) is tuple and value:
        return Items(tuple(_type_of_item(name, v) for v in value))
    if type(value) is list:
        found = type_of_list(name, value)
        if isinstance(found.item, Number | None):
            return found
    if isinstance(value, np.generic):
        return type_of(name, value)
    raise UntranslatableError(f"`{name}`, a list of {type(value).__name__}")
