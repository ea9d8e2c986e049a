"""Placement: which memory each result of a plan lies in, and which kernels that takes.

A result gets an array of its own, unless it may take over the memory of an array that nobody reads any more: of an
intermediate result, of a value that a loop carries, or of an argument that the call writes into anyhow. A plan inside a
loop or branch owns the operands that are given up to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ...codegen.kernel import Kernel
from ...codegen.lower import element_counts, lower_cluster
from ...fusion import (
    BranchStep,
    Cluster,
    LibraryStep,
    LoopStep,
    NumpyStep,
    Plan,
    Step,
    ViewStep,
    step_eqns,
    step_inputs,
    step_outputs,
    sub_plans,
)
from ...fusion.access import is_scan
from ...ir import Equation, Var
from ...primitives.loops import LoopProgram, loop_p
from ...primitives.lowering import LibraryCall
from ...primitives.raising import may_raise
from ..native.kernels import is_compiled

# These give operand 0 with some elements replaced, or as it is.
UPDATES = frozenset({"update_slice", "dynamic_update_slice", "scatter", "reshape"})
# Routines whose results are never memory of their operands.
FRESH = frozenset({"dot_general", "sort", "fft"})


@dataclass(eq=False)
class Placement(dict[str, Kernel]):
    """The kernels of a plan and of the plans that its steps hold, by step; and where results go.

    takes: result -> the variable whose memory it takes; given: for each loop or branch, which operands are given up to
    it; overwritten: the inputs that are given up to this plan and whose memory it changes or hands on; copied: the
    positions of results that must be copied to have memory of their own; inner: of the plans that a step holds;
    strided: results that may not be C-contiguous; layouts: "C" or "A" of variables, "C" if not told;
    written: results that are in the memory of their input already;
    unread: results that nobody looks at; first_write: the first step that writes into an argument;
    repeated: the one kernel of a loop's body, if it holds all iterations.
    """

    plan: Plan
    takes: dict[Var, Var] = field(default_factory=dict)
    given: dict[str, tuple[bool, ...]] = field(default_factory=dict)
    overwritten: set[Var] = field(default_factory=set)
    copied: set[int] = field(default_factory=set)
    inner: dict[str, tuple[Placement, ...]] = field(default_factory=dict)
    strided: set[Var] = field(default_factory=set)
    layouts: Mapping[Var, str] = field(default_factory=dict)
    written: dict[int, Var] = field(default_factory=dict)
    unread: frozenset[int] = frozenset()
    first_write: int | None = None
    repeated: Cluster | None = None


def place(
    plan: Plan,
    layouts: Sequence[str],
    lower: Callable[..., Kernel] = lower_cluster,
    *,
    in_place: bool = True,
    given: Collection[int] = (),
    targets: Mapping[int, int] | None = None,
    unread: Collection[int] = (),
    inner: bool = False,
    repeats: int | None = None,
) -> Placement:
    """Place the results of `plan` and write its kernels.

    layouts: "C" or "A" for each input; lower: writes the kernel of a cluster; in_place: whether results may take over
    memory; given: the inputs that the plan may write into; targets: input -> the result that it holds afterwards (an
    argument that the call writes into, a carried value); unread: results that nobody looks at; inner: of a plan in a
    loop or branch, none of whose results may be memory of an input that was not given to it; repeats: how often a loop
    runs it, if that is known and nothing else changes from one iteration to the next.
    """
    placer = _Placer(plan, layouts, lower, in_place, set(given), dict(targets or {}), set(unread), inner)
    placement = placer.run()
    if repeats is not None and placer.can_repeat():
        (step,) = plan.steps
        assert isinstance(step, Cluster)
        placement[step.id] = lower(step, placer.layouts, element_counts(plan.jaxpr), placement[step.id].takes, repeats)
        placement.repeated = step
    return placement


def _preferred(kernel: Kernel) -> Kernel:
    """The kernel for these short rows, or the one for any, if that is compiled and this isn't: a new shape compiles
    nothing."""
    general = kernel.general
    return kernel if general is None or is_compiled(kernel) or not is_compiled(general) else general


class _Placer:
    def __init__(
        self, plan: Plan, layouts: Sequence[str], lower: Callable[..., Kernel], in_place: bool, given: set[int],
        targets: dict[int, int], unread: set[int], inner: bool,
    ):  # fmt: skip
        self.plan = plan
        self.lower = lower
        self.in_place = in_place
        self.result = Placement(plan, unread=frozenset(unread))
        self.inner = inner
        self.unread = unread
        inputs = plan.jaxpr.invars
        self.given = {inputs[i] for i in given}
        self.targets = targets
        self.layouts: dict[Var, str] = dict(zip(inputs, layouts, strict=True))
        self.layouts.update(dict.fromkeys(plan.jaxpr.constvars, "C"))
        self.result.layouts = self.layouts
        self.versions = self._versions(targets)
        self.root: dict[Var, Var] = {}
        self.foreign: set[Var] = set()
        self.intermediate: set[Var] = set()  # made by kernels and routines that give new memory
        self.members: dict[Var, set[Var]] = {}
        self.whole: set[Var] = {*inputs}  # in the memory of an input, element by element: no views, which may be copies
        self.pinned: set[Var] = {v for v in (*inputs, *plan.jaxpr.constvars) if v not in self.given}
        self.last = self._last_uses()
        self.raises = self._raises()

    def _last_uses(self) -> dict[Var, float]:
        """The step after which each variable is not read any more."""
        last: dict[Var, float] = {}
        for position, step in enumerate(self.plan.steps):
            last.update(dict.fromkeys((*step_inputs(step), *step_outputs(step)), position))
        for k, atom in enumerate(self.plan.outvars):
            if isinstance(atom, Var) and k not in self.unread:
                last[atom] = float("inf")
        return last

    def _raises(self) -> list[bool]:
        """For each step, whether it or a later one may raise."""
        found, later = [], False
        for step in reversed(self.plan.steps):
            later = later or isinstance(step, NumpyStep) or any(map(_may_raise, step_eqns(step)))
            later = later or any(isinstance(s, NumpyStep) for p in sub_plans(step) for s in p.all_steps)
            found.append(later)
        return found[::-1]

    # ---- whose memory is free ----

    def _root(self, var: Var) -> Var:
        return self.root.get(var, var)

    def _join(self, var: Var, base: Var) -> None:
        """`var` lies in the memory of `base`."""
        root = self._root(base)
        self.root[var] = root
        self.members.setdefault(root, {root}).add(var)

    def _is_free(self, base: Var, position: int, out: Var, *, quiet: bool = False) -> bool:
        """Whether nobody reads the memory of `base` after step `position`, and the plan may write into it. quiet:
        whatever the step raises, it raises before it writes."""
        root = self._root(base)
        if root in self.pinned or not self.in_place:
            return False
        members = self.members.get(root, {root})
        if any(self.last.get(v, -1) > position for v in members):
            return False
        if root in self.given:
            if self.inner:
                return True
            # What raises is done again by NumPy, with the arguments as they were: from the first write on nothing may.
            raises = self.raises[position + 1 :][:1] if quiet else self.raises[position : position + 1]
            return not any(raises) and self.versions.get(out) is root
        return True

    def _versions(self, targets: Mapping[int, int]) -> dict[Var, Var]:
        """For each input that has a target: the values that NumPy has in its place, one after another."""
        producer = {out: eqn for eqn in self.plan.jaxpr.eqns for out in eqn.outvars}
        versions: dict[Var, Var] = {}
        for i, k in targets.items():
            atom = self.plan.outvars[k]
            while isinstance(atom, Var) and atom not in versions and atom not in self.layouts:
                versions[atom] = self.plan.jaxpr.invars[i]
                eqn = producer[atom]
                if eqn.primitive is loop_p:
                    written = dict(zip(eqn.outvars, eqn.params["program"].written, strict=False))
                    if atom not in written:
                        break
                    atom = eqn.invars[written[atom]]
                    continue
                if eqn.primitive.name not in UPDATES:
                    break
                atom = eqn.invars[0]
        return versions

    # ---- steps ----

    def run(self) -> Placement:
        counts = element_counts(self.plan.jaxpr)
        for position, step in enumerate(self.plan.steps):
            match step:
                case Cluster():
                    self._place_cluster(position, step, counts)
                    self.intermediate.update(v for v in step.outvars if self._root(v) is v)
                case ViewStep():
                    self._place_view(step.eqn)
                case LibraryStep():
                    self._place_library(position, step)
                case NumpyStep():  # it may keep or hand out what it is given
                    self.pinned.update(self._root(v) for v in step_inputs(step))
                    self.pinned.update(step.eqn.outvars)
                    self.foreign.update(step.eqn.outvars)
                case BranchStep() | LoopStep():
                    self._place_control(position, step)
        self._settle_results()
        return self.result

    def _place_cluster(self, position: int, step: Cluster, counts: frozenset) -> None:
        candidates: dict[Var, Var] = {}
        taken: set[Var] = set()
        for out in step.outvars:
            if out in step.stacks:
                continue  # its parts are written while others are still to be read
            base = step.stores.get(out) or self._argument_in(step, out)
            if base is None:
                base = next((v for v in step.invars if self._is_spare(step, v, out, position, taken)), None)
            elif self._root(base) in taken or not self._is_free(base, position, out) or not _alike(base, out):
                base = None
            if base is None or self._is_read_otherwise(step, base):
                continue
            candidates[out] = base
            taken.add(self._root(base))
        more = (candidates,) if candidates else ()
        kernel = _preferred(self.lower(step, self.layouts, counts, *more))
        self.result[step.id] = kernel
        for out, base in kernel.takes.items():
            self._take(out, base, position)
        for arg in kernel.results:
            if arg.kind == "update" and arg.var is not None:
                self._take(arg.var, candidates[arg.var], position)
        for out in step.outvars:
            target = self.versions.get(out)
            if out in self.result.takes or target is None or self.layouts.get(target, "C") != "C":
                continue
            reads = {self._root(v) for v in step_inputs(step)}
            if _alike(target, out) and target not in reads and self._is_free(target, position, out):
                self._take(out, target, position)

    def _is_read_otherwise(self, step: Cluster, base: Var) -> bool:
        return any(v is not base and self._root(v) is self._root(base) for v in step.invars)

    def _is_spare(self, step: Cluster, base: Var, out: Var, position: int, taken: set[Var]) -> bool:
        """Whether `base` is an intermediate result of the same type as `out`, in order, that nobody reads after `step`:
        an elementwise kernel may leave its result there."""
        root = self._root(base)
        if root not in self.intermediate or root in taken or self.layouts.get(base, "C") != "C":
            return False
        return _alike(base, out) and self._is_free(base, position, out) and not self._is_read_otherwise(step, base)

    def _take(self, out: Var, base: Var, position: int) -> None:
        self.result.takes[out] = base
        self._join(out, base)
        if base in self.whole:
            self.whole.add(out)
        self.layouts[out] = self.layouts.get(base, "C")
        if self._root(base) in self.given:
            self.result.overwritten.add(self._root(base))
            if not self.inner and self.result.first_write is None:
                self.result.first_write = position

    def _argument_in(self, step: Cluster, out: Var) -> Var | None:
        """The variable whose memory a result that is computed as a whole should take: that of the argument that it is
        written to, or of the carried value that it replaces."""
        target = self.versions.get(out)
        if target is None:
            return None
        read = [v for v in step.invars if self._root(v) is target]
        return read[0] if read else target

    def can_repeat(self) -> bool:
        """Whether the plan is one kernel each of whose iterations (of its own loops) keeps to itself, so that a loop
        around the plan can as well be inside of the kernel: it computes all carried values in their own memory."""
        step = self.plan.steps[0] if len(self.plan.steps) == 1 else None
        if not isinstance(step, Cluster):
            return False
        kernel = self.result[step.id]
        inputs, outvars = self.plan.jaxpr.invars, self.plan.outvars
        settled = all(
            outvars[k] is inputs[i] or (isinstance(v := outvars[k], Var) and kernel.takes.get(v) is inputs[i])
            for i, k in self.targets.items()
        )
        return (
            settled
            and not step.space.reduced
            and not any(map(is_scan, step.eqns))
            and set(step.outvars) == set(kernel.takes)
            and kernel.extent > 0
        )

    def _place_view(self, eqn: Equation) -> None:
        operand, out = eqn.invars[0], eqn.outvars[0]
        if not isinstance(operand, Var):
            return
        self._join(out, operand)
        layout = self.layouts.get(operand, "C")
        self.layouts[out] = layout if eqn.primitive.name == "reshape" else "A"
        if self.layouts[out] == "A":
            self.result.strided.add(out)

    def _place_loop(self, position: int, eqn: Equation) -> None:
        """A loop of the user's writes into memory that nobody else reads, or else into copies. If it raises, NumPy runs
        everything again: arguments are given to loops alone that do not raise once they write."""
        program: LoopProgram = eqn.params["program"]
        quiet = program.quiet and not any(aval.shape for aval in program.results[len(program.written) :])
        roots = [self._root(v) if isinstance(v, Var) else None for v in eqn.invars]
        self.intermediate.update(eqn.outvars)
        for out, k in zip(eqn.outvars, program.written, strict=False):
            base = eqn.invars[k]
            if not isinstance(base, Var) or roots.count(roots[k]) > 1 or not _alike(base, out):
                continue
            if self.layouts.get(base, "C") == "C" and self._is_free(base, position, out, quiet=quiet):
                self._take(out, base, position)

    def _place_library(self, position: int, step: LibraryStep) -> None:
        eqn = step.eqn
        if eqn.primitive is loop_p:
            self._place_loop(position, eqn)
            return
        lowering = eqn.primitive.lowering if eqn.primitive.has_rule("lowering") else None
        if eqn.primitive.name in FRESH:
            self.intermediate.update(eqn.outvars)
        if eqn.primitive.name == "numpy_call":  # it may hand out what it is given
            self.pinned.update(eqn.outvars)
        if not isinstance(lowering, LibraryCall) or lowering.in_place is None or len(eqn.outvars) != 1:
            return
        base, *others = eqn.invars
        out = eqn.outvars[0]
        if not isinstance(base, Var) or not self._is_free(base, position, out):
            return
        if any(isinstance(v, Var) and self._root(v) is self._root(base) for v in others):
            return
        if self.layouts.get(base, "C") == "C":
            self._take(out, base, position)

    def _place_control(self, position: int, step: BranchStep | LoopStep) -> None:
        eqn, params = step.eqn, step.eqn.params
        roots = [self._root(v) if isinstance(v, Var) else None for v in eqn.invars]
        if isinstance(step, BranchStep):
            fixed = 1
        elif step.condition is not None:
            fixed = params["cond_nconsts"] + params["body_nconsts"]
        else:
            fixed = params["num_consts"]
        given = []
        for k, atom in enumerate(eqn.invars):
            free = k >= fixed and isinstance(atom, Var) and roots.count(roots[k]) == 1
            free = free and (isinstance(step, BranchStep) or k - fixed < _n_carry(step))
            given.append(bool(free) and self._gives_up(atom, position, eqn))  # type: ignore[arg-type]  # a variable
        self.result.given[step.id] = tuple(given)
        known = [self.layouts.get(v, "C") if isinstance(v, Var) else "C" for v in eqn.invars]
        placements = []
        for plan, operands in operand_positions(step):
            is_condition = isinstance(step, LoopStep) and plan is step.condition
            mine: list[int] = []
            targets: dict[int, int] = {}
            if isinstance(step, BranchStep):
                mine = [i for i, k in enumerate(operands) if k is not None and given[k]]
            elif not is_condition:
                first = sum(k is not None for k in operands)
                mine = list(range(first, first + _n_carry(step)))
                targets = {i: i - first for i in mine}
            inner_layouts = [known[k] if k is not None else "C" for k in operands]
            repeats = None
            if isinstance(step, LoopStep) and step.condition is None and len(eqn.invars) == fixed + _n_carry(step):
                repeats = params["length"] if len(eqn.outvars) == _n_carry(step) else None
            inner = place(
                plan, inner_layouts, self.lower, in_place=self.in_place, given=mine, targets=targets, inner=True,
                repeats=repeats,
            )  # fmt: skip
            placements.append(inner)
            self.result.update(inner)
        self.result.inner[step.id] = tuple(placements)
        for root in (root for root, is_given in zip(roots, given, strict=True) if is_given and root is not None):
            self.pinned.add(root)  # the step's results may lie there now
            if root in self.given:
                self.result.overwritten.add(root)

    def _gives_up(self, var: Var, position: int, eqn: Equation) -> bool:
        """Whether a loop or branch may change the memory of its operand `var`. An argument's is not given up: its parts
        would change places where a loop exchanges arrays."""
        root = self._root(var)
        if root in self.pinned or (root in self.given and not self.inner) or var in self.result.strided:
            return False
        return all(self.last.get(v, -1) <= position for v in self.members.get(root, {root}))

    def _settle_results(self) -> None:
        """Which results must be copied, so that each has memory of its own."""
        inputs = set(self.plan.jaxpr.invars)
        seen: set[Var] = set()
        own_target = {k: self.plan.jaxpr.invars[i] for i, k in self.targets.items()}
        for k, atom in enumerate(self.plan.outvars):
            if not isinstance(atom, Var) or k in self.unread:
                continue
            root = self._root(atom)
            if not self.inner and own_target.get(k) is root and root in self.given and atom in self.whole:
                self.result.written[k] = root
                continue
            copied = root in seen or (self.inner and root in self.foreign)
            if root in inputs and self.inner:
                copied = copied or root not in self.given
                if not copied:
                    self.result.overwritten.add(root)
            elif root in inputs:
                target = own_target.get(k)
                # An array that is written back elsewhere must be saved before this one is written.
                copied = target is not root and (target is not None or root in self.result.overwritten or copied)
            if copied:
                self.result.copied.add(k)
            else:
                seen.add(root)


def _n_carry(step: LoopStep) -> int:
    return step.eqn.params["num_carry"] if step.condition is None else len(step.eqn.outvars)


def operand_positions(step: BranchStep | LoopStep) -> list[tuple[Plan, list[int | None]]]:
    """The plans that a step holds, with the operand that each of their inputs is (None: a carried value or a row, which
    is in C order)."""
    params = step.eqn.params
    if isinstance(step, BranchStep):
        return [(plan, list(range(1, len(step.eqn.invars)))) for plan in step.plans]
    n_inputs = len(step.body.jaxpr.invars)
    if step.condition is None:
        n_consts = params["num_consts"]
        return [(step.body, [*range(n_consts), *[None] * (n_inputs - n_consts)])]
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    carry = [None] * (n_inputs - n_body)
    return [(step.condition, [*range(n_cond), *carry]), (step.body, [*range(n_cond, n_cond + n_body), *carry])]


__all__ = ["Placement", "Step", "operand_positions", "place"]


def _may_raise(eqn: Equation) -> bool:
    if eqn.primitive is not loop_p:
        return may_raise(eqn)
    program: LoopProgram = eqn.params["program"]
    return not program.quiet or bool(program.careful)


def _alike(a: Var, b: Var) -> bool:
    return (a.aval.shape, a.aval.dtype) == (b.aval.shape, b.aval.dtype)
