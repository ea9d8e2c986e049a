"""Stages: the kernels of an iteration, with the rows that they read and write."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ...codegen.copies import copy_sides_kernel
from ...codegen.kernel import Kernel
from ...fusion import Cluster, LibraryStep, Plan, Step, ViewStep, step_inputs, step_outputs
from ...ir import Equation, Var
from ...primitives.updates import update_slice_p
from ..memory.placement import Placement
from ..native.kernels import Code, NotNativeError, compile_kernel
from ..rows import rows_of


class NotTiledError(NotNativeError):
    """A loop whose iterations run one after another, and why."""


@dataclass(frozen=True, eq=False, slots=True)
class Stage:
    """A kernel of an iteration. args: the variable of each of its arguments, None for sizes; outs: its results; held:
    what must be in memory until it ran; reach: of each array that the loop changes, how many rows around those that it
    writes it reads; first, rows: which it writes; steps: of its outer loop for a row; stores: for results of which it
    writes a part, what they are a copy of before; is_copy: whether it makes such a copy for the next stage."""

    kernel: Kernel
    address: int
    args: tuple[Var | None, ...]
    outs: tuple[Var, ...]
    held: frozenset[Var]
    reach: Mapping[Var, int]
    first: int
    rows: int
    steps: int
    stores: Mapping[Var, Var]
    is_copy: bool = False


def is_scalar(var: Var) -> bool:
    return not var.aval.shape


def scalar_steps(plan: Plan, changing: Collection[Var]) -> list[Step]:
    """The steps that compute scalars of what the loop does not change, and of other scalars: a counter, a coefficient
    of each iteration."""

    def needs_scalars_only(step: Step) -> bool:
        return all(is_scalar(v) for v in (*step_outputs(step), *(v for v in step_inputs(step) if v in changing)))

    return [s for s in plan.steps if isinstance(s, Cluster | LibraryStep | ViewStep) and needs_scalars_only(s)]


def find_stages(plan: Plan, placement: Placement, code: Code, changing: Collection[Var]) -> Iterator[Stage]:
    """The stages of an iteration, but for scalars. changing: the variables whose memory the loop writes to.
    NotTiledError where a kernel needs more than rows around those that it writes."""
    apart = scalar_steps(plan, changing)
    for step in plan.steps:
        if step in apart:
            continue
        if not isinstance(step, Cluster) or any(map(is_scalar, step.outvars)):
            raise NotTiledError("an iteration is more than kernels over arrays")
        kernel, address = placement[step.id], code.compiled[step.id].address
        if kernel.finish is not None or not address or any(a.kind in ("scratch", "update") for a in kernel.args):
            raise NotTiledError("a kernel gives values that it needs all rows for")
        touched = {v for v in (arg.var for arg in kernel.args) if v is not None and v in changing and not is_scalar(v)}
        rows = rows_of(kernel, touched)
        if rows is None:
            raise NotTiledError("a kernel reads or writes rows in another order")
        reach = {var: max(around) for var, around in rows.around.items()}
        taken = {base for out in step.outvars if (base := placement.takes.get(out)) is not None}
        held = frozenset((*step.invars, *step.outvars, *step.stores.values(), *taken))
        args = tuple(arg.var for arg in kernel.args)
        yield Stage(kernel, address, args, step.outvars, held, reach, rows.first, rows.n, rows.steps, step.stores)


def copy_stages(base: Var, out: Var, eqn: Equation, step: str) -> Iterator[Stage]:
    """The stages that copy what the update `eqn` does not replace. NotTiledError unless that is whole rows, and the
    sides of others."""
    region, shape = region_of(eqn), out.aval.shape
    if region is None or not out.aval.size:
        raise NotTiledError("elements here and there are replaced")
    d = next((d for d, length in enumerate(shape) if length != 1), 0)
    rows, size = shape[d], out.aval.size // shape[d]
    inside = [(low, high) == (0, length) for (low, high), length in zip(region, shape, strict=True)]
    if not all(inside[d + 2 :]):
        raise NotTiledError("what is replaced lies in rows in many pieces")
    run = out.aval.size // (shape[d] * shape[d + 1]) if d + 1 < len(shape) else 1
    low, high = region[d + 1] if d + 1 < len(shape) else (0, 1)
    (begin, end), sides = region[d], (low * run, size - high * run)
    for first, stop, n_left, n_right in ((0, begin, size, 0), (begin, end, *sides), (end, rows, size, 0)):
        if stop > first and n_left + n_right:
            kernel = copy_sides_kernel(base, out, rows, first, stop, n_left, n_right, step)
            address = compile_kernel(kernel).address
            if not address:
                raise NotTiledError("numba compiled a kernel")
            args = (base, out, *(None for _ in kernel.args[2:]))
            reach = {base: 0, out: 0}
            held = frozenset((base, out))
            yield Stage(kernel, address, args, (out,), held, reach, first, stop - first, 1, {}, is_copy=True)


def region_of(eqn: Equation) -> list[tuple[int, int]] | None:
    """Along each axis, from where to where an update replaces elements; None unless these are one block."""
    if eqn.primitive is not update_slice_p or any(s != 1 for s in eqn.params["strides"] or ()):
        return None
    starts, shape = eqn.params["start_indices"], eqn.invars[1].aval.shape
    return [(start, start + size) for start, size in zip(starts, shape, strict=True)]


def is_within(eqn: Equation, other: Equation) -> bool:
    """Whether an update replaces only what another one does, in an array of the same shape."""
    inner, outer = region_of(eqn), region_of(other)
    if inner is None or outer is None or eqn.outvars[0].aval.shape != other.outvars[0].aval.shape:
        return False
    return all(a >= c and b <= d for (a, b), (c, d) in zip(inner, outer, strict=True))
