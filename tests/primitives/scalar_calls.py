"""The scalar functions that lowerings call, found by running every rule on every dtype it takes.

`python -m tests.primitives.scalar_calls` prints them, and what `codegen.scalar_math` lacks.
"""

from __future__ import annotations

import numpy as np

from workbench.ir import Aval, short_dtype_name
from workbench.ir.primitive import REGISTRY

from .contexts import ScalarTestContext
from .samples import FOLDS, POINTWISE, SCANS

FOLDED = FOLDS | SCANS | dict.fromkeys(("argmax", "argmin"), FOLDS["reduce_max"])
POWERS = tuple({"y": y} for y in range(-3, 12))


def recorded_contexts() -> list[ScalarTestContext]:
    """The context of every rule after it ran, for every dtype."""
    contexts = []
    for name, row in POINTWISE.items():
        for signature in row.signatures():
            for params in POWERS if name == "integer_pow" else row.params:
                if name == "integer_pow" and params["y"] < 0 and signature[0].kind in "iu":
                    continue
                (out,) = REGISTRY[name].abstract_eval(*(Aval((), dtype) for dtype in signature), **params)
                contexts.append(ScalarTestContext(out.dtype, signature, params))
                REGISTRY[name].lowering.expr(contexts[-1], *"abcd"[: row.arity])
    for name, dtypes in FOLDED.items():
        for dtype in map(np.dtype, dtypes):
            contexts.append(ScalarTestContext(dtype, (dtype, dtype)))
            REGISTRY[name].lowering.combine(contexts[-1], "acc", "x")
    return contexts


def scalar_calls() -> dict[str, list[str]]:
    """The short dtype names that each scalar function is called for, by function name."""
    found: dict[str, list[str]] = {}
    pairs = {pair for context in recorded_contexts() for pair in context.calls}
    for name, dtype in sorted(pairs, key=lambda pair: (pair[0], pair[1].kind, pair[1].itemsize)):
        found.setdefault(name, []).append(short_dtype_name(dtype))
    return found


if __name__ == "__main__":
    from workbench.codegen.scalar_math import has_function
    from workbench.ir.avals import DTYPES_BY_SHORT_NAME

    for name, dtypes in scalar_calls().items():
        missing = [d for d in dtypes if not has_function(name, DTYPES_BY_SHORT_NAME[d])]
        print(f"{name}: {' '.join(dtypes)}" + (f"   missing: {' '.join(missing)}" if missing else ""))
