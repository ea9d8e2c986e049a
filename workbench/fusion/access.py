"""How an equation reads its operands, found by running its index map once on symbolic loop indices.

No primitive is special: a transpose, a broadcast and a slice that keeps a whole axis all come out as "operand axis d is
loop axis a"; anything else (an offset, a stride, a choice between operands, a loaded index) is a shifted read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..ir import Equation, Jaxpr, Literal, Var
from ..primitives.index import Expr, const, loop_index, size, wrap
from ..primitives.lowering import Choose, Compute, Element, IndexMap, Read, Reduction

# Operand axis -> the loop axis that indexes it, or None where the index is always 0 (an axis of length 1).
AxisMap = tuple[int | None, ...]
# Elements up to which an update in place (a kernel launch of its own) doesn't pay.
SMALL_ARRAY = 64
# Arrays that are joined: fewer are chosen from, element by element, where the result is read.
LEAST_STACKED = 5


class IndexMapContext:
    """The `IndexContext` that lowering rules see. Subclasses of codegen bind sizes to kernel arguments."""

    def __init__(self, eqn: Equation):
        self.eqn = eqn
        self.params: Mapping[str, Any] = eqn.params
        self.out_aval = eqn.outvars[0].aval
        self.in_avals = tuple(v.aval for v in eqn.invars)
        self.out_dtype: np.dtype = self.out_aval.dtype

    @property
    def in_shapes(self) -> tuple[tuple[Expr, ...], ...]:
        return tuple(tuple(self.operand_size(k, d) for d in range(aval.ndim)) for k, aval in enumerate(self.in_avals))

    @property
    def out_shape(self) -> tuple[Expr, ...]:
        return tuple(self.result_size(d) for d in range(self.out_aval.ndim))

    def operand_size(self, operand: int, axis: int) -> Expr:
        return size(f"operand{operand}.shape[{axis}]")

    def result_size(self, axis: int) -> Expr:
        return size(f"result.shape[{axis}]")

    def runtime(self, value: int) -> Expr:
        return const(value) if 0 <= value <= 2 else size(f"size_{value}")

    def load(self, operand: int, index: tuple[Expr, ...]) -> Expr:
        return Expr("load", (f"operand{operand}", *index))

    def value(self, index: Expr) -> str:
        return str(index)

    def const(self, value: Any, dtype: np.dtype | None = None) -> str:
        return repr(value)


class Access(NamedTuple):
    """One operand as an equation reads it. axis_map: None for a shifted read; reads: how many different elements;
    share: for which part of the results."""

    operand: int
    axis_map: AxisMap | None
    reads: int = 1
    share: float = 1.0


def is_index_map(eqn: Equation) -> bool:
    return eqn.primitive.has_rule("lowering") and isinstance(eqn.primitive.lowering, IndexMap)


def is_reduction(eqn: Equation) -> bool:
    """Whether a kernel computes this as a reduction (prefix scans are library calls)."""
    lowering = eqn.primitive.lowering if eqn.primitive.has_rule("lowering") else None
    return isinstance(lowering, Reduction) and not lowering.kind.startswith("cum")


def reduced_axes(eqn: Equation) -> tuple[int, ...]:
    return tuple(eqn.primitive.lowering.axes(eqn.params))


def is_fold(eqn: Equation) -> bool:
    """Whether this is a reduction that folds more or less than one element: over axes of length 1 there is nothing to
    fold, and the result is the operand with fewer axes."""
    return is_reduction(eqn) and any(eqn.invars[0].aval.shape[axis] != 1 for axis in reduced_axes(eqn))


def is_scan(eqn: Equation) -> bool:
    """Whether a kernel can compute this prefix sum or product in step with other equations: along the innermost of its
    loops, from beginning to end."""
    lowering = eqn.primitive.lowering if eqn.primitive.has_rule("lowering") else None
    if not isinstance(lowering, Reduction) or lowering.kind not in ("cumsum", "cumprod") or eqn.params.get("reverse"):
        return False
    aval, (axis,) = eqn.invars[0].aval, reduced_axes(eqn)
    is_exact = aval.dtype.kind in "iu" or aval.dtype in (np.float32, np.float64)
    return is_exact and aval.shape[axis] > 1 and all(length == 1 for length in aval.shape[axis + 1 :])


def fold_free_index(eqn: Equation, index: tuple) -> tuple:
    """Where a reduction over axes of length 1 reads its operand for the result at `index`; 0 along these axes."""
    rest = iter(index)
    reduced = reduced_axes(eqn)
    return tuple(const(0) if axis in reduced else next(rest) for axis in range(eqn.invars[0].aval.ndim))


def is_store(eqn: Equation) -> bool:
    """Whether a kernel writes this result's replaced elements alone, into an array that holds the others. Small arrays
    are cheaper to compute anew, together with what reads them."""
    lowering = eqn.primitive.lowering if eqn.primitive.has_rule("lowering") else None
    if not isinstance(lowering, IndexMap) or lowering.place is None:
        return False
    base, update = eqn.invars[:2]
    return isinstance(base, Var) and base.aval.size > SMALL_ARRAY and update.aval.size > 0


def is_stack(eqn: Equation) -> bool:
    """Whether this joins many arrays of one element each along an axis (`np.stack`): a kernel that computes them may
    write each to its place in the result."""
    if eqn.primitive.name != "concatenate" or len(eqn.invars) < LEAST_STACKED:
        return False
    if eqn.outvars[0].aval.size <= SMALL_ARRAY:
        return False
    return all(atom.aval.shape[eqn.params["dimension"]] == 1 for atom in eqn.invars) and eqn.invars[0].aval.size > 1


def is_rotation(eqn: Equation, producer: Mapping[Var, Equation]) -> bool:
    """Whether this joins slices of one array: who reads it chooses an index, and reads one element. producer: what made
    a variable."""
    if eqn.primitive.name != "concatenate":
        return False
    sources = set()
    for atom in eqn.invars:
        part = producer.get(atom) if isinstance(atom, Var) else None
        if part is None or part.primitive.name != "slice" or any(s != 1 for s in part.params.get("strides") or ()):
            return False
        sources.add(part.invars[0])
    return len(sources) == 1


def index_map_accesses(eqn: Equation) -> tuple[Access, ...]:
    """How an index map's result at (i0, i1, ...) reads each operand."""
    context = IndexMapContext(eqn)
    index = tuple(loop_index(axis) for axis in range(eqn.outvars[0].aval.ndim))
    reads: dict[int, list[tuple[tuple[Expr, ...], bool]]] = {}
    loaded: set[int] = set()
    original_load = context.load

    def load(operand: int, at: tuple[Expr, ...]) -> Expr:
        loaded.add(operand)
        return original_load(operand, at)

    context.load = load  # type: ignore[method-assign]  # records which operands serve as indices
    _collect(eqn.primitive.lowering.element(context, index), reads, conditional=False)
    accesses = []
    for operand, found in reads.items():
        axis_map = None
        if len(found) == 1 and not found[0][1]:
            axis_map = _axis_map(found[0][0], eqn.invars[operand].aval.shape, eqn.outvars[0].aval.shape)
        n_reads = len({at for at, _ in found})
        accesses.append(Access(operand, axis_map, n_reads))
    accesses.extend(Access(operand, None) for operand in sorted(loaded - set(reads)))
    return tuple(accesses)


def _collect(element: Element, reads: dict[int, list[tuple[tuple[Expr, ...], bool]]], *, conditional: bool) -> None:
    match element:
        case Read(operand, index):
            reads.setdefault(operand, []).append((tuple(map(wrap, index)), conditional))  # type: ignore[arg-type]  # rules are given `Expr`s
        case Choose(_, then, otherwise):
            _collect(then, reads, conditional=True)
            _collect(otherwise, reads, conditional=True)
        case Compute():
            pass


def _axis_map(index: tuple[Expr | int, ...], operand_shape: tuple[int, ...], shape: tuple[int, ...]) -> AxisMap | None:
    """The axis map of an unconditional read, if it covers every operand axis from end to end."""
    axes: list[int | None] = []
    for expr, length in zip(map(wrap, index), operand_shape, strict=True):
        if expr.is_axis and expr.axis is not None and shape[expr.axis] == length:
            axes.append(expr.axis)
        elif length == 1 and expr.op == "const":
            axes.append(None)
        else:
            return None
    used = [a for a in axes if a is not None]
    return tuple(axes) if len(set(used)) == len(used) else None


class Root(NamedTuple):
    """A variable that is read from memory or from another equation's registers, as seen through lazy equations.

    axis_map: root axis -> axis of the reader's loop, None if any step on the way shifts it; reads counts elements;
    evaluations: the same for a mean element of the reader, which may be read in a part of them only."""

    var: Var
    axis_map: AxisMap | None
    reads: int = 1
    evaluations: float = 1.0


class Reader:
    """Resolves what an equation reads, through the equations that are evaluated lazily inside their readers."""

    def __init__(
        self, jaxpr: Jaxpr, lazy: set[Equation], stores: Collection[Equation] = (), stacks: Collection[Equation] = ()
    ):  # fmt: skip
        self.producer = {out: eqn for eqn in jaxpr.eqns for out in eqn.outvars}
        self.lazy = lazy
        self.stores = stores
        self.stacks = stacks
        self._accesses: dict[Equation, tuple[Access, ...]] = {}
        self._roots: dict[Var, tuple[Root, ...]] = {}
        self._roots_of_eqn: dict[Equation, tuple[Root, ...]] = {}

    def accesses(self, eqn: Equation) -> tuple[Access, ...]:
        """Per operand; a pointwise or reducing equation reads ranked operands one to one, scalars at ()."""
        found = self._accesses.get(eqn)
        if found is None:
            if eqn in self.stacks:
                found = tuple(Access(k, tuple(range(v.aval.ndim))) for k, v in enumerate(eqn.invars))
            elif eqn in self.stores:
                update = Access(1, tuple(range(eqn.invars[1].aval.ndim)))
                found = (update, *(Access(k, None) for k in range(2, len(eqn.invars))))
            elif is_index_map(eqn):
                found = tuple(a._replace(share=self._share(eqn, a.operand)) for a in index_map_accesses(eqn))
            elif is_reduction(eqn) and not is_fold(eqn):
                index = fold_free_index(eqn, tuple(map(loop_index, range(eqn.outvars[0].aval.ndim))))
                found = (Access(0, tuple(expr.axis for expr in index)),)
            else:
                found = tuple(Access(k, tuple(range(v.aval.ndim))) for k, v in enumerate(eqn.invars))
            self._accesses[eqn] = found
        return found

    def _share(self, eqn: Equation, operand: int) -> float:
        """For which part of its results an index map reads `operand`: known where that is one box of them. (What it
        joins otherwise may depend on one another: each part of a solution on the next.)"""
        if not (eqn.primitive.name == "update_slice" and operand == 1) and not is_rotation(eqn, self.producer):
            return 1.0
        return eqn.invars[operand].aval.size / max(eqn.outvars[0].aval.size, 1)

    def roots_of_var(self, var: Var) -> tuple[Root, ...]:
        """What reading `var` at its own index means in terms of non-lazy variables."""
        found = self._roots.get(var)
        if found is None:
            eqn = self.producer.get(var)
            if eqn is None or eqn not in self.lazy:
                found = (Root(var, tuple(range(var.aval.ndim))),)
            else:
                found = self.roots(eqn)
            self._roots[var] = found
        return found

    def roots(self, eqn: Equation) -> tuple[Root, ...]:
        """The non-lazy variables that `eqn` reads, one `Root` for each variable and axis map."""
        found = self._roots_of_eqn.get(eqn)
        if found is None:
            found = self._roots_of_eqn[eqn] = self._find_roots(eqn)
        return found

    def _find_roots(self, eqn: Equation) -> tuple[Root, ...]:
        merged: dict[tuple[Var, AxisMap | None], tuple[int, float]] = {}
        for access in self.accesses(eqn):
            operand = eqn.invars[access.operand]
            if isinstance(operand, Literal):
                continue
            for root in self.roots_of_var(operand):
                axis_map = _compose(root.axis_map, access.axis_map)
                reads, evaluations = merged.get((root.var, axis_map), (0, 0.0))
                merged[root.var, axis_map] = (
                    reads + root.reads * access.reads,
                    evaluations + root.evaluations * access.reads * access.share,
                )
        return tuple(Root(var, axis_map, *counts) for (var, axis_map), counts in merged.items())

    def lazy_closure(self, eqns: list[Equation]) -> list[Equation]:
        """The lazy equations that `eqns` evaluate, transitively."""
        found: dict[Equation, None] = {}
        stack = list(eqns)
        while stack:
            eqn = stack.pop()
            for atom in eqn.invars[1:] if eqn in self.stores else eqn.invars:
                producer = self.producer.get(atom) if isinstance(atom, Var) else None
                if producer is not None and producer in self.lazy and producer not in found:
                    found[producer] = None
                    stack.append(producer)
        return list(found)


def _compose(inner: AxisMap | None, outer: AxisMap | None) -> AxisMap | None:
    if inner is None or outer is None:
        return None
    return tuple(None if axis is None else outer[axis] for axis in inner)
