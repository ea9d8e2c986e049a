"""The kernels that copy rows: what an array holds before another kernel replaces a part of it."""

from __future__ import annotations

from ..ir import Var
from ..ir.avals import short_dtype_name
from .kernel import Kernel, KernelArg
from .lower import GRAIN_NS

# What a thread copies while the rows are in the cache.
_BYTES_PER_NS = 16.0

_ROWS = """
def {name}(start, stop, x, out, n):
    x = flat(x)
    out = flat(out)
    for i in range(start * n, stop * n):
        assume_index(i)
        out[i] = x[i]
"""

_SIDES = """
def {name}(start, stop, x, out, n, first, n_left, n_right):
    x = flat(x)
    out = flat(out)
    for i in range(start, stop):
        assume_index(i)
        for j in range(n_left):
            out[(i + first) * n + j] = x[(i + first) * n + j]
        for j in range(n_right):
            out[(i + first + 1) * n - n_right + j] = x[(i + first + 1) * n - n_right + j]
"""


def copy_kernel(base: Var, out: Var, rows: int, step: str) -> Kernel:
    """Copies `base` to `out`, which have the same type and are in C order, by so many rows."""
    return _kernel(base, out, f"copy_rows_{short_dtype_name(out.aval.dtype)}", _ROWS, rows, rows, {}, step)


def copy_sides_kernel(
    base: Var, out: Var, rows: int, first: int, stop: int, n_left: int, n_right: int, step: str
) -> Kernel:
    """Copies so many elements at the begin and the end of the rows from `first` to `stop`, of so many in all."""
    sizes = {"first": first, "n_left": n_left, "n_right": n_right}
    name = f"copy_sides_{short_dtype_name(out.aval.dtype)}"
    return _kernel(base, out, name, _SIDES, rows, stop - first, sizes, step)


def _kernel(
    base: Var, out: Var, name: str, text: str, rows: int, extent: int, sizes: dict[str, int], step: str
) -> Kernel:
    aval = out.aval
    source = text.format(name=name)[1:]
    args = (
        KernelArg("x", "in", None, aval.dtype.name, aval.ndim),
        KernelArg("out", "out", None, aval.dtype.name, aval.ndim),
        *(KernelArg(n, "size", value=v) for n, v in {"n": aval.size // rows, **sizes}.items()),
    )
    grain = max(1, round(GRAIN_NS * _BYTES_PER_NS * rows / max(1, aval.nbytes)))
    return Kernel(
        step, name, source, args, extent, grain, aval.size, 0.0, 2 * aval.nbytes, ((),) * source.count("\n"),
        apart=frozenset((base, out)),
    )  # fmt: skip
