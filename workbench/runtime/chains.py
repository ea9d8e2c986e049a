"""Chains: kernels of a plan that run together, some rows of all of them and then the next rows.

Kernels that hand each other arrays row by row (a fused formula, a prefix sum along the rows, what follows from both)
need not each go through all of memory: while the rows at hand are in the cache, every kernel does its part of them.
What nobody else reads then never becomes an array, and threads meet once instead of once a kernel. Each kernel is what
it would be alone, so that the results have the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..codegen.copies import copy_kernel
from ..codegen.kernel import Kernel, KernelArg
from ..codegen.llvm_chain import ALIGNMENT, MACHINE, N_OWN, SYMBOL, chain_program
from ..codegen.llvm_entry import n_words
from ..codegen.scans import scan_kernel
from ..fusion import Cluster, LibraryStep, Plan, Step, ViewStep, step_inputs, step_outputs
from ..ir import Var
from .memory.placement import Placement
from .native.kernels import CompiledKernel, compile_kernel, machine_address

# What the rows at hand may take: half of the second-level cache of small cores.
BLOCK_BYTES = 1 << 18
# And at most, where a row alone takes more.
MOST_BYTES = 1 << 19


@dataclass(eq=False, slots=True)
class Member:
    """A kernel of a chain. args: the variable of each of its arguments, None for sizes; copies: results of which it
    replaces a part, with the arrays that they are copies of before, row by row."""

    position: int
    step: Step
    kernel: Kernel
    address: int
    args: tuple[Var | None, ...]
    copies: dict[Var, Var] = field(default_factory=dict)

    @property
    def arrays(self) -> set[Var]:
        given = (var for var in self.args if var is not None)
        return {*given, *self.kernel.takes.values(), *self.copies.values()}

    @property
    def apart(self) -> set[Var]:
        """The arrays of which it touches only the rows at hand."""
        return {v for v in self.arrays if v in self.kernel.apart or v not in self.args}


@dataclass(eq=False, slots=True)
class Chain:
    """n: rows; block: of them at a time; hidden: results that only the chain sees, by the variable that holds their
    memory, with the place in the block where it begins; roots: whose memory variables lie in, if not their own; later:
    the views in between, which are made afterwards."""

    members: list[Member]
    n: int
    later: list[int]
    block: int = 1
    grain: int = 1
    n_bytes: int = 0
    hidden: dict[Var, int] = field(default_factory=dict)
    roots: dict[Var, Var] = field(default_factory=dict)

    @property
    def made(self) -> set[Var]:
        return {out for member in self.members for out in step_outputs(member.step)}

    @property
    def positions(self) -> list[int]:
        return [member.position for member in self.members]

    def written(self) -> ChainCall:
        """The program of the chain, and what it is called with."""
        args = [ChainArg(KernelArg("program", "in", None, "int64", 1), None, None)]
        moves, kernels = [], []
        word = N_OWN

        def add(member: Member, address: int, kernel: Kernel, variables: Sequence[Var | None]) -> None:
            nonlocal word
            kernels.append((address, kernel.extent // self.n, word))
            for arg, var in zip(kernel.args, variables, strict=True):
                place = None if var is None else self.hidden.get(self.roots.get(var, var))
                if place is not None and var is not None:
                    moves.append((word, var.aval.nbytes // self.n, place))
                args.append(ChainArg(arg, var, member))
                word += n_words(arg)

        for member in self.members:
            for out, base in member.copies.items():
                copy = copy_kernel(base, out, self.n, member.step.id)
                add(member, compile_kernel(copy).address, copy, (base, out, None))
            add(member, member.address, member.kernel, member.args)
        program = np.array(chain_program(self.block, self.n_bytes, word, moves, kernels), np.int64)
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
    finder = _Finder(plan, placement, compiled)
    return {chain.positions[0]: chain for chain in finder.chains()}


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
    def __init__(self, plan: Plan, placement: Placement, compiled: Mapping[str, CompiledKernel]):
        self.plan = plan
        self.placement = placement
        self.compiled = compiled
        self.results = {v for v in plan.outvars if isinstance(v, Var)}
        self.root: dict[Var, Var] = {}
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
        self.result_roots = {self._root(v) for v in self.results}

    def _root(self, var: Var) -> Var:
        """The variable whose memory `var` lies in."""
        return self.root.get(var, var)

    def chains(self) -> list[Chain]:
        found: list[Chain] = []
        chain: Chain | None = None
        waiting: list[int] = []  # views since the last kernel
        for position, step in enumerate(self.plan.steps):
            if isinstance(step, ViewStep):
                waiting.append(position)
                continue
            member = self._member(position, step)
            n = None if chain is None or member is None else self._joined(chain, member, [*chain.later, *waiting])
            if n is not None:
                assert chain is not None
                assert member is not None
                chain.members.append(member)
                chain.n = n
                chain.later += waiting
            else:
                chain = None if member is None else Chain([member], member.kernel.extent // member.kernel.steps, [])
                if chain is not None:
                    found.append(chain)
            waiting = []
        found = [chain for chain in found if len(chain.members) > 1]
        for chain in found:
            self._settle(chain)
        return found

    def _member(self, position: int, step: Step) -> Member | None:
        """The kernel of a step, if it can be one of a chain."""
        args: tuple[Var | None, ...]
        if isinstance(step, Cluster):
            compiled = self.compiled.get(step.id)
            kernel = self.placement[step.id]
            args = tuple(arg.var if arg.kind in ("in", "out") else None for arg in kernel.args)
            if kernel.finish is not None or any(arg.kind in ("scratch", "update") for arg in kernel.args):
                return None
        elif isinstance(step, LibraryStep) and (scan := scan_kernel(step.eqn, step.id)) is not None:
            kernel, compiled = scan, compile_kernel(scan)
            operand = step.eqn.invars[0]
            if not isinstance(operand, Var):
                return None
            args = (operand, step.eqn.outvars[0], *(None for _ in kernel.args[2:]))
        else:
            return None
        if compiled is None or not compiled.address or not kernel.extent or kernel.extent % kernel.steps:
            return None
        given = {*self.plan.jaxpr.invars, *self.plan.jaxpr.constvars}
        if any(self._root(out) in given for out in step_outputs(step)):
            return None  # a caller's array, of which others may be views
        return Member(position, step, kernel, compiled.address, args, self._copied_by_rows(step, kernel))

    def _joined(self, chain: Chain, member: Member, later: list[int]) -> int | None:
        """The rows of `chain` if `member` joins it, None if it cannot. later: views that would be made afterwards."""
        kernel = member.kernel
        n = math.gcd(chain.n, kernel.extent // kernel.steps)
        reads, writes = self._touched(member)
        for position in later:
            view = self.plan.steps[position]
            if not reads.isdisjoint(step_outputs(view)) or {self._root(v) for v in step_inputs(view)} & writes:
                return None
        together = {self._root(v) for v in member.arrays}
        shares = False
        for other in chain.members:
            other_reads, other_writes = self._touched(other)
            common = {self._root(v) for v in other.arrays} & together
            shares = shares or bool(common)
            for root in common & (writes | other_writes):
                for one in (member, other):
                    if any(self._root(v) is root and v not in one.apart for v in one.arrays):
                        return None
            # Elements around a part that is replaced are copied from there before anything runs.
            for one, made in ((member, other_writes), (other, writes)):
                if {self._root(base) for base in self._copied(one).values()} & made:
                    return None
        n_bytes = self._bytes_of_row([*chain.members, member], n)
        return n if shares and n_bytes is not None and n_bytes <= MOST_BYTES else None

    def _touched(self, member: Member) -> tuple[set[Var], set[Var]]:
        """What a kernel reads, and the memory that it writes to."""
        return set(step_inputs(member.step)), {self._root(out) for out in step_outputs(member.step)}

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

    def _copied(self, member: Member) -> dict[Var, Var]:
        """The other results that begin as copies, which are made before anything runs."""
        step = member.step
        if not isinstance(step, Cluster):
            return {}
        takes = self.placement.takes
        return {out: base for out, base in step.stores.items() if out not in takes and out not in member.copies}

    def _bytes_of_row(self, members: list[Member], n: int) -> int | None:
        """What all kernels touch for one row; None if rows have no whole number of elements."""
        apart = {self._root(v): v for m in members for v in m.arrays if v in m.apart}
        if any(v.aval.size % n for v in apart.values()):
            return None
        return sum(v.aval.nbytes // n for v in apart.values())

    def _settle(self, chain: Chain) -> None:
        """How many rows at a time, and what only the chain sees."""
        n_bytes = self._bytes_of_row(chain.members, chain.n) or 1
        chain.block = min(max(1, BLOCK_BYTES // n_bytes), chain.n)
        steps = sum(m.kernel.extent / chain.n / m.kernel.grain for m in chain.members)
        chain.grain = max(1, math.ceil(1 / steps))
        positions = set(chain.positions)
        chain.roots = self.root
        kept = {self._root(out) for member in chain.members for out in self._copied(member)}
        kept |= {self._root(v) for member in chain.members for v in member.arrays - member.apart}
        for member in chain.members:
            for out in step_outputs(member.step):
                root = self._root(out)
                if root is not out or root in self.result_roots or root in kept or not self.readers[root] <= positions:
                    continue
                chain.hidden[root] = chain.n_bytes
                size = out.aval.nbytes // chain.n * chain.block
                chain.n_bytes += -(-size // ALIGNMENT) * ALIGNMENT
