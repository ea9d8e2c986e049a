"""Loops of a plan written on tapes.

The body's plan is walked once, as the driver's text is written (`executable`), with the same decisions about memory:
what takes over which block, what a loop or branch is given, what must be copied. Here each decision becomes an
instruction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...codegen.kernel import Kernel, KernelArg
from ...codegen.llvm_entry import is_strided
from ...codegen.llvm_tape import copy_each, take_rows
from ...fusion import BranchStep, Cluster, LibraryStep, LoopStep, Plan, Step, ViewStep, step_inputs, step_outputs
from ...ir import Atom, Aval, Equation, Literal, Var
from ...primitives.contractions import dot_general_p
from ...primitives.control_flow import check_p
from ...primitives.indexing import check_indices_p, dynamic_slice_p, gather_checked_p, gather_nd_p
from ...primitives.movement import concatenate_p
from ...primitives.updates import scatter_p
from ..memory.moves import pieces_of, regions_around
from ..memory.placement import Placement
from ..native.kernels import Code, CompiledKernel, NotNativeError
from ..native.threads import may_share, share
from ..views import stays_view, view_of
from .lapack import ROUTINES, write_lapack
from .products import write_product
from .tape import Block, Place, Tape, outline


def write_loop(
    tape: Tape, code: Code, step: LoopStep, placements: Sequence[Placement], operands: Sequence[Place],
    given: Sequence[bool], stacks: Sequence[Place] | None = None,
) -> list[Place]:  # fmt: skip
    """The instructions of a loop: where its results are, in blocks that belong to who asked for it. given: the operands
    whose blocks the loop may keep. stacks: where the rows of a scan are put, if not in new blocks. NotNativeError if
    something of it takes Python."""
    params = step.eqn.params
    if step.condition is not None:
        n_cond, n_consts = params["cond_nconsts"], params["body_nconsts"]
        n_carry = len(step.eqn.outvars)
    else:
        n_cond, n_consts, n_carry = 0, params["num_consts"], params["num_carry"]
    first = n_cond + n_consts
    consts, rows = operands[n_cond:first], operands[first + n_carry :]
    carry: list[Place] = []
    for operand, is_given in zip(operands[first : first + n_carry], given[first : first + n_carry], strict=True):
        if is_given:
            block = Block(tape.word(), operand.block.size)
            tape.emit("move", block.slot, operand.block.slot, 0)
        else:
            block = tape.new(operand.array.nbytes)
            tape.copy(block.slot, operand)
        carry.append(Place(block, 0, outline(operand.array.shape, operand.array.dtype)))
    if step.condition is not None:
        head = len(tape.code)
        lent = [Place(Block(p.block.slot), 0, p.array) for p in carry]
        (holds,) = _PlanWriter(tape, code, step.condition, placements[0], [*operands[:n_cond], *lent]).write()
        flag = tape.word()
        tape.emit("read1", flag, holds.block.slot)
        tape.free(holds.block)
        end = tape.emit("jump_if", flag, 0, 0)
        _write_body(tape, code, step.body, placements[1], consts, carry, [])
        tape.emit("again", head)
        tape.land(end)
        return carry
    length, repeated = params["length"], placements[0].repeated
    if repeated is not None:
        _write_repeated(tape, code, step.body, placements[0], [*consts, *carry], repeated)
        return carry
    avals = params["jaxpr"].out_avals[n_carry:]
    if stacks is None:
        stacks = [_new_place(tape, Aval((length, *a.shape), a.dtype)) for a in avals]
    counter, by = tape.word(), -1 if params["reverse"] else 1
    tape.emit("set", counter, length - 1 if params["reverse"] else 0)
    head = len(tape.code)
    end = tape.emit("jump_if", counter, -1 if params["reverse"] else length, 0)
    parts = [_row(tape, row, counter) for row in rows]
    results = _write_body(tape, code, step.body, placements[0], consts, carry, parts)
    for stack, result in zip(stacks, results, strict=True):
        if result.array.nbytes:
            tape.copy(_row(tape, stack, counter).block.slot, result)
        tape.free(result.block)
    tape.emit("add", counter, by)
    tape.emit("again", head)
    tape.land(end)
    return [*carry, *stacks]


def write_plan(tape: Tape, code: Code, plan: Plan, placement: Placement, inputs: Sequence[Place]) -> list[Place]:
    """The instructions of a whole plan, whose inputs stay as they are: where its results are."""
    return _PlanWriter(tape, code, plan, placement, inputs).write()


def _new_place(tape: Tape, aval: Aval) -> Place:
    return Place(tape.new(aval.nbytes), 0, outline(aval.shape, aval.dtype))


def _row(tape: Tape, place: Place, counter: int) -> Place:
    if not place.array.flags.c_contiguous:
        raise NotNativeError("rows of an array that is not in C order")
    row = outline(place.array.shape[1:], place.array.dtype)
    slot = tape.word()
    tape.emit("row", slot, tape.moved(place), counter, row.nbytes)
    return Place(Block(slot), 0, row)


def _write_body(
    tape: Tape, code: Code, plan: Plan, placement: Placement, consts: Sequence[Place], carry: Sequence[Place],
    rows: Sequence[Place],
) -> list[Place]:  # fmt: skip
    """One iteration; the results that are not carried."""
    inputs = [*map(_lent, consts), *carry, *rows]
    results = _PlanWriter(tape, code, plan, placement, inputs).write()
    # What lies in a block that was carried here is read before the word gets another block.
    written = {p.block.slot for p, r in zip(carry, results, strict=False) if p.block.slot != r.block.slot}
    moved: list[Place] = []
    for k, result in enumerate(results):
        stays = k < len(carry) and result.block.slot == carry[k].block.slot
        if result.block.slot in written and not stays:
            block = Block(tape.word(), result.block.size)
            tape.emit("move", block.slot, result.block.slot, 0)
            result = Place(block, 0, result.array)
        moved.append(result)
    for place, result in zip(carry, moved, strict=False):
        if place.block.slot != result.block.slot:
            tape.emit("move", place.block.slot, result.block.slot, 0)
    return moved[len(carry) :]


def _lent(place: Place) -> Place:
    return Place(Block(place.block.slot), place.offset, place.array)


def _write_repeated(
    tape: Tape, code: Code, plan: Plan, placement: Placement, inputs: Sequence[Place], cluster: Cluster
) -> None:
    """A loop whose iterations are all inside of one kernel."""
    writer = _PlanWriter(tape, code, plan, placement, inputs)
    kernel = placement[cluster.id]
    writer.places.update({out: writer.places[base] for out, base in kernel.takes.items()})
    writer.launch(code.compiled[cluster.id], kernel, {})
    writer.mark(cluster.id)


class _PlanWriter:
    """Writes what a plan does in one run. inputs: those in blocks with a pool belong to the plan."""

    def __init__(self, tape: Tape, code: Code, plan: Plan, placement: Placement, inputs: Sequence[Place]):
        self.tape, self.code, self.plan, self.placement = tape, code, plan, placement
        self.places: dict[Var, Place] = {}
        self.owned: list[Block] = []
        jaxpr = plan.jaxpr
        for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            self.places[var] = tape.constant(value)
        for var, place in zip(jaxpr.invars, inputs, strict=True):
            block = Block(place.block.slot, place.block.size, [var])
            self.places[var] = Place(block, place.offset, place.array)
            if block.size is not None:
                self.owned.append(block)
        self.last: dict[Var, float] = {}
        for position, step in enumerate(plan.steps):
            taken = [placement.takes[v] for v in step_outputs(step) if v in placement.takes]
            self.last.update(dict.fromkeys((*step_inputs(step), *step_outputs(step), *taken), position))
        self.last.update({v: float("inf") for v in plan.outvars if isinstance(v, Var)})

    def write(self) -> list[Place]:
        """The steps; where the results are, each in a block of its own."""
        for position, step in enumerate(self.plan.steps):
            self.step(step)
            for block in [b for b in self.owned if all(self.last.get(v, -1) <= position for v in b.members)]:
                self.owned.remove(block)
                self.tape.free(block)
        results: list[Place] = []
        for k, atom in enumerate(self.plan.outvars):
            place = self.place(atom)
            if k in self.placement.copied or place.block not in self.owned or not place.is_whole:
                results.append(self.copied(place))
            else:
                self.owned.remove(place.block)
                results.append(place)
        for block in self.owned:
            self.tape.free(block)
        return results

    def copied(self, place: Place) -> Place:
        block = self.tape.new(place.array.nbytes)
        self.tape.copy(block.slot, place)
        return Place(block, 0, outline(place.array.shape, place.array.dtype))

    def place(self, atom: Atom) -> Place:
        if isinstance(atom, Literal):
            return self.tape.constant(np.asarray(atom.val, atom.aval.dtype))
        return self.places[atom]

    def put(self, var: Var, place: Place) -> None:
        self.places[var] = place
        place.block.members.append(var)

    def new(self, var: Var) -> Place:
        place = _new_place(self.tape, var.aval)
        self.owned.append(place.block)
        self.put(var, place)
        return place

    def step(self, step: Step) -> None:
        match step:
            case Cluster():
                self.cluster(step)
            case ViewStep():
                self.view(step.eqn)
            case LibraryStep(eqn=eqn) if eqn.primitive is dot_general_p:
                self.product(eqn)
            case LibraryStep(eqn=eqn) if eqn.primitive in (gather_checked_p, gather_nd_p):
                self.read_part(eqn)
            case LibraryStep(eqn=eqn) if eqn.primitive is dynamic_slice_p:
                self.read_window(eqn)
            case LibraryStep(eqn=eqn) if eqn.primitive is scatter_p and eqn.params["op"] == "set":
                self.write_part(eqn)
            case LibraryStep(eqn=eqn) if eqn.primitive is concatenate_p:
                self.join(eqn)
            case LibraryStep(eqn=eqn) if eqn.primitive in (check_p, check_indices_p):
                self.check(eqn)
            case LibraryStep(eqn=eqn) if eqn.primitive in ROUTINES:
                operands = [self.place(atom) for atom in eqn.invars]
                write_lapack(self.tape, eqn, operands, self.new(eqn.outvars[0]))
            case BranchStep():
                self.branch(step)
            case LoopStep():
                self.loop(step)
            case _:
                raise NotNativeError(f"{step.eqn.primitive.name} is a call of NumPy")
        self.mark(step.id)

    def mark(self, step: str) -> None:
        if self.code.timed:
            steps = self.tape.steps
            if step not in steps:
                steps[step] = self.tape.word()
                self.tape.word()
            self.tape.emit("mark", steps[step])

    # ---- kernels ----

    def cluster(self, step: Cluster) -> None:
        kernel, tape = self.placement[step.id], self.tape
        for arg in kernel.results:
            if arg.var is not None and arg.var not in self.places:
                self.result(step, kernel, arg)
        scratch = {
            arg.name: tape.own(int(np.prod(arg.shape, dtype=np.int64)) * np.dtype(arg.dtype).itemsize)
            for arg in kernel.args
            if arg.kind in ("scratch", "update")
        }
        self.launch(self.code.compiled[step.id], kernel, scratch)
        if kernel.finish is not None:
            self.launch(self.code.finishers[step.id], kernel.finish, scratch)
        for arg in kernel.results:
            if arg.kind == "update" and arg.var is not None:
                self.write_update(step.producer(arg.var), self.places[arg.var], scratch[arg.name])

    def result(self, step: Cluster, kernel: Kernel, arg: KernelArg) -> None:
        var = arg.var
        assert var is not None
        taken = self.placement.takes.get(var)
        if taken is None:
            place = self.new(var)
        else:
            place = self.places[taken]
            self.put(var, place)
        base = step.stores.get(var)
        if base is not None and var not in kernel.takes and arg.kind == "out":
            if not place.array.flags.c_contiguous:
                raise NotNativeError(f"{step.id} writes into a part of an array")
            self.copy_around(step.producer(var), place, self.places[base])

    def copy_around(self, eqn: Equation, target: Place, base: Place) -> None:
        """What the update `eqn` of `base` leaves alone."""
        tape, found = self.tape, regions_around(eqn) if base.array.flags.c_contiguous else None
        regions = [pieces_of(base.array, region) for region in found or ()]
        if found is None or any(pieces is None for pieces in regions):
            tape.copy(tape.moved(target), base)
            return
        for first, n, n_bytes, by in (piece for pieces in regions for piece in pieces or ()):
            to, source = (target.block.slot, target.offset + first), (base.block.slot, base.offset + first)
            tape.copy_pieces(to, source, n, n_bytes, by, by)

    def write_update(self, eqn: Equation, target: Place, update: int) -> None:
        """The elements at the address in the word `update`, put where the update `eqn` puts them."""
        if eqn.primitive.name != "update_slice" or not target.array.flags.c_contiguous:
            raise NotNativeError(f"{eqn.primitive.name} of an array that is read, too")
        tape, shape, starts = self.tape, eqn.invars[1].aval.shape, eqn.params["start_indices"]
        steps = eqn.params["strides"] or (1,) * len(starts)
        pieces = pieces_of(target.array, tuple(map(_run, starts, shape, steps)))
        if pieces is None:
            raise NotNativeError("an update in many pieces of an array that is read, too")
        done = 0
        for first, n, n_bytes, by in pieces:
            tape.copy_pieces((target.block.slot, target.offset + first), (update, done), n, n_bytes, by, n_bytes)
            done += n * n_bytes

    def launch(self, compiled: CompiledKernel, kernel: Kernel, scratch: Mapping[str, int]) -> None:
        if not compiled.address:
            raise NotNativeError(f"numba compiled {kernel.name}")
        if not kernel.extent:
            return
        tape, table, later, address = self.tape, len(self.tape.words), [], compiled.address
        if may_share(kernel.extent, kernel.grain, self.code.n_threads):
            address, program = share(address, kernel.extent, kernel.grain, self.code.n_threads)
            tape.kept.append(program)
            tape.word(program.__array_interface__["data"][0])
            tape.word(len(program))
        for arg in kernel.args:
            if arg.kind == "size":
                tape.word(arg.value)
                continue
            array, slot, offset = self.argument(arg, scratch)
            later.append((tape.word(), slot, offset))
            for length in array.shape:
                tape.word(length)
            if is_strided(arg):
                for stride in array.strides:
                    tape.word(stride)
            elif not array.flags.c_contiguous:
                raise NotNativeError(f"{kernel.id} reads an array that is not in C order")
        for target, slot, offset in later:
            tape.emit("move", target, slot, offset)
        tape.emit("call", tape.word(address), table, kernel.extent)

    def argument(self, arg: KernelArg, scratch: Mapping[str, int]) -> tuple[np.ndarray, int, int]:
        if arg.kind in ("scratch", "update"):
            return outline(arg.shape, np.dtype(arg.dtype)), scratch[arg.name], 0
        assert arg.var is not None
        place = self.places[arg.var]
        return place.array, place.block.slot, place.offset

    # ---- views and products ----

    def view(self, eqn: Equation) -> None:
        place, function = self.place(eqn.invars[0]), view_of(eqn.primitive.name)
        if function is None or (eqn.primitive.name in ("reshape", "squeeze") and not place.array.flags.c_contiguous):
            raise NotNativeError(f"{eqn.primitive.name} of an array that is not in C order")
        out, array = eqn.outvars[0], function(place.array, **eqn.params)
        offset = array.__array_interface__["data"][0] - place.array.__array_interface__["data"][0]
        view = Place(place.block, place.offset + (offset if array.size else 0), array)
        if stays_view(eqn, self.plan):
            self.put(out, view)
        else:
            self.tape.copy(self.new(out).block.slot, view)

    def product(self, eqn: Equation) -> None:
        x, y = map(self.place, eqn.invars)
        write_product(self.tape, eqn, (x, y), lambda: self.new(eqn.outvars[0]), self.code.n_threads)

    # ---- parts at indices ----

    def read_part(self, eqn: Equation) -> None:
        """`x[i]`, `x[:, i, j]`: whole numbers as indices of axes beside each other; `x[rows]`: an array of them."""
        x, *indices = map(self.place, eqn.invars)
        if len(indices) == 1 and indices[0].array.ndim and eqn.params["axes"] == (0,):
            self.read_rows(eqn, x, indices[0])
            return
        slot, n, step, size = self.part(x, indices, eqn)
        out = self.new(eqn.outvars[0])
        if n * size:
            self.tape.emit(copy_each(size), out.block.slot, slot, n, size, size, step)

    def read_rows(self, eqn: Equation, x: Place, rows: Place) -> None:
        pieces = pieces_of(x.array, (slice(0, 1),)) if eqn.outvars[0].aval.size else [(0, 1, 0, 0)]
        if eqn.params.get("mode", "raise") not in ("raise", "promise"):
            raise NotNativeError("indices that are clipped or wrapped")
        if rows.array.dtype != np.int64 or not rows.array.flags.c_contiguous:
            raise NotNativeError("indices that are no integers of 64 bits in C order")
        if eqn.params["position"] != 0 or pieces is None or len(pieces) != 1 or pieces[0][1] != 1:
            raise NotNativeError("rows that do not lie in one piece")
        size, tape, out = pieces[0][2], self.tape, self.new(eqn.outvars[0])
        if size:
            slots = out.block.slot, tape.moved(x), tape.moved(rows)
            tape.emit(take_rows(size), *slots, rows.array.size, size, x.array.strides[0], len(x.array))

    def read_window(self, eqn: Equation) -> None:
        """`x[i : i + n]`, moved to where it is inside."""
        x, tape = self.place(eqn.invars[0]), self.tape
        sizes, shape = eqn.params["slice_sizes"], x.array.shape
        pieces = pieces_of(x.array, tuple(slice(0, n) for n in sizes))
        if pieces is None or len(pieces) > 1:
            raise NotNativeError("a window of an array that lies in memory in several pieces a row")
        _, n, size, step = pieces[0] if pieces else (0, 0, 0, 0)
        slot = tape.moved(x)
        for axis, atom in enumerate(eqn.invars[1:]):
            index = self.place(atom)
            if sizes[axis] == shape[axis]:
                continue
            if index.array.dtype not in (np.int64, np.int32):
                raise NotNativeError("the start of a window that is no integer of 32 or 64 bits")
            at, source, slot = tape.word(), slot, tape.word()
            tape.emit(f"read{index.array.itemsize}", at, tape.moved(index))
            tape.emit("clamped", at, shape[axis] - sizes[axis])
            tape.emit("row", slot, source, at, x.array.strides[axis])
        out = self.new(eqn.outvars[0])
        if n * size:
            tape.emit(copy_each(size), out.block.slot, slot, n, size, size, step)

    def write_part(self, eqn: Equation) -> None:
        """`x[i] = update`, in place where x is not needed any more."""
        x, *indices, update = map(self.place, eqn.invars)
        out = eqn.outvars[0]
        if out in self.placement.takes:
            self.put(out, x)
        else:
            self.tape.copy(self.new(out).block.slot, x)
        slot, n, step, size = self.part(self.places[out], indices, eqn)
        if update.array.nbytes != n * size or not update.array.flags.c_contiguous:
            raise NotNativeError("a part is written that is not in C order")
        if n * size:
            self.tape.emit(copy_each(size), slot, self.tape.moved(update), n, size, step, size)

    def join(self, eqn: Equation) -> None:
        """Copy arrays beside each other along an axis."""
        axis, out = eqn.params["dimension"], self.new(eqn.outvars[0])
        shape, itemsize = out.array.shape, out.array.itemsize
        n_rows, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :]) * itemsize
        done = 0
        for place in map(self.place, eqn.invars):
            n_bytes = place.array.shape[axis] * inner
            if n_rows * n_bytes:
                if not place.array.flags.c_contiguous:
                    place = self.copied(place)
                    self.owned.append(place.block)
                source, target = (place.block.slot, place.offset), (out.block.slot, out.offset + done)
                self.tape.copy_pieces(target, source, n_rows, n_bytes, shape[axis] * inner, n_bytes)
            done += n_bytes

    def part(self, x: Place, indices: Sequence[Place], eqn: Equation) -> tuple[int, int, int, int]:
        """A word with the address of a part's first piece, the number of pieces, their distance and size in bytes. An
        index that is out of range makes the tape stop, so that Python raises the error."""
        axes, tape = eqn.params["axes"], self.tape
        if eqn.params.get("mode", "raise") not in ("raise", "promise"):
            raise NotNativeError("indices that are clipped or wrapped")
        if any(i.array.ndim or i.array.dtype not in (np.int64, np.int32) for i in indices):
            raise NotNativeError("an index that is an array")
        if tuple(axes) != tuple(range(axes[0], axes[0] + len(axes))):
            raise NotNativeError("indices of axes that are not beside each other")
        pieces = pieces_of(x.array, (*[slice(None)] * axes[0], *[slice(0, 1)] * len(axes)))
        if pieces is None or len(pieces) > 1:
            raise NotNativeError("a part of an array that lies in memory in several pieces a row")
        _, n, size, step = pieces[0] if pieces else (0, 0, 0, 0)
        slot = tape.moved(x)
        for axis, index in zip(axes, indices, strict=True):
            at, source, slot = tape.word(), slot, tape.word()
            tape.emit(f"read{index.array.itemsize}", at, tape.moved(index))
            tape.emit("within", at, x.array.shape[axis])
            tape.emit("row", slot, source, at, x.array.strides[axis])
        return slot, n, step, size

    def check(self, eqn: Equation) -> None:
        """What must hold for the program to go on. Where it does not, the tape stops and Python raises the error."""
        place, flag = self.place(eqn.invars[0]), self.tape.word()
        self.tape.emit("read1", flag, self.tape.moved(place))
        if eqn.primitive is check_p:
            self.tape.checks.append(eqn)
            self.tape.emit("checks", flag, len(self.tape.checks))
        else:
            self.tape.emit("holds", flag)
        self.put(eqn.outvars[0], place)

    # ---- loops and branches ----

    def handed(self, step: BranchStep | LoopStep) -> tuple[list[Place], tuple[bool, ...]]:
        """The operands of a step, and which of them are given up to it; their blocks are no longer this plan's."""
        given = self.placement.given[step.id]
        operands = []
        for atom, is_given in zip(step.eqn.invars, given, strict=True):
            place = self.place(atom)
            if is_given:
                if place.block not in self.owned or not place.is_whole:
                    raise NotNativeError(f"{step.id} is given a part of an array")
                self.owned.remove(place.block)
            else:
                place = _lent(place)
            operands.append(place)
        return operands, given

    def loop(self, step: LoopStep) -> None:
        operands, given = self.handed(step)
        results = write_loop(self.tape, self.code, step, self.placement.inner[step.id], operands, given)
        self.receive(step.eqn.outvars, results)

    def receive(self, outvars: Sequence[Var], results: Sequence[Place]) -> None:
        for var, result in zip(outvars, results, strict=True):
            block = Block(result.block.slot, result.block.size)
            self.owned.append(block)
            self.put(var, Place(block, 0, result.array))

    def branch(self, step: BranchStep) -> None:
        tape, (index, *_) = self.tape, step.eqn.invars
        (chosen, *operands), _ = self.handed(step)
        which = tape.word()
        if index.aval.dtype.itemsize not in (1, 4, 8) or index.aval.dtype == np.int8:
            raise NotNativeError(f"a branch chosen by {index.aval.dtype}")
        tape.emit(f"read{index.aval.dtype.itemsize}", which, tape.moved(chosen))
        slots = [tape.word() for _ in step.eqn.outvars]
        ends: list[int] = []
        results: list[Place] = []
        for k, (plan, placement) in enumerate(zip(step.plans, self.placement.inner[step.id], strict=True)):
            here = tape.emit("jump_if", which, k, 0)
            other = tape.emit("jump", 0)
            tape.land(here)
            results = _PlanWriter(tape, self.code, plan, placement, operands).write()
            for slot, result in zip(slots, results, strict=True):
                tape.emit("move", slot, result.block.slot, 0)
            ends.append(tape.emit("jump", 0))
            tape.land(other)
        tape.emit("holds", tape.word())  # of zero: an index without a branch is left to Python
        tape.land(*ends)
        moved = [Place(Block(s, r.block.size), 0, r.array) for s, r in zip(slots, results, strict=True)]
        self.receive(step.eqn.outvars, moved)


def _run(start: int, size: int, step: int) -> slice:
    return slice(start, start + size * step, step)
