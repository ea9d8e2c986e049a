"""What each primitive means: a file per family, a block per primitive. Importing this package declares them all.

`from workbench.primitives import tanh_p` finds the primitive `tanh` in whichever file declares it, so that a new one is
a block in its file and nothing else.
"""

from __future__ import annotations

from ..ir import Primitive
from ..ir.primitive import REGISTRY
from . import (  # noqa: F401  (imported for their declarations)
    arithmetic,
    bitwise,
    comparison,
    complex,
    contractions,
    control_flow,
    conversion,
    fft,
    indexing,
    linalg,
    loops,
    movement,
    numpy_call,
    random,
    reductions,
    scans,
    selection,
    sorting,
    structure,
    transcendental,
    updates,
)


def __getattr__(name: str) -> Primitive:
    primitive = REGISTRY.get(name.removesuffix("_p")) if name.endswith("_p") else None
    if primitive is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return primitive


def __dir__() -> list[str]:
    return sorted([*globals(), *(f"{name}_p" for name in REGISTRY)])
