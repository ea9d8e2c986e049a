"""Strips: loops over few columns, strung together into long ones.

Three colours or ten classes do not fill a vector, and what is left over is computed one by one. Where all arrays lie in
memory order, whole rows follow one another: an inner loop takes a *strip* of about 512 elements, however many rows that
is. What varies along the columns only (a mean for each colour) is repeated in an array as long as a strip, and so are
the accumulators of sums along the rows. Sizes are run-time arguments: one kernel does for three columns and for three
thousand, whose rows are strips of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..fusion.plan import Cluster
from ..ir import Equation, Var
from ..primitives.index import axes_of
from .blocks import Block
from .folds import Fold
from .names import Namer
from .nests import Nest, Scratch
from .values import IndexTuple, NotStrungError, Values

# Elements of a strip: 4 KiB of f64, a fraction of the L1 cache.
STRIP = 512
# A map over longer rows gains nothing, and would only copy what it repeats.
MOST_COLUMNS = 2048
# Elements that one lane of a column's sum adds before it goes into a sum of lanes (as many as a lane of NumPy's own
# blocks), and lanes in such a sum before it is merged with the others.
LANE = 16
LANES = 8


def strip_length(n_columns: int) -> int:
    """As many whole rows as make a strip; one if rows are longer."""
    return max(1, n_columns) * max(1, STRIP // max(n_columns, 1))


class Strips:
    """The strip arrays of one kernel, and how its inner loop spells indices: `k` within a strip, which begins at `j`.

    axes: the columns' loop axes; fill: the body of a loop over the columns, where their values are computed before they
    are repeated; position: the column there; stop: where a strip ends.
    """

    def __init__(
        self, values: Values, namer: Namer, axes: list[int], layouts: Mapping[Var, str], fill: Block, position: str,
        stop: str, n_columns: str,
    ):  # fmt: skip
        self.values = values
        self.namer = namer
        self.axes = frozenset(axes)
        self.layouts = layouts
        self.fill = fill
        self.repetition = f"for k in range({position}, {stop}, {n_columns}):"
        self.arrays: list[str] = []  # lines that make the strip arrays
        self.flat_names: dict[str, str] = {}
        self._known: dict[tuple, str] = {}
        self._repeat: Block | None = None

    def value(self, var: Var, index: IndexTuple, inverse: Callable[[str], str] | None = None) -> str:
        """`var`, which varies along the columns only, or its inverse, as the inner loop reads it."""
        key = (var, tuple(map(str, index)), inverse is not None)
        if key not in self._known:
            if any(known in text for known in self._known.values() for text in key[1]):
                raise NotStrungError  # an index that is itself read from a strip, which only the inner loop can
            text = self.values.value(var, index, self.fill)
            if inverse is not None:
                value, text = text, self.namer.fresh(f"{var.hint or 'column'}_inverse")
                self.fill.value_line(f"{text} = {inverse(value)}")
            name = self.namer.fresh(f"{var.hint or 'column'}_strip")
            self.arrays.append(f"{name} = np.empty(strip, np.{var.aval.dtype.name})")
            if self._repeat is None:
                self._repeat = self.fill.loop(self.repetition)
            self._repeat.line(f"{name}[k] = {text}")
            self._known[key] = f"{name}[k]"
        return self._known[key]

    def element(self, array: str, var: Var, index: IndexTuple) -> str:
        """An element of an array with all axes of the loops, in memory order."""
        whole = var.aval.shape == self.values.cluster.space.shape and index == self.values.canonical
        if not whole or self.layouts.get(var, "C") != "C":
            raise NotStrungError
        if array not in self.flat_names:
            self.flat_names[array] = self.namer.fresh(f"{array}_flat")
        return f"{self.flat_names[array]}[j + k]"


class StripMap(Nest):
    """A map in strips. columns: the loop axes that operands other than whole arrays vary along."""

    @property
    def may_be_short(self) -> bool:
        return False

    def __init__(
        self, cluster: Cluster, values: Values, namer: Namer, outputs: dict[Var, str], layouts: Mapping[Var, str],
        columns: list[int],
    ):  # fmt: skip
        super().__init__(cluster, values, namer, outputs, False)
        self.layouts = layouts
        self.columns = columns
        for name in ("j", "k", "columns", "strip"):
            namer.fresh(name)

    def write(self) -> None:
        n_columns = self.length(self.columns)
        self.values.sizes["strip"] = strip_length(n_columns)
        root, bounds = self.root, [self.bound(axis) for axis in self.columns]
        views = root.section()
        root.line(f"columns = {' * '.join(bounds)}")
        section = root.section()
        fill, position = section, "0"
        for axis, bound in zip(self.columns, bounds, strict=True):
            fill = fill.loop(f"for i{axis} in range({bound}):", axis)
            position = f"i{axis}" if position == "0" else f"({position}) * {bound} + i{axis}"
        strips = Strips(
            self.values, self.namer, self.columns, self.layouts, fill, position, "strip", "columns"
        )  # fmt: skip
        self.values.strips = strips
        block = root.loop("for j in range(start * columns, stop * columns, strip):")
        root.open_loop = root.items.index(section)  # what the columns' values need comes before them, too
        block.line("assume_index(j)")
        body = block.loop("for k in range(min(strip, stop * columns - j)):", *self.outer)
        self._compute_in_step(self._demand(0, set()), body)
        _store_elements(self, self.rounds[0][1], body, strips)
        _close(strips, views, section)
        self.extent = self.length([axis for axis in self.outer if axis not in self.columns])
        self.per_step = n_columns


def needs_order(eqn: Equation) -> bool:
    """Whether the order of the rows is one that merging lanes would not keep: of positions, and of float products."""
    kind = eqn.primitive.lowering.kind  # type: ignore[union-attr]  # a fold
    return kind.startswith("arg") or kind == "prod" and eqn.outvars[0].aval.dtype.kind == "f"


class ColumnParts(Nest):
    """Reductions along all axes but the last one, in one pass: parts of the rows, in blocks of columns, have partial
    results each. strung: whether all arrays allow strips; otherwise the rows have loops of their own."""

    def __init__(
        self, cluster: Cluster, values: Values, namer: Namer, outputs: dict[Var, str], layouts: Mapping[Var, str],
        *, strung: bool,
    ):  # fmt: skip
        super().__init__(cluster, values, namer, outputs, False)
        self.layouts = layouts
        self.strung = strung
        for name in ("j", "k", "low", "high", "first", "last", "blocks", "strip", "rows", "size", "block"):
            namer.fresh(name)

    @property
    def shape_kind(self) -> str:
        return "column parts"

    @staticmethod
    def fits(nest: Nest) -> bool:
        """Whether this is the shape for a nest's loops."""
        return (
            Nest.shape_kind.fget(nest) == "columns"  # type: ignore[attr-defined]  # a property
            and len(nest.outer) == 1
            and len(nest.rounds) == 1
            and not any(needs_order(eqn) for eqn in nest.rounds[0][0])
        )

    def write(self) -> None:
        (column,) = self.outer
        n_columns, n_rows = self.length([column]), self.length(self.inner)
        length = strip_length(n_columns) if self.strung else n_columns
        width = min(length, STRIP)
        n_blocks = -(-length // STRIP) if length else 0
        self.values.sizes["strip"] = length
        self.values.sizes["blocks"] = max(n_blocks, 1)
        root, bound = self.root, self.bound(column)
        views = root.section()
        lanes = {}
        folds = [self._fold(eqn, blocked=True) for eqn in self.rounds[0][0]]
        closed: dict[Fold, str] = {}  # of sums: where the lanes of a block go
        for fold in folds:
            stem = fold.block.name.removesuffix("_block")
            lanes[fold] = self.namer.fresh(f"{stem}_lanes")
            if fold.blocked:
                closed[fold] = self.namer.fresh(f"{stem}_sums")
            for name in (lanes[fold], *([closed[fold]] if fold.blocked else ())):
                root.line(f"{name} = np.empty(strip, np.{fold.lane.dtype.name})")
        if self.strung:
            root.line(f"size = {self._rows_of_all()} * {bound}")
        part = root.loop("for part in range(start, stop):")
        part.line(f"low = part % blocks * {STRIP}")
        part.line(f"high = min(low + {STRIP}, strip)")
        if self.strung:
            step, total = f"{LANE * LANES} * strip", "size"
            n_parts = -(-n_rows * n_columns // (LANE * LANES * length)) if length else 0
        else:
            inner = self.length(self.inner[1:])
            n_steps = max(1, LANE * LANES * STRIP // max(width * inner, 1))
            step, total = self._size("rows", n_steps), self.bound(self.inner[0])
            n_parts = -(-self.length(self.inner[:1]) // n_steps)
        part.line(f"first = part // blocks * {step}")
        part.line(f"last = min(first + {step}, {total})")
        section = part.section()
        for fold in folds:
            start = part.loop("for k in range(low, high):")
            start.line("assume_index(k)")
            for name in (lanes[fold], *([closed[fold]] if fold.blocked else ())):
                start.line(f"{name}[k] = {fold.lane.start}", self._numbers(fold.eqn))
        block, body, strips = self._open_body(part, column, section, bool(closed))
        self._compute_in_step(self._demand(0, set()), body)
        for fold in folds:
            self._update_lane(fold, body, f"{lanes[fold]}[k]")
        if strips is None:
            self._store(self.rounds[0][1], body)
        else:
            _store_elements(self, self.rounds[0][1], body, strips)
            _close(strips, views, section)
        if closed:
            close = block.loop("for k in range(low, high):")
            close.line("assume_index(k)")
            for fold, name in closed.items():
                close.line(f"{name}[k] = {name}[k] + {lanes[fold]}[k]", self._numbers(fold.eqn))
                close.line(f"{lanes[fold]}[k] = {fold.lane.start}")
        self._merge_lanes(part, folds, {**lanes, **closed}, bound, n_parts, n_columns)
        self.n_parts = n_parts
        self.extent = n_parts * max(n_blocks, 1) if n_columns else 0
        self.per_step = LANE * LANES * width

    def _rows_of_all(self) -> str:
        return " * ".join(self.bound(axis) for axis in self.inner)

    def _open_body(self, part: Block, column: int, section: Block, blocked: bool) -> tuple[Block, Block, Strips | None]:
        """The loops over a part: where a block of lanes is closed, and the innermost body."""
        if not self.strung:
            block = part
            for position, axis in enumerate(self.inner):
                low, high = ("first", "last") if position == 0 else ("0", self.bound(axis))
                if axis == self.inner[-1] and blocked:
                    part = block = block.loop(f"for j in range({low}, {high}, {LANE}):")
                    low, high = "j", f"min(j + {LANE}, {high})"
                block = block.loop(f"for i{axis} in range({low}, {high}):", axis)
                block.line(f"assume_index(i{axis})")
            body = block.loop(f"for i{column} in range(low, high):", column)
            body.line(f"assume_index(i{column})")
            body.line(f"k = i{column}")
            return part, body, None
        fill = section.loop(f"for i{column} in range(low, min(high, {self.bound(column)})):", column)
        strips = Strips(
            self.values, self.namer, [column], self.layouts, fill, f"i{column}", "high", self.bound(column)
        )  # fmt: skip
        self.values.strips = strips
        block = part
        low, high = "first", "last"
        if blocked:
            block = part.loop(f"for block in range(first, last, {LANE} * strip):")
            low, high = "block", f"min(block + {LANE} * strip, last)"
        inner = block.loop(f"for j in range({low}, {high}, strip):")
        part.open_loop = part.items.index(section)
        inner.line("assume_index(j)")
        body = inner.loop("for k in range(low, min(high, last - j)):", *self.inner, column)
        body.line("assume_index(k)")
        return block, body, strips

    def _update_lane(self, fold: Fold, body: Block, lane: str) -> None:
        loops = self.space.loops[fold.eqn]
        value = self.values.value(fold.eqn.invars[0], tuple(self.index(axis) for axis in loops), body)
        for line in fold.update_lane(value, lane):
            body.line(line, self._numbers(fold.eqn))

    def _merge_lanes(
        self, part: Block, folds: list[Fold], lanes: dict[Fold, str], bound: str, n_parts: int, n_columns: int
    ) -> None:
        """Each column's lanes, folded into a partial result."""
        self.values.strips = None
        part.close_loop()
        block = part.loop(f"for column in range(low, min(high, {bound})):")
        for fold in folds:
            numbers = self._numbers(fold.eqn)
            for state in fold.states:
                block.line(f"{state.name} = {state.start}", numbers)
            loop = block.loop(f"for k in range(column, high, {bound}):")
            for line in fold.add_lane(f"{lanes[fold]}[k]"):
                loop.line(line, numbers)
            for state in fold.states:
                name = self.namer.fresh(f"{state.name}_parts")
                self.scratch.append(Scratch(name, state.dtype.name, (n_parts, n_columns)))
                block.line(f"{name}[part // blocks, column] = {state.name}", numbers)


def _store_elements(nest: Nest, outs: list[Var], body: Block, strips: Strips) -> None:
    """Compute all results, then store them, as `Nest._store` does."""
    texts = [(out, nest.values.value(out, nest.at(out), body)) for out in outs]
    for out, text in texts:
        target = strips.element(nest.outputs[out], out, nest.at(out))
        body.line(f"{target} = {text}", (nest.values.number[nest.values.producer[out]],))


def _close(strips: Strips, views: Block, section: Block) -> None:
    """Write what the inner loop turned out to need, now that it is written."""
    for line in (*(f"{flat} = flat({array})" for array, flat in strips.flat_names.items()), *strips.arrays):
        views.line(line)
    if not strips.arrays:
        section.items.clear()


def columns_of(nest: Nest, layouts: Mapping[Var, str]) -> list[int] | None:
    """The loop axes that a written map's operands vary along where they are not whole arrays, if strips are worth it:
    the last axes, few elements altogether."""
    space = nest.space.shape
    reads: set[int] = set()
    for var, index in nest.values.loads:
        if index == nest.values.canonical and var.aval.shape == space and layouts.get(var, "C") == "C":
            continue
        reads |= axes_of(index)
    if not reads or min(reads) == nest.outer[0]:
        return None
    columns = [axis for axis in nest.outer if axis >= min(reads)]
    return columns if nest.length(columns) <= MOST_COLUMNS else None
