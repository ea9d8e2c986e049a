"""The kernel that copies rows: what an array holds before another kernel replaces a part of it."""

from __future__ import annotations

from ..ir import Var
from ..ir.avals import short_dtype_name
from .kernel import Kernel, KernelArg
from .lower import GRAIN_NS

# What a thread copies while the rows are in the cache.
_BYTES_PER_NS = 16.0

_SOURCE = """
def {name}(start, stop, x, out, n):
    x = flat(x)
    out = flat(out)
    for i in range(start * n, stop * n):
        assume_index(i)
        out[i] = x[i]
"""


def copy_kernel(base: Var, out: Var, rows: int, step: str) -> Kernel:
    """Copies `base` to `out`, which have the same type and are in C order, by so many rows."""
    aval = out.aval
    name = f"copy_rows_{short_dtype_name(aval.dtype)}"
    source = _SOURCE.format(name=name)[1:]
    args = (
        KernelArg("x", "in", None, aval.dtype.name, aval.ndim),
        KernelArg("out", "out", None, aval.dtype.name, aval.ndim),
        KernelArg("n", "size", value=aval.size // rows),
    )
    grain = max(1, round(GRAIN_NS * _BYTES_PER_NS * rows / max(1, aval.nbytes)))
    return Kernel(
        step, name, source, args, rows, grain, aval.size, 0.0, 2 * aval.nbytes, ((),) * source.count("\n"),
        apart=frozenset((base, out)),
    )  # fmt: skip
