"""Loop nests: the loops of a cluster around its values.

Four shapes. A *map* loops over every element. *Rows* loop over the rows and, inside, once over a row for each round of
reductions, so that a softmax is one kernel. *Columns* reduce along leading axes: accumulators of a block of columns,
with the contiguous axis innermost. *Parts* reduce everything to scalars: each part of the data has a partial result, a
finishing kernel combines them. The outermost loop runs from `start` to `stop`. Two more shapes are in
`strips`: maps over short last axes, and reductions of whole columns in one pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..fusion.access import is_fold, is_scan
from ..fusion.cost import flops_per_element, is_expensive
from ..fusion.plan import Cluster
from ..ir import Equation, Var
from ..primitives.index import Expr, axes_of, const, loop_index
from ..primitives.lowering import Pointwise
from .blocks import Block
from .counted import open_counted
from .folds import BLOCK, Fold
from .names import Namer
from .segments import Segments
from .tables import LEAST_ROWS, MOST_SHARED, RowTables
from .values import IndexTuple, Values, index_text

# Columns that one pass over the rows accumulates: 4 KiB of f64, a fraction of the L1 cache.
COLUMNS = 512
# Elements of one partial result.
PART = 8192
# Where the position of an extreme is asked for: elements of a block whose extreme is found before it is searched.
SEARCHED = 256

# Moves whose elements come from here or from there.
CHOOSING = frozenset(("concatenate", "pad", "update_slice", "dynamic_update_slice"))


@dataclass(frozen=True, slots=True)
class Scratch:
    """A partial-result array: one element a part, or a row of them."""

    name: str
    dtype: str
    shape: tuple[int, ...] = ()


class Nest:
    """Writes the loops of `cluster`. After `write`, `root` holds the body, `extent` and `per_step` (elements for one
    step of the outer loop) describe it, `scratch` lists the partial results, if any, and `writes` says at which index
    results are written. temporaries: updates that are not written into their array, but on their own."""

    def __init__(
        self, cluster: Cluster, values: Values, namer: Namer, outputs: dict[Var, str], flat: bool,
        temporaries: frozenset[Var] = frozenset(),
    ):  # fmt: skip
        self.cluster = cluster
        self.space = cluster.space
        self.values = values
        self.namer = namer
        self.outputs = outputs
        self.flat = flat
        self.temporaries = temporaries
        self.writes: dict[Var, IndexTuple] = {}
        self.written: dict[Var, set[IndexTuple]] = {}  # all such places, where the text has several
        self.root = Block()
        self.scratch: list[Scratch] = []
        self.folds: dict[Var, Fold] = {}
        self.bounds: dict[int, str] = {}
        self.unrolled: frozenset[int] = frozenset()  # the axes whose loops are written out
        real = [axis for axis, length in enumerate(self.space.shape) if length != 1]
        self.inner = [axis for axis in real if axis in self.space.reduced]
        self.outer = [axis for axis in real if axis not in self.space.reduced]
        self.scans = [eqn for eqn in cluster.eqns if is_scan(eqn)]
        self.depth = self._depths()
        self.rounds = self._rounds()

    @property
    def may_be_short(self) -> bool:
        """Whether the innermost loop may have few iterations at some sizes: the loops of a map in its outer ones."""
        return self.shape_kind == "map" and not self.flat and len(self.outer) > 1 and not self.scans

    @property
    def n_counted(self) -> int:
        """How many of the outer loops are counted as one, so that a range of it may begin anywhere: threads share the
        rows of few matrices evenly, and other kernels go along. All of them where the operands are in step."""
        n_most = {"map": len(self.outer) - 1, "rows": len(self.outer)}.get(self.shape_kind, 1)
        is_plain = n_most > 1 and not self.flat
        return n_most if is_plain and all(is_fold(e) or is_in_step(e) for e in self.cluster.eqns) else 1

    # ---- what is computed when ----

    @property
    def shape_kind(self) -> str:
        if not self.space.reduced:
            return "map"
        if not self.outer:
            return "parts"
        return "rows" if not self.inner or self.inner[-1] > self.outer[-1] else "columns"

    def _depths(self) -> dict[Var, int]:
        """For each variable, how many reductions must be finished one after another before it can be computed."""
        depth: dict[Var, int] = {}
        for eqn in self.cluster.eqns:
            below = max((depth.get(a, 0) for a in eqn.invars if isinstance(a, Var)), default=0)
            for out in eqn.outvars:
                depth[out] = below + is_fold(eqn)
        return depth

    def _is_row_level(self, var: Var) -> bool:
        if not self.space.reduced:
            return False
        axes = self.space.align.get(var)
        return axes is not None and not any(axis in self.inner for axis in axes if axis is not None)

    def _rounds(self) -> list[tuple[list[Equation], list[Var]]]:
        """For each pass over a row: the reductions that it does and the results that it stores."""
        n_rounds = 1
        stores: dict[int, list[Var]] = {}
        folds: dict[int, list[Equation]] = {}
        for eqn in self.cluster.eqns:
            if is_fold(eqn):
                folds.setdefault(self.depth[eqn.outvars[0]] - 1, []).append(eqn)
        for out in self.outputs:
            if not (is_fold(self.values.producer[out]) or (self._is_row_level(out) and self.inner)):
                stores.setdefault(self.depth[out], []).append(out)
        n_rounds = max([*folds, *stores, 0]) + 1
        return [(folds.get(r, []), stores.get(r, [])) for r in range(n_rounds)]

    def _round_targets(self, number: int) -> list[Var]:
        folds, stores = self.rounds[number]
        return [v for eqn in folds for v in eqn.invars if isinstance(v, Var)] + stores

    def _demand(self, number: int, available: set[Var]) -> list[Equation]:
        """The equations computed in step with the loops in one pass, in program order."""
        wanted = set(self._round_targets(number))
        found: list[Equation] = []
        for eqn in reversed(self.cluster.eqns):
            if is_fold(eqn) or not wanted.intersection(eqn.outvars) or available.intersection(eqn.outvars):
                continue
            wanted.update(a for a in eqn.invars if isinstance(a, Var))
            is_in_loops = eqn in self.scans or isinstance(eqn.primitive.lowering, Pointwise)
            if eqn.outvars[0] in self.space.align and is_in_loops:
                found.append(eqn)
        return found[::-1]

    def _reused(self) -> dict[Var, int]:
        """Values worth keeping for a later pass over the row: dear ones, and stored ones, with their first pass."""
        demands = [self._demand(r, set()) for r in range(len(self.rounds))]
        reused: dict[Var, int] = {}
        for number, demand in enumerate(demands):
            for eqn in demand:
                out = eqn.outvars[0]
                later = any(eqn in other for other in demands[number + 1 :])
                if out in reused or not later or self._is_row_level(out):
                    continue
                stored = out in self.outputs and self.depth[out] == number
                if is_expensive(eqn) or (stored and flops_per_element(eqn)):
                    reused[out] = number
        return reused

    # ---- indices ----

    def at(self, var: Var) -> IndexTuple:
        """The index of `var` in step with the loops."""
        return tuple(self.index(axis) for axis in self.space.align[var])

    def index(self, axis: int | None) -> Expr:
        return self.values.canonical[axis] if axis is not None else const(0)

    def bound(self, axis: int) -> str:
        """The name of a loop axis's length, bound at the top of the kernel when all loads are known."""
        if axis not in self.bounds:
            self.bounds[axis] = self.namer.fresh(f"n{axis}")
        return self.bounds[axis]

    # ---- the four shapes ----

    def write(self) -> None:
        self.values.tables = self._tables()
        getattr(self, f"_write_{self.shape_kind}")()

    def _tables(self) -> RowTables | None:
        """Where the innermost loop finds what all rows share."""
        axes = [*self.outer, *self.inner]
        if self.flat or self.shape_kind not in ("map", "rows") or len(axes) < 2:
            return None
        if self.length(axes[:-1]) < LEAST_ROWS:
            return None
        return RowTables(axes[-1], self.root, self.namer, self.bound)

    def _open_outer(self, block: Block, axes: list[int]) -> Block:
        block = self._open_outer_loops(block, axes)
        if self.values.tables is not None:
            self.values.tables.follow_values()
        return block

    def _open_outer_loops(self, block: Block, axes: list[int]) -> Block:
        if self.n_counted > 1:
            counted, axes = axes[: self.n_counted], axes[self.n_counted :]
            block = open_counted(block, counted, [self.bound(axis) for axis in counted], self.namer)
            for axis in axes:
                block = block.loop(f"for i{axis} in range({self.bound(axis)}):", axis)
            return block
        for position, axis in enumerate(axes):
            header = "start, stop" if position == 0 else self.bound(axis)
            name = "i" if self.flat else f"i{axis}"
            block = block.loop(f"for {name} in range({header}):", *((self.inner + self.outer) if self.flat else [axis]))
            if position == 0:
                block.line(f"assume_index({name})")
        return block

    def _write_map(self) -> None:
        if self.scans:
            self._write_scans()
        else:
            block = self._open_outer(self.root, self.outer[:1] if self.flat else self.outer)
            segments = self._segments()
            self.values.segments = segments
            self._compute_in_step(self._demand(0, set()), block)
            self._store(self.rounds[0][1], block)
            if segments is not None and block.parent is not None:
                low, high = ("start", "stop") if len(self.outer) == 1 else ("0", self.bound(self.outer[-1]))
                middle = self._middle(segments, block.parent, low, high)
                self.values.segments = None
                segments.wrap(block.parent, low, high, f"i{self.outer[-1]}", middle)
        n_counted = len(self.outer) if self.flat else 0 if self.is_one_scan else self.n_counted
        self.extent, self.per_step = self.length(self.outer[:n_counted]), self.length(self.outer[n_counted:])

    @property
    def is_one_scan(self) -> bool:
        """Whether all of it is one row, which one thread goes along."""
        return bool(self.scans) and len(self.outer) == 1

    def _write_scans(self) -> None:
        """A map whose innermost loop carries totals on. Threads share the rows; a single row is nobody else's."""
        *rows, axis = self.outer
        row = (
            self.root.loop("for row in range(start, stop):") if self.is_one_scan else self._open_outer(self.root, rows)
        )
        start = row.section()
        block = row.loop(f"for i{axis} in range({self.bound(axis)}):", axis)
        self._compute_in_step(self._demand(0, set()), block)
        self._store(self.rounds[0][1], block)
        for name, text in self.values.running.items():
            start.line(f"{name} = {text}")

    def _middle(self, segments: Segments, around: Block, low: str, high: str) -> Block | None:
        """A map's innermost loop once more, for where all conditions are as in the middle. What it computes outside of
        the loop stays under these conditions."""
        if not segments.assumed:
            return None
        segments.in_middle = True
        block = Block(around, around.axes, is_branch=True)
        name = f"i{segments.axis}"
        body = block.loop(f"for {name} in range({segments.span(low, high)}):", segments.axis)
        body.line(f"assume_index({name})")
        self._compute_in_step(self._demand(0, set()), body)
        self._store(self.rounds[0][1], body)
        return block

    def _segments(self) -> Segments | None:
        """The pieces of a map's innermost loop, where conditions on its index may be expected."""
        chooses = any(eqn.primitive.name in CHOOSING for eqn in self.cluster.eqns)
        if not chooses or self.flat or not self.outer or self.scans:
            return None
        return Segments(self.outer[-1], self.namer, self.space.shape)

    def _write_rows(self) -> None:
        reused = self._reused()
        scratch = self._allocate_row_scratch(reused)
        row = self._open_outer(self.root, self.outer)
        for number, (folds, stores) in enumerate(self.rounds):
            available = {var for var, first in reused.items() if first < number}
            for var in available:
                at = self._row_index(var) if var not in self.outputs else ", ".join(map(str, self.at(var)))
                self.values.stored[var] = (f"{scratch[var]}[{at}]", self.at(var))
            self._write_pass(row, number, folds, stores, self._demand(number, available), scratch, reused)
        self._store(self._row_results(), row)
        n_counted = self.n_counted
        self.extent = self.length(self.outer[:n_counted])
        self.per_step = self.length(self.outer[n_counted:]) * self.length(self.inner) * len(self.rounds)

    def _allocate_row_scratch(self, reused: dict[Var, int]) -> dict[Var, str]:
        """Arrays of one row for values that a later pass reads again; a stored result is read back instead."""
        names: dict[Var, str] = {}
        for var in reused:
            if var in self.outputs:
                names[var] = self.outputs[var]
                continue
            name = self.namer.fresh(f"{var.hint or self.values.producer[var].primitive.name}_row")
            lengths = ", ".join(self.bound(axis) for axis in self.inner)
            self.root.line(f"{name} = np.empty(({lengths},), np.{var.aval.dtype.name})")
            names[var] = name
        return names

    def _row_index(self, var: Var) -> str:
        return ", ".join(f"i{axis}" for axis in self.inner)

    def _write_pass(
        self,
        row: Block,
        number: int,
        folds: list[Equation],
        stores: list[Var],
        demand: list[Equation],
        scratch: dict[Var, str],
        reused: dict[Var, int],
    ) -> None:
        new = [self._fold(eqn, blocked=True, searches=len(self.inner) == 1) for eqn in folds]
        for fold in new:
            for state in fold.states:
                row.line(f"{state.name} = {state.start}", self._numbers(fold.eqn))
        blocked = [fold for fold in new if fold.blocked or fold.searches]
        block = row
        for axis in self.inner[:-1]:
            block = block.loop(f"for i{axis} in range({self.bound(axis)}):", axis)
        block, body = self._open_innermost(block, self.inner[-1] if self.inner else None, "0", None, blocked)
        self._compute_in_step(demand, body)
        for fold in new:
            self._update(fold, body)
        for var, first in reused.items():
            if first == number and var not in self.outputs:
                text = self.values.value(var, self.at(var), body)
                body.line(f"{scratch[var]}[{self._row_index(var)}] = {text}")
        self._store(stores, body)
        self._close_blocks(blocked, block)
        row.close_loop()
        self._search(blocked, row, self.inner[-1:], None)
        for fold in new:
            self._finish(fold, row, tuple(s.name for s in fold.states))

    def _open_innermost(
        self, block: Block, axis: int | None, low: str, high: str | None, blocked: list[Fold]
    ) -> tuple[Block, Block]:
        """The innermost loop, in blocks if sums need them: (where a block is closed, the body)."""
        if axis is None:
            for fold in blocked:
                block.line(f"{fold.block.name} = {fold.block.start}")
            return block, block
        name = "i" if self.flat else f"i{axis}"
        bound_axes = self.inner if self.flat else [axis]
        high = high or self.bound(axis)
        if not blocked:
            body = block.loop(f"for {name} in range({'' if low == '0' else low + ', '}{high}):", *bound_axes)
            if low != "0":
                body.line(f"assume_index({name})")
            return block, body
        length = SEARCHED if all(fold.searches for fold in blocked) else BLOCK
        block = block.loop(f"for j in range({low}, {high}, {length}):")
        for fold in blocked:
            block.line(f"{fold.block.name} = {fold.block.start}")
        body = block.loop(f"for {name} in range(j, min(j + {length}, {high})):", *bound_axes)
        body.line(f"assume_index({name})")
        return block, body

    def _close_blocks(self, blocked: list[Fold], block: Block) -> None:
        for fold in blocked:
            for line in fold.close_block("j"):
                block.line(line, self._numbers(fold.eqn))

    def _search(self, blocked: list[Fold], block: Block, axes: list[int], high: str | None) -> None:
        """Find where in their best blocks the extremes are whose positions are asked for."""
        length = SEARCHED if all(fold.searches for fold in blocked) else BLOCK
        for fold in blocked:
            if not fold.searches:
                continue
            (axis,) = axes
            at, numbers = fold.states[1].name, self._numbers(fold.eqn)
            begin, end = self.namer.fresh(f"{at}_begin"), self.namer.fresh(f"{at}_end")
            block.line(f"{begin} = {at}", numbers)
            block.line(f"{end} = min({begin} + {length}, {high or self.bound(axis)})", numbers)
            block.line(f"{at} = {end}", numbers)
            body = block.loop(f"for i{axis} in range({begin}, {end}):", axis)
            body.line(f"assume_index(i{axis})")
            index = tuple(self.index(a) for a in self.space.loops[fold.eqn])
            value = self.values.value(fold.eqn.invars[0], index, body)
            name = self.namer.fresh("found")
            body.line(f"{name} = {value}", numbers)
            body.line(fold.search(name, f"i{axis}", end), numbers)
            block.close_loop()

    def _write_columns(self) -> None:
        *rows, last = self.outer
        lines = self.root
        for eqn in self.cluster.eqns:
            if is_fold(eqn):
                fold = self._fold(eqn, blocked=False)
                for state in fold.states:
                    lines.line(f"{state.name} = np.empty({COLUMNS}, np.{state.dtype.name})")
        block = self._open_outer(lines, rows)
        low, high = ("0", self.bound(last)) if rows else ("start", "stop")
        block = block.loop(f"for j in range({low}, {high}, {COLUMNS}):")
        self.namer.fresh("j_stop")
        block.line(f"j_stop = min(j + {COLUMNS}, {high})")
        for folds, stores in self.rounds:
            self._write_column_pass(block, last, folds, stores)
        row_level = [v for v in self.outputs if self._is_row_level(v)]
        if row_level:
            self._store(row_level, self._open_columns(block, last))
        self.extent = self.length([rows[0]]) if rows else self.length([last])
        self.per_step = (
            self.length(rows[1:]) * (self.length([last]) if rows else 1) * self.length(self.inner) * len(self.rounds)
        )

    @staticmethod
    def _open_columns(block: Block, axis: int) -> Block:
        body = block.loop(f"for i{axis} in range(j, j_stop):", axis)
        body.line(f"assume_index(i{axis})")
        return body

    def _write_column_pass(self, block: Block, last: int, folds: list[Equation], stores: list[Var]) -> None:
        if not folds and not stores:
            return
        new = [self.folds[eqn.outvars[0]] for eqn in folds]
        names = {fold: tuple(f"{s.name}[uintp(i{last} - j)]" for s in fold.states) for fold in new}
        if new:
            body = self._open_columns(block, last)
            for fold in new:
                for state, name in zip(fold.states, names[fold], strict=True):
                    body.line(f"{name} = {state.start}", self._numbers(fold.eqn))
        inner = block
        for axis in self.inner:
            inner = inner.loop(f"for i{axis} in range({self.bound(axis)}):", axis)
        body = self._open_columns(inner, last)
        number = next(i for i, r in enumerate(self.rounds) if r[0] is folds and r[1] is stores)
        self._compute_in_step(self._demand(number, set()), body)
        for fold in new:
            self._update(fold, body, names[fold])
        self._store(stores, body)
        for fold in new:
            self.values.totals[fold.eqn.outvars[0]] = fold.result(names[fold])

    def _write_parts(self) -> None:
        folds, stores = self.rounds[0]
        axes = self.inner[:1] if self.flat else self.looped_parts
        # NumPy multiplies one after the other; where that would take long, the parts are products of their own.
        in_parts = self.length(self.inner) > PART
        new = [self._fold(eqn, blocked=True, searches=len(axes) == 1, in_parts=in_parts) for eqn in folds]
        part = self.root.loop("for part in range(start, stop):")
        for fold in new:
            for state in fold.states:
                start = f"part * {PART}" if fold.searches and state is fold.states[1] else state.start
                part.line(f"{state.name} = {start}", self._numbers(fold.eqn))
        blocked = [fold for fold in new if fold.blocked or fold.searches]
        block = part
        low, high = "0", None
        if axes:
            inner_size = 1 if self.flat else self.length(self.inner[1:])
            is_line = len(axes) == 1 and not self.unrolled
            rows_per_part = PART if is_line else max(1, PART // max(inner_size, 1))
            length = self.length(self.inner) if self.flat else self.length(axes[:1])
            step = str(PART) if is_line else self._size("rows_per_part", rows_per_part)
            self.namer.fresh("first")
            self.namer.fresh("last")
            part.line(f"first = part * {step}")
            bound = self.bound(axes[0])
            part.line(f"last = min(first + {step}, {bound})")
            low, high = "first", "last"
            self.extent = -(-length // rows_per_part)
            self.per_step = rows_per_part * inner_size
        else:
            self.extent, self.per_step = 1, 1
        for axis in axes[:-1]:
            header = "first, last" if axis == axes[0] else self.bound(axis)
            block = block.loop(f"for i{axis} in range({header}):", axis)
            if axis == axes[0]:
                block.line(f"assume_index(i{axis})")
        if len(axes) > 1:
            low, high = "0", None
        block, body = self._open_innermost(block, axes[-1] if axes else None, low, high, blocked)
        self._write_elements(new, stores, body)
        self._close_blocks(blocked, block)
        if any(fold.searches for fold in blocked):
            part.close_loop()
            self._search(blocked, part, axes, "last")
        for fold in new:
            for state in fold.states:
                name = self.namer.fresh(f"{state.name}_parts")
                self.scratch.append(Scratch(name, state.dtype.name))
                part.line(f"{name}[part] = {state.name}", self._numbers(fold.eqn))

    @property
    def looped_parts(self) -> list[int]:
        """The axes of a whole reduction that have loops."""
        return self.inner

    def _write_elements(self, folds: list[Fold], stores: list[Var], body: Block) -> None:
        self._compute_in_step(self._demand(0, set()), body)
        for fold in folds:
            self._update(fold, body)
        self._store(stores, body)

    # ---- pieces ----

    def length(self, axes: list[int]) -> int:
        n = 1
        for axis in axes:
            n *= self.space.shape[axis]
        return n

    def _size(self, name: str, value: int) -> str:
        name = self.namer.fresh(name)
        self.values.sizes[name] = value
        return name

    def _numbers(self, *eqns: Equation) -> tuple[int, ...]:
        return tuple(self.values.number[e] for e in eqns)

    def _fold(self, eqn: Equation, *, blocked: bool, searches: bool = False, in_parts: bool = False) -> Fold:
        out = eqn.outvars[0]
        wish = out.hint or eqn.origin.name or self.cluster_name(eqn)
        name = self.namer.fresh(f"{wish}_acc")
        fold = Fold(eqn, name, self.values.called, blocked=blocked, searches=searches, in_parts=in_parts)
        self.folds[out] = fold
        return fold

    @staticmethod
    def cluster_name(eqn: Equation) -> str:
        return eqn.primitive.name.removeprefix("reduce_")

    def _compute_in_step(self, eqns: list[Equation], body: Block) -> None:
        """Compute aligned equations in program order, so that a long chain does not recurse deeply. What all rows share
        waits until somebody asks for it, as not all of it needs a table, unless that is a long chain itself."""
        tables, places = self.values.tables, {eqn: self.at(eqn.outvars[0]) for eqn in eqns}
        waiting = {eqn for eqn, at in places.items() if tables is not None and tables.shares(axes_of(at), body)}
        if len(waiting) > MOST_SHARED:
            self.values.tables, waiting = None, set()
        for eqn, at in places.items():
            if eqn not in waiting:
                self.values.value(eqn.outvars[0], at, body)

    def _operand(self, fold: Fold, body: Block) -> str:
        """The element that the loops are at of what is folded."""
        index = tuple(self.index(axis) for axis in self.space.loops[fold.eqn])
        return self.values.value(fold.eqn.invars[0], index, body)

    def _update(self, fold: Fold, body: Block, names: tuple[str, ...] | None = None) -> None:
        value, loops = self._operand(fold, body), self.space.loops[fold.eqn]
        if fold.kind.startswith("arg"):
            name = self.namer.fresh("candidate")
            body.line(f"{name} = {value}", self._numbers(fold.eqn))
            value = name
            self.values.irregular = True
        (axis, *_) = fold.lowering.axes(fold.eqn.params) or (None,)
        position = str(self.index(loops[axis])) if axis is not None and loops[axis] is not None else "0"
        for line in fold.update(value, position, names or tuple(s.name for s in fold.states)):
            body.line(line, self._numbers(fold.eqn))

    def _finish(self, fold: Fold, block: Block, names: tuple[str, ...]) -> None:
        out = fold.eqn.outvars[0]
        text = fold.result(names)
        if text not in names:
            name = self.namer.for_var(out, fold.eqn.origin.name or self.cluster_name(fold.eqn))
            block.line(f"{name} = {text}", self._numbers(fold.eqn))
            text = name
        self.values.totals[out] = text

    def _store(self, outs: list[Var], body: Block) -> None:
        """Compute all results, then store them: a store must not make a later load look changed, nor change it."""
        for line in self._stores(outs, body, may_wait=len(outs) == 1):
            body.line(*line)

    def _stores(self, outs: list[Var], body: Block, *, may_wait: bool = False) -> list[tuple[str, tuple[int, ...]]]:
        """Compute all results, and give the lines that store them. may_wait: whether what is only loaded may be loaded
        by these lines."""
        results = self._results([out for out in outs if out not in self.cluster.stacks], body, may_wait=may_wait)
        parts = [self._stacked(out, body) for out in outs if out in self.cluster.stacks]
        lines = [(f"{target} = {text}", self._numbers(self.values.producer[out])) for out, target, text in results]
        return [*lines, *(line for stacked in parts for line in stacked)]

    def _results(self, outs: list[Var], body: Block, *, may_wait: bool = False) -> list[tuple[Var, str, str]]:
        """Compute results: each with where it is written and what."""
        texts = [(out, self.result(out, body)) for out in outs]
        for k, (out, text) in enumerate(texts):
            if not may_wait and "[" in text:
                name = self.namer.for_var(out, "value")
                body.value_line(f"{name} = {text}", self._numbers(self.values.producer[out]))
                texts[k] = (out, name)
        return [(out, self.target(out, body), text) for out, text in texts]

    def _stacked(self, out: Var, body: Block) -> list[tuple[str, tuple[int, ...]]]:
        """The lines that write the parts of a stack. Its memory is new: no load looks changed by them."""
        eqn = self.values.producer[out]
        index, axis = self.at(out), eqn.params["dimension"]
        self.values.irregular = True
        self.writes[out] = index
        lines = []
        for k, atom in enumerate(eqn.invars):
            place = (*index[:axis], const(k), *index[axis + 1 :])
            self.written.setdefault(out, set()).add(place)
            text = self.values.value(atom, index, body)
            lines.append((f"{self.outputs[out]}[{', '.join(map(index_text, place))}] = {text}", self._numbers(eqn)))
        return lines

    def result(self, out: Var, body: Block) -> str:
        """The value of a result in step with the loops: of an updated array, the element that replaces another."""
        if out not in self.cluster.stores:
            return self.values.value(out, self.at(out), body)
        return self.values.value(self.values.producer[out].invars[1], self.at(out), body)

    def target(self, out: Var, body: Block) -> str:
        """Where it is written."""
        index = self.at(out)
        if out in self.cluster.stores and out not in self.temporaries:
            index = self.values.place(self.values.producer[out], index, body)
        self.writes[out] = index
        self.written.setdefault(out, set()).add(index)
        array = self.outputs[out]
        if index != self.values.canonical:
            self.values.irregular = True
        elif self.flat:
            return f"{array}[i]"
        return f"{array}[{', '.join(map(index_text, index)) or '()'}]"

    def _row_results(self) -> list[Var]:
        """The results that have one element for each row."""
        outs = [out for out in self.outputs if self._is_row_level(out)]
        return outs if self.inner else [out for out in outs if is_fold(self.values.producer[out])]


def canonical_index(shape: tuple[int, ...]) -> IndexTuple:
    return tuple(loop_index(axis) if length != 1 else const(0) for axis, length in enumerate(shape))


def is_in_step(eqn: Equation) -> bool:
    """Whether an equation's operands are read at the loops' own indices."""
    return isinstance(eqn.primitive.lowering, Pointwise) or is_scan(eqn) or eqn.primitive.name == "broadcast_in_dim"
