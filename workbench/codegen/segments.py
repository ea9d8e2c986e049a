"""Segments: an inner loop in pieces, in each of which its conditions do not change.

What `np.roll`, `np.concatenate`, `np.pad` and assignments to slices give depends on where an element is: a condition
on the loop indices, for every element. All that happens at a few places. So the loop stops there: `while` picks the
next piece, and conditions are computed once for it. Nearly all pieces are alike: those in the middle of all axes. For
them the loop is written once more, without conditions, and vectorises; the other one does the borders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from ..fusion.cost import LEAST_PIECES
from ..primitives.index import Expr
from .blocks import Block
from .conditions import holds_in_the_middle
from .names import Namer

# Shorter loops gain nothing; a kernel with more places than this looks for the next one for too long.
LEAST_LENGTH = LEAST_PIECES
MOST_PLACES = 12


class Segments:
    """The conditions of the loop over `axis`, whose index is called `index`. Used while its body is written, once or
    twice. lengths: of all loops; in_middle: whether what is written is for pieces in the middle of all axes."""

    def __init__(self, axis: int, namer: Namer, lengths: Sequence[int]):
        self.axis = axis
        self.namer = namer
        self.lengths = lengths
        self.cuts = lengths[axis] >= LEAST_LENGTH
        self.in_middle = False
        self.names: dict[str, str] = {}  # of conditions, by what they are at the beginning of a piece
        self.places: dict[str, None] = {}  # where any of them changes
        self.assumed: dict[str, bool] = {}  # what conditions that choose between values are in the middle, by name
        self.begin, self.end = namer.fresh("piece"), namer.fresh("piece_stop")

    def name(self, condition: Expr) -> str | None:
        """The name of a condition that depends on the loop's index alone and changes at known places; else None."""
        return self._named(condition) if self.cuts and condition.axes() == {self.axis} else None

    def resolve(self, condition: Expr, sizes: Mapping[str, int]) -> bool | str:
        """What the loop's body asks instead of `condition`: names, and what can only be known for each element. In the
        middle, nothing, or the latter. sizes: the values of run-time sizes."""
        parts = _conjuncts(condition)
        asked: list[str] = []
        for part in parts:
            middle, name = holds_in_the_middle(part, self.lengths, sizes), self._named(part)
            if name is None:
                asked.append(f"({part})" if len(parts) > 1 else str(part))
            elif middle is None or (self.in_middle and name not in self.assumed):
                asked.append(name)
            elif not self.in_middle:
                self.assumed[name] = middle
                asked.append(name)
            elif not middle:
                return False
        return " and ".join(asked) or True

    def _named(self, condition: Expr) -> str | None:
        text = str(_replaced(condition, self.axis, self.begin))
        places = self._places(condition)
        if places is None or len(self.places.keys() | set(places)) > MOST_PLACES:
            return None
        if self.in_middle and text not in self.names:  # the pieces are cut by now
            return None
        self.places.update(dict.fromkeys(places))
        if text not in self.names:
            self.names[text] = self.namer.fresh("inside")
        return self.names[text]

    def _places(self, condition: Expr) -> list[str] | None:
        """Where the condition changes along the loop."""
        if condition.loads():
            return None
        if self.axis not in condition.axes():
            return []
        if not self.cuts:
            return None
        if condition.op in ("and", "or"):
            sides = [self._places(side) for side in condition.args]
            return None if None in sides else [place for side in sides for place in side or ()]
        if condition.op not in ("<", "<=", ">", ">="):
            return None
        left, right = condition.args
        if right.axes():
            return None
        found = [self._place(condition.op, each, right) for each in self._alternatives(left)]
        return None if None in found else [place for place in found if place is not None]

    def _alternatives(self, expr: Expr) -> list[Expr]:
        """What an index is in any piece, if it was chosen by the name of a condition itself."""
        if expr.op == "where" and str(expr.args[0]) in self.names.values():
            return [each for side in expr.args[1:] for each in self._alternatives(side)]
        if expr.op in ("+", "-"):
            pairs = product(*map(self._alternatives, expr.args))
            return [a + b if expr.op == "+" else a - b for a, b in pairs]
        return [expr]

    def _place(self, op: str, left: Expr, right: Expr) -> str | None:
        """Where along the loop a comparison changes."""
        if left.op == "+" and left.args[0].is_axis and not left.args[1].axes():
            left, right = left.args[0], right - left.args[1]
        elif left.op == "-" and left.args[0].is_axis and not left.args[1].axes():
            left, right = left.args[0], right + left.args[1]
        if not left.is_axis or left.axis != self.axis:
            return None
        return str(right + 1 if op in ("<=", ">") else right)

    def span(self, low: str, high: str) -> str:
        """The range of the loop: a piece of it, if there are any."""
        return f"{self.begin}, {self.end}" if self.places else high if low == "0" else f"{low}, {high}"

    def wrap(self, block: Block, low: str, high: str, index: str, middle: Block | None) -> None:
        """Cut the loop that was written last in `block`, from `low` to `high`, into pieces. middle: the same loop for
        the middle of all axes."""
        if not self.names:
            return
        at = max(k for k, item in enumerate(block.items) if isinstance(item, tuple) and item[0].startswith("for "))
        header, body = block.items[at], block.items[at + 1]
        assert isinstance(header, tuple) and isinstance(body, Block)
        if self.places and (not body.items or body.items[0] != (f"assume_index({index})", ())):
            body.items.insert(0, (f"assume_index({index})", ()))
        flags = [(f"{name} = {text}", ()) for text, name in self.names.items()]
        loop = [(f"for {index} in range({self.span(low, high)}):", header[1]), body]
        if middle is not None:
            borders = Block(block, block.axes)
            borders.items = loop
            test = " and ".join(name if value else f"not {name}" for name, value in self.assumed.items())
            loop = [(f"if {test}:", ()), middle, ("else:", ()), borders]
        if not self.places:
            block.items[at : at + 2] = [*flags, *loop]
            return
        piece = Block(block, block.axes)
        piece.items = [
            (f"{self.end} = {high}", ()),
            *(
                (f"{self.end} = min({self.end}, {place}) if {self.begin} < {place} else {self.end}", ())
                for place in self.places
            ),
            *flags,
            *loop,
            (f"{self.begin} = {self.end}", ()),
        ]
        block.items[at : at + 2] = [(f"{self.begin} = {low}", ()), (f"while {self.begin} < {high}:", ()), piece]


def _conjuncts(condition: Expr) -> list[Expr]:
    if condition.op != "and":
        return [condition]
    return [part for side in condition.args for part in _conjuncts(side)]


def _replaced(expr: Expr, axis: int, name: str) -> Expr:
    """`expr` with the loop index of `axis` spelled `name`."""
    if expr.is_axis and expr.axis == axis:
        return Expr("sym", (name,))
    return Expr(expr.op, tuple(_replaced(a, axis, name) if isinstance(a, Expr) else a for a in expr.args), expr.axis)
