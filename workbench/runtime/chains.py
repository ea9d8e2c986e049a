"""Chains: kernels of a plan that run together, some rows of all of them and then the next rows.

Kernels that hand each other arrays row by row (a fused formula, a prefix sum along the rows, what follows from both)
need not each go through all of memory: while the rows at hand are in the cache, every kernel does its part of them.
What nobody else reads then never becomes an array, and threads meet once instead of once a kernel. A kernel may read
rows around those that it writes: the ones before it are then some rows ahead, and threads compute the rows where their
ranges meet for themselves. Each kernel is what it would be alone, so that the results have the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..codegen.copies import copy_kernel
from ..codegen.kernel import Kernel, KernelArg
from ..codegen.llvm_chain import ALIGNMENT, MACHINE, N_OWN, SYMBOL, Launch, Move, Slide, chain_program
from ..codegen.llvm_entry import n_words
from ..codegen.scans import scan_kernel
from ..fusion import Cluster, LibraryStep, Plan, Step, ViewStep, step_inputs, step_outputs
from ..ir import Var
from .memory.placement import Placement
from .native.kernels import CompiledKernel, compile_kernel, machine_address
from .row_products import (
    LEAST_BYTES,
    LEAST_BYTES_BESIDE,
    LEAST_ROWS,
    ROWS,
    RowProduct,
    row_product,
    wakes_threads,
)
from .rows import Around, Rows, n_rows, rows_of
from .views import stays_view

# What the rows at hand may take: half of the second-level cache of small cores.
BLOCK_BYTES = 1 << 18
# And at most, where a row alone takes more.
MOST_BYTES = 1 << 19
# Parts of a sum over rows: threads should have several each.
LEAST_PARTS = 24
# Of a product some rows at least run together, and may take so much.
MOST_PRODUCT_BYTES = 1 << 21
# A chain has at least so many times the rows that two ranges of rows both compute where they meet.
LEAST_WIDTH = 16
# So many kernels that cannot join may be followed by one with which they can: nobody else reads what they make, then.
LOOKAHEAD = 3
MOST_MEMBERS = 32


@dataclass(eq=False, slots=True)
class Member:
    """A kernel of a chain. args: the variable of each of its arguments, None for sizes; copies: results of which it
    replaces a part, with the arrays that they are copies of before, row by row; copied: the other results that begin as
    copies, which are made before anything runs; roots: of each array the variable whose memory it lies in; apart: the
    arrays of which it touches only the rows at hand; writes: the memory that it writes to; product: what it is, if it
    is a matrix product."""

    position: int
    step: Step
    kernel: Kernel
    address: int
    args: tuple[Var | None, ...]
    copies: dict[Var, Var]
    copied: dict[Var, Var]
    roots: dict[Var, Var]
    apart: frozenset[Var]
    writes: frozenset[Var]
    product: RowProduct | None = None

    @property
    def is_sum(self) -> bool:
        """Whether it is a product that sums over the rows, and leaves partial results."""
        return self.product is not None and self.product.least_part > 0


class Part(NamedTuple):
    """What a kernel of a chain does for the rows at hand. rows: how it goes through them, and what it reads of each
    memory that the chain writes to; before, after: how many rows around them it does, too, which others read."""

    rows: Rows
    before: int
    after: int


class Window(NamedTuple):
    """The memory of an array that only the chain sees. place: where it begins in the block; row: bytes; before: how
    many rows before those at hand it has; first, kept: the rows in it that the next rows need again."""

    place: int
    row: int
    before: int
    first: int
    kept: int


@dataclass(eq=False, slots=True)
class Chain:
    """n: rows; parts: of each member; later: the views in between, which are made afterwards; by_rows: of which rows
    are rows of the arrays, else as many parts of each; roots: whose memory variables lie in, if not their own;
    n_rows, n_each: where there are matrix products, of how many rows they are, and how many of these are one of the
    chain's, the last one aside; block: rows at a time; hidden: results that only the chain sees, by the variable that
    holds their memory."""

    members: list[Member]
    n: int
    parts: list[Part]
    later: list[int]
    by_rows: bool
    roots: Mapping[Var, Var]
    n_rows: int = 0
    n_each: int = 0
    block: int = 1
    grain: int = 1
    n_bytes: int = 0
    hidden: dict[Var, Window] = field(default_factory=dict)

    @property
    def made(self) -> set[Var]:
        return {out for member in self.members for out in step_outputs(member.step)}

    @property
    def never_made(self) -> set[Var]:
        """The results that only the chain sees."""
        return {out for out in self.made if self.roots.get(out, out) in self.hidden}

    @property
    def has_product(self) -> bool:
        return any(member.product is not None for member in self.members)

    @property
    def positions(self) -> list[int]:
        return [member.position for member in self.members]

    @property
    def around(self) -> int:
        """How many rows are computed twice where two ranges of rows meet."""
        return max(part.before + part.after for part in self.parts)

    def written(self) -> ChainCall:
        """The program of the chain, and what it is called with."""
        args = [ChainArg(KernelArg("program", "in", None, "int64", 1), None, None)]
        moves, launches = [], []
        word = N_OWN

        def add(
            member: Member, address: int, kernel: Kernel, variables: Sequence[Var | None], rows: Rows, part: Part
        ) -> None:
            nonlocal word
            launches.append(
                Launch(address, rows.steps, word, rows.first, rows.n, part.before, part.after, kernel.extent)
            )
            for arg, var in zip(kernel.args, variables, strict=True):
                window = None if var is None else self.hidden.get(self.roots.get(var, var))
                if window is not None:
                    moves.append(Move(word, window.row, window.place, window.before))
                args.append(ChainArg(arg, var, member))
                word += n_words(arg)

        for member, part in zip(self.members, self.parts, strict=True):
            for out, base in member.copies.items():
                copy = copy_kernel(base, out, part.rows.n, member.step.id)
                rows = Rows(0, part.rows.n, 1, {})
                add(member, compile_kernel(copy).address, copy, (base, out, None), rows, part)
            add(member, member.address, member.kernel, member.args, part.rows, part)
        slides = [Slide(w.place, w.row, w.first, w.kept) for w in self.hidden.values() if w.kept]
        program = np.array(chain_program(self.block, self.n_bytes, word, moves, slides, launches), np.int64)
        return ChainCall(args, program)


class ChainArg(NamedTuple):
    """An argument of a chain: of a kernel of it, or of the copy before; var: None for sizes and the program."""

    arg: KernelArg
    var: Var | None
    member: Member | None


class ChainCall(NamedTuple):
    """See `codegen.llvm_chain`. args: of which the first is the program."""

    args: list[ChainArg]
    program: np.ndarray

    @staticmethod
    def address() -> int:
        return machine_address(MACHINE, SYMBOL)


def find_chains(plan: Plan, placement: Placement, compiled: Mapping[str, CompiledKernel]) -> dict[int, Chain]:
    """The chains of a plan, by the position of their first step."""
    chains = list(_Finder(plan, placement, compiled, LEAST_BYTES).chains())
    if any(chain.has_product for chain in chains):
        inside = {member.position for chain in chains for member in chain.members}
        others = (s for p, s in enumerate(plan.steps) if isinstance(s, LibraryStep) and p not in inside)
        if any(wakes_threads(step.eqn) for step in others):
            chains = list(_Finder(plan, placement, compiled, LEAST_BYTES_BESIDE).chains())
    return {chain.positions[0]: chain for chain in chains}


def in_turn(plan: Plan, chains: Mapping[int, Chain]) -> Iterator[tuple[range, Sequence[Step | Chain]]]:
    """What runs, in order: the positions of steps, and the step itself, or their chain and the views that wait for it.
    chains: by the position of their first step."""
    position = 0
    while position < len(plan.steps):
        chain = chains.get(position)
        following = position + 1 if chain is None else chain.positions[-1] + 1
        runs = [plan.steps[position]] if chain is None else [chain, *(plan.steps[p] for p in chain.later)]
        yield range(position, following), runs
        position = following


class _Finder:
    """least_bytes: of the large array of a product, to be one of a chain."""

    def __init__(
        self, plan: Plan, placement: Placement, compiled: Mapping[str, CompiledKernel], least_bytes: int
    ):  # fmt: skip
        self.least_bytes = least_bytes
        self.plan = plan
        self.placement = placement
        self.compiled = compiled
        self.root: dict[Var, Var] = {}
        self.made_by = {out: step for step in plan.steps for out in step_outputs(step)}
        self.readers: dict[Var, set[int]] = {}
        for position, step in enumerate(plan.steps):
            for out in step_outputs(step):
                base = placement.takes.get(out)
                if base is None and isinstance(step, ViewStep) and isinstance(step.eqn.invars[0], Var):
                    base = step.eqn.invars[0]
                self.root[out] = out if base is None else self._root(base)
            for var in step_inputs(step):
                self.readers.setdefault(self._root(var), set()).add(position)
            for out in step_outputs(step):
                self.readers.setdefault(self._root(out), set()).add(position)
        self.result_roots = {self._root(v) for v in plan.outvars if isinstance(v, Var)}
        self.given = {*plan.jaxpr.invars, *plan.jaxpr.constvars}
        self.members = [self._member(position, step) for position, step in enumerate(plan.steps)]

    def _root(self, var: Var) -> Var:
        """The variable whose memory `var` lies in."""
        return self.root.get(var, var)

    def chains(self) -> Iterator[Chain]:
        position = 0
        while position < len(self.plan.steps):
            chain = self._longest(position)
            if chain is not None:
                self._settle(chain)
                yield chain
            position = position + 1 if chain is None else chain.positions[-1] + 1

    def _longest(self, begin: int) -> Chain | None:
        """The longest chain that begins with a step, if it begins one."""
        first = self.members[begin]
        if first is None:
            return None
        found: Chain | None = None
        members, later, waiting, n_misses = [first], [], [], 0  # waiting: views since the last kernel
        for position in range(begin + 1, len(self.plan.steps)):
            if isinstance(self.plan.steps[position], ViewStep):
                waiting.append(position)
                continue
            member = self.members[position]
            if member is None or len(members) == MOST_MEMBERS:
                break
            later, waiting = [*later, *waiting], []
            if not self._shares(members, member) or self._needs_views(member, later):
                break
            members = [*members, member]
            chain = self._together(members, later)
            if chain is not None:
                found, n_misses = chain, 0
            elif n_misses == LOOKAHEAD:
                break
            else:
                n_misses += 1
        return found

    def _member(self, position: int, step: Step) -> Member | None:
        """The kernel of a step, if it can be one of a chain."""
        found = self._kernel_of(step)
        if found is None:
            return None
        kernel, compiled, args = found
        if compiled is None or not compiled.address or not kernel.extent or kernel.extent % kernel.steps:
            return None
        if any(self._root(out) in self.given for out in step_outputs(step)):
            return None  # a caller's array, of which others may be views
        copies = self._copied_by_rows(step, kernel)
        stores = step.stores.items() if isinstance(step, Cluster) else ()
        copied = {out: base for out, base in stores if out not in self.placement.takes and out not in copies}
        arrays = {*(var for var in args if var is not None), *kernel.takes.values(), *copies.values()}
        return Member(
            position, step, kernel, compiled.address, args, copies, copied, {v: self._root(v) for v in arrays},
            frozenset(v for v in arrays if v in kernel.apart or v not in args),
            frozenset(map(self._root, step_outputs(step))), compiled if isinstance(compiled, RowProduct) else None,
        )  # fmt: skip

    def _kernel_of(
        self, step: Step
    ) -> tuple[Kernel, CompiledKernel | RowProduct | None, tuple[Var | None, ...]] | None:
        """What a step runs, where its machine code is, and the variable of each argument."""
        if isinstance(step, Cluster):
            kernel = self.placement[step.id]
            if kernel.finish is not None or any(arg.kind in ("scratch", "update") for arg in kernel.args):
                return None
            args = tuple(arg.var if arg.kind in ("in", "out") else None for arg in kernel.args)
            return kernel, self.compiled.get(step.id), args
        if not isinstance(step, LibraryStep):
            return None
        scan = scan_kernel(step.eqn, step.id)
        operand = step.eqn.invars[0] if step.eqn.invars else None
        if scan is not None and isinstance(operand, Var):
            return scan, compile_kernel(scan), (operand, step.eqn.outvars[0], *(None for _ in scan.args[2:]))
        product = row_product(step.eqn, step.id, self._transposed, self.least_bytes)
        return None if product is None else (product.kernel, product, product.args)

    def _transposed(self, var: Var) -> tuple[Var, tuple[int, ...]]:
        """The array in C order that a variable is, or is a view of, and which of its axes the view's are. ValueError if
        there is none."""
        made_by = self.made_by.get(var)
        if isinstance(made_by, ViewStep):
            (operand,) = made_by.eqn.invars
            if not stays_view(made_by.eqn, self.plan):
                raise ValueError("a copy, after which the array itself may be written over")
            if isinstance(operand, Var) and made_by.eqn.primitive.name == "transpose":
                base, axes = self._transposed(operand)
                return base, tuple(axes[axis] for axis in made_by.eqn.params["permutation"])
            keeps = made_by.eqn.primitive.name in ("reshape", "squeeze", "expand_dims") and isinstance(operand, Var)
            if not keeps or self._transposed(operand)[0] is not operand:  # type: ignore[arg-type]  # a variable
                raise ValueError("a view in another order")
        if self.placement.layouts.get(var, "C") != "C":
            raise ValueError("an array in another order")
        return var, tuple(range(var.aval.ndim))

    def _shares(self, members: Sequence[Member], member: Member) -> bool:
        mine = {*member.roots.values()}
        return any(not mine.isdisjoint(other.roots.values()) for other in members)

    def _needs_views(self, member: Member, later: Sequence[int]) -> bool:
        """Whether a kernel reads views that would be made after it, or changes what they are views of."""
        reads = {*step_inputs(member.step)} if member.product is None else {*member.args}
        for position in later:
            view = self.plan.steps[position]
            if not reads.isdisjoint(step_outputs(view)) or any(
                self._root(v) in member.writes for v in step_inputs(view)
            ):
                return True
        return False

    def _together(self, members: list[Member], later: list[int]) -> Chain | None:
        """Kernels as a chain, if they can be one."""
        if any(m.product is not None for m in members):
            return self._with_products(members, later)
        writers: dict[Var, list[int]] = {}
        for k, member in enumerate(members):
            for root in member.writes:
                writers.setdefault(root, []).append(k)
        for k, member in enumerate(members):
            # Elements around a part that is replaced are copied from there before anything runs.
            if any(other != k for base in member.copied.values() for other in writers.get(self._root(base), ())):
                return None
        common = [{v for v, root in m.roots.items() if root in writers} for m in members]
        by_rows = not all(var in m.apart for m, touched in zip(members, common, strict=True) for var in touched)
        if by_rows:
            found = self._parts(members, common, writers)
            if found is None:
                return None
            parts, n = found, max(part.rows.first + part.rows.n for part in found)
        else:
            n = math.gcd(*(m.kernel.extent // m.kernel.steps for m in members))
            at_hand = [{self._root(v): Around(0, 0) for v in touched} for touched in common]
            parts = [Part(Rows(0, n, m.kernel.extent // n, a), 0, 0) for m, a in zip(members, at_hand, strict=True)]
        chain = Chain(members, n, parts, later, by_rows, self.root)
        n_bytes = self._bytes_of_row(chain)
        if n_bytes is None or n_bytes > MOST_BYTES or n < LEAST_WIDTH * chain.around:
            return None
        return chain

    def _with_products(self, members: list[Member], later: list[int]) -> Chain | None:
        """Kernels as a chain with matrix products, if they can be one: of parts of so many rows as BLAS is asked for at
        a time, or as a partial result is summed over. These are the same for any number of threads, and so the bits of
        the results."""
        products = [m for m in members if m.product is not None]
        n = products[0].kernel.extent
        totals = {root for m in products if m.is_sum for root in m.writes}
        written = {root for m in members for root in m.writes} - totals
        for m in members:
            fits = m.kernel.extent == n if m in products else m.kernel.extent % n == 0
            if not fits or m.kernel.steps != 1 or m.copies or m.copied:
                return None
            others = totals - m.writes
            if any(root in others or root in written and v not in m.apart for v, root in m.roots.items()):
                return None
        by_rows = [{root for v, root in m.roots.items() if v in m.apart} - totals for m in members]
        for m, own in zip(members, by_rows, strict=True):
            if m in products and own.isdisjoint(set().union(*(other for other in by_rows if other is not own))):
                return None
        arrays = {root: v for m in members for v, root in m.roots.items() if v in m.apart and root not in totals}
        row_bytes = max(1, sum(v.aval.nbytes for v in arrays.values()) // n)
        least = max(m.product.least_part or LEAST_ROWS for m in products if m.product is not None)
        wanted = max(min(ROWS, MOST_PRODUCT_BYTES // row_bytes), min(BLOCK_BYTES // row_bytes, -(-n // LEAST_PARTS)))
        each = max(least, wanted)
        if each * row_bytes > MOST_PRODUCT_BYTES or n < 2 * each:
            return None
        at_hand = [{root: Around(0, 0) for root in m.roots.values() if root in written} for m in members]
        steps = [each * m.kernel.extent // n for m in members]
        parts = [Part(Rows(0, -(-n // each), k, a), 0, 0) for k, a in zip(steps, at_hand, strict=True)]
        return Chain(members, -(-n // each), parts, later, False, self.root, n, each)

    def _parts(
        self, members: Sequence[Member], common: Sequence[set[Var]], writers: Mapping[Var, Sequence[int]]
    ) -> list[Part] | None:
        """Which rows each kernel does, where some read rows around those that they write. common: of each kernel, the
        arrays that the kernels write to; writers: of each memory."""
        parts: list[Part] = []
        needed: dict[Var, Around] = {}  # of each memory, by the kernels that come later
        for member, touched in zip(reversed(members), reversed(common), strict=True):
            rows = rows_of(member.kernel, touched & {*member.args})
            if rows is None:
                return None
            reads = {self._root(v): Around(0, 0) for v in touched}
            for var, around in rows.around.items():
                reads[self._root(var)] = _wider(reads[self._root(var)], around)
            wanted = [needed.get(self._root(out), Around(0, 0)) for out in step_outputs(member.step)]
            before, after = (max(column) for column in zip(*wanted, strict=True))
            for root, around in reads.items():
                outside = Around(before + around.before, after + around.after)
                needed[root] = _wider(needed.get(root, Around(0, 0)), outside)
            parts.insert(0, Part(rows._replace(around=reads), before, after))
        hidden = self._hidden(members)
        for root, who in writers.items():
            touching = [part for part in parts if root in part.rows.around]
            for k, part in enumerate(parts):
                around = part.rows.around.get(root)
                if around is None:
                    continue
                # Nobody writes over rows that a kernel before it has still to read, or that it reads itself.
                if any(w > k and parts[w].after > part.after - around.before or w == k and any(around) for w in who):
                    return None
            is_alone = not any(p.before or p.after or any(p.rows.around.get(root, ())) for p in touching)
            if root not in hidden and not is_alone and not self._is_written_once(root, [members[w] for w in who]):
                return None
        return parts if hidden else None

    def _is_written_once(self, root: Var, writers: Sequence[Member]) -> bool:
        """Whether threads write the same to the elements of rows that they both compute, and nothing else before."""
        return len(writers) == 1 and root in step_outputs(writers[0].step) and root not in writers[0].copies

    def _hidden(self, members: Sequence[Member]) -> list[Var]:
        """The memory that nobody sees but these kernels, by the variable that has it first."""
        positions = {member.position for member in members}
        copied = {self._root(out) for member in members for out in member.copied}
        made = [out for member in members for out in step_outputs(member.step) if self._root(out) is out]
        return [v for v in made if v not in copied and v not in self.result_roots and self.readers[v] <= positions]

    def _copied_by_rows(self, step: Step, kernel: Kernel) -> dict[Var, Var]:
        """The results that begin as copies of other arrays, where the kernel's part of them are the rows at hand."""
        if not isinstance(step, Cluster):
            return {}
        layouts, takes = self.placement.layouts, self.placement.takes
        return {
            out: base
            for out, base in step.stores.items()
            if out in kernel.apart and out not in takes and layouts.get(base, "C") == "C"
        }

    def _bytes_of_row(self, chain: Chain) -> int | None:
        """What all kernels touch for one row; None if rows have no whole number of elements."""
        if chain.by_rows:
            every = [(root, v.aval) for m in chain.members for v, root in m.roots.items()]
            arrays = {root: aval for root, aval in every if 2 * n_rows(aval) >= chain.n}
            return sum(aval.nbytes // max(1, n_rows(aval)) for aval in arrays.values())
        apart = {root: v for m in chain.members for v, root in m.roots.items() if v in m.apart}
        if any(v.aval.size % chain.n for v in apart.values()):
            return None
        return sum(v.aval.nbytes // chain.n for v in apart.values())

    def _settle(self, chain: Chain) -> None:
        """How many rows at a time, and what only the chain sees."""
        n_bytes = self._bytes_of_row(chain) or 1
        chain.block = 1 if chain.n_each else min(max(1, BLOCK_BYTES // n_bytes), chain.n)
        steps = sum(m.kernel.extent / chain.n / m.kernel.grain for m in chain.members)
        chain.grain = max(1, math.ceil(1 / steps))
        for out in self._hidden(chain.members):
            reads = [(part, part.rows.around[out]) for part in chain.parts if out in part.rows.around]
            after = max(part.after for part, _ in reads)
            before = max(part.before + around.before for part, around in reads)
            lowest = min(part.after - around.before for part, around in reads)
            n = n_rows(out.aval) if chain.by_rows else chain.n_rows or chain.n
            row = out.aval.nbytes // n * (chain.n_each or 1)
            chain.hidden[out] = Window(chain.n_bytes, row, before, before + lowest, after - lowest)
            chain.n_bytes += -(-row * (before + chain.block + after) // ALIGNMENT) * ALIGNMENT


def _wider(a: Around, b: Around) -> Around:
    return Around(max(a.before, b.before), max(a.after, b.after))
