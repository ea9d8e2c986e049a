"""The coverage table: every public function of NumPy and method of ndarray, and what becomes of it when compiled.

Nothing in it is written by hand: each sample call of `samples` is traced and its equations say the state. Made anew by
`python -m workbench.frontend.numpy_api.coverage > notebooks/numpy-coverage.md`.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import TracingError
from ...ir.jaxpr import Jaxpr, subjaxprs
from ...primitives.lowering import LibraryCall
from ..trace import trace
from . import samples

FUSED = "fused"
LIBRARY = "library call"
NUMPY = "NumPy between kernels"
STATIC = "known while tracing"
REFUSED = "refused"
STATES = (FUSED, LIBRARY, NUMPY, STATIC, REFUSED)


@dataclass(frozen=True, slots=True)
class Row:
    """One function: `name` as NumPy spells it, its state, why or by which library, and the call that was traced."""

    name: str
    state: str
    detail: str = ""
    sample: str = ""


def public_functions() -> Iterator[tuple[str, str, str]]:
    """(section, name, sample source or "") of everything public that can be called or read."""
    for name in sorted(np.__all__):
        value = getattr(np, name)
        if callable(value) and not isinstance(value, type):
            is_ufunc = isinstance(value, np.ufunc)
            yield "numpy", name, _ufunc_sample(value) if is_ufunc else samples.FUNCTIONS.get(name, "")
    for name in sorted(np.linalg.__all__):
        if not isinstance(getattr(np.linalg, name), type):
            yield "numpy.linalg", name, samples.LINALG.get(name, "")
    for name in sorted(np.fft.__all__):
        yield "numpy.fft", name, samples.FFT.get(name, "")
    for name in sorted(dir(np.ndarray)):
        if not name.startswith("_"):
            yield "ndarray", name, samples.METHODS.get(name, "")


def _ufunc_sample(ufunc: np.ufunc) -> str:
    if ufunc.__name__ in samples.NOT_COMPILED:
        return ""
    name = f"np.{ufunc.__name__}"
    if ufunc.signature is not None:
        operands = {"matmul": "m, m", "vecdot": "x, y", "matvec": "m, m[0]", "vecmat": "m[0], m"}[ufunc.__name__]
    else:
        takes_floats = any(t.startswith("d" * ufunc.nin) for t in ufunc.types)
        pair = ("x", "y") if takes_floats else ("x", "i") if ufunc is np.ldexp else ("i", "i")
        operands = ", ".join(pair[: ufunc.nin])
    return f"{name}({operands})"


def rows() -> list[tuple[str, Row]]:
    """(section, row) for everything public."""
    found = []
    for section, name, source in public_functions():
        spelled = f"{section}.{name}"
        if name in samples.NOT_COMPILED:
            found.append((section, Row(spelled, REFUSED, samples.NOT_COMPILED[name])))
        elif not source:
            found.append((section, Row(spelled, REFUSED, "it has no sample call")))
        else:
            found.append((section, Row(spelled, *state_of(source), source)))
    return found


def sample_function(source: str) -> Any:
    """A function of the sample arrays, which runs one sample and returns its result and the arrays."""
    names = ", ".join(samples.inputs())
    scope: dict[str, Any] = {"np": np}
    exec(f"def sample({names}):\n    return {source}\n", scope)
    return scope["sample"]


def state_of(source: str) -> tuple[str, str]:
    """The state of one sample call, and its detail."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            traced = trace(sample_function(source), tuple(samples.inputs().values()), {})
    except TracingError as error:
        return REFUSED, essence(error)
    libraries = Counter(_libraries(traced.jaxpr))
    if libraries.pop("NumPy", 0):
        return NUMPY, ", ".join(libraries)
    if libraries:
        return LIBRARY, ", ".join(libraries)
    return (FUSED if traced.jaxpr.eqns or _is_array_program(traced) else STATIC), ""


def _is_array_program(traced: Any) -> bool:
    return bool(traced.jaxpr.outvars)


def _libraries(jaxpr: Jaxpr) -> Iterator[str]:
    for eqn in jaxpr.eqns:
        if isinstance(eqn.primitive.lowering, LibraryCall):
            yield eqn.primitive.lowering.library
        for _, inner in subjaxprs(eqn):
            yield from _libraries(inner)


def essence(error: TracingError) -> str:
    """The last line of a message, which says it all, without class and place."""
    last = str(error).strip().splitlines()[-1].strip()
    head, _, tail = last.partition(": ")
    return tail if head.startswith(type(error).__name__) and tail else last


def table(found: Sequence[tuple[str, Row]]) -> str:
    """Markdown: one table a section."""
    lines = []
    counts = Counter(row.state for _, row in found)
    lines.append(", ".join(f"{counts[state]} {state}" for state in STATES if counts[state]) + ".")
    section = ""
    for name, row in found:
        if name != section:
            section = name
            lines += ["", f"## {section}", "", "| function | state | detail | traced as |", "| --- | --- | --- | --- |"]
        sample = f"`{row.sample}`" if row.sample else ""
        detail = row.detail.replace("|", "\\|")
        lines.append(f"| `{row.name}` | {row.state} | {detail} | {sample} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The table with its title, for the NumPy that is installed."""
    major, minor = np.__version__.split(".")[:2]
    return f"""# What of NumPy compiles

Every public function of NumPy {major}.{minor}, of `numpy.linalg` and `numpy.fft`, and every method of `ndarray`, as
found by tracing a call of each. *Fused*: part of a kernel. *Library call*: a routine between kernels, without copies.
*NumPy between kernels*: NumPy's own function, whose result has a known shape. *Known while tracing*: no array
operation is left at run time. *Refused*: the statement runs in NumPy, and the report says why.

{table(rows())}"""


def main() -> None:
    sys.stdout.write(page())


if __name__ == "__main__":
    main()
