"""Groups: clusters while they grow. Whether two of them may become one kernel, and in which loops.

A group loops over a space. Merging maps the axes of the smaller space onto the larger one, as dictated by the
variables that flow between the two; what cannot be mapped is a reason to refuse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..ir import Equation, Var
from .access import AxisMap, Reader, is_fold, reduced_axes
from .cost import FLOPS_PER_BYTE, MAX_KERNEL_ARRAYS, MAX_KERNEL_EQNS, flops_per_element, is_expensive


@dataclass(eq=False, slots=True)
class Group:
    """A growing cluster. loops: for each equation, its own loop axes -> axes of the group's space, or None where it
    is evaluated wherever it is read; row: variables that depend on a reduction of this group."""

    number: int
    eqns: list[Equation]
    shape: tuple[int, ...]
    reduced: frozenset[int]
    loops: dict[Equation, AxisMap | None]
    align: dict[Var, AxisMap]
    row: set[Var]
    separation: str = ""
    outputs: set[Var] = field(default_factory=set)

    @property
    def real_axes(self) -> list[int]:
        return [axis for axis, length in enumerate(self.shape) if length != 1]

    @property
    def rows(self) -> set[int]:
        return {axis for axis in self.real_axes if axis not in self.reduced}


@dataclass(frozen=True, slots=True)
class Fit:
    """The merge of two groups: the code that says how, and the result."""

    code: str
    group: Group


@dataclass(frozen=True, slots=True)
class Refusal:
    code: str


def new_group(number: int, eqn: Equation, separation: str) -> Group:
    """A group of one equation that loops over its result, or over its operand if it reduces."""
    out = eqn.outvars[0]
    if is_fold(eqn):
        shape = eqn.invars[0].aval.shape
        reduced = frozenset(reduced_axes(eqn))
        kept = tuple(axis for axis in range(len(shape)) if axis not in reduced)
        align: dict[Var, AxisMap] = {out: kept}
        row = {out}
    else:
        shape, reduced, row = out.aval.shape, frozenset(), set()
        align = {out: tuple(range(len(shape)))}
    loops: dict[Equation, AxisMap | None] = {eqn: tuple(range(len(shape)))}
    return Group(number, [eqn], shape, reduced, loops, align, row, separation)


class Fitter:
    """Decides merges. needed: for each variable the equations that read it from memory or registers, lazily evaluated
    ones seen through; kept: variables that must reach memory for the program's results or other steps."""

    def __init__(self, reader: Reader, needed: dict[Var, set[Equation]], kept: set[Var]):
        self.reader = reader
        self.needed = needed
        self.kept = kept

    def fit(self, up: Group, down: Group) -> Fit | Refusal:
        """Merge `down`, which reads results of `up` (or only shares inputs with it), into one group."""
        if up.separation != down.separation:
            return Refusal("WB321")
        if len(up.eqns) + len(down.eqns) > MAX_KERNEL_EQNS:
            return Refusal("WB317")
        pairs: set[tuple[int, int]] = set()
        shifted: set[Var] = set()
        connected: dict[Var, float] = {}
        for eqn in down.eqns:
            loop = down.loops[eqn]
            for root in self.reader.roots(eqn):
                if root.var not in up.align and not any(root.var in e.outvars for e in up.eqns):
                    continue
                connected[root.var] = connected.get(root.var, 0) + root.reads
                source = up.align.get(root.var)
                if root.axis_map is None or loop is None or source is None:
                    if root.var in up.row:
                        return Refusal("WB312")
                    shifted.add(root.var)
                    continue
                for d, length in enumerate(root.var.aval.shape):
                    target = root.axis_map[d]
                    if length != 1 and target is not None and source[d] is not None:
                        pairs.add((source[d], loop[target]))
        if not connected:
            pairs |= self._shared_pairs(up, down)
        refusal = self._recomputation(up, down, connected, shifted)
        if refusal is not None:
            return refusal
        merged = self._align(up, down, pairs, connected)
        if isinstance(merged, Group):
            merged.outputs = self.outputs(merged)
            if self._n_arrays(merged) > MAX_KERNEL_ARRAYS:
                return Refusal("WB317")
            return Fit("WB302" if not connected else "WB301" if shifted else "WB300", merged)
        if connected and merged.code == "WB310":
            return self._inline(up, down, connected) or (Refusal("WB311") if shifted else merged)
        return merged

    def outputs(self, group: Group) -> set[Var]:
        """The variables of `group` that something outside it needs."""
        inside = set(group.eqns)
        return {
            out
            for eqn in group.eqns
            for out in eqn.outvars
            if out in self.kept or not self.needed.get(out, set()) <= inside
        }

    def _shared_pairs(self, up: Group, down: Group) -> set[tuple[int, int]]:
        """Axis pairs of siblings, from the inputs that both read in step."""
        seen: dict[Var, tuple[int | None, ...]] = {}
        pairs: set[tuple[int, int]] = set()
        for group in (up, down):
            for eqn in group.eqns:
                loop = group.loops[eqn]
                for root in self.reader.roots(eqn):
                    if loop is None or root.axis_map is None:
                        continue
                    axes = tuple(None if t is None else loop[t] for t in root.axis_map)
                    if group is up:
                        seen.setdefault(root.var, axes)
                    elif root.var in seen:
                        pairs |= {
                            (a, b)
                            for a, b, length in zip(seen[root.var], axes, root.var.aval.shape, strict=True)
                            if a is not None and b is not None and length != 1
                        }
        return pairs

    def _recomputation(self, up: Group, down: Group, connected: dict[Var, float], shifted: set[Var]) -> Refusal | None:
        """Refuse shifted reads of values that are dear to compute again at every place."""
        if not shifted:
            return None
        cost = sum(flops_per_element(e) for e in up.eqns)
        n_places = math.prod(down.shape)
        for var in shifted:
            n_evaluations = connected[var] * n_places
            extra = max(n_evaluations - var.aval.size, 0)
            if extra and any(is_expensive(e) for e in up.eqns):
                return Refusal("WB314")
            if extra * cost > 2 * var.aval.nbytes * FLOPS_PER_BYTE:
                return Refusal("WB314")
        return None

    def _align(self, up: Group, down: Group, pairs: set[tuple[int, int]], connected: dict[Var, float]) -> Group | Refusal:
        flip = len(down.real_axes) > len(up.real_axes)
        base, other = (down, up) if flip else (up, down)
        mapping: dict[int, int] = {}
        for a, b in pairs:
            source, target = (a, b) if flip else (b, a)
            if mapping.setdefault(source, target) != target:
                return Refusal("WB310")
        if len(set(mapping.values())) != len(mapping):
            return Refusal("WB310")
        free = [axis for axis in base.real_axes if axis not in mapping.values()]
        for axis in other.real_axes:
            if axis in mapping:
                if base.shape[mapping[axis]] != other.shape[axis]:
                    return Refusal("WB310")
                continue
            match = next((f for f in free if base.shape[f] == other.shape[axis]), None)
            if match is None:
                return Refusal("WB310")
            free.remove(match)
            mapping[axis] = match
        if other.reduced and free:
            return Refusal("WB310")
        moved = frozenset(mapping[axis] for axis in other.reduced if axis in mapping)
        base_reduced = frozenset(axis for axis in base.reduced if base.shape[axis] != 1)
        if (base.reduced and other.reduced) and base_reduced != moved:
            return Refusal("WB315")
        reduced = base.reduced if base.reduced else moved
        return self._merged(up, down, base, other, mapping, reduced)

    def _merged(
        self, up: Group, down: Group, base: Group, other: Group, mapping: dict[int, int], reduced: frozenset[int]
    ) -> Group | Refusal:
        def move(axes: AxisMap) -> AxisMap:
            return tuple(None if axis is None else mapping.get(axis) for axis in axes)

        align = dict(base.align) | {var: move(axes) for var, axes in other.align.items()}
        loops = dict(base.loops) | {e: None if axes is None else move(axes) for e, axes in other.loops.items()}
        eqns = up.eqns + down.eqns
        merged = Group(base.number, eqns, base.shape, reduced, loops, align, set(), up.separation)
        self._mark_rows(merged)
        real, rows = set(merged.real_axes), merged.rows
        for var in self.outputs(merged):
            if var not in align:
                return Refusal("WB311")
            axes = {axis for axis in align[var] if axis is not None and merged.shape[axis] != 1}
            if axes != real and not (merged.reduced and axes == rows):
                return Refusal("WB310")
        return self._check_phases(merged, up, down)

    def _mark_rows(self, group: Group) -> None:
        for eqn in group.eqns:
            if is_fold(eqn) or any(root.var in group.row for root in self.reader.roots(eqn)):
                group.row.update(eqn.outvars)

    def _check_phases(self, merged: Group, up: Group, down: Group) -> Group | Refusal:
        """Values that follow a reduction: rows must be independent, and each row's total finished first."""
        if not merged.reduced:
            return merged
        rows = merged.rows
        for eqn in merged.eqns:
            roots = [root for root in self.reader.roots(eqn) if root.var in merged.row]
            if not roots:
                continue
            if any(root.axis_map is None for root in roots) or merged.loops[eqn] is None:
                return Refusal("WB312")
            folds = is_fold(eqn)
            axes = {axis for axis in merged.align[eqn.outvars[0]] if axis is not None}
            second_pass = folds or bool(axes & merged.reduced)
            if second_pass and not rows:
                return Refusal("WB313")
            loop = merged.loops[eqn]
            covered = {axis for axis in loop if axis is not None and merged.shape[axis] != 1}
            if not rows <= covered:
                return Refusal("WB318")
            if folds and not {a for a in merged.reduced if merged.shape[a] != 1} <= covered:
                return Refusal("WB315")
            for root in roots:
                at = {loop[t] for t in root.axis_map if t is not None}
                if root.var in merged.align:
                    source = {axis for axis in merged.align[root.var] if axis is not None and merged.shape[axis] != 1}
                    if not source <= {axis for axis in at if axis is not None}:
                        return Refusal("WB312")
        return merged

    def _inline(self, up: Group, down: Group, connected: dict[Var, float]) -> Fit | Refusal | None:
        """Evaluate `up` wherever `down` reads it, when nothing else needs it."""
        if up.reduced or up.row:
            return None
        inside = set(up.eqns) | set(down.eqns)
        for eqn in up.eqns:
            for out in eqn.outvars:
                if out in self.kept or not self.needed.get(out, set()) <= inside:
                    return None
        refusal = self._recomputation(up, down, connected, set(connected))
        if refusal is not None:
            return refusal
        loops = dict(down.loops) | dict.fromkeys(up.eqns)
        merged = Group(
            down.number, up.eqns + down.eqns, down.shape, down.reduced, loops, dict(down.align), set(), down.separation
        )
        self._mark_rows(merged)
        merged.outputs = self.outputs(merged)
        if self._n_arrays(merged) > MAX_KERNEL_ARRAYS:
            return Refusal("WB317")
        return Fit("WB301", merged)

    def _n_arrays(self, group: Group) -> int:
        inside = {out for eqn in group.eqns for out in eqn.outvars}
        read = {root.var for eqn in group.eqns for root in self.reader.roots(eqn)} - inside
        return len(read) + len(group.outputs)
