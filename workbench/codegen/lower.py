"""Lowering: from a cluster to a kernel.

The nest is written twice where that pays: a first time over all axes, and, if every array turned out to be read and
written in memory order, again as one flat loop; or, if all others vary along the last axes only, in strips; or with a
short last axis that is one with the axis before it; or with short rows written out.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ..fusion.access import is_fold, is_index_map, reduced_axes
from ..fusion.cost import flops, flops_per_element
from ..fusion.plan import Cluster
from ..ir import Equation, Jaxpr, Literal, Var
from .blocks import Block
from .coalesced import Coalesced, coalesce, coalesce_rows
from .few_columns import FewColumns
from .hazards import affine, count_elements, is_hazard
from .kernel import Kernel, KernelArg, Reach
from .names import Namer
from .nests import Nest, canonical_index
from .repeated import RepeatedMap
from .scalar_math import ScalarFunction, by_name, names_in
from .strips import ColumnParts, StripMap, columns_of
from .values import NotStrungError, Values
from .written_out import LEAST_ROWS, WrittenOut, WrittenParts, has_short_rows, joins_few, split_axes

# Waking a worker costs up to 30 us, so that a range should take about as long to be worth one. The estimate
# counts what vectorised loops were measured to do in a core's caches: 60 GB/s and 25 Gflop/s.
GRAIN_NS = 30_000.0
NS_PER_BYTE = 0.016
NS_PER_FLOP = 0.04
# Operations an element from which on computing a row's last elements one by one takes longer than a store that a load
# waits for: some 20 cycles.
MASKED_FLOPS = 10.0
# A literal up to here may equal the length of some axis by chance.
LARGEST_COINCIDENCE = 16
# The shapes of nests that leave partial results to a finishing kernel.
PARTS = ("parts", "column parts")
LONG_CHAIN = 100  # equations, each of which takes a few calls within one another


def lower_cluster(
    cluster: Cluster,
    layouts: Mapping[Var, str],
    counts: frozenset[Literal] = frozenset(),
    takes: Mapping[Var, Var] | None = None,
    repeats: int | None = None,
) -> Kernel:
    """The kernel of `cluster`. layouts: "C" or "A" for each input variable; results are C-contiguous, except where they
    take over the memory of an input. counts: literals that become run-time arguments (see `element_counts`). takes:
    results that may do so, because nobody needs that input any more; the kernel says which ones do. repeats: how often
    a map is computed over and over, if every result takes its input's memory. A kernel for short rows has that for any
    rows as its `general`."""
    takes = takes or {}
    writer = _without_hazards(cluster, layouts, counts, takes)
    given = (cluster, layouts, counts, writer.takes, writer.updates)
    if writer.can_flatten():
        return _Writer(*given, flat=True, repeats=repeats).kernel()
    if repeats is not None:
        return _Writer(*given, repeats=repeats).kernel()
    columns = None if cluster.stores or cluster.stacks else writer.strip_columns()
    general = None
    if columns is not None:
        try:  # strips don't read and write in step
            general = _Writer(cluster, layouts, counts, columns=columns).kernel()
        except NotStrungError:
            pass
    special = None
    if general is None and FewColumns.pays(writer.nest):
        special = _Writer(cluster, layouts, counts, few_columns=True)
    elif general is None or cluster.space.reduced:
        special = _for_short_rows(writer.nest, layouts, counts, takes)
    general = general or writer.kernel()
    return general if special is None else replace(special.kernel(), general=general)


def _for_short_rows(
    nest: Nest, layouts: Mapping[Var, str], counts: frozenset[Literal], takes: Mapping[Var, Var]
) -> _Writer | None:
    """The kernel for a last axis that is short; None where it is not, or does as well in a loop of its own."""
    cluster = nest.cluster
    coalesced, written_out = coalesce(cluster, layouts, takes), False
    if coalesced is None:
        if not has_short_rows(nest):
            return None
        looped, _ = split_axes(nest)
        coalesced, written_out = coalesce_rows(cluster, looped, layouts, takes), True
    if coalesced is not None:
        new = {old: var for var, old in coalesced.originals.items()}
        takes = {new.get(out, out): new.get(base, base) for out, base in takes.items()}
        cluster = coalesced.cluster
    writer = _without_hazards(cluster, layouts, counts, takes, coalesced=coalesced, written_out=written_out)
    if isinstance(writer.nest, WrittenOut) and writer.nest.n_side_by_side < LEAST_ROWS:
        return None
    return writer


def _without_hazards(
    cluster: Cluster, layouts: Mapping[Var, str], counts: frozenset[Literal], takes: Mapping[Var, Var], **form: Any
) -> _Writer:  # fmt: skip
    """The kernel whose results take the memory of inputs only where it reads nothing that it has written."""
    takes, updates = dict(takes), set[Var]()
    while True:
        writer = _Writer(cluster, layouts, counts, takes, updates, **form)
        hazards = writer.hazards()
        if not hazards:
            return writer
        for out in hazards:
            base = takes.pop(out)
            # Computed aside and then copied, or into an array of its own that gets the other elements: the lesser one.
            if out in cluster.stores and 2 * math.prod(cluster.space.shape) < base.aval.size:
                updates.add(out)


def lower_fast(cluster: Cluster, *where: Any) -> Kernel:
    """As `lower_cluster`, of faster and less exact arithmetic."""
    return lower_cluster(cluster, *where).as_fast()


def element_counts(jaxpr: Jaxpr) -> frozenset[Literal]:
    """The literals of a program that count elements: kernels take them at run time, so that other shapes find them
    compiled.

    Nothing says where a number came from. It is taken for a count if it is one (the length of an axis, how many
    elements an array has or a reduction folds, or one less, for `ddof=1`) and either divides the result of a reduction
    or is too large to be a coincidence.
    """
    counts: set[int] = set()
    for aval in (*jaxpr.in_avals, *(out.aval for eqn in jaxpr.eqns for out in eqn.outvars)):
        counts.update(aval.shape)
        counts.add(aval.size)
    for eqn in filter(is_fold, jaxpr.eqns):
        shape = eqn.invars[0].aval.shape
        counts.add(math.prod(shape[axis] for axis in reduced_axes(eqn)))
    counts |= {n - 1 for n in counts}
    totals: set[Var] = set()
    found: set[Literal] = set()
    for eqn in jaxpr.eqns:
        after_total = any(isinstance(atom, Var) and atom in totals for atom in eqn.invars)
        if is_fold(eqn) or (after_total and is_index_map(eqn)):
            totals.update(eqn.outvars)
        for atom in eqn.invars:
            if isinstance(atom, Literal) and atom.aval.dtype.kind in "iuf" and atom.val in counts:
                if atom.val > LARGEST_COINCIDENCE or (after_total and eqn.primitive.name == "div"):
                    found.add(atom)
    return frozenset(found)


def scalar_functions(source: str) -> tuple[ScalarFunction, ...]:
    """The scalar functions that a kernel's source calls."""
    return tuple(by_name(name) for name in names_in(source))


class _Writer:
    """Writes one kernel. flat: as one loop over the elements; columns: in strips over these axes; coalesced: how the
    cluster came to have fewer axes than its arrays; written_out: without loops over the elements of rows."""

    def __init__(
        self, cluster: Cluster, layouts: Mapping[Var, str], counts: frozenset[Literal],
        takes: Mapping[Var, Var] = MappingProxyType({}), updates: Collection[Var] = (), *, flat: bool = False,
        columns: list[int] | None = None, repeats: int | None = None, coalesced: Coalesced | None = None,
        written_out: bool = False, few_columns: bool = False,
    ):  # fmt: skip
        self.cluster = cluster
        self.coalesced = coalesced
        self.layouts = layouts
        self.takes = dict(takes)
        self.updates = frozenset(updates)
        self.flat = flat
        self.namer = Namer()
        taken = set(takes.values())
        self.inputs = {var: self.namer.for_var(var, "x") for var in cluster.invars if var not in taken}
        self.outputs = {var: self._output_name(var) for var in cluster.outvars}
        self.arrays = {**self.inputs, **{base: self.outputs[out] for out, base in takes.items()}}
        self.canonical = canonical_index(cluster.space.shape)
        self.values = Values(cluster, self.namer, self.arrays, self.canonical, counts, flat)
        self.repeats = repeats
        self.written_out = written_out
        self.few_columns = few_columns
        self.nest = self._nest(columns)
        self.nest.write()

    def _nest(self, columns: list[int] | None) -> Nest:
        common = (self.cluster, self.values, self.namer, self.outputs)
        if self.repeats is not None:
            times = self.namer.fresh("n_times")
            self.values.sizes[times] = self.repeats
            self.values.changing = self._changing()
            return RepeatedMap(*common, self.flat, self.updates, times)
        plain = Nest(*common, self.flat, self.updates)
        given = (*common, self.layouts)
        if self.written_out or columns is None and joins_few(plain):
            form = WrittenParts if plain.shape_kind == "parts" else WrittenOut
            return form(*common, self.flat, self.updates)
        if self.few_columns:
            return FewColumns(*given, strung=False)
        if ColumnParts.fits(plain) and not self.cluster.stores:
            return ColumnParts(*given, strung=columns is not None)
        return plain if columns is None else StripMap(*given, columns)

    def _changing(self) -> frozenset[Var]:
        """What depends on the arrays that the kernel writes over."""
        found = set(self.takes.values())
        for eqn in self.cluster.eqns:
            if not found.isdisjoint(a for a in eqn.invars if isinstance(a, Var)):
                found.update(eqn.outvars)
        return frozenset(found)

    def strip_columns(self) -> list[int] | None:
        """The axes over which to write the nest in strips, if that may be possible."""
        if isinstance(self.nest, ColumnParts):
            return self.nest.outer
        is_map = self.nest.shape_kind == "map" and not self.nest.scans
        return columns_of(self.nest, self.layouts) if is_map else None

    def _output_name(self, var: Var) -> str:
        if var in self.takes:
            return self.namer.for_var(self.takes[var], self._wish(var))
        return self.namer.fresh(f"{self._wish(var)}_out")

    def _wish(self, var: Var) -> str:
        eqn = next(e for e in self.cluster.eqns if var in e.outvars)
        return var.hint or eqn.origin.name or Nest.cluster_name(eqn)

    def can_flatten(self) -> bool:
        """Whether all reads and writes are in memory order, so that many axes are as good as one."""
        shape = self.cluster.space.shape
        if self.values.irregular or self.nest.scans or self.nest.shape_kind not in ("map", "parts"):
            return False
        if sum(length != 1 for length in shape) < 2:
            return False
        arrays = [v for v in (*self.arrays, *self._full_outputs()) if v.aval.ndim]
        if any(map(self._is_placed, self.outputs)) or self.updates:
            return False
        in_order = all(v.aval.shape == shape and self.layouts.get(v, "C") == "C" for v in arrays)
        return in_order and bool(arrays) and not any(fold.kind.startswith("arg") for fold in self.nest.folds.values())

    def hazards(self) -> list[Var]:
        """The results that may not take the memory of an input, because the kernel would read what it has written."""
        found = []
        for out, base in self.takes.items():
            reads = self.values.reads.get(base, set())
            if self.nest.shape_kind in PARTS:
                unsafe = base in self.cluster.invars
            else:
                in_step = self.nest.shape_kind == "map" or bool(self.nest.unrolled)
                sizes, writes = self.values.known_sizes(), self.nest.written[out]
                lengths = [1 if d in self.nest.unrolled else n for d, n in enumerate(self.cluster.space.shape)]
                unsafe = any(
                    is_hazard(write, read, lengths, sizes, in_step=in_step) for read in reads for write in writes
                )
            if unsafe:
                found.append(out)
        return found

    def _wants_masks(self) -> bool:
        """Whether what is left over of a vector should be computed under a mask. Not where little is computed with an
        array that is written, too: a row's read would wait for the masked end of the row before, which lies across its
        beginning, to reach memory."""
        reads_back = any(self.values.reads.get(base) for base in self.takes.values())
        n_flops = sum(map(flops_per_element, self.cluster.eqns))
        return self.nest.may_be_short and not (reads_back and n_flops < MASKED_FLOPS)

    def _apart(self) -> frozenset[Var]:
        """The arrays of which each step of the outer loop touches the same part, one step after another in memory."""
        nest, shape, reads = self.nest, self.cluster.space.shape, self.values.reads
        if nest.shape_kind not in ("map", "rows") or self.repeats is not None or self.updates or not nest.outer:
            return frozenset()
        if nest.is_one_scan:
            return frozenset()
        counted = nest.outer[: nest.n_counted]
        lengths, in_order = [shape[axis] for axis in counted], self.flat or isinstance(nest, StripMap)

        def keeps_apart(var: Var) -> bool:
            written = [nest.writes.get(out, self.values.canonical) for out in self.outputs if out is var]
            taken = [nest.writes.get(out, self.values.canonical) for out, base in self.takes.items() if base is var]
            indices = [*reads.get(var, ()), *written, *taken]
            if in_order:
                return var.aval.shape == shape and all(index == self.values.canonical for index in indices)
            real = [d for d, length in enumerate(var.aval.shape) if length != 1][: len(counted)]
            if [var.aval.shape[d] for d in real] != lengths:
                return False
            return all(
                index[d].is_axis and index[d].axis == axis
                for index in indices
                for d, axis in zip(real, counted, strict=True)
            )

        layouts = self.layouts
        touched = (*self.cluster.invars, *self.outputs, *self.takes.values())
        return frozenset(v for v in touched if layouts.get(v, "C") == "C" and keeps_apart(v))

    def _reach(self) -> dict[Var, Reach]:
        """Of arrays in C order whose rows go by the index of the outer loop, or are always the same."""
        nest, reads = self.nest, self.values.reads
        by_rows = nest.shape_kind in ("map", "rows") and nest.n_counted == 1
        by_rows = by_rows and not (self.flat or nest.is_one_scan or isinstance(nest, StripMap))
        if not by_rows or self.repeats is not None or self.updates or not nest.outer:
            return {}
        sizes, found, n = self.values.known_sizes(), {}, self._row_steps()
        for var in (*self.inputs, *self.outputs):
            base = self.takes.get(var, var)
            d = next((d for d, length in enumerate(var.aval.shape) if length != 1), None)
            if d is None or self.layouts.get(base, "C") != "C" or n > 1 and self._original(var).aval.shape[d] == 1:
                continue
            written = nest.written.get(var) or {nest.writes.get(var, self.values.canonical)}
            written = written if var in self.outputs else set()
            rows = [affine(index[d], sizes) for index in (*written, *reads.get(base, ()))]
            terms = [row.terms for row in rows if row is not None]
            offsets = [row.constant for row in rows if row is not None]
            follows = terms[:1] == [{nest.outer[0]: 1}]
            is_regular = len(terms) == len(rows) and all(t == terms[0] for t in terms) and (follows or not any(terms))
            if terms and is_regular and len(set(offsets[: len(written)])) < 2 and not any(o % n for o in offsets):
                first = offsets[0] // n if written else None
                found[var] = Reach(min(offsets) // n, max(offsets) // n, first, follows)
        return found

    def _row_steps(self) -> int:
        """How many steps of the outer loop a row takes: its elements, where all axes are one."""
        return 1 if self.coalesced is None else self.coalesced.n_joined

    def _is_placed(self, var: Var) -> bool:
        """Whether a result's array is larger than the loops: an array with some elements replaced, or a stack."""
        return var in self.cluster.stacks or (var in self.cluster.stores and var not in self.updates)

    def _bytes_moved(self) -> int:
        """Reads and writes of memory, once each: of an array that is read in part, that part."""
        lengths, sizes = self.cluster.space.shape, self.values.known_sizes()
        n_loops = math.prod(lengths)
        total = 0
        for var in self.cluster.invars:
            n = count_elements(list(self.values.reads.get(var, ())), lengths, sizes)
            if n is None or self.nest.shape_kind in PARTS:  # the finishing kernel reads some, too
                n = var.aval.size
            total += min(n, var.aval.size) * var.aval.dtype.itemsize
        for out in self.outputs:
            base = self.cluster.stores.get(out)
            n = out.aval.size if base is None else n_loops
            if base is not None and out in self.updates:
                n += 2 * n_loops  # copied
            elif base is not None and self.takes.get(out) is not base:
                n += 2 * (base.aval.size - n_loops)  # the other elements, which are copied from it
            total += n * out.aval.dtype.itemsize
        return total

    def _full_outputs(self) -> list[Var]:
        if self.nest.shape_kind == "map":
            return list(self.outputs)
        return [v for v in self.outputs if not self._is_finished(v)]

    def _is_finished(self, var: Var) -> bool:
        """Whether a result is left to the finishing kernel."""
        nest = self.nest
        return nest.shape_kind in PARTS and (nest.depth[var] > 0 or bool(nest.inner) and nest._is_row_level(var))

    def kernel(self) -> Kernel:
        finished = [v for v in self.outputs if self._is_finished(v)]
        written = {v: n for v, n in self.outputs.items() if v not in finished}
        head = self._head()
        body = [*head, *self.nest.root.render(1)]
        args = [
            *(self._input(v, n) for v, n in self.inputs.items()),
            *(self._result(v, n) for v, n in written.items()),
            *self._scratch(),
            *(KernelArg(n, "size", value=v) for n, v in self.values.sizes.items()),
        ]
        finish = self._finish(finished) if self.nest.shape_kind in PARTS else None
        return self._assemble(args, body, finish)

    def _head(self) -> list[tuple[str, tuple[int, ...]]]:
        """Views and sizes that the loops use."""
        lines: list[tuple[str, tuple[int, ...]]] = []
        if self.flat:
            arrays = [n for v, n in self.arrays.items() if v.aval.ndim]
            arrays += [self.outputs[v] for v in self._full_outputs()]
            lines = [(f"    {name} = flat({name})", ()) for name in dict.fromkeys(arrays)]
        lines += [(f"    {name} = {name}.reshape({shape})", ()) for name, shape in self._reshaped().items()]
        for axis, name in self.nest.bounds.items():
            if self.flat:
                size = f"{arrays[0]}.size" if arrays else self._total_size(name)
            else:
                size = self._axis_size(axis, name)
            if size != name:
                lines.append((f"    {name} = {size}", ()))
        return lines

    def _reshaped(self) -> dict[str, str]:
        """The shapes of arrays whose axes are coalesced, by name."""
        if self.coalesced is None:
            return {}
        found: dict[str, str] = {}
        results = {self._update(out) if out in self.updates else out: name for out, name in self.outputs.items()}
        for var, name in {**self.arrays, **results}.items():
            if (span := self.coalesced.spans.get(var)) is None:
                continue
            lengths = [f"{name}.shape[{axis}]" for axis in range(var.aval.ndim)]
            first, last = span
            joined = " * ".join(lengths[first : last + 1])
            found[name] = ", ".join([*lengths[:first], joined, *["1"] * (last - first), *lengths[last + 1 :]])
        return found

    def _update(self, out: Var) -> Var:
        """The elements that `out` has in place of others."""
        update = self.values.producer[out].invars[1]
        assert isinstance(update, Var)
        return update

    def _original(self, var: Var) -> Var:
        return var if self.coalesced is None else self.coalesced.original(var)

    def _total_size(self, name: str) -> str:
        """Of a kernel without arrays, which folds what it computes from nothing."""
        self.values.sizes[name] = math.prod(self.cluster.space.shape)
        return name

    def _axis_size(self, axis: int, name: str) -> str:
        for var, array in self.outputs.items():
            axes = self.cluster.space.align[var]
            if axis in axes and not self._is_finished(var) and not self._is_placed(var):
                return f"{array}.shape[{axes.index(axis)}]"
        known = self.values.size_of_axis.get(axis)
        if known is not None:
            return known
        self.values.sizes[name] = self.cluster.space.shape[axis]
        return name

    def _input(self, var: Var, name: str) -> KernelArg:
        layout = self.layouts.get(var, "C")
        row, var = self._row(var, var), self._original(var)
        return KernelArg(name, "in", var, var.aval.dtype.name, var.aval.ndim, layout, var.aval.shape, row=row)

    def _result(self, var: Var, name: str) -> KernelArg:
        """The argument of a result: the layout is that of the array whose memory it takes."""
        if var in self.updates:
            shape = self._original(self._update(var)).aval.shape
            return KernelArg(name, "update", self._original(var), var.aval.dtype.name, len(shape), "C", shape)
        layout = self.layouts.get(self.takes[var], "C") if var in self.takes else "C"
        holds = var in self.takes or var in self.cluster.stores
        row, var = self._row(self.takes.get(var, var), var), self._original(var)
        aval = var.aval
        return KernelArg(name, "out", var, aval.dtype.name, aval.ndim, layout, aval.shape, holds=holds, row=row)

    def _row(self, read: Var, written: Var) -> int:
        """The length of the last axis of an array whose elements along it are taken one by one, most of them: LLVM must
        know how far rows are apart to see that their elements are not the same. Nothing is compiled for a length that
        the text does not depend on anyway."""
        *_, length = read.aval.shape or (0,)
        places = self.values.reads.get(read, set()) | self.nest.written.get(written, set())
        at = {index[-1] for index in places if index}
        if read.aval.ndim < 2 or len(at) < 2 or 2 * len(at) < length:
            return 0
        return 0 if any(place.axes() or place.loads() for place in at) else length

    def _scratch(self) -> list[KernelArg]:
        shapes = [s.shape or (self.nest.extent,) for s in self.nest.scratch]
        return [
            KernelArg(s.name, "scratch", None, s.dtype, len(shape), "C", shape)
            for s, shape in zip(self.nest.scratch, shapes, strict=True)
        ]

    def _long_chain(self, outs: Sequence[Var], known: Collection[Var]) -> list[Equation]:
        """The equations between numbers that `outs` rest on, in order, where they are so many that each asking for its
        operands would go too deep for Python."""
        producer = self.nest.values.producer
        found: set[Equation] = set()
        pending = list(outs)
        while pending:
            eqn = producer.get(var := pending.pop())
            if eqn is not None and eqn not in found and var not in known:
                found.add(eqn)
                pending += [atom for atom in eqn.invars if isinstance(atom, Var)]
        if len(found) < LONG_CHAIN:
            return []
        numbers = self.nest.values.number
        return sorted((eqn for eqn in found if not eqn.outvars[0].aval.shape), key=lambda eqn: numbers[eqn])

    def _finish(self, finished: list[Var]) -> Kernel:
        """The kernel that combines the partial results and computes what follows from the totals."""
        values = Values(self.cluster, self.namer, self.arrays, self.canonical, self.values.counts, False)
        nest, root = self.nest, Block()
        block, at, extent, per_step = root, "part", 1, 1
        if isinstance(nest, ColumnParts):
            (column, *others), shape = nest.outer, self.cluster.space.shape
            block = root.loop(f"for i{column} in range(start, stop):", column)
            block.line(f"assume_index(i{column})")
            for axis in others:  # of few columns
                block = block.loop(f"for i{axis} in range({shape[axis]}):", axis)
            at = ", ".join(["part", *(f"i{axis}" for axis in nest.outer)])
            extent, per_step = shape[column], nest.n_parts * nest.length(others)
        folds = list(nest.folds.values())
        for fold in folds:
            for state in fold.states:
                block.line(f"{state.name} = {state.start}")
        if folds:
            loop = block.loop(f"for part in range({nest.scratch[0].name}.shape[0]):")
        position = 0
        for fold in folds:
            names = tuple(s.name for s in fold.states)
            parts = tuple(f"{s.name}[{at}]" for s in nest.scratch[position : position + len(names)])
            position += len(names)
            for line in fold.merge(names, parts):
                loop.line(line, (values.number[fold.eqn],))
        block.close_loop()
        for fold in folds:
            out = fold.eqn.outvars[0]
            name = self.namer.for_var(out, Nest.cluster_name(fold.eqn))
            block.line(f"{name} = {fold.result(tuple(s.name for s in fold.states))}", (values.number[fold.eqn],))
            values.totals[out] = name
        nest.values, saved = values, nest.values
        for eqn in self._long_chain(finished, values.totals):
            values.value(eqn.outvars[0], (), block)
        for out in finished:
            text = nest.result(out, block)
            block.line(f"{nest.target(out, block)} = {text}", (values.number[values.producer[out]],))
        nest.values = saved
        block = root
        words = {word for text, _ in block.render() for word in re.findall(r"\w+", text)}
        used = {v for v, name in self.inputs.items() if name in words}
        args = [
            *(self._input(v, self.inputs[v]) for v in self.inputs if v in used),
            *(self._result(v, self.outputs[v]) for v in finished),
            *self._scratch(),
            *(KernelArg(n, "size", value=v) for n, v in values.sizes.items()),
        ]
        shapes = {self.inputs[v]: shape for v in used if (shape := self._reshaped().get(self.inputs[v]))}
        head = [(f"    {name} = {name}.reshape({shape})", ()) for name, shape in shapes.items()]
        source, name, line_eqns = self._source(args, [*head, *block.render(1)], "_finish")
        grain = max(1, math.ceil(GRAIN_NS / max(per_step, 1)))  # a partial result takes about a nanosecond
        return Kernel(
            self.cluster.id, name, source, tuple(args), extent, grain, extent * per_step, 0.0, 0, line_eqns,
            functions=scalar_functions(source),
        )  # fmt: skip

    def _assemble(self, args: list[KernelArg], body: list, finish: Kernel | None) -> Kernel:
        cluster = self.cluster
        source, name, line_eqns = self._source(args, body, "")
        n_elements = 1
        for length in cluster.space.shape:
            n_elements *= length
        moved = self._bytes_moved()
        n_flops = sum(flops(e) for e in cluster.eqns) * (1 if self.repeats is None else self.repeats)
        step_ns = (NS_PER_BYTE * moved + NS_PER_FLOP * n_flops) / max(self.nest.extent, 1)
        grain = max(1, math.ceil(GRAIN_NS / max(step_ns, 1e-3)))
        original = self._original
        return Kernel(
            cluster.id, name, source, tuple(args), self.nest.extent, grain, n_elements,
            n_flops, moved, line_eqns, finish=finish, functions=scalar_functions(source),
            takes={original(out): original(base) for out, base in self.takes.items()}, may_be_short=self._wants_masks(),
            apart=frozenset(map(original, self._apart())), row_steps=self._row_steps(),
            reach={original(var): reach for var, reach in self._reach().items()},
        )  # fmt: skip

    def _source(self, args: list[KernelArg], body: list, suffix: str) -> tuple[str, str, tuple[tuple[int, ...], ...]]:
        parameters = ", ".join(["start", "stop", *(a.name for a in args)])
        text = "\n".join(line for line, _ in body) or "    pass"
        types = ",".join(f"{a.kind}{a.dtype}{a.ndim}{a.layout}" for a in args)
        digest = hashlib.sha256(f"{parameters}|{types}\n{text}".encode()).hexdigest()[:8]
        name = f"{self._title()}{suffix}_{digest}"
        source = f"def {name}({parameters}):\n{text}\n"
        return source, name, ((), *(eqns for _, eqns in body))

    def _title(self) -> str:
        """The kernel's readable name: what it computes, most of it."""
        words = dict.fromkeys(
            Nest.cluster_name(e) for e in self.cluster.eqns
            if is_fold(e) or e.primitive.name not in ("broadcast_in_dim", "reshape", "convert_element_type", "slice")
        )  # fmt: skip
        names = list(words) or [self.cluster.eqns[-1].primitive.name]
        shown = names if len(names) <= 4 else [*names[:2], *names[-2:]]
        return Namer().fresh("_".join(shown))
