"""Several loops that count as one, so that a range of it may begin and end anywhere in them.

Of (i, j) with lengths n and m it counts i * m + j. Divisions are made once a range; loops inside of it go from where
the range begins to where it ends, or over all of their axis.
"""

from __future__ import annotations

from collections.abc import Sequence

from .blocks import Block
from .names import Namer


def open_counted(block: Block, axes: Sequence[int], lengths: Sequence[str], namer: Namer) -> Block:
    """The loops over `axes` for a range from `start` to `stop`, opened in `block`; the innermost body. lengths: the
    names of the axes' lengths."""
    bounds = []
    for position in range(1, len(axes)):
        below, low, high = " * ".join(lengths[position:]), namer.fresh("low"), namer.fresh("high")
        divisor = f"({below})" if " " in below else below
        block.line(f"{low} = start // {divisor}")
        block.line(f"{high} = (stop + {below} - 1) // {divisor}")
        bounds.append((low, high))
    bounds.append(("start", "stop"))
    before = ""  # what the places of an axis are counted from
    for position, (axis, (low, high)) in enumerate(zip(axes, bounds, strict=True)):
        first, end = namer.fresh("first"), namer.fresh("end")
        block.line(f"{first} = max(0, {low} - {before})" if before else f"{first} = {low}")
        block.line(f"assume_index({first})")
        block.line(f"{end} = min({lengths[position]}, {high} - {before})" if before else f"{end} = {high}")
        block = block.loop(f"for i{axis} in range({first}, {end}):", axis)
        if position + 1 < len(axes):
            place = f"({before} + i{axis})" if before else f"i{axis}"
            before = namer.fresh("before")
            block.line(f"{before} = {place} * {lengths[position + 1]}")
    return block
