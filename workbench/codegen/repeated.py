"""Repeated maps: all repetitions of one part of a map, which stays in the cache, then of the next part.

A loop of the program whose body is one elementwise kernel over the arrays that it carries (an iteration of Newton's, a
step of Mandelbrot's) becomes that kernel with the loop inside. Now and then a repetition is watched: where it changes
nothing, no later one will.
"""

from __future__ import annotations

import numpy as np

from ..fusion.plan import Cluster
from ..ir import Var
from .blocks import Block
from .names import Namer
from .nests import Nest
from .scalars import call
from .values import REPETITION, Values

# Elements that are computed again and again: few, so that they settle before others do.
REPEATED = 128
# Every so many repetitions one looks for changes.
WATCHED = 8


class RepeatedMap(Nest):
    """A map that is computed over and over. repeats: the name of how often."""

    def __init__(
        self, cluster: Cluster, values: Values, namer: Namer, outputs: dict[Var, str], flat: bool,
        temporaries: frozenset[Var], repeats: str,
    ):  # fmt: skip
        super().__init__(cluster, values, namer, outputs, flat, temporaries)
        self.repeats = repeats

    @property
    def may_be_short(self) -> bool:
        return False

    @property
    def n_counted(self) -> int:
        return 1

    def write(self) -> None:
        axes = self.outer[:1] if self.flat else self.outer
        if len(axes) > 1:
            part = self.root.loop(f"for i{axes[0]} in range(start, stop):", axes[0])
            part.line(f"assume_index(i{axes[0]})")
        else:
            part = self.root.loop(f"for first in range(start, stop, {REPEATED}):")
            part.line(f"last = min(first + {REPEATED}, stop)")
        done, changed = self.namer.fresh("done"), self.namer.fresh("changed")
        part.line(f"{done} = 0")
        repeated = part.loop(f"while {done} < {self.repeats}:")
        most = f"min({WATCHED - 1}, {self.repeats} - {done} - 1)"
        self._write_repetition(repeated.loop(f"for {self.namer.fresh('time')} in range({most}):"), axes, "")
        repeated.line(f"{done} += {WATCHED}")
        repeated.line(f"{changed} = 0")
        self._write_repetition(repeated, axes, changed)
        repeated.line(f"if {changed} == 0:")
        repeated.line("    break")
        n_counted = len(self.outer) if self.flat else 1
        self.extent, self.per_step = self.length(self.outer[:n_counted]), self.length(self.outer[n_counted:])

    def _write_repetition(self, block: Block, axes: list[int], changed: str) -> None:
        for axis in axes[1:]:
            block = block.loop(f"for i{axis} in range({self.bound(axis)}):", axis, REPETITION)
        if len(axes) == 1:
            name = "i" if self.flat else f"i{axes[0]}"
            bound = self.outer if self.flat else axes
            block = block.loop(f"for {name} in range(first, last):", *bound, REPETITION)
            block.line(f"assume_index({name})")
        self._compute_in_step(self._demand(0, set()), block)
        outs = self.rounds[0][1]
        results = self._results(outs, block, may_wait=len(outs) == 1)
        for out, target, text in results if changed else ():
            block.line(f"{changed} |= {self._differs(text, target, out.aval.dtype)}")
        for out, target, text in results:
            block.line(f"{target} = {text}", self._numbers(self.values.producer[out]))

    def _differs(self, new: str, old: str, dtype: np.dtype) -> str:
        """0 where `new` has the bits of `old`, also those of a NaN: then all that follows is the same, too."""
        if dtype.kind == "c":
            part = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
            return " | ".join(self._differs(f"{new}.{name}", f"{old}.{name}", part) for name in ("real", "imag"))
        if dtype.kind != "f":
            return f"np.int64({new} != {old})"
        bits = [call(self.values.called, "bits", dtype, value) for value in (new, old)]
        return f"np.int64({bits[0]} ^ {bits[1]})"
