"""Kernels of prefix sums, products and extremes: element after element, as NumPy adds them, so that they give its bits.

Along the last axis a scan is a running total for each row; along another one, a row of totals that is carried on, in
blocks of columns. Rows and blocks are what threads share. An array in C order is all that matters, not its rank.
"""

from __future__ import annotations

import math

from ..ir import Equation
from ..ir.avals import short_dtype_name
from .kernel import Kernel, KernelArg
from .lower import GRAIN_NS, scalar_functions

# Columns whose totals are carried on together: 4 KiB of f64, a fraction of the L1 cache.
BLOCK = 512
# Below this NumPy's routine costs no more than compiling another kernel is worth.
MIN_ELEMENTS = 1024
_STEP_NS = 1.0  # an addition after another one

_OPERATIONS = {"cumsum": "add", "cumprod": "mul", "cummax": "maximum", "cummin": "minimum"}
_SIGNS = {"add": "+", "mul": "*"}
_ROWS = """
def {name}(start, stop, x, out, n):
    x = flat(x)
    out = flat(out)
    for i in range(start, stop):
        assume_index(i)
        total = x[i * n]
        out[i * n] = total
        for k in range(i * n + 1, i * n + n):
            total = {combined}
            out[k] = total
"""
# Extremes may be grouped: eight are compared among themselves, and only one of them waits for those before. What may be
# no number is told by a sum, and passed on by NumPy's comparisons.
_GROUPS = """
def {name}(start, stop, x, out, n):
    x = flat(x)
    out = flat(out)
    for i in range(start, stop):
        assume_index(i)
        total = x[i * n]
        grouped = i * n + n // 8 * 8
        for k in range(i * n, grouped, 8):
{groups}
        for k in range(grouped, i * n + n):
            total = {f}(total, x[k])
            out[k] = total
"""
_NUMBERS = """\
            summed = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7))
            if summed == summed and total == total:
{groups}
            else:
                for j in range(k, k + 8):
                    total = {f}(total, x[j])
                    out[j] = total"""


def _grouped(operation: str, short: str) -> str:
    """What is done with eight elements from `k` on."""
    sign = ">" if operation == "maximum" else "<"

    def extreme(a: str, b: str) -> str:
        return f"select_{short}({b} {sign} {a}, {b}, {a})"

    loads = [f"x{k} = x[k + {k}]" for k in range(8)]
    groups = [f"x{k} = {extreme(f'x{k - 1}', f'x{k}')}" for k in range(1, 8)]
    groups += [f"out[k + {k}] = {extreme('total', f'x{k}')}" for k in range(7)]
    groups += [f"total = {extreme('total', 'x7')}", "out[k + 7] = total"]
    if short[0] != "f":
        return _indented(loads + groups, 12)
    return _indented(loads, 12) + "\n" + _NUMBERS.format(groups=_indented(groups, 16), f=f"{operation}_{short}")


def _indented(lines: list[str], depth: int) -> str:
    return "\n".join(" " * depth + line for line in lines)


_COLUMNS = """
def {name}(start, stop, x, out, n, inner, blocks, width):
    x = flat(x)
    out = flat(out)
    totals = np.empty(width, np.{dtype})
    for i in range(start, stop):
        assume_index(i)
        first = i // blocks * n * inner + i % blocks * width
        count = min(width, inner - i % blocks * width)
        for j in range(count):
            totals[j] = x[first + j]
            out[first + j] = x[first + j]
        for k in range(first + inner, first + n * inner, inner):
            for j in range(count):
                total = {combined}
                totals[j] = total
                out[k + j] = total
"""
_FORMS = {"rows": _ROWS, "groups": _GROUPS, "columns": _COLUMNS}


def scan_kernel(eqn: Equation, step: str) -> Kernel | None:
    """The kernel of a prefix sum, product or extreme, of arguments (x, out) in C order; None where NumPy's does it."""
    operation = _OPERATIONS.get(eqn.primitive.name)
    if operation is None:
        return None
    aval, axis = eqn.invars[0].aval, eqn.params["axis"]
    whole = aval.dtype.kind in "iu" or aval.dtype in ("float32", "float64")
    if not whole or eqn.params.get("reverse") or aval.size < MIN_ELEMENTS:
        return None
    outer, n, inner = math.prod(aval.shape[:axis]), aval.shape[axis], math.prod(aval.shape[axis + 1 :])
    width = min(inner, BLOCK)
    blocks = -(-inner // width)

    def combined(total: str, x: str) -> str:
        if aval.dtype.kind == "f" and operation in _SIGNS:
            return f"{total} {_SIGNS[operation]} {x}"
        return f"{operation}_{short_dtype_name(aval.dtype)}({total}, {x})"

    form = "columns" if inner > 1 else "rows" if operation in _SIGNS else "groups"
    name = f"{eqn.primitive.name}_{form}_{short_dtype_name(aval.dtype)}"
    text = combined("total", "x[k]") if inner == 1 else combined("totals[j]", "x[k + j]")
    function = f"{operation}_{short_dtype_name(aval.dtype)}"
    groups = _grouped(operation, short_dtype_name(aval.dtype)) if form == "groups" else ""
    source = _FORMS[form].format(name=name, combined=text, dtype=aval.dtype.name, f=function, groups=groups)[1:]
    sizes = {"n": n} if inner == 1 else {"n": n, "inner": inner, "blocks": blocks, "width": width}
    args = (
        KernelArg("x", "in", None, aval.dtype.name, aval.ndim),
        KernelArg("out", "out", None, aval.dtype.name, aval.ndim),
        *(KernelArg(size, "size", value=value) for size, value in sizes.items()),
    )
    extent = outer * blocks
    grain = max(1, math.ceil(GRAIN_NS / max(aval.size / extent * _STEP_NS, 1e-3)))
    return Kernel(
        step, name, source, args, extent, grain, aval.size, float(aval.size), 2 * aval.nbytes,
        ((),) * source.count("\n"), functions=scalar_functions(source),
        apart=frozenset((*eqn.invars, *eqn.outvars)), steps=blocks,  # type: ignore[arg-type]  # no literals
    )  # fmt: skip
