"""Loop nests on a device: which thread computes what.

A *map* gives each thread elements of the result, a grid apart, so that neighbours read neighbours. A *fold* gives teams
of threads the rows of the loops: a team's lanes go through a row together, meet after each round of reductions, and all
know the total; so that a softmax is one kernel. Three kinds of team:

thread   one thread a row: short rows, and columns of which there are many
rows     lanes side by side along the contiguous axis; they meet through warp shuffles, then shared memory
columns  lanes one below the other, neighbours in different columns; they meet in shared memory

Where rows are few and long, several teams share one, leave partial states in scratch memory, and a second kernel merges
them (`finish`). Both passes take a fixed order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...fusion.plan import Cluster
from ...ir import Equation, Var
from ..blocks import Block
from ..folds import Fold, State
from ..names import Namer
from ..nests import Nest, Scratch
from .folds import DeviceFold, first_lanes, shuffled
from .tiles import crossing, write_map_of_tiles
from .tuning import Tuning
from .values import DeviceValues
from .vectors import (
    MOST_WEIGHT,
    Form,
    RowLoop,
    choose_form,
    fits,
    streams_of,
    write_streams,
    write_turns,
    write_vectors,
)  # fmt: skip

WORDS = frozenset(
    "cuda math tile i o r lane slot n_lanes n_slots warp group offset first part part_first rest types complex".split()
)

MOST_BLOCKS_ALONG_Y = 65_535  # of a grid: CUDA's own limit
RESIDENT = 3  # blocks of 256 threads with up to 80 registers
MOST_SHARED_BYTES = 40 << 10  # of arrays of a fixed size: 48 KiB are all that a kernel may declare


@dataclass(frozen=True, slots=True)
class Geometry:
    """How a kernel is launched. grid, block: (x, y); shared_bytes: dynamic; meets: how lanes exchange what they folded
    ("" where they need not); index: the integers that count elements; resident: blocks that an SM is to hold at a time,
    0 where a thread may take as many registers as it likes; in_step: whether the thread that reads an element of an
    array as large as the results also writes the results' element at that place, and nobody else reads it."""

    grid: tuple[int, int]
    block: tuple[int, int]
    shared_bytes: int
    meets: str
    index: str
    resident: int = 0
    in_step: bool = False


class DeviceNest(Nest):
    """Writes the loops of `cluster` for a device. After `write`, `geometry` says how to launch them."""

    def __init__(
        self, cluster: Cluster, values: DeviceValues, namer: Namer, outputs: dict[Var, str], flat: bool, tuning: Tuning,
        tiled: int | None = None, in_turns: bool = False,
    ):  # fmt: skip
        super().__init__(cluster, values, namer, outputs, flat)
        self.tuning = tuning
        self.device_values = values
        self.idx = values.index
        values.bound = self.bound
        self.team = "thread"
        self.is_split = False
        self.is_spread = False  # several blocks share a row, and have nothing to tell each other
        self.n_parts = 1
        self.n_rows = self.length(self.outer)
        self.row_length = self.length(self.inner)
        self.shared_bytes = 0
        self.meets = ""
        self.grid = self.block = (1, 1)
        self.tiled = tiled  # the axis along which a map reads what it writes along the last one
        self.crossed_axis: int | None = None  # where there is such an axis, after `write`
        self.in_turns = in_turns  # whether each thread has a known number of elements of a row
        self.reads_apart = False  # whether turns are the way to write a map, after `write`
        self.row_loops: list[RowLoop] = []
        self.cached: dict[str, tuple[str, str]] = {}  # elements of kept rows, as spelled: (array, before the index)
        self.aligned: dict[str, tuple[tuple[str, int], ...]] = {}

    @property
    def geometry(self) -> Geometry:
        # While some blocks of a chain over rows meet, others are to load or store.
        is_chain = self.team == "rows" and len(self.rounds) > 1 and not self.is_split and not self.is_spread
        return Geometry(
            self.grid, self.block, self.shared_bytes, self.meets, self.idx,
            RESIDENT * self.tuning.threads // math.prod(self.block) if is_chain else 0,
            self.shape_kind == "map" and not self.values.irregular,
        )  # fmt: skip

    def bound(self, axis: int) -> str:
        """The name of a loop axis's length: an argument."""
        if axis not in self.bounds:
            self.bounds[axis] = self.namer.fresh(f"n{axis}")
            self.values.sizes[self.bounds[axis]] = self.space.shape[axis]
        return self.bounds[axis]

    def write(self) -> None:
        if self.shape_kind == "map":
            self._write_map()
        else:
            self._write_folds()

    # ---- elements ----

    def _write_map(self) -> None:
        self.extent = self.n_rows
        if not self.flat and len(self.outer) > 1 and self.space.shape[self.outer[-1]] >= self.tuning.long_row:
            if self.in_turns:
                return self._write_map_in_turns()
            return self._write_map_of_rows() if self.tiled is None else write_map_of_tiles(self, self.tiled)
        n = self._count("n_elements", self.outer)
        self._over_grid(n, self.n_rows)
        body = self._grid_loop(self.root, n, self.outer, "i")
        self._compute_in_step(self._demand(0, set()), body)
        self._store(self.rounds[0][1], body)
        if len(self.outer) == 1 or self.flat and self.outer:
            name, axis = self._linear_name(self.outer, "i"), -1 if self.flat else self.outer[0]
            start, step = f"np.{self.idx}(cuda.grid(1))", f"np.{self.idx}(cuda.gridsize(1))"
            self.row_loops.append(RowLoop(self.root, body, axis, name, start, step, n))
            form = self._vectorise(n, self.n_rows)
            if form is not None:
                # Enough blocks for the vectors, or at least for the device.
                t = self.tuning
                n_blocks = -(-self.n_rows // (t.threads * form.width * form.streams))
                self.grid = (max(1, min(max(n_blocks, 2 * t.fill), self.grid[0])), 1)

    def _write_map_of_rows(self) -> None:
        """A map along its last axis: where an element lies takes no division, or one a row."""
        t = self.tuning
        *self.outer, last = self.outer
        self.inner = [last]
        n_rows, length = self.length(self.outer), self.space.shape[last]
        lanes = t.row_lanes(length)
        slots = t.threads // lanes
        n_blocks = max(1, min(-(-n_rows // slots), t.blocks))
        self.team, self.is_spread = "rows", True
        self.grid = (n_blocks, max(1, min(-(-length // (4 * lanes)), t.blocks // n_blocks, MOST_BLOCKS_ALONG_Y)))
        self.block = (lanes, slots)
        row = self._open_rows(self._count("n_rows", self.outer), n_rows)
        bound = self._count("row_length", self.inner)
        body = self._open_row(row, bound)
        self._compute_in_step(self._demand(0, set()), body)
        self._store(self.rounds[0][1], body)
        found = crossing(
            body, self.device_values.accesses, last, self.space.shape, frozenset(self.values.sizes), self.tuning.tile[0]
        )  # fmt: skip
        self.crossed_axis = None if found is None else found[0]
        form = self._vectorise(bound, length)
        n_turns = -(-length // (t.turns * t.turn_lanes(length)))
        n_blocks_of_turns = n_turns * -(-n_rows * t.turn_lanes(length) // t.threads)
        self.reads_apart = form is None and not t.one_block and n_blocks_of_turns <= t.most_blocks_of_turns

    def _write_map_in_turns(self) -> None:
        """A map along its last axis that reads neighbours, so that vectors are none of a row's. A thread takes a known
        number of elements, whose loads are all on their way at a time, and rows share a block, and what they read."""
        t = self.tuning
        *self.outer, last = self.outer
        self.inner = [last]
        n_rows, length = self.length(self.outer), self.space.shape[last]
        lanes = t.turn_lanes(length)
        slots = t.threads // lanes
        self.team = "rows"
        n_segments = max(1, -(-length // (t.turns * lanes)))
        self.grid = (max(1, -(-n_rows // slots)) * n_segments, 1)
        self.block = (lanes, slots)
        # Blocks that run at the same time go along rows: memory is read in order.
        segments, at = self._size("n_segments", n_segments), self.device_values.at
        root, name = self.root, self._linear_name(self.outer, "o")
        self._number_threads(root, "x", lanes)
        root.line(f"{name} = np.{self.idx}(np.{self.idx}({at('cuda.blockIdx.x')} // {at(segments)}) * {slots} + slot)")
        row = root.loop(f"if {name} < {self._count('n_rows', self.outer)}:", *self.outer)
        self._split_index(row, self.outer, name)
        bound = self._count("row_length", self.inner)
        begin, step = self.namer.fresh(f"i{last}_first"), str(lanes)
        row.line(f"{begin} = np.{self.idx}({at('cuda.blockIdx.x')} % {at(segments)} * {t.turns * lanes} + lane)")
        body = row.loop(f"for i{last} in range({begin}, {bound}, {step}):", last)
        self._compute_in_step(self._demand(0, set()), body)
        self._store(self.rounds[0][1], body)
        write_turns(RowLoop(row, body, last, f"i{last}", begin, step, bound), t.turns, self.idx, self.namer)

    def _vectorise(self, bound: str, length: int) -> Form | None:
        """Give the loops over `length` elements in memory order their vector form, if that pays."""
        accesses = self.device_values.accesses
        if self.tuning.one_block:
            return None  # its arrays begin anywhere
        if self.shape_kind == "columns":
            return self._stream(streams_of(self.row_loops), length)
        form = choose_form(self.row_loops, accesses, self.cached)
        if form is None:
            # Sums of several elements are cheaper than as many sums.
            adds = any(fold.is_compensated for fold in self.folds.values() if isinstance(fold, DeviceFold))
            return self._stream(streams_of(self.row_loops, MOST_WEIGHT) if adds else 1, length)
        if self.team == "rows" and not (self.is_split or self.is_spread):
            form = replace(form, streams=1)  # the compiler unrolls loops of a known step itself
        name = self.namer.fresh("n_vectors")
        self.values.sizes[name] = length // (form.width * form.streams) if fits(form, self.row_loops, accesses) else 0
        self.aligned[name] = form.aligned
        for loop in self.row_loops:
            write_vectors(loop, form, accesses, self.cached, name, self.idx, self.namer)
        return form

    def _stream(self, streams: int, length: int) -> None:
        if streams > 1:
            name = self._size("n_rounds", length // streams)
            for loop in self.row_loops:
                write_streams(loop, streams, self.device_values.accesses, name, self.idx, self.namer)

    def _count(self, wish: str, axes: list[int]) -> str:
        """The name of the number of elements along `axes`."""
        if not axes:
            return "1"
        if len(axes) == 1:
            return self.bound(axes[0])
        name = self.namer.fresh(wish)
        self.values.sizes[name] = self.length(axes)
        return name

    def _over_grid(self, n: str, length: int) -> None:
        threads = self.tuning.threads
        self.grid, self.block = (max(1, min(-(-length // threads), self.tuning.blocks)), 1), (threads, 1)

    def _grid_loop(self, block: Block, n: str, axes: list[int], name: str) -> Block:
        """A loop over `n` elements, a grid apart, that binds the loop indices of `axes`."""
        name = self._linear_name(axes, name)
        start, step = f"np.{self.idx}(cuda.grid(1))", f"np.{self.idx}(cuda.gridsize(1))"
        body = block.loop(f"for {name} in range({start}, {n}, {step}):", *axes)
        self._split_index(body, axes, name)
        return body

    def _linear_name(self, axes: list[int], name: str) -> str:
        return f"i{axes[0]}" if len(axes) == 1 and not self.flat else name

    def _split_index(self, body: Block, axes: list[int], name: str) -> None:
        """The loop indices of `axes` from one that counts through all of them: unsigned divisions, which are short."""
        if self.flat or len(axes) < 2:
            return
        at = self.device_values.at
        rest = name
        for axis in reversed(axes[1:]):
            n = self.bound(axis)
            body.line(f"i{axis} = np.{self.idx}({at(rest)} % {at(n)})")
            target = f"i{axes[0]}" if axis == axes[1] else "rest"
            body.line(f"{target} = np.{self.idx}({at(rest)} // {at(n)})")
            rest = "rest"

    # ---- rows ----

    def _write_folds(self) -> None:
        self._choose_team()
        n_rows = self._count("n_rows", self.outer)
        length = self._count("n_elements" if self.flat else "row_length", self.inner)
        row = self._open_rows(n_rows, self.n_rows)
        reused = {} if self.is_split else self._kept_values()
        cache = self._allocate_cache(reused, length)
        for number, (folds, stores) in enumerate(self.rounds):
            available = {var for var, first in reused.items() if first < number}
            for var in available:
                own = self.device_values.element(self.outputs[var], var, self.at(var)) if var in self.outputs else ""
                self.values.stored[var] = (own or cache[var], self.at(var))
            if folds or stores:
                self._write_round(row, number, folds, stores, available, reused, cache, length)
        if self.is_split:
            self._leave_parts(row, n_rows)
        else:
            row_level = self._row_results()
            if row_level:
                self._store(row_level, self._only_first_lane(row))
        self._vectorise(length, self.row_length)
        self.extent = self.n_rows

    def _choose_team(self) -> None:
        t = self.tuning
        n, length = self.n_rows, self.row_length
        is_columns = self.shape_kind == "columns"
        if is_columns:
            self.team = "thread" if n >= t.many_columns or length <= t.column_lanes else "columns"
            # Lanes of columns meet in shared memory, with two states for each reduction at most.
            dtypes = [eqn.invars[0].aval.dtype for folds, _ in self.rounds for eqn in folds]
            if 2 * t.threads * sum(max(dtype.itemsize, 8) for dtype in dtypes) > MOST_SHARED_BYTES:
                self.team = "thread"
            lanes = t.column_lanes if self.team == "columns" else 1
        else:
            self.team = "thread" if length <= t.short_row and self.outer else "rows"
            lanes = self._row_team(n, length) if self.team == "rows" else 1
        slots = t.threads // lanes if self.outer else 1
        if self.team == "rows" and len(self.rounds) > 1 and lanes >= t.chain_lanes:
            slots = 1  # no row waits for others at the meetings of its block
        n_blocks = min(-(-n // slots), t.blocks) if n else 1
        # As many as the device holds at a time: one more would have all others wait for it.
        parts = min(t.parts // max(n_blocks, 1), length // (lanes * t.chunk))
        self.is_split = len(self.rounds) == 1 and n_blocks < t.fill and parts > 1 and self.team != "thread"
        self.n_parts = parts if self.is_split else 1
        self.grid = (max(n_blocks, 1), self.n_parts)
        self.block = (slots, lanes) if self.team == "columns" else (lanes, slots)
        if self.team == "thread":
            self._over_grid("", n)
        if t.target == "cuda" and self.team == "rows":
            self.meets = "warp shuffles"
        elif self.team != "thread":
            self.meets = "shared memory"

    def _row_team(self, n_rows: int, length: int) -> int:
        """Lanes for each of some rows: few, whose meetings take less of the time, unless rows are too few to fill the
        device then, or what they keep does not fit into shared memory."""
        t, most = self.tuning, self.tuning.row_lanes(length)
        widest = max((v.aval.dtype.itemsize for v in self.cluster.invars if v.aval.ndim), default=8)
        kept = sum(v.aval.dtype.itemsize for v in self._reused() if v not in self.outputs)
        lanes = t.warp
        while lanes < most:
            slots = t.threads // lanes
            lane_bytes, fill = t.lane_bytes, t.fill
            if len(self.rounds) == 1:  # the last blocks run beside few others: each is to be a small part
                lane_bytes, fill = t.fold_lane_bytes, 16 * t.fill
            is_busy = n_rows >= slots * fill and lanes * lane_bytes >= length * widest
            if is_busy and slots * length * kept <= t.row_bytes:
                break
            lanes *= 2
        return lanes

    def _open_rows(self, n_rows: str, length: int) -> Block:
        """The loop over rows; inside, a team's lanes work on one. Past the end teams repeat the last row: none may miss
        a meeting."""
        root = self.root
        if self.team == "thread":
            return self._grid_loop(root, n_rows, self.outer, "o")
        lane, slot = ("y", "x") if self.team == "columns" else ("x", "y")
        across = self.block[0]
        n_across = self._number_threads(root, lane, across)
        for name, axis in (("n_lanes", lane), ("n_slots", slot)):
            # A number that the compiler knows: loops over a row divide by it to know how often they run.
            text = str(self.block["xy".index(axis)])
            if self.tuning.one_block:
                text = n_across if axis == "x" else f"{self.device_values.at('cuda.blockDim.x')} // {n_across}"
            root.line(f"{name} = np.{self.idx}({text})")
        if not self.outer:
            return root
        # A range is of 32 bits if all its numbers are; numba's products are not.
        start, step = (f"np.{self.idx}(np.{self.idx}(cuda.{at}.x) * n_slots)" for at in ("blockIdx", "gridDim"))
        row = root.loop(f"for first in range({start}, {n_rows}, {step}):", *self.outer)
        name = self._linear_name(self.outer, "o")
        row.line(f"{name} = np.{self.idx}(min(first + slot, {n_rows} - 1))")
        self._split_index(row, self.outer, name)
        return row

    def _number_threads(self, root: Block, lane: str, across: int) -> str:
        """Bind `lane` and `slot`. lane: the axis of the block that the lanes lie along; across: the threads along x. A
        block of one axis is taken for one of two; gives the text of how many threads it has along x then."""
        at, slot = self.device_values.at, "y" if lane == "x" else "x"
        place = {"x": "cuda.threadIdx.x", "y": "cuda.threadIdx.y"}
        n_across = ""
        if self.tuning.one_block:
            n_across = at(self._size("across", across))
            place = {"x": f"{at(place['x'])} % {n_across}", "y": f"{at(place['x'])} // {n_across}"}
        root.line(f"lane = np.{self.idx}({place[lane]})")
        root.line(f"slot = np.{self.idx}({place[slot]})")
        return n_across

    def _lanes(self) -> tuple[str, str]:
        """Where a thread begins in its row, and how far it steps."""
        if self.team == "thread":
            return "0", "1"
        if self.is_split or self.is_spread:
            row = f"np.{self.idx}(np.{self.idx}(cuda.blockIdx.y) * n_lanes + lane)"
            return row, f"np.{self.idx}(np.{self.idx}(cuda.gridDim.y) * n_lanes)"
        return "lane", "n_lanes"

    def _open_row(self, row: Block, length: str) -> Block:
        name = "i" if self.flat else self._linear_name(self.inner, "r")
        start, step = self._lanes()
        body = row.loop(f"for {name} in range({start}, {length}, {step}):", *self.inner)
        self._split_index(body, self.inner, name)
        if (self.team == "rows" or self.shape_kind == "columns") and (self.flat or len(self.inner) == 1):
            self.row_loops.append(RowLoop(row, body, -1 if self.flat else self.inner[0], name, start, step, length))
        return body

    def _write_round(
        self, row: Block, number: int, folds: list[Equation], stores: list[Var], available: set[Var],
        reused: dict[Var, int], cache: dict[Var, str], length: str,
    ) -> None:  # fmt: skip
        new = [self._fold(eqn, blocked=False) for eqn in folds]
        for fold in new:
            for state in fold.states:
                row.line(f"{state.name} = {state.start}", self._numbers(fold.eqn))
        body = self._open_row(row, length)
        self._compute_in_step(self._demand(number, available), body)
        for fold in new:
            self._update(fold, body)
        for var, first in reused.items():
            if first == number and var not in self.outputs:
                body.line(f"{cache[var]} = {self.values.value(var, self.at(var), body)}")
        self._store(stores, body)
        row.close_loop()
        self._meet(row, new)
        if not self.is_split:
            for fold in new:
                self._finish(fold, row, tuple(s.name for s in fold.states))

    def _fold(self, eqn: Equation, *, blocked: bool) -> DeviceFold:
        out = eqn.outvars[0]
        wish = out.hint or eqn.origin.name or self.cluster_name(eqn)
        fold = DeviceFold(eqn, self.namer.fresh(f"{wish}_acc"), self.values.called, blocked=False)
        self.folds[out] = fold
        return fold

    # ---- lanes meet ----

    def _meet(self, row: Block, folds: Sequence[Fold]) -> None:
        """Merge the lanes' states, so that every lane knows the whole."""
        if self.team == "thread" or not folds:
            return
        states = [(fold, state) for fold in folds for state in fold.states]
        others = {state: f"{state.name}_other" for _, state in states}
        group, n_groups = "lane", "n_lanes"
        if self.meets == "warp shuffles":
            row.line(f"offset = {self.tuning.warp // 2}")
            loop = row.loop("while offset > 0:")
            for _, state in states:
                loop.line(f"{others[state]} = {shuffled(state.name, state.dtype)}")
            self._merge_states(loop, folds, others)
            loop.line("offset //= 2")
            row.close_loop()
            group, n_groups = f"lane // {self.tuning.warp}", f"n_lanes // {self.tuning.warp}"
            if self.block[0] == self.tuning.warp and not self.tuning.one_block:
                for _, state in states:
                    row.line(f"{state.name} = {first_lanes(state.name, state.dtype)}")
                return
        # Neighbouring threads write neighbouring elements, so that no two meet in one bank.
        width = f"({n_groups})" if "/" in n_groups else n_groups
        place, base, step = f"slot * {width} + {group}", f"slot * {width}", "1"
        if self.team == "columns":
            place, base, step = "lane * n_slots + slot", "slot", "n_slots"
        shared = {}
        for _, state in states:
            shared[state] = self._shared_array(state)
        writer = row
        if self.meets == "warp shuffles":
            writer = row.loop(f"if lane % {self.tuning.warp} == 0:")
        for _, state in states:
            writer.line(f"{shared[state]}[{self._at(place)}] = {state.name}")
        row.close_loop()
        row.line("cuda.syncthreads()")
        for _, state in states:
            row.line(f"{state.name} = {shared[state]}[{self._at(base)}]")
        loop = row.loop(f"for group in range(1, {n_groups}):")
        for _, state in states:
            at = f"{base} + group" if step == "1" else f"{base} + group * {step}"
            loop.line(f"{others[state]} = {shared[state]}[{self._at(at)}]")
        self._merge_states(loop, folds, others)
        row.close_loop()
        row.line("cuda.syncthreads()")

    def _at(self, text: str) -> str:
        return self.device_values.at(text)

    def _merge_states(self, block: Block, folds: Sequence[Fold], others: dict[State, str]) -> None:
        for fold in folds:
            names = tuple(s.name for s in fold.states)
            for line in fold.merge(names, tuple(others[s] for s in fold.states)):
                block.line(line, self._numbers(fold.eqn))

    def _shared_array(self, state: State) -> str:
        """An array of the block's with an element for each thread, or each warp where these meet by shuffles. Lines at
        the top: shared memory has no scope."""
        name = self.namer.fresh(f"{state.name}_shared")
        kind = "boolean" if state.dtype.kind == "b" else state.dtype.name
        n = self.tuning.threads // (self.tuning.warp if self.meets == "warp shuffles" else 1)
        self.root.items.insert(0, (f"{name} = cuda.shared.array({n}, types.{kind})", ()))
        if self.root.open_loop is not None:
            self.root.open_loop += 1
        return name

    def _only_first_lane(self, row: Block) -> Block:
        return row if self.team == "thread" else row.loop("if lane == 0:")

    # ---- the row on chip ----

    def _kept_values(self) -> dict[Var, int]:
        """Values that a later pass over the row reads back: from the result if they are one, else from shared memory
        where there is room."""
        kept: dict[Var, int] = {}
        n_bytes = 0
        for var, first in self._reused().items():
            if var not in self.outputs:
                if self.team != "rows":
                    continue
                size = self.block[1] * self.row_length * var.aval.dtype.itemsize
                if n_bytes + size > self.tuning.row_bytes:
                    continue
                n_bytes += -(-size // 16) * 16
            kept[var] = first
        self.shared_bytes = n_bytes  # beside the arrays in which lanes meet, which are few and small
        return kept

    def _allocate_cache(self, reused: dict[Var, int], length: str) -> dict[Var, str]:
        """How each kept value of the row is spelled: an element of dynamic shared memory, written by the lane that
        reads it again."""
        cache: dict[Var, str] = {}
        offset = 0
        name = "i" if self.flat else self._linear_name(self.inner, "r")
        for var in reused:
            if var in self.outputs:
                continue
            dtype = var.aval.dtype
            array = self.namer.fresh(f"{var.hint or self.values.producer[var].primitive.name}_row")
            kind = "boolean" if dtype.kind == "b" else dtype.name
            self.root.items.insert(0, (f"{array} = cuda.shared.array(0, types.{kind})", ()))
            if self.root.open_loop is not None:
                self.root.open_loop += 1
            start = ""
            if offset:
                start = self.namer.fresh(f"{array}_start")
                self.values.sizes[start] = offset // dtype.itemsize
                start += " + "
            before = f"{start}slot * {length} + "
            cache[var] = f"{array}[{self._at(before + name)}]"
            self.cached[cache[var]] = (array, before)
            size = self.block[1] * self.row_length * dtype.itemsize
            offset += -(-size // 16) * 16
        return cache

    # ---- results ----

    def _store(self, outs: list[Var], body: Block) -> None:
        """Compute all results, then store them."""
        texts = [(out, self.values.value(out, self.at(out), body)) for out in outs]
        for out, text in texts:
            index = self.at(out)
            if index != self.values.canonical:
                self.values.irregular = True
            target = self.device_values.element(self.outputs[out], out, index)
            body.line(f"{target} = {text}", self._numbers(self.values.producer[out]))

    def _leave_parts(self, row: Block, n_rows: str) -> None:
        block = self._only_first_lane(row)
        part = f"np.{self.idx}(cuda.blockIdx.y)"
        place = f"{part} * {n_rows} + {self._row_name()}" if self.outer else part
        for fold in self.folds.values():
            for state in fold.states:
                name = self.namer.fresh(f"{state.name}_parts")
                self.scratch.append(Scratch(name, state.dtype.name))
                block.line(f"{name}[{self._at(place)}] = {state.name}", self._numbers(fold.eqn))

    def _row_name(self) -> str:
        return "o" if len(self.outer) != 1 or self.flat else f"i{self.outer[0]}"

    def write_finish(self, finished: list[Var]) -> None:
        """Begin a new body: merge the parts of each row, and store what follows from the totals."""
        self.root = Block()
        self.is_split = False
        self.team = "thread" if self.outer else "rows"
        t = self.tuning
        self.shared_bytes = 0
        self.meets = ""
        if self.team == "rows":
            self.grid, self.block = (1, 1), (t.threads, 1)
            self.meets = "warp shuffles" if t.target == "cuda" else "shared memory"
        else:
            self._over_grid("", self.n_rows)
        n_rows = self._count("n_rows", self.outer)
        n_parts = self._size("n_parts", self.n_parts)
        row = self._open_rows(n_rows, self.n_rows)
        folds = list(self.folds.values())
        for fold in folds:
            for state in fold.states:
                row.line(f"{state.name} = {state.start}", self._numbers(fold.eqn))
        start, step = self._lanes()
        loop = row.loop(f"for part in range({start}, {n_parts}, {step}):")
        place = self._at(f"part * {n_rows} + {self._row_name()}" if self.outer else "part")
        scratch = iter(self.scratch)
        others = {}
        for fold in folds:
            for state in fold.states:
                others[state] = f"{state.name}_other"
                loop.line(f"{others[state]} = {next(scratch).name}[{place}]")
        self._merge_states(loop, folds, others)
        row.close_loop()
        self._meet(row, folds)
        for fold in folds:
            self._finish(fold, row, tuple(s.name for s in fold.states))
        self._store(finished, self._only_first_lane(row))
