"""Segments: an inner loop in pieces, in each of which its conditions do not change.

What `np.roll`, `np.concatenate` and `np.pad` read depends on where an element is: a condition on the loop index, for
every element. All that happens at a few places. So the loop stops there: `while` picks the next piece, conditions are
computed once for it, and LLVM takes them out of the loop, which then vectorises as if there were none.
"""

from __future__ import annotations

from ..primitives.index import Expr
from .blocks import Block
from .names import Namer

# Shorter loops gain nothing; a kernel with more places than this looks for the next one for too long.
LEAST_LENGTH = 64
MOST_PLACES = 12


class Segments:
    """The conditions of the loop over `axis`, whose index is called `index`. Used while its body is written."""

    def __init__(self, axis: int, namer: Namer):
        self.axis = axis
        self.namer = namer
        self.names: dict[str, str] = {}  # of conditions, by what they are at the beginning of a piece
        self.places: dict[str, None] = {}  # where any of them changes
        self.begin, self.end = namer.fresh("piece"), namer.fresh("piece_stop")

    def name(self, condition: Expr) -> str | None:
        """The name of a condition that depends on the loop's index alone and changes at known places; else None."""
        places = self._places(condition)
        if places is None or len(self.places.keys() | set(places)) > MOST_PLACES:
            return None
        self.places.update(dict.fromkeys(places))
        text = str(_replaced(condition, self.axis, self.begin))
        if text not in self.names:
            self.names[text] = self.namer.fresh("inside")
        return self.names[text]

    def _places(self, condition: Expr) -> list[str] | None:
        if condition.op in ("and", "or"):
            sides = [self._places(side) for side in condition.args]
            return None if None in sides else [place for side in sides for place in side or ()]
        if condition.op not in ("<", "<=", ">", ">="):
            return None
        left, right = condition.args
        if right.axes() or right.loads():
            return None
        if left.op == "+" and left.args[0].is_axis and not left.args[1].axes() and not left.args[1].loads():
            left, right = left.args[0], right - left.args[1]
        elif left.op == "-" and left.args[0].is_axis and not left.args[1].axes() and not left.args[1].loads():
            left, right = left.args[0], right + left.args[1]
        if not left.is_axis or left.axis != self.axis:
            return None
        return [str(right + 1 if condition.op in ("<=", ">") else right)]

    def wrap(self, block: Block, low: str, high: str, index: str) -> None:
        """Cut the loop that was written last in `block`, from `low` to `high`, into pieces."""
        if not self.places:
            return
        at = max(k for k, item in enumerate(block.items) if isinstance(item, tuple) and item[0].startswith("for "))
        header, body = block.items[at], block.items[at + 1]
        assert isinstance(header, tuple) and isinstance(body, Block)
        if not body.items or body.items[0] != (f"assume_index({index})", ()):
            body.items.insert(0, (f"assume_index({index})", ()))
        piece = Block(block, block.axes)
        piece.items = [
            (f"{self.end} = {high}", ()),
            *(
                (f"{self.end} = min({self.end}, {place}) if {self.begin} < {place} else {self.end}", ())
                for place in self.places
            ),
            *((f"{name} = {text}", ()) for text, name in self.names.items()),
            (f"for {index} in range({self.begin}, {self.end}):", header[1]),
            body,
            (f"{self.begin} = {self.end}", ()),
        ]
        block.items[at : at + 2] = [(f"{self.begin} = {low}", ()), (f"while {self.begin} < {high}:", ()), piece]


def _replaced(expr: Expr, axis: int, name: str) -> Expr:
    """`expr` with the loop index of `axis` spelled `name`."""
    if expr.is_axis and expr.axis == axis:
        return Expr("sym", (name,))
    return Expr(expr.op, tuple(_replaced(a, axis, name) if isinstance(a, Expr) else a for a in expr.args), expr.axis)
