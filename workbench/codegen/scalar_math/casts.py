"""Conversions as NumPy's `astype` does them, between booleans, integers, floats and complex numbers.

A float that an integer dtype cannot hold (NaN and infinities among them) converts as the x86 instructions convert it,
and so as NumPy does there: through a 64-bit or 32-bit signed integer that becomes its least number, then cut to width.
"""

from __future__ import annotations

import numpy as np

from ...ir.avals import short_dtype_name
from .registry import FLOATS, ScalarFunction, by_name, library

_BOOL = np.dtype(bool)

# LLVM leaves the conversion of a number that does not fit undefined, and makes use of that where it knows the number
# (a NaN in the source text): the least number is chosen in its place. The branch of u64 is C's: numbers from 2**63 on
# are brought into the range of a signed conversion first.
library(
    """
def to_i32_T(x):
    \"\"\"x without its fraction, -2**31 where it does not fit.\"\"\"
    fits = (x >= T_type(-2147483648.0)) & (x < T_type(2147483648.0))
    return select_i32(fits, np.int32(x), np.int32(-0x80000000))


def to_i64_T(x):
    \"\"\"x without its fraction, -2**63 where it does not fit.\"\"\"
    fits = (x >= T_type(-9.223372036854775808e18)) & (x < T_type(9.223372036854775808e18))
    return select_i64(fits, np.int64(x), np.int64(-0x8000000000000000))


def to_u64_T(x):
    \"\"\"x as an unsigned integer, without its fraction.\"\"\"
    high = x >= T_type(9.223372036854775808e18)
    whole = to_i64_T(select_T(high, x - T_type(9.223372036854775808e18), x))
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
        through = _through(target)
        whole = f"to_{short_dtype_name(through)}_{short_dtype_name(source)}({expr})"
        return whole if through == target else f"np.{target.name}({whole})"
    return f"np.{target.name}({expr})"


def _through(target: np.dtype) -> np.dtype:
    """The integer that a float becomes on its way to `target`."""
    if target == np.uint64:
        return target
    return np.dtype(np.int64 if target.itemsize == 8 or target == np.uint32 else np.int32)


def cast_requires(source: np.dtype, target: np.dtype) -> tuple[ScalarFunction, ...]:
    """The scalar functions that `cast` calls between these dtypes."""
    source, target = np.dtype(source), np.dtype(target)
    if source.kind == "c":
        source = _part(source)
    if source.kind == "f" and target.kind in "iu":
        return (by_name(f"to_{short_dtype_name(_through(target))}_{short_dtype_name(source)}"),)
    return ()


def _part(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)
