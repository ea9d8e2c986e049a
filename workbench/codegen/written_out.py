"""Short innermost loops, written out, so that the loop around them vectorises: rows of 3 coordinates or 4 channels.

Rows side by side make vectors, whose elements are taken from memory at a distance that the machine code knows. Sums of
so few numbers are added in NumPy's own order, and have its bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ..fusion.access import is_fold
from ..primitives.index import const
from ..primitives.lowering import Pointwise
from .blocks import Block
from .folds import Fold
from .nests import CHOOSING, Nest

# The longest row that is written out: of a map, whose loop over its elements does better from there on, of one that is
# folded and stored again, and of one that leaves its totals alone.
LONGEST = 4
LONGEST_STORED = 12
LONGEST_FOLDED = 16
# Equations, each counted once for every element of a row, beyond which LLVM takes long.
MOST_LINES = 160
# Rows side by side, without which there are no vectors.
LEAST_ROWS = 16
# Numbers from which on NumPy adds in so many lanes.
LANES = 8


def joins_few(nest: Nest) -> bool:
    """Whether where a map's elements come from depends on which of a few along its innermost loop they are: `np.stack`
    along the last axis, assignments to some of a few levels."""
    chooses = any(eqn.primitive.name in CHOOSING for eqn in nest.cluster.eqns)
    return chooses and nest.shape_kind == "map" and not nest.flat and _is_short_map(nest)


def has_short_rows(nest: Nest) -> bool:
    """Whether the innermost loop is so short that the one around it should make the vectors."""
    shape, cluster = nest.space.shape, nest.cluster
    if nest.flat or not nest.outer or (nest.shape_kind == "map" and not _is_short_map(nest)):
        return False
    if nest.shape_kind == "map":
        rows, n, longest = shape[nest.outer[-2]], shape[nest.outer[-1]], LONGEST
    elif nest.shape_kind == "rows" and len(nest.inner) == 1:
        rows, n = shape[nest.outer[-1]], shape[nest.inner[0]]
        is_stored = any(set(nest.inner) & set(cluster.space.align[out]) for out in cluster.outvars)
        longest = LONGEST_STORED if is_stored else LONGEST_FOLDED
    else:
        return False
    n_lines = sum(is_fold(e) or isinstance(e.primitive.lowering, Pointwise) for e in cluster.eqns)
    return rows >= LEAST_ROWS and 1 < n <= longest and n * n_lines <= MOST_LINES


def _is_short_map(nest: Nest) -> bool:
    if nest.cluster.stores or nest.cluster.stacks or len(nest.outer) < 2 or nest.scans:
        return False
    return 1 < nest.space.shape[nest.outer[-1]] <= LONGEST


class WrittenOut(Nest):
    """The loops of a map or of reductions along rows, but for those over a row's elements. All elements are computed
    before any is stored: they may depend on what the memory of results holds."""

    def write(self) -> None:
        self.unrolled = frozenset(self.inner or self.outer[-1:])
        rows = self.outer if self.inner else self.outer[:-1]
        block = self._open_outer(self.root, rows)
        self.values.innermost = rows[-1]
        self.values.n_elements = self.length(sorted(self.unrolled))
        self.values.irregular = True
        stores = []
        for number, (folds, outs) in enumerate(self.rounds):
            demand = self._demand(number, set())
            new = [self._fold(eqn, blocked=False) for eqn in folds]
            in_lanes: dict[Fold, list[str]] = {fold: [] for fold in new if self._adds_in_lanes(fold)}
            for fold in new:
                for state in fold.states:
                    block.line(f"{state.name} = {state.start}", self._numbers(fold.eqn))
            for _ in self._elements():
                self._compute_in_step(demand, block)
                for fold in new:
                    if fold in in_lanes:
                        in_lanes[fold].append(self._operand(fold, block))
                    else:
                        self._update(fold, block)
                stores += self._stores(outs, block)
            for fold, operands in in_lanes.items():
                self._add_lanes(fold, operands, block)
            for fold in new:
                self._finish(fold, block, tuple(s.name for s in fold.states))
        stores += self._stores(self._row_results(), block)
        for line in stores:
            block.line(*line)
        n_counted = self.n_counted
        self.extent = self.length(self.outer[:n_counted])
        self.per_step = self.length(self.outer[n_counted:]) * self.length(self.inner)

    def _adds_in_lanes(self, fold: Fold) -> bool:
        return fold.kind == "sum" and fold.dtype.kind in "fc" and self.length(self.inner) >= LANES

    def _add_lanes(self, fold: Fold, operands: list[str], block: Block) -> None:
        """A sum in the order of NumPy's (`pairwise_sum`, up to 128 numbers), which loses less than from left to
        right."""
        (state,) = fold.states
        n_whole = len(operands) // LANES * LANES
        lanes, rest = [operands[lane:n_whole:LANES] for lane in range(LANES)], operands[n_whole:]
        sums = [" + ".join(lane) for lane in lanes]
        while len(sums) > 1:
            sums = [f"({a}) + ({b})" for a, b in zip(sums[::2], sums[1::2], strict=True)]
        total = self.namer.fresh(f"{state.name}_lanes")
        block.line(f"{total} = {sums[0]}", self._numbers(fold.eqn))
        for operand in rest:
            block.line(f"{total} = {total} + {operand}", self._numbers(fold.eqn))
        block.line(f"{state.name} = {state.name} + {total}", self._numbers(fold.eqn))

    def _elements(self) -> Iterator[None]:
        """The elements of a row: each is what the loops are at for a turn."""
        canonical, axes = self.values.canonical, sorted(self.unrolled)
        for place in product(*(range(self.space.shape[axis]) for axis in axes)):
            at = dict(zip(axes, map(const, place), strict=True))
            self.values.canonical = tuple(at.get(axis, index) for axis, index in enumerate(canonical))
            yield
        self.values.canonical = canonical
