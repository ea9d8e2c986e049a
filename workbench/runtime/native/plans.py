"""Plans without Python: what one built-in function is told to run all kernels of a plan.

Most plans of small programs are kernels and nothing else. Many arrays are so small that allocating them, and taking
them apart again for each kernel, would cost more than the kernels do: here results are allocated, intermediate arrays
have their places in one block of memory, and kernels are given addresses. See `codegen.llvm_call`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...codegen.copies import copy_kernel
from ...codegen.kernel import Kernel, KernelArg
from ...codegen.llvm_chain import ALIGNMENT
from ...codegen.llvm_entry import is_strided, n_words
from ...codegen.scans import scan_kernel
from ...fusion import Cluster, LibraryStep, Plan, Step, ViewStep, step_outputs
from ...ir import Aval, Var
from ..chains import Chain, ChainCall, in_turn
from ..memory.buffers import LARGE_BYTES, allocator
from ..memory.placement import Placement
from .kernels import Code, NotNativeError, compile_kernel
from .threads import may_share, share

# What intermediate arrays may take together: more is the business of `memory.buffers`.
MOST_BETWEEN = LARGE_BYTES
# A copy that is made while `memory.moves` would still be called.
MOST_COPIED = 1 << 14
# Writing down longer plans takes longer than many calls gain by it, and their kernels outweigh it.
MOST_STEPS = 64
# Kernels of fewer elements end before another thread of Python would have begun.
BRIEF_ELEMENTS = 4096

# Words of a kernel's table, of which some are an address: a source and the distance from it.
_Words = list["int | tuple[int, int]"]


@dataclass(eq=False, slots=True)
class NativePlan:
    """What `codegen.llvm_call.call_description` says of a plan. sources: its inputs, its results, and the memory for
    the time of a call; kept: what addresses in the table belong to."""

    shapes: list[tuple[int, ...] | None] = field(default_factory=list)
    makers: list[np.dtype | Callable[[], np.ndarray]] = field(default_factory=list)
    n_bytes: int = 0
    table: list[int] = field(default_factory=list)
    fills: list[tuple[int, int, int]] = field(default_factory=list)
    launches: list[tuple[int, int, int]] = field(default_factory=list)
    waits: bool = False
    kept: list[Any] = field(default_factory=list)


def native_plan(
    plan: Plan, placement: Placement, code: Code, chains: Mapping[int, Chain], strides: Sequence[tuple[int, ...]]
) -> NativePlan | None:
    """What to do for a plan of kernels that gives new arrays, with small ones in between; None for others. chains: by
    the position of their first step; strides: of its inputs, in bytes."""
    if len(plan.steps) > MOST_STEPS or not plan.outvars or placement.first_write is not None:
        return None
    if placement.copied or placement.written or placement.unread:
        return None
    try:
        return _Writer(plan, placement, code, strides).run(chains)
    except NotNativeError:
        return None


class _Writer:
    def __init__(self, plan: Plan, placement: Placement, code: Code, strides: Sequence[tuple[int, ...]]):
        self.plan, self.placement, self.code = plan, placement, code
        self.strides = dict(zip(plan.jaxpr.invars, strides, strict=True))
        self.result = NativePlan()
        # Where the memory of a variable begins: at an address, or so far from the begin of a source.
        self.memory: dict[Var, int | tuple[int, int]] = {var: (k, 0) for k, var in enumerate(plan.jaxpr.invars)}
        for var, value in zip(plan.jaxpr.constvars, plan.jaxpr.consts, strict=True):
            self.memory[var] = self._address(np.array(value, var.aval.dtype, order="C"))
        self.first_result = len(plan.jaxpr.invars)
        self.block = self.first_result + len(plan.outvars)
        self.results = self._results()

    def _results(self) -> dict[Var, int]:
        """The position of each result, by the variable whose memory it takes."""
        found: dict[Var, int] = {}
        made = {out for step in self.plan.steps if not isinstance(step, ViewStep) for out in step_outputs(step)}
        for k, atom in enumerate(self.plan.outvars):
            if not isinstance(atom, Var):
                raise NotNativeError("a result is a constant")
            root = atom
            while root in self.placement.takes:
                root = self.placement.takes[root]
            if atom not in made or root not in made or root in found:
                raise NotNativeError("a result is no new array")
            found[root] = k
            aval = atom.aval
            is_large = aval.nbytes >= LARGE_BYTES
            self.result.shapes.append(None if is_large else aval.shape)
            self.result.makers.append(allocator(aval.shape, aval.dtype, aval.nbytes) if is_large else aval.dtype)
        return found

    def run(self, chains: Mapping[int, Chain]) -> NativePlan:
        for _, runs in in_turn(self.plan, chains):
            for run in runs:
                if isinstance(run, Chain):
                    self._chain(run)
                else:
                    self._step(run)
        return self.result

    # ---- memory ----

    def _address(self, array: np.ndarray) -> int:
        self.result.kept.append(array)
        return array.__array_interface__["data"][0]

    def _space(self, n_bytes: int) -> tuple[int, int]:
        """A place in the block of a call."""
        begin = self.result.n_bytes
        self.result.n_bytes += -(-n_bytes // ALIGNMENT) * ALIGNMENT
        if self.result.n_bytes > MOST_BETWEEN:
            raise NotNativeError("intermediate arrays are large")
        return self.block, begin

    def _make(self, outs: Collection[Var], hidden: Collection[Var] = ()) -> None:
        """Memory for results of a step. hidden: for which a chain sees itself."""
        for out in outs:
            taken = self.placement.takes.get(out)
            if taken is not None:
                self.memory[out] = self.memory[taken]
            elif out in hidden:
                self.memory[out] = 0
            elif out in self.results:
                self.memory[out] = (self.first_result + self.results[out], 0)
            else:
                self.memory[out] = self._space(out.aval.nbytes)

    # ---- steps ----

    def _step(self, step: Step) -> None:
        match step:
            case Cluster():
                self._cluster(step)
            case LibraryStep() if (kernel := scan_kernel(step.eqn, step.id)) is not None:
                operand, (out,) = step.eqn.invars[0], step.eqn.outvars
                if not isinstance(operand, Var):
                    raise NotNativeError("a scan of a constant")
                self._make([out])
                self._run(compile_kernel(kernel).address, kernel, [operand, out, *[None] * (len(kernel.args) - 2)])
            case ViewStep() if step.eqn.primitive.name in ("reshape", "squeeze", "expand_dims"):
                operand, (out,) = step.eqn.invars[0], step.eqn.outvars
                if not isinstance(operand, Var) or self.placement.layouts.get(operand, "C") != "C":
                    raise NotNativeError("a view of an array in another order")
                self.memory[out] = self.memory[operand]
            case _:
                raise NotNativeError(f"{step.id} is no kernel")

    def _cluster(self, step: Cluster) -> None:
        self._make(step_outputs(step))
        for out, base in self._copied(step):
            self._copy(out, base, step.id)
        kernel = self.placement[step.id]
        scratch = {
            arg.name: self._space(math.prod(arg.shape) * np.dtype(arg.dtype).itemsize)
            for arg in kernel.args
            if arg.kind == "scratch"
        }
        self._run(self.code.compiled[step.id].address, kernel, [arg.var for arg in kernel.args], scratch)
        if kernel.finish is not None:
            finish = self.code.finishers[step.id]
            self._run(finish.address, kernel.finish, [arg.var for arg in kernel.finish.args], scratch)

    def _copied(self, step: Cluster) -> Iterator[tuple[Var, Var]]:
        """The results of which a kernel replaces a part, with what they are copies of before."""
        for arg in self.placement[step.id].results:
            if arg.kind == "update":
                raise NotNativeError("elements are put in their places afterwards")
        for out, base in step.stores.items():
            if out not in self.placement.takes:
                if self.placement.layouts.get(base, "C") != "C":
                    raise NotNativeError("a copy of an array in another order")
                yield out, base

    def _copy(self, out: Var, base: Var, step: str) -> None:
        if out.aval.nbytes > MOST_COPIED:
            raise NotNativeError("a copy that several threads make, of what is not replaced only")
        kernel = copy_kernel(base, out, 1, step)
        self._run(compile_kernel(kernel).address, kernel, [base, out, None])

    def _chain(self, chain: Chain) -> None:
        if chain.has_product:
            raise NotNativeError("BLAS is held to one thread")
        for member in chain.members:
            self._make(step_outputs(member.step), chain.hidden)
            if isinstance(member.step, Cluster):
                for out, base in self._copied(member.step):
                    if out not in member.copies:
                        self._copy(out, base, member.step.id)
        args, program = chain.written()
        words: _Words = [self._address(program), len(program)]
        for arg, var, _ in args[1:]:
            words += self._argument(arg, var, {})
        self._launch(ChainCall.address(), chain.n, chain.grain, words, chain.around)
        self.result.waits = True

    def _run(
        self, address: int, kernel: Kernel, variables: Sequence[Var | None],
        scratch: dict[str, tuple[int, int]] | None = None,
    ) -> None:  # fmt: skip
        words: _Words = []
        for arg, var in zip(kernel.args, variables, strict=True):
            words += self._argument(arg, var, scratch or {})
        self._launch(address, kernel.extent, kernel.grain, words)
        self.result.waits = self.result.waits or kernel.n_elements > BRIEF_ELEMENTS

    def _argument(self, arg: KernelArg, var: Var | None, scratch: dict[str, tuple[int, int]]) -> _Words:
        """The words of an argument: its address, its lengths, and its strides where the kernel asks for them."""
        if arg.kind == "size":
            if not isinstance(arg.value, int | np.integer):
                raise NotNativeError("a size is no integer")
            return [int(arg.value)]
        if arg.kind == "scratch":
            place, aval = scratch[arg.name], Aval(arg.shape, np.dtype(arg.dtype))
        else:
            assert var is not None
            place, aval = self.memory[var], var.aval
        if len(aval.shape) != arg.ndim:
            raise NotNativeError("an argument has another rank")
        in_order = tuple(aval.dtype.itemsize * math.prod(aval.shape[k + 1 :]) for k in range(arg.ndim))
        strides = in_order if var is None else self.strides.get(var, in_order)
        lies_in_order = all(n < 2 or s == t for n, s, t in zip(aval.shape, strides, in_order, strict=True))
        if not is_strided(arg) and aval.size and not lies_in_order:
            raise NotNativeError("a routine takes an array in C order")
        words: _Words = [place, *aval.shape, *(strides if is_strided(arg) else ())]
        assert len(words) == n_words(arg)
        return words

    def _launch(self, address: int, extent: int, grain: int, words: _Words, overlap: int = 0) -> None:
        if not extent:
            return
        if not address:
            raise NotNativeError("numba compiled a kernel")
        if may_share(extent, grain, self.code.n_threads):
            address, program = share(address, extent, grain, self.code.n_threads, overlap)
            words = [self._address(program), len(program), *words]
            self.result.waits = True
        out = self.result
        out.launches.append((address, extent, len(out.table)))
        for word in words:
            if isinstance(word, tuple):
                out.fills.append((len(out.table), *word))
                word = 0
            out.table.append(word)
