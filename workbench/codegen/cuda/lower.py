"""Lowering to a device: from a cluster to a kernel that numba.cuda compiles, or its simulator runs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

from ...fusion.access import is_fold
from ...fusion.cost import flops
from ...fusion.plan import Cluster
from ...ir import Literal, Var
from ..kernel import Kernel, KernelArg
from ..lower import scalar_functions
from ..names import Namer
from ..nests import Nest, canonical_index
from .constants import hoisted
from .nests import WORDS, DeviceNest
from .tuning import GPU, Tuning
from .values import DeviceValues

# Indices of this many elements leave room for a step past the end in 32 bits.
MOST_IN_32_BITS = 1 << 30


def lower_cluster_to_device(
    cluster: Cluster, layouts: Mapping[Var, str], counts: frozenset[Literal] = frozenset(), tuning: Tuning = GPU
) -> Kernel:
    """The kernel of `cluster` on a device. layouts: "C" or "A" for each input variable; results are C-contiguous.
    Arrays in C order arrive as one axis."""
    writer = Writer(cluster, layouts, counts, tuning, flat=False)
    if writer.can_flatten():
        writer = Writer(cluster, layouts, counts, tuning, flat=True)
    elif writer.nest.crossed_axis is not None:
        writer = Writer(cluster, layouts, counts, tuning, flat=False, tiled=writer.nest.crossed_axis)
    elif writer.nest.reads_apart:
        writer = Writer(cluster, layouts, counts, tuning, flat=False, in_turns=True)
    return writer.kernel()


def index_type(cluster: Cluster) -> str:
    """32-bit integers where no array and no loop of the cluster is too long for them."""
    longest = max((v.aval.size for v in (*cluster.invars, *cluster.outvars)), default=1)
    return "int32" if max(longest, math.prod(cluster.space.shape)) < MOST_IN_32_BITS else "int64"


class Writer:
    """Writes one kernel."""

    def __init__(
        self, cluster: Cluster, layouts: Mapping[Var, str], counts: frozenset[Literal], tuning: Tuning, *, flat: bool,
        tiled: int | None = None, in_turns: bool = False,
    ):  # fmt: skip
        self.cluster = cluster
        self.layouts = layouts
        self.counts = counts
        self.tuning = tuning
        self.flat = flat
        self.namer = Namer(WORDS)
        self.inputs = {var: self.namer.for_var(var, "x") for var in cluster.invars}
        self.outputs = {var: self.namer.fresh(f"{self._wish(var)}_out") for var in cluster.outvars}
        self.canonical = canonical_index(cluster.space.shape)
        self.values = self._values(flat)
        self.nest = self._nest(tiled, in_turns)
        self.nest.write()

    def _nest(self, tiled: int | None, in_turns: bool) -> DeviceNest:
        return DeviceNest(self.cluster, self.values, self.namer, self.outputs, self.flat, self.tuning, tiled, in_turns)

    def _wish(self, var: Var) -> str:
        eqn = next(e for e in self.cluster.eqns if var in e.outvars)
        return var.hint or eqn.origin.name or Nest.cluster_name(eqn)

    def _values(self, flat: bool) -> DeviceValues:
        return DeviceValues(
            self.cluster, self.namer, self.inputs, self.canonical, self.counts, flat, self.layouts,
            index_type(self.cluster),
        )  # fmt: skip

    def can_flatten(self) -> bool:
        """Whether all reads and writes are in memory order, so that many axes are as good as one."""
        nest, shape = self.nest, self.cluster.space.shape
        if self.values.irregular or nest.shape_kind not in ("map", "parts"):
            return False
        if sum(length != 1 for length in shape) < 2 or any(fold.kind.startswith("arg") for fold in nest.folds.values()):
            return False
        outputs = [v for v in self.outputs if nest.shape_kind == "map" or not self._is_finished(v)]
        arrays = [v for v in (*self.inputs, *outputs) if v.aval.ndim]
        in_order = all(v.aval.shape == shape and self.layouts.get(v, "C") == "C" for v in arrays)
        return in_order and bool(arrays)

    def _is_finished(self, var: Var) -> bool:
        """Whether a result is one value a row, and not one of the values that are folded."""
        nest = self.nest
        return is_fold(self.values.producer[var]) or bool(nest.inner) and nest._is_row_level(var)

    def kernel(self) -> Kernel:
        nest, cluster = self.nest, self.cluster
        finished = [v for v in self.outputs if self._is_finished(v)] if nest.is_split else []
        body, constants = nest.root.render(1), []
        if not self.tuning.one_block:  # there kernels are functions of a larger one
            body, constants = hoisted(body, self.namer)
        args = [*self._args([v for v in self.outputs if v not in finished], body), *constants]
        geometry, extent = nest.geometry, nest.extent
        source, name, line_eqns = self._source(args, body, self._title())
        finish = self._finish(finished) if nest.is_split else None
        moved = sum(v.aval.nbytes for v in (*cluster.invars, *cluster.outvars))
        return Kernel(
            cluster.id, name, source, tuple(args), extent, max(extent, 1), math.prod(cluster.space.shape),
            sum(flops(e) for e in cluster.eqns), moved, line_eqns, self.tuning.target, finish,
            scalar_functions(source), geometry,
        )  # fmt: skip

    def _finish(self, finished: list[Var]) -> Kernel:
        """The kernel that merges the parts and computes what follows from the totals."""
        nest = self.nest
        self.values = nest.values = nest.device_values = self._values(False)
        self.values.bound = nest.bound
        nest.bounds.clear()
        nest.write_finish(finished)
        body = nest.root.render(1)
        args = self._args(finished, body)
        # Not the cluster's title: what merges the parts of a sum is the same text whatever was added up.
        folds = dict.fromkeys(fold.kind for fold in nest.folds.values())
        source, name, line_eqns = self._source(args, body, Namer().fresh(f"{'_'.join(folds)}_finish"))
        return Kernel(
            self.cluster.id, name, source, tuple(args), nest.n_rows, max(nest.n_rows, 1), nest.n_parts * nest.n_rows,
            0.0, 0, line_eqns, self.tuning.target, None, scalar_functions(source), nest.geometry,
        )  # fmt: skip

    def _args(self, outputs: list[Var], body: list[tuple[str, tuple[int, ...]]]) -> list[KernelArg]:
        text = "\n".join(line for line, _ in body)
        shape = (self.nest.n_parts * self.nest.n_rows,)
        return [
            *(self._array("in", v, n) for v, n in self.inputs.items() if f"{n}[" in text),
            *(self._array("out", v, self.outputs[v]) for v in outputs),
            *(KernelArg(s.name, "scratch", None, s.dtype, 1, "C", shape) for s in self.nest.scratch),
            *(
                KernelArg(n, "size", dtype=self.values.index, value=v, aligned=self.nest.aligned.get(n, ()))
                for n, v in self.values.sizes.items()
            ),
        ]

    def _array(self, kind: str, var: Var, name: str) -> KernelArg:
        # A single element is in any order, whatever it is a view of.
        layout = self.layouts.get(var, "C") if kind == "in" and var.aval.ndim else "C"
        ndim = var.aval.ndim if layout != "C" else 1
        return KernelArg(name, kind, var, var.aval.dtype.name, ndim, layout, var.aval.shape)  # type: ignore[arg-type]  # kind is "in" or "out"

    def _source(self, args: list[KernelArg], body: list, title: str) -> tuple[str, str, tuple[tuple[int, ...], ...]]:
        parameters = ", ".join(a.name for a in args)
        text = "\n".join(line for line, _ in body) or "    pass"
        types = ",".join(f"{a.kind}{a.dtype}{a.ndim}{a.layout}" for a in args)
        digest = hashlib.sha256(f"{self.tuning.target}|{parameters}|{types}\n{text}".encode()).hexdigest()[:8]
        name = f"{title}_{digest}"
        return f"def {name}({parameters}):\n{text}\n", name, ((), *(eqns for _, eqns in body))

    def _title(self) -> str:
        words = dict.fromkeys(
            Nest.cluster_name(e) for e in self.cluster.eqns
            if is_fold(e) or e.primitive.name not in ("broadcast_in_dim", "reshape", "convert_element_type", "slice")
        )  # fmt: skip
        names = list(words) or [self.cluster.eqns[-1].primitive.name]
        shown = names if len(names) <= 4 else [*names[:2], *names[-2:]]
        return Namer().fresh("_".join(shown))
