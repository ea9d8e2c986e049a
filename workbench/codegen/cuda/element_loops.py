"""Loops around elements: a `while` or `scan` whose iterations keep to one element each is one kernel.

Each thread takes elements of the carried arrays, a grid apart, and goes through all iterations with them in registers:

    z = z0; repeat n times: z = z * z + c      ->      for i in range(grid, n_elements, gridsize):
                                                           z = z0[i]
                                                           for step in range(n_steps):
                                                               z = z * z + c_value
                                                           z_out[i] = z

Carried scalars (counters, and what a condition reads) are computed by every thread anew. What does not change from one
iteration to the next is computed in front of them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ...fusion.access import is_fold, is_index_map
from ...fusion.cost import MAX_DEVICE_KERNEL_EQNS, flops
from ...fusion.plan import Cluster, LoopStep, Space
from ...ir import Atom, Equation, Jaxpr, Literal, Var
from ...primitives.lowering import Pointwise
from ..blocks import Block
from ..kernel import Kernel
from ..lower import element_counts
from ..values import REPETITION
from .lower import Writer
from .nests import DeviceNest
from .tuning import GPU, Tuning

MOST_STEPS = 2**31 - 1
# An array takes 56 bytes of the 4 KiB that a kernel's parameters may take.
MOST_ARRAYS = 56


@dataclass(frozen=True, eq=False)
class ElementLoop:
    """A loop over elements. carry: (variable in the body, first value, next value, result); condition: the scalar that
    says whether there is another iteration (None: there are `length`)."""

    eqns: tuple[Equation, ...]
    carry: tuple[tuple[Var, Atom, Atom, Var], ...]
    condition: Atom | None
    length: int
    shape: tuple[int, ...]
    counts: frozenset[Literal]


def lower_element_loop(step: LoopStep, read: Collection[Var], tuning: Tuning = GPU) -> Kernel | None:
    """The kernel of a loop of which every element keeps to itself; None for any other. Its arguments are arrays in C
    order: the operands of the loop's equation, constants of its programs, and those results that are `read`."""
    loop = element_loop(step)
    if loop is None:
        return None
    made = {out for eqn in loop.eqns for out in eqn.outvars} | {var for var, *_ in loop.carry}
    reads = [a for eqn in loop.eqns for a in eqn.invars]
    reads += [a for _, first, then, _ in loop.carry for a in (first, then)]
    invars = tuple(dict.fromkeys(a for a in reads if isinstance(a, Var) and a not in made))
    outvars = tuple(out for *_, out in loop.carry if out in read)
    if len(invars) + len(outvars) > MOST_ARRAYS or len(loop.eqns) > MAX_DEVICE_KERNEL_EQNS:
        return None
    cluster = Cluster(step.id, loop.eqns, invars, outvars, Space(loop.shape, frozenset(), {}, {}))
    writer = _LoopWriter(cluster, loop, tuning, flat=False)
    if writer.can_flatten():
        writer = _LoopWriter(cluster, loop, tuning, flat=True)
    per_element = sum(flops(eqn) for eqn in loop.eqns)
    return dataclasses.replace(writer.kernel(), flops=per_element * max(loop.length, 1))


def element_loop(step: LoopStep) -> ElementLoop | None:
    """What a loop does to its elements, if each of them keeps to itself."""
    params, operands = step.eqn.params, step.eqn.invars
    if step.condition is None:
        n_consts, n_carry, length = params["num_consts"], params["num_carry"], params["length"]
        if len(operands) != n_consts + n_carry or len(step.eqn.outvars) != n_carry or length > MOST_STEPS:
            return None
        first, consts = operands[n_consts:], operands[:n_consts]
        condition, eqns, known = None, [], {}
    else:
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        first, consts, length = operands[n_cond + n_body :], operands[n_cond : n_cond + n_body], 0
        carried = step.body.jaxpr.invars[n_body:]
        known: dict[Var, Atom] = dict(zip(step.condition.jaxpr.invars, (*operands[:n_cond], *carried), strict=True))
        eqns = _with_operands(step.condition.jaxpr, known)
        (condition,) = (known.get(a, a) if isinstance(a, Var) else a for a in step.condition.outvars)
    body = step.body.jaxpr
    carried = body.invars[len(consts) :]
    inside: dict[Var, Atom] = dict(zip(body.invars, consts, strict=False))
    eqns = [*eqns, *_with_operands(body, inside)]
    shapes = {var.aval.shape for var in carried if var.aval.ndim}
    shape = next(iter(shapes), ())
    if len(shapes) > 1 or not carried or not math.prod(shape) or not _keep_to_themselves(eqns, carried, shape):
        return None
    then = [inside.get(a, a) if isinstance(a, Var) else a for a in body.outvars]
    counts = element_counts(body) | (frozenset() if step.condition is None else element_counts(step.condition.jaxpr))
    return ElementLoop(
        tuple(eqns), tuple(zip(carried, first, then, step.eqn.outvars, strict=True)), condition, length, shape, counts
    )


def _with_operands(jaxpr: Jaxpr, known: Mapping[Var, Atom]) -> list[Equation]:
    """The equations of a program that reads its inputs where `known` says."""
    return [
        dataclasses.replace(
            eqn, invars=tuple(known.get(a, a) if isinstance(a, Var) else a for a in eqn.invars)
        )
        for eqn in jaxpr.eqns
    ]  # fmt: skip


def _keep_to_themselves(eqns: list[Equation], carried: tuple[Var, ...], shape: tuple[int, ...]) -> bool:
    """Whether what follows from an element of the carried arrays stays at its place."""
    changing = set(carried)
    placed = {var for var in carried if var.aval.ndim}
    for eqn in eqns:
        variables = [a for a in eqn.invars if isinstance(a, Var)]
        if not eqn.primitive.has_rule("lowering") or is_fold(eqn):
            return False
        is_pointwise = isinstance(eqn.primitive.lowering, Pointwise)
        if not is_pointwise and not is_index_map(eqn):
            return False
        if placed.intersection(variables):
            same = all(a.aval.shape in ((), shape) for a in (*eqn.invars, *eqn.outvars))
            if not is_pointwise or not same:
                return False
            placed.update(eqn.outvars)
        elif not is_pointwise and changing.intersection(variables) and eqn.primitive.name != "broadcast_in_dim":
            return False  # where it reads would change with the iterations
        if changing.intersection(variables):
            changing.update(eqn.outvars)
    return True


class _LoopWriter(Writer):
    def __init__(self, cluster: Cluster, loop: ElementLoop, tuning: Tuning, *, flat: bool):
        self.loop = loop
        super().__init__(cluster, {}, loop.counts, tuning, flat=flat)

    def _wish(self, var: Var) -> str:
        inner = next(inner for inner, _, _, out in self.loop.carry if out is var)
        return var.hint or inner.hint or "carried"

    def _nest(self, tiled: int | None, in_turns: bool) -> DeviceNest:
        return _LoopNest(
            self.cluster, self.values, self.namer, self.outputs, self.flat, self.tuning, loop=self.loop
        )  # fmt: skip

    def _title(self) -> str:
        return f"loop_{super()._title()}" if self.loop.eqns else "loop"


class _LoopNest(DeviceNest):
    def __init__(self, *args, loop: ElementLoop):
        self.loop = loop
        super().__init__(*args)
        changing = {var for var, *_ in loop.carry}
        for eqn in loop.eqns:
            if changing.intersection(a for a in eqn.invars if isinstance(a, Var)):
                changing.update(eqn.outvars)
        self.values.changing = frozenset(changing)

    def _rounds(self):
        return [([], [])]

    def write(self) -> None:
        values, carry = self.values, self.loop.carry
        self.extent = self.n_rows
        n = self._count("n_elements", self.outer)
        self._over_grid(n, self.n_rows)
        body = self._grid_loop(self.root, n, self.outer, "i")
        names = {}
        for var, first, _, _ in carry:
            at = values.canonical if var.aval.ndim else ()
            text = values.value(first, at, body)
            names[var] = self.namer.for_var(var, "carried")
            body.line(f"{names[var]} = {_typed(text, var)}")
        for var, *_ in carry:
            values.stored[var] = (names[var], values.canonical if var.aval.ndim else ())
        if self.loop.condition is None:
            steps = self._size("n_steps", self.loop.length)
            loop = body.loop(f"for {self.namer.fresh('step')} in range({steps}):", REPETITION)
        else:
            loop = body.loop("while True:", REPETITION)
            text = values.value(self.loop.condition, (), loop)
            loop.line(f"if not {text}:")
            loop.line("    break")
        changed = [(var, then) for var, _, then, _ in carry if then is not var]
        texts = [
            _typed(values.value(then, values.canonical if var.aval.ndim else (), loop), var) for var, then in changed
        ]
        if changed:
            loop.line(f"{', '.join(names[var] for var, _ in changed)} = {', '.join(texts)}")
        body.close_loop()
        self._store_carried(body, names)

    def _store_carried(self, body: Block, names: Mapping[Var, str]) -> None:
        values = self.device_values
        first = "i" if self.flat or len(self.outer) != 1 else f"i{self.outer[0]}"
        for var, _, _, out in self.loop.carry:
            if var.aval.ndim and out in self.outputs:
                body.line(f"{values.element(self.outputs[out], out, values.canonical)} = {names[var]}")
        scalars = [(var, out) for var, _, _, out in self.loop.carry if out in self.outputs and not var.aval.ndim]
        if scalars:
            block = body.loop(f"if {first} == 0:")  # every thread knows them
            for var, out in scalars:
                block.line(f"{self.outputs[out]}[0] = {names[var]}")


def _typed(text: str, var: Var) -> str:
    """`text` as a value of just the variable's type, which must not change while a loop runs."""
    dtype = var.aval.dtype
    if dtype == np.dtype(bool):
        return f"bool({text})"
    return f"np.{dtype.name}({text})" if dtype.kind in "iu" else text
