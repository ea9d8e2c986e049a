"""What becomes of each equation: computed in a kernel, evaluated lazily inside its readers, called, a branch or loop of
its own, or left to NumPy.

Index maps move no data: whoever reads their result computes the operand's index instead. They become code of their own
only when memory must hold the result, as an input of a library call or as a result of the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..ir import Equation, Jaxpr, Var
from ..primitives.lowering import Control, IndexMap, LibraryCall, Pointwise, Reduction
from .access import index_map_accesses, is_fold, is_index_map, is_rotation, is_scan, is_stack, is_store
from .cost import LEAST_PIECES
from .scopes import compiles

# NumPy answers these with a view of the operand.
VIEWS = frozenset({"reshape", "transpose", "squeeze", "slice", "rev"})
# A lazy chain is evaluated again by each reader, so that choices between operands must not nest without bound.
MAX_LAZY_DEPTH = 6
# Operands of one `concatenate` up to which a kernel chooses among them. Its text, and the time to compile it, grow with
# their number; NumPy copies them one after another.
MAX_JOINED = 32
# LLVM compares each place of one array that is written with every other.
MOST_STACKED = 128
# Assignments to slices of one array up to which a kernel chooses among them.
MOST_COMPOSED = 4


# How many times larger an array must be than the part of it that is kept, for the part to be copied by a kernel.
LEAST_REST = 8


@dataclass(frozen=True, slots=True)
class Uncompiled:
    code: str
    reason: str


@dataclass(slots=True)
class Classes:
    """kernel, lazy and view overlap only in that a view may also be read lazily; stores and stacks are kernels' too."""

    kernel: set[Equation]
    lazy: set[Equation]
    views: set[Equation]
    library: set[Equation]
    numpy: dict[Equation, Uncompiled]
    control: set[Equation]
    stores: set[Equation] = field(default_factory=set)
    stacks: set[Equation] = field(default_factory=set)


def classify(jaxpr: Jaxpr, *, in_place: bool = True) -> Classes:
    """Sort the equations of an inlined program. in_place: whether kernels may write into arrays that hold something,
    and carry totals along their innermost loop."""
    classes = Classes(set(), set(), set(), set(), {}, set())
    composed = _composed(jaxpr)
    for eqn in jaxpr.eqns:
        lowering = eqn.primitive.lowering if eqn.primitive.has_rule("lowering") else None
        if not compiles(eqn):
            classes.numpy[eqn] = Uncompiled("WB330", "jit_scope(compile_ops=False) asked for it")
        elif isinstance(lowering, Control):
            classes.control.add(eqn)
        elif in_place and is_scan(eqn):
            classes.kernel.add(eqn)
        elif isinstance(lowering, LibraryCall) or _is_numpys(eqn) or len(eqn.invars) > MAX_JOINED and is_index_map(eqn):
            classes.library.add(eqn)
        elif eqn.primitive.name == "reshape" and index_map_accesses(eqn)[0].axis_map is None:
            # In memory order this is a view; element by element it would be two divisions.
            classes.views.add(eqn)
        elif in_place and is_store(eqn) and eqn not in composed:
            classes.kernel.add(eqn)
            classes.stores.add(eqn)
        elif isinstance(lowering, Reduction) and not is_fold(eqn):
            classes.lazy.add(eqn)
        elif isinstance(lowering, IndexMap) or (isinstance(lowering, Pointwise) and not eqn.outvars[0].aval.shape):
            classes.lazy.add(eqn)
        elif isinstance(lowering, Pointwise | Reduction):
            classes.kernel.add(eqn)
        else:
            classes.numpy[eqn] = Uncompiled("WB331", f"no kernel can be generated for {eqn.primitive.name}")
    if in_place:
        _find_stacks(jaxpr, classes)
    _bound_lazy_chains(jaxpr, classes)
    _materialise_what_memory_needs(jaxpr, classes)
    return classes


def _composed(jaxpr: Jaxpr) -> set[Equation]:
    """Assignments to slices of arrays that hold one value, as `np.zeros` gives them, and what few such assignments
    make of them: one loop computes all elements, and its readers may be in it, too."""
    chain_of: dict[Var, list[Equation]] = {}  # the assignments so far, of arrays that began with one value
    chains: list[list[Equation]] = []
    shifted = {eqn.invars[0] for eqn in jaxpr.eqns if eqn.primitive.name == "slice"}
    for eqn in jaxpr.eqns:
        out = eqn.outvars[0] if eqn.outvars else None
        if eqn.primitive.name == "broadcast_in_dim" and out is not None and not eqn.invars[0].aval.shape:
            chain_of[out] = []
        elif eqn.primitive.name == "update_slice" and out is not None and eqn.invars[0] in chain_of:
            if out in shifted and not _has_long_pieces(eqn):
                continue
            base = chain_of[eqn.invars[0]]  # type: ignore[index]  # a variable
            chain_of[out] = [*base, eqn][-MOST_COMPOSED - 1 :]
            chains.append(chain_of[out])
    found = {eqn for chain in chains for eqn in chain}
    return found - {eqn for chain in chains if len(chain) > MOST_COMPOSED for eqn in chain}


def _has_long_pieces(eqn: Equation) -> bool:
    """Whether rows are replaced as a whole or not at all, or are so long that a loop can stop where that changes.
    Otherwise each element asks where it is, and should not do so for all places from which it is read."""
    shape, part = eqn.outvars[0].aval.shape, eqn.invars[1].aval.shape
    return bool(shape) and (shape[-1] == part[-1] or shape[-1] >= LEAST_PIECES)


def _is_numpys(eqn: Equation) -> bool:
    """Reductions that NumPy's own routine does: prefix scans, and extremes of complex numbers."""
    lowering = eqn.primitive.lowering
    if not isinstance(lowering, Reduction):
        return False
    ordered = lowering.kind in ("max", "min", "argmax", "argmin") and eqn.invars[0].aval.dtype.kind == "c"
    return lowering.kind.startswith("cum") or ordered


def _find_stacks(jaxpr: Jaxpr, classes: Classes) -> None:
    """Joined arrays most of which kernels compute: these write them to their places, instead of to arrays of their own
    from which somebody gathers them. Arrays that are there already NumPy copies as fast as anyone."""
    producer = {out: eqn for eqn in jaxpr.eqns for out in eqn.outvars}
    for eqn in jaxpr.eqns:
        is_joined = eqn in classes.lazy or eqn in classes.library
        if not is_joined or len(eqn.invars) > MOST_STACKED or not is_stack(eqn):
            continue
        n_computed = 0
        for atom in eqn.invars:
            source = producer.get(atom) if isinstance(atom, Var) else None
            while source is not None and source in classes.lazy and len(source.invars) == 1:
                (operand,) = source.invars
                source = producer.get(operand) if isinstance(operand, Var) else None
            n_computed += source in classes.kernel and not is_fold(source)  # type: ignore[arg-type]  # None is in no set
        if 2 * n_computed > len(eqn.invars):
            classes.stacks.add(eqn)
            classes.kernel.add(eqn)
            classes.lazy.discard(eqn)
            classes.library.discard(eqn)


def _bound_lazy_chains(jaxpr: Jaxpr, classes: Classes) -> None:
    """Compute a lazy value once where it chooses between operands and has several readers, or chains grow long."""
    n_readers: dict[Var, int] = {}
    for eqn in jaxpr.eqns:
        for atom in set(eqn.invars):
            if isinstance(atom, Var):
                n_readers[atom] = n_readers.get(atom, 0) + 1
    depth: dict[Var, float] = {}
    producer = {out: eqn for eqn in jaxpr.eqns for out in eqn.outvars}
    for eqn in jaxpr.eqns:
        if eqn not in classes.lazy:
            continue
        choosy = is_choosy(eqn)
        below = max((depth.get(a, 0) for a in eqn.invars if isinstance(a, Var)), default=0)
        # Scalars that a loop carries on: each reader repeats all of their history, in a text of its own.
        own = below + (1 if choosy else 0.25 if is_index_map(eqn) else 0.75)
        repeats = choosy and n_readers.get(eqn.outvars[0], 0) > 1 and not is_rotation(eqn, producer)
        if own > MAX_LAZY_DEPTH or repeats:
            classes.lazy.discard(eqn)
            classes.kernel.add(eqn)
            own = 0
        depth[eqn.outvars[0]] = own


def is_choosy(eqn: Equation) -> bool:
    """Whether an index map reads more than one element, or loads an index: work that a reader would repeat."""
    if not isinstance(eqn.primitive.lowering, IndexMap):
        return False
    accesses = index_map_accesses(eqn)
    return sum(a.reads for a in accesses) > 1


def _materialise_what_memory_needs(jaxpr: Jaxpr, classes: Classes) -> None:
    needed = {v for v in jaxpr.outvars if isinstance(v, Var)}
    made = {out: eqn for eqn in jaxpr.eqns for out in eqn.outvars if out not in needed}
    for eqn in reversed(jaxpr.eqns):
        if eqn in classes.stores:
            needed.update(v for v in eqn.invars[:1] if isinstance(v, Var))
        if any(eqn in single for single in (classes.library, classes.numpy, classes.views, classes.control)):
            needed.update(v for v in eqn.invars if isinstance(v, Var))
        elif eqn in classes.lazy and eqn.outvars[0] in needed:
            operand = eqn.invars[0] if eqn.invars else None
            if eqn.primitive.name in VIEWS and isinstance(operand, Var) and not _is_small_part(eqn, classes, made):
                classes.views.add(eqn)
                needed.add(operand)
            else:
                classes.lazy.discard(eqn)
                classes.kernel.add(eqn)


def _is_small_part(eqn: Equation, classes: Classes, made: Mapping[Var, Equation]) -> bool:
    """Whether a view is a small part of what a kernel computes (the flux at the top): a kernel that copies it leaves
    the rest to the caches."""
    size, source = eqn.outvars[0].aval.size, eqn
    while source in classes.lazy and source.primitive.name in ("slice", "squeeze"):
        operand = source.invars[0]
        found = made.get(operand) if isinstance(operand, Var) else None
        if found is None:
            return False
        source = found
    return source in classes.kernel and 0 < size * LEAST_REST <= source.outvars[0].aval.size
