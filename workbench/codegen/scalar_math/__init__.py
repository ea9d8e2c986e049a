"""The scalar functions that generated kernels call, written so that LLVM vectorises every loop they stand in.

`scalar_function("exp", float64)` is the record of `exp_f64`, `namespace(names)` gives compiled functions for a
kernel's globals, `definitions(names)` the text to export with it; `cast` writes a conversion. `names_in(source)` finds
what a kernel's text calls.
"""

from __future__ import annotations

from . import (  # noqa: F401  (they fill the library)
    accumulation,
    complex_arithmetic,
    complex_elementary,
    error_function,
    exponential,
    floats,
    integers,
    intrinsics,
    inverse_hyperbolic,
    inverse_trigonometric,
    library_calls,
    logarithm,
    power,
    quotients,
    random_bits,
    slow_paths,
    trigonometric,
)
from .casts import cast, cast_requires
from .registry import (
    IMPORTS,
    ScalarFunction,
    all_names,
    by_name,
    definitions,
    has_function,
    names_in,
    namespace,
    scalar_function,
)

__all__ = [
    "IMPORTS",
    "ScalarFunction",
    "all_names",
    "by_name",
    "cast",
    "cast_requires",
    "definitions",
    "has_function",
    "names_in",
    "namespace",
    "scalar_function",
]
