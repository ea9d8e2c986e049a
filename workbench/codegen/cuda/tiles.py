"""Tiles: transposes through shared memory.

A map whose result runs along axis L reads an array along another axis J, a row apart each time. Square tiles over J and
L are read along J, kept in shared memory, and used along L, so that both sides go through memory in order. A tile's
rows are one element longer than they need be: lanes that read a column then meet in no bank twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..blocks import Block
from .vectors import Access, spelled

if TYPE_CHECKING:
    from .nests import DeviceNest

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


def write_map_of_tiles(nest: DeviceNest, axis: int) -> None:
    """A map whose last axis crosses the order in which arrays lie in memory: these go through shared memory."""
    t, at = nest.tuning, nest.device_values.at
    side, n_rows = t.tile
    *_, last = nest.outer
    others = [a for a in nest.outer if a not in (axis, last)]
    shape = nest.space.shape
    across, along = (-(-shape[a] // side) for a in (axis, last))
    n_tiles = across * along * nest.length(others)
    nest.grid, nest.block = (max(1, min(n_tiles, t.blocks)), 1), (side, n_rows)
    nest.meets = "shared memory"
    n, n_across, n_along = (
        nest._size("n_tiles", n_tiles),
        nest._size("n_across", across),
        nest._size("n_along", along),
    )
    root = nest.root
    tiles_here = root.section()
    nest._number_threads(root, "x", side)
    start, step = (f"np.{nest.idx}(cuda.{word}.x)" for word in ("blockIdx", "gridDim"))
    tile = root.loop(f"for tile in range({start}, {n}, {step}):", *others)
    tile.line(f"first = np.{nest.idx}({at('tile')} % {at(n_along)}) * {side}")
    tile.line(f"rest = np.{nest.idx}({at('tile')} // {at(n_along)})")
    tile.line(f"group = np.{nest.idx}({at('rest')} % {at(n_across)}) * {side}")
    if others:
        tile.line(f"rest = np.{nest.idx}({at('rest')} // {at(n_across)})")
        name = f"i{others[0]}" if len(others) == 1 else "o"
        tile.line(f"{name} = rest")
        nest._split_index(tile, others, name)
    inside = f"if i{axis} < {nest.bound(axis)} and i{last} < {nest.bound(last)}:"
    loads_here = tile.section()
    tile.line("cuda.syncthreads()")
    rows = _rows_of_tile(nest, tile)
    rows.line(f"i{axis} = np.{nest.idx}(group + part)")
    rows.line(f"i{last} = np.{nest.idx}(first + lane)")
    body = rows.loop(inside, axis, last)
    nest._compute_in_step(nest._demand(0, set()), body)
    nest._store(nest.rounds[0][1], body)
    tile.line("cuda.syncthreads()")
    stores_here = tile.section()
    found = crossing(body, nest.device_values.accesses, last, shape, frozenset(nest.values.sizes), side)
    assert found is not None and found[0] == axis, "the first writing found arrays to transpose"
    read, written = (
        {text: a for text, a in found[1].items() if (a.array in nest.outputs.values()) is is_output}
        for is_output in (False, True)
    )
    for accesses, section in ((read, loads_here), (written, stores_here)):
        if not accesses:
            continue
        rows = _rows_of_tile(nest, section)
        rows.line(f"i{axis} = np.{nest.idx}(group + lane)")
        rows.line(f"i{last} = np.{nest.idx}(first + part)")
        copy = rows.loop(inside)
        for text, access in accesses.items():
            name = nest.namer.fresh(f"{access.array}_tile")
            kind = "boolean" if access.dtype.kind == "b" else access.dtype.name
            tiles_here.line(f"{name} = cuda.shared.array({side * (side + 1)}, types.{kind})")
            kept = f"{name}[{at(f'part * {side + 1} + lane')}]"
            copy.line(f"{kept} = {text}" if accesses is read else f"{text} = {kept}")
            replace_in(body, text, f"{name}[{at(f'lane * {side + 1} + part')}]")
    if written:  # the next tile takes their place
        stores_here.line("cuda.syncthreads()")


def _rows_of_tile(nest: DeviceNest, block: Block) -> Block:
    """The loop over the rows of a tile that a thread has. How often it runs, the compiler knows: all of its loads
    are on their way before the first of its stores."""
    side, n_rows = nest.tuning.tile
    turn = nest.namer.fresh("turn")
    rows = block.loop(f"for {turn} in range({side // n_rows}):")
    rows.line(f"part = np.{nest.idx}(slot + {turn} * {n_rows})")
    return rows
