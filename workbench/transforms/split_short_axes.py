"""Short last axes written out: an array of points `p[n, 3]` becomes three arrays, one for each coordinate.

A kernel has one loop nest, so that a reduction over the coordinates ends it: distances between all points would be
written to memory for the next kernel. Written out, the coordinates are variables of one iteration, and forces on points
are one reduction. Sums over the axis are added from left to right, as NumPy adds so few numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..ir import Atom, Equation, Jaxpr, Literal, Var
from ..ir.checker import same_type
from ..primitives.lowering import Pointwise
from .cse import eliminate_common_subexpressions
from .dce import eliminate_dead_code
from .rewrite import Rewriter, rewrite

LONGEST = 4
# Only arrays so many times larger than what comes in and goes out are worth it.
LEAST_GROWTH = 8
REDUCTIONS = {"reduce_sum": "add", "reduce_max": "max", "reduce_min": "min"}


def is_short(shape: Sequence[int]) -> bool:
    return len(shape) > 1 and 2 <= shape[-1] <= LONGEST


def split_short_axes(jaxpr: Jaxpr) -> Jaxpr | None:
    """`jaxpr` with short last axes written out; None where it has no large array with one. The inner programs of loops
    and branches stay as they are."""
    ends = [v.aval.size for v in (*jaxpr.invars, *jaxpr.constvars, *jaxpr.outvars)]
    grown = LEAST_GROWTH * max(ends, default=1)
    if not any(is_short(v.aval.shape) and v.aval.size >= grown for eqn in jaxpr.eqns for v in eqn.outvars):
        return None
    splitter = _Splitter()
    return eliminate_dead_code(eliminate_common_subexpressions(eliminate_dead_code(rewrite(jaxpr, splitter.rule))))


class _Splitter:
    """parts: the arrays along the last axis of an array, for those that were split."""

    def __init__(self) -> None:
        self.parts: dict[Atom, tuple[Atom, ...]] = {}
        self.is_busy = False

    def rule(self, rewriter: Rewriter, eqn: Equation) -> Sequence[Atom] | None:
        if self.is_busy or len(eqn.outvars) != 1:
            return None
        self.is_busy = True  # what is emitted is not to be split once more
        try:
            return self._split(rewriter, eqn)
        finally:
            self.is_busy = False

    def _split(self, rewriter: Rewriter, eqn: Equation) -> Sequence[Atom] | None:
        name, out = eqn.primitive.name, eqn.outvars[0].aval
        if name in REDUCTIONS and eqn.invars[0] in self.parts:
            return self._reduced(rewriter, eqn)
        if not is_short(out.shape):
            return None
        if name == "broadcast_in_dim":
            return self._joined(rewriter, eqn, self._broadcast(rewriter, eqn))
        if not eqn.primitive.has_rule("lowering") or not isinstance(eqn.primitive.lowering, Pointwise):
            return None
        if any(a.aval.shape not in ((), out.shape) for a in eqn.invars):
            return None
        operands = [
            (a,) * out.shape[-1] if not a.aval.shape else self._components(rewriter, eqn, a) for a in eqn.invars
        ]
        return self._joined(
            rewriter, eqn, [rewriter.emit(eqn, eqn.primitive, *xs, **eqn.params) for xs in zip(*operands, strict=True)]
        )

    def _reduced(self, rewriter: Rewriter, eqn: Equation) -> Sequence[Atom] | None:
        (operand,), out = eqn.invars, eqn.outvars[0].aval
        if out.dtype != operand.aval.dtype or set(eqn.params) != {"axes"}:
            return None
        last = operand.aval.ndim - 1
        axes = tuple(axis for axis in eqn.params["axes"] if axis != last)
        if len(axes) == len(eqn.params["axes"]):
            parts = [rewriter.emit(eqn, eqn.primitive, part, axes=axes) for part in self.parts[operand]]
            return self._joined(rewriter, eqn, parts)
        total, *rest = self.parts[operand]
        for part in rest:
            total = rewriter.emit(eqn, REDUCTIONS[eqn.primitive.name], total, part)
        if axes:
            total = rewriter.emit(eqn, eqn.primitive, total, axes=axes)
        return (total,) if same_type(total.aval, out) else None

    def _broadcast(self, rewriter: Rewriter, eqn: Equation) -> list[Atom]:
        """The parts of a broadcast: of the operand's own where it has the axis, else the same one for all."""
        (operand,), shape = eqn.invars, eqn.outvars[0].aval.shape
        axes = eqn.params["broadcast_dimensions"]
        sources: tuple[Atom, ...] = (operand,) * shape[-1]
        if axes and axes[-1] == len(shape) - 1:
            axes = axes[:-1]
            if operand.aval.shape[-1] == 1:
                squeezed = rewriter.emit(eqn, "squeeze", operand, dimensions=(operand.aval.ndim - 1,))
                sources = (squeezed,) * shape[-1]
            else:
                sources = self._components(rewriter, eqn, operand)
        made: dict[Atom, Atom] = {}
        for source in sources:
            if source not in made and source.aval.shape != shape[:-1]:
                made[source] = rewriter.emit(
                    eqn, "broadcast_in_dim", source, shape=shape[:-1], broadcast_dimensions=axes
                )  # fmt: skip
        return [made.get(source, source) for source in sources]

    def _components(self, rewriter: Rewriter, eqn: Equation, atom: Atom) -> tuple[Atom, ...]:
        """`atom[..., 0]`, `atom[..., 1]` and so on."""
        if atom not in self.parts:
            *shape, length = atom.aval.shape
            last, found = len(shape), []
            for k in range(length):
                starts, limits = (*(0 for _ in shape), k), (*shape, k + 1)
                part = rewriter.emit(eqn, "slice", atom, start_indices=starts, limit_indices=limits, strides=None)
                found.append(rewriter.emit(eqn, "squeeze", part, dimensions=(last,)))
            self.parts[atom] = tuple(found)
        return self.parts[atom]

    def _joined(self, rewriter: Rewriter, eqn: Equation, parts: Sequence[Atom]) -> Sequence[Atom] | None:
        """The parts as one array, for those who read it whole: what nobody reads is no work."""
        if any(isinstance(part, Literal) for part in parts):
            return None
        shape = eqn.outvars[0].aval.shape
        columns = [
            rewriter.emit(
                eqn, "broadcast_in_dim", part, shape=(*shape[:-1], 1), broadcast_dimensions=tuple(range(len(shape) - 1))
            )
            for part in parts
        ]  # fmt: skip
        whole = rewriter.emit(eqn, "concatenate", *columns, dimension=len(shape) - 1)
        if not same_type(whole.aval, eqn.outvars[0].aval):
            return None
        assert isinstance(whole, Var) and math.prod(shape) == whole.aval.size
        self.parts[whole] = tuple(parts)
        return (whole,)
