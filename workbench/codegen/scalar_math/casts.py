"""Conversions as NumPy's `astype` does them, between booleans, integers, floats and complex numbers.

A float that an integer dtype cannot hold (NaN and infinities among them) converts as the x86 instructions convert it,
and so as NumPy does there: through a 64-bit or 32-bit signed integer that becomes its least number, then cut to width.
"""

from __future__ import annotations

import numpy as np

from ...ir.avals import short_dtype_name
from .registry import FLOATS, ScalarFunction, by_name, library

_BOOL = np.dtype(bool)

# The branch of u64 is C's: numbers from 2**63 on are brought into the range of a signed conversion first.
library(
    """
def to_u64_T(x):
    \"\"\"x as an unsigned integer, without its fraction.\"\"\"
    high = x >= T_type(9.223372036854775808e18)
    whole = np.int64(select_T(high, x - T_type(9.223372036854775808e18), x))
    return np.uint64(select_i64(high, xor_i64(whole, -0x8000000000000000), whole))
""",
    FLOATS,
)


def cast(expr: str, source: np.dtype, target: np.dtype) -> str:
    """`expr` of dtype `source` as numba source of dtype `target`."""
    source, target = np.dtype(source), np.dtype(target)
    if source == target:
        return expr
    if source.kind == "c" and target.kind not in "cb":  # NumPy warns and drops the imaginary part
        return cast(f"({expr}).real", _part(source), target)
    if target == _BOOL:
        zero = "0" if source.kind in "fc" else f"np.{source.name}(0)"
        return f"({expr} != {zero})"
    if source.kind == "f" and target.kind in "iu":
        if target == np.uint64:
            return f"to_u64_{short_dtype_name(source)}({expr})"
        if target.itemsize < 4:
            return f"np.{target.name}(np.int32({expr}))"
        return f"np.{target.name}({expr})" if target.kind == "i" else f"np.uint32(np.int64({expr}))"
    return f"np.{target.name}({expr})"


def cast_requires(source: np.dtype, target: np.dtype) -> tuple[ScalarFunction, ...]:
    """The scalar functions that `cast` calls between these dtypes."""
    source, target = np.dtype(source), np.dtype(target)
    if source.kind == "c":
        source = _part(source)
    if source.kind == "f" and target == np.uint64:
        return (by_name(f"to_u64_{short_dtype_name(source)}"),)
    return ()


def _part(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)
