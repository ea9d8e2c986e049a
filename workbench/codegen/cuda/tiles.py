"""Tiles: transposes through shared memory.

A map whose result runs along axis L reads an array along another axis J, a row apart each time. Square tiles over J and
L are read along J, kept in shared memory, and used along L, so that both sides go through memory in order. A tile's
rows are one element longer than they need be: lanes that read a column then meet in no bank twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..blocks import Block
from .vectors import Access, spelled

# Shorter axes fill too little of a tile.
LEAST_LENGTH = 16
MOST_BYTES = 40 << 10  # of shared memory


def crossing(
    body: Block, accesses: Mapping[str, Access], last: int, shape: Sequence[int], known: frozenset[str], side: int
) -> tuple[int, dict[str, Access]] | None:
    """The axis along which a loop's body reads arrays in memory order while it runs along `last`, and those elements as
    they are spelled. known: the names of sizes; side: of a tile."""
    certain = "\n".join(text for text, _ in body.render() if not text.startswith(" "))
    found: dict[str, Access] = {}
    for text, access in accesses.items():
        words = set(re.findall(r"[A-Za-z_]\w*", access.prefix))
        indices = {word for word in words if re.fullmatch(r"i\d+", word)}
        if access.axis in (-1, last) or f"i{last}" not in indices or not words - indices <= known:
            continue
        if shape[access.axis] >= LEAST_LENGTH and spelled(text).search(certain):
            found[text] = access
    if not found:
        return None
    axis, n_bytes, chosen = next(iter(found.values())).axis, 0, {}
    for text, access in found.items():
        n_bytes += side * (side + 1) * access.dtype.itemsize
        if access.axis == axis and n_bytes <= MOST_BYTES:
            chosen[text] = access
    return axis, chosen


def replace_in(block: Block, text: str, new: str) -> None:
    """Spell `text` as `new` in all lines of a block."""
    for k, item in enumerate(block.items):
        if isinstance(item, Block):
            replace_in(item, text, new)
        else:
            block.items[k] = (spelled(text).sub(new, item[0]), item[1])
