"""Clustering: from an inlined program to a plan.

Equations start as groups of one. Groups merge along the values that flow between them, those that keep most bytes out
of memory first, then siblings that read the same arrays; `groups.Fitter` says what may merge and why not.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable
from typing import Any

from ..ir import Equation, Jaxpr, Var
from ..ir.allocation import without_collection
from ..primitives.lowering import Pointwise
from ..primitives.raising import CHECKS
from .access import Reader, is_index_map
from .classify import VIEWS, Classes, classify, is_choosy
from .cost import MAX_KERNEL_EQNS, flops_per_element, is_expensive
from .groups import Fit, Fitter, Group, Refusal, new_group
from .plan import BranchStep, Cluster, Decision, LibraryStep, LoopStep, NumpyStep, Plan, Space, Step, ViewStep
from .reasons import REASONS
from .scopes import separation

Node = Group | Equation

# Arithmetic that is worth sparing a trip through memory: a few operations an element, not a division.
CHEAP_FLOPS = 2.0
# How often a plan is made anew because results of its kernels could as well be computed where they are read.
MOST_REPETITIONS = 3
# Kernels that compute so much for each byte do not wait for memory: cores compute about one operation in the time of a
# byte from the nearest cache, three in that of a byte from memory.
COMPUTE_BOUND_FLOPS_PER_BYTE = 8.0
# Arrays that one loop reads at shifted places: more rows than these crowd each other out of the nearest cache.
MOST_STENCIL_ARRAYS = 12
# Operations an element from which on computing takes longer than reading these arrays again.
MOST_STENCIL_FLOPS = 40.0


@without_collection
def form_plan(
    jaxpr: Jaxpr, prefix: str = "", *, in_place: bool = True, most_eqns: int = MAX_KERNEL_EQNS
) -> Plan:  # fmt: skip
    """Group the equations of `jaxpr` (no `pjit` left in it) into the steps that compute it, whose ids begin with
    `prefix`. in_place: whether kernels may write into arrays that hold something; most_eqns: the length of a kernel.
    """
    clustering, plan = _planned(jaxpr, prefix, (), in_place, most_eqns)
    repeated: set[Equation] = set()
    for _ in range(MOST_REPETITIONS):
        found = clustering.cheaper_to_repeat()
        if not found:
            break
        repeated |= found
        clustering, other = _planned(jaxpr, prefix, repeated, in_place, most_eqns)
        if _traffic(other) >= _traffic(plan):
            break
        plan = other
    return plan


def _planned(
    jaxpr: Jaxpr, prefix: str, repeated: Iterable[Equation], in_place: bool, most_eqns: int
) -> tuple[_Clustering, Plan]:
    """A clustering and its plan. Looking for cycles among all nodes takes time that grows with the square of a
    program's length: only where the quick way has missed one."""
    for thorough in (False, True):
        clustering = _Clustering(jaxpr, prefix, repeated, in_place=in_place, thorough=thorough, most_eqns=most_eqns)
        try:
            return clustering, clustering.plan()
        except _CycleError:
            continue
    raise AssertionError("the plan has a cycle")


MOST_BRIEF = 16  # elements


class _CycleError(Exception):
    """Steps wait for each other."""


def _traffic(plan: Plan) -> int:
    """Bytes that kernels read and write."""
    return sum(v.aval.nbytes for cluster in plan.clusters for v in (*cluster.invars, *cluster.outvars))


class _Clustering:
    """repeated: equations to evaluate wherever their results are read; thorough: look for cycles everywhere."""

    def __init__(
        self, jaxpr: Jaxpr, prefix: str = "", repeated: Iterable[Equation] = (), *, in_place: bool = True,
        thorough: bool = False, most_eqns: int = MAX_KERNEL_EQNS,
    ):  # fmt: skip
        self.jaxpr = jaxpr
        self.thorough = thorough
        self.prefix = prefix
        self.options: dict[str, Any] = {"in_place": in_place, "most_eqns": most_eqns}
        self.classes: Classes = classify(jaxpr, in_place=in_place)
        self.classes.lazy.update(repeated)
        self.classes.kernel.difference_update(repeated)
        self.order = {eqn: i for i, eqn in enumerate(jaxpr.eqns)}
        self.reader = Reader(jaxpr, self.classes.lazy, self.classes.stores, self.classes.stacks)
        self.producer = self.reader.producer
        self.kept = self._kept()
        self.needed = self._needed()
        self.fitter = Fitter(self.reader, self.order, self.needed, self.kept, most_eqns)
        self.group_of: dict[Equation, Group] = {}

    # ---- what is read by whom ----

    def _single_steps(self) -> list[Equation]:
        """Equations that are steps of their own: library calls, NumPy, views."""
        c = self.classes
        return [e for e in self.jaxpr.eqns if e in c.library or e in c.numpy or e in c.views or e in c.control]

    def _kept(self) -> set[Var]:
        """Variables that memory must hold."""
        kept = {v for v in self.jaxpr.outvars if isinstance(v, Var)}
        for eqn in self._single_steps():
            kept.update(v for v in eqn.invars if isinstance(v, Var))
        kept.update(eqn.invars[0] for eqn in self.classes.stores)  # type: ignore[arg-type]  # variables
        return kept

    def _needed(self) -> dict[Var, set[Equation]]:
        needed: dict[Var, set[Equation]] = {}
        for eqn in self.jaxpr.eqns:
            if eqn in self.classes.kernel:
                for root in self.reader.roots(eqn):
                    needed.setdefault(root.var, set()).add(eqn)
        return needed

    def _inputs(self, node: Node) -> Iterable[Var]:
        """What a node reads that another node computes."""
        if isinstance(node, Group):
            return node.inputs
        return [v for v in node.invars if isinstance(v, Var)]

    def _node_of(self, var: Var) -> Node | None:
        eqn = self.producer.get(var)
        return None if eqn is None else self.group_of.get(eqn, eqn)

    def _dependencies(self, node: Node) -> set[Node]:
        found = {self._node_of(v) for v in self._inputs(node)}
        found.discard(None)
        found.discard(node)
        return found  # type: ignore[return-value]  # None is discarded above

    # ---- merging ----

    def _cycle(self, up: Group, down: Group) -> bool:
        """Whether some other node reads `up` and is read by `down` (or the other way round)."""
        return self._path_through_others(down, up) or self._path_through_others(up, down)

    def _path_through_others(self, reader: Group, source: Group) -> bool:
        stack = [n for n in self._dependencies(reader) if n is not source]
        seen: set[int] = set()
        while stack:
            node = stack.pop()
            if node is source:
                return True
            if id(node) in seen:
                continue
            seen.add(id(node))
            # A node in front of `source` may still read a group that reaches to behind it: that is rare.
            if self.thorough or (node.last if isinstance(node, Group) else self.order[node]) > source.first:
                stack.extend(self._dependencies(node))
        return False

    def _merge(self, up: Group, down: Group) -> bool:
        fit = self.fitter.fit(up, down)
        if isinstance(fit, Refusal) or self._cycle(up, down):
            return False
        group = self.fitter.merge(fit)
        for eqn in fit.other.eqns:
            self.group_of[eqn] = group
        return True

    def _producers(self, group: Group) -> list[Group]:
        """The groups whose results `group` reads, by bytes, most first."""
        weights: dict[Group, int] = {}
        for var in group.inputs:
            node = self._node_of(var)
            if isinstance(node, Group) and node is not group:
                weights[node] = weights.get(node, 0) + var.aval.nbytes
        return sorted(weights, key=lambda g: (-weights[g], g.first))

    def _merge_with_producers(self) -> None:
        for position, eqn in enumerate(self.jaxpr.eqns):
            if eqn not in self.classes.kernel:
                continue
            reads = {root.var for root in self.reader.roots(eqn)}
            self.group_of[eqn] = new_group(
                position, eqn, reads, self._n_choices(eqn), separation(eqn), is_store=eqn in self.classes.stores,
                is_stack=eqn in self.classes.stacks,
            )  # fmt: skip
            for producer in self._producers(self.group_of[eqn]):
                down = self.group_of[eqn]
                if producer is not down and self._is_current(producer):
                    self._merge(producer, down)

    def _n_choices(self, eqn: Equation) -> int:
        """How many if-elses choose among operands where `eqn` is evaluated."""
        evaluated = [eqn, *self.reader.lazy_closure([eqn])]
        return sum(is_index_map(e) and sum(a.reads for a in self.reader.accesses(e)) > 1 for e in evaluated)

    def _is_current(self, group: Group) -> bool:
        return self.group_of[group.eqns[0]] is group

    def _groups(self) -> list[Group]:
        return list(dict.fromkeys(self.group_of[e] for e in self.jaxpr.eqns if e in self.group_of))

    def _merge_late(self) -> None:
        """Merges that need all readers known: a producer whose every reader is now in one group."""
        for group in reversed(self._groups()):
            current = self.group_of[group.eqns[0]]
            for producer in self._producers(current):
                current = self.group_of[group.eqns[0]]
                if producer is not current and self._is_current(producer):
                    self._merge(producer, current)

    def _merge_siblings(self) -> None:
        """Groups with the same loops that read the same arrays: one pass over these arrays instead of two."""
        readers: dict[Var, list[Equation]] = {}
        for eqn in self.jaxpr.eqns:
            if eqn in self.group_of:
                for root in self.reader.roots(eqn):
                    if root.var.aval.ndim and root.axis_map is not None:
                        readers.setdefault(root.var, []).append(eqn)
        refused: set[tuple[int, int, int, int]] = set()  # two groups, and how large they were
        for var in sorted(readers, key=lambda v: -v.aval.nbytes):
            first = None
            for eqn in readers[var]:
                group = self.group_of[eqn]
                if first is None:
                    first = group
                    continue
                first = self.group_of[first.eqns[0]]
                attempt = (id(group), id(first), len(group.eqns), len(first.eqns))
                if group is first or attempt in refused or len(group.real_axes) != len(first.real_axes):
                    continue
                if [group.shape[a] for a in group.real_axes] == [first.shape[a] for a in first.real_axes]:
                    # They may also be producer and consumer that were refused: that stands.
                    up, down = (group, first) if first.inputs & group.made else (first, group)
                    if not self._merge(up, down):
                        refused.add(attempt)

    def _merge_stencils(self) -> None:
        """Groups with the same loops that read the same arrays at shifted places: where that is most of what the one or
        the other reads, both need not."""
        readers: dict[Var, dict[Equation, None]] = {}
        for eqn in self.jaxpr.eqns:
            if eqn in self.group_of:
                for root in self.reader.roots(eqn):
                    if root.var.aval.ndim > 1:
                        readers.setdefault(root.var, {})[self.group_of[eqn].eqns[0]] = None
        for var in sorted(readers, key=lambda v: -v.aval.nbytes):
            first = None
            for eqn in readers[var]:
                group = self.group_of[eqn]
                if first is None or first.shape != group.shape or first.reduced or group.reduced:
                    first = group
                    continue
                first = self.group_of[first.eqns[0]]
                if group is not first and self._share_most(first, group):
                    self._merge(first, group)

    def _share_most(self, a: Group, b: Group) -> bool:
        """Whether two groups, neither of which reads the other's results, read the same for the greater part."""
        if a.inputs & b.made or b.inputs & a.made:
            return False
        ours, theirs = a.reads - a.made, b.reads - b.made
        n_flops = sum(flops_per_element(eqn) * group.work[eqn] for group in (a, b) for eqn in group.eqns)
        if len(ours | theirs) > MOST_STENCIL_ARRAYS or n_flops > MOST_STENCIL_FLOPS:
            return False
        least = min(sum(v.aval.nbytes for v in each) for each in (ours, theirs))
        return 2 * sum(v.aval.nbytes for v in ours & theirs) >= least

    def cheaper_to_repeat(self) -> set[Equation]:
        """After `plan`: equations whose results one kernel stores for others, though these would read no more if they
        computed them from what is in memory anyway (`x - mean`, for a variance and for what follows it)."""
        outputs = {out for group in self._groups() for out in self.fitter.outputs(group)}
        in_memory = {*self.jaxpr.invars, *self.jaxpr.constvars, *self.kept, *outputs}
        found: set[Equation] = set()
        # In the order of the program: what is found decides about what follows.
        for out in sorted(outputs - self.kept, key=lambda out: self.order[self.producer[out]]):
            eqn = self.producer[out]
            if not out.aval.ndim or not isinstance(eqn.primitive.lowering, Pointwise) or is_expensive(eqn):
                continue
            roots = self.reader.roots(eqn)
            if any(r.axis_map is None or r.var not in in_memory or self.producer.get(r.var) in found for r in roots):
                continue
            if flops_per_element(eqn) > CHEAP_FLOPS or sum(r.var.aval.nbytes for r in roots) > 1.25 * out.aval.nbytes:
                continue
            reads = [r for reader in self.needed.get(out, ()) for r in self.reader.roots(reader) if r.var is out]
            if all(r.axis_map is not None for r in reads) and self._waits_for_memory(out):
                found.add(eqn)
        return found

    def _waits_for_memory(self, var: Var) -> bool:
        """Whether any kernel that writes or reads `var` computes so little that its bytes count."""
        eqns = [self.producer[var], *self.needed.get(var, ())]
        for group in {self.group_of[eqn] for eqn in eqns if eqn in self.group_of}:
            n_bytes = sum(v.aval.nbytes for v in (*group.inputs, *self.fitter.outputs(group)))
            n_flops = math.prod(group.shape) * sum(flops_per_element(eqn) * group.work[eqn] for eqn in group.eqns)
            if n_flops < COMPUTE_BOUND_FLOPS_PER_BYTE * n_bytes:
                return True
        return False

    # ---- the result ----

    def plan(self) -> Plan:
        self._merge_with_producers()
        self._merge_late()
        self._merge_siblings()
        self._merge_stencils()
        groups = [group for group in self._groups() if self.fitter.outputs(group)]
        nodes: list[Node] = [*groups, *self._single_steps()]
        return Plan(self.jaxpr, tuple(self._steps(self._sorted(nodes))), tuple(self._decisions()))

    def _sorted(self, nodes: list[Node]) -> list[Node]:
        """Data-flow order, otherwise the program's."""

        def position(node: Node) -> int:
            return node.first if isinstance(node, Group) else self.order[node]

        waiting = {id(n): len(self._dependencies(n)) for n in nodes}
        readers: dict[int, list[Node]] = {}
        for node in nodes:
            for dependency in self._dependencies(node):
                readers.setdefault(id(dependency), []).append(node)
        ready = [(position(n), i, n) for i, n in enumerate(nodes) if not waiting[id(n)]]
        heapq.heapify(ready)
        result: list[Node] = []
        counter = len(nodes)
        while ready:
            node = heapq.heappop(ready)[2]
            result.append(node)
            for reader in readers.get(id(node), ()):
                waiting[id(reader)] -= 1
                if not waiting[id(reader)]:
                    counter += 1
                    heapq.heappush(ready, (position(reader), counter, reader))
        if len(result) != len(nodes):
            raise _CycleError
        return result

    def _steps(self, nodes: list[Node]) -> Iterable[Step]:
        numbers = dict.fromkeys("BKLNVW", 0)

        def name(letter: str) -> str:
            numbers[letter] += 1
            return f"{self.prefix}{letter}{numbers[letter] - 1}"

        for node in nodes:
            if isinstance(node, Group) and (self._only_moves(node) or self._only_scans(node)):
                yield LibraryStep(name("L"), node.eqns[0])
            elif isinstance(node, Group):
                yield self._cluster(name("K"), node)
            elif node in self.classes.library:
                yield LibraryStep(name("L"), node)
            elif node in self.classes.views:
                yield ViewStep(name("V"), node)
            elif node in self.classes.control:
                yield self._control(name, node)
            else:
                why = self.classes.numpy[node]
                yield NumpyStep(name("N"), node, why.code, why.reason)

    def _only_moves(self, group: Group) -> bool:
        """Whether a group does nothing but copy arrays in memory to other places, which NumPy does block by block.
        A few elements are a kernel's all the same: a call of NumPy costs more, and keeps the plan from being one."""
        (eqn, *more) = group.eqns
        is_brief = not self.prefix and eqn.outvars[0].aval.size <= MOST_BRIEF
        return (
            not more
            and not is_brief
            and is_index_map(eqn)
            and eqn not in self.classes.stores
            and is_choosy(eqn)
            and not self.reader.lazy_closure(group.eqns)
        )

    def _only_scans(self, group: Group) -> bool:
        """Whether a group is a prefix sum or product of what is in memory, for which there are kernels of its own."""
        return len(group.eqns) == len(group.scans) == 1 and not self.reader.lazy_closure(group.eqns)

    def _control(self, name: Callable[[str], str], eqn: Equation) -> Step:
        """A branch or loop, with the plans of its programs."""
        params = eqn.params
        if eqn.primitive.name == "cond":
            step = name("B")
            plans = (form_plan(branch, f"{step}b{i}_", **self.options) for i, branch in enumerate(params["branches"]))
            return BranchStep(step, eqn, tuple(plans))
        step = name("W")
        if eqn.primitive.name == "scan":
            return LoopStep(step, eqn, form_plan(params["jaxpr"], f"{step}_", **self.options))
        condition = form_plan(params["cond_jaxpr"], f"{step}c_", **self.options)
        return LoopStep(step, eqn, form_plan(params["body_jaxpr"], f"{step}_", **self.options), condition)

    def _cluster(self, name: str, group: Group) -> Cluster:
        eqns = sorted({*group.eqns, *self.reader.lazy_closure(group.eqns)}, key=self.order.__getitem__)
        inside = {out for eqn in eqns for out in eqn.outvars}
        stores = {
            e.outvars[0]: e.invars[0] for e in group.eqns if e in self.classes.stores and isinstance(e.invars[0], Var)
        }
        read = (v for e in eqns for v in (e.invars[1:] if e.outvars[0] in stores else e.invars))
        invars = dict.fromkeys(v for v in read if isinstance(v, Var) and v not in inside)
        outputs = self.fitter.outputs(group)
        outvars = tuple(out for eqn in eqns for out in eqn.outvars if out in outputs)
        scopes = dict.fromkeys(s.name for e in eqns for s in e.origin.scopes[-1:])
        loops = {e: axes for e, axes in group.loops.items() if axes is not None}
        space = Space(group.shape, group.reduced, group.align, loops)
        stacks = frozenset(e.outvars[0] for e in group.eqns if e in self.classes.stacks)
        return Cluster(name, tuple(eqns), tuple(invars), outvars, space, ", ".join(scopes), stores, stacks)

    def _decisions(self) -> Iterable[Decision]:
        """Every edge between two computing equations, merged or refused, with its reason."""
        refusals: dict[tuple[int, int], Fit | Refusal] = {}
        stored = {out for group in self._groups() for out in self.fitter.outputs(group)}
        for eqn in self.jaxpr.eqns:
            node = self.group_of.get(eqn)
            if node is None and eqn in self.classes.lazy and eqn not in self.classes.views:
                continue
            roots = {r.var: r for r in self.reader.roots(eqn)} if node is not None else dict.fromkeys(self._inputs(eqn))
            for var in roots:
                source_eqn = self.producer.get(var)
                if source_eqn is None or source_eqn in self.classes.lazy:
                    continue
                source = self.group_of.get(source_eqn)
                n_bytes = 2 * var.aval.nbytes
                if source is not None and source is node:
                    shifted = roots[var] is not None and roots[var].axis_map is None  # type: ignore[union-attr]
                    code, merged = ("WB301" if shifted else "WB300"), True
                    n_bytes = 0 if var in stored else n_bytes
                else:
                    code, merged = self._refusal(source_eqn, source, eqn, node, refusals), False
                yield Decision(merged, source_eqn, eqn, var, code, REASONS[code], n_bytes)

    def _refusal(
        self,
        source_eqn: Equation,
        source: Group | None,
        eqn: Equation,
        node: Group | None,
        known: dict[tuple[int, int], Fit | Refusal],
    ) -> str:
        for e in (source_eqn, eqn):
            if e in self.classes.numpy:
                return "WB322" if self.classes.numpy[e].code != "WB330" else "WB321"
            if e in self.classes.control:
                return "WB323"
            if e.primitive.name in CHECKS:
                return "WB326"
            if e in self.classes.library or e.primitive.name in VIEWS and e in self.classes.views:
                return "WB320"
        if source is None or node is None:
            return "WB320"
        key = (id(source), id(node))
        if key not in known:
            known[key] = self.fitter.fit(source, node)
        fit = known[key]
        return fit.code if isinstance(fit, Refusal) else "WB316"
