"""Programs of one block: a loop or branch over small arrays as one kernel, which decides on the device.

The kernels of the plans inside become functions, and the block's threads go through them step by step, meeting after
each. Every step's results lie in memory of their own; carried values are copied there at the end of an iteration:

    @cuda.jit(device=True)
    def sum_1a2b3c4d(x, total_out, ...): ...

    def while_5e6f7a8b(x, x_out, total, ...):
        ...
        while True:
            sum_1a2b3c4d(x_out, total, ...)
            cuda.syncthreads()
            if not total[0]:
                break

One block is a small part of a GPU, so that this is for arrays for which a launch takes longer than the work.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence

import numpy as np

from ...fusion.clustering import form_plan
from ...fusion.plan import BranchStep, Cluster, LibraryStep, LoopStep, Plan, Space, ViewStep
from ...ir import Atom, Aval, Equation, Jaxpr, Literal, Var
from ...ir.builder import JaxprBuilder
from ..blocks import Block
from ..kernel import Kernel, KernelArg
from ..lower import element_counts
from ..names import Namer
from ..scalars import literal
from .element_loops import MOST_ARRAYS
from .lower import lower_cluster_to_device
from .nests import MOST_SHARED_BYTES, WORDS, Geometry
from .toolkit import DEVICE_FUNCTION
from .tuning import GPU, Tuning

# Elements that the steps of one iteration go through: 64 a thread, each a few hundred cycles, take about as long as a
# launch or two from the host and a condition that comes back to it (some 20 us).
MOST_ELEMENTS = 1 << 14
MOST_FUNCTIONS = 40
# Index maps that only change how an array in memory order is read.
SAME_ORDER = frozenset({"reshape", "squeeze"})


class NotOneBlockError(Exception):
    """A step that one block cannot take: a library routine, an array that is too large."""


def lower_block_program(step: LoopStep | BranchStep, tuning: Tuning = GPU) -> Kernel | None:
    """The kernel of a loop or branch whose arrays are small and whose steps are kernels; None for any other. Its
    arguments are arrays in C order: the operands of its equation, constants of its programs, and its results."""
    try:
        return _Program(step, tuning).kernel(step)
    except NotOneBlockError:
        return None


class _Program:
    """Writes one kernel."""

    def __init__(self, step: LoopStep | BranchStep, tuning: Tuning):
        self.tuning = tuning.in_one_block()
        self.namer = Namer(WORDS | {"place"})
        self.root = Block()
        self.args: dict[str, KernelArg] = {}
        self.names: dict[Var, str] = {}  # the array that holds a variable
        self.functions: dict[str, Kernel] = {}  # by the text of what they do
        self.n_elements = 0
        self.eqns: list[Equation] = []
        self.sizes: dict[tuple[str, int], str] = {}

    def kernel(self, step: LoopStep | BranchStep) -> Kernel:
        eqn = step.eqn
        for out in eqn.outvars:
            self._array("out", out, out.hint or "result")
        self._control(step, self.root)
        order = {"in": 0, "out": 1, "scratch": 2, "size": 3}
        args = sorted(self.args.values(), key=lambda a: order[a.kind])
        if sum(a.kind != "size" for a in args) > MOST_ARRAYS or len(self.functions) > MOST_FUNCTIONS:
            raise NotOneBlockError
        texts = [f"{DEVICE_FUNCTION}\n{kernel.source}" for kernel in self.functions.values()]
        if sum(map(_shared_bytes, texts)) > MOST_SHARED_BYTES:
            raise NotOneBlockError
        parameters = ", ".join(a.name for a in args)
        body = "\n".join(line for line, _ in self.root.render(1)) or "    pass"
        types = ",".join(f"{a.kind}{a.dtype}" for a in args)
        text = "\n".join([*texts, f"({parameters}):\n{body}"])
        digest = hashlib.sha256(f"{self.tuning.target}|{types}\n{text}".encode()).hexdigest()[:8]
        name = f"{eqn.primitive.name}_{digest}"
        source = "\n".join([*texts, f"def {name}({parameters}):\n{body}\n"])
        meets = "shared memory"
        if any(kernel.geometry.meets == "warp shuffles" for kernel in self.functions.values()):
            meets = "warp shuffles"
        functions = {f.name: f for kernel in self.functions.values() for f in kernel.functions}
        moved = sum(a.aval.nbytes for a in (*eqn.invars, *eqn.outvars))
        return Kernel(
            step.id, name, source, tuple(args), 1, 1, self.n_elements,
            sum(kernel.flops for kernel in self.functions.values()), moved, (), self.tuning.target, None,
            tuple(functions.values()), Geometry((1, 1), (self.tuning.threads, 1), 0, meets, "int32"),
        )  # fmt: skip

    # ---- arrays ----

    def _array(self, kind: str, var: Var, wish: str) -> str:
        if not var.aval.size:
            raise NotOneBlockError
        name = self.namer.fresh(wish)
        shape = (var.aval.size,) if kind == "scratch" else var.aval.shape
        known = None if kind == "scratch" else var
        self.args[name] = KernelArg(name, kind, known, var.aval.dtype.name, 1, "C", shape)  # type: ignore[arg-type]  # in, out, scratch
        self.names[var] = name
        return name

    def _memory(self, aval: Aval, wish: str) -> str:
        return self._array("scratch", Var(aval), wish)

    def _size(self, wish: str, value: int) -> str:
        key = (wish, value)
        if value >= 2**31:
            raise NotOneBlockError
        if key not in self.sizes:
            name = self.sizes[key] = self.namer.fresh(wish)
            self.args[name] = KernelArg(name, "size", dtype="int32", value=value)
        return self.sizes[key]

    def _operand(self, atom: Atom) -> str | Literal:
        """The array of an operand, or its value."""
        if isinstance(atom, Literal):
            return atom
        return self.names[atom] if atom in self.names else self._array("in", atom, atom.hint or "x")

    def _bind(self, var: Var, source: str | Literal, block: Block) -> None:
        """Let an input of an inner plan be an array."""
        if isinstance(source, Literal):
            value, source = source, self._memory(var.aval, var.hint or "constant")
            self._copy([(source, value, var.aval)], block)
        self.names[var] = source

    def _copy(self, pairs: Sequence[tuple[str, str | Literal, Aval]], block: Block) -> None:
        """Fill arrays with others', or with numbers, and meet."""
        self._count(sum(aval.size for *_, aval in pairs))
        for size in dict.fromkeys(aval.size for *_, aval in pairs):
            n = self._size("n_copied", size)
            start, step = (f"np.int32(cuda.{word}.x)" for word in ("threadIdx", "blockDim"))
            inside = block.loop(f"for place in range({start}, {n}, {step}):")
            for target, source, aval in pairs:
                if aval.size == size:
                    value = literal(source.val, aval.dtype) if isinstance(source, Literal) else f"{source}[place]"
                    inside.line(f"{target}[place] = {value}")
        if pairs:
            block.line("cuda.syncthreads()")

    def _count(self, n_elements: int) -> None:
        self.n_elements += n_elements
        if self.n_elements > MOST_ELEMENTS:
            raise NotOneBlockError

    # ---- steps ----

    def _plan(self, plan: Plan, block: Block) -> None:
        for var in plan.jaxpr.constvars:
            if var not in self.names:
                self._array("in", var, var.hint or "constant")
        counts = element_counts(plan.jaxpr)
        for step in plan.steps:
            match step:
                case Cluster():
                    self._call(step, counts, block)
                case ViewStep(eqn=eqn):
                    self._view(step.id, eqn, counts, block)
                case LibraryStep(eqn=eqn) if eqn.primitive.name == "dot_general":
                    self._contract(step.id, eqn, block)
                case BranchStep() | LoopStep():
                    for out in step.eqn.outvars:
                        self._array("scratch", out, out.hint or "result")
                    self._control(step, block)
                case _:
                    raise NotOneBlockError

    def _view(self, name: str, eqn: Equation, counts: frozenset[Literal], block: Block) -> None:
        operand, (out,) = eqn.invars[0], eqn.outvars
        if isinstance(operand, Var) and eqn.primitive.name in SAME_ORDER:
            self.names[out] = self._operand(operand)  # type: ignore[assignment]  # a variable's is an array
            return
        invars = tuple(a for a in eqn.invars if isinstance(a, Var))
        align = {out: tuple(range(out.aval.ndim))}
        self._call(Cluster(name, (eqn,), invars, (out,), Space(out.aval.shape, frozenset(), align, {})), counts, block)

    def _contract(self, name: str, eqn: Equation, block: Block) -> None:
        """A small matrix product, as products and their sums."""
        program = written_out(eqn)
        if program is None:
            raise NotOneBlockError
        for var, atom in zip(program.invars, eqn.invars, strict=True):
            self._bind(var, self._operand(atom), block)
        self._plan(form_plan(program, f"{name}_", in_place=False), block)
        (out,) = program.outvars
        self.names[eqn.outvars[0]] = self._operand(out)  # type: ignore[assignment]  # it is computed: a variable

    def _call(self, cluster: Cluster, counts: frozenset[Literal], block: Block) -> None:
        """One step: the block's threads call a function, and meet."""
        if cluster.stores:
            raise NotOneBlockError
        self._count(math.prod(cluster.space.shape))
        for var in cluster.invars:
            self._operand(var)
        for var in cluster.outvars:
            self._array("scratch", var, var.hint or "result")
        kernel = lower_cluster_to_device(cluster, {}, counts, self.tuning)
        if kernel.finish is not None or kernel.geometry.shared_bytes or kernel.geometry.grid != (1, 1):
            raise NotOneBlockError
        known = self.functions.setdefault(kernel.source, kernel)
        given = []
        for arg in kernel.args:
            if arg.kind == "size":
                if arg.dtype != "int32":
                    raise NotOneBlockError
                given.append(self._size(arg.name, arg.value))
            else:
                assert arg.var is not None, "there is no second pass"
                given.append(self.names[arg.var])
        block.line(f"{known.name}({', '.join(given)})")
        block.line("cuda.syncthreads()")

    def _control(self, step: LoopStep | BranchStep, block: Block) -> None:
        if isinstance(step, BranchStep):
            self._branch(step, block)
        elif step.condition is not None:
            self._while(step, step.condition, block)
        else:
            self._scan(step, block)

    def _results(self, plan: Plan, targets: Sequence[Var]) -> list[tuple[str, str | Literal, Aval]]:
        return [
            (self.names[out], self._operand(atom), out.aval) for out, atom in zip(targets, plan.outvars, strict=True)
        ]

    def _branch(self, step: BranchStep, block: Block) -> None:
        index, *operands = step.eqn.invars
        which = self._operand(index)
        if isinstance(which, Literal):
            raise NotOneBlockError
        given = [self._operand(atom) for atom in operands]
        before = self.n_elements
        most = before
        for number, plan in enumerate(step.plans):
            last = number == len(step.plans) - 1
            head = "else:" if last and number else f"{'el' if number else ''}if {which}[0] == {number}:"
            inside = block.loop("if True:" if len(step.plans) == 1 else head)
            self.n_elements = before
            for var, source in zip(plan.jaxpr.invars, given, strict=True):
                self._bind(var, source, inside)
            self._plan(plan, inside)
            self._copy(self._results(plan, step.eqn.outvars), inside)
            most = max(most, self.n_elements)
        self.n_elements = most

    def _while(self, step: LoopStep, condition: Plan, block: Block) -> None:
        params, operands = step.eqn.params, [self._operand(a) for a in step.eqn.invars]
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        carry = self._take(step.eqn.outvars, operands[n_cond + n_body :], block)
        for plan, consts in ((condition, operands[:n_cond]), (step.body, operands[n_cond : n_cond + n_body])):
            for var, source in zip(plan.jaxpr.invars, (*consts, *carry), strict=True):
                self._bind(var, source, block)
        loop = block.loop("while True:")
        self._plan(condition, loop)
        found = self._operand(condition.outvars[0])
        text = literal(found.val, np.dtype(bool)) if isinstance(found, Literal) else f"{found}[0]"
        loop.line(f"if not {text}:")
        loop.line("    break")
        self._plan(step.body, loop)
        self._carry_on(self._results(step.body, step.eqn.outvars), loop)

    def _take(self, results: Sequence[Var], first: Sequence[str | Literal], block: Block) -> list[str]:
        """The carried values begin where the results will be."""
        carry = [self.names[out] for out in results]
        self._copy([(mine, x, out.aval) for mine, x, out in zip(carry, first, results, strict=True)], block)
        return carry

    def _carry_on(self, pairs: Sequence[tuple[str, str | Literal, Aval]], block: Block) -> None:
        """The next iteration's values: those that change places go by way of other memory."""
        carried = {target for target, *_ in pairs}
        moved = [(t, s, aval) for t, s, aval in pairs if t != s]
        aside = {s: self._memory(aval, "aside") for _, s, aval in moved if isinstance(s, str) and s in carried}
        avals = {s: aval for _, s, aval in moved if isinstance(s, str)}
        self._copy([(there, s, avals[s]) for s, there in aside.items()], block)
        self._copy([(t, aside.get(s, s) if isinstance(s, str) else s, aval) for t, s, aval in moved], block)

    def _scan(self, step: LoopStep, block: Block) -> None:
        eqn, params, plan = step.eqn, step.eqn.params, step.body
        n_consts, n_carry, length = params["num_consts"], params["num_carry"], params["length"]
        operands = [self._operand(a) for a in eqn.invars]
        carry = self._take(eqn.outvars[:n_carry], operands[n_consts : n_consts + n_carry], block)
        inner = plan.jaxpr.invars
        for var, source in zip(inner, (*operands[:n_consts], *carry), strict=False):
            self._bind(var, source, block)
        n_steps, time = self._size("n_steps", length), self.namer.fresh("step")
        loop = block.loop(f"for {time} in range({n_steps}):")
        at = time if not params["reverse"] else f"({n_steps} - 1 - {time})"

        def row(array: str, aval: Aval) -> str:
            name, n = self.namer.fresh(f"{array}_row"), self._size("n_row", aval.size)
            loop.line(f"{name} = {array}[{at} * {n}:({at} + 1) * {n}]")
            return name

        for var, source in zip(inner[n_consts + n_carry :], operands[n_consts + n_carry :], strict=True):
            if isinstance(source, Literal):
                raise NotOneBlockError
            self.names[var] = row(source, var.aval)
        self._plan(plan, loop)
        stacked = [
            (row(self.names[out], atom.aval), self._operand(atom), atom.aval)
            for out, atom in zip(eqn.outvars[n_carry:], plan.outvars[n_carry:], strict=True)
        ]
        carried = [
            (self.names[out], self._operand(atom), out.aval)
            for out, atom in zip(eqn.outvars[:n_carry], plan.outvars[:n_carry], strict=True)
        ]
        self._copy(stacked, loop)
        self._carry_on(carried, loop)


def written_out(eqn: Equation) -> Jaxpr | None:
    """A `dot_general` as a program of index maps, products and a sum; None if it is one of booleans."""
    (x_contracted, y_contracted), (x_batch, y_batch) = eqn.params["dimension_numbers"]
    out = eqn.outvars[0].aval
    if out.dtype.kind == "b":
        return None
    b = JaxprBuilder()
    x, y = (b.input(a.aval, hint=a.hint if isinstance(a, Var) else "") for a in eqn.invars)
    x_free = [d for d in range(x.aval.ndim) if d not in (*x_contracted, *x_batch)]
    y_free = [d for d in range(y.aval.ndim) if d not in (*y_contracted, *y_batch)]
    n_batch, n_free = len(x_batch), len(x_free) + len(y_free)
    shape = (*out.shape, *(x.aval.shape[d] for d in x_contracted))
    contracted = range(n_batch + n_free, len(shape))

    def spread(operand: Var, order: Sequence[int], first_free: int, n: int) -> Atom:
        moved: Atom = operand
        if operand.aval.dtype != out.dtype:
            moved = b.emit("convert_element_type", moved, new_dtype=out.dtype)
        if list(order) != sorted(order):
            moved = b.emit("transpose", moved, permutation=tuple(order))
        axes = (*range(n_batch), *range(first_free, first_free + n), *contracted)
        if moved.aval.shape == shape:
            return moved
        return b.emit("broadcast_in_dim", moved, shape=shape, broadcast_dimensions=axes)

    left = spread(x, (*x_batch, *x_free, *x_contracted), n_batch, len(x_free))
    right = spread(y, (*y_batch, *y_free, *y_contracted), n_batch + len(x_free), len(y_free))
    product = b.emit("mul", left, right)
    return b.build(b.emit("reduce_sum", product, axes=tuple(contracted)) if contracted else product)


def _shared_bytes(text: str) -> int:
    """Bytes of the arrays of a fixed size that a function keeps in shared memory."""
    found = re.findall(r"cuda\.shared\.array\((\d+), types\.(\w+)\)", text)
    return sum(int(n) * np.dtype("bool" if kind == "boolean" else kind).itemsize for n, kind in found)
