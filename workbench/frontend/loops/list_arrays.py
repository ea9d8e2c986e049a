"""Lists of numbers, of tuples of these, or of lists of numbers, as arrays: what enters a loop and comes out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .blanks import blank
from .types import BOOL, I64, Growing, Items, Number, Type, UntranslatableError


def leaves_of(kind: Type) -> list[Number]:
    """The numbers of an element."""
    if isinstance(kind, Items):
        return [leaf for item in kind.items for leaf in leaves_of(item)]
    if not isinstance(kind, Number):
        raise UntranslatableError(f"a list of {kind} that a loop is given or leaves")
    return [kind]


def leaf_texts(text: str, kind: Type) -> list[str]:
    if isinstance(kind, Items):
        return [leaf for k, item in enumerate(kind.items) for leaf in leaf_texts(f"{text}[{k}]", item)]
    return [text]


def _packed(names: Iterator[str], kind: Type) -> str:
    if isinstance(kind, Items):
        return f"({''.join(f'{_packed(names, item)}, ' for item in kind.items)})"
    return next(names)


def list_in(name: str, kind: Growing) -> tuple[list[str], list[str]]:
    """The lines that make a list of arrays, and the names of these."""
    if isinstance(kind.item, Growing):
        inner = kind.item.item
        lines = [f"{name} = no_items({blank(kind.item)})", f"for {name}__k in range({name}__at.shape[0] - 1):",
                 f"    {name}__row = no_items({blank(inner)})",
                 f"    for {name}__j in range({name}__at[{name}__k], {name}__at[{name}__k + 1]):",
                 f"        {name}__row.append({name}__0[{name}__j])", f"    {name}.append({name}__row)"]  # fmt: skip
        return lines, [f"{name}__at", f"{name}__0"]
    item = kind.item or Number(I64, True)
    arrays = [f"{name}__{k}" for k in range(len(leaves_of(item)))]
    return list_of_arrays(name, item, arrays, f"{arrays[0]}.shape[0]"), arrays


def list_of_arrays(name: str, item: Type, arrays: Sequence[str], count: str) -> list[str]:
    """The lines that make a list of the first `count` elements of arrays, one for each number of an element."""
    packed = _packed(iter([f"{array}[{name}__k]" for array in arrays]), item)
    return [f"{name} = no_items({blank(item)})", f"for {name}__k in range({count}):", f"    {name}.append({packed})"]


def list_out(name: str, kind: Growing, start: str, lines: list[str]) -> list[str]:
    """The names of arrays with what a list holds in the end; the lines that make them."""
    if isinstance(kind.item, Growing):
        inner = kind.item.item or Number(I64, True)
        scalar = _scalar(inner)
        lines += [f"{name}__at = np.zeros((len({name}) + 1,), np.int64)", f"for {name}__k in range(len({name})):",
                  f"    {name}__at[{name}__k + 1] = {name}__at[{name}__k] + len({name}[{name}__k])",
                  f"{name}__0 = np.empty(({name}__at[len({name})],), {scalar})",
                  f"for {name}__k in range(len({name})):", f"    {name}__row = {name}[{name}__k]",
                  f"    for {name}__j in range(len({name}__row)):",
                  f"        {name}__0[{name}__at[{name}__k] + {name}__j] = {name}__row[{name}__j]"]  # fmt: skip
        return [f"{name}__at", f"{name}__0"]
    item = kind.item or Number(I64, True)
    numbers = leaves_of(item)
    arrays = [f"{name}__{k}" for k in range(len(numbers))]
    for array, number in zip(arrays, numbers, strict=True):
        lines.append(f"{array} = np.empty((len({name}) - {start},), {_scalar(number)})")
    lines.append(f"for {name}__k in range({start}, len({name})):")
    for array, leaf in zip(arrays, leaf_texts(f"{name}[{name}__k]", item), strict=True):
        lines.append(f"    {array}[{name}__k - {start}] = {leaf}")
    return arrays


def list_into_room(name: str, item: Type, arrays: Sequence[str], room: str) -> list[str]:
    """The lines that make arrays of the length `room` of a list; what there is no room for is left out."""
    lines = [f"{array} = np.empty(({room},), {_scalar(leaf)})"
             for array, leaf in zip(arrays, leaves_of(item), strict=True)]  # fmt: skip
    lines.append(f"for {name}__k in range(min(len({name}), {room})):")
    texts = leaf_texts(f"{name}[{name}__k]", item)
    return lines + [f"    {array}[{name}__k] = {text}" for array, text in zip(arrays, texts, strict=True)]


def _scalar(kind: Type) -> str:
    assert isinstance(kind, Number)
    return "np.bool_" if kind.dtype == BOOL else f"np.{kind.dtype.name}"
