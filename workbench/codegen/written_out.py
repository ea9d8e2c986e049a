"""Short loops, written out, so that the loop around them vectorises: rows of 3 coordinates, matrices of 2 by 2.

Rows side by side make vectors, whose elements are taken from memory at a distance that the machine code knows. Sums of
so few numbers are added in NumPy's own order, and have its bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product, repeat

from ..fusion.access import is_fold
from ..ir import Var
from ..primitives.index import const
from ..primitives.lowering import Pointwise
from .blocks import Block
from .folds import Fold
from .nests import CHOOSING, Nest, is_in_step

# The longest row that is written out: of a map, whose loop over its elements does better from there on; of one that is
# folded and then stored; the most elements of any, along several axes or of one that only leaves its totals.
LONGEST = 4
LONGEST_STORED = 12
MOST_ELEMENTS = 16
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
    """Whether the innermost loops are so short that one around them should make the vectors, if it has
    `LEAST_ROWS`."""
    if nest.flat or (not nest.space.reduced and not _is_short_map(nest)):
        return False
    if not nest.outer and not _is_short_whole(nest):
        return False
    looped, written = split_axes(nest)
    n, cluster = nest.length(written), nest.cluster
    if not nest.space.reduced:
        longest = LONGEST if len(written) == 1 else MOST_ELEMENTS
    else:
        is_stored = any(set(nest.inner) & set(cluster.space.align[out]) for out in cluster.outvars)
        longest = LONGEST_STORED if is_stored else MOST_ELEMENTS
    return nest.length(looped) >= LEAST_ROWS and 1 < n <= longest and are_few_lines(nest, n)


def are_few_lines(nest: Nest, n: int) -> bool:
    """Whether LLVM can bear the lines of `n` elements written out."""
    n_lines = sum(is_fold(e) or isinstance(e.primitive.lowering, Pointwise) for e in nest.cluster.eqns)
    return n * n_lines <= MOST_LINES


def split_axes(nest: Nest) -> tuple[list[int], list[int]]:
    """The axes to loop over, the last of which makes the vectors, and those that are written out: the axes that are
    folded, or the last of a map or of what is folded whole, and those with few elements after the last loop."""
    if nest.inner and nest.outer:
        looped, written = list(nest.outer), list(nest.inner)
    else:
        axes = nest.inner or nest.outer
        looped, written = axes[:-1], axes[-1:]
    n_short = LEAST_ROWS if nest.inner else LONGEST + 1
    while len(looped) > 1 and nest.space.shape[looped[-1]] < n_short:
        if nest.length([*written, looped[-1]]) > MOST_ELEMENTS:
            break
        written.append(looped.pop())
    return looped, sorted(written)


def _is_short_map(nest: Nest) -> bool:
    if nest.cluster.stores or nest.cluster.stacks or len(nest.outer) < 2 or nest.scans:
        return False
    return 1 < nest.space.shape[nest.outer[-1]] <= LONGEST


def _is_short_whole(nest: Nest) -> bool:
    """Whether all axes are folded, the last of which is short."""
    if nest.cluster.stores or nest.cluster.stacks or len(nest.inner) < 2 or nest.scans:
        return False
    is_placed = any(is_fold(e) and e.primitive.name in ("argmax", "argmin") for e in nest.cluster.eqns)
    return not is_placed and len(nest.rounds) == 1 and 1 < nest.space.shape[nest.inner[-1]] <= LONGEST_STORED


class WrittenOut(Nest):
    """The loops of a map or of reductions, but for those over the few elements of a row. All elements are computed
    before any is stored: they may depend on what the memory of results holds."""

    @property
    def shape_kind(self) -> str:
        return "rows" if self.space.reduced else "map"

    @property
    def n_side_by_side(self) -> int:
        """The rows that make the vectors."""
        return self.space.shape[self.looped[-1]]

    @property
    def n_counted(self) -> int:
        is_plain = all(is_fold(eqn) or is_in_step(eqn) for eqn in self.cluster.eqns)
        return len(self.looped) if is_plain else 1

    def write(self) -> None:
        self.looped, written = split_axes(self)
        self._unroll(self.looped[-1], written)
        block = self._open_outer(self.root, self.looped)
        stores = []
        for _ in self._elements([axis for axis in written if axis in self.outer]):
            stores += self._write_row(block)
        for line in stores:
            block.line(*line)
        self.extent = self.length(self.looped[: self.n_counted])
        self.per_step = self.length(self.looped[self.n_counted :]) * self.length(written)

    def _write_row(self, block: Block) -> list[tuple[str, tuple[int, ...]]]:
        """Compute a row; the lines that store what comes of it."""
        stores = []
        for number, (folds, outs) in enumerate(self.rounds):
            demand = self._demand(number, set())
            new = [self._fold(eqn, blocked=False) for eqn in folds]
            in_lanes: dict[Fold, list[str]] = {fold: [] for fold in new if self._adds_in_lanes(fold)}
            for fold in new:
                for state in fold.states:
                    block.line(f"{state.name} = {state.start}", self._numbers(fold.eqn))
            for _ in self._elements(self.inner):
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
        return stores + self._stores(self._row_results(), block)

    def _adds_in_lanes(self, fold: Fold) -> bool:
        is_last = self.inner[-1] > self.outer[-1]  # NumPy adds along other axes row by row
        return fold.kind == "sum" and fold.dtype.kind in "fc" and is_last and self.length(self.inner) >= LANES

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

    def _unroll(self, innermost: int, written: list[int]) -> None:
        """Leave the loops over `written` out: the one over `innermost` makes the vectors."""
        self.unrolled = frozenset(written)
        self.values.innermost = innermost
        self.values.n_elements = self.length(written)
        self.values.irregular = True

    def _write_each(self, axes: list[int], folds: Iterable[list[Fold]], outs: list[Var], body: Block) -> None:
        """Compute and fold the elements along `axes`, each into its own `folds`, before any is stored."""
        stores = []
        for _, each in zip(self._elements(axes), folds, strict=False):
            self._compute_in_step(self._demand(0, set()), body)
            for fold in each:
                self._update(fold, body)
            stores += self._stores(outs, body)
        for line in stores:
            body.line(*line)

    def _elements(self, axes: list[int]) -> Iterator[None]:
        """The places along these axes: each is what the loops are at for a turn."""
        canonical = self.values.canonical
        for place in product(*(range(self.space.shape[axis]) for axis in axes)):
            at = dict(zip(axes, map(const, place), strict=True))
            self.values.canonical = tuple(at.get(axis, index) for axis, index in enumerate(canonical))
            yield
        self.values.canonical = canonical


class WrittenParts(WrittenOut):
    """The parts of reductions over all axes, but for the loop over the few elements along the last one."""

    @property
    def shape_kind(self) -> str:
        return "parts"

    @property
    def looped_parts(self) -> list[int]:
        return self.looped

    def write(self) -> None:
        self.looped, self.written_axes = split_axes(self)
        self._unroll(self.looped[-1], self.written_axes)
        self._write_parts()

    def _write_elements(self, folds: list[Fold], stores: list[Var], body: Block) -> None:
        self._write_each(self.written_axes, repeat(folds), stores, body)
