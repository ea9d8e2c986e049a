"""A kernel: numba source for one cluster, and what the runtime needs to launch it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from typing import Literal as Choice

from ..ir import Var

ArgKind = Choice["in", "out", "update", "scratch", "size"]
# What LLVM may do with the arithmetic of kernels that are `fast`. NaN and inf stay what they are; elementary functions,
# which live by single roundings, keep theirs.
FAST = ("reassoc", "nsz", "arcp", "contract")
# What stands in a kernel's LLVM assembly before the functions that are to be inlined when its loops are vectorised.
LATE = "; ---- inlined when loops are vectorised ----"


@dataclass(frozen=True, eq=False, slots=True)
class KernelArg:
    """One argument after `(start, stop)`.

    in / out: an array, `var` says which, `layout` is "C" or "A" (any strides), `ndim` and `dtype` are its numba type;
    an "out" array that `holds` something before the launch is also read, or written in part;
    update: the elements that `var` gets in place of others, on their own: someone copies them there after the launch;
    scratch: partial results, `shape` is allocated per call (its axis 0 counts the parts);
    size: an integer that depends on the shapes, or a constant of the program, `value` for this one; where the address
    of one of the arrays `aligned` is no multiple of so many bytes, 0 instead.
    row: of an array whose last axis is written out, element by element, the length of that axis; else 0.
    """

    name: str
    kind: ArgKind
    var: Var | None = None
    dtype: str = "int64"
    ndim: int = 0
    layout: str = "C"
    shape: tuple[int, ...] = ()
    value: Any = 0  # an int, a float of a constant
    holds: bool = False
    aligned: tuple[tuple[str, int], ...] = ()
    row: int = 0


class Reach(NamedTuple):
    """Which rows of an array step i of a kernel's outer loop touches: i + low to i + high, of which it writes i +
    written, if any; without i where it does not follow the loop. Rows lie along the first axis that has more than one
    element."""

    low: int
    high: int
    written: int | None
    follows: bool


@dataclass(frozen=True, eq=False, slots=True)
class Kernel:
    """`source` is what is compiled: one function `name(start, stop, *args)`, which runs the outer loop from `start` to
    `stop` and touches nothing outside that range, so that ranges can run on several threads. It is numba's language;
    on the CPU it goes to LLVM without numba, as the same instructions: `llvm_kernels`.

    extent: the outer loop's length for this program; grain: the least range worth a thread of its own;
    finish: the kernel that combines the partial results that this one leaves in its scratch arguments (they have the
    same names there), with an outer loop of its own; functions: the scalar functions that the source calls; takes:
    results that are written into the memory of an input, which must be passed as their "out" argument.
    apart: arrays of which a part of the range touches only the same part, in memory order: what other kernels write to
    them for some rows this one may read for the same rows; steps: of the outer loop that keep together.
    reach: of arrays of which every step touches some rows, which ones; row_steps: how many steps a row takes then.
    may_be_short: whether its innermost loops may have so few iterations that what is left over of a vector matters.
    line_eqns: for each source line the indices of the cluster's equations that it computes.
    general: of a kernel for rows of few elements the one that serves rows of any length.
    fast: whether sums and products may be reordered and contracted, and divisions be made products (`FAST`).
    """

    id: str
    name: str
    source: str
    args: tuple[KernelArg, ...]
    extent: int
    grain: int
    n_elements: int
    flops: float
    bytes_moved: int
    line_eqns: tuple[tuple[int, ...], ...]
    target: str = "cpu"
    finish: Kernel | None = None
    functions: tuple[Any, ...] = ()
    geometry: Any = None  # of a launch on a device: `codegen.cuda.nests.Geometry`
    takes: Mapping[Var, Var] = field(default_factory=dict)
    may_be_short: bool = False
    apart: frozenset[Var] = frozenset()
    reach: Mapping[Var, Reach] = field(default_factory=dict)
    row_steps: int = 1
    steps: int = 1
    general: Kernel | None = None
    fast: bool = False

    def as_fast(self) -> Kernel:
        """The same kernel with faster and less exact arithmetic."""
        finish, general = (None if k is None else k.as_fast() for k in (self.finish, self.general))
        return replace(self, fast=True, finish=finish, general=general)

    @property
    def results(self) -> tuple[KernelArg, ...]:
        """The arguments that results are written to, here and in `finish`."""
        every = (*self.args, *(self.finish.args if self.finish is not None else ()))
        return tuple(a for a in every if a.kind in ("out", "update"))

    @property
    def signature(self) -> tuple[tuple[str, int, str] | str, ...]:
        """The numba types of the arguments after `(start, stop)`: `(dtype, ndim, layout)`, or "size"."""
        return tuple("size" if a.kind == "size" else (a.dtype, a.ndim, a.layout) for a in self.args)

    @property
    def unit_axes(self) -> tuple[tuple[int, ...], ...]:
        """Of each argument the axes after the first that have one element: what machine code knows beside the types."""
        return tuple(tuple(axis for axis in range(1, len(a.shape)) if a.shape[axis] == 1) for a in self.args)
