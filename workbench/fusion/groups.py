"""Groups: clusters while they grow. Whether two of them may become one kernel, and in which loops.

A group loops over a space. Merging maps the axes of the smaller space onto the larger one, as dictated by the
variables that flow between the two; what cannot be mapped is a reason to refuse.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..ir import Equation, Var
from .access import AxisMap, Reader, is_fold, is_index_map, is_scan, reduced_axes
from .cost import (
    FLOPS_PER_BYTE,
    LINES_OF_A_CHOICE,
    MAX_KERNEL_ARRAYS,
    MAX_KERNEL_EQNS,
    MAX_REPEATED_FLOPS,
    MAX_REPEATED_TEXT,
    MOST_CHOICES,
    MOST_ROWS_TWICE,
    MOST_SCANNED_FLOPS,
    flops_per_element,
    is_expensive,
)


@dataclass(eq=False, slots=True)
class Group:
    """A growing cluster.

    loops: for each equation, its own loop axes -> axes of the group's space, or None where it is evaluated wherever it
    is read; work: at how many places it is evaluated for one element of the space; row: variables that depend on a
    reduction of this group; reads: what its equations read, each other's results included; inputs: those that others
    make; first, last: positions in the program; length: of a kernel's text; choices: if-elses in it; bases: arrays that
    it writes into, placed: the results of that and stacks, which nobody in the group may read; scans: its prefix sums
    and products, which the innermost loop carries on."""

    eqns: list[Equation]
    shape: tuple[int, ...]
    reduced: frozenset[int]
    loops: dict[Equation, AxisMap | None]
    align: dict[Var, AxisMap]
    row: set[Var]
    made: set[Var]
    reads: set[Var]
    first: int
    last: int
    work: dict[Equation, int]
    inputs: set[Var]
    length: int
    choices: int = 0
    separation: str = ""
    bases: set[Var] = field(default_factory=set)
    placed: set[Var] = field(default_factory=set)
    scans: list[Equation] = field(default_factory=list)

    @property
    def real_axes(self) -> list[int]:
        return [axis for axis, length in enumerate(self.shape) if length != 1]

    @property
    def real_reduced(self) -> frozenset[int]:
        return frozenset(axis for axis in self.reduced if self.shape[axis] != 1)

    @property
    def rows(self) -> set[int]:
        return {axis for axis in self.real_axes if axis not in self.reduced}

    def real(self, axes: AxisMap) -> set[int]:
        """The loop axes among `axes` that are longer than 1."""
        return {axis for axis in axes if axis is not None and self.shape[axis] != 1}


@dataclass(frozen=True, slots=True)
class Fit:
    """How two groups merge: `other` joins `base`, whose axes are kept. mapping: axes of `other` -> axes of `base`, None
    where the equations of `other` are evaluated wherever they are read. repeated: the group that is evaluated at
    `places` places instead of one; chosen: how many times its choices stand in the text."""

    code: str
    base: Group
    other: Group
    mapping: dict[int, int] | None
    reduced: frozenset[int]
    repeated: Group | None = None
    places: int = 1
    chosen: int = 1

    def move(self, axes: AxisMap) -> AxisMap:
        assert self.mapping is not None
        return tuple(None if axis is None else self.mapping.get(axis) for axis in axes)


@dataclass(frozen=True, slots=True)
class Refusal:
    code: str


def new_group(
    position: int, eqn: Equation, reads: set[Var], choices: int, separation: str, *, is_store: bool = False,
    is_stack: bool = False,
) -> Group:  # fmt: skip
    """A group of one equation that loops over its result, over its operand if it reduces, over the elements that it
    replaces, or over one part of a stack. choices: of it and of what it evaluates."""
    out = eqn.outvars[0]
    row: set[Var] = set()
    if is_fold(eqn):
        shape = eqn.invars[0].aval.shape
        reduced = frozenset(reduced_axes(eqn))
        align: dict[Var, AxisMap] = {out: tuple(axis for axis in range(len(shape)) if axis not in reduced)}
        row = {out}
    else:
        shape = eqn.invars[is_store].aval.shape if is_store or is_stack else out.aval.shape
        reduced = frozenset()
        align = {out: tuple(range(len(shape)))}
    loops: dict[Equation, AxisMap | None] = {eqn: tuple(range(len(shape)))}
    length = LINES_OF_A_CHOICE if is_index_map(eqn) and not is_stack else 1  # a choice between operands is an if-else
    group = Group(
        [eqn], shape, reduced, loops, align, row, {out}, reads, position, position, {eqn: 1}, set(reads), length,
        choices, separation,
    )  # fmt: skip
    if is_scan(eqn):
        group.scans.append(eqn)
        group.row.add(out)  # nobody may ask for another element than the one at hand
    if is_stack:
        group.placed.add(out)
    if is_store:
        group.bases.add(eqn.invars[0])  # type: ignore[arg-type]  # a variable: see `access.is_store`
        group.placed.add(out)
        group.reads.update(group.bases)
        group.inputs.update(group.bases)
    return group


class Fitter:
    """Decides merges. needed: for each variable the equations that read it from memory or registers, lazily evaluated
    ones seen through; kept: variables that must reach memory for the program's results or other steps; order:
    positions in the program; most_eqns: the length of a kernel."""

    def __init__(
        self, reader: Reader, order: dict[Equation, int], needed: dict[Var, set[Equation]], kept: set[Var],
        most_eqns: int = MAX_KERNEL_EQNS,
    ):  # fmt: skip
        self.most_eqns = most_eqns
        self.reader = reader
        self.order = order
        self.needed = needed
        self.kept = kept

    def fit(self, up: Group, down: Group) -> Fit | Refusal:
        """Merge `down`, which reads results of `up` (or only shares inputs with it), into one group."""
        if up.separation != down.separation:
            return Refusal("WB321")
        placed = (up.placed & down.reads) | (down.placed & up.reads)
        if up.bases & down.made or down.bases & up.made or placed:
            return Refusal("WB325" if self._are_stacks(placed) else "WB324")
        if (up.reduced or down.reduced) and self._are_stacks(up.placed | down.placed):
            return Refusal("WB310")
        pairs: set[tuple[int, int]] = set()
        shifted: set[Var] = set()
        connected: dict[Var, float] = {}
        n_reads: dict[Var, int] = {}
        in_step: dict[Var, int] = {}  # at so many places that its readers share
        aside: dict[Var, int] = {}  # at so many of their own
        along: dict[Var, set[int]] = {}  # the axes of `down` that a variable varies along
        flowing = down.inputs & up.made
        for eqn in {reader for var in flowing for reader in self._readers(var, down)}:
            loop, work = down.loops[eqn], down.work[eqn]
            for root in self.reader.roots(eqn):
                if root.var not in flowing:
                    continue
                connected[root.var] = connected.get(root.var, 0) + root.evaluations * work
                n_reads[root.var] = n_reads.get(root.var, 0) + root.reads * work
                source = up.align.get(root.var)
                if root.axis_map is None or loop is None or source is None:
                    if root.var in up.row:
                        return Refusal("WB312")
                    shifted.add(root.var)
                    aside[root.var] = aside.get(root.var, 0) + root.reads * work
                    continue
                in_step[root.var] = max(in_step.get(root.var, 0), work)
                varies = along.setdefault(root.var, set())
                for d, length in enumerate(root.var.aval.shape):
                    target, axis = root.axis_map[d], source[d]
                    other = None if target is None else loop[target]
                    if length != 1 and other is not None:
                        varies.add(other)
                    if length != 1 and axis is not None and other is not None:
                        pairs.add((axis, other))
        if not connected and self._are_stacks(up.placed) and self._are_stacks(down.placed):
            return Refusal("WB317")  # two marches at once do not fit into registers: 1.5 times as slow as two kernels
        if not connected:
            pairs |= self._shared_pairs(up, down)
        places = max((in_step.get(v, 0) + aside.get(v, 0) for v in connected), default=1)
        twice = 2 if any(v in in_step and self._chooses_elsewhere(v, up) for v in connected) else 1
        refusal = self._recomputation(up, down, connected, shifted) or self._growth(up, down, places, twice)
        refusal = refusal or self._repetition(up, down, along)
        if refusal is not None:
            return refusal
        code = "WB302" if not connected else "WB301" if shifted else "WB300"
        fit = self._align(up, down, pairs, code)
        if isinstance(fit, Fit):
            fit = replace(fit, repeated=up, places=places, chosen=max(places, twice))
            fit = self._check_outputs(fit, up, down) or self._check_phases(fit, up, down) or fit
        if isinstance(fit, Refusal) and fit.code == "WB310" and connected:
            fit = self._inline(up, down, connected, n_reads) or (Refusal("WB311") if shifted else fit)
        if isinstance(fit, Fit) and (up.scans or down.scans):
            fit = self._check_scans(fit, up, down) or fit
        return fit

    def _chooses_elsewhere(self, var: Var, up: Group) -> bool:
        """Whether `up` reads a value of its own at other places than where it is, and the value is chosen among
        operands. Each place then has if-elses of its own, and readers in step with the value add one."""
        if up.align.get(var) is None or not up.choices:
            return False
        readers = [root for eqn in self._readers(var, up) for root in self.reader.roots(eqn) if root.var is var]
        made_by = self.reader.producer[var]
        chooses = is_index_map(made_by) and sum(access.reads for access in self.reader.accesses(made_by)) > 1
        return chooses and any(root.axis_map is None for root in readers)

    def _are_stacks(self, placed: set[Var]) -> bool:
        return any(self.reader.producer[var] in self.reader.stacks for var in placed)

    def merge(self, fit: Fit) -> Group:
        """Carry a fit out; `fit.base` grows and is returned."""
        base, other = fit.base, fit.other
        if fit.repeated is not None and fit.places > 1:
            fit.repeated.work = {eqn: work * fit.places for eqn, work in fit.repeated.work.items()}
            fit.repeated.length *= fit.places
        if fit.repeated is not None:
            fit.repeated.choices *= fit.chosen
        base.work.update(other.work)
        base.eqns.extend(other.eqns)
        base.reduced = fit.reduced
        if fit.mapping is None:
            base.loops.update(dict.fromkeys(other.eqns))
        else:
            base.loops.update((e, None if axes is None else fit.move(axes)) for e, axes in other.loops.items())
            base.align.update((var, fit.move(axes)) for var, axes in other.align.items())
        base.length += other.length
        base.choices += other.choices
        base.made |= other.made
        base.reads |= other.reads
        base.inputs |= other.inputs
        base.inputs.difference_update([var for var in base.inputs if var in base.made])
        base.row |= other.row
        base.scans += other.scans
        base.bases |= other.bases
        base.placed |= other.placed
        base.first, base.last = min(base.first, other.first), max(base.last, other.last)
        if base.row:
            self._mark_rows(base, sorted(other.eqns, key=self.order.__getitem__))
        if other.row:
            self._mark_rows(base, sorted(base.eqns, key=self.order.__getitem__))
        return base

    def outputs(self, group: Group) -> set[Var]:
        """The variables of `group` that something outside it needs."""
        return {out for eqn in group.eqns for out in eqn.outvars if self._is_needed_outside(out, group)}

    def _readers(self, var: Var, group: Group) -> Iterable[Equation]:
        """The equations of `group` that read `var`."""
        readers = self.needed.get(var, set())
        if len(readers) < len(group.eqns):
            return [eqn for eqn in readers if eqn in group.loops]
        return [eqn for eqn in group.eqns if eqn in readers]

    def _is_needed_outside(self, var: Var, *groups: Group) -> bool:
        """Whether memory must hold `var`, or something in none of these groups reads it."""
        if var in self.kept:
            return True
        return not all(any(reader in group.loops for group in groups) for reader in self.needed.get(var, ()))

    def _shared_pairs(self, up: Group, down: Group) -> set[tuple[int, int]]:
        """Axis pairs of siblings, from the inputs that both read in step."""
        pairs: set[tuple[int, int]] = set()
        for var in up.inputs & down.inputs:
            ours = self._axes_of(var, up)
            if ours:
                # The first reader of several that read it differently speaks for all of them.
                first = ours[min(ours, key=self.order.__getitem__)]
                for axes in set(self._axes_of(var, down).values()):
                    pairs |= {
                        (a, b)
                        for a, b, length in zip(first, axes, var.aval.shape, strict=True)
                        if a is not None and b is not None and length != 1
                    }
        return pairs

    def _axes_of(self, var: Var, group: Group) -> dict[Equation, AxisMap]:
        """The loop axes along which equations of `group` read `var`, for those that read it in step."""
        found: dict[Equation, AxisMap] = {}
        for eqn in self._readers(var, group):
            loop = group.loops[eqn]
            if loop is not None:
                for root in self.reader.roots(eqn):
                    if root.var is var and root.axis_map is not None:
                        found.setdefault(eqn, tuple(None if t is None else loop[t] for t in root.axis_map))
        return found

    def _recomputation(self, up: Group, down: Group, connected: dict[Var, float], shifted: set[Var]) -> Refusal | None:
        """Refuse shifted reads of values that are dear to compute again at every place."""
        if not shifted:
            return None
        cost = sum(flops_per_element(e) * up.work[e] for e in up.eqns)
        n_places = math.prod(down.shape)
        for var in shifted:
            n_evaluations = connected[var] * n_places
            extra = max(n_evaluations - var.aval.size, 0)
            if extra and any(is_expensive(e) for e in up.eqns):
                return Refusal("WB314")
            if extra * cost > 2 * var.aval.nbytes * FLOPS_PER_BYTE:
                return Refusal("WB314")
        return None

    def _repetition(self, up: Group, down: Group, along: dict[Var, set[int]]) -> Refusal | None:
        """Refuse what is dear and varies along rows, so that each of many rows would compute it again."""
        if self.most_eqns != MAX_KERNEL_EQNS:
            return None  # on a GPU, whose threads compute it at once
        most = 0  # evaluations too many
        for axes in along.values():
            if any(axis < max(axes) and axis not in axes for axis in down.real_axes if axes):
                most = max(most, math.prod(down.shape) - math.prod(down.shape[axis] for axis in axes))
        if not most:
            return None
        dear = sum(flops_per_element(e) * up.work[e] for e in up.eqns if is_expensive(e))
        return Refusal("WB314") if dear * most > MAX_REPEATED_FLOPS else None

    def _growth(self, up: Group, down: Group, places: int, twice: int = 1) -> Refusal | None:
        """Refuse kernels whose text would grow with every merge: shifted reads of shifted reads multiply."""
        length = places * up.length + down.length
        if places > 1 and length > MAX_REPEATED_TEXT:
            return Refusal("WB314")
        too_long = length > self.most_eqns or max(places, twice) * up.choices + down.choices > MOST_CHOICES
        return Refusal("WB317") if too_long else None

    def _align(self, up: Group, down: Group, pairs: set[tuple[int, int]], code: str) -> Fit | Refusal:
        """Map the loops of the smaller space onto the larger one."""
        most = MAX_KERNEL_ARRAYS + len(up.eqns) + len(down.eqns)
        if len(up.reads) + len(down.reads) > most and len(up.reads | down.reads) > most:
            return Refusal("WB317")
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
        if base.reduced and other.reduced and base.real_reduced != moved:
            return Refusal("WB315")
        return Fit(code, base, other, mapping, base.reduced or moved)

    @staticmethod
    def _goes_down_columns(fit: Fit) -> bool:
        """Whether the reductions run along leading axes of some length. A second pass over the columns then reads them
        from memory once more, in one kernel or in two, and in two each of them runs in long strips and in parallel."""
        base = fit.base
        real = base.real_axes
        if not real or real[-1] in fit.reduced:
            return False
        return math.prod(base.shape[axis] for axis in real if axis in fit.reduced) > MOST_ROWS_TWICE

    def _check_outputs(self, fit: Fit, up: Group, down: Group) -> Refusal | None:
        """What `fit.other` must write to memory has to be a whole of the loops, or one value a row."""
        base = fit.base
        rows = {axis for axis in base.real_axes if axis not in fit.reduced}
        newly_reduced = fit.reduced != base.reduced
        for group in (fit.other, base) if newly_reduced else (fit.other,):
            for var in group.made:
                if not self._is_needed_outside(var, up, down):
                    continue
                axes = group.align.get(var)
                if axes is None:
                    return Refusal("WB311")
                real = base.real(fit.move(axes) if group is fit.other else axes)
                if real != set(base.real_axes) and not (fit.reduced and real == rows):
                    return Refusal("WB310")
        return None

    def _mark_rows(self, group: Group, eqns: list[Equation]) -> None:
        for eqn in eqns:
            if is_fold(eqn) or eqn in group.scans or any(root.var in group.row for root in self.reader.roots(eqn)):
                group.row.update(eqn.outvars)

    def _check_phases(self, fit: Fit, up: Group, down: Group) -> Refusal | None:
        """Values that follow a reduction: rows must be independent, and each row's total finished first."""
        base = fit.base
        if not fit.reduced or not up.row:
            return None
        rows = {axis for axis in base.real_axes if axis not in fit.reduced}
        reduced = {axis for axis in fit.reduced if base.shape[axis] != 1}

        def placed(group: Group, axes: AxisMap) -> AxisMap:
            return fit.move(axes) if group is fit.other else axes

        row = set(up.row)
        for eqn in sorted(down.eqns, key=self.order.__getitem__):
            roots = [root for root in self.reader.roots(eqn) if root.var in row]
            if not roots:
                continue
            row.update(eqn.outvars)
            loop = down.loops[eqn]
            if loop is None or any(root.axis_map is None for root in roots):
                return Refusal("WB312")
            loop = placed(down, loop)
            folds = is_fold(eqn)
            covered = base.real(loop)
            if (folds or covered & reduced) and not rows:
                return Refusal("WB313")
            if (folds or covered & reduced) and self._goes_down_columns(fit):
                return Refusal("WB319")
            if not rows <= covered:
                return Refusal("WB318")
            if folds and not reduced <= covered:
                return Refusal("WB315")
            for root in roots:
                group = up if root.var in up.made else down
                source = base.real(placed(group, group.align[root.var])) if root.var in group.align else set()
                at = {loop[t] for t in root.axis_map if t is not None}  # type: ignore[union-attr]  # checked above
                if not source <= at:
                    return Refusal("WB312")
        return None

    def _check_scans(self, fit: Fit, up: Group, down: Group) -> Refusal | None:
        """Prefix sums go through all loops of a kernel without reductions, from element to element along the innermost:
        nothing else in it runs on several elements at once."""
        base = fit.base
        if fit.reduced or self._are_stacks(up.placed | down.placed):
            return Refusal("WB313")
        for group in (base, fit.other):
            for eqn in group.scans:
                loop = group.loops[eqn]
                assert loop is not None, "who reads a running sum elsewhere is refused"
                axes = fit.move(loop) if group is fit.other else loop
                last = reduced_axes(eqn)[0]
                if base.real(axes) != set(base.real_axes) or axes[last] != base.real_axes[-1]:
                    return Refusal("WB310")
        eqns = [*up.eqns, *down.eqns]
        n_flops = sum(flops_per_element(eqn) * group.work[eqn] for group in (up, down) for eqn in group.eqns)
        return Refusal("WB327") if n_flops > MOST_SCANNED_FLOPS or any(map(is_expensive, eqns)) else None

    def _inline(
        self, up: Group, down: Group, connected: dict[Var, float], n_reads: dict[Var, int]
    ) -> Fit | Refusal | None:
        """Evaluate `up` wherever `down` reads it, when nothing else needs it."""
        if up.reduced or up.row:
            return None
        if any(self._is_needed_outside(out, up, down) for out in up.made):
            return None
        places = max(n_reads.values())
        refusal = self._recomputation(up, down, connected, set(connected)) or self._growth(up, down, places)
        if refusal is not None:
            return refusal
        return Fit("WB301", down, up, None, down.reduced, up, places, places)
